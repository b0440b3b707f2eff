//! Delta functions: polished metal, glass, panes and coats, the only materials that are no shaders.
//!
//! Parameters and conventions are pbrt-v4's: the refractive index is that of the side below (−z)
//! over that above, and refracted radiance is scaled by 1/η², since `wo` points to the eye and
//! radiance gathers in the denser medium.

use super::{GRAZING, fresnel};
use crate::math::{Vec3, vec3};
use crate::texture::{Lookup, Param};

/// The index of refraction of a metal, η − i k, one for each of red, green and blue.
#[derive(Clone, Debug)]
pub struct Metal {
    /// Real part, limited to [10⁻⁴, 10⁴].
    pub eta: Param,
    /// Absorption, limited to [0, 10⁴].
    pub k: Param,
}

impl Metal {
    /// Reflectance of the interface with a medium of index `outside`.
    fn reflectance(&self, cos: f32, outside: f32, at: &Lookup) -> Vec3 {
        let limit = |x: Vec3, low: f32| x.clamp(Vec3::splat(low), Vec3::splat(1e4));
        let (eta, k) = (limit(self.eta.rgb(at), 1e-4), limit(self.k.rgb(at), 0.0));
        fresnel::conductor(cos, eta / outside, k / outside)
    }
}

/// A surface as smooth as a mirror.
#[derive(Clone, Debug)]
pub enum Specular {
    /// A polished metal, alike on both sides.
    Metal(Metal),
    /// The interface to a medium of this index, which reflects and refracts.
    Interface {
        /// Index of the side below over that above.
        eta: f32,
    },
    /// A pane so thin that it does not shift what is seen through it (pbrt's `thindielectric`).
    Pane {
        /// Index of the pane over its surroundings.
        eta: f32,
    },
    /// The surface of a clear coat, alike on both sides; what it lets through is the business of
    /// the material's shader.
    Coat {
        /// Index of the coat.
        eta: f32,
    },
    /// A polished metal under a clear coat, alike on both sides.
    CoatedMetal {
        /// What is under the coat.
        metal: Metal,
        /// Index of the coat.
        eta: f32,
        /// Thickness of the coat, in mean free paths of a medium that absorbs what it does not let
        /// pass.
        thickness: f32,
    },
}

/// A direction that light comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpecularSample {
    /// Unit, in the shading frame.
    pub wi: Vec3,
    /// Reflectance or transmittance over the chance with which it was picked.
    pub weight: Vec3,
    /// Ratio of refractive indices, of the side of `wi` over that of `wo`; 1 for reflection.
    pub eta: f32,
}

impl Specular {
    /// How often light should be looked for here rather than by the material's shader, if it has
    /// one.
    pub fn share(&self, wo: Vec3) -> f32 {
        match self {
            Specular::Coat { eta } => fresnel::dielectric(wo.z.abs(), usable_index(*eta)),
            _ => 1.0,
        }
    }

    /// Draws a direction, `u` deciding between reflection and refraction; `None` along the surface,
    /// where nothing is reflected.
    ///
    /// Of a [coat](Specular::Coat) this is the reflection alone, weighted by 1 over its
    /// [share](Specular::share) of it: by 1.
    pub fn sample(&self, u: f32, wo: Vec3, at: &Lookup) -> Option<SpecularSample> {
        if wo.z.is_nan() || wo.z.abs() <= GRAZING {
            return None;
        }
        let cos = wo.z.abs();
        let reflected =
            |weight: Vec3| SpecularSample { wi: vec3(-wo.x, -wo.y, wo.z), weight, eta: 1.0 };
        Some(match self {
            Specular::Metal(metal) => reflected(metal.reflectance(cos, 1.0, at)),
            Specular::Coat { .. } => reflected(Vec3::ONE),
            Specular::CoatedMetal { metal, eta, thickness } => {
                reflected(coated_reflectance(metal, usable_index(*eta), *thickness, cos, at))
            }
            Specular::Pane { eta } => {
                let r = fresnel::dielectric(cos, usable_index(*eta));
                // r + (1 − r)² r + (1 − r)² r³ + …, the reflections inside summed up.
                let reflects = u < 2.0 * r / (1.0 + r);
                if reflects {
                    reflected(Vec3::ONE)
                } else {
                    SpecularSample { wi: -wo, weight: Vec3::ONE, eta: 1.0 }
                }
            }
            Specular::Interface { eta } => {
                let eta = usable_index(*eta);
                let eta = if wo.z > 0.0 { eta } else { 1.0 / eta };
                match fresnel::refracted_cos(cos, eta) {
                    Some(cos_t) if u >= fresnel::dielectric(cos, eta) => {
                        let wi = vec3(-wo.x / eta, -wo.y / eta, -cos_t.copysign(wo.z));
                        SpecularSample { wi, weight: Vec3::splat(1.0 / (eta * eta)), eta }
                    }
                    _ => reflected(Vec3::ONE),
                }
            }
        })
    }
}

/// Reflectance of a metal under a coat: at the surface, at the metal after two passages, and so on
/// between the two, a geometric series.
fn coated_reflectance(metal: &Metal, eta: f32, thickness: f32, cos: f32, at: &Lookup) -> Vec3 {
    let r = fresnel::dielectric(cos, eta);
    let Some(cos_t) = fresnel::refracted_cos(cos, eta) else { return Vec3::ONE };
    let below =
        metal.reflectance(cos_t, eta, at) * libm::expf(-2.0 * thickness.max(0.0) / cos_t.max(1e-6));
    Vec3::splat(r) + (1.0 - r) * (1.0 - r) * below / (1.0 - r * below)
}

/// `eta` limited to [10⁻⁴, 10⁴]; 1 where it is not a positive finite number, as 0 is in pbrt-v4.
fn usable_index(eta: f32) -> f32 {
    if eta > 0.0 && eta < f32::INFINITY { eta.clamp(1e-4, 1e4) } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Vec2;

    const AT: Lookup = Lookup { p: Vec3::ZERO, uv: Vec2::ZERO };

    fn gold() -> Metal {
        Metal {
            eta: Param::Constant(vec3(0.143, 0.375, 1.442)),
            k: Param::Constant(vec3(3.983, 2.386, 1.603)),
        }
    }

    fn all() -> Vec<Specular> {
        vec![
            Specular::Metal(gold()),
            Specular::Interface { eta: 1.5 },
            Specular::Interface { eta: 0.7 },
            Specular::Pane { eta: 1.5 },
            Specular::Coat { eta: 1.5 },
            Specular::CoatedMetal { metal: gold(), eta: 1.5, thickness: 0.01 },
        ]
    }

    fn direction(degrees: f32) -> Vec3 {
        let ((s, c), (sp, cp)) = (degrees.to_radians().sin_cos(), 0.4f32.sin_cos());
        vec3(s * cp, s * sp, c)
    }

    #[test]
    fn no_light_is_gained_or_lost_by_dielectrics() {
        for specular in [
            Specular::Interface { eta: 1.5 },
            Specular::Interface { eta: 0.7 },
            Specular::Pane { eta: 1.5 },
        ] {
            for angle in [0.0, 30.0, 60.0, 85.0, 120.0, 170.0] {
                let count = 1000;
                let sample = |i: i32| {
                    specular.sample((i as f32 + 0.5) / count as f32, direction(angle), &AT).unwrap()
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
        let glass = Specular::Interface { eta: 1.5 };
        for (angle, eta) in [(50.0, 1.5), (160.0, 1.0 / 1.5)] {
            let wo = direction(angle);
            let s = glass.sample(0.999, wo, &AT).unwrap();
            assert!(s.wi.z * wo.z < 0.0 && s.eta == eta);
            // sin θₒ = η sin θᵢ, in the plane of incidence.
            assert!((s.wi.truncate() * eta + wo.truncate()).length() < 1e-6);
            assert!(
                (s.wi.length() - 1.0).abs() < 1e-6 && (s.weight.x - 1.0 / (eta * eta)).abs() < 1e-6
            );
        }
        // Beyond the critical angle all is reflected, whatever the number.
        let s = glass.sample(0.999, direction(120.0), &AT).unwrap();
        assert!(s.wi.z < 0.0 && s.eta == 1.0);
    }

    #[test]
    fn metals_reflect_by_fresnel_with_or_without_a_coat() {
        for angle in [0.0, 40.0, 80.0] {
            let wo = direction(angle);
            let sample = |specular: Specular| specular.sample(0.5, wo, &AT).unwrap().weight;
            let bare = sample(Specular::Metal(gold()));
            assert_eq!(bare, fresnel::conductor(wo.z, gold().eta.rgb(&AT), gold().k.rgb(&AT)));
            // A coat like the air is none; an opaque one hides the metal.
            let coated =
                |eta, thickness| sample(Specular::CoatedMetal { metal: gold(), eta, thickness });
            assert!((coated(1.0, 0.0) - bare).abs().max_element() < 1e-6);
            assert!((coated(1.5, 1e3) - fresnel::dielectric(wo.z, 1.5)).abs().max_element() < 1e-6);
            assert!(
                coated(1.5, 0.0).max_element() <= 1.0
                    && coated(1.5, 0.1).cmple(coated(1.5, 0.0)).all()
            );
        }
    }

    #[test]
    fn coats_are_chosen_as_often_as_they_reflect() {
        let coat = Specular::Coat { eta: 1.5 };
        for angle in [0.0, 60.0, 89.0, 120.0] {
            let wo = direction(angle);
            assert_eq!(coat.share(wo), fresnel::dielectric(wo.z.abs(), 1.5));
            assert_eq!(coat.sample(0.0, wo, &AT).unwrap().weight, Vec3::ONE);
        }
        assert!(
            all()
                .iter()
                .all(|s| matches!(s, Specular::Coat { .. }) || s.share(direction(30.0)) == 1.0)
        );
    }

    #[test]
    fn extreme_input_stays_finite() {
        let mut all = all();
        for bad in [f32::NAN, f32::INFINITY, -1.0, 0.0, 1e-30, 1e30, 1.000_05] {
            let metal = || Metal { eta: Param::from_float(bad), k: Param::from_float(bad) };
            all.extend([
                Specular::Metal(metal()),
                Specular::Interface { eta: bad },
                Specular::Pane { eta: bad },
            ]);
            all.push(Specular::Coat { eta: bad });
            all.push(Specular::CoatedMetal { metal: metal(), eta: bad, thickness: bad });
        }
        let heights = [0.0f32, 1e-40, 1e-9, 1.1e-9, 1e-7, 1e-4, 0.5, 1.0];
        let directions = heights
            .iter()
            .flat_map(|&z| [1.0, -1.0].map(|side| vec3((1.0 - z * z).sqrt(), 0.0, side * z)));
        for wo in directions {
            for specular in &all {
                for u in [0.0, 0.5, 1.0 - f32::EPSILON / 2.0] {
                    let Some(s) = specular.sample(u, wo, &AT) else { continue };
                    assert!(
                        s.weight.is_finite()
                            && s.weight.min_element() >= -1e-6
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
