//! Area lights: one element of a shape, with the same radiance in all directions. The radiance is
//! constant over the surface, or that of an image, and colours of vertices may scale it.
//!
//! A light is self-contained: it stores a copy of its element's vertices, so that sampling one of
//! millions of lights accesses no other memory. Triangles are sampled uniformly by solid angle, or
//! by area if they are far away; disks by area, and patches uniformly in (u, v), or in proportion
//! to an image over (u, v). Full spheres seen from outside are sampled by the cone of directions
//! that they subtend (Shirley et al. 1996, *Monte Carlo Techniques for Direct Lighting
//! Calculations*). Other spheres and cylinders are sampled uniformly by area before their transform.
//! [`AreaLight::pdf_li`] returns the exact density of these samples.

mod emission;
mod extent;
mod full_sphere;
mod image;
#[cfg(test)]
mod tests;
mod vertex_colours;

pub(crate) use emission::FAR_OFFSET_ULPS;
pub(super) use emission::{EmitterSample, SurfaceEmission};
pub use extent::EmitterPoint;
pub use image::EmissionImage;

use super::disk_light::DiskLight;
use super::triangle_light::TriangleLight;
use super::{Light, LightSample, abs_luminance};
use crate::geometry::{
    AttributeId, BilinearMesh, Cylinder, Disk, OFFSET_ULPS, Primitive, Shape, Sphere,
    render_position,
};
use crate::texture::{Lookup, Param};
use full_sphere::FullSphere;
use glam::DVec3;
use lightbound_math::sampling::warp::uniform_cone_pdf;
use lightbound_math::{Ray, Vec2, Vec3};
use std::f32::consts::PI;
use std::sync::Arc;
use vertex_colours::VertexColours;

/// An area light: one emissive element of a primitive, in render space.
#[derive(Clone, Debug)]
pub struct AreaLight {
    shape: EmitterShape,
    /// Emitted radiance; with an image or colours of vertices, the factor of their values.
    le: Vec3,
    area: f32,
    /// Minimum distance between the surface and the end of shadow rays from nearby. Like
    /// [`crate::geometry::Surface::offset`], but constant over the element.
    offset: f32,
    two_sided: bool,
    flip: bool,
    /// Whether rays never hit the surface, although it emits: the meaning of a constant alpha of 0
    /// on a light in pbrt.
    is_invisible: bool,
    /// What varies over the surface, if anything does.
    textures: Option<Box<EmitterTextures>>,
}

#[derive(Clone, Debug)]
enum EmitterShape {
    Triangle(TriangleLight),
    Patch(Box<BilinearMesh>),
    Sphere { sphere: Box<Sphere>, full: Option<FullSphere> },
    Disk(Box<DiskEmitter>),
    Cylinder(Box<Cylinder>),
}

/// A disk, ring or sector.
#[derive(Clone, Debug)]
struct DiskEmitter {
    disk: Disk,
    /// `None` for rings and sectors.
    full: Option<DiskLight>,
}

/// Textures over an element.
#[derive(Clone, Debug)]
struct EmitterTextures {
    /// The element, in render space.
    shape: Shape,
    /// For an instance, the element in the space of its group, and the origin of render space.
    group: Option<(Shape, DVec3)>,
    /// Opacity; `None` is opaque.
    alpha: Option<Param>,
    /// Radiance, before it is multiplied by that of the light; `None` is 1.
    image: Option<Arc<EmissionImage>>,
    /// Another factor of the radiance, on a triangle; `None` is 1.
    colours: Option<VertexColours>,
}

impl EmitterTextures {
    /// Creates the textures of an element that has none.
    fn new(primitive: &Primitive, element: u32) -> EmitterTextures {
        let shape = primitive.shape.extract(element);
        EmitterTextures { shape, group: None, alpha: None, image: None, colours: None }
    }

    /// Returns the point for lookups at a position with unit normal `n`, from a ray of length
    /// `reach` from either side of the surface. Also returns the barycentric weights of vertices 1
    /// and 2, if the element is a triangle.
    fn lookup(&self, p: Vec3, n: Vec3, reach: f32) -> Option<(Lookup<'_>, Vec2)> {
        let ray = Ray { tmax: 2.0, ..Ray::new(p + reach * n, -reach * n) };
        let hit = self.shape.intersect(0, &ray)?;
        let (shape, origin) = match &self.group {
            Some((shape, origin)) => (shape, *origin),
            None => (&self.shape, DVec3::ZERO),
        };
        let at = shape.point(0, hit.coordinates(), ray.d, ray.time);
        let attributes = shape.attribute_point(0, hit.coordinates());
        let lookup = Lookup::at_point(render_position(at.p, origin), at.ng, at.uv);
        let [u, v, _] = hit.coordinates();
        Some((Lookup { attributes, ..lookup }, Vec2::new(u, v)))
    }

    /// Returns the opacity.
    fn opacity(&self, lookup: &Lookup) -> f32 {
        self.alpha.as_ref().map_or(1.0, |alpha| alpha.float(lookup).clamp(0.0, 1.0))
    }

    /// Returns the factor of the radiance without the opacity.
    fn emission(&self, uv: Vec2, weights: Vec2) -> Vec3 {
        let image = self.image.as_ref().map_or(Vec3::ONE, |image| image.at(uv));
        image * self.colours.map_or(Vec3::ONE, |colours| colours.at(weights))
    }
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
            Shape::Disk(d) => {
                let (n, inverse_area) = (d.normal(), 1.0 / shape.area(element));
                let full = d.full_frame().map(|frame| DiskLight { frame, n, inverse_area });
                let emitter = DiskEmitter { disk: d.clone(), full };
                (EmitterShape::Disk(Box::new(emitter)), d.magnitude())
            }
            Shape::Cylinder(c) => (EmitterShape::Cylinder(Box::new(c.clone())), c.magnitude()),
            Shape::Curves(_) | Shape::Implicit(_) | Shape::Displaced(_) => {
                unreachable!("these shapes never emit")
            }
        };
        let alpha = match &primitive.alpha {
            None => None,
            Some(Param::Constant(a)) if a.x >= 1.0 || a.x <= 0.0 => None,
            Some(alpha) => Some(alpha.clone()),
        };
        let is_invisible = matches!(&primitive.alpha, Some(Param::Constant(a)) if a.x <= 0.0);
        let textures = alpha.map(|alpha| {
            Box::new(EmitterTextures {
                alpha: Some(alpha),
                ..EmitterTextures::new(primitive, element)
            })
        });
        let (area, offset) = (shape.area(element), OFFSET_ULPS * magnitude);
        let flip = primitive.flip;
        AreaLight { shape: emitter, le, area, offset, two_sided, flip, is_invisible, textures }
    }

    /// Multiplies the radiance by an image, over the texture coordinates of the surface.
    /// `primitive` and `element` are those that the light was created for.
    pub fn with_image(
        mut self,
        primitive: &Primitive,
        element: u32,
        image: Arc<EmissionImage>,
    ) -> AreaLight {
        self.textures_of(primitive, element).image = Some(image);
        self
    }

    /// Multiplies the radiance by an attribute of vertices, if the primitive has it. `primitive` and
    /// `element` are those that the light was created for.
    pub fn with_vertex_colours(
        mut self,
        primitive: &Primitive,
        element: u32,
        id: AttributeId,
    ) -> AreaLight {
        if let Some(colours) = primitive.shape.attribute_of(element, id) {
            self.textures_of(primitive, element).colours = Some(VertexColours::new(colours));
        }
        self
    }

    fn textures_of(&mut self, primitive: &Primitive, element: u32) -> &mut EmitterTextures {
        let new = || Box::new(EmitterTextures::new(primitive, element));
        self.textures.get_or_insert_with(new)
    }

    /// Evaluates the alpha mask in the space of a group, as
    /// [rays](crate::geometry::Geometry::passes_alpha_test) do that hit an instance of it.
    /// `group_primitive` and `element` are the light's surface in the group, and `origin` is that
    /// of render space.
    pub fn with_textures_of_group(
        mut self,
        group_primitive: &Primitive,
        element: u32,
        origin: DVec3,
    ) -> AreaLight {
        if let Some(textures) = &mut self.textures {
            textures.group = Some((group_primitive.shape.extract(element), origin));
        }
        self
    }

    /// Returns a light with the same emission from another surface, the first element of `primitive`.
    pub(super) fn moved_to(&self, primitive: &Primitive) -> AreaLight {
        let mut light = AreaLight::new(primitive, 0, self.le, self.two_sided);
        if let Some(EmitterTextures { image, colours, .. }) = self.textures.as_deref()
            && (image.is_some() || colours.is_some())
        {
            let textures = light.textures_of(primitive, 0);
            (textures.image, textures.colours) = (image.clone(), *colours);
        }
        light
    }

    /// Returns the radiance emitted towards `wo` at a point with front normal `ng` (as
    /// [`crate::geometry::Surface::ng`]), texture coordinates `uv`, and the
    /// [weights](crate::geometry::Hit::weights) of vertices.
    pub fn radiance(&self, ng: Vec3, (uv, weights): (Vec2, Vec2), wo: Vec3) -> Vec3 {
        if !self.two_sided && ng.dot(wo) <= 0.0 {
            return Vec3::ZERO;
        }
        self.textures.as_ref().map_or(self.le, |textures| self.le * textures.emission(uv, weights))
    }

    fn image(&self) -> Option<&EmissionImage> {
        self.textures.as_ref()?.image.as_deref()
    }

    /// Returns the density per steradian with which [`Light::sample_li`] samples the direction `wi`
    /// at `from`. The ray must hit the light at `distance`, where the unit geometric normal is `ng`
    /// (of either side).
    pub fn pdf_li(&self, from: Vec3, wi: Vec3, distance: f32, ng: Vec3) -> f32 {
        if self.is_invisible {
            return 0.0;
        }
        let area_pdf = match &self.shape {
            EmitterShape::Triangle(triangle) => return triangle.pdf(from, wi, distance),
            EmitterShape::Disk(_) => 1.0 / self.area,
            EmitterShape::Cylinder(cylinder) => cylinder.area_pdf(ng),
            EmitterShape::Patch(patch) => {
                match patch.patch(0).area_pdf(&Ray::new(from, wi), distance) {
                    None => 0.0,
                    Some((uv, pdf)) => pdf * self.sampled_image().map_or(1.0, |i| i.pdf(uv)),
                }
            }
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

    /// Returns the triangle and its emission, if the light is a visible triangle without textures.
    pub(super) fn triangle(
        &self,
        front: Option<bool>,
    ) -> Option<(&TriangleLight, SurfaceEmission)> {
        match (&self.shape, &self.textures) {
            (EmitterShape::Triangle(triangle), None) if !self.is_invisible => {
                Some((triangle, self.emission(front)))
            }
            _ => None,
        }
    }

    /// Like [`AreaLight::triangle`], for a full disk.
    pub(super) fn disk(&self, front: Option<bool>) -> Option<(&DiskLight, SurfaceEmission)> {
        match (&self.shape, &self.textures) {
            (EmitterShape::Disk(emitter), None) if !self.is_invisible => {
                emitter.full.as_ref().map(|disk| (disk, self.emission(front)))
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
        let radiance = radiance * self.texture_emission(at, n);
        if radiance == Vec3::ZERO {
            return None;
        }
        let target = Some(target);
        Some(match self.is_invisible {
            true => LightSample { wi, target, radiance: radiance / pdf, pdf: 1.0, delta: true },
            false => LightSample { wi, target, radiance, pdf, delta: false },
        })
    }

    /// Returns the image that determines the density of samples, if there is one: that of a patch
    /// whose texture coordinates are (u, v).
    fn sampled_image(&self) -> Option<&EmissionImage> {
        match &self.shape {
            EmitterShape::Patch(patch) if patch.has_default_uvs(0) => self.image(),
            _ => None,
        }
    }

    /// Samples a point on the surface.
    fn sample_surface(&self, from: Vec3, u: Vec2) -> EmitterSample {
        if let Some(image) = self.sampled_image() {
            let (uv, density) = image.sample(u);
            let (p, n, area_pdf) = self.map(uv);
            return EmitterSample::seen_from(from, (p, n, density * area_pdf));
        }
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
    /// textures.
    pub fn as_full_sphere(&self) -> Option<(Vec3, f32)> {
        let is_simple = !self.two_sided && !self.flip && self.textures.is_none();
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

    /// Returns the maximum of the emitted radiance in each channel, W·sr⁻¹·m⁻²; with an image, that
    /// of the entire image.
    pub fn max_radiance(&self) -> Vec3 {
        self.scaled_radiance(EmissionImage::max, VertexColours::max)
    }

    /// Returns the mean of the emitted radiance, W·sr⁻¹·m⁻²; with an image, for the mean of the entire
    /// image.
    pub fn mean_radiance(&self) -> Vec3 {
        self.scaled_radiance(EmissionImage::mean, VertexColours::mean)
    }

    fn scaled_radiance(
        &self,
        of_image: fn(&EmissionImage) -> Vec3,
        of_vertices: fn(&VertexColours) -> Vec3,
    ) -> Vec3 {
        let Some(EmitterTextures { image, colours, .. }) = self.textures.as_deref() else {
            return self.le;
        };
        let le = image.as_deref().map_or(self.le, |image| self.le * of_image(image));
        colours.as_ref().map_or(le, |colours| le * of_vertices(colours))
    }

    /// Maps `u` in the unit square to a position on the surface. Also returns the unit normal of
    /// the front, before `flip` is applied, and the density per m² for uniform `u`.
    fn map(&self, u: Vec2) -> (Vec3, Vec3, f32) {
        match &self.shape {
            EmitterShape::Triangle(triangle) => triangle.map(u),
            EmitterShape::Patch(patch) => {
                let at = patch.point(0, u.x, u.y, 0.0);
                let n = if at.ns.dot(at.ng) < 0.0 { -at.ng } else { at.ng };
                (at.p, n, 1.0 / patch.patch(0).jacobian(u.x, u.y))
            }
            EmitterShape::Disk(emitter) => match &emitter.full {
                Some(full) => full.map(u),
                None => {
                    let disk = &emitter.disk;
                    (disk.sample_area(u), disk.normal(), 1.0 / self.area)
                }
            },
            EmitterShape::Sphere { sphere, .. } => sphere.sample_area(u),
            EmitterShape::Cylinder(cylinder) => cylinder.sample_area(u),
        }
    }

    /// Returns the factor of the radiance at a point with unit normal `n`: the values of textures
    /// times the opacity.
    fn texture_emission(&self, p: Vec3, n: Vec3) -> Vec3 {
        let Some(textures) = &self.textures else { return Vec3::ONE };
        let found = textures.lookup(p, n, 8.0 * self.offset);
        found.map_or(Vec3::ZERO, |(lookup, weights)| {
            textures.opacity(&lookup) * textures.emission(lookup.uv, weights)
        })
    }
}

impl Light for AreaLight {
    fn sample_li(&self, p: Vec3, u: Vec2) -> Option<LightSample> {
        self.sample(p, &self.sample_surface(p, u), self.emission(None))
    }

    fn power(&self, _scene_radius: f32) -> f32 {
        (if self.two_sided { 2.0 } else { 1.0 })
            * PI
            * self.area
            * abs_luminance(self.mean_radiance())
    }
}
