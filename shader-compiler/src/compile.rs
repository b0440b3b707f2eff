//! One-call compilation of a shader to machine code.

use crate::bounding::{BoundingKernel, Frame, Integrand, IntervalInputs, Ranges};
use crate::compiled_function::InputError;
use crate::error::CompileError;
use crate::frontend::{Entry, Settings, Shader, ShaderError};
use crate::jit::Arena;
use crate::kernel::Kernel;
use crate::lift::Options;
use crate::passes::{self, derivative::DerivativeError};
use crate::target::Target;

/// An error of [`compile`], [`compile_bounds`] or
/// [`CompiledFunction::compile`](crate::CompiledFunction::compile).
#[derive(Debug, miette::Diagnostic, thiserror::Error)]
pub enum Error {
    /// The shader is invalid.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Shader(#[from] ShaderError),
    /// Code generation failed.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// The function has no derivative.
    #[error(transparent)]
    Derivative(#[from] DerivativeError),
    /// An option names an input that the function does not have.
    #[error(transparent)]
    Input(#[from] InputError),
}

/// Compiles an entry point of a shader for the fastest target of this machine, with default
/// settings.
pub fn compile(shader: &Shader, entry: Entry) -> Result<Kernel, Error> {
    let point = passes::optimize(&shader.function(entry, &Settings::default())?);
    Ok(Kernel::compile(&Arena::new(), &passes::lower(&point), Target::best())?)
}

/// Compiles the bounding shader of a shader's integrand for the fastest target of this machine,
/// with default settings: directions are in the shading frame, and parameters in their declared
/// ranges.
pub fn compile_bounds(
    shader: &Shader,
    spans: IntervalInputs,
    options: &Options,
) -> Result<BoundingKernel, Error> {
    let integrand = Integrand::new(shader, &Settings::default(), Frame::Local)?;
    let lifted = integrand.bound(&integrand.inputs(spans, Ranges::Declared), options);
    Ok(BoundingKernel::compile(&Arena::new(), &lifted, Target::best())?)
}
