//! Uniform sampling of the solid angle of a triangle.
//!
//! Arvo 1995, *Stratified Sampling of Spherical Triangles*, in the form of Peters 2021, *BRDF
//! Importance Sampling for Polygonal Lights*, which needs no inverse cosines. A sample is returned
//! as barycentric coordinates, so that points lie on the triangle even where its plane is seen
//! edge-on. All functions compile to code without branches, so loops over them use SIMD.

use super::warp::{atan_octant, sin_cos_octant};
use crate::{Vec2, Vec3, vec2};
use std::f32::consts::FRAC_PI_2;

/// A triangle projected onto the unit sphere around the origin.
#[derive(Clone, Copy, Debug)]
pub struct SphericalTriangle {
    /// Unit directions to the vertices.
    directions: [Vec3; 3],
    /// Reciprocal distances of the vertices.
    inverse_distances: Vec3,
    /// |v₀ · (v₁ × v₂)|.
    triple_product: f32,
    /// v₂ · (v₀ + v₁).
    g1: f32,
    /// 1 + v₀ · v₁.
    g2: f32,
    /// Half the solid angle, in units of π/4.
    octants: f32,
}

impl SphericalTriangle {
    /// Projects the triangle with these vertices. If the origin is in its plane, the solid angle is
    /// 0, 2π or NaN, and samples are meaningless.
    #[inline(always)]
    pub fn new(vertices: [Vec3; 3]) -> SphericalTriangle {
        let [p0, p1, p2] = vertices;
        let inverse_distances = 1.0 / Vec3::from_array(vertices.map(|p| p.dot(p).sqrt()));
        let [v0, v1, v2] =
            [p0 * inverse_distances.x, p1 * inverse_distances.y, p2 * inverse_distances.z];
        // Edges cancel less than directions do, if the triangle is small.
        let scale = inverse_distances.x * inverse_distances.y * inverse_distances.z;
        let triple_product = (p0.dot((p1 - p0).cross(p2 - p0)) * scale).abs();
        let (g1, g2) = (v2.dot(v0) + v2.dot(v1), 1.0 + v0.dot(v1));
        SphericalTriangle {
            directions: [v0, v1, v2],
            inverse_distances,
            triple_product,
            g1,
            g2,
            octants: angle_octants(triple_product, g1 + g2),
        }
    }

    /// Returns the solid angle, sr (van Oosterom and Strackee 1983).
    #[inline(always)]
    pub fn solid_angle(&self) -> f32 {
        FRAC_PI_2 * self.octants
    }

    /// Samples a direction uniformly, with density 1 / [`solid_angle`](Self::solid_angle). Returns
    /// the barycentric coordinates of vertices 1 and 2 of the point in this direction.
    #[inline(always)]
    pub fn sample(&self, u: Vec2) -> Vec2 {
        let [v0, v1, v2] = self.directions;
        // The triangle v₀ v₁ a, where a is on the edge v₀ v₂, has the fraction u.x of the solid
        // angle. The bisector of v₀ and a is a linear combination of v₀ and v₂.
        let (sin, cos) = sin_cos_octants(u.x * self.octants);
        let (b0, b2) = (self.triple_product * cos - self.g1 * sin, self.g2 * sin);
        let bisector = b0 * v0 + b2 * v2;
        let reflection = 2.0 * v0.dot(bisector) / bisector.length_squared();
        let (a0, a2) = (reflection * b0 - 1.0, reflection * b2);
        let a = a0 * v0 + a2 * v2;
        // On the arc from v₁ to a, the cosine to v₁ is uniform: 1 − u.y (1 − cos).
        let one_minus_cos = 0.5 * v1.distance_squared(a);
        let w_a = (u.y * (2.0 - u.y * one_minus_cos) / (2.0 - one_minus_cos)).max(0.0).sqrt();
        let w1 = 1.0 - u.y * one_minus_cos - w_a * (1.0 - one_minus_cos);
        let weights = Vec3::new(w_a * a0, w1, w_a * a2).max(Vec3::ZERO) * self.inverse_distances;
        let inverse_sum = 1.0 / (weights.x + weights.y + weights.z);
        vec2(weights.y * inverse_sum, weights.z * inverse_sum)
    }
}

/// Returns the angle of (x, y), y ≥ 0, in units of π/4; it is in [0, 4].
#[inline(always)]
fn angle_octants(y: f32, x: f32) -> f32 {
    let (min, max) = (y.min(x.abs()), y.max(x.abs()));
    let octant = atan_octant(min / max);
    let quadrant = if y > x.abs() { 2.0 - octant } else { octant };
    if x < 0.0 { 4.0 - quadrant } else { quadrant }
}

/// Returns the sine and cosine of t π/4 for t in [0, 4].
#[inline(always)]
fn sin_cos_octants(t: f32) -> (f32, f32) {
    let quarter = if t > 3.0 {
        2.0
    } else if t > 1.0 {
        1.0
    } else {
        0.0
    };
    let (sin, cos) = sin_cos_octant(t - 2.0 * quarter);
    let rotated = if quarter == 1.0 { (cos, -sin) } else { (sin, cos) };
    if quarter == 2.0 { (-sin, -cos) } else { rotated }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{assert_sampler_matches_pdf, points};
    use super::super::{ONE_MINUS_EPSILON, unit_float};
    use super::*;
    use crate::vec3;

    /// Triangles from tiny to nearly a hemisphere.
    fn triangles() -> [(&'static str, [Vec3; 3]); 6] {
        [
            ("small", [vec3(0.0, 0.0, 3.0), vec3(0.06, 0.0, 3.0), vec3(0.0, 0.06, 3.1)]),
            ("octant", [Vec3::X, 2.0 * Vec3::Y, 3.0 * Vec3::Z]),
            ("sliver", [vec3(-2.0, 0.0, 1.0), vec3(2.0, 0.0, 1.0), vec3(0.0, 0.05, 1.0)]),
            ("wide", [vec3(-5.0, -4.0, 1.0), vec3(6.0, -3.0, 1.0), vec3(0.5, 7.0, 1.0)]),
            ("near", [vec3(-5.0, -4.0, 0.1), vec3(6.0, -3.0, 0.1), vec3(0.5, 7.0, 0.1)]),
            ("tilted", [vec3(-1.0, -4.0, -1.0), vec3(-0.3, 3.0, 1.0), vec3(0.2, 0.5, 8.0)]),
        ]
    }

    /// Returns the solid angle by L'Huilier's theorem.
    fn expected_solid_angle(vertices: [Vec3; 3]) -> f64 {
        let v = vertices.map(|p| p.as_dvec3().normalize());
        let side = |i: usize, j: usize| 2.0 * (0.5 * v[i].distance(v[j])).asin();
        let (a, b, c) = (side(0, 1), side(1, 2), side(2, 0));
        let s = 0.5 * (a + b + c);
        let tan = |x: f64| (0.5 * x).tan();
        4.0 * (tan(s) * tan(s - a) * tan(s - b) * tan(s - c)).sqrt().atan()
    }

    /// Returns the point with barycentric coordinates `b` of vertices 1 and 2.
    fn point([p0, p1, p2]: [Vec3; 3], b: Vec2) -> Vec3 {
        (1.0 - b.x - b.y) * p0 + b.x * p1 + b.y * p2
    }

    /// Returns whether a ray from the origin hits the triangle.
    fn is_hit(vertices: [Vec3; 3], d: Vec3) -> bool {
        let [a, b, c] = vertices.map(|p| p.as_dvec3());
        let (d, side) = (d.as_dvec3(), a.dot(b.cross(c)).signum());
        [a.cross(b), b.cross(c), c.cross(a)].into_iter().all(|n| n.dot(d) * side >= 0.0)
    }

    #[test]
    fn solid_angles_match_lhuilier() {
        for (name, vertices) in triangles() {
            let actual = f64::from(SphericalTriangle::new(vertices).solid_angle());
            let expected = expected_solid_angle(vertices);
            assert!((actual / expected - 1.0).abs() < 1e-5, "{name}: {actual} {expected}");
        }
    }

    #[test]
    fn directions_are_uniform() {
        for (name, vertices) in triangles() {
            let triangle = SphericalTriangle::new(vertices);
            let pdf = 1.0 / triangle.solid_angle();
            assert_sampler_matches_pdf(
                name,
                1 << 16,
                |u| Some(point(vertices, triangle.sample(u)).normalize()),
                // Rounding may move samples on the edges outside.
                |d| if is_hit(vertices, d) { pdf } else { 0.0 },
            );
        }
    }

    #[test]
    fn points_lie_on_the_triangle() {
        let edges = [0.0, unit_float(1 << 8), 0.5, ONE_MINUS_EPSILON];
        for (name, vertices) in triangles() {
            let triangle = SphericalTriangle::new(vertices);
            let corners = edges.into_iter().flat_map(|x| edges.map(|y| vec2(x, y)));
            for u in corners.chain(points(10_000, 3)) {
                let b = triangle.sample(u);
                assert!(b.min_element() >= 0.0 && b.x + b.y <= 1.0 + 1e-6, "{name} {u}: {b}");
            }
        }
    }

    #[test]
    fn sines_and_cosines_cover_half_a_turn() {
        for i in 0..=4000 {
            let t = i as f32 / 1000.0;
            let (sin, cos) = sin_cos_octants(t);
            let expected = (f64::from(t) * std::f64::consts::FRAC_PI_4).sin_cos();
            assert!((f64::from(sin) - expected.0).abs() < 1e-6, "{t}");
            assert!((f64::from(cos) - expected.1).abs() < 1e-6, "{t}");
            assert!((angle_octants(sin.max(0.0), cos) - t).abs() < 2e-6, "{t}");
        }
    }
}
