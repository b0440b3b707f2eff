//! Loads scenes in the pbrt-v4 format.
//!
//! [`load`] parses a file, runs its directives and builds a [`Scene`](lightbound::Scene) with
//! [`RenderSettings`](lightbound::RenderSettings). [`load_source`] does the same for text
//! in memory:
//!
//! ```
//! use lightbound::render::{RenderOptions, render};
//! use lightbound_pbrt::{Diagnostics, Overrides, Source, load_source};
//!
//! let source = Source::memory(
//!     "sphere.pbrt",
//!     r#"LookAt 0 0 -5  0 0 0  0 1 0
//!        Camera "perspective" "float fov" 30
//!        Film "rgb" "integer xresolution" 8 "integer yresolution" 8
//!        WorldBegin
//!        LightSource "infinite" "rgb L" [1 1 1]
//!        Material "diffuse" "rgb reflectance" [0.5 0.5 0.5]
//!        Shape "sphere""#,
//! );
//! let mut diagnostics = Diagnostics::default();
//! let loaded = load_source(&source, &[], &Overrides::default(), &mut diagnostics)?;
//! assert!(diagnostics.warnings().is_empty());
//!
//! let rendering = render(&loaded.scene, &loaded.settings, &RenderOptions::default())?;
//! let [red, ..] = rendering.image.radiance[4 * 8 + 4];
//! assert!((red - 0.5).abs() < 0.05, "expected 0.5, got {red}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Unsupported features of the format fall back to supported ones, with a warning in
//! [`Diagnostics`]. Any other problem stops loading with a [`SceneError`].

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

pub mod build;
mod ctm;
mod describe;
pub mod diagnostics;
mod file;
mod gzip;
pub mod inputs;
pub mod nanovdb;
pub mod ply;
pub mod shader_file;

pub use build::{LoadedScene, Overrides, load, load_source};
pub use diagnostics::{Diagnostics, SceneError, Source};
pub use gzip::decompress;
