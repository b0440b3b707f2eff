//! All combinations of light sampling and BSDF sampling modes render the same expected image.

use crate::common::{
    BlockSums, Estimate, TestScene, WEAVE, assert_all_ok, floor_and_spheres, load_scene, pfm,
    render, single_ray_scene,
};
use lightbound::settings::{BsdfSampling, LightSampling};
use lightbound_math::{Vec3, vec3};
use lightbound_pbrt::build::{Overrides, PathOverrides};
use std::f64::consts::{PI, TAU};

const LIGHT_SAMPLING: [LightSampling; 4] = [
    LightSampling::Uniform,
    LightSampling::Power,
    LightSampling::Tree,
    LightSampling::MaterialTree,
];

const BSDF_SAMPLING: [BsdfSampling; 3] =
    [BsdfSampling::Shader, BsdfSampling::Bounds, BsdfSampling::Cosine];

/// Iterates over all combinations of modes.
fn modes() -> impl Iterator<Item = (LightSampling, BsdfSampling)> {
    LIGHT_SAMPLING.into_iter().flat_map(|lights| BSDF_SAMPLING.map(|bsdf| (lights, bsdf)))
}

/// Returns overrides with a different seed for each combination, so that images are independent.
fn overrides_for((lights, bsdf): (LightSampling, BsdfSampling)) -> Overrides {
    let path = PathOverrides {
        light_sampling: Some(lights),
        bsdf_sampling: Some(bsdf),
        ..PathOverrides::default()
    };
    Overrides { path, seed: Some(10 * lights as u32 + bsdf as u32), ..Overrides::default() }
}

#[test]
fn all_combinations_agree() {
    let environment_map = pfm(16, |x, y| {
        if (x, y) == (3, 9) {
            [60.0, 50.0, 30.0]
        } else {
            [0.1 * (x % 4) as f32, 0.2, 0.05 * (y % 5) as f32]
        }
    });
    let grain = pfm(8, |x, y| [0.4 + 0.6 * ((x + y) % 2) as f32, 0.7, 0.5]);
    let files = [("sky.pfm", environment_map), ("grain.pfm", grain), ("weave.wgsl", WEAVE.into())];
    let lights = r#"
LightSource "infinite" "string filename" "sky.pfm" "float scale" 0.05
LightSource "point" "rgb I" [3 2 1] "point3 from" [2 2 2]
LightSource "point" "rgb I" [1 1 3] "point3 from" [-2 -2 0.5]
AttributeBegin
AreaLightSource "diffuse" "rgb L" [9 12 15] "bool twosided" true
Shape "trianglemesh" "integer indices" [0 1 2 0 2 3] "point3 P" [-3 1 2  -2 1 2  -2 1 3  -3 1.5 3]
AttributeEnd
"#;
    let objects = r#"
Texture "spots" "float" "checkerboard" "float uscale" 4 "float vscale" 4 "float tex1" 0.1 "float tex2" 0.4
Material "shader" "string filename" "ward.wgsl" "texture alpha_x" "spots" "float alpha_y" 0.2
AttributeBegin Translate 0 -1.5 0.4 Shape "sphere" "float radius" 0.4 AttributeEnd
Material "shader" "string filename" "weave.wgsl" "string grain" "grain.pfm"
AttributeBegin Translate 0 0.8 1.2 Rotate 70 1 0 0 Shape "disk" "float radius" 0.8 AttributeEnd
"#;
    let text = floor_and_spheres(
        r#"Sampler "independent" Integrator "path" "integer maxdepth" 3"#,
        16,
        lights,
        objects,
    );
    let sums: Vec<_> = modes()
        .map(|mode| {
            BlockSums::from_image(&render(
                &load_scene(&text, &files, &Overrides { spp: Some(64), ..overrides_for(mode) }),
                2,
            ))
        })
        .collect();
    for (k, mode) in modes().enumerate() {
        let others = sums.iter().enumerate().filter(|(other, _)| *other != k).map(|(_, sums)| sums);
        sums[k].assert_same(
            &BlockSums::mean(others),
            0.06,
            &format!("{mode:?} and the mean of the others"),
        );
    }
}

/// A Phong lobe with exponent 10⁴.
const GLOSS: &str = "Material \"shader\" \"string filename\" \"phong.wgsl\" \"rgb kd\" [0 0 0] \"rgb ks\" [1 1 1] \"float exponent\" 1e4\n";

/// Returns a floor viewed at 45° along +x.
fn floor(world: &str, depth: u32, size: u32) -> String {
    let floor = "Shape \"bilinearmesh\" \"point3 P\" [-9 -9 0  9 -9 0  -9 9 0  9 9 0]\n";
    single_ray_scene(vec3(-3.0, 0.0, 3.0), Vec3::ZERO, depth, size, 64, &format!("{world}{floor}"))
}

#[test]
fn small_light_in_a_narrow_lobe_has_the_expected_radiance() {
    // The light is 0.8° off the mirror direction, where the lobe is below half of its maximum. All
    // other lights are outside the lobe or below the floor.
    let (radius, distance, offset_angle) = (0.02f64, 5.0, 0.8f64.to_radians());
    let angle = PI / 4.0 + offset_angle;
    let position = [distance * angle.sin(), 0.0, distance * angle.cos()];
    let mut world = String::new();
    for k in 0..150 {
        world += &format!(
            "LightSource \"point\" \"rgb I\" [0.01 0.01 0.01] \"point3 from\" [{} {} {}]\n",
            k % 15 - 7,
            f64::from(k / 15) - 5.5,
            k % 3 - 1
        );
    }
    world += &format!(
        "AttributeBegin AreaLightSource \"diffuse\" \"rgb L\" [500 500 500] Material \"diffuse\" Translate {} {} {}\n\
         Shape \"sphere\" \"float radius\" {radius} AttributeEnd\n{GLOSS}",
        position[0], position[1], position[2]
    );
    // ∫ (n + 2)/(2π) cosⁿα cosθ L over the cone of the light, by the midpoint rule.
    let (rings, sectors) = (64, 64);
    let one_minus_cos = 1.0 - (1.0 - (radius / distance).powi(2)).sqrt();
    let mut sum = 0.0;
    for (i, j) in (0..rings).flat_map(|i| (0..sectors).map(move |j| (i, j))) {
        let c = 1.0 - one_minus_cos * (f64::from(i) + 0.5) / f64::from(rings);
        let (s, phi) = ((1.0 - c * c).sqrt(), TAU * (f64::from(j) + 0.5) / f64::from(sectors));
        // The local x axis points away from the normal.
        let (x, y) = (s * phi.cos(), s * phi.sin());
        let wi = [c * angle.sin() + x * angle.cos(), y, c * angle.cos() - x * angle.sin()];
        let cos_alpha = (wi[0] + wi[2]) * 0.5f64.sqrt();
        sum += cos_alpha.powi(10_000) * wi[2];
    }
    let radiance = 500.0 * 10_002.0 / TAU * sum * TAU * one_minus_cos / f64::from(rings * sectors);
    let mut results = Vec::new();
    // Uniform sampling selects the light too rarely to estimate the variance.
    for mode in modes().filter(|(lights, _)| *lights != LightSampling::Uniform) {
        let estimate = Estimate::from_image(&render(
            &load_scene(&floor(&world, 1, 16), &[], &overrides_for(mode)),
            2,
        ));
        results.push((
            format!("{mode:?}"),
            estimate.agrees(&Estimate::exact(Vec3::splat(radiance as f32)), 4.5),
        ));
    }
    assert_all_ok(results);
}

/// A shader that reflects all light in a lobe about a fixed direction, normalized over projected
/// solid angle.
const SPIKE: &str = "struct Material {
    /// range: [-1, 1], default: 0
    x: f32,
    /// range: [-1, 1], default: 0
    y: f32,
    /// range: [1e-4, 1], default: 0.003
    width: f32,
}
fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    let d = (wi.xy - vec2f(m.x, m.y)) / m.width;
    return vec3f(exp(-dot(d, d)) / (3.14159265 * m.width * m.width));
}
";

/// Returns a scene in which a narrow lobe sees the environment only through a mirror, so that light
/// sampling cannot find it.
fn mirror_scene(material: &str, mode: (LightSampling, BsdfSampling)) -> TestScene {
    let world = format!(
        "LightSource \"infinite\" \"rgb L\" [1 1 1]\n\
         Texture \"nearly\" \"float\" \"checkerboard\" \"float uscale\" 99 \"float vscale\" 99 \"float tex1\" 1 \"float tex2\" 0.98\n\
         Material \"conductor\" \"rgb reflectance\" [1 1 1]\n\
         Shape \"bilinearmesh\" \"point3 P\" [2 -5 0.2  2 5 0.2  2 -5 9  2 5 9]\n{material}\n"
    );
    load_scene(&floor(&world, 2, 8), &[("spike.wgsl", SPIKE.into())], &overrides_for(mode))
}

#[test]
fn light_found_by_bsdf_sampling_only_has_the_expected_radiance() {
    let spike = |settings: &str| {
        format!("Material \"shader\" \"string filename\" \"spike.wgsl\" {settings}")
    };
    // Phong lobes at 45° reflect ks cos 45° for any exponent; fixed lobes reflect all light.
    // With textured parameters, each shading point has its own direction tree.
    let scaled = |name: &str, scale: &str| {
        format!(
            "Texture \"{name}\" \"float\" \"scale\" \"texture tex\" \"nearly\" \"float scale\" {scale}\n"
        )
    };
    let cases = [
        (GLOSS.to_owned(), 0.5f32.sqrt()),
        (
            scaled("e", "1e4")
                + &GLOSS.replace("\"float exponent\" 1e4", "\"texture exponent\" \"e\""),
            0.5f32.sqrt(),
        ),
        (spike("\"float x\" 0.5 \"float y\" 0.3"), 1.0),
        (spike("\"float x\" 0.613 \"float y\" -0.177 \"float width\" 0.001"), 1.0),
        (
            scaled("w", "2e-3")
                + &spike("\"float x\" 0.613 \"float y\" -0.177 \"texture width\" \"w\""),
            1.0,
        ),
    ];
    let mut results = Vec::new();
    for (material, expected) in cases {
        for lights in [LightSampling::Power, LightSampling::MaterialTree] {
            for bsdf in [BsdfSampling::Shader, BsdfSampling::Bounds] {
                let estimate =
                    Estimate::from_image(&render(&mirror_scene(&material, (lights, bsdf)), 2));
                // The mirror absorbs a fraction of 10⁻⁴.
                let expected = Estimate::exact(Vec3::splat(0.9999 * expected));
                results.push((
                    format!("{material}, {lights:?}, {bsdf:?}"),
                    estimate.agrees(&expected, 4.5),
                ));
            }
        }
    }
    assert_all_ok(results);
}
