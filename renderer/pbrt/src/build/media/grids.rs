//! Builds media with values on regular grids: `uniformgrid` and `rgbgrid`.

use super::{Coefficients, non_negative};
use crate::build::{Builder, ColourRole};
use crate::diagnostics::SceneError;
use crate::file::parse::Entity;
use lightbound::medium::{BlackBody, DensityField, Emission, Grid, RgbField, Volume};
use lightbound_math::spectrum::CIE_Y_INTEGRAL;
use lightbound_math::{Aabb, Vec3};

impl Builder<'_> {
    pub(super) fn uniform_grid(&mut self, entity: &Entity) -> Result<DensityField, SceneError> {
        let (bounds, resolution) = (bounds(entity)?, resolution(entity)?);
        let Some(density) = self.non_negative_values(entity, "density", resolution)? else {
            let error = entity.error("a medium \"uniformgrid\" needs densities");
            return Err(error.help("give \"float density\", nx · ny · nz numbers"));
        };
        let temperature = values(entity, "temperature", resolution)?;
        let le = self.medium_emission(entity)?;
        if temperature.is_some() && entity.params.find("Le").is_some() {
            return Err(entity
                .error("both \"Le\" and \"temperature\" are given")
                .help("remove one of them"));
        }
        // As in pbrt-v4, a default factor is a grid, too: it falls to 1/8 at the corners.
        let factor = match entity.params.floats("Lescale")? {
            None => Grid::new(bounds, [1; 3], vec![1.0], 0.0),
            Some(&[factor]) => Grid::new(bounds, [1; 3], vec![factor.max(0.0)], 0.0),
            Some(_) => {
                let values = self.non_negative_values(entity, "Lescale", resolution)?;
                Grid::new(bounds, resolution, values.expect("the parameter exists"), 0.0)
            }
        };
        let emission = match temperature {
            Some(values) => {
                let values = Grid::new(bounds, resolution, values.to_vec(), 0.0);
                let values = Volume::dense(values);
                self.black_body(entity, values, bounds)?
                    .map(|body| Emission::BlackBody(Box::new(body), factor))
            }
            None => (le != Vec3::ZERO).then_some(Emission::Radiance(le, factor)),
        };
        let density = Volume::dense(Grid::new(bounds, resolution, density, 0.0));
        let coefficients = self.grid_coefficients(entity, density.range(bounds)[1])?;
        let Coefficients { extinction, albedo } = coefficients;
        Ok(DensityField { bounds, density, extinction, albedo, emission })
    }

    pub(super) fn rgb_grid(&mut self, entity: &Entity) -> Result<RgbField, SceneError> {
        let (bounds, resolution) = (bounds(entity)?, resolution(entity)?);
        let reflectance = ColourRole::Reflectance;
        let sigma_a = self.colours(entity, "sigma_a", resolution, reflectance)?;
        let sigma_s = self.colours(entity, "sigma_s", resolution, reflectance)?;
        let le = self.colours(entity, "Le", resolution, ColourRole::Light)?;
        let remedy = match (&sigma_a, &sigma_s, &le) {
            (None, None, _) => Some("give \"rgb sigma_a\" or \"rgb sigma_s\""),
            (None, _, Some(_)) => Some("only what absorbs light can emit it: give \"rgb sigma_a\""),
            _ => None,
        };
        if let Some(remedy) = remedy {
            let error = entity.error("a medium \"rgbgrid\" needs coefficients");
            return Err(error.help(remedy));
        }
        let scale = non_negative(entity, "scale", 1.0)?;
        // Missing coefficients are 1 everywhere, those of a grid are 0 outside.
        let outside = |grid: &Option<Vec<Vec3>>| match grid {
            Some(_) => Vec3::ZERO,
            None => Vec3::splat(scale),
        };
        let (outside_a, outside_s) = (outside(&sigma_a), outside(&sigma_s));
        let scaled = |grid: Option<Vec<Vec3>>| {
            let count = resolution.iter().product();
            grid.unwrap_or_else(|| vec![Vec3::ONE; count]).into_iter().map(move |x| scale * x)
        };
        let scattering: Vec<Vec3> = scaled(sigma_s).collect();
        let sums = scaled(sigma_a).zip(&scattering).map(|(a, &s)| a + s);
        let extinction: Vec<Vec3> = sums.collect();
        if !extinction.iter().all(|x| x.is_finite()) {
            return Err(super::infinite(entity));
        }
        let le = match le {
            None => None,
            Some(values) => {
                // pbrt-v4 does not normalize this emission: white has the luminance of its
                // unnormalized illuminant.
                let scale = non_negative(entity, "Lescale", 1.0)? * CIE_Y_INTEGRAL;
                let values = values.into_iter().map(|x| scale * x).collect();
                Some(Grid::new(bounds, resolution, values, Vec3::ZERO))
            }
        };
        Ok(RgbField::new(
            Grid::new(bounds, resolution, extinction, outside_a + outside_s),
            Grid::new(bounds, resolution, scattering, outside_s),
            le,
        ))
    }

    /// Reads the coefficients per unit of density. `max` is the largest density.
    pub(super) fn grid_coefficients(
        &mut self,
        entity: &Entity,
        max: f32,
    ) -> Result<Coefficients, SceneError> {
        let (sigma_a, sigma_s) =
            (self.coefficient(entity, "sigma_a")?, self.coefficient(entity, "sigma_s")?);
        let scale = non_negative(entity, "scale", 1.0)?;
        let coefficients = Coefficients::new(entity, sigma_a, sigma_s, scale)?;
        match (max * coefficients.extinction).is_finite() {
            true => Ok(coefficients),
            false => Err(super::infinite(entity)),
        }
    }

    /// Reads the parameters of black bodies; `None` if none glows.
    pub(super) fn black_body(
        &mut self,
        entity: &Entity,
        temperature: Volume,
        bounds: Aabb,
    ) -> Result<Option<BlackBody>, SceneError> {
        let p = &entity.params;
        let cutoff = p.float("temperaturecutoff")?.unwrap_or(0.0);
        let offset = p.float("temperatureoffset")?.unwrap_or(cutoff);
        let scale = p.float("temperaturescale")?.unwrap_or(1.0);
        Ok(BlackBody::new(temperature, bounds, offset, scale))
    }

    /// Reads a number for each voxel. Warns about negative ones.
    fn non_negative_values(
        &mut self,
        entity: &Entity,
        name: &str,
        resolution: [usize; 3],
    ) -> Result<Option<Vec<f32>>, SceneError> {
        let Some(values) = values(entity, name, resolution)? else { return Ok(None) };
        let negative = values.iter().filter(|&&x| x < 0.0).count();
        if negative > 0 {
            let location = entity.params.find(name).map(|param| &param.location);
            let message = format!("{negative} of {} values \"{name}\" are negative", values.len());
            self.diagnostics.warn(location, message, "0")?;
        }
        Ok(Some(values.iter().map(|x| x.max(0.0)).collect()))
    }

    /// Reads a colour for each voxel, in linear sRGB.
    fn colours(
        &mut self,
        entity: &Entity,
        name: &str,
        resolution: [usize; 3],
        role: ColourRole,
    ) -> Result<Option<Vec<Vec3>>, SceneError> {
        let Some((values, space)) = entity.params.rgbs(name)? else { return Ok(None) };
        check_count(entity, name, values.len(), resolution)?;
        if values.iter().any(|x| x.min_element() < 0.0) {
            let error = entity.param_error(name, format!("\"{name}\" has a negative component"));
            return Err(error.help("colours are 0 or more"));
        }
        self.rgbs(entity, values, space, role).map(Some)
    }
}

/// Reads the box, `p0` to `p1`; the unit cube by default.
pub(in crate::build) fn bounds(entity: &Entity) -> Result<Aabb, SceneError> {
    let corner = |name: &str, default| {
        Ok::<Vec3, SceneError>(entity.params.point3(name)?.unwrap_or(default))
    };
    let (p0, p1) = (corner("p0", Vec3::ZERO)?, corner("p1", Vec3::ONE)?);
    let bounds = Aabb { min: p0.min(p1), max: p0.max(p1) };
    let size = bounds.max - bounds.min;
    if !(size.min_element() > 0.0 && size.is_finite()) {
        let error = entity.param_error("p1", format!("the box from {p0} to {p1} has no volume"));
        return Err(error.help("give opposite corners of a box"));
    }
    Ok(bounds)
}

/// Reads the numbers of voxels along the axes; 1 by default.
fn resolution(entity: &Entity) -> Result<[usize; 3], SceneError> {
    let mut resolution = [1; 3];
    for (n, name) in resolution.iter_mut().zip(["nx", "ny", "nz"]) {
        match entity.params.int(name)? {
            None => {}
            Some(given @ 1..) => *n = given as usize,
            Some(given) => {
                let error = entity.param_error(name, format!("\"{name}\" is {given}"));
                return Err(error.help("give the number of voxels along this axis"));
            }
        }
    }
    Ok(resolution)
}

/// Reads a number for each voxel.
fn values<'e>(
    entity: &'e Entity,
    name: &str,
    resolution: [usize; 3],
) -> Result<Option<&'e [f32]>, SceneError> {
    let Some(values) = entity.params.floats(name)? else { return Ok(None) };
    check_count(entity, name, values.len(), resolution)?;
    Ok(Some(values))
}

/// Checks that there is a value for each voxel.
fn check_count(
    entity: &Entity,
    name: &str,
    found: usize,
    resolution: [usize; 3],
) -> Result<(), SceneError> {
    let expected = resolution.iter().try_fold(1usize, |product, &n| product.checked_mul(n));
    if expected == Some(found) {
        return Ok(());
    }
    let [nx, ny, nz] = resolution;
    let message = format!("\"{name}\" has {found} values for {nx} × {ny} × {nz} voxels");
    Err(entity
        .param_error(name, message)
        .help("give nx · ny · nz values, in which x varies fastest, or correct nx, ny and nz"))
}
