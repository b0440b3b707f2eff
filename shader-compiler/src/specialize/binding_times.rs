//! Binding times: which values are known as soon as the static inputs are, and which depend on
//! dynamic inputs.
//!
//! A loop with a static condition is unrolled, so that its parameters and results may be static.
//! Every other loop is residual, and only parameters that never change are static in it. Its counters
//! may be cyclic integers, whose remainder is static in copies of its body: [`counted_loops`] finds
//! them, and the generator decides with the static values (`cyclic.rs`).

use crate::interval::Bounds;
use crate::ir::function::for_each_stmt;
use crate::ir::{Block, Def, Function, Loop, Op, Stmt, Value};
use rustc_hash::{FxHashMap, FxHashSet};

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

/// A loop that runs while a counter is below a limit.
#[derive(Clone, Debug)]
pub(super) struct CountedLoop {
    /// Index of the parameter that counts.
    pub counter: usize,
    /// The comparison: [`Op::SLt`] or [`Op::ULt`].
    pub comparison: Op,
    /// A value from outside the loop.
    pub limit: Value,
    /// For each parameter, the value from outside the loop that each iteration adds to it.
    pub steps: Vec<Option<Value>>,
    /// Greatest value of the counter, as a signed number.
    pub most: i32,
    /// Least and greatest value of the limit, as signed numbers.
    pub limits: [i32; 2],
}

/// Finds the loops with counters whose remainders their bodies may use, by their conditions.
pub(super) fn counted_loops(
    function: &Function,
    bounds: &[Bounds],
) -> FxHashMap<Value, CountedLoop> {
    let mut loops = FxHashMap::default();
    for_each_stmt(&function.body, &mut |stmt| {
        if let Stmt::Loop(node) = stmt
            && let Some(counted) = counted_loop(function, node, bounds)
        {
            loops.insert(node.cond, counted);
        }
    });
    loops
}

fn counted_loop(function: &Function, node: &Loop, bounds: &[Bounds]) -> Option<CountedLoop> {
    let (comparison, args) = function.operation(node.cond)?;
    if !matches!(comparison, Op::SLt | Op::ULt) {
        return None;
    }
    let mut inside: FxHashSet<Value> = node.params.iter().copied().collect();
    add_definitions(&node.head, &mut inside);
    add_definitions(&node.body, &mut inside);
    let [counter, limit] = args else { return None };
    let counter = node.params.iter().position(|param| param == counter)?;
    if inside.contains(limit) {
        return None;
    }
    let step = |(&param, &next): (&Value, &Value)| match function.operation(next)? {
        (Op::IAdd, &[a, b]) if a == param && !inside.contains(&b) => Some(b),
        (Op::IAdd, &[a, b]) if b == param && !inside.contains(&a) => Some(a),
        _ => None,
    };
    let steps: Vec<_> = std::iter::zip(&node.params, &node.body.yields).map(step).collect();
    steps[counter]?;
    let range = |value: &Value| match &bounds[value.index()] {
        Bounds::Int(ints) => ints.hull(),
        Bounds::Float(_) | Bounds::Bool(_) => None,
    };
    let [_, most] = range(&node.params[counter])?;
    let limits = range(limit)?;
    let counters = std::iter::zip(&node.params, &steps).filter(|(_, step)| step.is_some());
    let mut linear: FxHashSet<Value> = counters.map(|(&param, _)| param).collect();
    let uses = uses_remainders(function, &node.head, &mut linear)
        | uses_remainders(function, &node.body, &mut linear);
    uses.then_some(CountedLoop { counter, comparison, limit: *limit, steps, most, limits })
}

/// Whether a block takes remainders of linear functions of counters, or divides them. Adds the linear
/// functions in the block to those that are known.
fn uses_remainders(function: &Function, block: &Block, linear: &mut FxHashSet<Value>) -> bool {
    let mut uses = false;
    for_each_stmt(block, &mut |stmt| match stmt {
        Stmt::Op(value) => {
            let (op, args) = function.operation(*value).expect("statements define operations");
            if !args.iter().any(|arg| linear.contains(arg)) {
                return;
            }
            let divides = matches!(
                op,
                Op::And | Op::LShr | Op::AShr | Op::SDiv | Op::UDiv | Op::SRem | Op::URem
            );
            // Of an amount, the low bits count.
            uses |= divides || op == Op::Shl && linear.contains(&args[1]);
            if divides || matches!(op, Op::IAdd | Op::ISub | Op::IMul | Op::Shl) {
                linear.insert(*value);
            }
        }
        Stmt::If(_) => {}
        Stmt::Loop(node) => {
            let params = std::iter::zip(&node.init, &node.params);
            let starts: Vec<_> =
                params.filter(|(init, _)| linear.contains(init)).map(|(_, &param)| param).collect();
            linear.extend(starts);
        }
    });
    uses
}

fn add_definitions(block: &Block, values: &mut FxHashSet<Value>) {
    for_each_stmt(block, &mut |stmt| match stmt {
        Stmt::Op(value) => values.extend([*value]),
        Stmt::If(node) => values.extend(&node.results),
        Stmt::Loop(node) => values.extend(node.params.iter().chain(&node.results)),
    });
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
