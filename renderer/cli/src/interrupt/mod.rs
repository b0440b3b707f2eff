//! Handles signals: Ctrl-C, SIGTERM and SIGHUP end rendering early, SIGUSR1 requests a snapshot.
//!
//! Before rendering there is nothing to keep, so a signal ends the process with a message. During
//! rendering, the first one only sets a flag, and the unfinished image is written.
//!
//! Only a second Ctrl-C aborts, also while files are written. Schedulers repeat SIGTERM, some of
//! them within seconds, and follow with SIGKILL; a repetition must not cost the image. `timeout`
//! and `mpirun` deliver the same signal twice, once to the process and once to its group, so that
//! a Ctrl-C within [`REPEAT_INTERVAL`] counts as the same.

#[cfg(unix)]
mod disposition;
mod signal;

use super::{Exit, console};
use indicatif::ProgressBar;
use lightbound_image::write::remove_temporary_files;
#[cfg(unix)]
pub use signal::disarm;
pub use signal::{Signal, StopSignal};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A Ctrl-C within this time after the first one is the same one, delivered twice.
const REPEAT_INTERVAL: Duration = Duration::from_millis(200);

/// Stage of the process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stage {
    /// Loading: nothing to keep.
    #[default]
    Loading,
    /// Rendering: the samples so far can be written as an image.
    Rendering,
    /// Rendering test cases: finished cases are kept.
    Testing,
    /// Writing results.
    Writing,
}

/// What the program does about a signal.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Reaction {
    /// Nothing.
    Ignore,
    /// Prints a message and continues.
    Inform(String),
    /// Stops rendering and writes the results.
    Stop(String),
    /// Writes the image so far and continues.
    Snapshot,
    /// Ends the process immediately.
    Abort(Exit),
    /// Prints a message and ends the process.
    Quit(String, Exit),
}

/// The stage of the process, and the signals so far.
#[derive(Default)]
struct Progress {
    stage: Stage,
    /// The progress bar of the stage.
    bar: Option<ProgressBar>,
    /// The signal that stopped the rendering.
    stopped_by: Option<StopSignal>,
    /// Time of the first Ctrl-C.
    ctrl_c: Option<Instant>,
    /// Name of the checkpoint that is saved when the rendering stops.
    checkpoint: Option<String>,
}

impl Progress {
    /// Decides what to do about a signal at a time.
    fn react(&mut self, signal: Signal, now: Instant) -> Reaction {
        match signal {
            Signal::Snapshot => self.react_to_snapshot(),
            Signal::Stop(signal) => self.react_to_stop(signal, now),
        }
    }

    fn react_to_snapshot(&self) -> Reaction {
        match self.stage {
            Stage::Rendering if self.stopped_by.is_none() => Reaction::Snapshot,
            Stage::Rendering | Stage::Writing => Reaction::Ignore,
            Stage::Loading => Reaction::Inform("SIGUSR1: there are no samples to write yet".into()),
            Stage::Testing => {
                Reaction::Inform("SIGUSR1: the results of finished cases are stored already".into())
            }
        }
    }

    fn react_to_stop(&mut self, signal: StopSignal, now: Instant) -> Reaction {
        if self.stage == Stage::Loading {
            let message =
                format!("interrupted by {} while loading: nothing is written", signal.name());
            return Reaction::Quit(message, signal.exit());
        }
        if signal == StopSignal::CtrlC {
            match self.ctrl_c {
                Some(first) if now.duration_since(first) < REPEAT_INTERVAL => {
                    return Reaction::Ignore;
                }
                Some(_) => return Reaction::Abort(signal.exit()),
                None => self.ctrl_c = Some(now),
            }
        }
        let first = self.stopped_by.is_none();
        self.stopped_by = self.stopped_by.or(Some(signal));
        let abort = if signal == StopSignal::CtrlC { " (Ctrl-C again aborts)" } else { "" };
        match self.stage {
            Stage::Rendering if first => Reaction::Stop(format!(
                "interrupted by {}: writing the unfinished image{}{abort}",
                signal.name(),
                match &self.checkpoint {
                    Some(name) => format!(" and the checkpoint {name}, for --resume"),
                    None => String::new(),
                }
            )),
            Stage::Testing if first => Reaction::Stop(format!(
                "interrupted by {}: finished cases are kept, and the same command resumes the \
                 run{abort}",
                signal.name()
            )),
            _ if signal == StopSignal::CtrlC => {
                Reaction::Inform(format!("the results are being written{abort}"))
            }
            _ => Reaction::Ignore,
        }
    }
}

/// The signal handler of the process.
#[derive(Clone, Default)]
pub struct Interrupt(Arc<State>);

#[derive(Default)]
struct State {
    stop: AtomicBool,
    snapshot: AtomicBool,
    progress: Mutex<Progress>,
}

impl State {
    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn receive(&self, signal: Signal, quiet: bool) {
        let mut progress = self.progress();
        let reaction = progress.react(signal, Instant::now());
        let bar = progress.bar.clone().unwrap_or_else(ProgressBar::hidden);
        let print = |message: &str| {
            if !quiet {
                bar.suspend(|| console::print(message));
            }
        };
        match reaction {
            Reaction::Ignore => {}
            Reaction::Inform(message) => print(&message),
            Reaction::Snapshot => self.snapshot.store(true, Ordering::Relaxed),
            Reaction::Stop(message) => {
                self.stop.store(true, Ordering::Relaxed);
                print(&message);
            }
            Reaction::Abort(exit) => quit(&bar, exit),
            Reaction::Quit(message, exit) => {
                print(&message);
                quit(&bar, exit);
            }
        }
    }
}

/// Ends the process.
fn quit(bar: &ProgressBar, exit: Exit) -> ! {
    bar.finish_and_clear();
    remove_temporary_files();
    std::process::exit(exit as i32);
}

impl Interrupt {
    /// Installs the handler; call once per process. If this fails, signals end the process as
    /// usual.
    pub fn install(quiet: bool) -> Interrupt {
        let interrupt = Interrupt::default();
        let state = interrupt.0.clone();
        if let Err(error) = signal::listen(move |signal| state.receive(signal, quiet)) {
            console::warn(&format!("Ctrl-C will end the program without an image: {error}"));
        }
        interrupt
    }

    /// Enters a stage; messages are printed above its progress bar.
    pub fn enter(&self, stage: Stage, bar: Option<ProgressBar>) {
        let mut progress = self.0.progress();
        (progress.stage, progress.bar) = (stage, bar);
    }

    /// Sets the checkpoint that is saved when the rendering stops.
    pub fn set_checkpoint(&self, path: &Path) {
        self.0.progress().checkpoint = Some(path.display().to_string());
    }

    /// The flag that is set by signals that stop the program.
    pub fn stop(&self) -> &AtomicBool {
        &self.0.stop
    }

    /// The flag that is set by a request for a snapshot.
    pub fn snapshot(&self) -> &AtomicBool {
        &self.0.snapshot
    }

    /// Whether a snapshot is requested; clears the request.
    pub fn take_snapshot_request(&self) -> bool {
        self.0.snapshot.swap(false, Ordering::Relaxed)
    }

    /// The signal that stopped the rendering, if any.
    pub fn signal(&self) -> Option<StopSignal> {
        self.0.progress().stopped_by
    }

    /// The exit code of an interrupted command.
    pub fn exit(&self) -> Exit {
        self.signal().map_or(Exit::Interrupted, StopSignal::exit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CTRL_C: Signal = Signal::Stop(StopSignal::CtrlC);
    const TERMINATE: Signal = Signal::Stop(StopSignal::Terminate);
    const HANG_UP: Signal = Signal::Stop(StopSignal::HangUp);

    /// A process in a stage, and a function that sends it a signal after some seconds.
    fn process(stage: Stage) -> impl FnMut(Signal, f64) -> Reaction {
        let (mut progress, start) = (Progress { stage, ..Progress::default() }, Instant::now());
        move |signal, seconds| progress.react(signal, start + Duration::from_secs_f64(seconds))
    }

    fn is_stop(reaction: Reaction) -> bool {
        matches!(reaction, Reaction::Stop(_))
    }

    #[test]
    fn signals_abort_loading() {
        for (signal, exit) in [(CTRL_C, 130), (TERMINATE, 143), (HANG_UP, 129)] {
            let Reaction::Quit(message, code) = process(Stage::Loading)(signal, 0.0) else {
                panic!()
            };
            assert_eq!(code as i32, exit);
            assert!(message.contains("while loading"), "{message}");
        }
        assert!(matches!(process(Stage::Loading)(Signal::Snapshot, 0.0), Reaction::Inform(_)));
    }

    #[test]
    fn second_ctrl_c_aborts_unless_it_is_the_same() {
        for stage in [Stage::Rendering, Stage::Testing] {
            let mut send = process(stage);
            assert!(is_stop(send(CTRL_C, 0.0)));
            assert_eq!(send(CTRL_C, 0.1), Reaction::Ignore);
            assert_eq!(send(CTRL_C, 0.3), Reaction::Abort(Exit::Interrupted));
        }
        let mut send = process(Stage::Writing);
        assert!(matches!(send(CTRL_C, 0.0), Reaction::Inform(_)));
        assert_eq!(send(CTRL_C, 0.3), Reaction::Abort(Exit::Interrupted));
    }

    #[test]
    fn repeated_signals_of_schedulers_never_abort() {
        for stage in [Stage::Rendering, Stage::Testing, Stage::Writing] {
            let mut send = process(stage);
            assert_eq!(is_stop(send(TERMINATE, 0.0)), stage != Stage::Writing);
            for (signal, seconds) in [(TERMINATE, 0.0), (HANG_UP, 1.0), (TERMINATE, 20.0)] {
                assert_eq!(send(signal, seconds), Reaction::Ignore);
            }
            // This is the first Ctrl-C.
            assert!(matches!(send(CTRL_C, 30.0), Reaction::Inform(_)));
            assert_eq!(send(CTRL_C, 31.0), Reaction::Abort(Exit::Interrupted));
        }
    }

    #[test]
    fn first_signal_determines_the_exit_code() {
        let interrupt = Interrupt::default();
        interrupt.enter(Stage::Rendering, None);
        interrupt.0.receive(HANG_UP, true);
        interrupt.0.receive(TERMINATE, true);
        assert!(interrupt.stop().load(Ordering::Relaxed));
        assert_eq!(interrupt.exit(), Exit::HungUp);
    }

    #[test]
    fn snapshots_are_requested_only_while_rendering() {
        let request = |stage| {
            let interrupt = Interrupt::default();
            interrupt.enter(stage, None);
            interrupt.0.receive(Signal::Snapshot, true);
            (interrupt.take_snapshot_request(), interrupt.take_snapshot_request())
        };
        assert_eq!(request(Stage::Rendering), (true, false));
        for stage in [Stage::Loading, Stage::Testing, Stage::Writing] {
            assert_eq!(request(stage), (false, false));
        }
        let mut send = process(Stage::Rendering);
        send(TERMINATE, 0.0);
        assert_eq!(send(Signal::Snapshot, 0.1), Reaction::Ignore);
    }
}
