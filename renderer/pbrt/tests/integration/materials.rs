//! Rendered materials: transmission, coats and mixes match closed forms, and the albedo feature
//! matches the material.

use crate::common::{Estimate, TestScene, assert_all_ok, load_scene, render, single_ray_scene};
use lightbound::film::{FeatureImages, RenderedImage};
use lightbound::material::{Material, fresnel};
use lightbound_math::{Vec3, vec3};
use lightbound_pbrt::build::Overrides;
use std::f64::consts::PI;

/// Maximum difference between two estimates of the same value, in standard errors.
const TOLERANCE_SIGMAS: f64 = 4.5;

const ENVIRONMENT: &str = "LightSource \"infinite\" \"rgb L\" [1 1 1]\n";

/// A floor with texture coordinates from 0 to 1 along x and y.
const FLOOR: &str = "Shape \"bilinearmesh\" \"point3 P\" [-9 -9 0  9 -9 0  -9 9 0  9 9 0]\n";

/// Renders a floor viewed at `degrees` from +z.
fn floor_radiance(degrees: f32, lights: &str, materials: &str) -> Estimate {
    let (sin, cos) = degrees.to_radians().sin_cos();
    let text = single_ray_scene(
        5.0 * vec3(sin, 0.0, cos),
        Vec3::ZERO,
        1,
        16,
        256,
        &format!("{lights}{materials}\n{FLOOR}"),
    );
    Estimate::from_image(&render(&load_scene(&text, &[], &Overrides::default()), 2))
}

fn exact_rgb(rgb: [f64; 3]) -> Estimate {
    Estimate { mean: rgb, error: [0.0; 3] }
}

#[test]
fn diffuse_transmission_lights_the_far_side() {
    let leaf = |scale: f64| {
        format!(
            "Material \"diffusetransmission\" \"rgb reflectance\" [0.5 0.3 0.1] \"rgb transmittance\" [0.1 0.4 0.2] \
             \"float scale\" {scale}"
        )
    };
    let mut results = Vec::new();
    for (side, z) in [("above", 1.0), ("below", -1.0)] {
        // E = 3 cos 45°.
        let light = format!(
            "LightSource \"distant\" \"rgb L\" [3 3 3] \"point3 from\" [1 0 {z}] \"point3 to\" [0 0 0]\n"
        );
        for degrees in [30.0, 150.0] {
            let reflects = (degrees < 90.0) == (z > 0.0);
            for scale in [1.0, 0.5] {
                let kd = if reflects { [0.5, 0.3, 0.1] } else { [0.1, 0.4, 0.2] };
                let expected = exact_rgb(kd.map(|kd| scale * kd / PI * 3.0 * 0.5f64.sqrt()));
                let radiance = floor_radiance(degrees, &light, &leaf(scale));
                results.push((
                    format!("lit from {side}, seen at {degrees}°, scale {scale}"),
                    radiance.agrees(&expected, TOLERANCE_SIGMAS),
                ));
            }
            if !reflects {
                let opaque = floor_radiance(degrees, &light, "Material \"diffuse\"");
                assert_eq!(opaque.mean, [0.0; 3]);
            }
        }
    }
    assert_all_ok(results);
}

#[test]
fn mix_is_the_weighted_mean_of_its_materials() {
    let sun =
        "LightSource \"distant\" \"rgb L\" [3 3 3] \"point3 from\" [0 0 1] \"point3 to\" [0 0 0]\n";
    let named = "MakeNamedMaterial \"red\" \"string type\" \"diffuse\" \"rgb reflectance\" [0.9 0.1 0.2]\n\
                 MakeNamedMaterial \"green\" \"string type\" \"diffuse\" \"rgb reflectance\" [0.1 0.6 0.4]\n\
                 MakeNamedMaterial \"pink\" \"string type\" \"mix\" \"string materials\" [\"red\" \"white\"] \"float amount\" 0.5\n\
                 MakeNamedMaterial \"white\" \"string type\" \"diffuse\" \"rgb reflectance\" [0.9 0.9 0.9]\n";
    let mix = |a: &str, b: &str, amount: &str| {
        format!("{named}Material \"mix\" \"string materials\" [\"{a}\" \"{b}\"] {amount}")
    };
    let [red, green, white] = [[0.9, 0.1, 0.2], [0.1, 0.6, 0.4], [0.9; 3]];
    let blend = |a: [f64; 3], b: [f64; 3], amount: f64| {
        [0, 1, 2].map(|c| (1.0 - amount) * a[c] + amount * b[c])
    };
    let mut results = Vec::new();
    for (name, materials, kd) in [
        ("half", mix("red", "green", ""), blend(red, green, 0.5)),
        ("a quarter", mix("red", "green", "\"float amount\" 0.25"), blend(red, green, 0.25)),
        ("0", mix("red", "green", "\"float amount\" 0"), red),
        ("below 0", mix("red", "green", "\"float amount\" -3"), red),
        ("1", mix("red", "green", "\"float amount\" 1"), green),
        ("above 1", mix("red", "green", "\"float amount\" 3"), green),
        (
            "of a mix",
            mix("green", "pink", "\"float amount\" 0.4"),
            blend(green, blend(red, white, 0.5), 0.4),
        ),
    ] {
        for (light, text, irradiance) in [("sun", sun, 3.0), ("environment", ENVIRONMENT, PI)] {
            let expected = exact_rgb(kd.map(|kd| kd * irradiance / PI));
            results.push((
                format!("{name}, {light}"),
                floor_radiance(40.0, text, &materials).agrees(&expected, TOLERANCE_SIGMAS),
            ));
        }
    }
    assert_all_ok(results);
}

#[test]
fn mix_with_an_interface_transmits_light() {
    let named = "MakeNamedMaterial \"black\" \"string type\" \"diffuse\" \"rgb reflectance\" [0 0 0]\n\
                 MakeNamedMaterial \"void\" \"string type\" \"interface\"\n";
    let mut results = Vec::new();
    for (materials, amount, expected) in [
        ("\"black\" \"void\"", 0.25, 0.25),
        ("\"void\" \"black\"", 0.25, 0.75),
        ("\"void\" \"void\"", 0.25, 1.0),
    ] {
        let mix = format!(
            "{named}Material \"mix\" \"string materials\" [{materials}] \"float amount\" {amount}"
        );
        let radiance = floor_radiance(50.0, ENVIRONMENT, &mix);
        results.push((
            format!("{materials} {amount}"),
            radiance.agrees(&exact_rgb([expected; 3]), TOLERANCE_SIGMAS),
        ));
    }
    assert_all_ok(results);
}

#[test]
fn smooth_coat_reflects_the_fresnel_reflectance() {
    let mut results = Vec::new();
    for degrees in [0.0f32, 50.0, 70.0, 85.0] {
        let cos = degrees.to_radians().cos();
        let r = fresnel::dielectric(cos, 1.5);
        let coat = |base: &str| floor_radiance(degrees, ENVIRONMENT, &format!("Material {base}"));
        // On a black base only the coat reflects.
        let black = coat("\"coateddiffuse\" \"rgb reflectance\" [0 0 0]");
        results.push((
            format!("on black at {degrees}°"),
            black.agrees(&Estimate::exact(Vec3::splat(r)), TOLERANCE_SIGMAS),
        ));
        // On metal, interreflections between coat and base form a geometric series.
        let (eta, k) = (vec3(0.2, 0.9, 1.3), vec3(3.5, 2.5, 2.0));
        let inside = fresnel::refracted_cos(cos, 1.5).unwrap();
        let m = fresnel::conductor(inside, eta / 1.5, k / 1.5);
        let series = Vec3::splat(r) + (1.0 - r) * (1.0 - r) * m / (1.0 - r * m);
        let metal = coat(
            "\"coatedconductor\" \"rgb conductor.eta\" [0.2 0.9 1.3] \"rgb conductor.k\" [3.5 2.5 2] \"float thickness\" 0 \
             \"float interface.eta\" 1.5",
        );
        results.push((
            format!("on metal at {degrees}°"),
            metal.agrees(&Estimate::exact(series), TOLERANCE_SIGMAS),
        ));
    }
    assert_all_ok(results);
}

#[test]
fn coats_brighten_grazing_angles_and_gain_no_energy() {
    let mut results = Vec::new();
    for roughness in [0.0, 0.01] {
        let radiance = |degrees: f32, kd: f32, more: &str| {
            let kd = format!("\"rgb reflectance\" [{kd} {kd} {kd}]");
            floor_radiance(
                degrees,
                ENVIRONMENT,
                &format!("Material \"coateddiffuse\" {kd} \"float roughness\" {roughness} {more}"),
            )
            .mean[0]
        };
        let mut check = |label: &str, holds: bool, x: f64, y: f64| {
            results.push((
                format!("roughness {roughness}: {label}"),
                if holds { Ok(()) } else { Err(format!("{x} {y}")) },
            ));
        };
        let (normal_incidence, grazing) = (radiance(0.0, 0.3, ""), radiance(85.0, 0.3, ""));
        check(
            "brighter at grazing angles",
            grazing > normal_incidence + 0.15,
            normal_incidence,
            grazing,
        );
        // Light reflected back by the coat hits the base again, so the base looks darker.
        check(
            "darker at normal incidence",
            normal_incidence < 0.3 && normal_incidence > 0.1,
            normal_incidence,
            0.3,
        );
        let (clear, tinted) = (
            radiance(40.0, 0.8, "\"float thickness\" 0"),
            radiance(40.0, 0.8, "\"float thickness\" 0.5"),
        );
        check("absorbing coats are darker", tinted < 0.7 * clear, clear, tinted);
        for degrees in [0.0, 60.0, 85.0] {
            // Rough coats lose the energy of multiple scattering between microfacets.
            let white = radiance(degrees, 1.0, "\"float thickness\" 0");
            check(
                "a white base gains no energy",
                white < 1.002 && white > 0.8,
                white,
                f64::from(degrees),
            );
        }
    }
    // A coat with the index of air has no effect.
    let none = floor_radiance(
        40.0,
        ENVIRONMENT,
        "Material \"coateddiffuse\" \"float eta\" 1 \"float thickness\" 0",
    );
    results.push(("coat of air".into(), none.agrees(&exact_rgb([0.5; 3]), TOLERANCE_SIGMAS)));
    assert_all_ok(results);
}

/// An orthographic view from +z onto [−1, 1]².
fn from_above(depth: u32, world: &str) -> TestScene {
    let text = format!(
        "Film \"rgb\" \"integer xresolution\" 40 \"integer yresolution\" 8\nIntegrator \"path\" \"integer maxdepth\" {depth}\n\
         Sampler \"zsobol\" \"integer pixelsamples\" 4\nPixelFilter \"box\" \"float xradius\" 0.5 \"float yradius\" 0.5\n\
         Scale -1 1 1 LookAt 0 0 5  0 0 0  0 1 0\nCamera \"orthographic\" \"float screenwindow\" [-1 1 -1 1]\nWorldBegin\n{world}\n"
    );
    load_scene(&text, &[], &Overrides::default())
}

fn features(image: &RenderedImage) -> &FeatureImages {
    image.features.as_ref().expect("features are recorded")
}

fn assert_close(actual: [f32; 3], expected: Vec3, label: &str) {
    assert!(
        (Vec3::from(actual) - expected).abs().max_element() < 2e-6,
        "{label}: {actual:?}, expected {expected}"
    );
}

/// Returns ten strips from left to right, one for each material.
fn strips(materials: [String; 10]) -> String {
    let strip = |(i, material): (usize, String)| {
        let (x0, x1) = (-1.0 + 0.2 * i as f32, -0.8 + 0.2 * i as f32);
        format!(
            "Material {material}\nShape \"bilinearmesh\" \"point3 P\" [{x0} -1 0  {x1} -1 0  {x0} 1 0  {x1} 1 0]\n"
        )
    };
    materials.into_iter().enumerate().map(strip).collect()
}

#[test]
fn albedo_feature_is_the_albedo_of_the_material() {
    // kd for diffuse surfaces, the Fresnel reflectance for smooth metals, and reflectance plus
    // transmittance for a translucent leaf.
    let diffuse = |r: f32| vec3(r, 0.5, 1.0 - r);
    let metal = |r: f32| vec3(r, 0.5 * r, 0.0);
    let rgb = |c: Vec3| format!("[{} {} {}]", c.x, c.y, c.z);
    let shades: [f32; 5] = [0.1, 0.3, 0.5, 0.7, 0.9];
    let materials: [(String, Vec3); 10] = std::array::from_fn(|i| match shades[i / 2] {
        r if i % 2 == 0 => {
            (format!("\"diffuse\" \"rgb reflectance\" {}", rgb(diffuse(r))), diffuse(r))
        }
        r => (format!("\"conductor\" \"rgb reflectance\" {}", rgb(metal(r))), metal(r)),
    });
    let world = format!("{ENVIRONMENT}{}", strips(materials.clone().map(|(text, _)| text)));
    // Also at depth 0, where no path continues.
    for depth in [0, 1, 3] {
        let scene = from_above(depth, &world);
        let image = render(&scene, 2);
        for (i, &albedo) in features(&image).albedo.iter().enumerate() {
            assert_close(albedo, materials[i % 40 / 4].1, &format!("depth {depth}, pixel {i}"));
        }
        if depth == 0 {
            assert!(image.radiance.iter().all(|&rgb| rgb == [0.0; 3]));
        }
    }
}

#[test]
fn albedo_of_metal_is_its_fresnel_reflectance() {
    for degrees in [0.0f32, 45.0, 80.0] {
        let (sin, cos) = degrees.to_radians().sin_cos();
        let world = format!(
            "{ENVIRONMENT}Material \"conductor\" \"rgb eta\" [0.2 0.9 1.3] \"rgb k\" [3.5 2.5 2]\n{FLOOR}"
        );
        let scene = load_scene(
            &single_ray_scene(5.0 * vec3(sin, 0.0, cos), Vec3::ZERO, 0, 4, 4, &world),
            &[],
            &Overrides::default(),
        );
        let expected = fresnel::conductor(cos, vec3(0.2, 0.9, 1.3), vec3(3.5, 2.5, 2.0));
        for &albedo in &features(&render(&scene, 1)).albedo {
            // The camera's rays differ by rounding.
            assert!(
                (Vec3::from(albedo) - expected).abs().max_element() < 3e-4,
                "{degrees}°: {albedo:?}, expected {expected}"
            );
        }
    }
}

#[test]
fn albedo_of_a_mix_is_the_albedo_of_the_selected_material() {
    let world = format!(
        "{ENVIRONMENT}Texture \"right\" \"float\" \"checkerboard\" \"float uscale\" 2 \"float vscale\" 0.5 \"float tex1\" 0 \"float tex2\" 1\n\
         MakeNamedMaterial \"red\" \"string type\" \"diffuse\" \"rgb reflectance\" [0.8 0.1 0.1]\n\
         MakeNamedMaterial \"mirror\" \"string type\" \"conductor\" \"rgb reflectance\" [0.1 0.2 0.9]\n\
         Material \"mix\" \"string materials\" [\"red\" \"mirror\"] \"texture amount\" \"right\"\n\
         Shape \"bilinearmesh\" \"point3 P\" [-1 -1 0  1 -1 0  -1 1 0  1 1 0]"
    );
    let image = render(&from_above(2, &world), 2);
    for (i, &albedo) in features(&image).albedo.iter().enumerate() {
        let expected = if i % 40 < 20 { vec3(0.8, 0.1, 0.1) } else { vec3(0.1, 0.2, 0.9) };
        assert_close(albedo, expected, &format!("pixel {i}"));
    }
}

#[test]
fn scenes_without_shaders_are_rendered() {
    let types = [
        "\"dielectric\"",
        "\"thindielectric\"",
        "\"conductor\"",
        "\"interface\"",
        "\"coatedconductor\"",
    ];
    let materials = std::array::from_fn(|i| types[i % types.len()].to_string());
    let mut scene = from_above(4, &format!("{ENVIRONMENT}{}", strips(materials)));
    let image = render(&scene, 2);
    // The default material remains, but no surface uses it.
    let has_shader =
        |material: &Material| matches!(material, Material::Surface { scattering: Some(_), .. });
    assert_eq!(scene.materials.iter().filter(|material| has_shader(material)).count(), 1);
    *scene.materials.iter_mut().find(|material| has_shader(material)).unwrap() =
        Material::Surface { specular: None, scattering: None, bump: None };
    scene.shaders.clear();
    let without = render(&scene, 2);
    assert!(
        image.radiance == without.radiance && features(&image).albedo == features(&without).albedo
    );
    assert!(
        image.radiance.iter().all(|rgb| rgb[0] > 0.1),
        "expected all strips to reflect the environment"
    );
}

#[test]
fn material_without_components_is_black() {
    let light = "AreaLightSource \"diffuse\" \"rgb L\" [2 3 4]\nShape \"bilinearmesh\" \"point3 P\" [0 -1 1  1 -1 1  0 1 1  1 1 1]";
    let floor = FLOOR.replace('9', "1");
    let mut scene = from_above(
        3,
        &format!(
            "{ENVIRONMENT}Material \"dielectric\"\n{floor}AttributeBegin\n{light}\nAttributeEnd"
        ),
    );
    for material in &mut scene.materials {
        *material = Material::Surface { specular: None, scattering: None, bump: None };
    }
    let image = render(&scene, 2);
    assert_eq!(image.invalid_samples, 0);
    for (i, &rgb) in image.radiance.iter().enumerate() {
        // The right half is an area light, which still emits.
        let expected = if i % 40 < 20 { [0.0; 3] } else { [2.0, 3.0, 4.0] };
        assert_eq!((rgb, features(&image).albedo[i]), (expected, [0.0; 3]), "pixel {i}");
    }
}
