//! Transfer functions of operations on floats: results at the corners of each combination of the
//! operands' pieces.

use super::transfer;
use crate::interval::{Bools, Bounds, Facts, Floats, Interval, Ints, Nan, OpLowering, Pieces};
use crate::ir::{Monotonicity, Op, OpFacts, Type, ZeroFrom};
use crate::math::eval::ConstantEvaluator;

/// The smallest positive float.
const MIN_POSITIVE: f32 = f32::from_bits(1);

/// Rounding errors of endpoints, in ulps, of operations that are not quite monotone.
const MAX_ROUNDING: u32 = 8;

fn eval(op: Op, args: &[f32]) -> f32 {
    let mut words = [0; 2];
    for (word, arg) in words.iter_mut().zip(args) {
        *word = arg.to_bits();
    }
    f32::from_bits(op.eval(&words[..args.len()]))
}

/// A set of floats that collects results at the corners of boxes.
struct ResultSet(Pieces<f32>);

impl ResultSet {
    fn add(&mut self, low: f32, high: f32) {
        self.0.add(low, high);
    }

    fn add_hull(&mut self, corners: &[f32]) {
        let mut hull: Option<[f32; 2]> = None;
        for &x in corners.iter().filter(|x| !x.is_nan()) {
            hull = Some(hull.map_or([x, x], |[low, high]| {
                [if x < low { x } else { low }, if x > high { x } else { high }]
            }));
        }
        if let Some([low, high]) = hull {
            self.0.add(low, high);
        }
    }
}

/// Whether a float can be infinite.
fn is_infinite(a: &Floats) -> bool {
    a.low() == f32::NEG_INFINITY || a.high() == f32::INFINITY
}

/// Returns whether the sign bit of a float may be set, and whether it may be clear.
fn signs(a: &Floats) -> [bool; 2] {
    [a.low() < 0.0 || a.negative_zero, a.high() > 0.0 || a.positive_zero]
}

/// Floats that contain −0 only if `negative`, and +0 only if `positive`.
pub(super) fn with_zeros(pieces: Pieces<f32>, negative: bool, positive: bool, nan: bool) -> Floats {
    let zero = pieces.contains(0.0);
    Floats { pieces, nan, negative_zero: zero && negative, positive_zero: zero && positive }
}

/// Bounds of an operand after bounding code has tested it for NaN, if NaN propagates: if it may be
/// NaN, it is below ∞.
fn tested(a: &Floats, mode: Nan) -> Floats {
    if mode != Nan::Propagate || !a.nan {
        return *a;
    }
    let pieces = a.pieces.within(f32::NEG_INFINITY, f32::MAX);
    with_zeros(pieces, a.negative_zero, a.positive_zero, false)
}

pub(super) fn transfer_float(op: Op, a: &Floats, mode: Nan) -> Bounds {
    let a = &if op == Op::Abs { tested(a, mode) } else { *a };
    match op.signature().result {
        _ if matches!(op, Op::TruncateToInt | Op::ToS32 | Op::ToU32) => {
            // For a NaN endpoint, code computes an arbitrary integer.
            let may_be_any = a.nan && mode == Nan::Propagate;
            return if may_be_any {
                Bounds::all(Type::I32)
            } else {
                Bounds::Int(to_integer(op, a))
            };
        }
        Some(ty @ (Type::I32 | Type::Bool)) => return Bounds::all(ty),
        Some(Type::F32) | None => {}
    }
    let OpFacts { range: [low, high], domain: [min, max], monotone, zeros, .. } = op.facts();
    let creates_nan = a.low() < min || a.high() > max || monotone == [Monotonicity::Unknown];
    // The test that an operand is nonnegative fails for NaN as well.
    let nan = (a.nan || creates_nan) && !(op == Op::Sqrt && mode == Nan::Propagate);
    if a.pieces.is_empty() {
        // If all members are NaN, bounding code may compute any float.
        return Bounds::Float(Floats { nan, ..Floats::between(low, high) });
    }
    let pieces = unary_pieces(op, a).within(low, high);
    let [negative, positive] = signs(a);
    let [negative_zero, positive_zero] = zeros.map(|from| match from {
        ZeroFrom::Never => false,
        ZeroFrom::NegativeZero => a.negative_zero,
        ZeroFrom::PositiveZero => a.positive_zero,
        ZeroFrom::Negative => negative,
        ZeroFrom::Positive => positive,
        ZeroFrom::Any => true,
    });
    Bounds::Float(with_zeros(pieces, negative_zero, positive_zero, nan))
}

/// The endpoints that bounding code computes for the hulls of operands. For subsets, they are within
/// these, except for rounding errors of a few ulps.
fn lowered(op: Op, operands: &[Floats]) -> [f32; 2] {
    let interval = |floats: &Floats| {
        let known = Bounds::Float(*floats).hull();
        let facts = Facts { nan: false, negative_zero: floats.negative_zero, singleton: false };
        let [lo, hi] = [floats.low(), floats.high()].map(f32::to_bits);
        Interval { lo, hi, known, facts }
    };
    let intervals: Vec<_> = operands.iter().map(interval).collect();
    let mut emit = ConstantEvaluator::default();
    let mut lowering =
        OpLowering { emit: &mut emit, nan: Nan::Suppress, same: false, nan_free: vec![], case: "" };
    let [low, high] = lowering.apply(op, &intervals).map(f32::from_bits);
    let wide = widened(&Pieces::one(low, high), MAX_ROUNDING);
    let [min, max] = op.facts().range;
    wide.within(min, max).hull().unwrap_or([min, max])
}

fn unary_pieces(op: Op, a: &Floats) -> Pieces<f32> {
    let mut results = ResultSet(Pieces::empty());
    let OpFacts { range, domain: [min, max], monotone, widening, .. } = op.facts();
    let spans_zero = a.low() < 0.0 && a.high() > 0.0;
    let is_monotone = matches!(monotone, [Monotonicity::Increasing | Monotonicity::Decreasing]);
    let is_split = monotone == [Monotonicity::SplitAtZero];
    if !is_monotone && !is_split {
        let is_finite = a.low() >= f32::MIN && a.high() <= f32::MAX;
        let [low, high] = match monotone {
            [Monotonicity::Periodic] if is_finite => lowered(op, &[*a]),
            _ => range,
        };
        results.add(low, high);
        return results.0;
    }
    for [low, high] in a.pieces.iter() {
        let [low, high] = [low, high].map(|end| end.max(min).min(max));
        match op {
            _ if is_split && low <= 0.0 && high >= 0.0 => {
                results.add_hull(&[low, high, 0.0].map(|x| eval(op, &[x])))
            }
            Op::Sign => [low, high, 0.0f32.clamp(low, high)]
                .into_iter()
                .for_each(|x| results.add_hull(&[eval(op, &[x])])),
            // A value clamped to 0 has the sign of that zero.
            Op::Rsqrt => results.add_hull(&[low, high].map(|x| eval(op, &[x.abs()]))),
            _ => results.add_hull(&[low, high].map(|x| eval(op, &[x]))),
        }
    }
    if is_split && spans_zero {
        results.add_hull(&[eval(op, &[0.0])]);
    }
    if op == Op::Rsqrt && a.negative_zero {
        results.add(f32::NEG_INFINITY, f32::NEG_INFINITY);
    }
    // The factor 1 ± k · 2⁻²³ moves a float by at most 2k ulps.
    if widening > 0 { widened(&results.0, 2 * u32::from(widening)) } else { results.0 }
}

/// Pieces with endpoints moved outwards by a number of ulps.
fn widened(pieces: &Pieces<f32>, ulps: u32) -> Pieces<f32> {
    let mut wide = Pieces::empty();
    for [mut low, mut high] in pieces.iter() {
        for _ in 0..ulps {
            (low, high) = (low.next_down(), high.next_up());
        }
        wide.add(low, high);
    }
    wide
}

fn to_integer(op: Op, a: &Floats) -> Ints {
    let Some([low, high]) = a.pieces.hull() else { return Pieces::one(i32::MIN, i32::MAX) };
    let fits = low > -2147483648.0 && high < 2147483648.0;
    if !fits && op != Op::ToS32 {
        return Pieces::one(i32::MIN, i32::MAX);
    }
    let mut ints = Pieces::empty();
    for endpoints in a.pieces.iter() {
        let [low, high] = endpoints.map(|end| op.eval(&[end.to_bits()]) as i32);
        ints.add(low, high);
    }
    if a.nan {
        let of_nan = op.eval(&[f32::NAN.to_bits()]) as i32;
        ints.add(of_nan, of_nan);
    }
    ints
}

pub(super) fn transfer_floats(op: Op, a: &Floats, b: &Floats, same: bool, mode: Nan) -> Bounds {
    if matches!(op, Op::Lt | Op::Le | Op::Eq) {
        return Bounds::Bool(compare(op, a, b, mode));
    }
    match op.signature().result {
        _ if op == Op::Step => return Bounds::Float(step(a, b)),
        Some(ty @ (Type::I32 | Type::Bool)) => return Bounds::all(ty),
        Some(Type::F32) | None => {}
    }
    let (mut a, mut b) = (*a, *b);
    if matches!(op, Op::Min | Op::Max) || (op == Op::Mul && same) {
        (a, b) = (tested(&a, mode), tested(&b, mode));
    }
    let (a, b) = (&a, &b);
    let nan = a.nan || b.nan;
    if a.pieces.is_empty() || b.pieces.is_empty() {
        let [low, high] = op.facts().range;
        return Bounds::Float(Floats { nan, ..Floats::between(low, high) });
    }
    Bounds::Float(match op {
        Op::Add => sum(a, b, nan),
        Op::Sub => sum(a, &negated(b), nan),
        Op::Mul if same => square(a),
        Op::Mul => product(a, b, nan, mode),
        Op::Div => quotient(a, b, nan, mode),
        Op::Min | Op::Max => min_or_max(op, a, b),
        Op::Pow => power(a, b, nan),
        // The angle of two infinities is NaN.
        Op::Atan2 => {
            let creates_nan = is_infinite(a) && is_infinite(b);
            let [low, high] =
                if nan || creates_nan { op.facts().range } else { lowered(op, &[*a, *b]) };
            Floats { nan: nan || creates_nan, ..Floats::between(low, high) }
        }
        Op::Rem => Floats {
            nan: nan || is_infinite(a) || is_infinite(b) || b.pieces.contains(0.0),
            ..Floats::all()
        },
        _ => Floats::all(),
    })
}

/// For each pair of pieces, the results at the four corners.
fn corners(op: Op, a: &Floats, b: &Floats) -> ResultSet {
    let mut results = ResultSet(Pieces::empty());
    for [a, c] in a.pieces.iter() {
        for [b, d] in b.pieces.iter() {
            results.add_hull(&[[a, b], [a, d], [c, b], [c, d]].map(|corner| eval(op, &corner)));
        }
    }
    results
}

fn negated(a: &Floats) -> Floats {
    let mut pieces = Pieces::empty();
    a.pieces.iter().for_each(|[low, high]| pieces.add(-high, -low));
    Floats { pieces, nan: a.nan, negative_zero: a.positive_zero, positive_zero: a.negative_zero }
}

fn sum(a: &Floats, b: &Floats, nan: bool) -> Floats {
    let mut results = ResultSet(Pieces::empty());
    for [low, high] in a.pieces.iter() {
        for [min, max] in b.pieces.iter() {
            results.add_hull(&[low + min, high + max]);
        }
    }
    let may_clash =
        |a: &Floats, b: &Floats| a.low() == f32::NEG_INFINITY && b.high() == f32::INFINITY;
    let creates_nan = may_clash(a, b) || may_clash(b, a);
    if creates_nan {
        // An endpoint that is ∞ − ∞ is unbounded.
        results.add(f32::NEG_INFINITY, f32::NEG_INFINITY);
        results.add(f32::INFINITY, f32::INFINITY);
    }
    with_zeros(results.0, a.negative_zero && b.negative_zero, true, nan || creates_nan)
}

fn product(a: &Floats, b: &Floats, nan: bool, mode: Nan) -> Floats {
    let mut results = corners(Op::Mul, a, b);
    let creates_nan =
        (a.pieces.contains(0.0) && is_infinite(b)) || (b.pieces.contains(0.0) && is_infinite(a));
    if creates_nan {
        // 0 · ∞, if NaN is suppressed.
        results.add(0.0, 0.0);
    }
    let ([minus, plus], [negative, positive]) = (signs(a), signs(b));
    let (unlike_signs, like_signs) =
        (minus && positive || plus && negative, minus && negative || plus && positive);
    // Products of endpoints are tested. Products with zeros inside an interval are not.
    let untested = (has_inner_zero(a) && is_infinite(b)) || (has_inner_zero(b) && is_infinite(a));
    let new_nan = if mode == Nan::Propagate { untested } else { creates_nan };
    with_zeros(results.0, unlike_signs, like_signs || creates_nan, nan || new_nan)
}

/// Whether an interval may contain a zero that is not one of its endpoints.
fn has_inner_zero(a: &Floats) -> bool {
    a.low() < 0.0 && a.high() > 0.0
}

fn square(a: &Floats) -> Floats {
    let mut results = ResultSet(Pieces::empty());
    for [low, high] in a.pieces.iter() {
        let closest_to_zero = 0.0f32.clamp(low, high);
        results.add_hull(&[low * low, closest_to_zero * closest_to_zero, high * high]);
    }
    if a.low() < 0.0 && a.high() > 0.0 {
        results.add(0.0, 0.0);
    }
    with_zeros(results.0, false, true, a.nan)
}

fn quotient(a: &Floats, b: &Floats, nan: bool, mode: Nan) -> Floats {
    let mut results = ResultSet(Pieces::empty());
    // Two sets, because pieces of one set might merge across 0.
    let divisors = [
        b.pieces.within(f32::NEG_INFINITY, -MIN_POSITIVE),
        b.pieces.within(MIN_POSITIVE, f32::INFINITY),
    ];
    for [low, high] in a.pieces.iter() {
        for [min, max] in divisors.iter().flat_map(Pieces::iter) {
            results.add_hull(&[low / min, low / max, high / min, high / max]);
        }
    }
    let zero = b.pieces.contains(0.0);
    // Whether an interval of the divisor can contain zeros of both signs, or a zero of unknown
    // sign, so that quotients are unbounded.
    let is_unbounded = b.high() >= 0.0 && (b.low() < 0.0 || (zero && b.negative_zero));
    if is_unbounded || (zero && a.high() > 0.0) {
        results.add(f32::INFINITY, f32::INFINITY);
    }
    if is_unbounded || (zero && a.low() < 0.0) {
        results.add(f32::NEG_INFINITY, f32::NEG_INFINITY);
    }
    let both_zero = zero && a.pieces.contains(0.0);
    let creates_nan = both_zero || (is_infinite(a) && is_infinite(b));
    if creates_nan {
        // 0 ÷ 0 and ∞ ÷ ∞, if NaN is suppressed.
        results.add(0.0, 0.0);
    }
    let ([minus, plus], [negative, positive]) = (signs(a), signs(b));
    let (unlike_signs, like_signs) =
        (minus && positive || plus && negative, minus && negative || plus && positive);
    // Quotients of endpoints are tested. Quotients by zeros inside an interval are not.
    let new_nan = if mode == Nan::Propagate && !is_unbounded {
        both_zero && has_inner_zero(a)
    } else {
        creates_nan
    };
    with_zeros(results.0, unlike_signs, like_signs || creates_nan, nan || new_nan)
}

fn min_or_max(op: Op, a: &Floats, b: &Floats) -> Floats {
    let mut results = corners(op, a, b).0;
    if b.nan {
        results = results.join(&a.pieces);
    }
    if a.nan {
        results = results.join(&b.pieces);
    }
    with_zeros(
        results,
        a.negative_zero || b.negative_zero,
        a.positive_zero || b.positive_zero,
        a.nan,
    )
}

fn power(a: &Floats, b: &Floats, nan: bool) -> Floats {
    let creates_nan = a.low() < 0.0 || (a.pieces.contains(1.0) && is_infinite(b));
    let base = if a.low() < 0.0 {
        let mut pieces = a.pieces.within(0.0, f32::INFINITY);
        pieces.add(0.0, 0.0);
        Floats { pieces, ..*a }
    } else {
        *a
    };
    let mut results = corners(Op::Pow, &base, b);
    if a.pieces.contains(1.0) && is_infinite(b) {
        results.add(0.0, f32::INFINITY);
    }
    with_zeros(results.0.within(0.0, f32::INFINITY), false, true, nan || creates_nan)
}

fn compare(op: Op, a: &Floats, b: &Floats, mode: Nan) -> Bools {
    if a.pieces.is_empty() || b.pieces.is_empty() {
        return Bools { may_be_false: true, may_be_true: true };
    }
    let nan = a.nan || b.nan;
    // If NaN propagates, everything is possible for a NaN endpoint.
    let is_unknown = nan && mode == Nan::Propagate;
    match op {
        Op::Lt => Bools {
            may_be_false: nan || a.high() >= b.low(),
            may_be_true: is_unknown || a.low() < b.high(),
        },
        Op::Le => Bools {
            may_be_false: nan || a.high() > b.low(),
            may_be_true: is_unknown || a.low() <= b.high(),
        },
        Op::Eq => {
            let apart = a.high() < b.low() || b.high() < a.low();
            let equal = a.low() == a.high() && b.low() == b.high() && a.low() == b.low();
            Bools { may_be_false: nan || !equal, may_be_true: is_unknown || !apart }
        }
        _ => Bools { may_be_false: true, may_be_true: true },
    }
}

fn step(edge: &Floats, x: &Floats) -> Floats {
    let reached = compare(Op::Le, edge, x, Nan::Suppress);
    let mut results = Pieces::empty();
    if reached.may_be_false {
        results.add(0.0, 0.0);
    }
    if reached.may_be_true {
        results.add(1.0, 1.0);
    }
    with_zeros(results, false, true, false)
}

pub(super) fn smoothstep(low: &Floats, high: &Floats, x: &Floats, nan: Nan) -> Floats {
    let difference =
        |a: Floats, b: Floats| transfer(Op::Sub, &[Bounds::Float(a), Bounds::Float(b)], false, nan);
    let t = transfer(Op::Div, &[difference(*x, *low), difference(*high, *low)], false, nan);
    with_zeros(Pieces::one(0.0, 1.0), false, true, t.floats().nan)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periodic_operations_and_angles_are_bounded() {
        let of = |op: Op, ranges: &[[f32; 2]]| {
            let operand = |&[low, high]: &[f32; 2]| Bounds::Float(Floats::between(low, high));
            let operands: Vec<_> = ranges.iter().map(operand).collect();
            let bounds = transfer(op, &operands, false, Nan::Suppress);
            assert!(!bounds.floats().nan);
            [bounds.floats().low(), bounds.floats().high()]
        };
        let assert_near = |[low, high]: [f32; 2], [min, max]: [f32; 2]| {
            assert!((low - min).abs() < 3e-6 && (high - max).abs() < 3e-6, "[{low}, {high}]");
        };
        assert_near(of(Op::Sin, &[[0.25, 0.5]]), [0.247404, 0.479426]);
        assert_near(of(Op::Sin, &[[0.25, 2.0]]), [0.247404, 1.0]);
        assert_near(of(Op::Cos, &[[-0.5, 4.0]]), [-1.0, 1.0]);
        assert_near(of(Op::Tan, &[[-0.5, 0.5]]), [-0.546302, 0.546302]);
        assert_near(of(Op::Fract, &[[3.25, 3.75]]), [0.25, 0.75]);
        let [half_pi, pi] = [std::f32::consts::FRAC_PI_2, std::f32::consts::PI];
        assert_near(of(Op::Atan2, &[[0.5, 1.0], [0.5, 1.0]]), [0.463648, 1.107149]);
        assert_near(of(Op::Atan2, &[[0.5, 1.0], [-1.0, 1.0]]), [0.463648, 2.677945]);
        assert_near(of(Op::Atan2, &[[-1.0, 1.0], [0.0, 1.0]]), [-pi, pi]);
        assert_near(of(Op::Atan2, &[[-1.0, 1.0], [1e-30, 1.0]]), [-half_pi, half_pi]);
    }

    #[test]
    fn quotients_split_at_zero() {
        let of = |low: f32, high: f32| Bounds::Float(Floats::between(low, high));
        let one = Bounds::Float(Floats::constant(1.0));
        let pieces = |b: Bounds| {
            let quotient = transfer(Op::Div, &[one, b], false, Nan::Suppress);
            quotient.floats().pieces.iter().collect::<Vec<_>>()
        };
        let (min, max) = (f32::NEG_INFINITY, f32::INFINITY);
        assert_eq!(pieces(of(1.0, max)), [[0.0, 1.0]]);
        assert_eq!(pieces(of(-2.0, 4.0)), [[min, -0.5], [0.25, max]]);
        assert_eq!(pieces(of(0.0, 4.0)), [[min, min], [0.25, max]]);
        let positive = Bounds::Float(Floats { negative_zero: false, ..Floats::between(0.0, 4.0) });
        assert_eq!(pieces(positive), [[0.25, max]]);
    }
}
