//! Builds BVHs from the top down by the surface area heuristic, with binned splits (Wald 2007, *On
//! fast Construction of SAH-based Bounding Volume Hierarchies*).
//!
//! A wide node splits its set of elements in two, then the part with the largest surface area, and
//! so on until it has eight children. Elements are partitioned in place, and subtrees are built in
//! parallel. The result does not depend on the number of threads.

use super::heap::{trim_heap, with_huge_pages};
use super::is_usable;
use super::tree::{Bvh, BvhNode, LEAF_FLAG, WIDTH};
use glam::Vec4;
use lightbound_math::{Aabb, Vec3};
use rayon::prelude::*;
use std::cmp::Ordering;

/// Number of elements up to which a subtree is built by one thread.
const SUBTREE_LEN: usize = 1 << 14;

/// Number of elements from which the passes over a set run in parallel.
const PARALLEL_LEN: usize = 1 << 17;

/// Number of elements in a chunk of a parallel pass.
const CHUNK_LEN: usize = 1 << 14;

/// Number of bins along an axis.
const BINS: usize = 32;

/// Number of elements up to which all splits along an axis are compared.
const MAX_SWEEP_LEN: usize = 32;

/// Depth of wide nodes below which sets are halved, whatever the costs, so that unusual
/// distributions do not lead to deep trees.
const MAX_SAH_DEPTH: usize = 24;

/// An element of a BVH under construction: its box and its index.
#[derive(Clone, Copy)]
pub(super) struct Element {
    /// Lower corner; w has the bits of the index.
    lower: Vec4,
    /// Upper corner.
    upper: Vec4,
}

impl Element {
    /// Creates an element with an index below 2³¹, which must not be the bits of a NaN.
    pub(super) fn new(bounds: &Aabb, index: u32) -> Element {
        Element { lower: bounds.min.extend(f32::from_bits(index)), upper: bounds.max.extend(0.0) }
    }

    /// Returns whether rays can hit the element.
    pub(super) fn is_usable(&self) -> bool {
        is_usable(&self.bounds().aabb())
    }

    fn index(&self) -> u32 {
        self.lower.w.to_bits()
    }

    #[inline(always)]
    fn bounds(&self) -> Bounds {
        Bounds { lower: self.lower, upper: self.upper }
    }

    /// Returns twice the centre of the box.
    #[inline(always)]
    fn center2(&self) -> Vec4 {
        self.lower + self.upper
    }
}

/// A box. The fourth component of each corner has no meaning.
#[derive(Clone, Copy)]
struct Bounds {
    lower: Vec4,
    upper: Vec4,
}

impl Bounds {
    const EMPTY: Bounds = Bounds { lower: Vec4::INFINITY, upper: Vec4::NEG_INFINITY };

    #[inline(always)]
    fn union(self, other: Bounds) -> Bounds {
        Bounds { lower: self.lower.min(other.lower), upper: self.upper.max(other.upper) }
    }

    /// Returns half of the surface area; 0 for an empty box.
    #[inline(always)]
    fn half_area(&self) -> f32 {
        let d = (self.upper - self.lower).truncate().max(Vec3::ZERO);
        d.x * (d.y + d.z) + d.y * d.z
    }

    fn aabb(&self) -> Aabb {
        Aabb { min: self.lower.truncate(), max: self.upper.truncate() }
    }
}

/// A set of elements: a range, and its box.
#[derive(Clone, Copy)]
struct Set {
    start: usize,
    end: usize,
    bounds: Bounds,
}

impl Set {
    fn len(&self) -> usize {
        self.end - self.start
    }
}

/// A leaf: a range of the sorted elements.
#[derive(Clone, Copy)]
struct Leaf {
    start: u32,
    len: u32,
}

/// A part of a tree: its nodes, from its root on, and its leaves.
struct Subtree {
    nodes: Vec<BvhNode>,
    leaves: Vec<Leaf>,
    depth: usize,
}

/// The tree of a set.
enum Tree {
    Small(Subtree),
    /// The boxes and the trees of the children of the root.
    Large(Vec<(Bounds, Tree)>),
}

/// A set without a node yet, and where to store the reference to the node.
struct Pending {
    set: Set,
    /// Parent node and slot; `None` for a root.
    parent: Option<(usize, usize)>,
    depth: usize,
}

/// Builds a BVH over elements with finite boxes. `leaf` creates a leaf from the indices of up to
/// `leaf_size` elements.
pub(super) fn build<L: Send>(
    mut elements: Vec<Element>,
    leaf_size: usize,
    leaf: impl Fn(&[u32]) -> L + Sync,
) -> Bvh<L> {
    if elements.is_empty() {
        return Bvh { nodes: Vec::new(), leaves: Vec::new(), stack_len: 0, bounds: Aabb::EMPTY };
    }
    let bounds = bounds(&elements);
    let root = build_tree(&mut elements, 0, bounds, 1, leaf_size);
    // Leaves may be larger than elements, so they are created once the elements are freed.
    let indices: Vec<u32> = elements.par_iter().map(Element::index).collect();
    let is_large = elements.len() >= PARALLEL_LEN;
    drop(elements);
    let Subtree { nodes, leaves: ranges, depth } = root.join();
    if is_large {
        trim_heap();
    }
    let mut leaves = with_huge_pages(ranges.len());
    ranges
        .par_iter()
        .map(|&Leaf { start, len }| leaf(&indices[start as usize..(start + len) as usize]))
        .collect_into_vec(&mut leaves);
    Bvh { nodes, leaves, stack_len: (WIDTH - 1) * depth + 1, bounds: bounds.aabb() }
}

/// Builds the tree of elements with these bounds; `first` is the index of the first one among all.
fn build_tree(
    elements: &mut [Element],
    first: usize,
    bounds: Bounds,
    depth: usize,
    leaf_size: usize,
) -> Tree {
    let set = Set { start: 0, end: elements.len(), bounds };
    if set.len() <= SUBTREE_LEN {
        return Tree::Small(build_subtree(elements, first, set, depth, leaf_size));
    }
    let mut sets: Vec<Set> = split_wide(elements, set, leaf_size, depth).collect();
    sets.sort_by_key(|set| set.start);
    let (mut parts, mut rest) = (Vec::with_capacity(WIDTH), elements);
    for set in sets {
        let (part, others) = rest.split_at_mut(set.len());
        parts.push((part, first + set.start, set.bounds));
        rest = others;
    }
    let children = parts.into_par_iter().map(|(elements, first, bounds)| {
        (bounds, build_tree(elements, first, bounds, depth + 1, leaf_size))
    });
    Tree::Large(children.collect())
}

impl Tree {
    /// Joins all subtrees.
    fn join(self) -> Subtree {
        let (node_count, leaf_count) = self.counts();
        let mut joined = Subtree {
            nodes: with_huge_pages(node_count),
            leaves: Vec::with_capacity(leaf_count),
            depth: 0,
        };
        joined.append(self, None);
        joined
    }

    /// Returns the numbers of nodes and leaves.
    fn counts(&self) -> (usize, usize) {
        match self {
            Tree::Small(subtree) => (subtree.nodes.len(), subtree.leaves.len()),
            Tree::Large(children) => children.iter().fold((1, 0), |(nodes, leaves), (_, child)| {
                let counts = child.counts();
                (nodes + counts.0, leaves + counts.1)
            }),
        }
    }
}

impl Subtree {
    /// Adds an empty node, and sets the reference to it in its parent and slot.
    fn push(&mut self, parent: Option<(usize, usize)>) -> usize {
        let index = self.nodes.len();
        if let Some((parent, slot)) = parent {
            self.nodes[parent].children[slot] = index as u32;
        }
        self.nodes.push(BvhNode::EMPTY);
        index
    }

    /// Appends a tree, and sets the reference to its root.
    fn append(&mut self, tree: Tree, parent: Option<(usize, usize)>) {
        match tree {
            Tree::Small(subtree) => {
                let (first, first_leaf) = (self.nodes.len() as u32, self.leaves.len() as u32);
                if let Some((parent, slot)) = parent {
                    self.nodes[parent].children[slot] = first;
                }
                self.depth = self.depth.max(subtree.depth);
                self.nodes.extend(subtree.nodes.into_iter().map(|mut node| {
                    for child in &mut node.children {
                        *child += if *child & LEAF_FLAG != 0 { first_leaf } else { first };
                    }
                    node
                }));
                self.leaves.extend(subtree.leaves);
            }
            Tree::Large(children) => {
                let index = self.push(parent);
                for (slot, (bounds, child)) in children.into_iter().enumerate() {
                    self.nodes[index].set(slot, &bounds.aabb(), 0);
                    self.append(child, Some((index, slot)));
                }
                self.nodes[index].sort();
            }
        }
    }
}

/// Builds the subtree of a set, which starts at the first element; `first` is its index among all.
fn build_subtree(
    elements: &mut [Element],
    first: usize,
    set: Set,
    depth: usize,
    leaf_size: usize,
) -> Subtree {
    let mut tree = Subtree { nodes: Vec::new(), leaves: Vec::new(), depth };
    let mut pending = vec![Pending { set, parent: None, depth }];
    while let Some(Pending { set, parent, depth }) = pending.pop() {
        tree.depth = tree.depth.max(depth);
        let index = tree.push(parent);
        for (slot, set) in split_wide(elements, set, leaf_size, depth).enumerate() {
            let mut reference = 0;
            if set.len() <= leaf_size {
                reference = LEAF_FLAG | tree.leaves.len() as u32;
                let start = (first + set.start) as u32;
                tree.leaves.push(Leaf { start, len: set.len() as u32 });
            } else {
                pending.push(Pending { set, parent: Some((index, slot)), depth: depth + 1 });
            }
            tree.nodes[index].set(slot, &set.bounds.aabb(), reference);
        }
        tree.nodes[index].sort();
    }
    tree
}

/// Splits a set into up to [`WIDTH`]. Sets that fit into a leaf are not split.
fn split_wide(
    elements: &mut [Element],
    set: Set,
    leaf_size: usize,
    depth: usize,
) -> impl Iterator<Item = Set> + use<> {
    let (mut children, mut count) = ([set; WIDTH], 1);
    while count < WIDTH {
        let splittable = (0..count).filter(|&i| children[i].len() > leaf_size);
        let area = |i: usize| children[i].bounds.half_area();
        let compare = |&a: &usize, &b: &usize| {
            area(a).total_cmp(&area(b)).then(children[a].len().cmp(&children[b].len()))
        };
        let Some(largest) = splittable.max_by(compare) else { break };
        let Set { start, end, .. } = children[largest];
        let Split { len, bounds } = split(&mut elements[start..end], depth);
        children[largest] = Set { start, end: start + len, bounds: bounds[0] };
        children[count] = Set { start: start + len, end, bounds: bounds[1] };
        count += 1;
    }
    children.into_iter().take(count)
}

/// How elements have been partitioned.
struct Split {
    /// Number of elements in the first part.
    len: usize,
    /// Boxes of both parts.
    bounds: [Bounds; 2],
}

/// Partitions elements in two.
fn split(elements: &mut [Element], depth: usize) -> Split {
    if depth >= MAX_SAH_DEPTH {
        return halve(elements);
    }
    if elements.len() <= MAX_SWEEP_LEN {
        return sweep(elements);
    }
    let binning = Binning::new(elements);
    match binning.best_split(elements) {
        Some(BinnedSplit { axis, bin, bounds }) => {
            let len = partition(elements, |element| binning.bin(element, axis) < bin);
            Split { len, bounds }
        }
        None => halve(elements),
    }
}

/// Returns the cost of a part: its area times its number of elements.
#[inline(always)]
fn cost(bounds: &Bounds, count: usize) -> f32 {
    bounds.half_area() * count as f32
}

/// Partitions elements into halves of equal size along the longest axis of the box of their
/// centres.
fn halve(elements: &mut [Element]) -> Split {
    let centers = center_bounds(elements);
    let extent = centers.upper - centers.lower;
    let axis = (1..3).fold(0, |a, b| if extent[b] > extent[a] { b } else { a });
    let len = elements.len() / 2;
    elements.select_nth_unstable_by(len, |a, b| compare(a, b, axis));
    let (first, second) = elements.split_at(len);
    Split { len, bounds: [bounds(first), bounds(second)] }
}

/// Compares elements by their centres along an axis.
fn compare(a: &Element, b: &Element, axis: usize) -> Ordering {
    let center = |e: &Element| e.center2()[axis];
    center(a).total_cmp(&center(b)).then(a.index().cmp(&b.index()))
}

/// Partitions up to [`MAX_SWEEP_LEN`] elements at the cheapest position in their order along an
/// axis; among equal costs, which may be 0 or infinite, nearest to the middle.
fn sweep(elements: &mut [Element]) -> Split {
    let count = elements.len();
    let worst = (f32::INFINITY, usize::MAX);
    let mut best = (worst, 0, Split { len: 0, bounds: [Bounds::EMPTY; 2] });
    for axis in 0..3 {
        elements.sort_unstable_by(|a, b| compare(a, b, axis));
        let mut after = [Bounds::EMPTY; MAX_SWEEP_LEN + 1];
        for i in (0..count).rev() {
            after[i] = after[i + 1].union(elements[i].bounds());
        }
        let mut before = Bounds::EMPTY;
        for len in 1..count {
            before = before.union(elements[len - 1].bounds());
            let total = cost(&before, len) + cost(&after[len], count - len);
            let rank = (total, len.abs_diff(count - len));
            if rank < best.0 {
                best = (rank, axis, Split { len, bounds: [before, after[len]] });
            }
        }
    }
    let (_, axis, split) = best;
    if axis != 2 {
        elements.sort_unstable_by(|a, b| compare(a, b, axis));
    }
    split
}

/// Moves the elements that satisfy a condition to the front; returns their number. There is no
/// branch, since it could not be predicted.
fn partition(elements: &mut [Element], is_first: impl Fn(&Element) -> bool) -> usize {
    let mut len = 0;
    for i in 0..elements.len() {
        let is_first = is_first(&elements[i]);
        elements.swap(i, len);
        len += usize::from(is_first);
    }
    len
}

/// Returns the union of the boxes of elements.
fn bounds(elements: &[Element]) -> Bounds {
    union(elements, Element::bounds)
}

/// Returns the box of twice the centres of elements.
fn center_bounds(elements: &[Element]) -> Bounds {
    union(elements, |e| Bounds { lower: e.center2(), upper: e.center2() })
}

#[inline(always)]
fn union(elements: &[Element], of: impl Fn(&Element) -> Bounds + Sync) -> Bounds {
    let sequential = |elements: &[Element]| {
        elements.iter().fold(Bounds::EMPTY, |union, element| union.union(of(element)))
    };
    if elements.len() < PARALLEL_LEN {
        return sequential(elements);
    }
    elements.par_chunks(CHUNK_LEN).map(sequential).reduce(|| Bounds::EMPTY, Bounds::union)
}

/// Divides the range of centres into bins of equal width along each axis.
struct Binning {
    first: Vec4,
    scale: Vec4,
}

/// The elements of a bin.
#[derive(Clone, Copy)]
struct Bin {
    bounds: Bounds,
    count: usize,
}

/// Bins along all axes.
type Bins = [[Bin; BINS]; 3];

const EMPTY_BINS: Bins = [[Bin { bounds: Bounds::EMPTY, count: 0 }; BINS]; 3];

/// The best split between bins.
struct BinnedSplit {
    axis: usize,
    /// First bin of the second part.
    bin: usize,
    /// Boxes of both parts.
    bounds: [Bounds; 2],
}

impl Binning {
    fn new(elements: &[Element]) -> Binning {
        let centers = center_bounds(elements);
        let scale = Vec4::splat(BINS as f32) / (centers.upper - centers.lower);
        // Without extent, everything is in the first bin.
        let scale = Vec4::from_array(scale.to_array().map(|s| if s.is_finite() { s } else { 0.0 }));
        Binning { first: centers.lower, scale }
    }

    /// Returns the bin of an element along each axis.
    #[inline(always)]
    fn bins(&self, element: &Element) -> [usize; 3] {
        let [x, y, z, _] = ((element.center2() - self.first) * self.scale).to_array();
        [x, y, z].map(|x| (x as i32 as usize).min(BINS - 1))
    }

    /// Returns the bin of an element along one axis.
    #[inline(always)]
    fn bin(&self, element: &Element, axis: usize) -> usize {
        let at = |v: &Vec4| AsRef::<[f32; 4]>::as_ref(v)[axis];
        let x = (at(&element.lower) + at(&element.upper) - at(&self.first)) * at(&self.scale);
        (x as i32 as usize).min(BINS - 1)
    }

    /// Adds elements to their bins.
    fn add(&self, elements: &[Element], bins: &mut Bins) {
        for element in elements {
            for (bins, bin) in bins.iter_mut().zip(self.bins(element)) {
                let bin = &mut bins[bin];
                bin.bounds = bin.bounds.union(element.bounds());
                bin.count += 1;
            }
        }
    }

    /// Returns the cheapest split; `None` if all centres are equal. Among equal costs, parts are of
    /// the most similar size.
    fn best_split(&self, elements: &[Element]) -> Option<BinnedSplit> {
        let mut bins = EMPTY_BINS;
        if elements.len() < PARALLEL_LEN {
            self.add(elements, &mut bins);
        } else {
            let partial = elements.par_chunks(CHUNK_LEN).fold(
                || EMPTY_BINS,
                |mut bins, elements| {
                    self.add(elements, &mut bins);
                    bins
                },
            );
            bins = partial.reduce(
                || EMPTY_BINS,
                |mut a, b| {
                    for (a, b) in a.iter_mut().flatten().zip(b.iter().flatten()) {
                        a.bounds = a.bounds.union(b.bounds);
                        a.count += b.count;
                    }
                    a
                },
            );
        }
        let mut best: Option<((f32, usize), BinnedSplit)> = None;
        for (axis, bins) in bins.iter().enumerate() {
            let mut after = [Bin { bounds: Bounds::EMPTY, count: 0 }; BINS + 1];
            for bin in (1..BINS).rev() {
                let Bin { bounds, count } = after[bin + 1];
                after[bin] =
                    Bin { bounds: bounds.union(bins[bin].bounds), count: count + bins[bin].count };
            }
            let (mut before, mut count) = (Bounds::EMPTY, 0);
            for bin in 1..BINS {
                before = before.union(bins[bin - 1].bounds);
                count += bins[bin - 1].count;
                if count == 0 || after[bin].count == 0 {
                    continue;
                }
                let total = cost(&before, count) + cost(&after[bin].bounds, after[bin].count);
                let rank = (total, count.abs_diff(after[bin].count));
                if best.as_ref().is_none_or(|best| rank < best.0) {
                    let bounds = [before, after[bin].bounds];
                    best = Some((rank, BinnedSplit { axis, bin, bounds }));
                }
            }
        }
        best.map(|best| best.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lightbound_math::sampling::testing::points;
    use lightbound_math::vec3;

    /// Returns boxes of random sizes at random positions.
    fn random_boxes(n: u32) -> Vec<Aabb> {
        let corner = |(a, b): (lightbound_math::Vec2, lightbound_math::Vec2)| vec3(a.x, a.y, b.x);
        let lower = points(n, 1).zip(points(n, 2)).map(corner);
        let sizes = points(n, 3).zip(points(n, 4)).map(corner);
        lower.zip(sizes).map(|(min, d)| Aabb { min, max: min + 0.1 * d * d * d }).collect()
    }

    fn elements(boxes: &[Aabb]) -> Vec<Element> {
        (0..).zip(boxes).map(|(index, bounds)| Element::new(bounds, index)).collect()
    }

    /// Checks that each element is in one leaf and that boxes contain those below; returns the
    /// maximum depth.
    fn assert_valid(tree: &Bvh<Vec<u32>>, boxes: &[Aabb], leaf_size: usize) -> usize {
        let mut seen = vec![false; boxes.len()];
        let enlarged = |p: Vec3, by: fn(f32) -> f32| Vec3::from(p.to_array().map(by));
        let bounds = Aabb {
            min: enlarged(tree.bounds.min, f32::next_down),
            max: enlarged(tree.bounds.max, f32::next_up),
        };
        let mut pending = vec![(0, bounds, 1)];
        let mut depth = 0;
        while let Some((index, outer, level)) = pending.pop() {
            depth = depth.max(level);
            let node = &tree.nodes[index];
            for slot in 0..WIDTH {
                let plane = |upper| Vec3::from([0, 1, 2].map(|axis| node.plane(axis, upper, slot)));
                let bounds = Aabb { min: plane(false), max: plane(true) };
                if bounds.is_empty() {
                    continue;
                }
                let contains = |inner: &Aabb| {
                    bounds.min.cmple(inner.min).all() && bounds.max.cmpge(inner.max).all()
                };
                let child = node.children[slot];
                if child & LEAF_FLAG == 0 {
                    pending.push((child as usize, bounds, level + 1));
                } else {
                    let leaf = &tree.leaves[(child & !LEAF_FLAG) as usize];
                    assert!(!leaf.is_empty() && leaf.len() <= leaf_size);
                    for &element in leaf {
                        assert!(contains(&boxes[element as usize]));
                        assert!(!std::mem::replace(&mut seen[element as usize], true));
                    }
                }
                assert!(bounds.min.cmpge(outer.min).all() && bounds.max.cmple(outer.max).all());
            }
        }
        assert!(seen.iter().all(|&seen| seen));
        assert_eq!(tree.stack_len, (WIDTH - 1) * depth + 1);
        depth
    }

    #[test]
    fn every_element_is_in_one_leaf() {
        for n in [1, 2, 4, 5, 17, 1000, 3 * SUBTREE_LEN as u32, PARALLEL_LEN as u32 + 77] {
            let boxes = random_boxes(n);
            for leaf_size in [1, 4] {
                let tree = build(elements(&boxes), leaf_size, <[u32]>::to_vec);
                assert_valid(&tree, &boxes, leaf_size);
            }
        }
    }

    #[test]
    fn trees_of_boxes_without_area_are_balanced() {
        let equal = vec![Aabb { min: Vec3::ZERO, max: Vec3::ONE }; 1000];
        let line: Vec<Aabb> =
            (0..1000).map(|i| vec3(i as f32, 0.0, 0.0)).map(|p| Aabb { min: p, max: p }).collect();
        for boxes in [equal, line] {
            let tree = build(elements(&boxes), 1, <[u32]>::to_vec);
            assert!(assert_valid(&tree, &boxes, 1) <= 6);
        }
    }

    #[test]
    fn deep_sets_are_halved() {
        // The cheapest split separates one box.
        let boxes: Vec<Aabb> = (0..100)
            .map(|i| vec3(if i == 0 { 1e6 } else { 0.01 * i as f32 }, 0.0, 0.0))
            .map(|p| Aabb { min: p, max: p + 1.0 })
            .collect();
        let len = |depth| split(&mut elements(&boxes), depth).len;
        assert_eq!([len(MAX_SAH_DEPTH - 1), len(MAX_SAH_DEPTH)], [99, 50]);
    }

    #[test]
    fn trees_do_not_depend_on_the_number_of_threads() {
        let boxes = random_boxes(PARALLEL_LEN as u32 + 1);
        let build = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| build(elements(&boxes), 4, <[u32]>::to_vec))
        };
        let (a, b) = (build(1), build(3));
        assert_eq!((&a.leaves, a.stack_len), (&b.leaves, b.stack_len));
        assert!(a.nodes == b.nodes);
    }

    #[test]
    fn splits_separate_clusters() {
        let boxes: Vec<Aabb> = (0..40)
            .map(|i| vec3(if i % 2 == 0 { 0.0 } else { 100.0 }, 0.01 * i as f32, 0.0))
            .map(|p| Aabb { min: p, max: p + 1.0 })
            .collect();
        let mut elements = elements(&boxes);
        let Split { len, bounds: [first, second] } = split(&mut elements, 1);
        assert_eq!(len, 20);
        assert!(first.upper.x < 2.0 && second.lower.x > 98.0);
    }

    #[test]
    fn empty_sets_have_no_nodes() {
        let tree = build(Vec::new(), 4, <[u32]>::to_vec);
        assert!(tree.nodes.is_empty() && tree.leaves.is_empty() && tree.bounds.is_empty());
    }
}
