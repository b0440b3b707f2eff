//! Checks bounding shaders against point shaders: bounds contain the results, optimized bounds
//! equal naive ones, and related bounds are never wider.
//!
//! See [`lightbound_verification::containment`] for the checks. By default, they run on random
//! boxes, for operations, all shaders in the repository, random functions, and random functions
//! built from the patterns that relations match. With `--exhaustive`, they run on unary operations
//! over all words. With `--programs`, they run on random WGSL programs, with a few bounding shaders
//! each, and the checks are spread evenly over the programs.

use crate::arguments::count;
use crate::report::{invalid_input, print_head, print_row};
use lightbound_shader::bounding::{Frame, Integrand, IntervalInputs, Ranges};
use lightbound_shader::ir::Op;
use lightbound_shader::random::Random;
use lightbound_shader::{Shader, Target};
use lightbound_verification::containment::programs::{CheckBudget, Trial, report, shrink};
use lightbound_verification::containment::{
    Checker, Fault, Subject, Tally, WindowChecker, unary_ops,
};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const EXAMPLES: &str = "\
Examples:
  lightbound-benches containment --checks 1e9 --seed 1
  lightbound-benches containment --programs 1e5 --checks 1e10
  lightbound-benches containment --programs 1e5 --functions --checks 1e9
  lightbound-benches containment --exhaustive --only sqrt

A check compares one result, for one member of a box, with the bounds of one bounding shader. A
result counts once for each bounding shader, and for each number of parts into which the box is
split. The exit status is 0 if no fault is found.

Columns of the table:
  subject     an operation, a shader, or random functions; with --programs, a material and the
              frame of its directions, or a function
  checks      as above
  related     checks of related bounds, included in checks
  skipped     results not checked and not included in checks: a NaN occurs in a mode that ignores
              NaN, or all results are NaN
  empty       bounds not compared with others, since an interval of the box is empty
All other columns should be 0; otherwise the compiler has a fault:
  violations  results outside their bounds, and NaN results that a bound does not report
  mismatches  optimized bounds that differ from naive ones, and related bounds that depend on
              which cases of operations are selected
  too wide    related bounds that are wider than the optimized ones
  outside static
              values and endpoints outside their static bounds
  rejected    random programs that the front end rejects
  panics      subjects for which the compiler panicked";

/// Check that bounds contain the results of members of random boxes, without tolerance.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Number of results to check against bounds, such as 1000 or 1e9
    #[arg(long, default_value = "1e8", value_parser = count)]
    checks: u64,
    /// Seed
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Check only subjects with this text in their names; with `--exhaustive`, only the operation
    /// of this name
    #[arg(long)]
    only: Option<String>,
    /// Targets to check [default: all that this machine can run]
    #[arg(long)]
    target: Vec<Target>,
    /// Check this number of random WGSL programs, such as 1000 or 1e5; the checks are spread evenly
    /// over them
    #[arg(long, value_parser = count, conflicts_with_all = ["exhaustive", "only"])]
    programs: Option<u64>,
    /// With `--programs`: as functions that are no materials, whose arguments are any vectors
    #[arg(long, requires = "programs")]
    functions: bool,
    /// Check unary operations on all boxes of one word and of two adjacent words, and on some
    /// larger boxes; `--checks` has no effect
    #[arg(long)]
    exhaustive: bool,
    /// With `--exhaustive`: check only one in N blocks of 65536 words
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    sparse: u64,
}

/// Runs the checks, and prints the faults and a table.
pub fn run(args: &Args) -> ExitCode {
    // Panics are reported as faults.
    std::panic::set_hook(Box::new(|_| {}));
    if let Some(count) = args.programs {
        return programs(args, count);
    }
    let table = match if args.exhaustive { exhaustive(args) } else { random(args) } {
        Ok(table) => table,
        Err(error) => return invalid_input(&error),
    };
    print_head(&TITLES.map(String::from));
    let mut total = Tally::default();
    for (name, (tally, _)) in table {
        print_tally(&name, &tally);
        total.add(tally);
    }
    print_tally("all", &total);
    if total.is_faulty() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// Columns of the table.
const TITLES: [&str; 10] = [
    "subject",
    "checks",
    "related",
    "skipped",
    "empty",
    "violations",
    "mismatches",
    "too wide",
    "outside static",
    "panics",
];

fn print_tally(name: &str, tally: &Tally) {
    let Tally {
        checks,
        related,
        skipped,
        empty,
        violations,
        mismatches,
        too_wide,
        outside_static,
        panics,
        ..
    } = tally;
    let counts =
        [checks, related, skipped, empty, violations, mismatches, too_wide, outside_static, panics]
            .map(u64::to_string);
    print_row(std::iter::once(name.to_owned()).chain(counts));
}

/// A subject that is checked repeatedly, with a different seed each time.
enum Job {
    Op(Op),
    Shader(String, Box<[Integrand; 2]>),
    Random,
    Patterns,
}

impl Job {
    fn name(&self) -> &str {
        match self {
            Job::Op(op) => op.name(),
            Job::Shader(name, _) => name,
            Job::Random => "random functions",
            Job::Patterns => "patterns",
        }
    }

    /// Returns the subject for a seed, and the number of boxes to check it on.
    fn subject(&self, seed: u64) -> (Subject, usize) {
        // Subjects use `seed` itself. Choices here must be independent of it.
        let random = &mut Random::new(!seed);
        match self {
            Job::Op(op) => (Subject::op(*op, seed), 256),
            Job::Random => {
                let subject = Subject::random(seed);
                if random.once_in(3) {
                    (subject.with_intermediate_outputs(), 16)
                } else {
                    (subject, 48)
                }
            }
            Job::Patterns => {
                let subject = Subject::patterns(seed);
                if random.once_in(3) {
                    (subject.with_intermediate_outputs(), 32)
                } else {
                    (subject, 96)
                }
            }
            Job::Shader(name, integrands) => {
                let interval_inputs = *random.pick(&[IntervalInputs::Light, IntervalInputs::All]);
                let ranges = *random.pick(&[Some(Ranges::Declared), Some(Ranges::Paper), None]);
                let frame = random.below(2);
                let name = format!("{name}, {} frame", ["local", "world"][frame]);
                let subject = Subject::material(&name, &integrands[frame], interval_inputs, ranges);
                if random.once_in(4) {
                    (subject.with_intermediate_outputs(), 8)
                } else {
                    (subject, 128)
                }
            }
        }
    }
}

/// Returns all operations, all shaders, and random functions of both kinds several times. With
/// `only`, returns those with this text in their names.
fn jobs(only: Option<&str>) -> Result<Vec<Job>, String> {
    // `any` is valid only in lowered functions.
    let ops = Op::ALL.iter().copied().filter(|&op| op != Op::Any).map(Job::Op);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folders = [
        "assets/shaders",
        "shader-compiler/tests/shaders",
        // Densities.
        "benches/benches/media",
        "renderer/core/src/medium",
        "scenes/cloud",
        "scenes/smoke",
    ];
    let shaders = folders.iter().flat_map(|folder| shaders(&root.join(folder)));
    let all: Vec<_> =
        ops.chain(shaders).chain((0..100).flat_map(|_| [Job::Random, Job::Patterns])).collect();
    let Some(only) = only else { return Ok(all) };
    if all.iter().all(|job| !job.name().contains(only)) {
        return Err(no_subject(only, all.iter().map(Job::name)));
    }
    Ok(all.into_iter().filter(|job| job.name().contains(only)).collect())
}

/// Returns the error message for a name that matches no subject.
fn no_subject<'a>(only: &str, names: impl Iterator<Item = &'a str>) -> String {
    let names: BTreeSet<&str> = names.collect();
    format!(
        "no subject is named `{only}`; --only takes one of {}",
        names.into_iter().collect::<Vec<_>>().join(", ")
    )
}

/// Returns a job for each shader in a folder.
fn shaders(folder: &Path) -> Vec<Job> {
    let entries =
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut paths: Vec<_> = entries
        .filter(|path| path.extension().is_some_and(|extension| extension == "wgsl"))
        .collect();
    paths.sort();
    let job = |path: &Path| {
        let name = path.file_name().expect("the path names a file").to_string_lossy().into_owned();
        let source = std::fs::read_to_string(path).expect("the file can be read");
        let shader =
            Shader::parse(&name, &source).unwrap_or_else(|error| panic!("{name}: {error:?}"));
        let settings = Subject::settings(&shader, LOOP_CAP);
        let integrand = |frame| {
            Integrand::new(&shader, &settings, frame)
                .unwrap_or_else(|error| panic!("{name}: {error:?}"))
        };
        Job::Shader(name.clone(), Box::new([Frame::Local, Frame::World].map(integrand)))
    };
    paths.iter().map(|path| job(path)).collect()
}

/// Loop cap of point shaders: low, so that some loops reach it.
const LOOP_CAP: u32 = 200;

/// Number of members checked per box.
const MEMBERS_PER_BOX: usize = 16;

/// Returns the loop cap of bounding shaders. Some stop before the point shader does.
fn loop_cap(seed: u64) -> u32 {
    if seed.is_multiple_of(5) { 7 } else { LOOP_CAP }
}

/// Sums of tallies by name, with the number of sessions.
type Table = BTreeMap<String, (Tally, u64)>;

fn random(args: &Args) -> Result<Table, String> {
    let (jobs, targets) = (
        jobs(args.only.as_deref())?,
        if args.target.is_empty() { super::report::targets() } else { args.target.clone() },
    );
    let reduced = AtomicUsize::new(0);
    // Each session has a different seed, which is printed.
    let seed_of = |index: usize| Random::new(args.seed ^ (index as u64) << 20).bits() >> 24;
    let work = |index: usize| {
        let job = &jobs[index % jobs.len()];
        let seed = seed_of(index);
        let (subject, boxes) = job.subject(seed);
        let interpreted = args.target.is_empty() && seed.is_multiple_of(24);
        let target =
            if interpreted { Target::Interpreter } else { *Random::new(seed).pick(&targets) };
        let boxes = if target == Target::Interpreter { boxes.div_ceil(8) } else { boxes };
        let mut tally =
            Checker::check(&subject, target, loop_cap(seed), seed, boxes, MEMBERS_PER_BOX);
        if let Some(fault) = tally.faults.first_mut()
            && reduced.fetch_add(1, Ordering::Relaxed) < MAX_REDUCED
        {
            add_reduced_function(job, &subject, fault, seed);
        }
        (job.name().to_owned(), tally)
    };
    let checked = AtomicU64::new(0);
    let proceed = |tally: &Tally| {
        checked.fetch_add(tally.checks + tally.skipped, Ordering::Relaxed) < args.checks
    };
    let name = |index: usize| {
        let job = &jobs[index % jobs.len()];
        job.subject(seed_of(index)).0.name
    };
    let fraction = || Some(checked.load(Ordering::Relaxed) as f64 / args.checks as f64);
    let table = run_sessions(fraction, proceed, work, name);
    if let Some(warning) = unreached_warning(&jobs, &table) {
        println!("{warning}\n");
    }
    Ok(table)
}

/// Returns a warning about subjects that the checks did not reach.
fn unreached_warning(jobs: &[Job], table: &Table) -> Option<String> {
    let all: BTreeSet<&str> = jobs.iter().map(Job::name).collect();
    let missed: Vec<&str> = all.iter().copied().filter(|&name| !table.contains_key(name)).collect();
    let examples = missed.iter().take(3).copied().collect::<Vec<_>>().join(", ");
    let ellipsis = if missed.len() > 3 { " …" } else { "" };
    let (missed, all) = (missed.len(), all.len());
    (missed > 0).then(|| {
        format!(
            "{missed} of {all} subjects were not reached: {examples}{ellipsis}; increase --checks"
        )
    })
}

/// Maximum number of faults with a reduced function.
const MAX_REDUCED: usize = 30;

/// Adds the reduced function to a fault.
fn add_reduced_function(job: &Job, subject: &Subject, fault: &mut Fault, seed: u64) {
    match job {
        Job::Op(_) => fault.note.push_str(&subject.point.to_string()),
        Job::Random | Job::Patterns | Job::Shader(..) => {
            let (subject, found) = Checker::reduced(subject, fault, loop_cap(seed), seed);
            let (bounds, point) = (subject.inputs, subject.point);
            let found = found.map(|found| found.to_string()).unwrap_or_default();
            fault.note.push_str(&format!("reduced: {found}inputs {bounds:#?}\n{point}"));
        }
    }
}

/// Maximum number of sessions with printed faults. Further faults are only counted.
const MAX_REPORTED: usize = 100;

/// Runs sessions on all threads until `proceed` returns false; it gets each tally. Returns the sums
/// by name. `fraction` returns the completed fraction, if known. `name` describes a session that
/// takes long.
fn run_sessions(
    fraction: impl Fn() -> Option<f64>,
    proceed: impl Fn(&Tally) -> bool + Sync,
    work: impl Fn(usize) -> (String, Tally) + Sync,
    name: impl Fn(usize) -> String,
) -> Table {
    let (next, table, start) = (AtomicUsize::new(0), Mutex::new(Table::new()), Instant::now());
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    let (running, reported) = (Mutex::new(BTreeMap::new()), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        let run = || {
            let mut last = Tally::default();
            while proceed(&last) {
                let index = next.fetch_add(1, Ordering::Relaxed);
                running.lock().expect("no thread panics").insert(index, Instant::now());
                let (name, tally) = work(index);
                running.lock().expect("no thread panics").remove(&index);
                let mut table = table.lock().expect("no thread panics");
                let (sum, count) = table.entry(name).or_default();
                *count += 1;
                if tally.is_faulty() && reported.fetch_add(1, Ordering::Relaxed) < MAX_REPORTED {
                    tally.faults.iter().for_each(|fault| eprintln!("{fault}"));
                }
                last = Tally { faults: vec![], ..tally };
                sum.add(last.clone());
            }
        };
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(run)).collect();
        let mut last_report = start;
        while workers.iter().any(|worker| !worker.is_finished()) {
            std::thread::sleep(Duration::from_millis(20));
            if last_report.elapsed() > Duration::from_secs(20) {
                last_report = Instant::now();
                let checks: u64 = table
                    .lock()
                    .expect("no thread panics")
                    .values()
                    .map(|(tally, _)| tally.checks + tally.skipped)
                    .sum();
                let remaining = fraction()
                    .filter(|&done| done > 0.0)
                    .map(|done| start.elapsed().mul_f64((1.0 - done).max(0.0) / done));
                let remaining =
                    remaining.map_or(String::new(), |time| format!(", {time:.0?} left"));
                eprintln!("{checks:.2e} checks in {:.0?}{remaining}", start.elapsed());
                for (index, start) in running.lock().expect("no thread panics").iter() {
                    if start.elapsed() > Duration::from_secs(60) {
                        eprintln!(
                            "session {index}, {}, has run for {:.0?}",
                            name(*index),
                            start.elapsed()
                        );
                    }
                }
            }
        }
    });
    println!("{:.0?}, {threads} threads\n", start.elapsed());
    table.into_inner().expect("no thread panics")
}

/// Columns of the table of programs.
const PROGRAM_TITLES: [&str; 12] = [
    "subject",
    "programs",
    "checks",
    "related",
    "skipped",
    "empty",
    "violations",
    "mismatches",
    "too wide",
    "outside static",
    "rejected",
    "panics",
];

/// Maximum number of faults that are shrunk and printed. Further faults are only counted.
const MAX_SHRUNK: usize = 100;

/// Checks random programs, and prints the faults and a table.
fn programs(args: &Args, count: u64) -> ExitCode {
    let targets =
        if args.target.is_empty() { super::report::targets() } else { args.target.clone() };
    let effort = CheckBudget { checks: args.checks / count, boxes: 16, members: 12, steps: 16 };
    let seed_of = |index: usize| Random::new(args.seed ^ (index as u64) << 20).bits() >> 24;
    let (started, shrunk) = (AtomicU64::new(0), AtomicUsize::new(0));
    let work = |index: usize| {
        let new = if args.functions { Trial::of_function } else { Trial::new };
        let trial = new(seed_of(index), &targets);
        let tally = trial.run(&effort);
        let mut kinds = vec![];
        for fault in &tally.faults {
            if !kinds.contains(&fault.kind) && shrunk.fetch_add(1, Ordering::Relaxed) < MAX_SHRUNK {
                kinds.push(fault.kind);
                let (small, found) = shrink(&trial, fault);
                eprintln!("program {index}, seed {}:\n{}", trial.seed(), report(&small, &found));
            }
        }
        (trial.kind().to_owned(), Tally { faults: vec![], ..tally })
    };
    let proceed = |_: &Tally| started.fetch_add(1, Ordering::Relaxed) < count;
    let fraction = || Some(started.load(Ordering::Relaxed) as f64 / count as f64);
    let table = run_sessions(fraction, proceed, work, |index| {
        format!("program with seed {}", seed_of(index))
    });
    print_head(&PROGRAM_TITLES.map(String::from));
    let (mut total, mut programs) = (Tally::default(), 0);
    for (kind, (tally, count)) in table {
        print_programs(&kind, count, &tally);
        programs += count;
        total.add(tally);
    }
    print_programs("all", programs, &total);
    if total.is_faulty() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn print_programs(kind: &str, programs: u64, tally: &Tally) {
    let Tally {
        checks,
        related,
        skipped,
        empty,
        violations,
        mismatches,
        too_wide,
        outside_static,
        rejected,
        panics,
        ..
    } = *tally;
    let counts = [
        programs,
        checks,
        related,
        skipped,
        empty,
        violations,
        mismatches,
        too_wide,
        outside_static,
        rejected,
        panics,
    ];
    print_row(std::iter::once(kind.to_owned()).chain(counts.map(|count| count.to_string())));
}

/// One in this many blocks is checked with windows of 1, 2, 4, … 65536 words, the others only with
/// windows of 1 and 2 words.
const BLOCKS_PER_FULL_CHECK: usize = 1024;

/// Base-2 logarithm of the largest window.
const MAX_WINDOW_LOG2: u32 = 16;

fn exhaustive(args: &Args) -> Result<Table, String> {
    let ops: Vec<_> =
        unary_ops().filter(|op| args.only.as_ref().is_none_or(|only| op.name() == only)).collect();
    if let (true, Some(only)) = (ops.is_empty(), &args.only) {
        return Err(no_subject(only, unary_ops().map(Op::name)));
    }
    let remaining = AtomicUsize::new(ops.len() + 1);
    let work = |index: usize| {
        let op = ops[index];
        let start = Instant::now();
        let tally = std::panic::catch_unwind(|| check_words(op, args.sparse));
        eprintln!("{} in {:.0?}", op.name(), start.elapsed());
        (op.name().to_owned(), tally.unwrap_or_else(|_| Tally { panics: 1, ..Tally::default() }))
    };
    Ok(run_sessions(
        || None,
        |_| remaining.fetch_sub(1, Ordering::Relaxed) > 1,
        work,
        |index| ops[index].name().to_owned(),
    ))
}

/// Checks an operation on one in `sparse` blocks of words, and on windows larger than a block if
/// `sparse` is 1.
fn check_words(op: Op, sparse: u64) -> Tally {
    let (mut windows, mut tally) = (WindowChecker::new(op), Tally::default());
    let selected = (0..windows.blocks()).filter(|&block| (block as u64).is_multiple_of(sparse));
    let mut check_block = |block: usize| match block.is_multiple_of(BLOCKS_PER_FULL_CHECK) {
        true => windows.block(block, MAX_WINDOW_LOG2, &mut tally),
        false => windows.sweep_block(block, &mut tally),
    };
    let blocks: Vec<_> = selected.map(&mut check_block).collect();
    if sparse == 1 {
        windows.check_large_windows(&blocks, &mut tally);
    }
    tally
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_subjects_cause_errors_that_list_known_ones() {
        let names = |only| {
            jobs(only)
                .map(|jobs| jobs.iter().map(|job| job.name().to_owned()).collect::<BTreeSet<_>>())
        };
        assert!(names(Some("sqrt")).is_ok_and(|names| names.len() == 2 && names.contains("rsqrt")));
        assert!(
            names(None)
                .is_ok_and(|names| names.contains("ward.wgsl") && names.contains("patterns"))
        );
        assert!(
            names(Some("nosuch"))
                .is_err_and(|error| error.contains("`nosuch`") && error.contains("ward.wgsl"))
        );
        let args = |only: &str| Args {
            checks: 1,
            seed: 0,
            only: Some(only.to_owned()),
            target: vec![],
            programs: None,
            functions: false,
            exhaustive: true,
            sparse: 1,
        };
        assert!(
            exhaustive(&args("sqr"))
                .is_err_and(|error| error.contains("`sqr`") && error.contains(" sqrt,"))
        );
    }

    #[test]
    fn unreached_subjects_are_counted() {
        let jobs = [Job::Op(Op::Add), Job::Op(Op::Sqrt), Job::Random, Job::Patterns, Job::Random];
        let mut table = Table::from([("add".to_owned(), Default::default())]);
        let warning = unreached_warning(&jobs, &table).expect("three subjects are missing");
        assert!(
            warning
                .starts_with("3 of 4 subjects were not reached: patterns, random functions, sqrt;"),
            "{warning}"
        );
        table.extend(
            ["patterns", "random functions", "sqrt"]
                .map(|name| (name.to_owned(), Default::default())),
        );
        assert_eq!(unreached_warning(&jobs, &table), None);
    }
}
