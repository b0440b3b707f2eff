//! Checks every refinement that a relation adds, in debug builds. For source endpoints within
//! static bounds, its endpoints must not be NaN, must satisfy the constraint that comes with it,
//! and must not be −0 if the value never is. Case selection relies on all three. Samples are
//! deterministic, so that a compilation fails always or never.

use super::half::MARGIN;
use super::{Guard, PointShader, Refinement, RelationInfo};
use crate::analysis::Constraint;
use crate::interval::{Bounds, Floats};
use crate::ir::types::Word;
use crate::ir::{Type, Value};
use crate::math::eval::ConstantEvaluator;
use crate::random::Random;

/// Endpoints of a refinement that violate a rule, with the endpoints of its sources.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Violation {
    sources: Vec<(Value, [u32; 2])>,
    endpoints: [f32; 2],
}

/// Number of sampled boxes of the sources.
const SAMPLES: usize = 24;

/// Returns the first sample in which endpoints violate a rule.
pub(super) fn find_violation(
    point: &PointShader<'_>,
    value: Value,
    refinement: &Refinement,
    constraint: &Constraint,
) -> Option<Violation> {
    if point.function.ty(value) != Type::F32 {
        return None;
    }
    let random = &mut Random::new(u64::from(value.0));
    let known = &point.bounds[value.index()];
    (0..SAMPLES).find_map(|_| {
        let mut sources: Vec<_> = refinement
            .sources()
            .into_iter()
            .map(|source| (source, random_endpoints(random, point, source)))
            .collect();
        clamp_components(point, &mut sources);
        let of = |value: Value| {
            sources
                .iter()
                .find(|(source, _)| *source == value)
                .expect("refinements name their sources")
                .1
        };
        let endpoints =
            refinement.endpoints(&mut ConstantEvaluator::default(), of).map(f32::from_bits);
        let is_admitted = constraint.admits(known, endpoints);
        let has_wrong_zero = !known.floats().negative_zero
            && endpoints.iter().any(|end| *end == 0.0 && end.is_sign_negative());
        (!is_admitted || has_wrong_zero).then_some(Violation { sources, endpoints })
    })
}

/// Clamps endpoints of the components of unit vectors if their guard holds, as
/// [`NormalizedComponent`](super::NormalizedComponent) does in code. Static bounds do not include
/// this, since they hold without the guard, too.
fn clamp_components(point: &PointShader<'_>, sources: &mut [(Value, [u32; 2])]) {
    let max = 1.0 + 2.0 * MARGIN;
    for unit in &point.units {
        let holds = |guard: Guard| {
            let mut guards = sources.iter().filter(|(source, _)| *source == guard.value);
            guards.any(|(_, [lo, _])| f32::from_bits(*lo) >= guard.min)
        };
        if !unit.guard.is_some_and(holds) {
            continue;
        }
        for (_, endpoints) in
            sources.iter_mut().filter(|(source, _)| unit.components.contains(source))
        {
            *endpoints = endpoints.map(|end| f32::from_bits(end).clamp(-max, max).to_bits());
        }
    }
}

/// Checks all refinements against the static bounds under all constraints. Panics if one violates a
/// rule.
pub(super) fn recheck(point: &PointShader<'_>, related: &RelationInfo) {
    for (index, refinements) in related.refinements.iter().enumerate() {
        let (value, constraint) = (Value(index as u32), Constraint::none(Type::F32));
        // The constraint of a refinement was checked when it was added, and the constraints of
        // other relations do not apply to it.
        for refinement in refinements {
            // Relations need numbers. So values that may be NaN are in code that other refinements
            // have proved to be unreachable, and have no bounds.
            let may_be_nan =
                |value: Value| matches!(&point.bounds[value.index()], Bounds::Float(x) if x.nan);
            if may_be_nan(value) && !refinement.is_guarded()
                || refinement.sources().into_iter().any(may_be_nan)
            {
                continue;
            }
            assert_eq!(
                find_violation(point, value, refinement, &constraint),
                None,
                "{refinement:?} of {value:?}"
            );
        }
    }
}

/// Random endpoints of a value within the hull of its static bounds, as bits. They are equal for a
/// scalar.
fn random_endpoints(random: &mut Random, point: &PointShader<'_>, value: Value) -> [u32; 2] {
    let mut pick = || match &point.bounds[value.index()] {
        Bounds::Float(floats) => random_float(random, floats).to_bits(),
        Bounds::Int(ints) => {
            let [low, high] = ints.hull().unwrap_or([0, 0]);
            *random.pick(&[low, high]) as u32
        }
        Bounds::Bool(bools) => Word::to_bits(if bools.may_be_false && bools.may_be_true {
            random.once_in(2)
        } else {
            bools.may_be_true
        }),
    };
    let [a, b] = [pick(), pick()];
    let is_in_order = match point.function.ty(value) {
        Type::F32 => f32::from_bits(a) <= f32::from_bits(b),
        Type::I32 => a as i32 <= b as i32,
        // False is less than true.
        Type::Bool => a == 0 || b != 0,
    };
    match (point.is_interval[value.index()], is_in_order) {
        (false, _) => [a, a],
        (true, true) => [a, b],
        (true, false) => [b, a],
    }
}

/// A random float within the hull of static bounds.
fn random_float(random: &mut Random, floats: &Floats) -> f32 {
    let Some([low, high]) = floats.pieces.hull() else { return 0.0 };
    let [min, max] = [low.max(f32::MIN), high.min(f32::MAX)].map(f64::from);
    let between = min + (max - min) * (random.below(1 << 16) as f64 / f64::from(1 << 16));
    match random.below(4) {
        0 => low,
        1 => high,
        2 if low <= 0.0 && high >= 0.0 => 0.0,
        _ => (between as f32).clamp(low, high),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::text::parse;
    use crate::relations::unit;

    #[test]
    fn nan_negative_zeros_and_endpoints_beyond_the_constraint_are_violations() {
        let function =
            parse("fn f(a: f32) -> (r: f32) { %0 = abs a return %0 }").expect("it is well formed");
        let unit = Floats { negative_zero: false, ..Floats::between(0.0, 1.0) };
        let bounds = vec![Bounds::Float(unit); function.len()];
        let units = unit::find(&function, &[None]);
        let point = PointShader {
            function: &function,
            is_interval: &[true, true],
            bounds,
            units,
            orders: vec![],
        };
        let value = function.body.yields[0];
        let violates = |min: f32, set: Floats| {
            let constraint = Constraint::replace(Bounds::Float(set));
            find_violation(&point, value, &Refinement::AtLeast(min), &constraint).is_some()
        };
        let half = Floats::between(0.5, 1.0);
        assert!(!violates(0.5, half) && !violates(0.75, half) && !violates(0.0, unit));
        // The refinement claims that members are at least 0.5, but computes a lower endpoint below
        // that, a NaN, or a zero that abs never returns.
        assert!(
            violates(0.25, half)
                && violates(f32::NAN, half)
                && violates(-0.0, Floats::between(-1.0, 1.0))
        );
    }
}
