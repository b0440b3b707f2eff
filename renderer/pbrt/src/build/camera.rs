//! Builds the camera. Units, defaults and files of lenses are those of pbrt-v4.

use super::settings::Film;
use super::{Builder, ColourRole, RELATIVE_PATHS, motion};
use crate::describe::Description;
use crate::diagnostics::SceneError;
use crate::file::parse::Entity;
use glam::DAffine3;
use lightbound::camera::{
    Aperture, Camera, LensElement, LensError, LensSystem, Projection, ScreenWindow,
    SphericalMapping,
};
use lightbound::suggestion::did_you_mean;
use lightbound_image::Encoding;
use lightbound_math::{Transform, vec2};

/// Supported types of cameras.
const CAMERAS: [&str; 4] = ["perspective", "orthographic", "realistic", "spherical"];

/// Length of the film's diagonal in mm, if the film does not specify it.
const DIAGONAL: f32 = 35.0;

impl Builder<'_> {
    /// Builds the camera.
    pub(super) fn camera(
        &mut self,
        d: &Description,
        &Film { resolution, shutter, .. }: &Film,
    ) -> Result<Camera, SceneError> {
        let default = self.default_entity("perspective");
        let camera = d.camera.as_ref().map_or(&default, |c| &c.entity);
        self.check_supported("camera", camera, &CAMERAS, |_| None)?;
        let camera_from_world =
            d.camera.as_ref().map_or(DAffine3::IDENTITY, |c| c.camera_from_world);
        let to_render = Transform::new(camera_from_world.inverse()).ok_or_else(|| {
            camera
                .error("the transform of the camera cannot be inverted")
                .help("check for a scale of 0")
        })?;
        let built = match camera.name.as_str() {
            "spherical" => spherical_camera(camera, to_render, resolution)?,
            "realistic" => self.realistic_camera(d, camera, to_render, resolution)?,
            _ => thin_lens_camera(camera, to_render, resolution)?,
        };
        self.warn_unused(camera)?;
        let still = built.with_shutter(shutter);
        let Some(end) = d.camera.as_ref().and_then(|c| c.end_camera_from_world) else {
            return Ok(still);
        };
        let transforms = [camera_from_world, end].map(|transform| transform.inverse());
        Ok(still.with_motion(motion(&camera.location, "camera", transforms, d, shutter)?))
    }

    fn realistic_camera(
        &mut self,
        d: &Description,
        camera: &Entity,
        to_render: Transform,
        resolution: (u32, u32),
    ) -> Result<Camera, SceneError> {
        let p = &camera.params;
        let Some(name) = p.string("lensfile")? else {
            return Err(camera
                .error("a realistic camera needs a lens")
                .help("give \"string lensfile\", a file of lens elements"));
        };
        let path = self.path(name);
        let text = self.inputs.read_text(&path).map_err(|e| {
            camera.error(format!("{} cannot be read: {e}", path.display())).help(RELATIVE_PATHS)
        })?;
        let mut elements = parse_lens(&text).map_err(|message| {
            camera.error(format!("{}: {message}", path.display())).help(
                "a lens element is a line of 4 numbers: radius of curvature (0 for the stop), \
                 thickness, index of refraction, and diameter, lengths in mm",
            )
        })?;
        let diameter = f64::from(positive(camera, "aperturediameter", 1.0)?) / 1000.0;
        for stop in elements.iter_mut().filter(|element| element.curvature == 0.0) {
            if 0.5 * diameter > stop.radius {
                let message = format!(
                    "an aperture diameter of {} mm is greater than that of the stop",
                    1000.0 * diameter
                );
                self.warn(camera, message, format!("{} mm", 2000.0 * stop.radius))?;
            } else {
                stop.radius = 0.5 * diameter;
            }
        }
        let aperture = p.string("aperture")?.map(|name| self.aperture(camera, name)).transpose()?;
        let focus = f64::from(positive(camera, "focusdistance", 10.0)?);
        let diagonal = match d.film.as_ref() {
            Some(film) => positive(film, "diagonal", DIAGONAL)?,
            None => DIAGONAL,
        };
        let diagonal = f64::from(diagonal) / 1000.0;
        let lens = LensSystem::new(elements, aperture, diagonal, focus).map_err(|e| {
            let help = match e {
                LensError::Focus(_) => {
                    "give a greater \"focusdistance\"; the lens must be converging"
                }
                LensError::Blocked => "check the stop's diameter and \"aperturediameter\"",
                LensError::Empty => "give a lens file with elements",
            };
            camera.error(format!("{}: {e}", path.display())).help(help)
        })?;
        Ok(Camera::realistic(to_render, lens, diagonal, resolution))
    }

    /// Returns a named shape of the aperture, or an image of it.
    fn aperture(&mut self, camera: &Entity, name: &str) -> Result<Aperture, SceneError> {
        if let Some(aperture) = Aperture::named(name) {
            return Ok(aperture);
        }
        let path = self.path(name);
        let image = self
            .read_image(camera, &path, Encoding::Srgb, ColourRole::Reflectance)
            .map_err(|error| {
                let names = Aperture::NAMES.join(", ");
                error.help(format!("give an image, or one of the shapes {names}"))
            })?;
        let texels: Vec<f32> = image.pixels().map(|rgb| rgb.element_sum() / 3.0).collect();
        Aperture::from_image(&texels, image.width() as usize).ok_or_else(|| {
            camera
                .error(format!("{}: the aperture lets no light pass", path.display()))
                .help("give an image with finite texels that are not all black")
        })
    }
}

/// Reads a positive parameter.
fn positive(entity: &Entity, name: &str, default: f32) -> Result<f32, SceneError> {
    match entity.params.float(name)?.unwrap_or(default) {
        x if x > 0.0 && x.is_finite() => Ok(x),
        x => Err(entity.error(format!("\"{name}\" is {x}")).help("give a number above 0")),
    }
}

/// Reads the parameters of a thin lens's screen window, for its aspect ratio.
fn screen_window(camera: &Entity, resolution: (u32, u32)) -> Result<ScreenWindow, SceneError> {
    let aspect = positive(camera, "frameaspectratio", resolution.0 as f32 / resolution.1 as f32)?;
    match camera.params.floats("screenwindow")? {
        None => Ok(ScreenWindow::from_aspect(aspect)),
        Some(&[x0, x1, y0, y1]) if x0 < x1 && y0 < y1 => {
            Ok(ScreenWindow { min: vec2(x0, y0), max: vec2(x1, y1) })
        }
        Some(_) => {
            let error = camera.error("\"screenwindow\" is not a rectangle");
            Err(error.help("give x0, x1, y0, y1 with x0 < x1 and y0 < y1"))
        }
    }
}

fn thin_lens_camera(
    camera: &Entity,
    to_render: Transform,
    resolution: (u32, u32),
) -> Result<Camera, SceneError> {
    let screen = screen_window(camera, resolution)?;
    let projection = match camera.name.as_str() {
        "orthographic" => Projection::Orthographic,
        _ => {
            let fov = positive(camera, "fov", 90.0)?;
            if fov >= 180.0 {
                return Err(camera
                    .error(format!("\"fov\" is {fov}"))
                    .help("give an angle below 180 degrees"));
            }
            Projection::Perspective { fov }
        }
    };
    let lens_radius = camera.params.float("lensradius")?.unwrap_or(0.0);
    if !(lens_radius >= 0.0 && lens_radius.is_finite()) {
        let error = camera.error(format!("\"lensradius\" is {lens_radius}"));
        return Err(error.help("give 0 or more"));
    }
    let focal_distance = positive(camera, "focaldistance", 1e6)?;
    Ok(Camera::new(to_render, projection, screen, resolution, lens_radius, focal_distance))
}

fn spherical_camera(
    camera: &Entity,
    to_render: Transform,
    resolution: (u32, u32),
) -> Result<Camera, SceneError> {
    let p = &camera.params;
    let mapping = match p.string("mapping")?.unwrap_or("equalarea") {
        "equalarea" => SphericalMapping::EqualArea,
        "equirectangular" => SphericalMapping::Equirectangular,
        other => {
            let names = ["equalarea", "equirectangular"];
            let help = did_you_mean(other, names, "use equalarea or equirectangular");
            return Err(camera.error(format!("unknown mapping \"{other}\"")).help(help));
        }
    };
    // As in pbrt-v4, spherical cameras accept the parameters of a thin lens, without effect.
    for name in ["lensradius", "focaldistance", "frameaspectratio"] {
        p.float(name)?;
    }
    p.floats("screenwindow")?;
    Ok(Camera::spherical(to_render, mapping, resolution))
}

/// Parses a lens file: four numbers for each element, lengths in mm. `#` starts a comment.
fn parse_lens(text: &str) -> Result<Vec<LensElement>, String> {
    let mut numbers = Vec::new();
    for (line, text) in (1..).zip(text.lines()) {
        let text = text.split('#').next().unwrap_or_default();
        for word in text.split_whitespace() {
            match word.parse::<f64>() {
                Ok(x) if x.is_finite() => numbers.push((line, x)),
                _ => return Err(format!("line {line}: `{word}` is not a number")),
            }
        }
    }
    let (elements, []) = numbers.as_chunks::<4>() else {
        return Err(format!("{} numbers are not a multiple of 4", numbers.len()));
    };
    let element = |element: &[(u32, f64); 4]| {
        let (line, [curvature, thickness, eta, diameter]) = (element[0].0, element.map(|(_, x)| x));
        if !(diameter > 0.0 && eta >= 0.0) {
            return Err(format!(
                "line {line}: an element has a diameter of {diameter} mm and an index of {eta}"
            ));
        }
        Ok(LensElement {
            curvature: curvature / 1000.0,
            thickness: thickness / 1000.0,
            eta,
            radius: diameter / 2000.0,
        })
    };
    elements.iter().map(element).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lens_files_have_four_numbers_for_each_element() {
        let elements = parse_lens("# a lens\n35.5 2 1.5 20\n0 3 0 10 # stop\n").unwrap();
        let stop = LensElement { curvature: 0.0, thickness: 0.003, eta: 0.0, radius: 0.005 };
        assert_eq!((elements.len(), elements[1]), (2, stop));
        assert_eq!((elements[0].curvature, elements[0].radius), (0.0355, 0.01));
        for (text, message) in [
            ("1 2 3", "3 numbers are not a multiple of 4"),
            ("1 2\n3 x", "line 2: `x` is not a number"),
            (
                "1 2 1.5 9\n1 2 1.5 0",
                "line 2: an element has a diameter of 0 mm and an index of 1.5",
            ),
        ] {
            assert_eq!(parse_lens(text).unwrap_err(), message);
        }
    }
}
