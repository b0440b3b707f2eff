//! Placement of NaN tests. If NaN propagates, naive bounding code tests operands of many operations
//! (Clarberg et al. 2010 §4.7). A single test where a value is defined can replace them all, if it
//! reports a NaN for no additional boxes. So a test of an endpoint requires that naive code always
//! reports a NaN eventually when this endpoint is infinite or NaN. After the test, the endpoint is
//! finite for all uses, so that products and quotients of it need no tests either.
//!
//! This is a backward analysis. Operations that test an operand report it; sums and products
//! propagate an infinite endpoint to their results. A use counts only if it is certain to run
//! whenever the value is defined, that is, if it is in the same block. Likewise, one test covers
//! others: an endpoint needs no test of its own if, whenever it is infinite or NaN, so is an
//! endpoint that is tested.

use super::Endpoints;
use crate::interval::{Bounds, Floats};
use crate::ir::{Block, Function, Op, Stmt, Type, Value};

/// The NaN tests emitted where a value is defined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NanTests {
    /// Endpoints that are tested to be finite.
    pub tested: Endpoints,
    /// Endpoints that are finite if the tests of all values pass.
    pub finite: Endpoints,
}

impl NanTests {
    /// Bounds on the float if all tests pass.
    pub fn bounds(&self) -> Bounds {
        let Endpoints { lo, hi } = self.finite;
        let [low, high] = [
            if lo { f32::MIN } else { f32::NEG_INFINITY },
            if hi { f32::MAX } else { f32::INFINITY },
        ];
        Bounds::Float(Floats { nan: !lo && !hi, ..Floats::between(low, high) })
    }
}

/// Determines, for each value, the tests to emit where it is defined. `is_interval` marks the
/// values that are intervals; `bounds` are static bounds.
pub fn run(function: &Function, is_interval: &[bool], bounds: &[Bounds]) -> Vec<NanTests> {
    let none = || vec![Endpoints::default(); function.len()];
    let mut walk = TestWalk {
        function,
        is_interval,
        bounds,
        reported: none(),
        covered: none(),
        in_block: vec![false; function.len()],
        tests: vec![NanTests::default(); function.len()],
    };
    walk.block(&function.body);
    walk.tests
}

struct TestWalk<'a> {
    function: &'a Function,
    is_interval: &'a [bool],
    bounds: &'a [Bounds],
    /// Endpoints that naive code is certain to report if they are infinite or NaN.
    reported: Vec<Endpoints>,
    /// The same for code that has only the tests found so far.
    covered: Vec<Endpoints>,
    /// Whether a value is defined by an operation of the current block.
    in_block: Vec<bool>,
    tests: Vec<NanTests>,
}

impl TestWalk<'_> {
    fn block(&mut self, block: &Block) {
        for stmt in &block.stmts {
            match stmt {
                Stmt::Op(_) => {}
                Stmt::If(node) => {
                    [&node.then, &node.otherwise].into_iter().for_each(|block| self.block(block))
                }
                Stmt::Loop(node) => {
                    [&node.head, &node.body].into_iter().for_each(|block| self.block(block))
                }
            }
        }
        let operations = || {
            block
                .stmts
                .iter()
                .filter_map(|stmt| if let Stmt::Op(value) = stmt { Some(*value) } else { None })
        };
        operations().for_each(|value| self.in_block[value.index()] = true);
        for value in operations().collect::<Vec<_>>().into_iter().rev() {
            if self.is_interval[value.index()] {
                self.operation(value);
            }
        }
        operations().for_each(|value| self.in_block[value.index()] = false);
    }

    fn operation(&mut self, value: Value) {
        let index = value.index();
        if let Bounds::Float(floats) = &self.bounds[index] {
            let infinite = Endpoints {
                lo: floats.low() == f32::NEG_INFINITY,
                hi: floats.high() == f32::INFINITY,
            };
            let unbounded = if floats.nan { Endpoints::BOTH } else { infinite };
            let finite = self.reported[index].intersection(unbounded);
            let tested = finite.difference(self.covered[index]);
            self.tests[index] = NanTests { tested, finite };
            self.covered[index] = self.covered[index].union(tested);
        }
        let (op, args) = self.function.operation(value).expect("statements define operations");
        for (k, &arg) in args.iter().enumerate() {
            if self.in_block[arg.index()]
                && self.is_interval[arg.index()]
                && self.function.ty(arg) == Type::F32
            {
                let reported = self.reported_by(op, args, k, self.reported[index]);
                let covered = self.propagated(op, args, k, self.covered[index]);
                self.reported[arg.index()] = self.reported[arg.index()].union(reported);
                self.covered[arg.index()] = self.covered[arg.index()].union(covered);
            }
        }
    }

    /// Endpoints of argument `k` that an operation reports in naive code, if the endpoints
    /// `result_sides` of its result are reported.
    fn reported_by(&self, op: Op, args: &[Value], k: usize, result_sides: Endpoints) -> Endpoints {
        match op {
            Op::Max | Op::Min | Op::Abs | Op::Exp | Op::Exp2 | Op::Sinh | Op::Cosh | Op::Tanh => {
                Endpoints::UPPER
            }
            Op::Sin | Op::Cos | Op::Tan | Op::Fract => Endpoints::BOTH,
            Op::Mul if args[0] == args[1] => Endpoints { lo: result_sides.hi, hi: true },
            // Products of endpoints are tested and report a NaN.
            Op::Mul if !self.has_sign(args[1 - k]) => {
                if result_sides == Endpoints::BOTH && !self.may_be_nan(args[1 - k]) {
                    Endpoints::BOTH
                } else {
                    Endpoints::default()
                }
            }
            _ => self.propagated(op, args, k, result_sides),
        }
    }

    /// Endpoints of argument `k` that, if infinite or NaN, make one of the endpoints `result_sides`
    /// of the result infinite or NaN.
    fn propagated(&self, op: Op, args: &[Value], k: usize, result_sides: Endpoints) -> Endpoints {
        match op {
            Op::Add => result_sides,
            Op::Sub if k == 0 => result_sides,
            Op::Sub | Op::Neg => result_sides.swapped(),
            // A lower endpoint that is NaN would be ignored.
            Op::Mul if args[0] == args[1] => Endpoints {
                lo: result_sides.hi && self.tests_products(args[0]),
                hi: result_sides.hi,
            },
            // Each endpoint of the product is computed from a single endpoint of this argument.
            Op::Mul if self.has_sign(args[1 - k]) && !self.may_be_nan(args[1 - k]) => {
                result_sides.swapped_if(self.bounds[args[1 - k].index()].floats().high() <= 0.0)
            }
            // A NaN in the second operand would be ignored.
            Op::Max if k == 0 => Endpoints { lo: false, hi: result_sides.hi },
            Op::Exp | Op::Exp2 => Endpoints { lo: false, hi: result_sides.hi },
            _ => Endpoints::default(),
        }
    }

    /// Whether the value is a product with factors of unknown sign. All products of its endpoints are
    /// tested for NaN.
    fn tests_products(&self, value: Value) -> bool {
        match self.function.operation(value) {
            Some((Op::Mul, &[a, b])) => a != b && !self.has_sign(a) && !self.has_sign(b),
            _ => false,
        }
    }

    fn may_be_nan(&self, value: Value) -> bool {
        self.bounds[value.index()].floats().nan
    }

    /// Whether a float has a known sign.
    fn has_sign(&self, value: Value) -> bool {
        let floats = self.bounds[value.index()].floats();
        floats.low() >= 0.0 || floats.high() <= 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::solve;
    use crate::interval::Nan;
    use crate::ir::text::parse;

    /// Endpoints that are tested, and endpoints that are finite if the tests pass.
    fn tested_and_finite(body: &str) -> [Vec<String>; 2] {
        let function = parse(&format!("fn f(a: f32, b: f32, c: bool) -> (r: f32) {{ {body} }}"))
            .expect("it is well formed");
        let inputs = [
            Bounds::Float(Floats::finite()),
            Bounds::Float(Floats::finite()),
            Bounds::all(Type::Bool),
        ];
        let is_interval = vec![true; function.len()];
        let bounds =
            solve::run(&function, &is_interval, &inputs, Nan::Propagate, solve::Facts::default());
        let values = run(&function, &is_interval, &bounds);
        let name = |index: usize| crate::ir::text::name(&function, Value(index as u32));
        [|tests: &NanTests| tests.tested, |tests: &NanTests| tests.finite].map(|select| {
            let mut names = vec![];
            for (index, tests) in values.iter().enumerate() {
                let endpoints = [(select(tests).lo, "lo"), (select(tests).hi, "hi")];
                names.extend(
                    endpoints
                        .into_iter()
                        .filter(|(selected, _)| *selected)
                        .map(|(_, end)| format!("{}.{end}", name(index))),
                );
            }
            names
        })
    }

    fn tests(body: &str) -> Vec<String> {
        let [tested, _] = tested_and_finite(body);
        tested
    }

    #[test]
    fn only_the_last_sum_of_a_chain_is_tested() {
        let sums = "%0 = mul a, a  %1 = mul a, b  %2 = add %0, %1  %3 = add %2, b";
        assert_eq!(tests(&format!("{sums}  %4 = max %3, 0.0  return %4")), ["%3.hi"]);
        assert_eq!(tests(&format!("{sums}  return %3")), [""; 0]);
    }

    #[test]
    fn factors_of_known_sign_propagate_their_endpoints() {
        let text = |factor: &str| {
            format!("%0 = mul a, b  %1 = {factor}  %2 = mul %0, %1  %3 = min %2, 1.0  return %3")
        };
        assert_eq!(tests(&text("abs a")), ["%2.hi"]);
        // An endpoint of the product may be finite although one of the sum is infinite.
        assert_eq!(tests(&text("add a, 1.0")), ["%2.hi"]);
    }

    #[test]
    fn factors_are_tested_if_the_other_factor_may_be_zero() {
        let text = "%0 = add a, b  %1 = mul %0, a  %2 = mul %1, %1  %3 = max %2, 1.0  return %3";
        assert_eq!(tests(text), ["%0.lo", "%0.hi", "%2.hi"]);
    }

    #[test]
    fn squares_hide_a_lower_endpoint_that_is_nan() {
        // For b = 0, a b may be [NaN, 1].
        let text = "%0 = add a, a  %1 = abs b  %2 = mul %0, %1  %3 = mul %2, %2  %4 = max %3, 1.0
            return %4";
        assert_eq!(tests(text), ["%2.lo", "%3.hi"]);
    }

    #[test]
    fn differences_propagate_the_opposite_endpoint() {
        let text = "%0 = mul a, b  %1 = sub 1.0, %0  %2 = max %1, 0.0  %3 = mul %0, a  %4 = add %2, %3  return %4";
        assert_eq!(tested_and_finite(text), [vec!["%1.hi"], vec!["%0.lo", "%1.hi"]]);
    }

    #[test]
    fn uses_in_arms_place_no_tests_outside() {
        let text =
            "%0 = mul a, b  %1 = if c { %2 = max %0, 0.0  yield %2 } else { yield a }  return %1";
        assert_eq!(tests(text), [""; 0]);
    }
}
