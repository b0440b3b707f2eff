//! Builds displaced PLY meshes.

use super::Builder;
use crate::diagnostics::SceneError;
use crate::file::parse::Entity;
use crate::ply::PlyMesh;
use lightbound::geometry::{DisplacedMesh, DisplacementError, Shape};
use lightbound::texture::{Lookup, Param};
use lightbound_math::Transform;

/// The displacement of a mesh.
pub(super) struct Displacement {
    height: Param,
    /// Length below which edges are not divided, in render space.
    max_length: f32,
}

impl Builder<'_> {
    /// Reads the displacement of a mesh; `None` if it has none.
    pub(super) fn displacement(&self, entity: &Entity) -> Result<Option<Displacement>, SceneError> {
        let length = entity.params.float("edgelength")?.unwrap_or(1.0);
        let Some(height) = self.unchecked_float(entity, "displacement")? else { return Ok(None) };
        let max_length = length * self.displacement_edge_scale;
        if max_length.is_nan() || max_length <= 0.0 {
            let error = entity.param_error("edgelength", format!("\"edgelength\" is {length}"));
            return Err(error.help("give the maximum length of an edge, above 0"));
        }
        Ok(Some(Displacement { height, max_length }))
    }
}

/// Displaces a mesh, with quadrilaterals as two triangles.
pub(super) fn displaced(
    entity: &Entity,
    Displacement { height, max_length }: Displacement,
    mesh: PlyMesh,
    render_from_shape: &Transform,
) -> Result<Vec<Shape>, SceneError> {
    let PlyMesh { positions, normals, uvs, mut triangles, quads, .. } = mesh;
    triangles.extend(quads.into_iter().flat_map(|[a, b, c, d]| [[a, b, d], [a, d, c]]));
    let mesh = DisplacedMesh { positions, normals, uvs, triangles };
    let length = |a, b| render_from_shape.point(a).distance(render_from_shape.point(b));
    let mesh = mesh
        .displace(max_length, length, |p, n, uv| {
            let n = render_from_shape.normal(n).normalize_or_zero();
            height.float(&Lookup::at_point(render_from_shape.point(p), n, uv))
        })
        .map_err(|e| {
            let error = entity.param_error("displacement", e.to_string());
            error.help(match e {
                DisplacementError::TooMany { .. } => "increase \"edgelength\"",
                DisplacementError::NoTextureCoordinates => {
                    "export the mesh with the properties u and v, or s and t"
                }
                DisplacementError::Mesh(_) => "check the mesh and the displacement texture",
            })
        })?;
    let mesh = mesh.transformed(render_from_shape).map_err(|e| {
        let error = entity.param_error("filename", e.to_string());
        error.help("check the mesh and the transform")
    })?;
    Ok(vec![Shape::Mesh(mesh)])
}
