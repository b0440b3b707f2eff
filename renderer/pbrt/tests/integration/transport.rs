//! The path tracer matches independent estimates: path tracing without light sampling, closed
//! forms, and equivalent descriptions of the same scene.

#[path = "transport/placement.rs"]
mod placement;

use crate::common::bsdf::Bsdf;
use crate::common::{
    Estimate, TestScene, assert_all_ok, brute_force, load_scene, pfm, render, single_ray_scene,
};
use lightbound_math::{Vec2, Vec3, vec2, vec3};
use lightbound_pbrt::build::Overrides;

/// A floor. Its diagonal, where the tangents change, does not pass through the origin.
const FLOOR: &str = "Shape \"trianglemesh\" \"integer indices\" [0 1 2 0 2 3] \
                     \"point3 P\" [-9 -9 0  10 -9 0  10 9 0  -9 9 0]\n";

/// Diffuse and microfacet materials.
const BASIC_MATERIALS: [(&str, &str); 4] = [
    ("diffuse", "\"diffuse\" \"rgb reflectance\" [0.6 0.4 0.2]"),
    ("conductor", "\"conductor\" \"rgb reflectance\" [0.9 0.6 0.3] \"float roughness\" 0.2"),
    ("brushed conductor", "\"conductor\" \"float uroughness\" 0.05 \"float vroughness\" 0.3"),
    ("dielectric", "\"dielectric\" \"float eta\" 1.5 \"float roughness\" 0.2"),
];

/// Translucent and coated materials.
const COMPOSITE_MATERIALS: [(&str, &str); 3] = [
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

/// The camera position. From there, the origin reflects the lights.
const EYE: Vec3 = vec3(-3.0, 0.5, 5.0);

/// Name of a spherical light with its far side visible through the near side. Light sampling covers
/// the near side only.
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

/// Returns a light above the floor and a mirror image of it, with different emission, below the
/// floor.
fn lights_on_both_sides(shape: &str, two_sided: bool) -> String {
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

/// Maximum difference between two estimates of the same value, in standard errors.
const TOLERANCE_SIGMAS: f64 = 4.5;

/// Compares the path tracer with brute-force path tracing of a [`single_ray_scene`].
fn check_unbiased(scene: &TestScene) -> Result<(), String> {
    let estimate = Estimate::from_image(&render(scene, 2));
    let expected = brute_force(scene, scene.settings.integrator.max_depth, 64, 3072);
    if expected.mean.iter().any(|&x| x <= 0.0) {
        return Err(format!("the reference has a black channel: {expected:?}"));
    }
    estimate.agrees(&expected, TOLERANCE_SIGMAS)
}

#[test]
fn area_lights_are_sampled_without_bias() {
    let mut results = Vec::new();
    for (light, shape) in AREA_LIGHTS {
        for (surface, material) in BASIC_MATERIALS {
            let world = format!(
                "{}Material {material}\n{FLOOR}",
                lights_on_both_sides(shape, !matches!(light, "sphere" | "ellipsoid"))
            );
            let scene = load_scene(
                &single_ray_scene(EYE, Vec3::ZERO, 1, 12, 32, &world),
                &[],
                &Overrides::default(),
            );
            results.push((format!("{light} on {surface}"), check_unbiased(&scene)));
        }
    }
    assert_all_ok(results);
}

/// Encodes an environment map with one bright texel, in the direction of the other lights.
fn environment_map() -> Vec<u8> {
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
    let image_map = "AttributeBegin Rotate 20 0 1 0 LightSource \"infinite\" \"string filename\" \"sky.pfm\" AttributeEnd\n";
    let constant = "LightSource \"infinite\" \"rgb L\" [1 0.7 0.4]\n";
    let spheres = lights_on_both_sides(AREA_LIGHTS[3].1, false);
    let mut results = Vec::new();
    for (name, lights) in [
        ("constant environment", constant.to_string()),
        ("image", image_map.to_string()),
        ("two environments and spheres", format!("{constant}{image_map}{spheres}")),
    ] {
        for (surface, material) in BASIC_MATERIALS {
            let world = format!("{lights}Material {material}\n{FLOOR}");
            let scene = load_scene(
                &single_ray_scene(EYE, Vec3::ZERO, 1, 12, 32, &world),
                &[("sky.pfm", environment_map())],
                &Overrides::default(),
            );
            results.push((format!("{name} on {surface}"), check_unbiased(&scene)));
        }
    }
    assert_all_ok(results);
}

#[test]
fn layers_and_mixes_are_sampled_without_bias() {
    let surfaces =
        COMPOSITE_MATERIALS.map(|(name, material)| (name, format!("Material {material}")));
    let environment = "LightSource \"infinite\" \"rgb L\" [1 0.7 0.4]\n";
    let mut results = Vec::new();
    for (surface, material) in
        surfaces.into_iter().chain([("mix", format!("{MIX}NamedMaterial \"mix\""))])
    {
        for (light, shape) in [AREA_LIGHTS[0], AREA_LIGHTS[3]] {
            let world = format!(
                "{environment}{}{material}\n{FLOOR}",
                lights_on_both_sides(shape, light != "sphere")
            );
            let scene = load_scene(
                &single_ray_scene(EYE, Vec3::ZERO, 1, 12, 64, &world),
                &[],
                &Overrides::default(),
            );
            results.push((format!("{light} on {surface}"), check_unbiased(&scene)));
        }
    }
    assert_all_ok(results);
}

#[test]
fn delta_lights_agree_with_bsdf_evaluation() {
    let above = vec3(1.8, -0.4, 3.1);
    let below = vec3(-0.3, 0.2, -2.0);
    let mut results = Vec::new();
    for (surface, material) in BASIC_MATERIALS.into_iter().chain(COMPOSITE_MATERIALS) {
        let lights = [
            (
                "point",
                format!(
                    "\"point\" \"rgb I\" [5 4 3] \"point3 from\" [{} {} {}]",
                    above.x, above.y, above.z
                ),
                above,
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
                    above.x, above.y, above.z
                ),
                above,
                1.0,
            ),
            (
                "distant",
                format!(
                    "\"distant\" \"rgb L\" [5 4 3] \"point3 from\" [{} {} {}] \"point3 to\" [0 0 0]",
                    above.x, above.y, above.z
                ),
                above,
                above.length_squared(),
            ),
        ];
        for (light, text, from, intensity_scale) in lights {
            let world = format!("LightSource {text}\nMaterial {material}\n{FLOOR}");
            let scene = load_scene(
                &single_ray_scene(EYE, Vec3::ZERO, 3, 2, 1, &world),
                &[],
                &Overrides::default(),
            );
            let ray = scene.camera.ray(vec2(1.0, 1.0), Vec2::ZERO, 0.0).unwrap().ray;
            let hit = scene.accel.intersect(&ray);
            let interaction = scene.geometry.surface(&hit, ray.d);
            let bsdf = Bsdf::new(&scene, &hit, &interaction);
            let (wi, wo) = (
                interaction.frame.local_direction(from.normalize()),
                interaction.frame.local_direction(EYE.normalize()),
            );
            let expected =
                bsdf.eval(wi, wo) * vec3(5.0, 4.0, 3.0) * (intensity_scale / from.length_squared());
            let estimate = Estimate::from_image(&render(&scene, 1));
            // Camera rays differ slightly across the image.
            let expected = Estimate {
                error: expected.to_array().map(|x| 5e-4 * f64::from(x)),
                ..Estimate::exact(expected)
            };
            results.push((format!("{light} on {surface}"), estimate.agrees(&expected, 4.0)));
        }
    }
    assert_all_ok(results);
}

#[test]
fn paths_of_many_bounces_are_sampled_without_bias() {
    // A floor and a wall under an environment light, with an area light inside a glass sphere, and
    // with mirrored and non-uniformly scaled instances of a rough mirror and a masked disk.
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
        BASIC_MATERIALS[1].1, BASIC_MATERIALS[0].1
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
        let scene =
            load_scene(&single_ray_scene(from, to, 6, 16, 64, &world), &[], &Overrides::default());
        results.push((format!("from {from}"), check_unbiased(&scene)));
    }
    assert_all_ok(results);
}

#[test]
fn many_materials_at_once_are_sampled_without_bias() {
    // Spheres of many materials around the target, so that each wavefront contains all of them.
    let materials = [
        BASIC_MATERIALS[0].1,
        BASIC_MATERIALS[1].1,
        BASIC_MATERIALS[3].1,
        COMPOSITE_MATERIALS[0].1,
        COMPOSITE_MATERIALS[1].1,
        COMPOSITE_MATERIALS[2].1,
        "\"dielectric\"",
        "\"conductor\" \"rgb reflectance\" [0.9 0.8 0.7]",
        "\"mix\" \"string materials\" [\"red\" \"two\"] \"float amount\" 0.3",
        "\"mix\" \"string materials\" [\"nothing\" \"mix\"] \"float amount\" 0.8",
    ];
    let mut world = format!(
        "LightSource \"infinite\" \"rgb L\" [0.4 0.5 0.7]\n{MIX}MakeNamedMaterial \"nothing\" \"string type\" \"interface\"\n\
         AttributeBegin\nAreaLightSource \"diffuse\" \"rgb L\" [6 5 4]\nTranslate 0 0 3\nShape \"sphere\" \"float radius\" 0.8\n\
         AttributeEnd\nMaterial {}\n{FLOOR}",
        BASIC_MATERIALS[0].1
    );
    for (i, material) in materials.iter().enumerate() {
        let angle = 36 * i;
        world += &format!(
            "AttributeBegin\nMaterial {material}\nRotate {angle} 0 0 1\nTranslate 1.6 0 0.5\nShape \"sphere\" \"float radius\" 0.5\n\
             AttributeEnd\n"
        );
    }
    let on_sphere = |i: usize| {
        let (sin, cos) = (36.0 * i as f32).to_radians().sin_cos();
        vec3(1.6 * cos, 1.6 * sin, 0.6)
    };
    let targets = [
        ("floor", vec3(0.1, 0.2, 0.0)),
        ("leaf", on_sphere(3)),
        ("varnish", on_sphere(4)),
        ("mix with interface", on_sphere(9)),
    ];
    let mut results = Vec::new();
    for (name, to) in targets {
        let from = vec3(1.3 * to.x + 0.4, 1.3 * to.y - 0.3, 1.9);
        let scene =
            load_scene(&single_ray_scene(from, to, 5, 16, 64, &world), &[], &Overrides::default());
        results.push((name.to_string(), check_unbiased(&scene)));
    }
    assert_all_ok(results);
}

#[test]
fn depth_counts_scattering_events() {
    // Inside an emitting sphere, L = Lₑ Σ ρⁿ for n from 0 to the maximum depth.
    let mut results = Vec::new();
    for depth in 0..6 {
        let world = "ReverseOrientation\nMaterial \"diffuse\" \"rgb reflectance\" [0.9 0.5 0.1]\n\
                     AreaLightSource \"diffuse\" \"rgb L\" [1 1 1]\nShape \"sphere\" \"float radius\" 2";
        let scene = load_scene(
            &single_ray_scene(vec3(0.3, 0.2, 0.1), Vec3::ZERO, depth, 16, 16, world),
            &[],
            &Overrides::default(),
        );
        let expected = [0.9f64, 0.5, 0.1]
            .map(|albedo| (0..=depth).map(|n| albedo.powi(n as i32)).sum::<f64>());
        let estimate = Estimate::from_image(&render(&scene, 2));
        results.push((
            format!("depth {depth}"),
            estimate.agrees(&Estimate { mean: expected, error: [0.0; 3] }, TOLERANCE_SIGMAS),
        ));
    }
    assert_all_ok(results);
    // A light reflected by a mirror behind a pane: the reflection and both transmissions count.
    let world = "AttributeBegin\nAreaLightSource \"diffuse\" \"rgb L\" [1 1 1]\nTranslate 0 0 5\nReverseOrientation\n\
                 Shape \"disk\" \"float radius\" 9\nAttributeEnd\n\
                 AttributeBegin\nMaterial \"thindielectric\" \"float eta\" 1.0\nTranslate 0 0 3\nShape \"disk\" \"float radius\" 9\nAttributeEnd\n\
                 Material \"conductor\" \"rgb reflectance\" [0.5 0.5 0.5]\nShape \"disk\" \"float radius\" 9\n";
    for (depth, expected) in [(0, 0.0), (1, 0.0), (2, 0.0), (3, 0.5), (4, 0.5)] {
        let scene = load_scene(
            &single_ray_scene(vec3(0.0, 0.0, 4.0), Vec3::ZERO, depth, 2, 1, world),
            &[],
            &Overrides::default(),
        );
        let radiance = render(&scene, 1).radiance[0][0];
        assert!(
            (radiance - expected).abs() < 1e-4,
            "depth {depth}: {radiance}, expected {expected}"
        );
    }
}

/// Half-transparent screens between the floor and the lights, with their transmittance.
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
    ("enclosing sphere", "Shape \"sphere\" \"float radius\" 0.8 \"float alpha\" 0.5", 0.5),
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
fn half_transparent_screens_attenuate_all_lights() {
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
        let radiance_through = |screen: &str| {
            let world = format!(
                "{text}Material \"diffuse\" \"rgb reflectance\" [0 0 0]\n{screen}\n\
                 Material {}\n{}",
                BASIC_MATERIALS[0].1,
                FLOOR.replace('9', "90").replace("10", "100")
            );
            // A wider view has more distinct rays, each with its own alpha test.
            let text = single_ray_scene(eye, Vec3::ZERO, 1, 32, 64, &world)
                .replace("\"float fov\" 0.02", "\"float fov\" 0.5");
            let scene = load_scene(&text, &[("sky.pfm", environment_map())], &Overrides::default());
            Estimate::from_image(&render(&scene, 2))
        };
        let unoccluded = radiance_through("");
        for (screen, shape, transmittance) in SCREENS {
            let expected = Estimate {
                mean: unoccluded.mean.map(|x| transmittance * x),
                error: unoccluded.error.map(|x| transmittance * x),
            };
            results.push((
                format!("{light} through {screen}"),
                radiance_through(shape).agrees(&expected, TOLERANCE_SIGMAS),
            ));
        }
    }
    assert_all_ok(results);
}

#[test]
fn alpha_tests_at_both_hits_of_a_shape_are_independent() {
    let background = "LightSource \"infinite\" \"rgb L\" [1 1 1]\nMaterial \"diffuse\" \"rgb reflectance\" [0 0 0]\n";
    let mut results = Vec::new();
    for (shape, text) in [
        ("sphere", "Shape \"sphere\" \"float alpha\" 0.5"),
        (
            "saddle",
            "Shape \"bilinearmesh\" \"integer indices\" [0 1 2 3] \"point3 P\" [-1 -1 1  1 -1 -1  -1 1 -1  1 1 1] \"float alpha\" 0.5",
        ),
    ] {
        let scene = load_scene(
            &single_ray_scene(
                vec3(-5.0, -5.0, 0.2),
                vec3(5.0, 5.0, 0.2),
                3,
                16,
                64,
                &format!("{background}{text}"),
            ),
            &[],
            &Overrides::default(),
        );
        let expected = Estimate::exact(Vec3::splat(0.25));
        results.push((
            shape.to_string(),
            Estimate::from_image(&render(&scene, 2)).agrees(&expected, TOLERANCE_SIGMAS),
        ));
    }
    assert_all_ok(results);
}
