//! Checkpoints with messages for the user.
//!
//! A rendering resumes from its checkpoint, or else from its image, if that has exact sums. Without
//! them, a finished image stays as it is. Any other is an error, since an image with fewer samples
//! could replace it.
//! A checkpoint that cannot be written does not end the rendering: the failure is reported once. If
//! the last one of an unfinished rendering fails, an .exr image stores the samples instead.

use super::WorkArgs;
use crate::Error;
use crate::console::{self, Console};
use lightbound::film::PixelBlock;
use lightbound::part::{Attributes, Checkpoint, Part};
use lightbound::render::Work;
use lightbound_image::ImageError;
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
    /// The image, which has no exact sums but needs no more samples: there is nothing to render.
    FinishedImage,
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

    /// The file of the checkpoint.
    pub fn path(&self) -> &Path {
        self.checkpoint.path()
    }

    /// Cleans up after an earlier process, before the work begins. Returns what to resume from.
    /// `is_finished` returns whether an image without exact sums is the one that this rendering
    /// would write.
    ///
    /// # Errors
    /// If a checkpoint exists and the options do not request to resume from it, if it is a folder, or
    /// if they request to resume from an image without exact sums that is not finished.
    pub fn prepare(
        &self,
        args: &WorkArgs,
        console: Console,
        is_finished: impl Fn(&Path) -> bool,
    ) -> Result<ResumeFrom, Error> {
        self.checkpoint.remove_temporary_files();
        let (checkpoint, image) = (self.checkpoint.path().display(), self.image.display());
        if self.path().is_dir() {
            return Err(Error::option(
                format!("{checkpoint}: is a folder, but the checkpoint has this name"),
                "rename the folder, or name another image with -o",
            ));
        }
        if self.checkpoint.exists() && !args.resume {
            return Err(Error::option(
                format!("{checkpoint}: a checkpoint of an unfinished rendering exists"),
                "add --resume to resume from it, or remove it to render from the beginning",
            ));
        }
        if !args.resume {
            return Ok(ResumeFrom::Nothing);
        }
        if self.checkpoint.exists() && !self.checkpoint.is_behind(&self.image) {
            console.info(&format!("resuming from {checkpoint}"));
            return Ok(ResumeFrom::Checkpoint);
        }
        if Part::is_part(&self.image) {
            console.info(&format!("resuming from {image}"));
            return Ok(ResumeFrom::Image);
        }
        if !self.image.is_file() {
            console.info(&format!("no {checkpoint}: rendering from the beginning"));
            return Ok(ResumeFrom::Nothing);
        }
        if is_finished(&self.image) {
            console.info(&format!("{image}: is finished; nothing is left to render"));
            return Ok(ResumeFrom::FinishedImage);
        }
        Err(Error::option(
            format!(
                "{image}: cannot be resumed, since it contains no exact sums, and is not a finished \
                 .exr of the same settings"
            ),
            "omit --resume to replace it, or name another file with -o; --keep-sums stores sums \
             for a later --resume",
        ))
    }

    /// Loads the samples from a file into `work`.
    pub fn load<'a>(&self, from: ResumeFrom, work: Work<'a>) -> Result<Work<'a>, Error> {
        Ok(match from {
            ResumeFrom::Nothing | ResumeFrom::FinishedImage => work,
            ResumeFrom::Checkpoint => self.checkpoint.load(work)?,
            ResumeFrom::Image => self.checkpoint.load_image(&self.image, work)?,
        })
    }

    /// Saves the state of the work, which continues even if that fails.
    pub fn save(&mut self, work: &Work) {
        if let Err(error) = self.checkpoint.save(work)
            && !std::mem::replace(&mut self.warned, true)
        {
            console::warn(&format!(
                "no checkpoint: {error}; the rendering continues and will try again"
            ));
        }
    }

    /// Saves the state of work that ends unfinished.
    ///
    /// # Errors
    /// If the checkpoint cannot be written.
    pub fn save_last(&self, work: &Work) -> Result<(), ImageError> {
        self.checkpoint.save(work)
    }

    /// Returns the error of the last checkpoint, with what the rendering can resume from. `sums` is
    /// the file that stores the exact sums instead, if there is one.
    pub fn failure(&self, cause: ImageError, sums: Option<&Path>) -> Error {
        let help = match sums {
            Some(path) if path == self.image => {
                format!("{} stores the samples instead: --resume continues", path.display())
            }
            Some(path) => format!(
                "{} stores the samples instead: rename it to {}, and --resume continues",
                path.display(),
                self.image.display()
            ),
            None if self.path().is_file() => {
                "--resume continues from the earlier checkpoint".into()
            }
            None => "render again, to an .exr image, which can store the samples".into(),
        };
        Error::Write { cause, help }
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

#[cfg(test)]
mod tests {
    use super::*;
    use lightbound_image::Problem;

    #[test]
    fn failures_tell_what_to_resume_from() {
        let folder = tempfile::tempdir().unwrap();
        let image = folder.path().join("a.exr");
        let block = PixelBlock::try_from([0, 0, 1, 1, 0, 1]).unwrap();
        let checkpoint = ReportedCheckpoint::new(&image, [1, 1], Attributes::new(), block);
        let help = |sums| {
            let cause = ImageError { path: checkpoint.path().into(), problem: Problem::Empty };
            let Error::Write { help, .. } = checkpoint.failure(cause, sums) else {
                panic!("nothing could be written")
            };
            help
        };
        assert!(help(None).contains("render again"));
        std::fs::write(checkpoint.path(), "earlier").unwrap();
        assert!(help(None).contains("the earlier checkpoint") && checkpoint.path().exists());
        assert!(help(Some(&image)).contains("instead: --resume continues"));
        assert!(help(Some(&folder.path().join("a-1.exr"))).contains("rename it to"));
    }
}
