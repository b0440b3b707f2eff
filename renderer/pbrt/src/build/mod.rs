//! Builds a [`Scene`] from the `Description` of a scene file.

mod attributes;
mod bump;
mod camera;
mod curves;
mod displacement;
mod implicit;
mod integrator;
mod light_groups;
mod lights;
mod materials;
mod materialx;
mod measured;
mod media;
mod meshes;
mod render_space;
mod settings;
mod shader_material;
mod shader_textures;
mod shaders;
mod shape_errors;
mod shapes;
mod spectra;
mod subsurface;
#[cfg(test)]
mod support;
mod textures;
mod udim;
mod value_checks;

use super::describe::{Description, describe};
use super::diagnostics::{Diagnostics, Location, SceneError, Source};
use super::file::params::{ParamSet, SpectrumParam};
use super::file::parse::Entity;
use super::inputs::InputFiles;
use glam::{DAffine3, DVec3};
pub use integrator::{LightcutsOverrides, PathOverrides};
use lightbound::Scene;
use lightbound::accel::{self, AccelKind};
use lightbound::choice::Choice;
use lightbound::geometry::{Motion, MotionError};
use lightbound::light::{EmissionImage, LightGroups, Lights};
use lightbound::material::measured::MeasuredBrdf;
use lightbound::material::{Material, specialize_programs};
use lightbound::settings::{ColourSpace, MethodName, RenderSettings, ShadowTerminator};
use lightbound::suggestion::did_you_mean;
use lightbound_image::{Crop, Encoding, Image, ImageError, Problem, Window};
use lightbound_math::spectrum::{self, Primaries};
use lightbound_math::{Transform, Vec3};
use lightbound_shader::{Shader, Target};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
pub use udim::image_exists;

/// Overrides of the settings in a scene file.
#[derive(Clone, Debug)]
pub struct Overrides {
    /// Acceleration structure.
    pub accel: AccelKind,
    /// Target that shaders are compiled for.
    pub target: Target,
    /// Integrator; `None` keeps the value in the scene file.
    pub integrator: Option<MethodName>,
    /// Shadow terminator; `None` keeps the value in the scene file.
    pub shadow_terminator: Option<ShadowTerminator>,
    /// Overrides for the path tracer.
    pub path: PathOverrides,
    /// Overrides for lightcuts.
    pub lightcuts: LightcutsOverrides,
    /// Samples per pixel; `None` keeps the value in the scene file.
    pub spp: Option<u32>,
    /// Seed; `None` keeps the value in the scene file (0 by default).
    pub seed: Option<u32>,
    /// Width and height in pixels; `None` keeps the value in the scene file.
    pub resolution: Option<(u32, u32)>,
    /// Crop window; `None` keeps the value in the scene file.
    pub crop: Option<Crop>,
    /// Environment map that replaces the infinite lights of the scene file, or is added to it.
    pub environment: Option<PathBuf>,
    /// Colour space of the image; `None` keeps that of the film in the scene file.
    pub colour_space: Option<ColourSpace>,
}

impl Default for Overrides {
    /// Returns no overrides, and the best acceleration structure and target for this machine.
    fn default() -> Overrides {
        Overrides {
            accel: AccelKind::Auto,
            target: Target::best(),
            integrator: None,
            shadow_terminator: None,
            path: PathOverrides::default(),
            lightcuts: LightcutsOverrides::default(),
            spp: None,
            seed: None,
            resolution: None,
            crop: None,
            environment: None,
            colour_space: None,
        }
    }
}

/// A scene with its settings, input files and load times.
pub struct LoadedScene {
    /// The scene.
    pub scene: Scene,
    /// Render settings.
    pub settings: RenderSettings,
    /// Output file that the film specifies; empty if none.
    pub filename: PathBuf,
    /// Crop window of the scene file in pixels, without overrides; may be empty.
    pub file_window: Window,
    /// Whether the scene's film is `gbuffer`, whose images have layers of positions and variances.
    pub has_feature_film: bool,
    /// Time to read the scene and its input files, and to compile its shaders.
    pub load_time: Duration,
    /// Time to build the lights and the acceleration structure.
    pub build_time: Duration,
    /// The input files.
    pub inputs: InputFiles,
}

/// Loads the scene of a pbrt-v4 file. Unsupported features with a fallback cause warnings.
///
/// # Errors
/// The first fatal problem, with its location and a remedy.
pub fn load(
    path: &Path,
    overrides: &Overrides,
    diagnostics: &mut Diagnostics,
) -> Result<LoadedScene, SceneError> {
    load_source(&Source::file(path), &[], overrides, diagnostics)
}

/// A shader, with the file name by which scenes refer to it.
pub type NamedShader = (String, Arc<Shader>);

/// Like [`load`], for any source. File names in it are relative to the folder of its path.
/// `shaders` take precedence over shader files.
///
/// # Errors
/// The first fatal problem, with its location and a remedy.
pub fn load_source(
    source: &Arc<Source>,
    shaders: &[NamedShader],
    overrides: &Overrides,
    diagnostics: &mut Diagnostics,
) -> Result<LoadedScene, SceneError> {
    let start = Instant::now();
    let mut description = describe(source, diagnostics)?;
    build_scene(&mut description, source, shaders, overrides, diagnostics, start)
}

/// Builds a described scene, and translates the description to render space. `start` is when
/// loading started.
fn build_scene(
    description: &mut Description,
    source: &Arc<Source>,
    shaders: &[NamedShader],
    overrides: &Overrides,
    diagnostics: &mut Diagnostics,
    start: Instant,
) -> Result<LoadedScene, SceneError> {
    let origin = render_space::origin(description);
    render_space::translate(description, -origin);
    let description = &*description;
    let mut builder = Builder {
        folder: description.folder.clone(),
        inputs: description.inputs.clone(),
        start: Location::new(source.clone(), 1, 1),
        diagnostics,
        spectra: spectra::Spectra::default(),
        textures: textures::Textures::default(),
        checks: value_checks::TextureChecks::default(),
        shaders: shaders::Shaders::new(overrides.target, shaders),
        converted: shader_textures::ConvertedTextures::default(),
        documents: materialx::Documents::default(),
        emission_images: HashMap::new(),
        measured: HashMap::new(),
        displacement_edge_scale: settings::displacement_edge_scale(description)?,
        light_groups: LightGroups::default(),
        attributes: attributes::Attributes::default(),
        media: media::Media::default(),
        environment: overrides.environment.clone(),
    };
    let film = builder.film(description, overrides)?;
    let camera = builder.camera(description, &film)?;
    let filter = builder.filter(description)?;
    let sampling = builder.sampler(description, overrides)?;
    let integrator = builder.integrator(description, overrides)?;
    check_sample_groups(sampling.spp, integrator.sample_group())?;
    builder.build_textures(description)?;
    builder.build_media(description, overrides)?;
    let mut materials = builder.materials(description)?;
    let context = RenderContext {
        origin,
        transform_times: description.transform_times,
        shutter: film.shutter,
        lights_move: integrator.method.name() != MethodName::Lightcuts,
    };
    let mut lights = builder.lights(description, &context)?;
    let shapes = builder.shapes(description, &materials, &context, &mut lights)?;
    let (mut shaders, inputs) = (builder.shaders.into_bindings(), builder.inputs);
    let (light_groups, mut media) = (builder.light_groups, builder.media);
    let phases = media.media.iter_mut().map(|medium| &mut medium.phase);
    let surfaces = materials.materials.iter_mut().filter_map(Material::shader_mut);
    specialize_programs(&mut shaders, surfaces.chain(phases));
    let load_time = start.elapsed();

    let start = Instant::now();
    let geometry = Arc::new(shapes.geometry);
    let accel = accel::build(overrides.accel, geometry.clone())
        .map_err(|e| SceneError::new(e.to_string()))?;
    let lights = Lights::new(lights, accel.bounds()).with_groups(light_groups);
    let scene = Scene {
        camera,
        geometry,
        materials: materials.materials,
        shaders,
        material_names: materials.names,
        object_names: shapes.object_names,
        media: media.media,
        camera_medium: media.camera,
        lights,
        accel: accel.into(),
    };
    let settings::Film {
        resolution,
        file_window,
        window,
        shutter: _,
        gain,
        white_balance,
        colour_space,
        filename,
        features,
    } = film;
    let settings = RenderSettings {
        resolution,
        window,
        gain,
        white_balance,
        feature_space: features.unwrap_or_default(),
        colour_space,
        filter,
        sampling,
        integrator,
    };
    let build_time = start.elapsed();
    Ok(LoadedScene {
        scene,
        settings,
        filename,
        file_window,
        has_feature_film: features.is_some(),
        load_time,
        build_time,
        inputs,
    })
}

/// What a colour stands for, which matters if it is converted to another white.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ColourRole {
    /// A fraction of light.
    Reflectance,
    /// Emitted light.
    Light,
}

/// State shared by all build stages.
struct Builder<'a> {
    /// Folder of the main file; all paths are relative to it.
    folder: PathBuf,
    /// Reads input files and records them.
    inputs: InputFiles,
    /// Start of the main file: the location of default entities in messages.
    start: Location,
    diagnostics: &'a mut Diagnostics,
    spectra: spectra::Spectra,
    textures: textures::Textures,
    checks: value_checks::TextureChecks,
    shaders: shaders::Shaders,
    converted: shader_textures::ConvertedTextures,
    documents: materialx::Documents,
    /// Images of area lights.
    emission_images: HashMap<(PathBuf, bool), Arc<EmissionImage>>,
    /// Measured materials.
    measured: HashMap<PathBuf, MeasuredBrdf>,
    /// Factor of the edge lengths of displaced meshes.
    displacement_edge_scale: f32,
    light_groups: LightGroups,
    attributes: attributes::Attributes,
    media: media::Media,
    /// See [`Overrides::environment`].
    environment: Option<PathBuf>,
}

impl Builder<'_> {
    /// Records a warning at an entity.
    fn warn(
        &mut self,
        entity: &Entity,
        message: impl Into<String>,
        fallback: impl Into<String>,
    ) -> Result<(), SceneError> {
        self.diagnostics.warn(Some(&entity.location), message, fallback)
    }

    /// Warns about unused parameters.
    fn warn_unused(&mut self, entity: &Entity) -> Result<(), SceneError> {
        for p in entity.params.unused() {
            let message = match entity.params.suggestion(&p.name) {
                Some(name) => format!(
                    "\"{}\" has no parameter \"{} {}\" (did you mean \"{name}\"?)",
                    entity.name, p.ty, p.name
                ),
                None => format!(
                    "parameter \"{} {}\" of \"{}\" is not supported",
                    p.ty, p.name, entity.name
                ),
            };
            self.diagnostics.warn(Some(&p.location), message, "it is ignored")?;
        }
        Ok(())
    }

    /// Creates the default for an entity that the file omits: one without parameters.
    fn default_entity(&self, name: &str) -> Entity {
        Entity { name: name.into(), params: ParamSet::default(), location: self.start.clone() }
    }

    /// Returns whether the type of an entity is one of the supported `names`. Warns if it is not
    /// but has a fallback; fails if it has none. `category` describes the entity in messages.
    fn check_supported(
        &mut self,
        category: &str,
        entity: &Entity,
        names: &[&str],
        fallback: impl Fn(&str) -> Option<&'static str>,
    ) -> Result<bool, SceneError> {
        if names.contains(&entity.name.as_str()) {
            return Ok(true);
        }
        match fallback(&entity.name) {
            Some(fallback) => {
                self.warn(
                    entity,
                    format!("{category} \"{}\" is not supported", entity.name),
                    fallback,
                )?;
                Ok(false)
            }
            None => {
                let list = format!("the types are {}", names.join(", "));
                let help = did_you_mean(&entity.name, names.iter().copied(), &list);
                Err(entity.error(format!("unknown {category} \"{}\"", entity.name)).help(help))
            }
        }
    }

    /// Returns the path of a file that the scene names.
    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Reads an image file and converts it to linear sRGB.
    fn read_image(
        &mut self,
        entity: &Entity,
        path: &Path,
        encoding: Encoding,
        role: ColourRole,
    ) -> Result<Image, SceneError> {
        self.read_linear(path, encoding, role).map_err(|e| image_error(entity, "", &e))
    }

    /// Like [`Self::read_image`], for files that no entity names.
    fn read_linear(
        &mut self,
        path: &Path,
        encoding: Encoding,
        role: ColourRole,
    ) -> Result<Image, ImageError> {
        let image =
            lightbound_image::read::read_with(path, encoding, |path| self.inputs.read(path))?;
        let from = image.primaries();
        Ok(match from == Primaries::SRGB {
            true => image,
            false => {
                let matrix = match role {
                    ColourRole::Reflectance => from.reflectance_to(&Primaries::SRGB),
                    ColourRole::Light => from.light_to(&Primaries::SRGB),
                };
                image.into_srgb(matrix.expect("images have valid primaries").as_mat3())
            }
        })
    }

    /// Converts a reflectance, η or k spectrum to linear sRGB.
    fn reflectance(&mut self, entity: &Entity, param: &SpectrumParam) -> Result<Vec3, SceneError> {
        self.linear_rgb(entity, param, ColourRole::Reflectance)
    }

    /// Converts an emission spectrum to linear sRGB. As in pbrt-v4, all spectra except RGB are
    /// normalized to luminance 1. The default is the white of the colour space.
    fn emission(&mut self, entity: &Entity, name: &str) -> Result<Vec3, SceneError> {
        let white = SpectrumParam::Rgb([1.0; 3], entity.params.colour_space());
        let param = entity.params.spectrum(name)?.unwrap_or(white);
        self.linear_rgb(entity, &param, ColourRole::Light)
    }

    /// Converts a spectrum to linear sRGB.
    fn linear_rgb(
        &mut self,
        entity: &Entity,
        param: &SpectrumParam,
        role: ColourRole,
    ) -> Result<Vec3, SceneError> {
        match param {
            SpectrumParam::Rgb(rgb, space) => self.rgb(entity, Vec3::from(*rgb), *space, role),
            SpectrumParam::Blackbody(kelvin) => Ok(spectrum::blackbody_rgb(*kelvin)),
            _ => {
                let spectrum = self.spectrum(entity, param)?;
                let spectrum = spectrum.expect("all other variants are sampled");
                Ok(match role {
                    ColourRole::Reflectance => spectrum::reflectance_rgb(&spectrum),
                    ColourRole::Light => spectrum::illuminant_rgb(&spectrum),
                })
            }
        }
    }

    /// Converts a colour to linear sRGB. Warns if it is outside the gamut of sRGB.
    fn rgb(
        &mut self,
        entity: &Entity,
        rgb: Vec3,
        space: ColourSpace,
        role: ColourRole,
    ) -> Result<Vec3, SceneError> {
        Ok(self.rgbs(entity, &[rgb], space, role)?[0])
    }

    /// Converts colours to linear sRGB. Warns about the first that is outside the gamut of sRGB.
    fn rgbs(
        &mut self,
        entity: &Entity,
        colours: &[Vec3],
        space: ColourSpace,
        role: ColourRole,
    ) -> Result<Vec<Vec3>, SceneError> {
        let matrix = match role {
            ColourRole::Reflectance => space.reflectance_to_srgb(),
            ColourRole::Light => space.light_to_srgb(),
        };
        let Some(matrix) = matrix else { return Ok(colours.to_vec()) };
        let is_outside = |rgb: &&Vec3| (matrix * **rgb).min_element() < -1e-5 * rgb.max_element();
        if let Some(Vec3 { x, y, z }) = colours.iter().find(is_outside) {
            let name = space.name();
            self.warn(
                entity,
                format!(
                    "the colour ({x}, {y}, {z}) of {name} is outside the gamut of sRGB, in which \
                     light is computed"
                ),
                "the colour with negative components set to 0",
            )?;
        }
        Ok(colours.iter().map(|&rgb| (matrix * rgb).max(Vec3::ZERO)).collect())
    }
}

/// Remedy for a file that cannot be read.
const RELATIVE_PATHS: &str = "check the path: file names are relative to the folder of the main \
                              scene file";

/// Checks that samples are entire groups of consecutive ones that are rendered together.
fn check_sample_groups(spp: u32, group: u32) -> Result<(), SceneError> {
    if spp.is_multiple_of(group) {
        return Ok(());
    }
    let message = format!("{spp} samples per pixel are no multiple of \"gather\", {group}");
    let help = "each cut gathers that many samples; change one of the numbers";
    Err(SceneError::new(message).help(help))
}

/// Creates the error for an image that an entity names; the message begins with `prefix`.
fn image_error(entity: &Entity, prefix: &str, e: &ImageError) -> SceneError {
    match &e.problem {
        // The problem's own message contains a remedy, too.
        Problem::Read(cause) => entity
            .error(format!("{prefix}{} cannot be read: {cause}", e.path.display()))
            .help(RELATIVE_PATHS),
        _ => entity.error(format!("{prefix}{e}")),
    }
}

/// Where and when a scene is rendered.
struct RenderContext {
    /// The origin, in world space.
    origin: DVec3,
    /// Start and end time of transforms, seconds.
    transform_times: [f32; 2],
    /// Times at which the shutter opens and closes, seconds.
    shutter: [f32; 2],
    /// Whether the integrator renders lights that move.
    lights_move: bool,
}

impl RenderContext {
    /// Creates the motion of an entity at `location`, as [`motion`] does.
    fn motion(
        &self,
        location: &Location,
        user: &str,
        transforms: [DAffine3; 2],
    ) -> Result<Motion, SceneError> {
        Motion::new(transforms, self.transform_times, self.shutter)
            .map_err(|error| motion_error(location, user, error))
    }
}

/// Creates the motion of an entity at `location` between two transforms. `user` describes the
/// entity.
fn motion(
    location: &Location,
    user: &str,
    transforms: [DAffine3; 2],
    d: &Description,
    shutter: [f32; 2],
) -> Result<Motion, SceneError> {
    Motion::new(transforms, d.transform_times, shutter)
        .map_err(|error| motion_error(location, user, error))
}

/// Returns the error of a motion that cannot be created.
fn motion_error(location: &Location, user: &str, error: MotionError) -> SceneError {
    SceneError::at(location, format!("this {user} cannot move: {error}"))
        .help("check the transforms at start and end time for zero, extreme or negative scales")
}

/// Converts a transform. Fails if it is not invertible in single precision.
fn transform(entity: &Entity, ctm: DAffine3) -> Result<Transform, SceneError> {
    Transform::new(ctm).ok_or_else(|| {
        let error = entity.error(format!(
            "the transform of this \"{}\" cannot be inverted in single precision",
            entity.name
        ));
        error.help("check for zero or extreme scales")
    })
}
