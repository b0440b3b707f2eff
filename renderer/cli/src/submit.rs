//! `lightbound submit`: prints a job that renders an image in parts and merges them, for programs
//! that run jobs.

use super::output::{ImageFormat, OutputFile};
use super::{Error, Exit, output, parse_render};
use std::path::{Path, PathBuf, absolute};

mod openjd;
mod shell;

const EXAMPLES: &str = "\
Examples:
  lightbound submit slurm scene.pbrt --parts 8 -o picture.exr > job.sh && sh job.sh
  lightbound submit openjd scene.pbrt --parts 8 -o picture.exr > job.json
  lightbound submit commands scene.pbrt --parts 8 -o picture.exr | parallel
  lightbound submit slurm scene.pbrt --parts 8 -o picture.exr -- --spp 4096 --seed 7

Each part is a range of samples (`render --part K/N`), in picture.part-K.exr.
The merged image is equal, bit by bit, to one that is rendered in one run. The
parts stay. What follows -- are options of `render`, which are checked.";

/// Kinds of jobs.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// A shell script for Slurm: an array of parts, and a merge that depends on it
    ///
    /// Run the script where jobs are submitted. Parts that Slurm stops, at the time limit or for
    /// another job, leave a checkpoint and continue after they are queued again.
    Slurm(SlurmArgs),
    /// A job template in JSON, as Open Job Description (OpenJD) 2023-09
    ///
    /// Programs such as `openjd run` and AWS Deadline Cloud run it.
    Openjd(Args),
    /// A command in each line, for GNU parallel, OpenCue's cuecmd and the like
    ///
    /// The last line is a comment with the command that merges the parts, for when they are done.
    Commands(Args),
}

/// What to render.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, allow_negative_numbers = true)]
pub struct Args {
    /// Scene file
    pub scene: PathBuf,

    /// Number of parts
    #[arg(long, value_name = "N", value_parser = super::numbers::integer(1..=MAX_PARTS))]
    pub parts: u32,

    /// Merged image, an .exr
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,

    /// The program to run on each machine
    #[arg(long, value_name = "PATH", default_value = "lightbound")]
    pub program: String,

    /// Options of `render` for all parts, after --
    #[arg(last = true, value_name = "OPTIONS")]
    pub render: Vec<String>,
}

/// What to render with Slurm.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, allow_negative_numbers = true)]
pub struct SlurmArgs {
    #[command(flatten)]
    job: Args,

    /// Options of sbatch for the parts and the merge, in one string, as in \"--partition=night\"
    #[arg(long, value_name = "OPTIONS", default_value = "", allow_hyphen_values = true)]
    sbatch: String,
}

/// Greatest number of parts: the default limit of Slurm's arrays.
const MAX_PARTS: u32 = 1000;

/// A job: commands as lists of arguments.
struct Job {
    /// Name, from the output.
    name: String,
    program: String,
    /// `render`, and its arguments that all parts share.
    render: Vec<String>,
    parts: u32,
    /// Files of parts up to the number.
    part_start: String,
    output: String,
}

/// Runs the command.
pub fn run(command: &Command) -> Result<Exit, Error> {
    let text = match command {
        Command::Slurm(args) => {
            if shlex::split(&args.sbatch).is_none() {
                return Err(Error::option("--sbatch has an unclosed quote", "close it"));
            }
            shell::slurm(&Job::new(&args.job)?, &args.sbatch)
        }
        Command::Openjd(args) => openjd::template(&Job::new(args)?)?,
        Command::Commands(args) => shell::commands(&Job::new(args)?),
    };
    output::to_stdout(text.as_bytes())?;
    Ok(Exit::Success)
}

impl Job {
    /// Checks the scene, the output and the options of `render`.
    fn new(args: &Args) -> Result<Job, Error> {
        if let Err(cause) = std::fs::metadata(&args.scene) {
            return Err(Error::option(
                format!("cannot read the scene {}: {cause}", args.scene.display()),
                "name a scene file that all machines can read",
            ));
        }
        if ImageFormat::from_option(&args.output)? != ImageFormat::Exr
            || OutputFile::check(&args.output)? == OutputFile::Stdout
        {
            return Err(Error::option(
                format!(
                    "parts are merged to an .exr file, which `{}` is not",
                    args.output.display()
                ),
                "name an .exr with -o, and convert it later",
            ));
        }
        let scene = path(&args.scene)?;
        let output = path(&args.output)?;
        let mut arguments = vec!["render".into(), scene.clone()];
        arguments.extend(args.render.iter().cloned());
        arguments.push("--resume".into());
        let part = ["--part".into(), format!("1/{}", args.parts), "-o".into(), output.clone()];
        let parsed = parse_render(arguments.iter().chain(&part)).map_err(|message| {
            Error::option(
                format!("the options of `render`: {message}"),
                "give options of `lightbound render` after --, without -o and ranges of samples",
            )
        })?;
        if args.render.iter().any(|option| option == "-o" || option.starts_with("--output")) {
            return Err(Error::option(
                "-o after -- would replace the names of the parts",
                "give it before --",
            ));
        }
        if parsed.frames.is_some() || parsed.denoise || parsed.crop.is_some() {
            return Err(Error::option(
                "--frames, --crop and --denoise cannot be used in parts",
                "submit a job for each frame; crop and denoise the merged image",
            ));
        }
        if let Some(spp) = parsed.spp.filter(|spp| *spp < args.parts) {
            return Err(Error::option(
                format!("{} parts are more than the {spp} samples of a pixel", args.parts),
                "use fewer parts, or raise --spp",
            ));
        }
        if parsed.tev.is_some() {
            return Err(Error::option(
                "--tev cannot be used in parts, which no viewer watches",
                "leave it out",
            ));
        }
        if parsed.stats.is_some() || parsed.shader_profile.profile_shaders.is_some() {
            return Err(Error::option(
                "--stats and --profile-shaders cannot be used in parts, which would share the file",
                "leave them out",
            ));
        }
        let profile = parsed.shader_profile.shader_profile;
        let profile = profile.filter(|path| path != Path::new("auto"));
        let mut files = parsed.environment.into_iter().chain(profile);
        if let Some(file) = files.find(|path| path.is_relative()) {
            return Err(Error::option(
                format!("the path {} is relative, and jobs run in other folders", file.display()),
                "give the absolute path",
            ));
        }
        let stem = args.output.file_stem().unwrap_or_default().to_string_lossy();
        Ok(Job {
            name: stem.into_owned(),
            program: args.program.clone(),
            render: arguments,
            parts: args.parts,
            part_start: format!("{}.part-", output.strip_suffix(".exr").unwrap_or(&output)),
            output,
        })
    }

    /// The arguments that render a part, which may be a variable of another language.
    fn part(&self, part: &str) -> Vec<String> {
        let mut arguments = self.render.clone();
        arguments.extend(["--part".into(), format!("{part}/{}", self.parts)]);
        arguments.extend(["-o".into(), self.part_file(part)]);
        arguments
    }

    /// The file of a part.
    fn part_file(&self, part: &str) -> String {
        format!("{}{part}.exr", self.part_start)
    }

    /// The arguments that merge the parts.
    fn merge(&self) -> Vec<String> {
        let mut arguments = vec!["merge".to_string()];
        arguments.extend((1..=self.parts).map(|part| self.part_file(&part.to_string())));
        arguments.extend(["-o".into(), self.output.clone()]);
        arguments
    }
}

/// Returns the absolute path of a file, since jobs run in other folders.
fn path(path: &Path) -> Result<String, Error> {
    let absolute = absolute(path).ok().and_then(|path| path.into_os_string().into_string().ok());
    absolute.filter(|path| !path.contains(['\n', '\r'])).ok_or_else(|| {
        let message = format!("the path {} cannot be part of a script", path.display());
        Error::option(message, "rename it: only Unicode without line breaks can be printed")
    })
}
