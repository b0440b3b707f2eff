//! The positions in a density for which it is checked or shown.

use super::values::{self, WordRange};
use crate::Error;
use lightbound::math::{Aabb, Vec3};
use lightbound_shader::bounding::MAX_POSITION;
use lightbound_shader::{Shader, ShaderKind};

/// Whether a shader is the field of an implicit surface.
pub fn is_field(shader: &Shader) -> bool {
    shader.kind() == ShaderKind::Function && shader.function_name() == "field"
}

/// The option for a box of positions.
#[derive(Debug, clap::Args)]
pub struct PositionArgs {
    /// Box of positions in a density, in the medium's own space, or in a field that is shown: X, Y
    /// and Z are intervals LO..HI
    /// [default: the unit cube]
    #[arg(long, value_name = "X,Y,Z", value_parser = values::parse_box, allow_hyphen_values = true)]
    p: Option<[WordRange; 3]>,
}

impl PositionArgs {
    /// The box.
    ///
    /// # Errors
    /// If the option is given for another shader than a density, or if the box is empty or too
    /// large.
    pub fn bounds(&self, shader: &Shader) -> Result<Aabb, Error> {
        self.bounds_of("densities", shader.kind() == ShaderKind::Density, shader)
    }

    /// The box, also of a field.
    ///
    /// # Errors
    /// As for [`PositionArgs::bounds`].
    pub fn bounds_with_fields(&self, shader: &Shader) -> Result<Aabb, Error> {
        let is_field = is_field(shader);
        self.bounds_of(
            "densities and fields",
            is_field || shader.kind() == ShaderKind::Density,
            shader,
        )
    }

    /// The box, if it applies to the shader; `those` are the shaders that it applies to.
    fn bounds_of(&self, those: &str, applies: bool, shader: &Shader) -> Result<Aabb, Error> {
        let Some(p) = self.p else {
            return Ok(Aabb { min: Vec3::ZERO, max: Vec3::ONE });
        };
        if !applies {
            let message = format!(
                "--p applies only to {those}: {} is {}",
                shader.name(),
                shader.kind().name()
            );
            return Err(Error::option(message, "omit it"));
        }
        let [min, max] = [0, 1].map(|end| {
            Vec3::from_array(p.map(|WordRange { endpoints, .. }| f32::from_bits(endpoints[end])))
        });
        let is_within =
            min.cmpge(Vec3::splat(-MAX_POSITION)) & max.cmple(Vec3::splat(MAX_POSITION));
        if !(is_within & min.cmplt(max)).all() {
            return Err(Error::option(
                "--p: the box of positions has no volume, or exceeds 1e9",
                "give three intervals within -1e9..1e9, as in --p -2..2,0..1,-2..2",
            ));
        }
        Ok(Aabb { min, max })
    }

    /// What messages call the box.
    pub fn name(&self) -> &'static str {
        if self.p.is_some() { "the box" } else { "the unit cube" }
    }
}
