//! What is sampled: materials, the angles they are seen from, and the light they stand in. The list
//! is fixed, so that figures compare.

use glam::Vec3;
use std::f32::consts::{FRAC_PI_2, PI};

/// A material with some of its parameters set.
#[derive(Debug)]
pub struct Material {
    /// Of the shader.
    pub shader: &'static str,
    /// Values by the names of parameters; the others are at their defaults.
    pub set: &'static [(&'static str, &'static [f64])],
}

/// The six of Clarberg et al. 2010 by default, then sharper.
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

/// Degrees of `wo` off the normal.
pub const ANGLES: [f32; 4] = [0.0, 45.0, 75.0, 85.0];

/// Its azimuth, radians, on no axis.
pub const AZIMUTH: f32 = 0.4;

/// Frames of the surface in the world, as normals and angles about them: figures are means over
/// them.
pub fn frames() -> Vec<(Vec3, f32)> {
    let tilted = |tilt: f32, around: f32| {
        Vec3::new(tilt.sin() * around.cos(), tilt.sin() * around.sin(), tilt.cos())
    };
    (0..16)
        .map(|k| (tilted(FRAC_PI_2 * (k % 4) as f32 / 3.0, PI * k as f32 / 8.0), 1.1 * k as f32))
        .collect()
}

/// The map of the light, in the repository.
pub const SCENE: &str = "../scenes/suite/environment.pbrt";

/// Radiance is cut to so many times the mean, but for the table of the whole map: of the sun alone,
/// a few samples would decide.
pub const BRIGHTEST: f32 = 20.0;

/// The name of a material with what is set.
pub fn name(material: &Material) -> String {
    let set = material.set.iter().map(|(name, values)| {
        let values: Vec<_> = values.iter().map(f64::to_string).collect();
        format!(" {name} {}", values.join(" "))
    });
    format!("{}{}", material.shader, set.collect::<Vec<_>>().join(","))
}
