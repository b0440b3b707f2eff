//! Reads the vertex element.

use super::body::{Body, skip_property};
use super::header::{Element, PlyFormat, PropertyType, ScalarType};
use super::{PlyErrorKind, PlyMesh};
use lightbound_math::{Vec2, Vec3};

/// Property names of texture coordinates, in pbrt's order of precedence.
const UV_NAMES: [[&str; 2]; 4] =
    [["u", "v"], ["s", "t"], ["texture_u", "texture_v"], ["texture_s", "texture_t"]];

/// Reads all vertices into `mesh`.
pub(super) fn read_vertices(
    body: &mut Body,
    element: &Element,
    mesh: &mut PlyMesh,
) -> Result<(), PlyErrorKind> {
    let find3 = |[x, y, z]: [&str; 3]| Some([element.find(x)?, element.find(y)?, element.find(z)?]);
    let p = find3(["x", "y", "z"]).ok_or(PlyErrorKind::Missing("vertex positions"))?;
    let n = find3(["nx", "ny", "nz"]);
    let uv = UV_NAMES.iter().find_map(|[u, v]| Some([element.find(u)?, element.find(v)?]));
    let count = element.count as usize;
    if let (Some((stride, fields)), true) = (element.layout(), body.format != PlyFormat::Ascii) {
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
            match property.ty {
                PropertyType::Scalar(s) => *value = body.scalar(s)? as f32,
                list => skip_property(body, list)?,
            }
        }
        mesh.positions.push(p.map(|i| values[i]).into());
        mesh.normals.extend(n.map(|n| Vec3::from(n.map(|i| values[i]))));
        mesh.uvs.extend(uv.map(|uv| Vec2::from(uv.map(|i| values[i]))));
    }
    Ok(())
}

/// Decodes `N` fields of each record as floats.
fn column<const N: usize>(
    records: &[u8],
    stride: usize,
    fields: [(usize, ScalarType); N],
    format: PlyFormat,
) -> impl Iterator<Item = [f32; N]> + '_ {
    let is_native = format == PlyFormat::Little && fields.iter().all(|f| f.1 == ScalarType::F32);
    records.chunks_exact(stride).map(move |record| {
        fields.map(|(offset, ty)| match record[offset..].first_chunk() {
            Some(&bytes) if is_native => f32::from_le_bytes(bytes),
            _ => ty.decode(&record[offset..], format) as f32,
        })
    })
}
