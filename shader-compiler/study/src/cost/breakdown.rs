//! Machine instructions of a function by purpose (Clarberg et al. 2010, figure 3).
//!
//! Opcodes distinguish arithmetic from overhead. To find the share of elementary functions, each
//! use of one is replaced by a placeholder, the fewest instructions that keep its arguments alive:
//! a division by a unique constant, and an addition for a second argument. The share is the
//! difference in arithmetic instructions. This needs no tags in the back end, works with control
//! flow, and attributes shared or folded code correctly.

use lightbound_shader::backend::x86::Code;
use lightbound_shader::builder::rewrite::rewrite;
use lightbound_shader::builder::{Builder, Rules};
use lightbound_shader::ir::function::for_each_stmt;
use lightbound_shader::ir::{CostClass, Emit, Function, Op, Stmt, Value};
use lightbound_shader::passes;
use lightbound_shader::target::Target;

/// Machine instructions by purpose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Breakdown {
    /// Arithmetic, except elementary functions.
    pub arithmetic: usize,
    /// Approximations of elementary functions: exponentials, logarithms, powers, trigonometric
    /// functions and their inverses.
    pub elementary: usize,
    /// Moves between registers and memory, constants, tests and jumps, entry and return.
    pub overhead: usize,
}

impl Breakdown {
    /// Returns the total number of instructions.
    pub fn total(&self) -> usize {
        self.arithmetic + self.elementary + self.overhead
    }
}

/// Counts the machine instructions of a function by purpose. Lowers the function.
///
/// # Panics
///
/// Panics if the target is the interpreter.
pub fn breakdown(function: &Function, target: Target) -> Breakdown {
    let isa = target.isa().expect("the target is x86-64");
    let code = Code::compile(&passes::lower(function), isa);
    let builder = Builder::new(&function.name, Rules::Exact);
    let without = rewrite(function, builder, |builder: &mut Builder, op: Op, args: &[Value]| {
        if is_elementary(op) { placeholder(builder, op, args) } else { builder.op(op, args) }
    });
    let without = passes::lower(&without);
    let computational = code.compute_instructions();
    let arithmetic = Code::compile(&without, isa)
        .compute_instructions()
        .saturating_sub(placeholder_instructions(&without))
        .min(computational);
    Breakdown {
        arithmetic,
        elementary: computational - arithmetic,
        overhead: code.counts().total - computational,
    }
}

/// Whether an operation is lowered to an approximation.
fn is_elementary(op: Op) -> bool {
    op.facts().cost == CostClass::Elementary
}

/// Returns the divisor in an operation's placeholder: a constant that occurs in no other code.
fn placeholder_divisor(op: Op) -> f32 {
    1.234_567e20 * (1.0 + f32::from(op as u8))
}

/// Builds the placeholder of an operation.
fn placeholder(builder: &mut Builder, op: Op, args: &[Value]) -> Value {
    let divisor = builder.f32(placeholder_divisor(op));
    let quotient = builder.op(Op::Div, &[args[0], divisor]);
    args[1..].iter().fold(quotient, |sum, &arg| builder.op(Op::Add, &[sum, arg]))
}

/// Returns the number of instructions of all placeholders.
fn placeholder_instructions(function: &Function) -> usize {
    let mut count = 0;
    for_each_stmt(&function.body, &mut |stmt| {
        if let Stmt::Op(value) = stmt
            && let Some((Op::Div, &[_, divisor])) = function.operation(*value)
            && let Some(op) = Op::ALL.iter().find(|&&op| {
                is_elementary(op)
                    && function.constant(divisor) == Some(placeholder_divisor(op).to_bits())
            })
        {
            count += op.signature().args.len();
        }
    });
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use lightbound_shader::ir::text::parse;

    fn breakdown_of(body: &str) -> Breakdown {
        breakdown(
            &parse(&format!("fn f(x: f32, y: f32) -> (r: f32) {{\n{body}\n}}\n"))
                .expect("the text is well formed"),
            Target::Sse,
        )
    }

    #[test]
    fn arithmetic_and_elementary_functions_are_distinguished() {
        let plain = breakdown_of("%a = mul x, y\n%b = add %a, x\nreturn %b");
        // Load, multiply, add, store, return.
        assert_eq!(plain, Breakdown { arithmetic: 2, elementary: 0, overhead: 3 });
        let exp = breakdown_of("%e = exp x\nreturn %e");
        assert_eq!(exp.arithmetic, 0);
        assert!((10..40).contains(&exp.elementary), "{exp:?}");
        let both = breakdown_of("%a = mul x, y\n%b = add %a, x\n%e = exp %b\nreturn %e");
        assert_eq!((both.arithmetic, both.elementary), (2, exp.elementary));
        let pow = breakdown_of("%a = add x, y\n%p = pow %a, y\nreturn %p");
        assert!(pow.arithmetic == 1 && pow.elementary > exp.elementary, "{pow:?}");
    }

    #[test]
    fn elementary_functions_in_branches_are_counted() {
        let text = "%c = lt x, y\n%r = if %c { %e = log x\nyield %e } else { %s = sqrt y\nyield %s }\nreturn %r";
        let branching = breakdown_of(text);
        let log = breakdown_of("%e = log x\nreturn %e");
        assert_eq!(branching.elementary, log.elementary);
    }
}
