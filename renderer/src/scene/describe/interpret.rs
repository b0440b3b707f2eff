//! The graphics state: directives in, a [`Description`] out.
//!
//! Transforms, the current material, light and media are set, pushed and popped, and shapes take
//! what is current. Rules of order, scopes and defaults follow pbrt-v4 (src/pbrt/scene.cpp).
//! Departures: a name that is mentioned but never defined is an error even where no shape uses it,
//! and so is an unknown coordinate system; imports see the coordinate systems around them.

use super::{
    CameraEntity, Description, Instance, LightEntity, MaterialEntity, MediumEntity,
    MediumInterface, ObjectEntity, SceneOption, ShapeEntity, TextureEntity,
};
use crate::scene::ctm::{self, Ctm};
use crate::scene::diagnostics::{Diagnostics, Location, SceneError, Source, did_you_mean};
use crate::scene::file::params::{Param, ParamSet, ParamType, Values};
use crate::scene::file::parse::{Directive, Entity, Name, Parser, Setting, Statement};
use crate::scene::inputs::Inputs;
use glam::{DAffine3, DVec3};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Runs the statements of a source and all it includes.
pub fn interpret(
    source: Arc<Source>,
    diagnostics: &mut Diagnostics,
) -> Result<Description, SceneError> {
    let mut interpreter = Interpreter::new(&source, diagnostics);
    let end = interpreter.run(source, None)?;
    interpreter.finish(&end)
}

/// What `AttributeBegin` saves and `AttributeEnd` restores.
#[derive(Clone, Default)]
struct State {
    ctm: Ctm,
    reverse_orientation: bool,
    material: usize,
    area_light: Option<usize>,
    media: Option<MediumInterface>,
    /// Parameters set by `Attribute`, for each of [`TARGETS`].
    defaults: [Vec<Arc<Param>>; TARGETS.len()],
}

/// What `Attribute` sets defaults for.
const TARGETS: [&str; 5] = ["shape", "light", "material", "medium", "texture"];
const SHAPE: usize = 0;
const LIGHT: usize = 1;
const MATERIAL: usize = 2;
const MEDIUM: usize = 3;
const TEXTURE: usize = 4;

/// Names of options, as pbrt-v4 knows them.
const OPTIONS: [&str; 11] = [
    "disablepixeljitter",
    "disabletexturefiltering",
    "disablewavelengthjitter",
    "displacementedgescale",
    "msereferenceimage",
    "msereferenceout",
    "seed",
    "forcediffuse",
    "pixelstats",
    "rendercoordsys",
    "wavefront",
];

/// Includes within includes beyond which a file is refused.
const DEEPEST: usize = 100;

/// What a saved state belongs to.
#[derive(Clone, Copy, PartialEq)]
enum Scope {
    Attribute,
    Object,
}

impl Scope {
    fn begin(self) -> &'static str {
        if self == Scope::Attribute { "AttributeBegin" } else { "ObjectBegin" }
    }

    fn end(self) -> &'static str {
        if self == Scope::Attribute { "AttributeEnd" } else { "ObjectEnd" }
    }
}

/// Things with and without names; named ones may be mentioned before they are defined. Indices
/// never change.
struct Names<T> {
    kind: &'static str,
    index: HashMap<String, usize>,
    /// Where and by which name it was last mentioned, or defined; and what it is.
    slots: Vec<(Option<Name>, Option<T>)>,
}

impl<T> Names<T> {
    fn new(kind: &'static str) -> Names<T> {
        Names { kind, index: HashMap::new(), slots: Vec::new() }
    }

    fn push(&mut self, value: T) -> usize {
        self.slots.push((None, Some(value)));
        self.slots.len() - 1
    }

    /// The index of a name, defined or not.
    fn mention(&mut self, name: &Name) -> usize {
        if let Some(&index) = self.index.get(&name.text) {
            return index;
        }
        self.index.insert(name.text.clone(), self.slots.len());
        self.slots.push((Some(name.clone()), None));
        self.slots.len() - 1
    }

    fn define(&mut self, name: &Name, value: T) -> Result<(), SceneError> {
        let index = self.mention(name);
        let slot = &mut self.slots[index];
        if let (Some(first), Some(_)) = slot {
            return Err(defined_twice(self.kind, name, &first.location));
        }
        *slot = (Some(name.clone()), Some(value));
        Ok(())
    }

    /// All values by index.
    ///
    /// *Errors*: one was mentioned, but never defined.
    fn finish(self) -> Result<Vec<T>, SceneError> {
        if let Some((Some(name), None)) = self.slots.iter().find(|(_, value)| value.is_none()) {
            let known = self.slots.iter().filter(|(_, value)| value.is_some());
            return Err(undefined(
                self.kind,
                name,
                known.filter_map(|(name, _)| Some(name.as_ref()?.text.as_str())),
            ));
        }
        Ok(self.slots.into_iter().filter_map(|(_, value)| value).collect())
    }
}

fn defined_twice(kind: &str, name: &Name, first: &Location) -> SceneError {
    let error =
        SceneError::at(&name.location, format!("{kind} \"{}\" is defined twice", name.text));
    error.help(format!("it is first defined at {first}: rename one"))
}

fn undefined<'a>(kind: &str, name: &Name, known: impl Iterator<Item = &'a str>) -> SceneError {
    const LISTED: usize = 8;
    let mut known: Vec<&str> = known.collect();
    known.sort_unstable();
    known.dedup();
    let listed: Vec<String> = known.iter().take(LISTED).map(|name| format!("\"{name}\"")).collect();
    let otherwise = match listed.len() {
        0 => format!("there is no {kind} so far: define it first"),
        _ => format!(
            "there are {}{}",
            listed.join(", "),
            if known.len() > LISTED { ", …" } else { "" }
        ),
    };
    let error = SceneError::at(&name.location, format!("{kind} \"{}\" is not defined", name.text));
    error.help(did_you_mean(&name.text, known, &otherwise))
}

struct Interpreter<'d> {
    diagnostics: &'d mut Diagnostics,
    scene: Description,
    /// Files being read, outermost first.
    reading: Vec<PathBuf>,
    in_world: bool,
    state: State,
    /// Saved states, with what opened them and where.
    saved: Vec<(State, Scope, Location)>,
    /// How many of the saved states belong to files around the current import.
    floor: usize,
    coordinate_systems: HashMap<String, [DAffine3; 2]>,
    materials: Names<MaterialEntity>,
    media: Names<MediumEntity>,
    objects: Names<ObjectEntity>,
    /// Where textures are defined, by name and whether of type float.
    textures: HashMap<(String, bool), Location>,
    /// The object being defined.
    object: Option<(Name, Vec<ShapeEntity>)>,
}

impl<'d> Interpreter<'d> {
    fn new(source: &Arc<Source>, diagnostics: &'d mut Diagnostics) -> Interpreter<'d> {
        let folder = source.path().parent().map(Path::to_path_buf).unwrap_or_default();
        let start = Location::new(source.clone(), 1, 1);
        let diffuse =
            Entity { name: "diffuse".into(), params: ParamSet::default(), location: start };
        let mut materials = Names::new("material");
        materials.push(MaterialEntity { name: None, entity: diffuse });
        Interpreter {
            diagnostics,
            scene: Description { inputs: Inputs::new(&folder), folder, ..Description::default() },
            reading: Vec::new(),
            in_world: false,
            state: State::default(),
            saved: Vec::new(),
            floor: 0,
            coordinate_systems: HashMap::new(),
            materials,
            media: Names::new("medium"),
            objects: Names::new("object"),
            textures: HashMap::new(),
            object: None,
        }
    }

    /// Runs the statements of one text; tells where it ends.
    fn run(
        &mut self,
        source: Arc<Source>,
        from: Option<&Location>,
    ) -> Result<Location, SceneError> {
        let shown = source.path().display().to_string();
        let fail = |message: String| match from {
            Some(location) => SceneError::at(location, message),
            None => SceneError::new(message),
        };
        let identity =
            std::fs::canonicalize(source.path()).unwrap_or_else(|_| source.path().to_path_buf());
        if self.reading.contains(&identity) {
            let chain: Vec<String> =
                self.reading.iter().map(|path| path.display().to_string()).collect();
            let error = fail(format!("{shown} includes itself"));
            return Err(error.help(format!("break the circle: {} → {shown}", chain.join(" → "))));
        }
        if self.reading.len() > DEEPEST {
            return Err(fail(format!("{shown} is included more than {DEEPEST} files deep"))
                .help("flatten the includes"));
        }
        let text = source.read().map_err(|e| {
            fail(format!("cannot read {shown}: {e}")).help(match from {
                Some(_) => "file names are relative to the folder of the main scene file",
                None => "name a scene file in pbrt-v4's format",
            })
        })?;
        match from {
            Some(_) => self.scene.inputs.add(source.path(), &text),
            None => self.scene.inputs.add_main(&text),
        }
        self.reading.push(identity);
        let mut parser = Parser::new(&text, source.clone())?;
        while let Some(statement) = parser.next(self.diagnostics)? {
            self.statement(statement)?;
        }
        self.reading.pop();
        Ok(parser.location())
    }

    fn finish(mut self, end: &Location) -> Result<Description, SceneError> {
        if !self.in_world {
            let error = SceneError::at(end, "the scene ends without WorldBegin");
            return Err(
                error.help("WorldBegin stands between the settings (camera, film…) and the shapes")
            );
        }
        self.check_closed()?;
        self.check_textures()?;
        self.scene.materials = self.materials.finish()?;
        self.scene.media = self.media.finish()?;
        self.scene.objects = self.objects.finish()?;
        Ok(self.scene)
    }

    /// Every scope opened since `floor` must be closed.
    fn check_closed(&self) -> Result<(), SceneError> {
        let Some((_, scope, location)) = self.saved[self.floor..].last() else { return Ok(()) };
        let error = SceneError::at(location, format!("{} is never closed", scope.begin()));
        Err(error.help(format!(
            "add {} before the end of the file, if that is not cut short",
            scope.end()
        )))
    }

    /// Textures that others than textures refer to must be there in the end, in either type.
    fn check_textures(&self) -> Result<(), SceneError> {
        let scene = &self.scene;
        let shapes = scene
            .shapes
            .iter()
            .chain(self.objects.slots.iter().flat_map(|(_, o)| o.iter().flat_map(|o| &o.shapes)));
        let materials = self.materials.slots.iter().flat_map(|(_, m)| m.iter().map(|m| &m.entity));
        let lights = scene.lights.iter().map(|l| &l.entity).chain(&scene.area_lights);
        let mut entities = shapes.map(|s| &s.entity).chain(materials).chain(lights);
        entities.try_for_each(|entity| self.check_texture_params(&entity.params))
    }

    fn check_texture_params(&self, params: &ParamSet) -> Result<(), SceneError> {
        for param in params.iter().filter(|p| p.kind == ParamType::Texture) {
            let Values::Strings(names) = &param.values else { continue };
            for text in names {
                if ![true, false]
                    .iter()
                    .any(|&float| self.textures.contains_key(&(text.clone(), float)))
                {
                    let known = self.textures.keys().map(|(name, _)| name.as_str());
                    return Err(undefined(
                        "texture",
                        &Name { text: text.clone(), location: param.location.clone() },
                        known,
                    ));
                }
            }
        }
        Ok(())
    }

    fn statement(
        &mut self,
        Statement { word, directive, location }: Statement,
    ) -> Result<(), SceneError> {
        self.check_order(word, &directive, &location)?;
        match directive {
            Directive::Include(name) => self.include(&name)?,
            Directive::Import(name) => self.import(&name)?,
            Directive::Option { name, value } => self.option(name, value)?,
            Directive::ColorSpace(name) => self.color_space(&name)?,
            Directive::Setting(setting, entity) => {
                self.setting(word, setting, entity, &location)?
            }
            Directive::WorldBegin => {
                self.in_world = true;
                self.state.ctm = Ctm::default();
                self.coordinate_systems.insert("world".into(), self.state.ctm.maps);
            }
            Directive::AttributeBegin => {
                self.saved.push((self.state.clone(), Scope::Attribute, location))
            }
            Directive::AttributeEnd => self.pop(Scope::Attribute, &location)?,
            Directive::Attribute { target, params } => self.attribute(&target, &params)?,
            Directive::CoordinateSystem(name) => {
                self.coordinate_systems.insert(name.text, self.state.ctm.maps);
            }
            Directive::CoordSysTransform(name) => match self.coordinate_systems.get(&name.text) {
                Some(maps) => self.state.ctm.maps = *maps,
                None => {
                    let known = self.coordinate_systems.keys().map(String::as_str);
                    return Err(undefined("coordinate system", &name, known));
                }
            },
            Directive::ActiveTransform(active) => self.state.ctm.active = active,
            Directive::TransformTimes(_) => {}
            Directive::ReverseOrientation => self.state.reverse_orientation ^= true,
            Directive::ObjectBegin(name) => self.object_begin(name, location)?,
            Directive::ObjectEnd => self.object_end(&location)?,
            Directive::ObjectInstance(name) => self.instance(&name, location)?,
            Directive::MediumInterface { inside, outside } => {
                let mut medium =
                    |name: &Name| (!name.text.is_empty()).then(|| self.media.mention(name));
                let (inside, outside) = (medium(&inside), medium(&outside));
                self.state.media = (inside.is_some() || outside.is_some())
                    .then_some(MediumInterface { inside, outside });
            }
            Directive::MakeNamedMedium(name, params) => {
                let entity = self.typed(&name, params, MEDIUM, "MakeNamedMedium")?;
                let ctm = self.ctm(&location)?;
                self.media.define(&name, MediumEntity { name: name.text.clone(), entity, ctm })?;
            }
            Directive::Material(entity) => {
                let mut entity = self.complete(entity, MATERIAL)?;
                self.name_interface(&mut entity)?;
                self.state.material = self.materials.push(MaterialEntity { name: None, entity });
            }
            Directive::MakeNamedMaterial(name, params) => {
                let mut entity = self.typed(&name, params, MATERIAL, "MakeNamedMaterial")?;
                self.name_interface(&mut entity)?;
                self.materials
                    .define(&name, MaterialEntity { name: Some(name.text.clone()), entity })?;
            }
            Directive::NamedMaterial(name) => self.state.material = self.materials.mention(&name),
            Directive::Texture { name, is_float, entity } => {
                self.texture(name, is_float, entity)?
            }
            Directive::LightSource(entity) => {
                let light = LightEntity {
                    ctm: self.ctm(&location)?,
                    entity: self.complete(entity, LIGHT)?,
                };
                self.scene.lights.push(light);
            }
            Directive::AreaLightSource(entity) => {
                let emits = !entity.name.is_empty();
                self.state.area_light = emits.then_some(self.scene.area_lights.len());
                if emits {
                    let entity = self.complete(entity, LIGHT)?;
                    self.scene.area_lights.push(entity);
                }
            }
            Directive::Shape(entity) => self.shape(entity, &location)?,
            transform => self.transform(&transform).map_err(|message| {
                SceneError::at(&location, message)
                    .help("transforms must be affine, invertible and of moderate size")
            })?,
        }
        Ok(())
    }

    /// Settings stand before `WorldBegin`, what makes up the world behind it.
    fn check_order(
        &self,
        word: &str,
        directive: &Directive,
        location: &Location,
    ) -> Result<(), SceneError> {
        let error = |message: String| Err(SceneError::at(location, message));
        match directive {
            Directive::WorldBegin if self.in_world => error("WorldBegin is given twice".into())
                .map_err(|e| e.help("remove this one; a scene has one world")),
            Directive::Setting(..) | Directive::TransformTimes(_) if self.in_world => {
                error(format!("{word} stands after WorldBegin"))
                    .map_err(|e| e.help("move it before WorldBegin"))
            }
            Directive::Import(_)
            | Directive::AttributeBegin
            | Directive::AttributeEnd
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
                error(format!("{word} stands before WorldBegin"))
                    .map_err(|e| e.help("move it behind WorldBegin"))
            }
            _ => Ok(()),
        }
    }

    fn transform(&mut self, directive: &Directive) -> Result<(), &'static str> {
        let ctm = &mut self.state.ctm;
        match directive {
            Directive::Identity => ctm.update(|_| DAffine3::IDENTITY),
            Directive::Translate(v) => {
                ctm.update(|m| m * DAffine3::from_translation(DVec3::from_array(*v)))
            }
            Directive::Scale(v) => ctm.update(|m| m * DAffine3::from_scale(DVec3::from_array(*v))),
            Directive::Rotate(v) => ctm::rotate(*v).and_then(|by| ctm.update(|m| m * by)),
            Directive::LookAt(v) => ctm::look_at(*v).and_then(|by| ctm.update(|m| m * by)),
            Directive::ConcatTransform(v) => ctm::matrix(v).and_then(|by| ctm.update(|m| m * by)),
            Directive::Transform(v) => ctm::matrix(v).and_then(|to| ctm.update(|_| to)),
            other => unreachable!("{other:?} is no transform"),
        }
    }

    /// The current transform at shutter opening.
    fn ctm(&mut self, location: &Location) -> Result<DAffine3, SceneError> {
        if self.state.ctm.moves() {
            let message =
                "transforms that differ between shutter opening and closing are not supported";
            self.diagnostics.warn(
                Some(location),
                message,
                "the transform at the opening, without motion blur",
            )?;
        }
        Ok(self.state.ctm.maps[0])
    }

    fn include(&mut self, name: &Name) -> Result<(), SceneError> {
        let source = Source::file(self.scene.resolve(&name.text));
        self.run(source, Some(&name.location)).map(drop)
    }

    /// As an include, but with a graphics state of its own.
    fn import(&mut self, name: &Name) -> Result<(), SceneError> {
        let floor = std::mem::replace(&mut self.floor, self.saved.len());
        let (state, systems) = (self.state.clone(), self.coordinate_systems.clone());
        self.include(name)?;
        self.check_closed()?;
        (self.floor, self.state, self.coordinate_systems) = (floor, state, systems);
        Ok(())
    }

    fn option(&mut self, name: Name, value: String) -> Result<(), SceneError> {
        let normal: String = name
            .text
            .chars()
            .filter(|c| !matches!(c, '-' | '_'))
            .flat_map(char::to_lowercase)
            .collect();
        if !OPTIONS.contains(&normal.as_str()) {
            let error = SceneError::at(&name.location, format!("unknown option \"{}\"", name.text));
            return Err(error.help(did_you_mean(
                &normal,
                OPTIONS,
                &format!("options are {}", OPTIONS.join(", ")),
            )));
        }
        self.scene.options.push(SceneOption { name: normal, value, location: name.location });
        Ok(())
    }

    fn color_space(&mut self, name: &Name) -> Result<(), SceneError> {
        const SPACES: [&str; 4] = ["srgb", "dci-p3", "rec2020", "aces2065-1"];
        match name.text.to_lowercase().as_str() {
            "srgb" => Ok(()),
            other if SPACES.contains(&other) => {
                let message = format!("colour space \"{other}\" is not supported");
                self.diagnostics.warn(
                    Some(&name.location),
                    message,
                    "RGB values are read as linear sRGB",
                )
            }
            other => {
                let error = SceneError::at(
                    &name.location,
                    format!("unknown colour space \"{}\"", name.text),
                );
                Err(error.help(did_you_mean(
                    other,
                    SPACES,
                    &format!("colour spaces are {}", SPACES.join(", ")),
                )))
            }
        }
    }

    fn setting(
        &mut self,
        word: &str,
        setting: Setting,
        entity: Entity,
        location: &Location,
    ) -> Result<(), SceneError> {
        self.warn_of_duplicates(&entity.params)?;
        let scene = &mut self.scene;
        let slot = match setting {
            Setting::Camera => return self.camera(entity, location),
            Setting::Film => &mut scene.film,
            Setting::PixelFilter => &mut scene.filter,
            Setting::Sampler => &mut scene.sampler,
            Setting::Integrator => &mut scene.integrator,
            Setting::Accelerator => &mut scene.accelerator,
        };
        match slot.replace(entity) {
            Some(_) => self.diagnostics.warn(
                Some(location),
                format!("{word} is given twice"),
                "the last one",
            ),
            None => Ok(()),
        }
    }

    fn camera(&mut self, entity: Entity, location: &Location) -> Result<(), SceneError> {
        let camera_from_world = self.ctm(location)?;
        self.coordinate_systems
            .insert("camera".into(), self.state.ctm.maps.map(|map| map.inverse()));
        let medium = self.state.media.and_then(|media| media.outside);
        match self.scene.camera.replace(CameraEntity { entity, camera_from_world, medium }) {
            Some(_) => {
                self.diagnostics.warn(Some(location), "Camera is given twice", "the last one")
            }
            None => Ok(()),
        }
    }

    fn pop(&mut self, scope: Scope, location: &Location) -> Result<(), SceneError> {
        if self.saved.len() == self.floor {
            let error =
                SceneError::at(location, format!("{} without {}", scope.end(), scope.begin()));
            return Err(error.help(
                "remove it, or add what it should end, within the same file where that is imported",
            ));
        }
        match self.saved.pop() {
            Some((state, opened, _)) if opened == scope => self.state = state,
            Some((_, opened, begin)) => {
                let error = SceneError::at(
                    location,
                    format!("{} inside {} of {begin}", scope.end(), opened.begin()),
                );
                return Err(error.help(format!("{} must stand first", opened.end())));
            }
            None => unreachable!("there are no fewer saved states than the floor"),
        }
        Ok(())
    }

    fn attribute(&mut self, target: &Name, params: &ParamSet) -> Result<(), SceneError> {
        let Some(index) = TARGETS.iter().position(|t| *t == target.text) else {
            let error = SceneError::at(
                &target.location,
                format!("unknown attribute target \"{}\"", target.text),
            );
            return Err(error.help(did_you_mean(
                &target.text,
                TARGETS,
                &format!("targets are {}", TARGETS.join(", ")),
            )));
        };
        let defaults = &mut self.state.defaults[index];
        for param in params.iter() {
            defaults.retain(|p| p.name != param.name);
            defaults.push(param.clone());
        }
        Ok(())
    }

    fn warn_of_duplicates(&mut self, params: &ParamSet) -> Result<(), SceneError> {
        for param in params.duplicates() {
            let message = format!("parameter \"{}\" is given twice", param.name);
            self.diagnostics.warn(Some(&param.location), message, "the last one")?;
        }
        Ok(())
    }

    /// The entity with the defaults that `Attribute` set.
    fn complete(&mut self, mut entity: Entity, target: usize) -> Result<Entity, SceneError> {
        self.warn_of_duplicates(&entity.params)?;
        entity.params.add_defaults(&self.state.defaults[target]);
        Ok(entity)
    }

    /// An entity whose kind is its parameter `string type`.
    fn typed(
        &mut self,
        name: &Name,
        params: ParamSet,
        target: usize,
        word: &str,
    ) -> Result<Entity, SceneError> {
        let location = name.location.clone();
        let mut entity = self.complete(Entity { name: String::new(), params, location }, target)?;
        let Some(kind) = entity.params.string("type")? else {
            let error =
                SceneError::at(&name.location, format!("{word} \"{}\" has no type", name.text));
            return Err(error.help("add a parameter \"string type\""));
        };
        entity.name = kind.to_string();
        Ok(entity)
    }

    /// Materials once called nothing, or `none`, are interfaces now; pbrt-v4 still takes the old
    /// words.
    fn name_interface(&mut self, entity: &mut Entity) -> Result<(), SceneError> {
        if matches!(entity.name.as_str(), "" | "none") {
            let message = format!("material \"{}\" is deprecated", entity.name);
            self.diagnostics.warn(
                Some(&entity.location),
                message,
                "\"interface\", its word in pbrt-v4",
            )?;
            entity.name = "interface".into();
        }
        Ok(())
    }

    fn object_begin(&mut self, name: Name, location: Location) -> Result<(), SceneError> {
        if let Some((outer, _)) = &self.object {
            let error =
                SceneError::at(&location, format!("ObjectBegin inside object \"{}\"", outer.text));
            return Err(error.help("objects do not nest: close the first with ObjectEnd"));
        }
        self.saved.push((self.state.clone(), Scope::Object, location));
        self.object = Some((name, Vec::new()));
        Ok(())
    }

    fn object_end(&mut self, location: &Location) -> Result<(), SceneError> {
        self.pop(Scope::Object, location)?;
        let (name, shapes) = self.object.take().expect("an object is open while its scope is");
        let object =
            ObjectEntity { name: name.text.clone(), shapes, location: name.location.clone() };
        self.objects.define(&name, object)
    }

    fn instance(&mut self, name: &Name, location: Location) -> Result<(), SceneError> {
        if let Some((outer, _)) = &self.object {
            let error = SceneError::at(
                &location,
                format!("ObjectInstance inside object \"{}\"", outer.text),
            );
            return Err(error.help("objects do not nest: place the instance outside"));
        }
        let instance =
            Instance { object: self.objects.mention(name), ctm: self.ctm(&location)?, location };
        self.scene.instances.push(instance);
        Ok(())
    }

    fn texture(&mut self, name: Name, is_float: bool, entity: Entity) -> Result<(), SceneError> {
        let entity = self.complete(entity, TEXTURE)?;
        self.check_texture_params(&entity.params)?;
        let ctm = self.ctm(&name.location)?;
        let key = (name.text.clone(), is_float);
        if let Some(first) = self.textures.get(&key) {
            return Err(defined_twice("texture", &name, first));
        }
        self.textures.insert(key, name.location);
        self.scene.textures.push(TextureEntity { name: name.text, is_float, entity, ctm });
        Ok(())
    }

    fn shape(&mut self, entity: Entity, location: &Location) -> Result<(), SceneError> {
        let mut area_light = self.state.area_light;
        if self.object.is_some() && area_light.take().is_some() {
            let message = "area lights inside objects are not supported";
            self.diagnostics.warn(Some(location), message, "the shape does not emit")?;
        }
        let shape = ShapeEntity {
            ctm: self.ctm(location)?,
            entity: self.complete(entity, SHAPE)?,
            reverse_orientation: self.state.reverse_orientation,
            material: self.state.material,
            area_light,
            media: self.state.media,
        };
        match &mut self.object {
            Some((_, shapes)) => shapes.push(shape),
            None => self.scene.shapes.push(shape),
        }
        Ok(())
    }
}
