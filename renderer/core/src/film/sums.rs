//! The exact sums of a tile's pixels.

use super::channels::{ChannelSums, ChannelValue};
use super::components::{ComponentSums, ComponentValues};
use super::fixed::{
    RADIANCE_LIMIT, feature_to_fixed, length_to_fixed, radiance_to_fixed, square_to_fixed,
};
use super::mattes::{MatteKind, MatteSums};
use super::{FeatureLayers, FilmOptions};
use glam::DVec3;
use lightbound_image::Window;
use lightbound_math::{Vec2, Vec3};

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
    pub position: DVec3,
    /// Distance along the viewing axis.
    pub depth: f32,
    /// Geometric normal in world space, unit.
    pub geometric_normal: Vec3,
    /// Texture coordinates.
    pub uv: Vec2,
    /// Displacement in the image from the opening to the closing of the shutter, pixels to the
    /// right and upwards.
    pub motion: Vec2,
    /// Change of the depth per pixel to the right and downwards.
    pub depth_gradient: Vec2,
    /// Id of the material, from 1.
    pub material: u32,
    /// Id of the object, from 1.
    pub object: u32,
}

/// Sums of features: a column for each feature that the film stores, empty for the others.
#[derive(Debug)]
pub(super) struct FeatureSums {
    /// Number of samples that contribute to features, misses included; stored with albedo, normals
    /// of either kind, or mattes.
    pub samples: Vec<u32>,
    /// Number of samples that hit a surface; stored with the other means.
    pub hits: Vec<u32>,
    pub albedo: Vec<[i64; 3]>,
    pub normal: Vec<[i64; 3]>,
    pub position: Vec<[i128; 3]>,
    pub depth: Vec<i128>,
    pub geometric_normal: Vec<[i64; 3]>,
    pub uv: Vec<[i128; 2]>,
    pub motion: Vec<[i128; 2]>,
    pub depth_gradient: Vec<[i128; 2]>,
    /// Ids at the hit of the pixel's first sample; 0 if it missed.
    pub material: Vec<u32>,
    pub object: Vec<u32>,
    /// One for each [`MatteKind`].
    pub mattes: [MatteSums; 2],
}

impl FeatureSums {
    fn new(layers: FeatureLayers, n: usize) -> FeatureSums {
        fn column<T: Clone + Default>(is_stored: bool, n: usize) -> Vec<T> {
            vec![T::default(); if is_stored { n } else { 0 }]
        }
        FeatureSums {
            samples: column(layers.needs_samples(), n),
            hits: column(layers.needs_hits(), n),
            albedo: column(layers.albedo, n),
            normal: column(layers.normal, n),
            position: column(layers.position, n),
            depth: column(layers.depth, n),
            geometric_normal: column(layers.geometric_normal, n),
            uv: column(layers.uv, n),
            motion: column(layers.motion, n),
            depth_gradient: column(layers.depth_gradient, n),
            material: column(layers.material, n),
            object: column(layers.object, n),
            mattes: MatteKind::ALL
                .map(|kind| MatteSums::new(if layers.has_matte(kind) { n } else { 0 })),
        }
    }

    /// Adds the features of a hit to pixel `i`. Returns whether a value was out of range.
    fn add(&mut self, i: usize, weight: f32, features: &Features) -> bool {
        let mut is_out_of_range = false;
        for (sums, value) in [
            (&mut self.albedo, features.albedo),
            (&mut self.normal, features.normal),
            (&mut self.geometric_normal, features.geometric_normal),
        ] {
            let Some(sums) = sums.get_mut(i) else { continue };
            for (sum, x) in sums.iter_mut().zip(value.to_array()) {
                let (fixed, is_clamped) = feature_to_fixed(weight * x);
                // Only a film resumed from a damaged file can overflow.
                *sum = sum.wrapping_add(fixed);
                is_out_of_range |= is_clamped;
            }
        }
        let mut add_length = |sum: &mut i128, x: f64| {
            let (fixed, is_clamped) = length_to_fixed(x);
            *sum = sum.wrapping_add(fixed);
            is_out_of_range |= is_clamped;
        };
        if let Some(sums) = self.position.get_mut(i) {
            let position = features.position.to_array();
            sums.iter_mut().zip(position).for_each(|(sum, x)| add_length(sum, x));
        }
        if let Some(sum) = self.depth.get_mut(i) {
            add_length(sum, features.depth.into());
        }
        for (sums, value) in [
            (&mut self.uv, features.uv),
            (&mut self.motion, features.motion),
            (&mut self.depth_gradient, features.depth_gradient),
        ] {
            let Some(sums) = sums.get_mut(i) else { continue };
            sums.iter_mut().zip(value.to_array()).for_each(|(sum, x)| add_length(sum, x.into()));
        }
        for (matte, id) in self.mattes.iter_mut().zip([features.material, features.object]) {
            matte.add(i, id, 1);
        }
        if let Some(hits) = self.hits.get_mut(i) {
            *hits = hits.wrapping_add(1);
        }
        is_out_of_range
    }
}

/// The exact sums of a tile's pixels.
#[derive(Debug)]
pub struct Sums {
    pub(super) window: Window,
    pub(super) radiance: Vec<[i128; 3]>,
    /// Number of samples.
    pub(super) samples: Vec<u32>,
    /// Sums of squares; empty unless the film stores moments.
    pub(super) squares: Vec<[u128; 3]>,
    pub(super) features: FeatureSums,
    /// One for each of [`FilmOptions::channels`].
    pub(super) channels: Vec<ChannelSums>,
    pub(super) components: ComponentSums,
    /// Number of samples that were not finite (discarded) or out of range (clamped).
    pub(super) invalid: u64,
    /// Number of samples with a feature that was NaN (counted as 0) or out of range (clamped).
    pub(super) clamped_features: u64,
}

impl Sums {
    pub(super) fn new(window: Window, options: FilmOptions) -> Sums {
        let n = (window.width() * window.height()) as usize;
        Sums {
            window,
            radiance: vec![[0; 3]; n],
            samples: vec![0; n],
            squares: if options.moments { vec![[0; 3]; n] } else { Vec::new() },
            features: FeatureSums::new(options.features, n),
            channels: options.channels.iter().map(|c| ChannelSums::new(c.encoding, n)).collect(),
            components: ComponentSums::new(options.components, n),
            invalid: 0,
            clamped_features: 0,
        }
    }

    /// Returns the memory of the sums, bytes.
    #[cfg(test)]
    pub(super) fn memory_bytes(&self) -> usize {
        let f = &self.features;
        size_of_val(self.radiance.as_slice())
            + size_of_val(self.samples.as_slice())
            + size_of_val(self.squares.as_slice())
            + [&f.samples, &f.hits, &f.material, &f.object]
                .iter()
                .map(|column| size_of_val(column.as_slice()))
                .sum::<usize>()
            + [&f.albedo, &f.normal, &f.geometric_normal]
                .iter()
                .map(|c| size_of_val(c.as_slice()))
                .sum::<usize>()
            + [&f.uv, &f.motion, &f.depth_gradient]
                .iter()
                .map(|c| size_of_val(c.as_slice()))
                .sum::<usize>()
            + f.mattes.iter().map(MatteSums::memory_bytes).sum::<usize>()
            + size_of_val(f.position.as_slice())
            + size_of_val(f.depth.as_slice())
            + self.channels.iter().map(ChannelSums::memory_bytes).sum::<usize>()
            + self.components.columns.iter().map(|c| size_of_val(c.as_slice())).sum::<usize>()
    }

    /// Adds sample number `sample` to pixel (x, y). `radiance` includes the filter weight,
    /// W·sr⁻¹·m⁻².
    pub fn add_radiance(&mut self, x: u32, y: u32, sample: u32, radiance: Vec3) {
        self.add_with_components(x, y, sample, radiance, None);
    }

    /// Like [`add_radiance`](Self::add_radiance), with the components of the radiance if the film
    /// stores any.
    pub fn add_with_components(
        &mut self,
        x: u32,
        y: u32,
        sample: u32,
        radiance: Vec3,
        components: Option<&ComponentValues<'_>>,
    ) {
        let i = self.window.index(x, y);
        self.samples[i] += 1;
        if let Some(n) = self.features.samples.get_mut(i).filter(|_| sample < FEATURE_SAMPLES) {
            *n = n.wrapping_add(1);
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
        let fixed = clamped.map(radiance_to_fixed);
        for (sum, x) in self.radiance[i].iter_mut().zip(fixed) {
            // Only a film resumed from a damaged file can overflow.
            *sum = sum.wrapping_add(x);
        }
        if let Some(components) = components {
            self.components.add(i, fixed, components);
        }
        if let Some(squares) = self.squares.get_mut(i) {
            for (sum, x) in squares.iter_mut().zip(clamped) {
                *sum = sum.saturating_add(square_to_fixed(x));
            }
        }
    }

    /// Adds the features of sample number `sample` to pixel (x, y). Albedo and normal are weighted
    /// by the filter weight `weight`. Position and depth are averaged over hits without weights.
    /// Ignores features that the film does not store.
    pub fn add_features(&mut self, x: u32, y: u32, sample: u32, weight: f32, features: &Features) {
        if sample >= FEATURE_SAMPLES {
            return;
        }
        let i = self.window.index(x, y);
        self.clamped_features += u64::from(self.features.add(i, weight, features));
        if sample == 0 {
            let ids = [
                (&mut self.features.material, features.material),
                (&mut self.features.object, features.object),
            ];
            for (column, id) in ids {
                column.get_mut(i).into_iter().for_each(|stored| *stored = id);
            }
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
