//! Compiles material functions written in WGSL into SIMD machine code.
//!
//! A user writes one function, the BRDF, and optionally a sampler. [`scattering`] assembles the
//! functions that a path tracer calls: one evaluates the BRDF for a direction, the other samples a
//! direction. Both also return the density, and process four or eight shading points at a time. The
//! same IR yields the [bounding shader](bounding), which computes conservative bounds on the
//! function over boxes of inputs (Clarberg et al. 2010, *An Optimizing Compiler for Automatic
//! Shader Bounding*).
//!
//! Each arrow of the pipeline is one function, from plain data to plain data or an error:
//!
//! ```text
//! WGSL ─► Shader::parse ─► Shader::function ─► passes::optimize ─► passes::lower ─► Kernel::compile
//!         (naga, checks     (structured         (the final          (masks for       (machine code,
//!          of the entry      scalar SSA)         point shader)       divergent        which runs on
//!          points)                                                   lanes)           a Batch)
//!
//!         Integrand::new ─► Integrand::bound ─► BoundingKernel::compile ─► BoundingKernel::run
//!         (the point         (lift: intervals    (machine code)             (BoxBatch to BoundsBatch)
//!          shader of s)       for values)
//! ```
//!
//! # Any function
//!
//! A [`CompiledFunction`] evaluates and bounds any function of scalars, vectors and structs. Inputs
//! have names, and values are columns that the caller owns. Here, the distance to a sphere shows
//! which of two boxes the surface cannot enter:
//!
//! ```
//! use lightbound_shader::{CompiledFunction, FunctionOptions};
//!
//! let source = "struct Params {
//!         /// range: [0, 10]
//!         radius: f32,
//!     }
//!     fn sdf(/** range: [-10, 10] */ p: vec3f, m: Params) -> f32 { return length(p) - m.radius; }";
//! // The position is an interval, the radius a scalar; the gradient comes along.
//! let options = FunctionOptions::default().intervals(&["p"]).gradient(&["p"]);
//! let sdf = CompiledFunction::compile("sphere.wgsl", source, "sdf", &options)?;
//! assert_eq!(sdf.inputs().collect::<Vec<_>>(), ["p.x", "p.y", "p.z", "radius"]);
//! assert_eq!(sdf.outputs().next(), Some("sdf"));
//!
//! // Values at two positions. A column of length 1 holds for all rows.
//! let (x, y) = ([0.0, 3.0], [2.0, 4.0]);
//! let inputs = [("p.x", &x[..]), ("p.y", &y), ("p.z", &[0.0]), ("radius", &[1.0])];
//! let mut values = [[0.0; 2]; 4];
//! let [sdf_values, dx, dy, dz] = &mut values;
//! sdf.evaluate(&[], &inputs, &mut [sdf_values, dx, dy, dz])?;
//! assert_eq!(values[0], [1.0, 4.0]);
//! assert_eq!(values[1], [0.0, 0.6]);
//!
//! // Bounds over two boxes, each from `low` to `high` on every axis.
//! let (low, high) = ([1.0, 0.25], [2.0, 0.75]);
//! let span = [&low[..], &high[..]];
//! let boxes = [("p.x", span), ("p.y", span), ("p.z", span), ("radius", [&[1.0][..]; 2])];
//! let (mut lower, mut upper) = ([[0.0; 2]; 4], [[0.0; 2]; 4]);
//! let mut columns = std::iter::zip(&mut lower, &mut upper).map(|(l, u)| [&mut l[..], u]);
//! let mut bounds: [_; 4] = std::array::from_fn(|_| columns.next().unwrap());
//! sdf.bound(&[], &boxes, &mut bounds)?;
//! // The first box lies outside the sphere; the second may touch it.
//! assert!(lower[0][0] > 0.7);
//! assert!(lower[0][1] < 0.0 && upper[0][1] > 0.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`passes::derivative`] says what the derivative is at kinks and jumps.
//!
//! A search that divides boxes again and again, for the zeros of a field or for its image, uses a
//! [`PrunableFunction`]: what bounds over a box show to be irrelevant there is removed for the
//! boxes within it. The docs of [`pruning`] have an example.
//!
//! # Evaluating
//!
//! [`compile()`] generates code for the fastest target of this machine, and [`Kernel::evaluate`]
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
//! // Inputs are wi, wo and f0; outputs are red, green and blue of the BRDF, then of the integrand.
//! let rows = [[0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.25], [0.0, 0.6, 0.8, 0.0, 0.0, 1.0, 0.25]];
//! let values: Vec<[f32; 6]> = kernel.evaluate(&[], &rows);
//! assert_eq!(values[0], [0.25; 6]);
//! assert!(values[1][3] < values[1][0]); // The integrand has the factor cos θ = 0.8.
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A renderer that evaluates many shaders keeps their code in one [`Arena`] and their inputs in
//! [`Batch`]es; see [`kernel`] for an example. All [targets](Target) compute the same
//! bits, except for payloads and signs of NaN.
//!
//! # Bounding
//!
//! [`compile_bounds`] compiles a bounding shader, and
//! [`BoundingKernel::bound`](bounding::BoundingKernel::bound) runs it. It bounds the integrand s,
//! which is the BRDF times the cosine of `wi`. Each input is an interval or a scalar. Values that
//! depend only on scalars are computed as in the point shader. For any member of a box within the
//! declared ranges, the float that the point shader returns lies within the bounds, without
//! tolerance. [`Nan`](interval::Nan) defines how NaN is treated.
//!
//! ```
//! use lightbound_shader::bounding::IntervalInputs;
//! use lightbound_shader::lift::{BoundSides, Options};
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
//! // Upper bounds over boxes of light directions; wo and f0 are scalars.
//! let options = Options { sides: BoundSides::Upper, ..Options::default() };
//! let kernel = compile_bounds(&shader, IntervalInputs::Light, &options)?;
//! // Two boxes of wi: around the normal, and near the horizon.
//! let near_normal = [[-0.1, 0.1], [-0.1, 0.1], [0.98, 1.0]];
//! let near_horizon = [[0.95, 1.0], [-0.1, 0.1], [0.0, 0.3]];
//! let boxes = [near_normal, near_horizon]
//!     .map(|[x, y, z]| [x, y, z, [0.0; 2], [0.0; 2], [1.0; 2], [0.25; 2]]);
//! let bounds: Vec<[[f32; 2]; 3]> = kernel.bound(&[], &boxes);
//! // Upper bounds on red. At the normal, s is 0.25.
//! let upper = bounds.iter().map(|[red, ..]| red[1]).collect::<Vec<_>>();
//! assert!((0.25..0.27).contains(&upper[0]) && upper[1] < 0.12);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Options`](lift::Options) selects one of three modes. *Naive* code uses the general lowering of
//! each operation. *Optimized* code, the default, uses the cheapest lowering that is correct for
//! the known bounds of the operands. Both compute the same bounds, unless the arithmetic on
//! endpoints yields a NaN that is not suppressed. *Related* code also uses [relations] between
//! values, which interval arithmetic loses: a vector has unit length, two operands are the same
//! value, x ≤ y. Its bounds lie within those of the other modes. They hold for members of the box
//! with unit-vector directions, to the precision that [`Axis`](relations::Axis) states. With debug
//! assertions, a box without such members panics; a [`Precondition`](bounding::Precondition) checks
//! for it beforehand. Compared with the example above, these lines change:
//!
//! ```
//! use lightbound_shader::lift::{BoundSides, Options};
//! use lightbound_shader::relations::{Relation, Relations};
//!
//! let relations = Relations::all();
//! let options = Options { sides: BoundSides::Upper, relations, ..Options::default() };
//! // Each relation can be disabled, to measure its cost and benefit.
//! let fewer = Options { relations: Relations::all().without(Relation::Dot), ..options };
//! # assert!(fewer.relations.has(Relation::Unit) && !fewer.relations.has(Relation::Dot));
//! ```
//!
//! For tighter bounds, a [`SplitKernel`](bounding::SplitKernel) subdivides each box, and bounds the
//! parts in the lanes of one call.
//!
//! [`Lifted`](lift::Lifted) records how a bounding shader was derived; its `bounds_text` prints the
//! derivation. The crate `lightbound-study` measures costs, `lightbound-verification` searches for
//! faults.
//!
//! `docs/materials.md` describes the shader language. The crate knows nothing of rays, scenes or
//! images: the renderer depends on it, never the reverse.

pub mod analysis;
pub mod backend;
pub mod bounding;
pub mod builder;
mod compile;
pub mod compiled_function;
mod error;
pub mod faults;
pub mod frontend;
pub mod interpreter;
pub mod interval;
pub mod ir;
pub mod jit;
mod join;
pub mod kernel;
pub mod lift;
pub mod math;
pub mod medium;
pub mod passes;
pub mod pruning;
pub mod random;
mod range;
pub mod relations;
pub mod scattering;
pub mod specialize;
pub mod target;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod texture;

pub use compile::{Error, compile, compile_bounds};
pub use compiled_function::{CompiledFunction, FunctionOptions, InputError};
pub use error::CompileError;
pub use frontend::{
    Entry, Parameter, Scalar, Settings, Setup, Shader, ShaderError, ShaderKind, SurfaceSides,
    VectorFact,
};
pub use jit::Arena;
pub use kernel::{Batch, HoistedKernel, InstrumentedKernel, Kernel};
pub use pruning::PrunableFunction;
pub use target::Target;
pub use texture::Texture;
