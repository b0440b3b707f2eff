//! Components of normalized vectors, x ÷ √S with S ≥ x², are at most 1 in magnitude. Interval
//! arithmetic loses that: it divides endpoints of x by endpoints of S for other members, and
//! quotients grow beyond any bound where S is small. All later operations then have to expect
//! infinite endpoints, and NaN from 0 · ∞. So all modes clamp these quotients to [−1, 1].
//!
//! The limit holds for the float that the point shader computes, without tolerance, if the divisor is
//! at least 2⁻⁶³. [`normalize`](crate::frontend) ensures that; in other shaders, a condition often
//! does, such as an early exit for small S or √S. If x² ≥ 2⁻¹²⁶, then √(x²) in floats is exactly |x|
//! (Boldo 2015, *Stupid is as stupid does: taking the square root of the square of a floating-point
//! number*), or ∞ if x² overflows. Sums of x² with nonnegative terms, maxima and square roots are
//! monotone in floats, so the root of S is not below |x|. If x² < 2⁻¹²⁶, then |x| < 2⁻⁶³. So the
//! quotient is at most 1, or NaN if x or S is infinite or NaN.
//!
//! Clamped endpoints do not cross, even in an arm that no member takes, unless endpoints of x or of
//! other terms do. S is defined where x has the same endpoints, or wider ones, if a condition clips
//! x in between. So the upper endpoint of S is at least the square of both endpoints of x, and the
//! endpoints of the quotient closest to 0 are within the limits.

use super::{PointShader, Refinement, RelationInfo};
use crate::analysis::Constraint;
use crate::analysis::solve::Ranges;
use crate::interval::{Bounds, Floats, Nan};
use crate::ir::function::for_each_stmt;
use crate::ir::{Function, Op, Stmt, Value};

/// The limits of a component.
const LIMITS: [f32; 2] = [-1.0, 1.0];

/// Least divisor for which the limits hold: 2⁻⁶³.
const MIN_DIVISOR: f32 = f32::from_bits((127 - 63) << 23);

/// Maximum number of terms of S.
const MAX_TERMS: usize = 8;

/// A quotient that may be a component of a normalized vector.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Candidate {
    value: Value,
    /// The other terms of S. The limit holds if none is negative.
    others: Vec<Value>,
}

/// Returns the quotients of the form x ÷ √(x² + …), with or without a clamp of the sum or the root.
pub(super) fn candidates(function: &Function, is_interval: &[bool]) -> Vec<Candidate> {
    let mut found = vec![];
    for_each_stmt(&function.body, &mut |stmt| {
        let Stmt::Op(value) = stmt else { return };
        if is_interval[value.index()] {
            found.extend(candidate(function, *value));
        }
    });
    found
}

fn candidate(function: &Function, value: Value) -> Option<Candidate> {
    let Some((Op::Div, &[component, length])) = function.operation(value) else { return None };
    let Some((Op::Sqrt, &[squared_length])) = function.operation(without_floor(function, length))
    else {
        return None;
    };
    let is_square = |term: Value| matches!(function.operation(term), Some((Op::Mul, &[a, b])) if a == component && b == component);
    let mut others = vec![];
    let mut work = vec![without_floor(function, squared_length)];
    let mut found = false;
    while let Some(term) = work.pop() {
        match function.operation(term) {
            _ if !found && is_square(term) => found = true,
            Some((Op::Add, args)) => work.extend(args),
            _ => others.push(term),
        }
        if work.len() + others.len() > MAX_TERMS {
            return None;
        }
    }
    found.then_some(Candidate { value, others })
}

/// The operand of a maximum with a constant that is not negative, or the value itself. A NaN operand
/// comes first, so that the maximum is NaN.
fn without_floor(function: &Function, value: Value) -> Value {
    let is_floor =
        |value: Value| function.constant(value).is_some_and(|bits| f32::from_bits(bits) >= 0.0);
    match function.operation(value) {
        Some((Op::Max, &[a, b])) if is_floor(b) => a,
        Some((Op::Max, &[a, b])) if is_floor(a) => b,
        _ => value,
    }
}

/// Clamps components of normalized vectors. `ranges` are those of the point shader.
pub(super) fn find(
    point: &PointShader<'_>,
    ranges: &Ranges<'_>,
    candidates: Vec<Candidate>,
    nan: Nan,
    related: &mut RelationInfo,
) {
    for Candidate { value, others } in candidates {
        let divisor = ranges.of_operand(value, 1);
        let is_nonnegative = |&term: &Value| point.floats(term).low() >= 0.0;
        let known = point.floats(value);
        // A clamp would hide that an endpoint is infinite because of a NaN.
        let hides_nan = nan == Nan::Propagate && known.nan;
        let is_clamped = known.low() < LIMITS[0] || known.high() > LIMITS[1];
        if !hides_nan
            && is_clamped
            && divisor.is_some_and(|divisor| divisor.floats().low() >= MIN_DIVISOR)
            && others.iter().all(is_nonnegative)
        {
            let [low, high] = LIMITS;
            let limits = Floats { nan: known.nan, ..Floats::between(low, high) };
            let clamp = [
                if known.low() < low { low } else { f32::NEG_INFINITY },
                if known.high() > high { high } else { f32::INFINITY },
            ];
            related.refinements[value.index()].push(Refinement::Clamp(clamp));
            related.constrain(value, Constraint::replace(Bounds::Float(limits)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::text::parse;
    use crate::random::Random;
    use crate::relations::Relations;
    use crate::relations::testing::Bounder;

    #[test]
    fn quotients_do_not_exceed_1() {
        let mut random = Random::new(7);
        let mut float = || f32::from_bits(random.bits() as u32);
        let mut reached = 0;
        for _ in 0..2_000_000 {
            let [x, y] = [float(), float()];
            let sum = x * x + if y.is_nan() { 0.0 } else { y * y };
            for sum in [x * x, sum] {
                let quotient = x / sum.max(f32::MIN_POSITIVE).sqrt();
                assert!(x.is_nan() || quotient.is_nan() || quotient.abs() <= 1.0, "{x:e}, {y:e}");
                reached += u32::from(quotient.abs() == 1.0);
            }
        }
        assert!(reached > 1_000_000, "most quotients by |x| are 1: {reached}");
    }

    #[test]
    fn quotients_by_a_length_are_found() {
        let text = |divisor: &str| {
            format!(
                "fn f(x: f32, y: f32) -> (r: f32) {{
                    %0 = mul x, x
                    %1 = mul y, y
                    %2 = add %1, %0
                    %3 = {divisor}
                    %4 = sqrt %3
                    %5 = div x, %4
                    return %5
                }}"
            )
        };
        for (divisor, count) in
            [("max %2, 1e-30", 1), ("max 1e-30, %2", 1), ("add %2, %2", 1), ("max %1, 1.0", 0)]
        {
            let function = parse(&text(divisor)).expect("the text is well formed");
            let found = candidates(&function, &vec![true; function.len()]);
            assert_eq!(found.len(), count, "{divisor}");
        }
    }

    /// Conditions on S and on √S. A root that only the arm needs is computed there.
    #[test]
    fn conditions_exclude_small_lengths() {
        let guarded = |cond: &str, divisor: &str| {
            format!(
                "fn f(x: f32, y: f32) -> (r: f32) {{
                    %0 = mul x, x
                    %1 = mul y, y
                    %2 = add %0, %1
                    %3 = sqrt %2
                    %4 = lt {cond}
                    %5 = if %4 {{ yield 0.0 }} else {{
                        %6 = sqrt %2
                        %7 = div x, {divisor}
                        yield %7
                    }}
                    return %5
                }}"
            )
        };
        let mut random = Random::new(3);
        let mut fraction = || random.below(1 << 20) as f32 / (1 << 20) as f32;
        for (cond, divisor, is_clamped) in [
            ("%2, 1e-8", "%6", true),
            ("%3, 1e-4", "%3", true),
            ("%2, 1e-8", "%3", true),
            ("%2, 1e-39", "%6", false),
            ("1e-8, %2", "%6", false),
        ] {
            let bounder =
                Bounder::new(&guarded(cond, divisor), &[None; 2], Relations::NONE, Nan::Suppress);
            let mut widest = 0.0f32;
            for _ in 0..2000 {
                let scale = 0.1f32.powf(6.0 * fraction());
                let mut end = || scale * (2.0 * fraction() - 1.0);
                let boxes = [0; 2].map(|_| {
                    let [a, b] = [end(), end()];
                    [a.min(b), a.max(b)]
                });
                let [x, y] = boxes;
                let members: Vec<_> = (0..8)
                    .map(|k| {
                        [x[k & 1], y[k >> 1 & 1]].map(|end| end * (1.0 - 0.1 * (k >> 2) as f32))
                    })
                    .collect();
                let inside = members.iter().filter(|member| {
                    std::iter::zip(*member, boxes).all(|(a, [low, high])| (low..=high).contains(a))
                });
                let [bounds] = bounder.run(&boxes, inside)[..] else { panic!("it has one output") };
                widest = bounds.into_iter().fold(widest, |widest, end| widest.max(end.abs()));
            }
            assert_eq!(widest <= 1.0, is_clamped, "{cond}: {widest}");
        }
    }
}
