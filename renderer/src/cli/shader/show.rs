//! `lightbound shader show`: a function of a shader in one of the forms that it has on its way to machine code.

use super::{Source, output, point_shader};
use crate::cli::output::to_stdout;
use crate::cli::{Error, Exit};
use clap::ValueEnum;
use lightbound::image::write::save;
use lightbound_shader::backend::{c, x86};
use lightbound_shader::{Entry, Shader, Target, passes};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  lightbound shader show ward.wgsl --stage ir
  lightbound shader show ward.wgsl --stage asm --target sse
  lightbound shader show ward.wgsl --stage c -o ward.c && gcc -O2 -ffp-contract=off -mavx2 -S ward.c";

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

    /// File to write [default: stdout]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Forms of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Stage {
    /// The point shader: optimized, before its branches and loops are made fit for SIMD
    Ir,
    /// What back ends get: elementary functions written out, masks where lanes part
    Lowered,
    /// Machine code
    Asm,
    /// C with intrinsics, which computes the same bits (compile with -ffp-contract=off)
    C,
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

/// Runs the command.
pub fn run(args: &Args) -> Result<Exit, Error> {
    let output = output(args.output.as_deref(), &[&args.source.file])?;
    let target = args.source.target();
    if target == Target::Interpreter && matches!(args.stage, Stage::Asm | Stage::C) {
        return Err(Error::Option {
            message: "the interpreter runs the IR as it is: there is no code for it".into(),
            help: "name a machine, as in --target avx2, or look at --stage ir".into(),
        });
    }
    let shader = Shader::parse(&args.source.name(), &args.source.read()?)?;
    let point = point_shader(&shader, args.entry.entry(), &args.source.overrides(&shader)?)?;
    let text = match args.stage {
        Stage::Ir => point.to_string(),
        Stage::Lowered => passes::lower(&point).to_string(),
        Stage::Asm => {
            let lowered = passes::lower(&point);
            x86::Code::compile(&lowered, target).listing(&lowered)
        }
        Stage::C => c::emit(&passes::lower(&point), target),
    };
    match output {
        Some(output) => output.write(|path| save(path, text.as_bytes()))?,
        None => _ = to_stdout(text.as_bytes())?,
    }
    Ok(Exit::Done)
}
