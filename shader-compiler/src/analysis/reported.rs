//! Where NaN propagates, naive bounding code tests operands again and again (Clarberg et al. 2010 §4.7). A test where a value is made
//! can stand for all of them, if it reports no more: if code is certain to report a NaN anyway, sooner or later, when the upper
//! end of that value is +∞ or NaN. Behind such a test the value is a number below ∞, for all uses.
//!
//! That is found out backwards. Operations that test their operand as such report it; sums and products hand an infinite end
//! on to their results. A use counts only if it is certain to run wherever the value is made, that is if it stands in the same block.

use super::{Bounds, Floats};
use crate::ir::{Block, Function, Op, Stmt, Type, Value};

/// Ends of a value of which an infinite or NaN one is certain to be reported.
#[derive(Clone, Copy, Debug, Default)]
struct Reported {
    lo: bool,
    hi: bool,
}

impl Reported {
    fn add(&mut self, other: Reported) {
        self.lo |= other.lo;
        self.hi |= other.hi;
    }

    fn swapped(self) -> Reported {
        Reported { lo: self.hi, hi: self.lo }
    }
}

/// For each value, whether to test where it is made that its upper end is a number below ∞. Such tests are worth it where the value
/// might be something else, and is used by more than sums, which hand it on.
///
/// `kinds` says which values are intervals, `bounds` what they can be.
pub fn run(function: &Function, kinds: &[bool], bounds: &[Bounds]) -> Vec<bool> {
    let mut walk = Walk {
        function,
        kinds,
        bounds,
        reported: vec![Reported::default(); function.len()],
        matters: vec![false; function.len()],
        here: vec![false; function.len()],
    };
    walk.block(&function.body);
    let may_be_more = |value: usize| match &bounds[value] {
        Bounds::Float(floats) => kinds[value] && (floats.nan || floats.high() == f32::INFINITY),
        _ => false,
    };
    (0..function.len()).map(|value| walk.reported[value].hi && walk.matters[value] && may_be_more(value)).collect()
}

/// What is known of a value that was tested.
pub fn tested() -> Bounds {
    Bounds::Float(Floats::between(f32::NEG_INFINITY, f32::MAX))
}

struct Walk<'a> {
    function: &'a Function,
    kinds: &'a [bool],
    bounds: &'a [Bounds],
    reported: Vec<Reported>,
    /// Whether a value is used by more than sums.
    matters: Vec<bool>,
    /// Whether a value is made by an operation of the block that the walk is in.
    here: Vec<bool>,
}

impl Walk<'_> {
    fn block(&mut self, block: &Block) {
        for stmt in &block.stmts {
            match stmt {
                Stmt::Op(_) => {}
                Stmt::If(node) => [&node.then, &node.otherwise].into_iter().for_each(|block| self.block(block)),
                Stmt::Loop(node) => [&node.head, &node.body].into_iter().for_each(|block| self.block(block)),
            }
        }
        let operations = || block.stmts.iter().filter_map(|stmt| if let Stmt::Op(value) = stmt { Some(*value) } else { None });
        operations().for_each(|value| self.here[value.index()] = true);
        for value in operations().collect::<Vec<_>>().into_iter().rev() {
            if self.kinds[value.index()] {
                self.operation(value);
            }
        }
        operations().for_each(|value| self.here[value.index()] = false);
    }

    fn operation(&mut self, value: Value) {
        let (op, args) = self.function.operation(value).expect("statements define operations");
        let of_result = self.reported[value.index()];
        for (k, &arg) in args.iter().enumerate() {
            let index = arg.index();
            self.matters[index] |= !matches!(op, Op::Add | Op::Sub | Op::Neg);
            if self.here[index] && self.kinds[index] && self.function.ty(arg) == Type::F32 {
                let reported = self.by_use(op, args, k, of_result);
                self.reported[index].add(reported);
            }
        }
    }

    /// What a use of an argument reports of it, where so much of the result is.
    fn by_use(&self, op: Op, args: &[Value], k: usize, of_result: Reported) -> Reported {
        let number = Reported { lo: false, hi: true };
        match op {
            Op::Max | Op::Min | Op::Abs | Op::Exp | Op::Exp2 | Op::Sinh | Op::Cosh | Op::Tanh => number,
            Op::Sin | Op::Cos | Op::Tan | Op::Fract => Reported { lo: true, hi: true },
            Op::Mul if args[0] == args[1] => Reported { lo: of_result.hi, hi: true },
            Op::Mul => self.by_factor(args[1 - k], of_result),
            Op::Add => of_result,
            Op::Sub if k == 0 => of_result,
            Op::Sub | Op::Neg => of_result.swapped(),
            _ => Reported::default(),
        }
    }

    /// What a product reports of one factor: an infinite end of it is one of the product, or a NaN, which is reported.
    fn by_factor(&self, other: Value, of_result: Reported) -> Reported {
        let Bounds::Float(other) = &self.bounds[other.index()] else { return Reported::default() };
        match () {
            () if other.nan => Reported::default(),
            () if other.low() >= 0.0 => of_result,
            () if other.high() <= 0.0 => of_result.swapped(),
            () => {
                let both = of_result.lo && of_result.hi;
                Reported { lo: both, hi: both }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::solve;
    use crate::interval::Nan;
    use crate::ir::text::parse;

    fn tests(body: &str) -> Vec<String> {
        let function = parse(&format!("fn f(a: f32, b: f32, c: bool) -> (r: f32) {{ {body} }}")).expect("it is well formed");
        let inputs = [Bounds::Float(Floats::finite()), Bounds::Float(Floats::finite()), Bounds::all(Type::Bool)];
        let bounds = solve::run(&function, &vec![true; function.len()], &inputs, Nan::Propagate, None, false);
        let tested = run(&function, &vec![true; function.len()], &bounds);
        let named = (0..function.len() as u32).map(Value).filter(|v| tested[v.index()]);
        named.map(|v| crate::ir::text::name(&function, v)).collect()
    }

    #[test]
    fn the_last_of_some_sums_is_tested() {
        let sums = "%0 = mul a, a  %1 = mul a, b  %2 = add %0, %1  %3 = add %2, b";
        assert_eq!(tests(&format!("{sums}  %4 = max %3, 0.0  return %4")), ["%3"]);
        assert_eq!(tests(&format!("{sums}  return %3")), [""; 0]);
    }

    #[test]
    fn factors_of_known_sign_hand_their_ends_on() {
        let text = |factor: &str| format!("%0 = mul a, b  %1 = {factor}  %2 = mul %0, %1  %3 = min %2, 1.0  return %3");
        assert_eq!(tests(&text("abs a")), ["%0", "%2"]);
        assert_eq!(tests(&text("add a, 1.0")), ["%2"]);
    }

    #[test]
    fn differences_hand_on_the_other_end() {
        let text = "%0 = mul a, b  %1 = sub 1.0, %0  %2 = max %1, 0.0  %3 = mul %0, a  %4 = add %2, %3  return %4";
        assert_eq!(tests(text), ["%1"]);
    }

    #[test]
    fn uses_in_arms_are_not_certain() {
        let text = "%0 = mul a, b  %1 = if c { %2 = max %0, 0.0  yield %2 } else { yield a }  return %1";
        assert_eq!(tests(text), [""; 0]);
    }
}
