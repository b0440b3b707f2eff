//! Blocks of four triangles, for [watertight](crate::geometry::watertight) tests against one ray.

use crate::geometry::watertight::{TriangleTest, axes_along, to_ray_frame};
use glam::Vec4;
use lightbound_math::{Ray, Vec3};

/// Up to four triangles in SoA layout; empty lanes are NaN and never hit. 176 bytes.
#[derive(Clone)]
pub(super) struct TriangleBlock {
    /// Positions, indexed by vertex and axis.
    vertices: [[Vec4; 3]; 3],
    /// Index of the primitive of each lane.
    pub(super) primitive: [u32; 4],
    /// Element of the primitive of each lane.
    pub(super) element: [u32; 4],
}

/// A ray prepared for triangle tests: its frame, broadcast to all lanes.
pub(super) struct RayFrame {
    origin: [Vec4; 3],
    /// See [`axes`].
    axes: [usize; 3],
    shear: [Vec4; 3],
    tmin: Vec4,
}

/// Hits of a ray with a block; only the lanes in `mask` are valid.
pub(super) struct BlockHits {
    /// One bit for each lane with a hit.
    pub(super) mask: u32,
    /// Ray parameter, by lane.
    pub(super) t: [f32; 4],
    /// Weight of vertex 1, by lane.
    pub(super) u: [f32; 4],
    /// Weight of vertex 2, by lane.
    pub(super) v: [f32; 4],
}

impl TriangleBlock {
    /// A block without triangles.
    pub(super) const EMPTY: TriangleBlock = TriangleBlock {
        vertices: [[Vec4::NAN; 3]; 3],
        primitive: [u32::MAX; 4],
        element: [u32::MAX; 4],
    };

    /// Returns a coordinate of a vertex of the triangle in a lane.
    #[inline(always)]
    pub(super) fn coordinate(&self, vertex: usize, axis: usize, lane: usize) -> f32 {
        // Index an array: indexing a vector's components compiles to branches.
        let lanes: &[f32; 4] = self.vertices[vertex][axis].as_ref();
        lanes[lane]
    }

    /// Returns the primitive and element of the triangle in a lane.
    #[inline(always)]
    pub(super) fn triangle(&self, lane: usize) -> [u32; 2] {
        [self.primitive[lane], self.element[lane]]
    }

    /// Stores a triangle in a lane.
    pub(super) fn set(&mut self, lane: usize, triangle: &[Vec3; 3], primitive: u32, element: u32) {
        for (vertex, p) in self.vertices.iter_mut().zip(triangle) {
            for axis in 0..3 {
                vertex[axis][lane] = p[axis];
            }
        }
        self.primitive[lane] = primitive;
        self.element[lane] = element;
    }
}

/// Returns the axis of the direction's largest absolute component; the first one if several are
/// equal.
#[inline(always)]
pub(super) fn longest_axis(d: Vec3) -> usize {
    let [x, y, z] = d.abs().to_array();
    let (xy, longer) = (usize::from(y > x), x.max(y));
    if z > longer { 2 } else { xy }
}

/// Returns the axes permuted for a ray; see [`axes_along`].
#[inline(always)]
pub(super) fn axes(ray: &Ray) -> [usize; 3] {
    axes_along(ray.d, longest_axis(ray.d))
}

impl RayFrame {
    /// Prepares a finite ray with a nonzero direction.
    pub(super) fn new(ray: &Ray) -> RayFrame {
        let ([x, y, z], d) = (axes(ray), ray.d);
        RayFrame::from_shear(ray, [x, y, z], [d[x] / d[z], d[y] / d[z], 1.0 / d[z]])
    }

    /// Prepares a ray from its [`axes`] and shear.
    #[inline(always)]
    pub(super) fn from_shear(ray: &Ray, axes: [usize; 3], shear: [f32; 3]) -> RayFrame {
        let origin = axes.map(|axis| Vec4::splat(ray.o[axis]));
        RayFrame { origin, axes, shear: shear.map(Vec4::splat), tmin: Vec4::splat(ray.tmin) }
    }

    /// Transforms four vertices to the ray's frame.
    #[inline(always)]
    fn transform(&self, vertex: &[Vec4; 3]) -> [Vec4; 3] {
        let [x, y, z] = self.axes;
        to_ray_frame([vertex[x], vertex[y], vertex[z]], self.origin, &self.shear)
    }

    /// Tests the four triangles against the segment from `tmin` to `tmax`, both inclusive.
    #[inline(always)]
    pub(super) fn intersect(&self, block: &TriangleBlock, tmax: f32) -> BlockHits {
        let [a, b, c] = &block.vertices;
        let vertices = [self.transform(a), self.transform(b), self.transform(c)];
        let TriangleTest { weights: [_, v, w], det, t_det, outside } =
            TriangleTest::new(&vertices, 0b1111);
        let inverse = Vec4::ONE / det;
        let t = t_det * inverse;
        let inside = t.cmpge(self.tmin) & t.cmple(Vec4::splat(tmax)) & det.cmpne(Vec4::ZERO);
        BlockHits {
            mask: inside.bitmask() & !outside,
            t: t.to_array(),
            u: (v * inverse).to_array(),
            v: (w * inverse).to_array(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lightbound_math::vec3;

    fn intersect_one(triangle: [Vec3; 3], ray: &Ray) -> Option<(f32, f32, f32)> {
        let mut block = TriangleBlock::EMPTY;
        block.set(2, &triangle, 7, 8);
        let hits = RayFrame::new(ray).intersect(&block, ray.tmax);
        assert_eq!(hits.mask & !4, 0, "a ray hit an empty lane");
        (hits.mask != 0).then_some((hits.t[2], hits.u[2], hits.v[2]))
    }

    #[test]
    fn hits_match_along_all_axes_and_from_both_sides() {
        for shift in 0..3 {
            let permuted = |x: f32, y: f32, z: f32| {
                let p = [x, y, z];
                vec3(p[shift], p[(shift + 1) % 3], p[(shift + 2) % 3])
            };
            let triangle =
                [permuted(0.0, 0.0, 2.0), permuted(4.0, 0.0, 2.0), permuted(0.0, 4.0, 2.0)];
            for (z, dz) in [(0.0, 1.0), (4.0, -1.0)] {
                let ray = Ray::new(permuted(1.0, 2.0, z), permuted(0.0, 0.0, dz));
                assert_eq!(intersect_one(triangle, &ray), Some((2.0, 0.25, 0.5)));
                assert!(intersect_one(triangle, &Ray { tmin: 2.0, tmax: 2.0, ..ray }).is_some());
                assert_eq!(intersect_one(triangle, &Ray { tmin: 2.01, ..ray }), None);
                assert_eq!(intersect_one(triangle, &Ray { tmax: 1.99, ..ray }), None);
                assert_eq!(intersect_one(triangle, &Ray { o: permuted(3.0, 3.0, z), ..ray }), None);
            }
        }
    }

    #[test]
    fn rays_miss_edge_on_triangles() {
        let triangle = [Vec3::ZERO, Vec3::X, Vec3::Y];
        assert_eq!(intersect_one(triangle, &Ray::new(vec3(-1.0, 0.25, 0.0), Vec3::X)), None);
    }
}
