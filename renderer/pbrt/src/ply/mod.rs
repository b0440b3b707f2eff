//! PLY meshes: positions, normals, texture coordinates and faces from the Stanford polygon file
//! format.
//!
//! The file is read into memory, and its header is checked against its length before anything is
//! allocated. Then each element is read in one pass: fixed-size records by strided loops,
//! everything else (ASCII, list properties, unusual types) value by value. Format: G. Turk, *The
//! PLY Polygon File Format*, 1994. As in pbrt-v4 (`util/mesh.cpp`), the same property names are
//! recognized and quads are bilinear patches. Unlike pbrt, which drops faces of more than four
//! vertices, this reader splits them into triangle fans.

mod body;
mod faces;
mod header;
#[cfg(test)]
mod tests;
mod vertices;

use body::{Body, skip};
use faces::{check_indices, read_faces};
use header::{check_sizes, parse_header};
use lightbound_math::{Vec2, Vec3};
use std::borrow::Cow;
use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};
use vertices::read_vertices;

/// The mesh of a PLY file. All indices are below `positions.len()`; values may be any float,
/// including NaN.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlyMesh {
    /// Vertex positions.
    pub positions: Vec<Vec3>,
    /// Vertex normals as in the file, not normalized; one per position, or empty.
    pub normals: Vec<Vec3>,
    /// Vertex texture coordinates; one per position, or empty.
    pub uvs: Vec<Vec2>,
    /// Triangles, and polygons of five or more vertices split into fans around their first vertex.
    pub triangles: Vec<[u32; 3]>,
    /// Quadrilaterals in the vertex order of pbrt's `bilinearmesh`: a face `a b c d` is
    /// `[a, b, d, c]`.
    pub quads: Vec<[u32; 4]>,
    /// Number of ignored faces with fewer than three vertices.
    pub ignored_faces: u64,
}

/// Why a file cannot be used: the file, the position in it, the problem and its remedy.
#[derive(Debug, thiserror::Error)]
#[error("{}{position}: {problem}", path.display())]
pub struct PlyError {
    /// The file.
    pub path: PathBuf,
    /// Position in the file.
    pub position: FilePosition,
    /// What is wrong.
    pub problem: PlyProblem,
}

/// A position in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilePosition {
    /// The file as a whole.
    File,
    /// A line, counted from 1.
    Line(usize),
    /// A byte offset, in the decompressed data if the file is compressed.
    Byte(usize),
}

impl fmt::Display for FilePosition {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            FilePosition::File => Ok(()),
            FilePosition::Line(n) => write!(f, ":{n}"),
            FilePosition::Byte(n) => write!(f, ", byte {n}"),
        }
    }
}

/// What is wrong with a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlyProblem {
    /// An error of the operating system or the decompressor.
    #[error("cannot be read ({0}); check that the file exists, is readable and not damaged")]
    Io(#[from] std::io::Error),
    /// The first line is not `ply`.
    #[error("is not a PLY file: the first line must be `ply`; export the mesh as PLY")]
    NotPly,
    /// An unknown header line.
    #[error(
        "unknown header line `{0}`; expected format, element, property, comment, obj_info or end_header"
    )]
    HeaderLine(String),
    /// The header lacks a required line.
    #[error("the header lacks `{0}`; the file is truncated or damaged, export it again")]
    HeaderLacks(&'static str),
    /// The file lacks something that every mesh needs.
    #[error("holds no {0}; a mesh needs vertices with x, y, z and faces with vertex_indices")]
    Lacks(&'static str),
    /// The header declares more data than the file contains.
    #[error(
        "{what} need at least {expected} bytes but {found} are left; the file is truncated or damaged, export it again"
    )]
    Truncated {
        /// The kind of data that is truncated.
        what: String,
        /// Minimum number of bytes declared.
        expected: u128,
        /// Bytes found.
        found: usize,
    },
    /// A word of an ASCII file that is not a number.
    #[error("`{0}` is not a number")]
    NotANumber(String),
    /// An invalid list length.
    #[error("face or list of {0} items; the file is damaged, export it again")]
    ListCount(f64),
    /// A vertex index out of range.
    #[error(
        "a face refers to vertex {index}, but there are {vertices} vertices, counted from 0; export the mesh again"
    )]
    Index {
        /// The index.
        index: f64,
        /// Number of vertices.
        vertices: usize,
    },
    /// More vertices than 32-bit indices can address.
    #[error("holds {0} vertices, more than 2³¹ − 1; split the mesh")]
    TooLarge(u64),
}

/// Reads the file at `path`, plain or gzip-compressed (decided by the content, not the name).
pub fn read(path: &Path) -> Result<PlyMesh, PlyError> {
    read_by(path, |path| std::fs::read(path))
}

/// [`read`] with a custom function that reads the file.
pub fn read_by(
    path: &Path,
    read: impl FnOnce(&Path) -> std::io::Result<Vec<u8>>,
) -> Result<PlyMesh, PlyError> {
    let fail = |e| PlyError {
        path: path.into(),
        position: FilePosition::File,
        problem: PlyProblem::Io(e),
    };
    parse(&read(path).map_err(fail)?, path)
}

/// Parses a file's content; `path` is used in messages only.
pub fn parse(content: &[u8], path: &Path) -> Result<PlyMesh, PlyError> {
    let data = decompress(content).map_err(|e| (FilePosition::File, e.into()));
    data.and_then(|data| parse_decompressed(&data)).map_err(|(position, problem)| PlyError {
        path: path.into(),
        position,
        problem,
    })
}

type Failure = (FilePosition, PlyProblem);

fn decompress(content: &[u8]) -> std::io::Result<Cow<'_, [u8]>> {
    if !content.starts_with(&[0x1f, 0x8b]) {
        return Ok(Cow::Borrowed(content));
    }
    let mut data = Vec::new();
    flate2::read::MultiGzDecoder::new(content).read_to_end(&mut data)?;
    Ok(Cow::Owned(data))
}

fn parse_decompressed(data: &[u8]) -> Result<PlyMesh, Failure> {
    let (format, elements, start) = parse_header(data)?;
    check_sizes(format, &elements, data.len() - start)
        .map_err(|p| (FilePosition::Byte(start), p))?;
    let mut body = Body { data, pos: start, format };
    let mut mesh = PlyMesh::default();
    let (mut vertices_seen, mut faces_seen) = (false, false);
    for element in &elements {
        match element.name.as_str() {
            "vertex" if !vertices_seen => {
                vertices_seen = true;
                read_vertices(&mut body, element, &mut mesh)
            }
            "face" if !faces_seen => {
                faces_seen = true;
                read_faces(&mut body, element, &mut mesh)
            }
            _ => skip(&mut body, element),
        }
        .map_err(|problem| (body.position(), problem))?;
        if vertices_seen && faces_seen {
            break;
        }
    }
    let lacks = |what| Err((FilePosition::File, PlyProblem::Lacks(what)));
    if mesh.positions.is_empty() {
        return lacks("vertices");
    }
    if mesh.triangles.is_empty() && mesh.quads.is_empty() {
        return lacks("faces of three or more vertices");
    }
    check_indices(&mesh).map_err(|p| (FilePosition::File, p))?;
    mesh.triangles.shrink_to_fit();
    mesh.quads.shrink_to_fit();
    Ok(mesh)
}
