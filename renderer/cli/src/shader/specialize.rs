//! `lightbound shader specialize`: what code costs if parameters are constants or in ranges.

use super::show::{self, Stage};
use super::values::{self, WordRange};
use super::{Assignment, SourceArgs, output, parse_assignment};
use crate::{Error, Exit};
use clap::ValueEnum;
use lightbound::material::parameters::format_table;
use lightbound::material::{ShaderProfile, ZeroTests};
use lightbound_shader::backend::MachineCode;
use lightbound_shader::backend::x86::{Code, Isa};
use lightbound_shader::bounding::{Frame, Integrand, IntervalInputs, Ranges, parameter_bounds};
use lightbound_shader::interval::{Bounds, Floats, Pieces};
use lightbound_shader::ir::Function;
use lightbound_shader::lift::{BoundSides, Options};
use lightbound_shader::relations::Relations;
use lightbound_shader::scattering::Functions;
use lightbound_shader::specialize::zeros::Versions;
use lightbound_shader::{Parameter, Scalar, Settings, Setup, Shader, ShaderKind, Target, passes};
use lightbound_study::cost::throughput;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

const EXAMPLES: &str = "\
Examples:
  lightbound shader specialize phong --set ks=0
  lightbound shader specialize coated_diffuse --set alpha=0.1 --assume kd=0..0.5
  lightbound shader specialize hair --set beta_m=0.3 --set beta_n=0.3 --target sse
  lightbound shader specialize phong --set kd=0.4 --profile scene.profile
  lightbound shader specialize phong --set ks=0 --stage ir
  lightbound shader specialize phong --set ks=0 --stage asm --of bound
  lightbound shader specialize phong --set kd=0.4 --profile scene.profile --stage ir --of evaluate

The renderer specializes materials in this way for their constant parameters. Specialized code
computes the same numbers; only signs of zeros may differ. Each row of the table is a step: any
parameters in their declared ranges, then the constants of --set, then the ranges of --assume.
Columns are static machine instructions of a SIMD group, the cycles that a throughput model of a
Skylake core predicts if each of them runs once (with --profile, the expected ones), bytes of code,
and the time to derive and compile it. `upper bound` is that of s over directions of light, with all relations.";

/// Options of `shader specialize`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    source: SourceArgs,

    /// Range of a parameter
    #[arg(long, value_name = "NAME=LO..HI", value_parser = parse_assignment)]
    assume: Vec<Assignment>,

    /// Add tests for zero that a profile of `lightbound render --profile-shaders` justifies
    ///
    /// The constants of --set must be those of a material of the scene.
    #[arg(long, value_name = "FILE")]
    profile: Option<PathBuf>,

    /// Print a specialized function at a stage of compilation
    #[arg(long, value_enum)]
    stage: Option<CodeStage>,

    /// Which function to print
    #[arg(long, value_enum, requires = "stage", default_value = "point")]
    of: Form,

    /// Output file [default: stdout]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Stages of specialized code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum CodeStage {
    /// Optimized IR, before branches and loops are vectorized
    Ir,
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

impl From<CodeStage> for Stage {
    fn from(stage: CodeStage) -> Stage {
        match stage {
            CodeStage::Ir => Stage::Ir,
            CodeStage::Lowered => Stage::Lowered,
            CodeStage::Asm => Stage::Asm,
            CodeStage::C => Stage::C,
            CodeStage::CScalar => Stage::CScalar,
            CodeStage::Wgsl => Stage::Wgsl,
            CodeStage::Hlsl => Stage::Hlsl,
            CodeStage::Msl => Stage::Msl,
            CodeStage::Glsl => Stage::Glsl,
            CodeStage::Spirv => Stage::Spirv,
        }
    }
}

/// Which function to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    /// s, the density of a medium, or the function
    Point,
    /// Its bounding shader
    Bound,
    /// s and the density of sampling, as the renderer computes them together
    Evaluate,
    /// A sampled direction, with s and the density
    Sample,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Exit, Error> {
    let output = output(args.output.as_deref(), &[&args.source.file])?;
    let target = args.source.target();
    let Some(isa) = target.isa() else {
        let message = "the interpreter executes the IR directly; it has no machine code";
        return Err(Error::option(message, "choose an instruction set, as in --target avx2"));
    };
    let shader = args.source.shader(None)?;
    let (settings, set) = args.source.settings(&shader)?;
    let specializer = Specializer::new(&shader, settings)?;
    let steps = steps(&shader, &set, &args.assume)?;
    let profile = args.profile.as_deref().map(read_profile).transpose()?;
    if let Some(stage) = args.stage {
        let (_, known) = steps.last().expect("there is the general step");
        let stage = stage.into();
        let function = match args.of {
            Form::Point | Form::Bound if profile.is_some() => {
                let message = "a profile adds tests to the functions that the renderer calls";
                return Err(Error::option(message, "add --of evaluate or --of sample"));
            }
            Form::Point => specializer.integrand(known)?.0,
            Form::Bound => {
                let (_, bound) = specializer.integrand(known)?;
                show::bounding_program(&bound, stage, show::DEFAULT_ULPS)
            }
            Form::Evaluate | Form::Sample => {
                let [evaluate, sample] = match &profile {
                    Some(profile) => {
                        profile.versions(&specializer, known, target)?.map(|(function, _)| function)
                    }
                    None => {
                        let (functions, _) = specializer.functions("--of evaluate", known)?;
                        [functions.evaluate, functions.scatter]
                    }
                };
                if args.of == Form::Evaluate { evaluate } else { sample }
            }
        };
        return show::write_stage(&function, stage, target, output);
    }
    let text = table(&specializer, &steps, profile.as_ref(), isa, target)?;
    show::write_output(text.as_bytes(), output)
}

/// A name, and bounds on each word of the settable parameters.
type Step = (String, Vec<Bounds>);

/// The steps of specialization; the first one is the declared ranges.
fn steps(shader: &Shader, set: &[&Assignment], assume: &[Assignment]) -> Result<Vec<Step>, Error> {
    let any: Vec<_> = shader
        .settable()
        .iter()
        .map(|parameter| Parameter { default: None, ..parameter.clone() })
        .collect();
    let general: Vec<_> = any
        .iter()
        .flat_map(|p| std::iter::repeat_n(parameter_bounds(p, Ranges::Declared), p.size))
        .collect();
    let mut steps = vec![("any parameters".to_owned(), general)];
    let is_override = |name: &str| shader.overrides().iter().any(|declared| declared.name == name);
    if let Some((name, _)) = assume.iter().find(|(name, _)| is_override(name)) {
        let message = format!("`{name}` is an override, which has a value, not a range");
        return Err(Error::option(message, format!("write --set {name}=VALUE")));
    }
    let assume: Vec<_> = assume.iter().collect();
    for (assignments, option) in [(set, "--set"), (&assume, "--assume")] {
        if assignments.is_empty() {
            continue;
        }
        let parse = |parameter: &Parameter, text: &str| match option {
            "--set" => values::parse_bits(parameter, text).map(WordRange::from),
            _ => values::parse_range(parameter, text),
        };
        let words = values::assign(&any, shader.overrides(), assignments, parse)?;
        let scalars = any.iter().flat_map(|p| std::iter::repeat_n(p.scalar, p.size));
        let (_, mut known) = steps.last().expect("there is the general step").clone();
        for ((bounds, word), scalar) in known.iter_mut().zip(words).zip(scalars) {
            if let Some(range) = word {
                *bounds = bounds.meet(&word_bounds(scalar, range.endpoints));
            }
        }
        if let Some(index) = known.iter().position(Bounds::is_empty) {
            let names: Vec<_> = any.iter().flat_map(Parameter::component_names).collect();
            let message = format!("`{}`: --set and --assume exclude each other", names[index]);
            return Err(Error::option(message, "omit one of them"));
        }
        steps.push((option.to_owned(), known));
    }
    Ok(steps)
}

/// Bounds on a word between two values.
fn word_bounds(scalar: Scalar, endpoints: [u32; 2]) -> Bounds {
    let [low, high] = endpoints;
    match scalar {
        _ if low == high => Bounds::constant(scalar.ty(), low),
        Scalar::F32 => Bounds::Float(Floats::between(f32::from_bits(low), f32::from_bits(high))),
        // Bounds on integers are signed.
        Scalar::I32 | Scalar::U32 if low as i32 <= high as i32 => {
            Bounds::Int(Pieces::one(low as i32, high as i32))
        }
        Scalar::I32 | Scalar::U32 | Scalar::Bool => Bounds::all(scalar.ty()),
    }
}

/// The functions of a shader.
struct Specializer<'a> {
    shader: &'a Shader,
    settings: Settings,
    /// Those of a material or phase function.
    functions: Option<Functions>,
}

impl Specializer<'_> {
    fn new(shader: &Shader, settings: Settings) -> Result<Specializer<'_>, Error> {
        let functions = match shader.kind() {
            ShaderKind::Brdf | ShaderKind::Phase => Some(Functions::new(shader, &settings)?),
            ShaderKind::Density | ShaderKind::Function => None,
        };
        let settings = Settings { setup: Setup::Precomputed, ..settings };
        Ok(Specializer { shader, settings, functions })
    }

    /// The specialized s or density, and its bounding shader.
    fn integrand(&self, known: &[Bounds]) -> Result<(Function, Function), Error> {
        let members = match &self.functions {
            Some(functions) => functions.specialize(known).1,
            None => known.to_vec(),
        };
        let integrand = Integrand::new(self.shader, &self.settings, Frame::Local)?;
        let integrand = integrand.specialize(members);
        let sides = match self.shader.kind() {
            ShaderKind::Brdf | ShaderKind::Phase => BoundSides::Upper,
            ShaderKind::Density | ShaderKind::Function => BoundSides::Both,
        };
        let options = Options { sides, relations: Relations::all(), ..Options::default() };
        let inputs = integrand.inputs(IntervalInputs::Light, Ranges::Declared);
        Ok((integrand.bounded(), integrand.bound(&inputs, &options).function))
    }

    /// The specialized functions of a material or phase function, which `option` needs, and bounds
    /// on the parameters that they have left.
    fn functions(&self, option: &str, known: &[Bounds]) -> Result<(Functions, Vec<Bounds>), Error> {
        match &self.functions {
            Some(functions) => Ok(functions.specialize(known)),
            None => {
                let message = format!("{option} applies to materials and phase functions");
                Err(Error::option(message, "omit it"))
            }
        }
    }

    /// All specialized functions, with names.
    fn all(&self, known: &[Bounds]) -> Result<Vec<(&'static str, Function)>, Error> {
        let (point, bound) = self.integrand(known)?;
        let Some(functions) = &self.functions else {
            let name = match self.shader.kind() {
                ShaderKind::Function => "function",
                _ => "density",
            };
            return Ok(vec![(name, point), ("bounds", bound)]);
        };
        let (Functions { setup, evaluate, scatter, .. }, _) = functions.specialize(known);
        let setup = setup.map(|setup| ("material", setup));
        let rest = [
            ("s", point),
            ("s and density", evaluate),
            ("sample", scatter),
            ("upper bound", bound),
        ];
        Ok(setup.into_iter().chain(rest).collect())
    }
}

/// A profile with its file.
struct Profile<'a> {
    path: &'a Path,
    profile: ShaderProfile,
}

fn read_profile(path: &Path) -> Result<Profile<'_>, Error> {
    let json = fs::read(path).map_err(|error| Error::Data {
        message: format!("{}: cannot be read ({error})", path.display()),
        help: "name a file written by `lightbound render --profile-shaders FILE`".into(),
    })?;
    let profile = ShaderProfile::parse(&json).map_err(|error| Error::Data {
        message: format!("{}: {error}", path.display()),
        help: "write a profile with `lightbound render --profile-shaders FILE`".into(),
    })?;
    Ok(Profile { path, profile })
}

impl Profile<'_> {
    /// The functions s with density, and sampling, with tests for zero, and the fractions of the
    /// cost that are expected; `None` if the tests did not save time when measured.
    fn versions(
        &self,
        specializer: &Specializer<'_>,
        known: &[Bounds],
        target: Target,
    ) -> Result<[(Function, Option<f64>); 2], Error> {
        let (functions, members) = specializer.functions("--profile", known)?;
        let candidates = functions.zero_candidates(&members);
        let tests = self
            .profile
            .zero_tests(specializer.shader.name(), &functions, &candidates, target.lanes())
            .map_err(|error| Error::Data {
                message: format!("{}: {error}", self.path.display()),
                help: "give the constants of a material of the profiled scene with --set, and the \
                       instruction set with --target"
                    .into(),
            })?;
        let [evaluate, scatter] = tests.map(|tests| match tests {
            ZeroTests::Used(Versions { function, expected_cost: [new, old], .. }) => {
                (function, Some(new / old))
            }
            ZeroTests::None => (functions.evaluate.clone(), Some(1.0)),
            ZeroTests::Rejected => (functions.evaluate.clone(), None),
        });
        Ok([evaluate, (functions.scatter_with(&scatter.0), scatter.1)])
    }
}

/// A row for each function and step.
fn table(
    specializer: &Specializer<'_>,
    steps: &[Step],
    profile: Option<&Profile<'_>>,
    isa: Isa,
    target: Target,
) -> Result<String, Error> {
    let (mut columns, mut rejected) = (Vec::new(), String::new());
    for (name, known) in steps {
        let start = Instant::now();
        let functions = specializer.all(known)?;
        let derivation = start.elapsed() / functions.len() as u32;
        let costs = functions.iter().map(|(function, code)| {
            let start = Instant::now();
            let code = Code::compile(&passes::lower(code), isa);
            let time = derivation + start.elapsed();
            (*function, Cost::of(&code), 1e3 * time.as_secs_f64())
        });
        columns.push((name.as_str(), costs.collect::<Vec<_>>()));
    }
    if let (Some(profile), Some((_, known))) = (profile, steps.last()) {
        let start = Instant::now();
        let versions = profile.versions(specializer, known, target)?;
        let derivation = start.elapsed() / versions.len() as u32;
        let (_, last) = columns.last().expect("there is the general step");
        let mut costs = last.clone();
        for (name, (function, ratio)) in std::iter::zip(["s and density", "sample"], versions) {
            let (_, cost, ms) = costs
                .iter_mut()
                .find(|(function, ..)| *function == name)
                .expect("materials have these functions");
            let start = Instant::now();
            let code = Code::compile(&passes::lower(&function), isa);
            *ms = 1e3 * (derivation + start.elapsed()).as_secs_f64();
            *cost = Cost { cycles: cost.cycles * ratio.unwrap_or(1.0), ..Cost::of(&code) };
            if ratio.is_none() {
                rejected += &format!("\nno tests for zero in {name}: they did not save time");
            }
        }
        columns.push(("--profile", costs));
    }
    let header = ["", "parameters", "instructions", "", "cycles", "bytes", "ms"];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    for (k, (function, general, _)) in columns[0].1.iter().enumerate() {
        for (step, (name, costs)) in columns.iter().enumerate() {
            let (_, cost, ms) = &costs[k];
            let change = cost.instructions as f64 / general.instructions as f64 - 1.0;
            rows.push(vec![
                if step == 0 { (*function).to_owned() } else { String::new() },
                (*name).to_owned(),
                cost.instructions.to_string(),
                if step == 0 { String::new() } else { format!("{:+.1} %", 100.0 * change) },
                format!("{:.1}", cost.cycles),
                cost.bytes.to_string(),
                format!("{ms:.2}"),
            ]);
        }
    }
    let lanes = target.lanes();
    Ok(format!(
        "{}: code for {target} ×{lanes}\n\n{}{rejected}",
        specializer.shader.name(),
        format_table(&rows)
    ))
}

#[derive(Clone)]
struct Cost {
    instructions: usize,
    cycles: f64,
    bytes: usize,
}

impl Cost {
    fn of(code: &Code) -> Cost {
        let once = vec![1; code.block_sizes().len()];
        Cost {
            instructions: code.counts().total,
            cycles: throughput::cycles(code, &once),
            bytes: AsRef::<MachineCode>::as_ref(code).size(),
        }
    }
}
