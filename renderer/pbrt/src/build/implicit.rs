//! Builds implicit surfaces: `Shape "implicit"`, an extension to pbrt-v4.

use super::Builder;
use super::media::grids::bounds;
use super::shader_material::check_unused;
use crate::diagnostics::SceneError;
use crate::file::parse::Entity;
use lightbound::geometry::Shape;
use lightbound_math::Transform;
use lightbound_shader::ShaderKind;

/// Parameters of the shape itself, which shaders cannot have.
const PARAMETERS: [&str; 4] = ["filename", "p0", "p1", "alpha"];

impl Builder<'_> {
    /// Builds the zeros of a field in a box. Parameters of the shader are parameters of the shape.
    pub(super) fn implicit(
        &mut self,
        entity: &Entity,
        render_from_shape: &Transform,
    ) -> Result<Shape, SceneError> {
        let Some(file) = entity.params.string("filename")? else {
            let error = entity.error("a shape \"implicit\" needs a shader");
            return Err(error.help(
                "give \"string filename\": a .wgsl file with `fn field(p: vec3f, m: Params) -> f32`",
            ));
        };
        let label = format!("shader {file} of a shape \"implicit\"");
        let shader_use = self.shader_use(entity, file, label, ShaderKind::Function, &PARAMETERS)?;
        if let Some(texture) = shader_use.shader.textures().first() {
            let label = &shader_use.label;
            let error = entity.error(format!("{label} reads the texture `{texture}`"));
            return Err(error.help("implicit surfaces have no textures: compute the field"));
        }
        let values = self.shader_values(&shader_use)?;
        let bounds = bounds(entity)?;
        let implicit = shader_use.implicit(values, bounds, render_from_shape)?;
        check_unused(&[&shader_use], &PARAMETERS)?;
        let shape = Shape::Implicit(implicit);
        if shape.is_empty() {
            let message = format!("{} has no zero in its box", shader_use.label);
            self.warn(entity, message, "no surface")?;
        }
        Ok(shape)
    }
}
