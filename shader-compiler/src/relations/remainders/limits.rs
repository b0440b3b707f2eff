//! Limits of remainders by the endpoints of a and b.
//!
//! The limits of [`remainder_limits`](crate::analysis::transfer::remainder_limits) for the
//! endpoints of a box, with twice the slack, which covers the roundings of the limits themselves.
//! They are better than those for static bounds if the divisor varies, or if a is large in static
//! bounds, but not in the box: rounding errors are proportional to a. They always apply, so that
//! relations, which narrow static bounds, never lead to wider endpoints. Where a or the quotient
//! may overflow, the limits are infinite.

use super::Remainder;
use crate::analysis::transfer::MAX_MAGNITUDE;
use crate::interval::{Bounds, Floats};
use crate::ir::{Emit, Value};
use crate::math::EmitExt;
use crate::math::eval::ConstantEvaluator;
use crate::relations::PointShader;

/// Absolute slack, 2⁻¹²⁵.
const ABSOLUTE_SLACK: f32 = 2.0 * f32::MIN_POSITIVE;

/// The limits of a remainder, as a function of endpoints.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RemainderLimits {
    a: Value,
    b: Value,
    /// Whether |divisor| is −b.
    negates_b: bool,
    is_floored: bool,
    /// Whether the divisor is negative.
    is_negative: bool,
    /// Slack relative to |a| + |b|.
    slack: f32,
    /// |a| up to which nothing overflows, if it may be greater.
    max_a: Option<f32>,
}

impl RemainderLimits {
    /// The limits, and a set that contains them and the remainders, given the bounds of a and of
    /// the divisor. `None` if the divisor may be 0 or overflow.
    pub(super) fn of(
        point: &PointShader<'_>,
        remainder: &Remainder,
        [a, b]: [[f32; 2]; 2],
    ) -> Option<(RemainderLimits, Bounds)> {
        let &Remainder { negates_b, is_floored, .. } = remainder;
        let [max_of_a, max_of_b] = [a, b].map(|[lo, hi]| f64::from(lo.abs().max(hi.abs())));
        let min_of_b = f64::from(b[0].max(-b[1]));
        if min_of_b <= 0.0 || max_of_b > MAX_MAGNITUDE {
            return None;
        }
        let slack = 2.0 * remainder.slack.relative();
        let max_a = ((MAX_MAGNITUDE * min_of_b.min(1.0)) as f32).next_down();
        let is_negative = b[1] < 0.0;
        let limits = RemainderLimits {
            a: remainder.a,
            b: remainder.b,
            negates_b: is_negative != negates_b,
            is_floored,
            is_negative,
            slack: slack as f32,
            max_a: (max_of_a > f64::from(max_a)).then_some(max_a),
        };
        let of = |value: Value| {
            let hull = point.hull(value).expect("its hull is known");
            hull.map(f32::to_bits)
        };
        let [lo, hi] = limits.endpoints(&mut ConstantEvaluator::default(), of).map(f32::from_bits);
        Some((limits, Bounds::Float(Floats::between(lo, hi))))
    }

    /// The values from which the endpoints are computed.
    pub fn sources(&self) -> Vec<Value> {
        vec![self.a, self.b]
    }

    /// Emits the endpoints.
    pub fn endpoints<E: Emit>(
        &self,
        emit: &mut E,
        of: impl Fn(Value) -> [E::Value; 2],
    ) -> [E::Value; 2] {
        let (a, [b_lo, b_hi]) = (of(self.a), of(self.b));
        let b = if self.negates_b { emit.neg(b_lo) } else { b_hi };
        let [below, above] = a.map(|end| emit.abs(end));
        let magnitude = emit.max(below, above);
        let sum = emit.add(magnitude, b);
        let slack = emit.f32(self.slack);
        let slack = emit.mul(sum, slack);
        let absolute = emit.f32(ABSOLUTE_SLACK);
        let slack = emit.add(slack, absolute);
        let most = emit.add(b, slack);
        let [least, minus_slack] = [most, slack].map(|end| emit.neg(end));
        let endpoints = match self.is_floored {
            true if self.is_negative => [least, slack],
            true => [minus_slack, most],
            false => {
                let (lo, hi) = (emit.min(a[0], minus_slack), emit.max(a[1], slack));
                [emit.max(lo, least), emit.min(hi, most)]
            }
        };
        let Some(max_a) = self.max_a else { return endpoints };
        let max_a = emit.f32(max_a);
        let is_finite = emit.le(magnitude, max_a);
        let infinite = [f32::NEG_INFINITY, f32::INFINITY].map(|end| emit.f32(end));
        [0, 1].map(|side| emit.select(is_finite, endpoints[side], infinite[side]))
    }
}

#[cfg(test)]
mod tests {
    use crate::interval::Nan;
    use crate::random::Random;
    use crate::relations::Relations;
    use crate::relations::testing::{Bounder, members};

    /// Remainders of %a by %b, and by 3, as the builder writes that.
    const BODIES: [&str; 6] = [
        "%r = rem %a, %b",
        "%q = div %a, %b %f = floor %q %p = mul %b, %f %r = sub %a, %p",
        "%q = div %a, %b %f = trunc %q %p = mul %f, %b %r = sub %a, %p",
        "%q = mul %a, 0.33333334 %f = floor %q %p = mul %f, 3.0 %r = sub %a, %p",
        "%q = mul %a, 0.33333334 %f = trunc %q %p = mul %f, -3.0 %r = add %p, %a",
        "%q = mul %a, -0.33333334 %f = floor %q %p = mul %f, 3.0 %r = add %a, %p",
    ];

    #[test]
    fn limits_for_endpoints_contain_remainders_and_are_tight() {
        let mut random = Random::new(77);
        let mut tight = 0;
        for round in 0..480 {
            let k = round % BODIES.len();
            // The scale is that of static bounds; |a| is at most 16 in boxes, except with the last.
            let (scale, range) =
                *random.pick(&[(1e38, 1e-37), (1e8, 1e-7), (16.0, 1.0), (1e38, 1.0)]);
            let [b_scale, b_offset] = *random.pick(&[[4.0, 4.5], [-4.0, -4.5], [0.01, 0.02]]);
            let text = format!(
                "fn f(x: f32, y: f32) -> (r: f32) {{
                   %a = mul x, {scale:?} %0 = mul y, {b_scale:?} %b = add %0, {b_offset:?}
                   {}
                   return %r
                 }}",
                BODIES[k]
            );
            let nan = *random.pick(&[Nan::Propagate, Nan::Suppress, Nan::Ignore]);
            let bounder = Bounder::new(&text, &[None; 2], Relations::NONE, nan);
            for _ in 0..20 {
                let mut unit = || random.below(2001) as f32 / 1000.0 - 1.0;
                let (x, y) = ([unit() * range, unit() * range], [unit(), unit()]);
                let y = [y[0], y[0] + 0.05 * (y[1] + 1.0)];
                let y = y.map(|y| y.min(1.0));
                let endpoints = [[x[0].min(x[1]), x[0].max(x[1])], y];
                let members = members(&mut random, endpoints, 40, 1024);
                let bounds = bounder.run(&endpoints, &members)[0];
                let b = if k < 3 { y.map(|y| (y * b_scale + b_offset).abs()) } else { [3.0; 2] };
                let most = b[0].max(b[1]) * 1.001 + 1e-4;
                let is_tight = bounds.iter().all(|end| end.abs() <= most);
                assert!(is_tight || range * scale > 17.0, "{text} {endpoints:?}: {bounds:?}");
                tight += usize::from(is_tight);
            }
        }
        assert!(tight > 6000, "{tight}");
    }
}
