//! Checkpoints: files with the state of a rendering, which another process can resume.
//!
//! A checkpoint is a [`Part`] without its image: the exact sums of the finished jobs, and their
//! number. It is stored next to the image and replaced atomically.

use super::{Attributes, Part, PartError, PartHeader};
use crate::film::PixelBlock;
use crate::film::layers::FilmLayers;
use crate::render::Work;
use lightbound_image::write::write_exr_rows;
use lightbound_image::{ImageError, Problem, read_exr_header};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Advice for a checkpoint that cannot be resumed.
const REMOVE: &str = "remove it to render from the beginning";

/// A checkpoint file and the rendering that it belongs to.
pub struct Checkpoint {
    path: PathBuf,
    /// Size of the full image.
    resolution: [u32; 2],
    /// Attributes that identify the rendering.
    settings: Attributes,
    /// The pixels and samples to render.
    block: PixelBlock,
}

impl Checkpoint {
    /// Returns the path of the checkpoint for an image.
    pub fn path_for(image: &Path) -> PathBuf {
        let mut path = OsString::from(image);
        path.push(".checkpoint");
        path.into()
    }

    /// Creates the checkpoint for an image at `output`. `block` is what to render.
    pub fn new(
        output: &Path,
        resolution: [u32; 2],
        settings: Attributes,
        block: PixelBlock,
    ) -> Checkpoint {
        Checkpoint { path: Checkpoint::path_for(output), resolution, settings, block }
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether the file exists.
    pub fn exists(&self) -> bool {
        fs::symlink_metadata(&self.path).is_ok()
    }

    /// Resumes the work stored in the file.
    ///
    /// # Errors
    /// If the file is damaged or belongs to another rendering.
    pub fn load<'a>(&self, mut work: Work<'a>) -> Result<Work<'a>, PartError> {
        let error = |why: String, remedy: &str| Err(PartError::new(&self.path, &why, remedy));
        let other_options =
            "give the options of that rendering, or remove the file to render from the beginning";
        let file = read_exr_header(&self.path).map_err(|cause| self.unreadable(&cause))?;
        let part = Part::from_exr(&self.path, &file)?;
        let Some((block, jobs)) = part.header.work else {
            return error(
                "is a part, not a checkpoint".into(),
                "merge it with others by `lightbound merge`",
            );
        };
        if let Some(difference) = part.difference(
            self.resolution,
            &self.settings,
            work.film().options(),
            "this rendering",
        ) {
            return error(
                format!("is a checkpoint of another rendering: {difference}"),
                other_options,
            );
        }
        if block != self.block {
            return error(
                format!(
                    "is a checkpoint of another rendering: it has {block}, this rendering has {}",
                    self.block
                ),
                other_options,
            );
        }
        part.add_to(&self.path, work.film_mut()).map_err(|_| self.damaged())?;
        let work = work.with_progress(jobs, part.header.stats);
        match work.coverage() == part.header.coverage {
            true => Ok(work),
            false => Err(self.damaged()),
        }
    }

    /// Returns the error for a file without a readable header.
    fn unreadable(&self, cause: &ImageError) -> PartError {
        match cause.problem {
            Problem::Read(_) => PartError { message: cause.to_string(), remedy: REMOVE.into() },
            _ => self.damaged(),
        }
    }

    fn damaged(&self) -> PartError {
        PartError::new(&self.path, "is a damaged checkpoint", REMOVE)
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
        let mut header = PartHeader::new(self.block, work.coverage(), film, work.stats());
        header.work = Some((self.block, work.jobs()));
        let layers = FilmLayers { film, image: false, variance: false, sums: true };
        let mut attributes = self.settings.clone();
        attributes.push(header.attribute());
        write_exr_rows(&self.path, &layers.header(self.resolution, attributes), &layers)
    }

    /// Removes the file, if it exists.
    pub fn remove(&self) -> io::Result<()> {
        if self.exists() { fs::remove_file(&self.path) } else { Ok(()) }
    }
}
