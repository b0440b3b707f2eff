//! `lightbound render`: a scene file in, a picture out.

use super::console::{self, Console, count, duration, rate};
use super::interrupt::{Interrupt, Stage};
use super::numbers::whole;
use super::output::{Format, Output};
use super::shader::{target_name, unavailable};
use super::stats::{Stats, peak_memory_bytes};
use super::{Error, Exit, layers};
use lightbound::accel::AccelKind;
use lightbound::film::FilmOptions;
use lightbound::image::ImageError;
use lightbound::image::write::{Attribute, save, write_exr, write_pfm, write_png};
use lightbound::integrator::{Integrator, PathTracer};
use lightbound::render::{RenderOptions, Rendering, render};
use lightbound::scene::build::{Loaded, NamedShader, Overrides, load_source};
use lightbound::scene::diagnostics::{Diagnostics, Source, Warning};
use lightbound_shader::Target;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  lightbound render scene.pbrt -o picture.exr            all layers, scene-linear
  lightbound render scene.pbrt -o picture.png --exposure 1.5
  lightbound render scene.pbrt --spp 16 --resolution 320x180
  lightbound render scene.pbrt --crop 0.4,0.6,0.4,0.6 --spp 1024
  lightbound render scene.pbrt --time-limit 60 --stats stats.json";

/// Options of `render`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, allow_negative_numbers = true)]
pub struct Args {
    /// Scene file in pbrt-v4's format (.pbrt, also .pbrt.gz)
    pub scene: PathBuf,

    /// Picture to write: .exr (float, all layers), .png (sRGB) or .pfm (float)
    ///
    /// By default the film's file name in the scene, in the current folder, or else the scene's name with .exr.
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,

    /// Brighten a .png by so many stops [default: 0]
    #[arg(long, value_name = "STOPS", value_parser = stops, help_heading = "Output")]
    pub exposure: Option<f32>,

    /// Write the variance of each pixel's mean, too, as channels variance.R, .G and .B of an .exr
    ///
    /// It is estimated from the pixel's samples as if they were independent (the sample variance over their number), and infinite for a
    /// single sample. Sobol' points, the default of most scenes, are more even than independent ones: for them it is conservative,
    /// that is, the true error is mostly smaller. For unbiased figures use the sampler "independent".
    #[arg(long, help_heading = "Output")]
    pub variance: bool,

    /// Write times, ray counts, memory and warnings as JSON
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub stats: Option<PathBuf>,

    /// Print nothing but warnings and errors
    #[arg(short, long, help_heading = "Output")]
    pub quiet: bool,

    /// Integrator instead of the scene's
    #[arg(long, value_parser = ["path"], help_heading = "Picture")]
    pub integrator: Option<String>,

    /// Samples per pixel instead of the scene's
    #[arg(long, value_name = "N", value_parser = whole(1..=MAX_SPP), help_heading = "Picture")]
    pub spp: Option<u32>,

    /// Seed of the random numbers; the same seed gives the same pixels [default: the scene's, or 0]
    #[arg(long, value_name = "N", value_parser = whole(0..=u32::MAX), help_heading = "Picture")]
    pub seed: Option<u32>,

    /// Size of the whole image instead of the scene's, pixels
    #[arg(long, value_name = "WxH", value_parser = resolution, help_heading = "Picture")]
    pub resolution: Option<(u32, u32)>,

    /// Render a part of the image only; fractions of its width and height from the upper left corner
    #[arg(long, value_name = "x0,x1,y0,y1", value_parser = crop, allow_hyphen_values = true, help_heading = "Picture")]
    pub crop: Option<[f32; 4]>,

    /// Stop after so many seconds of rendering and write the samples so far, at least one per pixel
    #[arg(long, value_name = "SECONDS", value_parser = seconds, help_heading = "Work")]
    pub time_limit: Option<Duration>,

    /// Threads [default: all]; the pixels do not depend on it
    #[arg(long, value_name = "N", value_parser = whole(1..=MAX_THREADS), help_heading = "Work")]
    pub threads: Option<u16>,

    /// Acceleration structure
    #[arg(long, value_enum, default_value = "auto", help_heading = "Work")]
    pub accel: AccelKind,

    /// Instruction set of compiled shaders [default: the best of this machine]; the pixels do not depend on it
    #[arg(long, value_name = "TARGET", value_parser = target_name(), help_heading = "Work")]
    pub target: Option<Target>,

    /// Turn warnings into errors: stop at whatever the scene has that is not supported
    #[arg(long, help_heading = "Work")]
    pub strict: bool,
}

/// More than any picture needs; keeps the list of passes small.
pub(super) const MAX_SPP: u32 = 1 << 24;

/// More than any machine has.
pub(super) const MAX_THREADS: u16 = 4096;

/// Parses `WxH`.
fn resolution(text: &str) -> Result<(u32, u32), String> {
    let side = |s: &str| s.parse().ok().filter(|n| (1..=1 << 16).contains(n));
    let parsed = text.split_once(['x', 'X', '×']).and_then(|(w, h)| Some((side(w)?, side(h)?)));
    parsed.ok_or_else(|| "expected columns x rows, each from 1 to 65536, as in 1920x1080".into())
}

/// Parses `x0,x1,y0,y1`.
fn crop(text: &str) -> Result<[f32; 4], String> {
    let numbers: Option<Vec<f32>> = text.split(',').map(|s| s.trim().parse().ok()).collect();
    match numbers.as_deref() {
        Some(&[x0, x1, y0, y1]) if 0.0 <= x0 && x0 < x1 && x1 <= 1.0 && 0.0 <= y0 && y0 < y1 && y1 <= 1.0 => {
            Ok([x0, x1, y0, y1])
        }
        _ => Err("expected four fractions from 0 to 1, x0 < x1 and y0 < y1, as in 0.25,0.75,0,0.5".into()),
    }
}

/// Parses a time of more than nothing.
fn seconds(text: &str) -> Result<Duration, String> {
    let time = text.parse().ok().and_then(|s| Duration::try_from_secs_f64(s).ok()).filter(|time| !time.is_zero());
    time.ok_or_else(|| "expected a number of seconds above 0".into())
}

/// Parses an exposure.
pub(super) fn stops(text: &str) -> Result<f32, String> {
    let stops = text.parse().ok().filter(|stops: &f32| stops.abs() <= 64.0);
    stops.ok_or_else(|| "expected a number of stops from -64 to 64".into())
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Exit, Error> {
    render_source(&Source::file(&args.scene), &[], args)
}

/// Renders a scene from any source, with `shaders` of its own, as the options say; `args.scene` is its name for the reader.
pub fn render_source(source: &Arc<Source>, shaders: &[NamedShader], args: &Args) -> Result<Exit, Error> {
    let console = Console::new(args.quiet);
    let interrupt = Interrupt::install(args.quiet);
    let named = args.output.as_deref().map(|path| target(path, args)).transpose()?;
    let stats_file = args.stats.as_deref().map(Output::check).transpose()?;

    if let Some(target) = args.target.filter(|target| !target.is_available()) {
        return Err(unavailable(target));
    }
    let threads = args.threads.map_or_else(all_threads, usize::from);
    // For what is built in parallel.
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global().map_err(|cause| Error::Option {
        message: format!("cannot start {threads} threads: {cause}"),
        help: "give fewer with --threads".into(),
    })?;
    let mut diagnostics = Diagnostics::new(args.strict);
    let loading = console.begin(format!("loading {}", args.scene.display()));
    interrupt.enter(Stage::Loading, Some(loading.clone()));
    let loaded = load_source(source, shaders, &args.overrides(), &mut diagnostics).and_then(|loaded| {
        if loaded.scene.lights.all().is_empty() {
            diagnostics.warn(None, "the scene has no light", "the picture is black")?;
        }
        Ok(loaded)
    });
    loading.finish_and_clear();
    for warning in diagnostics.warnings() {
        console::warn(warning);
    }
    let loaded = loaded?;
    let scene = &loaded.scene;
    let (format, output) = match named {
        Some(named) => named,
        None => target(&default_output(&args.scene, &scene.film.filename), args)?,
    };
    if let Some(file) = &stats_file
        && [output.path(), &args.scene].into_iter().any(|other| file.is(other))
    {
        return Err(Error::Option {
            message: format!("--stats would overwrite `{}`", file.path().display()),
            help: "name another file".into(),
        });
    }
    console.say(&contents(&loaded));

    let integrator = PathTracer { max_depth: scene.integrator.max_depth };
    let pixels = u64::from(scene.film.window.width()) * u64::from(scene.film.window.height());
    let progress = console.rendering(pixels, scene.sampling.spp, args.time_limit);
    interrupt.enter(Stage::Rendering, Some(progress.bar()));
    let rendering = render(
        scene,
        &integrator,
        &RenderOptions {
            threads,
            time_limit: args.time_limit,
            film: FilmOptions { features: format == Format::Exr, moments: args.variance },
            stop: interrupt.stop(),
            progress: &|samples| progress.advance(samples),
        },
    );
    progress.finish();
    interrupt.enter(Stage::Writing, None);

    let result =
        Finished { args, loaded: &loaded, rendering: &rendering, integrator: &integrator, threads, interrupt: &interrupt };
    output.write(|path| result.write_picture(path, format))?;
    console.say(&result.summary(output.path()));
    let remarks = result.remarks();
    for remark in &remarks {
        console::warn(remark);
    }
    if let Some(file) = stats_file {
        let warnings = diagnostics.warnings().iter().map(Warning::to_string).chain(remarks.iter().cloned()).collect();
        let json = serde_json::to_vec_pretty(&result.stats(output.path(), warnings)).expect("numbers and texts make JSON");
        file.write(|path| save(path, &json))?;
    }
    match remarks.into_iter().next() {
        Some(remark) if args.strict => Err(Error::Strict(remark)),
        _ if result.interrupted() => Ok(Exit::Interrupted),
        _ => Ok(Exit::Done),
    }
}

impl Args {
    fn overrides(&self) -> Overrides {
        Overrides {
            accel: self.accel,
            target: self.target.unwrap_or_else(Target::best),
            integrator: self.integrator.clone(),
            spp: self.spp,
            seed: self.seed,
            resolution: self.resolution,
            crop: self.crop,
        }
    }
}

/// A place for a picture, and whether the options fit it.
fn target(path: &Path, args: &Args) -> Result<(Format, Output), Error> {
    let format = Format::expect(path)?;
    if args.variance && format != Format::Exr {
        return Err(Error::Option {
            message: format!("--variance is for .exr; `{}` has no place for more than a colour", path.display()),
            help: "write an .exr with -o".into(),
        });
    }
    if args.exposure.is_some() && format != Format::Png {
        return Err(Error::Option {
            message: format!("--exposure is for .png; `{}` keeps scene-linear values", path.display()),
            help: "write a .png with -o, or leave the exposure to the viewer".into(),
        });
    }
    Ok((format, Output::check(path)?))
}

/// The film's file name in the current folder; the scene's name where the film has none that we can write.
fn default_output(scene: &Path, film: &Path) -> PathBuf {
    match film.file_name().map(PathBuf::from) {
        Some(name) if Format::of(&name).is_some() => name,
        Some(name) => name.with_extension("exr"),
        None => {
            let name = Path::new(scene.file_name().unwrap_or_default());
            let name = if name.extension().is_some_and(|e| e == "gz") { name.with_extension("") } else { name.into() };
            name.with_extension("exr")
        }
    }
}

/// As many as the process may use.
pub(super) fn all_threads() -> usize {
    std::thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

/// One line about a loaded scene.
fn contents(loaded: &Loaded) -> String {
    let scene = &loaded.scene;
    let instances = match scene.geometry.instances.len() {
        0 => String::new(),
        n => format!("{}, ", count(n as u64, "instance")),
    };
    format!(
        "{}, {instances}{}, accelerator {}; loaded in {}, built in {}",
        count(scene.geometry.triangles(), "triangle"),
        count(scene.lights.all().len() as u64, "light"),
        scene.accel.name(),
        duration(loaded.load),
        duration(loaded.build),
    )
}

/// A rendered scene, and all that is to be told about it.
struct Finished<'a> {
    args: &'a Args,
    loaded: &'a Loaded,
    rendering: &'a Rendering,
    integrator: &'a dyn Integrator,
    threads: usize,
    interrupt: &'a Interrupt,
}

impl Finished<'_> {
    /// Whether Ctrl-C cost samples.
    fn interrupted(&self) -> bool {
        self.interrupt.stop().load(Ordering::Relaxed) && self.rendering.picture.min_samples < self.loaded.scene.sampling.spp
    }

    fn write_picture(&self, path: &Path, format: Format) -> Result<(), ImageError> {
        let picture = &self.rendering.picture;
        let (width, height) = (picture.window.width(), picture.window.height());
        match format {
            Format::Exr => write_exr(path, &layers::exr_picture(self.loaded.scene.film.resolution, picture, self.attributes())),
            Format::Png => write_png(path, width, height, &picture.radiance, self.args.exposure.unwrap_or(0.0)),
            Format::Pfm => write_pfm(path, width, height, &picture.radiance),
        }
    }

    /// What an EXR file tells of its making.
    fn attributes(&self) -> Vec<(String, Attribute)> {
        let (scene, picture) = (&self.loaded.scene, &self.rendering.picture);
        let text = |s: &str| Attribute::Text(s.into());
        let count = |n: u32| Attribute::Int(n.try_into().unwrap_or(i32::MAX));
        let mut attributes = vec![
            ("lightbound/version", text(env!("CARGO_PKG_VERSION"))),
            // The file's name alone: folders are nobody else's business.
            ("lightbound/scene", text(&self.args.scene.file_name().unwrap_or_default().to_string_lossy())),
            ("lightbound/integrator", text(self.integrator.name())),
            ("lightbound/maxDepth", count(scene.integrator.max_depth)),
            ("lightbound/sampler", text(&format!("{:?}", scene.sampling.kind).to_lowercase())),
            // As text, since EXR's integers have a sign.
            ("lightbound/seed", text(&scene.sampling.seed.to_string())),
            ("lightbound/samples", count(scene.sampling.spp)),
            ("lightbound/minSamples", count(picture.min_samples)),
            ("lightbound/maxSamples", count(picture.max_samples)),
            ("lightbound/gain", Attribute::Float(scene.film.gain)),
            ("lightbound/accel", text(scene.accel.name())),
            ("lightbound/renderSeconds", Attribute::Float(self.rendering.wall.as_secs_f32())),
        ];
        let names = [("lightbound/materials", &scene.material_names), ("lightbound/objects", &scene.object_names)];
        attributes.extend(names.into_iter().filter_map(|(key, names)| Some((key, Attribute::Text(layers::manifest(names)?)))));
        attributes.into_iter().map(|(key, value)| (key.into(), value)).collect()
    }

    /// One line about the picture.
    fn summary(&self, output: &Path) -> String {
        let (picture, spp) = (&self.rendering.picture, self.loaded.scene.sampling.spp);
        let samples = match (picture.min_samples, picture.max_samples) {
            (min, _) if min >= spp => format!("{spp}"),
            (min, max) if min == max => format!("{min} of {spp}"),
            (min, max) => format!("{min} to {max} of {spp}"),
        };
        let per_pixel = if spp == 1 { "sample per pixel" } else { "samples per pixel" };
        let ended = match () {
            _ if picture.min_samples >= spp => "",
            _ if self.interrupted() => " (ended by Ctrl-C)",
            _ => " (ended by the time limit)",
        };
        format!(
            "{}: {} × {} pixels, {samples} {per_pixel}, rendered in {} at {}{ended}",
            output.display(),
            picture.window.width(),
            picture.window.height(),
            duration(self.rendering.wall),
            rate(self.rendering.camera_samples, self.rendering.wall),
        )
    }

    /// What is wrong with the picture.
    fn remarks(&self) -> Vec<String> {
        let (picture, samples) = (&self.rendering.picture, self.rendering.camera_samples);
        let mut remarks = Vec::new();
        if picture.invalid_samples > 0 {
            let n = picture.invalid_samples;
            remarks.push(format!(
                "{n} of {samples} samples were infinite, not a number, or beyond the film's range; instead: they count as black or \
                 as the end of the range"
            ));
        }
        let shading = &self.rendering.counts.shading;
        if shading.capped > 0 {
            let (capped, all) = (shading.capped, shading.evaluations);
            remarks.push(format!("a loop of a shader did not end in {capped} of {all} evaluations; instead: it was cut off"));
        }
        if picture.min_samples == 0 {
            remarks.push("some pixels hold no sample yet; instead: they are black".into());
        }
        remarks
    }

    fn stats(&self, output: &Path, warnings: Vec<String>) -> Stats {
        let (loaded, rendering) = (self.loaded, self.rendering);
        let (scene, picture, shading) = (&loaded.scene, &rendering.picture, &rendering.counts.shading);
        Stats {
            version: env!("CARGO_PKG_VERSION"),
            scene: self.args.scene.display().to_string(),
            output: output.display().to_string(),
            load_seconds: loaded.load.as_secs_f64(),
            build_seconds: loaded.build.as_secs_f64(),
            render_seconds: rendering.wall.as_secs_f64(),
            render_cpu_seconds: rendering.cpu.as_secs_f64(),
            spp: scene.sampling.spp,
            min_samples: picture.min_samples,
            max_samples: picture.max_samples,
            camera_samples: rendering.camera_samples,
            invalid_samples: picture.invalid_samples,
            rays: rendering.counts.rays,
            shadow_rays: rendering.counts.shadow_rays,
            shader_evaluations: shading.evaluations,
            shader_occupancy: (shading.lanes > 0).then(|| shading.evaluations as f64 / shading.lanes as f64),
            shader_capped: shading.capped,
            shader_target: scene.shaders.first().map(|bound| bound.program.target().name()),
            width: picture.window.width(),
            height: picture.window.height(),
            lights: scene.lights.all().len(),
            triangles: scene.geometry.triangles(),
            accel_memory_bytes: scene.accel.memory_bytes(),
            peak_memory_bytes: peak_memory_bytes(),
            threads: self.threads,
            seed: scene.sampling.seed,
            accel: scene.accel.name(),
            integrator: self.integrator.name(),
            interrupted: self.interrupted(),
            warnings,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_several_numbers() {
        assert_eq!(resolution("1920x1080"), Ok((1920, 1080)));
        assert_eq!(crop("0, 0.5,0.25,1"), Ok([0.0, 0.5, 0.25, 1.0]));
        for wrong in ["", "1", "1x", "x1", "0x1", "-1x2", "1x2x3", "70000x1", "1.5x2"] {
            assert!(resolution(wrong).is_err(), "{wrong}");
        }
        for wrong in ["", "0,1,0", "0,1,0,1,0", "0,0,0,1", "1,0,0,1", "0,1.1,0,1", "-0.1,1,0,1", "0,1,0,nan"] {
            assert!(crop(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn options_of_one_number() {
        assert_eq!(seconds("1.5"), Ok(Duration::from_millis(1500)));
        assert_eq!(stops("-2"), Ok(-2.0));
        for wrong in ["", "0", "-1", "inf", "NaN", "1e300", "1s"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
        for wrong in ["", "inf", "NaN", "65"] {
            assert!(stops(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn names_of_pictures_without_one() {
        let name = |scene: &str, film: &str| default_output(Path::new(scene), Path::new(film));
        assert_eq!(name("a/b.pbrt", "out/c.png"), Path::new("c.png"));
        assert_eq!(name("a/b.pbrt", "c.jpg"), Path::new("c.exr"));
        assert_eq!(name("a/b.pbrt", ""), Path::new("b.exr"));
        assert_eq!(name("a/b.pbrt.gz", ""), Path::new("b.exr"));
    }
}
