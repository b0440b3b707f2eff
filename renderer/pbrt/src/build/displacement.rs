//! Builds displaced meshes: by a texture, for PLY meshes, or by a shader.

use super::Builder;
use super::shader_material::check_unused;
use super::shaders::DISPLACE;
use crate::diagnostics::SceneError;
use crate::file::params::ParamType;
use crate::file::parse::Entity;
use crate::ply::PlyMesh;
use lightbound::geometry::{DisplacedMesh, DisplacementError, Shape};
use lightbound::texture::{Lookup, Param};
use lightbound_math::Transform;
use std::sync::Arc;

/// The displacement of a mesh.
pub(super) struct Displacement {
    height: Param,
    /// Length below which edges are not divided, in render space.
    max_length: f32,
}

/// Parameters of meshes, which shaders cannot have.
const PARAMETERS: [&str; 16] = [
    "filename",
    "filename1",
    "P",
    "P1",
    "N",
    "N1",
    "S",
    "uv",
    "indices",
    "faceIndices",
    "emissionfilename",
    "levels",
    "scheme",
    "alpha",
    "displacement",
    "edgelength",
];

/// Returns whether a mesh is displaced by a shader.
pub(super) fn has_shader(entity: &Entity) -> bool {
    entity.params.type_of("displacement") == Some(ParamType::String)
}

/// Divides quadrilaterals, with vertices in the order of bilinear patches, into two triangles.
pub(super) fn triangles_of_quads(quads: Vec<[u32; 4]>) -> impl Iterator<Item = [u32; 3]> {
    quads.into_iter().flat_map(|[a, b, c, d]| [[a, b, d], [a, d, c]])
}

impl Builder<'_> {
    /// Displaces a mesh by the shader that the parameter `displacement` names. Parameters of the
    /// shader are parameters of the shape. Those called `unused` have no effect on the mesh; the
    /// first of them has its vertices at the end of a motion.
    pub(super) fn shader_displaced(
        &mut self,
        entity: &Entity,
        mesh: DisplacedMesh,
        render_from_shape: &Transform,
        unused: &[&str],
    ) -> Result<Shape, SceneError> {
        let file = entity.params.string("displacement")?.expect("it is a string");
        let edge_length = self.edge_length(entity)?;
        for (k, name) in unused.iter().enumerate() {
            if entity.params.any(name).is_some() && k == 0 {
                let what = format!("\"{name}\" is not supported with \"displacement\"");
                self.warn(entity, what, "the mesh at the start time")?;
            }
        }
        let label = format!("shader {file} of a shape \"{}\"", entity.name);
        let shader_use = self.function_use(entity, file, label, DISPLACE, &PARAMETERS)?;
        let values = self.shader_values(&shader_use)?;
        let surface = shader_use.displaced(values, mesh, edge_length, render_from_shape)?;
        check_unused(&[&shader_use], &PARAMETERS)?;
        Ok(Shape::Displaced(Arc::new(surface)))
    }

    /// Reads the displacement of a mesh by a texture; `None` if it has none.
    pub(super) fn displacement(&self, entity: &Entity) -> Result<Option<Displacement>, SceneError> {
        // Without a displacement, the parameter has no effect.
        entity.params.float("edgelength")?;
        let Some(height) = self.unchecked_float(entity, "displacement")? else { return Ok(None) };
        Ok(Some(Displacement { height, max_length: self.edge_length(entity)? }))
    }

    /// Reads the length below which edges are not divided, in render space.
    fn edge_length(&self, entity: &Entity) -> Result<f32, SceneError> {
        let length = entity.params.float("edgelength")?.unwrap_or(1.0);
        let max_length = length * self.displacement_edge_scale;
        if max_length.is_nan() || max_length <= 0.0 {
            let error = entity.param_error("edgelength", format!("\"edgelength\" is {length}"));
            return Err(error.help("give the maximum length of an edge, above 0"));
        }
        Ok(max_length)
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
    triangles.extend(triangles_of_quads(quads));
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
