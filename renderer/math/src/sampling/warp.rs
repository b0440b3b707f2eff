//! Sampling warps from the unit square to disks, triangles and directions, with their PDFs.
//!
//! All warps are defined on all of [0, 1)². They map equal areas to equal probabilities, so
//! stratified points stay stratified. Directions start from the concentric disk map, without
//! further trigonometry: points are lifted to spheres and cones by Archimedes' hat-box theorem, and
//! to the cosine-weighted hemisphere by projection (Malley's method).

use crate::{Vec2, Vec3, vec2};
use std::f32::consts::{FRAC_1_PI, FRAC_PI_4, PI};

/// PDF of [`uniform_sphere`], 1/sr.
pub const UNIFORM_SPHERE_PDF: f32 = 0.25 * FRAC_1_PI;

/// The smallest cosine that [`cosine_hemisphere`] returns, so that the PDF stays positive. It is
/// the height of the hemisphere over a point of the disk that is 2⁻²⁵ (half the spacing of the
/// input) from the rim.
const MIN_COSINE: f32 = 1.0 / 4096.0;

/// Samples a uniform point on the closed unit disk, by the concentric map of Shirley & Chiu 1997.
#[inline]
pub fn uniform_disk(u: Vec2) -> Vec2 {
    // Selections instead of branches, for loops over SIMD lanes.
    let (a, b) = (2.0 * u.x - 1.0, 2.0 * u.y - 1.0);
    let is_wide = a.abs() > b.abs();
    let (r, other) = if is_wide { (a, b) } else { (b, a) };
    let (sin, cos) = sin_cos_octant(other / if r == 0.0 { 1.0 } else { r });
    if is_wide { vec2(r * cos, r * sin) } else { vec2(r * sin, r * cos) }
}

/// Returns the sine and cosine of t π/4 for |t| ≤ 1, with an error of about 10⁻⁷.
///
/// Evaluates polynomials in t², interpolated at Chebyshev nodes. Unlike the standard library's
/// `sin`, they are bit-identical on every platform.
#[inline]
pub fn sin_cos_octant(t: f32) -> (f32, f32) {
    let s = t * t;
    let sin = t * (FRAC_PI_4 + s * (-0.080_745_43 + s * (0.002_490_007 + s * -3.595_44e-5)));
    let cos =
        1.0 + s * (-0.308_425_14 + s * (0.015_854_325 + s * (-3.259_386e-4 + s * 3.529_804_3e-6)));
    (sin, cos)
}

/// Returns the inverse of [`uniform_disk`], with an error of at most 10⁻⁶. Points outside the unit
/// disk are projected onto its boundary.
#[inline]
pub fn disk_to_square(d: Vec2) -> Vec2 {
    let (x, y) = (d.x.abs(), d.y.abs());
    let r = d.length().min(1.0);
    let (max, min) = (x.max(y), x.min(y));
    let other = if max > 0.0 { r * atan_octant(min / max) } else { 0.0 };
    let (a, b) = if x > y { (r, other) } else { (other, r) };
    vec2(0.5 + 0.5 * a.copysign(d.x), 0.5 + 0.5 * b.copysign(d.y))
}

/// Returns the arctangent of t in units of π/4, for t in [0, 1]. The result is in [0, 1], with an
/// error of at most 4 · 2⁻²⁴.
///
/// Evaluates a polynomial in t², interpolated at Chebyshev nodes, as in [`sin_cos_octant`].
#[inline]
pub fn atan_octant(t: f32) -> f32 {
    const COEFFICIENTS: [f32; 8] = [
        1.273_239_4,
        -0.424_393_83,
        0.254_227_25,
        -0.178_295_43,
        0.125_654_3,
        -0.074_904_37,
        0.030_278_297,
        -0.005_805_707_5,
    ];
    let s = t * t;
    COEFFICIENTS.into_iter().rev().fold(0.0, |sum, coefficient| sum * s + coefficient) * t
}

/// Samples a cosine-weighted unit direction around +z, with PDF cos θ / π (Malley's method). z is
/// always positive.
#[inline]
pub fn cosine_hemisphere(u: Vec2) -> Vec3 {
    let d = uniform_disk(u);
    d.extend((1.0 - d.length_squared()).max(0.0).sqrt().max(MIN_COSINE))
}

/// Samples a uniform unit direction in a cone around +z with half angle θ, where 1 − cos θ =
/// `one_minus_cos` is in (0, 2].
///
/// The parameter is 1 − cos θ (see [`one_minus_cos`]), because an `f32` cos θ cannot resolve small
/// angles, such as the 10⁻⁴ radians that a distant sphere subtends.
#[inline]
pub fn uniform_cone(u: Vec2, one_minus_cos: f32) -> Vec3 {
    let d = uniform_disk(u);
    // h = 1 − z is uniform in [0, 1 − cos θ], since r² is uniform in [0, 1]. The distance from the
    // z axis is √(h (2 − h)) = r √((h/r²) (2 − h)).
    let h = (d.length_squared() * one_minus_cos).min(one_minus_cos);
    (d * (one_minus_cos * (2.0 - h)).sqrt()).extend(1.0 - h)
}

/// Returns the PDF of [`uniform_cone`] inside the cone, 1/sr.
#[inline]
pub fn uniform_cone_pdf(one_minus_cos: f32) -> f32 {
    1.0 / (2.0 * PI * one_minus_cos)
}

/// Computes 1 − cos θ from sin² θ for an acute angle, without cancellation. A sphere of radius r at
/// distance d has sin² θ = r²/d².
#[inline]
pub fn one_minus_cos(sin_squared: f32) -> f32 {
    sin_squared / (1.0 + (1.0 - sin_squared).max(0.0).sqrt())
}

/// Samples a uniform unit direction on the sphere.
#[inline]
pub fn uniform_sphere(u: Vec2) -> Vec3 {
    uniform_cone(u, 2.0)
}

/// Samples a uniform point on a triangle, as the barycentric coordinates of vertices 1 and 2. The
/// PDF is 1 / area.
///
/// Shears each half of the square to half of the triangle (Heitz 2019, *A Low-Distortion Map
/// Between Triangle and Square*). The barycentric coordinate of vertex 0, `1 − x − y`, is never
/// negative.
#[inline]
pub fn uniform_triangle(u: Vec2) -> Vec2 {
    if u.y > u.x {
        let x = 0.5 * u.x;
        vec2(x, u.y - x)
    } else {
        let y = 0.5 * u.y;
        vec2(u.x - y, y)
    }
}

#[cfg(test)]
mod tests {
    use super::super::ONE_MINUS_EPSILON;
    use super::super::testing::{assert_chi_square, points};
    use super::*;

    const N: u32 = 100_000;
    const GRID: usize = 16;

    /// Returns edge cases in the unit square; all coordinates are multiples of 2⁻²⁴.
    fn edge_cases() -> impl Iterator<Item = Vec2> {
        let values = [
            0.0,
            1.0 / (1 << 24) as f32,
            0.5,
            0.5 - 1.0 / (1 << 24) as f32,
            0.75,
            ONE_MINUS_EPSILON,
        ];
        values.into_iter().flat_map(move |x| values.map(|y| vec2(x, y)))
    }

    /// Applies a χ² test to points against the uniform distribution, on a grid of the unit square.
    fn assert_uniform(points: impl Iterator<Item = Vec2>, label: &str) {
        let (mut counts, mut n) = ([0; GRID * GRID], 0);
        for p in points {
            let cell = |x: f32| {
                assert!((-1e-6..1.0 + 1e-6).contains(&x), "{label}: {x} outside [0, 1]");
                ((x * GRID as f32) as usize).min(GRID - 1)
            };
            counts[cell(p.x) + GRID * cell(p.y)] += 1;
            n += 1;
        }
        assert_chi_square(&counts, &[f64::from(n) / (GRID * GRID) as f64; GRID * GRID], label);
    }

    /// Returns the azimuth as a fraction of a full turn.
    fn turns(v: Vec2) -> f32 {
        (v.y.atan2(v.x) / (2.0 * PI)).rem_euclid(1.0)
    }

    #[test]
    fn disk_to_square_inverts_uniform_disk() {
        for u in points(N, 5).chain(edge_cases()) {
            let round_trip = disk_to_square(uniform_disk(u));
            assert!((round_trip - u).abs().max_element() < 5e-7, "{u} {round_trip}");
        }
        assert_eq!(disk_to_square(vec2(1.5, 0.0)), vec2(1.0, 0.5));
        assert_eq!(disk_to_square(Vec2::ZERO), vec2(0.5, 0.5));
    }

    #[test]
    fn sin_cos_octant_matches_the_standard_library() {
        for i in -100_000..=100_000 {
            let t = i as f32 / 100_000.0;
            let (sin, cos) = sin_cos_octant(t);
            let exact = f64::from(t) * std::f64::consts::FRAC_PI_4;
            assert!(
                (f64::from(sin) - exact.sin()).abs() < 1e-7
                    && (f64::from(cos) - exact.cos()).abs() < 1e-7,
                "{t}"
            );
        }
    }

    #[test]
    fn disk_points_are_uniform() {
        assert_uniform(
            points(N, 1).map(uniform_disk).map(|d| vec2(d.length_squared(), turns(d))),
            "disk",
        );
        for u in edge_cases() {
            assert!(uniform_disk(u).length() < 1.0 + 1e-6, "{u}");
        }
    }

    #[test]
    fn cosine_hemisphere_matches_its_pdf() {
        // cos² θ is uniform under the density cos θ / π.
        assert_uniform(
            points(N, 2).map(cosine_hemisphere).map(|w| vec2(w.z * w.z, turns(w.truncate()))),
            "cosine",
        );
        for u in edge_cases() {
            let w = cosine_hemisphere(u);
            assert!((w.length() - 1.0).abs() < 1e-6 && w.z > 0.0, "{u} {w}");
        }
    }

    #[test]
    fn sphere_directions_are_uniform() {
        assert_uniform(
            points(N, 3).map(uniform_sphere).map(|w| vec2(0.5 + 0.5 * w.z, turns(w.truncate()))),
            "sphere",
        );
        for u in edge_cases() {
            assert!((uniform_sphere(u).length() - 1.0).abs() < 1e-6, "{u}");
        }
        assert!((UNIFORM_SPHERE_PDF - uniform_cone_pdf(2.0)).abs() < 1e-8);
    }

    #[test]
    fn wide_and_narrow_cones_are_uniform() {
        // A cone cuts a cap of height 1 − cos θ_max from the unit sphere.
        for half_angle in [3.0f64, 1.0, 0.1, 1e-3, 1e-5] {
            let cap_height = (2.0 * (0.5 * half_angle).sin().powi(2)) as f32;
            // (1 − cos θ) / (1 − cos θ_max), computed from θ/2. In narrow cones, z cannot resolve
            // θ, but sin θ can.
            let relative_height = |w: Vec3| {
                let sin = w.truncate().as_dvec2().length();
                let angle = sin.atan2(f64::from(w.z));
                (2.0 * (0.5 * angle).sin().powi(2) / f64::from(cap_height)) as f32
            };
            let uniform = points(N, 4)
                .map(|u| uniform_cone(u, cap_height))
                .map(|w| vec2(relative_height(w), turns(w.truncate())));
            assert_uniform(uniform.map(|p| p.min(Vec2::ONE)), &format!("cone of {half_angle}"));
            for u in edge_cases() {
                assert!((uniform_cone(u, cap_height).length() - 1.0).abs() < 1e-6, "{u}");
            }
            assert!((uniform_cone_pdf(cap_height) * 2.0 * PI * cap_height - 1.0).abs() < 1e-6);
        }
        assert_eq!(one_minus_cos(1.0), 1.0);
        assert!((one_minus_cos(1e-10) / 5e-11 - 1.0).abs() < 1e-6);
    }

    #[test]
    fn triangle_points_are_uniform() {
        // If b is uniform over the triangle, (1 − b₀)² and b₂ / (b₁ + b₂) are uniform.
        let square = |b: Vec2| vec2((b.x + b.y).powi(2), b.y / (b.x + b.y).max(1e-20));
        assert_uniform(points(N, 5).map(uniform_triangle).map(square), "triangle");
        for u in edge_cases().chain(points(1000, 6)) {
            let b = uniform_triangle(u);
            assert!(b.x >= 0.0 && b.y >= 0.0 && 1.0 - b.x - b.y >= 0.0, "{u} {b}");
        }
    }
}
