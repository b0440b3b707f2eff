//! How to compile a function.

use crate::bounding::Ranges;
use crate::frontend::Settings;
use crate::lift::Options;
use crate::relations::Relations;
use crate::target::Target;

/// How to compile a function.
#[derive(Clone, Debug)]
pub struct FunctionOptions {
    /// Inputs that are intervals: names of arguments and parameters, or of their components. `None`:
    /// all of them.
    pub intervals: Option<Vec<String>>,
    /// Inputs by which all float outputs are differentiated, named likewise.
    pub gradient: Vec<String>,
    /// Inputs that are unit vectors, besides those declared with `fact: unit`. Only
    /// [related](crate::relations) bounds depend on it.
    pub unit: Vec<String>,
    /// Inputs that are sorted vectors, x ≤ y ≤ z ≤ w, besides those declared with `fact: sorted`.
    /// Only [related](crate::relations) bounds depend on it.
    pub sorted: Vec<String>,
    /// Static bounds on inputs.
    pub ranges: Ranges,
    /// Settings of the front end.
    pub settings: Settings,
    /// Options of the bounding shader.
    pub bounds: Options,
    /// The machine.
    pub target: Target,
}

impl Default for FunctionOptions {
    fn default() -> FunctionOptions {
        FunctionOptions {
            intervals: None,
            gradient: vec![],
            unit: vec![],
            sorted: vec![],
            ranges: Ranges::Declared,
            settings: Settings::default(),
            bounds: Options::default(),
            target: Target::best(),
        }
    }
}

impl FunctionOptions {
    /// Makes only these inputs intervals.
    pub fn intervals(self, names: &[&str]) -> FunctionOptions {
        let intervals = names.iter().map(|&name| name.to_owned()).collect();
        FunctionOptions { intervals: Some(intervals), ..self }
    }

    /// Adds derivatives by these inputs to the outputs.
    pub fn gradient(self, names: &[&str]) -> FunctionOptions {
        FunctionOptions { gradient: names.iter().map(|&name| name.to_owned()).collect(), ..self }
    }

    /// States that these inputs are unit vectors, to the precision of
    /// [`Axis`](crate::relations::Axis), and enables the relations that use it.
    pub fn unit(self, names: &[&str]) -> FunctionOptions {
        let unit = names.iter().map(|&name| name.to_owned()).collect();
        let bounds = Options { relations: Relations::all(), ..self.bounds };
        FunctionOptions { unit, bounds, ..self }
    }

    /// States that the components of these inputs ascend, and enables the relations that use it.
    pub fn sorted(self, names: &[&str]) -> FunctionOptions {
        let sorted = names.iter().map(|&name| name.to_owned()).collect();
        let bounds = Options { relations: Relations::all(), ..self.bounds };
        FunctionOptions { sorted, bounds, ..self }
    }
}
