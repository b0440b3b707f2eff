//! The command line: what there is to say, and how errors come back.
//!
//! Arguments are checked as far as possible before any work starts. Everything meant for a reader goes to stderr; stdout is
//! left to data. Exit codes are those of [`Exit`].

mod console;
mod interrupt;
mod layers;
mod output;
mod render;
mod stats;

use clap::{Parser, Subcommand};
use lightbound::image::ImageError;
use lightbound::scene::diagnostics::SceneError;
use miette::{Diagnostic, GraphicalTheme, MietteHandlerOpts, Report};
use std::io::IsTerminal;
use std::process::ExitCode;

/// What the process ends with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// All done (a time limit that was reached counts as done).
    Done = 0,
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
    /// Warnings that came up after loading, under `--strict`.
    #[error("{0}")]
    #[diagnostic(help("the picture is written all the same; warnings are errors here because of --strict"))]
    Strict(String),
}

impl Error {
    fn exit(&self) -> Exit {
        match self {
            Error::Scene(_) | Error::Option { .. } | Error::Strict(_) => Exit::Input,
            Error::Write { .. } => Exit::Write,
        }
    }
}

/// Renders pbrt-v4 scenes on the CPU
#[derive(Debug, Parser)]
#[command(
    version,
    after_help = "\
Exit codes:
    0  done
    2  the input or the options are wrong
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
}

/// Runs the program.
pub fn run() -> ExitCode {
    let cli = Cli::parse();
    miette::set_hook(Box::new(|_| Box::new(reports().build()))).expect("the hook is set once");
    let result = match cli.command {
        Command::Render(args) => render::run(&args),
    };
    let exit = result.unwrap_or_else(|error| {
        let exit = error.exit();
        console::print(&format!("{:?}", Report::new(error)));
        exit
    });
    ExitCode::from(exit as u8)
}

/// How errors look: coloured and wrapped on a terminal; elsewhere plain, in long lines, since somebody may search them.
fn reports() -> MietteHandlerOpts {
    let terminal = std::io::stderr().is_terminal();
    let variable = |name| std::env::var_os(name).unwrap_or_default();
    let plain = !terminal || !variable("NO_COLOR").is_empty() || variable("TERM") == "dumb";
    let mut theme = if plain { GraphicalTheme::unicode_nocolor() } else { GraphicalTheme::unicode() };
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
