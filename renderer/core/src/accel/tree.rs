//! A four-wide BVH with single-ray traversal.
//!
//! The boxes of a node's children are stored side by side, for one SIMD slab test per node (Wald et
//! al. 2008, *Getting Rid of Packets*). Traversal is conservative: boxes are enlarged by one ulp,
//! and far distances are scaled up as in Ize 2013, *Robust BVH Ray Traversal*.

use glam::Vec4;
use lightbound_math::{Aabb, Ray, Vec3};

/// Bit that marks leaf references.
pub(super) const LEAF_FLAG: u32 = 1 << 31;

/// Maximum length of a traversal stack without heap allocation.
const INLINE_STACK_LEN: usize = 96;

/// 1 + 2γ₃, which exceeds the rounding error of the slab test.
pub(super) const FAR_ROUNDING_SCALE: f32 = 1.000_000_4;

/// A node with four children: lower and upper planes along each axis, and references. Empty slots
/// have an empty box. 128 bytes.
#[repr(C, align(64))]
#[derive(Clone, PartialEq)]
pub(super) struct BvhNode {
    planes: [[Vec4; 2]; 3],
    pub(super) children: [u32; 4],
    /// Slots sorted farthest first, two bits each, for rays in the negative and the positive
    /// direction of each axis.
    orders: [[u8; 2]; 3],
}

impl BvhNode {
    pub(super) const EMPTY: BvhNode = {
        let (min, max) = (Vec4::INFINITY, Vec4::NEG_INFINITY);
        BvhNode { planes: [[min, max]; 3], children: [LEAF_FLAG; 4], orders: [[0; 2]; 3] }
    };

    pub(super) fn set(&mut self, slot: usize, bounds: &Aabb, reference: u32) {
        for axis in 0..3 {
            self.planes[axis][0][slot] = bounds.min[axis].next_down();
            self.planes[axis][1][slot] = bounds.max[axis].next_up();
        }
        self.children[slot] = reference;
    }

    /// Sorts the slots by their entry planes.
    pub(super) fn sort(&mut self) {
        for axis in 0..3 {
            let [lower, upper] = self.planes[axis];
            for (direction, far) in [-upper, lower].into_iter().enumerate() {
                let mut slots = [0, 1, 2, 3];
                slots.sort_by(|&a, &b| far[b].total_cmp(&far[a]));
                self.orders[axis][direction] = (0..4).map(|k| (slots[k] as u8) << (2 * k)).sum();
            }
        }
    }

    /// Returns the lower or upper plane of a child along an axis.
    #[inline(always)]
    pub(super) fn plane(&self, axis: usize, upper: bool, slot: usize) -> f32 {
        // Index an array: indexing a vector's components compiles to branches.
        let planes: &[f32; 4] = self.planes[axis][usize::from(upper)].as_ref();
        planes[slot]
    }

    /// Iterates over all slots, farthest first, for rays in the negative or positive direction of
    /// an axis.
    #[inline(always)]
    pub(super) fn farthest_first(
        &self,
        axis: usize,
        positive: bool,
    ) -> impl Iterator<Item = usize> {
        let order = self.orders[axis][usize::from(positive)];
        [0, 2, 4, 6].into_iter().map(move |shift| usize::from(order >> shift & 3))
    }
}

/// A four-wide BVH; each leaf stores an index.
pub(super) struct Bvh {
    /// All nodes, the root first.
    pub(super) nodes: Vec<BvhNode>,
    /// Maximum length of the traversal stack, including all children of the current node.
    pub(super) stack_len: usize,
    /// Bounding box of all leaves.
    pub(super) bounds: Aabb,
}

impl Bvh {
    /// Returns the memory use of the nodes in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        self.nodes.capacity() * size_of::<BvhNode>()
    }

    /// Calls `leaf` with each leaf that the ray enters between `ray.tmin` and `end`, near leaves
    /// first, and the current end of the segment. `leaf` returns the new end; an end before
    /// `ray.tmin` stops the traversal. The ray must be finite, with a nonzero direction.
    #[inline(always)]
    pub(super) fn traverse(&self, ray: &Ray, end: f32, mut leaf: impl FnMut(u32, f32) -> f32) {
        if self.nodes.is_empty() {
            return;
        }
        let (mut small, mut large);
        let stack: &mut [(u32, f32)] = if self.stack_len <= INLINE_STACK_LEN {
            small = [(0, 0.0); INLINE_STACK_LEN];
            &mut small
        } else {
            large = vec![(0, 0.0); self.stack_len];
            &mut large
        };
        let slab = SlabTest::new(ray);
        let mut tmax = end;
        let mut top = 0;
        let mut current = 0;
        loop {
            if current & LEAF_FLAG == 0 {
                let node = &self.nodes[current as usize];
                let (near, mut mask) = slab.intersect(node, tmax);
                if mask != 0 {
                    let slot = mask.trailing_zeros() as usize & 3;
                    mask &= mask - 1;
                    current = node.children[slot];
                    if mask != 0 {
                        // Push the hit children in sorted order and visit the nearest next.
                        let near = near.to_array();
                        let base = top;
                        stack[top] = (current, near[slot]);
                        top += 1;
                        while mask != 0 {
                            let slot = mask.trailing_zeros() as usize & 3;
                            mask &= mask - 1;
                            let mut at = top;
                            while at > base && stack[at - 1].1 < near[slot] {
                                stack[at] = stack[at - 1];
                                at -= 1;
                            }
                            stack[at] = (node.children[slot], near[slot]);
                            top += 1;
                        }
                        top -= 1;
                        current = stack[top].0;
                    }
                    continue;
                }
            } else {
                tmax = leaf(current & !LEAF_FLAG, tmax);
                if tmax < ray.tmin {
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

/// A ray prepared for slab tests: `t = (plane − o) / d` for four planes at a time.
struct SlabTest {
    origin: [Vec4; 3],
    inverse: [Vec4; 3],
    inverse_far: [Vec4; 3],
    /// Whether the ray enters boxes through the upper plane of each axis.
    upper: [bool; 3],
    tmin: Vec4,
}

impl SlabTest {
    fn new(ray: &Ray) -> SlabTest {
        // A zero component has an infinite inverse. Inside a box 0 · ∞ cannot occur, since boxes
        // are enlarged.
        let inverse = Vec3::ONE / ray.d;
        SlabTest {
            origin: std::array::from_fn(|i| Vec4::splat(ray.o[i])),
            inverse: std::array::from_fn(|i| Vec4::splat(inverse[i])),
            inverse_far: std::array::from_fn(|i| Vec4::splat(inverse[i] * FAR_ROUNDING_SCALE)),
            upper: std::array::from_fn(|i| inverse[i].is_sign_negative()),
            tmin: Vec4::splat(ray.tmin),
        }
    }

    /// Returns the ray parameters at which the ray enters the children's boxes, and a bit mask of
    /// the boxes that the segment hits.
    #[inline(always)]
    fn intersect(&self, node: &BvhNode, tmax: f32) -> (Vec4, u32) {
        let mut near = self.tmin;
        let mut far = Vec4::splat(tmax);
        for axis in 0..3 {
            let [lower, upper] = node.planes[axis];
            let (first, last) = if self.upper[axis] { (upper, lower) } else { (lower, upper) };
            near = ((first - self.origin[axis]) * self.inverse[axis]).max(near);
            far = ((last - self.origin[axis]) * self.inverse_far[axis]).min(far);
        }
        (near, near.cmple(far).bitmask())
    }
}

#[cfg(test)]
mod tests {
    use super::super::builder::{Element, build};
    use super::*;
    use lightbound_math::vec3;

    /// Builds a tree whose leaves are indices of boxes.
    fn tree(boxes: &[Aabb]) -> (Bvh, Vec<u32>) {
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

    fn entered_boxes((tree, leaves): &(Bvh, Vec<u32>), ray: &Ray) -> Vec<u32> {
        let mut entered = Vec::new();
        tree.traverse(ray, ray.tmax, |leaf, tmax| {
            entered.push(leaves[leaf as usize]);
            tmax
        });
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
