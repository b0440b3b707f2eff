//! Pictures: the means of a film's sums.

use super::Film;
use super::fixed::{FEATURE_BITS, RADIANCE_BITS, mean, variance_of_mean};
use lightbound_image::Window;
use lightbound_image::compare::errors::EPSILON;

/// Depth of pixels without any hit, as compositors expect it.
pub const NO_DEPTH: f32 = 1e10;

/// Mean features of a picture, row by row.
#[derive(Debug, Default)]
pub struct FeatureImages {
    /// Estimated directional albedo.
    pub albedo: Vec<[f32; 3]>,
    /// Mean shading normal, world space; shorter than 1 if normals differ within the pixel.
    pub normal: Vec<[f32; 3]>,
    /// Mean position, world space; 0 without any hit.
    pub position: Vec<[f32; 3]>,
    /// Mean depth; [`NO_DEPTH`] without any hit.
    pub depth: Vec<f32>,
    /// Material of the first sample, counted from 1; 0 without any hit.
    pub material: Vec<u32>,
    /// Object of the first sample, counted from 1; 0 without any hit.
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

/// An extra channel of a picture.
#[derive(Debug)]
pub struct ChannelImage {
    /// Name of the EXR layer.
    pub layer: &'static str,
    /// Means over all samples of a pixel, row by row.
    pub values: Vec<f32>,
}

/// A finished picture: the means of all samples.
#[derive(Debug)]
pub struct Picture {
    /// The pixels that were rendered, within the whole image.
    pub window: Window,
    /// Mean radiance, linear sRGB, row by row.
    pub radiance: Vec<[f32; 3]>,
    /// Variance of the mean radiance for each pixel and channel, if the film stores moments. It is
    /// infinite if unknown, for example with a single sample.
    ///
    /// The estimate assumes independent samples. It is conservative for Owen-scrambled Sobol'
    /// points, which are better stratified, often by a large factor in smooth regions.
    pub variance: Option<Vec<[f32; 3]>>,
    /// Features, if the film stores them.
    pub features: Option<FeatureImages>,
    /// Extra channels of the integrator, if the film stores them.
    pub channels: Vec<ChannelImage>,
    /// Minimum number of samples of a pixel.
    pub min_samples: u32,
    /// Maximum number of samples of a pixel.
    pub max_samples: u32,
    /// Samples that were not finite or beyond 2³⁹.
    pub invalid_samples: u64,
}

/// Estimates the square root of a picture's relMSE: the mean over pixels and channels of variance /
/// (mean² + 0.01), as [`lightbound_image::compare`] defines it. Infinite if a variance is infinite
/// or not stored.
pub fn relative_noise(picture: &Picture) -> f64 {
    let Some(variance) = &picture.variance else { return f64::INFINITY };
    let values = picture.radiance.as_flattened().iter().zip(variance.as_flattened());
    let term = |(&mean, &variance): (&f32, &f32)| {
        f64::from(variance) / (f64::from(mean) * f64::from(mean) + EPSILON)
    };
    (values.map(term).sum::<f64>() / (3 * variance.len()) as f64).sqrt()
}

impl Picture {
    /// The means of the extra channel with this layer name, row by row, if the film stores it.
    pub fn channel(&self, layer: &str) -> Option<&[f32]> {
        let channel = self.channels.iter().find(|channel| channel.layer == layer)?;
        Some(&channel.values)
    }
}

impl Film {
    /// Samples that were not finite or beyond 2³⁹.
    pub fn invalid_samples(&self) -> u64 {
        self.tiles.iter().map(|tile| tile.lock().invalid).fold(self.invalid, u64::saturating_add)
    }

    /// The means so far. Pixels without any sample are black.
    pub fn picture(&self) -> Picture {
        let window = self.window;
        let n = window.width() as usize * window.height() as usize;
        let mut picture = Picture {
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
                let at = window.index(x, y);
                let pixel = &tile.radiance[i];
                picture.min_samples = picture.min_samples.min(pixel.samples);
                picture.max_samples = picture.max_samples.max(pixel.samples);
                picture.radiance[at] = pixel.sum.map(|s| mean(s, RADIANCE_BITS, pixel.samples));
                if let (Some(out), Some(squares)) = (&mut picture.variance, tile.squares.get(i)) {
                    out[at] = [0, 1, 2]
                        .map(|c| variance_of_mean(pixel.sum[c], squares[c], pixel.samples));
                }
                if let (Some(out), Some(f)) = (&mut picture.features, tile.features.get(i)) {
                    out.albedo[at] = f.albedo.map(|s| mean(s.into(), FEATURE_BITS, f.samples));
                    out.normal[at] = f.normal.map(|s| mean(s.into(), FEATURE_BITS, f.samples));
                    if f.hits > 0 {
                        out.position[at] = f.position.map(|s| mean(s.into(), FEATURE_BITS, f.hits));
                        out.depth[at] = mean(f.depth.into(), FEATURE_BITS, f.hits);
                    }
                    (out.material[at], out.object[at]) = (f.material, f.object);
                }
                for (out, sums) in picture.channels.iter_mut().zip(&tile.channels) {
                    out.values[at] = sums.mean(i, pixel.samples);
                }
            }
        }
        picture.min_samples = picture.min_samples.min(picture.max_samples);
        picture
    }
}
