//! The command-line program `lightbound`: options, progress and messages. The libraries render.
//!
//! Arguments are checked as far as possible before any work starts. Messages go to
//! stderr; stdout is reserved for data. [`Exit`] lists the exit codes.

mod bench;
mod bounds;
mod compare;
mod completions;
mod console;
mod contents;
mod convert;
mod denoise;
mod falsecolor;
mod gltf;
mod help;
mod import;
mod info;
mod input;
mod interrupt;
mod material;
mod memory;
mod merge;
mod numbers;
mod output;
mod regress;
mod render;
mod shader;
mod stats;
mod submit;
mod variant;
mod version;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use lightbound::integrator::IntegratorError;
use lightbound::part::PartError;
use lightbound_image::ImageError;
use lightbound_pbrt::diagnostics::SceneError;
use lightbound_shader::ShaderError;
use miette::{Diagnostic, GraphicalTheme, MietteHandlerOpts, Report};
use std::io::{self, IsTerminal};
use std::process::ExitCode;

/// Exit code of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Success; a reached time limit counts as success.
    Success = 0,
    /// The command ran, but a comparison or test failed.
    Failed = 1,
    /// The input or the options are wrong.
    InvalidInput = 2,
    /// A result could not be written to its file after the work was done. That its folder is
    /// missing or not writable is [`Exit::InvalidInput`], since it is found before.
    WriteFailed = 3,
    /// Ended by SIGHUP: the terminal or the connection was closed. 128 + SIGHUP, as in shells.
    HungUp = 129,
    /// Interrupted by Ctrl-C; 128 + SIGINT.
    Interrupted = 130,
    /// Ended by SIGTERM, which schedulers send; 128 + SIGTERM.
    Terminated = 143,
}

/// Why a command failed.
#[derive(Debug, thiserror::Error, Diagnostic)]
pub enum Error {
    /// The scene cannot be used.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Scene(#[from] SceneError),
    /// A shader cannot be used.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Shader(ShaderError),
    /// An image cannot be read; the message contains the remedy.
    #[error(transparent)]
    Image(ImageError),
    /// The input data are invalid.
    #[error("{message}")]
    Data {
        /// Location and problem.
        message: String,
        /// Remedy.
        #[help]
        help: String,
    },
    /// An option is invalid.
    #[error("{message}")]
    Option {
        /// Problem.
        message: String,
        /// Remedy.
        #[help]
        help: String,
    },
    /// A result could not be written.
    #[error("{cause}")]
    Write {
        /// File and problem.
        cause: ImageError,
        /// Where the result was saved instead, if anywhere.
        #[help]
        help: String,
    },
    /// Stdout cannot be written.
    #[error("stdout: cannot be written ({0})")]
    #[diagnostic(help(
        "check the command that reads stdout, or the file that it is redirected to and the free \
         space there"
    ))]
    Stdout(io::Error),
    /// A warning after loading, turned into an error by `--strict`.
    #[error("{0}")]
    #[diagnostic(help("the image was written; --strict turns warnings into errors"))]
    Strict(String),
}

impl From<ShaderError> for Error {
    /// Adds the file name if the error has no source excerpt.
    fn from(mut error: ShaderError) -> Error {
        if error.labels.is_empty() {
            error.message = format!("{}: {}", error.source_code.name(), error.message);
        }
        Error::Shader(error)
    }
}

impl From<PartError> for Error {
    fn from(error: PartError) -> Error {
        Error::Data { message: error.message, help: error.remedy }
    }
}

impl From<IntegratorError> for Error {
    fn from(error: IntegratorError) -> Error {
        Error::Scene(SceneError::new(error.to_string()))
    }
}

impl Error {
    /// An error in an option, with a remedy.
    fn option(message: impl Into<String>, help: impl Into<String>) -> Error {
        Error::Option { message: message.into(), help: help.into() }
    }

    fn exit(&self) -> Exit {
        match self {
            Error::Scene(_) | Error::Shader(_) | Error::Image(_) | Error::Data { .. } => {
                Exit::InvalidInput
            }
            Error::Option { .. } | Error::Strict(_) => Exit::InvalidInput,
            Error::Write { .. } | Error::Stdout(_) => Exit::WriteFailed,
        }
    }
}

/// Renders pbrt-v4 scenes and glTF assets on the CPU; compiles materials written in WGSL
#[derive(Debug, Parser)]
#[command(
    name = "lightbound",
    version,
    after_help = "\
Examples:
  lightbound render scene.pbrt -o picture.exr
  lightbound render helmet.glb -o helmet.png
  lightbound compare picture.exr reference.exr
  lightbound shader preview ward -o ward.png
  lightbound help shader bound                    (help on any command; -h is shorter)

Exit codes:
    0  done
    1  a comparison, a regression test or a check of a shader failed
    2  the input or the options are invalid, an output cannot be created, or a warning occurred under --strict
    3  a result could not be written after the work was done
  130  interrupted by Ctrl-C; during rendering, the unfinished image is written
  143  ended by SIGTERM, likewise; 129 by SIGHUP",
    // Lets the caller of a script override the script's own options.
    args_override_self = true
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// Parses `render` and its arguments for another command, which names itself in errors.
fn parse_render<'a>(arguments: impl Iterator<Item = &'a String>) -> Result<render::Args, String> {
    let program = std::iter::once("lightbound");
    let parsed = Cli::try_parse_from(program.chain(arguments.map(String::as_str)));
    match parsed.map(|cli| cli.command) {
        Ok(Command::Render(args)) => Ok(*args),
        Ok(_) => unreachable!("the command is render"),
        Err(error) => {
            let text = error.to_string();
            Err(text.lines().next().unwrap_or_default().trim_start_matches("error: ").into())
        }
    }
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Render a scene file to an image
    Render(Box<render::Args>),
    /// Print the job that renders an image in parts: for Slurm, Open Job Description, or a shell
    #[command(subcommand)]
    Submit(submit::Command),
    /// Merge parts of an image: ranges of samples, crops
    Merge(merge::Args),
    /// Measure the errors of images against a reference, and fail if they exceed limits
    Compare(compare::Args),
    /// Render a scene with several configurations for equal times or samples, and compare them
    Bench(bench::Args),
    /// Draw a layer of an image in false colours, with a scale
    Falsecolor(falsecolor::Args),
    /// Write a glTF asset as a pbrt scene with meshes and images
    Import(import::Args),
    /// Tell what a scene, an image or a MaterialX document contains
    Info(info::Args),
    /// Denoise an image with Intel Open Image Denoise
    Denoise(denoise::Args),
    /// Convert an image: format, size, exposure, tone mapping, layer
    Convert(convert::Args),
    /// Measure bounding shaders against the point shaders that they bound
    Bounds(bounds::Args),
    /// Test a suite of scenes against reference images
    Regress(regress::Args),
    /// List, check, show, evaluate, bound and preview materials written in WGSL
    #[command(subcommand)]
    Shader(shader::Command),
    /// Convert materials of MaterialX documents to WGSL
    #[command(subcommand)]
    Material(material::Command),
    /// Print completions for a shell
    Completions(completions::CompletionsArgs),
    /// Write manual pages
    Man(completions::ManArgs),
}

fn main() -> ExitCode {
    // First of all, since a batch system may send SIGUSR1 at any time.
    #[cfg(unix)]
    interrupt::disarm();
    let mut command = help::fit(Cli::command());
    // The long version looks for libraries, which takes time.
    if std::env::args_os().any(|argument| argument == "--version") {
        command = command.long_version(version::LONG.as_str());
    }
    let matches = command.get_matches();
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    miette::set_hook(Box::new(|_| Box::new(error_format().build()))).expect("the hook is set once");
    let result = match cli.command {
        Command::Render(args) => render::run(&args),
        Command::Submit(command) => submit::run(&command),
        Command::Merge(args) => merge::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Falsecolor(args) => falsecolor::run(&args),
        Command::Import(args) => import::run(&args),
        Command::Info(args) => info::run(&args),
        Command::Denoise(args) => denoise::run(&args),
        Command::Convert(args) => convert::run(&args),
        Command::Bounds(args) => bounds::run(&args),
        Command::Regress(args) => regress::run(&args),
        Command::Shader(command) => shader::run(&command),
        Command::Material(command) => material::run(&command),
        Command::Completions(args) => completions::completions(&args),
        Command::Man(args) => completions::man(&args),
    };
    let exit = result.unwrap_or_else(|error| {
        let exit = error.exit();
        console::print(&format!("{:?}", Report::new(error)));
        exit
    });
    ExitCode::from(exit as u8)
}

/// Error formatting: coloured and wrapped on a terminal; elsewhere plain, in unwrapped lines that
/// can be searched.
fn error_format() -> MietteHandlerOpts {
    let terminal = io::stderr().is_terminal();
    let variable = |name| std::env::var_os(name).unwrap_or_default();
    let plain = !terminal || !variable("NO_COLOR").is_empty() || variable("TERM") == "dumb";
    let mut theme =
        if plain { GraphicalTheme::unicode_nocolor() } else { GraphicalTheme::unicode() };
    // A fixed word, so that errors can be found in logs.
    theme.characters.error = "error:".into();
    MietteHandlerOpts::new().graphical_theme(theme).wrap_lines(terminal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clap_accepts_the_definition() {
        Cli::command().debug_assert();
    }
}
