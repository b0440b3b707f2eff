//! Rays against displaced surfaces are compared with those against all micro-triangles as a mesh.

use super::*;
use crate::geometry::testing::skewed;
use crate::geometry::{Shape, ShapeHit, subdivide_loop};
use lightbound_math::sampling::{hash, unit_float};
use lightbound_math::{Ray, vec3};

const BUMPS: &str = "struct Params { height: f32, frequency: f32 }
    fn displace(uv: vec2f, p: vec3f, n: vec3f, m: Params) -> f32 {
        let q = m.frequency * p;
        return m.height * sin(q.x) * sin(q.y) * cos(q.z) + 0.02 * uv.x;
    }";

fn random(i: u32, k: u32) -> f32 {
    2.0 * unit_float(hash(hash(3, i), k)) - 1.0
}

fn random_vector(i: u32, k: u32) -> Vec3 {
    vec3(random(i, k), random(i, k + 1), random(i, k + 2))
}

/// An octahedron whose vertices have no normals, or unshared ones with different normals and
/// texture coordinates for each face. Edges along z are longer.
fn octahedron(has_seams: bool) -> DisplacedMesh {
    let positions = vec![Vec3::X, -Vec3::X, Vec3::Y, -Vec3::Y, 1.7 * Vec3::Z, -1.7 * Vec3::Z];
    let mut triangles = vec![];
    for (z, flip) in [(4, false), (5, true)] {
        for (a, b) in [(0, 2), (2, 1), (1, 3), (3, 0)] {
            triangles.push(if flip { [b, a, z] } else { [a, b, z] });
        }
    }
    let mesh = DisplacedMesh { positions, triangles, ..DisplacedMesh::default() };
    if !has_seams {
        return mesh;
    }
    let mut split = DisplacedMesh::default();
    for (k, triangle) in mesh.triangles.iter().enumerate() {
        let p = triangle.map(|v| mesh.positions[v as usize]);
        let normal = (p[1] - p[0]).cross(p[2] - p[0]).normalize();
        let first = split.positions.len() as u32;
        split.positions.extend(p);
        split.normals.extend([normal, (normal + p[1]).normalize(), normal]);
        split.uvs.extend([0, 1, 2].map(|v| vec2(random(k as u32, v), random(k as u32, v + 5))));
        split.triangles.push([first, first + 1, first + 2]);
    }
    split
}

fn try_displace(
    source: &str,
    parameters: &[f32],
    mesh: DisplacedMesh,
    edge_length: f32,
    transform: &Transform,
) -> Result<DisplacedSurface, ShaderDisplacementError> {
    let shader = Shader::parse_function("test.wgsl", source, "displace")
        .unwrap_or_else(|error| panic!("{error}"));
    let words: Vec<_> = parameters.iter().map(|x| x.to_bits()).collect();
    let settings = Settings::default();
    let shader = (&shader, &settings);
    DisplacedSurface::new(mesh, shader, (&words, vec![]), edge_length, transform)
}

fn displace(mesh: DisplacedMesh, edge_length: f32, transform: &Transform) -> DisplacedSurface {
    try_displace(BUMPS, &[0.12, 9.0], mesh, edge_length, transform).unwrap()
}

/// The nearest hit of all elements, with its element.
fn nearest(shape: &Shape, ray: &Ray) -> Option<(u32, ShapeHit)> {
    let hits = (0..shape.len()).filter_map(|e| Some((e, shape.intersect(e, ray)?)));
    hits.min_by(|a, b| a.1.t.total_cmp(&b.1.t))
}

/// Returns the edges that only one micro-triangle has. Those that collapse to a point count for
/// none.
fn open_edges(mesh: &Mesh) -> usize {
    let mut edges = rustc_hash::FxHashMap::default();
    for element in 0..mesh.triangles().len() as u32 {
        let bits = mesh.vertices(element).map(|p| (p + Vec3::ZERO).to_array().map(f32::to_bits));
        for k in 0..3 {
            let [a, b] = [bits[k], bits[(k + 1) % 3]];
            *edges.entry([a.min(b), a.max(b)]).or_insert(0) += a.cmp(&b) as i32;
        }
    }
    edges.values().filter(|&&count| count != 0).count()
}

#[test]
fn closed_meshes_stay_closed() {
    for has_seams in [false, true] {
        for edge_length in [3.0, 0.9, 0.11, 0.047] {
            let surface = displace(octahedron(has_seams), edge_length, &skewed());
            let mesh = surface.tessellate().unwrap();
            assert_eq!(open_edges(&mesh), 0, "{edge_length}, seams: {has_seams}");
            let count = (mesh.triangles().len() + mesh.degenerate_triangles()) as u64;
            assert_eq!(count, surface.micro_triangles());
        }
    }
}

#[test]
fn rays_from_inside_never_escape() {
    for has_seams in [false, true] {
        let surface = displace(octahedron(has_seams), 0.06, &Transform::IDENTITY);
        let shape = Shape::Displaced(Arc::new(surface));
        for i in 0..2000 {
            // Half of the rays pass through a vertex or an edge of the base mesh.
            let target = match i % 4 {
                0 => random_vector(i, 0),
                1 => vec3(random(i, 0), 1.0 - random(i, 0).abs(), 0.0),
                2 => Vec3::X,
                _ => vec3(0.0, 1.0 - unit_float(hash(i, 1)), 1.7 * unit_float(hash(i, 1))),
            };
            let o = if i % 8 < 4 { Vec3::ZERO } else { 0.2 * random_vector(i, 3) };
            assert!(nearest(&shape, &Ray::new(o, target - o)).is_some(), "ray {i}");
        }
    }
}

#[test]
fn hits_are_those_of_all_micro_triangles() {
    // The last one has nodes of several levels.
    for (edge_length, transform) in
        [(0.3, Transform::IDENTITY), (0.06, skewed()), (0.012, Transform::IDENTITY)]
    {
        let surface = Arc::new(displace(octahedron(true), edge_length, &transform));
        let mesh = surface.tessellate().unwrap();
        let (displaced, tessellated) = (Shape::Displaced(surface), Shape::Mesh(mesh));
        let (mut hits, rays) = (0, if edge_length > 0.1 { 400 } else { 100 });
        for i in 0..rays {
            let (o, target) = (3.0 * random_vector(i, 0), random_vector(i, 3));
            let ray = Ray::new(transform.point(o), transform.vector(target - o));
            let found = nearest(&displaced, &ray);
            let expected = nearest(&tessellated, &ray);
            let coordinates = |hit: Option<(u32, ShapeHit)>| hit.map(|(_, h)| [h.t, h.u, h.v]);
            assert_eq!(coordinates(found), coordinates(expected), "ray {i}");
            let Some((element, hit)) = found else { continue };
            hits += 1;
            let at = displaced.point(element, hit.coordinates(), ray.d, 0.0);
            let of_mesh = tessellated.point(expected.unwrap().0, [hit.u, hit.v, 0.0], ray.d, 0.0);
            // Mirroring changes the winding of the mesh, which does not know.
            let winding = if transform.swaps_handedness() { -1.0 } else { 1.0 };
            assert_eq!((at.p, at.ng), (of_mesh.p, winding * of_mesh.ng));
            assert!(at.ns.dot(at.ng) > 0.0 && (at.ns.length() - 1.0).abs() < 1e-5);
            assert!(displaced.aabb(element).min.cmple(at.p + 1e-5).all());
            assert_eq!(displaced.intersect(element, &Ray { tmax: hit.t, ..ray }), None);
            let again = Ray { tmin: hit.t, tmax: hit.t.next_up(), ..ray };
            assert_eq!(displaced.intersect(element, &again), Some(hit));
        }
        assert!(hits > rays / 4, "{hits}");
    }
}

#[test]
fn boxes_contain_all_vertices() {
    let functions = [
        BUMPS,
        // Steps, a loop, and a displacement that is no multiple of the normal.
        "struct Params { height: f32, frequency: f32 }
        fn displace(uv: vec2f, p: vec3f, n: vec3f, m: Params) -> vec3f {
            var q = m.frequency * p.xy;
            var sum = 0.0;
            for (var i = 0; i < 4; i++) {
                sum = 0.5 * sum + fract(q.x) * floor(q.y) / (1.0 + abs(q.y));
                q = vec2f(1.6 * q.x + 1.2 * q.y, 1.6 * q.y - 1.2 * q.x);
            }
            return m.height * (sum * n + vec3f(0.3 * sin(q.x), uv));
        }",
        // Without finite bounds on large boxes.
        "struct Params { height: f32, frequency: f32 }
        fn displace(uv: vec2f, p: vec3f, n: vec3f, m: Params) -> f32 {
            return m.height * p.x / (p.x * p.x - p.x * p.x + p.y * p.y + 0.3);
        }",
    ];
    for source in functions {
        for (has_seams, edge_length) in [(false, 0.3), (true, 0.05), (false, 0.02)] {
            let mesh = octahedron(has_seams);
            let surface = try_displace(source, &[0.2, 5.0], mesh, edge_length, &skewed()).unwrap();
            for element in 0..surface.len() {
                let (triangle, node) = surface.locate(element);
                let mut nodes = vec![node];
                while let Some(node) = nodes.pop() {
                    let b = surface.node_boxes(triangle, &[node])[0];
                    let element_box = surface.aabb(element);
                    if node.level() <= DICED_LEVEL {
                        surface.with_vertices(triangle, node, |vertices| {
                            for (k, &p) in vertices.iter().enumerate() {
                                let inside = |b: Aabb| b.min.cmple(p).all() && b.max.cmpge(p).all();
                                assert!(inside(b), "vertex {k} of {node:?}: {p} is not in {b:?}");
                                assert!(inside(element_box), "vertex {k} of {node:?}");
                            }
                        });
                    } else {
                        nodes.extend((0..4).map(|k| node.descendant(k, 1)));
                    }
                }
            }
        }
    }
}

#[test]
fn boxes_are_tight() {
    let surface = displace(octahedron(false), 0.02, &Transform::IDENTITY);
    let boxes = surface.boxes.iter().map(|b| (b.max - b.min).length());
    let mean = boxes.sum::<f32>() / surface.boxes.len() as f32;
    // Elements have 32 edges of 1.4/128 or 2/128 along each side.
    assert!(mean < 1.0, "{mean}");
}

#[test]
fn smooth_normals_are_those_of_the_displaced_surface() {
    // A flat square becomes part of a paraboloid.
    let uvs = vec![vec2(0.0, 0.0), vec2(1.0, 0.0), vec2(1.0, 1.0), vec2(0.0, 1.0)];
    let mesh = DisplacedMesh {
        positions: uvs.iter().map(|uv| uv.extend(0.0)).collect(),
        normals: vec![],
        uvs,
        triangles: vec![[0, 1, 2], [0, 2, 3]],
    };
    let source = "fn displace(uv: vec2f, p: vec3f, n: vec3f) -> f32 { return dot(uv, uv); }";
    let map = skewed();
    let surface = try_displace(source, &[], mesh, 0.1, &map).unwrap();
    let shape = Shape::Displaced(Arc::new(surface));
    for i in 0..200 {
        let at = vec2(unit_float(hash(i, 0)), unit_float(hash(i, 1)));
        let ray = Ray::new(map.point(at.extend(5.0)), map.vector(-Vec3::Z));
        let (element, hit) = nearest(&shape, &ray).expect("the ray hits the square");
        let point = shape.point(element, hit.coordinates(), ray.d, 0.0);
        assert!((point.uv - at).length() < 1e-3, "{} is not {at}", point.uv);
        let expected = map.normal(vec3(-2.0 * at.x, -2.0 * at.y, 1.0)).normalize();
        assert!((point.ns - expected).length() < 2e-3, "{} is not {expected}", point.ns);
        assert!(point.dpdu.dot(point.ng).abs() < 1e-4);
    }
}

#[test]
fn normals_of_the_mesh_determine_the_front() {
    let mut mesh = octahedron(true);
    let front = displace(mesh.clone(), 0.1, &Transform::IDENTITY);
    mesh.normals.iter_mut().for_each(|n| *n = -*n);
    // Reversed normals and heights give the same surface.
    let back = try_displace(
        &BUMPS.replace("return", "return -(").replace("uv.x;", "uv.x);"),
        &[0.12, 9.0],
        mesh,
        0.1,
        &Transform::IDENTITY,
    );
    let (front, back) = (Arc::new(front), Arc::new(back.unwrap()));
    let (front, back) = (Shape::Displaced(front), Shape::Displaced(back));
    let ray = Ray::new(vec3(0.2, 0.3, 5.0), -Vec3::Z);
    let [front, back] = [front, back].map(|shape| {
        let (element, hit) = nearest(&shape, &ray).unwrap();
        shape.point(element, hit.coordinates(), ray.d, 0.0)
    });
    assert!((front.p - back.p).length() < 1e-5 && (front.ns + back.ns).length() < 1e-3);
}

#[test]
fn subdivision_surfaces_can_be_displaced() {
    let mesh = octahedron(false);
    let smooth = subdivide_loop(mesh.positions, mesh.triangles, 2).unwrap();
    let mesh = DisplacedMesh {
        positions: smooth.positions().to_vec(),
        normals: smooth.normals().to_vec(),
        uvs: vec![],
        triangles: smooth.triangles().to_vec(),
    };
    let surface = displace(mesh, 0.03, &Transform::IDENTITY);
    assert_eq!(open_edges(&surface.tessellate().unwrap()), 0);
}

#[test]
fn results_do_not_depend_on_threads() {
    let hits = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let surface = displace(octahedron(true), 0.03, &Transform::IDENTITY);
            let shape = Shape::Displaced(Arc::new(surface));
            let rays = (0..200u32).into_par_iter();
            let hits: Vec<_> = rays
                .map(|i| {
                    let o = 3.0 * random_vector(i, 0);
                    nearest(&shape, &Ray::new(o, random_vector(i, 3) - o))
                })
                .collect();
            format!("{hits:?} {:?}", (0..shape.len()).map(|e| shape.aabb(e)).collect::<Vec<_>>())
        })
    };
    assert_eq!(hits(1), hits(3));
}

#[test]
fn stopped_loops_and_holes_are_noted() {
    let surface = |body: &str| {
        let source = format!("fn displace(uv: vec2f, p: vec3f, n: vec3f) -> f32 {{\n{body} }}");
        try_displace(&source, &[], octahedron(false), 0.05, &Transform::IDENTITY).unwrap()
    };
    let whole = surface("return 0.1 * sin(9.0 * p.x);");
    whole.tessellate().unwrap();
    assert_eq!((whole.stopped_loops(), whole.not_finite()), (None, None));
    let endless =
        surface("var x = 0.0; loop { x += 0.1; if p.x < 0.2 && x > 1.0 { break; } }\nreturn 0.1;");
    endless.tessellate().unwrap();
    let stopped = endless.stopped_loops().expect("it never ends for some vertices");
    assert!(stopped.evaluations > 0 && stopped.location == "test.wgsl:2", "{stopped:?}");
    // No vertices of the mesh are there, and bounds are those of all other values.
    let hole = surface("return select(0.1, sqrt(-p.x), p.x > 0.21 && p.x < 0.28);");
    let _ = hole.tessellate();
    let NotFinite { file, p, .. } = hole.not_finite().expect("a square root of a negative number");
    assert!(file == "test.wgsl" && p.x > 0.2 && p.x < 0.29, "{p}");
}

#[test]
fn meshes_that_cannot_be_displaced_are_errors() {
    let error = |source: &str, edge_length: f32| {
        try_displace(source, &[], octahedron(false), edge_length, &Transform::IDENTITY)
            .map(|_| ())
            .unwrap_err()
            .to_string()
    };
    let two = "fn displace(uv: vec2f, p: vec3f) -> f32 { return p.x; }";
    assert!(error(two, 1.0).contains("`fn displace` has other arguments"));
    let two = "fn displace(uv: vec2f, p: vec3f, n: vec3f) -> vec2f { return uv; }";
    assert!(error(two, 1.0).contains("`fn displace` has other arguments, or another result"));
    let flat = "fn displace(uv: vec2f, p: vec3f, n: vec3f) -> f32 { return 0.0; }";
    for edge_length in [1e-9, 1e-5] {
        assert!(error(flat, edge_length).contains("too many triangles"));
    }
    // Infinite at one vertex, and between vertices.
    let corner = "fn displace(uv: vec2f, p: vec3f, n: vec3f) -> f32 { return 1.0 / (p.x - 1.0); }";
    assert!(error(corner, 0.1).contains("the displacement at (1, 0, 0), uv = (0, 0), is not"));
    let inside = "fn displace(uv: vec2f, p: vec3f, n: vec3f) -> f32 { return 1.0 / (p.x - 0.5); }";
    assert!(error(inside, 0.1).contains("the displacement at (0.5, "), "{}", error(inside, 0.1));
}
