//! The throughput model of `lightbound_shader::cost::throughput` against `llvm-mca`, an independent model of the same core, for the
//! straight-line code of the materials: cycles per group for which the busiest resource is taken (`Block RThroughput`).
//!
//! llvm-mca looks at each set of ports alone; the model also adds up µops whose sets overlap, as divisions on port 0 and sums on
//! ports 0 and 1, and so predicts up to 5 % more.

use crate::materials::{self, Bound};
use crate::report::{geometric_mean, print_head, print_machine, print_row};
use lightbound_shader::Target;
use lightbound_shader::backend::x86::Code;
use lightbound_shader::bounding::Spans;
use lightbound_shader::cost::throughput::pressure;
use lightbound_shader::lift::Tracking;
use std::io::Write;
use std::process::{Command, ExitCode, Stdio};

/// Predicted cycles, against llvm-mca
#[derive(clap::Args)]
pub struct Args {
    /// Name or path of llvm-mca
    #[arg(long, default_value = "llvm-mca")]
    program: String,
}

/// Prints a table; fails where llvm-mca does.
pub fn run(args: &Args) -> ExitCode {
    if Command::new(&args.program).arg("--version").output().is_err() {
        println!("skipped: `{}` is not installed (Debian: llvm; or name it by --program)", args.program);
        return ExitCode::SUCCESS;
    }
    print_machine();
    println!("Cycles per group that throughput limits, on Skylake.\n");
    print_head(&["code", "front end", "ports", "model", "llvm-mca", "model ÷ llvm-mca"].map(str::to_owned));
    let mut ratios = vec![];
    for target in [Target::Sse, Target::Avx, Target::Avx2] {
        for (name, source) in materials::ALL {
            let bound = |tracking| materials::bound(name, source, Spans::Light, tracking, target);
            let (naive, optimized) = (bound(Tracking::NONE), bound(Tracking::ALL));
            for (kind, Bound { function, .. }) in [("naive", naive), ("optimized", optimized)] {
                let code = Code::compile(&function, target);
                // llvm-mca knows no branches.
                let [_] = code.block_sizes()[..] else { continue };
                let predicted = match mca(&args.program, &code.listing(&function)) {
                    Ok(cycles) => cycles,
                    Err(error) => {
                        eprintln!("{name}, {target}: {error}");
                        return ExitCode::FAILURE;
                    }
                };
                let ours = pressure(&code, &[1]);
                ratios.push(ours.cycles() / predicted);
                let cells = [ours.front_end(), ours.ports(), ours.cycles(), predicted].map(|cycles| format!("{cycles:.1}"));
                let label = format!("{name} s(x, ω̂), {kind}, {target}");
                print_row([label].into_iter().chain(cells).chain([format!("{:.3}", ours.cycles() / predicted)]));
            }
        }
    }
    println!("\nGeometric mean of model ÷ llvm-mca: {:.3}", geometric_mean(ratios));
    ExitCode::SUCCESS
}

/// What llvm-mca predicts for a listing.
fn mca(program: &str, listing: &str) -> Result<f64, String> {
    let mut child = Command::new(program)
        .args(["-mtriple=x86_64", "-mcpu=skylake", "-iterations=100", "-instruction-info=0", "-resource-pressure=0"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    // The return would make it warn.
    let lines = listing.lines().map(|line| line.split(';').next().unwrap_or_default()).filter(|line| line.trim() != "ret");
    let text = lines.fold(".intel_syntax noprefix\n".to_owned(), |text, line| text + line + "\n");
    let mut stdin = child.stdin.take().expect("it is piped");
    stdin.write_all(text.as_bytes()).map_err(|error| error.to_string())?;
    drop(stdin);
    let output = child.wait_with_output().map_err(|error| error.to_string())?;
    let report = String::from_utf8_lossy(&output.stdout);
    let value = report.lines().find_map(|line| line.strip_prefix("Block RThroughput:"));
    let cycles = value.and_then(|value| value.trim().parse().ok());
    cycles.ok_or_else(|| String::from_utf8_lossy(&output.stderr).into_owned())
}
