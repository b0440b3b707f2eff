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
use miette::{Diagnostic, MietteHandlerOpts, Report};
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
    propagate_version = true,
    after_help = "Exit codes: 0 done, 2 the input or the options are wrong, 3 a result could not be written, \
                  130 interrupted by Ctrl-C\n(a picture of the samples so far is written first)."
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
    // On a terminal long lines are wrapped; elsewhere somebody may search them.
    let hook =
        miette::set_hook(Box::new(|_| Box::new(MietteHandlerOpts::new().wrap_lines(std::io::stderr().is_terminal()).build())));
    hook.expect("the hook is set once");
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

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }
}
