//! Spectra and their conversion to linear sRGB.
//!
//! The renderer computes in linear sRGB (BT.709 primaries, white D65), so every spectrum in a scene
//! file is converted to RGB when the scene is built. All integrals run over 360–830 nm in steps of
//! 1 nm against the CIE 1931 observer (`cie`).
//!
//! - A *reflectance* (also η or k of a conductor, if the other is not a spectrum) becomes its
//!   colour under D65, which has the RGB (1, 1, 1): rgb = M ∫ s D65 (x̄, ȳ, z̄) / ∫ D65 ȳ, each
//!   channel divided by the same integral for s = 1. So a constant c becomes (c, c, c), without
//!   chromatic adaptation. Negative channels (colours outside the gamut) become 0.
//! - An *illuminant* keeps its chromaticity, without adaptation: a constant spectrum is
//!   equal-energy white, which is slightly pink in sRGB. Negative channels become 0. The colour is
//!   then scaled to luminance 1, as pbrt-v4 (lights.cpp) does with every light that is not given in
//!   RGB.
//!
//! RGB values in other colour spaces are converted by [`Primaries`].

mod cie;
mod conductor;
mod illuminants;
mod metals;
mod named;
mod primaries;
mod sensor;
mod wavelength;

use crate::{Vec3, vec3};
use glam::{DMat3, DVec3};
use std::sync::LazyLock;

pub use conductor::{MetalFit, fit_metal};
pub use named::{HELIUM_D_NM, named, names};
pub use primaries::{Chromaticity, Primaries, white_balance};
pub use sensor::{SENSORS, white_balance_of_camera};
pub use wavelength::{WavelengthSample, sample_wavelength};

/// The matrix from XYZ to linear sRGB (IEC 61966-2-1): the inverse of the matrix of the BT.709
/// primaries and D65 white, to seven digits.
pub const RGB_FROM_XYZ: DMat3 = DMat3::from_cols(
    DVec3::new(3.240_454_2, -0.969_266_0, 0.055_643_4),
    DVec3::new(-1.537_138_5, 1.876_010_8, -0.204_025_9),
    DVec3::new(-0.498_531_4, 0.041_556_0, 1.057_225_2),
);

/// Returns the relative luminance of a linear sRGB colour.
#[inline]
pub fn luminance(rgb: Vec3) -> f32 {
    rgb.dot(vec3(0.2126, 0.7152, 0.0722))
}

/// A spectrum, piecewise linear between its points and 0 outside them, as in pbrt-v4.
#[derive(Clone, Debug, PartialEq)]
pub struct Spectrum {
    /// Pairs of wavelength (nm, increasing) and value.
    points: Vec<(f32, f32)>,
}

/// An error in the numbers or the text of a spectrum.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SpectrumError {
    /// There are no values.
    #[error("the spectrum is empty; give pairs of wavelength in nm and value")]
    Empty,
    /// A wavelength without a value.
    #[error(
        "the spectrum has an odd number of values ({count}); give pairs of wavelength in nm and \
         value"
    )]
    Unpaired {
        /// Number of values.
        count: usize,
    },
    /// A number is infinite or NaN.
    #[error("the spectrum's value at {nm} nm is {value}; wavelengths and values must be finite")]
    NotFinite {
        /// The wavelength.
        nm: f32,
        /// The value.
        value: f32,
    },
    /// Wavelengths do not increase.
    #[error(
        "the spectrum goes from {before} nm to {after} nm; sort the pairs by increasing wavelength"
    )]
    NotIncreasing {
        /// The preceding wavelength.
        before: f32,
        /// The wavelength that follows it.
        after: f32,
    },
    /// Text that is not a number.
    #[error("line {line} of the spectrum contains {text:?}, which is not a number")]
    NotANumber {
        /// Line number, from 1.
        line: usize,
        /// The offending word.
        text: String,
    },
}

impl Spectrum {
    /// Creates a spectrum from alternating wavelengths (nm, increasing) and values.
    pub fn new(numbers: &[f32]) -> Result<Spectrum, SpectrumError> {
        if numbers.is_empty() {
            return Err(SpectrumError::Empty);
        }
        if !numbers.len().is_multiple_of(2) {
            return Err(SpectrumError::Unpaired { count: numbers.len() });
        }
        let points: Vec<(f32, f32)> = numbers.chunks_exact(2).map(|p| (p[0], p[1])).collect();
        if let Some(&(nm, value)) = points.iter().find(|p| !p.0.is_finite() || !p.1.is_finite()) {
            return Err(SpectrumError::NotFinite { nm, value });
        }
        if let Some(p) = points.windows(2).find(|p| p[0].0 >= p[1].0) {
            return Err(SpectrumError::NotIncreasing { before: p[0].0, after: p[1].0 });
        }
        Ok(Spectrum { points })
    }

    /// Creates a constant spectrum over the visible range.
    pub fn constant(value: f32) -> Spectrum {
        Spectrum { points: vec![(cie::FIRST_NM as f32, value), (cie::LAST_NM as f32, value)] }
    }

    /// Creates a spectrum from points sorted by wavelength.
    fn from_points(points: Vec<(f32, f32)>) -> Spectrum {
        debug_assert!(points.windows(2).all(|p| p[0].0 < p[1].0));
        Spectrum { points }
    }

    /// Tabulates `f` at increasing wavelengths.
    fn tabulate(wavelengths: impl Iterator<Item = f32>, f: impl Fn(f32) -> f32) -> Spectrum {
        Spectrum::from_points(wavelengths.map(|nm| (nm, f(nm))).collect())
    }

    /// Returns the first and the last wavelength, nm.
    pub fn range(&self) -> [f32; 2] {
        [self.points[0].0, self.points[self.points.len() - 1].0]
    }

    /// Returns the value, if it is the same at all visible wavelengths.
    pub fn constant_value(&self) -> Option<f32> {
        let value = self.at(cie::FIRST_NM as f32);
        wavelengths().all(|nm| self.at(nm) == value).then_some(value)
    }

    /// Returns the value at a wavelength in nm.
    pub fn at(&self, nm: f32) -> f32 {
        let i = self.points.partition_point(|p| p.0 <= nm);
        match (i.checked_sub(1).map(|i| self.points[i]), self.points.get(i)) {
            (Some((x0, y0)), Some(&(x1, y1))) => y0 + (y1 - y0) * ((nm - x0) / (x1 - x0)),
            (Some((x0, y0)), None) if nm == x0 => y0,
            _ => 0.0,
        }
    }
}

/// Parses the text of a `.spd` file: pairs of wavelength (nm, increasing) and value. `#` starts a
/// comment.
pub fn from_text(text: &str) -> Result<Spectrum, SpectrumError> {
    let mut numbers = Vec::new();
    for (i, line) in text.lines().enumerate() {
        for word in line.split('#').next().unwrap_or_default().split_whitespace() {
            numbers.push(
                word.parse().map_err(|_| SpectrumError::NotANumber {
                    line: i + 1,
                    text: word.to_owned(),
                })?,
            );
        }
    }
    Spectrum::new(&numbers)
}

/// Returns the wavelengths at which integrals are evaluated, nm.
fn wavelengths() -> impl Iterator<Item = f32> {
    (cie::FIRST_NM as u16..=cie::LAST_NM as u16).map(f32::from)
}

/// Returns the XYZ of a self-luminous spectrum, up to scale.
fn xyz(s: &Spectrum) -> DVec3 {
    wavelengths().map(|nm| cie::colour_matching(f64::from(nm)) * f64::from(s.at(nm))).sum()
}

/// Returns the linear sRGB of a reflectance-like spectrum: its colour under D65. A constant c gives
/// (c, c, c). Never negative.
pub fn reflectance_rgb(s: &Spectrum) -> Vec3 {
    let rgb: DVec3 =
        wavelengths().zip(reflectance_weights()).map(|(nm, w)| w * f64::from(s.at(nm))).sum();
    rgb.as_vec3().max(Vec3::ZERO)
}

/// Returns the weight of each sample of a reflectance in [`reflectance_rgb`], before the clamp: the
/// reflectance is linear between the wavelengths `nm`, which increase, and constant outside them.
///
/// # Panics
/// If there are no wavelengths.
pub fn reflectance_sample_weights(nm: &[f32]) -> Vec<DVec3> {
    let last = nm.len() - 1;
    let mut weights = vec![DVec3::ZERO; nm.len()];
    for (x, &w) in wavelengths().zip(reflectance_weights()) {
        let right = nm.partition_point(|&sample| sample <= x).min(last);
        let left = right.saturating_sub(1);
        let t = f64::from(x - nm[left]) / f64::from(nm[right] - nm[left]);
        // NaN for a single wavelength.
        let t = if t > 0.0 { t.min(1.0) } else { 0.0 };
        weights[left] += (1.0 - t) * w;
        weights[right] += t * w;
    }
    weights
}

/// Returns the weight of each wavelength of a reflectance in each channel; every channel sums to 1.
fn reflectance_weights() -> &'static [DVec3] {
    static WEIGHTS: LazyLock<Vec<DVec3>> = LazyLock::new(|| {
        let white = illuminants::daylight(6500.0);
        let channels =
            |nm: f32| RGB_FROM_XYZ * cie::colour_matching(f64::from(nm)) * f64::from(white.at(nm));
        let sum: DVec3 = wavelengths().map(channels).sum();
        wavelengths().map(|nm| channels(nm) / sum).collect()
    });
    &WEIGHTS
}

/// Returns the linear sRGB of a light's spectrum, scaled to luminance 1; black if the spectrum has
/// no luminance. Never negative.
pub fn illuminant_rgb(s: &Spectrum) -> Vec3 {
    unit_luminance(xyz(s))
}

/// Returns the luminous value of a radiometric spectrum per nm: 683 lm/W ∫ s ȳ dλ.
pub fn photometric(s: &Spectrum) -> f64 {
    683.002 * xyz(s).y
}

/// Returns the linear sRGB of a black body, scaled to luminance 1; black if the temperature
/// (kelvin) is not positive.
///
/// Planck's law with the radiation constant c₂ = 1.438 777·10⁻² m·K. Below about 1000 K the colour
/// is outside the sRGB gamut: blue, then green, becomes 0.
pub fn blackbody_rgb(kelvin: f32) -> Vec3 {
    unit_luminance(blackbody_xyz(kelvin.into()))
}

/// Returns the radiance of a black body in linear sRGB, as pbrt-v4 renders media with a
/// temperature: the spectrum is scaled to a maximum of 1 at any wavelength, and white light has the
/// luminance [`CIE_Y_INTEGRAL`] if its spectrum is 1. Black if the temperature (kelvin) is not
/// positive. Negative channels are clamped to 0.
pub fn blackbody_radiance(kelvin: f32) -> Vec3 {
    let kelvin = f64::from(kelvin);
    let c2 = 1.438_777e7 / kelvin;
    if !(c2 > 0.0 && c2.is_finite()) {
        return Vec3::ZERO;
    }
    // Planck's law at the wavelength x/c₂ nm is x⁻⁵ / (exp(1/x) − 1), which has its maximum at
    // exp(−1/x) = 1 − 1/(5x).
    const PEAK: f64 = 1.0 / 4.965_114_231_744_276;
    let log_planck = |x: f64| -5.0 * libm::log(x) - 1.0 / x - libm::log(-libm::expm1(-1.0 / x));
    let peak = log_planck(PEAK);
    let relative = |nm: f64| libm::exp(log_planck(nm / c2) - peak);
    let xyz: DVec3 =
        wavelengths().map(|nm| cie::colour_matching(f64::from(nm)) * relative(nm.into())).sum();
    (RGB_FROM_XYZ * xyz).as_vec3().max(Vec3::ZERO)
}

/// Integral of the luminous efficiency ȳ over the wavelength in nm.
pub const CIE_Y_INTEGRAL: f32 = 106.856_895;

/// Returns the XYZ of a black body, up to scale; 0 if the temperature (kelvin) is not positive.
fn blackbody_xyz(kelvin: f64) -> DVec3 {
    let c2 = 1.438_777e7 / kelvin;
    if !(c2 > 0.0 && c2.is_finite()) {
        return DVec3::ZERO;
    }
    // Relative to the red end, where the visible radiance of cool bodies is largest, to avoid
    // underflow.
    let exponent = |nm: f64| c2 / nm;
    let planck = |nm: f64| {
        let (e, end) = (exponent(nm), exponent(cie::LAST_NM));
        let r = cie::LAST_NM / nm;
        r * r * r * r * r * libm::exp(end - e) * libm::expm1(-end) / libm::expm1(-e)
    };
    wavelengths().map(|nm| cie::colour_matching(f64::from(nm)) * planck(f64::from(nm))).sum()
}

/// Returns the linear sRGB of the chromaticity of `xyz` at luminance 1. Negative channels are
/// clamped to 0.
fn unit_luminance(xyz: DVec3) -> Vec3 {
    let scale = xyz.max_element();
    if !(scale > 0.0 && xyz.y > 0.0) {
        return Vec3::ZERO;
    }
    let rgb = (RGB_FROM_XYZ * (xyz / scale)).as_vec3().max(Vec3::ZERO);
    let y = luminance(rgb);
    if y > 0.0 { rgb / y } else { Vec3::ZERO }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constant_reflectances_are_grey() {
        for c in [0.0, 0.18, 0.5, 1.0, 3.7] {
            let rgb = reflectance_rgb(&Spectrum::constant(c));
            assert!((rgb - Vec3::splat(c)).abs().max_element() <= c * f32::EPSILON, "{c}: {rgb}");
        }
    }

    #[test]
    fn weights_of_samples_give_the_same_colours() {
        let nm = [360.0, 430.5, 500.0, 610.0, 640.0, 830.0];
        let values = [0.1, 0.8, 0.5, 0.9, 0.3, 0.4];
        let pairs: Vec<f32> = std::iter::zip(nm, values).flat_map(|(x, y)| [x, y]).collect();
        let expected = reflectance_rgb(&Spectrum::new(&pairs).unwrap());
        let weighted = |nm: &[f32], values: &[f32]| -> Vec3 {
            let weights = reflectance_sample_weights(nm);
            weights.iter().zip(values).map(|(w, &y)| *w * f64::from(y)).sum::<DVec3>().as_vec3()
        };
        assert!((weighted(&nm, &values) - expected).abs().max_element() < 1e-6);
        // Outside the samples, the first and the last one continue.
        for nm in [&[500.0][..], &[500.0, 501.0], &[100.0, 200.0], &[900.0, 1000.0]] {
            let grey = weighted(nm, &vec![0.25; nm.len()]);
            assert!((grey - Vec3::splat(0.25)).abs().max_element() < 1e-6, "{nm:?}: {grey}");
        }
    }

    #[test]
    fn d65_is_white_and_black_bodies_have_unit_luminance() {
        let rgb = illuminant_rgb(&named("stdillum-D65").unwrap());
        assert!((rgb - Vec3::ONE).abs().max_element() < 1e-3, "{rgb}");
        let warm = blackbody_rgb(6504.0);
        assert!((warm - Vec3::ONE).abs().max_element() < 0.05, "{warm}");
        for kelvin in [0.1, 100.0, 800.0, 1500.0, 2800.0, 1e4, 1e6, 1e30] {
            let rgb = blackbody_rgb(kelvin);
            assert!(
                (luminance(rgb) - 1.0).abs() < 1e-5 && rgb.min_element() >= 0.0,
                "{kelvin}: {rgb}"
            );
            assert_eq!(rgb.x > rgb.z, kelvin < 6000.0, "{kelvin}: {rgb}");
        }
        for invalid in [0.0, -3.0, f32::NAN, f32::INFINITY] {
            assert_eq!(blackbody_rgb(invalid), Vec3::ZERO);
        }
        // Illuminant A is a Planckian radiator.
        let a = illuminant_rgb(&named("stdillum-A").unwrap());
        assert!((a - blackbody_rgb(2855.5)).abs().max_element() < 2e-3, "{a}");
        assert_eq!(illuminant_rgb(&Spectrum::constant(0.0)), Vec3::ZERO);
    }

    #[test]
    fn radiance_of_black_bodies_is_relative_to_the_peak() {
        let y: f64 = wavelengths().map(|nm| cie::colour_matching(nm.into()).y).sum();
        assert!((y / f64::from(CIE_Y_INTEGRAL) - 1.0).abs() < 1e-4, "{y}");
        for kelvin in [1500.0f32, 2000.0, 5000.0, 2e4] {
            let planck = |nm: f64| nm.powi(-5) / (1.438_777e7 / (nm * f64::from(kelvin))).exp_m1();
            let peak = (1..200_000).map(|i| planck(0.05 * f64::from(i))).fold(0.0, f64::max);
            let y = wavelengths()
                .map(f64::from)
                .map(|nm| cie::colour_matching(nm).y * planck(nm) / peak);
            let (y, radiance) = (y.sum::<f64>(), blackbody_radiance(kelvin));
            let colour = radiance / luminance(radiance);
            assert!((colour - blackbody_rgb(kelvin)).abs().max_element() < 1e-4, "{kelvin}");
            // Up to 2000 K, blue is clamped to 0.
            let tolerance = if kelvin <= 2000.0 { 0.03 } else { 1e-4 };
            assert!((f64::from(luminance(radiance)) / y - 1.0).abs() < tolerance, "{kelvin}");
        }
        assert_eq!(blackbody_radiance(100.0), Vec3::ZERO);
        for invalid in [0.0, -3.0, f32::NAN, f32::INFINITY] {
            assert_eq!(blackbody_radiance(invalid), Vec3::ZERO);
        }
    }

    #[test]
    fn luminance_is_y() {
        let y = RGB_FROM_XYZ.inverse().row(1);
        assert!((y - DVec3::new(0.2126, 0.7152, 0.0722)).abs().max_element() < 1e-4, "{y}");
    }

    #[test]
    fn spectra_interpolate_linearly() {
        let s = Spectrum::new(&[400.0, 1.0, 500.0, 3.0]).unwrap();
        assert_eq!(
            [399.9, 400.0, 450.0, 500.0, 500.1].map(|nm| s.at(nm)),
            [0.0, 1.0, 2.0, 3.0, 0.0]
        );
        let line = Spectrum::new(&[589.0, 2.0]).unwrap();
        assert_eq!([588.9, 589.0, 589.1].map(|nm| line.at(nm)), [0.0, 2.0, 0.0]);
    }

    #[test]
    fn text_is_parsed_and_errors_name_their_line() {
        let s = from_text("# a comment\n400 1 # another\n  500\t3e0\n").unwrap();
        assert_eq!(s, Spectrum::new(&[400.0, 1.0, 500.0, 3.0]).unwrap());
        let message = |text| from_text(text).unwrap_err().to_string();
        assert!(message("").contains("empty"));
        assert!(message("400 1\n500").contains("odd"));
        assert!(
            message("400 1\n500 abc").contains("line 2")
                && message("400 1\n500 abc").contains("abc")
        );
        assert!(message("500 1 400 1").contains("500 nm to 400 nm"));
        assert!(message("400 inf").contains("finite"));
        assert!(message("NaN 1").contains("finite"));
    }
}
