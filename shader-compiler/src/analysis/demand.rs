//! Demanded endpoints: the endpoints of each value that some use needs. One-sided bounding shaders
//! demand fewer (Clarberg et al. 2010 §4.8).
//!
//! Dead code elimination removes the others anyway. This analysis matters if NaN propagates: a
//! product or quotient of known sign that may be NaN, such as 0 · ∞, has +∞ or NaN as its upper
//! endpoint, if that is the endpoint away from zero. If only that endpoint is demanded, it reveals
//! the NaN by itself, and the operation need not test for it.

use super::Endpoints;
use crate::interval::{Bounds, Floats};
use crate::ir::function::for_each_stmt;
use crate::ir::{Block, Function, Op, Stmt, Value};

/// Computes the demanded endpoints of each value, if the endpoints `outputs` of every output are
/// demanded. Static `bounds` determine the cases of lowerings. Assumes that any value might be NaN
/// and be tested.
pub fn run(function: &Function, bounds: &[Bounds], outputs: Endpoints) -> Vec<Endpoints> {
    let mut walk =
        DemandWalk { function, bounds, demands: vec![Endpoints::default(); function.len()] };
    function.body.yields.iter().for_each(|&output| walk.add(output, outputs));
    // Both endpoints of loop-carried values are demanded.
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

/// Finds operations that need not test for NaN, because the only demanded endpoint of their result
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

/// Returns whether a float is nonpositive rather than nonnegative; `None` if its sign is unknown.
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

/// Returns whether each operand of a product or quotient is negative; `None` if an endpoint of the
/// result is the minimum or maximum of several terms. A zero divisor has the sign of its
/// reciprocal.
fn signs(op: Op, a: &Bounds, b: &Bounds) -> Option<[bool; 2]> {
    let signs = [is_negative(a)?, is_negative(b)?];
    let floats = b.floats();
    let opposite_zero = if signs[1] { floats.positive_zero } else { floats.negative_zero };
    (op == Op::Mul || !opposite_zero).then_some(signs)
}

struct DemandWalk<'a> {
    function: &'a Function,
    bounds: &'a [Bounds],
    demands: Vec<Endpoints>,
}

impl DemandWalk<'_> {
    fn add(&mut self, value: Value, demand: Endpoints) {
        let demanded = &mut self.demands[value.index()];
        *demanded = demanded.union(demand);
    }

    /// Walks backwards, so that all uses of a value are visited before it.
    fn block(&mut self, block: &Block) {
        for stmt in block.stmts.iter().rev() {
            match stmt {
                Stmt::Op(value) => self.operation(*value),
                Stmt::If(node) => {
                    for (k, &result) in node.results.iter().enumerate() {
                        // Arms that may be NaN are tested on their upper endpoints.
                        let demand = self.demands[result.index()].union(Endpoints::UPPER);
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
        let result_demand = self.demands[value.index()];
        let demands = match op {
            Op::Add => [result_demand; 3],
            Op::Sub => [result_demand, result_demand.swapped(), Endpoints::BOTH],
            Op::Neg => [result_demand.swapped(); 3],
            // Operands are tested on their upper endpoints.
            Op::Max | Op::Min | Op::Exp | Op::Exp2 => [result_demand.union(Endpoints::UPPER); 3],
            Op::Sqrt => [result_demand.union(Endpoints::LOWER); 3],
            Op::Mul if args[0] == args[1] => match is_negative(&self.bounds[args[0].index()]) {
                Some(negative) => [result_demand.swapped_if(negative).union(Endpoints::UPPER); 3],
                None => [Endpoints::BOTH; 3],
            },
            Op::Mul | Op::Div => {
                match signs(op, &self.bounds[args[0].index()], &self.bounds[args[1].index()]) {
                    Some([a, b]) => {
                        // Divisors are tested on their endpoints that are closer to 0.
                        let tested = match op {
                            Op::Div => Endpoints::LOWER.swapped_if(b),
                            _ => Endpoints::default(),
                        };
                        [
                            result_demand.swapped_if(b),
                            result_demand.swapped_if(a != (op == Op::Div)).union(tested),
                            Endpoints::BOTH,
                        ]
                    }
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

    fn analyze(body: &str, outputs: Endpoints) -> (Vec<String>, Vec<String>) {
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
            super::super::solve::Facts::default(),
        );
        let demands = run(&function, &bounds, outputs);
        let reveals = reveals_nan(&function, &bounds, &demands);
        let name = |index: usize| crate::ir::text::name(&function, Value(index as u32));
        let upper =
            (0..function.len()).filter(|&k| demands[k] == Endpoints::UPPER).map(name).collect();
        (upper, (0..function.len()).filter(|&k| reveals[k]).map(name).collect())
    }

    fn assert_names(names: &[String], expected: &[&str]) {
        assert_eq!(names, expected);
    }

    #[test]
    fn one_sided_outputs_demand_one_endpoint_of_factors_of_known_sign() {
        let (upper, revealing) =
            analyze("%0 = mul a, b  %1 = add %0, a  return %1", Endpoints::UPPER);
        assert_names(&upper, &["a", "b", "%0", "%1"]);
        assert_names(&revealing, &["%0"]);
        assert_names(&analyze("%0 = mul a, b  %1 = add %0, a  return %1", Endpoints::LOWER).1, &[]);
        assert_names(&analyze("%0 = mul a, b  %1 = add %0, a  return %1", Endpoints::BOTH).1, &[]);
    }

    #[test]
    fn negative_factors_swap_demanded_endpoints() {
        let (upper, revealing) = analyze("%0 = mul a, c  %1 = neg %0  return %1", Endpoints::UPPER);
        assert_names(&upper, &["a", "%1"]);
        assert_names(&revealing, &["%0"]);
        let (upper, revealing) =
            analyze("%0 = div a, b  %1 = sub c, %0  return %1", Endpoints::LOWER);
        assert_names(&upper, &["a", "%0"]);
        assert_names(&revealing, &["%0"]);
    }

    #[test]
    fn divisors_demand_the_endpoint_that_is_tested() {
        // An infinite endpoint of a divisor leaves the quotient finite.
        for text in [
            "%0 = mul a, b  %1 = add %0, b  %2 = div a, %1  return %2",
            "%0 = mul c, b  %1 = sub %0, b  %2 = div a, %1  return %2",
        ] {
            for outputs in [Endpoints::LOWER, Endpoints::UPPER] {
                let (_, revealing) = analyze(text, outputs);
                assert!(!revealing.contains(&"%0".to_owned()), "{text}: {revealing:?}");
            }
        }
    }

    #[test]
    fn operands_of_maxima_demand_their_upper_endpoint() {
        let (_, revealing) =
            analyze("%0 = mul a, b  %1 = mul a, c  %2 = max %0, %1  return %2", Endpoints::UPPER);
        assert_names(&revealing, &["%0"]);
    }
}
