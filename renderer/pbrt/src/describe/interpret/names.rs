//! Tables of named entities.

use crate::diagnostics::{Location, SceneError};
use crate::file::parse::Name;
use lightbound::suggestion::did_you_mean;
use std::collections::HashMap;

/// Entities with and without names. Names may be referenced before they are defined. Indices are
/// stable.
pub(super) struct NameTable<T> {
    /// Kind of entity, for messages.
    kind: &'static str,
    index: HashMap<String, usize>,
    /// Name, with the location of the first reference or of the definition; and the definition.
    slots: Vec<(Option<Name>, Option<T>)>,
}

impl<T> NameTable<T> {
    pub fn new(kind: &'static str) -> NameTable<T> {
        NameTable { kind, index: HashMap::new(), slots: Vec::new() }
    }

    /// Adds an unnamed entity and returns its index.
    pub fn push(&mut self, value: T) -> usize {
        self.slots.push((None, Some(value)));
        self.slots.len() - 1
    }

    /// Returns the index of a name, which may be undefined so far.
    pub fn reference(&mut self, name: &Name) -> usize {
        if let Some(&index) = self.index.get(&name.text) {
            return index;
        }
        self.index.insert(name.text.clone(), self.slots.len());
        self.slots.push((Some(name.clone()), None));
        self.slots.len() - 1
    }

    /// Defines a name. Fails if it is already defined.
    pub fn define(&mut self, name: &Name, value: T) -> Result<(), SceneError> {
        let index = self.reference(name);
        let slot = &mut self.slots[index];
        if let (Some(first), Some(_)) = slot {
            return Err(defined_twice(self.kind, name, &first.location));
        }
        *slot = (Some(name.clone()), Some(value));
        Ok(())
    }

    /// Iterates over all definitions so far.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.slots.iter().filter_map(|(_, value)| value.as_ref())
    }

    /// Returns all definitions by index. Fails if a name is referenced but never defined.
    pub fn finish(self) -> Result<Vec<T>, SceneError> {
        if let Some((Some(name), None)) = self.slots.iter().find(|(_, value)| value.is_none()) {
            let known = self.slots.iter().filter(|(_, value)| value.is_some());
            return Err(undefined(
                self.kind,
                name,
                known.filter_map(|(name, _)| Some(name.as_ref()?.text.as_str())),
            ));
        }
        Ok(self.slots.into_iter().filter_map(|(_, value)| value).collect())
    }
}

/// Creates the error for a second definition of a name.
pub(super) fn defined_twice(kind: &str, name: &Name, first: &Location) -> SceneError {
    let error =
        SceneError::at(&name.location, format!("{kind} \"{}\" is defined twice", name.text));
    error.help(format!("the first definition is at {first}: rename one"))
}

/// Creates the error for an undefined name, with suggestions from `known` names.
pub(super) fn undefined<'a>(
    kind: &str,
    name: &Name,
    known: impl Iterator<Item = &'a str>,
) -> SceneError {
    const MAX_LISTED: usize = 8;
    let mut known: Vec<&str> = known.collect();
    known.sort_unstable();
    known.dedup();
    let listed: Vec<String> =
        known.iter().take(MAX_LISTED).map(|name| format!("\"{name}\"")).collect();
    let list = match listed.len() {
        0 => format!("no {kind} is defined yet: define it first"),
        _ => format!(
            "the defined names are {}{}",
            listed.join(", "),
            if known.len() > MAX_LISTED { ", …" } else { "" }
        ),
    };
    let error = SceneError::at(&name.location, format!("{kind} \"{}\" is not defined", name.text));
    error.help(did_you_mean(&name.text, known, &list))
}
