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
    /// A frame around the unit vector `n`; Duff et al. 2017, *Building an Orthonormal Basis, Revisited*.
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

    /// A frame around the unit vector `n` whose tangent is `tangent` made orthogonal to it; any tangent where that fails, as it does along
    /// `n`: what is left of the tangent is rounding errors.
    pub fn from_normal_tangent(n: Vec3, tangent: Vec3) -> Frame {
        let across = tangent - n * n.dot(tangent);
        match across.try_normalize().filter(|_| across.length_squared() > 1e-6 * tangent.length_squared()) {
            Some(t) => Frame { t, b: n.cross(t), n },
            None => Frame::from_normal(n),
        }
    }

    /// A unit vector of the world in the frame, and what shaders are to be given for it: normalised again, so that its squared
    /// length is 1 to within 2⁻²¹, which bounds of shaders rely on.
    #[inline]
    pub fn local_direction(&self, w: Vec3) -> Vec3 {
        let v = Vec3::new(self.t.dot(w), self.b.dot(w), self.n.dot(w));
        v / v.length()
    }

    /// Local to world.
    pub fn to_world(&self, v: Vec3) -> Vec3 {
        self.t * v.x + self.b * v.y + self.n * v.z
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orthonormal_and_right_handed() {
        for n in [Vec3::Z, -Vec3::Z, Vec3::X, Vec3::new(0.1, -0.7, -0.2).normalize()] {
            for f in [Frame::from_normal(n), Frame::from_normal_tangent(n, Vec3::new(1.0, 2.0, 3.0))] {
                assert!((f.t.cross(f.b) - f.n).length() < 1e-6, "{f:?}");
                let v = Vec3::new(0.3, -0.4, 0.5).normalize();
                assert!((f.to_world(f.local_direction(v)) - v).length() < 1e-6);
            }
        }
        let slanted = Vec3::new(1.0, 0.3, -0.4).normalize();
        for (n, tangent) in [(Vec3::Z, Vec3::Z), (slanted, slanted), (slanted, 3e-7 * slanted), (Vec3::Z, Vec3::ZERO)] {
            let f = Frame::from_normal_tangent(n, tangent);
            assert!((f.t.cross(f.b) - n).length() < 1e-6, "{f:?}");
        }
    }
}
