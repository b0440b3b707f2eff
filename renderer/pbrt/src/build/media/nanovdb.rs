//! Builds media from NanoVDB files.

use super::{Coefficients, non_negative};
use crate::build::{Builder, RELATIVE_PATHS};
use crate::diagnostics::SceneError;
use crate::file::parse::Entity;
use crate::nanovdb::{FloatGrid, NanoVdb};
use lightbound::medium::{DensityField, Emission, Grid, Volume};
use lightbound_math::Aabb;

impl Builder<'_> {
    pub(super) fn nanovdb(&mut self, entity: &Entity) -> Result<DensityField, SceneError> {
        let p = &entity.params;
        let Some(name) = p.string("filename")?.filter(|name| !name.is_empty()) else {
            let error = entity.error("a medium \"nanovdb\" needs a file");
            return Err(error.help("give \"string filename\", a .nvdb file"));
        };
        let path = self.path(name);
        let file = self.inputs.read(&path).map_err(|e| {
            entity.error(format!("{} cannot be read: {e}", path.display())).help(RELATIVE_PATHS)
        })?;
        let unusable = |e: &dyn std::fmt::Display| {
            let error = entity.error(format!("{} cannot be used: {e}", path.display()));
            error.help("give a .nvdb file with a fog volume of floats")
        };
        let file = NanoVdb::parse(&file).map_err(|e| unusable(&e))?;
        let grid = |name: &str| file.float_grid(name).map_err(|e| unusable(&e));
        let names = || {
            let names = file.names().map(|name| format!("\"{name}\""));
            format!("the file has {}", names.collect::<Vec<_>>().join(", "))
        };

        let density_name = p.string("gridname")?.unwrap_or("density");
        let Some(FloatGrid { grid: density, bounds }) = grid(density_name)? else {
            let message = format!("{} has no grid \"{density_name}\"", path.display());
            let remedy = format!("{}: name one with \"string gridname\"", names());
            return Err(entity.param_error("gridname", message).help(remedy));
        };
        let given = p.string("temperaturename")?;
        let temperature = grid(given.unwrap_or("temperature"))?;
        if let (Some(name), None) = (given, &temperature) {
            let message = format!("{} has no grid \"{name}\" ({})", path.display(), names());
            self.warn(entity, message, "a medium that does not emit")?;
        }
        let bounds = temperature.iter().fold(bounds, |bounds, grid| bounds.union(grid.bounds));
        let size = bounds.max - bounds.min;
        if !(size.min_element() > 0.0 && size.is_finite()) {
            let message = format!("{} has no active values", path.display());
            return Err(entity.error(message).help("give a file with a density"));
        }
        let mut density = Volume::sparse(density);
        let [min, max] = density.range(bounds);
        if min < 0.0 {
            let message = format!("{} has negative densities, down to {min}", path.display());
            self.warn(entity, message, "0")?;
            density = density.non_negative();
        }
        let Coefficients { extinction, albedo } = self.grid_coefficients(entity, max.max(0.0))?;
        let factor = non_negative(entity, "Lescale", 1.0)?;
        let body = match temperature {
            Some(FloatGrid { grid, .. }) => {
                self.black_body(entity, Volume::sparse(grid), bounds)?
            }
            None => {
                // Their values have no effect.
                for name in ["temperatureoffset", "temperaturecutoff", "temperaturescale"] {
                    p.float(name)?;
                }
                None
            }
        };
        let emission = body
            .filter(|_| factor > 0.0)
            .map(|body| Emission::BlackBody(Box::new(body), constant(bounds, factor)));
        Ok(DensityField { bounds, density, extinction, albedo, emission })
    }
}

/// Returns a grid with one value everywhere.
fn constant(bounds: Aabb, value: f32) -> Grid<f32> {
    Grid::new(bounds, [1; 3], vec![value], value)
}
