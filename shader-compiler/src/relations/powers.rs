//! Odd powers, computed as products of one value such as x · (x²)². If the sign of x is not known,
//! the interval lowering of the product treats x and x² as independent and takes all corners.
//!
//! In floats, as for real numbers, such a product is non-decreasing in x. A product of nonnegative
//! floats is monotone in each of them, so |xⁿ| is non-decreasing in |x|, whatever the order of
//! products. And xⁿ has the sign of x, since rounding is symmetric. So the endpoints of xⁿ are
//! exactly the powers of the endpoints of x. They replace those of the interval lowering: they are
//! results for members of the interval, so no valid bounds are tighter. Even powers need no
//! refinement: squares are recognized, and are not negative. They take fewer operations, too, so all
//! modes use them.

use super::{PointShader, Refinement, RelationInfo};
use crate::interval::Bounds;
use crate::ir::function::for_each_stmt;
use crate::ir::{Emit, Function, Op, Stmt, Type, Value};

/// An odd power.
#[derive(Clone, Debug)]
pub struct Power {
    base: Value,
    /// The products that compute it, in order. Each is a pair of indices of earlier powers; index 0
    /// is the base.
    products: Vec<[usize; 2]>,
}

/// Returns the odd powers among the intervals, each with its base.
pub(super) fn candidates(function: &Function, is_interval: &[bool]) -> Vec<[Value; 2]> {
    let powers = powers(function);
    let odd = |index: usize| match powers[index] {
        Some((base, degree)) if degree % 2 == 1 && is_interval[index] => {
            Some([Value(index as u32), base])
        }
        _ => None,
    };
    (0..function.len()).filter_map(odd).collect()
}

/// Finds odd powers of values of unknown sign.
pub(super) fn find(point: &PointShader<'_>, candidates: &[[Value; 2]], related: &mut RelationInfo) {
    for &[value, base] in candidates {
        let floats = point.floats(base);
        if floats.low() < 0.0 && floats.high() > 0.0 {
            let mut found = Power { base, products: vec![] };
            found.index_of(point.function, &mut vec![base], value);
            related.add(point, value, Refinement::Power(found), Bounds::all(Type::F32));
        }
    }
}

/// Returns, for each product of powers of one value, the base and the degree.
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
    /// Returns the index of a power among those computed so far. Computes it if necessary.
    fn index_of(&mut self, function: &Function, computed: &mut Vec<Value>, value: Value) -> usize {
        if let Some(index) = computed.iter().position(|&other| other == value) {
            return index;
        }
        let (_, factors) = function.operation(value).expect("it is a product");
        let product =
            [factors[0], factors[1]].map(|factor| self.index_of(function, computed, factor));
        self.products.push(product);
        computed.push(value);
        computed.len() - 1
    }

    /// The value from which the endpoints are computed.
    pub(super) fn sources(&self) -> Vec<Value> {
        vec![self.base]
    }

    /// The powers of the endpoints.
    pub(super) fn endpoints<E: Emit>(
        &self,
        emit: &mut E,
        of: impl Fn(Value) -> [E::Value; 2],
    ) -> [E::Value; 2] {
        of(self.base).map(|end| {
            let mut powers = vec![end];
            for product in &self.products {
                let power = emit.op(Op::Mul, &product.map(|index| powers[index]));
                powers.push(power);
            }
            powers[powers.len() - 1]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::text::parse;
    use crate::math::eval::ConstantEvaluator;
    use crate::random::Random;

    #[test]
    fn odd_powers_are_monotone() {
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
        found.index_of(&function, &mut vec![base], fifth);
        let at = |x: f32| {
            f32::from_bits(
                found.endpoints(&mut ConstantEvaluator::default(), |_| [x.to_bits(); 2])[0],
            )
        };
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
