//! Dispersion: refraction at an interface whose index depends on the wavelength.
//!
//! Light is computed in RGB. The first refraction at a dispersive interface reduces a path to one
//! wavelength, which it keeps from there on ([`sample_wavelength`]). The mean over all samples is
//! the RGB of the spectral result, if all other spectra on the path are flat. Reflection by a
//! smooth interface stays RGB, with the mean reflectance over all wavelengths, so that a path which
//! is only reflected has no chromatic noise. A rough interface is a shader with one index per
//! evaluation, so there, reflected paths have one wavelength, too.

use super::fresnel;
use lightbound_math::Vec3;
use lightbound_math::spectrum::{HELIUM_D_NM, Spectrum, WavelengthSample, sample_wavelength};

/// First and last wavelength of visible light, nm.
const VISIBLE: [f32; 2] = [360.0, 830.0];

/// A refractive index that depends on the wavelength.
#[derive(Clone, Debug)]
pub struct DispersiveIndex {
    /// Indices every nm of visible light.
    indices: Vec<f32>,
    /// The lowest and the highest index, and the index at the helium d line.
    representative: [f32; 3],
}

/// What a path carries at an interface.
#[derive(Clone, Copy, Debug)]
pub struct PathWavelength {
    /// Its wavelength in nm; `None` for RGB.
    pub nm: Option<f32>,
    /// Random number in [0, 1) that selects a wavelength.
    pub u: f32,
}

impl PathWavelength {
    /// Selects the path's wavelength, unless it has one. Returns it in nm, with the factor for the
    /// throughput.
    pub fn select(self) -> (f32, Vec3) {
        match self.nm {
            Some(nm) => (nm, Vec3::ONE),
            None => {
                let WavelengthSample { nm, colour } = sample_wavelength(self.u);
                (nm, colour)
            }
        }
    }
}

/// The choice between reflection and refraction.
pub(super) struct InterfaceSample {
    /// The relative index of the refracted ray; `None` for reflection.
    pub refraction: Option<f32>,
    /// Reflectance or transmittance over the probability of the choice, without the factor 1/η².
    pub weight: Vec3,
    /// Wavelength of the path from here on.
    pub nm: Option<f32>,
}

impl DispersiveIndex {
    /// Creates the index of a spectrum. Beyond its ends it is constant. `None` if an index is not
    /// positive and finite.
    pub fn new(spectrum: &Spectrum) -> Option<DispersiveIndex> {
        let [first, last] = spectrum.range();
        let index = |nm: f32| spectrum.at(nm.clamp(first, last)).clamp(1e-4, 1e4);
        let is_valid = |nm: f32| {
            let eta = spectrum.at(nm.clamp(first, last));
            eta > 0.0 && eta.is_finite()
        };
        let [start, end] = VISIBLE.map(|nm| nm as u16);
        if !(start..=end).all(|nm| is_valid(nm.into())) {
            return None;
        }
        let indices: Vec<f32> = (start..=end).map(|nm| index(nm.into())).collect();
        let low = indices.iter().copied().fold(f32::INFINITY, f32::min);
        let high = indices.iter().copied().fold(0.0, f32::max);
        Some(DispersiveIndex { indices, representative: [low, high, index(HELIUM_D_NM)] })
    }

    /// Returns the index with a function applied to it. The function must not decrease, with
    /// positive and finite values.
    pub fn map(&self, f: impl Fn(f32) -> f32) -> DispersiveIndex {
        DispersiveIndex {
            indices: self.indices.iter().map(|&eta| f(eta)).collect(),
            representative: self.representative.map(f),
        }
    }

    /// Returns the lowest and the highest index.
    pub fn range(&self) -> [f32; 2] {
        [self.representative[0], self.representative[1]]
    }

    /// Returns whether the index is the same at all wavelengths.
    pub fn is_constant(&self) -> bool {
        self.representative[0] == self.representative[1]
    }

    /// Returns the index at a wavelength in nm.
    pub fn at(&self, nm: f32) -> f32 {
        let i = (nm - VISIBLE[0]).round().max(0.0) as usize;
        self.indices[i.min(self.indices.len() - 1)]
    }

    /// Chooses reflection or refraction with the random number `u`. `cos` is the cosine of the
    /// outgoing direction, which is `above` the interface or below it.
    pub(super) fn sample(
        &self,
        u: f32,
        wavelength: PathWavelength,
        cos: f32,
        above: bool,
    ) -> InterfaceSample {
        let relative = |eta: f32| if above { eta } else { 1.0 / eta };
        let reflectance = |eta: f32| fresnel::dielectric(cos, relative(eta));
        if let Some(nm) = wavelength.nm {
            let eta = self.at(nm);
            let refracts = u >= reflectance(eta);
            return InterfaceSample {
                refraction: refracts.then(|| relative(eta)),
                weight: Vec3::ONE,
                nm: Some(nm),
            };
        }
        // The same for all wavelengths; below 1 if any of them is refracted.
        let probability = self.representative.map(reflectance).into_iter().sum::<f32>() / 3.0;
        let WavelengthSample { nm, colour } = sample_wavelength(wavelength.u);
        let eta = self.at(nm);
        let difference = reflectance(eta) - probability;
        if u < probability {
            // The mean colour is 1, so the mean weight is the mean reflectance over the
            // probability.
            return InterfaceSample {
                refraction: None,
                weight: Vec3::ONE + colour * (difference / probability),
                nm: None,
            };
        }
        InterfaceSample {
            refraction: Some(relative(eta)),
            weight: colour * (1.0 - difference / (1.0 - probability)),
            nm: Some(nm),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DVec3;
    use lightbound_math::spectrum::{named, reflectance_rgb};

    const N: u32 = 1000;

    fn glass() -> DispersiveIndex {
        DispersiveIndex::new(&named("glass-F11").unwrap()).unwrap()
    }

    /// The mean weights of reflection and refraction, and of refraction times a power of its index.
    fn means(index: &DispersiveIndex, cos: f32, above: bool, nm: Option<f32>) -> [DVec3; 3] {
        let mut sums = [DVec3::ZERO; 3];
        for i in 0..N * N {
            let [u, v] = [i % N, i / N].map(|i| (i as f32 + 0.5) / N as f32);
            let s = index.sample(u, PathWavelength { nm, u: v }, cos, above);
            let weight = s.weight.as_dvec3() / f64::from(N * N);
            match s.refraction {
                None => sums[0] += weight,
                Some(eta) => {
                    sums[1] += weight;
                    sums[2] += weight * f64::from(eta).powi(8);
                }
            }
        }
        sums
    }

    #[test]
    fn mean_weights_are_the_rgb_of_spectral_reflection_and_refraction() {
        let index = glass();
        // 0.83 is near the critical angle, which some wavelengths exceed.
        for (cos, above) in
            [(1.0, true), (0.2, true), (0.9, false), (0.83, false), (0.826, false), (0.5, false)]
        {
            let relative = |nm: f32| if above { index.at(nm) } else { 1.0 / index.at(nm) };
            let rgb = |f: &dyn Fn(f32) -> f32| {
                let numbers: Vec<f32> =
                    (360..=830).flat_map(|nm| [nm as f32, f(nm as f32)]).collect();
                reflectance_rgb(&Spectrum::new(&numbers).unwrap())
            };
            let reflectance = |nm: f32| fresnel::dielectric(cos, relative(nm));
            let expected = [
                rgb(&reflectance),
                rgb(&|nm| 1.0 - reflectance(nm)),
                rgb(&|nm| (1.0 - reflectance(nm)) * relative(nm).powi(8)),
            ];
            for (found, expected) in means(&index, cos, above, None).into_iter().zip(expected) {
                // Spectra outside the gamut have negative components, which `reflectance_rgb` cuts
                // off.
                let error = (found.as_vec3().max(Vec3::ZERO) - expected).abs().max_element();
                assert!(error < 4e-3 * expected.max_element() + 1e-4, "{cos}: {found} {expected}");
            }
        }
    }

    #[test]
    fn paths_keep_their_wavelength() {
        let index = glass();
        for nm in [400.0, 550.0, 700.0] {
            let r = f64::from(fresnel::dielectric(0.6, index.at(nm)));
            let [reflected, refracted, _] = means(&index, 0.6, true, Some(nm));
            assert!((reflected - r).abs().max_element() < 2e-3);
            assert!((refracted - (1.0 - r)).abs().max_element() < 2e-3);
            let s = index.sample(0.999, PathWavelength { nm: Some(nm), u: 0.1 }, 0.6, true);
            assert_eq!((s.nm, s.refraction), (Some(nm), Some(index.at(nm))));
        }
        assert!(index.at(400.0) > index.at(700.0) + 0.04);
    }

    #[test]
    fn reflection_stays_rgb_with_little_chromatic_noise() {
        let index = glass();
        for i in 0..100 {
            let s = index.sample(0.0, PathWavelength { nm: None, u: i as f32 / 100.0 }, 0.8, true);
            assert!(s.nm.is_none() && s.refraction.is_none());
            assert!((s.weight - 1.0).abs().max_element() < 0.5, "{}", s.weight);
        }
    }

    #[test]
    fn spectra_that_do_not_cover_visible_light_continue() {
        let index =
            DispersiveIndex::new(&Spectrum::new(&[500.0, 1.6, 600.0, 1.5]).unwrap()).unwrap();
        assert_eq!([400.0, 550.0, 700.0].map(|nm| index.at(nm)), [1.6, 1.55, 1.5]);
        let constant = Spectrum::new(&[500.0, 1.6, 600.0, 1.6]).unwrap();
        assert!(!index.is_constant() && DispersiveIndex::new(&constant).unwrap().is_constant());
        for invalid in [0.0, -1.0] {
            let spectrum = Spectrum::new(&[400.0, 1.5, 500.0, invalid, 700.0, 1.5]).unwrap();
            assert!(DispersiveIndex::new(&spectrum).is_none());
        }
    }
}
