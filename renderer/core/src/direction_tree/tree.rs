//! Piecewise constant density of directions over a tree of cells.
//!
//! Directions are sampled by hierarchical sample warping (after Clarberg et al. 2005, *Wavelet
//! Importance Sampling*). At each node, the first random number selects a column and the second a
//! row in it, and both are remapped to [0, 1) for reuse. Nearby numbers map to nearby directions,
//! so stratification is preserved. The density of a direction follows from the leaf cell that
//! contains it. It equals the density of the sample, up to rounding.

use super::cells::{DirectionCell, DirectionDomain, LEVELS, division};
use lightbound_math::direction_box::{LANES, Lanes};
use lightbound_math::sampling::ONE_MINUS_EPSILON;
use lightbound_math::{Vec2, Vec3, vec2};
use lightbound_shader::SurfaceSides;

/// Bits of each coordinate of a [`CellPath`]: two for each split into four, one for each split into
/// two.
const PATH_BITS: u32 = LEVELS + LEVELS.div_ceil(2);

/// A density of directions.
#[derive(Clone, Debug, PartialEq)]
pub struct DirectionTree {
    domain: DirectionDomain,
    /// Split cells: the domain first, children after their parents. Empty if no light is scattered.
    nodes: Vec<Node>,
}

/// A split cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Node {
    /// Probability of each child.
    pub mass: Lanes,
    /// Index of the node of each child; 0 for leaves.
    pub child: [u32; LANES],
}

impl Node {
    /// A node with leaf children only.
    pub const LEAVES: Node = Node { mass: [0.0; LANES], child: [0; LANES] };
}

/// A leaf cell: child `lane` of a node.
struct LeafSample {
    node: usize,
    lane: usize,
    cell: DirectionCell,
    /// The random numbers, remapped to [0, 1) for a position in the cell.
    u: Vec2,
}

impl DirectionTree {
    /// Creates the tree with density |cos θ|/π over the hemisphere, or |cos θ|/2π over the sphere.
    pub fn cosine(sides: SurfaceSides) -> DirectionTree {
        DirectionTree::constant(DirectionDomain::Surface(sides))
    }

    /// Creates the tree with a constant density in the measure of its domain.
    pub fn constant(domain: DirectionDomain) -> DirectionTree {
        let mass = [1.0 / LANES as f32; LANES];
        DirectionTree { domain, nodes: vec![Node { mass, ..Node::LEAVES }] }
    }

    /// Sets the nodes. The masses of their leaves sum to 1. Without nodes, the tree is empty.
    pub(super) fn set_nodes(&mut self, domain: DirectionDomain, nodes: impl Iterator<Item = Node>) {
        self.domain = domain;
        self.nodes.clear();
        self.nodes.extend(nodes);
    }

    /// Size of a split cell, bytes.
    pub const NODE_BYTES: usize = size_of::<Node>();

    /// Returns the domain of sampled directions.
    pub(super) fn domain(&self) -> DirectionDomain {
        self.domain
    }

    /// Returns the number of split cells.
    pub fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// Returns whether no light is scattered.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Samples a direction with two random numbers in [0, 1). Returns it with its density, 1/sr;
    /// `None` if the tree is empty.
    pub fn sample(&self, u: Vec2) -> Option<(Vec3, f32)> {
        let LeafSample { node, lane, cell, u } = self.sample_leaf(u)?;
        let wi = cell.direction(self.domain, u);
        Some((wi, self.density(self.nodes[node].mass[lane], cell.level(), wi)))
    }

    /// Samples a leaf cell with two random numbers in [0, 1).
    fn sample_leaf(&self, mut u: Vec2) -> Option<LeafSample> {
        if self.is_empty() {
            return None;
        }
        let (mut node, mut cell) = (0, DirectionCell::DOMAIN);
        loop {
            let lane = sample_child(&self.nodes[node].mass, cell.level(), &mut u)?;
            cell = cell.child(lane);
            match self.nodes[node].child[lane] {
                0 => return Some(LeafSample { node, lane, cell, u }),
                child => node = child as usize,
            }
        }
    }

    /// Returns the density of a direction in a cell with mass `mass` at `level`, 1/sr.
    fn density(&self, mass: f32, level: u32, wi: Vec3) -> f32 {
        self.domain.density(self.mean_density(mass, level), wi)
    }

    /// Returns the density in a cell with mass `mass` at `level`, per area of the domain.
    fn mean_density(&self, mass: f32, level: u32) -> f32 {
        mass * (1u64 << (3 * level)) as f32 / self.domain.width()
    }

    /// Returns the density of a direction per area of the disk, which has area 1. Only x, y and the
    /// sign of z of the direction are used.
    pub(super) fn disk_pdf(&self, wi: Vec3) -> f32 {
        self.find_leaf(wi).map_or(0.0, |(node, lane, level)| {
            self.mean_density(self.nodes[node].mass[lane], level)
        })
    }

    /// Returns the density of a unit direction, 1/sr.
    pub fn pdf(&self, wi: Vec3) -> f32 {
        match self.find_leaf(wi) {
            Some((node, lane, level)) => self.density(self.nodes[node].mass[lane], level, wi),
            None => 0.0,
        }
    }

    /// Returns the node, lane and level of the leaf cell of a direction; `None` if the direction
    /// cannot be sampled.
    fn find_leaf(&self, wi: Vec3) -> Option<(usize, usize, u32)> {
        if self.is_empty() || !self.domain.covers(wi.z) {
            return None;
        }
        let mut node = 0;
        let mut path = CellPath::new(wi, self.domain);
        for level in 0..LEVELS {
            let lane = path.child(level);
            match self.nodes[node].child[lane] {
                0 => return Some((node, lane, level + 1)),
                child => node = child as usize,
            }
        }
        unreachable!("cells of the last level are leaves")
    }
}

/// Rounding error of a direction's position, with a margin: see [cells](super::cells).
#[cfg(test)]
const MAX_POSITION_ERROR: f32 = 32.0 / (1 << 24) as f32;

/// Comparison of sampling frequencies with masses, for tests.
#[cfg(test)]
impl DirectionTree {
    /// Returns the p-value of a χ² test over all cells, and asserts that directions are in the
    /// sampled cells, and that densities are found again for them. Within cells, the density is
    /// proportional to the cosine.
    pub fn chi_square(&self, random: &mut lightbound_shader::random::Random, draws: usize) -> f64 {
        use lightbound_math::direction_box::testing::uniform;
        let mut counts = vec![[0.0; LANES]; self.nodes.len()];
        for _ in 0..draws {
            let u = vec2(uniform(random), uniform(random));
            let LeafSample { node, lane, cell, u: position } =
                self.sample_leaf(u).expect("the tree is not empty");
            counts[node][lane] += 1.0;
            let (wi, pdf) = self.sample(u).expect("the tree is not empty");
            assert!(
                pdf > 0.0 && self.domain.covers(wi.z) && (wi.length_squared() - 1.0).abs() < 4e-7,
                "{wi} {pdf}"
            );
            // Rounding may move directions at edges to the next cell.
            let is_inside = position.min_element() > 0.01 && position.max_element() < 0.99;
            if is_inside && cell.level() < 6 {
                assert_eq!(self.pdf(wi), pdf, "{wi}");
            }
            let (corner, extent) = cell.rectangle(self.domain);
            let outside =
                (corner - self.domain.position(wi)).max(self.domain.position(wi) - corner - extent);
            assert!(outside.max_element() <= MAX_POSITION_ERROR, "{wi} is {outside} outside");
        }
        self.pearson(&counts, 0.0, draws)
    }

    /// Returns the p-value of a χ² test of the samples that `draw` returns. A fraction of them
    /// follows the cosine instead of the tree.
    pub fn chi_square_of_samples(
        &self,
        mut draw: impl FnMut() -> Vec3,
        cosine_fraction: f32,
        draws: usize,
    ) -> f64 {
        let mut counts = vec![[0.0; LANES]; self.nodes.len()];
        for _ in 0..draws {
            let (node, lane, _) = self.find_leaf(draw()).expect("a cell contains the sample");
            counts[node][lane] += 1.0;
        }
        self.pearson(&counts, cosine_fraction, draws)
    }

    /// Returns the p-value of the counts of samples in all cells.
    fn pearson(&self, counts: &[[f64; LANES]], cosine_fraction: f32, draws: usize) -> f64 {
        let mut areas = vec![1.0; self.nodes.len()];
        let mut pairs = Vec::new();
        for (index, (node, counts)) in self.nodes.iter().zip(counts).enumerate() {
            let area = areas[index] / LANES as f32;
            for (lane, &count) in counts.iter().enumerate() {
                let probability =
                    cosine_fraction * area + (1.0 - cosine_fraction) * node.mass[lane];
                match node.child[lane] {
                    0 => pairs.push((count, f64::from(probability) * draws as f64)),
                    child => areas[child as usize] = area,
                }
            }
        }
        let total = pairs.iter().map(|(_, expected)| expected).sum::<f64>() / draws as f64;
        assert!((total - 1.0).abs() < 1e-5, "masses sum to {total}");
        lightbound_math::sampling::chi_square::pearson(pairs).2
    }

    /// Returns the fraction of samples for which [`pdf`](Self::pdf) returns another density. They
    /// are at edges of cells.
    pub fn edge_fraction(
        &self,
        random: &mut lightbound_shader::random::Random,
        draws: usize,
    ) -> f64 {
        use lightbound_math::direction_box::testing::uniform;
        let differs = |(wi, pdf): (Vec3, f32)| (self.pdf(wi) / pdf - 1.0).abs() > 1e-6;
        let draw = |()| self.sample(vec2(uniform(random), uniform(random))).is_some_and(differs);
        std::iter::repeat_n((), draws).map(draw).filter(|differs| *differs).count() as f64
            / draws as f64
    }
}

/// The path of cells that contain a direction. It is stored as the direction's position in
/// fixed-point coordinates.
struct CellPath {
    x: u32,
    y: u32,
}

impl CellPath {
    /// Creates the path of a direction.
    #[inline]
    fn new(wi: Vec3, domain: DirectionDomain) -> CellPath {
        let p = domain.position(wi) * vec2(1.0 / domain.width(), 1.0);
        let scale = (1u32 << PATH_BITS) as f32;
        CellPath { x: (p.x * scale) as u32, y: (p.y * scale) as u32 }
    }

    /// Returns the lane of the next cell. Levels must be visited in order, from 0.
    #[inline]
    fn child(&mut self, level: u32) -> usize {
        let (columns, rows) = division(level);
        let (column, row) = (take_bits(&mut self.x, columns), take_bits(&mut self.y, rows));
        column * rows + row
    }
}

/// Removes and returns the leading bits: an index below `count`, which is 4 or 2.
#[inline]
fn take_bits(x: &mut u32, count: usize) -> usize {
    let bits = count.trailing_zeros();
    let index = *x >> (PATH_BITS - bits);
    *x = (*x << bits) & ((1 << PATH_BITS) - 1);
    index as usize
}

/// Samples a child of a cell by its mass: a column, then a row within it. `u` is remapped to
/// [0, 1)² for reuse.
#[inline]
fn sample_child(mass: &Lanes, level: u32, u: &mut Vec2) -> Option<usize> {
    let (columns, rows) = division(level);
    let mut sums = [0.0; 4];
    for (sum, masses) in sums.iter_mut().zip(mass.chunks_exact(rows)) {
        *sum = masses.iter().sum();
    }
    let column = sample_index(&sums[..columns], &mut u.x)?;
    let row = sample_index(&mass[column * rows..][..rows], &mut u.y)?;
    Some(column * rows + row)
}

/// Samples an index by mass; `u` is remapped to [0, 1) for reuse. `None` if all masses are 0.
#[inline]
fn sample_index(masses: &[f32], u: &mut f32) -> Option<usize> {
    let mut remainder = *u * masses.iter().sum::<f32>();
    let mut index = None;
    for (k, &mass) in masses.iter().enumerate().filter(|(_, mass)| **mass > 0.0) {
        // If rounding leaves a remainder after all masses, the last positive mass is selected.
        index = Some(k);
        *u = (remainder / mass).min(ONE_MINUS_EPSILON);
        if remainder < mass {
            break;
        }
        remainder -= mass;
    }
    index
}

#[cfg(test)]
mod tests {
    use super::*;
    use lightbound_math::direction_box::testing::{uniform, unit};
    use lightbound_math::sampling::testing::assert_sampler_matches_pdf;
    use lightbound_shader::random::Random;
    use std::f32::consts::FRAC_1_PI;

    const ONE_SIDE: DirectionDomain = DirectionDomain::Surface(SurfaceSides::One);
    const BOTH_SIDES: DirectionDomain = DirectionDomain::Surface(SurfaceSides::Both);
    const VOLUME: DirectionDomain = DirectionDomain::Volume;

    /// Creates a tree with random masses, some of which are 0.
    fn random_tree(random: &mut Random, domain: DirectionDomain, splits: usize) -> DirectionTree {
        let mut nodes = vec![Node::LEAVES];
        let mut levels = vec![0];
        for _ in 0..splits {
            let (node, lane) = (random.below(nodes.len()), random.below(LANES));
            if nodes[node].child[lane] == 0 && levels[node] + 1 < LEVELS {
                nodes[node].child[lane] = nodes.len() as u32;
                levels.push(levels[node] + 1);
                nodes.push(Node::LEAVES);
            }
        }
        for index in (0..nodes.len()).rev() {
            for lane in 0..LANES {
                nodes[index].mass[lane] = match nodes[index].child[lane] {
                    0 if random.once_in(4) => 0.0,
                    0 => uniform(random),
                    child => nodes[child as usize].mass.iter().sum(),
                };
            }
        }
        let total: f32 = nodes[0].mass.iter().sum();
        nodes.iter_mut().for_each(|node| node.mass = node.mass.map(|mass| mass / total));
        let mut tree = DirectionTree::constant(domain);
        tree.set_nodes(domain, nodes.into_iter());
        tree
    }

    #[test]
    fn sample_density_equals_pdf() {
        let random = &mut Random::new(1);
        for round in 0..200 {
            let tree =
                random_tree(random, [ONE_SIDE, BOTH_SIDES, VOLUME][round % 3], 1 << (round % 9));
            assert!(tree.edge_fraction(random, 500) < 0.01);
            let p = tree.chi_square(random, 5000);
            assert!(p > 0.01 / 200.0, "{p}");
        }
    }

    #[test]
    fn pdf_matches_sampling_frequency() {
        let random = &mut Random::new(2);
        for (name, domain, splits) in [
            ("one split", ONE_SIDE, 0),
            ("40 splits", ONE_SIDE, 40),
            ("100 splits", ONE_SIDE, 100),
            ("both sides", BOTH_SIDES, 60),
            ("volume", VOLUME, 60),
        ] {
            let tree = random_tree(random, domain, splits);
            let draw = |u| tree.sample(u).map(|(wi, _)| wi);
            assert_sampler_matches_pdf(name, 50_000, draw, |wi| tree.pdf(wi));
        }
    }

    #[test]
    fn cosine_tree_has_cosine_density() {
        let random = &mut Random::new(3);
        for (sides, scale) in [(SurfaceSides::One, 1.0), (SurfaceSides::Both, 0.5)] {
            let tree = DirectionTree::cosine(sides);
            for _ in 0..1000 {
                let wi = unit(random);
                let expected =
                    if sides.covers(wi.z) { scale * FRAC_1_PI * wi.z.abs() } else { 0.0 };
                assert!((tree.pdf(wi) - expected).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn zero_masses_are_not_sampled() {
        for u in [0.0, 0.3, 0.5, ONE_MINUS_EPSILON] {
            let mut remapped = u;
            assert_eq!(sample_index(&[0.0, 0.5, 0.0], &mut remapped), Some(1));
            assert_eq!(remapped, u);
            assert_eq!(sample_index(&[0.0; 2], &mut remapped), None);
        }
        let mut u = 0.75;
        assert_eq!((sample_index(&[0.25, 0.25, 0.25, 0.25], &mut u), u), (Some(3), 0.0));
        let mut tree = DirectionTree::cosine(SurfaceSides::One);
        tree.set_nodes(ONE_SIDE, std::iter::empty());
        assert_eq!((tree.sample(vec2(0.5, 0.5)), tree.pdf(Vec3::Z)), (None, 0.0));
    }
}
