//! A procedural cloud: pbrt-v4's medium `cloud` (`CloudMedium` in `media.h`).
//!
//! The density is a sum of five octaves of gradient noise, at a position that noise of higher
//! frequencies displaces, which makes wisps. It decreases with the height y: it is 1 up to y = 0 and
//! 0 above y = 1. The order of operations is that of pbrt-v4, so densities have the same bits.

use super::{Field, MediumPoint};
use crate::texture::noise::noise;
use crate::texture::noise_bounds::{ROUNDING, derivative_range, noise_range};
use lightbound_math::{Aabb, Vec3};

/// A cloud. Numbers are finite.
#[derive(Clone, Copy, Debug)]
pub struct CloudField {
    /// The box of the medium.
    pub bounds: Aabb,
    /// Extinction per unit of density, 1/m. Densities are from 0 to 1.
    pub extinction: Vec3,
    /// Single-scattering albedo.
    pub albedo: Vec3,
    /// Factor of the noise.
    pub density: f32,
    /// Strength of the displacement; none if it is not positive.
    pub wispiness: f32,
    /// Frequency of the lowest octave of noise, in cells of the lattice per unit of length.
    pub frequency: f32,
}

/// An octave of noise.
#[derive(Clone, Copy)]
struct Octave {
    frequency: f32,
    amplitude: f32,
}

/// Ratio of the frequencies of two octaves.
const LACUNARITY: f32 = 1.99;

/// Distance of the finite differences that displace positions.
const STEP: f32 = 0.01;

/// Upper bound on the rounding error of a finite difference.
const DIFFERENCE_ROUNDING: f64 = 2.1 * ROUNDING as f64 / STEP as f64;

impl CloudField {
    /// Largest magnitude of `density`, `wispiness` and `frequency`. With coordinates up to
    /// [`CloudField::MAX_COORDINATE`], all numbers stay finite.
    pub const MAX_PARAMETER: f32 = 1e9;

    /// Largest magnitude of coordinates of `bounds`.
    pub const MAX_COORDINATE: f32 = 1e18;

    /// The octaves of the displacement. Their amplitudes follow the wispiness.
    fn displacement(&self) -> impl Iterator<Item = Octave> {
        let count = if self.wispiness > 0.0 { 2 } else { 0 };
        octaves(Octave { frequency: 10.0, amplitude: 0.05 * self.wispiness }).take(count)
    }

    /// The octaves of the density.
    fn shape() -> impl Iterator<Item = Octave> {
        octaves(Octave { frequency: 1.0, amplitude: 0.5 }).take(5)
    }

    /// Returns the density at a point, from 0 to 1.
    fn density(&self, p: Vec3) -> f32 {
        let mut lookup = self.frequency * p;
        for Octave { frequency, amplitude } in self.displacement() {
            lookup += amplitude * differences(frequency * lookup);
        }
        let mut sum = 0.0;
        for Octave { frequency, amplitude } in CloudField::shape() {
            sum += amplitude * noise(frequency * lookup);
        }
        profile(p.y, self.height_factor(p.y) * sum)
    }

    /// Returns the least and greatest density in a box. All operations but noise are monotone in
    /// floats, too, so those at the ends of ranges bound the others.
    fn density_range(&self, b: Aabb) -> [f32; 2] {
        let (p, q) = (self.frequency * b.min, self.frequency * b.max);
        let mut lookup = Aabb { min: p.min(q), max: p.max(q) };
        for Octave { frequency, amplitude } in self.displacement() {
            let [low, high] = differences_range(scaled(lookup, frequency));
            lookup.min += amplitude * low;
            lookup.max += amplitude * high;
        }
        let mut sum = [0.0; 2];
        for Octave { frequency, amplitude } in CloudField::shape() {
            let range = noise_range(scaled(lookup, frequency));
            sum = [sum[0] + amplitude * range[0], sum[1] + amplitude * range[1]];
        }
        let factors = [b.min.y, b.max.y].map(|y| self.height_factor(y));
        let [low, high] = sum.map(|sum| factors.map(|factor| factor * sum));
        let least = low[0].min(low[1]).min(high[0].min(high[1]));
        let greatest = low[0].max(low[1]).max(high[0].max(high[1]));
        [profile(b.max.y, least), profile(b.min.y, greatest)]
    }

    fn height_factor(&self, y: f32) -> f32 {
        (1.0 - y) * 4.5 * self.density
    }
}

/// Returns octaves, from the first one.
fn octaves(first: Octave) -> impl Iterator<Item = Octave> {
    std::iter::successors(Some(first), |octave| {
        Some(Octave { frequency: octave.frequency * LACUNARITY, amplitude: octave.amplitude * 0.5 })
    })
}

fn scaled(b: Aabb, factor: f32) -> Aabb {
    Aabb { min: factor * b.min, max: factor * b.max }
}

/// Returns the density at a height. It increases with `noise`, and decreases with the height.
fn profile(y: f32, noise: f32) -> f32 {
    let density = noise.clamp(0.0, 1.0) + 2.0 * (0.5 - y).max(0.0);
    density.clamp(0.0, 1.0)
}

/// Returns the gradient of noise, from finite differences: pbrt-v4's `DNoise`.
fn differences(p: Vec3) -> Vec3 {
    let value = noise(p);
    let beside = [Vec3::X, Vec3::Y, Vec3::Z].map(|axis| noise(p + STEP * axis));
    (Vec3::from_array(beside) - value) / STEP
}

/// Returns the least and greatest result of [`differences`] in a box, which may be too small and too
/// large.
fn differences_range(b: Aabb) -> [Vec3; 2] {
    let ranges = [0, 1, 2].map(|axis| {
        let mut swept = b;
        swept.max[axis] += STEP;
        let [lo, hi] = derivative_range(swept, axis).map(f64::from);
        // Adding the step rounds by up to half an ulp; far from the origin, it may vanish or double.
        let magnitude = f64::from(swept.min[axis].abs().max(swept.max[axis].abs()));
        let error = (magnitude * f64::from(f32::EPSILON / 2.0) * 1.01 / f64::from(STEP)).min(1.0);
        let steps = [1.0 - error, 1.0 + error];
        let low = (lo * steps[0]).min(lo * steps[1]) - DIFFERENCE_ROUNDING;
        let high = (hi * steps[0]).max(hi * steps[1]) + DIFFERENCE_ROUNDING;
        [low as f32, high as f32]
    });
    [Vec3::from_array(ranges.map(|range| range[0])), Vec3::from_array(ranges.map(|range| range[1]))]
}

impl Field for CloudField {
    fn kind(&self) -> &'static str {
        "cloud"
    }

    fn bounds(&self) -> Option<Aabb> {
        Some(self.bounds)
    }

    fn emits(&self) -> bool {
        false
    }

    fn extinction(&self) -> Vec3 {
        self.extinction
    }

    fn constant_albedo(&self) -> Option<Vec3> {
        Some(self.albedo)
    }

    fn density_bounds(&self, boxes: &[Aabb], out: &mut Vec<[f32; 2]>) {
        out.clear();
        out.extend(boxes.iter().map(|&b| self.density_range(b)));
    }

    fn evaluate(&self, points: &[Vec3], out: &mut Vec<MediumPoint>) {
        out.clear();
        out.extend(points.iter().map(|&p| MediumPoint {
            extinction: self.density(p) * self.extinction,
            albedo: self.albedo,
            emission: Vec3::ZERO,
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lightbound_math::vec3;
    use proptest::prelude::*;

    fn cloud(density: f32, wispiness: f32, frequency: f32) -> CloudField {
        CloudField {
            bounds: Aabb { min: Vec3::ZERO, max: Vec3::ONE },
            extinction: vec3(1.0, 3.0, 0.7),
            albedo: Vec3::ONE,
            density,
            wispiness,
            frequency,
        }
    }

    /// Positions, with values of pbrt-v4's `CloudMedium::Density` for density, wispiness and
    /// frequency of 1, 1, 5; 2, 0, 3; and 0.5, 4, 20. Compiled without fused operations.
    const EXPECTED: [(Vec3, [f32; 3]); 8] = [
        (vec3(2.71, 0.33, 2.42), [0.68511313, 0.33999997, 0.33999997]),
        (vec3(0.44, 0.34, -0.72), [0.47714478, 0.32, 0.62471527]),
        (vec3(2.94, 0.98, 1.13), [0.0034439906, 0.018903147, 0.0]),
        (vec3(2.11, 0.85, 0.67), [0.0, 0.09844912, 0.052960083]),
        (vec3(0.93, 0.36, 2.0), [1.0, 0.27999997, 0.3794025]),
        (vec3(2.93, 0.39, 0.82), [0.2218238, 0.58073485, 0.22000003]),
        (vec3(0.83, 0.38, -0.54), [0.5762613, 1.0, 0.24000001]),
        (vec3(1.42, 0.95, 0.06), [0.043638006, 0.051161207, 0.027937643]),
    ];

    #[test]
    fn densities_equal_those_of_pbrt() {
        let clouds = [cloud(1.0, 1.0, 5.0), cloud(2.0, 0.0, 3.0), cloud(0.5, 4.0, 20.0)];
        for (p, expected) in EXPECTED {
            assert_eq!(clouds.map(|cloud| cloud.density(p)), expected, "{p}");
        }
    }

    #[test]
    fn bounds_are_tight_in_small_boxes() {
        for (wispiness, cells, tightness) in [(0.0, 32, 0.4), (1.0, 32, 0.8), (1.0, 128, 0.6)] {
            let cloud = cloud(1.0, wispiness, 5.0);
            let size = 1.0 / cells as f32;
            let (mut width, mut count) = (0.0, 0);
            for i in 0..2000u32 {
                let cell = [73, 179, 283].map(|k| (i.wrapping_mul(k * 7919) >> 3) % cells);
                let min = size * Vec3::from_array(cell.map(|x| x as f32));
                if min.y < 0.5 {
                    continue;
                }
                let [lo, hi] = cloud.density_range(Aabb { min, max: min + size });
                width += hi - lo;
                count += 1;
            }
            assert!(width < tightness * count as f32, "{wispiness} {cells}");
        }
    }

    proptest! {
        #[test]
        fn bounds_contain_all_densities(
            parameters in (-2f32..4.0, -1f32..5.0, prop_oneof![-5f32..20.0, 1e3..1e7f32]),
            min in prop::array::uniform3(-2f32..2.0),
            exponents in prop::array::uniform3(-6f32..0.3),
            points in prop::collection::vec(prop::array::uniform3(0f32..=1.0), 20),
            shift in prop_oneof![3 => Just(0f32), 1 => -1e4..1e4f32, 1 => Just(1e18f32)],
        ) {
            let field = cloud(parameters.0, parameters.1, parameters.2);
            let min = Vec3::from_array(min) + vec3(shift, 0.0, shift);
            let max = min + Vec3::from_array(exponents.map(|e| 10f32.powf(e)));
            let b = Aabb { min, max };
            let (mut bounds, mut out) = (Vec::new(), Vec::new());
            field.density_bounds(&[b], &mut bounds);
            let [low, high] = bounds[0];
            prop_assert!(low >= 0.0 && high <= 1.0);
            for unit in points {
                let p = (min + (max - min) * Vec3::from_array(unit)).clamp(min, max);
                field.evaluate(&[p], &mut out);
                let extinction = out[0].extinction;
                prop_assert!(extinction.cmpge(low * field.extinction).all(), "{extinction} {low}");
                prop_assert!(extinction.cmple(high * field.extinction).all(), "{extinction} {high}");
            }
        }
    }

    #[test]
    fn extreme_parameters_have_finite_densities() {
        let (max, far) = (CloudField::MAX_PARAMETER, CloudField::MAX_COORDINATE);
        for sign in [-1.0, 1.0] {
            let field = cloud(sign * max, max, sign * max);
            for p in [Vec3::splat(far), Vec3::splat(-far), vec3(0.1, 0.7, far)] {
                let density = field.density(p);
                let [low, high] = field.density_range(Aabb { min: p, max: p });
                assert!(density >= low && density <= high, "{p}: {density} {low} {high}");
            }
            let everywhere = Aabb { min: Vec3::splat(-far), max: Vec3::splat(far) };
            assert_eq!(field.density_range(everywhere), [0.0, 1.0]);
        }
    }
}
