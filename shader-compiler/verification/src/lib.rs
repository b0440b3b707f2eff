//! Tests of the shader compiler on random inputs, without tolerance.
//!
//! [`containment`] compares bounds with the results of point shaders, for operations, materials,
//! random functions and random WGSL programs. [`differential`] compares machine code with the
//! interpreter. Both reduce failing inputs to a few lines. The tests of this crate run for seconds
//! to minutes; `lightbound-benches` runs the same checks for as long as requested.
//!
//! ```
//! use lightbound_shader::bounding::{Frame, Integrand, Ranges, IntervalInputs};
//! use lightbound_shader::{Settings, Shader, Target};
//! use lightbound_verification::containment::{Checker, Subject};
//! use lightbound_verification::differential::RandomFunction;
//!
//! // Bounds of a material contain its values: 16 random boxes with 8 members each.
//! let shader = Shader::parse(
//!     "ramp.wgsl",
//!     "struct Material {
//!          /// Reflectance. range: [0, 1], default: 0.5
//!          kd: f32,
//!      }
//!      fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
//!          return vec3f(m.kd * max(dot(wi, wo), 0.0));
//!      }",
//! )?;
//! let integrand = Integrand::new(&shader, &Settings::default(), Frame::Local)?;
//! let ranges = Some(Ranges::Declared);
//! let subject = Subject::material("ramp", &integrand, IntervalInputs::Light, ranges);
//! let tally = Checker::check(&subject, Target::best(), 40, 1, 16, 8);
//! assert!(tally.checks > 1000 && !tally.is_faulty());
//!
//! // Machine code and interpreter agree on a random function, for 100 rows of inputs.
//! assert!(RandomFunction::new(7, None, 100).check(&[Target::best()]).is_ok());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod containment;
pub mod differential;
