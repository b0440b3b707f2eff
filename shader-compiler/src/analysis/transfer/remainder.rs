//! Limits of remainders a − b · trunc(a ÷ b), and a − b · ⌊a ÷ b⌋, in floats.
//!
//! The remainder of a truncated quotient is at most |b| and at most |a| in magnitude, with the sign
//! of a. That of a floor has the sign of b.
//!
//! # Rounding
//!
//! Let u = 2⁻²⁴, q the quotient in floats, and t = trunc(q) or ⌊q⌋. a = bq (1 + θ), unless q is
//! subnormal; then a − bt is a or, if q < 0, a + b, which is within the bounds. 0 ≤ |q − t| < 1, so
//! a − bt is b (q − t) up to |θ| |bq|. The product bt has a relative error of u and an absolute one
//! of 2⁻¹⁵⁰, and |bt| ≤ |bq| + |b|. So the difference before rounding is between 0 and b up to
//! (|θ| + 1.01u) |a| + 1.1u |b| + 2⁻¹⁵⁰. Its rounding adds a relative error of u. If t is
//! truncated, bt has the sign of a, so |a| is a limit exactly. Static bounds rule out overflow.
//!
//! | quotient | \|θ\| at most | sum of errors | [`Slack`] |
//! |---|---|---|---|
//! | a ÷ b | 1.01u | 2.2u (\|a\| + \|b\|) + 2⁻¹⁴⁹ | 2⁻²¹ (\|a\| + \|b\|) + 2⁻¹²⁶ |
//! | xc with a = xk rounded and bc = k (1 + δ), \|δ\| ≤ 3u | 5.1u | 6.3u (\|a\| + \|b\|) + 2⁻¹⁴⁸ | 2⁻²⁰ (\|a\| + \|b\|) + 2⁻¹²⁶ |
//!
//! The second case is that of a constant divisor: the builder replaces x ÷ 3 by x · ⅓, where the
//! rounded ⅓ has an error of u, and (x · 10) ÷ 3 by x · 3.33…, with two of them. There, a may be
//! subnormal with an error of 2⁻¹⁵⁰, but then |q| < 1 since b is normal.

/// Magnitude up to which a, b and their quotient cannot overflow.
pub(crate) const MAX_MAGNITUDE: f64 = 1e37;

/// How far rounding errors may take a remainder beyond its limits, relative to |a| + |b|.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slack {
    /// That of a rounded quotient.
    Quotient,
    /// That of a product with a rounded constant.
    Product,
}

impl Slack {
    /// The relative slack. There is an absolute one of 2⁻¹²⁶, too.
    pub(crate) const fn relative(self) -> f64 {
        match self {
            Slack::Quotient => 1.0 / (1u32 << 21) as f64,
            Slack::Product => 1.0 / (1u32 << 20) as f64,
        }
    }
}

/// Limits of the remainder for bounds of a and b; `None` if the quotient may be infinite.
/// `is_floored` says whether it is rounded down, not towards 0.
pub(crate) fn remainder_limits(
    a: [f32; 2],
    b: [f32; 2],
    is_floored: bool,
    slack: Slack,
) -> Option<[f32; 2]> {
    let [a, b] = [a, b].map(|ends| ends.map(f64::from));
    let [max_a, max_b] = [a, b].map(|[lo, hi]| lo.abs().max(hi.abs()));
    let min_b = b[0].max(-b[1]);
    if min_b <= 0.0 || [max_a, max_b, max_a / min_b].into_iter().any(|x| x > MAX_MAGNITUDE) {
        return None;
    }
    // A product of opposite sign may round to 0, but not the quotient.
    let has_sign = |end: f64| end > 0.0 || end == 0.0 && slack == Slack::Quotient;
    let slack = (max_a + max_b) * slack.relative() + f64::from(f32::MIN_POSITIVE);
    let most = max_b + slack;
    let [lo, hi] = if !is_floored {
        // Zero has no remainder.
        let side = |end: f64| if end > 0.0 { end.min(most).max(slack) } else { slack };
        [-side(-a[0]), side(a[1])]
    } else if b[0] > 0.0 {
        [-slack, if has_sign(a[0]) { a[1].min(most).max(slack) } else { most }]
    } else {
        [if has_sign(-a[1]) { a[0].max(-most).min(-slack) } else { -most }, slack]
    };
    Some([(lo as f32).next_down(), (hi as f32).next_up()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Op;
    use crate::random::Random;

    /// Checks the remainders of random members of ranges.
    fn check(a: [f32; 2], b: [f32; 2], random: &mut Random) -> [usize; 2] {
        let mut beyond = [0; 2];
        for is_floored in [false, true] {
            let limits = remainder_limits(a, b, is_floored, Slack::Quotient);
            let Some([lo, hi]) = limits else { continue };
            for k in 0..4 {
                let mut member = |[lo, hi]: [f32; 2], is_low: bool| match k {
                    0..3 => [lo, hi][usize::from(is_low)],
                    _ => lo + (hi - lo) * (random.below(1025) as f32 / 1024.0),
                };
                let a = member(a, k & 1 == 0).clamp(a[0], a[1]);
                let b = member(b, k & 2 == 0).clamp(b[0], b[1]);
                let r = match is_floored {
                    true => a - b * (a / b).floor(),
                    false => f32::from_bits(Op::Rem.eval(&[a.to_bits(), b.to_bits()])),
                };
                assert!(lo <= r && r <= hi, "{a:e} {b:e}: {r:e} is not in [{lo:e}, {hi:e}]");
                let sign = if is_floored { b } else { a };
                beyond[usize::from(is_floored)] += usize::from(r * sign < 0.0);
            }
        }
        beyond
    }

    /// Checks remainders where quotients are rounded to integers, and those of any floats.
    fn check_many(count: usize, seed: u64) {
        let mut random = Random::new(seed);
        let mut beyond = [0; 2];
        for k in 0..count {
            let (a, b) = if k % 8 < 6 {
                let b = f32::from_bits(random.bits() as u32 & 0x07ff_ffff | 0x3c00_0000);
                let bits = random.below(24);
                let t = random.below(1 << bits) as f32;
                let a = t * b;
                (f32::from_bits((a.to_bits() + random.below(5) as u32).saturating_sub(2)), b)
            } else {
                let mut any = || f32::from_bits(random.bits() as u32 & 0x7fff_ffff);
                (any(), any())
            };
            if a.is_nan() || b.is_nan() {
                continue;
            }
            let [a, b] = [[a, b], [-a, b], [a, -b], [-a, -b]][k % 4];
            let mut range = |x: f32| {
                let other = x * [1.0, 1.0, 0.5, 1.5][random.below(4)];
                [x.min(other), x.max(other)]
            };
            let found = check(range(a), range(b), &mut random);
            beyond = [0, 1].map(|k| beyond[k] + found[k]);
        }
        // Signs are wrong where a quotient is rounded up.
        assert!(beyond.iter().all(|&beyond| beyond > 0), "{beyond:?}");
    }

    #[test]
    fn limits_hold_for_members() {
        check_many(400_000, 4);
    }

    #[test]
    #[ignore = "takes minutes: cargo test -p lightbound-shader --release --lib remainder -- --ignored"]
    fn limits_hold_for_many_members() {
        check_many(10_000_000, 5);
    }

    /// Checks x · k − b · ⌊x · c⌋ and the like, with rounded constants c, near multiples of b.
    fn check_products(count: usize, seed: u64) {
        let mut random = Random::new(seed);
        let mut beyond = 0;
        for _ in 0..count {
            let mut constant = || {
                let x = f32::from_bits(random.bits() as u32 & 0x87ff_ffff | 0x3c00_0000);
                if random.once_in(2) { x } else { (x * 16.0).round().max(1.0) / 4.0 }
            };
            let (b, k) = (constant(), constant());
            let inverse = 1.0 / b;
            let k = if random.once_in(2) { 1.0 } else { k };
            let c = k * inverse;
            if (f64::from(b) * f64::from(c) / f64::from(k) - 1.0).abs() > 3.0 / f64::from(1 << 24) {
                continue;
            }
            let bits = random.below(24);
            let x = match random.below(8) {
                0 => f32::from_bits(random.below(9) as u32),
                _ => random.below(1 << bits) as f32 * (b / k).abs(),
            };
            let x = f32::from_bits((x.to_bits() + random.below(5) as u32).saturating_sub(2));
            let x = if random.once_in(2) { -x } else { x };
            let other = x * [1.0, 1.0, 0.5, 1.5][random.below(4)];
            let (a, end) = (x * k, other * k);
            for is_floored in [false, true] {
                let range = [a.min(end), a.max(end)];
                let limits = remainder_limits(range, [b; 2], is_floored, Slack::Product);
                let Some([lo, hi]) = limits else { continue };
                let quotient = x * c;
                let t = if is_floored { quotient.floor() } else { quotient.trunc() };
                let r = a - b * t;
                assert!(lo <= r && r <= hi, "{x:e} {k:e} {b:e}: {r:e} is not in [{lo:e}, {hi:e}]");
                beyond += usize::from(r * b < 0.0);
            }
        }
        assert!(beyond > count / 100, "{beyond}");
    }

    #[test]
    fn limits_hold_for_products_with_rounded_constants() {
        check_products(400_000, 6);
    }

    #[test]
    #[ignore = "takes minutes: cargo test -p lightbound-shader --release --lib remainder -- --ignored"]
    fn limits_hold_for_many_products_with_rounded_constants() {
        check_products(100_000_000, 7);
    }

    #[test]
    fn limits_are_close_to_the_divisor() {
        let [lo, hi] =
            remainder_limits([0.0, 100.0], [3.0; 2], false, Slack::Quotient).expect("finite");
        assert!((-1e-4..=0.0).contains(&lo) && (3.0..3.0001).contains(&hi), "{lo} {hi}");
        assert_eq!(remainder_limits([0.0, 1.0], [-1.0, 1.0], false, Slack::Quotient), None);
    }
}
