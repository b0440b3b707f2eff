//! Options of the integrator path, and what a picture's file tells of its settings.

use crate::cli::Error;
use crate::cli::part::Attributes;
use lightbound::image::write::Attribute;
use lightbound::scene::build::PathOverrides;
use lightbound::scene::{LightSampling, Method, MethodName, PathSettings};

/// Options of it; each goes before what the scene says.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Path tracing")]
pub struct PathArgs {
    /// How a light is chosen at a point; it changes noise, not the picture [default: the scene's, or power]
    #[arg(long, value_enum)]
    light_sampling: Option<LightSampling>,
}

impl PathArgs {
    /// What goes before the scene's settings.
    pub fn overrides(&self) -> PathOverrides {
        PathOverrides { light_sampling: self.light_sampling }
    }

    /// Refuses options that do nothing for an integrator.
    pub fn check(&self, method: &Method) -> Result<(), Error> {
        match method {
            Method::Lightcuts(_) if self.light_sampling.is_some() => Err(Error::Option {
                message: "--light-sampling is for the integrator path; this picture is rendered by lightcuts".into(),
                help: format!("add --integrator {}, or leave --light-sampling out", MethodName::Path.word()),
            }),
            Method::Lightcuts(_) | Method::Path(_) => Ok(()),
        }
    }
}

/// The settings on which the bits of a picture depend.
pub fn attributes(settings: &PathSettings) -> Attributes {
    [("lightbound/lightSampling".to_owned(), Attribute::text(settings.light_sampling.word()))].into()
}
