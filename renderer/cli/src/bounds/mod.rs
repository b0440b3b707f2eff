//! `lightbound bounds`: measures bounding shaders relative to the point shaders that they bound.
//!
//! [`report`] has the measurements, tables and figures. This module has the options, with the
//! defaults of Clarberg et al. 2010, and the progress bar.

mod tightness;

use super::console::Console;
use super::numbers::integer;
use super::output::{OutputFile, to_stdout};
use super::shader::{is_stdin, machine_target_parser, parse, unavailable};
use super::variant::{BoundSides, Frame, Inputs, NanMode, Ranges, parse_relations, relations_help};
use super::{Error, Exit, variant};
use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use lightbound_image::write::save;
use lightbound_shader::relations::Relations;
use lightbound_shader::{Shader, ShaderKind, Target};
use lightbound_study::report::comparison::{Setup, Variant};
use lightbound_study::report::figure::Figure;
use lightbound_study::report::relation_costs::{self, relation_costs};
use lightbound_study::report::{self, Comparison, PAPER_SHADERS, bar_chart, cost_tables};
use lightbound_study::shaders;
use serde::Serialize;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use tightness::TightnessArgs;

const EXAMPLES: &str = "\
Examples:
  lightbound bounds
  lightbound bounds --shader ward --shader mine.wgsl --frame local --ranges declared
  lightbound bounds --nan propagate --target avx2 --format json > bounds.json
  lightbound bounds --svg figure.svg
  lightbound bounds --by-relation --format markdown
  lightbound bounds --tightness --svg tightness.svg
  lightbound bounds --shader practice --frame local --ranges declared

Costs are those of one SIMD group, 4 or 8 evaluations: static machine instructions, instructions
executed on average, cycles predicted by a throughput model of a Skylake core, and measured cycles
(ticks of the time-stamp counter if the system does not count cycles). Each shader is measured for
1.5 to 10 seconds, until the 95 % confidence intervals of all ratios of cycles are narrower than
2 %; `±` is half of the widest interval in a row, relative to the ratio. Tables show the costs of
bounding shaders as multiples of the point shader's cost, then the fraction of the naive cost that
optimizations save, or the cost that related code adds to optimized code; JSON has absolute costs.
Naive code uses the general case of each operation, optimized code the cheapest case that the known
facts about values allow. Both give equal bounds, unless NaN is ignored and one occurs in the
arithmetic on endpoints, as in inf * 0; this is checked before the measurement.
Related code also uses relations between values (--relations) and gives tighter bounds for boxes of
unit vectors; it is checked that these are within the other bounds.

s(x, ω̂) bounds over light directions (--inputs light), s(x̂, ω̂) over all inputs (--inputs all).
Boxes of inputs are random, with a fixed seed; textures are smooth noise.

The bars, and the figure of --svg, show what each optimization saves, for isoward and ashikhmin or
for the given shaders. They show upper bounds that propagate NaN, over light directions and over all
inputs, in the setup of the first tables; --sides, --nan, --inputs, --frame, --ranges and --target
select others.";

/// The name of [`shaders::PRACTICE_SHADERS`] in options.
const PRACTICE: &str = "practice";

/// The shaders in figure 3 of Clarberg et al. 2010.
const FIGURE_SHADERS: [&str; 2] = ["isoward", "ashikhmin"];

/// Options of `bounds`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, allow_negative_numbers = true)]
pub struct Args {
    /// Shader in WGSL: a file, a name of the library, or ggx, layered or disney, which are written
    /// without regard to bounds, or openpbr15, which is openpbr with 15 parameters; practice stands
    /// for ggx, conductor, coated_diffuse, hair, disney and openpbr15; may be repeated [default: the
    /// six of Clarberg et al. 2010]
    #[arg(long, value_name = "NAME|FILE")]
    shader: Vec<PathBuf>,

    /// Frame of directions; world takes the shading frame as an input [default: world;
    /// without --ranges also local, in separate tables]
    #[arg(long, value_enum)]
    frame: Option<Frame>,

    /// Assumptions about inputs: they are finite and parameters not negative, or they are in their
    /// declared ranges and directions are unit vectors [default: paper; without --frame also
    /// declared, with directions in the local frame]
    #[arg(long, value_enum)]
    ranges: Option<Ranges>,

    /// Which inputs are intervals [default: light, and all]
    #[arg(long, value_enum)]
    inputs: Option<Inputs>,

    /// Bounds to compute [default: upper, and both]
    #[arg(long, value_parser = paper_sides())]
    sides: Option<BoundSides>,

    /// NaN handling [default: propagate, and ignore, as in the paper's tables]
    #[arg(long, value_enum)]
    nan: Option<NanMode>,

    /// Instruction set
    #[arg(long, value_name = "TARGET", value_parser = machine_target_parser(), default_value = "sse")]
    target: Target,

    #[arg(long, value_name = "LIST", value_parser = parse_relations, allow_hyphen_values = true)]
    #[arg(help = variant::RELATIONS, long_help = relations_help())]
    relations: Option<Relations>,

    /// Print only how many instructions each relation adds to upper bounds, alone and on top of all
    /// others
    #[arg(long, conflicts_with_all = ["svg", "rounds"])]
    by_relation: bool,

    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    format: TableFormat,

    /// Figure to write, .svg: bars that show what each optimization saves, or how much bounds
    /// overestimate
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,

    /// Maximum number of measurement rounds; results are medians over the rounds. Measurement ends
    /// earlier once ratios of cycles are known within 2 %, or after 10 seconds for a shader
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = integer(1..=u32::MAX))]
    rounds: u32,

    /// Print nothing but results and errors
    #[arg(short, long)]
    quiet: bool,

    #[command(flatten)]
    tightness: TightnessArgs,
}

/// Output format of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum TableFormat {
    /// Aligned tables and bars
    Text,
    /// Markdown tables and bars
    Markdown,
    /// A list of records
    Json,
}

/// Parses the bound sides that the paper compares.
fn paper_sides() -> impl TypedValueParser<Value = BoundSides> {
    let names = [BoundSides::Upper, BoundSides::Both]
        .map(|sides| sides.to_possible_value().expect("none is hidden"));
    PossibleValuesParser::new(names)
        .map(|name| BoundSides::from_str(&name, false).expect("possible values are sides"))
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Exit, Error> {
    if args.tightness.tightness {
        return tightness::run(args);
    }
    if !args.target.is_available() {
        return Err(unavailable(args.target));
    }
    let svg = args.svg_output()?;
    let shaders = load_shaders(&args.shader)?;
    if args.by_relation {
        to_stdout(args.relation_costs(&shaders)?.as_bytes())?;
        return Ok(Exit::Success);
    }
    let comparisons = args.measure(&shaders)?;
    let is_shown = args.format != TableFormat::Json || svg.is_some();
    let is_in_figure =
        |name: &str| is_shown && (!args.shader.is_empty() || FIGURE_SHADERS.contains(&name));
    let in_figure: Vec<_> = shaders.iter().filter(|(name, _)| is_in_figure(name)).collect();
    let figure = Figure::new(&in_figure, comparisons[0].setup, &args.figure_variants())?;
    if let Some(output) = svg {
        output.write(|path| save(path, bar_chart::draw(&figure).as_bytes()))?;
    }
    let text = match args.format {
        TableFormat::Json => {
            json(&comparisons.iter().flat_map(|comparison| &comparison.records).collect::<Vec<_>>())
        }
        format => cost_tables::text(&comparisons, &figure, format == TableFormat::Markdown),
    };
    to_stdout(text.as_bytes())?;
    Ok(Exit::Success)
}

impl From<report::Error> for Error {
    fn from(error: report::Error) -> Error {
        match error {
            report::Error::Shader(error) => error.into(),
            report::Error::Compile(error) => error.into(),
            report::Error::Mismatch(message) => Error::Data {
                message,
                help: "this is a bug in the compiler: please report it, with the shader".into(),
            },
        }
    }
}

fn json<T: Serialize>(records: &[T]) -> String {
    serde_json::to_string_pretty(records).expect("records are plain data") + "\n"
}

/// Loads the shaders at `paths` without duplicates, or by default those of the paper, with unique
/// names.
fn load_shaders(paths: &[PathBuf]) -> Result<Vec<(String, Shader)>, Error> {
    let mut paths =
        if paths.is_empty() { PAPER_SHADERS.map(PathBuf::from).to_vec() } else { paths.to_vec() };
    if let Some(index) = paths.iter().position(|path| path.as_os_str() == PRACTICE) {
        paths.splice(index..=index, shaders::PRACTICE_SHADERS.map(PathBuf::from));
    }
    let mut seen = HashSet::new();
    paths.retain(|path| seen.insert(path.clone()));
    // Files with the same name in several folders are named by their paths.
    let is_unique =
        |path: &Path| paths.iter().filter(|other| name(other) == name(path)).count() == 1;
    let load = |path: &PathBuf| {
        let shader = match path.to_str().and_then(shaders::find).filter(|_| !path.is_file()) {
            Some(entry) => Shader::parse(entry.name, entry.text)?,
            None => parse(path)?,
        };
        if matches!(shader.kind(), ShaderKind::Density | ShaderKind::Function) {
            let message = format!("--shader: {} is {}", shader.name(), shader.kind().name());
            let help = "name a shader with directions, which this command measures; \
                        `lightbound shader bound` bounds densities and functions";
            return Err(Error::option(message, help));
        }
        Ok((if is_unique(path) { name(path) } else { path.display().to_string() }, shader))
    };
    paths.iter().map(load).collect()
}

/// Name of a shader: `ward` for `shaders/ward.wgsl`.
fn name(path: &Path) -> String {
    if is_stdin(path) {
        return "stdin".into();
    }
    path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

impl Args {
    /// The requested setup; without options, both default setups.
    fn setups(&self) -> Vec<Setup> {
        let setup = |frame: Frame, ranges: Ranges| Setup {
            frame: frame.compiler_value(),
            ranges: ranges.compiler_value(),
            target: self.target,
        };
        match (self.frame, self.ranges) {
            (None, None) => {
                vec![setup(Frame::World, Ranges::Paper), setup(Frame::Local, Ranges::Declared)]
            }
            (frame, ranges) => {
                vec![setup(frame.unwrap_or(Frame::World), ranges.unwrap_or(Ranges::Paper))]
            }
        }
    }

    /// Checks the path of the figure, which must not be that of a shader.
    fn svg_output(&self) -> Result<Option<OutputFile>, Error> {
        let Some(path) = &self.svg else { return Ok(None) };
        let output = OutputFile::check(path)?;
        if self.shader.iter().any(|shader| output.is_same_file(shader)) {
            return Err(Error::option(
                format!("--svg would overwrite `{}`", path.display()),
                "name another file",
            ));
        }
        // Pipes and devices have no extension.
        if path.extension().is_some_and(|extension| !extension.eq_ignore_ascii_case("svg")) {
            let message =
                format!("--svg writes SVG, but `{}` has another extension", path.display());
            return Err(Error::option(
                message,
                format!(
                    "name a file that ends in .svg, as in --svg {}",
                    path.with_extension("svg").display()
                ),
            ));
        }
        Ok(Some(output))
    }

    fn inputs(&self) -> Vec<Inputs> {
        self.inputs.map_or(vec![Inputs::Light, Inputs::All], |inputs| vec![inputs])
    }

    fn variants(&self) -> Vec<Variant> {
        let all_sides =
            self.sides.map_or(vec![BoundSides::Upper, BoundSides::Both], |sides| vec![sides]);
        let mut variants = vec![];
        for nan in self.nan_modes() {
            for &sides in &all_sides {
                variants.extend(self.with_inputs(sides, nan));
            }
        }
        variants
    }

    /// NaN modes; the one with unconditionally valid bounds comes first.
    fn nan_modes(&self) -> Vec<NanMode> {
        self.nan.map_or(vec![NanMode::Propagate, NanMode::Ignore], |nan| vec![nan])
    }

    /// The variants in the figure; by default those in figure 3 of the paper.
    fn figure_variants(&self) -> Vec<Variant> {
        let (sides, nan) =
            (self.sides.unwrap_or(BoundSides::Upper), self.nan.unwrap_or(NanMode::Propagate));
        self.with_inputs(sides, nan).collect()
    }

    /// A variant for each choice of interval inputs.
    fn with_inputs(&self, sides: BoundSides, nan: NanMode) -> impl Iterator<Item = Variant> {
        let variant = move |inputs: Inputs| Variant {
            inputs: inputs.compiler_value(),
            sides: sides.compiler_value(),
            nan: nan.compiler_value(),
        };
        self.inputs().into_iter().map(variant)
    }

    fn relations(&self) -> Relations {
        self.relations.unwrap_or_else(Relations::all)
    }

    /// The cost of each relation, as text or JSON.
    fn relation_costs(&self, shaders: &[(String, Shader)]) -> Result<String, Error> {
        let (mut costs, mut text) = (vec![], String::new());
        let (sides, nan) =
            (self.sides.unwrap_or(BoundSides::Upper), self.nan.unwrap_or(NanMode::Ignore));
        for setup in self.setups() {
            for variant in self.with_inputs(sides, nan) {
                let variant_costs = relation_costs(shaders, setup, variant, self.relations())?;
                text += &relation_costs::text(
                    &variant_costs,
                    setup,
                    self.format == TableFormat::Markdown,
                );
                costs.extend(variant_costs);
            }
        }
        Ok(if self.format == TableFormat::Json { json(&costs) } else { text })
    }

    fn measure(&self, shaders: &[(String, Shader)]) -> Result<Vec<Comparison>, Error> {
        let setups = self.setups();
        let count = setups.len() as f64;
        let progress = Console::new(self.quiet).measuring();
        let compare = |(k, setup)| {
            Comparison::run(
                shaders,
                setup,
                &self.variants(),
                self.relations(),
                self.rounds as usize,
                &|fraction| progress.set_fraction((f64::from(k) + fraction) / count),
            )
        };
        let comparisons: Result<_, report::Error> = (0u32..).zip(setups).map(compare).collect();
        progress.finish();
        Ok(comparisons?)
    }
}
