//! Counts of executed instructions against callgrind's: those that block counters give must be what
//! an independent simulator sees.
//!
//! A child process runs a bounding shader N times over its boxes under callgrind, another one 2N
//! times. The difference, divided by N, is what one pass takes, including the loop around the code.
//! The loop is the same for all code of a target: its part is what a function that copies one word
//! takes beyond its own instructions. All else must agree exactly.

use crate::arguments::positive;
use crate::materials::{self, Bound};
use crate::report::{fail, print_head, print_machine, print_row};
use clap::builder::PossibleValuesParser;
use lightbound_shader::bounding::Spans;
use lightbound_shader::ir::text::parse;
use lightbound_shader::kernel::Twin;
use lightbound_shader::lift::Tracking;
use lightbound_shader::{Arena, Batch, Kernel, Target};
use std::hint::black_box;
use std::process::{Command, ExitCode};

/// Executed instructions by block counters, against callgrind
#[derive(clap::Args)]
pub struct Args {
    /// Run this code, in place of the check: a material's name, or `copy`
    #[arg(long, value_parser = codes(), requires_all = ["target", "passes"])]
    code: Option<String>,
    /// Target of that code
    #[arg(long)]
    target: Option<Target>,
    /// How often it is run
    #[arg(long, value_parser = positive::<u32>)]
    passes: Option<u32>,
}

/// Names of code.
fn codes() -> PossibleValuesParser {
    PossibleValuesParser::new(materials::ALL.map(|(name, _)| name).into_iter().chain([COPY]))
}

/// The function that copies a word.
const COPY: &str = "copy";

/// N of the module's description.
const PASSES: u32 = 20;

/// Prints a table; fails where counts differ.
pub fn run(args: &Args) -> ExitCode {
    if let (Some(name), Some(target), Some(passes)) = (&args.code, args.target, args.passes) {
        let Bound { function, inputs } = code(name, target);
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
        let surplus = |name: &str| -> Result<(u64, f64), String> {
            let Bound { function, inputs } = code(name, target);
            let twin = Twin::compile(&Arena::new(), &function, target)
                .map_err(|error| error.to_string())?;
            let executed = twin.executed(&[], &inputs);
            let [once, twice] = [1, 2].map(|times| callgrind(name, target, times * PASSES));
            Ok((executed, (twice? - once?) / f64::from(PASSES) - executed as f64))
        };
        let around = match surplus(COPY) {
            Ok((_, around)) => around,
            Err(error) => {
                eprintln!("{target}: {error}");
                return ExitCode::FAILURE;
            }
        };
        for (name, _) in materials::ALL {
            match surplus(name) {
                Ok((executed, surplus)) => {
                    let difference = surplus - around;
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

/// A material's bounding shader, or a function that copies a word.
fn code(name: &str, target: Target) -> Bound {
    match materials::ALL.iter().find(|(other, _)| *other == name) {
        Some((name, source)) => materials::bound(name, source, Spans::Light, Tracking::ALL, target),
        None => Bound {
            function: parse("fn copy(x: f32) -> (y: f32) {\nreturn x\n}\n")
                .expect("it is well formed"),
            inputs: Batch::new(target, 1, materials::GROUPS * target.lanes()),
        },
    }
}

/// What callgrind collects in; it knows functions by parts of their names.
#[inline(never)]
fn run_passes(passes: u32, kernel: &Kernel, inputs: &Batch) {
    let mut outputs = Batch::new(kernel.target(), kernel.outputs().len(), inputs.rows());
    for _ in 0..passes {
        kernel.run(&[], inputs, black_box(&mut outputs));
    }
}

/// Instructions that a child executes in [`run_passes`].
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
