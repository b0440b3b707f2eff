//! Bilinear interpolation between the corners of the unit square: pbrt-v4's `bilerp`.

use super::{Lookup, Mapping};
use lightbound_math::Vec3;

/// Values at the corners of the unit square of texture coordinates; extrapolated beyond it.
#[derive(Clone, Debug)]
pub struct Bilerp {
    /// Texture coordinates.
    pub mapping: Mapping,
    /// Values at (s, t) = (0, 0), (0, 1), (1, 0), (1, 1); pbrt's `v00`, `v01`, `v10`, `v11`.
    pub corners: [Vec3; 4],
}

impl Bilerp {
    /// Evaluates the texture as linear RGB.
    pub fn eval(&self, lookup: &Lookup) -> Vec3 {
        let st = self.mapping.st(lookup);
        let [v00, v01, v10, v11] = self.corners;
        (1.0 - st.x) * (1.0 - st.y) * v00
            + st.x * (1.0 - st.y) * v10
            + (1.0 - st.x) * st.y * v01
            + st.x * st.y * v11
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lightbound_math::Vec2;

    #[test]
    fn corners_are_interpolated_and_extrapolated() {
        let bilerp =
            Bilerp { mapping: Mapping::UV, corners: [1.0, 2.0, 4.0, 8.0].map(Vec3::splat) };
        let at = |u, v| bilerp.eval(&Lookup { uv: Vec2::new(u, v), ..Lookup::ORIGIN }).x;
        assert_eq!([at(0.0, 0.0), at(0.0, 1.0), at(1.0, 0.0), at(1.0, 1.0)], [1.0, 2.0, 4.0, 8.0]);
        assert_eq!([at(0.5, 0.5), at(0.25, 0.0), at(2.0, 0.0)], [3.75, 1.75, 7.0]);
    }
}
