//! Checks a shader's `sample` against its `pdf`, for a few `wo`.

use super::{CENTER, ShaderBinding, ShaderInstance, ShaderRunner, domain, views};
use lightbound_math::sampling::pdf_check::{self, DirectionSampler, Mismatch, Settings};
use lightbound_math::{Vec2, Vec3, vec3};
use std::fmt;

/// Settings for 10,000 evaluations per `wo`. In single precision, narrow lobes may not be resolved
/// better than the tolerance.
const QUICK: Settings = Settings {
    pilot_strata: [64, 32],
    p_strata: [64, 64],
    q_strata_per_cell: [4, 4],
    depth: 8,
    compared_depth: 6,
    min_pooled_depth: 6,
    independent: false,
    squared_length_tolerance: 1e-3,
    tolerance: 0.04,
    max_standard_errors: 5.0,
};

/// A mismatch between `sample` and `pdf`.
#[derive(Clone, Debug, PartialEq)]
pub struct SamplerFault {
    /// Angle between `wo` and the z axis, degrees.
    angle: f32,
    mismatch: Mismatch,
}

impl fmt::Display for SamplerFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`sample` and `pdf` disagree: {}", self.mismatch)?;
        // Media have no normal.
        if self.angle > 0.0 {
            write!(f, ", seen from {:.0}° off the normal", self.angle)?;
        }
        Ok(())
    }
}

/// Checks that the sampler of a shader matches its density, for an instance's parameters.
pub fn check_sampler(
    binding: &ShaderBinding,
    instance: &ShaderInstance,
) -> Result<(), SamplerFault> {
    let domain = domain(binding.program.sides);
    let mut view = ShaderView { runner: ShaderRunner::new(binding, instance, CENTER), wo: Vec3::Z };
    for (seed, wo) in (0..).zip(views(&binding.program)) {
        view.wo = wo;
        pdf_check::check(&mut view, domain, &QUICK, seed)
            .map_err(|mismatch| SamplerFault { angle: libm::acosf(wo.z).to_degrees(), mismatch })?;
    }
    Ok(())
}

/// A shader with a fixed `wo`.
struct ShaderView<'a> {
    runner: ShaderRunner<'a>,
    wo: Vec3,
}

impl DirectionSampler for ShaderView<'_> {
    fn sample(&mut self, points: &[Vec2]) -> Vec<(Vec3, f32)> {
        let Vec3 { x, y, z } = self.wo;
        let runner = &mut self.runner;
        let program = runner.program;
        runner.run_rows(&program.scatter, points.iter().map(|u| [u.x, u.y, x, y, z]));
        let sample = |row| {
            let [x, y, z, _, _, _, pdf] = runner.outputs.floats(row, 0);
            (vec3(x, y, z), pdf)
        };
        (0..points.len()).map(sample).collect()
    }

    fn pdf(&mut self, directions: &[Vec3]) -> Vec<f32> {
        self.runner.evaluate(directions, self.wo).map(|[.., density]| density).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{compiled, instance};
    use super::*;
    use crate::material::library;

    /// Checks a shader with its default parameters.
    fn check_defaults(name: &str, text: &str) -> Result<(), SamplerFault> {
        let binding = compiled(name, text);
        assert!(binding.program.has_sampler);
        check_sampler(&binding, &instance(&binding, |p| p.default.clone().unwrap()))
    }

    const COSINE: &str = "
        fn cosine(u: vec2f) -> vec3f {
            let r = sqrt(u.x);
            return vec3f(r * cos(6.2831853 * u.y), r * sin(6.2831853 * u.y), sqrt(1.0 - u.x));
        }
        ";

    /// Checks a shader with these bodies of `sample` and `pdf`. They may use `cosine`, and `lobe`,
    /// which samples a lobe around the mirror direction with density `lobe_pdf`.
    fn check(head: &str, sample: &str, pdf: &str) -> Result<(), SamplerFault> {
        let text = format!(
            "{head}struct Material {{\n/// Albedo. default: 0.5\nkd: f32,\n}}
            {COSINE}
            fn lobe(u: vec2f, wo: vec3f) -> vec3f {{
                let c = pow(u.x, 1.0 / 101.0);
                let s = sqrt(1.0 - c * c);
                let n = vec3f(-wo.xy, wo.z);
                let t = normalize(cross(n, vec3f(0.3, 1.0, 0.2)));
                return s * cos(6.2831853 * u.y) * t + s * sin(6.2831853 * u.y) * cross(n, t) + c * n;
            }}
            fn lobe_pdf(wi: vec3f, wo: vec3f) -> f32 {{
                return 101.0 / 6.2831853 * pow(max(dot(wi, vec3f(-wo.xy, wo.z)), 0.0), 100.0);
            }}
            fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {{ return vec3f(m.kd); }}
            fn sample(u: vec2f, wo: vec3f, m: Material) -> vec3f {{ {sample} }}
            fn pdf(wi: vec3f, wo: vec3f, m: Material) -> f32 {{ {pdf} }}"
        );
        check_defaults("test.wgsl", &text)
    }

    const MIXED: &str = "if u.x < 0.5 { return cosine(vec2f(2.0 * u.x, u.y)); } return lobe(vec2f(2.0 * u.x - 1.0, u.y), wo);";

    #[test]
    fn correct_samplers_pass() {
        let cosine = "return cosine(u);";
        check("", cosine, "return max(wi.z, 0.0) / 3.14159265;").unwrap();
        // Densities below the surface are ignored.
        check("", cosine, "return wi.z / 3.14159265;").unwrap();
        check("", "return lobe(u, wo);", "return lobe_pdf(wi, wo);").unwrap();
        check("", MIXED, "return 0.5 * max(wi.z, 0.0) / 3.14159265 + 0.5 * lobe_pdf(wi, wo);")
            .unwrap();
        check(
            "//! sides: both\n",
            MIXED,
            "return 0.5 * max(wi.z, 0.0) / 3.14159265 + 0.5 * lobe_pdf(wi, wo);",
        )
        .unwrap();
        // A sampler that returns no valid sample.
        check("", "return vec3f(0.0);", "return 0.0;").unwrap();
    }

    #[test]
    fn samplers_of_phase_functions_are_checked_for_the_frame_of_wo() {
        let check = |pdf: &str| {
            let text = format!(
                "{COSINE}
                fn phase(wi: vec3f, wo: vec3f) -> f32 {{ return pdf(wi, wo); }}
                fn sample(u: vec2f, wo: vec3f) -> vec3f {{ return cosine(u); }}
                fn pdf(wi: vec3f, wo: vec3f) -> f32 {{ return {pdf}; }}"
            );
            check_defaults("test.wgsl", &text)
        };
        check("max(wi.z, 0.0) / 3.14159265").unwrap();
        check("max(dot(wi, wo), 0.0) / 3.14159265").unwrap();
        assert!(check("abs(wi.z) / 3.14159265").is_err());
    }

    #[test]
    fn gross_faults_are_detected() {
        let cosine = "return cosine(u);";
        let text = |result: Result<(), SamplerFault>| result.unwrap_err().to_string();
        for (fault, sample, pdf) in [
            ("no cosine", cosine, "return 1.0 / 3.14159265;"),
            ("uniform", cosine, "return 0.5 / 3.14159265;"),
            ("no π", cosine, "return max(wi.z, 0.0);"),
            ("15 % too much", cosine, "return 1.15 * max(wi.z, 0.0) / 3.14159265;"),
            ("10 % too little", "return lobe(u, wo);", "return 0.9 * lobe_pdf(wi, wo);"),
            (
                "more of the lobe",
                MIXED,
                "return 0.4 * max(wi.z, 0.0) / 3.14159265 + 0.6 * lobe_pdf(wi, wo);",
            ),
            (
                "less of the lobe",
                MIXED,
                "return 0.6 * max(wi.z, 0.0) / 3.14159265 + 0.4 * lobe_pdf(wi, wo);",
            ),
            ("no lobe", MIXED, "return max(wi.z, 0.0) / 3.14159265;"),
            ("no samples", "return vec3f(0.0, 0.0, -1.0);", "return max(wi.z, 0.0) / 3.14159265;"),
            (
                "one direction",
                "return vec3f(0.6, 0.0, 0.8);",
                "return max(wi.z, 0.0) / 3.14159265;",
            ),
        ] {
            let Err(error) = check("", sample, pdf) else { panic!("{fault}: not detected") };
            let message = error.to_string();
            assert!(
                message.contains("`sample` draws") && message.contains("integrates to"),
                "{fault}: {message}"
            );
        }
        let long =
            text(check("", "return 1.01 * cosine(u);", "return max(wi.z, 0.0) / 3.14159265;"));
        assert!(long.contains("of length 1.01"), "{long}");
        let negative = text(check("", cosine, "return wi.z - 0.5;"));
        assert!(negative.contains("`pdf` of a sampled direction is -0."), "{negative}");
        let nan = text(check("", cosine, "return wi.z / 3.14159265 + sqrt(0.4 - wi.x);"));
        assert!(nan.contains("NaN") && nan.ends_with("off the normal"), "{nan}");
        assert!(check("//! sides: both\n", cosine, "return abs(wi.z) / 6.2831853;").is_err());
    }

    #[test]
    fn missing_jacobians_are_detected() {
        let ward = library::find("ward.wgsl").unwrap();
        let broken = ward.text.replacen("fn pdf(", "fn correct_pdf(", 1)
            + "\nfn pdf(wi: vec3f, wo: vec3f, m: Material) -> f32 { return correct_pdf(wi, wo, m) * 4.0 * dot(wi, normalize(wi + wo)); }";
        check_defaults(ward.name, ward.text).unwrap();
        check_defaults(ward.name, &broken).unwrap_err();
    }
}
