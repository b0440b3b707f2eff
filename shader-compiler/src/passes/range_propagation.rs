//! Folds what symbolic ranges of integers (`analysis/symbolic/`) decide: comparisons, above
//! all the checks of iteration caps, which the front end adds to every loop and hardly any loop
//! needs; minima and maxima, such as the clamps of array indices; and operations with only one
//! possible result.

use crate::analysis::symbolic::Ranges;
use crate::builder::rewrite::{Pass, rewrite};
use crate::builder::{Builder, Rules};
use crate::ir::{Emit, Function, Op, Type, Value};

/// Runs the pass.
pub fn run(function: &Function, rules: Rules) -> Function {
    let pass = Propagation { function, ranges: Ranges::new(function) };
    rewrite(function, Builder::new(&function.name, rules), pass)
}

struct Propagation<'a> {
    function: &'a Function,
    ranges: Ranges<'a>,
}

/// What replaces the result of an operation.
#[derive(Clone, Copy)]
enum Replacement {
    Constant(u32),
    Operand(usize),
}

impl Pass for Propagation<'_> {
    fn op(&mut self, builder: &mut Builder, old: Value, op: Op, args: &[Value]) -> Value {
        match self.replacement(old) {
            Some(Replacement::Constant(bits)) => builder.constant(self.function.ty(old), bits),
            Some(Replacement::Operand(k)) => args[k],
            None => builder.op(op, args),
        }
    }
}

impl Propagation<'_> {
    fn replacement(&mut self, old: Value) -> Option<Replacement> {
        let (op, args) = self.function.operation(old)?;
        let at = self.ranges.region_of(old);
        match (op, args) {
            (Op::SLt | Op::ULt | Op::IEq, &[a, b]) => {
                let known = self.ranges.decide(op, [a, b], at)?;
                Some(Replacement::Constant(if known { !0 } else { 0 }))
            }
            (Op::SMin | Op::SMax | Op::UMin | Op::UMax, &[a, b]) => {
                let selected = self.ranges.selected(op, [a, b], at)?;
                Some(Replacement::Operand(usize::from(selected == b)))
            }
            _ if self.function.ty(old) == Type::I32 && !op.is_load() => {
                let number = self.ranges.number(old, at);
                let is_known = number.lo == number.hi;
                is_known.then_some(Replacement::Constant(number.lo as u32))
            }
            _ => None,
        }
    }
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
            let function = capped(init, cond, next, 1000);
            assert_eq!(
                proved,
                !init.contains("iadd"),
                "{init}; {cond}; {next}\n{}",
                passes::optimize_with(&function, Rules::Exact)
            );
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
    fn clamps_of_indices_in_range_are_removed() {
        let clamped = |last: i32| {
            let text = format!(
                "fn f(n: i32, x: f32) -> (r: f32) {{
                   %m = and n, 31
                   %1 = loop (%i: i32 = 0, %s: f32 = x) {{
                     %c = slt %i, %m
                     while %c else %s
                     %j = iadd %i, 1
                     %clamped = umin %i, %m
                     %k = umin %j, {last}
                     %a = iadd %clamped, %k
                     %f = from_s32 %a
                     %t = add %s, %f
                     next %j, %t
                   }}
                   return %1
                 }}"
            );
            let function = parse(&text).unwrap_or_else(|error| panic!("{error}"));
            let after = passes::optimize_with(&function, Rules::Exact);
            for n in 0..40 {
                let run =
                    |function| interpreter::run(function, &[], &[n, 0], 1000).expect("it ends");
                assert_eq!(run(&function), run(&after), "{n}\n{after}");
            }
            after.to_string().matches("umin").count()
        };
        // i < m is a condition, and i + 1 ≤ 31 follows from it.
        assert_eq!([clamped(31), clamped(30)], [0, 1]);
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
    #[ignore = "takes a minute: cargo test -p lightbound-shader --release --lib passes::range_propagation -- --ignored"]
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
