//! Adaptive builder of direction trees, from values of the BRDF and bounds on it.
//!
//! After Clarberg et al. 2010 §6.2, with two differences. First, cells are not split to a fixed
//! depth but adaptively: the cell with the greatest uncertainty is split next, until the remaining
//! uncertainty is small or the budget is spent. Bounds reveal lobes that no value has sampled yet,
//! so arbitrarily narrow lobes are found. Second, the density does not follow upper bounds, which
//! are poor probabilities if they are loose (Tokuyoshi et al. 2024). It follows values, except for
//! a fraction ([`BOUND_FRACTION`]) that follows the upper bounds. This fraction ensures the
//! support: a density is 0 only if the upper bound is 0. However loose the bounds are, at most this
//! fraction of samples is wasted.
//!
//! Some bounds, such as bounds on quotients at the horizon, are so loose that refining them would
//! never terminate. So the trust in bounds decays from a cell to its children
//! ([`BOUND_TRUST_DECAY`]), unless a value is close to the bound. After a few splits, a value hits
//! each real lobe. Bounds on a narrow lobe stay high in few of the children, but loose bounds in
//! many of them. Together, children scatter no more light than their parent: if the sum of their
//! bounds exceeds the bound on the parent, bounds are loose, and trust decreases with the square of
//! the ratio. Otherwise, all cells along the horizon would be split for `wo` near the horizon.

use super::cells::{DirectionCell, DirectionDomain, LEVELS};
use super::kernels::{Brdf, BrdfEstimates, BrdfKernels};
use super::tree::{DirectionTree, Node};
use crate::material::ShaderBinding;
use fearless_simd::dispatch;
use lightbound_math::Vec3;
use lightbound_math::direction_box::{LANES, Lanes, greater};
use lightbound_math::simd_level;
use std::collections::BinaryHeap;

/// Fraction of samples that follow upper bounds.
const BOUND_FRACTION: f32 = 0.1;

/// Minimum density if the upper bound is positive, to avoid underflow. Cosine sampling has density
/// 1.
const MIN_DENSITY: f32 = 1e-9;

/// Limits for splitting cells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SplitBudget {
    /// Maximum number of split cells.
    pub splits: usize,
    /// Maximum remaining uncertainty, as a fraction of the integral.
    pub uncertainty: f32,
}

impl SplitBudget {
    /// For a path vertex: its tree is used for one sampled direction and one light sample.
    pub const POINT: SplitBudget = SplitBudget { splits: 64, uncertainty: 0.1 };

    /// For a tabulated tree, which is used for many points.
    pub const TABLE: SplitBudget = SplitBudget { splits: 96, uncertainty: 0.05 };

    /// For a phase function: one tree for all points.
    pub const PHASE: SplitBudget = SplitBudget { splits: 512, uncertainty: 0.01 };
}

/// Factor on the trust in bounds from a cell to its children, if no value is close to the bounds.
const BOUND_TRUST_DECAY: f32 = 0.7;

/// Cells with less than this fraction of the allowed uncertainty per split are never split.
const NEGLIGIBLE_FRACTION: f32 = 0.05;

/// A split cell.
struct SplitNode {
    cell: DirectionCell,
    /// Area of each child, as a fraction of the domain.
    area: f32,
    estimates: BrdfEstimates,
    /// Trust in the bounds of each child.
    trust: Lanes,
    node: Node,
}

/// A cell that may be split, packed into an integer that orders candidates by uncertainty. Ties are
/// broken in favour of the earlier node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct SplitCandidate(u64);

impl SplitCandidate {
    /// Packs child `lane` of the node `parent`. `uncertainty` is positive.
    fn new(uncertainty: f32, parent: usize, lane: usize) -> SplitCandidate {
        // Non-negative floats have the same order as their bits.
        SplitCandidate(
            u64::from(uncertainty.to_bits()) << 32 | u64::from(!((parent * LANES + lane) as u32)),
        )
    }

    /// Returns uncertainty, parent and lane.
    fn unpack(self) -> (f32, usize, usize) {
        let index = !(self.0 as u32) as usize;
        (f32::from_bits((self.0 >> 32) as u32), index / LANES, index % LANES)
    }
}

/// Limits the estimates of a cell's children to `max_mean`. Returns the uncertainty of each child,
/// and the trust in its bounds. `upper` is a bound on the integral over the cell, and `trust` the
/// trust in this bound.
#[inline(always)]
fn uncertainties(
    estimates: &mut BrdfEstimates,
    area: f32,
    max_mean: f32,
    upper: f32,
    trust: f32,
) -> (Lanes, Lanes) {
    let BrdfEstimates { value, lower, upper: bound } = estimates;
    for lane in 0..LANES {
        (value[lane], bound[lane]) = (value[lane].min(max_mean), bound[lane].min(max_mean));
    }
    let looseness = greater(area * bound.iter().sum::<f32>() / upper, 1.0);
    let trust = trust / (looseness * looseness);
    let (mut errors, mut trusts) = ([0.0; LANES], [0.0; LANES]);
    for lane in 0..LANES {
        let range = bound[lane] - lower[lane];
        // `greater` discards the NaN of 0/0.
        trusts[lane] = greater(value[lane] / bound[lane], trust);
        let error = trusts[lane] * area * range * (range / (value[lane] + range));
        errors[lane] = if range > 0.0 { error } else { 0.0 };
    }
    (errors, trusts)
}

/// Builds direction trees for one shading point after another. Buffers are reused.
pub struct AdaptiveBuilder<'a> {
    brdf: Brdf<'a>,
    nodes: Vec<SplitNode>,
    candidates: BinaryHeap<SplitCandidate>,
}

impl<'a> AdaptiveBuilder<'a> {
    /// Creates a builder for a shader with its textures.
    pub fn new(kernels: &'a BrdfKernels, binding: &'a ShaderBinding) -> AdaptiveBuilder<'a> {
        AdaptiveBuilder {
            brdf: Brdf::new(kernels, binding),
            nodes: Vec::new(),
            candidates: BinaryHeap::new(),
        }
    }

    /// Returns the domain of the shader's directions.
    pub(super) fn domain(&self) -> DirectionDomain {
        self.brdf.domain()
    }

    /// Evaluates the BRDF for eight directions. `wo` and `parameters` are as in
    /// [`AdaptiveBuilder::build`].
    pub(super) fn evaluate(
        &mut self,
        wo: Vec3,
        parameters: impl Iterator<Item = u32>,
        wi: &[Lanes; 3],
    ) -> Lanes {
        self.brdf.begin(wo, parameters);
        self.brdf.evaluate(wi)
    }

    /// Builds the tree of a point. `wo` is a unit vector, above the surface for one-sided shaders.
    /// `parameters` are the words of the material parameters.
    pub fn build(
        &mut self,
        wo: Vec3,
        parameters: impl Iterator<Item = u32>,
        budget: &SplitBudget,
        tree: &mut DirectionTree,
    ) {
        self.brdf.begin(wo, parameters);
        self.nodes.clear();
        self.candidates.clear();
        let mut uncertainty = self.split(DirectionCell::DOMAIN, f32::INFINITY, 1.0, 0.0);
        let mut integral = self.last_integral();
        while self.nodes.len() < budget.splits && uncertainty > budget.uncertainty * integral {
            let Some((error, parent, lane)) = self.candidates.pop().map(SplitCandidate::unpack)
            else {
                break;
            };
            let index = self.nodes.len() as u32;
            let parent = &mut self.nodes[parent];
            parent.node.child[lane] = index;
            let (cell, trust) = (parent.cell.child(lane), BOUND_TRUST_DECAY * parent.trust[lane]);
            let upper = parent.area * parent.estimates.upper[lane];
            integral -= parent.area * parent.estimates.value[lane];
            let negligible =
                NEGLIGIBLE_FRACTION * budget.uncertainty * integral / budget.splits as f32;
            uncertainty += self.split(cell, upper, trust, negligible) - error;
            integral += self.last_integral();
        }
        self.set_masses();
        tree.set_nodes(self.brdf.domain(), self.nodes.iter().map(|node| node.node));
    }

    /// Splits a cell and returns the uncertainty of its children. Children with an uncertainty
    /// below `negligible` are not split further. `upper` is a bound on the integral over the cell.
    fn split(&mut self, cell: DirectionCell, upper: f32, trust: f32, negligible: f32) -> f32 {
        let domain = self.brdf.domain();
        let children = cell.children(domain);
        let mut estimates = self.brdf.estimate(&children);
        let area = cell.child(0).area();
        // Upper bound on the mean over a cell if energy is conserved.
        let max_mean = domain.density(1.0, Vec3::Z) / (domain.width() * area);
        let (errors, trust) = dispatch!(
            simd_level(),
            _ => uncertainties(&mut estimates, area, max_mean, upper, trust)
        );
        let (parent, mut sum) = (self.nodes.len(), 0.0);
        if cell.level() + 1 < LEVELS {
            for (lane, &error) in
                errors.iter().enumerate().filter(|(_, error)| **error > negligible)
            {
                self.candidates.push(SplitCandidate::new(error, parent, lane));
                sum += error;
            }
        }
        self.nodes.push(SplitNode { cell, area, estimates, trust, node: Node::LEAVES });
        sum
    }

    /// Returns the integral of the values over the last node.
    fn last_integral(&self) -> f32 {
        self.nodes.last().map_or(0.0, |last| last.area * last.estimates.value.iter().sum::<f32>())
    }

    /// Sets the masses of all cells. The mass of a split cell is the sum of its children's masses.
    fn set_masses(&mut self) {
        let (mut value_sum, mut bound_sum) = (0.0, 0.0);
        for node in &self.nodes {
            for lane in (0..LANES).filter(|&lane| node.node.child[lane] == 0) {
                value_sum += node.area * node.estimates.value[lane];
                bound_sum += node.area * node.estimates.upper[lane];
            }
        }
        // Sums are clamped, since reciprocals of smaller values overflow.
        let (value_scale, bound_scale) =
            (1.0 / value_sum.max(f32::MIN_POSITIVE), 1.0 / bound_sum.max(f32::MIN_POSITIVE));
        let density = |value: f32, upper: f32| match upper > 0.0 {
            true => ((1.0 - BOUND_FRACTION) * (value_scale * value)
                + BOUND_FRACTION * (bound_scale * upper))
                .max(MIN_DENSITY),
            false => 0.0,
        };
        for index in (0..self.nodes.len()).rev() {
            let SplitNode { area, estimates, node, .. } = &self.nodes[index];
            let mass = std::array::from_fn(|lane| match node.child[lane] {
                0 => area * density(estimates.value[lane], estimates.upper[lane]),
                child => self.nodes[child as usize].node.mass.iter().sum(),
            });
            self.nodes[index].node.mass = mass;
        }
        let scale = 1.0 / self.nodes[0].node.mass.iter().sum::<f32>().max(f32::MIN_POSITIVE);
        for node in &mut self.nodes {
            node.node.mass = node.node.mass.map(|mass| mass * scale);
        }
    }
}
