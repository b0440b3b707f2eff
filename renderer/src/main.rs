//! `lightbound`, the command line: arguments in, exit code out, no rendering logic.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run()
}
