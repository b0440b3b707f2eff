//! Long checks and figures that `cargo bench` and `cargo test` have no time for, one subcommand each:
//!
//! ```text
//! cargo run -p lightbound-benches --release -- differential --graphs 1e6
//! ```
//!
//! A subcommand is a module with `Args`, what the command line says, and `run`.

mod code;
mod compile;
mod containment;
mod differential;
mod evaluate;
mod executed;
mod fairness;
#[allow(unsafe_code)]
mod foreign;
mod instances;
mod lightcuts;
mod materials;
mod math;
mod report;
mod sampling;
mod scalar;
mod throughput;
mod timing;

use clap::Parser;
use std::process::ExitCode;

/// Long checks and figures.
#[derive(Parser)]
#[command(name = "lightbound-benches")]
enum Command {
    Code(code::Args),
    Compile(compile::Args),
    Containment(containment::Args),
    Differential(differential::Args),
    Evaluate(evaluate::Args),
    Executed(executed::Args),
    Fairness(fairness::Args),
    Instances(instances::Args),
    Lightcuts(lightcuts::Args),
    Math(math::Args),
    Sampling(sampling::Args),
    Throughput(throughput::Args),
    Timing(timing::Args),
}

fn main() -> ExitCode {
    match Command::parse() {
        Command::Code(args) => code::run(&args),
        Command::Compile(args) => compile::run(&args),
        Command::Containment(args) => containment::run(&args),
        Command::Differential(args) => differential::run(&args),
        Command::Evaluate(args) => evaluate::run(&args),
        Command::Executed(args) => executed::run(&args),
        Command::Fairness(args) => fairness::run(&args),
        Command::Instances(args) => instances::run(&args),
        Command::Lightcuts(args) => lightcuts::run(&args),
        Command::Math(args) => math::run(&args),
        Command::Sampling(args) => sampling::run(&args),
        Command::Throughput(args) => throughput::run(&args),
        Command::Timing(args) => timing::run(&args),
    }
}
