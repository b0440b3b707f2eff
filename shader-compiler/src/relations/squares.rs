//! Squares of the components of a unit vector add up to 1: x² + y² = 1 − z², 1 − z² = x² + y²,
//! 1 − x² − y² = z².
//!
//! A value of the form c + k Σ pᵢ², over some components pᵢ of one unit vector, with k = ±1 and a
//! constant c, equals c + k (1 − Σ rⱼ²) over the other components rⱼ. So it is within the endpoints
//! of that expression, and is at most c + 1 for k = 1, or at least c − 1 for k = −1. The terms may
//! come in any order, and (1 − z)(1 + z) counts as 1 − z². For vectors that can be shorter than 1,
//! only one of the endpoints is valid and used.
//!
//! # Rounding
//!
//! Let ||v|² − 1| ≤ α, u = 2⁻²⁴ and M = |c| + 1 + α. The value has at most four terms and three
//! additions. Squares have a relative error of u, in total less than uM. Each sum has a relative
//! error of u, and its magnitude is at most M (1 + 4u). The total is at most 4.02 uM, which
//! includes the underflow of the squares, 2⁻¹⁴⁸. (1 − z)(1 + z) has a relative error of 3.01u. Its
//! magnitude is at most 1 for |z| ≤ 1, and of the order of |z| − 1 beyond. The endpoints are those
//! of C − Σ rⱼ² or C + Σ rⱼ², with at most two squares of endpoints within ±(1 + 2⁻¹⁹): squares and
//! their sum have an error of at most 4.03u, and the last sum has an error of u (|c| + 3.1). So for
//! C = c + k ± (α + u (4.02 (|c| + 1 + α) + 4.03 + |c| + 3.1)), rounded away from c + k, the
//! endpoints enclose the value. The widening is less than α + u (5.1 |c| + 11.3). For endpoints
//! beyond ±(1 + 2⁻¹⁹), the sum of squares exceeds 1 by far more than its error.

use super::unit::UnitVector;
use super::{Guard, PointShader, Refinement, RelationInfo};
use crate::interval::{Bounds, Floats};
use crate::ir::{Emit, Function, Op, Value};

/// Squares of some components of a unit vector, and a constant.
#[derive(Clone, Debug)]
pub struct Squares {
    /// The other components, and whether each is known to be nonnegative.
    others: Vec<(Value, bool)>,
    /// Whether the squares of the other components are subtracted: k = 1.
    subtracts: bool,
    /// C for the lower and the upper endpoint; infinite if unbounded.
    constants: [f32; 2],
    guard: Option<Guard>,
}

/// A constant and squares, each with a sign.
struct Sum {
    constant: f64,
    squares: Vec<(Value, bool)>,
}

/// Finds sums of squares of components of unit vectors.
pub(super) fn find(point: &PointShader<'_>, related: &mut RelationInfo) {
    point.for_each_operation(|value, scope| {
        let Some(sum) = sum(point.function, value) else { return };
        let squares = |unit: &UnitVector| Squares::new(point, scope, unit, &sum);
        let Some(squares) = point.units.iter().find_map(squares) else { return };
        let [min, max] = squares.constants;
        let implied = match squares.guard {
            Some(_) => Floats::all(),
            None if squares.others.is_empty() => Floats::between(min, max),
            None if squares.subtracts => Floats::between(f32::NEG_INFINITY, max),
            None => Floats::between(min, f32::INFINITY),
        };
        related.add(point, value, Refinement::Squares(squares), Bounds::Float(implied));
    });
}

/// Matches a sum of squares and at most one constant.
fn sum(function: &Function, value: Value) -> Option<Sum> {
    if let Some(z) = conjugate_product(function, value) {
        return Some(Sum { constant: 1.0, squares: vec![(z, true)] });
    }
    let (mut found, mut constants) = (Sum { constant: 0.0, squares: vec![] }, 0);
    let mut work = vec![(value, false)];
    while let Some((value, subtracts)) = work.pop() {
        match function.operation(value) {
            Some((Op::Add, &[a, b])) => work.extend([(b, subtracts), (a, subtracts)]),
            Some((Op::Sub, &[a, b])) => work.extend([(b, !subtracts), (a, subtracts)]),
            Some((Op::Mul, &[a, b])) if a == b => found.squares.push((a, subtracts)),
            _ => {
                let constant = function.constant(value).filter(|_| constants == 0)?;
                let constant = Some(f32::from_bits(constant)).filter(|x| x.is_finite())?;
                constants += 1;
                found.constant = f64::from(constant) * if subtracts { -1.0 } else { 1.0 };
            }
        }
        if work.len() + found.squares.len() > 4 {
            return None;
        }
    }
    Some(found)
}

/// Matches (1 − z)(1 + z); returns z.
fn conjugate_product(function: &Function, value: Value) -> Option<Value> {
    let (Op::Mul, &[a, b]) = function.operation(value)? else { return None };
    let is_one = |value: Value| function.constant(value) == Some(1.0f32.to_bits());
    [(a, b), (b, a)].into_iter().find_map(|(difference, sum)| {
        match (function.operation(difference)?, function.operation(sum)?) {
            ((Op::Sub, &[one, z]), (Op::Add, &[c, d]))
                if is_one(one) && (c == z && is_one(d) || d == z && is_one(c)) =>
            {
                Some(z)
            }
            _ => None,
        }
    })
}

impl Squares {
    /// The refinement of a sum of squares of components of `unit`, if it may be tighter than the
    /// interval lowering of the sum.
    fn new(
        point: &PointShader<'_>,
        scope: &[bool],
        unit: &UnitVector,
        sum: &Sum,
    ) -> Option<Squares> {
        let subtracts = !sum.squares.first()?.1;
        let is_component = |(component, negative): &(Value, bool)| {
            unit.components.contains(component) && *negative != subtracts
        };
        let used =
            |component: &Value| sum.squares.iter().filter(|square| square.0 == *component).count();
        let (magnitude, constant) = (sum.constant.abs(), sum.constant);
        // A single square, or 0 minus squares, gains nothing. Without a constant, 0 may have a sign
        // that the endpoints do not have.
        let is_informative =
            if subtracts { constant != 0.0 || sum.squares.len() > 1 } else { constant != 0.0 };
        if !sum.squares.iter().all(is_component)
            || !unit.components.iter().all(|component| used(component) <= 1)
            || !is_informative
            || magnitude > 16.0
        {
            return None;
        }
        let others: Vec<_> =
            unit.components.iter().copied().filter(|component| used(component) == 0).collect();
        if !others.iter().all(|component| scope[component.index()]) {
            return None;
        }
        let slack = unit.slack + (5.1 * magnitude + 11.3) / f64::from(1 << 24);
        let middle = constant + if subtracts { 1.0 } else { -1.0 };
        let mut constants =
            [((middle - slack) as f32).next_down(), ((middle + slack) as f32).next_up()];
        if unit.may_be_short {
            constants[usize::from(!subtracts)] =
                if subtracts { f32::NEG_INFINITY } else { f32::INFINITY };
        }
        let others = others
            .into_iter()
            .map(|component| (component, point.floats(component).low() >= 0.0))
            .collect();
        Some(Squares { others, subtracts, constants, guard: unit.guard })
    }

    /// The values from which the endpoints are computed.
    pub(super) fn sources(&self) -> Vec<Value> {
        self.others
            .iter()
            .map(|&(component, _)| component)
            .chain(self.guard.map(|guard| guard.value))
            .collect()
    }

    pub(super) fn is_guarded(&self) -> bool {
        self.guard.is_some()
    }

    /// Endpoints from the other components.
    pub(super) fn endpoints<E: Emit<Value: PartialEq>>(
        &self,
        emit: &mut E,
        of: impl Fn(Value) -> [E::Value; 2],
    ) -> [E::Value; 2] {
        let mut endpoints = self.constants.map(|end| emit.f32(end));
        let squares: Vec<_> = self
            .others
            .iter()
            .map(|&(component, positive)| square(emit, of(component), positive))
            .collect();
        let total = squares
            .into_iter()
            .reduce(|a, b| [0, 1].map(|side| emit.op(Op::Add, &[a[side], b[side]])));
        if let Some([lo, hi]) = total {
            endpoints = match self.subtracts {
                true => {
                    [emit.op(Op::Sub, &[endpoints[0], hi]), emit.op(Op::Sub, &[endpoints[1], lo])]
                }
                false => {
                    [emit.op(Op::Add, &[endpoints[0], lo]), emit.op(Op::Add, &[endpoints[1], hi])]
                }
            };
        }
        match self.guard {
            Some(guard) => guard.guarded(emit, of, endpoints),
            None => endpoints,
        }
    }
}

/// Endpoints of the square of an interval.
fn square<E: Emit<Value: PartialEq>>(
    emit: &mut E,
    [lo, hi]: [E::Value; 2],
    positive: bool,
) -> [E::Value; 2] {
    let [low, high] = [lo, hi].map(|end| emit.op(Op::Mul, &[end, end]));
    if positive || lo == hi {
        return [low, high];
    }
    let zero = emit.f32(0.0);
    let below = emit.op(Op::Neg, &[hi]);
    let min = emit.op(Op::Max, &[lo, below]);
    let min = emit.op(Op::Max, &[min, zero]);
    [emit.op(Op::Mul, &[min, min]), emit.op(Op::Max, &[low, high])]
}

#[cfg(test)]
mod tests {
    use super::super::testing::{axes, box_around, compare, nearly_unit, related};
    use super::super::{Refinement, Relation, Relations};
    use crate::bounding::Frame;
    use crate::interpreter;
    use crate::interval::{Bounds, Nan};
    use crate::ir::Type;
    use crate::ir::text::parse;
    use crate::math::eval::ConstantEvaluator;
    use crate::random::Random;

    #[test]
    fn sums_of_squares_are_within_the_endpoints() {
        let text =
            "fn f(x: f32, y: f32, z: f32) -> (a: f32, b: f32, c: f32, d: f32, e: f32, f: f32) {
            %0 = mul x, x
            %1 = mul y, y
            %2 = mul z, z
            %3 = add %0, %2
            %4 = add %1, %3
            %5 = sub 1.0, %2
            %6 = sub 1.0, z
            %7 = add z, 1.0
            %8 = mul %7, %6
            %9 = sub %5, %0
            %10 = add %2, -1.0
            return %3, %4, %5, %8, %9, %10
        }";
        let point = parse(text).expect("the text is well formed");
        let found =
            related(&point, &axes(1), Relations::NONE.with(Relation::Unit).with(Relation::Squares));
        let mut random = Random::new(11);
        let mut narrow = [0; 6];
        for _ in 0..100_000 {
            let v = nearly_unit(&mut random, None);
            let endpoints = box_around(&mut random, v);
            let values =
                interpreter::run(&point, &[], &v.map(f32::to_bits), 1).expect("there is no loop");
            for (k, (&result, value)) in std::iter::zip(&point.body.yields, values).enumerate() {
                let of = |value: crate::ir::Value| endpoints[value.index()].map(f32::to_bits);
                let is_squares =
                    |refinement: &&Refinement| matches!(refinement, Refinement::Squares(_));
                let refinement = found.refinements[result.index()]
                    .iter()
                    .find(is_squares)
                    .expect("each output has a refinement");
                let [lo, hi] =
                    refinement.endpoints(&mut ConstantEvaluator::default(), of).map(f32::from_bits);
                let value = f32::from_bits(value);
                assert!(
                    lo <= value && value <= hi,
                    "output {k} of {v:?} in {endpoints:?}: {value} is not in [{lo}, {hi}]"
                );
                assert!(
                    found.constraints[result.index()]
                        .apply(&Bounds::all(Type::F32))
                        .contains(value.to_bits()),
                    "output {k} of {v:?}: {value}"
                );
                narrow[k] += usize::from(hi - lo < 1e-3);
            }
        }
        assert!(narrow.iter().all(|&count| count > 10_000), "{narrow:?}");
    }

    #[test]
    fn materials_with_sines_have_tighter_bounds() {
        let source = "struct Material { kd: vec3f }
            fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
                let sine = sqrt(max(1.0 - wi.z * wi.z, 0.0));
                let radius = sqrt(wi.x * wi.x + wi.y * wi.y);
                return vec3f(sine, radius, (1.0 - wi.z) * (1.0 + wi.z) / max(wi.z * wi.z, 0.01));
            }";
        let unit = Relations::NONE.with(Relation::Unit);
        for frame in [Frame::Local, Frame::World] {
            for nan in [Nan::Propagate, Nan::Suppress, Nan::Ignore] {
                let [plain, found] = [unit, unit.with(Relation::Squares)]
                    .map(|relations| compare(source, frame, nan, relations, 10.0, 400));
                println!("{frame:?}, {nan:?}: {plain:?}, {found:?}");
                assert!(
                    found.members > 10_000 && found.gain > plain.gain + 0.03,
                    "{plain:?}, {found:?}"
                );
            }
        }
    }

    #[test]
    fn sums_with_a_constant_that_is_nan_have_no_refinement() {
        let text = "fn f(x: f32, y: f32, z: f32) -> (r: f32) {
            %0 = mul x, x %1 = mul y, y %2 = mul z, z %3 = add %0, %1 %4 = add %3, %2
            %5 = add %4, nan
            return %5
        }";
        let point = parse(text).unwrap();
        let related = related(&point, &axes(1), Relations::NONE.with(Relation::Squares));
        assert!(related.refinements[point.body.yields[0].index()].is_empty());
    }
}
