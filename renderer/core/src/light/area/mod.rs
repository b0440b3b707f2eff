//! Area lights: one element of a shape, with constant radiance over its surface and in all
//! directions.
//!
//! A light is self-contained: it stores a copy of its element's vertices, so that sampling one of
//! millions of lights accesses no other memory. Triangles are sampled uniformly by solid angle, or
//! by area if they are far away; disks by area, and patches uniformly in (u, v). Full spheres seen
//! from outside are sampled by the cone of directions that they subtend (Shirley et al. 1996,
//! *Monte Carlo Techniques for Direct Lighting Calculations*). Other spheres and cylinders are
//! sampled uniformly by area before their transform.
//! [`AreaLight::pdf_li`] returns the exact density of these samples.

mod emission;
mod extent;
mod full_sphere;
#[cfg(test)]
mod tests;

pub(crate) use emission::FAR_OFFSET_ULPS;
pub(super) use emission::{EmitterSample, SurfaceEmission};
pub use extent::EmitterPoint;

use super::triangle_light::TriangleLight;
use super::{Light, LightSample, abs_luminance};
use crate::geometry::{
    BilinearMesh, Cylinder, Disk, OFFSET_ULPS, Primitive, Shape, Sphere, render_position,
};
use crate::texture::{Lookup, Param};
use full_sphere::FullSphere;
use glam::DVec3;
use lightbound_math::sampling::warp::uniform_cone_pdf;
use lightbound_math::{Ray, Vec2, Vec3};
use std::f32::consts::PI;

/// An area light: one emissive element of a primitive, in render space.
#[derive(Clone, Debug)]
pub struct AreaLight {
    shape: EmitterShape,
    le: Vec3,
    area: f32,
    /// Minimum distance between the surface and the end of shadow rays from nearby. Like
    /// [`crate::geometry::Surface::offset`], but constant over the element.
    offset: f32,
    two_sided: bool,
    flip: bool,
    opacity: Opacity,
}

#[derive(Clone, Debug)]
enum EmitterShape {
    Triangle(TriangleLight),
    Patch(Box<BilinearMesh>),
    Sphere { sphere: Box<Sphere>, full: Option<FullSphere> },
    Disk(Box<Disk>),
    Cylinder(Box<Cylinder>),
}

/// Opacity of a light's surface.
#[derive(Clone, Debug)]
enum Opacity {
    Opaque,
    /// A texture over the element.
    Masked(Box<AlphaMask>),
    /// Rays never hit the surface, but it emits: the meaning of a constant alpha of 0 on a light in
    /// pbrt.
    Invisible,
}

/// A texture of opacities over an element.
#[derive(Clone, Debug)]
struct AlphaMask {
    /// The element, in render space.
    shape: Shape,
    alpha: Param,
    /// For an instance, the element in the space of its group, and the origin of render space.
    group: Option<(Shape, DVec3)>,
}

impl AreaLight {
    /// Creates the light of `element` of `primitive`. It emits the radiance `le`, W·sr⁻¹·m⁻², from
    /// the front or from both sides.
    ///
    /// The front is the side of [`crate::geometry::Surface::ng`]. In pbrt's power convention, the
    /// luminance of `le` is the power divided by π times the area ([`Shape::area`]), or by 2π times
    /// the area for two sides.
    pub fn new(primitive: &Primitive, element: u32, le: Vec3, two_sided: bool) -> AreaLight {
        let shape = &primitive.shape;
        let (emitter, magnitude) = match shape {
            Shape::Mesh(m) => {
                let vertices = m.vertices(element);
                let n = m.face_normal(element);
                let facing = m
                    .vertex_normals(element)
                    .map_or(Vec3::ONE, |ns| Vec3::from_array(ns.map(|v| v.dot(n))));
                let inverse_area = 1.0 / m.area(element);
                (
                    EmitterShape::Triangle(TriangleLight { vertices, n, facing, inverse_area }),
                    shape.aabb(element).magnitude(),
                )
            }
            Shape::Bilinear(b) => {
                (EmitterShape::Patch(Box::new(b.extract(element))), shape.aabb(element).magnitude())
            }
            Shape::Sphere(s) => {
                let full = s.as_full_sphere().map(|(center, radius)| FullSphere { center, radius });
                (EmitterShape::Sphere { sphere: Box::new(s.clone()), full }, s.magnitude())
            }
            Shape::Disk(d) => (EmitterShape::Disk(Box::new(d.clone())), d.magnitude()),
            Shape::Cylinder(c) => (EmitterShape::Cylinder(Box::new(c.clone())), c.magnitude()),
            Shape::Curves(_) => unreachable!("curves never emit"),
        };
        let opacity = match &primitive.alpha {
            None => Opacity::Opaque,
            Some(Param::Constant(a)) if a.x >= 1.0 => Opacity::Opaque,
            Some(Param::Constant(a)) if a.x <= 0.0 => Opacity::Invisible,
            Some(alpha) => Opacity::Masked(Box::new(AlphaMask {
                shape: shape.extract(element),
                alpha: alpha.clone(),
                group: None,
            })),
        };
        let (area, offset) = (shape.area(element), OFFSET_ULPS * magnitude);
        AreaLight { shape: emitter, le, area, offset, two_sided, flip: primitive.flip, opacity }
    }

    /// Evaluates the alpha mask in the space of a group, as
    /// [rays](crate::geometry::Geometry::passes_alpha_test) do that hit an instance of it.
    /// `group_primitive` and `element` are the light's surface in the group, and `origin` is that
    /// of render space.
    pub fn with_mask_of_group(
        mut self,
        group_primitive: &Primitive,
        element: u32,
        origin: DVec3,
    ) -> AreaLight {
        if let Opacity::Masked(mask) = &mut self.opacity {
            mask.group = Some((group_primitive.shape.extract(element), origin));
        }
        self
    }

    /// Returns the radiance emitted towards `wo` at a point with front normal `ng` (as
    /// [`crate::geometry::Surface::ng`]).
    pub fn radiance(&self, ng: Vec3, wo: Vec3) -> Vec3 {
        if self.two_sided || ng.dot(wo) > 0.0 { self.le } else { Vec3::ZERO }
    }

    /// Returns the density per steradian with which [`Light::sample_li`] samples the direction `wi`
    /// at `from`. The ray must hit the light at `distance`, where the unit geometric normal is `ng`
    /// (of either side).
    pub fn pdf_li(&self, from: Vec3, wi: Vec3, distance: f32, ng: Vec3) -> f32 {
        if matches!(self.opacity, Opacity::Invisible) {
            return 0.0;
        }
        let area_pdf = match &self.shape {
            EmitterShape::Triangle(triangle) => return triangle.pdf(from, wi, distance),
            EmitterShape::Disk(_) => 1.0 / self.area,
            EmitterShape::Cylinder(cylinder) => cylinder.area_pdf(ng),
            EmitterShape::Patch(patch) => patch.patch(0).area_pdf(&Ray::new(from, wi), distance),
            EmitterShape::Sphere { sphere, full } => {
                match full.as_ref().and_then(|b| b.cone(from, self.offset)) {
                    // Only the near side of the sphere is sampled.
                    Some((center, _)) if wi.dot(from + wi * distance - center) > 0.0 => return 0.0,
                    Some((_, one_minus_cos)) => return uniform_cone_pdf(one_minus_cos),
                    None => sphere.area_pdf(ng),
                }
            }
        };
        area_pdf * distance * distance / ng.dot(wi).abs()
    }

    /// Samples only the front or only the back of a two-sided light; otherwise like
    /// [`Light::sample_li`].
    pub fn sample_side(&self, p: Vec3, u: Vec2, front: bool) -> Option<LightSample> {
        self.sample(p, &self.sample_surface(p, u), self.emission(Some(front)))
    }

    /// Returns the light's emission. `front` restricts a two-sided light to its front or its back.
    fn emission(&self, front: Option<bool>) -> SurfaceEmission {
        let side = if self.flip { -1.0 } else { 1.0 };
        let (side, two_sided) = match front {
            Some(front) if self.two_sided => (if front { side } else { -side }, false),
            _ => (side, self.two_sided),
        };
        SurfaceEmission { le: self.le, offset: self.offset, side, two_sided }
    }

    /// Returns the triangle and its emission, if the light is a triangle without an alpha mask.
    pub(super) fn triangle(
        &self,
        front: Option<bool>,
    ) -> Option<(&TriangleLight, SurfaceEmission)> {
        match (&self.shape, &self.opacity) {
            (EmitterShape::Triangle(triangle), Opacity::Opaque) => {
                Some((triangle, self.emission(front)))
            }
            _ => None,
        }
    }

    /// Returns the incident light at `p` from a sampled point.
    fn sample(
        &self,
        p: Vec3,
        sample: &EmitterSample,
        emission: SurfaceEmission,
    ) -> Option<LightSample> {
        let &EmitterSample { p: at, n, wi, pdf } = sample;
        let (radiance, target) = emission.incident(p, sample);
        let radiance = radiance * self.opacity(at, n);
        if radiance == Vec3::ZERO {
            return None;
        }
        let target = Some(target);
        Some(match self.opacity {
            Opacity::Invisible => {
                LightSample { wi, target, radiance: radiance / pdf, pdf: 1.0, delta: true }
            }
            _ => LightSample { wi, target, radiance, pdf, delta: false },
        })
    }

    /// Samples a point on the surface.
    fn sample_surface(&self, from: Vec3, u: Vec2) -> EmitterSample {
        match &self.shape {
            EmitterShape::Triangle(triangle) => return triangle.sample(from, u),
            EmitterShape::Sphere { full: Some(sphere), .. } => {
                if let Some((_, one_minus_cos)) = sphere.cone(from, self.offset) {
                    return sphere.sample_cone(from, one_minus_cos, u);
                }
            }
            _ => {}
        }
        EmitterSample::seen_from(from, self.map(u))
    }

    /// Returns whether both sides emit.
    pub fn is_two_sided(&self) -> bool {
        self.two_sided
    }

    /// Returns the minimum distance between the surface and the end of shadow rays from nearby.
    pub fn offset(&self) -> f32 {
        self.offset
    }

    /// Returns centre and radius, if the light is a full sphere that emits only outwards and has no
    /// alpha mask.
    pub fn as_full_sphere(&self) -> Option<(Vec3, f32)> {
        let is_simple =
            !self.two_sided && !self.flip && !matches!(self.opacity, Opacity::Masked(_));
        match &self.shape {
            EmitterShape::Sphere { full: Some(sphere), .. } if is_simple => {
                Some((sphere.center, sphere.radius))
            }
            _ => None,
        }
    }

    /// Returns whether the surface is a sphere, an ellipsoid, a cylinder or a part of one, which
    /// faces many directions.
    pub fn is_curved(&self) -> bool {
        matches!(self.shape, EmitterShape::Sphere { .. } | EmitterShape::Cylinder(_))
    }

    /// Returns the emitted radiance, W·sr⁻¹·m⁻².
    pub fn le(&self) -> Vec3 {
        self.le
    }

    /// Maps `u` in the unit square to a position on the surface. Also returns the unit normal of
    /// the front, before `flip` is applied, and the density per m² for uniform `u`.
    fn map(&self, u: Vec2) -> (Vec3, Vec3, f32) {
        match &self.shape {
            EmitterShape::Triangle(triangle) => triangle.map(u),
            EmitterShape::Patch(patch) => {
                let at = patch.point(0, u.x, u.y);
                let n = if at.ns.dot(at.ng) < 0.0 { -at.ng } else { at.ng };
                (at.p, n, 1.0 / patch.patch(0).jacobian(u.x, u.y))
            }
            EmitterShape::Disk(disk) => (disk.sample_area(u), disk.normal(), 1.0 / self.area),
            EmitterShape::Sphere { sphere, .. } => sphere.sample_area(u),
            EmitterShape::Cylinder(cylinder) => cylinder.sample_area(u),
        }
    }

    /// Returns the opacity of the surface at a point with unit normal `n`.
    fn opacity(&self, p: Vec3, n: Vec3) -> f32 {
        let Opacity::Masked(mask) = &self.opacity else { return 1.0 };
        // Trace a short ray through the surface to find the point's (u, v).
        let reach = 8.0 * self.offset;
        let ray = Ray { tmax: 2.0, ..Ray::new(p + reach * n, -reach * n) };
        let Some(hit) = mask.shape.intersect(0, &ray) else { return 0.0 };
        let (shape, origin) = match &mask.group {
            Some((shape, origin)) => (shape, *origin),
            None => (&mask.shape, DVec3::ZERO),
        };
        let at = shape.point(0, hit.u, hit.v, ray.d);
        let lookup = Lookup { p: render_position(at.p, origin), n: at.ng, uv: at.uv };
        mask.alpha.float(&lookup).clamp(0.0, 1.0)
    }
}

impl Light for AreaLight {
    fn sample_li(&self, p: Vec3, u: Vec2) -> Option<LightSample> {
        self.sample(p, &self.sample_surface(p, u), self.emission(None))
    }

    fn power(&self, _scene_radius: f32) -> f32 {
        (if self.two_sided { 2.0 } else { 1.0 }) * PI * self.area * abs_luminance(self.le)
    }
}
