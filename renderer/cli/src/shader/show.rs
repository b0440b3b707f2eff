//! `lightbound shader show`: prints a function of a shader, or its bounding shader, at a stage of
//! compilation.

use super::{SourceArgs, output, point_shader};
use crate::numbers::integer;
use crate::output::{OutputFile, to_stdout};
use crate::variant::{self, Frame, Inputs, Mode, VariantArgs};
use crate::{Error, Exit};
use clap::ValueEnum;
use lightbound::suggestion::did_you_mean;
use lightbound_image::write::save;
use lightbound_shader::backend::c::{Intrinsics, Scalar};
use lightbound_shader::backend::gpu::{self, Language};
use lightbound_shader::backend::{Backend, x86};
use lightbound_shader::bounding::{self, PointRanges, RangeOptions};
use lightbound_shader::ir::Function;
use lightbound_shader::lift::Lifted;
use lightbound_shader::{Entry, Settings, Shader, ShaderKind, Target, passes};
use std::io::{IsTerminal, stdout};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  lightbound shader show ward.wgsl --stage ir
  lightbound shader show ward.wgsl --stage asm --target sse
  lightbound shader show ward.wgsl --stage c -o ward.c && gcc -O2 -ffp-contract=off -mavx2 -S ward.c
  lightbound shader show ward.wgsl --stage bounds --spans all --sides upper
  lightbound shader show phong.wgsl --stage bounds --mode related --relations unit,dot
  lightbound shader show ward.wgsl --stage ranges
  lightbound shader show ward.wgsl --explain s.r                  (where its range comes from)
  lightbound shader show ward.wgsl --stage ranges --entry pdf
  lightbound shader show ward.wgsl --stage asm --of bound --mode naive
  lightbound shader show ward.wgsl --stage hlsl --of bound --ulps 16      (for a GPU)
  lightbound shader show ward.wgsl --stage spirv -o ward.spv

  lightbound shader show fog.wgsl --stage bounds                (of the density of a medium)
  lightbound shader show sdf.wgsl --stage bounds --entry torus  (of any function)

The stages from s, or a density, to its bounding shader are ir, interval and bounds, then --of bound with ir,
lowered and asm. Comments show known facts about values, and the operation of s that each operation
of the bounding shader comes from. With --mode related, they also show the relations that tighten
a value.";

/// Default of `--ulps`.
pub(super) const DEFAULT_ULPS: u32 = 16;

/// Largest value of `--ulps`, an eighth of the bound.
const MAX_ULPS: u32 = 1 << 20;

/// Options of `shader show`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    source: SourceArgs,

    /// Compilation stage
    #[arg(long, value_enum)]
    stage: Option<Stage>,

    /// Explain the range of a value: %12, as in the stage ranges, or an input, an output, a variable,
    /// or a vector
    #[arg(long, value_name = "VALUE")]
    explain: Option<String>,

    /// Function to show: s, brdf, sample or pdf of a material, density, albedo or emission of a
    /// medium, or any function of the file [default: s, or density]
    #[arg(long, value_name = "NAME")]
    entry: Option<String>,

    /// The function itself, or its bounding shader [default: point; bound for the stages interval
    /// and bounds]
    #[arg(long, value_enum)]
    of: Option<ShaderForm>,

    /// Widen bounds by this number of ulps, in a language for GPUs, whose arithmetic is less
    /// precise [default: 16]
    #[arg(long, value_name = "N", value_parser = integer(0..=MAX_ULPS),
        allow_negative_numbers = true)]
    ulps: Option<u32>,

    /// Output file [default: stdout]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Inputs that are intervals [default: light]
    #[arg(long, value_enum, help_heading = variant::HEADING)]
    spans: Option<Inputs>,

    /// Frame of directions [default: local]
    #[arg(long, value_enum, help_heading = variant::HEADING)]
    frame: Option<Frame>,

    #[command(flatten)]
    variant: VariantArgs,
}

/// Compilation stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Stage {
    /// Optimized IR, before branches and loops are vectorized
    Ir,
    /// The point shader, with brackets around values that are intervals in its bounding shader
    Interval,
    /// The same, with the known facts about each value and the interval lowerings that they select
    Bounds,
    /// The point shader, with the range of each value, and why it is infinite or NaN
    Ranges,
    /// Input of the back ends: elementary functions expanded, divergent lanes masked
    Lowered,
    /// Machine code
    Asm,
    /// C with intrinsics and bit-identical results (compile with -ffp-contract=off)
    C,
    /// Scalar C, one lane at a time, which compilers may vectorize
    CScalar,
    /// WGSL, with a compute entry point
    Wgsl,
    /// HLSL for shader model 6.0 (compile with dxc -Gis)
    Hlsl,
    /// Metal Shading Language (compile with -fno-fast-math -ffp-contract=off)
    Msl,
    /// GLSL 4.50
    Glsl,
    /// SPIR-V 1.3, a binary file
    Spirv,
}

impl Stage {
    /// The language, if the stage is a program for GPUs.
    fn language(self) -> Option<Language> {
        match self {
            Stage::Wgsl => Some(Language::Wgsl),
            Stage::Hlsl => Some(Language::Hlsl),
            Stage::Msl => Some(Language::Msl),
            Stage::Glsl => Some(Language::Glsl),
            Stage::Spirv => Some(Language::SpirV),
            Stage::Ir
            | Stage::Interval
            | Stage::Bounds
            | Stage::Ranges
            | Stage::Lowered
            | Stage::Asm
            | Stage::C
            | Stage::CScalar => None,
        }
    }
}

/// The function to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ShaderForm {
    /// The function itself
    Point,
    /// Its bounding shader
    Bound,
}

/// Functions of a shader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum EntryName {
    /// The BRDF times the cosine of wi
    S,
    /// BRDF and s
    Brdf,
    /// The shader's own sampler
    Sample,
    /// The density of the shader's own sampler
    Pdf,
    /// The density of a medium
    Density,
    /// The albedo of a medium
    Albedo,
    /// The radiance that a medium emits
    Emission,
    /// Any other function
    #[value(skip)]
    Function,
}

impl EntryName {
    /// The function that has a bounding shader.
    fn bounded(kind: ShaderKind) -> EntryName {
        match kind {
            ShaderKind::Brdf | ShaderKind::Phase => EntryName::S,
            ShaderKind::Density => EntryName::Density,
            ShaderKind::Function => EntryName::Function,
        }
    }

    fn entry(self) -> Entry {
        match self {
            EntryName::S => Entry::Integrand,
            EntryName::Brdf => Entry::Brdf,
            EntryName::Sample => Entry::Sample,
            EntryName::Pdf => Entry::Pdf,
            EntryName::Density => Entry::Density,
            EntryName::Albedo => Entry::Albedo,
            EntryName::Emission => Entry::Emission,
            EntryName::Function => Entry::Function,
        }
    }
}

impl Args {
    /// Parses the shader, and finds the function to show.
    fn shader(&self) -> Result<(Shader, EntryName), Error> {
        let (file, text) = (self.source.name(), self.source.read()?);
        let Some(name) = &self.entry else {
            let shader = super::parse_text(&file, &text)?;
            let entry = EntryName::bounded(shader.kind());
            return Ok((shader, entry));
        };
        // Entries of materials and media take precedence over functions of the same name.
        if let Ok(entry) = EntryName::from_str(name, false)
            && let Ok(shader) = Shader::parse(&file, &text)
            && shader.kind() != ShaderKind::Function
        {
            return Ok((shader, entry));
        }
        Ok((Shader::parse_function(&file, &text, name)?, EntryName::Function))
    }

    fn stage(&self) -> Stage {
        self.stage.unwrap_or(Stage::Ranges)
    }

    /// Whether to show a bounding shader, or what depends on its options.
    fn shows_bounding_shader(&self) -> Result<bool, Error> {
        if self.stage() == Stage::Ranges && self.of == Some(ShaderForm::Bound) {
            let message = "ranges are those of the point shader's values";
            return Err(Error::option(message, "omit --of bound, or use --stage bounds"));
        }
        let is_bounding_stage = matches!(self.stage(), Stage::Interval | Stage::Bounds);
        let bounding = self.of.map_or(is_bounding_stage, |of| of == ShaderForm::Bound);
        if !bounding && is_bounding_stage {
            let message = "the stages interval and bounds exist only for bounding shaders";
            return Err(Error::option(message, "omit --of point, or use --stage ir"));
        }
        let options = [
            self.spans.map(|_| "--spans"),
            self.frame.map(|_| "--frame"),
            self.variant.first_given(),
        ];
        if self.ulps.is_some() && (!bounding || self.stage().language().is_none()) {
            let message = "--ulps applies only to bounding shaders in a language for GPUs";
            return Err(Error::option(message, "add --of bound --stage wgsl, or omit it"));
        }
        if self.stage() == Stage::Ranges {
            let spans = self.spans.map(|_| "--spans");
            return match spans.or(self.variant.first_of_endpoints()) {
                Some(option) => {
                    let message = format!("{option} makes no difference to the point shader");
                    Err(Error::option(message, "omit it, or use --stage bounds"))
                }
                None => Ok(false),
            };
        }
        match options.into_iter().flatten().next() {
            Some(option) if !bounding => {
                let message = format!("{option} applies only to bounding shaders");
                Err(Error::option(message, "add --of bound, or use --stage interval or bounds"))
            }
            _ => Ok(bounding),
        }
    }

    /// Derives the bounding shader.
    fn lifted(
        &self,
        shader: &Shader,
        entry: EntryName,
        settings: &Settings,
    ) -> Result<Lifted, Error> {
        let bounded = EntryName::bounded(shader.kind());
        if entry != bounded {
            let name = bounded.to_possible_value();
            let name = name.as_ref().map_or(shader.function_name(), |name| name.get_name());
            let message = format!("only {name} has a bounding shader");
            return Err(Error::option(message, "omit --entry"));
        }
        let integrand = self.variant.integrand(shader, settings, self.frame(shader)?)?;
        let spans = self.spans.unwrap_or_default().compiler_value();
        Ok(integrand
            .bound(&integrand.inputs(spans, self.variant.ranges()), &self.variant.options()?))
    }

    /// The frame of directions.
    fn frame(&self, shader: &Shader) -> Result<bounding::Frame, Error> {
        let has_directions = matches!(shader.kind(), ShaderKind::Brdf | ShaderKind::Phase);
        if self.frame.is_some() && !has_directions {
            let message =
                format!("--frame is for directions, and {} has none", shader.kind().name());
            return Err(Error::option(message, "omit it"));
        }
        Ok(self.frame.unwrap_or_default().compiler_value())
    }

    /// The ranges of the point shader's values, or the explanation of one.
    fn ranges(
        &self,
        shader: &Shader,
        entry: EntryName,
        settings: &Settings,
    ) -> Result<String, Error> {
        let options = RangeOptions {
            frame: self.frame(shader)?,
            luminance: self.variant.luminance(shader)?,
            ranges: self.variant.ranges(),
            relations: self.variant.relations(Mode::Related)?,
        };
        if entry != EntryName::bounded(shader.kind()) {
            let options = [
                (options.frame != bounding::Frame::Local).then_some("--frame"),
                options.luminance.then_some("--luminance"),
            ];
            if let Some(option) = options.into_iter().flatten().next() {
                let message = format!("{option} applies only to s");
                return Err(Error::option(message, "omit it, or --entry"));
            }
        }
        let ranges = PointRanges::new(shader, settings, entry.entry(), &options)?;
        let Some(name) = &self.explain else { return Ok(ranges.text()) };
        ranges.explain(name).ok_or_else(|| unknown_value(name, &ranges))
    }
}

/// The error for a name that no value has.
fn unknown_value(name: &str, ranges: &PointRanges) -> Error {
    let names = ranges.names();
    let number = format!("%{name}");
    let help = match ranges.explain(&number) {
        Some(_) => format!("did you mean \"{number}\"?"),
        None => {
            let others = format!(
                "choose a value that --stage ranges shows, such as %0, or one of {}",
                names.join(", ")
            );
            did_you_mean(name, names.iter().map(String::as_str), &others)
        }
    };
    Error::option(format!("the shader has no value `{name}`"), help)
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Exit, Error> {
    if args.stage.is_none() && args.explain.is_none() {
        let message = "nothing to show: --stage and --explain are missing";
        return Err(Error::option(message, "give a stage, as in --stage ir, or --explain VALUE"));
    }
    if let (Some(stage), Some(name)) =
        (args.stage.filter(|&stage| stage != Stage::Ranges), &args.explain)
    {
        let stage = stage.to_possible_value().expect("no stage is hidden");
        let message = format!("--explain cannot be used with --stage {}", stage.get_name());
        let help = format!("it explains the stage ranges: give --explain {name} alone");
        return Err(Error::option(message, help));
    }
    let output = output(args.output.as_deref(), &[&args.source.file])?;
    let target = args.source.target();
    if target.isa().is_none() && matches!(args.stage(), Stage::Asm | Stage::C | Stage::CScalar) {
        return Err(Error::Option {
            message: "the interpreter executes the IR directly; it has no machine code".into(),
            help: "choose an instruction set, as in --target avx2, or use --stage ir".into(),
        });
    }
    let bounding = args.shows_bounding_shader()?;
    let (shader, entry) = args.shader()?;
    let settings = args.source.overrides(&shader)?;
    let text = if args.stage() == Stage::Ranges {
        args.ranges(&shader, entry, &settings)?
    } else if bounding {
        let lifted = args.lifted(&shader, entry, &settings)?;
        match args.stage() {
            Stage::Interval => lifted.interval_text(),
            Stage::Bounds => lifted.bounds_text(),
            Stage::Ir => lifted.origins_text(&lifted.function),
            Stage::Lowered => lifted.origins_text(&passes::lower(&lifted.function)),
            stage => {
                let ulps = args.ulps.unwrap_or(DEFAULT_ULPS);
                let function = bounding_program(&lifted.function, stage, ulps);
                return write_stage(&function, stage, target, output);
            }
        }
    } else {
        let function = point_shader(&shader, entry.entry(), &settings)?;
        return write_stage(&function, args.stage(), target, output);
    };
    write_output(text.as_bytes(), output)
}

/// The bounding shader as a stage shows it: with its own name and with wider bounds in a program
/// for GPUs.
pub(super) fn bounding_program(bounding: &Function, stage: Stage, ulps: u32) -> Function {
    if stage.language().is_none() {
        return bounding.clone();
    }
    let widened = gpu::widen(bounding, ulps);
    Function { name: format!("{}_bound", bounding.name), ..widened }
}

/// Writes an optimized function at a stage that exists for all functions.
pub(super) fn write_stage(
    function: &Function,
    stage: Stage,
    target: Target,
    output: Option<OutputFile>,
) -> Result<Exit, Error> {
    let Some(language) = stage.language() else {
        return write_output(format_stage(function, stage, target).as_bytes(), output);
    };
    if language == Language::SpirV && output.is_none() && stdout().is_terminal() {
        let message = "SPIR-V is binary, and would garble the terminal";
        return Err(Error::option(message, "add --output FILE, or redirect stdout"));
    }
    let program = gpu::write(function, language).map_err(|error| Error::Data {
        message: error.to_string(),
        help: "choose another language, as in --stage wgsl".into(),
    })?;
    write_output(&program, output)
}

/// Writes a file or to stdout.
pub(super) fn write_output(bytes: &[u8], output: Option<OutputFile>) -> Result<Exit, Error> {
    match output {
        Some(output) => output.write(|path| save(path, bytes))?,
        None => _ = to_stdout(bytes)?,
    }
    Ok(Exit::Success)
}

/// The text of an optimized function at a stage for the CPU.
fn format_stage(function: &Function, stage: Stage, target: Target) -> String {
    let lowered = || passes::lower(function);
    let isa = || target.isa().expect("the caller has checked the target");
    match stage {
        Stage::Ir => function.to_string(),
        Stage::Lowered => lowered().to_string(),
        Stage::Asm => {
            let lowered = lowered();
            x86::Code::compile(&lowered, isa()).listing(&lowered)
        }
        Stage::C => Intrinsics(isa()).emit(&lowered()),
        Stage::CScalar => Scalar { lanes: target.lanes() }.emit(&lowered()),
        Stage::Interval | Stage::Bounds | Stage::Ranges => {
            unreachable!("these stages exist only for bounding shaders")
        }
        Stage::Wgsl | Stage::Hlsl | Stage::Msl | Stage::Glsl | Stage::Spirv => {
            unreachable!("programs for GPUs need not be texts")
        }
    }
}
