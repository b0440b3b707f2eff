//! `lightbound regress`: compares the cases of a suite with their references.

use super::console::{self, Console, Progress, count, duration};
use super::interrupt::{Interrupt, Stage};
use super::numbers::integer;
use super::output::is_stream;
use super::render::{MAX_THREADS, all_threads};
use super::{Error, Exit, input};
use lightbound::suggestion::did_you_mean;
use lightbound_regress::outcome::{MetricLimit, MetricValue, Outcome, Status};
use lightbound_regress::report::{Report, ReportError};
use lightbound_regress::run::RenderContext;
use lightbound_regress::schedule::{Event, Schedule};
use lightbound_regress::state::RunState;
use lightbound_regress::suite::{Case, Suite, SuiteError};
use lightbound_regress::update::{Change, Update, UpdateError, update};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::time::Instant;

const EXAMPLES: &str = "\
Examples:
  lightbound regress                                     the suite scenes/suite.toml
  lightbound regress my/suite.toml --report my/report    with a report: my/report/index.html
  lightbound regress --filter glass --filter light       cases whose names contain one of these
  lightbound regress --seed 7                            with other noise; must pass as well
  lightbound regress --update glass mirror               new references after an intended change

A suite is a TOML file. Its paths are relative to its folder. [defaults] applies to the keys that a
case omits:

  [defaults]
  resolution = [64, 64]
  spp = 256

  [[case]]
  name = \"glass\"
  about = \"smooth and rough dielectrics\"
  scene = \"suite/glass.pbrt\"

Keys of cases and of [defaults]:
  name, about, scene           in cases only; name and scene are required
  reference = \"FILE.exr\"       in cases only; by default references/NAME.exr
  kind = \"statistical\"         or \"exact\": bit-identical, with the built-in accelerator
  resolution, spp, seed        instead of the scene's
  depth = 8                    maximum scattering events on a path, instead of the scene's
  sampler = \"sobol\"            or \"independent\", instead of the scene's
  integrator = \"path\"          or \"volpath\", \"lightcuts\", instead of the scene's
  accel = \"auto\"               or \"builtin\", \"embree\"
  layer = \"specular\"           exact cases: a component of the light, or light_NAME, instead of all
  reference-spp                samples per pixel of the reference; by default 64 × spp
  significance = 0.001         probability that each of the two tests rejects a correct image
  accepted = 0.9975            fraction of pixel tests that must pass

A statistical case has two tests. The first is a z-test of each pixel and channel, with the
variances of result and reference and a common limit (Šidák correction); a given fraction of these
must pass. The second is a z-test of the mean of each block of 8², 16², … pixels up to the full
image; all of these must pass. It finds errors below the noise of a pixel.

Results of an interrupted run are kept in .regress/ next to the suite. The same command resumes the
run, as long as program, suite and scenes are unchanged.";

/// Options of `regress`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Suite: a TOML file that lists cases; - reads stdin, and paths are then relative to the
    /// current folder
    #[arg(default_value = "scenes/suite.toml")]
    suite: PathBuf,

    /// Run only cases whose names contain TEXT; may be repeated
    #[arg(long, value_name = "TEXT")]
    filter: Vec<String>,

    /// Write a report with images, index.html and its files, to a folder
    #[arg(long, value_name = "DIR", conflicts_with = "update")]
    report: Option<PathBuf>,

    /// Cases to render at the same time [default: one for every four threads]
    #[arg(long, value_name = "N", value_parser = integer(1..=MAX_THREADS))]
    jobs: Option<u16>,

    /// Total number of threads [default: all]
    #[arg(long, value_name = "N", value_parser = integer(1..=MAX_THREADS))]
    threads: Option<u16>,

    /// Seed of all statistical cases instead of the suite's
    #[arg(long, value_name = "N", value_parser = integer(0..=u32::MAX), conflicts_with = "update")]
    seed: Option<u32>,

    /// Render new references for these cases and report the changes; no tests run
    #[arg(long, value_name = "NAME", num_args = 1.., conflicts_with = "filter")]
    update: Vec<String>,

    /// Print failures only
    #[arg(short, long)]
    quiet: bool,
}

impl From<ReportError> for Error {
    fn from(error: ReportError) -> Error {
        Error::option(error.to_string(), "name another folder with --report")
    }
}

impl From<SuiteError> for Error {
    fn from(SuiteError { message, help }: SuiteError) -> Error {
        Error::Data { message, help }
    }
}

/// Steps of the progress bar per case.
const STEPS_PER_CASE: f64 = 1000.0;

/// Runs the command.
pub fn run(args: &Args) -> Result<Exit, Error> {
    let suite = read_suite(&args.suite)?;
    if args.update.is_empty() { test(args, &suite) } else { update_references(args, &suite) }
}

fn read_suite(path: &Path) -> Result<Suite, Error> {
    if !is_stream(path) {
        return Ok(Suite::read(path)?);
    }
    let text = input::read(path).and_then(|data| {
        String::from_utf8(data).map_err(|cause| io::Error::new(io::ErrorKind::InvalidData, cause))
    });
    match text {
        Ok(text) => Ok(Suite::parse(input::name(path), &text)?),
        Err(cause) => Err(Error::Data {
            message: format!("stdin: the suite cannot be read ({cause})"),
            help: "check the command that writes it".into(),
        }),
    }
}

/// Runs cases and prints their outcomes.
fn test(args: &Args, suite: &Suite) -> Result<Exit, Error> {
    let cases = select_cases(suite, &args.filter)?;
    let report = args.report.as_deref().map(Report::open).transpose()?;
    let (console, interrupt) = (Console::new(args.quiet), Interrupt::install(args.quiet));
    let state = RunState::open(&suite.path)
        .map_err(|error| {
            console::warn(&format!("{error}; an interrupted run will start from the beginning"))
        })
        .ok();
    let start = Instant::now();
    let progress = console.testing(cases.len() as u64 * STEPS_PER_CASE as u64);
    interrupt.enter(Stage::Testing, Some(progress.bar()));
    let threads = args.threads.map_or_else(all_threads, usize::from);
    let done = Mutex::new(0.0);
    let outcomes = Schedule {
        jobs: args.jobs.map_or_else(|| threads.div_ceil(4), usize::from),
        threads,
        seed: args.seed,
        with_images: report.is_some(),
        state: state.as_ref(),
        stop: interrupt.stop(),
        progress: &|fraction| advance(&progress, &done, fraction),
        event: &|event| progress.bar().suspend(|| print_event(console, &event)),
    }
    .run(&cases);
    progress.finish();
    interrupt.enter(Stage::Writing, None);
    let failed =
        outcomes.iter().filter(|outcome| matches!(outcome.status, Status::Failed(_))).count();
    let errors =
        outcomes.iter().filter(|outcome| matches!(outcome.status, Status::Error { .. })).count();
    console.info(&summary(&outcomes, failed, errors, cases.len(), start));
    if outcomes.len() < cases.len() {
        return Ok(interrupt.exit());
    }
    if let Some(report) = report {
        let index =
            report.write(&suite.path.display().to_string(), &outcomes).map_err(|cause| {
                let help = "the results are kept: free some space, or name another folder, and run \
                            the same command again";
                Error::Write { cause, help: help.into() }
            })?;
        console.info(&format!("report: {}", index.display()));
    }
    if let Some(Err(error)) =
        state.map(|state| state.finish(cases.iter().map(|case| case.name.as_str())))
    {
        console::warn(&error);
    }
    Ok(match (failed, errors) {
        (0, 0) => Exit::Success,
        (0, _) => Exit::InvalidInput,
        _ => Exit::Failed,
    })
}

/// Advances the progress bar by a fraction of a case.
fn advance(progress: &Progress, done: &Mutex<f64>, fraction: f64) {
    let mut done = done.lock().expect("no thread panics here");
    *done += fraction;
    progress.set_done((*done * STEPS_PER_CASE) as u64);
}

/// The cases whose names contain one of `filters`; all cases without filters.
fn select_cases<'a>(suite: &'a Suite, filters: &[String]) -> Result<Vec<&'a Case>, Error> {
    let matches = |case: &&Case| {
        filters.is_empty() || filters.iter().any(|filter| case.name.contains(filter.as_str()))
    };
    let cases: Vec<&Case> = suite.cases.iter().filter(matches).collect();
    match cases.is_empty() {
        true => Err(Error::Option {
            message: format!(
                "no case of `{}` has `{}` in its name",
                suite.path.display(),
                filters.join("` or `")
            ),
            help: format!("the cases are {}", names(suite)),
        }),
        false => Ok(cases),
    }
}

fn names(suite: &Suite) -> String {
    suite.cases.iter().map(|case| case.name.as_str()).collect::<Vec<_>>().join(", ")
}

/// Prints an event.
fn print_event(console: Console, event: &Event) {
    match event {
        Event::Done { outcome, reused } => {
            let text = describe_outcome(outcome, *reused);
            match outcome.status {
                Status::Passed => console.info(&text),
                _ => console::print(&text),
            }
        }
        Event::Warning(case, warning) => console::warn(&format!("{}: {warning}", case.name)),
        Event::StoreFailed(error) => {
            console::warn(&format!("{error}; an interrupted run will repeat this case"))
        }
    }
}

/// Describes the outcome of a case: a line, followed by its failures.
fn describe_outcome(outcome: &Outcome, reused: bool) -> String {
    let label = match outcome.status {
        Status::Passed => "passed",
        Status::Failed(_) => "FAILED",
        Status::Error { .. } => "BROKEN",
    };
    let mut line = format!("{label}  {:20}", outcome.name);
    // Only metrics with a limit; the report has the others.
    for metric in outcome.metrics.iter().filter(|metric| metric.limit.is_some()) {
        line.push_str(&format!("  {}", format_metric(metric)));
    }
    match (outcome.time, outcome.last_time) {
        (Some(_), _) if reused => line.push_str("  (kept)"),
        (Some(time), Some(last)) => {
            line.push_str(&format!("  {} (last {})", duration(time), duration(last)))
        }
        (Some(time), None) => line.push_str(&format!("  {}", duration(time))),
        (None, _) => (),
    }
    let details: Vec<String> = match &outcome.status {
        Status::Passed => Vec::new(),
        Status::Failed(failures) => failures.clone(),
        Status::Error { message, help } => vec![message.clone(), format!("help: {help}")],
    };
    for detail in details {
        line.push_str(&format!("\n        {detail}"));
    }
    line
}

/// Formats a metric.
fn format_metric(metric: &MetricValue) -> String {
    let number = |x: f64| match x.abs() {
        // Counts. Adding 0 turns −0 into 0.
        0.0..1e6 if x.fract() == 0.0 => format!("{:.0}", x + 0.0),
        0.01..1000.0 => format!("{x:.2}"),
        _ => format!("{x:.1e}"),
    };
    match metric.limit {
        Some(MetricLimit::AtLeast(limit)) => {
            format!("{} {} (≥ {})", metric.name, number(metric.value), number(limit))
        }
        Some(MetricLimit::AtMost(limit)) => {
            format!("{} {} (≤ {})", metric.name, number(metric.value), number(limit))
        }
        None => format!("{} {}", metric.name, number(metric.value)),
    }
}

/// Summarizes the run in one line.
fn summary(
    outcomes: &[Outcome],
    failed: usize,
    errors: usize,
    total: usize,
    start: Instant,
) -> String {
    let mut parts = vec![format!("{} passed", outcomes.len() - failed - errors)];
    for (n, label) in
        [(failed, "failed"), (errors, "cannot be run"), (total - outcomes.len(), "not done")]
    {
        if n > 0 {
            parts.push(format!("{n} {label}"));
        }
    }
    format!("{}: {}; {}", count(total as u64, "case"), parts.join(", "), duration(start.elapsed()))
}

/// Renders new references for the named cases.
fn update_references(args: &Args, suite: &Suite) -> Result<Exit, Error> {
    let find = |name: &String| {
        suite.cases.iter().find(|case| case.name == *name).ok_or_else(|| Error::Option {
            message: format!("`{}` has no case `{name}`", suite.path.display()),
            help: did_you_mean(
                name,
                suite.cases.iter().map(|case| case.name.as_str()),
                &format!("the cases are {}", names(suite)),
            ),
        })
    };
    let cases = args.update.iter().map(find).collect::<Result<Vec<&Case>, Error>>()?;
    let (console, interrupt) = (Console::new(args.quiet), Interrupt::install(args.quiet));
    let progress = console.testing(cases.len() as u64 * STEPS_PER_CASE as u64);
    interrupt.enter(Stage::Testing, Some(progress.bar()));
    let threads = args.threads.map_or_else(all_threads, usize::from);
    let mut exit = Exit::Success;
    for (index, case) in cases.into_iter().enumerate() {
        let set_fraction =
            |fraction: f64| progress.set_done(((index as f64 + fraction) * STEPS_PER_CASE) as u64);
        if interrupt.stop().load(Ordering::Relaxed) {
            return Ok(interrupt.exit());
        }
        let text = match update(
            case,
            RenderContext { threads, stop: interrupt.stop(), progress: &set_fraction },
        ) {
            Ok(None) => return Ok(interrupt.exit()),
            Ok(Some(update)) => describe_update(case, &update),
            Err(UpdateError::Write(cause)) => {
                progress.finish();
                return Err(Error::Write {
                    cause,
                    help: "the old reference is unchanged; free some space, or check the folder"
                        .into(),
                });
            }
            Err(UpdateError::Case(error)) => {
                exit = Exit::InvalidInput;
                let text = format!(
                    "BROKEN  {}\n        {}\n        help: {}",
                    case.name, error.message, error.help
                );
                progress.bar().suspend(|| console::print(&text));
                continue;
            }
        };
        progress.info(&text);
    }
    progress.finish();
    Ok(exit)
}

/// Describes a new reference.
fn describe_update(case: &Case, update: &Update) -> String {
    let samples = count(update.samples.into(), "sample");
    let mut text = format!(
        "written {} ({samples} per pixel, {})",
        case.reference.display(),
        duration(update.time)
    );
    match &update.change {
        Change::New => text.push_str("\n        there was no reference before"),
        Change::Size(width, height) => {
            text.push_str(&format!("\n        the old reference had {width} × {height} pixels"))
        }
        Change::Compared(metrics, results) => {
            let metrics: Vec<String> = metrics.iter().map(self::format_metric).collect();
            let verdict = if results.failed_blocks > 0 {
                "a different image"
            } else {
                "equal except for noise"
            };
            let z = results.worst_block.z;
            text.push_str(&format!(
                "\n        compared with the old reference: {}; {verdict} (largest block z {z:.1}, \
                 limit {:.1})",
                metrics.join(", "),
                results.block_limit
            ));
        }
    }
    for warning in &update.warnings {
        text.push_str(&format!("\n        warning: {warning}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_printed_as_integers() {
        let metric = |value, limit| {
            format_metric(&MetricValue {
                name: "m".into(),
                value,
                limit: Some(MetricLimit::AtMost(limit)),
            })
        };
        assert_eq!(metric(842.0, 0.0), "m 842 (≤ 0)");
        assert_eq!(metric(1.25, 4.5), "m 1.25 (≤ 4.50)");
        assert_eq!(metric(-0.0, 2e7), "m 0 (≤ 2.0e7)");
    }
}
