//! An offline CPU renderer whose materials are programs.
//!
//! The data's way: a pbrt-v4 scene file is parsed ([`scene::file`]), its directives run
//! ([`scene::describe`]), built into an immutable [`scene::Scene`] ([`scene::build`]), rendered by
//! an [`integrator`] into a [`film`], and written as an [`image`].

// Only the library makes pixels, and tests have tolerances; `clippy.toml` has the list and the
// reason.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

pub mod accel;
pub mod camera;
pub mod compare;
pub mod direction_tree;
pub mod film;
pub mod filter;
pub mod geometry;
pub mod image;
pub mod integrator;
pub mod light;
pub mod light_tree;
pub mod material;
pub mod math;
pub mod regress;
pub mod render;
pub mod sampling;
pub mod scene;
pub mod spectrum;
pub mod texture;
