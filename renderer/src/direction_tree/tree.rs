//! A piecewise constant density of directions over a tree of cells.
//!
//! A direction is drawn by hierarchical sample warping (after Clarberg et al. 2005, *Wavelet
//! Importance Sampling*): at each node the first number chooses a column, the second a row within
//! it, and what is left of each is uniform again. Numbers that are close lead to directions that
//! are close, so strata stay strata. The density of a direction is that of the cell that has its
//! position: what is drawn, to rounding.

use super::cells::{Cell, LEVELS, division, position, width};
use super::table::ShiftedTree;
use crate::math::direction_box::{LANES, Lanes};
use crate::math::{Vec2, Vec3, vec2};
use crate::sampling::ONE_MINUS_EPSILON;
use lightbound_shader::Sides;
use std::f32::consts::FRAC_1_PI;

/// Digits of positions that cells are found by: two for each cut into four, one for each into two.
const DIGITS: u32 = LEVELS + LEVELS.div_ceil(2);

/// A density of directions.
#[derive(Clone, Debug, PartialEq)]
pub struct DirectionTree {
    sides: Sides,
    /// The domain first, children after their parents; none where nothing is scattered.
    nodes: Vec<Node>,
}

/// A cell that is cut.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Node {
    /// Probability of each part.
    pub mass: Lanes,
    /// The node of each part; 0 for those that are not cut.
    pub child: [u32; LANES],
}

impl Node {
    /// Parts that are not cut.
    pub const LEAVES: Node = Node { mass: [0.0; LANES], child: [0; LANES] };
}

impl DirectionTree {
    /// The density |cos θ|/π over the hemisphere, or half of it over the sphere.
    pub fn cosine(sides: Sides) -> DirectionTree {
        let mass = [1.0 / LANES as f32; LANES];
        DirectionTree { sides, nodes: vec![Node { mass, ..Node::LEAVES }] }
    }

    /// Makes it that of nodes whose masses add up to 1, or void where there are none.
    pub(super) fn set(&mut self, sides: Sides, nodes: impl Iterator<Item = Node>) {
        self.sides = sides;
        self.nodes.clear();
        self.nodes.extend(nodes);
    }

    /// The same, shifted by nothing.
    pub fn centred(&self) -> ShiftedTree<'_> {
        ShiftedTree { tree: self, shift: Vec2::ZERO }
    }

    /// The cells that are cut, the domain first.
    pub(super) fn cuts(&self) -> &[Node] {
        &self.nodes
    }

    /// Memory of a cell that is cut.
    pub const NODE_BYTES: usize = size_of::<Node>();

    /// Where there are directions.
    pub(super) fn sides(&self) -> Sides {
        self.sides
    }

    /// Number of cells that are cut.
    pub fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// A direction for numbers in [0, 1), and its density per steradian; `None` if no direction has
    /// any.
    pub fn draw(&self, u: Vec2) -> Option<(Vec3, f32)> {
        let mut node = self.nodes.first()?;
        let (mut rest, mut cell) = (u, Cell::DOMAIN);
        loop {
            let lane = choose_part(&node.mass, cell.level(), &mut rest)?;
            cell = cell.child(lane);
            match node.child[lane] {
                0 => return Some(self.within(&cell, node.mass[lane], rest)),
                child => node = &self.nodes[child as usize],
            }
        }
    }

    /// A direction of a cell.
    fn within(&self, cell: &Cell, mass: f32, rest: Vec2) -> (Vec3, f32) {
        let wi = cell.direction(self.sides, rest);
        (wi, self.density(mass, cell.level(), wi))
    }

    /// Density of a direction within a cell of a level.
    fn density(&self, mass: f32, level: u32, wi: Vec3) -> f32 {
        self.mean(mass, level) * wi.z.abs() * FRAC_1_PI
    }

    /// Probability by the area of the domain within a cell of a level.
    pub(super) fn mean(&self, mass: f32, level: u32) -> f32 {
        mass * (1u64 << (3 * level)) as f32 / width(self.sides)
    }

    /// Probability by the area of the disk, whose whole is 1, at a direction, of which x, y and the
    /// sign of z count.
    pub(super) fn per_area(&self, wi: Vec3) -> f32 {
        self.find(wi)
            .map_or(0.0, |(node, lane, level)| self.mean(self.nodes[node].mass[lane], level))
    }

    /// Density of a unit direction per steradian.
    pub fn pdf(&self, wi: Vec3) -> f32 {
        match self.find(wi) {
            Some((node, lane, level)) => self.density(self.nodes[node].mass[lane], level, wi),
            None => 0.0,
        }
    }

    /// The node and the lane of the cell of a direction, and its level; `None` where no direction
    /// is drawn.
    fn find(&self, wi: Vec3) -> Option<(usize, usize, u32)> {
        if self.nodes.is_empty() || !self.sides.covers(wi.z) {
            return None;
        }
        let mut node = 0;
        let mut digits = Digits::of(wi, self.sides);
        for level in 0..LEVELS {
            let lane = digits.part(level);
            match self.nodes[node].child[lane] {
                0 => return Some((node, lane, level + 1)),
                child => node = child as usize,
            }
        }
        unreachable!("no cell below the last level is cut")
    }
}

/// Draws and masses held against each other.
#[cfg(test)]
impl DirectionTree {
    /// χ² of so many draws over all cells, in which densities are those of the cosine to a factor:
    /// its p-value.
    pub fn chi_square(
        &self,
        random: &mut lightbound_shader::ir::random::Random,
        draws: usize,
    ) -> f64 {
        use crate::math::direction_box::testing::uniform;
        let draw = || {
            let (wi, pdf) =
                self.draw(vec2(uniform(random), uniform(random))).expect("there is mass");
            assert!(
                pdf > 0.0 && self.sides.covers(wi.z) && (wi.length_squared() - 1.0).abs() < 4e-7,
                "{wi} {pdf}"
            );
            wi
        };
        self.chi_square_of(draw, 0.0, draws)
    }

    /// The same of given draws, a part of which follow the cosine instead.
    pub fn chi_square_of(
        &self,
        mut draw: impl FnMut() -> Vec3,
        by_cosine: f32,
        draws: usize,
    ) -> f64 {
        let mut counts = vec![[0.0; LANES]; self.nodes.len()];
        for _ in 0..draws {
            let (node, lane, _) = self.find(draw()).expect("there is a cell");
            counts[node][lane] += 1.0;
        }
        let mut areas = vec![1.0; self.nodes.len()];
        let mut pairs = Vec::new();
        for (index, (node, counts)) in self.nodes.iter().zip(counts).enumerate() {
            let area = areas[index] / LANES as f32;
            for (lane, count) in counts.into_iter().enumerate() {
                let share = by_cosine * area + (1.0 - by_cosine) * node.mass[lane];
                match node.child[lane] {
                    0 => pairs.push((count, f64::from(share) * draws as f64)),
                    child => areas[child as usize] = area,
                }
            }
        }
        let total = pairs.iter().map(|(_, expected)| expected).sum::<f64>() / draws as f64;
        assert!((total - 1.0).abs() < 1e-5, "masses add up to {total}");
        crate::sampling::chi_square::pearson(pairs).2
    }

    /// The share of draws whose density is not that of their direction, which lie at edges of
    /// cells.
    pub fn at_edges(
        &self,
        random: &mut lightbound_shader::ir::random::Random,
        draws: usize,
    ) -> f64 {
        use crate::math::direction_box::testing::uniform;
        let differs = |(wi, pdf): (Vec3, f32)| (self.pdf(wi) / pdf - 1.0).abs() > 1e-6;
        let draw = |()| self.draw(vec2(uniform(random), uniform(random))).is_some_and(differs);
        std::iter::repeat_n((), draws).map(draw).filter(|differs| *differs).count() as f64
            / draws as f64
    }
}

/// A position of the domain, by which its cells are found.
pub(super) struct Digits {
    x: u32,
    y: u32,
}

impl Digits {
    /// That of a direction.
    #[inline]
    pub fn of(wi: Vec3, sides: Sides) -> Digits {
        let p = position(wi) * vec2(1.0 / width(sides), 1.0);
        let scale = (1u32 << DIGITS) as f32;
        Digits { x: (p.x * scale) as u32, y: (p.y * scale) as u32 }
    }

    /// Which part of its cell of a level it is in; levels in turn from the first one.
    #[inline]
    pub fn part(&mut self, level: u32) -> usize {
        let (columns, rows) = division(level);
        let (column, row) = (take_digits(&mut self.x, columns), take_digits(&mut self.y, rows));
        column * rows + row
    }
}

/// Takes the leading digits off: which of so many parts, four or two.
#[inline]
fn take_digits(x: &mut u32, parts: usize) -> usize {
    let digits = parts.trailing_zeros();
    let part = *x >> (DIGITS - digits);
    *x = (*x << digits) & ((1 << DIGITS) - 1);
    part as usize
}

/// A part of a cell of a level, each as often as it has a share of the mass: a column, then a row
/// within it. What is left of the numbers is uniform again.
#[inline]
pub(super) fn choose_part(mass: &Lanes, level: u32, rest: &mut Vec2) -> Option<usize> {
    let (columns, rows) = division(level);
    let mut sums = [0.0; 4];
    for (sum, masses) in sums.iter_mut().zip(mass.chunks_exact(rows)) {
        *sum = masses.iter().sum();
    }
    let column = choose(&sums[..columns], &mut rest.x)?;
    let row = choose(&mass[column * rows..][..rows], &mut rest.y)?;
    Some(column * rows + row)
}

/// One of the masses, each as often as it has a part of the sum; what is left of the number is
/// uniform again.
#[inline]
fn choose(masses: &[f32], u: &mut f32) -> Option<usize> {
    let mut at = *u * masses.iter().sum::<f32>();
    let mut chosen = None;
    for (k, &mass) in masses.iter().enumerate().filter(|(_, mass)| **mass > 0.0) {
        // Where rounding leads beyond the last one that has any, it is that one.
        chosen = Some(k);
        *u = (at / mass).min(ONE_MINUS_EPSILON);
        if at < mass {
            break;
        }
        at -= mass;
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::direction_box::testing::{uniform, unit};
    use crate::sampling::chi_square::chi_square_sphere;
    use lightbound_shader::ir::random::Random;

    /// A tree of random masses, some of them 0.
    fn random_tree(random: &mut Random, sides: Sides, cuts: usize) -> DirectionTree {
        let mut nodes = vec![Node::LEAVES];
        let mut levels = vec![0];
        for _ in 0..cuts {
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
        let mut tree = DirectionTree::cosine(sides);
        tree.set(sides, nodes.into_iter());
        tree
    }

    #[test]
    fn what_is_drawn_has_the_density_of_its_direction() {
        let random = &mut Random::new(1);
        for round in 0..200 {
            let sides = [Sides::One, Sides::Both][round % 2];
            let tree = random_tree(random, sides, 1 << (round % 9));
            assert!(tree.at_edges(random, 500) < 0.01);
            let p = tree.chi_square(random, 5000);
            assert!(p > 0.01 / 200.0, "{p}");
        }
    }

    #[test]
    fn densities_are_those_of_draws() {
        let random = &mut Random::new(2);
        for (name, sides, cuts) in [
            ("one cut", Sides::One, 0),
            ("cuts", Sides::One, 40),
            ("many cuts", Sides::One, 100),
            ("both sides", Sides::Both, 60),
        ] {
            let tree = random_tree(random, sides, cuts);
            let draw = |u: [f32; 3]| tree.draw(vec2(u[0], u[1])).map(|(wi, _)| wi);
            chi_square_sphere(name, 50_000, draw, |wi| tree.pdf(wi), 4);
        }
    }

    #[test]
    fn the_cosine_is_that() {
        let random = &mut Random::new(3);
        for (sides, share) in [(Sides::One, 1.0), (Sides::Both, 0.5)] {
            let tree = DirectionTree::cosine(sides);
            for _ in 0..1000 {
                let wi = unit(random);
                let expected =
                    if sides.covers(wi.z) { share * FRAC_1_PI * wi.z.abs() } else { 0.0 };
                assert!((tree.pdf(wi) - expected).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn masses_of_nothing_are_not_chosen() {
        for u in [0.0, 0.3, 0.5, ONE_MINUS_EPSILON] {
            let mut rest = u;
            assert_eq!(choose(&[0.0, 0.5, 0.0], &mut rest), Some(1));
            assert_eq!(rest, u);
            assert_eq!(choose(&[0.0; 2], &mut rest), None);
        }
        let mut rest = 0.75;
        assert_eq!((choose(&[0.25, 0.25, 0.25, 0.25], &mut rest), rest), (Some(3), 0.0));
        let mut tree = DirectionTree::cosine(Sides::One);
        tree.set(Sides::One, std::iter::empty());
        assert_eq!((tree.draw(vec2(0.5, 0.5)), tree.pdf(Vec3::Z)), (None, 0.0));
    }
}
