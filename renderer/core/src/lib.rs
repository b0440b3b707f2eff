//! An offline CPU renderer with programmable materials.
//!
//! A [`Scene`] holds a camera, surfaces, materials and lights, and [`RenderSettings`] determine how
//! to render it. An [`integrator`] fills a [`film`], which becomes an image. Scenes are read from
//! files in pbrt-v4's format (crate `lightbound-pbrt`) or built in memory:
//!
//! ```
//! use lightbound::camera::Camera;
//! use lightbound::geometry::{Mesh, Shape, Sphere};
//! use lightbound::light::{AnyLight, Environment};
//! use lightbound::math::{Transform, Vec3, vec3};
//! use lightbound::render::{RenderOptions, render};
//! use lightbound::{RenderSettings, SceneBuilder};
//!
//! let mut builder = SceneBuilder::new();
//! let grey = builder.add_shader(
//!     "grey.wgsl",
//!     "struct Material { kd: f32 }
//!      fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f { return vec3f(m.kd / 3.14159265); }",
//!     &[("kd", &[0.5])],
//! )?;
//! builder.add_shape(Shape::Sphere(Sphere::full(&Transform::IDENTITY, 1.0)?), grey);
//! let triangle = vec![vec3(-1.0, 4.0, -1.0), vec3(1.0, 4.0, -1.0), vec3(0.0, 4.0, 1.0)];
//! let lamp = Mesh::new(triangle, vec![[0, 1, 2]], vec![], vec![])?;
//! builder.add_emitter(Shape::Mesh(lamp), grey, Vec3::splat(20.0));
//! builder.add_light(AnyLight::Environment(Environment::constant(Vec3::splat(0.2))));
//!
//! let settings = RenderSettings::with_resolution(32, 32);
//! let camera = Camera::look_at(vec3(0.0, 0.0, -4.0), Vec3::ZERO, Vec3::Y, 40.0, (32, 32));
//! let scene = builder.build(camera)?;
//! let image = render(&scene, &settings, &RenderOptions::default())?.image;
//! let [red, ..] = image.radiance[16 * 32 + 16];
//! assert!(red > 0.05 && red < 0.2, "the sphere reflects half of the incident light: {red}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

// Results that reach pixels must be bit-identical on all platforms; tests have tolerances. See
// `clippy.toml`.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

pub mod accel;
pub mod camera;
pub mod choice;
pub mod direction_tree;
pub mod film;
pub mod filter;
pub mod geometry;
pub mod integrator;
pub mod light;
pub mod light_tree;
pub mod material;
pub mod medium;
pub mod part;
pub mod render;
pub mod scene;
pub mod settings;
mod simd;
mod stopped_loops;
pub mod suggestion;
pub mod texture;

pub use lightbound_image as image;
pub use lightbound_math as math;
pub use scene::{Scene, SceneBuilder};
pub use settings::RenderSettings;
pub use simd::limit_simd;
pub use stopped_loops::StoppedLoops;
