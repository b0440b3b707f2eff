//! Long-running checks and measurements that do not fit into `cargo bench` and `cargo test`. Each
//! is a subcommand:
//!
//! ```text
//! cargo run -p lightbound-benches --release -- differential --functions 1e6
//! ```
//!
//! Each subcommand is a module with `Args`, its command line, and `run`.

mod arguments;
mod code;
mod compile;
mod containment;
mod cpu_time;
mod differential;
mod displacement;
mod evaluate;
mod executed;
mod fairness;
mod fidget;
#[allow(unsafe_code, reason = "calls code of C compilers")]
mod foreign;
mod implicit;
mod instances;
mod lightcuts;
mod looks;
mod materials;
mod math;
mod nitrous;
mod peers;
mod ranges;
mod report;
mod sampling;
mod scalar;
mod specialize;
mod textures;
mod throughput;
mod timing;
mod zeros;

use clap::Parser;
use std::process::ExitCode;

/// Long-running checks and measurements.
#[derive(Parser)]
#[command(name = "lightbound-benches")]
enum Command {
    Code(code::Args),
    Compile(compile::Args),
    Containment(containment::Args),
    Differential(differential::Args),
    Displacement(displacement::Args),
    Evaluate(evaluate::Args),
    Executed(executed::Args),
    Fairness(fairness::Args),
    Fidget(fidget::Args),
    Implicit(implicit::Args),
    Instances(instances::Args),
    Lightcuts(lightcuts::Args),
    Looks(looks::Args),
    Math(math::Args),
    Nitrous(nitrous::Args),
    Peers(peers::Args),
    Ranges(ranges::Args),
    Sampling(sampling::Args),
    Specialize(specialize::Args),
    Textures(textures::Args),
    Throughput(throughput::Args),
    Timing(timing::Args),
    Zeros(zeros::Args),
}

fn main() -> ExitCode {
    match Command::parse() {
        Command::Code(args) => code::run(&args),
        Command::Compile(args) => compile::run(&args),
        Command::Containment(args) => containment::run(&args),
        Command::Differential(args) => differential::run(&args),
        Command::Displacement(args) => displacement::run(&args),
        Command::Evaluate(args) => evaluate::run(&args),
        Command::Executed(args) => executed::run(&args),
        Command::Fairness(args) => fairness::run(&args),
        Command::Fidget(args) => fidget::run(&args),
        Command::Implicit(args) => implicit::run(&args),
        Command::Instances(args) => instances::run(&args),
        Command::Lightcuts(args) => lightcuts::run(&args),
        Command::Looks(args) => looks::run(&args),
        Command::Math(args) => math::run(&args),
        Command::Nitrous(args) => nitrous::run(&args),
        Command::Peers(args) => peers::run(&args),
        Command::Ranges(args) => ranges::run(&args),
        Command::Sampling(args) => sampling::run(&args),
        Command::Specialize(args) => specialize::run(&args),
        Command::Textures(args) => textures::run(&args),
        Command::Throughput(args) => throughput::run(&args),
        Command::Timing(args) => timing::run(&args),
        Command::Zeros(args) => zeros::run(&args),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::error::ErrorKind;

    #[test]
    fn command_lines_without_work_are_errors() {
        for command_line in [
            "containment --checks 0",
            "containment --programs 0",
            "containment --exhaustive --sparse 0",
            "differential --functions 0",
            "differential --rows 0",
            "differential --failures 0",
            "math --function nosuch",
            "math --sample 0",
            "math --pairs 0",
            "math --write TABLE.md --function sqrt",
            "math --write TABLE.md --sample 2",
            "code nosuch",
            "code --rounds 0",
            "fairness nosuch",
            "fairness --rounds 0",
            "fidget --models x --runs 0",
            "compile --runs 0",
            "compile --statements 1000,0",
            "evaluate --rounds 0",
            "evaluate --alike 0",
            "executed --code nosuch --target sse --passes 1",
            "executed --code ward --target sse --passes 0",
            "instances --count 0",
            "instances --runs 0",
            "lightcuts --materials nosuch",
            "lightcuts --rounds 0",
            "lightcuts --threads 0",
            "looks --rounds 0",
            "looks --spp 0",
            "looks --width 0",
            "nitrous --rounds 0",
            "peers --harness x --seconds 0",
            "peers --harness x --seeds 0",
            "ranges --runs 0",
            "ranges --random 0",
            "ranges --random 10 --scaling",
            "sampling --materials nosuch",
            "sampling --samples 127",
            "specialize --boxes 0",
            "specialize --runs 0",
            "textures --sizes 128,0",
            "textures --lookups 0",
            "timing --runs 0",
        ] {
            let kind = Command::try_parse_from(std::iter::once("").chain(command_line.split(' ')))
                .err()
                .map(|error| error.kind());
            let expected =
                [ErrorKind::InvalidValue, ErrorKind::ValueValidation, ErrorKind::ArgumentConflict];
            assert!(kind.is_some_and(|kind| expected.contains(&kind)), "{command_line}: {kind:?}");
        }
    }
}
