//! Builds media with a density that is a shader.

use super::{Coefficients, grids, non_negative};
use crate::build::Builder;
use crate::build::shader_material::ShaderUse;
use crate::diagnostics::SceneError;
use crate::file::parse::Entity;
use lightbound::medium::{ShaderField, ShaderFieldSettings};
use lightbound_math::{Transform, Vec3};
use lightbound_shader::ShaderKind;

/// Parameters of media with a shader.
pub(super) const PARAMETERS: [&str; 11] =
    ["type", "filename", "phase", "g", "p0", "p1", "sigma_a", "sigma_s", "scale", "Le", "Lescale"];

impl Builder<'_> {
    /// Builds the field of the medium with this name, from its own space. Parameters of the shader
    /// are parameters of the medium.
    pub(super) fn shader_field<'e>(
        &mut self,
        entity: &'e Entity,
        name: &str,
        render_from_medium: Transform,
    ) -> Result<(ShaderField, ShaderUse<'e>), SceneError> {
        let Some(file) = entity.params.string("filename")? else {
            let error = entity.error("a medium \"shader\" needs a shader");
            return Err(error.help("give \"string filename\": a .wgsl file with `fn density`"));
        };
        let label = format!("shader {file} of medium \"{name}\"");
        // Densities cannot have parameters of media.
        let reserved = [&PARAMETERS[..], &["preset"]].concat();
        let shader_use = self.shader_use(entity, file, label, ShaderKind::Density, &reserved)?;
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
        let settings =
            ShaderFieldSettings { bounds, render_from_medium, extinction, albedo, radiance };
        let field = self.density(&shader_use, values, settings)?;
        Ok((field, shader_use))
    }
}
