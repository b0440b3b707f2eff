//! Importance sampling of directions: variance under a varying environment map, and cost, of
//! samplers that are derived from bounds, beside those written by hand and the cosine; and of
//! products of the same trees with the map.
//!
//! The estimator is s·L/pdf of a direction that is drawn, no light sample beside it. Variances are
//! of one independent sample of its luminance, as means over frames of the surface; angles are
//! summed up by geometric means. Times are those of a sample with all that belongs to it: the tree
//! of the point, or its place in a table that is full, the draw, the density, and s.
//!
//! A direction is of no use without its ray: errors at equal core-seconds, which are roots of
//! variance × time, count for each sample a ray that leaves a surface of the scene, and the look-up
//! of the light that it meets. Nothing else of a renderer is counted.

mod cases;

use crate::arguments::material;
use crate::materials;
use crate::report::{geometric_mean, print_head, print_machine, print_row};
use cases::{ANGLES, AZIMUTH, BRIGHTEST, MATERIALS, Material};
use lightbound::direction_tree::{
    BrdfKernels, Budget, DirectionTree, Grower, Product, ProductSky, ShiftedTree, TreeTable,
};
use lightbound::light::Environment;
use lightbound::material::{Bound, Program};
use lightbound::math::{Frame, Ray, Vec2, Vec3, vec2, vec3};
use lightbound::sampling::warp::cosine_hemisphere;
use lightbound::sampling::{hash, luminance, unit_float};
use lightbound::scene::Scene;
use lightbound::scene::build::{Overrides, load};
use lightbound::scene::diagnostics::Diagnostics;
use lightbound_shader::{Arena, Batch, Settings, Target};
use std::hint::black_box;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

/// Variance and cost of derived samplers, beside those written by hand
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Materials of the library [default: all six]
    #[arg(long, value_delimiter = ',', value_parser = material(), value_name = "NAME")]
    materials: Vec<String>,

    /// Samples of each frame, angle and sampler, in whole batches of 128
    #[arg(long, default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(CHUNK as i64..))]
    samples: u32,

    /// Cells that are cut for a tree, at most
    #[arg(long, default_value_t = Budget::POINT.cuts)]
    cuts: usize,

    /// Share of the whole that bounds may leave open
    #[arg(long, default_value_t = Budget::POINT.open)]
    open: f32,

    /// Print a row for each angle
    #[arg(long)]
    angles: bool,
}

/// Points that are shaded together.
const CHUNK: usize = 128;

/// A material, ready to be sampled.
struct Subject {
    bound: Bound,
    kernels: BrdfKernels,
    members: Vec<u32>,
}

impl Subject {
    fn new(material: &Material) -> Subject {
        let (name, text) = materials::ALL
            .into_iter()
            .find(|(name, _)| *name == material.shader)
            .expect("it is one of the six");
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
        let members = program.settable.iter().flat_map(words).collect();
        let kernels = BrdfKernels::compile(&arena, &program).expect("it compiles");
        Subject { bound: Bound::new(Arc::new(program), vec![]), kernels, members }
    }
}

/// A direction with s and the density.
type Sample = (Vec3, Vec3, f32);

/// What is measured of a sampler from one angle.
#[derive(Clone, Copy, Debug, Default)]
struct Figures {
    variance: f64,
    mean: f64,
    /// Nanoseconds of a sample.
    time: f64,
}

/// Numbers in [0, 1)².
fn numbers(seed: u32, count: u32) -> impl Iterator<Item = Vec2> {
    (0..count)
        .map(move |i| vec2(unit_float(hash(hash(seed, i), 0)), unit_float(hash(hash(seed, i), 1))))
}

/// Inputs and outputs of a function for a chunk.
fn batches(subject: &Subject, kernel: &lightbound_shader::Kernel, first: usize) -> (Batch, Batch) {
    let mut inputs = Batch::new(kernel.target(), first + subject.members.len(), CHUNK);
    (0..CHUNK).for_each(|row| inputs.set_row(row, first, &subject.members));
    (inputs, Batch::new(kernel.target(), kernel.outputs().len(), CHUNK))
}

/// Samples by the shader's own functions.
fn by_hand(subject: &Subject, wo: Vec3, numbers: &[Vec2]) -> Vec<Sample> {
    let kernel = &subject.bound.program.scatter;
    let (mut inputs, mut outputs) = batches(subject, kernel, 5);
    let mut samples = Vec::with_capacity(numbers.len());
    for numbers in numbers.chunks_exact(CHUNK) {
        for (row, u) in numbers.iter().enumerate() {
            inputs.set_row(row, 0, &[u.x, u.y, wo.x, wo.y, wo.z].map(f32::to_bits));
        }
        kernel.run(&[], &inputs, &mut outputs);
        samples.extend((0..CHUNK).map(|row| {
            let [x, y, z, r, g, b, pdf] = outputs.floats(row, 0);
            (vec3(x, y, z), vec3(r, g, b), pdf)
        }));
    }
    samples
}

/// Samples whose directions and densities come from `draw`, and s from the shader.
fn by_draws(
    subject: &Subject,
    wo: Vec3,
    numbers: &[Vec2],
    mut draw: impl FnMut(Vec2) -> Option<(Vec3, f32)>,
) -> Vec<Sample> {
    let kernel = &subject.bound.program.evaluate;
    let (mut inputs, mut outputs) = batches(subject, kernel, 6);
    let mut samples = Vec::with_capacity(numbers.len());
    for numbers in numbers.chunks_exact(CHUNK) {
        let mut drawn = [(wo, 0.0); CHUNK];
        for (row, (drawn, u)) in drawn.iter_mut().zip(numbers).enumerate() {
            *drawn = draw(*u).unwrap_or((wo, 0.0));
            let wi = drawn.0;
            inputs.set_row(row, 0, &[wi.x, wi.y, wi.z, wo.x, wo.y, wo.z].map(f32::to_bits));
        }
        kernel.run(&[], &inputs, &mut outputs);
        samples.extend(drawn.iter().enumerate().map(|(row, &(wi, pdf))| {
            let [r, g, b] = outputs.floats(row, 0);
            (wi, vec3(r, g, b), pdf)
        }));
    }
    samples
}

/// Mean and variance of s·L/pdf, and the time that `draw` takes.
fn measure(
    frames: &[Frame],
    light: &Environment,
    args: &Args,
    mut draw: impl FnMut(&Frame, &[Vec2]) -> Vec<Sample>,
) -> Figures {
    let mut figures = Figures::default();
    for (k, frame) in (0..).zip(frames) {
        let numbers: Vec<_> = numbers(k, args.samples).collect();
        let start = Instant::now();
        let samples = draw(frame, &numbers);
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

/// Figures of one material from one angle, in the order of [`SAMPLERS`]; and how many cells are cut
/// for a point.
fn row(
    subject: &Subject,
    angle: f32,
    frames: &[Frame],
    light: &Light,
    args: &Args,
) -> ([Figures; SAMPLERS.len()], usize) {
    let (sin, cos) = angle.to_radians().sin_cos();
    let wo = vec3(sin * AZIMUTH.cos(), sin * AZIMUTH.sin(), cos);
    let sides = subject.bound.program.sides;
    let mut grower = Grower::new(&subject.kernels, &subject.bound);
    let budget = Budget { cuts: args.cuts, open: args.open };
    let members = || subject.members.iter().copied();
    let mut tree = DirectionTree::cosine(sides);
    let environment = &light.environment;
    let product = |tree: ShiftedTree, frame: &Frame, u: Vec2| {
        let sample = Product::new(tree, environment, &light.products, [frame.t, frame.b, frame.n])
            .draw(u)?;
        Some((frame.local_direction(sample.wi), sample.pdf))
    };
    let hand = measure(frames, environment, args, |_, numbers| by_hand(subject, wo, numbers));
    let grown = measure(frames, environment, args, |_, numbers| {
        by_draws(subject, wo, numbers, |u| {
            grower.grow(wo, members(), &budget, &mut tree);
            tree.draw(u)
        })
    });
    let grown_product = measure(frames, environment, args, |frame, numbers| {
        by_draws(subject, wo, numbers, |u| {
            grower.grow(wo, members(), &budget, &mut tree);
            product(tree.centred(), frame, u)
        })
    });
    let table = TreeTable::new(sides, 1, Budget::TABLE.cuts, usize::MAX).expect("there is room");
    let mut of_table =
        || table.tree(wo, |middle, tree| grower.grow(middle, members(), &Budget::TABLE, tree));
    let tabled = measure(frames, environment, args, |_, numbers| {
        by_draws(subject, wo, numbers, |u| of_table().draw(u))
    });
    let tabled_product = measure(frames, environment, args, |frame, numbers| {
        by_draws(subject, wo, numbers, |u| product(of_table(), frame, u))
    });
    let cosine = DirectionTree::cosine(sides);
    let cosine = measure(frames, environment, args, |_, numbers| {
        by_draws(subject, wo, numbers, |u| cosine.draw(u))
    });
    ([hand, grown, tabled, cosine, grown_product, tabled_product], tree.nodes())
}

/// What is measured, in this order.
const SAMPLERS: [&str; 6] = ["hand", "point", "table", "cosine", "point×sky", "table×sky"];

/// Ratios of variances that are printed.
const RATIOS: [(usize, usize); 5] = [(1, 0), (2, 0), (3, 2), (4, 0), (5, 0)];

/// The light, ready for products.
struct Light {
    environment: Environment,
    products: ProductSky,
}

impl Light {
    /// That of a sky, cut.
    fn of(sky: &Environment) -> Light {
        let mean = numbers(1, 100_000).map(|u| luminance(sky.place(u).radiance)).sum::<f32>() / 1e5;
        let cut =
            |radiance: Vec3| radiance * (BRIGHTEST * mean / luminance(radiance).max(1e-9)).min(1.0);
        let environment = sky.map(cut).expect("it was one");
        let products = ProductSky::new(&environment).expect("it is an image");
        Light { environment, products }
    }
}

/// Samplers whose errors at equal time are printed, beside the first.
const TIMED: [usize; 3] = [1, 2, 5];

/// Rays whose time is taken at once.
const RAYS: u32 = 4096;

/// Nanoseconds of a ray that leaves a surface which the scene's camera sees, by the cosine, and of
/// the light from there: the least of several runs.
fn ray_time(scene: &Scene, light: &Environment) -> f64 {
    let (width, height) = (scene.film.resolution.0 as f32, scene.film.resolution.1 as f32);
    let seen = |(at, u): (Vec2, Vec2)| {
        let hit = scene.accel.intersect(&scene.camera.ray(at * vec2(width, height), Vec2::ZERO));
        let surface = (!hit.is_miss()).then(|| scene.geometry.surface(&hit))?;
        let d = surface.frame.to_world(cosine_hemisphere(u));
        Some(Ray::new(surface.origin_towards(d), d))
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

/// Runs it.
pub fn run(args: &Args) -> ExitCode {
    print_machine();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(cases::SCENE);
    let loaded = load(&path, &Overrides::default(), &mut Diagnostics::new(false))
        .unwrap_or_else(|error| panic!("{error:?}"));
    let environment: &Environment =
        loaded.scene.lights.environments().next().expect("the scene has a sky").1;
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
    let ray = ray_time(&loaded.scene, &light.environment);
    println!("{ray:.0} ns for a ray and its light\n");
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
