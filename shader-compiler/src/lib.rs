//! Compiles material functions written in WGSL into SIMD machine code.
//!
//! A user writes one function, the BRDF, and optionally a sampler. [`scattering`] assembles the
//! functions that a path tracer calls: one evaluates light from a given direction, the other
//! samples a direction; both also return the density, and run four or eight shading points at a
//! time. The same IR yields the [bounding shader](bounding): conservative bounds of the function
//! over boxes of inputs (Clarberg et al. 2010, *An Optimizing Compiler for Automatic Shader
//! Bounding*).
//!
//! The pipeline: each arrow is one function that takes plain data and returns plain data or an
//! error.
//!
//! ```text
//! WGSL ─► Shader::parse ─► Shader::function ─► passes::optimize ─► passes::lower ─► Kernel::compile ─► Kernel::run
//!         (naga, the        (structured         (fixes the point    (masks for       (machine code)    (over a Batch)
//!          contract)         scalar SSA)         shader)             divergent lanes)
//!
//!         Integrand::new ─► Integrand::bound ─► BoundingKernel::compile ─► BoundingKernel::run
//!         (the point         (lift: intervals    (machine code)             (from a BoxBatch
//!          shader of s)       for values)                                   to a BoundsBatch)
//! ```
//!
//! # Evaluating
//!
//! [`compile()`] generates code for this machine's widest SIMD registers, and [`Kernel::evaluate`]
//! runs it.
//!
//! ```
//! use lightbound_shader::{Entry, Shader, compile};
//!
//! let shader = Shader::parse(
//!     "metal.wgsl",
//!     "struct Material {
//!          /// Reflectance at normal incidence. range: [0, 1], default: 0.5
//!          f0: f32,
//!      }
//!      fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
//!          let c = 1.0 - dot(wi, normalize(wi + wo));
//!          return vec3f(m.f0 + (1.0 - m.f0) * c * c * c * c * c);
//!      }",
//! )?;
//! let kernel = compile(&shader, Entry::Brdf)?;
//! // wi, wo and f0 in; the BRDF's and then the integrand's red, green and blue out.
//! let rows = [[0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.25], [0.0, 0.6, 0.8, 0.0, 0.0, 1.0, 0.25]];
//! let values: Vec<[f32; 6]> = kernel.evaluate(&[], &rows);
//! assert_eq!(values[0], [0.25; 6]);
//! assert!(values[1][3] < values[1][0]); // The cosine of wi is 0.8.
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A renderer that evaluates many shaders keeps their code in one [`Arena`], and the inputs in a
//! [`Batch`]; see [`kernel`] for an example. All [targets](Target) compute the same bits.
//!
//! # Bounding
//!
//! [`compile_bounds`] compiles a bounding shader, and
//! [`BoundingKernel::bound`](bounding::BoundingKernel::bound) runs it. It bounds the integrand s,
//! the BRDF times the cosine of `wi`. Any of its inputs may be intervals; the others are scalars.
//! Values that depend on scalars alone are computed as in the point shader. If the box lies within
//! the declared ranges, the float that the point shader returns for any member of the box lies
//! within the bounds, with no tolerance. [`Nan`](interval::Nan) defines how NaN is treated.
//!
//! ```
//! use lightbound_shader::bounding::IntervalInputs;
//! use lightbound_shader::lift::{Options, Sides};
//! use lightbound_shader::{Shader, compile_bounds};
//!
//! # let source = "struct Material {
//! #          /// Reflectance at normal incidence. range: [0, 1], default: 0.5
//! #          f0: f32,
//! #      }
//! #      fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
//! #          let c = 1.0 - dot(wi, normalize(wi + wo));
//! #          return vec3f(m.f0 + (1.0 - m.f0) * c * c * c * c * c);
//! #      }";
//! let shader = Shader::parse("metal.wgsl", source)?; // As above.
//! // Upper bounds over light directions; wo and f0 are scalars.
//! let options = Options { sides: Sides::Upper, ..Options::default() };
//! let kernel = compile_bounds(&shader, IntervalInputs::Light, &options)?;
//! // Two boxes of wi: around the normal, and near the horizon.
//! let around = [[-0.1, 0.1], [-0.1, 0.1], [0.98, 1.0]];
//! let low = [[0.95, 1.0], [-0.1, 0.1], [0.0, 0.3]];
//! let boxes = [around, low].map(|[x, y, z]| [x, y, z, [0.0; 2], [0.0; 2], [1.0; 2], [0.25; 2]]);
//! let bounds: Vec<[[f32; 2]; 3]> = kernel.bound(&[], &boxes);
//! // Upper bounds of red: s is 0.25 at the normal itself.
//! let [upper, upper_low] = [0, 1].map(|k| bounds[k][0][1]);
//! assert!((0.25..0.27).contains(&upper) && upper_low < 0.12);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Options`](lift::Options) selects one of three modes. *Naive* code uses the general lowering of
//! each operation. *Optimized* code, the default, uses the cheapest lowering that is correct for
//! the known bounds of the operands. Both give the same bounds, unless the arithmetic on endpoints
//! yields a NaN that is not suppressed. *Related* code also uses [relations] between values, which
//! interval arithmetic forgets: that a vector is a unit vector, that two operands are the same
//! value, that x ≤ y. Its bounds lie within the others, and hold for members of the box whose
//! directions are unit vectors, to the precision that [`Axis`](relations::Axis) states. In builds
//! with debug assertions, a box without such members panics; a
//! [`Precondition`](bounding::Precondition) checks for it beforehand. Compared with the example
//! above, these lines change:
//!
//! ```
//! use lightbound_shader::lift::{Options, Sides};
//! use lightbound_shader::relations::{Relation, Relations};
//!
//! let options = Options { sides: Sides::Upper, relations: Relations::all(), ..Options::default() };
//! // Each relation can be left out, to measure its cost and benefit.
//! let fewer = Options { relations: Relations::all().without(Relation::Dot), ..options };
//! # assert!(fewer.relations.has(Relation::Unit) && !fewer.relations.has(Relation::Dot));
//! ```
//!
//! A [`SplitKernel`](bounding::SplitKernel) splits each box and bounds the sub-boxes in the lanes
//! of one call, for even tighter bounds.
//!
//! [`Lifted`](lift::Lifted) records how a bounding shader was derived; its `bounds_text` prints it.
//! The crate `lightbound-study` measures its cost, `lightbound-verification` searches for faults.
//!
//! `docs/materials.md` describes the shader language. The crate knows nothing of rays, scenes or
//! images: the renderer depends on it, never the reverse.

pub mod analysis;
pub mod backend;
pub mod bounding;
pub mod builder;
mod compile;
mod error;
pub mod frontend;
pub mod interpreter;
pub mod interval;
pub mod ir;
pub mod jit;
pub mod kernel;
pub mod lift;
pub mod math;
pub mod passes;
pub mod random;
mod range;
pub mod relations;
pub mod scattering;
pub mod target;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod texture;

pub use compile::{Error, compile, compile_bounds};
pub use error::CompileError;
pub use frontend::{Entry, Parameter, Scalar, Settings, Setup, Shader, ShaderError, Sides};
pub use jit::Arena;
pub use kernel::{Batch, InstrumentedKernel, Kernel};
pub use target::Target;
pub use texture::Texture;
