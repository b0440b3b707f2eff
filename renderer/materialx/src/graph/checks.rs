//! Warnings about mistakes in elements: names, inputs and types.

use super::Graph;
use crate::document::Id;
use crate::values::Type;

impl Graph<'_> {
    /// The child of an element with this name; a warning if there are several.
    pub fn child(&mut self, parent: Id, name: &str) -> Option<Id> {
        let document = self.document;
        let mut found = document.children(parent).filter(|&child| document.name(child) == name);
        let first = found.next()?;
        if let Some(second) = found.next().filter(|_| !name.is_empty()) {
            let line = document.location(first).line;
            let message = format!("{} has the name of another element", document.label(second));
            self.warn(second, message, format!("that in line {line}"));
        }
        Some(first)
    }

    /// Warns about inputs of a node that are not among the names, and about those with the same.
    pub fn warn_of_unknown_inputs(&mut self, node: Id, names: &[&str]) {
        self.warn_of_duplicate_inputs(node);
        let document = self.document;
        for input in document.inputs(node) {
            let name = document.name(input);
            if names.contains(&name) {
                continue;
            }
            let close = names.iter().map(|known| (strsim::levenshtein(name, known), known)).min();
            let suggestion = match close {
                Some((distance, known)) if distance <= name.len().div_ceil(3) => {
                    format!(" (did you mean \"{known}\"?)")
                }
                _ => String::new(),
            };
            let label = document.label(node);
            self.warn(input, format!("{label} has no input \"{name}\"{suggestion}"), "no effect");
        }
    }

    pub(super) fn warn_of_duplicate_inputs(&mut self, node: Id) {
        let document = self.document;
        for input in document.inputs(node) {
            let name = document.name(input);
            if document.input(node, name) != Some(input) {
                let message = format!("{} has two inputs \"{name}\"", document.label(node));
                self.warn(input, message, "the first one");
            }
        }
    }

    /// Warns if a value is declared with another type than that of the input.
    pub fn check_type(&mut self, node: Id, name: &str, ty: Type) {
        let document = self.document;
        let Some(input) = document.input(node, name) else { return };
        let declared = document.attribute(input, "type").and_then(Type::parse);
        if let Some(declared) = declared.filter(|declared| declared.wgsl() != ty.wgsl())
            && document.attribute(input, "value").is_some()
        {
            let message = format!(
                "input \"{name}\" of {} is of type {}, but is declared as {}",
                document.label(node),
                ty.name(),
                declared.name()
            );
            self.warn(input, message, "the value as it is");
        }
    }

    /// Warns about inputs of a node that do not match the definition of the document.
    pub(super) fn check_inputs(&mut self, node: Id, definition: Id) {
        let document = self.document;
        // Inputs may be those of a definition that this one inherits from.
        if document.attribute(definition, "inherit").is_some() {
            return;
        }
        let declared: Vec<Id> = document.inputs(definition).collect();
        let names: Vec<&str> = declared.iter().map(|&input| document.name(input)).collect();
        self.warn_of_unknown_inputs(node, &names);
        for input in declared {
            if let Some(ty) = document.attribute(input, "type").and_then(Type::parse) {
                self.check_type(node, document.name(input), ty);
            }
        }
    }
}
