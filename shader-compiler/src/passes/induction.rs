//! Proves by induction that counters stay in range, so that tests whose outcome is certain go:
//! above all those for the cap on a loop's rounds, which every loop has and hardly one needs.
//!
//! A loop whose condition holds only while p < n, where p grows by at least one each round, has a
//! bound on its rounds; so has one that counts down, or up to p = n. With N the bound, every
//! parameter that changes by a constant each round is at most N such steps away from where it
//! starts, and comparisons of it come out one way.
//!
//! After a `break`, a translated loop leaves p as it is, and clears a bool parameter that its
//! condition wants. So for the bound on rounds it is enough that p grows whenever the parameters
//! that the condition wants are such that there can be a next round.

use super::range;
use crate::ir::function::for_each_stmt;
use crate::ir::rewrite::{Pass, Rewriter, rewrite};
use crate::ir::{Builder, Emit, Function, If, Loop, Op, Rules, Stmt, Type, Value};
use rustc_hash::FxHashMap;

/// Decides comparisons of counters that are certain.
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
    /// The if that a result is of, and its number there.
    arms: FxHashMap<Value, (&'a If, usize)>,
    /// Ranges of counters, as signed integers.
    ranges: FxHashMap<Value, [i64; 2]>,
}

/// A bool that is known.
type Fact = (Value, bool);

impl Pass for Induction<'_> {
    fn op(&mut self, builder: &mut Builder, old: Value, op: Op, args: &[Value]) -> Value {
        if matches!(op, Op::SLt | Op::ULt | Op::IEq) && !self.ranges.is_empty() {
            let (_, old_args) = self.function.operation(old).expect("it was made by an operation");
            if let Some(known) = range::compare(self.function, op, old_args, &|value| {
                self.ranges.get(&value).copied()
            }) {
                return builder.bool(known);
            }
        }
        builder.op(op, args)
    }

    fn loop_(&mut self, rewriter: &mut Rewriter<'_>, node: &Loop) {
        self.learn(node);
        rewriter.loop_(self, node);
    }
}

impl Induction<'_> {
    /// Finds ranges of a loop's counters.
    fn learn(&mut self, node: &Loop) {
        // What holds in the body, and what holds after it if there is to be another round.
        let mut within = vec![];
        self.conclude((node.cond, true), &mut within);
        let mut onward = within.clone();
        for &(value, truth) in &within {
            if let Some(k) = node.params.iter().position(|&param| param == value) {
                self.conclude((node.body.yields[k], truth), &mut onward);
            }
        }
        let bounds = within.iter().flat_map(|&fact| self.rounds(node, fact, &onward));
        let Some(rounds) = bounds.min() else { return };
        for (k, &param) in node.params.iter().enumerate() {
            if self.function.ty(param) == Type::I32
                && let Some(steps) = self.steps(node.body.yields[k], param, &within)
            {
                let [low, high] = self.signed(node.init[k]);
                let [least, most] = steps.map(|step| step.saturating_mul(rounds));
                let (low, high) =
                    (low.saturating_add(least.min(0)), high.saturating_add(most.max(0)));
                if ENDS[0] <= low && high <= ENDS[1] {
                    self.ranges.insert(param, [low, high]);
                }
            }
        }
    }

    fn signed(&self, value: Value) -> [i64; 2] {
        range::signed(self.function, value, &|value| self.ranges.get(&value).copied())
    }

    /// Everything that follows from a fact.
    fn conclude(&self, fact: Fact, known: &mut Vec<Fact>) {
        if known.contains(&fact) {
            return;
        }
        known.push(fact);
        let (value, truth) = fact;
        match self.function.operation(value) {
            Some((Op::BNot, args)) => self.conclude((args[0], !truth), known),
            Some((Op::BAnd, args)) if truth => {
                args.iter().for_each(|&arg| self.conclude((arg, true), known))
            }
            Some((Op::BOr, args)) if !truth => {
                args.iter().for_each(|&arg| self.conclude((arg, false), known))
            }
            _ => {}
        }
        // A choice of which one side is constant, and not what was found, took the other.
        if let Some((cond, t, e)) = self.choice(value) {
            for (way, side, other) in [(true, t, e), (false, e, t)] {
                if self.function.constant(other).is_some_and(|bits| (bits != 0) != truth) {
                    self.conclude((cond, way), known);
                    self.conclude((side, truth), known);
                }
            }
        }
    }

    /// Condition and alternatives of a select, or of a result of an if.
    fn choice(&self, value: Value) -> Option<(Value, Value, Value)> {
        match self.function.operation(value) {
            Some((Op::Select, &[cond, t, e])) => Some((cond, t, e)),
            Some(_) => None,
            None => self
                .arms
                .get(&value)
                .map(|&(node, k)| (node.cond, node.then.yields[k], node.otherwise.yields[k])),
        }
    }

    /// Least and greatest amount that `next` differs from `param` by, if facts hold.
    fn steps(&self, next: Value, param: Value, facts: &[Fact]) -> Option<[i64; 2]> {
        if next == param {
            return Some([0, 0]);
        }
        if let Some((Op::IAdd, &[of, step])) = self.function.operation(next) {
            let step = i64::from(self.function.constant(step)? as i32);
            return self.steps(of, param, facts).map(|steps| steps.map(|s| s + step));
        }
        let (cond, t, e) = self.choice(next)?;
        match facts.iter().find(|fact| fact.0 == cond) {
            Some(&(_, true)) => self.steps(t, param, facts),
            Some(_) => self.steps(e, param, facts),
            None => {
                let ([a, b], [c, d]) = (self.steps(t, param, facts)?, self.steps(e, param, facts)?);
                Some([a.min(c), b.max(d)])
            }
        }
    }

    /// Bounds on the number of rounds of a loop in which a fact holds.
    fn rounds(&self, node: &Loop, (value, truth): Fact, onward: &[Fact]) -> Vec<i64> {
        let Some((op @ (Op::SLt | Op::ULt | Op::IEq), &[a, b])) = self.function.operation(value)
        else {
            return vec![];
        };
        let side = |counter: Value, limit: Value, is_left: bool| {
            // A parameter plus a constant counts like the parameter, from elsewhere.
            let (param, offset) = match self.function.operation(counter) {
                Some((Op::IAdd, &[of, offset])) => {
                    (of, i64::from(self.function.constant(offset)? as i32))
                }
                _ => (counter, 0),
            };
            let k = node.params.iter().position(|&p| p == param)?;
            let steps = self.steps(node.body.yields[k], param, onward)?;
            let init = self.signed(node.init[k]).map(|init| init + offset);
            if init[0] < ENDS[0] || init[1] > ENDS[1] {
                return None;
            }
            let limit = self.signed(limit);
            let (init, limit, ends) = match op {
                Op::IEq if truth => return None,
                Op::IEq => return rounds_until(init, steps, limit),
                Op::SLt => (init, limit, ENDS),
                _ => {
                    (range::as_unsigned(init), range::as_unsigned(limit), [0, i64::from(u32::MAX)])
                }
            };
            // param < limit, limit < param, or with ≤ where the fact is that a comparison is false.
            let slack = i64::from(!truth);
            if is_left == truth {
                rounds_below(init, steps, limit[1] + slack, ends)
            } else {
                let mirror = |[low, high]: [i64; 2]| [-high, -low];
                rounds_below(mirror(init), mirror(steps), slack - limit[0], mirror(ends))
            }
        };
        [side(a, b, true), side(b, a, false)].into_iter().flatten().collect()
    }
}

/// Least and greatest signed integer.
const ENDS: [i64; 2] = [i32::MIN as i64, i32::MAX as i64];

/// Rounds of a loop that is left where a counter equals `limit`.
fn rounds_until(
    [low, high]: [i64; 2],
    [step, most]: [i64; 2],
    [limit, end]: [i64; 2],
) -> Option<i64> {
    if step != most || limit != end || step == 0 {
        return None;
    }
    // As if counting up.
    let (low, high, limit) = if step > 0 { (low, high, limit) } else { (-high, -low, -limit) };
    let step = step.abs();
    if low == high {
        let distance = (limit - low).rem_euclid(1 << 32);
        return (distance % step == 0).then_some(distance / step);
    }
    (step == 1 && high <= limit).then_some(limit - low)
}

/// Rounds of a loop in which a counter is below `limit`, if it grows and does not wrap.
fn rounds_below(init: [i64; 2], steps: [i64; 2], limit: i64, ends: [i64; 2]) -> Option<i64> {
    let wraps = limit - 1 + steps[1] > ends[1];
    (steps[0] > 0 && !wraps).then(|| ((limit - 1 - init[0]).div_euclid(steps[0]) + 1).max(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interpreter;
    use crate::ir::random::{self, Random};
    use crate::ir::text::parse;
    use crate::passes;

    /// A loop with a cap as the front end makes it; `cond` defines `%c`, `next` what comes after
    /// `%i`. The outputs tell whether the cap was reached.
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

    /// Whether the cap is proved never to be reached. Checks that nothing else changes.
    fn is_proved(function: &Function) -> bool {
        let proved = passes::optimize_by(function, Rules::Exact);
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
    fn caps_of_counted_loops_go() {
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
            // Counted before it is compared.
            (
                "%init = and n, 7",
                "%j = iadd %i, 1 %d = slt 10, %j %c = bnot %d",
                "%i2 = iadd %i, 1",
            ),
            // Steps that differ, but never stand still.
            (
                "%init = and n, 7",
                "%c = slt %i, 100",
                "%e = lt %s, 0.5 %a = iadd %i, 1 %b = iadd %i, 2 %i2 = select %e, %a, %b",
            ),
            // Frozen only where the loop is left.
            ("%init = and n, 7", "%c = slt %i, 100", "%a = iadd %i, 1 %i2 = select %c, %a, %i"),
        ] {
            let proved = is_proved(&capped(init, cond, next, 1000));
            // Of an unknown start nothing follows.
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
        assert!(is_proved(&exact(3)) && is_proved(&exact(-0x7fff_fff1)));
        assert!(!is_proved(&exact(4)) && !is_proved(&exact(-1)));
    }

    #[test]
    fn caps_that_may_be_reached_stay() {
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
            // Wraps before it gets there.
            ("%init = and n, 7", "%c = slt %i, 2147483647", "%i2 = iadd %i, 8388608"),
            ("%init = and n, 7", "%a = slt %i, 100 %b = lt x, %s %c = bor %a, %b", up),
        ] {
            assert!(!is_proved(&capped(init, cond, next, 1000)), "{init}; {cond}; {next}");
        }
    }

    #[test]
    fn a_counter_that_jumps_where_the_loop_is_left_has_no_range() {
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
        let after = passes::optimize_by(&function, Rules::Exact);
        for x in [0.0f32, 1.0, -1.0, 1e-40] {
            let run = |function| {
                interpreter::run(function, &[], &[x.to_bits()], 1000).expect("the loop ends")
            };
            assert_eq!(run(&function), run(&after), "{x}\n{after}");
        }
    }

    #[test]
    fn caps_of_nested_loops_go() {
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
        assert_eq!(passes::params_of(&proved), 4, "{proved}");
    }

    #[test]
    fn random_counters_keep_their_rounds() {
        for seed in 0..400 {
            random_counter(seed);
        }
    }

    #[test]
    #[ignore = "a minute; for changes of this pass: cargo test -p lightbound-shader --release -- --ignored"]
    fn random_counters_keep_their_rounds_slow() {
        for seed in 1000..200_000 {
            random_counter(seed);
        }
    }

    /// Starts, limits and steps where signs, ends and wrapping matter.
    fn random_counter(seed: u64) {
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
        is_proved(&capped(&init, &cond, &next, 1 + random.below(60) as u32));
    }
}
