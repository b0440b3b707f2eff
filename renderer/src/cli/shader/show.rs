//! `lightbound shader show`: a function of a shader, or its bounding shader, in one of the forms
//! that it has on its way to machine code.

use super::{Source, output, point_shader};
use crate::cli::output::to_stdout;
use crate::cli::variant::{self, Frame, Inputs, VariantArgs};
use crate::cli::{Error, Exit};
use clap::ValueEnum;
use lightbound::image::write::save;
use lightbound_shader::backend::{c, x86};
use lightbound_shader::ir::Function;
use lightbound_shader::lift::Lifted;
use lightbound_shader::{Entry, Settings, Shader, Target, passes};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  lightbound shader show ward.wgsl --stage ir
  lightbound shader show ward.wgsl --stage asm --target sse
  lightbound shader show ward.wgsl --stage c -o ward.c && gcc -O2 -ffp-contract=off -mavx2 -S ward.c
  lightbound shader show ward.wgsl --stage bounds --spans all --sides upper
  lightbound shader show phong.wgsl --stage bounds --mode related --relations unit,dot
  lightbound shader show ward.wgsl --stage asm --of bound --mode naive

From s to its bounding shader: the stages ir, interval, bounds, then --of bound with ir, lowered,
asm. Comments say what is known of values, and for which operation of s each of the bounding shader
is there; of those in mode related, by which relations a value is tightened.";

/// Options of `shader show`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    source: Source,

    /// Which form
    #[arg(long, value_enum)]
    stage: Stage,

    /// Which function
    #[arg(long, value_enum, default_value = "s")]
    entry: EntryName,

    /// The function itself, or its bounding shader [default: point; bound for the stages interval
    /// and bounds]
    #[arg(long, value_enum)]
    of: Option<Of>,

    /// File to write [default: stdout]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Which inputs are intervals [default: light]
    #[arg(long, value_enum, help_heading = variant::HEADING)]
    spans: Option<Inputs>,

    /// Where directions are given [default: local]
    #[arg(long, value_enum, help_heading = variant::HEADING)]
    frame: Option<Frame>,

    #[command(flatten)]
    variant: VariantArgs,
}

/// Forms of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Stage {
    /// Optimized, before branches and loops are made fit for SIMD
    Ir,
    /// The point shader with those values in brackets that are intervals in its bounding shader
    Interval,
    /// The same, with what is known of each value, and the case that each operation on intervals
    /// became on that account
    Bounds,
    /// What back ends get: elementary functions written out, masks where lanes part
    Lowered,
    /// Machine code
    Asm,
    /// C with intrinsics, which computes the same bits (compile with -ffp-contract=off)
    C,
    /// C on numbers, a lane at a time, which compilers may vectorize as they like
    CScalar,
}

/// What is shown of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Of {
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
}

impl EntryName {
    fn entry(self) -> Entry {
        match self {
            EntryName::S => Entry::Shaded,
            EntryName::Brdf => Entry::Brdf,
            EntryName::Sample => Entry::Sample,
            EntryName::Pdf => Entry::Pdf,
        }
    }
}

impl Args {
    /// Whether a bounding shader is asked for.
    fn bounding(&self) -> Result<bool, Error> {
        let explains = matches!(self.stage, Stage::Interval | Stage::Bounds);
        let bounding = self.of.map_or(explains, |of| of == Of::Bound);
        let wrong = |message: String, help: &str| Err(Error::Option { message, help: help.into() });
        if !bounding && explains {
            let message = "the stages interval and bounds are those of a bounding shader".into();
            return wrong(message, "leave out --of point, or look at --stage ir");
        }
        let options =
            [self.spans.map(|_| "--spans"), self.frame.map(|_| "--frame"), self.variant.given()];
        match options.into_iter().flatten().next() {
            Some(option) if !bounding => {
                let message = format!("{option} is an option of bounding shaders");
                wrong(message, "add --of bound, or look at --stage interval or bounds")
            }
            _ if bounding && self.entry != EntryName::S => {
                wrong("only s has a bounding shader".into(), "leave out --entry")
            }
            _ => Ok(bounding),
        }
    }

    /// The bounding shader and how it came about.
    fn lifted(&self, shader: &Shader, settings: &Settings) -> Result<Lifted, Error> {
        let integrand =
            self.variant.integrand(shader, settings, self.frame.unwrap_or_default().of())?;
        let spans = self.spans.unwrap_or_default().of();
        Ok(integrand
            .bound(&integrand.inputs(spans, self.variant.ranges()), &self.variant.options()?))
    }
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Exit, Error> {
    let output = output(args.output.as_deref(), &[&args.source.file])?;
    let target = args.source.target();
    if target == Target::Interpreter && matches!(args.stage, Stage::Asm | Stage::C | Stage::CScalar)
    {
        return Err(Error::Option {
            message: "the interpreter runs the IR as it is: there is no code for it".into(),
            help: "name a machine, as in --target avx2, or look at --stage ir".into(),
        });
    }
    let bounding = args.bounding()?;
    let shader = Shader::parse(&args.source.name(), &args.source.read()?)?;
    let settings = args.source.overrides(&shader)?;
    let text = if bounding {
        let lifted = args.lifted(&shader, &settings)?;
        match args.stage {
            Stage::Interval => lifted.interval_text(),
            Stage::Bounds => lifted.bounds_text(),
            Stage::Ir => lifted.origins_text(&lifted.function),
            Stage::Lowered => lifted.origins_text(&passes::lower(&lifted.function)),
            stage => form(&lifted.function, stage, target),
        }
    } else {
        form(&point_shader(&shader, args.entry.entry(), &settings)?, args.stage, target)
    };
    match output {
        Some(output) => output.write(|path| save(path, text.as_bytes()))?,
        None => _ = to_stdout(text.as_bytes())?,
    }
    Ok(Exit::Done)
}

/// A function, which is optimized, in a form that all functions have.
fn form(function: &Function, stage: Stage, target: Target) -> String {
    let lowered = || passes::lower(function);
    match stage {
        Stage::Ir => function.to_string(),
        Stage::Lowered => lowered().to_string(),
        Stage::Asm => {
            let lowered = lowered();
            x86::Code::compile(&lowered, target).listing(&lowered)
        }
        Stage::C => c::emit(&lowered(), target),
        Stage::CScalar => c::scalar::emit(&lowered(), target.lanes()),
        Stage::Interval | Stage::Bounds => {
            unreachable!("these show how a bounding shader comes about")
        }
    }
}
