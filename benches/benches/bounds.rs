//! Time to compute bounds for eight clusters, on one thread.
//!
//! `cargo bench -p lightbound-benches --bench bounds`. Clusters are boxes of all sizes around a
//! shading point, as in a light tree. Half of them lie around the mirror direction. Measures
//! direction boxes of clusters, upper bounds on materials over them, compiled in each mode and
//! hand-derived, and eight evaluations for comparison. Bounds are checked before they are timed.
//! The fastest of many interleaved rounds is reported.

use lightbound::integrator::material_bound::{BoundEvaluator, MaterialBounds};
use lightbound::material::{Program, ShaderBinding, library};
use lightbound::settings::BoundMode;
use lightbound_math::direction_box::{LANES, Lanes};
use lightbound_math::sampling::{hash, unit_float};
use lightbound_math::{DirectionBoxes, Frame, Vec3, Viewpoint, vec3};
use lightbound_shader::{Arena, Settings, Shader, Target};
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

/// Number of 8-wide groups of clusters, few enough to stay in the cache.
const GROUPS: usize = 256;

/// Number of timed rounds over all groups.
const ROUNDS: usize = 400;

const MATERIALS: [&str; 6] = ["diffuse", "phong", "isoward", "ward", "ashikhmin", "fractal"];

const MODES: [(&str, BoundMode); 4] = [
    ("naive", BoundMode::Naive),
    ("optimized", BoundMode::Optimized),
    ("related", BoundMode::Related),
    ("hand", BoundMode::Hand),
];

/// Corners of eight clusters, and a light position in each.
struct ClusterGroup {
    lo: [Lanes; 3],
    hi: [Lanes; 3],
    lights: [Vec3; LANES],
}

fn main() {
    let random = &mut Random(0);
    let frame = Frame::from_normal(vec3(0.36, 0.48, 0.8));
    let viewpoint = Viewpoint::new(vec3(0.5, -0.3, 0.2), &frame, 1.0);
    let wo = viewpoint.local_direction(vec3(0.6, 0.0, 0.8));
    let mirror = frame.to_world(vec3(-wo.x, -wo.y, wo.z));
    let groups: Vec<ClusterGroup> =
        (0..GROUPS).map(|_| cluster_group(random, vec3(0.5, -0.3, 0.2), mirror)).collect();
    let axes: Vec<[Lanes; 3]> =
        groups.iter().map(|group| lanes(group.lights.map(|q| q.normalize()))).collect();
    let [positions, directions] = fastest([
        &mut || {
            groups.iter().for_each(|group| {
                _ = black_box(viewpoint.to_positions(black_box(&group.lo), &group.hi))
            })
        },
        &mut || {
            axes.iter().for_each(|axis| {
                _ = black_box(viewpoint.to_directions(black_box(axis), &[0.9; LANES]))
            })
        },
    ]);
    println!(
        "Direction boxes: {positions:.0} ns for eight boxes of positions, {directions:.0} ns for \
         eight cones.\n"
    );
    let boxes: Vec<_> =
        groups.iter().map(|group| viewpoint.to_positions(&group.lo, &group.hi)).collect();
    print!("{:10} {:6}", "material", "target");
    MODES.iter().for_each(|(name, _)| print!(" {name:>10}"));
    println!(" {:>10}", "evaluation");
    let mut targets = vec![Target::Sse, Target::best()];
    targets.retain(|target| target.is_available());
    targets.dedup();
    for name in MATERIALS {
        for &target in &targets {
            row(name, target, wo, &boxes, &groups, &viewpoint);
        }
    }
}

/// Measures a material and prints its row.
fn row(
    name: &str,
    target: Target,
    wo: Vec3,
    boxes: &[DirectionBoxes],
    groups: &[ClusterGroup],
    viewpoint: &Viewpoint,
) {
    let entry = library::find(name).expect("the library has this shader");
    let shader = Shader::parse(entry.name, entry.text).expect("shaders of the library are valid");
    let program = Program::compile(&Arena::new(), &shader, &Settings::default(), target)
        .expect("shaders of the library compile");
    let parameters: Vec<u32> = program
        .settable
        .iter()
        .flat_map(|p| p.default.iter().flatten().map(|&x| p.scalar.bits(x)).collect::<Vec<_>>())
        .collect();
    let shaders = [ShaderBinding::new(Arc::new(program), vec![])];
    let compiled = MODES.map(|(_, mode)| MaterialBounds::compile(&shaders, mode).ok());
    let mut evaluators = compiled.each_ref().map(|bounds| bounds.as_ref().map(BoundEvaluator::new));
    let p = vec3(0.5, -0.3, 0.2);
    let wi: Vec<[Vec3; LANES]> = groups
        .iter()
        .map(|group| group.lights.map(|q| viewpoint.local_direction((q - p).normalize())))
        .collect();
    for evaluator in evaluators.iter_mut().flatten() {
        evaluator.begin_with_parameters(0, wo, &parameters);
        for (boxes, wi) in boxes.iter().zip(&wi) {
            let (bounds, values) = (evaluator.bound(boxes), evaluator.evaluate(wi));
            assert!(
                (0..LANES).all(|lane| (0..3).all(|k| values[lane][k] <= bounds[k][lane])),
                "{name}: a bound is below a value"
            );
        }
    }
    let [naive, optimized, related, hand] = &mut evaluators;
    let bound = |evaluator: &mut Option<BoundEvaluator>| {
        if let Some(evaluator) = evaluator {
            boxes.iter().for_each(|boxes| _ = black_box(evaluator.bound(black_box(boxes))));
        }
    };
    let mut evaluator =
        compiled[0].as_ref().map(BoundEvaluator::new).expect("naive bounds compile");
    evaluator.begin_with_parameters(0, wo, &parameters);
    let times = fastest([
        &mut || bound(naive),
        &mut || bound(optimized),
        &mut || bound(related),
        &mut || bound(hand),
        &mut || wi.iter().for_each(|wi| _ = black_box(evaluator.evaluate(black_box(wi)))),
    ]);
    print!("{name:10} {:6}", target.name());
    for (k, nanoseconds) in times.into_iter().enumerate() {
        match compiled.get(k) {
            Some(None) => print!(" {:>10}", "–"),
            _ => print!(" {nanoseconds:>10.0}"),
        }
    }
    println!();
}

/// Returns the nanoseconds per group of the fastest round of each function.
fn fastest<const N: usize>(mut runs: [&mut dyn FnMut(); N]) -> [f64; N] {
    let mut best = [f64::INFINITY; N];
    for _ in 0..ROUNDS {
        for (run, best) in runs.iter_mut().zip(&mut best) {
            let start = Instant::now();
            run();
            *best = best.min(start.elapsed().as_secs_f64() * 1e9 / GROUPS as f64);
        }
    }
    best
}

/// A counter-based generator of uniform numbers.
struct Random(u32);

impl Random {
    fn next(&mut self) -> f32 {
        self.0 += 1;
        unit_float(hash(17, self.0))
    }

    fn in_cube(&mut self) -> Vec3 {
        vec3(self.next(), self.next(), self.next()) * 2.0 - 1.0
    }
}

/// Converts eight vectors to a structure of arrays.
fn lanes(vectors: [Vec3; LANES]) -> [Lanes; 3] {
    [0, 1, 2].map(|axis| vectors.map(|v| v[axis]))
}

/// Returns clusters around p. Clusters in even lanes lie around the mirror direction.
fn cluster_group(random: &mut Random, p: Vec3, mirror: Vec3) -> ClusterGroup {
    let clusters: [(Vec3, Vec3); LANES] = std::array::from_fn(|lane| {
        let size = 2f32.powi(-(random.next() * 8.0) as i32);
        let offset =
            if lane % 2 == 0 { mirror + size * random.in_cube() } else { random.in_cube() };
        (p + 2.0 * offset, size * random.in_cube().abs())
    });
    ClusterGroup {
        lo: lanes(clusters.map(|(middle, half)| middle - half)),
        hi: lanes(clusters.map(|(middle, half)| middle + half)),
        lights: clusters.map(|(middle, half)| middle + half * random.in_cube()),
    }
}
