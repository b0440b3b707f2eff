//! Checks that naive bounding code is a fair baseline. Compares our code with the code that C
//! compilers generate for the same operations, written as scalar C that processes one SIMD lane at
//! a time, with and without vectorization.
//!
//! First, all results are checked to be bit-identical. In each round, each candidate in turn runs
//! twice over all groups, and the second run is timed. The minimum over all rounds counts. The
//! check fails if a compiler's code takes fewer than 95 % of our cycles.

use crate::arguments::{material, positive};
use crate::code::compare;
use crate::foreign::{Compiler, ForeignFunction, NO_COMPILER};
use crate::materials::{self, BoundingShader, GROUPS};
use crate::report::{fail, print_head, print_machine, print_row};
use lightbound_shader::bounding::IntervalInputs;
use lightbound_shader::lift::Tracking;
use lightbound_shader::{Arena, Batch, Kernel, Target};
use lightbound_study::cost::ticks;
use std::hint::black_box;
use std::process::ExitCode;

/// Cycles of naive bounding code, compared with C compilers on scalar C
#[derive(clap::Args)]
pub struct Args {
    /// Number of rounds; the fastest is reported
    #[arg(long, default_value_t = 1000, value_parser = positive::<usize>)]
    rounds: usize,
    /// Target to compile for
    #[arg(long, default_value = "sse")]
    target: Target,
    /// Materials [default: all]
    #[arg(value_parser = material())]
    materials: Vec<String>,
}

/// Minimum ratio of a compiler's cycles to ours for the baseline to be fair.
const MIN_RATIO: f64 = 0.95;

/// Prints the table.
pub fn run(args: &Args) -> ExitCode {
    let compilers = Compiler::all();
    if compilers.is_empty() {
        return fail(NO_COMPILER);
    }
    print_machine();
    println!(
        "Naive upper bounds, NaN ignored, {} ×{}, directions in world space.",
        args.target,
        args.target.lanes()
    );
    println!(
        "Ticks of the time-stamp counter per group: the minimum of {} interleaved rounds of \
         {GROUPS} groups.",
        args.rounds
    );
    println!("Scalar C at -O3, with and without vectorization.\n");
    let mut titles = vec!["bounds".to_owned(), "ours".to_owned()];
    for compiler in &compilers {
        titles.extend([compiler.release.clone(), "not vectorized".to_owned()]);
    }
    titles.push("best ÷ ours".to_owned());
    print_head(&titles);
    let mut fair = true;
    for (name, source) in materials::ALL {
        if !args.materials.is_empty() && args.materials.iter().all(|selected| selected != name) {
            continue;
        }
        for (interval_inputs, formula) in
            [(IntervalInputs::Light, "s(x, ω̂)"), (IntervalInputs::All, "s(x̂, ω̂)")]
        {
            match measure(name, source, interval_inputs, &compilers, args) {
                Ok(ticks) => {
                    let ratio = ticks[1..].iter().copied().fold(f64::INFINITY, f64::min) / ticks[0];
                    fair &= ratio >= MIN_RATIO;
                    let cells = ticks
                        .iter()
                        .map(|ticks| format!("{ticks:.1}"))
                        .chain([format!("{ratio:.2}")]);
                    print_row([format!("{name} {formula}")].into_iter().chain(cells));
                }
                Err(error) => {
                    eprintln!("{name}: {error}");
                    fair = false;
                }
            }
        }
    }
    if fair { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Measures ticks per group of our code, then of each compiler's code with and without
/// vectorization.
fn measure(
    name: &str,
    source: &str,
    interval_inputs: IntervalInputs,
    compilers: &[Compiler],
    args: &Args,
) -> Result<Vec<f64>, String> {
    let BoundingShader { function, inputs } =
        materials::bounding_shader(name, source, interval_inputs, Tracking::NONE, args.target);
    let kernel = Kernel::compile(&Arena::new(), &function, args.target)
        .map_err(|error| error.to_string())?;
    let mut ours = Batch::new(args.target, function.outputs.len(), inputs.rows());
    kernel.run(&[], &inputs, &mut ours);
    let mut foreign: Vec<ForeignFunction> = vec![];
    for compiler in compilers {
        for vectorized in [true, false] {
            let other = compiler.compile_scalar(&function, args.target, vectorized)?;
            let mut theirs = Batch::new(args.target, function.outputs.len(), inputs.rows());
            other.run(&[], &inputs, &mut theirs);
            compare(&function, &ours, &theirs)
                .map_err(|error| format!("{}: {error}", compiler.release))?;
            foreign.push(other);
        }
    }
    let mut min_ticks = vec![u64::MAX; foreign.len() + 1];
    let mut outputs = ours;
    for _ in 0..args.rounds {
        min_ticks[0] = min_ticks[0].min(time(|| kernel.run(&[], &inputs, black_box(&mut outputs))));
        for (other, min_ticks) in foreign.iter().zip(&mut min_ticks[1..]) {
            *min_ticks =
                (*min_ticks).min(time(|| other.run(&[], &inputs, black_box(&mut outputs))));
        }
    }
    Ok(min_ticks.into_iter().map(|ticks| ticks as f64 / GROUPS as f64).collect())
}

/// Runs `run` twice, and returns the ticks of the second run.
fn time(mut run: impl FnMut()) -> u64 {
    run();
    let start = ticks();
    run();
    ticks() - start
}
