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
    /// Creates a frame around the unit vector `n`; Duff et al. 2017, *Building an Orthonormal
    /// Basis, Revisited*.
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

    /// Creates a frame around the unit vector `n`, with `tangent` orthogonalised against `n`.
    ///
    /// Falls back to [`Frame::from_normal`] if `tangent` is (nearly) parallel to `n`, when only
    /// rounding errors would remain.
    #[inline(always)]
    pub fn from_normal_tangent(n: Vec3, tangent: Vec3) -> Frame {
        let projected = tangent - n * n.dot(tangent);
        let length2 = projected.length_squared();
        let inv_length = 1.0 / length2.sqrt();
        let is_usable = inv_length.is_finite() && length2 > 1e-6 * tangent.length_squared();
        if is_usable {
            let t = projected * inv_length;
            Frame { t, b: n.cross(t), n }
        } else {
            Frame::from_normal(n)
        }
    }

    /// Transforms a world-space unit vector to the frame, as shaders receive it.
    ///
    /// The result is renormalised, so that its squared length is 1 to within 2⁻²¹. Bounding shaders
    /// rely on this.
    ///
    /// For a nearly unit vector v, one Newton step approximates 1/√(v·v) without a square root or a
    /// division. With u = 2⁻²⁴, v·v has an error of 3u, the factor half of that plus u, and each
    /// product u, so that squares have an error of 7u. The step turns a deviation e of v·v from 1
    /// into ¾ e²; since e ≤ 2⁻¹², this is at most ¾ u.
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

    /// Transforms a vector from the frame to world space.
    #[inline(always)]
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
    fn local_directions_are_unit() {
        let f = Frame::from_normal_tangent(Vec3::new(0.48, -0.6, 0.64), Vec3::new(1.0, 2.0, 3.0));
        for (i, u) in points(20_000, 1).enumerate() {
            let scale = [1.0, 1.0 + 1e-6, 1.0 - 1e-4, 1.0 + 1.2e-4, 3.0][i % 5];
            let v = f.local_direction(uniform_sphere(u) * scale).as_dvec3();
            assert!((v.length_squared() - 1.0).abs() <= 2f64.powi(-21), "{v}");
        }
    }

    #[test]
    fn frames_are_orthonormal_and_right_handed() {
        for n in [Vec3::Z, -Vec3::Z, Vec3::X, Vec3::new(0.1, -0.7, -0.2).normalize()] {
            for f in
                [Frame::from_normal(n), Frame::from_normal_tangent(n, Vec3::new(1.0, 2.0, 3.0))]
            {
                assert!((f.t.cross(f.b) - f.n).length() < 1e-6, "{f:?}");
                let v = Vec3::new(0.3, -0.4, 0.5).normalize();
                assert!((f.to_world(f.local_direction(v)) - v).length() < 1e-6);
            }
        }
        let oblique = Vec3::new(1.0, 0.3, -0.4).normalize();
        for (n, tangent) in [
            (Vec3::Z, Vec3::Z),
            (oblique, oblique),
            (oblique, 3e-7 * oblique),
            (Vec3::Z, Vec3::ZERO),
        ] {
            let f = Frame::from_normal_tangent(n, tangent);
            assert!((f.t.cross(f.b) - n).length() < 1e-6, "{f:?}");
        }
    }
}
