//! Random programs, run with every value checked against its static bounds.

use super::profile::{endpoints, number};
use super::{Analysis, static_bounds};
use crate::report::{fail, print_head, print_row};
use lightbound_shader::analysis::Bounds;
use lightbound_shader::analysis::solve::Effort;
use lightbound_shader::interpreter;
use lightbound_shader::interval::{Floats, Nan, Pieces};
use lightbound_shader::ir::{Def, Function, Type, Value};
use lightbound_shader::lift::classify::classify;
use lightbound_shader::random::Random;
use lightbound_shader::testing::random;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Limit on the iterations of all loops in an evaluation. Values until then are checked.
const MAX_ITERATIONS: u64 = 500;

/// Maximum number of combinations of inputs that are enumerated.
const MAX_ENUMERATED: usize = 256;

/// Maximum number of faults that are printed.
const MAX_PRINTED: u64 = 10;

/// Sums over programs.
#[derive(Default)]
struct Tally {
    programs: u64,
    /// Values compared with static bounds.
    checks: u64,
    /// Evaluations that reached the limit on iterations.
    stopped: u64,
    /// Values outside their static bounds.
    violations: u64,
    /// Programs for which the analysis panicked.
    panics: u64,
    /// Variables of programs that ran for all inputs.
    enumerated: u64,
    /// How many of them have an exact endpoint: the lower, the upper one.
    exact: [u64; 2],
    /// Descriptions of faults.
    faults: Vec<String>,
}

impl Tally {
    fn add(&mut self, other: Tally) {
        self.programs += other.programs;
        self.checks += other.checks;
        self.stopped += other.stopped;
        self.violations += other.violations;
        self.panics += other.panics;
        self.enumerated += other.enumerated;
        for (sum, exact) in std::iter::zip(&mut self.exact, other.exact) {
            *sum += exact;
        }
    }
}

/// Checks random programs, and prints the faults and a table.
pub fn run(programs: u64, seed: u64) -> ExitCode {
    // Panics are reported as faults.
    std::panic::set_hook(Box::new(|_| {}));
    let (next, printed) = (AtomicU64::new(0), AtomicU64::new(0));
    let table = Mutex::new(BTreeMap::<&str, Tally>::new());
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    std::thread::scope(|scope| {
        let work = || {
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                if index >= programs {
                    break;
                }
                let (name, tally) = check(Random::new(seed ^ index << 20).bits() >> 24);
                for fault in &tally.faults {
                    if printed.fetch_add(1, Ordering::Relaxed) < MAX_PRINTED {
                        eprintln!("{fault}");
                    }
                }
                table.lock().expect("no thread panics").entry(name).or_default().add(tally);
            }
        };
        (0..threads).for_each(|_| drop(scope.spawn(work)));
    });
    let table = table.into_inner().expect("no thread panics");
    print_head(
        &[
            "programs",
            "number",
            "checks",
            "stopped",
            "violations",
            "panics",
            "enumerated variables",
            "lower exact",
            "upper exact",
        ]
        .map(String::from),
    );
    let mut total = Tally::default();
    for (name, tally) in table {
        print_tally(name, &tally);
        total.add(tally);
    }
    print_tally("all", &total);
    if total.violations + total.panics > 0 {
        fail("values outside their static bounds, or panics")
    } else {
        ExitCode::SUCCESS
    }
}

fn print_tally(name: &str, tally: &Tally) {
    let Tally { programs, checks, stopped, violations, panics, enumerated, exact, .. } = tally;
    let share = exact.map(|exact| 100.0 * exact as f64 / (*enumerated).max(1) as f64);
    let counts = [programs, checks, stopped, violations, panics, enumerated].map(u64::to_string);
    let shares = share.map(|share| format!("{share:.1} %"));
    print_row([name.to_owned()].into_iter().chain(counts).chain(shares));
}

/// Inputs of a program.
struct Inputs {
    bounds: Vec<Bounds>,
    rows: Vec<Vec<u32>>,
    /// Whether the rows are all members of the bounds.
    all: bool,
}

/// Which values are intervals, how NaN is treated, and how bounds are computed. If it propagates,
/// bounds of intervals are not about the values of members that are NaN; `containment` checks that
/// mode.
struct Setting {
    name: &'static str,
    is_interval: Vec<bool>,
    nan: Nan,
    analysis: Analysis,
}

/// Checks a program. Returns the name of its kind.
fn check(seed: u64) -> (&'static str, Tally) {
    // The program uses `seed` itself. Choices here must be independent of it.
    let random = &mut Random::new(!seed);
    let (name, function) = if random.once_in(5) {
        ("functions", random::function(seed, &random::Options::any(seed, false)))
    } else {
        ("loops", random::loop_program(seed))
    };
    let inputs = if random.once_in(2) {
        small_domain(random, &function)
    } else {
        sampled_domain(random, &function, seed)
    };
    let intervals: Vec<_> = function.inputs.iter().map(|_| random.once_in(2)).collect();
    let intervals = classify(&function, &intervals);
    let scalars = vec![false; function.len()];
    let effort = Effort {
        iterations: random.below(20) as u32,
        jumps: random.below(20) as u32,
        narrowings: random.below(10) as u32,
        growth_limits: random.below(4) as u32,
        followed: random.below(4) as u32 * 1000,
    };
    let any = Analysis { effort, without_clips: random.once_in(2) };
    let setting = |name, is_interval: &[bool], nan, analysis| Setting {
        name,
        is_interval: is_interval.to_vec(),
        nan,
        analysis,
    };
    let default = Analysis::default();
    let settings = [
        setting("scalars", &scalars, Nan::Suppress, default),
        setting("scalars, any effort", &scalars, Nan::Suppress, any),
        setting("suppress", &intervals, Nan::Suppress, default),
        setting("ignore", &intervals, Nan::Ignore, any),
    ];
    let mut tally = Tally { programs: 1, ..Tally::default() };
    let mut bounds = vec![];
    for Setting { name, is_interval, nan, analysis } in &settings {
        let analyse = || static_bounds(&function, is_interval, &inputs.bounds, *nan, *analysis);
        match catch_unwind(AssertUnwindSafe(analyse)) {
            Ok(analysed) => bounds.push(analysed),
            Err(_) => {
                tally.panics += 1;
                tally.faults.push(format!("seed {seed}, {name}: panic\n{function}"));
                return ("panics", tally);
            }
        }
    }
    run_rows(&function, &inputs, &settings, &bounds, seed, &mut tally);
    (name, tally)
}

/// Runs a program for all rows, and checks every value.
fn run_rows(
    function: &Function,
    inputs: &Inputs,
    settings: &[Setting],
    bounds: &[Vec<Bounds>],
    seed: u64,
    tally: &mut Tally,
) {
    let tables = random::tables();
    let mut observed: Vec<Option<[f64; 2]>> = vec![None; function.len()];
    let stopped_before = tally.stopped;
    for row in &inputs.rows {
        let watch = |value: Value, word: u32| {
            let k = value.index();
            for (setting, bounds) in std::iter::zip(settings, bounds) {
                tally.checks += 1;
                if !bounds[k].contains(word) {
                    tally.violations += 1;
                    if tally.faults.is_empty() {
                        tally.faults.push(format!(
                            "seed {seed}, {}: v{k}, {:?}, is {} in {}, for {row:x?} in {:?}\n{function}",
                            setting.name,
                            function.operation(value),
                            number(function.ty(value), word),
                            bounds[k],
                            inputs.bounds.iter().map(Bounds::to_string).collect::<Vec<_>>(),
                        ));
                    }
                }
            }
            let x = number(function.ty(value), word);
            if !x.is_nan() {
                let [low, high] = observed[k].get_or_insert([x, x]);
                (*low, *high) = (low.min(x), high.max(x));
            }
        };
        let outcome = interpreter::watch(function, &tables, row, MAX_ITERATIONS, watch);
        tally.stopped += u64::from(outcome.is_err());
    }
    if !inputs.all || tally.stopped > stopped_before {
        return;
    }
    for (k, data) in function.values.iter().enumerate() {
        let is_variable =
            data.ty != Type::Bool && !matches!(data.def, Def::Input(_) | Def::Const(_));
        let ranges = observed[k].zip(endpoints(&bounds[0][k])).filter(|_| is_variable);
        if let Some((observed, ends)) = ranges {
            tally.enumerated += 1;
            for side in [0, 1] {
                tally.exact[side] += u64::from(observed[side] == ends[side]);
            }
        }
    }
}

/// Few values for each input, and all their combinations.
fn small_domain(random: &mut Random, function: &Function) -> Inputs {
    let mut rows = vec![vec![]];
    let mut bounds = vec![];
    for port in &function.inputs {
        let max_count = (MAX_ENUMERATED / rows.len()).min(4);
        let count = 1 + random.below(max_count.max(1));
        let first =
            if random.once_in(2) { random.below(9) as u32 } else { random::word(random, port.ty) };
        let words: Vec<u32> = (0..count as u32)
            .map(|k| match port.ty {
                Type::I32 => first.wrapping_add(k),
                Type::F32 => random::word(random, Type::F32),
                Type::Bool => [0, !0][k as usize % 2],
            })
            .collect();
        bounds.push(bounds_of(port.ty, &words));
        rows = rows
            .iter()
            .flat_map(|row: &Vec<u32>| {
                words.iter().map(move |&word| row.iter().copied().chain([word]).collect())
            })
            .collect();
    }
    Inputs { bounds, rows, all: true }
}

/// Some random inputs, and bounds around them.
fn sampled_domain(random: &mut Random, function: &Function, seed: u64) -> Inputs {
    let rows = random::rows(&function.inputs, 1 + random.below(12), seed);
    let bounds = function.inputs.iter().enumerate().map(|(k, port)| {
        let words: Vec<_> = rows.iter().map(|row| row[k]).collect();
        let mut bounds = bounds_of(port.ty, &words);
        if random.once_in(2) {
            close_gaps(&mut bounds);
        }
        bounds
    });
    let bounds = bounds.collect();
    Inputs { bounds, rows, all: false }
}

fn bounds_of(ty: Type, words: &[u32]) -> Bounds {
    words.iter().map(|&word| Bounds::constant(ty, word)).fold(Bounds::empty(ty), |a, b| a.join(&b))
}

/// Replaces bounds by an interval.
fn close_gaps(bounds: &mut Bounds) {
    match bounds {
        Bounds::Float(floats) => {
            if let Some([low, high]) = floats.pieces.hull() {
                *floats = floats.join(&Floats::between(low, high));
            }
        }
        Bounds::Int(ints) => {
            if let Some([low, high]) = ints.hull() {
                *ints = Pieces::one(low, high);
            }
        }
        Bounds::Bool(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_random_programs_are_within_their_bounds() {
        let mut total = Tally::default();
        for seed in 0..300 {
            let (_, tally) = check(seed);
            assert!(tally.faults.is_empty(), "{}", tally.faults[0]);
            total.add(tally);
        }
        assert!(total.checks > 100_000 && total.enumerated > 1000, "{} checks", total.checks);
    }

    #[test]
    fn small_domains_are_enumerated() {
        for seed in 0..50 {
            let function = random::loop_program(seed);
            let inputs = small_domain(&mut Random::new(seed), &function);
            assert!((1..=MAX_ENUMERATED).contains(&inputs.rows.len()));
            for (k, bounds) in inputs.bounds.iter().enumerate() {
                assert!(inputs.rows.iter().all(|row| bounds.contains(row[k])));
            }
        }
    }
}
