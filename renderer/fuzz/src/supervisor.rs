//! Starts worker processes, watches them, and counts their failures.

use crate::kind::Kind;
use rustix::process::{Pid, Signal, kill_process_group};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek};
use std::ops::{AddAssign, Range};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Number of cases that a worker process runs.
const CASES_PER_WORKER: u64 = 1000;

/// Options of a run.
pub struct Options {
    /// Indices of the cases.
    pub cases: Range<u64>,
    /// Seconds after which no new worker starts, and running ones end.
    pub seconds: f64,
    /// Seed of the mutations.
    pub seed: u64,
    /// Time limit of a case.
    pub time_limit: Duration,
    /// Memory limit of a worker, GiB.
    pub memory: u64,
    /// Number of worker processes at a time.
    pub workers: usize,
    /// The program to run as a worker.
    pub program: PathBuf,
}

/// The results of a kind.
#[derive(Clone, Copy, Debug, Default)]
pub struct Summary {
    cases: u64,
    accepted: u64,
    panics: u64,
    signals: u64,
    time_outs: u64,
    elapsed: Duration,
}

impl Summary {
    /// Returns the number of failures.
    pub fn failures(&self) -> u64 {
        self.panics + self.signals + self.time_outs
    }

    /// Returns a row of the table.
    pub fn row(&self, kind: Kind) -> String {
        let rate = self.cases as f64 / self.elapsed.as_secs_f64();
        format!(
            "| {kind} | {} | {} | {} | {} | {} | {rate:.0} |",
            self.cases, self.accepted, self.panics, self.signals, self.time_outs
        )
    }
}

impl Summary {
    /// Counts a case.
    fn add(&mut self, outcome: &Outcome) {
        self.cases += 1;
        match outcome {
            Outcome::Accepted => self.accepted += 1,
            Outcome::Rejected => {}
            Outcome::Panic(_) => self.panics += 1,
            Outcome::Killed(_) => self.signals += 1,
            Outcome::TimeOut => self.time_outs += 1,
        }
    }
}

impl AddAssign for Summary {
    /// Adds the counts.
    fn add_assign(&mut self, other: Summary) {
        self.cases += other.cases;
        self.accepted += other.accepted;
        self.panics += other.panics;
        self.signals += other.signals;
        self.time_outs += other.time_outs;
    }
}

/// Runs the cases of a kind. Failures are printed to stderr.
pub fn run(kind: Kind, options: &Options) -> Summary {
    let start = Instant::now();
    let next = AtomicU64::new(options.cases.start);
    let total = Mutex::new(Summary::default());
    let is_over = || start.elapsed().as_secs_f64() >= options.seconds;
    std::thread::scope(|scope| {
        for _ in 0..options.workers.max(1) {
            scope.spawn(|| {
                loop {
                    let first = next.fetch_add(CASES_PER_WORKER, Ordering::Relaxed);
                    if first >= options.cases.end || is_over() {
                        break;
                    }
                    let cases =
                        first..first.saturating_add(CASES_PER_WORKER).min(options.cases.end);
                    let summary = run_cases(kind, cases, options, &is_over);
                    *total.lock().expect("no thread panics while it adds") += summary;
                }
            });
        }
    });
    Summary { elapsed: start.elapsed(), ..total.into_inner().expect("all threads have ended") }
}

/// Runs cases in one worker at a time; a new one continues behind a failure.
fn run_cases(
    kind: Kind,
    mut cases: Range<u64>,
    options: &Options,
    is_over: &dyn Fn() -> bool,
) -> Summary {
    let mut summary = Summary::default();
    while !cases.is_empty() && !is_over() {
        let mut worker = Worker::start(kind, &cases, options);
        let mut has_begun = false;
        loop {
            let (index, outcome) = worker.next_outcome(options.time_limit);
            if index.is_none() && cases.is_empty() {
                // It has run all cases, and has removed its files.
                break;
            }
            let why = match &outcome {
                Outcome::Accepted | Outcome::Rejected => None,
                Outcome::Panic(message) => Some(message.clone()),
                Outcome::Killed(status) => Some(status.clone()),
                Outcome::TimeOut => Some("exceeds the time limit".into()),
            };
            if let Some(why) = why {
                let before = if index.is_none() { "the worker ends before it: " } else { "" };
                eprintln!("{kind} {}: {before}{why}", index.unwrap_or(cases.start));
            }
            summary.add(&outcome);
            has_begun |= index.is_some();
            if !has_begun {
                // No worker could run any case.
                return summary;
            }
            cases.start = index.unwrap_or(cases.start) + 1;
            if is_over() || matches!(outcome, Outcome::Killed(_) | Outcome::TimeOut) {
                break;
            }
        }
    }
    summary
}

/// What happened to a case.
enum Outcome {
    /// The input is valid.
    Accepted,
    /// The input causes an error, as it should.
    Rejected,
    /// The reader panicked with this message.
    Panic(String),
    /// The process ended, with this status.
    Killed(String),
    /// The case took too long.
    TimeOut,
}

/// A worker process; dropping it ends it, and the processes that it started.
struct Worker {
    process: Child,
    lines: Receiver<String>,
    /// What it prints to stderr.
    errors: File,
}

impl Worker {
    fn start(kind: Kind, cases: &Range<u64>, options: &Options) -> Worker {
        let errors = tempfile::tempfile().expect("temporary files can be created");
        let mut process = Command::new(&options.program)
            .arg(kind.to_string())
            .args(["--first", &cases.start.to_string()])
            .args(["--worker-until", &cases.end.to_string()])
            .args(["--seed", &options.seed.to_string()])
            .args(["--memory", &options.memory.to_string()])
            // The end of the file tells the worker that the supervisor has ended.
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(errors.try_clone().expect("a file can have two handles"))
            .process_group(0)
            .spawn()
            .expect("the system can start another process");
        let output = process.stdout.take().expect("stdout is a pipe");
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Worker { process, lines, errors }
    }

    /// Waits for a case to end. The index is `None` if the worker ends between two cases.
    fn next_outcome(&mut self, time_limit: Duration) -> (Option<u64>, Outcome) {
        let mut index = None;
        loop {
            match self.lines.recv_timeout(time_limit) {
                Ok(line) => match line.split_once(' ').unwrap_or((&line, "")) {
                    ("case", text) => index = text.parse().ok(),
                    ("panic", message) => return (index, Outcome::Panic(message.into())),
                    ("accepted", _) => return (index, Outcome::Accepted),
                    _ => return (index, Outcome::Rejected),
                },
                Err(RecvTimeoutError::Timeout) => return (index, Outcome::TimeOut),
                Err(RecvTimeoutError::Disconnected) => {
                    let status = self.process.wait().map_or("lost".into(), |s| s.to_string());
                    return (index, Outcome::Killed(status + &self.last_error()));
                }
            }
        }
    }

    /// The last line on stderr, after a separator; empty without one.
    fn last_error(&mut self) -> String {
        let mut bytes = Vec::new();
        // What can be read is shown.
        _ = self.errors.rewind().and_then(|()| self.errors.read_to_end(&mut bytes));
        let text = String::from_utf8_lossy(&bytes);
        text.trim_end().lines().last().map_or(String::new(), |line| format!("; {line}"))
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // Both fail only if the processes have ended.
        _ = kill_process_group(Pid::from_child(&self.process), Signal::KILL);
        _ = self.process.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    /// Runs five cases in workers that are a shell script; `$3` is the index of the first case.
    fn run_script(folder: &Path, script: &str) -> Summary {
        // A script cannot run while another thread's new process has inherited its open file.
        static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
        let _guard = ONE_AT_A_TIME.lock();
        let program = folder.join("worker");
        fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
        let options = Options {
            cases: 0..5,
            seconds: f64::INFINITY,
            seed: 0,
            time_limit: Duration::from_secs(2),
            memory: 1,
            workers: 1,
            program,
        };
        run(Kind::Ply, &options)
    }

    #[test]
    fn workers_that_run_no_case_are_a_failure() {
        let folder = tempfile::tempdir().unwrap();
        for script in ["exit 0", "echo lost >&2; exit 3", "kill -9 $$", "sleep 100"] {
            let summary = run_script(folder.path(), script);
            assert_eq!((summary.cases, summary.failures()), (1, 1), "{script}: {summary:?}");
        }
    }

    #[test]
    fn a_worker_that_ends_between_cases_is_a_failure() {
        let folder = tempfile::tempdir().unwrap();
        let summary = run_script(folder.path(), "echo case $3; echo accepted");
        assert_eq!((summary.cases, summary.accepted, summary.signals), (5, 3, 2), "{summary:?}");
    }

    #[test]
    fn workers_end_with_the_processes_that_they_start() {
        let folder = tempfile::tempdir().unwrap();
        let pid = folder.path().join("pid");
        let script = format!("echo case $3; sleep 100 & echo $! >> '{}'; wait", pid.display());
        let summary = run_script(folder.path(), &script);
        assert_eq!((summary.cases, summary.time_outs), (5, 5), "{summary:?}");
        for pid in fs::read_to_string(pid).unwrap().lines() {
            // A killed process takes a moment to end, and remains as a zombie if nobody waits for
            // it.
            let start = Instant::now();
            let state = || fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            while !state().is_empty() && !state().contains(") Z ") {
                assert!(start.elapsed() < Duration::from_secs(20), "{}", state());
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }
}
