//! Importance sampling of directions: variance under an environment map, and cost. Compares
//! samplers derived from bounds with hand-written samplers and with cosine sampling.
//!
//! The estimator is s·L/pdf of one sampled direction, without light sampling, where s is the BRDF
//! times the cosine. Variances are of the luminance of one independent sample, and are averaged
//! over frames of the surface. Averages over angles are geometric means. Times are per sample and
//! include everything: the tree of the shading point or the lookup in a filled table, sampling, the
//! density, and s.
//!
//! Each sampled direction also needs a ray. Therefore, errors at equal CPU time, √(variance ×
//! time), include the time of a ray that leaves a surface of the scene, and of its environment
//! lookup. Other costs of a renderer are not included.

mod cases;

use crate::arguments::material;
use crate::materials;
use crate::report::{geometric_mean, print_head, print_machine, print_row};
use cases::{ANGLES, AZIMUTH, MATERIALS, MAX_RADIANCE_RATIO, Material};
use lightbound::direction_tree::{
    AdaptiveBuilder, BrdfKernels, DirectionTree, SplitBudget, TreeTable,
};
use lightbound::light::Environment;
use lightbound::material::{Program, ShaderBinding};
use lightbound_math::sampling::warp::cosine_hemisphere;
use lightbound_math::sampling::{hash, luminance, unit_float};
use lightbound_math::{Frame, Ray, Vec2, Vec3, vec2, vec3};
use lightbound_pbrt::build::{LoadedScene, Overrides, load};
use lightbound_pbrt::diagnostics::Diagnostics;
use lightbound_shader::{Arena, Batch, Settings, Target};
use std::hint::black_box;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

/// Variance and cost of derived samplers, compared with hand-written ones
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Materials of the library [default: all six]
    #[arg(long, value_delimiter = ',', value_parser = material(), value_name = "NAME")]
    materials: Vec<String>,

    /// Number of samples for each frame, angle and sampler, rounded down to batches of 128
    #[arg(long, default_value_t = 20_000,
        value_parser = clap::value_parser!(u32).range(BATCH_SIZE as i64..))]
    samples: u32,

    /// Maximum number of splits of a tree
    #[arg(long = "cuts", value_name = "CUTS", default_value_t = SplitBudget::POINT.splits)]
    splits: usize,

    /// Maximum remaining uncertainty of bounds, as a fraction of the integral
    #[arg(long = "open", value_name = "OPEN", default_value_t = SplitBudget::POINT.uncertainty)]
    uncertainty: f32,

    /// Print a row for each angle, too
    #[arg(long)]
    angles: bool,
}

/// Number of shading points in a batch.
const BATCH_SIZE: usize = 128;

/// A compiled material with its parameters.
struct CompiledMaterial {
    binding: ShaderBinding,
    kernels: BrdfKernels,
    parameters: Vec<u32>,
}

impl CompiledMaterial {
    fn new(material: &Material) -> CompiledMaterial {
        let (name, text) = materials::ALL
            .into_iter()
            .find(|(name, _)| *name == material.shader)
            .expect("the library has this material");
        let shader = materials::parse(name, text);
        let arena = Arena::new();
        let program = Program::compile(&arena, &shader, &Settings::default(), Target::best())
            .expect("materials of the library compile");
        let words = |p: &lightbound_shader::Parameter| {
            let overridden = material
                .overrides
                .iter()
                .find(|(name, _)| *name == p.name)
                .map(|(_, values)| values.to_vec());
            let values = overridden
                .or_else(|| p.default.clone())
                .expect("parameters of the library have defaults");
            values.into_iter().map(|x| p.scalar.bits(x)).collect::<Vec<_>>()
        };
        let parameters = program.settable.iter().flat_map(words).collect();
        let kernels =
            BrdfKernels::compile(&arena, &program).expect("materials of the library compile");
        CompiledMaterial {
            binding: ShaderBinding::new(Arc::new(program), vec![]),
            kernels,
            parameters,
        }
    }
}

/// A sampled direction, s and the PDF.
type Sample = (Vec3, Vec3, f32);

/// Measurements of a sampler for one angle.
#[derive(Clone, Copy, Debug, Default)]
struct SamplerStats {
    variance: f64,
    mean: f64,
    /// Nanoseconds per sample.
    time_ns: f64,
}

/// Returns random points in [0, 1)².
fn random_points(seed: u32, count: u32) -> impl Iterator<Item = Vec2> {
    (0..count)
        .map(move |i| vec2(unit_float(hash(hash(seed, i), 0)), unit_float(hash(hash(seed, i), 1))))
}

/// Creates the inputs and outputs of a kernel for one batch. Parameters start at the port `first`.
fn batches(
    material: &CompiledMaterial,
    kernel: &lightbound_shader::Kernel,
    first: usize,
) -> (Batch, Batch) {
    let mut inputs = Batch::new(kernel.target(), first + material.parameters.len(), BATCH_SIZE);
    (0..BATCH_SIZE).for_each(|row| inputs.set_row(row, first, &material.parameters));
    (inputs, Batch::new(kernel.target(), kernel.outputs().len(), BATCH_SIZE))
}

/// Samples with the shader's own `sample` and `pdf`.
fn sample_with_shader(material: &CompiledMaterial, wo: Vec3, points: &[Vec2]) -> Vec<Sample> {
    let kernel = &material.binding.program.scatter;
    let (mut inputs, mut outputs) = batches(material, kernel, 5);
    let mut samples = Vec::with_capacity(points.len());
    for points in points.chunks_exact(BATCH_SIZE) {
        for (row, u) in points.iter().enumerate() {
            inputs.set_row(row, 0, &[u.x, u.y, wo.x, wo.y, wo.z].map(f32::to_bits));
        }
        kernel.run(&[], &inputs, &mut outputs);
        samples.extend((0..BATCH_SIZE).map(|row| {
            let [x, y, z, r, g, b, pdf] = outputs.floats(row, 0);
            (vec3(x, y, z), vec3(r, g, b), pdf)
        }));
    }
    samples
}

/// Samples directions and densities with `sample`, and evaluates s with the shader.
fn sample_with(
    material: &CompiledMaterial,
    wo: Vec3,
    points: &[Vec2],
    mut sample: impl FnMut(Vec2) -> Option<(Vec3, f32)>,
) -> Vec<Sample> {
    let kernel = &material.binding.program.evaluate;
    let (mut inputs, mut outputs) = batches(material, kernel, 6);
    let mut samples = Vec::with_capacity(points.len());
    for points in points.chunks_exact(BATCH_SIZE) {
        let mut sampled = [(wo, 0.0); BATCH_SIZE];
        for (row, (sampled, u)) in sampled.iter_mut().zip(points).enumerate() {
            *sampled = sample(*u).unwrap_or((wo, 0.0));
            let wi = sampled.0;
            inputs.set_row(row, 0, &[wi.x, wi.y, wi.z, wo.x, wo.y, wo.z].map(f32::to_bits));
        }
        kernel.run(&[], &inputs, &mut outputs);
        samples.extend(sampled.iter().enumerate().map(|(row, &(wi, pdf))| {
            let [r, g, b] = outputs.floats(row, 0);
            (wi, vec3(r, g, b), pdf)
        }));
    }
    samples
}

/// Measures the mean and the variance of s·L/pdf, and the time that `sample` takes.
fn measure(
    frames: &[Frame],
    light: &Environment,
    args: &Args,
    mut sample: impl FnMut(&[Vec2]) -> Vec<Sample>,
) -> SamplerStats {
    let mut stats = SamplerStats::default();
    for (k, frame) in (0..).zip(frames) {
        let points: Vec<_> = random_points(k, args.samples).collect();
        let start = Instant::now();
        let samples = sample(&points);
        stats.time_ns += start.elapsed().as_secs_f64() * 1e9 / samples.len() as f64;
        let weight = |&(wi, s, pdf): &Sample| match pdf > 0.0 {
            true => f64::from(luminance(s * light.radiance(frame.to_world(wi)) / pdf)),
            false => 0.0,
        };
        let (sum, squares) =
            samples.iter().map(weight).fold((0.0, 0.0), |(a, b), w| (a + w, b + w * w));
        let mean = sum / samples.len() as f64;
        stats.mean += mean;
        stats.variance += squares / samples.len() as f64 - mean * mean;
    }
    let n = frames.len() as f64;
    SamplerStats { variance: stats.variance / n, mean: stats.mean / n, time_ns: stats.time_ns / n }
}

/// Measures all [`SAMPLERS`] for a material and one angle. Returns their statistics and the number
/// of splits of a tree.
fn measure_samplers(
    material: &CompiledMaterial,
    angle: f32,
    frames: &[Frame],
    light: &Environment,
    args: &Args,
) -> ([SamplerStats; SAMPLERS.len()], usize) {
    let (sin, cos) = angle.to_radians().sin_cos();
    let wo = vec3(sin * AZIMUTH.cos(), sin * AZIMUTH.sin(), cos);
    let sides = material.binding.program.sides;
    let mut builder = AdaptiveBuilder::new(&material.kernels, &material.binding);
    let budget = SplitBudget { splits: args.splits, uncertainty: args.uncertainty };
    let parameters = || material.parameters.iter().copied();
    let mut tree = DirectionTree::cosine(sides);
    let hand = measure(frames, light, args, |points| sample_with_shader(material, wo, points));
    let point = measure(frames, light, args, |points| {
        sample_with(material, wo, points, |u| {
            builder.build(wo, parameters(), &budget, &mut tree);
            tree.sample(u)
        })
    });
    let table = TreeTable::new(sides, 1, SplitBudget::TABLE.splits, usize::MAX)
        .expect("the memory is not limited");
    let mut table_tree = || {
        table
            .tree(wo, |middle, tree| builder.build(middle, parameters(), &SplitBudget::TABLE, tree))
    };
    let tabulated = measure(frames, light, args, |points| {
        sample_with(material, wo, points, |u| table_tree().sample(u))
    });
    let cosine = DirectionTree::cosine(sides);
    let cosine = measure(frames, light, args, |points| {
        sample_with(material, wo, points, |u| cosine.sample(u))
    });
    ([hand, point, tabulated, cosine], tree.node_count())
}

/// The samplers, in the order of measurements.
const SAMPLERS: [&str; 4] = ["hand", "point", "table", "cosine"];

/// Pairs of samplers with printed ratios of variances.
const VARIANCE_RATIOS: [(usize, usize); 3] = [(1, 0), (2, 0), (3, 2)];

/// Returns the environment with clamped radiance.
fn clamp_radiance(map: &Environment) -> Environment {
    let mean =
        random_points(1, 100_000).map(|u| luminance(map.direction_at(u).radiance)).sum::<f32>()
            / 1e5;
    let clamped = |radiance: Vec3| {
        radiance * (MAX_RADIANCE_RATIO * mean / luminance(radiance).max(1e-9)).min(1.0)
    };
    map.map(clamped).expect("the scaled map is valid")
}

/// Samplers with printed errors at equal time, relative to the first sampler.
const EQUAL_TIME_SAMPLERS: [usize; 2] = [1, 2];

/// Number of rays per run of [`ray_time_ns`].
const RAYS: u32 = 4096;

/// Measures the nanoseconds to trace a cosine-distributed ray from a surface that the scene's
/// camera sees, including the environment lookup. Returns the minimum of several runs.
fn ray_time_ns(LoadedScene { scene, settings, .. }: &LoadedScene, light: &Environment) -> f64 {
    let (width, height) = (settings.resolution.0 as f32, settings.resolution.1 as f32);
    let secondary_ray = |(film, u): (Vec2, Vec2)| {
        let camera_ray = scene.camera.ray(film * vec2(width, height), Vec2::ZERO, 0.0)?.ray;
        let hit = scene.accel.intersect(&camera_ray);
        let surface = (!hit.is_miss()).then(|| scene.geometry.surface(&hit, camera_ray.d))?;
        let d = surface.frame.to_world(cosine_hemisphere(u));
        Some(Ray::new(surface.offset_ray_origin(d), d))
    };
    let rays: Vec<Ray> =
        random_points(1, RAYS).zip(random_points(2, RAYS)).filter_map(secondary_ray).collect();
    let mut blocked = Vec::new();
    let run = |_| {
        let start = Instant::now();
        scene.accel.occluded_batch(&rays, &mut blocked);
        black_box(rays.iter().map(|ray| light.radiance(ray.d)).sum::<Vec3>());
        start.elapsed().as_secs_f64() * 1e9 / rays.len() as f64
    };
    (0..50).map(run).fold(f64::INFINITY, f64::min)
}

/// Prints the table.
pub fn run(args: &Args) -> ExitCode {
    print_machine();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(cases::SCENE);
    let loaded = load(&path, &Overrides::default(), &mut Diagnostics::new(false))
        .unwrap_or_else(|error| panic!("{error:?}"));
    let environment: &Environment =
        loaded.scene.lights.environments().next().expect("the scene has an environment").1;
    let frames: Vec<Frame> = cases::frames()
        .into_iter()
        .map(|(n, rotation)| {
            Frame::from_normal_tangent(
                n,
                Frame::from_normal(n).to_world(vec3(rotation.cos(), rotation.sin(), 0.0)),
            )
        })
        .collect();
    let light = clamp_radiance(environment);
    let ray_ns = ray_time_ns(&loaded, &light);
    println!("{ray_ns:.0} ns for a ray and its environment lookup\n");
    let mut titles = vec!["material".to_owned()];
    titles.extend(SAMPLERS.map(str::to_owned));
    titles.extend(VARIANCE_RATIOS.map(|(a, b)| format!("{}/{}", SAMPLERS[a], SAMPLERS[b])));
    titles.extend(
        EQUAL_TIME_SAMPLERS
            .map(|k| format!("error at equal time, {}/{}", SAMPLERS[k], SAMPLERS[0])),
    );
    titles.push("cuts".to_owned());
    titles.extend(SAMPLERS.map(|name| format!("ns {name}")));
    print_head(&titles);
    for material in MATERIALS
        .iter()
        .filter(|m| args.materials.is_empty() || args.materials.iter().any(|name| name == m.shader))
    {
        let compiled = CompiledMaterial::new(material);
        let rows: Vec<_> = ANGLES
            .iter()
            .map(|&angle| (angle, measure_samplers(&compiled, angle, &frames, &light, args)))
            .collect();
        let print = |name: String, rows: &[&([SamplerStats; SAMPLERS.len()], usize)]| {
            let mean = |value: &dyn Fn(&[SamplerStats; SAMPLERS.len()]) -> f64| {
                geometric_mean(rows.iter().map(|row| value(&row.0)))
            };
            let cuts = rows.iter().map(|row| row.1).sum::<usize>() as f64 / rows.len() as f64;
            let mut cells = vec![name];
            cells.extend((0..SAMPLERS.len()).map(|k| {
                format!("{:.3}", mean(&|stats| stats[k].variance / stats[0].mean.powi(2)))
            }));
            cells.extend(VARIANCE_RATIOS.map(|(a, b)| {
                format!("{:.2}", mean(&|stats| stats[a].variance / stats[b].variance))
            }));
            let cost = |stats: &SamplerStats| stats.variance * (stats.time_ns + ray_ns);
            cells.extend(EQUAL_TIME_SAMPLERS.map(|k| {
                format!("{:.2}", mean(&|stats| (cost(&stats[k]) / cost(&stats[0])).sqrt()))
            }));
            cells.push(format!("{cuts:.0}"));
            cells.extend(
                (0..SAMPLERS.len()).map(|k| format!("{:.0}", mean(&|stats| stats[k].time_ns))),
            );
            print_row(cells);
        };
        if args.angles {
            for (angle, row) in &rows {
                print(format!("{}, {angle}°", cases::name(material)), &[row]);
            }
        }
        print(cases::name(material), &rows.iter().map(|(_, row)| row).collect::<Vec<_>>());
    }
    ExitCode::SUCCESS
}
