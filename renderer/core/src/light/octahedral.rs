//! The equal-area map between the unit square and the sphere of directions.
//!
//! Clarberg 2008, *Fast Equal-Area Mapping of the (Hemi)Sphere using SIMD*. The inner square |u| +
//! |v| ≤ 1 (u, v in [−1, 1]) contains the hemisphere z ≥ 0, concentrically. The four corner
//! triangles contain the other hemisphere, folded outwards. Equal areas map to equal solid angles,
//! so a density per unit area of the square is 4π times the density per steradian. pbrt-v4's
//! environment maps use the same layout.

use lightbound_math::direction_box::{greater, lesser};
use lightbound_math::sampling::warp;
use lightbound_math::{Vec2, Vec3, vec2};
use std::f32::consts::FRAC_1_SQRT_2;

/// Maps a position in the unit square to a unit direction. The centre is +z, the corners are −z.
#[inline(always)]
pub fn square_to_sphere(p: Vec2) -> Vec3 {
    let q = 2.0 * p - Vec2::ONE;
    let a = q.abs();
    // Signed distance from the diamond between the hemispheres, and distance from the pole.
    let signed = 1.0 - (a.x + a.y);
    let r = 1.0 - signed.abs();
    // Within the quadrant, φ = π/4 (1 + t).
    let (s, c) = warp::sin_cos_octant(if r == 0.0 { -1.0 } else { (a.y - a.x) / r });
    let (sin, cos) = (FRAC_1_SQRT_2 * (c + s), FRAC_1_SQRT_2 * (c - s));
    let sin_theta = r * (2.0 - r * r).max(0.0).sqrt();
    let z = (1.0 - r * r).copysign(signed);
    Vec3::new((cos * sin_theta).copysign(q.x), (sin * sin_theta).copysign(q.y), z)
}

/// Maps a direction of any length to its position in the unit square, with an error of about 10⁻⁶;
/// the inverse of [`square_to_sphere`]. The result lies in the square, also for a zero vector.
#[inline(always)]
pub fn sphere_to_square(d: Vec3) -> Vec2 {
    let a = d.abs();
    let across2 = a.x * a.x + a.y * a.y;
    let length = (across2 + a.z * a.z).sqrt();
    // r² = 1 − |z|, without cancellation near the poles.
    let r = (across2 / greater(length * (length + a.z), f32::MIN_POSITIVE)).sqrt();
    let (larger, smaller) = (greater(a.x, a.y), lesser(a.x, a.y));
    let part = 0.5 * r * warp::atan_octant(smaller / greater(larger, f32::MIN_POSITIVE));
    let v = if a.y > a.x { r - part } else { part };
    let u = r - v;
    let (u, v) = if d.z < 0.0 { (1.0 - v, 1.0 - u) } else { (u, v) };
    0.5 * vec2(u.copysign(d.x), v.copysign(d.y)) + 0.5
}

#[cfg(test)]
mod tests {
    use super::*;
    use lightbound_math::direction_box::testing::unit;
    use lightbound_shader::random::Random;

    #[test]
    fn centre_edges_and_corners_map_to_the_axes() {
        for (p, d) in [
            (vec2(0.5, 0.5), Vec3::Z),
            (vec2(1.0, 0.5), Vec3::X),
            (vec2(0.0, 0.5), -Vec3::X),
            (vec2(0.5, 1.0), Vec3::Y),
            (vec2(0.5, 0.0), -Vec3::Y),
            (vec2(0.0, 0.0), -Vec3::Z),
            (vec2(1.0, 0.0), -Vec3::Z),
        ] {
            assert!((square_to_sphere(p) - d).length() < 1e-6, "{p} → {}", square_to_sphere(p));
        }
        // On the diagonal of the inner square, halfway to its edge: r = 1/2, z = 1 − r².
        let d = square_to_sphere(vec2(0.625, 0.625));
        assert!((d.x - d.y).abs() < 1e-6 && (d.z - 0.75).abs() < 1e-6);
    }

    #[test]
    fn mapping_to_the_sphere_and_back_preserves_positions() {
        const N: usize = 97;
        for i in 0..N * N {
            let p = vec2((i % N) as f32 + 0.5, (i / N) as f32 + 0.5) / N as f32;
            let d = square_to_sphere(p);
            assert!((d.length() - 1.0).abs() < 1e-6);
            assert!((sphere_to_square(d) - p).length() < 2e-6, "{p} {}", sphere_to_square(d));
        }
    }

    #[test]
    fn directions_of_any_length_map_into_the_square() {
        let random = &mut Random::new(1);
        for i in 0..80_000 {
            let axis = [Vec3::X, Vec3::Y, Vec3::Z][i % 3];
            let d =
                if random.once_in(8) { axis * (1.0 - 2.0 * (i % 2) as f32) } else { unit(random) };
            let p = sphere_to_square(d * 2f32.powi(random.below(40) as i32 - 20));
            let expected = sphere_to_square(d);
            // The lower pole lies on several edges; the signs of zeros select one.
            assert!(
                (expected - p).length() < 2e-6 || (square_to_sphere(p) - d).length() < 2e-6,
                "{d}: {p}, {expected}"
            );
            assert!(p.cmpge(Vec2::ZERO).all() && p.cmple(Vec2::ONE).all());
        }
        assert_eq!(sphere_to_square(Vec3::ZERO), Vec2::splat(0.5));
    }

    #[test]
    fn areas_are_preserved() {
        // Mean z² and mean |x| over the sphere are 1/3 and 1/2.
        const N: usize = 256;
        let (mut z2, mut x) = (0.0, 0.0);
        for i in 0..N * N {
            let d = square_to_sphere(vec2((i % N) as f32 + 0.5, (i / N) as f32 + 0.5) / N as f32);
            z2 += f64::from(d.z * d.z);
            x += f64::from(d.x.abs());
        }
        let n = (N * N) as f64;
        assert!(
            (z2 / n - 1.0 / 3.0).abs() < 1e-4 && (x / n - 0.5).abs() < 1e-4,
            "{} {}",
            z2 / n,
            x / n
        );
    }
}
