//! Shaders: read and compiled once, however many materials use them.

use super::{Builder, NamedShader};
use crate::material::{Bound, Instance, Program, ProgramError, Setting, library, self_check};
use crate::math::Vec3;
use crate::scene::diagnostics::SceneError;
use crate::scene::file::parse::Entity;
use crate::scene::inputs::Inputs;
use crate::scene::shader_file::{self, ReadError};
use crate::texture::Param;
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
    /// Indices of files by the words that scenes name them with, and by where they are.
    named: HashMap<String, u32>,
    found: HashMap<Origin, u32>,
    programs: HashMap<Variant, Arc<Program>>,
    bound: Vec<Bound>,
    /// Indices of what is bound; textures count by address, and live as long as their users.
    bindings: HashMap<(Variant, Vec<*const Texture>), u32>,
}

/// Where a shader is from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Origin {
    File(PathBuf),
    Library(&'static str),
}

/// Which code is made of a shader.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Variant {
    /// Index of the shader.
    file: u32,
    /// Values of those overrides that are given, as bits.
    overrides: Vec<(String, u64)>,
    /// How each texture is looked up.
    lookups: Vec<Lookup>,
}

impl Variant {
    /// A shader with these overrides and textures.
    pub fn new(file: u32, overrides: &[(String, f64)], lookups: Vec<Lookup>) -> Variant {
        // −0 as 0: both are one value of all types.
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

/// A variant with its textures.
#[derive(Clone, Copy, Debug)]
pub(super) struct Binding {
    /// Its index, as instances count.
    shader: u32,
    /// Whether its code was made just now, of a shader about which nothing is known yet.
    is_unknown: bool,
}

/// Why there is no such shader.
pub(super) enum Missing {
    /// Looked for in all of these places.
    Nowhere(PathBuf),
    /// It cannot be read.
    Read(ReadError),
    /// It is wrong.
    Shader(ShaderError),
}

impl Shaders {
    /// Those that are `given` come before files and the library.
    pub fn new(target: Target, given: &[NamedShader]) -> Shaders {
        Shaders {
            arena: Arena::new(),
            target,
            files: given.iter().map(|(_, shader)| shader.clone()).collect(),
            named: given.iter().map(|(name, _)| name.clone()).zip(0..).collect(),
            found: HashMap::new(),
            programs: HashMap::new(),
            bound: Vec::new(),
            bindings: HashMap::new(),
        }
    }

    /// All that are in use, as instances count them.
    pub fn into_bound(self) -> Vec<Bound> {
        self.bound
    }

    /// A shader that was read.
    pub fn file(&self, file: u32) -> Arc<Shader> {
        self.files[file as usize].clone()
    }

    /// Index of the shader of this file: at `path`, or else the library's of this name.
    pub fn find(
        &mut self,
        name: &str,
        path: impl FnOnce() -> PathBuf,
        inputs: &mut Inputs,
    ) -> Result<u32, Missing> {
        if let Some(&file) = self.named.get(name) {
            return Ok(file);
        }
        let path = path();
        let file = match (path.canonicalize(), library::find(name)) {
            (Ok(real), _) => self.add(Origin::File(real), || {
                let text = shader_file::read(&path, inputs).map_err(Missing::Read)?;
                Shader::parse(&path.display().to_string(), &text).map_err(Missing::Shader)
            })?,
            (Err(_), Some(entry)) => self.library(entry),
            (Err(_), None) => return Err(Missing::Nowhere(path)),
        };
        self.named.insert(name.to_owned(), file);
        Ok(file)
    }

    /// Index of a shader of the library.
    fn library(&mut self, entry: library::Entry) -> u32 {
        let parse = || {
            Ok::<_, std::convert::Infallible>(
                Shader::parse(entry.name, entry.text).expect("the library is right"),
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
        if let Some(&file) = self.found.get(&origin) {
            return Ok(file);
        }
        let file = self.files.len() as u32;
        self.files.push(Arc::new(parse()?));
        self.found.insert(origin, file);
        Ok(file)
    }

    /// Makes code of a variant where there is none yet, and gives it its textures.
    pub fn bind(
        &mut self,
        variant: Variant,
        textures: Vec<Arc<Texture>>,
    ) -> Result<Binding, ProgramError> {
        let key = (variant, textures.iter().map(Arc::as_ptr).collect());
        if let Some(&shader) = self.bindings.get(&key) {
            return Ok(Binding { shader, is_unknown: false });
        }
        let compiled = self.programs.get(&key.0).cloned();
        // Tests check those of the library.
        let is_library = self
            .found
            .iter()
            .any(|(origin, &file)| matches!(origin, Origin::Library(_)) && file == key.0.file);
        let is_unknown = compiled.is_none() && !is_library;
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
        let shader = self.bound.len() as u32;
        let mut bound = Bound::new(program, textures);
        bound.is_sampler_right &= self.uses(&bound.program).all(|other| other.is_sampler_right);
        self.bound.push(bound);
        self.bindings.insert(key, shader);
        Ok(Binding { shader, is_unknown })
    }

    /// All uses of a program so far.
    fn uses(&mut self, program: &Arc<Program>) -> impl Iterator<Item = &mut Bound> {
        self.bound.iter_mut().filter(move |bound| Arc::ptr_eq(&bound.program, program))
    }
}

impl Builder<'_> {
    /// An instance of a shader, with a setting for each of its settable parameters, with which new
    /// code is checked.
    pub(super) fn instance(
        &mut self,
        entity: &Entity,
        Binding { shader, is_unknown }: Binding,
        settings: Vec<Setting>,
    ) -> Result<Instance, SceneError> {
        let bound = &self.shaders.bound[shader as usize];
        let instance = Instance::new(shader, std::iter::zip(&bound.program.settable, settings));
        if !is_unknown {
            return Ok(instance);
        }
        let program = bound.program.clone();
        let name = &program.name;
        let values = self_check::values(bound, &instance)
            .err()
            .map(|found| format!("shader {name}: {found}"));
        let sampler = bound
            .program
            .has_sampler
            .then(|| self_check::sampler(bound, &instance).err())
            .flatten();
        let sampler =
            sampler.map(|found| format!("shader {name}: its `sample` and `pdf` disagree: {found}"));
        if let Some(message) = values {
            self.warn(entity, message, "values as they are, but lightcuts and --light-sampling material-tree may leave out those below 0; surfaces of it may be too dark or too bright, or lose samples")?;
        }
        if let Some(message) = sampler {
            self.shaders.uses(&program).for_each(|bound| bound.is_sampler_right = false);
            self.warn(entity, message, "directions drawn from bounds of `brdf`")?;
        }
        Ok(instance)
    }

    /// An instance of a shader of the library, whose parameters are `values`, cut to their ranges,
    /// and else have their defaults.
    pub(super) fn library(
        &mut self,
        entity: &Entity,
        name: &'static str,
        values: &[(&str, Param)],
    ) -> Result<Instance, SceneError> {
        let file = self.shaders.library(library::find(name).expect("the library is complete"));
        let shader = self.shaders.file(file);
        let parameters = shader.settable();
        debug_assert!(
            values.iter().all(|(name, _)| parameters.iter().any(|p| p.name == *name)),
            "{name} has the parameters"
        );
        let setting =
            |parameter: &Parameter| match values.iter().find(|(name, _)| parameter.name == *name) {
                Some((_, value @ Param::Texture(_))) => Setting::Varying(value.clone()),
                Some((_, Param::Constant(value))) => Setting::Constant(within(parameter, *value)),
                None => Setting::Constant(
                    parameter.default.clone().expect("parameters of the library have defaults"),
                ),
            };
        let settings = parameters.iter().map(setting).collect();
        let bound = self.shaders.bind(Variant::new(file, &[], vec![]), vec![]);
        let bound = bound.map_err(|error| entity.error(format!("{name}: {error}")))?;
        self.instance(entity, bound, settings)
    }
}

/// The first components of a value, cut to the parameter's range.
fn within(parameter: &Parameter, value: Vec3) -> Vec<f64> {
    let [low, high] = parameter.range;
    value.to_array()[..parameter.size].iter().map(|&x| f64::from(x).max(low).min(high)).collect()
}
