//! Rays per second and bytes per triangle of the acceleration structures, on one thread.
//!
//! `cargo bench -p lightbound-benches --bench accel`, with Embree if it is found. Scenes: a Cornell
//! box (36 triangles), and the same room with a rough sphere, of half a million triangles or those
//! of `--triangles`. Rays: camera rays, cosine-distributed bounces from their hits, and shadow rays
//! from their hits to the lamp, each traced singly and in batches. All structures must agree before
//! anything is timed. Structures are built on all threads.

mod room;

use clap::Parser;
use lightbound::accel::{Accel, AccelKind, build};
use lightbound::geometry::{Geometry, Hit, Mesh};
use lightbound_math::sampling;
use lightbound_math::{Frame, Ray, vec3};
use std::f32::consts::TAU;
use std::sync::Arc;
use std::time::Instant;

/// Number of camera rays.
const CAMERA_RAYS: usize = 1 << 17;

/// Number of rays in a batch.
const BATCH_SIZE: usize = 1 << 12;

/// Number of timed runs. The best and the median are reported.
const RUNS: usize = 7;

/// Measures acceleration structures.
#[derive(Parser)]
struct Arguments {
    /// Approximate numbers of triangles of the rough sphere.
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "500000")]
    triangles: Vec<u32>,
    /// Given by `cargo bench`.
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() {
    let arguments = Arguments::parse();
    let kinds: &[AccelKind] = if AccelKind::Embree.is_available() {
        &[AccelKind::Builtin, AccelKind::Embree]
    } else {
        &[AccelKind::Builtin]
    };
    println!(
        "{:8} {:9} {:8} {:8} {:>20} {:>20}",
        "scene", "structure", "rays", "query", "one by one, Mray/s", "batches, Mray/s"
    );
    println!("{:48} {:>9} {:>10} {:>9} {:>10}", "", "best", "median", "best", "median");
    measure_scene("cornell", room::cornell(), kinds);
    for triangles in arguments.triangles {
        measure_scene("ball", rough_sphere(triangles), kinds);
    }
}

/// Builds the structures of a scene, compares and measures them.
fn measure_scene(name: &str, geometry: Geometry, kinds: &[AccelKind]) {
    let geometry = Arc::new(geometry);
    let accels: Vec<_> = kinds
        .iter()
        .map(|&kind| {
            let start = Instant::now();
            let accel = build(kind, geometry.clone()).expect("the structure is built");
            let seconds = start.elapsed().as_secs_f64();
            let triangles = geometry.triangle_count();
            let bytes = accel.memory_bytes() as f64 / triangles as f64;
            println!(
                "{name:8} {:9} {triangles} triangles, {bytes:.0} bytes per triangle, built in \
                     {seconds:.3} s",
                accel.name()
            );
            accel
        })
        .collect();
    for (rays_name, rays) in rays(&geometry, accels[0].as_ref()) {
        check(rays_name, &rays, &accels);
        for accel in &accels {
            let any = rays_name == "shadow";
            let (single, batched) = if any {
                occluded(accel.as_ref(), &rays)
            } else {
                intersect(accel.as_ref(), &rays)
            };
            let query = if any { "any" } else { "nearest" };
            println!(
                "{name:8} {:9} {rays_name:8} {query:8} {:>20.2} {:>10.2} {:>9.2} {:>10.2}",
                accel.name(),
                single.0,
                single.1,
                batched.0,
                batched.1
            );
        }
    }
}

/// Checks that all structures agree, except for a few rays that graze edges.
fn check(name: &str, rays: &[Ray], accels: &[Box<dyn Accel>]) {
    let (mut first, mut hits) = (Vec::new(), Vec::new());
    accels[0].intersect_batch(rays, &mut first);
    for accel in accels {
        accel.intersect_batch(rays, &mut hits);
        let same = |(a, b): &(&Hit, &Hit)| {
            a.is_miss() == b.is_miss() && (a.is_miss() || (a.t - b.t).abs() <= 1e-3 * a.t)
        };
        let wrong = first.iter().zip(&hits).filter(|pair| !same(pair)).count();
        assert!(
            wrong <= rays.len() / 10_000,
            "{name}: {} differs from {} on {wrong} rays",
            accel.name(),
            accels[0].name()
        );
        let occluded_count = rays.iter().filter(|ray| accel.occluded(ray)).count();
        let hit_count = hits.iter().filter(|hit| !hit.is_miss()).count();
        assert!(
            occluded_count.abs_diff(hit_count) <= rays.len() / 10_000,
            "{name}: {}: {occluded_count} occluded rays, {hit_count} hits",
            accel.name()
        );
    }
}

/// Best and median rate, in million rays per second.
type Rate = (f64, f64);

/// Times `run`, which traces `rays` rays.
fn measure(rays: usize, mut run: impl FnMut()) -> Rate {
    let mut rates: Vec<f64> = (0..RUNS)
        .map(|_| {
            let start = Instant::now();
            run();
            rays as f64 / start.elapsed().as_secs_f64() / 1e6
        })
        .collect();
    rates.sort_by(f64::total_cmp);
    (rates[RUNS - 1], rates[RUNS / 2])
}

/// Rates of single rays and of batches.
fn intersect(accel: &dyn Accel, rays: &[Ray]) -> (Rate, Rate) {
    let single = measure(rays.len(), || {
        std::hint::black_box(rays.iter().map(|ray| accel.intersect(ray).t).sum::<f32>());
    });
    let mut hits = Vec::new();
    let batched = measure(rays.len(), || {
        for batch in rays.chunks(BATCH_SIZE) {
            accel.intersect_batch(batch, &mut hits);
            std::hint::black_box(&hits);
        }
    });
    (single, batched)
}

/// Like [`intersect`], for occlusion queries.
fn occluded(accel: &dyn Accel, rays: &[Ray]) -> (Rate, Rate) {
    let single = measure(rays.len(), || {
        std::hint::black_box(rays.iter().filter(|ray| accel.occluded(ray)).count());
    });
    let mut occluded = Vec::new();
    let batched = measure(rays.len(), || {
        for batch in rays.chunks(BATCH_SIZE) {
            accel.occluded_batch(batch, &mut occluded);
            std::hint::black_box(&occluded);
        }
    });
    (single, batched)
}

/// A counter-based generator of uniform numbers.
struct Random(u32);

impl Random {
    fn next(&mut self) -> f32 {
        self.0 += 1;
        sampling::unit_float(sampling::hash(17, self.0))
    }
}

/// Returns camera rays in tiles of 8 × 8 pixels, bounces, and shadow rays.
fn rays(geometry: &Geometry, accel: &dyn Accel) -> [(&'static str, Vec<Ray>); 3] {
    let mut random = Random(0);
    let side = (CAMERA_RAYS as f32).sqrt() as usize / 8 * 8;
    let pixels = (0..side * side).map(|i| {
        let (tile, pixel) = (i / 64, i % 64);
        (tile % (side / 8) * 8 + pixel % 8, tile / (side / 8) * 8 + pixel / 8)
    });
    let camera: Vec<Ray> = pixels
        .map(|(x, y)| {
            let [x, y] = [x, y].map(|p| (p as f32 + random.next()) / side as f32 - 0.5);
            Ray::new(vec3(0.0, 1.0, 3.5), vec3(0.8 * x, -0.8 * y, -1.0).normalize())
        })
        .collect();
    let (mut bounce, mut shadow) = (Vec::new(), Vec::new());
    for ray in &camera {
        let hit = accel.intersect(ray);
        if hit.is_miss() {
            continue;
        }
        let surface = geometry.surface(&hit, ray.d);
        let n = surface.ng * -surface.ng.dot(ray.d).signum();
        let (r, phi) = (random.next().sqrt(), TAU * random.next());
        let local = vec3(r * phi.cos(), r * phi.sin(), (1.0 - r * r).sqrt());
        let d = Frame::from_normal(n).to_world(local);
        bounce.push(Ray::new(surface.offset_ray_origin(d), d));
        let lamp = vec3(0.5 * random.next() - 0.25, room::LAMP_Y, 0.5 * random.next() - 0.25);
        if n.dot(lamp - surface.p) > 0.0 {
            shadow.push(Ray {
                tmax: 0.999,
                ..Ray::segment(surface.offset_ray_origin(lamp - surface.p), lamp)
            });
        }
    }
    [("camera", camera), ("bounce", bounce), ("shadow", shadow)]
}

/// Returns the room with a rough sphere of about this number of triangles.
fn rough_sphere(triangles: u32) -> Geometry {
    let n = (f64::from(triangles) / 2.0).sqrt().round().max(3.0) as u32;
    let points = (0..=n).flat_map(|i| {
        (0..n).map(move |j| (i as f32 / n as f32 * TAU / 2.0, j as f32 / n as f32 * TAU))
    });
    let positions = points.map(|(theta, phi)| {
        let d = vec3(theta.sin() * phi.cos(), theta.cos(), theta.sin() * phi.sin());
        let r = 0.7
            + 0.05 * (17.0 * d.x).sin() * (13.0 * d.y).cos()
            + 0.01 * (90.0 * d.z).sin() * (80.0 * d.x).sin();
        vec3(0.0, 0.9, 0.0) + r * d
    });
    let cells = (0..n).flat_map(|i| (0..n).map(move |j| (i * n + j, i * n + (j + 1) % n)));
    let triangles = cells.flat_map(|(a, b)| [[a, b, a + n], [b, b + n, a + n]]);
    let mut meshes = room::room();
    meshes.push(
        Mesh::new(positions.collect(), triangles.collect(), Vec::new(), Vec::new())
            .expect("the sphere is a valid mesh"),
    );
    room::scene(meshes)
}
