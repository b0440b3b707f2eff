//! Four triangles at a time against one ray.
//!
//! The test is that of Woop, Benthin & Wald 2013, *Watertight Ray/Triangle Intersection*: vertices
//! are moved and sheared into the ray's frame, where the signs of three 2D edge functions decide. A
//! vertex comes out alike in all triangles around it, and the sign of a rounded difference of two
//! products is right unless it is zero, which double precision then settles; so a ray cannot slip
//! through between neighbours.

use crate::math::{Ray, Vec3};
use glam::Vec4;

/// Up to four triangles, coordinate by coordinate; lanes without one are NaN and never hit. 176
/// bytes.
#[derive(Clone)]
pub(super) struct Block {
    /// By vertex, then axis.
    vertices: [[Vec4; 3]; 3],
    /// Index of the primitive of each lane.
    pub(super) primitive: [u32; 4],
    /// Element of the primitive.
    pub(super) element: [u32; 4],
}

/// A ray prepared for the test.
pub(super) struct Shear {
    origin: [Vec4; 3],
    /// See [`axes`].
    axes: [usize; 3],
    shear: [Vec4; 3],
    tmin: Vec4,
}

/// What the test found: parameters of the lanes that are set in `mask`.
pub(super) struct BlockHits {
    /// One bit for each lane that is hit.
    pub(super) mask: u32,
    /// Ray parameter, by lane.
    pub(super) t: [f32; 4],
    /// Weight of vertex 1, by lane.
    pub(super) u: [f32; 4],
    /// Weight of vertex 2, by lane.
    pub(super) v: [f32; 4],
}

impl Block {
    /// No triangle in any lane.
    pub(super) const EMPTY: Block =
        Block { vertices: [[Vec4::NAN; 3]; 3], primitive: [u32::MAX; 4], element: [u32::MAX; 4] };

    /// A coordinate of a vertex of the triangle in a lane.
    #[inline(always)]
    pub(super) fn coordinate(&self, vertex: usize, axis: usize, lane: usize) -> f32 {
        // As an array, since components of vectors are told apart by jumps.
        let lanes: &[f32; 4] = self.vertices[vertex][axis].as_ref();
        lanes[lane]
    }

    /// Puts a triangle into a lane.
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

/// The axis along which a direction is longest; the first of several.
#[inline(always)]
pub(super) fn longest(d: Vec3) -> usize {
    let [x, y, z] = d.abs().to_array();
    let (xy, longer) = (usize::from(y > x), x.max(y));
    if z > longer { 2 } else { xy }
}

/// The axes in the order in which a ray sees them: the one along which its direction is largest
/// comes last; the order keeps the orientation.
#[inline(always)]
pub(super) fn axes(ray: &Ray) -> [usize; 3] {
    let z = longest(ray.d);
    let (x, y) = ((z + 1) % 3, (z + 2) % 3);
    if ray.d[z] < 0.0 { [y, x, z] } else { [x, y, z] }
}

impl Shear {
    /// Prepares a finite ray with a direction.
    pub(super) fn new(ray: &Ray) -> Shear {
        let ([x, y, z], d) = (axes(ray), ray.d);
        Shear::along(ray, [x, y, z], [d[x] / d[z], d[y] / d[z], 1.0 / d[z]])
    }

    /// The same by what is known of it: its [`axes`], and how far vertices are moved for each unit
    /// of depth.
    #[inline(always)]
    pub(super) fn along(ray: &Ray, axes: [usize; 3], shear: [f32; 3]) -> Shear {
        let origin = axes.map(|axis| Vec4::splat(ray.o[axis]));
        Shear { origin, axes, shear: shear.map(Vec4::splat), tmin: Vec4::splat(ray.tmin) }
    }

    /// Moves and shears four vertices into the ray's frame.
    #[inline(always)]
    fn place(&self, vertex: &[Vec4; 3]) -> [Vec4; 3] {
        let [x, y, z] = self.axes;
        let z = vertex[z] - self.origin[2];
        let x = vertex[x] - self.origin[0] - self.shear[0] * z;
        let y = vertex[y] - self.origin[1] - self.shear[1] * z;
        [x, y, self.shear[2] * z]
    }

    /// Tests the four triangles against the segment from `tmin` to `tmax`; both ends belong to it.
    #[inline(always)]
    pub(super) fn intersect(&self, block: &Block, tmax: f32) -> BlockHits {
        let (a, b, c) = (
            self.place(&block.vertices[0]),
            self.place(&block.vertices[1]),
            self.place(&block.vertices[2]),
        );
        let mut weights = [edge(&b, &c), edge(&c, &a), edge(&a, &b)];
        let [u, v, w] = weights;
        let zero = (u.cmpeq(Vec4::ZERO) | v.cmpeq(Vec4::ZERO) | w.cmpeq(Vec4::ZERO)).bitmask();
        if zero != 0 {
            settle(&mut weights, zero, &a, &b, &c);
        }
        let [u, v, w] = weights;
        let least = u.min(v).min(w);
        let most = u.max(v).max(w);
        let det = u + v + w;
        let inverse = Vec4::ONE / det;
        let t = (u * a[2] + v * b[2] + w * c[2]) * inverse;
        let outside = least.cmplt(Vec4::ZERO) & most.cmpgt(Vec4::ZERO);
        let inside = t.cmpge(self.tmin) & t.cmple(Vec4::splat(tmax)) & det.cmpne(Vec4::ZERO);
        let mask = inside.bitmask() & !outside.bitmask();
        BlockHits {
            mask,
            t: t.to_array(),
            u: (v * inverse).to_array(),
            v: (w * inverse).to_array(),
        }
    }
}

/// The edge function of the edge from `p` to `q` at the ray: twice the signed area of the triangle
/// of both and the ray.
#[inline(always)]
fn edge(p: &[Vec4; 3], q: &[Vec4; 3]) -> Vec4 {
    q[0] * p[1] - q[1] * p[0]
}

/// Recomputes the edge functions of the lanes in `mask` with more digits.
#[cold]
fn settle(weights: &mut [Vec4; 3], mask: u32, a: &[Vec4; 3], b: &[Vec4; 3], c: &[Vec4; 3]) {
    for lane in (0..4).filter(|lane| mask >> lane & 1 != 0) {
        for (weight, (p, q)) in weights.iter_mut().zip([(b, c), (c, a), (a, b)]) {
            let [px, py, qx, qy] = [p[0], p[1], q[0], q[1]].map(|x| x[lane] as f64);
            weight[lane] = (qx * py - qy * px) as f32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::vec3;

    fn one(triangle: [Vec3; 3], ray: &Ray) -> Option<(f32, f32, f32)> {
        let mut block = Block::EMPTY;
        block.set(2, &triangle, 7, 8);
        let hits = Shear::new(ray).intersect(&block, ray.tmax);
        assert_eq!(hits.mask & !4, 0, "empty lanes hit nothing");
        (hits.mask != 0).then_some((hits.t[2], hits.u[2], hits.v[2]))
    }

    #[test]
    fn parameters_along_all_axes_and_from_both_sides() {
        for turn in 0..3 {
            let place = |x: f32, y: f32, z: f32| {
                let p = [x, y, z];
                vec3(p[turn], p[(turn + 1) % 3], p[(turn + 2) % 3])
            };
            let triangle = [place(0.0, 0.0, 2.0), place(4.0, 0.0, 2.0), place(0.0, 4.0, 2.0)];
            for (z, dz) in [(0.0, 1.0), (4.0, -1.0)] {
                let ray = Ray::new(place(1.0, 2.0, z), place(0.0, 0.0, dz));
                assert_eq!(one(triangle, &ray), Some((2.0, 0.25, 0.5)));
                assert!(one(triangle, &Ray { tmin: 2.0, tmax: 2.0, ..ray }).is_some());
                assert_eq!(one(triangle, &Ray { tmin: 2.01, ..ray }), None);
                assert_eq!(one(triangle, &Ray { tmax: 1.99, ..ray }), None);
                assert_eq!(one(triangle, &Ray { o: place(3.0, 3.0, z), ..ray }), None);
            }
        }
    }

    #[test]
    fn edge_on_triangles_are_missed() {
        let triangle = [Vec3::ZERO, Vec3::X, Vec3::Y];
        assert_eq!(one(triangle, &Ray::new(vec3(-1.0, 0.25, 0.0), Vec3::X)), None);
    }
}
