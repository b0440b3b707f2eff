//! Unrolls loops with a small known number of iterations, innermost loops first.
//!
//! Abstract execution determines the number of iterations: it evaluates constants, treats
//! everything else as unknown, and continues while the condition is a constant. So any way of
//! counting is recognized.

use crate::builder::rewrite::{Pass, Rewriter, rewrite};
use crate::builder::{Builder, Rules};
use crate::ir::function::for_each_stmt;
use crate::ir::{Block, Function, If, Loop, Stmt, Value};
use rustc_hash::FxHashMap;

/// Maximum number of iterations to unroll.
const MAX_ITERATIONS: usize = 16;

/// Maximum number of operations in an unrolled loop.
pub(crate) const MAX_SIZE: usize = 512;

/// Maximum number of statements executed in a trial of a loop.
const MAX_WORK: usize = 1 << 14;

/// Runs the pass.
pub fn run(function: &Function, rules: Rules) -> Function {
    run_up_to(function, rules, MAX_SIZE)
}

/// Unrolls loops of at most `max_size` operations, counted after unrolling.
pub fn run_up_to(function: &Function, rules: Rules, max_size: usize) -> Function {
    run_with(function, Builder::new(&function.name, rules), max_size)
}

/// Like [`run_up_to`], with a builder for the new function.
pub(crate) fn run_with(function: &Function, builder: Builder, max_size: usize) -> Function {
    rewrite(function, builder, Unroll { max_size })
}

struct Unroll {
    max_size: usize,
}

impl Pass for Unroll {
    fn loop_(&mut self, rewriter: &mut Rewriter<'_>, node: &Loop) {
        let mut trial = Trial {
            rewriter,
            words: FxHashMap::default(),
            size: 0,
            work: 0,
            max_size: self.max_size,
        };
        let iterations = trial.loop_(node);
        let Some(iterations) = iterations.filter(|_| trial.size <= self.max_size) else {
            return rewriter.loop_(self, node);
        };
        let params = rewriter.live(&node.params);
        let (init, next) = (
            rewriter.retain_live(&node.params, &node.init),
            rewriter.retain_live(&node.params, &node.body.yields),
        );
        let mut values = rewriter.mapped(&init);
        for _ in 0..iterations {
            rewriter.set_all(&params, &values);
            rewriter.stmts(self, &node.head);
            values = rewriter.body(self, node, &next);
        }
        rewriter.set_all(&params, &values);
        rewriter.stmts(self, &node.head);
        let (results, exits) = (rewriter.live(&node.results), rewriter.exits(node));
        rewriter.set_all(&results, &exits);
    }
}

/// Abstract execution of a loop.
struct Trial<'a, 'b> {
    rewriter: &'a Rewriter<'b>,
    /// Bits of the values computed so far; `None` if unknown.
    words: FxHashMap<Value, Option<u32>>,
    /// Number of operations that remain after folding.
    size: usize,
    /// Number of statements executed.
    work: usize,
    max_size: usize,
}

impl Trial<'_, '_> {
    fn get(&self, value: Value) -> Option<u32> {
        self.words.get(&value).copied().unwrap_or_else(|| self.rewriter.known(value))
    }

    fn all(&self, values: &[Value]) -> Vec<Option<u32>> {
        values.iter().map(|&value| self.get(value)).collect()
    }

    fn set_all(&mut self, values: &[Value], words: impl IntoIterator<Item = Option<u32>>) {
        self.words.extend(std::iter::zip(values.iter().copied(), words));
    }

    fn block(&mut self, block: &Block) {
        for stmt in &block.stmts {
            self.work += 1;
            match stmt {
                Stmt::Op(value) => self.op(*value),
                Stmt::If(i) => self.if_(i),
                Stmt::Loop(l) => {
                    self.loop_(l);
                }
            }
        }
    }

    fn op(&mut self, value: Value) {
        if !self.rewriter.is_live(value) {
            return;
        }
        let (op, args) = self.rewriter.old.operation(value).expect("statements define operations");
        let mut words = [0; 3];
        let known = !op.is_load()
            && std::iter::zip(&mut words, args)
                .all(|(word, &arg)| self.get(arg).map(|bits| *word = bits).is_some());
        self.size += usize::from(!known);
        self.words.insert(value, known.then(|| op.eval(&words[..args.len()])));
    }

    fn if_(&mut self, node: &If) {
        if let Some(cond) = self.get(node.cond) {
            let arm = if cond != 0 { &node.then } else { &node.otherwise };
            self.block(arm);
            let words = self.all(&arm.yields);
            return self.set_all(&node.results, words);
        }
        self.block(&node.then);
        self.block(&node.otherwise);
        let words = std::iter::zip(self.all(&node.then.yields), self.all(&node.otherwise.yields));
        let words: Vec<_> = words.map(|(t, e)| t.filter(|_| t == e)).collect();
        self.set_all(&node.results, words);
    }

    /// The number of iterations, if it is known and small.
    fn loop_(&mut self, node: &Loop) -> Option<usize> {
        let size = self.size;
        let mut params = self.all(&node.init);
        for iteration in 0..=MAX_ITERATIONS {
            self.set_all(&node.params, params);
            self.block(&node.head);
            match self.get(node.cond) {
                Some(0) => {
                    let words = self.all(&node.head.yields);
                    self.set_all(&node.results, words);
                    return Some(iteration);
                }
                Some(_)
                    if iteration < MAX_ITERATIONS
                        && self.size <= self.max_size
                        && self.work <= MAX_WORK => {}
                _ => break,
            }
            self.block(&node.body);
            params = self.all(&node.body.yields);
        }
        // The loop remains, and its results are unknown.
        self.size = size;
        for block in [&node.head, &node.body] {
            for_each_stmt(block, &mut |_| self.size += 1);
        }
        self.set_all(&node.results, std::iter::repeat(None));
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interpreter;
    use crate::ir::text::parse;
    use crate::testing::random;

    /// Runs the pass and checks that it preserves values. Returns the number of loops and of
    /// statements that remain.
    fn count_after_unrolling(text: &str) -> (usize, usize) {
        let before = parse(text).unwrap_or_else(|error| panic!("{error}"));
        let after = run(&before, Rules::Exact);
        for row in random::rows(&before.inputs, 50, 5) {
            let run = |function| {
                interpreter::run(function, &random::tables(), &row, 1 << 20)
                    .expect("loops terminate")
            };
            assert_eq!(run(&before), run(&after), "{row:x?}\n{before}\n{after}");
        }
        let (mut loops, mut stmts) = (0, 0);
        for_each_stmt(&after.body, &mut |stmt| {
            loops += usize::from(matches!(stmt, Stmt::Loop(_)));
            stmts += 1;
        });
        (loops, stmts)
    }

    fn counted(rounds: i32, body: &str) -> String {
        format!(
            "fn f(n: i32) -> (r: i32) {{
               %r = loop (%i: i32 = 0, %s: i32 = n) {{
                 %c = slt %i, {rounds}
                 while %c else %s
                 {body}
                 %i2 = iadd %i, 1
                 next %i2, %t
               }}
               return %r
             }}"
        )
    }

    #[test]
    fn loops_with_few_iterations_are_unrolled() {
        let body = "%u = imul %s, 3 %t = xor %u, %i";
        assert_eq!(count_after_unrolling(&counted(0, body)), (0, 0));
        assert_eq!(count_after_unrolling(&counted(1, body)), (0, 1));
        // The first `xor` has no effect, and the two multiplications around it are combined.
        assert_eq!(count_after_unrolling(&counted(16, body)), (0, 30));
        assert_eq!(count_after_unrolling(&counted(17, body)).0, 1);
    }

    #[test]
    fn large_loops_are_kept() {
        let chain: String = (0..40).map(|k| format!("%s{} = imul %s{k}, %s\n", k + 1)).collect();
        let body = format!("%s0 = iadd %s, %i\n{chain}%t = xor %s40, %i");
        assert_eq!(count_after_unrolling(&counted(16, &body)).0, 1);
        assert_eq!(count_after_unrolling(&counted(8, &body)).0, 0);
    }

    #[test]
    fn nested_loops_are_unrolled() {
        // The counter of the outer loop is the number of iterations of the inner loop.
        let inner = |limit: &str| {
            format!(
                "%t = loop (%j: i32 = 0, %v: i32 = %s) {{
                   %d = slt %j, {limit}
                   while %d else %v
                   %v2 = imul %v, 5
                   %v3 = xor %v2, %j
                   %j2 = iadd %j, 1
                   next %j2, %v3
                 }}"
            )
        };
        assert_eq!(count_after_unrolling(&counted(5, &inner("%i"))).0, 0);
        assert_eq!(count_after_unrolling(&counted(20, &inner("4"))).0, 1);
        assert_eq!(
            count_after_unrolling(&counted(3, &format!("%few = and n, 7 {}", inner("%few")))).0,
            3
        );
    }

    #[test]
    fn unusual_counters_are_recognized() {
        let text = counted(1, "%t = iadd %s, 1")
            .replace("slt %i, 1", "ult %i, 9")
            .replace("iadd %i, 1", "iadd %i, 4");
        assert_eq!(count_after_unrolling(&text), (0, 1));
        // A condition that depends on an input in the third iteration.
        let text = "fn f(n: i32) -> (r: i32) {
               %r = loop (%i: i32 = 0, %s: i32 = 1) {
                 %few = slt %i, 2
                 %u = select %few, 1, n
                 %c = slt %u, 5
                 while %c else %s
                 %i2 = iadd %i, 1
                 %k = iadd n, %i
                 %v = imul %s, %k
                 %e = ieq %i, 30
                 %t = select %e, n, %v
                 next %i2, %t
               }
               return %r
             }";
        let before = parse(text).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(before.to_string(), run(&before, Rules::Exact).to_string());
    }
}
