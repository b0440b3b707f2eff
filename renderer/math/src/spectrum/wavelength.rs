//! Sampling of wavelengths, for light that glass disperses.
//!
//! The RGB of a spectrum s is Σ s(λ) w(λ) over wavelengths in steps of 1 nm, with the weights w of
//! reflectances under D65. So a path at one wavelength, sampled with probability p, carries the
//! colour w/p: the mean over all wavelengths is (1, 1, 1). Pure colours are outside the gamut of
//! sRGB, so weights may be negative. p is proportional to the sum of their magnitudes.

use super::{cie, reflectance_weights};
use crate::Vec3;
use std::sync::LazyLock;

/// Cumulative probabilities of the wavelengths, and the colour of each over its probability.
struct Table {
    cumulative: Vec<f32>,
    colours: Vec<Vec3>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let weights = reflectance_weights();
    let magnitude = |i: usize| weights[i].abs().element_sum();
    let total: f64 = (0..weights.len()).map(magnitude).sum();
    let mut sum = 0.0;
    let (mut cumulative, mut colours) = (Vec::new(), Vec::new());
    for (i, weight) in weights.iter().enumerate() {
        sum += magnitude(i) / total;
        cumulative.push(sum as f32);
        // Where the observer sees nothing, the probability is 0.
        let colour = *weight * (total / magnitude(i));
        colours.push(if colour.is_finite() { colour.as_vec3() } else { Vec3::ZERO });
    }
    Table { cumulative, colours }
});

/// A sampled wavelength.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WavelengthSample {
    /// Wavelength, nm.
    pub nm: f32,
    /// Linear sRGB of light of this wavelength, over the probability of sampling it. The mean over
    /// all samples is (1, 1, 1). Components are from −2 to 4.4.
    pub colour: Vec3,
}

/// Samples a wavelength of visible light; `u` is in [0, 1).
pub fn sample_wavelength(u: f32) -> WavelengthSample {
    let Table { cumulative, colours } = &*TABLE;
    let i = cumulative.partition_point(|&c| c <= u).min(colours.len() - 1);
    WavelengthSample { nm: cie::FIRST_NM as f32 + i as f32, colour: colours[i] }
}

#[cfg(test)]
mod tests {
    use super::super::{Spectrum, reflectance_rgb};
    use super::*;

    const N: u32 = 1 << 16;

    fn samples() -> impl Iterator<Item = WavelengthSample> {
        (0..N).map(|i| sample_wavelength((i as f32 + 0.5) / N as f32))
    }

    #[test]
    fn mean_colour_of_a_spectrum_is_its_rgb() {
        for s in [
            Spectrum::constant(1.0),
            Spectrum::new(&[400.0, 0.1, 550.0, 0.9, 700.0, 0.3]).unwrap(),
            super::super::named("glass-F11").unwrap(),
        ] {
            let mean =
                samples().map(|w| w.colour.as_dvec3() * f64::from(s.at(w.nm))).sum::<glam::DVec3>()
                    / f64::from(N);
            let error = mean.as_vec3() - reflectance_rgb(&s);
            assert!(error.abs().max_element() < 1e-3, "{mean} {error}");
        }
    }

    #[test]
    fn colours_are_bounded_and_some_components_are_negative() {
        assert!(samples().all(|w| w.colour.min_element() > -2.0 && w.colour.max_element() < 4.4));
        assert!(samples().any(|w| w.colour.x < -0.5));
        let [blue, red] = [0.02, 0.95].map(sample_wavelength);
        assert!(blue.nm < 450.0 && blue.colour.z > 2.0 && red.nm > 600.0 && red.colour.x > 2.0);
        for u in [0.0, 1.0 - f32::EPSILON / 2.0] {
            assert!(sample_wavelength(u).colour.is_finite());
        }
    }
}
