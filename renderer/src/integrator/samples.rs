//! Samples of a tile's pixels that are computed together: the light that they gather, and what they
//! see first.

use super::eye;
use crate::film::{Features, Sums, Tile};
use crate::math::{Ray, Vec3};
use crate::sampling::{PathKey, Sampler};
use crate::scene::Scene;
use std::ops::Range;

/// A sample of a pixel.
pub(super) struct Sample {
    pub x: u32,
    pub y: u32,
    number: u32,
    /// Of the filter.
    pub weight: f32,
    /// W·sr⁻¹·m⁻².
    radiance: Vec3,
}

/// Samples by their index; buffers stay.
#[derive(Default)]
pub(super) struct Samples {
    samples: Vec<Sample>,
    /// What camera rays saw, with the sample's index.
    features: Vec<(u32, Features)>,
}

impl Samples {
    /// Begins with the samples of these numbers of all pixels of a tile, and calls `path` with the
    /// camera ray of each, its index, and the key of its path. Samples of a pixel are neighbours,
    /// so that their rays are alike.
    pub fn start(
        &mut self,
        scene: &Scene,
        sampler: &Sampler,
        numbers: &Range<u32>,
        tile: &Tile,
        mut path: impl FnMut(Ray, u32, PathKey),
    ) {
        self.samples.clear();
        for (x, y) in tile.window().pixels() {
            for number in numbers.clone() {
                let key = sampler.path(x, y, number);
                let (ray, weight) = eye::camera_ray(scene, sampler, key, x, y);
                path(ray, self.samples.len() as u32, key);
                self.samples.push(Sample { x, y, number, weight, radiance: Vec3::ZERO });
            }
        }
    }

    /// Adds radiance to a sample.
    #[inline]
    pub fn add(&mut self, sample: u32, radiance: Vec3) {
        self.samples[sample as usize].radiance += radiance;
    }

    /// Remembers what a sample's camera ray saw, and returns a number for its albedo, which is not
    /// known yet.
    pub fn see(&mut self, sample: u32, features: Features) -> u32 {
        self.features.push((sample, features));
        self.features.len() as u32 - 1
    }

    /// The albedo of what was seen under this number.
    pub fn albedo(&mut self, seen: u32) -> &mut Vec3 {
        &mut self.features[seen as usize].1.albedo
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Sample> {
        self.samples.iter()
    }

    /// Adds all to the sums of the tile, radiance times a factor that depends on the number and
    /// weight of the sample.
    pub fn write(&mut self, sums: &mut Sums, factor: impl Fn(u32, f32) -> f32) {
        for (index, seen) in self.features.drain(..) {
            let s = &self.samples[index as usize];
            sums.add_features(s.x, s.y, s.number, s.weight, &seen);
        }
        for s in &self.samples {
            sums.add_radiance(s.x, s.y, s.number, s.radiance * factor(s.number, s.weight));
        }
    }
}
