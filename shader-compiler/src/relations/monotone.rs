//! Values that increase, or decrease, with a value that they use several times, as z / √(z² + y²)
//! does with z.
//!
//! Interval lowerings treat each use independently: for the upper endpoint, they take z̄ in the
//! numerator and z̲ in the denominator. Suppose [`Growth`] proves that a value v, as a function of
//! some uses of t, is increasing for real numbers, whatever its other operands are. Then v is at
//! most its value with t̄ in all of these uses. So the operations from t to v are lowered a second
//! time, with these uses of t *pinned* to a singleton and all other operands as intervals;
//! unchanged operations are shared. In the following, v is increasing and the upper endpoint is
//! sought. The other cases are symmetric.
//!
//! # Proof
//!
//! F is the function of floats, G that of real numbers, by the same operations; u are all operands
//! that are not pinned. F(t, u) is as close to G(t, u) ≤ G(t̄, u) as [`Error`] says. So is F(t̄,
//! u), which is within the endpoints of the lowering. About t̄ and u, we only know that each is
//! within its own bounds: so the bounds of the operations between are those of [`transfer`].
//! Constraints of other relations need not hold at (t̄, u). There are two methods to compensate for
//! rounding errors.
//!
//! - *Widening.* All of the uses are t̄, and the endpoint is widened. It is intersected with v's
//!   own endpoint.
//! - *Moving.* If v ≥ 0 and t ≥ 0, only the uses in which v may decrease are pinned, as the second
//!   argument of v = F(t, t, u). There, the interval of t is reduced to [t', t̄], where t' is some
//!   floats below t̄, or t̲. So F(t, t, u) is within the lowering's endpoints for members with t ≥
//!   t'. For the others, G(t, t, u) ≤ G(t', t', u) ≤ (t'/t̄)ᵉ G(t̄, t', u) with the least
//!   elasticity e of G in its first argument, which must be above 0: t' is chosen such that this
//!   factor compensates for the relative errors. The absolute errors, from results below the least
//!   normal number, are added. As [t', t̄] is within t's endpoints, the new endpoint is within that
//!   of v's own lowering without the shift. It replaces that endpoint at no cost, if v is an output
//!   or the shift is 0. Otherwise, operations after v might amplify the shift, and the two
//!   endpoints are intersected. All of this requires that the operations between have the endpoints
//!   of their lowering, so they have no refinements.
//!
//! Moreover:
//!
//! - *Pieces.* If t can have both signs, v is analyzed for t ≤ 0 and for t ≥ 0 separately; it is
//!   continuous, since all operations are where they are defined. If v is 0 for t ≤ 0, that is not
//!   above the endpoint, since v's lowering contains it, and all else is within the bounds for t ≥
//!   0.
//! - *Constraints.* They do hold at (t, u). On the path from there to t̄, a constraint remains
//!   valid if the value moves away from it: a decreasing value stays below its upper constraint.
//! - *Guards.* If v is increasing only for t ≥ c, where some operation is max(t, c), the endpoint
//!   holds for boxes with t̲ ≥ c.
//! - *Clamped operands.* With a factor of unknown sign, it is unknown whether v is increasing. If
//!   v, in floats, does not decrease with the factor, it does not decrease if the factor is
//!   replaced by its maximum with 0, whose sign is known. That suffices for upper endpoints with
//!   widening. With moving, members whose factor is not negative are as above. For the others, v
//!   must be increasing in floats in the uses in which it decreased before: F(t, t, u) ≤ F(t, t',
//!   u) for t < t'.

mod pinned;
mod search;

use super::rounding::RoundingError;
use crate::interval::{Bounds, Facts, Floats, Interval, Nan, OpLowering};
use crate::ir::{Emit, Op, Value};
use crate::range::Range;
pub(super) use search::find;

/// A value as a function of one that it uses several times.
#[derive(Clone, Debug)]
pub struct Monotone {
    /// The value that is used several times.
    source: Value,
    /// The operations from the source to the value, or from those of its uses that are moved.
    steps: Vec<Step>,
    /// Operands that are clamped to nonnegative values.
    clamped: Vec<Value>,
    /// Sign of the value.
    sign: Sign,
    /// How the lower and the upper endpoint are computed.
    endpoints: [Option<PinnedEndpoint>; 2],
    /// Whether moved endpoints replace those of the interval lowering: no operation on the path can
    /// be NaN, which the lowering would have to report, and no operation after a shift can amplify
    /// it.
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

/// How an endpoint is computed.
#[derive(Clone, Copy, Debug, PartialEq)]
struct PinnedEndpoint {
    /// Index of the source's endpoint that it is computed from.
    of: usize,
    method: Method,
}

/// How an endpoint accounts for rounding errors.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Method {
    /// The endpoint is widened by the error. The source must not be below the guard.
    Widening { error: RoundingError, guard: Option<f32> },
    /// The source is moved by a number of floats, and the endpoint shifted.
    Moving { floats: i32, shift: f32 },
}

/// Monotonicity of a value in the source.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Direction {
    Constant,
    Increasing,
    Decreasing,
}

impl Direction {
    /// From the sign of the slope, with the source in a range of one sign.
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

    /// Monotonicity of the negated value.
    fn reversed(self) -> Direction {
        match self {
            Direction::Constant => Direction::Constant,
            Direction::Increasing => Direction::Decreasing,
            Direction::Decreasing => Direction::Increasing,
        }
    }

    /// Monotonicity of a product with a value of the given sign.
    fn times(self, sign: Sign) -> Option<Direction> {
        match sign {
            Sign::Plus => Some(self),
            Sign::Minus => Some(self.reversed()),
            Sign::Any => (self == Direction::Constant).then_some(self),
        }
    }

    /// Monotonicity on two pieces, or of two operands combined.
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

fn range(floats: &Floats) -> Range<f64> {
    Range::new(f64::from(floats.low()), f64::from(floats.high()))
}

impl Monotone {
    /// The values whose endpoints it needs.
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

    /// Whether an endpoint is within that of the interval lowering already, below 1e-30 aside.
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
            let Some(end) = self.endpoints[side] else { return emit.f32(UNBOUNDED[side]) };
            let source = of(self.source);
            match end.method {
                Method::Widening { error, guard } => {
                    let x = self.end(emit, &of, side, [source[end.of]; 2]);
                    let x = self.widened(emit, x, side, error);
                    let Some(floor) = guard else { return x };
                    let [floor, unbounded] = [floor, UNBOUNDED[side]].map(|x| emit.f32(x));
                    let is_above = emit.op(Op::Le, &[floor, source[0]]);
                    emit.op(Op::Select, &[is_above, x, unbounded])
                }
                Method::Moving { floats, shift } => {
                    let part = self.part(emit, source, end.of, floats);
                    let x = self.end(emit, &of, side, part);
                    self.shifted(emit, x, side, source, shift)
                }
            }
        })
    }

    /// One endpoint of the last step, with an interval for the source.
    fn end<E: Emit<Value: PartialEq>>(
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
        let is_signed = |arg: &Arg| matches!(arg, Arg::Pinned(floats) if floats.low() < 0.0 || floats.negative_zero);
        self.steps.iter().flat_map(|step| &step.args).any(is_signed)
    }

    /// The part of the source next to one endpoint, `floats` floats wide. The entire source if it
    /// is not wider, or close to 0.
    fn part<E: Emit>(
        &self,
        emit: &mut E,
        [lo, hi]: [E::Value; 2],
        end: usize,
        floats: i32,
    ) -> [E::Value; 2] {
        let count = emit.i32(floats);
        if end == 1 {
            // For zeros and their neighbours, this is NaN, which the maximum ignores.
            let bits = emit.op(Op::Bits, &[hi]);
            let bits = emit.op(Op::ISub, &[bits, count]);
            let moved = emit.op(Op::Float, &[bits]);
            return [emit.op(Op::Max, &[lo, moved]), hi];
        }
        // Not from 0, because arithmetic on subnormal numbers is slow.
        let tiny = emit.f32(MIN_MOVED_SOURCE);
        let min = emit.op(Op::Max, &[tiny, lo]);
        let bits = emit.op(Op::Bits, &[min]);
        let bits = emit.op(Op::IAdd, &[bits, count]);
        let moved = emit.op(Op::Float, &[bits]);
        [lo, emit.op(Op::Min, &[hi, moved])]
    }

    /// An endpoint moved outwards by a shift, for nonnegative sources.
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

    /// An endpoint moved outwards by the error.
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

/// Sources are moved from at least this distance from 0, so that products with operands that are
/// not much smaller are normal numbers.
const MIN_MOVED_SOURCE: f32 = 1e-20;

/// Endpoints without information.
const UNBOUNDED: [f32; 2] = [f32::NEG_INFINITY, f32::INFINITY];

fn interval<V>([lo, hi]: [V; 2], known: Bounds, singleton: bool) -> Interval<V> {
    let negative_zero = matches!(known, Bounds::Float(floats) if floats.negative_zero);
    Interval { lo, hi, known, facts: Facts { nan: false, negative_zero, singleton } }
}

#[cfg(test)]
mod tests {
    use super::search::find_up_to;
    use super::*;
    use crate::interpreter;
    use crate::ir::text::parse;
    use crate::ir::{Def, Function};
    use crate::lift::{self, Input, Lifted, Options};
    use crate::math::eval::ConstantEvaluator;
    use crate::random::Random;
    use crate::relations::{PointShader, Relation, RelationInfo, Relations};

    /// A function with a range for each input.
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

        /// Endpoints of a box: of any width, at bounds, at zeros and across kinks.
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

        /// Checks results of members against endpoints. Returns the median width relative to that
        /// without relations, over endpoints that are narrower, and for what percentage of boxes
        /// they are.
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
                // Except for the absolute error, below the least normal number.
                assert!(
                    other[0] <= found[0] + 1e-30 && found[1] <= other[1] + 1e-30,
                    "{found:?} is wider than {other:?} for {endpoints:?}"
                );
                for _ in 0..6 {
                    let member: Vec<f32> =
                        endpoints.iter().map(|endpoints| inside(&mut random, *endpoints)).collect();
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

        /// Checks that `found` refinements are found, that narrower endpoints have at most the
        /// given median relative width, and that at least `percent` of boxes have narrower ones.
        fn tightens(&self, found: usize, share: f64, percent: usize) {
            let (middle, count) = self.check(20_000);
            assert_eq!(self.found(), found);
            assert!(middle <= share && count >= percent, "{middle} of {count} %");
        }

        /// Number of refinements found.
        fn found(&self) -> usize {
            let related =
                self.lifted(Nan::Ignore, Relations::NONE.with(Relation::Monotone)).related;
            related.refinements.iter().map(Vec::len).sum()
        }
    }

    /// A member of an interval: an endpoint, one next to it, or any.
    fn inside(random: &mut Random, [low, high]: [f32; 2]) -> f32 {
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
    fn shares_are_monotone_in_either_part() {
        let text = "fn f(a: f32, b: f32) -> (r: f32) {
            %0 = add a, b
            %1 = div a, %0
            return %1
        }";
        let case = Case::new(text, &[(true, 0.0, 4.0), (true, 1e-3, 4.0)]);
        case.tightens(1, 0.45, 38);
    }

    #[test]
    fn components_of_normalized_vectors_are_monotone() {
        // Longer than necessary, since such endpoints may only cost a share of all operations.
        let to_and_fro: String = (0..8)
            .map(|k| {
                format!("%{} = exp %{}\n %{} = log %{}\n", 2 * k + 1, 2 * k, 2 * k + 2, 2 * k + 1)
            })
            .collect();
        let text = format!(
            "fn f(x: f32, y: f32, z: f32) -> (r: f32) {{
                %0 = add y, 0.0
                {to_and_fro}
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
        case.tightens(1, 0.6, 30);
    }

    /// The last factors of Ward's model, with the lobe as a scalar.
    #[test]
    fn cosine_over_a_root_of_it_is_monotone() {
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
        case.tightens(1, 0.36, 15);
    }

    /// A factor of unknown sign that does not depend on the source.
    #[test]
    fn upper_endpoints_allow_factors_of_unknown_sign() {
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
        case.tightens(1, 0.15, 12);
    }

    /// The power in Ashikhmin and Shirley's model: (1 + t/z)^(−e/2t), where e/t is known to be at
    /// most 1000.
    #[test]
    fn powers_increase_with_a_value_shared_by_base_and_exponent() {
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
        find_up_to(&point, u32::MAX, &mut related);
        let result = solved.point.body.yields[0];
        let [refinement] = &related.refinements[result.index()][..] else {
            panic!("{:?}", related.refinements)
        };
        let mut random = Random::new(3);
        let (mut narrow, mut count) = (0, 0);
        for _ in 0..200_000 {
            let mut endpoints = case.endpoints(&mut random);
            let [t, z] = [0, 2].map(|k| inside(&mut random, endpoints[k]));
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
    fn products_that_are_not_increasing_get_no_refinement() {
        // x (1 − x) increases and decreases; x (1 + x) and x √(1 / (1 − x²)) have the same
        // endpoints anyway for x ≥ 0.
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
                        || Case::new(&text, &[(true, low, 1.0)]).found() == 0,
                    "{text}"
                );
            }
        }
    }
}
