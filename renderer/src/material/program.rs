//! Compiled shaders.

use crate::math::{Vec2, Vec3};
use lightbound_shader::bounding::{Frame, Integrand};
use lightbound_shader::ir::rewrite::depends;
use lightbound_shader::{
    Arena, CompileError, Entry, Kernel, Parameter, Settings, Setup, Shader, ShaderError, Sides,
    Target, Texture, passes, scattering,
};
use std::sync::Arc;

/// A shader as the renderer runs it.
#[derive(Debug)]
pub struct Program {
    /// The shader's file.
    pub name: String,
    /// Where it sends light.
    pub sides: Sides,
    /// What is computed for the surface: inputs are the [surface's words](Program::surface_words)
    /// and those of [settable](Program::settable) parameters, outputs the members of `Material`.
    /// Without it the settable parameters are the members.
    pub setup: Option<Kernel>,
    /// [`scattering::evaluate`].
    pub evaluate: Kernel,
    /// [`scattering::scatter`].
    pub scatter: Kernel,
    /// What scenes can set, in the order of words.
    pub settable: Vec<Parameter>,
    /// Number of words of the members of `Material`.
    pub members: usize,
    /// Whether light is sampled by the shader's own functions.
    pub has_sampler: bool,
    /// What it was compiled from.
    shader: Shader,
    settings: Settings,
}

/// Why a shader cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// It is wrong.
    #[error(transparent)]
    Shader(#[from] ShaderError),
    /// No code can be made of it.
    #[error(transparent)]
    Compile(#[from] CompileError),
}

impl Program {
    /// Number of the words of a surface point.
    pub const SURFACE_WORDS: usize = 11;

    /// The words of a surface point: position in world space and in the space of the object,
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
    pub fn compile(
        arena: &Arena,
        shader: &Shader,
        settings: &Settings,
        target: Target,
    ) -> Result<Program, ProgramError> {
        let kernel = |function| Kernel::compile(arena, &passes::lower(&function), target);
        let surface: usize = shader.surface().iter().map(|parameter| parameter.size).sum();
        assert!(
            surface == 0 || surface == Program::SURFACE_WORDS,
            "the surface is what the renderer thinks it is"
        );
        Ok(Program {
            name: shader.name().to_owned(),
            sides: shader.sides(),
            setup: scattering::setup(shader, settings)?.map(kernel).transpose()?,
            evaluate: kernel(scattering::evaluate(shader, settings)?)?,
            scatter: kernel(scattering::scatter(shader, settings)?)?,
            settable: shader.settable().to_vec(),
            members: shader.members().iter().map(|parameter| parameter.size).sum(),
            has_sampler: shader.has_sampler(),
            shader: shader.clone(),
            settings: Settings { setup: Setup::Before, ..settings.clone() },
        })
    }

    /// The integrand in the shading frame, of the members of `Material`: what `evaluate` computes
    /// of s, to the bit, to be bounded.
    pub fn integrand(&self) -> Result<Integrand, ShaderError> {
        Integrand::new(&self.shader, &self.settings, Frame::Local)
    }

    /// Whether the BRDF depends on the direction to the light, as far as the code tells. What does
    /// not is ideally diffuse.
    pub fn depends_on_light(&self) -> Result<bool, ShaderError> {
        let function = passes::optimize(&self.shader.function(Entry::Brdf, &self.settings)?);
        let number = |name: &str| {
            function
                .outputs
                .iter()
                .position(|port| port.name == name)
                .expect("it is an output of each BRDF")
        };
        let brdf = ["brdf.r", "brdf.g", "brdf.b"].map(number);
        let is_light = |input: &usize| function.inputs[*input].name.starts_with("wi.");
        Ok((0..function.inputs.len())
            .filter(is_light)
            .any(|input| depends(&function, &brdf, input)))
    }

    /// The same without the cosine.
    pub fn brdf_integrand(&self) -> Result<Integrand, ShaderError> {
        Integrand::without_cosine(&self.shader, &self.settings, Frame::Local)
    }

    /// The shader's text.
    pub fn text(&self) -> &str {
        self.shader.text()
    }

    /// What the code runs on.
    pub fn target(&self) -> Target {
        self.evaluate.target()
    }
}

/// A program with the textures that it reads; evaluations of one can share batches.
#[derive(Clone, Debug)]
pub struct Bound {
    /// The code.
    pub program: Arc<Program>,
    /// One for each of the shader's textures.
    pub textures: Vec<Arc<Texture>>,
    /// Whether the shader has a sampler in which no fault was found.
    pub is_sampler_right: bool,
}

impl Bound {
    /// A program whose sampler, if it has one, is taken to be right.
    pub fn new(program: Arc<Program>, textures: Vec<Arc<Texture>>) -> Bound {
        Bound { is_sampler_right: program.has_sampler, program, textures }
    }
}
