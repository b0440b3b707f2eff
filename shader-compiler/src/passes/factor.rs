//! Common factors of sums of products: a·c + b·c → (a + b)·c, where each of the two is a sum of at
//! least two products, as dot products are: a sum of two that share a vector becomes one of the
//! summed vectors. That takes fewer products in the point shader, and in the bounding shader, where
//! a product of intervals is dear, far fewer; and bounds get tighter, since x·z + y·z ⊇ (x + y)·z
//! for intervals.
//!
//! Sums that are used elsewhere as well stay, since they would be computed twice.

use crate::ir::function::for_each_stmt;
use crate::ir::rewrite::{Pass, rewrite};
use crate::ir::{Builder, Emit, Function, Op, Rules, Stmt, Value};

/// Products that a sum must have.
const TERMS: usize = 2;

/// Takes common factors out of sums. Values may change by rounding.
pub fn run(function: &Function) -> Function {
    let uses = uses(function);
    rewrite(function, Builder::new(&function.name, Rules::Relaxed), Factor { old: function, uses })
}

/// How often each value is used.
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
        let (_, sums) = self.old.operation(old).expect("it is an operation");
        if matches!(op, Op::Add | Op::Sub)
            && sums.iter().all(|&sum| self.terms(sum).is_some_and(|terms| terms >= TERMS))
        {
            let (x, y) = (args[0], args[1]);
            if is_alike(builder.function(), x, y) {
                return join(builder, op, x, y);
            }
        }
        builder.op(op, args)
    }
}

impl Factor<'_> {
    /// Number of products in a sum of which all parts have one use.
    fn terms(&self, value: Value) -> Option<usize> {
        match self.old.operation(value)? {
            _ if self.uses[value.index()] != 1 => None,
            (Op::Mul, _) => Some(1),
            (Op::Add, &[x, y]) => Some(self.terms(x)? + self.terms(y)?),
            _ => None,
        }
    }
}

/// Arguments of an operation.
fn arguments(function: &Function, value: Value, wanted: Op) -> Option<[Value; 2]> {
    match function.operation(value) {
        Some((op, &[x, y])) if op == wanted => Some([x, y]),
        _ => None,
    }
}

/// The common factor of two products, and the other factors.
fn common(function: &Function, x: Value, y: Value) -> Option<(Value, [Value; 2])> {
    let ([a, b], [c, d]) = (arguments(function, x, Op::Mul)?, arguments(function, y, Op::Mul)?);
    match () {
        () if a == c => Some((a, [b, d])),
        () if a == d => Some((a, [b, c])),
        () if b == c => Some((b, [a, d])),
        () if b == d => Some((b, [a, c])),
        () => None,
    }
}

/// Whether two sums of products have factors in common, one by one.
fn is_alike(function: &Function, x: Value, y: Value) -> bool {
    match (arguments(function, x, Op::Add), arguments(function, y, Op::Add)) {
        (Some([a, b]), Some([c, d])) => {
            (is_alike(function, a, c) && is_alike(function, b, d))
                || (is_alike(function, a, d) && is_alike(function, b, c))
        }
        (None, None) => common(function, x, y).is_some(),
        _ => false,
    }
}

/// The sum, or the difference, of two sums that are alike.
fn join(builder: &mut Builder, op: Op, x: Value, y: Value) -> Value {
    if let (Some([a, b]), Some([c, d])) =
        (arguments(builder.function(), x, Op::Add), arguments(builder.function(), y, Op::Add))
    {
        let straight = is_alike(builder.function(), a, c) && is_alike(builder.function(), b, d);
        let [c, d] = if straight { [c, d] } else { [d, c] };
        let [first, second] = [join(builder, op, a, c), join(builder, op, b, d)];
        return builder.op(Op::Add, &[first, second]);
    }
    let (factor, others) = common(builder.function(), x, y).expect("the products are alike");
    let sum = builder.op(op, &others);
    builder.op(Op::Mul, &[sum, factor])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::text::parse;

    fn becomes(before: &str, after: &str) {
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
    fn dot_products_that_share_a_vector_become_one() {
        becomes(
            &format!("{DOTS}  %6 = add %2, %5  return %6, a"),
            "%0 = add a, c  %1 = mul x, %0  %2 = add b, d  %3 = mul y, %2  %4 = add %1, %3  return %4, a",
        );
        becomes(
            &format!("{DOTS}  %6 = sub %2, %5  return %6, a"),
            "%0 = sub a, c  %1 = mul x, %0  %2 = sub b, d  %3 = mul y, %2  %4 = add %1, %3  return %4, a",
        );
    }

    #[test]
    fn sums_that_are_used_elsewhere_stay() {
        let text = format!("{DOTS}  %6 = add %2, %5  return %6, %2");
        becomes(&text, &text.replace("mul x, c", "mul c, x").replace("add %4, %3", "add %3, %4"));
    }

    #[test]
    fn single_products_stay() {
        let text = "%0 = mul a, x  %1 = mul b, x  %2 = add %0, %1  return %2, c";
        becomes(text, text);
    }
}
