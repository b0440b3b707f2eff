//! Errors with a location in the text of a shader.

use super::lexer::SourceRange;
use miette::{LabeledSpan, NamedSource};
use std::sync::Arc;

/// An error in a shader, with its location in the text.
#[derive(Clone, Debug, thiserror::Error, miette::Diagnostic)]
#[error("{message}")]
pub struct ShaderError {
    /// The problem.
    pub message: String,
    /// File name and text.
    #[source_code]
    pub source_code: Arc<NamedSource<String>>,
    /// Labelled byte ranges; the first is the location of the error.
    #[label(collection)]
    pub labels: Vec<LabeledSpan>,
    /// How to fix the error.
    #[help]
    pub help: Option<String>,
}

/// Last column shown in excerpts, in bytes: miette is limited to 2¹⁶ columns, and a tab takes four.
const MAX_COLUMN: usize = 1 << 13;

/// Returns the line of a byte of a text, from 1.
pub(crate) fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes()[..at.min(text.len())].iter().filter(|&&byte| byte == b'\n').count() + 1
}

impl ShaderError {
    /// Adds a label, unless the location is 0..0, which means none, as in naga.
    pub(super) fn at(mut self, location: SourceRange, label: impl Into<String>) -> ShaderError {
        if location == (0..0) {
            return self;
        }
        // Clamp locations in appended declarations to the end of the author's text.
        let text = self.source_code.inner();
        let char_boundary = |at: usize| {
            (0..=at.min(text.len())).rev().find(|&k| text.is_char_boundary(k)).unwrap_or(0)
        };
        let start = char_boundary(location.start);
        let end = char_boundary(location.end).max(start);
        let line_start = |at: usize| text[..at].rfind('\n').map_or(0, |k| k + 1);
        if start - line_start(start) > MAX_COLUMN || end - line_start(end) > MAX_COLUMN {
            if self.labels.is_empty() {
                self.message += &format!(
                    " (line {}, column {})",
                    line_of(text, start),
                    start - line_start(start) + 1
                );
            }
            return self;
        }
        let label = Some(label.into());
        self.labels.push(if self.labels.is_empty() {
            LabeledSpan::new_primary_with_span(label, start..end)
        } else {
            LabeledSpan::new_with_span(label, start..end)
        });
        self
    }

    /// Adds a label if the span is defined.
    pub(super) fn at_span(self, span: naga::Span, label: impl Into<String>) -> ShaderError {
        match span.to_range() {
            Some(location) => self.at(location, label),
            None => self,
        }
    }

    /// Message, line and remedy in one line: `rough.wgsl:3: …; did you mean …?`
    pub fn one_line(&self) -> String {
        let text = self.source_code.inner();
        let line = self.labels.first().map(|label| format!(":{}", line_of(text, label.offset())));
        let help = self.help.as_ref().map(|help| format!("; {help}"));
        let [line, help] = [line, help].map(Option::unwrap_or_default);
        format!("{}{line}: {}{help}", self.source_code.name(), self.message)
    }

    /// Sets the help text.
    pub(super) fn help(mut self, help: impl Into<String>) -> ShaderError {
        self.help = Some(help.into());
        self
    }
}
