//! Limits of remainders a − b · trunc(a ÷ b), and a − b · ⌊a ÷ b⌋, in floats.
//!
//! The remainder of a truncated quotient is at most |b| and at most |a| in magnitude, with the sign
//! of a. That of a floor has the sign of b.
//!
//! # Rounding
//!
//! Let u = 2⁻²⁴, q the quotient in floats, and t = trunc(q) or ⌊q⌋. a = bq (1 + θ) with |θ| ≤ 1.01u,
//! unless q is subnormal; then a − bt is a or, if q < 0, a + b, which is within the bounds.
//! 0 ≤ |q − t| < 1, so a − bt is b (q − t) up to 1.01u |a|. The product bt has a relative error of u
//! and an absolute one of 2⁻¹⁵⁰, and |bt| ≤ |a| (1 + 3u) + |b|. So the difference before rounding is
//! between 0 and b up to 2.1u |a| + 1.1u |b| + 2⁻¹⁵⁰. Its rounding adds a relative error of u. All of
//! that is below 2⁻²¹ (|a| + |b|) + 2⁻¹²⁶. If t is truncated, bt has the sign of a, so |a| is a limit
//! exactly. Static bounds rule out overflow.

/// Magnitude up to which a, b and their quotient cannot overflow.
const MAX_MAGNITUDE: f64 = 1e37;

/// Limits of the remainder for bounds of a and b; `None` if the quotient may be infinite.
/// `is_floored` says whether it is rounded down, not towards 0.
pub(crate) fn remainder_limits(a: [f32; 2], b: [f32; 2], is_floored: bool) -> Option<[f32; 2]> {
    let [a, b] = [a, b].map(|ends| ends.map(f64::from));
    let [max_a, max_b] = [a, b].map(|[lo, hi]| lo.abs().max(hi.abs()));
    let min_b = b[0].max(-b[1]);
    if min_b <= 0.0 || [max_a, max_b, max_a / min_b].into_iter().any(|x| x > MAX_MAGNITUDE) {
        return None;
    }
    let slack = (max_a + max_b) / f64::from(1 << 21) + f64::from(f32::MIN_POSITIVE);
    let most = max_b + slack;
    let [lo, hi] = if !is_floored {
        // Zero has no remainder.
        let side = |end: f64| if end > 0.0 { end.min(most).max(slack) } else { slack };
        [-side(-a[0]), side(a[1])]
    } else if b[0] > 0.0 {
        [-slack, if a[0] >= 0.0 { a[1].min(most).max(slack) } else { most }]
    } else {
        [if a[1] <= 0.0 { a[0].max(-most).min(-slack) } else { -most }, slack]
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
            let Some([lo, hi]) = remainder_limits(a, b, is_floored) else { continue };
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

    #[test]
    fn limits_are_close_to_the_divisor() {
        let [lo, hi] = remainder_limits([0.0, 100.0], [3.0; 2], false).expect("it is finite");
        assert!((-1e-4..=0.0).contains(&lo) && (3.0..3.0001).contains(&hi), "{lo} {hi}");
        assert_eq!(remainder_limits([0.0, 1.0], [-1.0, 1.0], false), None);
    }
}
