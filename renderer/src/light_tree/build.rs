//! Builds the trees, from the top: a set of lights is parted in two, and its largest parts again,
//! until there are 8 of them, which are the children of a node.
//!
//! Largest is by the metric of Walter et al. 2005: intensity × (diagonal² + c² (1 − cos)²) of box
//! and cone, with c half of the scene's diagonal. Sets of at most 8 lights are nodes of leaves,
//! which are opened only into slots that are free for all of their lights: so that nodes are full
//! where most of them are, at the bottom. Boxes and cones are taken of the lights themselves rather
//! than of the children's boxes and cones, which keeps them tight. Every decision depends on the
//! lights below alone, none on threads.

use super::Colours;
use super::emit::Extent;
use super::node::{Child, Cluster, Node, WIDTH};
use super::point::{Emission, Kind, LightPoint};
use super::split::{Item, split};
use crate::math::{Aabb, Cone};
use glam::DVec3;
use rayon::prelude::*;
use std::ops::Range;

/// Parts with more lights than this are built on other threads.
const PARALLEL: usize = 1 << 14;

/// Nodes deeper than this part their lights evenly.
const DEEP: u32 = 24;

/// No spot.
const NO_SPOT: f32 = 2.0;

/// All trees; points in the order of their leaves.
pub(super) struct Trees {
    pub(super) points: Vec<LightPoint>,
    pub(super) nodes: Vec<Node>,
    pub(super) roots: Vec<(Kind, u32)>,
}

/// Builds a tree for each kind of light that there is. `size` is the scene's diagonal.
///
/// # Panics
/// With 2³¹ points or more.
pub(super) fn build(points: Vec<LightPoint>, extents: Option<Vec<Extent>>, size: f32) -> Trees {
    assert!(points.len() < 1 << 31, "light trees hold fewer than 2³¹ points");
    let (mut ordered, mut nodes, mut roots) =
        (Vec::with_capacity(points.len()), Vec::new(), Vec::new());
    for kind in [Kind::Omni, Kind::Oriented, Kind::Directional] {
        let of_kind = points.iter().enumerate().filter(|(_, p)| p.kind() == kind);
        let extent = |i: usize, p| extents.as_ref().map_or_else(|| Extent::of(p), |e| e[i]);
        let mut items: Vec<Item> = of_kind.map(|(i, p)| item(p, extent(i, p), i as u32)).collect();
        if items.is_empty() {
            continue;
        }
        let plan = Plan { kind, half_size: 0.5 * f64::from(size) };
        let root = plan.node(&mut items, ordered.len() as u32, 0, &mut nodes);
        roots.push((kind, root.index));
        ordered.extend(items.iter().map(|item| points[item.point as usize]));
    }
    nodes.shrink_to_fit();
    Trees { points: ordered, nodes, roots }
}

/// The light as builds see it.
fn item(p: &LightPoint, extent: Extent, index: u32) -> Item {
    let cos_spot = match p.emission {
        Emission::Spot(falloff) => falloff.cos_end,
        _ => NO_SPOT,
    };
    Item {
        bounds: extent.bounds,
        cone: extent.cone,
        intensity: p.intensity,
        cos_spot,
        point: index,
    }
}

/// What is the same for a whole tree.
struct Plan {
    kind: Kind,
    half_size: f64,
}

/// A node that was built, and who stands for it.
struct Built {
    index: u32,
    representative: u32,
}

/// Lights that become a child, and what there is to know of them.
struct Part {
    range: Range<usize>,
    cluster: Cluster,
    /// The metric by which parts are opened.
    metric: f64,
}

impl Plan {
    /// Appends the node of `items`, whose leaves are numbered from `first`, and all that is below
    /// it.
    fn node(&self, items: &mut [Item], first: u32, depth: u32, nodes: &mut Vec<Node>) -> Built {
        let mut parts = self.parts(items, depth >= DEEP);
        let index = nodes.len() as u32;
        // Its slot is filled once its children are known.
        nodes.push(Node::new(&[parts[0].cluster]));
        if items.len() > PARALLEL {
            self.children_in_parallel(items, first, depth, nodes, &mut parts);
        } else {
            for part in &mut parts {
                let leaf = first + part.range.start as u32;
                let (child, representative) = if part.range.len() == 1 {
                    (Child::Leaf(leaf), leaf)
                } else {
                    let built = self.node(&mut items[part.range.clone()], leaf, depth + 1, nodes);
                    (Child::Node(built.index), built.representative)
                };
                (part.cluster.child, part.cluster.representative) = (child, representative);
            }
        }
        let clusters: Vec<Cluster> = parts.iter().map(|p| p.cluster).collect();
        nodes[index as usize] = Node::new(&clusters);
        Built { index, representative: self.most_central(items, first, &clusters) }
    }

    /// The representative of one of the children that is nearest to the centroid of all lights, by
    /// power. `first` is the number of the first light's leaf. Walter et al. 2005 draw it by
    /// intensity; near the centroid, errors of first order cancel.
    fn most_central(&self, items: &[Item], first: u32, clusters: &[Cluster]) -> u32 {
        let (mut position, mut axis, mut total) = (DVec3::ZERO, DVec3::ZERO, 0.0);
        for item in items {
            let weight = f64::from(item.weight());
            position += weight * item.center();
            axis += weight * item.cone.axis.as_dvec3();
            total += weight;
        }
        let turn = if self.kind == Kind::Oriented { self.half_size } else { 0.0 };
        let distance2 = |cluster: &&Cluster| {
            let item = &items[(cluster.representative - first) as usize];
            let turned = turn * (item.cone.axis.as_dvec3() - axis / total);
            (item.center() - position / total).length_squared() + turned.length_squared()
        };
        let nearest = clusters.iter().min_by(|a, b| distance2(a).total_cmp(&distance2(b)));
        nearest.expect("nodes have children").representative
    }

    /// Builds what is below the parts, each in an array of its own, and joins them in order.
    fn children_in_parallel(
        &self,
        items: &mut [Item],
        first: u32,
        depth: u32,
        nodes: &mut Vec<Node>,
        parts: &mut [Part],
    ) {
        let mut slices = Vec::with_capacity(parts.len());
        let mut rest = items;
        for part in parts.iter() {
            let (slice, behind) = rest.split_at_mut(part.range.len());
            slices.push((slice, first + part.range.start as u32));
            rest = behind;
        }
        let subtrees: Vec<Option<(Built, Vec<Node>)>> = slices
            .into_par_iter()
            .map(|(slice, leaf)| {
                (slice.len() > 1).then(|| {
                    let mut own = Vec::new();
                    (self.node(slice, leaf, depth + 1, &mut own), own)
                })
            })
            .collect();
        for (part, subtree) in parts.iter_mut().zip(subtrees) {
            let leaf = first + part.range.start as u32;
            (part.cluster.child, part.cluster.representative) = match subtree {
                None => (Child::Leaf(leaf), leaf),
                Some((built, mut own)) => {
                    let shift = nodes.len() as u32;
                    own.iter_mut().for_each(|n| n.shift(shift));
                    nodes.append(&mut own);
                    (Child::Node(built.index + shift), built.representative)
                }
            };
        }
    }

    /// Orders the items into the parts that become children, in order of their ranges.
    fn parts(&self, items: &mut [Item], evenly: bool) -> Vec<Part> {
        let n = items.len();
        if n <= WIDTH {
            return (0..n).map(|i| self.part(items, i..i + 1)).collect();
        }
        let mut parts = vec![self.part(items, 0..n)];
        while parts.len() < WIDTH {
            let openable = (0..parts.len()).filter(|&i| parts[i].range.len() > WIDTH);
            let by_metric = |&a: &usize, &b: &usize| {
                let (a, b): (&Part, &Part) = (&parts[a], &parts[b]);
                a.metric
                    .total_cmp(&b.metric)
                    .then(a.range.len().cmp(&b.range.len()))
                    .then(b.range.start.cmp(&a.range.start))
            };
            let Some(i) = openable.max_by(by_metric) else { break };
            let range = parts[i].range.clone();
            let middle =
                range.start + split(&mut items[range.clone()], self.kind == Kind::Oriented, evenly);
            let halves = [range.start..middle, middle..range.end].map(|r| self.part(items, r));
            parts.splice(i..=i, halves);
        }
        self.open_whole(items, &mut parts);
        parts
    }

    /// Puts the leaves of small parts in their place while there is room for them, the largest by
    /// metric first.
    fn open_whole(&self, items: &[Item], parts: &mut Vec<Part>) {
        loop {
            let room = WIDTH - parts.len();
            let fits = (0..parts.len())
                .filter(|&i| parts[i].range.len() > 1 && parts[i].range.len() <= room + 1);
            let Some(i) =
                fits.max_by(|&a, &b| parts[a].metric.total_cmp(&parts[b].metric).then(b.cmp(&a)))
            else {
                return;
            };
            let leaves: Vec<Part> =
                parts[i].range.clone().map(|k| self.part(items, k..k + 1)).collect();
            parts.splice(i..=i, leaves);
        }
    }

    fn part(&self, items: &[Item], range: Range<usize>) -> Part {
        let items = &items[range.clone()];
        let (mut bounds, mut intensity, mut axes) = (Aabb::EMPTY, DVec3::ZERO, DVec3::ZERO);
        let (mut cosine, mut cos_spot) = (false, NO_SPOT);
        for item in items {
            bounds = bounds.union(item.bounds);
            intensity += item.intensity.as_dvec3();
            axes += item.cone.axis.as_dvec3();
            cosine |= item.cos_spot == NO_SPOT;
            cos_spot = cos_spot.min(item.cos_spot);
        }
        let cone = match self.kind {
            Kind::Omni => Cone::SPHERE,
            _ if items.len() == 1 => items[0].cone,
            _ => Cone::around(Cone::mean(axes), items.iter().map(|i| i.cone)),
        };
        let diagonal2 = (bounds.max - bounds.min).as_dvec3().length_squared();
        let turn = self.half_size * (1.0 - f64::from(cone.cos));
        let turn2 = if self.kind == Kind::Oriented { turn * turn } else { 0.0 };
        let total: f64 = items.iter().map(|i| f64::from(i.weight())).sum();
        let cluster = Cluster {
            bounds,
            cone,
            cosine,
            cos_spot,
            intensity,
            representative: 0,
            child: Child::None,
        };
        Part { range, metric: total * (diagonal2 + turn2), cluster }
    }
}

/// Sums of absolute intensities, node by node; empty where they are the sums of intensities.
pub(super) fn magnitudes(points: &[LightPoint], nodes: &[Node]) -> Vec<Colours> {
    if points.iter().all(|p| p.intensity.min_element() >= 0.0) {
        return Vec::new();
    }
    let mut magnitudes = vec![[[0.0f32; WIDTH]; 3]; nodes.len()];
    // What is below a node stands behind it.
    for (index, node) in nodes.iter().enumerate().rev() {
        for k in 0..WIDTH {
            let sum = match node.child(k) {
                Child::None => continue,
                Child::Leaf(leaf) => points[leaf as usize].intensity.abs().to_array(),
                Child::Node(below) => {
                    magnitudes[below as usize].map(|lanes| lanes.iter().sum::<f32>().min(f32::MAX))
                }
            };
            (0..3).for_each(|channel| magnitudes[index][channel][k] = sum[channel]);
        }
    }
    magnitudes
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Random, Sort, cloud, cube, each_cluster, leaves, tree};
    use super::super::{LightTree, PointOptions};
    use super::*;
    use crate::light::{AnyLight, Lights, PointLight};
    use crate::math::Vec3;
    use proptest::prelude::*;

    fn lights(lights: Vec<AnyLight>) -> Lights {
        Lights::new(lights, cube())
    }

    fn points_at(positions: impl Iterator<Item = Vec3>) -> Lights {
        lights(positions.map(|p| AnyLight::Point(PointLight::new(p, Vec3::ONE))).collect())
    }

    /// All that is said of trees.
    fn check(tree: &LightTree) {
        let mut seen = vec![0; tree.points().len()];
        for (kind, root) in tree.roots() {
            for leaf in leaves(tree, Child::Node(root)) {
                assert_eq!(tree.point(leaf).kind(), kind);
                seen[leaf as usize] += 1;
            }
        }
        assert!(seen.iter().all(|&n| n == 1), "each light in one place");
        let mut counts = std::collections::HashMap::<u32, Vec<usize>>::new();
        each_cluster(tree, |kind, index, k, leaves| {
            counts.entry(index).or_default().push(leaves.len());
            check_cluster(tree, kind, index, k, leaves);
        });
        for (index, counts) in counts {
            let (total, free) = (counts.iter().sum::<usize>(), WIDTH - counts.len());
            assert_eq!(tree.node(index).len(), counts.len(), "children take the first slots");
            assert!(
                total > WIDTH || free == WIDTH - total,
                "few lights are all leaves: {counts:?}"
            );
            assert!(total <= WIDTH || counts.len() > 1, "{counts:?}");
            assert!(
                free == 0 || counts.iter().all(|&n| n == 1 || (n > free + 1 && n <= WIDTH)),
                "room for more: {counts:?}"
            );
        }
    }

    fn check_cluster(tree: &LightTree, kind: Kind, index: u32, k: usize, leaves: &[u32]) {
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
                Emission::Cosine => assert!(cone.contains(p.axis) && node.cosine[k] == 1.0),
                Emission::Spot(falloff) => {
                    assert!(cone.contains(p.axis) && node.cos_spot[k] <= falloff.cos_end)
                }
            }
        }
        if kind == Kind::Oriented {
            let cosine = leaves.iter().any(|&l| tree.point(l).emission == Emission::Cosine);
            assert_eq!(node.cosine[k] == 1.0, cosine);
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
                assert_eq!(same, 1, "stands for one of the children as well");
            }
            Child::None => unreachable!("leaves below nothing"),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn trees_of_clouds(n in 1usize..600, sorts in 1usize..8, seed: u32) {
            let all = [Sort::Point, Sort::Spot, Sort::Distant];
            let sorts: Vec<Sort> = (0..3).filter(|i| sorts >> i & 1 == 1).map(|i| all[i]).collect();
            let tree = tree(&lights(cloud(n, &sorts, &mut Random(seed))), &PointOptions::default());
            prop_assert_eq!(tree.points().len(), n);
            check(&tree);
        }
    }

    #[test]
    fn degenerate_lights() {
        let options = PointOptions::default();
        let none = tree(&Lights::default(), &options);
        assert_eq!((none.roots().count(), none.points().len(), none.bytes()), (0, 0, 0));
        let coincident = tree(&points_at(std::iter::repeat_n(Vec3::ONE, 30_000)), &options);
        check(&coincident);
        // Each split could part one light from the rest.
        check(&tree(
            &points_at((0..2000).map(|i| Vec3::X * libm::expf(-0.04 * i as f32))),
            &options,
        ));
        check(&tree(&points_at((0..2000).map(|i| Vec3::X * (i / 700) as f32)), &options));
        // Extreme places and powers, next to what does not count at all.
        let strange = [
            Vec3::splat(1e30),
            Vec3::splat(-3e38),
            Vec3::splat(1e-40),
            Vec3::NAN,
            Vec3::INFINITY,
            Vec3::ZERO,
        ];
        let mut all = vec![];
        for position in strange {
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
        assert_eq!(tree.points().len(), 4 * 4, "what is finite and shines");
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
        let mut colour = || AnyLight::Point(PointLight::new(random.cube(), random.cube()));
        let tree = tree(&lights((0..300).map(|_| colour()).collect()), &PointOptions::default());
        check(&tree);
        each_cluster(&tree, |_, index, k, leaves| {
            let want: Vec3 = leaves.iter().map(|&l| tree.point(l).intensity.abs()).sum();
            let have = Vec3::from_array(tree.magnitude(index).map(|lanes| lanes[k]));
            assert!((have - want).length() <= 1e-5 * want.length(), "{have} {want}");
        });
        let plain =
            self::tree(&points_at([Vec3::ZERO, Vec3::ONE].into_iter()), &PointOptions::default());
        assert_eq!(plain.magnitude(0), &plain.node(0).intensity);
        assert!(plain.magnitudes.is_empty());
    }

    #[test]
    fn threads_change_nothing() {
        let all = lights(cloud(3 * PARALLEL, &[Sort::Point, Sort::Spot], &mut Random(5)));
        let build = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| tree(&all, &PointOptions::default()))
        };
        let one = build(1);
        for threads in [2, 5] {
            let other = build(threads);
            assert!(
                one.nodes == other.nodes && one.points == other.points && one.roots == other.roots,
                "{threads}"
            );
        }
        check(&one);
        let per_light = one.bytes() as f64 / one.points().len() as f64;
        assert!(per_light <= 200.0, "{per_light} bytes per light");
    }

    #[test]
    fn representatives_are_central() {
        let at = |(x, power): (f32, f32)| {
            AnyLight::Point(PointLight::new(Vec3::X * x, Vec3::splat(power)))
        };
        // Three groups of eight in a row, far from each other: too many for the root to open one.
        // Each has a bright one.
        let group = |(bright, x): (u8, f32)| {
            (0..8).map(move |k| (x + f32::from(k), if k == bright { 90.0 } else { 1.0 }))
        };
        let groups = [(3, 0.0), (7, 1000.0), (1, 2000.0)];
        let tree = tree(
            &lights(groups.into_iter().flat_map(group).map(at).collect()),
            &PointOptions::default(),
        );
        let (_, root) = tree.roots().next().unwrap();
        let found = tree
            .node(root)
            .representative
            .map(|leaf| tree.points().get(leaf as usize).map_or(-1.0, |p| p.position.x));
        assert_eq!(found, [3.0, 1007.0, 2001.0, -1.0, -1.0, -1.0, -1.0, -1.0]);
    }
}
