//! Where the operations of a function come from in the text, for messages about them.
//!
//! While locations are recorded, values have the first value that was generated for the same
//! expression as their [origin](crate::ir::function::ValueData::origin). Passes preserve origins, so
//! the operations of an optimized function still know their expressions. An operation that occurs
//! several times has the location of its first occurrence; one of a function that is called has the
//! location in that function.
//!
//! A value that a `let` or a `var` names is its own origin, so that components of vectors differ.

use super::lexer::SourceRange;
use super::translate::{Frame, Leaves, Translator};
use crate::ir::{Def, Function, Value};
use naga::{Expression, Handle, MathFunction, Span, TypeInner};
use std::collections::HashMap;

/// The location of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Location {
    /// Bytes in the text.
    pub range: SourceRange,
    /// The built-in function that the expression calls.
    pub builtin: Option<MathFunction>,
}

/// The locations and names of the values of a function, by origin.
#[derive(Clone, Debug, Default)]
pub(crate) struct Locations {
    locations: HashMap<Value, Location>,
    /// Names of `let` and `var`, with the component of a vector. Inputs stand for themselves.
    pub names: Vec<(String, Value)>,
}

impl Locations {
    /// Records the expression that values with this origin were generated for.
    pub fn record(&mut self, origin: Value, span: Span, expression: &Expression) {
        let builtin = match expression {
            Expression::Math { fun, .. } => Some(*fun),
            _ => None,
        };
        if let Some(range) = span.to_range() {
            self.locations.insert(origin, Location { range, builtin });
        }
    }

    /// Gives values with the origin `new` the location of those with the origin `old`.
    fn copy(&mut self, old: Option<Value>, new: Value) {
        if let Some(location) = old.and_then(|old| self.locations.get(&old)) {
            self.locations.insert(new, location.clone());
        }
    }
}

impl<'m> Translator<'m> {
    /// Records the name of an expression that a `let` declares.
    pub(super) fn record_let(
        &mut self,
        frame: &Frame<'m>,
        handle: Handle<Expression>,
        leaves: Leaves,
    ) {
        if let Some(function) = frame.function
            && let Some(name) = function.named_expressions.get(&handle)
        {
            self.record_name(frame, handle, leaves, name);
        }
    }

    /// Records the name of an expression, if it is a scalar or a vector.
    pub(super) fn record_name(
        &mut self,
        frame: &Frame<'m>,
        handle: Handle<Expression>,
        leaves: Leaves,
        name: &str,
    ) {
        if self.locations.is_none() {
            return;
        }
        let components: &[&str] = match self.ty(frame, handle) {
            TypeInner::Scalar(_) => &[""],
            TypeInner::Vector { .. } => &[".x", ".y", ".z", ".w"],
            _ => return,
        };
        let values = self.leaves(leaves).to_vec();
        let Some(locations) = &mut self.locations else { return };
        for (value, component) in values.into_iter().zip(components) {
            match self.builder.function().def(value) {
                Def::Const(_) => continue,
                Def::Input(_) => {}
                Def::Op { .. } | Def::Param | Def::Result => {
                    let old = self.builder.replace_origin(value, value);
                    locations.copy(old, value);
                }
            }
            locations.names.push((format!("{name}{component}"), value));
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
        self.locations.locations.get(&function.values[value.index()].origin?)
    }
}
