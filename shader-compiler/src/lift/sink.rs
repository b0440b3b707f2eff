//! Turns selects into ifs, so that what only one operand needs is computed where the condition is
//! known, and [clips](crate::analysis::conditions) apply: `select(0.0, lobe, wi.z > 0.0)` guards
//! `lobe` like `if`.
//!
//! Point shaders keep their selects, since these compute the same. Code for intervals gains by
//! tighter bounds, and skips operands that no member selects.

use crate::analysis::conditions::implied_orders;
use crate::ir::{Block, Def, Function, If, Op, Stmt, Type, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BinaryHeap;

/// Number of statements of the largest blocks in which debug builds compare `is_in_cone` with `cone`.
const MAX_CHECKED: usize = 200;

/// Turns the selects of a function with interval conditions into ifs where that clips a value.
pub fn run(mut function: Function, is_interval: &[bool]) -> Function {
    let mut body = std::mem::take(&mut function.body);
    let mut uses = vec![0; function.len()];
    body.yields.iter().for_each(|value| uses[value.index()] += 1);
    for_each_use(&function, &body.stmts, &mut |value| uses[value.index()] += 1);
    visit(&mut function, &mut body, is_interval, &uses);
    function.body = body;
    function
}

/// Calls `f` for each use of a value in statements and in the blocks that they contain.
fn for_each_use(function: &Function, stmts: &[Stmt], f: &mut impl FnMut(Value)) {
    for stmt in stmts {
        let blocks = match stmt {
            Stmt::Op(value) => {
                arguments(function, *value).iter().for_each(|&arg| f(arg));
                continue;
            }
            Stmt::If(node) => {
                f(node.cond);
                [&node.then, &node.otherwise]
            }
            Stmt::Loop(node) => {
                node.init.iter().chain([&node.cond]).for_each(|&value| f(value));
                [&node.head, &node.body]
            }
        };
        for block in blocks {
            block.yields.iter().for_each(|&value| f(value));
            for_each_use(function, &block.stmts, f);
        }
    }
}

fn arguments(function: &Function, value: Value) -> &[Value] {
    function.operation(value).expect("statements define operations").1
}

fn visit(function: &mut Function, block: &mut Block, is_interval: &[bool], uses: &[u32]) {
    let mut sinking = Sinking::new(function, block);
    // The last selects come first: their operands may contain others.
    for last in (0..block.stmts.len()).rev() {
        if !sinking.moved[last]
            && let Some(cond) = condition(function, &block.stmts[last], is_interval)
        {
            sinking.sink(function, block, last, cond, uses);
        }
    }
    let mut moved = sinking.moved.into_iter();
    block.stmts.retain(|_| moved.next() == Some(false));
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

/// The floats that a condition puts in order.
fn compared(function: &Function, cond: Value) -> Vec<Value> {
    let orders = [true, false].map(|truth| implied_orders(function, cond, truth, &|_| true));
    let values = orders.iter().flatten().flat_map(|order| [order.low, order.high]);
    values.filter(|&value| function.ty(value) == Type::F32).collect()
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

/// The statements of a block, indexed, so that time is linear in their number.
struct Sinking {
    /// Position of the operation that defines a value.
    position: FxHashMap<Value, usize>,
    /// Positions of the statements that use a value, once for each use.
    users: FxHashMap<Value, Vec<usize>>,
    /// Positions of the selects with a condition.
    selects: FxHashMap<Value, Vec<usize>>,
    /// Whether a statement has been moved to an arm.
    moved: Vec<bool>,
}

impl Sinking {
    fn new(function: &Function, block: &Block) -> Sinking {
        let mut position = FxHashMap::default();
        let mut users: FxHashMap<Value, Vec<usize>> = FxHashMap::default();
        let mut selects: FxHashMap<Value, Vec<usize>> = FxHashMap::default();
        for (at, stmt) in block.stmts.iter().enumerate() {
            if let Stmt::Op(value) = stmt {
                position.insert(*value, at);
            }
            if let Some([cond, ..]) = select_of(function, stmt) {
                selects.entry(cond).or_default().push(at);
            }
            for_each_use(function, std::slice::from_ref(stmt), &mut |value| {
                users.entry(value).or_default().push(at);
            });
        }
        Sinking { position, users, selects, moved: vec![false; block.stmts.len()] }
    }

    /// Turns the select at `last`, and those with the same condition before it, into an if, unless
    /// that clips nothing.
    fn sink(
        &mut self,
        function: &mut Function,
        block: &mut Block,
        last: usize,
        cond: Value,
        uses: &[u32],
    ) {
        // Positions of the selects, and their operands. None may be used before the if.
        let mut selects = vec![];
        for &at in self.selects[&cond].iter().filter(|&&at| at <= last && !self.moved[at]) {
            if let Stmt::Op(value) = block.stmts[at]
                && self.users.get(&value).is_none_or(|users| users[0] > last)
                && let Some([_, then, otherwise]) = select_of(function, &block.stmts[at])
            {
                selects.push((at, value, [then, otherwise]));
            }
        }
        // Most selects clip nothing. Cones may be large, so they are computed for the others only.
        let compared = compared(function, cond);
        let users = compared.iter().filter_map(|value| self.users.get(value)).flatten();
        let group: Vec<usize> = selects.iter().map(|&(at, ..)| at).collect();
        let mut earlier = users.filter(|&&at| at < last && group.binary_search(&at).is_err());
        let gains = earlier.any(|&at| {
            let Stmt::Op(value) = block.stmts[at] else { return false };
            [0, 1].into_iter().any(|arm| self.is_in_cone(function, block, value, &group, arm, uses))
        });
        let cones = || {
            [0, 1].map(|arm| {
                self.cone(function, selects.iter().map(|(_, _, operands)| operands[arm]), uses)
            })
        };
        let uses_compared = |at: usize| {
            let Stmt::Op(value) = block.stmts[at] else { return false };
            arguments(function, value).iter().any(|arg| compared.contains(arg))
        };
        debug_assert!(
            block.stmts.len() > MAX_CHECKED
                || gains == cones().iter().flatten().any(|&at| uses_compared(at)),
            "the operations of the cones decide whether an if gains"
        );
        if !gains {
            return;
        }
        let cones = cones();
        let [then, otherwise] = [0, 1].map(|arm| Block {
            stmts: cones[arm].iter().map(|&at| block.stmts[at].clone()).collect(),
            yields: selects.iter().map(|(_, _, operands)| operands[arm]).collect(),
        });
        let results: Vec<Value> = selects.iter().map(|&(_, value, _)| value).collect();
        for &value in &results {
            function.values[value.index()].def = Def::Result;
        }
        block.stmts[last] = Stmt::If(Box::new(If { cond, then, otherwise, results }));
        let replaced = selects.iter().map(|&(at, ..)| at).filter(|&at| at != last);
        for at in replaced.chain(cones.into_iter().flatten()) {
            self.moved[at] = true;
        }
    }

    /// Whether an operation computes nothing but operands for an arm of the selects at the positions
    /// `group`, that is, is in their [cone](Self::cone). Follows its uses, and ends at the first one
    /// that is not in the cone; so it takes little time for most operations.
    fn is_in_cone(
        &self,
        function: &Function,
        block: &Block,
        value: Value,
        group: &[usize],
        arm: usize,
        uses: &[u32],
    ) -> bool {
        let last = group.last().copied().unwrap_or(0);
        let mut seen = FxHashSet::from_iter([value]);
        let mut pending = vec![value];
        while let Some(value) = pending.pop() {
            let users = self.users.get(&value).map_or(&[][..], Vec::as_slice);
            let is_unmoved = self.position.get(&value).is_some_and(|&at| !self.moved[at]);
            // Users that are missing are in other blocks. A dead operation has no operand to compute.
            let are_all = users.len() == uses[value.index()] as usize && !users.is_empty();
            if !is_unmoved || !are_all {
                return false;
            }
            for &at in users {
                if group.binary_search(&at).is_ok() {
                    let operands = select_of(function, &block.stmts[at]).expect("a select");
                    if (0..3).any(|k| operands[k] == value && k != arm + 1) {
                        return false;
                    }
                    continue;
                }
                match block.stmts[at] {
                    Stmt::Op(user) if at < last => {
                        if seen.insert(user) {
                            pending.push(user);
                        }
                    }
                    _ => return false,
                }
            }
        }
        true
    }

    /// Positions of the operations that compute nothing but operands, in order.
    fn cone(
        &self,
        function: &Function,
        operands: impl Iterator<Item = Value>,
        uses: &[u32],
    ) -> Vec<usize> {
        let mut inner_uses: FxHashMap<Value, u32> = FxHashMap::default();
        // The last operations first: all uses of a value come before it.
        let mut pending = BinaryHeap::new();
        let mut add = |value: Value, pending: &mut BinaryHeap<(usize, Value)>| {
            let count = inner_uses.entry(value).or_insert(0);
            *count += 1;
            if *count == uses[value.index()]
                && let Some(&at) = self.position.get(&value).filter(|&&at| !self.moved[at])
            {
                pending.push((at, value));
            }
        };
        operands.for_each(|operand| add(operand, &mut pending));
        let mut cone = vec![];
        while let Some((at, value)) = pending.pop() {
            cone.push(at);
            arguments(function, value).iter().for_each(|&arg| add(arg, &mut pending));
        }
        cone.reverse();
        cone
    }
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
