//! Containment tests: random boxes and members of them, run through the point shader and its
//! bounding shaders. The tests of this crate and the long runs of `benches` share them.
//!
//! A [`Subject`] is a point shader with descriptions of its inputs. Its naive, optimized and
//! related bounding shaders are compiled in all NaN modes and run over boxes. The checks have no
//! tolerance:
//!
//! - *Propagate.* A result that is not NaN lies within the endpoints that are not NaN. If the
//!   result of some member is NaN, both endpoints are NaN or infinite. Integers and booleans cannot
//!   be NaN: they are not checked if another output reports a NaN.
//! - *Suppress.* A result that is not NaN lies within the endpoints. No endpoint is NaN if the
//!   output depends on intervals.
//! - *Ignore.* Like suppress, but only for boxes for which the naive NaN-propagating shader finds
//!   no NaN. That test is cheap, so it comes first. It may miss a harmless NaN, for example in a
//!   comparison. So before a fault is reported, the interpreter runs the naive bounding shader that
//!   ignores NaN and the point shader, and the box is exempt if either computes a NaN.
//!
//! Optimized bounds equal naive ones wherever those are not NaN (in ignore mode, wherever the naive
//! NaN-propagating ones are not NaN). Static bounds contain all intermediate values of the point
//! shader and the endpoints of bounds.
//!
//! Related bounds, with all relations and with some of them, are checked only for members that
//! satisfy the precondition of [`Axis`](lightbound_shader::relations::Axis). Boxes without such a
//! member are not checked. Related bounds equal those of code that uses the same relations but
//! always takes the general case of an operation. They are nowhere wider than optimized ones by
//! 2⁻¹²⁶ or more, if that is [claimed](lightbound_shader::relations::only_tighten) of the output.
//! However, if NaN propagates, they may report a NaN that optimized bounds do not, since a tighter
//! endpoint may make a quotient 0 ÷ 0. Neither holds for boxes in which an interval is
//! [empty](lightbound_shader::relations::emptiness), since the endpoints of an empty interval bound
//! nothing.

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

use lightbound_shader::interval::Nan;
use lightbound_shader::ir::Type;
use lightbound_shader::lift::{BoundSides, Options, Tracking};
use lightbound_shader::target::Target;
use std::any::Any;
use std::fmt;

/// Counts of checks and faults.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Results checked, counted once per member and bounding shader.
    pub checks: u64,
    /// Checks against related bounds, included in `checks`.
    pub related: u64,
    /// Results about which the NaN mode claims nothing, not included in `checks`.
    pub exempt: u64,
    /// Bounds that differ, are wider or are NaN, but only for boxes in which an interval is
    /// [empty](lightbound_shader::relations::emptiness), which is no fault.
    pub empty: u64,
    /// Results outside their bounds.
    pub violations: u64,
    /// Optimized bounds that differ from the naive ones, and related bounds that depend on the
    /// selection of cases.
    pub differ: u64,
    /// Related bounds that are not within the optimized ones.
    pub wider: u64,
    /// Values and endpoints outside their static bounds.
    pub unforeseen: u64,
    /// Subjects for which the compiler panicked.
    pub panics: u64,
    /// Programs that the front end rejects.
    pub rejected: u64,
    /// The first faults.
    pub faults: Vec<Fault>,
}

impl Tally {
    /// Number of faults that are kept. Further faults are only counted.
    const KEPT: usize = 6;

    /// The tally of a subject for which the compiler panicked.
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

    /// Adds the counts and faults of another tally.
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

    /// Whether there are any faults.
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
        // Keep at least one fault of each kind.
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
    /// A result is outside its bounds.
    Escapes,
    /// A result is NaN, and the bound does not report it.
    HidesNan,
    /// A bound is NaN in a mode that forbids it.
    IsNan,
    /// An optimized bound differs from the naive one, or a related one depends on the selection of
    /// cases.
    Differs,
    /// A related bound is not within the optimized one.
    IsWider,
    /// A value of the point shader is outside its static bounds.
    ValueOutsideStaticBounds,
    /// An endpoint is outside its static bounds.
    EndpointOutsideStaticBounds,
    /// The compiler panicked.
    Panics,
    /// The front end rejects the program.
    Rejected,
}

/// A fault with everything needed to reproduce it.
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
    /// Name of the output or value.
    pub output: String,
    /// Its type.
    pub ty: Type,
    /// The box: name, type and endpoints of each input.
    pub ends: Vec<(String, Type, [u32; 2])>,
    /// The member, if the fault concerns one.
    pub member: Option<Vec<u32>>,
    /// The point shader's result for it, or the reference's endpoint.
    pub expected: Option<u32>,
    /// The endpoints. If the fault concerns a single value, both are that value. `None` without a
    /// bound.
    pub found: Option<[u32; 2]>,
    /// Further explanation.
    pub note: String,
}

impl Fault {
    /// A fault that occurs before any box is checked.
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

/// A short description of options.
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

/// A word, displayed with its bits.
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

/// A word as a number, in the order that intervals of its type use.
fn number(ty: Type, bits: u32) -> f64 {
    match ty {
        Type::F32 => f64::from(f32::from_bits(bits)),
        Type::I32 => f64::from(bits as i32),
        Type::Bool => f64::from(u8::from(bits != 0)),
    }
}

/// Summary of the results of some members.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Results {
    /// The smallest result that is not NaN; +∞ if there are none.
    min: f64,
    /// The largest result that is not NaN; −∞ if there are none.
    max: f64,
    /// Number of results that are not NaN.
    numbers: u64,
    /// Number of results that are NaN.
    nans: u64,
}

impl Results {
    /// The summary of no results.
    const NONE: Results =
        Results { min: f64::INFINITY, max: f64::NEG_INFINITY, numbers: 0, nans: 0 };

    /// Adds a result.
    fn add(&mut self, x: f64) {
        if x.is_nan() {
            self.nans += 1;
        } else {
            self.numbers += 1;
            self.min = if x < self.min { x } else { self.min };
            self.max = if x > self.max { x } else { self.max };
        }
    }

    /// The summary of both sets of results.
    fn union(self, other: Results) -> Results {
        Results {
            min: self.min.min(other.min),
            max: self.max.max(other.max),
            numbers: self.numbers + other.numbers,
            nans: self.nans + other.nans,
        }
    }

    /// Checks the results against endpoints. Endpoints of sides that are not computed are infinite.
    /// `no_claim` means that the mode claims nothing for this box. Returns the kind of fault, if any,
    /// and the number of results that were not exempt.
    fn check_bound(
        &self,
        nan: Nan,
        sides: BoundSides,
        [lo, hi]: [f64; 2],
        no_claim: bool,
    ) -> (Option<FaultKind>, u64) {
        if no_claim {
            return (None, 0);
        }
        let escapes = self.min < lo || self.max > hi;
        let wrong = escapes.then_some(FaultKind::Escapes);
        if nan != Nan::Propagate {
            return (
                if lo.is_nan() || hi.is_nan() { Some(FaultKind::IsNan) } else { wrong },
                self.numbers,
            );
        }
        let hides = self.nans > 0 && (lo > f64::NEG_INFINITY || hi < f64::INFINITY);
        let said = match sides {
            BoundSides::Upper => !hi.is_nan(),
            BoundSides::Lower => !lo.is_nan(),
            BoundSides::Both => !lo.is_nan() || !hi.is_nan(),
        };
        let checked = self.nans + if said { self.numbers } else { 0 };
        (if hides { Some(FaultKind::HidesNan) } else { wrong }, checked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked_fault(results: &[f64], nan: Nan, ends: [f64; 2]) -> Option<FaultKind> {
        let mut all = Results::NONE;
        results.iter().for_each(|&x| all.add(x));
        all.check_bound(nan, BoundSides::Both, ends, false).0
    }

    #[test]
    fn nan_modes_differ_in_what_counts_as_a_fault() {
        const INF: f64 = f64::INFINITY;
        const NAN: f64 = f64::NAN;
        for nan in [Nan::Propagate, Nan::Suppress, Nan::Ignore] {
            assert_eq!(checked_fault(&[1.0, 2.0], nan, [1.0, 2.0]), None);
            assert_eq!(checked_fault(&[1.0, 2.0], nan, [1.5, 2.0]), Some(FaultKind::Escapes));
            assert_eq!(checked_fault(&[1.0, 2.0], nan, [1.0, 1.5]), Some(FaultKind::Escapes));
            let hidden = checked_fault(&[1.0, NAN], nan, [1.0, 1.0]);
            assert_eq!(hidden, (nan == Nan::Propagate).then_some(FaultKind::HidesNan));
            let half = checked_fault(&[1.0, NAN], nan, [-INF, 1.0]);
            assert_eq!(half, (nan == Nan::Propagate).then_some(FaultKind::HidesNan));
            assert_eq!(
                checked_fault(&[1.0], nan, [NAN, 0.5]),
                Some(if nan == Nan::Propagate { FaultKind::Escapes } else { FaultKind::IsNan })
            );
        }
        assert_eq!(checked_fault(&[NAN], Nan::Propagate, [-INF, NAN]), None);
        assert_eq!(checked_fault(&[], Nan::Suppress, [0.0, NAN]), Some(FaultKind::IsNan));
    }

    #[test]
    fn words_are_ordered_as_in_intervals() {
        assert!(number(Type::I32, u32::MAX) < number(Type::I32, 0));
        assert!(number(Type::Bool, 0) < number(Type::Bool, !0));
        assert!(number(Type::F32, 0x8000_0000) == number(Type::F32, 0));
    }
}
