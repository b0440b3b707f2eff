//! The order of two values, x ≤ y for all members of a box, from how they are computed and from the
//! conditions of the arms that they are used in.
//!
//! What tells: x ≤ max(x, y) and min(x, y) ≤ x; x ≤ x + a, x − a ≤ x and xb ≤ x for x, a ≥ 0 and 0
//! ≤ b ≤ 1; |x|, ⌊x⌋ and ⌈x⌉; sums, roots and products of what is in order; what is known of both
//! at compile time; a comparison, in its arms. Where that is so:
//!
//! - y − x is not negative, nor is x − y positive;
//! - x/y is at most 1 for 0 ≤ x, and y/x at least;
//! - the comparison of x and y is decided, and max(x, y) is y, min(x, y) is x.
//!
//! There are no roundings to think of: floats are rounded to nearest, which keeps order, so fl(x +
//! a) ≥ fl(x) = x, and a quotient of at most 1 is rounded to one of at most 1. All values in the
//! chain can be no NaN.
//!
//! Of conditions, a single one is used for each conclusion. An arm runs where the ends of what is
//! compared allow some member to take it, so what is derived from it does not make ends cross
//! there, as long as other conditions do not cut them; elsewhere, nothing of the arm counts.

use super::{Alternative, Point, Related};
use crate::analysis::{Bools, Bounds, Constraint, Floats};
use crate::ir::{Block, Emit, Function, Op, Stmt, Type, Value};

/// What the order of two values says of a third one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Order {
    /// It is between two numbers.
    Between([f32; 2]),
    /// It is decided.
    Is(bool),
    /// It is another value.
    Same(Value),
}

/// So many steps lead to a conclusion.
const STEPS: usize = 6;

/// Values of which the first is at most the second.
type Fact = [Value; 2];

/// Finds what order decides or cuts.
pub(super) fn find(point: &Point<'_>, related: &mut Related) {
    point.visit(&point.function.body, &mut vec![], related);
}

impl Order {
    /// The values whose ends it needs.
    pub(super) fn sources(&self) -> Vec<Value> {
        match *self {
            Order::Same(value) => vec![value],
            Order::Between(_) | Order::Is(_) => vec![],
        }
    }

    /// The ends that it says.
    pub(super) fn ends<E: Emit>(
        &self,
        emit: &mut E,
        of: impl Fn(Value) -> [E::Value; 2],
    ) -> [E::Value; 2] {
        match *self {
            Order::Between(ends) => ends.map(|end| emit.f32(end)),
            Order::Is(truth) => [emit.bool(truth); 2],
            Order::Same(value) => of(value),
        }
    }
}

/// The comparisons that hold where a condition is true, or where it is false: x ≤ y each, or x < y.
pub(crate) fn told(function: &Function, cond: Value, truth: bool) -> Vec<Fact> {
    match (function.operation(cond), truth) {
        (Some((Op::Lt | Op::Le, &[a, b])), true) => vec![[a, b]],
        (Some((Op::Lt | Op::Le, &[a, b])), false) => vec![[b, a]],
        (Some((Op::BNot, &[a])), _) => told(function, a, !truth),
        (Some((Op::BAnd, &[a, b])), true) | (Some((Op::BOr, &[a, b])), false) => {
            [told(function, a, truth), told(function, b, truth)].concat()
        }
        _ => vec![],
    }
}

impl Point<'_> {
    fn visit(&self, block: &Block, facts: &mut Vec<Fact>, related: &mut Related) {
        for stmt in &block.stmts {
            match stmt {
                Stmt::Op(value) if self.kinds[value.index()] => {
                    self.ordered(*value, facts, related)
                }
                Stmt::Op(_) => {}
                Stmt::If(node) => {
                    for (arm, truth) in [(&node.then, true), (&node.otherwise, false)] {
                        let known = facts.len();
                        facts.extend(told(self.function, node.cond, truth));
                        // In its arms, endpoints of what an undecided condition compares are cut by
                        // each other.
                        for &value in facts[known..]
                            .iter()
                            .flatten()
                            .filter(|_| self.kinds[node.cond.index()])
                        {
                            related.constrain(value, Constraint::replace(Bounds::all(Type::F32)));
                        }
                        self.visit(arm, facts, related);
                        facts.truncate(known);
                    }
                }
                Stmt::Loop(node) => {
                    self.visit(&node.head, facts, related);
                    self.visit(&node.body, facts, related);
                }
            }
        }
    }

    /// Adds what order says of a value.
    fn ordered(&self, value: Value, facts: &[Fact], related: &mut Related) {
        const INFINITY: f32 = f32::INFINITY;
        let Some((op, &[a, b])) = self.function.operation(value) else { return };
        if self.function.ty(a) != Type::F32 {
            return;
        }
        let at_most = |x, y| self.at_most(x, y, facts);
        let order = match op {
            Op::Sub if at_most(b, a) => Order::Between([0.0, INFINITY]),
            Op::Sub if at_most(a, b) => Order::Between([-INFINITY, 0.0]),
            Op::Div if self.is_positive(a) && at_most(a, b) => Order::Between([-INFINITY, 1.0]),
            Op::Div if self.hull(b).is_some_and(|[least, _]| least > 0.0) && at_most(b, a) => {
                Order::Between([1.0, INFINITY])
            }
            Op::Le if at_most(a, b) => Order::Is(true),
            Op::Lt if at_most(b, a) => Order::Is(false),
            Op::Max if at_most(a, b) => Order::Same(b),
            Op::Max if at_most(b, a) => Order::Same(a),
            Op::Min if at_most(a, b) => Order::Same(a),
            Op::Min if at_most(b, a) => Order::Same(b),
            _ => return,
        };
        let known = &self.bounds[value.index()];
        let limit = match order {
            Order::Between([lo, hi]) => Bounds::Float(Floats::between(lo, hi)),
            Order::Is(truth) => Bounds::Bool(Bools { no: !truth, yes: truth }),
            Order::Same(other) => {
                Bounds::Float(Floats::of(self.bounds[other.index()].floats().pieces))
            }
        };
        if known.meet(&limit) != *known {
            related.add(self, value, Alternative::Order(order), limit);
        }
    }

    /// Whether x ≤ y, where some things are so.
    fn at_most(&self, x: Value, y: Value, facts: &[Fact]) -> bool {
        // Whether another condition leaves something of both, whatever the ends are.
        let leaves = |[a, b]: Fact, [low, high]: Fact| {
            let below = |x: Value, y: Value| {
                self.hull(x).zip(self.hull(y)).is_some_and(|(x, y)| x[1] <= y[0])
            };
            [a, b] == [low, high] || (high != a || below(low, b)) && (low != b || below(a, high))
        };
        let by_fact = |&[a, b]: &Fact| {
            let is_alone = facts.iter().all(|&other| leaves([a, b], other));
            is_alone && self.follows(x, a, STEPS / 2) && self.follows(b, y, STEPS / 2)
        };
        self.follows(x, y, STEPS) || facts.iter().any(by_fact)
    }

    /// Whether x ≤ y follows in so many steps.
    fn follows(&self, x: Value, y: Value, steps: usize) -> bool {
        let (Some([_, most]), Some([least, _])) = (self.hull(x), self.hull(y)) else {
            return false;
        };
        if x == y || most <= least {
            return true;
        }
        steps > 0
            && (self.follows_from_below(x, y, steps - 1)
                || self.follows_from_above(x, y, steps - 1)
                || self.alike(x, y, steps - 1))
    }

    /// Whether all that x is made of, or what is above x, is at most y.
    fn follows_from_below(&self, x: Value, y: Value, steps: usize) -> bool {
        let Some((op, args)) = self.function.operation(x) else { return false };
        let any = |holds: &dyn Fn(Value, Value) -> bool| {
            holds(args[0], args[1]) || holds(args[1], args[0])
        };
        let is = |a: Value| self.follows(a, y, steps);
        match op {
            Op::Min => any(&|a, _| is(a)),
            Op::Max => is(args[0]) && is(args[1]),
            Op::Add => any(&|a, b| self.is_within(b, f32::NEG_INFINITY, 0.0) && is(a)),
            Op::Sub => self.is_positive(args[1]) && is(args[0]),
            Op::Mul => any(&|a, b| self.is_positive(a) && self.is_within(b, 0.0, 1.0) && is(a)),
            Op::Div => {
                self.is_positive(args[0])
                    && self.is_within(args[1], 1.0, f32::INFINITY)
                    && is(args[0])
            }
            Op::Floor => is(args[0]),
            _ => false,
        }
    }

    /// Whether x is at most all that y is made of, or what is below y.
    fn follows_from_above(&self, x: Value, y: Value, steps: usize) -> bool {
        let Some((op, args)) = self.function.operation(y) else { return false };
        let any = |holds: &dyn Fn(Value, Value) -> bool| {
            holds(args[0], args[1]) || holds(args[1], args[0])
        };
        let is = |a: Value| self.follows(x, a, steps);
        match op {
            Op::Max => any(&|a, _| is(a)),
            Op::Min => is(args[0]) && is(args[1]),
            Op::Add => any(&|a, b| self.is_positive(b) && is(a)),
            Op::Sub => self.is_within(args[1], f32::NEG_INFINITY, 0.0) && is(args[0]),
            Op::Mul => {
                any(&|a, b| self.is_positive(a) && self.is_within(b, 1.0, f32::INFINITY) && is(a))
            }
            Op::Div => {
                self.is_positive(args[0])
                    && self.is_within(args[1], f32::MIN_POSITIVE, 1.0)
                    && is(args[0])
            }
            Op::Ceil | Op::Abs => is(args[0]),
            _ => false,
        }
    }

    /// Whether the same operation makes x of what is at most that which it makes y of.
    fn alike(&self, x: Value, y: Value, steps: usize) -> bool {
        let (Some((op, a)), Some((other, b))) =
            (self.function.operation(x), self.function.operation(y))
        else {
            return false;
        };
        if op != other {
            return false;
        }
        let is = |x: Value, y: Value| self.follows(x, y, steps);
        match op {
            Op::Add => is(a[0], b[0]) && is(a[1], b[1]) || is(a[0], b[1]) && is(a[1], b[0]),
            Op::Sub => is(a[0], b[0]) && is(b[1], a[1]),
            Op::Neg => is(b[0], a[0]),
            Op::Sqrt => is(a[0], b[0]),
            Op::Mul => {
                let positive = a.iter().chain(b).all(|&factor| self.is_positive(factor));
                positive && (is(a[0], b[0]) && is(a[1], b[1]) || is(a[0], b[1]) && is(a[1], b[0]))
            }
            _ => false,
        }
    }

    fn is_within(&self, value: Value, low: f32, high: f32) -> bool {
        self.hull(value).is_some_and(|[lo, hi]| low <= lo && hi <= high)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Case;
    use super::super::{Relation, Relations};
    use super::*;
    use crate::interval::Nan;

    fn within(lo: f32, hi: f32) -> (bool, Bounds) {
        (true, Bounds::Float(Floats::between(lo, hi)))
    }

    #[test]
    fn what_order_cuts_is_within_its_ends() {
        let [any, unit, positive] =
            [[-1e20, 1e20], [0.0, 1.0], [1e-30, 1e20]].map(|[lo, hi]| within(lo, hi));
        let shapes: &[(&str, &[(bool, Bounds)])] = &[
            // max(a, b) − a
            ("fn f(a: f32, b: f32) -> (r: f32) { %0 = max a, b %1 = sub %0, a return %1 }", &[any, any]),
            // min(a, b) − (b + c)
            (
                "fn f(a: f32, b: f32, c: f32) -> (r: f32) { %0 = min a, b %1 = add c, b %2 = sub %0, %1 return %2 }",
                &[any, any, unit],
            ),
            // a/(a + b), and √(a c)/√a
            (
                "fn f(a: f32, b: f32, c: f32) -> (r: f32, s: f32) {
                    %0 = add a, b %1 = div a, %0 %2 = mul a, c %3 = sqrt %2 %4 = sqrt a %5 = div %3, %4 return %1, %5 }",
                &[positive, unit, unit],
            ),
            // (a + b)/a
            ("fn f(a: f32, b: f32) -> (r: f32) { %0 = add a, b %1 = div %0, a return %1 }", &[positive, unit]),
            // √(c − a c), a choice that is none, and a − ⌊a⌋.
            (
                "fn f(a: f32, c: f32) -> (r: f32, s: f32, t: f32) {
                    %0 = mul a, c %1 = sub c, %0 %2 = sqrt %1 %3 = le %0, c %4 = select %3, a, 7.0
                    %5 = floor a %6 = sub a, %5 return %2, %4, %6 }",
                &[unit, unit],
            ),
            // The greater of two of which one is: max(a c, c).
            (
                "fn f(a: f32, b: f32) -> (r: f32) { %0 = max a, b %1 = abs %0 %2 = max %0, %1 %3 = max a, %2 return %3 }",
                &[any, any],
            ),
        ];
        for (k, (text, inputs)) in shapes.iter().enumerate() {
            let seen = Case::new(text, inputs).check(Relation::Order, 3000);
            assert!(k == 5 || seen.tighter * 50 > seen.ends, "{text}: {seen:?}");
        }
    }

    /// Cost of the arms is such that they are not run at all where no member takes them, or such
    /// that they are.
    fn arms(costly: bool) -> String {
        let more = if costly {
            "%12 = sin %11 %13 = mul %12, 0.001 %14 = add %13, %11"
        } else {
            "%14 = add %11, 2.0"
        };
        format!(
            "fn f(a: f32, b: f32, c: f32) -> (r: f32) {{
                %0 = lt a, b
                %1 = lt 0.25, a
                %2 = lt a, c
                %3 = band %1, %2
                %4 = band %3, %0
                %5 = if %4 {{
                    %6 = sub b, a
                    %7 = sqrt %6
                    %8 = log a
                    %9 = sub %7, %8
                    %10 = div %9, a
                    %11 = div %10, b
                    {more}
                    yield %14
                }} else {{
                    %16 = if %0 {{
                        yield a
                    }} else {{
                        %17 = sub a, b
                        %18 = sqrt %17
                        %19 = mul %18, %17
                        %20 = div %19, 3.0
                        yield %20
                    }}
                    yield %16
                }}
                return %5
            }}"
        )
    }

    #[test]
    fn arms_know_their_condition() {
        for costly in [false, true] {
            let text = arms(costly);
            for [b, c] in
                [[within(-1.0, 2.0), within(0.0, 1.0)], [within(-3.0, 3.0), within(-1.0, 0.5)]]
            {
                let seen =
                    Case::new(&text, &[within(-1.0, 1.0), b, c]).check(Relation::Order, 4000);
                assert!(seen.tighter * 100 > seen.ends, "{seen:?}");
            }
            let case = Case::new(&text, &[within(-1.0, 1.0), within(-1.0, 2.0), within(0.0, 1.0)]);
            let ends = |relations| {
                let lifted = case.lifted(relations, Nan::Suppress);
                case.ends(&lifted, &[[-0.5, 0.5], [0.5, 0.75], [0.75, 1.0]])[0]
            };
            let [plain, tight] = [Relations::NONE, Relations::NONE.with(Relation::Order)].map(ends);
            assert!(tight[1] < plain[1] && tight[1] < 20.0, "{plain:?} {tight:?}");
        }
    }

    #[test]
    fn conditions_that_exclude_each_other_leave_no_nan() {
        // Both may hold for some members of a box, but for no one the two: where a is above c.
        let text = "fn f(a: f32, b: f32, c: f32) -> (r: f32) {
            %0 = lt a, b
            %1 = lt b, c
            %2 = if %0 {
                %3 = mul a, 2.0
                %4 = mul b, 2.0
                %5 = if %1 {
                    %6 = sub c, b
                    %7 = sqrt %6
                    %8 = sub %4, %3
                    %9 = sqrt %8
                    %10 = sub c, a
                    %11 = sqrt %10
                    %12 = div %7, %9
                    %13 = div %12, %11
                    yield %13
                } else {
                    %14 = sub b, c
                    %15 = sqrt %14
                    %16 = div %15, c
                    %17 = sin %16
                    yield %17
                }
                yield %5
            } else {
                yield b
            }
            return %2
        }";
        let case = Case::new(text, &[within(-1.0, 1.0), within(-2.0, 2.0), within(-0.5, 0.5)]);
        let seen = case.check(Relation::Order, 4000);
        assert!(seen.ends > 10_000, "{seen:?}");
        let lifted = case.lifted(Relations::NONE.with(Relation::Order), Nan::Suppress);
        let [lo, hi] = case.ends(&lifted, &[[0.5, 0.75], [0.0, 1.0], [0.1, 0.25]])[0];
        assert!(lo <= hi, "{lo:?} {hi:?}");
    }
}
