//! Demanded endpoints: which endpoints of a value are needed, by which operations. One-sided
//! bounding shaders demand fewer (Clarberg et al. 2010 §4.8).
//!
//! Dead code elimination removes the others anyway. This analysis matters if NaN propagates: a
//! product or quotient of known sign that may be NaN, such as 0 · ∞, has +∞ or NaN as its upper
//! endpoint, if that is the endpoint away from zero. If only that endpoint is demanded, it reveals
//! the NaN by itself, and the operation need not test for it.

use super::Endpoints;
use crate::interval::{Bounds, Floats};
use crate::ir::function::for_each_stmt;
use crate::ir::{Block, Function, Op, Stmt, Value};

/// For each value, the demanded endpoints if `outputs` of all outputs are demanded and `bounds`
/// select cases. Assumes that any value might be NaN and be tested.
pub fn run(function: &Function, bounds: &[Bounds], outputs: Endpoints) -> Vec<Endpoints> {
    let mut walk = Walk { function, bounds, demands: vec![Endpoints::default(); function.len()] };
    function.body.yields.iter().for_each(|&output| walk.add(output, outputs));
    // Values carried by loops are demanded on both sides.
    for_each_stmt(&function.body, &mut |stmt| {
        if let Stmt::Loop(node) = stmt {
            let values =
                [&node.init, &node.params, &node.head.yields, &node.body.yields, &node.results];
            values.into_iter().flatten().for_each(|&value| walk.add(value, Endpoints::BOTH));
            walk.add(node.cond, Endpoints::BOTH);
        }
    });
    walk.block(&function.body);
    walk.demands
}

/// Values whose operation need not test for NaN, because the only demanded endpoint of its result
/// reveals it.
pub fn reveals_nan(function: &Function, bounds: &[Bounds], demands: &[Endpoints]) -> Vec<bool> {
    let reveals = |index: usize| {
        let Some((op @ (Op::Mul | Op::Div), &[a, b])) = function.operation(Value(index as u32))
        else {
            return false;
        };
        let [a, b] = [a, b].map(|value| &bounds[value.index()]);
        match signs(op, a, b) {
            Some([a, b]) => demands[index] == Endpoints::UPPER.swapped_if(a != b),
            None => false,
        }
    };
    (0..function.len()).map(reveals).collect()
}

/// Whether a float is nonpositive, or nonnegative; `None` if its sign is unknown.
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

/// The signs of the operands of a product or a quotient; `None` if an endpoint has more than one
/// term. In a divisor, a zero has the sign of its reciprocal.
fn signs(op: Op, a: &Bounds, b: &Bounds) -> Option<[bool; 2]> {
    let signs = [is_negative(a)?, is_negative(b)?];
    let floats = b.floats();
    let odd_zero = if signs[1] { floats.positive_zero } else { floats.negative_zero };
    (op == Op::Mul || !odd_zero).then_some(signs)
}

struct Walk<'a> {
    function: &'a Function,
    bounds: &'a [Bounds],
    demands: Vec<Endpoints>,
}

impl Walk<'_> {
    fn add(&mut self, value: Value, demand: Endpoints) {
        let demanded = &mut self.demands[value.index()];
        *demanded = demanded.or(demand);
    }

    /// Walks backwards, so that all uses of a value are visited before it.
    fn block(&mut self, block: &Block) {
        for stmt in block.stmts.iter().rev() {
            match stmt {
                Stmt::Op(value) => self.operation(*value),
                Stmt::If(node) => {
                    for (k, &result) in node.results.iter().enumerate() {
                        // Arms that may be NaN are tested on their upper endpoints.
                        let demand = self.demands[result.index()].or(Endpoints::UPPER);
                        [&node.then, &node.otherwise]
                            .into_iter()
                            .for_each(|arm| self.add(arm.yields[k], demand));
                    }
                    self.add(node.cond, Endpoints::BOTH);
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
            Op::Sub => [of_result, of_result.swapped(), Endpoints::BOTH],
            Op::Neg => [of_result.swapped(); 3],
            // Operands are tested on their upper endpoints.
            Op::Max | Op::Min | Op::Exp | Op::Exp2 => [of_result.or(Endpoints::UPPER); 3],
            Op::Sqrt => [of_result.or(Endpoints::LOWER); 3],
            Op::Mul if args[0] == args[1] => match factor(0) {
                Some(negative) => [of_result.swapped_if(negative).or(Endpoints::UPPER); 3],
                None => [Endpoints::BOTH; 3],
            },
            Op::Mul | Op::Div => {
                match signs(op, &self.bounds[args[0].index()], &self.bounds[args[1].index()]) {
                    Some([a, b]) => [
                        of_result.swapped_if(b),
                        of_result.swapped_if(a != (op == Op::Div)),
                        Endpoints::BOTH,
                    ],
                    None => [Endpoints::BOTH; 3],
                }
            }
            _ => [Endpoints::BOTH; 3],
        };
        let args = args.to_vec();
        std::iter::zip(args, demands).for_each(|(arg, demand)| self.add(arg, demand));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::text::parse;

    fn of(body: &str, outputs: Endpoints) -> (Vec<String>, Vec<String>) {
        let function = parse(&format!("fn f(a: f32, b: f32, c: f32) -> (r: f32) {{ {body} }}"))
            .expect("it is well formed");
        // a ≥ 0, b ≥ 1, c ≤ 0.
        let ranges = [[0.0, f32::INFINITY], [1.0, f32::INFINITY], [f32::NEG_INFINITY, 0.0]];
        let inputs = ranges.map(|[low, high]| Bounds::Float(Floats::between(low, high)));
        let is_interval = vec![true; function.len()];
        let bounds = super::super::solve::run(
            &function,
            &is_interval,
            &inputs,
            crate::interval::Nan::Ignore,
            None,
        );
        let demands = run(&function, &bounds, outputs);
        let reveals = reveals_nan(&function, &bounds, &demands);
        let name = |index: usize| crate::ir::text::name(&function, Value(index as u32));
        let upper =
            (0..function.len()).filter(|&k| demands[k] == Endpoints::UPPER).map(name).collect();
        (upper, (0..function.len()).filter(|&k| reveals[k]).map(name).collect())
    }

    fn are(found: &[String], expected: &[&str]) {
        assert_eq!(found, expected);
    }

    #[test]
    fn one_endpoint_demands_one_endpoint() {
        let (upper, tells) = of("%0 = mul a, b  %1 = add %0, a  return %1", Endpoints::UPPER);
        are(&upper, &["a", "b", "%0", "%1"]);
        are(&tells, &["%0"]);
        are(&of("%0 = mul a, b  %1 = add %0, a  return %1", Endpoints::LOWER).1, &[]);
        are(&of("%0 = mul a, b  %1 = add %0, a  return %1", Endpoints::BOTH).1, &[]);
    }

    #[test]
    fn negative_factors_swap_demanded_endpoints() {
        let (upper, tells) = of("%0 = mul a, c  %1 = neg %0  return %1", Endpoints::UPPER);
        are(&upper, &["a", "%1"]);
        are(&tells, &["%0"]);
        let (upper, tells) = of("%0 = div a, b  %1 = sub c, %0  return %1", Endpoints::LOWER);
        are(&upper, &["a", "%0"]);
        are(&tells, &["%0"]);
    }

    #[test]
    fn endpoints_tested_elsewhere_are_demanded() {
        let (_, tells) =
            of("%0 = mul a, b  %1 = mul a, c  %2 = max %0, %1  return %2", Endpoints::UPPER);
        are(&tells, &["%0"]);
    }
}
