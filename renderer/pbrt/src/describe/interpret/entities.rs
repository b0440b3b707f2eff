//! Entities: default parameters, `type` parameters, textures and shapes.

use super::Interpreter;
use super::names::{defined_twice, undefined};
use crate::describe::{CurveRun, ShapeEntity, TextureEntity};
use crate::diagnostics::{Location, SceneError};
use crate::file::params::{ParamSet, ParamType, ParamValues};
use crate::file::parse::{Entity, Name};
use lightbound::suggestion::did_you_mean;

/// The kinds of entities that `Attribute` sets default parameters for.
#[derive(Clone, Copy)]
pub(super) enum AttributeTarget {
    Shape,
    Light,
    Material,
    Medium,
    Texture,
}

impl AttributeTarget {
    /// Names in scene files, in the order of the variants.
    pub const NAMES: [&str; 5] = ["shape", "light", "material", "medium", "texture"];
}

impl Interpreter<'_> {
    /// Runs `Attribute`.
    pub(super) fn attribute(&mut self, target: &Name, params: &ParamSet) -> Result<(), SceneError> {
        let Some(index) = AttributeTarget::NAMES.iter().position(|t| *t == target.text) else {
            let error = SceneError::at(
                &target.location,
                format!("unknown attribute target \"{}\"", target.text),
            );
            return Err(error.help(did_you_mean(
                &target.text,
                AttributeTarget::NAMES,
                &format!("the targets are {}", AttributeTarget::NAMES.join(", ")),
            )));
        };
        let defaults = &mut self.state.defaults[index];
        for param in params.iter() {
            defaults.retain(|p| p.name != param.name);
            defaults.push(param.clone());
        }
        Ok(())
    }

    /// Warns about parameters that are given twice.
    pub(super) fn warn_about_duplicates(&mut self, params: &ParamSet) -> Result<(), SceneError> {
        for param in params.duplicates() {
            let message = format!("parameter \"{}\" is given twice", param.name);
            self.diagnostics.warn(Some(&param.location), message, "the last one")?;
        }
        Ok(())
    }

    /// Adds the defaults set by `Attribute` to an entity.
    pub(super) fn apply_attribute_defaults(
        &mut self,
        mut entity: Entity,
        target: AttributeTarget,
    ) -> Result<Entity, SceneError> {
        self.warn_about_duplicates(&entity.params)?;
        entity.params.add_defaults(&self.state.defaults[target as usize]);
        Ok(entity)
    }

    /// Builds an entity that specifies its type with a parameter `"string type"`.
    pub(super) fn entity_from_type_param(
        &mut self,
        name: &Name,
        params: ParamSet,
        target: AttributeTarget,
        keyword: &str,
    ) -> Result<Entity, SceneError> {
        let location = name.location.clone();
        let mut entity = self
            .apply_attribute_defaults(Entity { name: String::new(), params, location }, target)?;
        let Some(ty) = entity.params.string("type")? else {
            let error =
                SceneError::at(&name.location, format!("{keyword} \"{}\" has no type", name.text));
            return Err(error.help("add a parameter \"string type\""));
        };
        entity.name = ty.to_string();
        Ok(entity)
    }

    /// Renames the materials `""` and `"none"` to `"interface"`. As in pbrt-v4, the old names are
    /// deprecated.
    pub(super) fn rename_interface(&mut self, entity: &mut Entity) -> Result<(), SceneError> {
        if matches!(entity.name.as_str(), "" | "none") {
            let message = format!("material \"{}\" is deprecated", entity.name);
            self.diagnostics.warn(
                Some(&entity.location),
                message,
                "\"interface\", its name in pbrt-v4",
            )?;
            entity.name = "interface".into();
        }
        Ok(())
    }

    /// Adds a texture.
    pub(super) fn texture(
        &mut self,
        name: Name,
        is_float: bool,
        entity: Entity,
    ) -> Result<(), SceneError> {
        let entity = self.apply_attribute_defaults(entity, AttributeTarget::Texture)?;
        self.check_texture_params(&entity.params)?;
        let ctm = self.ctm(&name.location, "texture")?;
        let key = (name.text.clone(), is_float);
        if let Some(first) = self.textures.get(&key) {
            return Err(defined_twice("texture", &name, first));
        }
        self.textures.insert(key, name.location);
        self.scene.textures.push(TextureEntity { name: name.text, is_float, entity, ctm });
        Ok(())
    }

    /// Adds a shape to the scene or to the object being defined.
    pub(super) fn shape(&mut self, entity: Entity, location: &Location) -> Result<(), SceneError> {
        let (ctm, end_ctm) = self.moving_ctm(location, "shape")?;
        let shape = ShapeEntity {
            ctm,
            end_ctm,
            entity: self.apply_attribute_defaults(entity, AttributeTarget::Shape)?,
            reverse_orientation: self.state.reverse_orientation,
            material: self.state.material,
            area_light: self.state.area_light,
            media: self.state.media,
            curves: CurveRun::default(),
        };
        let shapes = match &mut self.object {
            Some((_, shapes)) => shapes,
            None => &mut self.scene.shapes,
        };
        if !shapes.last_mut().is_some_and(|last| last.absorb(&shape)) {
            shapes.push(shape);
        }
        Ok(())
    }

    /// Checks that all textures that shapes, materials, lights and media refer to are defined.
    pub(super) fn check_textures(&self) -> Result<(), SceneError> {
        let scene = &self.scene;
        let object_shapes = self.objects.values().flat_map(|object| &object.shapes);
        let shapes = scene.shapes.iter().chain(object_shapes);
        let materials = self.materials.values().map(|material| &material.entity);
        let lights = scene.lights.iter().map(|l| &l.entity).chain(&scene.area_lights);
        let media = self.media.values().map(|medium| &medium.entity);
        let mut entities = shapes.map(|s| &s.entity).chain(materials).chain(lights).chain(media);
        entities.try_for_each(|entity| self.check_texture_params(&entity.params))
    }

    /// Checks that all textures in `params` are defined, as float or spectrum textures.
    fn check_texture_params(&self, params: &ParamSet) -> Result<(), SceneError> {
        for param in params.iter().filter(|p| p.ty == ParamType::Texture) {
            let ParamValues::Strings(names) = &param.values else { continue };
            for name in names {
                if ![true, false]
                    .iter()
                    .any(|&is_float| self.textures.contains_key(&(name.clone(), is_float)))
                {
                    let known = self.textures.keys().map(|(name, _)| name.as_str());
                    let named = Name { text: name.clone(), location: param.location.clone() };
                    let error = undefined("texture", &named, known);
                    return Err(match param.name.as_str() {
                        "normalmap" => error.help(format!(
                            "a normal map is an image file: write \"string normalmap\" \"{name}\""
                        )),
                        _ => error,
                    });
                }
            }
        }
        Ok(())
    }
}
