//! Vectorised computation of surface interactions.
//!
//! Vertex attributes are gathered into SoA columns. The loop over lanes calls the same functions as
//! for a single hit, and compiles to SIMD instructions, so results are bit-identical.

use super::mesh::{DEFAULT_UVS, NO_NORMALS, TriangleVertices};
use super::{Geometry, Hit, Mesh, Shape, Surface};
use crate::texture::Lookup;
use fearless_simd::{Simd, dispatch};
use lightbound_math::{COLUMN_LEN, Column, Columns, Frame, Ray, Vec3, simd_level};

/// A surface hit by a ray, with the direction to the ray's origin.
#[derive(Clone, Copy, Debug, PartialEq)]
struct SurfaceInteraction {
    /// The surface at the hit.
    surface: Surface,
    /// Direction towards the ray's origin in the shading frame, normalised as shaders require
    /// ([`Frame::local_direction`]).
    wo: Vec3,
}

/// Vertex attributes of hit triangles: the input of [`Geometry::interactions`], kept between calls
/// to save its initialisation.
pub struct TriangleColumns {
    p: [Columns<3>; 3],
    n: [Columns<3>; 3],
    uv: [Columns<2>; 3],
    /// Whether any lane has or had vertex normals.
    has_normals: bool,
    /// Whether any lane has or had texture coordinates.
    has_uvs: bool,
    /// Winding of the triangle, and normal sign of the primitive.
    signs: Columns<2>,
    /// Barycentric weights of vertices 1 and 2 at the hit.
    weights: Columns<2>,
    /// Ray direction.
    d: Columns<3>,
}

/// Up to [`COLUMN_LEN`] surface interactions.
#[derive(Default)]
pub struct InteractionColumns {
    /// As [`Surface::p`].
    pub p: Columns<3>,
    /// As [`Surface::ng`].
    pub ng: Columns<3>,
    /// The axes `t`, `b` and `n` of [`Surface::frame`].
    pub frame: [Columns<3>; 3],
    /// As [`Surface::uv`].
    pub uv: Columns<2>,
    offset: Column,
    /// Direction towards the ray's origin in the shading frame, normalised as shaders require
    /// ([`Frame::local_direction`]).
    pub wo: Columns<3>,
}

impl SurfaceInteraction {
    #[inline(always)]
    fn new(surface: Surface, ray_d: Vec3) -> SurfaceInteraction {
        SurfaceInteraction { surface, wo: surface.frame.local_direction(-ray_d) }
    }
}

impl Geometry {
    /// Computes the interactions of up to [`COLUMN_LEN`] hits; none may be a miss. The first lanes
    /// of `output` are set, one for each hit; the others are unspecified. `input` is a scratch
    /// buffer.
    ///
    /// # Panics
    /// If there are more than [`COLUMN_LEN`] hits.
    pub fn interactions<'a>(
        &self,
        hits: impl Iterator<Item = (&'a Hit, &'a Ray)> + Clone,
        input: &mut TriangleColumns,
        output: &mut InteractionColumns,
    ) {
        let mut scalar_lanes = 0u32;
        for (lane, (hit, ray)) in hits.clone().enumerate() {
            let primitive = &self.primitives[hit.primitive as usize];
            match &primitive.shape {
                Shape::Mesh(mesh) if hit.instance == Hit::NONE && !mesh.has_tangents() => {
                    input.set(lane, mesh, hit, primitive.normal_sign(), ray.d);
                }
                _ => scalar_lanes |= 1 << lane,
            }
        }
        let nan_lanes = dispatch!(simd_level(), simd => compute(simd, input, output));
        let scalar_lanes = scalar_lanes | nan_lanes;
        if scalar_lanes != 0 {
            for (lane, (hit, ray)) in hits.enumerate() {
                if scalar_lanes >> lane & 1 != 0 {
                    output.set(lane, SurfaceInteraction::new(self.surface(hit, ray.d), ray.d));
                }
            }
        }
    }
}

impl Default for TriangleColumns {
    fn default() -> TriangleColumns {
        TriangleColumns {
            p: [Columns::ZERO; 3],
            n: [Columns::splat(NO_NORMALS[0].to_array()); 3],
            uv: DEFAULT_UVS.map(|uv| Columns::splat(uv.to_array())),
            has_normals: false,
            has_uvs: false,
            signs: Columns::ZERO,
            weights: Columns::ZERO,
            d: Columns::ZERO,
        }
    }
}

impl TriangleColumns {
    #[inline(always)]
    fn set(&mut self, lane: usize, mesh: &Mesh, hit: &Hit, normal_sign: f32, d: Vec3) {
        // Values of two branches would meet in memory.
        if mesh.moves() {
            set_vertices(&mut self.p, lane, mesh.vertices_at(hit.element, hit.time));
        } else {
            set_vertices(&mut self.p, lane, mesh.vertices(hit.element));
        }
        let n = mesh.vertex_normals_at(hit.element, hit.time);
        let uv = mesh.vertex_uvs(hit.element);
        self.has_normals |= n.is_some();
        if self.has_normals {
            set_vertices(&mut self.n, lane, n.unwrap_or(NO_NORMALS));
        }
        self.has_uvs |= uv.is_some();
        if self.has_uvs {
            set_vertices(&mut self.uv, lane, uv.unwrap_or(DEFAULT_UVS));
        }
        self.signs.set(lane, [mesh.winding(), normal_sign]);
        self.weights.set(lane, [hit.u, hit.v]);
        self.d.set(lane, d);
    }

    #[inline(always)]
    fn interaction(&self, lane: usize) -> SurfaceInteraction {
        let [winding, normal_sign]: [f32; 2] = self.signs.get(lane);
        let triangle = TriangleVertices {
            p: [self.p[0].get(lane), self.p[1].get(lane), self.p[2].get(lane)],
            n: [self.n[0].get(lane), self.n[1].get(lane), self.n[2].get(lane)],
            uv: [self.uv[0].get(lane), self.uv[1].get(lane), self.uv[2].get(lane)],
            winding,
        };
        let [u, v]: [f32; 2] = self.weights.get(lane);
        SurfaceInteraction::new(
            Surface::new(&triangle.point(u, v, triangle.fast_normal()), normal_sign),
            self.d.get(lane),
        )
    }
}

/// Sets an attribute of all three vertices of a triangle.
#[inline(always)]
fn set_vertices<V: Into<[f32; N]>, const N: usize>(
    columns: &mut [Columns<N>; 3],
    lane: usize,
    [a, b, c]: [V; 3],
) {
    columns[0].set(lane, a);
    columns[1].set(lane, b);
    columns[2].set(lane, c);
}

impl InteractionColumns {
    #[inline(always)]
    fn set(&mut self, lane: usize, SurfaceInteraction { surface, wo }: SurfaceInteraction) {
        self.p.set(lane, surface.p);
        self.ng.set(lane, surface.ng);
        let Frame { t, b, n } = surface.frame;
        self.frame.iter_mut().zip([t, b, n]).for_each(|(columns, axis)| columns.set(lane, axis));
        self.uv.set(lane, surface.uv);
        self.offset[lane] = surface.offset;
        self.wo.set(lane, wo);
    }

    /// Sets a lane to a point in a medium with a ray in direction `d`: the shading normal is −d, and
    /// rays leave it without an offset.
    pub fn set_medium_point(&mut self, lane: usize, p: Vec3, d: Vec3) {
        let surface = Surface::in_medium(p, d);
        self.set(lane, SurfaceInteraction { surface, wo: Vec3::Z });
    }

    /// Returns the surface of a lane.
    #[inline(always)]
    pub fn surface(&self, lane: usize) -> Surface {
        let (p, ng, uv) = (self.p.get(lane), self.ng.get(lane), self.uv.get(lane));
        Surface { p, ng, frame: self.frame(lane), uv, offset: self.offset[lane] }
    }

    /// Returns the shading frame of a lane.
    #[inline(always)]
    pub fn frame(&self, lane: usize) -> Frame {
        let [t, b, n] = &self.frame;
        Frame { t: t.get(lane), b: b.get(lane), n: n.get(lane) }
    }

    /// Replaces the shading frame of a lane, for a ray in direction `ray_d`.
    pub fn set_frame(&mut self, lane: usize, frame: Frame, ray_d: Vec3) {
        let Frame { t, b, n } = frame;
        self.frame.iter_mut().zip([t, b, n]).for_each(|(columns, axis)| columns.set(lane, axis));
        self.wo.set(lane, frame.local_direction(-ray_d));
    }

    /// Returns the point of a lane for texture lookups, without a footprint.
    #[inline]
    pub fn lookup(&self, lane: usize) -> Lookup<'static> {
        Lookup::at_point(self.p.get(lane), self.ng.get(lane), self.uv.get(lane))
    }
}

/// Computes the interactions of all lanes. Returns a mask of lanes whose normal underflows in
/// single precision.
#[inline(always)]
fn compute<S: Simd>(_: S, input: &TriangleColumns, output: &mut InteractionColumns) -> u32 {
    for lane in 0..COLUMN_LEN {
        output.set(lane, input.interaction(lane));
    }
    let [ng_x, ..] = &output.ng.0;
    (0..COLUMN_LEN).map(|lane| u32::from(ng_x[lane].is_nan()) << lane).sum()
}

#[cfg(test)]
mod tests {
    use super::super::{Instance, Primitive, Sphere, VertexMotion};
    use super::*;
    use glam::{DAffine3, dvec3};
    use lightbound_math::sampling::testing::points;
    use lightbound_math::{Transform, vec2, vec3};

    /// Returns a triangle strip of random vertices. Some triangles are too small for normals in
    /// single precision.
    fn triangle_strip(normals: bool, uvs: bool) -> Mesh {
        let corners: Vec<Vec3> =
            points(40, 3).zip(points(40, 4)).map(|(a, b)| vec3(a.x, a.y, b.x) - 0.5).collect();
        let small = corners.iter().map(|p| *p * 1e-17);
        let p: Vec<Vec3> = corners.iter().copied().chain(small).collect();
        let n = corners
            .iter()
            .map(|p| vec3(p.y, 0.3, if p.x < -0.2 { 0.0 } else { p.z }))
            .cycle()
            .take(p.len());
        let uv = points(p.len() as u32, 5).map(|uv| if uv.x < 0.2 { vec2(0.5, 0.5) } else { uv });
        let triangles = (0..p.len() as u32 - 2).map(|i| [i, i + 1, i + 2]).collect();
        Mesh::new(
            p,
            triangles,
            if normals { n.collect() } else { vec![] },
            if uvs { uv.collect() } else { vec![] },
        )
        .unwrap()
    }

    /// Returns a triangle strip whose vertices and normals move.
    fn moving_strip() -> Mesh {
        let strip = triangle_strip(true, true);
        let end = strip.positions().iter().map(|p| 0.5 * *p + Vec3::X).collect();
        let end_normals = strip.normals().iter().map(|n| vec3(n.y, n.x, n.z)).collect();
        let motion = VertexMotion::new(end, end_normals, [0.0, 1.0], [0.0, 1.0]);
        let (p, n) = (strip.positions().to_vec(), strip.normals().to_vec());
        let motion = Some(Box::new(motion));
        Mesh::with_motion(p, strip.triangles().to_vec(), n, vec![], motion).unwrap()
    }

    #[test]
    fn vectorised_interactions_match_single_hits_bit_for_bit() {
        let mirror = Transform::new(DAffine3::from_scale(dvec3(-2.0, 1.0, 0.5))).unwrap();
        let meshes = [
            triangle_strip(false, false),
            triangle_strip(true, false),
            triangle_strip(false, true),
            triangle_strip(true, true),
        ];
        let mirrored = meshes.iter().map(|mesh| mesh.clone().transformed(&mirror).unwrap());
        let shapes = meshes.iter().cloned().chain(mirrored).map(Shape::Mesh);
        let shapes = shapes.chain([
            Shape::Sphere(Sphere::full(&mirror, 1.0).unwrap()),
            Shape::Mesh(moving_strip()),
        ]);
        let primitives: Vec<_> = (0..)
            .zip(shapes)
            .map(|(i, shape)| Primitive {
                shape,
                material: 0,
                first_light: None,
                alpha: None,
                flip: i % 3 == 0,
                media: None,
            })
            .collect();
        let world = 0..primitives.len() as u32;
        let instances =
            vec![Instance { group: 0, transform: mirror, first_light: 0, motion: None }];
        let group = 0..1;
        let geometry = Geometry {
            primitives,
            world: world.clone(),
            groups: vec![group],
            instances,
            ..Geometry::default()
        };
        let targets = world.map(|primitive| (primitive, Hit::NONE)).chain([(0, 0), (3, 0)]);
        let mut hits: Vec<(Hit, Ray)> = Vec::new();
        for (k, (primitive, instance)) in (0..).zip(targets) {
            for (i, (at, d)) in (0..).zip(points(70, k).zip(points(70, k + 100))) {
                let element = i % geometry.primitives[primitive as usize].shape.len();
                let (u, v) = (at.x.min(at.y), (at.x - at.y).abs());
                let ray = Ray::new(Vec3::ZERO, vec3(d.x, d.y - 0.5, 0.4).normalize());
                let hit = Hit { t: 1.0, u, v, w: 0.0, primitive, element, instance, time: d.x };
                hits.push((hit, ray));
            }
        }
        // Groups with hits of one target, and mixed groups; some do not fill all lanes.
        let mut mixed = hits.clone();
        mixed.sort_by_key(|(hit, _)| (hit.u.to_bits(), hit.primitive));
        let (mut input, mut output) = (TriangleColumns::default(), InteractionColumns::default());
        let groups = hits.chunks(70).flat_map(|hits| hits.chunks(COLUMN_LEN));
        for hits in groups.chain([&hits[..0], &hits[..1]]).chain(mixed.chunks(COLUMN_LEN)) {
            let pairs = hits.iter().map(|(hit, ray)| (hit, ray));
            geometry.interactions(pairs, &mut input, &mut output);
            for (lane, (hit, ray)) in hits.iter().enumerate() {
                let surface = geometry.surface(hit, ray.d);
                let wo = surface.frame.local_direction(-ray.d);
                let interaction = (output.surface(lane), output.wo.get(lane));
                assert_eq!(interaction, (surface, wo), "{hit:?}");
                assert_eq!(geometry.geometric_normal(hit, ray.d), surface.ng, "{hit:?}");
            }
        }
    }
}
