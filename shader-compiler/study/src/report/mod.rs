//! Tables, figures and records of `lightbound bounds`.
//!
//! [`Comparison`] measures the cost of naive, optimized and related bounding shaders relative to
//! the point shaders that they bound. [`cost_tables`] prints it beside the published results of
//! Clarberg et al. 2010, §6.1, and [`figure`] shows what each optimization saves. [`relation_costs`]
//! shows what each relation costs, [`tightness_tables`] how far upper bounds are above true maxima.
//! Records have the names of the JSON output.

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

/// Why shaders could not be compared.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The shader is wrong.
    #[error(transparent)]
    Shader(#[from] ShaderError),
    /// The shader could not be compiled to machine code.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// Bounding shaders disagree, which is a fault of the compiler.
    #[error("{0}")]
    Mismatch(String),
}

/// Defines the serialized names of a compiler enum, for `serialize_with`.
macro_rules! names {
    ($($name:ident of $of:literal { $($variant:ident),* })*) => {
        $(
            #[derive(Serialize)]
            #[serde(remote = $of, rename_all = "lowercase")]
            enum $name { $($variant),* }
        )*
    };
}

names! {
    FrameName of "Frame" { World, Local }
    RangesName of "Ranges" { Paper, Declared }
    SpansName of "IntervalInputs" { Light, All }
    SidesName of "BoundSides" { Upper, Lower, Both }
    NanName of "Nan" { Propagate, Suppress, Ignore }
}

/// The paper's notation of a bounding shader with these interval inputs.
fn formula(inputs: IntervalInputs) -> &'static str {
    match inputs {
        IntervalInputs::Light => "s(x, ω̂)",
        IntervalInputs::All => "s(x̂, ω̂)",
    }
}

/// Bound sides as readers see them.
fn sides_name(sides: BoundSides) -> &'static str {
    match sides {
        BoundSides::Upper => "upper bounds",
        BoundSides::Lower => "lower bounds",
        BoundSides::Both => "both bounds",
    }
}

/// A NaN mode as readers see it.
fn nan_name(nan: Nan) -> &'static str {
    match nan {
        Nan::Propagate => "NaN propagated",
        Nan::Suppress => "NaN suppressed",
        Nan::Ignore => "NaN ignored",
    }
}

/// Names of relations, in order.
fn relation_names(relations: Relations) -> Vec<&'static str> {
    relations.iter().map(Relation::name).collect()
}

/// A legend line that names the relations of related code; empty if it uses all relations.
fn restricted(relations: Relations) -> String {
    if relations == Relations::all() {
        String::new()
    } else {
        format!("related: with {} alone\n", relation_names(relations).join(", "))
    }
}

/// A fraction in percent.
fn percent(fraction: f64) -> String {
    format!("{:.1} %", fraction * 100.0)
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0), |(sum, count), x| (sum + x, count + 1));
    sum / f64::from(count)
}
