//! Prototypes of the structure of a path tracer, on one thread: wavefronts of several sizes, and
//! megakernels with 16 lanes that keep their paths from vertex to vertex.
//!
//! `cargo bench -p lightbound-benches --bench path_structure`, with Embree if it is found. Paths of
//! up to 6 vertices in a Cornell box of diffuse surfaces, with next-event estimation and MIS. All
//! structures share the arithmetic of a vertex, and compute the same image, bit for bit. They are
//! timed with the rays, and with recorded hits instead of them. The last table compares the arithmetic of
//! next-event estimation as a loop over columns with a shader of the same formulas.

mod room;

use fearless_simd::{Level, Simd, dispatch};
use lightbound::accel::{Accel, AccelKind, build};
use lightbound::geometry::{Geometry, Hit, Shape};
use lightbound_math::sampling::warp::sin_cos_octant;
use lightbound_math::sampling::{hash, unit_float};
use lightbound_math::{COLUMN_LEN, Column, Columns, Frame, Ray, Vec3, vec3};
use lightbound_shader::{Arena, Batch, Entry, Kernel, Settings, Shader, Target, passes};
use std::array;
use std::f32::consts::FRAC_1_PI;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

/// Width and height of the image, pixels.
const SIDE: u32 = 128;

/// Samples per pixel.
const SAMPLES: u32 = 4;

/// Maximum number of vertices of a path.
const MAX_VERTICES: u32 = 6;

/// Number of timed runs. The least time is reported.
const RUNS: usize = 15;

const LAMP_RADIANCE: Vec3 = vec3(17.0, 12.0, 4.0);
const LAMP_AREA: f32 = 0.25;

fn main() {
    let geometry = Arc::new(room::cornell());
    let triangles = triangles(&geometry);
    let kinds: &[AccelKind] = if AccelKind::Embree.is_available() {
        &[AccelKind::Builtin, AccelKind::Embree]
    } else {
        &[AccelKind::Builtin]
    };
    for &kind in kinds {
        let accel = build(kind, geometry.clone()).expect("the structure is built");
        compare_structures(accel.as_ref(), &triangles);
    }
    compare_next_event(&triangles);
}

/// Structures with this name trace single rays instead of batches.
const ONE_BY_ONE: &str = "the same, rays one by one";

/// Prints the time of each structure in ns per vertex.
fn compare_structures(accel: &dyn Accel, triangles: &[Triangle]) {
    const STRUCTURES: [(&str, Structure); 10] = [
        ("wavefront of 16384 paths", Structure::Wavefront(16384)),
        ("wavefront of 4096 paths", Structure::Wavefront(4096)),
        ("wavefront of 1024 paths", Structure::Wavefront(1024)),
        ("wavefront of 256 paths", Structure::Wavefront(256)),
        ("wavefront of 64 paths", Structure::Wavefront(64)),
        ("wavefront of 16 paths", Structure::Wavefront(16)),
        (ONE_BY_ONE, Structure::Wavefront(16)),
        ("megakernel, lanes refilled", Structure::Megakernel { refill: true }),
        (ONE_BY_ONE, Structure::Megakernel { refill: true }),
        ("megakernel, lanes not refilled", Structure::Megakernel { refill: false }),
    ];
    let mut times = vec![[f64::INFINITY; 2]; STRUCTURES.len()];
    let mut recordings: Vec<Recording> = Vec::new();
    let mut image = None;
    for (name, structure) in STRUCTURES {
        let mut recording = Recording::default();
        let radiance =
            render(structure, &mut Recorder { accel, recording: &mut recording }, triangles);
        let expected = image.get_or_insert_with(|| radiance.clone());
        assert!(radiance == *expected, "{name}: another image");
        recordings.push(recording);
    }
    let vertices = recordings[0].hits.iter().filter(|hit| !hit.is_miss()).count();
    // In turns, so that all structures meet the same disturbances.
    for _ in 0..RUNS {
        for (i, (_, structure)) in STRUCTURES.into_iter().enumerate() {
            let start = Instant::now();
            let one_by_one = STRUCTURES[i].0 == ONE_BY_ONE;
            black_box(render(structure, &mut Traced { accel, one_by_one }, triangles));
            times[i][0] = times[i][0].min(start.elapsed().as_secs_f64());
            let start = Instant::now();
            let mut replay = Replay { recording: &recordings[i], hits: 0, blocked: 0 };
            black_box(render(structure, &mut replay, triangles));
            times[i][1] = times[i][1].min(start.elapsed().as_secs_f64());
        }
    }
    println!("{}, {vertices} vertices, ns per vertex", accel.name());
    println!("{:32} {:>8} {:>8} {:>16}", "structure", "total", "rays", "everything else");
    for ((name, _), [total, rest]) in STRUCTURES.into_iter().zip(times) {
        let [total, rest] = [total, rest].map(|t| t * 1e9 / vertices as f64);
        println!("{name:32} {total:8.1} {:8.1} {rest:16.1}", total - rest);
    }
    println!();
}

/// What a vertex needs of a triangle.
#[derive(Clone, Copy)]
struct Triangle {
    p: Vec3,
    edges: [Vec3; 2],
    normal: Vec3,
    albedo: Vec3,
    radiance: Vec3,
}

/// Returns the triangles of all primitives, which have at most 16 each.
fn triangles(geometry: &Geometry) -> Vec<Triangle> {
    let black = Triangle {
        p: Vec3::ZERO,
        edges: [Vec3::ZERO; 2],
        normal: Vec3::Y,
        albedo: Vec3::ZERO,
        radiance: Vec3::ZERO,
    };
    let mut triangles = vec![black; 16 * geometry.primitives.len()];
    for (i, primitive) in geometry.primitives.iter().enumerate() {
        let Shape::Mesh(mesh) = &primitive.shape else { panic!("the room has meshes only") };
        for element in 0..mesh.triangles().len() as u32 {
            let [p, q, r] = mesh.vertices(element);
            // The walls at the left and right are red and green.
            let albedo = match i {
                3 => vec3(0.63, 0.065, 0.05),
                4 => vec3(0.14, 0.45, 0.09),
                _ => Vec3::splat(0.73),
            };
            let is_lamp = p.y == room::LAMP_Y && q.y == room::LAMP_Y && r.y == room::LAMP_Y;
            triangles[16 * i + element as usize] = Triangle {
                p,
                edges: [q - p, r - p],
                normal: (q - p).cross(r - p).normalize(),
                albedo: if is_lamp { Vec3::ZERO } else { albedo },
                radiance: if is_lamp { LAMP_RADIANCE } else { Vec3::ZERO },
            };
        }
    }
    triangles
}

/// Where the results of rays come from.
trait Rays {
    fn intersect(&mut self, rays: &[Ray], hits: &mut Vec<Hit>);
    fn occluded(&mut self, rays: &[Ray], blocked: &mut Vec<bool>);
}

struct Traced<'a> {
    accel: &'a dyn Accel,
    one_by_one: bool,
}

impl Rays for Traced<'_> {
    fn intersect(&mut self, rays: &[Ray], hits: &mut Vec<Hit>) {
        if self.one_by_one {
            hits.clear();
            hits.extend(rays.iter().map(|ray| self.accel.intersect(ray)));
        } else {
            self.accel.intersect_batch(rays, hits);
        }
    }

    fn occluded(&mut self, rays: &[Ray], blocked: &mut Vec<bool>) {
        if self.one_by_one {
            blocked.clear();
            blocked.extend(rays.iter().map(|ray| self.accel.occluded(ray)));
        } else {
            self.accel.occluded_batch(rays, blocked);
        }
    }
}

/// The results of all rays of a render.
#[derive(Default)]
struct Recording {
    hits: Vec<Hit>,
    blocked: Vec<bool>,
}

struct Recorder<'a> {
    accel: &'a dyn Accel,
    recording: &'a mut Recording,
}

impl Rays for Recorder<'_> {
    fn intersect(&mut self, rays: &[Ray], hits: &mut Vec<Hit>) {
        self.accel.intersect_batch(rays, hits);
        self.recording.hits.extend_from_slice(hits);
    }

    fn occluded(&mut self, rays: &[Ray], blocked: &mut Vec<bool>) {
        self.accel.occluded_batch(rays, blocked);
        self.recording.blocked.extend_from_slice(blocked);
    }
}

/// Returns recorded results.
struct Replay<'a> {
    recording: &'a Recording,
    hits: usize,
    blocked: usize,
}

impl Rays for Replay<'_> {
    fn intersect(&mut self, rays: &[Ray], hits: &mut Vec<Hit>) {
        black_box(rays);
        hits.clear();
        hits.extend_from_slice(&self.recording.hits[self.hits..][..rays.len()]);
        self.hits += rays.len();
    }

    fn occluded(&mut self, rays: &[Ray], blocked: &mut Vec<bool>) {
        black_box(rays);
        blocked.clear();
        blocked.extend_from_slice(&self.recording.blocked[self.blocked..][..rays.len()]);
        self.blocked += rays.len();
    }
}

/// The paths of 16 lanes before a vertex.
#[derive(Clone)]
struct Group {
    o: Columns<3>,
    d: Columns<3>,
    throughput: Columns<3>,
    /// Density of the ray's direction, 1/sr; 0 for camera rays.
    pdf: Column,
    sample: [u32; COLUMN_LEN],
    depth: [u32; COLUMN_LEN],
    /// 1 in lanes in use, otherwise 0. Loops over booleans do not become SIMD instructions.
    active: Column,
}

impl Group {
    fn new() -> Group {
        Group {
            o: Columns::ZERO,
            d: Columns::splat([0.0, 0.0, 1.0]),
            throughput: Columns::ZERO,
            pdf: [0.0; COLUMN_LEN],
            sample: [0; COLUMN_LEN],
            depth: [0; COLUMN_LEN],
            active: [0.0; COLUMN_LEN],
        }
    }

    /// Starts the path of a sample.
    fn start(&mut self, lane: usize, sample: u32) {
        let pixel = sample / SAMPLES;
        let [x, y] = [(0, pixel % SIDE), (1, pixel / SIDE)]
            .map(|(dimension, p)| (p as f32 + random(sample, 0, dimension)) / SIDE as f32 - 0.5);
        self.o.set(lane, vec3(0.0, 1.0, 3.5));
        self.d.set(lane, vec3(0.8 * x, -0.8 * y, -1.0).normalize());
        self.throughput.set(lane, Vec3::ONE);
        (self.pdf[lane], self.sample[lane], self.depth[lane]) = (0.0, sample, 0);
        self.active[lane] = 1.0;
    }
}

/// Returns a uniform number in [0, 1).
#[inline(always)]
fn random(sample: u32, depth: u32, dimension: u32) -> f32 {
    unit_float(hash(hash(sample, depth), dimension))
}

/// What happens at the vertices of a group.
struct Vertices {
    /// Emission times throughput and MIS weight.
    emission: Columns<3>,
    /// Contribution of the lamp, if it is visible.
    direct: Columns<3>,
    /// Shadow ray, from 0 to 0.999 of its length.
    shadow_d: Columns<3>,
    is_lit: Column,
    /// Origin of all rays from the vertex.
    o: Columns<3>,
    d: Columns<3>,
    throughput: Columns<3>,
    pdf: Column,
    continues: Column,
}

impl Vertices {
    fn new() -> Vertices {
        Vertices {
            emission: Columns::ZERO,
            direct: Columns::ZERO,
            shadow_d: Columns::ZERO,
            is_lit: [0.0; COLUMN_LEN],
            o: Columns::ZERO,
            d: Columns::ZERO,
            throughput: Columns::ZERO,
            pdf: [0.0; COLUMN_LEN],
            continues: [0.0; COLUMN_LEN],
        }
    }
}

/// The triangles that 16 rays hit.
struct Surfaces {
    p: Columns<3>,
    edges: [Columns<3>; 2],
    normal: Columns<3>,
    albedo: Columns<3>,
    radiance: Columns<3>,
    t: Column,
    uv: Columns<2>,
    is_hit: Column,
}

impl Surfaces {
    fn new() -> Surfaces {
        Surfaces {
            p: Columns::ZERO,
            edges: [Columns::ZERO; 2],
            normal: Columns::ZERO,
            albedo: Columns::ZERO,
            radiance: Columns::ZERO,
            t: [0.0; COLUMN_LEN],
            uv: Columns::ZERO,
            is_hit: [0.0; COLUMN_LEN],
        }
    }

    /// Gathers the triangles of hits, one lane at a time.
    fn gather(&mut self, triangles: &[Triangle], hits: &[Hit]) {
        self.is_hit = [0.0; COLUMN_LEN];
        for (lane, hit) in hits.iter().enumerate() {
            if hit.is_miss() {
                continue;
            }
            let triangle = &triangles[(16 * hit.primitive + hit.element) as usize];
            self.p.set(lane, triangle.p);
            self.edges[0].set(lane, triangle.edges[0]);
            self.edges[1].set(lane, triangle.edges[1]);
            self.normal.set(lane, triangle.normal);
            self.albedo.set(lane, triangle.albedo);
            self.radiance.set(lane, triangle.radiance);
            self.uv.set(lane, [hit.u, hit.v]);
            (self.t[lane], self.is_hit[lane]) = (hit.t, 1.0);
        }
    }
}

/// Shades the vertices of a group.
fn shade(group: &Group, surfaces: &Surfaces, out: &mut Vertices) {
    dispatch!(Level::new(), simd => shade_columns(simd, group, surfaces, out));
}

#[inline(always)]
fn shade_columns<S: Simd>(_: S, group: &Group, surfaces: &Surfaces, out: &mut Vertices) {
    for lane in 0..COLUMN_LEN {
        let active = group.active[lane] * surfaces.is_hit[lane];
        let [u, v] = surfaces.uv.get(lane);
        let (normal, albedo): (Vec3, Vec3) = (surfaces.normal.get(lane), surfaces.albedo.get(lane));
        let (e1, e2): (Vec3, Vec3) = (surfaces.edges[0].get(lane), surfaces.edges[1].get(lane));
        let d: Vec3 = group.d.get(lane);
        let throughput: Vec3 = group.throughput.get(lane);
        let back = normal.dot(d) > 0.0;
        let n = if back { -normal } else { normal };
        let p = surfaces.p.get::<Vec3>(lane) + u * e1 + v * e2 + 1e-4 * n;

        let lamp_pdf = surfaces.t[lane] * surfaces.t[lane] / (LAMP_AREA * -n.dot(d));
        let pdf = group.pdf[lane];
        let weight = pdf / (pdf + lamp_pdf);
        let weight = if pdf > 0.0 { weight } else { 1.0 };
        let weight = if back | (active == 0.0) { 0.0 } else { weight };
        out.emission.set(lane, weight * throughput * surfaces.radiance.get::<Vec3>(lane));

        let (sample, depth) = (group.sample[lane], group.depth[lane] + 1);
        let (u0, u1) = (random(sample, depth, 0), random(sample, depth, 1));
        let (u2, u3) = (random(sample, depth, 2), random(sample, depth, 3));
        let target = vec3(0.5 * u0 - 0.25, room::LAMP_Y, 0.5 * u1 - 0.25);
        let direct = next_event(p, n, throughput * albedo, target);
        out.direct.set(lane, direct);
        out.shadow_d.set(lane, target - p);
        out.is_lit[lane] = if direct.x + direct.y + direct.z > 0.0 { active } else { 0.0 };

        let local = cosine_hemisphere(u2, u3);
        out.o.set(lane, p);
        out.d.set(lane, Frame::from_normal(n).to_world(local));
        out.throughput.set(lane, throughput * albedo);
        out.pdf[lane] = FRAC_1_PI * local.z;
        let is_last = (depth == MAX_VERTICES) | (albedo.x == 0.0);
        out.continues[lane] = if is_last { 0.0 } else { active };
    }
}

/// Samples a direction in proportion to the cosine, without branches.
#[inline(always)]
fn cosine_hemisphere(u: f32, v: f32) -> Vec3 {
    let (a, b) = (2.0 * u - 1.0, 2.0 * v - 1.0);
    let is_x_major = a.abs() > b.abs();
    let (major, minor) = (if is_x_major { a } else { b }, if is_x_major { b } else { a });
    let (sin, cos) = sin_cos_octant(minor / if major == 0.0 { 1.0 } else { major });
    let x = major * if is_x_major { cos } else { sin };
    let y = major * if is_x_major { sin } else { cos };
    vec3(x, y, (1.0 - (x * x + y * y)).max(1e-7).sqrt())
}

/// Returns the light from a point on the lamp that a diffuse surface reflects, times its MIS weight.
#[inline(always)]
fn next_event(p: Vec3, n: Vec3, throughput: Vec3, target: Vec3) -> Vec3 {
    let to_lamp = target - p;
    let distance_squared = to_lamp.dot(to_lamp);
    let wi = to_lamp * (1.0 / distance_squared.sqrt());
    let (cosine, lamp_cosine) = (n.dot(wi), wi.y);
    let lamp_pdf = distance_squared / (LAMP_AREA * lamp_cosine);
    let pdf = FRAC_1_PI * cosine;
    let factor = pdf / (lamp_pdf + pdf);
    let factor = if (cosine > 0.0) & (lamp_cosine > 0.0) { factor } else { 0.0 };
    factor * throughput * LAMP_RADIANCE
}

#[derive(Clone, Copy)]
enum Structure {
    /// Stages over many paths; each reads and writes arrays. The number of paths.
    Wavefront(usize),
    /// All stages over 16 lanes, until the paths end.
    Megakernel {
        /// Whether lanes start the next path as soon as theirs ends, or only when all have ended.
        refill: bool,
    },
}

/// Returns the radiance of each sample.
fn render(structure: Structure, rays: &mut impl Rays, triangles: &[Triangle]) -> Vec<Vec3> {
    match structure {
        Structure::Wavefront(size) => wavefront(size, rays, triangles),
        Structure::Megakernel { refill } => megakernel(refill, rays, triangles),
    }
}

fn wavefront(size: usize, rays: &mut impl Rays, triangles: &[Triangle]) -> Vec<Vec3> {
    let count = SIDE * SIDE * SAMPLES;
    let mut radiance = vec![Vec3::ZERO; count as usize];
    let (mut surfaces, mut vertices) = (Surfaces::new(), Vertices::new());
    let (mut hits, mut blocked) = (Vec::new(), Vec::new());
    let (mut queue, mut shadow_rays, mut pending) = (Vec::new(), Vec::new(), Vec::new());
    let (mut groups, mut next): (Vec<Group>, Vec<Group>) = (Vec::new(), Vec::new());
    for first in (0..count).step_by(size) {
        groups.clear();
        for start in (first..(first + size as u32).min(count)).step_by(COLUMN_LEN) {
            let mut group = Group::new();
            (0..COLUMN_LEN).for_each(|lane| group.start(lane, start + lane as u32));
            groups.push(group);
        }
        while !groups.is_empty() {
            queue.clear();
            for group in &groups {
                let lanes = (0..COLUMN_LEN).filter(|&lane| group.active[lane] > 0.0);
                queue.extend(lanes.map(|lane| Ray::new(group.o.get(lane), group.d.get(lane))));
            }
            rays.intersect(&queue, &mut hits);
            shadow_rays.clear();
            pending.clear();
            next.clear();
            let mut lane_of_next = COLUMN_LEN;
            for (group, hits) in groups.iter().zip(hits.chunks(COLUMN_LEN)) {
                surfaces.gather(triangles, hits);
                shade(group, &surfaces, &mut vertices);
                for lane in 0..hits.len() {
                    let sample = group.sample[lane];
                    radiance[sample as usize] += vertices.emission.get::<Vec3>(lane);
                    if vertices.is_lit[lane] > 0.0 {
                        shadow_rays.push(shadow_ray(&vertices, lane));
                        pending.push((sample, vertices.direct.get::<Vec3>(lane)));
                    }
                    if vertices.continues[lane] > 0.0 {
                        if lane_of_next == COLUMN_LEN {
                            next.push(Group::new());
                            lane_of_next = 0;
                        }
                        let target = next.last_mut().expect("a group was added");
                        move_path(
                            &vertices,
                            lane,
                            sample,
                            group.depth[lane] + 1,
                            target,
                            lane_of_next,
                        );
                        lane_of_next += 1;
                    }
                }
            }
            rays.occluded(&shadow_rays, &mut blocked);
            for (&(sample, direct), &is_blocked) in pending.iter().zip(&blocked) {
                radiance[sample as usize] += if is_blocked { Vec3::ZERO } else { direct };
            }
            std::mem::swap(&mut groups, &mut next);
        }
    }
    radiance
}

fn megakernel(refill: bool, rays: &mut impl Rays, triangles: &[Triangle]) -> Vec<Vec3> {
    let count = SIDE * SIDE * SAMPLES;
    let mut radiance = vec![Vec3::ZERO; count as usize];
    let (mut surfaces, mut vertices) = (Surfaces::new(), Vertices::new());
    let (mut hits, mut blocked) = (Vec::new(), Vec::new());
    let mut queue = [Ray::new(Vec3::ZERO, Vec3::Z); COLUMN_LEN];
    let mut shadow_rays = Vec::new();
    let mut group = Group::new();
    let mut next_sample = 0;
    loop {
        if refill || !group.active.contains(&1.0) {
            for lane in 0..COLUMN_LEN {
                if group.active[lane] == 0.0 && next_sample < count {
                    group.start(lane, next_sample);
                    next_sample += 1;
                }
            }
        }
        if !group.active.contains(&1.0) {
            return radiance;
        }
        for (lane, ray) in queue.iter_mut().enumerate() {
            // Rays without a segment miss.
            let tmax = if group.active[lane] > 0.0 { f32::INFINITY } else { -1.0 };
            *ray = Ray { tmax, ..Ray::new(group.o.get(lane), group.d.get(lane)) };
        }
        rays.intersect(&queue, &mut hits);
        surfaces.gather(triangles, &hits);
        shade(&group, &surfaces, &mut vertices);
        shadow_rays.clear();
        let lit = (0..COLUMN_LEN).filter(|&lane| vertices.is_lit[lane] > 0.0);
        shadow_rays.extend(lit.clone().map(|lane| shadow_ray(&vertices, lane)));
        rays.occluded(&shadow_rays, &mut blocked);
        let mut blocked = blocked.iter();
        for lane in 0..COLUMN_LEN {
            let pixel = &mut radiance[group.sample[lane] as usize];
            if group.active[lane] > 0.0 {
                *pixel += vertices.emission.get::<Vec3>(lane);
            }
            if vertices.is_lit[lane] > 0.0 {
                let is_blocked = *blocked.next().expect("each lit lane has a shadow ray");
                *pixel += if is_blocked { Vec3::ZERO } else { vertices.direct.get::<Vec3>(lane) };
            }
        }
        group.o = vertices.o;
        group.d = vertices.d;
        group.throughput = vertices.throughput;
        group.pdf = vertices.pdf;
        group.active = vertices.continues;
        group.depth.iter_mut().for_each(|depth| *depth += 1);
    }
}

fn shadow_ray(vertices: &Vertices, lane: usize) -> Ray {
    Ray { tmax: 0.999, ..Ray::new(vertices.o.get(lane), vertices.shadow_d.get(lane)) }
}

/// Appends a path that continues to a group.
fn move_path(
    vertices: &Vertices,
    lane: usize,
    sample: u32,
    depth: u32,
    group: &mut Group,
    target: usize,
) {
    group.o.set(target, vertices.o.get::<Vec3>(lane));
    group.d.set(target, vertices.d.get::<Vec3>(lane));
    group.throughput.set(target, vertices.throughput.get::<Vec3>(lane));
    group.pdf[target] = vertices.pdf[lane];
    (group.sample[target], group.depth[target]) = (sample, depth);
    group.active[target] = 1.0;
}

/// [`next_event`] as a shader. The contract of materials fixes the names of the first two
/// parameters; they are the normal and the target here.
const NEXT_EVENT: &str = "
struct Material {
    /// range: [-10, 10]
    p: vec3f,
    /// range: [0, 1]
    throughput: vec3f,
}

fn brdf(n: vec3f, target_point: vec3f, m: Material) -> vec3f {
    let to_lamp = target_point - m.p;
    let distance_squared = dot(to_lamp, to_lamp);
    let wi = to_lamp * (1.0 / sqrt(distance_squared));
    let cosine = dot(n, wi);
    let lamp_cosine = wi.y;
    let lamp_pdf = distance_squared / (0.25 * lamp_cosine);
    let pdf = 0.31830987 * cosine;
    let factor = select(0.0, pdf / (lamp_pdf + pdf), cosine > 0.0 && lamp_cosine > 0.0);
    return factor * m.throughput * vec3f(17.0, 12.0, 4.0);
}
";

/// Prints the time of next-event estimation without rays.
fn compare_next_event(triangles: &[Triangle]) {
    const ROWS: usize = 4096;
    let row = |i: usize| {
        let u: [f32; 4] = array::from_fn(|dimension| random(i as u32, 99, dimension as u32));
        let triangle = triangles[16 * (i % 5) + i % 2];
        let p = triangle.p + 0.5 * u[0] * triangle.edges[0] + 0.5 * u[1] * triangle.edges[1];
        let target = vec3(0.5 * u[2] - 0.25, room::LAMP_Y, 0.5 * u[3] - 0.25);
        [triangle.normal, target, p, triangle.albedo]
    };
    let rows: Vec<[Vec3; 4]> = (0..ROWS).map(row).collect();
    let mut columns = vec![[Columns::<3>::ZERO; 4]; ROWS / COLUMN_LEN];
    for (i, row) in rows.iter().enumerate() {
        for (column, &value) in columns[i / COLUMN_LEN].iter_mut().zip(row) {
            column.set(i % COLUMN_LEN, value);
        }
    }
    let shader = Shader::parse("next_event.wgsl", NEXT_EVENT).unwrap_or_else(|e| panic!("{e}"));
    let function = shader.function(Entry::Brdf, &Settings::default());
    let point = passes::optimize(&function.unwrap_or_else(|e| panic!("{e}")));
    let arena = Arena::new();
    let mut results = vec![Columns::<3>::ZERO; columns.len()];
    println!("next-event estimation without rays, ns per vertex");
    let seconds = least_time(|| {
        dispatch!(Level::new(), simd => next_event_columns(simd, &columns, &mut results));
        black_box(&results);
    });
    println!("{:32} {:8.2}", "columns of 16 lanes", seconds * 1e9 / ROWS as f64);
    for target in [Target::Sse, Target::Avx2] {
        let Ok(kernel) = Kernel::compile(&arena, &passes::lower(&point), target) else { continue };
        let mut inputs = Batch::new(target, kernel.inputs().len(), ROWS);
        let mut outputs = Batch::new(target, kernel.outputs().len(), ROWS);
        for (i, row) in rows.iter().enumerate() {
            for (port, x) in row.iter().flat_map(|v| v.to_array()).enumerate() {
                inputs.set(i, port, x);
            }
        }
        let seconds = least_time(|| {
            kernel.run(&[], &inputs, &mut outputs);
            black_box(&outputs);
        });
        let same = |i: usize| {
            let expected: Vec3 = results[i / COLUMN_LEN].get(i % COLUMN_LEN);
            (expected - Vec3::from(outputs.floats(i, 0))).abs().max_element() <= 1e-5
        };
        assert!((0..ROWS).all(same), "{target}: other values");
        println!("shader, {:24} {:8.2}", target.to_string(), seconds * 1e9 / ROWS as f64);
    }
}

#[inline(always)]
fn next_event_columns<S: Simd>(_: S, columns: &[[Columns<3>; 4]], results: &mut [Columns<3>]) {
    for ([n, target, p, throughput], result) in columns.iter().zip(results) {
        for lane in 0..COLUMN_LEN {
            let (n, target): (Vec3, Vec3) = (n.get(lane), target.get(lane));
            let (p, throughput): (Vec3, Vec3) = (p.get(lane), throughput.get(lane));
            result.set(lane, next_event(p, n, throughput, target));
        }
    }
}

/// Returns the least time of several runs, seconds.
fn least_time(mut run: impl FnMut()) -> f64 {
    let times = (0..200 * RUNS).map(|_| {
        let start = Instant::now();
        run();
        start.elapsed().as_secs_f64()
    });
    times.fold(f64::INFINITY, f64::min)
}
