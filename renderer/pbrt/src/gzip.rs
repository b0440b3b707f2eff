//! Transparent decompression of gzip files.

use std::borrow::Cow;
use std::io::{self, Read};

/// First bytes of a gzip stream.
const MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Decompresses `data` if it is a gzip stream. Fails if the stream is damaged or truncated.
pub fn decompress(data: &[u8]) -> io::Result<Cow<'_, [u8]>> {
    if !data.starts_with(&MAGIC) {
        return Ok(Cow::Borrowed(data));
    }
    let mut decompressed = Vec::new();
    flate2::read::MultiGzDecoder::new(data).read_to_end(&mut decompressed)?;
    Ok(Cow::Owned(decompressed))
}
