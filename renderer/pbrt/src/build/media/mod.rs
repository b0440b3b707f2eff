//! Builds participating media, and finds the media on the sides of surfaces.
//!
//! Parameters, defaults and units are those of pbrt-v4 (media.cpp): coefficients are per unit of
//! length in world space, also if the transform of a medium scales.

mod cloud;
pub(super) mod grids;
mod nanovdb;
mod phase;
pub(super) mod presets;
mod shader;

use super::shader_material::check_unused;
use super::{Builder, Overrides, transform};
use crate::describe::{Description, MediumEntity, ShapeEntity};
use crate::diagnostics::SceneError;
use crate::file::params::SpectrumParam;
use crate::file::parse::Entity;
use lightbound::choice::Choice;
use lightbound::medium::{Field, Homogeneous, Medium, MediumInterface, MediumPoint};
use lightbound::suggestion::did_you_mean;
use lightbound_math::{Transform, Vec3};
pub(super) use phase::asymmetry;

/// The participating media of a scene.
#[derive(Default)]
pub(super) struct Media {
    pub media: Vec<Medium>,
    /// Index of the medium around the camera.
    pub camera: Option<u32>,
    /// Whether the integrator renders media. Without it, `media` is empty.
    are_rendered: bool,
}

impl Media {
    /// Returns whether the integrator renders media.
    pub fn are_rendered(&self) -> bool {
        self.are_rendered
    }

    /// Adds a medium and returns its index.
    pub fn add(&mut self, medium: Medium) -> u32 {
        self.media.push(medium);
        self.media.len() as u32 - 1
    }

    /// Returns the media on the sides of a shape whose material has a medium `inside`. Unless
    /// `MediumInterface` says what is outside, it is the medium around the camera.
    pub fn enclose(&self, shape: &ShapeEntity, inside: u32) -> MediumInterface {
        let outside = match shape.media {
            Some(media) => media.outside.map(|index| index as u32),
            None => self.camera,
        };
        MediumInterface { inside: Some(inside), outside }
    }

    /// Returns the media on the sides of a shape, if it separates media that are rendered.
    pub fn interface(&self, shape: &ShapeEntity) -> Option<MediumInterface> {
        let media = shape.media.filter(|media| self.are_rendered && media.is_transition())?;
        let index = |medium: Option<usize>| medium.map(|index| index as u32);
        Some(MediumInterface { inside: index(media.inside), outside: index(media.outside) })
    }
}

/// Types of media.
const MEDIA: [&str; 6] = ["homogeneous", "uniformgrid", "rgbgrid", "cloud", "nanovdb", "shader"];

/// Integrators that ignore media, in pbrt-v4 as well.
const SURFACE_INTEGRATORS: [&str; 7] =
    ["path", "simplepath", "lightpath", "randomwalk", "sppm", "function", "ambientocclusion"];

impl Builder<'_> {
    /// Builds all media. If the integrator ignores media, only checks their types, and warns if
    /// the scene uses media.
    pub(super) fn build_media(
        &mut self,
        d: &Description,
        overrides: &Overrides,
    ) -> Result<(), SceneError> {
        for medium in &d.media {
            self.check_supported("medium", &medium.entity, &MEDIA, |_| None)?;
        }
        if let Some(name) = surface_integrator(d, overrides) {
            let shapes = d.all_shapes().filter_map(|shape| shape.media);
            let has_media =
                shapes.count() > 0 || d.camera.as_ref().is_some_and(|c| c.medium.is_some());
            if has_media {
                let location = match overrides.integrator {
                    None => d.integrator.as_ref().map(|integrator| &integrator.location),
                    Some(_) => None,
                };
                let message = format!("integrator \"{name}\" does not render participating media");
                let fallback = "empty space; \"volpath\" renders them";
                self.diagnostics.warn(location, message, fallback)?;
            }
            d.media.iter().for_each(|medium| medium.entity.params.mark_all_used());
            return Ok(());
        }
        for medium in &d.media {
            let built = self.medium(medium)?;
            self.media.add(built);
        }
        let camera = d.camera.as_ref().and_then(|camera| camera.medium);
        self.media.camera = camera.map(|index| index as u32);
        self.media.are_rendered = true;
        Ok(())
    }

    fn medium(
        &mut self,
        MediumEntity { name, entity, ctm }: &MediumEntity,
    ) -> Result<Medium, SceneError> {
        let placement = || match ctm {
            Ok(ctm) => transform(entity, *ctm),
            Err(fault) => Err(fault.error(&entity.location, "medium")),
        };
        let mut density = None;
        let field: Box<dyn Field> = match entity.name.as_str() {
            "homogeneous" => Box::new(self.homogeneous(entity)?),
            "uniformgrid" => Box::new(self.uniform_grid(entity)?),
            "rgbgrid" => Box::new(self.rgb_grid(entity)?),
            "nanovdb" => Box::new(self.nanovdb(entity)?),
            "cloud" => Box::new(self.cloud(entity)?),
            "shader" => {
                let (field, shader_use) = self.shader_field(entity, name, placement()?)?;
                density = Some(shader_use);
                Box::new(field)
            }
            other => unreachable!("the medium \"{other}\" is in `MEDIA`"),
        };
        // Without bounds, a medium is the same in all spaces.
        let transform = match field.bounds() {
            None => Transform::IDENTITY,
            Some(_) => placement()?,
        };
        let (phase, phase_shader) = self.phase(entity, name)?;
        match &density {
            Some(density) => {
                let shaders: Vec<_> = [density].into_iter().chain(&phase_shader).collect();
                check_unused(&shaders, &shader::PARAMETERS)?;
            }
            None => self.warn_unused(entity)?,
        }
        let medium = Medium::new(name.clone(), transform, field, phase);
        if density.is_some() && medium.is_empty() {
            self.warn(
                entity,
                format!(
                    "the density of medium \"{name}\" is 0 everywhere; NaN and negative numbers \
                     count as 0"
                ),
                "the medium has no effect",
            )?;
        }
        let Some(max) = medium.excessive_density() else { return Ok(medium) };
        let error = match max.is_finite() {
            true => format!(
                "the density or the extinction of medium \"{name}\" may reach {max:e}, too much \
                 to render"
            ),
            false => format!("the density of medium \"{name}\" has no upper bound"),
        };
        let error = entity.error(error);
        Err(match density {
            Some(_) => error.help(
                "limit it in the shader with `min`, also where a division by 0 is possible; \
                 `lightbound shader bound` shows bounds",
            ),
            None => error.help(format!(
                "reduce \"scale\", \"sigma_a\" or \"sigma_s\" to extinctions up to {:e}; a solid \
                 object needs no medium",
                Medium::MAX_EXTINCTION
            )),
        })
    }

    fn homogeneous(&mut self, entity: &Entity) -> Result<Homogeneous, SceneError> {
        let (sigma_a, sigma_s) = match self.preset(entity)? {
            Some(preset) => (preset.sigma_a, preset.sigma_s),
            None => (self.coefficient(entity, "sigma_a")?, self.coefficient(entity, "sigma_s")?),
        };
        let scale = non_negative(entity, "scale", 1.0)?;
        let le = self.medium_emission(entity)? * non_negative(entity, "Lescale", 1.0)?;
        let coefficients = Coefficients::new(entity, sigma_a, sigma_s, scale)?;
        let emission = coefficients.absorption() * le;
        if !emission.is_finite() {
            return Err(entity.error("the medium emits infinite light").help("reduce \"Lescale\""));
        }
        let Coefficients { extinction, albedo } = coefficients;
        Ok(Homogeneous(MediumPoint { extinction, albedo, emission }))
    }

    /// Reads `preset`. As in pbrt-v4, an unknown one causes a warning.
    fn preset(&mut self, entity: &Entity) -> Result<Option<presets::Preset>, SceneError> {
        let Some(name) = entity.params.string("preset")?.filter(|name| !name.is_empty()) else {
            return Ok(None);
        };
        let preset = presets::preset(name);
        if preset.is_none() {
            let help = did_you_mean(name, presets::names(), "\"Skin1\" is one");
            let message = format!("unknown preset \"{name}\" ({help})");
            self.warn(entity, message, "\"sigma_a\" and \"sigma_s\"")?;
        }
        Ok(preset)
    }

    /// Reads a scattering or absorption coefficient; 1 by default.
    fn coefficient(&mut self, entity: &Entity, name: &str) -> Result<Vec3, SceneError> {
        match entity.params.spectrum(name)? {
            Some(spectrum) => self.reflectance(entity, &spectrum),
            None => Ok(Vec3::ONE),
        }
    }

    /// Reads the emitted radiance `Le`; black by default.
    fn medium_emission(&mut self, entity: &Entity) -> Result<Vec3, SceneError> {
        match entity.params.spectrum("Le")? {
            // A spectrum is normalized, except 0.
            Some(SpectrumParam::Sampled(points))
                if points.iter().all(|&(_, value)| value == 0.0) =>
            {
                Ok(Vec3::ZERO)
            }
            Some(_) => self.emission(entity, "Le"),
            None => Ok(Vec3::ZERO),
        }
    }
}

/// Coefficients of a medium, or those per unit of density.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Coefficients {
    pub extinction: Vec3,
    pub albedo: Vec3,
}

impl Coefficients {
    /// Creates the coefficients of absorption and scattering, times a scale.
    pub fn new(
        entity: &Entity,
        sigma_a: Vec3,
        sigma_s: Vec3,
        scale: f32,
    ) -> Result<Coefficients, SceneError> {
        let sum = sigma_a + sigma_s;
        let (extinction, albedo) = (scale * sum, sigma_s / sum.max(Vec3::splat(f32::MIN_POSITIVE)));
        if !(extinction.is_finite() && albedo.is_finite()) {
            return Err(infinite(entity));
        }
        Ok(Coefficients { extinction, albedo: albedo.min(Vec3::ONE) })
    }

    fn absorption(self) -> Vec3 {
        self.extinction * (1.0 - self.albedo)
    }
}

/// Creates the error for an extinction that is not finite.
fn infinite(entity: &Entity) -> SceneError {
    let error = entity.error("the extinction of the medium is infinite");
    error.help("reduce \"scale\", \"sigma_a\" or \"sigma_s\"")
}

/// Reads a number that is not negative.
pub(super) fn non_negative(entity: &Entity, name: &str, default: f32) -> Result<f32, SceneError> {
    match entity.params.float(name)?.unwrap_or(default) {
        x if x >= 0.0 && x.is_finite() => Ok(x),
        x => Err(entity.param_error(name, format!("\"{name}\" is {x}")).help("give 0 or more")),
    }
}

/// Returns the name of the integrator, if it ignores media.
fn surface_integrator<'a>(d: &'a Description, overrides: &Overrides) -> Option<&'a str> {
    let name = match overrides.integrator {
        Some(method) => method.name(),
        // Without an integrator, pbrt-v4 uses `volpath`.
        None => d.integrator.as_ref()?.name.as_str(),
    };
    SURFACE_INTEGRATORS.contains(&name).then_some(name)
}
