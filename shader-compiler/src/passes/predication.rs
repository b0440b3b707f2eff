//! Predication: converts control flow of single lanes to control flow of SIMD groups.
//!
//! A group takes a branch if *any* of its lanes does. Lanes that would not have taken it are
//! *idle*: they compute, but their results are discarded. After this pass, the condition of every
//! if and loop is an `any`, which is uniform over the group. A `select` on the lane's own condition
//! merges results.
//!
//! - If both arms of an if are cheap, both run, followed by selects. An expensive arm runs if any
//!   lane needs it; a cheap arm next to it runs before the if; two expensive arms become two ifs.
//! - A loop runs while any lane continues. A select preserves the parameters of a lane that has
//!   exited. So in every iteration, the head recomputes a false condition and the same results for
//!   it. Therefore the loop needs no mask of active lanes, and results need no select. Parameters
//!   on which neither condition nor results depend need not be preserved.
//! - Idle lanes compute meaningless values, so their conditions must not count: within arms and
//!   bodies, conditions are combined with the *mask* of the lanes for which the block runs. The
//!   head of a loop runs for all lanes that entered the loop.
//! - A condition is uniform if it depends only on constants and on counters of loops that all lanes
//!   exit together. It needs no select and no mask.
//!
//! - A condition that is an `any` already is one of the active lanes: all of them take the same arm.
//!   Such an if is correct only if lanes whose own condition is false may run the first arm, too.
//!
//! For a single lane, `any` is the lane's condition, so results do not change.

use crate::builder::cost_of;
use crate::builder::rewrite::{OpenLoop, Pass, Rewriter, rewrite};
use crate::builder::{Builder, Rules};
use crate::ir::function::for_each_stmt;
use crate::ir::{Block, Def, Emit, Function, If, Loop, Op, Stmt, Value};
use rustc_hash::FxHashSet;

/// Maximum cost of an arm, in basic operations, that runs unconditionally. A branch costs a few
/// instructions, and about twenty cycles if it is mispredicted.
const SPECULATION_LIMIT: u32 = 24;

/// The same for uniform conditions, where a branch always skips an arm.
const UNIFORM_SPECULATION_LIMIT: u32 = 8;

/// Runs the pass.
pub fn run(function: &Function) -> Function {
    let mut builder = Builder::new(&function.name, Rules::Exact);
    builder.set_speculation(None);
    rewrite(function, builder, Predication { uniform: uniform(function), mask: None })
}

struct Predication {
    /// Whether each value of the old function is uniform.
    uniform: Vec<bool>,
    /// The lanes for which the block runs; `None` for all.
    mask: Option<Value>,
}

impl Pass for Predication {
    fn if_(&mut self, rewriter: &mut Rewriter<'_>, node: &If) {
        let cond = rewriter.get(node.cond);
        if rewriter.builder.known_bool(cond).is_some() {
            return rewriter.if_(self, node);
        }
        let results = rewriter.live(&node.results);
        if let Some((Op::Any, &[lane])) = rewriter.old.operation(node.cond) {
            let lane = rewriter.get(lane);
            let active = self.masked(&mut rewriter.builder, lane);
            let values = self.branch(rewriter, node, active);
            return rewriter.set_all(&results, &values);
        }
        let [cheap, cheap_otherwise] = self.cheap_arms(rewriter, node);
        let values = if cheap && cheap_otherwise {
            let (then, otherwise) =
                (rewriter.arm(self, node, true), rewriter.arm(self, node, false));
            emit_selects(&mut rewriter.builder, cond, &then, &otherwise)
        } else if self.uniform[node.cond.index()] {
            self.branch(rewriter, node, cond)
        } else if cheap {
            let then = rewriter.arm(self, node, true);
            self.guarded(rewriter, node, false, Some(&then))
        } else {
            let otherwise = if cheap_otherwise {
                rewriter.arm(self, node, false)
            } else {
                self.guarded(rewriter, node, false, None)
            };
            self.guarded(rewriter, node, true, Some(&otherwise))
        };
        rewriter.set_all(&results, &values);
    }

    fn loop_(&mut self, rewriter: &mut Rewriter<'_>, node: &Loop) {
        if rewriter.old.constant(node.cond) == Some(0) {
            return rewriter.head_only(self, node);
        }
        let OpenLoop { params, next } = rewriter.open_loop(node);
        rewriter.stmts(self, &node.head);
        let cond = rewriter.get(node.cond);
        if rewriter.builder.known_bool(cond) == Some(false) {
            rewriter.builder.discard_loop();
            return rewriter.head_only(self, node);
        }
        let is_uniform = self.uniform[node.cond.index()];
        let exits = rewriter.exits(node);
        let preserved = if is_uniform {
            FxHashSet::default()
        } else if has_loop(&node.head) {
            // Lanes that have exited run the inner loop as well. Values that they never had while
            // active might keep it from terminating.
            params.iter().copied().collect()
        } else {
            parameters_to_preserve(&rewriter.builder, &params, &exits, cond)
        };
        let active = if is_uniform { cond } else { self.masked(&mut rewriter.builder, cond) };
        let any = rewriter.builder.op(Op::Any, &[active]);
        rewriter.builder.open_body(any, &exits);
        let next = if is_uniform {
            rewriter.body(self, node, &next)
        } else {
            self.with_mask(active, |pass| rewriter.body(pass, node, &next))
        };
        let next = std::iter::zip(next, params).map(|(next, param)| {
            if preserved.contains(&param) {
                rewriter.builder.op(Op::Select, &[active, next, param])
            } else {
                next
            }
        });
        let next: Vec<_> = next.collect();
        let values = rewriter.builder.close_loop(&next);
        let results = rewriter.live(&node.results);
        rewriter.set_all(&results, &values);
    }
}

impl Predication {
    /// The lanes of the current block for which a condition holds.
    fn masked(&self, builder: &mut Builder, cond: Value) -> Value {
        match self.mask {
            Some(mask) => builder.op(Op::BAnd, &[cond, mask]),
            None => cond,
        }
    }

    /// Calls `work` with a mask for the block that it emits.
    fn with_mask<T>(&mut self, mask: Value, work: impl FnOnce(&mut Predication) -> T) -> T {
        let outer = self.mask.replace(mask);
        let result = work(self);
        self.mask = outer;
        result
    }

    /// Emits an if with a uniform condition.
    fn branch(&mut self, rewriter: &mut Rewriter<'_>, node: &If, cond: Value) -> Vec<Value> {
        let any = rewriter.builder.op(Op::Any, &[cond]);
        let [then, otherwise] = [true, false].map(|truth| {
            rewriter.builder.open_arm();
            let yields = rewriter.arm(self, node, truth);
            rewriter.builder.close_arm(&yields)
        });
        rewriter.builder.push_if(any, then, otherwise)
    }

    /// Emits an arm that runs if any lane takes it. Merges its values with the values of the other
    /// arm, if that has been emitted already.
    fn guarded(
        &mut self,
        rewriter: &mut Rewriter<'_>,
        node: &If,
        truth: bool,
        other: Option<&[Value]>,
    ) -> Vec<Value> {
        let mut cond = rewriter.get(node.cond);
        if !truth {
            cond = rewriter.builder.op(Op::BNot, &[cond]);
        }
        let active = self.masked(&mut rewriter.builder, cond);
        let any = rewriter.builder.op(Op::Any, &[active]);
        rewriter.builder.open_arm();
        let level = rewriter.builder.depth() - 1;
        let values = self.with_mask(active, |pass| rewriter.arm(pass, node, truth));
        let builder = &mut rewriter.builder;
        // Merge values defined in the arm inside the arm, and others after the if.
        let defined_inside: Vec<_> =
            values.iter().map(|&value| builder.level(value) == level).collect();
        let mut yields = (vec![], vec![]);
        for (k, &value) in values.iter().enumerate().filter(|&(k, _)| defined_inside[k]) {
            let ty = builder.ty(value);
            yields.1.push(other.map_or_else(|| builder.constant(ty, 0), |other| other[k]));
            yields.0.push(
                other.map_or(value, |other| builder.op(Op::Select, &[cond, value, other[k]])),
            );
        }
        let then = builder.close_arm(&yields.0);
        builder.open_arm();
        let otherwise = builder.close_arm(&yields.1);
        let mut merged = builder.push_if(any, then, otherwise).into_iter();
        let merge = |(k, value): (usize, Value)| {
            if defined_inside[k] {
                return merged.next().expect("each value defined in the arm has a result");
            }
            other.map_or(value, |other| builder.op(Op::Select, &[cond, value, other[k]]))
        };
        values.into_iter().enumerate().map(merge).collect()
    }

    /// Which arms of an if are cheap enough to run unconditionally. If both are, the if becomes
    /// selects.
    fn cheap_arms(&self, rewriter: &Rewriter<'_>, node: &If) -> [bool; 2] {
        let limit = if self.uniform[node.cond.index()] {
            UNIFORM_SPECULATION_LIMIT
        } else {
            SPECULATION_LIMIT
        };
        [&node.then, &node.otherwise]
            .map(|arm| self.cost(rewriter, arm).is_some_and(|cost| cost <= limit))
    }

    /// Cost of a block, if no control flow remains in it.
    fn cost(&self, rewriter: &Rewriter<'_>, block: &Block) -> Option<u32> {
        block.stmts.iter().try_fold(0, |cost, stmt| match stmt {
            Stmt::Op(value) if !rewriter.is_live(*value) => Some(cost),
            Stmt::Op(value) => Some(cost + cost_of(rewriter.old.operation(*value)?.0)),
            Stmt::If(i) if self.cheap_arms(rewriter, i) == [true; 2] => {
                let arms = self.cost(rewriter, &i.then)? + self.cost(rewriter, &i.otherwise)?;
                Some(cost + arms + i.results.len() as u32)
            }
            Stmt::If(_) | Stmt::Loop(_) => None,
        })
    }
}

fn has_loop(block: &Block) -> bool {
    let mut found = false;
    for_each_stmt(block, &mut |stmt| found |= matches!(stmt, Stmt::Loop(_)));
    found
}

/// Merges the values of two arms.
fn emit_selects(
    builder: &mut Builder,
    cond: Value,
    then: &[Value],
    otherwise: &[Value],
) -> Vec<Value> {
    std::iter::zip(then, otherwise).map(|(&t, &e)| builder.op(Op::Select, &[cond, t, e])).collect()
}

/// The loop parameters that must be preserved when a lane exits: those on which the condition and
/// the exit values depend. The head must be the innermost open block.
fn parameters_to_preserve(
    builder: &Builder,
    params: &[Value],
    exits: &[Value],
    cond: Value,
) -> FxHashSet<Value> {
    let head = builder.depth() - 1;
    let mut work: Vec<_> = exits.iter().copied().chain([cond]).collect();
    let mut seen = FxHashSet::default();
    while let Some(value) = work.pop() {
        if builder.level(value) < head || !seen.insert(value) {
            continue;
        }
        match builder.function().def(value) {
            Def::Op { op, args } => work.extend(&args[..op.arity()]),
            // A result of control flow in the head may depend on everything.
            Def::Result => return params.iter().copied().collect(),
            Def::Param | Def::Input(_) | Def::Const(_) => {}
        }
    }
    params.iter().copied().filter(|param| seen.contains(param)).collect()
}

/// Returns, for each value, whether it is uniform over all lanes, including idle ones: it depends
/// on no input.
fn uniform(function: &Function) -> Vec<bool> {
    let mut uniform: Vec<_> =
        function.values.iter().map(|data| matches!(data.def, Def::Const(_))).collect();
    mark_uniform(function, &function.body, &mut uniform);
    uniform
}

fn mark_uniform(function: &Function, block: &Block, uniform: &mut [bool]) {
    for stmt in &block.stmts {
        match stmt {
            Stmt::Op(value) => {
                let (_, args) = function.operation(*value).expect("statements define operations");
                uniform[value.index()] = args.iter().all(|arg| uniform[arg.index()]);
            }
            Stmt::If(i) => {
                mark_uniform(function, &i.then, uniform);
                mark_uniform(function, &i.otherwise, uniform);
                for (k, result) in i.results.iter().enumerate() {
                    uniform[result.index()] = [i.cond, i.then.yields[k], i.otherwise.yields[k]]
                        .iter()
                        .all(|v| uniform[v.index()]);
                }
            }
            Stmt::Loop(l) => {
                for (param, init) in std::iter::zip(&l.params, &l.init) {
                    uniform[param.index()] = uniform[init.index()];
                }
                // Assume that parameters are uniform, until the fixpoint iteration refutes it.
                loop {
                    mark_uniform(function, &l.head, uniform);
                    mark_uniform(function, &l.body, uniform);
                    let mut changed = false;
                    for (param, next) in std::iter::zip(&l.params, &l.body.yields) {
                        let holds = uniform[l.cond.index()] && uniform[next.index()];
                        changed |= uniform[param.index()] && !holds;
                        uniform[param.index()] &= holds;
                    }
                    if !changed {
                        break;
                    }
                }
                for (result, exit) in std::iter::zip(&l.results, &l.head.yields) {
                    uniform[result.index()] = uniform[exit.index()];
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interpreter;
    use crate::ir::text::parse;
    use crate::ir::verify::verify_lowered;
    use crate::math::eval::ConstantEvaluator;
    use crate::passes;
    use crate::testing;
    use crate::testing::random::{self, Options};

    const LANES: usize = 4;

    /// Runs a lowered function on a group, checks that conditions are uniform, and counts the
    /// iterations of loops.
    struct Group<'a> {
        function: &'a Function,
        words: Vec<[u32; LANES]>,
        iterations: usize,
    }

    impl Group<'_> {
        fn run(function: &Function, rows: &[Vec<u32>]) -> (Vec<Vec<u32>>, usize) {
            let words = function.values.iter().map(|data| match data.def {
                Def::Input(index) => std::array::from_fn(|lane| rows[lane][index as usize]),
                Def::Const(bits) => [bits; LANES],
                _ => [0; LANES],
            });
            let mut group = Group { function, words: words.collect(), iterations: 0 };
            group.block(&function.body);
            let outputs = group.all(&function.body.yields);
            (
                (0..LANES).map(|lane| outputs.iter().map(|words| words[lane]).collect()).collect(),
                group.iterations,
            )
        }

        fn all(&self, values: &[Value]) -> Vec<[u32; LANES]> {
            values.iter().map(|value| self.words[value.index()]).collect()
        }

        fn set_all(&mut self, values: &[Value], words: Vec<[u32; LANES]>) {
            for (value, words) in values.iter().zip(words) {
                self.words[value.index()] = words;
            }
        }

        fn holds(&self, cond: Value) -> bool {
            let words = self.words[cond.index()];
            assert!(
                words.iter().all(|&word| word == words[0]),
                "a condition differs between lanes"
            );
            words[0] != 0
        }

        fn block(&mut self, block: &Block) {
            for stmt in &block.stmts {
                match stmt {
                    Stmt::Op(value) => {
                        let (op, args) =
                            self.function.operation(*value).expect("statements define operations");
                        let args = self.all(args);
                        let tables = random::tables();
                        let mut tables = ConstantEvaluator { tables: &tables };
                        let mut lane = |lane: usize| {
                            op.eval_with(
                                &mut tables,
                                &args.iter().map(|words| words[lane]).collect::<Vec<_>>(),
                            )
                        };
                        let words: [u32; LANES] = std::array::from_fn(&mut lane);
                        let any = words.iter().fold(0, |a, b| a | b);
                        self.words[value.index()] =
                            if op == Op::Any { [any; LANES] } else { words };
                    }
                    Stmt::If(i) => {
                        let arm = if self.holds(i.cond) { &i.then } else { &i.otherwise };
                        self.block(arm);
                        self.set_all(&i.results, self.all(&arm.yields));
                    }
                    Stmt::Loop(l) => {
                        self.set_all(&l.params, self.all(&l.init));
                        self.block(&l.head);
                        while self.holds(l.cond) {
                            self.iterations += 1;
                            assert!(self.iterations < 1 << 20, "a loop does not terminate");
                            self.block(&l.body);
                            self.set_all(&l.params, self.all(&l.body.yields));
                            self.block(&l.head);
                        }
                        self.set_all(&l.results, self.all(&l.head.yields));
                    }
                }
            }
        }
    }

    /// Number of iterations of all loops of a function, run for a single lane.
    fn count_iterations(function: &Function, row: &[u32]) -> usize {
        let mut lo = 0;
        let mut hi = 1 << 20;
        while lo < hi {
            let middle = (lo + hi) / 2;
            if interpreter::run(function, &random::tables(), row, middle).is_ok() {
                hi = middle
            } else {
                lo = middle + 1
            }
        }
        lo as usize
    }

    /// Checks that each lane of a group computes the same as a single lane, and that no loop
    /// continues only for idle lanes.
    fn check(before: &Function, rows: &[Vec<u32>]) -> Function {
        let after = passes::lower(before);
        verify_lowered(&after).unwrap_or_else(|error| panic!("{error}\n{before}"));
        let mut has_loops_in_heads = false;
        for_each_stmt(&after.body, &mut |stmt| {
            if let Stmt::Loop(l) = stmt {
                for_each_stmt(&l.head, &mut |inner| {
                    has_loops_in_heads |= matches!(inner, Stmt::Loop(_))
                });
            }
        });
        for rows in rows.chunks_exact(LANES) {
            let (group, iterations) = Group::run(&after, rows);
            let mut single_lane_iterations = 0;
            for (lane, row) in rows.iter().enumerate() {
                let expected = interpreter::run(before, &random::tables(), row, 1 << 20)
                    .expect("loops terminate");
                let ports =
                    std::iter::zip(&before.outputs, std::iter::zip(&expected, &group[lane]));
                let same = ports.into_iter().all(|(port, (&a, &b))| testing::same(port.ty, a, b));
                assert!(
                    same,
                    "lane {lane} of {rows:x?}: {expected:x?} became {:x?}\n{before}\n{after}",
                    group[lane]
                );
                if iterations > 0 {
                    single_lane_iterations += count_iterations(before, row);
                }
            }
            assert!(
                has_loops_in_heads || iterations <= single_lane_iterations,
                "{iterations} iterations, more than {single_lane_iterations} of single lanes\n{before}\n{after}"
            );
        }
        after
    }

    fn check_text(text: &str) -> Function {
        let before = parse(text).unwrap_or_else(|error| panic!("{error}"));
        check(&before, &random::rows(&before.inputs, 400, 7))
    }

    fn count(function: &Function, predicate: impl Fn(&Stmt) -> bool) -> usize {
        let mut count = 0;
        for_each_stmt(&function.body, &mut |stmt| count += usize::from(predicate(stmt)));
        count
    }

    fn ifs(function: &Function) -> usize {
        count(function, |stmt| matches!(stmt, Stmt::If(_)))
    }

    fn selects(function: &Function) -> usize {
        let is_select =
            |value: Value| function.operation(value).is_some_and(|(op, _)| op == Op::Select);
        count(function, |stmt| matches!(stmt, Stmt::Op(value) if is_select(*value)))
    }

    /// An expensive dependency chain from one value to another.
    fn chain(from: &str, to: &str) -> String {
        let mut text = format!("%{to}0 = add {from}, 1.5\n");
        for k in 0..30 {
            text += &format!("%{to}{} = div %{to}{k}, {}.5\n", k + 1, k + 2);
        }
        text + &format!("%{to} = sqrt %{to}30\n")
    }

    #[test]
    fn cheap_arms_become_selects() {
        let lowered = check_text(
            "fn f(a: f32, b: f32) -> (r: f32) {
               %c = lt a, b
               %r = if %c {
                 %1 = mul a, b
                 %2 = div %1, a
                 %3 = sqrt %2
                 %4 = floor %3
                 yield %4
               } else {
                 %5 = sqrt b
                 yield %5
               }
               return %r
             }",
        );
        assert_eq!((ifs(&lowered), selects(&lowered)), (0, 1));
    }

    #[test]
    fn expensive_arm_runs_if_any_lane_takes_it() {
        let arm = chain("a", "t");
        for arms in [
            format!("{arm} yield %t, a }} else {{ yield b, b"),
            format!("yield b, b }} else {{ {arm} yield %t, a"),
        ] {
            let lowered = check_text(&format!(
                "fn f(a: f32, b: f32) -> (r: f32, s: f32) {{
                   %c = lt a, b
                   %r, %s = if %c {{ {arms} }}
                   return %r, %s
                 }}"
            ));
            // The other result becomes a minimum.
            assert_eq!((ifs(&lowered), selects(&lowered)), (1, 1), "{lowered}");
        }
    }

    #[test]
    fn two_expensive_arms_become_two_ifs() {
        let (then, otherwise) = (chain("a", "t"), chain("b", "e"));
        let lowered = check_text(&format!(
            "fn f(a: f32, b: f32) -> (r: f32) {{
               %c = lt a, b
               %r = if %c {{ {then} yield %t }} else {{ {otherwise} yield %e }}
               return %r
             }}"
        ));
        assert_eq!((ifs(&lowered), selects(&lowered)), (2, 1), "{lowered}");
    }

    #[test]
    fn parameters_that_the_head_uses_are_preserved_after_exit() {
        let lowered = check_text(
            "fn f(x: f32, n: i32) -> (r: f32) {
               %limit = and n, 63
               %r = loop (%i: i32 = 0, %s: f32 = x, %w: f32 = 1.0) {
                 %c = slt %i, %limit
                 while %c else %s
                 %i2 = iadd %i, 1
                 %s2 = add %s, %w
                 %w2 = mul %w, 0.5
                 next %i2, %s2, %w2
               }
               return %r
             }",
        );
        // %w is not preserved, since the head does not use it.
        assert_eq!(selects(&lowered), 2, "{lowered}");
    }

    #[test]
    fn uniform_loop_needs_no_selects() {
        let lowered = check_text(
            "fn f(x: f32) -> (r: f32) {
               %r = loop (%i: i32 = 0, %s: f32 = x) {
                 %c = slt %i, 100
                 while %c else %s
                 %i2 = iadd %i, 1
                 %f = from_s32 %i
                 %t = add %s, %f
                 %s2 = mul %t, 0.25
                 next %i2, %s2
               }
               return %r
             }",
        );
        assert_eq!(selects(&lowered), 0, "{lowered}");
    }

    #[test]
    fn counter_is_not_uniform_if_lanes_exit_separately() {
        check_text(&format!(
            "fn f(x: f32, n: i32) -> (r: f32) {{
               %limit = and n, 7
               %i = loop (%k: i32 = 0) {{
                 %c = slt %k, %limit
                 while %c else %k
                 %k2 = iadd %k, 1
                 next %k2
               }}
               %few = slt %i, 3
               %r = if %few {{ {} yield %t }} else {{ {} yield %e }}
               return %r
             }}",
            chain("x", "t"),
            chain("1.0", "e")
        ));
    }

    #[test]
    fn idle_lanes_do_not_keep_loops_running() {
        // A single lane with n ≥ 8 never enters the loop, which would not terminate for it.
        check_text(
            "fn f(x: f32, n: i32) -> (r: f32) {
               %few = ult n, 8
               %r = if %few {
                 %u = loop (%i: i32 = n, %s: f32 = x) {
                   %at = ieq %i, 8
                   %c = bnot %at
                   while %c else %s
                   %i2 = iadd %i, 1
                   %t = sqrt %s
                   next %i2, %t
                 }
                 yield %u
               } else {
                 yield x
               }
               return %r
             }",
        );
        // For lanes that have exited the outer loop with %j at 8, the inner loop would run through
        // all integers.
        check_text(
            "fn f(x: f32, n: i32) -> (r: f32) {
               %few = and n, 7
               %r, %jr = loop (%j: i32 = %few, %s: f32 = x) {
                 %c = slt %j, 8
                 while %c else %s, %j
                 %u = loop (%i: i32 = %j, %t: f32 = %s) {
                   %at = ieq %i, 7
                   %d = bnot %at
                   while %d else %t
                   %i2 = iadd %i, 1
                   %t2 = sqrt %t
                   next %i2, %t2
                 }
                 %j2 = iadd %j, 1
                 next %j2, %u
               }
               return %r
             }",
        );
    }

    #[test]
    fn groups_and_single_lanes_agree() {
        for seed in 0..400 {
            check_random_function(seed);
        }
    }

    #[test]
    #[ignore = "takes minutes: cargo test -p lightbound-shader --release --lib passes::predication -- --ignored"]
    fn groups_and_single_lanes_agree_for_many_random_functions() {
        for seed in 1000..40_000 {
            check_random_function(seed);
        }
    }

    fn check_random_function(seed: u64) {
        let options = Options { ifs: true, loops: true, ..Options::any(seed, false) };
        let before = random::function(seed, &options);
        check(&before, &random::rows(&before.inputs, 8 * LANES, seed));
    }
}
