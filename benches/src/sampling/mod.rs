//! Importance sampling of directions: variance under a varying environment map, and cost. Compares
//! samplers derived from bounds with hand-written ones and cosine sampling, and with product
//! sampling of the same trees and the map.
//!
//! The estimator is s·L/pdf of one sampled direction, where s is the BRDF times the cosine, without
//! light sampling. Variances are those
//! of the luminance of one independent sample, averaged over frames of the surface. Angles are
//! averaged geometrically. Times are per sample and include everything: the tree of the shading
//! point or the lookup in a filled table, sampling, the density, and s.
//!
//! Each sampled direction also needs a ray. Errors at equal CPU time, √(variance × time), therefore
//! add two costs to each sample: a ray that leaves a surface of the scene, and the environment
//! lookup if it escapes. Other costs of a renderer are not included.

mod cases;

use crate::arguments::material;
use crate::materials;
use crate::report::{geometric_mean, print_head, print_machine, print_row};
use cases::{ANGLES, AZIMUTH, MATERIALS, MAX_RADIANCE_RATIO, Material};
use lightbound::direction_tree::{
    AdaptiveBuilder, BrdfKernels, DirectionTree, Product, ProductEnvironment, ShiftedTree,
    SplitBudget, TreeTable,
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

    /// Number of samples for each frame, angle and sampler, in whole batches of 128
    #[arg(long, default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(BATCH_SIZE as i64..))]
    samples: u32,

    /// Maximum number of splits of a tree
    #[arg(long, default_value_t = SplitBudget::POINT.splits)]
    cuts: usize,

    /// Fraction of the total that bounds may leave uncertain
    #[arg(long, default_value_t = SplitBudget::POINT.uncertainty)]
    open: f32,

    /// Print a row for each angle
    #[arg(long)]
    angles: bool,
}

/// Number of shading points in a batch.
const BATCH_SIZE: usize = 128;

/// A material that is ready to be sampled.
struct Subject {
    binding: ShaderBinding,
    kernels: BrdfKernels,
    parameters: Vec<u32>,
}

impl Subject {
    fn new(material: &Material) -> Subject {
        let (name, text) = materials::ALL
            .into_iter()
            .find(|(name, _)| *name == material.shader)
            .expect("the library has this material");
        let shader = materials::parse(name, text);
        let arena = Arena::new();
        let program = Program::compile(&arena, &shader, &Settings::default(), Target::best())
            .expect("it compiles");
        let words = |p: &lightbound_shader::Parameter| {
            let set = material
                .set
                .iter()
                .find(|(name, _)| *name == p.name)
                .map(|(_, values)| values.to_vec());
            let values = set.or_else(|| p.default.clone()).expect("the library has defaults");
            values.into_iter().map(|x| p.scalar.bits(x)).collect::<Vec<_>>()
        };
        let parameters = program.settable.iter().flat_map(words).collect();
        let kernels = BrdfKernels::compile(&arena, &program).expect("it compiles");
        Subject { binding: ShaderBinding::new(Arc::new(program), vec![]), kernels, parameters }
    }
}

/// A sampled direction, s and the pdf.
type Sample = (Vec3, Vec3, f32);

/// Measurements of a sampler for one angle.
#[derive(Clone, Copy, Debug, Default)]
struct Figures {
    variance: f64,
    mean: f64,
    /// Nanoseconds per sample.
    time: f64,
}

/// Random numbers in [0, 1)².
fn numbers(seed: u32, count: u32) -> impl Iterator<Item = Vec2> {
    (0..count)
        .map(move |i| vec2(unit_float(hash(hash(seed, i), 0)), unit_float(hash(hash(seed, i), 1))))
}

/// Inputs and outputs of a kernel for one batch.
fn batches(subject: &Subject, kernel: &lightbound_shader::Kernel, first: usize) -> (Batch, Batch) {
    let mut inputs = Batch::new(kernel.target(), first + subject.parameters.len(), BATCH_SIZE);
    (0..BATCH_SIZE).for_each(|row| inputs.set_row(row, first, &subject.parameters));
    (inputs, Batch::new(kernel.target(), kernel.outputs().len(), BATCH_SIZE))
}

/// Samples with the shader's own `sample` and `pdf`.
fn sample_with_shader(subject: &Subject, wo: Vec3, numbers: &[Vec2]) -> Vec<Sample> {
    let kernel = &subject.binding.program.scatter;
    let (mut inputs, mut outputs) = batches(subject, kernel, 5);
    let mut samples = Vec::with_capacity(numbers.len());
    for numbers in numbers.chunks_exact(BATCH_SIZE) {
        for (row, u) in numbers.iter().enumerate() {
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
    subject: &Subject,
    wo: Vec3,
    numbers: &[Vec2],
    mut sample: impl FnMut(Vec2) -> Option<(Vec3, f32)>,
) -> Vec<Sample> {
    let kernel = &subject.binding.program.evaluate;
    let (mut inputs, mut outputs) = batches(subject, kernel, 6);
    let mut samples = Vec::with_capacity(numbers.len());
    for numbers in numbers.chunks_exact(BATCH_SIZE) {
        let mut sampled = [(wo, 0.0); BATCH_SIZE];
        for (row, (sampled, u)) in sampled.iter_mut().zip(numbers).enumerate() {
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

/// Mean and variance of s·L/pdf, and the time that `sample` takes.
fn measure(
    frames: &[Frame],
    light: &Environment,
    args: &Args,
    mut sample: impl FnMut(&Frame, &[Vec2]) -> Vec<Sample>,
) -> Figures {
    let mut figures = Figures::default();
    for (k, frame) in (0..).zip(frames) {
        let numbers: Vec<_> = numbers(k, args.samples).collect();
        let start = Instant::now();
        let samples = sample(frame, &numbers);
        figures.time += start.elapsed().as_secs_f64() * 1e9 / samples.len() as f64;
        let weight = |&(wi, s, pdf): &Sample| match pdf > 0.0 {
            true => f64::from(luminance(s * light.radiance(frame.to_world(wi)) / pdf)),
            false => 0.0,
        };
        let (sum, squares) =
            samples.iter().map(weight).fold((0.0, 0.0), |(a, b), w| (a + w, b + w * w));
        let mean = sum / samples.len() as f64;
        figures.mean += mean;
        figures.variance += squares / samples.len() as f64 - mean * mean;
    }
    let n = frames.len() as f64;
    Figures { variance: figures.variance / n, mean: figures.mean / n, time: figures.time / n }
}

/// Measurements of a material for one angle, in the order of [`SAMPLERS`], and the number of splits
/// per shading point.
fn row(
    subject: &Subject,
    angle: f32,
    frames: &[Frame],
    light: &Light,
    args: &Args,
) -> ([Figures; SAMPLERS.len()], usize) {
    let (sin, cos) = angle.to_radians().sin_cos();
    let wo = vec3(sin * AZIMUTH.cos(), sin * AZIMUTH.sin(), cos);
    let sides = subject.binding.program.sides;
    let mut builder = AdaptiveBuilder::new(&subject.kernels, &subject.binding);
    let budget = SplitBudget { splits: args.cuts, uncertainty: args.open };
    let parameters = || subject.parameters.iter().copied();
    let mut tree = DirectionTree::cosine(sides);
    let environment = &light.environment;
    let product = |tree: ShiftedTree, frame: &Frame, u: Vec2| {
        let sample = Product::new(tree, environment, &light.products, [frame.t, frame.b, frame.n])
            .sample(u)?;
        Some((frame.local_direction(sample.wi), sample.pdf))
    };
    let hand =
        measure(frames, environment, args, |_, numbers| sample_with_shader(subject, wo, numbers));
    let point = measure(frames, environment, args, |_, numbers| {
        sample_with(subject, wo, numbers, |u| {
            builder.build(wo, parameters(), &budget, &mut tree);
            tree.sample(u)
        })
    });
    let point_product = measure(frames, environment, args, |frame, numbers| {
        sample_with(subject, wo, numbers, |u| {
            builder.build(wo, parameters(), &budget, &mut tree);
            product(tree.unshifted(), frame, u)
        })
    });
    let table = TreeTable::new(sides, 1, SplitBudget::TABLE.splits, usize::MAX)
        .expect("the memory is not limited");
    let mut table_tree = || {
        table
            .tree(wo, |middle, tree| builder.build(middle, parameters(), &SplitBudget::TABLE, tree))
    };
    let tabulated = measure(frames, environment, args, |_, numbers| {
        sample_with(subject, wo, numbers, |u| table_tree().sample(u))
    });
    let tabulated_product = measure(frames, environment, args, |frame, numbers| {
        sample_with(subject, wo, numbers, |u| product(table_tree(), frame, u))
    });
    let cosine = DirectionTree::cosine(sides);
    let cosine = measure(frames, environment, args, |_, numbers| {
        sample_with(subject, wo, numbers, |u| cosine.sample(u))
    });
    ([hand, point, tabulated, cosine, point_product, tabulated_product], tree.node_count())
}

/// The samplers, in the order of measurements.
const SAMPLERS: [&str; 6] = ["hand", "point", "table", "cosine", "point×map", "table×map"];

/// Ratios of variances to print, as pairs of samplers.
const RATIOS: [(usize, usize); 5] = [(1, 0), (2, 0), (3, 2), (4, 0), (5, 0)];

/// The environment, prepared for product sampling.
struct Light {
    environment: Environment,
    products: ProductEnvironment,
}

impl Light {
    /// The environment with clamped radiance.
    fn of(map: &Environment) -> Light {
        let mean =
            numbers(1, 100_000).map(|u| luminance(map.direction_at(u).radiance)).sum::<f32>() / 1e5;
        let clamped = |radiance: Vec3| {
            radiance * (MAX_RADIANCE_RATIO * mean / luminance(radiance).max(1e-9)).min(1.0)
        };
        let environment = map.map(clamped).expect("the scaled map is valid");
        let products = ProductEnvironment::new(&environment).expect("the environment is an image");
        Light { environment, products }
    }
}

/// Samplers whose errors at equal time are printed, relative to the first sampler.
const TIMED: [usize; 3] = [1, 2, 5];

/// Number of rays per timing.
const RAYS: u32 = 4096;

/// Nanoseconds to trace a cosine-distributed ray from a surface that the scene's camera sees,
/// including the environment lookup: the minimum of several runs.
fn ray_time(LoadedScene { scene, settings, .. }: &LoadedScene, light: &Environment) -> f64 {
    let (width, height) = (settings.resolution.0 as f32, settings.resolution.1 as f32);
    let seen = |(at, u): (Vec2, Vec2)| {
        let hit = scene.accel.intersect(&scene.camera.ray(at * vec2(width, height), Vec2::ZERO));
        let surface = (!hit.is_miss()).then(|| scene.geometry.surface(&hit))?;
        let d = surface.frame.to_world(cosine_hemisphere(u));
        Some(Ray::new(surface.offset_ray_origin(d), d))
    };
    let rays: Vec<Ray> = numbers(1, RAYS).zip(numbers(2, RAYS)).filter_map(seen).collect();
    let mut blocked = Vec::new();
    let run = |_| {
        let start = Instant::now();
        scene.accel.occluded_batch(&rays, &mut blocked);
        black_box(rays.iter().map(|ray| light.radiance(ray.d)).sum::<Vec3>());
        start.elapsed().as_secs_f64() * 1e9 / rays.len() as f64
    };
    (0..50).map(run).fold(f64::INFINITY, f64::min)
}

/// Runs the measurement.
pub fn run(args: &Args) -> ExitCode {
    print_machine();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(cases::SCENE);
    let loaded = load(&path, &Overrides::default(), &mut Diagnostics::new(false))
        .unwrap_or_else(|error| panic!("{error:?}"));
    let environment: &Environment =
        loaded.scene.lights.environments().next().expect("the scene has an environment").1;
    let frames: Vec<Frame> = cases::frames()
        .into_iter()
        .map(|(n, turn)| {
            Frame::from_normal_tangent(
                n,
                Frame::from_normal(n).to_world(vec3(turn.cos(), turn.sin(), 0.0)),
            )
        })
        .collect();
    let light = Light::of(environment);
    let ray = ray_time(&loaded, &light.environment);
    println!("{ray:.0} ns for a ray and its environment lookup\n");
    let mut titles = vec!["material".to_owned()];
    titles.extend(SAMPLERS.map(str::to_owned));
    titles.extend(RATIOS.map(|(a, b)| format!("{}/{}", SAMPLERS[a], SAMPLERS[b])));
    titles.extend(TIMED.map(|k| format!("error at equal time, {}/{}", SAMPLERS[k], SAMPLERS[0])));
    titles.push("cuts".to_owned());
    titles.extend(SAMPLERS.map(|name| format!("ns {name}")));
    print_head(&titles);
    for material in MATERIALS
        .iter()
        .filter(|m| args.materials.is_empty() || args.materials.iter().any(|name| name == m.shader))
    {
        let subject = Subject::new(material);
        let rows: Vec<_> = ANGLES
            .iter()
            .map(|&angle| (angle, row(&subject, angle, &frames, &light, args)))
            .collect();
        let print = |name: String, rows: &[&([Figures; SAMPLERS.len()], usize)]| {
            let mean = |of: &dyn Fn(&[Figures; SAMPLERS.len()]) -> f64| {
                geometric_mean(rows.iter().map(|row| of(&row.0)))
            };
            let cuts = rows.iter().map(|row| row.1).sum::<usize>() as f64 / rows.len() as f64;
            let mut cells = vec![name];
            cells.extend(
                [0, 1, 2, 3, 4, 5]
                    .map(|k| format!("{:.3}", mean(&|f| f[k].variance / f[0].mean.powi(2)))),
            );
            cells.extend(
                RATIOS.map(|(a, b)| format!("{:.2}", mean(&|f| f[a].variance / f[b].variance))),
            );
            let cost = |f: &Figures| f.variance * (f.time + ray);
            cells.extend(
                TIMED.map(|k| format!("{:.2}", mean(&|f| (cost(&f[k]) / cost(&f[0])).sqrt()))),
            );
            cells.push(format!("{cuts:.0}"));
            cells.extend([0, 1, 2, 3, 4, 5].map(|k| format!("{:.0}", mean(&|f| f[k].time))));
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
