//! Mixtures a (1 − t) + b t, as `mix` computes them, and a + (b − a) t. The interval lowering treats
//! t and 1 − t as independent. For real numbers, a mixture is linear in each of a, b and t, so its
//! extremes over a box are at corners: those of a and b are found separately for each end of t.
//!
//! # Rounding
//!
//! Let u = 2⁻²⁴ and S = (|a| + |b|) (1 + |t|), with the greatest magnitudes in the box. Both forms
//! have an error of at most 3.1u S + 2⁻¹⁴⁸ in floats, for members and for corners. Widening by
//! 8u S + 2⁻¹⁴⁶ covers both, and the roundings of S and of the widening itself. Static bounds rule
//! out overflow.

use super::{PointShader, Refinement, RelationInfo};
use crate::interval::{Bounds, Floats};
use crate::ir::function::for_each_stmt;
use crate::ir::{Emit, Op, Stmt, Value};
use crate::math::eval::ConstantEvaluator;

/// A mixture of two values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mixture {
    a: Value,
    b: Value,
    t: Value,
}

/// Widening of the endpoints, relative to S.
const RELATIVE: f32 = 8.0 / (1 << 24) as f32;

/// Absolute widening of the endpoints, 2⁻¹⁴⁶.
const ABSOLUTE: f32 = f32::from_bits(8);

/// Finds mixtures with an interval t.
pub(super) fn find(point: &PointShader<'_>, related: &mut RelationInfo) {
    for_each_stmt(&point.function.body, &mut |stmt| {
        let Stmt::Op(value) = stmt else { return };
        let Some((Op::Add, &[x, y])) = point.function.operation(*value) else { return };
        let Some(mixture) = point.mixture(x, y).or_else(|| point.mixture(y, x)) else { return };
        if !point.is_interval[mixture.t.index()] {
            return;
        }
        let Some(endpoint_bounds) = point.bounds_of_mixture(&mixture) else { return };
        related.add(point, *value, Refinement::Mixture(mixture), Bounds::Float(endpoint_bounds));
    });
}

impl PointShader<'_> {
    /// Matches a sum.
    fn mixture(&self, x: Value, y: Value) -> Option<Mixture> {
        let (Op::Mul, &[first, second]) = self.function.operation(y)? else { return None };
        [(first, second), (second, first)].into_iter().find_map(|(b, t)| {
            match (self.function.operation(x), self.function.operation(b)) {
                // a (1 − t) + b t
                (Some((Op::Mul, &[p, q])), _) if self.is_complement(q, t) => {
                    Some(Mixture { a: p, b, t })
                }
                (Some((Op::Mul, &[p, q])), _) if self.is_complement(p, t) => {
                    Some(Mixture { a: q, b, t })
                }
                // x + (b − x) t
                (_, Some((Op::Sub, &[b, a]))) if a == x => Some(Mixture { a, b, t }),
                _ => None,
            }
        })
    }

    /// Whether a value is 1 − t.
    fn is_complement(&self, value: Value, t: Value) -> bool {
        matches!(self.function.operation(value), Some((Op::Sub, &[one, other]))
            if other == t && self.function.constant(one) == Some(1f32.to_bits()))
    }

    /// Bounds on the endpoints of a mixture: those for the static bounds, widened by their error.
    fn bounds_of_mixture(&self, mixture: &Mixture) -> Option<Floats> {
        let Mixture { a, b, t } = *mixture;
        let magnitude = |value| {
            let [lo, hi] = self.hull(value)?;
            Some(f64::from(lo.abs().max(hi.abs())))
        };
        let scale = (magnitude(a)? + magnitude(b)?) * (1.0 + magnitude(t)?);
        if scale > 1e37 {
            return None;
        }
        let of = |value| self.hull(value).expect("all have bounds").map(f32::to_bits);
        let [lo, hi] = mixture.endpoints(&mut ConstantEvaluator::default(), of).map(f32::from_bits);
        let margin = 2.0 * RELATIVE * scale as f32 + 2.0 * ABSOLUTE;
        Some(Floats::between(lo - margin, hi + margin))
    }
}

impl Mixture {
    /// The values from which the endpoints are computed.
    pub(super) fn sources(&self) -> Vec<Value> {
        vec![self.a, self.b, self.t]
    }

    /// The least and greatest mixture at the corners.
    pub(super) fn endpoints<E: Emit>(
        &self,
        emit: &mut E,
        of: impl Fn(Value) -> [E::Value; 2],
    ) -> [E::Value; 2] {
        let [a, b, t] = [self.a, self.b, self.t].map(of);
        let one = emit.f32(1.0);
        let at_ends = t.map(|t| {
            let complement = emit.op(Op::Sub, &[one, t]);
            let of_a = a.map(|a| emit.op(Op::Mul, &[a, complement]));
            let of_b = b.map(|b| emit.op(Op::Mul, &[b, t]));
            [Op::Min, Op::Max].map(|extreme| {
                let [a, b] = [of_a, of_b].map(|terms| emit.op(extreme, &terms));
                emit.op(Op::Add, &[a, b])
            })
        });
        let min = emit.op(Op::Min, &[at_ends[0][0], at_ends[1][0]]);
        let max = emit.op(Op::Max, &[at_ends[0][1], at_ends[1][1]]);
        let [a, b, t] = [a, b, t].map(|ends| {
            let magnitudes = ends.map(|end| emit.op(Op::Abs, &[end]));
            emit.op(Op::Max, &magnitudes)
        });
        let [sum, factor] = [[a, b], [one, t]].map(|terms| emit.op(Op::Add, &terms));
        let [relative, absolute] = [RELATIVE, ABSOLUTE].map(|x| emit.f32(x));
        let scale = emit.op(Op::Mul, &[sum, factor]);
        let margin = emit.op(Op::Mul, &[scale, relative]);
        let margin = emit.op(Op::Add, &[margin, absolute]);
        [emit.op(Op::Sub, &[min, margin]), emit.op(Op::Add, &[max, margin])]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::text::parse;
    use crate::random::Random;
    use crate::relations::testing::related;
    use crate::relations::{Relation, Relations};

    #[test]
    fn endpoints_are_those_of_the_corners() {
        let mix = "%0 = sub 1.0, t
            %1 = mul a, %0
            %2 = mul b, t
            %3 = add %1, %2
            return %3";
        let step = "%0 = sub b, a
            %1 = mul t, %0
            %2 = add a, %1
            return %2";
        let mut random = Random::new(3);
        for (body, f) in [
            (mix, (|a, b, t| a * (1.0 - t) + b * t) as fn(f32, f32, f32) -> f32),
            (step, |a, b, t| a + t * (b - a)),
        ] {
            let text = format!("fn f(a: f32, b: f32, t: f32) -> (r: f32) {{ {body} }}");
            let function = parse(&text).expect("the text is well formed");
            let relations = Relations::NONE.with(Relation::Mixtures);
            let found = related(&function, &[None; 3], relations);
            let result = function.body.yields[0].index();
            let [Refinement::Mixture(mixture)] = &found.refinements[result][..] else {
                panic!("{text} is a mixture: {:?}", found.refinements);
            };
            for _ in 0..20_000 {
                let mut unit = || random.below(1 << 24) as f32 / (1 << 23) as f32 - 1.0;
                let inputs = [(); 3].map(|()| {
                    let (x, y) = (unit(), unit());
                    [x.min(y), x.max(y)]
                });
                let of = |value: Value| {
                    let sources = mixture.sources();
                    let index = sources.iter().position(|&source| source == value);
                    inputs[index.expect("it is a source")].map(f32::to_bits)
                };
                let [low, high] =
                    mixture.endpoints(&mut ConstantEvaluator::default(), of).map(f32::from_bits);
                let (mut min, mut max) = (f32::INFINITY, f32::NEG_INFINITY);
                for corner in 0..8 {
                    let [a, b, t] = [0, 1, 2].map(|k| inputs[k][(corner >> k) & 1]);
                    (min, max) = (min.min(f(a, b, t)), max.max(f(a, b, t)));
                }
                assert!(low <= min && max <= high && high - low <= max - min + 1e-5, "{text}");
                let [a, b, t] = inputs.map(|[low, high]| {
                    let weight = random.below(1 << 24) as f32 / (1 << 24) as f32;
                    (low + (high - low) * weight).clamp(low, high)
                });
                assert!((low..=high).contains(&f(a, b, t)), "{text}: {a} {b} {t}");
            }
        }
    }
}
