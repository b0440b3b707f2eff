//! A stream of random numbers for a path: as many as a random walk happens to need.

use super::{PathKey, Sampler, hash, unit_float};

/// Number of stratified numbers at the start of a stream.
const STRATIFIED: u32 = 4;

/// Random numbers in [0, 1). The first four are a point of the sampler, stratified over the samples
/// of the pixel. The others are independent.
#[derive(Clone, Copy, Debug)]
pub struct RandomStream {
    first: [f32; STRATIFIED as usize],
    seed: u32,
    count: u32,
}

impl RandomStream {
    /// Creates the stream of a path for dimension set `set`.
    #[inline]
    pub fn new(sampler: &Sampler, key: PathKey, set: u32) -> RandomStream {
        let first = sampler.get4(key, set);
        let seed = first.iter().fold(hash(key.hash(), set), |seed, u| hash(seed, u.to_bits()));
        RandomStream { first, seed, count: 0 }
    }

    /// Creates a stream of independent numbers.
    pub fn from_seed(seed: u32) -> RandomStream {
        RandomStream { first: [0.0; STRATIFIED as usize], seed, count: STRATIFIED }
    }

    /// Returns the next number.
    #[inline]
    pub fn next_float(&mut self) -> f32 {
        let index = self.count;
        self.count += 1;
        match self.first.get(index as usize) {
            Some(&u) => u,
            None => unit_float(hash(self.seed, index)),
        }
    }

    /// Returns an exponentially distributed number of mean 1, which is positive.
    #[inline]
    pub fn next_exponential(&mut self) -> f32 {
        exponential(self.next_float())
    }
}

/// Returns the number below which an exponentially distributed one is with probability `u`.
///
/// For 0, which stands for all probabilities below 2⁻²⁴, it is 2⁻²⁵: an optical depth of 0 would
/// have been crossed even where the extinction is too small to divide by.
fn exponential(u: f32) -> f32 {
    const SMALLEST: f32 = 1.0 / (1 << 25) as f32;
    (-libm::logf(1.0 - u)).max(SMALLEST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampling::SamplerKind;

    #[test]
    fn exponential_numbers_are_positive_and_finite() {
        let smallest_but_one = exponential(1.0 / (1 << 24) as f32);
        assert!(0.0 < exponential(0.0) && exponential(0.0) < smallest_but_one);
        assert!((exponential(0.5) - std::f32::consts::LN_2).abs() < 1e-7);
        assert!(exponential(1.0f32.next_down()).is_finite());
    }

    #[test]
    fn numbers_are_uniform_and_streams_differ() {
        let sampler = Sampler::new(SamplerKind::Sobol, 1);
        let mut histogram = [0u32; 16];
        let (mut sum, mut exponential) = (0.0, 0.0);
        for index in 0..1000 {
            let key = sampler.path_key(3, 5, index);
            let mut stream = RandomStream::new(&sampler, key, 7);
            assert_eq!(
                [0; 4].map(|_| stream.next_float()),
                sampler.get4(key, 7),
                "the first numbers are those of the sampler"
            );
            for _ in 0..16 {
                let u = stream.next_float();
                histogram[(16.0 * u) as usize] += 1;
                sum += u;
            }
            exponential += stream.next_exponential();
        }
        assert!(histogram.iter().all(|&n| (800..1200).contains(&n)), "{histogram:?}");
        assert!((sum / 16000.0 - 0.5).abs() < 0.01 && (exponential / 1000.0 - 1.0).abs() < 0.1);
        let key = sampler.path_key(3, 5, 0);
        let mut streams = [7, 8].map(|set| RandomStream::new(&sampler, key, set));
        let numbers = streams.each_mut().map(|s| [0; 8].map(|_| s.next_float()));
        assert!(std::iter::zip(numbers[0], numbers[1]).all(|(a, b)| a != b));
    }
}
