//! All acceleration structures agree with brute force.
//!
//! Brute force intersects all elements of all primitives in all instances. Rounding decides which
//! of two coincident surfaces a ray hits, and whether it hits a grazed edge. The tests tolerate
//! such differences only where they can occur.

mod shapes;

use self::shapes::{
    Random, instanced_geometry, mesh, mixed_shapes, moving_vertices, primitive, sphere_mesh,
    transform, triangle_soup, world,
};
use glam::{DAffine3, DVec3};
use lightbound::accel::{Accel, AccelKind, build};
use lightbound::geometry::{
    DisplacedMesh, DisplacedSurface, Geometry, Hit, Implicit, Instance, Mesh, Motion, Shape,
    VertexMotion,
};
use lightbound_math::{Aabb, Ray, Transform, Vec3, vec3};
use lightbound_shader::{Settings, Shader};
use std::sync::Arc;

/// Finds the nearest hit by brute force; returns it with the distance to the next one.
fn brute_force(geometry: &Geometry, ray: &Ray) -> (Hit, f32) {
    let (mut nearest, mut distances) = (Hit::MISS, Vec::new());
    let mut intersect = |primitives: std::ops::Range<u32>, ray: &Ray, instance: u32| {
        for primitive in primitives {
            let shape = &geometry.primitives[primitive as usize].shape;
            for element in 0..shape.len() {
                let mut remaining = *ray;
                while let Some(hit) = shape.intersect(element, &remaining) {
                    if hit.t > ray.tmin
                        && geometry.passes_alpha_test(ray, primitive, element, hit.coordinates())
                    {
                        distances.push(hit.t);
                        if hit.t < nearest.t {
                            nearest = Hit {
                                t: hit.t,
                                u: hit.u,
                                v: hit.v,
                                w: hit.w,
                                primitive,
                                element,
                                instance,
                                time: ray.time,
                            };
                        }
                        break;
                    }
                    remaining.tmin = hit.t.next_up();
                }
            }
        }
    };
    intersect(geometry.world.clone(), ray, Hit::NONE);
    for (index, instance) in (0..).zip(&geometry.instances) {
        let inverse = geometry.instance_transform(index, ray.time).inverse();
        let local = Ray { o: inverse.point(ray.o), d: inverse.vector(ray.d), ..*ray };
        intersect(geometry.groups[instance.group as usize].clone(), &local, index);
    }
    distances.sort_by(f32::total_cmp);
    let gap = distances.get(1).map_or(f32::INFINITY, |next| next - nearest.t);
    (nearest, gap)
}

/// Builds all acceleration structures.
fn build_all(geometry: &Arc<Geometry>) -> Vec<Box<dyn Accel>> {
    let kinds = [AccelKind::Builtin, AccelKind::Embree].into_iter();
    kinds
        .filter(|kind| kind.is_available())
        .map(|kind| build(kind, geometry.clone()).unwrap())
        .collect()
}

fn close(a: f32, b: f32) -> bool {
    (a - b).abs() <= 1e-4 * (1.0 + a.abs().max(b.abs()))
}

/// Asserts that small batches, of other rays and of similar ones, have the results of a large one.
fn assert_small_batches_agree(accel: &dyn Accel, rays: &[Ray], large: (&[Hit], &[bool])) {
    let (mut hits, mut occluded) = (Vec::new(), Vec::new());
    for size in [1, 5, 6, 7, 15, 16, 17] {
        for first in (0..rays.len().saturating_sub(size)).step_by(97) {
            let consecutive: Vec<usize> = (first..first + size).collect();
            // Up to three different rays, so that the rays of a class are enough for packets.
            let similar: Vec<usize> = (0..size).map(|k| first + k * k % 3).collect();
            for indices in [consecutive, similar] {
                let batch: Vec<Ray> = indices.iter().map(|&i| rays[i]).collect();
                accel.intersect_batch(&batch, &mut hits);
                accel.occluded_batch(&batch, &mut occluded);
                let expected: Vec<Hit> = indices.iter().map(|&i| large.0[i]).collect();
                assert_eq!(hits, expected, "{}, {size} rays from {first}", accel.name());
                let expected: Vec<bool> = indices.iter().map(|&i| large.1[i]).collect();
                assert_eq!(occluded, expected, "{}, {size} rays from {first}", accel.name());
            }
        }
    }
}

/// Compares all queries of all structures with brute force. One ray in 1000 may differ, because it
/// grazes an edge.
fn assert_agrees_with_brute_force(name: &str, geometry: Geometry, rays: &[Ray]) {
    let geometry = Arc::new(geometry);
    let expected: Vec<_> = rays.iter().map(|ray| brute_force(&geometry, ray)).collect();
    assert!(
        expected.iter().filter(|(hit, _)| !hit.is_miss()).count() > rays.len() / 20,
        "{name}: too few rays hit a surface"
    );
    for accel in build_all(&geometry) {
        let (mut batch, mut occluded) = (Vec::new(), Vec::new());
        accel.intersect_batch(rays, &mut batch);
        accel.occluded_batch(rays, &mut occluded);
        assert_eq!((batch.len(), occluded.len()), (rays.len(), rays.len()));
        assert_small_batches_agree(&*accel, rays, (&batch, &occluded));
        for (i, ray) in rays.iter().enumerate() {
            assert_eq!(
                (batch[i], occluded[i]),
                (accel.intersect(ray), accel.occluded(ray)),
                "{name}, {}: {ray:?}",
                accel.name()
            );
        }
        let mut differing = 0;
        for (i, (ray, (hit, gap))) in rays.iter().zip(&expected).enumerate() {
            for found in [accel.intersect(ray), batch[i]] {
                let identity = |h: &Hit| (h.primitive, h.element, h.instance);
                let same_location = identity(&found) == identity(hit)
                    && (found.u - hit.u).abs().max((found.v - hit.v).abs()) < 1e-2;
                let same = hit.is_miss() && found.is_miss()
                    || close(found.t, hit.t) && (same_location || *gap < 1e-3);
                if !same {
                    differing += 1;
                    eprintln!(
                        "{name}, {}, {ray:?}: found {found:?}, expected {hit:?}",
                        accel.name()
                    );
                }
            }
            for found in [accel.occluded(ray), occluded[i]] {
                differing += usize::from(found == hit.is_miss());
            }
        }
        assert!(
            differing <= rays.len() / 1000,
            "{name}: {} differs {differing} times",
            accel.name()
        );
    }
}

#[test]
fn random_triangles_agree() {
    let mut random = Random::new(1);
    for (n, size) in [(1, 3.0), (3, 2.0), (40, 0.6), (3000, 0.15)] {
        let geometry = world(vec![primitive(triangle_soup(&mut random, n, size), None)]);
        assert_agrees_with_brute_force(
            &format!("{n} triangles"),
            geometry,
            &random.rays(3000, 1.5),
        );
    }
}

#[test]
fn coherent_rays_agree() {
    let mut random = Random::new(2);
    let geometry = world(vec![primitive(triangle_soup(&mut random, 2000, 0.2), None)]);
    let rays: Vec<Ray> = (0..4001)
        .map(|_| Ray::new(3.0 * Vec3::Z, 0.4 * random.point_in_cube() - Vec3::Z))
        .collect();
    assert_agrees_with_brute_force("coherent", geometry, &rays);
}

#[test]
fn closed_mesh_agrees() {
    let (positions, triangles) = sphere_mesh(24);
    assert_agrees_with_brute_force(
        "sphere mesh",
        world(vec![primitive(mesh(positions, triangles), None)]),
        &Random::new(4).rays(3000, 1.2),
    );
}

#[test]
fn mixed_shapes_agree() {
    assert_agrees_with_brute_force(
        "mixed",
        world(mixed_shapes(None)),
        &Random::new(5).rays(4000, 1.2),
    );
}

#[test]
fn translucent_shapes_agree() {
    assert_agrees_with_brute_force(
        "half opaque",
        world(mixed_shapes(Some(0.5))),
        &Random::new(6).rays(4000, 1.2),
    );
    let geometry = Arc::new(world(mixed_shapes(Some(0.0))));
    for accel in build_all(&geometry) {
        assert!(
            Random::new(7)
                .rays(500, 1.2)
                .iter()
                .all(|ray| accel.intersect(ray).is_miss() && !accel.occluded(ray))
        );
    }
}

#[test]
fn moving_instances_agree() {
    let map = |scale: f64, angle, x| {
        DAffine3::from_translation(DVec3::new(x, 0.5, 0.0))
            * DAffine3::from_rotation_y(angle)
            * DAffine3::from_scale(DVec3::new(scale, 1.0, 0.7))
    };
    let mut geometry = instanced_geometry(Some(0.8));
    for (group, [start, end]) in [
        (0, [map(1.0, 0.0, -1.0), map(0.5, 2.0, 1.0)]),
        (1, [map(0.3, 0.0, 0.0), map(2.0, 0.0, 0.5)]),
    ] {
        let motion = Motion::new([start, end], [0.0, 1.0], [0.0, 1.0]).unwrap();
        let (transform, index) = (motion.start(), geometry.motions.len() as u32);
        geometry.motions.push(motion);
        geometry.instances.push(Instance { group, transform, first_light: 0, motion: Some(index) });
    }
    let mut random = Random::new(12);
    let mut rays = random.rays(4000, 2.0);
    rays.iter_mut().for_each(|ray| ray.time = random.next());
    assert_agrees_with_brute_force("moving instances", geometry, &rays);
}

#[test]
fn moving_vertices_agree() {
    for alpha in [None, Some(0.5)] {
        let mut random = Random::new(19);
        let mut rays = random.rays(4000, 2.0);
        rays.iter_mut().for_each(|ray| ray.time = random.next());
        assert_agrees_with_brute_force("moving vertices", moving_vertices(alpha), &rays);
    }
}

#[test]
fn instances_agree() {
    assert_agrees_with_brute_force(
        "instances",
        instanced_geometry(None),
        &Random::new(9).rays(4000, 2.0),
    );
    assert_agrees_with_brute_force(
        "half opaque instances",
        instanced_geometry(Some(0.5)),
        &Random::new(10).rays(4000, 2.0),
    );
    let mut geometry = instanced_geometry(None);
    geometry.primitives.remove(0);
    geometry.world = 0..0;
    geometry.groups = geometry.groups.iter().map(|r| r.start - 1..r.end - 1).collect();
    assert_agrees_with_brute_force("only instances", geometry, &Random::new(11).rays(2000, 2.0));
}

#[test]
fn implicit_surfaces_agree() {
    let source = "struct Params { radius: f32 }
        fn field(p: vec3f, m: Params) -> f32 {
            return max(dot(p, p) - m.radius, 0.2 - abs(dot(sin(4.0 * p), cos(4.0 * p.yzx))));
        }";
    let shader = Shader::parse("test.wgsl", source).unwrap();
    let bounds = Aabb { min: -Vec3::ONE, max: Vec3::ONE };
    let map = transform(vec3(1.2, 0.8, 1.0), 0.6, 0.1 * Vec3::X);
    let words = [0.8f32.to_bits()];
    let surface = Implicit::new(&shader, &Settings::default(), &words, bounds, &map).unwrap();
    for alpha in [None, Some(0.5)] {
        let surface = primitive(Shape::Implicit(surface.clone()), alpha);
        let instance = Instance {
            group: 0,
            transform: transform(vec3(0.5, -0.7, 0.6), 2.0, vec3(0.6, -0.9, 0.4)),
            first_light: 0,
            motion: None,
        };
        let group = 1..2;
        let geometry = Geometry {
            primitives: vec![surface.clone(), surface],
            world: 0..1,
            groups: vec![group],
            instances: vec![instance],
            ..Geometry::default()
        };
        let rays = Random::new(13).rays(150, 2.0);
        assert_agrees_with_brute_force("implicit surfaces", geometry, &rays);
    }
}

#[test]
fn displaced_meshes_agree() {
    let source = "fn displace(uv: vec2f, p: vec3f, n: vec3f) -> f32 {
            return 0.1 * sin(9.0 * p.x) * sin(9.0 * p.y) + 0.05 * sin(9.0 * p.z);
        }";
    let shader = Shader::parse_function("test.wgsl", source, "displace").unwrap();
    let (positions, triangles) = sphere_mesh(6);
    let mesh = DisplacedMesh { positions, triangles, ..DisplacedMesh::default() };
    let map = transform(vec3(0.6, 0.4, 0.5), 0.6, 0.1 * Vec3::X);
    let (settings, inputs) = (Settings::default(), (&[][..], vec![]));
    let surface = DisplacedSurface::new(mesh, (&shader, &settings), inputs, 0.02, &map);
    let surface = Shape::Displaced(Arc::new(surface.unwrap()));
    for alpha in [None, Some(0.5)] {
        let surface = primitive(surface.clone(), alpha);
        let instance = Instance {
            group: 0,
            transform: transform(vec3(0.5, -0.7, 0.6), 2.0, vec3(0.6, -0.9, 0.4)),
            first_light: 0,
            motion: None,
        };
        let geometry = Geometry {
            primitives: vec![surface.clone(), surface],
            world: 0..1,
            groups: std::iter::once(1..2).collect(),
            instances: vec![instance],
            ..Geometry::default()
        };
        let rays = Random::new(15).rays(200, 2.0);
        assert_agrees_with_brute_force("displaced meshes", geometry, &rays);
    }
}

#[test]
fn bounds_contain_all_shapes() {
    for accel in build_all(&Arc::new(instanced_geometry(None))) {
        let b = accel.bounds();
        assert!(!b.is_empty());
        for ray in Random::new(12).rays(2000, 2.0) {
            let hit = accel.intersect(&ray);
            let p = ray.at(hit.t);
            assert!(
                hit.is_miss() || (p.cmpge(b.min - 1e-4) & p.cmple(b.max + 1e-4)).all(),
                "{p} outside of {b:?}"
            );
        }
        assert!(accel.memory_bytes() > 0);
    }
}

#[test]
fn no_ray_escapes_a_closed_mesh_with_moving_vertices() {
    let (positions, triangles) = sphere_mesh(20);
    let mut random = Random::new(20);
    let end: Vec<Vec3> =
        positions.iter().map(|&p| 1.5 * p + 0.02 * random.point_in_cube()).collect();
    let motion = VertexMotion::new(end, vec![], [0.0, 1.0], [0.0, 1.0]);
    let motion = Some(Box::new(motion));
    let mesh = Mesh::with_motion(positions, triangles, vec![], vec![], motion).unwrap();
    let mut rays = Vec::new();
    for element in 0..mesh.triangles().len() as u32 {
        let time = random.next();
        let [a, b, c] = mesh.vertices_at(element, time);
        for o in [Vec3::ZERO, 0.1 * random.point_in_cube()] {
            let along = random.next();
            let targets = [a, 0.5 * (a + b), a.lerp(c, along), b.lerp(c, along)];
            rays.extend(targets.map(|target| Ray { time, ..Ray::new(o, target - o) }));
        }
    }
    let mut geometry = world(vec![primitive(Shape::Mesh(mesh), None)]);
    geometry.vertices_move = true;
    for accel in build_all(&Arc::new(geometry)) {
        let (mut hits, mut occluded) = (Vec::new(), Vec::new());
        accel.intersect_batch(&rays, &mut hits);
        accel.occluded_batch(&rays, &mut occluded);
        let escaped = rays.iter().zip(&hits).zip(&occluded).filter(|((ray, hit), occluded)| {
            hit.is_miss() || !**occluded || accel.intersect(ray).is_miss() || !accel.occluded(ray)
        });
        assert_eq!(escaped.count(), 0, "{}", accel.name());
    }
}

#[test]
fn no_ray_escapes_a_closed_mesh() {
    let (positions, triangles) = sphere_mesh(20);
    let corners: Vec<[Vec3; 3]> =
        triangles.iter().map(|t| t.map(|i| positions[i as usize])).collect();
    let mut random = Random::new(13);
    let mut rays = Vec::new();
    for [a, b, c] in corners {
        for o in
            [Vec3::ZERO, 0.7 * random.point_in_cube().normalize(), 0.1 * random.point_in_cube()]
        {
            let along = random.next();
            let targets = [a, 0.5 * (a + b), a.lerp(c, along), b.lerp(c, along)];
            rays.extend(targets.map(|target| Ray::new(o, target - o)));
        }
    }
    for scale in [1.0, 1e-4, 1e6] {
        let scaled = positions.iter().map(|p| scale * *p).collect();
        let geometry = Arc::new(world(vec![primitive(mesh(scaled, triangles.clone()), None)]));
        let rays: Vec<Ray> = rays.iter().map(|ray| Ray { o: scale * ray.o, ..*ray }).collect();
        for accel in build_all(&geometry) {
            let (mut hits, mut occluded) = (Vec::new(), Vec::new());
            accel.intersect_batch(&rays, &mut hits);
            accel.occluded_batch(&rays, &mut occluded);
            let escaped = |&i: &usize| {
                let ray = &rays[i];
                accel.intersect(ray).is_miss()
                    || hits[i].is_miss()
                    || !accel.occluded(ray)
                    || !occluded[i]
            };
            let (at_vertices, at_edges): (Vec<_>, Vec<_>) =
                (0..rays.len()).filter(escaped).partition(|i| i % 4 == 0);
            // Embree does not guarantee watertightness at vertices.
            let max_at_vertices = if accel.name() == "embree" { rays.len() / 4000 } else { 0 };
            let name = accel.name();
            assert!(
                at_edges.is_empty() && at_vertices.len() <= max_at_vertices,
                "{name}, {scale}: {at_edges:?} {at_vertices:?}"
            );
        }
    }
}

#[test]
fn invalid_rays_miss() {
    let (nan, inf) = (f32::NAN, f32::INFINITY);
    let valid = Ray::new(vec3(0.01, 0.02, -0.03), Vec3::X);
    let invalid = [
        Ray { d: Vec3::ZERO, ..valid },
        Ray { d: -Vec3::ZERO, ..valid },
        Ray { d: vec3(nan, 0.0, 1.0), ..valid },
        Ray { d: vec3(inf, 0.0, 1.0), ..valid },
        Ray { o: vec3(0.0, nan, 1.0), ..valid },
        Ray { o: vec3(0.0, -inf, 1.0), ..valid },
        Ray { tmin: nan, ..valid },
        Ray { tmax: nan, ..valid },
        Ray { tmin: 1.0, tmax: 0.5, ..valid },
        Ray { tmax: -1.0, ..valid },
        Ray { tmin: inf, ..valid },
    ];
    let (positions, triangles) = sphere_mesh(6);
    let mut geometry = instanced_geometry(None);
    geometry.primitives[0] = primitive(mesh(positions, triangles), None);
    // Invalid rays must not change the results of valid rays in the same batch.
    let rays: Vec<Ray> = invalid.iter().flat_map(|ray| [valid, *ray, valid]).collect();
    for accel in build_all(&Arc::new(geometry)) {
        for ray in &invalid {
            assert!(
                accel.intersect(ray).is_miss() && !accel.occluded(ray),
                "{}: {ray:?}",
                accel.name()
            );
        }
        let (mut hits, mut occluded) = (Vec::new(), Vec::new());
        accel.intersect_batch(&rays, &mut hits);
        accel.occluded_batch(&rays, &mut occluded);
        for (i, ray) in rays.iter().enumerate() {
            assert_eq!(
                (hits[i].is_miss(), occluded[i]),
                (i % 3 == 1, i % 3 != 1),
                "{}: {ray:?}",
                accel.name()
            );
        }
        // These queries are valid; any result is fine, but they must return.
        for d in [vec3(1e-42, 0.0, 0.0), vec3(3e38, 3e38, 1.0), vec3(1e-30, 1e30, 0.0)] {
            accel.intersect(&Ray { d, ..valid });
            accel.occluded(&Ray { o: 1e30 * Vec3::ONE, d, ..valid });
        }
    }
}

#[test]
fn empty_and_degenerate_geometry_is_missed() {
    let huge = vec![vec3(1e30, 0.0, 0.0), vec3(0.0, 1e30, 0.0), vec3(0.0, 0.0, 1e30)];
    let collinear = vec![Vec3::ZERO, Vec3::X, 2.0 * Vec3::X];
    let empty_instance =
        Instance { group: 0, transform: Transform::IDENTITY, first_light: 0, motion: None };
    let cases = [
        Geometry::default(),
        world(vec![primitive(mesh(Vec::new(), Vec::new()), None)]),
        world(vec![primitive(mesh(collinear, vec![[0, 1, 2], [0, 0, 1], [1, 1, 1]]), None)]),
        world(vec![primitive(mesh(huge, vec![[0, 1, 2]]), None)]),
        Geometry {
            groups: std::iter::once(0..0).collect(),
            instances: vec![empty_instance],
            ..Geometry::default()
        },
    ];
    for geometry in cases {
        for accel in build_all(&Arc::new(geometry)) {
            assert!(accel.bounds().is_empty(), "{}: {:?}", accel.name(), accel.bounds());
            let rays = Random::new(15).rays(100, 1.0);
            let mut hits = Vec::new();
            accel.intersect_batch(&rays, &mut hits);
            assert!(hits.iter().all(Hit::is_miss) && rays.iter().all(|ray| !accel.occluded(ray)));
            accel.intersect_batch(&[], &mut hits);
            assert!(hits.is_empty());
        }
    }
}

#[test]
fn segments_include_their_start_but_not_their_end() {
    let wall = mesh(
        vec![vec3(-1.0, -1.0, 2.0), vec3(3.0, -1.0, 2.0), vec3(-1.0, 3.0, 2.0)],
        vec![[0, 1, 2]],
    );
    for accel in build_all(&Arc::new(world(vec![primitive(wall, None)]))) {
        // On some CPUs, t from Embree has an error of one or two ulps.
        let tolerance = if accel.name() == "embree" { 1e-6 } else { 0.0 };
        for (tmin, tmax, is_hit) in [
            (0.0, 2.0 - tolerance, false),
            (0.0, 2.01, true),
            (2.0 - tolerance, 3.0, true),
            (2.01, 3.0, false),
        ] {
            let ray = Ray { tmin, tmax, ..Ray::new(Vec3::ZERO, Vec3::Z) };
            assert_eq!(
                (!accel.intersect(&ray).is_miss(), accel.occluded(&ray)),
                (is_hit, is_hit),
                "{}: {ray:?}",
                accel.name()
            );
        }
    }
}

#[test]
fn hits_do_not_depend_on_thread_count() {
    let mut random = Random::new(16);
    // Each triangle occurs twice. The first of two equal hits wins.
    let shape = triangle_soup(&mut random, 500, 0.3);
    let geometry = Arc::new(world(vec![primitive(shape.clone(), None), primitive(shape, None)]));
    let rays = random.rays(2000, 1.2);
    let hits = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let accel = pool.install(|| build(AccelKind::Builtin, geometry.clone()).unwrap());
        rays.iter().map(|ray| accel.intersect(ray)).collect::<Vec<_>>()
    };
    let single = hits(1);
    assert!(single.iter().all(|hit| hit.is_miss() || hit.primitive == 0));
    assert_eq!(single, hits(3));
}

#[test]
fn subnormal_numbers_are_not_flushed() {
    for accel in build_all(&Arc::new(instanced_geometry(None))) {
        accel.intersect_batch(&Random::new(17).rays(100, 1.0), &mut Vec::new());
        assert!(
            std::hint::black_box(1e-40f32) * std::hint::black_box(0.5) > 0.0,
            "{} sets the flush-to-zero mode",
            accel.name()
        );
    }
}
