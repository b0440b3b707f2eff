//! Programs for GPUs: any function, such as a point or a bounding shader, in WGSL, HLSL, MSL, GLSL
//! or SPIR-V.
//!
//! The function becomes a naga [`Module`](naga::Module), which naga validates and its back ends
//! write. The module has three parts:
//!
//! - the function itself, from a struct of inputs to a struct of outputs, for use in other
//!   programs;
//! - helper functions that it calls: one for each composite operation (`exp`, `atan2`, …), with the
//!   sequence of basic operations that [`math`](crate::math) defines, bit tricks included;
//! - a compute entry point, which evaluates the function for rows of inputs in a buffer.
//!
//! The elementary functions of the GPU are not used: their errors depend on the driver, so bounds
//! would not contain them.
//!
//! Control flow stays as it is in the IR, unlike in machine code for the CPU, which has
//! [masks](crate::passes::predication). A GPU masks lanes itself, and skips an arm that no lane of
//! a group takes.
//!
//! # Differences from the CPU
//!
//! The operations are those of the [interpreter](crate::interpreter), but languages for GPUs leave
//! their precision open: compilers may fuse a product with a sum, flush subnormals to 0, divide
//! with an error of 2.5 ulps, and assume that there are no NaNs or infinities. Therefore:
//!
//! - tests for NaN are tests of bits, and constants that are not finite are made from their bits;
//! - `min` and `max` are selects, which define the result for NaN as on the CPU;
//! - SPIR-V forbids fused operations, by a decoration that naga does not write;
//! - [`widen`] moves bounds apart by a margin, which is not proved. The crate
//!   `lightbound-gpu-tests` tests it.

mod emit;
mod function;
mod module;
mod operations;
mod spirv;
mod widen;

use crate::ir::Function;
use naga::ShaderStage;
use naga::back::{glsl, hlsl, msl, spv, wgsl};
use naga::proc::BoundsCheckPolicies;
use naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};
use std::error::Error;
pub use widen::widen;

/// Number of rows in a workgroup of the entry point.
pub const WORKGROUP_SIZE: u32 = 64;

/// Name of the entry point, except in GLSL, where it is `main`.
pub const ENTRY_POINT: &str = "evaluate_rows";

/// Binding of the rows of inputs, in group 0.
pub const INPUTS_BINDING: u32 = 0;

/// Binding of the rows of outputs, in group 0.
pub const OUTPUTS_BINDING: u32 = 1;

/// Binding of the first table that the function reads, in group 0. The others follow.
pub const TABLES_BINDING: u32 = 2;

/// A language for GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Language {
    /// WebGPU Shading Language.
    Wgsl,
    /// High-Level Shading Language of Direct3D, for shader model 6.0.
    Hlsl,
    /// Metal Shading Language, version 2.0.
    Msl,
    /// OpenGL Shading Language, version 4.50.
    Glsl,
    /// SPIR-V 1.3, for Vulkan 1.1.
    SpirV,
}

impl Language {
    /// All languages.
    pub const ALL: [Language; 5] =
        [Language::Wgsl, Language::Hlsl, Language::Msl, Language::Glsl, Language::SpirV];
}

/// A function cannot be written in a language.
#[derive(Debug, thiserror::Error)]
#[error("the function `{function}` cannot be written in {language:?}: {cause}")]
pub struct GpuError {
    function: String,
    language: Language,
    cause: String,
}

/// Writes a function in a language: the bytes of a text, or the words of SPIR-V in little-endian
/// order.
///
/// The function need not be [lowered](crate::passes::lower). Names of its inputs and outputs become
/// identifiers: `wi.x` is `wi_x`. Integers are unsigned words, whichever sign they have in the
/// shader. Bools are words, 0 or 1.
///
/// # Errors
/// If naga rejects the function.
pub fn write(function: &Function, language: Language) -> Result<Vec<u8>, GpuError> {
    let fail = |cause: &dyn Error| GpuError {
        function: function.name.clone(),
        language,
        cause: with_sources(cause),
    };
    let module = module::build(function);
    let info = Validator::new(ValidationFlags::all(), Capabilities::empty())
        .validate(&module)
        .map_err(|error| fail(error.as_inner()))?;
    let text = match language {
        Language::Wgsl => wgsl::write_string(&module, &info, wgsl::WriterFlags::empty())
            .map_err(|error| fail(&error))?,
        Language::Hlsl => hlsl_text(&module, &info).map_err(|error| fail(&error))?,
        Language::Msl => msl_text(&module, &info).map_err(|error| fail(&error))?,
        Language::Glsl => glsl_text(&module, &info).map_err(|error| fail(&error))?,
        Language::SpirV => {
            let words = spirv_words(&module, &info).map_err(|error| fail(&error))?;
            return Ok(words.into_iter().flat_map(u32::to_le_bytes).collect());
        }
    };
    Ok(text.into_bytes())
}

/// The message of an error with those of its causes.
fn with_sources(error: &dyn Error) -> String {
    let causes = std::iter::successors(Some(error), |&error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

fn hlsl_text(module: &naga::Module, info: &ModuleInfo) -> Result<String, hlsl::Error> {
    let options = hlsl::Options {
        shader_model: hlsl::ShaderModel::V6_0,
        // Registers are the numbers of bindings.
        fake_missing_bindings: true,
        restrict_indexing: false,
        force_loop_bounding: false,
        ..hlsl::Options::default()
    };
    let pipeline = hlsl::PipelineOptions::default();
    let mut text = String::new();
    hlsl::Writer::new(&mut text, &options, &pipeline).write(module, info, None)?;
    Ok(text)
}

fn msl_text(module: &naga::Module, info: &ModuleInfo) -> Result<String, msl::Error> {
    let mut resources = msl::EntryPointResources::default();
    let mut sizes = 0;
    for (_, variable) in module.global_variables.iter() {
        let binding = variable.binding.expect("all variables are buffers");
        let slot = binding.binding as msl::Slot;
        let target = msl::BindTarget {
            buffer: Some(slot),
            mutable: binding.binding == OUTPUTS_BINDING,
            ..msl::BindTarget::default()
        };
        resources.resources.insert(binding, target);
        sizes = sizes.max(slot + 1);
    }
    // The buffer with the sizes of the others.
    resources.sizes_buffer = Some(sizes);
    let options = msl::Options {
        lang_version: (2, 0),
        per_entry_point_map: [(ENTRY_POINT.to_owned(), resources)].into(),
        fake_missing_bindings: false,
        force_loop_bounding: false,
        ..msl::Options::default()
    };
    Ok(msl::write_string(module, info, &options, &msl::PipelineOptions::default())?.0)
}

fn glsl_text(module: &naga::Module, info: &ModuleInfo) -> Result<String, glsl::Error> {
    let binding = |variable: &naga::GlobalVariable| {
        let binding = variable.binding.expect("all variables are buffers");
        (binding, binding.binding as u8)
    };
    let options = glsl::Options {
        version: glsl::Version::Desktop(450),
        binding_map: module.global_variables.iter().map(|(_, v)| binding(v)).collect(),
        ..glsl::Options::default()
    };
    let pipeline = glsl::PipelineOptions {
        shader_stage: ShaderStage::Compute,
        entry_point: ENTRY_POINT.to_owned(),
        multiview: None,
    };
    let policies = BoundsCheckPolicies::default();
    let mut text = String::new();
    glsl::Writer::new(&mut text, module, info, &options, &pipeline, policies)?.write()?;
    Ok(text)
}

fn spirv_words(module: &naga::Module, info: &ModuleInfo) -> Result<Vec<u32>, spv::Error> {
    let mut options = spv::Options {
        lang_version: (1, 3),
        force_loop_bounding: false,
        ..spv::Options::default()
    };
    options.flags |= spv::WriterFlags::DEBUG;
    let words = spv::write_vec(module, info, &options, None)?;
    Ok(spirv::forbid_contraction(&words))
}
