//! Remainders of integers by powers of two, which the builder turns into shifts:
//! x − ((x + bias) >> n << n), where the bias is 2ⁿ − 1 for negative x, else 0. Without a bias, the
//! quotient is rounded down. Intervals take the two operands of the difference to be independent.
//! Remainders by other integers are operations of their own, with a lowering that has these limits.

use crate::interval::{Bounds, Pieces};
use crate::ir::{Emit, Function, Op, Value};
use crate::math::EmitExt;

/// The remainder of x by 2ⁿ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IntegerRemainder {
    value: Value,
    x: Value,
    /// 2ⁿ − 1.
    max: i32,
    /// Whether the quotient is rounded down, not towards 0.
    is_floored: bool,
}

impl IntegerRemainder {
    /// Recognizes a remainder.
    pub(super) fn by_shifts(function: &Function, value: Value) -> Option<IntegerRemainder> {
        let args = |op: Op, value: Value| match function.operation(value) {
            Some((found, &[a, b])) if found == op => Some([a, b]),
            _ => None,
        };
        let [x, multiple] = args(Op::ISub, value)?;
        let [quotient, n] = args(Op::Shl, multiple)?;
        let n = function.constant(n).filter(|n| (1..=30).contains(n))?;
        let max = (1 << n) - 1;
        let [sum, shift] = args(Op::AShr, quotient)?;
        let has = |value: Value, expected: u32| function.constant(value) == Some(expected);
        // The bias is left out if x is known not to be negative.
        if sum == x && has(shift, n) {
            return Some(IntegerRemainder { value, x, max, is_floored: true });
        }
        let [a, b] = args(Op::IAdd, sum)?;
        let [sign, rest] = args(Op::LShr, if a == x { b } else { a })?;
        let [signed, top] = args(Op::AShr, sign)?;
        let is_remainder =
            (a == x || b == x) && signed == x && has(shift, n) && has(rest, 32 - n) && has(top, 31);
        is_remainder.then_some(IntegerRemainder { value, x, max, is_floored: false })
    }

    pub(super) fn value(&self) -> Value {
        self.value
    }

    /// The members, for the bounds of all values.
    pub(super) fn members(&self, bounds: &[Bounds]) -> Option<Bounds> {
        let [lo, hi] = bounds[self.x.index()].ints().hull()?;
        let [lo, hi] = match lo < 0 {
            true if self.is_floored => [0, self.max],
            // Zero has no remainder.
            true => [lo.max(-self.max), hi.clamp(0, self.max)],
            false => [0, hi.min(self.max)],
        };
        Some(Bounds::Int(Pieces::one(lo, hi)))
    }

    /// The values from which the endpoints are computed.
    pub fn sources(&self) -> Vec<Value> {
        vec![self.x]
    }

    /// Emits the endpoints.
    pub fn endpoints<E: Emit>(
        &self,
        emit: &mut E,
        of: impl Fn(Value) -> [E::Value; 2],
    ) -> [E::Value; 2] {
        let [zero, most, least] = [0, self.max, -self.max].map(|x| emit.i32(x));
        if self.is_floored {
            return [zero, most];
        }
        let [lo, hi] = of(self.x);
        let (lo, hi) = (emit.smin(lo, zero), emit.smax(hi, zero));
        [emit.smax(lo, least), emit.smin(hi, most)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::{Builder, Rules};
    use crate::interpreter;
    use crate::interval::Nan;
    use crate::ir::{Def, Type};
    use crate::lift::{self, Input, Options};
    use crate::random::Random;

    /// A function that returns the remainder of x by n, rounded down or not.
    fn function(n: i32, is_floored: bool) -> (Function, Value) {
        let mut builder = Builder::new("f", Rules::Exact);
        let x = builder.input("x", Type::I32);
        let remainder = if is_floored {
            let shift = builder.i32(n.trailing_zeros() as i32);
            let quotient = builder.op(Op::AShr, &[x, shift]);
            let multiple = builder.op(Op::Shl, &[quotient, shift]);
            builder.op(Op::ISub, &[x, multiple])
        } else {
            let n = builder.i32(n);
            builder.op(Op::SRem, &[x, n])
        };
        (builder.finish([("r".to_owned(), remainder)]), remainder)
    }

    #[test]
    fn bounds_on_integers_contain_remainders() {
        for (lo, hi, n, is_floored, expected) in [
            (0, 100, 2, false, Some([0, 1])),
            (-5, 2, 8, false, Some([-5, 2])),
            (-9, 100, 4, false, Some([-3, 3])),
            (-9, -5, 4, false, Some([-3, 0])),
            (-9, 100, 4, true, Some([0, 3])),
            // A negative divisor is no power of two.
            (3, 3, -4, false, None),
        ] {
            let (function, remainder) = function(n, is_floored);
            let bounds: Vec<_> = function
                .values
                .iter()
                .map(|data| match data.def {
                    Def::Input(_) => Bounds::Int(Pieces::one(lo, hi)),
                    _ => Bounds::all(data.ty),
                })
                .collect();
            let found = IntegerRemainder::by_shifts(&function, remainder);
            let hull = |remainder: IntegerRemainder| remainder.members(&bounds)?.ints().hull();
            assert_eq!(found.and_then(hull), expected);
        }
    }

    #[test]
    fn endpoints_contain_remainders_and_are_tight() {
        let mut random = Random::new(5);
        for n in [-7, -1, 1, 2, 3, 4, 10, 64, 1 << 30] {
            for is_floored in [false, true] {
                if is_floored && (n < 2 || n & (n - 1) != 0) {
                    continue;
                }
                let (function, _) = function(n, is_floored);
                let bounds = Bounds::Int(Pieces::one(-1000, 100_000));
                let input = Input { interval: true, bounds, axis: None, sorted: None };
                for tracking in [lift::Tracking::NONE, lift::Tracking::ALL] {
                    let options = Options { tracking, nan: Nan::Suppress, ..Options::default() };
                    let lifted = lift::run(&function, &[input], &[0], &options);
                    for _ in 0..500 {
                        let x = random.below(101_001) as i32 - 1000;
                        let width = *random.pick(&[0, 1, 3, 100, 5000]);
                        let y = (x + random.below(width + 1) as i32).min(100_000);
                        let words = [x as u32, y as u32];
                        let ends = interpreter::run(&lifted.function, &[], &words, 0).unwrap();
                        let [lo, hi] = [ends[0] as i32, ends[1] as i32];
                        let members = (x..=y).map(|x| {
                            let value = interpreter::run(&function, &[], &[x as u32], 0).unwrap();
                            value[0] as i32
                        });
                        let members: Vec<i32> = members.collect();
                        let [least, most] = [members.iter().min(), members.iter().max()];
                        let [least, most] = [least, most].map(|x| *x.expect("there are members"));
                        assert!(lo <= least && most <= hi, "[{x}, {y}] % {n}: [{lo}, {hi}]");
                        let max = n.abs() - 1;
                        assert!(lo >= if is_floored { 0 } else { x.min(0).max(-max) });
                        assert!(hi <= if is_floored { max } else { y.max(0).min(max) });
                    }
                }
            }
        }
    }
}
