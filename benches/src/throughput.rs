//! Checks the throughput model of `lightbound_study::cost::throughput` against `llvm-mca`, an
//! independent model of the same core, on the straight-line code of the materials: cycles per group
//! of the busiest resource (`Block RThroughput`).
//!
//! llvm-mca considers each set of ports separately. Our model also sums µops with overlapping
//! port sets, such as divisions on port 0 and additions on ports 0 and 1, and so predicts up to 5 %
//! more.

use crate::materials::{self, BoundingShader};
use crate::report::{fail, geometric_mean, invalid_input, print_head, print_machine, print_row};
use lightbound_shader::Target;
use lightbound_shader::backend::x86::Code;
use lightbound_shader::bounding::IntervalInputs;
use lightbound_shader::lift::Tracking;
use lightbound_study::cost::throughput::pressure;
use std::io::Write;
use std::process::{Command, ExitCode, Stdio};

/// Cycles predicted by the throughput model, against llvm-mca
#[derive(clap::Args)]
pub struct Args {
    /// Name or path of llvm-mca [default: llvm-mca; without it, the check is skipped]
    #[arg(long)]
    program: Option<String>,
}

/// Maximum ratio of the two predictions, in either direction.
const MAX_RATIO: f64 = 1.06;

/// Prints a table. Fails if the predictions differ, or if llvm-mca fails.
pub fn run(args: &Args) -> ExitCode {
    let program = args.program.as_deref().unwrap_or("llvm-mca");
    if let Err(error) = Command::new(program).arg("--version").output() {
        if args.program.is_some() {
            return invalid_input(&format!(
                "`{program}` does not run: {error}; --program takes the name or path of llvm-mca"
            ));
        }
        println!(
            "skipped: `{program}` is not installed (Debian: llvm) or not on the path (see --program)"
        );
        return ExitCode::SUCCESS;
    }
    print_machine();
    println!("Throughput-limited cycles per group on Skylake.\n");
    print_head(
        &["code", "front end", "ports", "model", "llvm-mca", "model ÷ llvm-mca"].map(str::to_owned),
    );
    let (mut ratios, mut outside) = (vec![], vec![]);
    for target in [Target::Sse, Target::Avx, Target::Avx2] {
        for (name, source) in materials::ALL {
            let bound = |tracking| {
                materials::bounding_shader(name, source, IntervalInputs::Light, tracking, target)
            };
            let (naive, optimized) = (bound(Tracking::NONE), bound(Tracking::ALL));
            for (mode, BoundingShader { function, .. }) in
                [("naive", naive), ("optimized", optimized)]
            {
                let code = Code::compile(&function, target.isa().expect("an x86-64 target"));
                // llvm-mca does not support branches.
                let [_] = code.block_sizes()[..] else { continue };
                let predicted = match mca(program, &code.listing(&function)) {
                    Ok(cycles) => cycles,
                    Err(error) => {
                        eprintln!("{name}, {target}: {error}");
                        return ExitCode::FAILURE;
                    }
                };
                let ours = pressure(&code, &[1]);
                let ratio = ours.cycles() / predicted;
                let cells = [ours.front_end(), ours.ports(), ours.cycles(), predicted]
                    .map(|cycles| format!("{cycles:.1}"));
                let label = format!("{name} s(x, ω̂), {mode}, {target}");
                print_row([label.clone()].into_iter().chain(cells).chain([format!("{ratio:.3}")]));
                ratios.push(ratio);
                if !is_close(ratio) {
                    outside.push(label);
                }
            }
        }
    }
    println!("\nGeometric mean of model ÷ llvm-mca: {:.3}", geometric_mean(ratios));
    if outside.is_empty() {
        return ExitCode::SUCCESS;
    }
    fail(&format!(
        "model and llvm-mca differ by a factor of more than {MAX_RATIO}: {}",
        outside.join("; ")
    ))
}

/// Returns whether two predictions with this ratio agree.
fn is_close(ratio: f64) -> bool {
    (1.0 / MAX_RATIO..=MAX_RATIO).contains(&ratio)
}

/// Returns llvm-mca's prediction for a listing, in cycles.
fn mca(program: &str, listing: &str) -> Result<f64, String> {
    let mut child = Command::new(program)
        .args([
            "-mtriple=x86_64",
            "-mcpu=skylake",
            "-iterations=100",
            "-instruction-info=0",
            "-resource-pressure=0",
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    // llvm-mca would warn about the return instruction.
    let lines = listing
        .lines()
        .map(|line| line.split(';').next().unwrap_or_default())
        .filter(|line| line.trim() != "ret");
    let text = lines.fold(".intel_syntax noprefix\n".to_owned(), |text, line| text + line + "\n");
    let mut stdin = child.stdin.take().expect("the standard input is piped");
    stdin.write_all(text.as_bytes()).map_err(|error| error.to_string())?;
    drop(stdin);
    let output = child.wait_with_output().map_err(|error| error.to_string())?;
    let report = String::from_utf8_lossy(&output.stdout);
    let value = report.lines().find_map(|line| line.strip_prefix("Block RThroughput:"));
    let cycles = value.and_then(|value| value.trim().parse().ok());
    cycles.ok_or_else(|| String::from_utf8_lossy(&output.stderr).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn predictions_are_close_within_the_maximum_ratio() {
        for (ratio, close) in [
            (1.0, true),
            (1.05, true),
            (0.95, true),
            (1.07, false),
            (0.94, false),
            (f64::NAN, false),
        ] {
            assert_eq!(is_close(ratio), close, "{ratio}");
        }
    }

    #[test]
    fn missing_program_is_an_input_error() {
        let named = Args { program: Some("/nonexistent/llvm-mca".into()) };
        assert_eq!(run(&named), ExitCode::from(2));
    }
}
