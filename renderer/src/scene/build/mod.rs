//! From the description of a scene file to a [`Scene`].

mod integrator;
mod lights;
mod materials;
mod settings;
mod shader_material;
mod shader_textures;
mod shaders;
mod shapes;
mod textures;

use super::describe::{Description, describe};
use super::diagnostics::{Diagnostics, Location, SceneError, Source, did_you_mean};
use super::file::params::{ParamSet, SpectrumParam};
use super::file::parse::Entity;
use super::inputs::Inputs;
use super::{MethodName, Scene};
use crate::accel::{self, AccelKind};
use crate::image::{self, Encoding, Image};
use crate::light::Lights;
use crate::math::{Transform, Vec3};
use crate::spectrum::{self, Spectrum};
use glam::DAffine3;
pub use integrator::{LightcutsOverrides, PathOverrides};
use lightbound_shader::{Shader, Target};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What the command line says over the scene file.
#[derive(Clone, Debug)]
pub struct Overrides {
    /// Which accelerator.
    pub accel: AccelKind,
    /// What shaders are compiled for.
    pub target: Target,
    /// Integrator instead of the file's.
    pub integrator: Option<MethodName>,
    /// What is otherwise where the integrator is path.
    pub path: PathOverrides,
    /// What is otherwise where the integrator is lightcuts.
    pub lightcuts: LightcutsOverrides,
    /// Samples per pixel instead of the file's.
    pub spp: Option<u32>,
    /// Seed; the file's, or 0, where there is none.
    pub seed: Option<u32>,
    /// Columns and rows instead of the file's.
    pub resolution: Option<(u32, u32)>,
    /// Part of the image to render, as fractions `x0, x1, y0, y1` (pbrt's crop window).
    pub crop: Option<[f32; 4]>,
}

impl Default for Overrides {
    /// Nothing but what files do not say: the accelerator and the target that are best on this
    /// machine.
    fn default() -> Overrides {
        Overrides {
            accel: AccelKind::Auto,
            target: Target::best(),
            integrator: None,
            path: PathOverrides::default(),
            lightcuts: LightcutsOverrides::default(),
            spp: None,
            seed: None,
            resolution: None,
            crop: None,
        }
    }
}

/// A scene and how long it took to get it.
pub struct Loaded {
    /// The scene.
    pub scene: Scene,
    /// Reading and parsing the scene file and the files it names.
    pub load: Duration,
    /// Building lights and acceleration structure.
    pub build: Duration,
    /// The files that the scene was read from.
    pub inputs: Inputs,
}

/// Reads and builds the scene of a pbrt-v4 file.
///
/// *Errors*: the first thing that makes a picture impossible, with its place and the remedy. What
/// can be replaced by something else is a warning.
pub fn load(
    path: &Path,
    overrides: &Overrides,
    diagnostics: &mut Diagnostics,
) -> Result<Loaded, SceneError> {
    load_source(&Source::file(path), &[], overrides, diagnostics)
}

/// A shader with the name that a scene finds it by.
pub type NamedShader = (String, Arc<Shader>);

/// [`load`] for any source. The files that it names are relative to the folder in its path;
/// `shaders` come before those of files.
pub fn load_source(
    source: &Arc<Source>,
    shaders: &[NamedShader],
    overrides: &Overrides,
    diagnostics: &mut Diagnostics,
) -> Result<Loaded, SceneError> {
    let start = Instant::now();
    let description = describe(source, diagnostics)?;
    let mut builder = Builder {
        folder: description.folder.clone(),
        inputs: description.inputs.clone(),
        start: Location::new(source.clone(), 1, 1),
        diagnostics,
        textures: textures::Textures::default(),
        shaders: shaders::Shaders::new(overrides.target, shaders),
        converted: shader_textures::Converted::default(),
    };
    let film = builder.film(&description, overrides)?;
    let camera = builder.camera(&description, film.resolution)?;
    let filter = builder.filter(&description)?;
    let sampling = builder.sampler(&description, overrides)?;
    let integrator = builder.integrator(&description, overrides)?;
    builder.media(&description)?;
    builder.build_textures(&description)?;
    let materials = builder.materials(&description)?;
    let mut lights = builder.lights(&description)?;
    let shapes = builder.shapes(&description, &materials, &mut lights)?;
    let (shaders, inputs) = (builder.shaders.into_bound(), builder.inputs);
    let load = start.elapsed();

    let start = Instant::now();
    let geometry = Arc::new(shapes.geometry);
    let accel = accel::build(overrides.accel, geometry.clone())
        .map_err(|e| SceneError::new(e.to_string()))?;
    let lights = Lights::new(lights, accel.bounds());
    let scene = Scene {
        camera,
        film,
        filter,
        sampling,
        integrator,
        geometry,
        materials: materials.materials,
        shaders,
        material_names: materials.names,
        object_names: shapes.object_names,
        lights,
        accel: accel.into(),
    };
    Ok(Loaded { scene, load, build: start.elapsed(), inputs })
}

/// What all parts of building share.
struct Builder<'a> {
    /// Folder of the main file, to which all paths are relative.
    folder: PathBuf,
    /// All files are read through it.
    inputs: Inputs,
    /// Start of the main file: the place of what the file leaves to defaults.
    start: Location,
    diagnostics: &'a mut Diagnostics,
    textures: textures::Textures,
    shaders: shaders::Shaders,
    converted: shader_textures::Converted,
}

impl Builder<'_> {
    fn warn(
        &mut self,
        entity: &Entity,
        message: impl Into<String>,
        instead: impl Into<String>,
    ) -> Result<(), SceneError> {
        self.diagnostics.warn(Some(&entity.location), message, instead)
    }

    /// Warns of parameters that nobody asked for.
    fn warn_unused(&mut self, entity: &Entity) -> Result<(), SceneError> {
        for p in entity.params.unused() {
            let message = format!(
                "parameter \"{} {}\" of \"{}\" is not supported",
                p.kind, p.name, entity.name
            );
            self.diagnostics.warn(Some(&p.location), message, "it is left out")?;
        }
        Ok(())
    }

    /// An entity the file does not have.
    fn default_entity(&self, name: &str) -> Entity {
        Entity { name: name.into(), params: ParamSet::default(), location: self.start.clone() }
    }

    /// Whether the entity's kind is one of `names`; a warning where `fallback` knows what is used
    /// instead, else an error.
    fn choose(
        &mut self,
        what: &str,
        entity: &Entity,
        names: &[&str],
        fallback: impl Fn(&str) -> Option<&'static str>,
    ) -> Result<bool, SceneError> {
        if names.contains(&entity.name.as_str()) {
            return Ok(true);
        }
        match fallback(&entity.name) {
            Some(instead) => {
                self.warn(entity, format!("{what} \"{}\" is not supported", entity.name), instead)?;
                Ok(false)
            }
            None => {
                let list = format!("the kinds are {}", names.join(", "));
                let help = did_you_mean(&entity.name, names.iter().copied(), &list);
                Err(entity.error(format!("unknown {what} \"{}\"", entity.name)).help(help))
            }
        }
    }

    /// Media are left out: one warning for each kind.
    fn media(&mut self, d: &Description) -> Result<(), SceneError> {
        const MEDIA: [&str; 5] = ["homogeneous", "uniformgrid", "rgbgrid", "cloud", "nanovdb"];
        for medium in &d.media {
            let entity = &medium.entity;
            if MEDIA.contains(&entity.name.as_str()) {
                self.warn(
                    entity,
                    format!("participating medium \"{}\" is not supported", entity.name),
                    "empty space",
                )?;
            } else {
                self.choose("medium", entity, &MEDIA, |_| None)?;
            }
            entity.params.mark_all_used();
        }
        Ok(())
    }

    /// A file that the scene names.
    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// An image of the scene.
    fn read_image(
        &mut self,
        entity: &Entity,
        path: &Path,
        encoding: Encoding,
    ) -> Result<Image, SceneError> {
        image::read::read_by(path, encoding, |path| self.inputs.read(path))
            .map_err(|e| entity.error(e.to_string()))
    }

    /// A spectrum that is not a plain colour; `None` where it is one.
    fn spectrum(
        &mut self,
        entity: &Entity,
        spectrum: &SpectrumParam,
    ) -> Result<Option<Spectrum>, SceneError> {
        match spectrum {
            SpectrumParam::Rgb(_) | SpectrumParam::Blackbody(_) => Ok(None),
            SpectrumParam::Sampled(pairs) => Spectrum::new(
                &pairs.iter().flat_map(|&(nm, value)| [nm, value]).collect::<Vec<_>>(),
            )
            .map(Some)
            .map_err(|e| entity.error(e.to_string())),
            SpectrumParam::Named(name) => match spectrum::named(name) {
                Some(s) => Ok(Some(s)),
                None => Err(entity
                    .error(format!("no spectrum is called \"{name}\""))
                    .help("use a named spectrum of pbrt-v4, a file, or \"rgb\"")),
            },
            SpectrumParam::File(name) => {
                let path = self.path(name);
                let text = self.inputs.read_text(&path).map_err(|e| {
                    entity
                        .error(format!("{} cannot be read: {e}", path.display()))
                        .help("check the path")
                })?;
                let spectrum = spectrum::from_text(&text)
                    .map_err(|e| entity.error(format!("{}: {e}", path.display())))?;
                Ok(Some(spectrum))
            }
        }
    }

    /// A reflectance-like spectrum (also η and k) as linear sRGB.
    fn reflectance(&mut self, entity: &Entity, param: &SpectrumParam) -> Result<Vec3, SceneError> {
        match (param, self.spectrum(entity, param)?) {
            (SpectrumParam::Rgb(rgb), _) => Ok(Vec3::from(*rgb)),
            (SpectrumParam::Blackbody(kelvin), _) => Ok(spectrum::blackbody_rgb(*kelvin)),
            (_, Some(s)) => Ok(spectrum::reflectance_rgb(&s)),
            (_, None) => unreachable!("every other kind is a spectrum"),
        }
    }

    /// An emission spectrum as linear sRGB: an RGB as it is, anything else with luminance 1, as in
    /// pbrt-v4.
    fn emission(&mut self, entity: &Entity, name: &str) -> Result<Vec3, SceneError> {
        let Some(param) = entity.params.spectrum(name)? else { return Ok(Vec3::ONE) };
        match (&param, self.spectrum(entity, &param)?) {
            (SpectrumParam::Rgb(rgb), _) => Ok(Vec3::from(*rgb)),
            (SpectrumParam::Blackbody(kelvin), _) => Ok(spectrum::blackbody_rgb(*kelvin)),
            (_, Some(s)) => Ok(spectrum::illuminant_rgb(&s)),
            (_, None) => unreachable!("every other kind is a spectrum"),
        }
    }
}

/// A transform, which must have an inverse.
fn transform(entity: &Entity, ctm: DAffine3) -> Result<Transform, SceneError> {
    Transform::new(ctm).ok_or_else(|| {
        let error = entity.error(format!(
            "the transform of this \"{}\" cannot be inverted in single precision",
            entity.name
        ));
        error.help("look for a scale of 0, or extreme scales")
    })
}
