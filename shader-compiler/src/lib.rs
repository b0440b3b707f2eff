//! Compiles material functions written in WGSL into machine code, and derives from each the *bounding shader*: conservative
//! bounds of the function over whole sets of inputs (Clarberg et al. 2010, *An Optimizing Compiler for Automatic Shader
//! Bounding*).
//!
//! The pipeline, each arrow one function with plain data in and plain data or an error out:
//!
//! ```text
//! WGSL text ─► frontend ─► IR (SSA) ─► passes ─┬─► backend ─► point shader
//!              (naga)                          └─► lift ─► bounds analysis ─► lower ─► backend ─► bounding shader
//! ```
//!
//! The crate knows nothing of rays, scenes or images: the renderer depends on it, never the reverse. It holds no code yet; the
//! renderer's materials are native until the front end stands.

#[doc(hidden)]
pub mod differential;
pub mod interpreter;
pub mod ir;
pub mod jit;
pub mod math;
pub mod passes;
pub mod backend;
pub mod frontend;
pub mod kernel;
pub mod target;

pub use frontend::{Entry, Parameter, Settings, Shader, ShaderError, Sides};
pub use jit::Arena;
pub use kernel::{Batch, CompileError, Kernel, Twin};
pub use target::Target;
