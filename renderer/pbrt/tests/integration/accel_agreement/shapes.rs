//! Random shapes and rays for the comparison of acceleration structures.

use glam::{DAffine3, DVec3};
use lightbound::geometry::{
    BilinearMesh, CurveBasis, CurveKind, CurveStyle, Curves, Disk, Geometry, Instance, Mesh,
    Motion, Primitive, Shape, Sphere, VertexMotion,
};
use lightbound::texture::Param;
use lightbound_math::sampling::{hash, unit_float};
use lightbound_math::{Ray, Transform, Vec3, vec3};

/// A generator of pseudorandom numbers.
pub struct Random {
    seed: u32,
    count: u32,
}

impl Random {
    pub fn new(seed: u32) -> Random {
        Random { seed, count: 0 }
    }

    pub fn next(&mut self) -> f32 {
        self.count += 1;
        unit_float(hash(hash(0, self.seed), self.count))
    }

    /// Returns a uniformly distributed point in [−1, 1]³.
    pub fn point_in_cube(&mut self) -> Vec3 {
        2.0 * vec3(self.next(), self.next(), self.next()) - 1.0
    }

    /// Returns segments, axis-aligned rays, normalized rays with a minimum distance, and others,
    /// between points in a cube.
    pub fn rays(&mut self, n: usize, extent: f32) -> Vec<Ray> {
        (0..n)
            .map(|i| {
                let (o, target) = (extent * self.point_in_cube(), extent * self.point_in_cube());
                match i % 4 {
                    0 => Ray::segment(o, target),
                    1 => Ray::new(o, [Vec3::X, -Vec3::Y, Vec3::Z][i / 4 % 3]),
                    2 => Ray { tmin: 0.1 * extent, ..Ray::new(o, (target - o).normalize()) },
                    _ => Ray::new(o, target - o),
                }
            })
            .collect()
    }
}

pub fn primitive(shape: Shape, alpha: Option<f32>) -> Primitive {
    let alpha = alpha.map(Param::from_float);
    Primitive { shape, material: 0, first_light: None, alpha, flip: false, media: None }
}

pub fn world(primitives: Vec<Primitive>) -> Geometry {
    Geometry { world: 0..primitives.len() as u32, primitives, ..Geometry::default() }
}

pub fn mesh(positions: Vec<Vec3>, triangles: Vec<[u32; 3]>) -> Shape {
    Shape::Mesh(Mesh::new(positions, triangles, Vec::new(), Vec::new()).unwrap())
}

/// Returns `n` random triangles.
pub fn triangle_soup(random: &mut Random, n: u32, size: f32) -> Shape {
    let corners = |random: &mut Random| {
        let p = random.point_in_cube();
        [p, p + size * random.point_in_cube(), p + size * random.point_in_cube()]
    };
    let positions = (0..n).flat_map(|_| corners(random)).collect();
    mesh(positions, (0..n).map(|i| [3 * i, 3 * i + 1, 3 * i + 2]).collect())
}

/// Returns a closed unit sphere of triangles, in `n` rings of `2 n` sectors.
pub fn sphere_mesh(n: u32) -> (Vec<Vec3>, Vec<[u32; 3]>) {
    let m = 2 * n;
    let mut positions = vec![Vec3::Y, -Vec3::Y];
    for i in 1..n {
        let (sin, cos) = (i as f32 / n as f32 * std::f32::consts::PI).sin_cos();
        positions.extend((0..m).map(|j| {
            let (s, c) = (j as f32 / m as f32 * std::f32::consts::TAU).sin_cos();
            vec3(sin * c, cos, sin * s)
        }));
    }
    let at = |i: u32, j: u32| 2 + (i - 1) * m + j % m;
    let mut triangles = Vec::new();
    for j in 0..m {
        triangles.push([0, at(1, j + 1), at(1, j)]);
        triangles.push([1, at(n - 1, j), at(n - 1, j + 1)]);
        for i in 1..n - 1 {
            triangles.push([at(i, j), at(i, j + 1), at(i + 1, j)]);
            triangles.push([at(i, j + 1), at(i + 1, j + 1), at(i + 1, j)]);
        }
    }
    (positions, triangles)
}

pub fn transform(scale: Vec3, angle: f32, translation: Vec3) -> Transform {
    let rotation =
        glam::DQuat::from_axis_angle(glam::DVec3::new(1.0, 2.0, 2.0) / 3.0, angle.into());
    let map = glam::DAffine3::from_scale_rotation_translation(
        scale.as_dvec3(),
        rotation,
        translation.as_dvec3(),
    );
    Transform::new(map).unwrap()
}

/// Returns two curves across the cube.
pub fn curves(kind: CurveKind, basis: CurveBasis, transform: &Transform) -> Shape {
    let style = CurveStyle { kind, basis, degree: 3, split_depth: 3 };
    let mut curves = Curves::new(style);
    for k in [-1.0, 1.0] {
        let points = [
            vec3(-1.0, 0.2 * k, 0.0),
            vec3(-0.3, 1.5 * k, 0.5),
            vec3(0.3, -1.5, -0.5 * k),
            vec3(1.0, 0.4, k),
        ];
        curves.add(&points, &[Vec3::Z, vec3(0.0, 1.0, k)], [0.3, 0.1]).unwrap();
    }
    Shape::Curves(curves.transformed(transform))
}

/// Returns a primitive of each type of shape.
pub fn mixed_shapes(alpha: Option<f32>) -> Vec<Primitive> {
    let corners = vec![
        vec3(-1.0, -0.5, -1.0),
        vec3(1.0, -0.8, -1.0),
        vec3(-1.0, -0.8, 1.0),
        vec3(1.0, -0.2, 1.0),
    ];
    let patch = BilinearMesh::new(corners, vec![[0, 1, 2, 3]], Vec::new(), Vec::new()).unwrap();
    let full_sphere =
        Sphere::new(&transform(Vec3::ONE, 0.0, vec3(0.3, 0.2, 0.1)), 0.4, -0.4, 0.4, 360.0)
            .unwrap();
    let partial_sphere =
        Sphere::new(&transform(vec3(1.0, 2.0, 0.5), 0.7, -0.4 * Vec3::X), 0.3, -0.2, 0.3, 250.0)
            .unwrap();
    let disk = Disk::new(&transform(Vec3::ONE, 1.0, 0.5 * Vec3::Y), 0.1, 0.6, 0.2, 300.0).unwrap();
    let triangles = triangle_soup(&mut Random::new(3), 50, 0.3);
    let shapes = [
        triangles,
        Shape::Bilinear(patch),
        Shape::Sphere(full_sphere),
        Shape::Sphere(partial_sphere),
        Shape::Disk(disk),
        curves(CurveKind::Flat, CurveBasis::Bezier, &Transform::IDENTITY),
        curves(CurveKind::Cylinder, CurveBasis::BSpline, &transform(Vec3::ONE, 0.5, Vec3::ZERO)),
        curves(
            CurveKind::Ribbon,
            CurveBasis::Bezier,
            &transform(vec3(1.0, 0.6, 1.3), 2.0, Vec3::ZERO),
        ),
    ];
    shapes.map(|shape| primitive(shape, alpha)).into()
}

/// Returns two groups with non-uniformly scaled and mirrored instances, an instance of an empty
/// group, and shapes outside of instances.
pub fn instanced_geometry(alpha: Option<f32>) -> Geometry {
    let mut primitives = vec![primitive(triangle_soup(&mut Random::new(8), 30, 0.5), None)];
    primitives.extend(mixed_shapes(alpha));
    let (positions, triangles) = sphere_mesh(8);
    primitives.push(primitive(mesh(positions, triangles), alpha));
    let instance = |group, scale, angle, translation| Instance {
        group,
        first_light: 0,
        transform: transform(scale, angle, translation),
        motion: None,
    };
    let instances = vec![
        instance(0, vec3(1.0, 1.0, 1.0), 0.0, vec3(-1.5, 0.0, 0.0)),
        instance(0, vec3(0.5, 2.0, 1.0), 0.6, vec3(1.5, 0.0, 0.0)),
        instance(1, vec3(-1.0, 0.4, 0.7), 1.1, vec3(0.0, 1.5, 0.0)),
        instance(0, vec3(-0.7, -0.8, -0.9), 2.0, vec3(0.0, 0.0, 1.5)),
        instance(1, vec3(0.3, 0.3, 0.3), 0.2, vec3(0.0, -1.0, -1.0)),
        instance(2, vec3(1.0, 1.0, 1.0), 0.0, Vec3::ZERO),
    ];
    let n = primitives.len() as u32;
    let groups = vec![1..n - 1, n - 1..n, n..n];
    Geometry { primitives, world: 0..1, groups, instances, ..Geometry::default() }
}

/// Returns meshes of triangles and patches whose vertices move, in the world and in a group with an
/// instance that moves, too.
pub fn moving_vertices(alpha: Option<f32>) -> Geometry {
    let mut random = Random::new(18);
    let mut motion = |n: usize| {
        let mut points = |scale: f32| -> Vec<Vec3> {
            let mut p = Vec3::ZERO;
            let step = |i| {
                p = if i % 4 == 0 { random.point_in_cube() } else { p };
                p + scale * random.point_in_cube()
            };
            (0..4 * n).map(step).collect()
        };
        let (start, end) = (points(0.5), points(0.3));
        (start, Some(Box::new(VertexMotion::new(end, vec![], [0.0, 1.0], [0.0, 1.0]))))
    };
    let ((p, vertex_motion), triangles) = (motion(40), (0..158).map(|i| [i, i + 1, i + 2]));
    let mesh = Mesh::with_motion(p, triangles.collect(), vec![], vec![], vertex_motion).unwrap();
    let ((p, vertex_motion), patches) =
        (motion(8), (0..8).map(|i| [0, 1, 2, 3].map(|k| 4 * i + k)));
    let patches =
        BilinearMesh::with_motion(p, patches.collect(), vec![], vec![], vertex_motion).unwrap();
    let mut geometry = instanced_geometry(alpha);
    geometry.primitives.extend([
        primitive(Shape::Mesh(mesh.clone()), alpha),
        primitive(Shape::Bilinear(patches.clone()), alpha),
    ]);
    geometry.primitives.splice(
        0..0,
        [Shape::Mesh(mesh), Shape::Bilinear(patches)].map(|shape| primitive(shape, alpha)),
    );
    geometry.world.end += 2;
    geometry.groups = geometry.groups.iter().map(|group| group.start + 2..group.end + 2).collect();
    let n = geometry.primitives.len() as u32;
    geometry.groups.push(n - 2..n);
    let group = geometry.groups.len() as u32 - 1;
    let map = |x, angle| {
        DAffine3::from_translation(DVec3::new(x, 0.3, 0.0)) * DAffine3::from_rotation_x(angle)
    };
    let still = Instance {
        group,
        transform: transform(vec3(0.5, -1.0, 1.0), 0.3, Vec3::X),
        first_light: 0,
        motion: None,
    };
    let motion = Motion::new([map(-1.5, 0.0), map(0.5, 1.0)], [0.0, 1.0], [0.0, 1.0]).unwrap();
    let (start, index) = (motion.start(), geometry.motions.len() as u32);
    geometry.motions.push(motion);
    geometry.instances.push(still);
    geometry.instances.push(Instance { transform: start, motion: Some(index), ..still });
    geometry.vertices_move = true;
    geometry
}
