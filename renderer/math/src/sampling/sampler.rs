//! Samplers: Owen-scrambled Sobol' sequences, or independent random numbers.
//!
//! A sampler is stateless. It returns four numbers at a time, as a pure function of a [`PathKey`]
//! (8 bytes: pixel and sample) and a *dimension set*, the index of a group of four dimensions. The
//! integrator increments it along the path. A point does not depend on the number of samples per
//! pixel, so that a finished image can get more samples later.
//!
//! The Sobol' sampler uses the first four dimensions of the sequence for every set, shuffled and
//! scrambled independently per pixel and set (padding; Burley 2020, *Practical Hash-based Owen
//! Scrambling*; the crate `sobol_burley`). Higher dimensions would stratify across sets, but some
//! of their 2D projections are worse than random up to a thousand samples. All 2D projections of
//! the first four are good. The sequence has 2¹⁶ samples; each further block of 2¹⁶ gets a new
//! seed.
//!
//! The independent sampler hashes the counters (pcg4d; Jarzynski & Olano 2020).
//!
//! Only integer arithmetic and exact conversions are used, so a seed gives the same bits on every
//! machine.

use super::{hash, unit_float};
use crate::{COLUMN_LEN, Columns, simd_level};
use fearless_simd::{Simd, dispatch};
use sobol_burley::parts::{self, Int4};
use std::sync::LazyLock;

/// Base-2 logarithm of the number of samples in a block, which uses one scrambled Sobol' sequence.
const BLOCK_BITS: u32 = 16;

/// The sampling algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SamplerKind {
    /// Owen-scrambled Sobol' points, stratified over the samples of a pixel.
    Sobol,
    /// Independent uniform points.
    Independent,
}

/// Generates the random numbers of an image.
#[derive(Clone, Copy, Debug)]
pub struct Sampler {
    kind: SamplerKind,
    seed: u32,
    tables: &'static SobolByteTables,
}

/// Identifies a camera path by the seed of its pixel and its sample index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathKey {
    pixel_seed: u32,
    sample_index: u32,
}

impl PathKey {
    /// Returns the key of another branch of the path, with independent random numbers. They are
    /// stratified over the samples of the pixel, too.
    #[inline(always)]
    pub fn next_branch(self) -> PathKey {
        PathKey { pixel_seed: hash(self.pixel_seed, 0x5b1f_3a71), ..self }
    }

    /// Returns a hash of the key.
    #[inline(always)]
    pub fn hash(self) -> u32 {
        hash(self.pixel_seed, self.sample_index)
    }

    /// Returns the index in the Sobol' sequence and the seed of a dimension set.
    #[inline(always)]
    fn sobol_index_and_seed(self, set: u32) -> (u32, u32) {
        let block = self.sample_index >> BLOCK_BITS;
        let block_seed = hash(self.pixel_seed, block);
        let seed = if block == 0 { self.pixel_seed } else { block_seed };
        (self.sample_index & ((1 << BLOCK_BITS) - 1), hash(seed, set.wrapping_add(0x967a_889b)))
    }
}

impl Sampler {
    /// Creates a sampler; images with different seeds are independent.
    pub fn new(kind: SamplerKind, seed: u32) -> Sampler {
        Sampler { kind, seed: hash(0x68bc_21eb, seed), tables: &SOBOL_BYTE_TABLES }
    }

    /// Returns the key of sample `index` of pixel (x, y).
    ///
    /// Pixels with coordinates below 2¹⁶ have distinct seeds: [`hash`] is a bijection on 32-bit
    /// words.
    #[inline]
    pub fn path_key(&self, x: u32, y: u32, index: u32) -> PathKey {
        PathKey {
            pixel_seed: hash(hash(0x02e5_be93, x ^ y.rotate_left(16)), self.seed),
            sample_index: index,
        }
    }

    /// Computes the four numbers of each of the keys; see [`get4`](Self::get4).
    pub fn get4_columns(&self, keys: &[PathKey; COLUMN_LEN], set: u32, out: &mut Columns<4>) {
        match self.kind {
            SamplerKind::Sobol => {
                dispatch!(simd_level(), simd => sobol_columns(simd, self.tables, keys, set, out));
            }
            SamplerKind::Independent => {
                dispatch!(simd_level(), simd => {
                    independent_columns(simd, self.seed, keys, set, out)
                });
            }
        }
    }

    /// Returns the four numbers in [0, 1) of dimension set `set`.
    #[inline]
    pub fn get4(&self, key: PathKey, set: u32) -> [f32; 4] {
        match self.kind {
            SamplerKind::Sobol => {
                let (index, seed) = key.sobol_index_and_seed(set);
                sobol(self.tables, index, seed)
            }
            SamplerKind::Independent => {
                pcg4d([key.pixel_seed, key.sample_index, set, self.seed]).map(unit_float)
            }
        }
    }
}

/// Contributions of the upper and the lower byte of a bit-reversed sample index to the first four
/// dimensions of the Sobol' sequence.
type SobolByteTables = [[[u32; 4]; 256]; 2];

static SOBOL_BYTE_TABLES: LazyLock<SobolByteTables> = LazyLock::new(|| {
    let words = |shift: u32| {
        std::array::from_fn(|byte| {
            [0, 1, 2, 3].map(|d| parts::sobol_rev((byte as u32) << shift, d))
        })
    };
    [words(24), words(16)]
});

/// Constants by which the hashes of the four dimensions differ.
const DIMENSION_HASHES: [u32; 4] = [0x912f_69ba, 0x174f_18ab, 0x691e_72ca, 0xb40c_c1b8];

/// Returns the same bits as `sobol_burley::sample_4d(index, 0, seed)`, but does one table lookup
/// per byte instead of a loop over bits. This works because the sequence is linear over GF(2).
#[inline]
fn sobol(tables: &SobolByteTables, index: u32, seed: u32) -> [f32; 4] {
    let shuffled = shuffled_index(index, seed);
    let [upper, lower] = [(shuffled >> 24) as usize, (shuffled >> 16 & 0xff) as usize];
    let point = Int4::from(tables[0][upper]) ^ Int4::from(tables[1][lower]);
    let scramble = Int4::from([scramble_seed(seed); 4]) ^ Int4::from(DIMENSION_HASHES);
    parts::owen_scramble_int4_rev(point, parts::hash_int4(scramble)).reverse_bits().to_f32_norm()
}

/// Returns the bit-reversed index after shuffling.
#[inline(always)]
fn shuffled_index(index: u32, seed: u32) -> u32 {
    parts::owen_scramble_rev(index.reverse_bits(), parts::hash(seed ^ 0x79c6_8e4a))
}

#[inline(always)]
fn scramble_seed(seed: u32) -> u32 {
    seed.wrapping_mul(0x9c8f_2d3b)
}

/// Computes [`sobol`] for each of the keys.
#[inline(always)]
fn sobol_columns<S: Simd>(
    _: S,
    tables: &SobolByteTables,
    keys: &[PathKey; COLUMN_LEN],
    set: u32,
    out: &mut Columns<4>,
) {
    let (mut seeds, mut shuffled) = ([0; COLUMN_LEN], [0; COLUMN_LEN]);
    for lane in 0..COLUMN_LEN {
        let (index, seed) = keys[lane].sobol_index_and_seed(set);
        seeds[lane] = scramble_seed(seed);
        shuffled[lane] = shuffled_index(index, seed);
    }
    let mut points = [[0; COLUMN_LEN]; 4];
    for (lane, index) in shuffled.into_iter().enumerate() {
        let upper = &tables[0][(index >> 24) as usize];
        let lower = &tables[1][(index >> 16 & 0xff) as usize];
        for (point, (upper, lower)) in points.iter_mut().zip(upper.iter().zip(lower)) {
            point[lane] = upper ^ lower;
        }
    }
    for ((column, point), dimension) in out.0.iter_mut().zip(&points).zip(DIMENSION_HASHES) {
        for lane in 0..COLUMN_LEN {
            let scramble = parts::hash(seeds[lane] ^ dimension);
            let scrambled = parts::owen_scramble_rev(point[lane], scramble);
            column[lane] = parts::u32_to_f32_norm(scrambled.reverse_bits());
        }
    }
}

/// Computes the numbers of [`SamplerKind::Independent`] for each of the keys.
#[inline(always)]
fn independent_columns<S: Simd>(
    _: S,
    seed: u32,
    keys: &[PathKey; COLUMN_LEN],
    set: u32,
    out: &mut Columns<4>,
) {
    for (lane, key) in keys.iter().enumerate() {
        out.set(lane, pcg4d([key.pixel_seed, key.sample_index, set, seed]).map(unit_float));
    }
}

/// Hashes four 32-bit words to four words (pcg4d; Jarzynski & Olano 2020, *Hash Functions for GPU
/// Rendering*).
#[inline(always)]
fn pcg4d(v: [u32; 4]) -> [u32; 4] {
    fn mix([x, y, z, w]: [u32; 4]) -> [u32; 4] {
        let x = x.wrapping_add(y.wrapping_mul(w));
        let y = y.wrapping_add(z.wrapping_mul(x));
        let z = z.wrapping_add(x.wrapping_mul(y));
        let w = w.wrapping_add(y.wrapping_mul(z));
        [x, y, z, w]
    }
    let v = mix(v.map(|a| a.wrapping_mul(1_664_525).wrapping_add(1_013_904_223)));
    mix(v.map(|a| a ^ (a >> 16)))
}

#[cfg(test)]
mod tests {
    use super::super::testing::assert_chi_square;
    use super::*;

    const KINDS: [SamplerKind; 2] = [SamplerKind::Sobol, SamplerKind::Independent];

    /// Applies a χ² test to every pair of the four dimensions on a 16 × 16 grid.
    fn assert_uniform(points: impl Iterator<Item = [f32; 4]> + Clone, label: &str) {
        let n = points.clone().count();
        for (a, b) in [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)] {
            let mut counts = [0; 256];
            for p in points.clone() {
                assert!(p.iter().all(|u| (0.0..1.0).contains(u)), "{p:?}");
                counts[(p[a] * 16.0) as usize * 16 + (p[b] * 16.0) as usize] += 1;
            }
            assert_chi_square(
                &counts,
                &[n as f64 / 256.0; 256],
                &format!("{label}, dimensions {a} and {b}"),
            );
        }
    }

    #[test]
    fn bytewise_sobol_matches_sobol_burley() {
        let mut seed = 1;
        for index in (0..1 << BLOCK_BITS).step_by(7).chain([(1 << BLOCK_BITS) - 1]) {
            seed = hash(seed, index);
            assert_eq!(
                sobol(&SOBOL_BYTE_TABLES, index, seed),
                sobol_burley::sample_4d(index, 0, seed),
                "{index} {seed}"
            );
        }
    }

    #[test]
    fn numbers_of_columns_are_those_of_single_keys() {
        for kind in KINDS {
            let s = Sampler::new(kind, 9);
            for (k, set) in (0..40).zip([0, 1, 2, 70].into_iter().cycle()) {
                let index = |lane: u32| (lane + 16 * k) * if k % 2 == 0 { 1 } else { 0x1_0007 };
                let keys =
                    std::array::from_fn(|lane| s.path_key(lane as u32 % 3, k, index(lane as u32)));
                let mut columns = Columns::ZERO;
                s.get4_columns(&keys, set, &mut columns);
                for (lane, key) in keys.into_iter().enumerate() {
                    assert_eq!(columns.get::<[f32; 4]>(lane), s.get4(key, set), "{kind:?}");
                }
            }
        }
    }

    #[test]
    fn points_are_uniform_within_a_pixel_and_across_pixels() {
        for kind in KINDS {
            let s = Sampler::new(kind, 1);
            for set in [0, 3, 63, 64, 1000] {
                assert_uniform(
                    (0..4096).map(|i| s.get4(s.path_key(5, 9, i), set)),
                    &format!("{kind:?}, samples, set {set}"),
                );
                let pixels = (0..16384).map(|i| s.get4(s.path_key(i % 128, i / 128, 0), set));
                assert_uniform(pixels, &format!("{kind:?}, pixels, set {set}"));
                let seeds = (0..16384)
                    .map(|i| Sampler::new(kind, i))
                    .map(|s| s.get4(s.path_key(3, 4, 7), set));
                assert_uniform(seeds, &format!("{kind:?}, seeds, set {set}"));
            }
        }
    }

    #[test]
    fn neighbours_are_uncorrelated() {
        for kind in KINDS {
            let s = Sampler::new(kind, 5);
            let value = |x, y, i, set| f64::from(s.get4(s.path_key(x, y, i), set)[0]) - 0.5;
            let n = 10_000;
            for (dx, dy, di, ds) in
                [(1, 0, 0, 0), (0, 1, 0, 0), (1, 1, 0, 0), (0, 0, 0, 64), (0, 0, 1 << 16, 0)]
            {
                let sum: f64 = (0..n)
                    .map(|i| (i % 100, i / 100))
                    .map(|(x, y)| value(x, y, 3, 1) * value(x + dx, y + dy, 3 + di, 1 + ds))
                    .sum();
                // The product has standard deviation 1/12.
                let z = sum * 12.0 / f64::from(n).sqrt();
                assert!(
                    z.abs() < 4.5,
                    "{kind:?} shift {dx} {dy} {di} {ds}: {z} standard deviations"
                );
            }
        }
    }

    #[test]
    fn pixels_have_distinct_seeds() {
        let s = Sampler::new(SamplerKind::Sobol, 3);
        let mut seeds: Vec<u32> =
            (0..1 << 16).map(|i| s.path_key(i % 256, i / 256, 0).pixel_seed).collect();
        seeds.sort_unstable();
        seeds.dedup();
        assert_eq!(seeds.len(), 1 << 16);
    }

    #[test]
    fn sobol_is_stratified() {
        let s = Sampler::new(SamplerKind::Sobol, 11);
        for k in [4, 6, 8] {
            let n = 1 << k;
            for (x, set, first) in
                [(0, 0, 0), (17, 0, 0), (17, 5, 0), (17, 63, 0), (17, 64, 0), (17, 0, 1 << 16)]
            {
                let points: Vec<_> =
                    (0..n).map(|i| s.get4(s.path_key(x, 2, first + i), set)).collect();
                // Each dimension has one point in each of n intervals.
                for d in 0..4 {
                    let mut hit = vec![false; n as usize];
                    for p in &points {
                        assert!(
                            !std::mem::replace(&mut hit[(p[d] * n as f32) as usize], true),
                            "dimension {d} of set {set}"
                        );
                    }
                }
                // The first two dimensions of the sequence are a (0, m, 2)-net: one point in every
                // elementary interval.
                for j in 0..=k {
                    let (w, h) = (1 << j, n >> j);
                    let mut hit = vec![false; n as usize];
                    for p in &points {
                        let cell = (p[0] * w as f32) as u32 + w * (p[1] * h as f32) as u32;
                        assert!(
                            !std::mem::replace(&mut hit[cell as usize], true),
                            "elementary interval {cell} of {w} × {h}"
                        );
                    }
                }
            }
        }
    }

    /// Returns the root mean square error, over pixels, of estimates of the integral of a smooth
    /// function of four variables.
    fn rms_error(kind: SamplerKind, set: u32, n: u32) -> f64 {
        let s = Sampler::new(kind, 2);
        let exact = (1.0 - (-1f64).exp()).powi(4);
        let pixels = 64;
        let squares: f64 = (0..pixels)
            .map(|x| {
                let f = |i| {
                    s.get4(s.path_key(x, 0, i), set)
                        .iter()
                        .map(|&u| f64::from(-u).exp())
                        .product::<f64>()
                };
                ((0..n).map(f).sum::<f64>() / f64::from(n) - exact).powi(2)
            })
            .sum();
        (squares / f64::from(pixels)).sqrt()
    }

    #[test]
    fn sobol_converges_faster_than_independent() {
        // With 64 times as many samples, an error of order N^-1/2 falls by a factor of 8, an error
        // of order N^-1 by a factor of 64.
        for set in [0, 2] {
            let gain =
                rms_error(SamplerKind::Sobol, set, 16) / rms_error(SamplerKind::Sobol, set, 1024);
            assert!(gain > 25.0, "set {set}: gain {gain}");
        }
        let gain = rms_error(SamplerKind::Independent, 0, 16)
            / rms_error(SamplerKind::Independent, 0, 1024);
        assert!((6.0..10.6).contains(&gain), "gain {gain}");
    }

    #[test]
    fn blocks_after_the_first_differ_and_are_uniform() {
        let s = Sampler::new(SamplerKind::Sobol, 4);
        for first in [1 << 16, 3 << 16, u32::MAX - 4095] {
            assert_ne!(s.get4(s.path_key(1, 1, 12), 0), s.get4(s.path_key(1, 1, first + 12), 0));
            assert_uniform(
                (0..4096).map(|i| s.get4(s.path_key(1, 1, first + i), 0)),
                &format!("block at {first}"),
            );
        }
    }

    #[test]
    fn samples_match_golden_values() {
        let bits = [
            [0x3c79_5c00, 0x3f20_fa7c, 0x3f6b_cb78, 0x3f75_fb3e],
            [0x3f3f_db53, 0x3f62_9c78, 0x3f06_25ce, 0x3f5b_929e],
        ];
        for (kind, expected) in KINDS.into_iter().zip(bits) {
            let s = Sampler::new(kind, 42);
            assert_eq!(
                s.get4(s.path_key(640, 360, 100_000), 70).map(f32::to_bits),
                expected,
                "{kind:?}"
            );
        }
    }
}
