//! Locates a statement that naga rejects without a span.
//!
//! Some type errors of naga's parser have no span. The text is then parsed again with the rest of a
//! function body, from some statement on, replaced by blanks. The culprit is the first statement
//! whose inclusion reproduces the message; a binary search finds it.

use super::Source;
use super::lexer::SourceRange;

/// Maximum number of parses.
const MAX_PARSES: usize = 200;

/// Finds the statement that causes this message of naga.
pub(super) fn statement(source: &Source, message: &str) -> Option<SourceRange> {
    let reproduces = |text: &str| {
        let error = naga::front::wgsl::parse_str(text).err();
        error.is_some_and(|error| {
            error.labels().len() == 0 && without_digits(error.message()) == without_digits(message)
        })
    };
    let start = |token: usize| source.tokens[token].range.start;
    let is_culprit = |&&(open, close): &&(usize, usize)| {
        !reproduces(&blank_rest(source, start(open) + 1, (open, close)))
    };
    let bodies = source.bodies();
    let &body = bodies.iter().take(MAX_PARSES / 2).find(is_culprit)?;
    let ends: Vec<_> = (body.0..=body.1)
        .filter(|&k| matches!(source.spelling(k), ";" | "{" | "}"))
        .map(|k| source.tokens[k].range.end)
        .collect();
    // The first end at which the text so far reproduces the message.
    let (mut accepted, mut rejected) = (0, ends.len() - 1);
    while accepted < rejected {
        let middle = (accepted + rejected) / 2;
        if reproduces(&blank_rest(source, ends[middle], body)) {
            rejected = middle
        } else {
            accepted = middle + 1
        }
    }
    let start = if rejected == 0 { start(body.0) + 1 } else { ends[rejected - 1] };
    let statement = &source.text()[start..ends[rejected]];
    Some(ends[rejected] - statement.trim_start().len()..ends[rejected])
}

/// Removes naga's handles from a message, which depend on the preceding text.
fn without_digits(message: &str) -> String {
    message.chars().filter(|c| !c.is_ascii_digit()).collect()
}

/// Returns the text with a function body replaced by blanks from a location on, except for braces
/// that close the open blocks.
fn blank_rest(source: &Source, from: usize, (open, close): (usize, usize)) -> String {
    let mut depth = 0_usize;
    for k in (open..=close).take_while(|&k| source.tokens[k].range.start < from) {
        match source.spelling(k) {
            "{" => depth += 1,
            "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    let mut bytes = source.text().as_bytes().to_vec();
    let end = source.tokens[close].range.end;
    bytes[from..end].fill(b' ');
    let closing = depth.min(end - from);
    bytes[end - closing..end].fill(b'}');
    String::from_utf8_lossy(&bytes).into_owned()
}
