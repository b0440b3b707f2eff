//! Tables of named entities.

use crate::diagnostics::{Location, SceneError};
use crate::file::parse::Name;
use lightbound::suggestion::did_you_mean;
use std::collections::HashMap;

/// Entities with and without names. A name may be referenced before it is defined. Indices never
/// change.
pub(super) struct NameTable<T> {
    kind: &'static str,
    index: HashMap<String, usize>,
    /// Name and location of the last reference or definition, and the definition.
    slots: Vec<(Option<Name>, Option<T>)>,
}

impl<T> NameTable<T> {
    pub fn new(kind: &'static str) -> NameTable<T> {
        NameTable { kind, index: HashMap::new(), slots: Vec::new() }
    }

    pub fn push(&mut self, value: T) -> usize {
        self.slots.push((None, Some(value)));
        self.slots.len() - 1
    }

    /// The index of a name, defined or not.
    pub fn reference(&mut self, name: &Name) -> usize {
        if let Some(&index) = self.index.get(&name.text) {
            return index;
        }
        self.index.insert(name.text.clone(), self.slots.len());
        self.slots.push((Some(name.clone()), None));
        self.slots.len() - 1
    }

    pub fn define(&mut self, name: &Name, value: T) -> Result<(), SceneError> {
        let index = self.reference(name);
        let slot = &mut self.slots[index];
        if let (Some(first), Some(_)) = slot {
            return Err(defined_twice(self.kind, name, &first.location));
        }
        *slot = (Some(name.clone()), Some(value));
        Ok(())
    }

    /// All definitions so far.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.slots.iter().filter_map(|(_, value)| value.as_ref())
    }

    /// All values, by index.
    ///
    /// *Errors*: a name is referenced but never defined.
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

pub(super) fn defined_twice(kind: &str, name: &Name, first: &Location) -> SceneError {
    let error =
        SceneError::at(&name.location, format!("{kind} \"{}\" is defined twice", name.text));
    error.help(format!("the first definition is at {first}: rename one"))
}

pub(super) fn undefined<'a>(
    kind: &str,
    name: &Name,
    known: impl Iterator<Item = &'a str>,
) -> SceneError {
    const LISTED: usize = 8;
    let mut known: Vec<&str> = known.collect();
    known.sort_unstable();
    known.dedup();
    let listed: Vec<String> = known.iter().take(LISTED).map(|name| format!("\"{name}\"")).collect();
    let otherwise = match listed.len() {
        0 => format!("no {kind} is defined yet: define it first"),
        _ => format!(
            "the defined names are {}{}",
            listed.join(", "),
            if known.len() > LISTED { ", …" } else { "" }
        ),
    };
    let error = SceneError::at(&name.location, format!("{kind} \"{}\" is not defined", name.text));
    error.help(did_you_mean(&name.text, known, &otherwise))
}
