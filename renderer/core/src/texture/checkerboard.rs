//! 2D and 3D checkerboards, as pbrt-v4's `checkerboard` without its filter.

use super::{Lookup, Mapping, Param};
use lightbound_math::{Transform, Vec3};

/// Unit cells that alternate between two textures.
#[derive(Clone, Debug)]
pub struct Checkerboard {
    /// The space of the cells.
    pub domain: CheckerboardDomain,
    /// Value in cells with an even sum of indices; pbrt's `tex1`.
    pub even: Param,
    /// Value in the other cells; pbrt's `tex2`.
    pub odd: Param,
}

/// The space of a checkerboard's cells.
#[derive(Clone, Debug)]
pub enum CheckerboardDomain {
    /// Texture coordinates.
    Flat(Mapping),
    /// 3D texture space, with the transform from render space.
    Solid(Transform),
}

impl Checkerboard {
    /// Evaluates the checkerboard as linear RGB.
    pub fn eval(&self, lookup: &Lookup) -> Vec3 {
        let odd = match &self.domain {
            CheckerboardDomain::Flat(mapping) => {
                let st = mapping.st(lookup);
                is_odd(st.x) ^ is_odd(st.y)
            }
            CheckerboardDomain::Solid(texture_from_render) => {
                let p = texture_from_render.point(lookup.p);
                is_odd(p.x) ^ is_odd(p.y) ^ is_odd(p.z)
            }
        };
        if odd { self.odd.rgb(lookup) } else { self.even.rgb(lookup) }
    }
}

/// Returns whether x is in an odd cell; false if x is NaN or infinite.
pub(super) fn is_odd(x: f32) -> bool {
    (x.floor() * 0.5).fract().abs() == 0.5
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DAffine3;
    use lightbound_math::Vec2;

    fn board(domain: CheckerboardDomain) -> impl Fn(Vec3) -> f32 {
        let board =
            Checkerboard { domain, even: Param::from_float(1.0), odd: Param::from_float(2.0) };
        move |p| board.eval(&Lookup { p, uv: Vec2::new(p.x, p.y), ..Lookup::ORIGIN }).x
    }

    #[test]
    fn cells_alternate_in_every_direction() {
        let flat = board(CheckerboardDomain::Flat(Mapping::UV));
        let solid = board(CheckerboardDomain::Solid(
            Transform::new(DAffine3::from_scale(glam::DVec3::splat(2.0))).unwrap(),
        ));
        for (x, y, z) in
            (-4..4).flat_map(|x| (-4..4).flat_map(move |y| (-4..4).map(move |z| (x, y, z))))
        {
            let p = Vec3::new(x as f32, y as f32, z as f32);
            for inside in [Vec3::ZERO, Vec3::splat(0.5), Vec3::splat(0.99)] {
                assert_eq!(flat(p + inside), [1.0, 2.0][((x + y) & 1) as usize], "{p}");
                assert_eq!(
                    solid(0.5 * (p + inside)),
                    [1.0, 2.0][((x + y + z) & 1) as usize],
                    "{p}"
                );
            }
        }
    }

    #[test]
    fn large_negative_and_invalid_coordinates_have_defined_parity() {
        assert_eq!(
            [-1.0, -0.5, -2.0, 1.5, 16777215.0].map(is_odd),
            [true, true, false, true, true]
        );
        assert_eq!([f32::NAN, f32::INFINITY, f32::MAX, -0.0].map(is_odd), [false; 4]);
    }
}
