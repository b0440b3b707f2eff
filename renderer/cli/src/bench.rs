//! `lightbound bench`: renders a scene with several configurations for equal times or samples, and
//! compares the images with a reference.

use super::compare::RenderCost;
use super::console::{self, Console, count, duration};
use super::interrupt::{Interrupt, Stage};
use super::output::{OutputFile, is_stream};
use super::render::parse_seconds;
use super::{Error, Exit, compare, input, parse_render};
use lightbound_image::layers::{COLOUR, decode_layers};
use lightbound_image::{ImageError, Problem};
use lightbound_regress::report::Report;
use rustix::process::{Pid, Signal, kill_process};
use std::path::{Path, PathBuf};
use std::process::{self, ExitStatus};
use std::sync::atomic::Ordering;
use std::time::Duration;
use toml::de::{DeTable, DeValue};

const EXAMPLES: &str = "\
FILE.toml has a line for each configuration, with options of `lightbound render`:
  path = \"--integrator path\"
  uniform = \"--integrator path --light-sampling uniform\"
  cuts = \"--integrator lightcuts\"

Examples:
  lightbound bench town.pbrt --configs FILE.toml --seconds 1,2,4,8 \\
      --reference town-reference.exr --report town
  lightbound bench town.pbrt --configs FILE.toml --spp 4,16,64 --reference r.exr \\
      --report town -- --resolution 640x360 --threads 4

The configurations take turns: all are rendered for the first time, then for the next. Their seed
differs from that of the reference, unless --seed is one of their options. The images are
DIR/images/NAME-4s.exr or NAME-16spp.exr, and DIR/index.html is the page of
`lightbound compare --report DIR`, which can be written again from them.";

/// Options of `bench`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, allow_negative_numbers = true)]
pub struct Args {
    /// Scene file
    pub scene: PathBuf,

    /// Configurations: a TOML file with names and options of `render`
    #[arg(short, long, value_name = "FILE.toml")]
    pub configs: PathBuf,

    /// Render each configuration for these times, including training; loading does not count
    #[arg(long, value_name = "S,S,…", value_delimiter = ',', value_parser = parse_seconds)]
    pub seconds: Vec<Duration>,

    /// Render each configuration with these numbers of samples per pixel
    #[arg(long, value_name = "N,N,…", value_delimiter = ',', value_parser = super::numbers::integer(1..=MAX_SPP))]
    pub spp: Vec<u32>,

    /// Converged image of the scene
    #[arg(short, long, value_name = "IMAGE")]
    pub reference: PathBuf,

    /// Folder of the images and of the page that compares them
    #[arg(long, value_name = "DIR")]
    pub report: PathBuf,

    /// Options of `render` for all configurations, after --
    #[arg(last = true, value_name = "OPTIONS")]
    pub render: Vec<String>,
}

/// Maximum samples per pixel of a rendering with a time limit, unless the options set one.
const MAX_SPP: u32 = super::render::MAX_SPP;

/// A configuration: its name, and options of `render`.
#[derive(Debug, PartialEq)]
struct Config {
    name: String,
    options: Vec<String>,
}

/// Ends a rendering.
#[derive(Clone, Copy, PartialEq)]
enum Limit {
    Time(Duration),
    Samples(u32),
}

impl Limit {
    /// The end of names of images, as in `4s` and `16spp`.
    fn name(self) -> String {
        match self {
            Limit::Time(time) => format!("{}s", time.as_secs_f64()),
            Limit::Samples(spp) => format!("{spp}spp"),
        }
    }
}

/// A rendering.
struct Run {
    title: String,
    arguments: Vec<String>,
    image: PathBuf,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Exit, Error> {
    if is_stream(&args.reference) {
        return Err(Error::option(
            "the reference is read twice, so it cannot be stdin",
            "name a file",
        ));
    }
    let configs = read_configs(&args.configs)?;
    if args.seconds.is_empty() && args.spp.is_empty() {
        return Err(Error::option(
            "neither times nor numbers of samples are given",
            "add --seconds 1,2,4 or --spp 16,64",
        ));
    }
    // Fail before anything is rendered.
    let reference = input::image_data(&args.reference)?;
    let size = colour_size(&args.reference, &reference)?;
    let seed = RenderCost::read(&args.reference, &reference).seed.map_or(1, |seed| seed ^ 1);
    Report::open(&args.report)?;
    let folder = args.report.join("images");
    let runs = runs(args, &configs, &folder, seed)?;
    if let Some(run) =
        runs.iter().find(|run| OutputFile::File(run.image.clone()).is_same_file(&args.reference))
    {
        return Err(Error::option(
            format!("the reference would be overwritten as `{}`", run.image.display()),
            "name another folder with --report",
        ));
    }
    std::fs::create_dir_all(&folder).map_err(|cause| write_error(&folder, cause))?;
    let (console, interrupt) = (Console::new(false), Interrupt::install(true));
    interrupt.enter(Stage::Testing, None);
    let seconds =
        args.seconds.iter().map(Duration::as_secs_f64).sum::<f64>() * configs.len() as f64;
    let time = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
    let time = if time.is_zero() { String::new() } else { format!(", {}", duration(time)) };
    console.info(&format!("{} to render{time}", count(runs.len() as u64, "image")));
    let mut images = Vec::new();
    for (i, run) in runs.iter().enumerate() {
        console.info(&format!("{} of {}: {}", i + 1, runs.len(), run.title));
        match render(run, &interrupt)? {
            Outcome::Done => images.push(run.image.clone()),
            // Its message is printed, and the others are still worth comparing.
            Outcome::Failed(status) => {
                console::print(&format!("failed: {} ({status})", run.title));
                continue;
            }
            Outcome::Interrupted => {
                // It has fewer samples than its name says.
                let _ = std::fs::remove_file(&run.image);
                console::print("interrupted: the finished images are kept");
                return Ok(interrupt.exit());
            }
        }
        let rendered = colour_size(&run.image, &input::image_data(&run.image)?)?;
        if rendered != size {
            let [[w, h], [x, y]] = [rendered, size];
            return Err(Error::option(
                format!(
                    "{} has {w} × {h} pixels, and the reference {x} × {y}",
                    run.image.display()
                ),
                "render the reference with the same options, or add --resolution after --",
            ));
        }
    }
    let are_all_done = images.len() == runs.len();
    if images.is_empty() {
        return Ok(Exit::InvalidInput);
    }
    let page = compare::Args::page(images, args.reference.clone(), args.report.clone());
    let exit = compare::compare_images(&page)?;
    Ok(if are_all_done { exit } else { Exit::InvalidInput })
}

/// The width and the height of the colours of an image in pixels.
fn colour_size(path: &Path, data: &[u8]) -> Result<[usize; 2], Error> {
    let image = decode_layers(input::name(path), data).map_err(Error::Image)?;
    let window = image.get(COLOUR).or(image.layers.first()).map(|layer| layer.data_window);
    let window = window.unwrap_or(image.display_window);
    Ok([window.width(), window.height()])
}

/// All renderings: those with the first limit, then those with the next.
fn runs(args: &Args, configs: &[Config], folder: &Path, seed: u32) -> Result<Vec<Run>, Error> {
    let times = args.seconds.iter().map(|time| Limit::Time(*time));
    let mut limits: Vec<Limit> = Vec::new();
    for limit in times.chain(args.spp.iter().map(|n| Limit::Samples(*n))) {
        if !limits.contains(&limit) {
            limits.push(limit);
        }
    }
    let pairs = limits.iter().flat_map(|limit| configs.iter().map(move |config| (config, *limit)));
    pairs
        .map(|(config, limit)| {
            let image = folder.join(format!("{}-{}.exr", config.name, limit.name()));
            let mut arguments = vec!["render".into(), args.scene.display().to_string()];
            arguments.extend(args.render.iter().chain(&config.options).cloned());
            check(&arguments, config, limit)?;
            // Options of the configuration replace these. Equal seeds would make errors depend on
            // the samples that an image has in common with the reference.
            arguments.splice(2..2, ["--seed".into(), seed.to_string()]);
            match limit {
                Limit::Time(time) => {
                    let spp = ["--spp".into(), MAX_SPP.to_string()];
                    arguments.splice(2..2, spp);
                    arguments.extend(["--time-limit".into(), time.as_secs_f64().to_string()]);
                }
                Limit::Samples(spp) => arguments.extend(["--spp".into(), spp.to_string()]),
            }
            let output = ["-o".into(), image.display().to_string(), "--quiet".into()];
            arguments.extend(output);
            let title = format!("{}, {}", config.name, limit.name());
            Ok(Run { title, arguments, image })
        })
        .collect()
}

/// Checks the options of `render`.
fn check(arguments: &[String], config: &Config, limit: Limit) -> Result<(), Error> {
    let args = parse_render(arguments.iter()).map_err(|message| {
        Error::option(
            format!("the configuration `{}`: {message}", config.name),
            "see `lightbound render --help`",
        )
    })?;
    let taken = [
        ("-o", args.output.is_some()),
        ("--time-limit", args.time_limit.is_some()),
        ("--spp", args.spp.is_some() && matches!(limit, Limit::Samples(_))),
        ("--frames", args.frames.is_some()),
        ("--crop", args.crop.is_some()),
        ("--part", args.work.part.is_some()),
        ("--sample-range", args.work.sample_range.is_some()),
        ("--resume", args.work.resume),
        ("--stats", args.stats.is_some()),
        ("--profile-shaders", args.shader_profile.profile_shaders.is_some()),
        ("--denoise", args.denoise),
    ];
    match taken.iter().find(|(_, is_taken)| *is_taken) {
        None => Ok(()),
        Some((option, _)) => Err(Error::option(
            format!("the configuration `{}`: {option} cannot be used here", config.name),
            "leave it out: `bench` renders entire images, and sets their names, times and samples",
        )),
    }
}

/// How a rendering ended.
enum Outcome {
    Done,
    /// It has printed why.
    Failed(ExitStatus),
    Interrupted,
}

/// Renders an image in a process of its own, so that runs do not share memory.
fn render(run: &Run, interrupt: &Interrupt) -> Result<Outcome, Error> {
    let failed = |cause: String| {
        Error::option(format!("{}: {cause}", run.title), "check the memory and limits of processes")
    };
    let program = std::env::current_exe().map_err(|cause| failed(cause.to_string()))?;
    let mut child = process::Command::new(program)
        .args(&run.arguments)
        .spawn()
        .map_err(|cause| failed(format!("the rendering cannot be started: {cause}")))?;
    let mut is_stopped = false;
    let status = loop {
        if let Some(status) = child.try_wait().map_err(|cause| failed(cause.to_string()))? {
            break status;
        }
        if interrupt.stop().load(Ordering::Relaxed) && !is_stopped {
            is_stopped = true;
            // It may have ended in the meantime.
            let _ = kill_process(Pid::from_child(&child), Signal::TERM);
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    Ok(match (interrupt.stop().load(Ordering::Relaxed), status.success()) {
        (true, _) => Outcome::Interrupted,
        (false, true) => Outcome::Done,
        (false, false) => Outcome::Failed(status),
    })
}

/// Reads the configurations, in the order of the file.
fn read_configs(path: &Path) -> Result<Vec<Config>, Error> {
    let text = std::fs::read_to_string(path).map_err(|cause| {
        Error::Image(ImageError { path: path.into(), problem: Problem::Read(cause) })
    })?;
    parse_configs(&text).map_err(|(offset, message)| {
        let line = text[..offset.min(text.len())].matches('\n').count() + 1;
        Error::Data {
            message: format!("{}:{line}: {message}", path.display()),
            help: "write a line for each configuration, as in name = \"--integrator path\"".into(),
        }
    })
}

/// Parses configurations; an error has the position of its cause.
fn parse_configs(text: &str) -> Result<Vec<Config>, (usize, String)> {
    let table = DeTable::parse(text).map_err(|error| {
        (error.span().map_or(0, |span| span.start), error.message().to_string())
    })?;
    let mut entries: Vec<_> = table.get_ref().iter().collect();
    entries.sort_by_key(|(name, _)| name.span().start);
    if entries.is_empty() {
        return Err((0, "there is no configuration".into()));
    }
    entries
        .into_iter()
        .map(|(key, value)| {
            let name = key.get_ref().to_string();
            let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '+');
            if !name.starts_with(char::is_alphanumeric) || !name.chars().all(is_plain) {
                let message = format!(
                    "`{name}` cannot be part of the names of files: use letters, digits, `-`, `_`, \
                     `.` and `+`"
                );
                return Err((key.span().start, message));
            }
            let DeValue::String(options) = value.get_ref() else {
                return Err((
                    value.span().start,
                    format!("the options of `{name}` are not a string"),
                ));
            };
            let options = shlex::split(options).ok_or_else(|| {
                (value.span().start, format!("the options of `{name}` have an unclosed quote"))
            })?;
            Ok(Config { name, options })
        })
        .collect()
}

fn write_error(path: &Path, cause: std::io::Error) -> Error {
    Error::option(
        ImageError { path: path.into(), problem: Problem::Write(cause) }.to_string(),
        "name another folder with --report",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configurations_keep_the_order_of_the_file() {
        let text = "# Comment\nz = \"--integrator path\"\na-2 = \"--layers 'a b'\"\nempty = ''\n";
        let configs = parse_configs(text).unwrap();
        let options: Vec<_> =
            configs.iter().map(|c| (c.name.as_str(), c.options.join("|"))).collect();
        let expected = [("z", "--integrator|path"), ("a-2", "--layers|a b"), ("empty", "")];
        assert_eq!(options, expected.map(|(name, options)| (name, options.to_string())));
    }

    #[test]
    fn errors_in_configurations_have_a_position() {
        for (text, line, message) in [
            ("", 1, "no configuration"),
            ("a = \"x\"\nb = 3\n", 2, "not a string"),
            ("a = \"x\"\n\n\"../b\" = \"\"\n", 3, "names of files"),
            ("a = \"'x\"\n", 1, "unclosed quote"),
            ("a = \"x\"\na = \"y\"\n", 2, "duplicate"),
        ] {
            let (offset, found) = parse_configs(text).unwrap_err();
            assert_eq!(text[..offset].matches('\n').count() + 1, line, "{text}");
            assert!(found.contains(message), "{found}");
        }
    }
}
