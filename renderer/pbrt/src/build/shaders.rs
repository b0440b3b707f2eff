//! Shader cache: each shader is read and compiled once for all materials that use it.

use super::{Builder, NamedShader};
use crate::diagnostics::SceneError;
use crate::file::parse::Entity;
use crate::inputs::InputFiles;
use crate::shader_file::{self, ShaderReadError};
use lightbound::material::{
    Program, ProgramError, Setting, ShaderBinding, ShaderInstance, library, self_check,
};
use lightbound::texture::Param;
use lightbound_math::Vec3;
use lightbound_shader::texture::TextureState;
use lightbound_shader::{
    Arena, Parameter, Settings, Shader, ShaderError, ShaderKind, Target, Texture,
};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The shaders of a scene.
pub(super) struct Shaders {
    arena: Arena,
    target: Target,
    shaders: Vec<Arc<Shader>>,
    /// Indices of shaders by their name in scenes, and the function if it was asked for by name.
    by_name: HashMap<(String, Option<&'static str>), u32>,
    /// Indices of shaders by origin.
    by_origin: HashMap<Origin, u32>,
    /// Those that are part of the program.
    library: HashSet<u32>,
    programs: HashMap<Variant, Arc<Program>>,
    bindings: Vec<ShaderBinding>,
    /// Indices of bindings. Textures are identified by address; the bindings keep them alive.
    binding_indices: HashMap<(Variant, Vec<*const Texture>), u32>,
}

/// Origin of a shader.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Origin {
    File(PathBuf, Option<&'static str>),
    Library(&'static str),
    /// A material of a MaterialX document.
    Document(PathBuf, String),
}

/// A specialization of a shader. Each is compiled separately.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Variant {
    /// Index of the shader.
    shader: u32,
    /// Whether the shader is [`Shader::reflecting`].
    reflects_only: bool,
    /// Names and bits of the overrides that the material sets.
    overrides: Vec<(String, u64)>,
    /// Settings of each texture.
    textures: Vec<TextureState>,
}

/// The function of a shader that displaces a mesh.
pub const DISPLACE: &str = "displace";

impl Variant {
    /// Creates a variant from override values and settings of textures.
    pub fn new(shader: u32, overrides: &[(String, f64)], textures: Vec<TextureState>) -> Variant {
        // −0 and 0 are the same value, so they share a variant.
        let overrides =
            overrides.iter().map(|(name, x)| (name.clone(), (x + 0.0).to_bits())).collect();
        Variant { shader, reflects_only: false, overrides, textures }
    }

    /// Only reflects light if the `settings` of the shader's settable parameters say so.
    pub fn for_settings(self, shader: &Shader, settings: &[Setting]) -> Variant {
        let is_zero = |name: &String| {
            let position = shader.settable().iter().position(|parameter| parameter.name == *name);
            match &settings[position.expect("the front end finds these parameters")] {
                Setting::Constant(components) => components.iter().all(|&x| x == 0.0),
                Setting::Varying(_) => false,
            }
        };
        let names = shader.transmitting();
        Variant { reflects_only: !names.is_empty() && names.iter().all(is_zero), ..self }
    }

    /// Returns the compiler settings of the variant.
    pub fn settings(&self, shader: &Shader) -> Settings {
        let textures =
            std::iter::zip(shader.textures().iter().cloned(), self.textures.iter().copied())
                .collect();
        let overrides = self
            .overrides
            .iter()
            .map(|(name, bits)| (name.clone(), f64::from_bits(*bits)))
            .collect();
        Settings { textures, overrides, ..Settings::default() }
    }
}

/// A handle to a [`ShaderBinding`].
#[derive(Clone, Copy, Debug)]
pub(super) struct BindingHandle {
    /// Index of the binding.
    index: u32,
    /// Whether the program is new.
    is_new: bool,
    /// Whether the shader is one of the library.
    is_library: bool,
}

/// An error from loading a shader.
pub(super) enum FindError {
    /// No such file at this path, nor a library shader.
    NotFound(PathBuf),
    /// The file cannot be read.
    Read(ShaderReadError),
    /// The shader is invalid.
    Shader(ShaderError),
}

impl Shaders {
    /// Creates the cache with `named` shaders, which take precedence over files and the library.
    pub fn new(target: Target, named: &[NamedShader]) -> Shaders {
        let key = |(name, shader): &NamedShader| {
            let function = (shader.function_name() == DISPLACE).then_some(DISPLACE);
            (name.clone(), function)
        };
        Shaders {
            arena: Arena::new(),
            target,
            shaders: named.iter().map(|(_, shader)| shader.clone()).collect(),
            by_name: named.iter().map(key).zip(0..).collect(),
            by_origin: HashMap::new(),
            library: HashSet::new(),
            programs: HashMap::new(),
            bindings: Vec::new(),
            binding_indices: HashMap::new(),
        }
    }

    /// Returns all bindings in the order of their indices.
    pub fn into_bindings(self) -> Vec<ShaderBinding> {
        self.bindings
    }

    /// Returns the shader with this index.
    pub fn get(&self, shader: u32) -> Arc<Shader> {
        self.shaders[shader as usize].clone()
    }

    /// Returns the settable parameters of the shader of an instance.
    pub fn settable(&self, instance: &ShaderInstance) -> &[Parameter] {
        &self.bindings[instance.shader as usize].program.settable
    }

    /// Returns the index of the shader file at `path`, for one of its functions.
    pub fn find_function(
        &mut self,
        name: &str,
        function: &'static str,
        path: impl FnOnce() -> PathBuf,
        inputs: &mut InputFiles,
    ) -> Result<u32, FindError> {
        let key = (name.to_owned(), Some(function));
        if let Some(&shader) = self.by_name.get(&key) {
            return Ok(shader);
        }
        let path = path();
        let Ok(canonical) = path.canonicalize() else { return Err(FindError::NotFound(path)) };
        let shader = self.add(Origin::File(canonical, Some(function)), || {
            let text = shader_file::read(&path, inputs).map_err(FindError::Read)?;
            let name = path.display().to_string();
            Shader::parse_function(&name, &text, function).map_err(FindError::Shader)
        })?;
        self.by_name.insert(key, shader);
        Ok(shader)
    }

    /// Returns the index of the shader file at `path`, or else of the library shader `name`. `kind`
    /// is the expected kind, for messages.
    pub fn find(
        &mut self,
        name: &str,
        kind: ShaderKind,
        path: impl FnOnce() -> PathBuf,
        inputs: &mut InputFiles,
    ) -> Result<u32, FindError> {
        let key = (name.to_owned(), None);
        if let Some(&shader) = self.by_name.get(&key) {
            return Ok(shader);
        }
        let path = path();
        let shader = match (path.canonicalize(), library::find(name)) {
            (Ok(canonical), _) => self.add(Origin::File(canonical, None), || {
                let text = shader_file::read(&path, inputs).map_err(FindError::Read)?;
                let name = path.display().to_string();
                Shader::parse_expecting(&name, &text, kind).map_err(FindError::Shader)
            })?,
            (Err(_), Some(entry)) => self.library(entry),
            (Err(_), None) => return Err(FindError::NotFound(path)),
        };
        self.by_name.insert(key, shader);
        Ok(shader)
    }

    /// Returns the index of a shader that is part of the program.
    pub fn library(&mut self, entry: library::LibraryShader) -> u32 {
        let parse = || {
            Ok::<_, std::convert::Infallible>(
                Shader::parse(entry.name, entry.text).expect("embedded shaders are valid"),
            )
        };
        let Ok(shader) = self.add(Origin::Library(entry.name), parse);
        self.library.insert(shader);
        shader
    }

    /// Returns the index of a shader that was made from a material of a document, if it was added.
    pub fn find_converted(&self, document: &Path, material: &str) -> Option<u32> {
        self.by_origin.get(&Origin::Document(document.into(), material.into())).copied()
    }

    /// Adds a shader that was made from a material of a document, and returns its index.
    pub fn add_converted(&mut self, document: &Path, material: &str, shader: Shader) -> u32 {
        let origin = Origin::Document(document.into(), material.into());
        let Ok(index) = self.add(origin, || Ok::<_, std::convert::Infallible>(shader));
        index
    }

    /// Returns the index of the shader of this origin; parses it if it is new.
    fn add<E>(
        &mut self,
        origin: Origin,
        parse: impl FnOnce() -> Result<Shader, E>,
    ) -> Result<u32, E> {
        if let Some(&shader) = self.by_origin.get(&origin) {
            return Ok(shader);
        }
        let shader = self.shaders.len() as u32;
        self.shaders.push(Arc::new(parse()?));
        self.by_origin.insert(origin, shader);
        Ok(shader)
    }

    /// Compiles a variant, unless it is cached, and binds its textures.
    pub fn bind(
        &mut self,
        variant: Variant,
        textures: Vec<Arc<Texture>>,
    ) -> Result<BindingHandle, ProgramError> {
        let is_library = self.library.contains(&variant.shader);
        let key = (variant, textures.iter().map(Arc::as_ptr).collect());
        if let Some(&index) = self.binding_indices.get(&key) {
            return Ok(BindingHandle { index, is_new: false, is_library });
        }
        let compiled = self.programs.get(&key.0).cloned();
        let is_new = compiled.is_none();
        let program = match compiled {
            Some(program) => program,
            None => {
                let mut shader = self.shaders[key.0.shader as usize].clone();
                if key.0.reflects_only {
                    shader = Arc::new(shader.reflecting());
                }
                let settings = key.0.settings(&shader);
                let program = Program::compile(&self.arena, &shader, &settings, self.target)?;
                let program = Arc::new(program);
                self.programs.insert(key.0.clone(), program.clone());
                program
            }
        };
        let index = self.bindings.len() as u32;
        let mut binding = ShaderBinding::new(program, textures);
        binding.has_valid_sampler &=
            self.bindings_of(&binding.program).all(|other| other.has_valid_sampler);
        self.bindings.push(binding);
        self.binding_indices.insert(key, index);
        Ok(BindingHandle { index, is_new, is_library })
    }

    /// Iterates over the bindings of a program.
    fn bindings_of(&mut self, program: &Arc<Program>) -> impl Iterator<Item = &mut ShaderBinding> {
        self.bindings.iter_mut().filter(move |binding| Arc::ptr_eq(&binding.program, program))
    }
}

impl Builder<'_> {
    /// Creates an instance of a shader with a setting for each settable parameter. Checks its
    /// values if the program is new, and its sampler. Tests check the shaders of the library.
    pub(super) fn instance(
        &mut self,
        entity: &Entity,
        BindingHandle { index, is_new, is_library }: BindingHandle,
        settings: Vec<Setting>,
    ) -> Result<ShaderInstance, SceneError> {
        let binding = &self.shaders.bindings[index as usize];
        let instance =
            ShaderInstance::new(index, std::iter::zip(&binding.program.settable, settings));
        if !is_library {
            if is_new {
                self.check_values(entity, &instance)?;
            }
            self.check_sampler(entity, &instance, is_new)?;
        }
        Ok(instance)
    }

    /// Checks that a sampler covers the shader for an instance's parameters, and if the program is
    /// new, that it matches its density.
    fn check_sampler(
        &mut self,
        entity: &Entity,
        instance: &ShaderInstance,
        is_new: bool,
    ) -> Result<(), SceneError> {
        let binding = &self.shaders.bindings[instance.shader as usize];
        if !binding.has_valid_sampler {
            return Ok(());
        }
        let program = binding.program.clone();
        let problem = if is_new && let Err(fault) = self_check::check_sampler(binding, instance) {
            fault.to_string()
        } else if let Err(light) = self_check::check_coverage(binding, instance) {
            light.to_string()
        } else {
            return Ok(());
        };
        self.shaders.bindings_of(&program).for_each(|binding| binding.has_valid_sampler = false);
        let function = match program.kind() {
            ShaderKind::Phase => "phase",
            _ => "brdf",
        };
        let fallback = format!("directions sampled from bounds on `{function}`");
        self.warn(entity, format!("shader {}: {problem}", program.name), fallback)
    }

    /// Checks the values of a program for an instance's parameters.
    fn check_values(
        &mut self,
        entity: &Entity,
        instance: &ShaderInstance,
    ) -> Result<(), SceneError> {
        let binding = &self.shaders.bindings[instance.shader as usize];
        let program = binding.program.clone();
        let name = &program.name;
        let value_warning = self_check::check_values(binding, instance)
            .err()
            .map(|problem| format!("shader {name}: {problem}"));
        let is_phase = program.kind() == ShaderKind::Phase;
        let integral_warning = is_phase
            .then(|| self_check::check_normalization(binding, instance).err())
            .flatten()
            .map(|problem| format!("phase function {name}: {problem}"));
        for message in program.warnings() {
            self.warn(entity, message, "it is ignored")?;
        }
        if let Some(message) = value_warning {
            self.warn(entity, message, "it is not changed; lightcuts and --light-sampling material-tree may drop negative values, and surfaces with this material may be too dark or too bright, or lose samples")?;
        }
        if let Some(message) = integral_warning {
            self.warn(
                entity,
                message,
                "it is not changed; media with it scatter too much or too little light",
            )?;
        }
        Ok(())
    }

    /// Creates an instance of a library shader. Clamps constant `values` to the ranges of the
    /// parameters; all other parameters have defaults.
    pub(super) fn library(
        &mut self,
        entity: &Entity,
        name: &'static str,
        values: &[(&str, Param)],
    ) -> Result<ShaderInstance, SceneError> {
        let index = self.shaders.library(library::find(name).expect("the library has this shader"));
        let shader = self.shaders.get(index);
        let parameters = shader.settable();
        debug_assert!(
            values.iter().all(|(name, _)| parameters.iter().any(|p| p.name == *name)),
            "{name} lacks one of the parameters"
        );
        let setting =
            |parameter: &Parameter| match values.iter().find(|(name, _)| parameter.name == *name) {
                Some((_, value @ Param::Texture(_))) => Setting::Varying(value.clone()),
                Some((_, Param::Constant(value))) => {
                    Setting::Constant(clamp_to_range(parameter, *value))
                }
                None => Setting::Constant(
                    parameter.default.clone().expect("parameters of library shaders have defaults"),
                ),
            };
        let settings = parameters.iter().map(setting).collect();
        let binding = self.shaders.bind(Variant::new(index, &[], vec![]), vec![]);
        let binding = binding.map_err(|error| entity.error(format!("{name}: {error}")))?;
        self.instance(entity, binding, settings)
    }
}

/// Converts a value to the size of a parameter and clamps it to its range.
fn clamp_to_range(parameter: &Parameter, value: Vec3) -> Vec<f64> {
    let [low, high] = parameter.range;
    value.to_array()[..parameter.size].iter().map(|&x| f64::from(x).max(low).min(high)).collect()
}
