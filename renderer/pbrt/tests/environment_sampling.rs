//! Environment sampling modes affect noise only, not the expected image: map and product sampling
//! agree, with other lights and in all light and BSDF sampling modes.

mod common;

use common::{Estimate, assert_all_ok, load_scene, pfm, render, single_ray_scene};
use lightbound::settings::{BsdfSampling, EnvironmentSampling, LightSampling};
use lightbound_math::vec3;
use lightbound_pbrt::build::{Overrides, PathOverrides};

const LIGHT_SAMPLING: [LightSampling; 5] = [
    LightSampling::Auto,
    LightSampling::Uniform,
    LightSampling::Power,
    LightSampling::Tree,
    LightSampling::MaterialTree,
];
const BSDF_SAMPLING: [BsdfSampling; 3] =
    [BsdfSampling::Shader, BsdfSampling::Bounds, BsdfSampling::Cosine];

fn overrides_for(
    environment: EnvironmentSampling,
    lights: LightSampling,
    bsdf: BsdfSampling,
) -> Overrides {
    let path = PathOverrides {
        light_sampling: Some(lights),
        bsdf_sampling: Some(bsdf),
        environment_sampling: Some(environment),
        ..PathOverrides::default()
    };
    Overrides { path, ..Overrides::default() }
}

/// A view of the centre of a floor next to a wall, lit by `lights`.
fn scene(lights: &str, material: &str, from: [f32; 3], spp: u32) -> String {
    let world = format!(
        "{lights}
         Texture \"spots\" \"float\" \"checkerboard\" \"float uscale\" 8 \"float vscale\" 8 \"float tex1\" 0.1 \"float tex2\" 0.4
         Material \"diffuse\" \"rgb reflectance\" [0.2 0.6 0.3]
         Shape \"bilinearmesh\" \"point3 P\" [-2 2 -2  2 2 -2  -2 2 2  2 2 2]
         {material}
         Shape \"bilinearmesh\" \"point3 P\" [-2 -2 0  2 -2 0  -2 2 0  2 2 0]"
    );
    single_ray_scene(vec3(from[0], from[1], from[2]), vec3(0.1, 0.05, 0.0), 3, 14, spp, &world)
}

/// An environment map with one bright texel, rotated and scaled.
const ENVIRONMENT: &str = "AttributeBegin Rotate 40 1 0 0 Scale 1 2 0.8\nLightSource \"infinite\" \"string filename\" \"sky.pfm\"\nAttributeEnd\n";

/// A constant environment, a second map, and lights of other types.
const OTHER_LIGHTS: &str = "LightSource \"infinite\" \"rgb L\" [0.1 0.2 0.1]
    LightSource \"infinite\" \"string filename\" \"sky.pfm\" \"float scale\" 0.3
    LightSource \"distant\" \"rgb L\" [0.3 0.3 0.2] \"point3 from\" [1 -2 3]
    LightSource \"point\" \"rgb I\" [1 1 3] \"point3 from\" [-1 -1 1.5]
    AttributeBegin Material \"diffuse\" \"rgb reflectance\" [0 0 0]
    AreaLightSource \"diffuse\" \"rgb L\" [6 5 4] \"bool twosided\" true
    Shape \"bilinearmesh\" \"point3 P\" [1 -0.5 0.6  1 0.5 0.6  1 -0.5 1.6  1 0.5 1.6] AttributeEnd\n";

fn environment_map() -> Vec<u8> {
    pfm(16, |x, y| {
        if (x, y) == (5, 9) {
            [40.0, 60.0, 80.0]
        } else {
            [0.5, 0.1 * (x as f32), 0.05 * (y % 7) as f32]
        }
    })
}

/// Checks that two estimates of the same value agree within 4 standard errors, and that the
/// relative standard error of product sampling is at most `max_error`.
fn check_agreement(map: &Estimate, product: &Estimate, max_error: f64) -> Result<(), String> {
    let channel = |c: usize| {
        let (difference, error) =
            ((map.mean[c] - product.mean[c]).abs(), map.error[c].hypot(product.error[c]));
        difference <= 4.0 * error + 1e-4 * map.mean[c]
            && product.error[c] <= max_error * product.mean[c]
    };
    if (0..3).all(channel) { Ok(()) } else { Err(format!("{map:?} and {product:?}")) }
}

fn estimate(text: &str, environment_map: &[u8], overrides: &Overrides) -> Estimate {
    Estimate::from_image(&render(
        &load_scene(text, &[("sky.pfm", environment_map.to_vec())], overrides),
        2,
    ))
}

#[test]
fn product_and_map_sampling_agree_for_various_materials() {
    let (above, low, below) = ([-1.0, -2.0, 2.0], [-2.0, 0.4, 0.3], [-1.0, -1.0, -1.5]);
    let shader = |settings: &str| format!("Material \"shader\" \"string filename\" {settings}");
    let materials = [
        ("Material \"diffuse\"".into(), above),
        (shader("\"phong.wgsl\" \"float exponent\" 60"), above),
        (shader("\"ward.wgsl\" \"texture alpha_x\" \"spots\" \"float alpha_y\" 0.2"), low),
        ("Material \"dielectric\" \"float roughness\" 0.3".into(), below),
        ("Material \"coateddiffuse\" \"float roughness\" 0.2".into(), above),
    ];
    let mut results = Vec::new();
    for (k, (material, from)) in materials.iter().enumerate() {
        for lights in [ENVIRONMENT.to_owned(), format!("{ENVIRONMENT}{OTHER_LIGHTS}")] {
            let text = scene(&lights, material, *from, 16);
            let map = estimate(
                &text,
                &environment_map(),
                &overrides_for(
                    EnvironmentSampling::Map,
                    LightSampling::Power,
                    BsdfSampling::Shader,
                ),
            );
            for (n, bsdf) in BSDF_SAMPLING.into_iter().enumerate() {
                let light_sampling = LIGHT_SAMPLING[(k + n) % 5];
                let product = estimate(
                    &text,
                    &environment_map(),
                    &overrides_for(EnvironmentSampling::Product, light_sampling, bsdf),
                );
                let max_error = if bsdf == BsdfSampling::Cosine { 0.2 } else { 0.05 };
                results.push((
                    format!("{material}, {light_sampling:?}, {bsdf:?}"),
                    check_agreement(&map, &product, max_error),
                ));
            }
        }
    }
    assert_all_ok(results);
}

#[test]
fn product_and_map_sampling_agree_in_all_light_sampling_modes() {
    let text = scene(
        &format!("{ENVIRONMENT}{OTHER_LIGHTS}"),
        "Material \"conductor\" \"float roughness\" 0.2",
        [-1.0, -2.0, 1.0],
        16,
    );
    let map = estimate(
        &text,
        &environment_map(),
        &overrides_for(EnvironmentSampling::Map, LightSampling::Power, BsdfSampling::Shader),
    );
    let product = |light_sampling| {
        estimate(
            &text,
            &environment_map(),
            &overrides_for(EnvironmentSampling::Product, light_sampling, BsdfSampling::Shader),
        )
    };
    assert_all_ok(LIGHT_SAMPLING.map(|light_sampling| {
        (format!("{light_sampling:?}"), check_agreement(&map, &product(light_sampling), 0.05))
    }));
}

#[test]
fn product_and_map_sampling_agree_for_narrow_lobes_and_small_bright_spots() {
    // Light comes from two texels only, three rows apart. The first view direction reflects
    // exactly towards one of them; the second barely misses it.
    let spot =
        pfm(64, |x, y| if x == 40 && (y == 30 || y == 33) { [3e3, 2e3, 1e3] } else { [0.0; 3] });
    let unrotated = "LightSource \"infinite\" \"string filename\" \"sky.pfm\"";
    let material = "Material \"shader\" \"string filename\" \"phong.wgsl\" \"rgb kd\" [0 0 0] \"rgb ks\" [0.9 0.9 0.9] \"float exponent\" 2000";
    let mut results = Vec::new();
    // The centres of the texels are in the directions (0.419, ±0.101, 0.902).
    for from in [[-0.319, -0.051, 0.902], [-0.38, -0.06, 0.88]] {
        let text = scene(unrotated, material, from, 64);
        let map = estimate(
            &text,
            &spot,
            &overrides_for(EnvironmentSampling::Map, LightSampling::Power, BsdfSampling::Shader),
        );
        assert!(map.mean[0] > 0.0, "{map:?}");
        for bsdf in [BsdfSampling::Shader, BsdfSampling::Bounds] {
            let product = estimate(
                &text,
                &spot,
                &overrides_for(EnvironmentSampling::Product, LightSampling::Power, bsdf),
            );
            results.push((format!("{from:?}, {bsdf:?}"), check_agreement(&map, &product, 0.1)));
        }
    }
    assert_all_ok(results);
}
