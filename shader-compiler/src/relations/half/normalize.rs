//! Normalized vectors: `normalize(v)`, `v / length(v)` and `v * inverseSqrt(dot(v, v))`.
//!
//! With u = 2⁻²⁴, let S be the sum of squares in floats. S is finite and at least 2⁻¹⁰⁰, so that
//! subnormal squares are negligible. The relative error of S is 3.01u, of its root 2.51u, of a
//! quotient 3.52u, and of a product with the rounded reciprocal 4.53u. So vₖ ÷ |v| has a relative
//! error of 4.6u, and |v ÷ |v||² of 10u: v ÷ |v| is a unit vector. If S is clamped from below, the
//! vector can be shorter.
//!
//! S is less than 2⁻¹⁰⁰ for v close to 0, in particular for sums of unit vectors that are nearly
//! opposite: (10⁻³⁰, 0, 1) + (0, 0, −1) is divided by 0. Unless static bounds exclude it, a
//! [`Guard`] tests the lower endpoint of S at run time. If the guard fails, nothing is known.
//!
//! The components of v ÷ |v| are vₖ ÷ √(vₖ² + q), where q is the sum of the other squares
//! ([`NormalizedComponent`]). This increases with vₖ, decreases with q for vₖ ≥ 0 and increases
//! with q for vₖ ≤ 0. So its endpoints are at the endpoints of vₖ and q. Also, vₖ² + q = S is not
//! below the lower endpoint of S. Rounding changes the quotient as follows: endpoints of q,
//! computed from endpoints of squares, have a relative error of u with respect to any member, which
//! changes it by 0.6u, and endpoints of S change it by 1.6u; the square of vₖ and two sums have an
//! error of 3.01u, which changes it by 1.6u; the root and the quotient change it by 2u. As |vₖ ÷
//! |v|| is at most 1, and the last sum adds 1.1u, a margin of 16u > 4.6u + 1.6u + 1.6u + 2u + 1.1u,
//! including underflow, is sufficient.

use super::U;
use crate::ir::{Emit, Function, Op, Value};
use crate::relations::{Guard, PointShader};

/// Minimum sum of squares for which underflow is negligible: 2⁻¹⁰⁰.
const MIN_SQUARED_LENGTH: f32 = f32::from_bits((127 - 100) << 23);

/// Bound on ||v|² − 1| for normalized vectors.
pub(super) const NORMALIZED_SLACK: f64 = 10.0 * U;

/// Widening of components' endpoints.
pub(in crate::relations) const MARGIN: f32 = 16.0 / (1 << 24) as f32;

/// A component of a normalized vector.
#[derive(Clone, Debug)]
pub struct NormalizedComponent {
    /// The component before the division.
    component: Value,
    /// The minimum that its square is clamped to; 0 for none.
    floor: f32,
    /// Whether the component is nonnegative or nonpositive, if known.
    sign: Option<bool>,
    /// Squares of the other components.
    others: Vec<Value>,
    /// Squared length.
    sum: Value,
    /// The minimum that the squared length is clamped to; 0 for none.
    min_squared_length: f32,
    guard: Option<Guard>,
}

/// A term of a sum of squares: `value` is the square of `component`, or its maximum with `floor`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Square {
    pub(super) component: Value,
    value: Value,
    pub(super) floor: f32,
}

/// The length that a vector is divided by.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Divisor {
    /// The length, or its reciprocal.
    value: Value,
    pub(super) squares: Vec<Square>,
    /// Squared length, possibly clamped.
    pub(super) sum: Value,
    /// The minimum that the squared length is clamped to; 0 for none.
    min_squared_length: f32,
    pub(super) guard: Option<Guard>,
    /// Whether quotients may be shorter than 1, because something is clamped.
    pub(super) may_be_short: bool,
}

/// Matches a component divided by its vector's length. Returns the component and the divisor.
pub(super) fn quotient(point: &PointShader<'_>, value: Value) -> Option<(Value, Divisor)> {
    let (op, args) = point.function.operation(value)?;
    let (Op::Div | Op::Mul, &[a, b]) = (op, args) else { return None };
    let matched = |component: Value, divisor: Value| {
        let divisor = Divisor::new(point, divisor, op == Op::Mul)?;
        divisor
            .squares
            .iter()
            .any(|square| square.component == component)
            .then_some((component, divisor))
    };
    matched(a, b).or_else(|| if op == Op::Mul { matched(b, a) } else { None })
}

/// The terms of a sum of two or three squares.
pub(super) fn squares(function: &Function, sum: Value) -> Option<Vec<Square>> {
    let (mut found, mut work) = (vec![], vec![sum]);
    while let Some(value) = work.pop() {
        let (square, floor) = clamped_below(function, value);
        match function.operation(square)? {
            (Op::Mul, &[a, b]) if a == b => found.push(Square { component: a, value, floor }),
            (Op::Add, &[a, b]) if floor == 0.0 => work.extend([b, a]),
            _ => return None,
        }
        if work.len() + found.len() > 3 {
            return None;
        }
    }
    // If a component occurs twice, this is not the squared length of a vector.
    let is_unique = |square: &Square| {
        found.iter().filter(|other| other.component == square.component).count() == 1
    };
    (found.len() > 1 && found.iter().all(is_unique)).then_some(found)
}

/// The operand of a square root, and the square of the minimum that the root is clamped to.
fn root(function: &Function, value: Value) -> Option<(Value, f32)> {
    let (root, floor) = clamped_below(function, value);
    match function.operation(root)? {
        (Op::Sqrt, &[sum]) => Some((sum, floor * floor)).filter(|(_, square)| square.is_finite()),
        _ => None,
    }
}

/// The operand of a maximum with a constant, and the constant; or the value itself, and 0.
fn clamped_below(function: &Function, value: Value) -> (Value, f32) {
    let Some((Op::Max, &[a, b])) = function.operation(value) else { return (value, 0.0) };
    let constant =
        |value: Value| function.constant(value).map(f32::from_bits).filter(|floor| *floor >= 0.0);
    match (constant(a), constant(b)) {
        (None, Some(floor)) => (a, floor),
        (Some(floor), None) => (b, floor),
        _ => (value, 0.0),
    }
}

impl Divisor {
    /// Matches a length, or its reciprocal.
    fn new(point: &PointShader<'_>, value: Value, reciprocal: bool) -> Option<Divisor> {
        let function = point.function;
        let (sum, min_squared_length) = match (reciprocal, function.operation(value)?) {
            (false, _) => root(function, value)?,
            (true, (Op::Rsqrt, &[sum])) => (sum, 0.0),
            (true, (Op::Div, &[one, length]))
                if function.constant(one) == Some(1.0f32.to_bits()) =>
            {
                root(function, length)?
            }
            (true, _) => return None,
        };
        let (inner, clamped_to) = clamped_below(function, sum);
        let squares = squares(function, inner)?;
        let known = point.floats(sum);
        if known.nan || known.high() == f32::INFINITY {
            return None;
        }
        // The guard tests that a clamp to less has no effect.
        let may_be_short = min_squared_length > 0.0
            || clamped_to > MIN_SQUARED_LENGTH
            || squares.iter().any(|square| square.floor > 0.0);
        let is_safe = known.low() >= MIN_SQUARED_LENGTH || min_squared_length >= MIN_SQUARED_LENGTH;
        let guard = (!is_safe).then_some(Guard { value: sum, min: MIN_SQUARED_LENGTH });
        Some(Divisor { value, squares, sum, min_squared_length, guard, may_be_short })
    }
}

impl NormalizedComponent {
    pub(super) fn new(
        point: &PointShader<'_>,
        component: Value,
        divisor: &Divisor,
    ) -> NormalizedComponent {
        let floats = point.floats(component);
        let others = divisor
            .squares
            .iter()
            .filter(|square| square.component != component)
            .map(|square| square.value);
        let floor = divisor
            .squares
            .iter()
            .filter(|square| square.component == component)
            .map(|square| square.floor);
        let sign = if floats.low() >= 0.0 {
            Some(true)
        } else {
            Some(false).filter(|_| floats.high() <= 0.0)
        };
        NormalizedComponent {
            component,
            floor: floor.fold(0.0, f32::max),
            sign,
            others: others.collect(),
            sum: divisor.sum,
            min_squared_length: divisor.min_squared_length,
            guard: divisor.guard,
        }
    }

    /// The values from which the endpoints are computed.
    pub(in crate::relations) fn sources(&self) -> Vec<Value> {
        [self.component, self.sum].into_iter().chain(self.others.iter().copied()).collect()
    }

    pub(in crate::relations) fn is_guarded(&self) -> bool {
        self.guard.is_some()
    }

    /// Endpoints from the component before the division, the other squares and the sum.
    pub(in crate::relations) fn endpoints<E: Emit<Value: PartialEq>>(
        &self,
        emit: &mut E,
        of: impl Fn(Value) -> [E::Value; 2],
    ) -> [E::Value; 2] {
        let others = self.others.iter().map(|&other| of(other));
        let others = others.collect::<Vec<_>>().into_iter();
        let q = others.reduce(|a, b| [0, 1].map(|side| emit.op(Op::Add, &[a[side], b[side]])));
        let q = q.expect("a vector has other components");
        let endpoints = [0, 1].map(|side| {
            let v = of(self.component)[side];
            let [below, above] = if side == 0 { q } else { [q[1], q[0]] };
            let q = match self.sign {
                Some(true) => above,
                Some(false) => below,
                None => {
                    let zero = emit.f32(0.0);
                    let is_below = emit.op(Op::Lt, &[v, zero]);
                    emit.op(Op::Select, &[is_below, below, above])
                }
            };
            self.endpoint(emit, v, q, of(self.sum)[0], side)
        });
        match self.guard {
            Some(guard) => guard.guarded(emit, of, endpoints),
            None => endpoints,
        }
    }

    /// One endpoint: v ÷ √(v² + q), widened.
    fn endpoint<E: Emit>(
        &self,
        emit: &mut E,
        v: E::Value,
        q: E::Value,
        sum: E::Value,
        side: usize,
    ) -> E::Value {
        let clamp = |emit: &mut E, value: E::Value, floor: f32| {
            if floor == 0.0 {
                return value;
            }
            let floor = emit.f32(floor);
            emit.op(Op::Max, &[value, floor])
        };
        let square = emit.op(Op::Mul, &[v, v]);
        let square = clamp(emit, square, self.floor);
        let squared_length = emit.op(Op::Add, &[square, q]);
        let squared_length = emit.op(Op::Max, &[squared_length, sum]);
        let squared_length = clamp(emit, squared_length, self.min_squared_length);
        let length = emit.op(Op::Sqrt, &[squared_length]);
        let quotient = emit.op(Op::Div, &[v, length]);
        let margin = emit.f32(if side == 0 { -MARGIN } else { MARGIN });
        emit.op(Op::Add, &[quotient, margin])
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{NAN, half};
    use crate::random::Random;
    use crate::relations::Relations;
    use crate::relations::testing::{Bounder, box_around, nearly_unit};

    #[test]
    fn normalized_vectors_are_within_the_endpoints() {
        let text = "fn f(x: f32, y: f32, z: f32) -> (a: f32, b: f32, c: f32, d: f32, e: f32) {
            %0 = mul x, x
            %1 = mul y, y
            %2 = mul z, z
            %3 = add %0, %1
            %4 = add %2, %3
            %5 = sqrt %4
            %6 = div z, %5
            %7 = rsqrt %4
            %8 = mul x, %7
            %9 = max %5, 0.001
            %10 = div x, %9
            %11 = max %4, 1e-12
            %12 = sqrt %11
            %13 = div 1.0, %12
            %14 = mul %13, y
            %15 = max %2, 1e-4
            %16 = add %15, %3
            %17 = rsqrt %16
            %18 = mul z, %17
            return %6, %8, %10, %14, %18
        }";
        let mut random = Random::new(31);
        for nan in NAN {
            let bounders = [Relations::NONE, half()]
                .map(|relations| Bounder::new(text, &[None; 3], relations, nan));
            let mut widths = [0.0; 2];
            for _ in 0..20_000 {
                let scale = *random.pick(&[1.0, 1.0, 1e-2, 1e-6, 1e-14, 1e-16, 1e-22, 1e-30]);
                let v = nearly_unit(&mut random, None).map(|x| x * scale);
                let mut endpoints = box_around(&mut random, v);
                if random.once_in(2) {
                    endpoints = std::array::from_fn(|k| {
                        endpoints[k].map(|end| (v[k] + (end - v[k]) * scale).clamp(-1.0, 1.0))
                    });
                }
                let members = [v, [0, 1, 2].map(|k| endpoints[k][random.below(2)]), [0.0; 3]];
                let inside = |member: &[f32; 3]| {
                    (0..3).all(|k| endpoints[k][0] <= member[k] && member[k] <= endpoints[k][1])
                };
                let bounds = bounders
                    .each_ref()
                    .map(|bounder| bounder.run(&endpoints, members.iter().filter(|m| inside(m))));
                for [plain, tight] in std::iter::zip(&bounds[0], &bounds[1]).map(|(a, b)| [a, b]) {
                    let finite = plain[1] - plain[0] <= 100.0;
                    widths = [0, 1].map(|k| {
                        widths[k]
                            + if finite {
                                f64::from([plain, tight][k][1] - [plain, tight][k][0])
                            } else {
                                0.0
                            }
                    });
                }
            }
            assert!(widths[1] < 0.8 * widths[0], "{widths:?}");
        }
    }

    #[test]
    fn lookalikes_of_unit_vectors_are_rejected() {
        // In the first function, a component occurs twice; in the second, the square of the floor
        // is infinite.
        let twice = "fn f(x: f32, y: f32, z: f32) -> (a: f32, b: f32, c: f32, d: f32) {
            %0 = mul x, x
            %1 = add %0, %0
            %2 = mul z, z
            %3 = add %1, %2
            %4 = sqrt %3
            %5 = div x, %4
            %6 = div z, %4
            %7 = mul %5, %5
            %8 = mul %6, %6
            %9 = add %7, %8
            %10 = sqrt %1
            %11 = div x, %10
            return %5, %6, %9, %11
        }";
        let infinite_floor = "fn f(x: f32, y: f32, z: f32) -> (a: f32, b: f32) {
            %0 = mul x, 1e19
            %1 = mul z, 1e19
            %2 = mul %0, %0
            %3 = mul %1, %1
            %4 = add %2, %3
            %5 = sqrt %4
            %6 = max %5, 1e20
            %7 = div %0, %6
            %8 = div %1, %6
            return %7, %8
        }";
        let mut random = Random::new(41);
        for (text, nan) in
            [twice, infinite_floor].into_iter().flat_map(|text| NAN.map(|nan| (text, nan)))
        {
            let bounder = Bounder::new(text, &[None; 3], half(), nan);
            for _ in 0..5000 {
                let v = nearly_unit(&mut random, None);
                bounder.run(&box_around(&mut random, v), [&v]);
            }
        }
    }
}
