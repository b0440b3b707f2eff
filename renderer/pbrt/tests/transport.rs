//! The path tracer against independent estimators: path tracing without light sampling, closed forms,
//! and equivalent descriptions of the same scene.

mod common;
#[path = "transport/placement.rs"]
mod placement;

use common::bsdf::Bsdf;
use common::{
    Estimate, TestScene, assert_all, brute_force, draw, one_ray, overrides, pfm, scene_of,
};
use lightbound_math::{Vec2, Vec3, vec2, vec3};

/// A floor. Its diagonal, where tangents change, does not pass through the origin.
const FLOOR: &str = "Shape \"trianglemesh\" \"integer indices\" [0 1 2 0 2 3] \
                     \"point3 P\" [-9 -9 0  10 -9 0  10 9 0  -9 9 0]\n";

/// Surfaces, from broad to narrow lobes.
const SURFACES: [(&str, &str); 4] = [
    ("diffuse", "\"diffuse\" \"rgb reflectance\" [0.6 0.4 0.2]"),
    ("conductor", "\"conductor\" \"rgb reflectance\" [0.9 0.6 0.3] \"float roughness\" 0.2"),
    ("brushed conductor", "\"conductor\" \"float uroughness\" 0.05 \"float vroughness\" 0.3"),
    ("dielectric", "\"dielectric\" \"float eta\" 1.5 \"float roughness\" 0.2"),
];

/// Materials with several lobes.
const MULTI_LOBE: [(&str, &str); 3] = [
    (
        "leaf",
        "\"diffusetransmission\" \"rgb reflectance\" [0.5 0.4 0.1] \"rgb transmittance\" [0.1 0.4 0.2]",
    ),
    (
        "varnish",
        "\"coateddiffuse\" \"rgb reflectance\" [0.6 0.4 0.2] \"float roughness\" 0 \"float eta\" 1.8",
    ),
    (
        "rough varnish",
        "\"coateddiffuse\" \"rgb reflectance\" [0.6 0.4 0.2] \"float roughness\" 0.1",
    ),
];

/// A mix of three materials with spatially varying weights.
const MIX: &str = "Texture \"share\" \"float\" \"checkerboard\" \"float uscale\" 3 \"float tex1\" 0.2 \"float tex2\" 0.7\n\
    MakeNamedMaterial \"red\" \"string type\" \"diffuse\" \"rgb reflectance\" [0.7 0.2 0.1]\n\
    MakeNamedMaterial \"varnish\" \"string type\" \"coateddiffuse\" \"rgb reflectance\" [0.1 0.2 0.7]\n\
    MakeNamedMaterial \"steel\" \"string type\" \"conductor\" \"float roughness\" 0.2\n\
    MakeNamedMaterial \"two\" \"string type\" \"mix\" \"string materials\" [\"varnish\" \"steel\"] \"texture amount\" \"share\"\n\
    MakeNamedMaterial \"mix\" \"string type\" \"mix\" \"string materials\" [\"red\" \"two\"] \"float amount\" 0.6\n";

/// The camera, which sees the lights mirrored at the origin.
const EYE: Vec3 = vec3(-3.0, 0.5, 5.0);

/// A spherical light whose far side is visible through its near side, which is the only side that
/// light sampling samples.
const HALF_TRANSPARENT_SPHERE: &str = "half transparent sphere";

/// Area lights above the floor.
const AREA_LIGHTS: [(&str, &str); 9] = [
    (
        "triangle",
        "Shape \"trianglemesh\" \"point3 P\" [0.2 -0.9 1.8  1.9 -0.7 2.2  1.1 1 1.6] \"integer indices\" [0 1 2]",
    ),
    ("disk", "Translate 1.2 -0.2 1.8 Rotate 30 1 0.3 0 Shape \"disk\" \"float radius\" 0.8"),
    (
        "ring",
        "Translate 1.2 -0.2 1.8 Rotate 30 1 0.3 0 Scale 1 0.7 1 \
         Shape \"disk\" \"float radius\" 0.9 \"float innerradius\" 0.3 \"float phimax\" 250",
    ),
    ("sphere", "Translate 1.2 -0.2 1.8 Shape \"sphere\" \"float radius\" 0.7"),
    (
        "part of a sphere",
        "Translate 1.2 -0.2 1.8 Rotate 50 1 1 0 \
         Shape \"sphere\" \"float radius\" 0.8 \"float zmin\" -0.5 \"float zmax\" 0.4 \"float phimax\" 250",
    ),
    (
        "ellipsoid",
        "Translate 1.2 -0.2 1.8 Rotate 50 1 1 0 Scale 1 0.5 0.8 Shape \"sphere\" \"float radius\" 0.9",
    ),
    (
        "patch",
        "Shape \"bilinearmesh\" \"integer indices\" [0 1 2 3] \"point3 P\" [0.3 -1 1.8  1.9 -0.9 2.6  0.4 0.7 2.4  1.8 0.9 1.5]",
    ),
    (
        HALF_TRANSPARENT_SPHERE,
        "Translate 1.2 -0.2 1.8 Shape \"sphere\" \"float radius\" 0.8 \"float alpha\" 0.5",
    ),
    (
        "masked disk",
        "Translate 1.2 -0.2 1.8 Rotate 30 1 0.3 0 Shape \"disk\" \"float radius\" 0.9 \"texture alpha\" \"mask\"",
    ),
];

const MASK: &str = "Texture \"mask\" \"float\" \"checkerboard\" \"float uscale\" 6 \"float vscale\" 2 \
                    \"float tex1\" 0.2 \"float tex2\" 1\n";

/// The light above the floor, and below it its mirror image with different emission.
fn both_sides(shape: &str, two_sided: bool) -> String {
    let light = |l: &str, placement: &str| {
        format!(
            "AttributeBegin\nAreaLightSource \"diffuse\" \"rgb L\" [{l}] \"bool twosided\" {two_sided}\n\
             {placement}\n{shape}\nAttributeEnd\n"
        )
    };
    format!(
        "{MASK}{}{}",
        light("4 3 2", ""),
        light("8 10 12", "Translate -0.4 0.1 0 Scale 0.8 0.8 -0.8")
    )
}

/// Tolerance for two estimates of the same value, in standard errors.
const SIGMAS: f64 = 4.5;

/// Checks the path tracer against brute-force path tracing, for a scene of [`one_ray`].
fn unbiased(scene: &TestScene) -> Result<(), String> {
    let picture = Estimate::of_picture(&draw(scene, 2));
    let expected = brute_force(scene, scene.settings.integrator.max_depth, 64, 3072);
    if expected.mean.iter().any(|&x| x <= 0.0) {
        return Err(format!("the reference has a black channel: {expected:?}"));
    }
    picture.agrees(&expected, SIGMAS)
}

#[test]
fn area_lights_are_sampled_without_bias() {
    let mut results = Vec::new();
    for (light, shape) in AREA_LIGHTS {
        for (surface, material) in SURFACES {
            let world = format!(
                "{}Material {material}\n{FLOOR}",
                both_sides(shape, !matches!(light, "sphere" | "ellipsoid"))
            );
            let scene = scene_of(&one_ray(EYE, Vec3::ZERO, 1, 12, 32, &world), &[], &overrides());
            results.push((format!("{light} on {surface}"), unbiased(&scene)));
        }
    }
    assert_all(results);
}

/// An environment with one bright texel in the direction of the other lights and a coloured horizon.
fn sky() -> Vec<u8> {
    pfm(8, |x, y| {
        if (x, y) == (5, 4) {
            [60.0, 50.0, 40.0]
        } else {
            [0.2 * (x % 3) as f32, 0.3, 0.1 * y as f32]
        }
    })
}

#[test]
fn environments_are_sampled_without_bias() {
    let image = "AttributeBegin Rotate 20 0 1 0 LightSource \"infinite\" \"string filename\" \"sky.pfm\" AttributeEnd\n";
    let constant = "LightSource \"infinite\" \"rgb L\" [1 0.7 0.4]\n";
    let near = both_sides(AREA_LIGHTS[3].1, false);
    let mut results = Vec::new();
    for (name, lights) in [
        ("constant environment", constant.to_string()),
        ("image", image.to_string()),
        ("two environments and spheres", format!("{constant}{image}{near}")),
    ] {
        for (surface, material) in SURFACES {
            let world = format!("{lights}Material {material}\n{FLOOR}");
            let scene = scene_of(
                &one_ray(EYE, Vec3::ZERO, 1, 12, 32, &world),
                &[("sky.pfm", sky())],
                &overrides(),
            );
            results.push((format!("{name} on {surface}"), unbiased(&scene)));
        }
    }
    assert_all(results);
}

#[test]
fn layers_and_mixes_are_sampled_without_bias() {
    let surfaces = MULTI_LOBE.map(|(name, material)| (name, format!("Material {material}")));
    let sky = "LightSource \"infinite\" \"rgb L\" [1 0.7 0.4]\n";
    let mut results = Vec::new();
    for (surface, material) in
        surfaces.into_iter().chain([("mix", format!("{MIX}NamedMaterial \"mix\""))])
    {
        for (light, shape) in [AREA_LIGHTS[0], AREA_LIGHTS[3]] {
            let world = format!("{sky}{}{material}\n{FLOOR}", both_sides(shape, light != "sphere"));
            let scene = scene_of(&one_ray(EYE, Vec3::ZERO, 1, 12, 64, &world), &[], &overrides());
            results.push((format!("{light} on {surface}"), unbiased(&scene)));
        }
    }
    assert_all(results);
}

#[test]
fn delta_lights_agree_with_bsdf_evaluation() {
    let at = vec3(1.8, -0.4, 3.1);
    let below = vec3(-0.3, 0.2, -2.0);
    let mut results = Vec::new();
    for (surface, material) in SURFACES.into_iter().chain(MULTI_LOBE) {
        let lights = [
            (
                "point",
                format!("\"point\" \"rgb I\" [5 4 3] \"point3 from\" [{} {} {}]", at.x, at.y, at.z),
                at,
                1.0,
            ),
            (
                "point below",
                format!(
                    "\"point\" \"rgb I\" [5 4 3] \"point3 from\" [{} {} {}]",
                    below.x, below.y, below.z
                ),
                below,
                1.0,
            ),
            (
                "spot",
                format!(
                    "\"spot\" \"rgb I\" [5 4 3] \"point3 from\" [{} {} {}] \"point3 to\" [0 0 0] \"float coneangle\" 9",
                    at.x, at.y, at.z
                ),
                at,
                1.0,
            ),
            (
                "distant",
                format!(
                    "\"distant\" \"rgb L\" [5 4 3] \"point3 from\" [{} {} {}] \"point3 to\" [0 0 0]",
                    at.x, at.y, at.z
                ),
                at,
                at.length_squared(),
            ),
        ];
        for (light, text, from, intensity_scale) in lights {
            let world = format!("LightSource {text}\nMaterial {material}\n{FLOOR}");
            let scene = scene_of(&one_ray(EYE, Vec3::ZERO, 3, 2, 1, &world), &[], &overrides());
            let hit = scene.accel.intersect(&scene.camera.ray(vec2(1.0, 1.0), Vec2::ZERO));
            let surface_at = scene.geometry.surface(&hit);
            let bsdf = Bsdf::new(&scene, &hit, &surface_at);
            let (wi, wo) = (
                surface_at.frame.local_direction(from.normalize()),
                surface_at.frame.local_direction(EYE.normalize()),
            );
            let expected =
                bsdf.eval(wi, wo) * vec3(5.0, 4.0, 3.0) * (intensity_scale / from.length_squared());
            let picture = Estimate::of_picture(&draw(&scene, 1));
            // The rendered camera rays differ slightly from this one.
            let expected = Estimate {
                error: expected.to_array().map(|x| 5e-4 * f64::from(x)),
                ..Estimate::exact(expected)
            };
            results.push((format!("{light} on {surface}"), picture.agrees(&expected, 4.0)));
        }
    }
    assert_all(results);
}

#[test]
fn paths_of_many_bounces_are_sampled_without_bias() {
    // A room without ceiling under an environment light, with a lamp seen through glass, a rough
    // mirror, a half-transparent screen, and instances that are mirrored and scaled non-uniformly.
    let world = format!(
        "LightSource \"infinite\" \"rgb L\" [0.4 0.5 0.7]\n{MASK}\
         ObjectBegin \"thing\"\nMaterial {}\nShape \"sphere\" \"float radius\" 0.5\n\
         Shape \"disk\" \"float height\" 0.8 \"float radius\" 0.7 \"texture alpha\" \"mask\"\nObjectEnd\n\
         AttributeBegin\nTranslate 1 0.3 0.9\nAreaLightSource \"diffuse\" \"rgb L\" [6 5 4]\n\
         Material \"diffuse\"\nShape \"sphere\" \"float radius\" 0.4\n\
         Material \"dielectric\"\nShape \"sphere\" \"float radius\" 0.6\nAttributeEnd\n\
         Material {}\n{FLOOR}\
         AttributeBegin Translate -0.9 0.5 0.8 Rotate 40 1 1 0 Scale -1 0.6 1.2 ObjectInstance \"thing\" AttributeEnd\n\
         AttributeBegin Translate 0.2 -1.1 0.8 Scale 0.7 0.7 0.7 ObjectInstance \"thing\" AttributeEnd\n\
         AttributeBegin Translate 0 2 0 Rotate 90 1 0 0 {FLOOR} AttributeEnd\n",
        SURFACES[1].1, SURFACES[0].1
    )
    .replace(
        "AreaLightSource \"diffuse\" \"rgb L\" [6 5 4]\nMaterial",
        "AttributeBegin AreaLightSource \"diffuse\" \"rgb L\" [6 5 4]\nMaterial",
    )
    .replace("\"float radius\" 0.4\n", "\"float radius\" 0.4\nAttributeEnd\n");
    let mut results = Vec::new();
    for (from, to) in [
        (EYE, Vec3::ZERO),
        (vec3(2.0, -4.0, 1.5), vec3(1.0, 0.3, 0.8)),
        (vec3(-1.0, -5.0, 2.0), vec3(-0.9, 0.5, 0.9)),
    ] {
        let scene = scene_of(&one_ray(from, to, 6, 16, 64, &world), &[], &overrides());
        results.push((format!("from {from}"), unbiased(&scene)));
    }
    assert_all(results);
}

#[test]
fn many_materials_at_once_are_sampled_without_bias() {
    // Balls of many materials around the target, so that each wavefront contains all of them.
    let balls = [
        SURFACES[0].1,
        SURFACES[1].1,
        SURFACES[3].1,
        MULTI_LOBE[0].1,
        MULTI_LOBE[1].1,
        MULTI_LOBE[2].1,
        "\"dielectric\"",
        "\"conductor\" \"rgb reflectance\" [0.9 0.8 0.7]",
        "\"mix\" \"string materials\" [\"red\" \"two\"] \"float amount\" 0.3",
        "\"mix\" \"string materials\" [\"nothing\" \"mix\"] \"float amount\" 0.8",
    ];
    let mut world = format!(
        "LightSource \"infinite\" \"rgb L\" [0.4 0.5 0.7]\n{MIX}MakeNamedMaterial \"nothing\" \"string type\" \"interface\"\n\
         AttributeBegin\nAreaLightSource \"diffuse\" \"rgb L\" [6 5 4]\nTranslate 0 0 3\nShape \"sphere\" \"float radius\" 0.8\n\
         AttributeEnd\nMaterial {}\n{FLOOR}",
        SURFACES[0].1
    );
    for (i, material) in balls.iter().enumerate() {
        let angle = 36 * i;
        world += &format!(
            "AttributeBegin\nMaterial {material}\nRotate {angle} 0 0 1\nTranslate 1.6 0 0.5\nShape \"sphere\" \"float radius\" 0.5\n\
             AttributeEnd\n"
        );
    }
    let on_ball = |i: usize| {
        let (sin, cos) = (36.0 * i as f32).to_radians().sin_cos();
        vec3(1.6 * cos, 1.6 * sin, 0.6)
    };
    let targets = [
        ("floor", vec3(0.1, 0.2, 0.0)),
        ("leaf", on_ball(3)),
        ("varnish", on_ball(4)),
        ("mix with interface", on_ball(9)),
    ];
    let mut results = Vec::new();
    for (name, to) in targets {
        let from = vec3(1.3 * to.x + 0.4, 1.3 * to.y - 0.3, 1.9);
        let scene = scene_of(&one_ray(from, to, 5, 16, 64, &world), &[], &overrides());
        results.push((name.to_string(), unbiased(&scene)));
    }
    assert_all(results);
}

#[test]
fn depth_counts_scattering_events() {
    // Inside an emitting sphere, L = Lₑ Σ ρⁿ for n from 0 to the maximum depth.
    let mut results = Vec::new();
    for depth in 0..6 {
        let world = "ReverseOrientation\nMaterial \"diffuse\" \"rgb reflectance\" [0.9 0.5 0.1]\n\
                     AreaLightSource \"diffuse\" \"rgb L\" [1 1 1]\nShape \"sphere\" \"float radius\" 2";
        let scene = scene_of(
            &one_ray(vec3(0.3, 0.2, 0.1), Vec3::ZERO, depth, 16, 16, world),
            &[],
            &overrides(),
        );
        let expected = [0.9f64, 0.5, 0.1]
            .map(|albedo| (0..=depth).map(|n| albedo.powi(n as i32)).sum::<f64>());
        let picture = Estimate::of_picture(&draw(&scene, 2));
        results.push((
            format!("depth {depth}"),
            picture.agrees(&Estimate { mean: expected, error: [0.0; 3] }, SIGMAS),
        ));
    }
    assert_all(results);
    // A lamp seen in a mirror through a pane: both crossings of the pane and the reflection count.
    let world = "AttributeBegin\nAreaLightSource \"diffuse\" \"rgb L\" [1 1 1]\nTranslate 0 0 5\nReverseOrientation\n\
                 Shape \"disk\" \"float radius\" 9\nAttributeEnd\n\
                 AttributeBegin\nMaterial \"thindielectric\" \"float eta\" 1.0\nTranslate 0 0 3\nShape \"disk\" \"float radius\" 9\nAttributeEnd\n\
                 Material \"conductor\" \"rgb reflectance\" [0.5 0.5 0.5]\nShape \"disk\" \"float radius\" 9\n";
    for (depth, expected) in [(0, 0.0), (1, 0.0), (2, 0.0), (3, 0.5), (4, 0.5)] {
        let scene = scene_of(
            &one_ray(vec3(0.0, 0.0, 4.0), Vec3::ZERO, depth, 2, 1, world),
            &[],
            &overrides(),
        );
        let got = draw(&scene, 1).radiance[0][0];
        assert!((got - expected).abs() < 1e-4, "depth {depth}: {got}");
    }
}

/// Half-transparent screens between the lights and the camera, with their transmittance.
const SCREENS: [(&str, &str, f64); 6] = [
    (
        "mesh",
        "Shape \"trianglemesh\" \"float alpha\" 0.5 \"integer indices\" [0 1 2 0 2 3] \
         \"point3 P\" [-30 -30 0.8  40 -30 0.8  40 30 0.8  -30 30 0.8]",
        0.5,
    ),
    (
        "patch",
        "Shape \"bilinearmesh\" \"float alpha\" 0.5 \"integer indices\" [0 1 2 3] \
         \"point3 P\" [-30 -30 0.8  30 -30 0.8  -30 30 0.8  30 30 0.8]",
        0.5,
    ),
    ("disk", "Shape \"disk\" \"float height\" 0.8 \"float radius\" 50 \"float alpha\" 0.5", 0.5),
    ("sphere around", "Shape \"sphere\" \"float radius\" 0.8 \"float alpha\" 0.5", 0.5),
    (
        "two disks",
        "Shape \"disk\" \"float height\" 0.8 \"float radius\" 50 \"float alpha\" 0.5\n\
      Shape \"disk\" \"float height\" 0.85 \"float radius\" 50 \"float alpha\" 0.5",
        0.25,
    ),
    (
        "instance",
        "ObjectBegin \"o\" Shape \"disk\" \"float height\" 0.4 \"float radius\" 25 \"float alpha\" 0.5 ObjectEnd\n\
         AttributeBegin Scale 2 2 2 ObjectInstance \"o\" AttributeEnd",
        0.5,
    ),
];

#[test]
fn half_transparent_screens_halve_all_light() {
    let eye = 0.1 * EYE;
    let area = |shape: &str| {
        format!(
            "{MASK}AttributeBegin\nAreaLightSource \"diffuse\" \"rgb L\" [4 3 2] \"bool twosided\" true\n{shape}\nAttributeEnd\n"
        )
    };
    let mut lights: Vec<(&str, String)> =
        AREA_LIGHTS.map(|(name, shape)| (name, area(shape))).into();
    lights.extend([
        ("point", "LightSource \"point\" \"rgb I\" [5 4 3] \"point3 from\" [1.8 -0.4 3.1]\n".into()),
        ("spot", "LightSource \"spot\" \"rgb I\" [5 4 3] \"point3 from\" [1 -0.4 3] \"point3 to\" [0 0 0]\n".into()),
        ("distant", "LightSource \"distant\" \"rgb L\" [5 4 3] \"point3 from\" [1 -0.4 3]\"point3 to\" [0 0 0]\n".into()),
        ("constant", "LightSource \"infinite\" \"rgb L\" [1 0.7 0.4]\n".into()),
        ("image", "LightSource \"infinite\" \"string filename\" \"sky.pfm\"\n".into()),
    ]);
    let mut results = Vec::new();
    for (light, text) in lights {
        let render = |screen: &str| {
            let world = format!(
                "{text}Material \"diffuse\" \"rgb reflectance\" [0 0 0]\n{screen}\n\
                 Material {}\n{}",
                SURFACES[0].1,
                FLOOR.replace('9', "90").replace("10", "100")
            );
            // A wider view has more distinct rays, each with its own alpha test at the screen.
            let text = one_ray(eye, Vec3::ZERO, 1, 32, 64, &world)
                .replace("\"float fov\" 0.02", "\"float fov\" 0.5");
            let scene = scene_of(&text, &[("sky.pfm", sky())], &overrides());
            Estimate::of_picture(&draw(&scene, 2))
        };
        let unoccluded = render("");
        for (screen, shape, transmittance) in SCREENS {
            let expected = Estimate {
                mean: unoccluded.mean.map(|x| transmittance * x),
                error: unoccluded.error.map(|x| transmittance * x),
            };
            results.push((
                format!("{light} through {screen}"),
                render(shape).agrees(&expected, SIGMAS),
            ));
        }
    }
    assert_all(results);
}

#[test]
fn alpha_tests_at_both_hits_of_a_shape_are_independent() {
    let behind = "LightSource \"infinite\" \"rgb L\" [1 1 1]\nMaterial \"diffuse\" \"rgb reflectance\" [0 0 0]\n";
    let mut results = Vec::new();
    for (shape, text) in [
        ("sphere", "Shape \"sphere\" \"float alpha\" 0.5"),
        (
            "saddle",
            "Shape \"bilinearmesh\" \"integer indices\" [0 1 2 3] \"point3 P\" [-1 -1 1  1 -1 -1  -1 1 -1  1 1 1] \"float alpha\" 0.5",
        ),
    ] {
        let scene = scene_of(
            &one_ray(
                vec3(-5.0, -5.0, 0.2),
                vec3(5.0, 5.0, 0.2),
                3,
                16,
                64,
                &format!("{behind}{text}"),
            ),
            &[],
            &overrides(),
        );
        let expected = Estimate::exact(Vec3::splat(0.25));
        results.push((
            shape.to_string(),
            Estimate::of_picture(&draw(&scene, 2)).agrees(&expected, SIGMAS),
        ));
    }
    assert_all(results);
}
