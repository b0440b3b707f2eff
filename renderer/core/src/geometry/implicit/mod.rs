//! Implicit surfaces: the zeros of a field in a box. The field is a function in WGSL,
//! `fn field(p: vec3f, m: Params) -> f32`.
//!
//! The element of an implicit surface is a cell of its box ([`field`]). Cells in which bounds prove
//! that the field has one sign are left out, so the acceleration structure skips empty space. The
//! ray test ([`search`]) finds the first change of sign between adjacent floats. Normals are
//! gradients, from forward-mode derivatives of the field; they point to where the field is positive,
//! the outside.

mod check;
mod field;
mod search;
#[cfg(test)]
mod tests;

use super::quadric::ObjectTransform;
use super::{ShapeHit, ShapePoint, SurfaceDerivatives};
use field::{Field, FieldScratch};
use glam::DVec3;
use lightbound_math::{Aabb, Ray, Transform, Vec2, Vec3};
use lightbound_shader::{Settings, Shader};
use search::{LocalRay, Root};
use std::sync::Arc;

pub use check::RootCheck;
pub use field::ImplicitError;

/// The zeros of a field in a box, with a transform of their own. It never emits.
///
/// Surface coordinates are the position in object space. Texture coordinates are x and y, from 0 to
/// 1 over the box.
#[derive(Clone, Debug)]
pub struct Implicit {
    field: Arc<Field>,
    object_transform: ObjectTransform,
    /// Largest absolute coordinate of the box in the parent space.
    magnitude: f32,
    /// Largest clearance.
    max_clearance: f32,
}

/// Half the size of the box, in ulps of its largest coordinate, over which the field near a hit is
/// bounded to find its rounding error.
const ERROR_ULPS: f32 = 2.0;

/// Largest clearance, relative to the size of the box.
const MAX_CLEARANCE: f32 = 1e-3;

impl Implicit {
    /// Compiles the field of a shader for the words of its parameters, in a box of object space.
    ///
    /// # Errors
    /// If the shader is no field, reads textures, cannot be compiled, or has no derivative.
    ///
    /// # Panics
    /// Unless there is one word for each component of the parameters.
    pub fn new(
        shader: &Shader,
        settings: &Settings,
        parameters: &[u32],
        bounds: Aabb,
        transform: &Transform,
    ) -> Result<Implicit, ImplicitError> {
        let field = Arc::new(Field::new(shader, settings, parameters, bounds)?);
        Ok(Implicit::with_transform(field, ObjectTransform::new(transform)))
    }

    fn with_transform(field: Arc<Field>, object_transform: ObjectTransform) -> Implicit {
        let Aabb { min, max } = field.bounds;
        let bounds = object_transform.aabb(min.as_dvec3(), max.as_dvec3(), None);
        let max_clearance = MAX_CLEARANCE * (bounds.max - bounds.min).max_element();
        Implicit { field, object_transform, magnitude: bounds.magnitude(), max_clearance }
    }

    /// Returns the number of elements.
    pub(super) fn len(&self) -> u32 {
        self.field.cells.len() as u32
    }

    pub(super) fn aabb(&self, element: u32) -> Aabb {
        let Aabb { min, max } = self.field.cells[element as usize].bounds;
        let pad = 16.0 * f64::from(f32::EPSILON) * f64::from(self.field.bounds.magnitude());
        self.object_transform.aabb(min.as_dvec3() - pad, max.as_dvec3() + pad, None)
    }

    pub(super) fn intersect(&self, element: u32, ray: &Ray) -> Option<ShapeHit> {
        let (ray, root) = self.root(element, ray)?;
        if !root.is_exact {
            self.field.count_touching();
        }
        let p = ray.at(root.s);
        Some(ShapeHit { t: ray.t(root.s), u: p.x, v: p.y, w: p.z })
    }

    /// Number of ray tests so far whose hit only touches the surface.
    pub fn touching_hits(&self) -> u64 {
        self.field.touching()
    }

    /// Returns the first zero in a cell, and the ray in object space.
    fn root(&self, element: u32, ray: &Ray) -> Option<(LocalRay, Root)> {
        let (o, d) = self.object_transform.local_ray(ray);
        let local = LocalRay::new(o, d, self.field.bounds)?;
        let cell = &self.field.cells[element as usize];
        let root = search::first_root(&self.field, cell, &local, [ray.tmin, ray.tmax])?;
        Some((local, root))
    }

    /// Returns the surface at a position in object space, hit by a ray of direction `d`.
    pub(super) fn point(&self, element: u32, p: Vec3, d: Vec3) -> ShapePoint {
        let Aabb { min, max } = self.field.bounds;
        let gradient = self.field.gradient(p);
        let normal = gradient.as_dvec3();
        let ng = match normal.length() {
            length if length > 0.0 && length.is_finite() => self.object_transform.normal(normal),
            // At a singular point, the normal faces the ray.
            _ => -d.normalize_or(Vec3::Z),
        };
        let size = max - min;
        let uv = (p - min) / size;
        let [dpdu, _] = self.tangents(ng);
        ShapePoint {
            p: self.object_transform.point(p.as_dvec3()),
            ng,
            ns: ng,
            uv: Vec2::new(uv.x, uv.y),
            dpdu,
            magnitude: self.magnitude,
            extent: self.magnitude,
            clearance: self.clearance(element, p, self.object_transform.normal_vector(normal)),
        }
    }

    /// Returns the distance from the surface, in the parent space, at which the field certainly has
    /// the sign of its side: twice its rounding error, found by bounds over a box of a few floats,
    /// and its tolerance, both divided by the length of its gradient in the parent space.
    fn clearance(&self, element: u32, p: Vec3, gradient: DVec3) -> f32 {
        let Aabb { min, max } = self.field.bounds;
        let reach = ERROR_ULPS * f32::EPSILON * self.field.bounds.magnitude();
        let around = Aabb { min: (p - reach).clamp(min, max), max: (p + reach).clamp(min, max) };
        let field = &*self.field;
        let bound = |s: &mut FieldScratch| s.bounder.bound_one(field, around).value;
        let [low, high] = field.with_scratch(bound);
        let tolerance = self.field.cells[element as usize].tolerance;
        let distance = 2.0 * ((high - low) + tolerance) / gradient.length() as f32;
        // NaN becomes the largest clearance.
        if distance < self.max_clearance { distance } else { self.max_clearance }
    }

    /// Returns the derivatives of the position by the texture coordinates: the axes of the box,
    /// projected onto the tangent plane.
    fn tangents(&self, ng: Vec3) -> [Vec3; 2] {
        let size = (self.field.bounds.max - self.field.bounds.min).as_dvec3();
        [size.x * DVec3::X, size.y * DVec3::Y].map(|axis| {
            let v = self.object_transform.vector(axis);
            v - ng * ng.dot(v)
        })
    }

    /// Returns the derivatives; those of the normal are 0.
    pub(super) fn derivatives(&self, element: u32, p: Vec3, d: Vec3) -> SurfaceDerivatives {
        let [dpdu, dpdv] = self.tangents(self.point(element, p, d).ng);
        SurfaceDerivatives { dpdu, dpdv, ..SurfaceDerivatives::default() }
    }
}
