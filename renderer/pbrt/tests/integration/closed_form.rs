//! Radiance of simple scenes matches closed forms.

use crate::common::{load_scene, render, render_text};
use lightbound::film::RenderedImage;
use lightbound_pbrt::build::Overrides;

/// Returns the mean of all pixels.
fn image_mean(image: &RenderedImage) -> [f64; 3] {
    let mut sum = [0.0; 3];
    for pixel in &image.radiance {
        for c in 0..3 {
            sum[c] += f64::from(pixel[c]) / image.radiance.len() as f64;
        }
    }
    sum
}

/// Returns a scene with a square image and a box filter of one pixel.
fn scene(head: &str, world: &str) -> String {
    format!(
        "{head}\nFilm \"rgb\" \"integer xresolution\" 16 \"integer yresolution\" 16\n\
         PixelFilter \"box\" \"float xradius\" 0.5 \"float yradius\" 0.5\nWorldBegin\n{world}\n"
    )
}

/// Returns settings for depth and samples.
fn settings(max_depth: u32, spp: u32) -> String {
    format!(
        "Sampler \"zsobol\" \"integer pixelsamples\" {spp}\nIntegrator \"path\" \"integer maxdepth\" {max_depth}\n"
    )
}

/// Returns settings for a view of a small patch at the origin from above.
fn from_above(max_depth: u32, spp: u32) -> String {
    settings(max_depth, spp)
        + "LookAt 0 0 5  0 0 0  0 1 0\nCamera \"perspective\" \"float fov\" 0.01\n"
}

const FLOOR: &str = "Shape \"trianglemesh\" \"integer indices\" [0 1 2 0 2 3] \
                     \"point3 P\" [-9 -9 0  9 -9 0  9 9 0  -9 9 0]\n";

fn assert_mean(text: &str, expected: [f64; 3], tolerance: f64) {
    let mean = image_mean(&render_text(text, &Overrides::default(), 2));
    for c in 0..3 {
        assert!(
            (mean[c] - expected[c]).abs() <= tolerance * expected[c].max(1e-3),
            "channel {c}: {mean:?}, expected {expected:?}\n{text}"
        );
    }
}

#[test]
fn radiance_inside_an_emitting_sphere_is_emission_over_absorptance() {
    // L = Lₑ + ρ L everywhere, so Lₑ = 0.5 and ρ = 0.75 give L = 2.
    let world = "ReverseOrientation\nMaterial \"diffuse\" \"rgb reflectance\" [0.75 0.75 0.75]\n\
                 AreaLightSource \"diffuse\" \"rgb L\" [0.5 0.5 0.5]\nShape \"sphere\" \"float radius\" 2";
    let head = settings(100, 256) + "Camera \"perspective\" \"float fov\" 60\n";
    assert_mean(&scene(&head, world), [2.0; 3], 0.01);
    // Without scattering, the emission is exact.
    let head = settings(0, 4) + "Camera \"perspective\" \"float fov\" 60\n";
    assert_mean(&scene(&head, world), [0.5; 3], 1e-6);
}

#[test]
fn convex_diffuse_object_in_a_white_furnace_shows_its_albedo() {
    let head =
        settings(5, 256) + "LookAt 0 0 5  0 0 0  0 1 0\nCamera \"perspective\" \"float fov\" 10\n";
    let world = "LightSource \"infinite\" \"rgb L\" [1 1 1]\n\
                 Material \"diffuse\" \"rgb reflectance\" [0.8 0.5 0.2]\nShape \"sphere\" \"float radius\" 1";
    assert_mean(&scene(&head, world), [0.8, 0.5, 0.2], 0.003);
}

#[test]
fn glass_in_a_white_furnace_is_invisible() {
    let head =
        settings(100, 64) + "LookAt 0 0 5  0 0 0  0 1 0\nCamera \"perspective\" \"float fov\" 10\n";
    for material in [
        "\"dielectric\" \"float eta\" 1.5",
        "\"dielectric\" \"float eta\" 0.8",
        "\"thindielectric\" \"float eta\" 1.5",
    ] {
        let world = format!(
            "LightSource \"infinite\" \"rgb L\" [1 1 1]\nMaterial {material}\nShape \"sphere\" \"float radius\" 1"
        );
        assert_mean(&scene(&head, &world), [1.0; 3], 0.01);
    }
}

#[test]
fn mirror_in_a_white_furnace_is_invisible() {
    let head =
        settings(5, 16) + "LookAt 0 0 5  0 0 0  0 1 0\nCamera \"perspective\" \"float fov\" 10\n";
    let world = "LightSource \"infinite\" \"rgb L\" [1 1 1]\n\
                 Material \"conductor\" \"rgb reflectance\" [0.9999 0.9999 0.9999]\nShape \"sphere\" \"float radius\" 1";
    assert_mean(&scene(&head, world), [1.0; 3], 0.001);
}

#[test]
fn point_light_obeys_the_inverse_square_law() {
    // E = I cos θ / d² with d² = 2² + 1, cos θ = 2/√5; L = ρ E / π.
    let e = 10.0 * (2.0 / 5f64.sqrt()) / 5.0;
    let world = format!(
        "LightSource \"point\" \"rgb I\" [10 10 10] \"point3 from\" [1 0 2]\n\
         Material \"diffuse\" \"rgb reflectance\" [0.5 0.5 0.5]\n{FLOOR}"
    );
    assert_mean(&scene(&from_above(1, 1), &world), [0.5 * e / std::f64::consts::PI; 3], 1e-4);
    // `power` is emitted in all directions; `scale` and the colour multiply it, as in pbrt-v4.
    let world = format!(
        "LightSource \"point\" \"rgb I\" [3 3 3] \"float power\" 100 \"float scale\" 2 \"point3 from\" [0 0 2]\n\
         Material \"diffuse\" \"rgb reflectance\" [0.5 0.5 0.5]\n{FLOOR}"
    );
    let intensity = 3.0 * 2.0 * 100.0 / (4.0 * std::f64::consts::PI);
    assert_mean(
        &scene(&from_above(1, 1), &world),
        [0.5 * intensity / 4.0 / std::f64::consts::PI; 3],
        1e-3,
    );
}

#[test]
fn spot_light_emits_within_its_cone() {
    let spot = |to: &str| {
        format!(
            "LightSource \"spot\" \"rgb I\" [10 10 10] \"point3 from\" [0 0 2] \"point3 to\" [{to}] \"float coneangle\" 20\n\
             Material \"diffuse\" \"rgb reflectance\" [0.5 0.5 0.5]\n{FLOOR}"
        )
    };
    assert_mean(
        &scene(&from_above(1, 1), &spot("0 0 0")),
        [0.5 * 2.5 / std::f64::consts::PI; 3],
        1e-4,
    );
    assert_mean(&scene(&from_above(1, 1), &spot("2 0 0")), [0.0; 3], 1e-6);
}

#[test]
fn distant_light_obeys_the_cosine_law() {
    let world = format!(
        "LightSource \"distant\" \"rgb L\" [3 2 1] \"point3 from\" [1 0 1] \"point3 to\" [0 0 0]\n\
         Material \"diffuse\" \"rgb reflectance\" [0.5 0.5 0.5]\n{FLOOR}"
    );
    let f = 0.5 / std::f64::consts::PI * 0.5f64.sqrt();
    assert_mean(&scene(&from_above(1, 1), &world), [3.0 * f, 2.0 * f, f], 1e-4);
}

#[test]
fn irradiance_from_sphere_and_disk_lights_matches_the_form_factor() {
    // Sphere of radius r, its centre at height d above the point: E = π L (r/d)². Disk of radius r
    // at height h: E = π L r²/(r² + h²).
    let light = |shape: &str| {
        format!(
            "AttributeBegin\nAreaLightSource \"diffuse\" \"rgb L\" [4 4 4]\nTranslate 1 0 0\n{shape}\nAttributeEnd\n\
             Material \"diffuse\" \"rgb reflectance\" [0.5 0.5 0.5]\n{FLOOR}"
        )
    };
    let head = settings(1, 256)
        + "LookAt 1 9 5  1 0 0  0 1 0\nCamera \"perspective\" \"float fov\" 0.01\n";
    let sphere = light("Translate 0 0 3\nShape \"sphere\" \"float radius\" 0.5");
    assert_mean(&scene(&head, &sphere), [0.5 * 4.0 * (0.5f64 / 3.0).powi(2); 3], 0.003);
    let disk = light("Translate 0 0 2\nReverseOrientation\nShape \"disk\" \"float radius\" 0.5");
    assert_mean(&scene(&head, &disk), [0.5 * 4.0 * 0.25 / (0.25 + 4.0); 3], 0.003);
    let unlit = light("Translate 0 0 2\nShape \"disk\" \"float radius\" 0.5");
    assert_mean(&scene(&head, &unlit), [0.0; 3], 1e-6);
    let both = unlit.replace("[4 4 4]", "[4 4 4] \"bool twosided\" true");
    assert_mean(&scene(&head, &both), [0.5 * 4.0 * 0.25 / (0.25 + 4.0); 3], 0.003);
}

#[test]
fn irradiance_from_square_lights_matches_the_form_factor() {
    // Parallel square of side 2a at height h above the point: E = 4 L · a/√(a²+h²) ·
    // atan(a/√(a²+h²)).
    let (a, h) = (1f64, 2f64);
    let q = a / (a * a + h * h).sqrt();
    let expected = 0.5 / std::f64::consts::PI * 4.0 * 4.0 * q * q.atan();
    let head = settings(1, 256)
        + "LookAt 0 9 5  0 0 0  0 1 0\nCamera \"perspective\" \"float fov\" 0.01\n";
    for shape in [
        "\"trianglemesh\" \"integer indices\" [0 2 1 0 3 2] \"point3 P\" [-1 -1 2  1 -1 2  1 1 2  -1 1 2]",
        "\"bilinearmesh\" \"integer indices\" [0 1 2 3] \"point3 P\" [-1 -1 2  -1 1 2  1 -1 2  1 1 2]",
    ] {
        let world = format!(
            "AttributeBegin\nAreaLightSource \"diffuse\" \"rgb L\" [4 4 4]\nShape {shape}\nAttributeEnd\n\
             Material \"diffuse\" \"rgb reflectance\" [0.5 0.5 0.5]\n{FLOOR}"
        );
        assert_mean(&scene(&head, &world), [expected; 3], 0.003);
    }
}

#[test]
fn floor_with_alpha_shows_the_background_through_it() {
    let world = format!(
        "LightSource \"infinite\" \"rgb L\" [1 1 1]\nMaterial \"diffuse\" \"rgb reflectance\" [0 0 0]\n{}",
        FLOOR.replace("\"integer indices\"", "\"float alpha\" 0.25 \"integer indices\"")
    );
    assert_mean(&scene(&from_above(1, 1024), &world), [0.75; 3], 0.01);
}

#[test]
fn instances_render_like_copies() {
    let head =
        settings(3, 16) + "LookAt 0 -6 4  0 0 0  0 0 1\nCamera \"perspective\" \"float fov\" 40\n";
    let light = "LightSource \"infinite\" \"rgb L\" [1 1 1]\nLightSource \"point\" \"rgb I\" [5 5 5] \"point3 from\" [1 -2 4]\n\
                 Material \"diffuse\" \"rgb reflectance\" [0.5 0.6 0.7]\n";
    let placements =
        ["Translate 1 0 0.5 Scale 1 1 0.5", "Translate -1 0 0 Rotate 30 0 1 1 Scale -1 1 1"];
    let body = "Shape \"sphere\" \"float radius\" 0.7";
    let copies: String =
        placements.map(|p| format!("AttributeBegin {p} {body} AttributeEnd\n")).concat();
    let instances: String = placements
        .map(|p| format!("AttributeBegin {p} ObjectInstance \"o\" AttributeEnd\n"))
        .concat();
    let instances = format!("ObjectBegin \"o\" {body} ObjectEnd\n{instances}");
    let a =
        render_text(&scene(&head, &format!("{light}{FLOOR}{copies}")), &Overrides::default(), 2);
    let b =
        render_text(&scene(&head, &format!("{light}{FLOOR}{instances}")), &Overrides::default(), 2);
    let max_difference =
        a.radiance.iter().zip(&b.radiance).map(|(p, q)| (p[0] - q[0]).abs()).fold(0.0, f32::max);
    let (a, b) = (image_mean(&a)[0], image_mean(&b)[0]);
    assert!((a - b).abs() < 1e-3 * a && max_difference < 0.1, "{a} {b} {max_difference}");
}

#[test]
fn film_beyond_the_image_circle_is_black() {
    let lens = "62.8 6 1.5168 25\n-45.7 2.5 1.6727 25\n-128.2 5 1 25\n0 90 0 20\n";
    let text = "LookAt 0 0 5  0 0 0  0 1 0\n\
                Camera \"realistic\" \"string lensfile\" \"lens.dat\" \"float aperturediameter\" 20\n\
                Film \"rgb\" \"integer xresolution\" 160 \"integer yresolution\" 160 \
                \"float diagonal\" 1500\n\
                Sampler \"zsobol\" \"integer pixelsamples\" 4\n\
                WorldBegin LightSource \"infinite\" Shape \"sphere\"\n";
    let files = [("lens.dat", lens.as_bytes().to_vec())];
    let image = render(&load_scene(text, &files, &Overrides::default()), 2);
    // The training renders whole tiles without a path.
    assert_eq!(image.radiance[0], [0.0; 3]);
    assert!(image_mean(&image)[0] > 0.0);
}
