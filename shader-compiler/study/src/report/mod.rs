//! Tables, figures and records of `lightbound bounds`.
//!
//! [`Comparison`] measures the cost of naive, optimized and related bounding shaders relative to
//! the point shaders that they bound. [`cost_tables`] prints it beside the published results of
//! Clarberg et al. 2010, §6.1, and [`figure`] shows what each optimization saves.
//! [`relation_costs`] shows what each relation costs, and [`tightness_tables`] how far upper bounds
//! are above true maxima. The fields of records are the keys of the JSON output.

pub mod bar_chart;
pub mod comparison;
pub mod cost_tables;
pub mod figure;
mod paper;
pub mod relation_costs;
mod table;
pub mod tightness_plot;
pub mod tightness_tables;

pub use comparison::Comparison;

use lightbound_shader::bounding::{Frame, IntervalInputs, Ranges};
use lightbound_shader::interval::Nan;
use lightbound_shader::lift::BoundSides;
use lightbound_shader::relations::{Relation, Relations};
use lightbound_shader::{CompileError, ShaderError};
use serde::Serialize;

/// The shaders of Clarberg et al. 2010.
pub const PAPER_SHADERS: [&str; 6] =
    ["diffuse", "phong", "isoward", "ward", "ashikhmin", "fractal"];

/// An error of a comparison.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The shader is invalid.
    #[error(transparent)]
    Shader(#[from] ShaderError),
    /// The shader could not be compiled to machine code.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// Bounding shaders disagree because of a compiler fault.
    #[error("{0}")]
    Mismatch(String),
}

/// Defines how to serialize enums of the compiler, for `serialize_with`.
macro_rules! remote_enums {
    ($($name:ident of $remote:literal { $($variant:ident),* })*) => {
        $(
            #[derive(Serialize)]
            #[serde(remote = $remote, rename_all = "lowercase")]
            enum $name { $($variant),* }
        )*
    };
}

remote_enums! {
    FrameDef of "Frame" { World, Local }
    RangesDef of "Ranges" { Paper, Declared }
    IntervalInputsDef of "IntervalInputs" { Light, All }
    SidesDef of "BoundSides" { Upper, Lower, Both }
    NanDef of "Nan" { Propagate, Suppress, Ignore }
}

/// Returns the paper's notation for a bounding shader with these interval inputs.
fn notation(inputs: IntervalInputs) -> &'static str {
    match inputs {
        IntervalInputs::Light => "s(x, ω̂)",
        IntervalInputs::All => "s(x̂, ω̂)",
    }
}

/// Returns the name of the bound sides in a heading.
fn sides_name(sides: BoundSides) -> &'static str {
    match sides {
        BoundSides::Upper => "upper bounds",
        BoundSides::Lower => "lower bounds",
        BoundSides::Both => "both bounds",
    }
}

/// Names a NaN mode for readers.
fn nan_name(nan: Nan) -> &'static str {
    match nan {
        Nan::Propagate => "NaN propagated",
        Nan::Suppress => "NaN suppressed",
        Nan::Ignore => "NaN ignored",
    }
}

/// Returns the names of relations, in order.
fn relation_names(relations: Relations) -> Vec<&'static str> {
    relations.iter().map(Relation::name).collect()
}

/// Returns a legend line with the relations that related code uses; empty if it uses all relations.
fn relations_legend(relations: Relations) -> String {
    if relations == Relations::all() {
        String::new()
    } else {
        format!("related: uses only {}\n", relation_names(relations).join(", "))
    }
}

/// Formats a fraction in percent.
fn percent(fraction: f64) -> String {
    format!("{:.1} %", fraction * 100.0)
}

/// Returns the arithmetic mean.
fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0), |(sum, count), x| (sum + x, count + 1));
    sum / f64::from(count)
}
