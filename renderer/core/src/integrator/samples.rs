//! The pixel samples of a tile: radiance, filter weight and denoiser features.

use super::eye;
use crate::film::{Features, Sums, Tile};
use crate::filter::Filter;
use crate::scene::Scene;
use lightbound_math::sampling::{PathKey, Sampler};
use lightbound_math::{Ray, Vec3};
use std::ops::Range;

/// A sample of a pixel.
pub(super) struct Sample {
    pub x: u32,
    pub y: u32,
    /// Index among the samples of the pixel.
    pixel_sample: u32,
    /// Filter weight.
    pub weight: f32,
    /// Radiance, W·sr⁻¹·m⁻².
    radiance: Vec3,
}

/// The samples of a tile, by index. Buffers are reused from tile to tile.
#[derive(Default)]
pub(super) struct Samples {
    samples: Vec<Sample>,
    /// Denoiser features of camera rays, with the index of the sample.
    features: Vec<(u32, Features)>,
}

impl Samples {
    /// Starts the samples with indices `pixel_samples` of every pixel of a tile. Calls `path` with
    /// the camera ray, the index in this buffer and the path key of each sample. Samples of a pixel
    /// are adjacent, so that their rays are coherent.
    pub fn start(
        &mut self,
        scene: &Scene,
        filter: &Filter,
        sampler: &Sampler,
        pixel_samples: &Range<u32>,
        tile: &Tile,
        mut path: impl FnMut(Ray, u32, PathKey),
    ) {
        self.samples.clear();
        for (x, y) in tile.window().pixels() {
            for pixel_sample in pixel_samples.clone() {
                let key = sampler.path(x, y, pixel_sample);
                let (ray, weight) = eye::camera_ray(scene, filter, sampler, key, x, y);
                path(ray, self.samples.len() as u32, key);
                self.samples.push(Sample { x, y, pixel_sample, weight, radiance: Vec3::ZERO });
            }
        }
    }

    /// Adds radiance to a sample.
    #[inline]
    pub fn add(&mut self, sample: u32, radiance: Vec3) {
        self.samples[sample as usize].radiance += radiance;
    }

    /// Adds the features of a sample, without the albedo. Returns their index for
    /// [`Samples::albedo`].
    pub fn add_features(&mut self, sample: u32, features: Features) -> u32 {
        self.features.push((sample, features));
        self.features.len() as u32 - 1
    }

    /// Returns the albedo of the features at an index.
    pub fn albedo(&mut self, index: u32) -> &mut Vec3 {
        &mut self.features[index as usize].1.albedo
    }

    /// Iterates over all samples.
    pub fn iter(&self) -> impl Iterator<Item = &Sample> {
        self.samples.iter()
    }

    /// Adds all samples to the sums of the tile. Radiance is multiplied by
    /// `factor(pixel_sample, filter weight)`.
    pub fn write(&mut self, sums: &mut Sums, factor: impl Fn(u32, f32) -> f32) {
        for (index, features) in self.features.drain(..) {
            let s = &self.samples[index as usize];
            sums.add_features(s.x, s.y, s.pixel_sample, s.weight, &features);
        }
        for s in &self.samples {
            sums.add_radiance(
                s.x,
                s.y,
                s.pixel_sample,
                s.radiance * factor(s.pixel_sample, s.weight),
            );
        }
    }
}
