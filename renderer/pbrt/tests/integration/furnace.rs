//! Furnace tests: under uniform illumination, objects without absorption are invisible.

use crate::common::bsdf::Bsdf;
use crate::common::{Estimate, TestScene, assert_all_ok, load_scene, render, single_ray_scene};
use lightbound::settings::{BsdfSampling, LightSampling};
use lightbound_math::{Ray, Vec3, vec3};
use lightbound_pbrt::build::{Overrides, PathOverrides};
use std::f32::consts::PI;
use std::f64::consts::TAU;
use std::fmt::Write;

/// Maximum difference between two estimates of the same value, in standard errors.
const TOLERANCE_SIGMAS: f64 = 4.5;

const ENVIRONMENT: &str = "LightSource \"infinite\" \"rgb L\" [1 1 1]\n";

/// Renders the radiance along the ray from `from` to `to`.
fn radiance_along(from: Vec3, to: Vec3, depth: u32, world: &str) -> Estimate {
    Estimate::from_image(&render(
        &load_scene(&single_ray_scene(from, to, depth, 16, 64, world), &[], &Overrides::default()),
        2,
    ))
}

fn exact_grey(value: f32) -> Estimate {
    Estimate::exact(Vec3::splat(value))
}

/// Checks that all channels are in a range, within [`TOLERANCE_SIGMAS`].
fn check_range(e: &Estimate, low: f64, high: f64) -> Result<(), String> {
    let is_in_range = |c: usize| {
        e.mean[c] >= low - TOLERANCE_SIGMAS * e.error[c] - 1e-4
            && e.mean[c] <= high + TOLERANCE_SIGMAS * e.error[c] + 1e-4
    };
    if (0..3).all(is_in_range) { Ok(()) } else { Err(format!("{e:?} is not in [{low}, {high}]")) }
}

/// Integrates the BSDF × |cos θ| over the directions above (`side` = 1) or below (−1), by the
/// midpoint rule in sin² θ and φ.
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

/// Returns a floor under a constant environment, viewed at `degrees` from its normal.
fn floor_scene(degrees: f32, material: &str, bsdf_sampling: BsdfSampling) -> TestScene {
    let path = PathOverrides { bsdf_sampling: Some(bsdf_sampling), ..PathOverrides::default() };
    let floor = "Shape \"bilinearmesh\" \"point3 P\" [-9 -9 0  9 -9 0  -9 9 0  9 9 0]\n";
    let world = format!("{ENVIRONMENT}Material {material}\n{floor}");
    load_scene(
        &single_ray_scene(5.0 * direction_at(degrees), Vec3::ZERO, 1, 16, 64, &world),
        &[],
        &Overrides { path, ..Overrides::default() },
    )
}

/// Returns the direction at `degrees` from +z.
fn direction_at(degrees: f32) -> Vec3 {
    let (sin, cos) = degrees.to_radians().sin_cos();
    vec3(sin, 0.0, cos)
}

/// Returns the radiance of a floor in each of the modes [`BSDF_SAMPLING`], and the reflectance and
/// transmittance of its shader.
fn floor_radiance(degrees: f32, material: &str) -> ([Estimate; 2], [f64; 2]) {
    let [scene, other] = BSDF_SAMPLING.map(|mode| floor_scene(degrees, material, mode));
    let wo = direction_at(degrees);
    let hit = scene.accel.intersect(&Ray::new(5.0 * wo, -wo));
    let surface = scene.geometry.surface(&hit, -wo);
    let (bsdf, wo) = (Bsdf::new(&scene, &hit, &surface), surface.frame.local_direction(wo));
    let radiance = [&scene, &other].map(|scene| Estimate::from_image(&render(scene, 2)));
    (radiance, [1.0, -1.0].map(|side| albedo(&bsdf, wo, side)))
}

/// BSDF sampling modes with low variance for all materials.
const BSDF_SAMPLING: [BsdfSampling; 2] = [BsdfSampling::Shader, BsdfSampling::Bounds];

#[test]
fn radiance_of_rough_surfaces_matches_the_integral_of_the_bsdf() {
    let mut results = Vec::new();
    for alpha in [0.1, 0.4, 1.0] {
        for degrees in [5.0, 50.0, 80.0] {
            let rough = format!("\"float roughness\" {alpha} \"bool remaproughness\" false");
            let (radiance, [up, down]) = floor_radiance(
                degrees,
                &format!("\"conductor\" \"rgb reflectance\" [1 1 1] {rough}"),
            );
            let name = format!("conductor, α {alpha}, {degrees}°");
            results.push((
                name.clone(),
                if down == 0.0 { Ok(()) } else { Err(format!("the transmittance is {down}")) },
            ));
            for (mode, radiance) in BSDF_SAMPLING.iter().zip(radiance) {
                results.push((format!("{name}, {mode:?}"), check_range(&radiance, 0.3, 1.0)));
                results.push((
                    format!("{name}, {mode:?}"),
                    radiance.agrees(&exact_grey(up as f32), TOLERANCE_SIGMAS),
                ));
            }
            let (radiance, [up, down]) =
                floor_radiance(degrees, &format!("\"dielectric\" \"float eta\" 1.5 {rough}"));
            let name = format!("dielectric, α {alpha}, {degrees}°");
            results.push((
                name.clone(),
                if up + 2.25 * down < 1.001 { Ok(()) } else { Err(format!("{up} {down}")) },
            ));
            for (mode, radiance) in BSDF_SAMPLING.iter().zip(radiance) {
                results.push((
                    format!("{name}, {mode:?}"),
                    radiance.agrees(&exact_grey((up + down) as f32), TOLERANCE_SIGMAS),
                ));
            }
        }
    }
    // At normal incidence and α = 1, half of the microfacets reflect downwards. The rest reflect
    // ∫ c / (1 + c) dc.
    let rough = "\"conductor\" \"rgb reflectance\" [1 1 1] \"float roughness\" 1";
    let normal_incidence = render(&floor_scene(0.0, rough, BsdfSampling::Shader), 2);
    let normal_incidence = Estimate::from_image(&normal_incidence);
    results.push((
        "conductor, α 1, normal incidence".into(),
        normal_incidence.agrees(&exact_grey(0.9999 * (1.0 - 2f32.ln())), TOLERANCE_SIGMAS),
    ));
    assert_all_ok(results);
}

/// A shader without `sample` that reflects all light in a lobe about a direction that depends on
/// `wo`. The lobe is normalized over projected solid angle.
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
    for (material, is_broad) in [
        ("\"diffuse\" \"rgb reflectance\" [1 1 1]".to_owned(), true),
        ("\"diffusetransmission\" \"rgb reflectance\" [0.4 0.4 0.4] \"rgb transmittance\" [0.6 0.6 0.6]".to_owned(), true),
        (white("\"float width\" 0.1"), false),
        (white("\"float width\" 0.002"), false),
        (white("\"texture width\" \"varying\""), false),
    ] {
        for mode in [BsdfSampling::Shader, BsdfSampling::Bounds, BsdfSampling::Cosine] {
            // Cosine sampling is too noisy for narrow lobes.
            if mode == BsdfSampling::Cosine && !is_broad {
                continue;
            }
            for lights in [LightSampling::Power, LightSampling::Tree, LightSampling::MaterialTree] {
                let varying = "Texture \"varying\" \"float\" \"checkerboard\" \"float uscale\" 50 \"float vscale\" 50 \
                               \"float tex1\" 0.08 \"float tex2\" 0.15\n";
                let world = format!("{ENVIRONMENT}{varying}Material {material}\n{floor}");
                let text = single_ray_scene(5.0 * direction_at(40.0), Vec3::ZERO, 1, 8, 64, &world);
                let path = PathOverrides {
                    bsdf_sampling: Some(mode),
                    light_sampling: Some(lights),
                    ..PathOverrides::default()
                };
                let overrides = Overrides { path, ..Overrides::default() };
                let scene = load_scene(&text, &[("white.wgsl", WHITE.into())], &overrides);
                let radiance = Estimate::from_image(&render(&scene, 2));
                results.push((
                    format!("{material}, {mode:?}, {lights:?}"),
                    radiance.agrees(&exact_grey(1.0), TOLERANCE_SIGMAS),
                ));
            }
        }
    }
    assert_all_ok(results);
}

#[test]
fn rough_glass_conserves_most_energy() {
    let mut results = Vec::new();
    for (alpha, min) in [(0.05, 0.9), (0.3, 0.6), (1.0, 0.15)] {
        for eta in [1.5, 1.0 / 1.5, 2.4] {
            let world = format!(
                "{ENVIRONMENT}Material \"dielectric\" \"float eta\" {eta} \"float roughness\" {alpha} \"bool remaproughness\" false\n\
                 Shape \"sphere\""
            );
            let radiance = radiance_along(vec3(0.3, -5.0, 0.2), vec3(0.3, 0.0, 0.2), 200, &world);
            results.push((format!("α {alpha}, η {eta}"), check_range(&radiance, min, 1.0)));
        }
    }
    assert_all_ok(results);
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
    for (name, objects) in [
        ("bubble", glass(1.5, 1.0) + &glass(1.0 / 1.5, 0.9)),
        (
            "drop in glass in water",
            glass(1.33, 1.0) + &glass(1.5 / 1.33, 0.8) + &glass(1.33 / 1.5, 0.5),
        ),
        ("diamond", glass(2.4, 1.0)),
        ("panes", pane(-0.5) + &pane(0.0) + &pane(0.7)),
        ("panes around a sphere", pane(-1.5) + &glass(1.5, 1.0) + &pane(1.2)),
    ] {
        let radiance = radiance_along(
            vec3(0.3, -4.0, 3.0),
            vec3(0.3, 0.2, 0.2),
            500,
            &format!("{ENVIRONMENT}{objects}"),
        );
        // Russian roulette terminates a few long paths, too rarely to affect the standard error.
        results.push((name.to_string(), check_range(&radiance, 0.998, 1.002)));
    }
    assert_all_ok(results);
}

#[test]
fn transmittance_of_panes_matches_the_geometric_series() {
    // At normal incidence, N incoherent panes with interfaces of reflectance r transmit
    // (1 − r) / (1 + (2N − 1) r).
    let r = 0.04;
    for n in 1..=4 {
        let mut world = "Material \"thindielectric\" \"float eta\" 1.5\n".to_string();
        for z in 0..n {
            writeln!(world, "Shape \"disk\" \"float radius\" 50 \"float height\" {z}").unwrap();
        }
        world += "Material \"diffuse\" \"rgb reflectance\" [0 0 0]\nAreaLightSource \"diffuse\" \"rgb L\" [1 1 1]\n\
                  Shape \"disk\" \"float radius\" 50 \"float height\" -1\n";
        let radiance = radiance_along(vec3(0.0, 0.0, 9.0), Vec3::ZERO, 500, &world);
        let expected = (1.0 - r) / (1.0 + (2 * n - 1) as f32 * r);
        radiance
            .agrees(&exact_grey(expected), TOLERANCE_SIGMAS)
            .unwrap_or_else(|e| panic!("{n} panes, {e}"));
    }
}

#[test]
fn radiance_in_closed_emitting_rooms_matches_the_geometric_series() {
    // L = Lₑ / (1 − ρ) on all walls of a uniformly emitting room of any shape.
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
        let radiance = radiance_along(vec3(0.1, -0.2, 0.3), vec3(0.6, 0.3, -0.3), 200, &world);
        results.push((name.to_string(), radiance.agrees(&exact_grey(1.0), TOLERANCE_SIGMAS)));
    }
    assert_all_ok(results);
}

/// Returns a triangle mesh of a sphere, with or without normals.
fn sphere_mesh(smooth: bool) -> String {
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
            // At the poles, one of the two triangles is degenerate.
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
fn triangle_meshes_of_spheres_match_exact_spheres() {
    let mut results = Vec::new();
    for smooth in [false, true] {
        for (material, text, expected) in [
            ("diffuse", "\"diffuse\" \"rgb reflectance\" [0.6 0.6 0.6]", 0.6),
            ("mirror", "\"conductor\" \"rgb reflectance\" [1 1 1]", 1.0),
            ("glass", "\"dielectric\"", 1.0),
        ] {
            let world = format!("{ENVIRONMENT}Material {text}\n{}", sphere_mesh(smooth));
            for offset in [0.13f32, 0.61, 0.965] {
                let radiance =
                    radiance_along(vec3(offset, -5.0, 0.23), vec3(offset, 0.0, 0.23), 200, &world);
                // The reflectance of metal depends on the angle, and some reflections about shading
                // normals point into the sphere.
                results.push((
                    format!("smooth {smooth} {material} {offset}"),
                    check_range(&radiance, 0.998 * expected, 1.002 * expected),
                ));
            }
        }
    }
    assert_all_ok(results);
}

#[test]
fn filters_preserve_constant_radiance() {
    for filter in ["box", "triangle", "gaussian", "mitchell", "sinc"] {
        let world = single_ray_scene(Vec3::ZERO, Vec3::Y, 1, 16, 64, ENVIRONMENT).replace(
            "\"box\" \"float xradius\" 0.5 \"float yradius\" 0.5",
            &format!("\"{filter}\""),
        );
        let radiance =
            Estimate::from_image(&render(&load_scene(&world, &[], &Overrides::default()), 1));
        radiance
            .agrees(&exact_grey(1.0), TOLERANCE_SIGMAS)
            .unwrap_or_else(|e| panic!("{filter}, {e}"));
    }
}

/// A tuft of thick hairs, through which most paths pass several times.
fn tuft(kind: &str) -> String {
    let mut world = String::new();
    for i in 0..60u32 {
        let (x, y) = ((i % 10) as f32 * 0.2 - 0.9, (i / 10) as f32 * 0.3 - 0.75);
        let bend = 0.1 * ((i * 7 % 11) as f32 - 5.0);
        writeln!(
            world,
            "Shape \"curve\" \"string type\" \"{kind}\" \"float width\" 0.25
            \"point3 P\" [{x} {y} -2  {} {y} -0.7  {x} {} 0.7  {} {y} 2]",
            x + bend,
            y - bend,
            x - bend
        )
        .unwrap();
    }
    world
}

#[test]
fn white_hair_is_invisible() {
    let mut results = Vec::new();
    for (kind, roughness) in [("flat", 0.3), ("cylinder", 0.15), ("cylinder", 0.8)] {
        let material = format!(
            "Material \"hair\" \"rgb sigma_a\" [0 0 0] \"float beta_m\" {roughness} \"float beta_n\" {roughness}\n"
        );
        let world = format!("{ENVIRONMENT}{material}{}", tuft(kind));
        let from = vec3(0.3, -8.0, 1.5);
        let radiance = radiance_along(from, Vec3::ZERO, 200, &world);
        results.push((
            format!("{kind} curves of roughness {roughness}"),
            check_range(&radiance, 0.999, 1.001),
        ));
        // The eye sees hair, not the environment.
        let once = radiance_along(from, Vec3::ZERO, 0, &world);
        results.push(("hair without scattering".into(), once.agrees(&exact_grey(0.0), 0.0)));
    }
    assert_all_ok(results);
}
