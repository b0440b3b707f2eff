//! Writes image files: EXR with any channels and attributes, 8-bit PNG, and PFM.
//!
//! A file is written to a temporary file next to its target, which is then renamed ([`save`]). So a
//! full disk or an interruption leaves an existing file intact and never produces a partial file.

use super::srgb_codes::srgb_code;
use super::{ImageError, Problem, exposure_gain};
use crate::Window;
pub use crate::exr_rows::{ChannelType, ExrRows, write_exr_rows};
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Cursor, Seek, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The content of an EXR file with 32 bits per sample.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExrImage {
    /// Size of the stored pixels (the data window).
    pub size: [u32; 2],
    /// Position of the stored pixels in the full image; nonzero for crops.
    pub offset: [u32; 2],
    /// Size of the full image (the display window).
    pub full_size: [u32; 2],
    /// Channels in any order, with distinct names.
    pub channels: Vec<Channel>,
    /// Custom header attributes, with distinct names. The names of standard attributes are
    /// reserved, except for [`CHROMATICITIES`].
    pub attributes: Vec<(String, Attribute)>,
}

impl ExrImage {
    /// Returns the window of the stored pixels in the full image; `None` if it is empty or
    /// overflows.
    pub fn window(&self) -> Option<Window> {
        let end =
            |i: usize| self.offset[i].checked_add(self.size[i]).filter(|&end| end > self.offset[i]);
        Some(Window { x0: self.offset[0], y0: self.offset[1], x1: end(0)?, y1: end(1)? })
    }
}

/// A channel of an EXR file.
#[derive(Clone, Debug, PartialEq)]
pub struct Channel {
    /// The name: `R`, `albedo.G`, `depth.Z`, …
    pub name: String,
    /// One sample per pixel, row by row from the top.
    pub samples: ChannelSamples,
}

/// The samples of a channel.
#[derive(Clone, Debug, PartialEq)]
pub enum ChannelSamples {
    /// Floats.
    F32(Vec<f32>),
    /// Unsigned integers, such as object ids.
    U32(Vec<u32>),
}

/// Name of the standard attribute that says which colours R, G, B and white are. Without it they
/// are those of BT.709.
pub const CHROMATICITIES: &str = "chromaticities";

impl ChannelSamples {
    /// Returns the number of samples.
    pub(crate) fn len(&self) -> usize {
        match self {
            ChannelSamples::F32(samples) => samples.len(),
            ChannelSamples::U32(samples) => samples.len(),
        }
    }
}

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq)]
pub enum Attribute {
    /// Text in Latin-1; see [`Attribute::text`] for other text.
    Text(String),
    /// A 32-bit float.
    Float(f32),
    /// A 32-bit integer.
    Int(i32),
    /// The chromaticities of red, green, blue and white, in this order; only with the name
    /// [`CHROMATICITIES`].
    Chromaticities([[f32; 2]; 4]),
}

impl Attribute {
    /// Creates a text attribute; NUL and characters outside Latin-1 become `?`.
    pub fn text(text: &str) -> Attribute {
        Attribute::Text(
            text.chars()
                .map(|c| if u8::try_from(c).is_ok() && c != '\0' { c } else { '?' })
                .collect(),
        )
    }
}

impl fmt::Display for Attribute {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Attribute::Text(text) => text.fmt(f),
            Attribute::Float(x) => x.fmt(f),
            Attribute::Int(i) => i.fmt(f),
            Attribute::Chromaticities([red, green, blue, white]) => {
                let [rx, ry] = red;
                let [gx, gy] = green;
                let [bx, by] = blue;
                let [wx, wy] = white;
                write!(f, "red {rx}, {ry}; green {gx}, {gy}; blue {bx}, {by}; white {wx}, {wy}")
            }
        }
    }
}

/// Writes an EXR file: scan lines from the top, with lossless ZIP compression.
///
/// # Panics
/// If a channel does not have `size[0] * size[1]` samples.
pub fn write_exr(path: &Path, image: &ExrImage) -> Result<(), ImageError> {
    let pixels = image.size[0] as usize * image.size[1] as usize;
    for Channel { name, samples } in &image.channels {
        assert_eq!(samples.len(), pixels, "wrong number of samples in channel {name}");
    }
    write_exr_rows(path, image, image)
}

impl ExrRows for ExrImage {
    fn channels(&self) -> Vec<(String, ChannelType)> {
        let channel_type = |samples: &ChannelSamples| match samples {
            ChannelSamples::F32(_) => ChannelType::F32,
            ChannelSamples::U32(_) => ChannelType::U32,
        };
        self.channels.iter().map(|c| (c.name.clone(), channel_type(&c.samples))).collect()
    }

    fn rows(&self, rows: Range<u32>) -> Vec<ChannelSamples> {
        let [start, end] = [rows.start, rows.end].map(|y| y as usize * self.size[0] as usize);
        let part = |c: &Channel| match &c.samples {
            ChannelSamples::F32(s) => ChannelSamples::F32(s[start..end].to_vec()),
            ChannelSamples::U32(s) => ChannelSamples::U32(s[start..end].to_vec()),
        };
        self.channels.iter().map(part).collect()
    }
}

/// Writes an 8-bit sRGB PNG of linear colours, row by row from the top, encoded by [`srgb_codes`].
///
/// # Panics
/// If `rgb` is not `width * height` long.
pub fn write_png(
    path: &Path,
    width: u32,
    height: u32,
    rgb: &[[f32; 3]],
    exposure: f32,
) -> Result<(), ImageError> {
    write_png_codes(path, width, height, &srgb_codes(rgb, exposure))
}

/// Writes a PNG of sRGB codes, row by row from the top.
///
/// # Panics
/// If `codes` is not `width * height` long.
pub fn write_png_codes(
    path: &Path,
    width: u32,
    height: u32,
    codes: &[[u8; 3]],
) -> Result<(), ImageError> {
    let bytes = encode_png(width, height, codes);
    save(
        path,
        &bytes.map_err(|message| Problem::Unwritable { format: "PNG", message }.in_file(path))?,
    )
}

/// Encodes a PNG of sRGB codes, row by row from the top.
///
/// # Errors
/// Returns the encoder's message, for example if the width or the height is 0.
///
/// # Panics
/// If `codes` is not `width * height` long.
pub fn encode_png(width: u32, height: u32, codes: &[[u8; 3]]) -> Result<Vec<u8>, String> {
    assert_eq!(codes.len(), width as usize * height as usize);
    let mut bytes = Vec::new();
    let encoder = image::codecs::png::PngEncoder::new(&mut bytes);
    let encoded = image::ImageEncoder::write_image(
        encoder,
        codes.as_flattened(),
        width,
        height,
        image::ExtendedColorType::Rgb8,
    );
    encoded.map_err(|e| e.to_string())?;
    Ok(bytes)
}

/// Returns the 8-bit sRGB codes of linear colours, scaled by `exposure` stops (powers of 2).
///
/// Values are clamped to [0, 1]; NaN becomes 0.
pub fn srgb_codes(rgb: &[[f32; 3]], exposure: f32) -> Vec<[u8; 3]> {
    let gain = exposure_gain(exposure);
    rgb.iter().map(|pixel| pixel.map(|x| srgb_code(x * gain))).collect()
}

/// Writes linear colours, row by row from the top, as a little-endian PFM (which stores rows from
/// the bottom).
///
/// # Panics
/// If `rgb` is not `width * height` long.
pub fn write_pfm(path: &Path, width: u32, height: u32, rgb: &[[f32; 3]]) -> Result<(), ImageError> {
    assert_eq!(rgb.len(), width as usize * height as usize);
    write_pfm_rows(path, width, height, |rows| {
        let [start, end] = [rows.start, rows.end].map(|y| y as usize * width as usize);
        rgb[start..end].to_vec()
    })
}

/// Rows that [`write_pfm_rows`] writes at once.
const PFM_ROWS: u32 = 16;

/// Like [`write_pfm`], with colours that are computed while the file is written: `rows` returns
/// those of a range of rows, counted from the top.
///
/// # Panics
/// If `rows` returns a wrong number of colours.
pub fn write_pfm_rows(
    path: &Path,
    width: u32,
    height: u32,
    rows: impl Fn(Range<u32>) -> Vec<[f32; 3]>,
) -> Result<(), ImageError> {
    save_with(path, |file| {
        let mut write = |bytes: &[u8]| file.write_all(bytes).map_err(Problem::Write);
        write(pfm_header(width, height, 3).as_bytes())?;
        let mut bytes = Vec::new();
        for start in (0..height).step_by(PFM_ROWS as usize).rev() {
            let end = (start + PFM_ROWS).min(height);
            let rgb = rows(start..end);
            assert_eq!(rgb.len(), width as usize * (end - start) as usize);
            bytes.clear();
            append_pfm_rows(&mut bytes, rgb.as_flattened(), width, 3);
            write(&bytes)?;
        }
        Ok(())
    })
}

/// Encodes a little-endian PFM of interleaved linear samples, row by row from the top; 1 channel is
/// grey, 3 are red, green and blue.
///
/// # Panics
/// If `channels` is neither 1 nor 3, or `samples` has a wrong length.
pub fn encode_pfm(width: u32, height: u32, channels: usize, samples: &[f32]) -> Vec<u8> {
    assert!(matches!(channels, 1 | 3), "{channels} channels");
    assert_eq!(samples.len(), width as usize * height as usize * channels);
    let mut bytes = pfm_header(width, height, channels).into_bytes();
    append_pfm_rows(&mut bytes, samples, width, channels);
    bytes
}

/// Returns the header of a little-endian PFM.
fn pfm_header(width: u32, height: u32, channels: usize) -> String {
    let name = if channels == 3 { "PF" } else { "Pf" };
    format!("{name}\n{width} {height}\n-1.0\n")
}

/// Appends rows of a little-endian PFM, given from the top.
fn append_pfm_rows(bytes: &mut Vec<u8>, samples: &[f32], width: u32, channels: usize) {
    bytes.reserve(size_of_val(samples));
    for row in samples.chunks_exact(width.max(1) as usize * channels).rev() {
        bytes.extend(row.iter().flat_map(|x| x.to_le_bytes()));
    }
}

/// Writes a file atomically: it contains either all of `bytes` or its previous content.
///
/// Follows symbolic links. Writes directly to targets that are not regular files (a device, a pipe)
/// or that are already open (`/dev/stdout`).
pub fn save(path: &Path, bytes: &[u8]) -> Result<(), ImageError> {
    save_with(path, |file| file.write_all(bytes).map_err(Problem::Write))
}

/// A file that is being written.
pub(crate) trait WriteSeek: Write + Seek {}

impl<T: Write + Seek> WriteSeek for T {}

/// Like [`save`], with content that `write` produces. A target that is not a regular file gets it
/// in one piece, since it may not be able to seek.
pub(crate) fn save_with(
    path: &Path,
    write: impl FnOnce(&mut dyn WriteSeek) -> Result<(), Problem>,
) -> Result<(), ImageError> {
    save_problem(path, write).map_err(|problem| problem.in_file(path))
}

fn save_problem(
    path: &Path,
    write: impl FnOnce(&mut dyn WriteSeek) -> Result<(), Problem>,
) -> Result<(), Problem> {
    let target = link_target(path);
    let is_open = ["/dev/stdout", "/dev/stderr", "/dev/fd", "/proc/self/fd"]
        .iter()
        .any(|name| path.starts_with(name));
    if is_open || fs::metadata(&target).is_ok_and(|m| !m.is_file() && !m.is_dir()) {
        let mut bytes = Cursor::new(Vec::new());
        write(&mut bytes)?;
        let file = OpenOptions::new().append(true).open(&target);
        return file.and_then(|mut file| file.write_all(bytes.get_ref())).map_err(Problem::Write);
    }
    let (file, temporary) = TEMPORARY_FILES.create_for(&target).map_err(Problem::Write)?;
    write_durably(file, write)?;
    temporary.rename(&target).map_err(Problem::Write)
}

/// Follows symbolic links, also to a file that does not exist yet. Without a link, or with links in
/// a circle, returns the path itself.
pub fn link_target(path: &Path) -> PathBuf {
    const MAX_LINKS: usize = 40;
    if let Ok(target) = fs::canonicalize(path) {
        return target;
    }
    // Links such as /dev/stdout of a pipe can be opened, but have no path at their end.
    if fs::metadata(path).is_ok() {
        return path.to_path_buf();
    }
    let mut target = path.to_path_buf();
    for _ in 0..MAX_LINKS {
        match fs::read_link(&target) {
            // A relative target starts from the folder of the link.
            Ok(next) => target = target.parent().unwrap_or(Path::new("")).join(next),
            Err(_) => return target,
        }
    }
    path.to_path_buf()
}

/// Writes and flushes to disk, so that a later rename cannot take effect before the content.
fn write_durably(
    file: File,
    write: impl FnOnce(&mut dyn WriteSeek) -> Result<(), Problem>,
) -> Result<(), Problem> {
    let mut buffered = BufWriter::new(file);
    write(&mut buffered)?;
    let file = buffered.into_inner().map_err(|error| Problem::Write(error.into_error()))?;
    file.sync_all().map_err(Problem::Write)
}

/// Removes the temporary files of all writes in progress, and lets new writes fail. For a process
/// that exits without waiting for them; their targets keep their previous content.
pub fn remove_temporary_files() {
    TEMPORARY_FILES.remove_all();
}

/// Creates a file that [`remove_temporary_files`] removes, unless it has been removed earlier.
/// `path` returns its path.
///
/// # Errors
/// If `create` fails, or the process is ending.
pub fn create_temporary_file<F>(
    create: impl FnOnce() -> io::Result<F>,
    path: impl FnOnce(&F) -> &Path,
) -> io::Result<F> {
    // Locked until the path is stored, so that no file is missed.
    let Some(paths) = &mut *TEMPORARY_FILES.paths() else { return Err(ending()) };
    let file = create()?;
    paths.push(path(&file).into());
    Ok(file)
}

fn ending() -> io::Error {
    io::Error::other("the program is ending")
}

/// The temporary files of the process.
static TEMPORARY_FILES: TemporaryFiles = TemporaryFiles::new();

/// Paths of existing temporary files; `None` if no more may be created.
struct TemporaryFiles(Mutex<Option<Vec<PathBuf>>>);

impl TemporaryFiles {
    const fn new() -> TemporaryFiles {
        TemporaryFiles(Mutex::new(Some(Vec::new())))
    }

    fn paths(&self) -> MutexGuard<'_, Option<Vec<PathBuf>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Creates a temporary file in the folder of `target`.
    fn create_for(&self, target: &Path) -> io::Result<(File, TemporaryFile<'_>)> {
        let name = target.file_name().ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidInput, "the path has no file name")
        })?;
        // Locked until the path is stored, so that no file is missed.
        let mut paths = self.paths();
        let Some(paths) = &mut *paths else { return Err(ending()) };
        for attempt in 0.. {
            let mut temporary = std::ffi::OsString::from(".");
            temporary.push(name);
            temporary.push(format!(".{}-{attempt}.tmp", std::process::id()));
            let path = target.with_file_name(temporary);
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => {
                    paths.push(path.clone());
                    return Ok((file, TemporaryFile { path, all: self, renamed: false }));
                }
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists && attempt < 100 => {}
                Err(e) => return Err(e),
            }
        }
        unreachable!("the last attempt returns")
    }

    fn remove_all(&self) {
        for path in self.paths().take().into_iter().flatten() {
            // The file may have been renamed in the meantime.
            let _ = fs::remove_file(path);
        }
    }
}

/// A temporary file, which is removed when dropped, unless it was renamed.
struct TemporaryFile<'a> {
    path: PathBuf,
    all: &'a TemporaryFiles,
    renamed: bool,
}

impl TemporaryFile<'_> {
    fn rename(mut self, target: &Path) -> io::Result<()> {
        fs::rename(&self.path, target)?;
        self.renamed = true;
        Ok(())
    }
}

impl Drop for TemporaryFile<'_> {
    fn drop(&mut self) {
        self.all.paths().iter_mut().for_each(|paths| paths.retain(|path| *path != self.path));
        if !self.renamed {
            // Ignores a second error; the first one is reported.
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Channels, Encoding, read::read};
    use super::*;
    use exr::prelude::{AttributeValue, FlatSamples, Text, Vec2};

    fn values(n: usize) -> Vec<f32> {
        (0..n).map(|i| (i as f32 - 3.0) * 1.1f32.powi(i as i32 * 7 % 300)).collect()
    }

    #[test]
    fn exr_keeps_bits_windows_and_attributes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("crop.exr");
        let [w, h] = [37, 21];
        let colour: Vec<Vec<f32>> =
            (0..3).map(|c| values(3 * w * h).split_off(c * w * h)[..w * h].to_vec()).collect();
        let f32s = |name: &str, c: usize| Channel {
            name: name.into(),
            samples: ChannelSamples::F32(colour[c].clone()),
        };
        let ids: Vec<u32> = (0..(w * h) as u32).map(|i| i.wrapping_mul(0x9e37_79b9)).collect();
        let exr_image = ExrImage {
            size: [w as u32, h as u32],
            offset: [5, 9],
            full_size: [100, 80],
            channels: vec![
                f32s("R", 0),
                f32s("G", 1),
                f32s("B", 2),
                f32s("albedo.R", 2),
                Channel { name: "object.id".into(), samples: ChannelSamples::U32(ids.clone()) },
            ],
            attributes: vec![
                ("scene".into(), Attribute::text("caf\u{e9} \u{2615}")),
                ("a name that is longer than thirty-one characters".into(), Attribute::Int(-7)),
                ("renderSeconds".into(), Attribute::Float(1.5)),
            ],
        };
        write_exr(&path, &exr_image).unwrap();
        let image = read(&path, Encoding::Srgb).unwrap();
        assert_eq!(
            (image.width(), image.height(), image.channels()),
            (w as u32, h as u32, Channels::Rgb)
        );
        for (i, p) in image.pixels().enumerate() {
            assert_eq!(p.to_array().map(f32::to_bits), [0, 1, 2].map(|c| colour[c][i].to_bits()));
        }
        let file = exr::prelude::read_all_flat_layers_from_file(&path).unwrap();
        assert_eq!(file.attributes.display_window.size, Vec2(100, 80));
        let layer = &file.layer_data[0];
        assert_eq!(layer.attributes.layer_position, Vec2(5, 9));
        let other = |name: &str| layer.attributes.other[&Text::from(name)].clone();
        assert_eq!(other("scene"), AttributeValue::Text(Text::from("caf\u{e9} ?")));
        assert_eq!(
            other("a name that is longer than thirty-one characters"),
            AttributeValue::I32(-7)
        );
        assert_eq!(other("renderSeconds"), AttributeValue::F32(1.5));
        let id = layer.channel_data.list.iter().find(|c| c.name.eq("object.id")).unwrap();
        assert_eq!(id.sample_data, FlatSamples::U32(ids));
    }

    #[test]
    fn names_that_exr_cannot_store_are_errors() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("bad.exr");
        let channel =
            |name: &str| Channel { name: name.into(), samples: ChannelSamples::F32(vec![0.0]) };
        for names in [vec!["\u{2615}"], vec!["R", "R"], vec![]] {
            let channels = names.into_iter().map(channel).collect();
            let image =
                ExrImage { size: [1, 1], full_size: [1, 1], channels, ..Default::default() };
            let message = write_exr(&path, &image).unwrap_err().to_string();
            assert!(message.contains("bad.exr: cannot be written as EXR"), "{message}");
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn png_rounds_to_the_nearest_code() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out.png");
        let linear = |x: f32| Encoding::Srgb.decode(x / 255.0);
        let rgb = [[linear(9.49), linear(9.51), linear(254.51)], [f32::NAN, -1.0, f32::INFINITY]];
        write_png(&path, 2, 1, &rgb.map(|p| p.map(|x| x / 4.0)), 2.0).unwrap();
        let image = read(&path, Encoding::Linear).unwrap();
        let codes = image.pixels().flat_map(|p| (p * 255.0).round().to_array()).collect::<Vec<_>>();
        assert_eq!(codes, [9.0, 10.0, 255.0, 0.0, 0.0, 255.0]);
    }

    #[test]
    fn pfm_round_trips() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out.pfm");
        let rgb: Vec<[f32; 3]> = values(3 * 5 * 4).as_chunks().0.to_vec();
        write_pfm(&path, 5, 4, &rgb).unwrap();
        assert!(read(&path, Encoding::Srgb).unwrap().pixels().map(|p| p.to_array()).eq(rgb));
        let grey = values(5 * 4);
        save(&path, &encode_pfm(5, 4, 1, &grey)).unwrap();
        assert!(read(&path, Encoding::Srgb).unwrap().pixels().map(|p| p.x).eq(grey));
    }

    #[test]
    fn saving_is_atomic_and_leaves_no_temporary_files() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out.bin");
        save(&path, b"one").unwrap();
        save(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        // If the target is a folder, the rename fails and the temporary file is removed.
        let folder = dir.path().join("folder");
        fs::create_dir(&folder).unwrap();
        let message = save(&folder, b"three").unwrap_err().to_string();
        assert!(
            message.contains("folder: cannot be written") && message.contains("disk space"),
            "{message}"
        );
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
        assert!(save(&dir.path().join("none/out.bin"), b"four").is_err());
        assert!(save(Path::new(""), b"five").is_err());
    }

    #[test]
    fn removing_temporary_files_keeps_targets_and_prevents_new_files() {
        let dir = tempfile::tempdir().unwrap();
        let [finished, unfinished] = ["a.bin", "b.bin"].map(|name| dir.path().join(name));
        fs::write(&unfinished, b"earlier").unwrap();
        let files = TemporaryFiles::new();
        let create = |target: &Path| files.create_for(target).unwrap().1;
        create(&finished).rename(&finished).unwrap();
        let temporary = create(&unfinished);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 3);
        files.remove_all();
        assert!(finished.is_file() && !temporary.path.exists());
        assert!(temporary.rename(&unfinished).is_err());
        assert_eq!(fs::read(&unfinished).unwrap(), b"earlier");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
        // Other threads may still begin to write.
        assert!(files.create_for(&finished).is_err());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    }

    #[cfg(unix)]
    #[test]
    fn saving_follows_links_and_keeps_devices() {
        let dir = tempfile::tempdir().unwrap();
        let (real, link) = (dir.path().join("real"), dir.path().join("link"));
        fs::write(&real, b"old").unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        save(&link, b"new").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&real).unwrap(), b"new");
        let new = dir.path().join("new");
        for (name, to) in [("first", "second"), ("second", "new")] {
            std::os::unix::fs::symlink(to, dir.path().join(name)).unwrap();
        }
        save(&dir.path().join("first"), b"new").unwrap();
        assert!(fs::symlink_metadata(dir.path().join("first")).unwrap().is_symlink());
        assert_eq!(fs::read(&new).unwrap(), b"new");
        let circle = dir.path().join("circle");
        std::os::unix::fs::symlink("circle", &circle).unwrap();
        assert_eq!(link_target(&circle), circle);
        save(Path::new("/dev/null"), b"gone").unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }
}
