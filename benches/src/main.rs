//! Long checks and figures that `cargo bench` and `cargo test` have no time for, one subcommand each:
//!
//! ```text
//! cargo run -p lightbound-benches --release -- differential --graphs 1e6
//! ```
//!
//! A subcommand is a module with `Args`, what the command line says, and `run`.

mod differential;

use clap::Parser;
use std::process::ExitCode;

/// Long checks and figures.
#[derive(Parser)]
#[command(name = "lightbound-benches")]
enum Command {
    Differential(differential::Args),
}

fn main() -> ExitCode {
    match Command::parse() {
        Command::Differential(args) => differential::run(&args),
    }
}
