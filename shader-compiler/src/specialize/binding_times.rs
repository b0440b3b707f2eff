//! Binding times: which values are known as soon as the static inputs are, and which depend on
//! dynamic inputs.
//!
//! A loop with a static condition is unrolled, so that its parameters and results may be static.
//! Every other loop is residual, and only parameters that never change are static in it.

use crate::ir::function::for_each_stmt;
use crate::ir::{Def, Function, Stmt};

/// When a value is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BindingTime {
    /// When code is generated.
    Static,
    /// When the generated code runs.
    Dynamic,
}

/// Computes for each value whether it is static, given the binding times of inputs and tables.
/// Tables that are not listed are dynamic.
pub fn run(function: &Function, inputs: &[BindingTime], tables: &[BindingTime]) -> Vec<bool> {
    let mut is_static: Vec<_> = function
        .values
        .iter()
        .map(|data| match data.def {
            Def::Input(index) => inputs[index as usize] == BindingTime::Static,
            Def::Const(_) | Def::Op { .. } | Def::Param | Def::Result => true,
        })
        .collect();
    // From the assumption that everything else is static to the greatest fixpoint.
    loop {
        let before = is_static.clone();
        for_each_stmt(&function.body, &mut |stmt| match stmt {
            Stmt::Op(value) => {
                let (op, args) = function.operation(*value).expect("statements define operations");
                let table = function.constant(args[0]).and_then(|first| op.table(first));
                let reads_dynamic = op.is_load()
                    && table.and_then(|table| tables.get(table as usize))
                        != Some(&BindingTime::Static);
                let known = args.iter().all(|arg| is_static[arg.index()]);
                is_static[value.index()] &= known && !reads_dynamic;
            }
            Stmt::If(node) => {
                for (k, result) in node.results.iter().enumerate() {
                    let sources = [node.cond, node.then.yields[k], node.otherwise.yields[k]];
                    let known = sources.iter().all(|value| is_static[value.index()]);
                    is_static[result.index()] &= known;
                }
            }
            Stmt::Loop(node) => {
                let is_unrolled = is_static[node.cond.index()];
                for (k, &param) in node.params.iter().enumerate() {
                    let (init, next) = (node.init[k], node.body.yields[k]);
                    let known = is_static[init.index()]
                        && (next == param || is_unrolled && is_static[next.index()]);
                    is_static[param.index()] &= known;
                }
                for (result, exit) in std::iter::zip(&node.results, &node.head.yields) {
                    is_static[result.index()] &= is_unrolled && is_static[exit.index()];
                }
            }
        });
        if is_static == before {
            return is_static;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::BindingTime::{Dynamic, Static};
    use super::*;
    use crate::ir::text::parse;

    #[track_caller]
    fn outputs_are_static(times: [BindingTime; 2], table: BindingTime, body: &str) -> Vec<bool> {
        let text = format!("fn f(n: i32, x: i32) -> (r: i32, s: i32) {{ {body} }}");
        let function = parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let is_static = run(&function, &times, &[table]);
        function.body.yields.iter().map(|output| is_static[output.index()]).collect()
    }

    const COUNT: &str = "%r, %s = loop (%i: i32 = 0, %y: i32 = x) {
        %go = slt %i, n
        while %go else %i, %y
        %j = iadd %i, 1
        %z = imul %y, %y
        next %j, %z
    } return %r, %s";

    #[test]
    fn loops_with_static_conditions_keep_static_parameters() {
        assert_eq!(outputs_are_static([Static, Dynamic], Dynamic, COUNT), [true, false]);
        assert_eq!(outputs_are_static([Dynamic, Static], Dynamic, COUNT), [false, false]);
        assert_eq!(outputs_are_static([Static, Static], Dynamic, COUNT), [true, true]);
    }

    #[test]
    fn loads_from_dynamic_tables_are_dynamic() {
        let body = "%0 = load 0, n %1 = load 0, x return %0, %1";
        assert_eq!(outputs_are_static([Static, Dynamic], Static, body), [true, false]);
        assert_eq!(outputs_are_static([Static, Dynamic], Dynamic, body), [false, false]);
    }
}
