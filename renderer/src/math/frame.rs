//! Orthonormal frames around a normal.

use super::Vec3;

/// A right-handed orthonormal frame; local `z` is the normal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frame {
    /// Tangent, local x.
    pub t: Vec3,
    /// Bitangent, local y; `n × t`.
    pub b: Vec3,
    /// Normal, local z.
    pub n: Vec3,
}

impl Frame {
    /// A frame around the unit vector `n`; Duff et al. 2017, *Building an Orthonormal Basis,
    /// Revisited*.
    #[inline(always)]
    pub fn from_normal(n: Vec3) -> Frame {
        let sign = 1f32.copysign(n.z);
        let a = -1.0 / (sign + n.z);
        let c = n.x * n.y * a;
        Frame {
            t: Vec3::new(1.0 + sign * n.x * n.x * a, sign * c, -sign * n.x),
            b: Vec3::new(c, sign + n.y * n.y * a, -n.y),
            n,
        }
    }

    /// A frame around the unit vector `n` whose tangent is `tangent` made orthogonal to it; any
    /// tangent where that fails, as it does along `n`: what is left of the tangent is rounding
    /// errors.
    #[inline(always)]
    pub fn from_normal_tangent(n: Vec3, tangent: Vec3) -> Frame {
        let across = tangent - n * n.dot(tangent);
        let length2 = across.length_squared();
        let per_length = 1.0 / length2.sqrt();
        let is_long = per_length.is_finite() && length2 > 1e-6 * tangent.length_squared();
        if is_long {
            let t = across * per_length;
            Frame { t, b: n.cross(t), n }
        } else {
            Frame::from_normal(n)
        }
    }

    /// A unit vector of the world in the frame, and what shaders are to be given for it: normalised
    /// again, so that its squared length is 1 to within 2⁻²¹, which bounds of shaders rely on.
    ///
    /// What is nearly unit takes a step of Newton's method for 1/√(v·v), which needs no root and no
    /// quotient. With u = 2⁻²⁴, v·v is off by 3u and the factor by half of that and u more, each
    /// product by u: squares by 7u. The step itself leaves ¾ e² of an error e in v·v, up to 2⁻¹²,
    /// which is ¾ u.
    #[inline(always)]
    pub fn local_direction(&self, w: Vec3) -> Vec3 {
        let v = Vec3::new(self.t.dot(w), self.b.dot(w), self.n.dot(w));
        let length2 = v.length_squared();
        if (length2 - 1.0).abs() < 1.0 / 4096.0 {
            v * (1.5 - 0.5 * length2)
        } else {
            v / length2.sqrt()
        }
    }

    /// Local to world.
    pub fn to_world(&self, v: Vec3) -> Vec3 {
        self.t * v.x + self.b * v.y + self.n * v.z
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampling::testing::points;
    use crate::sampling::warp::uniform_sphere;

    #[test]
    fn directions_that_shaders_get_are_unit() {
        let f = Frame::from_normal_tangent(Vec3::new(0.48, -0.6, 0.64), Vec3::new(1.0, 2.0, 3.0));
        for (i, u) in points(20_000, 1).enumerate() {
            let stretch = [1.0, 1.0 + 1e-6, 1.0 - 1e-4, 1.0 + 1.2e-4, 3.0][i % 5];
            let v = f.local_direction(uniform_sphere(u) * stretch).as_dvec3();
            assert!((v.length_squared() - 1.0).abs() <= 2f64.powi(-21), "{v}");
        }
    }

    #[test]
    fn orthonormal_and_right_handed() {
        for n in [Vec3::Z, -Vec3::Z, Vec3::X, Vec3::new(0.1, -0.7, -0.2).normalize()] {
            for f in
                [Frame::from_normal(n), Frame::from_normal_tangent(n, Vec3::new(1.0, 2.0, 3.0))]
            {
                assert!((f.t.cross(f.b) - f.n).length() < 1e-6, "{f:?}");
                let v = Vec3::new(0.3, -0.4, 0.5).normalize();
                assert!((f.to_world(f.local_direction(v)) - v).length() < 1e-6);
            }
        }
        let slanted = Vec3::new(1.0, 0.3, -0.4).normalize();
        for (n, tangent) in [
            (Vec3::Z, Vec3::Z),
            (slanted, slanted),
            (slanted, 3e-7 * slanted),
            (Vec3::Z, Vec3::ZERO),
        ] {
            let f = Frame::from_normal_tangent(n, tangent);
            assert!((f.t.cross(f.b) - n).length() < 1e-6, "{f:?}");
        }
    }
}
