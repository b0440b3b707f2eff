//! Displaced surfaces beside meshes of all their micro-triangles: memory, and time of rays.
//!
//! Both have the same hits, so the same error; the command checks that. Rays are traced by the
//! built-in acceleration structure, on one thread. Memory of the mesh is that of 18 bytes for each
//! triangle, with shared vertices and without normals, and of the acceleration structure. Memory of
//! the displaced surface includes the cache of a thread.

use crate::arguments::positive;
use crate::cpu_time::measure;
use crate::report::{fail, print_head, print_machine, print_row};
use lightbound::accel::{self, Accel, AccelKind};
use lightbound::geometry::{DisplacedMesh, DisplacedSurface, Geometry, Primitive, Shape};
use lightbound_math::sampling::{hash, unit_float};
use lightbound_math::{Ray, Transform, Vec2, Vec3};
use lightbound_shader::{Settings, Shader};
use std::process::ExitCode;
use std::sync::Arc;

/// Compare displaced surfaces with meshes of all their micro-triangles
#[derive(clap::Args)]
pub struct Args {
    /// Number of rays of each kind
    #[arg(long, default_value_t = 200_000, value_parser = positive::<u32>)]
    rays: u32,
    /// Greatest number of divisions of each side of the square, a power of two
    #[arg(long, default_value_t = 1024, value_parser = positive::<u32>)]
    divisions: u32,
}

const SOURCE: &str = include_str!("../../scenes/displacement/dunes.wgsl");

/// Bytes of a triangle of a mesh with shared vertices: three indices, and half a position.
const BYTES_PER_TRIANGLE: usize = 18;

/// Tolerance of hits, across the surface and relative to the distance: blocks of triangles multiply
/// by the reciprocal of a determinant, and micro-triangles divide by it. Along a grazing ray, a
/// small error across the surface is a large one.
const TOLERANCE: f32 = 1e-6;

/// Size of the square.
const SIZE: f32 = 8.0;

/// Runs the command.
pub fn run(args: &Args) -> ExitCode {
    print_machine();
    match compare(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&error.to_string()),
    }
}

fn compare(args: &Args) -> Result<(), Box<dyn std::error::Error>> {
    let titles = [
        "micro-triangles",
        "surface",
        "built in",
        "memory",
        "bytes per micro-triangle",
        "coherent rays: ns",
        "random rays: ns",
    ];
    print_head(&titles.map(str::to_owned));
    let (mut divisions, mut largest) = (args.divisions.min(64), 0.0f32);
    while divisions <= args.divisions {
        let (surface, seconds) = measure(|| square(SIZE / divisions as f32));
        let surface = Arc::new(surface?);
        let triangles = surface.micro_triangles();
        let memory = surface.memory_bytes() + DisplacedSurface::THREAD_MEMORY_BYTES;
        let displaced = Structure::new("displaced", Shape::Displaced(surface.clone()), seconds)?;
        let (mesh, seconds) = measure(|| surface.tessellate());
        let tessellated = Structure::new("tessellated", Shape::Mesh(mesh?), seconds)?;
        let mesh_memory = BYTES_PER_TRIANGLE * triangles as usize;
        let mut all_hits = vec![];
        for (structure, memory) in [(displaced, memory), (tessellated, mesh_memory)] {
            let memory = memory + structure.accel.memory_bytes();
            let mut cells = vec![
                triangles.to_string(),
                structure.name.to_owned(),
                format!("{:.2} s", structure.seconds),
                format!("{:.2} MB", memory as f64 * 1e-6),
                format!("{:.2}", memory as f64 / triangles as f64),
            ];
            let mut hits = vec![];
            for ray in [coherent_ray, random_ray] {
                let rays: Vec<_> = (0..args.rays).map(|i| ray(i, args.rays)).collect();
                let (found, seconds) = measure(|| {
                    rays.iter().map(|ray| structure.accel.intersect(ray)).collect::<Vec<_>>()
                });
                cells.push(format!("{:.0}", 1e9 * seconds / f64::from(args.rays)));
                // The distance, and the cosine at the surface.
                hits.extend(std::iter::zip(found, rays).map(|(hit, ray)| match hit.is_miss() {
                    true => [hit.t, 1.0],
                    false => [hit.t, structure.geometry.surface(&hit, ray.d).ng.dot(ray.d).abs()],
                }));
            }
            print_row(cells);
            all_hits.push(hits);
        }
        // Infinite or NaN if one of both is a miss.
        let difference = |([a, _], [b, cosine]): (&[f32; 2], &[f32; 2])| match a == b {
            true => 0.0,
            false => (a - b).abs() * cosine / b.abs(),
        };
        let differences = std::iter::zip(&all_hits[0], &all_hits[1]).map(difference);
        let differs = |(_, x): &(usize, f32)| x.is_nan() || *x > TOLERANCE;
        let mut differing = (0..).zip(differences.clone()).filter(differs);
        if let Some((i, _)) = differing.next() {
            let [a, b] = [all_hits[0][i][0], all_hits[1][i][0]];
            let count = 1 + differing.count();
            return Err(format!("{count} hits differ, the first at {a} and {b}, ray {i}").into());
        }
        largest = differences.fold(largest, f32::max);
        divisions *= 4;
    }
    println!("\nHits differ by {largest:.1e} of their distance at most, across the surface.");
    Ok(())
}

/// An acceleration structure over a shape.
struct Structure {
    name: &'static str,
    geometry: Arc<Geometry>,
    accel: Box<dyn Accel>,
    /// CPU time of building shape and structure.
    seconds: f64,
}

impl Structure {
    fn new(
        name: &'static str,
        shape: Shape,
        seconds: f64,
    ) -> Result<Structure, Box<dyn std::error::Error>> {
        let primitive = Primitive {
            shape,
            material: 0,
            first_light: None,
            alpha: None,
            flip: false,
            media: None,
        };
        let geometry = Geometry { primitives: vec![primitive], world: 0..1, ..Geometry::default() };
        let geometry = Arc::new(geometry);
        let (accel, of_accel) = measure(|| accel::build(AccelKind::Builtin, geometry.clone()));
        Ok(Structure { name, geometry, accel: accel?, seconds: seconds + of_accel })
    }
}

/// Displaces a square in the xz plane.
fn square(edge_length: f32) -> Result<DisplacedSurface, Box<dyn std::error::Error>> {
    let corners = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]].map(Vec2::from_array);
    let position = |c: &Vec2| SIZE * Vec3::new(c.x - 0.5, 0.0, c.y - 0.5);
    let mesh = DisplacedMesh {
        positions: corners.iter().map(position).collect(),
        normals: vec![],
        uvs: corners.to_vec(),
        triangles: vec![[0, 2, 1], [0, 3, 2]],
    };
    let shader =
        Shader::parse_function("dunes.wgsl", SOURCE, "displace").map_err(|e| e.one_line())?;
    let words = [0.3f32.to_bits(), 1.1f32.to_bits(), 7];
    // The diagonals are the longest edges.
    let edge_length = 1.5 * edge_length;
    let (settings, inputs) = (Settings::default(), (&words[..], vec![]));
    Ok(DisplacedSurface::new(
        mesh,
        (&shader, &settings),
        inputs,
        edge_length,
        &Transform::IDENTITY,
    )?)
}

/// A ray of a camera above the square, in the order of pixels.
fn coherent_ray(i: u32, count: u32) -> Ray {
    let width = f64::from(count).sqrt() as u32;
    let at = |k: u32| (k as f32 + 0.5) / width as f32 - 0.5;
    let (o, target) =
        (Vec3::new(0.0, 3.0, 6.0), SIZE * Vec3::new(at(i % width), 0.0, at(i / width)));
    Ray::new(o, (target - o).normalize())
}

fn random_ray(i: u32, _: u32) -> Ray {
    let random = |k| unit_float(hash(hash(9, i), k)) - 0.5;
    let target = SIZE * Vec3::new(random(0), 0.0, random(1));
    let d = Vec3::new(random(2), -0.2 - 0.5 * (random(3) + 0.5), random(4)).normalize();
    Ray::new(target - 10.0 * d, d)
}
