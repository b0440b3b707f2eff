//! Checks counts of executed instructions: block counters must agree with callgrind, an independent
//! simulator.
//!
//! Under callgrind, one child process runs a bounding shader N times over its boxes, another one 2N
//! times. The difference divided by N is the count of one pass, including the loop around the code.
//! The overhead of the loop is the same for all code of a target, and is measured with a function
//! that copies one word. All counts must agree exactly.

use crate::arguments::positive;
use crate::materials::{self, BoundingShader};
use crate::report::{fail, print_head, print_machine, print_row};
use clap::builder::PossibleValuesParser;
use lightbound_shader::bounding::IntervalInputs;
use lightbound_shader::ir::text::parse;
use lightbound_shader::kernel::InstrumentedKernel;
use lightbound_shader::lift::Tracking;
use lightbound_shader::{Arena, Batch, Kernel, Target};
use std::hint::black_box;
use std::process::{Command, ExitCode};

/// Counts of executed instructions by block counters, against callgrind
#[derive(clap::Args)]
pub struct Args {
    /// Run this code instead of the check: a material's name, or `copy`
    #[arg(long, value_parser = codes(), requires_all = ["target", "passes"])]
    code: Option<String>,
    /// Target of the code
    #[arg(long)]
    target: Option<Target>,
    /// Number of passes
    #[arg(long, value_parser = positive::<u32>)]
    passes: Option<u32>,
}

/// Returns a parser for the names of the code that can be run.
fn codes() -> PossibleValuesParser {
    PossibleValuesParser::new(materials::ALL.map(|(name, _)| name).into_iter().chain([COPY]))
}

/// Name of the function that copies a word.
const COPY: &str = "copy";

/// N in the module documentation.
const PASSES: u32 = 20;

/// Prints a table. Fails if counts differ.
pub fn run(args: &Args) -> ExitCode {
    if let (Some(name), Some(target), Some(passes)) = (&args.code, args.target, args.passes) {
        let BoundingShader { function, inputs } = code(name, target);
        return match Kernel::compile(&Arena::new(), &function, target) {
            Ok(kernel) => {
                run_passes(passes, &kernel, &inputs);
                ExitCode::SUCCESS
            }
            Err(error) => fail(&error.to_string()),
        };
    }
    if Command::new("valgrind").arg("--version").output().is_err() {
        println!("skipped: valgrind is not installed");
        return ExitCode::SUCCESS;
    }
    print_machine();
    println!("Instructions executed for all groups of a pass, optimized upper bounds s(x, ω̂).\n");
    print_head(&["code", "block counters", "callgrind", "difference"].map(str::to_owned));
    let mut agree = true;
    for target in [Target::Sse, Target::Avx, Target::Avx2] {
        let overhead = |name: &str| -> Result<(u64, f64), String> {
            let BoundingShader { function, inputs } = code(name, target);
            let instrumented = InstrumentedKernel::compile(&Arena::new(), &function, target)
                .map_err(|error| error.to_string())?;
            let executed = instrumented.executed(&[], &inputs);
            let [once, twice] = [1, 2].map(|times| callgrind(name, target, times * PASSES));
            Ok((executed, (twice? - once?) / f64::from(PASSES) - executed as f64))
        };
        let loop_overhead = match overhead(COPY) {
            Ok((_, loop_overhead)) => loop_overhead,
            Err(error) => {
                eprintln!("{target}: {error}");
                return ExitCode::FAILURE;
            }
        };
        for (name, _) in materials::ALL {
            match overhead(name) {
                Ok((executed, overhead)) => {
                    let difference = overhead - loop_overhead;
                    agree &= difference == 0.0;
                    let callgrind = executed as f64 + difference;
                    print_row([
                        format!("{name}, {target}"),
                        executed.to_string(),
                        callgrind.to_string(),
                        difference.to_string(),
                    ]);
                }
                Err(error) => {
                    eprintln!("{name}, {target}: {error}");
                    agree = false;
                }
            }
        }
    }
    if agree { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Returns a material's bounding shader, or the function that copies a word.
fn code(name: &str, target: Target) -> BoundingShader {
    match materials::ALL.iter().find(|(other, _)| *other == name) {
        Some((name, source)) => {
            materials::bounding_shader(name, source, IntervalInputs::Light, Tracking::ALL, target)
        }
        None => BoundingShader {
            function: parse("fn copy(x: f32) -> (y: f32) {\nreturn x\n}\n")
                .expect("the text is well formed"),
            inputs: Batch::new(target, 1, materials::GROUPS * target.lanes()),
        },
    }
}

/// Runs the code; callgrind counts only in this function, which `--toggle-collect` finds by name.
#[inline(never)]
fn run_passes(passes: u32, kernel: &Kernel, inputs: &Batch) {
    let mut outputs = Batch::new(kernel.target(), kernel.outputs().len(), inputs.rows());
    for _ in 0..passes {
        kernel.run(&[], inputs, black_box(&mut outputs));
    }
}

/// Returns the number of instructions that a child process executes in [`run_passes`].
fn callgrind(name: &str, target: Target, passes: u32) -> Result<f64, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--smc-check=all-non-file", "--callgrind-out-file=/dev/null"])
        .arg("--toggle-collect=*executed*run_passes*")
        .arg(program)
        .args([
            "executed",
            "--code",
            name,
            "--target",
            target.name(),
            "--passes",
            &passes.to_string(),
        ])
        .output()
        .map_err(|error| error.to_string())?;
    let report = String::from_utf8_lossy(&output.stderr);
    let value = report.lines().find_map(|line| line.split_once("Collected :"));
    value
        .and_then(|(_, value)| value.trim().parse().ok())
        .filter(|&count| count > 0.0)
        .ok_or_else(|| report.into_owned())
}
