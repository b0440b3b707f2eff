//! Options for glTF assets, which `render` and `import` share.

use super::Error;
use lightbound_gltf::{Options, is_gltf_name};
use std::path::{Path, PathBuf};

/// What to take from a glTF asset.
#[derive(Clone, Debug, Default, PartialEq, clap::Args)]
#[command(next_help_heading = "glTF")]
pub struct GltfArgs {
    /// Camera of a glTF asset: a name or an index, or auto, which frames the bounds [default: the
    /// first camera, or auto if there is none]
    #[arg(long, value_name = "NAME")]
    pub camera: Option<String>,

    /// Scene of a glTF asset, a name or an index [default: that of the file]
    #[arg(long, value_name = "NAME")]
    pub scene_name: Option<String>,

    /// Time of the animation of a glTF asset, in seconds [default: the pose without animation]
    #[arg(long, value_name = "SECONDS", value_parser = parse_time)]
    pub time: Option<f64>,

    /// Motion blur of a glTF asset: the shutter is open from --time on for SECONDS, as in 0.02 or
    /// 1/48 [default: nothing moves]
    #[arg(long, value_name = "SECONDS", value_parser = parse_shutter)]
    pub shutter: Option<f64>,

    /// Animation of a glTF asset, a name or an index [default: the first]
    #[arg(long, value_name = "NAME")]
    pub animation: Option<String>,

    /// Variant of the materials of a glTF asset, by name [default: none]
    #[arg(long, value_name = "NAME")]
    pub variant: Option<String>,
}

/// Parses a time.
fn parse_time(text: &str) -> Result<f64, String> {
    let time = text.parse().ok().filter(|time: &f64| time.is_finite());
    time.ok_or_else(|| "expected a number of seconds, as in 1.5".into())
}

/// Parses a duration or a fraction of two numbers.
fn parse_shutter(text: &str) -> Result<f64, String> {
    let (dividend, divisor) = text.split_once('/').unwrap_or((text, "1"));
    let number = |text: &str| text.trim().parse::<f64>().ok();
    let seconds = number(dividend).zip(number(divisor)).map(|(a, b)| a / b);
    let seconds = seconds.filter(|seconds| *seconds >= 0.0 && seconds.is_finite());
    seconds.ok_or_else(|| "expected a number of seconds from 0 on, as in 0.02 or 1/48".into())
}

impl GltfArgs {
    /// Returns the options of the translation.
    pub fn options(&self, environment: Option<PathBuf>) -> Options {
        Options {
            camera: self.camera.clone(),
            scene: self.scene_name.clone(),
            time: self.time,
            shutter: self.shutter,
            animation: self.animation.clone(),
            variant: self.variant.clone(),
            environment,
        }
    }

    /// Returns the options for a frame of the animation.
    pub fn at_frame(&self, frame: u32, fps: f64) -> GltfArgs {
        let time = self.time.unwrap_or(0.0) + f64::from(frame) / fps;
        GltfArgs { time: Some(time), ..self.clone() }
    }

    /// Fails if an option is given for a scene that is not a glTF asset.
    pub fn check(&self, scene: &Path) -> Result<(), Error> {
        if is_gltf_name(scene) || *self == GltfArgs::default() {
            return Ok(());
        }
        let given = [
            ("--camera", self.camera.is_some()),
            ("--scene-name", self.scene_name.is_some()),
            ("--time", self.time.is_some()),
            ("--shutter", self.shutter.is_some()),
            ("--animation", self.animation.is_some()),
            ("--variant", self.variant.is_some()),
        ];
        let name = given.iter().find(|(_, is_given)| *is_given).map_or("", |(name, _)| name);
        Err(Error::option(
            format!("{name} is for glTF assets, and {} is none", scene.display()),
            "remove the option; a pbrt scene has one camera and one time",
        ))
    }
}
