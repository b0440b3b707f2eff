//! Ctrl-C: once to end rendering early, twice to abort.
//!
//! Before rendering there is nothing to keep, so Ctrl-C ends the process at once. During rendering the first one only sets a flag,
//! and the picture so far gets written. Files are written in a moment, and not interrupted.

use super::{Exit, console};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

/// What the process does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Stage {
    /// Loading: nothing to keep.
    Loading,
    /// Rendering: the samples so far make a picture.
    Rendering,
    /// Writing results.
    Writing,
}

/// The process's reaction to Ctrl-C.
#[derive(Clone, Default)]
pub struct Interrupt(Arc<State>);

#[derive(Default)]
struct State {
    stage: AtomicU8,
    stop: AtomicBool,
}

impl Interrupt {
    /// Takes over Ctrl-C for this process; call once. Where the system refuses, Ctrl-C keeps its usual meaning.
    pub fn install(quiet: bool) -> Interrupt {
        let interrupt = Interrupt::default();
        let state = interrupt.0.clone();
        let handler = move || {
            let first = !state.stop.swap(true, Ordering::Relaxed);
            let stage = state.stage.load(Ordering::Relaxed);
            if stage == Stage::Writing as u8 {
                return;
            }
            if !first || stage == Stage::Loading as u8 {
                std::process::exit(Exit::Interrupted as i32);
            }
            if !quiet {
                console::print("interrupted: writing the picture so far (Ctrl-C again aborts)");
            }
        };
        if let Err(error) = ctrlc::set_handler(handler) {
            console::warn(&format!("Ctrl-C will end the program without a picture: {error}"));
        }
        interrupt
    }

    /// Says what the process does from now on.
    pub fn enter(&self, stage: Stage) {
        self.0.stage.store(stage as u8, Ordering::Relaxed);
    }

    /// Set by Ctrl-C.
    pub fn stop(&self) -> &AtomicBool {
        &self.0.stop
    }
}
