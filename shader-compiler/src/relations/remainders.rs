//! Remainders a % b = a − b · trunc(a ÷ b), and the other usual one, a − b · ⌊a ÷ b⌋. Interval
//! arithmetic takes the quotient to be independent of a, so that the difference has the width of
//! both. But the remainder of a truncated quotient is at most |b| and at most |a| in magnitude, with
//! the sign of a. That of a floor has the sign of b. All modes clamp the endpoints accordingly: by
//! constants, and by the endpoints of a and b where these say more. The proof is at
//! [`remainder_limits`].
//!
//! A quotient by a constant is a product with its rounded inverse, into which the builder also
//! merges other constant factors. Such quotients are recognized by their constants.

mod integers;
mod limits;

use super::{PointShader, Refinement, RelationInfo};
use crate::analysis::transfer::{Slack, remainder_limits};
use crate::interval::{Bounds, Floats};
use crate::ir::function::for_each_stmt;
use crate::ir::{Function, Op, Stmt, Value};
pub use integers::IntegerRemainder;
pub use limits::RemainderLimits;

/// A remainder of floats.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Remainder {
    value: Value,
    a: Value,
    b: Value,
    /// Whether the divisor is −b.
    negates_b: bool,
    /// Whether the quotient is rounded down, not towards 0.
    is_floored: bool,
    slack: Slack,
}

/// The remainders of a function.
pub(super) struct Candidates {
    floats: Vec<Remainder>,
    integers: Vec<IntegerRemainder>,
}

impl Candidates {
    /// Finds the remainders among the intervals.
    pub(super) fn find(function: &Function, is_interval: &[bool]) -> Candidates {
        let mut candidates = Candidates { floats: vec![], integers: vec![] };
        for_each_stmt(&function.body, &mut |stmt| {
            let Stmt::Op(value) = stmt else { return };
            if is_interval[value.index()] {
                candidates.floats.extend(remainder(function, *value));
                candidates.integers.extend(IntegerRemainder::by_shifts(function, *value));
            }
        });
        candidates
    }

    pub(super) fn is_empty(&self) -> bool {
        self.floats.is_empty() && self.integers.is_empty()
    }
}

fn remainder(function: &Function, value: Value) -> Option<Remainder> {
    let (sums, negates_b) = match function.operation(value)? {
        (Op::Rem, &[a, b]) => {
            let (negates_b, is_floored, slack) = (false, false, Slack::Quotient);
            return Some(Remainder { value, a, b, negates_b, is_floored, slack });
        }
        (Op::Sub, &[a, product]) => (vec![[a, product]], false),
        (Op::Add, &[a, product]) => (vec![[a, product], [product, a]], true),
        _ => return None,
    };
    sums.into_iter().find_map(|[a, product]| {
        let (Op::Mul, &[x, y]) = function.operation(product)? else { return None };
        [[x, y], [y, x]].into_iter().find_map(|[b, rounded]| {
            let (is_floored, quotient) = match function.operation(rounded)? {
                (Op::Floor, &[quotient]) => (true, quotient),
                (Op::Trunc, &[quotient]) => (false, quotient),
                _ => return None,
            };
            let slack = quotient_slack(function, [a, b], negates_b, quotient)?;
            Some(Remainder { value, a, b, negates_b, is_floored, slack })
        })
    })
}

/// The slack of the remainder if a value is the quotient a ÷ b, or a ÷ −b.
fn quotient_slack(
    function: &Function,
    [a, b]: [Value; 2],
    negates_b: bool,
    quotient: Value,
) -> Option<Slack> {
    match function.operation(quotient) {
        Some((Op::Div, &[x, y])) if [x, y] == [a, b] && !negates_b => return Some(Slack::Quotient),
        _ => {}
    }
    let b = f64::from(number(function, b).filter(|b| b.is_normal())?);
    let b = if negates_b { -b } else { b };
    let products =
        scaled(function, a).flat_map(|a| scaled(function, quotient).map(move |q| (a, q)));
    products.filter(|((x, _), (y, _))| x == y).find_map(|((x, k), (_, c))| {
        // The product of two floats is exact.
        let error = (b * c - k).abs();
        match () {
            // The inverse of a power of two.
            () if error == 0.0 && x == a => Some(Slack::Quotient),
            () if error <= 3.0 / f64::from(1 << 24) * k.abs() => Some(Slack::Product),
            () => None,
        }
    })
}

/// The ways to write a value as a product of a value and a constant.
fn scaled(function: &Function, value: Value) -> impl Iterator<Item = (Value, f64)> {
    let factors = match function.operation(value) {
        Some((Op::Mul, &[x, y])) => vec![[x, y], [y, x]],
        _ => vec![],
    };
    let scaled = factors.into_iter().filter_map(|[x, constant]| {
        let constant = number(function, constant).filter(|constant| constant.is_normal())?;
        Some((x, f64::from(constant)))
    });
    std::iter::once((value, 1.0)).chain(scaled)
}

fn number(function: &Function, value: Value) -> Option<f32> {
    function.constant(value).map(f32::from_bits)
}

/// Limits remainders of finite quotients, and those of integers.
pub(super) fn find(point: &PointShader<'_>, candidates: &Candidates, related: &mut RelationInfo) {
    for remainder in &candidates.floats {
        let (Some(a), Some(b)) = (point.hull(remainder.a), point.hull(remainder.b)) else {
            continue;
        };
        let b = if remainder.negates_b { [-b[1], -b[0]] } else { b };
        if let Some(limits) = remainder_limits(a, b, remainder.is_floored, remainder.slack)
            && let Some([lo, hi]) = point.hull(remainder.value)
            && (lo < limits[0] || limits[1] < hi)
        {
            let set = Bounds::Float(Floats::between(limits[0], limits[1]));
            related.add(point, remainder.value, Refinement::Clamp(limits), set);
        }
        if let Some((limits, set)) = RemainderLimits::of(point, remainder, [a, b]) {
            related.add(point, remainder.value, Refinement::Remainder(limits), set);
        }
    }
    for integer in &candidates.integers {
        let Some(set) = integer.members(&point.bounds) else { continue };
        let value = integer.value();
        if point.bounds[value.index()].meet(&set) != point.bounds[value.index()] {
            related.add(point, value, Refinement::IntegerRemainder(*integer), set);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interval::Nan;
    use crate::ir::text::parse;
    use crate::random::Random;
    use crate::relations::Relations;
    use crate::relations::testing::{Bounder, members};

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
                let members = members(&mut random, endpoints, 40, 1024);
                let bounds = bounder.run(&endpoints, &members)[0];
                let most = (b[0] + b[1].abs()) * 1.01 + 0.01 * scale;
                tight += usize::from(bounds.iter().all(|end| end.abs() <= most));
            }
        }
        assert!(tight > 11_000, "{tight}");
    }

    #[test]
    fn remainders_are_recognized() {
        for (body, is_floored) in [
            (REMAINDER, Some(false)),
            (FLOORED, Some(true)),
            (TRUNCATED, Some(false)),
            ("%q = div %b, %a %f = floor %q %p = mul %b, %f %r = sub %a, %p", None),
            ("%q = mul %a, 4.0 %f = floor %q %p = mul %f, 0.25 %r = sub %a, %p", Some(true)),
            ("%q = mul %a, 3.0 %f = floor %q %p = mul %f, 0.33333334 %r = sub %a, %p", Some(true)),
            ("%q = mul %a, 3.0 %f = floor %q %p = mul %f, 0.3333334 %r = sub %a, %p", None),
            ("%q = mul %a, 0.33333334 %f = trunc %q %p = mul 3.0, %f %r = sub %a, %p", Some(false)),
            ("%q = mul %a, 0.33333334 %f = floor %q %p = mul %f, -3.0 %r = add %a, %p", Some(true)),
            ("%q = mul %a, 0.33333334 %f = floor %q %p = mul %f, -3.0 %r = sub %a, %p", None),
            // y is multiplied by 0.5 for a.
            ("%q = mul y, 0.16666667 %f = floor %q %p = mul %f, 3.0 %r = sub %1, %p", Some(true)),
            ("%q = mul y, 0.16666667 %f = floor %q %p = mul %f, 3.0 %r = sub %a, %p", None),
            ("%f = floor y %p = mul %f, 0.5 %r = sub %1, %p", Some(true)),
        ] {
            let function = parse(&text([1.0, 0.0], [0.5, 1.0], body)).unwrap();
            let found = Candidates::find(&function, &vec![true; function.len()]);
            let found: Vec<_> = found.floats.iter().map(|found| found.is_floored).collect();
            assert_eq!(found, is_floored.into_iter().collect::<Vec<_>>(), "{body}");
        }
    }
}
