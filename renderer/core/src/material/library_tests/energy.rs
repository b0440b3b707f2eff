//! Tests of reciprocity and energy conservation.

use super::cases::Case;
use super::{
    ScatterSample, TestMaterial, mean_and_deviation, random_directions, random_points, stratified,
};
use crate::material::library;
use lightbound_math::{Vec3, vec3};

#[test]
fn materials_are_reciprocal() {
    for (case, material) in TestMaterial::all() {
        // The attenuation of hair, and of the layers of gltf, openpbr and MaterialX, depends on wo
        // alone. Phase functions have no cosine.
        let is_layered =
            ["gltf", "hair", "openpbr"].contains(&case.file) || library::find(case.file).is_none();
        if is_layered || material.is_phase() {
            continue;
        }
        for wo in material.outgoing_directions() {
            let samples = material.scatter(&random_points(20_000), wo);
            // Tiny values of s have few significant digits.
            let samples: Vec<_> =
                samples.into_iter().filter(|sample| sample.s.max_element() > 1e-20).collect();
            let swapped: Vec<_> = samples.iter().map(|sample| (wo, sample.wi)).collect();
            for (sample, back) in samples.iter().zip(material.evaluate(&swapped)) {
                let (n_i, n_o) =
                    (material.refractive_index(sample.wi), material.refractive_index(wo));
                let (forward, backward) =
                    (sample.s / sample.wi.z.abs() * n_i * n_i, back.s / wo.z.abs() * n_o * n_o);
                let error = (forward - backward).abs().max_element();
                assert!(
                    error <= 1e-5 * forward.max_element(),
                    "{} from {wo}: {forward}, reversed {backward}; {sample:?}",
                    material.name
                );
            }
        }
    }
}

/// Returns the directional albedo for `wo`, as the maximum over the channels, and its noise. The
/// albedo is a ratio of power, so refracted radiance is scaled by the squared index.
pub(super) fn albedo(material: &TestMaterial, wo: Vec3) -> (f64, f64) {
    let samples = material.scatter(&stratified(300), wo);
    let power = |sample: &ScatterSample| {
        sample.weight()
            * (material.refractive_index(sample.wi) / material.refractive_index(wo)).powi(2)
    };
    let channels = [0, 1, 2]
        .map(|k| mean_and_deviation(samples.iter().map(|sample| f64::from(power(sample)[k]))));
    let (mean, deviation) =
        channels.into_iter().max_by(|a, b| a.0.total_cmp(&b.0)).expect("there are three channels");
    (mean, 4.0 * deviation / 300.0 + 1e-5)
}

#[test]
fn albedo_is_within_its_bound() {
    for (case, material) in TestMaterial::all() {
        for wo in material.outgoing_directions() {
            let (albedo, noise) = albedo(&material, wo);
            assert!(
                albedo <= case.albedo + noise,
                "{} from {wo}: {albedo} ± {noise}",
                material.name
            );
        }
    }
}

#[test]
fn documented_energy_gains_are_observed() {
    let case = |file, set| TestMaterial::new(&Case { file, set, glossy: false, albedo: 1.0 });
    let oren_nayar = case("oren_nayar", &[("kd", &[1.0]), ("sigma", &[11.25])]);
    let isoward = case("isoward", &[("kd", &[0.0]), ("ks", &[1.0])]);
    let ward = case("ward", &[("kd", &[0.0]), ("ks", &[1.0])]);
    for (material, degrees, [min, max]) in [
        (&oren_nayar, 60.0, [0.98, 1.0]),
        (&oren_nayar, 89.9, [1.01, 1.02]),
        (&isoward, 89.0, [0.1, 1.0]),
        (&isoward, 89.99, [1.0, 10.0]),
        (&ward, 89.0, [0.1, 1.0]),
        (&ward, 89.99, [1.0, 10.0]),
    ] {
        let (s, c) = f32::to_radians(degrees).sin_cos();
        let (albedo, noise) = albedo(material, vec3(0.6 * s, 0.8 * s, c));
        let is_in_range = albedo - noise >= min && albedo + noise <= max;
        assert!(is_in_range, "{} from {degrees}°: {albedo} ± {noise}", material.name);
    }
}

#[test]
fn coats_with_the_index_of_air_have_no_effect() {
    let case = |file, set| TestMaterial::new(&Case { file, set, glossy: false, albedo: 1.0 });
    let diffuse = case("diffuse", &[("kd", &[0.9, 0.5, 0.0])]);
    let varnished = case(
        "coated_diffuse",
        &[
            ("kd", &[0.9, 0.5, 0.0]),
            ("eta", &[1.0]),
            ("thickness", &[0.0]),
            ("alpha_x", &[0.0]),
            ("alpha_y", &[0.0]),
        ],
    );
    let metal = case("conductor", &[("alpha_x", &[0.4])]);
    let lacquered = case(
        "coated_conductor",
        &[
            ("alpha_x", &[0.4]),
            ("coat_eta", &[1.0]),
            ("thickness", &[0.0]),
            ("coat_alpha_x", &[0.0]),
            ("coat_alpha_y", &[0.0]),
        ],
    );
    for (bare, coated) in [(diffuse, varnished), (metal, lacquered)] {
        for wo in bare.outgoing_directions() {
            let pairs: Vec<_> = random_directions(2000).into_iter().map(|wi| (wi, wo)).collect();
            for (uncoated, coated_light) in
                bare.evaluate(&pairs).iter().zip(coated.evaluate(&pairs))
            {
                let error = (uncoated.s - coated_light.s).abs().max_element();
                assert!(
                    error <= 1e-4 * uncoated.s.max_element(),
                    "{} from {wo}: {uncoated:?}, {coated_light:?}",
                    coated.name
                );
            }
        }
    }
}
