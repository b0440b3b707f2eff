//! What a few operations say about the range of their results: enough to see that a clamp does
//! nothing, or that a counter stays below a limit. It is no bounds analysis, which follows facts
//! through all operations and over all paths: here a handful of operations is looked through, a few
//! steps deep.

use crate::ir::{Def, Function, Op, Type, Value};

/// Steps that are looked through.
const DEPTH: u32 = 4;

/// Least and greatest float that a value can be when it is not NaN; −0 and +0 are the same.
pub fn float(function: &Function, value: Value) -> [f32; 2] {
    float_within(function, value, DEPTH)
}

const ALL: [f32; 2] = [f32::NEG_INFINITY, f32::INFINITY];

fn float_within(function: &Function, value: Value, depth: u32) -> [f32; 2] {
    if let Some(bits) = function.constant(value) {
        let x = f32::from_bits(bits);
        return if x.is_nan() { ALL } else { [x, x] };
    }
    let (Some((op, args)), Some(depth)) = (function.operation(value), depth.checked_sub(1)) else {
        return ALL;
    };
    let range = |k: usize| float_within(function, args[k], depth);
    // A constant operand of min or max is a bound even where the other operand is NaN and the
    // result is the constant.
    let constant =
        |k: usize| Some(f32::from_bits(function.constant(args[k])?)).filter(|x| !x.is_nan());
    match op {
        Op::Abs => {
            let [low, high] = range(0);
            [if low > 0.0 { low } else { 0.0 }, high.max(-low)]
        }
        Op::Neg => {
            let [low, high] = range(0);
            [-high, -low]
        }
        // Rounding keeps order, so the ends of a sum are the sums of the ends; what is NaN there
        // says nothing.
        Op::Add => {
            let ([a, b], [c, d]) = (range(0), range(1));
            [
                if (a + c).is_nan() { ALL[0] } else { a + c },
                if (b + d).is_nan() { ALL[1] } else { b + d },
            ]
        }
        Op::Sub => {
            let ([a, b], [c, d]) = (range(0), range(1));
            [
                if (a - d).is_nan() { ALL[0] } else { a - d },
                if (b - c).is_nan() { ALL[1] } else { b - c },
            ]
        }
        Op::Mul if args[0] == args[1] => [0.0, ALL[1]],
        Op::Mul if range(0)[0] >= 0.0 && range(1)[0] >= 0.0 => [0.0, ALL[1]],
        Op::Max => match (constant(0), constant(1)) {
            (Some(c), _) => [c, range(1)[1].max(c)],
            (_, Some(c)) => {
                let [low, high] = range(0);
                [low.max(c), high.max(c)]
            }
            _ => [range(0)[0], range(0)[1].max(range(1)[1])],
        },
        Op::Min => match (constant(0), constant(1)) {
            (Some(c), _) => [range(1)[0].min(c), c],
            (_, Some(c)) => {
                let [low, high] = range(0);
                [low.min(c), high.min(c)]
            }
            _ => [range(0)[0].min(range(1)[0]), range(0)[1]],
        },
        Op::Select => {
            let ([a, b], [c, d]) = (range(1), range(2));
            [a.min(c), b.max(d)]
        }
        _ => op.facts().range,
    }
}

/// Ranges of integers that are known for other reasons.
pub type Known<'a> = &'a dyn Fn(Value) -> Option<[i64; 2]>;

/// Least and greatest integer that a value can be, read as signed.
pub fn signed(function: &Function, value: Value, known: Known) -> [i64; 2] {
    signed_within(function, value, known, DEPTH)
}

/// Least and greatest integer that a value can be, read as unsigned.
pub fn unsigned(function: &Function, value: Value, known: Known) -> [i64; 2] {
    as_unsigned(signed(function, value, known))
}

/// What a range of signed integers is when they are read as unsigned.
pub fn as_unsigned([low, high]: [i64; 2]) -> [i64; 2] {
    if low >= 0 {
        [low, high]
    } else if high < 0 {
        [low + WRAP, high + WRAP]
    } else {
        [0, WRAP - 1]
    }
}

const WRAP: i64 = 1 << 32;
const ANY: [i64; 2] = [i32::MIN as i64, i32::MAX as i64];

fn signed_within(function: &Function, value: Value, known: Known, depth: u32) -> [i64; 2] {
    if let Def::Const(bits) = function.def(value) {
        return [bits as i32 as i64; 2];
    }
    if let Some(range) = known(value) {
        return range;
    }
    let (Some((op, args)), Some(depth)) = (function.operation(value), depth.checked_sub(1)) else {
        return ANY;
    };
    let range = |k: usize| signed_within(function, args[k], known, depth);
    // Whatever does not fit wraps, and may be anything.
    let fit = |low: i64, high: i64| if ANY[0] <= low && high <= ANY[1] { [low, high] } else { ANY };
    let amount = |k: usize| function.constant(args[k]).map(|bits| bits & 31);
    let [a, b] = if function.ty(args[0]) == Type::I32 { range(0) } else { ANY };
    match op {
        Op::IAdd => fit(a + range(1)[0], b + range(1)[1]),
        Op::ISub => fit(a - range(1)[1], b - range(1)[0]),
        Op::SMin => [a.min(range(1)[0]), b.min(range(1)[1])],
        Op::SMax => [a.max(range(1)[0]), b.max(range(1)[1])],
        // The smaller of two, or the bits that both have, is no more than either that is known to
        // have no top bit.
        Op::UMin | Op::And if a >= 0 || range(1)[0] >= 0 => {
            let [c, d] = range(1);
            [
                0,
                [(a, b), (c, d)]
                    .into_iter()
                    .filter(|r| r.0 >= 0)
                    .map(|r| r.1)
                    .min()
                    .unwrap_or(ANY[1]),
            ]
        }
        Op::LShr => match amount(1) {
            Some(n @ 1..) => [0, (WRAP - 1) >> n],
            _ => ANY,
        },
        Op::AShr => match amount(1) {
            Some(n) => [a >> n, b >> n],
            None => ANY,
        },
        Op::Shl => match amount(1) {
            Some(n) => fit(a << n, b << n),
            None => ANY,
        },
        Op::URem => match function.constant(args[1]) {
            Some(n) if n as i32 > 0 => [0, n as i64 - 1],
            _ => ANY,
        },
        Op::CountOnes | Op::LeadingZeros | Op::TrailingZeros => [0, 32],
        // A float that is in range becomes an integer in range; NaN becomes 0.
        Op::ToS32 => {
            let [low, high] = float_within(function, args[0], depth).map(|x| (x as i32) as i64);
            [low.min(0), high.max(0)]
        }
        Op::ToU32 => {
            let high = float_within(function, args[0], depth)[1] as u32 as i64;
            if high <= ANY[1] { [0, high] } else { ANY }
        }
        Op::Select => {
            let ([c, d], [e, f]) = (range(1), range(2));
            [c.min(e), d.max(f)]
        }
        _ => ANY,
    }
}

/// What a comparison of integers comes to, where their ranges tell.
pub fn compare(function: &Function, op: Op, args: &[Value], known: Known) -> Option<bool> {
    let less = |[a, b]: [i64; 2], [c, d]: [i64; 2]| (b < c || a >= d).then_some(b < c);
    match op {
        Op::SLt => less(signed(function, args[0], known), signed(function, args[1], known)),
        Op::ULt => less(unsigned(function, args[0], known), unsigned(function, args[1], known)),
        Op::IEq => {
            let ([a, b], [c, d]) =
                (signed(function, args[0], known), signed(function, args[1], known));
            (b < c || d < a).then_some(false)
        }
        _ => None,
    }
}
