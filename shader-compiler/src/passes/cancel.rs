//! Cancels cosines, as in (n / z) · max(z, 0), which is n where z > 0, and 0 elsewhere. Models of
//! reflection divide by the cosine of wi, and the integrand multiplies by it. Interval arithmetic
//! treats the two as independent, and its bounds are infinite for boxes that touch the horizon.
//!
//! The factor m is max(z, 0) or |z|. The quotient may be anywhere in a product, and the divisor d
//! that depends on z anywhere in a product, as in f · g / (4 · wi.z · wo.z). It is replaced by m /
//! d:
//!
//! | m | d | m / d |
//! |---|---|---|
//! | max(z, 0) | z, \|z\|, m | 1 where z > 0, else 0 |
//! | \|z\| | m | 1 |
//! | any | max(d', ε) with d' as above | min(m / ε, 1) |
//! | any | min(max(d', ε), c) | max(min(m / ε, 1), m / c) |
//!
//! Here 0 < ε < c are constants. All of these are monotone in z, so interval arithmetic bounds them
//! exactly. A select tests z > 0, unless a condition implies it.
//!
//! Sums are multiplied term by term if a term cancels. Products with results of an `if` move into
//! its arms if one cancels and the other yields 0, as in shaders that return 0 below the horizon.
//!
//! Values change by rounding, and where they are not finite: n / z may overflow, and ∞ · 0 is NaN.

use super::factor::uses;
use crate::builder::rewrite::{Pass, Rewriter, implied_operands, rewrite};
use crate::builder::{Builder, Rules};
use crate::ir::{Def, Emit, Function, If, Op, Value};
use rustc_hash::{FxHashMap, FxHashSet};

/// Maximum number of operations among which a divisor is sought.
const MAX_OPERATIONS: u32 = 64;

/// Runs the pass.
pub fn run(function: &Function) -> Function {
    let is_quotient = |def: &Def| matches!(def, Def::Op { op: Op::Div, .. });
    if !function.values.iter().any(|data| is_quotient(&data.def)) {
        return function.clone();
    }
    let pass = Cancel {
        old: function,
        products: products_with_results(function),
        moved: FxHashSet::default(),
        positive: vec![],
    };
    rewrite(function, Builder::new(&function.name, Rules::Relaxed), pass)
}

/// For each result of an `if` without other uses, the product that uses it, and the cosine.
fn products_with_results(function: &Function) -> FxHashMap<Value, (Value, Cosine)> {
    let uses = uses(function);
    let mut products = FxHashMap::default();
    for (index, data) in function.values.iter().enumerate() {
        let Def::Op { op: Op::Mul, args: [a, b, _] } = data.def else { continue };
        for (result, factor) in [(a, b), (b, a)] {
            let is_result = matches!(function.values[result.index()].def, Def::Result);
            if is_result
                && uses[result.index()] == 1
                && let Some(cosine) = Cosine::find(function, factor)
            {
                products.insert(result, (Value(index as u32), cosine));
            }
        }
    }
    products
}

/// A factor max(z, 0) or |z|.
#[derive(Clone, Copy, Debug)]
struct Cosine {
    value: Value,
    z: Value,
    is_clamped: bool,
}

/// m / d for a factor m and a divisor d.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Ratio {
    /// 1, for z > 0 if m is max(z, 0), which is 0 elsewhere.
    One,
    /// min(m / min, 1), and at least m / max.
    Floored { min: f32, max: Option<f32> },
}

impl Cosine {
    /// The factor that a value is.
    fn find(function: &Function, value: Value) -> Option<Cosine> {
        let (z, is_clamped) = match function.operation(value)? {
            (Op::Abs, &[z]) => (z, false),
            (Op::Max, _) => match limit(function, value, Op::Max)? {
                (z, 0.0) => (z, true),
                _ => return None,
            },
            _ => return None,
        };
        Some(Cosine { value, z, is_clamped })
    }

    /// The same factor of another function, in which z is this value.
    fn emit(self, builder: &mut Builder, z: Value) -> Cosine {
        let value = if self.is_clamped {
            let zero = builder.f32(0.0);
            builder.op(Op::Max, &[z, zero])
        } else {
            builder.op(Op::Abs, &[z])
        };
        Cosine { value, z, ..self }
    }

    /// m / d, if it is known.
    fn ratio(self, function: &Function, d: Value) -> Option<Ratio> {
        if self.is_cosine(function, d) {
            return Some(Ratio::One);
        }
        // max(x, min), min(max(x, min), max) or max(min(x, max), min).
        let ((x, min), max) = match (limit(function, d, Op::Max), limit(function, d, Op::Min)) {
            (Some((x, min)), _) => match limit(function, x, Op::Min) {
                Some((x, max)) => ((x, min), Some(max)),
                None => ((x, min), None),
            },
            (None, Some((x, max))) => (limit(function, x, Op::Max)?, Some(max)),
            (None, None) => return None,
        };
        let in_order = min >= f32::MIN_POSITIVE && max.is_none_or(|max| min < max);
        (in_order && self.is_cosine(function, x)).then_some(Ratio::Floored { min, max })
    }

    /// Whether a value equals the factor where z > 0, or everywhere if the factor is |z|.
    fn is_cosine(self, function: &Function, value: Value) -> bool {
        let is_abs = matches!(function.operation(value), Some((Op::Abs, &[z])) if z == self.z);
        value == self.value || self.is_clamped && (value == self.z || is_abs)
    }

    /// m / d for the factor d of a product that yields a ratio.
    fn ratio_in(self, function: &Function, product: Value, left: &mut u32) -> Option<Ratio> {
        *left = left.checked_sub(1)?;
        self.ratio(function, product).or_else(|| match function.operation(product)? {
            (Op::Mul, args) => {
                args.iter().find_map(|&factor| self.ratio_in(function, factor, left))
            }
            _ => None,
        })
    }

    /// Whether the product of a value and this factor is computed without it.
    fn cancels(self, function: &Function, x: Value, left: &mut u32) -> bool {
        let Some((op, args)) = function.operation(x) else { return false };
        let Some(rest) = left.checked_sub(1) else { return false };
        *left = rest;
        match (op, args) {
            (Op::Div, &[n, d]) => {
                self.ratio_in(function, d, left).is_some() || self.cancels(function, n, left)
            }
            (Op::Mul, args) => args.iter().any(|&arg| self.cancels(function, arg, left)),
            (Op::Add, args) if self.is_clamped => {
                args.iter().any(|&arg| self.cancels(function, arg, left))
            }
            (Op::Neg, &[x]) => self.cancels(function, x, left),
            (Op::Select, &[_, a, b]) => self.cancels_in_arms(function, [a, b], left),
            _ => false,
        }
    }

    /// The same for a value that is one of two values.
    fn cancels_in_arms(self, function: &Function, arms: [Value; 2], left: &mut u32) -> bool {
        let cancels = arms.map(|arm| self.cancels(function, arm, left));
        let fits = |arm: usize| cancels[arm] || is_zero(function, arms[arm]);
        fits(0) && fits(1) && cancels.contains(&true)
    }
}

fn is_zero(function: &Function, value: Value) -> bool {
    function.constant(value).is_some_and(|bits| bits << 1 == 0)
}

/// The operands of a minimum or maximum of a value and a constant.
fn limit(function: &Function, value: Value, expected: Op) -> Option<(Value, f32)> {
    let Some((op, &[a, b])) = function.operation(value) else { return None };
    let constant = |value: Value| function.constant(value).map(f32::from_bits);
    match (constant(a), constant(b)) {
        _ if op != expected => None,
        (None, Some(c)) => Some((a, c)),
        (Some(c), None) => Some((b, c)),
        _ => None,
    }
}

/// The product of the other factors, without one for which the ratio is known; `None` if there is
/// no other factor.
fn without(builder: &mut Builder, product: Value, cosine: Cosine) -> Option<Value> {
    let function = builder.function();
    if cosine.ratio(function, product).is_some() {
        return None;
    }
    let Some((Op::Mul, &[a, b])) = function.operation(product) else {
        unreachable!("a factor has a ratio")
    };
    let [a, b] = if cosine.ratio_in(function, a, &mut { MAX_OPERATIONS }).is_some() {
        [a, b]
    } else {
        [b, a]
    };
    match without(builder, a, cosine) {
        Some(a) => Some(builder.op(Op::Mul, &[a, b])),
        None => Some(b),
    }
}

struct Cancel<'a> {
    old: &'a Function,
    products: FxHashMap<Value, (Value, Cosine)>,
    /// Old products that have moved into arms.
    moved: FxHashSet<Value>,
    /// New values that are positive by the conditions of the arms around.
    positive: Vec<Value>,
}

impl Pass for Cancel<'_> {
    fn op(&mut self, builder: &mut Builder, old: Value, op: Op, args: &[Value]) -> Value {
        if op != Op::Mul {
            return builder.op(op, args);
        }
        if self.moved.contains(&old) {
            let (_, factors) = self.old.operation(old).expect("an operation defines the value");
            return args[usize::from(!self.products.contains_key(&factors[0]))];
        }
        for (x, factor) in [(args[0], args[1]), (args[1], args[0])] {
            if let Some(cosine) = Cosine::find(builder.function(), factor)
                && cosine.cancels(builder.function(), x, &mut { MAX_OPERATIONS })
            {
                return self.product(builder, x, cosine);
            }
        }
        builder.op(op, args)
    }

    fn if_(&mut self, rewriter: &mut Rewriter<'_>, node: &If) {
        // A node may be rebuilt, in the head of a loop that turns out to exit at once.
        for (product, _) in node.results.iter().filter_map(|result| self.products.get(result)) {
            self.moved.remove(product);
        }
        let cond = rewriter.get(node.cond);
        if rewriter.builder.known_bool(cond).is_some() {
            return rewriter.if_(self, node);
        }
        let results = rewriter.live(&node.results);
        let factors: Vec<_> =
            results.iter().map(|&result| self.factor_of(rewriter, node, result)).collect();
        let [then, otherwise] = [true, false].map(|truth| {
            rewriter.builder.open_arm();
            let outer = self.assume(rewriter.builder.function(), cond, truth);
            let mut yields = rewriter.arm(self, node, truth);
            let builder = &mut rewriter.builder;
            for (value, factor) in std::iter::zip(&mut yields, &factors) {
                if let &Some((cosine, z)) = factor {
                    let cosine = cosine.emit(builder, z);
                    *value = self.product(builder, *value, cosine);
                }
            }
            self.positive.truncate(outer);
            rewriter.builder.close_arm(&yields)
        });
        let new = rewriter.builder.push_if(cond, then, otherwise);
        rewriter.set_all(&results, &new);
    }
}

impl Cancel<'_> {
    /// The factor of the product that uses a result, and the new value of its z, if the product
    /// moves into the arms. z has to be in scope there, so it has to be an input.
    fn factor_of(
        &mut self,
        rewriter: &mut Rewriter<'_>,
        node: &If,
        result: Value,
    ) -> Option<(Cosine, Value)> {
        let &(product, cosine) = self.products.get(&result)?;
        let k = node.results.iter().position(|&other| other == result)?;
        let arms = [node.then.yields[k], node.otherwise.yields[k]];
        let moves = matches!(self.old.values[cosine.z.index()].def, Def::Input(_))
            && cosine.cancels_in_arms(self.old, arms, &mut { MAX_OPERATIONS });
        moves.then(|| {
            self.moved.insert(product);
            (cosine, rewriter.get(cosine.z))
        })
    }

    /// Records the values that a condition implies to be positive. Returns how many were known.
    fn assume(&mut self, function: &Function, cond: Value, truth: bool) -> usize {
        let known = self.positive.len();
        let mut work = vec![(cond, truth)];
        while let Some((cond, truth)) = work.pop() {
            work.extend(implied_operands(function, cond, truth));
            let is_at_least = |value: Value, min: f32| {
                function.constant(value).is_some_and(|c| f32::from_bits(c) >= min)
            };
            let tiny = f32::from_bits(1);
            let positive = match function.operation(cond) {
                Some((Op::Lt, &[c, z])) if truth && is_at_least(c, 0.0) => z,
                Some((Op::Le, &[c, z])) if truth && is_at_least(c, tiny) => z,
                Some((Op::Le, &[z, c])) if !truth && is_at_least(c, 0.0) => z,
                Some((Op::Lt, &[z, c])) if !truth && is_at_least(c, tiny) => z,
                _ => continue,
            };
            let mut minima = vec![positive];
            while let Some(value) = minima.pop() {
                self.positive.push(value);
                if let Some((Op::Min, args)) = function.operation(value) {
                    minima.extend(args);
                }
            }
        }
        known
    }

    /// The product of a value and a factor, without the factor where it cancels.
    fn product(&mut self, builder: &mut Builder, x: Value, cosine: Cosine) -> Value {
        let function = builder.function();
        if !cosine.cancels(function, x, &mut { MAX_OPERATIONS }) {
            return builder.op(Op::Mul, &[x, cosine.value]);
        }
        let cancels = |value: Value| cosine.cancels(function, value, &mut { MAX_OPERATIONS });
        match function.operation(x).expect("an operation cancels") {
            (Op::Div, &[n, d]) => {
                let Some(ratio) = cosine.ratio_in(function, d, &mut { MAX_OPERATIONS }) else {
                    let n = self.product(builder, n, cosine);
                    return builder.op(Op::Div, &[n, d]);
                };
                let quotient = match without(builder, d, cosine) {
                    Some(rest) => builder.op(Op::Div, &[n, rest]),
                    None => n,
                };
                self.scaled(builder, quotient, cosine, ratio)
            }
            (Op::Mul, &[a, b]) => {
                let [a, b] = if cancels(a) { [a, b] } else { [b, a] };
                let a = self.product(builder, a, cosine);
                builder.op(Op::Mul, &[a, b])
            }
            (Op::Select, &[cond, a, b]) => {
                let [a, b] = [(a, true), (b, false)].map(|(x, truth)| {
                    let outer = self.assume(builder.function(), cond, truth);
                    let x = self.product(builder, x, cosine);
                    self.positive.truncate(outer);
                    x
                });
                builder.op(Op::Select, &[cond, a, b])
            }
            (op, args) => {
                let mut args = args.to_vec();
                for arg in &mut args {
                    *arg = self.product(builder, *arg, cosine);
                }
                builder.op(op, &args)
            }
        }
    }

    /// The product of a value and a ratio m / d.
    fn scaled(&self, builder: &mut Builder, x: Value, cosine: Cosine, ratio: Ratio) -> Value {
        match ratio {
            Ratio::One if !cosine.is_clamped || self.positive.contains(&cosine.z) => x,
            Ratio::One => {
                let zero = builder.f32(0.0);
                let is_positive = builder.op(Op::Lt, &[zero, cosine.z]);
                builder.op(Op::Select, &[is_positive, x, zero])
            }
            Ratio::Floored { min, max } => {
                let one = builder.f32(1.0);
                let [below, above] = [Some(min), max].map(|limit| {
                    let reciprocal = builder.f32(1.0 / limit?);
                    Some(builder.op(Op::Mul, &[cosine.value, reciprocal]))
                });
                let below = below.expect("there is a minimum");
                let mut share = builder.op(Op::Min, &[below, one]);
                if let Some(above) = above {
                    share = builder.op(Op::Max, &[share, above]);
                }
                builder.op(Op::Mul, &[x, share])
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interpreter;
    use crate::ir::text::parse;
    use crate::random::Random;

    fn function(body: &str) -> Function {
        let text = format!("fn f(z: f32, w: f32, a: f32, b: f32) -> (s: f32) {{ {body} }}");
        parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    /// Checks a result of the pass, and that the values are the same but for rounding.
    #[track_caller]
    fn assert_becomes(before: &str, after: &str) {
        let before = function(before);
        let new = run(&before);
        assert_eq!(new.to_string(), function(after).to_string());
        let mut random = Random::new(5);
        for _ in 0..2000 {
            let inputs = [(); 4].map(|()| (random.below(2001) as f32 - 1000.5) / 1000.0);
            let [old, new] = [&before, &new].map(|function| {
                let words = inputs.map(f32::to_bits);
                f32::from_bits(interpreter::run(function, &[], &words, 1).expect("no loop")[0])
            });
            assert!((old - new).abs() <= 1e-5 * old.abs() + 1e-6, "{inputs:?}: {old} became {new}");
        }
    }

    #[test]
    fn quotients_cancel_in_products() {
        assert_becomes(
            "%0 = div a, z  %1 = mul b, %0  %2 = max z, 0.0  %3 = mul %1, %2  return %3",
            "%0 = lt 0.0, z  %1 = select %0, a, 0.0  %2 = mul b, %1  return %2",
        );
        assert_becomes(
            "%0 = mul z, 4.0  %1 = mul w, %0  %2 = div a, %1  %3 = max z, 0.0  %4 = mul %3, %2
            return %4",
            "%0 = mul w, 4.0  %1 = div a, %0  %2 = lt 0.0, z  %3 = select %2, %1, 0.0  return %3",
        );
        assert_becomes(
            "%0 = abs z  %1 = abs w  %2 = mul %0, %1  %3 = div a, %2  %4 = mul %3, %0  return %4",
            "%0 = abs w  %1 = div a, %0  return %1",
        );
    }

    #[test]
    fn limited_divisors_leave_a_share() {
        assert_becomes(
            "%0 = max z, 0.25  %1 = mul %0, w  %2 = div a, %1  %3 = max z, 0.0  %4 = mul %2, %3
            return %4",
            "%0 = max z, 0.0  %1 = div a, w  %2 = mul %0, 4.0  %3 = min %2, 1.0  %4 = mul %1, %3
            return %4",
        );
        let share = "%0 = max z, 0.0  %1 = mul %0, 4.0  %2 = mul %0, 2.0  %3 = min %1, 1.0
            %4 = max %3, %2  %5 = mul a, %4  return %5";
        for clamp in ["%0 = max z, 0.25  %1 = min %0, 0.5", "%0 = min z, 0.5  %1 = max %0, 0.25"] {
            let before =
                format!("{clamp} %2 = div a, %1  %3 = max z, 0.0  %4 = mul %2, %3 return %4");
            assert_becomes(&before, share);
        }
    }

    #[test]
    fn sums_are_multiplied_term_by_term() {
        assert_becomes(
            "%0 = div a, z  %1 = add b, %0  %2 = max z, 0.0  %3 = mul %1, %2  return %3",
            "%0 = max z, 0.0  %1 = mul b, %0  %2 = lt 0.0, z  %3 = select %2, a, 0.0
            %4 = add %1, %3  return %4",
        );
        let unchanged = "%0 = div a, z  %1 = add b, %0  %2 = abs z  %3 = mul %1, %2  return %3";
        assert_becomes(unchanged, unchanged);
    }

    #[test]
    fn products_move_into_arms_where_z_is_positive() {
        let work = |first: &str, out: &str| {
            format!("{first} %2 = sin b %3 = sin %2 %4 = sin %3 %5 = sin %4 %6 = mul a, %5 {out}")
        };
        let before = work(
            "%0 = min z, w  %1 = le %0, 0.0  %9 = if %1 { yield 0.0 } else {",
            "%7 = div %6, z  yield %7 }  %10 = max z, 0.0  %11 = mul %9, %10  return %11",
        );
        let after = work(
            "%0 = min z, w  %1 = le %0, 0.0  %9 = if %1 { yield 0.0 } else {",
            "yield %6 }  return %9",
        );
        assert_becomes(&before, &after);
    }

    /// The head is built for any %p, where the product moves into the arms, and again for %p = 1,
    /// where the condition is known.
    #[test]
    fn products_in_heads_of_loops_that_exit_at_once_cancel() {
        assert_becomes(
            "%9 = loop (%p: f32 = 1.0) {
                %1 = le %p, 0.0  %2 = if %1 { yield 0.0 } else { %3 = div a, z  yield %3 }
                %4 = max z, 0.0  %5 = mul %2, %4  %6 = slt 5, 3
                while %6 else %5
                next %p
            }
            return %9",
            "%0 = lt 0.0, z  %1 = select %0, a, 0.0  return %1",
        );
    }

    #[test]
    fn other_divisors_are_kept() {
        for body in [
            "%0 = div a, w  %1 = max z, 0.0  %2 = mul %0, %1  return %2",
            "%0 = div z, a  %1 = max z, 0.0  %2 = mul %0, %1  return %2",
            "%0 = max z, -0.5  %1 = div a, %0  %2 = max z, 0.0  %3 = mul %1, %2  return %3",
            "%0 = abs z  %1 = div a, z  %2 = mul %0, %1  return %2",
        ] {
            assert_becomes(body, body);
        }
    }
}
