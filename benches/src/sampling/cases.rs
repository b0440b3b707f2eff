//! The measured cases: materials, view angles and the environment. The list is fixed, so that
//! figures are comparable.

use glam::Vec3;
use std::f32::consts::{FRAC_PI_2, PI};

/// A material with some of its parameters set.
#[derive(Debug)]
pub struct Material {
    /// Name of the shader.
    pub shader: &'static str,
    /// Values by parameter name. The others have their defaults.
    pub set: &'static [(&'static str, &'static [f64])],
}

/// The six materials of Clarberg et al. 2010 with their defaults, then sharper ones.
pub const MATERIALS: &[Material] = &[
    Material { shader: "diffuse", set: &[] },
    Material { shader: "phong", set: &[] },
    Material { shader: "phong", set: &[("exponent", &[1000.0])] },
    Material { shader: "phong", set: &[("exponent", &[10000.0])] },
    Material { shader: "isoward", set: &[] },
    Material { shader: "isoward", set: &[("alpha", &[0.02])] },
    Material { shader: "ward", set: &[] },
    Material { shader: "ward", set: &[("alpha_x", &[0.02]), ("alpha_y", &[0.2])] },
    Material { shader: "ashikhmin", set: &[] },
    Material { shader: "ashikhmin", set: &[("n_u", &[10000.0]), ("n_v", &[100.0])] },
    Material { shader: "fractal", set: &[("uv", &[0.1, 0.2])] },
    Material { shader: "fractal", set: &[("uv", &[0.44, 0.58])] },
];

/// Angles between `wo` and the normal, in degrees.
pub const ANGLES: [f32; 4] = [0.0, 45.0, 75.0, 85.0];

/// Azimuth of `wo` in radians, off the axes.
pub const AZIMUTH: f32 = 0.4;

/// Frames of the surface in world space, as normals and rotations about them. Figures are means
/// over them.
pub fn frames() -> Vec<(Vec3, f32)> {
    let tilted = |tilt: f32, around: f32| {
        Vec3::new(tilt.sin() * around.cos(), tilt.sin() * around.sin(), tilt.cos())
    };
    (0..16)
        .map(|k| (tilted(FRAC_PI_2 * (k % 4) as f32 / 3.0, PI * k as f32 / 8.0), 1.1 * k as f32))
        .collect()
}

/// Scene with the environment map, relative to this crate.
pub const SCENE: &str = "../scenes/suite/environment.pbrt";

/// Radiance is clamped to this multiple of the mean, except in the table of the unclamped map: a
/// few samples of the sun would dominate.
pub const MAX_RADIANCE_RATIO: f32 = 20.0;

/// Name of the material with the parameters that are set.
pub fn name(material: &Material) -> String {
    let set = material.set.iter().map(|(name, values)| {
        let values: Vec<_> = values.iter().map(f64::to_string).collect();
        format!(" {name} {}", values.join(" "))
    });
    format!("{}{}", material.shader, set.collect::<Vec<_>>().join(","))
}
