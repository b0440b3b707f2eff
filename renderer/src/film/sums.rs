//! The sums of a tile's pixels, and what is added to them.

use super::fixed::{self, RADIANCE_LIMIT, bound, square};
use super::{FilmOptions, Window};
use crate::math::Vec3;

/// Samples per pixel that contribute to features; more would add cost, not quality, and could
/// overflow.
pub(super) const FEATURE_SAMPLES: u32 = 1 << 16;

/// What the camera sees first, for denoisers and compositing.
#[derive(Clone, Copy, Debug)]
pub struct Features {
    /// Weight of the direction in which the path goes on, which may pass 1; its mean is the
    /// directional albedo.
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

/// What a cut through trees of lights took, and how far its estimate may be off.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CutSample {
    /// Clusters of the cut.
    pub cut_size: u32,
    /// Clusters that were bounded to find it.
    pub bound_evaluations: u32,
    /// Shadow rays that were traced for it.
    pub shadow_rays: u32,
    /// Upper bound of the error in the pixel's sample, 0 or above, weighted as radiance; what is
    /// NaN counts as infinite.
    pub error_bound: f32,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Radiance {
    pub sum: [i128; 3],
    pub samples: u32,
}

#[derive(Clone, Debug, Default)]
pub(super) struct FeatureSum {
    pub albedo: [i64; 3],
    pub normal: [i64; 3],
    pub position: [i64; 3],
    pub depth: i64,
    /// Samples that count here, whether they hit anything or not.
    pub samples: u32,
    /// Those that did.
    pub hits: u32,
    /// Ids seen by the pixel's first sample; 0 where it saw nothing.
    pub material: u32,
    pub object: u32,
}

impl FeatureSum {
    /// Albedo, normal and position.
    pub fn vectors(&self) -> [[i64; 3]; 3] {
        [self.albedo, self.normal, self.position]
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct CutSum {
    pub cut_size: u64,
    pub bound_evaluations: u64,
    pub shadow_rays: u64,
    pub error_bound: u128,
}

/// The sums of one tile's pixels.
#[derive(Debug)]
pub struct Sums {
    pub(super) window: Window,
    pub(super) radiance: Vec<Radiance>,
    /// Sums of squares; empty where they are not wanted.
    pub(super) squares: Vec<[u128; 3]>,
    /// Empty where they are not wanted.
    pub(super) features: Vec<FeatureSum>,
    /// Empty where they are not wanted.
    pub(super) cuts: Vec<CutSum>,
    /// Samples that were not finite (left out) or beyond the range (kept at its end).
    pub(super) invalid: u64,
}

impl Sums {
    pub(super) fn new(window: Window, options: FilmOptions) -> Sums {
        let n = (window.width() * window.height()) as usize;
        Sums {
            window,
            radiance: vec![Radiance::default(); n],
            squares: if options.moments { vec![[0; 3]; n] } else { Vec::new() },
            features: if options.features { vec![FeatureSum::default(); n] } else { Vec::new() },
            cuts: if options.cuts { vec![CutSum::default(); n] } else { Vec::new() },
            invalid: 0,
        }
    }

    /// Adds sample number `sample` of pixel (x, y): radiance times filter weight, W·sr⁻¹·m⁻².
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
        let kept =
            radiance.clamp(Vec3::splat(-RADIANCE_LIMIT), Vec3::splat(RADIANCE_LIMIT)).to_array();
        for (sum, x) in pixel.sum.iter_mut().zip(kept) {
            // No film comes to the end of the range, but one that goes on from a damaged file.
            *sum = sum.wrapping_add(fixed::radiance(x));
        }
        if let Some(squares) = self.squares.get_mut(i) {
            for (sum, x) in squares.iter_mut().zip(kept) {
                *sum = sum.saturating_add(square(x));
            }
        }
    }

    /// Adds what sample number `sample` of pixel (x, y) saw first. Albedo and normal are weighted
    /// by the filter; position and depth are plain means over the samples that hit.
    pub fn add_features(&mut self, x: u32, y: u32, sample: u32, weight: f32, seen: &Features) {
        if sample >= FEATURE_SAMPLES {
            return;
        }
        let i = self.window.index(x, y);
        let f = &mut self.features[i];
        let add = |sum: &mut i64, x: f32| *sum = sum.wrapping_add(fixed::feature(x));
        for axis in 0..3 {
            add(&mut f.albedo[axis], weight * seen.albedo[axis]);
            add(&mut f.normal[axis], weight * seen.normal[axis]);
            add(&mut f.position[axis], seen.position[axis]);
        }
        add(&mut f.depth, seen.depth);
        f.hits = f.hits.wrapping_add(1);
        if sample == 0 {
            (f.material, f.object) = (seen.material, seen.object);
        }
    }

    /// Adds a cut of a sample of pixel (x, y), which may have none or several: means are over all
    /// samples of the pixel.
    ///
    /// # Panics
    /// If cuts are not wanted.
    pub fn add_cut(&mut self, x: u32, y: u32, cut: &CutSample) {
        let sum = &mut self.cuts[self.window.index(x, y)];
        sum.cut_size = sum.cut_size.saturating_add(cut.cut_size.into());
        sum.bound_evaluations = sum.bound_evaluations.saturating_add(cut.bound_evaluations.into());
        sum.shadow_rays = sum.shadow_rays.saturating_add(cut.shadow_rays.into());
        sum.error_bound = sum.error_bound.saturating_add(bound(cut.error_bound));
    }
}
