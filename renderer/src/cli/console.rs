//! What a waiting user sees: a bar with the time left on a terminal, plain lines elsewhere, nothing
//! when quiet.

use indicatif::{ProgressBar, ProgressStyle};
use std::fmt::Display;
use std::io::{IsTerminal, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Prints a line for the reader. A reader who has gone is no reason to stop.
pub fn print(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Prints a warning, quiet or not.
pub fn warn(warning: &dyn Display) {
    print(&format!("warning: {warning}"));
}

/// How much is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Console {
    /// Bars that redraw themselves.
    Terminal,
    /// A line now and then.
    Lines,
    /// Warnings and errors only.
    Quiet,
}

impl Console {
    /// The one that suits stderr.
    pub fn new(quiet: bool) -> Console {
        match quiet {
            true => Console::Quiet,
            false if std::io::stderr().is_terminal() => Console::Terminal,
            false => Console::Lines,
        }
    }

    /// Prints a line of information.
    pub fn say(self, line: &str) {
        if self != Console::Quiet {
            print(line);
        }
    }

    /// Shows that something of unknown length goes on, until [`ProgressBar::finish_and_clear`].
    pub fn begin(self, activity: String) -> ProgressBar {
        match self {
            Console::Terminal => {
                let spinner = ProgressBar::new_spinner().with_message(activity);
                spinner.enable_steady_tick(Duration::from_millis(100));
                spinner
            }
            Console::Lines | Console::Quiet => {
                self.say(&activity);
                ProgressBar::hidden()
            }
        }
    }

    /// Shows the progress of a rendering of `spp` camera samples for each of `pixels`.
    pub fn rendering(self, pixels: u64, spp: u32, limit: Option<Duration>) -> Progress {
        self.progress("rendering", Plan { least: pixels, all: pixels * u64::from(spp), limit })
    }

    /// Shows the progress of a measurement of so many steps.
    pub fn measuring(self, steps: u64) -> Progress {
        self.progress("measuring", Plan { least: steps, all: steps, limit: None })
    }

    /// Shows the progress of cases, each of so many steps.
    pub fn testing(self, steps: u64) -> Progress {
        self.progress("testing", Plan { least: steps, all: steps, limit: None })
    }

    fn progress(self, activity: &'static str, plan: Plan) -> Progress {
        let bar = match self {
            Console::Terminal => {
                // Of fixed width, so that it stands still while the text behind it changes.
                let style = ProgressStyle::with_template("{prefix} {bar:30} {msg}")
                    .expect("the template is well-formed");
                ProgressBar::new(STEPS).with_style(style).with_prefix(activity)
            }
            Console::Lines | Console::Quiet => ProgressBar::hidden(),
        };
        bar.tick();
        Progress {
            console: self,
            activity,
            bar,
            plan,
            skipped: AtomicU64::new(0),
            start: Instant::now(),
            done: AtomicU64::new(0),
            next: Mutex::default(),
        }
    }
}

/// Resolution of the bar.
const STEPS: u64 = 10_000;

/// Progress of long work; any thread may report.
pub struct Progress {
    console: Console,
    activity: &'static str,
    bar: ProgressBar,
    plan: Plan,
    /// Camera samples of the plan that nobody waits for.
    skipped: AtomicU64,
    start: Instant,
    done: AtomicU64,
    /// Time, since the start, of the next thing to show.
    next: Mutex<Duration>,
}

impl Progress {
    /// What is drawn on the terminal, if anything.
    pub fn bar(&self) -> ProgressBar {
        self.bar.clone()
    }

    /// Notes that so many camera samples more are done, and shows how fast they are.
    pub fn advance(&self, samples: u64) {
        let done = self.done.fetch_add(samples, Ordering::Relaxed) + samples;
        self.show(done, |elapsed| format!("  {}", rate(done, elapsed)));
    }

    /// Notes that so many camera samples are there already, so that there is less to do.
    pub fn skip(&self, samples: u64) {
        self.skipped.store(samples, Ordering::Relaxed);
    }

    /// Notes that so many steps are done in all.
    pub fn reach(&self, steps: u64) {
        self.done.store(steps, Ordering::Relaxed);
        self.show(steps, |_| String::new());
    }

    fn show(&self, done: u64, speed: impl Fn(Duration) -> String) {
        // Another thread that is showing something just now shows enough.
        let Ok(mut next) = self.next.try_lock() else { return };
        let elapsed = self.start.elapsed();
        if self.console == Console::Quiet || elapsed < *next {
            return;
        }
        let all = self.plan.all.saturating_sub(self.skipped.load(Ordering::Relaxed));
        let (fraction, left) = Plan { all, ..self.plan }.outlook(elapsed, done);
        let text = format!("{:3.0} %  {} left", 100.0 * fraction, duration(left));
        if self.console == Console::Terminal {
            self.bar.set_message(text + &speed(elapsed));
            self.bar.set_position((fraction * STEPS as f64) as u64);
            *next = elapsed + Duration::from_millis(100);
        } else {
            // Nothing at once, since most work of a script is quick; then ever more rarely.
            if !next.is_zero() {
                print(&format!("{} {text}", self.activity));
            }
            *next = elapsed + (elapsed / 10).clamp(Duration::from_secs(3), Duration::from_secs(60));
        }
    }

    /// Removes the bar.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// The work there is.
#[derive(Clone, Copy)]
struct Plan {
    /// Camera samples, or steps, that are done whatever the limit is: one for each pixel.
    least: u64,
    /// All together.
    all: u64,
    limit: Option<Duration>,
}

impl Plan {
    /// Finished fraction and remaining time, if all samples take equally long. A time limit that
    /// comes first is what counts, but every pixel gets a sample.
    fn outlook(&self, elapsed: Duration, done: u64) -> (f64, Duration) {
        let seconds = elapsed.as_secs_f64();
        let needed = |samples: u64| seconds * samples as f64 / done.max(1) as f64;
        let limit =
            self.limit.map_or(f64::INFINITY, |limit| limit.as_secs_f64().max(needed(self.least)));
        let total = needed(self.all).min(limit).max(seconds);
        let fraction = if total > 0.0 { seconds / total } else { 0.0 };
        (fraction, Duration::try_from_secs_f64(total - seconds).unwrap_or(Duration::MAX))
    }
}

/// A number of things: `1 light`, `2 lights`.
pub fn count(n: u64, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

/// How fast samples are taken: `85 samples/s`, `720 k samples/s`, `1.25 M samples/s`.
pub fn rate(samples: u64, time: Duration) -> String {
    match samples as f64 / time.as_secs_f64().max(1e-6) {
        rate if rate < 1e4 => format!("{rate:.0} samples/s"),
        rate if rate < 1e6 => format!("{:.0} k samples/s", rate * 1e-3),
        rate => format!("{:.2} M samples/s", rate * 1e-6),
    }
}

/// A duration for readers: `8 ms`, `0.4 s`, `37 s`, `4 min 10 s`, `2 h 5 min`.
pub fn duration(time: Duration) -> String {
    match time.as_secs() {
        0 if time.as_millis() < 100 => format!("{} ms", time.as_millis()),
        0..10 => format!("{:.1} s", time.as_secs_f64()),
        s @ 10..60 => format!("{s} s"),
        s @ 60..3600 => format!("{} min {} s", s / 60, s % 60),
        s => format!("{} h {} min", s / 3600, s / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn plan(limit: Option<Duration>) -> Plan {
        Plan { least: 100, all: 1000, limit }
    }

    #[test]
    fn time_left_follows_the_samples() {
        let (fraction, left) = plan(None).outlook(10 * SECOND, 250);
        assert!((fraction - 0.25).abs() < 1e-9 && left == 30 * SECOND, "{fraction} {left:?}");
        assert_eq!(plan(None).outlook(10 * SECOND, 1000), (1.0, Duration::ZERO));
    }

    #[test]
    fn an_earlier_limit_counts() {
        let (fraction, left) = plan(Some(20 * SECOND)).outlook(10 * SECOND, 250);
        assert!((fraction - 0.5).abs() < 1e-9 && left == 10 * SECOND, "{fraction} {left:?}");
        let (fraction, left) = plan(Some(100 * SECOND)).outlook(10 * SECOND, 250);
        assert!((fraction - 0.25).abs() < 1e-9 && left == 30 * SECOND, "{fraction} {left:?}");
        assert_eq!(plan(Some(20 * SECOND)).outlook(30 * SECOND, 250), (1.0, Duration::ZERO));
    }

    #[test]
    fn a_sample_for_every_pixel_outlasts_the_limit() {
        let (fraction, left) = plan(Some(SECOND)).outlook(10 * SECOND, 50);
        assert!((fraction - 0.5).abs() < 1e-9 && left == 10 * SECOND, "{fraction} {left:?}");
    }

    #[test]
    fn nothing_done_yet_is_no_division_by_zero() {
        assert_eq!(plan(None).outlook(Duration::ZERO, 0), (0.0, Duration::ZERO));
        assert!(plan(None).outlook(SECOND, 0).0 < 0.01);
    }

    #[test]
    fn durations_and_rates_read_well() {
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
