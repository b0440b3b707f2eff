//! Errors and warnings, with their location in a document.

use std::fmt;

/// A place in a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// Name of the file.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// Why a document cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{location}: {message}")]
pub struct Error {
    /// Where.
    pub location: Location,
    /// The problem.
    pub message: String,
    /// Remedy.
    pub help: String,
}

/// A property of a material that is ignored or replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// Where.
    pub location: Location,
    /// What is not supported.
    pub message: String,
    /// What is used instead.
    pub fallback: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}: {}; fallback: {}", self.location, self.message, self.fallback)
    }
}
