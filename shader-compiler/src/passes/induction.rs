//! Range analysis of loop counters (induction variables). Folds comparisons that the ranges decide,
//! above all the checks of iteration caps, which the front end adds to every loop and hardly any
//! loop needs.
//!
//! If a loop's condition implies p < n, and p grows by at least one in each iteration, the number
//! of iterations is bounded. The same holds for counting down, or up to p = n. Let N be the bound.
//! Every parameter that changes by a constant in each iteration is at most N such steps away from
//! its initial value, which decides comparisons of it.
//!
//! The front end translates `break` such that the loop leaves p unchanged and clears a bool
//! parameter that the condition requires. So the bound on iterations only requires that p grows if
//! the parameters permit another iteration.

use crate::builder::rewrite::{Pass, Rewriter, rewrite};
use crate::builder::value_tracking::{self, SIGNED, UNSIGNED};
use crate::builder::{Builder, Rules};
use crate::ir::function::for_each_stmt;
use crate::ir::{Emit, Function, If, Loop, Op, Stmt, Type, Value};
use crate::range::Range;
use rustc_hash::FxHashMap;

/// Runs the pass.
pub fn run(function: &Function, rules: Rules) -> Function {
    let mut arms = FxHashMap::default();
    for_each_stmt(&function.body, &mut |stmt| {
        if let Stmt::If(i) = stmt {
            arms.extend(i.results.iter().enumerate().map(|(k, &result)| (result, (&**i, k))));
        }
    });
    let pass = Induction { function, arms, ranges: FxHashMap::default() };
    rewrite(function, Builder::new(&function.name, rules), pass)
}

struct Induction<'a> {
    function: &'a Function,
    /// The if that defines a result, and the index of the result.
    arms: FxHashMap<Value, (&'a If, usize)>,
    /// Ranges of counters, as signed integers.
    ranges: FxHashMap<Value, Range<i64>>,
}

/// A bool with a known value.
type Fact = (Value, bool);

impl Pass for Induction<'_> {
    fn op(&mut self, builder: &mut Builder, old: Value, op: Op, args: &[Value]) -> Value {
        if matches!(op, Op::SLt | Op::ULt | Op::IEq) && !self.ranges.is_empty() {
            let (_, old_args) =
                self.function.operation(old).expect("an operation defines the value");
            if let Some(known) = value_tracking::compare(self.function, op, old_args, &|value| {
                self.ranges.get(&value).copied()
            }) {
                return builder.bool(known);
            }
        }
        builder.op(op, args)
    }

    fn loop_(&mut self, rewriter: &mut Rewriter<'_>, node: &Loop) {
        self.find_ranges(node);
        rewriter.loop_(self, node);
    }
}

impl Induction<'_> {
    /// Computes the ranges of a loop's counters.
    fn find_ranges(&mut self, node: &Loop) {
        // Facts that hold in the body, and facts that hold at its end if there is another
        // iteration.
        let mut in_body = vec![];
        self.derive((node.cond, true), &mut in_body);
        let mut continuing = in_body.clone();
        for &(value, truth) in &in_body {
            if let Some(k) = node.params.iter().position(|&param| param == value) {
                self.derive((node.body.yields[k], truth), &mut continuing);
            }
        }
        let bounds = in_body.iter().flat_map(|&fact| self.iterations(node, fact, &continuing));
        let Some(iterations) = bounds.min() else { return };
        for (k, &param) in node.params.iter().enumerate() {
            if self.function.ty(param) == Type::I32
                && let Some(steps) = self.steps(node.body.yields[k], param, &in_body)
            {
                let [lo, hi] = [steps.lo, steps.hi].map(|step| step.saturating_mul(iterations));
                let range = self.signed(node.init[k]).add(Range::new(lo, hi).hull(Range::ZERO));
                if SIGNED.includes(range) {
                    self.ranges.insert(param, range);
                }
            }
        }
    }

    /// The range of a value as a signed integer.
    fn signed(&self, value: Value) -> Range<i64> {
        value_tracking::signed(self.function, value, &|value| self.ranges.get(&value).copied())
    }

    /// Adds a fact and everything that it implies.
    fn derive(&self, fact: Fact, known: &mut Vec<Fact>) {
        if known.contains(&fact) {
            return;
        }
        known.push(fact);
        let (value, truth) = fact;
        match self.function.operation(value) {
            Some((Op::BNot, args)) => self.derive((args[0], !truth), known),
            Some((Op::BAnd, args)) if truth => {
                args.iter().for_each(|&arg| self.derive((arg, true), known))
            }
            Some((Op::BOr, args)) if !truth => {
                args.iter().for_each(|&arg| self.derive((arg, false), known))
            }
            _ => {}
        }
        // If one arm of a select is a constant that contradicts the fact, the other arm was
        // selected.
        if let Some((cond, t, e)) = self.select_operands(value) {
            for (taken, value, other) in [(true, t, e), (false, e, t)] {
                if self.function.constant(other).is_some_and(|bits| (bits != 0) != truth) {
                    self.derive((cond, taken), known);
                    self.derive((value, truth), known);
                }
            }
        }
    }

    /// Condition and alternatives of a select, or of a result of an if.
    fn select_operands(&self, value: Value) -> Option<(Value, Value, Value)> {
        match self.function.operation(value) {
            Some((Op::Select, &[cond, t, e])) => Some((cond, t, e)),
            Some(_) => None,
            None => self
                .arms
                .get(&value)
                .map(|&(node, k)| (node.cond, node.then.yields[k], node.otherwise.yields[k])),
        }
    }

    /// Range of the difference between `next` and `param`, given some facts.
    fn steps(&self, next: Value, param: Value, facts: &[Fact]) -> Option<Range<i64>> {
        if next == param {
            return Some(Range::ZERO);
        }
        if let Some((Op::IAdd, &[base, step])) = self.function.operation(next) {
            let step = i64::from(self.function.constant(step)? as i32);
            return Some(self.steps(base, param, facts)?.add(Range::singleton(step)));
        }
        let (cond, t, e) = self.select_operands(next)?;
        match facts.iter().find(|fact| fact.0 == cond) {
            Some(&(_, true)) => self.steps(t, param, facts),
            Some(_) => self.steps(e, param, facts),
            None => Some(self.steps(t, param, facts)?.hull(self.steps(e, param, facts)?)),
        }
    }

    /// Upper bounds on the number of iterations of a loop, from a fact that holds in its body.
    fn iterations(&self, node: &Loop, (value, truth): Fact, continuing: &[Fact]) -> Vec<i64> {
        let Some((op @ (Op::SLt | Op::ULt | Op::IEq), &[a, b])) = self.function.operation(value)
        else {
            return vec![];
        };
        let bound = |counter: Value, limit: Value, is_left: bool| {
            // A parameter plus a constant is a counter with another initial value.
            let (param, offset) = match self.function.operation(counter) {
                Some((Op::IAdd, &[base, offset])) => {
                    (base, i64::from(self.function.constant(offset)? as i32))
                }
                _ => (counter, 0),
            };
            let k = node.params.iter().position(|&p| p == param)?;
            let steps = self.steps(node.body.yields[k], param, continuing)?;
            let init = self.signed(node.init[k]).add(Range::singleton(offset));
            if !SIGNED.includes(init) {
                return None;
            }
            let limit = self.signed(limit);
            let as_unsigned = value_tracking::as_unsigned;
            let (init, limit, all) = match op {
                Op::IEq if truth => return None,
                Op::IEq => return iterations_until(init, steps, limit),
                Op::SLt => (init, limit, SIGNED),
                _ => (as_unsigned(init), as_unsigned(limit), UNSIGNED),
            };
            // param < limit or limit < param; ≤ if the fact is a negated comparison.
            let slack = i64::from(!truth);
            if is_left == truth {
                iterations_below(init, steps, limit.hi + slack, all)
            } else {
                iterations_below(init.neg(), steps.neg(), slack - limit.lo, all.neg())
            }
        };
        [bound(a, b, true), bound(b, a, false)].into_iter().flatten().collect()
    }
}

/// Maximum number of iterations of a loop that exits when a counter equals `limit`.
fn iterations_until(init: Range<i64>, step: Range<i64>, limit: Range<i64>) -> Option<i64> {
    if step.lo != step.hi || limit.lo != limit.hi || step.is_zero() {
        return None;
    }
    // Mirror counters that count down.
    let (init, limit) = if step.lo > 0 { (init, limit.lo) } else { (init.neg(), limit.neg().lo) };
    let step = step.mag();
    if init.lo == init.hi {
        let distance = (limit - init.lo).rem_euclid(1 << 32);
        return (distance % step == 0).then_some(distance / step);
    }
    (step == 1 && init.hi <= limit).then_some(limit - init.lo)
}

/// Maximum number of iterations of a loop that runs while an increasing counter is below `limit`;
/// `None` if the counter may wrap around `all` values.
fn iterations_below(
    init: Range<i64>,
    steps: Range<i64>,
    limit: i64,
    all: Range<i64>,
) -> Option<i64> {
    let wraps = limit - 1 + steps.hi > all.hi;
    (steps.lo > 0 && !wraps).then(|| ((limit - 1 - init.lo).div_euclid(steps.lo) + 1).max(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interpreter;
    use crate::ir::text::parse;
    use crate::passes;
    use crate::random::Random;
    use crate::testing::random;

    /// A loop with an iteration cap, as the front end emits it. `cond` defines `%c`; `next` defines
    /// `%i2`, the next value of `%i`. The last output is whether the cap was reached.
    fn capped(init: &str, cond: &str, next: &str, cap: u32) -> Function {
        let text = format!(
            "fn f(n: i32, x: f32) -> (i: i32, s: f32, capped: bool) {{
               {init}
               %1, %2, %3 = loop (%capped: bool = false, %i: i32 = %init, %s: f32 = x, %k: i32 = 0) {{
                 {cond}
                 %below = ult %k, {cap}
                 %above = bnot %below
                 %stopped = band %c, %above
                 %out = bor %capped, %stopped
                 %on = band %c, %below
                 while %on else %i, %s, %out
                 %t = mul %s, 0.5
                 {next}
                 %k2 = iadd %k, 1
                 next %out, %i2, %t, %k2
               }}
               return %1, %2, %3
             }}"
        );
        parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    /// Whether the pass proves that the cap is unreachable. Checks that nothing else changes.
    fn removes_cap(function: &Function) -> bool {
        let proved = passes::optimize_with(function, Rules::Exact);
        for row in random::special_rows(&function.inputs, 40, 3) {
            let run = |function| {
                interpreter::run(function, &[], &row, 1 << 20).expect("loops are capped")
            };
            let (before, after) = (run(function), run(&proved));
            assert_eq!(
                (before[0], before[2]),
                (after[0], after[2]),
                "{row:x?}\n{function}\n{proved}"
            );
        }
        proved.constant(proved.body.yields[2]) == Some(0)
    }

    #[test]
    fn caps_of_counted_loops_are_removed() {
        let up = "%i2 = iadd %i, 3";
        let down = "%i2 = iadd %i, -1";
        for (init, cond, next) in [
            ("%init = iadd n, 0", "%c = slt %i, 100", up),
            ("%init = smax n, 0", "%c = slt %i, 100", up),
            ("%init = and n, 7", "%c = ult %i, 200", up),
            ("%init = and n, 7", "%m = and n, 255 %c = slt %i, %m", up),
            ("%init = and n, 7", "%m = smin n, 99 %d = slt %m, %i %c = bnot %d", up),
            ("%init = and n, 255", "%c = slt 0, %i", down),
            ("%init = and n, 255", "%d = slt %i, 0 %c = bnot %d", down),
            ("%init = and n, 255", "%d = ieq %i, 0 %c = bnot %d", down),
            ("%init = and n, 255", "%a = slt %i, 100 %b = lt x, %s %c = band %a, %b", up),
            (
                "%init = and n, 255",
                "%a = slt 99, %i %b = lt x, %s %d = bor %a, %b %c = bnot %d",
                up,
            ),
            // Counters that are incremented before the comparison.
            (
                "%init = and n, 7",
                "%j = iadd %i, 1 %d = slt 10, %j %c = bnot %d",
                "%i2 = iadd %i, 1",
            ),
            // Steps that vary, but are at least one.
            (
                "%init = and n, 7",
                "%c = slt %i, 100",
                "%e = lt %s, 0.5 %a = iadd %i, 1 %b = iadd %i, 2 %i2 = select %e, %a, %b",
            ),
            // Step zero only in the iteration that exits.
            ("%init = and n, 7", "%c = slt %i, 100", "%a = iadd %i, 1 %i2 = select %c, %a, %i"),
        ] {
            let proved = removes_cap(&capped(init, cond, next, 1000));
            // Nothing can be concluded from an unknown initial value.
            assert_eq!(proved, !init.contains("iadd"), "{init}; {cond}; {next}");
        }
        let exact = |step| {
            capped(
                "%init = and 0, n",
                "%d = ieq %i, 30 %c = bnot %d",
                &format!("%i2 = iadd %i, {step}"),
                1000,
            )
        };
        assert!(removes_cap(&exact(3)) && removes_cap(&exact(-0x7fff_fff1)));
        assert!(!removes_cap(&exact(4)) && !removes_cap(&exact(-1)));
    }

    #[test]
    fn caps_that_may_be_reached_are_kept() {
        let up = "%i2 = iadd %i, 1";
        for (init, cond, next) in [
            ("%init = and n, 7", "%c = slt %i, n", up),
            ("%init = and n, 7", "%c = slt %i, 2000", up),
            (
                "%init = and n, 7",
                "%c = slt %i, 100",
                "%e = lt %s, 0.5 %a = iadd %i, 1 %i2 = select %e, %a, %i",
            ),
            ("%init = and n, 7", "%c = slt %i, 100", "%i2 = iadd %i, -1"),
            ("%init = and n, 7", "%c = slt %i, 100", "%i2 = imul %i, 3"),
            // Wraps before it reaches the limit.
            ("%init = and n, 7", "%c = slt %i, 2147483647", "%i2 = iadd %i, 8388608"),
            ("%init = and n, 7", "%a = slt %i, 100 %b = lt x, %s %c = bor %a, %b", up),
        ] {
            assert!(!removes_cap(&capped(init, cond, next, 1000)), "{init}; {cond}; {next}");
        }
    }

    #[test]
    fn counter_that_jumps_in_the_last_iteration_has_no_range() {
        let function = parse(
            "fn f(x: f32) -> (small: bool) {
               %1 = loop (%go: bool = true, %i: i32 = 0, %s: f32 = x) {
                 %small = slt %i, 500
                 %few = slt %i, 100
                 %c = band %go, %few
                 while %c else %small
                 %t = mul %s, 0.5
                 %go2 = lt %t, %s
                 %a = iadd %i, 1
                 %b = iadd %i, 1000
                 %i2 = select %go2, %a, %b
                 next %go2, %i2, %t
               }
               return %1
             }",
        );
        let function = function.unwrap_or_else(|error| panic!("{error}"));
        let after = passes::optimize_with(&function, Rules::Exact);
        for x in [0.0f32, 1.0, -1.0, 1e-40] {
            let run = |function| {
                interpreter::run(function, &[], &[x.to_bits()], 1000).expect("the loop terminates")
            };
            assert_eq!(run(&function), run(&after), "{x}\n{after}");
        }
    }

    #[test]
    fn caps_of_nested_loops_are_removed() {
        let function = parse(
            "fn f(n: i32, x: f32) -> (s: f32, capped: bool) {
               %1, %2 = loop (%capped: bool = false, %i: i32 = 0, %s: f32 = x, %k: i32 = 0) {
                 %c = slt %i, 20
                 %free = bnot %capped
                 %wants = band %c, %free
                 %below = ult %k, 1000
                 %above = bnot %below
                 %stopped = band %wants, %above
                 %out = bor %capped, %stopped
                 %on = band %wants, %below
                 while %on else %s, %out
                 %u, %uc = loop (%capped1: bool = %out, %j: i32 = 0, %t: f32 = %s, %k1: i32 = 0) {
                   %d = slt %j, %i
                   %below1 = ult %k1, 1000
                   %above1 = bnot %below1
                   %stopped1 = band %d, %above1
                   %out1 = bor %capped1, %stopped1
                   %on1 = band %d, %below1
                   while %on1 else %t, %out1
                   %t2 = mul %t, 0.75
                   %j2 = iadd %j, 1
                   %k12 = iadd %k1, 1
                   next %out1, %j2, %t2, %k12
                 }
                 %i2 = iadd %i, 1
                 %k2 = iadd %k, 1
                 next %uc, %i2, %u, %k2
               }
               return %1, %2
             }",
        );
        let proved = passes::optimize(&function.unwrap_or_else(|error| panic!("{error}")));
        assert_eq!(proved.constant(proved.body.yields[1]), Some(0), "{proved}");
        assert_eq!(passes::count_loop_params(&proved), 4, "{proved}");
    }

    #[test]
    fn loops_with_random_counters_keep_their_results() {
        for seed in 0..400 {
            check_random_counter(seed);
        }
    }

    #[test]
    #[ignore = "takes a minute: cargo test -p lightbound-shader --release --lib passes::induction -- --ignored"]
    fn loops_with_many_random_counters_keep_their_results() {
        for seed in 1000..200_000 {
            check_random_counter(seed);
        }
    }

    /// Checks a loop with a random initial value, limit and step near zero, the extremes and values
    /// that wrap.
    fn check_random_counter(seed: u64) {
        let mut random = Random::new(seed);
        let mut number = |special: &[i32]| *random.pick(special) + (random.below(7) as i32 - 3);
        let (init, limit) = (
            number(&[0, 40, i32::MIN + 3, i32::MAX - 3, -40]),
            number(&[0, 40, i32::MIN + 3, i32::MAX - 3, 20]),
        );
        let (step, other) = (number(&[0, 0, 10, 1 << 28, i32::MAX - 3]), number(&[0, 0, 4]));
        let init = random
            .pick(&[
                format!("%init = iadd 0, {init}"),
                "%init = and n, 7".to_owned(),
                format!("%a0 = and n, 3 %init = iadd %a0, {init}"),
            ])
            .clone();
        let limit = &*random.pick(&[format!("{limit}"), "%m".to_owned()]).clone();
        let (left, right) = *random.pick(&[("%i", limit), (limit, "%i"), ("%j", limit)]);
        let op = *random.pick(&["slt", "ult", "ieq"]);
        let not = *random.pick(&["%c = bnot %b", "%c = bor %b, false"]);
        let cond = format!("%m = and n, 31 %j = iadd %i, {other} %b = {op} {left}, {right} {not}");
        let next = format!(
            "%p = iadd %i, {step} %q = iadd %i, {other} %e = lt %s, 0.01 %i2 = select %e, %p, %q"
        );
        let next = if random.once_in(2) { format!("%i2 = iadd %i, {step}") } else { next };
        removes_cap(&capped(&init, &cond, &next, 1 + random.below(60) as u32));
    }
}
