//! Tangents of meshes without `TANGENT`, as glTF 2.0 §3.7.2.1 asks for: those of normal maps that were
//! made with MikkTSpace (Mikkelsen, *Simulation of Wrinkled Surfaces Revisited*, 2008).
//!
//! The tangent of a vertex is the mean of the directions of u on its triangles, in the tangent plane
//! of the vertex, weighted by their angles there. Triangles count if the vertex has the same
//! position, normal and texture coordinates in them, and these have the same orientation.

use crate::mesh::Triangles;
use glam::{DVec2, DVec3, DVec4};
use std::collections::HashMap;

/// A vertex with its orientation: bits of position, normal and texture coordinates.
type Key = ([u64; 8], bool);

/// Computes the tangents of a mesh with texture coordinates. Flat faces get vertices of their own,
/// and so does each orientation of texture coordinates.
pub(crate) fn add_tangents(mesh: &mut Triangles) {
    let is_flat = mesh.normals.is_empty();
    if is_flat {
        mesh.separate();
    }
    let orientations: Vec<f64> = mesh.triangles.iter().map(|&t| orientation(mesh, t)).collect();
    mesh.split(&orientations.iter().map(|&det| det < 0.0).collect::<Vec<_>>());
    let mut sums: HashMap<Key, DVec3> = HashMap::new();
    let mut corners: Vec<Option<Key>> = vec![None; mesh.positions.len()];
    for (triangle, &det) in std::iter::zip(&mesh.triangles, &orientations) {
        let indices = triangle.map(|index| index as usize);
        let p = indices.map(|i| mesh.positions[i]);
        let uv = indices.map(|i| mesh.uvs[i]);
        let (e1, e2) = (p[1] - p[0], p[2] - p[0]);
        let (d1, d2) = (uv[1] - uv[0], uv[2] - uv[0]);
        let along_u = (e1 * d2.y - e2 * d1.y) * det.signum();
        let face = e1.cross(e2).normalize_or_zero();
        for k in 0..3 {
            let n = if is_flat { face } else { mesh.normals[indices[k]].normalize_or_zero() };
            let project = |v: DVec3| (v - n * n.dot(v)).normalize_or_zero();
            let edges = [1, 2].map(|step| project(p[(k + step) % 3] - p[k]));
            let angle = libm::acos(edges[0].dot(edges[1]).clamp(-1.0, 1.0));
            let key = (bits(p[k], n, uv[k]), det < 0.0);
            corners[indices[k]] = Some(key);
            if det != 0.0 {
                *sums.entry(key).or_default() += angle * project(along_u);
            }
        }
    }
    let tangent = |key: &Option<Key>| {
        let Some(key) = key else { return DVec4::W };
        let sum = sums.get(key).copied().unwrap_or_default();
        sum.normalize_or_zero().extend(if key.1 { -1.0 } else { 1.0 })
    };
    mesh.tangents = corners.iter().map(tangent).collect();
}

/// Returns twice the signed area of a triangle in texture coordinates; 0 if its tangents are
/// undefined.
fn orientation(mesh: &Triangles, triangle: [u32; 3]) -> f64 {
    let [a, b, c] = triangle.map(|index| mesh.uvs[index as usize]);
    let det = (b - a).perp_dot(c - a);
    if det.is_finite() { det } else { 0.0 }
}

/// Returns the bits of a vertex, where −0 is 0.
fn bits(p: DVec3, n: DVec3, uv: DVec2) -> [u64; 8] {
    [p.x, p.y, p.z, n.x, n.y, n.z, uv.x, uv.y].map(|x| (x + 0.0).to_bits())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A strip of two squares from x = −1 to 1 that meet at x = 0, where texture coordinates are
    /// mirrored: u = |x|.
    fn mirrored_strip(normals: bool) -> Triangles {
        let positions: Vec<DVec3> = [-1.0, 0.0, 1.0]
            .iter()
            .flat_map(|&x| [0.0, 1.0].map(|y| DVec3::new(x, y, 0.0)))
            .collect();
        Triangles {
            normals: if normals { vec![DVec3::Z; 6] } else { vec![] },
            uvs: positions.iter().map(|p| DVec2::new(p.x.abs(), p.y)).collect(),
            colours: positions.iter().map(|p| [p.x.abs() as f32, 0.0, 0.0, 1.0]).collect(),
            positions,
            triangles: vec![[0, 2, 3], [0, 3, 1], [2, 4, 5], [2, 5, 3]],
            ..Triangles::default()
        }
    }

    #[test]
    fn mirrored_coordinates_have_bitangents_along_v() {
        for normals in [true, false] {
            let mut mesh = mirrored_strip(normals);
            add_tangents(&mut mesh);
            let vertices = if normals { 8 } else { 12 };
            assert_eq!((mesh.positions.len(), mesh.tangents.len()), (vertices, vertices));
            assert_eq!((mesh.uvs.len(), mesh.colours.len()), (vertices, vertices));
            for (k, triangle) in mesh.triangles.iter().enumerate() {
                for index in triangle.map(|index| index as usize) {
                    let side = if k < 2 { -1.0 } else { 1.0 };
                    let tangent = mesh.tangents[index];
                    assert_eq!(tangent, DVec4::new(side, 0.0, 0.0, side));
                    assert_eq!(tangent.w * DVec3::Z.cross(tangent.truncate()), DVec3::Y);
                    assert_eq!(mesh.uvs[index].x, mesh.positions[index].x.abs());
                    assert_eq!(mesh.colours[index][0], mesh.uvs[index].x as f32);
                }
            }
        }
    }

    #[test]
    fn tangents_are_means_over_vertices_with_equal_attributes() {
        // A roof with its ridge along y. On both sides, u is along x.
        let positions = vec![
            DVec3::new(-1.0, 0.0, 0.0),
            DVec3::new(0.0, 0.0, 1.0),
            DVec3::new(0.0, 1.0, 1.0),
            DVec3::new(1.0, 0.0, 0.0),
        ];
        let mut mesh = Triangles {
            normals: vec![DVec3::Z; 4],
            uvs: positions.iter().map(|p| DVec2::new(p.x, p.y)).collect(),
            positions,
            triangles: vec![[0, 1, 2], [1, 3, 2]],
            ..Triangles::default()
        };
        let mut separate = mesh.clone();
        separate.separate();
        add_tangents(&mut mesh);
        add_tangents(&mut separate);
        assert_eq!(mesh.tangents, [DVec4::new(1.0, 0.0, 0.0, 1.0); 4]);
        // Triangles with vertices of their own are welded.
        assert_eq!(separate.tangents, [DVec4::new(1.0, 0.0, 0.0, 1.0); 6]);
        let mut without = mirrored_strip(true);
        without.uvs.fill(DVec2::ONE);
        add_tangents(&mut without);
        assert!(without.tangents.iter().all(|t| t.truncate() == DVec3::ZERO));
    }
}
