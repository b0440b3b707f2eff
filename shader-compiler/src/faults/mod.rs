//! Faults of shaders: divisions by zero, and operations that yield a NaN or an infinite value
//! (Clarberg et al. 2010 §4.1 warn of divisions by zero that bounds cannot exclude).
//!
//! [`find`] checks an entry point over all inputs of its domain: directions that the renderer
//! evaluates, parameters in their declared ranges, and images whose texels are in declared ranges.
//! An operation *fails* if it divides by zero, or if its result is NaN or infinite although its
//! operands are finite. So the operation that is reported is the first one that fails, not one that
//! computes with the result.
//!
//! For each operation, one of three is established:
//!
//! - It cannot fail. Static bounds exclude it, over the domain, or over each part of a partition of
//!   the domain: a box is split, at the input that narrows the operands most, until bounds exclude
//!   the fault or the work is used up (branch and bound). All values before the first fault are
//!   finite, so bounds are computed under that assumption. If no operation can fail, no result is
//!   NaN or infinite.
//! - It fails for a *witness*: inputs that the search found and that the interpreter confirmed.
//!   The search evaluates special and random inputs, corners and centers of boxes that are not
//!   decided, and then moves towards the fault. The point shader tells whether the fault reaches the
//!   result: a select may discard it.
//! - Neither.
//!
//! The function that is analyzed is the point shader except that no operation runs speculatively:
//! control flow is as in the text. Everything is deterministic: work is counted, never timed.

mod check;
mod domain;
mod message;
mod path;
mod search;
mod slice;
mod split;

use crate::builder::{Builder, Rules};
use crate::frontend::{Entry, Scalar, Settings, Setup, Shader, ShaderError};
use crate::ir::{Function, Op};
use crate::passes;
use crate::texture::Format;
use domain::Domain;
use naga::MathFunction;
use search::{Findings, FoundFault, Search};
use slice::Site;
use std::ops::Range;

pub use domain::{MIN_COSINE, UNLIMITED, texels_of};

/// How an operation fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FaultKind {
    /// A float is divided by zero, also within a built-in function.
    DivisionByZero,
    /// An integer is divided by zero, for which WGSL defines the result.
    IntegerDivisionByZero,
    /// The result is NaN.
    NotANumber,
    /// The result is infinite.
    Infinity,
}

/// An operation that fails, or for which that could not be excluded.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// How it fails or might fail.
    pub kind: FaultKind,
    /// The operation.
    pub op: Op,
    /// The built-in function that it is part of, if any.
    builtin: Option<MathFunction>,
    /// Bytes of the expression in the text; `None` if the shader has no text for it.
    pub location: Option<Range<usize>>,
    /// Whether it fails.
    pub outcome: Outcome,
}

/// Whether an operation fails that could.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// It fails for these inputs.
    Happens(Witness),
    /// It could not be excluded that it fails.
    Unknown {
        /// Whether it depends on another operation that fails, or for which that could not be
        /// excluded.
        follows: bool,
    },
}

impl Outcome {
    /// Outcomes of higher rank are reported if operations of one expression have several.
    fn rank(&self) -> u8 {
        match self {
            Outcome::Unknown { follows: true } => 0,
            Outcome::Unknown { follows: false } => 1,
            Outcome::Happens(Witness { result: None, .. }) => 2,
            Outcome::Happens(Witness { result: Some(_), .. }) => 3,
        }
    }
}

/// Inputs for which an operation fails.
#[derive(Clone, Debug, PartialEq)]
pub struct Witness {
    /// The inputs that matter: it fails for any value of the others that was tried.
    pub inputs: Vec<WitnessInput>,
    /// The name and value of a result that is NaN or infinite. `None` if all are finite, so that the
    /// fault has no effect on them.
    pub result: Option<(String, f32)>,
}

/// A direction, a position, a parameter, or the colour of a texture.
#[derive(Clone, Debug, PartialEq)]
pub struct WitnessInput {
    /// `wi`, `p`, the name of a parameter, or [`texels_of`] a texture.
    pub name: String,
    /// The type of its components.
    pub scalar: Scalar,
    /// The bits of its components.
    pub words: Vec<u32>,
}

/// The result of a check.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Operations that fail, and those for which it could not be excluded, in the order of the text.
    /// If there are none, it is proved that no operation fails.
    pub faults: Vec<Fault>,
    /// Whether the search stopped after many faults, so that others may be missing.
    pub truncated: bool,
    /// Parameters and texels with ranges that extend to infinity or to 0 exclusively, which were
    /// checked only up to a magnitude of [`UNLIMITED`], and from 1/[`UNLIMITED`] on.
    pub unlimited: Vec<String>,
}

/// The unit cube, where densities are by default: the ends of the box along each axis.
pub const UNIT_CUBE: [[f32; 2]; 3] = [[0.0, 1.0]; 3];

/// Finds the faults of an entry point. It includes `fn material`, if the shader has one. Those of a
/// density are for `positions` in a box.
///
/// Texels are in the ranges that the shader [declares](Shader::texel_ranges), or from 0 to 1.
///
/// # Errors
///
/// Returns the error of [`Shader::function`], if any.
pub fn find(
    shader: &Shader,
    entry: Entry,
    settings: &Settings,
    positions: [[f32; 2]; 3],
) -> Result<Report, ShaderError> {
    // The formats of images do not matter, and the search uses images of floats.
    let mut settings = Settings { setup: Setup::Inlined, ..settings.clone() };
    settings.textures.iter_mut().for_each(|(_, state)| state.format = Format::default());
    let located = shader.located_function(entry, &settings)?;
    let function = as_written(&located.function);
    let point = passes::optimize(&shader.function(entry, &settings)?);
    let domain = Domain::new(shader, entry, &settings, positions);
    let places: Vec<Place> = places(&function, |value| {
        let location = located.location(&function, value)?;
        let is_text = location.range.start < shader.text().len();
        is_text.then(|| (location.range.clone(), location.builtin))
    });
    let Findings { faults: found, truncated } =
        Search::new(&function, &point, &domain).run(&places);
    let fault = |FoundFault { place, site, kind, outcome }: FoundFault| {
        let (op, _) = function.operation(site).expect("sites are operations");
        let Place { location, builtin, .. } = &places[place];
        Fault { kind, op, builtin: *builtin, location: location.clone(), outcome }
    };
    let mut faults: Vec<Fault> = found.into_iter().map(fault).collect();
    faults.sort_by_key(|fault| fault.location.as_ref().map(|range| (range.start, range.end)));
    let unlimited = domain.groups.iter().filter(|group| group.is_limited);
    let unlimited = unlimited.map(|group| group.name.clone()).collect();
    Ok(Report { faults, truncated, unlimited })
}

/// The point shader of a function, but with its control flow as it is.
fn as_written(function: &Function) -> Function {
    let builder = || {
        let mut builder = Builder::new(&function.name, Rules::Relaxed);
        builder.keep_control_flow();
        builder
    };
    let unrolled = passes::unroll::run_with(function, builder(), passes::unroll::MAX_SIZE);
    passes::factor::run_with(&unrolled, builder())
}

/// The operations of an expression that can fail.
struct Place {
    location: Option<Range<usize>>,
    builtin: Option<MathFunction>,
    sites: Vec<Site>,
}

/// Groups the operations of a function that can fail by their location in the text.
fn places(
    function: &Function,
    location: impl Fn(crate::ir::Value) -> Option<(Range<usize>, Option<MathFunction>)>,
) -> Vec<Place> {
    let mut places: Vec<Place> = Vec::new();
    for site in slice::sites(function) {
        let (location, builtin) = location(site.value).unzip();
        let builtin = builtin.flatten();
        // The square root of a negative number, in case of total reflection, is not selected.
        if builtin == Some(MathFunction::Refract) {
            continue;
        }
        match places.iter_mut().find(|place| place.location == location) {
            Some(place) => place.sites.push(site),
            None => places.push(Place { location, builtin, sites: vec![site] }),
        }
    }
    places
}
