//! Handles Ctrl-C: the first one ends rendering early, the second one aborts.
//!
//! Before rendering there is nothing to keep, so Ctrl-C ends the process immediately. During
//! rendering, the first one only sets a flag, and the unfinished image is written. Writing files is
//! quick and is not interrupted.

use super::{Exit, console};
use indicatif::ProgressBar;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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

impl Stage {
    /// The message for the first Ctrl-C, if it does not end the program.
    fn interrupt_message(self) -> Option<&'static str> {
        match self {
            Stage::Loading | Stage::Writing => None,
            Stage::Rendering => {
                Some("interrupted: writing the unfinished image (Ctrl-C again aborts)")
            }
            Stage::Testing => Some(
                "interrupted: finished cases are kept, and the same command resumes the run \
                 (Ctrl-C again aborts)",
            ),
        }
    }
}

/// The Ctrl-C handler of the process.
#[derive(Clone, Default)]
pub struct Interrupt(Arc<State>);

#[derive(Default)]
struct State {
    stop: AtomicBool,
    /// The current stage and its progress bar.
    current: Mutex<(Stage, Option<ProgressBar>)>,
}

impl State {
    fn current(&self) -> MutexGuard<'_, (Stage, Option<ProgressBar>)> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Interrupt {
    /// Installs the handler; call once per process. If this fails, Ctrl-C ends the process as
    /// usual.
    pub fn install(quiet: bool) -> Interrupt {
        let interrupt = Interrupt::default();
        let state = interrupt.0.clone();
        let handler = move || {
            let first = !state.stop.swap(true, Ordering::Relaxed);
            let (stage, bar) = &*state.current();
            let bar = bar.clone().unwrap_or_else(ProgressBar::hidden);
            match stage {
                Stage::Writing => {}
                Stage::Rendering | Stage::Testing if first => {
                    if let Some(message) = stage.interrupt_message().filter(|_| !quiet) {
                        bar.suspend(|| console::print(message));
                    }
                }
                Stage::Loading | Stage::Rendering | Stage::Testing => {
                    bar.finish_and_clear();
                    std::process::exit(Exit::Interrupted as i32);
                }
            }
        };
        if let Err(error) = ctrlc::set_handler(handler) {
            console::warn(&format!("Ctrl-C will end the program without an image: {error}"));
        }
        interrupt
    }

    /// Enters a stage; messages are printed above its progress bar.
    pub fn enter(&self, stage: Stage, bar: Option<ProgressBar>) {
        *self.0.current() = (stage, bar);
    }

    /// The flag that Ctrl-C sets.
    pub fn stop(&self) -> &AtomicBool {
        &self.0.stop
    }
}
