//! Loops. The loop parameters are the iteration count and the slots that the loop may assign, which
//! [`super::effects`] determines beforehand; later rewriting removes those that never change. The
//! head ends with the last step that may leave the loop; the remaining steps and `continuing` are
//! the body. A loop with `break if` has an empty body.
//!
//! A loop stops after a fixed number of iterations. If it would have continued, it sets [`CAPPED`],
//! and the enclosing loops stop as well.

use super::control::{Step, steps_of};
use super::effects::mark_used;
use super::exits::{BREAK, CONTINUE, ExitCondition, Flow, RETURN, any_exit, is_taken, or};
use super::operators::not;
use super::translate::{CAPPED, Fault, Frame, Translator};
use crate::builder::Builder;
use crate::ir::{Emit, Op, Type, Value};
use naga::{Block, Expression, Handle, Statement};

/// Logical and, folded if an operand is constant.
fn and(b: &mut Builder, x: Value, y: Value) -> Value {
    match (b.known_bool(x), b.known_bool(y)) {
        (Some(true), _) | (_, Some(false)) => y,
        (Some(false), _) | (_, Some(true)) => x,
        _ => b.op(Op::BAnd, &[x, y]),
    }
}

impl<'m> Translator<'m> {
    /// Translates a loop; `blocks` are its body and its `continuing` block.
    pub(super) fn translate_loop(
        &mut self,
        frame: &mut Frame<'m>,
        blocks: [&'m Block; 2],
        break_if: Option<Handle<Expression>>,
    ) -> Result<Flow, Fault> {
        let [steps, mut continuing] = blocks.map(steps_of);
        continuing.extend(break_if.map(Step::BreakIf));
        let exit = match break_if {
            Some(_) => steps.len(),
            None => steps.iter().rposition(Step::leaves_loop).map_or(0, |last| last + 1),
        };
        let (head, body) = steps.split_at(exit);
        let carried = carried(frame, head, body, &continuing);
        let outer = std::mem::replace(&mut frame.carried, carried);

        // Parameters: assigned slots, the iteration count, and `CAPPED` if there are inner loops.
        let assigned = self.assigned(frame, blocks);
        let mut slots = assigned.slots;
        if assigned.loops {
            slots.insert(0, CAPPED);
        }
        self.charge(slots.len())?;
        let mut init: Vec<_> = slots.iter().map(|&slot| self.slots[slot as usize]).collect();
        init.push(self.builder.i32(0));
        let params = self.builder.open_loop(&init);
        let mark = self.undo_log.len();
        for (&slot, &param) in slots.iter().zip(&params) {
            self.set(slot, param);
        }

        let mut flow = self.sequence(frame, head, false)?;
        if break_if.is_some() {
            flow[CONTINUE] = ExitCondition::Never;
            flow = self.guarded(frame, flow, &continuing, false)?;
        }
        let iteration = params[slots.len()];
        let continues = self.continues(&flow, iteration, assigned.loops);
        let changes = self.changes_since(mark);
        let mut exits: Vec<_> = changes.iter().map(|&(_, value)| value).collect();
        exits.push(is_taken(&mut self.builder, flow[RETURN]));
        self.builder.open_body(continues, &exits);

        if break_if.is_none() {
            let skipped = [ExitCondition::Never, ExitCondition::Never, flow[CONTINUE]];
            self.guarded(frame, skipped, body, false)?;
            self.sequence(frame, &continuing, false)?;
        }
        let mut next: Vec<_> = slots.iter().map(|&slot| self.slots[slot as usize]).collect();
        let one = self.builder.i32(1);
        next.push(self.op(Op::IAdd, &[iteration, one]));
        let results = self.builder.close_loop(&next);

        debug_assert!(
            self.changes_since(mark)
                .iter()
                .map(|change| change.0)
                .eq(changes.iter().map(|change| change.0)),
            "`assigned` returns all slots that the loop assigns"
        );
        for (&(slot, _), &result) in changes.iter().zip(&results) {
            self.set(slot, result);
        }
        frame.carried = outer;
        let returned = match flow[RETURN] {
            ExitCondition::If(_) => ExitCondition::If(results[changes.len()]),
            other => other,
        };
        Ok([returned, ExitCondition::Never, ExitCondition::Never])
    }

    /// Whether a loop continues after its head. Sets [`CAPPED`] where only the cap stops it.
    fn continues(&mut self, flow: &Flow, iteration: Value, has_inner_loops: bool) -> Value {
        let b = &mut self.builder;
        let exited = any_exit(b, &[flow[RETURN], flow[BREAK]]);
        let exited = is_taken(b, exited);
        let mut active = match b.known_bool(exited) {
            Some(exited) => b.bool(!exited),
            None => not(b, exited),
        };
        let capped = self.slots[CAPPED as usize];
        if has_inner_loops {
            let uncapped = match b.known_bool(capped) {
                Some(capped) => b.bool(!capped),
                None => not(b, capped),
            };
            active = and(b, active, uncapped);
        }
        let cap = b.constant(Type::I32, self.settings.loop_cap);
        let below = b.op(Op::ULt, &[iteration, cap]);
        let above = not(b, below);
        let stopped = and(b, active, above);
        let capped = or(b, capped, stopped);
        let continues = and(b, active, below);
        self.set(CAPPED, capped);
        continues
    }
}

/// Expressions of a loop that are used after a possible early exit. The steps after the exit are
/// translated in an arm, so that the values that they define must be carried out of it.
fn carried<'m>(
    frame: &Frame<'m>,
    head: &[Step<'m>],
    body: &[Step<'m>],
    continuing: &[Step<'m>],
) -> Vec<Handle<Expression>> {
    let mut exits = head.iter().chain(body).map(Step::leaves_iteration);
    // If only the last step of the head may exit, and none of the body, all values are in scope.
    let all_in_scope =
        head.split_last().is_none_or(|(_, before)| !before.iter().any(Step::leaves_iteration))
            && !exits.by_ref().skip(head.len()).any(|exits| exits);
    if all_in_scope {
        return vec![];
    }
    let mut used = vec![false; frame.expressions.len()];
    mark_used(frame, continuing, &mut used);
    let mut carried =
        emitted(body).filter(|expression| used[expression.index()]).collect::<Vec<_>>();
    mark_used(frame, body, &mut used);
    carried.extend(emitted(head).filter(|expression| used[expression.index()]));
    carried
}

/// The expressions that steps evaluate: those that they emit, and results of calls.
fn emitted<'s>(steps: &'s [Step]) -> impl Iterator<Item = Handle<Expression>> + 's {
    steps.iter().flat_map(|step| {
        let (range, result) = match step {
            Step::Statement(Statement::Emit(range), _) => (Some(range.clone()), None),
            Step::Statement(Statement::Call { result, .. }, _) => (None, *result),
            _ => (None, None),
        };
        range.into_iter().flatten().chain(result)
    })
}

#[cfg(test)]
mod tests {
    use crate::frontend::Shader;
    use crate::frontend::testing::{CAP, check_all, run, shape, translate};
    use crate::ir::function::{Stmt, for_each_stmt};

    #[test]
    fn loops_have_only_necessary_parameters() {
        let loops = [
            "for (var i = 0; i < x; i++) { s += i; }",
            "var i = 0; while i < x { s += i; i++; }",
            "var i = 0; loop { if i >= x { break; } s += i; i++; }",
            "var i = 0; loop { if i >= x { break; } s += i; continuing { i++; } }",
            "var i = 0; if x > 0 { loop { s += i; continuing { i++; break if i >= x; } } }",
        ];
        for text in loops {
            let source = format!("fn f(x: i32) -> i32 {{ var s = 0; {text} return s; }}");
            check_all(&source, -1..20, |x| (0..x).sum());
            // The iteration count, `i` and `s`.
            assert_eq!(shape(&translate(&source))[1..], [1, 3], "{source}");
        }
    }

    #[test]
    fn loop_head_contains_only_the_condition() {
        let f = translate(
            "fn f(x: i32) -> i32 { var s = 0; for (var i = 0; i < x; i++) { s += i; } return s; }",
        );
        let mut heads = vec![];
        for_each_stmt(&f.body, &mut |stmt| {
            if let Stmt::Loop(l) = stmt {
                heads.push((l.head.stmts.len(), l.body.stmts.len()));
            }
        });
        // The head computes i < x, k < cap, their conjunction, and `capped` in two or three
        // operations; the body computes s + i, i + 1 and k + 1.
        assert!(heads.len() == 1 && heads[0].0 <= 7 && heads[0].1 == 3, "{heads:?}");
    }

    #[test]
    fn results_of_calls_are_carried_past_early_exits() {
        let source = "fn triple(i: i32) -> i32 { return 3 * i; }
        fn f(x: i32) -> i32 {
            var s = 0;
            for (var i = 0; i < x; i++) {
                let d = triple(i);
                if d > 40 { break; }
                s += d;
            }
            return s;
        }";
        check_all(source, 0..20, |x| (0..x).map(|i| 3 * i).take_while(|&d| d <= 40).sum());
    }

    #[test]
    fn only_lines_of_reachable_loops_are_listed() {
        let text = "fn inner(x: i32) -> i32 {
            var s = 0;
            for (var i = 0; i < x; i++) { s += i; }
            return s;
        }
        fn f(x: i32) -> i32 {
            var s = inner(x);
            if x > 0 { while s < 9 { s += inner(s); } }
            return s;
        }
        fn other(x: i32) -> i32 {
            var s = 0;
            while s < x { s++; }
            return s;
        }
        fn none(x: i32) -> i32 { return x; }";
        for (function, lines) in
            [("inner", &[3][..]), ("f", &[3, 8]), ("other", &[13]), ("none", &[])]
        {
            let shader = Shader::parse_function("test.wgsl", text, function);
            assert_eq!(shader.expect("it is valid").loop_lines(), lines, "{function}");
        }
    }

    #[test]
    fn continue_in_the_head_skips_the_body() {
        let source = "fn f(x: i32) -> i32 {
            var i = 0;
            var s = 0;
            loop {
                i++;
                let double = 2 * i;
                if (i & 1) == 0 { continue; }
                let triple = 3 * i;
                if i > x { break; }
                s += double + triple;
                let more = s + i;
                if (i & 2) == 0 { continue; }
                s += 1000 + more;
                continuing { s += double; }
            }
            return s;
        }";
        check_all(source, 0..20, |x| {
            let (mut i, mut s) = (0, 0i32);
            loop {
                i += 1;
                let double = 2 * i;
                if i & 1 != 0 {
                    if i > x {
                        return s;
                    }
                    s += double + 3 * i;
                    let more = s + i;
                    if i & 2 != 0 {
                        s += 1000 + more;
                    }
                }
                s += double;
            }
        });
    }

    #[test]
    fn pointers_are_carried_past_early_exits() {
        let source = "fn f(x: i32) -> i32 {
            var a = array(1, 2, 3, 4);
            var i = 0;
            loop {
                if i > 6 { break; }
                let p = &a[(i * x) & 3];
                if *p > 40 { break; }
                *p *= 3;
                if i == 2 { i += 2; continue; }
                *p += i;
                continuing { i++; *p += 1; }
            }
            return a[0] + 100 * a[1] + 10000 * a[2] + 1000000 * a[3];
        }";
        check_all(source, -5..20, |x| {
            let mut a = [1, 2, 3, 4];
            let mut i = 0;
            while i <= 6 {
                let p = &mut a[((i * x) & 3) as usize];
                if *p > 40 {
                    break;
                }
                *p *= 3;
                if i == 2 {
                    i += 2;
                } else {
                    *p += i;
                }
                i += 1;
                *p += 1;
            }
            a[0] + 100 * a[1] + 10000 * a[2] + 1000000 * a[3]
        });
    }

    #[test]
    fn returns_leave_nested_loops() {
        let source = "fn f(x: i32) -> i32 {
            var n = 0;
            for (var i = 0; i < 6; i++) {
                for (var j = 0; j < i; j++) {
                    if j == 3 { break; }
                    n += 1;
                    if n == x { return 1000 + 10 * i + j; }
                }
                if n > 2 * x { continue; }
                n += 1;
            }
            return n;
        }";
        check_all(source, -2..25, |x| {
            let mut n = 0;
            for i in 0..6 {
                for j in 0..i.min(3) {
                    n += 1;
                    if n == x {
                        return 1000 + 10 * i + j;
                    }
                }
                if n <= 2 * x {
                    n += 1;
                }
            }
            n
        });
    }

    #[test]
    fn variables_declared_in_loops_are_reinitialized() {
        let source = "fn f(x: i32) -> i32 {
            var s = 0;
            for (var i = 0; i < x; i++) { var a: i32; var b = 5; a += i; b += a; s += b; }
            return s;
        }";
        check_all(source, 0..10, |x| (0..x).map(|i| i + 5).sum());
    }

    #[test]
    fn loops_stop_at_the_cap() {
        let source = "fn f(n: u32) -> u32 { var i = 0u; while i < n { i++; } return i; }";
        let f = translate(source);
        for (n, iterations, capped) in
            [(0, 0, 0), (CAP - 1, CAP - 1, 0), (CAP, CAP, 0), (CAP + 1, CAP, !0), (!0, CAP, !0)]
        {
            assert_eq!(run(&f, &[n]), [iterations, capped], "{n}");
        }
        let break_at_end = translate(
            "fn f(n: u32) -> u32 { var i = 0u; loop { i++; continuing { break if i >= n; } } return i; }",
        );
        for (n, iterations, capped) in
            [(0, 1, 0), (CAP, CAP, 0), (CAP + 1, CAP + 1, 0), (CAP + 2, CAP + 1, !0)]
        {
            assert_eq!(run(&break_at_end, &[n]), [iterations, capped], "{n}");
        }
    }

    #[test]
    fn endless_loops_stop_at_the_cap() {
        let f = translate(
            "fn f(x: i32) -> i32 { var a = x; loop { a += 1; if a == -1 { return 7; } } return a - a; }",
        );
        assert_eq!(run(&f, &[0]), [0, !0]);
        assert_eq!(run(&f, &[-5i32 as u32]), [7, 0]);
    }

    #[test]
    fn enclosing_loops_stop_with_a_capped_loop() {
        let f = translate(
            "fn spin(n: i32) -> i32 { var i = 0; while i != n { i++; } return i; }
            fn f(n: i32) -> i32 {
                var s = 0;
                for (var i = 0; i < 900; i++) { for (var j = 0; j < 900; j++) { s += 1; if i == 3 { s += spin(n); } } }
                return s;
            }",
        );
        // All iterations up to the one in which `spin` is capped.
        let out = run(&f, &[-1i32 as u32]);
        assert_eq!(out, [3 * 900 + 1 + CAP, !0]);
        assert_eq!(run(&f, &[2]), [900 * 900 + 900 * 2, 0]);
    }

    #[test]
    fn capped_loop_in_an_arm_not_taken_is_ignored() {
        let f = translate(
            "fn f(x: i32) -> i32 { var a = 0; if x > 0 { while a != -1 { a++; } } return a; }",
        );
        assert_eq!(run(&f, &[0]), [0, 0]);
        assert_eq!(run(&f, &[1]), [CAP, !0]);
    }
}
