//! Where the operations of a function come from in the text, for messages about them.
//!
//! While locations are recorded, values have the first value that was generated for the same
//! expression as their [origin](crate::ir::function::ValueData::origin). Passes preserve origins, so
//! the operations of an optimized function still know their expressions. An operation that occurs
//! several times has the location of its first occurrence; one of a function that is called has the
//! location in that function.

use super::lexer::SourceRange;
use crate::ir::{Function, Value};
use naga::{Expression, MathFunction, Span};
use std::collections::HashMap;

/// The location of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Location {
    /// Bytes in the text.
    pub range: SourceRange,
    /// The built-in function that the expression calls.
    pub builtin: Option<MathFunction>,
}

/// The locations of the values of a function, by origin.
#[derive(Clone, Debug, Default)]
pub(crate) struct Locations(HashMap<Value, Location>);

impl Locations {
    /// Records the expression that values with this origin were generated for.
    pub fn record(&mut self, origin: Value, span: Span, expression: &Expression) {
        let builtin = match expression {
            Expression::Math { fun, .. } => Some(*fun),
            _ => None,
        };
        if let Some(range) = span.to_range() {
            self.0.insert(origin, Location { range, builtin });
        }
    }
}

/// A function with the locations of its operations.
#[derive(Clone, Debug)]
pub(crate) struct LocatedFunction {
    pub function: Function,
    pub locations: Locations,
}

impl LocatedFunction {
    /// The location of a value of the function, or of one that passes made of it. `None` if the text
    /// has no expression for it, as for the product with the cosine.
    pub fn location(&self, function: &Function, value: Value) -> Option<&Location> {
        self.locations.0.get(&function.values[value.index()].origin?)
    }
}
