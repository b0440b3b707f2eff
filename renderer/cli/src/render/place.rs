//! The output file of a picture. It never replaces a file that the scene is read from. A picture with
//! pixels without samples does not replace another picture.

use super::Args;
use super::finished::Finished;
use crate::Error;
use crate::output::{Format, Output};
use lightbound::part::Checkpoint;
use lightbound_pbrt::inputs::InputFiles;
use std::path::{Path, PathBuf};

/// The output file of a picture.
pub struct PictureFile {
    /// The picture's format.
    pub format: Format,
    /// The file.
    pub output: Output,
}

impl PictureFile {
    /// Checks that the picture can be written, and that the options are valid for its format.
    pub fn check(path: &Path, args: &Args) -> Result<PictureFile, Error> {
        let fault = |message: String, help: &str| Err(Error::Option { message, help: help.into() });
        let format = Format::expect(path)?;
        if args.variance && format != Format::Exr {
            let message =
                format!("--variance needs an .exr; `{}` stores only a colour", path.display());
            return fault(message, "write an .exr file with -o");
        }
        if args.work.sample_range.is_some() && format != Format::Exr {
            let message = format!(
                "--sample-range writes a part of a picture; `{}` cannot store its exact sums",
                path.display()
            );
            return fault(message, "write an .exr file with -o");
        }
        if args.exposure.is_some() && format != Format::Png {
            let message =
                format!("--exposure needs a .png; `{}` stores scene-linear values", path.display());
            return fault(message, "write a .png file with -o, or set the exposure in the viewer");
        }
        Ok(PictureFile { format, output: Output::check(path)? })
    }

    /// Writes a picture. A picture without samples is not written; if some pixels have no sample, it
    /// does not replace an existing file.
    pub fn keep(&self, result: &Finished) -> Result<Kept, Error> {
        let kept = self.choose(result.samples_per_pixel());
        let output = match &kept {
            Kept::There => &self.output,
            Kept::Beside(output) => output,
            Kept::Nowhere => return Ok(kept),
        };
        output.write(|path| result.write_picture(path))?;
        Ok(kept)
    }

    /// Chooses the file for a picture with this minimum and maximum number of samples per pixel.
    fn choose(&self, (min, max): (u32, u32)) -> Kept {
        match min {
            0 if max == 0 => Kept::Nowhere,
            0 if self.output.is_file() => self.output.beside().map_or(Kept::Nowhere, Kept::Beside),
            _ => Kept::There,
        }
    }
}

/// Where a picture was written.
pub enum Kept {
    /// To the requested file.
    There,
    /// To another file, to keep an earlier picture.
    Beside(Output),
    /// Not written, since it has no samples.
    Nowhere,
}

impl Kept {
    /// The picture's file.
    pub fn path<'a>(&'a self, place: &'a PictureFile) -> Option<&'a Path> {
        match self {
            Kept::There => Some(place.output.path()),
            Kept::Beside(output) => Some(output.path()),
            Kept::Nowhere => None,
        }
    }

    /// A warning about a missing or incomplete picture.
    pub fn remark(&self, place: &PictureFile, result: &Finished) -> Option<String> {
        let min = result.samples_per_pixel().0;
        let path = place.output.path().display();
        let earlier =
            if place.output.is_file() { format!("; {path} is unchanged") } else { String::new() };
        match self {
            Kept::There => (min == 0)
                .then(|| "some pixels have no samples yet; instead: they are black".into()),
            Kept::Beside(output) => Some(format!(
                "some pixels have no samples yet{earlier}; instead: the unfinished picture is {}, where they are black",
                output.path().display()
            )),
            Kept::Nowhere => Some(format!(
                "interrupted before there was a picture{earlier}; instead: no picture is written"
            )),
        }
    }
}

/// Checks that the picture and the statistics replace neither each other nor a file that the scene
/// was read from.
pub fn check_overwrites(
    place: &PictureFile,
    stats: Option<&Output>,
    args: &Args,
    inputs: &InputFiles,
) -> Result<(), Error> {
    let is_read =
        |output: &Output| inputs.paths().chain([args.scene.as_path()]).any(|path| output.is(path));
    let overwrites = |what: &str, output: &Output, why: &str, help: &str| {
        Err(Error::Option {
            message: format!("{what} would overwrite `{}`{why}", output.path().display()),
            help: help.into(),
        })
    };
    const READ: &str = ", which the scene is read from";
    if is_read(&place.output) {
        let what =
            if args.output.is_some() { "--output" } else { "the picture, named by the scene," };
        return overwrites(what, &place.output, READ, "name another file with -o");
    }
    let Some(stats) = stats else { return Ok(()) };
    if is_read(stats) {
        return overwrites("--stats", stats, READ, "name another file");
    }
    if stats.is(place.output.path()) || stats.is(&Checkpoint::path_for(place.output.path())) {
        return overwrites("--stats", stats, "", "name another file");
    }
    Ok(())
}

/// Default output: the film's file name in the current directory, or the scene's name if the film has
/// no file name. Formats that cannot be written become .exr.
pub fn default_output(scene: &Path, film: &Path) -> PathBuf {
    match film.file_name().map(PathBuf::from) {
        Some(name) if Format::of(&name).is_some() => name,
        Some(name) => name.with_extension("exr"),
        None => {
            let name = Path::new(scene.file_name().unwrap_or_default());
            let name = if name.extension().is_some_and(|e| e == "gz") {
                name.with_extension("")
            } else {
                name.into()
            };
            name.with_extension("exr")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_output_follows_film_or_scene() {
        let name = |scene: &str, film: &str| default_output(Path::new(scene), Path::new(film));
        assert_eq!(name("a/b.pbrt", "out/c.png"), Path::new("c.png"));
        assert_eq!(name("a/b.pbrt", "c.jpg"), Path::new("c.exr"));
        assert_eq!(name("a/b.pbrt", ""), Path::new("b.exr"));
        assert_eq!(name("a/b.pbrt.gz", ""), Path::new("b.exr"));
    }

    #[test]
    fn incomplete_pictures_replace_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let (file, spare) = (folder.path().join("a.png"), folder.path().join("a-1.png"));
        let place = PictureFile { format: Format::Png, output: Output::check(&file).unwrap() };
        let chosen = |samples| place.choose(samples).path(&place).map(Path::to_path_buf);
        assert_eq!(
            [(0, 0), (0, 1), (1, 1)].map(chosen),
            [None, Some(file.clone()), Some(file.clone())]
        );
        std::fs::write(&file, "earlier").unwrap();
        assert_eq!([(0, 0), (0, 1), (1, 2)].map(chosen), [None, Some(spare), Some(file)]);
    }
}
