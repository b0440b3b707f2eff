//! Ray packets: up to 16 rays are tested together against a box or a triangle (Wald et al. 2001,
//! *Interactive Rendering with Coherent Ray Tracing*).
//!
//! The rays of a packet share the signs of their directions and their longest axis ([`ray_class`]).
//! They enter boxes through the same planes and project triangles along the same axis. Each lane
//! performs the operations of [`Bvh::traverse`] and [`RayFrame::intersect`] in the same order, so
//! results are bit-identical.
//!
//! Once few rays of a packet enter a node, its subtree is traversed by one ray at a time (Benthin
//! et al. 2012, *Combining Single and Packet-Ray Tracing for Arbitrary Ray Distributions on the
//! Intel MIC Architecture*).

use super::is_traceable;
use super::tree::{
    Bvh, BvhNode, FAR_ROUNDING_SCALE, LEAF_FLAG, SHORT_STACK_LEN, SlabTest, StackEntry,
};
use super::triangles::{RayFrame, TriangleBlock, axes, longest_axis};
use crate::geometry::watertight::{FloatLanes, TriangleTest, to_ray_frame};
use fearless_simd::{Select, Simd, SimdBase, SimdMask, f32x16};
use lightbound_math::{Ray, vec3};

/// Maximum number of rays in a packet.
pub(super) const MAX_PACKET_RAYS: usize = 16;

/// Minimum number of rays in a node at which its subtree is traversed by the packet, rather than
/// by one ray at a time.
const MIN_RAYS_PER_NODE: u32 = 5;

/// Number of ray classes: 8 octants times 3 longest axes; see [`ray_class`].
const RAY_CLASSES: usize = 24;

/// One float per ray.
pub(super) type FloatPacket<S> = f32x16<S>;

/// Returns the class of a ray; rays of one class may share a packet. The class encodes the signs
/// and the longest axis of the direction. It is [`RAY_CLASSES`] if the ray cannot be traced.
#[inline(always)]
fn ray_class(ray: &Ray) -> usize {
    let signs = ray.d.extend(0.0).is_negative_bitmask();
    if is_traceable(ray) { 8 * longest_axis(ray.d) + signs as usize } else { RAY_CLASSES }
}

/// Calls `f` with the indices of the rays of each class among at most [`MAX_PACKET_RAYS`] rays.
/// Rays that cannot be traced are left out.
#[inline(always)]
pub(super) fn for_each_class(rays: &[Ray], mut f: impl FnMut(&[u32])) {
    let mut classes = [RAY_CLASSES as u8; MAX_PACKET_RAYS];
    classes.iter_mut().zip(rays).for_each(|(class, ray)| *class = ray_class(ray) as u8);
    let rays =
        |class: u8| (0..MAX_PACKET_RAYS).map(|k| u32::from(classes[k] == class) << k).sum::<u32>();
    let mut rest = !rays(RAY_CLASSES as u8) & ((1 << MAX_PACKET_RAYS) - 1);
    while rest != 0 {
        let mut same = rays(classes[rest.trailing_zeros() as usize]);
        rest &= !same;
        let (mut indices, mut count) = ([0; MAX_PACKET_RAYS], 0);
        while let Some(ray) = take_bit(&mut same) {
            indices[count] = ray as u32;
            count += 1;
        }
        f(&indices[..count]);
    }
}

/// Returns ray indices sorted by class, and the start of each class. The last start is the end of
/// the traceable rays.
pub(super) fn sort_by_class(rays: &[Ray]) -> (Vec<u32>, [usize; RAY_CLASSES + 1]) {
    // Rays that cannot be traced come last.
    let mut starts = [0; RAY_CLASSES + 1];
    let count = |ray| {
        let class = ray_class(ray);
        starts[class] += 1;
        class as u8
    };
    let classes: Vec<u8> = rays.iter().map(count).collect();
    let mut sum = 0;
    for start in &mut starts {
        sum += std::mem::replace(start, sum);
    }
    let (mut next, mut order) = (starts, vec![0; rays.len()]);
    for (index, &class) in (0..).zip(&classes) {
        let position = &mut next[class as usize];
        order[*position] = index;
        *position += 1;
    }
    (order, starts)
}

/// Rays of one class, prepared for slab tests and triangles.
pub(super) struct Packet<'a, S: Simd> {
    simd: S,
    rays: &'a [Ray; MAX_PACKET_RAYS],
    origin: [FloatPacket<S>; 3],
    inverse: [FloatPacket<S>; 3],
    inverse_far: [FloatPacket<S>; 3],
    /// Whether rays enter boxes through the upper plane of each axis.
    upper: [bool; 3],
    tmin: FloatPacket<S>,
    /// See [`axes`].
    axes: [usize; 3],
    shear: [FloatPacket<S>; 3],
}

/// Stack of nodes to visit, with their entry distances; reused between packets.
pub(super) struct TraversalStack<'s, S: Simd> {
    near: &'s mut [FloatPacket<S>],
    node: &'s mut [u32],
    /// Stack of the traversal with a single ray.
    single: &'s mut [StackEntry],
}

/// Calls `f` with a stack for the traversal of `tree`.
#[inline(always)]
pub(super) fn with_stack<S: Simd>(
    simd: S,
    tree: &Bvh<impl Sized>,
    f: impl FnOnce(&mut TraversalStack<S>),
) {
    let (zero, entry) = (FloatPacket::splat(simd, 0.0), StackEntry::default());
    if tree.stack_len <= SHORT_STACK_LEN {
        let (mut near, mut node) = ([zero; SHORT_STACK_LEN], [0; SHORT_STACK_LEN]);
        let mut single = [entry; SHORT_STACK_LEN];
        f(&mut TraversalStack { near: &mut near, node: &mut node, single: &mut single });
    } else {
        let (mut near, mut node) = (vec![zero; tree.stack_len], vec![0; tree.stack_len]);
        let mut single = vec![entry; tree.stack_len];
        f(&mut TraversalStack { near: &mut near, node: &mut node, single: &mut single });
    }
}

/// Removes the lowest set bit of a lane mask and returns its index.
#[inline(always)]
pub(super) fn take_bit(mask: &mut u32) -> Option<usize> {
    let lowest = (*mask != 0).then(|| mask.trailing_zeros() as usize & (MAX_PACKET_RAYS - 1));
    *mask &= mask.wrapping_sub(1);
    lowest
}

/// Hits of a packet with one triangle; `mask` has a bit for each ray that hits.
pub(super) struct PacketHits<S: Simd> {
    pub(super) mask: u32,
    pub(super) t: FloatPacket<S>,
    pub(super) u: FloatPacket<S>,
    pub(super) v: FloatPacket<S>,
}

impl<'a, S: Simd> Packet<'a, S> {
    /// Prepares `count` traceable rays of one class; the other rays repeat one of them. Returns the
    /// packet with the inclusive ends of the segments, −∞ for the other rays.
    #[inline(always)]
    pub(super) fn new(
        simd: S,
        rays: &'a [Ray; MAX_PACKET_RAYS],
        count: usize,
    ) -> (Packet<'a, S>, FloatPacket<S>) {
        let mut columns = [[0.0; MAX_PACKET_RAYS]; 8];
        for (lane, Ray { o, tmin, d, tmax, .. }) in rays.iter().enumerate() {
            let end = if lane < count { tmax.next_down() } else { f32::NEG_INFINITY };
            let fields = [o.x, o.y, o.z, *tmin, d.x, d.y, d.z, end];
            columns.iter_mut().zip(fields).for_each(|(column, x)| column[lane] = x);
        }
        let load = |k: usize| FloatPacket::from_slice(simd, &columns[k]);
        let one = FloatPacket::splat(simd, 1.0);
        let d = [load(4), load(5), load(6)];
        let inverse = [one / d[0], one / d[1], one / d[2]];
        let far = FAR_ROUNDING_SCALE;
        let axes = axes(&rays[0]);
        let [x, y, z] = axes;
        let packet = Packet {
            simd,
            rays,
            origin: [load(0), load(1), load(2)],
            inverse,
            inverse_far: [inverse[0] * far, inverse[1] * far, inverse[2] * far],
            upper: std::array::from_fn(|axis| rays[0].d[axis].is_sign_negative()),
            tmin: load(3),
            axes,
            shear: [d[x] / d[z], d[y] / d[z], one / d[z]],
        };
        (packet, load(7))
    }

    /// Calls `visit` with each leaf that rays enter before their ends, near leaves first, and a bit
    /// mask of these rays. `visit` updates the ends; an end before a ray's start terminates the ray.
    #[inline(always)]
    pub(super) fn traverse<L>(
        &self,
        tree: &Bvh<L>,
        end: &mut FloatPacket<S>,
        stack: &mut TraversalStack<'_, S>,
        mut visit: impl FnMut(&L, u32, &mut FloatPacket<S>),
    ) {
        if tree.nodes.is_empty() {
            return;
        }
        (stack.near[0], stack.node[0]) = (self.tmin, 0);
        let mut top = 1;
        while top > 0 {
            top -= 1;
            let (near, node) = (stack.near[top], stack.node[top]);
            let lanes = near.simd_le(*end).to_bitmask() as u32;
            if lanes == 0 {
                continue;
            }
            if node & LEAF_FLAG != 0 {
                visit(&tree.leaves[(node & !LEAF_FLAG) as usize], lanes, end);
                continue;
            }
            if lanes.count_ones() < MIN_RAYS_PER_NODE {
                let mut lanes = lanes;
                while let Some(lane) = take_bit(&mut lanes) {
                    self.traverse_single(tree, node, lane, end, stack.single, &mut visit);
                }
                continue;
            }
            // Child hits are hard to predict, so the push is branch-free.
            let node = &tree.nodes[node as usize];
            for slot in node.farthest_first(self.axes[2], !self.upper[self.axes[2]]) {
                let (near, any_hit) = self.enter(node, slot, *end);
                stack.near[top] = near;
                stack.node[top] = node.children[slot];
                tree.prefetch(node.children[slot]);
                top += usize::from(any_hit);
            }
        }
    }

    /// Traverses the subtree of a node with the ray of a lane, like
    /// [`traverse`](Self::traverse).
    #[inline(always)]
    fn traverse_single<L>(
        &self,
        tree: &Bvh<L>,
        node: u32,
        lane: usize,
        end: &mut FloatPacket<S>,
        stack: &mut [StackEntry],
        visit: &mut impl FnMut(&L, u32, &mut FloatPacket<S>),
    ) {
        let [x, y, z] = &self.inverse;
        let slab = SlabTest::new(self.simd, &self.rays[lane], vec3(x[lane], y[lane], z[lane]));
        let first_end = end[lane];
        tree.traverse_from(
            node,
            &slab,
            first_end,
            stack,
            #[inline(always)]
            |leaf, _| {
                visit(leaf, 1 << lane, end);
                end[lane]
            },
        );
    }

    /// Returns the ray parameters at which rays enter a child's box, ∞ for rays that miss it, and
    /// whether any ray hits it.
    #[inline(always)]
    fn enter(&self, node: &BvhNode, slot: usize, end: FloatPacket<S>) -> (FloatPacket<S>, bool) {
        let (mut near, mut far) = (self.tmin, end);
        for axis in 0..3 {
            let upper = self.upper[axis];
            let (near_plane, far_plane) =
                (node.plane(axis, upper, slot), node.plane(axis, !upper, slot));
            near = ((FloatPacket::splat(self.simd, near_plane) - self.origin[axis])
                * self.inverse[axis])
                .max(near);
            far = ((FloatPacket::splat(self.simd, far_plane) - self.origin[axis])
                * self.inverse_far[axis])
                .min(far);
        }
        let hit = near.simd_le(far);
        (hit.select(near, FloatPacket::splat(self.simd, f32::INFINITY)), hit.to_bitmask() != 0)
    }

    /// Returns the ray of a lane, prepared for the triangle test.
    #[inline(always)]
    pub(super) fn ray_frame(&self, lane: usize) -> RayFrame {
        RayFrame::from_shear(&self.rays[lane], self.axes, self.shear.map(|shear| shear[lane]))
    }

    /// Returns the SIMD level.
    pub(super) fn simd(&self) -> S {
        self.simd
    }

    /// Returns the ray of a lane.
    pub(super) fn ray(&self, lane: usize) -> &Ray {
        &self.rays[lane]
    }

    /// Transforms a vertex of a triangle to the rays' frames.
    // Not a closure: closures that are not inlined are compiled without the target's SIMD features.
    #[inline(always)]
    fn to_frames(
        &self,
        block: &TriangleBlock,
        vertex: usize,
        triangle: usize,
    ) -> [FloatPacket<S>; 3] {
        let [x, y, z] = self.axes;
        let coordinates = [
            FloatPacket::splat(self.simd, block.coordinate(vertex, x, triangle)),
            FloatPacket::splat(self.simd, block.coordinate(vertex, y, triangle)),
            FloatPacket::splat(self.simd, block.coordinate(vertex, z, triangle)),
        ];
        to_ray_frame(coordinates, [self.origin[x], self.origin[y], self.origin[z]], &self.shear)
    }

    /// Tests a triangle of a block against the rays in `lanes`, like [`RayFrame::intersect`].
    #[inline(always)]
    pub(super) fn intersect(
        &self,
        block: &TriangleBlock,
        triangle: usize,
        lanes: u32,
        end: FloatPacket<S>,
    ) -> PacketHits<S> {
        let vertices = [
            self.to_frames(block, 0, triangle),
            self.to_frames(block, 1, triangle),
            self.to_frames(block, 2, triangle),
        ];
        let TriangleTest { weights: [_, v, w], det, t_det, outside } =
            TriangleTest::new(&vertices, lanes);
        let inverse = FloatPacket::splat(self.simd, 1.0) / det;
        let t = t_det * inverse;
        let inside = t.simd_ge(self.tmin) & t.simd_le(end) & !det.simd_eq(0.0);
        let mask = inside.to_bitmask() as u32 & !outside & lanes;
        PacketHits { mask, t, u: v * inverse, v: w * inverse }
    }
}

impl<S: Simd> FloatLanes for FloatPacket<S> {
    #[inline(always)]
    fn any_zero([a, b, c]: [Self; 3]) -> u32 {
        (a.simd_eq(0.0) | b.simd_eq(0.0) | c.simd_eq(0.0)).to_bitmask() as u32
    }

    #[inline(always)]
    fn signs_differ([a, b, c]: [Self; 3]) -> u32 {
        let (min, max) = (a.min(b).min(c), a.max(b).max(c));
        (min.simd_lt(0.0) & max.simd_gt(0.0)).to_bitmask() as u32
    }

    #[inline(always)]
    fn get(&self, lane: usize) -> f32 {
        self[lane]
    }

    #[inline(always)]
    fn set(&mut self, lane: usize, value: f32) {
        self[lane] = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lightbound_math::Vec3;
    use lightbound_math::sampling::testing::points;

    #[test]
    fn sorted_rays_share_signs_and_axes_within_a_class() {
        let mut rays: Vec<Ray> = points(500, 1)
            .zip(points(500, 2))
            .map(|(a, b)| {
                Ray::new(
                    Vec3::ZERO,
                    vec3(a.x - 0.5, a.y - 0.5, if b.x < 0.1 { -0.0 } else { b.y - 0.5 }),
                )
            })
            .collect();
        rays[77].d = Vec3::ZERO;
        rays[78].o.x = f32::NAN;
        let (order, starts) = sort_by_class(&rays);
        let mut traced = order[..starts[RAY_CLASSES]].to_vec();
        for range in starts.windows(2) {
            let group = order[range[0]..range[1]].iter().map(|&index| &rays[index as usize]);
            let class =
                |ray: &Ray| (axes(ray), ray.d.to_array().map(|x| (1.0 / x).is_sign_negative()));
            assert!(group.clone().zip(group.skip(1)).all(|(a, b)| class(a) == class(b)));
        }
        traced.sort_unstable();
        assert_eq!(traced, (0..500).filter(|index| ![77, 78].contains(index)).collect::<Vec<_>>());
    }
}
