//! Valid range analysis: what the users of a value demand of it, so that all operations get
//! arguments for which they are defined (Clarberg et al. 2010 §4.4).
//!
//! √t demands t ≥ 0, and where t = c · b with c ≥ 0, that demands b ≥ 0, and so on, backwards. What
//! is demanded cuts the bounds of the value, with which static bounds analysis goes through the
//! function once more, until nothing changes. A factor that is 0 would allow for anything, and so
//! would a product that is so small as to be rounded to 0; both are left aside, as in the paper.
//!
//! A use counts only if it is certain to run wherever the value is made, that is if it stands in
//! the same block: what an arm does with a value from outside restricts it only where that arm
//! runs. NaN is no matter of demands; it is tracked as elsewhere.
//!
//! So what bounds are worth then hangs on a precondition: that operations are defined for all of
//! the intervals that bounding code computes for their arguments, which may be wider than what
//! points come to, and that no such product is 0 in spite of the signs of its factors.

use super::bounds::{Bounds, Floats};
use super::constraint::Constraint;
use super::solve::Solver;
use crate::ir::function::{If, Loop};
use crate::ir::{Block, Def, Function, Op, Stmt, Value};

/// Rounds of backward and forward analysis, at most. Most functions take two.
const ROUNDS: usize = 6;

/// Cuts the bounds of a function's values to what all operations are defined for.
pub(super) fn refine(solver: &mut Solver<'_>) {
    let function = solver.function;
    let mut homes = vec![None; function.len()];
    find_homes(&function.body, &[], &mut homes);
    for (value, data) in function.values.iter().enumerate() {
        if let Def::Input(_) = data.def {
            homes[value] = Some(&function.body);
        }
    }
    let given = solver.constraints.take();
    let mut limits: Vec<_> = function.values.iter().map(|data| Bounds::all(data.ty)).collect();
    for _ in 0..ROUNDS {
        let before = limits.clone();
        let mut demands = Demands { function, homes: &homes, bounds: &solver.bounds, limits };
        demands.block(&function.body);
        limits = demands.limits;
        if limits == before {
            return;
        }
        for (value, data) in function.values.iter().enumerate() {
            if let Def::Input(_) = data.def {
                solver.bounds[value] = solver.bounds[value].meet(&limits[value]);
            }
        }
        // The precondition is that endpoints meet what is demanded, too.
        let demanded = limits.iter().map(|&limit| Constraint::observe(limit));
        solver.constraints = Some(match &given {
            Some(given) => std::iter::zip(given, demanded)
                .map(|(given, demanded)| given.and(&demanded))
                .collect(),
            None => demanded.collect(),
        });
        solver.block(&function.body);
    }
}

/// Finds the block that defines each value.
fn find_homes<'f>(block: &'f Block, params: &[Value], homes: &mut [Option<&'f Block>]) {
    params.iter().for_each(|param| homes[param.index()] = Some(block));
    for stmt in &block.stmts {
        let defined = match stmt {
            Stmt::Op(value) => std::slice::from_ref(value),
            Stmt::If(node) => {
                find_homes(&node.then, &[], homes);
                find_homes(&node.otherwise, &[], homes);
                &node.results
            }
            Stmt::Loop(node) => {
                find_homes(&node.head, &node.params, homes);
                find_homes(&node.body, &[], homes);
                &node.results
            }
        };
        defined.iter().for_each(|value| homes[value.index()] = Some(block));
    }
}

/// A pass over a function, backwards.
struct Demands<'a> {
    function: &'a Function,
    homes: &'a [Option<&'a Block>],
    bounds: &'a [Bounds],
    /// What is demanded of each value.
    limits: Vec<Bounds>,
}

impl<'a> Demands<'a> {
    fn block(&mut self, block: &'a Block) {
        for stmt in block.stmts.iter().rev() {
            match stmt {
                Stmt::Op(value) => self.operation(block, *value),
                Stmt::If(node) => self.if_(node),
                Stmt::Loop(node) => self.loop_(block, node),
            }
        }
    }

    /// Demands that a value be as is said, on behalf of a use in a block.
    fn demand(&mut self, user: &Block, value: Value, limit: &Bounds) {
        if self.homes[value.index()].is_some_and(|home| std::ptr::eq(home, user)) {
            self.limits[value.index()] = self.limits[value.index()].meet(limit);
        }
    }

    /// Demands that a float be NaN or from one number to another; that it be anything, if these are
    /// no ends.
    fn demand_between(&mut self, user: &Block, value: Value, [low, high]: [f32; 2]) {
        if low <= high && (low, high) != (f32::NEG_INFINITY, f32::INFINITY) {
            self.demand(
                user,
                value,
                &Bounds::Float(Floats { nan: true, ..Floats::between(low, high) }),
            );
        }
    }

    fn if_(&mut self, node: &'a If) {
        for arm in [&node.then, &node.otherwise] {
            for (&result, &value) in node.results.iter().zip(&arm.yields) {
                self.demand(arm, value, &self.limits[result.index()].clone());
            }
            self.block(arm);
        }
    }

    /// The head runs at least once, and after each run of the body. Its values are of many rounds,
    /// its yields of the last one.
    fn loop_(&mut self, block: &Block, node: &'a Loop) {
        self.block(&node.head);
        for (k, &param) in node.params.iter().enumerate() {
            let limit = self.limits[param.index()];
            self.demand(&node.body, node.body.yields[k], &limit);
            self.demand(block, node.init[k], &limit);
        }
        self.block(&node.body);
    }

    fn operation(&mut self, block: &Block, value: Value) {
        let (op, args) = self.function.operation(value).expect("statements define operations");
        let facts = op.facts();
        // Infinities are no matter of demands.
        if !facts.is_defined_for_finite() {
            self.demand_between(block, args[0], facts.domain);
        }
        if let Op::Neg | Op::Abs | Op::Min | Op::Max | Op::Add | Op::Sub | Op::Mul | Op::Div = op {
            self.back(block, op, args, self.ends(value));
        }
    }

    /// The ends of what a float has to be.
    fn ends(&self, value: Value) -> [f32; 2] {
        let floats = self.bounds[value.index()].meet(&self.limits[value.index()]);
        [floats.floats().low(), floats.floats().high()]
    }

    /// Demands of arguments what makes for a result between two numbers.
    fn back(&mut self, block: &Block, op: Op, args: &[Value], [low, high]: [f32; 2]) {
        let (least, most) = (f32::NEG_INFINITY, f32::INFINITY);
        match (op, args) {
            (Op::Neg, &[a]) => self.demand_between(block, a, [-high, -low]),
            (Op::Abs, &[a]) => self.demand_between(block, a, [-high, high]),
            (Op::Min, _) => {
                args.iter().for_each(|&arg| self.demand_between(block, arg, [low, most]))
            }
            (Op::Max, _) => {
                args.iter().for_each(|&arg| self.demand_between(block, arg, [least, high]))
            }
            (Op::Add, &[a, b]) if a != b => {
                let ([c, d], [e, f]) = (self.ends(a), self.ends(b));
                self.demand_between(block, a, difference([low, high], [e, f]));
                self.demand_between(block, b, difference([low, high], [c, d]));
            }
            (Op::Sub, &[a, b]) if a != b => {
                let ([c, d], [e, f]) = (self.ends(a), self.ends(b));
                self.demand_between(block, a, difference([low, high], [-f, -e]));
                self.demand_between(block, b, difference([-high, -low], [-d, -c]));
            }
            (Op::Mul | Op::Div, &[a, b]) if a != b => {
                let (of_a, of_b) = (self.ends(a), self.ends(b));
                self.demand_between(block, a, signed([low, high], of_b));
                self.demand_between(block, b, signed([low, high], of_a));
            }
            _ => {}
        }
    }
}

/// What is left of a sum between two numbers for one term, where the other one is between two
/// numbers.
///
/// Sums near 0 are exact, others may have been rounded to the end from numbers up to the next one.
fn difference([low, high]: [f32; 2], [least, most]: [f32; 2]) -> [f32; 2] {
    let below =
        if low == 0.0 || most == 0.0 { low - most } else { (low.next_down() - most).next_down() };
    let above =
        if high == 0.0 || least == 0.0 { high - least } else { (high.next_up() - least).next_up() };
    let or = |end: f32, other: f32| if end.is_nan() { other } else { end };
    [or(below, f32::NEG_INFINITY), or(above, f32::INFINITY)]
}

/// What one factor, or one part of a quotient, has to be for a result of known sign, where the
/// other one has a known sign.
fn signed(result: [f32; 2], other: [f32; 2]) -> [f32; 2] {
    let is_plus = |[low, _]: [f32; 2]| low >= 0.0;
    let is_minus = |[_, high]: [f32; 2]| high <= 0.0;
    let (plus, minus) = ([0.0, f32::INFINITY], [f32::NEG_INFINITY, 0.0]);
    // Nothing is to be had from 0 alone, which is of both signs.
    if other == [0.0, 0.0] || result == [0.0, 0.0] {
        [f32::NEG_INFINITY, f32::INFINITY]
    } else if is_plus(result) && is_plus(other) || is_minus(result) && is_minus(other) {
        plus
    } else if is_plus(result) && is_minus(other) || is_minus(result) && is_plus(other) {
        minus
    } else {
        [f32::NEG_INFINITY, f32::INFINITY]
    }
}

#[cfg(test)]
mod tests {
    use crate::analysis::{Bounds, Floats, solve};
    use crate::interval::Nan;
    use crate::ir::Type;
    use crate::ir::text::parse;

    /// Ends of the bounds of inputs, which can be anything, after analysis of a function.
    fn inputs(text: &str) -> Vec<[f32; 2]> {
        let function = parse(text).expect("the text is well formed");
        let all: Vec<_> = function.inputs.iter().map(|port| Bounds::all(port.ty)).collect();
        let bounds =
            solve::run(&function, &vec![true; function.len()], &all, Nan::Suppress, None, true);
        let floats = bounds[..all.len()]
            .iter()
            .filter(|bounds| bounds.ty() == Type::F32)
            .map(Bounds::floats);
        floats.map(|floats| [floats.low(), floats.high()]).collect()
    }

    const LEAST: f32 = f32::NEG_INFINITY;
    const MOST: f32 = f32::INFINITY;

    #[test]
    fn the_example_of_the_paper_has_a_factor_that_is_not_negative() {
        let text = "fn f(a: f32, b: f32) -> (r: f32) {
            %c = abs a
            %t = mul %c, b
            %r = sqrt %t
            return %r
        }";
        assert_eq!(inputs(text), [[LEAST, MOST], [0.0, MOST]]);
        let function = parse(text).unwrap();
        let all = [Bounds::Float(Floats::finite()); 2];
        let bounds =
            solve::run(&function, &vec![true; function.len()], &all, Nan::Suppress, None, true);
        let root = bounds[function.body.yields[0].index()];
        assert!(!root.floats().nan);
        assert!(
            solve::run(&function, &vec![true; function.len()], &all, Nan::Suppress, None, false)
                [function.body.yields[0].index()]
            .floats()
            .nan
        );
    }

    #[test]
    fn differences_pass_limits_on() {
        let text = "fn f(x: f32, y: f32) -> (r: f32, s: f32) {
            %0 = sub 1.0, x
            %1 = sqrt %0
            %2 = add y, 3.0
            %3 = acos %2
            return %1, %3
        }";
        let [x, y] = inputs(text)[..] else { panic!("there are two inputs") };
        assert_eq!(x, [LEAST, 1.0]);
        let distance = (y[0] + 4.0).abs().max((y[1] + 2.0).abs());
        assert!(y[0] <= -4.0 && y[1] >= -2.0 && distance < 1e-6, "{y:?}");
    }

    #[test]
    fn uses_that_may_not_run_restrict_nothing() {
        let text = "fn f(x: f32, y: f32) -> (r: f32) {
            %0 = lt 0.0, x
            %1 = if %0 {
                %2 = sqrt x
                yield %2
            } else {
                yield 0.0
            }
            %3 = loop (%4: f32 = y) {
                %5 = lt %4, 8.0
                while %5 else %4
                %6 = log %4
                %7 = add %6, 1.0
                next %7
            }
            %8 = add %1, %3
            return %8
        }";
        assert_eq!(inputs(text), [[LEAST, MOST], [LEAST, MOST]]);
    }

    #[test]
    fn what_the_head_of_a_loop_demands_holds_before_it() {
        let text = "fn f(y: f32) -> (r: f32) {
            %0 = loop (%1: f32 = y) {
                %2 = sqrt %1
                %3 = lt %2, 8.0
                while %3 else %2
                %4 = add %1, 1.0
                next %4
            }
            return %0
        }";
        assert_eq!(inputs(text), [[0.0, MOST]]);
    }
}
