//! The exception `lightbound.Error`: what the program prints for the same problem, with file, line
//! and remedy.

use lightbound_shader::ShaderError;
use miette::{GraphicalReportHandler, GraphicalTheme};
use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::fmt;

create_exception!(
    lightbound,
    Error,
    PyValueError,
    "A wrong input: a shader, a scene, a value or an array, with its place and a remedy."
);

/// Converts an error with a message only.
pub fn plain(error: impl fmt::Display) -> PyErr {
    Error::new_err(error.to_string())
}

/// Converts an error of a shader.
pub fn shader(mut error: ShaderError) -> PyErr {
    if error.labels.is_empty() {
        error.message = format!("{}: {}", error.source_code.name(), error.message);
    }
    report(&error)
}

/// Converts an error with source lines and a remedy.
pub fn report(error: &dyn miette::Diagnostic) -> PyErr {
    let mut theme = GraphicalTheme::unicode_nocolor();
    theme.characters.error = String::new();
    let handler = GraphicalReportHandler::new_themed(theme).with_wrap_lines(false);
    let mut text = String::new();
    match handler.render_report(&mut text, error) {
        Ok(()) => Error::new_err(text.trim().to_owned()),
        Err(fmt::Error) => plain(error),
    }
}
