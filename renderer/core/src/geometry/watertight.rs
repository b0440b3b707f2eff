//! The watertight ray/triangle test of Woop, Benthin & Wald 2013, *Watertight Ray/Triangle
//! Intersection*, for any number of SIMD lanes.
//!
//! Vertices are translated and sheared into the ray's frame, where the signs of three 2D edge
//! functions determine whether the ray hits. All triangles that share a vertex compute the same
//! coordinates for it. The sign of a rounded difference of two products is correct unless the
//! difference is zero, and then it is recomputed in double precision. So a ray cannot pass between
//! adjacent triangles.
//!
//! Lanes may differ in their triangles, their rays or both. Callers choose the axes and the shear,
//! and divide by the determinant.

use glam::Vec4;
use lightbound_math::{Ray, Vec3};
use std::ops::{Add, Mul, Sub};

/// A float in each SIMD lane.
pub(crate) trait FloatLanes:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self>
{
    /// Returns a bit mask of the lanes in which any of the values is zero.
    fn any_zero(values: [Self; 3]) -> u32;

    /// Returns a bit mask of the lanes in which one of the values is negative and another is
    /// positive.
    fn signs_differ(values: [Self; 3]) -> u32;

    /// Returns the value of a lane.
    fn get(&self, lane: usize) -> f32;

    /// Replaces the value of a lane.
    fn set(&mut self, lane: usize, value: f32);
}

impl FloatLanes for f32 {
    #[inline(always)]
    fn any_zero(values: [f32; 3]) -> u32 {
        u32::from(values.contains(&0.0))
    }

    #[inline(always)]
    fn signs_differ([a, b, c]: [f32; 3]) -> u32 {
        u32::from((a < 0.0 || b < 0.0 || c < 0.0) && (a > 0.0 || b > 0.0 || c > 0.0))
    }

    #[inline(always)]
    fn get(&self, _lane: usize) -> f32 {
        *self
    }

    #[inline(always)]
    fn set(&mut self, _lane: usize, value: f32) {
        *self = value;
    }
}

impl FloatLanes for Vec4 {
    #[inline(always)]
    fn any_zero([a, b, c]: [Vec4; 3]) -> u32 {
        (a.cmpeq(Vec4::ZERO) | b.cmpeq(Vec4::ZERO) | c.cmpeq(Vec4::ZERO)).bitmask()
    }

    #[inline(always)]
    fn signs_differ([a, b, c]: [Vec4; 3]) -> u32 {
        let (min, max) = (a.min(b).min(c), a.max(b).max(c));
        (min.cmplt(Vec4::ZERO) & max.cmpgt(Vec4::ZERO)).bitmask()
    }

    #[inline(always)]
    fn get(&self, lane: usize) -> f32 {
        self[lane]
    }

    #[inline(always)]
    fn set(&mut self, lane: usize, value: f32) {
        self[lane] = value;
    }
}

/// Returns the permutation of the axes for a ray of direction `d`. It preserves the winding of
/// triangles, and its last axis is `z`, the axis of the largest component of `d`.
#[inline(always)]
pub(crate) fn axes_along(d: Vec3, z: usize) -> [usize; 3] {
    let (x, y) = ((z + 1) % 3, (z + 2) % 3);
    if d[z] < 0.0 { [y, x, z] } else { [x, y, z] }
}

/// Translates and shears a vertex into the ray's frame. Axes are in the order of [`axes_along`],
/// and `shear` is (d.x / d.z, d.y / d.z, 1 / d.z) for the ray's direction d.
#[inline(always)]
pub(crate) fn to_ray_frame<F: FloatLanes>(
    vertex: [F; 3],
    origin: [F; 3],
    shear: &[F; 3],
) -> [F; 3] {
    let z = vertex[2] - origin[2];
    let x = vertex[0] - origin[0] - shear[0] * z;
    let y = vertex[1] - origin[1] - shear[1] * z;
    [x, y, shear[2] * z]
}

/// Result of testing a ray's line against a triangle, before the division by the determinant.
pub(crate) struct TriangleTest<F: FloatLanes> {
    /// Barycentric coordinates of the three vertices, times `det`.
    pub weights: [F; 3],
    /// Twice the signed area of the sheared triangle; 0 if it is seen edge-on.
    pub det: F,
    /// Ray parameter times `det`.
    pub t_det: F,
    /// Bit mask of the lanes in which the ray misses the triangle.
    pub outside: u32,
}

impl<F: FloatLanes> TriangleTest<F> {
    /// Tests a triangle, given by its vertices [in the ray's frame](to_ray_frame). Lanes outside
    /// the bit mask `lanes` may have wrong signs.
    #[inline(always)]
    pub(crate) fn new([a, b, c]: &[[F; 3]; 3], lanes: u32) -> TriangleTest<F> {
        let mut weights = [edge(b, c), edge(c, a), edge(a, b)];
        let mut outside = F::signs_differ(weights);
        // Signs of nonzero edge functions are exact, so two opposite ones suffice for a miss. Rays that
        // pass the slivers at the poles of spheres have these and a zero.
        let on_edges = F::any_zero(weights) & lanes & !outside;
        if on_edges != 0 {
            recompute_edges(&mut weights, on_edges, a, b, c);
            outside = F::signs_differ(weights);
        }
        let [u, v, w] = weights;
        TriangleTest { weights, det: u + v + w, t_det: u * a[2] + v * b[2] + w * c[2], outside }
    }
}

/// Evaluates the edge function of the edge from `p` to `q` at the origin: twice the signed area of
/// the triangle of `q`, `p` and the origin.
#[inline(always)]
fn edge<F: FloatLanes>(p: &[F; 3], q: &[F; 3]) -> F {
    q[0] * p[1] - q[1] * p[0]
}

/// Recomputes the edge functions of the lanes in `mask` in double precision, with exact products.
#[cold]
#[inline(never)]
fn recompute_edges<F: FloatLanes>(
    weights: &mut [F; 3],
    mask: u32,
    a: &[F; 3],
    b: &[F; 3],
    c: &[F; 3],
) {
    for lane in (0..u32::BITS as usize).filter(|lane| mask >> lane & 1 != 0) {
        for (weight, (p, q)) in weights.iter_mut().zip([(b, c), (c, a), (a, b)]) {
            let [px, py, qx, qy] = [p[0], p[1], q[0], q[1]].map(|x| f64::from(x.get(lane)));
            weight.set(lane, (qx * py - qy * px) as f32);
        }
    }
}

/// The test of one ray with one triangle at a time.
#[derive(Clone, Copy, Debug)]
pub(super) struct RayTest {
    axes: [usize; 3],
    shear: [f32; 3],
    origin: [f32; 3],
}

impl RayTest {
    #[inline(always)]
    pub fn new(ray: &Ray) -> RayTest {
        let d = ray.d.abs();
        let z = if d.x > d.y && d.x > d.z {
            0
        } else if d.y > d.z {
            1
        } else {
            2
        };
        let axes = axes_along(ray.d, z);
        let scale = 1.0 / ray.d[z];
        let shear = [ray.d[axes[0]] * scale, ray.d[axes[1]] * scale, scale];
        RayTest { axes, shear, origin: axes.map(|axis| ray.o[axis]) }
    }

    /// Returns a vertex in the ray's frame.
    #[inline(always)]
    pub fn vertex(&self, p: Vec3) -> [f32; 3] {
        to_ray_frame(self.axes.map(|axis| p[axis]), self.origin, &self.shear)
    }

    /// Returns the ray parameter and the barycentric weights of vertices 1 and 2, if the ray's line
    /// hits a triangle. If the triangle is seen edge-on, or the direction is zero or NaN, the
    /// parameter is NaN or infinite.
    #[inline(always)]
    pub fn intersect(&self, vertices: &[[f32; 3]; 3]) -> Option<[f32; 3]> {
        let TriangleTest { weights: [_, v, w], det, t_det, outside } =
            TriangleTest::new(vertices, 1);
        (outside == 0).then(|| [t_det / det, v / det, w / det])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lightbound_math::sampling::{hash, unit_float};

    /// Random coordinates on a coarse grid, so that many rays hit edges and vertices exactly.
    fn vertex(seed: u32) -> [f32; 3] {
        [0, 1, 2].map(|axis| (8.0 * unit_float(hash(seed, axis))).floor() - 4.0)
    }

    #[test]
    fn simd_lanes_match_the_scalar_test_bit_for_bit() {
        let (origin, shear) = ([0.0; 3], [0.25, -0.5, 0.5]);
        let [mut inside, mut on_edges] = [0, 0];
        for round in 0..2000 {
            let triangles =
                [0, 1, 2, 3].map(|lane| [0, 1, 2].map(|k| vertex(12 * round + 3 * lane + k)));
            let frames: [[[f32; 3]; 3]; 4] =
                triangles.map(|t| t.map(|vertex| to_ray_frame(vertex, origin, &shear)));
            let gather = |k: usize, axis: usize| Vec4::from(frames.map(|t| t[k][axis]));
            let wide: [[Vec4; 3]; 3] = std::array::from_fn(|k| {
                let vertex =
                    [0, 1, 2].map(|axis| Vec4::from(triangles.map(|triangle| triangle[k][axis])));
                to_ray_frame(vertex, origin.map(Vec4::splat), &shear.map(Vec4::splat))
            });
            assert!((0..3).all(|k| (0..3).all(|axis| wide[k][axis] == gather(k, axis))));
            let simd = TriangleTest::new(&wide, 0b1111);
            for (lane, frame) in frames.iter().enumerate() {
                let scalar = TriangleTest::new(frame, 1);
                let bits = |x: [f32; 5]| x.map(f32::to_bits);
                let ([u, v, w], simd_weights) = (scalar.weights, simd.weights);
                assert_eq!(
                    bits([u, v, w, scalar.det, scalar.t_det]),
                    bits([
                        simd_weights[0][lane],
                        simd_weights[1][lane],
                        simd_weights[2][lane],
                        simd.det[lane],
                        simd.t_det[lane]
                    ])
                );
                assert_eq!(scalar.outside, simd.outside >> lane & 1);
                inside += 1 - scalar.outside;
                on_edges += u32::from([u, v, w].contains(&0.0));
            }
        }
        assert!(inside > 500 && on_edges > 500, "{inside} {on_edges}");
    }
}
