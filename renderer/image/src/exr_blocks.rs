//! Decompresses the blocks of EXR files in parallel, a batch at a time.
//!
//! The `exr` crate's own parallel reader ends the program if the decoder panics.

use super::Problem;
use super::isolation::isolate;
use super::read::check_size;
use exr::block::UncompressedBlock;
use exr::block::chunk::Chunk;
use exr::block::reader::{ChunksReader, Reader};
use exr::meta::MetaData;
use exr::meta::header::Header;
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use std::io::{Read, Seek};

/// The `pedantic` argument of `exr`: also accepts files that break the specification.
pub(super) const PEDANTIC: bool = false;

/// Maximum number of blocks that are decompressed together. Two batches are in memory at a time.
const MAX_BATCH_LEN: usize = 128;

/// Size of a batch, uncompressed, that is exceeded only to give each thread a block.
const BATCH_BYTES: usize = 1 << 25;

/// Maximum size of a batch of several blocks, uncompressed.
const MAX_BATCH_BYTES: usize = 1 << 28;

/// Maximum size of an EXR image relative to its file. Deflate, which compresses best, reaches
/// 1,032; PXR24 first drops 8 of 32 bits; and subsampled channels count in full.
const MAX_COMPRESSION: u64 = 1 << 13;

/// Reads the headers of a file.
pub(super) fn read_meta(file: impl Read) -> Result<MetaData, Problem> {
    isolate("EXR", || MetaData::read_from_buffered(file, PEDANTIC).map_err(problem))
}

/// Reads the headers of a file of `bytes` bytes, and checks that the sizes they state are plausible
/// before anything is allocated.
pub(super) fn open<R: Read + Seek>(file: R, bytes: u64) -> Result<Reader<R>, Problem> {
    let reader = isolate("EXR", || exr::block::read(file, PEDANTIC).map_err(problem))?;
    check_headers(reader.headers(), bytes)?;
    Ok(reader)
}

fn check_headers(headers: &[Header], file_bytes: u64) -> Result<(), Problem> {
    let (mut bytes, mut chunks) = (0u64, 0u64);
    for header in headers {
        let (width, height) = (header.layer_size.x() as u64, header.layer_size.y() as u64);
        check_size("EXR", width, height)?;
        bytes = bytes.saturating_add(width * height * header.channels.bytes_per_pixel as u64);
        chunks = chunks.saturating_add(header.chunk_count as u64);
    }
    // Each chunk has an entry of 8 bytes in the offset table.
    if chunks > file_bytes / 8 || bytes > MAX_COMPRESSION.saturating_mul(file_bytes) {
        return Err(damaged("the file is truncated"));
    }
    Ok(())
}

/// Returns the maximum size of a block, uncompressed. The tiles of a file may be larger than its
/// layer, but their pixels outside it are not stored.
fn max_block_bytes(header: &Header) -> usize {
    let (block, layer) = (header.max_block_pixel_size(), header.layer_size);
    let pixels = block.x().min(layer.x()).saturating_mul(block.y().min(layer.y()));
    pixels.saturating_mul(header.channels.bytes_per_pixel)
}

/// Decompresses blocks, and calls `visit` with each, in the order of the file.
pub(super) fn for_each_block(
    mut chunks: impl ChunksReader,
    mut visit: impl FnMut(&MetaData, UncompressedBlock) -> Result<(), Problem> + Send,
) -> Result<(), Problem> {
    let meta = chunks.meta_data().clone();
    let block_bytes = meta.headers.iter().map(max_block_bytes).max().unwrap_or(1).max(1);
    let batch_len = (BATCH_BYTES / block_bytes)
        .max(rayon::current_num_threads())
        .min(MAX_BATCH_BYTES / block_bytes)
        .clamp(1, MAX_BATCH_LEN);
    let decompress = |chunk| {
        isolate("EXR", || {
            UncompressedBlock::decompress_chunk(chunk, &meta, PEDANTIC).map_err(problem)
        })
    };
    let mut blocks: Vec<Result<UncompressedBlock, Problem>> = Vec::new();
    loop {
        let batch: Vec<Chunk> = isolate("EXR", || {
            chunks.by_ref().take(batch_len).collect::<Result<_, _>>().map_err(problem)
        })?;
        let is_last = batch.is_empty();
        // Visits the blocks of a batch while the next batch is decompressed.
        let visit_all = || blocks.drain(..).try_for_each(|block| visit(&meta, block?));
        let (visited, next) =
            rayon::join(visit_all, || batch.into_par_iter().map(decompress).collect());
        visited?;
        blocks = next;
        if is_last {
            return Ok(());
        }
    }
}

/// Returns the problem behind an error of the `exr` crate. It reports the end of the file as
/// invalid data, not as an I/O error.
pub(super) fn problem(error: exr::error::Error) -> Problem {
    match error {
        exr::error::Error::Io(cause) => Problem::Read(cause),
        other => damaged(other.to_string()),
    }
}

pub(super) fn damaged(message: impl Into<String>) -> Problem {
    Problem::Damaged { format: "EXR", message: message.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use exr::prelude::{
        AnyChannel, AnyChannels, Encoding, FlatSamples, Image, LineOrder, WritableImage,
    };
    use std::io::Cursor;

    /// Chunks of a file. Reading chunk 130 panics.
    struct PanickingChunks<R>(R, u32);

    impl<R: ChunksReader> Iterator for PanickingChunks<R> {
        type Item = exr::error::Result<Chunk>;

        fn next(&mut self) -> Option<Self::Item> {
            self.1 += 1;
            assert!(self.1 != 130, "chunk 130");
            self.0.next()
        }
    }

    impl<R: ChunksReader> ExactSizeIterator for PanickingChunks<R> {}

    impl<R: ChunksReader> ChunksReader for PanickingChunks<R> {
        fn meta_data(&self) -> &MetaData {
            self.0.meta_data()
        }

        fn expected_chunk_count(&self) -> usize {
            self.0.expected_chunk_count()
        }
    }

    fn chunks(data: &[u8]) -> impl ChunksReader {
        open(Cursor::new(data), data.len() as u64).unwrap().all_chunks(PEDANTIC).unwrap()
    }

    /// Encodes an image of 3 pixels a row with `CHANNELS` channels of floats, in tiles of 64 × 64.
    fn encoded<const CHANNELS: usize>(height: usize) -> Vec<u8> {
        let names: [String; CHANNELS] = std::array::from_fn(|i| format!("c{i}"));
        let channel =
            |name: &String| AnyChannel::new(name.as_str(), FlatSamples::F32(vec![0.5; 3 * height]));
        let channels = AnyChannels::sort(names.iter().map(channel).collect());
        let encoding = Encoding { line_order: LineOrder::Increasing, ..Encoding::FAST_LOSSLESS };
        let mut data = Vec::new();
        let image = Image::from_encoded_channels((3, height), encoding, channels);
        image.write().to_buffered(Cursor::new(&mut data)).unwrap();
        data
    }

    #[test]
    fn all_blocks_are_visited_in_order_unless_the_decoder_panics() {
        // More than one batch.
        let data = encoded::<3>(9000);
        assert!(chunks(&data).expected_chunk_count() > MAX_BATCH_LEN);
        let mut rows = 0;
        let count = |_: &MetaData, block: UncompressedBlock| {
            assert_eq!(block.index.pixel_position.y(), rows);
            rows += block.index.pixel_size.y();
            Ok(())
        };
        for_each_block(chunks(&data), count).unwrap();
        assert_eq!(rows, 9000);
        let panicking = PanickingChunks(chunks(&data), 0);
        let error = for_each_block(panicking, |_, _| Ok(())).unwrap_err().to_string();
        assert!(error.contains("its decoder failed: chunk 130"), "{error}");
    }

    /// The crate's own size of a block overflows, which may be an error but no panic.
    #[test]
    fn tiles_may_be_larger_than_their_layer() {
        let mut data = encoded::<8>(5);
        let sides = [64u32, 64].map(u32::to_le_bytes).concat();
        let start = data.windows(8).position(|bytes| bytes == sides).unwrap();
        let side = (1u32 << 30) - 2;
        data[start..start + 8].copy_from_slice(&[side; 2].map(u32::to_le_bytes).concat());
        let reader = chunks(&data);
        assert_eq!(max_block_bytes(&reader.meta_data().headers[0]), 3 * 5 * 8 * 4);
        let mut blocks = 0;
        let result = for_each_block(reader, |_, _| {
            blocks += 1;
            Ok(())
        });
        assert!(result.is_err() || blocks == 1);
    }
}
