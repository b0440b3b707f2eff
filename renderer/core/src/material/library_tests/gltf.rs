//! Compares `gltf` with the formulas of appendix B of the glTF 2.0 specification and of its
//! extensions, and tests that it conserves energy.

use super::cases::Case;
use super::{ANGLES, TestMaterial, mean_and_deviation, stratified};
use lightbound_math::{Frame, Vec3, vec3};
use std::f64::consts::PI;

type Set = &'static [(&'static str, &'static [f64])];

fn material(set: Set) -> TestMaterial {
    TestMaterial::new(&Case { file: "gltf", set, glossy: false, albedo: 1.0 })
}

/// wi and wo.
const DIRECTIONS: [(Vec3, Vec3); 3] = [
    (vec3(0.36, -0.48, 0.8), vec3(0.0, 0.6, 0.8)),
    (vec3(-0.64, 0.48, 0.6), vec3(0.48, 0.36, 0.8)),
    (vec3(0.48, 0.64, 0.6), vec3(-0.6, 0.0, 0.8)),
];

/// D V of facets with roughness α along two axes, by KHR_materials_anisotropy, and v·h.
fn facets(wi: Vec3, wo: Vec3, alpha: [f64; 2]) -> (f64, f64) {
    let [l, v] = [wi, wo].map(|w| w.as_dvec3());
    let h = (l + v).normalize();
    let [at, ab] = alpha;
    let a2 = at * ab;
    let f = (ab * h.x).powi(2) + (at * h.y).powi(2) + (a2 * h.z).powi(2);
    let d = a2 * (a2 / f).powi(2) / PI;
    let stretched = |w: glam::DVec3| glam::DVec3::new(at * w.x, ab * w.y, w.z).length();
    let visibility = 0.5 / (l.z * stretched(v) + v.z * stretched(l));
    (d * visibility, v.dot(h))
}

fn schlick(f0: f64, f90: f64, cosine: f64) -> f64 {
    f0 + (f90 - f0) * (1.0 - cosine).powi(5)
}

/// Compares the values of a material with a formula for the BRDF in each channel.
fn compare(set: Set, formula: impl Fn(Vec3, Vec3, usize) -> f64) {
    let material = material(set);
    for (sample, (wi, wo)) in material.evaluate(&DIRECTIONS).iter().zip(DIRECTIONS) {
        for channel in 0..3 {
            let expected = formula(wi, wo, channel) * f64::from(wi.z.abs());
            let found = f64::from(sample.s[channel]);
            assert!(
                (found - expected).abs() <= 2e-5 * expected.abs().max(1e-4),
                "{} for {wi} and {wo}: {found}, expected {expected}",
                material.name
            );
        }
    }
}

#[test]
fn metal_matches_appendix_b() {
    let set: Set = &[
        ("metallic", &[1.0]),
        ("base_color", &[0.9, 0.6, 0.3]),
        ("base_color_factor", &[0.8]),
        ("roughness", &[0.6]),
    ];
    compare(set, |wi, wo, channel| {
        let (lobe, cosine) = facets(wi, wo, [0.36; 2]);
        lobe * schlick([0.72, 0.48, 0.24][channel], 1.0, cosine)
    });
}

#[test]
fn anisotropy_matches_its_extension() {
    let set: Set = &[("metallic", &[1.0]), ("roughness", &[0.5]), ("anisotropy", &[0.6])];
    compare(set, |wi, wo, _| facets(wi, wo, [0.25 + 0.75 * 0.36, 0.25]).0);
    // Turned by a right angle, the axes change places.
    let turned: Set = &[
        ("metallic", &[1.0]),
        ("roughness", &[0.5]),
        ("anisotropy", &[0.6]),
        ("anisotropy_rotation", &[PI / 2.0]),
    ];
    compare(turned, |wi, wo, _| facets(wi, wo, [0.25, 0.25 + 0.75 * 0.36]).0);
    // Turned back from a direction, and with one that is not in the tangent plane.
    let from_direction: Set = &[
        ("metallic", &[1.0]),
        ("roughness", &[0.5]),
        ("anisotropy", &[0.6]),
        ("anisotropy_direction", &[0.3, 0.3, 0.9]),
        ("anisotropy_rotation", &[-PI / 4.0]),
    ];
    let undefined: Set = &[
        ("metallic", &[1.0]),
        ("roughness", &[0.5]),
        ("anisotropy", &[0.6]),
        ("anisotropy_direction", &[0.0, 0.0, 1.0]),
    ];
    for set in [from_direction, undefined] {
        compare(set, |wi, wo, _| facets(wi, wo, [0.25 + 0.75 * 0.36, 0.25]).0);
    }
}

#[test]
fn dielectric_reflection_matches_appendix_b() {
    let set: Set = &[
        ("base_color", &[0.0]),
        ("roughness", &[0.7]),
        ("ior", &[1.8]),
        ("specular", &[0.5]),
        ("specular_color", &[1.0, 0.5, 8.0]),
    ];
    compare(set, |wi, wo, channel| {
        let (lobe, cosine) = facets(wi, wo, [0.49; 2]);
        let f0 = (0.8f64 / 2.8).powi(2) * [1.0, 0.5, 8.0][channel];
        lobe * schlick(f0.min(1.0) * 0.5, 0.5, cosine)
    });
}

#[test]
fn coat_matches_its_extension() {
    let set: Set = &[
        ("base_color", &[0.0]),
        ("specular", &[0.0]),
        ("clearcoat", &[0.7]),
        ("clearcoat_roughness", &[0.5]),
    ];
    compare(set, |wi, wo, _| {
        let (lobe, cosine) = facets(wi, wo, [0.25; 2]);
        0.7 * lobe * schlick(0.04, 1.0, cosine)
    });
}

#[test]
fn coats_have_normals_of_their_own() {
    let set: Set = &[
        ("base_color", &[0.0]),
        ("specular", &[0.0]),
        ("clearcoat", &[1.0]),
        ("clearcoat_roughness", &[0.5]),
        ("clearcoat_normal", &[0.18, -0.24, 0.4]),
        ("anisotropy_rotation", &[0.5]),
    ];
    let frame = Frame::from_normal(vec3(0.36, -0.48, 0.8));
    compare(set, |wi, wo, _| {
        let [l, v] = [wi, wo].map(|w| frame.local_direction(w));
        let (lobe, cosine) = facets(l, v, [0.25; 2]);
        // The cosine is that of the coat.
        lobe * schlick(0.04, 1.0, cosine) * f64::from(l.z / wi.z)
    });
    // From below, the opposite normal counts.
    let (wi, wo) = (vec3(-0.3, -0.3, 0.9).normalize(), vec3(0.6, -0.5, 0.6).normalize());
    let samples = material(set).evaluate(&[(wi, wo), (-wi, -wo)]);
    let [above, below] = [0, 1].map(|k| samples[k].s.x);
    assert!(above > 0.01 && (below - above).abs() <= 1e-5 * above, "{above}, {below}");

    // Where the normal faces away from the viewer, the opposite one counts.
    let away: Set = &[
        ("base_color", &[0.0]),
        ("specular", &[0.0]),
        ("clearcoat", &[1.0]),
        ("clearcoat_roughness", &[0.5]),
        ("clearcoat_normal", &[0.0, -0.96, 0.28]),
    ];
    let opposite = Frame::from_normal(vec3(0.0, 0.96, -0.28));
    let (above, below, wo) = (vec3(0.0, 0.96, 0.28), vec3(0.36, -0.48, 0.8), vec3(0.0, 0.6, 0.8));
    let samples = material(away).evaluate(&[(above, wo), (below, wo)]);
    let [l, v] = [above, wo].map(|w| opposite.local_direction(w));
    let (lobe, cosine) = facets(l, v, [0.25; 2]);
    let expected = lobe * schlick(0.04, 1.0, cosine) * f64::from(l.z);
    let found = f64::from(samples[0].s.x);
    assert!((found - expected).abs() <= 2e-5 * expected, "{found}, expected {expected}");
    assert_eq!(samples[1].s, Vec3::ZERO);
}

#[test]
fn sheen_matches_its_extension() {
    let set: Set = &[
        ("base_color", &[0.0]),
        ("specular", &[0.0]),
        ("sheen_color", &[0.9, 0.5, 0.1]),
        ("sheen_roughness", &[0.6]),
    ];
    compare(set, |wi, wo, channel| {
        let [l, v] = [wi, wo].map(|w| w.as_dvec3());
        let h = (l + v).normalize();
        let inverse = 1.0 / 0.36;
        let d = (2.0 + inverse) * (1.0 - h.z * h.z).powf(0.5 * inverse) / (2.0 * PI);
        [0.9, 0.5, 0.1][channel] * d / (4.0 * (l.z + v.z - l.z * v.z))
    });
}

#[test]
fn thin_walls_transmit_the_mirrored_lobe() {
    let transmitting =
        material(&[("transmission", &[1.0]), ("roughness", &[0.6]), ("base_color", &[0.5])]);
    let pairs = DIRECTIONS.map(|(wi, wo)| (vec3(wi.x, wi.y, -wi.z), wo));
    for (sample, (wi, wo)) in transmitting.evaluate(&pairs).iter().zip(DIRECTIONS) {
        let (lobe, cosine) = facets(wi, wo, [0.36; 2]);
        let expected = 0.5 * lobe * (1.0 - schlick(0.04, 1.0, cosine)) * f64::from(wi.z);
        assert!((f64::from(sample.s.x) - expected).abs() <= 2e-5 * expected, "{sample:?}");
    }
}

#[test]
fn volumes_reflect_all_light_beyond_the_critical_angle() {
    let glass: Set = &[
        ("transmission", &[1.0]),
        ("roughness", &[0.05]),
        ("thin_walled", &[0.0]),
        ("ior", &[1.5]),
    ];
    let glass = material(glass);
    // From inside; the critical angle is 41.8°.
    for (angle, least, most) in [(20.0f32, 0.03, 0.06), (60.0, 0.97, 1.001)] {
        let (s, c) = angle.to_radians().sin_cos();
        let wo = vec3(0.6 * s, 0.8 * s, -c);
        let reflected = |sample: &super::ScatterSample| {
            if sample.wi.z < 0.0 { f64::from(sample.weight().x) } else { 0.0 }
        };
        let samples = glass.scatter(&stratified(200), wo);
        let (mean, _) = mean_and_deviation(samples.iter().map(reflected));
        assert!(mean >= least && mean <= most, "{angle}°: {mean}");
    }
}

#[test]
fn white_materials_reflect_nearly_all_light() {
    // Facets lose light that would scatter between them.
    let cases: [(Set, f64); 6] = [
        (&[("roughness", &[1.0])], 0.95),
        (&[("roughness", &[0.3])], 0.96),
        // At 85°, numerical integration gives 0.884.
        (&[("metallic", &[1.0]), ("roughness", &[0.3])], 0.88),
        (&[("sheen_color", &[1.0]), ("sheen_roughness", &[0.6])], 0.9),
        (&[("clearcoat", &[1.0]), ("clearcoat_roughness", &[0.2])], 0.93),
        // Half of the light passes facets, whose albedo is 0.857 at 60°, by numerical integration.
        (&[("transmission", &[0.5]), ("diffuse_transmission", &[0.5])], 0.9),
    ];
    for (set, least) in cases {
        let material = material(set);
        for (angle, azimuth) in ANGLES {
            let ((s, c), (sp, cp)) = (angle.to_radians().sin_cos(), azimuth.to_radians().sin_cos());
            let samples = material.scatter(&stratified(300), vec3(s * cp, s * sp, c));
            let weights = samples.iter().map(|sample| f64::from(sample.weight().max_element()));
            let (mean, deviation) = mean_and_deviation(weights);
            let noise = 4.0 * deviation / 300.0;
            println!("{}, {angle}°: {mean:.4} ± {noise:.4}", material.name);
            assert!(
                mean + noise >= least && mean - noise <= 1.03,
                "{}, {angle}°: {mean} ± {noise}",
                material.name
            );
        }
    }
}
