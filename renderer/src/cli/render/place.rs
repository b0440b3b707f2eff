//! Where a picture goes: not over a file that the scene is read from, nor, with pixels that nothing
//! is known of, over another picture.

use super::Args;
use super::checkpoint;
use super::finished::Finished;
use crate::cli::Error;
use crate::cli::output::{Format, Output};
use lightbound::scene::inputs::Inputs;
use std::path::{Path, PathBuf};

/// A place for a picture.
pub struct Place {
    /// The picture's format.
    pub format: Format,
    /// Its file.
    pub output: Output,
}

impl Place {
    /// Whether a picture can be written there, and the options fit it.
    pub fn check(path: &Path, args: &Args) -> Result<Place, Error> {
        let fault = |message: String, help: &str| Err(Error::Option { message, help: help.into() });
        let format = Format::expect(path)?;
        if args.variance && format != Format::Exr {
            let message = format!(
                "--variance is for .exr; `{}` has no place for more than a colour",
                path.display()
            );
            return fault(message, "write an .exr with -o");
        }
        if args.work.sample_range.is_some() && format != Format::Exr {
            let message = format!(
                "--sample-range makes a part of a picture; `{}` cannot hold its exact sums",
                path.display()
            );
            return fault(message, "write an .exr with -o");
        }
        if args.exposure.is_some() && format != Format::Png {
            let message =
                format!("--exposure is for .png; `{}` keeps scene-linear values", path.display());
            return fault(message, "write a .png with -o, or leave the exposure to the viewer");
        }
        Ok(Place { format, output: Output::check(path)? })
    }

    /// Writes a picture: not where it has no sample at all, and beside a file that is there where
    /// some of its pixels have none.
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

    /// Where a picture belongs whose pixels have so many samples, at least and at most.
    fn choose(&self, (fewest, most): (u32, u32)) -> Kept {
        match fewest {
            0 if most == 0 => Kept::Nowhere,
            0 if self.output.is_file() => self.output.beside().map_or(Kept::Nowhere, Kept::Beside),
            _ => Kept::There,
        }
    }
}

/// What became of a picture.
pub enum Kept {
    /// It is where it belongs.
    There,
    /// It is elsewhere, since an earlier file tells more.
    Beside(Output),
    /// It was not worth a file.
    Nowhere,
}

impl Kept {
    /// The picture's file.
    pub fn path<'a>(&'a self, place: &'a Place) -> Option<&'a Path> {
        match self {
            Kept::There => Some(place.output.path()),
            Kept::Beside(output) => Some(output.path()),
            Kept::Nowhere => None,
        }
    }

    /// What is to be said of it.
    pub fn remark(&self, place: &Place, result: &Finished) -> Option<String> {
        let fewest = result.samples_per_pixel().0;
        let path = place.output.path().display();
        let earlier = if place.output.is_file() {
            format!("; {path} is kept as it was")
        } else {
            String::new()
        };
        match self {
            Kept::There => (fewest == 0)
                .then(|| "some pixels hold no sample yet; instead: they are black".into()),
            Kept::Beside(output) => Some(format!(
                "some pixels hold no sample yet{earlier}; instead: the picture so far is {}, where they are black",
                output.path().display()
            )),
            Kept::Nowhere => Some(format!(
                "interrupted before there was a picture{earlier}; instead: no picture is written"
            )),
        }
    }
}

/// Makes sure that the picture and the statistics replace neither each other nor a file that the
/// scene was read from.
pub fn nothing_is_lost(
    place: &Place,
    stats: Option<&Output>,
    args: &Args,
    inputs: &Inputs,
) -> Result<(), Error> {
    let is_read =
        |output: &Output| inputs.paths().chain([args.scene.as_path()]).any(|path| output.is(path));
    let lost = |what: &str, output: &Output, why: &str, help: &str| {
        Err(Error::Option {
            message: format!("{what} would overwrite `{}`{why}", output.path().display()),
            help: help.into(),
        })
    };
    const READ: &str = ", which the scene is read from";
    if is_read(&place.output) {
        let what =
            if args.output.is_some() { "--output" } else { "the picture, named by the scene," };
        return lost(what, &place.output, READ, "name another file with -o");
    }
    let Some(stats) = stats else { return Ok(()) };
    if is_read(stats) {
        return lost("--stats", stats, READ, "name another file");
    }
    if stats.is(place.output.path()) || stats.is(&checkpoint::path(place.output.path())) {
        return lost("--stats", stats, "", "name another file");
    }
    Ok(())
}

/// The film's file name in the current folder; the scene's name where the film has none that we can
/// write.
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
    fn names_of_pictures_without_one() {
        let name = |scene: &str, film: &str| default_output(Path::new(scene), Path::new(film));
        assert_eq!(name("a/b.pbrt", "out/c.png"), Path::new("c.png"));
        assert_eq!(name("a/b.pbrt", "c.jpg"), Path::new("c.exr"));
        assert_eq!(name("a/b.pbrt", ""), Path::new("b.exr"));
        assert_eq!(name("a/b.pbrt.gz", ""), Path::new("b.exr"));
    }

    #[test]
    fn pictures_with_holes_replace_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let (file, spare) = (folder.path().join("a.png"), folder.path().join("a-1.png"));
        let place = Place { format: Format::Png, output: Output::check(&file).unwrap() };
        let chosen = |samples| place.choose(samples).path(&place).map(Path::to_path_buf);
        assert_eq!(
            [(0, 0), (0, 1), (1, 1)].map(chosen),
            [None, Some(file.clone()), Some(file.clone())]
        );
        std::fs::write(&file, "earlier").unwrap();
        assert_eq!([(0, 0), (0, 1), (1, 2)].map(chosen), [None, Some(spare), Some(file)]);
    }
}
