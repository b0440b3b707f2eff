//! Bilinear patches.
//!
//! The ray test follows Reshetov 2019, *Cool Patches* (Ray Tracing Gems, ch. 8): the roots of a
//! quadratic are the lines of constant u that the ray intersects; each line yields t and v. The
//! test is in double precision, so patches may be flat, thin or far away.

use super::derivatives::unit_derivative;
use super::mesh::{self, MeshError};
use super::{ShapeHit, ShapePoint, SurfaceDerivatives, VertexMotion};
use glam::DVec3;
use lightbound_math::{Aabb, Ray, Transform, Vec2, Vec3};

/// Indexed bilinear patches.
#[derive(Clone, Debug)]
pub struct BilinearMesh {
    positions: Vec<Vec3>,
    patches: Vec<[u32; 4]>,
    normals: Vec<Vec3>,
    uvs: Vec<Vec2>,
    /// Whether the front is the side of ∂p/∂v × ∂p/∂u instead of ∂p/∂u × ∂p/∂v.
    mirrored: bool,
    motion: Option<Box<VertexMotion>>,
}

/// The corners of a patch: p(0,0), p(1,0), p(0,1), p(1,1).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patch {
    corners: [Vec3; 4],
}

impl BilinearMesh {
    /// Creates a mesh. The corners of a patch are in pbrt's order p00, p10, p01, p11; `normals` and
    /// `uvs` must be empty or as long as `positions`. Normals and texture coordinates are repaired
    /// as in [`super::Mesh::new`].
    ///
    /// # Errors
    /// In the same cases as [`super::Mesh::new`].
    pub fn new(
        positions: Vec<Vec3>,
        patches: Vec<[u32; 4]>,
        normals: Vec<Vec3>,
        uvs: Vec<Vec2>,
    ) -> Result<BilinearMesh, MeshError> {
        BilinearMesh::with_motion(positions, patches, normals, uvs, None)
    }

    /// Creates a mesh like [`BilinearMesh::new`], with vertices that may move. `positions` and
    /// `normals` are those at the start of the motion.
    ///
    /// # Errors
    /// In the same cases as [`super::Mesh::with_motion`].
    pub fn with_motion(
        positions: Vec<Vec3>,
        patches: Vec<[u32; 4]>,
        mut normals: Vec<Vec3>,
        mut uvs: Vec<Vec2>,
        mut motion: Option<Box<VertexMotion>>,
    ) -> Result<BilinearMesh, MeshError> {
        mesh::validate(&positions, &patches, &mut normals, &mut uvs)?;
        if let Some(motion) = &mut motion {
            motion.validate(&positions, &normals)?;
        }
        Ok(BilinearMesh { positions, patches, normals, uvs, mirrored: false, motion })
    }

    /// Transforms the patches. The front is preserved even if the transform swaps handedness.
    ///
    /// # Errors
    /// If a transformed position overflows.
    pub fn transformed(mut self, transform: &Transform) -> Result<BilinearMesh, MeshError> {
        for p in &mut self.positions {
            *p = transform.point(*p);
        }
        for n in &mut self.normals {
            *n = transform.normal(*n);
        }
        if let Some(motion) = &mut self.motion {
            motion.transform(transform);
        }
        let mirrored = self.mirrored != transform.swaps_handedness();
        let BilinearMesh { positions, patches, normals, uvs, motion, .. } = self;
        let mesh = BilinearMesh::with_motion(positions, patches, normals, uvs, motion)?;
        Ok(BilinearMesh { mirrored, ..mesh })
    }

    pub(super) fn len(&self) -> u32 {
        self.patches.len() as u32
    }

    pub(super) fn positions(&self) -> &[Vec3] {
        &self.positions
    }

    /// Extracts one patch as a mesh of its own.
    pub(crate) fn extract(&self, element: u32) -> BilinearMesh {
        let indices = self.patches[element as usize];
        BilinearMesh {
            positions: mesh::gather(&self.positions, indices),
            patches: vec![[0, 1, 2, 3]],
            normals: mesh::gather(&self.normals, indices),
            uvs: mesh::gather(&self.uvs, indices),
            mirrored: self.mirrored,
            motion: self.motion.as_ref().map(|motion| Box::new(motion.extract(indices))),
        }
    }

    /// Extracts one patch as it is at `time`, seconds, as a mesh of its own.
    pub(super) fn extract_at(&self, element: u32, time: f32) -> BilinearMesh {
        let still = BilinearMesh { motion: None, ..self.extract(element) };
        let positions = self.patch_at(element, time).corners.to_vec();
        let normals = match self.normals.is_empty() {
            true => Vec::new(),
            false => self.normals_at(element, time).map(mesh::normalize).to_vec(),
        };
        BilinearMesh { positions, normals, ..still }
    }

    /// Returns whether vertices move.
    pub fn moves(&self) -> bool {
        self.motion.is_some()
    }

    /// Returns the corners of a patch, at the start of a motion.
    pub(crate) fn patch(&self, element: u32) -> Patch {
        Patch { corners: self.patches[element as usize].map(|i| self.positions[i as usize]) }
    }

    /// Returns whether the texture coordinates of a patch are (u, v).
    pub(crate) fn has_default_uvs(&self, element: u32) -> bool {
        const DEFAULT: [Vec2; 4] = [Vec2::ZERO, Vec2::X, Vec2::Y, Vec2::ONE];
        self.uvs.is_empty()
            || self.patches[element as usize].map(|i| self.uvs[i as usize]) == DEFAULT
    }

    /// Returns the corners of a patch at `time`, seconds.
    fn patch_at(&self, element: u32, time: f32) -> Patch {
        match &self.motion {
            None => self.patch(element),
            Some(motion) => Patch {
                corners: motion.positions(&self.positions, self.patches[element as usize], time),
            },
        }
    }

    /// Returns the normals at the corners of a patch at `time`, seconds, not normalised. The mesh
    /// must have normals.
    fn normals_at(&self, element: u32, time: f32) -> [Vec3; 4] {
        let indices = self.patches[element as usize];
        match &self.motion {
            None => indices.map(|i| self.normals[i as usize]),
            Some(motion) => motion.normals(&self.normals, indices, time),
        }
    }

    pub(super) fn aabb(&self, element: u32) -> Aabb {
        match &self.motion {
            None => Aabb::around(self.patch(element).corners),
            Some(motion) => motion.aabb(&self.positions, self.patches[element as usize]),
        }
    }

    pub(super) fn intersect(&self, element: u32, ray: &Ray) -> Option<ShapeHit> {
        let in_range = |h: &ShapeHit| h.t >= ray.tmin && h.t < ray.tmax;
        self.patch_at(element, ray.time)
            .line_hits(ray)
            .into_iter()
            .flatten()
            .filter(in_range)
            .min_by(|a, b| a.t.total_cmp(&b.t))
    }

    pub(crate) fn point(&self, element: u32, u: f32, v: f32, time: f32) -> ShapePoint {
        let patch = self.patch_at(element, time);
        let indices = self.patches[element as usize].map(|i| i as usize);
        let (pu, pv) = patch.derivatives(u, v);
        let ng = if self.mirrored { -patch.normal(u, v) } else { patch.normal(u, v) };
        let ns = if self.normals.is_empty() {
            ng
        } else {
            bilerp(self.normals_at(element, time), u, v).try_normalize().unwrap_or(ng)
        };
        let (uv, dpdu) = if self.uvs.is_empty() {
            (Vec2::new(u, v), pu)
        } else {
            let t = indices.map(|i| self.uvs[i]);
            // Chain rule through the inverse of ∂(s, t)/∂(u, v).
            let du = (t[1] - t[0]).lerp(t[3] - t[2], v);
            let dv = (t[2] - t[0]).lerp(t[3] - t[1], u);
            let det = du.perp_dot(dv);
            let dpdu = if det != 0.0 { (pu * dv.y - pv * du.y) / det } else { Vec3::ZERO };
            (bilerp(t, u, v), dpdu)
        };
        let bounds = Aabb::around(patch.corners);
        let (magnitude, extent) = (bounds.magnitude(), (bounds.max - bounds.min).max_element());
        ShapePoint { p: patch.at(u, v), ng, ns, uv, dpdu, magnitude, extent, clearance: 0.0 }
    }

    pub(super) fn derivatives(
        &self,
        element: u32,
        u: f32,
        v: f32,
        time: f32,
    ) -> SurfaceDerivatives {
        let patch = self.patch_at(element, time);
        let indices = self.patches[element as usize].map(|i| i as usize);
        let (dpdu, dpdv) = patch.derivatives(u, v);
        let normal =
            |n: Vec3, by_u: Vec3, by_v: Vec3| [unit_derivative(n, by_u), unit_derivative(n, by_v)];
        let [dndu, dndv] = if self.normals.is_empty() {
            // Both factors of the cross product have the same mixed derivative.
            let [p00, p10, p01, p11] = patch.corners;
            let mixed = (p11 - p10) - (p01 - p00);
            let side = if self.mirrored { -1.0 } else { 1.0 };
            normal(side * dpdu.cross(dpdv), side * dpdu.cross(mixed), side * mixed.cross(dpdv))
        } else {
            let n = self.normals_at(element, time);
            let (by_u, by_v) =
                ((n[1] - n[0]).lerp(n[3] - n[2], v), (n[2] - n[0]).lerp(n[3] - n[1], u));
            normal(bilerp(n, u, v), by_u, by_v)
        };
        let by_surface = SurfaceDerivatives { dpdu, dpdv, dndu, dndv };
        if self.uvs.is_empty() {
            return by_surface;
        }
        let t = indices.map(|i| self.uvs[i]);
        by_surface.chain((t[1] - t[0]).lerp(t[3] - t[2], v), (t[2] - t[0]).lerp(t[3] - t[1], u))
    }

    /// Returns the area of a patch, at the start of a motion.
    pub(super) fn area(&self, element: u32) -> f32 {
        self.patch(element).area()
    }

    /// Returns convex hulls for a rectangle of (u, v), as their vertices. The first contains the
    /// positions. The second contains positive multiples of the normals, on the side of the vertex
    /// normals; it is `None` if that side may change within the rectangle.
    pub(crate) fn hull(&self, element: u32, lo: Vec2, hi: Vec2) -> ([Vec3; 4], Option<[DVec3; 4]>) {
        let patch = self.patch(element);
        let corners = [lo, Vec2::new(hi.x, lo.y), Vec2::new(lo.x, hi.y), hi];
        let positions = corners.map(|c| patch.at(c.x, c.y));
        // ∂p/∂u × ∂p/∂v is linear in (u, v): the u v term vanishes, since both factors have the
        // same mixed derivative.
        let normals = corners
            .map(|c| if self.mirrored { -patch.cross(c.x, c.y) } else { patch.cross(c.x, c.y) });
        if self.normals.is_empty() {
            return (positions, Some(normals));
        }
        let indices = self.patches[element as usize].map(|i| i as usize);
        let shading =
            corners.map(|c| bilerp(indices.map(|i| self.normals[i]), c.x, c.y).as_dvec3());
        let products = || {
            shading
                .iter()
                .flat_map(|s| normals.iter().map(|n| (s.dot(*n), s.length() * n.length())))
        };
        let is_on_side =
            |sign: f64| products().all(|(cos, lengths)| sign * cos > FACING_SLACK * lengths);
        let normals = if is_on_side(1.0) {
            Some(normals)
        } else {
            is_on_side(-1.0).then(|| normals.map(|n| -n))
        };
        (positions, normals)
    }
}

/// Cosines up to this magnitude do not determine the side of a normal, because of rounding.
const FACING_SLACK: f64 = 1e-5;

/// Interpolates corner values bilinearly.
fn bilerp<T: std::ops::Mul<f32, Output = T> + std::ops::Add<Output = T>>(
    [a, b, c, d]: [T; 4],
    u: f32,
    v: f32,
) -> T {
    (a * (1.0 - u) + b * u) * (1.0 - v) + (c * (1.0 - u) + d * u) * v
}

impl Patch {
    /// Computes the position.
    fn at(&self, u: f32, v: f32) -> Vec3 {
        bilerp(self.corners, u, v)
    }

    /// Computes ∂p/∂u and ∂p/∂v.
    fn derivatives(&self, u: f32, v: f32) -> (Vec3, Vec3) {
        let [p00, p10, p01, p11] = self.corners;
        ((p10 - p00).lerp(p11 - p01, v), (p01 - p00).lerp(p11 - p10, u))
    }

    /// Computes the unit vector along ∂p/∂u × ∂p/∂v, or along the average normal of the patch if
    /// the product vanishes.
    fn normal(&self, u: f32, v: f32) -> Vec3 {
        let normal = self.cross(u, v);
        let [p00, p10, p01, p11] = self.corners.map(Vec3::as_dvec3);
        let average = || (p11 - p00).cross(p01 - p10).normalize_or(DVec3::Z);
        normal.try_normalize().unwrap_or_else(average).as_vec3()
    }

    /// Computes ∂p/∂u × ∂p/∂v.
    fn cross(&self, u: f32, v: f32) -> DVec3 {
        let (pu, pv) = self.derivatives(u, v);
        pu.as_dvec3().cross(pv.as_dvec3())
    }

    /// Computes the Jacobian |∂p/∂u × ∂p/∂v|: area per unit of (u, v).
    pub(crate) fn jacobian(&self, u: f32, v: f32) -> f32 {
        self.cross(u, v).length() as f32
    }

    /// Computes the area by the midpoint rule on a 16 × 16 grid; exact for parallelograms.
    fn area(&self) -> f32 {
        const N: usize = 16;
        let mid = |i: usize| (i as f32 + 0.5) / N as f32;
        let sum: f64 = (0..N * N).map(|i| f64::from(self.jacobian(mid(i % N), mid(i / N)))).sum();
        (sum / (N * N) as f64) as f32
    }

    /// Returns the coordinates (u, v) of the ray's hit nearest to parameter `t`, and the density of
    /// uniform (u, v) there, m⁻²; `None` for a miss.
    pub(crate) fn area_pdf(&self, ray: &Ray, t: f32) -> Option<(Vec2, f32)> {
        let hits = self.line_hits(ray).into_iter().flatten();
        let nearest = hits.min_by(|a, b| (a.t - t).abs().total_cmp(&(b.t - t).abs()));
        nearest.map(|h| (Vec2::new(h.u, h.v), 1.0 / self.jacobian(h.u, h.v)))
    }

    /// Returns all hits on the infinite line of the ray.
    fn line_hits(&self, ray: &Ray) -> [Option<ShapeHit>; 2] {
        let d = ray.d.as_dvec3();
        let [p00, p10, p01, p11] = self.corners.map(|p| p.as_dvec3() - ray.o.as_dvec3());
        let (e0, e1) = (p01 - p00, p11 - p10);
        // The line of constant u intersects the ray's line if a + b u + c u² = 0.
        let a = p00.cross(d).dot(e0);
        let c = (p10 - p00).cross(e0 - e1).dot(d);
        let b = p10.cross(d).dot(e1) - a - c;
        let discriminant = b * b - 4.0 * a * c;
        if discriminant.is_nan() || discriminant < 0.0 {
            return [None; 2];
        }
        // Neither root suffers from cancellation, even if c is small: then the first is far away
        // and the second approaches −a/b.
        let q = -0.5 * (b + discriminant.sqrt().copysign(b));
        [q / c, a / q].map(|u| {
            if !(-EDGE_SLACK..=1.0 + EDGE_SLACK).contains(&u) {
                return None;
            }
            let u = u.clamp(0.0, 1.0);
            let (start, along) = (p00.lerp(p10, u), e0.lerp(e1, u));
            let n = d.cross(along);
            let n2 = n.length_squared();
            let m = n.cross(start);
            let (t, v) = (m.dot(along) / n2, m.dot(d) / n2);
            (t.is_finite() && (-EDGE_SLACK..=1.0 + EDGE_SLACK).contains(&v))
                .then(|| ShapeHit::new(t as f32, u as f32, v.clamp(0.0, 1.0) as f32))
        })
    }
}

/// Tolerance for surface coordinates outside [0, 1], so that rays through a shared edge hit at
/// least one patch.
const EDGE_SLACK: f64 = 1e-9;

#[cfg(test)]
mod tests {
    use super::*;
    use glam::{DAffine3, dvec3};
    use lightbound_math::sampling::{hash, unit_float};

    fn random(i: u32, k: u32) -> f32 {
        2.0 * unit_float(hash(hash(21, i), k)) - 1.0
    }

    fn mesh(corners: [Vec3; 4]) -> BilinearMesh {
        BilinearMesh::new(corners.to_vec(), vec![[0, 1, 2, 3]], vec![], vec![]).unwrap()
    }

    fn square() -> [Vec3; 4] {
        [Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::X + Vec3::Y]
    }

    #[test]
    fn rays_hit_the_points_they_aim_at() {
        for i in 0..3000 {
            let v = |k| Vec3::new(random(i, k), random(i, k + 1), random(i, k + 2));
            let m = mesh([v(0), v(3), v(6), v(9)]);
            let (u, w) = (0.5 + 0.5 * random(i, 20), 0.5 + 0.5 * random(i, 21));
            let target = m.point(0, u, w, 0.0).p;
            let ray = Ray::new(5.0 * v(12), 0.7 * (target - 5.0 * v(12)));
            let h = m.intersect(0, &ray).unwrap_or_else(|| panic!("{i} misses"));
            assert!(h.t <= 1.0 / 0.7 + 1e-4, "{i}: the hit is beyond the target");
            assert!((m.point(0, h.u, h.v, 0.0).p - ray.at(h.t)).length() < 1e-4, "{i}");
            assert_eq!(m.intersect(0, &Ray { tmin: h.t, ..ray }), Some(h));
            assert!(m.intersect(0, &Ray { tmax: h.t, ..ray }).is_none());
        }
    }

    #[test]
    fn rays_hit_flat_patches_and_miss_degenerate_ones() {
        let m = mesh(square());
        let h = m.intersect(0, &Ray::new(Vec3::new(0.25, 0.75, 2.0), -Vec3::Z)).unwrap();
        assert_eq!(h, ShapeHit::new(2.0, 0.25, 0.75));
        assert_eq!(m.point(0, h.u, h.v, 0.0).ng, Vec3::Z);
        assert_eq!(m.intersect(0, &Ray::new(Vec3::new(1.25, 0.75, 2.0), -Vec3::Z)), None);
        // Two equal corners make a triangle; four equal corners a point, which rays miss.
        let triangle = mesh([Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::Y]);
        let h = triangle.intersect(0, &Ray::new(Vec3::new(0.25, 0.5, 2.0), -Vec3::Z)).unwrap();
        assert!((triangle.point(0, h.u, h.v, 0.0).p - Vec3::new(0.25, 0.5, 0.0)).length() < 1e-6);
        assert_eq!(triangle.point(0, 0.5, 1.0, 0.0).ng, Vec3::Z);
        let dot = mesh([Vec3::ONE; 4]);
        assert_eq!(dot.intersect(0, &Ray::new(Vec3::ZERO, Vec3::ONE)), None);
        assert!(dot.point(0, 0.5, 0.5, 0.0).ng.is_normalized());
        assert_eq!(dot.area(0), 0.0);
    }

    #[test]
    fn area_matches_an_integral_and_mirroring_preserves_the_front() {
        let [a, b, c, d] = square();
        // The saddle z = x y over the unit square: ∫∫ √(1 + x² + y²).
        let saddle = mesh([a, b, c, d + Vec3::Z]);
        assert!((saddle.area(0) - 1.280_789).abs() < 1e-3, "{}", saddle.area(0));
        let mirror = Transform::new(DAffine3::from_scale(dvec3(-2.0, 1.0, 1.0))).unwrap();
        let m = mesh(square()).transformed(&mirror).unwrap();
        let at = m.point(0, 0.25, 0.5, 0.0);
        assert_eq!(
            (at.p, at.ng, at.uv, m.area(0)),
            (Vec3::new(-0.5, 0.5, 0.0), Vec3::Z, Vec2::new(0.25, 0.5), 2.0)
        );
    }

    #[test]
    fn texture_coordinates_and_normals_are_interpolated() {
        let p = square().to_vec();
        let uvs = p.iter().map(|p| Vec2::new(4.0 * p.y, 2.0 * p.x)).collect();
        let m = BilinearMesh::new(p, vec![[0, 1, 2, 3]], vec![-Vec3::Z; 4], uvs).unwrap();
        let at = m.point(0, 0.25, 0.5, 0.0);
        assert_eq!((at.uv, at.ns, at.ng), (Vec2::new(2.0, 0.5), -Vec3::Z, Vec3::Z));
        assert!((at.dpdu - Vec3::Y / 4.0).length() < 1e-6, "{}", at.dpdu);
    }

    #[test]
    fn invalid_rays_miss_and_invalid_indices_are_errors() {
        let m = mesh(square());
        for d in [Vec3::ZERO, Vec3::splat(f32::NAN), Vec3::X, Vec3::INFINITY] {
            for o in [Vec3::Z, Vec3::splat(f32::NAN), Vec3::INFINITY] {
                assert_eq!(m.intersect(0, &Ray::new(o, d)), None, "{o} {d}");
            }
        }
        let error =
            BilinearMesh::new(vec![Vec3::ZERO; 3], vec![[0, 1, 2, 3]], vec![], vec![]).unwrap_err();
        assert_eq!(error, MeshError::Index { element: 0, index: 3, vertices: 3 });
    }
}
