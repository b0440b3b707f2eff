//! Odd powers by products of one value, such as x · (x²)²: an interval form takes x and x² for
//! independent where the sign of x is not known, and tries all corners.
//!
//! In floats, just as for reals, such a product is non-decreasing in x: a product of numbers that
//! are not negative rounds monotonically in each of them, so |xⁿ| is non-decreasing in |x|,
//! whatever the order of products; and xⁿ has the sign of x, rounding being symmetric. So its ends
//! are the powers of the ends, exactly: they are results for members of the interval, which any
//! bounds contain, and replace those of the form. Even powers need nothing: a square is known as
//! such, and not negative.

use super::{Alternative, Point, Related};
use crate::analysis::Bounds;
use crate::ir::function::for_each_stmt;
use crate::ir::{Emit, Function, Op, Stmt, Type, Value};

/// An odd power.
#[derive(Clone, Debug)]
pub struct Power {
    base: Value,
    /// The products that make it, in order: each of two powers, by their position, of which the
    /// base is the first.
    products: Vec<[usize; 2]>,
}

/// Finds odd powers of values of unknown sign.
pub(super) fn find(point: &Point<'_>, related: &mut Related) {
    let powers = powers(point.function);
    for_each_stmt(&point.function.body, &mut |stmt| {
        let Stmt::Op(value) = stmt else { return };
        let Some((base, degree)) = powers[value.index()].filter(|_| point.kinds[value.index()])
        else {
            return;
        };
        let Bounds::Float(floats) = &point.bounds[base.index()] else { return };
        if degree % 2 == 1 && floats.low() < 0.0 && floats.high() > 0.0 {
            let mut found = Power { base, products: vec![] };
            found.position(point.function, &mut vec![base], *value);
            related.add(point, *value, Alternative::Power(found), Bounds::all(Type::F32));
        }
    });
}

/// For each product, the value that it is a power of, and which one.
fn powers(function: &Function) -> Vec<Option<(Value, u32)>> {
    let mut powers = vec![None; function.len()];
    for_each_stmt(&function.body, &mut |stmt| {
        let Stmt::Op(value) = stmt else { return };
        let Some((Op::Mul, &[a, b])) = function.operation(*value) else { return };
        let [(a, m), (b, n)] = [a, b].map(|factor| powers[factor.index()].unwrap_or((factor, 1)));
        powers[value.index()] = (a == b && m + n < 64).then_some((a, m + n));
    });
    powers
}

impl Power {
    /// The position of a power among those that are made so far.
    fn position(&mut self, function: &Function, made: &mut Vec<Value>, value: Value) -> usize {
        if let Some(position) = made.iter().position(|&other| other == value) {
            return position;
        }
        let (_, factors) = function.operation(value).expect("it is a product");
        let product = [factors[0], factors[1]].map(|factor| self.position(function, made, factor));
        self.products.push(product);
        made.push(value);
        made.len() - 1
    }

    /// The value whose ends it needs.
    pub(super) fn sources(&self) -> Vec<Value> {
        vec![self.base]
    }

    /// The powers of the ends.
    pub(super) fn ends<E: Emit>(
        &self,
        emit: &mut E,
        of: impl Fn(Value) -> [E::Value; 2],
    ) -> [E::Value; 2] {
        of(self.base).map(|end| {
            let mut powers = vec![end];
            for product in &self.products {
                let power = emit.op(Op::Mul, &product.map(|position| powers[position]));
                powers.push(power);
            }
            powers[powers.len() - 1]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::op::Words;
    use crate::ir::random::Random;
    use crate::ir::text::parse;

    #[test]
    fn odd_powers_never_decrease() {
        let text = "fn f(x: f32) -> (r: f32) {
            %0 = mul x, x
            %1 = mul %0, x
            %2 = mul %1, %0
            %3 = mul %2, %1
            return %3
        }";
        // x⁸ is even, x⁵ is not.
        let function = parse(text).expect("the text is well formed");
        let powers = powers(&function);
        let (base, degree) = powers[function.body.yields[0].index()].expect("it is a power");
        assert_eq!(degree, 8);
        let fifth = Value(base.0 + 3);
        assert_eq!(powers[fifth.index()], Some((base, 5)));
        let mut found = Power { base, products: vec![] };
        found.position(&function, &mut vec![base], fifth);
        let at =
            |x: f32| f32::from_bits(found.ends(&mut Words::default(), |_| [x.to_bits(); 2])[0]);
        assert_eq!([at(2.0), at(-2.0), at(0.0), at(f32::MAX)], [32.0, -32.0, 0.0, f32::INFINITY]);
        let mut random = Random::new(3);
        for _ in 0..200_000 {
            let x = f32::from_bits(random.bits() as u32);
            if !x.is_nan() {
                assert!(at(x) <= at(x.next_up()), "{x:e}");
            }
        }
    }
}
