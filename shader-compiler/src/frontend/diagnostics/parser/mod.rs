//! Errors of naga's parser. They arrive as text and are recognized by their wording.

mod constants;
mod names;
mod syntax;
mod types;

use super::super::lexer::SourceRange;
use super::super::{ShaderError, Source, locate};
use super::{clean_message, lower_first, presentable};
use naga::front::wgsl::ParseError;

/// Describes an error of naga's parser.
pub(in crate::frontend) fn parse_error(source: &Source, error: &ParseError) -> ShaderError {
    let labels = error
        .labels()
        .map(|(span, label)| (span.to_range().unwrap_or(0..0), clean_message(label)))
        .collect();
    let notes: Vec<String> = error.notes().map(clean_message).collect();
    let details = ParserError { source, message: clean_message(error.message()), labels, notes };
    let descriptions = [
        ParserError::syntax,
        ParserError::undeclared,
        ParserError::types,
        ParserError::arguments,
        ParserError::constants,
        ParserError::declarations,
    ];
    descriptions
        .iter()
        .find_map(|describe| describe(&details))
        .unwrap_or_else(|| details.fallback(error))
}

/// Message, labels and notes of a parser error.
struct ParserError<'a> {
    source: &'a Source,
    message: String,
    labels: Vec<(SourceRange, String)>,
    notes: Vec<String>,
}

impl ParserError<'_> {
    /// Location of a label.
    fn location(&self, k: usize) -> SourceRange {
        self.labels.get(k).map_or(0..0, |(location, _)| location.clone())
    }

    /// Text at a label.
    fn text(&self, k: usize) -> &str {
        self.source.text().get(self.location(k)).unwrap_or("")
    }

    /// The token before a location.
    fn word_before(&self, location: &SourceRange) -> &str {
        let token = self.source.token_at(location.start).checked_sub(1);
        token.map_or("", |token| self.source.spelling(token))
    }

    fn error(&self, message: impl Into<String>, label: impl Into<String>) -> ShaderError {
        self.source.error(message).at(self.location(0), label)
    }

    /// Describes any other error; finds the location of a type error without a span.
    fn fallback(&self, error: &ParseError) -> ShaderError {
        let message = self.message.as_str();
        let message =
            if message.starts_with("Invalid access") || message.starts_with("Invalid sub-access") {
                "only arrays, vectors and matrices have elements".to_owned()
            } else if let Some(rest) = message.strip_prefix("Incompatible operands: ") {
                let operation = operator(rest.split('(').next().unwrap_or(""));
                let types: Vec<_> =
                    between(rest, "(", ")").map_or(vec![], |types| types.split(", ").collect());
                match types[..] {
                    // naga prints other types in its internal form.
                    _ if rest.contains(" * ") => "`*` does not apply to these operands".to_owned(),
                    _ if rest.contains(" as ") => "this cannot be converted".to_owned(),
                    _ if rest.contains('{') => {
                        format!("`{operation}` does not apply to these operands")
                    }
                    [left, "_"] => format!("`{operation}` applies to `bool`, not to `{left}`"),
                    [left, right] => {
                        format!("`{operation}` does not apply to `{left}` and `{right}`")
                    }
                    _ => format!("`{operation}` does not apply to these operands"),
                }
            } else {
                presentable(message)
            };
        let mut result = self.source.error(message);
        for (location, label) in &self.labels {
            result = result.at(
                location.clone(),
                if label.is_empty() { "here".to_owned() } else { lower_first(label) },
            );
        }
        if result.labels.is_empty()
            && let Some(location) = locate::statement(self.source, error.message())
        {
            result = result.at(location, "in this statement");
        }
        let notes: Vec<_> = self
            .notes
            .iter()
            .filter(|note| !note.contains("Naga") && !note.contains("http"))
            .cloned()
            .collect();
        if notes.is_empty() { result } else { result.help(notes.join("; ")) }
    }
}

/// Returns the text after `start` and before `end`; up to the end of the text if `end` is empty.
fn between<'a>(text: &'a str, start: &str, end: &str) -> Option<&'a str> {
    let rest = text.split_once(start)?.1;
    if end.is_empty() { Some(rest) } else { Some(rest.split_once(end)?.0) }
}

/// Returns the parts of a text that are in backticks.
fn quoted(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// Spelling of an operator, by its name in naga.
fn operator(name: &str) -> &str {
    match name {
        "Add" => "+",
        "Subtract" | "Negate" => "-",
        "Multiply" => "*",
        "Divide" => "/",
        "Modulo" => "%",
        "Equal" => "==",
        "NotEqual" => "!=",
        "Less" => "<",
        "LessEqual" => "<=",
        "Greater" => ">",
        "GreaterEqual" => ">=",
        "And" => "&",
        "ExclusiveOr" => "^",
        "InclusiveOr" => "|",
        "LogicalAnd" => "&&",
        "LogicalOr" => "||",
        "ShiftLeft" => "<<",
        "ShiftRight" => ">>",
        "LogicalNot" => "!",
        "BitwiseNot" => "~",
        other => other,
    }
}
