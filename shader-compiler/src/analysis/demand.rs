//! Which ends of a value are needed, by which operations: those of one-sided bounding shaders are
//! fewer (Clarberg et al. 2010 §4.8).
//!
//! Dead code goes in any case. Where NaN propagates, there is more to it: a product or quotient of
//! known sign that may be NaN, as 0 · ∞ is, has +∞ or NaN for its upper end where that is the end
//! away from zero. So if no more than that end is needed, it tells of the NaN by itself, and the
//! operation need not test for it.

use super::{Bounds, Ends, Floats};
use crate::ir::function::for_each_stmt;
use crate::ir::{Block, Function, Op, Stmt, Value};
use crate::lift::Sides;

/// For each value, the ends that may be needed if the outputs are bounded on sides each and
/// `bounds` select cases; as if any value might be NaN and be tested.
pub fn run(function: &Function, bounds: &[Bounds], sides: &[Sides]) -> Vec<Ends> {
    let mut walk = Walk { function, bounds, demands: vec![Ends::default(); function.len()] };
    for (&output, sides) in std::iter::zip(&function.body.yields, sides) {
        walk.add(
            output,
            match sides {
                Sides::Upper => Ends::UPPER,
                Sides::Lower => Ends::LOWER,
                Sides::Both => Ends::BOTH,
            },
        );
    }
    // What loops carry is needed on both sides, wherever it comes from.
    for_each_stmt(&function.body, &mut |stmt| {
        if let Stmt::Loop(node) = stmt {
            let values =
                [&node.init, &node.params, &node.head.yields, &node.body.yields, &node.results];
            values.into_iter().flatten().for_each(|&value| walk.add(value, Ends::BOTH));
            walk.add(node.cond, Ends::BOTH);
        }
    });
    walk.block(&function.body);
    walk.demands
}

/// Values whose operation need not test for NaN, because the only end of its result that is needed
/// tells.
pub fn telling(function: &Function, bounds: &[Bounds], demands: &[Ends]) -> Vec<bool> {
    let tells = |index: usize| {
        let Some((op @ (Op::Mul | Op::Div), &[a, b])) = function.operation(Value(index as u32))
        else {
            return false;
        };
        let [a, b] = [a, b].map(|value| &bounds[value.index()]);
        match signs(op, a, b) {
            Some([a, b]) => demands[index] == Ends::UPPER.swapped_if(a != b),
            None => false,
        }
    };
    (0..function.len()).map(tells).collect()
}

/// Whether a float is never above zero, or never below; `None` where its sign is not known.
fn is_negative(bounds: &Bounds) -> Option<bool> {
    match bounds {
        Bounds::Float(Floats { pieces, .. }) => match pieces.hull()? {
            [low, _] if low >= 0.0 => Some(false),
            [_, high] if high <= 0.0 => Some(true),
            _ => None,
        },
        _ => None,
    }
}

/// The same of the operands of a product or a quotient; `None` where that has more than one term
/// for an end. In a divisor, zeros count as what their reciprocal is.
fn signs(op: Op, a: &Bounds, b: &Bounds) -> Option<[bool; 2]> {
    let signs = [is_negative(a)?, is_negative(b)?];
    let floats = b.floats();
    let odd_zero = if signs[1] { floats.positive_zero } else { floats.negative_zero };
    (op == Op::Mul || !odd_zero).then_some(signs)
}

struct Walk<'a> {
    function: &'a Function,
    bounds: &'a [Bounds],
    demands: Vec<Ends>,
}

impl Walk<'_> {
    fn add(&mut self, value: Value, demand: Ends) {
        let known = &mut self.demands[value.index()];
        *known = known.or(demand);
    }

    /// Backwards, so that all uses of a value come before it.
    fn block(&mut self, block: &Block) {
        for stmt in block.stmts.iter().rev() {
            match stmt {
                Stmt::Op(value) => self.operation(*value),
                Stmt::If(node) => {
                    for (k, &result) in node.results.iter().enumerate() {
                        // Arms that may be NaN are tested by their upper ends.
                        let demand = self.demands[result.index()].or(Ends::UPPER);
                        [&node.then, &node.otherwise]
                            .into_iter()
                            .for_each(|arm| self.add(arm.yields[k], demand));
                    }
                    self.add(node.cond, Ends::BOTH);
                    self.block(&node.then);
                    self.block(&node.otherwise);
                }
                Stmt::Loop(node) => {
                    self.block(&node.body);
                    self.block(&node.head);
                }
            }
        }
    }

    fn operation(&mut self, value: Value) {
        let (op, args) = self.function.operation(value).expect("statements define operations");
        let of_result = self.demands[value.index()];
        let factor = |k: usize| is_negative(&self.bounds[args[k].index()]);
        let demands = match op {
            Op::Add => [of_result; 3],
            Op::Sub => [of_result, of_result.swapped(), Ends::BOTH],
            Op::Neg => [of_result.swapped(); 3],
            // Operands are tested by their upper ends.
            Op::Max | Op::Min | Op::Exp | Op::Exp2 => [of_result.or(Ends::UPPER); 3],
            Op::Sqrt => [of_result.or(Ends::LOWER); 3],
            Op::Mul if args[0] == args[1] => match factor(0) {
                Some(negative) => [of_result.swapped_if(negative).or(Ends::UPPER); 3],
                None => [Ends::BOTH; 3],
            },
            Op::Mul | Op::Div => {
                match signs(op, &self.bounds[args[0].index()], &self.bounds[args[1].index()]) {
                    Some([a, b]) => [
                        of_result.swapped_if(b),
                        of_result.swapped_if(a != (op == Op::Div)),
                        Ends::BOTH,
                    ],
                    None => [Ends::BOTH; 3],
                }
            }
            _ => [Ends::BOTH; 3],
        };
        let args = args.to_vec();
        std::iter::zip(args, demands).for_each(|(arg, demand)| self.add(arg, demand));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::text::parse;

    fn of(body: &str, sides: Sides) -> (Vec<String>, Vec<String>) {
        let function = parse(&format!("fn f(a: f32, b: f32, c: f32) -> (r: f32) {{ {body} }}"))
            .expect("it is well formed");
        // a ≥ 0, b ≥ 1, c ≤ 0.
        let ranges = [[0.0, f32::INFINITY], [1.0, f32::INFINITY], [f32::NEG_INFINITY, 0.0]];
        let inputs = ranges.map(|[low, high]| Bounds::Float(Floats::between(low, high)));
        let kinds = vec![true; function.len()];
        let bounds = super::super::solve::run(
            &function,
            &kinds,
            &inputs,
            crate::interval::Nan::Ignore,
            None,
            false,
        );
        let demands = run(&function, &bounds, &[sides]);
        let tells = telling(&function, &bounds, &demands);
        let name = |index: usize| crate::ir::text::name(&function, Value(index as u32));
        let upper = (0..function.len()).filter(|&k| demands[k] == Ends::UPPER).map(name).collect();
        (upper, (0..function.len()).filter(|&k| tells[k]).map(name).collect())
    }

    fn are(found: &[String], expected: &[&str]) {
        assert_eq!(found, expected);
    }

    #[test]
    fn one_end_asks_for_one_end() {
        let (upper, tells) = of("%0 = mul a, b  %1 = add %0, a  return %1", Sides::Upper);
        are(&upper, &["a", "b", "%0", "%1"]);
        are(&tells, &["%0"]);
        are(&of("%0 = mul a, b  %1 = add %0, a  return %1", Sides::Lower).1, &[]);
        are(&of("%0 = mul a, b  %1 = add %0, a  return %1", Sides::Both).1, &[]);
    }

    #[test]
    fn signs_turn_ends_round() {
        let (upper, tells) = of("%0 = mul a, c  %1 = neg %0  return %1", Sides::Upper);
        are(&upper, &["a", "%1"]);
        are(&tells, &["%0"]);
        let (upper, tells) = of("%0 = div a, b  %1 = sub c, %0  return %1", Sides::Lower);
        are(&upper, &["a", "%0"]);
        are(&tells, &["%0"]);
    }

    #[test]
    fn what_is_tested_elsewhere_is_needed_there() {
        let (_, tells) =
            of("%0 = mul a, b  %1 = mul a, c  %2 = max %0, %1  return %2", Sides::Upper);
        are(&tells, &["%0"]);
    }
}
