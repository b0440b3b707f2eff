//! The film: every pixel keeps exact fixed-point sums of its samples.
//!
//! Integer addition is associative, so a pixel's sum does not depend on the order of threads,
//! tiles, passes and resumed parts. Only the conversion of a sample rounds, and it depends on that
//! sample alone. A sample belongs to one pixel (filter importance sampling, see [`crate::filter`]),
//! so tiles share no data.

mod channels;
mod columns;
mod components;
mod coverage;
mod fixed;
pub mod layers;
mod mattes;
mod options;
mod rendered_image;
mod sums;

pub use channels::{ChannelEncoding, ChannelSpec, ChannelValue};
pub use columns::{Column, column_names, is_exact_sum};
pub use components::{Component, ComponentLayers, ComponentValues, MAX_LIGHT_GROUPS};
pub use coverage::{Coverage, PixelBlock};
pub use mattes::{MatteKind, MatteNames, RANKS};
pub use options::{FeatureLayers, FilmOptions};
pub use rendered_image::{
    ChannelImage, ComponentImage, FeatureImages, NO_DEPTH, RenderedImage, relative_noise,
};
pub use sums::{Features, Sums};

use lightbound_image::Window;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard};

/// Width and height of a tile, pixels. 32² pixels times [`crate::render::PASS_SAMPLES`] make
/// batches that fill SIMD groups and stay in cache.
pub const TILE: u32 = 32;

/// A rectangle of the film with its own lock.
#[derive(Debug)]
pub struct Tile {
    window: Window,
    options: FilmOptions,
    sums: Mutex<Sums>,
}

impl Tile {
    /// Returns the pixels of the tile, in image coordinates.
    pub fn window(&self) -> Window {
        self.window
    }

    /// Returns the features that the film stores.
    pub fn features(&self) -> FeatureLayers {
        self.options.features
    }

    /// Returns the components of radiance that the film stores.
    pub fn components(&self) -> ComponentLayers {
        self.options.components
    }

    /// Returns whether the film stores extra channels.
    pub fn stores_channels(&self) -> bool {
        !self.options.channels.is_empty()
    }

    /// Locks the sums to add samples. Several threads may add to a tile; exact sums do not depend
    /// on their order.
    pub fn lock(&self) -> MutexGuard<'_, Sums> {
        self.sums.lock().expect("no thread panics while it adds samples")
    }
}

/// The exact sums of an image.
#[derive(Debug)]
pub struct Film {
    window: Window,
    options: FilmOptions,
    tiles: Vec<Tile>,
    /// Number of invalid samples of merged parts.
    invalid: u64,
    /// Number of their samples with clamped features.
    clamped_features: u64,
}

impl Film {
    /// Creates a film over `window` without samples.
    pub fn new(window: Window, options: FilmOptions) -> Film {
        let starts = |a: u32, b: u32| (a..b).step_by(TILE as usize);
        let tiles = starts(window.y0, window.y1)
            .flat_map(|y0| starts(window.x0, window.x1).map(move |x0| (x0, y0)))
            .map(|(x0, y0)| Window {
                x0,
                y0,
                x1: (x0 + TILE).min(window.x1),
                y1: (y0 + TILE).min(window.y1),
            })
            .map(|window| Tile { window, options, sums: Mutex::new(Sums::new(window, options)) })
            .collect();
        Film { window, options, tiles, invalid: 0, clamped_features: 0 }
    }

    /// Returns the pixels of the film, within the full image.
    pub fn window(&self) -> Window {
        self.window
    }

    /// Returns what the film stores besides radiance.
    pub fn options(&self) -> FilmOptions {
        self.options
    }

    /// Returns the tiles, row by row.
    pub fn tiles(&self) -> &[Tile] {
        &self.tiles
    }

    /// Returns the number of samples that were not finite or beyond ±2³⁹.
    pub fn invalid_samples(&self) -> u64 {
        self.tiles.iter().map(|tile| tile.lock().invalid).fold(self.invalid, u64::saturating_add)
    }

    /// Returns the number of samples with a feature that was NaN or beyond the film's range.
    pub fn clamped_features(&self) -> u64 {
        let counts = self.tiles.iter().map(|tile| tile.lock().clamped_features);
        counts.fold(self.clamped_features, u64::saturating_add)
    }

    /// Adds to [`Film::invalid_samples`] and [`Film::clamped_features`], for sums that
    /// [`Film::add_columns`] adds.
    pub fn add_out_of_range(&mut self, invalid_samples: u64, clamped_features: u64) {
        self.invalid = self.invalid.saturating_add(invalid_samples);
        self.clamped_features = self.clamped_features.saturating_add(clamped_features);
    }

    /// Returns the minimum and the maximum number of samples of a pixel.
    pub fn sample_counts(&self) -> (u32, u32) {
        self.tiles.iter().fold((u32::MAX, 0), |(min, max), tile| {
            let samples = &tile.lock().samples;
            let [low, high] = [samples.iter().min(), samples.iter().max()];
            (low.map_or(min, |&n| min.min(n)), high.map_or(max, |&n| max.max(n)))
        })
    }

    /// Returns the maximum number of ids of a pixel in each kind of mattes.
    pub fn matte_lengths(&self) -> [usize; 2] {
        self.tiles.iter().fold([0; 2], |lengths, tile| {
            let sums = tile.lock();
            [0, 1].map(|kind| lengths[kind].max(sums.features.mattes[kind].max_len()))
        })
    }

    /// Returns the pixels of the given rows, counted from the first row of the film.
    fn rows(&self, rows: Range<u32>) -> Window {
        assert!(rows.start <= rows.end && rows.end <= self.window.height(), "no rows {rows:?}");
        Window { y0: self.window.y0 + rows.start, y1: self.window.y0 + rows.end, ..self.window }
    }

    /// Returns the tiles that overlap `window`, and the common pixels.
    fn tiles_in(&self, window: Window) -> impl Iterator<Item = (&Tile, Window)> {
        let columns = self.window.width().div_ceil(TILE) as usize;
        let rows = window.intersection(self.window).map_or(0..0, |common| {
            (common.y0 - self.window.y0) / TILE..(common.y1 - self.window.y0).div_ceil(TILE)
        });
        let tiles = &self.tiles[rows.start as usize * columns..rows.end as usize * columns];
        tiles.iter().filter_map(move |tile| Some((tile, tile.window.intersection(window)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lightbound_math::Vec3;

    const CHANNELS: &[ChannelSpec] = &[
        ChannelSpec { layer: "steps", sum: "steps", encoding: ChannelEncoding::Count },
        ChannelSpec { layer: "error", sum: "error", encoding: ChannelEncoding::FixedPoint },
    ];
    const ALL_OPTIONS: FilmOptions = FilmOptions {
        features: FeatureLayers::ALL,
        moments: true,
        channels: CHANNELS,
        components: ComponentLayers::all(2),
    };

    #[test]
    fn sums_do_not_depend_on_order() {
        let samples: Vec<f32> =
            (0..1000).map(|i| 10f32.powf((i * 37 % 100) as f32 / 10.0 - 6.0)).collect();
        let render = |order: &mut dyn Iterator<Item = usize>| {
            let film = Film::new(Window { x0: 3, y0: 5, x1: 4, y1: 6 }, ALL_OPTIONS);
            for i in order {
                film.tiles()[0].lock().add_radiance(3, 5, 0, Vec3::splat(samples[i]));
            }
            let image = film.image();
            [image.radiance[0], image.variance.unwrap()[0]].map(|v| v.map(f32::to_bits))
        };
        assert_eq!(render(&mut (0..1000)), render(&mut (0..1000).rev()));
        assert_eq!(render(&mut (0..1000)), render(&mut (0..1000).map(|i| i * 7 % 1000)));
    }

    #[test]
    fn invalid_samples_are_counted_and_do_not_spread() {
        let film = Film::new(Window { x0: 0, y0: 0, x1: 1, y1: 1 }, ALL_OPTIONS);
        let mut tile = film.tiles()[0].lock();
        tile.add_radiance(0, 0, 0, Vec3::new(f32::NAN, 1.0, 1.0));
        tile.add_radiance(0, 0, 0, Vec3::splat(f32::MAX));
        tile.add_radiance(0, 0, 0, Vec3::ONE);
        drop(tile);
        let image = film.image();
        assert_eq!((image.invalid_samples, image.max_samples), (2, 3));
        assert!(image.radiance[0][0] > 1e11);
        assert_eq!(image.variance.unwrap()[0], [f32::INFINITY; 3]);
        assert_eq!(image.features.unwrap().depth[0], NO_DEPTH);
    }

    #[test]
    fn discarded_samples_count_as_black_in_the_variance() {
        let film = Film::new(Window { x0: 0, y0: 0, x1: 1, y1: 1 }, ALL_OPTIONS);
        let mut tile = film.tiles()[0].lock();
        for radiance in [Vec3::NAN, Vec3::new(2.0, 4.0, -6.0)] {
            tile.add_radiance(0, 0, 0, radiance);
        }
        drop(tile);
        // Means 1, 2 and −3; the variance is half of the squared difference.
        assert_eq!(film.image().variance.unwrap(), [[1.0, 4.0, 9.0]]);
    }

    #[test]
    fn channels_are_means_over_all_samples() {
        let film = Film::new(Window { x0: 0, y0: 0, x1: 2, y1: 1 }, ALL_OPTIONS);
        let mut tile = film.tiles()[0].lock();
        for sample in 0..4 {
            tile.add_radiance(0, 0, sample, Vec3::ONE);
            tile.add_radiance(1, 0, sample, Vec3::ONE);
        }
        let values = |steps, error| [ChannelValue::Count(steps), ChannelValue::Real(error)];
        tile.add_channels(0, 0, &values(u32::MAX, 1e-6));
        tile.add_channels(0, 0, &values(1, 0.0));
        tile.add_channels(1, 0, &values(3, f32::NAN));
        drop(tile);
        let image = film.image();
        assert_eq!(image.channel("steps").unwrap(), [2f32.powi(30), 0.75]);
        assert_eq!(image.channel("error").unwrap(), [2.5e-7, f32::INFINITY]);
        assert!(image.channel("depth").is_none());
    }

    #[test]
    fn tiles_cover_the_window_once() {
        let window = Window { x0: 5, y0: 7, x1: 5 + 3 * TILE + 1, y1: 8 };
        let film = Film::new(window, FilmOptions::default());
        for tile in film.tiles() {
            let mut sums = tile.lock();
            for (x, y) in tile.window().pixels() {
                sums.add_radiance(x, y, 0, Vec3::splat(x as f32));
            }
        }
        let image = film.image();
        assert_eq!((image.min_samples, image.max_samples), (1, 1));
        for (i, (x, _)) in window.pixels().enumerate() {
            assert_eq!(image.radiance[i][0], x as f32);
        }
    }
}
