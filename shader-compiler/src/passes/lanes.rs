//! Control flow for groups of lanes: what a lane does alone becomes what a group does together.
//!
//! A group takes a branch if *any* of its lanes does, and lanes that would not have gone along
//! are *idle*: they compute, but what they compute is not used. After this pass the condition of
//! every if and loop is an `any`, which is the same in all lanes, and results are merged by
//! `select` on the lane's own condition.
//!
//! - An if whose arms are cheap runs both, and selects. One with an expensive arm runs that if any
//!   lane wants it; a cheap arm runs before the if; two expensive arms become two ifs.
//! - A loop runs while any lane goes on. A lane that has left keeps its parameters, by select. So
//!   its head computes over and over what it computed when the lane left: a false condition, and
//!   the very same results. That is why no mask of lanes that are still in the loop needs to be
//!   carried along, why results need no select, and why parameters that the head does not use for
//!   condition or results need not be kept.
//! - Idle lanes run on garbage, so their conditions count for nothing: within arms and bodies,
//!   conditions are taken together with the *mask* of the lanes for which the block runs. The head
//!   of a loop runs for all lanes that came to the loop.
//! - Where a condition is made of constants and of counters of loops that all lanes leave together,
//!   it is the same in all lanes, and there is nothing to select or to mask.
//!
//! Of one lane alone, `any` is the lane's condition, and the function computes what it did before.

use crate::ir::builder::cost_of;
use crate::ir::function::for_each_stmt;
use crate::ir::rewrite::{Open, Pass, Rewriter, rewrite};
use crate::ir::{Block, Builder, Def, Emit, Function, If, Loop, Op, Rules, Stmt, Value};
use rustc_hash::FxHashSet;

/// Cost of an arm, in basic operations, up to which it runs whether it is wanted or not. A branch
/// costs a few instructions, and some twenty cycles where it is mispredicted.
const CHEAP: u32 = 24;

/// The same for conditions that are the same in all lanes, where a branch always saves an arm.
const CHEAP_IF_UNIFORM: u32 = 8;

/// Makes control flow fit for groups of lanes.
pub fn run(function: &Function) -> Function {
    let mut builder = Builder::new(&function.name, Rules::Exact);
    builder.set_speculation(None);
    rewrite(function, builder, Lanes { uniform: uniform(function), mask: None })
}

struct Lanes {
    /// Which values of the old function are the same in all lanes.
    uniform: Vec<bool>,
    /// The lanes that the block runs for; `None` for all.
    mask: Option<Value>,
}

impl Pass for Lanes {
    fn if_(&mut self, rewriter: &mut Rewriter<'_>, node: &If) {
        let cond = rewriter.get(node.cond);
        if rewriter.builder.known_bool(cond).is_some() {
            return rewriter.if_(self, node);
        }
        let results = rewriter.live(&node.results);
        let [cheap, cheap_otherwise] = self.cheap_arms(rewriter, node);
        let values = if cheap && cheap_otherwise {
            let (then, otherwise) =
                (rewriter.arm(self, node, true), rewriter.arm(self, node, false));
            choose(&mut rewriter.builder, cond, &then, &otherwise)
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
            return rewriter.last_round(self, node);
        }
        let Open { params, next } = rewriter.open_loop(node);
        rewriter.stmts(self, &node.head);
        let cond = rewriter.get(node.cond);
        if rewriter.builder.known_bool(cond) == Some(false) {
            rewriter.builder.abandon_head();
            return rewriter.last_round(self, node);
        }
        let is_uniform = self.uniform[node.cond.index()];
        let exits = rewriter.exits(node);
        let kept = if is_uniform {
            FxHashSet::default()
        } else if has_loop(&node.head) {
            // Lanes that have left go through it as well, and should not do so with what it was
            // never meant for.
            params.iter().copied().collect()
        } else {
            kept(&rewriter.builder, &params, &exits, cond)
        };
        let active = if is_uniform { cond } else { self.masked(&mut rewriter.builder, cond) };
        let any = rewriter.builder.op(Op::Any, &[active]);
        rewriter.builder.open_body(any, &exits);
        let next = if is_uniform {
            rewriter.body(self, node, &next)
        } else {
            self.within(active, |pass| rewriter.body(pass, node, &next))
        };
        let next = std::iter::zip(next, params).map(|(next, param)| {
            if kept.contains(&param) {
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

impl Lanes {
    /// The lanes of the block in which a condition holds.
    fn masked(&self, builder: &mut Builder, cond: Value) -> Value {
        match self.mask {
            Some(mask) => builder.op(Op::BAnd, &[cond, mask]),
            None => cond,
        }
    }

    /// Does something in a block for some lanes only.
    fn within<T>(&mut self, mask: Value, work: impl FnOnce(&mut Lanes) -> T) -> T {
        let outer = self.mask.replace(mask);
        let result = work(self);
        self.mask = outer;
        result
    }

    /// An if that all lanes take the same way.
    fn branch(&mut self, rewriter: &mut Rewriter<'_>, node: &If, cond: Value) -> Vec<Value> {
        let any = rewriter.builder.op(Op::Any, &[cond]);
        let [then, otherwise] = [true, false].map(|truth| {
            rewriter.builder.open_arm();
            let yields = rewriter.arm(self, node, truth);
            rewriter.builder.close_arm(&yields)
        });
        rewriter.builder.push_if(any, then, otherwise)
    }

    /// An arm that runs if any lane takes it. Its values are merged with those of the other arm, if
    /// they are there already.
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
        let values = self.within(active, |pass| rewriter.arm(pass, node, truth));
        let builder = &mut rewriter.builder;
        // Values from before the if are merged after it, and those of the arm in the arm.
        let inner: Vec<_> = values.iter().map(|&value| builder.level(value) == level).collect();
        let mut yields = (vec![], vec![]);
        for (k, &value) in values.iter().enumerate().filter(|&(k, _)| inner[k]) {
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
            if inner[k] {
                return merged.next().expect("there is a result for each value of the arm");
            }
            other.map_or(value, |other| builder.op(Op::Select, &[cond, value, other[k]]))
        };
        values.into_iter().enumerate().map(merge).collect()
    }

    /// Which arms of an if may run where they are not wanted. That both may means that the if
    /// becomes selects.
    fn cheap_arms(&self, rewriter: &Rewriter<'_>, node: &If) -> [bool; 2] {
        let limit = if self.uniform[node.cond.index()] { CHEAP_IF_UNIFORM } else { CHEAP };
        [&node.then, &node.otherwise]
            .map(|arm| self.cost(rewriter, arm).is_some_and(|cost| cost <= limit))
    }

    /// Cost of a block, if it has no control flow in the end.
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

fn choose(builder: &mut Builder, cond: Value, then: &[Value], otherwise: &[Value]) -> Vec<Value> {
    std::iter::zip(then, otherwise).map(|(&t, &e)| builder.op(Op::Select, &[cond, t, e])).collect()
}

/// The parameters of a loop that lanes must keep when they leave it: those that its condition and
/// its exits depend on. The head is the innermost open block.
fn kept(builder: &Builder, params: &[Value], exits: &[Value], cond: Value) -> FxHashSet<Value> {
    let head = builder.depth() - 1;
    let mut work: Vec<_> = exits.iter().copied().chain([cond]).collect();
    let mut seen = FxHashSet::default();
    while let Some(value) = work.pop() {
        if builder.level(value) < head || !seen.insert(value) {
            continue;
        }
        match builder.function().def(value) {
            Def::Op { op, args } => work.extend(&args[..op.arity()]),
            // Of control flow in the head: that may depend on everything.
            Def::Result => return params.iter().copied().collect(),
            Def::Param | Def::Input(_) | Def::Const(_) => {}
        }
    }
    params.iter().copied().filter(|param| seen.contains(param)).collect()
}

/// Which values are the same in all lanes, idle ones among them, because no input goes into them.
fn uniform(function: &Function) -> Vec<bool> {
    let mut uniform: Vec<_> =
        function.values.iter().map(|data| matches!(data.def, Def::Const(_))).collect();
    uniform_block(function, &function.body, &mut uniform);
    uniform
}

fn uniform_block(function: &Function, block: &Block, uniform: &mut [bool]) {
    for stmt in &block.stmts {
        match stmt {
            Stmt::Op(value) => {
                let (_, args) = function.operation(*value).expect("statements define operations");
                uniform[value.index()] = args.iter().all(|arg| uniform[arg.index()]);
            }
            Stmt::If(i) => {
                uniform_block(function, &i.then, uniform);
                uniform_block(function, &i.otherwise, uniform);
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
                // Assume the best of parameters, until what comes of it says otherwise.
                loop {
                    uniform_block(function, &l.head, uniform);
                    uniform_block(function, &l.body, uniform);
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
    use crate::differential;
    use crate::interpreter;
    use crate::ir::op::Words;
    use crate::ir::random::{self, Options};
    use crate::ir::text::parse;
    use crate::ir::verify::verify_lowered;
    use crate::passes;

    const LANES: usize = 4;

    /// Runs a lowered function on a group, all of whose lanes go the same way; counts the rounds of
    /// loops.
    struct Group<'a> {
        function: &'a Function,
        words: Vec<[u32; LANES]>,
        rounds: usize,
    }

    impl Group<'_> {
        fn run(function: &Function, rows: &[Vec<u32>]) -> (Vec<Vec<u32>>, usize) {
            let words = function.values.iter().map(|data| match data.def {
                Def::Input(index) => std::array::from_fn(|lane| rows[lane][index as usize]),
                Def::Const(bits) => [bits; LANES],
                _ => [0; LANES],
            });
            let mut group = Group { function, words: words.collect(), rounds: 0 };
            group.block(&function.body);
            let outputs = group.all(&function.body.yields);
            (
                (0..LANES).map(|lane| outputs.iter().map(|words| words[lane]).collect()).collect(),
                group.rounds,
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
                        let mut tables = Words { tables: &tables };
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
                            self.rounds += 1;
                            assert!(self.rounds < 1 << 20, "a loop does not end");
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

    /// Rounds of all loops of a function that is run alone.
    fn rounds_alone(function: &Function, row: &[u32]) -> usize {
        let mut low = 0;
        let mut high = 1 << 20;
        while low < high {
            let middle = (low + high) / 2;
            if interpreter::run(function, &random::tables(), row, middle).is_ok() {
                high = middle
            } else {
                low = middle + 1
            }
        }
        low as usize
    }

    /// Asserts that lanes compute in groups what they compute alone, and that no loop goes on for
    /// idle lanes alone.
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
            let (group, rounds) = Group::run(&after, rows);
            let mut alone = 0;
            for (lane, row) in rows.iter().enumerate() {
                let expected =
                    interpreter::run(before, &random::tables(), row, 1 << 20).expect("loops end");
                let ports =
                    std::iter::zip(&before.outputs, std::iter::zip(&expected, &group[lane]));
                let same =
                    ports.into_iter().all(|(port, (&a, &b))| differential::same(port.ty, a, b));
                assert!(
                    same,
                    "lane {lane} of {rows:x?}: {expected:x?} became {:x?}\n{before}\n{after}",
                    group[lane]
                );
                if rounds > 0 {
                    alone += rounds_alone(before, row);
                }
            }
            assert!(
                has_loops_in_heads || rounds <= alone,
                "{rounds} rounds for {alone}\n{before}\n{after}"
            );
        }
        after
    }

    fn check_text(text: &str) -> Function {
        let before = parse(text).unwrap_or_else(|error| panic!("{error}"));
        check(&before, &random::rows(&before.inputs, 400, 7))
    }

    fn count(function: &Function, is: impl Fn(&Stmt) -> bool) -> usize {
        let mut count = 0;
        for_each_stmt(&function.body, &mut |stmt| count += usize::from(is(stmt)));
        count
    }

    fn ifs(function: &Function) -> usize {
        count(function, |stmt| matches!(stmt, Stmt::If(_)))
    }

    fn selects(function: &Function) -> usize {
        count(
            function,
            |stmt| matches!(stmt, Stmt::Op(value) if function.operation(*value).is_some_and(|(op, _)| op == Op::Select)),
        )
    }

    /// An expensive chain of operations from one value to another.
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
    fn an_expensive_arm_runs_if_any_lane_wants_it() {
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
            // The other result is a minimum.
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
    fn lanes_that_leave_a_loop_keep_what_its_head_needs() {
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
        // Not %w, of which the head knows nothing.
        assert_eq!(selects(&lowered), 2, "{lowered}");
    }

    #[test]
    fn a_loop_that_all_lanes_leave_together_needs_no_selects() {
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
    fn a_count_differs_where_lanes_leave_apart() {
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
    fn idle_lanes_do_not_loop() {
        // Alone, a lane whose n is not below 8 never gets to the loop, which would not end for it.
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
        // The inner loop would go on for all integers for lanes that have left the outer one, with
        // %j at 8.
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
    fn groups_compute_what_lanes_compute_alone() {
        for seed in 0..400 {
            random_function(seed);
        }
    }

    #[test]
    #[ignore = "minutes; for changes of this pass: cargo test -p lightbound-shader --release -- --ignored"]
    fn groups_compute_what_lanes_compute_alone_slow() {
        for seed in 1000..40_000 {
            random_function(seed);
        }
    }

    fn random_function(seed: u64) {
        let options = Options { ifs: true, loops: true, ..Options::any(seed, false) };
        let before = random::function(seed, &options);
        check(&before, &random::rows(&before.inputs, 8 * LANES, seed));
    }
}
