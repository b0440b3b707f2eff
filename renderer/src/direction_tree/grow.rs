//! Growing a tree of directions for a shading point, from values and bounds of its BRDF.
//!
//! After Clarberg et al. 2010 §6.2, with two departures. Cells are not cut to a fixed depth but
//! where it pays: the one next whose bounds leave the most open, until nothing much is open any
//! more or the budget is spent. Bounds tell where a lobe is that no value has met yet, so that it
//! is found however narrow it is. And the density is not that of upper bounds, which are poor
//! probabilities where they are loose (Tokuyoshi et al. 2024): it is that of values, but for a part
//! ([`BY_BOUNDS`]) which follows the upper bounds. That part keeps the support: a density is 0 only
//! where the upper bound is. And it costs no more than itself, however loose bounds are.
//!
//! Some bounds are so loose that cutting cells for them would never end, as those of quotients at
//! the horizon. So bounds are trusted less from cell to part ([`DOUBT`]), until a value comes near
//! to one: a lobe that is there is met by a value after a few cuts.

use super::cells::{Cell, LEVELS, width};
use super::kernels::{Brdf, BrdfKernels, Known};
use super::tree::{DirectionTree, Node};
use crate::material::Bound;
use crate::math::Vec3;
use crate::math::direction_box::{LANES, Lanes, greater};
use lightbound_shader::Sides;
use std::collections::BinaryHeap;
use std::f32::consts::FRAC_1_PI;

/// The part of directions that follows upper bounds.
const BY_BOUNDS: f32 = 0.1;

/// The least density where there may be anything, so that it does not underflow; that of the cosine
/// is 1.
const LEAST: f32 = 1e-9;

/// When a tree is good enough.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    /// Most cells that are cut.
    pub cuts: usize,
    /// The share of the whole that bounds may leave open.
    pub open: f32,
}

impl Budget {
    /// For a tree of one point of a path, which serves one direction that is drawn and one light.
    pub const POINT: Budget = Budget { cuts: 48, open: 0.1 };

    /// For a tree of one point which serves products with a sky alone, in which the shader's own
    /// sampler has its part.
    pub const SKETCH: Budget = Budget { cuts: 12, open: 0.1 };

    /// For a tree of a table, which serves many.
    pub const TABLE: Budget = Budget { cuts: 96, open: 0.05 };
}

/// What is left, from a cell to its parts, of the trust in bounds that no value came near to.
const DOUBT: f32 = 0.4;

/// Cells that leave less open than this part of what all may, for each that may be cut, are not
/// worth to be remembered.
const NEGLIGIBLE: f32 = 0.05;

/// A cell that was cut.
struct Family {
    cell: Cell,
    /// Its parts' share of the domain, each.
    area: f32,
    known: Known,
    /// How far bounds of each part are trusted.
    trust: Lanes,
    node: Node,
}

/// A cell that may be cut, as a number that is greater the more it leaves open; among equals, that
/// of the first family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Open(u64);

impl Open {
    /// Part `lane` of a family, and what bounds leave open there, above 0.
    fn new(error: f32, family: usize, lane: usize) -> Open {
        // Floats that are not negative are in the order of their bits.
        Open(u64::from(error.to_bits()) << 32 | u64::from(!((family * LANES + lane) as u32)))
    }

    fn parts(self) -> (f32, usize, usize) {
        let index = !(self.0 as u32) as usize;
        (f32::from_bits((self.0 >> 32) as u32), index / LANES, index % LANES)
    }
}

/// Grows trees for one point after another; buffers stay.
pub struct Grower<'a> {
    brdf: Brdf<'a>,
    families: Vec<Family>,
    open: BinaryHeap<Open>,
}

impl<'a> Grower<'a> {
    /// For a shader with its textures.
    pub fn new(kernels: &'a BrdfKernels, bound: &'a Bound) -> Grower<'a> {
        Grower { brdf: Brdf::new(kernels, bound), families: Vec::new(), open: BinaryHeap::new() }
    }

    /// Where there are directions.
    pub(super) fn sides(&self) -> Sides {
        self.brdf.sides()
    }

    /// The BRDF of a point for eight directions, as [`Grower::grow`] sees it.
    pub(super) fn evaluate(
        &mut self,
        wo: Vec3,
        members: impl Iterator<Item = u32>,
        wi: &[Lanes; 3],
    ) -> Lanes {
        self.brdf.begin(wo, members);
        self.brdf.evaluate(wi)
    }

    /// Makes the tree that of a point: `wo` is unit, and above the surface where the shader is for
    /// that alone; members are words.
    pub fn grow(
        &mut self,
        wo: Vec3,
        members: impl Iterator<Item = u32>,
        budget: &Budget,
        tree: &mut DirectionTree,
    ) {
        self.brdf.begin(wo, members);
        self.families.clear();
        self.open.clear();
        let mut open = self.cut(Cell::DOMAIN, 1.0, 0.0);
        let mut sum = self.values();
        while self.families.len() < budget.cuts && open > budget.open * sum {
            let Some((error, family, lane)) = self.open.pop().map(Open::parts) else { break };
            let index = self.families.len() as u32;
            let parent = &mut self.families[family];
            parent.node.child[lane] = index;
            let (cell, trust) = (parent.cell.child(lane), DOUBT * parent.trust[lane]);
            sum -= parent.area * parent.known.value[lane];
            open +=
                self.cut(cell, trust, NEGLIGIBLE * budget.open * sum / budget.cuts as f32) - error;
            sum += self.values();
        }
        self.weigh();
        tree.set(self.brdf.sides(), self.families.iter().map(|family| family.node));
    }

    /// Cuts a cell; what its parts leave open. Those below `least` are forgotten.
    fn cut(&mut self, cell: Cell, trust: f32, least: f32) -> f32 {
        let parts = cell.parts(self.brdf.sides());
        let mut known = self.brdf.look(&parts);
        let area = cell.child(0).area();
        // What gains no energy is not more than that on average.
        let most = FRAC_1_PI / (width(self.brdf.sides()) * area);
        let family = self.families.len();
        let (mut trusts, mut sum) = ([0.0; LANES], 0.0);
        for (lane, of_part) in trusts.iter_mut().enumerate() {
            known.value[lane] = known.value[lane].min(most);
            known.upper[lane] = known.upper[lane].min(most);
            let (value, range) = (known.value[lane], known.upper[lane] - known.lower[lane]);
            // NaN of 0/0 is greater than nothing.
            *of_part = greater(value / known.upper[lane], trust);
            let error =
                if range > 0.0 { *of_part * area * range * (range / (value + range)) } else { 0.0 };
            if error > least && cell.level() + 1 < LEVELS {
                self.open.push(Open::new(error, family, lane));
                sum += error;
            }
        }
        self.families.push(Family { cell, area, known, trust: trusts, node: Node::LEAVES });
        sum
    }

    /// The sum of values of the last family, by area.
    fn values(&self) -> f32 {
        self.families.last().map_or(0.0, |last| last.area * last.known.value.iter().sum::<f32>())
    }

    /// Gives all cells their masses, parents those of their parts together.
    fn weigh(&mut self) {
        let (mut values, mut bounds) = (0.0, 0.0);
        for family in &self.families {
            for lane in (0..LANES).filter(|&lane| family.node.child[lane] == 0) {
                values += family.area * family.known.value[lane];
                bounds += family.area * family.known.upper[lane];
            }
        }
        // Sums that have no reciprocal say nothing.
        let (values, bounds) =
            (1.0 / values.max(f32::MIN_POSITIVE), 1.0 / bounds.max(f32::MIN_POSITIVE));
        let density = |value: f32, upper: f32| match upper > 0.0 {
            true => {
                ((1.0 - BY_BOUNDS) * (values * value) + BY_BOUNDS * (bounds * upper)).max(LEAST)
            }
            false => 0.0,
        };
        for index in (0..self.families.len()).rev() {
            let Family { area, known, node, .. } = &self.families[index];
            let mass = std::array::from_fn(|lane| match node.child[lane] {
                0 => area * density(known.value[lane], known.upper[lane]),
                child => self.families[child as usize].node.mass.iter().sum(),
            });
            self.families[index].node.mass = mass;
        }
        let scale = 1.0 / self.families[0].node.mass.iter().sum::<f32>().max(f32::MIN_POSITIVE);
        for family in &mut self.families {
            family.node.mass = family.node.mass.map(|mass| mass * scale);
        }
    }
}
