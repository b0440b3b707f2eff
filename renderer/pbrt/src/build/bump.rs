//! Builds bump maps of materials: `displacement` and `normalmap`.

use super::{Builder, image_error};
use crate::diagnostics::SceneError;
use crate::file::parse::Entity;
use lightbound::material::BumpMap;
use lightbound::texture::Param;
use lightbound_image::read::read_with;
use lightbound_image::{Channels, Encoding, Image};
use std::sync::Arc;

impl Builder<'_> {
    /// Reads the normal map or the displacement of a material. Names for which `is_shader_param`
    /// returns true belong to the material's shader.
    pub(super) fn bump_map(
        &mut self,
        entity: &Entity,
        is_shader_param: impl Fn(&str) -> bool,
    ) -> Result<Option<BumpMap>, SceneError> {
        let displacement = match is_shader_param("displacement") {
            true => None,
            false => self.unchecked_float(entity, "displacement")?,
        };
        let normals = match is_shader_param("normalmap") {
            true => None,
            false => self.normal_map(entity)?,
        };
        match (normals, displacement) {
            (Some(normals), displacement) => {
                if displacement.is_some() {
                    let message =
                        "a material cannot have both a \"normalmap\" and a \"displacement\"";
                    self.warn(entity, message, "the normal map alone")?;
                }
                Ok(Some(BumpMap::Normals(normals)))
            }
            // Displacement by a constant does not change normals.
            (None, Some(Param::Constant(_)) | None) => Ok(None),
            (None, Some(height)) => Ok(Some(BumpMap::Displacement(height))),
        }
    }

    /// Reads the image of a normal map. Its values are not colours, so they are not converted to
    /// another colour space.
    fn normal_map(&mut self, entity: &Entity) -> Result<Option<Arc<Image>>, SceneError> {
        let Some(name) = entity.params.string("normalmap")?.filter(|name| !name.is_empty()) else {
            return Ok(None);
        };
        let path = self.path(name);
        if let Some(image) = self.textures.cached_image(&path, NORMALS) {
            return Ok(Some(image));
        }
        let image = read_with(&path, Encoding::Linear, |path| self.inputs.read(path))
            .map_err(|e| image_error(entity, "\"string normalmap\": ", &e))?;
        let error = |message: String| entity.error(format!("\"string normalmap\": {message}"));
        if image.channels() == Channels::Grey {
            return Err(error(format!("{} has one channel", path.display())).help(
                "give an image of normals in red, green and blue; heights are a \"texture displacement\"",
            ));
        }
        let image = self.textures.cache_image(&path, NORMALS, image);
        self.check_finite(entity, &image)?;
        Ok(Some(image))
    }
}

/// Takes the place of the encoding of normal maps in the cache of images.
const NORMALS: &str = "normals";
