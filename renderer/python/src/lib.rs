//! The Python package `lightbound`: compiles, evaluates, bounds and samples functions in WGSL
//! (`function`, `sampler`), renders scenes (`scene`, `builder`, `render`), and compares and
//! denoises images (`compare`, `denoise`).
//!
//! Values are numpy arrays of floats (`arrays`). Long work releases the GIL. `lightbound.pyi` has
//! the signatures with their documentation.

mod arrays;
mod batch;
mod builder;
mod compare;
mod denoise;
mod error;
mod function;
mod integer;
mod render;
mod sampler;
mod scene;

use pyo3::prelude::*;

/// Compiles and bounds functions in WGSL, and renders scenes whose materials are programs.
#[pymodule(name = "lightbound")]
mod lightbound_module {
    #[pymodule_export]
    use super::builder::{Material, SceneBuilder};
    #[pymodule_export]
    use super::compare::compare;
    #[pymodule_export]
    use super::denoise::denoise;
    #[pymodule_export]
    use super::error::Error;
    #[pymodule_export]
    use super::function::{Function, compile, library};
    #[pymodule_export]
    use super::render::render;
    #[pymodule_export]
    use super::sampler::Sampler;
    #[pymodule_export]
    use super::scene::{Scene, load, parse};
    use super::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
