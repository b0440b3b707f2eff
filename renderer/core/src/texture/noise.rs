//! Gradient noise and its sums over octaves: pbrt-v4's `Noise`, `FBm` and `Turbulence`
//! (`util/noise.cpp`; Perlin 2002, *Improving Noise*).
//!
//! pbrt-v4 limits the octaves to those that the distance between pixels resolves. Rays have no
//! differentials here, so sums always have all octaves, as in pbrt-v4 if that distance is 0: the
//! samples of a pixel do the filtering. The order of operations is that of pbrt-v4.

use lightbound_math::Vec3;

/// Ratio of the frequencies of two octaves.
pub(super) const LACUNARITY: f32 = 1.99;

/// Mean of |noise|, which [`turbulence`] takes for octaves that pixels do not resolve.
pub(super) const MEAN_MAGNITUDE: f32 = 0.2;

/// Coordinates are reduced modulo this, so that those of lattice points fit in 32 bits.
const PERIOD: f32 = (1 << 30) as f32;

/// Returns gradient noise: between −1.04 and 1.04, and 0 at integer coordinates. NaN if a coordinate
/// is not finite.
pub(crate) fn noise(p: Vec3) -> f32 {
    let p = Vec3::from_array(p.to_array().map(|x| if x.abs() < PERIOD { x } else { x % PERIOD }));
    let corner = p.floor();
    let d = p - corner;
    let [x, y, z] = corner.to_array().map(|x| x as i32 & 255);
    let at = |i: u8, j: u8, k: u8| {
        let (i, j, k) = (i32::from(i), i32::from(j), i32::from(k));
        gradient_dot(x + i, y + j, z + k, d - Vec3::new(i as f32, j as f32, k as f32))
    };
    let [wx, wy, wz] = d.to_array().map(weight);
    let x00 = lerp(wx, at(0, 0, 0), at(1, 0, 0));
    let x10 = lerp(wx, at(0, 1, 0), at(1, 1, 0));
    let x01 = lerp(wx, at(0, 0, 1), at(1, 0, 1));
    let x11 = lerp(wx, at(0, 1, 1), at(1, 1, 1));
    lerp(wz, lerp(wy, x00, x10), lerp(wy, x01, x11))
}

/// Returns the sum over `octaves` of roughnessⁱ noise(1.99ⁱ p).
pub(super) fn fbm(p: Vec3, roughness: f32, octaves: u32) -> f32 {
    sum_octaves(p, roughness, octaves, noise).0
}

/// Returns the sum over `octaves` of roughnessⁱ |noise(1.99ⁱ p)|. Like pbrt-v4, it adds the mean
/// of one more octave.
pub(super) fn turbulence(p: Vec3, roughness: f32, octaves: u32) -> f32 {
    let (sum, next) = sum_octaves(p, roughness, octaves, |p| noise(p).abs());
    sum + next * MEAN_MAGNITUDE
}

/// Returns the sum of a function over octaves, and the amplitude of the octave that follows.
fn sum_octaves(p: Vec3, roughness: f32, octaves: u32, f: impl Fn(Vec3) -> f32) -> (f32, f32) {
    let (mut sum, mut frequency, mut amplitude) = (0.0, 1.0, 1.0);
    for _ in 0..octaves {
        sum += amplitude * f(frequency * p);
        frequency *= LACUNARITY;
        amplitude *= roughness;
    }
    (sum, amplitude)
}

pub(super) fn lerp(t: f32, a: f32, b: f32) -> f32 {
    (1.0 - t) * a + t * b
}

/// Blends between lattice points, with zero first and second derivatives at 0 and 1.
fn weight(t: f32) -> f32 {
    let t2 = t * t;
    6.0 * (t2 * t2 * t) - 15.0 * (t2 * t2) + 10.0 * (t2 * t)
}

/// Returns the dot product of `d` with the gradient at a lattice point, one of the 12 directions to
/// the edges of a cube. Coordinates are from 0 to 256.
fn gradient_dot(x: i32, y: i32, z: i32, d: Vec3) -> f32 {
    let permute = |i: i32| i32::from(PERMUTATION[(i & 255) as usize]);
    let hash = permute(permute(permute(x) + y) + z) & 15;
    let u = if hash < 8 || hash == 12 || hash == 13 { d.x } else { d.y };
    let v = if hash < 4 || hash == 12 || hash == 13 { d.y } else { d.z };
    (if hash & 1 != 0 { -u } else { u }) + (if hash & 2 != 0 { -v } else { v })
}

/// Returns the gradient at a lattice point: two components are 1 or −1.
pub(super) fn gradient(point: [i32; 3]) -> [f32; 3] {
    let [x, y, z] = point.map(|i| i & 255);
    [Vec3::X, Vec3::Y, Vec3::Z].map(|axis| gradient_dot(x, y, z, axis))
}

/// Perlin's permutation of the numbers from 0 to 255.
#[rustfmt::skip]
const PERMUTATION: [u8; 256] = [
    151, 160, 137, 91, 90, 15, 131, 13, 201, 95, 96, 53, 194, 233, 7, 225, 140, 36, 103, 30, 69,
    142, 8, 99, 37, 240, 21, 10, 23, 190, 6, 148, 247, 120, 234, 75, 0, 26, 197, 62, 94, 252, 219,
    203, 117, 35, 11, 32, 57, 177, 33, 88, 237, 149, 56, 87, 174, 20, 125, 136, 171, 168, 68, 175,
    74, 165, 71, 134, 139, 48, 27, 166, 77, 146, 158, 231, 83, 111, 229, 122, 60, 211, 133, 230,
    220, 105, 92, 41, 55, 46, 245, 40, 244, 102, 143, 54, 65, 25, 63, 161, 1, 216, 80, 73, 209, 76,
    132, 187, 208, 89, 18, 169, 200, 196, 135, 130, 116, 188, 159, 86, 164, 100, 109, 198, 173, 186,
    3, 64, 52, 217, 226, 250, 124, 123, 5, 202, 38, 147, 118, 126, 255, 82, 85, 212, 207, 206, 59,
    227, 47, 16, 58, 17, 182, 189, 28, 42, 223, 183, 170, 213, 119, 248, 152, 2, 44, 154, 163, 70,
    221, 153, 101, 155, 167, 43, 172, 9, 129, 22, 39, 253, 19, 98, 108, 110, 79, 113, 224, 232, 178,
    185, 112, 104, 218, 246, 97, 228, 251, 34, 242, 193, 238, 210, 144, 12, 191, 179, 162, 241, 81,
    51, 145, 235, 249, 14, 239, 107, 49, 192, 214, 31, 181, 199, 106, 157, 184, 84, 204, 176, 115,
    121, 50, 45, 127, 4, 150, 254, 138, 236, 205, 93, 222, 114, 67, 29, 24, 72, 243, 141, 128, 195,
    78, 66, 215, 61, 156, 180,
];

#[cfg(test)]
mod tests {
    use super::*;
    use lightbound_math::vec3;

    /// Values of pbrt-v4's `util/noise.cpp`, compiled without fused operations: noise; fBm with
    /// roughness 0.5 and 8 octaves, and with 0.7 and 3; turbulence with 0.5 and 8, and with 0.6 and
    /// 2.
    const EXPECTED: [(Vec3, [f32; 5]); 5] = [
        (vec3(0.3, 0.7, 1.9), [0.33048913, 0.59727025, 0.74517727, 0.71684283, 0.79091203]),
        (vec3(-12.25, 3.125, 100.6), [-0.38382256, -0.43345198, -0.5089182, 0.7975622, 0.73323333]),
        (vec3(255.5, 256.75, -0.001), [-0.2107334, -0.4382863, -0.6218387, 0.52701527, 0.45169848]),
        (vec3(3e9, -2e8, 0.5), [0.5, 0.502_600_85, 0.509_737_7, 0.5321702, 0.572]),
        (
            vec3(1e5 + 0.25, -77.7, 0.1),
            [-0.15363397, -0.27890098, -0.4307658, 0.40774453, 0.4268324],
        ),
    ];

    #[test]
    fn values_equal_those_of_pbrt() {
        for (p, expected) in EXPECTED {
            let sums =
                [fbm(p, 0.5, 8), fbm(p, 0.7, 3), turbulence(p, 0.5, 8), turbulence(p, 0.6, 2)];
            assert_eq!(noise(p), expected[0], "{p}");
            assert_eq!(sums, expected[1..], "{p}");
        }
    }

    #[test]
    fn noise_is_continuous_within_bounds_and_vanishes_at_the_lattice() {
        let mut range = [0f32; 2];
        for i in 0..100_000 {
            let t = i as f32;
            let p = 300.0 * vec3((t * 0.618).sin(), (t * 0.414).sin(), (t * 0.732).sin());
            let (value, beside) = (noise(p), noise(p + vec3(0.0, 1e-3, 0.0)));
            range = [range[0].min(value), range[1].max(value)];
            assert!((value - beside).abs() < 5e-3, "{p}");
            assert_eq!(noise(p.floor()), 0.0);
        }
        assert!(
            range[0] > -1.0 && range[0] < -0.8 && range[1] > 0.8 && range[1] < 1.0,
            "{range:?}"
        );
    }

    #[test]
    fn no_octaves_and_invalid_positions_have_defined_values() {
        assert_eq!([fbm(Vec3::ONE, 0.5, 0), turbulence(Vec3::ONE, 0.5, 0)], [0.0, 0.2]);
        for p in [Vec3::NAN, Vec3::INFINITY, Vec3::NEG_INFINITY] {
            assert!(noise(p).is_nan());
        }
        assert!(noise(Vec3::MAX).is_finite());
    }
}
