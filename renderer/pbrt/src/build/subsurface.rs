//! Builds `Material "subsurface"`: a dielectric with a homogeneous medium below it, in which light
//! scatters until it leaves or is absorbed. pbrt-v4 evaluates a BSSRDF instead (photon beam
//! diffusion), which assumes a flat surface.
//!
//! The parameters are those of pbrt-v4. A `reflectance` is inverted to the albedo of the medium with
//! van de Hulst's approximation for a half-space that is lit diffusely, without a boundary:
//!
//! ```text
//! R = (1 − s) (1 − 0.139 s) / (1 + 1.17 s),  s² = (1 − α) / (1 − g α)
//! ```
//!
//! Kulla and Conty 2017, *Revisiting Physically Based Shading at Imageworks*, and Wrenninge et al.
//! 2017, *Path Traced Subsurface Scattering using Anisotropic Phase Functions and Non-Exponential
//! Free Flights*, use this inversion. The boundary reflects the fraction F of diffuse light from
//! inside (Saunderson 1942). So of the light that enters, a fraction ρ = R (1 − F) / (1 − F R)
//! leaves. This ρ is the reflectance of pbrt-v4.

use super::Builder;
use super::media::{Coefficients, asymmetry, non_negative, presets};
use super::value_checks::ValidValues;
use crate::diagnostics::SceneError;
use crate::file::parse::Entity;
use lightbound::material::{Material, fresnel};
use lightbound::medium::{Homogeneous, Medium, MediumPoint};
use lightbound::suggestion::did_you_mean;
use lightbound::texture::{Lookup, Param};
use lightbound_math::{Transform, Vec3, vec2, vec3};

/// Coefficients without other parameters, 1/mm: those of whole milk, as in pbrt-v4.
const DEFAULT_SIGMA_A: Vec3 = vec3(0.0011, 0.0024, 0.014);
const DEFAULT_SIGMA_S: Vec3 = vec3(2.55, 3.21, 3.77);

/// Index of refraction without a parameter, as in pbrt-v4.
const DEFAULT_ETA: f32 = 1.33;

/// The medium below a surface.
#[derive(Clone, Copy, Debug)]
struct Interior {
    coefficients: Coefficients,
    g: f32,
}

impl Builder<'_> {
    /// Builds the material. Adds its medium to those of the scene, if media are rendered, and
    /// returns its index. Otherwise, the material is diffuse, with a warning.
    pub(super) fn subsurface(
        &mut self,
        entity: &Entity,
        name: Option<&str>,
    ) -> Result<(Material, Option<u32>), SceneError> {
        let eta = self.index_of_refraction(entity, "eta", DEFAULT_ETA)?;
        let alpha = self.roughness(entity, "")?;
        let bump = self.bump_map(entity, |_| false)?;
        if !self.media.are_rendered() {
            self.warn(
                entity,
                "\"subsurface\" is not supported by an integrator without media",
                "\"diffuse\"; \"volpath\" renders it",
            )?;
            let p = &entity.params;
            let is_given = ["name", "sigma_a", "sigma_s"].iter().any(|name| p.find(name).is_some());
            let kd = if is_given || p.find("reflectance").is_none() {
                let Interior { coefficients, g } = self.interior(entity, eta)?;
                Param::Constant(coefficients.albedo.map(|albedo| reflectance(albedo, g, eta)))
            } else {
                self.reflectance_or(entity, "reflectance", 0.5, 1.0)?
            };
            entity.params.mark_all_used();
            let diffuse = self.library(entity, "diffuse.wgsl", &[("kd", kd)])?;
            return Ok((Material::scattering(diffuse).with_bump(bump), None));
        }
        let interior = self.interior(entity, eta)?;
        let material = self.dielectric_boundary(entity, eta, alpha, None)?;
        let Interior { coefficients: Coefficients { extinction, albedo }, g } = interior;
        let field = Homogeneous(MediumPoint { extinction, albedo, emission: Vec3::ZERO });
        let g = Param::from_float(g);
        let phase = self.library(entity, "henyey_greenstein.wgsl", &[("g", g)])?;
        self.warn_unused(entity)?;
        let name = name.unwrap_or(&entity.name).to_owned();
        let medium = Medium::new(name, Transform::IDENTITY, Box::new(field), phase);
        Ok((material.with_bump(bump), Some(self.media.add(medium))))
    }

    /// Reads the properties of the medium below the surface. As in pbrt-v4, they are given by the
    /// first of `name`, the coefficients, `reflectance`, and defaults.
    fn interior(&mut self, entity: &Entity, eta: f32) -> Result<Interior, SceneError> {
        let p = &entity.params;
        let scale = non_negative(entity, "scale", 1.0)?;
        let g = asymmetry(entity)?;
        let of = |sigma_a, sigma_s, g| {
            let coefficients = Coefficients::new(entity, sigma_a, sigma_s, scale)?;
            Ok(Interior { coefficients, g })
        };
        if let Some(name) = p.string("name")?.filter(|name| !name.is_empty()) {
            let Some(preset) = presets::preset(name) else {
                let help = did_you_mean(name, presets::names(), "\"Skin1\" is one");
                return Err(entity
                    .param_error("name", format!("unknown name \"{name}\""))
                    .help(help));
            };
            if g != 0.0 {
                let message = "\"g\" of a named \"subsurface\" is not supported, since its \
                               scattering coefficient is a reduced one";
                self.warn(entity, message, "0")?;
            }
            return of(preset.sigma_a, preset.sigma_s, 0.0);
        }
        match (p.find("sigma_a"), p.find("sigma_s")) {
            (Some(_), Some(_)) => {
                let sigma_a = self.mean_spectrum(entity, "sigma_a")?;
                return of(sigma_a, self.mean_spectrum(entity, "sigma_s")?, g);
            }
            (None, None) => {}
            (a, _) => {
                let (given, other) =
                    if a.is_some() { ("sigma_a", "sigma_s") } else { ("sigma_s", "sigma_a") };
                let error = entity.param_error(given, format!("\"{given}\" without \"{other}\""));
                return Err(error.help(format!("give \"{other}\", too")));
            }
        }
        if p.find("reflectance").is_none() {
            return of(DEFAULT_SIGMA_A, DEFAULT_SIGMA_S, g);
        }
        let reflectance = self.reflectance_or(entity, "reflectance", 0.5, 1.0)?;
        let reflectance = self.mean(entity, "reflectance", reflectance)?;
        let mfp = match p.find("mfp") {
            Some(_) => self.mean_spectrum(entity, "mfp")?,
            None => Vec3::ONE,
        };
        let extinction = 1.0 / (scale * mfp);
        if !extinction.is_finite() {
            let error = entity.param_error("mfp", format!("the mean free path is {}", scale * mfp));
            return Err(error.help("give lengths above 0, and a \"scale\" above 0"));
        }
        let clamped = reflectance.clamp(Vec3::ZERO, Vec3::ONE);
        let albedo = clamped.map(|reflectance| albedo(reflectance, g, eta));
        Ok(Interior { coefficients: Coefficients { extinction, albedo }, g })
    }

    /// Reads a spectrum or the mean of a texture.
    fn mean_spectrum(&mut self, entity: &Entity, name: &str) -> Result<Vec3, SceneError> {
        let value = self.spectrum_or(entity, name, super::textures::grey(0.0))?;
        self.mean(entity, name, value)
    }

    /// Returns the mean of a texture over the unit square of (u, v), with a warning.
    fn mean(&mut self, entity: &Entity, name: &str, value: Param) -> Result<Vec3, SceneError> {
        const STEPS: u16 = 64;
        let texture = match value {
            Param::Constant(value) => return Ok(value),
            Param::Texture(_) => value,
        };
        self.check_texture(&texture, 1.0, ValidValues::NonNegative)?;
        let coordinate = |i: u16| (f32::from(i) + 0.5) / f32::from(STEPS);
        let points = (0..STEPS).flat_map(|i| (0..STEPS).map(move |j| (i, j)));
        let sum: glam::DVec3 = points
            .map(|(i, j)| {
                let uv = vec2(coordinate(i), coordinate(j));
                let value = texture.rgb(&Lookup::at_point(Vec3::ZERO, Vec3::Z, uv));
                value.max(Vec3::ZERO).as_dvec3()
            })
            .sum();
        let mean = (sum / f64::from(STEPS) / f64::from(STEPS)).as_vec3();
        let location = entity.params.find(name).map(|param| &param.location);
        let message = format!("the texture \"{name}\" of \"subsurface\" is not supported");
        self.diagnostics.warn(location, message, format!("its mean ({:.3})", mean))?;
        Ok(mean)
    }
}

/// Returns the fraction of diffuse light that a boundary reflects. `eta` is the index of refraction
/// on the other side.
fn diffuse_fresnel(eta: f32) -> f64 {
    const STEPS: u16 = 1 << 14;
    let midpoint = |i: u16| (f64::from(i) + 0.5) / f64::from(STEPS);
    let integrand = |cos: f64| 2.0 * cos * f64::from(fresnel::dielectric(cos as f32, eta));
    (0..STEPS).map(|i| integrand(midpoint(i))).sum::<f64>() / f64::from(STEPS)
}

/// Returns the single-scattering albedo of a medium, of which the fraction `reflectance` of the
/// light that enters leaves it through a boundary of the index `eta`.
fn albedo(reflectance: f32, g: f32, eta: f32) -> f32 {
    let (rho, inside) = (f64::from(reflectance), diffuse_fresnel(1.0 / eta));
    // 0/0 only if all light stays inside.
    let denominator = 1.0 - inside + inside * rho;
    let r = if denominator > 0.0 { rho / denominator } else { 0.0 };
    let s = 4.09712 + 4.20863 * r - (9.59217 + 41.6808 * r + 17.7126 * r * r).sqrt();
    let s = s.clamp(0.0, 1.0);
    let (g, s2) = (f64::from(g), s * s);
    ((1.0 - s2) / (1.0 - g * s2)) as f32
}

/// Returns the fraction of the light that enters a medium and leaves it: the inverse of [`albedo`].
fn reflectance(albedo: f32, g: f32, eta: f32) -> f32 {
    let (albedo, g, inside) = (f64::from(albedo), f64::from(g), diffuse_fresnel(1.0 / eta));
    let s = ((1.0 - albedo) / (1.0 - g * albedo)).max(0.0).sqrt();
    let r = (1.0 - s) * (1.0 - 0.139 * s) / (1.0 + 1.17 * s);
    (r * (1.0 - inside) / (1.0 - inside * r)).clamp(0.0, 1.0) as f32
}

#[cfg(test)]
mod tests {
    use super::*;
    use lightbound_shader::random::Random;

    #[test]
    fn inversion_undoes_the_reflectance() {
        for eta in [1.0, 1.33, 1.5] {
            for g in [0.0, 0.8, -0.5] {
                for i in 0..=20 {
                    let rho = i as f32 / 20.0;
                    let found = reflectance(albedo(rho, g, eta), g, eta);
                    assert!((found - rho).abs() < 2e-3, "{rho} {g} {eta}: {found}");
                }
                assert!(albedo(0.0, g, eta).abs() < 2e-3 && albedo(1.0, g, eta) > 0.9999);
            }
        }
    }

    #[test]
    fn diffuse_reflection_of_boundaries_is_reciprocal() {
        assert_eq!(diffuse_fresnel(1.0), 0.0);
        // Known values, and η² (1 − F inside) = 1 − F outside.
        assert!((diffuse_fresnel(1.5) - 0.0918).abs() < 1e-3);
        assert!((diffuse_fresnel(1.0 / 1.5) - 0.5963).abs() < 1e-3);
        for eta in [1.1f32, 1.33, 2.4] {
            let (outside, inside) = (diffuse_fresnel(eta), diffuse_fresnel(1.0 / eta));
            let expected = 1.0 - f64::from(eta).powi(2) * (1.0 - inside);
            assert!((outside - expected).abs() < 1e-4, "{eta}: {outside} {expected}");
        }
    }

    /// Simulates the light that enters a half-space, from diffuse light outside: returns the
    /// fraction that leaves it.
    fn simulate(albedo: f32, g: f32, eta: f32) -> f64 {
        let mut random = Random::new(7);
        let mut unit = move || (random.bits() as u32 >> 8) as f32 / (1 << 24) as f32;
        let (mut left, mut entered) = (0.0, 0.0);
        for _ in 0..40_000 {
            let cos_i = unit().sqrt();
            let transmitted = f64::from(1.0 - fresnel::dielectric(cos_i, eta));
            entered += transmitted;
            let Some(mut mu) = fresnel::refracted_cos(cos_i, eta) else { continue };
            let (mut depth, mut weight) = (0.0f32, transmitted);
            loop {
                depth += -(1.0 - unit()).ln() * mu;
                if depth < 0.0 {
                    // Continue from the boundary after internal reflection.
                    let inside = fresnel::dielectric(-mu, 1.0 / eta);
                    if unit() >= inside {
                        left += weight;
                        break;
                    }
                    (depth, mu) = (0.0, -mu);
                    continue;
                }
                weight *= f64::from(albedo);
                if weight < 0.01 {
                    if unit() < 0.5 {
                        break;
                    }
                    weight *= 2.0;
                }
                let cos = if g == 0.0 {
                    1.0 - 2.0 * unit()
                } else {
                    let t = (1.0 - g * g) / (1.0 + g - 2.0 * g * unit());
                    (1.0 + g * g - t * t) / (2.0 * g)
                };
                let sines = ((1.0 - cos * cos) * (1.0 - mu * mu)).max(0.0).sqrt();
                let phi = std::f32::consts::TAU * unit();
                mu = (mu * cos + sines * phi.cos()).clamp(-1.0, 1.0);
            }
        }
        left / entered
    }

    #[test]
    fn simulated_reflectance_is_the_given_one() {
        for (rho, g, eta) in [
            (0.2, 0.0, 1.0),
            (0.8, 0.0, 1.0),
            (0.2, 0.0, 1.33),
            (0.5, 0.0, 1.5),
            (0.8, 0.0, 1.33),
            (0.5, 0.7, 1.33),
        ] {
            let found = simulate(albedo(rho, g, eta), g, eta);
            assert!((found - f64::from(rho)).abs() < 0.04, "{rho} {g} {eta}: {found}");
        }
    }
}
