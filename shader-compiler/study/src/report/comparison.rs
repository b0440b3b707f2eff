//! Cost measurements of naive, optimized and related bounding shaders.
//!
//! Each [`Variant`] of a shader, a choice of interval inputs, bound sides and NaN mode, has a
//! naive, an optimized and a related bounding shader. All of them are compiled for one target and
//! run in turn, in one process, over the same [boxes]. The shader's one point shader runs over
//! members of these boxes. Before the measurement, naive and optimized bounds are checked to be
//! equal. Costs are ratios to the point shader; ratios of cycles have confidence intervals.

use super::{
    Error, FrameDef, IntervalInputsDef, NanDef, RangesDef, SidesDef, nan_name, notation,
    relation_names, sides_name,
};
use crate::cost::boxes::{self, InputBox};
use crate::cost::{Budget, Candidate, Cost, Measurement, cpu_name, measure};
use lightbound_shader::backend::x86::{Code, Isa};
use lightbound_shader::bounding::{Frame, Integrand, IntervalInputs, Ranges};
use lightbound_shader::interval::Nan;
use lightbound_shader::lift::{BoundSides, Input, Lifted, Options, Tracking};
use lightbound_shader::relations::{Relations, only_tighten};
use lightbound_shader::{Batch, Settings, Shader, Target, Texture, passes};
use serde::Serialize;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Conditions under which bounding shaders are compiled and run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setup {
    /// The frame of directions.
    pub frame: Frame,
    /// The ranges of inputs at compile time.
    pub ranges: Ranges,
    /// The instruction set.
    pub target: Target,
}

impl Setup {
    /// Describes the setup for readers.
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

    /// Returns the instruction set of the target. Panics if the target is the interpreter.
    pub(super) fn isa(self) -> Isa {
        self.target.isa().expect("the target is x86-64")
    }

    /// Whether this is the setup of the tables in Clarberg et al. 2010.
    pub(super) fn matches_paper(self) -> bool {
        self == Setup { frame: Frame::World, ranges: Ranges::Paper, target: Target::Sse }
    }
}

/// A choice of bounding shader.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Variant {
    /// The inputs that are intervals.
    pub inputs: IntervalInputs,
    /// The bound sides to compute.
    pub sides: BoundSides,
    /// The handling of NaN.
    pub nan: Nan,
}

impl Variant {
    /// Returns the naive, optimized or partly optimized bounding shader of an integrand.
    pub(super) fn lift(self, integrand: &Integrand, ranges: Ranges, tracking: Tracking) -> Lifted {
        self.lift_with(integrand, ranges, tracking, Relations::NONE)
    }

    /// Returns the related bounding shader that uses these relations; without relations, the
    /// optimized one.
    pub(super) fn lift_related(
        self,
        integrand: &Integrand,
        ranges: Ranges,
        relations: Relations,
    ) -> Lifted {
        self.lift_with(integrand, ranges, Tracking::ALL, relations)
    }

    fn lift_with(
        self,
        integrand: &Integrand,
        ranges: Ranges,
        tracking: Tracking,
        relations: Relations,
    ) -> Lifted {
        let options =
            Options { sides: self.sides, nan: self.nan, tracking, relations, ..Options::default() };
        integrand.bound(&integrand.inputs(self.inputs, ranges), &options)
    }
}

/// The cost of one SIMD group, with the keys of the JSON output.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct GroupCost {
    /// Static machine instructions.
    pub instructions: usize,
    /// Mean number of executed machine instructions.
    pub executed: f64,
    /// Core cycles or ticks of the time-stamp counter.
    pub cycles: f64,
    /// Confidence interval (95 %) of the cycles. For a bounding shader, the interval of its ratio
    /// to the point shader, times the point shader's cycles. `None` after too few rounds.
    pub cycles_interval: Option<[f64; 2]>,
    /// Mean number of cycles that the throughput model predicts.
    pub model_cycles: f64,
}

impl From<&Cost> for GroupCost {
    fn from(cost: &Cost) -> GroupCost {
        GroupCost {
            instructions: cost.instructions,
            executed: cost.executed,
            cycles: cost.time.median,
            cycles_interval: cost.time.interval,
            model_cycles: cost.model,
        }
    }
}

impl GroupCost {
    /// Returns the width of the confidence interval relative to the cycles; infinite without an
    /// interval.
    pub(super) fn relative_width(&self) -> f64 {
        self.cycles_interval.map_or(f64::INFINITY, |[lo, hi]| (hi - lo) / self.cycles)
    }
}

/// Costs of a point shader and of its naive, optimized and related bounding shaders, with the keys
/// of the JSON output.
#[derive(Clone, Debug, Serialize)]
pub struct CostRecord {
    pub(super) shader: String,
    #[serde(serialize_with = "IntervalInputsDef::serialize")]
    inputs: IntervalInputs,
    #[serde(serialize_with = "SidesDef::serialize")]
    sides: BoundSides,
    #[serde(serialize_with = "NanDef::serialize")]
    nan: Nan,
    #[serde(serialize_with = "FrameDef::serialize")]
    frame: Frame,
    #[serde(serialize_with = "RangesDef::serialize")]
    ranges: Ranges,
    target: &'static str,
    /// The processor's name; `None` if unknown.
    cpu: Option<String>,
    /// The program's version.
    version: &'static str,
    /// The unit of `cycles`.
    clock: String,
    /// Number of rounds of the measurement.
    rounds: usize,
    /// Seed of the boxes.
    seed: u64,
    pub(super) point: GroupCost,
    pub(super) naive: GroupCost,
    pub(super) optimized: GroupCost,
    pub(super) related: GroupCost,
    /// Relations that the related code uses.
    relations: Vec<&'static str>,
}

/// Measurements of several shaders under one setup.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The conditions.
    pub setup: Setup,
    /// A record for each shader and variant.
    pub records: Vec<CostRecord>,
    pub(super) shaders: Vec<String>,
    pub(super) variants: Vec<Variant>,
    /// Relations that the related code uses.
    pub(super) relations: Relations,
    /// Timing conditions of each shader.
    pub(super) timings: Vec<Timing>,
    /// Median times to compile optimized and related bounding shaders from point shaders.
    pub(super) compile_times: [Duration; 2],
}

/// Timing conditions of a shader.
#[derive(Clone, Debug)]
pub(super) struct Timing {
    /// The counter of cycles.
    pub clock: String,
    /// Fraction of the rounds that were discarded as disturbed.
    pub discarded: f64,
    /// Number of ratios that include disturbed rounds, because half or more of their rounds were
    /// disturbed.
    pub with_disturbed: usize,
    /// Involuntary context switches, if the system reports them.
    pub switches: Option<u64>,
}

/// SIMD groups per pass: enough to vary branches and loops, few enough for the inputs to stay in
/// the L1 cache.
const GROUPS: usize = 32;
/// Seed of the boxes.
const SEED: u64 = 1;
/// Minimum time to measure a shader, unless the maximum number of rounds is reached.
const MIN_TIME: Duration = Duration::from_millis(1500);
/// Maximum time to measure a shader.
const MAX_TIME: Duration = Duration::from_secs(10);
/// Relative width of confidence intervals at which the measurement stops.
pub(super) const PRECISION: f64 = 0.02;
/// Number of timed compilations per bounding shader.
const COMPILE_RUNS: usize = 9;

impl Comparison {
    /// Checks and measures all variants of shaders. Related code uses `relations`. `progress`
    /// receives the completed fraction.
    ///
    /// # Errors
    ///
    /// Fails if a shader does not compile, or if its bounding shaders disagree.
    ///
    /// # Panics
    ///
    /// Panics if there are no shaders or no variants.
    pub fn run(
        shaders: &[(String, Shader)],
        setup: Setup,
        variants: &[Variant],
        relations: Relations,
        rounds: usize,
        progress: &dyn Fn(f64),
    ) -> Result<Comparison, Error> {
        let (mut records, mut timings, mut times) = (vec![], vec![], [vec![], vec![]]);
        for (k, (name, shader)) in shaders.iter().enumerate() {
            let progress = |fraction: f64| progress((k as f64 + fraction) / shaders.len() as f64);
            let integrand = Integrand::new(shader, &Settings::default(), setup.frame)?;
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
        Ok(Comparison {
            setup,
            records,
            shaders: shaders.iter().map(|(name, _)| name.clone()).collect(),
            variants: variants.to_vec(),
            relations,
            timings,
            compile_times: times.map(median),
        })
    }

    /// Finds the record of a shader and a variant.
    pub(super) fn find(&self, shader: &str, variant: Variant) -> Option<&CostRecord> {
        let matches = |record: &&CostRecord| {
            record.shader == shader
                && Variant { inputs: record.inputs, sides: record.sides, nan: record.nan }
                    == variant
        };
        self.records.iter().find(matches)
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// Checks the variants of a shader, and measures them in alternation with its point shader.
#[expect(clippy::too_many_arguments, reason = "all are independent")]
fn compare(
    name: &str,
    shader: &Shader,
    integrand: &Integrand,
    setup: Setup,
    variants: &[Variant],
    relations: Relations,
    rounds: usize,
    progress: &dyn Fn(f64),
) -> Result<(Vec<CostRecord>, Timing), Error> {
    /// Fraction of the progress for the checks, which take a noticeable time for slow code.
    const CHECK_FRACTION: f64 = 0.1;
    let textures: Vec<Texture> =
        (0..shader.textures().len()).map(|k| smooth_texture(k as u32)).collect();
    let textures: Vec<&Texture> = textures.iter().collect();
    let mut candidates = vec![];
    for (k, &variant) in variants.iter().enumerate() {
        let input_boxes = boxes::random_boxes(
            shader,
            setup.frame,
            variant.inputs,
            GROUPS * setup.target.lanes(),
            SEED,
        );
        let inputs = integrand.inputs(variant.inputs, setup.ranges);
        let lifted = [
            variant.lift(integrand, setup.ranges, Tracking::NONE),
            variant.lift(integrand, setup.ranges, Tracking::ALL),
            variant.lift_related(integrand, setup.ranges, relations),
        ];
        if k == 0 {
            let members: Vec<_> =
                input_boxes.iter().map(|input_box| input_box.member.clone()).collect();
            candidates.push(Candidate::new(&lifted[0].point, setup.target, &members)?);
        }
        let rows = rows(&input_boxes, &inputs);
        for lifted in &lifted {
            candidates.push(Candidate::new(&lifted.function, setup.target, &rows)?);
        }
        let [.., naive, optimized, related] = &mut candidates[..] else {
            unreachable!("three candidates were added")
        };
        let valid = valid_boxes(integrand, setup, variant, &rows, &textures)?;
        let (naive, optimized, related) =
            (naive.run(&textures), optimized.run(&textures), related.run(&textures));
        check_equal(naive, optimized, &valid)
            .map_err(|row| mismatch(name, variant, "naive and optimized bounds differ", row))?;
        if integrand.outputs.iter().all(|&output| only_tighten(&integrand.point, output)) {
            let tighter = check_within(related, optimized, variant.sides, &valid);
            tighter.map_err(|row| {
                mismatch(name, variant, "related bounds are wider than optimized ones", row)
            })?;
        }
        progress(CHECK_FRACTION * (k + 1) as f64 / variants.len() as f64);
    }
    let measure_progress =
        |fraction: f64| progress(CHECK_FRACTION + (1.0 - CHECK_FRACTION) * fraction);
    let budget =
        Budget { max_rounds: rounds, min_time: MIN_TIME, max_time: MAX_TIME, precision: PRECISION };
    let Measurement { costs, clock, rounds: completed, discarded, with_disturbed, switches } =
        measure(&candidates, &textures, &budget, &measure_progress);
    let costs: Vec<GroupCost> = costs.iter().map(GroupCost::from).collect();
    let records =
        variants.iter().zip(costs[1..].chunks(3)).map(|(variant, costs_of_variant)| CostRecord {
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
            rounds: completed,
            seed: SEED,
            point: costs[0],
            naive: costs_of_variant[0],
            optimized: costs_of_variant[1],
            related: costs_of_variant[2],
            relations: relation_names(relations),
        });
    Ok((records.collect(), Timing { clock, discarded, with_disturbed, switches }))
}

/// Returns the input words of a bounding shader for each box.
fn rows(input_boxes: &[InputBox], inputs: &[Input]) -> Vec<Vec<u32>> {
    input_boxes
        .iter()
        .map(|input_box| input_box.row(inputs.iter().map(|input| input.interval)))
        .collect()
}

/// Returns whether the bounds for each box are valid. If NaN is ignored, bounds are invalid for
/// boxes in which a NaN occurs. NaN-propagating code finds these boxes.
fn valid_boxes(
    integrand: &Integrand,
    setup: Setup,
    variant: Variant,
    rows: &[Vec<u32>],
    textures: &[&Texture],
) -> Result<Vec<bool>, Error> {
    if variant.nan != Nan::Ignore {
        return Ok(vec![true; rows.len()]);
    }
    let propagating = Variant { sides: BoundSides::Both, nan: Nan::Propagate, ..variant };
    let lifted = propagating.lift(integrand, setup.ranges, Tracking::NONE);
    let mut candidate = Candidate::new(&lifted.function, setup.target, rows)?;
    let bounds = candidate.run(textures);
    Ok((0..rows.len())
        .map(|row| (0..bounds.ports()).all(|port| !bounds.get(row, port).is_nan()))
        .collect())
}

/// Checks that valid optimized bounds equal naive bounds that are not NaN. Zeros may differ in
/// sign. Returns the first row that fails as an error.
fn check_equal(naive: &Batch, optimized: &Batch, valid: &[bool]) -> Result<(), usize> {
    let same = |row: usize| {
        !valid[row]
            || (0..naive.ports()).all(|port| {
                let (a, b) = (naive.get(row, port), optimized.get(row, port));
                a == b || a.is_nan()
            })
    };
    (0..naive.rows()).find(|&row| !same(row)).map_or(Ok(()), Err)
}

/// Checks that valid related bounds are within optimized bounds that are not NaN. Results that
/// underflow may be wider by the smallest normal number. Returns the first row that fails as an
/// error.
fn check_within(
    related: &Batch,
    optimized: &Batch,
    sides: BoundSides,
    valid: &[bool],
) -> Result<(), usize> {
    let inside = |row: usize| {
        !valid[row]
            || (0..related.ports()).all(|port| {
                let (a, b) = (related.get(row, port), optimized.get(row, port));
                let lower =
                    sides == BoundSides::Lower || sides == BoundSides::Both && port % 2 == 0;
                let slack = f32::MIN_POSITIVE;
                b.is_nan() || b.is_infinite() || if lower { b - slack <= a } else { a <= b + slack }
            })
    };
    (0..related.rows()).find(|&row| !inside(row)).map_or(Ok(()), Err)
}

/// Returns the error for a failed check.
fn mismatch(name: &str, variant: Variant, problem: &str, row: usize) -> Error {
    let (notation, sides, nan) =
        (notation(variant.inputs), sides_name(variant.sides), nan_name(variant.nan));
    Error::Mismatch(format!("{name}: {problem} in box {row} of {notation} ({sides}, {nan})"))
}

/// Returns a smooth texture with values in [0, 1], for measurements of shaders that read textures.
fn smooth_texture(seed: u32) -> Texture {
    const WIDTH: u32 = 64;
    let texel = |k: u32| {
        let (column, row) = ((k % WIDTH) as f32, (k / WIDTH) as f32);
        let wave = |scale: f32| 0.5 + 0.5 * libm::sinf(scale * (column + 1.7 * row) + seed as f32);
        [wave(0.1), wave(0.17), wave(0.23), 1.0]
    };
    Texture::new(WIDTH, &(0..WIDTH * WIDTH).map(texel).collect::<Vec<_>>())
}

/// Measures the median time to compile a point shader to the machine code of its optimized or
/// related bounding shader.
fn compile_time(
    integrand: &Integrand,
    setup: Setup,
    variant: Variant,
    relations: Relations,
) -> Duration {
    let times = (0..COMPILE_RUNS).map(|_| {
        let start = Instant::now();
        let lifted = variant.lift_related(integrand, setup.ranges, relations);
        black_box(Code::compile(&passes::lower(&lifted.function), setup.isa()));
        start.elapsed()
    });
    median(times.collect())
}
