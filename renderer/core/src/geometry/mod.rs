//! Geometry: shapes, primitives, instances, and surface interactions.
//!
//! A [`Geometry`] is the input of an acceleration structure: primitives in groups, and instances of
//! groups. Positions are stored in the group's space; only instances have a transform. Instances
//! may move ([`Motion`]), and so may the vertices of meshes ([`VertexMotion`]).
//!
//! Rays, surfaces and lights are in *render space*: world space, translated by
//! −[`Geometry::origin`]. The translation brings the surroundings of the camera near the origin,
//! where single precision is finest; it is 0 unless the scene is far away. Only shaders and the
//! film's positions see world space.

mod attributes;
mod bilinear;
mod curve;
mod cylinder;
mod derivatives;
mod disk;
mod displaced;
mod displacement;
mod implicit;
mod interaction;
mod mesh;
mod motion;
mod point_motion;
mod quadric;
mod scratch;
mod sphere;
mod subdivision;
#[cfg(test)]
mod testing;
mod vertex_motion;
pub(crate) mod watertight;

use crate::medium::MediumInterface;
use crate::texture::{Lookup, Param};
use glam::DVec3;
use lightbound_math::{Aabb, Frame, Ray, Transform, Vec2, Vec3};
use lightbound_shader::{Shader, VectorFact};
use std::ops::Range;
use std::sync::Arc;

pub use attributes::{AttributeId, AttributePoint, AttributeSet, AttributeValues};
pub use bilinear::BilinearMesh;
pub use curve::{CurveBasis, CurveError, CurveKind, CurveStyle, Curves, MAX_SPLIT_DEPTH};
pub use cylinder::Cylinder;
pub use derivatives::SurfaceDerivatives;
pub use disk::Disk;
pub use displaced::{DisplacedSurface, NotFinite, ShaderDisplacementError};
pub use displacement::{DisplacedMesh, DisplacementError};
pub use implicit::{Implicit, ImplicitError, RootCheck};
pub use interaction::{InteractionColumns, TriangleColumns};
pub use mesh::{Mesh, MeshError};
pub use motion::{Motion, MotionError};
pub(crate) use scratch::ScratchId;
pub use sphere::Sphere;
pub use subdivision::{SubdivisionError, subdivide_loop};
pub use vertex_motion::VertexMotion;

/// Largest absolute coordinate of a shape. Beyond it, products of distances overflow in single
/// precision, and rays miss.
pub const MAX_COORDINATE: f32 = 4e18;

/// A shape in the space of its group.
#[derive(Clone, Debug)]
pub enum Shape {
    /// Triangles, one per element.
    Mesh(Mesh),
    /// Bilinear patches, one per element.
    Bilinear(BilinearMesh),
    /// A sphere or partial sphere, with its own transform; one element.
    Sphere(Sphere),
    /// A disk, annulus or sector, with its own transform; one element.
    Disk(Disk),
    /// A cylinder or partial cylinder, with its own transform; one element.
    Cylinder(Cylinder),
    /// Curves, one piece of a segment per element. They never emit.
    Curves(Curves),
    /// An implicit surface, one cell of its box per element. It never emits.
    Implicit(Implicit),
    /// A triangle mesh displaced by a shader, some micro-triangles per element. It never emits.
    Displaced(Arc<DisplacedSurface>),
}

/// An invalid parameter of a sphere, disk or cylinder.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{shape}: \"{name}\" is {value}, expected {expected}")]
pub struct ShapeError {
    /// Name of the shape.
    pub shape: &'static str,
    /// Name of the parameter in scene files.
    pub name: &'static str,
    /// The value.
    pub value: f32,
    /// Description of valid values.
    pub expected: &'static str,
}

/// A shape with its material, lights, opacity and orientation; pbrt's `Shape` directive.
#[derive(Clone, Debug)]
pub struct Primitive {
    /// The shape.
    pub shape: Shape,
    /// Index into the scene's materials.
    pub material: u32,
    /// Index of the first element's light; the other elements' lights follow. Within a group, it
    /// counts from the [first light of each instance](Instance::first_light).
    pub first_light: Option<u32>,
    /// Opacity in [0, 1] for the alpha test; `None` is opaque.
    pub alpha: Option<Param>,
    /// Whether `ReverseOrientation` reverses the normals. Mirroring transforms do not reverse them,
    /// since shapes keep their front.
    pub flip: bool,
    /// The media on its sides, if it separates media.
    pub media: Option<MediumInterface>,
}

/// A transformed copy of a group.
#[derive(Clone, Copy, Debug)]
pub struct Instance {
    /// Index into [`Geometry::groups`].
    pub group: u32,
    /// Transform from the group's space to render space; of a moving instance, at the start of its
    /// motion.
    pub transform: Transform,
    /// Index of the instance's first light in the scene. Each instance has lights of its own.
    pub first_light: u32,
    /// Index into [`Geometry::motions`], if the instance moves.
    pub motion: Option<u32>,
}

/// The geometry of a scene.
#[derive(Clone, Debug, Default)]
pub struct Geometry {
    /// All primitives: first those outside groups, then those of each group, contiguously.
    pub primitives: Vec<Primitive>,
    /// Range of the primitives outside groups.
    pub world: Range<u32>,
    /// Primitive ranges of the groups that instances refer to.
    pub groups: Vec<Range<u32>>,
    /// Instances of groups: first those that do not move, then those that do.
    pub instances: Vec<Instance>,
    /// Motions of instances.
    pub motions: Vec<Motion>,
    /// Whether the vertices of any primitive move.
    pub vertices_move: bool,
    /// The origin of render space, in world space.
    pub origin: DVec3,
}

/// An intersection of a ray with an element of a primitive.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Hit {
    /// Ray parameter.
    pub t: f32,
    /// First surface coordinate: the barycentric weight of vertex 1, or the shape's own u.
    pub u: f32,
    /// Second surface coordinate: the barycentric weight of vertex 2, or the shape's own v.
    pub v: f32,
    /// Third surface coordinate, which only implicit and displaced surfaces have; otherwise 0.
    pub w: f32,
    /// Index into [`Geometry::primitives`], or [`Hit::NONE`].
    pub primitive: u32,
    /// Element (triangle, patch) of the primitive.
    pub element: u32,
    /// Index into [`Geometry::instances`], or [`Hit::NONE`] for primitives outside groups.
    pub instance: u32,
    /// Time of the ray, seconds.
    pub time: f32,
}

impl Hit {
    /// Index for no primitive, element or instance.
    pub const NONE: u32 = u32::MAX;

    /// No hit: `t` infinite, every index [`Hit::NONE`].
    pub const MISS: Hit = Hit {
        t: f32::INFINITY,
        u: 0.0,
        v: 0.0,
        w: 0.0,
        primitive: Hit::NONE,
        element: Hit::NONE,
        instance: Hit::NONE,
        time: 0.0,
    };

    /// Returns the surface coordinates.
    pub fn coordinates(&self) -> [f32; 3] {
        [self.u, self.v, self.w]
    }

    /// Returns the first two surface coordinates. On a triangle, they are the barycentric weights of
    /// vertices 1 and 2.
    pub fn weights(&self) -> Vec2 {
        Vec2::new(self.u, self.v)
    }

    /// Returns whether the ray missed.
    pub fn is_miss(&self) -> bool {
        self.primitive == Hit::NONE
    }
}

/// An intersection of a ray with an element of a shape: ray parameter and surface coordinates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShapeHit {
    /// Ray parameter.
    pub t: f32,
    /// First surface coordinate, as in [`Hit::u`].
    pub u: f32,
    /// Second surface coordinate, as in [`Hit::v`].
    pub v: f32,
    /// Third surface coordinate, as in [`Hit::w`].
    pub w: f32,
}

impl ShapeHit {
    /// Creates a hit of a shape with two surface coordinates.
    pub fn new(t: f32, u: f32, v: f32) -> ShapeHit {
        ShapeHit { t, u, v, w: 0.0 }
    }

    /// Returns the surface coordinates.
    pub fn coordinates(&self) -> [f32; 3] {
        [self.u, self.v, self.w]
    }
}

/// The surface of a shape at surface coordinates, in the space of the group.
#[derive(Clone, Copy, Debug)]
pub struct ShapePoint {
    /// Position.
    pub p: Vec3,
    /// Geometric normal, unit, on the front of the shape: outwards, or the side from which a
    /// triangle is counter-clockwise.
    pub ng: Vec3,
    /// Shading normal, unit, on the side of the vertex normals; `ng` without vertex normals.
    pub ns: Vec3,
    /// Texture coordinates.
    pub uv: Vec2,
    /// Derivative of the position with respect to u, or a direction that tangents of vertices
    /// replace it by, as pbrt's `shading.dpdu`; zero if undefined.
    pub dpdu: Vec3,
    /// Maximum absolute coordinate of the operands from which `p` is computed, the scale of its
    /// rounding error.
    pub magnitude: f32,
    /// Size of the element, the scale of the rounding error of the ray test. 0 for tests in double
    /// precision.
    pub extent: f32,
    /// Distance that rays leaving the surface must keep from it besides rounding errors: the width
    /// of strips that turn to face each ray. 0 for all other shapes.
    pub clearance: f32,
}

/// A point on the surface of the scene, in render space.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Surface {
    /// Position.
    pub p: Vec3,
    /// Geometric normal, unit, on the front of the shape after `ReverseOrientation`.
    pub ng: Vec3,
    /// Shading frame; `n` is on the side of `ng`, `t` along ∂p/∂u, or the tangents of
    /// vertices.
    pub frame: Frame,
    /// Texture coordinates.
    pub uv: Vec2,
    /// Distance between the surface and the origins of rays that leave it.
    pub offset: f32,
}

impl Primitive {
    /// Returns an element as a primitive of its own in render space, for an instance with a
    /// transform; `None` if it has no area there. Surface coordinates stay the same.
    pub fn instantiate(&self, element: u32, transform: &Transform) -> Option<Primitive> {
        let shape = match self.shape.extract(element) {
            Shape::Mesh(m) => Shape::Mesh(m.transformed(transform).ok()?),
            Shape::Bilinear(b) => Shape::Bilinear(b.transformed(transform).ok()?),
            Shape::Sphere(s) => Shape::Sphere(s.transformed(transform)),
            Shape::Disk(d) => Shape::Disk(d.transformed(transform)),
            Shape::Cylinder(c) => Shape::Cylinder(c.transformed(transform)),
            Shape::Curves(_) | Shape::Implicit(_) | Shape::Displaced(_) => {
                unreachable!("only lights are instantiated, and these shapes never emit")
            }
        };
        let &Primitive { material, ref alpha, flip, media, .. } = self;
        let alpha = alpha.clone();
        (!shape.is_empty()).then_some(Primitive {
            shape,
            material,
            first_light: None,
            alpha,
            flip,
            media,
        })
    }

    /// Returns −1 if normals are reversed, else 1.
    fn normal_sign(&self) -> f32 {
        if self.flip { -1.0 } else { 1.0 }
    }
}

impl Surface {
    /// Creates the surface at a point of a shape in render space. `normal_sign` is that of the
    /// [primitive](Primitive::normal_sign).
    #[inline(always)]
    fn new(point: &ShapePoint, normal_sign: f32) -> Surface {
        // Vertex normals determine the front (as in pbrt); without them, the winding does.
        let ng = point.ng * if point.ns.dot(point.ng) < 0.0 { -normal_sign } else { normal_sign };
        Surface {
            p: point.p,
            ng,
            frame: Frame::from_normal_tangent(normal_sign * point.ns, point.dpdu),
            uv: point.uv,
            offset: POSITION_ULPS * point.magnitude + OFFSET_ULPS * point.extent + point.clearance,
        }
    }

    /// Returns a point of a medium, which a ray in direction `d` reaches, as a surface. It has no
    /// geometric normal, and the frame is around the direction back along the ray.
    pub fn in_medium(p: Vec3, d: Vec3) -> Surface {
        let frame = Frame::from_normal(-d.normalize());
        Surface { p, ng: Vec3::ZERO, frame, uv: Vec2::ZERO, offset: 0.0 }
    }

    /// Returns the origin for a ray towards `d`: the position, offset from the surface by its
    /// rounding error.
    ///
    /// The offset covers the error of the position, 4 ulps of the element's largest coordinate, and
    /// the error of the ray test against the same element, 32 ulps of its size. In instances the
    /// offset is 32 ulps of the largest coordinate, since transforms also round. Half of this
    /// offset was sufficient for 60,000 random rays from each type of shape. Curves that face each
    /// ray add their width, as in pbrt-v4, so that neither reflected nor transmitted rays meet them
    /// again; half the width would do for straight ones. The offset should be small: near an edge
    /// between walls at an acute angle, a larger one would put the origin beyond the other wall.
    #[inline(always)]
    pub fn offset_ray_origin(&self, d: Vec3) -> Vec3 {
        self.p + self.ng * self.offset.copysign(self.ng.dot(d))
    }

    /// Returns the point for texture lookups, without a footprint.
    pub fn lookup(&self) -> Lookup<'static> {
        Lookup::at_point(self.p, self.ng, self.uv)
    }
}

impl Shape {
    /// Returns the name of the shape in scene files, as in pbrt-v4.
    pub fn name(&self) -> &'static str {
        match self {
            Shape::Mesh(_) => "trianglemesh",
            Shape::Bilinear(_) => "bilinearmesh",
            Shape::Sphere(_) => "sphere",
            Shape::Disk(_) => "disk",
            Shape::Cylinder(_) => "cylinder",
            Shape::Curves(_) => "curve",
            Shape::Implicit(_) => "implicit",
            Shape::Displaced(_) => "displaced mesh",
        }
    }

    /// Returns the number of elements.
    pub fn len(&self) -> u32 {
        match self {
            Shape::Mesh(m) => m.triangles().len() as u32,
            Shape::Bilinear(b) => b.len(),
            Shape::Curves(c) => c.len(),
            Shape::Implicit(i) => i.len(),
            Shape::Displaced(d) => d.len(),
            Shape::Sphere(_) | Shape::Disk(_) | Shape::Cylinder(_) => 1,
        }
    }

    /// Returns whether the shape has no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns whether vertices move.
    pub fn vertices_move(&self) -> bool {
        match self {
            Shape::Mesh(m) => m.moves(),
            Shape::Bilinear(b) => b.moves(),
            Shape::Sphere(_) | Shape::Disk(_) | Shape::Cylinder(_) => false,
            Shape::Curves(_) | Shape::Implicit(_) | Shape::Displaced(_) => false,
        }
    }

    /// Returns the bounding box of an element, while the shutter is open.
    pub fn aabb(&self, element: u32) -> Aabb {
        match self {
            Shape::Mesh(m) => m.aabb(element),
            Shape::Bilinear(b) => b.aabb(element),
            Shape::Sphere(s) => s.aabb(),
            Shape::Disk(d) => d.aabb(),
            Shape::Cylinder(c) => c.aabb(),
            Shape::Curves(c) => c.aabb(element),
            Shape::Implicit(i) => i.aabb(element),
            Shape::Displaced(d) => d.aabb(element),
        }
    }

    /// Returns the largest absolute coordinate of the vertices, or of the bounding box if they move
    /// or there are none.
    pub fn magnitude(&self) -> f32 {
        let of_points = |points: &[Vec3]| {
            points.iter().fold(Vec3::ZERO, |max, p| max.max(p.abs())).max_element()
        };
        match self {
            Shape::Mesh(m) if !m.moves() => of_points(m.positions()),
            Shape::Bilinear(b) if !b.moves() => of_points(b.positions()),
            _ => (0..self.len()).map(|k| self.aabb(k).magnitude()).fold(0.0, f32::max),
        }
    }

    /// Returns the nearest hit of an element on the ray segment, at the time of the ray.
    pub fn intersect(&self, element: u32, ray: &Ray) -> Option<ShapeHit> {
        match self {
            Shape::Mesh(m) => m.intersect(element, ray),
            Shape::Bilinear(b) => b.intersect(element, ray),
            Shape::Sphere(s) => s.intersect(ray),
            Shape::Disk(d) => d.intersect(ray),
            Shape::Cylinder(c) => c.intersect(ray),
            Shape::Curves(c) => c.intersect(element, ray),
            Shape::Implicit(i) => i.intersect(element, ray),
            Shape::Displaced(d) => d.intersect(element, ray),
        }
    }

    /// Returns the surface at surface coordinates (u, v, w), hit by a ray of direction `d` at `time`,
    /// seconds. Only curves, and implicit surfaces at singular points, depend on `d`.
    pub fn point(&self, element: u32, coordinates: [f32; 3], d: Vec3, time: f32) -> ShapePoint {
        let [u, v, _] = coordinates;
        match self {
            Shape::Mesh(m) => m.point(element, u, v, time),
            Shape::Bilinear(b) => b.point(element, u, v, time),
            Shape::Sphere(s) => s.point(u, v),
            Shape::Disk(d) => d.point(u, v),
            Shape::Cylinder(c) => c.point(u, v),
            Shape::Curves(c) => c.point(element, u, v, d),
            Shape::Implicit(i) => i.point(element, coordinates.into(), d),
            Shape::Displaced(s) => s.point(element, coordinates),
        }
    }

    /// Extracts one element as a shape of its own, with the same surface coordinates.
    pub fn extract(&self, element: u32) -> Shape {
        match self {
            Shape::Mesh(m) => Shape::Mesh(m.extract(element)),
            Shape::Bilinear(b) => Shape::Bilinear(b.extract(element)),
            Shape::Sphere(_) | Shape::Disk(_) | Shape::Cylinder(_) => self.clone(),
            Shape::Curves(_) | Shape::Implicit(_) | Shape::Displaced(_) => {
                unreachable!("only lights are extracted, and these shapes never emit")
            }
        }
    }

    /// Extracts one element as it is at `time`, seconds, as a shape of its own without motion.
    pub fn extract_at(&self, element: u32, time: f32) -> Shape {
        match self {
            Shape::Mesh(m) => Shape::Mesh(m.extract_at(element, time)),
            Shape::Bilinear(b) => Shape::Bilinear(b.extract_at(element, time)),
            _ => self.extract(element),
        }
    }

    /// Returns the area of an element, at the start of a motion.
    pub fn area(&self, element: u32) -> f32 {
        match self {
            Shape::Mesh(m) => m.area(element),
            Shape::Bilinear(b) => b.area(element),
            Shape::Sphere(s) => s.area(),
            Shape::Disk(d) => d.area(),
            Shape::Cylinder(c) => c.area(),
            Shape::Curves(c) => c.area(element),
            Shape::Implicit(_) | Shape::Displaced(_) => {
                unreachable!("the area is for lights, and these shapes never emit")
            }
        }
    }
}

/// 32 ulps of 1: see [`Surface::offset_ray_origin`].
pub(crate) const OFFSET_ULPS: f32 = 32.0 * f32::EPSILON;

/// 4 ulps of 1: see [`Surface::offset_ray_origin`].
const POSITION_ULPS: f32 = 4.0 * f32::EPSILON;

impl Geometry {
    /// Returns the surface at a hit, which must not be a miss, of a ray of direction `d`.
    pub fn surface(&self, hit: &Hit, d: Vec3) -> Surface {
        let primitive = &self.primitives[hit.primitive as usize];
        if hit.instance == Hit::NONE {
            let point = primitive.shape.point(hit.element, hit.coordinates(), d, hit.time);
            return Surface::new(&point, primitive.normal_sign());
        }
        let t = self.instance_transform(hit.instance, hit.time);
        let d = t.inverse().vector(d);
        let point = primitive.shape.point(hit.element, hit.coordinates(), d, hit.time);
        let extent = Vec3::splat(point.magnitude);
        let transformed = ShapePoint {
            p: t.point(point.p),
            ng: t.normal(point.ng).normalize(),
            ns: t.normal(point.ns).normalize(),
            dpdu: t.vector(point.dpdu),
            ..point
        };
        let offset = OFFSET_ULPS * t.aabb(Aabb { min: -extent, max: extent }).magnitude()
            + t.vector(point.clearance * point.ng).length();
        Surface { offset, ..Surface::new(&transformed, primitive.normal_sign()) }
    }

    /// Computes the geometric normal of [`Geometry::surface`].
    pub fn geometric_normal(&self, hit: &Hit, d: Vec3) -> Vec3 {
        let primitive = &self.primitives[hit.primitive as usize];
        let normal = match &primitive.shape {
            Shape::Mesh(mesh) if hit.instance == Hit::NONE => {
                mesh.winding_normal(hit.element, hit.time)
            }
            _ => None,
        };
        normal.map_or_else(|| self.surface(hit, d).ng, |normal| primitive.normal_sign() * normal)
    }

    /// Returns the transform from the space of an instance's group to render space at `time`,
    /// seconds.
    #[inline]
    pub fn instance_transform(&self, instance: u32, time: f32) -> Transform {
        let instance = &self.instances[instance as usize];
        match instance.motion {
            None => instance.transform,
            Some(motion) => self.motions[motion as usize].at(time),
        }
    }

    /// Returns whether any surface moves.
    pub fn moves(&self) -> bool {
        self.vertices_move || !self.motions.is_empty()
    }

    /// Returns the range of the instances that move.
    pub fn moving_instances(&self) -> Range<usize> {
        let first = self.instances.partition_point(|instance| instance.motion.is_none());
        first..self.instances.len()
    }

    /// Returns a bounding box of an instance of a group with bounds `b`, in render space, while the
    /// shutter is open.
    pub fn instance_aabb(&self, instance: &Instance, b: Aabb) -> Aabb {
        match instance.motion {
            None => instance.transform.aabb(b),
            Some(motion) => self.motions[motion as usize].aabb(b),
        }
    }

    /// Returns the index of the light at a hit, which must not be a miss; `None` if the surface
    /// does not emit.
    #[inline]
    pub fn light(&self, hit: &Hit) -> Option<u32> {
        let first = self.primitives[hit.primitive as usize].first_light?;
        let start = match hit.instance {
            Hit::NONE => 0,
            instance => self.instances[instance as usize].first_light,
        };
        Some(start + first + hit.element)
    }

    /// Iterates over the index of the first light of each emissive shape, in the world and in each
    /// instance.
    pub fn first_lights(&self) -> impl Iterator<Item = u32> {
        let firsts = |range: &Range<u32>| {
            let range = range.start as usize..range.end as usize;
            self.primitives[range].iter().filter_map(|primitive| primitive.first_light)
        };
        let instanced = self.instances.iter().flat_map(move |instance| {
            let group = &self.groups[instance.group as usize];
            firsts(group).map(move |first| instance.first_light + first)
        });
        firsts(&self.world).chain(instanced)
    }

    /// Returns whether a hit passes the stochastic alpha test. The test is seeded by a hash of ray
    /// and hit, so the same ray gets the same result in every acceleration structure.
    pub fn passes_alpha_test(
        &self,
        ray: &Ray,
        primitive: u32,
        element: u32,
        coordinates: [f32; 3],
    ) -> bool {
        let prim = &self.primitives[primitive as usize];
        let Some(alpha) = &prim.alpha else { return true };
        let point = prim.shape.point(element, coordinates, ray.d, ray.time);
        // Textures expect render space. A group's space serves as world space.
        let p = match self.world.contains(&primitive) {
            true => point.p,
            false => render_position(point.p, self.origin),
        };
        let attributes = prim.shape.attribute_point(element, coordinates);
        let a = alpha.float(&Lookup { attributes, ..Lookup::at_point(p, point.ng, point.uv) });
        if a >= 1.0 {
            return true;
        }
        let ray_bits = [ray.o.x, ray.o.y, ray.o.z, ray.d.x, ray.d.y, ray.d.z].map(f32::to_bits);
        // A ray hits a triangle at most once, other shapes several times. Each hit has its own random
        // number.
        let [u, v, w] = coordinates.map(f32::to_bits);
        let hit_bits: &[u32] = match prim.shape {
            Shape::Mesh(_) => &[0; 2],
            Shape::Implicit(_) | Shape::Displaced(_) => &[u, v, w],
            _ => &[u, v],
        };
        let hash = ray_bits
            .into_iter()
            .chain([primitive, element])
            .chain(hit_bits.iter().copied())
            .fold(0, lightbound_math::sampling::hash);
        a > 0.0 && lightbound_math::sampling::unit_float(hash) < a
    }

    /// Transforms the position `p` of a hit to world space and to object space, for shaders. Object
    /// space is the group's space for instances, else world space.
    pub fn shader_positions(&self, hit: &Hit, p: Vec3) -> [Vec3; 2] {
        let world = translated(p, self.origin);
        if hit.instance == Hit::NONE {
            [world, world]
        } else {
            [world, self.instance_transform(hit.instance, hit.time).inverse().point(p)]
        }
    }

    /// Returns the object id of a hit: one per primitive outside groups, and one per instance.
    pub fn object_id(&self, hit: &Hit) -> u32 {
        if hit.instance == Hit::NONE { hit.primitive } else { self.world.end + hit.instance }
    }

    /// Iterates over meshes displaced by shaders.
    pub fn displaced_surfaces(&self) -> impl Iterator<Item = &DisplacedSurface> {
        self.primitives.iter().filter_map(|p| match &p.shape {
            Shape::Displaced(surface) => Some(&**surface),
            _ => None,
        })
    }

    /// Number of ray tests so far whose hit only touches an implicit surface, at a root without a
    /// change of sign; `None` without implicit surfaces.
    pub fn touching_hits(&self) -> Option<u64> {
        let hits = self.primitives.iter().filter_map(|p| match &p.shape {
            Shape::Implicit(implicit) => Some(implicit.touching_hits()),
            _ => None,
        });
        hits.reduce(u64::saturating_add)
    }

    /// Returns the number of triangles of all primitives; each group counts once.
    pub fn triangle_count(&self) -> u64 {
        self.primitives
            .iter()
            .map(|p| if let Shape::Mesh(m) = &p.shape { m.triangles().len() as u64 } else { 0 })
            .sum()
    }
}

/// An input of a shader's function that is declared with a fact, which geometry does not guarantee.
pub(crate) fn input_with_fact(shader: &Shader) -> Option<(&str, VectorFact)> {
    let inputs = shader.arguments().iter().chain(shader.settable());
    inputs.into_iter().find_map(|input| Some((&input.name[..], input.fact?)))
}

/// Transforms a position from world space to render space with this origin.
pub(crate) fn render_position(p: Vec3, origin: DVec3) -> Vec3 {
    translated(p, -origin)
}

fn translated(p: Vec3, by: DVec3) -> Vec3 {
    // Without a translation, zeros keep their sign.
    if by == DVec3::ZERO { p } else { (p.as_dvec3() + by).as_vec3() }
}
