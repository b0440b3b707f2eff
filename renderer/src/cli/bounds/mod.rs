//! `lightbound bounds`: what bounding shaders cost beside the point shaders that they bound, naive,
//! optimized and related, and what the optimizations and the relations add; beside it the figures
//! of Clarberg et al. 2010, §6.1.
//!
//! For each shader there is one point shader, and for each of the inputs that are intervals (light
//! directions ω̂, or all, x̂ and ω̂) and each choice of sides a naive, an optimized and a related
//! bounding shader. All of them are compiled for one target and run in turn, in one process, over
//! the same [boxes](lightbound_shader::cost::boxes), the point shader over members of them, after a
//! check that naive and optimized code give the same bounds. Ratios are to the point shader, and
//! those of cycles have confidence intervals; averages over shaders are arithmetic means of ratios,
//! and of what each shader saves, as in the paper.

mod figure;
mod paper;
mod plot;
mod report;
mod study;
mod svg;
mod table;
mod tightness;
mod trade;

use super::console::Console;
use super::numbers::whole;
use super::output::{Output, to_stdout};
use super::shader::{is_stdin, machine_name, parse, unavailable};
use super::variant::{Frame, Inputs, NanMode, Ranges, Sides, relations, relations_help};
use super::{Error, Exit, variant};
use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use figure::Figure;
use lightbound::image::write::save;
use lightbound_shader::relations::Relations;
use lightbound_shader::{Shader, Target};
use serde::Serialize;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use study::{Setup, Study, Variant};
use tightness::TightnessArgs;

const EXAMPLES: &str = "\
Examples:
  lightbound bounds
  lightbound bounds --shader ward --shader mine.wgsl --frame local --ranges declared
  lightbound bounds --nan propagate --target avx2 --format json > bounds.json
  lightbound bounds --svg figure.svg
  lightbound bounds --by-relation --format markdown
  lightbound bounds --tightness --svg tightness.svg

Costs are those of one SIMD group, 4 or 8 evaluations: machine instructions of the code, those that
are executed on average, cycles that a throughput model of a Skylake core predicts, and measured
cycles, in ticks of the time-stamp counter where the system does not count cycles. Each shader is
measured for 1.5 to 10 seconds, until the 95 % confidence intervals of all ratios of cycles are
narrower than 2 %; `±` is half of the widest one in a row, as a part of the ratio. Tables have the
costs of bounding shaders as multiples of the point shader's, then what optimizations save of the
naive cost, or what related code adds to the optimized one; JSON has costs as they are. Naive code takes the general case of
each operation, optimized code the cheapest that is right for what is known of values. Both give the
same bounds, except where NaN is ignored and one comes up in the arithmetic on endpoints, as inf * 0;
that is checked before they are measured.
Related code knows relations between values as well (--relations), and gives bounds that are tighter
for boxes of unit vectors; that they lie within the others is checked.

s(x, ω̂) bounds over light directions (--inputs light), s(x̂, ω̂) over all inputs (--inputs all).
Boxes of inputs are drawn at random, the same ones each time; textures are smooth noise.

The bars, and the picture of --svg, tell what each optimization saves, for isoward and ashikhmin or
the shaders given. They are of upper bounds that propagate NaN, over light directions and over all
inputs, under the conditions of the first tables; --sides, --nan, --inputs, --frame, --ranges and
--target choose others.";

/// The shaders of Clarberg et al. 2010.
const SIX: [&str; 6] = ["diffuse", "phong", "isoward", "ward", "ashikhmin", "fractal"];
/// Those of its figure 3.
const DISSECTED: [&str; 2] = ["isoward", "ashikhmin"];

/// Options of `bounds`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, allow_negative_numbers = true)]
pub struct Args {
    /// Shader in WGSL: a file, or a name of the library; may be repeated [default: the six of
    /// Clarberg et al. 2010]
    #[arg(long, value_name = "NAME|FILE")]
    shader: Vec<PathBuf>,

    /// Where directions are given; world has the frame as an input [default: world;
    /// without --ranges also local, in tables of its own]
    #[arg(long, value_enum)]
    frame: Option<Frame>,

    /// What is known of inputs: that they are finite and parameters not negative, or their declared
    /// ranges and that directions are unit vectors [default: paper; without --frame also declared,
    /// with directions in the local frame]
    #[arg(long, value_enum)]
    ranges: Option<Ranges>,

    /// Which inputs are intervals [default: light, and all]
    #[arg(long, value_enum)]
    inputs: Option<Inputs>,

    /// Which bounds are computed [default: upper, and both]
    #[arg(long, value_parser = papers_sides())]
    sides: Option<Sides>,

    /// What is done about NaN [default: propagate, and ignore, as the paper's tables]
    #[arg(long, value_enum)]
    nan: Option<NanMode>,

    /// Instruction set
    #[arg(long, value_name = "TARGET", value_parser = machine_name(), default_value = "sse")]
    target: Target,

    #[arg(long, value_name = "LIST", value_parser = relations, allow_hyphen_values = true)]
    #[arg(help = variant::RELATIONS, long_help = relations_help())]
    relations: Option<Relations>,

    /// Print what each relation adds to the instructions of upper bounds, alone and beside the
    /// others, in place of all else
    #[arg(long, conflicts_with_all = ["svg", "rounds"])]
    by_relation: bool,

    /// How results are printed
    #[arg(long, value_enum, default_value = "text")]
    format: Format,

    /// Picture to write, .svg: the bars of what each optimization saves, or how much bounds
    /// over-estimate
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,

    /// Most rounds of measuring, of which the median counts; there are fewer once ratios of cycles
    /// are known within 2 %, or after 10 seconds for a shader
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = whole(1..=u32::MAX))]
    rounds: u32,

    /// Print nothing but results and errors
    #[arg(short, long)]
    quiet: bool,

    #[command(flatten)]
    tightness: TightnessArgs,
}

/// How results are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Aligned tables, and bars
    Text,
    /// The same for Markdown
    Markdown,
    /// A list of records
    Json,
}

/// Parses the sides that are compared: those of the paper.
fn papers_sides() -> impl TypedValueParser<Value = Sides> {
    let names =
        [Sides::Upper, Sides::Both].map(|sides| sides.to_possible_value().expect("none is hidden"));
    PossibleValuesParser::new(names)
        .map(|name| Sides::from_str(&name, false).expect("possible values are sides"))
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Exit, Error> {
    if args.tightness.tightness {
        return tightness::run(args);
    }
    if !args.target.is_available() {
        return Err(unavailable(args.target));
    }
    let svg = args.picture()?;
    let shaders = named(&args.shader)?;
    if args.by_relation {
        to_stdout(args.trades(&shaders)?.as_bytes())?;
        return Ok(Exit::Done);
    }
    let studies = args.measure(&shaders)?;
    let drawn = args.format != Format::Json || svg.is_some();
    let is_drawn = |name: &str| drawn && (!args.shader.is_empty() || DISSECTED.contains(&name));
    let dissected: Vec<_> = shaders.iter().filter(|(name, _)| is_drawn(name)).collect();
    let figure = Figure::new(&dissected, studies[0].setup, &args.drawn())?;
    if let Some(output) = svg {
        output.write(|path| save(path, svg::draw(&figure).as_bytes()))?;
    }
    let text = match args.format {
        Format::Json => json(&studies.iter().flat_map(|study| &study.records).collect::<Vec<_>>()),
        format => report::text(&studies, &figure, args, format == Format::Markdown),
    };
    to_stdout(text.as_bytes())?;
    Ok(Exit::Done)
}

/// A line that tells what related code makes use of, unless that is all there is.
fn restricted(relations: Relations) -> String {
    let names = || variant::names_of(relations).join(", ");
    if relations == Relations::all() {
        String::new()
    } else {
        format!("related: with {} alone\n", names())
    }
}

fn json<T: Serialize>(records: &[T]) -> String {
    serde_json::to_string_pretty(records).expect("records are plain data") + "\n"
}

/// Shaders under their names: those that are given, each once, or those of the paper.
fn named(given: &[PathBuf]) -> Result<Vec<(String, Shader)>, Error> {
    let mut paths = if given.is_empty() { SIX.map(PathBuf::from).to_vec() } else { given.to_vec() };
    let mut seen = HashSet::new();
    paths.retain(|path| seen.insert(path.clone()));
    // Files of one name in several folders are told apart by their paths.
    let is_alone =
        |path: &Path| paths.iter().filter(|other| name(other) == name(path)).count() == 1;
    let named = |path: &PathBuf| {
        Ok((if is_alone(path) { name(path) } else { path.display().to_string() }, parse(path)?))
    };
    paths.iter().map(named).collect()
}

/// `ward` of `shaders/ward.wgsl`.
fn name(path: &Path) -> String {
    if is_stdin(path) {
        return "stdin".into();
    }
    path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

impl Args {
    /// One table for what is asked for; two where nothing is.
    fn setups(&self) -> Vec<Setup> {
        let setup = |frame, ranges| Setup { frame, ranges, target: self.target };
        match (self.frame, self.ranges) {
            (None, None) => {
                vec![setup(Frame::World, Ranges::Paper), setup(Frame::Local, Ranges::Declared)]
            }
            (frame, ranges) => {
                vec![setup(frame.unwrap_or(Frame::World), ranges.unwrap_or(Ranges::Paper))]
            }
        }
    }

    /// The picture, which is no shader that is read.
    fn picture(&self) -> Result<Option<Output>, Error> {
        let Some(path) = &self.svg else { return Ok(None) };
        let fault = |message: String, help: String| Err(Error::Option { message, help });
        let output = Output::check(path)?;
        if self.shader.iter().any(|shader| output.is(shader)) {
            return fault(
                format!("--svg would overwrite `{}`", path.display()),
                "name another file".into(),
            );
        }
        // Pipes and devices have none.
        if path.extension().is_some_and(|extension| !extension.eq_ignore_ascii_case("svg")) {
            let message =
                format!("--svg writes SVG, which `{}` does not look like", path.display());
            return fault(
                message,
                format!(
                    "name a file that ends in .svg, as in --svg {}",
                    path.with_extension("svg").display()
                ),
            );
        }
        Ok(Some(output))
    }

    fn inputs(&self) -> Vec<Inputs> {
        self.inputs.map_or(vec![Inputs::Light, Inputs::All], |inputs| vec![inputs])
    }

    fn variants(&self) -> Vec<Variant> {
        let all_sides = self.sides.map_or(vec![Sides::Upper, Sides::Both], |sides| vec![sides]);
        let mut variants = vec![];
        for nan in self.nan_modes() {
            for &sides in &all_sides {
                variants.extend(self.inputs().into_iter().map(|inputs| Variant {
                    inputs,
                    sides,
                    nan,
                }));
            }
        }
        variants
    }

    /// Bounds that always hold come first.
    fn nan_modes(&self) -> Vec<NanMode> {
        self.nan.map_or(vec![NanMode::Propagate, NanMode::Ignore], |nan| vec![nan])
    }

    /// The variants of the figure: by default those of the paper's.
    fn drawn(&self) -> Vec<Variant> {
        let (sides, nan) =
            (self.sides.unwrap_or(Sides::Upper), self.nan.unwrap_or(NanMode::Propagate));
        self.inputs().into_iter().map(|inputs| Variant { inputs, sides, nan }).collect()
    }

    fn relations(&self) -> Relations {
        self.relations.unwrap_or_else(Relations::all)
    }

    /// What each relation costs, as text or JSON.
    fn trades(&self, shaders: &[(String, Shader)]) -> Result<String, Error> {
        let (mut trades, mut text) = (vec![], String::new());
        let (sides, nan) =
            (self.sides.unwrap_or(Sides::Upper), self.nan.unwrap_or(NanMode::Ignore));
        for setup in self.setups() {
            for inputs in self.inputs() {
                let here = trade::trades(
                    shaders,
                    setup,
                    Variant { inputs, sides, nan },
                    self.relations(),
                )?;
                text += &trade::text(&here, setup, self.format == Format::Markdown);
                trades.extend(here);
            }
        }
        Ok(if self.format == Format::Json { json(&trades) } else { text })
    }

    fn measure(&self, shaders: &[(String, Shader)]) -> Result<Vec<Study>, Error> {
        /// Steps of a table.
        const STEPS: u64 = 10_000;
        let setups = self.setups();
        let progress = Console::new(self.quiet).measuring(setups.len() as u64 * STEPS);
        let studies = (0..).zip(setups).map(|(k, setup)| {
            let reach =
                |fraction: f64| progress.reach(k * STEPS + (fraction * STEPS as f64) as u64);
            Study::run(
                shaders,
                setup,
                &self.variants(),
                self.relations(),
                self.rounds as usize,
                &reach,
            )
        });
        let studies = studies.collect();
        progress.finish();
        studies
    }
}
