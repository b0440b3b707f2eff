//! `lightbound merge`: merges parts of an image.

use super::console::{self, count, duration};
use super::interrupt::Interrupt;
use super::output::{ImageFormat, OutputFile, is_stream};
use super::render::{bound_violation_warning, film_warnings, sample_counts};
use super::{Error, Exit, input, memory};
use lightbound::film::Coverage;
use lightbound::film::layers::{self, FilmLayers};
use lightbound::part::{MergedParts, PartError, PartHeader, Parts};
use lightbound_image::write::{Attribute, create_temporary_file, write_exr_rows};
use std::io;
use std::path::PathBuf;
use tempfile::NamedTempFile;

const EXAMPLES: &str = "\
Examples:
  lightbound render scene.pbrt --spp 256 --sample-range 0..128 -o a.exr     on one machine
  lightbound render scene.pbrt --spp 256 --sample-range 128..256 -o b.exr   on another
  lightbound merge a.exr b.exr -o picture.exr                               the image of 256 samples
  ssh farm cat b.exr | lightbound merge a.exr - -o picture.exr

Parts may be ranges of samples, crops, or both, in any order. The result is
identical, bit by bit, to an image that was rendered in one run. Parts of
another scene, seed, size or version are rejected, as are parts that share
samples. The image has the largest --spp of all parts. If samples are still
missing, the result is a part that can be merged later.";

/// Options of `merge`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Parts written by `lightbound render` with --sample-range, --crop or --keep-sums, or by
    /// `lightbound merge`; - reads stdin
    #[arg(required = true, value_name = "PART")]
    pub parts: Vec<PathBuf>,

    /// Output image, an .exr; - writes to stdout
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,

    /// Print nothing but warnings and errors
    #[arg(short, long)]
    pub quiet: bool,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Exit, Error> {
    // Signals end the command, without a message, and leave no temporary files.
    Interrupt::install(true);
    let output = output(args)?;
    let from_stdin = args.parts.iter().any(|part| is_stream(part));
    let stdin = from_stdin.then(part_from_stdin).transpose()?;
    let path = |part: &PathBuf| match &stdin {
        Some(file) if is_stream(part) => file.path().to_owned(),
        _ => part.clone(),
    };
    let paths: Vec<PathBuf> = args.parts.iter().map(path).collect();
    let named = |error: PartError| match &stdin {
        Some(file) => {
            let message = error.message.replace(&file.path().display().to_string(), "stdin");
            PartError { message, ..error }
        }
        None => error,
    };
    let parts = Parts::open(&paths).map_err(named)?;
    let remedy = "merge on a machine with more memory, or render with fewer layers (--layers)";
    memory::check_film(parts.window(), parts.film_options(), remedy)?;
    let MergedParts { resolution, settings, scene, full_block, film, coverage, missing, stats } =
        parts.merge().map_err(named)?;
    let mut attributes = settings;
    attributes.extend(scene.map(|scene| ("lightbound/scene".to_string(), scene)));
    attributes.extend(sample_counts(film.sample_counts()));
    attributes
        .push(("lightbound/renderSeconds".into(), Attribute::Float(stats.wall.as_secs_f32())));
    let is_complete = missing.blocks().is_empty();
    if !is_complete {
        attributes.push(PartHeader::new(full_block, coverage, &film, stats).attribute());
    }
    let light_groups = &layers::light_groups(&attributes);
    let layers = FilmLayers::image(&film, true, !is_complete, light_groups, &attributes);
    let header = layers.header(resolution, attributes);
    output.write(|path| write_exr_rows(path, &header, &layers))?;

    let window = film.window();
    if !args.quiet {
        console::print(&format!(
            "{}: {} × {} pixels, {} merged, rendered in {}",
            output.name().display(),
            window.width(),
            window.height(),
            count(args.parts.len() as u64, "part"),
            duration(stats.wall),
        ));
    }
    if !is_complete {
        console::warn(&format!(
            "{} is still a part: it lacks {}",
            output.name().display(),
            describe_samples(&missing)
        ));
    }
    let warnings = film_warnings(&film, stats.camera_samples).into_iter();
    let warnings = warnings.chain(bound_violation_warning(&stats.counts.cuts));
    warnings.for_each(|warning| console::warn(&warning));
    Ok(Exit::Success)
}

/// Checks the output file, which must not be one of the parts.
fn output(args: &Args) -> Result<OutputFile, Error> {
    if ImageFormat::from_option(&args.output)? != ImageFormat::Exr {
        return Err(Error::option(
            format!("`{}` cannot store a merged part", args.output.display()),
            "name an .exr file with -o",
        ));
    }
    input::check_single_stdin(args.parts.iter().map(PathBuf::as_path))?;
    let output = OutputFile::check(&args.output)?;
    match args.parts.iter().find(|part| output.is_same_file(part)) {
        Some(part) => Err(Error::option(
            format!("-o would overwrite the part `{}`", part.display()),
            "name another file",
        )),
        None => Ok(output),
    }
}

/// Saves a part from stdin in a temporary file, since parts are read twice.
fn part_from_stdin() -> Result<NamedTempFile, Error> {
    let file = create_temporary_file(NamedTempFile::new, NamedTempFile::path);
    let saved = file.and_then(|mut file| {
        io::copy(&mut io::stdin().lock(), &mut file)?;
        Ok(file)
    });
    saved.map_err(|cause| Error::Data {
        message: format!("stdin: the part cannot be saved in a temporary file ({cause})"),
        help: "save it in a file of your own, and name that".into(),
    })
}

/// Describes a set of samples; beyond a few blocks, it only counts them.
pub(super) fn describe_samples(samples: &Coverage) -> String {
    const MAX_SHOWN: usize = 6;
    let blocks = samples.blocks();
    let mut descriptions: Vec<String> =
        blocks.iter().take(MAX_SHOWN).map(ToString::to_string).collect();
    if blocks.len() > MAX_SHOWN {
        descriptions.push(format!("{} more blocks", blocks.len() - MAX_SHOWN));
    }
    descriptions.join("; ")
}
