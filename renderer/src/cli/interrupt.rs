//! Ctrl-C: once to end rendering early, twice to abort.
//!
//! Before rendering there is nothing to keep, so Ctrl-C ends the process at once. During rendering
//! the first one only sets a flag, and the picture so far gets written. Files are written in a
//! moment, and not interrupted.

use super::{Exit, console};
use indicatif::ProgressBar;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What the process does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stage {
    /// Loading: nothing to keep.
    #[default]
    Loading,
    /// Rendering: the samples so far make a picture.
    Rendering,
    /// Rendering one case after the other: those that are done are kept.
    Testing,
    /// Writing results.
    Writing,
}

impl Stage {
    /// What the first Ctrl-C is answered with, where it does not end the program.
    fn farewell(self) -> Option<&'static str> {
        match self {
            Stage::Loading | Stage::Writing => None,
            Stage::Rendering => {
                Some("interrupted: writing the picture so far (Ctrl-C again aborts)")
            }
            Stage::Testing => Some(
                "interrupted: what is done is kept, and the same command goes on from there (Ctrl-C again aborts)",
            ),
        }
    }
}

/// The process's reaction to Ctrl-C.
#[derive(Clone, Default)]
pub struct Interrupt(Arc<State>);

#[derive(Default)]
struct State {
    stop: AtomicBool,
    /// What goes on, and what is drawn on the terminal for it.
    now: Mutex<(Stage, Option<ProgressBar>)>,
}

impl State {
    fn now(&self) -> MutexGuard<'_, (Stage, Option<ProgressBar>)> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Interrupt {
    /// Takes over Ctrl-C for this process; call once. Where the system refuses, Ctrl-C keeps its
    /// usual meaning.
    pub fn install(quiet: bool) -> Interrupt {
        let interrupt = Interrupt::default();
        let state = interrupt.0.clone();
        let handler = move || {
            let first = !state.stop.swap(true, Ordering::Relaxed);
            let (stage, bar) = &*state.now();
            let bar = bar.clone().unwrap_or_else(ProgressBar::hidden);
            match stage {
                Stage::Writing => {}
                Stage::Rendering | Stage::Testing if first => {
                    if let Some(farewell) = stage.farewell().filter(|_| !quiet) {
                        bar.suspend(|| console::print(farewell));
                    }
                }
                Stage::Loading | Stage::Rendering | Stage::Testing => {
                    bar.finish_and_clear();
                    std::process::exit(Exit::Interrupted as i32);
                }
            }
        };
        if let Err(error) = ctrlc::set_handler(handler) {
            console::warn(&format!("Ctrl-C will end the program without a picture: {error}"));
        }
        interrupt
    }

    /// Says what the process does from now on, and what is drawn on the terminal meanwhile.
    pub fn enter(&self, stage: Stage, bar: Option<ProgressBar>) {
        *self.0.now() = (stage, bar);
    }

    /// Set by Ctrl-C.
    pub fn stop(&self) -> &AtomicBool {
        &self.0.stop
    }
}
