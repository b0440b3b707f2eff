//! PLY meshes: positions, normals, texture coordinates, tangents, attributes of vertices and faces
//! from the Stanford polygon file format.
//!
//! Format: G. Turk, *The PLY Polygon File Format*, 1994. The reader checks the header against the
//! length of the file before it allocates anything. It then reads each element in one pass:
//! fixed-size records by strided loops, everything else (ASCII, list properties, unusual types)
//! value by value. Property names are those of pbrt-v4 (`util/mesh.cpp`), with those of tangents and
//! attributes (`attributes.rs`), and quads become bilinear patches, as in pbrt-v4. pbrt-v4 drops
//! faces of more than four vertices; this reader splits them into triangle fans.

mod attributes;
mod body;
mod faces;
mod header;
#[cfg(test)]
mod tests;
mod vertices;

use crate::gzip::decompress;
use body::{Body, skip};
use faces::{check_indices, read_faces};
use glam::Vec4;
use header::{check_sizes, parse_header};
use lightbound::geometry::AttributeValues;
use lightbound_math::{Vec2, Vec3};
use std::fmt;
use std::path::{Path, PathBuf};
use vertices::read_vertices;

/// The mesh of a PLY file. All indices are below `positions.len()`. Coordinates may be infinite or
/// NaN.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlyMesh {
    /// Vertex positions.
    pub positions: Vec<Vec3>,
    /// Vertex normals, not normalized; one per position, or empty.
    pub normals: Vec<Vec3>,
    /// Vertex texture coordinates; one per position, or empty.
    pub uvs: Vec<Vec2>,
    /// Vertex tangents, not normalized, with the sign of the bitangent; one per position, or empty.
    pub tangents: Vec<Vec4>,
    /// Attributes of vertices that were asked for and that the file has: name, and a value for each
    /// position.
    pub attributes: Vec<(String, AttributeValues)>,
    /// Triangles, and polygons of five or more vertices split into fans around their first vertex.
    pub triangles: Vec<[u32; 3]>,
    /// Quadrilaterals in the vertex order of pbrt's `bilinearmesh`: a face `a b c d` is
    /// `[a, b, d, c]`.
    pub quads: Vec<[u32; 4]>,
    /// Number of ignored faces with fewer than three vertices.
    pub ignored_faces: u64,
}

/// An error from reading a PLY file.
#[derive(Debug, thiserror::Error)]
#[error("{}{position}: {kind}", path.display())]
pub struct PlyError {
    /// The file.
    pub path: PathBuf,
    /// Position in the file.
    pub position: FilePosition,
    /// The problem and its remedy.
    pub kind: PlyErrorKind,
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

/// A problem with a PLY file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlyErrorKind {
    /// An I/O error, or a damaged gzip stream.
    #[error("cannot be read ({0}); check that the file exists, is readable and is not damaged")]
    Io(#[from] std::io::Error),
    /// The first line is not `ply`.
    #[error("is not a PLY file: the first line must be `ply`; export the mesh as PLY")]
    NotPly,
    /// An unknown header line.
    #[error(
        "unknown header line `{0}`; expected format, element, property, comment, obj_info or end_header"
    )]
    UnknownHeaderLine(String),
    /// The header lacks a required line.
    #[error("the header lacks `{0}`: the file is truncated or damaged; export it again")]
    MissingHeaderLine(&'static str),
    /// The file lacks data that every mesh needs.
    #[error("contains no {0}; a mesh needs vertices with x, y, z and faces with vertex_indices")]
    Missing(&'static str),
    /// The header declares more data than the file contains.
    #[error(
        "{content} need at least {expected} bytes, but only {remaining} remain: the file is truncated or damaged; export it again"
    )]
    Truncated {
        /// Description of the truncated data.
        content: String,
        /// Minimum size of the data in bytes.
        expected: u128,
        /// Number of bytes that remain in the file.
        remaining: usize,
    },
    /// A token in an ASCII file that is not a number.
    #[error("`{0}` is not a number")]
    NotANumber(String),
    /// An invalid list length.
    #[error("a face or list cannot have {0} items: the file is damaged; export it again")]
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
    /// A colour or an opacity that is an integer out of range.
    #[error(
        "vertex {vertex} has the value {value} for \"{attribute}\"; integer values must be between 0 and {max}; export colours as uchar from 0 to 255, or as float from 0 to 1"
    )]
    ColourCode {
        /// Name of the attribute.
        attribute: String,
        /// Index of the vertex, from 0.
        vertex: usize,
        /// The integer.
        value: f32,
        /// The largest one.
        max: f32,
    },
    /// More vertices than signed 32-bit indices can address.
    #[error("has {0} vertices, more than 2³¹ − 1; split the mesh")]
    TooLarge(u64),
}

/// Reads the file at `path`, plain or gzip-compressed (detected by content), with the attributes of
/// these names.
///
/// # Errors
/// If the file cannot be read or is not a valid mesh.
pub fn read(path: &Path, attributes: &[String]) -> Result<PlyMesh, PlyError> {
    read_with(path, attributes, |path| std::fs::read(path))
}

/// [`read`] with a custom function for reading the file.
pub fn read_with(
    path: &Path,
    attributes: &[String],
    read: impl FnOnce(&Path) -> std::io::Result<Vec<u8>>,
) -> Result<PlyMesh, PlyError> {
    let fail =
        |e| PlyError { path: path.into(), position: FilePosition::File, kind: PlyErrorKind::Io(e) };
    parse(&read(path).map_err(fail)?, path, attributes)
}

/// Parses the content of a file, with the attributes of these names; `path` appears in messages
/// only.
///
/// # Errors
/// If the content is not a valid mesh.
pub fn parse(content: &[u8], path: &Path, attributes: &[String]) -> Result<PlyMesh, PlyError> {
    let data = decompress(content).map_err(|e| (FilePosition::File, e.into()));
    data.and_then(|data| parse_decompressed(&data, attributes))
        .map_err(|(position, kind)| PlyError { path: path.into(), position, kind })
}

/// A problem and its position.
type Failure = (FilePosition, PlyErrorKind);

fn parse_decompressed(data: &[u8], attributes: &[String]) -> Result<PlyMesh, Failure> {
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
                read_vertices(&mut body, element, attributes, &mut mesh)
            }
            "face" if !faces_seen => {
                faces_seen = true;
                read_faces(&mut body, element, &mut mesh)
            }
            _ => skip(&mut body, element),
        }
        .map_err(|kind| (body.position(), kind))?;
        if vertices_seen && faces_seen {
            break;
        }
    }
    let missing = |data| Err((FilePosition::File, PlyErrorKind::Missing(data)));
    if mesh.positions.is_empty() {
        return missing("vertices");
    }
    if mesh.triangles.is_empty() && mesh.quads.is_empty() {
        return missing("faces of three or more vertices");
    }
    check_indices(&mesh).map_err(|p| (FilePosition::File, p))?;
    mesh.triangles.shrink_to_fit();
    mesh.quads.shrink_to_fit();
    Ok(mesh)
}
