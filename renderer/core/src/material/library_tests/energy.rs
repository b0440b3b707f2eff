//! Reciprocity and energy conservation.

use super::cases::Case;
use super::{Scattered, TestMaterial, numbers, sphere, statistics, stratified};
use lightbound_math::{Vec3, vec3};

#[test]
fn materials_are_reciprocal() {
    for (_, material) in TestMaterial::all() {
        for wo in material.views() {
            let lights = material.scatter(&numbers(20_000), wo);
            // Tiny values of s have few significant digits.
            let lights: Vec<_> =
                lights.into_iter().filter(|light| light.s.max_element() > 1e-20).collect();
            let swapped: Vec<_> = lights.iter().map(|light| (wo, light.wi)).collect();
            for (light, back) in lights.iter().zip(material.evaluate(&swapped)) {
                let (n_i, n_o) = (material.index(light.wi), material.index(wo));
                let (forward, backward) =
                    (light.s / light.wi.z.abs() * n_i * n_i, back.s / wo.z.abs() * n_o * n_o);
                let error = (forward - backward).abs().max_element();
                assert!(
                    error <= 1e-5 * forward.max_element(),
                    "{} from {wo}: {forward}, reversed {backward}; {light:?}",
                    material.name
                );
            }
        }
    }
}

/// Directional albedo for `wo`, the maximum of all channels, and its noise. Refracted light counts
/// as power, not as radiance.
fn albedo(material: &TestMaterial, wo: Vec3) -> (f64, f64) {
    let lights = material.scatter(&stratified(300), wo);
    let power = |light: &Scattered| {
        light.weight() * (material.index(light.wi) / material.index(wo)).powi(2)
    };
    let channels =
        [0, 1, 2].map(|k| statistics(lights.iter().map(|light| f64::from(power(light)[k]))));
    let (mean, deviation) =
        channels.into_iter().max_by(|a, b| a.0.total_cmp(&b.0)).expect("there are three channels");
    (mean, 4.0 * deviation / 300.0 + 1e-5)
}

#[test]
fn albedo_is_within_its_bound() {
    for (case, material) in TestMaterial::all() {
        for wo in material.views() {
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
        let expected = albedo - noise >= min && albedo + noise <= max;
        assert!(expected, "{} from {degrees}°: {albedo} ± {noise}", material.name);
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
        for wo in bare.views() {
            let pairs: Vec<_> = sphere(2000).into_iter().map(|wi| (wi, wo)).collect();
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
