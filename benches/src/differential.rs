//! Machine code of every target against the interpreter, bit for bit.

use crate::arguments::{count, positive};
use lightbound_shader::Target;
use lightbound_shader::differential::{Graph, Kind, check_all, op_function, targets};
use lightbound_shader::ir::{Op, random};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Holds compiled functions of every target against the interpreter, bit for bit.
#[derive(clap::Args)]
pub struct Args {
    /// Random functions to check, as 1000 or 1e6
    #[arg(long, default_value = "1e4", value_parser = count)]
    graphs: u64,
    /// Seed of the first function; the next ones follow
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Sets of inputs for each function
    #[arg(long, default_value_t = 17, value_parser = positive::<usize>)]
    rows: usize,
    /// Targets to check: all that this machine runs, unless given
    #[arg(long)]
    target: Vec<Target>,
    /// Only functions that are fit for back ends as they are, without passes
    #[arg(long)]
    lowered: bool,
    /// Functions that may fail before the rest is left
    #[arg(long, default_value_t = 5, value_parser = positive::<u64>)]
    failures: u64,
}

/// Checks, and prints what fails.
pub fn run(args: &Args) -> ExitCode {
    let targets = if args.target.is_empty() { targets() } else { args.target.clone() };
    let names: Vec<_> = targets.iter().map(|target| target.name()).collect();
    println!("targets: {}", names.join(", "));
    // Failures are reported below, panics among them.
    std::panic::set_hook(Box::new(|_| {}));
    let failed = if args.lowered { 0 } else { operations(&targets) } + graphs(args, &targets);
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Each operation on special values; the number of failures.
fn operations(targets: &[Target]) -> u64 {
    let mut failed = 0;
    // `any` makes sense only within lowered functions.
    for &op in Op::ALL.iter().filter(|&&op| op != Op::Any) {
        let function = op_function(op);
        let rows = random::special_rows(&function.inputs, 100_003, op as u64);
        if let Err(failure) = check_all(&function, targets, &rows) {
            eprintln!("{}: {failure}", op.name());
            failed += 1;
        }
    }
    println!("{} operations on special values: {failed} failures", Op::ALL.len());
    failed
}

/// Random functions; the number of failures.
fn graphs(args: &Args, targets: &[Target]) -> u64 {
    let (next, done, failed) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let start = Instant::now();
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    std::thread::scope(|scope| {
        let work = || {
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                if index >= args.graphs || failed.load(Ordering::Relaxed) >= args.failures {
                    return;
                }
                let kind = args.lowered.then_some(Kind::Lowered);
                let graph = Graph::new(args.seed + index, kind, args.rows);
                if graph.check(targets).is_err() {
                    failed.fetch_add(1, Ordering::Relaxed);
                    report(args.seed + index, &graph.reduced(targets), targets);
                }
                done.fetch_add(1, Ordering::Relaxed);
            }
        };
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let mut told = start;
        while workers.iter().any(|worker| !worker.is_finished()) {
            std::thread::sleep(Duration::from_millis(20));
            if told.elapsed() > Duration::from_secs(10) {
                told = Instant::now();
                println!(
                    "{} of {} functions in {:.0?}",
                    done.load(Ordering::Relaxed),
                    args.graphs,
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

/// Prints a reduced function that fails.
fn report(seed: u64, graph: &Graph, targets: &[Target]) {
    let failure = graph.check(targets).expect_err("what is reduced still fails");
    eprintln!("seed {seed}, reduced: {failure}\n{}", graph.function);
}
