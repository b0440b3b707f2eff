//! Comparisons, booleans and selects.
//!
//! A comparison of intervals is an interval of booleans: certainly true if it holds for the closest
//! endpoints, and possibly true if it holds for the farthest ones. NaN makes a comparison false, so
//! a comparison of a value that may be NaN is never certain. If NaN propagates, a NaN endpoint
//! carries no information, and everything is possible: the test negates the converse comparison.
//!
//! A select with an undecided condition yields the union of the arms that some member may take
//! (Clarberg et al. 2010 §3.4).

use super::{Bounds, Floats, Interval, Nan, OpLowering};
use crate::ir::{Emit, Op};
use crate::math::EmitExt;

impl<E: Emit<Value: PartialEq>> OpLowering<'_, E> {
    /// a < b or a ≤ b, depending on `op`.
    pub(super) fn less(
        &mut self,
        op: Op,
        a: &Interval<E::Value>,
        b: &Interval<E::Value>,
    ) -> [E::Value; 2] {
        // Both endpoints may be ∞ because of a NaN, and would compare equal.
        let is_unknown = self.nan == Nan::Propagate && (a.facts.nan || b.facts.nan);
        let lo = self.certainly(if is_unknown { Op::Lt } else { op }, a, b);
        let hi = self.possibly(op, a, b);
        self.case = match decided(op, a.known.floats(), b.known.floats()) {
            Some(true) => "always",
            Some(false) => "never",
            None => "endpoints",
        };
        [lo, hi]
    }

    /// a = b.
    pub(super) fn equal(
        &mut self,
        a: &Interval<E::Value>,
        b: &Interval<E::Value>,
    ) -> [E::Value; 2] {
        let (below, above) = (self.certainly(Op::Le, a, b), self.certainly(Op::Le, b, a));
        let lo = self.emit.both(below, above);
        let (below, above) = (self.possibly(Op::Le, a, b), self.possibly(Op::Le, b, a));
        let hi = self.emit.both(below, above);
        self.case = "endpoints";
        [lo, hi]
    }

    /// Tests whether a comparison holds for all members.
    fn certainly(&mut self, op: Op, a: &Interval<E::Value>, b: &Interval<E::Value>) -> E::Value {
        let never = self.nan == Nan::Suppress && (a.facts.nan || b.facts.nan);
        match decided(op, a.known.floats(), b.known.floats()) {
            _ if never => self.emit.bool(false),
            Some(truth) => self.emit.bool(truth),
            None => self.emit.op(op, &[a.hi, b.lo]),
        }
    }

    /// Tests whether a comparison may hold for some members.
    fn possibly(&mut self, op: Op, a: &Interval<E::Value>, b: &Interval<E::Value>) -> E::Value {
        let (x, y) = (a.known.floats(), b.known.floats());
        let is_unknown = self.nan == Nan::Propagate && (x.nan || y.nan);
        match decided(op, x, y) {
            Some(truth) if truth || !is_unknown => self.emit.bool(truth),
            _ if is_unknown => {
                let converse = if op == Op::Lt { Op::Le } else { Op::Lt };
                let converse_holds = self.emit.op(converse, &[b.hi, a.lo]);
                self.emit.not(converse_holds)
            }
            _ => self.emit.op(op, &[a.lo, b.hi]),
        }
    }

    /// a < b, signed.
    pub(super) fn less_signed(
        &mut self,
        a: &Interval<E::Value>,
        b: &Interval<E::Value>,
    ) -> [E::Value; 2] {
        if let (Some([min, max]), Some([low, high])) =
            (a.known.ints().hull(), b.known.ints().hull())
            && (max < low || min >= high)
        {
            self.case = if max < low { "always" } else { "never" };
            return [self.emit.bool(max < low); 2];
        }
        self.case = "endpoints";
        [self.emit.slt(a.hi, b.lo), self.emit.slt(a.lo, b.hi)]
    }

    /// a < b, unsigned.
    pub(super) fn less_unsigned(
        &mut self,
        a: &Interval<E::Value>,
        b: &Interval<E::Value>,
    ) -> [E::Value; 2] {
        let ([a_lo, a_hi], [b_lo, b_hi]) = (self.unsigned(a), self.unsigned(b));
        self.case = "endpoints";
        [self.emit.ult(a_hi, b_lo), self.emit.ult(a_lo, b_hi)]
    }

    /// a = b for integers.
    pub(super) fn equal_integers(
        &mut self,
        a: &Interval<E::Value>,
        b: &Interval<E::Value>,
    ) -> [E::Value; 2] {
        if let (Some([min, max]), Some([low, high])) =
            (a.known.ints().hull(), b.known.ints().hull())
            && (max < low || high < min)
        {
            self.case = "never";
            return [self.emit.bool(false); 2];
        }
        self.case = "endpoints";
        let (one, other) = (self.emit.ieq(a.lo, b.hi), self.emit.ieq(a.hi, b.lo));
        let lo = self.emit.both(one, other);
        let (above, below) = (self.emit.slt(b.hi, a.lo), self.emit.slt(a.hi, b.lo));
        let apart = self.emit.either(above, below);
        [lo, self.emit.not(apart)]
    }

    /// Endpoints of an operation that is non-decreasing in each operand.
    pub(super) fn endpointwise(&mut self, op: Op, args: &[&Interval<E::Value>]) -> [E::Value; 2] {
        self.case = "endpoints";
        let lo: Vec<_> = args.iter().map(|x| x.lo).collect();
        let hi: Vec<_> = args.iter().map(|x| x.hi).collect();
        [self.emit.op(op, &lo), self.emit.op(op, &hi)]
    }

    /// Logical negation.
    pub(super) fn not(&mut self, a: &Interval<E::Value>) -> [E::Value; 2] {
        self.case = "endpoints";
        [self.emit.not(a.hi), self.emit.not(a.lo)]
    }

    /// Exclusive or of booleans.
    pub(super) fn xor_bools(
        &mut self,
        a: &Interval<E::Value>,
        b: &Interval<E::Value>,
    ) -> [E::Value; 2] {
        let (a, b) = if a.is_singleton() { (b, a) } else { (a, b) };
        if b.is_singleton() {
            self.case = "pick";
            let [lo, hi] = self.not(a);
            return [self.emit.select(b.lo, lo, a.lo), self.emit.select(b.lo, hi, a.hi)];
        }
        self.case = "endpoints";
        let mut and_not = |x, y| {
            let y = self.emit.not(y);
            self.emit.both(x, y)
        };
        let [lo, hi] = [
            [and_not(a.lo, b.hi), and_not(b.lo, a.hi)],
            [and_not(a.hi, b.lo), and_not(b.hi, a.lo)],
        ];
        [self.emit.either(lo[0], lo[1]), self.emit.either(hi[0], hi[1])]
    }

    /// t if c is true, else e.
    pub(super) fn select(
        &mut self,
        c: &Interval<E::Value>,
        t: &Interval<E::Value>,
        e: &Interval<E::Value>,
    ) -> [E::Value; 2] {
        let (ts, es) = (t.endpoints(), e.endpoints());
        let [must, may] = [c.lo, c.hi];
        if c.is_singleton() {
            self.case = "decided";
            return [0, 1].map(|side| self.emit.select(may, ts[side], es[side]));
        }
        let arms = Arms { c: [must, may], t: ts, e: es };
        match (&t.known, &e.known) {
            (Bounds::Bool(_), Bounds::Bool(_)) => self.select_bools(&arms, t, e),
            (Bounds::Float(_), Bounds::Float(_)) => self.select_floats(&arms, t, e),
            (a, b) => {
                let (a, b) = (a.ints().hull(), b.ints().hull());
                let above = |x: Option<[i32; 2]>, y: Option<[i32; 2]>| {
                    x.zip(y).is_some_and(|(x, y)| x[0] >= y[1])
                };
                if above(b, a) || above(a, b) {
                    return self.select_ordered(&arms, above(a, b));
                }
                self.case = "union";
                [0, 1].map(|side| self.union(&arms, side, [Op::SMin, Op::SMax][side], false))
            }
        }
    }

    /// A select between booleans: constant operands simplify it.
    fn select_bools(
        &mut self,
        arms: &Arms<E::Value>,
        t: &Interval<E::Value>,
        e: &Interval<E::Value>,
    ) -> [E::Value; 2] {
        let [must, may] = arms.c;
        let (t, e) = (t.known.bools(), e.known.bools());
        let negated = |emit: &mut E| [emit.not(may), emit.not(must)];
        let (op, c, arm) = match () {
            () if !t.may_be_false => (Op::BOr, arms.c, arms.e),
            () if !e.may_be_true => (Op::BAnd, arms.c, arms.t),
            () if !t.may_be_true => (Op::BAnd, negated(self.emit), arms.e),
            () if !e.may_be_false => (Op::BOr, negated(self.emit), arms.t),
            () => {
                self.case = "union";
                return [0, 1].map(|side| self.union(arms, side, [Op::BAnd, Op::BOr][side], false));
            }
        };
        self.case = "constant";
        [0, 1].map(|side| self.emit.op(op, &[c[side], arm[side]]))
    }

    /// A select between floats. `min` and `max` ignore a NaN second operand, so operands are
    /// ordered such that this is harmless, or a NaN is tested for.
    fn select_floats(
        &mut self,
        arms: &Arms<E::Value>,
        t: &Interval<E::Value>,
        e: &Interval<E::Value>,
    ) -> [E::Value; 2] {
        let (x, y) = (t.known.floats(), e.known.floats());
        let (is_above, is_below) = (y.high() <= x.low(), x.high() <= y.low());
        let neither_is_nan = !x.nan && !y.nan;
        let is_ordered = match self.nan {
            Nan::Propagate => neither_is_nan,
            Nan::Suppress => true,
            Nan::Ignore => neither_is_nan || is_above,
        };
        if is_ordered && (is_above || is_below) {
            return self.select_ordered(arms, is_above);
        }
        self.case = "union";
        let propagates = self.nan == Nan::Propagate;
        if propagates && x.nan && y.nan && arms.t != arms.e {
            let max = self.emit.f32(f32::INFINITY);
            let is_not_nan = self.emit.lt(arms.e[1], max);
            let nan_free = self.emit.either(arms.c[0], is_not_nan);
            self.nan_free.push(nan_free);
        }
        // Without tests, handle NaN as if the arm with the greater values were known.
        let swapped = if propagates { [y.nan && !x.nan; 2] } else { [true, false] };
        [0, 1].map(|side| self.union(arms, side, [Op::Min, Op::Max][side], swapped[side]))
    }

    /// A select where one arm is never less than the other. An endpoint comes from the arm that is
    /// more extreme on that side if some member may take it, else from the other arm.
    fn select_ordered(&mut self, arms: &Arms<E::Value>, is_above: bool) -> [E::Value; 2] {
        self.case = "ordered";
        let [must, may] = arms.c;
        let conditions = if is_above { [must, may] } else { [may, must] };
        [0, 1].map(|side| self.emit.select(conditions[side], arms.t[side], arms.e[side]))
    }

    /// One endpoint of the union of the arms that some member may take.
    fn union(&mut self, arms: &Arms<E::Value>, side: usize, op: Op, swapped: bool) -> E::Value {
        let (t, e) = (arms.t[side], arms.e[side]);
        if t == e {
            return t;
        }
        if matches!(op, Op::Min | Op::Max)
            && let Some(limit) = self.known_float(t).or(self.known_float(e)).filter(|x| !x.is_nan())
        {
            return self.union_with_constant(arms, side, op, limit);
        }
        let [q, p] = arms.c.map(|c| self.emit.select(c, t, e));
        let args = if swapped { [q, p] } else { [p, q] };
        self.emit.op(op, &args)
    }

    /// One endpoint of the union with a constant arm. The constant, or ∞ on the other side if no
    /// member takes this arm, is the same for all results with this constant.
    fn union_with_constant(
        &mut self,
        arms: &Arms<E::Value>,
        side: usize,
        op: Op,
        limit: f32,
    ) -> E::Value {
        let [must, may] = arms.c;
        let (t, e) = (arms.t[side], arms.e[side]);
        let neutral = self.emit.f32([f32::INFINITY, f32::NEG_INFINITY][side]);
        if self.known_float(t) == Some(limit) {
            let limit = self.emit.select(may, t, neutral);
            let union = self.emit.op(op, &[e, limit]);
            self.emit.select(must, t, union)
        } else {
            let limit = self.emit.select(must, neutral, e);
            let union = self.emit.op(op, &[t, limit]);
            self.emit.select(may, union, e)
        }
    }

    /// The value of a float that is a constant.
    fn known_float(&self, x: E::Value) -> Option<f32> {
        self.emit.known(x).map(f32::from_bits)
    }
}

/// The endpoints of the condition of a select, and of its two arms.
struct Arms<V> {
    c: [V; 2],
    t: [V; 2],
    e: [V; 2],
}

/// Returns the result of a comparison of floats if it is the same for all operands within bounds.
fn decided(op: Op, a: &Floats, b: &Floats) -> Option<bool> {
    let compare = |x: f32, y: f32| if op == Op::Lt { x < y } else { x <= y };
    match () {
        () if !compare(a.low(), b.high()) => Some(false),
        () if compare(a.high(), b.low()) && !a.nan && !b.nan => Some(true),
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::interval::testing::OpTest;
    use crate::ir::{Op, Type};

    #[test]
    fn comparisons_contain_results_of_members() {
        for op in [Op::Lt, Op::Le, Op::Eq] {
            OpTest::of(op).check(&[Type::F32; 2], 20_000);
        }
        for op in [Op::SLt, Op::ULt, Op::IEq] {
            OpTest::of(op).check(&[Type::I32; 2], 20_000);
        }
        assert!(OpTest::of(Op::Lt).check(&[Type::F32; 2], 1000).len() == 3, "all cases occur");
    }

    #[test]
    fn boolean_operations_contain_results_of_members() {
        for op in [Op::BAnd, Op::BOr, Op::BXor] {
            OpTest::of(op).check(&[Type::Bool; 2], 2000);
        }
        for op in [Op::BNot, Op::Any] {
            OpTest::of(op).check(&[Type::Bool], 200);
        }
    }

    #[test]
    fn selects_contain_results_of_members() {
        for ty in [Type::F32, Type::I32, Type::Bool] {
            let cases = OpTest::of(Op::Select).check(&[Type::Bool, ty, ty], 40_000);
            assert_eq!(cases.len(), 3, "all cases occur: {cases:?}");
        }
    }
}
