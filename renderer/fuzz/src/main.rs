//! Fuzzing: every reader of the program gets mutated inputs, and none may panic, crash or hang.
//!
//! ```text
//! cargo run --release -p lightbound-fuzz -- --cases 1e6          # every kind; takes hours
//! cargo run --release -p lightbound-fuzz -- scene shader --seconds 60
//! cargo run --release -p lightbound-fuzz -- png --reproduce 4711 --save case.png
//! ```
//!
//! A `kind` of input has a corpus of small valid inputs and a function that reads one, and
//! does what the program does with it: a scene is rendered, a shader is compiled, run and bounded.
//! A case is an input of the corpus with some mutations (`mutation`). It depends on the kind, the
//! seed and its index alone, so an index reproduces a failure.
//!
//! Cases run in `worker` processes with limited memory. The `supervisor` counts those that panic,
//! are killed by a signal (for example when memory runs out) or exceed the time limit, and starts
//! the worker again behind the case.

mod kind;
mod mutation;
mod supervisor;
mod worker;

use clap::Parser;
use kind::Kind;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Feed mutated inputs to every reader of the program
#[derive(Debug, Parser)]
struct Args {
    /// Kinds of input [default: all]
    kinds: Vec<Kind>,

    /// Number of cases per kind, such as 1000 or 1e6
    #[arg(long, default_value = "1e4", value_parser = count)]
    cases: u64,

    /// Stop each kind after this time
    #[arg(long, value_name = "SECONDS", default_value_t = f64::INFINITY)]
    seconds: f64,

    /// Seed of the mutations
    #[arg(long, default_value_t = 0)]
    seed: u64,

    /// Index of the first case
    #[arg(long, default_value_t = 0)]
    first: u64,

    /// Time limit of a case
    #[arg(long, value_name = "SECONDS", default_value_t = 20.0)]
    time_limit: f64,

    /// Memory limit of a worker process, GiB
    #[arg(long, value_name = "GIB", default_value_t = 4)]
    memory: u64,

    /// Number of worker processes [default: the number of cores]
    #[arg(long)]
    threads: Option<usize>,

    /// Run a single case of one kind in this process, and print what it does
    #[arg(long, value_name = "INDEX")]
    reproduce: Option<u64>,

    /// With --reproduce: write the input to this file
    #[arg(long, value_name = "FILE", requires = "reproduce")]
    save: Option<PathBuf>,

    /// Run cases FIRST..END of one kind; the supervisor starts this
    #[arg(long, value_name = "END", hide = true)]
    worker_until: Option<u64>,
}

/// Parses a number of cases.
fn count(text: &str) -> Result<u64, String> {
    match text.parse::<f64>() {
        Ok(x) if (1.0..=1e15).contains(&x) && x.fract() == 0.0 => Ok(x as u64),
        _ => Err("expected a number of cases, such as 1000 or 1e6".into()),
    }
}

fn main() -> ExitCode {
    let mut args = Args::parse();
    if args.kinds.is_empty() {
        args.kinds = Kind::ALL.into();
    }
    if let Some(end) = args.worker_until {
        worker::run(args.kinds[0], args.seed, args.first..end, args.memory);
        return ExitCode::SUCCESS;
    }
    if let Some(index) = args.reproduce {
        return reproduce(args.kinds[0], args.seed, index, args.save);
    }
    let options = supervisor::Options {
        cases: args.first..args.first.saturating_add(args.cases),
        seconds: args.seconds,
        seed: args.seed,
        time_limit: Duration::from_secs_f64(args.time_limit.clamp(0.001, 1e6)),
        memory: args.memory,
        workers: args
            .threads
            .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from)),
        program: std::env::current_exe().expect("the program has a path"),
    };
    println!("| kind | cases | accepted | panics | signals | time-outs | cases/s |");
    println!("|---|--:|--:|--:|--:|--:|--:|");
    let mut passed = true;
    for kind in args.kinds {
        let summary = supervisor::run(kind, &options);
        println!("{}", summary.row(kind));
        passed &= summary.failures() == 0;
    }
    if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs one case in this process.
fn reproduce(kind: Kind, seed: u64, index: u64, save: Option<PathBuf>) -> ExitCode {
    let mut reader = kind.reader();
    let case = worker::case(kind, &reader.corpus(), seed, index);
    if let Some(path) = save
        && let Err(error) = std::fs::write(&path, &case)
    {
        eprintln!("{}: cannot be written ({error})", path.display());
        return ExitCode::FAILURE;
    }
    println!("{kind} {index}: {} bytes", case.len());
    match reader.read(&case) {
        Ok(()) => println!("accepted"),
        Err(message) => println!("rejected: {message}"),
    }
    ExitCode::SUCCESS
}
