//! `SceneBuilder`: scenes built in memory, from arrays.

use super::arrays::{Rounding, floats, rows, vec3};
use super::error::{plain, report, shader as shader_error};
use super::integer::{self, Integer};
use super::scene::{Scene, check_light, method, raise_warnings, samples};
use glam::{DAffine3, Quat};
use lightbound::camera::Camera;
use lightbound::geometry::{Mesh, Shape, Sphere};
use lightbound::light::{AnyLight, DistantLight, Environment, LatLongMap, PointLight};
use lightbound::math::{Transform, Vec2, Vec3};
use lightbound::scene::MaterialId;
use lightbound::settings::{LightcutsSettings, Method, MethodName};
use lightbound::{RenderSettings, SceneBuilder as CoreBuilder};
use lightbound_pbrt::Diagnostics;
use lightbound_shader::Shader;
use numpy::PyReadonlyArrayDyn;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::atomic::{AtomicU64, Ordering};

/// A material of a builder.
#[pyclass(frozen, module = "lightbound")]
#[derive(Clone, Copy)]
pub struct Material {
    id: MaterialId,
    /// The scene that it belongs to.
    scene: u64,
}

/// Builds a scene from materials, shapes and lights.
#[pyclass(module = "lightbound")]
pub struct SceneBuilder {
    builder: CoreBuilder,
    /// Identifies the scene that is being built among all of the process.
    scene: u64,
}

/// Returns a number for a scene.
fn next_scene() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl SceneBuilder {
    fn add(
        &mut self,
        shape: Shape,
        material: &Material,
        emission: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        if material.scene != self.scene {
            return Err(plain("the material belongs to another scene: add it to this builder"));
        }
        match emission {
            None => self.builder.add_shape(shape, material.id),
            Some(radiance) => {
                let radiance = colour("emission", radiance)?;
                self.builder.add_emitter(shape, material.id, radiance);
            }
        }
        Ok(())
    }
}

/// A radiance, an irradiance or an intensity: three numbers, or one for all channels.
fn colour(name: &str, object: &Bound<'_, PyAny>) -> PyResult<Vec3> {
    let values: Vec<f32> = floats(object, Rounding::Nearest)?.iter().copied().collect();
    let colour = match values[..] {
        [grey] => Vec3::splat(grey),
        [r, g, b] => Vec3::new(r, g, b),
        _ => return Err(plain(format!("`{name}`: expected 1 or 3 numbers"))),
    };
    if !(colour.is_finite() && colour.min_element() >= 0.0) {
        return Err(plain(format!("`{name}`: expected finite numbers from 0")));
    }
    Ok(colour)
}

fn vector(name: &str, object: &Bound<'_, PyAny>) -> PyResult<Vec3> {
    let vector = Vec3::from_array(vec3(name, object)?);
    if vector.is_finite() { Ok(vector) } else { Err(plain(format!("`{name}` is not finite"))) }
}

/// Refuses vectors that are not finite.
fn finite(name: &str, vectors: Vec<Vec3>) -> PyResult<Vec<Vec3>> {
    match vectors.iter().position(|vector| !vector.is_finite()) {
        Some(k) => Err(plain(format!("`{name}`: row {k} is not finite"))),
        None => Ok(vectors),
    }
}

/// The rotation that takes the z axis to `up`.
fn z_to(up: Vec3) -> PyResult<Transform> {
    let up = up.try_normalize().ok_or_else(|| plain("`up` has no direction"))?;
    let rotation = Quat::from_rotation_arc(Vec3::Z, up).as_dquat();
    Transform::new(DAffine3::from_quat(rotation)).ok_or_else(|| plain("`up` has no direction"))
}

#[pymethods]
impl SceneBuilder {
    #[new]
    fn new() -> SceneBuilder {
        SceneBuilder { builder: CoreBuilder::new(), scene: next_scene() }
    }

    /// Adds a material: a shader in WGSL with constant parameters.
    #[pyo3(signature = (source, *, name = "shader.wgsl", **parameters))]
    fn material(
        &mut self,
        source: &str,
        name: &str,
        parameters: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Material> {
        // For the source lines of errors.
        Shader::parse(name, source).map_err(shader_error)?;
        let mut values: Vec<(String, Vec<f64>)> = vec![];
        for (key, value) in parameters.into_iter().flatten() {
            let value = floats(&value, Rounding::Nearest)?;
            values.push((key.extract()?, value.iter().map(|&x| x.into()).collect()));
        }
        let values: Vec<(&str, &[f64])> =
            values.iter().map(|(name, value)| (name.as_str(), &value[..])).collect();
        let id = self.builder.add_shader(name, source, &values).map_err(plain)?;
        Ok(Material { id, scene: self.scene })
    }

    /// Adds a mesh of triangles.
    #[pyo3(signature = (positions, triangles, material, *, normals = None, uvs = None, emission = None))]
    fn mesh(
        &mut self,
        positions: &Bound<'_, PyAny>,
        triangles: &Bound<'_, PyAny>,
        material: &Material,
        normals: Option<&Bound<'_, PyAny>>,
        uvs: Option<&Bound<'_, PyAny>>,
        emission: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let vectors = |name, array: Option<&Bound<'_, PyAny>>| -> PyResult<Vec<Vec3>> {
            let rows = array.map_or(Ok(vec![]), |array| rows::<3>(name, array))?;
            Ok(rows.into_iter().map(Vec3::from_array).collect())
        };
        let uvs = uvs.map_or(Ok(vec![]), |array| rows::<2>("uvs", array))?;
        let mesh = Mesh::new(
            vectors("positions", Some(positions))?,
            indices(triangles)?,
            finite("normals", vectors("normals", normals)?)?,
            uvs.into_iter().map(Vec2::from_array).collect(),
        );
        self.add(Shape::Mesh(mesh.map_err(plain)?), material, emission)
    }

    /// Adds a sphere.
    #[pyo3(signature = (center, radius, material, *, emission = None))]
    fn sphere(
        &mut self,
        center: &Bound<'_, PyAny>,
        radius: f32,
        material: &Material,
        emission: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let center = vector("center", center)?.as_dvec3();
        let transform = Transform::new(DAffine3::from_translation(center))
            .ok_or_else(|| plain("`center` is too far from the origin"))?;
        let sphere = Sphere::full(&transform, radius).map_err(plain)?;
        self.add(Shape::Sphere(sphere), material, emission)
    }

    /// Adds a point light.
    fn point_light(
        &mut self,
        position: &Bound<'_, PyAny>,
        intensity: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let light = PointLight::new(vector("position", position)?, colour("intensity", intensity)?);
        self.builder.add_light(AnyLight::Point(light));
        Ok(())
    }

    /// Adds a light at infinity.
    fn distant_light(
        &mut self,
        to_light: &Bound<'_, PyAny>,
        irradiance: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let (to_light, irradiance) =
            (vector("to_light", to_light)?, colour("irradiance", irradiance)?);
        let light = DistantLight::new(to_light, irradiance).map_err(plain)?;
        self.builder.add_light(AnyLight::Distant(light));
        Ok(())
    }

    /// Adds an environment light: a radiance, or a map with latitude and longitude.
    #[pyo3(signature = (radiance, *, up = None))]
    fn environment(
        &mut self,
        radiance: &Bound<'_, PyAny>,
        up: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let values = floats(radiance, Rounding::Nearest)?;
        let environment = match *values.shape() {
            [height, width, 3] if height * width > 0 => {
                let up = up.map_or(Ok(Vec3::Y), |up| vector("up", up))?;
                let values: Vec<f32> = values.iter().copied().collect();
                let texels: Vec<Vec3> =
                    values.as_chunks::<3>().0.iter().copied().map(Vec3::from_array).collect();
                if let Some(k) = texels.iter().position(|texel| texel.min_element() < 0.0) {
                    let (x, y) = (k % width, k / width);
                    return Err(plain(format!("`radiance`: texel ({x}, {y}) is negative")));
                }
                let map = LatLongMap { texels: &texels, width, height };
                let (texels, size) = map.to_equal_area().map_err(plain)?;
                Environment::image(texels, size, &z_to(up)?, 1.0).map_err(plain)?
            }
            _ => Environment::constant(colour("radiance", radiance)?),
        };
        self.builder.add_light(AnyLight::Environment(environment));
        Ok(())
    }

    /// Builds the scene for a camera. The builder is then empty.
    #[pyo3(
        signature = (
            *, eye, target, up = None, fov = 40.0, resolution = None, spp = None, seed = None,
            integrator = "path", max_depth = None,
        ),
        text_signature = "($self, *, eye, target, up=None, fov=40.0, resolution=(640, 480), \
            spp=16, seed=0, integrator='path', max_depth=5)",
    )]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn build(
        &mut self,
        py: Python<'_>,
        eye: &Bound<'_, PyAny>,
        target: &Bound<'_, PyAny>,
        up: Option<&Bound<'_, PyAny>>,
        fov: f32,
        resolution: Option<(Integer, Integer)>,
        spp: Option<Integer>,
        seed: Option<Integer>,
        integrator: &str,
        max_depth: Option<Integer>,
    ) -> PyResult<Scene> {
        let (eye, target) = (vector("eye", eye)?, vector("target", target)?);
        let up = up.map_or(Ok(Vec3::Y), |up| vector("up", up))?;
        let plane = up.as_dvec3().cross((target - eye).as_dvec3());
        if plane.try_normalize().is_none() {
            return Err(plain("`up` is parallel to the viewing direction, or one of them is 0"));
        }
        let resolution = match resolution {
            Some((width, height)) => integer::resolution([width, height])?,
            None => (640, 480),
        };
        let (width, height) = resolution;
        if !(fov > 0.0 && fov < 180.0) {
            return Err(plain("`fov` is an angle above 0 and below 180 degrees"));
        }
        let mut settings = RenderSettings::with_resolution(width, height);
        settings.sampling.spp = spp.map_or(Ok(16), samples)?;
        settings.sampling.seed = integer::optional("seed", seed)?.unwrap_or(0);
        settings.integrator.max_depth = integer::optional("max_depth", max_depth)?.unwrap_or(5);
        settings.integrator.method = match method(integrator)? {
            MethodName::Path | MethodName::Volpath => settings.integrator.method,
            MethodName::Lightcuts => Method::Lightcuts(LightcutsSettings::default()),
            MethodName::AmbientOcclusion => Method::AmbientOcclusion(Default::default()),
        };
        let camera = Camera::look_at(eye, target, up, fov, resolution);
        let SceneBuilder { builder, .. } = std::mem::replace(self, SceneBuilder::new());
        let mut diagnostics = Diagnostics::new(false);
        for warning in builder.warnings() {
            let fallback = "directions sampled from bounds on the shader";
            diagnostics.warn(None, warning, fallback).map_err(|error| report(&error))?;
        }
        let scene = py.detach(|| builder.build(camera)).map_err(plain)?;
        check_light(&scene, &settings, &mut diagnostics).map_err(|error| report(&error))?;
        raise_warnings(py, &diagnostics)?;
        Ok(Scene { scene, settings })
    }
}

/// Triples of indices of vertices, from an array of integers of shape (n, 3).
fn indices(object: &Bound<'_, PyAny>) -> PyResult<Vec<[u32; 3]>> {
    let options = PyDict::new(object.py());
    options.set_item("dtype", "int64")?;
    let numpy = object.py().import("numpy")?;
    let array = numpy.call_method("asarray", (object,), Some(&options))?;
    let array: PyReadonlyArrayDyn<i64> = array.extract()?;
    let array = array.as_array();
    if array.ndim() != 2 || array.shape()[1] != 3 {
        return Err(plain(format!(
            "`triangles`: expected an array of shape (n, 3), found {:?}",
            array.shape()
        )));
    }
    let index = |&i: &i64| u32::try_from(i).map_err(|_| plain(format!("`triangles`: index {i}")));
    let indices: Vec<u32> = array.iter().map(index).collect::<PyResult<_>>()?;
    Ok(indices.as_chunks::<3>().0.to_vec())
}
