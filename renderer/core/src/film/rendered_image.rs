//! Rendered images: the means of a film's sums.

use super::fixed::{FEATURE_BITS, RADIANCE_BITS, mean, variance_of_mean};
use super::mattes::ranks;
use super::sums::FeatureSums;
use super::{
    Component, FeatureLayers, Film, FilmOptions, MatteKind, MatteNames, RANKS, TILE, Tile,
};
use lightbound_image::Window;
use lightbound_image::compare::errors::EPSILON;
use std::ops::Range;

/// Depth of pixels without hits, as compositors expect it.
pub const NO_DEPTH: f32 = 1e10;

/// Mean features of a rendered image, row by row. Features that the film does not store are empty.
#[derive(Debug, Default)]
pub struct FeatureImages {
    /// Estimated directional albedo.
    pub albedo: Vec<[f32; 3]>,
    /// Mean shading normal, world space; shorter than 1 if normals differ within the pixel.
    pub normal: Vec<[f32; 3]>,
    /// Mean position, world space; 0 without hits.
    pub position: Vec<[f32; 3]>,
    /// Mean depth; [`NO_DEPTH`] without hits.
    pub depth: Vec<f32>,
    /// Mean geometric normal, world space; shorter than 1 if normals differ within the pixel.
    pub geometric_normal: Vec<[f32; 3]>,
    /// Mean texture coordinates; 0 without hits.
    pub uv: Vec<[f32; 2]>,
    /// Mean displacement in the image from the opening to the closing of the shutter, pixels to the
    /// right and upwards; 0 without hits.
    pub motion: Vec<[f32; 2]>,
    /// Mean change of the depth per pixel to the right and downwards; 0 without hits.
    pub depth_gradient: Vec<[f32; 2]>,
    /// Material id at the first sample's hit, from 1; 0 if it missed.
    pub material: Vec<u32>,
    /// Object id at the first sample's hit, from 1; 0 if it missed.
    pub object: Vec<u32>,
}

impl FeatureImages {
    fn empty(layers: FeatureLayers, n: usize) -> FeatureImages {
        let size = |is_stored| if is_stored { n } else { 0 };
        FeatureImages {
            albedo: vec![[0.0; 3]; size(layers.albedo)],
            normal: vec![[0.0; 3]; size(layers.normal)],
            position: vec![[0.0; 3]; size(layers.position)],
            depth: vec![NO_DEPTH; size(layers.depth)],
            geometric_normal: vec![[0.0; 3]; size(layers.geometric_normal)],
            uv: vec![[0.0; 2]; size(layers.uv)],
            motion: vec![[0.0; 2]; size(layers.motion)],
            depth_gradient: vec![[0.0; 2]; size(layers.depth_gradient)],
            material: vec![0; size(layers.material)],
            object: vec![0; size(layers.object)],
        }
    }
}

impl FeatureImages {
    /// Sets pixel `index` to the means of pixel `i` of a tile.
    fn set(&mut self, index: usize, sums: &FeatureSums, i: usize) {
        let samples = sums.samples.get(i).copied().unwrap_or(0);
        for (out, sums) in [
            (&mut self.albedo, &sums.albedo),
            (&mut self.normal, &sums.normal),
            (&mut self.geometric_normal, &sums.geometric_normal),
        ] {
            if let (Some(out), Some(sum)) = (out.get_mut(index), sums.get(i)) {
                *out = sum.map(|s| mean(s.into(), FEATURE_BITS, samples));
            }
        }
        if let Some(&hits) = sums.hits.get(i).filter(|&&hits| hits > 0) {
            if let (Some(out), Some(sum)) = (self.position.get_mut(index), sums.position.get(i)) {
                *out = sum.map(|s| mean(s, FEATURE_BITS, hits));
            }
            if let (Some(out), Some(&sum)) = (self.depth.get_mut(index), sums.depth.get(i)) {
                *out = mean(sum, FEATURE_BITS, hits);
            }
            for (out, sums) in [
                (&mut self.uv, &sums.uv),
                (&mut self.motion, &sums.motion),
                (&mut self.depth_gradient, &sums.depth_gradient),
            ] {
                if let (Some(out), Some(sum)) = (out.get_mut(index), sums.get(i)) {
                    *out = sum.map(|s| mean(s, FEATURE_BITS, hits));
                }
            }
        }
        for (out, ids) in [(&mut self.material, &sums.material), (&mut self.object, &sums.object)] {
            if let (Some(out), Some(&id)) = (out.get_mut(index), ids.get(i)) {
                *out = id;
            }
        }
    }
}

/// An extra channel of a rendered image.
#[derive(Debug)]
pub struct ChannelImage {
    /// Name of the EXR layer.
    pub layer: &'static str,
    /// Means over all samples of a pixel, row by row.
    pub values: Vec<f32>,
}

/// A component of the radiance of a rendered image.
#[derive(Debug)]
pub struct ComponentImage {
    /// The component.
    pub component: Component,
    /// Mean radiance, row by row, as in [`RenderedImage::radiance`].
    pub radiance: Vec<[f32; 3]>,
}

/// A rendered image: the means of all samples.
#[derive(Debug)]
pub struct RenderedImage {
    /// The rendered pixels, within the full image.
    pub window: Window,
    /// Mean radiance in the colour space of the settings, row by row.
    pub radiance: Vec<[f32; 3]>,
    /// Variance of the mean radiance for each pixel and channel, if the film stores moments.
    /// Infinite if unknown, for example with a single sample.
    ///
    /// The estimate assumes independent samples. Owen-scrambled Sobol' points are better
    /// stratified, so for them the estimate is too high, often by a large factor in smooth regions.
    pub variance: Option<Vec<[f32; 3]>>,
    /// Features, if the film stores any.
    pub features: Option<FeatureImages>,
    /// Extra channels of the integrator, if the film stores them.
    pub channels: Vec<ChannelImage>,
    /// Components of the radiance, if the film stores them.
    pub components: Vec<ComponentImage>,
    /// Minimum number of samples of a pixel.
    pub min_samples: u32,
    /// Maximum number of samples of a pixel.
    pub max_samples: u32,
    /// Number of samples that were not finite or beyond ±2³⁹.
    pub invalid_samples: u64,
    /// Number of samples with a feature that was NaN or beyond the film's range: ±2²² for albedo
    /// and normals, ±2⁸⁶ for the others.
    pub clamped_features: u64,
}

/// Estimates the square root of an image's relMSE: the mean over pixels and channels of variance /
/// (mean² + 0.01), as [`lightbound_image::compare`] defines it. Infinite if a variance is infinite
/// or not stored.
pub fn relative_noise(image: &RenderedImage) -> f64 {
    let Some(variance) = &image.variance else { return f64::INFINITY };
    let sum: f64 = noise_terms(&image.radiance, variance).sum();
    (sum / (3 * variance.len()) as f64).sqrt()
}

/// Returns variance / (mean² + 0.01) of each pixel and channel.
fn noise_terms(radiance: &[[f32; 3]], variance: &[[f32; 3]]) -> impl Iterator<Item = f64> {
    let values = radiance.as_flattened().iter().zip(variance.as_flattened());
    values.map(|(&mean, &variance)| {
        f64::from(variance) / (f64::from(mean) * f64::from(mean) + EPSILON)
    })
}

impl RenderedImage {
    /// Returns the means of an extra channel, row by row, by the name of its layer; `None` if the
    /// film does not store it.
    pub fn channel(&self, layer: &str) -> Option<&[f32]> {
        let channel = self.channels.iter().find(|channel| channel.layer == layer)?;
        Some(&channel.values)
    }

    /// Returns a component of the radiance, row by row; `None` if the film does not store it.
    pub fn component(&self, component: Component) -> Option<&[[f32; 3]]> {
        let image = self.components.iter().find(|image| image.component == component)?;
        Some(&image.radiance)
    }
}

impl Tile {
    /// Computes the mean radiance of the samples so far, row by row; 0 without samples.
    pub fn radiance(&self) -> Vec<[f32; 3]> {
        let sums = self.lock();
        let pixels = sums.radiance.iter().zip(&sums.samples);
        pixels.map(|(sum, &samples)| sum.map(|s| mean(s, RADIANCE_BITS, samples))).collect()
    }
}

impl Film {
    /// Computes the means of the samples so far. Pixels without samples are black.
    pub fn image(&self) -> RenderedImage {
        RenderedImage {
            invalid_samples: self.invalid_samples(),
            clamped_features: self.clamped_features(),
            ..self.image_rows(0..self.window.height(), self.options)
        }
    }

    /// Computes the mean radiance of the given rows, counted from the first row of the film.
    ///
    /// # Panics
    /// If the film does not have these rows.
    pub fn radiance_rows(&self, rows: Range<u32>) -> Vec<[f32; 3]> {
        self.image_rows(rows, FilmOptions::default()).radiance
    }

    /// Like [`Film::image`], for the given rows, counted from the first row of the film, and with
    /// `layers` of what the film stores. Does not count invalid samples and clamped features.
    ///
    /// # Panics
    /// If the film does not have these rows.
    pub(super) fn image_rows(&self, rows: Range<u32>, layers: FilmOptions) -> RenderedImage {
        let window = self.rows(rows);
        let n = window.width() as usize * window.height() as usize;
        let FilmOptions { features, moments, channels, components } = layers;
        let mut image = RenderedImage {
            window,
            radiance: vec![[0.0; 3]; n],
            variance: moments.then(|| vec![[f32::INFINITY; 3]; n]),
            features: (!features.is_empty()).then(|| FeatureImages::empty(features, n)),
            channels: channels
                .iter()
                .map(|channel| ChannelImage { layer: channel.layer, values: vec![0.0; n] })
                .collect(),
            components: components
                .iter()
                .map(|component| ComponentImage { component, radiance: vec![[0.0; 3]; n] })
                .collect(),
            min_samples: u32::MAX,
            max_samples: 0,
            invalid_samples: 0,
            clamped_features: 0,
        };
        for (tile, common) in self.tiles_in(window) {
            let tile = tile.lock();
            for (x, y) in common.pixels() {
                let (i, index) = (tile.window.index(x, y), window.index(x, y));
                let (sum, samples) = (&tile.radiance[i], tile.samples[i]);
                image.min_samples = image.min_samples.min(samples);
                image.max_samples = image.max_samples.max(samples);
                image.radiance[index] = sum.map(|s| mean(s, RADIANCE_BITS, samples));
                if let (Some(out), Some(squares)) = (&mut image.variance, tile.squares.get(i)) {
                    out[index] = [0, 1, 2].map(|c| variance_of_mean(sum[c], squares[c], samples));
                }
                if let Some(out) = &mut image.features {
                    out.set(index, &tile.features, i);
                }
                for (out, sums) in image.channels.iter_mut().zip(&tile.channels) {
                    out.values[index] = sums.mean(i, samples);
                }
                for out in &mut image.components {
                    let sum = tile.components.sum(out.component, i, *sum);
                    out.radiance[index] = sum.map(|s| mean(s, RADIANCE_BITS, samples));
                }
            }
        }
        image.min_samples = image.min_samples.min(image.max_samples);
        image
    }

    /// Returns the mattes that the film stores, in the given rows: for each kind, the columns of
    /// hashes and of shares, rank by rank.
    pub(super) fn mattes(&self, rows: Range<u32>, names: &[MatteNames; 2]) -> Vec<Vec<Vec<f32>>> {
        let window = self.rows(rows);
        let n = window.width() as usize * window.height() as usize;
        let stored = (0..2).filter(|&k| self.options.features.has_matte(MatteKind::ALL[k]));
        stored
            .map(|kind| {
                let mut columns = vec![vec![0.0; n]; 2 * RANKS];
                for (tile, common) in self.tiles_in(window) {
                    let tile = tile.lock();
                    for (x, y) in common.pixels() {
                        let (i, index) = (tile.window.index(x, y), window.index(x, y));
                        let entries = tile.features.mattes[kind].entries(i);
                        let ranks = ranks(&entries, tile.features.samples[i], &names[kind]);
                        for (column, value) in columns.iter_mut().zip(ranks.as_flattened()) {
                            column[index] = *value;
                        }
                    }
                }
                columns
            })
            .collect()
    }

    /// Returns [`relative_noise`] of the image, without holding the whole image.
    pub fn relative_noise(&self) -> f64 {
        if !self.options.moments {
            return f64::INFINITY;
        }
        let height = self.window.height();
        let layers = FilmOptions { moments: true, ..FilmOptions::default() };
        let starts = (0..height).step_by(TILE as usize);
        let sum = starts.fold(0.0, |sum, start| {
            let image = self.image_rows(start..(start + TILE).min(height), layers);
            // In the order of the whole image, since sums of floats depend on it.
            noise_terms(&image.radiance, image.variance.as_deref().unwrap_or_default())
                .fold(sum, |sum, term| sum + term)
        });
        let pixels = self.window.width() as usize * height as usize;
        (sum / (3 * pixels) as f64).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lightbound_math::vec3;

    #[test]
    fn noise_of_the_film_is_that_of_its_image() {
        let window = Window { x0: 3, y0: 1, x1: 3 + TILE + 5, y1: 1 + 2 * TILE + 7 };
        let film = Film::new(window, FilmOptions { moments: true, ..FilmOptions::default() });
        for tile in film.tiles() {
            let mut sums = tile.lock();
            for ((x, y), k) in tile.window().pixels().flat_map(|p| (0..3).map(move |k| (p, k))) {
                let v = ((x * 37 + y * 101 + k * 53) % 97) as f32;
                sums.add_radiance(x, y, k, vec3(v, 0.1 * v, 1.0 / (1.0 + v)));
            }
        }
        let noise = film.relative_noise();
        assert_eq!(noise.to_bits(), relative_noise(&film.image()).to_bits());
        assert!(noise > 0.0 && noise.is_finite());
        assert_eq!(Film::new(window, FilmOptions::default()).relative_noise(), f64::INFINITY);
    }

    #[test]
    fn rows_are_those_of_the_image() {
        let window = Window { x0: 0, y0: 4, x1: TILE + 1, y1: 4 + 2 * TILE };
        let film = Film::new(window, FilmOptions::default());
        for tile in film.tiles() {
            let mut sums = tile.lock();
            for (x, y) in tile.window().pixels() {
                sums.add_radiance(x, y, 0, vec3(x as f32, y as f32, 1.0));
            }
        }
        let (all, part) = (film.image(), film.image_rows(TILE - 3..TILE + 2, film.options()));
        assert_eq!((part.window.y0, part.window.y1), (TILE + 1, TILE + 6));
        let width = window.width() as usize;
        assert_eq!(part.radiance, all.radiance[(TILE as usize - 3) * width..][..5 * width]);
    }
}
