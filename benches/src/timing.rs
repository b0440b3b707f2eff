//! Reliability of `lightbound bounds`: ratios of identical code, which should be 1, and the spread
//! of averages over several runs of the program, on an idle machine or with busy cores. Fails if a
//! ratio of identical code deviates from 1 by more than 2 %.

use crate::arguments::positive;
use crate::materials::{self, BoundingShader};
use crate::report::{fail, print_head, print_machine, print_row};
use lightbound_shader::Target;
use lightbound_shader::bounding::IntervalInputs;
use lightbound_shader::lift::Tracking;
use lightbound_study::cost::{Budget, Candidate, measure};
use serde_json::Value;
use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Ratios of identical code, and the spread of several runs of `lightbound bounds`
#[derive(clap::Args)]
pub struct Args {
    /// Number of runs of `lightbound bounds`
    #[arg(long, default_value_t = 10, value_parser = positive::<usize>)]
    runs: usize,
    /// Number of threads that keep other cores busy
    #[arg(long, default_value_t = 0)]
    busy: usize,
    /// Path of the `lightbound` executable [default: next to this one]
    #[arg(long)]
    program: Option<PathBuf>,
    /// Additional arguments for `lightbound bounds`
    #[arg(last = true)]
    arguments: Vec<String>,
}

/// Prints both tables.
pub fn run(args: &Args) -> ExitCode {
    print_machine();
    println!(
        "Threads that keep cores busy: {}. Load at the start: {}\n",
        args.busy,
        load_average()
    );
    let done = AtomicBool::new(false);
    let result = std::thread::scope(|scope| {
        for _ in 0..args.busy {
            scope.spawn(|| {
                let mut hash = 0u64;
                while !done.load(Ordering::Relaxed) {
                    hash = black_box((hash ^ 0x9e37).wrapping_mul(0x0100_0000_01b3));
                }
            });
        }
        let result = identical_code().and_then(|deviating| spread(args).map(|()| deviating));
        done.store(true, Ordering::Relaxed);
        result
    });
    println!("\nLoad at the end: {}", load_average());
    match result {
        Ok(deviating) if deviating.is_empty() => ExitCode::SUCCESS,
        Ok(deviating) => fail(&format!(
            "ratios of identical code deviate from 1 by more than 2 %: {}",
            deviating.join(", ")
        )),
        Err(error) => fail(&error),
    }
}

/// Maximum deviation of a ratio of identical code from 1.
const TOLERANCE: f64 = 0.02;

/// Returns the load averages over 1, 5 and 15 minutes.
fn load_average() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    if text.is_empty() {
        "unknown".into()
    } else {
        text.split(' ').take(3).collect::<Vec<_>>().join(" ")
    }
}

/// Returns candidates with the same code: optimized upper bounds on a material.
fn copies(name: &str, source: &str, count: usize) -> Result<Vec<Candidate>, String> {
    let BoundingShader { function, inputs } =
        materials::bounding_shader(name, source, IntervalInputs::Light, Tracking::ALL, Target::Sse);
    let row = |row| (0..inputs.ports()).map(|port| inputs.bits(row, port)).collect();
    let rows: Vec<Vec<u32>> = (0..inputs.rows()).map(row).collect();
    let candidate = |_| Candidate::from_lowered(&function, Target::Sse, &rows);
    (0..count).map(candidate).collect::<Result<_, _>>().map_err(|error| error.to_string())
}

/// Measures ratios of a function to itself. Returns the names of materials with ratios that deviate
/// from 1.
fn identical_code() -> Result<Vec<&'static str>, String> {
    const COPIES: usize = 8;
    let budget = Budget {
        max_rounds: usize::MAX,
        min_time: Duration::from_millis(500),
        max_time: Duration::from_secs(10),
        precision: 0.02,
    };
    println!("Identical code, {COPIES} candidates: optimized upper bounds s(x, ω̂), SSE\n");
    print_head(
        &[
            "code",
            "minimum ratio",
            "maximum ratio",
            "widest interval",
            "discarded",
            "with disturbed rounds",
        ]
        .map(str::to_owned),
    );
    let mut deviating = vec![];
    for (name, source) in materials::ALL {
        let candidates = copies(name, source, COPIES + 1)?;
        let measurement = measure(&candidates, &[], &budget, &|_| {});
        let [reference, costs @ ..] = &measurement.costs[..] else {
            unreachable!("the first candidate is the reference")
        };
        let ratios = || costs.iter().map(|cost| cost.time.median / reference.time.median);
        let width = costs.iter().map(|cost| cost.time.relative_width()).fold(0.0, f64::max);
        let (min, max) = (ratios().fold(f64::INFINITY, f64::min), ratios().fold(0.0, f64::max));
        if ![min, max].iter().all(|ratio| (ratio - 1.0).abs() <= TOLERANCE) {
            deviating.push(name);
        }
        let cells = [format!("{min:.4}"), format!("{max:.4}")];
        let percents = [width, measurement.discarded].map(|x| format!("{:.2} %", 100.0 * x));
        let disturbed = measurement.with_disturbed.to_string();
        print_row([name.to_owned()].into_iter().chain(cells).chain(percents).chain([disturbed]));
    }
    println!();
    Ok(deviating)
}

/// Prints the spread over several runs of averages over shaders.
fn spread(args: &Args) -> Result<(), String> {
    let default_program = || std::env::current_exe().map(|path| path.with_file_name("lightbound"));
    let program =
        args.program.clone().map_or_else(default_program, Ok).map_err(|error| error.to_string())?;
    let mut runs: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    let start = std::time::Instant::now();
    for _ in 0..args.runs {
        let mut command = Command::new(&program);
        command.args(["bounds", "--quiet", "--format", "json"]).args(&args.arguments);
        let output = command.output().map_err(|error| format!("{}: {error}", program.display()))?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        let records: Vec<Value> =
            serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())?;
        for (name, average) in averages(&records) {
            runs.entry(name).or_default().push(average);
        }
    }
    let seconds = start.elapsed().as_secs_f64() / args.runs as f64;
    println!(
        "Averages over shaders in {} runs of {seconds:.0} s; spread: (maximum − minimum) ÷ mean\n",
        args.runs
    );
    print_head(
        &["cycles relative to the point shader", "mean", "minimum", "maximum", "spread"]
            .map(str::to_owned),
    );
    let mut widest = 0.0f64;
    for (name, values) in &runs {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let (min, max) =
            values.iter().fold((f64::INFINITY, 0.0f64), |(lo, hi), &x| (lo.min(x), hi.max(x)));
        widest = widest.max((max - min) / mean);
        let cells = [mean, min, max].map(|x| format!("{x:.3}"));
        print_row(
            [name.clone()]
                .into_iter()
                .chain(cells)
                .chain([format!("{:.2} %", 100.0 * (max - min) / mean)]),
        );
    }
    println!("\nWidest spread: {:.2} %", 100.0 * widest);
    Ok(())
}

/// Returns the cycles relative to the point shader, averaged over the shaders of a table, by column
/// name.
fn averages(records: &[Value]) -> BTreeMap<String, f64> {
    let mut ratios: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for record in records {
        let keys = ["frame", "ranges", "sides", "nan", "inputs"]
            .map(|key| record[key].as_str().unwrap_or_default());
        let cycles = |code: &str| record[code]["cycles"].as_f64().unwrap_or(f64::NAN);
        for code in ["naive", "optimized", "related"] {
            ratios
                .entry(format!("{} {code}", keys.join(" ")))
                .or_default()
                .push(cycles(code) / cycles("point"));
        }
    }
    ratios
        .into_iter()
        .map(|(name, values)| (name, values.iter().sum::<f64>() / values.len() as f64))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_materials_compile_to_candidates() {
        if !Target::Sse.is_available() {
            return;
        }
        for (name, source) in materials::ALL {
            assert_eq!(copies(name, source, 2).map(|all| all.len()), Ok(2), "{name}");
        }
    }
}
