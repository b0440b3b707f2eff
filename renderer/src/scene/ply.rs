//! PLY meshes: positions, normals, texture coordinates and faces out of the Stanford polygon file
//! format.
//!
//! The whole file is in memory, the header is checked against its length before anything is
//! allocated, and then each element is read in one pass: records of fixed size by plain strided
//! loops, everything else (ascii, list properties, odd types) value by value. Format: G. Turk, *The
//! PLY Polygon File Format*, 1994; which property names count, and that quads are bilinear patches,
//! follows pbrt-v4 (`util/mesh.cpp`). Departure: pbrt drops faces of more than four corners, here
//! they become fans.

mod header;

use crate::math::{Vec2, Vec3};
use header::{Element, Format, Kind, Property, Scalar, check_sizes, parse_header};
use std::borrow::Cow;
use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};

/// What a PLY file holds for a renderer. All indices are below `positions.len()`; values may be any
/// float, NaN included.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlyMesh {
    /// Vertex positions.
    pub positions: Vec<Vec3>,
    /// Vertex normals as in the file, not normalised; one per position, or none at all.
    pub normals: Vec<Vec3>,
    /// Vertex texture coordinates; one per position, or none at all.
    pub uvs: Vec<Vec2>,
    /// Triangles, and polygons of five corners or more cut into fans around their first corner.
    pub triangles: Vec<[u32; 3]>,
    /// Quadrilaterals in the corner order of pbrt's `bilinearmesh`: a face `a b c d` is
    /// `[a, b, d, c]`.
    pub quads: Vec<[u32; 4]>,
    /// Number of faces that were left out because they have fewer than three corners.
    pub ignored_faces: u64,
}

/// Why a file could not be used: which file, where in it, what is wrong and what helps.
#[derive(Debug, thiserror::Error)]
#[error("{}{place}: {problem}", path.display())]
pub struct PlyError {
    /// The file.
    pub path: PathBuf,
    /// Where in the file.
    pub place: Place,
    /// What is wrong.
    pub problem: Problem,
}

/// A place in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The file as a whole.
    File,
    /// A line, counted from 1.
    Line(usize),
    /// An offset in bytes, of the unpacked data where the file is compressed.
    Byte(usize),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Place::File => Ok(()),
            Place::Line(n) => write!(f, ":{n}"),
            Place::Byte(n) => write!(f, ", byte {n}"),
        }
    }
}

/// What is wrong with a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The operating system or the decompressor refused.
    #[error("cannot be read ({0}); check that the file exists, is readable and not damaged")]
    Io(#[from] std::io::Error),
    /// The first line is not `ply`.
    #[error("is not a PLY file: the first line must be `ply`; export the mesh as PLY")]
    NotPly,
    /// A header line that means nothing.
    #[error(
        "unknown header line `{0}`; expected format, element, property, comment, obj_info or end_header"
    )]
    HeaderLine(String),
    /// The header lacks a line it must have.
    #[error("the header lacks `{0}`; the file is truncated or damaged, export it again")]
    HeaderLacks(&'static str),
    /// The file lacks something that a mesh cannot do without.
    #[error("holds no {0}; a mesh needs vertices with x, y, z and faces with vertex_indices")]
    Lacks(&'static str),
    /// More data announced than there is.
    #[error(
        "{what} need at least {expected} bytes but {found} are left; the file is truncated or damaged, export it again"
    )]
    Truncated {
        /// Of what there is too little.
        what: String,
        /// Bytes announced, at least.
        expected: u128,
        /// Bytes found.
        found: usize,
    },
    /// A word of an ascii file that is not a number.
    #[error("`{0}` is not a number")]
    NotANumber(String),
    /// A count of list items that cannot be.
    #[error("face or list of {0} items; the file is damaged, export it again")]
    ListCount(f64),
    /// A face that refers to no vertex.
    #[error(
        "a face refers to vertex {index}, but there are {vertices} vertices, counted from 0; export the mesh again"
    )]
    Index {
        /// What it refers to.
        index: f64,
        /// Number of vertices.
        vertices: usize,
    },
    /// More vertices than indices can tell apart.
    #[error("holds {0} vertices, more than 2³¹ − 1; split the mesh")]
    TooLarge(u64),
}

/// Reads the file at `path`, gzip'ed or not (the content decides, not the name).
pub fn read(path: &Path) -> Result<PlyMesh, PlyError> {
    read_by(path, |path| std::fs::read(path))
}

/// [`read`] with another way to the file's content.
pub fn read_by(
    path: &Path,
    read: impl FnOnce(&Path) -> std::io::Result<Vec<u8>>,
) -> Result<PlyMesh, PlyError> {
    let fail = |e| PlyError { path: path.into(), place: Place::File, problem: Problem::Io(e) };
    parse(&read(path).map_err(fail)?, path)
}

/// Reads a file's content; `path` only serves messages.
pub fn parse(content: &[u8], path: &Path) -> Result<PlyMesh, PlyError> {
    let data = unpack(content).map_err(|e| (Place::File, e.into()));
    data.and_then(|data| parse_unpacked(&data)).map_err(|(place, problem)| PlyError {
        path: path.into(),
        place,
        problem,
    })
}

type Failure = (Place, Problem);

fn unpack(content: &[u8]) -> std::io::Result<Cow<'_, [u8]>> {
    if !content.starts_with(&[0x1f, 0x8b]) {
        return Ok(Cow::Borrowed(content));
    }
    let mut data = Vec::new();
    flate2::read::MultiGzDecoder::new(content).read_to_end(&mut data)?;
    Ok(Cow::Owned(data))
}

fn parse_unpacked(data: &[u8]) -> Result<PlyMesh, Failure> {
    let (format, elements, start) = parse_header(data)?;
    check_sizes(format, &elements, data.len() - start).map_err(|p| (Place::Byte(start), p))?;
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
        .map_err(|problem| (body.place(), problem))?;
        if vertices_seen && faces_seen {
            break;
        }
    }
    let lacks = |what| Err((Place::File, Problem::Lacks(what)));
    if mesh.positions.is_empty() {
        return lacks("vertices");
    }
    if mesh.triangles.is_empty() && mesh.quads.is_empty() {
        return lacks("faces of three corners or more");
    }
    check_indices(&mesh).map_err(|p| (Place::File, p))?;
    mesh.triangles.shrink_to_fit();
    mesh.quads.shrink_to_fit();
    Ok(mesh)
}

/// The data after the header, and how far it is read.
struct Body<'a> {
    data: &'a [u8],
    pos: usize,
    format: Format,
}

impl<'a> Body<'a> {
    fn place(&self) -> Place {
        match self.format {
            Format::Ascii => {
                Place::Line(1 + self.data[..self.pos].iter().filter(|&&b| b == b'\n').count())
            }
            _ => Place::Byte(self.pos),
        }
    }

    /// The next `n` bytes of a binary file.
    fn take(&mut self, n: usize, what: &str) -> Result<&'a [u8], Problem> {
        let rest = &self.data[self.pos..];
        let bytes = rest.get(..n).ok_or_else(|| truncated(what, n, rest.len()))?;
        self.pos += n;
        Ok(bytes)
    }

    /// The next value of any format.
    fn scalar(&mut self, kind: Scalar) -> Result<f64, Problem> {
        if self.format != Format::Ascii {
            return Ok(kind.get(self.take(kind.size(), "values")?, self.format));
        }
        let rest = &self.data[self.pos..];
        let start = rest
            .iter()
            .position(|b| !b.is_ascii_whitespace())
            .ok_or_else(|| truncated("values", 1, 0))?;
        let length =
            rest[start..].iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len() - start);
        let text = &rest[start..start + length];
        self.pos += start;
        let value = std::str::from_utf8(text).ok().and_then(|t| t.parse().ok());
        let value = value.ok_or_else(|| {
            Problem::NotANumber(String::from_utf8_lossy(text).chars().take(40).collect())
        })?;
        self.pos += length;
        Ok(value)
    }

    /// The number of items of a list, which the rest of the file can hold.
    fn list_count(&mut self, count: Scalar, item: Scalar) -> Result<usize, Problem> {
        let n = self.scalar(count)?;
        if !(n >= 0.0 && n.fract() == 0.0) {
            return Err(Problem::ListCount(n));
        }
        let least = if self.format == Format::Ascii { 2 } else { item.size() };
        let found = self.data.len() - self.pos;
        // An ascii list starts after a separator, so each item takes two bytes even at the end of
        // the file.
        if n * least as f64 > found as f64 {
            return Err(truncated("list items", n as usize * least, found));
        }
        Ok(n as usize)
    }
}

fn truncated(what: &str, expected: usize, found: usize) -> Problem {
    Problem::Truncated { what: what.into(), expected: expected as u128, found }
}

/// Passes over an element without looking at its values more than needed.
fn skip(body: &mut Body, element: &Element) -> Result<(), Problem> {
    match element.layout() {
        // `check_sizes` knows that the product is below the file's length.
        Some((stride, _)) if body.format != Format::Ascii => {
            body.take(element.count as usize * stride, &element.name)?;
        }
        _ => {
            for _ in 0..if element.properties.is_empty() { 0 } else { element.count } {
                for property in &element.properties {
                    skip_property(body, property.kind)?;
                }
            }
        }
    }
    Ok(())
}

fn skip_property(body: &mut Body, kind: Kind) -> Result<(), Problem> {
    match kind {
        Kind::Scalar(s) => body.scalar(s).map(|_| ()),
        Kind::List { count, item } => {
            let n = body.list_count(count, item)?;
            if body.format != Format::Ascii {
                return body.take(n * item.size(), "list items").map(|_| ());
            }
            (0..n).try_for_each(|_| body.scalar(item).map(|_| ()))
        }
    }
}

/// Pairs of names for texture coordinates, in pbrt's order of preference.
const UV_NAMES: [[&str; 2]; 4] =
    [["u", "v"], ["s", "t"], ["texture_u", "texture_v"], ["texture_s", "texture_t"]];

fn read_vertices(body: &mut Body, element: &Element, mesh: &mut PlyMesh) -> Result<(), Problem> {
    let find3 = |[x, y, z]: [&str; 3]| Some([element.find(x)?, element.find(y)?, element.find(z)?]);
    let p = find3(["x", "y", "z"]).ok_or(Problem::Lacks("vertex positions"))?;
    let n = find3(["nx", "ny", "nz"]);
    let uv = UV_NAMES.iter().find_map(|[u, v]| Some([element.find(u)?, element.find(v)?]));
    let count = element.count as usize;
    if let (Some((stride, fields)), true) = (element.layout(), body.format != Format::Ascii) {
        let records = body.take(count * stride, "vertices")?;
        let format = body.format;
        mesh.positions =
            column(records, stride, p.map(|i| fields[i]), format).map(Vec3::from).collect();
        if let Some(n) = n {
            mesh.normals =
                column(records, stride, n.map(|i| fields[i]), format).map(Vec3::from).collect();
        }
        if let Some(uv) = uv {
            mesh.uvs =
                column(records, stride, uv.map(|i| fields[i]), format).map(Vec2::from).collect();
        }
        return Ok(());
    }
    let mut values = vec![0f32; element.properties.len()];
    for _ in 0..count {
        for (property, value) in element.properties.iter().zip(&mut values) {
            match property.kind {
                Kind::Scalar(s) => *value = body.scalar(s)? as f32,
                list => skip_property(body, list)?,
            }
        }
        mesh.positions.push(p.map(|i| values[i]).into());
        mesh.normals.extend(n.map(|n| Vec3::from(n.map(|i| values[i]))));
        mesh.uvs.extend(uv.map(|uv| Vec2::from(uv.map(|i| values[i]))));
    }
    Ok(())
}

/// N fields of each record as floats.
fn column<const N: usize>(
    records: &[u8],
    stride: usize,
    fields: [(usize, Scalar); N],
    format: Format,
) -> impl Iterator<Item = [f32; N]> + '_ {
    let plain = format == Format::Little && fields.iter().all(|f| f.1 == Scalar::F32);
    records.chunks_exact(stride).map(move |record| {
        fields.map(|(offset, kind)| match record[offset..].first_chunk() {
            Some(&bytes) if plain => f32::from_le_bytes(bytes),
            _ => kind.get(&record[offset..], format) as f32,
        })
    })
}

fn read_faces(body: &mut Body, element: &Element, mesh: &mut PlyMesh) -> Result<(), Problem> {
    let is_indices = |p: &&Property| matches!(p.name.as_str(), "vertex_indices" | "vertex_index");
    let Some((at, &Property { kind: Kind::List { count, item }, .. })) =
        element.properties.iter().enumerate().find(|(_, p)| is_indices(p))
    else {
        return Err(Problem::Lacks("list of vertex indices"));
    };
    let (before, after) = (&element.properties[..at], &element.properties[at + 1..]);
    let size = |p: &Property| if let Kind::Scalar(s) = p.kind { Some(s.size()) } else { None };
    let fixed = |p: &[Property]| p.iter().map(size).sum::<Option<usize>>();
    // Most faces are triangles or most are quads; the file's length bounds this at a few times
    // itself.
    mesh.triangles.reserve(element.count as usize);
    if let (Some(before), Some(after), Scalar::I32 | Scalar::U32, Scalar::U8, true) =
        (fixed(before), fixed(after), item, count, body.format != Format::Ascii)
    {
        return match body.format {
            Format::Big => {
                read_faces_fast(body, element.count, before, after, u32::from_be_bytes, mesh)
            }
            _ => read_faces_fast(body, element.count, before, after, u32::from_le_bytes, mesh),
        };
    }
    let mut corners = Vec::new();
    for _ in 0..element.count {
        before.iter().try_for_each(|p| skip_property(body, p.kind))?;
        let n = body.list_count(count, item)?;
        corners.clear();
        for _ in 0..n {
            let index = body.scalar(item)?;
            // The vertices may come later in the file; their number is checked at the end.
            if !(0.0..=u32::MAX as f64).contains(&index) || index.fract() != 0.0 {
                return Err(Problem::Index { index, vertices: mesh.positions.len() });
            }
            corners.push(index as u32);
        }
        push_face(mesh, &corners);
        after.iter().try_for_each(|p| skip_property(body, p.kind))?;
    }
    Ok(())
}

/// Binary faces of one list with a one-byte count and four-byte items, among `before` and `after`
/// bytes of no interest.
fn read_faces_fast(
    body: &mut Body,
    count: u64,
    before: usize,
    after: usize,
    index: impl Fn([u8; 4]) -> u32,
    mesh: &mut PlyMesh,
) -> Result<(), Problem> {
    let mut corners = Vec::new();
    for _ in 0..count {
        let n = body.take(before + 1, "faces")?[before];
        let items = body.take(4 * n as usize + after, "faces")?;
        let items = items.as_chunks().0;
        if let (3, Some(&[a, b, c])) = (n, items.first_chunk()) {
            mesh.triangles.push([index(a), index(b), index(c)]);
        } else {
            corners.clear();
            corners.extend(items[..n as usize].iter().map(|&i| index(i)));
            push_face(mesh, &corners);
        }
    }
    Ok(())
}

fn push_face(mesh: &mut PlyMesh, corners: &[u32]) {
    match *corners {
        [a, b, c, d] => mesh.quads.push([a, b, d, c]),
        [a, ref rest @ ..] if rest.len() >= 2 => {
            mesh.triangles.extend(rest.windows(2).map(|e| [a, e[0], e[1]]))
        }
        _ => mesh.ignored_faces += 1,
    }
}

/// Negative indices have become numbers of 2³¹ and above, which no mesh has.
fn check_indices(mesh: &PlyMesh) -> Result<(), Problem> {
    let vertices = mesh.positions.len();
    let largest = |face: &[u32]| face.iter().copied().max().unwrap_or(0);
    let worst_triangle = mesh.triangles.iter().map(|t| largest(t)).max().unwrap_or(0);
    let worst = mesh.quads.iter().map(|q| largest(q)).max().unwrap_or(0).max(worst_triangle);
    if (worst as usize) < vertices {
        return Ok(());
    }
    Err(Problem::Index { index: worst as i32 as f64, vertices })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    const HEADER: &str = "comment by hand\nelement extra 2\nproperty list uchar short things\nelement vertex 5\nproperty double x\n\
        property float y\nproperty short z\nproperty uchar red\nproperty float nx\nproperty float ny\nproperty float nz\n\
        property float s\nproperty float t\nelement face 4\nproperty uchar flag\nproperty list uchar int vertex_index\n\
        property float quality\nelement after 1\nproperty int a\nend_header\n";

    /// The same mesh in each format: a triangle, a quad, a pentagon and a face of two corners,
    /// among things of no interest.
    fn sample(format: Format) -> Vec<u8> {
        let (name, mut body) = match format {
            Format::Ascii => ("ascii", Vec::new()),
            Format::Little => ("binary_little_endian", Vec::new()),
            Format::Big => ("binary_big_endian", Vec::new()),
        };
        let mut put = |kind: Scalar, value: f64| {
            if format == Format::Ascii {
                return write!(body, "{value} ").unwrap();
            }
            let mut bytes = match kind {
                Scalar::U8 => vec![value as u8],
                Scalar::I16 => (value as i16).to_le_bytes().to_vec(),
                Scalar::I32 => (value as i32).to_le_bytes().to_vec(),
                Scalar::F32 => (value as f32).to_le_bytes().to_vec(),
                Scalar::F64 => value.to_le_bytes().to_vec(),
                other => unreachable!("{other:?}"),
            };
            if format == Format::Big {
                bytes.reverse();
            }
            body.extend(bytes);
        };
        for items in [&[7.0, -8.0][..], &[]] {
            put(Scalar::U8, items.len() as f64);
            items.iter().for_each(|&i| put(Scalar::I16, i));
        }
        for i in 0..5 {
            let i = i as f64;
            put(Scalar::F64, 0.5 + i);
            put(Scalar::F32, -i);
            put(Scalar::I16, -3.0 * i);
            put(Scalar::U8, 255.0);
            [0.0, 0.25, i, i / 8.0, 1.0 - i / 8.0].into_iter().for_each(|v| put(Scalar::F32, v));
        }
        for face in [&[0, 1, 2][..], &[0, 1, 2, 3], &[4, 3, 2, 1, 0], &[1, 2]] {
            put(Scalar::U8, 1.0);
            put(Scalar::U8, face.len() as f64);
            face.iter().for_each(|&i| put(Scalar::I32, i as f64));
            put(Scalar::F32, 0.5);
        }
        put(Scalar::I32, 99.0);
        [format!("ply\nformat {name} 1.0\n{HEADER}").into_bytes(), body].concat()
    }

    fn expected() -> PlyMesh {
        let each = |i: u32| i as f32;
        PlyMesh {
            positions: (0..5).map(each).map(|i| Vec3::new(0.5 + i, -i, -3.0 * i)).collect(),
            normals: (0..5).map(each).map(|i| Vec3::new(0.0, 0.25, i)).collect(),
            uvs: (0..5).map(each).map(|i| Vec2::new(i / 8.0, 1.0 - i / 8.0)).collect(),
            triangles: vec![[0, 1, 2], [4, 3, 2], [4, 2, 1], [4, 1, 0]],
            quads: vec![[0, 1, 3, 2]],
            ignored_faces: 1,
        }
    }

    fn parsed(data: &[u8]) -> Result<PlyMesh, PlyError> {
        parse(data, Path::new("mesh.ply"))
    }

    fn message(data: &[u8]) -> String {
        parsed(data).expect_err("should fail").to_string()
    }

    const FORMATS: [Format; 3] = [Format::Ascii, Format::Little, Format::Big];

    #[test]
    fn every_format_gives_the_same_mesh() {
        for format in FORMATS {
            assert_eq!(parsed(&sample(format)).unwrap(), expected(), "{format:?}");
        }
    }

    #[test]
    fn compressed_and_from_a_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("mesh.ply.gz");
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gz.write_all(&sample(Format::Little)).unwrap();
        let packed = gz.finish().unwrap();
        std::fs::write(&path, &packed).unwrap();
        assert_eq!(read(&path).unwrap(), expected());
        std::fs::write(&path, &packed[..packed.len() / 2]).unwrap();
        assert!(read(&path).unwrap_err().to_string().contains("mesh.ply.gz: cannot be read"));
        assert!(matches!(
            read(&dir.path().join("none.ply")),
            Err(PlyError { problem: Problem::Io(_), .. })
        ));
    }

    #[test]
    fn no_prefix_panics_and_none_is_taken_for_the_whole() {
        for format in FORMATS {
            let data = sample(format);
            // The last element is not needed, nor the last digits of an ascii number before it.
            let needed = data.len() - if format == Format::Ascii { 6 } else { 4 };
            for length in 0..data.len() {
                assert!(
                    parsed(&data[..length]).is_err() || length >= needed,
                    "{format:?} {length}"
                );
            }
        }
    }

    #[test]
    fn no_changed_byte_panics() {
        for format in FORMATS {
            let data = sample(format);
            for at in 0..data.len() {
                for byte in [0, b' ', b'-', b'9', 0x7f, 0xff] {
                    let mut data = data.clone();
                    data[at] = byte;
                    // Indices stay in range whatever happens.
                    if let Ok(mesh) = parsed(&data) {
                        assert!(
                            mesh.triangles
                                .as_flattened()
                                .iter()
                                .all(|&i| (i as usize) < mesh.positions.len())
                        );
                        assert!(
                            mesh.quads
                                .as_flattened()
                                .iter()
                                .all(|&i| (i as usize) < mesh.positions.len())
                        );
                    }
                }
            }
        }
    }

    fn ascii(vertices: &str, faces: &str, body: &str) -> Vec<u8> {
        let xyz = "property float x\nproperty float y\nproperty float z\n";
        let list = "property list uchar int vertex_indices\n";
        format!("ply\nformat ascii 1.0\nelement vertex {vertices}\n{xyz}element face {faces}\n{list}end_header\n{body}").into()
    }

    #[test]
    fn errors_say_where_what_and_how_to_help() {
        let body = "0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n";
        assert_eq!(parsed(&ascii("3", "1", body)).unwrap().triangles, [[0, 1, 2]]);
        for (data, text) in [
            (
                b"solid cube".to_vec(),
                "mesh.ply:1: is not a PLY file: the first line must be `ply`; export the mesh as PLY",
            ),
            (ascii("3", "1", "0 0 0\n1 0 x\n0 1 0\n3 0 1 2\n"), "mesh.ply:11: `x` is not a number"),
            (ascii("3", "1", "0 0 0 1 0 0 0 1 0 3 0 1 3"), "vertex 3, but there are 3 vertices"),
            (ascii("3", "1", "0 0 0 1 0 0 0 1 0 3 0 1 -1"), "vertex -1, but there are 3 vertices"),
            (ascii("3", "1", "0 0 0 1 0 0 0 1 0 3 0 1 0.5"), "vertex 0.5, but"),
            (ascii("3", "1", "0 0 0 1 0 0 0 1 0 -3 0 1 2"), "list of -3 items"),
            (
                ascii("3", "1", "0 0 0 1 0 0 0 1 0 9999999 0 1 2"),
                "need at least 19999998 bytes but 6 are left",
            ),
            (ascii("3", "1", "0 0 0 1 0 0 0 1 0 2 0 1"), "holds no faces"),
            (ascii("0", "0", ""), "holds no vertices"),
            (ascii("99999999999999999", "99999999999999999", body), "truncated"),
            (ascii("three", "1", body), "mesh.ply:3: unknown header line `element vertex three`"),
            (b"ply\nformat ascii 1.0\nend_header\n".to_vec(), "holds no vertices"),
            (b"ply\nend_header\n".to_vec(), "lacks `format`"),
            (
                b"ply\nformat ascii 1.0\nelement vertex 1\nproperty int x\nend_header\n1 ".to_vec(),
                "holds no vertex positions",
            ),
            (
                b"ply\nformat ascii 1.0\nelement face 1\nproperty int x\nend_header\n1 ".to_vec(),
                "holds no list of vertex",
            ),
        ] {
            assert!(message(&data).contains(text), "{}", message(&data));
        }
        let mut data = sample(Format::Little);
        let at = data.len() - 4 - (1 + 1 + 8 + 4) - 8;
        data[at..at + 4].copy_from_slice(&5i32.to_le_bytes());
        assert!(message(&data).contains("vertex 5, but there are 5"), "{}", message(&data));
    }

    #[test]
    fn elements_without_properties_cost_nothing() {
        let data = b"ply\nformat ascii 1.0\nelement none 18446744073709551615\nelement face 0\nproperty list int int vertex_index\nend_header\n";
        assert!(message(data).contains("holds no vertices"));
    }
}
