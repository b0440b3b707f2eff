//! Compares `openpbr` with MaterialX, and tests that it conserves energy.

use super::cases::Case;
use super::{ANGLES, ScatterSample, TestMaterial, energy, mean_and_deviation, stratified};
use lightbound_math::sampling::warp::cosine_hemisphere;
use lightbound_math::{Vec3, vec2, vec3};
use std::f64::consts::PI;

fn material(set: &'static [(&'static str, &'static [f64])]) -> TestMaterial {
    TestMaterial::new(&Case { file: "openpbr", set, glossy: false, albedo: 1.0 })
}

/// Values of s for [`DIRECTIONS`].
type Reference = (&'static [(&'static str, &'static [f64])], [[f32; 3]; 2]);

/// wi and wo.
const DIRECTIONS: [(Vec3, Vec3); 2] = [
    (vec3(0.36, -0.48, 0.8), vec3(0.0, 0.6, 0.8)),
    (vec3(-0.64, 0.48, 0.6), vec3(0.48, 0.36, 0.8)),
];

/// Results of the shader that MaterialX 1.39.5 generates, as Slang, with the changes that
/// `benches/openpbr_materialx.py` lists.
const REFERENCES: &[Reference] = &[
    (&[], [[0.204968, 0.204968, 0.204968], [0.147196, 0.147196, 0.147196]]),
    (
        &[
            ("base_diffuse_roughness", &[0.8]),
            ("specular_weight", &[0.5]),
            ("specular_ior", &[1.8]),
        ],
        [[0.162501, 0.162501, 0.162501], [0.125103, 0.125103, 0.125103]],
    ),
    (
        &[
            ("base_metalness", &[1.0]),
            ("base_color", &[0.9, 0.6, 0.3]),
            ("specular_color", &[0.9, 0.8, 0.7]),
            ("specular_roughness_anisotropy", &[0.7]),
        ],
        [[0.302606, 0.201538, 0.10068], [0.000515596, 0.000343391, 0.000171544]],
    ),
    (
        &[
            ("base_color", &[0.4, 0.1, 0.05]),
            ("base_metalness", &[0.6]),
            ("coat_weight", &[1.0]),
            ("coat_roughness", &[0.3]),
            ("coat_color", &[0.9, 0.9, 0.6]),
        ],
        [[0.0720225, 0.0241262, 0.0160997], [0.0163904, 0.00373918, 0.00160662]],
    ),
    (
        &[
            ("fuzz_weight", &[0.8]),
            ("fuzz_color", &[0.7, 0.3, 0.4]),
            ("fuzz_roughness", &[0.4]),
            ("base_color", &[0.1]),
            ("specular_weight", &[0.0]),
        ],
        [[0.0260089, 0.0255375, 0.0256554], [0.0201724, 0.0194385, 0.019622]],
    ),
    (
        &[
            ("thin_film_weight", &[0.9]),
            ("thin_film_thickness", &[0.4]),
            ("thin_film_ior", &[1.6]),
            ("specular_roughness", &[0.4]),
        ],
        [[0.212124, 0.218611, 0.221848], [0.148013, 0.148464, 0.148696]],
    ),
    (
        &[
            ("base_metalness", &[1.0]),
            ("base_color", &[0.8]),
            ("thin_film_weight", &[1.0]),
            ("thin_film_thickness", &[0.3]),
            ("thin_film_ior", &[1.4]),
            ("specular_roughness", &[0.4]),
        ],
        [[0.191774, 0.134916, 0.163617], [0.0136014, 0.00955508, 0.0115323]],
    ),
    (
        &[
            ("transmission_weight", &[0.3]),
            ("subsurface_weight", &[0.5]),
            ("subsurface_color", &[0.8, 0.4, 0.2]),
            ("base_weight", &[0.9]),
        ],
        [[0.139421, 0.10518, 0.0880592], [0.0980352, 0.0723543, 0.0595139]],
    ),
];

#[test]
fn values_match_materialx() {
    for (set, expected) in REFERENCES {
        let material = material(set);
        for (sample, expected) in material.evaluate(&DIRECTIONS).iter().zip(expected) {
            let expected = Vec3::from_array(*expected);
            let error = (sample.s - expected).abs().max_element();
            assert!(
                error <= 1e-3 * expected.max_element(),
                "{}: {sample:?}, expected {expected}",
                material.name
            );
        }
    }
}

/// The directional albedo for `wo`, by cosine sampling, and its noise.
fn albedo(material: &TestMaterial, wo: Vec3) -> (f64, f64) {
    let pairs: Vec<_> =
        stratified(300).into_iter().map(|[x, y]| (cosine_hemisphere(vec2(x, y)), wo)).collect();
    let samples = material.evaluate(&pairs);
    let weights = samples
        .iter()
        .map(|sample| f64::from(sample.s.max_element()) / f64::from(sample.wi.z.max(1e-9)) * PI);
    let (mean, deviation) = mean_and_deviation(weights);
    (mean, 4.0 * deviation / 300.0)
}

#[test]
fn white_materials_reflect_nearly_all_light() {
    // Fits of albedos are off by up to 2 %; at 85° also by more. They overestimate that of a
    // dielectric that reflects little.
    type Set = &'static [(&'static str, &'static [f64])];
    let cases: [(Set, f64); 5] = [
        (&[("base_color", &[1.0]), ("specular_weight", &[0.0])], 0.65),
        (&[("base_color", &[1.0]), ("base_diffuse_roughness", &[1.0])], 0.94),
        (
            &[("base_color", &[1.0]), ("base_metalness", &[1.0]), ("specular_roughness", &[0.8])],
            0.98,
        ),
        (&[("base_color", &[1.0]), ("fuzz_weight", &[1.0]), ("fuzz_roughness", &[0.8])], 0.97),
        (&[("base_color", &[1.0]), ("coat_weight", &[1.0]), ("coat_roughness", &[0.5])], 0.95),
    ];
    for (set, least) in cases {
        let material = material(set);
        for (angle, azimuth) in ANGLES {
            let ((s, c), (sp, cp)) = (angle.to_radians().sin_cos(), azimuth.to_radians().sin_cos());
            let (albedo, noise) = albedo(&material, vec3(s * cp, s * sp, c));
            println!("{}, {angle}°: {albedo:.4} ± {noise:.4}", material.name);
            assert!(
                albedo + noise >= least && albedo - noise <= 1.02,
                "{}, {angle}°: {albedo} ± {noise}",
                material.name
            );
        }
    }
}

#[test]
fn clear_surfaces_reflect_like_black_ones() {
    let opaque = material(&[("base_color", &[0.8])]);
    let clear = material(&[("base_color", &[0.8]), ("transmission_weight", &[1.0])]);
    let black = material(&[("base_color", &[0.0])]);
    let [opaque, clear, black] =
        [opaque, clear, black].map(|material| material.evaluate(&DIRECTIONS)[0].s);
    assert_eq!(clear, black);
    assert!(clear.max_element() < opaque.min_element());
}

#[test]
fn rotation_turns_the_anisotropy() {
    let turn = |v: Vec3| {
        let (s, c) = 0.7f32.sin_cos();
        vec3(c * v.x + s * v.y, c * v.y - s * v.x, v.z)
    };
    let turned = material(&[
        ("base_metalness", &[0.5]),
        ("specular_roughness_anisotropy", &[0.8]),
        ("coat_weight", &[0.5]),
        ("coat_roughness", &[0.4]),
        ("coat_roughness_anisotropy", &[0.7]),
        ("geometry_rotation", &[0.7]),
        ("geometry_coat_rotation", &[0.7]),
    ]);
    let straight = material(&[
        ("base_metalness", &[0.5]),
        ("specular_roughness_anisotropy", &[0.8]),
        ("coat_weight", &[0.5]),
        ("coat_roughness", &[0.4]),
        ("coat_roughness_anisotropy", &[0.7]),
    ]);
    let directions = DIRECTIONS.map(|(wi, wo)| (turn(wi), turn(wo)));
    let [a, b, other] = [
        turned.evaluate(&DIRECTIONS),
        straight.evaluate(&directions),
        straight.evaluate(&DIRECTIONS),
    ];
    for (a, b) in a.iter().zip(&b) {
        assert!((a.s - b.s).abs().max_element() < 1e-4 * b.s.max_element(), "{a:?} {b:?}");
    }
    let differs = |(a, other): (&ScatterSample, &ScatterSample)| {
        (a.s - other.s).abs().max_element() > 1e-2 * a.s.max_element()
    };
    assert!(a.iter().zip(&other).any(differs), "{a:?} {other:?}");
}

#[test]
fn light_inside_of_smooth_glass_gains_nothing() {
    let glass = material(&[("transmission_weight", &[1.0]), ("specular_roughness", &[0.05])]);
    for degrees in [45f32, 75.0, 85.0] {
        let (s, c) = degrees.to_radians().sin_cos();
        let (albedo, noise) = energy::albedo(&glass, vec3(s, 0.0, -c));
        assert!((0.99..1.001 + noise).contains(&albedo), "{degrees}°: {albedo} ± {noise}");
    }
}
