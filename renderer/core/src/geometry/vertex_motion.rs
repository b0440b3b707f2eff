//! Vertices that move while the shutter is open.
//!
//! Each vertex has a second position, and may have a second normal, for the end of the motion. Both
//! are interpolated linearly in time; before the start time and after the end time, nothing moves.
//!
//! A coordinate is start + x (end − start) for the fraction x of the motion. Rounded, this is still
//! monotone in x, so the box around a triangle when the shutter opens and when it closes contains
//! it at all times, without tolerance. Triangles that share a vertex compute the same position for
//! it, so ray tests stay [watertight](super::watertight).

use super::MeshError;
use super::mesh::{gather, normalize};
use super::motion::MotionTimes;
use lightbound_math::{Aabb, Transform, Vec3};

/// Positions and normals of the vertices of a mesh at the end of a motion.
#[derive(Clone, Debug)]
pub struct VertexMotion {
    positions: Vec<Vec3>,
    /// Empty if normals do not change.
    normals: Vec<Vec3>,
    times: MotionTimes,
}

impl VertexMotion {
    /// Creates a motion that ends at `positions` with `normals`, which may be empty if normals do
    /// not change. `times` are its start and end times, seconds. Rays have times in `shutter`.
    pub fn new(
        positions: Vec<Vec3>,
        normals: Vec<Vec3>,
        times: [f32; 2],
        shutter: [f32; 2],
    ) -> VertexMotion {
        VertexMotion { positions, normals, times: MotionTimes::new(times, shutter) }
    }

    /// Validates the end of a motion from `positions` with `normals`, and repairs its normals like
    /// those of the start.
    pub(super) fn validate(
        &mut self,
        positions: &[Vec3],
        normals: &[Vec3],
    ) -> Result<(), MeshError> {
        let vertices = positions.len();
        let lengths =
            [("end positions", self.positions.len()), ("end normals", self.normals.len())];
        for (attribute, count) in lengths {
            if count != vertices && (count != 0 || attribute == "end positions") {
                return Err(MeshError::Length { attribute, count, vertices });
            }
        }
        if normals.is_empty() && !self.normals.is_empty() {
            return Err(MeshError::EndNormals);
        }
        let is_finite = |(start, end): (&Vec3, &Vec3)| end.is_finite() && (end - start).is_finite();
        match positions.iter().zip(&self.positions).position(|ends| !is_finite(ends)) {
            Some(vertex) => {
                return Err(MeshError::EndNotFinite { vertex, position: self.positions[vertex] });
            }
            None => self.normals.iter_mut().for_each(|n| *n = normalize(*n)),
        }
        Ok(())
    }

    /// Transforms positions and normals; the latter are not normalised.
    pub(super) fn transform(&mut self, transform: &Transform) {
        self.positions.iter_mut().for_each(|p| *p = transform.point(*p));
        self.normals.iter_mut().for_each(|n| *n = transform.normal(*n));
    }

    /// Extracts the vertices of one element.
    pub(super) fn extract<const N: usize>(&self, indices: [u32; N]) -> VertexMotion {
        VertexMotion {
            positions: gather(&self.positions, indices),
            normals: gather(&self.normals, indices),
            times: self.times,
        }
    }

    /// Returns the positions of an element's vertices at `time`, seconds. `start` are the positions
    /// of all vertices at the start.
    pub(super) fn positions<const N: usize>(
        &self,
        start: &[Vec3],
        indices: [u32; N],
        time: f32,
    ) -> [Vec3; N] {
        interpolate(start, &self.positions, indices, self.times.fraction(time))
    }

    /// Returns the normals of an element's vertices at `time`, seconds, not normalised. `start` are
    /// the normals of all vertices at the start.
    pub(super) fn normals<const N: usize>(
        &self,
        start: &[Vec3],
        indices: [u32; N],
        time: f32,
    ) -> [Vec3; N] {
        if self.normals.is_empty() {
            return indices.map(|i| start[i as usize]);
        }
        interpolate(start, &self.normals, indices, self.times.fraction(time))
    }

    /// Returns a bounding box of an element's vertices while the shutter is open.
    pub(super) fn aabb<const N: usize>(&self, start: &[Vec3], indices: [u32; N]) -> Aabb {
        let at = |x: f64| Aabb::around(interpolate(start, &self.positions, indices, x));
        let [open, close] = self.times.shutter();
        at(open).union(at(close))
    }

    /// Returns whether an area, twice that of a triangle, is positive at any time. The cross product
    /// of two edges is quadratic in time, so it is zero at all times if it is zero at three.
    pub(super) fn any_area(
        &self,
        start: &[Vec3],
        triangle: [u32; 3],
        double_area: impl Fn([Vec3; 3]) -> f64,
    ) -> bool {
        [0.0, 0.5, 1.0]
            .iter()
            .any(|&x| double_area(interpolate(start, &self.positions, triangle, x)) > 0.0)
    }
}

/// Interpolates the values at an element's vertices.
fn interpolate<const N: usize>(
    start: &[Vec3],
    end: &[Vec3],
    indices: [u32; N],
    fraction: f64,
) -> [Vec3; N] {
    let x = fraction as f32;
    indices.map(|i| {
        let (start, end) = (start[i as usize], end[i as usize]);
        start + x * (end - start)
    })
}

#[cfg(test)]
mod tests {
    use super::super::{BilinearMesh, Mesh, Shape};
    use super::*;
    use lightbound_math::sampling::{hash, unit_float};
    use lightbound_math::{Ray, Vec2, vec3};

    const TIMES: [f32; 2] = [1.0, 3.0];

    /// Returns pseudorandom points in [−1, 1)³.
    fn random(seed: u32) -> impl FnMut() -> Vec3 {
        let mut state = seed;
        let mut next = move || {
            state = hash(state, 0x51ed_270b);
            2.0 * unit_float(state) - 1.0
        };
        move || vec3(next(), next(), next())
    }

    /// Returns a moving triangle and a moving patch, with vertex normals and texture coordinates,
    /// after a transform that mirrors.
    fn shapes(seed: u32, shutter: [f32; 2]) -> [Shape; 2] {
        let mut next = random(seed);
        let mut four = || [(); 4].map(|()| next()).to_vec();
        let (start, end) = (four(), four());
        let normals = |ps: Vec<Vec3>| ps.into_iter().map(|p| p + 2.0 * Vec3::Z).collect::<Vec<_>>();
        let (n, end_n) = (normals(four()), normals(four()));
        let uv: Vec<Vec2> = four().iter().map(|p| p.truncate()).collect();
        let motion =
            || Some(Box::new(VertexMotion::new(end.clone(), end_n.clone(), TIMES, shutter)));
        let (p, n, uv) = (|| start.clone(), || n.clone(), || uv.clone());
        let mesh = Mesh::with_motion(p(), vec![[0, 1, 2]], n(), uv(), motion()).unwrap();
        let patches = vec![[0, 1, 2, 3]];
        let patch = BilinearMesh::with_motion(p(), patches, n(), uv(), motion()).unwrap();
        let mirror = glam::DAffine3::from_scale(glam::dvec3(-1.0, 0.5, 2.0));
        let mirror = Transform::new(mirror).unwrap();
        [
            Shape::Mesh(mesh.transformed(&mirror).unwrap()),
            Shape::Bilinear(patch.transformed(&mirror).unwrap()),
        ]
    }

    #[test]
    fn moving_elements_equal_still_ones_at_each_time() {
        let (mut next, mut hits) = (random(1), 0);
        for seed in 0..200 {
            for shape in shapes(seed, [0.0, 4.0]) {
                for time in [0.0, 1.0, 1.7, 2.3, 3.0, 4.0] {
                    let still = shape.extract_at(0, time);
                    assert!(shape.vertices_move() && !still.vertices_move());
                    let (o, target) = (4.0 * next(), next());
                    let ray = Ray { time, ..Ray::new(o, target - o) };
                    let hit = shape.intersect(0, &ray);
                    assert_eq!(hit, still.intersect(0, &ray));
                    let Some(hit) = hit else { continue };
                    hits += 1;
                    let [a, b] = [&shape, &still]
                        .map(|shape| shape.point(0, hit.coordinates(), ray.d, time));
                    assert_eq!((a.p, a.ng, a.uv, a.dpdu), (b.p, b.ng, b.uv, b.dpdu));
                    assert_eq!((a.magnitude, a.extent), (b.magnitude, b.extent));
                    // Normals are normalised after their interpolation over the surface only.
                    assert!(a.ns.dot(b.ns) > 0.9 && a.ns.is_normalized());
                }
            }
        }
        assert!(hits > 150, "{hits}");
    }

    #[test]
    fn vertices_are_interpolated_in_time() {
        let motion = VertexMotion::new(vec![Vec3::X], vec![], TIMES, TIMES);
        let at = |time| motion.positions(&[3.0 * Vec3::X], [0], time)[0].x;
        assert_eq!([0.0, 1.0, 1.5, 2.0, 3.0, 9.0].map(at), [3.0, 3.0, 2.5, 2.0, 1.0, 1.0]);
        assert_eq!(motion.normals(&[Vec3::Y], [0], 2.0), [Vec3::Y]);
    }

    #[test]
    fn boxes_contain_elements_at_all_times() {
        for seed in 0..300 {
            let shutter = [[0.0, 4.0], [1.2, 2.5], [2.0, 2.0]][seed as usize % 3];
            for shape in shapes(seed, shutter) {
                let bounds = shape.aabb(0);
                for k in 0..=50 {
                    let time = shutter[0] + (shutter[1] - shutter[0]) * k as f32 / 50.0;
                    let at = shape.extract_at(0, time).aabb(0);
                    assert!(bounds.min.cmple(at.min).all() && bounds.max.cmpge(at.max).all());
                }
            }
        }
    }

    #[test]
    fn triangles_without_area_at_all_times_are_discarded() {
        let mesh = |start: [Vec3; 3], end: [Vec3; 3]| {
            let motion = VertexMotion::new(end.to_vec(), vec![], TIMES, TIMES);
            let (start, motion) = (start.to_vec(), Some(Box::new(motion)));
            Mesh::with_motion(start, vec![[0, 1, 2]], vec![], vec![], motion)
                .unwrap()
                .triangles()
                .len()
        };
        let (area, line) = ([Vec3::ZERO, Vec3::X, Vec3::Y], [Vec3::ZERO, Vec3::X, 2.0 * Vec3::X]);
        assert_eq!([mesh(area, line), mesh(line, area), mesh(line, line)], [1, 1, 0]);
        // Two lines with a triangle in between.
        assert_eq!(mesh(line, [Vec3::ZERO, Vec3::Y, 3.0 * Vec3::Y]), 1);
    }

    #[test]
    fn invalid_motions_are_errors() {
        let error = |end: Vec<Vec3>, normals: Vec<Vec3>| {
            let motion = Some(Box::new(VertexMotion::new(end, normals, TIMES, TIMES)));
            let p = vec![Vec3::ZERO, Vec3::X, 2e38 * Vec3::Y];
            Mesh::with_motion(p, vec![[0, 1, 2]], vec![], vec![], motion).unwrap_err().to_string()
        };
        assert!(error(vec![Vec3::X], vec![]).starts_with("1 end positions for 3 vertices"));
        assert!(error(vec![], vec![]).starts_with("0 end positions for 3 vertices"));
        assert!(error(vec![Vec3::X; 3], vec![Vec3::X; 2]).starts_with("2 end normals for 3"));
        assert!(error(vec![Vec3::X; 3], vec![Vec3::X; 3]).contains("no normals at the start"));
        for y in [f32::NAN, f32::INFINITY, -2e38] {
            assert!(error(vec![y * Vec3::Y; 3], vec![]).contains("is not finite or too far away"));
        }
    }
}
