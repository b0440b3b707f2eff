//! Tighter transfer functions of operations on scalars: no lowering widens their results.

use super::{Slack, remainder_limits};
use crate::interval::{Bounds, Floats, Ints, Pieces};
use crate::ir::Op;

/// The part of `bounds` that an operation on scalars can return.
pub(crate) fn transfer_scalars(op: Op, args: &[Bounds], bounds: Bounds) -> Bounds {
    match args {
        [Bounds::Int(a), Bounds::Int(b)] => scalar_ints(op, [a, b], bounds),
        [Bounds::Float(a), Bounds::Float(b)] if op == Op::Rem => {
            let (Some(a), Some(b)) = (a.pieces.hull(), b.pieces.hull()) else { return bounds };
            let limits = remainder_limits(a, b, false, Slack::Quotient);
            let floats = limits.map(|[lo, hi]| Floats { nan: true, ..Floats::between(lo, hi) });
            floats.map_or(bounds, |floats| bounds.meet(&Bounds::Float(floats)))
        }
        _ => bounds,
    }
}

fn scalar_ints(op: Op, [a, b]: [&Ints; 2], bounds: Bounds) -> Bounds {
    let tight = match op {
        Op::Shl | Op::LShr | Op::AShr => shifted(op, a, b),
        Op::And | Op::Or | Op::Xor => Some(bitwise(op, a, b)),
        _ => None,
    };
    match tight.map(|tight| bounds.meet(&Bounds::Int(tight))) {
        Some(both) if !both.is_empty() => both,
        _ => bounds,
    }
}

/// The results at the corners of each pair of pieces; `None` if a shift count is not within 0 to
/// 31, or if significant bits may be lost.
fn shifted(op: Op, a: &Ints, b: &Ints) -> Option<Ints> {
    let [least, greatest] = b.hull()?;
    if least < 0 || greatest > 31 {
        return None;
    }
    let mut results = Pieces::empty();
    for [a, c] in a.iter() {
        if op == Op::LShr && a < 0 {
            // Negative integers are great unsigned ones, which fit if they are shifted at all.
            let max = u32::MAX.checked_shr(least as u32).filter(|_| least > 0)?;
            results.add(0, max as i32);
            continue;
        }
        for [b, d] in b.iter() {
            let (mut low, mut high) = (i64::MAX, i64::MIN);
            for [x, count] in [[a, b], [a, d], [c, b], [c, d]] {
                let x = i64::from(x);
                let result = if op == Op::Shl { x << count } else { x >> count };
                (low, high) = (low.min(result), high.max(result));
            }
            results.add(low.try_into().ok()?, high.try_into().ok()?);
        }
    }
    Some(results)
}

/// The ranges of bitwise operations, exact for each pair of pieces with one sign.
fn bitwise(op: Op, a: &Ints, b: &Ints) -> Ints {
    let mut results = Pieces::empty();
    for a in with_one_sign(a) {
        for b in with_one_sign(b) {
            let [low, high] = match op {
                Op::And => complements(bounds_of_or(complements(a), complements(b))),
                Op::Or => bounds_of_or(a, b),
                _ => bounds_of_xor(a, b),
            };
            results.add(low as i32, high as i32);
        }
    }
    results
}

/// Pieces split at 0, as unsigned integers.
fn with_one_sign(a: &Ints) -> Vec<[u32; 2]> {
    let halves = [a.within(i32::MIN, -1), a.within(0, i32::MAX)];
    halves
        .iter()
        .flat_map(|half| half.iter().map(|piece| piece.map(|x| x as u32)).collect::<Vec<_>>())
        .collect()
}

/// The complements of a range, so that a & b = !(!a | !b).
fn complements([low, high]: [u32; 2]) -> [u32; 2] {
    [!high, !low]
}

/// The least and the greatest a | b for a and b in ranges.
fn bounds_of_or([a, c]: [u32; 2], [b, d]: [u32; 2]) -> [u32; 2] {
    // The least one: where only one of the least operands has a bit, the other one may take it
    // instead, and have zeros below.
    let mut least = a | b;
    for [low, high, other] in [[a, c, b], [b, d, a]] {
        for bit in (0..32).map(|k| 1u32 << k).filter(|bit| other & bit != 0 && low & bit == 0) {
            let raised = (low | bit) & bit.wrapping_neg();
            if raised <= high {
                least = least.min(raised | other);
            }
        }
    }
    // The greatest one: where both greatest operands have a bit, one may leave it to the other, and
    // have ones below.
    let mut greatest = c | d;
    for [low, high, other] in [[a, c, d], [b, d, c]] {
        for bit in (0..32).map(|k| 1u32 << k).filter(|bit| high & other & bit != 0) {
            let lowered = (high & !bit) | (bit - 1);
            if lowered >= low {
                greatest = greatest.max(lowered | other);
            }
        }
    }
    [least, greatest]
}

/// Bounds on a ^ b: the bits above the highest one in which members differ are known.
fn bounds_of_xor([a, c]: [u32; 2], [b, d]: [u32; 2]) -> [u32; 2] {
    let varying = (a ^ c) | (b ^ d);
    let unknown = u32::MAX.checked_shr(varying.leading_zeros()).unwrap_or(0);
    let value = a ^ b;
    [value & !unknown, value | unknown]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Type;
    use crate::random::Random;

    #[test]
    fn results_of_small_ranges_are_within_bounds_and_often_exact() {
        let mut random = Random::new(25);
        let (mut exact, mut all) = ([0; 6], [0; 6]);
        let ops = [Op::Shl, Op::LShr, Op::AShr, Op::And, Op::Or, Op::Xor];
        for _ in 0..4000 {
            for (k, &op) in ops.iter().enumerate() {
                let mut range = |first: i32, size: usize| {
                    let low = first + random.below(size as _) as i32;
                    [low, low + random.below(12) as i32]
                };
                let a = range(-20, 40);
                let b = if k < 3 { range(0, 20) } else { range(-20, 40) };
                let scale = if k < 3 && a[0] & 1 != 0 { 1 << 24 } else { 1 };
                let a = a.map(|x| x * scale);
                let [x, y] = [a, b].map(|[low, high]| Pieces::one(low, high));
                let Bounds::Int(bounds) = scalar_ints(op, [&x, &y], Bounds::all(Type::I32)) else {
                    panic!("results are integers");
                };
                let (mut low, mut high) = (i32::MAX, i32::MIN);
                for x in a[0]..=a[1].min(a[0] + 12) {
                    for y in b[0]..=b[1] {
                        let result = op.eval(&[x as u32, y as u32]) as i32;
                        assert!(bounds.contains(result), "{x} {} {y}: {bounds:?}", op.name());
                        (low, high) = (low.min(result), high.max(result));
                    }
                }
                all[k] += 1;
                exact[k] += u32::from(bounds.hull() == Some([low, high]));
            }
        }
        // For bits and small operands, ranges are exact for each sign.
        assert_eq!([exact[3], exact[4]], [all[3], all[4]]);
        assert!(exact[5] * 4 > all[5], "{exact:?}");
    }
}
