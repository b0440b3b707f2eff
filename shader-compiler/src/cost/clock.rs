//! What time is measured with: core cycles where the kernel counts them, else ticks of the time-stamp counter.
//!
//! Cycles in user mode (`perf_event_open`) are the better unit: they do not depend on the clock rate, and leave out interrupts
//! and other processes. Virtual machines often have no such counter; then time is in [ticks], which advance at one rate whatever
//! the core's clock rate is, so that only ratios of nearby measurements are those of cycles.

use crate::jit::ticks;
use std::fmt;

/// A counter that advances with time.
pub struct Clock(Source);

enum Source {
    #[cfg(target_os = "linux")]
    Cycles(perf_event::Counter),
    /// Why there are no cycles.
    Ticks(String),
}

impl Clock {
    /// The best that this machine offers to this thread.
    pub fn new() -> Clock {
        #[cfg(target_os = "linux")]
        return Clock::choose(cycle_counter());
        #[cfg(not(target_os = "linux"))]
        return Clock(Source::Ticks("this system has no perf_event_open".into()));
    }

    /// Cycles if they can be counted.
    #[cfg(target_os = "linux")]
    fn choose(cycles: std::io::Result<perf_event::Counter>) -> Clock {
        match cycles {
            Ok(counter) => Clock(Source::Cycles(counter)),
            Err(error) => Clock(Source::Ticks(error.to_string())),
        }
    }

    /// The count so far, in order with the instructions around.
    pub fn now(&mut self) -> u64 {
        match &mut self.0 {
            #[cfg(target_os = "linux")]
            Source::Cycles(counter) => counter.read().expect("an open counter can be read"),
            Source::Ticks(_) => ticks(),
        }
    }
}

/// `core cycles in user mode`, or ticks and why.
impl fmt::Display for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            #[cfg(target_os = "linux")]
            Source::Cycles(_) => f.write_str("core cycles in user mode"),
            Source::Ticks(reason) => {
                write!(f, "time-stamp counter ticks (no core cycles: {reason})")
            }
        }
    }
}

/// An enabled counter of this thread's cycles, which has been seen to advance.
#[cfg(target_os = "linux")]
fn cycle_counter() -> std::io::Result<perf_event::Counter> {
    use perf_event::events::Hardware;
    let mut counter = perf_event::Builder::new(Hardware::CPU_CYCLES).pinned(true).build()?;
    counter.enable()?;
    let start = counter.read()?;
    std::hint::black_box((0..1000u64).fold(0, |sum, k| std::hint::black_box(sum ^ k)));
    if counter.read()? == start {
        return Err(std::io::Error::other("the counter stands still"));
    }
    Ok(counter)
}

/// How often the system has taken this thread off its core so far; `None` where that is not known.
pub fn involuntary_switches() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/thread-self/status").ok()?;
    let count = status.lines().find_map(|line| line.strip_prefix("nonvoluntary_ctxt_switches:"))?;
    count.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_advance() {
        let mut clock = Clock::new();
        let start = clock.now();
        std::hint::black_box((0..10_000u64).fold(0, |sum, k| std::hint::black_box(sum ^ k)));
        assert!(clock.now() > start, "{clock}");
        assert!(involuntary_switches().is_some() || cfg!(not(target_os = "linux")));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn ticks_stand_in_for_cycles_that_cannot_be_counted() {
        let mut clock = Clock::choose(Err(std::io::Error::from_raw_os_error(2)));
        assert!(
            clock.to_string().starts_with("time-stamp counter ticks") && clock.to_string().contains("no core cycles: "),
            "{clock}"
        );
        assert!(clock.now() <= clock.now());
    }
}
