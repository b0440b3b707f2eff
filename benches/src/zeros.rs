//! Tests for zero in the code of materials (Stephenson and Rangan, *AZP*, 2020), against code
//! without them: time, and the time to compile.
//!
//! The cases are all shaders of the library in three workloads, each with the functions of a path
//! tracer, s with its density and sampling. Directions of 16 adjacent rows are within a cone of 15
//! degrees around random ones, as at adjacent pixels; light comes from any side, and views from
//! above. Parameters are
//!
//! - *defaults*, for which both codes are specialized, as in the renderer;
//! - *masks*: each parameter that may be 0 is 0 in half of the tiles of 64 rows; elsewhere, and other
//!   parameters, within a tenth of the default, or below half of the range if the default is 0;
//! - *scattered*: the same, in random order of rows, so that whole groups are seldom zero.
//!
//! Profiles and decisions are from other rows than the reported times.

use crate::arguments::positive;
use crate::materials;
use crate::report::{geometric_mean, invalid_input, print_head, print_machine, print_row};
use lightbound::material::library::LIBRARY;
use lightbound_shader::backend::x86::{Code, Isa};
use lightbound_shader::bounding::{Ranges, parameter_bounds};
use lightbound_shader::interval::Bounds;
use lightbound_shader::ir::Function;
use lightbound_shader::random::Random;
use lightbound_shader::scattering::Functions;
use lightbound_shader::specialize::zeros::{Candidates, Counts, MAX_TIME_RATIO, Versions};
use lightbound_shader::{Arena, Batch, Kernel, Parameter, Settings, Setup, Shader, Target, passes};
use lightbound_study::cost::{Budget, Candidate, measure};
use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Tests for zero in the code of materials, against code without them
#[derive(clap::Args)]
pub struct Args {
    /// Target of the code
    #[arg(long, default_value = "avx2")]
    target: Target,
    /// Number of rows of inputs
    #[arg(long, default_value_t = 4096, value_parser = positive::<usize>)]
    rows: usize,
    /// Greatest time of a measurement, in ms
    #[arg(long, default_value_t = 1000, value_parser = positive::<u64>)]
    time: u64,
    /// Number of timed compilations; the fastest is reported
    #[arg(long, default_value_t = 15, value_parser = positive::<usize>)]
    runs: usize,
    /// Only shaders whose names contain this
    #[arg(long, default_value = "")]
    only: String,
}

/// Number of adjacent rows with similar directions, and with the same parameters.
const DIRECTION_TILE: usize = 16;
const MASK_TILE: usize = 64;

/// Half angle of the cone of similar directions, as the radius of a disk.
const CONE: f32 = 0.26;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Workload {
    Defaults,
    Masks,
    Scattered,
}

impl Workload {
    const ALL: [(&str, Workload); 3] = [
        ("defaults", Workload::Defaults),
        ("masks", Workload::Masks),
        ("scattered", Workload::Scattered),
    ];
}

/// Prints the tables.
pub fn run(args: &Args) -> ExitCode {
    let Some(isa) = args.target.isa() else {
        return invalid_input("the interpreter has no machine code: choose avx2");
    };
    print_machine();
    let shaders: Vec<_> = LIBRARY
        .iter()
        .map(|shader| materials::parse(shader.name.trim_end_matches(".wgsl"), shader.text))
        .filter(|shader| shader.textures().is_empty() && shader.name().contains(&args.only))
        .collect();
    println!(
        "Cycles or ticks of a group of {} on {}, without and with tests for zero; *decided* is the\nratio on the rows of the profile.\n",
        args.target.lanes(),
        args.target
    );
    print_head(
        &["case", "candidates", "tests", "expected", "without", "with", "time", "decided", ""]
            .map(str::to_owned),
    );
    let mut rows = vec![];
    for shader in &shaders {
        for (name, workload) in Workload::ALL {
            let subject = Subject::new(shader, workload);
            for sampling in [false, true] {
                rows.extend(subject.compare(args, name, workload, sampling));
            }
        }
    }
    summarize(&rows);
    compile_times(&shaders, args, isa);
    ExitCode::SUCCESS
}

/// The functions of a shader.
struct Subject<'a> {
    shader: &'a Shader,
    functions: Functions,
    candidates: Candidates,
}

/// The times of a case with tests.
struct Comparison {
    /// Time without tests.
    without: f64,
    /// Time with tests, as a fraction, on the rows of the profile and on others.
    ratios: [f64; 2],
}

impl Comparison {
    /// Whether the tests are kept.
    fn is_kept(&self) -> bool {
        self.ratios[0] <= MAX_TIME_RATIO
    }
}

/// The functions of a shader for a workload, and the candidates in them.
fn functions(shader: &Shader, workload: Workload) -> (Functions, Candidates) {
    let settings = Settings { setup: Setup::Precomputed, ..Settings::default() };
    let functions = Functions::new(shader, &settings).expect("the shader is valid");
    if workload == Workload::Defaults {
        let constant = |p: &Parameter, component: usize| {
            let default = p.default.as_ref().expect("parameters of the library have defaults");
            Bounds::constant(p.scalar.ty(), p.scalar.bits(default[component]))
        };
        let words = shader.settable().iter().flat_map(|p| (0..p.size).map(move |k| constant(p, k)));
        let settable: Vec<_> = words.collect();
        let (functions, members) = functions.specialize(&settable);
        let candidates = functions.zero_candidates(&members);
        return (functions, candidates);
    }
    let ranges = |p: &Parameter| std::iter::repeat_n(parameter_bounds(p, Ranges::Declared), p.size);
    let members: Vec<_> = shader.members().iter().flat_map(ranges).collect();
    let candidates = functions.zero_candidates(&members);
    (functions, candidates)
}

impl Subject<'_> {
    fn new(shader: &Shader, workload: Workload) -> Subject<'_> {
        let (functions, candidates) = functions(shader, workload);
        Subject { shader, functions, candidates }
    }

    /// Prints a row, and returns the times if there are tests.
    fn compare(
        &self,
        args: &Args,
        name: &str,
        workload: Workload,
        sampling: bool,
    ) -> Option<Comparison> {
        let form = |evaluate: &Function| match sampling {
            true => self.functions.scatter_with(evaluate),
            false => evaluate.clone(),
        };
        let training = rows(self.shader, args.rows, workload, sampling, 1);
        let instrumented = form(&self.candidates.instrument());
        let counts = profile(&self.candidates, &instrumented, args.target, &training);
        let versions = self.candidates.versions(&counts);
        let function = if sampling { "sample" } else { "s and density" };
        let case = format!("{}, {name}, {function}", self.shader.name().trim_end_matches(".wgsl"));
        let candidates = self.candidates.len().to_string();
        let Some(Versions { function: tested, tests, expected_cost: [new, old] }) = versions else {
            let cells = [case, candidates, "0".into()];
            print_row(cells.into_iter().chain((0..6).map(|_| String::new())));
            return None;
        };
        let pair = [form(self.candidates.function()), form(&tested)];
        let test = rows(self.shader, args.rows, workload, sampling, 2);
        let [(_, decided), (without, ratio)] =
            [training, test].map(|rows| times(&pair, &rows, args));
        let comparison = Comparison { without, ratios: [decided, ratio] };
        print_row([
            case,
            candidates,
            tests.len().to_string(),
            format!("{:.3}", new / old),
            format!("{without:.1}"),
            format!("{:.1}", without * ratio),
            format!("{ratio:.3}"),
            format!("{decided:.3}"),
            if comparison.is_kept() { String::new() } else { "rejected".to_owned() },
        ]);
        Some(comparison)
    }
}

/// Prints the averages over cases.
fn summarize(rows: &[Comparison]) {
    let speedup = |rows: &[&Comparison], ratio: &dyn Fn(&Comparison) -> f64| {
        let old: f64 = rows.iter().map(|row| row.without).sum();
        let new: f64 = rows.iter().map(|row| row.without * ratio(row)).sum();
        let mean = rows.iter().map(|row| 1.0 / ratio(row)).sum::<f64>() / rows.len() as f64;
        [old / new, mean].map(|ratio| format!("{:.1} %", 100.0 * (ratio - 1.0)))
    };
    let all: Vec<_> = rows.iter().collect();
    let kept: Vec<_> = rows.iter().filter(|row| row.is_kept()).collect();
    println!("\nSpeed-up of cases with tests: of the sum of times, and mean of the ratios.\n");
    print_head(&["", "cases", "sum", "mean", "slowest", "paper, sum"].map(str::to_owned));
    let test = |row: &Comparison| row.ratios[1];
    let oracle = |row: &Comparison| row.ratios[1].min(1.0);
    for (name, rows, ratio, paper) in [
        ("all tests", &all, &test as &dyn Fn(&Comparison) -> f64, "16.4 %"),
        ("oracle", &all, &oracle, "18 %"),
        ("tests that measured faster", &kept, &test, ""),
    ] {
        if rows.is_empty() {
            continue;
        }
        let [sum, mean] = speedup(rows, ratio);
        let slowest = rows.iter().map(|row| ratio(row)).fold(0.0, f64::max);
        print_row([
            name.to_owned(),
            rows.len().to_string(),
            sum,
            mean,
            format!("{slowest:.3}"),
            paper.to_owned(),
        ]);
    }
    let slower = kept.iter().filter(|row| row.ratios[1] > 1.02).count();
    println!(
        "\n{} of {} cases with tests did not measure faster by 2 % and were rejected; of the others, {slower} are slower by more than 2 %.",
        all.len() - kept.len(),
        all.len(),
    );
}

/// Counts zeros.
fn profile(
    candidates: &Candidates,
    instrumented: &Function,
    target: Target,
    rows: &[Vec<u32>],
) -> Counts {
    let kernel = Kernel::compile(&Arena::new(), &passes::lower(instrumented), target)
        .unwrap_or_else(|error| panic!("{error}"));
    let mut inputs = Batch::new(target, instrumented.inputs.len(), rows.len());
    let mut outputs = Batch::new(target, instrumented.outputs.len(), rows.len());
    for (index, row) in rows.iter().enumerate() {
        inputs.set_row(index, 0, row);
    }
    kernel.run(&[], &inputs, &mut outputs);
    let mut counts = candidates.counts();
    counts.add(&instrumented.outputs, &outputs);
    counts
}

/// The time of the first function, and the ratio of the second one's.
fn times(pair: &[Function; 2], rows: &[Vec<u32>], args: &Args) -> (f64, f64) {
    let candidates = pair.each_ref().map(|function| {
        Candidate::new(function, args.target, rows).unwrap_or_else(|error| panic!("{error}"))
    });
    let budget = Budget {
        max_rounds: 4096,
        min_time: Duration::from_millis(args.time / 4),
        max_time: Duration::from_millis(args.time),
        precision: 0.005,
    };
    let costs = measure(&candidates, &[], &budget, &|_| {}).costs;
    let [without, with] = [0, 1].map(|k| costs[k].time.median);
    (without, with / without)
}

/// Random inputs.
fn rows(
    shader: &Shader,
    count: usize,
    workload: Workload,
    sampling: bool,
    seed: u64,
) -> Vec<Vec<u32>> {
    let mut random = Random::new(seed);
    let mut directions = [[0.0; 3]; 2];
    let mut point = vec![];
    let mut rows: Vec<Vec<u32>> = (0..count)
        .map(|index| {
            if index.is_multiple_of(DIRECTION_TILE) {
                directions = [direction(&mut random), upper(direction(&mut random))];
            }
            if index.is_multiple_of(MASK_TILE) {
                point = shader.members().iter().map(|_| random.once_in(2)).collect();
            }
            let [wi, wo] = directions.map(|axis| near(&mut random, axis));
            let wo = upper(wo);
            let mut row = match sampling {
                true => [&[uniform(&mut random), uniform(&mut random)][..], &wo].concat(),
                false => [wi, wo].concat(),
            };
            for (parameter, &is_zero) in std::iter::zip(shader.members(), &point) {
                push_parameter(&mut random, parameter, workload, is_zero, &mut row);
            }
            row.into_iter().map(f32::to_bits).collect()
        })
        .collect();
    if workload == Workload::Scattered {
        for index in (1..rows.len()).rev() {
            rows.swap(index, random.below(index + 1));
        }
    }
    rows
}

/// Appends the values of a parameter.
fn push_parameter(
    random: &mut Random,
    parameter: &Parameter,
    workload: Workload,
    is_zero: bool,
    row: &mut Vec<f32>,
) {
    let [low, high] = parameter.range;
    let default = parameter.default.as_ref().expect("parameters of the library have defaults");
    for &default in default {
        let u = f64::from(uniform(random));
        let x = if workload == Workload::Defaults {
            default
        } else if low <= 0.0 && is_zero {
            0.0
        } else if default == 0.0 {
            0.5 * u * high.min(1.0)
        } else {
            default * (0.9 + 0.2 * u)
        };
        row.push(f32::from_bits(parameter.scalar.bits(x.clamp(low, high))));
    }
}

fn uniform(random: &mut Random) -> f32 {
    (random.bits() >> 40) as f32 / (1u64 << 24) as f32
}

/// A unit vector, uniform over the sphere.
fn direction(random: &mut Random) -> [f32; 3] {
    let z = 2.0 * uniform(random) - 1.0;
    let (sin, cos) = (std::f32::consts::TAU * uniform(random)).sin_cos();
    let r = (1.0 - z * z).max(0.0).sqrt();
    [r * cos, r * sin, z]
}

/// A unit vector near another one.
fn near(random: &mut Random, axis: [f32; 3]) -> [f32; 3] {
    let offset = direction(random);
    let sum: [f32; 3] = std::array::from_fn(|k| axis[k] + CONE * offset[k]);
    let length = sum.iter().map(|x| x * x).sum::<f32>().sqrt();
    sum.map(|x| x / length)
}

fn upper([x, y, z]: [f32; 3]) -> [f32; 3] {
    [x, y, z.abs()]
}

/// Prints the time to compile the two functions of a path tracer, without and with tests.
fn compile_times(shaders: &[Shader], args: &Args, isa: Isa) {
    println!(
        "\nFastest of {} compilations of both functions, from WGSL to code, µs: without tests, and with those for *masks*.\n",
        args.runs
    );
    print_head(&["shader", "without", "with", "ratio"].map(str::to_owned));
    let mut ratios = vec![];
    for shader in shaders {
        let subject = Subject::new(shader, Workload::Masks);
        let counts = [false, true].map(|sampling| {
            let training = rows(shader, args.rows, Workload::Masks, sampling, 1);
            let instrumented = subject.candidates.instrument();
            let instrumented = match sampling {
                true => subject.functions.scatter_with(&instrumented),
                false => instrumented,
            };
            profile(&subject.candidates, &instrumented, args.target, &training)
        });
        let compile =
            |function: &Function| _ = black_box(Code::compile(&passes::lower(function), isa));
        let settings = Settings { setup: Setup::Precomputed, ..Settings::default() };
        let mut times = [vec![], vec![]];
        for _ in 0..args.runs {
            let start = Instant::now();
            let parsed = Shader::parse(shader.name(), shader.text()).expect("it is valid");
            let functions = Functions::new(&parsed, &settings).expect("it is valid");
            compile(&functions.evaluate);
            compile(&functions.scatter);
            times[0].push(start.elapsed());
            let start = Instant::now();
            let parsed = Shader::parse(shader.name(), shader.text()).expect("it is valid");
            let (functions, candidates) = self::functions(&parsed, Workload::Masks);
            let [evaluate, scatter] =
                counts.each_ref().map(|counts| candidates.versions(counts).map(|v| v.function));
            compile(evaluate.as_ref().unwrap_or(&functions.evaluate));
            match &scatter {
                Some(scatter) => compile(&functions.scatter_with(scatter)),
                None => compile(&functions.scatter),
            }
            times[1].push(start.elapsed());
        }
        let [without, with] =
            times.map(|times| 1e6 * times.into_iter().min().unwrap_or_default().as_secs_f64());
        ratios.push(with / without);
        print_row([
            shader.name().trim_end_matches(".wgsl").to_owned(),
            format!("{without:.0}"),
            format!("{with:.0}"),
            format!("{:.2}", with / without),
        ]);
    }
    println!(
        "\nGeometric mean of the ratios: {:.2}; the paper's is 1.57.",
        geometric_mean(ratios.into_iter())
    );
}
