//! A loop with everything nested in it, as a graph: the values, how each is defined, and what the
//! conditions of the enclosing regions imply.

use super::Solver;
use crate::analysis::conditions::Clip;
use crate::interval::Bounds;
use crate::ir::{Block, Function, If, Loop, Op, Stmt, Value};

/// How a value of a loop is defined.
#[derive(Clone, Copy)]
pub(super) enum Source<'f> {
    Op(Op, &'f [Value]),
    /// A result of an if, with the regions of its arms.
    Merge(&'f If, usize, [usize; 2]),
    /// A parameter of a loop, with the region of its body.
    Param(&'f Loop, usize, usize),
    Exit(&'f Loop, usize),
}

/// A value of a loop.
#[derive(Clone, Copy)]
pub(super) struct Node<'f> {
    pub(super) value: Value,
    pub(super) source: Source<'f>,
    /// The innermost enclosing region: an index into [`LoopNest::regions`].
    pub(super) region: usize,
}

/// A loop with everything nested in it.
pub(super) struct LoopNest<'f> {
    pub(super) nodes: Vec<Node<'f>>,
    /// The first one surrounds the loop.
    pub(super) regions: Vec<Region>,
}

/// An arm of an if or the body of a loop: what its condition implies, and the enclosing region.
pub(super) struct Region {
    pub(super) clips: Vec<Clip>,
    pub(super) tests: Vec<CounterTest>,
    pub(super) outer: Option<usize>,
}

/// A fact about a counter in the body of a loop: it is below or above another value.
#[derive(Clone, Copy)]
pub(super) struct CounterTest {
    pub(super) counter: Value,
    pub(super) other: Value,
    is_below: bool,
    signed: bool,
}

impl<'f> LoopNest<'f> {
    /// The nest of a loop in the solver's scope.
    pub(super) fn new(solver: &Solver<'f>, node: &'f Loop) -> LoopNest<'f> {
        let surroundings = Region { clips: solver.scope.clone(), tests: vec![], outer: None };
        let mut nest = LoopNest { nodes: vec![], regions: vec![surroundings] };
        nest.add_loop(solver, node, 0);
        nest
    }

    fn add_loop(&mut self, solver: &Solver<'f>, node: &'f Loop, outer: usize) {
        let body = self.regions.len();
        let clips = solver.clips_of(&node.results, true).to_vec();
        let mut tests = vec![];
        add_tests(solver.function, node.cond, true, &mut tests);
        self.regions.push(Region { clips, tests, outer: Some(outer) });
        for (k, &value) in node.params.iter().enumerate() {
            self.nodes.push(Node { value, source: Source::Param(node, k, body), region: outer });
        }
        self.add_block(solver, &node.head, outer);
        self.add_block(solver, &node.body, body);
        for (k, &value) in node.results.iter().enumerate() {
            self.nodes.push(Node { value, source: Source::Exit(node, k), region: outer });
        }
    }

    fn add_block(&mut self, solver: &Solver<'f>, block: &'f Block, region: usize) {
        for stmt in &block.stmts {
            match stmt {
                Stmt::Op(value) => {
                    let (op, args) =
                        solver.function.operation(*value).expect("statements define operations");
                    self.nodes.push(Node { value: *value, source: Source::Op(op, args), region });
                }
                Stmt::If(node) => {
                    let arms =
                        [(&node.then, true), (&node.otherwise, false)].map(|(arm, truth)| {
                            let clips = solver.clips_of(&node.results, truth).to_vec();
                            self.regions.push(Region { clips, tests: vec![], outer: Some(region) });
                            let inner = self.regions.len() - 1;
                            self.add_block(solver, arm, inner);
                            inner
                        });
                    for (k, &value) in node.results.iter().enumerate() {
                        self.nodes.push(Node {
                            value,
                            source: Source::Merge(node, k, arms),
                            region,
                        });
                    }
                }
                Stmt::Loop(node) => self.add_loop(solver, node, region),
            }
        }
    }

    /// Calls `f` for each value that a node depends on.
    pub(super) fn for_each_dependence(&self, node: &Node, f: &mut impl FnMut(Value)) {
        match node.source {
            Source::Op(_, args) => {
                args.iter().for_each(|&arg| self.with_limits(node.region, arg, f))
            }
            Source::Merge(if_, k, [then, otherwise]) => {
                self.with_limits(node.region, if_.cond, f);
                self.with_limits(then, if_.then.yields[k], f);
                self.with_limits(otherwise, if_.otherwise.yields[k], f);
            }
            Source::Param(loop_, k, body) => {
                f(loop_.cond);
                self.with_limits(node.region, loop_.init[k], f);
                self.with_limits(body, loop_.body.yields[k], f);
            }
            Source::Exit(loop_, k) => self.with_limits(node.region, loop_.head.yields[k], f),
        }
    }

    /// Calls `f` for a value and for the values that limit it in a region.
    fn with_limits(&self, region: usize, value: Value, f: &mut impl FnMut(Value)) {
        f(value);
        let mut next = Some(region);
        while let Some(region) = next {
            let Region { clips, tests, outer } = &self.regions[region];
            clips.iter().filter(|clip| clip.value == value).for_each(|clip| f(clip.other));
            tests.iter().filter(|test| test.counter == value).for_each(|test| f(test.other));
            next = *outer;
        }
    }
}

/// Adds the facts about integers that a condition implies if its value is `truth`.
fn add_tests(function: &Function, cond: Value, truth: bool, tests: &mut Vec<CounterTest>) {
    match function.operation(cond) {
        Some((Op::BAnd, args)) if truth => {
            args.iter().for_each(|&arg| add_tests(function, arg, true, tests))
        }
        Some((Op::BOr, args)) if !truth => {
            args.iter().for_each(|&arg| add_tests(function, arg, false, tests))
        }
        Some((Op::BNot, &[arg])) => add_tests(function, arg, !truth, tests),
        Some((op @ (Op::SLt | Op::ULt), &[a, b])) if truth => {
            let signed = op == Op::SLt;
            tests.push(CounterTest { counter: a, other: b, is_below: true, signed });
            tests.push(CounterTest { counter: b, other: a, is_below: false, signed });
        }
        _ => {}
    }
}

impl CounterTest {
    /// The counter's bounds, refined by the fact.
    pub(super) fn refined(&self, counter: Bounds, other: &Bounds) -> Bounds {
        let (Bounds::Int(ints), Some([low, high])) = (counter, other.ints().hull()) else {
            return counter;
        };
        let min = if self.signed { i32::MIN } else { 0 };
        Bounds::Int(match (self.is_below, high.checked_sub(1), low.checked_add(1)) {
            // Below an unsigned integer with the sign bit set, signed integers may be anything.
            (true, Some(high), _) if self.signed || low >= 0 => ints.within(min, high),
            (false, _, Some(low)) if self.signed => ints.within(low, i32::MAX),
            _ => ints,
        })
    }
}
