//! Merges the parts of a rendering.

use super::{Attributes, Part, PartError};
use crate::film::{Coverage, Film, FilmOptions, PixelBlock};
use crate::render::RenderStats;
use lightbound_image::write::Attribute;
use lightbound_image::{MAX_PIXELS, Window};
use std::cmp::Reverse;
use std::path::{Path, PathBuf};

/// The sum of several parts.
pub struct MergedParts {
    /// Size of the full image.
    pub resolution: [u32; 2],
    /// Attributes of the rendering with the largest number of samples.
    pub settings: Attributes,
    /// Name of the scene file.
    pub scene: Option<Attribute>,
    /// Pixels and samples of the full image, with the largest number of samples.
    pub full_block: PixelBlock,
    /// The sums of all samples.
    pub film: Film,
    /// The samples that the parts contain.
    pub coverage: Coverage,
    /// The samples of the full image that no part contains.
    pub missing: Coverage,
    /// Sum of the statistics of all parts.
    pub stats: RenderStats,
}

/// The parts of an image in files; [`Parts::merge`] reads their sums.
pub struct Parts<'a> {
    /// At least one.
    parts: Vec<(&'a Path, Part)>,
    coverage: Coverage,
    window: Window,
}

impl<'a> Parts<'a> {
    /// Reads the headers of the parts in these files, in any order.
    ///
    /// # Errors
    /// If a file cannot be read or is not a part, the parts belong to different renderings, or they
    /// overlap.
    ///
    /// # Panics
    /// If `paths` is empty.
    pub fn open(paths: &'a [PathBuf]) -> Result<Parts<'a>, PartError> {
        let parts = paths
            .iter()
            .map(|path| Ok((path.as_path(), Part::open(path)?)))
            .collect::<Result<Vec<_>, PartError>>()?;
        let coverage = union(&parts)?;
        let window = coverage
            .window()
            .filter(|w| u64::from(w.width()) * u64::from(w.height()) <= MAX_PIXELS);
        match window {
            Some(window) => Ok(Parts { parts, coverage, window }),
            None => Err(PartError {
                message: "the parts have no samples, or more pixels than an image can have".into(),
                remedy: "render them again".into(),
            }),
        }
    }

    /// Returns the pixels of the sum.
    pub fn window(&self) -> Window {
        self.window
    }

    /// Returns what the film of the sum stores.
    pub fn film_options(&self) -> FilmOptions {
        self.parts[0].1.header.film
    }

    /// Adds the parts.
    ///
    /// # Errors
    /// If a file cannot be read or is damaged.
    pub fn merge(self) -> Result<MergedParts, PartError> {
        let mut film = Film::new(self.window, self.film_options());
        let mut stats = RenderStats::default();
        for (path, part) in &self.parts {
            part.add_to(path, &mut film)?;
            stats += part.header.stats;
        }
        let samples = |(_, part): &(&Path, Part)| Reverse(part.header.full_block.samples().end);
        let (_, Part { resolution, settings, scene, header, .. }) =
            self.parts.into_iter().min_by_key(samples).expect("there is a part");
        let (full_block, coverage) = (header.full_block, self.coverage);
        let missing = coverage.missing(full_block);
        Ok(MergedParts { resolution, settings, scene, full_block, film, coverage, missing, stats })
    }
}

/// Returns the union of the parts' samples. Fails if the parts belong to different renderings, or
/// overlap.
fn union(parts: &[(&Path, Part)]) -> Result<Coverage, PartError> {
    let mut union = Coverage::default();
    let (first_path, first) = &parts[0];
    for (i, (path, part)) in parts.iter().enumerate() {
        let error = |why: String, remedy: &str| Err(PartError::new(path, &why, remedy));
        let other = first_path.display().to_string();
        if let Some(difference) =
            part.difference(first.resolution, &first.settings, first.header.film, &other)
        {
            return error(
                format!("is not a part of the same image: {difference}"),
                "leave it out, or render it with the same options",
            );
        }
        // The number of samples may differ.
        let (mine, theirs) = (part.header.full_block, first.header.full_block);
        if (mine.window(), mine.samples().start) != (theirs.window(), theirs.samples().start) {
            let why = format!(
                "is not a part of the same image: its image has {mine}, but {other} has {theirs}"
            );
            return error(why, "leave it out, or render it with the same options");
        }
        let overlap = |earlier: &Part| part.header.coverage.overlap(&earlier.header.coverage);
        if let Some((earlier, block)) =
            parts[..i].iter().find_map(|(path, earlier)| Some((path, overlap(earlier)?)))
        {
            let why = format!("has {block} in common with {}", earlier.display());
            return error(
                why,
                "samples must not count twice; leave out one of the two, or render other ranges",
            );
        }
        part.header.coverage.blocks().iter().for_each(|&block| union.add(block));
    }
    Ok(union)
}

#[cfg(test)]
mod tests {
    use super::super::PartHeader;
    use super::*;
    use crate::film::layers::FilmLayers;
    use lightbound_image::write::write_exr_rows;
    use lightbound_math::Vec3;

    /// As after an interruption in the first pass: other tiles have no samples.
    #[test]
    fn parts_with_pixels_without_samples_merge_to_the_pixels_with_samples() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.exr");
        let image = Window { x0: 8, y0: 3, x1: 48, y1: 160 };
        let film = Film::new(image, FilmOptions::default());
        let rendered = &film.tiles()[4..6];
        for tile in rendered {
            for (x, y) in tile.window().pixels() {
                tile.lock().add_radiance(x, y, 0, Vec3::splat((x * y) as f32));
            }
        }
        let window = rendered[0].window().union(rendered[1].window());
        assert!(window.y0 > image.y0 + 32 && window.y1 < image.y1 - 32);
        let mut coverage = Coverage::default();
        coverage.add(PixelBlock::new(window, 0..1).unwrap());
        let full_block = PixelBlock::new(image, 0..4).unwrap();
        let header = PartHeader::new(full_block, coverage, &film, RenderStats::default());
        let layers = FilmLayers::image(&film, false, true, &[], &[]);
        let file = layers.header([60, 200], vec![header.attribute()]);
        write_exr_rows(&path, &file, &layers).unwrap();

        let merged = Parts::open(&[path]).unwrap().merge().unwrap();
        assert_eq!(merged.film.window(), window);
        let rows = window.y0 - image.y0..window.y1 - image.y0;
        assert!(merged.film.columns(0..window.height(), [0; 2]) == film.columns(rows, [0; 2]));
    }
}
