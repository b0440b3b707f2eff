//! Builds `Material "measured"` from `.bsdf` files. Each file is read once.

use super::shaders::Variant;
use super::{Builder, RELATIVE_PATHS};
use crate::diagnostics::SceneError;
use crate::file::parse::Entity;
use lightbound::material::Material;
use lightbound::material::measured::{self, MeasuredBrdf};

impl Builder<'_> {
    pub(super) fn measured(&mut self, entity: &Entity) -> Result<Material, SceneError> {
        let Some(name) = entity.params.string("filename")?.filter(|name| !name.is_empty()) else {
            let error = entity.error("a material \"measured\" needs a file");
            return Err(error.help("give \"string filename\", a .bsdf file of the RGL database"));
        };
        let MeasuredBrdf { overrides, textures } = self.measured_brdf(entity, name)?;
        let shader = self.shaders.library(measured::SHADER);
        let states = textures.iter().map(|texture| texture.state(measured::SAMPLER)).collect();
        let binding = self.shaders.bind(Variant::new(shader, &overrides, states), textures);
        let binding =
            binding.map_err(|error| entity.error(format!("{name} cannot be used: {error}")))?;
        Ok(Material::scattering(self.instance(entity, binding, vec![])?))
    }

    fn measured_brdf(&mut self, entity: &Entity, name: &str) -> Result<MeasuredBrdf, SceneError> {
        let path = self.path(name);
        if let Some(brdf) = self.measured.get(&path) {
            return Ok(brdf.clone());
        }
        let file = self.inputs.read(&path).map_err(|e| {
            entity.error(format!("{} cannot be read: {e}", path.display())).help(RELATIVE_PATHS)
        })?;
        let brdf = MeasuredBrdf::parse(&file).map_err(|e| {
            let error = entity.error(format!("{} cannot be used: {e}", path.display()));
            error.help("give a .bsdf file of the RGL database, with spectra or in RGB")
        })?;
        self.measured.insert(path, brdf.clone());
        Ok(brdf)
    }
}
