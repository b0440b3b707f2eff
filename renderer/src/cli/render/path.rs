//! Options of the integrator path, and what a picture's file tells of its settings.

use crate::cli::Error;
use crate::cli::part::Attributes;
use lightbound::image::write::Attribute;
use lightbound::scene::build::PathOverrides;
use lightbound::scene::{
    BsdfSampling, LightSampling, Method, MethodName, PathSettings, SkySampling,
};

/// Options of it; each goes before what the scene says.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Path tracing")]
pub struct PathArgs {
    /// How a light is chosen at a point; it changes noise, not the picture [default: the scene's,
    /// or auto]
    #[arg(long, value_enum)]
    light_sampling: Option<LightSampling>,

    /// How a direction is drawn at a surface; it changes noise, not the picture [default: the
    /// scene's, or shader]
    #[arg(long, value_enum)]
    bsdf_sampling: Option<BsdfSampling>,

    /// How light of a sky that is an image is drawn; it changes noise, not the picture [default:
    /// the scene's, or map]
    #[arg(long, value_enum)]
    sky_sampling: Option<SkySampling>,
}

impl PathArgs {
    /// What goes before the scene's settings.
    pub fn overrides(&self) -> PathOverrides {
        PathOverrides {
            light_sampling: self.light_sampling,
            bsdf_sampling: self.bsdf_sampling,
            sky_sampling: self.sky_sampling,
        }
    }

    /// Refuses options that do nothing for an integrator.
    pub fn check(&self, method: &Method) -> Result<(), Error> {
        let options = [
            ("--light-sampling", self.light_sampling.is_some()),
            ("--bsdf-sampling", self.bsdf_sampling.is_some()),
            ("--sky-sampling", self.sky_sampling.is_some()),
        ];
        match (method, options.into_iter().find(|(_, given)| *given)) {
            (Method::Lightcuts(_), Some((option, _))) => Err(Error::Option {
                message: format!(
                    "{option} is for the integrator path; this picture is rendered by lightcuts"
                ),
                help: format!(
                    "add --integrator {}, or leave {option} out",
                    MethodName::Path.word()
                ),
            }),
            (Method::Lightcuts(_), None) | (Method::Path(_), _) => Ok(()),
        }
    }
}

/// The settings on which the bits of a picture depend.
pub fn attributes(settings: &PathSettings) -> Attributes {
    let words = [
        ("lightSampling", settings.light_sampling.word()),
        ("bsdfSampling", settings.bsdf_sampling.word()),
        ("skySampling", settings.sky_sampling.word()),
    ];
    words
        .into_iter()
        .map(|(key, word)| (format!("lightbound/{key}"), Attribute::text(word)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_tell_all_that_pictures_depend_on() {
        let own = PathSettings::default();
        let others = [
            PathSettings { light_sampling: LightSampling::Uniform, ..own },
            PathSettings { bsdf_sampling: BsdfSampling::Bounds, ..own },
            PathSettings { sky_sampling: SkySampling::Product, ..own },
        ];
        assert!(others.iter().all(|other| attributes(other) != attributes(&own)));
        assert_eq!(
            attributes(&own)[1],
            ("lightbound/bsdfSampling".into(), Attribute::text("shader"))
        );
    }
}
