//! Compiles material functions written in WGSL into SIMD machine code.
//!
//! A user writes one function, the BRDF, and where it helps a sampler. What a path tracer calls is
//! put together of them ([`scattering`]): light from a given direction, and light from one that is
//! drawn, each with its density, for four or eight points at a time. From the same IR comes the
//! [bounding shader](bounding), conservative bounds of the function over whole boxes of inputs
//! (Clarberg et al. 2010, *An Optimizing Compiler for Automatic Shader Bounding*).
//!
//! The pipeline, each arrow one function with plain data in and plain data or an error out:
//!
//! ```text
//! WGSL ─► Shader::parse ─► Shader::function ─► passes::optimize ─► passes::lower ─► Kernel::compile ─► Kernel::run
//!         (naga, the        (structured         (the point shader    (masks where     (machine code)    (over a Batch)
//!          contract)         scalar SSA)         is fixed)            lanes part)
//!
//!         Integrand::new ─► Integrand::bound ─► BoundingKernel::compile ─► BoundingKernel::run
//!         (the point         (lift: intervals    (machine code)             (Boxes to Limits)
//!          shader of s)       for values)
//! ```
//!
//! # Evaluating
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
//! # Bounding
//!
//! What is bounded is s, the BRDF times the cosine of `wi`. Any of its inputs may be intervals; the
//! others are numbers, and what depends on these alone is computed as in the point shader. The
//! float that the point shader returns for a member of the box lies within the bounds, with no
//! tolerance, as long as the box is within what [`Integrand::inputs`](bounding::Integrand::inputs)
//! says of the inputs. What NaN means is [chosen](interval::Nan).
//!
//! ```
//! use lightbound_shader::bounding::{BoundingKernel, Boxes, Frame, Integrand, Limits, Ranges, Spans};
//! use lightbound_shader::interval::Nan;
//! use lightbound_shader::lift::{Options, Sides};
//! use lightbound_shader::{Arena, Settings, Shader, Target};
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
//! // Upper bounds over directions to the light; `wo` and `f0` are numbers.
//! let integrand = Integrand::new(&shader, &Settings::default(), Frame::Local)?;
//! let inputs = integrand.inputs(Spans::Light, Ranges::Declared);
//! let options = Options { sides: Sides::Upper, nan: Nan::Suppress, ..Options::default() };
//! let lifted = integrand.bound(&inputs, &options);
//! let kernel = BoundingKernel::compile(&Arena::new(), &lifted, Target::best())?;
//!
//! // Two boxes of `wi`, seen along the normal: around the normal, and near the horizon.
//! let mut boxes = Boxes::new(&kernel, 2);
//! let [around, low] = [[[-0.1, 0.1], [-0.1, 0.1], [0.98, 1.0]], [[0.95, 1.0], [-0.1, 0.1], [0.0, 0.3]]];
//! for (row, wi) in [around, low].into_iter().enumerate() {
//!     let numbers = [0.0, 0.0, 1.0, 0.25].map(|x| [x, x]);
//!     for (input, ends) in wi.into_iter().chain(numbers).enumerate() {
//!         boxes.set(row, input, ends);
//!     }
//! }
//! // Any thread may run the code.
//! let mut limits = Limits::new(&kernel, 2);
//! std::thread::scope(|scope| {
//!     scope.spawn(|| kernel.run(&[], &boxes, &mut limits));
//! });
//! // The upper ends of `s.r`: s is 0.25 at the normal itself.
//! let [upper, upper_low] = [0, 1].map(|row| limits.get(row, 0)[1]);
//! assert!((0.25..0.27).contains(&upper) && upper_low < 0.12);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! There are three modes, told by [`Options`](lift::Options). *Naive* code takes the general case
//! of each operation, *optimized* code, the default, the cheapest one that is right for what is
//! known of its operands; both give the same bounds, except where a NaN comes up in the arithmetic
//! on endpoints and is not suppressed. *Related* code knows [relations] between values as well,
//! which interval arithmetic forgets: that a vector is a unit one, that two operands are one value,
//! that x ≤ y. Its bounds lie within the others, and hold for members of the box whose directions
//! are unit vectors, as precise as [`Axis`](relations::Axis) says. In builds with debug assertions,
//! a box that has none panics; a [`Precondition`](bounding::Precondition) tells beforehand. With
//! what came before, the lines that differ are:
//!
//! ```
//! use lightbound_shader::lift::{Options, Sides};
//! use lightbound_shader::relations::{Relation, Relations};
//!
//! let options = Options { sides: Sides::Upper, relations: Relations::all(), ..Options::default() };
//! // Each relation can be left out, to see what it costs and gives.
//! let fewer = Options { relations: Relations::all().without(Relation::Dot), ..options };
//! # assert!(fewer.relations.has(Relation::Unit) && !fewer.relations.has(Relation::Dot));
//! ```
//!
//! A [`Split`](bounding::Split) bounds boxes by parts, for tighter bounds still: the parts are
//! lanes of one call.
//!
//! How a bounding shader came about is in [`Lifted`](lift::Lifted), whose `bounds_text` prints it;
//! what it costs, [`cost`] measures.
//!
//! What a shader may hold is told in the crate's `README.md`. The crate knows nothing of rays,
//! scenes or images: the renderer depends on it, never the reverse.

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
pub mod relations;
pub mod scattering;
pub mod target;
pub mod texture;
pub mod tightness;
pub mod versions;

pub use frontend::{Entry, Parameter, Scalar, Settings, Setup, Shader, ShaderError, Sides};
pub use jit::Arena;
pub use kernel::{Batch, CompileError, Kernel, Twin};
pub use target::Target;
pub use texture::Texture;
