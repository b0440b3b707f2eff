//! Upper bounds of the geometric factor of clusters, 8 at a time; Walter et al. 2005 §5.2 for boxes, with cones around them as in
//! Conty Estévez & Kulla 2018.
//!
//! **Distance.** For a light at p in the box, each |p − x| componentwise is at least the box's distance along that axis, and rounding is
//! monotone; the squares are summed in the same order in both places ([`length_squared`]), and so is the quotient taken. So
//! 1 / distance² of the box is at least that of any light as floats come out, without tolerance.
//!
//! **Angle.** Let A be the cone's axis, θ its half angle, and γ the angle between A and x − p. A light's cosine is at most
//! cos(max(0, γ − θ)), which falls with γ. Over all p of the box, z = A·(x − p) is at most its sum of maxima per axis; cos γ = z / |x − p|
//! = z / √(z² + ρ²), with ρ the distance of x from the line through p along A. Where max z ≥ 0, cos γ ≤ max z over the larger of box
//! distance and √(max z² + min ρ²), with min ρ by a ball around the box; else cos γ ≤ max z over the greatest distance.
//!
//! Rounding, with u = 2⁻²⁴, axes normalised to 4u, and `far` the greatest distance to the box, which is at least 2⁻⁵⁰ where anything
//! arrives: max z is wrong by less than 4u·far from rounding and 4u·far by the length of A; ρ by less than 16u·far; roots and quotient by less than
//! 8u in total, relatively. `SLACK` = 64u of `far` on both sides of the quotient exceeds that, since the divisor is at most 1.5 far: the
//! computed cos γ is no less than the true one. What follows is monotone in it but for 8u by its own rounding, and the light's own cosine
//! is off by less than 16u: a second `SLACK` at the end exceeds their sum.

use super::node::{NOBODY, Node, WIDTH};
use super::point::{Kind, length_squared};
use crate::math::Vec3;

/// 64 times the unit of rounding.
const SLACK: f32 = 1.0 / (1 << 18) as f32;

impl Node {
    /// For each child, at least [`super::Arrival::factor`] at `x` of every light below it, in the very floats that are computed; for pieces
    /// with extent, of every draw. ∞ where `x` lies in the box or touches it, 0 for slots without a child, never NaN. `kind` is that of the tree.
    pub fn geometric_bounds(&self, kind: Kind, x: Vec3) -> [f32; WIDTH] {
        let x = x.to_array();
        let mut bounds = [1.0; WIDTH];
        match kind {
            Kind::Omni => (0..WIDTH).for_each(|k| bounds[k] = 1.0 / self.distance_squared(k, x)),
            Kind::Oriented => (0..WIDTH).for_each(|k| bounds[k] = self.oriented(k, x)),
            Kind::Directional => {}
        }
        for (bound, &representative) in bounds.iter_mut().zip(&self.representative) {
            *bound = if representative == NOBODY { 0.0 } else { *bound };
        }
        bounds
    }

    /// Squared distance from the box.
    #[inline(always)]
    fn distance_squared(&self, k: usize, x: [f32; 3]) -> f32 {
        length_squared(std::array::from_fn(|i| greater(greater(self.lo[i][k] - x[i], x[i] - self.hi[i][k]), 0.0)))
    }

    /// Bound of emission over squared distance.
    #[inline(always)]
    fn oriented(&self, k: usize, x: [f32; 3]) -> f32 {
        let d2 = self.distance_squared(k, x);
        let cos = self.cos_to_axis(k, x, d2);
        let spot = if cos >= self.cos_spot[k] { 1.0 } else { 0.0 };
        let emission = greater(cos * self.cosine[k], spot);
        // Where there is no emission, no distance makes any.
        if emission > 0.0 { emission / d2 } else { 0.0 }
    }

    /// Upper bound of the cosine, at most 1, between a light's axis and its direction to `x`, whose squared distance from the box is `d2`.
    #[inline(always)]
    fn cos_to_axis(&self, k: usize, x: [f32; 3], d2: f32) -> f32 {
        let axis: [f32; 3] = std::array::from_fn(|i| self.axis[i][k]);
        let from_lo: [f32; 3] = std::array::from_fn(|i| x[i] - self.lo[i][k]);
        let from_hi: [f32; 3] = std::array::from_fn(|i| x[i] - self.hi[i][k]);
        let terms: [f32; 3] = std::array::from_fn(|i| greater(axis[i] * from_lo[i], axis[i] * from_hi[i]));
        let far2 = length_squared(std::array::from_fn(|i| greater(from_lo[i].abs(), from_hi[i].abs())));
        let slack = SLACK * far2.sqrt();
        let z = terms[0] + terms[1] + terms[2] + slack;
        // The ball around the box.
        let center: [f32; 3] = std::array::from_fn(|i| 0.5 * (from_lo[i] + from_hi[i]));
        let radius = length_squared(std::array::from_fn(|i| 0.5 * (from_lo[i] - from_hi[i]))).sqrt();
        let along = axis[0] * center[0] + axis[1] * center[1] + axis[2] * center[2];
        let across = length_squared(std::array::from_fn(|i| center[i] - axis[i] * along)).sqrt();
        let rho = greater(across - radius - slack, 0.0);
        let reach2 = if z >= 0.0 { greater(d2, z * z + rho * rho) } else { far2 };
        // ≤ −1 only by rounding.
        let cos = greater(z / reach2.sqrt(), -1.0);
        let cone = self.cos_angle[k];
        let sines = ((1.0 - cos) * (1.0 + cos) * ((1.0 - cone) * (1.0 + cone))).sqrt();
        let narrowed = lesser(cos * cone + sines + SLACK, 1.0);
        // Within the cone, and where infinities met: anything may be.
        if cos < cone { narrowed } else { 1.0 }
    }
}

/// The greater of two, `b` where `a` is NaN: one instruction.
#[inline(always)]
fn greater(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

#[inline(always)]
fn lesser(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}
