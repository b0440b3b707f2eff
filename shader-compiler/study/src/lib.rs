//! Measurements of compiled shaders, and the tables and figures of the papers.
//!
//! [`cost`] measures code: instruction counts by purpose, measured cycles, and cycles predicted by
//! a throughput model. [`tightness`] measures how far upper bounds are above true maxima, for a
//! published list of materials. [`report`] compares shaders and prints the tables, figures and
//! records of `lightbound bounds`. [`shaders`] has shaders to measure that are not in the library.
//!
//! ```
//! use lightbound_shader::bounding::{Frame, Integrand, Ranges, IntervalInputs};
//! use lightbound_shader::lift::Options;
//! use lightbound_shader::{Settings, Shader, Target};
//! use lightbound_study::cost::{Budget, Candidate, boxes, measure};
//! use std::time::Duration;
//!
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
//! let inputs = integrand.inputs(IntervalInputs::Light, Ranges::Declared);
//! let bounding = integrand.bound(&inputs, &Options::default()).function;
//! // Run the bounding shader on random boxes, and the point shader on members of the boxes.
//! let input_boxes = boxes::random_boxes(&shader, Frame::Local, IntervalInputs::Light, 64, 1);
//! let members: Vec<_> = input_boxes.iter().map(|input_box| input_box.member.clone()).collect();
//! let intervals = || inputs.iter().map(|input| input.interval);
//! let rows: Vec<_> = input_boxes.iter().map(|input_box| input_box.row(intervals())).collect();
//! let point = Candidate::new(&integrand.bounded(), Target::best(), &members)?;
//! let bounding = Candidate::new(&bounding, Target::best(), &rows)?;
//! let time = Duration::from_millis(10);
//! let budget = Budget { max_rounds: 10, min_time: time, max_time: 10 * time, precision: 0.1 };
//! let costs = measure(&[point, bounding], &[], &budget, &|_| {}).costs;
//! assert!(costs[1].instructions > costs[0].instructions);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod cost;
pub mod report;
pub mod shaders;
pub mod tightness;
