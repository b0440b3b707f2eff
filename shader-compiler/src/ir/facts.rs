//! Properties of operations beyond their definition: one row per operation.
//!
//! The match in [`Op::facts`] has no wildcard arm, so an operation without a row does not compile.
//! Defaults are conservative: any range, any sign of zero, not monotone. Analyses that treat all
//! operations uniformly read these rows. A transfer function that knows more about an operation
//! matches on it, and uses the row for the others. The tests below check each row against the
//! operation's definition.
//!
//! Interval lowerings are code. The match in
//! [`OpLowering::apply`](crate::interval::OpLowering::apply), which has no wildcard arm either,
//! lists them.

use super::Op;
use std::f32::consts::{FRAC_PI_2, PI};

/// Properties of an operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OpFacts {
    /// Smallest and largest float result, except for NaN.
    pub range: [f32; 2],
    /// Domain of the first operand. Outside of it, the result is NaN. Within it, operations with
    /// one operand never return NaN, unless their monotonicity is [unknown](Monotonicity::Unknown).
    pub domain: [f32; 2],
    /// How the float result depends on each operand if the others are fixed.
    pub monotone: &'static [Monotonicity],
    /// How far float results violate the monotonicity: a number k such that multiplying the
    /// smallest and the largest result at the endpoints of an interval by 1 ± k · 2⁻²³ compensates
    /// for it. The k are measured (`math/TABLE.md`).
    pub widening: u8,
    /// Operands for which the result can be −0, and those for which it can be +0.
    pub zeros: [ZeroFrom; 2],
    /// Whether [relations](crate::relations) can derive slope, elasticity and error of the result.
    pub has_growth: bool,
    /// Cost class.
    pub cost: CostClass,
}

/// How results depend on an operand. Floats are ordered as numbers, except for NaN, integers as
/// signed, and bools with false < true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Monotonicity {
    /// Nondecreasing.
    Increasing,
    /// Nonincreasing.
    Decreasing,
    /// Increasing or decreasing, depending on the other operands.
    EitherWay,
    /// Nonincreasing up to zero and nondecreasing from there.
    SplitAtZero,
    /// Monotone below zero and above it, with a jump or a pole at zero.
    JumpAtZero,
    /// Monotone between periodic points, which the interval lowering handles.
    Periodic,
    /// Unknown.
    Unknown,
}

/// For operations with one float operand: the operands for which the result can be a zero of one
/// sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZeroFrom {
    /// No operand. Also valid for operations with several operands.
    Never,
    /// Only −0.
    NegativeZero,
    /// Only +0.
    PositiveZero,
    /// Operands whose sign bit is set.
    Negative,
    /// Operands whose sign bit is clear.
    Positive,
    /// Any operand.
    Any,
}

/// Cost classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CostClass {
    /// One or two machine instructions.
    Basic,
    /// Division, square root and loads.
    Slow,
    /// A sequence of basic operations.
    Sequence,
    /// An approximation of an elementary function, also a sequence.
    Elementary,
}

impl CostClass {
    /// Approximate cost, in cheap basic operations.
    pub const fn weight(self) -> u32 {
        match self {
            CostClass::Basic => 1,
            CostClass::Slow => 4,
            CostClass::Sequence | CostClass::Elementary => 16,
        }
    }
}

const INFINITY: f32 = f32::INFINITY;
const ALL: [f32; 2] = [f32::NEG_INFINITY, INFINITY];

impl OpFacts {
    const fn new(cost: CostClass, monotone: &'static [Monotonicity]) -> OpFacts {
        let zeros = [ZeroFrom::Any, ZeroFrom::Any];
        OpFacts { range: ALL, domain: ALL, monotone, widening: 0, zeros, has_growth: false, cost }
    }

    const fn range(self, low: f32, high: f32) -> OpFacts {
        OpFacts { range: [low, high], ..self }
    }

    const fn domain(self, low: f32, high: f32) -> OpFacts {
        OpFacts { domain: [low, high], ..self }
    }

    /// The result is NaN for infinite operands.
    const fn finite_domain(self) -> OpFacts {
        self.domain(f32::MIN, f32::MAX)
    }

    const fn widening(self, widening: u8) -> OpFacts {
        OpFacts { widening, ..self }
    }

    const fn zeros(self, negative: ZeroFrom, positive: ZeroFrom) -> OpFacts {
        OpFacts { zeros: [negative, positive], ..self }
    }

    /// The result is never −0.
    const fn no_negative_zero(self) -> OpFacts {
        self.zeros(ZeroFrom::Never, ZeroFrom::Any)
    }

    const fn growth(self) -> OpFacts {
        OpFacts { has_growth: true, ..self }
    }
}

const fn basic(monotone: &'static [Monotonicity]) -> OpFacts {
    OpFacts::new(CostClass::Basic, monotone)
}

const fn slow(monotone: &'static [Monotonicity]) -> OpFacts {
    OpFacts::new(CostClass::Slow, monotone)
}

const fn sequence(monotone: &'static [Monotonicity]) -> OpFacts {
    OpFacts::new(CostClass::Sequence, monotone)
}

const fn elementary(monotone: &'static [Monotonicity]) -> OpFacts {
    OpFacts::new(CostClass::Elementary, monotone)
}

impl Op {
    /// Properties of the operation.
    pub const fn facts(self) -> OpFacts {
        // A lookup table, since this is a hot path.
        const FACTS: &[OpFacts; Op::ALL.len()] = &{
            let mut facts = [basic(&[]); Op::ALL.len()];
            let mut k = 0;
            while k < facts.len() {
                facts[k] = Op::ALL[k].row();
                k += 1;
            }
            facts
        };
        FACTS[self as usize]
    }

    /// The row of the operation in the table of facts.
    const fn row(self) -> OpFacts {
        use Monotonicity::*;
        use ZeroFrom::{Any, Negative, NegativeZero, Positive, PositiveZero};
        match self {
            // Floats.
            Op::Add => basic(&[Increasing, Increasing]).growth(),
            Op::Sub => basic(&[Increasing, Decreasing]).growth(),
            Op::Mul => basic(&[EitherWay, EitherWay]).growth(),
            Op::Div => slow(&[EitherWay, JumpAtZero]).growth(),
            Op::Neg => basic(&[Decreasing]).zeros(PositiveZero, NegativeZero).growth(),
            Op::Abs => basic(&[SplitAtZero]).range(0.0, INFINITY).no_negative_zero().growth(),
            Op::Sqrt => slow(&[Increasing])
                .range(0.0, INFINITY)
                .domain(0.0, INFINITY)
                .zeros(NegativeZero, Any)
                .growth(),
            Op::Min | Op::Max => basic(&[Increasing, Increasing]).growth(),
            Op::Floor => basic(&[Increasing]).zeros(NegativeZero, Any),
            Op::Ceil => basic(&[Increasing]).zeros(Negative, PositiveZero),
            Op::Trunc | Op::Round => basic(&[Increasing]).zeros(Negative, Positive),

            // Comparisons of floats.
            Op::Lt | Op::Le => basic(&[Decreasing, Increasing]),
            Op::Eq => basic(&[Unknown, Unknown]),

            // Integers. Wrapping operations are not monotone.
            Op::IAdd | Op::ISub | Op::IMul => basic(&[Unknown, Unknown]),
            Op::SMin | Op::SMax => basic(&[Increasing, Increasing]),
            Op::UMin | Op::UMax | Op::And | Op::Or | Op::Xor | Op::Shl | Op::LShr => {
                basic(&[Unknown, Unknown])
            }
            Op::AShr => basic(&[Increasing, Unknown]),
            Op::SLt => basic(&[Decreasing, Increasing]),
            Op::ULt | Op::IEq => basic(&[Unknown, Unknown]),

            // Bools.
            Op::BAnd | Op::BOr => basic(&[Increasing, Increasing]),
            Op::BXor => basic(&[EitherWay, EitherWay]),
            Op::BNot => basic(&[Decreasing]),
            Op::Any => basic(&[Increasing]),
            Op::Select => basic(&[EitherWay, Increasing, Increasing]).growth(),

            // Conversions and memory.
            Op::Bits | Op::Float | Op::TruncateToInt => basic(&[Unknown]),
            Op::FromS32 => basic(&[Increasing]).no_negative_zero(),
            Op::Load => slow(&[Unknown, Unknown]),

            // Short sequences on floats.
            Op::Rem => sequence(&[Unknown, Unknown]),
            Op::Sign => sequence(&[Increasing]).range(-1.0, 1.0).zeros(NegativeZero, PositiveZero),
            Op::Fract => sequence(&[Periodic]).range(0.0, 1.0).finite_domain().no_negative_zero(),
            Op::Step => sequence(&[Decreasing, Increasing]).range(0.0, 1.0).no_negative_zero(),
            Op::Smoothstep => sequence(&[Unknown, Unknown, EitherWay])
                .range(0.0, 1.0)
                .widening(1)
                .no_negative_zero(),
            // Any range, since the result for −0 is −∞.
            Op::Rsqrt => sequence(&[Decreasing]).domain(0.0, INFINITY).no_negative_zero().growth(),

            // Elementary functions.
            Op::Exp | Op::Exp2 => {
                elementary(&[Increasing]).range(0.0, INFINITY).no_negative_zero().growth()
            }
            Op::Log | Op::Log2 => elementary(&[Increasing]).domain(0.0, INFINITY).growth(),
            Op::Pow => elementary(&[EitherWay, EitherWay])
                .range(0.0, INFINITY)
                .domain(0.0, INFINITY)
                .no_negative_zero()
                .growth(),
            Op::Sin | Op::Cos => elementary(&[Periodic]).range(-1.0, 1.0).finite_domain(),
            Op::Tan => elementary(&[Periodic]).finite_domain(),
            Op::Asin => elementary(&[Increasing]).range(-FRAC_PI_2, FRAC_PI_2).domain(-1.0, 1.0),
            Op::Acos => elementary(&[Decreasing]).range(0.0, PI).domain(-1.0, 1.0),
            Op::Atan => elementary(&[Increasing]).range(-FRAC_PI_2, FRAC_PI_2).widening(1),
            Op::Atan2 => elementary(&[JumpAtZero, EitherWay]).range(-PI, PI).widening(1),
            Op::Sinh => elementary(&[Increasing]),
            Op::Cosh => elementary(&[SplitAtZero]).range(1.0, INFINITY),
            Op::Tanh => elementary(&[Increasing]).range(-1.0, 1.0),
            Op::Asinh => elementary(&[Increasing]).widening(1),
            Op::Acosh => elementary(&[Increasing]).range(0.0, INFINITY).domain(1.0, INFINITY),
            Op::Atanh => elementary(&[Increasing]).domain(-1.0, 1.0),

            // Sequences on integers. Unsigned operations do not follow the signed order.
            Op::ToS32 => sequence(&[Increasing]),
            Op::ToU32 => sequence(&[Unknown]),
            Op::FromU32 => sequence(&[Unknown]).range(0.0, 4294967296.0).no_negative_zero(),
            Op::SDiv | Op::UDiv | Op::SRem | Op::URem => sequence(&[Unknown, Unknown]),
            Op::CountOnes | Op::LeadingZeros | Op::TrailingZeros | Op::ReverseBits => {
                sequence(&[Unknown])
            }

            // Images.
            Op::Texel | Op::Fetch => sequence(&[Unknown, Unknown, Unknown]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Emit, Type};
    use crate::random::Random;
    use crate::testing::random::{FLOATS, word};

    /// Operations that read no table.
    fn non_loads() -> impl Iterator<Item = Op> {
        Op::ALL.iter().copied().filter(|op| !op.is_load())
    }

    /// Operations with float operands and a float result.
    fn float_ops() -> impl Iterator<Item = Op> {
        let is_float = |ty: &Option<Type>| *ty == Some(Type::F32);
        non_loads().filter(move |op| {
            is_float(&op.signature().result) && op.signature().args.iter().all(is_float)
        })
    }

    fn operand(random: &mut Random, ty: Option<Type>) -> u32 {
        match ty {
            Some(Type::F32) if random.once_in(4) => random.pick(FLOATS).to_bits(),
            Some(Type::F32) if random.once_in(3) => (random.bits() as i32 as f32 / 5e8).to_bits(),
            ty => word(random, ty.unwrap_or(Type::F32)),
        }
    }

    fn operands(random: &mut Random, op: Op) -> Vec<u32> {
        op.signature().args.iter().map(|&ty| operand(random, ty)).collect()
    }

    /// Index of a word among all words of a type, in order.
    fn rank(ty: Type, bits: u32) -> i64 {
        match ty {
            Type::F32 if bits >> 31 == 1 => -i64::from(bits & 0x7fff_ffff),
            Type::F32 => bits.into(),
            Type::I32 => (bits as i32).into(),
            Type::Bool => i64::from(bits != 0),
        }
    }

    /// The inverse of [`rank`].
    fn unrank(ty: Type, rank: i64) -> u32 {
        match ty {
            Type::F32 if rank < 0 => (-rank) as u32 | 1 << 31,
            Type::Bool => 0u32.wrapping_sub(u32::from(rank != 0)),
            _ => rank as u32,
        }
    }

    /// Words of a type in ascending order: random, special and consecutive ones.
    fn ascending(random: &mut Random, ty: Type) -> Vec<u32> {
        if ty == Type::Bool {
            return [0, 1].map(|rank| unrank(ty, rank)).to_vec();
        }
        let mut ranks: Vec<_> = (0..60).map(|_| rank(ty, operand(random, Some(ty)))).collect();
        let numbers = FLOATS.iter().filter(|x| !x.is_nan());
        ranks.extend(numbers.map(|x| rank(ty, x.to_bits())));
        let start = ranks[random.below(ranks.len())];
        ranks.extend((-60..60).map(|k| start + k));
        let last = if ty == Type::F32 { rank(ty, INFINITY.to_bits()) } else { i32::MAX.into() };
        ranks.retain(|rank| (-last..=last).contains(rank));
        ranks.sort_unstable();
        ranks.into_iter().map(|rank| unrank(ty, rank)).collect()
    }

    /// Whether results are nondecreasing, up to a widening.
    fn is_nondecreasing(ty: Type, results: impl Iterator<Item = u32>, widening: u8) -> bool {
        let mut max = i64::MIN;
        results.into_iter().all(|bits| {
            max = max.max(rank(ty, bits));
            // The factor 1 − k · 2⁻²³ is a step of at most 2k floats.
            max - rank(ty, bits) <= 2 * i64::from(widening)
        })
    }

    #[test]
    fn rows_match_signatures_and_expansions() {
        struct Count(usize);
        impl Emit for Count {
            type Value = ();
            fn constant(&mut self, _: Type, _: u32) {}
            fn op(&mut self, op: Op, args: &[()]) {
                self.0 += usize::from(op.expand(self, args).is_none());
            }
            fn known(&self, (): ()) -> Option<u32> {
                None
            }
        }
        for &op in Op::ALL {
            let facts = op.facts();
            assert_eq!(facts.monotone.len(), op.arity(), "{}", op.name());
            let is_sequence = matches!(facts.cost, CostClass::Sequence | CostClass::Elementary);
            assert_eq!(is_sequence, op.is_composite(), "{}", op.name());
        }
        for op in float_ops().filter(|op| op.is_composite()) {
            let mut count = Count(0);
            count.op(op, &vec![(); op.arity()]);
            assert_eq!(
                op.facts().cost == CostClass::Elementary,
                count.0 > 20,
                "{} expands to {} basic operations",
                op.name(),
                count.0
            );
        }
    }

    #[test]
    fn results_are_within_ranges() {
        let mut random = Random::new(3);
        for op in non_loads().filter(|op| op.signature().result == Some(Type::F32)) {
            let [low, high] = op.facts().range;
            for _ in 0..40_000 {
                let args = operands(&mut random, op);
                let result = f32::from_bits(op.eval(&args));
                assert!(
                    result.is_nan() || (low..=high).contains(&result),
                    "{} {args:x?} is {result:?}",
                    op.name()
                );
            }
        }
    }

    #[test]
    fn results_are_nan_only_outside_domains() {
        let mut random = Random::new(4);
        for op in float_ops() {
            let OpFacts { domain: [low, high], monotone, .. } = op.facts();
            let endpoints = [low, high].map(|x| rank(Type::F32, x.to_bits()));
            for k in 0..40_000 {
                let mut args = operands(&mut random, op);
                if k < 200 {
                    args[0] = unrank(Type::F32, endpoints[k % 2] + k as i64 / 2 - 50);
                }
                let x = f32::from_bits(args[0]);
                let result = f32::from_bits(op.eval(&args));
                let is_defined = (low..=high).contains(&x);
                if !x.is_nan() && !is_defined
                    || args.len() == 1 && monotone[0] != Monotonicity::Unknown
                {
                    assert_eq!(result.is_nan(), !is_defined, "{} of {x:?}", op.name());
                }
            }
        }
    }

    #[test]
    fn monotonicity_holds() {
        let mut random = Random::new(5);
        for op in non_loads() {
            let OpFacts { monotone, widening, .. } = op.facts();
            let types: Vec<_> =
                op.signature().args.iter().map(|ty| ty.unwrap_or(Type::F32)).collect();
            let ty = op.signature().result.unwrap_or(Type::F32);
            for (k, &monotone) in monotone.iter().enumerate() {
                for _ in 0..300 {
                    let mut args = operands(&mut random, op);
                    let words = ascending(&mut random, types[k]);
                    let mut result = |bits: u32| {
                        args[k] = bits;
                        op.eval(&args)
                    };
                    let is_number = |&bits: &u32| ty != Type::F32 || !f32::from_bits(bits).is_nan();
                    let mut results = |sign: &[i32]| -> Vec<u32> {
                        // Without −0, since its result may differ from the one for +0.
                        let has_sign = |&&bits: &&u32| {
                            bits != 1 << 31
                                && sign.contains(&(rank(types[k], bits).signum() as i32))
                        };
                        words
                            .iter()
                            .filter(has_sign)
                            .map(|&bits| result(bits))
                            .filter(is_number)
                            .collect()
                    };
                    let up =
                        |results: &[u32]| is_nondecreasing(ty, results.iter().copied(), widening);
                    let down = |results: &[u32]| {
                        is_nondecreasing(ty, results.iter().rev().copied(), widening)
                    };
                    let all = [-1, 0, 1];
                    let holds = match monotone {
                        Monotonicity::Increasing => up(&results(&all)),
                        Monotonicity::Decreasing => down(&results(&all)),
                        Monotonicity::EitherWay => up(&results(&all)) || down(&results(&all)),
                        Monotonicity::SplitAtZero => {
                            down(&results(&[-1, 0])) && up(&results(&[0, 1]))
                        }
                        Monotonicity::JumpAtZero => [[-1], [1]].iter().all(|sign| {
                            let results = results(sign);
                            up(&results) || down(&results)
                        }),
                        // `tests/math.rs` defines the pieces.
                        Monotonicity::Periodic | Monotonicity::Unknown => true,
                    };
                    assert!(holds, "{} is {monotone:?} in operand {k}: {args:x?}", op.name());
                }
            }
        }
    }

    #[test]
    fn zeros_have_the_stated_signs() {
        let mut random = Random::new(6);
        for op in float_ops() {
            let zeros = op.facts().zeros;
            for k in 0..40_000 {
                let mut args = operands(&mut random, op);
                if let Some(x) = FLOATS.get(k) {
                    args[0] = x.to_bits();
                }
                let result = f32::from_bits(op.eval(&args));
                if result != 0.0 {
                    continue;
                }
                let x = f32::from_bits(args[0]);
                let allowed = match zeros[usize::from(result.is_sign_positive())] {
                    ZeroFrom::Never => false,
                    ZeroFrom::NegativeZero => x == 0.0 && x.is_sign_negative(),
                    ZeroFrom::PositiveZero => x == 0.0 && x.is_sign_positive(),
                    ZeroFrom::Negative => x.is_sign_negative(),
                    ZeroFrom::Positive => x.is_sign_positive(),
                    ZeroFrom::Any => true,
                };
                assert!(allowed, "{} {args:x?} is {result:?}", op.name());
            }
        }
    }
}
