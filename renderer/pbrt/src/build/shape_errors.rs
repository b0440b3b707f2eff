//! Errors of shapes, at the parameter at fault, with remedies.

use crate::diagnostics::{Location, SceneError};
use crate::file::parse::Entity;
use lightbound::geometry::{MAX_COORDINATE, MeshError, Shape, ShapeError};
use lightbound_math::Aabb;

/// Creates the error for an invalid parameter of a sphere, disk or cylinder.
pub(super) fn shape_error(entity: &Entity, e: &ShapeError) -> SceneError {
    let error = entity.param_error(e.name, format!("\"{}\" is {}", e.name, e.value));
    error.help(format!("give {}", e.expected))
}

/// Creates the error for the arrays of a mesh.
pub(super) fn mesh_error(entity: &Entity, e: &MeshError) -> SceneError {
    let (name, help) = match e {
        MeshError::Index { .. } => ("indices", "vertices are counted from 0"),
        MeshError::Length { attribute: "normals", .. } => ("N", "give as many as \"point3 P\""),
        MeshError::Length { attribute: "tangents", .. } => ("S", "give as many as \"point3 P\""),
        MeshError::Length { attribute: "end positions", .. } => {
            ("P1", "give as many as \"point3 P\"")
        }
        MeshError::Length { attribute: "end normals", .. } => {
            ("N1", "give as many as \"point3 P\"")
        }
        MeshError::Length { .. } => ("uv", "give as many as \"point3 P\""),
        MeshError::NotFinite { .. } => ("P", "check the positions and the transform"),
        MeshError::EndNotFinite { .. } => ("P1", "check the positions and the transform"),
        MeshError::EndNormals => ("N1", "give \"normal N\", too"),
        MeshError::TooMany { .. } => ("P", "split the mesh into several shapes"),
    };
    entity.param_error(name, e.to_string()).help(help)
}

/// Checks that what moves or is instantiated is within the range of coordinates.
pub(super) fn check_bounds(
    location: &Location,
    user: &str,
    bounds: Option<Aabb>,
) -> Result<(), SceneError> {
    let bounds = bounds.filter(|bounds| !bounds.is_empty());
    let magnitude = bounds.map_or(0.0, |bounds| bounds.magnitude());
    if magnitude <= MAX_COORDINATE {
        return Ok(());
    }
    let message = format!(
        "this {user} has coordinates up to {magnitude:.1e}, and the largest possible is \
         {MAX_COORDINATE:e}"
    );
    Err(SceneError::at(location, message).help("check its transforms, or scale the scene down"))
}

/// Checks that a shape is within the range of coordinates.
pub(super) fn check_extent(entity: &Entity, shape: &Shape) -> Result<(), SceneError> {
    let magnitude = shape.magnitude();
    if magnitude <= MAX_COORDINATE {
        return Ok(());
    }
    let error = entity.error(format!(
        "this \"{}\" has coordinates up to {magnitude:.1e}, and the largest possible is \
         {MAX_COORDINATE:e}",
        entity.name
    ));
    Err(error.help("check its positions, sizes and transform, or scale the scene down"))
}
