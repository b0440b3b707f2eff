//! WGSL text becomes IR: [`Shader::parse`] reads a file and checks it against the contract of
//! materials, [`Shader::function`] translates one of its functions.

mod bits;
mod builtins;
mod contract;
mod control;
mod diagnostics;
mod effects;
mod entry;
mod expressions;
mod layout;
mod locate;
mod loops;
mod names;
mod operators;
mod outline;
mod overrides;
mod parse;
mod places;
#[cfg(test)]
mod programs;
mod range;
#[cfg(test)]
mod testing;
mod textures;
mod translate;

use crate::ir::{Function, Type};
use crate::texture::Lookup;
use contract::Contract;
use miette::{LabeledSpan, NamedSource};
use outline::{Outline, Place};
use std::sync::Arc;

/// A material program that was read and found to keep the contract.
#[derive(Clone, Debug)]
pub struct Shader {
    source: Source,
    module: naga::Module,
    info: naga::valid::ModuleInfo,
    contract: Contract,
    sides: Sides,
    description: String,
}

/// A shader's text, to which places refer.
#[derive(Clone, Debug)]
struct Source {
    file: Arc<NamedSource<String>>,
    /// What the author wrote, and what was appended to it.
    text: String,
    outline: Outline,
}

impl Source {
    fn new(name: &str, text: &str) -> Source {
        let file = Arc::new(NamedSource::new(name, text.to_owned()));
        Source { file, text: text.to_owned(), outline: Outline::new(text) }
    }

    fn text(&self) -> &str {
        &self.text
    }

    /// What the author wrote.
    fn written(&self) -> &str {
        self.file.inner()
    }

    /// An error, as yet without a place.
    fn error(&self, message: impl Into<String>) -> ShaderError {
        ShaderError {
            message: message.into(),
            source_code: self.file.clone(),
            labels: vec![],
            help: None,
        }
    }
}

/// Where a material sends light.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sides {
    /// Reflection on the side of the normal: s = brdf · max(wi.z, 0), used where wo.z > 0.
    #[default]
    One,
    /// Reflection and transmission on the whole sphere (`sides: both`): s = bsdf · |wi.z|.
    Both,
}

impl Sides {
    /// Whether the material sends light along a `wo` with this z component; where not, BRDF and
    /// integrand are 0, and the shader, whose author need not think of that side, is not asked.
    pub fn covers(self, wo_z: f32) -> bool {
        match self {
            Sides::One => wo_z > 0.0,
            Sides::Both => true,
        }
    }
}

/// Something that is set from outside: a member of a shader's `Material`, one of `SurfacePoint`
/// where the shader has `fn material`, or an `override`.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// `kd`
    pub name: String,
    /// The first lines of its doc comment, without range and default.
    pub doc: String,
    /// Scalar type in WGSL.
    pub scalar: Scalar,
    /// Number of components: 1 for scalars, 2 to 4 for vectors.
    pub size: usize,
    /// Least and greatest value of each component, as the scalar type has them; infinite where a
    /// float has no limit.
    pub range: [f64; 2],
    /// Value of each component where none is given, as the scalar type has it.
    pub default: Option<Vec<f64>>,
}

/// Scalar types of WGSL that parameters have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scalar {
    /// `f32`
    F32,
    /// `i32`
    I32,
    /// `u32`
    U32,
    /// `bool`
    Bool,
}

impl Scalar {
    /// Name in WGSL.
    pub fn name(self) -> &'static str {
        match self {
            Scalar::F32 => "f32",
            Scalar::I32 => "i32",
            Scalar::U32 => "u32",
            Scalar::Bool => "bool",
        }
    }

    /// Type in the IR.
    pub fn ty(self) -> Type {
        match self {
            Scalar::F32 => Type::F32,
            Scalar::I32 | Scalar::U32 => Type::I32,
            Scalar::Bool => Type::Bool,
        }
    }

    /// The bits of a number in this type, rounded to it and cut to its ends.
    pub fn bits(self, x: f64) -> u32 {
        match self {
            Scalar::F32 => (x as f32).to_bits(),
            Scalar::I32 => x as i32 as u32,
            Scalar::U32 => x as u32,
            Scalar::Bool => {
                if x != 0.0 {
                    !0
                } else {
                    0
                }
            }
        }
    }
}

impl Parameter {
    /// Names of the words that the parameter is: `exponent`, or `kd.x`, `kd.y`, `kd.z`. The ports
    /// of functions are named so.
    pub fn words(&self) -> impl Iterator<Item = String> + '_ {
        (0..self.size).map(|k| {
            if self.size == 1 {
                self.name.clone()
            } else {
                format!("{}.{}", self.name, ["x", "y", "z", "w"][k])
            }
        })
    }
}

/// Which function of a shader, in which form. All have the inputs `wi.x` … `wo.z` (as far as the
/// function takes directions) and then the words of the [parameters](Shader::parameters), or of the
/// [members](Shader::members) of `Material` ([`Setup`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// The integrand: outputs `s.r`, `s.g`, `s.b`, 1/sr.
    Shaded,
    /// BRDF and integrand: outputs `brdf.r`, `brdf.g`, `brdf.b`, `s.r`, `s.g`, `s.b`.
    Brdf,
    /// `fn sample`: inputs `u.x`, `u.y`, `wo.x` …; outputs `wi.x`, `wi.y`, `wi.z`. An error where
    /// the shader has none.
    Sample,
    /// `fn pdf`: outputs `pdf`, 1/sr. An error where the shader has none.
    Pdf,
    /// `fn material`: inputs the words of the [parameters](Shader::parameters) alone; outputs the
    /// words of the [members](Shader::members). An error where the shader has none.
    Setup,
}

/// Where the members of `Material` come from in functions of a shader that computes them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Setup {
    /// `fn material` is a part of each function, whose inputs are the
    /// [parameters](Shader::parameters).
    #[default]
    Within,
    /// [`Entry::Setup`] has computed them once for all: the inputs are the
    /// [members](Shader::members).
    Before,
}

/// What translation may be told.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Whether functions compute their material.
    pub setup: Setup,
    /// How textures are looked up, by name; as [`Lookup`] has it by default where nothing is said.
    pub textures: Vec<(String, Lookup)>,
    /// Values of `override` declarations, by name.
    pub overrides: Vec<(String, f64)>,
    /// Rounds after which a loop is left. Where it cannot be shown that no loop gets there, the
    /// function has one more output, `capped`, a bool.
    pub loop_cap: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Settings { setup: Setup::Within, textures: vec![], overrides: vec![], loop_cap: 1 << 16 }
    }
}

/// What is wrong with a shader, with the excerpt of its text that shows it.
#[derive(Clone, Debug, thiserror::Error, miette::Diagnostic)]
#[error("{message}")]
pub struct ShaderError {
    /// What is wrong.
    pub message: String,
    /// File name and text.
    #[source_code]
    pub source_code: Arc<NamedSource<String>>,
    /// Where, in bytes, and what is there; the first is the place of the error, others explain it.
    #[label(collection)]
    pub labels: Vec<LabeledSpan>,
    /// The remedy.
    #[help]
    pub help: Option<String>,
}

/// Columns, in bytes, that excerpts reach to: miette cannot show those beyond 2¹⁶, and a tab takes
/// four.
const MAX_COLUMN: usize = 1 << 13;

impl ShaderError {
    /// Adds a place; 0..0, as in naga, is none.
    fn at(mut self, place: Place, label: impl Into<String>) -> ShaderError {
        if place == (0..0) {
            return self;
        }
        // What was appended to the text stands at its end.
        let text = self.source_code.inner();
        let boundary = |at: usize| {
            (0..=at.min(text.len())).rev().find(|&k| text.is_char_boundary(k)).unwrap_or(0)
        };
        let start = boundary(place.start);
        let end = boundary(place.end).max(start);
        let line = |at: usize| text[..at].rfind('\n').map_or(0, |k| k + 1);
        if start - line(start) > MAX_COLUMN || end - line(end) > MAX_COLUMN {
            if self.labels.is_empty() {
                self.message += &format!(
                    " (line {}, column {})",
                    text[..start].matches('\n').count() + 1,
                    start - line(start) + 1
                );
            }
            return self;
        }
        let label = Some(label.into());
        self.labels.push(if self.labels.is_empty() {
            LabeledSpan::new_primary_with_span(label, start..end)
        } else {
            LabeledSpan::new_with_span(label, start..end)
        });
        self
    }

    /// Adds a place where naga gives one.
    fn at_span(self, span: naga::Span, label: impl Into<String>) -> ShaderError {
        match span.to_range() {
            Some(place) => self.at(place, label),
            None => self,
        }
    }

    /// Says the remedy.
    fn help(mut self, help: impl Into<String>) -> ShaderError {
        self.help = Some(help.into());
        self
    }
}

impl Shader {
    /// Reads a shader; `name` is the file's, for messages.
    pub fn parse(name: &str, source: &str) -> Result<Shader, ShaderError> {
        // Without the mark that some editors put before UTF-8.
        let mut source = Source::new(name, source.strip_prefix('\u{feff}').unwrap_or(source));
        parse::complete(&mut source)?;
        let (module, info) = parse::parse(&source)?;
        let contract = contract::check(&source, &module)?;
        let outline = &source.outline;
        if let Some(stray) = outline.stray_docs.first() {
            let error = source
                .error("a module's doc comment stands at its head")
                .at(stray.clone(), "too late");
            return Err(error.help("move it to the top of the file, before all else"));
        }
        range::reject_stray(&source)?;
        let (sides, description) = range::module(&source, &outline.docs)?;
        Ok(Shader { source, module, info, contract, sides, description })
    }

    /// The file's name.
    pub fn name(&self) -> &str {
        self.source.file.name()
    }

    /// What the author wrote.
    pub fn text(&self) -> &str {
        self.source.file.inner()
    }

    /// The lines at which loops begin that the author wrote, from 1.
    pub fn loop_lines(&self) -> Vec<u32> {
        let written = self.source.written();
        let mut lines = Vec::new();
        let mut blocks: Vec<_> =
            self.module.functions.iter().map(|(_, function)| &function.body).collect();
        while let Some(block) = blocks.pop() {
            for (statement, span) in block.span_iter() {
                blocks.extend(contract::inner_blocks(statement));
                // What was appended is not the author's.
                let start =
                    span.to_range().map(|range| range.start).filter(|&start| start < written.len());
                if let (naga::Statement::Loop { .. }, Some(start)) = (statement, start) {
                    lines.push(
                        1 + written.as_bytes()[..start]
                            .iter()
                            .filter(|&&byte| byte == b'\n')
                            .count() as u32,
                    );
                }
            }
        }
        lines.sort_unstable();
        lines.dedup();
        lines
    }

    /// The lines of the module's doc comment, `//! …`, but for the sides.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// Where the material sends light.
    pub fn sides(&self) -> Sides {
        self.sides
    }

    /// What a material of this shader is given: the members of `SurfacePoint`, where there is
    /// `fn material`, then those members of `Material` that are not computed from them alone. They
    /// are inputs of functions in this order.
    pub fn parameters(&self) -> &[Parameter] {
        &self.contract.parameters
    }

    /// The first of the [parameters](Shader::parameters), those that the surface has.
    pub fn surface(&self) -> &[Parameter] {
        &self.contract.surface
    }

    /// The rest of the [parameters](Shader::parameters), those that the author of a scene can set.
    pub fn settable(&self) -> &[Parameter] {
        &self.contract.parameters[self.contract.surface.len()..]
    }

    /// The members of `Material`, which `brdf`, `sample` and `pdf` take.
    pub fn members(&self) -> &[Parameter] {
        &self.contract.members
    }

    /// Names of the textures, in the order of their declarations.
    pub fn textures(&self) -> &[String] {
        &self.contract.textures
    }

    /// The `override` declarations, which [`Settings`] can give values to; a default is known where
    /// the declaration has a plain number.
    pub fn overrides(&self) -> &[Parameter] {
        &self.contract.overrides
    }

    /// Whether the shader has its own sampler, `fn sample` and `fn pdf`.
    pub fn has_sampler(&self) -> bool {
        self.contract.sample.is_some()
    }

    /// Whether the shader computes its material from the surface point, `fn material`.
    pub fn has_setup(&self) -> bool {
        self.contract.material.is_some()
    }

    /// Translates a function of the shader; the result is as the author wrote it, not yet
    /// optimized.
    pub fn function(&self, entry: Entry, settings: &Settings) -> Result<Function, ShaderError> {
        entry::function(self, entry, settings)
    }
}
