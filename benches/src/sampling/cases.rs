//! The measured cases: materials, view angles and the environment. The list is fixed, so that
//! results are comparable.

use glam::Vec3;
use std::f32::consts::{FRAC_PI_2, PI};

/// A material with some of its parameters set.
#[derive(Debug)]
pub struct Material {
    /// Name of the shader.
    pub shader: &'static str,
    /// Values by parameter name. Other parameters have their defaults.
    pub overrides: &'static [(&'static str, &'static [f64])],
}

/// The six materials of Clarberg et al. 2010 with their defaults, and variants with narrower lobes.
pub const MATERIALS: &[Material] = &[
    Material { shader: "diffuse", overrides: &[] },
    Material { shader: "phong", overrides: &[] },
    Material { shader: "phong", overrides: &[("exponent", &[1000.0])] },
    Material { shader: "phong", overrides: &[("exponent", &[10000.0])] },
    Material { shader: "isoward", overrides: &[] },
    Material { shader: "isoward", overrides: &[("alpha", &[0.02])] },
    Material { shader: "ward", overrides: &[] },
    Material { shader: "ward", overrides: &[("alpha_x", &[0.02]), ("alpha_y", &[0.2])] },
    Material { shader: "ashikhmin", overrides: &[] },
    Material { shader: "ashikhmin", overrides: &[("n_u", &[10000.0]), ("n_v", &[100.0])] },
    Material { shader: "fractal", overrides: &[("uv", &[0.1, 0.2])] },
    Material { shader: "fractal", overrides: &[("uv", &[0.44, 0.58])] },
];

/// Angles between `wo` and the normal, in degrees.
pub const ANGLES: [f32; 4] = [0.0, 45.0, 75.0, 85.0];

/// Azimuth of `wo` in radians, not aligned with an axis.
pub const AZIMUTH: f32 = 0.4;

/// Returns the surface frames in world space, over which results are averaged. Each is a normal and
/// an angle of rotation about it.
pub fn frames() -> Vec<(Vec3, f32)> {
    let tilted = |tilt: f32, azimuth: f32| {
        Vec3::new(tilt.sin() * azimuth.cos(), tilt.sin() * azimuth.sin(), tilt.cos())
    };
    (0..16)
        .map(|k| (tilted(FRAC_PI_2 * (k % 4) as f32 / 3.0, PI * k as f32 / 8.0), 1.1 * k as f32))
        .collect()
}

/// Scene with the environment map, relative to this crate.
pub const SCENE: &str = "../scenes/suite/environment.pbrt";

/// Radiance is clamped to this multiple of its mean, so that a few samples of the sun do not
/// dominate.
pub const MAX_RADIANCE_RATIO: f32 = 20.0;

/// Returns the name of the material, followed by the overridden parameters.
pub fn name(material: &Material) -> String {
    let overrides = material.overrides.iter().map(|(name, values)| {
        let values: Vec<_> = values.iter().map(f64::to_string).collect();
        format!(" {name} {}", values.join(" "))
    });
    format!("{}{}", material.shader, overrides.collect::<Vec<_>>().join(","))
}
