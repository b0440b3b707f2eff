//! Normals of normal maps as values of textures, for layers whose normals differ from those of the
//! material, such as coats.

use lightbound_math::{Frame, Vec3};

/// The axes that normal maps refer to, in the shading frame of a material: tangent, bitangent and
/// normal of the surface, without the bump map of the material.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TangentFrame([Vec3; 3]);

impl TangentFrame {
    /// Creates the axes from the frame of a surface, with the
    /// [sign](crate::geometry::Geometry::bitangent_sign) of its bitangent, and the shading frame of
    /// its material.
    pub fn new(surface: &Frame, bitangent_sign: f32, shading: &Frame) -> TangentFrame {
        let Frame { t, b, n } = *surface;
        TangentFrame([t, bitangent_sign * b, n].map(|axis| shading.local_direction(axis)))
    }

    /// Converts a vector to the shading frame.
    fn to_shading(self, v: Vec3) -> Vec3 {
        let TangentFrame([t, b, n]) = self;
        v.x * t + v.y * b + v.z * n
    }
}

/// Decodes a normal that is stored as (n + 1) / 2, and returns it as a unit vector in the shading
/// frame; that of the shading frame where it is undefined. Without a tangent frame, both frames are
/// the same.
pub(super) fn decode(encoded: Vec3, frame: Option<TangentFrame>) -> Vec3 {
    let n = 2.0 * encoded - 1.0;
    let n = frame.map_or(n, |frame| frame.to_shading(n));
    n.try_normalize().unwrap_or(Vec3::Z)
}

/// Contains the components of decoded normals, which are unit vectors up to rounding.
pub(super) const RANGE: [Vec3; 2] = [Vec3::splat(-1.000_001), Vec3::splat(1.000_001)];

#[cfg(test)]
mod tests {
    use super::super::{Extents, Lookup, LookupNeeds, Param, Texture};
    use super::*;
    use lightbound_math::vec3;
    use std::sync::Arc;

    #[test]
    fn normals_are_converted_to_the_shading_frame() {
        let stored = Param::Constant(vec3(0.8, 0.5, 0.9));
        let texture = Texture::Normal(stored);
        let n = vec3(0.6, 0.0, 0.8);
        assert!((texture.eval(&Lookup::ORIGIN) - n).length() < 1e-6);
        let surface = Frame { t: Vec3::Y, b: -Vec3::X, n: Vec3::Z };
        let shading = Frame::from_normal_tangent(n, Vec3::X);
        for sign in [1.0, -1.0] {
            let frame = TangentFrame::new(&surface, sign, &shading);
            let at = Lookup { tangent_frame: Some(frame), ..Lookup::ORIGIN };
            for (encoded, world) in [
                (vec3(0.5, 0.5, 1.0), Vec3::Z),
                (vec3(1.0, 0.5, 0.5), Vec3::Y),
                (vec3(0.5, 1.0, 0.5), -sign * Vec3::X),
            ] {
                let found = Texture::Normal(Param::Constant(encoded)).eval(&at);
                let found = shading.to_world(found);
                assert!((found - world).length() < 1e-6, "{found} instead of {world}");
            }
        }
        let undefined = Texture::Normal(Param::Constant(Vec3::splat(0.5)));
        assert_eq!(undefined.eval(&Lookup::ORIGIN), Vec3::Z);
    }

    #[test]
    fn normals_need_the_tangent_frame_and_have_a_range() {
        let texture = Param::Texture(Arc::new(Texture::Normal(Param::Constant(Vec3::ONE))));
        let needs = LookupNeeds { tangent_frame: true, ..LookupNeeds::NONE };
        assert_eq!((texture.needs(), needs.at_point()), (needs, needs));
        assert_eq!(needs.union(LookupNeeds::NONE), needs);
        let [lo, hi] = Extents::default().of(&texture);
        let value = texture.rgb(&Lookup::ORIGIN);
        assert!(lo.cmple(value).all() && hi.cmpge(value).all() && hi.x < 1.001);
    }
}
