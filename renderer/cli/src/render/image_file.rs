//! The output file of a rendering. It never replaces an input file of the scene. An image in which
//! some pixels have no samples does not replace an earlier file.

use super::Args;
use super::result::RenderResult;
use crate::Error;
use crate::console::{Progress, ProgressFormat};
use crate::input;
use crate::output::{ImageFormat, OutputFile};
use lightbound::film::Film;
use lightbound::part::Checkpoint;
use lightbound::settings::ColourSpace;
use lightbound_pbrt::inputs::InputFiles;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The output file of a rendering.
pub struct ImageFile {
    /// The image format.
    pub format: ImageFormat,
    /// The file.
    pub output: OutputFile,
    /// The file with the unfinished image of this process, if it must not replace an earlier one.
    alternative: OnceLock<Option<OutputFile>>,
}

impl ImageFile {
    fn new(format: ImageFormat, output: OutputFile) -> ImageFile {
        ImageFile { format, output, alternative: OnceLock::new() }
    }

    /// Checks that the image can be written, and that the options are valid for its format.
    pub fn check(path: &Path, args: &Args) -> Result<ImageFile, Error> {
        let format = ImageFormat::from_option(path)?;
        const COLOURS: &str = "stores only colours";
        const SUMS: &str = "cannot store exact sums";
        const SPACE: &str = "cannot state its colour space";
        const LINEAR: &str = "stores scene-linear values, which viewers brighten";
        use ImageFormat::{Exr, Png};
        let of_samples = args.work.of_samples();
        let other_space = args.color_space.is_some_and(|space| space != ColourSpace::Srgb);
        for (option, is_used, needed, why) in [
            ("--variance", args.variance, Exr, COLOURS),
            ("--layers", !args.layers.is_empty(), Exr, COLOURS),
            (of_samples.unwrap_or_default(), of_samples.is_some(), Exr, SUMS),
            ("--keep-sums", args.work.keep_sums, Exr, SUMS),
            ("--color-space", other_space, Exr, SPACE),
            ("--exposure", args.exposure.is_some(), Png, LINEAR),
        ] {
            if is_used && needed != format {
                let file = if needed == Exr { "an .exr file" } else { "a .png file" };
                return Err(Error::option(
                    format!("{option} needs {file}; `{}` {why}", path.display()),
                    format!("write {file} with -o"),
                ));
            }
        }
        Ok(ImageFile::new(format, OutputFile::check(path)?))
    }

    /// Writes the image. An image without any samples is not written; one in which some pixels have
    /// no samples does not replace an existing file.
    pub fn write(&self, result: &RenderResult, film: &Film) -> Result<Destination, Error> {
        let destination = self.destination(result.samples_per_pixel());
        if let Some(output) = destination.output(self) {
            output.write(|path| result.write_image(path, film))?;
        }
        Ok(destination)
    }

    /// Writes the image of a rendering that continues. A failure to write is only reported. Stdout,
    /// devices and pipes take only the final image.
    pub fn write_snapshot(&self, result: &RenderResult, film: &Film, progress: &Progress) {
        let destination = self.destination(result.samples_per_pixel());
        if let Some(output) = destination.output(self) {
            let Some(path) = output.path().filter(|_| !output.is_write_once()) else {
                return progress.warn(&format!(
                    "the image so far is not written, since {} can receive only one image; the \
                     rendering continues",
                    output.name().display()
                ));
            };
            if let Err(error) = result.write_image(path, film) {
                return progress.warn(&format!("{error}; the rendering continues"));
            }
            progress.info(&result.summary(path));
        }
        if let Some(warning) = destination.warning(self, result) {
            progress.warn(&warning);
        }
    }

    /// The destination of an image with this minimum and maximum number of samples per pixel.
    fn destination(&self, (min, max): (u32, u32)) -> Destination {
        match min {
            0 if max == 0 => Destination::None,
            0 if self.output.is_file() => {
                let file = self.alternative.get_or_init(|| self.output.unused_sibling());
                file.clone().map_or(Destination::None, Destination::Alternative)
            }
            _ => Destination::Requested,
        }
    }
}

/// Where an image is written.
pub enum Destination {
    /// The requested file.
    Requested,
    /// Another file, which leaves the earlier image in place.
    Alternative(OutputFile),
    /// No file: there are no samples, or no unused file name.
    None,
}

impl Destination {
    /// The file that is written.
    pub fn output<'a>(&'a self, image_file: &'a ImageFile) -> Option<&'a OutputFile> {
        match self {
            Destination::Requested => Some(&image_file.output),
            Destination::Alternative(output) => Some(output),
            Destination::None => None,
        }
    }

    /// A warning about a missing or incomplete image.
    pub fn warning(&self, image_file: &ImageFile, result: &RenderResult) -> Option<String> {
        let min = result.samples_per_pixel().0;
        let path = image_file.output.name().display();
        let earlier = if image_file.output.is_file() {
            format!("; {path} is unchanged")
        } else {
            String::new()
        };
        match self {
            Destination::Requested => {
                (min == 0).then(|| "some pixels have no samples yet, and are black".into())
            }
            Destination::Alternative(output) => Some(format!(
                "some pixels have no samples yet, and are black{earlier}; the unfinished image is {}",
                output.name().display()
            )),
            Destination::None if result.samples_per_pixel().1 == 0 => {
                Some(format!("there are no samples yet{earlier}; no image was written"))
            }
            Destination::None => Some(format!(
                "some pixels have no samples yet{earlier}; no image was written, because no unused \
                 file name was found"
            )),
        }
    }
}

/// Checks that the image, the denoised image and the statistics do not overwrite each other or an
/// input file of the scene.
pub fn check_overwrites(
    image_file: &ImageFile,
    denoised: Option<&OutputFile>,
    stats: Option<&OutputFile>,
    args: &Args,
    inputs: &InputFiles,
) -> Result<(), Error> {
    let is_input = |output: &OutputFile| {
        inputs.paths().chain([args.scene.as_path()]).any(|path| output.is_same_file(path))
    };
    let overwrites = |option: &str, output: &OutputFile, reason: &str, help: &str| {
        Err(Error::option(
            format!("{option} would overwrite `{}`{reason}", output.name().display()),
            help,
        ))
    };
    const INPUT: &str = ", an input file of the scene";
    if is_input(&image_file.output) {
        let option =
            if args.output.is_some() { "--output" } else { "the image, named by the scene," };
        return overwrites(option, &image_file.output, INPUT, "name another file with -o");
    }
    if let Some(denoised) = denoised.filter(|denoised| is_input(denoised)) {
        return overwrites("--denoise", denoised, INPUT, "name another file with -o");
    }
    let Some(stats) = stats else { return Ok(()) };
    if is_input(stats) {
        return overwrites("--stats", stats, INPUT, "name another file");
    }
    let is_image = |image: &Path| {
        stats.is_same_file(image) || stats.is_same_file(&Checkpoint::path_for(image))
    };
    let is_denoised = denoised.and_then(OutputFile::path).is_some_and(is_image);
    if is_denoised || image_file.output.path().is_some_and(is_image) {
        return overwrites("--stats", stats, "", "name another file");
    }
    Ok(())
}

/// Checks that only one thing is written to stdout, and that a checkpoint has a file beside which
/// it can be.
pub fn check_stdout(
    image: Option<&ImageFile>,
    stats: Option<&OutputFile>,
    args: &Args,
) -> Result<(), Error> {
    let is_stdout = |output: &OutputFile| *output == OutputFile::Stdout;
    let image = image.is_some_and(|image| is_stdout(&image.output));
    let users = [
        ("--output", image),
        ("--stats", stats.is_some_and(is_stdout)),
        ("--progress json", args.progress == ProgressFormat::Json),
    ];
    let users: Vec<&str> = users.iter().filter(|(_, uses)| *uses).map(|(name, _)| *name).collect();
    if users.len() > 1 {
        let message = format!("{} would write to stdout", users.join(" and "));
        return Err(Error::option(message, "name files for all but one"));
    }
    if image && (args.work.checkpoint.is_some() || args.work.resume) {
        let message = "a checkpoint is a file beside the image, but the image goes to stdout";
        return Err(Error::option(message, "name a file with -o"));
    }
    Ok(())
}

/// Default output: the film's file name in the current folder, or the scene's name if the film has
/// no file name. Formats that cannot be written become .exr.
pub fn default_output(scene: &Path, film: &Path) -> PathBuf {
    let scene = input::name(scene);
    match film.file_name().map(PathBuf::from) {
        Some(name) if ImageFormat::from_extension(&name).is_some() => name,
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
        assert_eq!(name("-", ""), Path::new("stdin.exr"));
    }

    #[test]
    fn incomplete_images_do_not_replace_files() {
        let folder = tempfile::tempdir().unwrap();
        let [file, alternative] =
            ["a.png", "a-1.png"].map(|name| OutputFile::File(folder.path().join(name)));
        let image_file = ImageFile::new(ImageFormat::Png, file.clone());
        let written = |samples| image_file.destination(samples).output(&image_file).cloned();
        assert_eq!(
            [(0, 0), (0, 1), (1, 1)].map(written),
            [None, Some(file.clone()), Some(file.clone())]
        );
        std::fs::write(folder.path().join("a.png"), "earlier").unwrap();
        let expected = [None, Some(alternative.clone()), Some(file)];
        assert_eq!([(0, 0), (0, 1), (1, 2)].map(written), expected);
        // A process replaces its own unfinished image.
        std::fs::write(folder.path().join("a-1.png"), "unfinished").unwrap();
        assert_eq!(written((0, 1)), Some(alternative));
    }
}
