//! Builds a [`Scene`] in memory.

use super::Scene;
use crate::accel::{self, AccelError, AccelKind};
use crate::camera::Camera;
use crate::geometry::{Geometry, Primitive, Shape};
use crate::light::{AnyLight, AreaLight, Lights};
use crate::material::{
    Material, Program, ProgramError, Setting, ShaderBinding, ShaderInstance, self_check,
    specialize_programs,
};
use crate::medium::{Field, Medium, MediumInterface};
use glam::DVec3;
use lightbound_math::{Transform, Vec3};
use lightbound_shader::{Arena, Settings, Shader, Target};
use std::sync::Arc;

/// Identifies a material of a [`SceneBuilder`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MaterialId(u32);

/// Identifies a medium of a [`SceneBuilder`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MediumId(u32);

/// Why a material cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum MaterialError {
    /// The shader cannot be compiled.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// The shader has no such parameter.
    #[error("the shader {shader} has no parameter {parameter}; its parameters are {known}")]
    UnknownParameter {
        /// Name of the shader.
        shader: String,
        /// The unknown name.
        parameter: String,
        /// Names of the shader's parameters.
        known: String,
    },
    /// A value has the wrong size or is out of range.
    #[error(
        "the parameter {parameter} of {shader} has {size} components from {} to {}",
        range[0] as f32,
        range[1] as f32
    )]
    InvalidValue {
        /// Name of the shader.
        shader: String,
        /// The parameter.
        parameter: String,
        /// Number of components.
        size: usize,
        /// Minimum and maximum of a component.
        range: [f64; 2],
    },
    /// A parameter has neither a value nor a default.
    #[error("the parameter {parameter} of {shader} has no default; give a value")]
    MissingValue {
        /// Name of the shader.
        shader: String,
        /// The parameter.
        parameter: String,
    },
}

/// Builds a [`Scene`] from surfaces, materials and lights.
///
/// All positions are in single precision, so a scene should be near the origin: at a distance of
/// 10⁶ from it, positions are multiples of 1/16. [`SceneBuilder::set_origin`] moves the origin of a
/// scene that is far away. The crate's documentation has an example.
pub struct SceneBuilder {
    arena: Arena,
    target: Target,
    geometry: Geometry,
    materials: Vec<Material>,
    material_names: Vec<String>,
    shaders: Vec<ShaderBinding>,
    object_names: Vec<String>,
    media: Vec<Medium>,
    camera_medium: Option<u32>,
    lights: Vec<AnyLight>,
    warnings: Vec<String>,
}

impl Default for SceneBuilder {
    fn default() -> SceneBuilder {
        SceneBuilder {
            arena: Arena::new(),
            target: Target::best(),
            geometry: Geometry::default(),
            materials: Vec::new(),
            material_names: Vec::new(),
            shaders: Vec::new(),
            object_names: Vec::new(),
            media: Vec::new(),
            camera_medium: None,
            lights: Vec::new(),
            warnings: Vec::new(),
        }
    }
}

impl SceneBuilder {
    /// Creates an empty scene.
    pub fn new() -> SceneBuilder {
        SceneBuilder::default()
    }

    /// Adds a material.
    pub fn add_material(&mut self, name: &str, material: Material) -> MaterialId {
        self.materials.push(material);
        self.material_names.push(name.to_owned());
        MaterialId(self.materials.len() as u32 - 1)
    }

    /// Adds a material: a shader with constant parameters. Parameters without a value have their
    /// defaults. See [`library`](crate::material::library) for examples.
    ///
    /// # Errors
    /// If the shader is invalid, or a parameter is unknown, out of range or missing.
    pub fn add_shader(
        &mut self,
        name: &str,
        wgsl: &str,
        values: &[(&str, &[f64])],
    ) -> Result<MaterialId, MaterialError> {
        let instance = self.shader_instance(name, wgsl, values)?;
        Ok(self.add_material(name, Material::scattering(instance)))
    }

    /// Returns the faults of samplers of shaders so far. Directions are sampled from bounds on these
    /// shaders instead.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Adds a medium with `field` in its own space, which `transform` maps to render space. The
    /// phase function is a shader with constant parameters, as in [`Self::add_shader`].
    ///
    /// # Errors
    /// As for [`Self::add_shader`].
    pub fn add_medium(
        &mut self,
        name: &str,
        transform: Transform,
        field: Box<dyn Field>,
        (phase_name, wgsl, values): (&str, &str, &[(&str, &[f64])]),
    ) -> Result<MediumId, MaterialError> {
        let phase = self.shader_instance(phase_name, wgsl, values)?;
        self.media.push(Medium::new(name.to_owned(), transform, field, phase));
        Ok(MediumId(self.media.len() as u32 - 1))
    }

    /// Sets the medium around the camera.
    pub fn set_camera_medium(&mut self, MediumId(medium): MediumId) {
        self.camera_medium = Some(medium);
    }

    /// Adds a surface that separates media; `None` is vacuum. It is an interface without a
    /// material.
    pub fn add_medium_boundary(
        &mut self,
        shape: Shape,
        material: Option<MaterialId>,
        inside: Option<MediumId>,
        outside: Option<MediumId>,
    ) {
        let material = material.unwrap_or_else(|| {
            let is_interface = |material: &Material| matches!(material, Material::Interface);
            match self.materials.iter().position(is_interface) {
                Some(interface) => MaterialId(interface as u32),
                None => self.add_material("interface", Material::Interface),
            }
        });
        self.add_primitive(shape, material, false, None);
        let index = |medium: Option<MediumId>| medium.map(|MediumId(index)| index);
        let media = MediumInterface { inside: index(inside), outside: index(outside) };
        let primitive = self.geometry.primitives.last_mut().expect("it has just been added");
        primitive.media = Some(media);
    }

    /// Compiles a shader, and creates an instance with constant parameters.
    fn shader_instance(
        &mut self,
        name: &str,
        wgsl: &str,
        values: &[(&str, &[f64])],
    ) -> Result<ShaderInstance, MaterialError> {
        let shader = Shader::parse(name, wgsl).map_err(ProgramError::from)?;
        let program = Program::compile(&self.arena, &shader, &Settings::default(), self.target)?;
        let known = || program.settable.iter().map(|p| p.name.as_str()).collect::<Vec<_>>();
        if let Some((unknown, _)) = values.iter().find(|(name, _)| !known().contains(name)) {
            return Err(MaterialError::UnknownParameter {
                shader: name.into(),
                parameter: (*unknown).into(),
                known: known().join(", "),
            });
        }
        let mut settings = Vec::new();
        for parameter in &program.settable {
            let explicit = values.iter().rfind(|(name, _)| *name == parameter.name);
            let value = match (explicit, &parameter.default) {
                (Some((_, value)), _) => value.to_vec(),
                (None, Some(default)) => default.clone(),
                (None, None) => {
                    return Err(MaterialError::MissingValue {
                        shader: name.into(),
                        parameter: parameter.name.clone(),
                    });
                }
            };
            let [min, max] = parameter.range;
            if value.len() != parameter.size || !value.iter().all(|x| (min..=max).contains(x)) {
                return Err(MaterialError::InvalidValue {
                    shader: name.into(),
                    parameter: parameter.name.clone(),
                    size: parameter.size,
                    range: parameter.range,
                });
            }
            settings.push((parameter, Setting::Constant(value)));
        }
        let instance = ShaderInstance::new(self.shaders.len() as u32, settings);
        let mut binding = ShaderBinding::new(Arc::new(program), Vec::new());
        if binding.has_valid_sampler {
            let checked = self_check::check_sampler(&binding, &instance)
                .map_err(|fault| fault.to_string())
                .and_then(|()| {
                    self_check::check_coverage(&binding, &instance)
                        .map_err(|light| light.to_string())
                });
            if let Err(problem) = checked {
                binding.has_valid_sampler = false;
                self.warnings.push(format!("shader {name}: {problem}"));
            }
        }
        self.shaders.push(binding);
        Ok(instance)
    }

    /// Adds a surface.
    pub fn add_shape(&mut self, shape: Shape, material: MaterialId) {
        self.add_primitive(shape, material, false, None);
    }

    /// Adds a surface that emits `radiance` (W·sr⁻¹·m⁻²) from its front, the side of its geometric
    /// normal.
    pub fn add_emitter(&mut self, shape: Shape, material: MaterialId, radiance: Vec3) {
        self.add_primitive(shape, material, false, Some((radiance, false)));
    }

    /// Adds a surface. `flip` swaps front and back. `emission` is the radiance, and whether both
    /// sides emit it.
    pub(crate) fn add_primitive(
        &mut self,
        shape: Shape,
        MaterialId(material): MaterialId,
        flip: bool,
        emission: Option<(Vec3, bool)>,
    ) {
        self.object_names.push(shape.name().to_owned());
        let mut primitive =
            Primitive { shape, material, first_light: None, alpha: None, flip, media: None };
        if let Some((radiance, two_sided)) = emission {
            primitive.first_light = Some(self.lights.len() as u32);
            self.lights.extend((0..primitive.shape.len()).map(|element| {
                AnyLight::Area(AreaLight::new(&primitive, element, radiance, two_sided))
            }));
        }
        self.geometry.vertices_move |= primitive.shape.vertices_move();
        self.geometry.primitives.push(primitive);
    }

    /// Adds a light that is not an area light.
    pub fn add_light(&mut self, light: AnyLight) {
        self.lights.push(light);
    }

    /// Sets the origin of all positions of shapes, lights and the camera, in world space; 0 by
    /// default. World-space positions, which shaders and the film's positions have, include it.
    pub fn set_origin(&mut self, origin: DVec3) {
        self.geometry.origin = origin;
    }

    /// Builds the acceleration structure and the scene.
    ///
    /// # Errors
    /// If the acceleration structure cannot be built.
    pub fn build(mut self, camera: Camera) -> Result<Scene, AccelError> {
        let instances = self.materials.iter_mut().filter_map(Material::shader_mut);
        let phases = self.media.iter_mut().map(|medium| &mut medium.phase);
        specialize_programs(&mut self.shaders, instances.chain(phases));
        self.geometry.world = 0..self.geometry.primitives.len() as u32;
        let geometry = Arc::new(self.geometry);
        let accel = accel::build(AccelKind::Auto, geometry.clone())?;
        Ok(Scene {
            camera,
            geometry,
            materials: self.materials,
            shaders: self.shaders,
            material_names: self.material_names,
            object_names: self.object_names,
            media: self.media,
            camera_medium: self.camera_medium,
            lights: Lights::new(self.lights, accel.bounds()),
            accel: accel.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::film::{FeatureLayers, FilmOptions};
    use crate::geometry::Mesh;
    use crate::light::Environment;
    use crate::material::library;
    use crate::render::{RenderOptions, render};
    use crate::settings::RenderSettings;
    use glam::dvec3;
    use lightbound_math::vec3;

    #[test]
    fn positions_of_shaders_and_features_include_the_origin() {
        let shader = "struct Material { kd: vec3f }
            fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f { return m.kd; }
            fn material(p: SurfacePoint) -> Material {
                return Material(p.position / 4000.0 * p.object_position.x / 1000.0);
            }";
        let mut builder = SceneBuilder::new();
        let material = builder.add_shader("position.wgsl", shader, &[]).unwrap();
        let corners = [(-9.0, -9.0), (9.0, -9.0), (0.0, 9.0)].map(|(x, y)| vec3(x, y, 0.0));
        let triangle = Mesh::new(corners.into(), vec![[0, 1, 2]], vec![], vec![]).unwrap();
        builder.add_shape(Shape::Mesh(triangle), material);
        builder.add_light(AnyLight::Environment(Environment::constant(Vec3::ONE)));
        builder.set_origin(dvec3(1000.0, 2000.0, 3000.0));
        let resolution = (1, 1);
        let camera = Camera::look_at(vec3(0.0, 0.0, -1.0), Vec3::ZERO, Vec3::Y, 0.001, resolution);
        let scene = builder.build(camera).unwrap();
        let film = FilmOptions { features: FeatureLayers::ALL, ..FilmOptions::default() };
        let options = RenderOptions { film, ..RenderOptions::default() };
        let image = render(&scene, &RenderSettings::with_resolution(1, 1), &options).unwrap().image;
        let features = image.features.unwrap();
        assert_eq!(features.position, [[1000.0, 2000.0, 3000.0]]);
        let [r, g, b] = image.radiance[0];
        assert!(r > 0.1 && (g / r - 2.0).abs() < 1e-3 && (b / r - 3.0).abs() < 1e-3, "{r} {g} {b}");
        assert!((features.depth[0] - 1.0).abs() < 1e-6);
    }

    #[test]
    fn invalid_parameters_are_errors() {
        let diffuse = library::find("diffuse").expect("the library has it").text;
        let add = |values: &[(&str, &[f64])]| {
            let error = SceneBuilder::new().add_shader("diffuse.wgsl", diffuse, values);
            error.map_err(|error| error.to_string())
        };
        assert!(add(&[("kd", &[0.5; 3])]).is_ok());
        assert!(add(&[("kds", &[0.5; 3])]).unwrap_err().contains("no parameter kds"));
        for wrong in [&[0.5][..], &[0.5, 0.5, 1.5]] {
            assert!(add(&[("kd", wrong)]).unwrap_err().contains("has 3 components from 0 to 1"));
        }
    }
    #[test]
    fn samplers_that_miss_light_are_replaced() {
        let text = "
            fn brdf(wi: vec3f, wo: vec3f) -> vec3f { return vec3f(0.2); }
            fn sample(u: vec2f, wo: vec3f) -> vec3f { return vec3f(0.0); }
            fn pdf(wi: vec3f, wo: vec3f) -> f32 { return 0.0; }";
        let mut builder = SceneBuilder::new();
        let diffuse = library::find("diffuse").unwrap();
        builder.add_shader(diffuse.name, diffuse.text, &[]).unwrap();
        assert!(builder.warnings().is_empty() && builder.shaders[0].has_valid_sampler);
        builder.add_shader("black.wgsl", text, &[]).unwrap();
        assert!(!builder.shaders[1].has_valid_sampler);
        let [warning] = builder.warnings() else { panic!("{:?}", builder.warnings()) };
        assert!(warning.starts_with("shader black.wgsl: `pdf` is 0 for directions"), "{warning}");
    }
}
