//! Displacement of triangle meshes: tessellation to short edges, then displacement along normals,
//! as in pbrt-v4.
//!
//! Triangles are bisected at their longest edge until no edge reaches the maximum length. Whether an
//! edge is bisected depends only on its own length, so triangles on both sides agree, and no cracks
//! open. Vertices with equal positions and normals, as along seams of texture coordinates, move by
//! the mean of their displacements, and share the normals of the displaced mesh.

use super::mesh::validate;
use super::{Mesh, MeshError};
use lightbound_math::{Vec2, Vec3};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

/// Maximum number of triangles of a displaced mesh.
const MAX_TRIANGLES: usize = 1 << 25;

/// A triangle mesh to be displaced.
#[derive(Clone, Debug, Default)]
pub struct DisplacedMesh {
    /// Positions of the vertices.
    pub positions: Vec<Vec3>,
    /// Normals of the vertices. If empty, they are means of the normals of the triangles.
    pub normals: Vec<Vec3>,
    /// Texture coordinates of the vertices.
    pub uvs: Vec<Vec2>,
    /// Triangles, counter-clockwise from the front.
    pub triangles: Vec<[u32; 3]>,
}

/// Why a mesh cannot be displaced.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DisplacementError {
    /// The arrays are invalid, or displaced positions are.
    #[error(transparent)]
    Mesh(#[from] MeshError),
    /// The vertices have no texture coordinates.
    #[error("a mesh without texture coordinates cannot be displaced")]
    NoTextureCoordinates,
    /// The tessellation would be too fine.
    #[error("edges shorter than {max_length} give more than {max_triangles} triangles")]
    TooMany {
        /// The maximum length.
        max_length: f32,
        /// The maximum number of triangles.
        max_triangles: usize,
    },
}

impl DisplacedMesh {
    /// Tessellates the mesh until edges are shorter than `max_length`, and moves each vertex along
    /// its normal by `height`. `length` measures edges; `height` takes the position, the normal and
    /// the texture coordinates of a vertex. The vertices get new normals.
    ///
    /// # Errors
    /// If the arrays are invalid, there are no texture coordinates, there would be more than 2²⁵
    /// triangles, or displaced positions are not finite.
    pub fn displace(
        self,
        max_length: f32,
        length: impl Fn(Vec3, Vec3) -> f32,
        height: impl Fn(Vec3, Vec3, Vec2) -> f32 + Sync,
    ) -> Result<Mesh, DisplacementError> {
        self.displace_within(MAX_TRIANGLES, max_length, length, height)
    }

    /// [`DisplacedMesh::displace`] with a maximum number of triangles.
    fn displace_within(
        mut self,
        max_triangles: usize,
        max_length: f32,
        length: impl Fn(Vec3, Vec3) -> f32,
        height: impl Fn(Vec3, Vec3, Vec2) -> f32 + Sync,
    ) -> Result<Mesh, DisplacementError> {
        validate(&self.positions, &self.triangles, &mut self.normals, &mut self.uvs)?;
        if self.uvs.is_empty() {
            return Err(DisplacementError::NoTextureCoordinates);
        }
        if self.normals.is_empty() {
            self.add_mean_normals();
        }
        let has_seams = self.coincident().is_some();
        let too_many = DisplacementError::TooMany { max_length, max_triangles };
        if self.min_triangles(max_length, &length) > max_triangles as f64
            || !self.tessellate(max_triangles, max_length, length)
        {
            return Err(too_many);
        }
        let coincident = if has_seams { self.coincident() } else { None };
        let mut heights: Vec<f32> = (0..self.positions.len())
            .into_par_iter()
            .map(|v| height(self.positions[v], self.normals[v], self.uvs[v]))
            .collect();
        if let Some(first) = &coincident {
            average(&mut heights, first);
        }
        self.positions
            .par_iter_mut()
            .zip(&self.normals)
            .zip(&heights)
            .for_each(|((position, &normal), &height)| *position += height * normal);
        let normals = self.mean_normals(&coincident);
        Ok(Mesh::new(self.positions, self.triangles, normals, self.uvs)?)
    }

    /// Gives each vertex the mean of the normals of the triangles at its position.
    pub(super) fn add_mean_normals(&mut self) {
        self.normals = vec![Vec3::ZERO; self.positions.len()];
        self.normals = self.mean_normals(&self.coincident());
    }

    /// Returns a lower bound on the number of triangles after tessellation: the area, divided by
    /// that of an equilateral triangle. So most tessellations that are too fine are never begun.
    fn min_triangles(&self, max_length: f32, length: impl Fn(Vec3, Vec3) -> f32) -> f64 {
        let areas = self.triangles.iter().map(|triangle| {
            let p = triangle.map(|v| self.positions[v as usize]);
            let [a, b, c] = [0, 1, 2].map(|k| f64::from(length(p[k], p[(k + 1) % 3])));
            // Heron's formula; rounding errors do not matter.
            let s = 0.5 * (a + b + c);
            (s * (s - a) * (s - b) * (s - c)).max(0.0).sqrt()
        });
        let side = f64::from(max_length);
        let equilateral = 0.25 * 3f64.sqrt() * side * side;
        0.999 * areas.sum::<f64>() / equilateral
    }

    /// Bisects triangles until all edges are shorter than `max_length`. Returns whether at most
    /// `max_triangles` result.
    fn tessellate(
        &mut self,
        max_triangles: usize,
        max_length: f32,
        length: impl Fn(Vec3, Vec3) -> f32,
    ) -> bool {
        let mut midpoints = FxHashMap::default();
        let coarse = std::mem::take(&mut self.triangles);
        let mut pending = Vec::new();
        for (k, triangle) in coarse.iter().enumerate() {
            pending.push(*triangle);
            while let Some(triangle) = pending.pop() {
                let p = triangle.map(|v| self.positions[v as usize]);
                let lengths = [0, 1, 2].map(|k| length(p[k], p[(k + 1) % 3]));
                if lengths.iter().all(|&length| length < max_length) {
                    self.triangles.push(triangle);
                    continue;
                }
                let count = self.triangles.len() + pending.len() + (coarse.len() - k);
                if count >= max_triangles {
                    return false;
                }
                let longest = (1..3).fold(0, |a, b| if lengths[b] > lengths[a] { b } else { a });
                let [a, b, c] = [0, 1, 2].map(|k| triangle[(longest + k) % 3]);
                let edge = [a.min(b), a.max(b)];
                let middle = *midpoints.entry(edge).or_insert_with(|| self.bisect(edge));
                pending.push([middle, b, c]);
                pending.push([a, middle, c]);
            }
        }
        true
    }

    /// Adds the midpoint of an edge, and returns its index.
    fn bisect(&mut self, edge: [u32; 2]) -> u32 {
        let [a, b] = edge.map(|v| v as usize);
        // Halves do not overflow.
        self.positions.push(0.5 * self.positions[a] + 0.5 * self.positions[b]);
        self.normals.push((self.normals[a] + self.normals[b]).normalize_or_zero());
        self.uvs.push(0.5 * self.uvs[a] + 0.5 * self.uvs[b]);
        self.positions.len() as u32 - 1
    }

    /// Returns the first vertex with the position and normal of each vertex; `None` if all differ.
    fn coincident(&self) -> Option<Vec<u32>> {
        let mut first = FxHashMap::default();
        let vertices = self.positions.iter().zip(&self.normals).zip(0u32..);
        let representatives: Vec<u32> = vertices
            .map(|((p, n), v)| {
                // −0 and 0 are the same place.
                let key = [*p, *n].map(|x| (x + Vec3::ZERO).to_array().map(f32::to_bits));
                *first.entry(key).or_insert(v)
            })
            .collect();
        (first.len() < self.positions.len()).then_some(representatives)
    }

    /// Returns the mean normals of the triangles at each vertex, or at all vertices with the same
    /// `first` vertex.
    fn mean_normals(&self, first: &Option<Vec<u32>>) -> Vec<Vec3> {
        let vertex = |v: u32| first.as_ref().map_or(v, |first| first[v as usize]) as usize;
        let mut sums = vec![Vec3::ZERO; self.positions.len()];
        for triangle in &self.triangles {
            let [a, b, c] = triangle.map(|v| self.positions[v as usize]);
            // In double precision, squares of small edges do not underflow.
            let [u, v] = [b - a, c - b].map(|edge| edge.as_dvec3());
            let normal = u.cross(v).normalize_or_zero().as_vec3();
            triangle.iter().for_each(|&v| sums[vertex(v)] += normal);
        }
        sums.iter_mut().for_each(|sum| *sum = sum.normalize_or_zero());
        match first {
            None => sums,
            Some(first) => first.iter().map(|&v| sums[v as usize]).collect(),
        }
    }
}

/// Replaces the heights of vertices with the same `first` vertex by their mean.
fn average(heights: &mut [f32], first: &[u32]) {
    let mut sums = vec![(0.0, 0.0); heights.len()];
    for (&height, &v) in std::iter::zip(&*heights, first) {
        let (sum, count) = &mut sums[v as usize];
        *sum += height;
        *count += 1.0;
    }
    for (height, &v) in heights.iter_mut().zip(first) {
        let (sum, count) = sums[v as usize];
        *height = sum / count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lightbound_math::{vec2, vec3};

    fn distance(a: Vec3, b: Vec3) -> f32 {
        a.distance(b)
    }

    /// A unit square in the xy plane.
    fn square() -> DisplacedMesh {
        let uvs = vec![vec2(0.0, 0.0), vec2(1.0, 0.0), vec2(1.0, 1.0), vec2(0.0, 1.0)];
        DisplacedMesh {
            positions: uvs.iter().map(|uv| uv.extend(0.0)).collect(),
            normals: vec![],
            uvs,
            triangles: vec![[0, 1, 2], [0, 2, 3]],
        }
    }

    /// A cylinder around z whose texture coordinates have a seam at x > 0, y = 0.
    fn tube(sides: u32, normals: bool) -> DisplacedMesh {
        let mut mesh = DisplacedMesh::default();
        for k in 0..=sides {
            let (s, c) = (std::f32::consts::TAU * (k % sides) as f32 / sides as f32).sin_cos();
            for z in [0.0, 1.0] {
                mesh.positions.push(vec3(c, s, z));
                mesh.normals.push(vec3(c, s, 0.0));
                mesh.uvs.push(vec2(k as f32 / sides as f32, z));
            }
        }
        for v in (0..2 * sides).step_by(2) {
            mesh.triangles.extend([[v, v + 2, v + 3], [v, v + 3, v + 1]]);
        }
        if !normals {
            mesh.normals.clear();
        }
        mesh
    }

    /// Positions of each triangle's corners.
    fn corners(mesh: &Mesh) -> Vec<[Vec3; 3]> {
        (0..mesh.triangles().len() as u32).map(|k| mesh.vertices(k)).collect()
    }

    /// Returns the edges that only one triangle has, as pairs of bits of positions.
    fn open_edges(mesh: &Mesh) -> usize {
        let mut edges: FxHashMap<_, i32> = FxHashMap::default();
        for p in corners(mesh) {
            let bits = p.map(|p| (p + Vec3::ZERO).to_array().map(f32::to_bits));
            for k in 0..3 {
                let [a, b] = [bits[k], bits[(k + 1) % 3]];
                *edges.entry([a.min(b), a.max(b)]).or_default() += if a < b { 1 } else { -1 };
            }
        }
        edges.values().filter(|&&count| count != 0).count()
    }

    #[test]
    fn edges_are_shorter_than_the_maximum() {
        for max in [2.0, 1.0, 0.3, 0.05] {
            let mesh = square().displace(max, distance, |_, _, _| 0.0).unwrap();
            let longest = corners(&mesh)
                .iter()
                .flat_map(|p| [0, 1, 2].map(|k| p[k].distance(p[(k + 1) % 3])))
                .fold(0.0, f32::max);
            assert!(longest < max, "{longest}");
            let area: f32 =
                corners(&mesh).iter().map(|[a, b, c]| 0.5 * (*b - *a).cross(*c - *a).z).sum();
            assert!((area - 1.0).abs() < 1e-5, "{area}");
        }
        assert_eq!(square().displace(2.0, distance, |_, _, _| 0.0).unwrap().triangles().len(), 2);
    }

    #[test]
    fn vertices_move_along_normals_and_get_new_ones() {
        let height = |p: Vec3, n: Vec3, uv: Vec2| {
            assert_eq!((n, p.truncate()), (Vec3::Z, uv));
            0.5 * p.x
        };
        let mesh = square().displace(0.1, distance, height).unwrap();
        let normal = vec3(-0.5, 0.0, 1.0).normalize();
        for (k, p) in corners(&mesh).iter().enumerate() {
            assert!(p.iter().all(|p| (p.z - 0.5 * p.x).abs() < 1e-6), "{p:?}");
            let normals = mesh.vertex_normals(k as u32).expect("vertices have normals");
            assert!(normals.iter().all(|n| n.distance(normal) < 1e-5), "{normals:?}");
        }
    }

    #[test]
    fn edges_are_measured_by_the_given_length() {
        let along_y = |a: Vec3, b: Vec3| (a.y - b.y).abs();
        let mesh = square().displace(0.5, along_y, |_, _, _| 0.0).unwrap();
        assert!(
            mesh.triangles().len() > 4
                && corners(&mesh).iter().flatten().all(|p| p.y % 0.25 == 0.0)
        );
    }

    #[test]
    fn neighbours_and_seams_stay_closed() {
        for normals in [false, true] {
            // The two ends of the tube are open.
            let flat = tube(7, normals).displace(0.2, distance, |_, _, _| 0.0).unwrap();
            let ends = open_edges(&flat);
            let rough = tube(7, normals)
                .displace(0.2, distance, |_, _, uv| 0.3 * uv.x + 0.1 * (40.0 * uv.y).sin())
                .unwrap();
            assert_eq!(
                (open_edges(&rough), rough.triangles().len()),
                (ends, flat.triangles().len())
            );
            assert!(
                ends < 200 && flat.triangles().len() > 200,
                "{ends} {}",
                flat.triangles().len()
            );
        }
    }

    #[test]
    fn results_do_not_depend_on_threads() {
        let displaced = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let height = |p: Vec3, _, uv: Vec2| 0.2 * p.z * (30.0 * uv.x).sin();
            let mesh = pool.install(|| tube(9, false).displace(0.02, distance, height));
            format!("{:?}", mesh.unwrap())
        };
        assert_eq!(displaced(1), displaced(3));
    }

    #[test]
    fn meshes_that_cannot_be_displaced_are_errors() {
        let flat = |mesh: DisplacedMesh, max: f32| mesh.displace(max, distance, |_, _, _| 0.0);
        let no_uvs = DisplacedMesh { uvs: vec![], ..square() };
        assert_eq!(flat(no_uvs, 1.0).err(), Some(DisplacementError::NoTextureCoordinates));
        for max_length in [1e-6, 0.0] {
            let max_triangles = MAX_TRIANGLES;
            let error = flat(square(), max_length).err();
            assert_eq!(error, Some(DisplacementError::TooMany { max_length, max_triangles }));
        }
        // Long triangles of a small area.
        let thin = || {
            let mut mesh = square();
            mesh.positions.iter_mut().for_each(|p| *p *= vec3(1e3, 1e-3, 1.0));
            mesh
        };
        let within = |max| thin().displace_within(max, 1.0, distance, |_, _, _| 0.0);
        assert_eq!(
            within(1000).err(),
            Some(DisplacementError::TooMany { max_length: 1.0, max_triangles: 1000 })
        );
        assert!((50_000..200_000).contains(&within(200_000).unwrap().triangles().len()));
        let error = square().displace(0.5, distance, |p, _, _| 1.0 / p.x).unwrap_err();
        assert!(matches!(error, DisplacementError::Mesh(MeshError::NotFinite { .. })), "{error}");
    }
}
