//! Options of the path integrator, and the EXR attributes of its settings.

use crate::Error;
use crate::numbers::choice;
use lightbound::choice::Choice;
use lightbound::part::Attributes;
use lightbound::settings::{BsdfSampling, Guiding, LightSampling, Method, PathSettings};
use lightbound_image::write::Attribute;
use lightbound_pbrt::build::PathOverrides;

/// Options of the path integrator, which override the scene's settings.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Path tracing")]
pub struct PathArgs {
    /// Light sampling at shading points; affects only noise [default: the scene's, or auto]
    #[arg(long, value_parser = choice::<LightSampling>())]
    light_sampling: Option<LightSampling>,

    /// Sampling of directions at surfaces; affects only noise [default: the scene's, or shader]
    #[arg(long, value_parser = choice::<BsdfSampling>())]
    bsdf_sampling: Option<BsdfSampling>,

    /// Guide paths to where training paths found light; affects only noise [default: the scene's,
    /// or auto]
    ///
    /// Training also decides whether paths branch at their first surface, and about `auto` light
    /// sampling. It takes as long as about eight samples per pixel of an image of 32,768 pixels. It
    /// depends on the scene, the resolution and the seed, but not on the number of samples.
    #[arg(long, value_parser = choice::<Guiding>())]
    guiding: Option<Guiding>,
}

impl PathArgs {
    /// Overrides of the scene's settings.
    pub fn overrides(&self) -> PathOverrides {
        PathOverrides {
            light_sampling: self.light_sampling,
            bsdf_sampling: self.bsdf_sampling,
            guiding: self.guiding,
        }
    }

    /// Rejects options that do not apply to the integrator.
    pub fn check(&self, method: &Method) -> Result<(), Error> {
        let options = [
            ("--light-sampling", self.light_sampling.is_some()),
            ("--bsdf-sampling", self.bsdf_sampling.is_some()),
            ("--guiding", self.guiding.is_some()),
        ];
        match (method, options.into_iter().find(|(_, given)| *given)) {
            (Method::Path(_), _) | (_, None) => Ok(()),
            (_, Some((option, _))) => Err(Error::Option {
                message: format!(
                    "{option} applies only to path and volpath; this render uses {}",
                    method.name().name()
                ),
                help: format!(
                    "add --integrator path, or volpath if the scene has media, or omit {option}"
                ),
            }),
        }
    }
}

/// EXR attributes of the settings that affect the bits of an image.
pub fn attributes(settings: &PathSettings) -> Attributes {
    let names = [
        ("lightSampling", settings.light_sampling.name()),
        ("bsdfSampling", settings.bsdf_sampling.name()),
        ("guiding", settings.guiding.name()),
    ];
    names
        .into_iter()
        .map(|(key, name)| (format!("lightbound/{key}"), Attribute::text(name)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_include_all_settings_that_affect_the_image() {
        let base = PathSettings::default();
        let others = [
            PathSettings { light_sampling: LightSampling::Uniform, ..base },
            PathSettings { bsdf_sampling: BsdfSampling::Bounds, ..base },
            PathSettings { guiding: Guiding::Off, ..base },
        ];
        assert!(others.iter().all(|other| attributes(other) != attributes(&base)));
        assert_eq!(
            attributes(&base)[1],
            ("lightbound/bsdfSampling".into(), Attribute::text("shader"))
        );
    }
}
