//! The exact film: every pixel keeps fixed-point sums of its samples.
//!
//! Integer addition is associative, so a pixel's sum is the same whatever the order of threads,
//! tiles, passes and resumed parts; only the conversion of each sample rounds, and that depends on
//! the sample alone. A sample belongs to one pixel (filter importance sampling, see
//! [`crate::filter`]), so tiles share nothing.

mod columns;
mod coverage;
mod fixed;
mod picture;
mod sums;

pub use columns::{Column, column_names};
pub use coverage::{Block, Coverage};
pub use picture::{CutImages, FeatureImages, NO_DEPTH, Picture, relative_noise};
pub use sums::{CutSample, Features, Sums};

use serde::{Deserialize, Serialize};
use std::sync::{Mutex, MutexGuard};

/// Side of a tile, pixels. 32² pixels times [`crate::render::PASS_SAMPLES`] make batches that fill
/// SIMD groups and stay in cache.
pub const TILE: u32 = 32;

/// A rectangle of pixels, the upper ends excluded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// First column.
    pub x0: u32,
    /// First row, counted from the top.
    pub y0: u32,
    /// End of the columns.
    pub x1: u32,
    /// End of the rows.
    pub y1: u32,
}

impl Window {
    /// Columns.
    pub fn width(&self) -> u32 {
        self.x1 - self.x0
    }

    /// Rows.
    pub fn height(&self) -> u32 {
        self.y1 - self.y0
    }

    /// The place of a pixel of the window among all of it, row by row.
    pub fn index(&self, x: u32, y: u32) -> usize {
        (y - self.y0) as usize * self.width() as usize + (x - self.x0) as usize
    }

    /// The pixels that both have; `None` where there are none.
    pub fn intersection(self, other: Window) -> Option<Window> {
        let (x0, y0) = (self.x0.max(other.x0), self.y0.max(other.y0));
        let (x1, y1) = (self.x1.min(other.x1), self.y1.min(other.y1));
        (x0 < x1 && y0 < y1).then_some(Window { x0, y0, x1, y1 })
    }

    /// The smallest window that holds both.
    pub fn hull(self, other: Window) -> Window {
        let (x0, y0) = (self.x0.min(other.x0), self.y0.min(other.y0));
        Window { x0, y0, x1: self.x1.max(other.x1), y1: self.y1.max(other.y1) }
    }

    /// All pixels, row by row.
    pub fn pixels(self) -> impl Iterator<Item = (u32, u32)> {
        (self.y0..self.y1).flat_map(move |y| (self.x0..self.x1).map(move |x| (x, y)))
    }
}

/// What a film keeps of its samples, besides the radiance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilmOptions {
    /// Features for denoisers: 96 bytes per pixel.
    pub features: bool,
    /// Sums of squares, for [`Picture::variance`]: 48 bytes per pixel.
    pub moments: bool,
    /// What cuts through trees of lights took: 48 bytes per pixel.
    #[serde(default)]
    pub cuts: bool,
}

/// A part of the film.
#[derive(Debug)]
pub struct Tile {
    window: Window,
    options: FilmOptions,
    sums: Mutex<Sums>,
}

impl Tile {
    /// The pixels of the tile, in image coordinates.
    pub fn window(&self) -> Window {
        self.window
    }

    /// Whether features are wanted at all.
    pub fn wants_features(&self) -> bool {
        self.options.features
    }

    /// Whether [`CutSample`]s are wanted at all.
    pub fn wants_cuts(&self) -> bool {
        self.options.cuts
    }

    /// The sums, for as long as samples are added. Several threads may work for a tile; exact sums
    /// do not mind the order.
    pub fn lock(&self) -> MutexGuard<'_, Sums> {
        self.sums.lock().expect("no thread panics while it adds samples")
    }
}

/// A picture in the making.
#[derive(Debug)]
pub struct Film {
    window: Window,
    options: FilmOptions,
    tiles: Vec<Tile>,
    /// Odd samples of parts that were added.
    invalid: u64,
}

impl Film {
    /// An empty film over `window`.
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
        Film { window, options, tiles, invalid: 0 }
    }

    /// The pixels, within the whole image.
    pub fn window(&self) -> Window {
        self.window
    }

    /// What is kept of samples.
    pub fn options(&self) -> FilmOptions {
        self.options
    }

    /// The tiles, row by row.
    pub fn tiles(&self) -> &[Tile] {
        &self.tiles
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Vec3;

    const EVERYTHING: FilmOptions = FilmOptions { features: true, moments: true, cuts: true };

    #[test]
    fn sums_do_not_depend_on_order() {
        let samples: Vec<f32> =
            (0..1000).map(|i| 10f32.powf((i * 37 % 100) as f32 / 10.0 - 6.0)).collect();
        let render = |order: &mut dyn Iterator<Item = usize>| {
            let film = Film::new(Window { x0: 3, y0: 5, x1: 4, y1: 6 }, EVERYTHING);
            for i in order {
                film.tiles()[0].lock().add_radiance(3, 5, 0, Vec3::splat(samples[i]));
            }
            let picture = film.picture();
            [picture.radiance[0], picture.variance.unwrap()[0]].map(|v| v.map(f32::to_bits))
        };
        assert_eq!(render(&mut (0..1000)), render(&mut (0..1000).rev()));
        assert_eq!(render(&mut (0..1000)), render(&mut (0..1000).map(|i| i * 7 % 1000)));
    }

    #[test]
    fn odd_samples_are_counted_not_spread() {
        let film = Film::new(Window { x0: 0, y0: 0, x1: 1, y1: 1 }, EVERYTHING);
        let mut tile = film.tiles()[0].lock();
        tile.add_radiance(0, 0, 0, Vec3::new(f32::NAN, 1.0, 1.0));
        tile.add_radiance(0, 0, 0, Vec3::splat(f32::MAX));
        tile.add_radiance(0, 0, 0, Vec3::ONE);
        drop(tile);
        let picture = film.picture();
        assert_eq!((picture.invalid_samples, picture.max_samples), (2, 3));
        assert!(picture.radiance[0][0] > 1e11);
        assert_eq!(picture.variance.unwrap()[0], [f32::INFINITY; 3]);
        assert_eq!(picture.features.unwrap().depth[0], NO_DEPTH);
    }

    #[test]
    fn samples_that_are_left_out_count_as_black_in_the_variance() {
        let film = Film::new(Window { x0: 0, y0: 0, x1: 1, y1: 1 }, EVERYTHING);
        let mut tile = film.tiles()[0].lock();
        for radiance in [Vec3::NAN, Vec3::new(2.0, 4.0, -6.0)] {
            tile.add_radiance(0, 0, 0, radiance);
        }
        drop(tile);
        // Means 1, 2 and −3, half of the difference squared.
        assert_eq!(film.picture().variance.unwrap(), [[1.0, 4.0, 9.0]]);
    }

    #[test]
    fn cuts_are_means_over_all_samples() {
        let film = Film::new(Window { x0: 0, y0: 0, x1: 2, y1: 1 }, EVERYTHING);
        let mut tile = film.tiles()[0].lock();
        for sample in 0..4 {
            tile.add_radiance(0, 0, sample, Vec3::ONE);
            tile.add_radiance(1, 0, sample, Vec3::ONE);
        }
        let cut = CutSample {
            cut_size: 3,
            bound_evaluations: u32::MAX,
            shadow_rays: 5,
            error_bound: 1e-6,
        };
        tile.add_cut(0, 0, &cut);
        tile.add_cut(
            0,
            0,
            &CutSample { cut_size: 8, bound_evaluations: 1, shadow_rays: 0, error_bound: 0.0 },
        );
        tile.add_cut(1, 0, &CutSample { error_bound: f32::NAN, ..cut });
        drop(tile);
        let cuts = film.picture().cuts.unwrap();
        assert_eq!(
            (&cuts.cut_size[..], &cuts.shadow_rays[..]),
            (&[2.75, 0.75][..], &[1.25, 1.25][..])
        );
        assert_eq!(cuts.bound_evaluations[0], 2f32.powi(30));
        assert_eq!(cuts.error_bound, [2.5e-7, f32::INFINITY]);
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
        let picture = film.picture();
        assert_eq!((picture.min_samples, picture.max_samples), (1, 1));
        for (i, (x, _)) in window.pixels().enumerate() {
            assert_eq!(picture.radiance[i][0], x as f32);
        }
    }
}
