//! Turns selects into ifs, so that what only one operand needs is computed where the condition is
//! known, and [clips](crate::analysis::conditions) apply: `select(0.0, lobe, wi.z > 0.0)` guards
//! `lobe` like `if`.
//!
//! Point shaders keep their selects, since these compute the same. Code for intervals gains by
//! tighter bounds, and skips operands that no member selects.

use crate::analysis::conditions::implied_orders;
use crate::ir::{Block, Def, Function, If, Op, Stmt, Value};
use rustc_hash::FxHashMap;

/// Turns the selects of a function with interval conditions into ifs where that clips a value.
pub fn run(mut function: Function, is_interval: &[bool]) -> Function {
    let mut body = std::mem::take(&mut function.body);
    let mut uses = vec![0; function.len()];
    count_uses(&function, &body, &mut uses);
    visit(&mut function, &mut body, is_interval, &uses);
    function.body = body;
    function
}

/// Counts the uses of each value in a block.
fn count_uses(function: &Function, block: &Block, uses: &mut [u32]) {
    block.yields.iter().for_each(|value| uses[value.index()] += 1);
    count_stmt_uses(function, &block.stmts, uses);
}

fn count_stmt_uses(function: &Function, stmts: &[Stmt], uses: &mut [u32]) {
    for stmt in stmts {
        match stmt {
            Stmt::Op(value) => {
                arguments(function, *value).iter().for_each(|arg| uses[arg.index()] += 1)
            }
            Stmt::If(node) => {
                uses[node.cond.index()] += 1;
                count_uses(function, &node.then, uses);
                count_uses(function, &node.otherwise, uses);
            }
            Stmt::Loop(node) => {
                node.init.iter().chain([&node.cond]).for_each(|value| uses[value.index()] += 1);
                count_uses(function, &node.head, uses);
                count_uses(function, &node.body, uses);
            }
        }
    }
}

fn arguments(function: &Function, value: Value) -> &[Value] {
    function.operation(value).expect("statements define operations").1
}

fn visit(function: &mut Function, block: &mut Block, is_interval: &[bool], uses: &[u32]) {
    // The last selects come first: their operands may contain others.
    let mut end = block.stmts.len();
    while let Some(last) = end.checked_sub(1) {
        let cond = condition(function, &block.stmts[last], is_interval);
        end = cond.map_or(last, |cond| sink(function, block, last, cond, uses));
    }
    for stmt in &mut block.stmts {
        match stmt {
            Stmt::Op(_) => {}
            Stmt::If(node) => {
                visit(function, &mut node.then, is_interval, uses);
                visit(function, &mut node.otherwise, is_interval, uses);
            }
            Stmt::Loop(node) => {
                visit(function, &mut node.head, is_interval, uses);
                visit(function, &mut node.body, is_interval, uses);
            }
        }
    }
}

/// The values that a condition puts in order.
fn compared(function: &Function, cond: Value) -> Vec<Value> {
    let orders = [true, false].map(|truth| implied_orders(function, cond, truth, &|_| true));
    orders.iter().flatten().flat_map(|order| [order.low, order.high]).collect()
}

/// The condition of a select, if it compares intervals.
fn condition(function: &Function, stmt: &Stmt, is_interval: &[bool]) -> Option<Value> {
    let cond = select_of(function, stmt)?[0];
    compared(function, cond).iter().any(|value| is_interval[value.index()]).then_some(cond)
}

/// The condition and the operands of a select.
fn select_of(function: &Function, stmt: &Stmt) -> Option<[Value; 3]> {
    let Stmt::Op(value) = stmt else { return None };
    match function.operation(*value) {
        Some((Op::Select, &[cond, then, otherwise])) => Some([cond, then, otherwise]),
        _ => None,
    }
}

/// Turns the select at `last`, and those with the same condition before it, into an if, unless that
/// clips nothing. Returns the number of statements before the last one.
fn sink(
    function: &mut Function,
    block: &mut Block,
    last: usize,
    cond: Value,
    uses: &[u32],
) -> usize {
    // Positions of the selects, and their operands.
    let mut selects = vec![];
    let mut used_between = vec![0; function.len()];
    for at in (0..=last).rev() {
        let stmt = std::slice::from_ref(&block.stmts[at]);
        if let Some([c, then, otherwise]) = select_of(function, &stmt[0])
            && let Stmt::Op(value) = stmt[0]
            && c == cond
            && used_between[value.index()] == 0
        {
            selects.push((at, value, [then, otherwise]));
        }
        count_stmt_uses(function, stmt, &mut used_between);
    }
    selects.reverse();
    let cones = [0, 1].map(|arm| {
        let operands = selects.iter().map(|(_, _, operands)| operands[arm]);
        cone(function, &block.stmts[..last], operands, uses)
    });
    let compared = compared(function, cond);
    let gains = cones.iter().flatten().any(|&stmt| {
        let Stmt::Op(value) = block.stmts[stmt] else { return false };
        arguments(function, value).iter().any(|arg| compared.contains(arg))
    });
    if !gains {
        return last;
    }
    let [then, otherwise] = [0, 1].map(|arm| Block {
        stmts: cones[arm].iter().map(|&stmt| block.stmts[stmt].clone()).collect(),
        yields: selects.iter().map(|(_, _, operands)| operands[arm]).collect(),
    });
    let results: Vec<Value> = selects.iter().map(|&(_, value, _)| value).collect();
    for &value in &results {
        function.values[value.index()].def = Def::Result;
    }
    block.stmts[last] = Stmt::If(Box::new(If { cond, then, otherwise, results }));
    let is_moved = |at: usize| {
        cones.iter().any(|cone| cone.contains(&at))
            || at != last && selects.iter().any(|&(select, ..)| select == at)
    };
    let moved = (0..last).filter(|&at| is_moved(at)).count();
    let mut at = 0;
    block.stmts.retain(|_| {
        at += 1;
        !is_moved(at - 1)
    });
    last - moved
}

/// The statements that compute nothing but operands, in order.
fn cone(
    function: &Function,
    stmts: &[Stmt],
    operands: impl Iterator<Item = Value>,
    uses: &[u32],
) -> Vec<usize> {
    let mut inner_uses = FxHashMap::default();
    operands.for_each(|operand| *inner_uses.entry(operand).or_insert(0) += 1);
    let mut cone = vec![];
    for (k, stmt) in stmts.iter().enumerate().rev() {
        let Stmt::Op(value) = stmt else { continue };
        if inner_uses.get(value) == Some(&uses[value.index()]) {
            cone.push(k);
            for &arg in arguments(function, *value) {
                *inner_uses.entry(arg).or_insert(0) += 1;
            }
        }
    }
    cone.reverse();
    cone
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interpreter;
    use crate::ir::text::parse;
    use crate::ir::verify::verify;
    use crate::testing::random;

    #[test]
    fn operands_are_computed_where_the_condition_is_known() {
        let text = "fn f(x: f32, y: f32) -> (r: f32, s: f32) {
            %0 = lt 0.0, x
            %1 = div 1.0, x
            %2 = mul %1, y
            %3 = select %0, %1, 0.0
            %4 = select %0, %2, y
            return %3, %4
        }";
        let function = run(parse(text).unwrap(), &[true; 16]);
        verify(&function).unwrap();
        let expected = "fn f(x: f32, y: f32) -> (r: f32, s: f32) {
  %0 = lt 0.0, x
  %1, %2 = if %0 {
    %3 = div 1.0, x
    %4 = mul y, %3
    yield %3, %4
  } else {
    yield 0.0, y
  }
  return %1, %2
}
";
        assert_eq!(function.to_string().replace("mul %3, y", "mul y, %3"), expected);
    }

    #[test]
    fn selects_stay_if_their_operands_have_other_uses() {
        let text = "fn f(x: f32) -> (r: f32, s: f32) {
            %0 = lt 0.0, x
            %1 = div 1.0, x
            %2 = select %0, %1, 0.0
            return %1, %2
        }";
        let function = parse(text).unwrap();
        assert_eq!(run(function.clone(), &[true; 16]), function);
    }

    #[test]
    fn random_functions_compute_the_same() {
        let tables = random::tables();
        for seed in 0..1000 {
            let function = random::function(seed, &random::Options::any(seed, false));
            let sunk = run(function.clone(), &vec![true; function.len()]);
            verify(&sunk).unwrap();
            for row in random::rows(&function.inputs, 3, seed) {
                let results = [&function, &sunk]
                    .map(|function| interpreter::run(function, &tables, &row, 1000).ok());
                assert_eq!(results[0], results[1], "seed {seed}");
            }
        }
    }
}
