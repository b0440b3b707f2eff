//! Output files: checked before the work starts, and written completely or not at all. `-` is
//! stdout; `png:-` also names the format.
//!
//! [`lightbound_image::write`] writes atomically. If writing fails after the work is done (disk
//! full, folder removed), it is retried in the folder for temporary files and in the current
//! folder, under an unused name.

use super::Error;
use lightbound_image::write::link_target;
use lightbound_image::{ImageError, Problem};
use std::fs::{self, File};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

/// Writes data to stdout; returns false if the reader has closed it.
pub fn to_stdout(text: &[u8]) -> Result<bool, Error> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text).and_then(|()| stdout.flush()) {
        Ok(()) => Ok(true),
        // The reader, such as `head`, needs no more.
        Err(cause) if cause.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(cause) => Err(Error::Stdout(cause)),
    }
}

/// Format of a report on stdout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum ReportFormat {
    /// Text and tables
    Text,
    /// JSON, for programs
    Json,
}

/// Image file formats, recognized by their extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageFormat {
    /// OpenEXR: scene-linear 32-bit floats, with feature layers and attributes.
    Exr,
    /// PNG: sRGB with 8 bits.
    Png,
    /// Portable float map: scene-linear 32-bit floats.
    Pfm,
}

impl ImageFormat {
    const ALL: [ImageFormat; 3] = [ImageFormat::Exr, ImageFormat::Png, ImageFormat::Pfm];

    /// The file extension.
    pub fn extension(self) -> &'static str {
        match self {
            ImageFormat::Exr => "exr",
            ImageFormat::Png => "png",
            ImageFormat::Pfm => "pfm",
        }
    }

    /// The format of a file extension, in upper or lower case.
    pub fn from_extension(path: &Path) -> Option<ImageFormat> {
        let extension = path.extension()?.to_str()?;
        ImageFormat::ALL.into_iter().find(|f| f.extension().eq_ignore_ascii_case(extension))
    }

    /// Whether a path names a PNG, or stdout for a command that writes only PNG.
    pub fn is_png(path: &Path) -> bool {
        let format = ImageFormat::of_stdout(path).or_else(|| ImageFormat::from_extension(path));
        is_stream(path) || format == Some(ImageFormat::Png)
    }

    /// The format that a name of stdout such as `png:-` has, if any.
    fn of_stdout(path: &Path) -> Option<ImageFormat> {
        let name = path.to_str()?.strip_suffix(":-")?;
        ImageFormat::ALL.into_iter().find(|format| format.extension() == name)
    }

    /// The format of a path that was given as an option; EXR for stdout, unless the path names
    /// another.
    ///
    /// # Errors
    /// If the path is a folder or has an unknown extension.
    pub fn from_option(path: &Path) -> Result<ImageFormat, Error> {
        if is_stream(path) {
            return Ok(ImageFormat::Exr);
        }
        if let Some(format) = ImageFormat::of_stdout(path) {
            return Ok(format);
        }
        if path.is_dir() {
            return Err(folder_error(path));
        }
        ImageFormat::from_extension(path).ok_or_else(|| Error::Option {
            message: format!("unknown image format: `{}`", path.display()),
            help: "name a file that ends in .exr (float, all layers), .png (sRGB) or .pfm \
                   (float), or stdout: exr:-, png:- or pfm:-"
                .into(),
        })
    }
}

/// Whether a path means stdin or stdout.
pub fn is_stream(path: &Path) -> bool {
    path == Path::new("-")
}

/// Where stdout can be opened as a file.
const STDOUT: &str = "/dev/stdout";

/// An output that is known to be writable: a file, or stdout, which takes one file, has no name,
/// and cannot be replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutputFile {
    /// Stdout.
    Stdout,
    /// A file at this path, or a device or a pipe.
    File(PathBuf),
}

impl OutputFile {
    /// Checks that a file can be created at `path`, or that stdout can take it.
    pub fn check(path: &Path) -> Result<OutputFile, Error> {
        if is_stream(path) || ImageFormat::of_stdout(path).is_some() {
            return match io::stdout().is_terminal() {
                false => Ok(OutputFile::Stdout),
                true => Err(Error::option(
                    "stdout is a terminal, which cannot show the file",
                    "redirect stdout to a file or a pipe, or name a file",
                )),
            };
        }
        if path == Path::new(STDOUT) {
            return Ok(OutputFile::Stdout);
        }
        // The file is written at the target of a symbolic link.
        let target = link_target(path);
        let folder = folder(&target);
        if target.is_dir() {
            return Err(folder_error(path));
        }
        let output = OutputFile::File(path.into());
        if output.is_write_once() {
            // A trial write could disturb a device or a pipe.
            return Ok(output);
        }
        if !folder.is_dir() {
            return Err(Error::option(
                format!(
                    "cannot write `{}`: there is no folder `{}`",
                    path.display(),
                    folder.display()
                ),
                "create the folder first, or name another",
            ));
        }
        // Creating a file is the only check of permissions, read-only file systems and quotas.
        let probe = folder.join(format!(".lightbound-{}.tmp", std::process::id()));
        if let Err(cause) = File::create_new(&probe).and_then(|_| fs::remove_file(&probe)) {
            return Err(Error::option(
                format!(
                    "cannot write `{}`: no file can be created in `{}`: {cause}",
                    path.display(),
                    folder.display()
                ),
                "check the folder's permissions, or name another",
            ));
        }
        Ok(output)
    }

    /// Whether this is stdout, a device or a pipe: what is written to it cannot be replaced.
    pub fn is_write_once(&self) -> bool {
        self.path().is_none_or(|path| fs::metadata(path).is_ok_and(|m| !m.is_file()))
    }

    /// The path of a file.
    pub fn path(&self) -> Option<&Path> {
        match self {
            OutputFile::Stdout => None,
            OutputFile::File(path) => Some(path),
        }
    }

    /// The name in messages.
    pub fn name(&self) -> &Path {
        self.path().unwrap_or(Path::new("stdout"))
    }

    /// Whether `other` is the same file. Follows symbolic links, like writing. Always false for
    /// stdout, devices and pipes, which have no content to lose.
    pub fn is_same_file(&self, other: &Path) -> bool {
        let Some(this) = self.path().filter(|_| !self.is_write_once()) else { return false };
        // A new file has no canonical path yet, but its folder has one.
        let new_file =
            |path: &Path| Some(fs::canonicalize(folder(path)).ok()?.join(path.file_name()?));
        let canonical =
            |path: &Path| fs::canonicalize(path).ok().or_else(|| new_file(&link_target(path)));
        canonical(this).is_some_and(|path| Some(path) == canonical(other))
    }

    /// Whether writing would replace an existing file.
    pub fn is_file(&self) -> bool {
        self.path().is_some_and(Path::is_file)
    }

    /// An unused path in the same folder, with a similar name.
    pub fn unused_sibling(&self) -> Option<OutputFile> {
        let path = self.path()?;
        Some(OutputFile::File(unused_path(path.parent()?, path)?))
    }

    /// Writes the file with `write`, which must leave the complete file or none.
    ///
    /// # Errors
    /// If the file could not be written; the error says where it was saved instead, if anywhere. A
    /// reader of stdout that has gone gets no copy elsewhere.
    pub fn write(&self, write: impl Fn(&Path) -> Result<(), ImageError>) -> Result<(), Error> {
        let cause = match write(self.path().unwrap_or(Path::new(STDOUT))) {
            Ok(()) => return Ok(()),
            Err(ImageError { problem: Problem::Write(cause), .. })
                if *self == OutputFile::Stdout && cause.kind() == io::ErrorKind::BrokenPipe =>
            {
                return Err(Error::Stdout(cause));
            }
            Err(cause) => cause,
        };
        let folders = [std::env::temp_dir(), PathBuf::from(".")];
        let fallback = folders
            .iter()
            .find_map(|folder| unused_path(folder, self.name()).filter(|path| write(path).is_ok()));
        let help = match fallback {
            Some(path) => {
                format!("it was saved as `{}` instead; move it from there", path.display())
            }
            None => "nothing was kept, since it could not be written elsewhere either; free some \
                     space and try again"
                .into(),
        };
        Err(Error::Write { cause, help })
    }
}

/// An unused path in `folder`, with a name derived from `file`: `a.exr`, `a-1.exr`, …
fn unused_path(folder: &Path, file: &Path) -> Option<PathBuf> {
    let stem = file.file_stem()?;
    let name = |n: u32| {
        let mut name = stem.to_os_string();
        if n > 0 {
            name.push(format!("-{n}"));
        }
        // Appended, since a stem may contain dots.
        if let Some(extension) = file.extension() {
            name.push(".");
            name.push(extension);
        }
        folder.join(name)
    };
    (0..1000).map(name).find(|path| fs::symlink_metadata(path).is_err())
}

fn folder_error(path: &Path) -> Error {
    Error::Option {
        message: format!("`{}` is a folder", path.display()),
        help: "add a file name to it".into(),
    }
}

/// The folder that contains `path`.
fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lightbound_image::write::save;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|e| e.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn extensions_determine_formats() {
        assert_eq!(ImageFormat::from_extension(Path::new("a/b.EXR")), Some(ImageFormat::Exr));
        assert_eq!(ImageFormat::from_extension(Path::new("b.tar.png")), Some(ImageFormat::Png));
        assert_eq!(ImageFormat::from_extension(Path::new("exr")), None);
        assert_eq!(ImageFormat::from_option(Path::new("-")).unwrap(), ImageFormat::Exr);
        assert_eq!(ImageFormat::from_option(Path::new("pfm:-")).unwrap(), ImageFormat::Pfm);
        assert!(ImageFormat::from_option(Path::new("jpg:-")).is_err());
        assert!(
            ImageFormat::from_option(Path::new("a.jpg")).unwrap_err().to_string().contains("a.jpg")
        );
    }

    #[test]
    fn check_leaves_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let output = OutputFile::check(&folder.path().join("a.exr")).unwrap();
        assert!(names(folder.path()).is_empty());
        output.write(|path| save(path, b"image")).unwrap();
        assert_eq!(names(folder.path()), ["a.exr"]);
    }

    #[test]
    fn unusable_paths_are_errors() {
        let folder = tempfile::tempdir().unwrap();
        let message = |path: &Path| OutputFile::check(path).unwrap_err().to_string();
        assert!(message(folder.path()).contains("is a folder"));
        assert!(
            ImageFormat::from_option(folder.path())
                .unwrap_err()
                .to_string()
                .contains("is a folder")
        );
        assert!(message(&folder.path().join("no/a.exr")).contains("no folder"));
    }

    #[test]
    fn unused_paths_replace_no_file() {
        let folder = tempfile::tempdir().unwrap();
        for expected in ["a.b.exr", "a.b-1.exr", "a.b-2.exr"] {
            let path = unused_path(folder.path(), Path::new("/elsewhere/a.b.exr")).unwrap();
            assert_eq!(path, folder.path().join(expected));
            fs::write(path, b"earlier").unwrap();
        }
        let output = OutputFile::check(&folder.path().join("a.b.exr")).unwrap();
        assert!(output.is_file());
        let sibling = OutputFile::File(folder.path().join("a.b-3.exr"));
        assert_eq!(output.unused_sibling(), Some(sibling));
    }

    #[test]
    fn relative_paths_to_the_same_file_are_equal() {
        let folder = tempfile::tempdir().unwrap();
        let output = OutputFile::check(&folder.path().join("a.png")).unwrap();
        fs::create_dir(folder.path().join("sub")).unwrap();
        assert!(output.is_same_file(&folder.path().join("sub/../a.png")));
        assert!(
            !output.is_same_file(&folder.path().join("sub/a.png"))
                && !output.is_same_file(Path::new("a.png"))
        );
    }

    #[cfg(unix)]
    #[test]
    fn symbolic_links_to_the_same_file_are_equal() {
        let folder = tempfile::tempdir().unwrap();
        let [file, link, copy] =
            ["a.png", "link.png", "copy.png"].map(|name| folder.path().join(name));
        fs::write(&file, b"image").unwrap();
        fs::write(&copy, b"image").unwrap();
        std::os::unix::fs::symlink("a.png", &link).unwrap();
        let is =
            |output: &Path, other: &Path| OutputFile::check(output).unwrap().is_same_file(other);
        assert!(is(&link, &file) && is(&file, &link) && is(&link, &link));
        assert!(!is(&copy, &file) && !is(&link, &copy));
        let (new, dangling) = (folder.path().join("new.png"), folder.path().join("dangling.png"));
        std::os::unix::fs::symlink("new.png", &dangling).unwrap();
        assert!(is(&dangling, &new) && is(&new, &dangling));
        OutputFile::check(&dangling).unwrap().write(|path| save(path, b"image")).unwrap();
        assert_eq!(fs::read(&new).unwrap(), b"image");
        let lost = folder.path().join("lost.png");
        std::os::unix::fs::symlink("no/a.png", &lost).unwrap();
        assert!(OutputFile::check(&lost).unwrap_err().to_string().contains("no folder"));
    }

    #[cfg(unix)]
    #[test]
    fn devices_need_no_writable_folder() {
        let output = OutputFile::check(Path::new("/dev/null")).unwrap();
        output.write(|path| save(path, b"image")).unwrap();
        assert!(!output.is_same_file(Path::new("/dev/null")));
    }

    #[test]
    fn output_is_saved_elsewhere_if_its_folder_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("inner");
        fs::create_dir(&inner).unwrap();
        let name = format!("lightbound-spare-{}.exr", std::process::id());
        let output = OutputFile::check(&inner.join(&name)).unwrap();
        fs::remove_dir(&inner).unwrap();
        let error = output.write(|path| save(path, b"image")).unwrap_err();
        let fallback = std::env::temp_dir().join(name);
        assert_eq!(fs::read_to_string(&fallback).unwrap(), "image");
        fs::remove_file(&fallback).unwrap();
        let Error::Write { help, .. } = error else { panic!("{error}") };
        assert!(help.contains("saved as"), "{help}");
    }
}
