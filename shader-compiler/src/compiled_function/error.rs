//! Inputs or columns that do not match a function.

use crate::ir::Port;

/// Inputs or columns that do not match the function.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum InputError {
    /// There is no input with this name.
    #[error("the function has no input `{name}`; it has {inputs}")]
    Unknown {
        /// The name.
        name: String,
        /// Names of all inputs.
        inputs: String,
    },
    /// An input has neither values nor a default.
    #[error("the input `{0}` has no values; pass a column for it")]
    Missing(String),
    /// A column is neither as long as the results nor of length 1.
    #[error("the column of `{name}` has {found} values, but there are {expected} rows")]
    Length {
        /// Name of the input or output.
        name: String,
        /// Length of the column.
        found: usize,
        /// Number of rows.
        expected: usize,
    },
    /// There is not one column for each output.
    #[error("there are {found} columns for results, but the function has {expected} outputs")]
    Outputs {
        /// Number of columns.
        found: usize,
        /// Number of outputs.
        expected: usize,
    },
    /// The endpoints of an input that is a scalar differ.
    #[error(
        "the input `{0}` is a scalar, but its endpoints differ; name it among the intervals when \
         the function is compiled"
    )]
    NotInterval(String),
    /// The value of an integer input is not an integer of its type.
    #[error("`{name}`: {value} is not of type `{ty}`")]
    NotInteger {
        /// Name of the input.
        name: String,
        /// The value.
        value: f32,
        /// The type in WGSL.
        ty: &'static str,
    },
    /// The lower endpoint of an interval is above the upper one, or one of them is NaN.
    #[error("the interval of `{name}` is empty: from {} to {}", .endpoints[0], .endpoints[1])]
    Empty {
        /// Name of the input.
        name: String,
        /// The endpoints.
        endpoints: [f32; 2],
    },
    /// An input that is declared a unit vector, or sorted, is not.
    #[error("row {row}: {message}")]
    Precondition {
        /// Index of the row.
        row: usize,
        /// What is wrong.
        message: String,
    },
    /// An input that should be a unit vector does not have three floats.
    #[error("the input `{0}` is not a `vec3f`, so it cannot be a unit vector")]
    NotVector(String),
    /// A sorted input is not a vector of floats.
    #[error("the input `{0}` is not a vector of `f32`, so it cannot be sorted")]
    NotSortable(String),
    /// An input to differentiate by is not a float.
    #[error("the input `{0}` is not a float, so it has no derivative")]
    NotFloat(String),
}

pub(super) fn unknown(name: &str, inputs: &[Port]) -> InputError {
    let inputs: Vec<_> = inputs.iter().map(|port| format!("`{}`", port.name)).collect();
    InputError::Unknown { name: name.to_owned(), inputs: inputs.join(", ") }
}
