//! `lightbound render`: renders a scene file to an image.

mod checkpoint;
mod denoised;
mod finished;
mod frames;
mod image_file;
mod job;
mod layers;
mod lightcuts;
mod path;
mod result;
mod shader_profile;
mod tev;
mod work;

use super::console::{self, Console, ProgressFormat, duration};
use super::gltf::GltfArgs;
use super::input;
use super::interrupt::{Interrupt, Stage};
use super::numbers::{choice, integer};
use super::output::OutputFile;
use super::shader::{target_parser, unavailable};
use super::{Error, Exit, contents};
use denoised::DenoisedFile;
use frames::{FrameRange, parse_fps, parse_frames};
use image_file::{Destination, ImageFile, default_output};
use job::{RenderJob, Rendered};
pub use layers::{AvailableLayers, LayerName, film_layers, film_options};
use lightbound::accel::AccelKind;
use lightbound::integrator;
use lightbound::limit_simd;
use lightbound::render::RenderOptions;
use lightbound::settings::{ColourSpace, MethodName, ShadowTerminator};
use lightbound_image::Crop;
use lightbound_image::write::save;
use lightbound_pbrt::SceneError;
use lightbound_pbrt::build::{LoadedScene, NamedShader, Overrides};
use lightbound_pbrt::diagnostics::{Diagnostics, Source, Warning};
use lightbound_shader::Target;
pub use lightcuts::LightcutsArgs;
pub use path::PathArgs;
pub use result::{bound_violation_warning, film_warnings, sample_counts};
use shader_profile::PendingProfile;
pub use shader_profile::ShaderProfileArgs;
use std::cell::Cell;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
pub use work::WorkArgs;

const EXAMPLES: &str = "\
Examples:
  lightbound render scene.pbrt -o picture.exr            with layers, scene-linear
  lightbound render scene.pbrt -o picture.exr --layers beauty,depth
  lightbound render scene.pbrt -o picture.png --exposure 1.5
  lightbound render scene.pbrt --spp 16 --resolution 320x180
  lightbound render scene.pbrt --crop 0.4,0.6,0.4,0.6 --spp 1024
  lightbound render scene.pbrt --time-limit 60 --stats stats.json
  lightbound render scene.pbrt --spp 4096 --noise-threshold 0.02
  lightbound render frame0001.pbrt --frames 1..250 -o picture.####.exr
  lightbound render manylights.pbrt --light-sampling material-tree
  lightbound render scene.pbrt --bsdf-sampling bounds
  lightbound render scene.pbrt --environment studio.hdr
  lightbound render helmet.glb --environment studio.hdr -o helmet.png
  lightbound render robot.glb --camera auto --time 1.5 -o robot.png
  lightbound render robot.glb --frames 1..96 --fps 24 --shutter 1/48
  lightbound render scene.pbrt -o picture.exr --checkpoint 300          and, after an interruption:
  lightbound render scene.pbrt -o picture.exr --checkpoint 300 --resume
  lightbound render scene.pbrt -o picture.exr --spp 256 --keep-sums     and, for more samples:
  lightbound render scene.pbrt -o picture.exr --spp 512 --keep-sums --resume
  lightbound render scene.pbrt --spp 256 --part 1/2 -o a.exr            (see lightbound merge)";

/// Options of `render`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES, allow_negative_numbers = true)]
pub struct Args {
    /// Scene file in pbrt-v4's format (.pbrt, also .pbrt.gz), or a glTF 2.0 asset (.gltf, .glb); -
    /// reads a pbrt scene from stdin, and file names in it are then relative to the current folder
    pub scene: PathBuf,

    /// Render the frames A to B, including B, of a sequence of scene files
    ///
    /// The scene is a file of the sequence, such as frame0012.pbrt, whose last number is replaced;
    /// or a name with #### or %04d for the number. Numbers have the leading zeros of that name, or
    /// as many digits as #. Options that name outputs need #### or %04d, too. Without -o, a frame
    /// is written to its scene's name with .exr, in the current folder. If a file is missing,
    /// nothing is rendered. The first error, or a signal, ends the sequence; finished frames stay.
    /// With --resume from the start, the same command continues a sequence of .exr files: finished
    /// frames are not rendered again. --time-limit applies to each frame.
    #[arg(long, value_name = "A..B", value_parser = parse_frames, allow_hyphen_values = true,
        help_heading = "Image")]
    pub frames: Option<FrameRange>,

    /// Frames of a glTF animation per second: --frames are then frames of one asset, and frame N is
    /// at --time plus N/FPS
    #[arg(long, value_name = "FPS", value_parser = parse_fps, requires = "frames",
        help_heading = "Image")]
    pub fps: Option<f64>,

    /// Output image: .exr (float, with layers), .png (sRGB) or .pfm (float); -, exr:-, png:- or
    /// pfm:- writes to stdout
    ///
    /// The default is the film's file name in the scene, in the current folder, or otherwise the
    /// scene's name with .exr.
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,

    /// Exposure of a .png in stops [default: 0]
    #[arg(long, value_name = "STOPS", value_parser = parse_exposure, help_heading = "Output")]
    pub exposure: Option<f32>,

    /// Colour space of an .exr [default: the film's in the scene, or srgb]
    ///
    /// The file's chromaticities say which it is. Light is computed in linear sRGB and converted,
    /// without chromatic adaptation.
    #[arg(long, value_name = "NAME", value_parser = choice::<ColourSpace>(), help_heading = "Output")]
    pub color_space: Option<ColourSpace>,

    /// Layers of an .exr, separated by commas [default: beauty, albedo, normal, depth, ids, and
    /// cuts with the integrator lightcuts]
    ///
    /// The memory of a rendering follows from its layers: 52 bytes a pixel for beauty, 132 for the
    /// default. The manual, docs/file-formats.md, lists the others.
    #[arg(
        long,
        value_name = "NAME,…",
        value_enum,
        value_delimiter = ',',
        hide_default_value = true,
        help_heading = "Output"
    )]
    pub layers: Vec<LayerName>,

    /// Also write a denoised image: NAME-denoised.exr for NAME.exr, likewise for .png and .pfm
    ///
    /// The image itself is unchanged. Its layers albedo and normal, which guide the denoiser, are
    /// stored. Needs Intel Open Image Denoise 2, see `lightbound help denoise`. An image that a
    /// signal has ended is not denoised.
    #[arg(long, help_heading = "Output")]
    pub denoise: bool,

    /// Also write the variance of each pixel's mean, as channels variance.R, .G and .B of an .exr
    ///
    /// The estimate treats the pixel's samples as independent (sample variance divided by sample
    /// count); it is infinite for a single sample. It is conservative for Sobol' points, the
    /// default of most scenes, which are better distributed than independent samples: the true
    /// error is usually smaller. Use the sampler "independent" for unbiased estimates.
    #[arg(long, help_heading = "Output")]
    pub variance: bool,

    /// Write times, ray counts, memory and warnings as JSON; - writes to stdout
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub stats: Option<PathBuf>,

    /// Print nothing but warnings and errors
    #[arg(short, long, help_heading = "Output")]
    pub quiet: bool,

    /// Show the image in the viewer tev while it is rendered [default address: 127.0.0.1:14158]
    ///
    /// Tiles are sent when they have new samples, in linear sRGB. The image is called like the
    /// output. If tev ends or does not respond, the rendering goes on.
    #[arg(
        long,
        value_name = "HOST:PORT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = tev::DEFAULT_ADDRESS,
        help_heading = "Output"
    )]
    pub tev: Option<String>,

    /// How to show progress
    ///
    /// Objects have the keys activity, fraction, seconds, seconds_left, samples, and noise, which
    /// is null unless there is a --noise-threshold and its estimate.
    #[arg(long, value_enum, default_value = "auto", help_heading = "Output")]
    pub progress: ProgressFormat,

    /// Integrator, overriding the scene's
    #[arg(long, value_parser = choice::<MethodName>(), help_heading = "Image")]
    pub integrator: Option<MethodName>,

    /// Falloff of light where shading normals differ from the surface [default: the scene's, or
    /// hard]
    #[arg(long, value_parser = choice::<ShadowTerminator>(), help_heading = "Image")]
    pub shadow_terminator: Option<ShadowTerminator>,

    /// Samples per pixel, overriding the scene's
    #[arg(long, value_name = "N", value_parser = integer(1..=MAX_SPP), help_heading = "Image")]
    pub spp: Option<u32>,

    /// Random seed; the same seed gives the same pixels [default: the scene's, or 0]
    #[arg(long, value_name = "N", value_parser = integer(0..=u32::MAX), help_heading = "Image")]
    pub seed: Option<u32>,

    /// Size of the full image in pixels, overriding the scene's
    #[arg(long, value_name = "WxH", value_parser = parse_resolution, allow_hyphen_values = true,
        help_heading = "Image")]
    pub resolution: Option<(u32, u32)>,

    /// Render a crop of the image only: columns x0..x1 and rows y0..y1, exclusive of x1 and y1,
    /// from the upper left corner; fractions if all are from 0 to 1, otherwise pixels
    ///
    /// An .exr of a crop also contains exact sums in channels sums.*, so that `lightbound merge`
    /// can merge crops.
    #[arg(long, value_name = "x0,x1,y0,y1", allow_hyphen_values = true, help_heading = "Image")]
    pub crop: Option<Crop>,

    /// Light the scene with an environment map instead of its infinite lights
    ///
    /// An .exr, .hdr or .pfm with latitude and longitude (twice as wide as high), or a square map
    /// in pbrt-v4's equal-area layout. It is oriented like the map that it replaces. In other
    /// scenes, its zenith is the axis that points up in the image.
    #[arg(long, value_name = "FILE", help_heading = "Image")]
    pub environment: Option<PathBuf>,

    #[command(flatten)]
    pub gltf: GltfArgs,

    /// Stop this run after SECONDS of rendering, and write the samples so far, at least one per
    /// pixel
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds, help_heading = "Work")]
    pub time_limit: Option<Duration>,

    /// Number of threads, which does not affect pixels [default: all]
    #[arg(long, value_name = "N", value_parser = integer(1..=MAX_THREADS), help_heading = "Work")]
    pub threads: Option<u16>,

    /// Acceleration structure
    #[arg(long, value_parser = choice::<AccelKind>(), default_value = "auto", help_heading = "Work")]
    pub accel: AccelKind,

    /// Instruction set, which does not affect pixels [default: the best of this machine, which may
    /// use AVX-512]
    #[arg(long, value_name = "TARGET", value_parser = target_parser(), help_heading = "Work")]
    pub target: Option<Target>,

    #[command(flatten)]
    pub path: PathArgs,

    #[command(flatten)]
    pub lightcuts: LightcutsArgs,

    #[command(flatten)]
    pub work: WorkArgs,

    #[command(flatten)]
    pub shader_profile: ShaderProfileArgs,

    /// Turn warnings into errors: stop at unsupported features of the scene
    #[arg(long, help_heading = "Work")]
    pub strict: bool,
}

/// Maximum number of samples per pixel: more than any image needs, and the list of passes stays
/// small.
pub(super) const MAX_SPP: u32 = 1 << 24;

/// Maximum number of threads: more than any machine has.
pub(super) const MAX_THREADS: u16 = 4096;

/// Parses `WxH`.
fn parse_resolution(text: &str) -> Result<(u32, u32), String> {
    let size = |s: &str| s.parse().ok().filter(|n| (1..=1 << 16).contains(n));
    let parsed = text.split_once(['x', 'X', '×']).and_then(|(w, h)| Some((size(w)?, size(h)?)));
    parsed.ok_or_else(|| "expected columns x rows, each from 1 to 65536, as in 1920x1080".into())
}

/// Parses a positive time in seconds.
pub(super) fn parse_seconds(text: &str) -> Result<Duration, String> {
    let time = text
        .parse()
        .ok()
        .and_then(|s| Duration::try_from_secs_f64(s).ok())
        .filter(|time| !time.is_zero());
    time.ok_or_else(|| "expected a number of seconds above 0".into())
}

/// Parses an exposure.
pub(super) fn parse_exposure(text: &str) -> Result<f32, String> {
    let stops = text.parse().ok().filter(|stops: &f32| stops.abs() <= 64.0);
    stops.ok_or_else(|| "expected a number of stops from -64 to 64".into())
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Exit, Error> {
    match &args.frames {
        Some(range) => frames::run(args, range),
        None => render_source(&input::scene(&args.scene)?, &[], args),
    }
}

/// Renders a scene from any source, with the given `shaders` and options. Messages call it
/// `args.scene`.
pub fn render_source(
    source: &Arc<Source>,
    shaders: &[NamedShader],
    args: &Args,
) -> Result<Exit, Error> {
    render_scene(&Session::start(args)?, source, shaders, args)
}

/// What all renderings of the process share.
struct Session {
    console: Console,
    interrupt: Interrupt,
    /// Number of threads.
    threads: usize,
    /// Whether frames of the sequence were rendered before.
    is_later_frame: Cell<bool>,
}

impl Session {
    /// Handles signals and starts the thread pool; call once per process.
    fn start(args: &Args) -> Result<Session, Error> {
        let console = Console::with_progress(args.quiet, args.progress);
        let interrupt = Interrupt::install(args.quiet);
        Ok(Session {
            console,
            interrupt,
            threads: prepare(args)?,
            is_later_frame: Cell::new(false),
        })
    }
}

/// See [`render_source`].
fn render_scene(
    session: &Session,
    source: &Arc<Source>,
    shaders: &[NamedShader],
    args: &Args,
) -> Result<Exit, Error> {
    let Session { console, ref interrupt, threads, .. } = *session;
    interrupt.enter(Stage::Loading, None);
    args.gltf.check(&args.scene)?;
    let requested = args.output.as_deref().map(|path| ImageFile::check(path, args)).transpose()?;
    let stats_file = args.stats.as_deref().map(OutputFile::check).transpose()?;
    image_file::check_stdout(requested.as_ref(), stats_file.as_ref(), args)?;
    let profile_file = args.shader_profile.check()?;

    let mut diagnostics = Diagnostics::new(args.strict);
    let loading = console.spinner(format!("loading {}", input::name(&args.scene).display()));
    interrupt.enter(Stage::Loading, Some(loading.clone()));
    let gltf = args.gltf.options(None);
    let loaded = lightbound_gltf::load(source, &gltf, shaders, &args.overrides(), &mut diagnostics)
        .and_then(|loaded| {
            let method = loaded.settings.integrator.method.name();
            if let Some(reason) = loaded.scene.why_black(method) {
                diagnostics.warn(None, reason, "the image is black")?;
            }
            let measures_noise = args.work.noise_threshold.is_some();
            lightcuts::warn(&loaded, measures_noise, &mut diagnostics)?;
            let film = loaded.filename.as_path();
            let output = default_output(&args.scene, film);
            if let Some(name) = film.file_name().filter(|name| *name != output.as_os_str())
                && film.extension().is_some()
                && requested.is_none()
            {
                let message = format!(
                    "the film's file name `{}` does not end in .exr, .png or .pfm",
                    name.display()
                );
                diagnostics.warn(None, message, format!("`{}`", output.display()))?;
            }
            Ok(loaded)
        });
    loading.finish_and_clear();
    for warning in diagnostics.warnings() {
        console::warn(warning);
    }
    let mut loaded = loaded?;
    args.path.check(&loaded.settings.integrator.method)?;
    args.lightcuts.check(&loaded.settings.integrator.method)?;
    let image_file = match requested {
        Some(requested) => requested,
        None => ImageFile::check(&default_output(&args.scene, &loaded.filename), args)?,
    };
    let denoised = match args.denoise {
        true => Some(DenoisedFile::check(&image_file, threads)?),
        false => None,
    };
    let denoised_file = denoised.as_ref().map(|denoised| &denoised.output);
    let stats = stats_file.as_ref();
    image_file::check_overwrites(&image_file, denoised_file, stats, args, &loaded.inputs)?;
    ShaderProfileArgs::check_overwrites(
        profile_file.as_ref(),
        image_file.output.path(),
        loaded.inputs.paths().chain([args.scene.as_path()]),
    )?;
    if !console.is_quiet() {
        console.info(&scene_summary(&loaded));
    }

    let options = RenderOptions { threads, stop: interrupt.stop(), ..RenderOptions::default() };
    let profile = profile_file.map(|output| PendingProfile::start(&mut loaded.scene, output));
    let profile = profile.transpose()?;
    let applied_profile = args.shader_profile.apply(&mut loaded, &options, console)?;
    let integrator = integrator::new(&loaded.scene, &loaded.settings)
        .map_err(|error| SceneError::new(format!("{}: {error}", args.scene.display())))?;
    let args = &args.with_layers_of(&loaded);
    let job = RenderJob {
        args,
        loaded: &loaded,
        integrator: &*integrator,
        threads,
        image_file: &image_file,
        denoised: denoised.as_ref(),
        applied_profile,
        is_later_frame: session.is_later_frame.get(),
    };
    let Some(Rendered { result, destination, failure }) = job.run(console, interrupt)? else {
        if stats_file.is_some() {
            console::warn(&"no statistics are written, since nothing was rendered");
        }
        if profile.is_some() {
            console::warn(&"no profile is written, since nothing was rendered");
        }
        return Ok(Exit::Success);
    };
    let written = destination.output(&image_file).map(OutputFile::name);
    if let Some(name) = written {
        console.info(&result.summary(name));
    }
    let warnings = Vec::from_iter(
        destination.warning(&image_file, &result).into_iter().chain(result.warnings()),
    );
    for warning in &warnings {
        console::warn(warning);
    }
    if let Some(file) = stats_file {
        let all_warnings = diagnostics
            .warnings()
            .iter()
            .map(Warning::to_string)
            .chain(warnings.iter().cloned())
            .collect();
        let json = serde_json::to_vec_pretty(&result.stats(written, all_warnings))
            .expect("the statistics can be serialized");
        file.write(|path| save(path, &json))?;
    }
    if let Some(profile) = profile {
        profile.write()?;
    }
    if let Some(error) = failure {
        return Err(error);
    }
    match warnings.into_iter().next() {
        _ if matches!(destination, Destination::None) => Ok(interrupt.exit()),
        Some(warning) if args.strict => Err(Error::Strict(warning)),
        _ if result.interrupted() => Ok(interrupt.exit()),
        _ => Ok(Exit::Success),
    }
}

/// Checks the target, limits SIMD instructions to it, and starts the thread pool. Returns the
/// number of threads.
fn prepare(args: &Args) -> Result<usize, Error> {
    if let Some(target) = args.target.filter(|target| !target.is_available()) {
        return Err(unavailable(target));
    }
    if let Some(target) = args.target {
        limit_simd(target);
    }
    let threads = args.threads.map_or_else(all_threads, usize::from);
    // This pool loads the scene, and builds acceleration structures and light trees.
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global().map_err(|cause| {
        Error::Option {
            message: format!("cannot start {threads} threads: {cause}"),
            help: "use fewer, with --threads".into(),
        }
    })?;
    Ok(threads)
}

impl Args {
    /// Whether an .exr file also contains exact sums: by default, if it is only a part of the
    /// image.
    fn stores_sums(&self) -> bool {
        self.work.keep_sums || self.crop.is_some() || self.work.of_samples().is_some()
    }

    fn overrides(&self) -> Overrides {
        Overrides {
            accel: self.accel,
            target: self.target.unwrap_or_else(Target::best),
            integrator: self.integrator,
            shadow_terminator: self.shadow_terminator,
            path: self.path.overrides(),
            lightcuts: self.lightcuts.overrides(),
            spp: self.spp,
            seed: self.seed,
            resolution: self.resolution,
            crop: self.crop,
            colour_space: self.color_space,
            environment: self.environment.clone(),
        }
    }
}

/// The number of threads available to the process.
pub(super) fn all_threads() -> usize {
    std::thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

/// Summarizes a loaded scene in one line.
fn scene_summary(loaded: &LoadedScene) -> String {
    let scene = &loaded.scene;
    format!(
        "surfaces: {}; lights: {}; accelerator {}; loaded in {}, built in {}",
        contents::surfaces(&scene.geometry),
        contents::lights(scene),
        scene.accel.name(),
        duration(loaded.load_time),
        duration(loaded.build_time),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resolutions_are_parsed() {
        assert_eq!(parse_resolution("1920x1080"), Ok((1920, 1080)));
        for wrong in ["", "1", "1x", "x1", "0x1", "-1x2", "1x2x3", "70000x1", "1.5x2"] {
            assert!(parse_resolution(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn times_and_exposures_are_parsed() {
        assert_eq!(parse_seconds("1.5"), Ok(Duration::from_millis(1500)));
        assert_eq!(parse_exposure("-2"), Ok(-2.0));
        for wrong in ["", "0", "-1", "inf", "NaN", "1e300", "1s"] {
            assert!(parse_seconds(wrong).is_err(), "{wrong}");
        }
        for wrong in ["", "inf", "NaN", "65"] {
            assert!(parse_exposure(wrong).is_err(), "{wrong}");
        }
    }
}
