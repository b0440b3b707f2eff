//! Means of an environment image over patches of every size, for estimates of the light from a cone
//! of directions.
//!
//! A level has twice as many texels along a side as the one above it, up to those of the image, in
//! the same octahedral layout. A texel holds the mean luminance about it, by a small tent that
//! reaches into its neighbours, over the edges of the square as well: so what is near is never
//! missed, and the mean changes little where a patch moves by part of a texel. With it goes whether
//! the image is nearly constant there (after the min–max trees of Rousselle et al. 2008, *Efficient
//! Product Sampling using Hierarchical Thresholding*), so that nobody looks further. All of this is
//! for estimates: densities stay exact whatever they are made of, as long as the same is asked
//! twice.

use super::octahedral::square_of;
use super::weight;
use crate::math::direction_box::{LANES, Lanes, greater};
use crate::math::{Transform, Vec3};

/// The finest level there may be: 2048 texels along a side, 22 MB.
const FINEST: u32 = 11;

/// A patch is nearly constant if its greatest texel is so many times its least at most.
const FLAT: f32 = 1.5;

/// Weight of a texel itself along an axis, where that of each neighbour is 1.
const TENT: f32 = 4.0;

/// The pyramid of an image.
#[derive(Clone, Debug)]
pub struct SkyPyramid {
    finest: u32,
    /// Means, levels one after another from the coarsest, row by row; negative (−0, too) where the
    /// image is nearly constant.
    means: Vec<f32>,
    light_from_world: Transform,
}

impl SkyPyramid {
    /// Of `size`² texels, row by row, that are seen through a map; of brighter ones than `most`,
    /// that counts.
    pub(super) fn new(
        texels: &[Vec3],
        size: usize,
        light_from_world: &Transform,
        most: f32,
    ) -> SkyPyramid {
        let finest = size.ilog2().min(FINEST);
        let mut levels = vec![Level::base(texels, size, 1 << finest, most)];
        for _ in 0..finest {
            levels.push(levels[levels.len() - 1].halved());
        }
        let means = levels.iter().rev().flat_map(Level::smoothed).collect();
        SkyPyramid { finest, means, light_from_world: *light_from_world }
    }

    /// Vectors of the world in the space of the image.
    pub fn directions(&self, of: [Vec3; 3]) -> [Vec3; 3] {
        of.map(|vector| self.light_from_world.vector(vector))
    }

    /// Mean luminance of patches, about, as a part of the most that counts: by direction in the
    /// image, of any length, and by how many patches of that size all directions are made of. It is
    /// negative (−0, too) where there is nothing to be gained from smaller patches.
    #[inline]
    pub fn look(&self, [x, y, z]: &[Lanes; 3], counts: &Lanes) -> Lanes {
        let (u, v) = square_of(x, y, z);
        let (mut index, mut is_small) = ([0; LANES], [0; LANES]);
        let (finest, small) = (self.finest as i32, (self.finest + BEYOND) as i32);
        for lane in 0..LANES {
            // A texel is an eighth of a patch, or less; its level is half of the exponent of the
            // count of texels.
            let wanted = (((counts[lane].to_bits() >> 23) as i32 - 123) >> 1).max(0);
            let level = wanted.clamp(0, finest);
            is_small[lane] = if wanted > small { SIGN } else { 0 };
            let side = f32::from_bits(((127 + level) as u32) << 23);
            // All of it is below 2²³, in exact floats.
            let column = whole(u[lane] * side).min(side - 1.0);
            let row = whole(v[lane] * side).min(side - 1.0);
            // Levels before have (4ˡ − 1)/3 texels, every second digit of which is 1.
            let before = (side * side - 1.0) as i32 & 0x5555_5555;
            index[lane] = before + (row * side + column) as i32;
        }
        let mut means = [0.0; LANES];
        for lane in 0..LANES {
            let mean = self.means[index[lane] as usize];
            means[lane] = f32::from_bits(mean.to_bits() | is_small[lane]);
        }
        means
    }
}

/// The sign of a float.
const SIGN: u32 = 1 << 31;

/// A number from 0 to 2²² as a whole one, next to it from below or, of whole ones, maybe the one
/// before.
#[inline(always)]
fn whole(x: f32) -> f32 {
    const STEP: f32 = (1 << 23) as f32;
    greater((x - 0.5) + STEP - STEP, 0.0)
}

/// Patches that are so many levels finer than the image are not cut further.
const BEYOND: u32 = 2;

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
            (
                count + 1,
                Texel {
                    mean: a.mean + b.mean,
                    least: a.least.min(b.least),
                    most: a.most.max(b.most),
                },
            )
        });
        Texel { mean: sum.mean / count as f32, ..sum }
    }
}

impl Level {
    /// From texels with their middles in each, of which there is one at least.
    fn base(texels: &[Vec3], size: usize, side: usize, most: f32) -> Level {
        // The first whose middle is not before the edge.
        let first = |k: usize| (2 * k * size).div_ceil(side).saturating_sub(1).div_ceil(2);
        let part = |i: usize| {
            let (x, y) = (i % side, i / side);
            let rows = first(y)..first(y + 1);
            let all = rows
                .flat_map(|row| (first(x)..first(x + 1)).map(move |column| row * size + column));
            Texel::of(all.map(|i| (weight(texels[i]) / most).min(1.0)).map(|mean| Texel {
                mean,
                least: mean,
                most: mean,
            }))
        };
        Level { side, texels: (0..side * side).map(part).collect() }
    }

    fn halved(&self) -> Level {
        let side = self.side / 2;
        let part = |i: usize| {
            let (x, y) = (2 * (i % side), 2 * (i / side));
            Texel::of(
                [(0, 0), (1, 0), (0, 1), (1, 1)]
                    .into_iter()
                    .map(|(dx, dy)| self.texels[(y + dy) * self.side + x + dx]),
            )
        };
        Level { side, texels: (0..side * side).map(part).collect() }
    }

    /// Means with those about them, which are negative where all of these are nearly the same.
    fn smoothed(&self) -> impl Iterator<Item = f32> {
        let near = [(-1, 1.0), (0, TENT), (1, 1.0)];
        (0..self.texels.len()).map(move |i| {
            let (x, y) = ((i % self.side) as isize, (i / self.side) as isize);
            let (mut sum, mut least, mut most) = (0.0, f32::INFINITY, 0f32);
            for ((dx, a), (dy, b)) in
                near.into_iter().flat_map(|column| near.map(|row| (column, row)))
            {
                let texel = &self.texels[self.wrapped(x + dx, y + dy)];
                sum += a * b * texel.mean;
                (least, most) = (least.min(texel.least), most.max(texel.most));
            }
            let mean = sum / ((TENT + 2.0) * (TENT + 2.0));
            if most <= FLAT * least { -mean } else { mean }
        })
    }

    /// The texel of a column and row, of which either may be one step over an edge: edges are
    /// folded, each onto itself.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::light::{Environment, square_to_sphere};
    use crate::math::{Vec2, vec2};

    /// Pyramid of an image by columns and rows.
    fn pyramid(size: usize, texel: impl Fn(usize, usize) -> f32) -> SkyPyramid {
        let texels: Vec<Vec3> =
            (0..size * size).map(|i| Vec3::splat(texel(i % size, i / size))).collect();
        Environment::image(&texels, size, &Transform::IDENTITY, 1.0)
            .unwrap()
            .pyramid(1.0)
            .expect("it is bright")
    }

    /// What is found at a place by patches of which so many are the sphere.
    fn look(pyramid: &SkyPyramid, p: Vec2, count: f32) -> f32 {
        let d = square_to_sphere(p) * 3.0;
        let means = pyramid.look(&[[d.x; LANES], [d.y; LANES], [d.z; LANES]], &[count; LANES]);
        assert_eq!(means, [means[0]; LANES]);
        means[0]
    }

    /// The middle of a texel.
    fn middle(x: usize, y: usize, size: usize) -> Vec2 {
        vec2(x as f32 + 0.5, y as f32 + 0.5) / size as f32
    }

    #[test]
    fn constant_skies_are_plain() {
        for size in [1, 2, 3, 16, 100] {
            let pyramid = pyramid(size, |_, _| 1.0);
            for count in [0.0, 0.1, 1.0, 5.0, 1e3, 1e6, 1e30] {
                for p in [vec2(0.1, 0.2), vec2(0.5, 0.5), vec2(0.999, 0.001)] {
                    assert!((look(&pyramid, p, count) + 1.0).abs() < 1e-6, "{size} {count}");
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
    fn a_bright_texel_is_never_missed() {
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
            let p = middle(at.0, at.1, size);
            let mut last = 0.0;
            for level in 1..=pyramid.finest {
                let mean = look(&pyramid, p, 0.13 * 4f32.powi(level as i32));
                assert!(
                    mean.is_sign_positive() && mean >= last,
                    "{size} {at:?} {level}: {mean}, {last}"
                );
                // A part of what its share of the texel would be.
                let share = (1 << level) as f32 / size as f32;
                assert!(mean > 0.08 * share * share, "{size} {at:?} {level}: {mean}, {share}");
                last = mean;
            }
        }
    }

    #[test]
    fn small_patches_are_plain_and_edges_are_not() {
        let pyramid = pyramid(64, |x, _| if x < 32 { 0.5 } else { 1.0 });
        for (x, is_plain) in [(10, true), (31, false), (32, false), (50, true)] {
            assert_eq!(look(&pyramid, middle(x, 20, 64), 600.0) < 0.0, is_plain, "{x}");
        }
        // In an eighth of a texel there is no more to see.
        assert!(look(&pyramid, middle(31, 20, 64), 8.0 * 4096.0) < 0.0);
    }

    #[test]
    fn neighbours_are_over_the_edges() {
        // Those over the left edge are mirrored along it.
        let pyramid = pyramid(32, |x, y| if (x, y) == (0, 5) { 1.0 } else { 0.0 });
        for (at, is_near) in
            [((0, 26), true), ((0, 27), true), ((0, 24), false), ((31, 5), false), ((1, 6), true)]
        {
            assert_eq!(look(&pyramid, middle(at.0, at.1, 32), 150.0) > 0.0, is_near, "{at:?}");
        }
    }

    #[test]
    fn means_are_of_the_whole_image() {
        for size in [8, 11, 100] {
            let texel = |x: usize, y: usize| (1 + (x * 7 + y * 5) % 9) as f32 / 9.0;
            let pyramid = pyramid(size, texel);
            let mean = (0..size * size).map(|i| texel(i % size, i / size)).sum::<f32>()
                / (size * size) as f32;
            let coarse = look(&pyramid, vec2(0.5, 0.5), 0.0).abs();
            assert!((coarse - mean).abs() < 0.1 * mean, "{coarse}, {mean}");
        }
    }
}
