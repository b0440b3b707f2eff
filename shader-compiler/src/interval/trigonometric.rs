//! Angles and functions of them.
//!
//! Whether an extremum or a pole lies within an interval is asked of multiples of the period, with
//! slack for their rounding: that is below 2⁻¹¹ periods for operands up to ± 2¹³, beyond which
//! results may be anything. Sines and cosines are monotone between extrema, the angle of a vector
//! is not quite, and is widened (`math/TABLE.md`).

use super::guards::{ALL, Sign};
use super::{Forms, Interval, Nan};
use crate::ir::op::Words;
use crate::ir::{Emit, Op};
use crate::math::Steps;
use std::f32::consts::{FRAC_1_PI, PI};

/// Operands up to which functions of angles are accurate.
const LARGE: f32 = 8192.0;

/// How far a point is from a multiple of a period at most, in periods, for it to count as one,
/// beyond what rounding does.
const SLACK: f32 = 1.0 / 1024.0;

/// Points that repeat: first + k · period, in a unit in which the period is 1.
#[derive(Clone, Copy, Debug)]
struct Points {
    per_period: f32,
    first: f32,
}

impl Points {
    /// Writes the test whether one lies between two ends, or within the slack of one.
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

    /// Whether one may lie between two ends of anything that the operand can be. Every step of the
    /// test is monotone.
    fn may_lie_within<V: Copy + PartialEq>(&self, a: &Interval<V>) -> bool {
        let ends = [a.known.floats().low(), a.known.floats().high()].map(f32::to_bits);
        self.lie_between(&mut Words::default(), ends) != 0
    }
}

impl<E: Emit<Value: PartialEq>> Forms<'_, E> {
    /// sin a or cos a. Tests that a is finite, unless that is known.
    pub(super) fn wave(&mut self, op: Op, a: &Interval<E::Value>) -> [E::Value; 2] {
        self.require_finite(a);
        let per_period = FRAC_1_PI / 2.0;
        let (top, bottom) = if op == Op::Sin { (0.25, 0.75) } else { (0.0, 0.5) };
        let large = self.is_large(a);
        let ends = a.ends().map(|end| self.emit.op(op, &[end]));
        let ends = [self.least(&ends), self.greatest(&ends)];
        self.case = if large.is_none() { "small" } else { "general" };
        let sides = [(ends[0], bottom, -1.0), (ends[1], top, 1.0)];
        sides.map(|(end, first, extremum)| {
            let points = Points { per_period, first };
            let holds = (large.is_some() || points.may_lie_within(a))
                .then(|| points.lie_between(self.emit, a.ends()));
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

    /// tan a, which is anything where a pole may lie within a. Tests that a is finite, unless that
    /// is known.
    pub(super) fn tan(&mut self, a: &Interval<E::Value>) -> [E::Value; 2] {
        self.require_finite(a);
        let large = self.is_large(a);
        let ends = a.ends().map(|end| self.emit.op(Op::Tan, &[end]));
        let poles = Points { per_period: FRAC_1_PI, first: 0.5 };
        if large.is_none() && !poles.may_lie_within(a) {
            self.case = "between poles";
            return ends;
        }
        self.case = "general";
        let mut is_void = poles.lie_between(self.emit, a.ends());
        if let Some(large) = large {
            is_void = self.emit.either(large, is_void);
        }
        let (least, most) = (self.emit.f32(f32::NEG_INFINITY), self.emit.f32(f32::INFINITY));
        [self.emit.select(is_void, least, ends[0]), self.emit.select(is_void, most, ends[1])]
    }

    /// Whether the operand is partly beyond where functions of angles are accurate; `None` if it is
    /// known not to be.
    fn is_large(&mut self, a: &Interval<E::Value>) -> Option<E::Value> {
        if a.is_within(-LARGE, LARGE) {
            return None;
        }
        let [bottom, top] = [-LARGE, LARGE].map(|end| self.emit.f32(end));
        let below = self.emit.lt(a.lo, bottom);
        let above = self.emit.lt(top, a.hi);
        Some(self.emit.either(below, above))
    }

    /// The angle of (x, y), at the corners; it is anything where they lie around the origin or the
    /// axis behind it.
    ///
    /// Tests that both are numbers, if they can be NaN, and the angles at the corners, unless one
    /// operand is known to be finite. With NaN suppressed, the angle of two infinities may be
    /// anything at the corners, as it is what either side of them makes it. Results are widened: in
    /// an octant they depend on the rounded quotient of the operands alone, but are not quite
    /// monotone in it (`math/TABLE.md`).
    pub(super) fn atan2(
        &mut self,
        y: &Interval<E::Value>,
        x: &Interval<E::Value>,
    ) -> [E::Value; 2] {
        self.require_number(y);
        self.require_number(x);
        let may_fail = y.may_be_infinite() && x.may_be_infinite();
        if self.nan == Nan::Propagate && may_fail {
            let conditions = self.are_numbers(Op::Atan2, [y, x], |_| true);
            self.clean.extend(conditions);
        }
        let [lo, hi] = [-PI, PI]
            .map(|void| self.at_corners(Op::Atan2, [y, x], [ALL, ALL], may_fail.then_some(void)));
        let ends = [lo[0], hi[1]];
        let ends = self.widened(ends, Sign::Any, Op::Atan2.facts().widening, PI);
        let Some(is_behind) = self.holds_branch_cut(y, x) else {
            self.case = "ahead";
            return ends;
        };
        self.case = "general";
        let [least, most] = [-PI, PI].map(|end| self.emit.f32(end));
        [self.emit.select(is_behind, least, ends[0]), self.emit.select(is_behind, most, ends[1])]
    }

    /// Whether members may lie on both sides of the axis y = 0, x ≤ −0; `None` if it is known that
    /// they do not.
    fn holds_branch_cut(
        &mut self,
        y: &Interval<E::Value>,
        x: &Interval<E::Value>,
    ) -> Option<E::Value> {
        let zero = self.emit.f32(0.0);
        let (ys, xs) = (y.known.floats(), x.known.floats());
        let counts = |facts: super::Facts| facts.negative_zero && !facts.number;
        // A zero of either sign in x makes one in y be at 0 or π; where x is −0 itself, its sign is
        // that of the ends.
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
    use crate::analysis::{Bounds, Floats};
    use crate::interval::Facts;
    use crate::interval::testing::{Form, Operand};
    use crate::ir::Type;
    use crate::ir::op::Words;

    #[test]
    fn waves_keep_the_contract_in_all_cases() {
        for op in [Op::Sin, Op::Cos] {
            let mut met = Form::of(op).not_quite_monotone().check_floats(&[[-7.0, 7.0]], 6_000);
            met.extend(Form::of(op).not_quite_monotone().check_floats(&[[-9000.0, 9000.0]], 6_000));
            met.extend(Form::of(op).not_quite_monotone().check_floats(&[[0.2, 1.4]], 2_000));
            assert_eq!(
                met,
                ["between extrema", "general", "small"].into_iter().collect(),
                "{}",
                op.name()
            );
        }
    }

    #[test]
    fn waves_take_their_extrema_within_and_are_narrow_elsewhere() {
        assert_eq!(Form::of(Op::Sin).ends(&[[0.5, 2.5]])[1], 1.0);
        assert_eq!(Form::of(Op::Cos).ends(&[[3.0, 3.5]])[0], -1.0);
        let [lo, hi] = Form::of(Op::Sin).ends(&[[0.5, 0.6]]);
        assert!(0.479 < lo && hi < 0.565, "[{lo}, {hi}]");
        assert_eq!(Form::of(Op::Sin).ends(&[[1e6, 1e6]]), [-1.0, 1.0]);
        for k in 0..40_000 {
            // Next to extrema and to violations of monotonicity.
            let x = (k as f32 * 0.0411 + 1.5).min(8191.0);
            for (op, from, to) in [(Op::Sin, x, x.next_up().next_up()), (Op::Cos, x, x + 0.01)] {
                let middle = from / 2.0 + to / 2.0;
                let [lo, hi] = Form::of(op).ends(&[[from, to]]);
                let result = f32::from_bits(op.eval(&[middle.to_bits()]));
                assert!(lo <= result && result <= hi, "{} of {middle:?}", op.name());
            }
        }
    }

    /// Endpoints that code gives which knows the operand's ends.
    fn known(op: Op, ends: [f32; 2]) -> [f32; 2] {
        let facts = Facts { nan: false, negative_zero: true, number: false };
        let operand = Operand {
            ty: Type::F32,
            ends: ends.map(f32::to_bits),
            one_end: false,
            facts,
            members: vec![],
        };
        let known = Bounds::Float(Floats::between(ends[0], ends[1]));
        Form::of(op).run(&[operand], Nan::Suppress, Some(&[known])).ends.map(f32::from_bits)
    }

    fn eval(op: Op, x: f32) -> f32 {
        f32::from_bits(op.eval(&[x.to_bits()]))
    }

    #[test]
    fn narrower_intervals_have_no_wider_sines() {
        // Runs of neighbours next to extrema and to the seam of the kernel, where slopes and
        // branches change, but further from extrema than the slack.
        for (op, extremum) in [(Op::Sin, 0.5), (Op::Cos, 0.0)] {
            for turns in [-3.0, -1.0, 0.0, 1.0, 2.0, 40.0] {
                for offset in [0.005, 0.02, 0.25, 0.75, 0.98, 0.995] {
                    let start = ((turns + extremum + offset) * std::f64::consts::PI) as f32;
                    let mut run = vec![start];
                    (0..200).for_each(|_| run.push(run[run.len() - 1].next_up()));
                    for outer in run.windows(8) {
                        let [lo, hi] = Form::of(op).ends(&[[outer[0], outer[7]]]);
                        assert_eq!([lo, hi], known(op, [outer[0], outer[7]]));
                        for &inner in outer {
                            let [low, high] = Form::of(op).ends(&[[inner, inner]]);
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

    /// Calls `f` with the floats on both sides of (k + first) π, for all k up to where functions of
    /// angles are accurate.
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
            for ends in [
                [below, above],
                [below - 0.5, above],
                [below, above + 0.5],
                [below - 0.1, above + 1.0],
            ] {
                assert_eq!(Form::of(Op::Tan).ends(&[ends]), all, "{ends:?}, k = {k}");
                assert_eq!(known(Op::Tan, ends), all, "{ends:?}, k = {k}");
            }
            // Between poles, the endpoints are the results.
            let ends = [above + 0.01, above + 3.12];
            assert_eq!(
                Form::of(Op::Tan).ends(&[ends]),
                ends.map(|end| eval(Op::Tan, end)),
                "{ends:?}, k = {k}"
            );
        });
    }

    #[test]
    fn poles_are_where_they_should_be() {
        // Boxes of one number on both sides of a pole, by as much as the slack, or a little more or
        // less.
        for (k, side) in [(0, -1.0), (0, 1.0), (-1, -1.0), (-1, 1.0), (1, -1.0), (1, 1.0)] {
            for (by, is_void) in [(-1e-6, true), (1e-6, false)] {
                let turns = f64::from(k) + 0.5 + side * (f64::from(SLACK) + by);
                let x = (turns * std::f64::consts::PI) as f32;
                let [lo, hi] = Form::of(Op::Tan).ends(&[[x, x]]);
                assert_eq!([lo, hi] == [f32::NEG_INFINITY, f32::INFINITY], is_void, "{x:?}");
            }
        }
    }

    #[test]
    fn boxes_that_hold_an_extremum_reach_it() {
        for (op, first) in [(Op::Sin, 0.5), (Op::Cos, 0.0)] {
            for_each_turn(first, |k, ends| {
                let side = usize::from(k % 2 == 0);
                for ends in [ends, [ends[0] - 0.3, ends[1]], [ends[0], ends[1] + 0.3]] {
                    for bounds in [Form::of(op).ends(&[ends]), known(op, ends)] {
                        assert_eq!(bounds[side], [-1.0, 1.0][side], "{} of {ends:?}", op.name());
                        assert!(
                            bounds[1 - side].abs() < 1.0 || ends[1] - ends[0] < 0.1,
                            "{} of {ends:?}",
                            op.name()
                        );
                    }
                }
            });
        }
    }

    #[test]
    fn angles_between_less_monotone_ones_are_contained() {
        // Floats about a quotient at which the angle falls (`math/TABLE.md`), in each octant from 0
        // to π.
        let quotients: Vec<f32> = (1062379281 - 20..1062379281 + 20).map(f32::from_bits).collect();
        let octants: [fn(f32) -> [f32; 2]; 4] =
            [|u| [u, 1.0], |u| [1.0, u], |u| [1.0, -u], |u| [u, -1.0]];
        for (k, octant) in octants.into_iter().enumerate() {
            let mut outside = 0;
            for (i, &lo) in quotients.iter().enumerate() {
                for (j, &hi) in quotients.iter().enumerate().skip(i + 2) {
                    let [[a, b], [c, d]] = [octant(lo), octant(hi)];
                    let ends = [[a.min(c), a.max(c)], [b.min(d), b.max(d)]];
                    let [least, most] = Form::of(Op::Atan2).ends(&ends);
                    let angle =
                        |u: f32| f32::from_bits(Op::Atan2.eval(&octant(u).map(f32::to_bits)));
                    let corners = [angle(lo), angle(hi)];
                    for &u in &quotients[i + 1..j] {
                        let member = angle(u);
                        assert!(least <= member && member <= most, "{ends:?}");
                        outside += usize::from(
                            corners.iter().all(|x| member < *x)
                                || corners.iter().all(|x| member > *x),
                        );
                    }
                }
            }
            // Beyond π/2, rounding hides what there is near this quotient.
            assert!(outside > 0 || k > 1, "octant {k}");
        }
    }

    #[test]
    fn angles_of_zeros_are_told_apart_by_the_number_that_is_minus_zero() {
        for nan in [Nan::Propagate, Nan::Suppress, Nan::Ignore] {
            let of = |x: f32, ends: [f32; 2]| {
                let value = |ends: [f32; 2], number| Interval {
                    lo: ends[0].to_bits(),
                    hi: ends[1].to_bits(),
                    known: Bounds::Float(Floats::all()),
                    facts: Facts { nan: true, negative_zero: true, number },
                };
                let mut words = Words::default();
                let mut forms =
                    Forms { emit: &mut words, nan, same: false, clean: vec![], case: "" };
                forms.atan2(&value(ends, false), &value([x, x], true)).map(f32::from_bits)
            };
            for ends in [[0.0, 0.0], [-0.0, -0.0], [-0.0, 1.0], [-1.0, 0.0], [-1.0, 1.0]] {
                assert_eq!(of(-0.0, ends), [-PI, PI], "{nan:?} {ends:?}");
            }
            assert!(of(-0.0, [1.0, 2.0])[0] > 1.0);
        }
    }

    #[test]
    fn tangents_keep_the_contract_in_all_cases() {
        let mut met = Form::of(Op::Tan).check_floats(&[[-7.0, 7.0]], 6_000);
        met.extend(Form::of(Op::Tan).check_floats(&[[-1.5, 1.5]], 2_000));
        met.extend(Form::of(Op::Tan).check_floats(&[[-9000.0, 9000.0]], 4_000));
        assert_eq!(met, ["between poles", "general"].into_iter().collect());
    }

    #[test]
    fn angles_keep_the_contract_in_all_cases() {
        let met = Form::of(Op::Atan2).not_quite_monotone().check_floats(&[[-2.0, 2.0]; 2], 8_000);
        assert_eq!(met, ["ahead", "general"].into_iter().collect());
    }
}
