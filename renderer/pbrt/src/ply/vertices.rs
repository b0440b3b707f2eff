//! Reads the vertex element.

use super::attributes::Column;
use super::body::{Body, skip_property};
use super::header::{Element, PlyFormat, PropertyType, ScalarType};
use super::{PlyErrorKind, PlyMesh};
use lightbound_math::{Vec2, Vec3};
use rayon::prelude::*;

/// Property names of texture coordinates, in pbrt's order of precedence.
const UV_NAMES: [[&str; 2]; 4] =
    [["u", "v"], ["s", "t"], ["texture_u", "texture_v"], ["texture_s", "texture_t"]];

/// Minimum number of records for each task of a parallel loop.
pub(super) const MIN_RECORDS: usize = 1 << 14;

/// Reads all vertices into `mesh`.
pub(super) fn read_vertices(
    body: &mut Body,
    element: &Element,
    attributes: &[String],
    mesh: &mut PlyMesh,
) -> Result<(), PlyErrorKind> {
    let find3 = |[x, y, z]: [&str; 3]| Some([element.find(x)?, element.find(y)?, element.find(z)?]);
    let p = find3(["x", "y", "z"]).ok_or(PlyErrorKind::Missing("vertex positions"))?;
    let n = find3(["nx", "ny", "nz"]);
    let uv = UV_NAMES.iter().find_map(|[u, v]| Some([element.find(u)?, element.find(v)?]));
    let tangent = find3(["tx", "ty", "tz"]);
    let sign = element.find("tw");
    let mut columns: Vec<Column> =
        attributes.iter().filter_map(|name| Column::find(element, name)).collect();
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
        if let Some(tangent) = tangent {
            let vector = column(records, stride, tangent.map(|i| fields[i]), format);
            mesh.tangents = vector.map(|t| Vec3::from(t).extend(1.0)).collect();
            if let Some(sign) = sign {
                let signs = column(records, stride, [fields[sign]], format);
                mesh.tangents.par_iter_mut().zip(signs).for_each(|(t, [sign])| t.w = sign);
            }
        }
        for target in &mut columns {
            for record in records.chunks_exact(stride) {
                target.push(|i| fields[i].1.decode(&record[fields[i].0..], format) as f32);
            }
        }
        mesh.attributes = columns.into_iter().map(Column::finish).collect::<Result<_, _>>()?;
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
        mesh.tangents.extend(tangent.map(|tangent| {
            Vec3::from(tangent.map(|i| values[i])).extend(sign.map_or(1.0, |i| values[i]))
        }));
        columns.iter_mut().for_each(|column| column.push(|i| values[i]));
    }
    mesh.attributes = columns.into_iter().map(Column::finish).collect::<Result<_, _>>()?;
    Ok(())
}

/// Decodes `N` fields of each record as floats, in parallel.
fn column<const N: usize>(
    records: &[u8],
    stride: usize,
    fields: [(usize, ScalarType); N],
    format: PlyFormat,
) -> impl IndexedParallelIterator<Item = [f32; N]> + '_ {
    let is_native = format == PlyFormat::Little && fields.iter().all(|f| f.1 == ScalarType::F32);
    records.par_chunks_exact(stride).with_min_len(MIN_RECORDS).map(move |record| {
        fields.map(|(offset, ty)| match record[offset..].first_chunk() {
            Some(&bytes) if is_native => f32::from_le_bytes(bytes),
            _ => ty.decode(&record[offset..], format) as f32,
        })
    })
}
