//! Values that increase, or decrease, in a value that is used several times, as z / √(z² + y²) does
//! in z.
//!
//! Interval lowerings treat each use independently: for the upper endpoint, they take z̄ in the
//! numerator and z̲ in the denominator. Suppose [`Growth`](super::growth::Growth) proves that a
//! value v, as a function of some uses of t, is increasing for real numbers, for any other
//! operands. Then v is at most its value with t̄ in all of these uses. So the operations from t to
//! v are lowered a second time, with these uses of t *pinned* to a singleton and all other operands
//! as intervals; operations that do not change are shared. In the following, v is increasing, and
//! we compute the upper endpoint. The other cases are symmetric.
//!
//! # Proof
//!
//! Let F be the function of floats, G the function of real numbers with the same operations, and u
//! all operands that are not pinned. [`RoundingError`] bounds the distance between F(t, u) and G(t,
//! u), and between F(t̄, u) and G(t̄, u) ≥ G(t, u). F(t̄, u) is within the endpoints of the second
//! lowering. About t̄ and u, we only know that each is within its own bounds. So the bounds on the
//! operations between t and v are those of [`transfer`](crate::analysis::transfer::transfer):
//! constraints of other relations need not hold at (t̄, u). There are two methods to compensate for
//! rounding errors.
//!
//! - *Widening.* All of the uses are pinned to t̄, and the endpoint is widened. It is intersected
//!   with the endpoint of v's own lowering.
//! - *Moving.* If v ≥ 0 and t ≥ 0, only the uses in which v may decrease are pinned; they are the
//!   second argument of v = F(t, t, u). There, the interval of t is reduced to [t', t̄], where t'
//!   is some ulps below t̄, or t̲ if that is greater. So F(t, t, u) is within the lowering's
//!   endpoints for members with t ≥ t'. For the others, G(t, t, u) ≤ G(t', t', u) ≤
//!   (t'/t̄)ᵉ G(t̄, t', u), where e is the minimum elasticity of G in its first argument, which
//!   must be positive: t' is chosen such that this factor compensates for the relative errors. The
//!   absolute errors, which come from subnormal results, are added as a shift. As [t', t̄] is
//!   within t's endpoints, the new endpoint without the shift is within the endpoint of v's own
//!   lowering. It replaces that endpoint at no cost if v is an output or the shift is 0. Otherwise,
//!   operations after v might amplify the shift, and the two endpoints are intersected. All of this
//!   requires that the operations between t and v have the endpoints of their lowering, so they may
//!   have no refinements.
//!
//! Special cases:
//!
//! - *Monotone pieces.* If t can have both signs, v is analyzed for t ≤ 0 and for t ≥ 0 separately.
//!   v is continuous, since all operations are continuous where they are defined. If v is 0 for
//!   t ≤ 0, only t ≥ 0 needs analysis: the endpoint of v's lowering is not below 0.
//! - *Constraints.* They do hold at (t, u). From t to t̄, a constraint remains valid if the value
//!   moves away from it: a decreasing value stays below its upper constraint.
//! - *Guards.* If v is increasing only for t ≥ c, where some operation is max(t, c), the endpoint
//!   holds for boxes with t̲ ≥ c.
//! - *Clamped operands.* With a factor of unknown sign, it is unknown whether v is increasing. If
//!   v, in floats, is non-decreasing in the factor, replacing the factor by its maximum with 0 does
//!   not decrease v, and makes the sign known. That suffices for upper endpoints with widening.
//!   With moving, the proof above covers members with a nonnegative factor. For a negative factor,
//!   v must be increasing in floats in the uses in which it decreases for a nonnegative one:
//!   F(t, t, u) ≤ F(t, t', u) for t < t'.

mod pinned;
mod search;

use super::rounding::RoundingError;
use crate::interval::{Bounds, Facts, Floats, Interval, Nan, OpLowering};
use crate::ir::{Emit, Op, Value};
use crate::range::Range;
pub(super) use search::find;

/// A value as a monotone function of a value that it uses several times.
#[derive(Clone, Debug)]
pub struct Monotone {
    /// The value that is used several times.
    source: Value,
    /// The operations that depend on the pinned uses of the source, up to the value.
    steps: Vec<Step>,
    /// Operands that are clamped to nonnegative values.
    clamped: Vec<Value>,
    /// Sign of the value.
    sign: Sign,
    /// How the lower and the upper endpoint are computed.
    endpoints: [Option<PinnedEndpoint>; 2],
    /// Whether moved endpoints replace the endpoints of the interval lowering. This requires that
    /// no operation on the path can be NaN, which the lowering would have to report, and that no
    /// operation after a shift can amplify it.
    replaces: bool,
}

/// One operation of the second lowering.
#[derive(Clone, Debug)]
struct Step {
    value: Value,
    op: Op,
    args: Vec<Arg>,
    bounds: Bounds,
}

/// An operand of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Arg {
    /// The source, pinned.
    Pinned(Floats),
    /// The result of a step.
    Step(usize),
    /// Another value.
    Other { value: Value, bounds: Bounds, singleton: bool },
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Sign {
    Plus,
    Minus,
    Any,
}

impl Sign {
    fn of(bounds: &Bounds) -> Sign {
        match bounds {
            Bounds::Float(floats) if floats.low() >= 0.0 => Sign::Plus,
            Bounds::Float(floats) if floats.high() <= 0.0 => Sign::Minus,
            _ => Sign::Any,
        }
    }
}

/// How an endpoint is computed from a pinned source.
#[derive(Clone, Copy, Debug, PartialEq)]
struct PinnedEndpoint {
    /// Index of the source's endpoint to which uses are pinned.
    source_side: usize,
    method: Method,
}

/// How an endpoint accounts for rounding errors.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Method {
    /// The endpoint is widened by the error. The source must not be below the guard.
    Widening { error: RoundingError, guard: Option<f32> },
    /// Pinned uses are an interval of some ulps at an endpoint of the source, and the result is
    /// shifted.
    Moving { ulps: i32, shift: f32 },
}

/// Direction in which a value moves as the source increases.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Direction {
    Constant,
    Increasing,
    Decreasing,
}

impl Direction {
    /// The direction for a slope, with the source in a range of one sign.
    fn of(slope: Range<f64>, source: Range<f64>) -> Option<Direction> {
        match (slope.is_nonnegative(), slope.is_nonpositive()) {
            (true, true) => Some(Direction::Constant),
            (true, _) => Some(if source.is_nonnegative() {
                Direction::Increasing
            } else {
                Direction::Decreasing
            }),
            (_, true) => Some(if source.is_nonnegative() {
                Direction::Decreasing
            } else {
                Direction::Increasing
            }),
            _ => None,
        }
    }

    /// Direction of the negated value.
    fn reversed(self) -> Direction {
        match self {
            Direction::Constant => Direction::Constant,
            Direction::Increasing => Direction::Decreasing,
            Direction::Decreasing => Direction::Increasing,
        }
    }

    /// Direction of the product with a constant of the given sign.
    fn times(self, sign: Sign) -> Option<Direction> {
        match sign {
            Sign::Plus => Some(self),
            Sign::Minus => Some(self.reversed()),
            Sign::Any => (self == Direction::Constant).then_some(self),
        }
    }

    /// Direction on two pieces together, or of the sum of two values; `None` if unknown.
    fn and(self, other: Direction) -> Option<Direction> {
        match (self, other) {
            (Direction::Constant, direction) | (direction, Direction::Constant) => Some(direction),
            (a, b) => (a == b).then_some(a),
        }
    }
}

/// Whether a value is finite: neither NaN nor infinite.
fn is_finite(bounds: &Bounds) -> bool {
    match bounds {
        Bounds::Float(floats) => {
            !floats.nan && floats.low().is_finite() && floats.high().is_finite()
        }
        _ => true,
    }
}

/// The range of a float that is not NaN.
fn range(floats: &Floats) -> Range<f64> {
    Range::new(f64::from(floats.low()), f64::from(floats.high()))
}

impl Monotone {
    /// The values from which the endpoints are computed.
    pub(super) fn sources(&self) -> Vec<Value> {
        let other =
            |arg: &Arg| if let Arg::Other { value, .. } = arg { Some(*value) } else { None };
        self.steps
            .iter()
            .flat_map(|step| &step.args)
            .filter_map(other)
            .chain([self.source])
            .collect()
    }

    /// Whether an endpoint replaces the one of the interval lowering. Except below 1e-30, it is
    /// never wider.
    pub(super) fn replaces_lowering(&self, side: usize) -> bool {
        self.replaces
            && matches!(
                self.endpoints[side],
                Some(PinnedEndpoint { method: Method::Moving { .. }, .. })
            )
    }

    /// Endpoints with the source pinned; infinite if unknown.
    pub(super) fn endpoints<E: Emit<Value: PartialEq>>(
        &self,
        emit: &mut E,
        of: impl Fn(Value) -> [E::Value; 2],
    ) -> [E::Value; 2] {
        [0, 1].map(|side| {
            let Some(endpoint) = self.endpoints[side] else { return emit.f32(UNBOUNDED[side]) };
            let source = of(self.source);
            match endpoint.method {
                Method::Widening { error, guard } => {
                    let x = self.endpoint(emit, &of, side, [source[endpoint.source_side]; 2]);
                    let x = self.widened(emit, x, side, error);
                    let Some(floor) = guard else { return x };
                    let [floor, unbounded] = [floor, UNBOUNDED[side]].map(|x| emit.f32(x));
                    let is_above = emit.op(Op::Le, &[floor, source[0]]);
                    emit.op(Op::Select, &[is_above, x, unbounded])
                }
                Method::Moving { ulps, shift } => {
                    let part = self.part(emit, source, endpoint.source_side, ulps);
                    let x = self.endpoint(emit, &of, side, part);
                    self.shifted(emit, x, side, source, shift)
                }
            }
        })
    }

    /// One endpoint of the last step, with a given interval for pinned uses.
    fn endpoint<E: Emit<Value: PartialEq>>(
        &self,
        emit: &mut E,
        of: &impl Fn(Value) -> [E::Value; 2],
        side: usize,
        source: [E::Value; 2],
    ) -> E::Value {
        let mut intervals: Vec<Interval<E::Value>> = vec![];
        for step in &self.steps {
            let mut arg = |arg: &Arg| match *arg {
                Arg::Pinned(floats) => {
                    interval(source, Bounds::Float(floats), source[0] == source[1])
                }
                Arg::Step(step) => intervals[step],
                Arg::Other { value, bounds, singleton } => {
                    let mut endpoints = of(value);
                    if self.clamped.contains(&value) {
                        let zero = emit.f32(0.0);
                        endpoints = endpoints.map(|end| emit.op(Op::Max, &[zero, end]));
                    }
                    interval(endpoints, bounds, singleton)
                }
            };
            let args: Vec<_> = step.args.iter().map(&mut arg).collect();
            let mut lowering = OpLowering {
                emit,
                nan: Nan::Ignore,
                same: is_same(&step.args),
                nan_free: vec![],
                case: "",
            };
            intervals.push(interval(lowering.apply(step.op, &args), step.bounds, false));
        }
        let last = intervals.last().expect("there are steps");
        [last.lo, last.hi][side]
    }

    /// Whether the source can be negative, or −0.
    fn is_signed(&self) -> bool {
        self.steps.iter().flat_map(|step| &step.args).any(|arg| match arg {
            Arg::Pinned(floats) => floats.low() < 0.0 || floats.negative_zero,
            _ => false,
        })
    }

    /// The part of the source at one endpoint, `ulps` wide. The entire source if it is not wider,
    /// or if the endpoint is close to 0.
    fn part<E: Emit>(
        &self,
        emit: &mut E,
        [lo, hi]: [E::Value; 2],
        side: usize,
        ulps: i32,
    ) -> [E::Value; 2] {
        let count = emit.i32(ulps);
        if side == 1 {
            // For zeros and their neighbours, this is NaN, which the maximum ignores.
            let bits = emit.op(Op::Bits, &[hi]);
            let bits = emit.op(Op::ISub, &[bits, count]);
            let moved = emit.op(Op::Float, &[bits]);
            return [emit.op(Op::Max, &[lo, moved]), hi];
        }
        // Do not start at 0, because arithmetic on subnormal numbers is slow.
        let tiny = emit.f32(MIN_MOVED_SOURCE);
        let min = emit.op(Op::Max, &[tiny, lo]);
        let bits = emit.op(Op::Bits, &[min]);
        let bits = emit.op(Op::IAdd, &[bits, count]);
        let moved = emit.op(Op::Float, &[bits]);
        [lo, emit.op(Op::Min, &[hi, moved])]
    }

    /// Moves an endpoint outwards by a shift, for nonnegative sources.
    fn shifted<E: Emit>(
        &self,
        emit: &mut E,
        x: E::Value,
        side: usize,
        source: [E::Value; 2],
        shift: f32,
    ) -> E::Value {
        let [mut shift, zero] = [shift, 0.0].map(|x| emit.f32(x));
        if side == 0 {
            let x = emit.op(Op::Sub, &[x, shift]);
            return if self.sign == Sign::Plus { emit.op(Op::Max, &[zero, x]) } else { x };
        }
        if self.is_signed() {
            let is_positive = emit.op(Op::Lt, &[zero, source[1]]);
            shift = emit.op(Op::Select, &[is_positive, shift, zero]);
        }
        emit.op(Op::Add, &[x, shift])
    }

    /// Moves an endpoint outwards by an error.
    fn widened<E: Emit>(
        &self,
        emit: &mut E,
        x: E::Value,
        side: usize,
        error: RoundingError,
    ) -> E::Value {
        let [factor, shift] = error.widening();
        let inverse = (1.0 / f64::from(factor)) as f32;
        // Away from 0, and towards 0.
        let [away, towards] = [factor, inverse.next_down()].map(|factor| emit.f32(factor));
        let outwards = if side == 1 { Sign::Plus } else { Sign::Minus };
        let x = match self.sign {
            Sign::Any => {
                let [a, b] = [away, towards].map(|factor| emit.op(Op::Mul, &[x, factor]));
                emit.op([Op::Min, Op::Max][side], &[a, b])
            }
            sign => emit.op(Op::Mul, &[x, if sign == outwards { away } else { towards }]),
        };
        let shift = emit.f32(shift);
        emit.op([Op::Sub, Op::Add][side], &[x, shift])
    }
}

/// Whether both operands of an operation are one value.
fn is_same(args: &[Arg]) -> bool {
    matches!(args, [a, b] if a == b)
}

/// Minimum of moved sources, so that products with operands that are not much smaller are normal
/// numbers.
const MIN_MOVED_SOURCE: f32 = 1e-20;

/// Endpoints of an unbounded interval.
const UNBOUNDED: [f32; 2] = [f32::NEG_INFINITY, f32::INFINITY];

fn interval<V>([lo, hi]: [V; 2], known: Bounds, singleton: bool) -> Interval<V> {
    let negative_zero = matches!(known, Bounds::Float(floats) if floats.negative_zero);
    Interval { lo, hi, known, facts: Facts { nan: false, negative_zero, singleton } }
}

#[cfg(test)]
mod tests {
    use super::search::find_within_budget;
    use super::*;
    use crate::interpreter;
    use crate::ir::text::parse;
    use crate::ir::{Def, Function};
    use crate::lift::{self, Input, Lifted, Options};
    use crate::math::eval::ConstantEvaluator;
    use crate::random::Random;
    use crate::relations::{PointShader, Relation, RelationInfo, Relations};

    /// A function and a range for each input.
    struct Case {
        function: Function,
        inputs: Vec<Input>,
    }

    impl Case {
        fn new(text: &str, inputs: &[(bool, f32, f32)]) -> Case {
            let input = |&(interval, low, high): &(bool, f32, f32)| Input {
                interval,
                bounds: Bounds::Float(Floats::between(low, high)),
                axis: None,
            };
            Case {
                function: parse(text).expect("the text is well formed"),
                inputs: inputs.iter().map(input).collect(),
            }
        }

        fn lifted(&self, nan: Nan, relations: Relations) -> Lifted {
            lift::run(
                &self.function,
                &self.inputs,
                &[0],
                &Options { nan, relations, ..Options::default() },
            )
        }

        /// Endpoints of a random box: of any width, at bounds of inputs, at zeros and across kinks.
        fn endpoints(&self, random: &mut Random) -> Vec<[f32; 2]> {
            let end = |random: &mut Random, input: &Input| {
                let Bounds::Float(floats) = &input.bounds else {
                    unreachable!("inputs are floats")
                };
                let [low, high] = [floats.low(), floats.high()];
                let unit = random.below(1 << 20) as f32 / (1 << 20) as f32;
                let x = match random.below(8) {
                    0 => *random.pick(&[low, high, 0.0, -0.0, 1e-20, 1e-8, 1e-4]),
                    1 => high * f32::from_bits((1 + random.below(126) as u32) << 23),
                    _ => low + (high - low) * unit,
                };
                if !input.interval {
                    return [x.clamp(low, high); 2];
                }
                let wide = match random.below(6) {
                    0 => x.next_up(),
                    1 => x.next_up().next_up().next_up(),
                    2 => x + x.abs() * 1e-6,
                    3 => x + x.abs() * 1e-2,
                    _ => x + (high - low) * *random.pick(&[1e-6, 1e-3, 0.1, 1.0]) * unit,
                };
                [x.clamp(low, high), wide.clamp(low, high)]
            };
            self.inputs.iter().map(|input| end(random, input)).collect()
        }

        /// Checks results of members against endpoints. Returns the median of the width relative to
        /// the width without relations, over boxes where it is narrower, and the percentage of such
        /// boxes.
        fn check(&self, boxes: usize) -> (f64, usize) {
            let mut random = Random::new(11);
            let mut shares = vec![];
            let only = Relations::NONE.with(Relation::Monotone);
            let modes = [Nan::Ignore, Nan::Suppress, Nan::Propagate]
                .map(|nan| (self.lifted(nan, only), self.lifted(nan, Relations::NONE)));
            for index in 0..boxes {
                let endpoints = self.endpoints(&mut random);
                let run = |function: &Function, words: &[f32]| {
                    let words: Vec<_> = words.iter().map(|x| x.to_bits()).collect();
                    let results =
                        interpreter::run(function, &[], &words, 1 << 20).expect("there is no loop");
                    results.into_iter().map(f32::from_bits).collect::<Vec<_>>()
                };
                let (related, other) = &modes[index % modes.len()];
                let row: Vec<f32> = std::iter::zip(&endpoints, &self.inputs)
                    .flat_map(|(endpoints, input)| &endpoints[..1 + usize::from(input.interval)])
                    .copied()
                    .collect();
                let (found, other) = (run(&related.function, &row), run(&other.function, &row));
                // Bounds may be wider by the absolute error, which is below the smallest normal
                // number.
                assert!(
                    other[0] <= found[0] + 1e-30 && found[1] <= other[1] + 1e-30,
                    "{found:?} is wider than {other:?} for {endpoints:?}"
                );
                for _ in 0..6 {
                    let member: Vec<f32> = endpoints
                        .iter()
                        .map(|endpoints| random_member(&mut random, *endpoints))
                        .collect();
                    let value = run(&self.function, &member)[0];
                    assert!(
                        found[0] <= value && value <= found[1],
                        "{value} of {member:?} is not in {found:?} for {endpoints:?}"
                    );
                }
                let share = f64::from(found[1] - found[0]) / f64::from(other[1] - other[0]);
                if share < 0.99 {
                    shares.push(share);
                }
            }
            shares.sort_by(f64::total_cmp);
            (shares.get(shares.len() / 2).copied().unwrap_or(1.0), shares.len() * 100 / boxes)
        }

        /// Checks that `refinements` are found, that at least `percent` of boxes have narrower
        /// bounds, and that the median of their relative width is at most `width`.
        fn assert_tightens(&self, refinements: usize, width: f64, percent: usize) {
            let (median, narrower) = self.check(20_000);
            assert_eq!(self.count_refinements(), refinements);
            assert!(
                median <= width && narrower >= percent,
                "median relative width {median}, narrower for {narrower} % of boxes"
            );
        }

        /// Number of refinements found.
        fn count_refinements(&self) -> usize {
            let related =
                self.lifted(Nan::Ignore, Relations::NONE.with(Relation::Monotone)).related;
            related.refinements.iter().map(Vec::len).sum()
        }
    }

    /// A random member of an interval: an endpoint, a neighbour of one, or any.
    fn random_member(random: &mut Random, [low, high]: [f32; 2]) -> f32 {
        let x = match random.below(5) {
            0 => low,
            1 => high,
            2 => low.next_up(),
            3 => high.next_down(),
            _ => low + (high - low) * (random.below(1 << 20) as f32 / (1 << 20) as f32),
        };
        x.max(low).min(high)
    }

    #[test]
    fn shares_of_a_sum_are_monotone_in_both_terms() {
        let text = "fn f(a: f32, b: f32) -> (r: f32) {
            %0 = add a, b
            %1 = div a, %0
            return %1
        }";
        let case = Case::new(text, &[(true, 0.0, 4.0), (true, 1e-3, 4.0)]);
        case.assert_tightens(1, 0.45, 38);
    }

    #[test]
    fn components_of_normalized_vectors_are_monotone() {
        // Padding, since such endpoints may only cost a fraction of all operations.
        let padding: String = (0..8)
            .map(|k| {
                format!("%{} = exp %{}\n %{} = log %{}\n", 2 * k + 1, 2 * k, 2 * k + 2, 2 * k + 1)
            })
            .collect();
        let text = format!(
            "fn f(x: f32, y: f32, z: f32) -> (r: f32) {{
                %0 = add y, 0.0
                {padding}
                %20 = mul x, x
                %21 = mul %16, %16
                %22 = mul z, z
                %23 = add %20, %21
                %24 = add %23, %22
                %25 = max %24, 1e-6
                %26 = sqrt %25
                %27 = div %16, %26
                return %27
            }}"
        );
        let case = Case::new(&text, &[(true, -2.0, 2.0), (true, -2.0, 2.0), (true, 0.0, 2.0)]);
        case.assert_tightens(1, 0.6, 30);
    }

    #[test]
    fn cosine_over_its_root_is_monotone() {
        // The last factors of Ward's model, with the lobe as a scalar.
        let text = "fn f(z: f32, w: f32, kd: f32, ks: f32) -> (r: f32) {
            %0 = mul z, w
            %1 = max %0, 1e-8
            %2 = sqrt %1
            %3 = mul %2, 0.04
            %4 = div ks, %3
            %5 = add kd, %4
            %6 = mul %5, 0.31830987
            %7 = max z, 0.0
            %8 = mul %6, %7
            return %8
        }";
        let case = Case::new(
            text,
            &[(true, -1.0, 1.0), (false, 0.0, 1.0), (false, 0.0, 1.0), (true, 0.0, 1.0)],
        );
        case.assert_tightens(1, 0.36, 15);
    }

    #[test]
    fn upper_endpoints_allow_factors_of_unknown_sign() {
        // The factor of unknown sign does not depend on the source.
        let text = "fn f(z: f32, w: f32, f: f32) -> (r: f32) {
            %0 = max z, w
            %1 = max %0, 0.0001
            %2 = div 1.0, %1
            %3 = mul %2, f
            %4 = max z, 0.0
            %5 = mul %3, %4
            return %5
        }";
        let case = Case::new(text, &[(true, -1.0, 1.0), (false, 0.0, 1.0), (true, -0.1, 1.0)]);
        case.assert_tightens(1, 0.15, 12);
    }

    #[test]
    fn powers_increase_in_a_value_shared_by_base_and_exponent() {
        // The power in Ashikhmin and Shirley's model: (1 + t/z)^(−e/2t), where e/t is known to be
        // at most 1000.
        let text = "fn f(t: f32, e: f32, z: f32) -> (r: f32) {
            %0 = max t, 1e-20
            %1 = div e, %0
            %2 = mul %1, -0.5
            %3 = div t, z
            %4 = add %3, 1.0
            %5 = pow %4, %2
            return %5
        }";
        let case = Case::new(text, &[(true, 0.0, 8.0), (true, 0.0, 8000.0), (true, 1e-12, 4.0)]);
        let solved = case.lifted(Nan::Ignore, Relations::NONE);
        let mut bounds = solved.bounds;
        let is = |value: &usize, op: Op| {
            solved.point.operation(Value(*value as u32)).is_some_and(|(other, _)| other == op)
        };
        for (op, low, high) in [(Op::Div, 0.0, 1000.0), (Op::Mul, -500.0, 0.0)] {
            let value = (0..solved.point.len()).find(|value| is(value, op)).expect("there is one");
            bounds[value] = bounds[value].meet(&Bounds::Float(Floats::between(low, high)));
        }
        let point = PointShader {
            function: &solved.point,
            is_interval: &solved.is_interval,
            bounds,
            units: vec![],
        };
        let mut related = RelationInfo::empty(&solved.point);
        find_within_budget(&point, u32::MAX, &mut related);
        let result = solved.point.body.yields[0];
        let [refinement] = &related.refinements[result.index()][..] else {
            panic!("{:?}", related.refinements)
        };
        let mut random = Random::new(3);
        let (mut narrow, mut count) = (0, 0);
        for _ in 0..200_000 {
            let mut endpoints = case.endpoints(&mut random);
            let [t, z] = [0, 2].map(|k| random_member(&mut random, endpoints[k]));
            let share = [1.0, 50.0, 999.0, 1000.0][random.below(4)]
                * if random.once_in(2) { 1.0 } else { 0.5 };
            let e = share * t.max(1e-20);
            if e / t.max(1e-20) > 1000.0 || e > 8000.0 {
                continue;
            }
            endpoints[1] = [e * (1.0 - 0.1 * (random.below(3) as f32)), (e * 1.1).min(8000.0)];
            let of = |value: Value| match solved.point.def(value) {
                Def::Input(k) => endpoints[k as usize].map(f32::to_bits),
                Def::Const(bits) => [bits; 2],
                _ => unreachable!("there are only inputs"),
            };
            let [lo, hi] =
                refinement.endpoints(&mut ConstantEvaluator::default(), of).map(f32::from_bits);
            let value = [t, e, z].map(f32::to_bits);
            let value = f32::from_bits(
                interpreter::run(&solved.point, &[], &value, 10).expect("there is no loop")[0],
            );
            assert!(
                lo <= value && value <= hi,
                "{value} of {t} {e} {z} is not in [{lo}, {hi}] for {endpoints:?}"
            );
            count += 1;
            narrow += usize::from(hi < 1.0);
        }
        assert!(count > 50_000 && narrow > count / 4, "{narrow} of {count}");
    }

    #[test]
    fn products_that_do_not_benefit_get_no_refinement() {
        // x (1 − x) is not monotone. For x ≥ 0, the interval lowerings of x (1 + x) and
        // x √(1 / (1 − x²)) are exact.
        for text in ["sub 1.0, x", "add 1.0, x", "rsqrt %9"] {
            let text = format!(
                "fn f(x: f32) -> (r: f32) {{
                    %7 = mul x, x
                    %8 = sub 1.0, %7
                    %9 = max %8, 1e-4
                    %0 = {text}
                    %1 = mul x, %0
                    return %1
                }}"
            );
            for low in [0.0, -1.0] {
                assert!(
                    low < 0.0 && !text.contains("rsqrt")
                        || Case::new(&text, &[(true, low, 1.0)]).count_refinements() == 0,
                    "{text}"
                );
            }
        }
    }
}
