//! Checks that the sampler of a shader covers its BSDF: `pdf` is positive where light is scattered.
//! Light from other directions would be missing from the image.

use super::{CENTER, ShaderBinding, ShaderInstance, ShaderRunner, domain, views};
use glam::{DVec3, dvec3};
use lightbound_math::sampling::pdf_check::DirectionCell;
use lightbound_math::{Vec2, Vec3, vec2};
use std::fmt;

/// Rows and columns of the checked `wi`. They find lobes that are not covered if these are wide, or
/// have wide tails.
const STEPS: [u32; 2] = [16, 32];
/// Greatest fraction of the scattered light that may be missing.
const MAX_SHARE: f64 = 1e-3;
/// Least directional albedo to which that fraction relates: densities of narrow lobes underflow far
/// from their peaks.
const MIN_ALBEDO: f64 = 1e-4;
/// Texture coordinates for each `wo`, since textures may be black at some.
const TEXTURE_COORDINATES: [Vec2; 4] =
    [CENTER, vec2(0.19, 0.37), vec2(0.83, 0.64), vec2(0.41, 0.88)];

/// Light that a shader scatters to directions that its sampler never samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UncoveredLight {
    /// The fraction of all scattered light.
    share: f64,
    /// The direction that receives most of it.
    wi: Vec3,
    wo: Vec3,
}

impl fmt::Display for UncoveredLight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [wi, wo] =
            [self.wi, self.wo].map(|Vec3 { x, y, z }| format!("({x:.4}, {y:.4}, {z:.4})"));
        let percent = 100.0 * self.share;
        write!(
            f,
            "`pdf` is 0 for directions that receive {percent:.1} % of the scattered light, such as \
             wi = {wi} for wo = {wo}"
        )
    }
}

/// Checks that the sampler of a shader covers its BSDF, for an instance's parameters.
pub fn check_coverage(
    binding: &ShaderBinding,
    instance: &ShaderInstance,
) -> Result<(), UncoveredLight> {
    let cell = DirectionCell::new(domain(binding.program.sides));
    let [rows, columns] = STEPS;
    let center = |i: u32| {
        let at = vec2((i / columns) as f32 + 0.5, (i % columns) as f32 + 0.5);
        cell.direction(at / vec2(rows as f32, columns as f32))
    };
    let directions: Vec<Vec3> = (0..rows * columns).map(center).collect();
    let solid_angle = cell.solid_angle() / directions.len() as f64;
    for (wo, uv) in std::iter::zip(views(&binding.program), TEXTURE_COORDINATES) {
        let mut runner = ShaderRunner::new(binding, instance, uv);
        let (mut total, mut uncovered) = (DVec3::ZERO, DVec3::ZERO);
        let (mut max, mut brightest) = (0.0, Vec3::ZERO);
        for (&wi, [r, g, b, density]) in directions.iter().zip(runner.evaluate(&directions, wo)) {
            let s = dvec3(r.into(), g.into(), b.into()).max(DVec3::ZERO) * solid_angle;
            total += s;
            if density == 0.0 {
                uncovered += s;
                if s.max_element() > max {
                    (max, brightest) = (s.max_element(), wi);
                }
            }
        }
        let share = (uncovered / total.max(DVec3::splat(MIN_ALBEDO))).max_element();
        if share > MAX_SHARE {
            return Err(UncoveredLight { share, wi: brightest, wo });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{compiled, instance};
    use super::*;

    /// Checks a shader with these values of `brdf` and bodies of `sample` and `pdf`.
    fn check(head: &str, brdf: &str, sample: &str, pdf: &str) -> Result<(), UncoveredLight> {
        let text = format!(
            "{head}struct Material {{ kd: f32 }}
            fn cosine(u: vec2f) -> vec3f {{
                let r = sqrt(u.x);
                return vec3f(r * cos(6.2831853 * u.y), r * sin(6.2831853 * u.y), sqrt(1.0 - u.x));
            }}
            fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {{ return vec3f({brdf}); }}
            fn sample(u: vec2f, wo: vec3f, m: Material) -> vec3f {{ {sample} }}
            fn pdf(wi: vec3f, wo: vec3f, m: Material) -> f32 {{ return {pdf}; }}"
        );
        let binding = compiled("test.wgsl", &text);
        check_coverage(&binding, &instance(&binding, |_| vec![0.5 / std::f64::consts::PI]))
    }

    /// A sampler of half of the hemisphere.
    const HALF: &str = "var w = cosine(u); w.x = abs(w.x); return w;";
    const HALF_PDF: &str = "select(0.0, 2.0 * max(wi.z, 0.0) / 3.14159265, wi.x > 0.0)";
    const COSINE_PDF: &str = "max(wi.z, 0.0) / 3.14159265";

    #[test]
    fn samplers_that_cover_the_shader_pass() {
        check("", "m.kd", "return cosine(u);", COSINE_PDF).unwrap();
        check("", "select(0.0, m.kd, wi.x > 0.0)", HALF, HALF_PDF).unwrap();
        // Below a one-sided surface, nothing counts.
        check("", "m.kd", "return cosine(u);", "wi.z / 3.14159265").unwrap();
        // Nothing is scattered.
        check("", "0.0", "return vec3f(0.0);", "0.0").unwrap();
        // Both underflow.
        check("", "1e-30 * m.kd", "return cosine(u);", "0.0").unwrap();
    }

    #[test]
    fn missing_light_is_found() {
        let share = |head: &str, brdf: &str, sample: &str, pdf: &str| {
            check(head, brdf, sample, pdf).unwrap_err().share
        };
        assert!((share("", "m.kd", HALF, HALF_PDF) - 0.5).abs() < 1e-6);
        // Dark materials, and one channel.
        assert!((share("", "0.01 * m.kd", HALF, HALF_PDF) - 0.5).abs() < 1e-6);
        let channel = "select(0.0, m.kd, wi.x > 0.0), m.kd, 0.0";
        assert!((share("", channel, HALF, HALF_PDF) - 0.5).abs() < 1e-6);
        // Nothing is sampled.
        assert_eq!(share("", "m.kd", "return vec3f(0.0);", "0.0"), 1.0);
        // The lower half of the sphere.
        let sphere = share("//! sides: both\n", "m.kd", "return cosine(u);", COSINE_PDF);
        assert!((sphere - 0.5).abs() < 1e-6);
        let text = check("", "m.kd", HALF, HALF_PDF).unwrap_err().to_string();
        assert!(
            text.starts_with(
                "`pdf` is 0 for directions that receive 50.0 % of the scattered light"
            ) && text.contains("such as wi = (-"),
            "{text}"
        );
    }
}
