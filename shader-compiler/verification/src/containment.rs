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
//!   ignores NaN and the point shader, and the box is skipped if either computes a NaN.
//!
//! Optimized bounds equal naive ones wherever those are not NaN (in ignore mode, wherever the naive
//! NaN-propagating ones are not NaN). Static bounds contain all intermediate values of the point
//! shader and the endpoints of bounds.
//!
//! Related bounds, with all relations and with some of them, are checked only for members that
//! satisfy the precondition of [`Axis`](lightbound_shader::relations::Axis). Boxes without such a
//! member are not checked. Related bounds equal those of code that uses the same relations but
//! always takes the general case of an operation. If the compiler
//! [claims](lightbound_shader::relations::only_tighten) that relations only tighten an output, its
//! related bounds exceed the optimized ones by less than 2⁻¹²⁶. However, if NaN propagates, they
//! may report a NaN that optimized bounds do not: a tighter endpoint may make both operands of a
//! quotient 0. Neither is required of boxes in which an interval is
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
pub use exhaustive::{WindowChecker, unary_ops};
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
    /// Results that are not checked because the NaN mode makes no claim; not included in `checks`.
    pub skipped: u64,
    /// Comparisons that fail only because an interval of the box is
    /// [empty](lightbound_shader::relations::emptiness), which is not a fault.
    pub empty: u64,
    /// Results outside their bounds.
    pub violations: u64,
    /// Optimized bounds that differ from the naive ones, and related bounds that depend on the
    /// selection of cases.
    pub mismatches: u64,
    /// Related bounds that are wider than the optimized ones.
    pub too_wide: u64,
    /// Values and endpoints outside their static bounds.
    pub outside_static: u64,
    /// Subjects for which the compiler panicked.
    pub panics: u64,
    /// Programs that the front end rejects.
    pub rejected: u64,
    /// The first faults.
    pub faults: Vec<Fault>,
}

impl Tally {
    /// Maximum number of faults in the list. Further faults are only counted.
    const MAX_LISTED_FAULTS: usize = 6;

    /// Returns the tally of a subject for which the compiler panicked.
    fn panicked(subject: &str, target: Target, panic: &(dyn Any + Send)) -> Tally {
        let message = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or(panic.downcast_ref::<&str>().copied());
        let mut tally = Tally::default();
        tally.fault(
            || Fault::without_box(FaultKind::Panic, subject, target, message.unwrap_or("?")),
            FaultKind::Panic,
        );
        tally
    }

    /// Adds the counts and faults of another tally.
    pub fn add(&mut self, other: Tally) {
        self.checks += other.checks;
        self.related += other.related;
        self.skipped += other.skipped;
        self.empty += other.empty;
        self.violations += other.violations;
        self.mismatches += other.mismatches;
        self.too_wide += other.too_wide;
        self.outside_static += other.outside_static;
        self.panics += other.panics;
        self.rejected += other.rejected;
        let room = Tally::MAX_LISTED_FAULTS.saturating_sub(self.faults.len());
        self.faults.extend(other.faults.into_iter().take(room));
    }

    /// Whether there are any faults.
    pub fn is_faulty(&self) -> bool {
        self.violations
            + self.mismatches
            + self.too_wide
            + self.outside_static
            + self.panics
            + self.rejected
            > 0
    }

    fn fault(&mut self, fault: impl FnOnce() -> Fault, kind: FaultKind) {
        *match kind {
            FaultKind::OutsideBounds | FaultKind::UnreportedNan | FaultKind::NanEndpoint => {
                &mut self.violations
            }
            FaultKind::Mismatch => &mut self.mismatches,
            FaultKind::TooWide => &mut self.too_wide,
            FaultKind::ValueOutsideStaticBounds | FaultKind::EndpointOutsideStaticBounds => {
                &mut self.outside_static
            }
            FaultKind::Panic => &mut self.panics,
            FaultKind::Rejected => &mut self.rejected,
        } += 1;
        // List at most two faults of a kind, to leave room for other kinds.
        if self.faults.len() < Tally::MAX_LISTED_FAULTS
            && self.faults.iter().filter(|fault| fault.kind == kind).count() < 2
        {
            self.faults.push(fault());
        }
    }
}

/// The kind of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// A result is outside its bounds.
    OutsideBounds,
    /// A result is NaN, but the bound does not report a NaN.
    UnreportedNan,
    /// An endpoint is NaN in a mode that forbids it.
    NanEndpoint,
    /// An optimized bound differs from the naive one, or a related one depends on the selection of
    /// cases.
    Mismatch,
    /// A related bound is wider than the optimized one.
    TooWide,
    /// A value of the point shader is outside its static bounds.
    ValueOutsideStaticBounds,
    /// An endpoint is outside its static bounds.
    EndpointOutsideStaticBounds,
    /// The compiler panicked.
    Panic,
    /// The front end rejects the program.
    Rejected,
}

/// A fault with everything needed to reproduce it.
#[derive(Clone, Debug)]
pub struct Fault {
    /// The kind of fault.
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
    /// The type of the output or value.
    pub ty: Type,
    /// The box: name, type and endpoints of each input.
    pub endpoints: Vec<(String, Type, [u32; 2])>,
    /// The member of the box that shows the fault, if there is one.
    pub member: Option<Vec<u32>>,
    /// The point shader's result for the member, or the reference's endpoint.
    pub expected: Option<u32>,
    /// The endpoints of the bound; `None` if no bound is involved. If only one side is computed,
    /// both words are its endpoint.
    pub found: Option<[u32; 2]>,
    /// Additional lines of the message.
    pub note: String,
}

impl Fault {
    /// Creates a fault that occurs before any box is checked.
    fn without_box(kind: FaultKind, subject: &str, target: Target, message: &str) -> Fault {
        Fault {
            kind,
            subject: subject.to_owned(),
            target,
            options: Options::default(),
            parts: 1,
            output: String::new(),
            ty: Type::F32,
            endpoints: vec![],
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
        writeln!(
            f,
            "`{subject}` {kind:?}: `{output}` on {target}, {}{parts}",
            options_text(options)
        )?;
        for (k, (name, ty, endpoints)) in self.endpoints.iter().enumerate() {
            let [low, high] = endpoints.map(|end| DisplayWord(*ty, end));
            write!(f, "    {name} in [{low}, {high}]")?;
            match &self.member {
                Some(member) => writeln!(f, " ∋ {}", DisplayWord(*ty, member[k]))?,
                None => writeln!(f)?,
            }
        }
        if let Some(expected) = self.expected {
            writeln!(f, "    value {}", DisplayWord(*ty, expected))?;
        }
        if let Some([low, high]) = self.found {
            writeln!(f, "    bound [{}, {}]", DisplayWord(*ty, low), DisplayWord(*ty, high))?;
        }
        write!(f, "{}", self.note)
    }
}

/// Returns a short description of options.
fn options_text(options: &Options) -> String {
    let Options { sides, nan, tracking, loop_cap, relations, .. } = options;
    let tracking = match *tracking {
        Tracking::NONE => "naive".to_owned(),
        Tracking::ALL => "optimized".to_owned(),
        Tracking { ranges, nan, zeros } => format!("ranges {ranges} NaN {nan} zeros {zeros}"),
    };
    let relations: String = relations.iter().map(|relation| format!(", {relation}")).collect();
    format!("{tracking}, {sides:?}, {nan:?}, loop cap {loop_cap}{relations}")
}

/// Displays a word as a value of its type; floats are followed by their bits.
struct DisplayWord(Type, u32);

impl fmt::Display for DisplayWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DisplayWord(ty, bits) = *self;
        match ty {
            Type::F32 => write!(f, "{:?} {bits:#010x}", f32::from_bits(bits)),
            Type::I32 => write!(f, "{}", bits as i32),
            Type::Bool => write!(f, "{}", bits != 0),
        }
    }
}

/// Converts a word to a number. Numbers have the order that intervals of the type use.
fn number(ty: Type, bits: u32) -> f64 {
    match ty {
        Type::F32 => f64::from(f32::from_bits(bits)),
        Type::I32 => f64::from(bits as i32),
        Type::Bool => f64::from(u8::from(bits != 0)),
    }
}

/// The range of the point shader's results for some members, and the number of NaN results.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ResultSummary {
    /// The smallest result that is not NaN; +∞ if there are none.
    min: f64,
    /// The largest result that is not NaN; −∞ if there are none.
    max: f64,
    /// Number of results that are not NaN.
    numbers: u64,
    /// Number of results that are NaN.
    nans: u64,
}

impl ResultSummary {
    /// The summary of an empty set of results.
    const NONE: ResultSummary =
        ResultSummary { min: f64::INFINITY, max: f64::NEG_INFINITY, numbers: 0, nans: 0 };

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

    /// Returns the summary of the union of both sets of results.
    fn union(self, other: ResultSummary) -> ResultSummary {
        ResultSummary {
            min: self.min.min(other.min),
            max: self.max.max(other.max),
            numbers: self.numbers + other.numbers,
            nans: self.nans + other.nans,
        }
    }

    /// Checks the results against endpoints. Endpoints of sides that are not computed are infinite.
    /// `no_claim` means that the NaN mode makes no claim about this box. Returns the kind of fault,
    /// if any, and the number of results that were not skipped.
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
        let is_outside = self.min < lo || self.max > hi;
        let fault = is_outside.then_some(FaultKind::OutsideBounds);
        if nan != Nan::Propagate {
            return (
                if lo.is_nan() || hi.is_nan() { Some(FaultKind::NanEndpoint) } else { fault },
                self.numbers,
            );
        }
        let is_unreported = self.nans > 0 && (lo > f64::NEG_INFINITY || hi < f64::INFINITY);
        let bounds_numbers = match sides {
            BoundSides::Upper => !hi.is_nan(),
            BoundSides::Lower => !lo.is_nan(),
            BoundSides::Both => !lo.is_nan() || !hi.is_nan(),
        };
        let checked = self.nans + if bounds_numbers { self.numbers } else { 0 };
        (if is_unreported { Some(FaultKind::UnreportedNan) } else { fault }, checked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked_fault(results: &[f64], nan: Nan, endpoints: [f64; 2]) -> Option<FaultKind> {
        let mut summary = ResultSummary::NONE;
        results.iter().for_each(|&x| summary.add(x));
        summary.check_bound(nan, BoundSides::Both, endpoints, false).0
    }

    #[test]
    fn faults_depend_on_the_nan_mode() {
        const INF: f64 = f64::INFINITY;
        const NAN: f64 = f64::NAN;
        for nan in [Nan::Propagate, Nan::Suppress, Nan::Ignore] {
            assert_eq!(checked_fault(&[1.0, 2.0], nan, [1.0, 2.0]), None);
            assert_eq!(checked_fault(&[1.0, 2.0], nan, [1.5, 2.0]), Some(FaultKind::OutsideBounds));
            assert_eq!(checked_fault(&[1.0, 2.0], nan, [1.0, 1.5]), Some(FaultKind::OutsideBounds));
            let hidden = checked_fault(&[1.0, NAN], nan, [1.0, 1.0]);
            assert_eq!(hidden, (nan == Nan::Propagate).then_some(FaultKind::UnreportedNan));
            let one_sided = checked_fault(&[1.0, NAN], nan, [-INF, 1.0]);
            assert_eq!(one_sided, (nan == Nan::Propagate).then_some(FaultKind::UnreportedNan));
            assert_eq!(
                checked_fault(&[1.0], nan, [NAN, 0.5]),
                Some(if nan == Nan::Propagate {
                    FaultKind::OutsideBounds
                } else {
                    FaultKind::NanEndpoint
                })
            );
        }
        assert_eq!(checked_fault(&[NAN], Nan::Propagate, [-INF, NAN]), None);
        assert_eq!(checked_fault(&[], Nan::Suppress, [0.0, NAN]), Some(FaultKind::NanEndpoint));
    }

    #[test]
    fn words_are_ordered_as_in_intervals() {
        assert!(number(Type::I32, u32::MAX) < number(Type::I32, 0));
        assert!(number(Type::Bool, 0) < number(Type::Bool, !0));
        assert!(number(Type::F32, 0x8000_0000) == number(Type::F32, 0));
    }
}
