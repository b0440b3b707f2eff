//! The interpreter: executes directives on the graphics state and produces a [`Description`].
//!
//! Directives set, push and pop the current transform, material, light and media, which shapes
//! inherit. Order, scopes and defaults follow pbrt-v4 (src/pbrt/scene.cpp). Unlike in pbrt-v4,
//! undefined names are errors even if no shape uses them, unknown coordinate systems are errors,
//! and imported files see the coordinate systems of the importing file.

mod entities;
mod names;
mod objects;
mod settings;
mod state;

use super::{
    Description, LightEntity, MaterialEntity, MediumEntity, MediumInterface, ObjectEntity,
    ShapeEntity,
};
use crate::ctm::{CheckedTransform, Ctm};
use crate::diagnostics::{Diagnostics, Location, SceneError, Source};
use crate::file::params::ParamSet;
use crate::file::parse::{Directive, Entity, Name, Parser, Statement};
use crate::inputs::InputFiles;
use entities::AttributeTarget;
use glam::DAffine3;
use names::{NameTable, undefined};
use state::{GraphicsState, Scope};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Executes the statements of a source and its includes.
pub fn interpret(
    source: Arc<Source>,
    diagnostics: &mut Diagnostics,
) -> Result<Description, SceneError> {
    let mut interpreter = Interpreter::new(&source, diagnostics);
    let end = interpreter.run(source, None)?;
    interpreter.finish(&end)
}

/// Maximum depth of nested includes.
const MAX_INCLUDE_DEPTH: usize = 100;

struct Interpreter<'d> {
    diagnostics: &'d mut Diagnostics,
    scene: Description,
    /// Files being read, outermost first.
    open_files: Vec<PathBuf>,
    in_world: bool,
    state: GraphicsState,
    /// Saved states, each with its scope and the location of the directive that opened it.
    saved: Vec<(GraphicsState, Scope, Location)>,
    /// Length of `saved` at the start of the current import; `pop` stops there.
    stack_base: usize,
    coordinate_systems: HashMap<String, [CheckedTransform; 2]>,
    materials: NameTable<MaterialEntity>,
    media: NameTable<MediumEntity>,
    objects: NameTable<ObjectEntity>,
    /// Locations of texture definitions by name and
    /// [`TextureEntity::is_float`](super::TextureEntity).
    textures: HashMap<(String, bool), Location>,
    /// Name and shapes of the object being defined.
    object: Option<(Name, Vec<ShapeEntity>)>,
}

impl<'d> Interpreter<'d> {
    fn new(source: &Arc<Source>, diagnostics: &'d mut Diagnostics) -> Interpreter<'d> {
        let folder = source.path().parent().map(Path::to_path_buf).unwrap_or_default();
        let start = Location::new(source.clone(), 1, 1);
        let diffuse =
            Entity { name: "diffuse".into(), params: ParamSet::default(), location: start };
        let mut materials = NameTable::new("material");
        materials.push(MaterialEntity { name: None, entity: diffuse });
        Interpreter {
            diagnostics,
            scene: Description {
                inputs: InputFiles::new(&folder).with_memory(source.files().clone()),
                folder,
                transform_times: [0.0, 1.0],
                ..Description::default()
            },
            open_files: Vec::new(),
            in_world: false,
            state: GraphicsState::default(),
            saved: Vec::new(),
            stack_base: 0,
            coordinate_systems: HashMap::new(),
            materials,
            media: NameTable::new("medium"),
            objects: NameTable::new("object"),
            textures: HashMap::new(),
            object: None,
        }
    }

    /// Executes the statements of a source and returns the location of its end.
    fn run(
        &mut self,
        source: Arc<Source>,
        included_at: Option<&Location>,
    ) -> Result<Location, SceneError> {
        let name = source.path().display().to_string();
        let fail = |message: String| match included_at {
            Some(location) => SceneError::at(location, message),
            None => SceneError::new(message),
        };
        let canonical =
            std::fs::canonicalize(source.path()).unwrap_or_else(|_| source.path().to_path_buf());
        if self.open_files.contains(&canonical) {
            let chain: Vec<String> =
                self.open_files.iter().map(|path| path.display().to_string()).collect();
            let error = fail(format!("{name} includes itself"));
            return Err(error.help(format!("break the cycle: {} → {name}", chain.join(" → "))));
        }
        if self.open_files.len() > MAX_INCLUDE_DEPTH {
            return Err(fail(format!(
                "{name} is nested more than {MAX_INCLUDE_DEPTH} includes deep"
            ))
            .help("reduce the nesting of includes"));
        }
        let text = source.read().map_err(|e| {
            fail(format!("cannot read {name}: {e}")).help(match included_at {
                Some(_) => "file names are relative to the folder of the main scene file",
                None => "give the path of a pbrt-v4 scene file",
            })
        })?;
        match included_at {
            Some(_) => self.scene.inputs.add(source.path(), &text),
            None => self.scene.inputs.add_main(&text),
        }
        self.open_files.push(canonical);
        let mut parser = Parser::new(&text, source.clone())?;
        while let Some(statement) = parser.next(self.diagnostics)? {
            self.statement(statement)?;
        }
        self.open_files.pop();
        Ok(parser.location())
    }

    /// Checks that everything is defined and closed at the end of the scene, and returns the
    /// result.
    fn finish(mut self, end: &Location) -> Result<Description, SceneError> {
        if !self.in_world {
            let error = SceneError::at(end, "the scene ends without WorldBegin");
            return Err(
                error.help("put WorldBegin between the settings (camera, film, …) and the shapes")
            );
        }
        self.check_closed()?;
        self.check_textures()?;
        self.scene.materials = self.materials.finish()?;
        self.scene.media = self.media.finish()?;
        self.scene.objects = self.objects.finish()?;
        Ok(self.scene)
    }

    /// Checks that all scopes opened in the current import are closed.
    fn check_closed(&self) -> Result<(), SceneError> {
        let Some((_, scope, location)) = self.saved[self.stack_base..].last() else {
            return Ok(());
        };
        let error = SceneError::at(location, format!("{} is never closed", scope.begin()));
        Err(error.help(format!(
            "add {} before the end of the file, unless the file is truncated",
            scope.end()
        )))
    }

    /// Warns about a transform before `WorldBegin` that no camera uses.
    fn warn_about_lost_view(&mut self, world: &Location) -> Result<(), SceneError> {
        let is_identity = |t: &CheckedTransform| matches!(t, Ok(t) if *t == DAffine3::IDENTITY);
        if self.scene.camera.is_some() || self.state.ctm.transforms.iter().all(is_identity) {
            return Ok(());
        }
        self.diagnostics.warn(
            Some(world),
            "the scene has no Camera to use the transform before WorldBegin",
            "a perspective camera at the origin that looks along +z",
        )
    }

    /// Executes one statement.
    fn statement(
        &mut self,
        Statement { keyword, mut directive, location }: Statement,
    ) -> Result<(), SceneError> {
        self.check_order(keyword, &directive, &location)?;
        if let Some(params) = directive.params_mut() {
            params.set_colour_space(self.state.colour_space);
        }
        match directive {
            Directive::Include(name) => self.include(&name)?,
            Directive::Import(name) => self.import(&name)?,
            Directive::Option { name, value } => self.option(name, value)?,
            Directive::ColorSpace(name) => self.color_space(&name)?,
            Directive::Setting(setting, entity) => {
                self.setting(keyword, setting, entity, &location)?
            }
            Directive::WorldBegin => {
                self.in_world = true;
                self.warn_about_lost_view(&location)?;
                self.state.ctm = Ctm::default();
                self.coordinate_systems.insert("world".into(), self.state.ctm.transforms.clone());
            }
            Directive::AttributeBegin => {
                self.saved.push((self.state.clone(), Scope::Attribute, location))
            }
            Directive::AttributeEnd => self.pop(Scope::Attribute, keyword, &location)?,
            Directive::Attribute { target, params } => self.attribute(&target, &params)?,
            Directive::CoordinateSystem(name) => {
                self.coordinate_systems.insert(name.text, self.state.ctm.transforms.clone());
            }
            Directive::CoordSysTransform(name) => match self.coordinate_systems.get(&name.text) {
                Some(transforms) => self.state.ctm.transforms = transforms.clone(),
                None => {
                    let known = self.coordinate_systems.keys().map(String::as_str);
                    return Err(undefined("coordinate system", &name, known));
                }
            },
            Directive::ActiveTransform(active) => self.state.ctm.active = active,
            Directive::TransformTimes(times) => {
                let [start, end] = times.map(|time| time as f32);
                if start >= end {
                    let message = "the end of TransformTimes is not after its start";
                    self.diagnostics.warn(
                        Some(&location),
                        message,
                        "the transforms at the start time",
                    )?;
                }
                self.scene.transform_times = [start, end];
            }
            Directive::ReverseOrientation => self.state.reverse_orientation ^= true,
            Directive::ObjectBegin(name) => self.object_begin(name, location)?,
            Directive::ObjectEnd => self.object_end(&location)?,
            Directive::ObjectInstance(name) => self.instance(&name, location)?,
            Directive::MediumInterface { inside, outside } => {
                let mut medium =
                    |name: &Name| (!name.text.is_empty()).then(|| self.media.reference(name));
                let (inside, outside) = (medium(&inside), medium(&outside));
                self.state.media = (inside.is_some() || outside.is_some())
                    .then_some(MediumInterface { inside, outside });
            }
            Directive::MakeNamedMedium(name, params) => {
                let entity = self.entity_from_type_param(
                    &name,
                    params,
                    AttributeTarget::Medium,
                    "MakeNamedMedium",
                )?;
                let ctm = self.ctm(&location, "medium")?;
                let medium = MediumEntity { name: name.text.clone(), entity, ctm };
                self.media.define(&name, medium)?;
            }
            Directive::Material(entity) => {
                let mut entity =
                    self.apply_attribute_defaults(entity, AttributeTarget::Material)?;
                self.rename_interface(&mut entity)?;
                self.state.material = self.materials.push(MaterialEntity { name: None, entity });
            }
            Directive::MakeNamedMaterial(name, params) => {
                let mut entity = self.entity_from_type_param(
                    &name,
                    params,
                    AttributeTarget::Material,
                    "MakeNamedMaterial",
                )?;
                self.rename_interface(&mut entity)?;
                self.materials
                    .define(&name, MaterialEntity { name: Some(name.text.clone()), entity })?;
            }
            Directive::NamedMaterial(name) => self.state.material = self.materials.reference(&name),
            Directive::Texture { name, is_float, entity } => {
                self.texture(name, is_float, entity)?
            }
            Directive::LightSource(entity) => {
                let (ctm, end_ctm) = self.moving_ctm(&location, "light")?;
                let light = LightEntity {
                    ctm,
                    end_ctm,
                    entity: self.apply_attribute_defaults(entity, AttributeTarget::Light)?,
                };
                self.scene.lights.push(light);
            }
            Directive::AreaLightSource(entity) => {
                let emits = !entity.name.is_empty();
                self.state.area_light = emits.then_some(self.scene.area_lights.len());
                if emits {
                    let entity = self.apply_attribute_defaults(entity, AttributeTarget::Light)?;
                    self.scene.area_lights.push(entity);
                }
            }
            Directive::Shape(entity) => self.shape(entity, &location)?,
            transform => self.transform(&transform, keyword, &location),
        }
        Ok(())
    }

    /// Checks that settings come before `WorldBegin`, and contents of the world after it.
    fn check_order(
        &self,
        keyword: &str,
        directive: &Directive,
        location: &Location,
    ) -> Result<(), SceneError> {
        let error =
            |message: String, remedy: &str| Err(SceneError::at(location, message).help(remedy));
        match directive {
            Directive::WorldBegin if self.in_world => {
                error("WorldBegin is given twice".into(), "remove this one; a scene has one world")
            }
            Directive::Setting(..) | Directive::TransformTimes(_) if self.in_world => {
                error(format!("{keyword} comes after WorldBegin"), "move it before WorldBegin")
            }
            Directive::AttributeBegin | Directive::AttributeEnd if !self.in_world => error(
                format!("{keyword} comes before WorldBegin"),
                "remove it; settings have no scopes in pbrt-v4, and WorldBegin resets the transform",
            ),
            Directive::Import(_)
            | Directive::ReverseOrientation
            | Directive::ObjectBegin(_)
            | Directive::ObjectEnd
            | Directive::ObjectInstance(_)
            | Directive::Material(_)
            | Directive::MakeNamedMaterial(..)
            | Directive::NamedMaterial(_)
            | Directive::Texture { .. }
            | Directive::LightSource(_)
            | Directive::AreaLightSource(_)
            | Directive::Shape(_)
                if !self.in_world =>
            {
                error(format!("{keyword} comes before WorldBegin"), "move it after WorldBegin")
            }
            _ => Ok(()),
        }
    }

    fn include(&mut self, name: &Name) -> Result<(), SceneError> {
        let source = Source::file(self.scene.resolve(&name.text));
        self.run(source, Some(&name.location)).map(drop)
    }

    /// Includes a file with its own copy of the graphics state.
    fn import(&mut self, name: &Name) -> Result<(), SceneError> {
        let base = std::mem::replace(&mut self.stack_base, self.saved.len());
        let (state, systems) = (self.state.clone(), self.coordinate_systems.clone());
        self.include(name)?;
        self.check_closed()?;
        (self.stack_base, self.state, self.coordinate_systems) = (base, state, systems);
        Ok(())
    }
}
