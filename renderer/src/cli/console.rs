//! What a waiting user sees: a bar with the time left on a terminal, plain lines elsewhere, nothing when quiet.

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

    /// Shows the progress of a rendering of `samples` camera samples.
    pub fn rendering(self, samples: u64, limit: Option<Duration>) -> Progress {
        let bar = (self == Console::Terminal).then(|| {
            let style = ProgressStyle::with_template("rendering {wide_bar} {msg}").expect("the template is well-formed");
            ProgressBar::new(STEPS).with_style(style)
        });
        Progress { console: self, bar, samples, limit, start: Instant::now(), done: AtomicU64::new(0), next: Mutex::default() }
    }
}

/// Resolution of the bar.
const STEPS: u64 = 10_000;

/// Progress of a rendering; any thread may report.
pub struct Progress {
    console: Console,
    bar: Option<ProgressBar>,
    samples: u64,
    limit: Option<Duration>,
    start: Instant,
    done: AtomicU64,
    /// Time, since the start, of the next thing to show.
    next: Mutex<Duration>,
}

impl Progress {
    /// Notes that so many camera samples more are done.
    pub fn advance(&self, samples: u64) {
        let done = self.done.fetch_add(samples, Ordering::Relaxed) + samples;
        // Another thread that is showing something just now shows enough.
        let Ok(mut next) = self.next.try_lock() else { return };
        let elapsed = self.start.elapsed();
        if self.console == Console::Quiet || elapsed < *next {
            return;
        }
        let (fraction, left) = outlook(elapsed, done, self.samples, self.limit);
        let rate = done as f64 / elapsed.as_secs_f64().max(1e-3) * 1e-6;
        let text = format!("{:3.0} %  {} left", 100.0 * fraction, duration(left));
        match &self.bar {
            Some(bar) => {
                bar.set_message(format!("{text}  {rate:.2} M samples/s"));
                bar.set_position((fraction * STEPS as f64) as u64);
                *next = elapsed + Duration::from_millis(100);
            }
            None => {
                // Nothing at once, since most pictures of a script are quick; then ever more rarely.
                if !next.is_zero() {
                    print(&text);
                }
                *next = elapsed + (elapsed / 10).clamp(Duration::from_secs(3), Duration::from_secs(60));
            }
        }
    }

    /// Removes the bar.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Finished fraction and remaining time, if all samples take equally long. A time limit that comes first is what counts.
fn outlook(elapsed: Duration, done: u64, samples: u64, limit: Option<Duration>) -> (f64, Duration) {
    let seconds = elapsed.as_secs_f64();
    let fraction = done as f64 / samples.max(1) as f64;
    let total = seconds / fraction.max(1e-9);
    let total = limit.map_or(total, |limit| total.min(limit.as_secs_f64())).max(seconds);
    let fraction = if total > 0.0 { (seconds / total).min(1.0) } else { fraction };
    (fraction, Duration::try_from_secs_f64(total - seconds).unwrap_or(Duration::MAX))
}

/// A duration for readers: `0.4 s`, `37 s`, `4 min 10 s`, `2 h 5 min`.
pub fn duration(time: Duration) -> String {
    match time.as_secs() {
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

    #[test]
    fn time_left_follows_the_samples() {
        let (fraction, left) = outlook(10 * SECOND, 250, 1000, None);
        assert!((fraction - 0.25).abs() < 1e-9 && left == 30 * SECOND, "{fraction} {left:?}");
        assert_eq!(outlook(10 * SECOND, 1000, 1000, None), (1.0, Duration::ZERO));
    }

    #[test]
    fn an_earlier_limit_counts() {
        let (fraction, left) = outlook(10 * SECOND, 250, 1000, Some(20 * SECOND));
        assert!((fraction - 0.5).abs() < 1e-9 && left == 10 * SECOND, "{fraction} {left:?}");
        let (fraction, left) = outlook(10 * SECOND, 250, 1000, Some(100 * SECOND));
        assert!((fraction - 0.25).abs() < 1e-9 && left == 30 * SECOND, "{fraction} {left:?}");
        assert_eq!(outlook(30 * SECOND, 250, 1000, Some(20 * SECOND)), (1.0, Duration::ZERO));
    }

    #[test]
    fn nothing_done_yet_is_no_division_by_zero() {
        assert_eq!(outlook(Duration::ZERO, 0, 1000, None).0, 0.0);
        assert!(outlook(SECOND, 0, 1000, None).0 < 1e-6);
    }

    #[test]
    fn durations_read_well() {
        let text: Vec<String> = [0.04, 9.26, 37.8, 250.0, 7500.0].map(|s| duration(Duration::from_secs_f64(s))).into();
        assert_eq!(text, ["0.0 s", "9.3 s", "37 s", "4 min 10 s", "2 h 5 min"]);
    }
}
