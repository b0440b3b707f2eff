//! What rays hit: shapes, the primitives that carry them, and the surface at a hit.
//!
//! A [`Geometry`] is the whole input of an acceleration structure: primitives in groups, and
//! instances of groups. Positions of a group are baked into the group's space when it is built;
//! only instances carry a transform.

mod bilinear;
mod disk;
mod mesh;
mod placement;
mod sphere;
mod surfaces;

use crate::math::{Aabb, Frame, Ray, Transform, Vec2, Vec3};
use crate::texture::{Lookup, Param};
use std::ops::Range;

pub use bilinear::BilinearMesh;
pub use disk::Disk;
pub use mesh::{Mesh, MeshError};
pub use sphere::Sphere;
pub use surfaces::Arrival;

/// A shape in the space of its group.
#[derive(Clone, Debug)]
pub enum Shape {
    /// Triangles; one element each.
    Mesh(Mesh),
    /// Bilinear patches; one element each.
    Bilinear(BilinearMesh),
    /// A sphere or a part of one, under its own transform; one element.
    Sphere(Sphere),
    /// A disk, annulus or a part of one, under its own transform; one element.
    Disk(Disk),
}

/// A parameter of which no sphere or disk can be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{shape}: \"{name}\" is {value}, expected {expected}")]
pub struct ShapeError {
    /// Kind of shape.
    pub shape: &'static str,
    /// The parameter, as scene files call it.
    pub name: &'static str,
    /// What was found.
    pub value: f32,
    /// What would do.
    pub expected: &'static str,
}

/// A shape with all that belongs to it; pbrt's `Shape` directive.
#[derive(Clone, Debug)]
pub struct Primitive {
    /// The shape.
    pub shape: Shape,
    /// Index into the scene's materials.
    pub material: u32,
    /// Index into the scene's lights of the first element; the elements' lights follow each other.
    pub first_light: Option<u32>,
    /// Opacity in [0, 1], tested while rays are traced; `None` is opaque.
    pub alpha: Option<Param>,
    /// Whether normals point to the other side than the shape's own orientation says:
    /// `ReverseOrientation` alone, since shapes keep their front under mirroring transforms.
    pub flip: bool,
}

/// A placed copy of a group.
#[derive(Clone, Copy, Debug)]
pub struct Instance {
    /// Index into [`Geometry::groups`].
    pub group: u32,
    /// From the group's space to the world.
    pub transform: Transform,
}

/// All that rays can hit.
#[derive(Clone, Debug, Default)]
pub struct Geometry {
    /// All primitives: first the world's own, then the groups', each group contiguous.
    pub primitives: Vec<Primitive>,
    /// The primitives that stand in the world directly.
    pub world: Range<u32>,
    /// Primitive ranges of the groups that instances refer to.
    pub groups: Vec<Range<u32>>,
    /// Placed groups.
    pub instances: Vec<Instance>,
}

/// Where a ray met an element of a primitive.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Hit {
    /// Ray parameter.
    pub t: f32,
    /// First surface coordinate: the barycentric weight of vertex 1, or the shape's own u.
    pub u: f32,
    /// Second surface coordinate: the barycentric weight of vertex 2, or the shape's own v.
    pub v: f32,
    /// Index into [`Geometry::primitives`], or [`Hit::NONE`].
    pub primitive: u32,
    /// Element (triangle, patch) of the primitive.
    pub element: u32,
    /// Index into [`Geometry::instances`], or [`Hit::NONE`] for the world's own primitives.
    pub instance: u32,
}

impl Hit {
    /// The index that stands for "none".
    pub const NONE: u32 = u32::MAX;

    /// No hit: `t` infinite, every index [`Hit::NONE`].
    pub const MISS: Hit = Hit {
        t: f32::INFINITY,
        u: 0.0,
        v: 0.0,
        primitive: Hit::NONE,
        element: Hit::NONE,
        instance: Hit::NONE,
    };

    /// Whether the ray left the scene.
    pub fn is_miss(&self) -> bool {
        self.primitive == Hit::NONE
    }
}

/// Where a ray met a single shape: parameter and surface coordinates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShapeHit {
    /// Ray parameter.
    pub t: f32,
    /// First surface coordinate, as in [`Hit::u`].
    pub u: f32,
    /// Second surface coordinate, as in [`Hit::v`].
    pub v: f32,
}

/// The surface of a shape at surface coordinates, in the space of the group.
#[derive(Clone, Copy, Debug)]
pub struct ShapePoint {
    /// Position.
    pub p: Vec3,
    /// Geometric normal, unit; the outside of the shape (front of a triangle in counter-clockwise
    /// order).
    pub ng: Vec3,
    /// Shading normal, unit, on the side of the outside that the mesh's normals say; equals `ng`
    /// where there are none.
    pub ns: Vec3,
    /// Texture coordinates.
    pub uv: Vec2,
    /// Derivative of the position by u; zero where it is not defined.
    pub dpdu: Vec3,
    /// Largest absolute coordinate that went into `p`; the rounding error of `p` is relative to it.
    pub magnitude: f32,
    /// Size of the element, to which the rounding error of ray tests is relative; 0 where these are
    /// in double precision.
    pub extent: f32,
}

/// A point on the surface of the scene, in world space.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Surface {
    /// Position.
    pub p: Vec3,
    /// Geometric normal, unit; the outside of the shape after `ReverseOrientation`.
    pub ng: Vec3,
    /// Shading frame; `n` is on the side of `ng`, `t` along ∂p/∂u.
    pub frame: Frame,
    /// Texture coordinates.
    pub uv: Vec2,
    /// Distance by which new rays must start off the surface.
    pub offset: f32,
}

impl Primitive {
    /// −1 where normals point to the other side, else 1.
    fn side(&self) -> f32 {
        if self.flip { -1.0 } else { 1.0 }
    }
}

impl Surface {
    /// The surface at a point of a shape, in world space; `side` as [`Primitive::side`].
    #[inline(always)]
    fn new(point: &ShapePoint, side: f32) -> Surface {
        // A mesh's normals decide which side is out (as in pbrt); the winding only where there are
        // none.
        let ng = point.ng * if point.ns.dot(point.ng) < 0.0 { -side } else { side };
        Surface {
            p: point.p,
            ng,
            frame: Frame::from_normal_tangent(side * point.ns, point.dpdu),
            uv: point.uv,
            offset: POSITION_ULPS * point.magnitude + OFFSET_ULPS * point.extent,
        }
    }

    /// Origin for a ray that leaves towards `d`: the point moved off the surface by its rounding
    /// error.
    ///
    /// It covers the error of the position, 4 ulps of the element's largest coordinate, and that of
    /// the ray test against the same element, 32 ulps of its size; in instances 32 ulps of the
    /// largest coordinate, since their transforms round too. Half of it was enough for 60 000
    /// random rays from each kind of shape. More would do harm: near an edge where walls meet at an
    /// acute angle, a ray that starts higher starts outside.
    pub fn origin_towards(&self, d: Vec3) -> Vec3 {
        self.p + self.ng * self.offset.copysign(self.ng.dot(d))
    }

    /// What textures see of the point.
    pub fn lookup(&self) -> Lookup {
        Lookup { p: self.p, uv: self.uv }
    }
}

impl Shape {
    /// Number of elements.
    pub fn len(&self) -> u32 {
        match self {
            Shape::Mesh(m) => m.triangles().len() as u32,
            Shape::Bilinear(b) => b.len(),
            Shape::Sphere(_) | Shape::Disk(_) => 1,
        }
    }

    /// Whether there is no element at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Box around one element.
    pub fn aabb(&self, element: u32) -> Aabb {
        match self {
            Shape::Mesh(m) => m.aabb(element),
            Shape::Bilinear(b) => b.aabb(element),
            Shape::Sphere(s) => s.aabb(),
            Shape::Disk(d) => d.aabb(),
        }
    }

    /// Nearest point of the element on the ray segment.
    pub fn intersect(&self, element: u32, ray: &Ray) -> Option<ShapeHit> {
        match self {
            Shape::Mesh(m) => m.intersect(element, ray),
            Shape::Bilinear(b) => b.intersect(element, ray),
            Shape::Sphere(s) => s.intersect(ray),
            Shape::Disk(d) => d.intersect(ray),
        }
    }

    /// The surface at surface coordinates.
    pub fn point(&self, element: u32, u: f32, v: f32) -> ShapePoint {
        match self {
            Shape::Mesh(m) => m.point(element, u, v),
            Shape::Bilinear(b) => b.point(element, u, v),
            Shape::Sphere(s) => s.point(u, v),
            Shape::Disk(d) => d.point(u, v),
        }
    }

    /// A shape that is one element of this one, the same surface at the same surface coordinates.
    pub fn single(&self, element: u32) -> Shape {
        match self {
            Shape::Mesh(m) => Shape::Mesh(m.single(element)),
            Shape::Bilinear(b) => Shape::Bilinear(b.single(element)),
            Shape::Sphere(_) | Shape::Disk(_) => self.clone(),
        }
    }

    /// Area of one element.
    pub fn area(&self, element: u32) -> f32 {
        match self {
            Shape::Mesh(m) => m.area(element),
            Shape::Bilinear(b) => b.area(element),
            Shape::Sphere(s) => s.area(),
            Shape::Disk(d) => d.area(),
        }
    }
}

/// 32 ulps of 1: see [`Surface::origin_towards`].
pub(crate) const OFFSET_ULPS: f32 = 32.0 * f32::EPSILON;

/// 4 ulps of 1: see [`Surface::origin_towards`].
const POSITION_ULPS: f32 = 4.0 * f32::EPSILON;

impl Geometry {
    /// The surface at a hit (which must not be a miss).
    pub fn surface(&self, hit: &Hit) -> Surface {
        let primitive = &self.primitives[hit.primitive as usize];
        let point = primitive.shape.point(hit.element, hit.u, hit.v);
        if hit.instance == Hit::NONE {
            return Surface::new(&point, primitive.side());
        }
        let t = &self.instances[hit.instance as usize].transform;
        let extent = Vec3::splat(point.magnitude);
        let placed = ShapePoint {
            p: t.point(point.p),
            ng: t.normal(point.ng).normalize(),
            ns: t.normal(point.ns).normalize(),
            dpdu: t.vector(point.dpdu),
            ..point
        };
        let offset = OFFSET_ULPS * t.aabb(Aabb { min: -extent, max: extent }).magnitude();
        Surface { offset, ..Surface::new(&placed, primitive.side()) }
    }

    /// Whether a ray sees the surface at a hit, by its opacity: a coin whose side is a hash of ray
    /// and hit, so that the same ray always decides alike, in every acceleration structure.
    pub fn accepts(&self, ray: &Ray, primitive: u32, element: u32, u: f32, v: f32) -> bool {
        let prim = &self.primitives[primitive as usize];
        let Some(alpha) = &prim.alpha else { return true };
        let point = prim.shape.point(element, u, v);
        let a = alpha.float(&Lookup { p: point.p, uv: point.uv });
        if a >= 1.0 {
            return true;
        }
        let words = [ray.o.x, ray.o.y, ray.o.z, ray.d.x, ray.d.y, ray.d.z].map(f32::to_bits);
        // A ray meets a triangle once; of other shapes it may meet two walls, and each has its own
        // coin.
        let wall =
            if matches!(prim.shape, Shape::Mesh(_)) { [0; 2] } else { [u.to_bits(), v.to_bits()] };
        let hash = words
            .into_iter()
            .chain([primitive, element])
            .chain(wall)
            .fold(0, crate::sampling::hash);
        a > 0.0 && crate::sampling::unit_float(hash) < a
    }

    /// The position of a hit in the space of its object: where instances place it from, else the
    /// world.
    pub fn object_position(&self, hit: &Hit, p: Vec3) -> Vec3 {
        if hit.instance == Hit::NONE {
            p
        } else {
            self.instances[hit.instance as usize].transform.inverse().point(p)
        }
    }

    /// Number of the object that a hit belongs to: each of the world's primitives is one, and each
    /// instance.
    pub fn object(&self, hit: &Hit) -> u32 {
        if hit.instance == Hit::NONE { hit.primitive } else { self.world.end + hit.instance }
    }

    /// Triangles of all primitives, each instanced group counted once.
    pub fn triangles(&self) -> u64 {
        self.primitives
            .iter()
            .map(|p| if let Shape::Mesh(m) = &p.shape { m.triangles().len() as u64 } else { 0 })
            .sum()
    }
}
