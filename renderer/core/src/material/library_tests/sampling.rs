//! Tests of samplers: densities, values and variance.

use super::cases::Case;
use super::{
    ScatterSample, TestMaterial, mean_and_deviation, random_directions, random_points, stratified,
};
use lightbound_math::sampling::pdf_check::{DirectionSampler, Domain, check};
use lightbound_math::sampling::testing::thorough_settings;
use lightbound_math::sampling::warp::cosine_hemisphere;
use lightbound_math::{Vec2, Vec3, vec2};
use lightbound_shader::SurfaceSides;
use rayon::prelude::*;
use std::f32::consts::FRAC_1_PI;

#[test]
fn directions_follow_the_density() {
    struct View<'a> {
        material: &'a TestMaterial,
        wo: Vec3,
    }
    impl DirectionSampler for View<'_> {
        fn sample(&mut self, points: &[Vec2]) -> Vec<(Vec3, f32)> {
            let points: Vec<_> = points.iter().map(|u| u.to_array()).collect();
            self.material.scatter(&points, self.wo).iter().map(|s| (s.wi, s.pdf)).collect()
        }

        fn pdf(&mut self, directions: &[Vec3]) -> Vec<f32> {
            let pairs: Vec<_> = directions.iter().map(|&wi| (wi, self.wo)).collect();
            self.material.evaluate(&pairs).iter().map(|s| s.pdf).collect()
        }
    }
    // Longer than all other tests of this crate.
    TestMaterial::all().collect::<Vec<_>>().par_iter().for_each(|(_, material)| {
        for (seed, wo) in (0..).zip(material.outgoing_directions()) {
            check(&mut View { material, wo }, Domain::Sphere, &thorough_settings(1_000_000), seed)
                .unwrap_or_else(|mismatch| panic!("{} from {wo}: {mismatch}", material.name));
        }
    });
}

#[test]
fn scatter_and_evaluate_agree() {
    let (points, directions) = (random_points(20_000), random_directions(20_000));
    for (_, material) in TestMaterial::all() {
        for wo in material.outgoing_directions() {
            let scattered = material.scatter(&points, wo);
            let pairs: Vec<_> = scattered.iter().map(|sample| (sample.wi, wo)).collect();
            for (sample, evaluated) in scattered.iter().zip(material.evaluate(&pairs)) {
                assert_eq!(
                    sample.bits(),
                    evaluated.bits(),
                    "{} from {wo}: {sample:?}, evaluated {evaluated:?}",
                    material.name
                );
            }
            let pairs: Vec<_> = directions.iter().map(|&wi| (wi, wo)).collect();
            for sample in scattered.into_iter().chain(material.evaluate(&pairs)) {
                let reachable = sample.s.max_element() <= 0.0 || sample.pdf > 0.0;
                assert!(
                    reachable,
                    "{} from {wo}: scattering in a direction with density 0: {sample:?}",
                    material.name
                );
            }
        }
    }
}

#[test]
fn cosine_sampling_uses_the_concentric_map() {
    let points = stratified(100);
    let material =
        TestMaterial::new(&Case { file: "diffuse", set: &[], glossy: false, albedo: 0.5 });
    for ([x, y], sample) in points.iter().zip(material.scatter(&points, Vec3::Z)) {
        let expected = cosine_hemisphere(vec2(*x, *y));
        assert!(
            sample.wi.distance(expected) < 1e-6,
            "{} at ({x}, {y}): {}, expected {expected}",
            material.name,
            sample.wi
        );
    }
}

#[test]
fn samplers_have_less_variance_than_cosine_sampling() {
    println!("relative variance of s/pdf with the sampler, and with cosine sampling");
    for (case, material) in TestMaterial::all() {
        for wo in material.outgoing_directions() {
            let samples = material.scatter(&stratified(400), wo);
            let weights = samples.iter().map(|sample| f64::from(sample.weight().element_sum()));
            let (mean, deviation) = mean_and_deviation(weights);
            let relative = (deviation / mean).powi(2);
            // The second moment under cosine sampling, estimated with the sampler's own samples,
            // which resolve the peak.
            let share = if material.shader.sides() == SurfaceSides::Both { 0.5 } else { 1.0 };
            let second = |sample: &ScatterSample| {
                let cosine = f64::from(share * FRAC_1_PI * sample.wi.z.abs());
                f64::from(sample.weight().element_sum()) * f64::from(sample.s.element_sum())
                    / cosine.max(1e-30)
            };
            let (second, _) = mean_and_deviation(samples.iter().map(second));
            let cosine = second / (mean * mean) - 1.0;
            println!("{relative:10.4} {cosine:12.4}  {} from {wo}", material.name);
            assert!(
                !case.glossy || relative <= cosine,
                "{} from {wo}: {relative}, with cosine sampling {cosine}",
                material.name
            );
        }
    }
}
