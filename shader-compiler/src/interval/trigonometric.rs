//! Trigonometric functions and `atan2`.
//!
//! The test whether an extremum or a pole lies within an interval measures endpoints in periods,
//! with slack for rounding. The rounding error is below 2⁻¹¹ periods for operands up to ±2¹³;
//! beyond that, results are unbounded. Sines and cosines are monotone between extrema. `atan2` is
//! not quite monotone, and is widened (`math/TABLE.md`).

use super::guards::{ALL, Corners, HI, LO, Sign};
use super::{Interval, Nan, OpLowering};
use crate::ir::{Emit, Op};
use crate::math::EmitExt;
use crate::math::eval::ConstantEvaluator;
use std::f32::consts::{FRAC_1_PI, PI};

/// Maximum magnitude of operands for which trigonometric functions are accurate.
const MAX_ACCURATE_ANGLE: f32 = 8192.0;

/// Distance in periods within which an endpoint counts as reaching a periodic point. It exceeds the
/// rounding error.
const SLACK: f32 = 1.0 / 1024.0;

/// The points (first + k) · period, for all integers k.
#[derive(Clone, Copy, Debug)]
struct PeriodicPoints {
    /// Reciprocal of the period.
    per_period: f32,
    /// Position of the first point, in periods.
    first: f32,
}

impl PeriodicPoints {
    /// Emits the test whether a point lies between two endpoints, or within the slack of one.
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

    /// Whether a point may lie between endpoints that are within the static bounds of an operand.
    /// It applies the test to these bounds, since every step of the test is monotone.
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
        let endpoints = [self.min_of(&endpoints), self.max_of(&endpoints)];
        self.case = if large.is_none() { "small" } else { "general" };
        let sides = [(endpoints[0], bottom, -1.0), (endpoints[1], top, 1.0)];
        sides.map(|(end, first, extremum)| {
            let points = PeriodicPoints { per_period, first };
            let contains = (large.is_some() || points.may_lie_within(a))
                .then(|| points.lie_between(self.emit, a.endpoints()));
            let reaches_extremum = match (contains, large) {
                (Some(contains), Some(large)) => self.emit.either(large, contains),
                (Some(contains), None) => contains,
                (None, _) => {
                    self.case = "between extrema";
                    return end;
                }
            };
            let extremum = self.emit.f32(extremum);
            self.emit.select(reaches_extremum, extremum, end)
        })
    }

    /// tan a, which is unbounded if a pole may lie within a. Tests that a is finite, unless that is
    /// known.
    pub(super) fn tan(&mut self, a: &Interval<E::Value>) -> [E::Value; 2] {
        self.require_finite(a);
        let large = self.is_large(a);
        let endpoints = a.endpoints().map(|end| self.emit.op(Op::Tan, &[end]));
        let poles = PeriodicPoints { per_period: FRAC_1_PI, first: 0.5 };
        if large.is_none() && !poles.may_lie_within(a) {
            self.case = "between poles";
            return endpoints;
        }
        self.case = "general";
        let mut is_unbounded = poles.lie_between(self.emit, a.endpoints());
        if let Some(large) = large {
            is_unbounded = self.emit.either(large, is_unbounded);
        }
        let (min, max) = (self.emit.f32(f32::NEG_INFINITY), self.emit.f32(f32::INFINITY));
        [
            self.emit.select(is_unbounded, min, endpoints[0]),
            self.emit.select(is_unbounded, max, endpoints[1]),
        ]
    }

    /// Tests whether the operand is partly beyond the range where trigonometric functions are
    /// accurate; `None` if it is known not to be.
    fn is_large(&mut self, a: &Interval<E::Value>) -> Option<E::Value> {
        if a.is_within(-MAX_ACCURATE_ANGLE, MAX_ACCURATE_ANGLE) {
            return None;
        }
        let [bottom, top] = [-MAX_ACCURATE_ANGLE, MAX_ACCURATE_ANGLE].map(|end| self.emit.f32(end));
        let below = self.emit.lt(a.lo, bottom);
        let above = self.emit.lt(top, a.hi);
        Some(self.emit.either(below, above))
    }

    /// The angle of (x, y), from the angles at the corners. Unbounded if the box contains the
    /// origin or crosses the branch cut.
    ///
    /// Tests that neither operand is NaN, unless that is known, and the angles at the corners,
    /// unless one operand is known to be finite. If NaN is suppressed, −π and π replace a NaN
    /// angle at a corner where both operands are infinite. Results are widened: within an octant
    /// they depend only on the rounded quotient of the operands, but are not quite monotone in it
    /// (`math/TABLE.md`).
    pub(super) fn atan2(
        &mut self,
        y: &Interval<E::Value>,
        x: &Interval<E::Value>,
    ) -> [E::Value; 2] {
        self.require_not_nan(y);
        self.require_not_nan(x);
        let may_be_nan = y.may_be_infinite() && x.may_be_infinite();
        if self.nan == Nan::Propagate && may_be_nan {
            let conditions = self.are_not_nan(Op::Atan2, [y, x], |_| true);
            self.nan_free.extend(conditions);
        }
        let corners = angle_corners(y, x);
        let [lo, hi] = [-PI, PI].map(|nan_replacement| {
            self.at_corners(Op::Atan2, [y, x], corners, may_be_nan.then_some(nan_replacement))
        });
        let endpoints = [lo[0], hi[1]];
        let endpoints = self.widened(endpoints, Sign::Any, Op::Atan2.facts().widening, PI);
        let Some(crosses_cut) = self.crosses_branch_cut(y, x) else {
            self.case = "off the branch cut";
            return endpoints;
        };
        self.case = "general";
        let [min, max] = [-PI, PI].map(|end| self.emit.f32(end));
        [
            self.emit.select(crosses_cut, min, endpoints[0]),
            self.emit.select(crosses_cut, max, endpoints[1]),
        ]
    }

    /// Tests whether members may lie on both sides of the branch cut y = 0, x ≤ −0; `None` if it is
    /// known that they do not.
    fn crosses_branch_cut(
        &mut self,
        y: &Interval<E::Value>,
        x: &Interval<E::Value>,
    ) -> Option<E::Value> {
        let zero = self.emit.f32(0.0);
        let (ys, xs) = (y.known.floats(), x.known.floats());
        let may_vary_in_sign = |facts: super::Facts| facts.negative_zero && !facts.singleton;
        // If x may be a zero of either sign, the angle for a zero y is 0 or π. If x is a singleton,
        // a zero endpoint has its sign.
        let (x_may_be_negative_zero, signed) =
            (x.facts.negative_zero, may_vary_in_sign(y.facts) || may_vary_in_sign(x.facts));
        let may_be_left = if x_may_be_negative_zero { xs.low() <= 0.0 } else { xs.low() < 0.0 };
        let may_start_below = if signed { ys.low() <= 0.0 } else { ys.low() < 0.0 };
        if !may_be_left || !may_start_below || ys.high() < 0.0 {
            return None;
        }
        let is_left = if x_may_be_negative_zero {
            self.emit.le(x.lo, zero)
        } else {
            self.emit.lt(x.lo, zero)
        };
        let starts_below = if signed { self.emit.le(y.lo, zero) } else { self.emit.lt(y.lo, zero) };
        let ends_above = self.emit.le(zero, y.hi);
        let contains_zero = self.emit.both(starts_below, ends_above);
        Some(self.emit.both(is_left, contains_zero))
    }
}

/// The corners with the least and the greatest angle of (x, y). Within a quadrant, there is one of
/// each, except at the origin, where the angle is 0 or ±π.
fn angle_corners<V: Copy + PartialEq>(y: &Interval<V>, x: &Interval<V>) -> [Corners; 2] {
    let may_be_origin = x.known.floats().high() >= 0.0 && y.known.floats().pieces.contains(0.0);
    match (y.sign(), x.sign()) {
        (Sign::Plus, Sign::Plus) => [&[[LO, HI]], &[[HI, LO]]],
        (Sign::Minus, Sign::Plus) => [&[[LO, LO]], &[[HI, HI]]],
        (Sign::Plus, Sign::Minus) if !may_be_origin => [&[[HI, HI]], &[[LO, LO]]],
        (Sign::Minus, Sign::Minus) if !may_be_origin => [&[[HI, LO]], &[[LO, HI]]],
        _ => [ALL, ALL],
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
    fn sines_and_cosines_satisfy_the_contract_in_all_cases() {
        for op in [Op::Sin, Op::Cos] {
            let mut cases = OpTest::of(op).not_quite_monotone().check_floats(&[[-7.0, 7.0]], 6_000);
            cases.extend(
                OpTest::of(op).not_quite_monotone().check_floats(&[[-9000.0, 9000.0]], 6_000),
            );
            cases.extend(OpTest::of(op).not_quite_monotone().check_floats(&[[0.2, 1.4]], 2_000));
            assert_eq!(
                cases,
                ["between extrema", "general", "small"].into_iter().collect(),
                "{}",
                op.name()
            );
        }
    }

    #[test]
    fn sines_and_cosines_reach_contained_extrema_and_are_tight_elsewhere() {
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

    /// Endpoints from code that is specialized to the operand's endpoints.
    fn specialized(op: Op, endpoints: [f32; 2]) -> [f32; 2] {
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
    fn sines_of_subsets_are_not_wider() {
        // Runs of adjacent floats near extrema and near the seams of the kernel, where slopes and
        // branches change, but further from extrema than the slack.
        for (op, extremum) in [(Op::Sin, 0.5), (Op::Cos, 0.0)] {
            for turns in [-3.0, -1.0, 0.0, 1.0, 2.0, 40.0] {
                for offset in [0.005, 0.02, 0.25, 0.75, 0.98, 0.995] {
                    let start = ((turns + extremum + offset) * std::f64::consts::PI) as f32;
                    let mut run = vec![start];
                    (0..200).for_each(|_| run.push(run[run.len() - 1].next_up()));
                    for outer in run.windows(8) {
                        let [lo, hi] = OpTest::of(op).endpoints(&[[outer[0], outer[7]]]);
                        assert_eq!([lo, hi], specialized(op, [outer[0], outer[7]]));
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
    /// trigonometric functions are accurate.
    fn for_each_periodic_point(first: f64, mut f: impl FnMut(i32, [f32; 2])) {
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
    fn tangents_of_boxes_with_a_pole_are_unbounded() {
        let all = [f32::NEG_INFINITY, f32::INFINITY];
        for_each_periodic_point(0.5, |k, [below, above]| {
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
                assert_eq!(specialized(Op::Tan, endpoints), all, "{endpoints:?}, k = {k}");
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
            for (offset, is_unbounded) in [(-1e-6, true), (1e-6, false)] {
                let turns = f64::from(k) + 0.5 + side * (f64::from(SLACK) + offset);
                let x = (turns * std::f64::consts::PI) as f32;
                let [lo, hi] = OpTest::of(Op::Tan).endpoints(&[[x, x]]);
                assert_eq!([lo, hi] == [f32::NEG_INFINITY, f32::INFINITY], is_unbounded, "{x:?}");
            }
        }
    }

    #[test]
    fn sines_and_cosines_of_boxes_with_an_extremum_reach_it() {
        for (op, first) in [(Op::Sin, 0.5), (Op::Cos, 0.0)] {
            for_each_periodic_point(first, |k, endpoints| {
                let side = usize::from(k % 2 == 0);
                for endpoints in [
                    endpoints,
                    [endpoints[0] - 0.3, endpoints[1]],
                    [endpoints[0], endpoints[1] + 0.3],
                ] {
                    for bounds in
                        [OpTest::of(op).endpoints(&[endpoints]), specialized(op, endpoints)]
                    {
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
    fn atan2_contains_results_that_violate_monotonicity() {
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
                    let [min, max] = OpTest::of(Op::Atan2).endpoints(&endpoints);
                    let angle =
                        |u: f32| f32::from_bits(Op::Atan2.eval(&octant(u).map(f32::to_bits)));
                    let corners = [angle(lo), angle(hi)];
                    for &u in &quotients[i + 1..j] {
                        let member = angle(u);
                        assert!(min <= member && member <= max, "{endpoints:?}");
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
    fn atan2_covers_both_sides_of_the_cut_for_a_negative_zero_singleton() {
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
    fn tangents_satisfy_the_contract_in_all_cases() {
        let mut cases = OpTest::of(Op::Tan).check_floats(&[[-7.0, 7.0]], 6_000);
        cases.extend(OpTest::of(Op::Tan).check_floats(&[[-1.5, 1.5]], 2_000));
        cases.extend(OpTest::of(Op::Tan).check_floats(&[[-9000.0, 9000.0]], 4_000));
        assert_eq!(cases, ["between poles", "general"].into_iter().collect());
    }

    #[test]
    fn atan2_has_two_corners_within_a_quadrant() {
        let [plus, minus] = [[0.0, 2.0], [-2.0, 0.0]];
        for ranges in [[plus, plus], [minus, plus], [plus, minus], [minus, minus]] {
            OpTest::of(Op::Atan2).not_quite_monotone().check_floats(&ranges, 4_000);
        }
        for x in [[-2.0, -0.5], [-0.5, -1e-30]] {
            for y in [plus, minus] {
                OpTest::of(Op::Atan2).not_quite_monotone().check_floats(&[y, x], 4_000);
            }
        }
        let corners = |endpoints: [[f32; 2]; 2]| {
            let [y, x] = endpoints.map(|[low, high]| Interval {
                lo: low,
                hi: high,
                known: Bounds::Float(Floats::between(low, high)),
                facts: Facts { nan: false, negative_zero: false, singleton: false },
            });
            angle_corners(&y, &x).map(<[_]>::len)
        };
        assert_eq!(corners([[0.0, 1.0], [0.0, 1.0]]), [1, 1]);
        assert_eq!(corners([[0.0, 1.0], [-1.0, -0.5]]), [1, 1]);
        assert_eq!(corners([[0.0, 1.0], [-1.0, 0.0]]), [4, 4]);
        assert_eq!(corners([[-1.0, 1.0], [0.0, 1.0]]), [4, 4]);
    }

    #[test]
    fn atan2_satisfies_the_contract_in_all_cases() {
        let cases =
            OpTest::of(Op::Atan2).not_quite_monotone().check_floats(&[[-2.0, 2.0]; 2], 8_000);
        assert_eq!(cases, ["off the branch cut", "general"].into_iter().collect());
    }
}
