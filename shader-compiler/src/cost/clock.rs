//! What time is measured with: core cycles where the kernel counts them, else ticks of the
//! time-stamp counter.
//!
//! Cycles in user mode (`perf_event_open`) are the better unit: they do not depend on the clock
//! rate, and leave out interrupts and other processes. Virtual machines often have no such counter;
//! then time is in [ticks], which advance at one rate whatever the core's clock rate is, so that
//! only ratios of nearby measurements are those of cycles.

use crate::jit::ticks;
use std::fmt;
use std::io::{self, ErrorKind};

/// A counter that advances with time.
pub struct Clock(Source);

enum Source {
    #[cfg(target_os = "linux")]
    Cycles(perf_event::Counter),
    /// Why there are no cycles.
    Ticks(String),
    /// A counter that can be read so often.
    #[cfg(test)]
    Failing(usize),
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
    fn choose(cycles: io::Result<perf_event::Counter>) -> Clock {
        match cycles {
            Ok(counter) => Clock(Source::Cycles(counter)),
            Err(error) => Clock::ticks(&error),
        }
    }

    /// Ticks, since cycles cannot be counted.
    pub fn ticks(error: &io::Error) -> Clock {
        let reason = match error.kind() {
            ErrorKind::NotFound => {
                "this machine has none, as is common for virtual ones".to_owned()
            }
            ErrorKind::PermissionDenied => {
                "the system does not permit them; see kernel.perf_event_paranoid".to_owned()
            }
            _ => error.to_string(),
        };
        Clock(Source::Ticks(reason))
    }

    /// The count so far, in order with the instructions around. Fails if the counter is lost, as a
    /// pinned one is that the kernel takes off the core's counters for another one; ticks never
    /// fail.
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

    /// A clock that fails once it has been read so often.
    #[cfg(test)]
    pub fn failing_after(reads: usize) -> Clock {
        Clock(Source::Failing(reads))
    }
}

/// `core cycles in user mode`, or ticks and why.
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

/// An enabled counter of this thread's cycles, which has been seen to advance.
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

/// The name of this machine's processor, as its maker calls it; `None` where it is not known.
pub fn cpu_name() -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let (_, name) = text.lines().find(|line| line.starts_with("model name"))?.split_once(':')?;
    Some(name.trim().to_owned())
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
        let start = clock.now().unwrap();
        std::hint::black_box((0..10_000u64).fold(0, |sum, k| std::hint::black_box(sum ^ k)));
        assert!(clock.now().unwrap() > start, "{clock}");
        assert!(involuntary_switches().is_some() || cfg!(not(target_os = "linux")));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn ticks_stand_in_for_cycles_that_cannot_be_counted() {
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
