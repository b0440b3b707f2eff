//! The room of the benchmarks of rays: a Cornell box, with or without its blocks.

use lightbound::geometry::{Geometry, Mesh, Primitive, Shape};
use lightbound_math::{Vec3, vec3};

/// Height of the lamp, a square with sides of 0.5 around the y axis.
pub const LAMP_Y: f32 = 1.98;

/// Returns a scene of meshes.
pub fn scene(meshes: Vec<Mesh>) -> Geometry {
    let primitive = |mesh| Primitive {
        shape: Shape::Mesh(mesh),
        material: 0,
        first_light: None,
        alpha: None,
        flip: false,
        media: None,
    };
    let primitives: Vec<_> = meshes.into_iter().map(primitive).collect();
    Geometry { world: 0..primitives.len() as u32, primitives, ..Geometry::default() }
}

fn quads(corners: &[[Vec3; 4]]) -> Mesh {
    let triangles = (0..corners.len() as u32)
        .flat_map(|i| [[4 * i, 4 * i + 1, 4 * i + 2], [4 * i, 4 * i + 2, 4 * i + 3]]);
    Mesh::new(corners.concat(), triangles.collect(), Vec::new(), Vec::new())
        .expect("the quads form a valid mesh")
}

/// Returns the floor, ceiling and three walls of the box [−1, 1] × [0, 2] × [−1, 1], and a lamp.
pub fn room() -> Vec<Mesh> {
    let quad = |p: Vec3, u: Vec3, v: Vec3| [p, p + u, p + u + v, p + v];
    let (x, y, z) = (2.0 * Vec3::X, 2.0 * Vec3::Y, 2.0 * Vec3::Z);
    let p = vec3(-1.0, 0.0, -1.0);
    let walls = [quad(p, z, x), quad(p + y, x, z), quad(p, x, y), quad(p, y, z), quad(p + x, z, y)];
    let lamp = quad(vec3(-0.25, LAMP_Y, -0.25), 0.25 * x, 0.25 * z);
    walls.into_iter().chain([lamp]).map(|q| quads(&[q])).collect()
}

/// Returns the room with the two blocks of the Cornell box.
pub fn cornell() -> Geometry {
    let block = |center: Vec3, size: Vec3, angle: f32| {
        let (s, c) = angle.sin_cos();
        let corner = |i: usize| {
            let pick = |axis: usize| if i >> axis & 1 == 0 { -0.5 } else { 0.5 };
            let p = vec3(pick(0), pick(1), pick(2)) * size;
            center + vec3(c * p.x + s * p.z, p.y, c * p.z - s * p.x)
        };
        let faces =
            [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
        quads(&faces.map(|face| face.map(corner)))
    };
    let mut meshes = room();
    meshes.push(block(vec3(-0.35, 0.6, -0.3), vec3(0.6, 1.2, 0.6), 0.3));
    meshes.push(block(vec3(0.35, 0.3, 0.3), vec3(0.6, 0.6, 0.6), -0.3));
    scene(meshes)
}
