//! Hits are compared with closed forms, and with evaluations of the float field along the ray.

use super::field::Bounder;
use super::search::first_root;
use super::*;
use crate::geometry::Hit;
use crate::geometry::testing::skewed;
use glam::dvec3;
use lightbound_math::sampling::{hash, unit_float};
use lightbound_math::vec3;

const BOX: Aabb = Aabb { min: Vec3::splat(-2.0), max: Vec3::splat(2.0) };

fn implicit_in(source: &str, parameters: &[f32], bounds: Aabb, transform: &Transform) -> Implicit {
    let shader = Shader::parse("test.wgsl", source).unwrap_or_else(|error| panic!("{error}"));
    let words: Vec<_> = parameters.iter().map(|x| x.to_bits()).collect();
    Implicit::new(&shader, &Settings::default(), &words, bounds, transform)
        .unwrap_or_else(|error| panic!("{error}"))
}

fn implicit(expression: &str) -> Implicit {
    let source = format!("fn field(p: vec3f) -> f32 {{ return {expression}; }}");
    implicit_in(&source, &[], BOX, &Transform::IDENTITY)
}

/// The nearest root of all cells, with its element.
fn nearest(shape: &Implicit, ray: &Ray) -> Option<(u32, LocalRay, Root)> {
    let roots = (0..shape.len()).filter_map(|element| {
        let (local, root) = shape.root(element, ray)?;
        Some((element, local, root))
    });
    roots.min_by(|a, b| a.2.s.total_cmp(&b.2.s))
}

fn random(i: u32, k: u32) -> f32 {
    2.0 * unit_float(hash(hash(7, i), k)) - 1.0
}

fn random_ray(i: u32) -> Ray {
    let v = |k| vec3(random(i, k), random(i, k + 1), random(i, k + 2));
    // Half of the rays pass near the centre, where the smallest surface is.
    let (o, target) = (5.0 * v(0), if i.is_multiple_of(2) { 1.5 } else { 0.5 } * v(3));
    Ray::new(o, (target - o).normalize())
}

const SPHERE: &str = "dot(p, p) - 2.25";
const TORUS: &str = "pow(abs(dot(p, p) + 1.0 - 0.16), 2.0) - 4.0 * (p.x * p.x + p.y * p.y)";
const QUARTIC: &str = "p.x * p.x * p.x * p.x + p.y * p.y * p.y * p.y + p.z * p.z * p.z * p.z - 1.5";
const STEINER: &str =
    "p.x * p.x * p.y * p.y + p.y * p.y * p.z * p.z + p.z * p.z * p.x * p.x + p.x * p.y * p.z";

/// Fields with the same in double precision.
type Algebraic = (&'static str, fn(DVec3) -> f64);

const ALGEBRAIC: [Algebraic; 4] = [
    (SPHERE, |p| p.length_squared() - 2.25),
    (TORUS, |p| (p.length_squared() + 1.0 - 0.16).powi(2) - 4.0 * (p.x * p.x + p.y * p.y)),
    (QUARTIC, |p| p.x.powi(4) + p.y.powi(4) + p.z.powi(4) - 1.5),
    (STEINER, |p| {
        let q = p * p;
        q.x * q.y + q.y * q.z + q.z * q.x + p.x * p.y * p.z
    }),
];

/// The first root of a field along a ray within the box, found by dense sampling and bisection in
/// double precision.
fn first_root_by_sampling(field: fn(DVec3) -> f64, ray: &Ray) -> Option<f64> {
    let (o, d) = (ray.o.as_dvec3(), ray.d.as_dvec3());
    let [a, b] = [BOX.min, BOX.max].map(|corner| (corner.as_dvec3() - o) / d);
    let (enter, exit) = (a.min(b).max_element().max(0.0), a.max(b).min_element());
    if enter > exit {
        return None;
    }
    const STEPS: u32 = 4000;
    let at = |k: u32| enter + (exit - enter) * f64::from(k) / f64::from(STEPS);
    let value = |t: f64| field(o + t * d);
    let step = (0..STEPS).find(|&k| (value(at(k)) < 0.0) != (value(at(k + 1)) < 0.0))?;
    let (mut low, mut high) = (at(step), at(step + 1));
    let is_negative = value(low) < 0.0;
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if (value(middle) < 0.0) == is_negative { low = middle } else { high = middle }
    }
    Some(low)
}

#[test]
fn hits_match_roots_of_polynomials() {
    for (expression, field) in ALGEBRAIC {
        let shape = implicit(expression);
        let (mut hits, mut differing) = (0, 0);
        for i in 0..400 {
            let ray = random_ray(i);
            let found = nearest(&shape, &ray).map(|(_, local, root)| f64::from(local.t(root.s)));
            let expected = first_root_by_sampling(field, &ray);
            match (found, expected) {
                (Some(found), Some(expected)) if (found - expected).abs() < 1e-4 => hits += 1,
                (None, None) => {}
                // Rays that almost touch the surface.
                _ => differing += 1,
            }
        }
        assert!(hits > 60 && differing <= 4, "{expression}: {hits} hits, {differing} differ");
    }
}

/// Checks that the field changes sign between the float of a hit and the next one, and not before:
/// at the floats before it, and at samples from the start of the ray.
#[test]
fn hits_are_the_first_change_of_sign_between_floats() {
    for (expression, _) in ALGEBRAIC {
        let shape = implicit(expression);
        let (mut exact, mut touching) = (0, 0);
        for i in 0..300 {
            let Some((_, local, root)) = nearest(&shape, &random_ray(i)) else { continue };
            if !root.is_exact {
                touching += 1;
                continue;
            }
            exact += 1;
            const FLOATS: u32 = 3000;
            let first = root.s.to_bits().saturating_sub(FLOATS);
            let near = (first..=root.s.to_bits() + 1).map(f32::from_bits);
            let far = (0..1000).map(|k| root.s * (k as f32 / 1000.0));
            let parameters: Vec<f32> = far.chain(near).collect();
            let points: Vec<_> = parameters.iter().map(|&s| local.at(s)).collect();
            let mut values = vec![0.0; points.len()];
            shape.field.values(&points, &mut values);
            let (last, before) = values.split_last().unwrap();
            let is_negative = before[0] < 0.0;
            assert_ne!(*last < 0.0, is_negative, "{expression}, ray {i}: no change of sign");
            let earlier = before.iter().position(|&x| (x < 0.0) != is_negative);
            assert_eq!(earlier, None, "{expression}, ray {i}: an earlier change of sign");
        }
        assert!(exact > 50 && touching <= exact / 20, "{expression}: {exact}, {touching}");
    }
}

#[test]
fn empty_cells_have_one_sign() {
    for (expression, field) in ALGEBRAIC {
        let shape = implicit(expression);
        let is_in_cell = |p: Vec3| {
            (0..shape.len()).any(|element| {
                let Aabb { min, max } = shape.field.cells[element as usize].bounds;
                min.cmple(p).all() && max.cmpge(p).all()
            })
        };
        assert!(shape.len() > 500, "{expression}: {} cells", shape.len());
        let volume: f64 = (shape.field.cells.iter())
            .map(|cell| f64::from((cell.bounds.max - cell.bounds.min).element_product()))
            .sum();
        assert!(volume < 0.15 * 64.0, "{expression}: cells fill {volume}");
        for i in 0..300 {
            // A point of the surface lies in a cell.
            let ray = random_ray(1000 + i);
            let Some(t) = first_root_by_sampling(field, &ray) else { continue };
            assert!(is_in_cell(ray.at(t as f32)), "{expression}, ray {i}");
        }
    }
}

#[test]
fn double_roots_touch() {
    // The square of a sphere never changes sign.
    let shape = implicit("(dot(p, p) - 2.25) * (dot(p, p) - 2.25)");
    let mut hits = 0;
    for i in 0..40 {
        let ray = random_ray(i);
        let expected = first_root_by_sampling(|p| p.length_squared() - 2.25, &ray);
        let found = nearest(&shape, &ray);
        if let (Some(expected), Some((_, local, root))) = (expected, found) {
            assert!((f64::from(local.t(root.s)) - expected).abs() < 5e-3, "ray {i}");
            hits += 1;
        }
    }
    assert!(hits > 10, "{hits}");
}

#[test]
fn touching_hits_are_counted_apart() {
    let count = |expression: &str| {
        let shape = implicit(expression);
        let mut touching = 0;
        for i in 0..60 {
            for element in 0..shape.len() {
                let ray = random_ray(i);
                touching +=
                    u64::from(shape.root(element, &ray).is_some_and(|(_, root)| !root.is_exact));
                shape.intersect(element, &ray);
            }
        }
        assert_eq!(shape.touching_hits(), touching, "{expression}");
        touching
    };
    assert_eq!(count(SPHERE), 0);
    assert!(count("(dot(p, p) - 2.25) * (dot(p, p) - 2.25)") > 10);
}

#[test]
fn arguments_with_facts_are_errors() {
    let source = "fn field(/** fact: sorted */ p: vec3f) -> f32 { return p.x; }";
    let shader = Shader::parse("test.wgsl", source).unwrap();
    let implicit = Implicit::new(&shader, &Settings::default(), &[], BOX, &Transform::IDENTITY);
    let error = implicit.unwrap_err().to_string();
    assert_eq!(error, "the argument `p` of `field` cannot be declared `fact: sorted`");
}

#[test]
fn surfaces_with_a_transform_are_on_their_rays() {
    let source = "struct Params { radius: f32 }
        fn field(p: vec3f, m: Params) -> f32 { return length(p) - m.radius; }";
    let map = skewed();
    let shape = implicit_in(source, &[1.5], BOX, &map);
    let mut hits = 0;
    for i in 0..300 {
        let local = random_ray(i);
        let ray = Ray::new(map.point(local.o), map.vector(local.d));
        let Some(hit) = (0..shape.len())
            .filter_map(|element| Some((element, shape.intersect(element, &ray)?)))
            .min_by(|a, b| a.1.t.total_cmp(&b.1.t))
        else {
            continue;
        };
        let (element, hit) = hit;
        hits += 1;
        let at = shape.point(element, hit.coordinates().into(), ray.d);
        assert!((at.p - ray.at(hit.t)).length() < 1e-4);
        let p = DVec3::new(hit.u.into(), hit.v.into(), hit.w.into());
        assert!((p.length() - 1.5).abs() < 1e-5);
        // The gradient of the distance is radial.
        let expected = map.normal(p.as_vec3()).normalize();
        assert!((at.ng - expected).length() < 1e-4, "{} is not {expected}", at.ng);
        assert!(at.ng.dot(at.dpdu).abs() < 1e-4);
        // Rays that leave the offset point outwards do not return to the convex surface.
        let offset = at.clearance + 32.0 * f32::EPSILON * at.extent;
        let outside = at.p + offset * at.ng;
        let tangent = at.dpdu.normalize_or(Vec3::X);
        for d in [at.ng, (tangent + 0.01 * at.ng).normalize(), -tangent + 0.001 * at.ng] {
            let ray = Ray::new(outside, d);
            assert!(nearest(&shape, &ray).is_none(), "ray {i} along {d}");
        }
    }
    assert!(hits > 100, "{hits}");
}

#[test]
fn roots_outside_the_segment_are_not_hits() {
    let shape = implicit(SPHERE);
    let ray = Ray::new(vec3(0.1, 0.2, -5.0), Vec3::Z);
    let hit = |ray: &Ray| nearest(&shape, ray).map(|(_, local, root)| local.t(root.s));
    let [near, far] = [hit(&ray), hit(&Ray { tmin: 4.0, ..ray })].map(Option::unwrap);
    assert!((3.5..3.6).contains(&near) && (6.4..6.5).contains(&far));
    assert_eq!(hit(&Ray { tmax: near, ..ray }), None);
    assert_eq!(hit(&Ray { tmax: near.next_up(), ..ray }), Some(near));
    assert_eq!(hit(&Ray { tmin: near, ..ray }), Some(near));
    assert_eq!(hit(&Ray { tmin: far.next_up().next_up(), ..ray }), None);
    assert_eq!(hit(&Ray { tmin: near.next_up().next_up(), tmax: far, ..ray }), None);
}

#[test]
fn hits_do_not_depend_on_the_end_of_the_segment() {
    let shape = implicit(TORUS);
    for i in 0..60 {
        let ray = random_ray(i);
        let (o, d) = shape.object_transform.local_ray(&ray);
        let Some(local) = LocalRay::new(o, d, shape.field.bounds) else { continue };
        for cell in &shape.field.cells {
            let root = |tmax| first_root(&shape.field, cell, &local, [0.0, tmax]);
            if let Some(found) = root(f32::INFINITY) {
                assert_eq!(root(local.t(found.s).next_up()), Some(found));
                assert_eq!(root(local.t(found.s)), None);
            }
        }
    }
}

#[test]
fn unusable_shaders_are_errors() {
    let error = |source: &str| {
        let shader = Shader::parse("test.wgsl", source).unwrap_or_else(|error| panic!("{error}"));
        Implicit::new(&shader, &Settings::default(), &[], BOX, &Transform::IDENTITY)
            .map(|_| ())
            .unwrap_err()
            .to_string()
    };
    let density = "fn density(p: vec3f) -> f32 { return p.x; }";
    assert!(error(density).contains("no `fn field(p: vec3f, m: Params) -> f32`"));
    let texture = "@group(0) @binding(0) var image: texture_2d<f32>;
        fn field(p: vec3f) -> f32 { return textureLoad(image, vec2i(0), 0).x - p.x; }";
    assert!(error(texture).contains("reads the texture `image`"));
}

/// Bounds over boxes contain the float field and its gradient.
#[test]
fn bounds_contain_fields_and_gradients() {
    let gyroid = "dot(sin(3.0 * p), cos(3.0 * p.yzx)) - 0.2";
    let blob = "min(length(p) - 1.0, max(abs(p.x), abs(p.y - 0.5)) - 0.4) + 0.05 * sin(9.0 * p.z)";
    for expression in [SPHERE, TORUS, QUARTIC, STEINER, gyroid, blob] {
        let shape = implicit(expression);
        let mut bounder = Bounder::new(&shape.field, 1);
        for i in 0..300 {
            let v = |k| vec3(random(i, k), random(i, k + 1), random(i, k + 2));
            let size = (-6.0 - 6.0 * random(i, 9)).exp2();
            let min = 1.9 * v(0);
            let b = Aabb { min, max: (min + size * (v(3) + 1.0)).min(BOX.max) };
            let bounds = bounder.bound_one(&shape.field, b);
            for k in 0..20 {
                let unit =
                    0.5 + 0.5 * vec3(random(i, 20 + k), random(i, 50 + k), random(i, 80 + k));
                let p = (b.min + (b.max - b.min) * unit).clamp(b.min, b.max);
                let mut value = [0.0];
                shape.field.values(&[p], &mut value);
                let [low, high] = bounds.value;
                assert!(low <= value[0] && value[0] <= high, "{expression} at {p}");
                for (x, [low, high]) in
                    std::iter::zip(shape.field.gradient(p).to_array(), bounds.gradient())
                {
                    assert!(low <= x && x <= high, "gradient of {expression} at {p}");
                }
            }
        }
    }
}

#[test]
fn gradients_are_those_of_the_field() {
    for (expression, field) in ALGEBRAIC {
        let shape = implicit(expression);
        for i in 0..50 {
            let p = vec3(random(i, 0), random(i, 1), random(i, 2));
            let gradient = shape.field.gradient(p).as_dvec3();
            let step = 1e-5;
            let difference = |axis: DVec3| {
                let p = p.as_dvec3();
                (field(p + step * axis) - field(p - step * axis)) / (2.0 * step)
            };
            let expected = dvec3(difference(DVec3::X), difference(DVec3::Y), difference(DVec3::Z));
            assert!((gradient - expected).length() < 1e-4 * (1.0 + expected.length()));
        }
    }
}

/// A field with its parameters and the size of its box, and the origin and direction of a ray.
type Tie = (&'static str, &'static [f32], f32, [f32; 3], [f32; 3]);

/// Rays along which two cells have a change of sign at the same ray parameter, for different s:
/// those of 83 million rays for which the second one was the hit.
const TIES: [Tie; 4] = [
    (
        include_str!("../../../../../scenes/implicit/csg.wgsl"),
        &[1.25, 0.42, 0.8],
        1.0,
        [-0.066182, 3.5172102, -1.9039053],
        [0.25323787, -0.859348, 0.44428778],
    ),
    (
        include_str!("../../../../../scenes/implicit/kummer.wgsl"),
        &[],
        1.7,
        [-1.0845346, -3.9126537, 5.4548078],
        [0.18375975, 0.62392384, -0.7595732],
    ),
    (
        include_str!("../../../../../scenes/implicit/steiner.wgsl"),
        &[],
        0.5,
        [1.4371492, -1.2696627, 0.56794286],
        [-0.8141287, 0.53293055, -0.2306068],
    ),
    (
        include_str!("../../../../../scenes/implicit/steiner.wgsl"),
        &[],
        0.5,
        [0.7169005, 1.440978, 1.1872809],
        [-0.53081644, -0.5805493, -0.61741096],
    ),
];

#[test]
fn zeros_with_one_ray_parameter_are_one_hit() {
    for (source, parameters, size, o, d) in TIES {
        let bounds = Aabb { min: Vec3::splat(-size), max: Vec3::splat(size) };
        let shape = implicit_in(source, parameters, bounds, &Transform::IDENTITY);
        let ray = Ray::new(o.into(), d.into());
        let mut roots: Vec<_> =
            (0..shape.len()).filter_map(|element| shape.root(element, &ray)).collect();
        roots.sort_by(|a, b| a.1.s.total_cmp(&b.1.s));
        let [(local, first), (_, second), ..] = &roots[..] else { panic!("two roots") };
        assert!(first.s < second.s && local.t(first.s) == local.t(second.s));
        // An acceleration structure may return either.
        for element in 0..shape.len() {
            let Some(hit) = shape.intersect(element, &ray) else { continue };
            let ShapeHit { t, u, v, w } = hit;
            let hit = Hit { t, u, v, w, primitive: 0, element, ..Hit::MISS };
            let is_first = t == local.t(first.s);
            assert_eq!(shape.check(&hit, &ray, 64, 0.5) == RootCheck::Exact, is_first);
        }
    }
}
