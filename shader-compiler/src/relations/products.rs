//! Products x (c − x), c a number: concave, so greatest where x is closest to c/2 and least at an
//! end of x. Products x (x − c) and x (x + c) are that with −c, or their negatives.
//!
//! # Rounding
//!
//! Let u = 2⁻²⁴ and f(x) = x (c − x) for real numbers. In floats that is f(x) (1 + θ) with |θ| ≤
//! 2.01u, and off by 2⁻¹⁵⁰ at most, which the product loses below the least normal number. So is
//! the value that is computed at the best place m, c/2 or the closest end; where c/2 is rounded, c
//! is that small that f changes by less than 2⁻²⁹⁰. Hence members are at most g + 4.1u |g| + 2⁻¹⁴⁸
//! for the value g computed at m; computed, with its own two roundings, which are those of g (1 +
//! 7u) if g ≥ 0, that is within g + 7u |g| + 2⁻¹⁴⁷. The same holds below. Nothing overflows, by the
//! static bounds.

use super::{Alternative, Point, Related};
use crate::analysis::{Bounds, Floats};
use crate::ir::function::for_each_stmt;
use crate::ir::op::Words;
use crate::ir::{Emit, Op, Stmt, Value};

/// A product x (c − x), or its negative.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Product {
    x: Value,
    /// The number c, or −c.
    c: Value,
    /// Whether c is negated.
    minus_c: bool,
    /// Whether the product is.
    minus: bool,
}

/// By how much of themselves ends are widened.
const RELATIVE: f32 = 7.0 / (1 << 24) as f32;

/// And beside that, 2⁻¹⁴⁷.
const ABSOLUTE: f32 = f32::from_bits(4);

/// Finds products that are intervals.
pub(super) fn find(point: &Point<'_>, related: &mut Related) {
    for_each_stmt(&point.function.body, &mut |stmt| {
        let Stmt::Op(value) = stmt else { return };
        let Some((Op::Mul, &[a, b])) = point.function.operation(*value) else { return };
        let Some(product) = point.product(a, b).or_else(|| point.product(b, a)) else { return };
        let Some(limit) = point.limit(&product) else { return };
        related.add(point, *value, Alternative::Product(product), Bounds::Float(limit));
    });
}

impl Point<'_> {
    /// The product of x and of another value that is made of it.
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
        (self.kinds[x.index()] && !self.kinds[c.index()] && fits).then_some(Product {
            x,
            c,
            minus_c,
            minus,
        })
    }
}

impl Point<'_> {
    /// What the ends of a product are within. For real numbers, those of each c are within the ones
    /// of the least and the greatest c, and at run time they are off by 12u of themselves.
    fn limit(&self, product: &Product) -> Option<Floats> {
        let (x, [first, last]) = (self.hull(product.x)?, self.hull(product.c)?);
        let [[a, b], [c, d]] = [first, last].map(|c| {
            let of = |value: Value| if value == product.x { x } else { [c; 2] }.map(f32::to_bits);
            product.ends(&mut Words::default(), of).map(f32::from_bits)
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
    /// The values whose ends it needs.
    pub(super) fn sources(&self) -> Vec<Value> {
        vec![self.x, self.c]
    }

    /// What it is at least at the ends of x, and at most closest to c/2.
    pub(super) fn ends<E: Emit>(
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

/// An end, moved outwards by the error that it may have.
fn widened<E: Emit>(emit: &mut E, end: E::Value, outwards: Op) -> E::Value {
    let [relative, absolute] = [RELATIVE, ABSOLUTE].map(|x| emit.f32(x));
    let magnitude = emit.op(Op::Abs, &[end]);
    let by = emit.op(Op::Mul, &[magnitude, relative]);
    let by = emit.op(Op::Add, &[by, absolute]);
    emit.op(outwards, &[end, by])
}

#[cfg(test)]
mod tests {
    use super::super::testing::Case;
    use super::super::{Relation, Relations};
    use super::*;
    use crate::interval::Nan;

    const SHAPES: [&str; 4] = [
        "fn f(x: f32, c: f32) -> (r: f32) { %0 = sub c, x %1 = mul %0, x return %1 }",
        "fn f(x: f32, c: f32) -> (r: f32) { %0 = sub x, c %1 = mul x, %0 return %1 }",
        "fn f(x: f32, c: f32) -> (r: f32) { %0 = add c, x %1 = mul %0, x return %1 }",
        "fn f(x: f32, c: f32) -> (r: f32) { %0 = sub 1.0, x %1 = mul x, %0 %2 = mul %1, c return %2 }",
    ];

    #[test]
    fn products_are_within_their_ends() {
        for text in SHAPES {
            let (mut ends, mut tighter) = (0, 0);
            for [x, c] in [
                [[0.0, 1.0], [1.0, 1.0]],
                [[-3.0, 2.0], [-1.0, 2.0]],
                [[-1e-20, 1e-22], [0.0, 1e-21]],
                [[-1e18, 1e18], [0.5, 2.0]],
            ] {
                let float = |[lo, hi]: [f32; 2]| Bounds::Float(Floats::between(lo, hi));
                let case = Case::new(text, &[(true, float(x)), (false, float(c))]);
                let seen = case.check(Relation::Products, 5000);
                (ends, tighter) = (ends + seen.ends, tighter + seen.tighter);
            }
            assert!(tighter * 20 > ends, "{text}: {tighter} of {ends}");
        }
    }

    #[test]
    fn the_greatest_product_is_in_the_middle() {
        let float = |lo, hi| Bounds::Float(Floats::between(lo, hi));
        let case = Case::new(SHAPES[0], &[(true, float(0.0, 1.0)), (false, float(1.0, 1.0))]);
        let ends = |relations| {
            case.ends(&case.lifted(relations, Nan::Suppress), &[[0.25, 0.875], [1.0; 2]])[0]
        };
        let [lo, hi] = ends(Relations::NONE.with(Relation::Products));
        assert!(
            (0.109374..=0.109375).contains(&lo) && (0.25..0.250001).contains(&hi),
            "{lo:?} {hi:?}"
        );
        assert_eq!(ends(Relations::NONE), [0.03125, 0.65625]);
    }
}
