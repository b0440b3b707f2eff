//! Integrates a phase function over the sphere.

use super::{CENTER, ShaderBinding, ShaderInstance, ShaderRunner};
use std::f64::consts::PI;
use std::fmt;

/// Steps in cos θ, an even number.
const STEPS: i32 = 8192;
/// Steps in φ.
const AZIMUTHS: u32 = 4;
/// Lobes at the poles may be as narrow as single precision resolves: 1 − |cos θ| is at least
/// 2 e^−[`MAX_RAPIDITY`] at the last step before a pole.
const MAX_RAPIDITY: f64 = 17.0;
/// Relative difference of two quadratures up to which the function counts as resolved.
const RESOLVED: f64 = 0.005;
/// Greatest distance of the integral from 1.
const TOLERANCE: f64 = 0.01;

/// The integral of a phase function that is not normalized.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NotNormalized {
    /// Integral over the sphere, which should be 1.
    pub integral: f64,
}

impl fmt::Display for NotNormalized {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "its integral over the sphere is {:.4}, not 1", self.integral)
    }
}

/// Checks that the integral of a phase function over the sphere is 1, for an instance's parameters.
/// Passes if the function is too rough to integrate it.
pub fn check_normalization(
    binding: &ShaderBinding,
    instance: &ShaderInstance,
) -> Result<(), NotNormalized> {
    // Steps are even in the rapidity atanh(cos θ), and so become finer towards the poles. They are
    // rounded as the shader sees them.
    let cosine = |i: i32| match i {
        0 => -1.0,
        STEPS => 1.0,
        _ => libm::tanh(MAX_RAPIDITY * (f64::from(i) / f64::from(STEPS) - 0.5)) as f32,
    };
    let cosines: Vec<f32> = (0..=STEPS).map(cosine).collect();
    let directions = cosines.iter().enumerate().flat_map(|(i, &z)| {
        let r = libm::sqrt(1.0 - f64::from(z) * f64::from(z));
        (0..AZIMUTHS).map(move |j| {
            // Neighbours are turned by the golden angle.
            let turn = f64::from(j) / f64::from(AZIMUTHS) + 0.381_966_011_250_105 * i as f64;
            let (sin, cos) = libm::sincos(2.0 * PI * turn);
            [(r * cos) as f32, (r * sin) as f32, z, 0.0, 0.0, 1.0]
        })
    });
    let mut runner = ShaderRunner::new(binding, instance, CENTER);
    runner.run_rows(&binding.program.evaluate, directions);
    let value = |row: usize| f64::from(runner.outputs.get(row, 0));
    let azimuths = AZIMUTHS as usize;
    let mean =
        |i: usize| (i * azimuths..(i + 1) * azimuths).map(value).sum::<f64>() / f64::from(AZIMUTHS);
    let means: Vec<f64> = (0..cosines.len()).map(mean).collect();
    // The trapezoidal rule.
    let integral = |step: usize| {
        let ends = (0..cosines.len() - step).step_by(step);
        let part = |i: usize| {
            let width = f64::from(cosines[i + step]) - f64::from(cosines[i]);
            0.5 * width * (means[i] + means[i + step])
        };
        2.0 * PI * ends.map(part).sum::<f64>()
    };
    let (fine, coarse) = (integral(1), integral(2));
    let is_resolved = (fine - coarse).abs() <= RESOLVED * fine.abs();
    if is_resolved && (fine - 1.0).abs() > TOLERANCE {
        return Err(NotNormalized { integral: fine });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{compiled, instance};
    use super::*;

    /// Checks a phase function with this value.
    fn check(value: &str) -> Result<(), f64> {
        let text = format!("fn phase(wi: vec3f, wo: vec3f) -> f32 {{ return {value}; }}");
        let binding = compiled("test.wgsl", &text);
        let checked = check_normalization(&binding, &instance(&binding, |_| vec![]));
        checked.map_err(|error| error.integral)
    }

    fn henyey_greenstein(g: f64) -> String {
        let (numerator, sum) = ((1.0 - g * g) / (4.0 * PI), 1.0 + g * g);
        format!("{numerator} / pow({sum} + {} * wi.z, 1.5)", 2.0 * g)
    }

    #[test]
    fn normalized_functions_pass() {
        check("0.0795774715").unwrap();
        check("0.0596831 * (1.0 + wi.z * wi.z)").unwrap();
        // Half of the sphere, and half of the azimuths.
        check("select(0.0, 0.159154943, wi.z > 0.0)").unwrap();
        check("select(0.0, 0.159154943, wi.x > 0.1 * wi.y)").unwrap();
        for g in [-0.99, -0.9, -0.3, 0.5, 0.99] {
            check(&henyey_greenstein(g)).unwrap_or_else(|integral| panic!("{g}: {integral}"));
        }
    }

    #[test]
    fn other_functions_have_their_integral() {
        for (value, expected) in [
            ("1.0", 4.0 * PI),
            ("0.0", 0.0),
            ("0.0795774715 * 1.02", 1.02),
            ("0.0795774715 * 0.98", 0.98),
            ("select(0.0, 1.0, wi.z > 0.5)", PI),
            (&format!("2.0 * {}", henyey_greenstein(0.99)), 2.0),
        ] {
            let integral = check(value).unwrap_err();
            assert!((integral - expected).abs() <= 0.005 * expected, "{value}: {integral}");
        }
        let message = NotNormalized { integral: 4.0 * PI }.to_string();
        assert_eq!(message, "its integral over the sphere is 12.5664, not 1");
    }

    /// A ring that is thinner than the steps, of unknown weight.
    #[test]
    fn rough_functions_are_not_judged() {
        check("select(0.0, 1000.0, fract(9731.0 * wi.z) < 0.01)").unwrap();
    }
}
