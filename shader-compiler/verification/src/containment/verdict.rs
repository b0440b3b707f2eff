//! Compiled checks: a function that maps the rank of a word, its position in the order of its type,
//! to a verdict. It evaluates an operation for this word and the next one, and checks the results
//! against all bounds for two boxes: that of the first word and that of both words.
//!
//! The point operation and all bounding functions are inlined into one function, so that common
//! subexpressions are computed once and eight words are checked at a time. The checks are those of
//! [`ResultSummary::check_bound`](super::ResultSummary::check_bound), plus a check that optimized
//! endpoints equal naive ones.

use lightbound_shader::builder::rewrite::append;
use lightbound_shader::builder::{Builder, Rules};
use lightbound_shader::interval::Nan;
use lightbound_shader::ir::{Emit, Function, Op, Type, Value};
use lightbound_shader::lift::Options;

/// Flag of a verdict: a check failed. The other bits count the skipped checks.
pub(super) const FAILED: u32 = 1 << 31;

/// Number of boxes checked for each word.
pub(super) const BOXES_PER_WORD: u64 = 2;

/// A bounding function, with the index of the naive variant that it is compared with.
pub(super) struct BoundingFunction<'a> {
    pub options: Options,
    pub function: &'a Function,
    pub naive: usize,
}

/// Builds the function that maps the rank of a word to a verdict and the operation's result.
/// `last_rank` is the greatest rank. Each variant yields the endpoints of the result and those of
/// the output that reports NaN. The first variant is naive and propagates NaN.
pub(super) fn function(
    point: &Function,
    variants: &[BoundingFunction<'_>],
    last_rank: i32,
) -> Function {
    let mut builder = Builder::new(&point.name, Rules::Exact);
    let rank = builder.input("rank", Type::I32);
    let (one, second_to_last) = (builder.i32(1), builder.i32(last_rank - 1));
    let clamped = builder.op(Op::SMin, &[rank, second_to_last]);
    let next = builder.op(Op::IAdd, &[clamped, one]);
    let endpoints = [rank, next].map(|rank| word(&mut builder, point.inputs[0].ty, rank));
    let mut results = vec![];
    for end in endpoints {
        let values;
        (builder, values) = append(point, builder, &[end], Builder::op);
        results.push(values[0]);
    }
    let (failed, skipped) = (builder.bool(false), builder.i32(0));
    let mut checks = Checks { builder, failed, skipped };
    checks = checks.check_bounds([endpoints[0]; 2], &results[..1], variants);
    checks = checks.check_bounds(endpoints, &results, variants);
    let Checks { mut builder, failed, skipped } = checks;
    let flag = builder.i32(FAILED as i32);
    let flagged = builder.op(Op::Or, &[skipped, flag]);
    let verdict = builder.op(Op::Select, &[failed, flagged, skipped]);
    builder.finish([("verdict".to_owned(), verdict), ("result".to_owned(), results[0])])
}

/// Converts a rank to a word. The magnitude bits of negative floats are flipped.
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

/// The function under construction and the verdict so far.
struct Checks {
    builder: Builder,
    /// Whether a check failed.
    failed: Value,
    /// Number of skipped checks.
    skipped: Value,
}

/// The bound that a variant computes for a box.
#[derive(Clone, Copy)]
struct Bound {
    endpoints: [Value; 2],
    /// Whether the variant reports a NaN.
    nan_seen: Value,
    /// Whether the NaN mode makes no claim about the box. The check is then skipped.
    no_claim: Value,
}

impl Checks {
    /// Checks the results of all members of a box against all bounds.
    fn check_bounds(
        mut self,
        endpoints: [Value; 2],
        results: &[Value],
        variants: &[BoundingFunction<'_>],
    ) -> Checks {
        let nans: Vec<_> = results.iter().map(|&result| self.is_nan(result)).collect();
        let (some_nan, all_nan) = (self.fold(Op::BOr, &nans), self.fold(Op::BAnd, &nans));
        let mut bounds: Vec<Bound> = vec![];
        for variant in variants {
            let outputs;
            (self.builder, outputs) =
                append(variant.function, self.builder, &endpoints, Builder::op);
            let [lo, hi, ref nan_seen @ ..] = outputs[..] else {
                unreachable!("an output has two endpoints")
            };
            let nan_seen = self.any_nan(nan_seen);
            let no_claim = match variant.options.nan {
                Nan::Propagate if self.builder.ty(lo) != Type::F32 => nan_seen,
                Nan::Propagate | Nan::Suppress => self.builder.bool(false),
                Nan::Ignore => self.builder.op(Op::BOr, &[bounds[0].nan_seen, some_nan]),
            };
            let bound = Bound { endpoints: [lo, hi], nan_seen, no_claim };
            bounds.push(bound);
            let outside = self.is_outside(bound.endpoints, results);
            let unordered = bound.endpoints.map(|end| self.is_nan(end));
            let (failed, vacuous) = if variant.options.nan == Nan::Propagate {
                let unreported = self.is_nan_unreported(bound.endpoints, some_nan);
                let no_nan = self.builder.op(Op::BNot, &[some_nan]);
                (
                    vec![outside, unreported],
                    self.fold(Op::BAnd, &[no_nan, unordered[0], unordered[1]]),
                )
            } else {
                (vec![outside, unordered[0], unordered[1]], all_nan)
            };
            let mut failed = self.fold(Op::BOr, &failed);
            let differs =
                self.differs(bound, bounds[variant.naive], variant.options.nan, &bounds[0]);
            failed = self.builder.op(Op::BOr, &[failed, differs]);
            self.count(failed, vacuous, no_claim);
        }
        self
    }

    /// Adds a check to the verdict.
    fn count(&mut self, failed: Value, vacuous: Value, no_claim: Value) {
        let claimed = self.builder.op(Op::BNot, &[no_claim]);
        let failed = self.builder.op(Op::BAnd, &[failed, claimed]);
        self.failed = self.builder.op(Op::BOr, &[self.failed, failed]);
        let skipped = self.builder.op(Op::BOr, &[no_claim, vacuous]);
        let [zero, one] = [0, 1].map(|x| self.builder.i32(x));
        let skipped = self.builder.op(Op::Select, &[skipped, one, zero]);
        self.skipped = self.builder.op(Op::IAdd, &[self.skipped, skipped]);
    }

    /// Whether a result lies outside the endpoints; a NaN endpoint imposes no bound.
    fn is_outside(&mut self, [lo, hi]: [Value; 2], results: &[Value]) -> Value {
        let beyond: Vec<_> = results
            .iter()
            .flat_map(|&result| [self.is_less(result, lo), self.is_less(hi, result)])
            .collect();
        self.fold(Op::BOr, &beyond)
    }

    /// Whether a result is NaN although an endpoint imposes a bound.
    fn is_nan_unreported(&mut self, [lo, hi]: [Value; 2], some_nan: Value) -> Value {
        if self.builder.ty(lo) != Type::F32 {
            return self.builder.bool(false);
        }
        let [neg_inf, inf] = [f32::NEG_INFINITY, f32::INFINITY].map(|end| self.builder.f32(end));
        let finite = [self.is_less(neg_inf, lo), self.is_less(hi, inf)];
        let finite = self.fold(Op::BOr, &finite);
        self.builder.op(Op::BAnd, &[some_nan, finite])
    }

    /// Whether an endpoint differs from the naive one. Skips NaN endpoints of the naive bound and,
    /// in ignore mode, boxes whose NaN-propagating bound has a NaN endpoint.
    fn differs(&mut self, bound: Bound, naive: Bound, nan: Nan, propagating: &Bound) -> Value {
        let mut differs = self.builder.bool(false);
        for (end, naive) in
            std::iter::zip(bound.endpoints, naive.endpoints).filter(|(end, naive)| end != naive)
        {
            let (same, naive_is_nan) = (self.is_equal(end, naive), self.is_nan(naive));
            let differ = self.builder.op(Op::BOr, &[same, naive_is_nan]);
            let differ = self.builder.op(Op::BNot, &[differ]);
            differs = self.builder.op(Op::BOr, &[differs, differ]);
        }
        let mut skipped = vec![naive.no_claim];
        if nan == Nan::Ignore {
            skipped.push(self.any_nan(&propagating.endpoints));
        }
        let skipped = self.fold(Op::BOr, &skipped);
        let compared = self.builder.op(Op::BNot, &[skipped]);
        self.builder.op(Op::BAnd, &[differs, compared])
    }

    /// Whether a < b in the order of the type.
    fn is_less(&mut self, a: Value, b: Value) -> Value {
        match self.builder.ty(a) {
            Type::F32 => self.builder.op(Op::Lt, &[a, b]),
            Type::I32 => self.builder.op(Op::SLt, &[a, b]),
            Type::Bool => {
                let not_a = self.builder.op(Op::BNot, &[a]);
                self.builder.op(Op::BAnd, &[not_a, b])
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
        let is_number = self.builder.op(Op::Eq, &[x, x]);
        self.builder.op(Op::BNot, &[is_number])
    }

    fn any_nan(&mut self, values: &[Value]) -> Value {
        let nans: Vec<_> = values.iter().map(|&value| self.is_nan(value)).collect();
        self.fold(Op::BOr, &nans)
    }

    /// Combines a non-empty list of values with an operation.
    fn fold(&mut self, op: Op, values: &[Value]) -> Value {
        let all = values.iter().copied().reduce(|all, value| self.builder.op(op, &[all, value]));
        all.expect("the list is not empty")
    }
}
