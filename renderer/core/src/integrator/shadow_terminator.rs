//! The softened shadow terminator of Chiang et al. 2019, *Taming the Shadow Terminator*.
//!
//! Shading normals that differ from the geometric normal cut off the cosine falloff of light where
//! the surface turns away from it, since directions above the shading normal's horizon may be below
//! the surface. The factor here falls to 0 at the surface's own horizon, smoothly. It is a part of
//! the BSDF, so it is the same for light samples and sampled directions.

use lightbound_math::Vec3;

/// Returns the factor on light from direction `wi`, in [0, 1]: G + G² − G³ with
/// G = cos θ_g / (cos θ_s cos θ), clamped to [0, 1]. θ_g and θ_s are the angles between `wi` and the
/// geometric normal `ng` and the shading normal `n`, and θ is that between the normals.
///
/// The normals are on the same side. Light that comes from below both is transmitted, and has the
/// factor of the opposite direction.
#[inline(always)]
pub(super) fn soft_factor(wi: Vec3, n: Vec3, ng: Vec3) -> f32 {
    let g = ng.dot(wi) / (n.dot(wi) * ng.dot(n));
    // NaN becomes 0.
    let g = if g > 0.0 { g.min(1.0) } else { 0.0 };
    (g * (1.0 + g * (1.0 - g))).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lightbound_math::sampling::testing::points;
    use lightbound_math::sampling::warp::uniform_sphere;
    use lightbound_math::vec3;

    #[test]
    fn factor_falls_smoothly_from_the_normals_to_the_horizon() {
        let (n, ng) = (vec3(0.6, 0.0, 0.8), Vec3::Z);
        let factor = |degrees: f32| {
            let (sin, cos) = libm::sincosf(degrees.to_radians());
            soft_factor(vec3(sin, 0.0, cos), n, ng)
        };
        // cos 60° / (cos 23.13° · 0.8) = 0.67962 at 60°.
        let g = 0.5f64 / (0.6 * 0.75f64.sqrt() + 0.8 * 0.5) / 0.8;
        let expected = g + g * g - g * g * g;
        assert!((f64::from(factor(60.0)) - expected).abs() < 1e-6, "{} {expected}", factor(60.0));
        assert_eq!([factor(-20.0), factor(0.0)], [1.0, 1.0]);
        assert_eq!([factor(90.5), factor(120.0)], [0.0, 0.0]);
        let falling = (36..=90).map(|i| factor(i as f32));
        assert!(falling.clone().zip(falling.skip(1)).all(|(a, b)| a >= b && a - b < 0.1));
    }

    #[test]
    fn factor_is_in_the_unit_interval_and_symmetric() {
        for (a, b) in points(5_000, 1).zip(points(5_000, 2)) {
            let (wi, n) = (uniform_sphere(a), uniform_sphere(b));
            let ng = if n.z < 0.0 { -Vec3::Z } else { Vec3::Z };
            let factor = soft_factor(wi, n, ng);
            assert!((0.0..=1.0).contains(&factor));
            assert_eq!(factor, soft_factor(-wi, n, ng));
            // Without a shading normal, nothing changes.
            assert!(soft_factor(wi, ng, ng) == 1.0);
        }
        assert_eq!(soft_factor(Vec3::X, Vec3::Z, Vec3::Z), 0.0);
    }
}
