//! Cyclic integers: base · quotient + remainder, with a static base and a static remainder (Draves
//! 1996, *Cyclic Integers*).
//!
//! They arise from counters of loops, whose code is emitted once for each remainder. The remainder
//! is normalized late: in the copies of a loop's body it grows beyond the base, so that values with
//! the same quotient are known to be equal or different (`early=`). Only at the end of a cycle the
//! quotient is incremented.
//!
//! A value is always congruent to base · quotient + remainder modulo 2³². It is *exact* if no quotient
//! leads beyond the range of `i32`. Shifts to the right, divisions and order need that; masks do not.

use crate::ir::{Op, Value};

/// A quotient without a known maximum.
pub(super) const UNLIMITED: u32 = u32::MAX;

/// An integer base · quotient + remainder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cyclic {
    /// A residual value, from 0 to `most` unless that is [`UNLIMITED`].
    pub quotient: Value,
    /// Not 0.
    pub base: i32,
    pub remainder: i32,
    /// Greatest quotient.
    pub most: u32,
}

/// What an operation on a cyclic integer yields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Folded {
    /// These bits.
    Bits(u32),
    /// Another cyclic integer.
    Cyclic(Cyclic),
    /// Whether the quotient is a number.
    QuotientIs(u32),
    /// The same as one of the above, if the base were so many times as large.
    Wants(u32),
    /// Nothing that is known.
    Dynamic,
}

impl Cyclic {
    /// The least and the greatest value, if the integer is exact.
    fn range(&self) -> Option<[i64; 2]> {
        if self.most == UNLIMITED {
            return None;
        }
        let (base, remainder) = (i64::from(self.base), i64::from(self.remainder));
        let last = base * i64::from(self.most) + remainder;
        let ends = [remainder.min(last), remainder.max(last)];
        let is_exact = |x: i64| i32::try_from(x).is_ok();
        ends.into_iter().all(is_exact).then_some(ends)
    }

    /// Whether the integer is exact and not negative.
    fn is_exact_unsigned(&self) -> bool {
        self.range().is_some_and(|[low, _]| low >= 0)
    }

    /// The integer with this base and remainder and the same quotient.
    fn with(self, base: i32, remainder: i32) -> Folded {
        match base {
            0 => Folded::Bits(remainder as u32),
            _ => Folded::Cyclic(Cyclic { base, remainder, ..self }),
        }
    }

    /// `divided` if the modulus divides the base, or how many times as large that must be.
    fn divided_by(self, modulus: u32, divided: impl FnOnce() -> Folded) -> Folded {
        let factor = modulus / gcd(modulus, self.base.unsigned_abs());
        if factor == 1 { divided() } else { Folded::Wants(factor) }
    }

    /// An operation on the integer and constant bits; `operand` is the integer's index.
    pub fn with_constant(self, op: Op, operand: usize, bits: u32) -> Folded {
        let Cyclic { base, remainder, .. } = self;
        let number = bits as i32;
        let shifted = || 1u32 << (bits & 31);
        match (op, operand) {
            (Op::IAdd, _) => self.with(base, remainder.wrapping_add(number)),
            (Op::ISub, 0) => self.with(base, remainder.wrapping_sub(number)),
            (Op::ISub, _) => self.with(base.wrapping_neg(), number.wrapping_sub(remainder)),
            (Op::IMul, _) => self.with(base.wrapping_mul(number), remainder.wrapping_mul(number)),
            (Op::Shl, 0) => self.with_constant(Op::IMul, 0, shifted()),
            // A number of low bits, or all but these.
            (Op::And, _) if bits.wrapping_add(1).is_power_of_two() => {
                self.divided_by(bits + 1, || Folded::Bits(remainder as u32 & bits))
            }
            (Op::And, _) if bits != 0 && bits.wrapping_neg().is_power_of_two() => {
                self.divided_by(bits.wrapping_neg(), || self.with(base, remainder & number))
            }
            (Op::LShr, 0) if self.is_exact_unsigned() => self
                .divided_by(shifted(), || self.with(base >> (bits & 31), remainder >> (bits & 31))),
            (Op::AShr, 0) if self.range().is_some() => self
                .divided_by(shifted(), || self.with(base >> (bits & 31), remainder >> (bits & 31))),
            (Op::SDiv | Op::UDiv, 0) if number > 0 && self.is_exact_unsigned() => {
                self.divided_by(bits, || self.with(base / number, remainder / number))
            }
            (Op::SRem | Op::URem, 0) if number > 0 && self.is_exact_unsigned() => {
                self.divided_by(bits, || Folded::Bits((remainder % number) as u32))
            }
            (Op::IEq, _) => self.equals(number),
            (Op::SLt | Op::ULt, _) => {
                let number = [i64::from(number); 2];
                let ranges = self.range().map(|range| match operand {
                    0 => [range, number],
                    _ => [number, range],
                });
                ranges.map_or(Folded::Dynamic, |ranges| less(op, ranges))
            }
            _ => Folded::Dynamic,
        }
    }

    fn equals(self, number: i32) -> Folded {
        let difference = number.wrapping_sub(self.remainder);
        // The multiples of the base are those of its lowest bit, modulo 2³².
        if difference.trailing_zeros() < self.base.trailing_zeros() {
            return Folded::Bits(0);
        }
        let Some([low, high]) = self.range() else { return Folded::Dynamic };
        let difference = i64::from(number) - i64::from(self.remainder);
        let base = i64::from(self.base);
        if !(low..=high).contains(&i64::from(number)) || difference % base != 0 {
            return Folded::Bits(0);
        }
        Folded::QuotientIs((difference / base) as u32)
    }

    /// An operation on integers with the same quotient.
    pub fn with_same_quotient(self, op: Op, other: Cyclic) -> Folded {
        debug_assert_eq!(self.quotient, other.quotient);
        let (a, b) = (self, other);
        match op {
            Op::IAdd => a.with(a.base.wrapping_add(b.base), a.remainder.wrapping_add(b.remainder)),
            Op::ISub => a.with(a.base.wrapping_sub(b.base), a.remainder.wrapping_sub(b.remainder)),
            Op::IEq if a.base == b.base => Folded::Bits(truth(a.remainder == b.remainder)),
            Op::SLt | Op::ULt => match (a.range(), b.range()) {
                (Some([low_a, _]), Some([low_b, _]))
                    if a.base == b.base && (op == Op::SLt || low_a >= 0 && low_b >= 0) =>
                {
                    Folded::Bits(truth(a.remainder < b.remainder))
                }
                (Some(range_a), Some(range_b)) => less(op, [range_a, range_b]),
                _ => Folded::Dynamic,
            },
            _ => Folded::Dynamic,
        }
    }
}

/// Whether a < b, for ranges of a and b.
fn less(op: Op, [a, b]: [[i64; 2]; 2]) -> Folded {
    if op == Op::ULt && (a[0] < 0 || b[0] < 0) {
        Folded::Dynamic
    } else if a[1] < b[0] {
        Folded::Bits(truth(true))
    } else if a[0] >= b[1] {
        Folded::Bits(truth(false))
    } else {
        Folded::Dynamic
    }
}

fn truth(x: bool) -> u32 {
    if x { !0 } else { 0 }
}

/// The greatest common divisor; of 0 and b it is b.
fn gcd(a: u32, b: u32) -> u32 {
    if a == 0 { b } else { gcd(b % a, a) }
}

/// The least common multiple of positive numbers, if it is at most `limit`.
pub(super) fn least_common_multiple(a: u32, b: u32, limit: u32) -> Option<u32> {
    (a / gcd(a, b)).checked_mul(b).filter(|&multiple| multiple <= limit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    const OPS: [Op; 14] = [
        Op::IAdd,
        Op::ISub,
        Op::IMul,
        Op::Shl,
        Op::LShr,
        Op::AShr,
        Op::And,
        Op::SDiv,
        Op::UDiv,
        Op::SRem,
        Op::URem,
        Op::IEq,
        Op::SLt,
        Op::ULt,
    ];

    fn cyclic(base: i32, remainder: i32, most: u32) -> Cyclic {
        Cyclic { quotient: Value(0), base, remainder, most }
    }

    fn at(cyclic: Cyclic, quotient: u32) -> u32 {
        (cyclic.base as u32).wrapping_mul(quotient).wrapping_add(cyclic.remainder as u32)
    }

    /// Checks a result for some quotients. Returns whether it is known.
    fn holds(folded: Folded, quotients: &[u32], expected: impl Fn(u32) -> u32) -> bool {
        for &quotient in quotients {
            let actual = match folded {
                Folded::Bits(bits) => bits,
                Folded::Cyclic(cyclic) => {
                    assert_ne!(cyclic.base, 0);
                    at(cyclic, quotient)
                }
                Folded::QuotientIs(number) => truth(quotient == number),
                Folded::Wants(_) | Folded::Dynamic => return false,
            };
            assert_eq!(actual, expected(quotient), "{folded:?} for {quotient}");
        }
        true
    }

    fn number(random: &mut Random) -> i32 {
        let x = random.bits() as i32;
        match random.below(4) {
            0 => x,
            1 => x >> 24,
            2 => [0, 1, -1, 31, 32, 3, 24, 255, -32, i32::MIN, i32::MAX][random.below(11)],
            _ => 1 << (x & 31),
        }
    }

    #[test]
    fn operations_hold_for_all_quotients() {
        let random = &mut Random::new(1);
        let mut known = [0; OPS.len()];
        for _ in 0..400_000 {
            let most = [0, 1, 7, 1000, UNLIMITED][random.below(5)];
            let quotient = |random: &mut Random| match most {
                UNLIMITED => random.bits() as u32,
                most => random.below(most as usize + 1) as u32,
            };
            let mut value = || loop {
                let base = number(random);
                if base != 0 {
                    return cyclic(base, number(random), most);
                }
            };
            let (a, b) = (value(), value());
            let quotients =
                [0, most.min(1), most, quotient(random), quotient(random), quotient(random)];
            let k = random.below(OPS.len());
            let (op, bits) = (OPS[k], number(random) as u32);
            let left =
                holds(a.with_constant(op, 0, bits), &quotients, |q| op.eval(&[at(a, q), bits]));
            let right =
                holds(a.with_constant(op, 1, bits), &quotients, |q| op.eval(&[bits, at(a, q)]));
            let both =
                holds(a.with_same_quotient(op, b), &quotients, |q| op.eval(&[at(a, q), at(b, q)]));
            known[k] += usize::from(left) + usize::from(right) + usize::from(both);
        }
        assert!(known.iter().all(|&count| count > 500), "{known:?}");
    }

    #[test]
    fn operations_want_the_base_that_they_need() {
        // A bit index with 12 bits an element.
        let index = cyclic(12, 0, 1000);
        assert_eq!(index.with_constant(Op::And, 0, 31), Folded::Wants(8));
        let index = cyclic(96, 36, 1000);
        assert_eq!(index.with_constant(Op::And, 0, 31), Folded::Bits(4));
        assert_eq!(index.with_constant(Op::LShr, 0, 5), Folded::Cyclic(cyclic(3, 1, 1000)));
        // Without a limit, the shift is not exact, but the mask is.
        let index = cyclic(96, 36, UNLIMITED);
        assert_eq!(index.with_constant(Op::And, 0, 31), Folded::Bits(4));
        assert_eq!(index.with_constant(Op::LShr, 0, 5), Folded::Dynamic);
        assert_eq!(cyclic(32, 3, UNLIMITED).with_constant(Op::IEq, 0, 0), Folded::Bits(0));
        assert_eq!(cyclic(32, 64, 9).with_constant(Op::IEq, 0, 96), Folded::QuotientIs(1));
        assert_eq!(cyclic(5, 2, 9).with_same_quotient(Op::ISub, cyclic(5, 1, 9)), Folded::Bits(1));
        assert_eq!(least_common_multiple(8, 12, 24), Some(24));
        assert_eq!(least_common_multiple(8, 12, 23), None);
    }
}
