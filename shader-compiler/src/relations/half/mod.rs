//! Half vectors h = (a + b) ÷ |a + b|: the [squared lengths](SquaredLength) of sums of unit
//! vectors, the [components](NormalizedComponent) of normalized vectors, and the [dot
//! products](HalfVectorDot) of h with a and b.
//!
//! # Dot products
//!
//! For h = (a + b) ÷ |a + b|, h·a = |a + b| ÷ 2 + (|a|² − |b|²) ÷ (2 |a + b|). The last term is at
//! most 2.01 (α + β) for |a + b| ≥ ¼, which a guard ensures ([`HalfVectorDot`]). In floats, a + b
//! and thus h have an error of 2u + 4.6u, and the dot product has an error of 6.7u + 3.02u. Half
//! the root of an endpoint of S differs from |a + b| ÷ 2 by 3.7u, and the last sum has an error of
//! 1.1u. The total is 14.6u, so C = ±(2.01 (α + β) + 16u). If a + b is in the frame's coordinates,
//! so are a and b, each with its slack. α, β and u are defined in `sum`, S in `normalize`.

mod normalize;
mod sum;

use super::dot::{Term, terms};
use super::unit::UnitVector;
use super::{Guard, PointShader, Refinement, RelationInfo};
use crate::interval::{Bounds, Floats};
use crate::ir::{Emit, Function, Op, Value};
use crate::passes::factor::uses;
pub(super) use normalize::MARGIN;
pub use normalize::NormalizedComponent;
use normalize::{Divisor, NORMALIZED_SLACK, quotient};
pub use sum::SquaredLength;
use sum::{other_operand, summands};

/// Unit roundoff u.
const U: f64 = 1.0 / (1 << 24) as f64;

/// The dot product of a half vector and one of its two vectors.
#[derive(Clone, Copy, Debug)]
pub struct HalfVectorDot {
    /// Squared length of the sum of the two vectors.
    sum: Value,
    /// C, the widening of half the root of `sum`.
    margin: f32,
    guard: Guard,
}

/// A sum of two unit vectors, divided by its length.
struct HalfVector {
    components: [Value; 3],
    /// The components of the sum.
    sums: [Value; 3],
    /// Squared length of the sum.
    squared_length: Value,
    units: [UnitVector; 2],
}

/// Finds sums of unit vectors and normalized vectors, and registers the latter as unit vectors.
pub(super) fn find(point: &mut PointShader<'_>, related: &mut RelationInfo) {
    let mut uses = uses(point.function);
    let normalized = find_normalized(point, &uses, related);
    let mut half_vectors = vec![];
    for (divisor, quotients) in &normalized {
        let of = |k: usize| {
            let before = divisor.squares.get(k)?.component;
            quotients.iter().find(|[component, _]| *component == before).map(|&[_, value]| value)
        };
        let (Some(x), Some(y), Some(z)) = (of(0), of(1), of(2)) else { continue };
        let (may_be_short, guard) = (divisor.may_be_short, divisor.guard);
        point.units.push(UnitVector {
            may_be_short,
            guard,
            ..UnitVector::new([x, y, z], NORMALIZED_SLACK)
        });
        let sums = [0, 1, 2].map(|k| divisor.squares[k].component);
        if let Some(units) = summands(point, sums).filter(|_| !may_be_short) {
            half_vectors.push(HalfVector {
                components: [x, y, z],
                sums,
                squared_length: divisor.sum,
                units,
            });
        }
    }
    let point = &*point;
    point.for_each_operation(|value, _| {
        let Some(terms) = terms(point.function, value) else { return };
        if let Some(half) = half_vectors
            .iter()
            .find_map(|vector| HalfVectorDot::new(point.function, &terms, vector))
        {
            related.add(
                point,
                value,
                Refinement::HalfVectorDot(half),
                Bounds::Float(Floats::all()),
            );
            // Its factors need no refinements for this use.
            terms.iter().flat_map(|term| term.factors).for_each(|factor| {
                let count = &mut uses[factor.index()];
                *count = count.saturating_sub(1);
            });
        }
    });
    for (divisor, quotients) in &normalized {
        for &[component, value] in quotients.iter().filter(|[_, value]| uses[value.index()] > 0) {
            let component = NormalizedComponent::new(point, component, divisor);
            let max = 1.0 + 2.0 * MARGIN;
            let limit =
                if component.is_guarded() { Floats::all() } else { Floats::between(-max, max) };
            related.add(
                point,
                value,
                Refinement::NormalizedComponent(component),
                Bounds::Float(limit),
            );
        }
    }
}

/// Adds refinements of squared lengths of sums of unit vectors. Returns the components of
/// normalized vectors, before and after the division, grouped by divisor.
fn find_normalized(
    point: &PointShader<'_>,
    uses: &[u32],
    related: &mut RelationInfo,
) -> Vec<(Divisor, Vec<[Value; 2]>)> {
    let mut normalized: Vec<(Divisor, Vec<[Value; 2]>)> = vec![];
    point.for_each_operation(|value, scope| {
        if let Some(length) =
            SquaredLength::new(point, value, scope).filter(|_| uses[value.index()] > 1)
        {
            let limit = Bounds::Float(Floats::between(f32::NEG_INFINITY, length.constants[1]));
            related.add(point, value, Refinement::SquaredLength(length), limit);
        }
        let Some((component, divisor)) = quotient(point, value) else { return };
        match normalized.iter_mut().find(|(other, _)| *other == divisor) {
            Some((_, components)) => components.push([component, value]),
            None => normalized.push((divisor, vec![[component, value]])),
        }
    });
    normalized
}

impl HalfVectorDot {
    /// Matches the dot product of a half vector and one of its two vectors.
    fn new(function: &Function, terms: &[Term; 3], vector: &HalfVector) -> Option<HalfVectorDot> {
        let other = other_operand(terms, vector.components)?;
        // Each sum adds one component of either vector. So if the components of `other` are addends
        // and belong to one vector, they are in order.
        let is_in = |(sum, component): (Value, &Value)| {
            function.operation(sum).is_some_and(|(_, args)| args.contains(component))
        };
        if !std::iter::zip(vector.sums, &other).all(is_in) {
            return None;
        }
        vector
            .units
            .iter()
            .find(|unit| unit.components.iter().all(|component| other.contains(component)))?;
        let margin = 2.01 * (vector.units[0].slack + vector.units[1].slack) + 16.0 * U;
        let guard = Guard { value: vector.squared_length, min: 1.0 / 16.0 };
        Some(HalfVectorDot { sum: vector.squared_length, margin: (margin as f32).next_up(), guard })
    }

    /// The values from which the endpoints are computed.
    pub(super) fn sources(&self) -> Vec<Value> {
        vec![self.sum]
    }

    /// Endpoints of half the root of the squared length, widened.
    pub(super) fn endpoints<E: Emit<Value: PartialEq>>(
        &self,
        emit: &mut E,
        of: impl Fn(Value) -> [E::Value; 2],
    ) -> [E::Value; 2] {
        let margins = [-self.margin, self.margin];
        let endpoints = [0, 1].map(|side| {
            let root = emit.op(Op::Sqrt, &[of(self.sum)[side]]);
            let half = emit.f32(0.5);
            let half = emit.op(Op::Mul, &[root, half]);
            let margin = emit.f32(margins[side]);
            emit.op(Op::Add, &[half, margin])
        });
        self.guard.guarded(emit, of, endpoints)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Bounder, axes, box_around, compare, nearly_unit};
    use super::super::{Relation, Relations};
    use crate::bounding::Frame;
    use crate::interval::Nan;
    use crate::random::Random;

    pub(super) const NAN: [Nan; 3] = [Nan::Propagate, Nan::Suppress, Nan::Ignore];

    pub(super) fn half() -> Relations {
        Relations::NONE
            .with(Relation::Unit)
            .with(Relation::Dot)
            .with(Relation::Half)
            .with(Relation::Squares)
    }

    #[test]
    fn half_vectors_are_within_the_endpoints() {
        let text =
            "fn f(a: f32, b: f32, c: f32, x: f32, y: f32, z: f32) -> (s: f32, t: f32, p: f32, q: f32, r: f32, n: f32, o: f32) {
            %0 = add a, x
            %1 = add y, b
            %2 = add c, z
            %3 = mul %0, %0
            %4 = mul %1, %1
            %5 = mul %2, %2
            %6 = add %3, %4
            %7 = add %6, %5
            %8 = max %5, 1e-8
            %9 = add %6, %8
            %10 = sqrt %7
            %11 = div %0, %10
            %12 = div %1, %10
            %13 = div %2, %10
            %14 = mul %11, a
            %15 = mul %12, b
            %16 = mul %13, c
            %17 = add %14, %15
            %18 = add %17, %16
            %19 = mul %11, x
            %20 = mul %12, y
            %21 = mul %13, z
            %22 = add %20, %21
            %23 = add %22, %19
            %24 = mul %12, a
            %25 = mul %11, b
            %26 = add %25, %24
            %27 = add %16, %26
            %28 = sqrt %9
            return %7, %9, %18, %23, %27, %13, %28
        }";
        let mut random = Random::new(37);
        for nan in NAN {
            let bounders = [Relations::NONE, half()]
                .map(|relations| Bounder::new(text, &axes(2), relations, nan));
            let mut narrower = [0; 7];
            for _ in 0..20_000 {
                let a = nearly_unit(&mut random, None);
                let near = *random.pick(&[None, Some(a), Some(a.map(|x| -x))]);
                let b =
                    if random.once_in(20) { a.map(|x| -x) } else { nearly_unit(&mut random, near) };
                let b_endpoints =
                    if random.once_in(2) { b.map(|x| [x, x]) } else { box_around(&mut random, b) };
                let endpoints: Vec<_> =
                    box_around(&mut random, a).into_iter().chain(b_endpoints).collect();
                let member: Vec<_> = a.into_iter().chain(b).collect();
                let bounds = bounders.each_ref().map(|bounder| bounder.run(&endpoints, [&member]));
                for (count, (plain, tight)) in
                    std::iter::zip(&mut narrower, std::iter::zip(&bounds[0], &bounds[1]))
                {
                    *count += usize::from(tight[1] - tight[0] < 0.9 * (plain[1] - plain[0]));
                }
            }
            assert!(narrower.iter().all(|&count| count > 500), "{narrower:?}");
        }
    }

    #[test]
    fn materials_with_half_vectors_have_tighter_bounds() {
        // Without relations, components of `normalize` are clamped, but not those of quotients by a
        // length that may be 0.
        let source = include_str!("../../../tests/shaders/half-vector.wgsl");
        let quotient = source.replace("normalize(wi + wo)", "(wi + wo) / length(wi + wo)");
        assert_ne!(source, quotient);
        for (source, min_gain) in [(quotient.as_str(), 1.0), (source, 0.3)] {
            check_gain(source, min_gain);
        }
    }

    /// Checks that bounds of a material are tighter by a factor of 2^`min_gain` on average.
    fn check_gain(source: &str, min_gain: f64) {
        for (frame, nan) in
            [Frame::Local, Frame::World].into_iter().flat_map(|frame| NAN.map(|nan| (frame, nan)))
        {
            let unit = Relations::NONE.with(Relation::Unit).with(Relation::Dot);
            let [plain, found] =
                [unit, half()].map(|relations| compare(source, frame, nan, relations, 10.0, 400));
            println!("{frame:?}, {nan:?}: {plain:?}, {found:?}");
            assert!(
                found.members > 10_000 && found.gain > plain.gain + min_gain,
                "{plain:?}, {found:?}"
            );
        }
    }
}
