//! The directives `Option` and `ColorSpace`, and the settings before `WorldBegin`.

use super::Interpreter;
use crate::describe::{CameraEntity, SceneOption};
use crate::diagnostics::{Location, SceneError};
use crate::file::parse::{Entity, Name, Setting};
use lightbound::choice::Choice;
use lightbound::settings::ColourSpace;
use lightbound::suggestion::did_you_mean;

/// Names of the options of pbrt-v4.
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

impl Interpreter<'_> {
    /// Executes an `Option` directive.
    pub(super) fn option(&mut self, name: Name, value: String) -> Result<(), SceneError> {
        let normalized: String = name
            .text
            .chars()
            .filter(|c| !matches!(c, '-' | '_'))
            .flat_map(char::to_lowercase)
            .collect();
        if !OPTIONS.contains(&normalized.as_str()) {
            let error = SceneError::at(&name.location, format!("unknown option \"{}\"", name.text));
            return Err(error.help(did_you_mean(
                &normalized,
                OPTIONS,
                &format!("the options are {}", OPTIONS.join(", ")),
            )));
        }
        self.scene.options.push(SceneOption { name: normalized, value, location: name.location });
        Ok(())
    }

    /// Executes a `ColorSpace` directive. It applies to the RGB values that follow, and to the
    /// image if it precedes the film.
    pub(super) fn color_space(&mut self, name: &Name) -> Result<(), SceneError> {
        let lower_case = name.text.to_lowercase();
        self.state.colour_space = ColourSpace::from_name(&lower_case).ok_or_else(|| {
            let error =
                SceneError::at(&name.location, format!("unknown colour space \"{}\"", name.text));
            let names = ColourSpace::NAMES;
            error.help(did_you_mean(
                &lower_case,
                names.iter().copied(),
                &format!("the colour spaces are {}", names.join(", ")),
            ))
        })?;
        Ok(())
    }

    /// Stores a setting. Warns if it replaces another.
    pub(super) fn setting(
        &mut self,
        keyword: &str,
        setting: Setting,
        entity: Entity,
        location: &Location,
    ) -> Result<(), SceneError> {
        self.warn_about_duplicates(&entity.params)?;
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
                format!("{keyword} is given twice"),
                "the last one",
            ),
            None => Ok(()),
        }
    }

    /// Stores the camera, and its coordinate system as `camera`.
    fn camera(&mut self, entity: Entity, location: &Location) -> Result<(), SceneError> {
        let (camera_from_world, end) = self.moving_ctm(location, "camera")?;
        self.coordinate_systems.insert(
            "camera".into(),
            self.state.ctm.transforms.clone().map(|transform| transform.map(|m| m.inverse())),
        );
        let medium = self.state.media.and_then(|media| media.outside);
        let camera = CameraEntity { entity, camera_from_world, end_camera_from_world: end, medium };
        match self.scene.camera.replace(camera) {
            Some(_) => {
                self.diagnostics.warn(Some(location), "Camera is given twice", "the last one")
            }
            None => Ok(()),
        }
    }
}
