//! Compiles material functions written in WGSL into SIMD machine code.
//!
//! A user writes one function, the BRDF, and where it helps a sampler. What a path tracer calls is put together of them
//! ([`scattering`]): light from a given direction, and light from one that is drawn, each with its density, for four or eight points at
//! a time. From the same IR come bounding shaders ([`bounding`]), which give conservative bounds of the function over whole boxes of
//! inputs (Clarberg et al. 2010, *An Optimizing Compiler for Automatic Shader Bounding*).
//!
//! The pipeline, each arrow one function with plain data in and plain data or an error out:
//!
//! ```text
//! WGSL ─► Shader::parse ─► Shader::function ─► passes::optimize ─► passes::lower ─► Kernel::compile ─► Kernel::run
//!         (naga, the        (structured         (the point shader    (masks where     (machine code)    (over a Batch)
//!          contract)         scalar SSA)         is fixed)            lanes part)
//!                                                    │
//!                                                    └─► lift::run ─► passes::lower ─► BoundingKernel::compile ─► BoundingKernel::run
//!                                                        (the bounding shader)                                    (over Boxes)
//! ```
//!
//! ```
//! use lightbound_shader::{Arena, Batch, Entry, Kernel, Settings, Shader, Target, passes};
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
//! let written = shader.function(Entry::Brdf, &Settings::default())?;
//! let point = passes::optimize(&written);
//! let arena = Arena::new();
//! let kernel = Kernel::compile(&arena, &passes::lower(&point), Target::best())?;
//!
//! // Two evaluations: seven words in, `wi.x` … `wo.z` and `f0`; six out, `brdf.r` … `s.b`.
//! let mut inputs = Batch::new(kernel.target(), kernel.inputs().len(), 2);
//! let mut outputs = Batch::new(kernel.target(), kernel.outputs().len(), 2);
//! for (row, wi) in [[0.0, 0.0, 1.0], [0.0, 0.6, 0.8]].into_iter().enumerate() {
//!     for (port, x) in [wi, [0.0, 0.0, 1.0]].concat().into_iter().chain([0.25]).enumerate() {
//!         inputs.set(row, port, x);
//!     }
//! }
//! kernel.run(&[], &inputs, &mut outputs);
//! assert_eq!([0, 3].map(|port| outputs.get(0, port)), [0.25, 0.25]);
//! // Every target gives the same bits.
//! let interpreted = Kernel::compile(&arena, &point, Target::Interpreter)?;
//! # let mut again = Batch::new(Target::Interpreter, 7, 2);
//! # for (row, port) in [0, 1].into_iter().flat_map(|row| (0..7).map(move |port| (row, port))) {
//! #     again.set_bits(row, port, inputs.bits(row, port));
//! # }
//! # let inputs = again;
//! let mut expected = Batch::new(Target::Interpreter, kernel.outputs().len(), 2);
//! interpreted.run(&[], &inputs, &mut expected);
//! assert!((0..6).all(|port| outputs.bits(1, port) == expected.bits(1, port)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! What a shader may hold is told in the crate's `README.md`. The crate knows nothing of rays, scenes or images: the renderer
//! depends on it, never the reverse.

pub mod analysis;
pub mod backend;
pub mod bounding;
#[doc(hidden)]
pub mod containment;
pub mod cost;
#[doc(hidden)]
pub mod differential;
pub mod frontend;
pub mod interpreter;
pub mod interval;
pub mod ir;
pub mod jit;
pub mod kernel;
pub mod lift;
pub mod math;
pub mod passes;
pub mod scattering;
pub mod target;
pub mod texture;
pub mod versions;

pub use frontend::{Entry, Parameter, Scalar, Settings, Setup, Shader, ShaderError, Sides};
pub use jit::Arena;
pub use kernel::{Batch, CompileError, Kernel, Twin};
pub use target::Target;
pub use texture::Texture;
