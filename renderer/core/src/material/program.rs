//! Compiled shaders.

use super::shader_profile::{Recorder, ShaderKernel};
use lightbound_math::{Vec2, Vec3};
use lightbound_shader::bounding::{Frame, Integrand, Ranges, parameter_bounds};
use lightbound_shader::builder::rewrite::depends;
use lightbound_shader::interval::Bounds;
use lightbound_shader::ir::Function;
use lightbound_shader::scattering::Functions;
use lightbound_shader::{
    Arena, Batch, CompileError, Entry, Kernel, Parameter, Settings, Setup, Shader, ShaderError,
    ShaderKind, SurfaceSides, Target, Texture, passes, scattering,
};
use std::sync::Arc;

/// A compiled shader.
#[derive(Clone, Debug)]
pub struct Program {
    /// Name of the shader's file.
    pub name: String,
    /// The sides of the surface to which the shader scatters light.
    pub sides: SurfaceSides,
    /// Computes the material parameters at a surface point. Inputs are the [surface
    /// words](Program::surface_words) and the words of the [settable](Program::settable)
    /// parameters. Outputs are the members of the WGSL struct `Material`. If `None`, the settable
    /// parameters are these members.
    pub setup: Option<Kernel>,
    /// The kernel of [`scattering::evaluate`].
    pub evaluate: Kernel,
    /// The kernel of [`scattering::scatter`].
    pub scatter: Kernel,
    /// The kernel that evaluates the specular lobes alone; it ignores the [diffuse
    /// parameters](Program::diffuse_words). `None` if `evaluate` does so with 0 for them.
    pub specular: Option<Kernel>,
    /// Parameters that scenes can set, in the order of the kernel's inputs.
    pub settable: Vec<Parameter>,
    /// Number of words of the material parameters.
    pub parameter_words: usize,
    /// Indices of the words of the parameters that are albedos of a diffuse lobe: with 0 for all of
    /// them, the BRDF is that of the specular lobes.
    pub diffuse_words: Vec<usize>,
    /// Whether the shader has its own `sample` and `pdf`.
    pub has_sampler: bool,
    /// Records calls of `evaluate` and `scatter`, if these are instrumented.
    recorder: Option<Arc<Recorder>>,
    /// The parsed source.
    shader: Shader,
    settings: Settings,
    /// The functions for any parameters.
    functions: Arc<Functions>,
    /// Bounds on each word of the material parameters for which the program is specialized.
    known: Option<Vec<Bounds>>,
    /// Bounds on each word of the material parameters in regions of surfaces.
    regions: Vec<Vec<Bounds>>,
}

/// Why a shader cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// The source is invalid.
    #[error(transparent)]
    Shader(#[from] ShaderError),
    /// The shader cannot be compiled.
    #[error(transparent)]
    Compile(#[from] CompileError),
}

impl Program {
    /// The members of `Material`, whose words are the material parameters.
    pub fn members(&self) -> &[Parameter] {
        self.shader.members()
    }

    /// Number of words of a surface point.
    pub const SURFACE_WORDS: usize = 11;

    /// Packs a surface point into kernel input words: position in world space and in object space,
    /// shading normal, texture coordinates.
    pub fn surface_words(
        position: Vec3,
        object_position: Vec3,
        normal: Vec3,
        uv: Vec2,
    ) -> [u32; Program::SURFACE_WORDS] {
        let (p, o, n) = (position, object_position, normal);
        [p.x, p.y, p.z, o.x, o.y, o.z, n.x, n.y, n.z, uv.x, uv.y].map(f32::to_bits)
    }

    /// Compiles a shader.
    ///
    /// # Errors
    /// If the shader is invalid or cannot be compiled for `target`.
    pub fn compile(
        arena: &Arena,
        shader: &Shader,
        settings: &Settings,
        target: Target,
    ) -> Result<Program, ProgramError> {
        let kernel = |function: &Function| Kernel::compile(arena, &passes::lower(function), target);
        let surface: usize =
            shader.surface_parameters().iter().map(|parameter| parameter.size).sum();
        assert!(
            surface == 0 || surface == Program::SURFACE_WORDS,
            "a surface point has {surface} words in the compiler, but {} in the renderer",
            Program::SURFACE_WORDS
        );
        let functions = Functions::new(shader, settings)?;
        Ok(Program {
            name: shader.name().to_owned(),
            sides: shader.sides(),
            setup: functions.setup.as_ref().map(kernel).transpose()?,
            evaluate: kernel(&functions.evaluate)?,
            scatter: kernel(&functions.scatter)?,
            specular: None,
            settable: shader.settable().to_vec(),
            diffuse_words: scattering::diffuse_words(shader.members()),
            parameter_words: shader.members().iter().map(|parameter| parameter.size).sum(),
            has_sampler: shader.has_sampler(),
            recorder: None,
            shader: shader.clone(),
            settings: Settings { setup: Setup::Precomputed, ..settings.clone() },
            functions: Arc::new(functions),
            known: None,
            regions: vec![],
        })
    }

    /// Compiles the program for settable parameters within bounds, one for each word: the code
    /// computes the same, but for signs of zeros. Returns `None` if it would not be much cheaper.
    ///
    /// # Errors
    /// If the code cannot be compiled.
    ///
    /// # Panics
    /// Unless there are bounds for each word of the settable parameters.
    pub fn specialize(
        &self,
        arena: &Arena,
        settable: &[Bounds],
    ) -> Result<Option<Program>, CompileError> {
        let general = &self.functions;
        let (special, parameters) = general.specialize(settable);
        let saved = general.cost().saturating_sub(special.cost());
        if saved < MIN_SAVED_COST.max(general.cost() / MIN_SAVED_FRACTION) {
            return Ok(None);
        }
        let target = self.target();
        let kernel = |function: &Function| Kernel::compile(arena, &passes::lower(function), target);
        Ok(Some(Program {
            name: self.name.clone(),
            sides: self.sides,
            setup: special.setup.as_ref().map(kernel).transpose()?,
            evaluate: kernel(&special.evaluate)?,
            scatter: kernel(&special.scatter)?,
            specular: special.specular.as_ref().map(kernel).transpose()?,
            settable: self.settable.clone(),
            parameter_words: self.parameter_words,
            diffuse_words: self.diffuse_words.clone(),
            has_sampler: self.has_sampler,
            recorder: None,
            shader: self.shader.clone(),
            settings: self.settings.clone(),
            functions: self.functions.clone(),
            known: Some(parameters),
            regions: vec![],
        }))
    }

    /// Returns the program with regions of surfaces, the largest first, given by bounds on each word
    /// of the settable parameters. Functions to bound have [versions](Program::region_versions) for
    /// them.
    ///
    /// # Panics
    /// Unless there are bounds for each word.
    pub fn with_regions(&self, settable: &[Vec<Bounds>]) -> Program {
        let regions = settable.iter().map(|settable| self.functions.member_bounds(settable));
        Program { regions: regions.collect(), ..self.clone() }
    }

    /// Returns bounds on each word of the material parameters in regions.
    pub(super) fn regions(&self) -> &[Vec<Bounds>] {
        &self.regions
    }

    /// Returns bounds on each word of the material parameters, wherever the program is used.
    pub(super) fn member_bounds(&self) -> Vec<Bounds> {
        let words =
            |p: &Parameter| std::iter::repeat_n(parameter_bounds(p, Ranges::Declared), p.size);
        let declared = || self.shader.members().iter().flat_map(words).collect();
        self.known.clone().unwrap_or_else(declared)
    }

    /// Returns the program with other code that computes the same, and what records its calls.
    pub(super) fn with_kernels(
        &self,
        [evaluate, scatter]: [Kernel; 2],
        recorder: Option<Arc<Recorder>>,
    ) -> Program {
        Program { evaluate, scatter, recorder, ..self.clone() }
    }

    /// Returns the functions for settable parameters within bounds, and bounds on the words of the
    /// members.
    pub(super) fn functions_for(&self, settable: &[Bounds]) -> (Functions, Vec<Bounds>) {
        self.functions.specialize(settable)
    }

    /// Returns the declared range of each word of the settable parameters.
    pub(super) fn settable_ranges(&self) -> Vec<Bounds> {
        let words =
            |p: &Parameter| std::iter::repeat_n(parameter_bounds(p, Ranges::Declared), p.size);
        self.settable.iter().flat_map(words).collect()
    }

    /// Records a call of `evaluate` or `scatter` with its results, if it is instrumented.
    pub fn record(&self, which: ShaderKernel, inputs: &Batch, results: &Batch) {
        if let Some(recorder) = &self.recorder {
            let kernel = match which {
                ShaderKernel::Evaluate => &self.evaluate,
                ShaderKernel::Scatter => &self.scatter,
            };
            recorder.record(which, kernel, inputs, results);
        }
    }

    /// Returns whether the program is specialized for values of parameters.
    pub fn is_specialized(&self) -> bool {
        self.known.is_some()
    }

    /// Returns whether the shader is a BRDF or a phase function.
    pub fn kind(&self) -> ShaderKind {
        self.shader.kind()
    }

    /// Returns the integrand s = BRDF × cosine in the shading frame for bounding. It takes the
    /// members of `Material` instead of the settable parameters, and is bit-identical to s as
    /// `evaluate` computes it.
    pub fn integrand(&self) -> Result<Integrand, ShaderError> {
        Ok(self.specialized(Integrand::new(&self.shader, &self.settings, Frame::Local)?))
    }

    fn specialized(&self, integrand: Integrand) -> Integrand {
        match &self.known {
            Some(known) => integrand.specialize(known.clone()),
            None => integrand,
        }
    }

    /// Returns whether the BRDF depends on the direction to the light.
    pub fn depends_on_wi(&self) -> Result<bool, ShaderError> {
        let function = passes::optimize(&self.shader.function(Entry::Brdf, &self.settings)?);
        let output_index = |name: &str| {
            function
                .outputs
                .iter()
                .position(|port| port.name == name)
                .expect("a BRDF has three colour outputs")
        };
        let brdf = ["brdf.r", "brdf.g", "brdf.b"].map(output_index);
        let is_light = |input: &usize| function.inputs[*input].name.starts_with("wi.");
        Ok((0..function.inputs.len())
            .filter(is_light)
            .any(|input| depends(&function, &brdf, input)))
    }

    /// Returns [`Program::integrand`] without the cosine.
    pub fn brdf_integrand(&self) -> Result<Integrand, ShaderError> {
        Ok(self.specialized(Integrand::without_cosine(&self.shader, &self.settings, Frame::Local)?))
    }

    /// Returns the shader's warnings, a line each.
    pub fn warnings(&self) -> Vec<String> {
        self.shader.warnings().iter().map(|warning| warning.one_line()).collect()
    }

    /// Returns the WGSL source.
    pub fn source(&self) -> &str {
        self.shader.text()
    }

    /// Returns the target of the compiled code.
    pub fn target(&self) -> Target {
        self.evaluate.target()
    }
}

/// The cost that a specialized program must save at least, in cheap operations, and the fraction
/// of the cost, as a divisor. Batches of paths are smaller if materials share no code.
const MIN_SAVED_COST: u32 = 60;
const MIN_SAVED_FRACTION: u32 = 10;

/// A program bound to its textures. A batch evaluates one binding.
#[derive(Clone, Debug)]
pub struct ShaderBinding {
    /// The compiled shader.
    pub program: Arc<Program>,
    /// The textures, in the order of their declarations.
    pub textures: Vec<Arc<Texture>>,
    /// Whether the shader has its own sampler and the sampler passed the self-check.
    pub has_valid_sampler: bool,
}

impl ShaderBinding {
    /// Binds a program. Its own sampler, if any, is assumed to be correct.
    ///
    /// # Panics
    /// If the program was not compiled for the formats of the textures.
    pub fn new(program: Arc<Program>, textures: Vec<Arc<Texture>>) -> ShaderBinding {
        program.settings.check_formats(&program.shader, textures.iter().map(|t| &**t));
        ShaderBinding { has_valid_sampler: program.has_sampler, program, textures }
    }
}
