//! Checks the values of a shader for random pairs of directions.

use super::{CENTER, ShaderBinding, ShaderInstance, ShaderRunner, domain};
use lightbound_math::sampling::pdf_check::DirectionCell;
use lightbound_math::sampling::{hash, unit_float};
use lightbound_math::{Vec2, Vec3};
use lightbound_shader::ShaderKind;
use std::fmt;

/// Number of pairs of directions.
const PAIRS: u32 = 256;
/// Negative values up to this magnitude are accepted as rounding errors of a difference.
const ROUNDING_ERROR: f32 = 1e-5;
/// Minimum |cos θ| of the directions.
const MIN_COSINE: f64 = 1e-3;

/// An invalid value of a shader.
#[derive(Clone, Debug, PartialEq)]
pub struct InvalidValue {
    /// Name of the value: a component of s, or the density.
    name: &'static str,
    value: f32,
    wi: Vec3,
    wo: Vec3,
}

impl InvalidValue {
    /// Whether the value is negative, rather than NaN or infinite.
    pub fn is_finite(&self) -> bool {
        self.value.is_finite()
    }
}

impl fmt::Display for InvalidValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [wi, wo] =
            [self.wi, self.wo].map(|Vec3 { x, y, z }| format!("({x:.4}, {y:.4}, {z:.4})"));
        write!(f, "{} is {} for wi = {wi} and wo = {wo}", self.name, self.value)
    }
}

/// Checks that s = BSDF × cosine and the sampling density are finite and non-negative, for an
/// instance's parameters. Returns the maximum of s.
pub fn check_values(
    binding: &ShaderBinding,
    instance: &ShaderInstance,
) -> Result<f32, InvalidValue> {
    let mut cell = DirectionCell::new(domain(binding.program.sides));
    // Exclude tangential directions, which are never evaluated, and nearly tangential directions,
    // for which quotients overflow.
    cell.hi[0] -= MIN_COSINE;
    let direction = |seed: u32, i: u32| {
        let u = Vec2::new(unit_float(hash(hash(seed, i), 0)), unit_float(hash(hash(seed, i), 1)));
        let w = cell.direction(u);
        if f64::from(w.z.abs()) < MIN_COSINE { Vec3::Z } else { w }
    };
    let wo = |i: u32| match binding.program.kind() {
        ShaderKind::Brdf => direction(2, i),
        ShaderKind::Phase | ShaderKind::Density | ShaderKind::Function => Vec3::Z,
    };
    let pairs: Vec<[Vec3; 2]> = (0..PAIRS).map(|i| [direction(1, i), wo(i)]).collect();
    let mut runner = ShaderRunner::new(binding, instance, CENTER);
    runner.run_rows(
        &binding.program.evaluate,
        pairs.iter().map(|[wi, wo]| [wi.x, wi.y, wi.z, wo.x, wo.y, wo.z]),
    );
    let mut max = 0.0f32;
    for (row, &[wi, wo]) in pairs.iter().enumerate() {
        let values: [f32; 4] = runner.outputs.floats(row, 0);
        for (name, value) in std::iter::zip(["s.r", "s.g", "s.b", "the density"], values) {
            if !(-ROUNDING_ERROR..f32::INFINITY).contains(&value) {
                return Err(InvalidValue { name, value, wi, wo });
            }
        }
        max = values[..3].iter().fold(max, |a, &b| a.max(b));
    }
    Ok(max)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{compiled, instance};
    use super::*;

    /// Checks the values of a shader with this body of `brdf`.
    fn check(head: &str, body: &str) -> Result<f32, InvalidValue> {
        let text = format!(
            "{head}struct Material {{ kd: f32 }}\nfn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {{ {body} }}"
        );
        let binding = compiled("test.wgsl", &text);
        check_values(&binding, &instance(&binding, |_| vec![0.5]))
    }

    #[test]
    fn correct_values_pass() {
        let max = check("", "return vec3f(m.kd, 0.0, 0.0);").unwrap();
        assert!((0.45..=0.5).contains(&max), "{max}");
        assert_eq!(check("", "return vec3f(0.0);"), Ok(0.0));
        // Values below the surface are ignored.
        check("", "return vec3f(sqrt(wi.z) + sqrt(wo.z));").unwrap();
        check("//! sides: both\n", "return vec3f(select(m.kd, 0.0, wi.z * wo.z > 0.0));").unwrap();
        check("", "return vec3f((wi.z + 0.1) - wi.z - 0.1);").unwrap();
    }

    #[test]
    fn phase_functions_are_checked_for_the_frame_of_wo() {
        let check = |value: &str| {
            let text = format!("fn phase(wi: vec3f, wo: vec3f) -> f32 {{ return {value}; }}");
            let binding = compiled("test.wgsl", &text);
            check_values(&binding, &instance(&binding, |_| vec![]))
        };
        check("sqrt(wo.z - 1.0) + max(wi.z, 0.0)").unwrap();
        assert!(check("wi.z").is_err());
    }

    #[test]
    fn invalid_values_are_detected() {
        for (head, body, name, value) in [
            ("", "return vec3f(m.kd, -1.0, 0.0);", "s.g", "-0."),
            ("", "return vec3f(m.kd, 0.0, sqrt(wi.x));", "s.b", "NaN"),
            ("", "return vec3f(m.kd / (wo.z - wo.z));", "s.r", "inf"),
            ("//! sides: both\n", "return vec3f(wi.z);", "s.r", "-"),
        ] {
            let invalid = check(head, body).expect_err(body);
            let message = invalid.to_string();
            assert!(
                message.starts_with(&format!("{name} is {value}"))
                    && message.contains("for wi = ("),
                "{body}: {message}"
            );
            let lengths = [invalid.wi, invalid.wo].map(|w| w.length());
            assert!(lengths.iter().all(|length| (length - 1.0).abs() < 1e-5), "{lengths:?}");
        }
    }
}
