//! Bump maps and normal maps: known radiance, and the same images from all integrators and sampling
//! modes.

use crate::common::{assert_images_agree, brute_force, load_scene, pfm, render, render_with_stats};
use lightbound::film::RenderedImage;
use lightbound::settings::{BsdfSampling, CutMode, LightSampling, MethodName, ShadowTerminator};
use lightbound_math::sampling::{hash, unit_float};
use lightbound_math::{Vec3, vec3};
use lightbound_pbrt::build::{LightcutsOverrides, Overrides, PathOverrides};

/// Files of the scenes: normals of a plane tilted by [`TILT`], random normals, and random heights.
fn files() -> Vec<(&'static str, Vec<u8>)> {
    let random = |k: u32, x: usize, y: usize| unit_float(hash(hash(k, x as u32), y as u32));
    let encoded = |n: Vec3| (0.5 + 0.5 * n.normalize()).to_array();
    vec![
        ("tilted.pfm", pfm(1, |_, _| encoded(TILT))),
        (
            "normals.pfm",
            pfm(8, |x, y| encoded(vec3(random(1, x, y) - 0.5, random(2, x, y) - 0.5, 0.7))),
        ),
        ("heights.pfm", pfm(8, |x, y| [random(3, x, y); 3])),
    ]
}

/// A normal of the plane, in its shading frame.
const TILT: Vec3 = vec3(0.2, -0.3, 1.0);

/// Materials with a bump map, as parameters of `MakeNamedMaterial`.
const MATERIALS: [&str; 5] = [
    r#""string type" "diffuse" "rgb reflectance" [0.6 0.5 0.3]"#,
    r#""string type" "conductor" "float uroughness" 0.4 "float vroughness" 0.15 "bool remaproughness" false"#,
    r#""string type" "dielectric" "float roughness" 0.3"#,
    r#""string type" "coateddiffuse" "float roughness" 0"#,
    r#""string type" "diffusetransmission""#,
];

/// Several lights above a plane with texture coordinates along x and y, and a sphere, as seen from
/// above. `bump` are the parameters of a bump map.
fn scene(material: &str, bump: &str, normals: &str, spp: u32) -> String {
    format!(
        r#"Sampler "zsobol" "integer pixelsamples" {spp} Integrator "path" "integer maxdepth" 1
Film "rgb" "integer xresolution" 16 "integer yresolution" 16
LookAt 0 -2 4  0 0 0  0 0 1 Camera "perspective" "float fov" 30
WorldBegin
LightSource "point" "rgb I" [9 8 7] "point3 from" [1 1 3]
LightSource "spot" "rgb I" [30 20 40] "point3 from" [-2 0 3] "point3 to" [0 0 0]
LightSource "infinite" "rgb L" [0.1 0.12 0.2]
AttributeBegin AreaLightSource "diffuse" "rgb L" [8 7 6]
Translate 1 -1 3 Shape "sphere" "float radius" 0.4 AttributeEnd
Texture "height" "float" "imagemap" "string filename" "heights.pfm" "float scale" 0.05 "float uscale" 2 "float vscale" 2
MakeNamedMaterial "m" {material} {bump} NamedMaterial "m"
Shape "trianglemesh" "integer indices" [0 1 2 0 2 3] "point3 P" [-2 -2 0  2 -2 0  2 2 0  -2 2 0]
  "point2 uv" [0 0  2 0  2 2  0 2] {normals}
Translate 0.3 0.2 0.5 Rotate 30 1 2 3 Shape "sphere" "float radius" 0.3
"#
    )
}

fn lightcuts(settings: LightcutsOverrides) -> Overrides {
    Overrides {
        integrator: Some(MethodName::Lightcuts),
        lightcuts: settings,
        ..Overrides::default()
    }
}

const STOCHASTIC: LightcutsOverrides = LightcutsOverrides {
    error: None,
    error_mode: None,
    max_cut: None,
    mode: Some(CutMode::Stochastic),
    cut_size: Some(24),
    gather: None,
    light_paths: None,
    clamp_distance: None,
    no_compensation: false,
    glossy_paths: false,
    area_points: None,
    environment_points: None,
    bounds: lightbound::settings::BoundMode::Related,
    check_bounds: true,
};

/// Asserts that the pixels of two images are nearly the same.
fn assert_same_pixels(a: &RenderedImage, b: &RenderedImage, label: &str) {
    for (a, b) in a.radiance.iter().zip(&b.radiance) {
        let (a, b) = (Vec3::from(*a), Vec3::from(*b));
        assert!((a - b).length() < 2e-3 * b.length() + 1e-4, "{label}: {a} {b}");
    }
}

#[test]
fn plane_with_one_normal_matches_vertex_normals() {
    let n = format!("{} {} {}", TILT.x, TILT.y, TILT.z);
    let normals = format!(r#""normal N" [{n} {n} {n} {n}]"#);
    let tilted = r#""string normalmap" "tilted.pfm""#;
    // The plane only: the sphere would have the normals of the map.
    let plane = |bump: &str, normals: &str, material: &str| {
        let text = scene(material, bump, normals, 4);
        text.split("Translate 0.3").next().unwrap().to_owned()
    };
    for material in MATERIALS {
        for overrides in [Overrides::default(), lightcuts(STOCHASTIC)] {
            let image = |bump: &str, normals: &str| {
                let text = plane(bump, normals, material);
                render(&load_scene(&text, &files(), &overrides), 2)
            };
            let (bumped, expected) = (image(tilted, ""), image("", &normals));
            assert_same_pixels(&bumped, &expected, material);
            let flat = image("", "");
            let differs = |(a, b): (&[f32; 3], &[f32; 3])| (a[0] - b[0]).abs() > 1e-3 * b[0];
            let pairs = flat.radiance.iter().zip(&expected.radiance);
            assert!(pairs.filter(|pair| differs(*pair)).count() > 200, "{material}");
        }
    }
}

/// Bump maps on random images.
const BUMPS: [&str; 2] =
    [r#""texture displacement" "height""#, r#""string normalmap" "normals.pfm""#];

#[test]
fn lightcuts_match_the_path_tracer() {
    for (i, bump) in BUMPS.into_iter().enumerate() {
        for material in &MATERIALS[i..][..2] {
            let image = |overrides: &Overrides, spp: u32| {
                let text = scene(material, bump, "", spp);
                render_with_stats(&load_scene(&text, &files(), overrides), 2)
            };
            let path = image(&Overrides::default(), 256).image;
            let cuts = image(&lightcuts(STOCHASTIC), 64);
            assert_images_agree(&path, &cuts.image, 0.02, &format!("{material} {bump}"));
            let counts = cuts.counts.cuts;
            assert!(
                counts.checks > 1000 && counts.violations == 0,
                "{} violations",
                counts.violations
            );
        }
    }
}

#[test]
fn sampling_modes_give_the_same_image() {
    for terminator in [ShadowTerminator::Hard, ShadowTerminator::Soft] {
        let image = |light_sampling, bsdf_sampling| {
            let path = PathOverrides {
                light_sampling: Some(light_sampling),
                bsdf_sampling: Some(bsdf_sampling),
                ..PathOverrides::default()
            };
            let overrides =
                Overrides { path, shadow_terminator: Some(terminator), ..Overrides::default() };
            let text = scene(MATERIALS[1], BUMPS[0], "", 256);
            let text = text.replace(r#""maxdepth" 1"#, r#""maxdepth" 3"#);
            render(&load_scene(&text, &files(), &overrides), 2)
        };
        let expected = image(LightSampling::Power, BsdfSampling::Shader);
        for (lights, bsdf) in [
            (LightSampling::MaterialTree, BsdfSampling::Bounds),
            (LightSampling::Tree, BsdfSampling::Cosine),
        ] {
            let label = format!("{terminator:?} {lights:?} {bsdf:?}");
            assert_images_agree(&image(lights, bsdf), &expected, 0.06, &label);
        }
    }
}

#[test]
fn soft_terminators_match_in_both_integrators() {
    let soft =
        |overrides| Overrides { shadow_terminator: Some(ShadowTerminator::Soft), ..overrides };
    let image = |overrides: &Overrides, spp: u32| {
        let text = scene(MATERIALS[0], BUMPS[1], "", spp);
        render(&load_scene(&text, &files(), overrides), 2)
    };
    let path = image(&soft(Overrides::default()), 256);
    let cuts = image(&soft(lightcuts(STOCHASTIC)), 64);
    assert_images_agree(&path, &cuts, 0.02, "soft");
    // The factor is at most 1.
    let hard = image(&Overrides::default(), 256);
    let sum =
        |image: &RenderedImage| image.radiance.iter().map(|rgb| f64::from(rgb[1])).sum::<f64>();
    assert!(sum(&path) < 0.999 * sum(&hard) && sum(&path) > 0.8 * sum(&hard));
    // Flat surfaces have no terminator to soften.
    let flat = |overrides: &Overrides| {
        render(&load_scene(&scene(MATERIALS[2], "", "", 4), &files(), overrides), 2)
    };
    assert_same_pixels(&flat(&soft(Overrides::default())), &flat(&Overrides::default()), "flat");
}

#[test]
fn path_tracer_matches_paths_without_light_sampling() {
    // A single point of a bumped floor below an emissive ceiling.
    let world = format!(
        r#"Texture "height" "float" "imagemap" "string filename" "heights.pfm" "float scale" 0.2
LightSource "infinite" "rgb L" [0.5 0.6 0.7]
MakeNamedMaterial "m" {} {} NamedMaterial "m"
Shape "sphere" "float radius" 1"#,
        MATERIALS[1], BUMPS[0]
    );
    for to in [vec3(0.3, 0.1, 0.2), vec3(-0.2, 0.3, 0.4)] {
        let text = crate::common::single_ray_scene(vec3(0.5, -4.0, 2.0), to, 2, 8, 256, &world);
        let scene = load_scene(&text, &files(), &Overrides::default());
        let image = crate::common::Estimate::from_image(&render(&scene, 2));
        image.agrees(&brute_force(&scene, 2, 16, 1024), 5.0).unwrap();
    }
}

#[test]
fn bump_maps_change_recorded_normals() {
    let text = scene(MATERIALS[0], r#""string normalmap" "tilted.pfm""#, "", 4);
    let text = text.split("Translate 0.3").next().unwrap();
    let film = load_scene(text, &files(), &Overrides::default());
    let features = render(&film, 1).features.unwrap();
    for n in features.normal {
        assert!((Vec3::from(n) - TILT.normalize()).length() < 1e-3, "{n:?}");
    }
}
