//! Hoists computations that depend only on uniform inputs of a batch.
//!
//! A renderer bounds a material for many boxes of directions at one shading point: `wo` and the
//! parameters are the same in all rows. [`Hoisted`] divides a function into one that depends on
//! such *uniform* inputs alone, which runs once for each shading point, and the rest, with the
//! results as further inputs.

use crate::builder::rewrite::remove_dead_code;
use crate::ir::function::{Block, Def, Function, Port, Stmt, Value, for_each_stmt};
use crate::ir::types::Type;

/// A function in two parts.
#[derive(Clone, Debug)]
pub struct Hoisted {
    /// Computes values from the uniform inputs. It has all inputs of the rest, and no outputs if
    /// hoisting does not pay.
    pub uniform: Function,
    /// The function, with the outputs of `uniform` as further inputs.
    pub rest: Function,
}

/// Hoisting must remove at least this fraction of the operations, since the other function has to
/// be called.
const MIN_SAVING: f64 = 0.05;

impl Hoisted {
    /// Divides a lowered function. `is_uniform` holds for the inputs that are the same in all rows.
    /// Preserves all values.
    pub fn new(function: &Function, is_uniform: impl Fn(usize) -> bool) -> Hoisted {
        let uniform = uniform_values(function, is_uniform);
        let is_hoisted = |stmt: &Stmt| results(stmt).iter().all(|value| uniform[value.index()]);
        let mut needed = vec![false; function.len()];
        for &value in &function.body.yields {
            needed[value.index()] = true;
        }
        // From the last statement to the first. Bools are computed again where the rest needs them,
        // since those of all lanes (`any`) must not be inputs of lowered code.
        let mut kept = Vec::new();
        for stmt in function.body.stmts.iter().rev() {
            let keeps = match stmt {
                Stmt::Op(value) if is_hoisted(stmt) => {
                    needed[value.index()] && function.ty(*value) == Type::Bool
                }
                _ => !is_hoisted(stmt),
            };
            if keeps {
                mark_used(function, stmt, &mut needed);
                kept.push(stmt.clone());
            }
        }
        kept.reverse();
        let hoisted: Vec<&Stmt> =
            function.body.stmts.iter().filter(|stmt| is_hoisted(stmt)).collect();
        let passed: Vec<Value> = (hoisted.iter().flat_map(|stmt| results(stmt)).copied())
            .filter(|&value| needed[value.index()] && function.ty(value) != Type::Bool)
            .collect();
        let rest = Block { stmts: kept, yields: function.body.yields.clone() };
        let [all, remaining] = [&function.body, &rest].map(|block| operations(block) as f64);
        if remaining > (1.0 - MIN_SAVING) * all || passed.is_empty() {
            return Hoisted::none(function);
        }
        let ports = passed
            .iter()
            .enumerate()
            .map(|(k, &value)| Port { name: format!("hoisted.{k}"), ty: function.ty(value) });
        let ports: Vec<Port> = ports.collect();
        let mut inputs = function.inputs.clone();
        inputs.extend(ports.iter().cloned());
        let mut rest = Function { inputs: inputs.clone(), body: rest, ..function.clone() };
        for (k, value) in passed.iter().enumerate() {
            rest.values[value.index()].def = Def::Input((function.inputs.len() + k) as u32);
        }
        remove_dead_code(&mut rest);
        let stmts = hoisted.into_iter().cloned().collect();
        let mut uniform = Function {
            name: format!("{}.uniform", function.name),
            inputs,
            outputs: ports,
            body: Block { stmts, yields: passed },
            values: function.values.clone(),
        };
        remove_dead_code(&mut uniform);
        // Every input has a value.
        for k in function.inputs.len()..uniform.inputs.len() {
            uniform.add(uniform.inputs[k].ty, Def::Input(k as u32));
        }
        Hoisted { uniform, rest }
    }

    /// The whole function as the rest.
    fn none(function: &Function) -> Hoisted {
        let uniform = Function { outputs: vec![], body: Block::default(), ..function.clone() };
        Hoisted { uniform, rest: function.clone() }
    }
}

/// The values that a statement defines for those after it.
fn results(stmt: &Stmt) -> &[Value] {
    match stmt {
        Stmt::Op(value) => std::slice::from_ref(value),
        Stmt::If(i) => &i.results,
        Stmt::Loop(l) => &l.results,
    }
}

/// Returns the number of operations, nested ones included.
fn operations(block: &Block) -> usize {
    let mut count = 0;
    for_each_stmt(block, &mut |stmt| count += usize::from(matches!(stmt, Stmt::Op(_))));
    count
}

/// Computes for each value of the outermost block whether it depends on uniform inputs alone.
fn uniform_values(function: &Function, is_uniform: impl Fn(usize) -> bool) -> Vec<bool> {
    let values = function.values.iter();
    let mut uniform: Vec<bool> = values
        .map(|data| match data.def {
            Def::Input(port) => is_uniform(port as usize),
            Def::Const(_) => true,
            Def::Op { .. } | Def::Param | Def::Result => false,
        })
        .collect();
    mark_uniform(function, &function.body, &mut uniform);
    uniform
}

/// Marks the uniform values of a block. Returns whether all of them are, and those that it yields.
/// Ifs and loops with bools as results stay where they are, since bools are not passed.
fn mark_uniform(function: &Function, block: &Block, uniform: &mut Vec<bool>) -> bool {
    let mut all = true;
    for stmt in &block.stmts {
        let is_uniform = match stmt {
            Stmt::Op(value) => are_all(args(function, *value), uniform),
            Stmt::If(i) => {
                let [then, otherwise] =
                    [&i.then, &i.otherwise].map(|arm| mark_uniform(function, arm, uniform));
                uniform[i.cond.index()] && then && otherwise
            }
            Stmt::Loop(l) => {
                // Parameters are uniform if all that depends on them turns out to be, too.
                let starts = are_all(&l.init, uniform);
                l.params.iter().for_each(|param| uniform[param.index()] = starts);
                let [head, body] =
                    [&l.head, &l.body].map(|block| mark_uniform(function, block, uniform));
                starts && head && body && uniform[l.cond.index()]
            }
        };
        let is_op = matches!(stmt, Stmt::Op(_));
        let is_passed = |&value: &Value| is_op || function.ty(value) != Type::Bool;
        let is_uniform = is_uniform && results(stmt).iter().all(is_passed);
        results(stmt).iter().for_each(|result| uniform[result.index()] = is_uniform);
        all &= is_uniform;
    }
    all && are_all(&block.yields, uniform)
}

fn are_all(values: &[Value], uniform: &[bool]) -> bool {
    values.iter().all(|value| uniform[value.index()])
}

/// The arguments of the operation that defines a value.
fn args(function: &Function, value: Value) -> &[Value] {
    function.operation(value).expect("a statement is an operation").1
}

/// Marks the values that a statement uses, nested statements included.
fn mark_used(function: &Function, stmt: &Stmt, needed: &mut [bool]) {
    let (values, blocks): (&[&[Value]], &[&Block]) = match stmt {
        Stmt::Op(value) => (&[args(function, *value)], &[]),
        Stmt::If(i) => (&[&[i.cond]], &[&i.then, &i.otherwise]),
        Stmt::Loop(l) => (&[&[l.cond], &l.init], &[&l.head, &l.body]),
    };
    let yields = blocks.iter().flat_map(|block| &block.yields);
    for value in values.iter().copied().flatten().chain(yields) {
        needed[value.index()] = true;
    }
    for stmt in blocks.iter().flat_map(|block| &block.stmts) {
        mark_used(function, stmt, needed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::verify::verify_lowered;
    use crate::testing::random::{self, Options};
    use crate::testing::same;
    use crate::{interpreter, random::Random};

    #[test]
    fn values_are_preserved() {
        let mut hoisted_functions = 0;
        for seed in 0..2000 {
            let before = random::function(seed, &Options::any(seed, true));
            let mut random = Random::new(seed);
            let is_uniform: Vec<bool> = before.inputs.iter().map(|_| random.below(3) > 0).collect();
            let Hoisted { uniform, rest } = Hoisted::new(&before, |input| is_uniform[input]);
            for function in [&uniform, &rest] {
                verify_lowered(function).unwrap_or_else(|e| panic!("{e}\n{before}\n{function}"));
            }
            hoisted_functions += u32::from(!uniform.outputs.is_empty());
            let run = |function: &Function, words: &[u32]| {
                interpreter::run(function, &random::tables(), words, 1 << 22).unwrap()
            };
            for row in random::special_rows(&before.inputs, 4, seed) {
                // The uniform function reads neither the other inputs nor those that it
                // computes.
                let mut words = row.clone();
                for (word, &is_uniform) in words.iter_mut().zip(&is_uniform) {
                    *word = if is_uniform { *word } else { 0 };
                }
                words.resize(uniform.inputs.len(), 0);
                let values = run(&uniform, &words);
                let [a, b] = [
                    run(&before, &row),
                    run(&rest, &row.iter().chain(&values).copied().collect::<Vec<_>>()),
                ];
                for (port, (a, b)) in before.outputs.iter().zip(a.into_iter().zip(b)) {
                    assert!(same(port.ty, a, b), "seed {seed}\n{before}\n{uniform}\n{rest}");
                }
            }
        }
        assert!(hoisted_functions > 500, "{hoisted_functions} functions");
    }
}
