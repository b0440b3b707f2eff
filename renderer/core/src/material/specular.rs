//! Delta distributions: smooth conductors, dielectrics and coats, the only materials that are not
//! shaders.
//!
//! Parameters and conventions are those of pbrt-v4. The relative refractive index η is the index
//! below the surface (−z) over the index above. Refracted radiance is scaled by 1/η², since `wo`
//! points to the viewer and radiance is higher in the denser medium.

use super::dispersion::{DispersiveIndex, InterfaceSample, PathWavelength};
use super::{GRAZING_COSINE, fresnel};
use crate::texture::{Lookup, LookupNeeds, Param};
use lightbound_math::{Vec3, vec3};
use std::sync::Arc;

/// The complex refractive index of a conductor, η − i k, per RGB channel.
#[derive(Clone, Debug)]
pub struct Conductor {
    /// Real part, clamped to [10⁻⁴, 10⁴].
    pub eta: Param,
    /// Extinction coefficient, clamped to [0, 10⁴].
    pub k: Param,
    /// Reflectance at normal incidence beyond that of the index. It is scaled by 1 − (1 − cos θ)²,
    /// as in [`lightbound_math::spectrum::MetalFit`].
    pub excess: Param,
}

impl Conductor {
    /// Returns the reflectance at the interface to a medium of index `eta_outside`. Never negative.
    /// Saturated metals exceed 1: the red of gold is 1.02 at normal incidence.
    fn reflectance(&self, cos: f32, eta_outside: f32, lookup: &Lookup) -> Vec3 {
        let clamp = |x: Vec3, min: f32| x.clamp(Vec3::splat(min), Vec3::splat(1e4));
        let (eta, k) = (clamp(self.eta.rgb(lookup), 1e-4), clamp(self.k.rgb(lookup), 0.0));
        let index = fresnel::conductor(cos, eta / eta_outside, k / eta_outside);
        match self.excess {
            Param::Constant(Vec3::ZERO) => index,
            _ => (index + self.excess.rgb(lookup) * (cos * (2.0 - cos))).max(Vec3::ZERO),
        }
    }
}

/// The delta distributions of a smooth surface.
#[derive(Clone, Debug)]
pub enum Specular {
    /// A smooth conductor, the same on both sides.
    Conductor(Conductor),
    /// The interface between two dielectric media, which reflects and refracts.
    Dielectric {
        /// Refractive index below the surface over the index above.
        eta: f32,
    },
    /// The interface between two dielectric media; one of them disperses light.
    Dispersive {
        /// Refractive index below the surface over the index above.
        eta: Arc<DispersiveIndex>,
    },
    /// A pane so thin that it does not displace transmitted rays (pbrt's `thindielectric`).
    ThinDielectric {
        /// Refractive index of the pane over the index of its surroundings.
        eta: f32,
    },
    /// The reflection at a clear coat, the same on both sides. The material's shader handles the
    /// transmitted light.
    Coat {
        /// Refractive index of the coat.
        eta: f32,
    },
    /// A smooth conductor under a clear coat, the same on both sides.
    CoatedConductor {
        /// The conductor.
        conductor: Conductor,
        /// Refractive index of the coat.
        eta: f32,
        /// Thickness of the coat in mean free paths of its purely absorbing medium.
        thickness: f32,
    },
}

/// A sampled direction of incident light.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpecularSample {
    /// Unit vector in the shading frame.
    pub wi: Vec3,
    /// Reflectance or transmittance, divided by the probability of sampling it.
    pub weight: Vec3,
    /// Refractive index on the side of `wi` over the index on the side of `wo`; 1 for reflection.
    pub eta: f32,
    /// Wavelength of the path from here on, nm; `None` for RGB.
    pub nm: Option<f32>,
}

impl Specular {
    /// Returns the probability of sampling the delta distributions rather than the material's
    /// shader, if it has one.
    pub fn sampling_probability(&self, wo: Vec3) -> f32 {
        match self {
            Specular::Coat { eta } => fresnel::dielectric(wo.z.abs(), clamped_index(*eta)),
            _ => 1.0,
        }
    }

    /// Returns what lookups of the reflectance need.
    pub fn needs(&self) -> LookupNeeds {
        match self {
            Specular::Conductor(conductor) | Specular::CoatedConductor { conductor, .. } => {
                let Conductor { eta, k, excess } = conductor;
                eta.needs().union(k.needs()).union(excess.needs())
            }
            Specular::Dielectric { .. }
            | Specular::Dispersive { .. }
            | Specular::ThinDielectric { .. }
            | Specular::Coat { .. } => LookupNeeds::NONE,
        }
    }

    /// Samples a direction. `u` selects reflection or refraction. `None` if `wo` is tangential.
    ///
    /// Weights are from 0 to about 1, except for those of [`Specular::Dispersive`], which may
    /// be negative.
    ///
    /// A [coat](Specular::Coat) only reflects. The weight is 1: the reflectance divided by the
    /// [probability](Specular::sampling_probability) of sampling it.
    pub fn sample(
        &self,
        u: f32,
        wavelength: PathWavelength,
        wo: Vec3,
        lookup: &Lookup,
    ) -> Option<SpecularSample> {
        if wo.z.is_nan() || wo.z.abs() <= GRAZING_COSINE {
            return None;
        }
        let cos = wo.z.abs();
        let nm = wavelength.nm;
        let reflected =
            |weight: Vec3| SpecularSample { wi: vec3(-wo.x, -wo.y, wo.z), weight, eta: 1.0, nm };
        // Refracted by the relative index η, with cosine cos_t.
        let refracted =
            |eta: f32, cos_t: f32| vec3(-wo.x / eta, -wo.y / eta, -cos_t.copysign(wo.z));
        Some(match self {
            Specular::Conductor(conductor) => reflected(conductor.reflectance(cos, 1.0, lookup)),
            Specular::Coat { .. } => reflected(Vec3::ONE),
            Specular::CoatedConductor { conductor, eta, thickness } => reflected(
                coated_reflectance(conductor, clamped_index(*eta), *thickness, cos, lookup),
            ),
            Specular::ThinDielectric { eta } => {
                let r = fresnel::dielectric(cos, clamped_index(*eta));
                // The reflectance with interreflections, r + (1 − r)² r + (1 − r)² r³ + …
                let reflects = u < 2.0 * r / (1.0 + r);
                if reflects {
                    reflected(Vec3::ONE)
                } else {
                    SpecularSample { wi: -wo, weight: Vec3::ONE, eta: 1.0, nm }
                }
            }
            Specular::Dielectric { eta } => {
                let eta = clamped_index(*eta);
                let eta = if wo.z > 0.0 { eta } else { 1.0 / eta };
                match fresnel::refracted_cos(cos, eta) {
                    Some(cos_t) if u >= fresnel::dielectric(cos, eta) => {
                        let wi = refracted(eta, cos_t);
                        SpecularSample { wi, weight: Vec3::splat(1.0 / (eta * eta)), eta, nm }
                    }
                    _ => reflected(Vec3::ONE),
                }
            }
            Specular::Dispersive { eta } => {
                let InterfaceSample { refraction, weight, nm } =
                    eta.sample(u, wavelength, cos, wo.z > 0.0);
                let Some(eta) = refraction else {
                    return Some(SpecularSample { nm, ..reflected(weight) });
                };
                // Beyond the critical angle, the weight of refraction is 0.
                let wi = refracted(eta, fresnel::refracted_cos(cos, eta)?);
                SpecularSample { wi, weight: weight / (eta * eta), eta, nm }
            }
        })
    }
}

/// Returns the reflectance of a conductor under a coat: the geometric series of reflections between
/// both. Where the conductor reflects more than 1, the series takes 1.
fn coated_reflectance(
    conductor: &Conductor,
    eta: f32,
    thickness: f32,
    cos: f32,
    lookup: &Lookup,
) -> Vec3 {
    let r = fresnel::dielectric(cos, eta);
    let Some(cos_t) = fresnel::refracted_cos(cos, eta) else { return Vec3::ONE };
    let below = conductor.reflectance(cos_t, eta, lookup)
        * libm::expf(-2.0 * thickness.max(0.0) / cos_t.max(1e-6));
    Vec3::splat(r) + (1.0 - r) * (1.0 - r) * below / (1.0 - r * below.min(Vec3::ONE))
}

/// Clamps `eta` to [10⁻⁴, 10⁴]. Returns 1 if it is not positive and finite, as pbrt-v4 does for 0.
fn clamped_index(eta: f32) -> f32 {
    if eta > 0.0 && eta < f32::INFINITY { eta.clamp(1e-4, 1e4) } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RGB: PathWavelength = PathWavelength { nm: None, u: 0.3 };
    const LOOKUP: Lookup = Lookup::ORIGIN;

    fn gold() -> Conductor {
        Conductor {
            eta: Param::Constant(vec3(0.143, 0.375, 1.442)),
            k: Param::Constant(vec3(3.983, 2.386, 1.603)),
            excess: Param::from_float(0.0),
        }
    }

    fn flint() -> Arc<DispersiveIndex> {
        let spectrum = lightbound_math::spectrum::named("glass-F11").unwrap();
        DispersiveIndex::new(&spectrum).unwrap().into()
    }

    fn all_variants() -> Vec<Specular> {
        vec![
            Specular::Conductor(gold()),
            Specular::Dielectric { eta: 1.5 },
            Specular::Dielectric { eta: 0.7 },
            Specular::ThinDielectric { eta: 1.5 },
            Specular::Dispersive { eta: flint() },
            Specular::Coat { eta: 1.5 },
            Specular::CoatedConductor { conductor: gold(), eta: 1.5, thickness: 0.01 },
        ]
    }

    fn direction(degrees: f32) -> Vec3 {
        let ((s, c), (sp, cp)) = (degrees.to_radians().sin_cos(), 0.4f32.sin_cos());
        vec3(s * cp, s * sp, c)
    }

    #[test]
    fn dielectrics_conserve_energy() {
        for specular in [
            Specular::Dielectric { eta: 1.5 },
            Specular::Dielectric { eta: 0.7 },
            Specular::ThinDielectric { eta: 1.5 },
        ] {
            for angle in [0.0, 30.0, 60.0, 85.0, 120.0, 170.0] {
                let count = 1000;
                let sample = |i: i32| {
                    specular
                        .sample((i as f32 + 0.5) / count as f32, RGB, direction(angle), &LOOKUP)
                        .unwrap()
                };
                let mean: Vec3 =
                    (0..count).map(sample).map(|s| s.weight * s.eta * s.eta).sum::<Vec3>()
                        / count as f32;
                assert!((mean - 1.0).abs().max_element() < 1e-4, "{specular:?} {angle}: {mean}");
            }
        }
    }

    #[test]
    fn glass_refracts_by_snells_law() {
        let glass = Specular::Dielectric { eta: 1.5 };
        for (angle, eta) in [(50.0, 1.5), (160.0, 1.0 / 1.5)] {
            let wo = direction(angle);
            let s = glass.sample(0.999, RGB, wo, &LOOKUP).unwrap();
            assert!(s.wi.z * wo.z < 0.0 && s.eta == eta);
            // sin θₒ = η sin θᵢ, in the plane of incidence.
            assert!((s.wi.truncate() * eta + wo.truncate()).length() < 1e-6);
            assert!(
                (s.wi.length() - 1.0).abs() < 1e-6 && (s.weight.x - 1.0 / (eta * eta)).abs() < 1e-6
            );
        }
        // Beyond the critical angle, all light is reflected.
        let s = glass.sample(0.999, RGB, direction(120.0), &LOOKUP).unwrap();
        assert!(s.wi.z < 0.0 && s.eta == 1.0);
    }

    #[test]
    fn coated_and_bare_conductors_follow_fresnel() {
        for angle in [0.0, 40.0, 80.0] {
            let wo = direction(angle);
            let sample =
                |specular: Specular| specular.sample(0.5, RGB, wo, &LOOKUP).unwrap().weight;
            let bare = sample(Specular::Conductor(gold()));
            assert_eq!(
                bare,
                fresnel::conductor(wo.z, gold().eta.rgb(&LOOKUP), gold().k.rgb(&LOOKUP))
            );
            // A coat with the index of air has no effect. An opaque coat hides the conductor.
            let coated = |eta, thickness| {
                sample(Specular::CoatedConductor { conductor: gold(), eta, thickness })
            };
            assert!((coated(1.0, 0.0) - bare).abs().max_element() < 1e-6);
            assert!((coated(1.5, 1e3) - fresnel::dielectric(wo.z, 1.5)).abs().max_element() < 1e-6);
            assert!(
                coated(1.5, 0.0).max_element() <= 1.0
                    && coated(1.5, 0.1).cmple(coated(1.5, 0.0)).all()
            );
        }
    }

    #[test]
    fn coats_are_sampled_in_proportion_to_their_reflectance() {
        let coat = Specular::Coat { eta: 1.5 };
        for angle in [0.0, 60.0, 89.0, 120.0] {
            let wo = direction(angle);
            assert_eq!(coat.sampling_probability(wo), fresnel::dielectric(wo.z.abs(), 1.5));
            assert_eq!(coat.sample(0.0, RGB, wo, &LOOKUP).unwrap().weight, Vec3::ONE);
        }
        assert!(all_variants().iter().all(|s| matches!(s, Specular::Coat { .. })
            || s.sampling_probability(direction(30.0)) == 1.0));
    }

    #[test]
    fn extreme_input_stays_finite() {
        let mut all = all_variants();
        for bad in [f32::NAN, f32::INFINITY, -1.0, 0.0, 1e-30, 1e30, 1.000_05] {
            let conductor = || Conductor {
                eta: Param::from_float(bad),
                k: Param::from_float(bad),
                excess: Param::from_float(bad.clamp(-1.0, 1.0)),
            };
            all.extend([
                Specular::Conductor(conductor()),
                Specular::Dielectric { eta: bad },
                Specular::ThinDielectric { eta: bad },
            ]);
            all.push(Specular::Coat { eta: bad });
            all.push(Specular::CoatedConductor {
                conductor: conductor(),
                eta: bad,
                thickness: bad,
            });
        }
        let heights = [0.0f32, 1e-40, 1e-9, 1.1e-9, 1e-7, 1e-4, 0.5, 1.0];
        let directions = heights
            .iter()
            .flat_map(|&z| [1.0, -1.0].map(|side| vec3((1.0 - z * z).sqrt(), 0.0, side * z)));
        for wo in directions {
            for specular in &all {
                for u in [0.0, 0.5, 1.0 - f32::EPSILON / 2.0] {
                    let Some(s) = specular.sample(u, RGB, wo, &LOOKUP) else { continue };
                    assert!(
                        s.weight.is_finite()
                            && (s.weight.min_element() >= -1e-6
                                || matches!(specular, Specular::Dispersive { .. }))
                            && s.eta.is_finite(),
                        "{specular:?} {wo}: {s:?}"
                    );
                    assert!(
                        (s.wi.length() - 1.0).abs() < 1e-4 && s.wi.z != 0.0,
                        "{specular:?} {wo}: {s:?}"
                    );
                }
            }
        }
    }
}
