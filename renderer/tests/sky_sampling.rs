//! How light of a sky is drawn changes noise, and never the picture: by its image, or by products
//! with the BRDF, beside any other light, however this is chosen and directions are drawn.

mod common;

use common::{Estimate, assert_all, draw, one_ray, overrides, pfm, scene_of};
use lightbound::math::vec3;
use lightbound::scene::build::{Overrides, PathOverrides};
use lightbound::scene::{BsdfSampling, LightSampling, SkySampling};

const LIGHTS: [LightSampling; 5] = [
    LightSampling::Auto,
    LightSampling::Uniform,
    LightSampling::Power,
    LightSampling::Tree,
    LightSampling::MaterialTree,
];
const DIRECTIONS: [BsdfSampling; 3] =
    [BsdfSampling::Shader, BsdfSampling::Bounds, BsdfSampling::Cosine];

fn by(sky: SkySampling, lights: LightSampling, directions: BsdfSampling) -> Overrides {
    let path = PathOverrides {
        light_sampling: Some(lights),
        bsdf_sampling: Some(directions),
        sky_sampling: Some(sky),
    };
    Overrides { path, ..overrides() }
}

/// The light that a material sends from the middle of a floor, to which a wall beside it adds some.
fn scene(lights: &str, material: &str, from: [f32; 3], spp: u32) -> String {
    let world = format!(
        "{lights}
         Texture \"spots\" \"float\" \"checkerboard\" \"float uscale\" 8 \"float vscale\" 8 \"float tex1\" 0.1 \"float tex2\" 0.4
         Material \"diffuse\" \"rgb reflectance\" [0.2 0.6 0.3]
         Shape \"bilinearmesh\" \"point3 P\" [-2 2 -2  2 2 -2  -2 2 2  2 2 2]
         {material}
         Shape \"bilinearmesh\" \"point3 P\" [-2 -2 0  2 -2 0  -2 2 0  2 2 0]"
    );
    one_ray(vec3(from[0], from[1], from[2]), vec3(0.1, 0.05, 0.0), 3, 14, spp, &world)
}

/// A stretched map with a bright patch.
const SKY: &str = "AttributeBegin Rotate 40 1 0 0 Scale 1 2 0.8\nLightSource \"infinite\" \"string filename\" \"sky.pfm\"\nAttributeEnd\n";

/// A sky that is the same everywhere, a second map, and lights of other kinds.
const OTHERS: &str = "LightSource \"infinite\" \"rgb L\" [0.1 0.2 0.1]
    LightSource \"infinite\" \"string filename\" \"sky.pfm\" \"float scale\" 0.3
    LightSource \"distant\" \"rgb L\" [0.3 0.3 0.2] \"point3 from\" [1 -2 3]
    LightSource \"point\" \"rgb I\" [1 1 3] \"point3 from\" [-1 -1 1.5]
    AttributeBegin Material \"diffuse\" \"rgb reflectance\" [0 0 0]
    AreaLightSource \"diffuse\" \"rgb L\" [6 5 4] \"bool twosided\" true
    Shape \"bilinearmesh\" \"point3 P\" [1 -0.5 0.6  1 0.5 0.6  1 -0.5 1.6  1 0.5 1.6] AttributeEnd\n";

fn sky() -> Vec<u8> {
    pfm(16, |x, y| {
        if (x, y) == (5, 9) {
            [40.0, 60.0, 80.0]
        } else {
            [0.5, 0.1 * (x as f32), 0.05 * (y % 7) as f32]
        }
    })
}

/// Whether two estimates of one value agree to 4 standard errors, of which that by products is such
/// a part of it at most.
fn agree(map: &Estimate, product: &Estimate, most: f64) -> Result<(), String> {
    let channel = |c: usize| {
        let (difference, error) =
            ((map.mean[c] - product.mean[c]).abs(), map.error[c].hypot(product.error[c]));
        difference <= 4.0 * error + 1e-4 * map.mean[c] && product.error[c] <= most * product.mean[c]
    };
    if (0..3).all(channel) { Ok(()) } else { Err(format!("{map:?} and {product:?}")) }
}

fn estimate(text: &str, sky: &[u8], overrides: &Overrides) -> Estimate {
    Estimate::of_picture(&draw(&scene_of(text, &[("sky.pfm", sky.to_vec())], overrides), 2))
}

#[test]
fn products_and_maps_show_the_same() {
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
        for lights in [SKY.to_owned(), format!("{SKY}{OTHERS}")] {
            let text = scene(&lights, material, *from, 16);
            let map = estimate(
                &text,
                &sky(),
                &by(SkySampling::Map, LightSampling::Power, BsdfSampling::Shader),
            );
            for (n, directions) in DIRECTIONS.into_iter().enumerate() {
                let choice = LIGHTS[(k + n) % 5];
                let product =
                    estimate(&text, &sky(), &by(SkySampling::Product, choice, directions));
                let most = if directions == BsdfSampling::Cosine { 0.2 } else { 0.05 };
                results.push((
                    format!("{material}, {choice:?}, {directions:?}"),
                    agree(&map, &product, most),
                ));
            }
        }
    }
    assert_all(results);
}

#[test]
fn beside_all_other_lights() {
    let text = scene(
        &format!("{SKY}{OTHERS}"),
        "Material \"conductor\" \"float roughness\" 0.2",
        [-1.0, -2.0, 1.0],
        16,
    );
    let map =
        estimate(&text, &sky(), &by(SkySampling::Map, LightSampling::Power, BsdfSampling::Shader));
    let product =
        |choice| estimate(&text, &sky(), &by(SkySampling::Product, choice, BsdfSampling::Shader));
    assert_all(LIGHTS.map(|choice| (format!("{choice:?}"), agree(&map, &product(choice), 0.05))));
}

#[test]
fn a_spot_that_a_narrow_lobe_alone_sees() {
    // All light is in two texels, beside each other but for one between. The lobe is seen from
    // where it shows one, and from beside that.
    let spot =
        pfm(64, |x, y| if x == 40 && (y == 30 || y == 33) { [3e3, 2e3, 1e3] } else { [0.0; 3] });
    let plain = "LightSource \"infinite\" \"string filename\" \"sky.pfm\"";
    let material = "Material \"shader\" \"string filename\" \"phong.wgsl\" \"rgb kd\" [0 0 0] \"rgb ks\" [0.9 0.9 0.9] \"float exponent\" 2000";
    let mut results = Vec::new();
    // Their middles are at (0.419, ±0.101, 0.902).
    for from in [[-0.319, -0.051, 0.902], [-0.38, -0.06, 0.88]] {
        let text = scene(plain, material, from, 64);
        let map = estimate(
            &text,
            &spot,
            &by(SkySampling::Map, LightSampling::Power, BsdfSampling::Shader),
        );
        assert!(map.mean[0] > 0.0, "{map:?}");
        for directions in [BsdfSampling::Shader, BsdfSampling::Bounds] {
            let product =
                estimate(&text, &spot, &by(SkySampling::Product, LightSampling::Power, directions));
            results.push((format!("{from:?}, {directions:?}"), agree(&map, &product, 0.1)));
        }
    }
    assert_all(results);
}
