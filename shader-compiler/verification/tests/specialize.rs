//! Specialized code of the material library and of the study's shaders returns the bits of general
//! code, but for signs of zeros, on all targets, and its bounds contain them.

use lightbound_shader::bounding::{
    BoundingKernel, BoundsBatch, BoxBatch, Frame, Integrand, IntervalInputs, Ranges,
    parameter_bounds,
};
use lightbound_shader::interval::Bounds;
use lightbound_shader::ir::{Function, Type};
use lightbound_shader::lift::{BoundSides, Options};
use lightbound_shader::random::Random;
use lightbound_shader::relations::Relations;
use lightbound_shader::scattering::{Functions, diffuse_words};
use lightbound_shader::testing::{same, targets};
use lightbound_shader::{
    Arena, Batch, Kernel, Parameter, Settings, Setup, Shader, SurfaceSides, Target, passes,
};
use std::fs;
use std::path::Path;

/// The shaders of the library and of the study that have no textures.
fn shaders() -> Vec<Shader> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folders = ["assets/shaders", "shader-compiler/study/shaders"].map(|path| root.join(path));
    let files = folders.iter().flat_map(|folder| fs::read_dir(folder).expect("it exists"));
    let mut paths: Vec<_> = files.map(|file| file.expect("it can be read").path()).collect();
    paths.sort();
    let parse = |path: &Path| {
        let text = fs::read_to_string(path).expect("it can be read");
        Shader::parse(&path.display().to_string(), &text).unwrap_or_else(|error| panic!("{error}"))
    };
    paths.iter().map(|path| parse(path)).filter(|shader| shader.textures().is_empty()).collect()
}

/// What is known of a word: a constant that is the default, 0, 1 or random, or only its range.
fn known(random: &mut Random, parameter: &Parameter, component: usize) -> Bounds {
    let general = parameter_bounds(parameter, Ranges::Declared);
    let default = parameter.default.as_ref().map(|default| default[component]);
    let constant = |x: f64| Bounds::constant(general.ty(), parameter.scalar.bits(x));
    let candidate = match random.below(6) {
        0 | 1 => return general,
        2 => constant(0.0),
        3 => constant(1.0),
        4 => constant(default.unwrap_or(0.5)),
        _ => constant(number(random, parameter)),
    };
    if candidate.meet(&general).is_empty() { general } else { candidate }
}

/// A random number in a parameter's range.
fn number(random: &mut Random, parameter: &Parameter) -> f64 {
    let [low, high] = parameter.range.map(|x| x.clamp(-1e3, 1e3));
    let t = match random.below(4) {
        0 => 0.0,
        1 => 1.0,
        _ => random.below(1 << 20) as f64 / f64::from(1 << 20),
    };
    let x = low + t * (high - low);
    if parameter.scalar == lightbound_shader::Scalar::F32 { x } else { x.round() }
}

fn uniform(random: &mut Random) -> f32 {
    random.below(1 << 24) as f32 / (1 << 24) as f32
}

/// A unit vector, sometimes along an axis or near the horizon.
fn direction(random: &mut Random) -> [f32; 3] {
    let z = match random.below(8) {
        0 => *random.pick(&[0.0, 1.0, -1.0]),
        1 => 1e-3 * f64::from(uniform(random)),
        _ => 2.0 * f64::from(uniform(random)) - 1.0,
    };
    let (r, phi) = ((1.0 - z * z).sqrt(), std::f64::consts::TAU * f64::from(uniform(random)));
    [r * libm::cos(phi), r * libm::sin(phi), z].map(|x| x as f32)
}

/// Runs a function on all rows.
fn results(function: &Function, target: Target, rows: &[Vec<u32>]) -> Vec<Vec<u32>> {
    let kernel = Kernel::compile(&Arena::new(), &passes::lower(function), target)
        .unwrap_or_else(|error| panic!("{error}"));
    let mut inputs = Batch::new(target, function.inputs.len(), rows.len());
    let mut outputs = Batch::new(target, function.outputs.len(), rows.len());
    for (index, row) in rows.iter().enumerate() {
        inputs.set_row(index, 0, row);
    }
    inputs.truncate(rows.len());
    kernel.run(&[], &inputs, &mut outputs);
    (0..rows.len())
        .map(|row| (0..function.outputs.len()).map(|port| outputs.bits(row, port)).collect())
        .collect()
}

/// Compares `rows` evaluations of each function of a shader for `cases` random choices of constants.
/// Returns the number of evaluations.
fn check(shader: &Shader, cases: u64, rows: usize) -> usize {
    let general = Functions::new(shader, &Settings::default()).expect("it is valid");
    let words: Vec<_> =
        shader.settable().iter().flat_map(|p| (0..p.size).map(move |k| (p, k))).collect();
    let mut evaluations = 0;
    for seed in 0..cases {
        let mut random = Random::new(seed);
        let bounds: Vec<_> = words.iter().map(|&(p, k)| known(&mut random, p, k)).collect();
        let (special, members) = general.specialize(&bounds);
        let parameters: Vec<Vec<u32>> = (0..rows)
            .map(|_| {
                let word = |(&(p, _), bounds): (&(&Parameter, usize), &Bounds)| {
                    let bits = p.scalar.bits(number(&mut random, p));
                    if bounds.contains(bits) { bits } else { only_member(bounds) }
                };
                std::iter::zip(&words, &bounds).map(word).collect()
            })
            .collect();
        let mut arguments = |start: fn(&mut Random) -> Vec<f32>| -> Vec<Vec<u32>> {
            (0..rows).map(|_| start(&mut random).iter().map(|x| x.to_bits()).collect()).collect()
        };
        let pair = |random: &mut Random| [direction(random), direction(random)].concat();
        let sample = |random: &mut Random| {
            let u = [uniform(random), uniform(random)];
            [&u[..], &direction(random)].concat()
        };
        let surface =
            |random: &mut Random| (0..11).map(|_| 8.0 * uniform(random) - 4.0).collect::<Vec<_>>();
        let (pairs, samples, surfaces) = (arguments(pair), arguments(sample), arguments(surface));
        for target in targets() {
            let with = |arguments: &[Vec<u32>], rest: &[Vec<u32>]| -> Vec<Vec<u32>> {
                std::iter::zip(arguments, rest).map(|(a, b)| [&a[..], b].concat()).collect()
            };
            let compare = |general: &Function, special: &Function, rows: &[Vec<u32>]| {
                let (expected, actual) =
                    (results(general, target, rows), results(special, target, rows));
                for ((row, a_row), b_row) in rows.iter().zip(&expected).zip(&actual) {
                    for (port, (&a, &b)) in general.outputs.iter().zip(a_row.iter().zip(b_row)) {
                        let are_zeros = port.ty == Type::F32 && (a | b) << 1 == 0;
                        let is_direction = port.name.starts_with("wi.");
                        let may_differ =
                            !is_direction && (are_zeros || !has_unit_sample(general, a_row));
                        assert!(
                            same(port.ty, a, b) || may_differ,
                            "{} on {target}, case {seed}: `{}` is {b:#x} instead of {a:#x} for {:?}",
                            shader.name(),
                            port.name,
                            row.iter().map(|&bits| f32::from_bits(bits)).collect::<Vec<_>>(),
                        );
                    }
                }
                expected
            };
            let members_of_points = match (&general.setup, &special.setup) {
                (Some(general), Some(special)) => {
                    let mut all = compare(general, special, &with(&surfaces, &parameters));
                    all.iter_mut().for_each(|row| row.truncate(members.len()));
                    for row in &all {
                        let all_contained = std::iter::zip(row, &members)
                            .all(|(&bits, bounds)| bounds.contains(bits));
                        assert!(all_contained, "{}: {row:x?}", shader.name());
                    }
                    all
                }
                _ => parameters.clone(),
            };
            compare(&general.evaluate, &special.evaluate, &with(&pairs, &members_of_points));
            if let Some(specular) = &special.specular {
                let mut rows = with(&pairs, &members_of_points);
                for row in &mut rows {
                    diffuse_words(shader.members()).iter().for_each(|&word| row[6 + word] = 0);
                }
                compare(&general.evaluate, specular, &rows);
            }
            compare(&general.scatter, &special.scatter, &with(&samples, &members_of_points));
            evaluations += 2 * rows;
        }
    }
    evaluations
}

/// Checks that bounds of a specialized s contain the general s for directions in boxes.
fn check_bounds(shader: &Shader, cases: u64, boxes: usize) {
    let settings = Settings { setup: Setup::Precomputed, ..Settings::default() };
    let general =
        Integrand::new(shader, &settings, Frame::Local).unwrap_or_else(|error| panic!("{error}"));
    let words: Vec<_> =
        shader.members().iter().flat_map(|p| (0..p.size).map(move |k| (p, k))).collect();
    for seed in 0..cases {
        let mut random = Random::new(seed);
        let known: Vec<_> = words.iter().map(|&(p, k)| known(&mut random, p, k)).collect();
        let special = general.clone().specialize(known.clone());
        let options =
            Options { sides: BoundSides::Both, relations: Relations::all(), ..Options::default() };
        let inputs = special.inputs(IntervalInputs::Light, Ranges::Declared);
        let lifted = special.bound(&inputs, &options);
        let kernel = BoundingKernel::compile(&Arena::new(), &lifted, Target::best())
            .unwrap_or_else(|error| panic!("{error}"));
        let mut batch = BoxBatch::new(&kernel, boxes);
        let mut members = Vec::new();
        for row in 0..boxes {
            let (wi, mut wo) = (direction(&mut random), direction(&mut random));
            if shader.sides() == SurfaceSides::One {
                wo[2] = wo[2].abs();
            }
            let radius = uniform(&mut random).powi(3);
            for (k, &x) in wi.iter().enumerate() {
                batch.set(row, k, [(x - radius).max(-1.0), (x + radius).min(1.0)]);
            }
            let mut member: Vec<_> = wi.iter().chain(&wo).map(|x| x.to_bits()).collect();
            member.extend(std::iter::zip(&words, &known).map(|(&(p, _), bounds)| {
                let bits = p.scalar.bits(number(&mut random, p));
                if bounds.contains(bits) { bits } else { only_member(bounds) }
            }));
            (3..member.len()).for_each(|k| batch.set_bits(row, k, [member[k]; 2]));
            members.push(member);
        }
        let mut bounds = BoundsBatch::new(&kernel, boxes);
        kernel.run(&[], &batch, &mut bounds);
        for (row, values) in results(&general.point, Target::best(), &members).iter().enumerate() {
            for (output, &bits) in values[..3].iter().enumerate() {
                let (x, [low, high]) = (f32::from_bits(bits), bounds.get(row, output));
                assert!(
                    x.is_nan() || low <= x && x <= high,
                    "{}, case {seed}, box {row}: {x} is not in [{low}, {high}]",
                    shader.name()
                );
            }
        }
    }
}

#[test]
fn bounds_of_specialized_materials_contain_general_results() {
    for shader in shaders() {
        check_bounds(&shader, 12, 256);
    }
}

/// Whether the sampled direction, if there is one, is a unit vector with the precision of
/// `relations::Axis`, which code relies on.
fn has_unit_sample(function: &Function, outputs: &[u32]) -> bool {
    if function.outputs[0].name != "wi.x" {
        return true;
    }
    let square = |&bits: &u32| f64::from(f32::from_bits(bits)).powi(2);
    (outputs[..3].iter().map(square).sum::<f64>() - 1.0).abs() <= 0.5_f64.powi(21)
}

fn only_member(bounds: &Bounds) -> u32 {
    match bounds {
        Bounds::Float(floats) if floats.negative_zero && !floats.positive_zero => {
            (-0.0_f32).to_bits()
        }
        Bounds::Float(floats) => floats.low().to_bits(),
        Bounds::Int(ints) => ints.hull().expect("it is not empty")[0] as u32,
        Bounds::Bool(bools) => {
            if bools.may_be_true {
                !0
            } else {
                0
            }
        }
    }
}

#[test]
fn specialized_materials_return_the_bits_of_general_ones() {
    for shader in shaders() {
        check(&shader, 24, 64);
    }
}

#[test]
#[ignore = "10⁷ evaluations: cargo test -p lightbound-verification --test specialize -- --ignored"]
fn specialized_materials_return_the_bits_of_general_ones_for_many_inputs() {
    let evaluations: usize = shaders().iter().map(|shader| check(shader, 400, 512)).sum();
    assert!(evaluations >= 10_000_000, "{evaluations}");
    eprintln!("{evaluations} evaluations");
}
