//! An eight-wide BVH with single-ray traversal.
//!
//! The boxes of a node's children are stored side by side, for one SIMD slab test per node (Wald et
//! al. 2008, *Getting Rid of Packets*). Traversal is conservative: boxes are enlarged by one ulp,
//! and far distances are scaled up as in Ize 2013, *Robust BVH Ray Traversal*. Children that a
//! single ray enters, and all children of the nodes of packets, are prefetched: cache misses take
//! half of the time on large meshes.

use fearless_simd::{Simd, SimdBase, SimdMask, f32x8};
use lightbound_math::{Aabb, Ray, Vec3, prefetch};

/// Bit that marks leaf references.
pub(super) const LEAF_FLAG: u32 = 1 << 31;

/// Lengths of traversal stacks without heap allocation. Stacks are cleared for each ray, so most
/// trees have a short one.
pub(super) const SHORT_STACK_LEN: usize = 64;
const LONG_STACK_LEN: usize = 160;

/// 1 + 2γ₃, which exceeds the rounding error of the slab test.
pub(crate) const FAR_ROUNDING_SCALE: f32 = 1.000_000_4;

/// Number of children of a node.
pub(super) const WIDTH: usize = 8;

/// One float per child.
type FloatSlots<S> = f32x8<S>;

/// A node with [`WIDTH`] children: lower and upper planes along each axis, and references. Empty
/// slots come last and have an empty box. 256 bytes.
#[repr(C, align(64))]
#[derive(Clone, PartialEq)]
pub(super) struct BvhNode {
    planes: [[[f32; WIDTH]; 2]; 3],
    pub(super) children: [u32; WIDTH],
    /// Slots sorted farthest first, three bits each, for rays in the negative and the positive
    /// direction of each axis.
    orders: [[u32; 2]; 3],
    /// Number of children.
    len: u32,
}

impl BvhNode {
    pub(super) const EMPTY: BvhNode = {
        let (min, max) = ([f32::INFINITY; WIDTH], [f32::NEG_INFINITY; WIDTH]);
        let children = [LEAF_FLAG; WIDTH];
        BvhNode { planes: [[min, max]; 3], children, orders: [[0; 2]; 3], len: 0 }
    };

    /// Sets the child of a slot. Slots must be set in order.
    pub(super) fn set(&mut self, slot: usize, bounds: &Aabb, reference: u32) {
        for axis in 0..3 {
            self.planes[axis][0][slot] = bounds.min[axis].next_down();
            self.planes[axis][1][slot] = bounds.max[axis].next_up();
        }
        self.children[slot] = reference;
        self.len = slot as u32 + 1;
    }

    /// Sorts the slots by their entry planes.
    pub(super) fn sort(&mut self) {
        let len = self.len as usize;
        for axis in 0..3 {
            let [lower, upper] = self.planes[axis];
            for (direction, far) in [upper.map(|x| -x), lower].into_iter().enumerate() {
                let mut slots: [usize; WIDTH] = std::array::from_fn(|slot| slot);
                slots[..len].sort_by(|&a, &b| far[b].total_cmp(&far[a]));
                self.orders[axis][direction] =
                    slots.iter().enumerate().map(|(k, &slot)| (slot as u32) << (3 * k)).sum();
            }
        }
    }

    /// Returns the lower or upper plane of a child along an axis.
    #[inline(always)]
    pub(super) fn plane(&self, axis: usize, upper: bool, slot: usize) -> f32 {
        self.planes[axis][usize::from(upper)][slot]
    }

    /// Iterates over the slots in use, farthest first, for rays in the negative or positive
    /// direction of an axis.
    #[inline(always)]
    pub(super) fn farthest_first(
        &self,
        axis: usize,
        positive: bool,
    ) -> impl Iterator<Item = usize> {
        let order = self.orders[axis][usize::from(positive)];
        (0..self.len).map(move |k| (order >> (3 * k)) as usize % WIDTH)
    }
}

/// An eight-wide BVH with leaves of type `L`.
pub(super) struct Bvh<L> {
    /// All nodes, the root first.
    pub(super) nodes: Vec<BvhNode>,
    /// Leaves, in the order of the nodes.
    pub(super) leaves: Vec<L>,
    /// Maximum length of the traversal stack, including all children of the current node.
    pub(super) stack_len: usize,
    /// Bounding box of all leaves.
    pub(super) bounds: Aabb,
}

impl<L> Bvh<L> {
    /// Returns the memory use of nodes and leaves in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        self.nodes.capacity() * size_of::<BvhNode>() + self.leaves.capacity() * size_of::<L>()
    }

    /// Starts fetching a child, a node or a leaf, into the cache.
    #[inline(always)]
    pub(super) fn prefetch(&self, child: u32) {
        if child & LEAF_FLAG != 0 {
            prefetch(&self.leaves, (child & !LEAF_FLAG) as usize);
        } else {
            prefetch(&self.nodes, child as usize);
        }
    }

    /// Calls `visit` with each leaf that the ray enters between `ray.tmin` and `end`, near leaves
    /// first, and the current end of the segment. `visit` returns the new end; an end before
    /// `ray.tmin` stops the traversal. The ray must be finite, with a nonzero direction.
    #[inline(always)]
    pub(super) fn traverse<S: Simd>(
        &self,
        simd: S,
        ray: &Ray,
        end: f32,
        visit: impl FnMut(&L, f32) -> f32,
    ) {
        if self.nodes.is_empty() {
            return;
        }
        let (mut short, mut long, mut longest);
        let empty = StackEntry::default();
        let stack: &mut [StackEntry] = if self.stack_len <= SHORT_STACK_LEN {
            short = [empty; SHORT_STACK_LEN];
            &mut short
        } else if self.stack_len <= LONG_STACK_LEN {
            long = [empty; LONG_STACK_LEN];
            &mut long
        } else {
            longest = vec![empty; self.stack_len];
            &mut longest
        };
        let slab = SlabTest::new(simd, ray, Vec3::ONE / ray.d);
        self.traverse_from(0, &slab, end, stack, visit);
    }

    /// Like [`traverse`](Self::traverse), for the subtree of a node. `stack` is a buffer of
    /// [`stack_len`](Self::stack_len) entries.
    #[inline(always)]
    pub(super) fn traverse_from<S: Simd>(
        &self,
        node: u32,
        slab: &SlabTest<S>,
        end: f32,
        stack: &mut [StackEntry],
        mut visit: impl FnMut(&L, f32) -> f32,
    ) {
        let tmin = slab.tmin[0];
        let mut tmax = end;
        let mut top = 0;
        let mut current = node;
        loop {
            if current & LEAF_FLAG == 0 {
                let node = &self.nodes[current as usize];
                let (near, mut mask) = slab.intersect(node, tmax);
                if mask != 0 {
                    let slot = mask.trailing_zeros() as usize & (WIDTH - 1);
                    mask &= mask - 1;
                    current = node.children[slot];
                    self.prefetch(current);
                    if mask != 0 {
                        // Push the hit children in sorted order and visit the nearest next.
                        let base = top;
                        stack[top] = (current, near[slot]);
                        top += 1;
                        while mask != 0 {
                            let slot = mask.trailing_zeros() as usize & (WIDTH - 1);
                            mask &= mask - 1;
                            let mut at = top;
                            while at > base && stack[at - 1].1 < near[slot] {
                                stack[at] = stack[at - 1];
                                at -= 1;
                            }
                            let child = node.children[slot];
                            self.prefetch(child);
                            stack[at] = (child, near[slot]);
                            top += 1;
                        }
                        top -= 1;
                        current = stack[top].0;
                    }
                    continue;
                }
            } else {
                tmax = visit(&self.leaves[(current & !LEAF_FLAG) as usize], tmax);
                if tmax < tmin {
                    return;
                }
            }
            loop {
                if top == 0 {
                    return;
                }
                top -= 1;
                if stack[top].1 <= tmax {
                    current = stack[top].0;
                    break;
                }
            }
        }
    }
}

/// A node to visit, and the ray parameter at which the ray enters it.
pub(super) type StackEntry = (u32, f32);

/// A ray prepared for slab tests: `t = (plane − o) / d` for all planes of a node at a time.
pub(super) struct SlabTest<S: Simd> {
    simd: S,
    origin: [FloatSlots<S>; 3],
    inverse: [FloatSlots<S>; 3],
    inverse_far: [FloatSlots<S>; 3],
    /// Whether the ray enters boxes through the upper plane of each axis.
    upper: [bool; 3],
    tmin: FloatSlots<S>,
}

impl<S: Simd> SlabTest<S> {
    /// Prepares a ray; `inverse` is the inverse of its direction. A zero component has an infinite
    /// inverse. Inside a box 0 · ∞ cannot occur, since boxes are enlarged.
    #[inline(always)]
    pub(super) fn new(simd: S, ray: &Ray, inverse: Vec3) -> SlabTest<S> {
        let splat = |v: Vec3| {
            [
                FloatSlots::splat(simd, v.x),
                FloatSlots::splat(simd, v.y),
                FloatSlots::splat(simd, v.z),
            ]
        };
        SlabTest {
            simd,
            origin: splat(ray.o),
            inverse: splat(inverse),
            inverse_far: splat(inverse * FAR_ROUNDING_SCALE),
            upper: inverse.to_array().map(f32::is_sign_negative),
            tmin: FloatSlots::splat(simd, ray.tmin),
        }
    }

    /// Returns the ray parameters at which the ray enters the children's boxes, and a bit mask of
    /// the boxes that the segment hits.
    #[inline(always)]
    fn intersect(&self, node: &BvhNode, tmax: f32) -> ([f32; WIDTH], u32) {
        let mut near = self.tmin;
        let mut far = FloatSlots::splat(self.simd, tmax);
        for axis in 0..3 {
            let upper = usize::from(self.upper[axis]);
            let first = FloatSlots::from_slice(self.simd, &node.planes[axis][upper]);
            let last = FloatSlots::from_slice(self.simd, &node.planes[axis][1 - upper]);
            near = ((first - self.origin[axis]) * self.inverse[axis]).max(near);
            far = ((last - self.origin[axis]) * self.inverse_far[axis]).min(far);
        }
        (near.into(), near.simd_le(far).to_bitmask() as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::super::builder::{Element, build};
    use super::*;
    use fearless_simd::{Level, dispatch};
    use lightbound_math::vec3;

    /// Builds a tree whose leaves are indices of boxes.
    fn tree(boxes: &[Aabb]) -> Bvh<u32> {
        let elements = (0..).zip(boxes).map(|(index, bounds)| Element::new(bounds, index));
        build(elements.collect(), 1, |contents| contents[0])
    }

    /// Returns `n` unit boxes at x = 0, 2, 4, …
    fn row(n: u32) -> Vec<Aabb> {
        (0..n)
            .map(|i| vec3(2.0 * i as f32, 0.0, 0.0))
            .map(|p| Aabb { min: p, max: p + 1.0 })
            .collect()
    }

    fn entered_boxes(tree: &Bvh<u32>, ray: &Ray) -> Vec<u32> {
        let mut entered = Vec::new();
        let mut enter = |&index: &u32, tmax| {
            entered.push(index);
            tmax
        };
        dispatch!(Level::new(), simd => tree.traverse(simd, ray, ray.tmax, &mut enter));
        entered
    }

    #[test]
    fn leaves_are_visited_near_to_far() {
        let tree = tree(&row(50));
        let ray = Ray::new(vec3(-1.0, 0.5, 0.5), Vec3::X);
        assert_eq!(entered_boxes(&tree, &ray), (0..50).collect::<Vec<_>>());
        let back = Ray::new(vec3(200.0, 0.5, 0.5), -Vec3::X);
        assert_eq!(entered_boxes(&tree, &back), (0..50).rev().collect::<Vec<_>>());
    }

    #[test]
    fn rays_hit_flat_boxes_and_boxes_they_graze() {
        let row = tree(&row(5));
        for (y, z) in [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0)] {
            assert_eq!(entered_boxes(&row, &Ray::new(vec3(-1.0, y, z), Vec3::X)).len(), 5);
        }
        let flat = [Aabb { min: Vec3::ZERO, max: vec3(0.0, 1.0, 1.0) }];
        let tree = tree(&flat);
        for ray in
            [Ray::new(vec3(0.0, -1.0, 0.5), Vec3::Y), Ray::new(vec3(-1.0, 0.0, 0.5), Vec3::X)]
        {
            assert_eq!(entered_boxes(&tree, &ray), [0]);
        }
    }

    #[test]
    fn empty_tree_has_no_leaves() {
        assert!(entered_boxes(&tree(&[]), &Ray::new(Vec3::ZERO, Vec3::X)).is_empty());
    }
}
