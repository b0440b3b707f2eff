//! Judges as code: a function that takes a word's rank, and holds the results of an operation for
//! it and for the next word against all of its bounds, of the box of this word and of the box of
//! the two.
//!
//! Point operation and bounding functions stand in one function, so that what they share is
//! computed once, eight words at a time, and nothing is done to a word elsewhere. What is asked is
//! what [`Results::judge`](super::Results::judge) asks, and that optimized ends are the naive ones.

use crate::interval::Nan;
use crate::ir::rewrite::append;
use crate::ir::{Builder, Emit, Function, Op, Rules, Type, Value};
use crate::lift::Options;

/// Set in a verdict where something is wrong. The rest is how many of the checks are exempt.
pub(super) const WRONG: u32 = 1 << 31;

/// Boxes for each word.
pub(super) const BOXES: u64 = 2;

/// A bounding function, with the place of the naive one of its kind among all of them.
pub(super) struct Variant<'a> {
    pub options: Options,
    pub function: &'a Function,
    pub naive: usize,
}

/// From the rank of a word, of which `last` is the greatest, to a verdict and the operation's
/// result. Functions yield the ends of the result, and of what says whether NaN was met; the first
/// one is naive and propagates NaN.
pub(super) fn function(point: &Function, variants: &[Variant<'_>], last: i32) -> Function {
    let mut builder = Builder::new(&point.name, Rules::Exact);
    let rank = builder.input("rank", Type::I32);
    let (one, before) = (builder.i32(1), builder.i32(last - 1));
    let below = builder.op(Op::SMin, &[rank, before]);
    let next = builder.op(Op::IAdd, &[below, one]);
    let ends = [rank, next].map(|rank| word(&mut builder, point.inputs[0].ty, rank));
    let mut results = vec![];
    for end in ends {
        let values;
        (builder, values) = append(point, builder, &[end], Builder::op);
        results.push(values[0]);
    }
    let (wrong, exempt) = (builder.bool(false), builder.i32(0));
    let mut bench = Bench { builder, wrong, exempt };
    bench = bench.judge([ends[0]; 2], &results[..1], variants);
    bench = bench.judge(ends, &results, variants);
    let Bench { mut builder, wrong, exempt } = bench;
    let flag = builder.i32(WRONG as i32);
    let flagged = builder.op(Op::Or, &[exempt, flag]);
    let verdict = builder.op(Op::Select, &[wrong, flagged, exempt]);
    builder.finish([("verdict".to_owned(), verdict), ("result".to_owned(), results[0])])
}

/// The word of a rank: of floats, negative ones have their magnitude's bits flipped.
fn word(builder: &mut Builder, ty: Type, rank: Value) -> Value {
    if ty != Type::F32 {
        return rank;
    }
    let (sign, one) = (builder.i32(31), builder.i32(1));
    let ones = builder.op(Op::AShr, &[rank, sign]);
    let magnitude = builder.op(Op::LShr, &[ones, one]);
    let bits = builder.op(Op::Xor, &[rank, magnitude]);
    builder.op(Op::Float, &[bits])
}

/// What has been judged so far.
struct Bench {
    builder: Builder,
    /// Whether something is wrong.
    wrong: Value,
    /// How many checks are exempt.
    exempt: Value,
}

/// What a bounding function makes of a box.
#[derive(Clone, Copy)]
struct Bound {
    ends: [Value; 2],
    /// Whether a NaN was met.
    met: Value,
    /// Whether nothing is said of the box.
    void: Value,
}

impl Bench {
    /// Holds the results of all members of a box against all bounds.
    fn judge(mut self, ends: [Value; 2], results: &[Value], variants: &[Variant<'_>]) -> Bench {
        let nans: Vec<_> = results.iter().map(|&result| self.is_nan(result)).collect();
        let (some_nan, all_nan) = (self.fold(Op::BOr, &nans), self.fold(Op::BAnd, &nans));
        let mut bounds: Vec<Bound> = vec![];
        for variant in variants {
            let outputs;
            (self.builder, outputs) = append(variant.function, self.builder, &ends, Builder::op);
            let [lo, hi, ref met @ ..] = outputs[..] else { unreachable!("outputs have two ends") };
            let met = self.any_nan(met);
            let void = match variant.options.nan {
                Nan::Propagate if self.builder.ty(lo) != Type::F32 => met,
                Nan::Propagate | Nan::Suppress => self.builder.bool(false),
                Nan::Ignore => self.builder.op(Op::BOr, &[bounds[0].met, some_nan]),
            };
            let bound = Bound { ends: [lo, hi], met, void };
            bounds.push(bound);
            let escapes = self.escapes(bound.ends, results);
            let unordered = bound.ends.map(|end| self.is_nan(end));
            let (wrong, unsaid) = if variant.options.nan == Nan::Propagate {
                let hides = self.hides(bound.ends, some_nan);
                let numbers = self.builder.op(Op::BNot, &[some_nan]);
                (vec![escapes, hides], self.fold(Op::BAnd, &[numbers, unordered[0], unordered[1]]))
            } else {
                (vec![escapes, unordered[0], unordered[1]], all_nan)
            };
            let mut wrong = self.fold(Op::BOr, &wrong);
            let differs =
                self.differs(bound, bounds[variant.naive], variant.options.nan, &bounds[0]);
            wrong = self.builder.op(Op::BOr, &[wrong, differs]);
            self.count(wrong, unsaid, void);
        }
        self
    }

    /// Adds a check to what has been judged.
    fn count(&mut self, wrong: Value, unsaid: Value, void: Value) {
        let said = self.builder.op(Op::BNot, &[void]);
        let wrong = self.builder.op(Op::BAnd, &[wrong, said]);
        self.wrong = self.builder.op(Op::BOr, &[self.wrong, wrong]);
        let exempt = self.builder.op(Op::BOr, &[void, unsaid]);
        let [zero, one] = [0, 1].map(|x| self.builder.i32(x));
        let exempt = self.builder.op(Op::Select, &[exempt, one, zero]);
        self.exempt = self.builder.op(Op::IAdd, &[self.exempt, exempt]);
    }

    /// Whether a result is not within ends, as far as these are numbers.
    fn escapes(&mut self, [lo, hi]: [Value; 2], results: &[Value]) -> Value {
        let beyond: Vec<_> = results
            .iter()
            .flat_map(|&result| [self.is_less(result, lo), self.is_less(hi, result)])
            .collect();
        self.fold(Op::BOr, &beyond)
    }

    /// Whether one of the ends tells of no NaN, though there is one.
    fn hides(&mut self, [lo, hi]: [Value; 2], some_nan: Value) -> Value {
        if self.builder.ty(lo) != Type::F32 {
            return self.builder.bool(false);
        }
        let [least, most] = [f32::NEG_INFINITY, f32::INFINITY].map(|end| self.builder.f32(end));
        let finite = [self.is_less(least, lo), self.is_less(hi, most)];
        let finite = self.fold(Op::BOr, &finite);
        self.builder.op(Op::BAnd, &[some_nan, finite])
    }

    /// Whether ends are not the naive ones, where these are numbers, and where NaN is ignored,
    /// those that propagate it are, too.
    fn differs(&mut self, bound: Bound, naive: Bound, nan: Nan, propagating: &Bound) -> Value {
        let mut differs = self.builder.bool(false);
        for (end, naive) in
            std::iter::zip(bound.ends, naive.ends).filter(|(end, naive)| end != naive)
        {
            let (same, open) = (self.is_equal(end, naive), self.is_nan(naive));
            let differ = self.builder.op(Op::BOr, &[same, open]);
            let differ = self.builder.op(Op::BNot, &[differ]);
            differs = self.builder.op(Op::BOr, &[differs, differ]);
        }
        let mut open = vec![naive.void];
        if nan == Nan::Ignore {
            open.push(self.any_nan(&propagating.ends));
        }
        let open = self.fold(Op::BOr, &open);
        let closed = self.builder.op(Op::BNot, &[open]);
        self.builder.op(Op::BAnd, &[differs, closed])
    }

    /// Whether a < b, as numbers.
    fn is_less(&mut self, a: Value, b: Value) -> Value {
        match self.builder.ty(a) {
            Type::F32 => self.builder.op(Op::Lt, &[a, b]),
            Type::I32 => self.builder.op(Op::SLt, &[a, b]),
            Type::Bool => {
                let no = self.builder.op(Op::BNot, &[a]);
                self.builder.op(Op::BAnd, &[no, b])
            }
        }
    }

    fn is_equal(&mut self, a: Value, b: Value) -> Value {
        match self.builder.ty(a) {
            Type::F32 => self.builder.op(Op::Eq, &[a, b]),
            Type::I32 => self.builder.op(Op::IEq, &[a, b]),
            Type::Bool => {
                let differ = self.builder.op(Op::BXor, &[a, b]);
                self.builder.op(Op::BNot, &[differ])
            }
        }
    }

    fn is_nan(&mut self, x: Value) -> Value {
        if self.builder.ty(x) != Type::F32 {
            return self.builder.bool(false);
        }
        let number = self.builder.op(Op::Eq, &[x, x]);
        self.builder.op(Op::BNot, &[number])
    }

    fn any_nan(&mut self, values: &[Value]) -> Value {
        let nans: Vec<_> = values.iter().map(|&value| self.is_nan(value)).collect();
        self.fold(Op::BOr, &nans)
    }

    /// All of them, of which there is one at least, joined by an operation.
    fn fold(&mut self, op: Op, values: &[Value]) -> Value {
        let all = values.iter().copied().reduce(|all, value| self.builder.op(op, &[all, value]));
        all.expect("there is one")
    }
}
