//! Rendered images: the means of a film's sums.

use super::Film;
use super::fixed::{FEATURE_BITS, RADIANCE_BITS, mean, variance_of_mean};
use lightbound_image::Window;
use lightbound_image::compare::errors::EPSILON;

/// Depth of pixels without hits, as compositors expect it.
pub const NO_DEPTH: f32 = 1e10;

/// Mean features of a rendered image, row by row.
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
    /// Material id at the first sample's hit, from 1; 0 if it missed.
    pub material: Vec<u32>,
    /// Object id at the first sample's hit, from 1; 0 if it missed.
    pub object: Vec<u32>,
}

impl FeatureImages {
    fn empty(n: usize) -> FeatureImages {
        FeatureImages {
            albedo: vec![[0.0; 3]; n],
            normal: vec![[0.0; 3]; n],
            position: vec![[0.0; 3]; n],
            depth: vec![NO_DEPTH; n],
            material: vec![0; n],
            object: vec![0; n],
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
    /// Features, if the film stores them.
    pub features: Option<FeatureImages>,
    /// Extra channels of the integrator, if the film stores them.
    pub channels: Vec<ChannelImage>,
    /// Minimum number of samples of a pixel.
    pub min_samples: u32,
    /// Maximum number of samples of a pixel.
    pub max_samples: u32,
    /// Number of samples that were not finite or beyond ±2³⁹.
    pub invalid_samples: u64,
}

/// Estimates the square root of an image's relMSE: the mean over pixels and channels of variance /
/// (mean² + 0.01), as [`lightbound_image::compare`] defines it. Infinite if a variance is infinite
/// or not stored.
pub fn relative_noise(image: &RenderedImage) -> f64 {
    let Some(variance) = &image.variance else { return f64::INFINITY };
    let values = image.radiance.as_flattened().iter().zip(variance.as_flattened());
    let term = |(&mean, &variance): (&f32, &f32)| {
        f64::from(variance) / (f64::from(mean) * f64::from(mean) + EPSILON)
    };
    (values.map(term).sum::<f64>() / (3 * variance.len()) as f64).sqrt()
}

impl RenderedImage {
    /// Returns the means of an extra channel, row by row, by the name of its layer; `None` if the
    /// film does not store it.
    pub fn channel(&self, layer: &str) -> Option<&[f32]> {
        let channel = self.channels.iter().find(|channel| channel.layer == layer)?;
        Some(&channel.values)
    }
}

impl Film {
    /// Returns the number of samples that were not finite or beyond ±2³⁹.
    pub fn invalid_samples(&self) -> u64 {
        self.tiles.iter().map(|tile| tile.lock().invalid).fold(self.invalid, u64::saturating_add)
    }

    /// Computes the means of the samples so far. Pixels without samples are black.
    pub fn image(&self) -> RenderedImage {
        let window = self.window;
        let n = window.width() as usize * window.height() as usize;
        let mut image = RenderedImage {
            window,
            radiance: vec![[0.0; 3]; n],
            variance: self.options.moments.then(|| vec![[f32::INFINITY; 3]; n]),
            features: self.options.features.then(|| FeatureImages::empty(n)),
            channels: self
                .options
                .channels
                .iter()
                .map(|channel| ChannelImage { layer: channel.layer, values: vec![0.0; n] })
                .collect(),
            min_samples: u32::MAX,
            max_samples: 0,
            invalid_samples: self.invalid_samples(),
        };
        for tile in &self.tiles {
            let tile = tile.lock();
            for (i, (x, y)) in tile.window.pixels().enumerate() {
                let index = window.index(x, y);
                let pixel = &tile.radiance[i];
                image.min_samples = image.min_samples.min(pixel.samples);
                image.max_samples = image.max_samples.max(pixel.samples);
                image.radiance[index] = pixel.sum.map(|s| mean(s, RADIANCE_BITS, pixel.samples));
                if let (Some(out), Some(squares)) = (&mut image.variance, tile.squares.get(i)) {
                    out[index] = [0, 1, 2]
                        .map(|c| variance_of_mean(pixel.sum[c], squares[c], pixel.samples));
                }
                if let (Some(out), Some(sum)) = (&mut image.features, tile.features.get(i)) {
                    out.albedo[index] =
                        sum.albedo.map(|s| mean(s.into(), FEATURE_BITS, sum.samples));
                    out.normal[index] =
                        sum.normal.map(|s| mean(s.into(), FEATURE_BITS, sum.samples));
                    if sum.hits > 0 {
                        out.position[index] =
                            sum.position.map(|s| mean(s.into(), FEATURE_BITS, sum.hits));
                        out.depth[index] = mean(sum.depth.into(), FEATURE_BITS, sum.hits);
                    }
                    (out.material[index], out.object[index]) = (sum.material, sum.object);
                }
                for (out, sums) in image.channels.iter_mut().zip(&tile.channels) {
                    out.values[index] = sums.mean(i, pixel.samples);
                }
            }
        }
        image.min_samples = image.min_samples.min(image.max_samples);
        image
    }
}
