//! Decompresses the blocks of EXR files in parallel, a batch at a time.
//!
//! The crate's own parallel reader ends the program if the decoder panics.

use super::Problem;
use super::isolation::isolate;
use super::read::check_size;
use exr::block::UncompressedBlock;
use exr::block::chunk::Chunk;
use exr::block::reader::{ChunksReader, Reader};
use exr::meta::MetaData;
use exr::meta::header::Header;
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use std::io::{ErrorKind, Read, Seek};

/// Argument of the crate's functions: files that can be read need not follow all rules.
pub(super) const PEDANTIC: bool = false;

/// Maximum number of blocks that are decompressed together. Two batches are in memory at a time.
const MAX_BATCH_LEN: usize = 128;

/// Maximum size of a batch, uncompressed, if it has a block for each thread.
const BATCH_BYTES: usize = 1 << 25;

/// Maximum size of an EXR image relative to its file. Deflate, which compresses best, reaches
/// 1,032; PXR24 first drops 8 of 32 bits; and subsampled channels count in full.
const MAX_COMPRESSION: u64 = 1 << 13;

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

/// Decompresses blocks, and calls `visit` with each, in the order of the file.
pub(super) fn for_each_block(
    mut chunks: impl ChunksReader,
    mut visit: impl FnMut(&MetaData, UncompressedBlock) -> Result<(), Problem> + Send,
) -> Result<(), Problem> {
    let meta = chunks.meta_data().clone();
    let block_bytes = meta.headers.iter().map(Header::max_block_byte_size).max();
    let batch_len = (BATCH_BYTES / block_bytes.unwrap_or(1).max(1))
        .clamp(rayon::current_num_threads().min(MAX_BATCH_LEN), MAX_BATCH_LEN);
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

/// Returns the problem behind an error of the crate.
pub(super) fn problem(error: exr::error::Error) -> Problem {
    match error {
        exr::error::Error::Io(cause) if cause.kind() != ErrorKind::UnexpectedEof => {
            Problem::Read(cause)
        }
        other => damaged(other.to_string()),
    }
}

pub(super) fn damaged(message: impl Into<String>) -> Problem {
    Problem::Damaged { format: "EXR", message: message.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use exr::prelude::{SpecificChannels, WritableImage};
    use std::io::Cursor;

    /// Chunks of a file, of which the second makes the decoder panic.
    struct PanickingChunks<R>(R, u32);

    impl<R: ChunksReader> Iterator for PanickingChunks<R> {
        type Item = exr::error::Result<Chunk>;

        fn next(&mut self) -> Option<Self::Item> {
            self.1 += 1;
            assert!(self.1 != 2, "chunk 2");
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

    #[test]
    fn all_blocks_are_visited_unless_the_decoder_panics() {
        let channels = SpecificChannels::rgb(|_| (0.5f32, 1.0f32, 2.0f32));
        let mut data = Vec::new();
        let image = exr::prelude::Image::from_channels((3, 300), channels);
        image.write().to_buffered(Cursor::new(&mut data)).unwrap();
        let mut rows = 0;
        let count = |_: &MetaData, block: UncompressedBlock| {
            rows += block.index.pixel_size.y();
            Ok(())
        };
        for_each_block(chunks(&data), count).unwrap();
        assert_eq!(rows, 300);
        let panicking = PanickingChunks(chunks(&data), 0);
        let error = for_each_block(panicking, |_, _| Ok(())).unwrap_err().to_string();
        assert!(error.contains("its decoder failed: chunk 2"), "{error}");
    }
}
