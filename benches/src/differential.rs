//! Differential tests: machine code for every target must equal the interpreter bit for bit.

use crate::arguments::{count, positive};
use lightbound_shader::Target;
use lightbound_shader::ir::Op;
use lightbound_shader::testing::{op_function, random, targets};
use lightbound_verification::differential::{Pipeline, RandomFunction, check_all};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Compare machine code of every target with the interpreter, bit for bit.
#[derive(clap::Args)]
pub struct Args {
    /// Number of random functions to check, such as 1000 or 1e6
    #[arg(long, default_value = "1e4", value_parser = count)]
    functions: u64,
    /// Seed of the first function; the others have consecutive seeds
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Number of input rows for each function
    #[arg(long, default_value_t = 17, value_parser = positive::<usize>)]
    rows: usize,
    /// Targets to check [default: all that this machine can run]
    #[arg(long)]
    target: Vec<Target>,
    /// Check only functions in lowered form, without passes
    #[arg(long)]
    lowered: bool,
    /// Stop after this number of failures
    #[arg(long, default_value_t = 5, value_parser = positive::<u64>)]
    failures: u64,
}

/// Runs the checks and prints the failures.
pub fn run(args: &Args) -> ExitCode {
    let targets = if args.target.is_empty() { targets() } else { args.target.clone() };
    let names: Vec<_> = targets.iter().map(|target| target.name()).collect();
    println!("targets: {}", names.join(", "));
    // Panics are caught and reported as failures.
    std::panic::set_hook(Box::new(|_| {}));
    let failed = if args.lowered { 0 } else { operations(&targets) } + functions(args, &targets);
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Checks each operation on special values. Returns the number of failures.
fn operations(targets: &[Target]) -> u64 {
    let mut failed = 0;
    // `any` is valid only in lowered functions.
    let ops: Vec<Op> = Op::ALL.iter().copied().filter(|&op| op != Op::Any).collect();
    for &op in &ops {
        let function = op_function(op);
        let rows = random::special_rows(&function.inputs, 100_003, op as u64);
        if let Err(failure) = check_all(&function, targets, &rows) {
            eprintln!("{}: {failure}", op.name());
            failed += 1;
        }
    }
    println!("{} operations on special values: {failed} failures", ops.len());
    failed
}

/// Checks random functions. Returns the number of failures.
fn functions(args: &Args, targets: &[Target]) -> u64 {
    let (next, done, failed) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let start = Instant::now();
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    std::thread::scope(|scope| {
        let work = || {
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                if index >= args.functions || failed.load(Ordering::Relaxed) >= args.failures {
                    return;
                }
                let pipeline = args.lowered.then_some(Pipeline::AlreadyLowered);
                let function = RandomFunction::new(args.seed + index, pipeline, args.rows);
                if function.check(targets).is_err() {
                    failed.fetch_add(1, Ordering::Relaxed);
                    report(args.seed + index, &function.reduced(targets), targets);
                }
                done.fetch_add(1, Ordering::Relaxed);
            }
        };
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let mut last_report = start;
        while workers.iter().any(|worker| !worker.is_finished()) {
            std::thread::sleep(Duration::from_millis(20));
            if last_report.elapsed() > Duration::from_secs(10) {
                last_report = Instant::now();
                println!(
                    "{} of {} functions in {:.0?}",
                    done.load(Ordering::Relaxed),
                    args.functions,
                    start.elapsed()
                );
            }
        }
    });
    let (done, failed) = (done.into_inner(), failed.into_inner());
    println!(
        "{done} random functions, {} rows each: {failed} failures, {:.0?}",
        args.rows,
        start.elapsed()
    );
    failed
}

/// Prints a reduced function that still fails.
fn report(seed: u64, function: &RandomFunction, targets: &[Target]) {
    let failure = function.check(targets).expect_err("a reduced function still fails");
    eprintln!("seed {seed}, reduced: {failure}\n{}", function.function);
}
