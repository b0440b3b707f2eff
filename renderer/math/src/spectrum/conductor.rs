//! The reflectance of metals: Fresnel's equations per wavelength, as RGB coefficients.
//!
//! A metal's reflectance per wavelength is F(η(λ), k(λ), θ). Its colour at an angle is the colour
//! of that spectrum under D65, as for other reflectances. The index of refraction of each RGB
//! channel cannot reproduce it: F is not linear in η and k, and saturated colours exceed 1 in sRGB
//! (gold reflects a red of 1.02 at normal incidence). So the colour is fitted over all angles by
//! F(η, k, θ) + e (1 − (1 − cos θ)²) per channel, where e is the *excess* at normal incidence. At
//! grazing angles all metals reflect everything.

use super::{Spectrum, reflectance_rgb, reflectance_weights, wavelengths};
use crate::Vec3;
use glam::DVec3;
use std::f64::consts::FRAC_PI_2;
use std::sync::LazyLock;

/// Coefficients of a metal's reflectance for each RGB channel: F(η, k, θ) + e (1 − (1 − cos θ)²).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MetalFit {
    /// Index of refraction η, 10⁻⁴ to 10⁴.
    pub eta: Vec3,
    /// Extinction coefficient k, 10⁻⁴ to 10⁴.
    pub k: Vec3,
    /// Excess e, −1 to 1.
    pub excess: Vec3,
}

/// Number of angles that the fit considers, evenly spaced from 0 to π/2.
const ANGLES: usize = 32;

/// Maximum number of steps of the fit from one starting point.
const STEPS: usize = 60;

/// Limits of ln η and ln k: 10⁻⁴ and 10⁴.
const MAX_LOG: f64 = 9.210_340_371_976_182;

/// Fits the reflectance of a metal in a medium of refractive index `outside`. The index η − i k of
/// the metal is relative to vacuum.
///
/// For the metals of [`named`](super::named) the error is below 0.003 at all angles. If the
/// reflectance is the same at all wavelengths, η and k are returned unchanged.
pub fn fit_metal(eta: &Spectrum, k: &Spectrum, outside: f32) -> MetalFit {
    if let (Some(eta), Some(k)) = (eta.constant_value(), k.constant_value()) {
        let relative = |x: f32| Vec3::splat(x / outside);
        return MetalFit { eta: relative(eta), k: relative(k), excess: Vec3::ZERO };
    }
    let target = metal_rgb(eta, k, outside, &*COSINES);
    let mean = |s: &Spectrum| reflectance_rgb(s).as_dvec3() / f64::from(outside);
    let (eta, k) = (mean(eta), mean(k));
    let channels = [0, 1, 2].map(|c| {
        let reflectances: Vec<f64> = target.iter().map(|rgb| rgb[c]).collect();
        // The first start is the index of the channel; the others avoid local minima.
        let starts = [[eta[c], k[c]], [0.1, 1.0], [0.5, 3.0], [1.5, 2.0], [2.0, 4.0]];
        let fits =
            starts.map(|[eta, k]| fit_channel(&reflectances, [libm::log(eta), libm::log(k)]));
        fits.into_iter().min_by(|a, b| a.error.total_cmp(&b.error)).expect("there are starts")
    });
    let all = |f: fn(&ChannelFit) -> f64| DVec3::from_array([0, 1, 2].map(|c| f(&channels[c])));
    MetalFit {
        eta: all(|fit| libm::exp(fit.log[0])).as_vec3(),
        k: all(|fit| libm::exp(fit.log[1])).as_vec3(),
        excess: all(|fit| fit.excess).as_vec3(),
    }
}

/// Returns the RGB reflectance of a metal at several cosines, by spectral integration.
fn metal_rgb(eta: &Spectrum, k: &Spectrum, outside: f32, cosines: &[f64]) -> Vec<DVec3> {
    let outside = f64::from(outside);
    let index: Vec<[f64; 2]> =
        wavelengths().map(|nm| [eta, k].map(|s| f64::from(s.at(nm)) / outside)).collect();
    let rgb = |&cos: &f64| {
        let terms = std::iter::zip(&index, reflectance_weights());
        terms.map(|([eta, k], weight)| *weight * fresnel(cos, *eta, *k)).sum()
    };
    cosines.iter().map(rgb).collect()
}

/// The cosines of the angles of the fit.
static COSINES: LazyLock<[f64; ANGLES]> = LazyLock::new(|| {
    std::array::from_fn(|i| libm::cos(FRAC_PI_2 * (i as f64 + 0.5) / ANGLES as f64))
});

/// Returns the shape of the excess over the angle, 1 − (1 − cos θ)².
fn excess_shape(cos: f64) -> f64 {
    cos * (2.0 - cos)
}

/// A fit of one channel.
#[derive(Clone, Copy, Debug)]
struct ChannelFit {
    /// ln η and ln k.
    log: [f64; 2],
    excess: f64,
    /// Sum of squared errors.
    error: f64,
}

impl ChannelFit {
    /// Returns the best excess for an index, and the error.
    fn new(target: &[f64], log: [f64; 2]) -> ChannelFit {
        let log = log.map(|x| if x > -MAX_LOG { x.min(MAX_LOG) } else { -MAX_LOG });
        let index = log.map(libm::exp);
        let missing: Vec<f64> = std::iter::zip(&*COSINES, target)
            .map(|(&cos, target)| target - fresnel(cos, index[0], index[1]))
            .collect();
        let shape = || COSINES.iter().copied().map(excess_shape);
        let numerator: f64 = std::iter::zip(shape(), &missing).map(|(s, m)| s * m).sum();
        let denominator: f64 = shape().map(|s| s * s).sum();
        let excess = (numerator / denominator).clamp(-1.0, 1.0);
        let errors = std::iter::zip(shape(), &missing).map(|(s, m)| m - excess * s);
        ChannelFit { log, excess, error: errors.map(|e| e * e).sum() }
    }
}

/// Fits one channel by the Nelder–Mead method in ln η and ln k; the excess follows linearly.
fn fit_channel(target: &[f64], start: [f64; 2]) -> ChannelFit {
    let fit = |log| ChannelFit::new(target, log);
    let mut simplex =
        [fit(start), fit([start[0] + 0.5, start[1]]), fit([start[0], start[1] + 0.25])];
    for _ in 0..STEPS {
        simplex.sort_by(|a, b| a.error.total_cmp(&b.error));
        let [best, good, worst] = simplex;
        let centre = [0, 1].map(|i| 0.5 * (best.log[i] + good.log[i]));
        let along = |t: f64| fit([0, 1].map(|i| centre[i] + t * (worst.log[i] - centre[i])));
        let reflected = along(-1.0);
        if reflected.error < best.error {
            let expanded = along(-2.0);
            simplex[2] = if expanded.error < reflected.error { expanded } else { reflected };
        } else if reflected.error < good.error {
            simplex[2] = reflected;
        } else {
            let contracted = along(if reflected.error < worst.error { -0.5 } else { 0.5 });
            if contracted.error < worst.error.min(reflected.error) {
                simplex[2] = contracted;
            } else {
                for corner in &mut simplex[1..] {
                    *corner = fit([0, 1].map(|i| 0.5 * (best.log[i] + corner.log[i])));
                }
            }
        }
    }
    simplex.into_iter().min_by(|a, b| a.error.total_cmp(&b.error)).expect("a simplex has corners")
}

/// Returns the reflectance for unpolarized light of an interface to a medium of relative index
/// η − i k (Born and Wolf, *Principles of Optics*).
fn fresnel(cos: f64, eta: f64, k: f64) -> f64 {
    let cos2 = cos * cos;
    let sin2 = 1.0 - cos2;
    let t = eta * eta - k * k - sin2;
    let a2_b2 = (t * t + 4.0 * eta * eta * k * k).sqrt();
    let a = (0.5 * (a2_b2 + t)).max(0.0).sqrt();
    let cross = 2.0 * cos * a;
    let sum = a2_b2 + cos2;
    let perpendicular = (sum - cross) / (sum + cross);
    let sum = cos2 * a2_b2 + sin2 * sin2;
    let cross = cross * sin2;
    0.5 * perpendicular * (1.0 + (sum - cross) / (sum + cross))
}

#[cfg(test)]
mod tests {
    use super::super::named;
    use super::*;

    const METALS: [&str; 5] = ["Au", "Cu", "Ag", "Al", "CuZn"];

    fn metal(symbol: &str) -> [Spectrum; 2] {
        ["eta", "k"].map(|part| named(&format!("metal-{symbol}-{part}")).unwrap())
    }

    /// Evaluates a fit.
    fn reflectance(fit: &MetalFit, cos: f64) -> DVec3 {
        DVec3::from_array([0, 1, 2].map(|c| {
            fresnel(cos, f64::from(fit.eta[c]), f64::from(fit.k[c]))
                + f64::from(fit.excess[c]) * excess_shape(cos)
        }))
    }

    /// Angles from 0 to nearly 90 degrees.
    fn angles() -> impl Iterator<Item = f64> {
        (0..=899).map(|i| libm::cos((f64::from(i) * 0.1).to_radians()))
    }

    #[test]
    fn one_reflection_matches_spectral_integration() {
        for outside in [1.0, 1.5, 2.0] {
            for symbol in METALS {
                let [eta, k] = metal(symbol);
                let fit = fit_metal(&eta, &k, outside);
                let cosines: Vec<f64> = angles().collect();
                let worst = std::iter::zip(&cosines, metal_rgb(&eta, &k, outside, &cosines))
                    .map(|(&cos, rgb)| (reflectance(&fit, cos) - rgb).abs().max_element())
                    .fold(0.0, f64::max);
                println!("{symbol} in a medium of index {outside}: ΔRGB ≤ {worst:.5}");
                assert!(worst < 0.003, "{symbol} {outside}: {worst} {fit:?}");
            }
        }
    }

    #[test]
    fn several_reflections_differ_by_known_amounts() {
        // Products of colours are not colours of products.
        let limits = [[0.045, 0.11], [0.03, 0.07], [0.001, 0.002], [0.001, 0.001], [0.04, 0.08]];
        for (symbol, limits) in std::iter::zip(METALS, limits) {
            let [eta, k] = metal(symbol);
            let fit = fit_metal(&eta, &k, 1.0);
            for (bounces, limit) in [2, 3].into_iter().zip(limits) {
                let power = |nm: f32| {
                    libm::pow(fresnel(1.0, eta.at(nm).into(), k.at(nm).into()), f64::from(bounces))
                };
                let spectral: DVec3 = std::iter::zip(wavelengths(), reflectance_weights())
                    .map(|(nm, w)| *w * power(nm))
                    .sum();
                let rgb = reflectance(&fit, 1.0).powf(f64::from(bounces));
                let difference = rgb - spectral;
                println!(
                    "{symbol}, {bounces} reflections: {spectral:.4}, RGB differs by {difference:.4}"
                );
                assert!(difference.abs().max_element() < limit, "{symbol} {bounces}: {difference}");
            }
        }
    }

    #[test]
    fn constant_indices_stay_as_they_are() {
        let fit = fit_metal(&Spectrum::constant(1.5), &Spectrum::constant(2.0), 1.25);
        assert_eq!((fit.eta, fit.k, fit.excess), (Vec3::splat(1.2), Vec3::splat(1.6), Vec3::ZERO));
    }

    #[test]
    fn coefficients_stay_in_their_ranges_for_odd_spectra() {
        let spectra = [
            Spectrum::new(&[400.0, 0.0, 700.0, 5.0]).unwrap(),
            Spectrum::new(&[589.0, 2.0]).unwrap(),
            Spectrum::new(&[300.0, 1e30, 900.0, 0.0]).unwrap(),
            Spectrum::new(&[300.0, -1.0, 900.0, 1.0]).unwrap(),
            Spectrum::constant(0.0),
        ];
        for (eta, k) in spectra.iter().flat_map(|eta| spectra.iter().map(move |k| (eta, k))) {
            let MetalFit { eta, k, excess } = fit_metal(eta, k, 1.0);
            for x in [eta, k] {
                assert!(x.min_element() >= 0.0 && x.max_element() <= 1.0001e4, "{x}");
            }
            assert!(excess.abs().max_element() <= 1.0, "{excess}");
        }
    }
}
