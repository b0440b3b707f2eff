//! Static bounds of a value: discrete values and disjoint intervals, and flags for NaN and the two
//! zeros (Clarberg et al. 2010 §4.3, equation 8).
//!
//! The bounds of a value cover everything that it can be at run time: the results of the point
//! shader for any inputs within the bounds of the inputs, and the endpoints of the intervals that
//! the bounding shader computes for it. The number of pieces is limited; beyond that, the closest
//! ones are merged.

use crate::ir::Type;
use std::fmt;

/// Disjoint intervals in ascending order, endpoints included. A discrete value is an interval of
/// zero width.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pieces<T> {
    intervals: [[T; 2]; MAX_PIECES],
    len: u8,
}

/// Maximum number of pieces.
const MAX_PIECES: usize = 4;

/// A scalar type that intervals are made of.
pub trait Number: Copy + PartialOrd + Default {
    /// The distance between two scalars, which determines the pieces to merge.
    fn distance(low: Self, high: Self) -> f64;
    /// Whether the two are equal, in reverse order, or have no scalar between them.
    fn are_adjacent(low: Self, high: Self) -> bool;
}

impl Number for f32 {
    fn distance(low: f32, high: f32) -> f64 {
        f64::from(high) - f64::from(low)
    }
    fn are_adjacent(low: f32, high: f32) -> bool {
        low >= high
    }
}

impl Number for i32 {
    fn distance(low: i32, high: i32) -> f64 {
        f64::from(high) - f64::from(low)
    }
    fn are_adjacent(low: i32, high: i32) -> bool {
        i64::from(low) + 1 >= i64::from(high)
    }
}

impl<T: Number> Pieces<T> {
    /// The empty set.
    pub fn empty() -> Pieces<T> {
        Pieces { intervals: [[T::default(); 2]; MAX_PIECES], len: 0 }
    }

    /// One interval.
    pub fn one(low: T, high: T) -> Pieces<T> {
        debug_assert!(low <= high, "the endpoints of an interval are in order");
        let mut pieces = Pieces::empty();
        pieces.intervals[0] = [low, high];
        pieces.len = 1;
        pieces
    }

    /// Iterates over the intervals.
    pub fn iter(&self) -> impl Iterator<Item = [T; 2]> + '_ {
        self.intervals[..usize::from(self.len)].iter().copied()
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The minimum and the maximum; `None` for the empty set.
    pub fn hull(&self) -> Option<[T; 2]> {
        let last = usize::from(self.len).checked_sub(1)?;
        Some([self.intervals[0][0], self.intervals[last][1]])
    }

    /// Whether the set contains a scalar.
    pub fn contains(&self, x: T) -> bool {
        self.iter().any(|[low, high]| low <= x && x <= high)
    }

    /// Adds an interval.
    pub fn add(&mut self, low: T, high: T) {
        debug_assert!(low <= high, "the endpoints of an interval are in order");
        let mut all = [[T::default(); 2]; MAX_PIECES + 1];
        let mut len = 0;
        let mut new = Some([low, high]);
        for piece in self.iter().map(Some).chain([None]) {
            let next = match (piece, new) {
                (Some(piece), Some(fresh)) if piece[0] <= fresh[0] => piece,
                (piece, Some(fresh)) => {
                    new = None;
                    push(&mut all, &mut len, fresh);
                    let Some(piece) = piece else { break };
                    piece
                }
                (Some(piece), None) => piece,
                (None, None) => break,
            };
            push(&mut all, &mut len, next);
        }
        if len > MAX_PIECES {
            let gap = |k: usize| T::distance(all[k][1], all[k + 1][0]);
            let closest = (0..MAX_PIECES)
                .min_by(|&a, &b| gap(a).total_cmp(&gap(b)))
                .expect("there are pieces");
            all[closest][1] = all[closest + 1][1];
            all.copy_within(closest + 2.., closest + 1);
            len = MAX_PIECES;
        }
        let mut intervals = [[T::default(); 2]; MAX_PIECES];
        intervals[..len].copy_from_slice(&all[..len]);
        *self = Pieces { intervals, len: len as u8 };
    }

    /// The union, with the closest pieces merged if there are too many.
    pub fn join(mut self, other: &Pieces<T>) -> Pieces<T> {
        for [low, high] in other.iter() {
            self.add(low, high);
        }
        self
    }

    /// The intersection.
    pub fn meet(&self, other: &Pieces<T>) -> Pieces<T> {
        let mut intersection = Pieces::empty();
        for [low, high] in other.iter() {
            intersection = intersection.join(&self.within(low, high));
        }
        intersection
    }

    /// The intersection with an interval.
    pub fn within(&self, low: T, high: T) -> Pieces<T> {
        let mut clipped = Pieces::empty();
        for [a, b] in self.iter() {
            let (a, b) = (if a < low { low } else { a }, if b > high { high } else { b });
            if a <= b {
                clipped.add(a, b);
            }
        }
        clipped
    }
}

/// Appends an interval to ascending ones, or merges it with the last one if they touch.
fn push<T: Number>(all: &mut [[T; 2]; MAX_PIECES + 1], len: &mut usize, [low, high]: [T; 2]) {
    if *len > 0 && T::are_adjacent(all[*len - 1][1], low) {
        let end = &mut all[*len - 1][1];
        if *end < high {
            *end = high;
        }
    } else {
        all[*len] = [low, high];
        *len += 1;
    }
}

/// Static bounds of a float.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Floats {
    /// Finite values and infinities. The two zeros are one value here; flags distinguish them.
    pub pieces: Pieces<f32>,
    /// Whether the value can be NaN.
    pub nan: bool,
    /// Whether the value can be −0.
    pub negative_zero: bool,
    /// Whether the value can be +0.
    pub positive_zero: bool,
}

impl Floats {
    /// All floats, including NaN.
    pub fn all() -> Floats {
        Floats { nan: true, ..Floats::between(f32::NEG_INFINITY, f32::INFINITY) }
    }

    /// All floats but NaN and infinities.
    pub fn finite() -> Floats {
        Floats::between(f32::MIN, f32::MAX)
    }

    /// An interval, endpoints included; contains both zeros if it contains 0.
    pub fn between(low: f32, high: f32) -> Floats {
        Floats::of(Pieces::one(low, high))
    }

    /// These pieces, with both zeros if 0 is among them.
    pub fn of(pieces: Pieces<f32>) -> Floats {
        let zero = pieces.contains(0.0);
        Floats { pieces, nan: false, negative_zero: zero, positive_zero: zero }
    }

    /// The empty set.
    pub fn empty() -> Floats {
        Floats::of(Pieces::empty())
    }

    /// A single float.
    pub fn constant(x: f32) -> Floats {
        if x.is_nan() {
            return Floats { nan: true, ..Floats::empty() };
        }
        let is_zero = x == 0.0;
        let negative_zero = is_zero && x.is_sign_negative();
        Floats { negative_zero, positive_zero: is_zero && !negative_zero, ..Floats::between(x, x) }
    }

    /// The minimum except NaN; +∞ if there is none.
    pub fn low(&self) -> f32 {
        self.pieces.hull().map_or(f32::INFINITY, |[low, _]| low)
    }

    /// The maximum except NaN; −∞ if there is none.
    pub fn high(&self) -> f32 {
        self.pieces.hull().map_or(f32::NEG_INFINITY, |[_, high]| high)
    }

    /// The smallest enclosing interval, with both zeros if 0 lies in a gap.
    pub fn hull(&self) -> Floats {
        let Some([low, high]) = self.pieces.hull() else { return *self };
        let fills_zero = low < 0.0 && high > 0.0 && !self.pieces.contains(0.0);
        Floats {
            pieces: Pieces::one(low, high),
            negative_zero: self.negative_zero || fills_zero,
            positive_zero: self.positive_zero || fills_zero,
            nan: self.nan,
        }
    }

    /// Whether a float is within the bounds.
    pub fn contains(&self, x: f32) -> bool {
        if x.is_nan() {
            self.nan
        } else if x == 0.0 {
            self.pieces.contains(x)
                && if x.is_sign_negative() { self.negative_zero } else { self.positive_zero }
        } else {
            self.pieces.contains(x)
        }
    }

    /// The intersection.
    pub fn meet(&self, other: &Floats) -> Floats {
        let pieces = self.pieces.meet(&other.pieces);
        let zero = pieces.contains(0.0);
        Floats {
            pieces,
            nan: self.nan && other.nan,
            negative_zero: zero && self.negative_zero && other.negative_zero,
            positive_zero: zero && self.positive_zero && other.positive_zero,
        }
    }

    /// The union.
    pub fn join(&self, other: &Floats) -> Floats {
        Floats {
            pieces: self.pieces.join(&other.pieces),
            nan: self.nan || other.nan,
            negative_zero: self.negative_zero || other.negative_zero,
            positive_zero: self.positive_zero || other.positive_zero,
        }
    }
}

/// Static bounds of an integer, ordered as signed.
pub type Ints = Pieces<i32>;

/// Static bounds of a boolean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bools {
    /// Whether the value can be false.
    pub may_be_false: bool,
    /// Whether the value can be true.
    pub may_be_true: bool,
}

/// Static bounds of a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bounds {
    /// Bounds of a float.
    Float(Floats),
    /// Bounds of an integer.
    Int(Ints),
    /// Bounds of a boolean.
    Bool(Bools),
}

impl Bounds {
    /// All values of a type.
    pub fn all(ty: Type) -> Bounds {
        match ty {
            Type::F32 => Bounds::Float(Floats::all()),
            Type::I32 => Bounds::Int(Pieces::one(i32::MIN, i32::MAX)),
            Type::Bool => Bounds::Bool(Bools { may_be_false: true, may_be_true: true }),
        }
    }

    /// The empty set, for a value that is never computed.
    pub fn empty(ty: Type) -> Bounds {
        match ty {
            Type::F32 => Bounds::Float(Floats::empty()),
            Type::I32 => Bounds::Int(Pieces::empty()),
            Type::Bool => Bounds::Bool(Bools { may_be_false: false, may_be_true: false }),
        }
    }

    /// A single value, given by its bits.
    pub fn constant(ty: Type, bits: u32) -> Bounds {
        match ty {
            Type::F32 => Bounds::Float(Floats::constant(f32::from_bits(bits))),
            Type::I32 => Bounds::Int(Pieces::one(bits as i32, bits as i32)),
            Type::Bool => Bounds::Bool(Bools { may_be_false: bits == 0, may_be_true: bits != 0 }),
        }
    }

    /// The type of the value.
    pub fn ty(&self) -> Type {
        match self {
            Bounds::Float(_) => Type::F32,
            Bounds::Int(_) => Type::I32,
            Bounds::Bool(_) => Type::Bool,
        }
    }

    /// The union of bounds of the same type.
    pub fn join(&self, other: &Bounds) -> Bounds {
        match (self, other) {
            (Bounds::Float(a), Bounds::Float(b)) => Bounds::Float(a.join(b)),
            (Bounds::Int(a), Bounds::Int(b)) => Bounds::Int(a.join(b)),
            (Bounds::Bool(a), Bounds::Bool(b)) => Bounds::Bool(Bools {
                may_be_false: a.may_be_false || b.may_be_false,
                may_be_true: a.may_be_true || b.may_be_true,
            }),
            _ => unreachable!("joined bounds have the same type"),
        }
    }

    /// The intersection of bounds of the same type.
    pub fn meet(&self, other: &Bounds) -> Bounds {
        match (self, other) {
            (Bounds::Float(a), Bounds::Float(b)) => Bounds::Float(a.meet(b)),
            (Bounds::Int(a), Bounds::Int(b)) => Bounds::Int(a.meet(b)),
            (Bounds::Bool(a), Bounds::Bool(b)) => Bounds::Bool(Bools {
                may_be_false: a.may_be_false && b.may_be_false,
                may_be_true: a.may_be_true && b.may_be_true,
            }),
            _ => unreachable!("intersected bounds have the same type"),
        }
    }

    /// The smallest enclosing interval, with both zeros if 0 lies in a gap.
    pub fn hull(&self) -> Bounds {
        match self {
            Bounds::Float(floats) => Bounds::Float(floats.hull()),
            Bounds::Int(ints) => {
                Bounds::Int(ints.hull().map_or(*ints, |[low, high]| Pieces::one(low, high)))
            }
            Bounds::Bool(_) => *self,
        }
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        match self {
            Bounds::Float(floats) => floats.pieces.is_empty() && !floats.nan,
            Bounds::Int(ints) => ints.is_empty(),
            Bounds::Bool(bools) => !bools.may_be_false && !bools.may_be_true,
        }
    }

    /// Whether a value, given by its bits, is within the bounds.
    pub fn contains(&self, bits: u32) -> bool {
        match self {
            Bounds::Float(floats) => floats.contains(f32::from_bits(bits)),
            Bounds::Int(ints) => ints.contains(bits as i32),
            Bounds::Bool(bools) => {
                if bits == 0 {
                    bools.may_be_false
                } else {
                    bools.may_be_true
                }
            }
        }
    }

    /// The bounds of a float.
    ///
    /// # Panics
    ///
    /// If the type differs.
    pub fn floats(&self) -> &Floats {
        let Bounds::Float(floats) = self else { panic!("the value is not a float") };
        floats
    }

    /// The bounds of an integer.
    ///
    /// # Panics
    ///
    /// If the type differs.
    pub fn ints(&self) -> &Ints {
        let Bounds::Int(ints) = self else { panic!("the value is not an integer") };
        ints
    }

    /// The bounds of a boolean.
    ///
    /// # Panics
    ///
    /// If the type differs.
    pub fn bools(&self) -> Bools {
        let Bounds::Bool(bools) = self else { panic!("the value is not a bool") };
        *bools
    }
}

/// Formats bounds in mathematical notation: `[0, 1] ∪ {3}, NaN, -0`. Lists `-0` if −0 is possible,
/// and `no +0` if 0 is possible but +0 is not.
impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bounds::Float(floats) => {
                let mut parts = vec![];
                if !floats.pieces.is_empty() {
                    parts.push(format_pieces(&floats.pieces, format_float));
                }
                let zero = floats.pieces.contains(0.0);
                let flags = [
                    (floats.nan, "NaN"),
                    (floats.negative_zero, "-0"),
                    (zero && !floats.positive_zero, "no +0"),
                ];
                parts.extend(
                    flags
                        .into_iter()
                        .filter(|(is_set, _)| *is_set)
                        .map(|(_, name)| name.to_owned()),
                );
                f.write_str(&if parts.is_empty() { "nothing".to_owned() } else { parts.join(", ") })
            }
            Bounds::Int(ints) if ints.is_empty() => f.write_str("nothing"),
            Bounds::Int(ints) => f.write_str(&format_pieces(ints, |x| x.to_string())),
            Bounds::Bool(bools) => f.write_str(match (bools.may_be_false, bools.may_be_true) {
                (true, true) => "false or true",
                (true, false) => "false",
                (false, true) => "true",
                (false, false) => "nothing",
            }),
        }
    }
}

fn format_pieces<T: Number>(pieces: &Pieces<T>, format_scalar: impl Fn(T) -> String) -> String {
    let set = |[low, high]: [T; 2]| {
        if low == high {
            format!("{{{}}}", format_scalar(low))
        } else {
            format!("[{}, {}]", format_scalar(low), format_scalar(high))
        }
    };
    pieces.iter().map(set).collect::<Vec<_>>().join(" ∪ ")
}

fn format_float(x: f32) -> String {
    match x {
        f32::INFINITY => "∞".to_owned(),
        f32::NEG_INFINITY => "-∞".to_owned(),
        0.0 => "0".to_owned(),
        x => format!("{x:?}").trim_end_matches(".0").to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closest_pieces_merge_when_there_are_too_many() {
        let mut pieces = Pieces::one(0.0, 1.0);
        for k in [6.0, 2.0, 4.0] {
            pieces.add(k, k);
        }
        assert_eq!(
            pieces.iter().collect::<Vec<_>>(),
            [[0.0, 1.0], [2.0, 2.0], [4.0, 4.0], [6.0, 6.0]]
        );
        pieces.add(9.0, 10.0);
        assert_eq!(
            pieces.iter().collect::<Vec<_>>(),
            [[0.0, 2.0], [4.0, 4.0], [6.0, 6.0], [9.0, 10.0]]
        );
        pieces.add(3.0, 20.0);
        assert_eq!(pieces.iter().collect::<Vec<_>>(), [[0.0, 2.0], [3.0, 20.0]]);
        assert_eq!(pieces.within(1.0, 5.0).iter().collect::<Vec<_>>(), [[1.0, 2.0], [3.0, 5.0]]);
        assert!(pieces.contains(1.5) && !pieces.contains(2.5));
    }

    #[test]
    fn adjacent_integers_merge() {
        let mut pieces = Pieces::one(1, 2);
        pieces.add(3, 3);
        pieces.add(i32::MAX, i32::MAX);
        assert_eq!(pieces.iter().collect::<Vec<_>>(), [[1, 3], [i32::MAX, i32::MAX]]);
    }

    #[test]
    fn zeros_are_distinguished() {
        let minus = Floats::constant(-0.0);
        assert!(minus.contains(-0.0) && !minus.contains(0.0));
        let both = minus.join(&Floats::constant(0.0));
        assert!(both.contains(0.0) && both.contains(-0.0) && !both.contains(f32::NAN));
        assert!(
            Floats::between(-1.0, 1.0).contains(-0.0) && !Floats::between(1.0, 2.0).negative_zero
        );
    }

    #[test]
    fn bounds_display_as_sets() {
        let floats = |floats: Floats| Bounds::Float(floats).to_string();
        let mut pieces = Pieces::one(0.0, 1.0);
        pieces.add(3.0, 3.0);
        let some = Floats { nan: true, positive_zero: false, ..Floats::of(pieces) };
        assert_eq!(floats(some), "[0, 1] ∪ {3}, NaN, -0, no +0");
        assert_eq!(floats(Floats::constant(0.0)), "{0}");
        assert_eq!(floats(Floats::constant(-0.0)), "{0}, -0, no +0");
        assert_eq!(floats(Floats::all()), "[-∞, ∞], NaN, -0");
        assert_eq!(floats(Floats::between(-0.25, f32::MAX)), "[-0.25, 3.4028235e38], -0");
        assert_eq!(
            (floats(Floats::empty()), floats(Floats::constant(f32::NAN))),
            ("nothing".into(), "NaN".into())
        );
        let ints = Bounds::Int(Pieces::one(-1, 4).join(&Pieces::one(7, 7)));
        assert_eq!(
            (ints.to_string(), Bounds::empty(Type::I32).to_string()),
            ("[-1, 4] ∪ {7}".into(), "nothing".into())
        );
        assert_eq!(Bounds::all(Type::Bool).to_string(), "false or true");
        assert_eq!(Bounds::constant(Type::Bool, !0).to_string(), "true");
    }
}
