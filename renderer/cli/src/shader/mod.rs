//! `lightbound shader`: checks, shows, evaluates, bounds and previews shaders in WGSL: materials,
//! phase functions, densities of media, and any other function.

mod bound;
mod check;
mod csv;
mod eval;
mod evaluator;
mod faults;
mod files;
mod inputs;
mod list;
mod positions;
mod preview;
mod show;
mod specialize;
mod values;
mod warnings;

use super::output::OutputFile;
use super::{Error, Exit, console, input};
use clap::Subcommand;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use lightbound::material::{ProgramError, library};
use lightbound::medium::ShaderFieldError;
use lightbound_materialx::{Material, is_materialx_name};
use lightbound_pbrt::shader_file::{self, ShaderReadError};
use lightbound_shader::ir::Function;
use lightbound_shader::{
    Arena, CompileError, Entry, Kernel, Settings, Shader, ShaderError, Target, passes,
};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use values::ValueError;

const EXAMPLES: &str = "\
Examples:
  lightbound shader list                         the shaders of the library
  lightbound shader check mine.wgsl              check a shader and list its parameters
  lightbound shader preview mine.wgsl --set kd=0.5,0.1,0.05
  lightbound shader eval ward --wi 0,0.6,0.8 --wo 0,0,1
  lightbound shader bound ward --wi -0.1..0.1,0.5..0.7,0.7..0.9 --wo 0,0,1
  lightbound shader bound fog.wgsl --p 0..1,0..0.5,0..1         of the density of a medium
  lightbound shader bound sdf.wgsl --entry torus --set p=0..1,0,0 --set radius=1   any function";

/// Subcommands.
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Command {
    /// List the shaders of the built-in library
    List(list::Args),
    /// Find errors, list parameters, test the values and the sampler, count instructions
    Check(check::Args),
    /// Print the shader at a stage of its compilation
    Show(show::Args),
    /// Show what code costs if parameters are constants or in ranges
    Specialize(specialize::Args),
    /// Evaluate a BRDF for given directions, a density at a position, or any function
    Eval(eval::Args),
    /// Bound the BRDF times the cosine over boxes of directions and parameters, a density over boxes
    /// of positions, or any function over boxes of its inputs
    Bound(bound::Args),
    /// Render a ball of the material, or a cube of the medium
    Preview(preview::Args),
}

/// Runs the command.
pub fn run(command: &Command) -> Result<Exit, Error> {
    match command {
        Command::List(_) => list::run(),
        Command::Check(args) => check::run(args),
        Command::Show(args) => show::run(args),
        Command::Specialize(args) => specialize::run(args),
        Command::Eval(args) => eval::run(args),
        Command::Bound(args) => bound::run(args),
        Command::Preview(args) => preview::run(args),
    }
}

/// Arguments of the subcommands that read a shader.
#[derive(Clone, Debug, Default, clap::Args)]
struct SourceArgs {
    /// Shader in WGSL: a file, or a name of the library (see `shader list`); - reads stdin. Or a
    /// MaterialX document, .mtlx
    file: PathBuf,

    /// Material of a MaterialX document [default: the only one]
    #[arg(long, value_name = "NAME")]
    material: Option<String>,

    /// Instruction set [default: chosen for this machine]
    #[arg(long, value_name = "TARGET", value_parser = target_parser())]
    target: Option<Target>,

    /// Value of an override, or of a parameter where the shader is evaluated; a single number sets
    /// all components of a vector
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_assignment)]
    set: Vec<Assignment>,
}

/// Name and value.
type Assignment = (String, String);

/// Parses `NAME=VALUE`.
fn parse_assignment(text: &str) -> Result<Assignment, String> {
    let parts =
        text.split_once('=').map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()));
    parts
        .filter(|(name, _)| !name.is_empty())
        .ok_or_else(|| "expected a name and a value, as in kd=0.5".into())
}

/// Parser for the name of a target.
pub(super) fn target_parser() -> impl TypedValueParser<Value = Target> {
    one_of(Target::ALL)
}

/// Parser for the name of an x86-64 target.
pub(super) fn machine_target_parser() -> impl TypedValueParser<Value = Target> {
    one_of(Target::ALL.into_iter().filter(|target| target.isa().is_some()))
}

fn one_of(targets: impl IntoIterator<Item = Target>) -> impl TypedValueParser<Value = Target> {
    let names = PossibleValuesParser::new(targets.into_iter().map(Target::name));
    names.map(|name| name.parse().expect("possible values are targets"))
}

/// Reads and parses a shader: a file, or a name of the library; - is stdin.
pub(super) fn parse(file: &Path) -> Result<Shader, Error> {
    let source = SourceArgs { file: file.to_owned(), ..SourceArgs::default() };
    Ok(parse_text(&source.name(), &source.read()?)?)
}

/// The function of a shader that displaces a mesh.
const DISPLACE: &str = "displace";

/// Parses a shader of any kind. If it is of none, but has `fn displace`, this is its function.
fn parse_text(name: &str, text: &str) -> Result<Shader, ShaderError> {
    Shader::parse(name, text).or_else(|error| {
        let has = |function: &str| Shader::parse_function(name, text, function).is_ok();
        if ["brdf", "phase", "density", "field"].into_iter().any(has) {
            return Err(error);
        }
        let displacement = Shader::parse_function(name, text, DISPLACE);
        // Its own error says more than that there is no other function.
        let is_declared = text.contains(&format!("fn {DISPLACE}("));
        displacement.map_err(|of_function| if is_declared { of_function } else { error })
    })
}

impl SourceArgs {
    /// Parses the shader: for a function that is named, or for what it describes.
    fn shader(&self, function: Option<&str>) -> Result<Shader, Error> {
        let (name, text) = (self.name(), self.read()?);
        Ok(match function {
            Some(function) => Shader::parse_function(&name, &text, function)?,
            None => parse_text(&name, &text)?,
        })
    }

    fn target(&self) -> Target {
        self.target.unwrap_or_else(Target::best)
    }

    /// Splits the assignments into overrides and the rest.
    fn settings(&self, shader: &Shader) -> Result<(Settings, Vec<&Assignment>), Error> {
        let (mut settings, mut rest) = (Settings::default(), Vec::new());
        for assignment in &self.set {
            let (name, text) = assignment;
            match shader.overrides().iter().find(|declared| declared.name == *name) {
                Some(declared) => {
                    let value = values::parse_value(declared, text)?.1;
                    // The last assignment takes precedence, as for parameters.
                    settings.overrides.retain(|(earlier, _)| earlier != name);
                    settings.overrides.push((name.clone(), value));
                }
                None => rest.push(assignment),
            }
        }
        Ok((settings, rest))
    }

    /// The overrides, for commands that cannot set parameters.
    fn overrides(&self, shader: &Shader) -> Result<Settings, Error> {
        let (settings, rest) = self.settings(shader)?;
        match rest.first() {
            None => Ok(settings),
            Some((name, _)) if values::find_parameter(shader.parameters(), name).is_some() => {
                Err(Error::Data {
                    message: format!("`{name}` is a parameter, which is an input of compiled code"),
                    help: "--set accepts parameters only for `lightbound shader eval`, `bound`, \
                       `specialize` and `preview`"
                        .into(),
                })
            }
            Some((name, _)) => {
                Err(values::unknown_name("override", shader.overrides(), &[], name).into())
            }
        }
    }

    /// The name in messages.
    fn name(&self) -> String {
        input::name(&self.file).display().to_string()
    }

    /// The material of a MaterialX document; `None` if the file is a shader.
    fn document(&self) -> Result<Option<Material>, Error> {
        if is_materialx_name(&self.file) {
            return crate::material::convert(&self.file, self.material.as_deref()).map(Some);
        }
        if self.material.is_some() {
            return Err(Error::option(
                format!("--material is for MaterialX documents, and {} is none", self.name()),
                "remove the option; a shader is one material",
            ));
        }
        Ok(None)
    }

    /// The shader's text, from the file or otherwise from the library. Materials of documents are
    /// converted.
    fn read(&self) -> Result<String, Error> {
        if let Some(material) = self.document()? {
            material.warnings.iter().for_each(|warning| console::warn(warning));
            return Ok(material.text);
        }
        let in_library = || self.file.to_str().and_then(library::find);
        match input::read(&self.file) {
            Err(cause) if cause.kind() == ErrorKind::NotFound => match in_library() {
                Some(entry) => Ok(entry.text.to_owned()),
                None => Err(Error::Data {
                    message: ShaderReadError::Unreadable { name: self.name(), cause }.to_string(),
                    help: library::suggestion(&self.file.to_string_lossy(), "check the path"),
                }),
            },
            read => Ok(shader_file::decode(&self.name(), read)?),
        }
    }
}

/// Checks an output file, which must not be one of the input files.
fn output(path: Option<&Path>, inputs: &[&Path]) -> Result<Option<OutputFile>, Error> {
    let Some(path) = path else { return Ok(None) };
    let output = OutputFile::check(path)?;
    if inputs.iter().any(|input| output.is_same_file(input)) {
        return Err(Error::Option {
            message: format!("--output would overwrite `{}`", path.display()),
            help: "name another file".into(),
        });
    }
    Ok(Some(output))
}

/// The images of a shader's textures, in the order of their declarations; the last one for each
/// texture takes precedence.
fn images<'a>(shader: &Shader, assignments: &'a [Assignment]) -> Result<Vec<&'a str>, Error> {
    let image = |name: &String| match assignments.iter().rev().find(|(texture, _)| texture == name)
    {
        Some((_, file)) => Ok(file.as_str()),
        None => Err(Error::Data {
            message: format!("the texture `{name}` has no image"),
            help: format!("set one with --texture {name}=FILE"),
        }),
    };
    shader.textures().iter().map(image).collect()
}

pub(super) use crate::output::is_stream as is_stdin;

/// The optimized point shader of an entry.
fn point_shader(shader: &Shader, entry: Entry, settings: &Settings) -> Result<Function, Error> {
    Ok(passes::optimize(&shader.function(entry, settings)?))
}

/// The machine code of an optimized function.
fn compile(function: &Function, target: Target) -> Result<Kernel, Error> {
    Ok(Kernel::compile(&Arena::new(), &passes::lower(function), target)?)
}

/// The error for a target that this machine does not support.
pub(super) fn unavailable(target: Target) -> Error {
    let available: Vec<&str> =
        Target::ALL.into_iter().filter(|target| target.is_available()).map(Target::name).collect();
    let message = CompileError::Unavailable(target).to_string();
    Error::Option { message, help: format!("--target {} runs here", available.join(" or ")) }
}

impl From<ShaderReadError> for Error {
    fn from(error: ShaderReadError) -> Error {
        Error::Data { message: error.to_string(), help: error.remedy().into() }
    }
}

impl From<CompileError> for Error {
    fn from(cause: CompileError) -> Error {
        match cause {
            CompileError::Unavailable(target) => unavailable(target),
            cause => Error::Data {
                message: cause.to_string(),
                help: "use fewer and smaller arrays in the shader".into(),
            },
        }
    }
}

impl From<ShaderFieldError> for Error {
    fn from(error: ShaderFieldError) -> Error {
        match error {
            ShaderFieldError::Program(error) => error.into(),
            ShaderFieldError::Texture { error, .. } => {
                Error::option(format!("a texture {error}"), error.remedy())
            }
        }
    }
}

impl From<ProgramError> for Error {
    fn from(error: ProgramError) -> Error {
        match error {
            ProgramError::Shader(error) => error.into(),
            ProgramError::Compile(cause) => cause.into(),
        }
    }
}

impl From<ValueError> for Error {
    fn from(ValueError { message, help }: ValueError) -> Error {
        Error::Data { message, help }
    }
}
