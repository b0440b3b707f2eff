//! Where NaN propagates, naive bounding code tests operands again and again (Clarberg et al. 2010
//! §4.7). A test where a value is made can stand for all of them, if it reports no more: if naive
//! code is certain to report a NaN anyway, sooner or later, when that end of the value is infinite
//! or NaN. Behind such a test the value is finite on that side, for all uses, so that products and
//! quotients of it need no tests either.
//!
//! That is found out backwards. Operations that test their operand as such report it; sums and
//! products hand an infinite end on to their results. A use counts only if it is certain to run
//! wherever the value is made, that is if it stands in the same block. In the same way one test
//! covers others: where an infinite or NaN end makes one of a value that is tested, it needs no
//! test itself.

use super::{Bounds, Ends, Floats};
use crate::ir::{Block, Function, Op, Stmt, Type, Value};

/// What tests for NaN are made where a value is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tests {
    /// Ends that are tested to be finite.
    pub tested: Ends,
    /// Ends that are finite if all tests, of whatever values, hold.
    pub finite: Ends,
}

impl Tests {
    /// What a float is if all tests hold.
    pub fn bounds(&self) -> Bounds {
        let Ends { lo, hi } = self.finite;
        let [low, high] = [
            if lo { f32::MIN } else { f32::NEG_INFINITY },
            if hi { f32::MAX } else { f32::INFINITY },
        ];
        Bounds::Float(Floats { nan: !lo && !hi, ..Floats::between(low, high) })
    }
}

/// For each value, the tests that are made where it is made. `kinds` says which values are
/// intervals, `bounds` what they can be.
pub fn run(function: &Function, kinds: &[bool], bounds: &[Bounds]) -> Vec<Tests> {
    let nothing = || vec![Ends::default(); function.len()];
    let mut walk = Walk {
        function,
        kinds,
        bounds,
        reported: nothing(),
        covered: nothing(),
        here: vec![false; function.len()],
        tests: vec![Tests::default(); function.len()],
    };
    walk.block(&function.body);
    walk.tests
}

struct Walk<'a> {
    function: &'a Function,
    kinds: &'a [bool],
    bounds: &'a [Bounds],
    /// Ends of which naive code is certain to report that they are infinite or NaN.
    reported: Vec<Ends>,
    /// The same of code with these tests alone.
    covered: Vec<Ends>,
    /// Whether a value is made by an operation of the block that the walk is in.
    here: Vec<bool>,
    tests: Vec<Tests>,
}

impl Walk<'_> {
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
        operations().for_each(|value| self.here[value.index()] = true);
        for value in operations().collect::<Vec<_>>().into_iter().rev() {
            if self.kinds[value.index()] {
                self.operation(value);
            }
        }
        operations().for_each(|value| self.here[value.index()] = false);
    }

    fn operation(&mut self, value: Value) {
        let index = value.index();
        if let Bounds::Float(floats) = &self.bounds[index] {
            let infinite =
                Ends { lo: floats.low() == f32::NEG_INFINITY, hi: floats.high() == f32::INFINITY };
            let open = if floats.nan { Ends::BOTH } else { infinite };
            let finite = self.reported[index].and(open);
            let tested = finite.but(self.covered[index]);
            self.tests[index] = Tests { tested, finite };
            self.covered[index] = self.covered[index].or(tested);
        }
        let (op, args) = self.function.operation(value).expect("statements define operations");
        for (k, &arg) in args.iter().enumerate() {
            if self.here[arg.index()]
                && self.kinds[arg.index()]
                && self.function.ty(arg) == Type::F32
            {
                let reported = self.reported_by(op, args, k, self.reported[index]);
                let covered = self.handed_on(op, args, k, self.covered[index]);
                self.reported[arg.index()] = self.reported[arg.index()].or(reported);
                self.covered[arg.index()] = self.covered[arg.index()].or(covered);
            }
        }
    }

    /// What a use of an argument reports of it in naive code, where so much of the result is
    /// reported.
    fn reported_by(&self, op: Op, args: &[Value], k: usize, of_result: Ends) -> Ends {
        match op {
            Op::Max | Op::Min | Op::Abs | Op::Exp | Op::Exp2 | Op::Sinh | Op::Cosh | Op::Tanh => {
                Ends::UPPER
            }
            Op::Sin | Op::Cos | Op::Tan | Op::Fract => Ends::BOTH,
            Op::Mul if args[0] == args[1] => Ends { lo: of_result.hi, hi: true },
            // Products of ends are tested, so that a NaN is reported.
            Op::Mul if !self.has_sign(args[1 - k]) => {
                if of_result == Ends::BOTH && !self.may_be_nan(args[1 - k]) {
                    Ends::BOTH
                } else {
                    Ends::default()
                }
            }
            _ => self.handed_on(op, args, k, of_result),
        }
    }

    /// Ends of an argument that, if infinite or NaN, make some that are given of the result so.
    fn handed_on(&self, op: Op, args: &[Value], k: usize, of_result: Ends) -> Ends {
        match op {
            Op::Add => of_result,
            Op::Sub if k == 0 => of_result,
            Op::Sub | Op::Neg => of_result.swapped(),
            Op::Mul if args[0] == args[1] => Ends { lo: of_result.hi, hi: of_result.hi },
            // All terms of an end come from one end of the argument.
            Op::Mul if self.has_sign(args[1 - k]) && !self.may_be_nan(args[1 - k]) => {
                of_result.swapped_if(self.bounds[args[1 - k].index()].floats().high() <= 0.0)
            }
            // A NaN in the second operand would be passed over.
            Op::Max if k == 0 => Ends { lo: false, hi: of_result.hi },
            Op::Exp | Op::Exp2 => Ends { lo: false, hi: of_result.hi },
            _ => Ends::default(),
        }
    }

    fn may_be_nan(&self, value: Value) -> bool {
        self.bounds[value.index()].floats().nan
    }

    /// Whether a float is never above zero, or never below.
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

    /// Ends that are tested, and ends that are finite if those are.
    fn found(body: &str) -> [Vec<String>; 2] {
        let function = parse(&format!("fn f(a: f32, b: f32, c: bool) -> (r: f32) {{ {body} }}"))
            .expect("it is well formed");
        let inputs = [
            Bounds::Float(Floats::finite()),
            Bounds::Float(Floats::finite()),
            Bounds::all(Type::Bool),
        ];
        let kinds = vec![true; function.len()];
        let bounds = solve::run(&function, &kinds, &inputs, Nan::Propagate, None, false);
        let found = run(&function, &kinds, &bounds);
        let name = |index: usize| crate::ir::text::name(&function, Value(index as u32));
        [|tests: &Tests| tests.tested, |tests: &Tests| tests.finite].map(|said| {
            let mut names = vec![];
            for (index, tests) in found.iter().enumerate() {
                let ends = [(said(tests).lo, "lo"), (said(tests).hi, "hi")];
                names.extend(
                    ends.into_iter()
                        .filter(|(said, _)| *said)
                        .map(|(_, end)| format!("{}.{end}", name(index))),
                );
            }
            names
        })
    }

    fn tests(body: &str) -> Vec<String> {
        let [tested, _] = found(body);
        tested
    }

    #[test]
    fn the_last_of_some_sums_is_tested() {
        let sums = "%0 = mul a, a  %1 = mul a, b  %2 = add %0, %1  %3 = add %2, b";
        assert_eq!(tests(&format!("{sums}  %4 = max %3, 0.0  return %4")), ["%3.hi"]);
        assert_eq!(tests(&format!("{sums}  return %3")), [""; 0]);
    }

    #[test]
    fn factors_of_known_sign_hand_their_ends_on() {
        let text = |factor: &str| {
            format!("%0 = mul a, b  %1 = {factor}  %2 = mul %0, %1  %3 = min %2, 1.0  return %3")
        };
        assert_eq!(tests(&text("abs a")), ["%2.hi"]);
        // Of a sum a product may pass over the infinity.
        assert_eq!(tests(&text("add a, 1.0")), ["%2.hi"]);
    }

    #[test]
    fn what_a_zero_may_hide_is_tested_itself() {
        let text = "%0 = add a, b  %1 = mul %0, a  %2 = mul %1, %1  %3 = max %2, 1.0  return %3";
        assert_eq!(tests(text), ["%0.lo", "%0.hi", "%2.hi"]);
    }

    #[test]
    fn differences_hand_on_the_other_end() {
        let text = "%0 = mul a, b  %1 = sub 1.0, %0  %2 = max %1, 0.0  %3 = mul %0, a  %4 = add %2, %3  return %4";
        assert_eq!(found(text), [vec!["%1.hi"], vec!["%0.lo", "%1.hi"]]);
    }

    #[test]
    fn uses_in_arms_are_not_certain() {
        let text =
            "%0 = mul a, b  %1 = if c { %2 = max %0, 0.0  yield %2 } else { yield a }  return %1";
        assert_eq!(tests(text), [""; 0]);
    }
}
