//! Gather trees: binary trees over the gather points of a group, one for each shader.
//!
//! A node bounds the position, the shading frame, the outgoing direction and the material parameters
//! of its points. It is split in the middle of the dimension in which its points differ most.
//! Positions are relative to the size of the scene, frames and directions are on the unit sphere,
//! and parameters are relative to their magnitude. As in light trees, a node has the representative
//! of one of its children, selected at random with a probability proportional to its weight.
//!
//! # Frames
//!
//! Directions are bounded in the frame of the representative. In the frame of another point, the
//! coordinate of a unit vector along an axis differs by at most the length of the difference of both
//! axes. Skewed frames and the rounding of directions, at most 18u each with u = 2⁻²⁴, add to that
//! (see [`lightbound_math::direction_box`]).

use super::super::lighting::Lighting;
use super::point::GatherPoints;
use crate::integrator::material_bound::{Endpoints, include};
use glam::DVec3;
use lightbound_math::sampling::{hash, luminance, unit_float};
use lightbound_math::{Aabb, Vec3};
use lightbound_shader::ir::Type;
use std::ops::Range;

/// Gather trees of a group. Parents precede their children.
#[derive(Default)]
pub struct GatherTree {
    nodes: Vec<GatherNode>,
    /// Intervals of the words of nodes.
    endpoints: Vec<Endpoints>,
    /// Points in the order of the leaves.
    points: Vec<u32>,
    roots: Vec<u32>,
}

/// A cluster of gather points.
#[derive(Clone, Debug)]
pub struct GatherNode {
    /// The shader of all points.
    pub shader: usize,
    /// Box of the positions.
    pub bounds: Aabb,
    /// Upper bounds on differences between coordinates of directions in the frame of a point and in
    /// that of the representative. 0 for a single point.
    pub margins: [f32; 3],
    /// Sum of the points' weights.
    pub weight: DVec3,
    /// Upper bound on the sum of the magnitudes of the points' weights.
    pub magnitude: Vec3,
    /// The point that represents the cluster.
    pub representative: u32,
    /// The parts of the cluster; `None` for a single point.
    pub children: Option<[u32; 2]>,
    /// Largest difference between points in any dimension, besides positions.
    pub spread: f32,
    points: Range<usize>,
    endpoints: Range<usize>,
}

/// Bound on the rounding errors of directions in two frames.
const ROUNDING_MARGIN: f64 = 64.0 / (1 << 24) as f64;

/// Factor that covers the rounding error of a magnitude, and of a product with it.
const MAGNITUDE_FACTOR: f64 = 1.0 + 1.0 / (1 << 21) as f64;

/// Number of split dimensions besides words: position, normal and tangent.
const GEOMETRIC_DIMENSIONS: usize = 9;

/// Position that counts as much as a normal, relative to the diagonal of the scene.
const RELATIVE_POSITION_SCALE: f32 = 0.125;

impl GatherTree {
    /// Builds the trees of a group, given by the indices of its points.
    pub fn build(&mut self, points: &GatherPoints, group: &mut [u32], lighting: &Lighting<'_>) {
        self.nodes.clear();
        self.endpoints.clear();
        self.points.clear();
        self.roots.clear();
        let shader = |&point: &u32| points.get(point).shader;
        let kind = |point: &u32| (shader(point), points.get(*point).point.has_virtual_lights);
        group.sort_by_key(kind);
        let position_scale = 1.0 / (RELATIVE_POSITION_SCALE * lighting.scene_size());
        for group in group.chunk_by_mut(|a, b| kind(a) == kind(b)) {
            let types: Vec<Type> = lighting.material.word_types(shader(&group[0])).collect();
            let builder = Builder { points, types: &types, position_scale };
            let root = self.build_node(&builder, group);
            self.roots.push(root);
        }
    }

    /// Returns the root of each tree.
    pub fn roots(&self) -> &[u32] {
        &self.roots
    }

    /// Returns all nodes.
    pub fn nodes(&self) -> &[GatherNode] {
        &self.nodes
    }

    /// Returns a node.
    pub fn node(&self, index: u32) -> &GatherNode {
        &self.nodes[index as usize]
    }

    /// Returns the intervals of the words of a node's points.
    pub fn endpoints(&self, node: &GatherNode) -> &[Endpoints] {
        &self.endpoints[node.endpoints.clone()]
    }

    /// Returns the points of a node.
    pub fn points(&self, node: &GatherNode) -> &[u32] {
        &self.points[node.points.clone()]
    }

    /// Samples a point of a node in proportion to its magnitude; returns its probability, too.
    pub fn sample(&self, mut index: u32, u: f32) -> (u32, f32) {
        let (mut probability, mut u) = (1.0, f64::from(u));
        while let Some(children) = self.node(index).children {
            let [a, b] = children.map(|child| {
                f64::from(luminance(self.node(child).magnitude).max(f32::MIN_POSITIVE))
            });
            // Every point can be sampled.
            let first = (a / (a + b)).clamp(MIN_PROBABILITY, 1.0 - MIN_PROBABILITY);
            let (child, part) = if u < first { (0, first) } else { (1, 1.0 - first) };
            u = if child == 0 { u / first } else { (u - first) / part };
            probability *= part as f32;
            index = children[child];
        }
        (self.node(index).representative, probability)
    }

    /// Appends the node of `group`, and all nodes below it. Returns its index.
    fn build_node(&mut self, builder: &Builder<'_>, group: &mut [u32]) -> u32 {
        let index = self.nodes.len() as u32;
        let (spread, split) = builder.split(group);
        let node = self.cluster(builder, group, spread);
        self.nodes.push(node);
        if split == 0 {
            self.points.push(group[0]);
        } else {
            let (front, back) = group.split_at_mut(split);
            let children = [self.build_node(builder, front), self.build_node(builder, back)];
            let representative = self.representative(builder.points, children);
            let node = &mut self.nodes[index as usize];
            node.children = Some(children);
            node.representative = representative;
            node.margins = builder.margins(representative, group);
        }
        let node = &mut self.nodes[index as usize];
        node.points = self.points.len() - group.len()..self.points.len();
        index
    }

    /// Creates a node without children.
    fn cluster(&mut self, builder: &Builder<'_>, group: &[u32], spread: f32) -> GatherNode {
        let points = builder.points;
        let first = self.endpoints.len();
        self.endpoints.extend(points.words(group[0]).iter().map(|&word| [word; 2]));
        let (mut weight, mut magnitude) = (DVec3::ZERO, DVec3::ZERO);
        for &point in group {
            let words = self.endpoints[first..].iter_mut().zip(points.words(point));
            for ((endpoints, &word), &ty) in words.zip(builder.types) {
                *endpoints = include(ty, *endpoints, word);
            }
            let of_point = points.get(point).weight.as_dvec3();
            weight += of_point;
            magnitude += of_point.abs();
        }
        GatherNode {
            shader: points.get(group[0]).shader,
            bounds: Aabb::around(
                group.iter().map(|&point| points.get(point).point.view.position()),
            ),
            margins: [0.0; 3],
            weight,
            magnitude: (magnitude * MAGNITUDE_FACTOR).as_vec3(),
            representative: group[0],
            children: None,
            spread,
            points: 0..0,
            endpoints: first..self.endpoints.len(),
        }
    }

    /// Selects the representative of one of two nodes.
    fn representative(&self, points: &GatherPoints, children: [u32; 2]) -> u32 {
        let [a, b] = children.map(|child| self.node(child));
        let [weight_a, weight_b] = [a, b].map(|node| luminance(node.magnitude));
        let seed =
            hash(points.get(a.representative).point.seed, points.get(b.representative).point.seed);
        let selects_b = unit_float(seed) * (weight_a + weight_b) >= weight_a;
        if selects_b { b.representative } else { a.representative }
    }
}

/// Smallest probability of a part of a cluster.
const MIN_PROBABILITY: f64 = 1.0 / (1 << 16) as f64;

/// What all nodes of a tree have in common.
struct Builder<'a> {
    points: &'a GatherPoints,
    /// Types of the words.
    types: &'a [Type],
    /// Factor on positions in comparisons with normals.
    position_scale: f32,
}

impl Builder<'_> {
    /// Returns the coordinate of a point along a split dimension.
    fn coordinate(&self, dimension: usize, point: u32) -> f32 {
        let view = &self.points.get(point).point.view;
        match dimension {
            0..3 => view.position()[dimension] * self.position_scale,
            3..6 => view.axes()[2][dimension - 3],
            6..GEOMETRIC_DIMENSIONS => view.axes()[0][dimension - 6],
            _ => {
                let word = dimension - GEOMETRIC_DIMENSIONS;
                let bits = self.points.words(point)[word];
                match self.types[word] {
                    Type::F32 => f32::from_bits(bits),
                    Type::I32 | Type::Bool => bits as i32 as f32,
                }
            }
        }
    }

    /// Reorders points for a split in two. Returns the greatest difference in a dimension that is not
    /// a position, and the number of points in the front part; 0 for a single point.
    fn split(&self, group: &mut [u32]) -> (f32, usize) {
        if group.len() == 1 {
            return (0.0, 0);
        }
        let (mut spread, mut widest) = (0.0f32, (0.0, 0, 0.0));
        for dimension in 0..GEOMETRIC_DIMENSIONS + self.types.len() {
            let coordinates = group.iter().map(|&point| self.coordinate(dimension, point));
            let (lo, hi) = coordinates
                .fold((f32::INFINITY, f32::NEG_INFINITY), |(lo, hi), x| (lo.min(x), hi.max(x)));
            // Parameters follow the outgoing direction.
            let unit =
                if dimension < GEOMETRIC_DIMENSIONS + 3 { 1.0 } else { lo.abs().max(hi.abs()) };
            let width = if hi > lo { (hi - lo) / unit } else { 0.0 };
            if dimension >= 3 {
                spread = spread.max(width);
            }
            if width > widest.0 {
                widest = (width, dimension, 0.5 * (lo + hi));
            }
        }
        let (_, dimension, middle) = widest;
        let coordinate = |point: &u32| self.coordinate(dimension, *point);
        group.sort_by(|a, b| coordinate(a).total_cmp(&coordinate(b)));
        let front = group.partition_point(|point| coordinate(point) < middle);
        let is_split = front > 0 && front < group.len();
        (spread, if is_split { front } else { group.len() / 2 })
    }

    /// Returns [`GatherNode::margins`].
    fn margins(&self, representative: u32, group: &[u32]) -> [f32; 3] {
        let view = &self.points.get(representative).point.view;
        let axes = view.axes().map(|axis| axis.as_dvec3());
        let mut margins = [0.0f64; 3];
        for other in group.iter().map(|&point| &self.points.get(point).point.view) {
            let skew = f64::from(view.skew()) + f64::from(other.skew());
            for (k, axis) in other.axes().into_iter().enumerate() {
                let margin = (axis.as_dvec3() - axes[k]).length() + skew + ROUNDING_MARGIN;
                // A NaN has no bound.
                margins[k] = margins[k].max(if margin < 2.0 { margin } else { 2.0 });
            }
        }
        margins.map(|margin| (margin as f32).next_up())
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::Floor;
    use super::*;
    use crate::light_tree::PointOptions;
    use crate::light_tree::testing::Random;
    use lightbound_math::vec3;

    #[test]
    fn nodes_bound_their_points() {
        let floor = Floor::new(&[(Vec3::Z, 1.0)], &PointOptions::default());
        let bounds = floor.cluster_bounds();
        let mut lighting = floor.lighting(&bounds);
        let (random, mut points) = (&mut Random(3), GatherPoints::default());
        for sample in 0..37 {
            // Some points coincide.
            let p = if sample % 5 == 0 { Vec3::ZERO } else { random.cube() };
            let wo = (random.cube() + 2.0 * Vec3::Z).normalize();
            floor.shade_at(&mut lighting, p, wo, |lighting, point| {
                points.add(lighting, point, sample, vec3(1.0, 0.5, -0.25), 1.0);
            });
        }
        let (mut tree, mut group) = (GatherTree::default(), Vec::from_iter(0..37));
        tree.build(&points, &mut group, &lighting);
        assert_eq!((tree.roots(), tree.nodes().len()), (&[0][..], 2 * 37 - 1));
        for (index, node) in tree.nodes().iter().enumerate() {
            let below = tree.points(node);
            assert_eq!(below.len() == 1, node.children.is_none());
            assert!(below.contains(&node.representative));
            for &point in below {
                let p = points.get(point).point.view.position();
                assert!(p.cmpge(node.bounds.min).all() && p.cmple(node.bounds.max).all());
                for (&[lo, hi], &word) in std::iter::zip(tree.endpoints(node), points.words(point))
                {
                    let [lo, hi, x] = [lo, hi, word].map(f32::from_bits);
                    assert!(lo <= x && x <= hi);
                }
            }
            assert!((node.weight.x - below.len() as f64).abs() < 1e-9);
            assert!(node.magnitude.z >= 0.25 * below.len() as f32 && node.weight.z < 0.0);
            for &child in node.children.iter().flatten() {
                assert!(child as usize > index);
            }
            if let Some(children) = node.children {
                let parts: usize =
                    children.iter().map(|&child| tree.points(tree.node(child)).len()).sum();
                assert_eq!(parts, below.len());
                let is_representative =
                    |&child: &u32| tree.node(child).representative == node.representative;
                assert!(children.iter().any(is_representative));
            }
        }
    }
}
