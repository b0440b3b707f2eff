//! Checkpoints: files with the state of a rendering, which another process can resume.
//!
//! A checkpoint is a [`Part`] without its image: the exact sums of the finished jobs. It is stored
//! next to the image and replaced atomically. An image that contains its exact sums can be resumed
//! in the same way.

use super::{Attributes, Part, PartError, PartHeader, unreadable};
use crate::film::layers::FilmLayers;
use crate::film::{Coverage, PixelBlock};
use crate::render::Work;
use lightbound_image::write::write_exr_rows;
use lightbound_image::{ImageError, Problem, read_exr_header};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// A checkpoint file and the rendering that it belongs to.
pub struct Checkpoint {
    path: PathBuf,
    /// Size of the full image.
    resolution: [u32; 2],
    /// Attributes that identify the rendering.
    settings: Attributes,
    /// Pixels and samples of the full image.
    full_block: PixelBlock,
}

/// A file from which a rendering can be resumed.
struct Source<'a> {
    path: &'a Path,
    /// What the file is, for messages.
    noun: &'static str,
    /// Advice for a file that cannot be used.
    remove: &'static str,
}

impl Source<'_> {
    fn error(&self, why: &str, remedy: &str) -> PartError {
        PartError::new(self.path, why, remedy)
    }

    /// Returns the error for a file that cannot be read. A storage device may work again later, so
    /// only damage is a reason to remove the file.
    fn unreadable(&self, cause: ImageError) -> PartError {
        match cause.problem {
            Problem::Read(_) => unreadable(cause),
            _ => self.error(&format!("is a damaged {}", self.noun), self.remove),
        }
    }

    /// Returns the error for a file that belongs to another rendering.
    fn different(&self, difference: &str) -> PartError {
        self.error(
            &format!("is a {} of another rendering: {difference}", self.noun),
            &format!("give the options of that rendering, or {}", self.remove),
        )
    }

    /// Returns the error for a file from which [`Work::resume`] cannot resume.
    fn unsuitable(&self, coverage: &Coverage, block: PixelBlock) -> PartError {
        let outside =
            coverage.blocks().iter().find(|other| block.intersection(other) != Some(**other));
        match outside {
            Some(outside)
                if outside.samples().start >= block.samples().start
                    && outside.window().union(block.window()) == block.window() =>
            {
                let (taken, end) = (outside.samples().end, block.samples().end);
                self.error(
                    &format!(
                        "has sample {} of some pixels, but this rendering ends before sample {end}",
                        taken - 1
                    ),
                    &format!("ask for at least {taken} samples with --spp, or {}", self.remove),
                )
            }
            Some(outside) => {
                self.different(&format!("it has {outside}, but this rendering has {block}"))
            }
            None => {
                let blocks = coverage.blocks();
                let others = if blocks.len() > 1 { " and others" } else { "" };
                self.error(
                    &format!(
                        "has {}{others}, which are not the first samples of all pixels of {block}",
                        blocks[0]
                    ),
                    "give the --crop and --sample-range of that rendering, or render the missing \
                     samples and merge them by `lightbound merge`",
                )
            }
        }
    }
}

impl Checkpoint {
    /// Returns the path of the checkpoint for an image.
    pub fn path_for(image: &Path) -> PathBuf {
        let mut path = OsString::from(image);
        path.push(".checkpoint");
        path.into()
    }

    /// Creates the checkpoint for an image at `output`. `full_block` has the pixels and samples of
    /// the full image, even if a part is rendered.
    pub fn new(
        output: &Path,
        resolution: [u32; 2],
        settings: Attributes,
        full_block: PixelBlock,
    ) -> Checkpoint {
        Checkpoint { path: Checkpoint::path_for(output), resolution, settings, full_block }
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether the file exists.
    pub fn exists(&self) -> bool {
        fs::symlink_metadata(&self.path).is_ok()
    }

    /// Resumes the work stored in the file. It may have asked for another number of samples.
    ///
    /// # Errors
    /// If the file is damaged or belongs to another rendering, or has samples that the work does
    /// not include.
    pub fn load<'a>(&self, work: Work<'a>) -> Result<Work<'a>, PartError> {
        self.resume(
            work,
            &Source {
                path: &self.path,
                noun: "checkpoint",
                remove: "remove it to render from the beginning",
            },
        )
    }

    /// Like [`Checkpoint::load`], from an image with exact sums.
    ///
    /// # Errors
    /// Like [`Checkpoint::load`].
    pub fn load_image<'a>(&self, image: &Path, work: Work<'a>) -> Result<Work<'a>, PartError> {
        self.resume(
            work,
            &Source {
                path: image,
                noun: "picture",
                remove: "leave out --resume to render from the beginning",
            },
        )
    }

    fn resume<'a>(&self, work: Work<'a>, source: &Source) -> Result<Work<'a>, PartError> {
        let file = read_exr_header(source.path).map_err(|cause| source.unreadable(cause))?;
        let part = Part::from_exr(source.path, &file)?;
        let options = work.film().options();
        if let Some(difference) =
            part.difference(self.resolution, &self.settings, options, "this rendering")
        {
            return Err(source.different(&difference));
        }
        let (block, coverage) = (work.block(), &part.header.coverage);
        work.resume(coverage, part.header.stats, |film| part.read_sums(source.path, film))
            .ok_or_else(|| source.unsuitable(coverage, block))?
            .map_err(|cause| source.unreadable(cause))
    }

    /// Returns whether an image has exact sums of this rendering, and more samples than the
    /// checkpoint. Then the last checkpoint could not be written.
    pub fn is_behind(&self, image: &Path) -> bool {
        let open = |path: &Path| {
            let part = Part::open(path).ok()?;
            let film = part.header.film;
            let difference = part.difference(self.resolution, &self.settings, film, "");
            difference.is_none().then_some(part.header)
        };
        let (Some(image), Some(checkpoint)) = (open(image), open(&self.path)) else { return false };
        image.film == checkpoint.film
            && image.stats.camera_samples > checkpoint.stats.camera_samples
    }

    /// Removes the temporary files of an earlier process that was killed while it saved.
    pub fn remove_temporary_files(&self) {
        let Some(name) = self.path.file_name() else { return };
        let prefix = format!(".{}.", name.to_string_lossy());
        let folder = self
            .path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty())
            .unwrap_or(Path::new("."));
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with(&prefix) && name.ends_with(".tmp") {
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    /// Saves the state of the work.
    ///
    /// # Errors
    /// If the file cannot be written. An earlier checkpoint then remains unchanged.
    pub fn save(&self, work: &Work) -> Result<(), ImageError> {
        let film = work.film();
        let header = PartHeader::new(self.full_block, work.coverage(), film, work.stats());
        let layers = FilmLayers::checkpoint(film);
        let mut attributes = self.settings.clone();
        attributes.push(header.attribute());
        write_exr_rows(&self.path, &layers.header(self.resolution, attributes), &layers)
    }

    /// Removes the file, if it exists.
    pub fn remove(&self) -> io::Result<()> {
        if self.exists() { fs::remove_file(&self.path) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_damage_is_a_reason_to_remove_a_checkpoint() {
        let path = Path::new("a.exr.checkpoint");
        let source = Source { path, noun: "checkpoint", remove: "remove it" };
        let error = |problem| source.unreadable(ImageError { path: path.into(), problem });
        for problem in [
            Problem::Empty,
            Problem::UnknownFormat,
            Problem::Damaged { format: "EXR", message: "truncated".into() },
        ] {
            let error = error(problem);
            assert_eq!(error.message, "a.exr.checkpoint: is a damaged checkpoint");
            assert_eq!(error.remedy, "remove it");
        }
        let failing = error(Problem::Read(io::ErrorKind::TimedOut.into()));
        assert_eq!(failing.message, "a.exr.checkpoint: cannot be read (timed out)");
        assert_eq!(failing.remedy, "check the file and its storage device");
    }
}
