//! Where the sign of a zero matters: whether other results than zeros depend on it.
//!
//! 1 ÷ x, atan2 and the bits of a float depend on it; comparisons, |x| and cos x do not; sums,
//! products, minima and square roots may pass it on.

use crate::interval::Bounds;
use crate::ir::function::for_each_stmt;
use crate::ir::{Block, Function, Op, Stmt, Type, Value};

/// Computes for each value whether the sign matters if it is zero. `is_signed` states for each
/// output whether it matters there. Only the numbers in `bounds` are used, not the signs of zeros,
/// which may change.
pub fn run(function: &Function, bounds: &[Bounds], is_signed: &[bool]) -> Vec<bool> {
    let mut walk = Walk { function, bounds, matters: vec![false; function.len()] };
    for (&output, &is_signed) in std::iter::zip(&function.body.yields, is_signed) {
        walk.mark(output, is_signed);
    }
    // It always matters in values that loops carry.
    for_each_stmt(&function.body, &mut |stmt| {
        if let Stmt::Loop(node) = stmt {
            let values =
                [&node.init, &node.params, &node.head.yields, &node.body.yields, &node.results];
            values.into_iter().flatten().for_each(|&value| walk.matters[value.index()] = true);
        }
    });
    walk.block(&function.body);
    walk.matters
}

struct Walk<'a> {
    function: &'a Function,
    bounds: &'a [Bounds],
    matters: Vec<bool>,
}

impl Walk<'_> {
    /// Walks backwards, so that all uses of a value are visited before it.
    fn block(&mut self, block: &Block) {
        for stmt in block.stmts.iter().rev() {
            match stmt {
                Stmt::Op(value) => self.operation(*value),
                Stmt::If(node) => {
                    for (k, &result) in node.results.iter().enumerate() {
                        for arm in [&node.then, &node.otherwise] {
                            self.mark(arm.yields[k], self.matters[result.index()]);
                        }
                    }
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

    fn mark(&mut self, value: Value, matters: bool) {
        self.matters[value.index()] |= matters && self.may_be_zero(value);
    }

    fn may_be_zero(&self, value: Value) -> bool {
        match &self.bounds[value.index()] {
            Bounds::Float(floats) => floats.pieces.contains(0.0),
            Bounds::Int(_) | Bounds::Bool(_) => false,
        }
    }

    fn operation(&mut self, value: Value) {
        let (op, args) = self.function.operation(value).expect("statements define operations");
        let passes = self.matters[value.index()];
        match (op, args) {
            // A sum with a number that is not zero does not depend on the sign of a zero.
            (Op::Add | Op::Sub, &[a, b]) => {
                self.mark(a, passes && self.may_be_zero(b));
                self.mark(b, passes && self.may_be_zero(a));
            }
            (Op::Mul | Op::Min | Op::Max, &[a, b]) => {
                self.mark(a, passes);
                self.mark(b, passes);
            }
            (Op::Div, &[a, b]) => {
                self.mark(a, passes);
                self.mark(b, true);
            }
            (Op::Select, &[_, a, b]) => {
                self.mark(a, passes);
                self.mark(b, passes);
            }
            (Op::Lt | Op::Le | Op::Eq, _) => {}
            (op, &[a]) if self.function.ty(a) == Type::F32 => {
                self.mark(
                    a,
                    match effect(op, self.function.ty(value)) {
                        Effect::None => false,
                        Effect::SignOfZero => passes,
                        Effect::Other => true,
                    },
                );
            }
            (_, args) => args.iter().for_each(|&arg| self.mark(arg, true)),
        }
    }
}

/// How the result of an operation with one operand depends on the sign of a zero.
enum Effect {
    /// Not at all.
    None,
    /// The result is a zero, whose sign depends on it.
    SignOfZero,
    /// Another way.
    Other,
}

fn effect(op: Op, ty: Type) -> Effect {
    let [positive, negative] = [0.0_f32, -0.0].map(|zero| op.eval(&[zero.to_bits()]));
    let is_zero = |bits: u32| ty == Type::F32 && f32::from_bits(bits) == 0.0;
    if positive == negative {
        Effect::None
    } else if is_zero(positive) && is_zero(negative) {
        Effect::SignOfZero
    } else {
        Effect::Other
    }
}
