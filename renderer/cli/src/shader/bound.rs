//! `lightbound shader bound`: evaluates the bounding shader of s, of a density or of any function,
//! for boxes of inputs.
//!
//! The bounding shader is compiled for the given inputs: intervals are interval inputs, and numbers
//! are scalar inputs. Behind a one-sided material, s and its bounds are 0 and the shader is not
//! evaluated.

use super::csv::InputKind;
use super::evaluator::{PHASE, arguments};
use super::inputs::{InputArgs, InputRows, RowEvaluator, ShaderJob, evaluate_table};
use super::values::{ValueError, WordRange};
use super::warnings::RowWarnings;
use crate::variant::{HEADING, VariantArgs};
use crate::{Error, Exit};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use lightbound::material::parameters::format_table;
use lightbound_shader::bounding::{
    BoundingKernel, BoundsBatch, BoxBatch, Frame, Integrand, IntervalInputs, MAX_POSITION,
    Precondition, PreconditionError, Ranges, SplitKernel,
};
use lightbound_shader::interval::Nan;
use lightbound_shader::ir::Type;
use lightbound_shader::lift::{BoundSides, Input, Options, Tracking};
use lightbound_shader::{Arena, Scalar, ShaderKind, SurfaceSides, Texture};

const USAGE: &str = "\
lightbound shader bound [OPTIONS] --wi <X,Y,Z> --wo <X,Y,Z> <FILE>
       lightbound shader bound [OPTIONS] --p <X,Y,Z> <FILE>
       lightbound shader bound [OPTIONS] --entry <FN> <FILE>
       lightbound shader bound [OPTIONS] --csv <FILE> <FILE>";

const EXAMPLES: &str = "\
Examples:
  lightbound shader bound ward.wgsl --wi -0.1..0.1,0.5..0.7,0.7..0.9 --wo 0,0,1
  lightbound shader bound ward.wgsl --wi 0,0.6,0.8 --wo 0,0,1 --set kd=0.1..0.2 --set alpha_x=0.1
  lightbound shader bound phong.wgsl --mode related --split 4 --wi 0.5..0.7,0,0.7..0.9 --wo 0,0,1
  lightbound shader bound ward.wgsl --csv boxes.csv -o bounds.csv --sides upper --luminance
  lightbound shader bound parquet.wgsl --texture wood=w.png --wi 0,0,1 --wo 0,0,1 --set uv=0..0.3
  lightbound shader bound fog.wgsl --p 0..1,0..0.25,0..1        the density of a medium
  lightbound shader bound sdf.wgsl --entry torus --set p=0..1,0..0.5,0 --set radius=1

A value is a number or a closed interval LO..HI; a single value sets all components of a vector.
A CSV file has the columns wi.x, wi.y, wi.z, wo.x, wo.y, wo.z and any parameters by name, as for
eval; an interval takes two columns, wi.x.lo and wi.x.hi. The result has the columns s.r.lo, s.r.hi,
s.g.lo and so on: s, the BRDF times the cosine of wi, is between them for all inputs in the box,
without tolerance. Inputs from the surface point are set like parameters; by default the point is at
the origin. For a phase function, the result has the columns phase.lo and phase.hi. For a density, the
columns are p.x, p.y, p.z, and in the result density.lo, density.hi.
With --entry, they are the inputs of the function by name, and in the result those of its outputs that
are floats.

An infinite bound always holds. `no bound`, or NaN in CSV files, means that the bound itself is NaN.
With --nan propagate, either may mean that s is NaN somewhere in the box. With --nan ignore, bounds
may be wrong if a NaN occurs in the shader or in the arithmetic on endpoints, as in inf * 0; this
gives a warning. With --nan suppress, a bound is NaN only if s is NaN and does not depend on any
interval.

Directions are unit vectors, which --mode related and --split exploit: their bounds hold for the
vectors of a box whose squared length is within 2^-21 of 1. Components with at least seven digits are
precise enough. Other bounds hold for all vectors of the box.";

/// Options of `shader bound`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, override_usage = USAGE)]
pub struct Args {
    #[command(flatten)]
    inputs: InputArgs,

    #[command(flatten)]
    variant: VariantArgs,

    /// Split boxes into PARTS along their widest directions, for tighter bounds
    #[arg(long, value_name = "PARTS", value_parser = parts(), help_heading = HEADING)]
    split: Option<usize>,
}

/// Parses the number of parts.
fn parts() -> impl TypedValueParser<Value = usize> {
    PossibleValuesParser::new(["2", "4"])
        .map(|parts| parts.parse().expect("possible values are numbers"))
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Exit, Error> {
    let mut results = args.inputs.results()?;
    let mut job = args.inputs.job(InputKind::Intervals)?;
    let textures = job.read_textures()?;
    let evaluator = |intervals: &[bool]| BoundEvaluator::new(args, &job, intervals, textures);
    let warnings = match job.inputs()? {
        InputRows::Table(mut rows) => {
            let mut evaluator = evaluator(&rows.intervals())?;
            evaluate_table(&mut rows, &mut evaluator, &mut results)?;
            evaluator.warnings
        }
        InputRows::Row(row) => {
            let mut evaluator =
                evaluator(&row.iter().map(|range| range.is_interval).collect::<Vec<_>>())?;
            evaluator.check(&row).map_err(|(_, error)| error)?;
            let bounds = evaluator.bounds(&[row]);
            results.write(evaluator.text(&bounds[0]).as_bytes())?;
            evaluator.warnings
        }
    };
    results.finish()?;
    warnings.warn();
    Ok(Exit::Success)
}

/// Evaluates a bounding shader on rows of inputs, and counts rows that need a warning.
struct BoundEvaluator {
    kernel: BoundingKernel,
    /// Bounds whether a loop reaches the cap. Compiled separately, since additional outputs may
    /// change the bounds if NaN propagates.
    loop_cap_test: Option<BoundingKernel>,
    /// If NaN is ignored: tests whether one may occur.
    nan_test: Option<BoundingKernel>,
    /// If NaN is not suppressed: computes the bounds with NaN suppressed.
    suppressing: Option<BoundingKernel>,
    /// Number of words of the arguments, which precede those of parameters.
    arguments: usize,
    /// Input range and type of each word.
    words: Vec<(Input, Scalar)>,
    names: Vec<String>,
    /// Names of the bounded outputs.
    outputs: Vec<String>,
    bound_sides: BoundSides,
    ranges: Ranges,
    /// The sides of the material; `None` for a density or a function.
    material_sides: Option<SurfaceSides>,
    textures: Vec<Texture>,
    /// Number of parts that boxes are split into.
    parts: Option<usize>,
    warnings: RowWarnings,
}

impl BoundEvaluator {
    fn new(
        args: &Args,
        job: &ShaderJob<'_>,
        intervals: &[bool],
        textures: Vec<Texture>,
    ) -> Result<BoundEvaluator, Error> {
        let (options, ranges) = (args.variant.options()?, args.variant.ranges());
        if args.split.is_some() && job.sides().is_none() {
            let message = format!(
                "--split cuts boxes of directions, and {} has none",
                job.shader.kind().name()
            );
            return Err(Error::option(
                message,
                "omit it, and bound the parts of the box one by one, or as rows of --csv",
            ));
        }
        let mut integrand = args.variant.integrand(&job.shader, &job.settings, Frame::Local)?;
        let outputs = &integrand.point.outputs;
        integrand.outputs.retain(|&output| outputs[output].ty == Type::F32);
        let is_phase = job.shader.kind() == ShaderKind::Phase;
        if is_phase {
            integrand.outputs.truncate(1);
        }
        if integrand.outputs.is_empty() {
            return Err(Error::Data {
                message: format!("`{}` returns no floats", job.shader.function_name()),
                help: "convert its result, as in f32(i)".into(),
            });
        }
        let mut inputs = integrand.inputs(IntervalInputs::All, ranges);
        for (input, &interval) in inputs.iter_mut().zip(intervals) {
            input.interval = interval;
        }
        let compile = |integrand: &Integrand, options: &Options| {
            BoundingKernel::compile(
                &Arena::new(),
                &integrand.bound(&inputs, options),
                args.inputs.source.target(),
            )
        };
        let loop_cap_test =
            integrand.point.outputs.iter().position(|port| port.name == "capped").map(|output| {
                let mut capped = integrand.clone();
                capped.outputs = vec![output];
                compile(&capped, &Options { sides: BoundSides::Upper, ..options })
            });
        // Naive code that propagates NaN detects every NaN that the other code ignores.
        let nan_test_options = Options {
            sides: BoundSides::Both,
            nan: Nan::Propagate,
            tracking: Tracking::NONE,
            ..options
        };
        let nan_test = (options.nan == Nan::Ignore)
            .then(|| compile(&integrand, &nan_test_options))
            .transpose()?;
        let suppressing = Options { nan: Nan::Suppress, ..options };
        let suppressing = (options.nan != Nan::Suppress)
            .then(|| compile(&integrand, &suppressing))
            .transpose()?;
        let parameters =
            job.parameters().iter().flat_map(|parameter| vec![parameter.scalar; parameter.size]);
        let arguments = arguments(job.shader.kind()).len();
        let scalars = std::iter::repeat_n(Scalar::F32, arguments).chain(parameters);
        Ok(BoundEvaluator {
            kernel: compile(&integrand, &options)?,
            loop_cap_test: loop_cap_test.transpose()?,
            nan_test,
            suppressing,
            arguments,
            words: inputs.into_iter().zip(scalars).collect(),
            names: integrand.point.inputs.iter().map(|port| port.name.clone()).collect(),
            outputs: if is_phase {
                vec![PHASE.to_owned()]
            } else {
                let name = |&k: &usize| integrand.point.outputs[k].name.clone();
                integrand.outputs.iter().map(name).collect()
            },
            bound_sides: options.sides,
            ranges,
            material_sides: job.sides(),
            textures,
            parts: args.split,
            warnings: RowWarnings::new(InputKind::Intervals, job.sides()),
        })
    }

    fn out_of_range(&self, word: usize, scalar: Scalar, endpoints: [u32; 2]) -> ValueError {
        let [low, high] = endpoints.map(|bits| match scalar {
            Scalar::F32 => format!("{:?}", f32::from_bits(bits)),
            Scalar::I32 | Scalar::U32 | Scalar::Bool => (bits as i32).to_string(),
        });
        let value = if low == high { low } else { format!("{low}..{high}") };
        let help = match (self.ranges, word < self.arguments) {
            (Ranges::Declared, true) if self.material_sides.is_none() => format!(
                "components of positions are from {0:e} to {1:e}; --ranges paper accepts all \
                 finite numbers",
                -MAX_POSITION, MAX_POSITION
            ),
            (Ranges::Declared, true) => {
                "components of unit vectors are from -1 to 1; --ranges paper accepts all finite \
                 numbers"
                    .to_owned()
            }
            (Ranges::Declared, false) => "it accepts the range that the shader declares".to_owned(),
            (Ranges::Paper, true) => "components of directions and positions are finite".to_owned(),
            (Ranges::Paper, false) => {
                "--ranges paper accepts finite numbers that are not negative, unless the shader \
                 declares a negative range; --ranges declared accepts the declared range"
                    .to_owned()
            }
        };
        ValueError { message: format!("`{}`: {value} is out of range", self.names[word]), help }
    }

    /// Runs a bounding kernel on boxes.
    fn limits(&self, kernel: &BoundingKernel, rows: &[Vec<WordRange>]) -> BoundsBatch {
        /// Placeholder for directions that need no bound.
        const UP: [f32; 3] = [0.0, 0.0, 1.0];
        let mut boxes = BoxBatch::new(kernel, rows.len());
        let mut limits = BoundsBatch::new(kernel, rows.len());
        for (row, ranges) in rows.iter().enumerate() {
            for (word, range) in ranges.iter().enumerate() {
                boxes.set_bits(row, word, self.kernel_endpoints(word, range.endpoints));
            }
            if !self.needs_bound(ranges) {
                UP.iter().zip(WO_X..).for_each(|(&x, word)| boxes.set(row, word, [x; 2]));
            }
        }
        let textures: Vec<_> = self.textures.iter().collect();
        match self.parts {
            Some(parts) => SplitKernel::new(kernel, parts).run(&textures, &boxes, &mut limits),
            None => kernel.run(&textures, &boxes, &mut limits),
        }
        limits
    }

    /// Whether a checked row needs the bounding shader. It does not if bounds are for unit vectors
    /// and the box contains none in front of the surface.
    fn needs_bound(&self, ranges: &[WordRange]) -> bool {
        let component =
            |word: usize| self.kernel_endpoints(word, ranges[word].endpoints).map(f32::from_bits);
        self.kernel.precondition().is_none_or(|precondition| precondition.check(component).is_ok())
    }

    /// Bounds of each output for checked rows.
    fn bounds(&mut self, rows: &[Vec<WordRange>]) -> Vec<Vec<[f32; 2]>> {
        let limits = self.limits(&self.kernel, rows);
        let capped = self.loop_cap_test.as_ref().map(|kernel| self.limits(kernel, rows));
        let nan_tests = self.nan_test.as_ref().map(|kernel| self.limits(kernel, rows));
        let outputs = self.outputs.len();
        let may_be_nan = |row: usize| {
            let is_nan = |limits: &BoundsBatch| {
                (0..outputs).any(|k| limits.get(row, k).iter().any(|end| end.is_nan()))
            };
            nan_tests.as_ref().is_some_and(is_nan)
        };
        let bounds = rows.iter().enumerate().map(|(row, ranges)| {
            let is_evaluated = self.needs_bound(ranges);
            let bounds = self.row(&limits, row, ranges);
            let covered = self.warnings.note(ranges) && is_evaluated;
            self.warnings.capped += usize::from(
                covered && capped.as_ref().is_some_and(|capped| capped.may_be_true(row, 0)),
            );
            self.warnings.invalidated_by_nan += usize::from(covered && may_be_nan(row));
            bounds
        });
        let bounds: Vec<_> = bounds.collect();
        self.note_unbounded(rows, &bounds);
        bounds
    }

    /// Bounds of each output for a row, from the shader's `limits`.
    fn row(&self, limits: &BoundsBatch, row: usize, ranges: &[WordRange]) -> Vec<[f32; 2]> {
        let is_evaluated = self.needs_bound(ranges);
        let bound =
            |k| if is_evaluated { self.include_back(limits.get(row, k), ranges) } else { [0.0; 2] };
        (0..self.outputs.len()).map(bound).collect()
    }

    /// Counts rows that lack bounds, and those that lack them because of NaN.
    fn note_unbounded(&mut self, rows: &[Vec<WordRange>], bounds: &[Vec<[f32; 2]>]) {
        let missing = |bounds: &[[f32; 2]]| {
            bounds
                .iter()
                .map(|&bound| MissingBound::find(bound, self.bound_sides))
                .collect::<Vec<_>>()
        };
        let unbounded = bounds.iter().map(|bounds| missing(bounds)).enumerate();
        let unbounded: Vec<_> =
            unbounded.filter(|(_, missing)| missing.iter().any(Option::is_some)).collect();
        if unbounded.is_empty() {
            return;
        }
        let unbounded_rows: Vec<_> = unbounded.iter().map(|(row, _)| rows[*row].clone()).collect();
        let suppressed =
            self.suppressing.as_ref().map(|kernel| self.limits(kernel, &unbounded_rows));
        let notes = unbounded.into_iter().zip(&unbounded_rows).enumerate().map(
            |(row, ((_, with_nan), ranges))| {
                let without_nan =
                    suppressed.as_ref().map(|limits| missing(&self.row(limits, row, ranges)));
                let by_nan = without_nan.is_some_and(|without_nan| without_nan != with_nan);
                (MissingBound::describe(&self.outputs, &with_nan), by_nan)
            },
        );
        let notes: Vec<_> = notes.collect();
        notes
            .into_iter()
            .for_each(|(missing, by_nan)| self.warnings.note_unbounded(missing, by_nan));
    }

    /// The endpoints of a word for the bounding shader.
    fn kernel_endpoints(&self, word: usize, endpoints: [u32; 2]) -> [u32; 2] {
        if word == WO_Z && self.material_sides == Some(SurfaceSides::One) {
            // The bounding shader requires directions in front of the surface.
            const FRONT: f32 = f32::from_bits(1);
            return endpoints.map(|bits| f32::from_bits(bits).max(FRONT).to_bits());
        }
        if self.words[word].1 == Scalar::U32 && endpoints[0] as i32 > endpoints[1] as i32 {
            // Integers are ordered as signed: this interval wraps around, so use the full range.
            return [i32::MIN, i32::MAX].map(|end| end as u32);
        }
        endpoints
    }

    /// Extends a bound by the value behind a one-sided material, which is 0.
    fn include_back(&self, [low, high]: [f32; 2], ranges: &[WordRange]) -> [f32; 2] {
        let covered = self.material_sides.map_or([true; 2], |sides| {
            ranges[WO_Z].endpoints.map(|bits| sides.covers(f32::from_bits(bits)))
        });
        let [low, high] = match covered {
            [true, _] => [low, high],
            // Keeps NaN.
            [false, true] => {
                [if low > 0.0 { 0.0 } else { low }, if high < 0.0 { 0.0 } else { high }]
            }
            [false, false] => [0.0, 0.0],
        };
        // Turns −0 into 0.
        [low + 0.0, high + 0.0]
    }

    /// The requested endpoints of a bound.
    fn requested(&self, endpoints: [f32; 2]) -> Vec<f32> {
        match self.bound_sides {
            BoundSides::Lower => vec![endpoints[0]],
            BoundSides::Upper => vec![endpoints[1]],
            BoundSides::Both => endpoints.to_vec(),
        }
    }

    /// Formats the bounds of a box.
    fn text(&self, bounds: &[[f32; 2]]) -> String {
        let end = |x: f32| if x.is_nan() { "no bound".to_owned() } else { format!("{x:?}") };
        let width = bounds.iter().map(|[low, _]| end(*low).len()).max().unwrap_or(0);
        let row = |(name, &[low, high]): (&String, &[f32; 2])| {
            let bound = match self.bound_sides {
                BoundSides::Lower if low.is_nan() => end(low),
                BoundSides::Lower => format!("at least {}", end(low)),
                BoundSides::Upper if high.is_nan() => end(high),
                BoundSides::Upper => format!("at most {}", end(high)),
                BoundSides::Both if low.is_nan() && high.is_nan() => end(low),
                BoundSides::Both => format!("{:width$} .. {}", end(low), end(high)),
            };
            vec![name.clone(), bound]
        };
        format_table(&self.outputs.iter().zip(bounds).map(row).collect::<Vec<_>>())
    }
}

/// The missing bounds on an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MissingBound {
    /// Both bounds.
    Both,
    /// The lower bound.
    Lower,
    /// The upper bound.
    Upper,
}

impl MissingBound {
    /// Finds the missing bounds among the `requested` endpoints. If both are requested, an interval
    /// with a single infinite endpoint is a bound. So is an empty interval, with its lower endpoint
    /// above the upper one: all results are NaN.
    fn find([low, high]: [f32; 2], requested: BoundSides) -> Option<MissingBound> {
        let (below, above) =
            (low.is_nan() || low == f32::NEG_INFINITY, high.is_nan() || high == f32::INFINITY);
        match requested {
            BoundSides::Lower => below.then_some(MissingBound::Lower),
            BoundSides::Upper => above.then_some(MissingBound::Upper),
            BoundSides::Both if below && above => Some(MissingBound::Both),
            BoundSides::Both if low.is_nan() => Some(MissingBound::Lower),
            BoundSides::Both => high.is_nan().then_some(MissingBound::Upper),
        }
    }

    /// Describes the missing bounds on outputs.
    fn describe(outputs: &[String], missing: &[Option<MissingBound>]) -> String {
        let kinds = [
            (MissingBound::Both, "there are no bounds on"),
            (MissingBound::Lower, "there is no lower bound on"),
            (MissingBound::Upper, "there is no upper bound on"),
        ];
        let parts = kinds.into_iter().filter_map(|(kind, text)| {
            let outputs =
                outputs.iter().zip(missing).filter(|(_, missing)| **missing == Some(kind));
            let names: Vec<&str> = outputs.map(|(name, _)| name.as_str()).collect();
            (!names.is_empty()).then(|| format!("{text} {}", names.join(", ")))
        });
        parts.collect::<Vec<_>>().join(", and ")
    }
}

/// Indices of words in a row that begins with directions.
const WI_Z: usize = 2;
const WO_X: usize = 3;
const WO_Z: usize = 5;

impl RowEvaluator for BoundEvaluator {
    fn columns(&self) -> Vec<String> {
        let endpoints: &[&str] = match self.bound_sides {
            BoundSides::Lower => &["lo"],
            BoundSides::Upper => &["hi"],
            BoundSides::Both => &["lo", "hi"],
        };
        self.outputs
            .iter()
            .flat_map(|name| endpoints.iter().map(move |end| format!("{name}.{end}")))
            .collect()
    }

    fn check(&self, row: &[WordRange]) -> Result<(), (usize, ValueError)> {
        for (word, range) in row.iter().enumerate() {
            // Values behind a one-sided material need no shader, so wo.z has the range of wi.z.
            let is_wo_z = word == WO_Z && self.material_sides.is_some();
            let (input, scalar) = &self.words[if is_wo_z { WI_Z } else { word }];
            if !range.endpoints.iter().all(|&bits| input.bounds.contains(bits)) {
                return Err((word, self.out_of_range(word, *scalar, range.endpoints)));
            }
        }
        self.kernel
            .precondition()
            .map_or(Ok(()), |precondition| directions_are_unit(precondition, row))
    }

    fn evaluate(&mut self, rows: &[Vec<WordRange>]) -> Vec<Vec<f32>> {
        let bounds = self.bounds(rows);
        bounds
            .iter()
            .map(|bounds| bounds.iter().flat_map(|endpoints| self.requested(*endpoints)).collect())
            .collect()
    }
}

/// Checks that related bounds hold for a row; behind a one-sided material, they are not needed.
fn directions_are_unit(
    precondition: &Precondition,
    row: &[WordRange],
) -> Result<(), (usize, ValueError)> {
    const ALTERNATIVE: &str = "--mode optimized bounds s for vectors of any length";
    let component = |word: usize| row[word].endpoints.map(f32::from_bits);
    let Err(unmet) = precondition.check(component) else { return Ok(()) };
    let help = match &unmet {
        PreconditionError::Below { .. } => return Ok(()),
        PreconditionError::Length { input, squares, .. }
            if squares[0] == squares[1] && squares[0] > 0.0 =>
        {
            let unit =
                [0, 1, 2].map(|k| (f64::from(component(input + k)[0]) / squares[0].sqrt()) as f32);
            let [x, y, z] = unit.map(|x| format!("{x:?}"));
            format!(
                "--mode related needs vectors that are normalized to full float precision, as in \
                 {x},{y},{z}; {ALTERNATIVE}"
            )
        }
        PreconditionError::Order { .. } => {
            "--mode related needs boxes that contain sorted vectors; --mode optimized bounds all of \
             them"
                .to_owned()
        }
        PreconditionError::Length { .. }
        | PreconditionError::Component { .. }
        | PreconditionError::Angle { .. } => {
            format!("--mode related needs boxes that contain unit vectors; {ALTERNATIVE}")
        }
    };
    Err((unmet.input(), ValueError { message: unmet.to_string(), help }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_bounds_depend_on_requested_endpoints() {
        use MissingBound::{Both, Lower, Upper};
        const INF: f32 = f32::INFINITY;
        const NAN: f32 = f32::NAN;
        let missing = |low, high| {
            [BoundSides::Both, BoundSides::Lower, BoundSides::Upper]
                .map(|sides| MissingBound::find([low, high], sides))
        };
        let all = [Some(Both), Some(Lower), Some(Upper)];
        assert_eq!(
            [missing(-INF, INF), missing(NAN, NAN), missing(-INF, NAN), missing(NAN, INF)],
            [all; 4]
        );
        assert_eq!([missing(INF, -INF), missing(0.0, 1.0)], [[None; 3]; 2]);
        assert_eq!([missing(INF, INF), missing(0.0, INF)], [[None, None, Some(Upper)]; 2]);
        assert_eq!(missing(-INF, -INF), [None, Some(Lower), None]);
        assert_eq!(
            [missing(0.0, NAN), missing(NAN, 0.0)],
            [[Some(Upper), None, Some(Upper)], [Some(Lower), Some(Lower), None]]
        );
    }

    #[test]
    fn missing_bounds_are_grouped_by_kind() {
        let names = ["s.r", "s.g", "s.b"].map(str::to_owned);
        let describe =
            |missing: [Option<MissingBound>; 3]| MissingBound::describe(&names, &missing);
        assert_eq!(
            describe([Some(MissingBound::Both), None, Some(MissingBound::Both)]),
            "there are no bounds on s.r, s.b"
        );
        let two = describe([None, Some(MissingBound::Upper), Some(MissingBound::Both)]);
        assert_eq!(two, "there are no bounds on s.b, and there is no upper bound on s.g");
    }
}
