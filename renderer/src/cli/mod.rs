//! The command line: what there is to say, and how errors come back.
//!
//! Arguments are checked as far as possible before any work starts. Everything meant for a reader
//! goes to stderr; stdout is left to data. Exit codes are those of [`Exit`].

mod bounds;
mod compare;
mod console;
mod falsecolor;
mod heatmap;
mod interrupt;
mod layers;
mod merge;
mod numbers;
mod output;
mod part;
mod regress;
mod render;
mod shader;
mod stats;
mod variant;

use clap::{Parser, Subcommand};
use lightbound::image::ImageError;
use lightbound::scene::diagnostics::SceneError;
use lightbound_shader::ShaderError;
use miette::{Diagnostic, GraphicalTheme, MietteHandlerOpts, Report};
use std::io::{self, IsTerminal};
use std::process::ExitCode;

/// What the process ends with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// All done (a time limit that was reached counts as done).
    Done = 0,
    /// All done, and what was compared or tested does not match.
    Failed = 1,
    /// The input or the options are wrong.
    Input = 2,
    /// The results could not be written where they belong.
    Write = 3,
    /// Interrupted by Ctrl-C; 128 + SIGINT, as shells have it.
    Interrupted = 130,
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
    /// A picture cannot be read; the message has the remedy.
    #[error(transparent)]
    Picture(ImageError),
    /// Data do not fit.
    #[error("{message}")]
    Data {
        /// Where, and what is wrong.
        message: String,
        /// The remedy.
        #[help]
        help: String,
    },
    /// An option does not fit.
    #[error("{message}")]
    Option {
        /// What is wrong.
        message: String,
        /// The remedy.
        #[help]
        help: String,
    },
    /// Something finished could not be written.
    #[error("{cause}")]
    Write {
        /// Which file, and why not.
        cause: ImageError,
        /// What became of it.
        #[help]
        help: String,
    },
    /// What stdout leads to takes no more.
    #[error("stdout: cannot be written ({0})")]
    #[diagnostic(help("check what it leads to, and the space left there"))]
    Stdout(io::Error),
    /// Warnings that came up after loading, under `--strict`.
    #[error("{0}")]
    #[diagnostic(help(
        "the picture is written all the same; warnings are errors here because of --strict"
    ))]
    Strict(String),
}

impl From<ShaderError> for Error {
    /// Names the file where no excerpt does.
    fn from(mut error: ShaderError) -> Error {
        if error.labels.is_empty() {
            error.message = format!("{}: {}", error.source_code.name(), error.message);
        }
        Error::Shader(error)
    }
}

impl Error {
    fn exit(&self) -> Exit {
        match self {
            Error::Scene(_) | Error::Shader(_) | Error::Picture(_) | Error::Data { .. } => {
                Exit::Input
            }
            Error::Option { .. } | Error::Strict(_) => Exit::Input,
            Error::Write { .. } | Error::Stdout(_) => Exit::Write,
        }
    }
}

/// Renders pbrt-v4 scenes on the CPU; compiles materials written in WGSL
#[derive(Debug, Parser)]
#[command(
    version,
    after_help = "\
Examples:
  lightbound render scene.pbrt -o picture.exr
  lightbound compare picture.exr reference.exr
  lightbound shader preview ward -o ward.png
  lightbound help shader bound                    (help on any command; -h is shorter)

Exit codes:
    0  done
    1  a comparison or a regression test failed
    2  the input or the options are wrong, or there are warnings under --strict
    3  a result could not be written
  130  interrupted by Ctrl-C; if it was while rendering, the picture so far is written",
    // So that a script's own options can be followed by its caller's.
    args_override_self = true
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Render a scene file to a picture
    Render(render::Args),
    /// Put parts of a picture together: ranges of samples, crops
    Merge(merge::Args),
    /// Tell how far a picture is from a reference, and fail beyond limits
    Compare(compare::Args),
    /// Draw a layer of a picture in colours, with a scale
    Falsecolor(falsecolor::Args),
    /// Measure bounding shaders against the point shaders that they bound
    Bounds(bounds::Args),
    /// Hold the pictures of a suite of scenes against references
    Regress(regress::Args),
    /// List, check, show, evaluate, bound and preview materials written in WGSL
    #[command(subcommand)]
    Shader(shader::Command),
}

/// Runs the program.
pub fn run() -> ExitCode {
    let cli = Cli::parse();
    miette::set_hook(Box::new(|_| Box::new(reports().build()))).expect("the hook is set once");
    let result = match cli.command {
        Command::Render(args) => render::run(&args),
        Command::Merge(args) => merge::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Falsecolor(args) => falsecolor::run(&args),
        Command::Bounds(args) => bounds::run(&args),
        Command::Regress(args) => regress::run(&args),
        Command::Shader(command) => shader::run(&command),
    };
    let exit = result.unwrap_or_else(|error| {
        let exit = error.exit();
        console::print(&format!("{:?}", Report::new(error)));
        exit
    });
    ExitCode::from(exit as u8)
}

/// How errors look: coloured and wrapped on a terminal; elsewhere plain, in long lines, since
/// somebody may search them.
fn reports() -> MietteHandlerOpts {
    let terminal = io::stderr().is_terminal();
    let variable = |name| std::env::var_os(name).unwrap_or_default();
    let plain = !terminal || !variable("NO_COLOR").is_empty() || variable("TERM") == "dumb";
    let mut theme =
        if plain { GraphicalTheme::unicode_nocolor() } else { GraphicalTheme::unicode() };
    // The word that logs are searched for.
    theme.characters.error = "error:".into();
    MietteHandlerOpts::new().graphical_theme(theme).wrap_lines(terminal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }
}
