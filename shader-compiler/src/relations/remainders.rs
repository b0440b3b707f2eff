//! Remainders a % b = a − b · trunc(a ÷ b), and the other usual one, a − b · ⌊a ÷ b⌋. Interval
//! arithmetic takes the quotient to be independent of a, so that the difference has the width of
//! both. But the remainder of a truncated quotient is at most |b| and at most |a| in magnitude, with
//! the sign of a. That of a floor has the sign of b. All modes clamp the endpoints accordingly.
//! The proof is at [`remainder_limits`].

use super::{PointShader, Refinement, RelationInfo};
use crate::analysis::transfer::remainder_limits;
use crate::interval::{Bounds, Floats, Pieces};
use crate::ir::function::for_each_stmt;
use crate::ir::{Function, Op, Stmt, Value};

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

/// Bounds on remainders of integers by powers of two, which the builder turns into shifts. They hold
/// for values, not for the endpoints of interval lowerings.
pub(crate) fn of_integers(function: &Function, bounds: &[Bounds]) -> Vec<(Value, Bounds)> {
    let bounds_of = |value: Value| {
        let (x, n) = remainder_by_shifts(function, value)?;
        let [lo, hi] = bounds[x.index()].ints().hull()?;
        let max = (1 << n) - 1;
        // Quotients of negative integers are rounded up or down.
        let [lo, hi] = if lo < 0 { [lo.max(-max), max] } else { [0, hi.min(max)] };
        Some((value, Bounds::Int(Pieces::one(lo, hi))))
    };
    (0..function.len() as u32).filter_map(|value| bounds_of(Value(value))).collect()
}

/// x and n of x − ((x + bias) >> n << n), where the bias is 2ⁿ − 1 for negative x, else 0, or always 0.
fn remainder_by_shifts(function: &Function, value: Value) -> Option<(Value, u32)> {
    let args = |op: Op, value: Value| match function.operation(value) {
        Some((found, &[a, b])) if found == op => Some([a, b]),
        _ => None,
    };
    let [x, multiple] = args(Op::ISub, value)?;
    let [quotient, n] = args(Op::Shl, multiple)?;
    let n = function.constant(n).filter(|n| (1..=30).contains(n))?;
    let [sum, shift] = args(Op::AShr, quotient)?;
    let has = |value: Value, expected: u32| function.constant(value) == Some(expected);
    // Without the bias, the quotient is rounded down; it is left out if x is known not to be negative.
    if sum == x && has(shift, n) {
        return Some((x, n));
    }
    let [a, b] = args(Op::IAdd, sum)?;
    let [sign, rest] = args(Op::LShr, if a == x { b } else { a })?;
    let [signed, top] = args(Op::AShr, sign)?;
    let is_remainder =
        (a == x || b == x) && signed == x && has(shift, n) && has(rest, 32 - n) && has(top, 31);
    is_remainder.then_some((x, n))
}

/// Limits remainders of finite quotients.
pub(super) fn find(point: &PointShader<'_>, candidates: &[Remainder], related: &mut RelationInfo) {
    for remainder in candidates {
        let (Some(a), Some(b)) = (point.hull(remainder.a), point.hull(remainder.b)) else {
            continue;
        };
        let Some(limits) = remainder_limits(a, b, remainder.is_floored) else { continue };
        let Some([lo, hi]) = point.hull(remainder.value) else { continue };
        if lo < limits[0] || limits[1] < hi {
            let set = Bounds::Float(Floats::between(limits[0], limits[1]));
            related.add(point, remainder.value, Refinement::Clamp(limits), set);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::{Builder, Rules};
    use crate::interval::Nan;
    use crate::ir::text::parse;
    use crate::ir::{Def, Emit, Type};
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
    fn bounds_on_integers_contain_remainders() {
        for (lo, hi, n, expected) in
            [(0, 100, 2, [0, 1]), (-5, 2, 8, [-5, 7]), (-9, 100, 4, [-3, 3]), (3, 3, -4, [-3, 3])]
        {
            let mut builder = Builder::new("f", Rules::Exact);
            let x = builder.input("x", Type::I32);
            let n = builder.i32(n);
            let remainder = builder.op(Op::SRem, &[x, n]);
            let function = builder.finish([("r".to_owned(), remainder)]);
            let bounds: Vec<_> = function
                .values
                .iter()
                .map(|data| match data.def {
                    Def::Input(_) => Bounds::Int(Pieces::one(lo, hi)),
                    _ => Bounds::all(data.ty),
                })
                .collect();
            match of_integers(&function, &bounds)[..] {
                [(value, Bounds::Int(ints))] => {
                    assert_eq!((value, ints.hull()), (remainder, Some(expected)));
                }
                // A negative divisor is no power of two.
                [] => assert_eq!(lo, 3),
                _ => panic!("there is one remainder"),
            }
        }
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
