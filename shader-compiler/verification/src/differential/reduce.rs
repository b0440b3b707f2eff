//! Test-case reduction of IR functions.

use lightbound_shader::builder::rewrite::{liveness, remove_dead_code};
use lightbound_shader::ir::function::for_each_stmt;
use lightbound_shader::ir::{Block, Def, Function, Stmt, Type, Value};

/// Reduces a function for which `fails` holds to a smaller one for which it still holds. Greedily
/// drops outputs, and replaces values by their arguments or by constants.
pub fn reduce(function: &Function, fails: impl Fn(&Function) -> bool) -> Function {
    let mut best = function.clone();
    loop {
        let before = (best.outputs.len(), size(&best));
        for index in (0..best.outputs.len()).rev() {
            if best.outputs.len() > 1 {
                let mut next = best.clone();
                next.outputs.remove(index);
                next.body.yields.remove(index);
                accept(&mut best, next, &fails);
            }
        }
        for index in (0..best.len() as u32).rev() {
            let value = Value(index);
            if !matches!(best.def(value), Def::Op { .. } | Def::Param | Def::Result)
                || !liveness(&best)[value.index()]
            {
                continue;
            }
            let args = best.operation(value).map_or(vec![], |(_, args)| args.to_vec());
            let same_type = args
                .into_iter()
                .filter(|&arg| best.ty(arg) == best.ty(value))
                .map(Replacement::Value);
            let constants = [0, if best.ty(value) == Type::F32 { 1.0f32.to_bits() } else { !0 }]
                .map(Replacement::Constant);
            let candidates: Vec<_> = same_type.chain(constants).collect();
            for replacement in candidates {
                let next = replaced(&best, value, replacement);
                if accept(&mut best, next, &fails) {
                    break;
                }
            }
        }
        if (best.outputs.len(), size(&best)) == before {
            return best;
        }
    }
}

/// A replacement of a value.
enum Replacement {
    Value(Value),
    Constant(u32),
}

/// Replaces the best function if the candidate fails too. Returns whether it did.
fn accept(best: &mut Function, mut next: Function, fails: &impl Fn(&Function) -> bool) -> bool {
    remove_dead_code(&mut next);
    let accepted = fails(&next);
    if accepted {
        *best = next;
    }
    accepted
}

/// Returns the number of statements.
fn size(function: &Function) -> usize {
    let mut count = 0;
    for_each_stmt(&function.body, &mut |_| count += 1);
    count
}

/// Returns a copy of a function in which a value is replaced.
fn replaced(function: &Function, value: Value, by: Replacement) -> Function {
    let mut function = function.clone();
    let new = match by {
        Replacement::Value(new) => new,
        Replacement::Constant(bits) => function.add(function.ty(value), Def::Const(bits)),
    };
    for data in &mut function.values {
        if let Def::Op { args, .. } = &mut data.def {
            replace_value(args, value, new);
        }
    }
    replace_in_block(&mut function.body, value, new);
    function
}

fn replace_value(values: &mut [Value], old: Value, new: Value) {
    for value in values {
        if *value == old {
            *value = new;
        }
    }
}

fn replace_in_block(block: &mut Block, old: Value, new: Value) {
    replace_value(&mut block.yields, old, new);
    for stmt in &mut block.stmts {
        match stmt {
            Stmt::Op(_) => {}
            Stmt::If(i) => {
                replace_value(std::slice::from_mut(&mut i.cond), old, new);
                replace_in_block(&mut i.then, old, new);
                replace_in_block(&mut i.otherwise, old, new);
            }
            Stmt::Loop(l) => {
                replace_value(std::slice::from_mut(&mut l.cond), old, new);
                replace_value(&mut l.init, old, new);
                replace_in_block(&mut l.head, old, new);
                replace_in_block(&mut l.body, old, new);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lightbound_shader::ir::Op;
    use lightbound_shader::ir::verify::verify;
    use lightbound_shader::testing::random::{self, Options};

    #[test]
    fn reduced_functions_are_small() {
        // Pretend that functions with a division fail.
        let options = Options { ops: 200, composite: true, ifs: true, loops: true, lowered: false };
        let fails = |function: &Function| {
            verify(function).unwrap();
            let live = liveness(function);
            (0..function.len() as u32)
                .map(Value)
                .any(|v| live[v.index()] && matches!(function.operation(v), Some((Op::Div, _))))
        };
        let mut reductions = 0;
        for seed in 0..120 {
            let function = random::function(seed, &options);
            if fails(&function) {
                let reduced = reduce(&function, fails);
                // The result of a division in a loop or an arm must be yielded from it, which takes
                // more statements.
                assert!(size(&reduced) <= 12, "seed {seed}\n{reduced}");
                reductions += 1;
            }
        }
        assert!(reductions > 10);
    }
}
