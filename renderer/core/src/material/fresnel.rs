//! Fresnel equations: reflectance of smooth interfaces for unpolarised light.
//!
//! `eta` is the refractive index on the transmitted side over the index on the incident side.
//! `cos_i` is the cosine of the angle of incidence, in [0, 1].

use lightbound_math::Vec3;

/// Returns the cosine of the angle of refraction; `None` under total internal reflection.
///
/// Snell's law in the form cos²θₜ = (η² − 1 + cos²θᵢ) / η² is exact for η = 1, and does not cancel
/// at grazing angles.
pub fn refracted_cos(cos_i: f32, eta: f32) -> Option<f32> {
    let scaled = (eta - 1.0) * (eta + 1.0) + cos_i * cos_i;
    (scaled > 0.0).then(|| scaled.sqrt() / eta)
}

/// Returns the reflectance of the interface between two dielectrics.
pub fn dielectric(cos_i: f32, eta: f32) -> f32 {
    let Some(cos_t) = refracted_cos(cos_i, eta) else { return 1.0 };
    let parallel = (eta * cos_i - cos_t) / (eta * cos_i + cos_t);
    let perpendicular = (cos_i - eta * cos_t) / (cos_i + eta * cos_t);
    0.5 * (parallel * parallel + perpendicular * perpendicular)
}

/// Returns the reflectance of a conductor with the complex refractive index η − i k per RGB
/// channel; η > 0.
///
/// With a² + b² = √((η² − k² − sin²θ)² + 4η²k²) and 2a² = a² + b² + η² − k² − sin²θ, the
/// perpendicular part is (a² + b² − 2a cosθ + cos²θ) / (a² + b² + 2a cosθ + cos²θ). The parallel
/// part is its product with a similar ratio (Born & Wolf, *Principles of Optics*; written out in
/// Lagarde 2013, *Memo on Fresnel equations*).
pub fn conductor(cos_i: f32, eta: Vec3, k: Vec3) -> Vec3 {
    // Avoid 0/0 at a cosine of 0 for η = 1 and k = 0.
    let cos = cos_i.clamp(1e-6, 1.0);
    let cos2 = cos * cos;
    let sin2 = 1.0 - cos2;
    let eta2 = eta * eta;
    let k2 = k * k;
    let t = eta2 - k2 - sin2;
    let a2_b2 = (t * t + 4.0 * eta2 * k2).sqrt();
    let a = (0.5 * (a2_b2 + t)).max(Vec3::ZERO).sqrt();
    let sum = a2_b2 + cos2;
    let cross = 2.0 * cos * a;
    let perpendicular = (sum - cross) / (sum + cross);
    let sum = cos2 * a2_b2 + sin2 * sin2;
    let cross = cross * sin2;
    let parallel = perpendicular * ((sum - cross) / (sum + cross));
    0.5 * (perpendicular + parallel)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dielectric_matches_known_values() {
        assert!((dielectric(1.0, 1.5) - 0.04).abs() < 1e-6);
        assert!((dielectric(1.0, 1.0 / 1.5) - 0.04).abs() < 1e-6);
        assert_eq!(dielectric(0.0, 1.5), 1.0);
        // At Brewster's angle, tan θ = η, only the perpendicular part reflects: half of ((1 −
        // η²)/(1 + η²))².
        let brewster = 1.5f32.atan().cos();
        assert!((dielectric(brewster, 1.5) - 0.5 * (1.25f32 / 3.25).powi(2)).abs() < 1e-6);
        // Equal indices reflect nothing, even at grazing angles.
        for cos in [1.0, 0.5, 1e-3, 1e-6] {
            assert_eq!(dielectric(cos, 1.0), 0.0, "{cos}");
        }
    }

    #[test]
    fn total_internal_reflection_starts_at_the_critical_angle() {
        let critical = (1.0f32 - 1.0 / (1.5 * 1.5)).sqrt();
        assert_eq!(refracted_cos(critical - 1e-3, 1.0 / 1.5), None);
        assert_eq!(dielectric(critical - 1e-3, 1.0 / 1.5), 1.0);
        assert!(dielectric(critical + 1e-3, 1.0 / 1.5) < 1.0);
        // Both directions along a path have the same reflectance.
        let cos_t = refracted_cos(0.3, 1.5).unwrap();
        assert!((dielectric(cos_t, 1.0 / 1.5) - dielectric(0.3, 1.5)).abs() < 1e-6);
    }

    #[test]
    fn conductor_without_absorption_is_a_dielectric() {
        for eta in [1.0, 1.33, 1.5, 2.5, 0.7] {
            for i in 1..=50 {
                let cos = i as f32 / 50.0;
                let (c, d) = (conductor(cos, Vec3::splat(eta), Vec3::ZERO), dielectric(cos, eta));
                assert!((c - d).abs().max_element() < 2e-5, "η {eta}, cos {cos}: {c} and {d}");
            }
        }
    }

    #[test]
    fn conductor_matches_the_formula_at_normal_incidence() {
        // ((η − 1)² + k²) / ((η + 1)² + k²); gold in the red, silver, chromium.
        for (eta, k) in [(0.143f32, 3.983f32), (0.05, 4.2), (3.18, 3.3)] {
            let expected = ((eta - 1.0).powi(2) + k * k) / ((eta + 1.0).powi(2) + k * k);
            assert!((conductor(1.0, Vec3::splat(eta), Vec3::splat(k)).x - expected).abs() < 1e-5);
        }
    }

    #[test]
    fn conductor_reflectance_is_between_0_and_1() {
        for eta in [1e-4, 0.2, 1.0, 1e4] {
            for k in [0.0, 1e-3, 3.0, 200.0, 1e4] {
                for cos in [0.0, 1e-7, 1e-3, 0.5, 1.0] {
                    let r = conductor(cos, Vec3::splat(eta), Vec3::splat(k)).x;
                    assert!((-1e-6..=1.0 + 1e-6).contains(&r), "η {eta}, k {k}, cos {cos}: {r}");
                }
            }
        }
    }
}
