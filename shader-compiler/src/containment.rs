//! Containment tests: random boxes and members of them, run through the point shader and its
//! bounding shaders. The tests of this crate and the long runs of `benches` share it.
//!
//! A [`Subject`] is a point shader with bounds and kinds of its inputs. Its naive, optimized and
//! related bounding shaders are compiled in all NaN modes and run over boxes. No bound has a
//! tolerance:
//!
//! - *Propagate.* A result that is a number lies within the endpoints that are numbers. If the
//!   result of some member is NaN, endpoints are NaN or infinite. Integers and booleans have no
//!   NaN: they are not checked if another output reports one.
//! - *Suppress.* A result that is a number lies within the endpoints, and these are numbers if the
//!   output depends on intervals.
//! - *Ignore.* As suppress, for boxes in which the naive bounding shader that propagates NaN finds
//!   none; that is checked first, since it is cheap. It may miss a NaN that does no harm there, as
//!   in a comparison. So before a fault is reported, the naive bounding shader that ignores NaN and
//!   the point shader are interpreted, and the box is exempt if either computes a NaN.
//!
//! Optimized bounds equal naive ones wherever those are numbers (in ignore mode, wherever naive
//! ones that propagate NaN are). Static bounds contain the values that the point shader computes on
//! the way, and the endpoints of bounds.
//!
//! Related bounds, with all relations and with some of them, are checked for members that meet the
//! precondition of [`Axis`](crate::relations::Axis), and not at all for boxes without such a
//! member. They equal those of code that knows the same relations but always takes the general case
//! of an operation. They are nowhere wider than optimized ones by 2⁻¹²⁶ or more, if that is
//! [claimed](crate::relations::only_tighten) of the output; but where NaN propagates, they may
//! report one that optimized bounds do not, if a tighter endpoint makes a quotient 0 ÷ 0. Neither
//! holds for boxes in which an interval is [empty](crate::relations::emptiness), since the
//! endpoints of an empty interval bound nothing.

mod ascent;
mod boxes;
mod check;
mod directions;
mod exhaustive;
mod patterns;
mod plan;
pub mod programs;
mod subject;
mod verdict;

pub use boxes::{Sample, sample};
pub use check::Checker;
pub use exhaustive::{Windows, unary_ops};
pub use plan::Plan;
pub use subject::Subject;

use crate::interval::Nan;
use crate::ir::Type;
use crate::lift::{Options, Sides, Tracking};
use crate::target::Target;
use std::any::Any;
use std::fmt;

/// What was checked.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Results of members that were checked, each against one bounding shader.
    pub checks: u64,
    /// Those of them that were checked against related bounds.
    pub related: u64,
    /// Results of which the NaN mode claims nothing. They are not among `checks`.
    pub exempt: u64,
    /// Bounds that would differ, be wider or be NaN, but for boxes in which an interval is
    /// [empty](crate::relations::emptiness).
    pub empty: u64,
    /// Results outside of their bounds.
    pub violations: u64,
    /// Optimized bounds that differ from the naive ones, and related bounds that depend on the
    /// selection of cases.
    pub differ: u64,
    /// Related bounds that are not within the optimized ones.
    pub wider: u64,
    /// Values and endpoints outside of their static bounds.
    pub unforeseen: u64,
    /// Subjects at which the compiler panicked.
    pub panics: u64,
    /// Programs that the front end rejects.
    pub rejected: u64,
    /// The first faults.
    pub faults: Vec<Fault>,
}

impl Tally {
    /// Faults that are kept; more are only counted.
    const KEPT: usize = 6;

    /// That the compiler panicked at a subject.
    fn panicked(subject: &str, target: Target, panic: &(dyn Any + Send)) -> Tally {
        let message = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or(panic.downcast_ref::<&str>().copied());
        let mut tally = Tally::default();
        tally.fault(
            || Fault::without_box(FaultKind::Panics, subject, target, message.unwrap_or("?")),
            FaultKind::Panics,
        );
        tally
    }

    /// Adds what was checked elsewhere.
    pub fn add(&mut self, other: Tally) {
        self.checks += other.checks;
        self.related += other.related;
        self.exempt += other.exempt;
        self.empty += other.empty;
        self.violations += other.violations;
        self.differ += other.differ;
        self.wider += other.wider;
        self.unforeseen += other.unforeseen;
        self.panics += other.panics;
        self.rejected += other.rejected;
        let room = Tally::KEPT.saturating_sub(self.faults.len());
        self.faults.extend(other.faults.into_iter().take(room));
    }

    /// Whether anything is wrong.
    pub fn is_faulty(&self) -> bool {
        self.violations + self.differ + self.wider + self.unforeseen + self.panics + self.rejected
            > 0
    }

    fn fault(&mut self, fault: impl FnOnce() -> Fault, kind: FaultKind) {
        *match kind {
            FaultKind::Escapes | FaultKind::HidesNan | FaultKind::IsNan => &mut self.violations,
            FaultKind::Differs => &mut self.differ,
            FaultKind::IsWider => &mut self.wider,
            FaultKind::ValueOutsideStaticBounds | FaultKind::EndpointOutsideStaticBounds => {
                &mut self.unforeseen
            }
            FaultKind::Panics => &mut self.panics,
            FaultKind::Rejected => &mut self.rejected,
        } += 1;
        // One of each kind at least.
        if self.faults.len() < Tally::KEPT
            && self.faults.iter().filter(|fault| fault.kind == kind).count() < 2
        {
            self.faults.push(fault());
        }
    }
}

/// Kinds of faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// A result is outside of its bounds.
    Escapes,
    /// A result is NaN, and the bound does not say so.
    HidesNan,
    /// A bound is NaN where it must not be.
    IsNan,
    /// An optimized bound differs from the naive one, or a related one depends on the selection of
    /// cases.
    Differs,
    /// A related bound is not within the optimized one.
    IsWider,
    /// A value of the point shader is outside of its static bounds.
    ValueOutsideStaticBounds,
    /// An endpoint is outside of its static bounds.
    EndpointOutsideStaticBounds,
    /// The compiler panicked.
    Panics,
    /// The front end rejects the program.
    Rejected,
}

/// A fault, with all that reproduces it.
#[derive(Clone, Debug)]
pub struct Fault {
    /// Its kind.
    pub kind: FaultKind,
    /// The subject's name.
    pub subject: String,
    /// Target of the code.
    pub target: Target,
    /// Options of the bounding shader.
    pub options: Options,
    /// Number of parts that the box was split into.
    pub parts: usize,
    /// Name of the output or the value.
    pub output: String,
    /// Its type.
    pub ty: Type,
    /// The box, with names of inputs and their types.
    pub ends: Vec<(String, Type, [u32; 2])>,
    /// The member, if the fault is about one.
    pub member: Option<Vec<u32>>,
    /// Result of the point shader for it, or the naive endpoint.
    pub expected: Option<u32>,
    /// The endpoints; twice the same if the fault is about one value; none if there are none.
    pub found: Option<[u32; 2]>,
    /// Further explanation.
    pub note: String,
}

impl Fault {
    /// A fault that shows before a box is checked.
    fn without_box(kind: FaultKind, subject: &str, target: Target, message: &str) -> Fault {
        Fault {
            kind,
            subject: subject.to_owned(),
            target,
            options: Options::default(),
            parts: 1,
            output: String::new(),
            ty: Type::F32,
            ends: vec![],
            member: None,
            expected: None,
            found: None,
            note: format!("    {message}\n"),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fault { kind, subject, target, options, output, ty, .. } = self;
        let parts =
            if self.parts > 1 { format!(", in {} parts", self.parts) } else { String::new() };
        writeln!(f, "`{subject}` {kind:?}: `{output}` on {target}, {}{parts}", describe(options))?;
        for (k, (name, ty, ends)) in self.ends.iter().enumerate() {
            let [low, high] = ends.map(|end| Shown(*ty, end));
            write!(f, "    {name} in [{low}, {high}]")?;
            match &self.member {
                Some(member) => writeln!(f, " ∋ {}", Shown(*ty, member[k]))?,
                None => writeln!(f)?,
            }
        }
        if let Some(expected) = self.expected {
            writeln!(f, "    value {}", Shown(*ty, expected))?;
        }
        if let Some([low, high]) = self.found {
            writeln!(f, "    bound [{}, {}]", Shown(*ty, low), Shown(*ty, high))?;
        }
        write!(f, "{}", self.note)
    }
}

/// Options in short.
fn describe(options: &Options) -> String {
    let Options { sides, nan, tracking, loop_cap, relations, .. } = options;
    let tracking = match *tracking {
        Tracking::NONE => "naive".to_owned(),
        Tracking::ALL => "optimized".to_owned(),
        Tracking { ranges, nan, zeros } => format!("ranges {ranges} NaN {nan} zeros {zeros}"),
    };
    let relations: String = relations.iter().map(|relation| format!(", {relation}")).collect();
    format!("{tracking}, {sides:?}, {nan:?}, loop cap {loop_cap}{relations}")
}

/// A word with its bits.
struct Shown(Type, u32);

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shown(ty, bits) = *self;
        match ty {
            Type::F32 => write!(f, "{:?} {bits:#010x}", f32::from_bits(bits)),
            Type::I32 => write!(f, "{}", bits as i32),
            Type::Bool => write!(f, "{}", bits != 0),
        }
    }
}

/// A word as a number, in the order in which intervals have it.
fn number(ty: Type, bits: u32) -> f64 {
    match ty {
        Type::F32 => f64::from(f32::from_bits(bits)),
        Type::I32 => f64::from(bits as i32),
        Type::Bool => f64::from(u8::from(bits != 0)),
    }
}

/// What the results of some members come to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Results {
    /// Least number; +∞ if there is none.
    least: f64,
    /// Greatest number; −∞ if there is none.
    most: f64,
    /// How many are numbers.
    numbers: u64,
    /// How many are NaN.
    nans: u64,
}

impl Results {
    /// Of no member.
    const NONE: Results =
        Results { least: f64::INFINITY, most: f64::NEG_INFINITY, numbers: 0, nans: 0 };

    /// Adds a result.
    fn add(&mut self, x: f64) {
        if x.is_nan() {
            self.nans += 1;
        } else {
            self.numbers += 1;
            self.least = if x < self.least { x } else { self.least };
            self.most = if x > self.most { x } else { self.most };
        }
    }

    /// Those of both.
    fn union(self, other: Results) -> Results {
        Results {
            least: self.least.min(other.least),
            most: self.most.max(other.most),
            numbers: self.numbers + other.numbers,
            nans: self.nans + other.nans,
        }
    }

    /// Holds them against ends, of which those that are not asked for are infinite. `void`: the
    /// mode says nothing of this box. Gives what is wrong, and how many results were not exempt.
    fn judge(
        &self,
        nan: Nan,
        sides: Sides,
        [lo, hi]: [f64; 2],
        void: bool,
    ) -> (Option<FaultKind>, u64) {
        if void {
            return (None, 0);
        }
        let escapes = self.least < lo || self.most > hi;
        let wrong = escapes.then_some(FaultKind::Escapes);
        if nan != Nan::Propagate {
            return (
                if lo.is_nan() || hi.is_nan() { Some(FaultKind::IsNan) } else { wrong },
                self.numbers,
            );
        }
        let hides = self.nans > 0 && (lo > f64::NEG_INFINITY || hi < f64::INFINITY);
        let said = match sides {
            Sides::Upper => !hi.is_nan(),
            Sides::Lower => !lo.is_nan(),
            Sides::Both => !lo.is_nan() || !hi.is_nan(),
        };
        let checked = self.nans + if said { self.numbers } else { 0 };
        (if hides { Some(FaultKind::HidesNan) } else { wrong }, checked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(results: &[f64], nan: Nan, ends: [f64; 2]) -> Option<FaultKind> {
        let mut all = Results::NONE;
        results.iter().for_each(|&x| all.add(x));
        all.judge(nan, Sides::Both, ends, false).0
    }

    #[test]
    fn modes_differ_in_what_they_say_of_nan() {
        const INF: f64 = f64::INFINITY;
        const NAN: f64 = f64::NAN;
        for nan in [Nan::Propagate, Nan::Suppress, Nan::Ignore] {
            assert_eq!(judged(&[1.0, 2.0], nan, [1.0, 2.0]), None);
            assert_eq!(judged(&[1.0, 2.0], nan, [1.5, 2.0]), Some(FaultKind::Escapes));
            assert_eq!(judged(&[1.0, 2.0], nan, [1.0, 1.5]), Some(FaultKind::Escapes));
            let hidden = judged(&[1.0, NAN], nan, [1.0, 1.0]);
            assert_eq!(hidden, (nan == Nan::Propagate).then_some(FaultKind::HidesNan));
            let half = judged(&[1.0, NAN], nan, [-INF, 1.0]);
            assert_eq!(half, (nan == Nan::Propagate).then_some(FaultKind::HidesNan));
            assert_eq!(
                judged(&[1.0], nan, [NAN, 0.5]),
                Some(if nan == Nan::Propagate { FaultKind::Escapes } else { FaultKind::IsNan })
            );
        }
        assert_eq!(judged(&[NAN], Nan::Propagate, [-INF, NAN]), None);
        assert_eq!(judged(&[], Nan::Suppress, [0.0, NAN]), Some(FaultKind::IsNan));
    }

    #[test]
    fn words_are_ordered_as_intervals_have_them() {
        assert!(number(Type::I32, u32::MAX) < number(Type::I32, 0));
        assert!(number(Type::Bool, 0) < number(Type::Bool, !0));
        assert!(number(Type::F32, 0x8000_0000) == number(Type::F32, 0));
    }
}
