//! Finds the statement that naga rejects without a place.
//!
//! Some type errors leave naga's parser without a place. The text is then read again and again with
//! statements blanked out: the statement wanted is the last without which the message is another.

use super::Source;
use super::outline::{Kind, Place};

/// Readings that are spent at most.
const BUDGET: usize = 200;

/// Place of the statement for which naga gives this message.
pub(super) fn statement(source: &Source, message: &str) -> Option<Place> {
    let text = source.text();
    let same = |text: &str| {
        let error = naga::front::wgsl::parse_str(text).err();
        error.is_some_and(|error| {
            error.labels().len() == 0 && words(error.message()) == words(message)
        })
    };
    let functions = &source.outline.functions;
    let inside = |function: &&super::outline::Function| {
        function.body.len() >= 2 && !same(&blanked(source, function.body.start + 1, &function.body))
    };
    let function = functions.iter().take(BUDGET / 2).find(inside)?;
    let ends: Vec<_> = source
        .outline
        .tokens
        .iter()
        .filter(|token| token.kind == Kind::Symbol && function.body.contains(&token.place.start))
        .filter(|token| matches!(&text[token.place.clone()], ";" | "{" | "}"))
        .map(|token| token.place.end)
        .collect();
    // The first end up to which the text is rejected.
    let (mut good, mut bad) = (0, ends.len().checked_sub(1)?);
    while good < bad {
        let middle = (good + bad) / 2;
        if same(&blanked(source, ends[middle], &function.body)) {
            bad = middle
        } else {
            good = middle + 1
        }
    }
    let start = if bad == 0 { function.body.start + 1 } else { ends[bad - 1] };
    let statement = &text[start..ends[bad]];
    let start = ends[bad] - statement.trim_start().len();
    Some(start..ends[bad])
}

/// A message without the handles in it, which depend on what stands before.
fn words(message: &str) -> String {
    message.chars().filter(|c| !c.is_ascii_digit()).collect()
}

/// The text with a function's body blank from a place on, but for the brackets that close what is
/// open there.
fn blanked(source: &Source, from: usize, body: &Place) -> String {
    let text = source.text();
    let mut open = 0_usize;
    let mut bytes = text.as_bytes().to_vec();
    for token in &source.outline.tokens {
        let bracket = match &text[token.place.clone()] {
            "{" => 1,
            "}" => -1,
            _ => 0,
        };
        if token.place.start < body.start || token.place.start >= body.end {
            continue;
        }
        if token.place.start < from {
            open = open.saturating_add_signed(bracket);
        }
    }
    let end = body.end;
    bytes[from..end].fill(b' ');
    let closing = open.min(end - from);
    bytes[end - closing..end].fill(b'}');
    String::from_utf8_lossy(&bytes).into_owned()
}
