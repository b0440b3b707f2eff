//! Footprints of pixels on surfaces: the area over which textures are filtered, and the steps of
//! bump maps.
//!
//! Steps in texture coordinates follow from those of positions by least squares, as in pbrt-v4
//! (`SurfaceInteraction::ComputeDifferentials`).

use lightbound_math::{Vec2, Vec3};

/// The displacement of a texture lookup for steps of the film: to the right, and down.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Footprint {
    /// Displacement of the position, in render space.
    pub dp: [Vec3; 2],
    /// Displacement of the surface's texture coordinates.
    pub duv: [Vec2; 2],
}

/// Largest component of [`Footprint::duv`]; value from pbrt-v4.
const MAX_DUV: f64 = 1e8;

/// Step in texture coordinates for lookups without a footprint; value from pbrt-v4.
const POINT_STEP: f32 = 5e-4;

impl Footprint {
    /// The footprint of a point.
    pub const POINT: Footprint = Footprint { dp: [Vec3::ZERO; 2], duv: [Vec2::ZERO; 2] };

    /// Creates the footprint of displacements `dp` in the tangent plane, on a surface with the
    /// derivatives ∂p/∂u and ∂p/∂v. The displacement of texture coordinates is 0 where it is
    /// undefined.
    pub fn new(dp: [Vec3; 2], dpdu: Vec3, dpdv: Vec3) -> Footprint {
        let [u, v] = [dpdu, dpdv].map(Vec3::as_dvec3);
        let (uu, uv, vv) = (u.dot(u), u.dot(v), v.dot(v));
        let det = uu * vv - uv * uv;
        let duv = dp.map(|dp| {
            let [pu, pv] = [u, v].map(|axis| axis.dot(dp.as_dvec3()));
            let [du, dv] = [(vv * pu - uv * pv) / det, (uu * pv - uv * pu) / det]
                .map(|x| if x.is_finite() { x.clamp(-MAX_DUV, MAX_DUV) as f32 } else { 0.0 });
            Vec2::new(du, dv)
        });
        let dp = dp.map(|dp| if dp.is_finite() { dp } else { Vec3::ZERO });
        Footprint { dp, duv }
    }

    /// Returns the steps along u and v for differences of textures: half the size of the footprint,
    /// never 0.
    pub fn steps(&self) -> Vec2 {
        let step = 0.5 * (self.duv[0].abs() + self.duv[1].abs());
        Vec2::select(step.cmpeq(Vec2::ZERO), Vec2::splat(POINT_STEP), step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lightbound_math::{vec2, vec3};

    #[test]
    fn texture_coordinates_follow_positions_in_the_tangent_plane() {
        let (dpdu, dpdv) = (vec3(2.0, 1.0, 0.5), vec3(-1.0, 3.0, 0.0));
        let duv = [vec2(0.25, -0.5), vec2(1.5, 2.0)];
        let dp = duv.map(|d| d.x * dpdu + d.y * dpdv);
        let footprint = Footprint::new(dp, dpdu, dpdv);
        for (found, expected) in footprint.duv.into_iter().zip(duv) {
            assert!((found - expected).length() < 1e-6, "{found} {expected}");
        }
        assert_eq!(footprint.dp, dp);
        assert!((footprint.steps() - vec2(0.875, 1.25)).length() < 1e-6);
    }

    #[test]
    fn undefined_displacements_are_zero() {
        let none = Footprint::new([Vec3::X, Vec3::NAN], Vec3::ZERO, Vec3::Y);
        assert_eq!(none, Footprint { dp: [Vec3::X, Vec3::ZERO], duv: [Vec2::ZERO; 2] });
        assert_eq!(Footprint::POINT.steps(), Vec2::splat(5e-4));
        let huge = Footprint::new([Vec3::X, Vec3::Y], 1e-12 * Vec3::X, Vec3::Y);
        assert_eq!(huge.duv, [vec2(1e8, 0.0), Vec2::Y]);
    }
}
