//! Shader cache: each shader is read and compiled once for all materials that use it.

use super::{Builder, NamedShader};
use crate::diagnostics::SceneError;
use crate::file::parse::Entity;
use crate::inputs::Inputs;
use crate::shader_file::{self, ReadError};
use lightbound::material::{
    Program, ProgramError, Setting, ShaderBinding, ShaderInstance, library, self_check,
};
use lightbound::texture::Param;
use lightbound_math::Vec3;
use lightbound_shader::texture::Lookup;
use lightbound_shader::{Arena, Parameter, Settings, Shader, ShaderError, Target, Texture};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

/// The shaders of a scene, read and compiled.
pub(super) struct Shaders {
    arena: Arena,
    target: Target,
    files: Vec<Arc<Shader>>,
    /// Indices of files, by their name in scenes and by origin.
    by_name: HashMap<String, u32>,
    by_origin: HashMap<Origin, u32>,
    programs: HashMap<Variant, Arc<Program>>,
    bindings: Vec<ShaderBinding>,
    /// Indices of bindings. Textures are identified by address; the bindings keep them alive.
    binding_indices: HashMap<(Variant, Vec<*const Texture>), u32>,
}

/// Origin of a shader.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Origin {
    File(PathBuf),
    Library(&'static str),
}

/// A specialization of a shader, which is compiled separately.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Variant {
    /// Index of the shader.
    file: u32,
    /// Values of the given overrides, as bits.
    overrides: Vec<(String, u64)>,
    /// Lookup settings of each texture.
    lookups: Vec<Lookup>,
}

impl Variant {
    /// A shader with these overrides and texture lookups.
    pub fn new(file: u32, overrides: &[(String, f64)], lookups: Vec<Lookup>) -> Variant {
        // −0 is stored as 0, which is the same value in all types.
        let overrides =
            overrides.iter().map(|(name, x)| (name.clone(), (x + 0.0).to_bits())).collect();
        Variant { file, overrides, lookups }
    }

    fn settings(&self, shader: &Shader) -> Settings {
        let textures =
            std::iter::zip(shader.textures().iter().cloned(), self.lookups.iter().copied())
                .collect();
        let overrides = self
            .overrides
            .iter()
            .map(|(name, bits)| (name.clone(), f64::from_bits(*bits)))
            .collect();
        Settings { textures, overrides, ..Settings::default() }
    }
}

/// Refers to a variant with its textures.
#[derive(Clone, Copy, Debug)]
pub(super) struct Binding {
    /// Index of the [`ShaderBinding`].
    shader: u32,
    /// Whether its program is newly compiled and has not passed the self-check yet.
    needs_check: bool,
}

/// Why a shader cannot be loaded.
pub(super) enum FindError {
    /// Neither at this path nor in the library.
    NotFound(PathBuf),
    /// The file cannot be read.
    Read(ReadError),
    /// The shader is invalid.
    Shader(ShaderError),
}

impl Shaders {
    /// Starts with the `given` shaders, which take precedence over files and the library.
    pub fn new(target: Target, given: &[NamedShader]) -> Shaders {
        Shaders {
            arena: Arena::new(),
            target,
            files: given.iter().map(|(_, shader)| shader.clone()).collect(),
            by_name: given.iter().map(|(name, _)| name.clone()).zip(0..).collect(),
            by_origin: HashMap::new(),
            programs: HashMap::new(),
            bindings: Vec::new(),
            binding_indices: HashMap::new(),
        }
    }

    /// All bindings, in the order of their indices.
    pub fn into_bindings(self) -> Vec<ShaderBinding> {
        self.bindings
    }

    /// The shader with this index.
    pub fn file(&self, file: u32) -> Arc<Shader> {
        self.files[file as usize].clone()
    }

    /// Index of the shader file at `path`, or else of the library shader called `name`.
    pub fn find(
        &mut self,
        name: &str,
        path: impl FnOnce() -> PathBuf,
        inputs: &mut Inputs,
    ) -> Result<u32, FindError> {
        if let Some(&file) = self.by_name.get(name) {
            return Ok(file);
        }
        let path = path();
        let file = match (path.canonicalize(), library::find(name)) {
            (Ok(canonical), _) => self.add(Origin::File(canonical), || {
                let text = shader_file::read(&path, inputs).map_err(FindError::Read)?;
                Shader::parse(&path.display().to_string(), &text).map_err(FindError::Shader)
            })?,
            (Err(_), Some(entry)) => self.library(entry),
            (Err(_), None) => return Err(FindError::NotFound(path)),
        };
        self.by_name.insert(name.to_owned(), file);
        Ok(file)
    }

    /// Index of a library shader.
    fn library(&mut self, entry: library::LibraryShader) -> u32 {
        let parse = || {
            Ok::<_, std::convert::Infallible>(
                Shader::parse(entry.name, entry.text).expect("library shaders are valid"),
            )
        };
        let Ok(file) = self.add(Origin::Library(entry.name), parse);
        file
    }

    fn add<E>(
        &mut self,
        origin: Origin,
        parse: impl FnOnce() -> Result<Shader, E>,
    ) -> Result<u32, E> {
        if let Some(&file) = self.by_origin.get(&origin) {
            return Ok(file);
        }
        let file = self.files.len() as u32;
        self.files.push(Arc::new(parse()?));
        self.by_origin.insert(origin, file);
        Ok(file)
    }

    /// Compiles a variant, unless it is cached, and binds its textures.
    pub fn bind(
        &mut self,
        variant: Variant,
        textures: Vec<Arc<Texture>>,
    ) -> Result<Binding, ProgramError> {
        let key = (variant, textures.iter().map(Arc::as_ptr).collect());
        if let Some(&shader) = self.binding_indices.get(&key) {
            return Ok(Binding { shader, needs_check: false });
        }
        let compiled = self.programs.get(&key.0).cloned();
        // Library shaders are checked by tests.
        let is_library = self
            .by_origin
            .iter()
            .any(|(origin, &file)| matches!(origin, Origin::Library(_)) && file == key.0.file);
        let needs_check = compiled.is_none() && !is_library;
        let program = match compiled {
            Some(program) => program,
            None => {
                let shader = &self.files[key.0.file as usize];
                let program = Arc::new(Program::compile(
                    &self.arena,
                    shader,
                    &key.0.settings(shader),
                    self.target,
                )?);
                self.programs.insert(key.0.clone(), program.clone());
                program
            }
        };
        let shader = self.bindings.len() as u32;
        let mut binding = ShaderBinding::new(program, textures);
        binding.has_valid_sampler &=
            self.bindings_of(&binding.program).all(|other| other.has_valid_sampler);
        self.bindings.push(binding);
        self.binding_indices.insert(key, shader);
        Ok(Binding { shader, needs_check })
    }

    /// All existing bindings of a program.
    fn bindings_of(&mut self, program: &Arc<Program>) -> impl Iterator<Item = &mut ShaderBinding> {
        self.bindings.iter_mut().filter(move |binding| Arc::ptr_eq(&binding.program, program))
    }
}

impl Builder<'_> {
    /// An instance of a shader, with a setting for each settable parameter. A newly compiled program
    /// is checked with these settings.
    pub(super) fn instance(
        &mut self,
        entity: &Entity,
        Binding { shader, needs_check }: Binding,
        settings: Vec<Setting>,
    ) -> Result<ShaderInstance, SceneError> {
        let binding = &self.shaders.bindings[shader as usize];
        let instance =
            ShaderInstance::new(shader, std::iter::zip(&binding.program.settable, settings));
        if !needs_check {
            return Ok(instance);
        }
        let program = binding.program.clone();
        let name = &program.name;
        let values = self_check::check_values(binding, &instance)
            .err()
            .map(|found| format!("shader {name}: {found}"));
        let sampler = binding
            .program
            .has_sampler
            .then(|| self_check::check_sampler(binding, &instance).err())
            .flatten();
        let sampler =
            sampler.map(|found| format!("shader {name}: its `sample` and `pdf` disagree: {found}"));
        if let Some(message) = values {
            self.warn(entity, message, "the values unchanged, but lightcuts and --light-sampling material-tree may drop negative values; surfaces with this material may be too dark or too bright, or lose samples")?;
        }
        if let Some(message) = sampler {
            self.shaders
                .bindings_of(&program)
                .for_each(|binding| binding.has_valid_sampler = false);
            self.warn(entity, message, "directions sampled from bounds of `brdf`")?;
        }
        Ok(instance)
    }

    /// An instance of a library shader. Its parameters are `values`, clamped to their ranges, or else
    /// the defaults.
    pub(super) fn library(
        &mut self,
        entity: &Entity,
        name: &'static str,
        values: &[(&str, Param)],
    ) -> Result<ShaderInstance, SceneError> {
        let file = self.shaders.library(library::find(name).expect("the library has this shader"));
        let shader = self.shaders.file(file);
        let parameters = shader.settable();
        debug_assert!(
            values.iter().all(|(name, _)| parameters.iter().any(|p| p.name == *name)),
            "{name} has all these parameters"
        );
        let setting =
            |parameter: &Parameter| match values.iter().find(|(name, _)| parameter.name == *name) {
                Some((_, value @ Param::Texture(_))) => Setting::Varying(value.clone()),
                Some((_, Param::Constant(value))) => Setting::Constant(clamped(parameter, *value)),
                None => Setting::Constant(
                    parameter.default.clone().expect("parameters of library shaders have defaults"),
                ),
            };
        let settings = parameters.iter().map(setting).collect();
        let binding = self.shaders.bind(Variant::new(file, &[], vec![]), vec![]);
        let binding = binding.map_err(|error| entity.error(format!("{name}: {error}")))?;
        self.instance(entity, binding, settings)
    }
}

/// The first components of a value, clamped to the parameter's range.
fn clamped(parameter: &Parameter, value: Vec3) -> Vec<f64> {
    let [low, high] = parameter.range;
    value.to_array()[..parameter.size].iter().map(|&x| f64::from(x).max(low).min(high)).collect()
}
