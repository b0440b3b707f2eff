//! The measuring: shaders to records.

use super::report::{nan_name, sides_name};
use crate::cli::Error;
use crate::cli::variant::{Frame, Inputs, NanMode, Ranges, Sides, names_of};
use lightbound_shader::backend::x86::Code;
use lightbound_shader::bounding::Integrand;
use lightbound_shader::cost::boxes::{self, Drawn};
use lightbound_shader::cost::{Budget, Candidate, Cost, Measurement, cpu_name, measure};
use lightbound_shader::lift::{Input, Lifted, Options, Tracking};
use lightbound_shader::relations::{Relations, only_tighten};
use lightbound_shader::{Batch, Settings, Shader, Target, Texture, passes};
use serde::Serialize;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Under which conditions bounding shaders are made and run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Setup {
    pub frame: Frame,
    pub ranges: Ranges,
    pub target: Target,
}

impl Setup {
    /// For readers.
    pub fn title(self) -> String {
        let Setup { frame, ranges, target } = self;
        let frame = match frame {
            Frame::World => "directions and frame in the world",
            Frame::Local => "directions in the shading frame",
        };
        let ranges = match ranges {
            Ranges::Paper => "inputs finite, parameters not negative",
            Ranges::Declared => "inputs in their declared ranges",
        };
        format!("{target} ×{}: {frame}; {ranges}", target.lanes())
    }

    /// Whether it is that of the tables in Clarberg et al. 2010.
    pub fn is_the_papers(self) -> bool {
        self == Setup { frame: Frame::World, ranges: Ranges::Paper, target: Target::Sse }
    }
}

/// Which bounding shader.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Variant {
    pub inputs: Inputs,
    pub sides: Sides,
    pub nan: NanMode,
}

impl Variant {
    /// The naive, optimized or partly optimized bounding shader of an integrand.
    pub fn lift(self, integrand: &Integrand, ranges: Ranges, tracking: Tracking) -> Lifted {
        self.lift_with(integrand, ranges, tracking, Relations::NONE)
    }

    /// The related one that makes use of some relations; without any, the optimized one.
    pub fn relate(self, integrand: &Integrand, ranges: Ranges, relations: Relations) -> Lifted {
        self.lift_with(integrand, ranges, Tracking::ALL, relations)
    }

    fn lift_with(
        self,
        integrand: &Integrand,
        ranges: Ranges,
        tracking: Tracking,
        relations: Relations,
    ) -> Lifted {
        let options = Options {
            sides: self.sides.of(),
            nan: self.nan.of(),
            tracking,
            relations,
            ..Options::default()
        };
        integrand.bound(&integrand.inputs(self.inputs.of(), ranges.of()), &options)
    }
}

/// What a group costs, as JSON has it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Figures {
    /// Machine instructions of the code.
    pub instructions: usize,
    /// Machine instructions executed, on average.
    pub executed: f64,
    /// Core cycles or ticks of the time-stamp counter, on average.
    pub cycles: f64,
    /// Confidence interval (95 %) of the cycles; of a bounding shader, that of its ratio to the
    /// point shader, times the point shader's cycles. `None` where there were too few rounds.
    pub cycles_interval: Option<[f64; 2]>,
    /// Cycles that the throughput model predicts, on average.
    pub model_cycles: f64,
}

impl From<&Cost> for Figures {
    fn from(cost: &Cost) -> Figures {
        Figures {
            instructions: cost.instructions,
            executed: cost.executed,
            cycles: cost.time.median,
            cycles_interval: cost.time.interval,
            model_cycles: cost.model,
        }
    }
}

impl Figures {
    /// Width of the confidence interval as a part of the cycles; infinite where there is none.
    pub fn relative_width(&self) -> f64 {
        self.cycles_interval.map_or(f64::INFINITY, |[lo, hi]| (hi - lo) / self.cycles)
    }
}

/// A bounding shader, naive, optimized and related, beside its point shader.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Record {
    pub shader: String,
    pub inputs: Inputs,
    pub sides: Sides,
    pub nan: NanMode,
    pub frame: Frame,
    pub ranges: Ranges,
    pub target: &'static str,
    /// The machine's processor; `None` where its name is not known.
    pub cpu: Option<String>,
    /// The program's version.
    pub version: &'static str,
    /// What `cycles` counts.
    pub clock: String,
    /// Rounds of the measurement.
    pub rounds: usize,
    /// Seed of the boxes.
    pub seed: u64,
    pub point: Figures,
    pub naive: Figures,
    pub optimized: Figures,
    pub related: Figures,
    /// Those of related code.
    pub relations: Vec<&'static str>,
}

/// All that was measured under a setup.
#[derive(Clone, Debug)]
pub(super) struct Study {
    pub setup: Setup,
    pub shaders: Vec<String>,
    pub records: Vec<Record>,
    /// How each shader was timed.
    pub timings: Vec<Timing>,
    /// Median over optimized and over related bounding shaders of the time to make one from its
    /// point shader.
    pub compile_times: [Duration; 2],
}

/// Under which conditions a shader was timed.
#[derive(Clone, Debug)]
pub(super) struct Timing {
    /// What cycles are counted with.
    pub clock: String,
    /// Part of the rounds that were discarded, since the point shader's time changed meanwhile.
    pub discarded: f64,
    /// Number of ratios that include such rounds, since there were hardly any others.
    pub with_disturbed: usize,
    /// Involuntary context switches, where they are known.
    pub switches: Option<u64>,
}

/// Groups of a round: varied enough for branches and loops, few enough for inputs to stay in the
/// first cache.
const GROUPS: usize = 32;
/// Seed of the boxes.
const SEED: u64 = 1;
/// Least time for which a shader is measured, unless rounds end before.
const LEAST_TIME: Duration = Duration::from_millis(1500);
/// Most time for which a shader is measured.
const MOST_TIME: Duration = Duration::from_secs(10);
/// Relative width of confidence intervals that is narrow enough.
pub(super) const PRECISION: f64 = 0.02;
/// How often compiling is timed.
const COMPILE_RUNS: usize = 9;

impl Study {
    /// Measures shaders, related code with these relations; `progress` is told the fraction that is
    /// done.
    pub fn run(
        shaders: &[(String, Shader)],
        setup: Setup,
        variants: &[Variant],
        relations: Relations,
        rounds: usize,
        progress: &dyn Fn(f64),
    ) -> Result<Study, Error> {
        let (mut records, mut timings, mut times) = (vec![], vec![], [vec![], vec![]]);
        for (k, (name, shader)) in shaders.iter().enumerate() {
            let progress = |fraction: f64| progress((k as f64 + fraction) / shaders.len() as f64);
            let integrand = Integrand::new(shader, &Settings::default(), setup.frame.of())?;
            let (compared, timing) =
                compare(name, shader, &integrand, setup, variants, relations, rounds, &progress)?;
            records.extend(compared);
            timings.push(timing);
            for (relations, times) in [Relations::NONE, relations].into_iter().zip(&mut times) {
                times.extend(
                    variants
                        .iter()
                        .map(|&variant| compile_time(&integrand, setup, variant, relations)),
                );
            }
        }
        let shaders = shaders.iter().map(|(name, _)| name.clone()).collect();
        Ok(Study { setup, shaders, records, timings, compile_times: times.map(median) })
    }

    /// The record of a shader and a variant.
    pub fn find(&self, shader: &str, variant: Variant) -> Option<&Record> {
        let is = |record: &&Record| {
            record.shader == shader
                && Variant { inputs: record.inputs, sides: record.sides, nan: record.nan }
                    == variant
        };
        self.records.iter().find(is)
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// Measures the variants of a shader in turn with its point shader.
#[expect(clippy::too_many_arguments, reason = "each is a part of what is measured")]
fn compare(
    name: &str,
    shader: &Shader,
    integrand: &Integrand,
    setup: Setup,
    variants: &[Variant],
    relations: Relations,
    rounds: usize,
    progress: &dyn Fn(f64),
) -> Result<(Vec<Record>, Timing), Error> {
    /// The part of the time that goes into the check, where code runs long.
    const CHECK: f64 = 0.1;
    let textures: Vec<Texture> = (0..shader.textures().len()).map(|k| noise(k as u32)).collect();
    let textures: Vec<&Texture> = textures.iter().collect();
    let mut candidates = vec![];
    for (k, &variant) in variants.iter().enumerate() {
        let drawn = boxes::draw(
            shader,
            setup.frame.of(),
            variant.inputs.of(),
            GROUPS * setup.target.lanes(),
            SEED,
        );
        let inputs = integrand.inputs(variant.inputs.of(), setup.ranges.of());
        let lifted = [
            variant.lift(integrand, setup.ranges, Tracking::NONE),
            variant.lift(integrand, setup.ranges, Tracking::ALL),
            variant.relate(integrand, setup.ranges, relations),
        ];
        if k == 0 {
            let members: Vec<_> = drawn.iter().map(|drawn| drawn.member.clone()).collect();
            candidates.push(Candidate::new(&lifted[0].point, setup.target, &members)?);
        }
        let rows = rows(&drawn, &inputs);
        for lifted in &lifted {
            candidates.push(Candidate::new(&lifted.function, setup.target, &rows)?);
        }
        let [.., naive, optimized, related] = &mut candidates[..] else {
            unreachable!("three were added")
        };
        let told = told(integrand, setup, variant, &rows, &textures)?;
        let (naive, optimized, related) =
            (naive.run(&textures), optimized.run(&textures), related.run(&textures));
        agree(naive, optimized, &told)
            .map_err(|row| fault(name, variant, "naive and optimized bounds differ", row))?;
        if integrand.outputs.iter().all(|&output| only_tighten(&integrand.point, output)) {
            let are_within = within(related, optimized, variant.sides, &told);
            are_within.map_err(|row| {
                fault(name, variant, "related bounds are wider than optimized ones", row)
            })?;
        }
        progress(CHECK * (k + 1) as f64 / variants.len() as f64);
    }
    let measuring = |fraction: f64| progress(CHECK + (1.0 - CHECK) * fraction);
    let budget = Budget {
        max_rounds: rounds,
        min_time: LEAST_TIME,
        max_time: MOST_TIME,
        precision: PRECISION,
    };
    let Measurement { costs, clock, rounds: done, discarded, with_disturbed, switches } =
        measure(&candidates, &textures, &budget, &measuring);
    let costs: Vec<Figures> = costs.iter().map(Figures::from).collect();
    let records = variants.iter().zip(costs[1..].chunks(3)).map(|(variant, codes)| Record {
        shader: name.to_owned(),
        inputs: variant.inputs,
        sides: variant.sides,
        nan: variant.nan,
        frame: setup.frame,
        ranges: setup.ranges,
        target: setup.target.name(),
        cpu: cpu_name(),
        version: env!("CARGO_PKG_VERSION"),
        clock: clock.clone(),
        rounds: done,
        seed: SEED,
        point: costs[0],
        naive: codes[0],
        optimized: codes[1],
        related: codes[2],
        relations: names_of(relations),
    });
    Ok((records.collect(), Timing { clock, discarded, with_disturbed, switches }))
}

/// Boxes as words for a bounding shader.
fn rows(drawn: &[Drawn], inputs: &[Input]) -> Vec<Vec<u32>> {
    drawn.iter().map(|drawn| drawn.row(inputs.iter().map(|input| input.interval))).collect()
}

/// For which boxes bounds say something: where NaN is ignored, for those in which none is met, as
/// code tells that tests for it.
fn told(
    integrand: &Integrand,
    setup: Setup,
    variant: Variant,
    rows: &[Vec<u32>],
    textures: &[&Texture],
) -> Result<Vec<bool>, Error> {
    if variant.nan != NanMode::Ignore {
        return Ok(vec![true; rows.len()]);
    }
    let testing = Variant { sides: Sides::Both, nan: NanMode::Propagate, ..variant };
    let lifted = testing.lift(integrand, setup.ranges, Tracking::NONE);
    let mut candidate = Candidate::new(&lifted.function, setup.target, rows)?;
    let limits = candidate.run(textures);
    Ok((0..rows.len())
        .map(|row| (0..limits.ports()).all(|port| !limits.get(row, port).is_nan()))
        .collect())
}

/// Whether optimized bounds that say something are the naive ones, but for signs of zero, wherever
/// these are not NaN; else the first row where not.
fn agree(naive: &Batch, optimized: &Batch, told: &[bool]) -> Result<(), usize> {
    let same = |row: usize| {
        !told[row]
            || (0..naive.ports()).all(|port| {
                let (a, b) = (naive.get(row, port), optimized.get(row, port));
                a == b || a.is_nan()
            })
    };
    (0..naive.rows()).find(|&row| !same(row)).map_or(Ok(()), Err)
}

/// Whether related bounds are within optimized ones, wherever these are not NaN; else the first row
/// where not. Where results underflow, they may be wider by the least normal number.
fn within(related: &Batch, optimized: &Batch, sides: Sides, told: &[bool]) -> Result<(), usize> {
    let inside = |row: usize| {
        !told[row]
            || (0..related.ports()).all(|port| {
                let (a, b) = (related.get(row, port), optimized.get(row, port));
                let lower = sides == Sides::Lower || sides == Sides::Both && port % 2 == 0;
                let least = f32::MIN_POSITIVE;
                b.is_nan() || b.is_infinite() || if lower { b - least <= a } else { a <= b + least }
            })
    };
    (0..related.rows()).find(|&row| !inside(row)).map_or(Ok(()), Err)
}

fn fault(name: &str, variant: Variant, what: &str, row: usize) -> Error {
    let (formula, sides, nan) =
        (variant.inputs.formula(), sides_name(variant.sides), nan_name(variant.nan));
    Error::Data {
        message: format!("{name}: {what} in box {row} of {formula} ({sides}, {nan})"),
        help: "this is a fault of the compiler: please report it, with the shader".into(),
    }
}

/// What a texture of the shader is while it is measured: smooth, and between 0 and 1.
fn noise(seed: u32) -> Texture {
    const WIDTH: u32 = 64;
    let texel = |k: u32| {
        let (column, row) = ((k % WIDTH) as f32, (k / WIDTH) as f32);
        let wave = |scale: f32| 0.5 + 0.5 * libm::sinf(scale * (column + 1.7 * row) + seed as f32);
        [wave(0.1), wave(0.17), wave(0.23), 1.0]
    };
    Texture::new(WIDTH, &(0..WIDTH * WIDTH).map(texel).collect::<Vec<_>>())
}

/// Median time from a point shader to the machine code of its optimized or related bounding shader.
fn compile_time(
    integrand: &Integrand,
    setup: Setup,
    variant: Variant,
    relations: Relations,
) -> Duration {
    let times = (0..COMPILE_RUNS).map(|_| {
        let start = Instant::now();
        let lifted = variant.relate(integrand, setup.ranges, relations);
        black_box(Code::compile(&passes::lower(&lifted.function), setup.target));
        start.elapsed()
    });
    median(times.collect())
}
