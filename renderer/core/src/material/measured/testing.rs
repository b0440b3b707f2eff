//! Test support: synthetic measured materials.

use super::tensor::testing::TensorWriter;
use super::{MeasuredBrdf, SAMPLER, SHADER};
use crate::material::{Program, ShaderBinding};
use lightbound_math::sampling::{hash, unit_float};
use lightbound_math::{Vec3, vec3};
use lightbound_shader::{Arena, Settings, Shader, Target};
use std::f32::consts::{FRAC_PI_2, PI, TAU};
use std::sync::Arc;

/// Compiles the shader for a material.
pub fn bind(brdf: &MeasuredBrdf) -> ShaderBinding {
    let shader = Shader::parse(SHADER.name, SHADER.text).unwrap_or_else(|e| panic!("{e}"));
    let states = brdf.textures.iter().map(|texture| texture.state(SAMPLER));
    let textures = std::iter::zip(shader.textures().iter().cloned(), states).collect();
    let overrides = brdf.overrides.to_vec();
    let settings = Settings { textures, overrides, ..Settings::default() };
    let program = Program::compile(&Arena::new(), &shader, &settings, Target::best()).unwrap();
    ShaderBinding::new(Arc::new(program), brdf.textures.clone())
}

/// `count` angles from `first` to `last`.
pub fn angles(count: usize, first: f32, last: f32) -> Vec<f32> {
    let step = (last - first) / (count.max(2) - 1) as f32;
    (0..count).map(|k| first + step * k as f32).collect()
}

/// Azimuths of isotropic materials (1) or of a full turn.
fn azimuths(count: usize) -> Vec<f32> {
    if count == 1 { vec![0.0] } else { angles(count, -PI, PI) }
}

/// The fields that tables of the given azimuths and polar angles have in common.
fn header(phi: &[f32], theta: &[f32]) -> TensorWriter {
    TensorWriter::default()
        .bytes("description", b"synthetic")
        .bytes("jacobian", &[1])
        .floats("phi_i", &[phi.len()], phi)
        .floats("theta_i", &[theta.len()], theta)
}

/// Tables of random values of at least `min`.
pub fn random(phi_count: usize, seed: u32, min: f32) -> TensorWriter {
    let (phi, theta) = (azimuths(phi_count), angles(4, 0.0, FRAC_PI_2));
    let slices = phi.len() * theta.len();
    let values = |count: usize, seed: u32| -> Vec<f32> {
        let value = |i| min + (1.0 - min) * unit_float(hash(seed, i)).powi(3);
        (0..count as u32).map(value).collect()
    };
    header(&phi, &theta)
        .floats("ndf", &[6, 9], &values(54, hash(seed, 1)))
        .floats(
            "sigma",
            &[3, 4],
            &values(12, hash(seed, 2)).iter().map(|x| x + 0.1).collect::<Vec<_>>(),
        )
        .floats("vndf", &[phi.len(), 4, 7, 12], &values(slices * 84, hash(seed, 3)))
        .floats("rgb", &[phi.len(), 4, 3, 6, 6], &values(slices * 108, hash(seed, 4)))
}

/// A rough mirror with GGX microfacets of roughness `alpha` along x and y.
pub struct Ggx {
    /// Roughness.
    pub alpha: [f32; 2],
}

impl Ggx {
    fn length(&self, w: Vec3) -> f32 {
        vec3(self.alpha[0] * w.x, self.alpha[1] * w.y, w.z).length()
    }

    fn density(&self, h: Vec3) -> f32 {
        let [x, y] = self.alpha;
        let r = vec3(h.x / x, h.y / y, h.z).length_squared();
        1.0 / (PI * x * y * r * r)
    }

    /// Projected area of the facets.
    fn area(&self, w: Vec3) -> f32 {
        0.5 * (w.z + self.length(w))
    }

    /// BRDF × cosine, and its quotient by D/(4σ).
    pub fn evaluate(&self, wi: Vec3, wo: Vec3) -> [f32; 2] {
        // Tables include horizontal directions.
        let [wi, wo] = [wi, wo].map(|w| w.with_z(w.z.max(1e-4)));
        let masking = 2.0 * wi.z / (wo.z * self.length(wi) + wi.z * self.length(wo));
        let h = (wi + wo).normalize();
        [0.25 * self.density(h) * masking, masking * self.area(wo)]
    }

    /// Tables with a resolution of `n`. The density of visible normals is uniform, which is valid,
    /// but samples poorly.
    pub fn tables(&self, phi_count: usize, n: usize) -> TensorWriter {
        let (phi, theta) = (azimuths(phi_count), angles(n, 0.0, FRAC_PI_2));
        let direction = |theta: f32, phi: f32| {
            let (s, c) = theta.sin_cos();
            vec3(s * phi.cos(), s * phi.sin(), c)
        };
        let point = |column: usize, row: usize| {
            let [x, y] = [column, row].map(|k| k as f32 / (n - 1) as f32);
            direction(x * x * FRAC_PI_2, TAU * (y - 0.5))
        };
        let grid = |f: &dyn Fn(Vec3) -> f32| -> Vec<f32> {
            (0..n * n).map(|i| f(point(i % n, i / n))).collect()
        };
        let mut rgb = Vec::new();
        for &phi in &phi {
            for &theta in &theta {
                let wo = direction(theta, phi);
                let value = |h: Vec3| {
                    let wi = 2.0 * wo.dot(h) * h - wo;
                    if wi.z > 0.0 { self.evaluate(wi, wo)[1] } else { 0.0 }
                };
                // Half vectors of isotropic materials are relative to wo.
                (0..3).for_each(|_| rgb.extend(grid(&value)));
            }
        }
        let slices = phi.len() * theta.len();
        header(&phi, &theta)
            .floats("ndf", &[n, n], &grid(&|h| self.density(h)))
            .floats("sigma", &[n, n], &grid(&|w| self.area(w)))
            .floats("vndf", &[phi.len(), n, 2, 2], &vec![1.0; slices * 4])
            .floats("rgb", &[phi.len(), n, 3, n, n], &rgb)
    }
}
