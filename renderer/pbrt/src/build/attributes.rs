//! Attributes of vertices: the names that textures read, and the values that meshes give them.
//!
//! Textures are built before shapes, so that meshes keep only the attributes that a texture reads.

use super::{Builder, ColourRole};
use crate::diagnostics::SceneError;
use crate::file::params::ParamType;
use crate::file::parse::Entity;
use lightbound::geometry::{AttributeId, AttributeSet, AttributeValues};
use lightbound::material::Material;
use std::path::Path;

/// The names of the attributes of vertices that textures read. Positions are their numbers.
#[derive(Default)]
pub(super) struct Attributes(Vec<String>);

/// Attributes of a mesh, with their values.
pub(super) type AttributesOfMesh = Vec<(AttributeId, AttributeValues)>;

impl Attributes {
    /// Returns the names of all attributes.
    pub fn names(&self) -> &[String] {
        &self.0
    }

    /// Replaces names by numbers.
    pub fn numbered(&self, named: Vec<(String, AttributeValues)>) -> AttributesOfMesh {
        let number = |name: &str| {
            let position = self.0.iter().position(|other| other == name);
            position.and_then(AttributeId::new)
        };
        named.into_iter().filter_map(|(name, values)| Some((number(&name)?, values))).collect()
    }
}

impl Builder<'_> {
    /// Reads the name of the attribute that a texture reads, and returns its number.
    pub(super) fn attribute(&mut self, entity: &Entity) -> Result<AttributeId, SceneError> {
        let Some(name) = entity.params.string("attribute")? else {
            let error = entity.error("the name of an attribute of vertices is missing");
            return Err(error.help("give \"string attribute\", such as \"color\" or \"uv1\""));
        };
        self.attribute_named(name).ok_or_else(|| too_many_attributes(entity))
    }

    /// Returns the number of an attribute that a texture reads; `None` if there are too many.
    pub(super) fn attribute_named(&mut self, name: &str) -> Option<AttributeId> {
        let Attributes(names) = &mut self.attributes;
        let position = names.iter().position(|other| other == name).unwrap_or_else(|| {
            names.push(name.into());
            names.len() - 1
        });
        AttributeId::new(position)
    }

    /// Reads the attributes of a mesh from parameters: `vertex_` and the name, with a value for each
    /// of its `vertices`. Those that no texture reads have no effect.
    pub(super) fn vertex_attributes(
        &mut self,
        entity: &Entity,
        vertices: usize,
    ) -> Result<AttributesOfMesh, SceneError> {
        const PREFIX: &str = "vertex_";
        let params = &entity.params;
        let mut attributes = Vec::new();
        for param in params.iter().filter(|param| param.name.starts_with(PREFIX)) {
            let name = &param.name;
            params.any(name);
            let attribute = &name[PREFIX.len()..];
            let position = self.attributes.0.iter().position(|other| other == attribute);
            let Some(id) = position.and_then(AttributeId::new) else { continue };
            let (values, count) = match param.ty {
                ParamType::Point2 => {
                    let values = params.point2s(name)?.unwrap_or_default().to_vec();
                    let count = values.len();
                    (AttributeValues::Coordinates(values), count)
                }
                ParamType::Rgb => {
                    let (values, space) = params.rgbs(name)?.unwrap_or_default();
                    let values = self.rgbs(entity, values, space, ColourRole::Reflectance)?;
                    let count = values.len();
                    (AttributeValues::Colours(values), count)
                }
                ParamType::Float => {
                    let values = params.floats(name)?.unwrap_or_default().to_vec();
                    let count = values.len();
                    (AttributeValues::Numbers(values), count)
                }
                ty => {
                    let message = format!("\"{ty} {name}\" has the wrong type");
                    let help =
                        format!("write \"float {name}\", \"point2 {name}\" or \"rgb {name}\"");
                    return Err(entity.param_error(name, message).help(help));
                }
            };
            if count != vertices {
                let message = format!("\"{name}\" has {count} values for {vertices} vertices");
                return Err(entity.param_error(name, message).help("give one for each vertex"));
            }
            attributes.push((id, values));
        }
        Ok(attributes)
    }

    /// Warns about attributes of a file's vertices with values that are not finite.
    pub(super) fn check_values_of_vertices(
        &mut self,
        entity: &Entity,
        path: &Path,
        attributes: &[(String, AttributeValues)],
    ) -> Result<(), SceneError> {
        for (name, values) in attributes {
            let number = match values.count_not_finite() {
                0 => continue,
                1 => "1 vertex has a value that is not finite".to_owned(),
                n => format!("{n} vertices have values that are not finite"),
            };
            let path = path.display();
            let message = format!("{path}: {number} in the attribute \"{name}\"");
            self.warn(entity, message, "0; export the mesh again")?;
        }
        Ok(())
    }

    /// Warns about attributes that textures of a shape's material or opacity read without a default,
    /// and that the shape lacks.
    pub(super) fn check_attributes(
        &mut self,
        entity: &Entity,
        required: AttributeSet,
        has: AttributeSet,
    ) -> Result<(), SceneError> {
        for position in 0..self.attributes.0.len() {
            let Some(id) = AttributeId::new(position) else { break };
            if has.contains(id) || !required.contains(id) {
                continue;
            }
            let attribute = &self.attributes.0[position];
            let mut message = format!(
                "a texture on this \"{}\" reads the attribute \"{attribute}\" of vertices, which it \
                 lacks",
                entity.name
            );
            if entity.params.find("displacement").is_some() {
                message += "; displaced meshes have no attributes";
            }
            let fallback = "the default of the texture, or u and v of the surface";
            self.warn(entity, message, fallback)?;
        }
        Ok(())
    }
}

/// The error of an entity that reads one attribute too many.
pub(super) fn too_many_attributes(entity: &Entity) -> SceneError {
    let message = format!("textures read more than {} attributes of vertices", AttributeId::COUNT);
    entity.error(message).help("use fewer attributes of vertices")
}

/// Returns the attributes that textures of a material read without a default.
pub(super) fn required_attributes(materials: &[Material], material: u32) -> AttributeSet {
    let own = materials[material as usize].needs().required;
    match &materials[material as usize] {
        Material::Mix { materials: parts, .. } => {
            parts.iter().fold(own, |set, &part| set.union(required_attributes(materials, part)))
        }
        Material::Surface { .. } | Material::Interface => own,
    }
}
