//! Random inputs for tests and for the long runs of `benches`.

use super::function::Port;
use super::types::Type;

/// A small generator of random numbers (SplitMix64: Steele et al. 2014), the same on all machines.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Starts from a seed.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        (self.bits() % n as u64) as usize
    }

    /// True once in `n` times.
    pub fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// One of several.
    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }
}

/// Floats where something changes: zeros, denormals, neighbours of 1, ends of ranges, what is not finite.
const FLOATS: &[f32] = &[
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    1.5,
    2.5,
    2.0,
    -2.0,
    std::f32::consts::PI,
    std::f32::consts::FRAC_PI_2,
    std::f32::consts::LN_2,
    1.0 + f32::EPSILON,
    1.0 - f32::EPSILON / 2.0,
    f32::EPSILON,
    f32::MIN_POSITIVE,
    -f32::MIN_POSITIVE,
    1e-45,
    -1e-45,
    1e-40,
    f32::MAX,
    f32::MIN,
    8388608.0,
    8388607.5,
    16777216.0,
    2147483648.0,
    2147483520.0,
    -2147483648.0,
    4294967296.0,
    4294967040.0,
    88.72284,
    -103.97208,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::NAN,
];

/// Integers where something changes.
const INTEGERS: &[u32] =
    &[0, 1, 2, 3, 7, 31, 32, 33, 255, 0x7fff_ffff, 0x8000_0000, 0x8000_0001, 0xffff_fffe, 0xffff_ffff, 0x55aa_00ff];

/// A word of a type: special, small, or any bits.
pub fn word(random: &mut Random, ty: Type) -> u32 {
    match ty {
        Type::Bool => {
            if random.once_in(2) {
                !0
            } else {
                0
            }
        }
        Type::I32 => match random.below(4) {
            0 => *random.pick(INTEGERS),
            1 => random.below(64) as u32,
            2 => (random.below(64) as u32).wrapping_neg(),
            _ => random.bits() as u32,
        },
        Type::F32 => match random.below(8) {
            0 | 1 => random.pick(FLOATS).to_bits(),
            2 => (1.0f32.to_bits() as i32 + random.below(5) as i32 - 2) as u32,
            3 => (random.below(41) as f32 - 20.0).to_bits(),
            4 => random.bits() as u32,
            5 => (random.bits() as u32 & 0x807f_ffff) | (random.below(0x20) as u32 + 0x70) << 23,
            _ => (random.below(1 << 24) as f32 / (1 << 23) as f32 - 1.0).to_bits(),
        },
    }
}

/// Rows of inputs: first the special values of each port against those of the next ones, then random words.
pub fn special_rows(ports: &[Port], rows: usize, seed: u64) -> Vec<Vec<u32>> {
    let mut random = Random::new(seed);
    let special = |ty, index: usize| match ty {
        Type::F32 => FLOATS[index % FLOATS.len()].to_bits(),
        Type::I32 => INTEGERS[index % INTEGERS.len()],
        Type::Bool => [0, !0][index % 2],
    };
    let count = |ty| match ty {
        Type::F32 => FLOATS.len(),
        Type::I32 => INTEGERS.len(),
        Type::Bool => 2,
    };
    (0..rows)
        .map(|row| {
            let mut left = row;
            let words = ports.iter().map(|port| {
                let index = left % count(port.ty);
                left /= count(port.ty);
                special(port.ty, index)
            });
            let words: Vec<_> = words.collect();
            if left == 0 { words } else { ports.iter().map(|port| word(&mut random, port.ty)).collect() }
        })
        .collect()
}
