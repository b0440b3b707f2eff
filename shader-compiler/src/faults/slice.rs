//! The operations of a function that can fail, and the parts of the function that decide whether
//! they do.

use crate::builder::rewrite::implied_operands;
use crate::ir::function::for_each_stmt;
use crate::ir::{Block, Def, Function, If, Loop, Op, Stmt, Value};
use std::collections::HashMap;

/// An operation that may divide by zero, or yield a NaN or an infinite value from finite operands.
#[derive(Clone, Debug)]
pub(super) struct Site {
    /// The value that the operation defines.
    pub value: Value,
    /// The conditions of the blocks that contain it, those that they determine, and their values
    /// there.
    pub path: Vec<(Value, bool)>,
}

/// The part of a function that a site depends on: its operands and conditions, and what they are
/// computed from.
#[derive(Clone, Debug)]
pub(super) struct Slice {
    pub function: Function,
    pub site: Site,
    /// Indices of the inputs that the site depends on. The slice has all inputs.
    pub inputs: Vec<usize>,
    /// For each value of the original function, its copy, if it is part of the slice.
    pub copies: Vec<Option<Value>>,
}

/// Whether an operation on finite operands can fail.
fn can_fail(op: Op) -> bool {
    use Op::*;
    matches!(
        op,
        Add | Sub
            | Mul
            | Div
            | Sqrt
            | Rem
            | Smoothstep
            | Rsqrt
            | Exp
            | Exp2
            | Log
            | Log2
            | Pow
            | Tan
            | Asin
            | Acos
            | Sinh
            | Cosh
            | Acosh
            | Atanh
            | Float
            | SDiv
            | UDiv
            | SRem
            | URem
    )
}

/// Finds all operations that can fail, in the order of statements.
pub(super) fn sites(function: &Function) -> Vec<Site> {
    fn visit(
        function: &Function,
        arms: &HashMap<Value, [Value; 3]>,
        block: &Block,
        path: &mut Vec<(Value, bool)>,
        sites: &mut Vec<Site>,
    ) {
        let outer = path.len();
        for stmt in &block.stmts {
            match stmt {
                Stmt::Op(value) => {
                    let (op, _) = function.operation(*value).expect("statements define operations");
                    if can_fail(op) {
                        sites.push(Site { value: *value, path: path.clone() });
                    }
                }
                Stmt::If(node) => {
                    for (arm, truth) in [(&node.then, true), (&node.otherwise, false)] {
                        add_condition(function, arms, node.cond, truth, path);
                        visit(function, arms, arm, path, sites);
                        path.truncate(outer);
                    }
                }
                Stmt::Loop(node) => {
                    visit(function, arms, &node.head, path, sites);
                    add_condition(function, arms, node.cond, true, path);
                    visit(function, arms, &node.body, path, sites);
                    path.truncate(outer);
                }
            }
        }
    }
    let mut sites = Vec::new();
    visit(function, &if_results(function), &function.body, &mut vec![], &mut sites);
    sites
}

/// Adds a condition and those that it determines. `a && b` is an `if` that yields `b` or `false`: if
/// it is true, so are both.
fn add_condition(
    function: &Function,
    arms: &HashMap<Value, [Value; 3]>,
    cond: Value,
    truth: bool,
    path: &mut Vec<(Value, bool)>,
) {
    path.push((cond, truth));
    for (operand, truth) in implied_operands(function, cond, truth) {
        add_condition(function, arms, operand, truth, path);
    }
    let Some(&[cond, then, otherwise]) = arms.get(&cond) else { return };
    let is_excluded =
        |value: Value| function.constant(value).is_some_and(|word| (word != 0) != truth);
    for (excluded, taken, is_true) in [(otherwise, then, true), (then, otherwise, false)] {
        if is_excluded(excluded) {
            add_condition(function, arms, cond, is_true, path);
            add_condition(function, arms, taken, truth, path);
        }
    }
}

/// For each result of an if, the condition and what the arms yield.
fn if_results(function: &Function) -> HashMap<Value, [Value; 3]> {
    let mut results = HashMap::new();
    for_each_stmt(&function.body, &mut |stmt| {
        if let Stmt::If(node) = stmt {
            for (k, &result) in node.results.iter().enumerate() {
                results.insert(result, [node.cond, node.then.yields[k], node.otherwise.yields[k]]);
            }
        }
    });
    results
}

impl Slice {
    /// Extracts the slice of a site.
    pub fn new(function: &Function, site: &Site) -> Slice {
        let mut sources = if_results(function);
        for_each_stmt(&function.body, &mut |stmt| {
            let Stmt::Loop(node) = stmt else { return };
            for (k, &param) in node.params.iter().enumerate() {
                sources.insert(param, [node.cond, node.init[k], node.body.yields[k]]);
            }
            for (k, &result) in node.results.iter().enumerate() {
                sources.insert(result, [node.cond, node.head.yields[k], node.head.yields[k]]);
            }
        });
        let mut live = vec![false; function.len()];
        let mut work: Vec<Value> = site.path.iter().map(|&(cond, _)| cond).collect();
        work.push(site.value);
        while let Some(value) = work.pop() {
            if std::mem::replace(&mut live[value.index()], true) {
                continue;
            }
            match function.def(value) {
                Def::Input(_) | Def::Const(_) => {}
                Def::Op { op, args } => work.extend(&args[..op.arity()]),
                Def::Param | Def::Result => work.extend(sources[&value]),
            }
        }
        let mut copy = Copy {
            old: function,
            live: &live,
            map: vec![None; function.len()],
            new: Function { values: vec![], ..Function::clone(function) },
        };
        copy.new.outputs = vec![];
        copy.new.body = Block::default();
        for (index, data) in function.values.iter().enumerate() {
            if matches!(data.def, Def::Input(_)) {
                copy.get(Value(index as u32));
            }
        }
        copy.new.body = copy.block(&function.body, &[]);
        let path = site.path.iter().map(|&(cond, truth)| (copy.get(cond), truth)).collect();
        let site = Site { value: copy.get(site.value), path };
        let input = |(index, &live): (usize, &bool)| match function.values[index].def {
            Def::Input(input) if live => Some(input as usize),
            _ => None,
        };
        let mut inputs: Vec<_> = live.iter().enumerate().filter_map(input).collect();
        inputs.sort_unstable();
        Slice { function: copy.new, site, inputs, copies: copy.map }
    }
}

/// Copies the live part of a function.
struct Copy<'a> {
    old: &'a Function,
    live: &'a [bool],
    map: Vec<Option<Value>>,
    new: Function,
}

impl Copy<'_> {
    /// The copy of a value.
    fn get(&mut self, old: Value) -> Value {
        if let Some(new) = self.map[old.index()] {
            return new;
        }
        let data = self.old.values[old.index()];
        let def = match data.def {
            Def::Op { op, args } => {
                let mut new = [Value(0); 3];
                for k in 0..3 {
                    new[k] = self.get(args[k]);
                }
                Def::Op { op, args: new }
            }
            def => def,
        };
        let new = self.new.add(data.ty, def);
        self.new.values[new.index()].origin = data.origin;
        self.map[old.index()] = Some(new);
        new
    }

    fn is_live(&self, value: Value) -> bool {
        self.live[value.index()]
    }

    /// The copies of those of `values` whose counterparts are live.
    fn live(&mut self, counterparts: &[Value], values: &[Value]) -> Vec<Value> {
        let kept: Vec<_> = std::iter::zip(counterparts, values)
            .filter(|(counterpart, _)| self.is_live(**counterpart))
            .map(|(_, &value)| value)
            .collect();
        kept.into_iter().map(|value| self.get(value)).collect()
    }

    /// The copy of a block that yields these old values.
    fn block(&mut self, block: &Block, yields: &[Value]) -> Block {
        let mut stmts = Vec::new();
        for stmt in &block.stmts {
            match stmt {
                Stmt::Op(value) if self.is_live(*value) => stmts.push(Stmt::Op(self.get(*value))),
                Stmt::Op(_) => {}
                Stmt::If(node) => {
                    let live = |yields: &[Value]| -> Vec<Value> {
                        std::iter::zip(&node.results, yields)
                            .filter(|(result, _)| self.live[result.index()])
                            .map(|(_, &value)| value)
                            .collect()
                    };
                    let yields = [live(&node.then.yields), live(&node.otherwise.yields)];
                    let then = self.block(&node.then, &yields[0]);
                    let otherwise = self.block(&node.otherwise, &yields[1]);
                    let results = self.live(&node.results, &node.results);
                    if !(then.stmts.is_empty() && otherwise.stmts.is_empty() && results.is_empty())
                    {
                        let cond = self.get(node.cond);
                        stmts.push(Stmt::If(Box::new(If { cond, then, otherwise, results })));
                    }
                }
                Stmt::Loop(node) if self.needs_loop(node) => {
                    let init = self.live(&node.params, &node.init);
                    let params = self.live(&node.params, &node.params);
                    let live = |counterparts: &[Value], yields: &[Value]| -> Vec<Value> {
                        std::iter::zip(counterparts, yields)
                            .filter(|(counterpart, _)| self.live[counterpart.index()])
                            .map(|(_, &value)| value)
                            .collect()
                    };
                    let exits = live(&node.results, &node.head.yields);
                    let next = live(&node.params, &node.body.yields);
                    let head = self.block(&node.head, &exits);
                    let body = self.block(&node.body, &next);
                    let results = self.live(&node.results, &node.results);
                    let cond = self.get(node.cond);
                    let node = Loop { init, params, head, cond, body, results };
                    stmts.push(Stmt::Loop(Box::new(node)));
                }
                Stmt::Loop(_) => {}
            }
        }
        let yields = yields.iter().map(|&value| self.get(value)).collect();
        Block { stmts, yields }
    }

    /// Whether anything that a loop defines is live.
    fn needs_loop(&self, node: &Loop) -> bool {
        let mut needed = node.results.iter().chain(&node.params).any(|&value| self.is_live(value));
        for block in [&node.head, &node.body] {
            for_each_stmt(block, &mut |stmt| {
                needed |= matches!(stmt, Stmt::Op(value) if self.live[value.index()]);
            });
        }
        needed
    }
}
