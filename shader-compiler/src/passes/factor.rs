//! Factors sums of products: a·c + b·c → (a + b)·c, where each operand of the addition is a sum of
//! at least two products, such as a dot product. The sum of two dot products with a common vector
//! becomes the dot product of that vector and a sum of vectors. This saves products in the point
//! shader, and many more in the bounding shader, where products of intervals are expensive. It also
//! tightens bounds, since x·z + y·z ⊇ (x + y)·z for intervals.
//!
//! Sums with other uses are kept, since otherwise they would be computed twice.

use crate::builder::rewrite::{Pass, rewrite};
use crate::builder::{Builder, Rules};
use crate::ir::function::for_each_stmt;
use crate::ir::{Emit, Function, Op, Stmt, Value};

/// Minimum number of products in a sum.
const MIN_PRODUCTS: usize = 2;

/// Runs the pass. Values may change by rounding.
pub fn run(function: &Function) -> Function {
    run_with(function, Builder::new(&function.name, Rules::Relaxed))
}

/// Like [`run`], with a builder for the new function.
pub(crate) fn run_with(function: &Function, builder: Builder) -> Function {
    let uses = uses(function);
    rewrite(function, builder, Factor { old: function, uses })
}

/// Number of uses of each value.
pub(crate) fn uses(function: &Function) -> Vec<u32> {
    let mut uses = vec![0; function.len()];
    let mut count = |values: &[Value]| values.iter().for_each(|value| uses[value.index()] += 1);
    count(&function.body.yields);
    for_each_stmt(&function.body, &mut |stmt| match stmt {
        Stmt::Op(value) => {
            count(function.operation(*value).expect("statements define operations").1)
        }
        Stmt::If(i) => {
            [&[i.cond], &i.then.yields[..], &i.otherwise.yields].into_iter().for_each(&mut count)
        }
        Stmt::Loop(l) => {
            [&l.init, &l.head.yields, &l.body.yields, &vec![l.cond]]
                .into_iter()
                .for_each(|values| count(values));
        }
    });
    uses
}

struct Factor<'a> {
    old: &'a Function,
    uses: Vec<u32>,
}

impl Pass for Factor<'_> {
    fn op(&mut self, builder: &mut Builder, old: Value, op: Op, args: &[Value]) -> Value {
        let (_, sums) = self.old.operation(old).expect("an operation defines the value");
        if matches!(op, Op::Add | Op::Sub)
            && sums.iter().all(|&sum| self.terms(sum).is_some_and(|terms| terms >= MIN_PRODUCTS))
        {
            let (x, y) = (args[0], args[1]);
            if share_factors(builder.function(), x, y) {
                return factor_out(builder, op, x, y);
            }
        }
        builder.op(op, args)
    }
}

impl Factor<'_> {
    /// Number of products in a sum, if the sum and all its terms have a single use.
    fn terms(&self, value: Value) -> Option<usize> {
        match self.old.operation(value)? {
            _ if self.uses[value.index()] != 1 => None,
            (Op::Mul, _) => Some(1),
            (Op::Add, &[x, y]) => Some(self.terms(x)? + self.terms(y)?),
            _ => None,
        }
    }
}

/// Operands of a value, if it is defined by the operation `expected`.
fn operands_of(function: &Function, value: Value, expected: Op) -> Option<[Value; 2]> {
    match function.operation(value) {
        Some((op, &[x, y])) if op == expected => Some([x, y]),
        _ => None,
    }
}

/// The common factor of two products, and the other factors.
fn common_factor(function: &Function, x: Value, y: Value) -> Option<(Value, [Value; 2])> {
    let ([a, b], [c, d]) = (operands_of(function, x, Op::Mul)?, operands_of(function, y, Op::Mul)?);
    match () {
        () if a == c => Some((a, [b, d])),
        () if a == d => Some((a, [b, c])),
        () if b == c => Some((b, [a, d])),
        () if b == d => Some((b, [a, c])),
        () => None,
    }
}

/// Whether the products of two sums can be paired such that each pair shares a factor.
fn share_factors(function: &Function, x: Value, y: Value) -> bool {
    match (operands_of(function, x, Op::Add), operands_of(function, y, Op::Add)) {
        (Some([a, b]), Some([c, d])) => {
            (share_factors(function, a, c) && share_factors(function, b, d))
                || (share_factors(function, a, d) && share_factors(function, b, c))
        }
        (None, None) => common_factor(function, x, y).is_some(),
        _ => false,
    }
}

/// Emits the sum or difference of two sums for which [`share_factors`] holds.
fn factor_out(builder: &mut Builder, op: Op, x: Value, y: Value) -> Value {
    if let (Some([a, b]), Some([c, d])) =
        (operands_of(builder.function(), x, Op::Add), operands_of(builder.function(), y, Op::Add))
    {
        let in_order =
            share_factors(builder.function(), a, c) && share_factors(builder.function(), b, d);
        let [c, d] = if in_order { [c, d] } else { [d, c] };
        let [first, second] = [factor_out(builder, op, a, c), factor_out(builder, op, b, d)];
        return builder.op(Op::Add, &[first, second]);
    }
    let (factor, others) =
        common_factor(builder.function(), x, y).expect("the products share a factor");
    let sum = builder.op(op, &others);
    builder.op(Op::Mul, &[sum, factor])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::text::parse;

    fn assert_becomes(before: &str, after: &str) {
        let parsed = |text: &str| parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let text = |body: &str| {
            format!(
                "fn f(a: f32, b: f32, c: f32, d: f32, x: f32, y: f32) -> (s: f32, t: f32) {{ {body} }}"
            )
        };
        assert_eq!(run(&parsed(&text(before))).to_string(), parsed(&text(after)).to_string());
    }

    const DOTS: &str = "%0 = mul a, x  %1 = mul b, y  %2 = add %0, %1  %3 = mul x, c  %4 = mul d, y  %5 = add %4, %3";

    #[test]
    fn dot_products_with_a_common_vector_become_one() {
        assert_becomes(
            &format!("{DOTS}  %6 = add %2, %5  return %6, a"),
            "%0 = add a, c  %1 = mul x, %0  %2 = add b, d  %3 = mul y, %2  %4 = add %1, %3  return %4, a",
        );
        assert_becomes(
            &format!("{DOTS}  %6 = sub %2, %5  return %6, a"),
            "%0 = sub a, c  %1 = mul x, %0  %2 = sub b, d  %3 = mul y, %2  %4 = add %1, %3  return %4, a",
        );
    }

    #[test]
    fn sums_with_other_uses_are_kept() {
        let text = format!("{DOTS}  %6 = add %2, %5  return %6, %2");
        assert_becomes(
            &text,
            &text.replace("mul x, c", "mul c, x").replace("add %4, %3", "add %3, %4"),
        );
    }

    #[test]
    fn single_products_are_kept() {
        let text = "%0 = mul a, x  %1 = mul b, x  %2 = add %0, %1  return %2, c";
        assert_becomes(text, text);
    }
}
