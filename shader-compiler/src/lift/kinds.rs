//! Which values of a point shader are intervals in its bounding shader: those that depend on an
//! input that is one (Clarberg et al. 2010 §4.2). The rest stays as it is.

use crate::ir::function::for_each_stmt;
use crate::ir::{Def, Function, Stmt, Value};

/// For each value, whether it is an interval; `inputs` says so of the inputs.
///
/// What a choice between values depends on counts as well: results are intervals where the
/// condition of the if or of the loop is one. Parameters of a loop are not, on that account: as
/// long as the loop runs, all members of the box have gone through as many rounds.
pub fn kinds(function: &Function, inputs: &[bool]) -> Vec<bool> {
    let mut kinds = vec![false; function.len()];
    for (index, data) in function.values.iter().enumerate() {
        if let Def::Input(input) = data.def {
            kinds[index] = inputs[input as usize];
        }
    }
    // Statements come in an order in which only parameters depend on what is later.
    loop {
        let before = kinds.clone();
        for_each_stmt(&function.body, &mut |stmt| visit(function, stmt, &mut kinds));
        if kinds == before {
            return kinds;
        }
    }
}

fn visit(function: &Function, stmt: &Stmt, kinds: &mut [bool]) {
    let any = |kinds: &[bool], values: &[Value]| values.iter().any(|value| kinds[value.index()]);
    match stmt {
        Stmt::Op(value) => {
            let (_, args) = function.operation(*value).expect("statements define operations");
            kinds[value.index()] |= any(kinds, args);
        }
        Stmt::If(i) => {
            for (k, result) in i.results.iter().enumerate() {
                kinds[result.index()] |=
                    any(kinds, &[i.cond, i.then.yields[k], i.otherwise.yields[k]]);
            }
        }
        Stmt::Loop(l) => {
            for (k, param) in l.params.iter().enumerate() {
                kinds[param.index()] |= any(kinds, &[l.init[k], l.body.yields[k]]);
            }
            for (k, result) in l.results.iter().enumerate() {
                kinds[result.index()] |= any(kinds, &[l.cond, l.head.yields[k]]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::text::parse;

    #[test]
    fn results_of_undecided_loops_are_intervals_and_their_counters_are_not() {
        let text = "fn f(a: f32, b: f32) -> (r: i32, s: f32) {
            %0, %1 = loop (%2: i32 = 0, %3: f32 = b) {
                %4 = lt %3, a
                while %4 else %2, %3
                %5 = iadd %2, 1
                %6 = mul %3, 2.0
                next %5, %6
            }
            return %0, %1
        }";
        let function = parse(text).expect("the text is well formed");
        let of = |inputs: &[bool]| kinds(&function, inputs);
        let Stmt::Loop(l) = &function.body.stmts[0] else { panic!("there is a loop") };
        let are = |kinds: &[bool], values: &[Value]| {
            values.iter().map(|v| kinds[v.index()]).collect::<Vec<_>>()
        };
        assert_eq!(are(&of(&[true, false]), &l.params), [false, false]);
        assert_eq!(are(&of(&[true, false]), &l.results), [true, true]);
        assert_eq!(are(&of(&[false, true]), &l.params), [false, true]);
        assert_eq!(are(&of(&[false, false]), &l.results), [false, false]);
    }
}
