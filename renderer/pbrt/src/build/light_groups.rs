//! Light groups: the parameter `lightgroup` of light sources and area lights.

use super::Builder;
use crate::diagnostics::SceneError;
use crate::file::parse::Entity;
use lightbound::light::{AnyLight, DEFAULT_GROUP};

/// Returns the name of the group of a light.
pub(super) fn light_group(entity: &Entity) -> Result<&str, SceneError> {
    let name = entity.params.string("lightgroup")?.unwrap_or(DEFAULT_GROUP);
    // Names of EXR layers, and a list of names in an attribute.
    if !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Ok(name);
    }
    let error = entity.param_error("lightgroup", format!("\"lightgroup\" is \"{name}\""));
    Err(error.help("give a name of letters, digits and underscores: it becomes a layer's name"))
}

impl Builder<'_> {
    /// Puts the lights without a group into that of `entity`.
    pub(super) fn assign_light_group(
        &mut self,
        entity: &Entity,
        lights: &[AnyLight],
    ) -> Result<(), SceneError> {
        self.light_groups.assign(light_group(entity)?, lights.len());
        Ok(())
    }
}
