//! Profiles of shaders: taking, writing and using them.

use super::OutputFile;
use crate::Error;
use crate::console::Console;
use crate::output::is_stream;
use lightbound::Scene;
use lightbound::integrator;
use lightbound::material::{
    AppliedProfile, Material, ProfileError, Profiler, ShaderInstance, ShaderProfile,
};
use lightbound::render::{Budget, RenderOptions, Work};
use lightbound_image::write::save;
use lightbound_pbrt::build::LoadedScene;
use lightbound_shader::CompileError;
use std::fs;
use std::path::{Path, PathBuf};

/// Options of profiles, which do not affect pixels.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Work")]
pub struct ShaderProfileArgs {
    /// Write to FILE how often values of the scene's shaders are zero, for --shader-profile
    ///
    /// Shaders count while they render, which takes longer.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["frames", "shader_profile"])]
    pub profile_shaders: Option<PathBuf>,

    /// Skip code of shaders whose result is multiplied by zero: FILE is a profile, which tells where
    /// that saves time; auto takes one of a sample per pixel before the rendering
    ///
    /// Pixels do not depend on it. A profile holds for the scene, the options and the version that it
    /// was taken with, except for the camera, lights, shapes and samples; others are an error.
    #[arg(long, value_name = "FILE|auto")]
    pub shader_profile: Option<PathBuf>,
}

/// A profile to be written after the rendering.
pub struct PendingProfile {
    profiler: Profiler,
    output: OutputFile,
}

impl ShaderProfileArgs {
    /// Checks that the file can be written, before the scene is loaded.
    pub fn check(&self) -> Result<Option<OutputFile>, Error> {
        let Some(path) = &self.profile_shaders else { return Ok(None) };
        if is_stream(path) {
            let message = "--profile-shaders cannot write to stdout";
            return Err(Error::option(message, "name a file"));
        }
        OutputFile::check(path).map(Some)
    }

    /// Checks that a profile replaces neither the image nor an input file of the scene.
    pub fn check_overwrites<'a>(
        output: Option<&OutputFile>,
        image: Option<&Path>,
        mut inputs: impl Iterator<Item = &'a Path>,
    ) -> Result<(), Error> {
        let Some(output) = output else { return Ok(()) };
        let reason = if inputs.any(|path| output.is_same_file(path)) {
            "an input file of the scene"
        } else if image.is_some_and(|path| output.is_same_file(path)) {
            "the image"
        } else {
            return Ok(());
        };
        let name = output.name().display();
        let message = format!("--profile-shaders would overwrite `{name}`, {reason}");
        Err(Error::option(message, "name another file"))
    }

    /// Applies a profile to a loaded scene, if one is requested.
    pub fn apply(
        &self,
        loaded: &mut LoadedScene,
        options: &RenderOptions<'_>,
        console: Console,
    ) -> Result<Option<AppliedProfile>, Error> {
        let applied = match self.shader_profile.as_deref() {
            None => return Ok(None),
            Some(path) if path == Path::new("auto") => {
                let spinner = console.spinner("profiling shaders".to_owned());
                let profile = take(loaded, options);
                spinner.finish_and_clear();
                let profile = profile?;
                apply(&mut loaded.scene, &profile)
                    .expect("a profile fits the scene that it was taken of")
            }
            Some(path) => {
                let invalid = |error: &dyn std::fmt::Display| Error::Data {
                    message: format!("{}: {error}", path.display()),
                    help: "write a profile of this scene with the same options and \
                           --profile-shaders FILE, or omit --shader-profile"
                        .into(),
                };
                let json = fs::read(path).map_err(|error| Error::Data {
                    message: format!("{}: cannot be read ({error})", path.display()),
                    help: "name a file written by --profile-shaders, or auto".into(),
                })?;
                let profile = ShaderProfile::parse(&json).map_err(|error| invalid(&error))?;
                apply(&mut loaded.scene, &profile).map_err(|error| invalid(&error))?
            }
        };
        Ok(Some(applied))
    }
}

impl PendingProfile {
    /// Prepares to take a profile of the rendering of a scene.
    pub fn start(scene: &mut Scene, output: OutputFile) -> Result<PendingProfile, Error> {
        Ok(PendingProfile { profiler: start(scene)?, output })
    }

    /// Writes the profile.
    pub fn write(self) -> Result<(), Error> {
        let (profile, _) = self.profiler.finish().map_err(cannot_compile)?;
        self.output.write(|path| save(path, &profile.to_json()))?;
        Ok(())
    }
}

/// Takes a profile of one sample per pixel, or of one group of samples.
fn take(loaded: &mut LoadedScene, options: &RenderOptions<'_>) -> Result<ShaderProfile, Error> {
    let profiler = start(&mut loaded.scene)?;
    {
        let LoadedScene { scene, settings, .. } = &*loaded;
        let integrator = integrator::new(scene, settings)?;
        let samples = 0..settings.integrator.sample_group();
        Work::new(scene, settings, &*integrator, samples, options).run(&Budget::default());
    }
    let (profile, shaders) = profiler.finish().map_err(cannot_compile)?;
    loaded.scene.shaders = shaders;
    Ok(profile)
}

fn start(scene: &mut Scene) -> Result<Profiler, Error> {
    let Scene { shaders, materials, media, .. } = scene;
    let phases = media.iter().map(|medium| &medium.phase);
    Profiler::start(shaders, instances(materials).chain(phases)).map_err(cannot_compile)
}

fn apply(scene: &mut Scene, profile: &ShaderProfile) -> Result<AppliedProfile, ProfileError> {
    let Scene { shaders, materials, media, .. } = scene;
    let phases = media.iter().map(|medium| &medium.phase);
    profile.apply(shaders, instances(materials).chain(phases))
}

fn instances(materials: &[Material]) -> impl Iterator<Item = &ShaderInstance> {
    materials.iter().filter_map(Material::shader)
}

fn cannot_compile(error: CompileError) -> Error {
    Error::Data {
        message: format!("cannot compile the profiled shaders: {error}"),
        help: "omit --profile-shaders and --shader-profile".into(),
    }
}
