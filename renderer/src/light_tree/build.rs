//! Builds the trees, from the top: a set of lights is parted in two, and its largest parts again, until there are 8 of them, which are
//! the children of a node.
//!
//! Largest is by the metric of Walter et al. 2005 §5.1: intensity × (diagonal² + c² (1 − cos)²) of box and cone, with c half of the scene's
//! diagonal. Sets of at most 8 lights are nodes of leaves, which are opened only into slots that are free for all of their lights: so
//! that nodes are full where most of them are, at the bottom. Boxes and cones are taken of the lights themselves rather than of the
//! children's boxes and cones, which keeps them tight. Every decision depends on the lights below alone, none on threads.

use super::emit::Extent;
use super::node::{Child, Cluster, Node, WIDTH};
use super::point::{Emission, Kind, LightPoint};
use super::split::{Item, split};
use crate::light::weight;
use crate::math::{Aabb, Cone};
use crate::sampling::{hash, unit_float};
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

/// Builds a tree for each kind of light that there is. `size` is the scene's diagonal, `seed` that of the choice of representatives.
///
/// # Panics
/// With 2³¹ points or more.
pub(super) fn build(points: Vec<LightPoint>, extents: Option<Vec<Extent>>, size: f32, seed: u32) -> Trees {
    assert!(points.len() < 1 << 31, "light trees hold fewer than 2³¹ points");
    let (mut ordered, mut nodes, mut roots) = (Vec::with_capacity(points.len()), Vec::new(), Vec::new());
    for kind in [Kind::Omni, Kind::Oriented, Kind::Directional] {
        let of_kind = points.iter().enumerate().filter(|(_, p)| p.kind() == kind);
        let extent = |i: usize, p| extents.as_ref().map_or_else(|| Extent::of(p), |e| e[i]);
        let mut items: Vec<Item> = of_kind.map(|(i, p)| item(p, extent(i, p), i as u32)).collect();
        if items.is_empty() {
            continue;
        }
        let plan = Plan { kind, half_size: 0.5 * f64::from(size), seed };
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
    Item { bounds: extent.bounds, cone: extent.cone, intensity: p.intensity, cos_spot, point: index }
}

/// What is the same for a whole tree.
struct Plan {
    kind: Kind,
    half_size: f64,
    seed: u32,
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
    /// Appends the node of `items`, whose leaves are numbered from `first`, and all that is below it.
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
        let word = hash(hash(self.seed, first), items.len() as u32);
        Built { index, representative: choose(&clusters, unit_float(word)) }
    }

    /// Builds what is below the parts, each in an array of its own, and joins them in order.
    fn children_in_parallel(&self, items: &mut [Item], first: u32, depth: u32, nodes: &mut Vec<Node>, parts: &mut [Part]) {
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
                a.metric.total_cmp(&b.metric).then(a.range.len().cmp(&b.range.len())).then(b.range.start.cmp(&a.range.start))
            };
            let Some(i) = openable.max_by(by_metric) else { break };
            let range = parts[i].range.clone();
            let middle = range.start + split(&mut items[range.clone()], self.kind == Kind::Oriented, evenly);
            let halves = [range.start..middle, middle..range.end].map(|r| self.part(items, r));
            parts.splice(i..=i, halves);
        }
        self.open_whole(items, &mut parts);
        parts
    }

    /// Puts the leaves of small parts in their place while there is room for them, the largest by metric first.
    fn open_whole(&self, items: &[Item], parts: &mut Vec<Part>) {
        loop {
            let room = WIDTH - parts.len();
            let fits = (0..parts.len()).filter(|&i| parts[i].range.len() > 1 && parts[i].range.len() <= room + 1);
            let Some(i) = fits.max_by(|&a, &b| parts[a].metric.total_cmp(&parts[b].metric).then(b.cmp(&a))) else { return };
            let leaves: Vec<Part> = parts[i].range.clone().map(|k| self.part(items, k..k + 1)).collect();
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
        let cluster = Cluster { bounds, cone, cosine, cos_spot, intensity, representative: 0, child: Child::None };
        Part { range, metric: total * (diagonal2 + turn2), cluster }
    }
}

/// The representative of one of the clusters, with probability proportional to intensity.
fn choose(clusters: &[Cluster], u: f32) -> u32 {
    let weights: Vec<f64> = clusters.iter().map(|c| f64::from(weight(c.intensity.as_vec3()))).collect();
    let mut rest = f64::from(u) * weights.iter().sum::<f64>();
    for (cluster, weight) in clusters.iter().zip(&weights) {
        rest -= weight;
        if rest < 0.0 {
            return cluster.representative;
        }
    }
    clusters[clusters.len() - 1].representative
}
