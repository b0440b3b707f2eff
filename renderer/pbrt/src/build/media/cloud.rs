//! Builds procedural clouds.

use super::grids::bounds;
use super::{Coefficients, non_negative};
use crate::build::Builder;
use crate::diagnostics::SceneError;
use crate::file::parse::Entity;
use lightbound::medium::CloudField;

impl Builder<'_> {
    pub(super) fn cloud(&mut self, entity: &Entity) -> Result<CloudField, SceneError> {
        let bounds = bounds(entity)?;
        let max = CloudField::MAX_COORDINATE;
        if bounds.min.abs().max(bounds.max.abs()).max_element() > max {
            let error = entity.error(format!("the box of the cloud reaches beyond {max:e}"));
            return Err(error.help("give a smaller box, and scale it with a transform"));
        }
        let (sigma_a, sigma_s) =
            (self.coefficient(entity, "sigma_a")?, self.coefficient(entity, "sigma_s")?);
        let Coefficients { extinction, albedo } = Coefficients::new(entity, sigma_a, sigma_s, 1.0)?;
        Ok(CloudField {
            bounds,
            extinction,
            albedo,
            density: parameter(entity, "density", 1.0)?,
            wispiness: parameter(entity, "wispiness", 1.0)?,
            frequency: parameter(entity, "frequency", 5.0)?,
        })
    }
}

/// Reads a number from 0 to the maximum of clouds.
fn parameter(entity: &Entity, name: &str, default: f32) -> Result<f32, SceneError> {
    let max = CloudField::MAX_PARAMETER;
    match non_negative(entity, name, default)? {
        x if x <= max => Ok(x),
        x => {
            let error = entity.param_error(name, format!("\"{name}\" is {x}"));
            Err(error.help(format!("give a number from 0 to {max:e}")))
        }
    }
}
