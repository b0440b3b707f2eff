//! Fixed-point arithmetic of film sums.
//!
//! | sum | fraction bits | quantum | range |
//! |---|---|---|---|
//! | radiance, `i128` | 56 | 1.4·10⁻¹⁷ | a sample is clamped to ±2³⁹; 2³² samples fit |
//! | squares of radiance, `u128` | 56 | 1.4·10⁻¹⁷ | the sum saturates at 2⁷² = 4.7·10²¹ |
//! | extra channels, `u128` | 56 | 1.4·10⁻¹⁷ | the sum saturates at 2⁷² and then counts as infinite |
//! | albedo and normal, `i64` | 24 | 6·10⁻⁸ | a sample is clamped to ±2²²; 2¹⁶ samples fit |
//! | position and depth, `i128` | 24 | 6·10⁻⁸ | a sample is clamped to ±2⁸⁶ = 7.7·10²⁵; 2¹⁶ samples fit |
//!
//! The film counts the samples that are clamped. Positions and depths have the larger range since
//! they are in scene units, so that no bound is natural.
//!
//! Each conversion rounds once, to nearest with ties away from zero, and depends on the sample
//! alone. Unsigned sums only grow, so saturating addition is associative as well, and the order of
//! additions does not matter.

/// Fraction bits of radiance sums.
pub const RADIANCE_BITS: i32 = 56;
/// Radiance is clamped to ±`RADIANCE_LIMIT`.
pub const RADIANCE_LIMIT: f32 = (1u64 << 39) as f32;
/// Fraction bits of sums of squares.
pub const SQUARE_BITS: i32 = 56;
/// Fraction bits of sums of extra channels.
pub const CHANNEL_BITS: i32 = 56;
/// Fraction bits of feature sums.
pub const FEATURE_BITS: i32 = 24;
/// Albedo and normal are clamped to ±`FEATURE_LIMIT`.
pub const FEATURE_LIMIT: f32 = (1 << 22) as f32;
/// Position and depth are clamped to ±`LENGTH_LIMIT`.
pub const LENGTH_LIMIT: f64 = (1u128 << 86) as f64;

/// Splits `|x|` into a mantissa below 2²⁴ and an exponent of 2, which is negative for 0. `x` is
/// finite.
fn mantissa_and_exponent(x: f32) -> (u128, i32) {
    let raw = x.to_bits();
    let exponent = (raw >> 23 & 0xff) as i32;
    let mantissa = (raw & 0x7f_ffff) | if exponent > 0 { 0x80_0000 } else { 0 };
    (mantissa.into(), exponent.max(1) - 150)
}

/// Returns `mantissa · 2^shift`, rounded; `None` if it needs more than 128 bits. The mantissa is
/// below 2⁴⁸.
fn scale(mantissa: u128, shift: i32) -> Option<u128> {
    match shift {
        0.. if mantissa.leading_zeros() as i32 >= shift => Some(mantissa << shift),
        0.. => None,
        -48..=-1 => Some((mantissa + (1 << (-shift - 1))) >> -shift),
        _ => Some(0),
    }
}

/// Returns `x · 2^CHANNEL_BITS` for `x ≥ 0`; `u128::MAX` if it overflows, or if `x` is infinite or
/// NaN.
pub fn channel_to_fixed(x: f32) -> u128 {
    let (mantissa, exponent) = mantissa_and_exponent(x);
    let finite = x.is_finite().then(|| scale(mantissa, exponent + CHANNEL_BITS)).flatten();
    finite.unwrap_or(u128::MAX)
}

/// Returns the mean of `samples` values of [`channel_to_fixed`] with this sum, rounded like
/// [`mean`]. Infinite if the sum is `u128::MAX`.
pub fn channel_mean(sum: u128, samples: u32) -> f32 {
    match sum {
        u128::MAX => f32::INFINITY,
        _ => (sum as f64 / (1u64 << CHANNEL_BITS) as f64 / f64::from(samples.max(1))) as f32,
    }
}

/// Returns `x · 2^RADIANCE_BITS`. `x` is finite and the result fits.
pub fn radiance_to_fixed(x: f32) -> i128 {
    let small = f64::from(x) * (1u64 << RADIANCE_BITS) as f64;
    if small.abs() < (1u64 << 62) as f64 {
        return round(small).into();
    }
    let (mantissa, exponent) = mantissa_and_exponent(x);
    let magnitude =
        scale(mantissa, exponent + RADIANCE_BITS).expect("the value is within the range") as i128;
    if x.is_sign_negative() { -magnitude } else { magnitude }
}

/// Clamps `x` to ±[`FEATURE_LIMIT`] and returns `x · 2^FEATURE_BITS`, 0 for NaN; and whether `x`
/// was out of range or NaN.
pub fn feature_to_fixed(x: f32) -> (i64, bool) {
    let clamped = x.clamp(-FEATURE_LIMIT, FEATURE_LIMIT);
    (round(f64::from(clamped) * (1u64 << FEATURE_BITS) as f64), clamped != x)
}

/// Clamps `x` to ±[`LENGTH_LIMIT`] and returns `x · 2^FEATURE_BITS`, 0 for NaN; and whether `x` was
/// out of range or NaN.
pub fn length_to_fixed(x: f64) -> (i128, bool) {
    let clamped = x.clamp(-LENGTH_LIMIT, LENGTH_LIMIT);
    let scaled = clamped * (1u64 << FEATURE_BITS) as f64;
    // Conversion to 128 bits is slow.
    let fixed = if scaled.abs() < (1u64 << 62) as f64 {
        // Truncated; the difference is exact.
        let whole = scaled as i64;
        let rest = scaled - whole as f64;
        (whole + i64::from(rest >= 0.5) - i64::from(rest <= -0.5)).into()
    } else {
        scaled.round() as i128
    };
    (fixed, clamped != x)
}

/// Rounds to the nearest integer, ties away from zero. `x` has 24 significant bits, so adding 0.5
/// is exact whenever it matters.
fn round(x: f64) -> i64 {
    (x + 0.5f64.copysign(x)) as i64
}

/// Returns `x² · 2^SQUARE_BITS`, or `u128::MAX` if it overflows. `x` is finite.
pub fn square_to_fixed(x: f32) -> u128 {
    let (mantissa, exponent) = mantissa_and_exponent(x);
    scale(mantissa * mantissa, 2 * exponent + SQUARE_BITS).unwrap_or(u128::MAX)
}

/// Returns `sum / 2^bits / samples`, computed in double precision and rounded to single precision.
pub fn mean(sum: i128, bits: i32, samples: u32) -> f32 {
    (sum as f64 / (1u64 << bits) as f64 / f64::from(samples.max(1))) as f32
}

/// Returns the variance of the mean of `samples` independent values with this sum and sum of
/// squares: the unbiased sample variance divided by the number of samples. Infinite for fewer than
/// two samples, and if the sum of squares is saturated.
///
/// Computed in double precision: rounding may lose a variance below 10⁻¹⁵ of the mean square.
pub fn variance_of_mean(sum: i128, squares: u128, samples: u32) -> f32 {
    if samples < 2 || squares == u128::MAX {
        return f32::INFINITY;
    }
    let n = f64::from(samples);
    let sum = sum as f64 / (1u64 << RADIANCE_BITS) as f64;
    let squares = squares as f64 / (1u64 << SQUARE_BITS) as f64;
    ((squares - sum * sum / n).max(0.0) / (n * (n - 1.0))) as f32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn radiance_is_exact_down_to_the_quantum() {
        let exact = [
            0.0,
            1.0,
            -1.0,
            0.1,
            3.25e10,
            -7.5e-3,
            2f32.powi(-30),
            RADIANCE_LIMIT,
            -RADIANCE_LIMIT,
        ];
        for x in exact {
            assert_eq!(
                radiance_to_fixed(x),
                (f64::from(x) * 2f64.powi(RADIANCE_BITS)) as i128,
                "{x}"
            );
        }
        let quantum = 2f32.powi(-RADIANCE_BITS);
        assert_eq!(radiance_to_fixed(0.5 * quantum), 1);
        assert_eq!(radiance_to_fixed(-0.5 * quantum), -1);
        assert_eq!(radiance_to_fixed(0.49 * quantum), 0);
        assert_eq!(radiance_to_fixed(f32::MIN_POSITIVE / 8.0), 0);
    }

    proptest! {
        /// The scaled float is exact in double precision.
        #[test]
        fn floats_are_rounded_once(bits: u32) {
            let x = f32::from_bits(bits);
            let scaled = |bits: i32| (f64::from(x) * 2f64.powi(bits)).round();
            if x.abs() <= RADIANCE_LIMIT {
                prop_assert_eq!(radiance_to_fixed(x), scaled(RADIANCE_BITS) as i128);
            }
            let limit = f64::from(FEATURE_LIMIT) * 2f64.powi(FEATURE_BITS);
            let (feature, is_clamped) = feature_to_fixed(x);
            prop_assert_eq!(feature, scaled(FEATURE_BITS).clamp(-limit, limit) as i64);
            prop_assert_eq!(is_clamped, x.is_nan() || x.abs() > FEATURE_LIMIT);
            let limit = LENGTH_LIMIT * 2f64.powi(FEATURE_BITS);
            let (length, is_clamped) = length_to_fixed(x.into());
            prop_assert_eq!(length, scaled(FEATURE_BITS).clamp(-limit, limit) as i128);
            prop_assert_eq!(is_clamped, x.is_nan() || f64::from(x.abs()) > LENGTH_LIMIT);
        }

        /// Positions are doubles, also those next to a tie.
        #[test]
        fn lengths_are_rounded_once(x in -1e9..1e9f64, tie in -1i64 << 40..1 << 40, ulps in -2..3i64) {
            let tie = (tie as f64 + 0.5) / 2f64.powi(FEATURE_BITS);
            let near = f64::from_bits(tie.to_bits().wrapping_add_signed(ulps));
            for x in [x, tie, near] {
                let expected = (x * 2f64.powi(FEATURE_BITS)).round() as i128;
                prop_assert_eq!(length_to_fixed(x), (expected, false));
            }
        }

        /// The scaled square of a float is exact in double precision; only the rounding to an
        /// integer remains.
        #[test]
        fn squares_are_rounded_once(bits in any::<u32>()) {
            let x = f32::from_bits(bits);
            prop_assume!(x.is_finite());
            let expected = (f64::from(x) * f64::from(x) * 2f64.powi(SQUARE_BITS)).round();
            // Casts from float to integer saturate.
            prop_assert_eq!(square_to_fixed(x), expected as u128);
        }
    }

    #[test]
    fn large_squares_saturate() {
        assert_eq!(square_to_fixed(2f32.powi(35)), 1 << 126);
        assert_eq!(square_to_fixed(2f32.powi(36)), u128::MAX);
        assert_eq!(square_to_fixed(-RADIANCE_LIMIT), u128::MAX);
        assert_eq!((square_to_fixed(0.0), square_to_fixed(f32::MIN_POSITIVE)), (0, 0));
    }

    #[test]
    fn saturated_sums_are_infinite() {
        assert_eq!(
            (channel_to_fixed(0.0), channel_to_fixed(0.75), channel_to_fixed(2f32.powi(71))),
            (0, 3 << 54, 1 << 127)
        );
        for x in [2f32.powi(72), f32::MAX, f32::INFINITY, f32::NAN] {
            assert_eq!(
                channel_mean(channel_to_fixed(x).saturating_add(channel_to_fixed(1.0)), 2),
                f32::INFINITY,
                "{x}"
            );
        }
        assert_eq!(channel_mean(channel_to_fixed(0.5) + channel_to_fixed(2.0), 4), 0.625);
        assert_eq!(channel_mean(0, 0), 0.0);
    }

    #[test]
    fn variance_matches_the_textbook_formula() {
        let samples = [1.0f32, 4.0, -2.0, 7.5];
        let sum = samples.iter().map(|&x| radiance_to_fixed(x)).sum();
        let squares = samples.iter().map(|&x| square_to_fixed(x)).sum();
        // The mean is 2.625. The squared deviations sum to 49.6875; divide by 3 and by 4.
        assert_eq!(variance_of_mean(sum, squares, 4), 49.6875 / 12.0);
        let (sum, squares) = (1000 * radiance_to_fixed(0.1), 1000 * square_to_fixed(0.1));
        assert!(variance_of_mean(sum, squares, 1000) < 1e-17);
        assert_eq!(variance_of_mean(sum, squares, 1), f32::INFINITY);
        assert_eq!(variance_of_mean(sum, u128::MAX, 1000), f32::INFINITY);
    }
}
