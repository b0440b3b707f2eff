//! Up to 16 rays at a time against one box or one triangle (Wald et al. 2001, *Interactive
//! Rendering with Coherent Ray Tracing*).
//!
//! The rays of a packet have the signs of their directions in common, and the axis along which
//! these are longest ([`octant`]), so that all enter boxes by the same planes and see triangles
//! from the same axis. Each lane computes what [`Tree::traverse`] and [`Shear::intersect`] compute
//! for a ray alone, in the same order of operations: answers are the same bits.
//!
//! Packets pay even for rays that go anywhere within an octant. To sort the rays of an octant by
//! where they start as well, and to let single rays of a packet go on alone, takes a quarter of the
//! nodes away, and as much time as it saves.

use super::is_traceable;
use super::tree::{FAR_SCALE, LEAF, Node, Tree};
use super::triangles::{Block, Shear, axes, longest};
use crate::math::Ray;
use fearless_simd::{Select, Simd, SimdBase, SimdMask, f32x16};

/// Most rays of a packet.
pub(super) const WIDTH: usize = 16;

/// Kinds of packets, see [`octant`].
const OCTANTS: usize = 24;

/// A number for each ray.
pub(super) type Floats<S> = f32x16<S>;

/// Which rays may share a packet: a number below [`OCTANTS`] for the signs of the direction and its
/// longest axis; [`OCTANTS`] for rays that cannot be traced.
#[inline(always)]
fn octant(ray: &Ray) -> usize {
    let signs = ray.d.extend(0.0).is_negative_bitmask();
    if is_traceable(ray) { 8 * longest(ray.d) + signs as usize } else { OCTANTS }
}

/// The indices of rays that can be traced, sorted by octants; where each octant starts, and the
/// last one ends.
pub(super) fn by_octant(rays: &[Ray]) -> (Vec<u32>, [usize; OCTANTS + 1]) {
    // Those that cannot be traced come last.
    let octants: Vec<u8> = rays.iter().map(|ray| octant(ray) as u8).collect();
    let mut starts = [0; OCTANTS + 1];
    octants.iter().for_each(|&octant| starts[octant as usize] += 1);
    let mut sum = 0;
    for start in &mut starts {
        sum += std::mem::replace(start, sum);
    }
    let (mut next, mut order) = (starts, vec![0; rays.len()]);
    for (index, &octant) in (0..).zip(&octants) {
        let at = &mut next[octant as usize];
        order[*at] = index;
        *at += 1;
    }
    (order, starts)
}

/// Rays of one octant, prepared for slab tests and triangles.
pub(super) struct Packet<'a, S: Simd> {
    simd: S,
    rays: &'a [Ray],
    origin: [Floats<S>; 3],
    inverse: [Floats<S>; 3],
    inverse_far: [Floats<S>; 3],
    /// Whether the upper plane of an axis is the near one.
    upper: [bool; 3],
    tmin: Floats<S>,
    axes: [usize; 3],
    shear: [Floats<S>; 3],
}

/// Nodes that some rays get to, and where they do. A buffer.
pub(super) struct Stack<S: Simd> {
    near: Vec<Floats<S>>,
    node: Vec<u32>,
}

impl<S: Simd> Stack<S> {
    /// With room for a tree's traversal.
    #[inline(always)]
    pub(super) fn new(simd: S, tree: &Tree) -> Stack<S> {
        Stack { near: vec![Floats::splat(simd, 0.0); tree.stack], node: vec![0; tree.stack] }
    }
}

/// Parameters of the rays that met a triangle, of which `mask` has a bit each.
pub(super) struct Met<S: Simd> {
    pub(super) mask: u32,
    pub(super) t: Floats<S>,
    pub(super) u: Floats<S>,
    pub(super) v: Floats<S>,
}

impl<'a, S: Simd> Packet<'a, S> {
    /// Of finite rays that go somewhere, all of one octant.
    #[inline(always)]
    pub(super) fn new(simd: S, rays: &'a [Ray]) -> Packet<'a, S> {
        let first = rays[0];
        // Lanes without a ray repeat the first one; their segments have no end.
        let ray = |lane: usize| rays.get(lane).unwrap_or(&first);
        let one = Floats::splat(simd, 1.0);
        let d: [Floats<S>; 3] =
            std::array::from_fn(|axis| Floats::from_fn(simd, |lane| ray(lane).d[axis]));
        let inverse = d.map(|d| one / d);
        let axes = axes(&first);
        let [x, y, z] = axes;
        Packet {
            simd,
            rays,
            origin: std::array::from_fn(|axis| Floats::from_fn(simd, |lane| ray(lane).o[axis])),
            inverse,
            inverse_far: inverse.map(|i| i * FAR_SCALE),
            upper: std::array::from_fn(|axis| first.d[axis].is_sign_negative()),
            tmin: Floats::from_fn(simd, |lane| ray(lane).tmin),
            axes,
            shear: [d[x] / d[z], d[y] / d[z], one / d[z]],
        }
    }

    /// Ends of the segments, as the test for triangles counts them; −∞ where there is no ray.
    #[inline(always)]
    pub(super) fn ends(&self) -> Floats<S> {
        Floats::from_fn(self.simd, |lane| {
            self.rays.get(lane).map_or(f32::NEG_INFINITY, |ray| ray.tmax.next_down())
        })
    }

    /// Calls `leaf` with the numbers of leaves that rays meet before their ends, near ones first,
    /// and a bit for each of these rays. It moves the ends; where one is before the start of the
    /// segment, the ray is done.
    #[inline(always)]
    pub(super) fn traverse(
        &self,
        tree: &Tree,
        end: &mut Floats<S>,
        stack: &mut Stack<S>,
        mut leaf: impl FnMut(u32, u32, &mut Floats<S>),
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
            if node & LEAF != 0 {
                leaf(node & !LEAF, lanes, end);
                continue;
            }
            // Which children are met is hard to foresee; so there is no branch.
            let node = &tree.nodes[node as usize];
            for slot in node.farthest_first(self.axes[2], !self.upper[self.axes[2]]) {
                let (near, met) = self.enter(node, slot, *end);
                stack.near[top] = near;
                stack.node[top] = node.children[slot];
                top += usize::from(met);
            }
        }
    }

    /// Where rays enter a child's box, ∞ for those that do not, and whether any does.
    #[inline(always)]
    fn enter(&self, node: &Node, slot: usize, end: Floats<S>) -> (Floats<S>, bool) {
        let (mut near, mut far) = (self.tmin, end);
        for axis in 0..3 {
            let upper = self.upper[axis];
            let (first, last) = (node.plane(axis, upper, slot), node.plane(axis, !upper, slot));
            near = ((Floats::splat(self.simd, first) - self.origin[axis]) * self.inverse[axis])
                .max(near);
            far = ((Floats::splat(self.simd, last) - self.origin[axis]) * self.inverse_far[axis])
                .min(far);
        }
        let met = near.simd_le(far);
        (met.select(near, Floats::splat(self.simd, f32::INFINITY)), met.to_bitmask() != 0)
    }

    /// The ray of a lane as the test for triangles wants it.
    #[inline(always)]
    pub(super) fn shear_of(&self, lane: usize) -> Shear {
        Shear::along(&self.rays[lane], self.axes, self.shear.map(|shear| shear[lane]))
    }

    /// The ray of a lane.
    pub(super) fn ray(&self, lane: usize) -> &Ray {
        &self.rays[lane]
    }

    /// A coordinate of a vertex, seen from the origins.
    // Neither this nor what follows is a closure: those that are not inlined are compiled without
    // the features of the machine.
    #[inline(always)]
    fn seen(&self, block: &Block, vertex: usize, axis: usize, triangle: usize) -> Floats<S> {
        Floats::splat(self.simd, block.coordinate(vertex, axis, triangle)) - self.origin[axis]
    }

    /// Moves and shears a vertex into the frames of the rays.
    #[inline(always)]
    fn place(&self, block: &Block, vertex: usize, triangle: usize) -> [Floats<S>; 3] {
        let [x, y, z] = self.axes;
        let z = self.seen(block, vertex, z, triangle);
        let x = self.seen(block, vertex, x, triangle) - self.shear[0] * z;
        let y = self.seen(block, vertex, y, triangle) - self.shear[1] * z;
        [x, y, self.shear[2] * z]
    }

    /// Tests a triangle of a block against the rays of `lanes`, as [`Shear::intersect`] does.
    #[inline(always)]
    pub(super) fn intersect(
        &self,
        block: &Block,
        triangle: usize,
        lanes: u32,
        end: Floats<S>,
    ) -> Met<S> {
        let zero = Floats::splat(self.simd, 0.0);
        let [a, b, c] = [
            self.place(block, 0, triangle),
            self.place(block, 1, triangle),
            self.place(block, 2, triangle),
        ];
        let mut weights = [edge(&b, &c), edge(&c, &a), edge(&a, &b)];
        let [u, v, w] = weights;
        let zeros =
            (u.simd_eq(zero) | v.simd_eq(zero) | w.simd_eq(zero)).to_bitmask() as u32 & lanes;
        if zeros != 0 {
            settle(&mut weights, zeros, &a, &b, &c);
        }
        let [u, v, w] = weights;
        let least = u.min(v).min(w);
        let most = u.max(v).max(w);
        let det = u + v + w;
        let inverse = Floats::splat(self.simd, 1.0) / det;
        let t = (u * a[2] + v * b[2] + w * c[2]) * inverse;
        let outside = least.simd_lt(zero) & most.simd_gt(zero);
        let inside = t.simd_ge(self.tmin) & t.simd_le(end) & !det.simd_eq(zero);
        let mask = (inside & !outside).to_bitmask() as u32 & lanes;
        Met { mask, t, u: v * inverse, v: w * inverse }
    }
}

#[inline(always)]
fn edge<S: Simd>(p: &[Floats<S>; 3], q: &[Floats<S>; 3]) -> Floats<S> {
    q[0] * p[1] - q[1] * p[0]
}

/// Recomputes the edge functions of the lanes in `mask` with more digits.
#[cold]
#[inline(never)]
fn settle<S: Simd>(
    weights: &mut [Floats<S>; 3],
    mask: u32,
    a: &[Floats<S>; 3],
    b: &[Floats<S>; 3],
    c: &[Floats<S>; 3],
) {
    for lane in (0..WIDTH).filter(|lane| mask >> lane & 1 != 0) {
        for (weight, (p, q)) in weights.iter_mut().zip([(b, c), (c, a), (a, b)]) {
            let [px, py, qx, qy] = [p[0], p[1], q[0], q[1]].map(|x| f64::from(x[lane]));
            weight[lane] = (qx * py - qy * px) as f32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::{Vec3, vec3};
    use crate::sampling::testing::points;

    #[test]
    fn rays_are_sorted_by_what_packets_need_in_common() {
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
        let (order, starts) = by_octant(&rays);
        let mut traced = order[..starts[OCTANTS]].to_vec();
        for range in starts.windows(2) {
            let alike = order[range[0]..range[1]].iter().map(|&index| &rays[index as usize]);
            let in_common =
                |ray: &Ray| (axes(ray), ray.d.to_array().map(|x| (1.0 / x).is_sign_negative()));
            assert!(alike.clone().zip(alike.skip(1)).all(|(a, b)| in_common(a) == in_common(b)));
        }
        traced.sort_unstable();
        assert_eq!(traced, (0..500).filter(|index| ![77, 78].contains(index)).collect::<Vec<_>>());
    }
}
