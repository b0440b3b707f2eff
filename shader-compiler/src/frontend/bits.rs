//! WGSL's bit-manipulation and packing built-ins: bit fields, `frexp` and `ldexp`, packed formats,
//! binary16.
//!
//! No rounding relies on adding and subtracting a magic constant, which simplification could
//! remove.

use super::builtins::{max_of, min_of};
use super::operators::choose;
use crate::builder::Builder;
use crate::ir::{Emit, Op, Value};
use naga::ScalarKind as Kind;

/// 2⁻¹⁴, the smallest normal binary16.
const F16_MIN_POSITIVE: f32 = 1.0 / (1 << 14) as f32;

/// 2¹⁶ − 2⁴, the smallest float that rounds to infinity in binary16.
const F16_OVERFLOW: f32 = 65520.0;

/// Splits `x` into a fraction in [½, 1) and an exponent of two. For zero, infinity and NaN, the
/// fraction is `x` and the exponent is 0.
pub(crate) fn frexp(b: &mut Builder, x: Value) -> (Value, Value) {
    let (normal, infinite, zero_float) =
        (b.f32(f32::MIN_POSITIVE), b.f32(f32::INFINITY), b.f32(0.0));
    let magnitude = b.op(Op::Abs, &[x]);
    // Scale subnormals to normal floats.
    let subnormal = b.op(Op::Lt, &[magnitude, normal]);
    let factor = b.f32((1 << 24) as f32);
    let scaled = b.op(Op::Mul, &[x, factor]);
    let normalized = choose(b, subnormal, scaled, x);
    let word = b.op(Op::Bits, &[normalized]);
    let (fraction_mask, half_exponent) = (b.i32(0x807f_ffffu32 as i32), b.i32(0x3f00_0000));
    let kept = b.op(Op::And, &[word, fraction_mask]);
    let fraction = b.op(Op::Or, &[kept, half_exponent]);
    let fraction = b.op(Op::Float, &[fraction]);
    let (shift, mask) = (b.i32(23), b.i32(0xff));
    let biased = b.op(Op::LShr, &[word, shift]);
    let biased = b.op(Op::And, &[biased, mask]);
    let (bias, scaled_bias, zero) = (b.i32(126), b.i32(126 + 24), b.i32(0));
    let bias = choose(b, subnormal, scaled_bias, bias);
    let exponent = b.op(Op::ISub, &[biased, bias]);
    let (above, below) =
        (b.op(Op::Lt, &[zero_float, magnitude]), b.op(Op::Lt, &[magnitude, infinite]));
    let is_finite_nonzero = b.op(Op::BAnd, &[above, below]);
    (choose(b, is_finite_nonzero, fraction, x), choose(b, is_finite_nonzero, exponent, zero))
}

/// x·2ⁿ, rounded once.
///
/// Multiplies x by three powers of two. The first two products are exact unless the result is zero
/// or infinite.
pub(crate) fn ldexp(b: &mut Builder, x: Value, n: Value) -> Value {
    let (low, high) = (b.i32(-126), b.i32(127));
    let (mut rest, mut powers) = (n, vec![]);
    for _ in 0..3 {
        let clamped_below = b.op(Op::SMax, &[rest, low]);
        let exponent = b.op(Op::SMin, &[clamped_below, high]);
        rest = b.op(Op::ISub, &[rest, exponent]);
        let (bias, shift) = (b.i32(127), b.i32(23));
        let biased = b.op(Op::IAdd, &[exponent, bias]);
        let word = b.op(Op::Shl, &[biased, shift]);
        powers.push(b.op(Op::Float, &[word]));
    }
    powers.into_iter().rev().fold(x, |x, power| b.op(Op::Mul, &[x, power]))
}

/// Index of the lowest set bit; −1 if none is set.
pub(crate) fn first_trailing_bit(b: &mut Builder, x: Value) -> Value {
    let (zero, none) = (b.i32(0), b.i32(-1));
    let (empty, zeros) = (b.op(Op::IEq, &[x, zero]), b.op(Op::TrailingZeros, &[x]));
    choose(b, empty, none, zeros)
}

/// Index of the highest set bit, or for signed integers the highest bit that differs from the sign;
/// −1 if there is none.
pub(crate) fn first_leading_bit(b: &mut Builder, kind: Kind, x: Value) -> Value {
    let last = b.i32(31);
    let x = if kind == Kind::Sint {
        let sign = b.op(Op::AShr, &[x, last]);
        b.op(Op::Xor, &[x, sign])
    } else {
        x
    };
    let zeros = b.op(Op::LeadingZeros, &[x]);
    b.op(Op::ISub, &[last, zeros])
}

/// Returns offset and width of a bit field, clamped to the 32-bit word, and whether it is empty.
fn clamp_field(b: &mut Builder, offset: Value, count: Value) -> (Value, Value, Value) {
    let (width, zero) = (b.i32(32), b.i32(0));
    let offset = b.op(Op::UMin, &[offset, width]);
    let max_count = b.op(Op::ISub, &[width, offset]);
    let count = b.op(Op::UMin, &[count, max_count]);
    (offset, count, b.op(Op::IEq, &[count, zero]))
}

/// Extracts bits `offset .. offset + count`, sign-extended for signed integers.
pub(crate) fn extract(b: &mut Builder, kind: Kind, x: Value, offset: Value, count: Value) -> Value {
    let (offset, count, empty) = clamp_field(b, offset, count);
    let (width, zero) = (b.i32(32), b.i32(0));
    let down = b.op(Op::ISub, &[width, count]);
    let up = b.op(Op::ISub, &[down, offset]);
    let shifted = b.op(Op::Shl, &[x, up]);
    let extracted = b.op(if kind == Kind::Sint { Op::AShr } else { Op::LShr }, &[shifted, down]);
    choose(b, empty, zero, extracted)
}

/// `x` with bits `offset .. offset + count` replaced by the low bits of `new`.
pub(crate) fn insert(b: &mut Builder, x: Value, new: Value, offset: Value, count: Value) -> Value {
    let (offset, count, empty) = clamp_field(b, offset, count);
    let (width, ones) = (b.i32(32), b.i32(-1));
    let unused = b.op(Op::ISub, &[width, count]);
    let low = b.op(Op::LShr, &[ones, unused]);
    let mask = b.op(Op::Shl, &[low, offset]);
    let (outside, shifted) = (b.op(Op::Xor, &[mask, ones]), b.op(Op::Shl, &[new, offset]));
    let (kept, inserted) = (b.op(Op::And, &[x, outside]), b.op(Op::And, &[shifted, mask]));
    let merged = b.op(Op::Or, &[kept, inserted]);
    choose(b, empty, x, merged)
}

/// Packs the low bits of 2 or 4 words into one.
pub(crate) fn join(b: &mut Builder, parts: &[Value]) -> Value {
    let width = 32 / parts.len() as i32;
    let mask = b.i32((1 << width) - 1);
    let mut word = None;
    for (k, &part) in parts.iter().enumerate() {
        let shift = b.i32(k as i32 * width);
        let low = b.op(Op::And, &[part, mask]);
        let shifted = b.op(Op::Shl, &[low, shift]);
        word = Some(word.map_or(shifted, |word| b.op(Op::Or, &[word, shifted])));
    }
    word.expect("there are 2 or 4 words")
}

/// Splits a word into 2 or 4 fields of equal width.
pub(crate) fn split(b: &mut Builder, word: Value, parts: usize, kind: Kind) -> Vec<Value> {
    let width = 32 / parts as i32;
    let down = b.i32(32 - width);
    (1..=parts as i32)
        .map(|k| {
            let up = b.i32(32 - k * width);
            let shifted = b.op(Op::Shl, &[word, up]);
            b.op(if kind == Kind::Sint { Op::AShr } else { Op::LShr }, &[shifted, down])
        })
        .collect()
}

/// The integer that represents 1.0 in a normalized field, if a word has 2 or 4 fields.
fn unit(parts: usize, kind: Kind) -> f32 {
    let bits = 32 / parts as i32 - i32::from(kind == Kind::Sint);
    ((1 << bits) - 1) as f32
}

/// Packs floats into one word, as snorm fields clamped to [−1, 1] or unorm fields clamped to
/// [0, 1].
pub(crate) fn pack_norm(b: &mut Builder, x: &[Value], kind: Kind) -> Value {
    let (low, one, half) =
        (b.f32(if kind == Kind::Sint { -1.0 } else { 0.0 }), b.f32(1.0), b.f32(0.5));
    let unit = b.f32(unit(x.len(), kind));
    let parts: Vec<_> = x
        .iter()
        .map(|&x| {
            let clamped_below = b.op(max_of(Kind::Float), &[low, x]);
            let clamped = b.op(min_of(Kind::Float), &[one, clamped_below]);
            let scaled = b.op(Op::Mul, &[unit, clamped]);
            let shifted = b.op(Op::Add, &[half, scaled]);
            let rounded = b.op(Op::Floor, &[shifted]);
            b.op(Op::TruncateToInt, &[rounded])
        })
        .collect();
    join(b, &parts)
}

/// The inverse of [`pack_norm`].
pub(crate) fn unpack_norm(
    b: &mut Builder,
    word: Value,
    parts: usize,
    kind: Kind,
    out: &mut Vec<Value>,
) {
    let (unit, low) = (b.f32(unit(parts, kind)), b.f32(-1.0));
    for part in split(b, word, parts, kind) {
        let float = b.op(Op::FromS32, &[part]);
        let quotient = b.op(Op::Div, &[float, unit]);
        out.push(if kind == Kind::Sint { b.op(Op::Max, &[quotient, low]) } else { quotient });
    }
}

/// Bits of |x| rounded to a 10-bit fraction, ties to even. For results that are normal in binary16
/// or overflow it.
fn round_to_normal(b: &mut Builder, magnitude: Value) -> Value {
    let word = b.op(Op::Bits, &[magnitude]);
    let (shift, one, below_half) = (b.i32(13), b.i32(1), b.i32(0xfff));
    let last = b.op(Op::LShr, &[word, shift]);
    let odd = b.op(Op::And, &[last, one]);
    let biased = b.op(Op::IAdd, &[word, below_half]);
    b.op(Op::IAdd, &[biased, odd])
}

/// |x| in units of 2⁻²⁴, rounded, ties to even. For results that are subnormal in binary16.
fn round_to_subnormal(b: &mut Builder, magnitude: Value) -> Value {
    let unit = b.f32((1 << 24) as f32);
    let units = b.op(Op::Mul, &[magnitude, unit]);
    b.op(Op::Round, &[units])
}

/// The binary16 nearest to x, as a float; infinite if |x| ≥ 65520.
pub(crate) fn quantize_to_f16(b: &mut Builder, x: Value) -> Value {
    let half = to_f16(b, x);
    from_f16(b, half)
}

/// Bits of the binary16 nearest to x; infinite if |x| ≥ 65520.
pub(crate) fn to_f16(b: &mut Builder, x: Value) -> Value {
    let magnitude = b.op(Op::Abs, &[x]);
    let units = round_to_subnormal(b, magnitude);
    let small = b.op(Op::TruncateToInt, &[units]);
    let rounded = round_to_normal(b, magnitude);
    let (rebias, shift) = (b.i32((127 - 15) << 23), b.i32(13));
    let normal = b.op(Op::ISub, &[rounded, rebias]);
    let normal = b.op(Op::LShr, &[normal, shift]);
    let (infinite, nan) = (b.i32(0x7c00), b.i32(0x7e00));
    let (least_normal, least_infinite, infinity) =
        (b.f32(F16_MIN_POSITIVE), b.f32(F16_OVERFLOW), b.f32(f32::INFINITY));
    let is_not_nan = b.op(Op::Le, &[magnitude, infinity]);
    let large = choose(b, is_not_nan, infinite, nan);
    let finite = b.op(Op::Lt, &[magnitude, least_infinite]);
    let rest = choose(b, finite, normal, large);
    let subnormal = b.op(Op::Lt, &[magnitude, least_normal]);
    let half = choose(b, subnormal, small, rest);
    let (word, sixteen, sign) = (b.op(Op::Bits, &[x]), b.i32(16), b.i32(0x8000));
    let high = b.op(Op::LShr, &[word, sixteen]);
    let sign = b.op(Op::And, &[high, sign]);
    b.op(Op::Or, &[half, sign])
}

/// Converts the bits of a binary16 to a float, exactly.
pub(crate) fn from_f16(b: &mut Builder, half: Value) -> Value {
    let (magnitude, sign, max_finite) = (b.i32(0x7fff), b.i32(0x8000), b.i32(0x7bff));
    let (shift, sixteen) = (b.i32(13), b.i32(16));
    let magnitude = b.op(Op::And, &[half, magnitude]);
    let shifted = b.op(Op::Shl, &[magnitude, shift]);
    // A multiplication rebiases the exponent and normalizes subnormals.
    let (float, rebias) =
        (b.op(Op::Float, &[shifted]), b.f32(f32::from_bits((127 + 127 - 15) << 23)));
    let finite = b.op(Op::Mul, &[float, rebias]);
    let finite = b.op(Op::Bits, &[finite]);
    let exponent_mask = b.i32(0x7f80_0000);
    let special = b.op(Op::Or, &[shifted, exponent_mask]);
    let is_special = b.op(Op::ULt, &[max_finite, magnitude]);
    let word = choose(b, is_special, special, finite);
    let sign = b.op(Op::And, &[half, sign]);
    let sign = b.op(Op::Shl, &[sign, sixteen]);
    let word = b.op(Op::Or, &[word, sign]);
    b.op(Op::Float, &[word])
}

#[cfg(test)]
mod tests {
    use crate::frontend::testing::{Numbers, check, run, translate};
    use crate::ir::Op;

    /// x·2ⁿ, rounded once, ties to even.
    fn exact_ldexp(x: f32, n: i32) -> f32 {
        // Doubles hold x·2ⁿ exactly in this range; beyond it the result is zero or infinite.
        (f64::from(x) * 2f64.powi(n.clamp(-400, 400))) as f32
    }

    #[test]
    fn ldexp_inverts_frexp() {
        let f = translate(
            "fn f(x: f32) -> vec2f { let r = frexp(x); return vec2f(r.fract, f32(r.exp)); }",
        );
        let g = translate("fn f(x: f32, n: i32) -> f32 { return ldexp(x, n); }");
        let mut numbers = Numbers::new(1);
        for _ in 0..20_000 {
            let x = numbers.float();
            let [fraction, exponent] = [0, 1].map(|k| f32::from_bits(run(&f, &[x.to_bits()])[k]));
            if x.is_finite() && x != 0.0 {
                assert!(
                    (0.5..1.0).contains(&fraction.abs()),
                    "frexp({x}) = {fraction}, {exponent}"
                );
                assert_eq!(exact_ldexp(fraction, exponent as i32), x);
            } else {
                assert!(
                    (fraction == x || x.is_nan() && fraction.is_nan()) && exponent == 0.0,
                    "frexp({x})"
                );
            }
            let n = if numbers.below(4) == 0 {
                numbers.int() as i32
            } else {
                numbers.below(600) as i32 - 300
            };
            check(&g, &[x.to_bits(), n as u32], &[exact_ldexp(x, n).to_bits()]);
        }
    }

    #[test]
    fn frexp_of_vectors_returns_fractions_first() {
        let f = translate(
            "fn f(v: vec2f) -> vec4f { let r = frexp(v); return vec4f(r.fract, vec2f(r.exp)); }",
        );
        let expected = [0.75, 0.625, 3.0, 1.0f32];
        check(&f, &[6.0f32.to_bits(), 1.25f32.to_bits()], &expected.map(f32::to_bits));
    }

    #[test]
    fn bit_counts_and_positions_match_definitions() {
        let source = |ty: &str| {
            format!(
                "fn f(x: {ty}) -> array<{ty}, 6> {{ return array(countOneBits(x), countLeadingZeros(x), countTrailingZeros(x),
                    reverseBits(x), firstLeadingBit(x), firstTrailingBit(x)); }}"
            )
        };
        let (signed, unsigned) = (translate(&source("i32")), translate(&source("u32")));
        let mut numbers = Numbers::new(2);
        for _ in 0..2000 {
            let x = numbers.int();
            let ops = [Op::CountOnes, Op::LeadingZeros, Op::TrailingZeros, Op::ReverseBits]
                .map(|op| op.eval(&[x]));
            // By definition, in terms of leading and trailing zeros.
            let last = if x == 0 { u32::MAX } else { Op::TrailingZeros.eval(&[x]) };
            let mut expected = ops.to_vec();
            expected.extend([31u32.wrapping_sub(Op::LeadingZeros.eval(&[x])), last]);
            check(&unsigned, &[x], &expected);
            let positive = if (x as i32) < 0 { !x } else { x };
            expected[4] = 31u32.wrapping_sub(Op::LeadingZeros.eval(&[positive]));
            check(&signed, &[x], &expected);
        }
    }

    #[test]
    fn bit_fields_are_extracted_and_inserted() {
        let source = |ty: &str| {
            format!(
                "fn f(x: {ty}, y: {ty}, o: u32, c: u32) -> array<{ty}, 2> {{
                    return array(extractBits(x, o, c), insertBits(x, y, o, c)); }}"
            )
        };
        let (signed, unsigned) = (translate(&source("i32")), translate(&source("u32")));
        let mut numbers = Numbers::new(3);
        for _ in 0..5000 {
            let (x, y) = (numbers.int(), numbers.int());
            let (offset, count) = if numbers.below(4) == 0 {
                (numbers.int(), numbers.int())
            } else {
                (numbers.below(36), numbers.below(36))
            };
            // As in the specification, in 64-bit arithmetic.
            let (o, w) = (offset.min(32), 32);
            let c = count.min(w - o);
            let mask = ((1u64 << c) - 1) as u32;
            let field = (u64::from(x) >> o) as u32 & mask;
            let inserted =
                (u64::from(x) & !(u64::from(mask) << o) | (u64::from(y & mask) << o)) as u32;
            let negative = c > 0 && field >> (c - 1) & 1 == 1;
            let extended = if negative { field | !mask } else { field };
            check(&unsigned, &[x, y, offset, count], &[field, inserted]);
            check(&signed, &[x, y, offset, count], &[extended, inserted]);
        }
    }

    #[test]
    fn packed_floats_are_rounded() {
        let f = translate(
            "fn f(v: vec4f) -> array<u32, 4> {
                return array(pack4x8snorm(v), pack4x8unorm(v), pack2x16snorm(v.xy), pack2x16unorm(v.xy));
            }",
        );
        let mut numbers = Numbers::new(4);
        for _ in 0..2000 {
            let v: [f32; 4] = std::array::from_fn(|_| {
                if numbers.below(4) == 0 { numbers.float() } else { numbers.moderate() / 3.0 }
            });
            let part = |x: f32, low: f32, unit: f32| {
                let x = if x.is_nan() { low } else { x };
                (unit * x.clamp(low, 1.0) + 0.5).floor() as i32 as u32
            };
            let packed = |n: usize, low: f32, unit: f32| {
                let width = 32 / n as u32;
                let mask = (1u64 << width) as u32 - 1;
                (0..n)
                    .fold(0, |word, k| word | (part(v[k], low, unit) & mask) << (k as u32 * width))
            };
            let expected = [
                packed(4, -1.0, 127.0),
                packed(4, 0.0, 255.0),
                packed(2, -1.0, 32767.0),
                packed(2, 0.0, 65535.0),
            ];
            check(&f, &v.map(f32::to_bits), &expected);
        }
    }

    #[test]
    fn unpacked_floats_are_within_one_ulp() {
        let f = translate(
            "struct R { a: vec4f, b: vec4f, c: vec2f, d: vec2f }
            fn f(x: u32) -> R { return R(unpack4x8snorm(x), unpack4x8unorm(x), unpack2x16snorm(x), unpack2x16unorm(x)); }",
        );
        let mut numbers = Numbers::new(5);
        for x in (0..2000).map(|_| numbers.int()).chain([
            0,
            !0,
            0x7f7f_7f7f,
            0x8181_8181,
            0x7fff_7fff,
            0x8001_8001,
        ]) {
            let bytes = x.to_le_bytes();
            let halves = [x as u16, (x >> 16) as u16];
            let mut expected = bytes.map(|b| (f32::from(b as i8) / 127.0).max(-1.0)).to_vec();
            expected.extend(bytes.map(|b| f32::from(b) / 255.0));
            expected.extend(halves.map(|h| (f32::from(h as i16) / 32767.0).max(-1.0)));
            expected.extend(halves.map(|h| f32::from(h) / 65535.0));
            for (&out, expected) in std::iter::zip(&run(&f, &[x]), expected) {
                // WGSL allows 3 ulps. Relaxed division by a constant multiplies by its reciprocal,
                // with an error of up to 1 ulp. 0 and ±1 are exact.
                let ulps = out.abs_diff(expected.to_bits());
                let max_ulps = u32::from(expected.fract() != 0.0);
                assert!(ulps <= max_ulps, "{x:#x}: {} instead of {expected}", f32::from_bits(out));
            }
        }
    }

    #[test]
    fn packed_integers_are_clamped_or_truncated() {
        let f = translate(
            "struct R { a: array<u32, 4>, b: vec4i, c: vec4u, d: i32, e: u32 }
            fn f(v: vec4i, y: u32) -> R {
                let u = vec4u(v);
                let x = pack4xI8(v);
                return R(array(pack4xI8(v), pack4xU8(u), pack4xI8Clamp(v), pack4xU8Clamp(u)),
                    unpack4xI8(y), unpack4xU8(y), dot4I8Packed(x, y), dot4U8Packed(x, y));
            }",
        );
        let mut numbers = Numbers::new(6);
        for _ in 0..2000 {
            let v: [u32; 4] = std::array::from_fn(|_| {
                if numbers.below(2) == 0 {
                    numbers.int()
                } else {
                    numbers.below(600).wrapping_sub(300)
                }
            });
            let y = numbers.int();
            let pack = |part: &dyn Fn(u32) -> u32| u32::from_le_bytes(v.map(|x| part(x) as u8));
            let x = pack(&|x| x);
            let clamped = pack(&|x| (x as i32).clamp(-128, 127) as u32);
            let mut expected = vec![x, x, clamped, pack(&|x| x.min(255))];
            expected.extend(y.to_le_bytes().map(|b| b as i8 as i32 as u32));
            expected.extend(y.to_le_bytes().map(u32::from));
            let dot = |part: &dyn Fn(u8) -> u32| {
                x.to_le_bytes()
                    .iter()
                    .zip(y.to_le_bytes())
                    .fold(0u32, |sum, (&x, y)| sum.wrapping_add(part(x).wrapping_mul(part(y))))
            };
            expected.extend([dot(&|b| b as i8 as i32 as u32), dot(&u32::from)]);
            check(&f, &[v[0], v[1], v[2], v[3], y], &expected);
        }
    }

    /// The value of a binary16 by definition.
    fn half_value(half: u16) -> f32 {
        let (sign, exponent, fraction) =
            (half >> 15, i32::from(half >> 10 & 31), f64::from(half & 0x3ff));
        let magnitude = match exponent {
            0 => fraction * 2f64.powi(-24),
            31 if fraction == 0.0 => f64::INFINITY,
            31 => f64::NAN,
            _ => (1024.0 + fraction) * 2f64.powi(exponent - 25),
        };
        (if sign == 1 { -magnitude } else { magnitude }) as f32
    }

    #[test]
    fn all_binary16_values_unpack_exactly() {
        let f = translate("fn f(x: u32) -> vec2f { return unpack2x16float(x); }");
        for half in 0..=u16::MAX {
            let other = half.wrapping_mul(31);
            let expected = [half_value(half), half_value(other)].map(f32::to_bits);
            check(&f, &[u32::from(half) | u32::from(other) << 16], &expected);
        }
    }

    #[test]
    fn binary16_rounding_is_to_nearest_even() {
        let f = translate(
            "fn f(x: f32) -> vec2f { return vec2f(quantizeToF16(x), unpack2x16float(pack2x16float(vec2f(1.0, x))).y); }",
        );
        let g = translate("fn f(x: f32) -> u32 { return pack2x16float(vec2f(x, -x)); }");
        // Every finite binary16, the midpoints, and their neighbouring floats.
        for half in 0..0x7c00u16 {
            let (low, high) =
                (half_value(half), if half == 0x7bff { 65536.0 } else { half_value(half + 1) });
            let middle = ((f64::from(low) + f64::from(high)) / 2.0) as f32;
            let even = if half % 2 == 0 { half } else { half + 1 };
            for (x, rounded) in [
                (low, half),
                (middle.next_down(), half),
                (middle, even),
                (middle.next_up(), half + 1),
            ] {
                let quantized = half_value(rounded).to_bits();
                check(&f, &[x.to_bits()], &[quantized, quantized]);
                check(&f, &[(-x).to_bits()], &[quantized | 1 << 31, quantized | 1 << 31]);
                check(
                    &g,
                    &[x.to_bits()],
                    &[u32::from(rounded) | (u32::from(rounded) | 0x8000) << 16],
                );
            }
        }
        for x in [1e6, f32::MAX, f32::INFINITY, f32::NAN] {
            let expected = if x.is_nan() { x } else { f32::INFINITY }.to_bits();
            check(&f, &[x.to_bits()], &[expected, expected]);
        }
    }
}
