//! A four-wide tree of boxes with single-ray traversal.
//!
//! `obvhs` builds a binary tree on all cores (parallel locally-ordered clustering, Meister &
//! Bittner 2018, then parallel reinsertion, Meister & Bittner 2018); we flatten two levels of it
//! into nodes of four children whose boxes lie side by side, so that one pass over a node is one
//! SIMD slab test (Wald et al. 2008, *Getting Rid of Packets*). The compressed eight-wide trees of
//! `obvhs` take a third of the memory, but their traversal drops boxes that end before t = 10⁻⁴ and
//! rounds inwards; here a ray that meets an element meets all boxes around it: boxes are one ulp
//! larger than what they hold, and the far distances are scaled as in Ize 2013, *Robust BVH Ray
//! Traversal*.

use crate::math::{Aabb, Ray, Vec3};
use glam::{Vec3A, Vec4};
use obvhs::bvh2::Bvh2;
use obvhs::bvh2::reinsertion::ReinsertionOptimizer;
use obvhs::ploc::{PlocBuilder, PlocSearchDistance, SortPrecision};

/// Set in references to leaves.
pub(super) const LEAF: u32 = 1 << 31;

/// Stack entries that need no allocation.
const STACK: usize = 96;

/// (1 + 2γ₃): more than the slab test's rounding error.
pub(super) const FAR_SCALE: f32 = 1.000_000_4;

/// So many nodes the reinsertion optimiser moves at a time: all of small trees, which makes rays up
/// to a tenth faster.
const REINSERTIONS: f32 = 65_536.0;
/// The least part of the nodes that it moves, of large trees, where it takes most of the time.
const LEAST_REINSERTION: f32 = 0.1;

/// Four children: along x, y, z the lower and the upper planes, and a reference each. Missing
/// children have an empty box. 128 bytes.
#[repr(C, align(64))]
#[derive(Clone)]
pub(super) struct Node {
    planes: [[Vec4; 2]; 3],
    pub(super) children: [u32; 4],
    /// For rays down and up each axis the order of the slots, farthest first, two bits each.
    orders: [[u8; 2]; 3],
}

impl Node {
    const EMPTY: Node = {
        let (min, max) = (Vec4::INFINITY, Vec4::NEG_INFINITY);
        Node { planes: [[min, max]; 3], children: [LEAF; 4], orders: [[0; 2]; 3] }
    };

    fn set(&mut self, slot: usize, bounds: &obvhs::aabb::Aabb, reference: u32) {
        for axis in 0..3 {
            self.planes[axis][0][slot] = bounds.min[axis].next_down();
            self.planes[axis][1][slot] = bounds.max[axis].next_up();
        }
        self.children[slot] = reference;
    }

    /// Sorts the slots by the planes through which rays enter.
    fn sort(&mut self) {
        for axis in 0..3 {
            let [lower, upper] = self.planes[axis];
            for (up, far) in [-upper, lower].into_iter().enumerate() {
                let mut slots = [0, 1, 2, 3];
                slots.sort_by(|&a, &b| far[b].total_cmp(&far[a]));
                self.orders[axis][up] = (0..4).map(|k| (slots[k] as u8) << (2 * k)).sum();
            }
        }
    }

    /// The lower plane of a child along an axis, or the upper one.
    #[inline(always)]
    pub(super) fn plane(&self, axis: usize, upper: bool, slot: usize) -> f32 {
        // As an array, since components of vectors are told apart by jumps.
        let planes: &[f32; 4] = self.planes[axis][usize::from(upper)].as_ref();
        planes[slot]
    }

    /// All slots, those that rays get to last first, as far as their boxes tell along the axis,
    /// down or up.
    #[inline(always)]
    pub(super) fn farthest_first(&self, axis: usize, up: bool) -> impl Iterator<Item = usize> {
        let order = self.orders[axis][usize::from(up)];
        [0, 2, 4, 6].into_iter().map(move |shift| usize::from(order >> shift & 3))
    }
}

/// A tree whose leaves carry a number.
pub(super) struct Tree {
    /// The root first.
    pub(super) nodes: Vec<Node>,
    /// Entries that the traversal's stack can need, with room for all children of the node that is
    /// opened.
    pub(super) stack: usize,
    /// Box around everything.
    pub(super) bounds: Aabb,
}

impl Tree {
    /// Builds over `boxes`, which must be finite. `leaf` turns the indices of up to `leaf_size` (at
    /// most 4) boxes into the number that the leaf carries, below 2³¹.
    pub(super) fn build(
        boxes: &[Aabb],
        leaf_size: usize,
        mut leaf: impl FnMut(&[u32]) -> u32,
    ) -> Tree {
        let bounds = boxes.iter().fold(Aabb::EMPTY, |a, b| a.union(*b));
        let mut tree = Tree { nodes: Vec::new(), stack: 0, bounds };
        if boxes.is_empty() {
            return tree;
        }
        let binary = binary_tree(boxes);
        // Work to do: a binary node, where its reference goes, and its depth.
        let mut open = vec![(0, None, 1)];
        while let Some((root, slot, depth)) = open.pop() {
            let children = widen(&binary, root, leaf_size);
            let index = tree.nodes.len() as u32;
            if let Some((parent, slot)) = slot {
                let parent: &mut Node = &mut tree.nodes[parent as usize];
                parent.children[slot] = index;
            }
            let mut node = Node::EMPTY;
            tree.stack = tree.stack.max(3 * depth + 1);
            for (slot, &child) in children.iter().enumerate() {
                let held = elements(&binary, child, leaf_size);
                let reference = held.as_ref().map_or(0, |held| LEAF | leaf(held));
                node.set(slot, binary.nodes[child].aabb(), reference);
                if held.is_none() {
                    open.push((child, Some((index, slot)), depth + 1));
                }
            }
            node.sort();
            tree.nodes.push(node);
        }
        tree.nodes.shrink_to_fit();
        tree
    }

    /// Memory of the nodes.
    pub(super) fn memory_bytes(&self) -> usize {
        self.nodes.capacity() * size_of::<Node>()
    }

    /// Calls `leaf` with the numbers of the leaves that the ray meets between `ray.tmin` and `end`,
    /// near ones first, and the end of the segment so far. `leaf` returns the new end; one before
    /// `ray.tmin` ends the traversal. The ray must be finite, its direction not zero.
    #[inline(always)]
    pub(super) fn traverse(&self, ray: &Ray, end: f32, mut leaf: impl FnMut(u32, f32) -> f32) {
        if self.nodes.is_empty() {
            return;
        }
        let (mut small, mut large);
        let stack: &mut [(u32, f32)] = if self.stack <= STACK {
            small = [(0, 0.0); STACK];
            &mut small
        } else {
            large = vec![(0, 0.0); self.stack];
            &mut large
        };
        let slab = Slab::new(ray);
        let mut tmax = end;
        let mut top = 0;
        let mut current = 0;
        loop {
            if current & LEAF == 0 {
                let node = &self.nodes[current as usize];
                let (near, mut mask) = slab.meets(node, tmax);
                if mask != 0 {
                    let slot = mask.trailing_zeros() as usize & 3;
                    mask &= mask - 1;
                    current = node.children[slot];
                    if mask != 0 {
                        // Sort the children met into the stack, the nearest on top, which is the
                        // next to visit.
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
                tmax = leaf(current & !LEAF, tmax);
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
struct Slab {
    origin: [Vec4; 3],
    inverse: [Vec4; 3],
    inverse_far: [Vec4; 3],
    /// Whether the upper plane of an axis is the near one.
    upper: [bool; 3],
    tmin: Vec4,
}

impl Slab {
    fn new(ray: &Ray) -> Slab {
        // A zero component gives an infinite inverse; no 0 · ∞ can arise inside a box, whose planes
        // lie off what it holds.
        let inverse = Vec3::ONE / ray.d;
        Slab {
            origin: std::array::from_fn(|i| Vec4::splat(ray.o[i])),
            inverse: std::array::from_fn(|i| Vec4::splat(inverse[i])),
            inverse_far: std::array::from_fn(|i| Vec4::splat(inverse[i] * FAR_SCALE)),
            upper: std::array::from_fn(|i| inverse[i].is_sign_negative()),
            tmin: Vec4::splat(ray.tmin),
        }
    }

    /// Distances to the children's boxes, and a bit for each box that the segment meets.
    #[inline(always)]
    fn meets(&self, node: &Node, tmax: f32) -> (Vec4, u32) {
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
    let part = (REINSERTIONS / tree.nodes.len() as f32).clamp(LEAST_REINSERTION, 1.0);
    ReinsertionOptimizer::default().run(&mut tree, part, None);
    tree
}

/// The one to four nodes that take the place of `root`: its grandchildren and so on, largest first
/// to be opened.
fn widen(tree: &Bvh2, root: usize, leaf_size: usize) -> Vec<usize> {
    if elements(tree, root, leaf_size).is_some() {
        return vec![root];
    }
    let mut children = Vec::with_capacity(4);
    let mut opened = root;
    loop {
        let first = tree.nodes[opened].first_index as usize;
        children.extend([first, first + 1]);
        let area = |&at: &usize| tree.nodes[children[at]].aabb().half_area();
        let openable =
            (0..children.len()).filter(|&at| elements(tree, children[at], leaf_size).is_none());
        let largest = openable.max_by(|a, b| area(a).total_cmp(&area(b)));
        match largest {
            Some(at) if children.len() < 4 => opened = children.swap_remove(at),
            _ => return children,
        }
    }
}

/// The elements below a node, if they fit into a leaf.
fn elements(tree: &Bvh2, root: usize, leaf_size: usize) -> Option<Vec<u32>> {
    let mut held = Vec::with_capacity(leaf_size);
    let mut open = vec![root];
    while let Some(index) = open.pop() {
        let node = &tree.nodes[index];
        let first = node.first_index as usize;
        if node.is_leaf() {
            held.extend(&tree.primitive_indices[first..first + node.prim_count as usize]);
        } else {
            open.extend([first + 1, first]);
        }
        if held.len() + open.len() > leaf_size {
            return None;
        }
    }
    Some(held)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::vec3;

    /// Unit boxes at 2 i along x.
    fn row(n: u32) -> Vec<Aabb> {
        (0..n)
            .map(|i| vec3(2.0 * i as f32, 0.0, 0.0))
            .map(|p| Aabb { min: p, max: p + 1.0 })
            .collect()
    }

    fn met(tree: &Tree, ray: &Ray) -> Vec<u32> {
        let mut leaves = Vec::new();
        tree.traverse(ray, ray.tmax, |leaf, tmax| {
            leaves.push(leaf);
            tmax
        });
        leaves
    }

    #[test]
    fn near_leaves_come_first() {
        let tree = Tree::build(&row(50), 1, |held| held[0]);
        let ray = Ray::new(vec3(-1.0, 0.5, 0.5), Vec3::X);
        assert_eq!(met(&tree, &ray), (0..50).collect::<Vec<_>>());
        let back = Ray::new(vec3(200.0, 0.5, 0.5), -Vec3::X);
        assert_eq!(met(&tree, &back), (0..50).rev().collect::<Vec<_>>());
    }

    #[test]
    fn grazing_rays_and_flat_boxes_are_met() {
        let tree = Tree::build(&row(5), 1, |held| held[0]);
        for (y, z) in [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0)] {
            assert_eq!(met(&tree, &Ray::new(vec3(-1.0, y, z), Vec3::X)).len(), 5);
        }
        let flat = [Aabb { min: Vec3::ZERO, max: vec3(0.0, 1.0, 1.0) }];
        let tree = Tree::build(&flat, 1, |held| held[0]);
        for ray in
            [Ray::new(vec3(0.0, -1.0, 0.5), Vec3::Y), Ray::new(vec3(-1.0, 0.0, 0.5), Vec3::X)]
        {
            assert_eq!(met(&tree, &ray), [0]);
        }
    }

    #[test]
    fn many_equal_boxes_need_no_deep_stack_and_lose_none() {
        let boxes = vec![Aabb { min: Vec3::ZERO, max: Vec3::ONE }; 1000];
        let mut held = Vec::new();
        let tree = Tree::build(&boxes, 4, |elements| {
            held.extend_from_slice(elements);
            0
        });
        held.sort_unstable();
        assert_eq!(held, (0..1000).collect::<Vec<_>>());
        assert!(!met(&tree, &Ray::new(vec3(-1.0, 0.5, 0.5), Vec3::X)).is_empty());
    }

    #[test]
    fn empty() {
        let tree = Tree::build(&[], 4, |_| 0);
        assert!(met(&tree, &Ray::new(Vec3::ZERO, Vec3::X)).is_empty());
        assert!(tree.bounds.is_empty());
    }
}
