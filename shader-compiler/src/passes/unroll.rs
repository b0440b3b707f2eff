//! Unrolls loops whose number of rounds is known and small, those within them first of all.
//!
//! How often a loop runs is found by running it: what is constant is computed, everything else is unknown, and as long as the
//! condition is constant there is another round. So it matters not how a loop counts.

use crate::ir::function::for_each_stmt;
use crate::ir::rewrite::{Pass, Rewriter, rewrite};
use crate::ir::{Block, Builder, Function, If, Loop, Rules, Stmt, Value};
use rustc_hash::FxHashMap;

/// Greatest number of rounds that are unrolled.
const ROUNDS: usize = 16;

/// Greatest number of operations that a loop is unrolled to.
const SIZE: usize = 512;

/// Greatest number of statements that are tried out for a loop.
const WORK: usize = 1 << 14;

/// Unrolls what can be unrolled.
pub fn run(function: &Function, rules: Rules) -> Function {
    rewrite(function, Builder::new(&function.name, rules), Unroll)
}

struct Unroll;

impl Pass for Unroll {
    fn loop_(&mut self, rewriter: &mut Rewriter<'_>, node: &Loop) {
        let mut trial = Trial { rewriter, words: FxHashMap::default(), size: 0, work: 0 };
        let rounds = trial.loop_(node);
        let Some(rounds) = rounds.filter(|_| trial.size <= SIZE) else { return rewriter.loop_(self, node) };
        let params = rewriter.live(&node.params);
        let (init, next) =
            (rewriter.beside_live(&node.params, &node.init), rewriter.beside_live(&node.params, &node.body.yields));
        let mut values = rewriter.mapped(&init);
        for _ in 0..rounds {
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

/// A run with what is constant.
struct Trial<'a, 'b> {
    rewriter: &'a Rewriter<'b>,
    /// Values that were come by, and their bits where they are known.
    words: FxHashMap<Value, Option<u32>>,
    /// Operations that are left.
    size: usize,
    /// Statements that were run.
    work: usize,
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
        let known = std::iter::zip(&mut words, args).all(|(word, &arg)| self.get(arg).map(|bits| *word = bits).is_some());
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

    /// The number of rounds, if it is known and small.
    fn loop_(&mut self, node: &Loop) -> Option<usize> {
        let size = self.size;
        let mut params = self.all(&node.init);
        for round in 0..=ROUNDS {
            self.set_all(&node.params, params);
            self.block(&node.head);
            match self.get(node.cond) {
                Some(0) => {
                    let words = self.all(&node.head.yields);
                    self.set_all(&node.results, words);
                    return Some(round);
                }
                Some(_) if round < ROUNDS && self.size <= SIZE && self.work <= WORK => {}
                _ => break,
            }
            self.block(&node.body);
            params = self.all(&node.body.yields);
        }
        // The loop stays, and nothing is known of what it does.
        self.size = size;
        for block in [&node.head, &node.body] {
            for_each_stmt(block, &mut |_| self.size += 1);
        }
        self.set_all(&node.results, std::iter::repeat(None));
        None
    }
}
