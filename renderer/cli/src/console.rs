//! Progress output: a bar with the remaining time on a terminal, plain lines elsewhere, nothing in
//! quiet mode; or JSON for programs.

use indicatif::{ProgressBar, ProgressStyle};
use std::fmt::Display;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

/// Prints a line to stderr and ignores errors: a closed stderr must not end the program.
pub fn print(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Prints a warning, even in quiet mode.
pub fn warn(warning: &dyn Display) {
    print(&format!("warning: {warning}"));
}

/// Style of progress output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Console {
    /// A progress bar that is redrawn in place.
    Terminal,
    /// An occasional line of text.
    Lines,
    /// JSON objects on stdout, a line each; messages as `Lines`.
    Json,
    /// JSON objects on stdout; warnings and errors only.
    QuietJson,
    /// Warnings and errors only.
    Quiet,
}

/// How to show progress.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum ProgressFormat {
    /// A bar on a terminal, occasional lines elsewhere
    #[default]
    Auto,
    /// A JSON object a line on stdout, twice a second
    Json,
}

impl Console {
    /// Selects the style for stderr.
    pub fn new(quiet: bool) -> Console {
        match quiet {
            true => Console::Quiet,
            false if std::io::stderr().is_terminal() => Console::Terminal,
            false => Console::Lines,
        }
    }

    /// Selects the style, with progress in the given format.
    pub fn with_progress(quiet: bool, format: ProgressFormat) -> Console {
        match (format, quiet) {
            (ProgressFormat::Auto, _) => Console::new(quiet),
            (ProgressFormat::Json, false) => Console::Json,
            (ProgressFormat::Json, true) => Console::QuietJson,
        }
    }

    fn is_json(self) -> bool {
        matches!(self, Console::Json | Console::QuietJson)
    }

    /// Whether no information is printed.
    pub fn is_quiet(self) -> bool {
        matches!(self, Console::Quiet | Console::QuietJson)
    }

    /// Prints a line of information, except in quiet mode.
    pub fn info(self, line: &str) {
        if !self.is_quiet() {
            print(line);
        }
    }

    /// Tells which frame of a sequence begins: its number, its position from 1, and its scene.
    pub fn frame(self, frame: u32, index: usize, count: usize, scene: &Path) {
        let scene = scene.display();
        self.info(&format!("frame {frame} ({index} of {count}): {scene}"));
        if self.is_json() {
            let line = serde_json::json!({
                "activity": "frame",
                "frame": frame,
                "index": index,
                "count": count,
                "scene": scene.to_string(),
            });
            // Failures are reported while the frame is rendered.
            let _ = writeln!(std::io::stdout(), "{line}");
        }
    }

    /// Shows an activity of unknown duration until [`ProgressBar::finish_and_clear`].
    pub fn spinner(self, activity: String) -> ProgressBar {
        match self {
            Console::Terminal => {
                let spinner = ProgressBar::new_spinner().with_message(activity);
                spinner.enable_steady_tick(Duration::from_millis(100));
                spinner
            }
            _ => {
                self.info(&activity);
                ProgressBar::hidden()
            }
        }
    }

    /// Shows the progress of rendering `pixels` with `spp` camera samples each.
    pub fn rendering(self, pixels: u64, spp: u32, limit: Option<Duration>) -> Progress {
        self.progress("rendering", Plan { required: pixels, total: pixels * u64::from(spp), limit })
    }

    /// Shows the progress of a measurement that reports completed fractions.
    pub fn measuring(self) -> Progress {
        self.progress("measuring", Plan { required: BAR_STEPS, total: BAR_STEPS, limit: None })
    }

    /// Shows the progress of test cases with `steps` steps in total.
    pub fn testing(self, steps: u64) -> Progress {
        self.progress("testing", Plan { required: steps, total: steps, limit: None })
    }

    fn progress(self, activity: &'static str, plan: Plan) -> Progress {
        let bar = match self {
            Console::Terminal => {
                // A fixed width keeps the bar in place while the text after it changes.
                let style = ProgressStyle::with_template("{prefix} {bar:30} {msg}")
                    .expect("the template is well-formed");
                ProgressBar::new(BAR_STEPS).with_style(style).with_prefix(activity)
            }
            _ => ProgressBar::hidden(),
        };
        bar.tick();
        Progress {
            console: self,
            activity,
            bar,
            plan,
            skipped: AtomicU64::new(0),
            start: Instant::now(),
            prepared: OnceLock::new(),
            done: AtomicU64::new(0),
            noise: Mutex::default(),
            next_update: Mutex::default(),
            warned: AtomicBool::new(false),
        }
    }
}

/// Resolution of the bar.
const BAR_STEPS: u64 = 10_000;

/// Progress of a long operation; may be updated from any thread.
pub struct Progress {
    console: Console,
    activity: &'static str,
    bar: ProgressBar,
    plan: Plan,
    /// Planned camera samples that a checkpoint already has.
    skipped: AtomicU64,
    start: Instant,
    /// Time from the start to the first sample.
    prepared: OnceLock<Duration>,
    done: AtomicU64,
    /// The last estimate of the error.
    noise: Mutex<Option<f64>>,
    /// Time of the next output, since the start.
    next_update: Mutex<Duration>,
    /// Whether a failure to write to stdout was reported.
    warned: AtomicBool,
}

impl Progress {
    /// The bar; hidden unless stderr is a terminal.
    pub fn bar(&self) -> ProgressBar {
        self.bar.clone()
    }

    /// Prints a line of information above the bar, except in quiet mode.
    pub fn info(&self, line: &str) {
        self.bar.suspend(|| self.console.info(line));
    }

    /// Prints a warning above the bar, even in quiet mode.
    pub fn warn(&self, warning: &dyn Display) {
        self.bar.suspend(|| warn(warning));
    }

    /// Adds finished camera samples, and shows the sample rate. The first call with 0 ends the
    /// preparation.
    pub fn advance(&self, samples: u64) {
        let prepared = *self.prepared.get_or_init(|| self.start.elapsed());
        if samples > 0 {
            let done = self.done.fetch_add(samples, Ordering::Relaxed) + samples;
            self.show(done, |elapsed| format!("  {}", rate(done, elapsed - prepared)));
        }
    }

    /// Sets the number of camera samples that a checkpoint already has.
    pub fn skip(&self, samples: u64) {
        self.skipped.store(samples, Ordering::Relaxed);
    }

    /// Sets the estimated error.
    pub fn set_noise(&self, noise: f64) {
        *self.noise.lock().expect("no thread panics here") = Some(noise);
    }

    /// Sets the number of finished steps.
    pub fn set_done(&self, steps: u64) {
        self.done.store(steps, Ordering::Relaxed);
        self.show(steps, |_| String::new());
    }

    /// Sets the completed fraction of a measurement.
    pub fn set_fraction(&self, fraction: f64) {
        self.set_done((fraction * BAR_STEPS as f64) as u64);
    }

    fn show(&self, done: u64, speed: impl Fn(Duration) -> String) {
        // Skips the update if another thread is updating.
        let Ok(mut next_update) = self.next_update.try_lock() else { return };
        let elapsed = self.start.elapsed();
        if self.console == Console::Quiet || elapsed < *next_update {
            return;
        }
        let (fraction, left) = self.estimate(elapsed, done);
        if self.console.is_json() {
            self.print_json(fraction, left, elapsed, done);
            *next_update = elapsed + Duration::from_millis(500);
            return;
        }
        let text = format!("{:3.0} %  {} left", 100.0 * fraction, duration(left));
        if self.console == Console::Terminal {
            self.bar.set_message(text + &speed(elapsed));
            self.bar.set_position((fraction * BAR_STEPS as f64) as u64);
            *next_update = elapsed + Duration::from_millis(100);
        } else {
            // Short operations print no line; long ones print at growing intervals.
            if !next_update.is_zero() {
                print(&format!("{} {text}", self.activity));
            }
            *next_update =
                elapsed + (elapsed / 10).clamp(Duration::from_secs(3), Duration::from_secs(60));
        }
    }

    /// See [`Plan::estimate`]; what a checkpoint already has does not count.
    fn estimate(&self, elapsed: Duration, done: u64) -> (f64, Duration) {
        let total = self.plan.total.saturating_sub(self.skipped.load(Ordering::Relaxed));
        let prepared = self.prepared.get().copied().unwrap_or_default();
        Plan { total, ..self.plan }.estimate(elapsed, prepared, done)
    }

    /// Prints the state as a line of JSON. Errors do not end the program; they are reported once,
    /// unless the reader has gone.
    fn print_json(&self, fraction: f64, left: Duration, elapsed: Duration, done: u64) {
        let skipped = self.skipped.load(Ordering::Relaxed);
        let noise = *self.noise.lock().expect("no thread panics here");
        let line = serde_json::json!({
            "activity": self.activity,
            "fraction": fraction,
            "seconds": elapsed.as_secs_f64(),
            "seconds_left": left.as_secs_f64(),
            "samples": skipped + done,
            "noise": noise.filter(|noise| noise.is_finite()),
        });
        let mut stdout = std::io::stdout().lock();
        if let Err(cause) = writeln!(stdout, "{line}").and_then(|()| stdout.flush())
            && cause.kind() != std::io::ErrorKind::BrokenPipe
            && !self.warned.swap(true, Ordering::Relaxed)
        {
            self.warn(&format!("stdout: the progress cannot be written ({cause})"));
        }
    }

    /// Removes the bar. As JSON, prints the last state: no time is left.
    pub fn finish(&self) {
        if self.console.is_json() {
            let (elapsed, done) = (self.start.elapsed(), self.done.load(Ordering::Relaxed));
            self.print_json(self.estimate(elapsed, done).0, Duration::ZERO, elapsed, done);
        }
        self.bar.finish_and_clear();
    }
}

/// The planned amount of work.
#[derive(Clone, Copy)]
struct Plan {
    /// Camera samples or steps that are done regardless of the time limit: one for each pixel.
    required: u64,
    /// Total camera samples or steps.
    total: u64,
    /// Time limit.
    limit: Option<Duration>,
}

impl Plan {
    /// Estimates the finished fraction and the remaining time, assuming that all samples take
    /// equally long after the preparation. A time limit that ends the work earlier takes precedence,
    /// but every pixel gets a sample.
    fn estimate(&self, elapsed: Duration, prepared: Duration, done: u64) -> (f64, Duration) {
        let (seconds, prepared) = (elapsed.as_secs_f64(), prepared.as_secs_f64());
        // Exact if everything is done.
        let needed = |samples: u64| {
            let missing = samples as f64 - done as f64;
            seconds + (seconds - prepared) * missing / done.max(1) as f64
        };
        let limit = self
            .limit
            .map_or(f64::INFINITY, |limit| limit.as_secs_f64().max(needed(self.required)));
        let total = needed(self.total).min(limit).max(seconds);
        let fraction = if total > 0.0 { seconds / total } else { 0.0 };
        (fraction, Duration::try_from_secs_f64(total - seconds).unwrap_or(Duration::MAX))
    }
}

/// Formats a count with its noun: `1 light`, `2 lights`.
pub fn count(n: u64, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

/// Formats a sample rate: `85 samples/s`, `720 k samples/s`, `1.25 M samples/s`.
pub fn rate(samples: u64, time: Duration) -> String {
    match samples as f64 / time.as_secs_f64().max(1e-6) {
        rate if rate < 1e4 => format!("{rate:.0} samples/s"),
        rate if rate < 1e6 => format!("{:.0} k samples/s", rate * 1e-3),
        rate => format!("{:.2} M samples/s", rate * 1e-6),
    }
}

/// Formats a duration: `8 ms`, `0.4 s`, `37 s`, `4 min 10 s`, `2 h 5 min`.
pub fn duration(time: Duration) -> String {
    match time.as_secs() {
        0 if time.as_millis() < 100 => format!("{} ms", time.as_millis()),
        0..10 => format!("{:.1} s", time.as_secs_f64()),
        s @ 10..60 => format!("{s} s"),
        s @ 60..3600 => format!("{} min {} s", s / 60, s % 60),
        s => format!("{} h {} min", s / 3600, s / 60 % 60),
    }
}

/// Formats bytes: `812 bytes`, `3.2 MB`, `1.25 GB`.
pub fn bytes(n: u64) -> String {
    match n as f64 {
        x if x < 1e3 => format!("{n} bytes"),
        x if x < 1e6 => format!("{:.0} kB", x * 1e-3),
        x if x < 1e7 => format!("{:.1} MB", x * 1e-6),
        x if x < 1e9 => format!("{:.0} MB", x * 1e-6),
        x => format!("{:.2} GB", x * 1e-9),
    }
}

/// Columns of the terminal that shows stdout, if there is one and it knows its width.
pub fn terminal_width() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    Some(usize::from(size.ws_col)).filter(|&width| width > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_readable_units() {
        let text = [0, 999, 12_345, 3_210_000, 98_700_000, 1_250_000_000].map(bytes);
        assert_eq!(text, ["0 bytes", "999 bytes", "12 kB", "3.2 MB", "99 MB", "1.25 GB"]);
    }

    const SECOND: Duration = Duration::from_secs(1);

    fn plan(limit: Option<Duration>) -> Plan {
        Plan { required: 100, total: 1000, limit }
    }

    #[test]
    fn time_left_is_extrapolated_from_samples() {
        let (fraction, left) = plan(None).estimate(10 * SECOND, Duration::ZERO, 250);
        assert!((fraction - 0.25).abs() < 1e-9 && left == 30 * SECOND, "{fraction} {left:?}");
        assert_eq!(plan(None).estimate(10 * SECOND, Duration::ZERO, 1000), (1.0, Duration::ZERO));
    }

    #[test]
    fn preparation_is_not_extrapolated() {
        let (fraction, left) = plan(None).estimate(12 * SECOND, 2 * SECOND, 250);
        assert!(
            (fraction - 12.0 / 42.0).abs() < 1e-9 && left == 30 * SECOND,
            "{fraction} {left:?}"
        );
    }

    #[test]
    fn finished_work_has_the_fraction_one() {
        for prepared in (0..1000).map(|k| Duration::from_micros(12_345 * k)) {
            let estimate = plan(None).estimate(37 * SECOND / 3, prepared, 1000);
            assert_eq!(estimate, (1.0, Duration::ZERO), "{prepared:?}");
        }
    }

    #[test]
    fn time_limit_bounds_the_time_left() {
        let (fraction, left) = plan(Some(20 * SECOND)).estimate(10 * SECOND, Duration::ZERO, 250);
        assert!((fraction - 0.5).abs() < 1e-9 && left == 10 * SECOND, "{fraction} {left:?}");
        let (fraction, left) = plan(Some(100 * SECOND)).estimate(10 * SECOND, Duration::ZERO, 250);
        assert!((fraction - 0.25).abs() < 1e-9 && left == 30 * SECOND, "{fraction} {left:?}");
        assert_eq!(
            plan(Some(20 * SECOND)).estimate(30 * SECOND, Duration::ZERO, 250),
            (1.0, Duration::ZERO)
        );
    }

    #[test]
    fn time_limit_allows_one_sample_per_pixel() {
        let (fraction, left) = plan(Some(SECOND)).estimate(10 * SECOND, Duration::ZERO, 50);
        assert!((fraction - 0.5).abs() < 1e-9 && left == 10 * SECOND, "{fraction} {left:?}");
    }

    #[test]
    fn estimate_is_finite_without_finished_samples() {
        assert_eq!(plan(None).estimate(Duration::ZERO, Duration::ZERO, 0), (0.0, Duration::ZERO));
        assert!(plan(None).estimate(SECOND, Duration::ZERO, 0).0 < 0.01);
    }

    #[test]
    fn durations_and_rates_have_readable_units() {
        let text: Vec<String> = [0.04, 0.4, 9.26, 37.8, 250.0, 7500.0]
            .map(|s| duration(Duration::from_secs_f64(s)))
            .into();
        assert_eq!(text, ["40 ms", "0.4 s", "9.3 s", "37 s", "4 min 10 s", "2 h 5 min"]);
        let text: Vec<String> =
            [170, 1_440_000, 2_500_000].map(|samples| rate(samples, 2 * SECOND)).into();
        assert_eq!(text, ["85 samples/s", "720 k samples/s", "1.25 M samples/s"]);
        assert_eq!(rate(0, Duration::ZERO), "0 samples/s");
        assert_eq!([0, 1, 2].map(|n| count(n, "light")), ["0 lights", "1 light", "2 lights"]);
    }
}
