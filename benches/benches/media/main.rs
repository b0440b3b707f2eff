//! Majorants of procedural densities: proved by bounding shaders, in an octree or for the whole box,
//! or estimated from samples.
//!
//! `cargo bench -p lightbound-benches --bench media`. All methods track the same rays through the
//! same density with the same code, on one processor, and differ in the majorants only:
//!
//! - *octree*: the renderer's majorants;
//! - *global*: the proved majorant of the whole box;
//! - *sampled*: the greatest of 16 samples in each cell of a grid, times 1.5: estimates like those of Cycles;
//! - *progressive*: the greatest density seen so far in each cell of a grid, starting from one
//!   sample each; tracking updates it, and each pass over the image uses that of the pass before
//!   (Misso et al. 2023, *Progressive Null-Tracking for Volumetric Rendering*).
//!
//! Where the density exceeds an estimated majorant, each tentative collision is real, which is
//! biased. Before the table of a density are its octrees for several budgets, without merging of
//! cells. The reference has an error of 0.5 % for walls.

use lightbound::material::{ParameterValues, ShaderInstance};
use lightbound::medium::{
    ChannelWeights, Field, MajorantTree, Medium, MediumPoint, ShaderField, ShaderFieldSettings,
    Tracker, Tracking, TrackingCounts, TreeOptions, Walk, WalkCounts,
};
use lightbound::render::cpu_time;
use lightbound_math::sampling::{RandomStream, hash, unit_float};
use lightbound_math::{Aabb, Ray, Transform, Vec3, vec3};
use lightbound_shader::{Settings, Shader};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// The box of the medium.
const BOX: Aabb = Aabb { min: Vec3::ZERO, max: Vec3::splat(2.0) };

/// Pixels along each side of the image.
const PIXELS: u32 = 64;

/// Cells of a grid of estimates along each axis.
const CELLS: usize = 32;

/// Processor time for each method, s.
const BUDGET: f64 = 2.0;

/// The densities: name, source, parameters and extinction per unit of density.
const DENSITIES: [(&str, &str, &[f32], f32); 5] = [
    ("sines above 0", WAVES, &[2.0, 0.0, 0.0], 30.0),
    ("exponential of sines", WAVES, &[3.0, 0.0, 7.0], 30.0),
    ("exponential of gradient noise", FBM, &[2.0, 0.0, 7.0], 30.0),
    ("gradient noise above 0", FBM, &[2.0, 0.0, 0.0], 60.0),
    ("walls of 1/1000 of a cell", include_str!("walls.wgsl"), &[8.0], 1.0),
];

const WAVES: &str = include_str!("waves.wgsl");

const FBM: &str = include_str!("../../../renderer/core/src/medium/fbm.wgsl");

/// A way to find majorants.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Method {
    Octree,
    Global,
    Sampled,
    Progressive,
}

/// What a method did.
struct Outcome {
    samples: u32,
    counts: TrackingCounts,
    build: Duration,
    /// Mean squared relative error of the image.
    error: f64,
    /// Mean relative error of all pixels, and its standard error.
    bias: [f64; 2],
    /// Mean relative error after the first 10 samples.
    early_bias: f64,
    /// Mean majorant.
    majorant: f64,
    cells: usize,
}

fn main() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread starts");
    pool.install(|| {
        for (name, source, parameters, extinction) in DENSITIES {
            compare(name, source, parameters, extinction);
        }
    });
}

/// Compares all methods on a density.
fn compare(name: &str, source: &str, parameters: &[f32], extinction: f32) {
    let field = Arc::new(field(source, parameters, extinction));
    let start = Instant::now();
    let (density, reference) = reference(&field, extinction);
    println!("\n{name}: mean density {density:.4}, {:.1?} for the reference", start.elapsed());
    for max_nodes in [1_000, 10_000, 100_000, 1 << 19] {
        let start = cpu_time();
        let options = TreeOptions { max_nodes, cell_cost: 0.0, ..TreeOptions::default() };
        let tree = MajorantTree::build(&*field, &Transform::IDENTITY, options);
        let [min, max] = tree.mean_density_range();
        println!(
            "{max_nodes:6} nodes in {:6.1} ms: majorant {:6.2}, minorant {:5.2} of the mean density",
            1e3 * (cpu_time() - start).as_secs_f64(),
            max / density,
            min / density,
        );
    }
    println!(
        "{:12} {:9} {:>8} {:>7} {:>9} {:>8} {:>8} {:>10} {:>19} {:>9}",
        "", "", "build ms", "cells", "majorant", "null", "samples", "relMSE", "bias %", "first 10"
    );
    for tracking in [Tracking::Delta, Tracking::Ratio] {
        for method in [Method::Octree, Method::Global, Method::Sampled, Method::Progressive] {
            let Outcome { samples, counts, build, error, bias, early_bias, majorant, cells } =
                run(&field, method, tracking, &reference);
            let null = counts.null_collisions as f64 / counts.collisions.max(1) as f64;
            println!(
                "{:12} {:9} {:8.1} {cells:7} {:9.2} {null:8.2} {samples:8} {error:10.3e} {:9.3} ± {:7.3} {:9.3}",
                format!("{method:?}").to_lowercase(),
                format!("{tracking:?}").to_lowercase(),
                1e3 * build.as_secs_f64(),
                majorant / density,
                100.0 * bias[0],
                100.0 * bias[1],
                100.0 * early_bias,
            );
        }
    }
}

/// Creates the field of a shader in the box.
fn field(source: &str, parameters: &[f32], extinction: f32) -> ShaderField {
    let shader = Shader::parse("density.wgsl", source).expect("the shader is valid");
    let words: Vec<u32> = parameters.iter().map(|x| x.to_bits()).collect();
    let settings = ShaderFieldSettings {
        bounds: BOX,
        render_from_medium: Transform::IDENTITY,
        extinction: Vec3::splat(extinction),
        albedo: Vec3::ONE,
        radiance: Vec3::ZERO,
    };
    let values = ParameterValues::from_words(&words);
    ShaderField::new(&shader, &Settings::default(), values, vec![], settings)
        .expect("the shader is a density")
}

/// Returns the ray of a pixel.
fn ray(pixel: u32) -> Ray {
    let at = |index: u32| 2.0 * (index as f32 + 0.5) / PIXELS as f32;
    Ray::new(vec3(at(pixel % PIXELS), at(pixel / PIXELS), 0.0), Vec3::Z)
}

/// Returns the mean density along all rays, and the transmittance of each, by quadrature.
fn reference(field: &ShaderField, extinction: f32) -> (f64, Vec<f64>) {
    const STEPS: u32 = 16_381; // A prime, so that steps do not line up with walls.
    let mut properties = Vec::new();
    let mut sum = 0.0;
    let transmittance = |pixel| {
        let o = ray(pixel).o;
        let points = (0..STEPS).map(|i| o + 2.0 * (i as f32 + 0.5) / STEPS as f32 * Vec3::Z);
        field.evaluate(&points.collect::<Vec<_>>(), &mut properties);
        let total: f64 = properties.iter().map(|point| f64::from(point.extinction.x)).sum();
        let mean = total / f64::from(STEPS);
        sum += mean / f64::from(extinction);
        (-2.0 * mean).exp()
    };
    let transmittances: Vec<f64> = (0..PIXELS * PIXELS).map(transmittance).collect();
    (sum / f64::from(PIXELS * PIXELS), transmittances)
}

/// Estimates the transmittance of all pixels until the time is over.
fn run(field: &Arc<ShaderField>, method: Method, tracking: Tracking, reference: &[f64]) -> Outcome {
    let pixels = PIXELS * PIXELS;
    let start = cpu_time();
    let elapsed = || cpu_time() - start;
    let estimates = (method != Method::Octree && method != Method::Global)
        .then(|| Arc::new(Estimates::new(field.clone(), method)));
    let mut medium = medium(field, method, estimates.as_ref());
    let build = elapsed();
    let (mut sums, mut squares) = (vec![0.0f64; pixels as usize], vec![0.0f64; pixels as usize]);
    let mut counts = TrackingCounts::default();
    let mut early_bias = 0.0;
    let mut samples = 0;
    let relative = |sums: &[f64], samples: u32| {
        let terms = sums.iter().zip(reference);
        let errors = terms.map(|(sum, expected)| sum / f64::from(samples) - expected);
        errors.sum::<f64>() / reference.iter().sum::<f64>()
    };
    while samples < 10 || elapsed().as_secs_f64() < BUDGET {
        let mut walks: Vec<Walk> = (0..pixels).map(|pixel| walk(pixel, samples)).collect();
        let mut tracker = Tracker::default();
        tracker.track(&medium, tracking, &mut walks, ray);
        counts += tracker.take_counts();
        for (pixel, walk) in walks.iter().enumerate() {
            let value = match walk.collision {
                Some(_) => 0.0,
                None => f64::from(walk.weights.value.x),
            };
            sums[pixel] += value;
            squares[pixel] += value * value;
        }
        samples += 1;
        if samples == 10 {
            early_bias = relative(&sums, samples);
        }
        if method == Method::Progressive {
            medium = self::medium(field, method, estimates.as_ref());
        }
    }
    let n = f64::from(samples);
    let error = sums.iter().zip(reference).map(|(sum, expected)| {
        let difference = sum / n - expected;
        difference * difference / (expected * expected + 1e-4)
    });
    let variance = sums.iter().zip(&squares).map(|(sum, square)| square / n - (sum / n).powi(2));
    let deviation = (variance.sum::<f64>() / n).sqrt() / reference.iter().sum::<f64>();
    Outcome {
        samples,
        counts,
        build,
        error: error.sum::<f64>() / f64::from(pixels),
        bias: [relative(&sums, samples), deviation],
        early_bias,
        majorant: medium.majorants.mean_density_range()[1],
        cells: medium.majorants.cells(),
    }
}

/// Starts the walk of a sample along the ray of a pixel.
fn walk(pixel: u32, sample: u32) -> Walk {
    Walk {
        index: pixel,
        medium: 0,
        segment: [0.0, 2.0],
        weights: ChannelWeights::new(Vec3::ONE, Vec3::ONE),
        random: RandomStream::from_seed(hash(hash(pixel, 0x5eed), sample)),
        emission: Vec3::ZERO,
        collision: None,
        counts: WalkCounts::default(),
    }
}

/// Creates the medium of a method.
fn medium(field: &Arc<ShaderField>, method: Method, estimates: Option<&Arc<Estimates>>) -> Medium {
    let field: Box<dyn Field> = match estimates {
        None => Box::new(Shared(field.clone())),
        Some(estimates) => Box::new(Shared(estimates.clone())),
    };
    let options = match method {
        Method::Octree => TreeOptions::default(),
        Method::Global => TreeOptions { max_nodes: 1, ..TreeOptions::default() },
        Method::Sampled | Method::Progressive => {
            TreeOptions { max_level: CELLS.ilog2(), ..TreeOptions::default() }
        }
    };
    let majorants = MajorantTree::build(&*field, &Transform::IDENTITY, options);
    Medium {
        name: String::new(),
        transform: Transform::IDENTITY,
        field,
        majorants,
        phase: ShaderInstance::new(0, []),
    }
}

/// Estimates of the greatest density in each cell of a grid.
#[derive(Debug)]
struct Estimates {
    field: Arc<ShaderField>,
    cells: Vec<AtomicU32>,
    updates: bool,
    factor: f32,
}

impl Estimates {
    fn new(field: Arc<ShaderField>, method: Method) -> Estimates {
        let (samples, factor) = if method == Method::Sampled { (16, 1.5) } else { (1, 1.0) };
        let size = 2.0 / CELLS as f32;
        let mut properties = Vec::new();
        let scale = field.extinction().x;
        let cell = |index: usize| {
            let corner = [index % CELLS, index / CELLS % CELLS, index / CELLS / CELLS];
            let corner = Vec3::from_array(corner.map(|i| i as f32));
            let points = (0..samples).map(|sample| {
                let random = |axis| unit_float(hash(hash(index as u32, sample), axis));
                size * (corner + vec3(random(0), random(1), random(2)))
            });
            field.evaluate(&points.collect::<Vec<_>>(), &mut properties);
            let max = properties.iter().fold(0.0f32, |max, point| max.max(point.extinction.x));
            AtomicU32::new((factor * max / scale).to_bits())
        };
        let cells = (0..CELLS * CELLS * CELLS).map(cell).collect();
        Estimates { field, cells, updates: method == Method::Progressive, factor }
    }

    fn index(p: Vec3) -> [usize; 3] {
        (p * (CELLS as f32 / 2.0)).to_array().map(|x| (x as usize).min(CELLS - 1))
    }

    fn cell(&self, [x, y, z]: [usize; 3]) -> &AtomicU32 {
        &self.cells[(z * CELLS + y) * CELLS + x]
    }
}

impl Field for Estimates {
    fn bounds(&self) -> Option<Aabb> {
        Some(BOX)
    }

    fn emits(&self) -> bool {
        false
    }

    fn extinction(&self) -> Vec3 {
        self.field.extinction()
    }

    fn density_bounds(&self, boxes: &[Aabb], out: &mut Vec<[f32; 2]>) {
        let bounds = |b: &Aabb| {
            let [first, last] = [b.min, b.max - 1e-4].map(Estimates::index);
            let mut max = 0.0f32;
            for z in first[2]..=last[2] {
                for y in first[1]..=last[1] {
                    for x in first[0]..=last[0] {
                        let cell = self.cell([x, y, z]).load(Ordering::Relaxed);
                        max = max.max(f32::from_bits(cell));
                    }
                }
            }
            [0.0, max]
        };
        out.clear();
        out.extend(boxes.iter().map(bounds));
    }

    fn evaluate(&self, points: &[Vec3], out: &mut Vec<MediumPoint>) {
        self.field.evaluate(points, out);
        if self.updates {
            let scale = self.factor / self.field.extinction().x;
            for (p, point) in points.iter().zip(out) {
                let density = (point.extinction.x * scale).to_bits();
                self.cell(Estimates::index(*p)).fetch_max(density, Ordering::Relaxed);
            }
        }
    }
}

/// A field that several media share.
#[derive(Debug)]
struct Shared<F>(Arc<F>);

impl<F: Field> Field for Shared<F> {
    fn bounds(&self) -> Option<Aabb> {
        self.0.bounds()
    }

    fn emits(&self) -> bool {
        self.0.emits()
    }

    fn extinction(&self) -> Vec3 {
        self.0.extinction()
    }

    fn density_bounds(&self, boxes: &[Aabb], out: &mut Vec<[f32; 2]>) {
        self.0.density_bounds(boxes, out);
    }

    fn evaluate(&self, points: &[Vec3], out: &mut Vec<MediumPoint>) {
        self.0.evaluate(points, out);
    }
}
