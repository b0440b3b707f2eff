//! Environment maps in the latitude–longitude layout, resampled to the equal-area octahedral layout
//! of [`super::octahedral`].
//!
//! The upper edge of the image is +z, the lower one −z, and the columns are φ = 0 … 2π from +x
//! towards +y: the layout of pbrt-v3, which pbrt-v4's `imgtool makeequiarea` converts in the same
//! way. A texel of the result is the mean radiance over its directions, so a constant map stays
//! constant. Light sources of a few texels, such as the sun, hold much of the energy of a map, but
//! samples of the result would hit them by chance. Hence radiance above a threshold is distributed
//! from the texels of the source instead, which conserves their energy. Negative values, such as
//! those that an enlarged photograph has beside a bright edge, count as 0, as in
//! [`super::Environment::image`]: averages would spread them to other texels.

use super::LightError;
use super::octahedral::{sphere_to_square, square_to_sphere};
use lightbound_math::{Vec2, Vec3, vec2};
use rayon::prelude::*;
use std::f32::consts::{PI, TAU};

/// Samples along each side of a texel of the result.
const SAMPLES: usize = 4;

/// Samples along each side of a texel of the source, where its radiance is above the threshold.
const PEAK_SAMPLES: usize = 16;

/// Texels of the source that are distributed at a time.
const PEAK_BATCH: usize = 1024;

/// Threshold of peaks, relative to the mean radiance. At most 1/16 of the sphere is above it.
const PEAK: f64 = 16.0;

/// An environment map in the latitude–longitude layout.
#[derive(Clone, Copy, Debug)]
pub struct LatLongMap<'a> {
    /// Radiance, row by row from the top.
    pub texels: &'a [Vec3],
    /// Number of columns.
    pub width: usize,
    /// Number of rows.
    pub height: usize,
}

impl LatLongMap<'_> {
    /// Resamples the map to the equal-area octahedral layout, with about as many texels. Returns
    /// them row by row, and their number along a side.
    ///
    /// # Errors
    /// If a texel is not finite.
    ///
    /// # Panics
    /// If the map does not have `width` × `height` texels, or none.
    pub fn to_equal_area(&self) -> Result<(Vec<Vec3>, usize), LightError> {
        assert!(self.texels.len() == self.width * self.height && !self.texels.is_empty());
        if let Some(i) = self.texels.iter().position(|texel| !texel.is_finite()) {
            return Err(LightError::NotFinite { x: i % self.width, y: i / self.width });
        }
        let side = (self.texels.len() as f64).sqrt().round().max(1.0) as usize;
        let threshold = (self.mean() * PEAK).as_vec3();
        let mut result: Vec<Vec3> = (0..side * side)
            .into_par_iter()
            .map(|i| self.mean_below(threshold, [i % side, i / side], side))
            .collect();
        let peaks = self.texels.iter().enumerate().map(|(i, texel)| {
            ([i % self.width, i / self.width], (*texel - threshold).max(Vec3::ZERO))
        });
        let peaks: Vec<_> = peaks.filter(|(_, peak)| *peak != Vec3::ZERO).collect();
        for batch in peaks.chunks(PEAK_BATCH) {
            let targets: Vec<_> =
                batch.par_iter().map(|&(texel, _)| self.sampled_texels(texel, side)).collect();
            // Serially: the order of the sums determines their rounding.
            for (&(texel, peak), targets) in batch.iter().zip(targets) {
                let radiance = self.sample_share(texel, side) * peak;
                targets.into_iter().for_each(|target| result[target] += radiance);
            }
        }
        Ok((result, side))
    }

    /// Returns the mean radiance over all directions, without negative values.
    pub fn mean(&self) -> glam::DVec3 {
        let row = |(y, row): (usize, &[Vec3])| {
            let sum = row.iter().map(|texel| texel.max(Vec3::ZERO).as_dvec3()).sum::<glam::DVec3>();
            let [top, bottom] = self.row(y);
            sum * (0.5 * (top - bottom) / self.width as f64)
        };
        self.texels.chunks_exact(self.width).enumerate().map(row).sum()
    }

    /// Returns cos θ at the upper and the lower edge of a row.
    fn row(&self, y: usize) -> [f64; 2] {
        [y, y + 1].map(|y| libm::cos(std::f64::consts::PI * (y as f64 / self.height as f64)))
    }

    /// Returns the radiance from a unit direction, at least 0.
    fn radiance(&self, d: Vec3) -> Vec3 {
        let phi = libm::atan2f(d.y, d.x);
        let u = if phi < 0.0 { phi + TAU } else { phi } / TAU;
        let v = libm::acosf(d.z.clamp(-1.0, 1.0)) / PI;
        let cell = |x: f32, n: usize| ((x * n as f32) as usize).min(n - 1);
        self.texels[cell(v, self.height) * self.width + cell(u, self.width)].max(Vec3::ZERO)
    }

    /// Returns the mean over a texel of the result, of radiance up to the threshold.
    fn mean_below(&self, threshold: Vec3, [x, y]: [usize; 2], side: usize) -> Vec3 {
        let corner = vec2(x as f32, y as f32);
        let sum: Vec3 = positions(SAMPLES)
            .map(|p| self.radiance(square_to_sphere((corner + p) / side as f32)).min(threshold))
            .sum();
        sum / (SAMPLES * SAMPLES) as f32
    }

    /// Returns the share of a sample of a texel in the sphere, over that of a texel of the result.
    fn sample_share(&self, [_, y]: [usize; 2], side: usize) -> f32 {
        let [top, bottom] = self.row(y);
        let samples = self.width * PEAK_SAMPLES * PEAK_SAMPLES;
        (0.5 * (top - bottom) / samples as f64 * (side * side) as f64) as f32
    }

    /// Returns the texel of the result in the direction of each sample of a texel.
    fn sampled_texels(&self, [x, y]: [usize; 2], side: usize) -> Vec<usize> {
        let [top, bottom] = self.row(y);
        let target = |p: Vec2| {
            let phi = TAU * (x as f32 + p.x) / self.width as f32;
            let z = top + (bottom - top) * f64::from(p.y);
            let r = ((1.0 - z) * (1.0 + z)).max(0.0).sqrt() as f32;
            let d = Vec3::new(r * libm::cosf(phi), r * libm::sinf(phi), z as f32);
            let [column, row] =
                (sphere_to_square(d) * side as f32).to_array().map(|x| (x as usize).min(side - 1));
            row * side + column
        };
        positions(PEAK_SAMPLES).map(target).collect()
    }
}

/// Returns the centres of `n` × `n` cells of the unit square.
fn positions(n: usize) -> impl Iterator<Item = Vec2> {
    (0..n * n).map(move |i| (vec2((i % n) as f32, (i / n) as f32) + 0.5) / n as f32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lightbound_shader::random::Random;

    fn map(texels: &[Vec3], width: usize) -> LatLongMap<'_> {
        LatLongMap { texels, width, height: texels.len() / width }
    }

    fn mean(texels: &[Vec3]) -> glam::DVec3 {
        texels.iter().map(|t| t.as_dvec3()).sum::<glam::DVec3>() / texels.len() as f64
    }

    #[test]
    fn constant_maps_stay_constant_and_keep_their_size() {
        let (texels, side) =
            map(&[Vec3::new(1.0, 2.0, 3.0); 128 * 64], 128).to_equal_area().unwrap();
        assert_eq!((side, texels.len()), (91, 91 * 91));
        assert!(texels.iter().all(|&texel| texel == Vec3::new(1.0, 2.0, 3.0)));
    }

    #[test]
    fn energy_is_conserved() {
        let random = &mut Random::new(3);
        for case in 0..20 {
            let (width, height) = (64, 32);
            let mut texels: Vec<Vec3> = (0..width * height)
                .map(|_| Vec3::splat(random.below(1000) as f32 / 1000.0))
                .collect();
            // A sun in one texel, anywhere, with up to nearly all of the energy.
            let sun = random.below(width * height);
            texels[sun] = Vec3::new(1e2, 1e4, 1e6);
            let map = map(&texels, width);
            let (result, _) = map.to_equal_area().unwrap();
            let error = (mean(&result) / map.mean() - 1.0).abs();
            // Only what is below the threshold is sampled.
            assert!(error.max_element() < 3e-3, "{case}: {error}");
        }
    }

    #[test]
    fn directions_are_those_of_pbrt() {
        let (width, height) = (64, 32);
        // Radiance is a linear function of direction at the centre of each texel.
        let direction = |x: usize, y: usize| {
            let [phi, theta] =
                [TAU * (x as f32 + 0.5) / width as f32, PI * (y as f32 + 0.5) / height as f32];
            Vec3::new(theta.sin() * phi.cos(), theta.sin() * phi.sin(), theta.cos())
        };
        let texels: Vec<Vec3> =
            (0..width * height).map(|i| direction(i % width, i / width) + 2.0).collect();
        let (result, side) = map(&texels, width).to_equal_area().unwrap();
        for (i, texel) in result.iter().enumerate() {
            let p = vec2((i % side) as f32 + 0.5, (i / side) as f32 + 0.5) / side as f32;
            let error = *texel - 2.0 - square_to_sphere(p);
            assert!(error.length() < 0.1, "{p}: {texel}");
        }
    }

    #[test]
    fn negative_texels_are_black() {
        let random = &mut Random::new(5);
        let mut texels: Vec<Vec3> = (0..64 * 32)
            .map(|_| Vec3::new(random.below(100) as f32, random.below(9) as f32, 0.0) - 4.0)
            .collect();
        texels[700] = Vec3::splat(1e5);
        let black: Vec<Vec3> = texels.iter().map(|texel| texel.max(Vec3::ZERO)).collect();
        assert_eq!(map(&texels, 64).to_equal_area(), map(&black, 64).to_equal_area());
    }

    #[test]
    fn odd_sizes_and_invalid_texels() {
        for (width, height) in [(1, 1), (2, 1), (1, 7), (50, 3)] {
            let texels = vec![Vec3::ONE; width * height];
            let (result, side) =
                LatLongMap { texels: &texels, width, height }.to_equal_area().unwrap();
            assert!(
                side >= 1 && result.len() == side * side && result.iter().all(|t| *t == Vec3::ONE)
            );
        }
        let mut texels = vec![Vec3::ONE; 8];
        texels[6].y = f32::NAN;
        assert_eq!(map(&texels, 4).to_equal_area(), Err(LightError::NotFinite { x: 2, y: 1 }));
        let black = [Vec3::ZERO; 8];
        assert!(map(&black, 4).to_equal_area().unwrap().0.iter().all(|t| *t == Vec3::ZERO));
    }
}
