//! Top-down tree builder. A set of lights is split in two, then the part with the greatest metric
//! is split repeatedly until there are 8 parts, which become the children of a node.
//!
//! The metric is that of Walter et al. 2005: intensity × (diagonal² + c² (1 − cos)²) of box and
//! cone, where c is half of the scene's diagonal. Sets of up to 8 lights become nodes of leaves.
//! They are inlined into the parent only if all their lights fit into free slots. This keeps the
//! nodes at the bottom full, which are the majority. Boxes and cones are computed from the lights
//! rather than from the children's boxes and cones, which keeps them tight. Every decision depends
//! only on the lights of the set, never on threads.

use super::RgbLanes;
use super::discretize::Extent;
use super::node::{Child, Cluster, MAX_VIRTUAL_LIGHTS, NO_SPOT, Node, VirtualBlock, WIDTH};
use super::point::{Emission, LightKind, LightPoint};
use super::split::{LightItem, split};
use super::virtual_light::VirtualLight;
use glam::DVec3;
use lightbound_math::{Aabb, Cone};
use rayon::prelude::*;
use std::ops::Range;

/// Sets with more lights are built in parallel.
const MIN_PARALLEL_LIGHTS: usize = 1 << 14;

/// From this depth on, lights are split at the median, which bounds the depth of the tree.
const BALANCED_DEPTH: u32 = 24;

/// All trees. Points are in leaf order.
#[derive(Default)]
pub(super) struct Trees {
    pub(super) points: Vec<LightPoint>,
    pub(super) nodes: Vec<Node>,
    pub(super) roots: Vec<(LightKind, u32)>,
}

/// Builds a tree for each kind of light. `size` is the length of the scene's diagonal.
///
/// # Panics
/// If there are 2³¹ points or more.
pub(super) fn build(points: Vec<LightPoint>, extents: Option<Vec<Extent>>, size: f32) -> Trees {
    assert!(points.len() < 1 << 31, "light trees hold fewer than 2³¹ points");
    let mut trees = Trees { points: Vec::with_capacity(points.len()), ..Trees::default() };
    for kind in [LightKind::Omni, LightKind::Oriented, LightKind::Directional] {
        let points_of_kind = points.iter().enumerate().filter(|(_, p)| p.kind() == kind);
        let extent = |i: usize, p| extents.as_ref().map_or_else(|| Extent::of(p), |e| e[i]);
        let mut items: Vec<LightItem> =
            points_of_kind.map(|(i, p)| light_item(p, extent(i, p), i as u32)).collect();
        trees.add(kind, &mut items, size);
        trees.points.extend(items.iter().map(|item| points[item.point as usize]));
    }
    trees.nodes.shrink_to_fit();
    trees
}

impl Trees {
    /// Adds a tree of virtual lights, and returns them in leaf order. `size` is as in [`build`].
    ///
    /// # Panics
    /// If there are more than [`MAX_VIRTUAL_LIGHTS`], or 2³¹ leaves or more.
    pub(super) fn add_virtual_lights(
        &mut self,
        lights: &[VirtualLight],
        min_distance: f32,
        size: f32,
    ) -> Vec<VirtualLight> {
        assert!(
            lights.len() <= MAX_VIRTUAL_LIGHTS && self.points.len() + lights.len() < 1 << 31,
            "light trees hold at most 2²⁷ virtual lights, and fewer than 2³¹ leaves"
        );
        let item = |(point, light): (u32, &VirtualLight)| LightItem {
            bounds: Aabb { min: light.position, max: light.position },
            cone: light.cone(),
            intensity: light.intensity,
            cos_spot: NO_SPOT,
            point,
        };
        let mut items: Vec<LightItem> = (0..).zip(lights).map(item).collect();
        let kind = LightKind::Virtual { min_distance_squared: min_distance * min_distance };
        self.add(kind, &mut items, size);
        self.nodes.shrink_to_fit();
        items.iter().map(|item| lights[item.point as usize]).collect()
    }

    /// Adds the tree of some lights, of one kind, if there are any. Sorts them in leaf order.
    fn add(&mut self, kind: LightKind, items: &mut [LightItem], size: f32) {
        if items.is_empty() {
            return;
        }
        let first = self.points.len() as u32;
        let builder = TreeBuilder { kind, half_size: 0.5 * f64::from(size), first };
        let root = builder.build_node(items, first, 0, &mut self.nodes);
        self.roots.push((kind, root.index));
    }
}

/// Creates the build item of a point.
fn light_item(p: &LightPoint, extent: Extent, index: u32) -> LightItem {
    let cos_spot = match p.emission {
        Emission::Spot(falloff) => falloff.cos_end,
        _ => NO_SPOT,
    };
    LightItem {
        bounds: extent.bounds,
        cone: extent.cone,
        intensity: p.intensity,
        cos_spot,
        point: index,
    }
}

/// Builder of one tree.
struct TreeBuilder {
    kind: LightKind,
    half_size: f64,
    /// Index of the tree's first leaf.
    first: u32,
}

/// A built node and its representative.
struct BuiltNode {
    index: u32,
    representative: u32,
}

/// A range of lights that becomes a child.
struct ChildRange {
    range: Range<usize>,
    cluster: Cluster,
    /// The range with the greatest metric is split next.
    metric: f64,
}

impl TreeBuilder {
    /// Appends the node of `items` and all nodes below it. `first` is the index of the first leaf.
    fn build_node(
        &self,
        items: &mut [LightItem],
        first: u32,
        depth: u32,
        nodes: &mut Vec<Node>,
    ) -> BuiltNode {
        if matches!(self.kind, LightKind::Virtual { .. }) && items.len() <= WIDTH {
            let len = items.len() as u32;
            let block = VirtualBlock { first: first - self.first, len };
            let representative = self.representative(items, first, first..first + len);
            return BuiltNode { index: block.node(), representative };
        }
        let mut parts = self.child_ranges(items, depth >= BALANCED_DEPTH);
        let index = nodes.len() as u32;
        // Push a placeholder, which is replaced once all children are built.
        nodes.push(Node::new(&[parts[0].cluster]));
        if items.len() > MIN_PARALLEL_LIGHTS {
            self.build_children_in_parallel(items, first, depth, nodes, &mut parts);
        } else {
            for part in &mut parts {
                let leaf = first + part.range.start as u32;
                let (child, representative) = if part.range.len() == 1 {
                    (Child::Leaf(leaf), leaf)
                } else {
                    let built =
                        self.build_node(&mut items[part.range.clone()], leaf, depth + 1, nodes);
                    (Child::Node(built.index), built.representative)
                };
                (part.cluster.child, part.cluster.representative) = (child, representative);
            }
        }
        let clusters: Vec<Cluster> = parts.iter().map(|p| p.cluster).collect();
        nodes[index as usize] = Node::new(&clusters);
        let representatives = clusters.iter().map(|cluster| cluster.representative);
        BuiltNode { index, representative: self.representative(items, first, representatives) }
    }

    /// Returns the representative nearest to the power-weighted centroid of all lights, among the
    /// representatives of the children. `first` is the index of the first light's leaf. Walter et
    /// al. 2005 select representatives by intensity; at the centroid, first-order errors cancel.
    fn representative(
        &self,
        items: &[LightItem],
        first: u32,
        representatives: impl Iterator<Item = u32>,
    ) -> u32 {
        let (mut position, mut axis, mut total) = (DVec3::ZERO, DVec3::ZERO, 0.0);
        for item in items {
            let weight = f64::from(item.weight());
            position += weight * item.center();
            axis += weight * item.cone.axis.as_dvec3();
            total += weight;
        }
        let axis_scale = if self.kind.has_axis() { self.half_size } else { 0.0 };
        let distance2 = |&leaf: &u32| {
            let item = &items[(leaf - first) as usize];
            let axis_offset = axis_scale * (item.cone.axis.as_dvec3() - axis / total);
            (item.center() - position / total).length_squared() + axis_offset.length_squared()
        };
        let nearest = representatives.min_by(|a, b| distance2(a).total_cmp(&distance2(b)));
        nearest.expect("nodes have children")
    }

    /// Builds the subtrees of the parts in parallel, in separate arrays, and appends them in order.
    fn build_children_in_parallel(
        &self,
        items: &mut [LightItem],
        first: u32,
        depth: u32,
        nodes: &mut Vec<Node>,
        parts: &mut [ChildRange],
    ) {
        let mut slices = Vec::with_capacity(parts.len());
        let mut rest = items;
        for part in parts.iter() {
            let (slice, remaining) = rest.split_at_mut(part.range.len());
            slices.push((slice, first + part.range.start as u32));
            rest = remaining;
        }
        let subtrees: Vec<Option<(BuiltNode, Vec<Node>)>> = slices
            .into_par_iter()
            .map(|(slice, leaf)| {
                (slice.len() > 1).then(|| {
                    let mut subtree_nodes = Vec::new();
                    (self.build_node(slice, leaf, depth + 1, &mut subtree_nodes), subtree_nodes)
                })
            })
            .collect();
        for (part, subtree) in parts.iter_mut().zip(subtrees) {
            let leaf = first + part.range.start as u32;
            (part.cluster.child, part.cluster.representative) = match subtree {
                None => (Child::Leaf(leaf), leaf),
                Some((built, mut subtree_nodes)) => {
                    let offset = nodes.len() as u32;
                    subtree_nodes.iter_mut().for_each(|n| n.offset_children(offset));
                    nodes.append(&mut subtree_nodes);
                    let index = match VirtualBlock::of_node(built.index) {
                        Some(_) => built.index,
                        None => built.index + offset,
                    };
                    (Child::Node(index), built.representative)
                }
            };
        }
    }

    /// Partitions the items into ranges that become the children, in order.
    fn child_ranges(&self, items: &mut [LightItem], at_median: bool) -> Vec<ChildRange> {
        let n = items.len();
        if n <= WIDTH {
            return (0..n).map(|i| self.child_range(items, i..i + 1)).collect();
        }
        let mut parts = vec![self.child_range(items, 0..n)];
        while parts.len() < WIDTH {
            let splittable = (0..parts.len()).filter(|&i| parts[i].range.len() > WIDTH);
            let by_metric = |&a: &usize, &b: &usize| {
                let (a, b): (&ChildRange, &ChildRange) = (&parts[a], &parts[b]);
                a.metric
                    .total_cmp(&b.metric)
                    .then(a.range.len().cmp(&b.range.len()))
                    .then(b.range.start.cmp(&a.range.start))
            };
            let Some(i) = splittable.max_by(by_metric) else { break };
            let range = parts[i].range.clone();
            let middle =
                range.start + split(&mut items[range.clone()], self.kind.has_axis(), at_median);
            let halves =
                [range.start..middle, middle..range.end].map(|r| self.child_range(items, r));
            parts.splice(i..=i, halves);
        }
        self.inline_small_parts(items, &mut parts);
        parts
    }

    /// Replaces small parts by their leaves while these fit into free slots, starting with the
    /// greatest metric.
    fn inline_small_parts(&self, items: &[LightItem], parts: &mut Vec<ChildRange>) {
        loop {
            let free = WIDTH - parts.len();
            let fits = (0..parts.len())
                .filter(|&i| parts[i].range.len() > 1 && parts[i].range.len() <= free + 1);
            let Some(i) =
                fits.max_by(|&a, &b| parts[a].metric.total_cmp(&parts[b].metric).then(b.cmp(&a)))
            else {
                return;
            };
            let leaves: Vec<ChildRange> =
                parts[i].range.clone().map(|k| self.child_range(items, k..k + 1)).collect();
            parts.splice(i..=i, leaves);
        }
    }

    /// Creates the child for a range of items.
    fn child_range(&self, items: &[LightItem], range: Range<usize>) -> ChildRange {
        let items = &items[range.clone()];
        let (mut bounds, mut intensity, mut axes) = (Aabb::EMPTY, DVec3::ZERO, DVec3::ZERO);
        let (mut has_cosine, mut cos_spot) = (false, NO_SPOT);
        for item in items {
            bounds = bounds.union(item.bounds);
            intensity += item.intensity.as_dvec3();
            axes += item.cone.axis.as_dvec3();
            has_cosine |= item.cos_spot == NO_SPOT;
            cos_spot = cos_spot.min(item.cos_spot);
        }
        let cone = match self.kind {
            LightKind::Omni => Cone::SPHERE,
            _ if items.len() == 1 => items[0].cone,
            _ => Cone::around(Cone::mean_direction(axes), items.iter().map(|i| i.cone)),
        };
        let diagonal2 = (bounds.max - bounds.min).as_dvec3().length_squared();
        let orientation = self.half_size * (1.0 - f64::from(cone.cos));
        let orientation2 = if self.kind.has_axis() { orientation * orientation } else { 0.0 };
        let total: f64 = items.iter().map(|i| f64::from(i.weight())).sum();
        let cluster = Cluster {
            bounds,
            cone,
            has_cosine,
            cos_spot,
            intensity,
            representative: 0,
            child: Child::None,
        };
        ChildRange { range, metric: total * (diagonal2 + orientation2), cluster }
    }
}

/// Returns the magnitudes of each node (see [`super::LightTree::magnitude`]); empty if they equal
/// the intensities.
pub(super) fn magnitudes(
    points: &[LightPoint],
    virtual_lights: &[VirtualLight],
    nodes: &[Node],
) -> Vec<RgbLanes> {
    let is_nonnegative = |p: &LightPoint| p.intensity == p.intensity.abs();
    if virtual_lights.is_empty() && points.iter().all(is_nonnegative) {
        return Vec::new();
    }
    let leaf_magnitude = |leaf: u32| match points.get(leaf as usize) {
        Some(point) => point.intensity.abs(),
        None => virtual_lights[leaf as usize - points.len()].bound.get(),
    };
    let mut magnitudes = vec![[[0.0f32; WIDTH]; 3]; nodes.len()];
    // Nodes come before their descendants.
    for (index, node) in nodes.iter().enumerate().rev() {
        for k in 0..WIDTH {
            let sum = match node.child(k) {
                Child::None => continue,
                Child::Leaf(leaf) => leaf_magnitude(leaf).to_array(),
                Child::Node(below) => match VirtualBlock::of_node(below) {
                    Some(block) => block_magnitudes(&virtual_lights[block.range()]),
                    None => magnitudes[below as usize],
                }
                .map(sum_of_lanes),
            };
            (0..3).for_each(|channel| magnitudes[index][channel][k] = sum[channel]);
        }
    }
    magnitudes
}

/// Returns the magnitudes of a block of virtual lights.
pub(super) fn block_magnitudes(lights: &[VirtualLight]) -> RgbLanes {
    let mut magnitudes = [[0.0; WIDTH]; 3];
    for (k, light) in lights.iter().enumerate() {
        let bound = light.bound.get();
        (0..3).for_each(|channel| magnitudes[channel][k] = bound[channel]);
    }
    magnitudes
}

/// Returns the sum of magnitudes: finite if all of them are.
fn sum_of_lanes(lanes: [f32; WIDTH]) -> f32 {
    let is_finite = lanes.iter().all(|x| x.is_finite());
    let greatest = if is_finite { f32::MAX } else { f32::INFINITY };
    lanes.iter().sum::<f32>().min(greatest)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Random, TestLight, cloud, cube, each_cluster, leaves, tree};
    use super::super::{
        EmittingSide, LightTree, PackedColour, PackedDirection, PackedFrame, PointOptions,
    };
    use super::*;
    use crate::light::{AnyLight, Lights, PointLight};
    use lightbound_math::{Frame, Vec3};
    use proptest::prelude::*;

    fn lights(lights: Vec<AnyLight>) -> Lights {
        Lights::new(lights, cube())
    }

    fn points_at(positions: impl Iterator<Item = Vec3>) -> Lights {
        lights(positions.map(|p| AnyLight::Point(PointLight::new(p, Vec3::ONE))).collect())
    }

    /// Asserts all invariants of a tree.
    fn assert_invariants(tree: &LightTree) {
        let mut seen = vec![0; tree.points().len() + tree.virtual_lights().len()];
        for (kind, root) in tree.roots() {
            for leaf in leaves(tree, Child::Node(root)) {
                assert_eq!(tree.point(leaf).kind(), kind);
                seen[leaf as usize] += 1;
            }
        }
        assert!(seen.iter().all(|&n| n == 1), "a light is not in exactly one leaf");
        let mut counts = std::collections::HashMap::<u32, Vec<usize>>::new();
        each_cluster(tree, |kind, index, k, leaves| {
            counts.entry(index).or_default().push(leaves.len());
            assert_cluster_invariants(tree, kind, index, k, leaves);
        });
        for (index, counts) in counts {
            let (total, free) = (counts.iter().sum::<usize>(), WIDTH - counts.len());
            assert_eq!(
                tree.node(index).len(),
                counts.len(),
                "children do not occupy the first slots"
            );
            assert!(
                total > WIDTH || free == WIDTH - total,
                "a set of at most 8 lights has inner nodes: {counts:?}"
            );
            assert!(total <= WIDTH || counts.len() > 1, "an inner node has one child: {counts:?}");
            assert!(
                free == 0 || counts.iter().all(|&n| n == 1 || (n > free + 1 && n <= WIDTH)),
                "free slots could hold a small part: {counts:?}"
            );
        }
    }

    fn assert_cluster_invariants(
        tree: &LightTree,
        kind: LightKind,
        index: u32,
        k: usize,
        leaves: &[u32],
    ) {
        let node = tree.node(index);
        let (bounds, cone) = (node.bounds(k), node.cone(k));
        let mut sum = DVec3::ZERO;
        for &leaf in leaves {
            let p = tree.point(leaf);
            sum += p.intensity.as_dvec3();
            assert!(bounds.min.cmple(p.position).all() && bounds.max.cmpge(p.position).all());
            match p.emission {
                Emission::Omni => {}
                Emission::Distant => assert!(cone.contains(p.position), "{cone:?} {}", p.position),
                Emission::Cosine => assert!(cone.contains(p.axis) && node.has_cosine[k] == 1.0),
                Emission::Spot(falloff) => {
                    assert!(cone.contains(p.axis) && node.cos_spot[k] <= falloff.cos_end)
                }
                Emission::Virtual { .. } => {
                    assert!(p.axis == Vec3::ZERO || cone.contains(p.axis))
                }
            }
        }
        if kind == LightKind::Oriented {
            let has_cosine = leaves.iter().any(|&l| tree.point(l).emission == Emission::Cosine);
            assert_eq!(node.has_cosine[k] == 1.0, has_cosine);
        }
        let magnitude = Vec3::from_array(tree.magnitude(index).map(|lanes| lanes[k]));
        assert!(
            (node.intensity(k).as_dvec3() - sum).length() <= 1e-6 * f64::from(magnitude.length())
        );
        let representative = node.representative[k];
        match node.child(k) {
            Child::Leaf(leaf) => assert_eq!((representative, leaves), (leaf, &[leaf][..])),
            Child::Node(below) => {
                let below = tree.node(below);
                let same =
                    (0..WIDTH).filter(|&i| below.representative[i] == representative).count();
                assert_eq!(same, 1, "the representative does not represent exactly one child");
            }
            Child::None => unreachable!("empty slots have no leaves"),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn trees_of_random_lights_satisfy_invariants(n in 1usize..600, kinds in 1usize..8, seed: u32) {
            let all = [TestLight::Point, TestLight::Spot, TestLight::Distant];
            let kinds: Vec<TestLight> = (0..3).filter(|i| kinds >> i & 1 == 1).map(|i| all[i]).collect();
            let tree = tree(&lights(cloud(n, &kinds, &mut Random(seed))), &PointOptions::default());
            prop_assert_eq!(tree.points().len(), n);
            assert_invariants(&tree);
        }
    }

    /// Returns random virtual lights. Some emit on both sides.
    fn virtual_lights(n: usize, random: &mut Random) -> Vec<VirtualLight> {
        let sides = [EmittingSide::Front, EmittingSide::Back, EmittingSide::Both];
        let mut light = |k: usize| {
            let n = random.cube().normalize();
            VirtualLight {
                position: random.cube(),
                intensity: random.cube(),
                offset: 1e-4,
                material: k as u32,
                frame: PackedFrame::new(&Frame::from_normal(n)),
                ng: PackedDirection::new(n),
                wo: PackedDirection::new(Vec3::Z),
                unit: PackedColour::at_least(Vec3::ONE),
                bound: PackedColour::at_least(1.0 + 3.0 * random.cube().abs()),
                side: sides[k % 3],
                has_shading_normal: false,
            }
        };
        (0..n).map(&mut light).collect()
    }

    #[test]
    fn trees_of_virtual_lights_satisfy_invariants() {
        for count in [1, 2, 8, 9, 40, 3000, 2 * MIN_PARALLEL_LIGHTS] {
            let points = points_at([Vec3::ZERO, Vec3::ONE, Vec3::X].into_iter());
            let mut tree = tree(&points, &PointOptions::default());
            let before = tree.bytes();
            let lights = virtual_lights(count, &mut Random(count as u32));
            tree.add_virtual_lights(&lights, 0.1, cube());
            assert_invariants(&tree);
            let mut indices: Vec<u32> = tree.virtual_lights().iter().map(|l| l.material).collect();
            indices.sort();
            assert!(indices.into_iter().eq(0..count as u32));
            each_cluster(&tree, |kind, index, k, leaves| {
                let node = tree.node(index);
                assert_eq!(
                    (node.len(), node.child(k)),
                    (tree.child_count(index), tree.child(index, k))
                );
                assert_eq!(node.representative[k], tree.representative(index, k));
                assert_eq!(node.intensity(k), tree.intensity(index, k));
                let bounds = leaves.iter().filter_map(|&leaf| match tree.point(leaf).emission {
                    Emission::Virtual { bound } => Some(bound),
                    _ => None,
                });
                let expected: Vec3 = bounds.sum();
                let magnitude = Vec3::from_array(tree.magnitude(index).map(|lanes| lanes[k]));
                let is_virtual = matches!(kind, LightKind::Virtual { .. });
                assert!(
                    !is_virtual || (magnitude - expected).length() <= 1e-5 * expected.length(),
                    "{magnitude} {expected}"
                );
            });
            let per_light = (tree.bytes() - before) as f64 / count as f64;
            assert!(count < 3000 || per_light <= 100.0, "{per_light} bytes per virtual light");
        }
    }

    #[test]
    fn degenerate_lights_satisfy_invariants() {
        let options = PointOptions::default();
        let none = tree(&Lights::default(), &options);
        assert_eq!((none.roots().count(), none.points().len(), none.bytes()), (0, 0, 0));
        let coincident = tree(&points_at(std::iter::repeat_n(Vec3::ONE, 30_000)), &options);
        assert_invariants(&coincident);
        // Splits by cost could separate one light at a time.
        assert_invariants(&tree(
            &points_at((0..2000).map(|i| Vec3::X * libm::expf(-0.04 * i as f32))),
            &options,
        ));
        assert_invariants(&tree(
            &points_at((0..2000).map(|i| Vec3::X * (i / 700) as f32)),
            &options,
        ));
        // Extreme positions and intensities, and lights that are dropped.
        let positions = [
            Vec3::splat(1e30),
            Vec3::splat(-3e38),
            Vec3::splat(1e-40),
            Vec3::NAN,
            Vec3::INFINITY,
            Vec3::ZERO,
        ];
        let mut all = vec![];
        for position in positions {
            for intensity in [
                Vec3::ONE,
                Vec3::splat(1e38),
                Vec3::splat(1e-44),
                Vec3::ZERO,
                Vec3::NAN,
                Vec3::new(1.0, -0.2, 0.1),
            ] {
                all.push(AnyLight::Point(PointLight::new(position, intensity)));
            }
        }
        let tree = LightTree::build(&lights(all), Aabb::EMPTY, &options);
        assert_eq!(tree.points().len(), 4 * 4, "only finite lights that emit have points");
        assert!(
            (0..tree.nodes.len() as u32).all(|i| tree
                .node(i)
                .intensity
                .as_flattened()
                .iter()
                .all(|v| v.is_finite()))
        );
    }

    #[test]
    fn bright_sums_stay_finite() {
        let bright = AnyLight::Point(PointLight::new(Vec3::ZERO, Vec3::splat(3e38)));
        let tree = tree(&lights(vec![bright; 20]), &PointOptions::default());
        assert!(
            tree.nodes.iter().all(|n| n.intensity.as_flattened().iter().all(|v| v.is_finite()))
        );
    }

    #[test]
    fn magnitudes_do_not_cancel() {
        let mut random = Random(2);
        let mut light = || AnyLight::Point(PointLight::new(random.cube(), random.cube()));
        let tree = tree(&lights((0..300).map(|_| light()).collect()), &PointOptions::default());
        assert_invariants(&tree);
        each_cluster(&tree, |_, index, k, leaves| {
            let expected: Vec3 = leaves.iter().map(|&l| tree.point(l).intensity.abs()).sum();
            let magnitude = Vec3::from_array(tree.magnitude(index).map(|lanes| lanes[k]));
            assert!(
                (magnitude - expected).length() <= 1e-5 * expected.length(),
                "{magnitude} {expected}"
            );
        });
        let nonnegative =
            self::tree(&points_at([Vec3::ZERO, Vec3::ONE].into_iter()), &PointOptions::default());
        assert_eq!(*nonnegative.magnitude(0), nonnegative.node(0).intensity);
        assert!(nonnegative.magnitudes.is_empty());
    }

    #[test]
    fn trees_do_not_depend_on_thread_count() {
        let all = lights(cloud(
            3 * MIN_PARALLEL_LIGHTS,
            &[TestLight::Point, TestLight::Spot],
            &mut Random(5),
        ));
        let build = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| tree(&all, &PointOptions::default()))
        };
        let one = build(1);
        for threads in [2, 5] {
            let other = build(threads);
            assert!(
                one.nodes == other.nodes && one.points == other.points && one.roots == other.roots,
                "{threads} threads"
            );
        }
        assert_invariants(&one);
        let per_light = one.bytes() as f64 / one.points().len() as f64;
        assert!(per_light <= 200.0, "{per_light} bytes per light");
    }

    #[test]
    fn representatives_are_central() {
        let at = |(x, power): (f32, f32)| {
            AnyLight::Point(PointLight::new(Vec3::X * x, Vec3::splat(power)))
        };
        // Three distant groups, each a row of eight lights with one bright light. They do not fit
        // into the root.
        let group = |(bright, x): (u8, f32)| {
            (0..8).map(move |k| (x + f32::from(k), if k == bright { 90.0 } else { 1.0 }))
        };
        let groups = [(3, 0.0), (7, 1000.0), (1, 2000.0)];
        let tree = tree(
            &lights(groups.into_iter().flat_map(group).map(at).collect()),
            &PointOptions::default(),
        );
        let (_, root) = tree.roots().next().unwrap();
        let representatives = tree
            .node(root)
            .representative
            .map(|leaf| tree.points().get(leaf as usize).map_or(-1.0, |p| p.position.x));
        assert_eq!(representatives, [3.0, 1007.0, 2001.0, -1.0, -1.0, -1.0, -1.0, -1.0]);
    }
}
