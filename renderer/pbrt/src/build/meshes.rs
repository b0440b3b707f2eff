//! Builds triangle meshes, bilinear patches and subdivision surfaces. Their vertices may move.

use super::attributes::AttributesOfMesh;
use super::displacement::{displaced, has_shader, triangles_of_quads};
use super::shape_errors::mesh_error;
use super::{Builder, RenderContext};
use crate::describe::ShapeEntity;
use crate::diagnostics::SceneError;
use crate::file::parse::Entity;
use crate::ply::{self, PlyMesh};
use glam::Vec4;
use lightbound::geometry::{
    BilinearMesh, DisplacedMesh, Mesh, MeshError, Shape, SubdivisionError, VertexMotion,
    subdivide_loop,
};
use lightbound_math::{Transform, Vec2, Vec3};
use std::path::Path;

impl Builder<'_> {
    /// Builds a Loop subdivision surface. A control mesh that is not manifold is not subdivided,
    /// with a warning.
    pub(super) fn loopsubdiv(
        &mut self,
        entity: &Entity,
        render_from_shape: &Transform,
    ) -> Result<Shape, SceneError> {
        let levels = entity.params.int("levels")?.unwrap_or(3);
        let levels = u32::try_from(levels).map_err(|_| {
            entity.param_error("levels", format!("\"levels\" is {levels}")).help("give 0 or more")
        })?;
        // As in pbrt-v4, there is one scheme.
        entity.params.string("scheme")?;
        let positions = positions(entity)?.to_vec();
        let triangles = elements(entity, positions.len())?;
        let error = |e: MeshError| mesh_error(entity, &e);
        let mesh = match subdivide_loop(positions.clone(), triangles.clone(), levels) {
            Ok(mesh) => mesh,
            Err(e @ (SubdivisionError::Edge { .. } | SubdivisionError::RepeatedVertex { .. })) => {
                let what = format!("this mesh cannot be subdivided: {e}");
                self.warn(entity, &what, "its control mesh")?;
                // As on the subdivided surface, the front is clockwise.
                let triangles = triangles.into_iter().map(|[a, b, c]| [a, c, b]).collect();
                Mesh::new(positions, triangles, Vec::new(), Vec::new()).map_err(error)?
            }
            Err(SubdivisionError::Mesh(e)) => return Err(error(e)),
            Err(e @ SubdivisionError::TooMany { .. }) => {
                let error = entity.param_error("levels", e.to_string());
                return Err(error.help("lower \"levels\""));
            }
        };
        if has_shader(entity) {
            let mesh = DisplacedMesh {
                positions: mesh.positions().to_vec(),
                normals: mesh.normals().to_vec(),
                uvs: vec![],
                triangles: mesh.triangles().to_vec(),
            };
            return self.shader_displaced(entity, mesh, render_from_shape, &[]);
        }
        Ok(Shape::Mesh(mesh.transformed(render_from_shape).map_err(error)?))
    }

    pub(super) fn plymesh(
        &mut self,
        s: &ShapeEntity,
        render_from_shape: &Transform,
        context: &RenderContext,
    ) -> Result<Vec<Shape>, SceneError> {
        let entity = &s.entity;
        let Some(name) = entity.params.string("filename")? else {
            return Err(entity.error("a plymesh needs a file").help("give \"string filename\""));
        };
        let has_shader = has_shader(entity);
        let displacement = if has_shader { None } else { self.displacement(entity)? };
        let path = self.path(name);
        let names = self.attributes.names().to_vec();
        let mut mesh = self.read_ply(entity, "filename", &path, &names)?;
        if has_shader {
            let PlyMesh { positions, normals, uvs, mut triangles, quads, .. } = mesh;
            triangles.extend(triangles_of_quads(quads));
            let mesh = DisplacedMesh { positions, normals, uvs, triangles };
            let unused = ["filename1"];
            let shape = self.shader_displaced(entity, mesh, render_from_shape, &unused)?;
            return Ok(vec![shape]);
        }
        if let Some(displacement) = displacement {
            if entity.params.string("filename1")?.is_some() {
                let what = "\"filename1\" is not supported with \"displacement\"";
                self.warn(entity, what, "the mesh at the start time")?;
            }
            return displaced(entity, displacement, mesh, render_from_shape);
        }
        let motion = match entity.params.string("filename1")? {
            None => None,
            Some(_) if self.has_still_vertices(s, context)? => None,
            Some(name) => {
                let end_path = self.path(name);
                let end = self.read_ply(entity, "filename1", &end_path, &[])?;
                if end.triangles != mesh.triangles || end.quads != mesh.quads {
                    let [start, end] = [&path, &end_path].map(|path| path.display());
                    let message = format!("the faces of {end} are not those of {start}");
                    let error = entity.param_error("filename1", message);
                    return Err(error.help(
                        "export the same mesh at both times, with vertices in the same order",
                    ));
                }
                let &RenderContext { transform_times: times, shutter, .. } = context;
                Some(Box::new(VertexMotion::new(end.positions, end.normals, times, shutter)))
            }
        };
        let end_path = entity.params.string("filename1")?.map(|name| self.path(name));
        let error = |e: MeshError| {
            let help = match e {
                MeshError::EndNormals => "export both files with normals, or none",
                MeshError::Length { attribute: "end positions", .. } => {
                    "export the same mesh at both times"
                }
                _ => "check the mesh and the transform",
            };
            let (name, path) = match &end_path {
                Some(end_path) if e.is_at_end() => ("filename1", end_path),
                _ => ("filename", &path),
            };
            entity.param_error(name, format!("{}: {e}", path.display())).help(help)
        };
        if !(mesh.tangents.is_empty() && mesh.attributes.is_empty()) {
            // Patches have neither.
            mesh.triangles.extend(triangles_of_quads(std::mem::take(&mut mesh.quads)));
        }
        let mut shapes = Vec::new();
        if !mesh.quads.is_empty() {
            let (p, n, uv) = (mesh.positions.clone(), mesh.normals.clone(), mesh.uvs.clone());
            let patches = BilinearMesh::with_motion(p, mesh.quads, n, uv, motion.clone())
                .and_then(|m| m.transformed(render_from_shape))
                .map_err(error)?;
            shapes.push(Shape::Bilinear(patches));
        }
        if !mesh.triangles.is_empty() {
            let PlyMesh { positions, triangles, normals, uvs, tangents, attributes, .. } = mesh;
            self.check_values_of_vertices(entity, &path, &attributes)?;
            let attributes = self.attributes.numbered(attributes);
            let triangles = Mesh::with_motion(positions, triangles, normals, uvs, motion)
                .and_then(|m| with_vertex_data(m, tangents, attributes))
                .and_then(|m| m.transformed(render_from_shape));
            shapes.push(Shape::Mesh(triangles.map_err(error)?));
        }
        Ok(shapes)
    }

    /// Reads the PLY file that a parameter names, with the attributes of these names.
    fn read_ply(
        &mut self,
        entity: &Entity,
        parameter: &str,
        path: &Path,
        attributes: &[String],
    ) -> Result<PlyMesh, SceneError> {
        ply::read_with(path, attributes, |path| self.inputs.read(path))
            .map_err(|e| entity.param_error(parameter, e.to_string()))
    }

    /// Returns whether the vertices of a shape cannot move, with a warning.
    fn has_still_vertices(
        &mut self,
        s: &ShapeEntity,
        context: &RenderContext,
    ) -> Result<bool, SceneError> {
        let is_still = s.area_light.is_some() && !context.lights_move;
        if is_still {
            let what = "moving vertices of this emissive shape are not supported by lightcuts";
            self.warn(&s.entity, what, "the positions at the start time")?;
        }
        Ok(is_still)
    }

    /// Reads the positions and normals of a mesh's vertices at the end of a motion, if they move.
    fn vertex_motion(
        &mut self,
        s: &ShapeEntity,
        context: &RenderContext,
    ) -> Result<Option<Box<VertexMotion>>, SceneError> {
        let p = &s.entity.params;
        let (positions, normals) = (p.point3s("P1")?, p.normals("N1")?);
        let Some(positions) = positions else {
            return match normals {
                None => Ok(None),
                Some(_) => Err(s
                    .entity
                    .error("normals \"N1\" at the end time, but no positions")
                    .help("give \"point3 P1\"")),
            };
        };
        let normals = normals.unwrap_or_default().to_vec();
        if self.has_still_vertices(s, context)? {
            return Ok(None);
        }
        let &RenderContext { transform_times: times, shutter, .. } = context;
        Ok(Some(Box::new(VertexMotion::new(positions.to_vec(), normals, times, shutter))))
    }

    pub(super) fn trianglemesh(
        &mut self,
        s: &ShapeEntity,
        render_from_shape: &Transform,
        context: &RenderContext,
    ) -> Result<Shape, SceneError> {
        let entity = &s.entity;
        let (positions, normals, uvs) = vertices(entity)?;
        let triangles = elements(entity, positions.len())?;
        if has_shader(entity) {
            let mesh = DisplacedMesh { positions, normals, uvs, triangles };
            let unused = ["P1", "N1", "S", "faceIndices"];
            return self.shader_displaced(entity, mesh, render_from_shape, &unused);
        }
        let motion = self.vertex_motion(s, context)?;
        let attributes = self.vertex_attributes(entity, positions.len())?;
        let tangents = entity.params.vector3s("S")?.unwrap_or_default();
        let tangents = tangents.iter().map(|s| s.extend(1.0)).collect();
        // Only Ptex uses face indices.
        entity.params.ints("faceIndices")?;
        let mesh = Mesh::with_motion(positions, triangles, normals, uvs, motion)
            .and_then(|m| with_vertex_data(m, tangents, attributes))
            .and_then(|m| m.transformed(render_from_shape));
        Ok(Shape::Mesh(mesh.map_err(|e| mesh_error(entity, &e))?))
    }

    pub(super) fn bilinearmesh(
        &mut self,
        s: &ShapeEntity,
        render_from_shape: &Transform,
        context: &RenderContext,
    ) -> Result<Shape, SceneError> {
        let entity = &s.entity;
        let (positions, normals, uvs) = vertices(entity)?;
        let patches = elements(entity, positions.len())?;
        if has_shader(entity) {
            let triangles = triangles_of_quads(patches).collect();
            let mesh = DisplacedMesh { positions, normals, uvs, triangles };
            let unused = ["P1", "N1", "faceIndices", "emissionfilename"];
            return self.shader_displaced(entity, mesh, render_from_shape, &unused);
        }
        let motion = self.vertex_motion(s, context)?;
        entity.params.ints("faceIndices")?;
        // In pbrt-v4, an image for sampling the light; here, lights sample their own image.
        entity.params.string("emissionfilename")?;
        let mesh = BilinearMesh::with_motion(positions, patches, normals, uvs, motion)
            .and_then(|m| m.transformed(render_from_shape));
        Ok(Shape::Bilinear(mesh.map_err(|e| mesh_error(entity, &e))?))
    }
}

/// Gives the vertices of a mesh tangents, unless there are none, and attributes.
fn with_vertex_data(
    mesh: Mesh,
    tangents: Vec<Vec4>,
    attributes: AttributesOfMesh,
) -> Result<Mesh, MeshError> {
    let mesh = if tangents.is_empty() { mesh } else { mesh.with_tangents(tangents)? };
    attributes.into_iter().try_fold(mesh, |mesh, (id, values)| mesh.with_attribute(id, values))
}

/// Positions, normals and texture coordinates.
type Vertices = (Vec<Vec3>, Vec<Vec3>, Vec<Vec2>);

/// Reads the positions of a mesh's vertices.
fn positions(entity: &Entity) -> Result<&[Vec3], SceneError> {
    entity.params.point3s("P")?.ok_or_else(|| {
        entity.error(format!("a {} needs positions", entity.name)).help("give \"point3 P\"")
    })
}

/// Reads the vertices of a mesh.
fn vertices(entity: &Entity) -> Result<Vertices, SceneError> {
    let p = &entity.params;
    let positions = positions(entity)?;
    let normals = p.normals("N")?.unwrap_or_default();
    let uvs = p.point2s("uv")?.unwrap_or_default();
    Ok((positions.to_vec(), normals.to_vec(), uvs.to_vec()))
}

/// Reads the indices of elements with `N` vertices. As in pbrt-v4, `N` vertices without indices are
/// one element.
fn elements<const N: usize>(entity: &Entity, vertices: usize) -> Result<Vec<[u32; N]>, SceneError> {
    let Some(indices) = entity.params.ints("indices")? else {
        if vertices == N {
            return Ok(vec![std::array::from_fn(|i| i as u32)]);
        }
        return Err(entity
            .error(format!("{vertices} vertices, but no indices"))
            .help("give \"integer indices\""));
    };
    let (chunks, rest) = indices.as_chunks::<N>();
    if !rest.is_empty() {
        let message = format!("{} indices are not a multiple of {N}", indices.len());
        let error = entity.param_error("indices", message);
        return Err(error.help(format!("a {} takes {N} for each element", entity.name)));
    }
    if let Some(negative) = indices.iter().find(|&&i| i < 0) {
        return Err(entity
            .param_error("indices", format!("the vertex index {negative} is negative"))
            .help("vertices are counted from 0"));
    }
    Ok(chunks.iter().map(|c| c.map(|i| i as u32)).collect())
}
