//! The exact film: every pixel keeps fixed-point sums of its samples.
//!
//! Integer addition is associative, so a pixel's sum is the same whatever the order of threads, tiles, passes and resumed parts;
//! only the conversion of each sample rounds, and that depends on the sample alone. A sample belongs to one pixel (filter
//! importance sampling, see [`crate::filter`]), so tiles share nothing.

use crate::math::Vec3;
use std::sync::{Mutex, MutexGuard};

/// Side of a tile, pixels. 32² pixels times [`crate::render::PASS_SAMPLES`] make batches that fill SIMD groups and stay in cache.
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

    /// All pixels, row by row.
    pub fn pixels(self) -> impl Iterator<Item = (u32, u32)> {
        (self.y0..self.y1).flat_map(move |y| (self.x0..self.x1).map(move |x| (x, y)))
    }
}

/// Fraction bits of radiance sums: a quantum of 1.4·10⁻¹⁷.
const RADIANCE_BITS: i32 = 56;
/// Largest radiance that is kept, 2³⁹: 2³² such samples still fit a sum.
const RADIANCE_LIMIT: f32 = (1u64 << 39) as f32;
/// Fraction bits of feature sums: a quantum of 6·10⁻⁸.
const FEATURE_BITS: i32 = 24;
/// Largest feature value that is kept, 2²².
const FEATURE_LIMIT: f32 = (1 << 22) as f32;
/// Samples per pixel that contribute to features; more would add cost, not quality, and could overflow.
const FEATURE_SAMPLES: u32 = 1 << 16;

/// `x · 2^bits`, rounded to nearest with ties away from zero. `x` is finite and the result fits.
fn fixed(x: f32, bits: i32) -> i128 {
    let raw = x.to_bits();
    let exponent = (raw >> 23 & 0xff) as i32;
    let mantissa = ((raw & 0x7f_ffff) | if exponent > 0 { 0x80_0000 } else { 0 }) as i128;
    let shift = exponent.max(1) - 150 + bits;
    let magnitude = match shift {
        0.. => mantissa << shift,
        -25..=-1 => (mantissa + (1 << (-shift - 1))) >> -shift,
        _ => 0,
    };
    if x.is_sign_negative() { -magnitude } else { magnitude }
}

/// What the camera sees first, for denoisers and compositing.
#[derive(Clone, Copy, Debug)]
pub struct Features {
    /// Weight of the direction in which the path goes on, which may pass 1; its mean is the directional albedo.
    pub albedo: Vec3,
    /// Shading normal in world space, unit.
    pub normal: Vec3,
    /// Position in world space.
    pub position: Vec3,
    /// Distance along the viewing axis.
    pub depth: f32,
    /// Material, counted from 1.
    pub material: u32,
    /// Object, counted from 1.
    pub object: u32,
}

#[derive(Clone, Debug, Default)]
struct Radiance {
    sum: [i128; 3],
    samples: u32,
}

#[derive(Clone, Debug, Default)]
struct FeatureSum {
    albedo: [i64; 3],
    normal: [i64; 3],
    position: [i64; 3],
    depth: i64,
    /// Samples that hit anything.
    hits: u32,
    /// Ids seen by the pixel's first sample; 0 where it saw nothing.
    material: u32,
    object: u32,
}

/// A part of the film.
#[derive(Debug)]
pub struct Tile {
    window: Window,
    features: bool,
    sums: Mutex<Sums>,
}

impl Tile {
    /// The pixels of the tile, in image coordinates.
    pub fn window(&self) -> Window {
        self.window
    }

    /// Whether features are wanted at all.
    pub fn wants_features(&self) -> bool {
        self.features
    }

    /// The sums, for as long as samples are added. Several threads may work for a tile; exact sums do not mind the order.
    pub fn lock(&self) -> MutexGuard<'_, Sums> {
        self.sums.lock().expect("no thread panics while it adds samples")
    }
}

/// The sums of one tile's pixels.
#[derive(Debug)]
pub struct Sums {
    window: Window,
    radiance: Vec<Radiance>,
    features: Vec<FeatureSum>,
    /// Samples that were not finite (left out) or beyond the range (kept at its end).
    invalid: u64,
}

impl Sums {
    fn index(&self, x: u32, y: u32) -> usize {
        ((y - self.window.y0) * self.window.width() + (x - self.window.x0)) as usize
    }

    /// Adds one sample of pixel (x, y): radiance times filter weight, W·sr⁻¹·m⁻².
    pub fn add_radiance(&mut self, x: u32, y: u32, radiance: Vec3) {
        let i = self.index(x, y);
        let pixel = &mut self.radiance[i];
        pixel.samples += 1;
        if !radiance.is_finite() {
            self.invalid += 1;
            return;
        }
        if radiance.abs().max_element() > RADIANCE_LIMIT {
            self.invalid += 1;
        }
        let kept = radiance.clamp(Vec3::splat(-RADIANCE_LIMIT), Vec3::splat(RADIANCE_LIMIT));
        for (sum, x) in pixel.sum.iter_mut().zip(kept.to_array()) {
            *sum += fixed(x, RADIANCE_BITS);
        }
    }

    /// Adds what sample number `sample` of pixel (x, y) saw first. Albedo and normal are weighted by the filter; position and
    /// depth are plain means over the samples that hit.
    pub fn add_features(&mut self, x: u32, y: u32, sample: u32, weight: f32, seen: &Features) {
        if sample >= FEATURE_SAMPLES {
            return;
        }
        let i = self.index(x, y);
        let f = &mut self.features[i];
        let add = |sum: &mut i64, x: f32| {
            let x = if x.is_nan() { 0.0 } else { x.clamp(-FEATURE_LIMIT, FEATURE_LIMIT) };
            *sum += fixed(x, FEATURE_BITS) as i64;
        };
        for axis in 0..3 {
            add(&mut f.albedo[axis], weight * seen.albedo[axis]);
            add(&mut f.normal[axis], weight * seen.normal[axis]);
            add(&mut f.position[axis], seen.position[axis]);
        }
        add(&mut f.depth, seen.depth);
        f.hits += 1;
        if sample == 0 {
            (f.material, f.object) = (seen.material, seen.object);
        }
    }
}

/// A picture in the making.
#[derive(Debug)]
pub struct Film {
    window: Window,
    tiles: Vec<Tile>,
}

/// Depth where no surface was seen, the value that compositors expect.
pub const NO_DEPTH: f32 = 1e10;

/// Mean features of a picture, row by row.
#[derive(Debug, Default)]
pub struct FeatureImages {
    /// Directional albedo, estimated.
    pub albedo: Vec<[f32; 3]>,
    /// Mean shading normal, world space; shorter than 1 where normals differ within the pixel.
    pub normal: Vec<[f32; 3]>,
    /// Mean position, world space; 0 where nothing was seen.
    pub position: Vec<[f32; 3]>,
    /// Mean depth; [`NO_DEPTH`] where nothing was seen.
    pub depth: Vec<f32>,
    /// Material of the first sample, counted from 1; 0 where nothing was seen.
    pub material: Vec<u32>,
    /// Object of the first sample, counted from 1; 0 where nothing was seen.
    pub object: Vec<u32>,
}

/// A finished picture: the means of all samples.
#[derive(Debug)]
pub struct Picture {
    /// The pixels that were rendered, within the whole image.
    pub window: Window,
    /// Mean radiance, linear sRGB, row by row.
    pub radiance: Vec<[f32; 3]>,
    /// Features, where they were asked for.
    pub features: Option<FeatureImages>,
    /// Fewest samples of any pixel.
    pub min_samples: u32,
    /// Most samples of any pixel.
    pub max_samples: u32,
    /// Samples that were not finite or beyond 2³⁹.
    pub invalid_samples: u64,
}

impl Film {
    /// An empty film over `window`.
    pub fn new(window: Window, features: bool) -> Film {
        let starts = |a: u32, b: u32| (a..b).step_by(TILE as usize);
        let tiles = starts(window.y0, window.y1)
            .flat_map(|y0| starts(window.x0, window.x1).map(move |x0| (x0, y0)))
            .map(|(x0, y0)| {
                let tile = Window { x0, y0, x1: (x0 + TILE).min(window.x1), y1: (y0 + TILE).min(window.y1) };
                let n = (tile.width() * tile.height()) as usize;
                let sums = Sums {
                    window: tile,
                    radiance: vec![Radiance::default(); n],
                    features: if features { vec![FeatureSum::default(); n] } else { Vec::new() },
                    invalid: 0,
                };
                Tile { window: tile, features, sums: Mutex::new(sums) }
            })
            .collect();
        Film { window, tiles }
    }

    /// The tiles.
    pub fn tiles(&self) -> &[Tile] {
        &self.tiles
    }

    /// The means so far. Pixels without any sample are black.
    pub fn picture(&self) -> Picture {
        let window = self.window;
        let n = window.width() as usize * window.height() as usize;
        let with_features = self.tiles.first().is_some_and(Tile::wants_features);
        let mut picture = Picture {
            window,
            radiance: vec![[0.0; 3]; n],
            features: with_features.then(|| FeatureImages {
                albedo: vec![[0.0; 3]; n],
                normal: vec![[0.0; 3]; n],
                position: vec![[0.0; 3]; n],
                depth: vec![NO_DEPTH; n],
                material: vec![0; n],
                object: vec![0; n],
            }),
            min_samples: u32::MAX,
            max_samples: 0,
            invalid_samples: 0,
        };
        for tile in &self.tiles {
            let tile = tile.lock();
            picture.invalid_samples += tile.invalid;
            for (i, (x, y)) in tile.window.pixels().enumerate() {
                let at = ((y - window.y0) * window.width() + (x - window.x0)) as usize;
                let pixel = &tile.radiance[i];
                picture.min_samples = picture.min_samples.min(pixel.samples);
                picture.max_samples = picture.max_samples.max(pixel.samples);
                picture.radiance[at] = pixel.sum.map(|s| mean(s, RADIANCE_BITS, pixel.samples));
                if let (Some(out), Some(f)) = (&mut picture.features, tile.features.get(i)) {
                    let samples = pixel.samples.min(FEATURE_SAMPLES);
                    out.albedo[at] = f.albedo.map(|s| mean(s.into(), FEATURE_BITS, samples));
                    out.normal[at] = f.normal.map(|s| mean(s.into(), FEATURE_BITS, samples));
                    if f.hits > 0 {
                        out.position[at] = f.position.map(|s| mean(s.into(), FEATURE_BITS, f.hits));
                        out.depth[at] = mean(f.depth.into(), FEATURE_BITS, f.hits);
                    }
                    (out.material[at], out.object[at]) = (f.material, f.object);
                }
            }
        }
        picture.min_samples = picture.min_samples.min(picture.max_samples);
        picture
    }
}

/// `sum / 2^bits / samples`, rounded in double precision and then once to single.
fn mean(sum: i128, bits: i32, samples: u32) -> f32 {
    (sum as f64 / (1u64 << bits) as f64 / f64::from(samples.max(1))) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_point_is_exact_where_it_can_be() {
        let exact = [0.0, 1.0, -1.0, 0.1, 3.25e10, -7.5e-3, 2f32.powi(-30), RADIANCE_LIMIT, -RADIANCE_LIMIT];
        for x in exact {
            assert_eq!(fixed(x, RADIANCE_BITS), (f64::from(x) * 2f64.powi(RADIANCE_BITS)) as i128, "{x}");
        }
        let quantum = 2f32.powi(-RADIANCE_BITS);
        assert_eq!(fixed(0.5 * quantum, RADIANCE_BITS), 1);
        assert_eq!(fixed(-0.5 * quantum, RADIANCE_BITS), -1);
        assert_eq!(fixed(0.49 * quantum, RADIANCE_BITS), 0);
        assert_eq!(fixed(f32::MIN_POSITIVE / 8.0, RADIANCE_BITS), 0);
    }

    #[test]
    fn sums_do_not_depend_on_order() {
        let samples: Vec<f32> = (0..1000).map(|i| 10f32.powf((i * 37 % 100) as f32 / 10.0 - 6.0)).collect();
        let render = |order: &mut dyn Iterator<Item = usize>| {
            let film = Film::new(Window { x0: 3, y0: 5, x1: 4, y1: 6 }, false);
            for i in order {
                film.tiles()[0].lock().add_radiance(3, 5, Vec3::splat(samples[i]));
            }
            film.picture().radiance[0].map(f32::to_bits)
        };
        assert_eq!(render(&mut (0..1000)), render(&mut (0..1000).rev()));
        assert_eq!(render(&mut (0..1000)), render(&mut (0..1000).map(|i| i * 7 % 1000)));
    }

    #[test]
    fn odd_samples_are_counted_not_spread() {
        let film = Film::new(Window { x0: 0, y0: 0, x1: 1, y1: 1 }, true);
        let mut tile = film.tiles()[0].lock();
        tile.add_radiance(0, 0, Vec3::new(f32::NAN, 1.0, 1.0));
        tile.add_radiance(0, 0, Vec3::splat(f32::MAX));
        tile.add_radiance(0, 0, Vec3::ONE);
        drop(tile);
        let picture = film.picture();
        assert_eq!((picture.invalid_samples, picture.max_samples), (2, 3));
        assert!(picture.radiance[0][0] > 1e11);
        assert_eq!(picture.features.unwrap().depth[0], NO_DEPTH);
    }

    #[test]
    fn tiles_cover_the_window_once() {
        let window = Window { x0: 5, y0: 7, x1: 5 + 3 * TILE + 1, y1: 8 };
        let film = Film::new(window, false);
        for tile in film.tiles() {
            let mut sums = tile.lock();
            for (x, y) in tile.window().pixels() {
                sums.add_radiance(x, y, Vec3::splat(x as f32));
            }
        }
        let picture = film.picture();
        assert_eq!((picture.min_samples, picture.max_samples), (1, 1));
        for (i, (x, _)) in window.pixels().enumerate() {
            assert_eq!(picture.radiance[i][0], x as f32);
        }
    }
}
