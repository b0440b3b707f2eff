//! Builds phase functions: Henyey–Greenstein as in pbrt-v4, or a shader.

use super::Builder;
use crate::build::shader_material::ShaderUse;
use crate::diagnostics::SceneError;
use crate::file::parse::Entity;
use lightbound::material::ShaderInstance;
use lightbound::texture::Param;
use lightbound_shader::ShaderKind;

/// Parameters of media, which phase functions cannot have.
const RESERVED: [&str; 4] = ["type", "phase", "filename", "scale"];

impl Builder<'_> {
    /// Builds the phase function of the medium with this name. `"string phase"` names a shader, whose
    /// parameters are parameters of the medium.
    pub(super) fn phase<'e>(
        &mut self,
        entity: &'e Entity,
        name: &str,
    ) -> Result<(ShaderInstance, Option<ShaderUse<'e>>), SceneError> {
        match entity.params.string("phase")? {
            Some(file) => {
                let label = format!("phase function {file} of medium \"{name}\"");
                let shader_use =
                    self.shader_use(entity, file, label, ShaderKind::Phase, &RESERVED)?;
                let values = self.shader_values(&shader_use)?;
                let instance = self.instantiate(&shader_use, values)?;
                Ok((instance, Some(shader_use)))
            }
            None => {
                let g = asymmetry(entity)?;
                let g = Param::from_float(g);
                Ok((self.library(entity, "henyey_greenstein.wgsl", &[("g", g)])?, None))
            }
        }
    }
}

/// Reads `g`, the mean cosine of the scattering angle.
pub(in crate::build) fn asymmetry(entity: &Entity) -> Result<f32, SceneError> {
    match entity.params.float("g")?.unwrap_or(0.0) {
        g if g > -1.0 && g < 1.0 => Ok(g),
        g => Err(entity
            .param_error("g", format!("\"g\" is {g}"))
            .help("give a number above -1 and below 1: the mean cosine of the scattering angle")),
    }
}
