//! Parser for the pbrt-v4 text format, into data that mirrors the format.
//!
//! [`lexer`] splits text into tokens. [`parse`] turns tokens into [`parse::Statement`]s, one
//! directive each, whose parameters are a [`params::ParamSet`]. Nothing is interpreted here;
//! [`super::describe`] maintains the graphics state. Names of pbrt-v3 ([`legacy`]) are recognized
//! only to report their replacements. The format is described at
//! <https://pbrt.org/fileformat-v4>.

pub mod legacy;
pub mod lexer;
pub mod params;
pub mod parse;
mod statement;

use std::io::Read;
use std::path::Path;

/// Reads a file and decompresses it if its content is a gzip stream, whatever its name.
///
/// *Errors*: the file cannot be read, or the stream is damaged or truncated.
pub fn read_bytes(path: &Path) -> std::io::Result<Vec<u8>> {
    let bytes = std::fs::read(path)?;
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return Ok(bytes);
    }
    let mut text = Vec::new();
    flate2::read::MultiGzDecoder::new(bytes.as_slice()).read_to_end(&mut text)?;
    Ok(text)
}

/// At most 40 characters of a word, for messages.
fn shorten(word: &str) -> String {
    match word.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", &word[..end]),
        None => word.to_string(),
    }
}
