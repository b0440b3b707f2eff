//! Decompresses chunks of Blosc 1, of which NanoVDB files consist.
//!
//! A chunk has a header of 16 bytes, the offsets of its blocks, and the blocks. A block is one or
//! more streams, each compressed on its own; all but the last block of a chunk have one stream for
//! each byte of a value, if the flags do not say otherwise. The bytes of a block may be shuffled:
//! first all lowest bytes of the values, then the next ones. This follows the description of the
//! format in c-blosc (README_CHUNK_FORMAT.rst).

use super::Bytes;
use flate2::read::ZlibDecoder;
use std::io::Read;

const HEADER_SIZE: usize = 16;

/// Flags of a chunk.
const SHUFFLED: u8 = 1;
const STORED: u8 = 2;
const BIT_SHUFFLED: u8 = 4;
const NOT_SPLIT: u8 = 16;

/// Blocks with fewer values, or with larger ones, are not split into streams.
const MIN_SPLIT_VALUES: usize = 128;
const MAX_SPLITS: usize = 16;

/// Most bytes that a byte of LZ4 or zlib can expand to.
const MAX_EXPANSION: usize = 1040;

/// Decompresses a chunk, and appends the result to `out`.
pub(super) fn decompress(chunk: &[u8], out: &mut Vec<u8>) -> Result<(), String> {
    let bytes = Bytes(chunk);
    let header: [u8; HEADER_SIZE] = bytes.array(0).ok_or("a chunk has no header")?;
    let (flags, value_size) = (header[2], usize::from(header[3]));
    let size = |offset| bytes.u32(offset).map(|size| size as usize).unwrap_or_default();
    let (length, block_size, compressed) = (size(4), size(8), size(12));
    if compressed > chunk.len() || length > MAX_EXPANSION.saturating_mul(chunk.len()) {
        return Err("the sizes of a chunk are wrong".into());
    }
    if flags & STORED != 0 {
        let data = bytes.slice(HEADER_SIZE, length).ok_or("a chunk is too short")?;
        out.extend_from_slice(data);
        return Ok(());
    }
    if flags & BIT_SHUFFLED != 0 {
        return Err("its bits are shuffled, which is not supported".into());
    }
    if length == 0 || value_size == 0 || block_size == 0 {
        return Err("the sizes of a chunk are wrong".into());
    }
    for (index, start) in (0..length).step_by(block_size).enumerate() {
        let size = block_size.min(length - start);
        let offset = bytes.u32(HEADER_SIZE + 4 * index).ok_or("a chunk is too short")?;
        let is_last = size < block_size;
        let is_split = flags & NOT_SPLIT == 0
            && !is_last
            && value_size <= MAX_SPLITS
            && size / value_size >= MIN_SPLIT_VALUES;
        let streams = if is_split { value_size } else { 1 };
        let block = read_block(bytes, offset as usize, size / streams, streams, flags >> 5)?;
        if block.len() != size {
            return Err("a block has the wrong size".into());
        }
        if flags & SHUFFLED != 0 && value_size > 1 {
            unshuffle(&block, value_size, out);
        } else {
            out.extend_from_slice(&block);
        }
    }
    Ok(())
}

/// Decompresses the streams of a block, of `size` bytes each.
fn read_block(
    bytes: Bytes<'_>,
    mut offset: usize,
    size: usize,
    streams: usize,
    codec: u8,
) -> Result<Vec<u8>, String> {
    let mut block = Vec::new();
    for _ in 0..streams {
        let compressed = bytes.u32(offset).ok_or("a block is beyond the end")? as usize;
        let data = bytes.slice(offset + 4, compressed).ok_or("a block is beyond the end")?;
        offset += 4 + compressed;
        if compressed == size {
            block.extend_from_slice(data);
            continue;
        }
        if size > MAX_EXPANSION.saturating_mul(compressed) {
            return Err("the size of a block is wrong".into());
        }
        match codec {
            1 => block.extend(lz4_flex::block::decompress(data, size).map_err(|e| e.to_string())?),
            3 => {
                let decoder = ZlibDecoder::new(data);
                let limit = size as u64 + 1;
                decoder.take(limit).read_to_end(&mut block).map_err(|e| e.to_string())?;
            }
            other => {
                return Err(format!("codec {other} of Blosc is not supported, only LZ4 and zlib"));
            }
        }
    }
    Ok(block)
}

/// Restores the order of bytes.
fn unshuffle(block: &[u8], value_size: usize, out: &mut Vec<u8>) {
    let count = block.len() / value_size;
    out.reserve(block.len());
    for i in 0..count {
        out.extend((0..value_size).map(|byte| block[byte * count + i]));
    }
    // What is left of an incomplete value is not shuffled.
    out.extend_from_slice(&block[count * value_size..]);
}
