//! Hand-derived upper bounds on a few lobes, as a baseline for compiler-derived bounds.
//!
//! The approach is that of lightcuts (Walter et al. 2005, *Lightcuts: A Scalable Approach to
//! Illumination*), where the box contains the directions from a point to a cluster of lights:
//! rotate the box so that the axis of the lobe is +z, then
//!
//! ```text
//! cos θ ≤ z / √(x² + y² + z²) with the minima of x² and y² and the maximum of z over the box,
//! cos θ ≤ 0 if the maximum of z is negative
//! ```
//!
//! and insert cosines into formulas that increase with them. Here directions are unit vectors, so
//! cos θ ≤ z holds too, and the smaller bound is used. Computations are in double precision.
//!
//! The compiled shader's results differ from the formulas by rounding errors, and its input vectors
//! are floats, not exactly of unit length. To bound the compiled shader, cosines, exponents and
//! results are widened by 2⁻²⁰, which exceeds both errors, except for faint lobes. The widening is
//! negligible except for a Phong lobe with an exponent in the thousands.

use std::f64::consts::PI;

/// A lobe with hand-derived bounds, without a diffuse term.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Lobe {
    /// kd/π.
    Diffuse {
        /// Albedo.
        kd: f64,
    },
    /// ks (n + 2)/(2π) cosⁿα, where α is the angle to the mirror direction.
    Phong {
        /// Albedo at normal incidence.
        ks: f64,
        /// The exponent n.
        exponent: f64,
    },
    /// ks exp(−(hx²/αx² + hy²/αy²)/hz²) / (4π αx αy √(cos θi cos θo)), h = wi + wo; isotropic
    /// if αx = αy.
    Ward {
        /// Albedo.
        ks: f64,
        /// Roughness along x and y.
        alpha: [f64; 2],
    },
}

/// Factor that covers rounding errors.
const ROUNDING_FACTOR: f64 = 1.0 + 1.0 / (1 << 20) as f64;

impl Lobe {
    /// Upper bound on the lobe times cos θi over the unit vectors in a box, given by the endpoints
    /// of each component.
    pub fn upper(&self, wo: [f32; 3], endpoints: &[[f32; 2]; 3]) -> f64 {
        let endpoints = endpoints.map(|endpoints| endpoints.map(f64::from));
        let cos_i = cosine(endpoints);
        if cos_i == 0.0 {
            return 0.0;
        }
        ROUNDING_FACTOR
            * match *self {
                Lobe::Diffuse { kd } => kd / PI * cos_i,
                Lobe::Phong { ks, exponent } => {
                    let cos_alpha = cosine(rotated(endpoints, mirror(wo)));
                    ks * (exponent + 2.0) / (2.0 * PI)
                        * libm::pow(cos_alpha * ROUNDING_FACTOR, exponent)
                        * cos_i
                }
                Lobe::Ward { ks, alpha } => ward(ks, alpha, wo.map(f64::from), endpoints, cos_i),
            }
    }
}

/// Upper bound on the cosine to +z over the unit vectors in a box; 0 if the box is below the
/// horizon.
fn cosine([x, y, [_, high]]: [[f64; 2]; 3]) -> f64 {
    if high <= 0.0 {
        return 0.0;
    }
    let normalized = high / (min_square(x) + min_square(y) + high * high).sqrt();
    normalized.min(high)
}

/// The minimum of x² over an interval.
fn min_square([low, high]: [f64; 2]) -> f64 {
    let min = low.max(-high).max(0.0);
    min * min
}

/// Rotates a box so that the direction `to_z` becomes +z, and returns its axis-aligned hull.
fn rotated(endpoints: [[f64; 2]; 3], to_z: [f64; 3]) -> [[f64; 2]; 3] {
    let length = to_z.iter().map(|x| x * x).sum::<f64>().sqrt();
    let z = to_z.map(|x| x / length);
    let [x, y] = tangents(z);
    [x, y, z].map(|axis| {
        let products = std::iter::zip(axis, endpoints).map(|(a, [low, high])| [a * low, a * high]);
        products.fold([0.0, 0.0], |[low, high], [a, b]| [low + a.min(b), high + a.max(b)])
    })
}

/// Upper bound on the Ward lobe times cos θi.
///
/// The squared slopes of the half vector are bounded by the minima of hx² and hy² and the maximum
/// of hz. cos θi / √(cos θi cos θo) = √(cos θi / cos θo) increases with cos θi. The lower limits on
/// hz and on the product of cosines are those of the shader.
fn ward(ks: f64, alpha: [f64; 2], wo: [f64; 3], endpoints: [[f64; 2]; 3], cos_i: f64) -> f64 {
    let half: [[f64; 2]; 3] = std::array::from_fn(|k| endpoints[k].map(|end| end + wo[k]));
    // Only light directions above the horizon contribute, so the bound on the cosine also bounds z.
    let hz = (cos_i + wo[2]).max(1e-6);
    let slopes = [0, 1].map(|k| min_square(half[k]) / (alpha[k] * alpha[k]));
    let exponent = (slopes[0] + slopes[1]) / (hz * hz);
    let peak = libm::exp(-(exponent / (ROUNDING_FACTOR * ROUNDING_FACTOR)).min(80.0));
    ks * peak / (4.0 * PI * alpha[0] * alpha[1]) * cos_i / (cos_i * wo[2]).max(1e-8).sqrt()
}

/// The mirror direction of `wo`.
pub fn mirror(wo: [f32; 3]) -> [f64; 3] {
    let [x, y, z] = wo.map(f64::from);
    [-x, -y, z]
}

/// Two tangents: directions perpendicular to `n` and to each other.
pub fn tangents(n: [f64; 3]) -> [[f64; 3]; 2] {
    let helper = if n[0].abs() < 0.5 { [1.0, 0.0, 0.0] } else { [0.0, 1.0, 0.0] };
    let t = cross(helper, n);
    let length = t.iter().map(|x| x * x).sum::<f64>().sqrt();
    let t = t.map(|x| x / length);
    [t, cross(n, t)]
}

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cosine_is_bounded_by_z_and_by_the_other_components() {
        // Around the normal, the box's maximum of z is the bound; elsewhere, x limits z further.
        assert_eq!(cosine([[-0.1, 0.1], [-0.1, 0.1], [0.9, 0.95]]), 0.95);
        assert!(
            (cosine([[0.6, 0.7], [0.0, 0.1], [0.5, 1.0]]) - 1.0 / 1.36f64.sqrt()).abs() < 1e-15
        );
        assert_eq!(cosine([[-1.0, 1.0], [-1.0, 1.0], [-0.5, -0.1]]), 0.0);
    }
}
