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
    let read = flate2::read::MultiGzDecoder::new(data).read_to_end(&mut decompressed);
    read.map_err(|cause| {
        let problem = match cause.kind() {
            io::ErrorKind::UnexpectedEof => "is truncated; copy or download it again".into(),
            _ => format!("is damaged: {cause}; copy or download it again"),
        };
        io::Error::new(cause.kind(), format!("its gzip stream {problem}"))
    })?;
    Ok(Cow::Owned(decompressed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn damage_and_truncation_are_told_apart() {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(&b"WorldBegin ".repeat(100)).unwrap();
        let packed = encoder.finish().unwrap();
        assert_eq!(decompress(&packed).unwrap().len(), 1100);
        for length in [2, 9, 10, 20, packed.len() - 1] {
            let error = decompress(&packed[..length]).unwrap_err().to_string();
            assert!(error.contains("is truncated; copy"), "{length}: {error}");
        }
        let mut damaged = packed.clone();
        let checksum = packed.len() - 6;
        damaged[checksum] ^= 1;
        assert!(decompress(&damaged).unwrap_err().to_string().contains("is damaged"));
    }
}
