//! What the result of an operation can be, from what its operands can be: arithmetic on sets of
//! intervals (Clarberg et al. 2010 §4.3, equation 9).
//!
//! Each combination of pieces of the operands is taken by itself. An operation that is monotone in
//! each operand, within a piece, has its extremes at the ends, so it is run there, and the results
//! of all combinations join. Which operations are, what they are defined for, and which results
//! they have at all stands in their [facts](crate::ir::facts); where neither these nor code here
//! knows better, a result can be anything, NaN included. What is more, or less, than that:
//!
//! - Bounds hold for the *ends* that bounding code computes, too, whose intervals span the gaps
//!   between pieces. Where an operation is not monotone over a gap, as |x| and 1 ÷ x are not at 0,
//!   what comes of such an interval is added.
//! - Where an operation gives NaN, bounding code that suppresses it cuts operands to the domain,
//!   and so does this.

use super::bounds::{Bools, Bounds, Floats, Ints, Pieces};
use crate::interval::{Facts, Forms, Interval, Nan};
use crate::ir::op::Words;
use crate::ir::{Monotonicity, Op, OpFacts, Type, ZeroFrom};

/// The least float above 0.
const TINY: f32 = f32::from_bits(1);

/// What the result of an operation can be; `same` says that the first two operands are one value.
///
/// *Panics* if operands are not of the operation's types.
pub fn transfer(op: Op, args: &[Bounds], same: bool, nan: Nan) -> Bounds {
    // Of the arms of a choice one is enough.
    let needed = if op == Op::Select { &args[..1] } else { args };
    if needed.iter().any(Bounds::is_none) {
        return Bounds::none(result_type(op, args));
    }
    if op.is_reading() {
        // What a table has is not known.
        return Bounds::all(result_type(op, args));
    }
    match (op, args) {
        (Op::Smoothstep, [Bounds::Float(low), Bounds::Float(high), Bounds::Float(x)]) => {
            Bounds::Float(smoothstep(low, high, x, nan))
        }
        (Op::Select, [Bounds::Bool(cond), then, otherwise]) => match (cond.yes, cond.no) {
            (true, true) => then.join(otherwise),
            (true, false) => *then,
            _ => *otherwise,
        },
        (Op::BNot, [Bounds::Bool(a)]) => Bounds::Bool(Bools { no: a.yes, yes: a.no }),
        (Op::Any, [Bounds::Bool(a)]) => Bounds::Bool(*a),
        (_, [Bounds::Float(a)]) => of_float(op, a, nan),
        (_, [Bounds::Float(a), Bounds::Float(b)]) => of_floats(op, a, b, same, nan),
        (_, [Bounds::Int(a)]) => of_int(op, a),
        (_, [Bounds::Int(a), Bounds::Int(b)]) => of_ints(op, [a, b], same, nan),
        (_, [Bounds::Bool(a), Bounds::Bool(b)]) => Bounds::Bool(of_bools(op, *a, *b)),
        _ => Bounds::all(result_type(op, args)),
    }
}

fn result_type(op: Op, args: &[Bounds]) -> Type {
    op.signature().result.unwrap_or(args[args.len() - 1].ty())
}

/// The ends that the form of an operation on integers gives for the whole of each operand. A form
/// is no wider for what is narrower.
fn by_form(op: Op, args: &[&Ints], same: bool, nan: Nan) -> Bounds {
    let whole = |ints: &&Ints| {
        let [lo, hi] = ints.hull().unwrap_or([i32::MIN, i32::MAX]).map(|end| end as u32);
        let facts = Facts { nan: false, negative_zero: false, number: false };
        Interval { lo, hi, known: Bounds::Int(**ints), facts }
    };
    let mut words = Words::default();
    let mut forms = Forms { emit: &mut words, nan, same, clean: vec![], case: "" };
    let [lo, hi] = match args {
        [a] => forms.apply(op, &[whole(a)]),
        [a, b] => forms.apply(op, &[whole(a), whole(b)]),
        _ => unreachable!("operations on integers have one or two operands"),
    };
    match op.signature().result {
        Some(Type::Bool) => Bounds::Bool(Bools { no: lo == 0, yes: hi != 0 }),
        _ => Bounds::Int(Pieces::one(lo as i32, hi as i32)),
    }
}

/// Products of this magnitude may be taken for such that do not fit.
const SURE: i64 = i32::MAX as i64 - 4096;

fn eval(op: Op, args: &[f32]) -> f32 {
    let mut words = [0; 2];
    for (word, arg) in words.iter_mut().zip(args) {
        *word = arg.to_bits();
    }
    f32::from_bits(op.eval(&words[..args.len()]))
}

/// A set of numbers, to which the results at the corners of boxes are added.
struct Found(Pieces<f32>);

impl Found {
    fn add(&mut self, low: f32, high: f32) {
        self.0.add(low, high);
    }

    fn hull_of(&mut self, corners: &[f32]) {
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

/// Whether a float can be an infinity.
fn is_infinite(a: &Floats) -> bool {
    a.low() == f32::NEG_INFINITY || a.high() == f32::INFINITY
}

/// Whether the sign bit of a number may be set, and may be clear.
fn signs(a: &Floats) -> [bool; 2] {
    [a.low() < 0.0 || a.negative_zero, a.high() > 0.0 || a.positive_zero]
}

/// Floats of which 0 is −0 only if it may be, and +0 likewise.
fn with_zeros(pieces: Pieces<f32>, negative: bool, positive: bool, nan: bool) -> Floats {
    let zero = pieces.contains(0.0);
    Floats { pieces, nan, negative_zero: zero && negative, positive_zero: zero && positive }
}

/// What an operand is known to be that bounding code tests for NaN, where that propagates: if it
/// may be NaN, it is below ∞.
fn tested(a: &Floats, mode: Nan) -> Floats {
    if mode != Nan::Propagate || !a.nan {
        return *a;
    }
    let pieces = a.pieces.within(f32::NEG_INFINITY, f32::MAX);
    with_zeros(pieces, a.negative_zero, a.positive_zero, false)
}

fn of_float(op: Op, a: &Floats, mode: Nan) -> Bounds {
    let a = &if op == Op::Abs { tested(a, mode) } else { *a };
    match op.signature().result {
        _ if matches!(op, Op::Chop | Op::ToS32 | Op::ToU32) => {
            // Of an end that is NaN, code makes any integer.
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
    let OpFacts { range: [low, high], domain: [least, most], monotone, zeros, .. } = op.facts();
    let made = a.low() < least || a.high() > most || monotone == [Monotonicity::Unknown];
    // The test that an operand is not below 0 fails for NaN as well.
    let nan = (a.nan || made) && !(op == Op::Sqrt && mode == Nan::Propagate);
    if a.pieces.is_empty() {
        // Of NaN alone bounding code may make any number.
        return Bounds::Float(Floats { nan, ..Floats::between(low, high) });
    }
    let pieces = unary(op, a).within(low, high);
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

fn unary(op: Op, a: &Floats) -> Pieces<f32> {
    let mut found = Found(Pieces::empty());
    let OpFacts { range, domain: [least, most], monotone, widening, .. } = op.facts();
    let spans = a.low() < 0.0 && a.high() > 0.0;
    let is_monotone = matches!(monotone, [Monotonicity::Increasing | Monotonicity::Decreasing]);
    let is_split = monotone == [Monotonicity::SplitAtZero];
    if !is_monotone && !is_split {
        let [low, high] = range;
        match a.pieces.hull() {
            Some([x, y]) if op == Op::Fract && x == y && x.is_finite() => {
                found.hull_of(&[eval(op, &[x])])
            }
            _ => found.add(low, high),
        }
        return found.0;
    }
    for [low, high] in a.pieces.iter() {
        let [low, high] = [low, high].map(|end| end.max(least).min(most));
        match op {
            _ if is_split && low <= 0.0 && high >= 0.0 => {
                found.hull_of(&[low, high, 0.0].map(|x| eval(op, &[x])))
            }
            Op::Sign => [low, high, 0.0f32.clamp(low, high)]
                .into_iter()
                .for_each(|x| found.hull_of(&[eval(op, &[x])])),
            // What is cut to 0 has its sign.
            Op::Rsqrt => found.hull_of(&[low, high].map(|x| eval(op, &[x.abs()]))),
            _ => found.hull_of(&[low, high].map(|x| eval(op, &[x]))),
        }
    }
    if is_split && spans {
        found.hull_of(&[eval(op, &[0.0])]);
    }
    if op == Op::Rsqrt && a.negative_zero {
        found.add(f32::NEG_INFINITY, f32::NEG_INFINITY);
    }
    // The factor 1 ± k · 2⁻²³ is a step of 2k floats at most.
    if widening > 0 { widened(&found.0, 2 * u32::from(widening)) } else { found.0 }
}

/// Pieces with ends moved outwards by so many floats.
fn widened(pieces: &Pieces<f32>, by: u32) -> Pieces<f32> {
    let mut wide = Pieces::empty();
    for [mut low, mut high] in pieces.iter() {
        for _ in 0..by {
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
    for ends in a.pieces.iter() {
        let [low, high] = ends.map(|end| op.eval(&[end.to_bits()]) as i32);
        ints.add(low, high);
    }
    if a.nan {
        let of_nan = op.eval(&[f32::NAN.to_bits()]) as i32;
        ints.add(of_nan, of_nan);
    }
    ints
}

fn of_floats(op: Op, a: &Floats, b: &Floats, same: bool, mode: Nan) -> Bounds {
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
        Op::Min | Op::Max => least_or_most(op, a, b),
        Op::Pow => power(a, b, nan),
        // Of two infinities the angle is NaN.
        Op::Atan2 => {
            let [low, high] = op.facts().range;
            Floats { nan: nan || (is_infinite(a) && is_infinite(b)), ..Floats::between(low, high) }
        }
        Op::Rem => Floats {
            nan: nan || is_infinite(a) || is_infinite(b) || b.pieces.contains(0.0),
            ..Floats::all()
        },
        _ => Floats::all(),
    })
}

/// For each pair of pieces, the results at the four corners.
fn corners(op: Op, a: &Floats, b: &Floats) -> Found {
    let mut found = Found(Pieces::empty());
    for [a, c] in a.pieces.iter() {
        for [b, d] in b.pieces.iter() {
            found.hull_of(&[[a, b], [a, d], [c, b], [c, d]].map(|corner| eval(op, &corner)));
        }
    }
    found
}

fn negated(a: &Floats) -> Floats {
    let mut pieces = Pieces::empty();
    a.pieces.iter().for_each(|[low, high]| pieces.add(-high, -low));
    Floats { pieces, nan: a.nan, negative_zero: a.positive_zero, positive_zero: a.negative_zero }
}

fn sum(a: &Floats, b: &Floats, nan: bool) -> Floats {
    let mut found = Found(Pieces::empty());
    for [low, high] in a.pieces.iter() {
        for [least, most] in b.pieces.iter() {
            found.hull_of(&[low + least, high + most]);
        }
    }
    let clash = |a: &Floats, b: &Floats| a.low() == f32::NEG_INFINITY && b.high() == f32::INFINITY;
    let made = clash(a, b) || clash(b, a);
    if made {
        // ∞ − ∞ says nothing of an end.
        found.add(f32::NEG_INFINITY, f32::NEG_INFINITY);
        found.add(f32::INFINITY, f32::INFINITY);
    }
    with_zeros(found.0, a.negative_zero && b.negative_zero, true, nan || made)
}

fn product(a: &Floats, b: &Floats, nan: bool, mode: Nan) -> Floats {
    let mut found = corners(Op::Mul, a, b);
    let made =
        (a.pieces.contains(0.0) && is_infinite(b)) || (b.pieces.contains(0.0) && is_infinite(a));
    if made {
        // 0 · ∞, where NaN is suppressed.
        found.add(0.0, 0.0);
    }
    let ([minus, plus], [negative, positive]) = (signs(a), signs(b));
    let (unlike, like) =
        (minus && positive || plus && negative, minus && negative || plus && positive);
    // Products of ends are tested, those where zeros are no ends are not.
    let untested = (has_inner_zero(a) && is_infinite(b)) || (has_inner_zero(b) && is_infinite(a));
    let passes = if mode == Nan::Propagate { untested } else { made };
    with_zeros(found.0, unlike, like || made, nan || passes)
}

/// Whether an interval may have a zero that is not one of its ends.
fn has_inner_zero(a: &Floats) -> bool {
    a.low() < 0.0 && a.high() > 0.0
}

fn square(a: &Floats) -> Floats {
    let mut found = Found(Pieces::empty());
    for [low, high] in a.pieces.iter() {
        let near = 0.0f32.clamp(low, high);
        found.hull_of(&[low * low, near * near, high * high]);
    }
    if a.low() < 0.0 && a.high() > 0.0 {
        found.add(0.0, 0.0);
    }
    with_zeros(found.0, false, true, a.nan)
}

fn quotient(a: &Floats, b: &Floats, nan: bool, mode: Nan) -> Floats {
    let mut found = Found(Pieces::empty());
    // Not in one set, where pieces might join over 0.
    let divisors =
        [b.pieces.within(f32::NEG_INFINITY, -TINY), b.pieces.within(TINY, f32::INFINITY)];
    for [low, high] in a.pieces.iter() {
        for [least, most] in divisors.iter().flat_map(Pieces::iter) {
            found.hull_of(&[low / least, low / most, high / least, high / most]);
        }
    }
    let zero = b.pieces.contains(0.0);
    // Whether an interval of the divisor can hold a zero from both sides, or one of unknown sign.
    // Quotients are anything then.
    let is_open = b.high() >= 0.0 && (b.low() < 0.0 || (zero && b.negative_zero));
    if is_open || (zero && a.high() > 0.0) {
        found.add(f32::INFINITY, f32::INFINITY);
    }
    if is_open || (zero && a.low() < 0.0) {
        found.add(f32::NEG_INFINITY, f32::NEG_INFINITY);
    }
    let both_zero = zero && a.pieces.contains(0.0);
    let made = both_zero || (is_infinite(a) && is_infinite(b));
    if made {
        // 0 ÷ 0 and ∞ ÷ ∞, where NaN is suppressed.
        found.add(0.0, 0.0);
    }
    let ([minus, plus], [negative, positive]) = (signs(a), signs(b));
    let (unlike, like) =
        (minus && positive || plus && negative, minus && negative || plus && positive);
    // Quotients of ends are tested, those where zeros are no ends are not.
    let passes =
        if mode == Nan::Propagate && !is_open { both_zero && has_inner_zero(a) } else { made };
    with_zeros(found.0, unlike, like || made, nan || passes)
}

fn least_or_most(op: Op, a: &Floats, b: &Floats) -> Floats {
    let mut found = corners(op, a, b).0;
    if b.nan {
        found = found.join(&a.pieces);
    }
    if a.nan {
        found = found.join(&b.pieces);
    }
    with_zeros(found, a.negative_zero || b.negative_zero, a.positive_zero || b.positive_zero, a.nan)
}

fn power(a: &Floats, b: &Floats, nan: bool) -> Floats {
    let made = a.low() < 0.0 || (a.pieces.contains(1.0) && is_infinite(b));
    let base = if a.low() < 0.0 {
        let mut pieces = a.pieces.within(0.0, f32::INFINITY);
        pieces.add(0.0, 0.0);
        Floats { pieces, ..*a }
    } else {
        *a
    };
    let mut found = corners(Op::Pow, &base, b);
    if a.pieces.contains(1.0) && is_infinite(b) {
        found.add(0.0, f32::INFINITY);
    }
    with_zeros(found.0.within(0.0, f32::INFINITY), false, true, nan || made)
}

fn compare(op: Op, a: &Floats, b: &Floats, mode: Nan) -> Bools {
    if a.pieces.is_empty() || b.pieces.is_empty() {
        return Bools { no: true, yes: true };
    }
    let nan = a.nan || b.nan;
    // Where NaN propagates, an end that is NaN makes everything possible.
    let untold = nan && mode == Nan::Propagate;
    match op {
        Op::Lt => Bools { no: nan || a.high() >= b.low(), yes: untold || a.low() < b.high() },
        Op::Le => Bools { no: nan || a.high() > b.low(), yes: untold || a.low() <= b.high() },
        Op::Eq => {
            let apart = a.high() < b.low() || b.high() < a.low();
            let equal = a.low() == a.high() && b.low() == b.high() && a.low() == b.low();
            Bools { no: nan || !equal, yes: untold || !apart }
        }
        _ => Bools { no: true, yes: true },
    }
}

fn step(edge: &Floats, x: &Floats) -> Floats {
    let reached = compare(Op::Le, edge, x, Nan::Suppress);
    let mut found = Pieces::empty();
    if reached.no {
        found.add(0.0, 0.0);
    }
    if reached.yes {
        found.add(1.0, 1.0);
    }
    with_zeros(found, false, true, false)
}

fn smoothstep(low: &Floats, high: &Floats, x: &Floats, nan: Nan) -> Floats {
    let difference =
        |a: Floats, b: Floats| transfer(Op::Sub, &[Bounds::Float(a), Bounds::Float(b)], false, nan);
    let t = transfer(Op::Div, &[difference(*x, *low), difference(*high, *low)], false, nan);
    with_zeros(Pieces::one(0.0, 1.0), false, true, t.floats().nan)
}

fn of_bools(op: Op, a: Bools, b: Bools) -> Bools {
    match op {
        Op::BAnd => Bools { no: a.no || b.no, yes: a.yes && b.yes },
        Op::BOr => Bools { no: a.no && b.no, yes: a.yes || b.yes },
        Op::BXor => Bools {
            no: (a.no && b.no) || (a.yes && b.yes),
            yes: (a.no && b.yes) || (a.yes && b.no),
        },
        _ => Bools { no: true, yes: true },
    }
}

fn of_int(op: Op, a: &Ints) -> Bounds {
    let least = a.hull().map_or(0, |[low, _]| low);
    match op {
        Op::FromS32 | Op::FromU32 if op == Op::FromS32 || least >= 0 => {
            let mut pieces = Pieces::empty();
            a.iter().for_each(|[low, high]| pieces.add(low as f32, high as f32));
            Bounds::Float(with_zeros(pieces, false, true, false))
        }
        Op::FromU32 => {
            Bounds::Float(with_zeros(Pieces::one(0.0, 4294967296.0), false, true, false))
        }
        _ if op.signature().result == Some(Type::F32) => Bounds::all(Type::F32),
        _ => by_form(op, &[a], false, Nan::Suppress),
    }
}

fn of_ints(op: Op, [a, b]: [&Ints; 2], same: bool, nan: Nan) -> Bounds {
    match op {
        Op::IAdd => int_corners(a, b, |a, b| a + b),
        Op::ISub => int_corners(a, b, |a, b| a - b),
        Op::IMul => int_corners(a, b, |a, b| {
            // Code that looks whether products fit does so by floats.
            Some(a * b).filter(|product| product.abs() < SURE).unwrap_or(i64::MAX)
        }),
        Op::SMin => int_corners(a, b, |a, b| a.min(b)),
        Op::SMax => int_corners(a, b, |a, b| a.max(b)),
        _ => by_form(op, &[a, b], same, nan),
    }
}

/// For each pair of pieces, the results at the four corners; everything where one does not fit, as
/// others wrap.
fn int_corners(a: &Ints, b: &Ints, f: impl Fn(i64, i64) -> i64) -> Bounds {
    let mut found = Pieces::empty();
    for [a, c] in a.iter() {
        for [b, d] in b.iter() {
            let corners = [[a, b], [a, d], [c, b], [c, d]];
            let (mut low, mut high) = (i32::MAX, i32::MIN);
            for [x, y] in corners {
                let Ok(z) = i32::try_from(f(x.into(), y.into())) else {
                    return Bounds::all(Type::I32);
                };
                (low, high) = (low.min(z), high.max(z));
            }
            found.add(low, high);
        }
    }
    Bounds::Int(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::random::{Random, word};
    use std::collections::BTreeMap;

    /// An operand: bounds, and words that are within them, the ends of pieces among them.
    fn operand(random: &mut Random, ty: Type) -> (Bounds, Vec<u32>) {
        let mut words: Vec<_> = (0..1 + random.below(6)).map(|_| word(random, ty)).collect();
        let mut bounds =
            words.iter().fold(Bounds::none(ty), |all, &word| all.join(&Bounds::constant(ty, word)));
        match &mut bounds {
            Bounds::Float(floats) => {
                if !floats.pieces.is_empty() && random.once_in(2) {
                    *floats = floats.join(&Floats::between(floats.low(), floats.high()));
                }
                for [low, high] in floats.pieces.iter() {
                    let inner = low + (high - low) * (random.below(1000) as f32 / 1000.0);
                    let near =
                        [low, high, low.next_up(), high.next_down(), inner, 0.0, -0.0, 1.0, -1.0];
                    words
                        .extend(near.into_iter().filter(|&x| floats.contains(x)).map(f32::to_bits));
                }
            }
            Bounds::Int(ints) => {
                let [low, high] = ints.hull().expect("there are words");
                if random.once_in(2) {
                    ints.add(low, high);
                }
                for [low, high] in ints.iter() {
                    let inner = i64::from(low)
                        + (i64::from(high) - i64::from(low)) * random.below(1000) as i64 / 1000;
                    words.extend([low as u32, high as u32, inner as u32]);
                }
                words.extend([0, 1, !0].into_iter().filter(|&x| ints.contains(x as i32)));
            }
            Bounds::Bool(_) => {}
        }
        words.retain(|&word| bounds.contains(word));
        (bounds, words)
    }

    fn operands(random: &mut Random, op: Op) -> Vec<(Bounds, Vec<u32>)> {
        let any = *random.pick(&[Type::F32, Type::I32, Type::Bool]);
        op.signature().args.iter().map(|ty| operand(random, ty.unwrap_or(any))).collect()
    }

    #[test]
    fn results_of_operations_are_within_their_bounds() {
        let mut random = Random::new(1);
        for &op in Op::ALL.iter().filter(|op| !op.is_reading()) {
            for _ in 0..4000 {
                let mut operands = operands(&mut random, op);
                let same = operands.len() == 2
                    && random.once_in(4)
                    && operands[0].0.ty() == operands[1].0.ty();
                if same {
                    operands[1] = operands[0].clone();
                }
                let known: Vec<_> = operands.iter().map(|(bounds, _)| *bounds).collect();
                let bounds = transfer(op, &known, same, Nan::Suppress);
                for _ in 0..20 {
                    let mut words: Vec<_> =
                        operands.iter().map(|(_, words)| *random.pick(words)).collect();
                    if same {
                        words[1] = words[0];
                    }
                    let result = op.eval(&words);
                    assert!(
                        bounds.contains(result),
                        "{} {words:x?} is {result:x}, not in {bounds:?} of {known:?}",
                        op.name()
                    );
                }
            }
        }
    }

    /// A number or an interval within bounds, if they have one.
    fn interval(
        random: &mut Random,
        op: Op,
        bounds: &Bounds,
        words: &[u32],
        told: bool,
    ) -> Option<Interval<u32>> {
        let [mut lo, mut hi] = [0; 2].map(|_| *random.pick(words));
        let number = random.once_in(4);
        if number {
            hi = lo;
        }
        let facts = match bounds {
            Bounds::Float(floats) => {
                let [a, b] = [lo, hi].map(f32::from_bits);
                // What is NaN for a whole box has any ends; a choice may take the other arm.
                if (a.is_nan() || b.is_nan()) && !(number && op == Op::Select) {
                    return None;
                }
                if a.total_cmp(&b).is_gt() {
                    std::mem::swap(&mut lo, &mut hi);
                }
                Facts { nan: floats.nan, negative_zero: floats.negative_zero, number }
            }
            _ => {
                let [a, b] = [lo, hi].map(|word| word as i32);
                // The word of true is −1.
                if (a > b) != (bounds.ty() == Type::Bool) {
                    std::mem::swap(&mut lo, &mut hi);
                }
                Facts { nan: false, negative_zero: false, number }
            }
        };
        let known = if told { *bounds } else { Bounds::all(bounds.ty()) };
        Some(Interval { lo, hi, known, facts })
    }

    #[test]
    fn ends_of_forms_are_within_the_bounds_of_results() {
        let mut random = Random::new(2);
        let mut failures = BTreeMap::new();
        for &op in Op::ALL.iter().filter(|op| !op.is_reading()) {
            for _ in 0..20000 {
                let mut operands = operands(&mut random, op);
                let same = operands.len() == 2
                    && random.once_in(4)
                    && operands[0].0.ty() == operands[1].0.ty();
                if same {
                    operands[1] = operands[0].clone();
                }
                let known: Vec<_> = operands.iter().map(|(bounds, _)| *bounds).collect();
                let nan = *random.pick(&[Nan::Suppress, Nan::Propagate]);
                let told = random.once_in(2);
                let bounds = transfer(op, &known, same, nan);
                let args: Option<Vec<_>> = operands
                    .iter()
                    .map(|(bounds, words)| interval(&mut random, op, bounds, words, told))
                    .collect();
                let Some(mut args) = args else { continue };
                if same {
                    args[1] = args[0];
                }
                let mut words = Words::default();
                let mut forms = Forms { emit: &mut words, nan, same, clean: vec![], case: "" };
                let ends = forms.apply(op, &args);
                if forms.clean.contains(&0) {
                    continue;
                }
                let is_within = ends.iter().all(|&end| bounds.contains(end));
                if !is_within {
                    let case = forms.case;
                    failures.entry(op).or_insert_with(|| {
                        format!("{nan:?} {case}: {ends:x?} of {args:x?} is not in {bounds:?}")
                    });
                }
            }
        }
        assert!(failures.is_empty(), "{failures:#?}");
    }

    #[test]
    fn comparisons_of_ends_that_are_nan_may_be_true_where_nan_propagates() {
        let six = Bounds::Float(Floats::constant(6.0));
        let zero_or_nan = Bounds::Float(Floats { nan: true, ..Floats::constant(0.0) });
        let interval = |known, end: f32| {
            let facts = Facts { nan: true, negative_zero: false, number: false };
            Interval { lo: end.to_bits(), hi: end.to_bits(), known, facts }
        };
        for op in [Op::Lt, Op::Le, Op::Eq] {
            let mut words = Words::default();
            let mut forms = Forms {
                emit: &mut words,
                nan: Nan::Propagate,
                same: false,
                clean: vec![],
                case: "",
            };
            let ends = forms.apply(op, &[interval(six, 6.0), interval(zero_or_nan, f32::NAN)]);
            let bounds = transfer(op, &[six, zero_or_nan], false, Nan::Propagate);
            assert!(
                ends.iter().all(|&end| bounds.contains(end)),
                "{}: {ends:?} is not in {bounds}",
                op.name()
            );
            assert!(!transfer(op, &[six, zero_or_nan], false, Nan::Suppress).bools().yes);
        }
    }

    #[test]
    fn quotients_split_at_zero() {
        let of = |low: f32, high: f32| Bounds::Float(Floats::between(low, high));
        let one = Bounds::Float(Floats::constant(1.0));
        let pieces = |b: Bounds| {
            let quotient = transfer(Op::Div, &[one, b], false, Nan::Suppress);
            quotient.floats().pieces.iter().collect::<Vec<_>>()
        };
        let (least, most) = (f32::NEG_INFINITY, f32::INFINITY);
        assert_eq!(pieces(of(1.0, most)), [[0.0, 1.0]]);
        assert_eq!(pieces(of(-2.0, 4.0)), [[least, -0.5], [0.25, most]]);
        assert_eq!(pieces(of(0.0, 4.0)), [[least, least], [0.25, most]]);
        let positive = Bounds::Float(Floats { negative_zero: false, ..Floats::between(0.0, 4.0) });
        assert_eq!(pieces(positive), [[0.25, most]]);
    }

    #[test]
    fn steps_and_choices_are_discrete() {
        let all = Bounds::Float(Floats::all());
        let step = transfer(Op::Step, &[all, all], false, Nan::Suppress);
        let a = Bounds::Float(Floats::between(2.0, 3.0));
        let product = transfer(Op::Mul, &[a, step], false, Nan::Suppress);
        assert_eq!(product.floats().pieces.iter().collect::<Vec<_>>(), [[0.0, 0.0], [2.0, 3.0]]);
        let [x, y] = [4.0, 8.0].map(|x| Bounds::Float(Floats::constant(x)));
        let choice = transfer(Op::Select, &[Bounds::all(Type::Bool), x, y], false, Nan::Suppress);
        assert_eq!(choice.floats().pieces.iter().collect::<Vec<_>>(), [[4.0, 4.0], [8.0, 8.0]]);
    }
}
