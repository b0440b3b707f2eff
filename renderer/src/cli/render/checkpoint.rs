//! Checkpoints: the state of a rendering in a file, from which another process goes on.
//!
//! A checkpoint is a [`Part`] without its picture: the exact sums of the jobs that are done, and
//! how many these are. It stands beside the picture, is replaced in one step, and is never worth a
//! rendering: where it cannot be written, that is said once.

use super::WorkArgs;
use crate::cli::Error;
use crate::cli::console::{self, Console};
use crate::cli::part::{self, Attributes, Header, Part};
use lightbound::film::{Block, Film};
use lightbound::image::write::write_exr;
use lightbound::render::Work;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// Where a rendering's state is kept.
pub struct Checkpoint {
    path: PathBuf,
    /// What the picture is of.
    resolution: [u32; 2],
    settings: Attributes,
    /// The pixels and samples that are rendered now.
    block: Block,
    /// Whether it was said that it cannot be written.
    warned: bool,
}

/// The file beside a picture.
pub fn path(picture: &Path) -> PathBuf {
    let mut path = OsString::from(picture);
    path.push(".checkpoint");
    path.into()
}

impl Checkpoint {
    /// The checkpoint for a picture at `output`, of which `block` is rendered.
    pub fn new(
        output: &Path,
        resolution: [u32; 2],
        settings: Attributes,
        block: Block,
    ) -> Checkpoint {
        Checkpoint { path: path(output), resolution, settings, block, warned: false }
    }

    /// Looks after what an earlier process left, before the work begins.
    ///
    /// *Errors*: there is a checkpoint, and nobody said that it may be used, or lost.
    pub fn prepare(&self, args: &WorkArgs, console: Console) -> Result<(), Error> {
        self.tidy();
        match (self.exists(), args.resume) {
            (true, true) => console.say(&format!("going on from {}", self.path.display())),
            (false, true) => {
                console.say(&format!("no {}: rendering from the beginning", self.path.display()))
            }
            (true, false) => {
                return Err(Error::Option {
                    message: format!(
                        "{}: there is a checkpoint already, of a rendering that was not finished",
                        self.path.display()
                    ),
                    help:
                        "add --resume to go on from it, or remove it to render from the beginning"
                            .into(),
                });
            }
            (false, false) => {}
        }
        Ok(())
    }

    /// Whether there is one.
    pub fn exists(&self) -> bool {
        fs::symlink_metadata(&self.path).is_ok()
    }

    /// Takes up the work that the file tells of.
    ///
    /// *Errors*: it is damaged, or of another rendering; the error says how.
    pub fn load<'a>(&self, work: Work<'a>) -> Result<Work<'a>, Error> {
        let refuse = |why: String, help: &str| {
            Err(Error::Data {
                message: format!("{}: {why}", self.path.display()),
                help: help.into(),
            })
        };
        let other =
            "give the options that it was made with, or remove it to render from the beginning";
        let part = Part::open(&self.path)?;
        let Some((block, jobs)) = part.header.work else {
            return refuse(
                "is no checkpoint but a part".into(),
                "put it together with others by `lightbound merge`",
            );
        };
        if let Some(difference) =
            part.differs(self.resolution, &self.settings, work.film().options(), "this rendering")
        {
            return refuse(format!("is a checkpoint of another rendering: {difference}"), other);
        }
        if block != self.block {
            return refuse(
                format!(
                    "is a checkpoint of another rendering: it is of {block}, this rendering of {}",
                    self.block
                ),
                other,
            );
        }
        let mut film = Film::new(work.film().window(), work.film().options());
        part.add_to(&self.path, &mut film)?;
        let work = work.resume(film, jobs, part.header.effort);
        match work.coverage() == part.header.coverage {
            true => Ok(work),
            false => {
                refuse("is damaged (it has not the samples that it tells of)".into(), "remove it")
            }
        }
    }

    /// Removes what an earlier process left when it was killed while it saved.
    fn tidy(&self) {
        let Some(name) = self.path.file_name() else { return };
        let begin = format!(".{}.", name.to_string_lossy());
        let folder = self
            .path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty())
            .unwrap_or(Path::new("."));
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with(&begin) && name.ends_with(".tmp") {
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    /// Writes the state of the work.
    pub fn save(&mut self, work: &Work) {
        let film = work.film();
        let mut header =
            Header::new(self.block, work.coverage(), film, film.invalid_samples(), work.effort());
        header.work = Some((self.block, work.jobs()));
        let exr = part::sums(self.resolution, self.settings.clone(), &header, film);
        if let Err(error) = write_exr(&self.path, &exr)
            && !std::mem::replace(&mut self.warned, true)
        {
            console::warn(&format!(
                "no checkpoint: {error}; the rendering goes on, and will try again"
            ));
        }
    }

    /// Removes it, since the picture is there.
    pub fn remove(&self) {
        if self.exists()
            && let Err(error) = fs::remove_file(&self.path)
        {
            console::warn(&format!(
                "{}: cannot be removed ({error}), though it is not needed any more",
                self.path.display()
            ));
        }
    }
}
