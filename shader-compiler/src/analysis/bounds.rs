//! What is known of a value at compile time: discrete values and disjoint intervals, and flags for
//! NaN and the two zeros (Clarberg et al. 2010 §4.3, equation 8).
//!
//! The bounds of a value cover all that it can be at run time: what the point shader computes for
//! any inputs that the bounds of the inputs admit, and the ends of the intervals that the bounding
//! shader computes for it. Only few pieces are kept; the closest ones join where there would be
//! more.

use crate::ir::Type;
use std::fmt;

/// Disjoint intervals in ascending order, ends included. A discrete value is an interval of no
/// width.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pieces<T> {
    kept: [[T; 2]; PIECES],
    len: usize,
}

/// So many pieces are kept.
const PIECES: usize = 4;

/// A number that intervals are made of.
pub trait Number: Copy + PartialOrd + Default {
    /// How far apart two numbers are, for choosing what to join.
    fn distance(low: Self, high: Self) -> f64;
    /// Whether no number lies between the two.
    fn touch(low: Self, high: Self) -> bool;
}

impl Number for f32 {
    fn distance(low: f32, high: f32) -> f64 {
        f64::from(high) - f64::from(low)
    }
    fn touch(low: f32, high: f32) -> bool {
        low >= high
    }
}

impl Number for i32 {
    fn distance(low: i32, high: i32) -> f64 {
        f64::from(high) - f64::from(low)
    }
    fn touch(low: i32, high: i32) -> bool {
        i64::from(low) + 1 >= i64::from(high)
    }
}

impl<T: Number> Pieces<T> {
    /// No number at all.
    pub fn empty() -> Pieces<T> {
        Pieces { kept: [[T::default(); 2]; PIECES], len: 0 }
    }

    /// One interval.
    pub fn one(low: T, high: T) -> Pieces<T> {
        debug_assert!(low <= high, "an interval has its lower end first");
        let mut pieces = Pieces::empty();
        pieces.kept[0] = [low, high];
        pieces.len = 1;
        pieces
    }

    /// The intervals.
    pub fn iter(&self) -> impl Iterator<Item = [T; 2]> + '_ {
        self.kept[..self.len].iter().copied()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Least and greatest number.
    pub fn hull(&self) -> Option<[T; 2]> {
        (self.len > 0).then(|| [self.kept[0][0], self.kept[self.len - 1][1]])
    }

    /// Whether a number is among them.
    pub fn contains(&self, x: T) -> bool {
        self.iter().any(|[low, high]| low <= x && x <= high)
    }

    /// Adds an interval.
    pub fn add(&mut self, low: T, high: T) {
        debug_assert!(low <= high, "an interval has its lower end first");
        let mut all = [[T::default(); 2]; PIECES + 1];
        let mut len = 0;
        let mut new = Some([low, high]);
        for piece in self.kept[..self.len].iter().copied().map(Some).chain([None]) {
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
        if len > PIECES {
            let gap = |k: usize| T::distance(all[k][1], all[k + 1][0]);
            let closest =
                (0..PIECES).min_by(|&a, &b| gap(a).total_cmp(&gap(b))).expect("there are pieces");
            all[closest][1] = all[closest + 1][1];
            all.copy_within(closest + 2.., closest + 1);
            len = PIECES;
        }
        self.kept = [[T::default(); 2]; PIECES];
        self.kept[..len].copy_from_slice(&all[..len]);
        self.len = len;
    }

    /// The numbers of both.
    pub fn join(mut self, other: &Pieces<T>) -> Pieces<T> {
        for [low, high] in other.iter() {
            self.add(low, high);
        }
        self
    }

    /// The numbers that are in both.
    pub fn meet(&self, other: &Pieces<T>) -> Pieces<T> {
        let mut both = Pieces::empty();
        for [low, high] in other.iter() {
            both = both.join(&self.within(low, high));
        }
        both
    }

    /// Those between two numbers.
    pub fn within(&self, low: T, high: T) -> Pieces<T> {
        let mut rest = Pieces::empty();
        for [a, b] in self.iter() {
            let (a, b) = (if a < low { low } else { a }, if b > high { high } else { b });
            if a <= b {
                rest.add(a, b);
            }
        }
        rest
    }
}

fn push<T: Number>(all: &mut [[T; 2]; PIECES + 1], len: &mut usize, [low, high]: [T; 2]) {
    if *len > 0 && T::touch(all[*len - 1][1], low) {
        let end = &mut all[*len - 1][1];
        if *end < high {
            *end = high;
        }
    } else {
        all[*len] = [low, high];
        *len += 1;
    }
}

/// What a float can be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Floats {
    /// Numbers and infinities; 0 stands for both zeros, of which the flags say more.
    pub pieces: Pieces<f32>,
    /// Whether it can be NaN.
    pub nan: bool,
    /// Whether it can be −0.
    pub negative_zero: bool,
    /// Whether it can be +0.
    pub positive_zero: bool,
}

impl Floats {
    /// Everything, NaN too.
    pub fn all() -> Floats {
        Floats { nan: true, ..Floats::between(f32::NEG_INFINITY, f32::INFINITY) }
    }

    /// Everything but NaN and infinities.
    pub fn finite() -> Floats {
        Floats::between(f32::MIN, f32::MAX)
    }

    /// From one number to another, both included, and both zeros if 0 is.
    pub fn between(low: f32, high: f32) -> Floats {
        Floats::of(Pieces::one(low, high))
    }

    /// These numbers, and both zeros if 0 is among them.
    pub fn of(pieces: Pieces<f32>) -> Floats {
        let zero = pieces.contains(0.0);
        Floats { pieces, nan: false, negative_zero: zero, positive_zero: zero }
    }

    /// Nothing.
    pub fn none() -> Floats {
        Floats::of(Pieces::empty())
    }

    /// One float.
    pub fn constant(x: f32) -> Floats {
        if x.is_nan() {
            return Floats { nan: true, ..Floats::none() };
        }
        let is_zero = x == 0.0;
        let negative_zero = is_zero && x.is_sign_negative();
        Floats { negative_zero, positive_zero: is_zero && !negative_zero, ..Floats::between(x, x) }
    }

    /// Least number; +∞ where there is none.
    pub fn low(&self) -> f32 {
        self.pieces.hull().map_or(f32::INFINITY, |[low, _]| low)
    }

    /// Greatest number; −∞ where there is none.
    pub fn high(&self) -> f32 {
        self.pieces.hull().map_or(f32::NEG_INFINITY, |[_, high]| high)
    }

    /// Whether a float is among them.
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

    /// What is both.
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

    /// What either can be.
    pub fn join(&self, other: &Floats) -> Floats {
        Floats {
            pieces: self.pieces.join(&other.pieces),
            nan: self.nan || other.nan,
            negative_zero: self.negative_zero || other.negative_zero,
            positive_zero: self.positive_zero || other.positive_zero,
        }
    }
}

/// What an integer can be, read as signed.
pub type Ints = Pieces<i32>;

/// What a bool can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bools {
    /// Whether it can be false.
    pub no: bool,
    /// Whether it can be true.
    pub yes: bool,
}

/// What a value can be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bounds {
    /// Of a float.
    Float(Floats),
    /// Of an integer.
    Int(Ints),
    /// Of a bool.
    Bool(Bools),
}

impl Bounds {
    /// Everything that a value of the type can be.
    pub fn all(ty: Type) -> Bounds {
        match ty {
            Type::F32 => Bounds::Float(Floats::all()),
            Type::I32 => Bounds::Int(Pieces::one(i32::MIN, i32::MAX)),
            Type::Bool => Bounds::Bool(Bools { no: true, yes: true }),
        }
    }

    /// Nothing: of a value that no one has computed yet.
    pub fn none(ty: Type) -> Bounds {
        match ty {
            Type::F32 => Bounds::Float(Floats::none()),
            Type::I32 => Bounds::Int(Pieces::empty()),
            Type::Bool => Bounds::Bool(Bools { no: false, yes: false }),
        }
    }

    /// One value, given by its bits.
    pub fn constant(ty: Type, bits: u32) -> Bounds {
        match ty {
            Type::F32 => Bounds::Float(Floats::constant(f32::from_bits(bits))),
            Type::I32 => Bounds::Int(Pieces::one(bits as i32, bits as i32)),
            Type::Bool => Bounds::Bool(Bools { no: bits == 0, yes: bits != 0 }),
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

    /// What either can be; both are of one type.
    pub fn join(&self, other: &Bounds) -> Bounds {
        match (self, other) {
            (Bounds::Float(a), Bounds::Float(b)) => Bounds::Float(a.join(b)),
            (Bounds::Int(a), Bounds::Int(b)) => Bounds::Int(a.join(b)),
            (Bounds::Bool(a), Bounds::Bool(b)) => {
                Bounds::Bool(Bools { no: a.no || b.no, yes: a.yes || b.yes })
            }
            _ => unreachable!("joined bounds are of one type"),
        }
    }

    /// What is both; both are of one type.
    pub fn meet(&self, other: &Bounds) -> Bounds {
        match (self, other) {
            (Bounds::Float(a), Bounds::Float(b)) => Bounds::Float(a.meet(b)),
            (Bounds::Int(a), Bounds::Int(b)) => Bounds::Int(a.meet(b)),
            (Bounds::Bool(a), Bounds::Bool(b)) => {
                Bounds::Bool(Bools { no: a.no && b.no, yes: a.yes && b.yes })
            }
            _ => unreachable!("met bounds are of one type"),
        }
    }

    /// The least interval around them, with both zeros where 0 lies in a gap.
    pub fn hull(&self) -> Bounds {
        match self {
            Bounds::Float(floats) => {
                let Some([low, high]) = floats.pieces.hull() else { return *self };
                let fills_zero = low < 0.0 && high > 0.0 && !floats.pieces.contains(0.0);
                Bounds::Float(Floats {
                    pieces: Pieces::one(low, high),
                    negative_zero: floats.negative_zero || fills_zero,
                    positive_zero: floats.positive_zero || fills_zero,
                    nan: floats.nan,
                })
            }
            Bounds::Int(ints) => {
                Bounds::Int(ints.hull().map_or(*ints, |[low, high]| Pieces::one(low, high)))
            }
            Bounds::Bool(_) => *self,
        }
    }

    /// Whether there is nothing that the value can be.
    pub fn is_none(&self) -> bool {
        match self {
            Bounds::Float(floats) => floats.pieces.is_empty() && !floats.nan,
            Bounds::Int(ints) => ints.is_empty(),
            Bounds::Bool(bools) => !bools.no && !bools.yes,
        }
    }

    /// Whether a value, given by its bits, is among them.
    pub fn contains(&self, bits: u32) -> bool {
        match self {
            Bounds::Float(floats) => floats.contains(f32::from_bits(bits)),
            Bounds::Int(ints) => ints.contains(bits as i32),
            Bounds::Bool(bools) => {
                if bits == 0 {
                    bools.no
                } else {
                    bools.yes
                }
            }
        }
    }

    /// Whether all of an interval, given by the bits of its ends, is among them: both zeros if 0
    /// is.
    pub fn holds(&self, [lo, hi]: [u32; 2]) -> bool {
        match self {
            Bounds::Float(floats) => {
                let [lo, hi] = [lo, hi].map(f32::from_bits);
                let zeros = floats.negative_zero && floats.positive_zero;
                floats.pieces.iter().any(|[low, high]| low <= lo && hi <= high)
                    && (zeros || lo > 0.0 || hi < 0.0)
            }
            Bounds::Int(ints) => {
                ints.iter().any(|[low, high]| low <= lo as i32 && hi as i32 <= high)
            }
            Bounds::Bool(_) => self.contains(lo) && self.contains(hi),
        }
    }

    /// Those of a float.
    ///
    /// *Panics* if it is none.
    pub fn floats(&self) -> &Floats {
        let Bounds::Float(floats) = self else { panic!("the value is no float") };
        floats
    }

    /// Those of an integer.
    ///
    /// *Panics* if it is none.
    pub fn ints(&self) -> &Ints {
        let Bounds::Int(ints) = self else { panic!("the value is no integer") };
        ints
    }

    /// Those of a bool.
    ///
    /// *Panics* if it is none.
    pub fn bools(&self) -> Bools {
        let Bounds::Bool(bools) = self else { panic!("the value is no bool") };
        *bools
    }
}

/// As people write them: `[0, 1] ∪ {3}, NaN, -0`. Of the zeros, −0 is told of where it can be,
/// and +0 where only it cannot be.
impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bounds::Float(floats) => {
                let mut parts = vec![];
                if !floats.pieces.is_empty() {
                    parts.push(sets(&floats.pieces, float));
                }
                let zero = floats.pieces.contains(0.0);
                let flags = [
                    (floats.nan, "NaN"),
                    (floats.negative_zero, "-0"),
                    (zero && !floats.positive_zero, "no +0"),
                ];
                parts.extend(
                    flags.into_iter().filter(|(is_so, _)| *is_so).map(|(_, name)| name.to_owned()),
                );
                f.write_str(&if parts.is_empty() { "nothing".to_owned() } else { parts.join(", ") })
            }
            Bounds::Int(ints) if ints.is_empty() => f.write_str("nothing"),
            Bounds::Int(ints) => f.write_str(&sets(ints, |x| x.to_string())),
            Bounds::Bool(bools) => f.write_str(match (bools.no, bools.yes) {
                (true, true) => "false or true",
                (true, false) => "false",
                (false, true) => "true",
                (false, false) => "nothing",
            }),
        }
    }
}

fn sets<T: Number>(pieces: &Pieces<T>, number: impl Fn(T) -> String) -> String {
    let set = |[low, high]: [T; 2]| {
        if low == high {
            format!("{{{}}}", number(low))
        } else {
            format!("[{}, {}]", number(low), number(high))
        }
    };
    pieces.iter().map(set).collect::<Vec<_>>().join(" ∪ ")
}

fn float(x: f32) -> String {
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
    fn pieces_stay_apart_until_there_are_too_many() {
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
    fn neighbouring_integers_join() {
        let mut pieces = Pieces::one(1, 2);
        pieces.add(3, 3);
        pieces.add(i32::MAX, i32::MAX);
        assert_eq!(pieces.iter().collect::<Vec<_>>(), [[1, 3], [i32::MAX, i32::MAX]]);
    }

    #[test]
    fn zeros_are_told_apart() {
        let minus = Floats::constant(-0.0);
        assert!(minus.contains(-0.0) && !minus.contains(0.0));
        let both = minus.join(&Floats::constant(0.0));
        assert!(both.contains(0.0) && both.contains(-0.0) && !both.contains(f32::NAN));
        assert!(
            Floats::between(-1.0, 1.0).contains(-0.0) && !Floats::between(1.0, 2.0).negative_zero
        );
    }

    #[test]
    fn bounds_read_well() {
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
            (floats(Floats::none()), floats(Floats::constant(f32::NAN))),
            ("nothing".into(), "NaN".into())
        );
        let ints = Bounds::Int(Pieces::one(-1, 4).join(&Pieces::one(7, 7)));
        assert_eq!(
            (ints.to_string(), Bounds::none(Type::I32).to_string()),
            ("[-1, 4] ∪ {7}".into(), "nothing".into())
        );
        assert_eq!(Bounds::all(Type::Bool).to_string(), "false or true");
        assert_eq!(Bounds::constant(Type::Bool, !0).to_string(), "true");
    }
}
