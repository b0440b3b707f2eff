//! `lightbound merge`: parts of a picture become the picture.

use super::console::{self, count, duration};
use super::output::{Format, Output};
use super::part::{self, Header, Part};
use super::render::{odd_samples, sample_counts, violated_bounds};
use super::{Error, Exit, layers};
use lightbound::film::{Coverage, Film};
use lightbound::image::MAX_PIXELS;
use lightbound::image::write::{Attribute, write_exr};
use lightbound::render::Effort;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  lightbound render scene.pbrt --spp 256 --sample-range 0..128 -o a.exr     on one machine
  lightbound render scene.pbrt --spp 256 --sample-range 128..256 -o b.exr   on another
  lightbound merge a.exr b.exr -o picture.exr                               the picture of 256 samples

Parts may be ranges of samples, crops, and both mixed, in any order. The result
has the bits of a picture that was rendered at once. Parts of another scene,
seed, size or version, and parts that have samples in common, are refused.
What still misses samples is a part again, to be merged later.";

/// Options of `merge`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Parts, as `lightbound render` writes them with --sample-range or --crop, or
    /// `lightbound merge` does
    #[arg(required = true, value_name = "PART")]
    pub parts: Vec<PathBuf>,

    /// Picture to write, an .exr
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,

    /// Print nothing but warnings and errors
    #[arg(short, long)]
    pub quiet: bool,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Exit, Error> {
    let output = output(args)?;
    let parts = args
        .parts
        .iter()
        .map(|path| Ok((path.as_path(), Part::open(path)?)))
        .collect::<Result<Vec<_>, Error>>()?;
    let coverage = check(&parts)?;
    let first = &parts[0].1;
    let (whole, options) = (first.header.whole, first.header.film);
    let window =
        coverage.window().filter(|w| u64::from(w.width()) * u64::from(w.height()) <= MAX_PIXELS);
    let Some(window) = window else {
        return Err(Error::Data {
            message: "the parts have no sample at all, or more pixels than an image can have"
                .into(),
            help: "render them again".into(),
        });
    };
    let mut film = Film::new(window, options);
    let mut effort = Effort::default();
    for (path, part) in &parts {
        part.add_to(path, &mut film)?;
        effort += part.header.effort;
    }

    let picture = film.picture();
    let missing = coverage.missing(whole);
    let mut attributes = first.settings.clone();
    attributes.extend(first.scene.clone().map(|scene| ("lightbound/scene".to_string(), scene)));
    attributes.extend(sample_counts(&picture));
    attributes
        .push(("lightbound/renderSeconds".into(), Attribute::Float(effort.wall.as_secs_f32())));
    let exr = if missing.blocks().is_empty() {
        layers::exr_picture(first.resolution.into(), &picture, attributes)
    } else {
        let header = Header::new(whole, coverage, &film, picture.invalid_samples, effort);
        part::picture(first.resolution, attributes, &header, &film, &picture)
    };
    output.write(|path| write_exr(path, &exr))?;

    let all = picture.window;
    if !args.quiet {
        console::print(&format!(
            "{}: {} × {} pixels, {} merged, rendered in {}",
            output.path().display(),
            all.width(),
            all.height(),
            count(parts.len() as u64, "part"),
            duration(effort.wall),
        ));
    }
    if !missing.blocks().is_empty() {
        console::warn(&format!(
            "{} is still a part: it misses {}",
            output.path().display(),
            list(&missing)
        ));
    }
    let remarks =
        [odd_samples(&picture, effort.camera_samples), violated_bounds(&effort.counts.cuts)];
    remarks.iter().flatten().for_each(|remark| console::warn(remark));
    Ok(Exit::Done)
}

/// Where the picture goes: not over a part.
fn output(args: &Args) -> Result<Output, Error> {
    let fault = |message: String, help: &str| Err(Error::Option { message, help: help.into() });
    if Format::expect(&args.output)? != Format::Exr {
        return fault(
            format!("`{}` cannot hold what parts hold", args.output.display()),
            "name an .exr with -o",
        );
    }
    let output = Output::check(&args.output)?;
    match args.parts.iter().find(|part| output.is(part)) {
        Some(part) => {
            fault(format!("-o would overwrite the part `{}`", part.display()), "name another file")
        }
        None => Ok(output),
    }
}

/// What all parts together have; an error where they are not of one picture, or have something in
/// common.
fn check(parts: &[(&Path, Part)]) -> Result<Coverage, Error> {
    let mut all = Coverage::default();
    let (first_path, first) = &parts[0];
    for (i, (path, part)) in parts.iter().enumerate() {
        let refuse = |why: String, help: &str| {
            Err(Error::Data { message: format!("{}: {why}", path.display()), help: help.into() })
        };
        let other = first_path.display().to_string();
        if let Some(difference) =
            part.differs(first.resolution, &first.settings, first.header.film, &other)
        {
            return refuse(
                format!("is not a part of the same picture: {difference}"),
                "leave it out, or render it with the same options",
            );
        }
        if part.header.whole != first.header.whole {
            let (mine, theirs) = (part.header.whole, first.header.whole);
            let why = format!(
                "is not a part of the same picture: that has {mine}, that of {other} {theirs}"
            );
            return refuse(why, "leave it out, or render it with the same options");
        }
        let common = |earlier: &Part| part.header.coverage.overlap(&earlier.header.coverage);
        if let Some((earlier, block)) =
            parts[..i].iter().find_map(|(path, earlier)| Some((path, common(earlier)?)))
        {
            let why = format!("has {block} in common with {}", earlier.display());
            return refuse(
                why,
                "samples must not count twice; leave one of the two out, or render other ranges",
            );
        }
        part.header.coverage.blocks().iter().for_each(|&block| all.add(block));
    }
    Ok(all)
}

/// A set of samples in words; what is beyond a few blocks is counted.
fn list(samples: &Coverage) -> String {
    const SHOWN: usize = 6;
    let blocks = samples.blocks();
    let mut words: Vec<String> = blocks.iter().take(SHOWN).map(ToString::to_string).collect();
    if blocks.len() > SHOWN {
        words.push(format!("{} more blocks", blocks.len() - SHOWN));
    }
    words.join("; ")
}
