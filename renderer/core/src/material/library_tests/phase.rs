//! Compares phase functions with their formulas in double precision, and tests that they are
//! normalized and reciprocal.

use super::cases::Case;
use super::{TestMaterial, mean_and_deviation, random_directions, random_points, stratified};
use glam::DVec3;
use lightbound_math::{Vec3, vec3};
use std::f64::consts::PI;

/// Mean cosines under test.
const G: [f64; 9] = [-0.999, -0.9, -0.3, -1e-4, 0.0, 1e-6, 0.5, 0.98, 0.999];

/// The phase function of Henyey and Greenstein 1941. Near the peak, rounding of wi may change its
/// length as much as its direction matters, so wi is normalized.
fn henyey_greenstein(wi: DVec3, wo: DVec3, g: f64) -> f64 {
    let base = 1.0 + g * g + 2.0 * g * wi.normalize().dot(wo);
    (1.0 - g * g) / (4.0 * PI * base.powf(1.5))
}

fn rayleigh(wi: DVec3, wo: DVec3) -> f64 {
    3.0 / (16.0 * PI) * (1.0 + wi.dot(wo).powi(2))
}

/// Calls `check` with each phase function and its formula.
fn for_each_phase(check: impl Fn(&TestMaterial, &dyn Fn(DVec3, DVec3) -> f64)) {
    let case = |file| TestMaterial::new(&Case { file, set: &[], glossy: true, albedo: 1.0 });
    let mut material = case("henyey_greenstein");
    for g in G {
        material.set(|_| vec![g]);
        material.name = format!("henyey_greenstein g {g}");
        check(&material, &|wi, wo| henyey_greenstein(wi, wo, g));
    }
    check(&case("rayleigh"), &rayleigh);
}

#[test]
fn phase_functions_match_their_formulas_and_are_reciprocal() {
    for_each_phase(|material, formula| {
        let mut pairs: Vec<(Vec3, Vec3)> =
            random_directions(2000).into_iter().map(|wi| (wi, Vec3::Z)).collect();
        let scattered = material.scatter(&random_points(2000), Vec3::Z);
        pairs.extend(scattered.iter().map(|sample| (sample.wi, Vec3::Z)));
        let swapped: Vec<_> = pairs.iter().map(|&(wi, wo)| (wo, wi)).collect();
        let values = material.evaluate(&pairs).into_iter().zip(material.evaluate(&swapped));
        for ((value, back), &(wi, wo)) in values.zip(&pairs) {
            let expected = formula(wi.as_dvec3(), wo.as_dvec3());
            for s in value.s.to_array().into_iter().chain(back.s.to_array()).chain([value.pdf]) {
                let error = (f64::from(s) / expected - 1.0).abs();
                assert!(error < 1e-4, "{} at {wi}: {s}, expected {expected}", material.name);
            }
        }
    });
}

#[test]
fn phase_functions_are_normalized_and_sampled_exactly() {
    for_each_phase(|material, formula| {
        for sample in material.scatter(&random_points(10_000), Vec3::Z) {
            assert!((sample.weight().x - 1.0).abs() < 1e-6, "{}: {sample:?}", material.name);
            assert!((sample.wi.length() - 1.0).abs() < 1e-6, "{}: {sample:?}", material.name);
        }
        // The integral over the cosine, with samples around both poles, where peaks are narrow:
        // 1 − |z| = t⁴.
        let n = 300;
        let weight = |[x, y]: [f32; 2]| {
            let t = f64::from(2.0 * x - 1.0);
            let (v, jacobian) = (t.powi(4), 8.0 * t.abs().powi(3));
            let (r, z) = ((v * (2.0 - v)).sqrt(), (1.0 - v).copysign(t));
            let (sin, cos) = (2.0 * PI * f64::from(y)).sin_cos();
            ((r * cos, r * sin, z), 2.0 * PI * jacobian)
        };
        let weights: Vec<_> = stratified(n).into_iter().map(weight).collect();
        let pairs: Vec<_> = weights
            .iter()
            .map(|((x, y, z), _)| (vec3(*x as f32, *y as f32, *z as f32), Vec3::Z))
            .collect();
        let values = material.evaluate(&pairs);
        let products = || values.iter().zip(&weights).map(|(s, (_, w))| f64::from(s.s.x) * w);
        let (albedo, deviation) = mean_and_deviation(products());
        let tolerance = 1e-3 + deviation / f64::from(n);
        assert!((albedo - 1.0).abs() < tolerance, "{}: {albedo} ± {tolerance}", material.name);
        // The mean cosine of the formula is that of the samples.
        let turned = |wi: Vec3| f64::from(-wi.z);
        let samples = material.scatter(&stratified(n), Vec3::Z);
        let (sampled, _) = mean_and_deviation(samples.iter().map(|sample| turned(sample.wi)));
        let expected = |((x, y, z), w): &((f64, f64, f64), f64)| {
            -z * formula(DVec3::new(*x, *y, *z), DVec3::Z) * w
        };
        let (mean, deviation) = mean_and_deviation(weights.iter().map(expected));
        let tolerance = 1e-3 + deviation / f64::from(n);
        assert!((mean - sampled).abs() < tolerance, "{}: {sampled}, {mean}", material.name);
    });
}
