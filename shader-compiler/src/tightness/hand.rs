//! Upper bounds of a few lobes that people derive by hand, as a yardstick for derived ones.
//!
//! The idea is that of lightcuts (Walter et al. 2005, *Lightcuts: A Scalable Approach to
//! Illumination*, where a box of lights seen from a point is such a box of directions): turn the
//! box so that what the lobe is about is +z, then
//!
//! ```text
//! cos θ ≤ z / √(x² + y² + z²),   x² and y² the least in the box, z the greatest, if that is not negative; else 0
//! ```
//!
//! and put cosines into formulas that grow with them. Here directions are unit vectors, so cos θ ≤
//! z holds too, and the smaller counts. All in double precision, for [patches](Patch): unit vectors
//! whose components lie in the box.
//!
//! What the compiled shader returns differs from the formulas by its rounding, and the vectors it
//! is given are floats, not exactly unit. Bounds are for that very shader: cosines, exponents and
//! results are widened by 2⁻²⁰, which is above both, for lobes that are not faint. It is not felt
//! but for a Phong lobe with an exponent of thousands.

use super::list::Material;
use super::patch::Patch;
use super::placement::mirror;
use crate::cost::boxes::tangents;
use std::f64::consts::PI;

/// A lobe with the bounds of this file; there is no diffuse term beside it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Lobe {
    /// kd/π.
    Diffuse {
        /// Albedo.
        kd: f64,
    },
    /// ks (n + 2)/(2π) cosⁿα, α from the mirror direction.
    Phong {
        /// Albedo at normal incidence.
        ks: f64,
        /// The exponent n.
        exponent: f64,
    },
    /// ks exp(−(hx²/αx² + hy²/αy²)/hz²) / (4π αx αy √(cos θi cos θo)), h = wi + wo; isotropic where
    /// αx = αy.
    Ward {
        /// Albedo.
        ks: f64,
        /// Roughness along x and y.
        alpha: [f64; 2],
    },
}

/// What rounding adds at most, relatively.
const FLOATS: f64 = 1.0 + 1.0 / (1 << 20) as f64;

impl Lobe {
    /// The lobe of a material, if it is one of these.
    pub fn of(material: &Material) -> Option<Lobe> {
        let get = |name| material.get(name);
        if material.shader == "diffuse" {
            return Some(Lobe::Diffuse { kd: get("kd")? });
        }
        let ks = get("ks").filter(|_| get("kd") == Some(0.0))?;
        match material.shader {
            "phong" => Some(Lobe::Phong { ks, exponent: get("exponent")? }),
            "isoward" => Some(Lobe::Ward { ks, alpha: [get("alpha")?; 2] }),
            "ward" => Some(Lobe::Ward { ks, alpha: [get("alpha_x")?, get("alpha_y")?] }),
            _ => None,
        }
    }

    /// Bound of the lobe times cos θi.
    pub fn upper(&self, wo: [f32; 3], patch: &Patch) -> f64 {
        let ends = patch.ends.map(|ends| ends.map(f64::from));
        let cos_i = cosine(ends);
        if cos_i == 0.0 {
            return 0.0;
        }
        FLOATS
            * match *self {
                Lobe::Diffuse { kd } => kd / PI * cos_i,
                Lobe::Phong { ks, exponent } => {
                    let cos_alpha = cosine(turned(ends, mirror(wo)));
                    ks * (exponent + 2.0) / (2.0 * PI)
                        * libm::pow(cos_alpha * FLOATS, exponent)
                        * cos_i
                }
                Lobe::Ward { ks, alpha } => ward(ks, alpha, wo.map(f64::from), ends, cos_i),
            }
    }
}

/// Bound of the cosine to +z over the unit vectors in a box, 0 where there is none above the
/// horizon.
fn cosine([x, y, [_, high]]: [[f64; 2]; 3]) -> f64 {
    if high <= 0.0 {
        return 0.0;
    }
    let normalized = high / (least_square(x) + least_square(y) + high * high).sqrt();
    normalized.min(high)
}

/// The least square of an interval's members.
fn least_square([low, high]: [f64; 2]) -> f64 {
    let least = low.max(-high).max(0.0);
    least * least
}

/// The smallest box around a box that is turned so that a direction becomes +z.
fn turned(ends: [[f64; 2]; 3], to_z: [f64; 3]) -> [[f64; 2]; 3] {
    let length = to_z.iter().map(|x| x * x).sum::<f64>().sqrt();
    let z = to_z.map(|x| x / length);
    let [x, y] = tangents(z);
    [x, y, z].map(|axis| {
        let products = std::iter::zip(axis, ends).map(|(a, [low, high])| [a * low, a * high]);
        products.fold([0.0, 0.0], |[low, high], [a, b]| [low + a.min(b), high + a.max(b)])
    })
}

/// The half vector's slopes are at least the least hx and hy over the greatest hz; cos θi / √(cos
/// θi cos θo) = √(cos θi / cos θo) grows with cos θi. The floors are the shader's.
fn ward(ks: f64, alpha: [f64; 2], wo: [f64; 3], ends: [[f64; 2]; 3], cos_i: f64) -> f64 {
    let half: [[f64; 2]; 3] = std::array::from_fn(|k| ends[k].map(|end| end + wo[k]));
    // What is used of the light direction is above the horizon, so the cosine's bound serves as
    // that of its z.
    let hz = (cos_i + wo[2]).max(1e-6);
    let slopes = [0, 1].map(|k| least_square(half[k]) / (alpha[k] * alpha[k]));
    let exponent = (slopes[0] + slopes[1]) / (hz * hz);
    let peak = libm::exp(-(exponent / (FLOATS * FLOATS)).min(80.0));
    ks * peak / (4.0 * PI * alpha[0] * alpha[1]) * cos_i / (cos_i * wo[2]).max(1e-8).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::random::Random;
    use crate::tightness::placement::Placement;

    /// The lobe times cos θi, for one direction.
    fn value(lobe: &Lobe, wi: [f64; 3], wo: [f64; 3]) -> f64 {
        let cos_i = wi[2].max(0.0);
        match *lobe {
            Lobe::Diffuse { kd } => kd / PI * cos_i,
            Lobe::Phong { ks, exponent } => {
                let cos_alpha = (wi[2] * wo[2] - wi[0] * wo[0] - wi[1] * wo[1]).max(0.0);
                ks * (exponent + 2.0) / (2.0 * PI) * libm::pow(cos_alpha, exponent) * cos_i
            }
            Lobe::Ward { ks, alpha: [a, b] } if cos_i > 0.0 => {
                let h = [0, 1, 2].map(|k| wi[k] + wo[k]);
                let slope2 = ((h[0] / a) * (h[0] / a) + (h[1] / b) * (h[1] / b)) / (h[2] * h[2]);
                ks * libm::exp(-slope2) / (4.0 * PI * a * b * (cos_i * wo[2]).sqrt()) * cos_i
            }
            Lobe::Ward { .. } => 0.0,
        }
    }

    const LOBES: [Lobe; 7] = [
        Lobe::Diffuse { kd: 0.7 },
        Lobe::Phong { ks: 1.0, exponent: 3.0 },
        Lobe::Phong { ks: 0.5, exponent: 200.0 },
        Lobe::Phong { ks: 1.0, exponent: 10000.0 },
        Lobe::Ward { ks: 1.0, alpha: [0.3, 0.3] },
        Lobe::Ward { ks: 0.4, alpha: [0.5, 0.1] },
        Lobe::Ward { ks: 1.0, alpha: [0.02, 0.05] },
    ];

    #[test]
    fn bounds_contain_and_are_met() {
        for lobe in LOBES {
            let mut closest = 0.0f64;
            for index in 0..300 {
                let placement = Placement::new(2, [1.0, 3.0, 10.0, 30.0, 60.0][index % 5], index);
                let (wo, patch) = (placement.wo.map(f64::from), placement.patch);
                let upper = lobe.upper(placement.wo, &patch);
                let random = &mut Random::new(index as u64);
                let mut members: Vec<_> = (0..2000).filter_map(|_| patch.draw(random)).collect();
                members.extend(patch.boundary());
                members.extend(patch.near(mirror(placement.wo)));
                for wi in members {
                    let value = value(&lobe, wi.map(f64::from), wo);
                    assert!(
                        value <= upper * (1.0 + 1e-6),
                        "{lobe:?}, case {index}, {wi:?}: {value} > {upper}"
                    );
                    if upper > 0.0 {
                        closest = closest.max(value / upper);
                    }
                }
            }
            assert!(closest > 0.95, "{lobe:?}: {closest}");
        }
    }

    #[test]
    fn cosines_are_bounded_by_both_arguments() {
        // Around the normal the box itself tells; off it, what x leaves to z.
        assert_eq!(cosine([[-0.1, 0.1], [-0.1, 0.1], [0.9, 0.95]]), 0.95);
        assert!(
            (cosine([[0.6, 0.7], [0.0, 0.1], [0.5, 1.0]]) - 1.0 / 1.36f64.sqrt()).abs() < 1e-15
        );
        assert_eq!(cosine([[-1.0, 1.0], [-1.0, 1.0], [-0.5, -0.1]]), 0.0);
    }

    #[test]
    fn lobes_with_more_in_them_have_no_bound_here() {
        const WITH_DIFFUSE: Material = Material {
            shader: "phong",
            common: &[("kd", 0.2), ("ks", 0.5)],
            varied: &[("exponent", 5.0)],
        };
        assert_eq!(Lobe::of(&WITH_DIFFUSE), None);
        let with =
            super::super::list::LIST.iter().filter(|material| Lobe::of(material).is_some()).count();
        assert_eq!(with, 14);
    }
}
