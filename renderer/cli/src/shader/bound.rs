//! `lightbound shader bound`: evaluates the bounding shader of s for boxes of inputs.
//!
//! Inputs that are given as intervals are intervals in the bounding shader, and numbers are scalars:
//! the code is compiled for this classification of inputs. Behind a one-sided material, s and its
//! bound are 0 and the shader is not evaluated.

use super::csv::Kind;
use super::evaluator::DIRECTIONS;
use super::inputs::{InputArgs, Inputs, Job, Run, stream};
use super::remarks::Remarks;
use super::values::{Span, Wrong};
use crate::variant::{HEADING, VariantArgs};
use crate::{Error, Exit};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use lightbound::material::parameters::columns;
use lightbound_shader::bounding::{
    BoundingKernel, BoundsBatch, BoxBatch, Frame, Integrand, IntervalInputs, Precondition,
    PreconditionError, Ranges, SplitKernel,
};
use lightbound_shader::interval::Nan;
use lightbound_shader::lift::{Input, Options, Sides, Tracking};
use lightbound_shader::{Arena, Scalar, Texture};

const USAGE: &str = "\
lightbound shader bound [OPTIONS] --wi <X,Y,Z> --wo <X,Y,Z> <FILE>
       lightbound shader bound [OPTIONS] --csv <FILE> <FILE>";

const EXAMPLES: &str = "\
Examples:
  lightbound shader bound ward.wgsl --wi -0.1..0.1,0.5..0.7,0.7..0.9 --wo 0,0,1
  lightbound shader bound ward.wgsl --wi 0,0.6,0.8 --wo 0,0,1 --set kd=0.1..0.2 --set alpha_x=0.1
  lightbound shader bound phong.wgsl --mode related --split 4 --wi 0.5..0.7,0,0.7..0.9 --wo 0,0,1
  lightbound shader bound ward.wgsl --csv boxes.csv -o bounds.csv --sides upper --luminance
  lightbound shader bound parquet.wgsl --texture wood=w.png --wi 0,0,1 --wo 0,0,1 --set uv=0..0.3

A value is a number or a closed interval LO..HI; a single value sets all components of a vector.
A CSV file has the columns wi.x, wi.y, wi.z, wo.x, wo.y, wo.z and any parameters by name, as for
eval; an interval takes two columns, wi.x.lo and wi.x.hi. The result has the columns s.r.lo, s.r.hi,
s.g.lo and so on: s, the BRDF times the cosine of wi, is between them for all inputs in the box,
without tolerance. Inputs from the surface point are set like parameters; by default the point is at
the origin.

An infinite bound holds for any number. `no bound`, or NaN in CSV files, means that the bound itself
is NaN. With --nan propagate, either may mean that s is NaN somewhere in the box. With --nan ignore,
bounds may be wrong if a NaN occurs in the shader or in the arithmetic on endpoints, as in inf * 0;
this gives a warning. With --nan suppress, a bound is NaN only if s is NaN and does not depend on
any interval.

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
    let job = args.inputs.job(Kind::Intervals)?;
    let textures = job.textures()?;
    let bounder = |intervals: &[bool]| Bounder::new(args, &job, intervals, textures);
    let remarks = match job.inputs()? {
        Inputs::Table(mut rows) => {
            let mut bounder = bounder(&rows.intervals())?;
            stream(&mut rows, &mut bounder, &mut results)?;
            bounder.remarks
        }
        Inputs::Row(row) => {
            let mut bounder = bounder(&row.iter().map(|span| span.interval).collect::<Vec<_>>())?;
            bounder.check(&row).map_err(|(_, wrong)| wrong)?;
            let bounds = bounder.bounds(&[row]);
            results.write(bounder.text(&bounds[0]).as_bytes())?;
            bounder.remarks
        }
    };
    results.finish()?;
    remarks.warn();
    Ok(Exit::Done)
}

/// Runs a bounding shader on rows of spans, and counts rows that need a warning.
struct Bounder {
    kernel: BoundingKernel,
    /// Reports loops that were stopped. Separate code, since additional outputs may change the bounds
    /// when NaN propagates.
    capped: Option<BoundingKernel>,
    /// If NaN is ignored, reports whether one may occur.
    nan_test: Option<BoundingKernel>,
    /// If NaN is not suppressed, computes the bounds with NaN suppressed.
    suppressing: Option<BoundingKernel>,
    /// Known range and type of each word.
    words: Vec<(Input, Scalar)>,
    names: Vec<String>,
    /// Names of the bounded outputs.
    outputs: Vec<String>,
    bound_sides: Sides,
    ranges: Ranges,
    surface: lightbound_shader::Sides,
    textures: Vec<Texture>,
    /// Number of parts that boxes are split into.
    parts: Option<usize>,
    remarks: Remarks,
}

impl Bounder {
    fn new(
        args: &Args,
        job: &Job<'_>,
        intervals: &[bool],
        textures: Vec<Texture>,
    ) -> Result<Bounder, Error> {
        let (options, ranges) = (args.variant.options()?, args.variant.ranges());
        let integrand = args.variant.integrand(&job.shader, &job.settings, Frame::Local)?;
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
        let capped =
            integrand.point.outputs.iter().position(|port| port.name == "capped").map(|output| {
                let mut capped = integrand.clone();
                capped.outputs = vec![output];
                compile(&capped, &Options { sides: Sides::Upper, ..options })
            });
        // Naive code that propagates NaN detects every NaN that the other code ignores.
        let testing = Options {
            sides: Sides::Both,
            nan: Nan::Propagate,
            tracking: Tracking::NONE,
            ..options
        };
        let nan_test =
            (options.nan == Nan::Ignore).then(|| compile(&integrand, &testing)).transpose()?;
        let suppressing = Options { nan: Nan::Suppress, ..options };
        let suppressing = (options.nan != Nan::Suppress)
            .then(|| compile(&integrand, &suppressing))
            .transpose()?;
        let parameters = job
            .shader
            .parameters()
            .iter()
            .flat_map(|parameter| vec![parameter.scalar; parameter.size]);
        let scalars = [Scalar::F32; DIRECTIONS.len()].into_iter().chain(parameters);
        Ok(Bounder {
            kernel: compile(&integrand, &options)?,
            capped: capped.transpose()?,
            nan_test,
            suppressing,
            words: inputs.into_iter().zip(scalars).collect(),
            names: integrand.point.inputs.iter().map(|port| port.name.clone()).collect(),
            outputs: integrand
                .outputs
                .iter()
                .map(|&k| integrand.point.outputs[k].name.clone())
                .collect(),
            bound_sides: options.sides,
            ranges,
            surface: job.shader.sides(),
            textures,
            parts: args.split,
            remarks: Remarks::new(Kind::Intervals),
        })
    }

    fn out_of_range(&self, word: usize, scalar: Scalar, ends: [u32; 2]) -> Wrong {
        let [low, high] = ends.map(|bits| match scalar {
            Scalar::F32 => format!("{:?}", f32::from_bits(bits)),
            Scalar::I32 | Scalar::U32 | Scalar::Bool => (bits as i32).to_string(),
        });
        let value = if low == high { low } else { format!("{low}..{high}") };
        let help = match (self.ranges, word < DIRECTIONS.len()) {
            (Ranges::Declared, true) => {
                "components of unit vectors are from -1 to 1; --ranges paper accepts all finite numbers".to_owned()
            }
            (Ranges::Declared, false) => "it accepts the range that the shader declares".to_owned(),
            (Ranges::Paper, true) => "components of directions are finite".to_owned(),
            (Ranges::Paper, false) => {
                "--ranges paper accepts finite numbers that are not negative, unless the shader declares a negative range; \
                 --ranges declared accepts the declared range"
                    .to_owned()
            }
        };
        Wrong { message: format!("`{}`: {value} is out of range", self.names[word]), help }
    }

    /// Runs a bounding kernel on boxes.
    fn limits(&self, kernel: &BoundingKernel, rows: &[Vec<Span>]) -> BoundsBatch {
        /// Placeholder for directions that need no bound.
        const UP: [f32; 3] = [0.0, 0.0, 1.0];
        let mut boxes = BoxBatch::new(kernel, rows.len());
        let mut limits = BoundsBatch::new(kernel, rows.len());
        for (row, spans) in rows.iter().enumerate() {
            for (word, span) in spans.iter().enumerate() {
                boxes.set_bits(row, word, self.ends(word, span.ends));
            }
            if !self.needs_bound(spans) {
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

    /// Whether a checked row needs the bounding shader. If bounds hold for unit vectors and the box has
    /// none in front, it does not.
    fn needs_bound(&self, spans: &[Span]) -> bool {
        let front = |word: usize| self.ends(word, spans[word].ends).map(f32::from_bits);
        self.kernel.precondition().is_none_or(|precondition| precondition.check(front).is_ok())
    }

    /// Bounds of each output for checked rows.
    fn bounds(&mut self, rows: &[Vec<Span>]) -> Vec<Vec<[f32; 2]>> {
        let limits = self.limits(&self.kernel, rows);
        let capped = self.capped.as_ref().map(|kernel| self.limits(kernel, rows));
        let nan_tests = self.nan_test.as_ref().map(|kernel| self.limits(kernel, rows));
        let outputs = self.outputs.len();
        let may_be_nan = |row: usize| {
            let is_nan = |limits: &BoundsBatch| {
                (0..outputs).any(|k| limits.get(row, k).iter().any(|end| end.is_nan()))
            };
            nan_tests.as_ref().is_some_and(is_nan)
        };
        let bounds = rows.iter().enumerate().map(|(row, spans)| {
            let needed = self.needs_bound(spans);
            let all = self.row(&limits, row, spans);
            let covered = self.remarks.note(spans, self.surface) && needed;
            self.remarks.capped += usize::from(
                covered && capped.as_ref().is_some_and(|capped| capped.may_be_true(row, 0)),
            );
            self.remarks.invalidated_by_nan += usize::from(covered && may_be_nan(row));
            all
        });
        let bounds: Vec<_> = bounds.collect();
        self.note_unbounded(rows, &bounds);
        bounds
    }

    /// Bounds of each output for a row, from the shader's `limits`.
    fn row(&self, limits: &BoundsBatch, row: usize, spans: &[Span]) -> Vec<[f32; 2]> {
        let (needed, wo_z) = (self.needs_bound(spans), spans[WO_Z].ends.map(f32::from_bits));
        let of = |k| if needed { self.with_back(limits.get(row, k), wo_z) } else { [0.0; 2] };
        (0..self.outputs.len()).map(of).collect()
    }

    /// Counts rows that lack bounds, and those that lack them because of NaN.
    fn note_unbounded(&mut self, rows: &[Vec<Span>], bounds: &[Vec<[f32; 2]>]) {
        let unknown = |bounds: &[[f32; 2]]| {
            bounds.iter().map(|&ends| Unknown::of(ends, self.bound_sides)).collect::<Vec<_>>()
        };
        let lacking = bounds.iter().map(|bounds| unknown(bounds)).enumerate();
        let lacking: Vec<_> =
            lacking.filter(|(_, unknown)| unknown.iter().any(Option::is_some)).collect();
        if lacking.is_empty() {
            return;
        }
        let again: Vec<_> = lacking.iter().map(|(row, _)| rows[*row].clone()).collect();
        let suppressed = self.suppressing.as_ref().map(|kernel| self.limits(kernel, &again));
        let notes =
            lacking.into_iter().zip(&again).enumerate().map(|(at, ((_, with_nan), spans))| {
                let without =
                    suppressed.as_ref().map(|limits| unknown(&self.row(limits, at, spans)));
                let by_nan = without.is_some_and(|without| without != with_nan);
                (Unknown::text(&self.outputs, &with_nan), by_nan)
            });
        let notes: Vec<_> = notes.collect();
        notes
            .into_iter()
            .for_each(|(unknown, by_nan)| self.remarks.note_unbounded(unknown, by_nan));
    }

    /// The endpoints of a word for the bounding shader.
    fn ends(&self, word: usize, ends: [u32; 2]) -> [u32; 2] {
        if word == WO_Z && self.surface == lightbound_shader::Sides::One {
            // The shader only bounds directions in front.
            const FRONT: f32 = f32::from_bits(1);
            return ends.map(|bits| f32::from_bits(bits).max(FRONT).to_bits());
        }
        if self.words[word].1 == Scalar::U32 && ends[0] as i32 > ends[1] as i32 {
            // Integers are ordered as signed: this interval wraps around, so it becomes the full range.
            return [i32::MIN, i32::MAX].map(|end| end as u32);
        }
        ends
    }

    /// Extends a bound by the value behind a one-sided material, which is 0.
    fn with_back(&self, [low, high]: [f32; 2], [wo_low, wo_high]: [f32; 2]) -> [f32; 2] {
        let [low, high] = match (self.surface.covers(wo_low), self.surface.covers(wo_high)) {
            (true, _) => [low, high],
            // Keeps NaN.
            (false, true) => {
                [if low > 0.0 { 0.0 } else { low }, if high < 0.0 { 0.0 } else { high }]
            }
            (false, false) => [0.0, 0.0],
        };
        // Turns −0 into 0.
        [low + 0.0, high + 0.0]
    }

    /// The requested endpoints of a bound.
    fn requested(&self, ends: [f32; 2]) -> Vec<f32> {
        match self.bound_sides {
            Sides::Lower => vec![ends[0]],
            Sides::Upper => vec![ends[1]],
            Sides::Both => ends.to_vec(),
        }
    }

    /// Formats the bounds of a box.
    fn text(&self, bounds: &[[f32; 2]]) -> String {
        let end = |x: f32| if x.is_nan() { "no bound".to_owned() } else { format!("{x:?}") };
        let width = bounds.iter().map(|[low, _]| end(*low).len()).max().unwrap_or(0);
        let row = |(name, &[low, high]): (&String, &[f32; 2])| {
            let bound = match self.bound_sides {
                Sides::Lower if low.is_nan() => end(low),
                Sides::Lower => format!("at least {}", end(low)),
                Sides::Upper if high.is_nan() => end(high),
                Sides::Upper => format!("at most {}", end(high)),
                Sides::Both if low.is_nan() && high.is_nan() => end(low),
                Sides::Both => format!("{:width$} .. {}", end(low), end(high)),
            };
            vec![name.clone(), bound]
        };
        columns(&self.outputs.iter().zip(bounds).map(row).collect::<Vec<_>>())
    }
}

/// Missing bounds of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unknown {
    /// Both bounds.
    All,
    /// The lower bound.
    Lower,
    /// The upper bound.
    Upper,
}

impl Unknown {
    /// Missing bounds among the requested endpoints. If both are requested, a single infinite endpoint
    /// is still a bound. An empty interval, with its lower endpoint above the upper one, is a bound
    /// too: all results are NaN.
    fn of([low, high]: [f32; 2], requested: Sides) -> Option<Unknown> {
        let (below, above) =
            (low.is_nan() || low == f32::NEG_INFINITY, high.is_nan() || high == f32::INFINITY);
        match requested {
            Sides::Lower => below.then_some(Unknown::Lower),
            Sides::Upper => above.then_some(Unknown::Upper),
            Sides::Both if below && above => Some(Unknown::All),
            Sides::Both if low.is_nan() => Some(Unknown::Lower),
            Sides::Both => high.is_nan().then_some(Unknown::Upper),
        }
    }

    /// Describes missing bounds of outputs.
    fn text(outputs: &[String], unknown: &[Option<Unknown>]) -> String {
        let kinds = [
            (Unknown::All, "nothing is known of"),
            (Unknown::Lower, "there is no lower bound of"),
            (Unknown::Upper, "there is no upper bound of"),
        ];
        let parts = kinds.into_iter().filter_map(|(kind, text)| {
            let of = outputs.iter().zip(unknown).filter(|(_, unknown)| **unknown == Some(kind));
            let names: Vec<&str> = of.map(|(name, _)| name.as_str()).collect();
            (!names.is_empty()).then(|| format!("{text} {}", names.join(", ")))
        });
        parts.collect::<Vec<_>>().join(", and ")
    }
}

/// Indices of words in a row.
const WI_Z: usize = 2;
const WO_X: usize = 3;
const WO_Z: usize = 5;

impl Run for Bounder {
    fn columns(&self) -> Vec<String> {
        let ends: &[&str] = match self.bound_sides {
            Sides::Lower => &["lo"],
            Sides::Upper => &["hi"],
            Sides::Both => &["lo", "hi"],
        };
        self.outputs
            .iter()
            .flat_map(|name| ends.iter().map(move |end| format!("{name}.{end}")))
            .collect()
    }

    fn check(&self, row: &[Span]) -> Result<(), (usize, Wrong)> {
        for (word, span) in row.iter().enumerate() {
            // Values behind a one-sided material need no shader, so wo.z has the range of wi.z.
            let (input, scalar) = &self.words[if word == WO_Z { WI_Z } else { word }];
            if !span.ends.iter().all(|&bits| input.bounds.contains(bits)) {
                return Err((word, self.out_of_range(word, *scalar, span.ends)));
            }
        }
        self.kernel
            .precondition()
            .map_or(Ok(()), |precondition| directions_are_unit(precondition, row))
    }

    fn run(&mut self, rows: &[Vec<Span>]) -> Vec<Vec<f32>> {
        let bounds = self.bounds(rows);
        bounds
            .iter()
            .map(|bounds| bounds.iter().flat_map(|ends| self.requested(*ends)).collect())
            .collect()
    }
}

/// Checks that related bounds hold for a row; behind a one-sided material they are not needed.
fn directions_are_unit(precondition: &Precondition, row: &[Span]) -> Result<(), (usize, Wrong)> {
    const ALTERNATIVE: &str = "--mode optimized bounds s for vectors of any length";
    let of = |word: usize| row[word].ends.map(f32::from_bits);
    let Err(unmet) = precondition.check(of) else { return Ok(()) };
    let help = match &unmet {
        PreconditionError::Below { .. } => return Ok(()),
        PreconditionError::Length { input, squares, .. }
            if squares[0] == squares[1] && squares[0] > 0.0 =>
        {
            let unit = [0, 1, 2].map(|k| (f64::from(of(input + k)[0]) / squares[0].sqrt()) as f32);
            let [x, y, z] = unit.map(|x| format!("{x:?}"));
            format!(
                "--mode related needs vectors that are normalized to full float precision, as in {x},{y},{z}; {ALTERNATIVE}"
            )
        }
        PreconditionError::Length { .. }
        | PreconditionError::Component { .. }
        | PreconditionError::Angle { .. } => {
            format!("--mode related needs boxes that contain unit vectors; {ALTERNATIVE}")
        }
    };
    Err((unmet.input(), Wrong { message: unmet.to_string(), help }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_bounds_depend_on_requested_endpoints() {
        use Unknown::{All, Lower, Upper};
        const INF: f32 = f32::INFINITY;
        const NAN: f32 = f32::NAN;
        let of = |low, high| {
            [Sides::Both, Sides::Lower, Sides::Upper].map(|sides| Unknown::of([low, high], sides))
        };
        let nothing = [Some(All), Some(Lower), Some(Upper)];
        assert_eq!([of(-INF, INF), of(NAN, NAN), of(-INF, NAN), of(NAN, INF)], [nothing; 4]);
        assert_eq!([of(INF, -INF), of(0.0, 1.0)], [[None; 3]; 2]);
        assert_eq!([of(INF, INF), of(0.0, INF)], [[None, None, Some(Upper)]; 2]);
        assert_eq!(of(-INF, -INF), [None, Some(Lower), None]);
        assert_eq!(
            [of(0.0, NAN), of(NAN, 0.0)],
            [[Some(Upper), None, Some(Upper)], [Some(Lower), Some(Lower), None]]
        );
    }

    #[test]
    fn missing_bounds_are_grouped_by_kind() {
        let names = ["s.r", "s.g", "s.b"].map(str::to_owned);
        let text = |unknown: [Option<Unknown>; 3]| Unknown::text(&names, &unknown);
        assert_eq!(
            text([Some(Unknown::All), None, Some(Unknown::All)]),
            "nothing is known of s.r, s.b"
        );
        let two = text([None, Some(Unknown::Upper), Some(Unknown::All)]);
        assert_eq!(two, "nothing is known of s.b, and there is no upper bound of s.g");
    }
}
