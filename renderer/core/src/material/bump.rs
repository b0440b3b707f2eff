//! Bump maps and normal maps, which perturb the shading frame of a surface.
//!
//! Conventions follow pbrt-v4 (`BumpMap` and `NormalMap` in `materials.h`). A displacement h moves
//! the surface along its shading normal n. The tangents of the displaced surface are
//! ∂p/∂u + ∂h/∂u n + h ∂n/∂u and its counterpart along v, where ∂h/∂u is a forward difference. A
//! normal map has normals in the shading frame, with y along the bitangent.
//!
//! Invariant: frames are orthonormal and right-handed, with normals on the side of the geometric
//! normal.

use super::ShaderNormal;
use crate::geometry::{Surface, SurfaceDerivatives};
use crate::texture::{Lookup, LookupNeeds, Param, Texels, WrapMode};
use lightbound_image::Image;
use lightbound_math::{Frame, Vec2, Vec3};
use std::sync::Arc;

/// A map of perturbations of the shading frame.
#[derive(Clone, Debug)]
pub enum BumpMap {
    /// Displacement along the shading normal, in units of render space.
    Displacement(Param),
    /// An image of normals n in the frame of tangent, bitangent and shading normal, stored as
    /// (n + 1) / 2 in linear RGB. It is repeated.
    Normals(Arc<Image>),
    /// A function of the material's shader.
    Shader(Arc<ShaderNormal>),
}

impl BumpMap {
    /// Returns what lookups of textures need.
    pub fn needs(&self) -> LookupNeeds {
        match self {
            BumpMap::Displacement(height) => height.needs(),
            BumpMap::Normals(_) => LookupNeeds::NONE,
            BumpMap::Shader(normal) => normal.needs(),
        }
    }

    /// Returns the perturbed shading frame of a surface with these derivatives. It is that of the
    /// surface where the perturbation is undefined. `bitangent_sign` is that of the
    /// [hit](crate::geometry::Geometry::bitangent_sign), and `positions` are those for shaders, in
    /// world space and in object space.
    pub fn frame(
        &self,
        surface: &Surface,
        bitangent_sign: f32,
        derivatives: &SurfaceDerivatives,
        lookup: &Lookup,
        positions: impl FnOnce() -> [Vec3; 2],
    ) -> Frame {
        let from_tangents = |n: Vec3| {
            let n = Vec3::new(n.x, bitangent_sign * n.y, n.z);
            (surface.frame.to_world(n), surface.frame.t)
        };
        let (n, tangent) = match self {
            BumpMap::Displacement(height) => {
                displaced_normal(height, &surface.frame, derivatives, lookup)
            }
            BumpMap::Normals(image) => {
                let size = (image.width(), image.height());
                let texels = Texels::new(size, WrapMode::Repeat, |x, y| image.rgb(x, y));
                // Rows start at the top, v at the bottom.
                let encoded = texels.bilinear(Vec2::new(lookup.uv.x, 1.0 - lookup.uv.y));
                from_tangents(2.0 * encoded - 1.0)
            }
            BumpMap::Shader(normal) => from_tangents(normal.at(surface, lookup, positions())),
        };
        let Some(n) = n.as_dvec3().try_normalize() else { return surface.frame };
        let n = n.as_vec3();
        let n = if n.dot(surface.ng) < 0.0 { -n } else { n };
        Frame::from_normal_tangent(n, tangent)
    }
}

/// Returns a normal of the displaced surface, not normalised and on either side, and a tangent along
/// u.
fn displaced_normal(
    height: &Param,
    frame: &Frame,
    d: &SurfaceDerivatives,
    lookup: &Lookup,
) -> (Vec3, Vec3) {
    let Frame { t, b, n } = *frame;
    let [u, v] = [d.dpdu, d.dpdv].map(|dp| dp - n * n.dot(dp));
    let (u, v) = if u == Vec3::ZERO || v == Vec3::ZERO { (t, b) } else { (u, v) };
    let h = height.float(lookup);
    let steps = lookup.footprint.steps();
    let displaced = |dp: Vec3, dn: Vec3, step: f32, axis: Vec2| {
        let shifted = height.float(&lookup.moved(step * dp, step * axis));
        dp + (shifted - h) / step * n + h * dn
    };
    let u = displaced(u, d.dndu, steps.x, Vec2::X);
    let v = displaced(v, d.dndv, steps.y, Vec2::Y);
    // Tangents may be tiny or huge.
    (u.normalize_or_zero().cross(v.normalize_or_zero()), u)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::{Geometry, Hit, Mesh, Primitive, Shape, Sphere};
    use crate::texture::{Footprint, ImageMap, Texture, TextureFilter};
    use glam::{DAffine3, DVec3};
    use lightbound_image::Channels;
    use lightbound_math::sampling::testing::points;
    use lightbound_math::sampling::warp::uniform_sphere;
    use lightbound_math::{Transform, vec2, vec3};

    /// Returns a geometry of one primitive.
    fn geometry(shape: Shape, flip: bool) -> Geometry {
        let primitive =
            Primitive { shape, material: 0, first_light: None, alpha: None, flip, media: None };
        Geometry { primitives: vec![primitive], world: 0..1, ..Geometry::default() }
    }

    /// Returns the surface at coordinates (u, v) of a primitive, its derivatives, and the frame
    /// with a bump map.
    fn bumped(geometry: &Geometry, (u, v): (f32, f32), map: &BumpMap) -> (Surface, Frame) {
        let hit = Hit { t: 1.0, u, v, primitive: 0, element: 0, ..Hit::MISS };
        let surface = geometry.surface(&hit, -Vec3::Z);
        let frame = map.frame(
            &surface,
            geometry.bitangent_sign(&hit),
            &geometry.derivatives(&hit, -Vec3::Z),
            &surface.lookup(),
            || [surface.p; 2],
        );
        (surface, frame)
    }

    /// Returns the displacement `slope.x` u + `slope.y` v, for u and v from 0 to 1.
    fn ramp(slope: Vec2) -> BumpMap {
        const SIZE: u32 = 4;
        // Texel centres are at half-integers of a grid that includes the ends.
        let at = |i: u32| (i as f32 - 0.5) / (SIZE - 2) as f32;
        let texels =
            (0..SIZE * SIZE).map(|i| slope.dot(vec2(at(i % SIZE), 1.0 - at(i / SIZE)))).collect();
        let image = Image::from_f32(SIZE, SIZE, Channels::Grey, texels);
        let scale = (SIZE - 2) as f32 / SIZE as f32;
        BumpMap::Displacement(Param::Texture(Arc::new(Texture::Image(ImageMap {
            image: Arc::new(image),
            mapping: crate::texture::Mapping::Uv {
                scale: Vec2::splat(scale),
                offset: Vec2::splat(0.5 * (1.0 - scale)),
            },
            value: crate::texture::ImageMapValue::Float,
            wrap: WrapMode::Clamp,
            filter: TextureFilter::Bilinear,
            scale: 1.0,
            invert: false,
        }))))
    }

    /// Returns a right triangle with legs of 2 along x and 3 along y, and uv of 0 to 1 along them;
    /// `mirrored` reverses u.
    fn triangle(mirrored: bool) -> Shape {
        let p = vec![Vec3::ZERO, 2.0 * Vec3::X, 3.0 * Vec3::Y];
        let (a, b) = if mirrored { (1.0, 0.0) } else { (0.0, 1.0) };
        let uv = vec![vec2(a, 0.0), vec2(b, 0.0), vec2(a, 1.0)];
        Shape::Mesh(Mesh::new(p, vec![[0, 1, 2]], vec![], uv).unwrap())
    }

    fn assert_near(found: Vec3, expected: Vec3, tolerance: f32) {
        assert!((found - expected).length() < tolerance, "{found} instead of {expected}");
    }

    fn assert_right_handed(frame: &Frame) {
        let Frame { t, b, n } = *frame;
        assert_near(t.cross(b), n, 1e-5);
        for axis in [t, b, n] {
            assert!((axis.length() - 1.0).abs() < 1e-6, "{axis}");
        }
    }

    #[test]
    fn linear_displacement_of_a_plane_tilts_its_normal() {
        let slope = vec2(0.8, -1.2);
        // Displacement is along the normal, and reversing u reverses its slope.
        for (flip, mirrored, tilt) in [
            (false, false, vec3(-0.4, 0.4, 1.0)),
            (true, false, vec3(-0.4, 0.4, -1.0)),
            (false, true, vec3(0.4, 0.4, 1.0)),
            (true, true, vec3(0.4, 0.4, -1.0)),
        ] {
            let (surface, frame) =
                bumped(&geometry(triangle(mirrored), flip), (0.3, 0.4), &ramp(slope));
            assert_near(frame.n, tilt.normalize(), 1e-3);
            assert_right_handed(&frame);
            assert!(frame.t.dot(surface.frame.t) > 0.5);
        }
    }

    #[test]
    fn displacement_of_a_sphere_has_the_normals_of_the_displaced_surface() {
        let sphere = Sphere::full(&Transform::IDENTITY, 1.5).unwrap();
        let geometry = geometry(Shape::Sphere(sphere), false);
        for slope in [vec2(0.0, 0.9), vec2(0.7, 0.0), vec2(-0.5, 0.6)] {
            for at in points(50, 3) {
                let (u, v) = (0.05 + 0.9 * at.x, 0.05 + 0.9 * at.y);
                let (surface, frame) = bumped(&geometry, (u, v), &ramp(slope));
                // The gradient of |p| − 1.5 − h(u, v), with u = φ/2π and v = 1 − θ/π or θ/π.
                let n = surface.p.normalize();
                let sin = n.truncate().length();
                let along_phi = vec3(-n.y, n.x, 0.0) / sin;
                let to_top = along_phi.cross(n) * -1.0;
                let hit = Hit { t: 1.0, u, v, primitive: 0, element: 0, ..Hit::MISS };
                let upwards = geometry.derivatives(&hit, -Vec3::Z).dpdv.dot(to_top).signum();
                let r = 1.5 + slope.dot(vec2(u, v));
                let pi = std::f32::consts::PI;
                let gradient = slope.x / (2.0 * pi * r * sin) * along_phi
                    + upwards * slope.y / (pi * r) * to_top;
                assert_near(frame.n, (n - gradient).normalize(), 2e-3);
                assert_right_handed(&frame);
            }
        }
    }

    #[test]
    fn normal_maps_have_normals_in_the_shading_frame() {
        let stored = vec3(0.25, 0.7, 0.9);
        let image = Image::from_f32(1, 1, Channels::Rgb, stored.to_array().into());
        let map = BumpMap::Normals(Arc::new(image));
        for (flip, mirrored) in [(false, false), (true, false), (false, true), (true, true)] {
            let (surface, frame) = bumped(&geometry(triangle(mirrored), flip), (0.3, 0.4), &map);
            let expected = surface.frame.to_world((2.0 * stored - 1.0).normalize());
            assert_near(frame.n, expected, 1e-6);
            assert_right_handed(&frame);
            let tangent = surface.frame.t - frame.n * frame.n.dot(surface.frame.t);
            assert_near(frame.t, tangent.normalize(), 1e-6);
        }
    }

    #[test]
    fn frames_stay_orthonormal_and_on_the_side_of_the_geometric_normal() {
        let mut random = points(20_000, 9).zip(points(20_000, 10));
        let mut vector = || {
            let (a, b) = random.next().unwrap();
            (uniform_sphere(a), b)
        };
        for i in 0..500 {
            let p: Vec<Vec3> = (0..3).map(|_| vector()).map(|(d, s)| d * s.x).collect();
            let n: Vec<Vec3> = (0..3).map(|_| vector().0).collect();
            let uv: Vec<Vec2> = (0..3).map(|_| vector().1).collect();
            let uv = if i % 7 == 0 { vec![uv[0]; 3] } else { uv };
            let mesh = Mesh::new(p, vec![[0, 1, 2]], n, uv).unwrap();
            let mirror = Transform::new(DAffine3::from_scale(DVec3::new(-1.0, 2.0, 0.5))).unwrap();
            let mesh = if i % 3 == 0 { mesh.transformed(&mirror).unwrap() } else { mesh };
            let geometry = geometry(Shape::Mesh(mesh), i % 2 == 0);
            let (stored, slope) = (0.5 + 0.5 * vector().0, 5.0 * vector().1);
            let image = Image::from_f32(1, 1, Channels::Rgb, stored.to_array().into());
            for map in [BumpMap::Normals(Arc::new(image)), ramp(slope)] {
                let (surface, frame) = bumped(&geometry, (0.3, 0.3), &map);
                assert_right_handed(&frame);
                assert!(frame.n.dot(surface.ng) >= 0.0, "{frame:?} {surface:?}");
            }
        }
    }

    #[test]
    fn undefined_normals_leave_the_surface_unchanged() {
        let geometry = geometry(triangle(false), false);
        for stored in [[0.5; 3], [f32::INFINITY, 0.5, 0.5]] {
            let image = Image::from_f32(1, 1, Channels::Rgb, stored.into());
            let map = BumpMap::Normals(Arc::new(image));
            let (surface, frame) = bumped(&geometry, (0.3, 0.4), &map);
            assert_eq!(frame, surface.frame);
        }
    }

    #[test]
    fn steps_follow_the_footprint() {
        // A step function, whose slope is its height over the step.
        let image = Image::from_f32(2, 1, Channels::Grey, vec![0.0, 1.0]);
        let map = BumpMap::Displacement(Param::Texture(Arc::new(Texture::Image(ImageMap {
            image: Arc::new(image),
            mapping: crate::texture::Mapping::UV,
            value: crate::texture::ImageMapValue::Float,
            wrap: WrapMode::Clamp,
            filter: TextureFilter::Point,
            scale: 1.0,
            invert: false,
        }))));
        let geometry = geometry(triangle(false), false);
        let hit = Hit { t: 1.0, u: 0.4, v: 0.3, primitive: 0, element: 0, ..Hit::MISS };
        let (surface, derivatives) =
            (geometry.surface(&hit, -Vec3::Z), geometry.derivatives(&hit, -Vec3::Z));
        for (step, tilted) in [(0.05, false), (0.2, true)] {
            let footprint = Footprint::new(
                [2.0 * step * derivatives.dpdu, Vec3::ZERO],
                derivatives.dpdu,
                derivatives.dpdv,
            );
            let lookup = Lookup { footprint, ..surface.lookup() };
            let n = map.frame(&surface, 1.0, &derivatives, &lookup, || [surface.p; 2]).n;
            let slope = if tilted { 1.0 / step / 2.0 } else { 0.0 };
            assert_near(n, vec3(-slope, 0.0, 1.0).normalize(), 1e-4);
        }
    }
}
