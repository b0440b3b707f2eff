//! Object definitions and instances.

use super::entities::AttributeTarget;
use super::{Interpreter, Scope};
use crate::describe::{InstanceEntity, ObjectEntity};
use crate::diagnostics::{Location, SceneError};
use crate::file::params::ParamSet;
use crate::file::parse::Name;

impl Interpreter<'_> {
    /// Runs `ObjectBegin`.
    pub(super) fn object_begin(
        &mut self,
        name: Name,
        location: Location,
    ) -> Result<(), SceneError> {
        if let Some((outer, _)) = &self.object {
            let error =
                SceneError::at(&location, format!("ObjectBegin inside object \"{}\"", outer.text));
            return Err(
                error.help("objects cannot be nested: end the outer one with ObjectEnd first")
            );
        }
        self.saved.push((self.state.clone(), Scope::Object, location));
        self.object = Some((name, Vec::new()));
        Ok(())
    }

    /// Runs `ObjectEnd`.
    pub(super) fn object_end(&mut self, location: &Location) -> Result<(), SceneError> {
        self.pop(Scope::Object, "ObjectEnd", location)?;
        let (name, shapes) = self.object.take().expect("`pop` checks that an object is open");
        self.objects.define(&name, ObjectEntity { name: name.text.clone(), shapes })
    }

    /// Runs `ObjectInstance`.
    pub(super) fn instance(&mut self, name: &Name, location: Location) -> Result<(), SceneError> {
        if let Some((outer, _)) = &self.object {
            let error = SceneError::at(
                &location,
                format!("ObjectInstance inside object \"{}\"", outer.text),
            );
            return Err(error.help("objects cannot contain instances: move it after ObjectEnd"));
        }
        let (ctm, end_ctm) = self.moving_ctm(&location, "instance")?;
        let mut defaults = ParamSet::default();
        defaults.add_defaults(&self.state.defaults[AttributeTarget::Shape as usize]);
        let name_of_instance = defaults.string("name")?.map(str::to_string);
        let object = self.objects.reference(name);
        let instance = InstanceEntity { object, name: name_of_instance, ctm, end_ctm, location };
        self.scene.instances.push(instance);
        Ok(())
    }
}
