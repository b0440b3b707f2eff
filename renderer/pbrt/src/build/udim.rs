//! Tiles of images (UDIM): the files of a name with a token for numbers, merged into one image.
//!
//! Tile 1001 + i + 10 j is where texture coordinates are in [i, i + 1) and [j, j + 1).

use super::Builder;
use super::shader_material::ShaderUse;
use crate::diagnostics::SceneError;
use lightbound_image::{Channels, Image};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An image of tiles.
pub(super) struct TiledImage {
    pub image: Arc<Image>,
    /// First column, first row, number of columns, number of rows.
    pub tiles: [f64; 4],
}

/// The token in names of files.
const TOKEN: &str = "<UDIM>";

/// Tiles in a row, and rows that are looked for.
const COLUMNS: u32 = 10;
const ROWS: u32 = 10;

/// Maximum number of pixels of all tiles.
const MAX_PIXELS: u64 = 1 << 28;

impl Builder<'_> {
    /// Reads the tiles of a name with a token; parts without a file are 0.
    pub(super) fn tiled_image(
        &mut self,
        shader_use: &ShaderUse,
        path: &Path,
        encoding: &str,
    ) -> Result<TiledImage, SceneError> {
        let entity = shader_use.entity;
        let error = |message: String, help: &str| {
            let message = format!("{}: the tiles {} {message}", shader_use.label, path.display());
            entity.error(message).help(help)
        };
        let file = |column, row| tile(path, column, row);
        let found: Vec<(u32, u32)> = existing_tiles(path).collect();
        let bounds = |of: fn(&(u32, u32)) -> u32| {
            Some([found.iter().map(of).min()?, found.iter().map(of).max()?])
        };
        let (Some([left, right]), Some([bottom, top])) =
            (bounds(|tile| tile.0), bounds(|tile| tile.1))
        else {
            let help = "check the path, which is relative to the document: \
                tiles have numbers from 1001 to 1100";
            return Err(error("do not exist".into(), help));
        };
        let [columns, rows] = [right - left + 1, top - bottom + 1];
        let tiles = [left, bottom, columns, rows].map(f64::from);
        if let Some(image) = self.textures.cached_image(path, encoding) {
            return Ok(TiledImage { image, tiles });
        }
        let mut images = Vec::new();
        for &(column, row) in &found {
            let image = self.image(entity, &file(column, row), encoding)?;
            images.push(((column - left, top - row), image));
        }
        let size = |image: &Image| [image.width(), image.height()];
        let [width, height] = size(&images[0].1);
        if let Some((_, other)) = images.iter().find(|(_, image)| size(image) != [width, height]) {
            let [w, h] = size(other);
            let message = format!("have {width} × {height} and {w} × {h} pixels");
            return Err(error(message, "resize them to the same size"));
        }
        let pixels = [width, height, columns, rows].map(u64::from).iter().product::<u64>();
        if pixels > MAX_PIXELS {
            let message = format!("have {pixels} pixels with the gaps between them");
            return Err(error(message, "scale them down, or number them without gaps"));
        }
        let image = merged(&images, [width, height], [columns, rows]);
        Ok(TiledImage { image: self.textures.cache_image(path, encoding, image), tiles })
    }
}

/// Returns the file of a tile.
fn tile(path: &Path, column: u32, row: u32) -> PathBuf {
    let number = 1001 + column + COLUMNS * row;
    PathBuf::from(path.to_string_lossy().replace(TOKEN, &number.to_string()))
}

/// Iterates over the columns and rows of tiles that exist.
fn existing_tiles(path: &Path) -> impl Iterator<Item = (u32, u32)> {
    let all = (0..ROWS).flat_map(|row| (0..COLUMNS).map(move |column| (column, row)));
    all.filter(|&(column, row)| tile(path, column, row).exists())
}

/// Returns whether an image exists; for a name with `<UDIM>`, whether one of its tiles does.
pub fn image_exists(path: &Path) -> bool {
    match path.to_string_lossy().contains(TOKEN) {
        true => existing_tiles(path).next().is_some(),
        false => path.exists(),
    }
}

/// Places images of a size, by their columns and by their rows from the top.
fn merged(images: &[((u32, u32), Arc<Image>)], size: [u32; 2], tiles: [u32; 2]) -> Image {
    let all = images.iter().map(|(_, image)| image.channels());
    let channels = all.max_by_key(|&channels| channels as usize).expect("there are images");
    let count = channels as usize;
    let [width, height] = [size[0] * tiles[0], size[1] * tiles[1]];
    let mut samples = vec![0.0; width as usize * height as usize * count];
    for ((column, row), image) in images {
        for (y, x) in (0..size[1]).flat_map(|y| (0..size[0]).map(move |x| (y, x))) {
            let rgb = image.rgb(x, y).to_array();
            let opacity = match image.channels() {
                Channels::Rgba => image.float(x, y),
                Channels::Grey | Channels::Rgb => 1.0,
            };
            let [r, g, b] = rgb;
            let pixel =
                (row * size[1] + y) as usize * width as usize + (column * size[0] + x) as usize;
            samples[pixel * count..(pixel + 1) * count]
                .copy_from_slice(&[r, g, b, opacity][..count]);
        }
    }
    Image::from_f32(width, height, channels, samples)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_have_their_places() {
        let tile = |value: f32, channels: Channels| {
            Arc::new(Image::from_f32(2, 1, channels, vec![value; 2 * channels as usize]))
        };
        let images = [((0, 1), tile(0.25, Channels::Grey)), ((2, 0), tile(0.5, Channels::Rgba))];
        let image = merged(&images, [2, 1], [3, 2]);
        assert_eq!((image.width(), image.height(), image.channels()), (6, 2, Channels::Rgba));
        let at = |x, y| (image.rgb(x, y).x, image.float(x, y));
        assert_eq!([at(0, 1), at(1, 1)], [(0.25, 1.0); 2]);
        assert_eq!([at(4, 0), at(5, 0)], [(0.5, 0.5); 2]);
        assert_eq!([at(0, 0), at(2, 1)], [(0.0, 0.0); 2]);
    }

    #[test]
    fn images_exist_with_one_of_their_tiles() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a.png", "b.1042.png", "c.1101.png"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let exists = |name: &str| image_exists(&folder.path().join(name));
        assert!(exists("a.png") && exists("b.<UDIM>.png"));
        assert!(!exists("b.png") && !exists("c.<UDIM>.png") && !exists("a.<UDIM>.png"));
    }
}
