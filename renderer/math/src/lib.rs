//! Mathematics for rendering: vectors, rays, frames, transforms, direction cones, direction boxes,
//! [samplers and warps](sampling), and [spectra](spectrum).
//!
//! Vectors are `glam` types. The crate is independent of scenes.
//!
//! ```
//! use lightbound_math::sampling::{Sampler, SamplerKind, warp};
//! use lightbound_math::{Frame, Vec3, vec2};
//!
//! // Cosine-distributed directions around a normal: the mean cosine is 2/3.
//! let sampler = Sampler::new(SamplerKind::Sobol, 0);
//! let frame = Frame::from_normal(Vec3::X);
//! let mean = (0..256)
//!     .map(|i| {
//!         let [u, v, ..] = sampler.get4(sampler.path_key(0, 0, i), 0);
//!         frame.to_world(warp::cosine_hemisphere(vec2(u, v))).x
//!     })
//!     .sum::<f32>() / 256.0;
//! assert!((mean - 2.0 / 3.0).abs() < 0.01);
//! ```

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod aabb;
mod columns;
mod cone;
pub mod direction_box;
mod frame;
mod prefetch;
mod ray;
pub mod sampling;
mod simd;
pub mod spectrum;
mod transform;

pub use aabb::Aabb;
pub use columns::{COLUMN_LEN, Column, Columns};
pub use cone::Cone;
pub use direction_box::{DirectionBoxes, Viewpoint};
pub use frame::Frame;
pub use glam::{Vec2, Vec3, vec2, vec3};
pub use prefetch::prefetch;
pub use ray::Ray;
pub use simd::{limit_simd_level, simd_level};
pub use transform::Transform;
