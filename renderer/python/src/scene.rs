//! Scenes from files and from text in pbrt-v4's format.

use super::error::{plain, report, shader as shader_error};
use super::integer::{self, Integer};
use lightbound::choice::Choice;
use lightbound::settings::MethodName;
use lightbound::{RenderSettings, Scene as CoreScene};
use lightbound_image::Crop;
use lightbound_pbrt::build::NamedShader;
use lightbound_pbrt::{Diagnostics, Overrides, SceneError, Source};
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
    resolution: Option<(Integer, Integer)>,
    crop: Option<[f64; 4]>,
    integrator: Option<&str>,
    spp: Option<Integer>,
    seed: Option<Integer>,
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
    resolution: Option<(Integer, Integer)>,
    crop: Option<[f64; 4]>,
    integrator: Option<&str>,
    spp: Option<Integer>,
    seed: Option<Integer>,
    environment: Option<PathBuf>,
    strict: bool,
) -> PyResult<Scene> {
    let overrides = overrides(resolution, crop, integrator, spp, seed, environment)?;
    let mut named: Vec<NamedShader> = vec![];
    for (name, source) in shaders {
        // The scene may use a shader as a material or a field, and to displace meshes.
        let displacement = Shader::parse_function(&name, &source, "displace");
        let displacement = match displacement {
            Err(error) if source.contains("fn displace(") => return Err(shader_error(error)),
            displacement => displacement.ok(),
        };
        match Shader::parse(&name, &source) {
            Ok(shader) => named.push((name.clone(), Arc::new(shader))),
            Err(error) if displacement.is_none() => return Err(shader_error(error)),
            Err(_) => (),
        }
        named.extend(displacement.map(|shader| (name, Arc::new(shader))));
    }
    read(py, &Source::memory(name, text), &named, &overrides, strict)
}

fn overrides(
    resolution: Option<(Integer, Integer)>,
    crop: Option<[f64; 4]>,
    integrator: Option<&str>,
    spp: Option<Integer>,
    seed: Option<Integer>,
    environment: Option<PathBuf>,
) -> PyResult<Overrides> {
    let resolution = resolution.map(|(width, height)| integer::resolution([width, height]));
    let crop = crop.map(|crop| {
        let text: Vec<_> = crop.iter().map(f64::to_string).collect();
        text.join(",").parse::<Crop>().map_err(|error| plain(format!("`crop`: {error}")))
    });
    Ok(Overrides {
        resolution: resolution.transpose()?,
        crop: crop.transpose()?,
        integrator: integrator.map(method).transpose()?,
        spp: spp.map(samples).transpose()?,
        seed: integer::optional("seed", seed)?,
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
pub fn samples(spp: Integer) -> PyResult<u32> {
    let spp = spp.at_least("spp", 1)?;
    if spp <= 1 << 24 {
        Ok(spp)
    } else {
        Err(plain("`spp` is a number of samples from 1 to 16777216"))
    }
}

/// Warns about a scene without light, as the program does.
pub fn check_light(
    scene: &CoreScene,
    settings: &RenderSettings,
    diagnostics: &mut Diagnostics,
) -> Result<(), SceneError> {
    match scene.why_black(settings.integrator.method.name()) {
        Some(reason) => diagnostics.warn(None, reason, "the image is black"),
        None => Ok(()),
    }
}

/// Raises warnings in Python.
pub fn raise_warnings(py: Python<'_>, diagnostics: &Diagnostics) -> PyResult<()> {
    for warning in diagnostics.warnings() {
        let text = CString::new(warning.to_string().replace('\0', "")).unwrap_or_default();
        PyErr::warn(py, &py.get_type::<PyUserWarning>(), &text, 1)?;
    }
    Ok(())
}

fn read(
    py: Python<'_>,
    source: &Arc<Source>,
    shaders: &[NamedShader],
    overrides: &Overrides,
    strict: bool,
) -> PyResult<Scene> {
    let mut diagnostics = Diagnostics::new(strict);
    let loaded = py.detach(|| {
        let options = lightbound_gltf::Options::default();
        lightbound_gltf::load(source, &options, shaders, overrides, &mut diagnostics)
    });
    let loaded = loaded.and_then(|loaded| {
        check_light(&loaded.scene, &loaded.settings, &mut diagnostics)?;
        Ok(loaded)
    });
    raise_warnings(py, &diagnostics)?;
    let loaded = loaded.map_err(|error| report(&error))?;
    Ok(Scene { scene: loaded.scene, settings: loaded.settings })
}
