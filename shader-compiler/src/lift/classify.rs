//! Classifies the values of a point shader: those that depend on an interval input are intervals in
//! its bounding shader (Clarberg et al. 2010 §4.2). The others remain scalars.

use crate::ir::function::for_each_stmt;
use crate::ir::{Def, Function, Stmt, Value};

/// Returns, for each value, whether it is an interval, given which `inputs` are.
///
/// Control dependence counts as well: results of an if or a loop are intervals if the condition is.
/// This does not apply to the parameters of a loop: as long as the loop runs, all members of the
/// box have completed the same number of iterations.
pub fn classify(function: &Function, inputs: &[bool]) -> Vec<bool> {
    let mut is_interval = vec![false; function.len()];
    for (index, data) in function.values.iter().enumerate() {
        if let Def::Input(input) = data.def {
            is_interval[index] = inputs[input as usize];
        }
    }
    // In statement order, only loop parameters depend on later values, so this iterates to a
    // fixpoint.
    loop {
        let before = is_interval.clone();
        for_each_stmt(&function.body, &mut |stmt| visit(function, stmt, &mut is_interval));
        if is_interval == before {
            return is_interval;
        }
    }
}

fn visit(function: &Function, stmt: &Stmt, is_interval: &mut [bool]) {
    let any = |is_interval: &[bool], values: &[Value]| {
        values.iter().any(|value| is_interval[value.index()])
    };
    match stmt {
        Stmt::Op(value) => {
            let (_, args) = function.operation(*value).expect("statements define operations");
            is_interval[value.index()] |= any(is_interval, args);
        }
        Stmt::If(i) => {
            for (k, result) in i.results.iter().enumerate() {
                is_interval[result.index()] |=
                    any(is_interval, &[i.cond, i.then.yields[k], i.otherwise.yields[k]]);
            }
        }
        Stmt::Loop(l) => {
            for (k, param) in l.params.iter().enumerate() {
                is_interval[param.index()] |= any(is_interval, &[l.init[k], l.body.yields[k]]);
            }
            for (k, result) in l.results.iter().enumerate() {
                is_interval[result.index()] |= any(is_interval, &[l.cond, l.head.yields[k]]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::text::parse;

    #[test]
    fn interval_conditions_make_loop_results_intervals_but_not_counters() {
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
        let classified = |inputs: &[bool]| classify(&function, inputs);
        let Stmt::Loop(l) = &function.body.stmts[0] else {
            panic!("the first statement is not a loop")
        };
        let select = |is_interval: &[bool], values: &[Value]| {
            values.iter().map(|v| is_interval[v.index()]).collect::<Vec<_>>()
        };
        assert_eq!(select(&classified(&[true, false]), &l.params), [false, false]);
        assert_eq!(select(&classified(&[true, false]), &l.results), [true, true]);
        assert_eq!(select(&classified(&[false, true]), &l.params), [false, true]);
        assert_eq!(select(&classified(&[false, false]), &l.results), [false, false]);
    }
}
