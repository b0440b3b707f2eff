//! Emits the operations that compute endpoints: the lowering with pinned uses, and the compensation
//! for rounding errors.

use super::{Arg, Method, Monotone, Sign, is_same};
use crate::interval::{Bounds, Facts, Interval, Nan, OpLowering};
use crate::ir::{Emit, Op, Value};
use crate::relations::rounding::RoundingError;

/// Minimum of moved sources, so that products with operands that are not much smaller are normal
/// numbers.
const MIN_MOVED_SOURCE: f32 = 1e-20;

/// Endpoints of an unbounded interval.
const UNBOUNDED: [f32; 2] = [f32::NEG_INFINITY, f32::INFINITY];

fn interval<V>([lo, hi]: [V; 2], known: Bounds, singleton: bool) -> Interval<V> {
    let negative_zero = matches!(known, Bounds::Float(floats) if floats.negative_zero);
    Interval { lo, hi, known, facts: Facts { nan: false, negative_zero, singleton } }
}

impl Monotone {
    /// Endpoints with the source pinned; infinite if unknown.
    pub(in crate::relations) fn endpoints<E: Emit<Value: PartialEq>>(
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
