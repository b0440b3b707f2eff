//! A pyramid of mean luminances of an environment map, to estimate the light from a cone of
//! directions.
//!
//! Each level has twice as many texels along a side as the next coarser level, up to the resolution
//! of the image, in the same octahedral layout. A texel stores the mean luminance of its
//! neighbourhood, weighted by a small tent filter that wraps across the edges of the square. So
//! nearby light is never missed, and the mean changes little if a patch moves by a fraction of a
//! texel. The texel also records whether the image is nearly constant there (after the min–max
//! trees of Rousselle et al. 2008, *Efficient Product Sampling using Hierarchical Thresholding*);
//! finer lookups are then unnecessary. Lookups are only estimates: sampling densities are exact for
//! any deterministic estimate.

use super::abs_luminance;
use super::environment::EnvironmentTexel;
use super::octahedral::sphere_to_square_lanes;
use lightbound_math::direction_box::{LANES, Lanes, greater};
use lightbound_math::{Transform, Vec3};

/// Maximum level: 2048 texels along a side. Such a pyramid takes 22 MB.
const MAX_LEVEL: u32 = 11;

/// Maximum ratio of the greatest to the smallest texel of a nearly constant patch.
const CONSTANT_RATIO: f32 = 1.5;

/// Weight of the central texel of the tent filter along an axis; neighbours have weight 1.
const CENTER_WEIGHT: f32 = 4.0;

/// The pyramid of an environment map.
#[derive(Clone, Debug)]
pub struct EnvironmentPyramid {
    /// Finest level; level l has 2ˡ texels along a side.
    finest: u32,
    /// Mean luminances, from the coarsest level to the finest, row by row. A set sign bit (also of
    /// −0) marks a nearly constant neighbourhood.
    means: Vec<f32>,
    light_from_render: Transform,
}

impl EnvironmentPyramid {
    /// Builds the pyramid of an image of `size`² texels, row by row. Luminance is clamped to
    /// `max_luminance`, and stored as a fraction of it.
    pub(super) fn new(
        texels: &[EnvironmentTexel],
        size: usize,
        light_from_render: &Transform,
        max_luminance: f32,
    ) -> EnvironmentPyramid {
        let finest = size.ilog2().min(MAX_LEVEL);
        let mut levels = vec![Level::base(texels, size, 1 << finest, max_luminance)];
        for _ in 0..finest {
            levels.push(levels[levels.len() - 1].coarser());
        }
        let means = levels.iter().rev().flat_map(Level::filtered_means).collect();
        EnvironmentPyramid { finest, means, light_from_render: *light_from_render }
    }

    /// Transforms vectors to the space of the image.
    pub fn directions(&self, vectors: [Vec3; 3]) -> [Vec3; 3] {
        vectors.map(|vector| self.light_from_render.vector(vector))
    }

    /// Returns the approximate mean luminance of patches, as a fraction of the maximum luminance.
    /// Each patch is given by its direction in the space of the image, of any length, and by the
    /// number of patches of its size that cover the sphere (`counts`). The sign bit is set (also
    /// for −0) if smaller patches would not be more accurate.
    #[inline]
    pub fn lookup(&self, [x, y, z]: &[Lanes; 3], counts: &Lanes) -> Lanes {
        let (u, v) = sphere_to_square_lanes(x, y, z);
        let (mut index, mut fine_sign) = ([0; LANES], [0; LANES]);
        let (finest, max_level) = (self.finest as i32, (self.finest + EXTRA_LEVELS) as i32);
        for lane in 0..LANES {
            // The level is half the exponent of 16 · count, rounded down, so that a texel is at
            // most an eighth of a patch if `count` is a power of two.
            let unclamped_level = (((counts[lane].to_bits() >> 23) as i32 - 123) >> 1).max(0);
            let level = unclamped_level.clamp(0, finest);
            fine_sign[lane] = if unclamped_level > max_level { SIGN_BIT } else { 0 };
            let side = f32::from_bits(((127 + level) as u32) << 23);
            // All values are integers below 2²³, which are exact in floats.
            let column = floor_float(u[lane] * side).min(side - 1.0);
            let row = floor_float(v[lane] * side).min(side - 1.0);
            // The number of texels of all coarser levels is (4ˡ − 1)/3, with every second bit set.
            let before = (side * side - 1.0) as i32 & 0x5555_5555;
            index[lane] = before + (row * side + column) as i32;
        }
        let mut means = [0.0; LANES];
        for lane in 0..LANES {
            let mean = self.means[index[lane] as usize];
            means[lane] = f32::from_bits(mean.to_bits() | fine_sign[lane]);
        }
        means
    }
}

/// Sign bit of a float.
const SIGN_BIT: u32 = 1 << 31;

/// Rounds a number in [0, 2²²] down to an integer. An integer may yield its predecessor.
#[inline(always)]
fn floor_float(x: f32) -> f32 {
    const STEP: f32 = (1 << 23) as f32;
    greater((x - 0.5) + STEP - STEP, 0.0)
}

/// Patches more than this many levels finer than the image need no further refinement.
const EXTRA_LEVELS: u32 = 2;

/// A level of the pyramid under construction.
struct Level {
    side: usize,
    texels: Vec<Texel>,
}

/// Mean and range of a region of the image.
#[derive(Clone, Copy)]
struct Texel {
    mean: f32,
    min: f32,
    max: f32,
}

impl Texel {
    /// Merges regions of equal size.
    fn merge(values: impl Iterator<Item = Texel>) -> Texel {
        let empty = Texel { mean: 0.0, min: f32::INFINITY, max: 0.0 };
        let (count, sum) = values.fold((0, empty), |(count, a), b| {
            (
                count + 1,
                Texel { mean: a.mean + b.mean, min: a.min.min(b.min), max: a.max.max(b.max) },
            )
        });
        Texel { mean: sum.mean / count as f32, ..sum }
    }
}

impl Level {
    /// Creates the finest level. A texel merges all image texels with their centre in it; there is
    /// always one.
    fn base(texels: &[EnvironmentTexel], size: usize, side: usize, max_luminance: f32) -> Level {
        // The first image texel with its centre not before the edge of texel `k`.
        let first = |k: usize| (2 * k * size).div_ceil(side).saturating_sub(1).div_ceil(2);
        let texel = |i: usize| {
            let (x, y) = (i % side, i / side);
            let rows = first(y)..first(y + 1);
            let indices = rows
                .flat_map(|row| (first(x)..first(x + 1)).map(move |column| row * size + column));
            Texel::merge(
                indices
                    .map(|i| (abs_luminance(texels[i].radiance) / max_luminance).min(1.0))
                    .map(|mean| Texel { mean, min: mean, max: mean }),
            )
        };
        Level { side, texels: (0..side * side).map(texel).collect() }
    }

    /// Returns the next coarser level, with half as many texels along a side.
    fn coarser(&self) -> Level {
        let side = self.side / 2;
        let texel = |i: usize| {
            let (x, y) = (2 * (i % side), 2 * (i / side));
            Texel::merge(
                [(0, 0), (1, 0), (0, 1), (1, 1)]
                    .into_iter()
                    .map(|(dx, dy)| self.texels[(y + dy) * self.side + x + dx]),
            )
        };
        Level { side, texels: (0..side * side).map(texel).collect() }
    }

    /// Returns the filtered means, negative if the neighbourhood is nearly constant.
    fn filtered_means(&self) -> impl Iterator<Item = f32> {
        let taps = [(-1, 1.0), (0, CENTER_WEIGHT), (1, 1.0)];
        (0..self.texels.len()).map(move |i| {
            let (x, y) = ((i % self.side) as isize, (i / self.side) as isize);
            let (mut sum, mut min, mut max) = (0.0, f32::INFINITY, 0f32);
            for ((dx, a), (dy, b)) in
                taps.into_iter().flat_map(|column| taps.map(|row| (column, row)))
            {
                let texel = &self.texels[self.wrapped_index(x + dx, y + dy)];
                sum += a * b * texel.mean;
                (min, max) = (min.min(texel.min), max.max(texel.max));
            }
            let mean = sum / ((CENTER_WEIGHT + 2.0) * (CENTER_WEIGHT + 2.0));
            if max <= CONSTANT_RATIO * min { -mean } else { mean }
        })
    }

    /// Returns the index of a texel. Column and row may be one step beyond an edge of the square:
    /// the octahedral map folds each edge onto itself.
    fn wrapped_index(&self, x: isize, y: isize) -> usize {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::light::{Environment, square_to_sphere};
    use lightbound_math::{Vec2, vec2};

    /// Builds the pyramid of an image, with texels as a function of column and row.
    fn pyramid(size: usize, texel: impl Fn(usize, usize) -> f32) -> EnvironmentPyramid {
        let texels: Vec<Vec3> =
            (0..size * size).map(|i| Vec3::splat(texel(i % size, i / size))).collect();
        Environment::image(&texels, size, &Transform::IDENTITY, 1.0)
            .unwrap()
            .pyramid(1.0)
            .expect("the image is not black")
    }

    /// Looks up the mean at a position, for a patch size at which `count` patches cover the sphere.
    fn lookup(pyramid: &EnvironmentPyramid, p: Vec2, count: f32) -> f32 {
        let d = square_to_sphere(p) * 3.0;
        let means = pyramid.lookup(&[[d.x; LANES], [d.y; LANES], [d.z; LANES]], &[count; LANES]);
        assert_eq!(means, [means[0]; LANES]);
        means[0]
    }

    /// Returns the centre of a texel.
    fn texel_center(x: usize, y: usize, size: usize) -> Vec2 {
        vec2(x as f32 + 0.5, y as f32 + 0.5) / size as f32
    }

    #[test]
    fn constant_environments_are_marked_constant() {
        for size in [1, 2, 3, 16, 100] {
            let pyramid = pyramid(size, |_, _| 1.0);
            for count in [0.0, 0.1, 1.0, 5.0, 1e3, 1e6, 1e30] {
                for p in [vec2(0.1, 0.2), vec2(0.5, 0.5), vec2(0.999, 0.001)] {
                    assert!((lookup(&pyramid, p, count) + 1.0).abs() < 1e-6, "{size} {count}");
                }
            }
        }
        assert!(Environment::constant(Vec3::ONE).pyramid(1.0).is_none());
        assert!(
            Environment::image(&[Vec3::ZERO; 4], 2, &Transform::IDENTITY, 1.0)
                .unwrap()
                .pyramid(1.0)
                .is_none()
        );
    }

    #[test]
    fn lookup_finds_a_single_bright_texel_at_every_level() {
        for (size, at) in [
            (16, (3, 9)),
            (64, (0, 0)),
            (64, (63, 20)),
            (37, (36, 36)),
            (100, (50, 0)),
            (3, (2, 1)),
            (2500, (7, 2499)),
        ] {
            let pyramid = pyramid(size, |x, y| if (x, y) == at { 1.0 } else { 0.0 });
            let p = texel_center(at.0, at.1, size);
            let mut last = 0.0;
            for level in 1..=pyramid.finest {
                let mean = lookup(&pyramid, p, 0.13 * 4f32.powi(level as i32));
                assert!(
                    mean.is_sign_positive() && mean >= last,
                    "{size} {at:?} {level}: {mean}, {last}"
                );
                // At least a fraction of the unfiltered mean.
                let scale = (1 << level) as f32 / size as f32;
                assert!(mean > 0.08 * scale * scale, "{size} {at:?} {level}: {mean}, {scale}");
                last = mean;
            }
        }
    }

    #[test]
    fn patches_are_constant_except_at_edges_in_the_image() {
        let pyramid = pyramid(64, |x, _| if x < 32 { 0.5 } else { 1.0 });
        for (x, is_constant) in [(10, true), (31, false), (32, false), (50, true)] {
            assert_eq!(lookup(&pyramid, texel_center(x, 20, 64), 600.0) < 0.0, is_constant, "{x}");
        }
        // Patches of an eighth of a texel need no further refinement.
        assert!(lookup(&pyramid, texel_center(31, 20, 64), 8.0 * 4096.0) < 0.0);
    }

    #[test]
    fn neighbours_wrap_across_edges() {
        // Neighbours across the left edge are mirrored along it.
        let pyramid = pyramid(32, |x, y| if (x, y) == (0, 5) { 1.0 } else { 0.0 });
        for (at, is_near) in
            [((0, 26), true), ((0, 27), true), ((0, 24), false), ((31, 5), false), ((1, 6), true)]
        {
            assert_eq!(
                lookup(&pyramid, texel_center(at.0, at.1, 32), 150.0) > 0.0,
                is_near,
                "{at:?}"
            );
        }
    }

    #[test]
    fn coarsest_mean_is_the_mean_of_the_image() {
        for size in [8, 11, 100] {
            let texel = |x: usize, y: usize| (1 + (x * 7 + y * 5) % 9) as f32 / 9.0;
            let pyramid = pyramid(size, texel);
            let mean = (0..size * size).map(|i| texel(i % size, i / size)).sum::<f32>()
                / (size * size) as f32;
            let coarse = lookup(&pyramid, vec2(0.5, 0.5), 0.0).abs();
            assert!((coarse - mean).abs() < 0.1 * mean, "{coarse}, {mean}");
        }
    }
}
