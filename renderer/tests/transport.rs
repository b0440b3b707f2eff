//! The path tracer against estimators that share none of its shortcuts: following rays without
//! light sampling, closed forms, and the same scene told in another way.

mod common;

use common::bsdf::Bsdf;
use common::{Estimate, assert_all, brute_force, draw, one_ray, overrides, pfm, scene_of};
use glam::{DAffine3, DQuat};
use lightbound::accel::{self, AccelKind};
use lightbound::film::Picture;
use lightbound::geometry::{BilinearMesh, Disk, Geometry, Mesh, Primitive, Shape};
use lightbound::math::{Ray, Transform, Vec2, Vec3, vec2, vec3};
use lightbound::sampling::{Sampler, SamplerKind, warp};
use lightbound::scene::Scene;
use lightbound::scene::build::Overrides;
use std::sync::Arc;

/// Its diagonal, where tangents change, does not meet the origin.
const FLOOR: &str = "Shape \"trianglemesh\" \"integer indices\" [0 1 2 0 2 3] \
                     \"point3 P\" [-9 -9 0  10 -9 0  10 9 0  -9 9 0]\n";

/// Surfaces, from broad to narrow lobes.
const SURFACES: [(&str, &str); 4] = [
    ("diffuse", "\"diffuse\" \"rgb reflectance\" [0.6 0.4 0.2]"),
    ("conductor", "\"conductor\" \"rgb reflectance\" [0.9 0.6 0.3] \"float roughness\" 0.2"),
    ("brushed conductor", "\"conductor\" \"float uroughness\" 0.05 \"float vroughness\" 0.3"),
    ("dielectric", "\"dielectric\" \"float eta\" 1.5 \"float roughness\" 0.2"),
];

/// Surfaces of more than one part.
const LAYERED: [(&str, &str); 3] = [
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

/// What is drawn from three materials, the chances of which vary over the surface.
const MIX: &str = "Texture \"share\" \"float\" \"checkerboard\" \"float uscale\" 3 \"float tex1\" 0.2 \"float tex2\" 0.7\n\
    MakeNamedMaterial \"red\" \"string type\" \"diffuse\" \"rgb reflectance\" [0.7 0.2 0.1]\n\
    MakeNamedMaterial \"varnish\" \"string type\" \"coateddiffuse\" \"rgb reflectance\" [0.1 0.2 0.7]\n\
    MakeNamedMaterial \"steel\" \"string type\" \"conductor\" \"float roughness\" 0.2\n\
    MakeNamedMaterial \"two\" \"string type\" \"mix\" \"string materials\" [\"varnish\" \"steel\"] \"texture amount\" \"share\"\n\
    MakeNamedMaterial \"mix\" \"string type\" \"mix\" \"string materials\" [\"red\" \"two\"] \"float amount\" 0.6\n";

/// The eye, in the direction that mirrors the lights' at the origin.
const EYE: Vec3 = vec3(-3.0, 0.5, 5.0);

/// A light whose far wall is seen through the near one; light sampling only finds the near one.
const HALF_SPHERE: &str = "half transparent sphere";

/// Area lights on the side of +z.
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
        HALF_SPHERE,
        "Translate 1.2 -0.2 1.8 Shape \"sphere\" \"float radius\" 0.8 \"float alpha\" 0.5",
    ),
    (
        "masked disk",
        "Translate 1.2 -0.2 1.8 Rotate 30 1 0.3 0 Shape \"disk\" \"float radius\" 0.9 \"texture alpha\" \"mask\"",
    ),
];

const MASK: &str = "Texture \"mask\" \"float\" \"checkerboard\" \"float uscale\" 6 \"float vscale\" 2 \
                    \"float tex1\" 0.2 \"float tex2\" 1\n";

/// The light above and its mirror image, of another brightness, below.
fn both_sides(shape: &str, two_sided: bool) -> String {
    let light = |l: &str, place: &str| {
        format!(
            "AttributeBegin\nAreaLightSource \"diffuse\" \"rgb L\" [{l}] \"bool twosided\" {two_sided}\n\
             {place}\n{shape}\nAttributeEnd\n"
        )
    };
    format!(
        "{MASK}{}{}",
        light("4 3 2", ""),
        light("8 10 12", "Translate -0.4 0.1 0 Scale 0.8 0.8 -0.8")
    )
}

/// Standard errors that may lie between two estimates of the same.
const SIGMAS: f64 = 4.5;

/// Whether the picture of a scene that shows what is seen along one ray is what brute force finds
/// there.
fn unbiased(scene: &Scene) -> Result<(), String> {
    let picture = Estimate::of_picture(&draw(scene, 2));
    let expected = brute_force(scene, scene.integrator.max_depth, 64, 3072);
    if expected.mean.iter().any(|&x| x <= 0.0) {
        return Err(format!("nothing is seen: {expected:?}"));
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

/// A sky with one bright texel, above in the direction of the other lights, and a coloured horizon.
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
        ("constant sky", constant.to_string()),
        ("image", image.to_string()),
        ("two skies and spheres", format!("{constant}{image}{near}")),
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
    let surfaces = LAYERED.map(|(name, material)| (name, format!("Material {material}")));
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
fn lights_without_extent_follow_from_the_bsdf() {
    let at = vec3(1.8, -0.4, 3.1);
    let below = vec3(-0.3, 0.2, -2.0);
    let mut results = Vec::new();
    for (surface, material) in SURFACES.into_iter().chain(LAYERED) {
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
        for (light, text, from, brighter) in lights {
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
                bsdf.eval(wi, wo) * vec3(5.0, 4.0, 3.0) * (brighter / from.length_squared());
            let picture = Estimate::of_picture(&draw(&scene, 1));
            // The camera's rays are not all the same to the last digit.
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
    // A room without ceiling under a sky, with a lamp seen through glass, a rough mirror, a
    // half-transparent screen and instances that are mirrored and squeezed.
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
    // Balls of many materials around the place that is looked at, so that a wave meets all of them
    // in each of its batches.
    let balls = [
        SURFACES[0].1,
        SURFACES[1].1,
        SURFACES[3].1,
        LAYERED[0].1,
        LAYERED[1].1,
        LAYERED[2].1,
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
    let places = [
        ("floor", vec3(0.1, 0.2, 0.0)),
        ("leaf", on_ball(3)),
        ("varnish", on_ball(4)),
        ("holes", on_ball(9)),
    ];
    let mut results = Vec::new();
    for (name, to) in places {
        let from = vec3(1.3 * to.x + 0.4, 1.3 * to.y - 0.3, 1.9);
        let scene = scene_of(&one_ray(from, to, 5, 16, 64, &world), &[], &overrides());
        results.push((name.to_string(), unbiased(&scene)));
    }
    assert_all(results);
}

#[test]
fn depth_counts_scattering_events() {
    // Between two parallel walls, one shining and black, one grey and dark: an infinite sequence of
    // known terms does not exist, but a sphere that shines from inside has L = e Σ ρⁿ over the
    // events allowed.
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
    // A lamp behind a pane and seen in a mirror: a pane and a mirror are an event each.
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

/// A screen of opacity one half, below the lights and above the eye of [`through_screen`].
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
            // The wider the view, the more different rays there are, each with its own fate at the
            // screen.
            let text = one_ray(eye, Vec3::ZERO, 1, 32, 64, &world)
                .replace("\"float fov\" 0.02", "\"float fov\" 0.5");
            let scene = scene_of(&text, &[("sky.pfm", sky())], &overrides());
            Estimate::of_picture(&draw(&scene, 2))
        };
        let free = render("");
        for (screen, shape, share) in SCREENS {
            let expected = Estimate {
                mean: free.mean.map(|x| share * x),
                error: free.error.map(|x| share * x),
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
fn each_wall_of_a_shape_decides_by_itself_whether_it_is_there() {
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

/// Closed opaque rooms around the origin, at least 1 wide on all sides.
const ROOMS: [(&str, &str); 6] = [
    (
        "mesh",
        "Shape \"trianglemesh\" \"point3 P\" [-1 -1 -1  1 -1 -1  -1 1 -1  1 1 -1  -1 -1 1  1 -1 1  -1 1 1  1 1 1] \
         \"integer indices\" [0 1 3 0 3 2  4 5 7 4 7 6  0 1 5 0 5 4  2 3 7 2 7 6  0 2 6 0 6 4  1 3 7 1 7 5]",
    ),
    (
        "tetrahedron",
        "Shape \"trianglemesh\" \"point3 P\" [3 3 3  -3 -3 3  -3 3 -3  3 -3 -3] \"integer indices\" [0 1 2 0 1 3 0 2 3 1 2 3]",
    ),
    (
        "patches",
        "Shape \"bilinearmesh\" \"point3 P\" [-1 -1 -1  1 -1 -1  -1 1 -1  1 1 -1  -1 -1 1  1 -1 1  -1 1 1  1 1 1.5] \
         \"integer indices\" [0 1 2 3  4 5 6 7  0 1 4 5  2 3 6 7  0 2 4 6  1 3 5 7]",
    ),
    (
        "disks",
        "Shape \"disk\" \"float radius\" 2 \"float height\" 1\nShape \"disk\" \"float radius\" 2 \"float height\" -1\n\
         Rotate 90 1 0 0\n\
         Shape \"disk\" \"float radius\" 2 \"float height\" 1\nShape \"disk\" \"float radius\" 2 \"float height\" -1\n\
         Rotate 90 0 1 0\n\
         Shape \"disk\" \"float radius\" 2 \"float height\" 1\nShape \"disk\" \"float radius\" 2 \"float height\" -1\n",
    ),
    ("sphere", "Shape \"sphere\" \"float radius\" 1.5"),
    ("ellipsoid", "Rotate 30 1 2 3 Scale 1 2 1.5 Shape \"sphere\" \"float radius\" 1.5"),
];

/// Places from where a scene of size 1 should look the same.
const PLACES: [&str; 6] = [
    "Scale 1 1 1",
    "Scale 0.001 0.001 0.001",
    "Scale 1000 1000 1000",
    "Scale 100000 100000 100000",
    "Translate 1000 500 -700",
    "Translate 1000 500 -700 Scale 10 10 10",
];

/// A picture of a scene of size 1 that was moved to another place, with its camera.
fn placed(place: &str, eye: &str, fov: f32, spp: u32, depth: u32, world: &str) -> Scene {
    let text = format!(
        "Sampler \"zsobol\" \"integer pixelsamples\" {spp}\nIntegrator \"path\" \"integer maxdepth\" {depth}\n\
         LookAt {eye}\nCONCAT\nCamera \"perspective\" \"float fov\" {fov}\n\
         Film \"rgb\" \"integer xresolution\" 32 \"integer yresolution\" 32\n\
         PixelFilter \"box\" \"float xradius\" 0.5 \"float yradius\" 0.5\nWorldBegin\n{place}\n{world}\n"
    );
    // The camera sees the world through the inverse of the place.
    scene_of(&text.replace("CONCAT", &inverse(place)), &[], &overrides())
}

/// The inverse of translations and even scales.
fn inverse(place: &str) -> String {
    let words: Vec<&str> = place.split_whitespace().collect();
    let steps = words.chunks(4).rev().map(|step| {
        let x: Vec<f64> = step[1..].iter().map(|w| w.parse().unwrap()).collect();
        let invert = |x: f64| if step[0] == "Scale" { 1.0 / x } else { -x };
        format!("{} {} {} {} ", step[0], invert(x[0]), invert(x[1]), invert(x[2]))
    });
    steps.collect()
}

#[test]
fn closed_rooms_let_no_light_in_or_out() {
    let mut results = Vec::new();
    for (room, shape) in ROOMS {
        for place in PLACES {
            let walls = format!(
                "Material \"diffuse\" \"rgb reflectance\" [0.9 0.9 0.9]\nAttributeBegin\n{shape}\nAttributeEnd\n"
            );
            let dark = format!("LightSource \"infinite\" \"rgb L\" [1e6 1e6 1e6]\n{walls}");
            let picture =
                draw(&placed(place, "0.1 0.2 0.3  0.6 0.5 0.4  0 0 1", 90.0, 16, 8, &dark), 2);
            let lit = picture.radiance.iter().filter(|p| p[0] > 0.0).count();
            // Points round to the far side of a wall that is nearer than a few ulps; that is met
            // only where walls stand at acute angles, or far from the origin.
            let most =
                if place.starts_with("Translate") || matches!(room, "tetrahedron" | "patches") {
                    10
                } else {
                    0
                };
            results.push((
                format!("into {room}, {place}"),
                if lit <= most { Ok(()) } else { Err(format!("{lit} pixels")) },
            ));
            let lamp = format!(
                "{walls}AreaLightSource \"diffuse\" \"rgb L\" [1e6 1e6 1e6] \"bool twosided\" true\n\
                 Translate 0.2 0.1 0.3\nShape \"sphere\" \"float radius\" 0.3\nShape \"disk\" \"float radius\" 0.6"
            );
            let picture =
                draw(&placed(place, "3.4 4.2 5.3  0 0.1 0.2  0 0 1", 50.0, 4, 8, &lamp), 2);
            let lit = picture.radiance.iter().filter(|p| p[0] > 0.0).count();
            results.push((
                format!("out of {room}, {place}"),
                if lit <= most { Ok(()) } else { Err(format!("{lit} pixels")) },
            ));
        }
    }
    assert_all(results);
}

#[test]
fn small_lights_shine_far() {
    // Light of a shape near the origin, seen from so far that coordinates there have no digits for
    // its size to spare. All but the one that hides itself, the more the finer one looks.
    let mut results = Vec::new();
    for (light, shape) in AREA_LIGHTS.into_iter().filter(|l| l.0 != "part of a sphere") {
        let irradiance = |distance: f32| {
            let world = format!(
                "{MASK}AttributeBegin\nAreaLightSource \"diffuse\" \"rgb L\" [4 3 2] \"bool twosided\" {}\nScale 0.1 0.1 0.1\n\
                 {shape}\nAttributeEnd\nMaterial \"diffuse\"\nTranslate 0 0 {}\n{FLOOR}",
                light != HALF_SPHERE,
                -distance
            );
            let (eye, to) = (vec3(0.5, 0.0, 1.0 - distance), vec3(0.0, 0.0, -distance));
            let scene = scene_of(&one_ray(eye, to, 1, 16, 64, &world), &[], &overrides());
            let e = Estimate::of_picture(&draw(&scene, 2));
            let scale = f64::from(distance * distance);
            Estimate { mean: e.mean.map(|x| scale * x), error: e.error.map(|x| scale * x) }
        };
        let near = irradiance(50.0);
        for distance in [500.0, 5000.0] {
            let near = Estimate { error: near.mean.map(|x| 2e-3 * x), ..near };
            results.push((
                format!("{light} at {distance}"),
                irradiance(distance).agrees(&near, SIGMAS),
            ));
        }
    }
    assert_all(results);
}

/// Random flat shapes of size 1 around `at`.
fn flat_shapes(at: Vec3, seed: u32) -> [Shape; 3] {
    let sampler = Sampler::new(SamplerKind::Independent, seed);
    let corner =
        |i| 2.0 * Vec3::from_slice(&sampler.get4(sampler.path(0, 0, i), 0)) - Vec3::ONE + at;
    let [a, b, c] = [0, 1, 2].map(corner);
    let mesh = Mesh::new(vec![a, b, c], vec![[0, 1, 2]], vec![], vec![]).unwrap();
    let patch =
        BilinearMesh::new(vec![a, b, c, b + c - a], vec![[0, 1, 2, 3]], vec![], vec![]).unwrap();
    let turn =
        DAffine3::from_rotation_translation(DQuat::from_rotation_x(seed.into()), at.as_dvec3());
    let disk = Disk::new(
        &Transform::new(turn * DAffine3::from_rotation_y(seed.into())).unwrap(),
        0.3,
        1.0,
        0.0,
        360.0,
    )
    .unwrap();
    [Shape::Mesh(mesh), Shape::Bilinear(patch), Shape::Disk(disk)]
}

#[test]
fn rays_do_not_meet_the_surface_they_leave() {
    let sampler = Sampler::new(SamplerKind::Independent, 3);
    let mut left = 0;
    for (seed, distance) in (0..200).flat_map(|seed| [0.0, 30.0, 1000.0].map(|d| (seed, d))) {
        for shape in flat_shapes(distance * vec3(1.0, 0.5, -0.7), seed) {
            let middle = shape.aabb(0).center();
            let primitive =
                Primitive { shape, material: 0, first_light: None, alpha: None, flip: false };
            let geometry = Arc::new(Geometry {
                primitives: vec![primitive],
                world: 0..1,
                ..Geometry::default()
            });
            let accel = accel::build(AccelKind::Auto, geometry.clone()).unwrap();
            for i in 0..50 {
                let [a, b, c, d] = sampler.get4(sampler.path(seed, 1, i), 0);
                let [e, f, _, _] = sampler.get4(sampler.path(seed, 1, i), 1);
                let from = middle + 3.0 * warp::uniform_sphere(vec2(a, b));
                let hit = accel.intersect(&Ray::new(
                    from,
                    middle + 0.5 * warp::uniform_sphere(vec2(c, d)) - from,
                ));
                if hit.is_miss() {
                    continue;
                }
                let (surface, d) = (geometry.surface(&hit), warp::uniform_sphere(vec2(e, f)));
                let again = accel.intersect(&Ray::new(surface.origin_towards(d), d));
                assert!(
                    again.is_miss(),
                    "{:?} at {distance}: {again:?}",
                    geometry.primitives[0].shape
                );
                left += 1;
            }
        }
    }
    assert!(left > 20_000, "{left}");
}

/// A room like Cornell's with a lamp of each kind, and things in it as an object: a ball of glass,
/// a crumpled mirror, a pyramid.
fn small_world(scale: f32) -> String {
    let intensity = 0.5 * scale * scale;
    format!(
        "LightSource \"infinite\" \"rgb L\" [0.1 0.2 0.3]\n\
         LightSource \"point\" \"rgb I\" [{intensity} {intensity} {intensity}] \"point3 from\" [0.5 0.6 0.7]\n\
         LightSource \"distant\" \"rgb L\" [0.2 0.2 0.1] \"point3 from\" [0.1 -0.4 0.9] \"point3 to\" [0 0 0]\n\
         Material \"diffuse\" \"rgb reflectance\" [0.7 0.5 0.3]\n\
         Shape \"trianglemesh\" \"point3 P\" [-1 -1 -1  1 -1 -1  -1 1 -1  1 1 -1  -1 1 1  1 1 1] \
         \"integer indices\" [0 1 3 0 3 2  2 3 5 2 5 4]\n\
         Shape \"bilinearmesh\" \"point3 P\" [-1 -1 -1  -1 1 -1  -1 -1 1  -1 1 1]\n\
         AttributeBegin\nAreaLightSource \"diffuse\" \"rgb L\" [5 6 7] \"bool twosided\" true\n\
         Shape \"disk\" \"float radius\" 0.3 \"float height\" 0.9\nTranslate -0.5 -0.3 0.6\nShape \"sphere\" \"float radius\" 0.1\n\
         Shape \"trianglemesh\" \"point3 P\" [0 0 0.3  0.2 0 0.3  0 0.2 0.3] \"integer indices\" [0 1 2]\nAttributeEnd\n\
         ObjectBegin \"things\"\n\
         Material \"conductor\" \"float roughness\" 0.1\n\
         Shape \"bilinearmesh\" \"point3 P\" [0.2 0.2 -1  0.9 0 -0.9  0.3 0.8 0  0.8 0.7 0.5]\n\
         Material \"diffuse\" \"rgb reflectance\" [0.2 0.6 0.8]\n\
         Shape \"trianglemesh\" \"point3 P\" [-0.9 0 -1  -0.2 0 -1  -0.5 0.6 -1  -0.5 0.3 -0.3] \
         \"normal N\" [-1 -1 -0.3  1 -1 -0.3  0 1 -0.3  0 0 1] \"integer indices\" [0 1 3 1 2 3 2 0 3]\n\
         Material \"dielectric\"\nTranslate 0.1 -0.5 -0.55\nShape \"sphere\" \"float radius\" 0.4\nObjectEnd\n"
    )
}

/// Relative difference of the means, and the share of pixels that differ by more than a tenth.
fn difference(a: &Picture, b: &Picture) -> (f64, f64) {
    let n = a.radiance.len() as f64;
    let sums = a.radiance.iter().zip(&b.radiance).fold((0.0, 0.0, 0.0), |(d, s, many), (p, q)| {
        let (p, q) = (f64::from(p[0] + p[1] + p[2]), f64::from(q[0] + q[1] + q[2]));
        (d + (p - q), s + p, many + f64::from(u32::from((p - q).abs() > 0.1 * p.max(q))))
    });
    (sums.0 / sums.1, sums.2 / n)
}

/// The eye in [`small_world`].
const INSIDE: &str = "0.3 -3 0.4  0 0 -0.1  0 0 1";

#[test]
fn size_and_place_of_a_scene_do_not_matter() {
    let picture = |place: &str, scale: f32| {
        draw(
            &placed(
                place,
                INSIDE,
                40.0,
                16,
                5,
                &(small_world(scale) + "Identity\nObjectInstance \"things\"\n"),
            ),
            2,
        )
    };
    let reference = picture(PLACES[0], 1.0);
    for (place, scale) in PLACES.into_iter().zip([1.0, 1e-3, 1e3, 1e5, 1.0, 10.0]) {
        let (mean, many) = difference(&reference, &picture(place, scale));
        let (most_mean, most_many) =
            if place.starts_with("Translate") { (5e-3, 0.05) } else { (1e-4, 2e-3) };
        assert!(mean.abs() < most_mean && many < most_many, "{place}: {mean} {many}");
    }
}

#[test]
fn instances_are_what_their_copies_are() {
    for place in [
        "Scale -1 1 1",
        "Rotate 30 1 2 3 Scale 0.8 -1.2 0.5 Rotate 70 3 2 1",
        "Translate 0.1 0.1 0 Scale -0.5 -0.6 -0.7",
    ] {
        let world = small_world(1.0);
        let instance =
            format!("{world}AttributeBegin\n{place}\nObjectInstance \"things\"\nAttributeEnd\n");
        let copy = world
            .replace("ObjectBegin \"things\"", &format!("AttributeBegin\n{place}"))
            .replace("ObjectEnd", "AttributeEnd");
        let [a, b] =
            [instance, copy].map(|world| draw(&placed(PLACES[0], INSIDE, 40.0, 128, 5, &world), 2));
        let (mean, many) = difference(&a, &b);
        // Mirroring turns the tangents of meshes, so that the random numbers lead elsewhere.
        assert!(mean.abs() < 2e-3 && many < 0.05, "{place}: {mean} {many}");
        let normals = |p: &Picture| p.features.as_ref().unwrap().normal.clone();
        let turned = normals(&a)
            .iter()
            .zip(normals(&b))
            .filter(|(m, n)| Vec3::from(**m).dot(Vec3::from(*n)) < -0.1)
            .count();
        assert_eq!(turned, 0, "{place}: normals");
    }
}

#[test]
fn threads_and_accelerators_show_the_same() {
    let text = format!(
        "Sampler \"zsobol\" \"integer pixelsamples\" 16\nIntegrator \"path\" \"integer maxdepth\" 5\n\
         LookAt {INSIDE}\nCamera \"perspective\" \"float fov\" 40\n\
         Film \"rgb\" \"integer xresolution\" 48 \"integer yresolution\" 40\nWorldBegin\n{}ObjectInstance \"things\"\n",
        small_world(1.0)
    );
    let render = |kind, threads| {
        draw(&scene_of(&text, &[], &Overrides { accel: kind, ..overrides() }), threads)
    };
    let builtin = render(AccelKind::Builtin, 1);
    assert!(builtin.radiance == render(AccelKind::Builtin, 3).radiance);
    let auto = render(AccelKind::Auto, 1);
    assert!(auto.radiance == render(AccelKind::Auto, 3).radiance);
    // Embree rounds otherwise, so that a path here and there goes another way.
    let (mean, many) = difference(&builtin, &auto);
    assert!(mean.abs() < 1e-3 && many < 0.03, "{mean} {many}");
}
