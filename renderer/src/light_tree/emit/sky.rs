//! Skies become directions: blocks of the octahedral square, each with all of its light from one
//! direction.
//!
//! A constant sky is cut into equal squares. An image is cut by the median cut of Debevec 2005, *A
//! Median Cut Algorithm for Light Probe Sampling*: the block with the most power is split across
//! its longer side into halves of equal power, until there are enough; we go by power rather than
//! by generations, so that the number need not be a power of two. A block's direction is its centre
//! of power.

use super::super::point::{Emission, LightPoint};
use super::{Extent, Points};
use crate::light::{Environment, weight};
use crate::math::{Vec2, Vec3, vec2};
use glam::DVec3;
use rayon::prelude::*;
use std::collections::BinaryHeap;

/// A rectangle of the cells that the unit square is divided into.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Block {
    /// First column and row.
    pub first: [u32; 2],
    /// One after the last.
    pub end: [u32; 2],
    /// Cells along each side of the whole square.
    pub side: u32,
}

/// Tells which block of a sky holds a place.
#[derive(Clone, Debug)]
pub(super) struct BlockMap {
    /// Number of the first block among those of all skies.
    first: u32,
    /// Cells along each side of the square.
    side: u32,
    /// The root first; none where each cell is a block, row by row.
    links: Vec<Link>,
}

/// A rectangle of cells: what became of it.
#[derive(Clone, Copy, Debug)]
enum Link {
    /// It was cut before the line `at` along `axis`; the links of the parts follow each other.
    Cut { axis: usize, at: u32, parts: u32 },
    /// It is a block.
    Block(u32),
    /// Nothing shines.
    Dark,
}

impl BlockMap {
    /// The block that holds a place of the square, if any does.
    pub(super) fn find(&self, place: Vec2) -> Option<u32> {
        let cell = [place.x, place.y].map(|x| ((x * self.side as f32) as u32).min(self.side - 1));
        let mut link =
            self.links.first().copied().unwrap_or(Link::Block(cell[1] * self.side + cell[0]));
        loop {
            link = match link {
                Link::Cut { axis, at, parts } => {
                    self.links[parts as usize + usize::from(cell[axis] >= at)]
                }
                Link::Block(block) => return Some(self.first + block),
                Link::Dark => return None,
            };
        }
    }

    /// Bytes on the heap.
    pub(super) fn bytes(&self) -> usize {
        self.links.capacity() * size_of::<Link>()
    }
}

/// Places along a side of the square, at least, at which a sky is looked at.
const PLACES: u32 = 128;

/// Centre of power shorter than this say little: the light comes from many sides.
const LEAST_CENTER: f64 = 0.25;

/// Adds about `wanted` directions of a sky and their blocks. `plain` has what they have in common.
pub(super) fn cut(sky: &Environment, plain: &LightPoint, wanted: u32, out: &mut Points) {
    let first = out.strata.blocks.len() as u32;
    let (blocks, links) = match sky.resolution() {
        None => {
            let side = wanted.isqrt().clamp(1, 1 << 12);
            let block = |i: u32| Block {
                first: [i % side, i / side],
                end: [i % side + 1, i / side + 1],
                side,
            };
            ((0..side * side).map(block).collect(), Vec::new())
        }
        Some(side) => median_cut(&Powers::new(sky, side), wanted as usize),
    };
    let side = blocks.first().map_or(1, |block: &Block| block.side);
    out.strata.maps.push((plain.light, BlockMap { first, side, links }));
    for block in blocks {
        let (light, wi) = Light::of_block(sky, &block);
        let stratum = out.strata.blocks.len() as u32;
        out.strata.blocks.push(block);
        let point = LightPoint {
            position: wi,
            intensity: light.irradiance.as_vec3(),
            emission: Emission::Distant,
            stratum,
            ..*plain
        };
        out.push(point, |point| {
            let cone = sky.cone(point.position, block.at(Vec2::ZERO), block.at(Vec2::ONE));
            Extent { bounds: cone.bounds(), cone }
        });
    }
}

/// A direction of the block, for `u` in the unit square.
pub(super) fn draw(sky: &Environment, block: &Block, leaf: &LightPoint, u: Vec2) -> LightPoint {
    let place = sky.place(block.at(u));
    LightPoint {
        position: place.wi,
        intensity: place.radiance * (place.stretch * block.area()),
        ..*leaf
    }
}

impl Block {
    /// The place of the square that belongs to `u` of the block.
    fn at(&self, u: Vec2) -> Vec2 {
        let [lo, hi] = [self.first, self.end].map(|c| vec2(c[0] as f32, c[1] as f32));
        (lo + u * (hi - lo)) / self.side as f32
    }

    /// Share of the square.
    fn area(&self) -> f32 {
        let cells = u64::from(self.len(0)) * u64::from(self.len(1));
        (cells as f64 / (f64::from(self.side) * f64::from(self.side))) as f32
    }

    /// Whether it is one cell.
    pub(in super::super) fn is_single(&self) -> bool {
        self.len(0) == 1 && self.len(1) == 1
    }

    fn len(&self, axis: usize) -> u32 {
        self.end[axis] - self.first[axis]
    }

    /// The cells, row by row.
    fn cells(&self) -> impl Iterator<Item = [u32; 2]> + use<> {
        let Block { first, end, .. } = *self;
        (first[1]..end[1]).flat_map(move |y| (first[0]..end[0]).map(move |x| [x, y]))
    }
}

/// All light of a cell, or of a block.
#[derive(Clone, Copy, Default)]
struct Light {
    /// On a surface that would face all of it, W·m⁻².
    irradiance: DVec3,
    /// Luminance of that, at least 0.
    power: f64,
    /// Σ of directions by power.
    center: DVec3,
}

impl Light {
    /// By the midpoint rule on enough places, where cells are few: under a transform that
    /// stretches, or in a constant sky, the solid angle per area and the direction vary within.
    fn of_cell(sky: &Environment, side: u32, cell: [u32; 2]) -> Light {
        let steps = PLACES.div_ceil(side);
        let size = 1.0 / (side as f32 * steps as f32);
        let area = f64::from(size) * f64::from(size);
        let mut sum = Light::default();
        for i in 0..steps * steps {
            let at = vec2(
                (cell[0] * steps + i % steps) as f32 + 0.5,
                (cell[1] * steps + i / steps) as f32 + 0.5,
            );
            let place = sky.place(at * size);
            let solid_angle = f64::from(place.stretch) * area;
            let power = f64::from(weight(place.radiance)) * solid_angle;
            sum.add(&Light {
                irradiance: place.radiance.as_dvec3() * solid_angle,
                power,
                center: power * place.wi.as_dvec3(),
            });
        }
        sum
    }

    /// With the direction of the brightest cell where others say little.
    fn of_block(sky: &Environment, block: &Block) -> (Light, Vec3) {
        let (mut sum, mut brightest) = (Light::default(), Light::default());
        for cell in block.cells() {
            let light = Light::of_cell(sky, block.side, cell);
            sum.add(&light);
            if light.power > brightest.power {
                brightest = light;
            }
        }
        let center = if sum.center.length() > LEAST_CENTER * sum.power {
            sum.center
        } else {
            brightest.center
        };
        (sum, center.normalize_or(DVec3::Z).as_vec3())
    }

    fn add(&mut self, other: &Light) {
        self.irradiance += other.irradiance;
        self.power += other.power;
        self.center += other.center;
    }
}

/// The power of each texel.
struct Powers {
    texels: Vec<f32>,
    side: u32,
}

impl Powers {
    fn new(sky: &Environment, side: usize) -> Powers {
        let mut texels = vec![0.0; side * side];
        texels.par_chunks_mut(side).enumerate().for_each(|(y, row)| {
            for (x, texel) in row.iter_mut().enumerate() {
                *texel = Light::of_cell(sky, side as u32, [x as u32, y as u32]).power as f32;
            }
        });
        Powers { texels, side: side as u32 }
    }

    fn row(&self, y: u32, x: std::ops::Range<u32>) -> &[f32] {
        let start = y as usize * self.side as usize;
        &self.texels[start + x.start as usize..start + x.end as usize]
    }

    /// Power of each line of a block across `axis`.
    fn lines(&self, block: &Block, axis: usize) -> Vec<f64> {
        let mut lines = vec![0.0; block.len(axis) as usize];
        for y in block.first[1]..block.end[1] {
            let row = self.row(y, block.first[0]..block.end[0]);
            if axis == 0 {
                lines.iter_mut().zip(row).for_each(|(line, &p)| *line += f64::from(p));
            } else {
                lines[(y - block.first[1]) as usize] = row.iter().map(|&p| f64::from(p)).sum();
            }
        }
        lines
    }
}

/// A block that may be cut on; ordered by power, then by place.
struct Candidate {
    power: f64,
    block: Block,
    /// Index of its link.
    link: usize,
}

impl Ord for Candidate {
    fn cmp(&self, other: &Candidate) -> std::cmp::Ordering {
        self.power.total_cmp(&other.power).then_with(|| other.block.first.cmp(&self.block.first))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Candidate) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Candidate) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Candidate {}

/// At most `wanted` blocks (at least one), which hold all power, and how they came about.
fn median_cut(powers: &Powers, wanted: usize) -> (Vec<Block>, Vec<Link>) {
    let whole = Block { first: [0; 2], end: [powers.side; 2], side: powers.side };
    let total = powers.lines(&whole, 1).iter().sum();
    let (mut heap, mut done) =
        (BinaryHeap::from([Candidate { power: total, block: whole, link: 0 }]), Vec::new());
    let mut links = vec![Link::Dark];
    while heap.len() + done.len() < wanted
        && let Some(candidate) = heap.pop()
    {
        let Candidate { power, block, link } = candidate;
        if block.is_single() {
            done.push(candidate);
            continue;
        }
        let axis = usize::from(block.len(1) > block.len(0));
        let lines = powers.lines(&block, axis);
        let (count, below) = halve(&lines, power);
        let (mut low, mut high) = (block, block);
        low.end[axis] = block.first[axis] + count;
        high.first[axis] = low.end[axis];
        let above = lines[count as usize..].iter().sum();
        let parts = links.len();
        links[link] = Link::Cut { axis, at: low.end[axis], parts: parts as u32 };
        links.extend([Link::Dark; 2]);
        let halves = [
            Candidate { power: below, block: low, link: parts },
            Candidate { power: above, block: high, link: parts + 1 },
        ];
        heap.extend(halves.into_iter().filter(|half| half.power > 0.0));
    }
    let mut blocks = Vec::new();
    for candidate in done.into_iter().chain(heap.into_sorted_vec()) {
        links[candidate.link] = Link::Block(blocks.len() as u32);
        blocks.push(candidate.block);
    }
    (blocks, links)
}

/// How many of the lines hold nearest to half of the power `total`, at least one and not all, and
/// what they hold.
fn halve(lines: &[f64], total: f64) -> (u32, f64) {
    let mut sum = 0.0;
    for (i, line) in lines[..lines.len() - 1].iter().enumerate() {
        sum += line;
        let next = if i + 2 < lines.len() { sum + lines[i + 1] } else { f64::INFINITY };
        if (sum - 0.5 * total).abs() <= (next - 0.5 * total).abs() {
            return (i as u32 + 1, sum);
        }
    }
    (lines.len() as u32 - 1, sum)
}
