//! The exact sums of a tile's pixels.

use super::FilmOptions;
use super::channels::{ChannelSums, ChannelValue};
use super::fixed::{RADIANCE_LIMIT, feature_to_fixed, radiance_to_fixed, square_to_fixed};
use lightbound_image::Window;
use lightbound_math::Vec3;

/// Number of samples per pixel that contribute to features. More would cost time without improving
/// quality, and sums could overflow.
pub(super) const FEATURE_SAMPLES: u32 = 1 << 16;

/// Features of the first visible surface, for denoisers and compositing.
#[derive(Clone, Copy, Debug)]
pub struct Features {
    /// Weight of the BSDF sample at the path's first vertex. Its mean is the directional albedo; a
    /// single weight may exceed 1.
    pub albedo: Vec3,
    /// Shading normal in world space, unit.
    pub normal: Vec3,
    /// Position in world space.
    pub position: Vec3,
    /// Distance along the viewing axis.
    pub depth: f32,
    /// Id of the material, from 1.
    pub material: u32,
    /// Id of the object, from 1.
    pub object: u32,
}

#[derive(Clone, Debug, Default)]
pub(super) struct RadianceSum {
    pub sum: [i128; 3],
    pub samples: u32,
}

#[derive(Clone, Debug, Default)]
pub(super) struct FeatureSum {
    pub albedo: [i64; 3],
    pub normal: [i64; 3],
    pub position: [i64; 3],
    pub depth: i64,
    /// Number of samples that contribute to features, misses included.
    pub samples: u32,
    /// Number of samples that hit a surface.
    pub hits: u32,
    /// Ids at the hit of the pixel's first sample; 0 if it missed.
    pub material: u32,
    pub object: u32,
}

impl FeatureSum {
    /// Returns albedo, normal and position.
    pub fn vectors(&self) -> [[i64; 3]; 3] {
        [self.albedo, self.normal, self.position]
    }
}

/// The exact sums of a tile's pixels.
#[derive(Debug)]
pub struct Sums {
    pub(super) window: Window,
    pub(super) radiance: Vec<RadianceSum>,
    /// Sums of squares; empty unless the film stores moments.
    pub(super) squares: Vec<[u128; 3]>,
    /// Empty unless the film stores features.
    pub(super) features: Vec<FeatureSum>,
    /// One for each of [`FilmOptions::channels`].
    pub(super) channels: Vec<ChannelSums>,
    /// Number of samples that were not finite (discarded) or out of range (clamped).
    pub(super) invalid: u64,
}

impl Sums {
    pub(super) fn new(window: Window, options: FilmOptions) -> Sums {
        let n = (window.width() * window.height()) as usize;
        Sums {
            window,
            radiance: vec![RadianceSum::default(); n],
            squares: if options.moments { vec![[0; 3]; n] } else { Vec::new() },
            features: if options.features { vec![FeatureSum::default(); n] } else { Vec::new() },
            channels: options.channels.iter().map(|c| ChannelSums::new(c.encoding, n)).collect(),
            invalid: 0,
        }
    }

    /// Adds sample number `sample` to pixel (x, y). `radiance` includes the filter weight,
    /// W·sr⁻¹·m⁻².
    pub fn add_radiance(&mut self, x: u32, y: u32, sample: u32, radiance: Vec3) {
        let i = self.window.index(x, y);
        let pixel = &mut self.radiance[i];
        pixel.samples += 1;
        if let Some(features) = self.features.get_mut(i).filter(|_| sample < FEATURE_SAMPLES) {
            features.samples = features.samples.wrapping_add(1);
        }
        if !radiance.is_finite() {
            self.invalid += 1;
            return;
        }
        if radiance.abs().max_element() > RADIANCE_LIMIT {
            self.invalid += 1;
        }
        let clamped =
            radiance.clamp(Vec3::splat(-RADIANCE_LIMIT), Vec3::splat(RADIANCE_LIMIT)).to_array();
        for (sum, x) in pixel.sum.iter_mut().zip(clamped) {
            // Only a film resumed from a damaged file can overflow.
            *sum = sum.wrapping_add(radiance_to_fixed(x));
        }
        if let Some(squares) = self.squares.get_mut(i) {
            for (sum, x) in squares.iter_mut().zip(clamped) {
                *sum = sum.saturating_add(square_to_fixed(x));
            }
        }
    }

    /// Adds the features of sample number `sample` to pixel (x, y). Albedo and normal are weighted
    /// by the filter weight `weight`. Position and depth are averaged over hits without weights.
    pub fn add_features(&mut self, x: u32, y: u32, sample: u32, weight: f32, features: &Features) {
        if sample >= FEATURE_SAMPLES {
            return;
        }
        let i = self.window.index(x, y);
        let sum = &mut self.features[i];
        let add = |sum: &mut i64, x: f32| *sum = sum.wrapping_add(feature_to_fixed(x));
        for axis in 0..3 {
            add(&mut sum.albedo[axis], weight * features.albedo[axis]);
            add(&mut sum.normal[axis], weight * features.normal[axis]);
            add(&mut sum.position[axis], features.position[axis]);
        }
        add(&mut sum.depth, features.depth);
        sum.hits = sum.hits.wrapping_add(1);
        if sample == 0 {
            (sum.material, sum.object) = (features.material, features.object);
        }
    }

    /// Adds the values of [`FilmOptions::channels`], in that order, to pixel (x, y). Means include
    /// samples that add no values.
    ///
    /// # Panics
    /// If the values do not match the channels.
    pub fn add_channels(&mut self, x: u32, y: u32, values: &[ChannelValue]) {
        assert_eq!(values.len(), self.channels.len(), "one value per channel");
        let i = self.window.index(x, y);
        for (sums, &value) in self.channels.iter_mut().zip(values) {
            sums.add(i, value);
        }
    }
}
