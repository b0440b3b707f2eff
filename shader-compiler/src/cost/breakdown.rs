//! What the instructions of a function are for (Clarberg et al. 2010, figure 3).
//!
//! Instructions that compute are told from overhead by decoding. Of those that compute, the part of
//! elementary functions is what goes when each use of one is replaced by as few instructions as its
//! arguments can be kept alive with: a division by a constant for each, and an addition for a
//! second argument. This needs no tags through the back end, holds under control flow, and counts
//! what passes shared or folded as they shared or folded it.

use crate::backend::x86::Code;
use crate::ir::function::for_each_stmt;
use crate::ir::rewrite::rewrite;
use crate::ir::{Builder, CostClass, Emit, Function, Op, Rules, Stmt, Value};
use crate::passes;
use crate::target::Target;

/// Machine instructions, by what they are for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Breakdown {
    /// Computing, elementary functions aside.
    pub arithmetic: usize,
    /// Approximations of elementary functions: exponentials, logarithms, powers, trigonometric
    /// functions and their inverses.
    pub elementary: usize,
    /// Movement between registers and memory, constants, tests and jumps, entry and return.
    pub overhead: usize,
}

impl Breakdown {
    /// All instructions.
    pub fn total(&self) -> usize {
        self.arithmetic + self.elementary + self.overhead
    }
}

/// What the machine instructions of a function, as it is before [`passes::lower`], are for.
pub fn breakdown(function: &Function, target: Target) -> Breakdown {
    let code = Code::compile(&passes::lower(function), target);
    let builder = Builder::new(&function.name, Rules::Exact);
    let without = rewrite(function, builder, |builder: &mut Builder, op: Op, args: &[Value]| {
        if is_elementary(op) { stand_in(builder, op, args) } else { builder.op(op, args) }
    });
    let without = passes::lower(&without);
    let computing = code.computing();
    let arithmetic = Code::compile(&without, target)
        .computing()
        .saturating_sub(stand_ins(&without))
        .min(computing);
    Breakdown {
        arithmetic,
        elementary: computing - arithmetic,
        overhead: code.counts().total - computing,
    }
}

/// Whether an operation is approximated.
fn is_elementary(op: Op) -> bool {
    op.facts().cost == CostClass::Elementary
}

/// What a use of an operation is divided by in its stead: no other code has such constants, and no
/// two operations the same.
fn mark(op: Op) -> f32 {
    1.234_567e20 * (1.0 + f32::from(op as u8))
}

fn stand_in(builder: &mut Builder, op: Op, args: &[Value]) -> Value {
    let mark = builder.f32(mark(op));
    let quotient = builder.op(Op::Div, &[args[0], mark]);
    args[1..].iter().fold(quotient, |sum, &arg| builder.op(Op::Add, &[sum, arg]))
}

/// Instructions of all that stands in for operations.
fn stand_ins(function: &Function) -> usize {
    let mut count = 0;
    for_each_stmt(&function.body, &mut |stmt| {
        if let Stmt::Op(value) = stmt
            && let Some((Op::Div, &[_, by])) = function.operation(*value)
            && let Some(op) = Op::ALL
                .iter()
                .find(|&&op| is_elementary(op) && function.constant(by) == Some(mark(op).to_bits()))
        {
            count += op.signature().args.len();
        }
    });
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::text::parse;

    fn of(body: &str) -> Breakdown {
        breakdown(
            &parse(&format!("fn f(x: f32, y: f32) -> (r: f32) {{\n{body}\n}}\n"))
                .expect("it is well formed"),
            Target::Sse,
        )
    }

    #[test]
    fn arithmetic_and_functions_are_told_apart() {
        let plain = of("%a = mul x, y\n%b = add %a, x\nreturn %b");
        // Load, multiply, add, store, return.
        assert_eq!(plain, Breakdown { arithmetic: 2, elementary: 0, overhead: 3 });
        let exp = of("%e = exp x\nreturn %e");
        assert_eq!(exp.arithmetic, 0);
        assert!((10..40).contains(&exp.elementary), "{exp:?}");
        let both = of("%a = mul x, y\n%b = add %a, x\n%e = exp %b\nreturn %e");
        assert_eq!((both.arithmetic, both.elementary), (2, exp.elementary));
        let pow = of("%a = add x, y\n%p = pow %a, y\nreturn %p");
        assert!(pow.arithmetic == 1 && pow.elementary > exp.elementary, "{pow:?}");
    }

    #[test]
    fn branches_keep_their_functions() {
        let text = "%c = lt x, y\n%r = if %c { %e = log x\nyield %e } else { %s = sqrt y\nyield %s }\nreturn %r";
        let branching = of(text);
        let log = of("%e = log x\nreturn %e");
        assert_eq!(branching.elementary, log.elementary);
    }
}
