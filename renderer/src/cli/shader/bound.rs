//! `lightbound shader bound`: bounds of s over boxes of inputs, so that anyone can see what a bounding shader gives.
//!
//! Inputs that are given as intervals are intervals in the bounding shader, and numbers are numbers: the code is made for the kind of
//! box that is asked for. Where a material has one side, s is 0 behind it, without the shader being asked, and so is the bound.

use super::csv::Kind;
use super::evaluator::DIRECTIONS;
use super::inputs::{Asked, InputArgs, Job, Run, stream};
use super::remarks::Remarks;
use super::values::{Span, Wrong};
use crate::cli::variant::{HEADING, VariantArgs};
use crate::cli::{Error, Exit};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use lightbound::material::parameters::columns;
use lightbound_shader::bounding::{BoundingKernel, Boxes, Frame, Integrand, Limits, Precondition, Ranges, Spans, Split, Unmet};
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
with no tolerance. NaN says that there is no bound. What the shader takes from the surface point is
set like parameters; unless it is, the point is at the origin.

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
    PossibleValuesParser::new(["2", "4"]).map(|parts| parts.parse().expect("possible values are numbers"))
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
    /// Tells where a loop was cut off. It is code of its own, since what is asked of code may change its bounds where NaN propagates.
    capped: Option<BoundingKernel>,
    /// Where NaN is ignored, tells whether one may come up.
    meets_nan: Option<BoundingKernel>,
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
    fn new(args: &Args, job: &Job<'_>, intervals: &[bool], textures: Vec<Texture>) -> Result<Bounder, Error> {
        let (options, ranges) = (args.variant.options()?, args.variant.ranges());
        let integrand = args.variant.integrand(&job.shader, &job.settings, Frame::Local)?;
        let mut inputs = integrand.inputs(Spans::All, ranges);
        for (input, &interval) in inputs.iter_mut().zip(intervals) {
            input.interval = interval;
        }
        let compile = |integrand: &Integrand, options: &Options| {
            BoundingKernel::compile(&Arena::new(), &integrand.bound(&inputs, options), args.inputs.source.target())
        };
        let capped = integrand.point.outputs.iter().position(|port| port.name == "capped").map(|output| {
            let mut asking = integrand.clone();
            asking.outputs = vec![output];
            compile(&asking, &Options { sides: Sides::Upper, ..options })
        });
        // Naive code that propagates NaN tests for all that the other one ignores.
        let testing = Options { sides: Sides::Both, nan: Nan::Propagate, tracking: Tracking::NONE, ..options };
        let meets_nan = (options.nan == Nan::Ignore).then(|| compile(&integrand, &testing)).transpose()?;
        let parameters = job.shader.parameters().iter().flat_map(|parameter| vec![parameter.scalar; parameter.size]);
        let scalars = [Scalar::F32; DIRECTIONS.len()].into_iter().chain(parameters);
        Ok(Bounder {
            kernel: compile(&integrand, &options)?,
            capped: capped.transpose()?,
            meets_nan,
            words: inputs.into_iter().zip(scalars).collect(),
            names: integrand.point.inputs.iter().map(|port| port.name.clone()).collect(),
            outputs: integrand.outputs.iter().map(|&k| integrand.point.outputs[k].name.clone()).collect(),
            wanted: options.sides,
            ranges,
            surface: job.shader.sides(),
            textures,
            parts: args.split,
            remarks: Remarks::new(Kind::Intervals).with_nan(options.nan),
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

    /// Whether the shader is to bound a row that was checked: not where bounds hold for unit vectors, and none is in front.
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
            let is_nan = |limits: &Limits| (0..outputs).any(|k| limits.get(row, k).iter().any(|end| end.is_nan()));
            tests.as_ref().is_some_and(is_nan)
        };
        let bounds = rows.iter().enumerate().map(|(row, spans)| {
            let wo_z = spans[WO_Z].ends.map(f32::from_bits);
            let asked = self.is_asked(spans);
            let all = (0..self.outputs.len()).map(|k| if asked { self.with_back(limits.get(row, k), wo_z) } else { [0.0; 2] });
            let all: Vec<_> = all.collect();
            let covered = self.remarks.note(spans, self.surface) && asked;
            self.remarks.capped += usize::from(covered && capped.as_ref().is_some_and(|capped| capped.may_be_true(row, 0)));
            self.remarks.void += usize::from(covered && meets_nan(row));
            self.remarks.unknown += usize::from(all.iter().any(|&ends| says_nothing(ends, self.wanted)));
            all
        });
        bounds.collect()
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
            (false, true) => [if low > 0.0 { 0.0 } else { low }, if high < 0.0 { 0.0 } else { high }],
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

/// Whether the ends that were asked for leave all numbers possible; an empty interval, whose lower end is above the upper one, is
/// what is known where all results are NaN.
fn says_nothing([low, high]: [f32; 2], wanted: Sides) -> bool {
    let (below, above) = (low.is_nan() || low == f32::NEG_INFINITY, high.is_nan() || high == f32::INFINITY);
    match wanted {
        Sides::Lower => below,
        Sides::Upper => above,
        Sides::Both => below && above,
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
        self.outputs.iter().flat_map(|name| ends.iter().map(move |end| format!("{name}.{end}"))).collect()
    }

    fn check(&self, row: &[Span]) -> Result<(), (usize, Wrong)> {
        for (word, span) in row.iter().enumerate() {
            // What a one-sided material has behind it is known without the shader: wo.z is as free as wi.z.
            let (input, scalar) = &self.words[if word == WO_Z { WI_Z } else { word }];
            if !span.ends.iter().all(|&bits| input.bounds.contains(bits)) {
                return Err((word, self.outside(word, *scalar, span.ends)));
            }
        }
        self.kernel.precondition().map_or(Ok(()), |precondition| directions_are_unit(precondition, row))
    }

    fn run(&mut self, rows: &[Vec<Span>]) -> Vec<Vec<f32>> {
        let bounds = self.bounds(rows);
        bounds.iter().map(|bounds| bounds.iter().flat_map(|ends| self.wanted(*ends)).collect()).collect()
    }
}

/// Whether related bounds hold for a row; what lies behind a one-sided material is known without them.
fn directions_are_unit(precondition: &Precondition, row: &[Span]) -> Result<(), (usize, Wrong)> {
    const ELSE: &str = "--mode optimized bounds s for vectors of any length";
    let of = |word: usize| row[word].ends.map(f32::from_bits);
    let Err(unmet) = precondition.check(of) else { return Ok(()) };
    let help = match &unmet {
        Unmet::Below { .. } => return Ok(()),
        Unmet::Length { input, squares, .. } if squares[0] == squares[1] && squares[0] > 0.0 => {
            let unit = [0, 1, 2].map(|k| (f64::from(of(input + k)[0]) / squares[0].sqrt()) as f32);
            let [x, y, z] = unit.map(|x| format!("{x:?}"));
            format!("--mode related takes unit vectors with all their digits, as in {x},{y},{z}; {ELSE}")
        }
        Unmet::Length { .. } | Unmet::Component { .. } | Unmet::Angle { .. } => {
            format!("--mode related takes boxes that hold unit vectors; {ELSE}")
        }
    };
    Err((unmet.input(), Wrong { message: unmet.to_string(), help }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_all_numbers_say_nothing() {
        const INF: f32 = f32::INFINITY;
        let nothing = [Sides::Both, Sides::Lower, Sides::Upper];
        let says = |low, high| nothing.map(|wanted| says_nothing([low, high], wanted));
        assert_eq!([says(-INF, INF), says(f32::NAN, f32::NAN), says(-INF, f32::NAN)], [[true; 3]; 3]);
        assert_eq!([says(INF, -INF), says(INF, INF), says(0.0, INF)], [[false; 3], [false, false, true], [false, false, true]]);
        assert_eq!((says(-INF, -INF), says(0.0, 1.0)), ([false, true, false], [false; 3]));
    }
}
