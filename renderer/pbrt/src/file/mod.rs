//! Parser for the [pbrt-v4 scene format](https://pbrt.org/fileformat-v4).
//!
//! [`lexer`] splits text into tokens. [`parse`] turns tokens into [`parse::Statement`]s: directives
//! with arguments and a [`params::ParamSet`]. The parser does not interpret them;
//! [`super::describe`] maintains the graphics state. Names from pbrt-v3 ([`legacy`]) are recognized
//! only to report their replacements.

pub mod legacy;
pub mod lexer;
pub mod params;
pub mod parse;
mod statement;

use crate::gzip::decompress;
use std::borrow::Cow;
use std::path::Path;

/// Reads a file and decompresses it if its content, not its name, says that it is gzip-compressed.
pub fn read_bytes(path: &Path) -> std::io::Result<Vec<u8>> {
    let bytes = std::fs::read(path)?;
    match decompress(&bytes)? {
        Cow::Owned(decompressed) => Ok(decompressed),
        Cow::Borrowed(_) => Ok(bytes),
    }
}

/// Truncates a word to 40 characters for messages.
fn shorten(word: &str) -> String {
    match word.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", &word[..end]),
        None => word.to_string(),
    }
}
