//! Means of an environment image over patches of every size, for estimates of the light from a cone of directions.
//!
//! A level has twice as many texels along a side as the one above it, up to those of the image, in the same octahedral layout. A texel holds the mean
//! luminance about it, by a small tent that reaches into its neighbours, over the edges of the square as well: so what is near is never missed, and
//! the mean changes little where a patch moves by part of a texel. With it goes whether the image is nearly constant there (after the min–max trees of Rousselle et
//! al. 2008, *Efficient Product Sampling using Hierarchical Thresholding*), so that nobody looks further. All of this is for estimates:
//! densities stay exact whatever they are made of, as long as the same is asked twice.

use super::octahedral::square_of;
use super::weight;
use crate::math::direction_box::{LANES, Lanes};
use crate::math::{Transform, Vec3};

/// The finest level there may be: 2048 texels along a side, 22 MB.
const FINEST: u32 = 11;

/// A patch is nearly constant if its greatest texel is so many times its least at most.
const FLAT: f32 = 1.25;

/// Weight of a texel itself along an axis, where that of each neighbour is 1.
const TENT: f32 = 2.0;

/// The pyramid of an image.
#[derive(Clone, Debug)]
pub struct SkyPyramid {
    finest: u32,
    /// Means, levels one after another from the coarsest, row by row; negative (−0, too) where the image is nearly constant.
    means: Vec<f32>,
    light_from_world: Transform,
}

/// Light from patches of the sky.
#[derive(Clone, Copy, Debug)]
pub struct Patches {
    /// Mean luminance, about.
    pub mean: Lanes,
    /// Whether there is nothing to be gained from smaller patches, one bit for each.
    pub plain: u8,
}

impl SkyPyramid {
    /// Of `size`² texels, row by row, that are seen through a map.
    pub(super) fn new(texels: &[Vec3], size: usize, light_from_world: &Transform) -> SkyPyramid {
        let finest = size.ilog2().min(FINEST);
        let mut levels = vec![Level::base(texels, size, 1 << finest)];
        for _ in 0..finest {
            levels.push(levels[levels.len() - 1].halved());
        }
        let means = levels.iter().rev().flat_map(Level::smoothed).collect();
        SkyPyramid { finest, means, light_from_world: *light_from_world }
    }

    /// Axes of a frame in the world, as directions of the image.
    pub fn frame(&self, axes: [Vec3; 3]) -> [Vec3; 3] {
        axes.map(|axis| self.light_from_world.vector(axis))
    }

    /// Light from patches: by direction in the image, of any length, and by how many patches of that size all directions are made of.
    #[inline]
    pub fn look(&self, [x, y, z]: &[Lanes; 3], counts: &Lanes) -> Patches {
        let (u, v) = square_of(x, y, z);
        let (mut mean, mut plain) = ([0.0; LANES], 0);
        for lane in 0..LANES {
            // A texel is a quarter of a patch, or less.
            let level = (counts[lane].to_bits() >> 23).saturating_sub(126) / 2 + 1;
            let (side, scale) = (level.min(self.finest), (1u32 << level.min(self.finest)) as f32);
            let cell = |x: f32| ((x * scale) as u32).min((1 << side) - 1) as usize;
            let texel = self.means[(((1 << (2 * side)) - 1) / 3) + (cell(v[lane]) << side) + cell(u[lane])];
            mean[lane] = texel.abs();
            plain |= u8::from(texel.is_sign_negative() || level > self.finest + BEYOND) << lane;
        }
        Patches { mean, plain }
    }
}

/// Patches that are so many levels finer than the image are not cut further.
const BEYOND: u32 = 1;

/// A level in the making.
struct Level {
    side: usize,
    texels: Vec<Texel>,
}

/// What is known of a part of the image.
#[derive(Clone, Copy)]
struct Texel {
    mean: f32,
    least: f32,
    most: f32,
}

impl Texel {
    fn of(values: impl Iterator<Item = Texel>) -> Texel {
        let none = Texel { mean: 0.0, least: f32::INFINITY, most: 0.0 };
        let (count, sum) = values.fold((0, none), |(count, a), b| {
            (count + 1, Texel { mean: a.mean + b.mean, least: a.least.min(b.least), most: a.most.max(b.most) })
        });
        Texel { mean: sum.mean / count as f32, ..sum }
    }
}

impl Level {
    /// From texels with their middles in each, of which there is one at least.
    fn base(texels: &[Vec3], size: usize, side: usize) -> Level {
        // The first whose middle is not before the edge.
        let first = |k: usize| (2 * k * size).div_ceil(side).saturating_sub(1).div_ceil(2);
        let part = |i: usize| {
            let (x, y) = (i % side, i / side);
            let rows = first(y)..first(y + 1);
            let all = rows.flat_map(|row| (first(x)..first(x + 1)).map(move |column| row * size + column));
            Texel::of(all.map(|i| weight(texels[i])).map(|mean| Texel { mean, least: mean, most: mean }))
        };
        Level { side, texels: (0..side * side).map(part).collect() }
    }

    fn halved(&self) -> Level {
        let side = self.side / 2;
        let part = |i: usize| {
            let (x, y) = (2 * (i % side), 2 * (i / side));
            Texel::of([(0, 0), (1, 0), (0, 1), (1, 1)].into_iter().map(|(dx, dy)| self.texels[(y + dy) * self.side + x + dx]))
        };
        Level { side, texels: (0..side * side).map(part).collect() }
    }

    /// Means with those about them, which are negative where all of these are nearly the same.
    fn smoothed(&self) -> impl Iterator<Item = f32> {
        let near = [(-1, 1.0), (0, TENT), (1, 1.0)];
        (0..self.texels.len()).map(move |i| {
            let (x, y) = ((i % self.side) as isize, (i / self.side) as isize);
            let (mut sum, mut least, mut most) = (0.0, f32::INFINITY, 0f32);
            for ((dx, a), (dy, b)) in near.into_iter().flat_map(|column| near.map(|row| (column, row))) {
                let texel = &self.texels[self.wrapped(x + dx, y + dy)];
                sum += a * b * texel.mean;
                (least, most) = (least.min(texel.least), most.max(texel.most));
            }
            let mean = sum / ((TENT + 2.0) * (TENT + 2.0));
            if most <= FLAT * least { -mean } else { mean }
        })
    }

    /// The texel of a column and row, of which either may be one step over an edge: edges are folded, each onto itself.
    fn wrapped(&self, x: isize, y: isize) -> usize {
        let (mut x, mut y, last) = (x, y, self.side as isize - 1);
        if x < 0 || x > last {
            (x, y) = (x.clamp(0, last), last - y);
        }
        if y < 0 || y > last {
            (x, y) = (last - x, y.clamp(0, last));
        }
        y as usize * self.side + x as usize
    }
}
