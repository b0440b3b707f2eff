//! Pictures: the means of what a film has summed up.

use super::fixed::{FEATURE_BITS, RADIANCE_BITS, mean, mean_bound, variance_of_mean};
use super::{Film, Window};
use crate::compare::errors::EPSILON;

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

/// What the cuts of a picture took, row by row: means over all samples of a pixel, of
/// [`super::CutSample`].
#[derive(Debug, Default)]
pub struct CutImages {
    /// Clusters.
    pub cut_size: Vec<f32>,
    /// Clusters that were bounded.
    pub bound_evaluations: Vec<f32>,
    /// Shadow rays.
    pub shadow_rays: Vec<f32>,
    /// Bounds of the error; infinite where one is, or none is known.
    pub error_bound: Vec<f32>,
}

impl CutImages {
    fn empty(n: usize) -> CutImages {
        let [cut_size, bound_evaluations, shadow_rays, error_bound] =
            std::array::from_fn(|_| vec![0.0; n]);
        CutImages { cut_size, bound_evaluations, shadow_rays, error_bound }
    }
}

/// A finished picture: the means of all samples.
#[derive(Debug)]
pub struct Picture {
    /// The pixels that were rendered, within the whole image.
    pub window: Window,
    /// Mean radiance, linear sRGB, row by row.
    pub radiance: Vec<[f32; 3]>,
    /// Variance of the mean radiance for each pixel and channel, where moments were asked for;
    /// infinite where it is not known, as for a pixel of one sample.
    ///
    /// It is estimated as for independent samples. Owen-scrambled Sobol' points are more even than
    /// those, so that the mean of theirs varies less: for them the figure is conservative, often by
    /// a large factor where the picture is smooth.
    pub variance: Option<Vec<[f32; 3]>>,
    /// Features, where they were asked for.
    pub features: Option<FeatureImages>,
    /// What cuts took, where it was asked for.
    pub cuts: Option<CutImages>,
    /// Fewest samples of any pixel.
    pub min_samples: u32,
    /// Most samples of any pixel.
    pub max_samples: u32,
    /// Samples that were not finite or beyond 2³⁹.
    pub invalid_samples: u64,
}

/// The square root of the relMSE that a picture is estimated to have: of the mean over pixels and
/// channels of variance / (mean² + 0.01), as [`crate::compare`] defines it. Infinite where a
/// variance is, or none is known.
pub fn relative_noise(picture: &Picture) -> f64 {
    let Some(variance) = &picture.variance else { return f64::INFINITY };
    let values = picture.radiance.as_flattened().iter().zip(variance.as_flattened());
    let term = |(&mean, &variance): (&f32, &f32)| {
        f64::from(variance) / (f64::from(mean) * f64::from(mean) + EPSILON)
    };
    (values.map(term).sum::<f64>() / (3 * variance.len()) as f64).sqrt()
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
            cuts: self.options.cuts.then(|| CutImages::empty(n)),
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
                if let (Some(out), Some(cuts)) = (&mut picture.cuts, tile.cuts.get(i)) {
                    let count = |sum: u64| mean(sum.into(), 0, pixel.samples);
                    out.cut_size[at] = count(cuts.cut_size);
                    out.bound_evaluations[at] = count(cuts.bound_evaluations);
                    out.shadow_rays[at] = count(cuts.shadow_rays);
                    out.error_bound[at] = mean_bound(cuts.error_bound, pixel.samples);
                }
            }
        }
        picture.min_samples = picture.min_samples.min(picture.max_samples);
        picture
    }
}
