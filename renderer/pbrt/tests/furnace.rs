//! Furnace tests: under uniform illumination, objects are invisible except for absorption.

mod common;

use common::bsdf::Bsdf;
use common::{Estimate, TestScene, assert_all, draw, one_ray, overrides, scene_of};
use lightbound::settings::{BsdfSampling, LightSampling};
use lightbound_math::{Ray, Vec3, vec3};
use lightbound_pbrt::build::{Overrides, PathOverrides};
use std::f32::consts::PI;
use std::f64::consts::TAU;
use std::fmt::Write;

/// Tolerance between two estimates of the same value, standard errors.
const SIGMAS: f64 = 4.5;

const SKY: &str = "LightSource \"infinite\" \"rgb L\" [1 1 1]\n";

/// Radiance along the ray from `from` to `to`; all pixels have the same expected value.
fn seen(from: Vec3, to: Vec3, depth: u32, world: &str) -> Estimate {
    Estimate::of_picture(&draw(
        &scene_of(&one_ray(from, to, depth, 16, 64, world), &[], &overrides()),
        2,
    ))
}

fn same(value: f32) -> Estimate {
    Estimate::exact(Vec3::splat(value))
}

/// Whether all channels are in a range, within 4.5 standard errors.
fn within(e: &Estimate, low: f64, high: f64) -> Result<(), String> {
    let fits = |c: usize| {
        e.mean[c] >= low - SIGMAS * e.error[c] - 1e-4
            && e.mean[c] <= high + SIGMAS * e.error[c] + 1e-4
    };
    if (0..3).all(fits) { Ok(()) } else { Err(format!("{e:?} is not in [{low}, {high}]")) }
}

/// ∫ f |cos| over the directions above (`side` 1) or below (−1), by the midpoint rule in the square
/// of the sine.
fn albedo(bsdf: &Bsdf, wo: Vec3, side: f32) -> f64 {
    const N: u32 = 1000;
    let mut sum = 0.0;
    for i in 0..N {
        let sin2 = (i as f32 + 0.5) / N as f32;
        let (sin, cos) = (sin2.sqrt(), (1.0 - sin2).sqrt());
        let direction = |j: u32| {
            let (s, c) = (2.0 * PI * (j as f32 + 0.5) / N as f32).sin_cos();
            vec3(sin * c, sin * s, side * cos)
        };
        let ring = bsdf.eval_all(&(0..N).map(direction).collect::<Vec<_>>(), wo);
        sum += ring.iter().map(|s| f64::from(s.x)).sum::<f64>() / f64::from(cos);
    }
    sum * TAU / 2.0 / f64::from(N * N)
}

/// A floor under a constant environment, viewed at `degrees` from its normal, with a BSDF sampling
/// mode.
fn floor_at(degrees: f32, material: &str, by: BsdfSampling) -> TestScene {
    let path = PathOverrides { bsdf_sampling: Some(by), ..PathOverrides::default() };
    let floor = "Shape \"bilinearmesh\" \"point3 P\" [-9 -9 0  9 -9 0  -9 9 0  9 9 0]\n";
    let world = format!("{SKY}Material {material}\n{floor}");
    scene_of(
        &one_ray(5.0 * towards(degrees), Vec3::ZERO, 1, 16, 64, &world),
        &[],
        &Overrides { path, ..overrides() },
    )
}

/// The direction at `degrees` from +z.
fn towards(degrees: f32) -> Vec3 {
    let (sin, cos) = degrees.to_radians().sin_cos();
    vec3(sin, 0.0, cos)
}

/// Radiance of the floor by each mode of [`BY`], and the reflectance and transmittance of its shader.
fn floor_seen_at(degrees: f32, material: &str) -> ([Estimate; 2], [f64; 2]) {
    let [scene, other] = BY.map(|by| floor_at(degrees, material, by));
    let wo = towards(degrees);
    let hit = scene.accel.intersect(&Ray::new(5.0 * wo, -wo));
    let surface = scene.geometry.surface(&hit);
    let (bsdf, wo) = (Bsdf::new(&scene, &hit, &surface), surface.frame.local_direction(wo));
    let seen = [&scene, &other].map(|scene| Estimate::of_picture(&draw(scene, 2)));
    (seen, [1.0, -1.0].map(|side| albedo(&bsdf, wo, side)))
}

/// BSDF sampling modes with low enough variance for all materials.
const BY: [BsdfSampling; 2] = [BsdfSampling::Shader, BsdfSampling::Bounds];

#[test]
fn rough_surfaces_reflect_the_integral_of_their_lobes() {
    let mut results = Vec::new();
    for alpha in [0.1, 0.4, 1.0] {
        for degrees in [5.0, 50.0, 80.0] {
            let rough = format!("\"float roughness\" {alpha} \"bool remaproughness\" false");
            let (got, [up, down]) = floor_seen_at(
                degrees,
                &format!("\"conductor\" \"rgb reflectance\" [1 1 1] {rough}"),
            );
            let name = format!("conductor, α {alpha}, {degrees}°");
            results.push((
                name.clone(),
                if down == 0.0 { Ok(()) } else { Err(format!("{down} goes through")) },
            ));
            for (by, got) in BY.iter().zip(got) {
                results.push((format!("{name}, {by:?}"), within(&got, 0.3, 1.0)));
                results.push((format!("{name}, {by:?}"), got.agrees(&same(up as f32), SIGMAS)));
            }
            let (got, [up, down]) =
                floor_seen_at(degrees, &format!("\"dielectric\" \"float eta\" 1.5 {rough}"));
            let name = format!("dielectric, α {alpha}, {degrees}°");
            results.push((
                name.clone(),
                if up + 2.25 * down < 1.001 { Ok(()) } else { Err(format!("{up} {down}")) },
            ));
            for (by, got) in BY.iter().zip(got) {
                results.push((
                    format!("{name}, {by:?}"),
                    got.agrees(&same((up + down) as f32), SIGMAS),
                ));
            }
        }
    }
    // From above, with α = 1, half of the microfacets reflect downwards, and ∫ c / (1 + c) dc remains.
    let rough = "\"conductor\" \"rgb reflectance\" [1 1 1] \"float roughness\" 1";
    let straight = draw(&floor_at(0.0, rough, BsdfSampling::Shader), 2);
    let straight = Estimate::of_picture(&straight);
    results.push((
        "conductor, α 1, from above".into(),
        straight.agrees(&same(0.9999 * (1.0 - 2f32.ln())), SIGMAS),
    ));
    assert_all(results);
}

/// Reflects all light by a lobe about a direction that depends on `wo`; the measure is the area of
/// the projected unit disk. No sampler.
const WHITE: &str = "struct Material {
    /// range: [0.001, 1], default: 0.05
    width: f32,
}
fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    let d = (wi.xy + 0.5 * wo.xy) / m.width;
    return vec3f(exp(-dot(d, d)) / (3.14159265 * m.width * m.width));
}
";

#[test]
fn white_materials_are_invisible_in_all_sampling_modes() {
    let white =
        |settings: &str| format!("\"shader\" \"string filename\" \"white.wgsl\" {settings}");
    let floor = "Shape \"bilinearmesh\" \"point3 P\" [-9 -9 0  9 -9 0  -9 9 0  9 9 0]\n";
    let mut results = Vec::new();
    for (material, any) in [
        ("\"diffuse\" \"rgb reflectance\" [1 1 1]".to_owned(), true),
        ("\"diffusetransmission\" \"rgb reflectance\" [0.4 0.4 0.4] \"rgb transmittance\" [0.6 0.6 0.6]".to_owned(), true),
        (white("\"float width\" 0.1"), false),
        (white("\"float width\" 0.002"), false),
        (white("\"texture width\" \"varying\""), false),
    ] {
        for by in [BsdfSampling::Shader, BsdfSampling::Bounds, BsdfSampling::Cosine] {
            // Cosine sampling is too noisy for narrow lobes.
            if by == BsdfSampling::Cosine && !any {
                continue;
            }
            for lights in [LightSampling::Power, LightSampling::Tree, LightSampling::MaterialTree] {
                let varying = "Texture \"varying\" \"float\" \"checkerboard\" \"float uscale\" 50 \"float vscale\" 50 \
                               \"float tex1\" 0.08 \"float tex2\" 0.15\n";
                let world = format!("{SKY}{varying}Material {material}\n{floor}");
                let text = one_ray(5.0 * towards(40.0), Vec3::ZERO, 1, 8, 64, &world);
                let path = PathOverrides { bsdf_sampling: Some(by), light_sampling: Some(lights), ..PathOverrides::default() };
                let scene = scene_of(&text, &[("white.wgsl", WHITE.into())], &Overrides { path, ..overrides() });
                let seen = Estimate::of_picture(&draw(&scene, 2));
                results.push((format!("{material}, {by:?}, {lights:?}"), seen.agrees(&same(1.0), SIGMAS)));
            }
        }
    }
    assert_all(results);
}

#[test]
fn rough_glass_gains_no_energy_and_loses_little() {
    let mut results = Vec::new();
    for (alpha, min) in [(0.05, 0.9), (0.3, 0.6), (1.0, 0.15)] {
        for eta in [1.5, 1.0 / 1.5, 2.4] {
            let world = format!(
                "{SKY}Material \"dielectric\" \"float eta\" {eta} \"float roughness\" {alpha} \"bool remaproughness\" false\n\
                 Shape \"sphere\""
            );
            let got = seen(vec3(0.3, -5.0, 0.2), vec3(0.3, 0.0, 0.2), 200, &world);
            results.push((format!("α {alpha}, η {eta}"), within(&got, min, 1.0)));
        }
    }
    assert_all(results);
}

#[test]
fn nested_clear_glass_is_invisible() {
    let glass = |eta: f32, radius: f32| {
        format!(
            "Material \"dielectric\" \"float eta\" {eta}\nShape \"sphere\" \"float radius\" {radius}\n"
        )
    };
    let pane = |z: f32| {
        format!(
            "Material \"thindielectric\"\nShape \"disk\" \"float radius\" 3 \"float height\" {z}\n"
        )
    };
    let mut results = Vec::new();
    for (name, things) in [
        ("bubble", glass(1.5, 1.0) + &glass(1.0 / 1.5, 0.9)),
        (
            "drop in glass in water",
            glass(1.33, 1.0) + &glass(1.5 / 1.33, 0.8) + &glass(1.33 / 1.5, 0.5),
        ),
        ("diamond", glass(2.4, 1.0)),
        ("panes", pane(-0.5) + &pane(0.0) + &pane(0.7)),
        ("panes around a ball", pane(-1.5) + &glass(1.5, 1.0) + &pane(1.2)),
    ] {
        let got = seen(vec3(0.3, -4.0, 3.0), vec3(0.3, 0.2, 0.2), 500, &format!("{SKY}{things}"));
        // Russian roulette terminates a few long paths, too rarely to affect the standard error.
        results.push((name.to_string(), within(&got, 0.998, 1.002)));
    }
    assert_all(results);
}

#[test]
fn transmittance_of_panes_is_the_sum_of_the_series() {
    // At normal incidence, N incoherent panes of interfaces with reflectance r transmit
    // (1 − r) / (1 + (2N − 1) r).
    let r = 0.04;
    for n in 1..=4 {
        let mut world = "Material \"thindielectric\" \"float eta\" 1.5\n".to_string();
        for z in 0..n {
            writeln!(world, "Shape \"disk\" \"float radius\" 50 \"float height\" {z}").unwrap();
        }
        world += "Material \"diffuse\" \"rgb reflectance\" [0 0 0]\nAreaLightSource \"diffuse\" \"rgb L\" [1 1 1]\n\
                  Shape \"disk\" \"float radius\" 50 \"float height\" -1\n";
        let got = seen(vec3(0.0, 0.0, 9.0), Vec3::ZERO, 500, &world);
        let expected = (1.0 - r) / (1.0 + (2 * n - 1) as f32 * r);
        got.agrees(&same(expected), SIGMAS).unwrap_or_else(|e| panic!("{n} panes, {e}"));
    }
}

#[test]
fn radiance_in_closed_emitting_rooms_is_the_sum_of_the_series() {
    // L = e / (1 − ρ) on all walls of a uniformly emitting room of any shape.
    let rooms = [
        (
            "mesh",
            "Shape \"trianglemesh\" \"point3 P\" [-1 -1 -1  1 -1 -1  -1 1 -1  1 1 -1  -1 -1 1  1 -1 1  -1 1 1  1 1 1] \
             \"integer indices\" [0 1 3 0 3 2  4 5 7 4 7 6  0 1 5 0 5 4  2 3 7 2 7 6  0 2 6 0 6 4  1 3 7 1 7 5]",
        ),
        (
            "patches",
            "Shape \"bilinearmesh\" \"point3 P\" [-1 -1 -1  1 -1 -1  -1 1 -1  1 1 -1  -1 -1 1  1 -1 1  -1 1 1  1 1 1.5] \
             \"integer indices\" [0 1 2 3  4 5 6 7  0 1 4 5  2 3 6 7  0 2 4 6  1 3 5 7]",
        ),
        ("sphere", "Shape \"sphere\" \"float radius\" 1.5"),
        ("ellipsoid", "Rotate 30 1 2 3 Scale 1 2 1.5 Shape \"sphere\" \"float radius\" 1.5"),
        (
            "bowl and lid",
            "Shape \"sphere\" \"float radius\" 2 \"float zmax\" 0.5 Shape \"disk\" \"float height\" 0.5 \"float radius\" 2",
        ),
    ];
    let mut results = Vec::new();
    for (name, shape) in rooms {
        let world = format!(
            "Material \"diffuse\" \"rgb reflectance\" [0.8 0.5 0.2]\n\
             AreaLightSource \"diffuse\" \"rgb L\" [0.2 0.5 0.8] \"bool twosided\" true\n{shape}\n"
        );
        let got = seen(vec3(0.1, -0.2, 0.3), vec3(0.6, 0.3, -0.3), 200, &world);
        results.push((name.to_string(), got.agrees(&same(1.0), SIGMAS)));
    }
    assert_all(results);
}

/// A ball of triangles, with the normals of a sphere or without.
fn ball(smooth: bool) -> String {
    let (rings, sectors) = (16, 32);
    let mut points = String::new();
    for i in 0..=rings {
        let (s, c) = (PI * i as f32 / rings as f32).sin_cos();
        for j in 0..sectors {
            let (sp, cp) = (2.0 * PI * j as f32 / sectors as f32).sin_cos();
            write!(points, "{} {} {} ", s * cp, s * sp, c).unwrap();
        }
    }
    let mut indices = String::new();
    for i in 0..rings {
        for j in 0..sectors {
            let at = |i: i32, j: i32| i * sectors + j % sectors;
            let [a, b, c, d] = [at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)];
            // At the poles one of the two triangles has no area.
            if i + 1 < rings {
                write!(indices, "{a} {b} {c} ").unwrap();
            }
            if i > 0 {
                write!(indices, "{a} {c} {d} ").unwrap();
            }
        }
    }
    let normals = if smooth { format!("\"normal N\" [{points}]") } else { String::new() };
    format!(
        "Shape \"trianglemesh\" \"point3 P\" [{points}] \"integer indices\" [{indices}] {normals}\n"
    )
}

#[test]
fn triangle_meshes_of_balls_match_exact_balls() {
    let mut results = Vec::new();
    for smooth in [false, true] {
        for (material, text, expected) in [
            ("diffuse", "\"diffuse\" \"rgb reflectance\" [0.6 0.6 0.6]", 0.6),
            ("mirror", "\"conductor\" \"rgb reflectance\" [1 1 1]", 1.0),
            ("glass", "\"dielectric\"", 1.0),
        ] {
            let world = format!("{SKY}Material {text}\n{}", ball(smooth));
            for offset in [0.13f32, 0.61, 0.965] {
                let got = seen(vec3(offset, -5.0, 0.23), vec3(offset, 0.0, 0.23), 200, &world);
                // Metal reflectance depends on the angle, and shading normals reflect some rays into the
                // ball.
                results.push((
                    format!("smooth {smooth} {material} {offset}"),
                    within(&got, 0.998 * expected, 1.002 * expected),
                ));
            }
        }
    }
    assert_all(results);
}

#[test]
fn filters_preserve_constant_radiance() {
    for filter in ["box", "triangle", "gaussian", "mitchell", "sinc"] {
        let world = one_ray(Vec3::ZERO, Vec3::Y, 1, 16, 64, SKY).replace(
            "\"box\" \"float xradius\" 0.5 \"float yradius\" 0.5",
            &format!("\"{filter}\""),
        );
        let got = Estimate::of_picture(&draw(&scene_of(&world, &[], &overrides()), 1));
        got.agrees(&same(1.0), SIGMAS).unwrap_or_else(|e| panic!("{filter}, {e}"));
    }
}
