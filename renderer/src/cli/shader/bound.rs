//! `lightbound shader bound`: bounds of s over boxes of inputs, so that anyone can see what a
//! bounding shader gives.
//!
//! Inputs that are given as intervals are intervals in the bounding shader, and numbers are
//! numbers: the code is made for the kind of box that is asked for. Where a material has one side,
//! s is 0 behind it, without the shader being asked, and so is the bound.

use super::csv::Kind;
use super::evaluator::DIRECTIONS;
use super::inputs::{Asked, InputArgs, Job, Run, stream};
use super::remarks::Remarks;
use super::values::{Span, Wrong};
use crate::cli::variant::{HEADING, VariantArgs};
use crate::cli::{Error, Exit};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use lightbound::material::parameters::columns;
use lightbound_shader::bounding::{
    BoundingKernel, Boxes, Frame, Integrand, Limits, Precondition, Ranges, Spans, Split, Unmet,
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

A value is a number or an interval LO..HI with both ends in it; one sets all components of a vector.
A CSV file has the columns wi.x, wi.y, wi.z, wo.x, wo.y, wo.z and any parameters by name, as for
eval; an interval takes two columns, wi.x.lo and wi.x.hi. The result has the columns s.r.lo, s.r.hi,
s.g.lo and so on: s, the BRDF times the cosine of wi, lies between them for all inputs in the box,
with no tolerance. What the shader takes from the surface point is set like parameters; unless it
is, the point is at the origin.

An infinite bound holds for any number. `no bound`, NaN in CSV files, says that the bound itself is
NaN. With --nan propagate, either may mean that s is NaN somewhere in the box. With --nan ignore,
bounds may be wrong where a NaN comes up, in the shader or in the arithmetic on endpoints, as in
inf * 0; a warning says so. With --nan suppress, a bound is NaN only where s is NaN and depends on
no interval.

Directions are unit vectors. --mode related and --split make use of it: bounds then hold for those
vectors of a box whose squared length is 1 within 2^-21, which a number is if it has seven digits or
more; else for all vectors of the box.";

/// Options of `shader bound`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, override_usage = USAGE)]
pub struct Args {
    #[command(flatten)]
    inputs: InputArgs,

    #[command(flatten)]
    variant: VariantArgs,

    /// Cut boxes in so many parts along their widest directions, for tighter bounds
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
    let remarks = match job.asked()? {
        Asked::Table(mut rows) => {
            let mut bounder = bounder(&rows.intervals())?;
            stream(&mut rows, &mut bounder, &mut results)?;
            bounder.remarks
        }
        Asked::Row(row) => {
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

/// Runs a bounding shader over rows of spans, and keeps count of what deserves a warning.
struct Bounder {
    kernel: BoundingKernel,
    /// Tells where a loop was cut off. It is code of its own, since what is asked of code may
    /// change its bounds where NaN propagates.
    capped: Option<BoundingKernel>,
    /// Where NaN is ignored, tells whether one may come up.
    meets_nan: Option<BoundingKernel>,
    /// Where NaN is not suppressed, tells what the bounds would be if it were.
    suppressing: Option<BoundingKernel>,
    /// What each word can be, and of which type it is.
    words: Vec<(Input, Scalar)>,
    names: Vec<String>,
    /// Names of what is bounded.
    outputs: Vec<String>,
    wanted: Sides,
    ranges: Ranges,
    surface: lightbound_shader::Sides,
    textures: Vec<Texture>,
    /// In how many parts boxes are cut.
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
        let mut inputs = integrand.inputs(Spans::All, ranges);
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
                let mut asking = integrand.clone();
                asking.outputs = vec![output];
                compile(&asking, &Options { sides: Sides::Upper, ..options })
            });
        // Naive code that propagates NaN tests for all that the other one ignores.
        let testing = Options {
            sides: Sides::Both,
            nan: Nan::Propagate,
            tracking: Tracking::NONE,
            ..options
        };
        let meets_nan =
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
            meets_nan,
            suppressing,
            words: inputs.into_iter().zip(scalars).collect(),
            names: integrand.point.inputs.iter().map(|port| port.name.clone()).collect(),
            outputs: integrand
                .outputs
                .iter()
                .map(|&k| integrand.point.outputs[k].name.clone())
                .collect(),
            wanted: options.sides,
            ranges,
            surface: job.shader.sides(),
            textures,
            parts: args.split,
            remarks: Remarks::new(Kind::Intervals),
        })
    }

    fn outside(&self, word: usize, scalar: Scalar, ends: [u32; 2]) -> Wrong {
        let [low, high] = ends.map(|bits| match scalar {
            Scalar::F32 => format!("{:?}", f32::from_bits(bits)),
            Scalar::I32 | Scalar::U32 | Scalar::Bool => (bits as i32).to_string(),
        });
        let value = if low == high { low } else { format!("{low}..{high}") };
        let help = match (self.ranges, word < DIRECTIONS.len()) {
            (Ranges::Declared, true) => {
                "components of unit vectors are from -1 to 1; --ranges paper takes all finite numbers".to_owned()
            }
            (Ranges::Declared, false) => "it takes what the shader declares".to_owned(),
            (Ranges::Paper, true) => "components of directions are finite".to_owned(),
            (Ranges::Paper, false) => {
                "--ranges paper takes finite numbers that are not negative, unless the shader declares a range that is; \
                 --ranges declared takes what the shader declares"
                    .to_owned()
            }
        };
        Wrong { message: format!("`{}`: {value} is out of range", self.names[word]), help }
    }

    /// Runs code for boxes.
    fn limits(&self, kernel: &BoundingKernel, rows: &[Vec<Span>]) -> Limits {
        /// Stands in for directions of which no bound is asked.
        const UP: [f32; 3] = [0.0, 0.0, 1.0];
        let mut boxes = Boxes::new(kernel, rows.len());
        let mut limits = Limits::new(kernel, rows.len());
        for (row, spans) in rows.iter().enumerate() {
            for (word, span) in spans.iter().enumerate() {
                boxes.set_bits(row, word, self.ends(word, span.ends));
            }
            if !self.is_asked(spans) {
                UP.iter().zip(WO_X..).for_each(|(&x, word)| boxes.set(row, word, [x; 2]));
            }
        }
        let textures: Vec<_> = self.textures.iter().collect();
        match self.parts {
            Some(parts) => Split::new(kernel, parts).run(&textures, &boxes, &mut limits),
            None => kernel.run(&textures, &boxes, &mut limits),
        }
        limits
    }

    /// Whether the shader is to bound a row that was checked: not where bounds hold for unit
    /// vectors, and none is in front.
    fn is_asked(&self, spans: &[Span]) -> bool {
        let front = |word: usize| self.ends(word, spans[word].ends).map(f32::from_bits);
        self.kernel.precondition().is_none_or(|precondition| precondition.check(front).is_ok())
    }

    /// Bounds of each output, for rows that were checked.
    fn bounds(&mut self, rows: &[Vec<Span>]) -> Vec<Vec<[f32; 2]>> {
        let limits = self.limits(&self.kernel, rows);
        let capped = self.capped.as_ref().map(|kernel| self.limits(kernel, rows));
        let tests = self.meets_nan.as_ref().map(|kernel| self.limits(kernel, rows));
        let outputs = self.outputs.len();
        let meets_nan = |row: usize| {
            let is_nan = |limits: &Limits| {
                (0..outputs).any(|k| limits.get(row, k).iter().any(|end| end.is_nan()))
            };
            tests.as_ref().is_some_and(is_nan)
        };
        let bounds = rows.iter().enumerate().map(|(row, spans)| {
            let asked = self.is_asked(spans);
            let all = self.row(&limits, row, spans);
            let covered = self.remarks.note(spans, self.surface) && asked;
            self.remarks.capped += usize::from(
                covered && capped.as_ref().is_some_and(|capped| capped.may_be_true(row, 0)),
            );
            self.remarks.invalidated_by_nan += usize::from(covered && meets_nan(row));
            all
        });
        let bounds: Vec<_> = bounds.collect();
        self.note_unbounded(rows, &bounds);
        bounds
    }

    /// Bounds of each output for a row, of which `limits` has what the shader tells.
    fn row(&self, limits: &Limits, row: usize, spans: &[Span]) -> Vec<[f32; 2]> {
        let (asked, wo_z) = (self.is_asked(spans), spans[WO_Z].ends.map(f32::from_bits));
        let of = |k| if asked { self.with_back(limits.get(row, k), wo_z) } else { [0.0; 2] };
        (0..self.outputs.len()).map(of).collect()
    }

    /// Notes which rows lack bounds, and whether it is NaN that took them.
    fn note_unbounded(&mut self, rows: &[Vec<Span>], bounds: &[Vec<[f32; 2]>]) {
        let unknown = |bounds: &[[f32; 2]]| {
            bounds.iter().map(|&ends| Unknown::of(ends, self.wanted)).collect::<Vec<_>>()
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

    /// The ends of a word as the bounding shader takes them.
    fn ends(&self, word: usize, ends: [u32; 2]) -> [u32; 2] {
        if word == WO_Z && self.surface == lightbound_shader::Sides::One {
            // The shader is asked for what lies in front alone.
            const FRONT: f32 = f32::from_bits(1);
            return ends.map(|bits| f32::from_bits(bits).max(FRONT).to_bits());
        }
        if self.words[word].1 == Scalar::U32 && ends[0] as i32 > ends[1] as i32 {
            // Integers are ordered as signed: these are at both ends.
            return [i32::MIN, i32::MAX].map(|end| end as u32);
        }
        ends
    }

    /// A bound with what lies behind a one-sided material, which is 0.
    fn with_back(&self, [low, high]: [f32; 2], [wo_low, wo_high]: [f32; 2]) -> [f32; 2] {
        let [low, high] = match (self.surface.covers(wo_low), self.surface.covers(wo_high)) {
            (true, _) => [low, high],
            // NaN stays.
            (false, true) => {
                [if low > 0.0 { 0.0 } else { low }, if high < 0.0 { 0.0 } else { high }]
            }
            (false, false) => [0.0, 0.0],
        };
        // So that −0 is 0.
        [low + 0.0, high + 0.0]
    }

    /// Those ends of a bound that were asked for.
    fn wanted(&self, ends: [f32; 2]) -> Vec<f32> {
        match self.wanted {
            Sides::Lower => vec![ends[0]],
            Sides::Upper => vec![ends[1]],
            Sides::Both => ends.to_vec(),
        }
    }

    /// Bounds of a box, for readers.
    fn text(&self, bounds: &[[f32; 2]]) -> String {
        let end = |x: f32| if x.is_nan() { "no bound".to_owned() } else { format!("{x:?}") };
        let width = bounds.iter().map(|[low, _]| end(*low).len()).max().unwrap_or(0);
        let row = |(name, &[low, high]): (&String, &[f32; 2])| {
            let bound = match self.wanted {
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

/// What is not known of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unknown {
    /// Anything.
    All,
    /// A lower bound.
    Lower,
    /// An upper bound.
    Upper,
}

impl Unknown {
    /// What those ends that were asked for do not tell. Of two ends, one alone may be infinite:
    /// that is what is known then. An empty interval, whose lower end is above the upper one, is
    /// what is known where all results are NaN.
    fn of([low, high]: [f32; 2], wanted: Sides) -> Option<Unknown> {
        let (below, above) =
            (low.is_nan() || low == f32::NEG_INFINITY, high.is_nan() || high == f32::INFINITY);
        match wanted {
            Sides::Lower => below.then_some(Unknown::Lower),
            Sides::Upper => above.then_some(Unknown::Upper),
            Sides::Both if below && above => Some(Unknown::All),
            Sides::Both if low.is_nan() => Some(Unknown::Lower),
            Sides::Both => high.is_nan().then_some(Unknown::Upper),
        }
    }

    /// What is not known of outputs, for readers.
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

/// Words of a row.
const WI_Z: usize = 2;
const WO_X: usize = 3;
const WO_Z: usize = 5;

impl Run for Bounder {
    fn columns(&self) -> Vec<String> {
        let ends: &[&str] = match self.wanted {
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
            // What a one-sided material has behind it is known without the shader: wo.z is as free
            // as wi.z.
            let (input, scalar) = &self.words[if word == WO_Z { WI_Z } else { word }];
            if !span.ends.iter().all(|&bits| input.bounds.contains(bits)) {
                return Err((word, self.outside(word, *scalar, span.ends)));
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
            .map(|bounds| bounds.iter().flat_map(|ends| self.wanted(*ends)).collect())
            .collect()
    }
}

/// Whether related bounds hold for a row; what lies behind a one-sided material is known without
/// them.
fn directions_are_unit(precondition: &Precondition, row: &[Span]) -> Result<(), (usize, Wrong)> {
    const ELSE: &str = "--mode optimized bounds s for vectors of any length";
    let of = |word: usize| row[word].ends.map(f32::from_bits);
    let Err(unmet) = precondition.check(of) else { return Ok(()) };
    let help = match &unmet {
        Unmet::Below { .. } => return Ok(()),
        Unmet::Length { input, squares, .. } if squares[0] == squares[1] && squares[0] > 0.0 => {
            let unit = [0, 1, 2].map(|k| (f64::from(of(input + k)[0]) / squares[0].sqrt()) as f32);
            let [x, y, z] = unit.map(|x| format!("{x:?}"));
            format!(
                "--mode related takes vectors that are normalized to full float precision, as in {x},{y},{z}; {ELSE}"
            )
        }
        Unmet::Length { .. } | Unmet::Component { .. } | Unmet::Angle { .. } => {
            format!("--mode related takes boxes that contain unit vectors; {ELSE}")
        }
    };
    Err((unmet.input(), Wrong { message: unmet.to_string(), help }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_is_what_the_ends_asked_for_leave_open() {
        use Unknown::{All, Lower, Upper};
        const INF: f32 = f32::INFINITY;
        const NAN: f32 = f32::NAN;
        let of = |low, high| {
            [Sides::Both, Sides::Lower, Sides::Upper].map(|wanted| Unknown::of([low, high], wanted))
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
    fn what_is_unknown_is_told_by_output() {
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
