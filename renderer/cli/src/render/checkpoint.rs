//! Checkpoints with messages for the user.
//!
//! A rendering resumes from its checkpoint, or else from its image, if that has exact sums.
//! A checkpoint that cannot be written does not end the rendering: the failure is reported once.

use super::WorkArgs;
use crate::Error;
use crate::console::{self, Console};
use lightbound::film::PixelBlock;
use lightbound::part::{Attributes, Checkpoint, Part};
use lightbound::render::Work;
use std::path::{Path, PathBuf};

/// What a rendering resumes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResumeFrom {
    /// It starts from the beginning.
    Nothing,
    /// The checkpoint.
    Checkpoint,
    /// The image, which has exact sums.
    Image,
}

/// A checkpoint that prints messages about its state.
pub struct ReportedCheckpoint {
    checkpoint: Checkpoint,
    /// The image file.
    image: PathBuf,
    /// Whether a failure to write was reported.
    warned: bool,
}

impl ReportedCheckpoint {
    /// See [`Checkpoint::new`].
    pub fn new(
        output: &Path,
        resolution: [u32; 2],
        settings: Attributes,
        full_block: PixelBlock,
    ) -> ReportedCheckpoint {
        let checkpoint = Checkpoint::new(output, resolution, settings, full_block);
        ReportedCheckpoint { checkpoint, image: output.into(), warned: false }
    }

    /// Cleans up after an earlier process, before the work begins. Returns what to resume from.
    ///
    /// # Errors
    /// If a checkpoint exists and the options do not request to resume from it.
    pub fn prepare(&self, args: &WorkArgs, console: Console) -> Result<ResumeFrom, Error> {
        self.checkpoint.remove_temporary_files();
        let (checkpoint, image) = (self.checkpoint.path().display(), self.image.display());
        if self.checkpoint.exists() && !args.resume {
            return Err(Error::Option {
                message: format!("{checkpoint}: a checkpoint of an unfinished rendering exists"),
                help: "add --resume to resume from it, or remove it to render from the beginning"
                    .into(),
            });
        }
        if !args.resume {
            return Ok(ResumeFrom::Nothing);
        }
        if self.checkpoint.exists() {
            console.info(&format!("resuming from {checkpoint}"));
            return Ok(ResumeFrom::Checkpoint);
        }
        if Part::is_part(&self.image) {
            console.info(&format!("resuming from {image}"));
            return Ok(ResumeFrom::Image);
        }
        let without_sums = if self.image.is_file() {
            format!(", and {image} contains no exact sums (see --keep-sums)")
        } else {
            String::new()
        };
        console.info(&format!("no {checkpoint}{without_sums}: rendering from the beginning"));
        Ok(ResumeFrom::Nothing)
    }

    /// Loads the samples from a file into `work`.
    pub fn load<'a>(&self, from: ResumeFrom, work: Work<'a>) -> Result<Work<'a>, Error> {
        Ok(match from {
            ResumeFrom::Nothing => work,
            ResumeFrom::Checkpoint => self.checkpoint.load(work)?,
            ResumeFrom::Image => self.checkpoint.load_image(&self.image, work)?,
        })
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
