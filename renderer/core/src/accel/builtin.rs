//! The built-in acceleration structure: a BVH per group, and one over the instances.
//!
//! Triangles are stored in BVH order in blocks of four ([`TriangleBlock`]); other shapes, and
//! triangles with moving vertices, are tested one at a time. A triangle takes 44 bytes in full
//! blocks, and about 80 bytes on average with the nodes; rays do not access the mesh itself. Where
//! surfaces coincide, the one with the lowest indices is hit, so results do not depend on the BVH.

use super::builder::Element;
use super::packet::{
    FloatPacket, MAX_PACKET_RAYS, Packet, TraversalStack, for_each_class, sort_by_class, take_bit,
    with_stack,
};
use super::query::{AnyHits, LaneHit, NearestHits, PacketQuery, update_nearest};
use super::tree::Bvh;
use super::triangles::{RayFrame, TriangleBlock};
use super::{Accel, builder, nearest_accepted, to_local};
use crate::geometry::{Geometry, Hit, Shape, ShapeHit};
use fearless_simd::{Level, Simd, dispatch};
use lightbound_math::{Aabb, Ray, simd_level};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// BVHs over a [`Geometry`].
pub(super) struct Builtin {
    geometry: Arc<Geometry>,
    world: Group,
    groups: Vec<Group>,
    /// BVH over the instances; leaves are indices of instances.
    instances: Bvh<u32>,
    bounds: Aabb,
}

/// BVHs over one range of primitives.
struct Group {
    /// BVH over all triangles whose vertices do not move.
    triangles: Bvh<TriangleBlock>,
    /// BVH over all other elements; leaves are pairs of primitive and element.
    shapes: Bvh<(u32, u32)>,
    /// Whether any primitive needs the alpha test.
    has_alpha: bool,
}

impl Builtin {
    /// Builds all BVHs in parallel, on the current rayon pool.
    pub(super) fn new(geometry: Arc<Geometry>) -> Builtin {
        let (world, groups) = rayon::join(
            || Group::new(&geometry, geometry.world.clone()),
            || {
                geometry
                    .groups
                    .par_iter()
                    .map(|range| Group::new(&geometry, range.clone()))
                    .collect::<Vec<_>>()
            },
        );
        let instances = 0..geometry.instances.len();
        Builtin::with_instances(geometry, world, groups, instances)
    }

    /// Builds the BVHs of moving instances only, in parallel.
    pub(super) fn of_moving_instances(geometry: Arc<Geometry>) -> Builtin {
        let instances = geometry.moving_instances();
        let mut moves = vec![false; geometry.groups.len()];
        for instance in &geometry.instances[instances.clone()] {
            moves[instance.group as usize] = true;
        }
        let groups = (geometry.groups.par_iter().zip(moves))
            .map(|(range, moves)| Group::new(&geometry, if moves { range.clone() } else { 0..0 }))
            .collect();
        let world = Group::new(&geometry, 0..0);
        Builtin::with_instances(geometry, world, groups, instances)
    }

    fn with_instances(
        geometry: Arc<Geometry>,
        world: Group,
        groups: Vec<Group>,
        instances: Range<usize>,
    ) -> Builtin {
        let element = |index: usize| {
            let instance = &geometry.instances[index];
            let bounds = groups[instance.group as usize].bounds();
            Element::new(&geometry.instance_aabb(instance, bounds), index as u32)
        };
        let mut elements: Vec<Element> = instances.map(element).collect();
        elements.retain(Element::is_usable);
        let instances = builder::build(elements, 1, |indices| indices[0]);
        let bounds = world.bounds().union(instances.bounds);
        Builtin { geometry, world, groups, instances, bounds }
    }

    /// Calls `report_hit` with candidate hits on the segment. `report_hit` returns the new end of
    /// the segment; an end before its start stops the traversal.
    #[inline(always)]
    fn trace<S: Simd>(&self, simd: S, ray: &Ray, mut report_hit: impl FnMut(Hit) -> f32) {
        if !super::is_traceable(ray) {
            return;
        }
        // From here on the segment includes its end, so that all hits at the same distance are
        // candidates.
        let end = ray.tmax.next_down();
        let end = self.world.trace(simd, &self.geometry, ray, end, Hit::NONE, &mut report_hit);
        if !self.geometry.instances.is_empty() && end >= ray.tmin {
            self.trace_instances(simd, ray, end, &mut report_hit);
        }
    }

    /// Traces a batch of rays in packets. Returns `false`, without tracing, if single rays are
    /// faster.
    fn trace_batch(&self, rays: &[Ray], query: impl PacketQuery) -> bool {
        match simd_level() {
            _ if rays.len() < MIN_PACKET_RAYS || self.world.triangles.nodes.is_empty() => {
                return false;
            }
            #[cfg(target_arch = "x86_64")]
            Level::Avx512(simd) => simd.vectorize(
                #[inline(always)]
                || self.trace_packets(simd, rays, query),
            ),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2(simd) => simd.vectorize(
                #[inline(always)]
                || self.trace_packets(simd, rays, query),
            ),
            _ => return false,
        }
        true
    }

    #[inline(always)]
    fn trace_packets<S: Simd>(&self, simd: S, rays: &[Ray], mut query: impl PacketQuery) {
        with_stack(
            simd,
            &self.world.triangles,
            #[inline(always)]
            |stack| {
                if rays.len() <= MAX_PACKET_RAYS {
                    for_each_class(
                        rays,
                        #[inline(always)]
                        |indices| self.trace_class(simd, rays, indices, stack, &mut query),
                    );
                    return;
                }
                let (order, starts) = sort_by_class(rays);
                for class in starts.windows(2) {
                    for indices in order[class[0]..class[1]].chunks(MAX_PACKET_RAYS) {
                        self.trace_class(simd, rays, indices, stack, &mut query);
                    }
                }
            },
        );
    }

    /// Traces up to [`MAX_PACKET_RAYS`] rays of one class, given by their indices: in a packet, or
    /// one by one if they are few.
    #[inline(always)]
    fn trace_class<S: Simd>(
        &self,
        simd: S,
        rays: &[Ray],
        indices: &[u32],
        stack: &mut TraversalStack<'_, S>,
        query: &mut impl PacketQuery,
    ) {
        if indices.len() < MIN_PACKET_RAYS {
            for &index in indices {
                let index = index as usize;
                self.trace(simd, &rays[index], |hit| query.report_hit(index, hit));
            }
            return;
        }
        let mut packet_rays = [rays[indices[0] as usize]; MAX_PACKET_RAYS];
        packet_rays.iter_mut().zip(indices).for_each(|(ray, &index)| *ray = rays[index as usize]);
        let (packet, mut end) = Packet::new(simd, &packet_rays, indices.len());
        packet.traverse(
            &self.world.triangles,
            &mut end,
            stack,
            #[inline(always)]
            |block, lanes, end| {
                self.world.intersect_leaf(&self.geometry, &packet, block, lanes, end, query)
            },
        );
        query.end_packet(&packet_rays, indices);
        if self.world.shapes.nodes.is_empty() && self.geometry.instances.is_empty() {
            return;
        }
        for (lane, ray) in packet_rays[..indices.len()].iter().enumerate() {
            let index = indices[lane] as usize;
            let mut report_hit = |hit| query.report_hit(index, hit);
            let mut end = end[lane];
            if end >= ray.tmin && !self.world.shapes.nodes.is_empty() {
                end = self.world.trace_shapes(
                    simd,
                    &self.geometry,
                    ray,
                    end,
                    Hit::NONE,
                    &mut report_hit,
                );
            }
            if end >= ray.tmin && !self.geometry.instances.is_empty() {
                self.trace_instances(simd, ray, end, &mut report_hit);
            }
        }
    }

    /// Traces a ray through the instances. Not inlined, to keep the common path short.
    #[inline(never)]
    fn trace_instances<S: Simd>(
        &self,
        simd: S,
        ray: &Ray,
        end: f32,
        report_hit: &mut impl FnMut(Hit) -> f32,
    ) {
        simd.vectorize(
            #[inline(always)]
            || {
                self.instances.traverse(simd, ray, end, |&index, end| {
                    let transform = self.geometry.instance_transform(index, ray.time);
                    let local = to_local(ray, &transform);
                    if !super::is_traceable(&local) {
                        return end;
                    }
                    let instance = &self.geometry.instances[index as usize];
                    let group = &self.groups[instance.group as usize];
                    group.trace(simd, &self.geometry, &local, end, index, report_hit)
                });
            },
        );
    }
}

impl Group {
    fn new(geometry: &Geometry, range: Range<u32>) -> Group {
        let primitives = &geometry.primitives[range.start as usize..range.end as usize];
        // Elements of all primitives are numbered consecutively. `starts` has the first number of
        // each primitive.
        let (mut triangles, mut shapes, mut starts) = (Vec::new(), Vec::new(), vec![0u32]);
        for primitive in primitives {
            let first = starts[starts.len() - 1];
            let shape = &primitive.shape;
            if let Shape::Mesh(mesh) = shape
                && !mesh.moves()
            {
                let bounds = |t: usize| {
                    let vertices = mesh.triangles()[t].map(|i| mesh.positions()[i as usize]);
                    Element::new(&Aabb::around(vertices), first + t as u32)
                };
                triangles.par_extend((0..mesh.triangles().len()).into_par_iter().map(bounds));
            } else {
                let bounds = |e: u32| Element::new(&shape.aabb(e), first + e);
                shapes.par_extend((0..shape.len()).into_par_iter().map(bounds));
            }
            starts.push(first + shape.len());
        }
        triangles.retain(Element::is_usable);
        shapes.retain(Element::is_usable);
        // Returns primitive and element.
        let locate = |number: u32| {
            let primitive = starts.partition_point(|&start| start <= number) - 1;
            (range.start + primitive as u32, number - starts[primitive])
        };
        let triangles = builder::build(triangles, 4, |numbers| {
            let mut block = TriangleBlock::EMPTY;
            for (lane, &number) in numbers.iter().enumerate() {
                let (primitive, element) = locate(number);
                if let Shape::Mesh(mesh) = &geometry.primitives[primitive as usize].shape {
                    let vertices = mesh.triangles()[element as usize];
                    let corners = vertices.map(|i| mesh.positions()[i as usize]);
                    block.set(lane, &corners, primitive, element);
                }
            }
            block
        });
        let shapes = builder::build(shapes, 1, |numbers| locate(numbers[0]));
        let has_alpha = primitives.iter().any(|p| p.alpha.is_some());
        Group { triangles, shapes, has_alpha }
    }

    fn bounds(&self) -> Aabb {
        self.triangles.bounds.union(self.shapes.bounds)
    }

    fn memory_bytes(&self) -> usize {
        self.triangles.memory_bytes() + self.shapes.memory_bytes()
    }

    /// Reports the candidates between `ray.tmin` and `end` on a ray in the group's space. Returns
    /// the last end that `report_hit` returned.
    #[inline(always)]
    fn trace<S: Simd>(
        &self,
        simd: S,
        geometry: &Geometry,
        ray: &Ray,
        mut end: f32,
        instance: u32,
        report_hit: &mut impl FnMut(Hit) -> f32,
    ) -> f32 {
        let frame = RayFrame::new(ray);
        self.triangles.traverse(simd, ray, end, |block, tmax| {
            let hits = frame.intersect(block, tmax);
            let mut mask = hits.mask;
            while let Some(lane) = take_bit(&mut mask) {
                let lane = lane & 3;
                let (t, u, v) = (hits.t[lane], hits.u[lane], hits.v[lane]);
                let (primitive, element) = (block.primitive[lane], block.element[lane]);
                if t <= end
                    && (!self.has_alpha
                        || geometry.passes_alpha_test(ray, primitive, element, [u, v, 0.0]))
                {
                    let (w, time) = (0.0, ray.time);
                    end = report_hit(Hit { t, u, v, w, primitive, element, instance, time });
                }
            }
            end
        });
        if self.shapes.nodes.is_empty() || end < ray.tmin {
            return end;
        }
        self.trace_shapes(simd, geometry, ray, end, instance, report_hit)
    }

    /// Reports hits of the rays in `lanes` of a packet with the triangles of a leaf; stores the new
    /// ends in `end`.
    #[inline(always)]
    fn intersect_leaf<S: Simd>(
        &self,
        geometry: &Geometry,
        packet: &Packet<S>,
        block: &TriangleBlock,
        mut lanes: u32,
        end: &mut FloatPacket<S>,
        query: &mut impl PacketQuery,
    ) {
        let passes_alpha_test = |hit: &LaneHit| {
            let ([primitive, element], ray) = (hit.triangle, packet.ray(hit.lane));
            geometry.passes_alpha_test(ray, primitive, element, [hit.u, hit.v, 0.0])
        };
        if lanes.count_ones() < MIN_RAYS_PER_LEAF {
            while let Some(lane) = take_bit(&mut lanes) {
                let mut hits = packet.ray_frame(lane).intersect(block, end[lane]);
                while let Some(k) = take_bit(&mut hits.mask) {
                    let (t, u, v) = (hits.t[k], hits.u[k], hits.v[k]);
                    let hit = LaneHit { lane, t, u, v, triangle: block.triangle(k) };
                    if t <= end[lane] && (!self.has_alpha || passes_alpha_test(&hit)) {
                        end[lane] = query.report_lane(&hit);
                    }
                }
            }
            return;
        }
        for k in (0..4).take_while(|&k| block.primitive[k] != u32::MAX) {
            let mut hits = packet.intersect(block, k, lanes, *end);
            if hits.mask == 0 {
                continue;
            }
            let triangle = block.triangle(k);
            if !self.has_alpha {
                query.report_packet(packet.simd(), &hits, triangle, end);
                continue;
            }
            while let Some(lane) = take_bit(&mut hits.mask) {
                let hit =
                    LaneHit { lane, t: hits.t[lane], u: hits.u[lane], v: hits.v[lane], triangle };
                if passes_alpha_test(&hit) {
                    end[lane] = query.report_lane(&hit);
                }
            }
        }
    }

    /// Reports the candidates among elements that are tested one at a time.
    #[inline(never)]
    fn trace_shapes<S: Simd>(
        &self,
        simd: S,
        geometry: &Geometry,
        ray: &Ray,
        mut end: f32,
        instance: u32,
        report_hit: &mut impl FnMut(Hit) -> f32,
    ) -> f32 {
        simd.vectorize(
            #[inline(always)]
            || {
                self.shapes.traverse(simd, ray, end, |&(primitive, element), tmax| {
                    let ray = Ray { tmax, ..*ray };
                    if let Some(hit) = nearest_accepted(geometry, primitive, element, &ray) {
                        let ShapeHit { t, u, v, w } = hit;
                        end = report_hit(Hit {
                            t,
                            u,
                            v,
                            w,
                            primitive,
                            element,
                            instance,
                            time: ray.time,
                        });
                    }
                    end
                });
            },
        );
        end
    }
}

/// Minimum number of rays of a batch, and of those of one class, that are traced in packets.
const MIN_PACKET_RAYS: usize = 6;

/// Minimum number of active rays at which a leaf is tested triangle by triangle (all rays against
/// one triangle) instead of ray by ray.
const MIN_RAYS_PER_LEAF: u32 = 6;

impl Builtin {
    /// Returns the nearest of `hit` and the hits on the segment.
    pub(super) fn nearest(&self, ray: &Ray, mut hit: Hit) -> Hit {
        // The end of a segment is exclusive.
        let tmax = if hit.t < ray.tmax { hit.t.next_up() } else { ray.tmax };
        let segment = Ray { tmax, ..*ray };
        let mut report_hit = |candidate| update_nearest(candidate, &mut hit);
        dispatch!(simd_level(), simd => self.trace(simd, &segment, &mut report_hit));
        hit
    }
}

impl Accel for Builtin {
    fn intersect(&self, ray: &Ray) -> Hit {
        self.nearest(ray, Hit::MISS)
    }

    fn intersect_batch(&self, rays: &[Ray], hits: &mut Vec<Hit>) {
        hits.clear();
        hits.resize(rays.len(), Hit::MISS);
        if !self.trace_batch(rays, NearestHits::new(hits)) {
            hits.iter_mut().zip(rays).for_each(|(hit, ray)| *hit = self.intersect(ray));
        }
    }

    fn occluded_batch(&self, rays: &[Ray], blocked: &mut Vec<bool>) {
        blocked.clear();
        blocked.resize(rays.len(), false);
        if !self.trace_batch(rays, AnyHits::new(blocked)) {
            blocked.iter_mut().zip(rays).for_each(|(blocked, ray)| *blocked = self.occluded(ray));
        }
    }

    fn occluded(&self, ray: &Ray) -> bool {
        let mut blocked = false;
        let mut report_hit = |_| {
            blocked = true;
            f32::NEG_INFINITY
        };
        dispatch!(simd_level(), simd => self.trace(simd, ray, &mut report_hit));
        blocked
    }

    fn bounds(&self) -> Aabb {
        self.bounds
    }

    fn memory_bytes(&self) -> usize {
        let groups = self
            .groups
            .iter()
            .chain([&self.world])
            .map(|g| g.memory_bytes() + size_of::<Group>())
            .sum::<usize>();
        groups + self.instances.memory_bytes()
    }

    fn name(&self) -> &'static str {
        "builtin"
    }
}
