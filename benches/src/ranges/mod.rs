//! Precision, soundness and scaling of static range analysis.
//!
//! By default, each kernel in `benches/kernels` is analysed for the declared ranges of its inputs,
//! and run for many inputs in these ranges. A table compares the static range of each variable
//! with the values that it had (Campos et al. 2012, §4.2, Figure 12).
//!
//! With `--random`, random programs of loops run with every value checked against its static
//! range. With `--scaling`, the analysis is timed on generated functions of increasing size.

mod classes;
mod precision;
mod profile;
mod random;
mod scaling;

use crate::arguments::count;
use lightbound_shader::analysis::Bounds;
use lightbound_shader::analysis::conditions::Clips;
use lightbound_shader::analysis::solve::{self, Effort, Facts};
use lightbound_shader::interval::Nan;
use lightbound_shader::ir::Function;
use lightbound_shader::lift;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  lightbound-benches ranges
  lightbound-benches ranges --kernel bubble_sort --variables
  lightbound-benches ranges --runs 2000 --ablations
  lightbound-benches ranges --random 1e5 --seed 1
  lightbound-benches ranges --scaling --operations 1e5

The variables of a kernel are the results of its operations, the parameters of its loops, and the
results of its loops and ifs, without constants and inputs.

Columns of the table of kernels:
  runs        evaluations of the kernel: all inputs if there are few enough, otherwise corners of
              the ranges, random inputs, and variants of inputs that reached a new extreme
  int, float  variables of each type that had a value
  lower exact, upper exact
              percentage whose static endpoint equals the least or the greatest value that occurred
  lower far, upper far
              percentage of floats whose static endpoint is imprecise, see below
  NaN         floats that may be NaN by the analysis and never were
  not run     variables that never had a value
  violations  values outside their static ranges, of all types; should be 0

Classes of an endpoint s, where d is the extreme value that occurred and m the greatest magnitude
of the variable's values: 1 if s = d; n if |s − d| ≤ m; n² if |s − d| ≤ m²; imprecise otherwise.
For the upper endpoint of a positive variable, n is s ≤ 2d, as in the paper. The classes by
magnitudes compare only |s| and |d|: n if they have the same sign and a ratio of at most 2, n² if
the larger one is at most the square of the smaller one.

The exit status is 0 if there is no violation.";

/// Measure static range analysis: precision on kernels, soundness, and scaling
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Measure only kernels with this text in their names
    #[arg(long)]
    kernel: Option<String>,
    /// List all variables
    #[arg(long, requires = "kernel")]
    variables: bool,
    /// Also compare variants of the analysis
    #[arg(long, conflicts_with_all = ["random", "scaling"])]
    ablations: bool,
    /// Number of evaluations of each kernel, such as 2000 or 1e5
    #[arg(long, default_value = "2e4", value_parser = count)]
    runs: u64,
    /// Seed of inputs and random programs
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Check this number of random programs instead, such as 1000 or 1e5
    #[arg(long, value_parser = count, conflicts_with_all = ["kernel", "scaling"])]
    random: Option<u64>,
    /// Measure time and memory on generated functions instead
    #[arg(long, conflicts_with = "kernel")]
    scaling: bool,
    /// With `--scaling`, the number of operations of the largest function, such as 1e6
    #[arg(long, default_value = "1e6", value_parser = count)]
    operations: u64,
    /// With `--scaling`, measure one function in this process: its shape and number of operations
    #[arg(long, hide = true, requires = "scaling", num_args = 2)]
    single: Option<Vec<String>>,
}

/// Runs the measurement.
pub fn run(args: &Args) -> ExitCode {
    match (args.random, args.scaling, &args.single) {
        (Some(programs), ..) => random::run(programs, args.seed),
        (_, _, Some(single)) => scaling::run_single(&single[0], &single[1]),
        (_, true, _) => scaling::run(args.operations as usize),
        _ => precision::run(&precision::Request {
            only: args.kernel.as_deref(),
            variables: args.variables,
            ablations: args.ablations,
            runs: args.runs as usize,
            seed: args.seed,
        }),
    }
}

/// How a function is analysed.
#[derive(Clone, Copy, Debug, Default)]
struct Analysis {
    effort: Effort,
    /// Whether conditions have no effect: SSA form instead of e-SSA form.
    without_clips: bool,
}

/// The static bounds of all values of a function for bounds of its inputs.
fn static_bounds(
    function: &Function,
    is_interval: &[bool],
    inputs: &[Bounds],
    nan: Nan,
    analysis: Analysis,
) -> Vec<Bounds> {
    let clips = if analysis.without_clips {
        Clips::default()
    } else {
        lift::find_clips(function, is_interval, inputs, nan)
    };
    let facts = Facts { clips: Some(&clips), effort: analysis.effort, ..Facts::default() };
    solve::run(function, is_interval, inputs, nan, facts)
}
