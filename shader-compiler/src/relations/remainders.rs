//! Remainders a % b = a − b · trunc(a ÷ b), and the other usual one, a − b · ⌊a ÷ b⌋. Interval
//! arithmetic takes the quotient to be independent of a, so that the difference has the width of
//! both. But the remainder of a truncated quotient is at most |b| and at most |a| in magnitude, with
//! the sign of a. That of a floor has the sign of b. All modes clamp the endpoints accordingly.
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

use super::{PointShader, Refinement, RelationInfo};
use crate::interval::{Bounds, Floats};
use crate::ir::function::for_each_stmt;
use crate::ir::{Function, Op, Stmt, Value};

/// Magnitude up to which a, b and their quotient cannot overflow.
const MAX_MAGNITUDE: f64 = 1e37;

/// A remainder.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Remainder {
    value: Value,
    a: Value,
    b: Value,
    /// Whether the quotient is rounded down, not towards 0.
    is_floored: bool,
}

/// Finds the remainders among the intervals.
pub(super) fn candidates(function: &Function, is_interval: &[bool]) -> Vec<Remainder> {
    let mut found = vec![];
    for_each_stmt(&function.body, &mut |stmt| {
        let Stmt::Op(value) = stmt else { return };
        if is_interval[value.index()] {
            found.extend(remainder(function, *value));
        }
    });
    found
}

fn remainder(function: &Function, value: Value) -> Option<Remainder> {
    let (a, product) = match function.operation(value)? {
        (Op::Rem, &[a, b]) => return Some(Remainder { value, a, b, is_floored: false }),
        (Op::Sub, &[a, product]) => (a, product),
        _ => return None,
    };
    let (Op::Mul, &[x, y]) = function.operation(product)? else { return None };
    [[x, y], [y, x]].into_iter().find_map(|[b, rounded]| {
        let (is_floored, quotient) = match function.operation(rounded)? {
            (Op::Floor, &[quotient]) => (true, quotient),
            (Op::Trunc, &[quotient]) => (false, quotient),
            _ => return None,
        };
        let number = |value: Value| function.constant(value).map(f32::from_bits);
        let is_quotient = match function.operation(quotient)? {
            (Op::Div, &[x, y]) => x == a && y == b,
            // The reciprocal of a power of two is exact.
            (Op::Mul, &[x, y]) => [[x, y], [y, x]].into_iter().any(|[x, factor]| {
                let is_inverse = |(b, factor): (f32, f32)| {
                    let is_power_of_two = b.is_normal() && b.to_bits().trailing_zeros() >= 23;
                    is_power_of_two && b * factor == 1.0
                };
                x == a && number(b).zip(number(factor)).is_some_and(is_inverse)
            }),
            _ => false,
        };
        is_quotient.then_some(Remainder { value, a, b, is_floored })
    })
}

/// Limits remainders of finite quotients.
pub(super) fn find(point: &PointShader<'_>, candidates: &[Remainder], related: &mut RelationInfo) {
    for remainder in candidates {
        let (Some(a), Some(b)) = (point.hull(remainder.a), point.hull(remainder.b)) else {
            continue;
        };
        let Some(limits) = remainder.limits(a, b) else { continue };
        let Some([lo, hi]) = point.hull(remainder.value) else { continue };
        if lo < limits[0] || limits[1] < hi {
            let set = Bounds::Float(Floats::between(limits[0], limits[1]));
            related.add(point, remainder.value, Refinement::Clamp(limits), set);
        }
    }
}

impl Remainder {
    /// Limits of the remainder for bounds of a and b; `None` if the quotient may be infinite.
    fn limits(&self, a: [f32; 2], b: [f32; 2]) -> Option<[f32; 2]> {
        let [a, b] = [a, b].map(|ends| ends.map(f64::from));
        let [max_a, max_b] = [a, b].map(|[lo, hi]| lo.abs().max(hi.abs()));
        let min_b = b[0].max(-b[1]);
        if min_b <= 0.0 || [max_a, max_b, max_a / min_b].into_iter().any(|x| x > MAX_MAGNITUDE) {
            return None;
        }
        let slack = (max_a + max_b) / f64::from(1 << 21) + f64::from(f32::MIN_POSITIVE);
        let most = max_b + slack;
        let [lo, hi] = if !self.is_floored {
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interval::Nan;
    use crate::ir::text::parse;
    use crate::random::Random;
    use crate::relations::Relations;
    use crate::relations::testing::Bounder;

    const REMAINDER: &str = "%r = rem %a, %b";
    const FLOORED: &str = "%q = div %a, %b %f = floor %q %p = mul %b, %f %r = sub %a, %p";
    const TRUNCATED: &str = "%q = div %a, %b %f = trunc %q %p = mul %f, %b %r = sub %a, %p";

    /// A function of x and y from −1 to 1: a remainder of multiples of them, with offsets.
    fn text(a: [f32; 2], b: [f32; 2], remainder: &str) -> String {
        let [[a, c], [b, d]] = [a, b].map(|pair| pair.map(|x| format!("{x:?}")));
        format!(
            "fn f(x: f32, y: f32) -> (r: f32) {{
               %0 = mul x, {a} %a = add %0, {c} %1 = mul y, {b} %b = add %1, {d}
               {remainder}
               return %r
             }}"
        )
    }

    #[test]
    fn bounds_contain_the_remainders_of_members() {
        let mut random = Random::new(9);
        let mut tight = 0;
        for round in 0..600 {
            let scale = *random.pick(&[1.0, 8.0, 1e4, 3e-3]);
            let a = [scale, *random.pick(&[0.0, 2.0 * scale, -2.0 * scale, 0.3])];
            let width = *random.pick(&[1e-6, 0.25, 0.9]);
            let b = *random.pick(&[[width, 1.0], [width, -1.0], [3.0 * width, 3.0]]);
            let remainder = *random.pick(&[REMAINDER, FLOORED, TRUNCATED]);
            let text = text(a, b, remainder);
            let nan = *random.pick(&[Nan::Propagate, Nan::Suppress, Nan::Ignore]);
            let relations = if round % 2 == 0 { Relations::NONE } else { Relations::all() };
            let bounder = Bounder::new(&text, &[None; 2], relations, nan);
            for _ in 0..20 {
                let mut range = || {
                    let [x, y] = [0; 2].map(|_| random.below(2001) as f32 / 1000.0 - 1.0);
                    if random.once_in(3) { [x, x] } else { [x.min(y), x.max(y)] }
                };
                let endpoints = [range(), range()];
                let members: Vec<[f32; 2]> = (0..40)
                    .map(|_| {
                        endpoints.map(|[lo, hi]| {
                            let t = random.below(1025) as f32 / 1024.0;
                            (lo + t * (hi - lo)).clamp(lo, hi)
                        })
                    })
                    .collect();
                let bounds = bounder.run(&endpoints, &members)[0];
                let most = (b[0] + b[1].abs()) * 1.01 + 0.01 * scale;
                tight += usize::from(bounds.iter().all(|end| end.abs() <= most));
            }
        }
        assert!(tight > 11_000, "{tight}");
    }

    #[test]
    fn limits_hold_where_quotients_are_rounded_to_integers() {
        let mut random = Random::new(4);
        let count = 400_000;
        let mut beyond = [0; 2];
        for k in 0..count {
            let b = f32::from_bits(random.bits() as u32 & 0x07ff_ffff | 0x3c00_0000);
            let bits = random.below(24);
            let t = random.below(1 << bits) as f32;
            let a = t * b;
            let a = f32::from_bits((a.to_bits() + random.below(5) as u32).saturating_sub(2));
            let [a, b] = [[a, b], [-a, b], [a, -b], [-a, -b]][k % 4];
            for is_floored in [false, true] {
                let q = a / b;
                let r = a - b * if is_floored { q.floor() } else { q.trunc() };
                let unused = Value(0);
                let remainder = Remainder { value: unused, a: unused, b: unused, is_floored };
                let [lo, hi] = remainder.limits([a; 2], [b; 2]).expect("it is finite");
                assert!(lo <= r && r <= hi, "{a:e} {b:e}: {r:e} is not in [{lo:e}, {hi:e}]");
                let sign = if is_floored { b } else { a };
                beyond[usize::from(is_floored)] += usize::from(r * sign < 0.0);
            }
        }
        // Signs are wrong where a quotient is rounded up.
        assert!(beyond.iter().all(|&beyond| beyond > 0), "{beyond:?}");
    }

    #[test]
    fn remainders_are_recognized() {
        for (body, is_floored) in [
            (REMAINDER, Some(false)),
            (FLOORED, Some(true)),
            (TRUNCATED, Some(false)),
            ("%q = div %b, %a %f = floor %q %p = mul %b, %f %r = sub %a, %p", None),
            ("%q = mul %a, 4.0 %f = floor %q %p = mul %f, 0.25 %r = sub %a, %p", Some(true)),
            ("%q = mul %a, 3.0 %f = floor %q %p = mul %f, 0.33333334 %r = sub %a, %p", None),
        ] {
            let function = parse(&text([1.0, 0.0], [0.5, 1.0], body)).unwrap();
            let found = candidates(&function, &vec![true; function.len()]);
            let found: Vec<_> = found.iter().map(|found| found.is_floored).collect();
            assert_eq!(found, is_floored.into_iter().collect::<Vec<_>>(), "{body}");
        }
    }
}
