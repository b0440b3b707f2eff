//! Products x (c − x) with a scalar c. They are concave in x, so their maximum is where x is
//! closest to c/2, and their minimum is at an endpoint of x. Products x (x − c) and x (x + c) are
//! reduced to this form by negation of c or of the product.
//!
//! # Rounding
//!
//! Let u = 2⁻²⁴ and f(x) = x (c − x) for real numbers. The product in floats is f(x) (1 + θ) with
//! |θ| ≤ 2.01u, plus an error of at most 2⁻¹⁵⁰ from underflow. The same holds for the value
//! computed at the maximum m, which is c/2 or the closest endpoint. If c/2 is inexact, c is so
//! small that f changes by less than 2⁻²⁹⁰. Hence members are at most g + 4.1u |g| + 2⁻¹⁴⁸ for the
//! value g computed at m. Widening g by 7u |g| + 2⁻¹⁴⁷ covers this and the two roundings of the
//! widening itself. The same holds for the lower bound. Static bounds rule out overflow.

use super::{PointShader, Refinement, RelationInfo};
use crate::interval::{Bounds, Floats};
use crate::ir::function::for_each_stmt;
use crate::ir::{Emit, Op, Stmt, Value};
use crate::math::eval::ConstantEvaluator;

/// A product x (c − x), or its negative.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Product {
    x: Value,
    /// The scalar c, or −c.
    c: Value,
    /// Whether c is negated.
    negates_c: bool,
    /// Whether the product is negated.
    is_negated: bool,
}

/// Relative widening of the endpoints.
const RELATIVE: f32 = 7.0 / (1 << 24) as f32;

/// Absolute widening of the endpoints, 2⁻¹⁴⁷.
const ABSOLUTE: f32 = f32::from_bits(4);

/// Finds products x (c − x) and their variants.
pub(super) fn find(point: &PointShader<'_>, related: &mut RelationInfo) {
    for_each_stmt(&point.function.body, &mut |stmt| {
        let Stmt::Op(value) = stmt else { return };
        let Some((Op::Mul, &[a, b])) = point.function.operation(*value) else { return };
        let Some(product) = point.product(a, b).or_else(|| point.product(b, a)) else { return };
        let Some(endpoint_bounds) = point.endpoint_bounds(&product) else { return };
        related.add(point, *value, Refinement::Product(product), Bounds::Float(endpoint_bounds));
    });
}

impl PointShader<'_> {
    /// Matches the product of x and another value.
    fn product(&self, x: Value, other: Value) -> Option<Product> {
        let (c, negates_c, is_negated) = match self.function.operation(other)? {
            (Op::Sub, &[c, y]) if y == x => (c, false, false),
            (Op::Sub, &[y, c]) if y == x => (c, false, true),
            (Op::Add, &[y, c]) | (Op::Add, &[c, y]) if y == x => (c, true, true),
            _ => return None,
        };
        let magnitude =
            |value: Value| self.hull(value).map(|[lo, hi]| f64::from(lo.abs().max(hi.abs())));
        let (max_x, max_c) = (magnitude(x)?, magnitude(c)?);
        let fits = (max_x + max_c) * (max_x + max_c) < 1e38;
        (self.is_interval[x.index()] && !self.is_interval[c.index()] && fits).then_some(Product {
            x,
            c,
            negates_c,
            is_negated,
        })
    }

    /// Bounds on the endpoints of a product. For real numbers, the endpoints for each c are within
    /// the hull of those for the minimum and the maximum c; at run time they have a relative error
    /// of 12u.
    fn endpoint_bounds(&self, product: &Product) -> Option<Floats> {
        let (x, [first, last]) = (self.hull(product.x)?, self.hull(product.c)?);
        let [[a, b], [c, d]] = [first, last].map(|c| {
            let of = |value: Value| if value == product.x { x } else { [c; 2] }.map(f32::to_bits);
            product.endpoints(&mut ConstantEvaluator::default(), of).map(f32::from_bits)
        });
        let (lo, hi) = (a.min(c), b.max(d));
        let margin = if first == last {
            0.0
        } else {
            2.0 * RELATIVE * lo.abs().max(hi.abs()) + 2.0 * ABSOLUTE
        };
        Some(Floats::between(lo - margin, hi + margin))
    }
}

impl Product {
    /// The values from which the endpoints are computed.
    pub(super) fn sources(&self) -> Vec<Value> {
        vec![self.x, self.c]
    }

    /// The product at the endpoints of x, and at the x closest to c/2.
    pub(super) fn endpoints<E: Emit>(
        &self,
        emit: &mut E,
        of: impl Fn(Value) -> [E::Value; 2],
    ) -> [E::Value; 2] {
        let ([lo, hi], [mut c, _]) = (of(self.x), of(self.c));
        if self.negates_c {
            c = emit.op(Op::Neg, &[c]);
        }
        let at = |emit: &mut E, x: E::Value| {
            let difference = emit.op(Op::Sub, &[c, x]);
            emit.op(Op::Mul, &[x, difference])
        };
        let [first, last] = [lo, hi].map(|end| at(emit, end));
        let min = emit.op(Op::Min, &[first, last]);
        let half = emit.f32(0.5);
        let half = emit.op(Op::Mul, &[c, half]);
        let maximizer = emit.op(Op::Max, &[half, lo]);
        let maximizer = emit.op(Op::Min, &[maximizer, hi]);
        let max = at(emit, maximizer);
        let min = widened(emit, min, Op::Sub);
        let max = widened(emit, max, Op::Add);
        if self.is_negated {
            [emit.op(Op::Neg, &[max]), emit.op(Op::Neg, &[min])]
        } else {
            [min, max]
        }
    }
}

/// Widens an endpoint by its error.
fn widened<E: Emit>(emit: &mut E, end: E::Value, outwards: Op) -> E::Value {
    let [relative, absolute] = [RELATIVE, ABSOLUTE].map(|x| emit.f32(x));
    let magnitude = emit.op(Op::Abs, &[end]);
    let margin = emit.op(Op::Mul, &[magnitude, relative]);
    let margin = emit.op(Op::Add, &[margin, absolute]);
    emit.op(outwards, &[end, margin])
}
