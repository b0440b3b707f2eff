//! Angles and functions of angles.
//!
//! Whether an extremum or a pole lies within an interval is tested on multiples of the period, with
//! slack for their rounding. The rounding error is below 2⁻¹¹ periods for operands up to ± 2¹³,
//! beyond which results are unbounded. Sines and cosines are monotone between extrema. The angle of
//! a vector is not quite monotone, and is widened (`math/TABLE.md`).

use super::guards::{ALL, Sign};
use super::{Interval, Nan, OpLowering};
use crate::ir::{Emit, Op};
use crate::math::EmitExt;
use crate::math::eval::ConstantEvaluator;
use std::f32::consts::{FRAC_1_PI, PI};

/// Largest operands for which functions of angles are accurate.
const MAX_ACCURATE_ANGLE: f32 = 8192.0;

/// Distance from a periodic point, in periods, that counts as reaching it. It exceeds the rounding
/// error.
const SLACK: f32 = 1.0 / 1024.0;

/// Periodic points first + k · period, in units of the period.
#[derive(Clone, Copy, Debug)]
struct Points {
    per_period: f32,
    first: f32,
}

impl Points {
    /// Emits the test whether one lies between two endpoints, or within the slack of one.
    fn lie_between<E: Emit>(&self, e: &mut E, [lo, hi]: [E::Value; 2]) -> E::Value {
        let per_period = e.f32(self.per_period);
        let [before, after] =
            [-self.first - SLACK, -self.first + SLACK].map(|offset| e.f32(offset));
        let lo = e.mul(lo, per_period);
        let lo = e.add(lo, before);
        let hi = e.mul(hi, per_period);
        let hi = e.add(hi, after);
        let last = e.floor(hi);
        e.le(lo, last)
    }

    /// Whether one may lie between two endpoints, for any value of the operand. Every step of the
    /// test is monotone.
    fn may_lie_within<V: Copy + PartialEq>(&self, a: &Interval<V>) -> bool {
        let endpoints = [a.known.floats().low(), a.known.floats().high()].map(f32::to_bits);
        self.lie_between(&mut ConstantEvaluator::default(), endpoints) != 0
    }
}

impl<E: Emit<Value: PartialEq>> OpLowering<'_, E> {
    /// sin a or cos a. Tests that a is finite, unless that is known.
    pub(super) fn sin_cos(&mut self, op: Op, a: &Interval<E::Value>) -> [E::Value; 2] {
        self.require_finite(a);
        let per_period = FRAC_1_PI / 2.0;
        let (top, bottom) = if op == Op::Sin { (0.25, 0.75) } else { (0.0, 0.5) };
        let large = self.is_large(a);
        let endpoints = a.endpoints().map(|end| self.emit.op(op, &[end]));
        let endpoints = [self.least(&endpoints), self.greatest(&endpoints)];
        self.case = if large.is_none() { "small" } else { "general" };
        let sides = [(endpoints[0], bottom, -1.0), (endpoints[1], top, 1.0)];
        sides.map(|(end, first, extremum)| {
            let points = Points { per_period, first };
            let holds = (large.is_some() || points.may_lie_within(a))
                .then(|| points.lie_between(self.emit, a.endpoints()));
            let is_void = match (holds, large) {
                (Some(holds), Some(large)) => self.emit.either(large, holds),
                (Some(holds), None) => holds,
                (None, _) => {
                    self.case = "between extrema";
                    return end;
                }
            };
            let extremum = self.emit.f32(extremum);
            self.emit.select(is_void, extremum, end)
        })
    }

    /// tan a, which is unbounded if a pole may lie within a. Tests that a is finite, unless that is
    /// known.
    pub(super) fn tan(&mut self, a: &Interval<E::Value>) -> [E::Value; 2] {
        self.require_finite(a);
        let large = self.is_large(a);
        let endpoints = a.endpoints().map(|end| self.emit.op(Op::Tan, &[end]));
        let poles = Points { per_period: FRAC_1_PI, first: 0.5 };
        if large.is_none() && !poles.may_lie_within(a) {
            self.case = "between poles";
            return endpoints;
        }
        self.case = "general";
        let mut is_void = poles.lie_between(self.emit, a.endpoints());
        if let Some(large) = large {
            is_void = self.emit.either(large, is_void);
        }
        let (least, most) = (self.emit.f32(f32::NEG_INFINITY), self.emit.f32(f32::INFINITY));
        [
            self.emit.select(is_void, least, endpoints[0]),
            self.emit.select(is_void, most, endpoints[1]),
        ]
    }

    /// Whether the operand is partly beyond the range where functions of angles are accurate;
    /// `None` if it is known not to be.
    fn is_large(&mut self, a: &Interval<E::Value>) -> Option<E::Value> {
        if a.is_within(-MAX_ACCURATE_ANGLE, MAX_ACCURATE_ANGLE) {
            return None;
        }
        let [bottom, top] = [-MAX_ACCURATE_ANGLE, MAX_ACCURATE_ANGLE].map(|end| self.emit.f32(end));
        let below = self.emit.lt(a.lo, bottom);
        let above = self.emit.lt(top, a.hi);
        Some(self.emit.either(below, above))
    }

    /// The angle of (x, y), at the corners. Unbounded if they enclose the origin or the branch cut.
    ///
    /// Tests that neither operand is NaN, unless that is known, and the angles at the corners,
    /// unless one operand is known to be finite. With NaN suppressed, the angle of two infinities
    /// at a corner may be anything, so each side takes its own extreme. Results are widened: in an
    /// octant they depend on the rounded quotient of the operands alone, but are not quite monotone
    /// in it (`math/TABLE.md`).
    pub(super) fn atan2(
        &mut self,
        y: &Interval<E::Value>,
        x: &Interval<E::Value>,
    ) -> [E::Value; 2] {
        self.require_not_nan(y);
        self.require_not_nan(x);
        let may_fail = y.may_be_infinite() && x.may_be_infinite();
        if self.nan == Nan::Propagate && may_fail {
            let conditions = self.are_not_nan(Op::Atan2, [y, x], |_| true);
            self.nan_free.extend(conditions);
        }
        let [lo, hi] = [-PI, PI]
            .map(|void| self.at_corners(Op::Atan2, [y, x], [ALL, ALL], may_fail.then_some(void)));
        let endpoints = [lo[0], hi[1]];
        let endpoints = self.widened(endpoints, Sign::Any, Op::Atan2.facts().widening, PI);
        let Some(is_behind) = self.holds_branch_cut(y, x) else {
            self.case = "ahead";
            return endpoints;
        };
        self.case = "general";
        let [least, most] = [-PI, PI].map(|end| self.emit.f32(end));
        [
            self.emit.select(is_behind, least, endpoints[0]),
            self.emit.select(is_behind, most, endpoints[1]),
        ]
    }

    /// Whether members may lie on both sides of the branch cut y = 0, x ≤ −0; `None` if it is known
    /// that they do not.
    fn holds_branch_cut(
        &mut self,
        y: &Interval<E::Value>,
        x: &Interval<E::Value>,
    ) -> Option<E::Value> {
        let zero = self.emit.f32(0.0);
        let (ys, xs) = (y.known.floats(), x.known.floats());
        let counts = |facts: super::Facts| facts.negative_zero && !facts.singleton;
        // If x may be a zero of either sign, a zero y is at 0 or π. If x is the constant −0, its
        // sign is that of the endpoints.
        let (turned, signed) = (x.facts.negative_zero, counts(y.facts) || counts(x.facts));
        let may_be_behind = if turned { xs.low() <= 0.0 } else { xs.low() < 0.0 };
        let may_start_below = if signed { ys.low() <= 0.0 } else { ys.low() < 0.0 };
        if !may_be_behind || !may_start_below || ys.high() < 0.0 {
            return None;
        }
        let is_behind = if turned { self.emit.le(x.lo, zero) } else { self.emit.lt(x.lo, zero) };
        let starts_below = if signed { self.emit.le(y.lo, zero) } else { self.emit.lt(y.lo, zero) };
        let ends_above = self.emit.le(zero, y.hi);
        let holds = self.emit.both(starts_below, ends_above);
        Some(self.emit.both(is_behind, holds))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interval::testing::{OpTest, Operand};
    use crate::interval::{Bounds, Facts, Floats};
    use crate::ir::Type;
    use crate::math::eval::ConstantEvaluator;

    #[test]
    fn sines_and_cosines_keep_the_contract_in_all_cases() {
        for op in [Op::Sin, Op::Cos] {
            let mut met = OpTest::of(op).not_quite_monotone().check_floats(&[[-7.0, 7.0]], 6_000);
            met.extend(
                OpTest::of(op).not_quite_monotone().check_floats(&[[-9000.0, 9000.0]], 6_000),
            );
            met.extend(OpTest::of(op).not_quite_monotone().check_floats(&[[0.2, 1.4]], 2_000));
            assert_eq!(
                met,
                ["between extrema", "general", "small"].into_iter().collect(),
                "{}",
                op.name()
            );
        }
    }

    #[test]
    fn sines_and_cosines_take_their_extrema_within_and_are_narrow_elsewhere() {
        assert_eq!(OpTest::of(Op::Sin).endpoints(&[[0.5, 2.5]])[1], 1.0);
        assert_eq!(OpTest::of(Op::Cos).endpoints(&[[3.0, 3.5]])[0], -1.0);
        let [lo, hi] = OpTest::of(Op::Sin).endpoints(&[[0.5, 0.6]]);
        assert!(0.479 < lo && hi < 0.565, "[{lo}, {hi}]");
        assert_eq!(OpTest::of(Op::Sin).endpoints(&[[1e6, 1e6]]), [-1.0, 1.0]);
        for k in 0..40_000 {
            // Next to extrema and to violations of monotonicity.
            let x = (k as f32 * 0.0411 + 1.5).min(8191.0);
            for (op, from, to) in [(Op::Sin, x, x.next_up().next_up()), (Op::Cos, x, x + 0.01)] {
                let middle = from / 2.0 + to / 2.0;
                let [lo, hi] = OpTest::of(op).endpoints(&[[from, to]]);
                let result = f32::from_bits(op.eval(&[middle.to_bits()]));
                assert!(lo <= result && result <= hi, "{} of {middle:?}", op.name());
            }
        }
    }

    /// Endpoints from code that knows the operand's endpoints.
    fn known(op: Op, endpoints: [f32; 2]) -> [f32; 2] {
        let facts = Facts { nan: false, negative_zero: true, singleton: false };
        let operand = Operand {
            ty: Type::F32,
            endpoints: endpoints.map(f32::to_bits),
            one_handle: false,
            facts,
            members: vec![],
        };
        let known = Bounds::Float(Floats::between(endpoints[0], endpoints[1]));
        OpTest::of(op).run(&[operand], Nan::Suppress, Some(&[known])).endpoints.map(f32::from_bits)
    }

    fn eval(op: Op, x: f32) -> f32 {
        f32::from_bits(op.eval(&[x.to_bits()]))
    }

    #[test]
    fn narrower_intervals_have_no_wider_sines() {
        // Runs of neighbours next to extrema and to the seams of the kernel, where slopes and
        // branches change, but further from extrema than the slack.
        for (op, extremum) in [(Op::Sin, 0.5), (Op::Cos, 0.0)] {
            for turns in [-3.0, -1.0, 0.0, 1.0, 2.0, 40.0] {
                for offset in [0.005, 0.02, 0.25, 0.75, 0.98, 0.995] {
                    let start = ((turns + extremum + offset) * std::f64::consts::PI) as f32;
                    let mut run = vec![start];
                    (0..200).for_each(|_| run.push(run[run.len() - 1].next_up()));
                    for outer in run.windows(8) {
                        let [lo, hi] = OpTest::of(op).endpoints(&[[outer[0], outer[7]]]);
                        assert_eq!([lo, hi], known(op, [outer[0], outer[7]]));
                        for &inner in outer {
                            let [low, high] = OpTest::of(op).endpoints(&[[inner, inner]]);
                            assert_eq!(
                                [low, high],
                                [eval(op, inner); 2],
                                "{} of {inner:?}",
                                op.name()
                            );
                            assert!(
                                lo <= low && high <= hi,
                                "{} of {inner:?} in {outer:?}",
                                op.name()
                            );
                        }
                    }
                }
            }
        }
    }

    /// Calls `f` with the floats on both sides of (k + first) π, for all k in the range where
    /// functions of angles are accurate.
    fn for_each_turn(first: f64, mut f: impl FnMut(i32, [f32; 2])) {
        for k in -2607..2607 {
            let x = (f64::from(k) + first) * std::f64::consts::PI;
            let near = x as f32;
            f(
                k,
                if f64::from(near) < x { [near, near.next_up()] } else { [near.next_down(), near] },
            );
        }
    }

    #[test]
    fn boxes_that_hold_a_pole_are_unbounded() {
        let all = [f32::NEG_INFINITY, f32::INFINITY];
        for_each_turn(0.5, |k, [below, above]| {
            assert!(eval(Op::Tan, below) > 0.0 && eval(Op::Tan, above) < 0.0, "{below:?}");
            for endpoints in [
                [below, above],
                [below - 0.5, above],
                [below, above + 0.5],
                [below - 0.1, above + 1.0],
            ] {
                assert_eq!(
                    OpTest::of(Op::Tan).endpoints(&[endpoints]),
                    all,
                    "{endpoints:?}, k = {k}"
                );
                assert_eq!(known(Op::Tan, endpoints), all, "{endpoints:?}, k = {k}");
            }
            // Between poles, the endpoints are the results.
            let endpoints = [above + 0.01, above + 3.12];
            assert_eq!(
                OpTest::of(Op::Tan).endpoints(&[endpoints]),
                endpoints.map(|end| eval(Op::Tan, end)),
                "{endpoints:?}, k = {k}"
            );
        });
    }

    #[test]
    fn poles_have_the_documented_slack() {
        // Singletons on both sides of a pole, at a distance slightly below or above the slack.
        for (k, side) in [(0, -1.0), (0, 1.0), (-1, -1.0), (-1, 1.0), (1, -1.0), (1, 1.0)] {
            for (by, is_void) in [(-1e-6, true), (1e-6, false)] {
                let turns = f64::from(k) + 0.5 + side * (f64::from(SLACK) + by);
                let x = (turns * std::f64::consts::PI) as f32;
                let [lo, hi] = OpTest::of(Op::Tan).endpoints(&[[x, x]]);
                assert_eq!([lo, hi] == [f32::NEG_INFINITY, f32::INFINITY], is_void, "{x:?}");
            }
        }
    }

    #[test]
    fn boxes_that_hold_an_extremum_reach_it() {
        for (op, first) in [(Op::Sin, 0.5), (Op::Cos, 0.0)] {
            for_each_turn(first, |k, endpoints| {
                let side = usize::from(k % 2 == 0);
                for endpoints in [
                    endpoints,
                    [endpoints[0] - 0.3, endpoints[1]],
                    [endpoints[0], endpoints[1] + 0.3],
                ] {
                    for bounds in [OpTest::of(op).endpoints(&[endpoints]), known(op, endpoints)] {
                        assert_eq!(
                            bounds[side],
                            [-1.0, 1.0][side],
                            "{} of {endpoints:?}",
                            op.name()
                        );
                        assert!(
                            bounds[1 - side].abs() < 1.0 || endpoints[1] - endpoints[0] < 0.1,
                            "{} of {endpoints:?}",
                            op.name()
                        );
                    }
                }
            });
        }
    }

    #[test]
    fn angles_between_less_monotone_ones_are_contained() {
        // Floats around a quotient at which the angle decreases (`math/TABLE.md`), in each octant
        // from 0 to π.
        let quotients: Vec<f32> = (1062379281 - 20..1062379281 + 20).map(f32::from_bits).collect();
        let octants: [fn(f32) -> [f32; 2]; 4] =
            [|u| [u, 1.0], |u| [1.0, u], |u| [1.0, -u], |u| [u, -1.0]];
        for (k, octant) in octants.into_iter().enumerate() {
            let mut outside = 0;
            for (i, &lo) in quotients.iter().enumerate() {
                for (j, &hi) in quotients.iter().enumerate().skip(i + 2) {
                    let [[a, b], [c, d]] = [octant(lo), octant(hi)];
                    let endpoints = [[a.min(c), a.max(c)], [b.min(d), b.max(d)]];
                    let [least, most] = OpTest::of(Op::Atan2).endpoints(&endpoints);
                    let angle =
                        |u: f32| f32::from_bits(Op::Atan2.eval(&octant(u).map(f32::to_bits)));
                    let corners = [angle(lo), angle(hi)];
                    for &u in &quotients[i + 1..j] {
                        let member = angle(u);
                        assert!(least <= member && member <= most, "{endpoints:?}");
                        outside += usize::from(
                            corners.iter().all(|x| member < *x)
                                || corners.iter().all(|x| member > *x),
                        );
                    }
                }
            }
            // Beyond π/2, rounding hides the violation near this quotient.
            assert!(outside > 0 || k > 1, "octant {k}");
        }
    }

    #[test]
    fn angles_of_zeros_depend_on_the_sign_of_a_zero_singleton() {
        for nan in [Nan::Propagate, Nan::Suppress, Nan::Ignore] {
            let of = |x: f32, endpoints: [f32; 2]| {
                let value = |endpoints: [f32; 2], singleton| Interval {
                    lo: endpoints[0].to_bits(),
                    hi: endpoints[1].to_bits(),
                    known: Bounds::Float(Floats::all()),
                    facts: Facts { nan: true, negative_zero: true, singleton },
                };
                let mut words = ConstantEvaluator::default();
                let mut lowering =
                    OpLowering { emit: &mut words, nan, same: false, nan_free: vec![], case: "" };
                lowering.atan2(&value(endpoints, false), &value([x, x], true)).map(f32::from_bits)
            };
            for endpoints in [[0.0, 0.0], [-0.0, -0.0], [-0.0, 1.0], [-1.0, 0.0], [-1.0, 1.0]] {
                assert_eq!(of(-0.0, endpoints), [-PI, PI], "{nan:?} {endpoints:?}");
            }
            assert!(of(-0.0, [1.0, 2.0])[0] > 1.0);
        }
    }

    #[test]
    fn tangents_keep_the_contract_in_all_cases() {
        let mut met = OpTest::of(Op::Tan).check_floats(&[[-7.0, 7.0]], 6_000);
        met.extend(OpTest::of(Op::Tan).check_floats(&[[-1.5, 1.5]], 2_000));
        met.extend(OpTest::of(Op::Tan).check_floats(&[[-9000.0, 9000.0]], 4_000));
        assert_eq!(met, ["between poles", "general"].into_iter().collect());
    }

    #[test]
    fn angles_keep_the_contract_in_all_cases() {
        let met = OpTest::of(Op::Atan2).not_quite_monotone().check_floats(&[[-2.0, 2.0]; 2], 8_000);
        assert_eq!(met, ["ahead", "general"].into_iter().collect());
    }
}
