//! WGSL front end: [`Shader::parse`] parses a shader and checks its signatures and annotations;
//! [`Shader::function`] translates one of its functions to IR.

mod annotations;
mod arms;
mod bits;
mod builtins;
mod contract;
mod control;
mod declarations;
mod diagnostics;
mod effects;
mod entry;
mod error;
mod exits;
mod expressions;
mod layout;
mod lexer;
mod locate;
mod locations;
mod loops;
mod names;
mod nesting;
mod operators;
mod overrides;
mod parameter;
mod parse;
mod pointers;
#[cfg(test)]
mod random_programs;
mod switch;
#[cfg(test)]
mod testing;
mod textures;
mod translate;

use crate::ir::Function;
use crate::texture::{Texture, TextureState};
use contract::Contract;
pub use error::ShaderError;
pub(crate) use error::line_of;
use lexer::{DocComment, Token};
pub(crate) use locations::LocatedFunction;
use miette::NamedSource;
pub use parameter::{Parameter, Scalar, VectorFact};
use std::sync::Arc;

/// A parsed and checked shader.
#[derive(Clone, Debug)]
pub struct Shader {
    source: Source,
    module: naga::Module,
    info: naga::valid::ModuleInfo,
    contract: Contract,
    sides: SurfaceSides,
    transmitting: Vec<String>,
    includes_cosine: bool,
    description: String,
    warnings: Vec<ShaderError>,
}

/// Text, tokens and doc comments of a shader.
#[derive(Clone, Debug)]
struct Source {
    file: Arc<NamedSource<String>>,
    /// The author's text, followed by appended declarations.
    text: String,
    tokens: Vec<Token>,
    docs: Vec<DocComment>,
}

impl Source {
    fn new(name: &str, text: &str) -> Source {
        let file = Arc::new(NamedSource::new(name, text.to_owned()));
        let (tokens, docs) = lexer::lex(text);
        Source { file, text: text.to_owned(), tokens, docs }
    }

    /// Appends a predeclared struct.
    fn append(&mut self, declaration: &str) {
        self.text += declaration;
        (self.tokens, self.docs) = lexer::lex(&self.text);
    }

    fn text(&self) -> &str {
        &self.text
    }

    /// The text without appended declarations.
    fn author_text(&self) -> &str {
        self.file.inner()
    }

    /// An error without a location.
    fn error(&self, message: impl Into<String>) -> ShaderError {
        ShaderError {
            message: message.into(),
            source_code: self.file.clone(),
            labels: vec![],
            help: None,
        }
    }
}

/// What a shader describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShaderKind {
    /// Scattering at a surface: `fn brdf`.
    Brdf,
    /// Scattering in a medium: `fn phase`. The phase function is the integrand s itself, with the
    /// same value for all colour channels.
    Phase,
    /// The density of a medium as a function of the position: `fn density`, optionally with
    /// `fn albedo` and `fn emission`.
    Density,
    /// Any other function: the one that [`Shader::parse_function`] names, or `fn field`, whose
    /// zeros are an implicit surface.
    Function,
}

impl ShaderKind {
    /// All kinds, in order of precedence.
    const ALL: [ShaderKind; 4] =
        [ShaderKind::Brdf, ShaderKind::Phase, ShaderKind::Density, ShaderKind::Function];

    /// The name of what the shader describes: `a BRDF`.
    pub fn name(self) -> &'static str {
        match self {
            ShaderKind::Brdf => "a BRDF",
            ShaderKind::Phase => "a phase function",
            ShaderKind::Density => "a density",
            ShaderKind::Function => "a function",
        }
    }

    /// What it is for: `for a surface`.
    fn purpose(self) -> &'static str {
        match self {
            ShaderKind::Brdf => "for a surface",
            ShaderKind::Phase => "for scattering in a medium",
            ShaderKind::Density => "for the density of a medium",
            ShaderKind::Function => "for an implicit surface",
        }
    }
}

/// The sides of a surface that a material scatters light to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SurfaceSides {
    /// Reflection on the side of the normal: s = brdf · max(wi.z, 0), used where wo.z > 0.
    #[default]
    One,
    /// Reflection and transmission on the whole sphere (`sides: both`): s = bsdf · |wi.z|. Phase
    /// functions have this value, too.
    Both,
}

impl SurfaceSides {
    /// Whether the material scatters light into a `wo` with this z component. Otherwise BRDF and
    /// integrand are 0, and the shader is not evaluated.
    pub fn covers(self, wo_z: f32) -> bool {
        match self {
            SurfaceSides::One => wo_z > 0.0,
            SurfaceSides::Both => true,
        }
    }
}

/// An entry point of a shader. Its inputs are the directions that the WGSL function takes, `wi.x` …
/// `wo.z`, and the components of the [parameters](Shader::parameters) or of the
/// [members](Shader::members) of `Material` ([`Setup`]). Entry points of a density take the
/// position, `p.x`, `p.y` and `p.z`, instead of directions. It is an error if the shader does not
/// have the function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// The integrand: outputs `s.r`, `s.g`, `s.b`, 1/sr.
    Integrand,
    /// BRDF and integrand: outputs `brdf.r`, `brdf.g`, `brdf.b`, `s.r`, `s.g`, `s.b`.
    Brdf,
    /// `fn sample`: inputs `u.x`, `u.y`, `wo.x` …; outputs `wi.x`, `wi.y`, `wi.z`.
    Sample,
    /// `fn pdf`: output `pdf`, 1/sr.
    Pdf,
    /// `fn material`: inputs are only the components of the [parameters](Shader::parameters);
    /// outputs are the components of the [members](Shader::members).
    Setup,
    /// `fn density`: output `density`, or `density.r`, `density.g` and `density.b`. Negative numbers
    /// and NaN are replaced by 0.
    Density,
    /// `fn albedo`: outputs `albedo.r`, `albedo.g`, `albedo.b`, clamped to [0, 1]. NaN is replaced
    /// by 0.
    Albedo,
    /// `fn emission`: outputs `emission.r`, `emission.g`, `emission.b`. Negative numbers and NaN
    /// are replaced by 0.
    Emission,
    /// Any function: inputs are the components of its [arguments](Shader::arguments) and of its
    /// [parameters](Shader::parameters). A scalar output has the name of the function, the
    /// components of a vector are `name.x`, `name.y` …, and those of a struct have the names of its
    /// members.
    Function,
}

/// Where shaders with `fn material` compute the members of `Material`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Setup {
    /// In each entry point, which inlines `fn material`. Inputs are the
    /// [parameters](Shader::parameters).
    #[default]
    Inlined,
    /// Beforehand, by [`Entry::Setup`]. Inputs are the [members](Shader::members).
    Precomputed,
}

/// Settings for translating a shader to IR.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where the members of `Material` are computed.
    pub setup: Setup,
    /// Wrap modes, filters and formats of textures, by name. Other textures use the default
    /// [`TextureState`].
    pub textures: Vec<(String, TextureState)>,
    /// Values of `override` declarations, by name.
    pub overrides: Vec<(String, f64)>,
    /// Maximum number of iterations of a loop. If a loop may reach it, the function has another
    /// output, the bool `capped`.
    pub loop_cap: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Settings { setup: Setup::Inlined, textures: vec![], overrides: vec![], loop_cap: 1 << 16 }
    }
}

impl Settings {
    /// Wrap mode, filter and format of a texture.
    pub fn texture(&self, name: &str) -> TextureState {
        let last = self.textures.iter().rev().find(|(key, _)| key == name);
        last.map_or(TextureState::default(), |&(_, state)| state)
    }

    /// Checks that images have the formats that the code of a shader reads. They are in the order
    /// in which the shader declares its textures.
    ///
    /// # Panics
    ///
    /// Panics if a format differs.
    pub fn check_formats<'t>(
        &self,
        shader: &Shader,
        images: impl IntoIterator<Item = &'t Texture>,
    ) {
        for (name, image) in shader.textures().iter().zip(images) {
            let (found, expected) = (image.format(), self.texture(name).format);
            assert_eq!(found, expected, "the code is for another format of the texture `{name}`");
        }
    }
}

impl Shader {
    /// Parses and checks a shader; `name` is its file name, for messages.
    pub fn parse(name: &str, source: &str) -> Result<Shader, ShaderError> {
        Shader::parse_kinds(name, source, &ShaderKind::ALL)
    }

    /// Parses a shader that should be of a kind: if it is of none, the error says what is missing
    /// for this kind. The shader may be of another kind.
    pub fn parse_expecting(
        name: &str,
        source: &str,
        kind: ShaderKind,
    ) -> Result<Shader, ShaderError> {
        Shader::parse_kinds(name, source, &[kind])
    }

    /// Parses a shader for one of its functions, called `function`, whatever else it defines. The
    /// function takes scalars, vectors, and structs of both, whose members are the parameters.
    ///
    /// ```
    /// use lightbound_shader::Shader;
    ///
    /// let source = "struct Params { /** range: [0, 10] */ radius: f32 }
    ///     fn sdf(p: vec3f, m: Params) -> f32 { return length(p) - m.radius; }";
    /// let shader = Shader::parse_function("sphere.wgsl", source, "sdf")?;
    /// assert_eq!(shader.arguments()[0].name, "p");
    /// assert_eq!(shader.parameters()[0].range, [0.0, 10.0]);
    /// # Ok::<(), lightbound_shader::ShaderError>(())
    /// ```
    pub fn parse_function(name: &str, source: &str, function: &str) -> Result<Shader, ShaderError> {
        Shader::parse_with(name, source, |source, module| {
            contract::check_function(source, module, function)
        })
    }

    /// Parses a shader; `expected` are the kinds that messages mention.
    fn parse_kinds(
        name: &str,
        source: &str,
        expected: &[ShaderKind],
    ) -> Result<Shader, ShaderError> {
        Shader::parse_with(name, source, |source, module| contract::check(source, module, expected))
    }

    /// Parses a shader with a check of its functions.
    fn parse_with(
        name: &str,
        source: &str,
        check: impl FnOnce(&Source, &naga::Module) -> Result<Contract, ShaderError>,
    ) -> Result<Shader, ShaderError> {
        // Some editors write a byte order mark.
        let mut source = Source::new(name, source.strip_prefix('\u{feff}').unwrap_or(source));
        parse::add_surface_point(&mut source)?;
        let (module, info) = parse::parse(&source)?;
        let contract = check(&source, &module)?;
        annotations::reject_stray(&source)?;
        let annotations::ModuleDocs { sides, transmitting, includes_cosine, description } =
            annotations::module(&source, contract.kind, contract.settable())?;
        let warnings = annotations::unknown_clauses(&source);
        Ok(Shader {
            source,
            module,
            info,
            contract,
            sides,
            transmitting,
            includes_cosine,
            description,
            warnings,
        })
    }

    /// Problems that do not keep the shader from being used, with their locations.
    pub fn warnings(&self) -> &[ShaderError] {
        &self.warnings
    }

    /// Name of the file.
    pub fn name(&self) -> &str {
        self.source.file.name()
    }

    /// Text of the file.
    pub fn text(&self) -> &str {
        self.source.author_text()
    }

    /// Line numbers of the loops that the functions of the shader can reach, starting from 1. Other
    /// functions of the file do not count.
    pub fn loop_lines(&self) -> Vec<u32> {
        let text = self.source.author_text();
        let Contract { main, albedo, emission, sample, pdf, material, .. } = self.contract;
        let mut reached = vec![main];
        reached.extend([albedo, emission, sample, pdf, material].into_iter().flatten());
        let mut lines = Vec::new();
        let mut visited = 0;
        while let Some(&function) = reached.get(visited) {
            visited += 1;
            let mut blocks = vec![&self.module.functions[function].body];
            while let Some(block) = blocks.pop() {
                for (statement, span) in block.span_iter() {
                    blocks.extend(contract::nested_blocks(statement));
                    let start = span.to_range().map(|range| range.start);
                    match (statement, start.filter(|&start| start < text.len())) {
                        (naga::Statement::Loop { .. }, Some(start)) => {
                            lines.push(line_of(text, start) as u32);
                        }
                        (naga::Statement::Call { function, .. }, _)
                            if !reached.contains(function) =>
                        {
                            reached.push(*function);
                        }
                        _ => {}
                    }
                }
            }
        }
        lines.sort_unstable();
        lines.dedup();
        lines
    }

    /// The module's doc comment, `//! …`, without the clauses `sides` and `cosine`.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// The sides that the material scatters light to. Media scatter to both.
    pub fn sides(&self) -> SurfaceSides {
        self.sides
    }

    /// Names of the settable parameters in `sides: both if …`. A material for which all of them are
    /// 0 only reflects light; see [`reflecting`](Shader::reflecting).
    pub fn transmitting(&self) -> &[String] {
        &self.transmitting
    }

    /// This shader with `sides: one`.
    #[must_use]
    pub fn reflecting(&self) -> Shader {
        Shader { sides: SurfaceSides::One, transmitting: vec![], ..self.clone() }
    }

    /// What the shader describes.
    pub fn kind(&self) -> ShaderKind {
        self.contract.kind
    }

    /// Whether `brdf` returns the integrand s, with the cosine (`cosine: included`), as phase
    /// functions always do. The BRDF is then s divided by the cosine.
    pub fn includes_cosine(&self) -> bool {
        self.includes_cosine
    }

    /// The inputs of the function that precede its parameters: the position `p` of a density, or
    /// what a [function](ShaderKind::Function) takes apart from structs. The directions that
    /// materials take are not listed.
    pub fn arguments(&self) -> &[Parameter] {
        &self.contract.arguments
    }

    /// Name of the function that the shader is compiled for: `brdf`, `phase`, `density`, or that of
    /// a [function](ShaderKind::Function).
    pub fn function_name(&self) -> &str {
        self.module.functions[self.contract.main].name.as_deref().unwrap_or("")
    }

    /// Names of the results of a [function](ShaderKind::Function); empty for other shaders.
    pub fn output_names(&self) -> &[String] {
        &self.contract.outputs
    }

    /// Types of the first `count` outputs; those of other shaders than functions are floats.
    pub(crate) fn output_scalars(&self, count: usize) -> Vec<Scalar> {
        let mut scalars = self.contract.output_scalars.clone();
        scalars.resize(count, Scalar::F32);
        scalars
    }

    /// Parameters in the order of the inputs. If there is a `fn material`, these are the members of
    /// `SurfacePoint`, followed by those of `Material` if `fn material` takes one. Otherwise they
    /// are the members of `Material` or `Medium`, or of all structs that a
    /// [function](ShaderKind::Function) takes.
    pub fn parameters(&self) -> &[Parameter] {
        &self.contract.parameters
    }

    /// The [parameters](Shader::parameters) that the surface point supplies, which come first.
    pub fn surface_parameters(&self) -> &[Parameter] {
        &self.contract.surface
    }

    /// The other [parameters](Shader::parameters), which a scene can set.
    pub fn settable(&self) -> &[Parameter] {
        self.contract.settable()
    }

    /// The members of `Material`, the argument of `brdf` or `phase`, `sample` and `pdf`, or of
    /// `Medium`, the argument of `density`, `albedo` and `emission`.
    pub fn members(&self) -> &[Parameter] {
        &self.contract.members
    }

    /// Names of the textures, in order of declaration.
    pub fn textures(&self) -> &[String] {
        &self.contract.textures
    }

    /// For each texture, the range that its doc comment declares for texels, if any. Images need not
    /// obey it: it limits what [`faults::find`](crate::faults::find) checks.
    pub fn texel_ranges(&self) -> &[Option<[f64; 2]>] {
        &self.contract.texel_ranges
    }

    /// The `override` declarations, which [`Settings`] can set. Only a literal initializer is
    /// listed as the default.
    pub fn overrides(&self) -> &[Parameter] {
        &self.contract.overrides
    }

    /// Whether the shader has its own sampler, `fn sample` and `fn pdf`.
    pub fn has_sampler(&self) -> bool {
        self.contract.sample.is_some()
    }

    /// Whether the density has `fn albedo`.
    pub fn has_albedo(&self) -> bool {
        self.contract.albedo.is_some()
    }

    /// Whether the density has `fn emission`.
    pub fn has_emission(&self) -> bool {
        self.contract.emission.is_some()
    }

    /// Whether the shader has `fn material`, which computes the material from the surface point.
    pub fn has_setup(&self) -> bool {
        self.contract.material.is_some()
    }

    /// Translates a function of the shader, without optimizing it.
    pub fn function(&self, entry: Entry, settings: &Settings) -> Result<Function, ShaderError> {
        entry::function(self, entry, settings)
    }

    /// Like [`function`](Shader::function), with the locations of operations in the text. Control
    /// flow is as in the text: no operation runs that the program does not run.
    pub(crate) fn located_function(
        &self,
        entry: Entry,
        settings: &Settings,
    ) -> Result<LocatedFunction, ShaderError> {
        entry::located_function(self, entry, settings)
    }
}
