//! The clock of measurements: core cycles if the kernel counts them, otherwise ticks of the
//! time-stamp counter.
//!
//! Cycles in user mode (`perf_event_open`) are the better unit: they do not depend on the clock
//! rate, and exclude interrupts and other processes. Virtual machines often have no such counter.
//! Time is then in [ticks]. They advance at a constant rate, independent of the core's clock rate,
//! so only ratios of nearby measurements equal those of cycles.

use super::ticks::ticks;
use std::fmt;
use std::io::{self, ErrorKind};

/// A clock in core cycles or in ticks of the time-stamp counter.
pub struct Clock(Source);

enum Source {
    #[cfg(target_os = "linux")]
    Cycles(perf_event::Counter),
    /// Ticks, and the reason why cycles are not available.
    Ticks(String),
    /// A counter that fails after this number of reads.
    #[cfg(test)]
    Failing(usize),
}

impl Clock {
    /// Creates the best clock that this thread can use.
    pub fn new() -> Clock {
        #[cfg(target_os = "linux")]
        return Clock::choose(cycle_counter());
        #[cfg(not(target_os = "linux"))]
        return Clock(Source::Ticks("this system has no perf_event_open".into()));
    }

    /// Uses cycles if they can be counted, otherwise ticks.
    #[cfg(target_os = "linux")]
    fn choose(cycles: io::Result<perf_event::Counter>) -> Clock {
        match cycles {
            Ok(counter) => Clock(Source::Cycles(counter)),
            Err(error) => Clock::ticks(&error),
        }
    }

    /// Creates a clock in ticks, after an error of the cycle counter.
    pub fn ticks(error: &io::Error) -> Clock {
        let reason = match error.kind() {
            ErrorKind::NotFound => {
                "this machine has none, as is common for virtual machines".to_owned()
            }
            ErrorKind::PermissionDenied => {
                "the system does not permit them; see kernel.perf_event_paranoid".to_owned()
            }
            _ => error.to_string(),
        };
        Clock(Source::Ticks(reason))
    }

    /// Reads the clock, ordered with the surrounding instructions. Fails if the kernel has given
    /// the core's counters to another process. Ticks never fail.
    pub fn now(&mut self) -> io::Result<u64> {
        match &mut self.0 {
            #[cfg(target_os = "linux")]
            Source::Cycles(counter) => counter.read().map_err(|error| match error.kind() {
                ErrorKind::UnexpectedEof => io::Error::other("the system took the counter away"),
                _ => error,
            }),
            Source::Ticks(_) => Ok(ticks()),
            #[cfg(test)]
            Source::Failing(0) => Err(ErrorKind::UnexpectedEof.into()),
            #[cfg(test)]
            Source::Failing(reads) => {
                *reads -= 1;
                Ok(ticks())
            }
        }
    }

    /// Creates a clock that fails after this number of reads.
    #[cfg(test)]
    pub fn failing_after(reads: usize) -> Clock {
        Clock(Source::Failing(reads))
    }
}

/// Writes `core cycles in user mode`, or `time-stamp counter ticks` and the reason.
impl fmt::Display for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            #[cfg(target_os = "linux")]
            Source::Cycles(_) => f.write_str("core cycles in user mode"),
            Source::Ticks(reason) => {
                write!(
                    f,
                    "time-stamp counter ticks (performance counters are unavailable: {reason})"
                )
            }
            #[cfg(test)]
            Source::Failing(_) => f.write_str("a counter that fails"),
        }
    }
}

/// Enables a cycle counter of this thread, and checks that it advances.
#[cfg(target_os = "linux")]
fn cycle_counter() -> io::Result<perf_event::Counter> {
    use perf_event::events::Hardware;
    let mut counter = perf_event::Builder::new(Hardware::CPU_CYCLES).pinned(true).build()?;
    counter.enable()?;
    let start = counter.read()?;
    std::hint::black_box((0..1000u64).fold(0, |sum, k| std::hint::black_box(sum ^ k)));
    if counter.read()? == start {
        return Err(io::Error::other("the cycle counter does not advance"));
    }
    Ok(counter)
}

/// Returns the processor's marketing name; `None` if unknown.
pub fn cpu_name() -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let (_, name) = text.lines().find(|line| line.starts_with("model name"))?.split_once(':')?;
    Some(name.trim().to_owned())
}

/// Returns the number of involuntary context switches of this thread so far; `None` if unknown.
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
        let start = clock.now().unwrap();
        std::hint::black_box((0..10_000u64).fold(0, |sum, k| std::hint::black_box(sum ^ k)));
        assert!(clock.now().unwrap() > start, "{clock}");
        assert!(involuntary_switches().is_some() || cfg!(not(target_os = "linux")));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn clock_falls_back_to_ticks() {
        for (error, reason) in
            [(2, "this machine has none"), (13, "kernel.perf_event_paranoid"), (24, "os error 24")]
        {
            let mut clock = Clock::choose(Err(io::Error::from_raw_os_error(error)));
            let text = clock.to_string();
            assert!(
                text.starts_with(
                    "time-stamp counter ticks (performance counters are unavailable: "
                ),
                "{text}"
            );
            assert!(text.contains(reason), "{text}");
            assert!(clock.now().unwrap() <= clock.now().unwrap());
        }
    }
}
