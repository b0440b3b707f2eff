//! What every BSDF must obey: sampling follows the density, weights are f cos / pdf, reciprocity, no energy gained, and no
//! input that breaks it.

use super::*;
use crate::math::vec3;
use crate::sampling::chi_square::chi_square_sphere;
use crate::sampling::{hash, unit_float};

const ALPHAS: [Vec2; 4] = [Vec2::new(0.05, 0.05), Vec2::new(0.3, 0.3), Vec2::new(0.1, 0.4), Vec2::new(0.9, 0.7)];
const GOLD: (Vec3, Vec3) = (Vec3::new(0.143, 0.375, 1.442), Vec3::new(3.983, 2.386, 1.603));

fn direction(degrees: f32) -> Vec3 {
    let ((s, c), (sp, cp)) = (degrees.to_radians().sin_cos(), 0.4f32.sin_cos());
    vec3(s * cp, s * sp, c)
}

/// All BSDFs that are not delta functions, named.
fn scattering() -> Vec<(String, AnyBsdf)> {
    let mut all = vec![("diffuse".into(), AnyBsdf::Diffuse(Diffuse::new(vec3(0.8, 0.5, 0.0))))];
    for alpha in ALPHAS {
        all.push((format!("conductor {alpha}"), AnyBsdf::Conductor(Conductor::new(GOLD.0, GOLD.1, alpha))));
        all.push((format!("dielectric {alpha}"), AnyBsdf::Dielectric(Dielectric::new(1.5, alpha))));
    }
    all
}

/// All BSDFs that are delta functions.
fn mirrors() -> Vec<AnyBsdf> {
    let alpha = Vec2::splat(9e-4);
    vec![
        AnyBsdf::Conductor(Conductor::new(GOLD.0, GOLD.1, alpha)),
        AnyBsdf::Dielectric(Dielectric::new(1.5, alpha)),
        AnyBsdf::Dielectric(Dielectric::new(1.0, Vec2::splat(0.5))),
        AnyBsdf::ThinDielectric(ThinDielectric::new(1.5)),
    ]
}

/// Uniform numbers `lobe, u`, the same in every run.
fn numbers(i: u32) -> (f32, Vec2) {
    let number = |d| unit_float(hash(hash(0xb5df, i), d));
    (number(0), vec2(number(1), number(2)))
}

/// Mean weight over `count` samples, refracted radiance scaled back to power (by η²).
fn mean_weight(bsdf: &AnyBsdf, wo: Vec3, count: u32) -> Vec3 {
    let sum: Vec3 = (0..count)
        .filter_map(|i| {
            let (lobe, u) = numbers(i);
            // Jittered in one dimension, so that the choice of the lobe adds little noise.
            bsdf.sample((i as f32 + lobe) / count as f32, u, wo)
        })
        .map(|s| s.weight * s.eta * s.eta)
        .sum();
    sum / count as f32
}

#[test]
fn small_and_copied() {
    assert!(size_of::<AnyBsdf>() < 64);
}

#[test]
fn samples_follow_the_density() {
    let cases: Vec<(String, AnyBsdf, f32)> = scattering()
        .into_iter()
        .flat_map(|(name, b)| [0.0, 30.0, 60.0, 85.0, 150.0, 120.0].map(|angle| (format!("{name}, {angle}°"), b, angle)))
        .collect();
    for (name, bsdf, angle) in &cases {
        let wo = direction(*angle);
        let sample = |u: [f32; 3]| bsdf.sample(u[0], vec2(u[1], u[2]), wo).map(|s| s.wi);
        chi_square_sphere(name, 60_000, sample, |wi| bsdf.pdf(wi, wo), cases.len());
    }
}

#[test]
fn weights_are_value_over_density() {
    for (name, bsdf) in scattering() {
        for angle in [0.0, 30.0, 60.0, 85.0, 150.0, 120.0] {
            let wo = direction(angle);
            for i in 0..500 {
                let (lobe, u) = numbers(i);
                let Some(s) = bsdf.sample(lobe, u, wo) else { continue };
                assert!((s.wi.length_squared() - 1.0).abs() < 2e-6, "{name} {angle}: {}", s.wi);
                let (f, pdf) = (bsdf.eval(s.wi, wo), bsdf.pdf(s.wi, wo));
                // The half vector of nearly opposite directions is less exact than the facet normal they came from.
                assert!((pdf - s.pdf).abs() <= 2e-3 * s.pdf, "{name} {angle}: pdf {pdf}, in the sample {}", s.pdf);
                let weight = f * s.wi.z.abs() / pdf;
                let error = (weight - s.weight).abs().max_element();
                assert!(error <= 1e-4 * s.weight.max_element(), "{name} {angle}: weight {weight}, in the sample {}", s.weight);
                assert!(!s.delta && (s.eta == 1.0) == (s.wi.z * wo.z > 0.0));
            }
        }
    }
}

#[test]
fn reciprocal() {
    for (name, bsdf) in scattering() {
        for i in 0..500 {
            let wo = direction(90.0 * numbers(i + 1000).0);
            let (lobe, u) = numbers(i);
            let Some(s) = bsdf.sample(lobe, u, wo) else { continue };
            // Radiance over the squared index is what is conserved along a refracted ray.
            let (there, back) = (bsdf.eval(s.wi, wo) * s.eta * s.eta, bsdf.eval(wo, s.wi));
            assert!((there - back).abs().max_element() <= 2e-3 * back.max_element(), "{name} {wo} {}: {there}, {back}", s.wi);
        }
    }
}

#[test]
fn white_furnace() {
    let white = AnyBsdf::Diffuse(Diffuse::new(Vec3::splat(1.5)));
    let glass = AnyBsdf::Dielectric(Dielectric::new(1.5, Vec2::ZERO));
    let pane = AnyBsdf::ThinDielectric(ThinDielectric::new(1.5));
    for angle in [0.0, 30.0, 60.0, 85.0, 120.0, 170.0] {
        let wo = direction(angle);
        for bsdf in [white, glass, pane] {
            let mean = mean_weight(&bsdf, wo, 1000);
            assert!((mean - 1.0).abs().max_element() < 1e-4, "{bsdf:?} {angle}: {mean}");
        }
        for (name, bsdf) in scattering() {
            let mean = mean_weight(&bsdf, wo, 2000);
            assert!(mean.max_element() <= 1.001, "{name} {angle}: {mean}");
        }
    }
    for angle in [0.0, 30.0, 60.0] {
        let polished = AnyBsdf::Conductor(Conductor::from_reflectance(Vec3::ONE, Vec2::splat(0.05)));
        let mean = mean_weight(&polished, direction(angle), 2000);
        assert!(mean.min_element() > 0.98 && mean.max_element() <= 1.0, "{angle}: {mean}");
        let mean = mean_weight(&AnyBsdf::Dielectric(Dielectric::new(1.5, Vec2::splat(0.05))), direction(angle), 2000);
        assert!(mean.min_element() > 0.98, "{angle}: {mean}");
    }
}

#[test]
fn metals_never_amplify() {
    for alpha in ALPHAS {
        let bsdf = Conductor::from_reflectance(Vec3::ONE, alpha);
        for i in 0..2000 {
            let (lobe, u) = numbers(i);
            let wo = direction(180.0 * numbers(i + 5000).0);
            if let Some(s) = bsdf.sample(lobe, u, wo) {
                assert!(s.weight.max_element() <= 1.0 + 1e-5 && s.wi.z * wo.z > 0.0, "{alpha} {wo}: {s:?}");
            }
        }
    }
}

#[test]
fn a_metal_reflects_what_was_asked() {
    let r = vec3(0.0, 0.5, 0.9);
    let bsdf = Conductor::from_reflectance(r, Vec2::ZERO);
    let s = bsdf.sample(0.0, Vec2::ZERO, Vec3::Z).unwrap();
    assert!((s.weight - r).abs().max_element() < 1e-5 && s.delta && s.wi == Vec3::Z);
    assert!((bsdf.albedo(Vec3::Z) - r).abs().max_element() < 1e-5);
}

#[test]
fn glass_refracts_by_snells_law() {
    let glass = Dielectric::new(1.5, Vec2::ZERO);
    for (angle, eta) in [(50.0, 1.5), (160.0, 1.0 / 1.5)] {
        let wo = direction(angle);
        let s = glass.sample(0.999, Vec2::ZERO, wo).unwrap();
        assert!(s.wi.z * wo.z < 0.0 && s.delta && s.eta == eta);
        // sin θₒ = η sin θᵢ, in the plane of incidence.
        assert!((s.wi.truncate() * eta + wo.truncate()).length() < 1e-6);
        assert!((s.wi.length() - 1.0).abs() < 1e-6 && (s.weight.x - 1.0 / (eta * eta)).abs() < 1e-6);
    }
    // Beyond the critical angle all is reflected, whatever the lobe.
    let s = glass.sample(0.999, Vec2::ZERO, direction(120.0)).unwrap();
    assert!(s.wi.z < 0.0 && s.eta == 1.0);
    // Matched indices do nothing at all.
    let none = Dielectric::new(1.0, Vec2::splat(0.5));
    assert_eq!(none.sample(0.0, Vec2::ZERO, direction(89.9)).unwrap().wi, -direction(89.9));
}

#[test]
fn mirrors_have_no_density() {
    for bsdf in mirrors() {
        let s = bsdf.sample(0.0, Vec2::splat(0.3), direction(40.0)).unwrap();
        assert!(bsdf.is_delta() && s.delta && s.pdf == 0.0, "{bsdf:?}");
        assert_eq!((bsdf.eval(s.wi, direction(40.0)), bsdf.pdf(s.wi, direction(40.0))), (Vec3::ZERO, 0.0));
    }
    assert!(scattering().iter().all(|(_, b)| !b.is_delta()));
}

#[test]
fn extreme_input_stays_finite() {
    let mut all: Vec<AnyBsdf> = scattering().into_iter().map(|(_, b)| b).chain(mirrors()).collect();
    for bad in [f32::NAN, f32::INFINITY, -1.0, 0.0, 1e-30, 1e30, 1.000_05, 1.001] {
        all.push(AnyBsdf::Diffuse(Diffuse::new(Vec3::splat(bad))));
        for alpha in [Vec2::splat(bad), vec2(bad, 0.5), vec2(1e-3, 1e-3), Vec2::splat(0.5)] {
            all.push(AnyBsdf::Conductor(Conductor::new(Vec3::splat(bad), Vec3::splat(bad), alpha)));
            all.push(AnyBsdf::Conductor(Conductor::from_reflectance(Vec3::splat(bad), alpha)));
            all.push(AnyBsdf::Dielectric(Dielectric::new(bad, alpha)));
        }
        all.push(AnyBsdf::ThinDielectric(ThinDielectric::new(bad)));
    }
    let ends = [0.0, 1e-7, 0.5, 1.0 - f32::EPSILON / 2.0];
    let heights = [0.0f32, 1e-40, 1e-20, 1e-9, 1.1e-9, 1e-7, 1e-4, 0.5, 1.0];
    let directions: Vec<Vec3> =
        heights.iter().flat_map(|&z| [vec3((1.0 - z * z).sqrt(), 0.0, z), vec3(0.0, -(1.0 - z * z).sqrt(), -z)]).collect();
    for bsdf in all {
        for &wo in &directions {
            let albedo = bsdf.albedo(wo);
            assert!(albedo.min_element() >= -1e-6 && albedo.max_element() <= 1.0 + 1e-6, "{bsdf:?} {wo}: {albedo}");
            for &wi in &directions {
                let (f, pdf) = (bsdf.eval(wi, wo), bsdf.pdf(wi, wo));
                assert!(
                    f.is_finite() && f.min_element() >= -1e-6 && pdf.is_finite() && pdf >= 0.0,
                    "{bsdf:?} {wi} {wo}: {f} {pdf}"
                );
            }
            for i in 0..64 {
                let Some(s) = bsdf.sample(ends[i % 4], vec2(ends[i / 4 % 4], ends[i / 16]), wo) else { continue };
                let finite = s.weight.is_finite() && s.pdf.is_finite() && (s.pdf > 0.0 || s.delta) && s.eta.is_finite();
                assert!(finite && (s.wi.length() - 1.0).abs() < 1e-4, "{bsdf:?} {wo}: {s:?}");
                assert!(wo.z != 0.0 && s.wi.z != 0.0 && s.weight.min_element() >= -1e-6);
            }
        }
    }
}

#[test]
fn parameters_reach_the_bsdf() {
    let at = Lookup { p: Vec3::ZERO, uv: Vec2::ZERO };
    assert_eq!(Material::diffuse(vec3(0.2, 2.0, -1.0)).bsdf(&at).albedo(Vec3::Z), vec3(0.2, 1.0, 0.0));
    let metal = || Metal::Reflectance(Param::from_float(0.5));
    let rough = |remap| Roughness { remap, ..Roughness::isotropic(Param::from_float(1e-4)) };
    // The square root of 10⁻⁴ is rough enough to scatter, the value itself is not.
    assert!(!Material::Conductor { metal: metal(), roughness: rough(true) }.bsdf(&at).is_delta());
    assert!(Material::Conductor { metal: metal(), roughness: rough(false) }.bsdf(&at).is_delta());
    let (eta, k) = (Param::Constant(GOLD.0), Param::Constant(GOLD.1));
    let gold = Material::Conductor { metal: Metal::Index { eta, k }, roughness: Roughness::smooth() }.bsdf(&at);
    assert_eq!(gold.albedo(Vec3::Z), fresnel::conductor(1.0, GOLD.0, GOLD.1));
    assert!(Material::Dielectric { eta: 1.5, roughness: Roughness::smooth() }.bsdf(&at).is_delta());
    assert!(Material::ThinDielectric { eta: 1.5 }.bsdf(&at).is_delta());
}
