//! Shaders: read and compiled once, however many materials use them.

use super::Builder;
use crate::material::{Bound, Instance, Program, ProgramError, Setting, library};
use crate::math::Vec3;
use crate::scene::diagnostics::SceneError;
use crate::scene::file::parse::Entity;
use crate::texture::Param;
use lightbound_shader::{Arena, Parameter, Settings, Shader, Target};
use std::collections::HashMap;
use std::sync::Arc;

/// The compiled shaders of a scene.
pub(super) struct Shaders {
    arena: Arena,
    target: Target,
    bound: Vec<Bound>,
    /// Those of the library, by file name.
    library: HashMap<&'static str, u32>,
}

impl Shaders {
    pub fn new(target: Target) -> Shaders {
        Shaders { arena: Arena::new(), target, bound: Vec::new(), library: HashMap::new() }
    }

    /// All of them, as instances count them.
    pub fn into_bound(self) -> Vec<Bound> {
        self.bound
    }

    /// The settable parameters of a shader.
    fn parameters(&self, shader: u32) -> &[Parameter] {
        &self.bound[shader as usize].program.settable
    }

    fn add(&mut self, shader: &Shader, settings: &Settings) -> Result<u32, ProgramError> {
        let program = Arc::new(Program::compile(&self.arena, shader, settings, self.target)?);
        self.bound.push(Bound { program, textures: Vec::new() });
        Ok(self.bound.len() as u32 - 1)
    }
}

impl Builder<'_> {
    /// An instance of a shader of the library, whose parameters are `values`, cut to their ranges, and else have their defaults.
    pub(super) fn library(
        &mut self,
        entity: &Entity,
        name: &'static str,
        values: &[(&str, Param)],
    ) -> Result<Instance, SceneError> {
        let shader = match self.shaders.library.get(name) {
            Some(&shader) => shader,
            None => {
                let entry = library::find(name).expect("the library is complete");
                let shader = Shader::parse(entry.name, entry.text).expect("the library is right");
                let added = self.shaders.add(&shader, &Settings::default());
                let shader = added.map_err(|error| entity.error(format!("{name}: {error}")))?;
                self.shaders.library.insert(name, shader);
                shader
            }
        };
        let parameters = self.shaders.parameters(shader);
        debug_assert!(values.iter().all(|(name, _)| parameters.iter().any(|p| p.name == *name)), "{name} has the parameters");
        let setting = |parameter: &Parameter| match values.iter().find(|(name, _)| parameter.name == *name) {
            Some((_, value @ Param::Texture(_))) => Setting::Varying(value.clone()),
            Some((_, Param::Constant(value))) => Setting::Constant(within(parameter, *value)),
            None => Setting::Constant(parameter.default.clone().expect("parameters of the library have defaults")),
        };
        Ok(Instance::new(shader, parameters.iter().map(|parameter| (parameter, setting(parameter)))))
    }
}

/// The first components of a value, cut to the parameter's range.
fn within(parameter: &Parameter, value: Vec3) -> Vec<f64> {
    let [low, high] = parameter.range;
    value.to_array()[..parameter.size].iter().map(|&x| f64::from(x).max(low).min(high)).collect()
}
