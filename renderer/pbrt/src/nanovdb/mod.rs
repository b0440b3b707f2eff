//! Reads NanoVDB files (Museth 2021, *NanoVDB: A GPU-Friendly and Portable VDB Data Structure*),
//! the sparse grids of pbrt-v4.
//!
//! A file is a sequence of segments: a header, metadata and names of grids, and the grids, each
//! compressed with the codec of the segment. A grid is one block of memory (`tree`). Files that
//! consist of such blocks without headers are read, too. All offsets and counts are checked, so
//! that damaged files are errors.

mod blosc;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
mod tree;

pub use tree::FloatGrid;

use flate2::read::ZlibDecoder;
use std::io::Read;

/// A problem of a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NanoVdbError {
    /// The file begins differently.
    #[error("it is not a NanoVDB file")]
    NotNanoVdb,
    /// An OpenVDB file.
    #[error("it is an OpenVDB file; convert it with `nanovdb_convert`, which is part of OpenVDB")]
    OpenVdb,
    /// A file of a machine with another byte order.
    #[error("its numbers are big-endian; write it on another machine")]
    BigEndian,
    /// An incompatible version.
    #[error("version {0} of the format is not supported, only 32; write it with a newer NanoVDB")]
    Version(u32),
    /// The file is shorter than its headers say.
    #[error("the file is truncated or damaged: {0} is beyond its end")]
    Truncated(&'static str),
    /// A codec that this reader lacks.
    #[error("its codec {0} is not supported; use none, zip or blosc with lz4")]
    Codec(u32),
    /// Compressed data cannot be decompressed.
    #[error("the grid \"{grid}\" is damaged: {problem}")]
    Compression {
        /// Name of the grid.
        grid: String,
        /// The problem.
        problem: String,
    },
    /// Values of another type.
    #[error("the grid \"{grid}\" has values of type {ty}, not floats")]
    Type {
        /// Name of the grid.
        grid: String,
        /// The type.
        ty: &'static str,
    },
    /// Anything but a fog volume.
    #[error("the grid \"{grid}\" is not a fog volume but a {class}")]
    Class {
        /// Name of the grid.
        grid: String,
        /// The class.
        class: &'static str,
    },
    /// A tree with contradictory contents.
    #[error("the grid \"{grid}\" is damaged: {problem}")]
    Tree {
        /// Name of the grid.
        grid: String,
        /// The problem.
        problem: &'static str,
    },
    /// Values that are not finite.
    #[error("{count} values of the grid \"{grid}\" are not finite")]
    NotFinite {
        /// Name of the grid.
        grid: String,
        /// Number of values.
        count: u64,
    },
}

/// First eight bytes of files of old versions, of grids, and of files of newer versions, in this
/// order, except for the last byte: a digit.
const MAGIC: [u8; 7] = *b"NanoVDB";

/// First bytes of OpenVDB files.
const OPENVDB_MAGIC: [u8; 8] = [0x20, 0x42, 0x44, 0x56, 0, 0, 0, 0];

/// The version of the format.
const MAJOR_VERSION: u32 = 32;

const HEADER_SIZE: usize = 16;
const METADATA_SIZE: usize = 176;

/// How grids are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Codec {
    None,
    Zip,
    Blosc,
}

/// A grid in a file.
#[derive(Clone, Debug)]
struct Entry<'a> {
    name: String,
    codec: Codec,
    /// Size after decompression, bytes.
    size: u64,
    data: &'a [u8],
}

/// The grids of a file.
#[derive(Clone, Debug)]
pub struct NanoVdb<'a> {
    entries: Vec<Entry<'a>>,
}

/// Bytes with checked access to little-endian numbers.
#[derive(Clone, Copy, Debug)]
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn slice(self, offset: usize, len: usize) -> Option<&'a [u8]> {
        self.0.get(offset..offset.checked_add(len)?)
    }

    fn array<const N: usize>(self, offset: usize) -> Option<[u8; N]> {
        self.slice(offset, N)?.try_into().ok()
    }

    fn u16(self, offset: usize) -> Option<u16> {
        self.array(offset).map(u16::from_le_bytes)
    }

    fn u32(self, offset: usize) -> Option<u32> {
        self.array(offset).map(u32::from_le_bytes)
    }

    fn u64(self, offset: usize) -> Option<u64> {
        self.array(offset).map(u64::from_le_bytes)
    }

    fn i64(self, offset: usize) -> Option<i64> {
        self.array(offset).map(i64::from_le_bytes)
    }

    fn f32(self, offset: usize) -> Option<f32> {
        self.array(offset).map(f32::from_le_bytes)
    }

    fn f64(self, offset: usize) -> Option<f64> {
        self.array(offset).map(f64::from_le_bytes)
    }
}

/// Returns the text before the first zero byte.
fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

impl<'a> NanoVdb<'a> {
    /// Reads the headers of a file.
    ///
    /// # Errors
    /// If this is not a NanoVDB file of version 32, or if it is truncated.
    pub fn parse(file: &'a [u8]) -> Result<NanoVdb<'a>, NanoVdbError> {
        let bytes = Bytes(file);
        let magic: [u8; 8] = bytes.array(0).ok_or(NanoVdbError::NotNanoVdb)?;
        match magic {
            OPENVDB_MAGIC => return Err(NanoVdbError::OpenVdb),
            _ if magic[1..].iter().rev().eq(&MAGIC) => return Err(NanoVdbError::BigEndian),
            _ if magic[..7] != MAGIC => return Err(NanoVdbError::NotNanoVdb),
            _ => {}
        }
        // Blocks of memory begin with a checksum instead of a version.
        let is_raw = magic[7] == b'1'
            || magic[7] == b'0'
                && bytes.u32(8).map(major) != Some(MAJOR_VERSION)
                && bytes.u32(16).map(major) == Some(MAJOR_VERSION);
        let entries = if is_raw { raw_grids(bytes) } else { segments(bytes) }?;
        Ok(NanoVdb { entries })
    }

    /// Iterates over the names of the grids.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| entry.name.as_str())
    }

    /// Reads the first grid with this name; `None` if there is none.
    ///
    /// # Errors
    /// If the grid is damaged, or not a fog volume of floats.
    pub fn float_grid(&self, name: &str) -> Result<Option<FloatGrid>, NanoVdbError> {
        let Some(entry) = self.entries.iter().find(|entry| entry.name == name) else {
            return Ok(None);
        };
        let decompressed;
        let grid = match entry.codec {
            Codec::None => entry.data,
            Codec::Zip | Codec::Blosc => {
                decompressed = entry.decompress().map_err(|problem| NanoVdbError::Compression {
                    grid: name.to_owned(),
                    problem,
                })?;
                &decompressed
            }
        };
        tree::float_grid(grid, name).map(Some)
    }
}

fn major(version: u32) -> u32 {
    version >> 21
}

/// Reads grids without headers.
fn raw_grids(mut bytes: Bytes<'_>) -> Result<Vec<Entry<'_>>, NanoVdbError> {
    let truncated = || NanoVdbError::Truncated("a grid");
    let mut entries = Vec::new();
    while !bytes.0.is_empty() {
        let size = bytes.u64(tree::GRID_SIZE_OFFSET).ok_or_else(truncated)?;
        let length = usize::try_from(size).map_err(|_| truncated())?;
        let data = bytes.slice(0, length).filter(|data| !data.is_empty()).ok_or_else(truncated)?;
        let name = bytes.slice(tree::NAME_OFFSET, tree::NAME_SIZE).ok_or_else(truncated)?;
        entries.push(Entry { name: text(name), codec: Codec::None, size, data });
        bytes = Bytes(&bytes.0[length..]);
    }
    Ok(entries)
}

/// Reads the headers of segments.
fn segments(bytes: Bytes<'_>) -> Result<Vec<Entry<'_>>, NanoVdbError> {
    let header = || NanoVdbError::Truncated("a header");
    let (mut entries, mut offset) = (Vec::new(), 0);
    while offset < bytes.0.len() {
        if bytes.slice(offset, 7) != Some(&MAGIC) {
            return Err(NanoVdbError::Truncated("a segment"));
        }
        let version = bytes.u32(offset + 8).map(major).ok_or_else(header)?;
        if version != MAJOR_VERSION {
            return Err(NanoVdbError::Version(version));
        }
        let count = bytes.u16(offset + 12).ok_or_else(header)?;
        let codec = match bytes.u16(offset + 14).ok_or_else(header)? {
            0 => Codec::None,
            1 => Codec::Zip,
            2 => Codec::Blosc,
            other => return Err(NanoVdbError::Codec(other.into())),
        };
        offset += HEADER_SIZE;
        // Sizes and names come before all grids.
        let mut grids = Vec::new();
        for _ in 0..count {
            let size = bytes.u64(offset).ok_or_else(header)?;
            let stored = bytes.u64(offset + 8).ok_or_else(header)?;
            let length = bytes.u32(offset + 136).ok_or_else(header)? as usize;
            let name = bytes.slice(offset + METADATA_SIZE, length).ok_or_else(header)?;
            offset += METADATA_SIZE + length;
            grids.push((text(name), size, stored));
        }
        for (name, size, stored) in grids {
            let truncated = || NanoVdbError::Truncated("a grid");
            let stored = usize::try_from(stored).map_err(|_| truncated())?;
            let data = bytes.slice(offset, stored).ok_or_else(truncated)?;
            offset += stored;
            entries.push(Entry { name, codec, size, data });
        }
    }
    Ok(entries)
}

impl Entry<'_> {
    /// Decompresses the grid. Its size is checked, so that memory grows with the data only.
    fn decompress(&self) -> Result<Vec<u8>, String> {
        let wrong_size = |found: usize| format!("it has {found} bytes instead of {}", self.size);
        let mut out = Vec::new();
        match self.codec {
            Codec::None => out.extend_from_slice(self.data),
            Codec::Zip => {
                let data = self.data.get(8..).ok_or("its size is missing")?;
                let decoder = ZlibDecoder::new(data);
                let limit = self.size.saturating_add(1);
                decoder.take(limit).read_to_end(&mut out).map_err(|e| e.to_string())?;
            }
            Codec::Blosc => {
                let mut data = Bytes(self.data);
                while (out.len() as u64) < self.size {
                    let size = data.u64(0).and_then(|size| usize::try_from(size).ok());
                    let chunk = size.and_then(|size| data.slice(8, size));
                    let chunk = chunk.ok_or("a chunk is missing")?;
                    blosc::decompress(chunk, &mut out)?;
                    data = Bytes(&data.0[8 + chunk.len()..]);
                }
            }
        }
        if out.len() as u64 == self.size { Ok(out) } else { Err(wrong_size(out.len())) }
    }
}
