//! Checkpoints with messages for the user.
//!
//! A checkpoint that cannot be written does not end the rendering: the failure is reported once.

use super::WorkArgs;
use crate::Error;
use crate::console::{self, Console};
use lightbound::film::PixelBlock;
use lightbound::part::{Attributes, Checkpoint};
use lightbound::render::Work;
use std::path::Path;

/// A checkpoint that prints messages about its state.
pub struct ReportedCheckpoint {
    checkpoint: Checkpoint,
    /// Whether a failure to write was reported.
    warned: bool,
}

impl ReportedCheckpoint {
    /// See [`Checkpoint::new`].
    pub fn new(
        output: &Path,
        resolution: [u32; 2],
        settings: Attributes,
        block: PixelBlock,
    ) -> ReportedCheckpoint {
        let checkpoint = Checkpoint::new(output, resolution, settings, block);
        ReportedCheckpoint { checkpoint, warned: false }
    }

    /// Cleans up after an earlier process, before the work begins.
    ///
    /// # Errors
    /// If a checkpoint exists and the options do not request to resume from it.
    pub fn prepare(&self, args: &WorkArgs, console: Console) -> Result<(), Error> {
        self.checkpoint.remove_temporary_files();
        match (self.exists(), args.resume) {
            (true, true) => {
                console.info(&format!("resuming from {}", self.checkpoint.path().display()))
            }
            (false, true) => console.info(&format!(
                "no {}: rendering from the beginning",
                self.checkpoint.path().display()
            )),
            (true, false) => {
                return Err(Error::Option {
                    message: format!(
                        "{}: a checkpoint of an unfinished rendering exists",
                        self.checkpoint.path().display()
                    ),
                    help:
                        "add --resume to resume from it, or remove it to render from the beginning"
                            .into(),
                });
            }
            (false, false) => {}
        }
        Ok(())
    }

    /// See [`Checkpoint::exists`].
    pub fn exists(&self) -> bool {
        self.checkpoint.exists()
    }

    /// See [`Checkpoint::load`].
    pub fn load<'a>(&self, work: Work<'a>) -> Result<Work<'a>, Error> {
        Ok(self.checkpoint.load(work)?)
    }

    /// Saves the state of the work.
    pub fn save(&mut self, work: &Work) {
        if let Err(error) = self.checkpoint.save(work)
            && !std::mem::replace(&mut self.warned, true)
        {
            console::warn(&format!(
                "no checkpoint: {error}; the rendering continues and will try again"
            ));
        }
    }

    /// Removes the file once the image is complete.
    pub fn remove(&self) {
        if let Err(error) = self.checkpoint.remove() {
            console::warn(&format!(
                "{}: cannot be removed ({error}), although it is no longer needed",
                self.checkpoint.path().display()
            ));
        }
    }
}
