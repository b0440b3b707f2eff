//! A four-wide BVH with single-ray traversal.
//!
//! `obvhs` builds a binary BVH on all cores (parallel locally-ordered clustering, Meister & Bittner
//! 2018, then parallel reinsertion, Meister & Bittner 2018). Two levels are flattened into a node
//! with four children. Their boxes are stored side by side, for one SIMD slab test per node (Wald
//! et al. 2008, *Getting Rid of Packets*). The compressed eight-wide BVHs of `obvhs` take a third
//! of the memory, but their traversal skips boxes that end before t = 10⁻⁴, and rounds inwards.
//! Here traversal is conservative: boxes are enlarged by one ulp, and far distances are scaled up
//! as in Ize 2013, *Robust BVH Ray Traversal*.

use glam::{Vec3A, Vec4};
use lightbound_math::{Aabb, Ray, Vec3};
use obvhs::bvh2::Bvh2;
use obvhs::bvh2::reinsertion::ReinsertionOptimizer;
use obvhs::ploc::{PlocBuilder, PlocSearchDistance, SortPrecision};

/// Bit that marks leaf references.
pub(super) const LEAF_FLAG: u32 = 1 << 31;

/// Maximum length of a traversal stack without heap allocation.
const INLINE_STACK_LEN: usize = 96;

/// 1 + 2γ₃, which exceeds the rounding error of the slab test.
pub(super) const FAR_ROUNDING_SCALE: f32 = 1.000_000_4;

/// Maximum number of nodes that the reinsertion optimiser moves per pass, except that it always
/// moves [`MIN_REINSERTED_FRACTION`]. It moves all nodes of small BVHs, which makes ray queries up
/// to 10 % faster.
const MAX_REINSERTED_NODES: f32 = 65_536.0;

/// Minimum fraction of nodes that the reinsertion optimiser moves per pass. In large BVHs,
/// reinsertion takes most of the build time.
const MIN_REINSERTED_FRACTION: f32 = 0.1;

/// A node with four children: lower and upper planes along each axis, and references. Empty slots
/// have an empty box. 128 bytes.
#[repr(C, align(64))]
#[derive(Clone)]
pub(super) struct BvhNode {
    planes: [[Vec4; 2]; 3],
    pub(super) children: [u32; 4],
    /// Slots sorted farthest first, two bits each, for rays in the negative and the positive
    /// direction of each axis.
    orders: [[u8; 2]; 3],
}

impl BvhNode {
    const EMPTY: BvhNode = {
        let (min, max) = (Vec4::INFINITY, Vec4::NEG_INFINITY);
        BvhNode { planes: [[min, max]; 3], children: [LEAF_FLAG; 4], orders: [[0; 2]; 3] }
    };

    fn set(&mut self, slot: usize, bounds: &obvhs::aabb::Aabb, reference: u32) {
        for axis in 0..3 {
            self.planes[axis][0][slot] = bounds.min[axis].next_down();
            self.planes[axis][1][slot] = bounds.max[axis].next_up();
        }
        self.children[slot] = reference;
    }

    /// Sorts the slots by their entry planes.
    fn sort(&mut self) {
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
    /// Builds a BVH over `boxes`, which must be finite. `leaf` gets the indices of the boxes in a
    /// leaf, up to `leaf_size` (1 to 4), and returns the index to store there, below 2³¹.
    pub(super) fn build(
        boxes: &[Aabb],
        leaf_size: usize,
        mut leaf: impl FnMut(&[u32]) -> u32,
    ) -> Bvh {
        let bounds = boxes.iter().fold(Aabb::EMPTY, |a, b| a.union(*b));
        let mut tree = Bvh { nodes: Vec::new(), stack_len: 0, bounds };
        if boxes.is_empty() {
            return tree;
        }
        let binary = binary_tree(boxes);
        // Work list: binary node, parent and slot for its reference, depth.
        let mut pending = vec![(0, None, 1)];
        while let Some((root, slot, depth)) = pending.pop() {
            let children = widen(&binary, root, leaf_size);
            let index = tree.nodes.len() as u32;
            if let Some((parent, slot)) = slot {
                let parent: &mut BvhNode = &mut tree.nodes[parent as usize];
                parent.children[slot] = index;
            }
            let mut node = BvhNode::EMPTY;
            tree.stack_len = tree.stack_len.max(3 * depth + 1);
            for (slot, &child) in children.iter().enumerate() {
                let contents = elements(&binary, child, leaf_size);
                let reference = contents.as_ref().map_or(0, |contents| LEAF_FLAG | leaf(contents));
                node.set(slot, binary.nodes[child].aabb(), reference);
                if contents.is_none() {
                    pending.push((child, Some((index, slot)), depth + 1));
                }
            }
            node.sort();
            tree.nodes.push(node);
        }
        tree.nodes.shrink_to_fit();
        tree
    }

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

/// Builds a binary BVH and optimises it by reinsertion.
fn binary_tree(boxes: &[Aabb]) -> Bvh2 {
    struct Bounded<'a>(&'a Aabb);
    impl obvhs::Boundable for Bounded<'_> {
        fn aabb(&self) -> obvhs::aabb::Aabb {
            obvhs::aabb::Aabb::new(Vec3A::from(self.0.min), Vec3A::from(self.0.max))
        }
    }
    let bounded: Vec<_> = boxes.iter().map(Bounded).collect();
    let indices = (0..boxes.len() as u32).collect();
    let mut tree = PlocBuilder::with_capacity(boxes.len()).build(
        PlocSearchDistance::Medium,
        &bounded,
        indices,
        SortPrecision::U64,
        3,
    );
    let fraction =
        (MAX_REINSERTED_NODES / tree.nodes.len() as f32).clamp(MIN_REINSERTED_FRACTION, 1.0);
    ReinsertionOptimizer::default().run(&mut tree, fraction, None);
    tree
}

/// Returns the one to four descendants of `root` that become the children of one wide node. Nodes
/// with the largest surface area are expanded first.
fn widen(tree: &Bvh2, root: usize, leaf_size: usize) -> Vec<usize> {
    if elements(tree, root, leaf_size).is_some() {
        return vec![root];
    }
    let mut children = Vec::with_capacity(4);
    let mut expanded = root;
    loop {
        let first = tree.nodes[expanded].first_index as usize;
        children.extend([first, first + 1]);
        let area = |&at: &usize| tree.nodes[children[at]].aabb().half_area();
        let expandable =
            (0..children.len()).filter(|&at| elements(tree, children[at], leaf_size).is_none());
        let largest = expandable.max_by(|a, b| area(a).total_cmp(&area(b)));
        match largest {
            Some(at) if children.len() < 4 => expanded = children.swap_remove(at),
            _ => return children,
        }
    }
}

/// Returns the elements of a subtree, if they fit into a leaf.
fn elements(tree: &Bvh2, root: usize, leaf_size: usize) -> Option<Vec<u32>> {
    let mut contents = Vec::with_capacity(leaf_size);
    let mut pending = vec![root];
    while let Some(index) = pending.pop() {
        let node = &tree.nodes[index];
        let first = node.first_index as usize;
        if node.is_leaf() {
            contents.extend(&tree.primitive_indices[first..first + node.prim_count as usize]);
        } else {
            pending.extend([first + 1, first]);
        }
        if contents.len() + pending.len() > leaf_size {
            return None;
        }
    }
    Some(contents)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lightbound_math::vec3;

    /// Returns `n` unit boxes at x = 0, 2, 4, …
    fn row(n: u32) -> Vec<Aabb> {
        (0..n)
            .map(|i| vec3(2.0 * i as f32, 0.0, 0.0))
            .map(|p| Aabb { min: p, max: p + 1.0 })
            .collect()
    }

    fn entered_leaves(tree: &Bvh, ray: &Ray) -> Vec<u32> {
        let mut leaves = Vec::new();
        tree.traverse(ray, ray.tmax, |leaf, tmax| {
            leaves.push(leaf);
            tmax
        });
        leaves
    }

    #[test]
    fn leaves_are_visited_near_to_far() {
        let tree = Bvh::build(&row(50), 1, |contents| contents[0]);
        let ray = Ray::new(vec3(-1.0, 0.5, 0.5), Vec3::X);
        assert_eq!(entered_leaves(&tree, &ray), (0..50).collect::<Vec<_>>());
        let back = Ray::new(vec3(200.0, 0.5, 0.5), -Vec3::X);
        assert_eq!(entered_leaves(&tree, &back), (0..50).rev().collect::<Vec<_>>());
    }

    #[test]
    fn rays_hit_flat_boxes_and_boxes_they_graze() {
        let tree = Bvh::build(&row(5), 1, |contents| contents[0]);
        for (y, z) in [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0)] {
            assert_eq!(entered_leaves(&tree, &Ray::new(vec3(-1.0, y, z), Vec3::X)).len(), 5);
        }
        let flat = [Aabb { min: Vec3::ZERO, max: vec3(0.0, 1.0, 1.0) }];
        let tree = Bvh::build(&flat, 1, |contents| contents[0]);
        for ray in
            [Ray::new(vec3(0.0, -1.0, 0.5), Vec3::Y), Ray::new(vec3(-1.0, 0.0, 0.5), Vec3::X)]
        {
            assert_eq!(entered_leaves(&tree, &ray), [0]);
        }
    }

    #[test]
    fn equal_boxes_are_all_in_the_tree() {
        let boxes = vec![Aabb { min: Vec3::ZERO, max: Vec3::ONE }; 1000];
        let mut contents = Vec::new();
        let tree = Bvh::build(&boxes, 4, |elements| {
            contents.extend_from_slice(elements);
            0
        });
        contents.sort_unstable();
        assert_eq!(contents, (0..1000).collect::<Vec<_>>());
        assert!(!entered_leaves(&tree, &Ray::new(vec3(-1.0, 0.5, 0.5), Vec3::X)).is_empty());
    }

    #[test]
    fn empty_tree_has_no_leaves() {
        let tree = Bvh::build(&[], 4, |_| 0);
        assert!(entered_leaves(&tree, &Ray::new(Vec3::ZERO, Vec3::X)).is_empty());
        assert!(tree.bounds.is_empty());
    }
}
