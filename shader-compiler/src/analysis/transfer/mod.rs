//! Transfer functions: the possible results of an operation, from the static bounds of its
//! operands. Arithmetic on sets of intervals (Clarberg et al. 2010 §4.3, equation 9).
//!
//! Each combination of pieces of the operands is evaluated separately. An operation that is
//! monotone in each operand within a piece has its extremes at the endpoints, so it is evaluated
//! there. The result is the union over all combinations. Which operations are monotone, their
//! domains, and their ranges are stated in their [facts](crate::ir::facts). If neither these nor
//! code here is more precise, a result is unbounded, including NaN. Two additions:
//!
//! - Bounds also hold for the *endpoints* that bounding code computes, and its intervals span the
//!   gaps between pieces. If an operation is not monotone over a gap, as |x| and 1 ÷ x are not at
//!   0, the results for such an interval are added.
//! - If an operation returns NaN, bounding code that suppresses it clamps operands to the domain,
//!   and so do transfer functions.

mod float;
mod integer;
mod remainder;
mod scalar;

use crate::interval::{Bools, Bounds, Nan};
use crate::ir::{Op, Type};
use float::{smoothstep, transfer_float, transfer_floats};
use integer::{transfer_int, transfer_ints};
pub(crate) use remainder::{MAX_MAGNITUDE, Slack, remainder_limits};
pub(crate) use scalar::transfer_scalars;

/// Computes static bounds on the result of an operation. `same` states that the first two operands
/// are one value.
///
/// # Panics
///
/// If the types of the operands do not match the operation.
pub fn transfer(op: Op, args: &[Bounds], same: bool, nan: Nan) -> Bounds {
    // A select needs only one nonempty arm.
    let needed = if op == Op::Select { &args[..1] } else { args };
    if needed.iter().any(Bounds::is_empty) {
        return Bounds::empty(result_type(op, args));
    }
    if op.is_load() {
        // The contents of a table are unknown.
        return Bounds::all(result_type(op, args));
    }
    match (op, args) {
        (Op::Smoothstep, [Bounds::Float(low), Bounds::Float(high), Bounds::Float(x)]) => {
            Bounds::Float(smoothstep(low, high, x, nan))
        }
        (Op::Select, [Bounds::Bool(cond), then, otherwise]) => {
            match (cond.may_be_true, cond.may_be_false) {
                (true, true) => then.join(otherwise),
                (true, false) => *then,
                _ => *otherwise,
            }
        }
        (Op::BNot, [Bounds::Bool(a)]) => {
            Bounds::Bool(Bools { may_be_false: a.may_be_true, may_be_true: a.may_be_false })
        }
        (Op::Any, [Bounds::Bool(a)]) => Bounds::Bool(*a),
        (_, [Bounds::Float(a)]) => transfer_float(op, a, nan),
        (_, [Bounds::Float(a), Bounds::Float(b)]) => transfer_floats(op, a, b, same, nan),
        (_, [Bounds::Int(a)]) => transfer_int(op, a),
        (_, [Bounds::Int(a), Bounds::Int(b)]) => transfer_ints(op, [a, b], same, nan),
        (_, [Bounds::Bool(a), Bounds::Bool(b)]) => Bounds::Bool(transfer_bools(op, *a, *b)),
        _ => Bounds::all(result_type(op, args)),
    }
}

fn result_type(op: Op, args: &[Bounds]) -> Type {
    op.signature().result.unwrap_or(args[args.len() - 1].ty())
}

fn transfer_bools(op: Op, a: Bools, b: Bools) -> Bools {
    match op {
        Op::BAnd => Bools {
            may_be_false: a.may_be_false || b.may_be_false,
            may_be_true: a.may_be_true && b.may_be_true,
        },
        Op::BOr => Bools {
            may_be_false: a.may_be_false && b.may_be_false,
            may_be_true: a.may_be_true || b.may_be_true,
        },
        Op::BXor => Bools {
            may_be_false: (a.may_be_false && b.may_be_false) || (a.may_be_true && b.may_be_true),
            may_be_true: (a.may_be_false && b.may_be_true) || (a.may_be_true && b.may_be_false),
        },
        _ => Bools { may_be_false: true, may_be_true: true },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interval::{Facts, Floats, Interval, OpLowering};
    use crate::math::eval::ConstantEvaluator;
    use crate::random::Random;
    use crate::testing::random::word;
    use std::collections::BTreeMap;

    /// A random operand: bounds, and words within them that include the endpoints of pieces.
    fn operand(random: &mut Random, ty: Type) -> (Bounds, Vec<u32>) {
        let mut words: Vec<_> = (0..1 + random.below(6)).map(|_| word(random, ty)).collect();
        let mut bounds = words
            .iter()
            .fold(Bounds::empty(ty), |all, &word| all.join(&Bounds::constant(ty, word)));
        match &mut bounds {
            Bounds::Float(floats) => {
                if !floats.pieces.is_empty() && random.once_in(2) {
                    *floats = floats.join(&Floats::between(floats.low(), floats.high()));
                }
                for [low, high] in floats.pieces.iter() {
                    let inner = low + (high - low) * (random.below(1000) as f32 / 1000.0);
                    let candidates =
                        [low, high, low.next_up(), high.next_down(), inner, 0.0, -0.0, 1.0, -1.0];
                    words.extend(
                        candidates.into_iter().filter(|&x| floats.contains(x)).map(f32::to_bits),
                    );
                }
            }
            Bounds::Int(ints) => {
                let [low, high] = ints.hull().expect("there are words");
                if random.once_in(2) {
                    ints.add(low, high);
                }
                for [low, high] in ints.iter() {
                    let inner = i64::from(low)
                        + (i64::from(high) - i64::from(low)) * random.below(1000) as i64 / 1000;
                    words.extend([low as u32, high as u32, inner as u32]);
                }
                words.extend([0, 1, !0].into_iter().filter(|&x| ints.contains(x as i32)));
            }
            Bounds::Bool(_) => {}
        }
        words.retain(|&word| bounds.contains(word));
        (bounds, words)
    }

    fn operands(random: &mut Random, op: Op) -> Vec<(Bounds, Vec<u32>)> {
        let any = *random.pick(&[Type::F32, Type::I32, Type::Bool]);
        op.signature().args.iter().map(|ty| operand(random, ty.unwrap_or(any))).collect()
    }

    #[test]
    fn results_of_operations_are_within_their_bounds() {
        let mut random = Random::new(1);
        for &op in Op::ALL.iter().filter(|op| !op.is_load()) {
            for _ in 0..4000 {
                let mut operands = operands(&mut random, op);
                let same = operands.len() == 2
                    && random.once_in(4)
                    && operands[0].0.ty() == operands[1].0.ty();
                if same {
                    operands[1] = operands[0].clone();
                }
                let known: Vec<_> = operands.iter().map(|(bounds, _)| *bounds).collect();
                let bounds = transfer(op, &known, same, Nan::Suppress);
                for _ in 0..20 {
                    let mut words: Vec<_> =
                        operands.iter().map(|(_, words)| *random.pick(words)).collect();
                    if same {
                        words[1] = words[0];
                    }
                    let result = op.eval(&words);
                    assert!(
                        bounds.contains(result),
                        "{} {words:x?} is {result:x}, not in {bounds:?} of {known:?}",
                        op.name()
                    );
                }
            }
        }
    }

    /// A random scalar or interval within bounds, if there is one.
    fn interval(
        random: &mut Random,
        op: Op,
        bounds: &Bounds,
        words: &[u32],
        optimized: bool,
    ) -> Option<Interval<u32>> {
        let [mut lo, mut hi] = [0; 2].map(|_| *random.pick(words));
        let singleton = random.once_in(4);
        if singleton {
            hi = lo;
        }
        let facts = match bounds {
            Bounds::Float(floats) => {
                let [a, b] = [lo, hi].map(f32::from_bits);
                // If all members are NaN, endpoints are arbitrary. A select may take the other arm.
                if (a.is_nan() || b.is_nan()) && !(singleton && op == Op::Select) {
                    return None;
                }
                if a.total_cmp(&b).is_gt() {
                    std::mem::swap(&mut lo, &mut hi);
                }
                Facts { nan: floats.nan, negative_zero: floats.negative_zero, singleton }
            }
            _ => {
                let [a, b] = [lo, hi].map(|word| word as i32);
                // As an integer, true is −1.
                if (a > b) != (bounds.ty() == Type::Bool) {
                    std::mem::swap(&mut lo, &mut hi);
                }
                Facts { nan: false, negative_zero: false, singleton }
            }
        };
        let known = if optimized { *bounds } else { Bounds::all(bounds.ty()) };
        Some(Interval { lo, hi, known, facts })
    }

    #[test]
    fn endpoints_of_lowerings_are_within_static_bounds() {
        let mut random = Random::new(2);
        let mut failures = BTreeMap::new();
        for &op in Op::ALL.iter().filter(|op| !op.is_load()) {
            for _ in 0..20000 {
                let mut operands = operands(&mut random, op);
                let same = operands.len() == 2
                    && random.once_in(4)
                    && operands[0].0.ty() == operands[1].0.ty();
                if same {
                    operands[1] = operands[0].clone();
                }
                let known: Vec<_> = operands.iter().map(|(bounds, _)| *bounds).collect();
                let nan = *random.pick(&[Nan::Suppress, Nan::Propagate]);
                let optimized = random.once_in(2);
                let bounds = transfer(op, &known, same, nan);
                let args: Option<Vec<_>> = operands
                    .iter()
                    .map(|(bounds, words)| interval(&mut random, op, bounds, words, optimized))
                    .collect();
                let Some(mut args) = args else { continue };
                if same {
                    args[1] = args[0];
                }
                let mut words = ConstantEvaluator::default();
                let mut lowering =
                    OpLowering { emit: &mut words, nan, same, nan_free: vec![], case: "" };
                let endpoints = lowering.apply(op, &args);
                if lowering.nan_free.contains(&0) {
                    continue;
                }
                let is_within = endpoints.iter().all(|&end| bounds.contains(end));
                if !is_within {
                    let case = lowering.case;
                    failures.entry(op).or_insert_with(|| {
                        format!("{nan:?} {case}: {endpoints:x?} of {args:x?} is not in {bounds:?}")
                    });
                }
            }
        }
        assert!(failures.is_empty(), "{failures:#?}");
    }

    #[test]
    fn comparisons_of_nan_endpoints_may_be_true_if_nan_propagates() {
        let six = Bounds::Float(Floats::constant(6.0));
        let zero_or_nan = Bounds::Float(Floats { nan: true, ..Floats::constant(0.0) });
        let interval = |known, end: f32| {
            let facts = Facts { nan: true, negative_zero: false, singleton: false };
            Interval { lo: end.to_bits(), hi: end.to_bits(), known, facts }
        };
        for op in [Op::Lt, Op::Le, Op::Eq] {
            let mut words = ConstantEvaluator::default();
            let mut lowering = OpLowering {
                emit: &mut words,
                nan: Nan::Propagate,
                same: false,
                nan_free: vec![],
                case: "",
            };
            let endpoints =
                lowering.apply(op, &[interval(six, 6.0), interval(zero_or_nan, f32::NAN)]);
            let bounds = transfer(op, &[six, zero_or_nan], false, Nan::Propagate);
            assert!(
                endpoints.iter().all(|&end| bounds.contains(end)),
                "{}: {endpoints:?} is not in {bounds}",
                op.name()
            );
            assert!(!transfer(op, &[six, zero_or_nan], false, Nan::Suppress).bools().may_be_true);
        }
    }

    #[test]
    fn steps_and_selects_are_discrete() {
        let all = Bounds::Float(Floats::all());
        let step = transfer(Op::Step, &[all, all], false, Nan::Suppress);
        let a = Bounds::Float(Floats::between(2.0, 3.0));
        let product = transfer(Op::Mul, &[a, step], false, Nan::Suppress);
        assert_eq!(product.floats().pieces.iter().collect::<Vec<_>>(), [[0.0, 0.0], [2.0, 3.0]]);
        let [x, y] = [4.0, 8.0].map(|x| Bounds::Float(Floats::constant(x)));
        let choice = transfer(Op::Select, &[Bounds::all(Type::Bool), x, y], false, Nan::Suppress);
        assert_eq!(choice.floats().pieces.iter().collect::<Vec<_>>(), [[4.0, 4.0], [8.0, 8.0]]);
    }
}
