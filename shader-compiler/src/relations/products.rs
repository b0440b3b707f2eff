//! Products x (c − x) with a scalar c. They are concave in x, so their maximum is where x is
//! closest to c/2, and their minimum is at an endpoint of x. Products x (x − c) and x (x + c) are
//! reduced to that, with −c or negated.
//!
//! # Rounding
//!
//! Let u = 2⁻²⁴ and f(x) = x (c − x) for real numbers. The product in floats is f(x) (1 + θ) with
//! |θ| ≤ 2.01u, plus an error of at most 2⁻¹⁵⁰ from underflow. The same holds for the value
//! computed at the maximum m, which is c/2 or the closest endpoint. If c/2 is rounded, c is so
//! small that f changes by less than 2⁻²⁹⁰. Hence members are at most g + 4.1u |g| + 2⁻¹⁴⁸ for the
//! value g computed at m. The widened bound has two roundings of its own, which are those of g (1 +
//! 7u) if g ≥ 0, so it is within g + 7u |g| + 2⁻¹⁴⁷. The same holds for the lower bound. Static
//! bounds rule out overflow.

use super::{Point, Refinement, Related};
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
    minus_c: bool,
    /// Whether the product is negated.
    minus: bool,
}

/// Relative widening of the endpoints.
const RELATIVE: f32 = 7.0 / (1 << 24) as f32;

/// Absolute widening of the endpoints, 2⁻¹⁴⁷.
const ABSOLUTE: f32 = f32::from_bits(4);

/// Finds such products among the intervals.
pub(super) fn find(point: &Point<'_>, related: &mut Related) {
    for_each_stmt(&point.function.body, &mut |stmt| {
        let Stmt::Op(value) = stmt else { return };
        let Some((Op::Mul, &[a, b])) = point.function.operation(*value) else { return };
        let Some(product) = point.product(a, b).or_else(|| point.product(b, a)) else { return };
        let Some(limit) = point.limit(&product) else { return };
        related.add(point, *value, Refinement::Product(product), Bounds::Float(limit));
    });
}

impl Point<'_> {
    /// The product of x and another value that is computed from x.
    fn product(&self, x: Value, other: Value) -> Option<Product> {
        let (c, minus_c, minus) = match self.function.operation(other)? {
            (Op::Sub, &[c, y]) if y == x => (c, false, false),
            (Op::Sub, &[y, c]) if y == x => (c, false, true),
            (Op::Add, &[y, c]) | (Op::Add, &[c, y]) if y == x => (c, true, true),
            _ => return None,
        };
        let most =
            |value: Value| self.hull(value).map(|[lo, hi]| f64::from(lo.abs().max(hi.abs())));
        let (most_x, most_c) = (most(x)?, most(c)?);
        let fits = (most_x + most_c) * (most_x + most_c) < 1e38;
        (self.is_interval[x.index()] && !self.is_interval[c.index()] && fits).then_some(Product {
            x,
            c,
            minus_c,
            minus,
        })
    }
}

impl Point<'_> {
    /// Constraint on the endpoints of a product. For real numbers, the endpoints for each c are
    /// within those for the least and the greatest c, and at run time they have a relative error of
    /// 12u.
    fn limit(&self, product: &Product) -> Option<Floats> {
        let (x, [first, last]) = (self.hull(product.x)?, self.hull(product.c)?);
        let [[a, b], [c, d]] = [first, last].map(|c| {
            let of = |value: Value| if value == product.x { x } else { [c; 2] }.map(f32::to_bits);
            product.endpoints(&mut ConstantEvaluator::default(), of).map(f32::from_bits)
        });
        let (lo, hi) = (a.min(c), b.max(d));
        let by = if first == last {
            0.0
        } else {
            2.0 * RELATIVE * lo.abs().max(hi.abs()) + 2.0 * ABSOLUTE
        };
        Some(Floats::between(lo - by, hi + by))
    }
}

impl Product {
    /// The values whose endpoints it needs.
    pub(super) fn sources(&self) -> Vec<Value> {
        vec![self.x, self.c]
    }

    /// The product at the endpoints of x, and its maximum closest to c/2.
    pub(super) fn endpoints<E: Emit>(
        &self,
        emit: &mut E,
        of: impl Fn(Value) -> [E::Value; 2],
    ) -> [E::Value; 2] {
        let ([lo, hi], [mut c, _]) = (of(self.x), of(self.c));
        if self.minus_c {
            c = emit.op(Op::Neg, &[c]);
        }
        let at = |emit: &mut E, x: E::Value| {
            let rest = emit.op(Op::Sub, &[c, x]);
            emit.op(Op::Mul, &[x, rest])
        };
        let [first, last] = [lo, hi].map(|end| at(emit, end));
        let least = emit.op(Op::Min, &[first, last]);
        let half = emit.f32(0.5);
        let half = emit.op(Op::Mul, &[c, half]);
        let best = emit.op(Op::Max, &[half, lo]);
        let best = emit.op(Op::Min, &[best, hi]);
        let most = at(emit, best);
        let least = widened(emit, least, Op::Sub);
        let most = widened(emit, most, Op::Add);
        if self.minus {
            [emit.op(Op::Neg, &[most]), emit.op(Op::Neg, &[least])]
        } else {
            [least, most]
        }
    }
}

/// An endpoint, widened by its error.
fn widened<E: Emit>(emit: &mut E, end: E::Value, outwards: Op) -> E::Value {
    let [relative, absolute] = [RELATIVE, ABSOLUTE].map(|x| emit.f32(x));
    let magnitude = emit.op(Op::Abs, &[end]);
    let by = emit.op(Op::Mul, &[magnitude, relative]);
    let by = emit.op(Op::Add, &[by, absolute]);
    emit.op(outwards, &[end, by])
}
