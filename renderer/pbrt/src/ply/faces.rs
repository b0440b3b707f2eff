//! Reads the face element.

use super::body::{Body, skip_property};
use super::header::{Element, PlyFormat, Property, PropertyType, ScalarType};
use super::vertices::MIN_RECORDS;
use super::{PlyErrorKind, PlyMesh};
use rayon::prelude::*;

/// Reads all faces into `mesh`.
pub(super) fn read_faces(
    body: &mut Body,
    element: &Element,
    mesh: &mut PlyMesh,
) -> Result<(), PlyErrorKind> {
    let is_indices = |p: &&Property| matches!(p.name.as_str(), "vertex_indices" | "vertex_index");
    let Some((at, &Property { ty: PropertyType::List { count, item }, .. })) =
        element.properties.iter().enumerate().find(|(_, p)| is_indices(p))
    else {
        return Err(PlyErrorKind::Missing("list of vertex indices"));
    };
    let (before, after) = (&element.properties[..at], &element.properties[at + 1..]);
    let size =
        |p: &Property| if let PropertyType::Scalar(s) = p.ty { Some(s.size()) } else { None };
    let fixed = |p: &[Property]| p.iter().map(size).sum::<Option<usize>>();
    // Most meshes consist of triangles only or of quads only. The reservation is at most a few
    // times the length of the file.
    mesh.triangles.reserve(element.count as usize);
    if let (Some(before), Some(after), ScalarType::I32 | ScalarType::U32, ScalarType::U8, true) =
        (fixed(before), fixed(after), item, count, body.format != PlyFormat::Ascii)
    {
        return match body.format {
            PlyFormat::Big => {
                read_faces_binary(body, element.count, before, after, u32::from_be_bytes, mesh)
            }
            _ => read_faces_binary(body, element.count, before, after, u32::from_le_bytes, mesh),
        };
    }
    let mut corners = Vec::new();
    for _ in 0..element.count {
        before.iter().try_for_each(|p| skip_property(body, p.ty))?;
        let n = body.list_count(count, item)?;
        corners.clear();
        for _ in 0..n {
            let index = body.scalar(item)?;
            // Vertices may follow the faces, so `check_indices` compares with their number at the
            // end.
            if !(0.0..=u32::MAX as f64).contains(&index) || index.fract() != 0.0 {
                return Err(PlyErrorKind::Index { index, vertices: mesh.positions.len() });
            }
            corners.push(index as u32);
        }
        push_face(mesh, &corners);
        after.iter().try_for_each(|p| skip_property(body, p.ty))?;
    }
    Ok(())
}

/// Reads binary faces with a list of four-byte indices and a one-byte count. `before` and `after`
/// are the sizes in bytes of the ignored properties around the list.
fn read_faces_binary(
    body: &mut Body,
    count: u64,
    before: usize,
    after: usize,
    index: impl Fn([u8; 4]) -> u32 + Sync,
    mesh: &mut PlyMesh,
) -> Result<(), PlyErrorKind> {
    let triangles = read_triangles(body, count as usize, before, after, &index, mesh);
    let mut corners = Vec::new();
    for _ in triangles as u64..count {
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

/// Adds a face, and splits polygons of five or more vertices into a fan.
fn push_face(mesh: &mut PlyMesh, corners: &[u32]) {
    match *corners {
        [a, b, c, d] => mesh.quads.push([a, b, d, c]),
        [a, ref rest @ ..] if rest.len() >= 2 => {
            mesh.triangles.extend(rest.windows(2).map(|e| [a, e[0], e[1]]))
        }
        _ => mesh.ignored_faces += 1,
    }
}

/// Reads triangles in parallel up to the first chunk that contains other faces; returns their
/// number.
fn read_triangles(
    body: &mut Body,
    count: usize,
    before: usize,
    after: usize,
    index: impl Fn([u8; 4]) -> u32 + Sync,
    mesh: &mut PlyMesh,
) -> usize {
    let size = before + 1 + 3 * size_of::<u32>() + after;
    let rest = &body.data[body.pos..];
    let count = count.min(rest.len() / size);
    let is_triangle = |face: &[u8]| face[before] == 3;
    let other = rest[..count * size]
        .par_chunks(MIN_RECORDS * size)
        .position_first(|chunk| !chunk.chunks(size).all(is_triangle));
    let len = other.map_or(count, |chunk| chunk * MIN_RECORDS);
    let faces = rest[..len * size].par_chunks_exact(size).with_min_len(MIN_RECORDS);
    mesh.triangles.par_extend(faces.map(|face| {
        let (corners, _) = face[before + 1..].as_chunks();
        [index(corners[0]), index(corners[1]), index(corners[2])]
    }));
    body.pos += len * size;
    len
}

/// Checks that all indices are below the number of vertices. The binary reader turns negative
/// indices into 2³¹ and above.
pub(super) fn check_indices(mesh: &PlyMesh) -> Result<(), PlyErrorKind> {
    let vertices = mesh.positions.len();
    let largest = |face: &[u32]| face.iter().copied().max().unwrap_or(0);
    let max_triangle = mesh.triangles.par_iter().map(|t| largest(t)).max().unwrap_or(0);
    let max = mesh.quads.iter().map(|q| largest(q)).max().unwrap_or(0).max(max_triangle);
    if (max as usize) < vertices {
        return Ok(());
    }
    Err(PlyErrorKind::Index { index: max as i32 as f64, vertices })
}
