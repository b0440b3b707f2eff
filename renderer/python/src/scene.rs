//! Scenes from files and from text in pbrt-v4's format.

use super::error::{plain, report, shader as shader_error};
use lightbound::choice::Choice;
use lightbound::settings::MethodName;
use lightbound::{RenderSettings, Scene as CoreScene};
use lightbound_image::Crop;
use lightbound_pbrt::build::NamedShader;
use lightbound_pbrt::{Diagnostics, Overrides, Source, load_source};
use lightbound_shader::Shader;
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use std::collections::HashMap;
use std::ffi::CString;
use std::path::PathBuf;
use std::sync::Arc;

/// A scene with the settings to render it.
#[pyclass(frozen, module = "lightbound")]
pub struct Scene {
    /// The scene.
    pub scene: CoreScene,
    /// How to render it.
    pub settings: RenderSettings,
}

#[pymethods]
impl Scene {
    /// Width and height of the full image, pixels.
    #[getter]
    fn resolution(&self) -> (u32, u32) {
        self.settings.resolution
    }

    /// Samples per pixel.
    #[getter]
    fn spp(&self) -> u32 {
        self.settings.sampling.spp
    }

    /// Name of the integrator.
    #[getter]
    fn integrator(&self) -> &'static str {
        self.settings.integrator.method.name().name()
    }

    fn __repr__(&self) -> String {
        let (width, height) = self.settings.resolution;
        format!(
            "<lightbound.Scene {width}x{height}, {} samples, {}>",
            self.spp(),
            self.integrator()
        )
    }
}

/// Loads a scene file in pbrt-v4's format.
#[pyfunction]
#[pyo3(signature = (
    path, *, resolution = None, crop = None, integrator = None, spp = None, seed = None,
    environment = None, strict = false,
))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
pub fn load(
    py: Python<'_>,
    path: PathBuf,
    resolution: Option<(u32, u32)>,
    crop: Option<[f64; 4]>,
    integrator: Option<&str>,
    spp: Option<u32>,
    seed: Option<u32>,
    environment: Option<PathBuf>,
    strict: bool,
) -> PyResult<Scene> {
    let overrides = overrides(resolution, crop, integrator, spp, seed, environment)?;
    read(py, &Source::file(path), &[], &overrides, strict)
}

/// Reads a scene from text in pbrt-v4's format.
#[pyfunction]
#[pyo3(signature = (
    text, *, name = PathBuf::from("scene.pbrt"), shaders = HashMap::new(), resolution = None,
    crop = None, integrator = None, spp = None, seed = None, environment = None, strict = false,
))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
pub fn parse(
    py: Python<'_>,
    text: String,
    name: PathBuf,
    shaders: HashMap<String, String>,
    resolution: Option<(u32, u32)>,
    crop: Option<[f64; 4]>,
    integrator: Option<&str>,
    spp: Option<u32>,
    seed: Option<u32>,
    environment: Option<PathBuf>,
    strict: bool,
) -> PyResult<Scene> {
    let overrides = overrides(resolution, crop, integrator, spp, seed, environment)?;
    let mut named: Vec<NamedShader> = vec![];
    for (name, source) in shaders {
        // The scene may use a shader as a material or a field, and to displace meshes.
        let displacement = Shader::parse_function(&name, &source, "displace");
        match Shader::parse(&name, &source) {
            Ok(shader) => named.push((name.clone(), Arc::new(shader))),
            Err(error) if displacement.is_err() => return Err(shader_error(error)),
            Err(_) => (),
        }
        named.extend(displacement.into_iter().map(|shader| (name.clone(), Arc::new(shader))));
    }
    let shaders = named;
    read(py, &Source::memory(name, text), &shaders, &overrides, strict)
}

fn overrides(
    resolution: Option<(u32, u32)>,
    crop: Option<[f64; 4]>,
    integrator: Option<&str>,
    spp: Option<u32>,
    seed: Option<u32>,
    environment: Option<PathBuf>,
) -> PyResult<Overrides> {
    if resolution.is_some_and(|(w, h)| !(1..=1 << 16).contains(&w) || !(1..=1 << 16).contains(&h)) {
        return Err(plain("`resolution` is (width, height), each from 1 to 65536"));
    }
    let crop = crop.map(|crop| {
        let text: Vec<_> = crop.iter().map(f64::to_string).collect();
        text.join(",").parse::<Crop>().map_err(|error| plain(format!("`crop`: {error}")))
    });
    Ok(Overrides {
        resolution,
        crop: crop.transpose()?,
        integrator: integrator.map(method).transpose()?,
        spp: spp.map(samples).transpose()?,
        seed,
        environment,
        ..Overrides::default()
    })
}

/// Finds an integrator by its name.
pub fn method(name: &str) -> PyResult<MethodName> {
    MethodName::from_name(name).ok_or_else(|| {
        plain(format!("there is no integrator `{name}`: use {}", MethodName::NAMES.join(", ")))
    })
}

/// Checks a number of samples per pixel.
pub fn samples(spp: u32) -> PyResult<u32> {
    if (1..=1 << 24).contains(&spp) {
        Ok(spp)
    } else {
        Err(plain("`spp` is a number of samples from 1 to 16777216"))
    }
}

fn read(
    py: Python<'_>,
    source: &Arc<Source>,
    shaders: &[NamedShader],
    overrides: &Overrides,
    strict: bool,
) -> PyResult<Scene> {
    let mut diagnostics = Diagnostics::new(strict);
    let loaded = py.detach(|| load_source(source, shaders, overrides, &mut diagnostics));
    for warning in diagnostics.warnings() {
        let text = CString::new(warning.to_string().replace('\0', "")).unwrap_or_default();
        PyErr::warn(py, &py.get_type::<PyUserWarning>(), &text, 1)?;
    }
    let loaded = loaded.map_err(|error| report(&error))?;
    Ok(Scene { scene: loaded.scene, settings: loaded.settings })
}
