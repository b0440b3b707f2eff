//! Discretisation of environment lights into directions. The octahedral square is divided into
//! blocks, and one direction represents the total light of a block.
//!
//! A constant environment is divided into equal squares. An image is divided by the median cut of
//! Debevec 2005, *A Median Cut Algorithm for Light Probe Sampling*: the block with the most power
//! is split across its longer side into halves of about equal power, until there are enough blocks.
//! Debevec splits all blocks in each iteration; we split by power, so the number of blocks need not
//! be a power of two. The direction of a block is its power-weighted mean direction.

use super::super::point::{Emission, LightPoint};
use super::{Extent, Points};
use crate::light::{Environment, EnvironmentDirection, abs_luminance};
use glam::DVec3;
use lightbound_math::{Vec2, Vec3, vec2};
use rayon::prelude::*;
use std::collections::BinaryHeap;

/// A rectangle of grid cells in the unit square.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EnvironmentBlock {
    /// First column and row.
    pub first: [u32; 2],
    /// End column and row, exclusive.
    pub end: [u32; 2],
    /// Number of cells along each side of the unit square.
    pub side: u32,
}

/// Finds the block of an environment light that contains a position in the square.
#[derive(Clone, Debug)]
pub(super) struct BlockLookup {
    /// Index of the light's first block among the blocks of all environment lights.
    first: u32,
    /// Cells along each side of the square.
    side: u32,
    /// Nodes of the k-d tree, root first; empty if each cell is a block, in row-major order.
    kd_nodes: Vec<KdNode>,
}

/// A node of the k-d tree of blocks.
#[derive(Clone, Copy, Debug)]
enum KdNode {
    /// Split before column (axis 0) or row (axis 1) `plane`. `children` is the index of the lower
    /// child; the upper child follows.
    Split { axis: usize, plane: u32, children: u32 },
    /// A block, by index.
    Block(u32),
    /// A region without light.
    Empty,
}

impl BlockLookup {
    /// Returns the block that contains a position; `None` in empty regions.
    pub(super) fn find(&self, position: Vec2) -> Option<u32> {
        let cell =
            [position.x, position.y].map(|x| ((x * self.side as f32) as u32).min(self.side - 1));
        let mut kd_node =
            self.kd_nodes.first().copied().unwrap_or(KdNode::Block(cell[1] * self.side + cell[0]));
        loop {
            kd_node = match kd_node {
                KdNode::Split { axis, plane, children } => {
                    self.kd_nodes[children as usize + usize::from(cell[axis] >= plane)]
                }
                KdNode::Block(block) => return Some(self.first + block),
                KdNode::Empty => return None,
            };
        }
    }

    /// Returns the heap memory in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.kd_nodes.capacity() * size_of::<KdNode>()
    }
}

/// Minimum number of sample positions along a side of the square.
const MIN_SAMPLES_PER_SIDE: u32 = 128;

/// Minimum length of the power-weighted mean of unit directions. If it is shorter, light comes from
/// opposite directions, and the mean direction is ambiguous.
const MIN_MEAN_LENGTH: f64 = 0.25;

/// Adds about `count` directional light points that represent an environment light, or with
/// `next_event` its [sampled radiance](Environment::sampled_radiance), and their blocks. `template`
/// provides the fields that they share.
pub(super) fn subdivide(
    environment: &Environment,
    next_event: bool,
    template: &LightPoint,
    count: u32,
    out: &mut Points,
) {
    let direction_at = |p| {
        let direction = environment.direction_at(p);
        if next_event {
            let radiance = environment.sampled_radiance(direction.radiance);
            EnvironmentDirection { radiance, ..direction }
        } else {
            direction
        }
    };
    let first = out.strata.blocks.len() as u32;
    let (blocks, kd_nodes) = match environment.resolution() {
        None => {
            let side = count.isqrt().clamp(1, 1 << 12);
            let block = |i: u32| EnvironmentBlock {
                first: [i % side, i / side],
                end: [i % side + 1, i / side + 1],
                side,
            };
            ((0..side * side).map(block).collect(), Vec::new())
        }
        Some(side) => median_cut(&TexelPowers::new(&direction_at, side), count as usize),
    };
    let side = blocks.first().map_or(1, |block: &EnvironmentBlock| block.side);
    out.strata.lookups.push((template.light, BlockLookup { first, side, kd_nodes }));
    for block in blocks {
        let (light, wi) = LightSum::of_block(&direction_at, &block);
        let stratum = out.strata.blocks.len() as u32;
        out.strata.blocks.push(block);
        let point = LightPoint {
            position: wi,
            intensity: light.irradiance.as_vec3(),
            emission: Emission::Distant,
            stratum,
            ..*template
        };
        out.push(point, |point| {
            let cone = environment.cone(point.position, block.at(Vec2::ZERO), block.at(Vec2::ONE));
            Extent { bounds: cone.bounds(), cone }
        });
    }
}

/// Samples a direction in the block, for `u` in [0, 1)².
pub(super) fn sample(
    environment: &Environment,
    block: &EnvironmentBlock,
    leaf: &LightPoint,
    u: Vec2,
) -> LightPoint {
    let direction = environment.direction_at(block.at(u));
    LightPoint {
        position: direction.wi,
        intensity: direction.radiance * (direction.jacobian * block.area()),
        ..*leaf
    }
}

impl EnvironmentBlock {
    /// Maps `u` in [0, 1]² to a position in the block, in coordinates of the square.
    fn at(&self, u: Vec2) -> Vec2 {
        let [lo, hi] = [self.first, self.end].map(|c| vec2(c[0] as f32, c[1] as f32));
        (lo + u * (hi - lo)) / self.side as f32
    }

    /// Returns the area as a fraction of the square.
    fn area(&self) -> f32 {
        let cells = u64::from(self.len(0)) * u64::from(self.len(1));
        (cells as f64 / (f64::from(self.side) * f64::from(self.side))) as f32
    }

    /// Returns whether the block is a single cell.
    pub(in super::super) fn is_single(&self) -> bool {
        self.len(0) == 1 && self.len(1) == 1
    }

    fn len(&self, axis: usize) -> u32 {
        self.end[axis] - self.first[axis]
    }

    /// Iterates over the cells, row by row.
    fn cells(&self) -> impl Iterator<Item = [u32; 2]> + use<> {
        let EnvironmentBlock { first, end, .. } = *self;
        (first[1]..end[1]).flat_map(move |y| (first[0]..end[0]).map(move |x| [x, y]))
    }
}

/// Total light of a cell or block.
#[derive(Clone, Copy, Default)]
struct LightSum {
    /// Irradiance at normal incidence, W·m⁻².
    irradiance: DVec3,
    /// Luminance of the irradiance, at least 0.
    power: f64,
    /// Sum of directions weighted by power.
    weighted_direction: DVec3,
}

impl LightSum {
    /// Integrates the light of a cell by the midpoint rule. Large cells get several samples, since
    /// the direction varies within a cell, and under a nonuniform transform the Jacobian does too.
    fn of_cell(
        direction_at: &impl Fn(Vec2) -> EnvironmentDirection,
        side: u32,
        cell: [u32; 2],
    ) -> LightSum {
        let steps = MIN_SAMPLES_PER_SIDE.div_ceil(side);
        let size = 1.0 / (side as f32 * steps as f32);
        let area = f64::from(size) * f64::from(size);
        let mut sum = LightSum::default();
        for i in 0..steps * steps {
            let at = vec2(
                (cell[0] * steps + i % steps) as f32 + 0.5,
                (cell[1] * steps + i / steps) as f32 + 0.5,
            );
            let direction = direction_at(at * size);
            let solid_angle = f64::from(direction.jacobian) * area;
            let power = f64::from(abs_luminance(direction.radiance)) * solid_angle;
            sum.add(&LightSum {
                irradiance: direction.radiance.as_dvec3() * solid_angle,
                power,
                weighted_direction: power * direction.wi.as_dvec3(),
            });
        }
        sum
    }

    /// Returns the total light of a block and its mean direction, or the direction of the brightest
    /// cell if the mean is ambiguous.
    fn of_block(
        direction_at: &impl Fn(Vec2) -> EnvironmentDirection,
        block: &EnvironmentBlock,
    ) -> (LightSum, Vec3) {
        let (mut sum, mut brightest) = (LightSum::default(), LightSum::default());
        for cell in block.cells() {
            let light = LightSum::of_cell(direction_at, block.side, cell);
            sum.add(&light);
            if light.power > brightest.power {
                brightest = light;
            }
        }
        let direction = if sum.weighted_direction.length() > MIN_MEAN_LENGTH * sum.power {
            sum.weighted_direction
        } else {
            brightest.weighted_direction
        };
        (sum, direction.normalize_or(DVec3::Z).as_vec3())
    }

    fn add(&mut self, other: &LightSum) {
        self.irradiance += other.irradiance;
        self.power += other.power;
        self.weighted_direction += other.weighted_direction;
    }
}

/// The power of each texel.
struct TexelPowers {
    texels: Vec<f32>,
    side: u32,
}

impl TexelPowers {
    fn new(
        direction_at: &(impl Fn(Vec2) -> EnvironmentDirection + Sync),
        side: usize,
    ) -> TexelPowers {
        let mut texels = vec![0.0; side * side];
        texels.par_chunks_mut(side).enumerate().for_each(|(y, row)| {
            for (x, texel) in row.iter_mut().enumerate() {
                *texel =
                    LightSum::of_cell(direction_at, side as u32, [x as u32, y as u32]).power as f32;
            }
        });
        TexelPowers { texels, side: side as u32 }
    }

    /// Returns the powers of columns `x` in row `y`.
    fn row(&self, y: u32, x: std::ops::Range<u32>) -> &[f32] {
        let start = y as usize * self.side as usize;
        &self.texels[start + x.start as usize..start + x.end as usize]
    }

    /// Returns the marginal powers of a block: of its columns (axis 0) or rows (axis 1).
    fn marginal(&self, block: &EnvironmentBlock, axis: usize) -> Vec<f64> {
        let mut marginal = vec![0.0; block.len(axis) as usize];
        for y in block.first[1]..block.end[1] {
            let row = self.row(y, block.first[0]..block.end[0]);
            if axis == 0 {
                marginal.iter_mut().zip(row).for_each(|(sum, &p)| *sum += f64::from(p));
            } else {
                marginal[(y - block.first[1]) as usize] = row.iter().map(|&p| f64::from(p)).sum();
            }
        }
        marginal
    }
}

/// A block that may be split. Candidates are ordered by power, then by position.
struct SplitCandidate {
    power: f64,
    block: EnvironmentBlock,
    /// Index of its k-d tree node.
    kd_node: usize,
}

impl Ord for SplitCandidate {
    fn cmp(&self, other: &SplitCandidate) -> std::cmp::Ordering {
        self.power.total_cmp(&other.power).then_with(|| other.block.first.cmp(&self.block.first))
    }
}

impl PartialOrd for SplitCandidate {
    fn partial_cmp(&self, other: &SplitCandidate) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for SplitCandidate {
    fn eq(&self, other: &SplitCandidate) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for SplitCandidate {}

/// Splits the square into 1 to `max_blocks` blocks that contain all power. Returns the blocks and
/// their k-d tree.
fn median_cut(powers: &TexelPowers, max_blocks: usize) -> (Vec<EnvironmentBlock>, Vec<KdNode>) {
    let square = EnvironmentBlock { first: [0; 2], end: [powers.side; 2], side: powers.side };
    let total = powers.marginal(&square, 1).iter().sum();
    let (mut heap, mut done) = (
        BinaryHeap::from([SplitCandidate { power: total, block: square, kd_node: 0 }]),
        Vec::new(),
    );
    let mut kd_nodes = vec![KdNode::Empty];
    while heap.len() + done.len() < max_blocks
        && let Some(candidate) = heap.pop()
    {
        let SplitCandidate { power, block, kd_node } = candidate;
        if block.is_single() {
            done.push(candidate);
            continue;
        }
        let axis = usize::from(block.len(1) > block.len(0));
        let marginal = powers.marginal(&block, axis);
        let (count, low_power) = split_at_half(&marginal, power);
        let (mut low, mut high) = (block, block);
        low.end[axis] = block.first[axis] + count;
        high.first[axis] = low.end[axis];
        let high_power = marginal[count as usize..].iter().sum();
        let children = kd_nodes.len();
        kd_nodes[kd_node] = KdNode::Split { axis, plane: low.end[axis], children: children as u32 };
        kd_nodes.extend([KdNode::Empty; 2]);
        let halves = [
            SplitCandidate { power: low_power, block: low, kd_node: children },
            SplitCandidate { power: high_power, block: high, kd_node: children + 1 },
        ];
        heap.extend(halves.into_iter().filter(|half| half.power > 0.0));
    }
    let mut blocks = Vec::new();
    for candidate in done.into_iter().chain(heap.into_sorted_vec()) {
        kd_nodes[candidate.kd_node] = KdNode::Block(blocks.len() as u32);
        blocks.push(candidate.block);
    }
    (blocks, kd_nodes)
}

/// Returns how many leading columns or rows (at least one, but not all) together have a power
/// closest to half of `total`, and that power.
fn split_at_half(marginal: &[f64], total: f64) -> (u32, f64) {
    let mut sum = 0.0;
    for (i, power) in marginal[..marginal.len() - 1].iter().enumerate() {
        sum += power;
        let next = if i + 2 < marginal.len() { sum + marginal[i + 1] } else { f64::INFINITY };
        if (sum - 0.5 * total).abs() <= (next - 0.5 * total).abs() {
            return (i as u32 + 1, sum);
        }
    }
    (marginal.len() as u32 - 1, sum)
}
