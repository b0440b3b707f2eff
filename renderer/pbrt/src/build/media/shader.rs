//! Builds media with a density that is a shader.

use super::{Coefficients, grids, non_negative};
use crate::build::Builder;
use crate::diagnostics::SceneError;
use crate::file::parse::Entity;
use lightbound::medium::{ShaderField, ShaderFieldSettings};
use lightbound_math::Vec3;
use lightbound_shader::ShaderKind;

/// Parameters of media, which densities cannot have.
const RESERVED: [&str; 12] = [
    "type", "filename", "phase", "g", "p0", "p1", "sigma_a", "sigma_s", "scale", "Le", "Lescale",
    "preset",
];

impl Builder<'_> {
    /// Builds the field of the medium with this name. Parameters of the shader are parameters of the
    /// medium.
    pub(super) fn shader_field(
        &mut self,
        entity: &Entity,
        name: &str,
    ) -> Result<ShaderField, SceneError> {
        let Some(file) = entity.params.string("filename")? else {
            let error = entity.error("a medium \"shader\" needs a shader");
            return Err(error.help("give \"string filename\": a .wgsl file with `fn density`"));
        };
        let label = format!("shader {file} of medium \"{name}\"");
        let shader_use = self.shader_use(entity, file, label, ShaderKind::Density, &RESERVED)?;
        let values = self.shader_values(&shader_use)?;
        let bounds = grids::bounds(entity)?;
        let sigma_a = self.coefficient(entity, "sigma_a")?;
        let sigma_s = self.coefficient(entity, "sigma_s")?;
        let scale = non_negative(entity, "scale", 1.0)?;
        let Coefficients { extinction, albedo } =
            Coefficients::new(entity, sigma_a, sigma_s, scale)?;
        let radiance = match entity.params.find("Le") {
            None if shader_use.shader.has_emission() => Vec3::ONE,
            _ => self.medium_emission(entity)?,
        };
        let radiance = radiance * non_negative(entity, "Lescale", 1.0)?;
        let settings = ShaderFieldSettings { bounds, extinction, albedo, radiance };
        self.density(&shader_use, values, settings)
    }
}
