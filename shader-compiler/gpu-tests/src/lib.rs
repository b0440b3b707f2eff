//! Runs the [programs for GPUs](lightbound_shader::backend::gpu) that the compiler writes, through
//! Vulkan, and holds their results against bounds and against the interpreter. Lavapipe, the
//! software implementation of Mesa, suffices.
//!
//! The crate exists because its dependency `wgpu` takes minutes to compile, which other tests do
//! not need.

mod containment;
mod gpu;

pub use containment::{Subject, Tally};
pub use gpu::{Gpu, Program, Source};
