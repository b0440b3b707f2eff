//! 8-bit sRGB codes of linear values, from a table. An image has millions of values, and the sRGB
//! curve needs a power for each.

use super::encoding::linear_to_srgb;
use std::sync::LazyLock;

/// Number of low bits of a float that values of a bucket do not share.
const BUCKET_BITS: u32 = 16;

/// The first value of the table. Its code is 0, like those of all values below it.
const FIRST_VALUE: f32 = 1.0 / 8192.0;

/// An interval of values with at most two codes.
struct Bucket {
    /// The code of its first value.
    code: u8,
    /// The first value with the next code, in this bucket or later.
    next: f32,
}

/// The buckets from [`FIRST_VALUE`] to 1.
static BUCKETS: LazyLock<Vec<Bucket>> = LazyLock::new(|| {
    let next: Vec<f32> = (0..=u8::MAX).map(first_value_above).collect();
    let bucket = |index: u32| {
        let code = encoded(f32::from_bits(index << BUCKET_BITS));
        Bucket { code, next: next[usize::from(code)] }
    };
    (bucket_index(FIRST_VALUE)..=bucket_index(1.0)).map(bucket).collect()
});

fn bucket_index(x: f32) -> u32 {
    x.to_bits() >> BUCKET_BITS
}

/// Returns the code of a value in [0, 1].
fn encoded(linear: f32) -> u8 {
    (linear_to_srgb(linear) * 255.0).round() as u8
}

/// Returns the first value with a code above `code`; infinity above the last.
fn first_value_above(code: u8) -> f32 {
    if code == u8::MAX {
        return f32::INFINITY;
    }
    let (mut below, mut above) = (FIRST_VALUE.to_bits(), 1f32.to_bits());
    while above - below > 1 {
        let middle = below.midpoint(above);
        let bound = if encoded(f32::from_bits(middle)) > code { &mut above } else { &mut below };
        *bound = middle;
    }
    f32::from_bits(above)
}

/// Returns the 8-bit sRGB code nearest to a linear value. Values are clamped to [0, 1]; NaN becomes
/// 0.
pub(super) fn srgb_code(linear: f32) -> u8 {
    // NaN takes the first value.
    let x = if linear > FIRST_VALUE { linear.min(1.0) } else { FIRST_VALUE };
    let bucket = &BUCKETS[(bucket_index(x) - bucket_index(FIRST_VALUE)) as usize];
    bucket.code + u8::from(x >= bucket.next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_around_each_step_and_at_the_ends_of_buckets_are_exact() {
        let steps = (0..u8::MAX).map(|code| first_value_above(code).to_bits());
        let buckets = (bucket_index(FIRST_VALUE)..=bucket_index(1.0)).map(|i| i << BUCKET_BITS);
        for bits in steps.chain(buckets).flat_map(|bits| bits - 60..bits + 60) {
            let x = f32::from_bits(bits);
            assert_eq!(srgb_code(x), encoded(x.clamp(0.0, 1.0)), "{x:e}");
        }
    }

    #[test]
    fn values_outside_the_unit_interval_are_clamped() {
        for x in [-0.0, 0.0, -1.0, f32::MIN_POSITIVE, f32::NEG_INFINITY, f32::NAN, -f32::NAN] {
            assert_eq!(srgb_code(x), 0, "{x}");
        }
        for x in [1.0, 1.0f32.next_up(), 7.0, f32::INFINITY] {
            assert_eq!(srgb_code(x), 255, "{x}");
        }
    }

    #[test]
    #[ignore = "takes ten seconds: cargo test -p lightbound-image --release --lib codes_of_all_values -- --ignored"]
    fn codes_of_all_values_are_exact() {
        for bits in 0..=1f32.to_bits() {
            let x = f32::from_bits(bits);
            assert_eq!(srgb_code(x), encoded(x), "{x:e}");
        }
    }
}
