//! Lights other than area lights.

use super::light_groups::light_group;
use super::{Builder, ColourRole, RenderContext, transform};
use crate::describe::{Description, LightEntity};
use crate::diagnostics::SceneError;
use crate::file::parse::Entity;
use glam::{DAffine3, DMat3, DVec3};
use lightbound::geometry::{MAX_COORDINATE, Motion};
use lightbound::light::{
    AnyLight, CONSTANT_ILLUMINANCE, DEFAULT_GROUP, DistantLight, Environment, GoniometricLight,
    LatLongMap, LightError, MovingLight, PointLight, PortalLight, ProjectionLight, Sky, SpotLight,
    image_illuminance,
};
use lightbound_image::{Encoding, Image};
use lightbound_math::sampling::luminance;
use lightbound_math::{Transform, Vec3};
use std::path::Path;

/// Supported types of lights.
const LIGHTS: [&str; 7] =
    ["infinite", "distant", "point", "spot", "goniometric", "projection", "sky"];

impl Builder<'_> {
    /// Builds all lights except area lights.
    pub(super) fn lights(
        &mut self,
        d: &Description,
        context: &RenderContext,
    ) -> Result<Vec<AnyLight>, SceneError> {
        let mut lights = Vec::new();
        let replacement = self.environment.clone();
        if let Some(path) = &replacement {
            lights.push(AnyLight::Environment(self.environment_override(d, path)?));
            let replaced = d.lights.iter().find(|light| is_replaceable(&light.entity));
            let group = replaced.map_or(Ok(DEFAULT_GROUP), |light| light_group(&light.entity))?;
            self.light_groups.assign(group, lights.len());
        }
        for light in &d.lights {
            let entity = &light.entity;
            if replacement.is_some() && is_replaceable(entity) {
                continue;
            }
            self.check_supported("light", entity, &LIGHTS, |_| None)?;
            let Some(motion) = self.light_motion(light, context)? else {
                let render_from_light = transform(entity, light.ctm)?;
                lights.extend(self.light(entity, &render_from_light, context.origin)?);
                self.assign_light_group(entity, &lights)?;
                continue;
            };
            // Lights in the space that moves.
            for light in self.light(entity, &Transform::IDENTITY, context.origin)? {
                lights.push(match light {
                    // The same radiance from all directions.
                    AnyLight::Environment(e) if e.resolution().is_none() => {
                        AnyLight::Environment(e)
                    }
                    light => {
                        AnyLight::Moving(Box::new(MovingLight::new(light, motion, context.shutter)))
                    }
                });
            }
            self.assign_light_group(entity, &lights)?;
        }
        Ok(lights)
    }

    /// Returns the motion of a light, if it moves. Warns if it cannot.
    fn light_motion(
        &mut self,
        light: &LightEntity,
        context: &RenderContext,
    ) -> Result<Option<Motion>, SceneError> {
        let (Some(end), entity) = (light.end_ctm, &light.entity) else { return Ok(None) };
        let obstacle = match () {
            () if !context.lights_move => "motion of this light is not supported by lightcuts",
            () if entity.params.find("portal").is_some() => {
                "motion of this light is not supported behind a portal"
            }
            () => return Ok(Some(context.motion(&entity.location, "light", [light.ctm, end])?)),
        };
        self.warn(entity, obstacle, "the transform at the start time")?;
        Ok(None)
    }

    /// Builds the lights of a directive.
    fn light(
        &mut self,
        entity: &Entity,
        render_from_light: &Transform,
        origin: DVec3,
    ) -> Result<Vec<AnyLight>, SceneError> {
        let lights = match entity.name.as_str() {
            "sky" => self.sky(entity, render_from_light)?,
            "infinite" => vec![self.infinite(entity, render_from_light, origin)?],
            "distant" => vec![self.distant(entity, render_from_light)?],
            "spot" => vec![self.spot(entity, render_from_light)?],
            "goniometric" => vec![self.goniometric(entity, render_from_light)?],
            "projection" => vec![self.projection(entity, render_from_light)?],
            _ => vec![self.point(entity, render_from_light)?],
        };
        // Checks the parameter and marks it as used.
        light_group(entity)?;
        self.warn_unused(entity)?;
        Ok(lights)
    }

    /// Returns the emission scale: the parameter `scale`, times the factor that gives the light the
    /// power or illuminance in the parameter `target_name`, if present. `unit` is the power or
    /// illuminance for unit emission.
    pub(super) fn scale(
        &mut self,
        entity: &Entity,
        target_name: &str,
        unit: f32,
    ) -> Result<f32, SceneError> {
        let scale = emission_scale(entity)?;
        let target = entity.params.float(target_name)?.filter(|&x| x > 0.0);
        let scale = match target {
            // A light with zero area or a black image cannot reach the target and stays black.
            Some(_) if unit <= 0.0 => 0.0,
            Some(x) => scale * (x / unit),
            None => scale,
        };
        if scale.is_finite() { Ok(scale) } else { Err(too_bright(entity, target_name)) }
    }

    /// Returns an emission times its [scale](Self::scale).
    pub(super) fn scaled(
        &mut self,
        entity: &Entity,
        emission: Vec3,
        target_name: &str,
        unit: f32,
    ) -> Result<Vec3, SceneError> {
        let scaled = emission * self.scale(entity, target_name, unit)?;
        if scaled.is_finite() { Ok(scaled) } else { Err(too_bright(entity, target_name)) }
    }

    fn point(
        &mut self,
        entity: &Entity,
        render_from_light: &Transform,
    ) -> Result<AnyLight, SceneError> {
        let from = entity.params.point3("from")?.unwrap_or(Vec3::ZERO);
        let intensity = self.emission(entity, "I")?;
        let intensity = self.scaled(entity, intensity, "power", PointLight::POWER_FACTOR)?;
        Ok(AnyLight::Point(PointLight::new(render_from_light.point(from), intensity)))
    }

    fn spot(
        &mut self,
        entity: &Entity,
        render_from_light: &Transform,
    ) -> Result<AnyLight, SceneError> {
        let p = &entity.params;
        let from = p.point3("from")?.unwrap_or(Vec3::ZERO);
        let to = p.point3("to")?.unwrap_or(Vec3::Z);
        let (cone, delta) =
            (p.float("coneangle")?.unwrap_or(30.0), p.float("conedeltaangle")?.unwrap_or(5.0));
        let intensity = self.emission(entity, "I")?;
        let light = SpotLight::new(
            render_from_light.point(from),
            render_from_light.vector(to - from),
            intensity,
            cone,
            delta,
        );
        let light = light.map_err(|e| light_error(entity, e))?;
        let scale = self.scale(entity, "power", light.power_factor())?;
        if !(intensity * scale).is_finite() {
            return Err(too_bright(entity, "power"));
        }
        Ok(AnyLight::Spot(light.scaled(scale)))
    }

    /// Builds a goniometric light. As in pbrt-v4, a colour image counts as the mean of its channels.
    fn goniometric(
        &mut self,
        entity: &Entity,
        render_from_light: &Transform,
    ) -> Result<AnyLight, SceneError> {
        let image = self.required_light_image(entity)?;
        let (width, height) = (image.width(), image.height());
        if width != height {
            return Err(entity
                .error(format!("the image of a goniometric light has {width} × {height} pixels"))
                .help("give a square image in pbrt-v4's equal-area layout"));
        }
        let texels: Vec<f32> = image.pixels().map(|rgb| rgb.element_sum() / 3.0).collect();
        let sum: f64 = texels.iter().map(|&texel| f64::from(texel.max(0.0))).sum();
        let unit = GoniometricLight::power_factor((sum / texels.len() as f64) as f32);
        let intensity = self.emission(entity, "I")?;
        let intensity = self.scaled(entity, intensity, "power", unit)?;
        let light = GoniometricLight::new(render_from_light, intensity, &texels, width as usize);
        Ok(AnyLight::Goniometric(Box::new(light)))
    }

    fn projection(
        &mut self,
        entity: &Entity,
        render_from_light: &Transform,
    ) -> Result<AnyLight, SceneError> {
        let image = self.required_light_image(entity)?;
        let fov = entity.params.float("fov")?.unwrap_or(90.0);
        let texels: Vec<Vec3> = image.pixels().collect();
        let light =
            ProjectionLight::new(render_from_light, fov, &texels, image.width() as usize, 1.0)
                .map_err(|e| light_error(entity, e))?;
        let scale = self.scale(entity, "power", luminance(light.total_power()))?;
        Ok(AnyLight::Projection(Box::new(light.scaled(scale))))
    }

    /// Reads the image of a light that needs one.
    fn required_light_image(&mut self, entity: &Entity) -> Result<Image, SceneError> {
        let Some(name) = entity.params.string("filename")? else {
            let message = format!("a {} light needs an image", entity.name);
            return Err(entity.error(message).help("give \"string filename\""));
        };
        let path = self.path(name);
        self.light_image(entity, &path, Encoding::Srgb)
    }

    /// Reads an image of emitted light. Texels must be finite; negative ones cause a warning.
    pub(super) fn light_image(
        &mut self,
        entity: &Entity,
        path: &Path,
        encoding: Encoding,
    ) -> Result<Image, SceneError> {
        let image = self.read_image(entity, path, encoding, ColourRole::Light)?;
        if let Some(i) = image.pixels().position(|texel| !texel.is_finite()) {
            let (x, y) = (i as u32 % image.width(), i as u32 / image.width());
            let message = format!("{}: texel ({x}, {y}) is not finite", path.display());
            return Err(entity.error(message).help("export the image again"));
        }
        self.check_emission(Some(&entity.location), path, &image)?;
        Ok(image)
    }

    fn distant(
        &mut self,
        entity: &Entity,
        render_from_light: &Transform,
    ) -> Result<AnyLight, SceneError> {
        let from = entity.params.point3("from")?.unwrap_or(Vec3::ZERO);
        let to = entity.params.point3("to")?.unwrap_or(Vec3::Z);
        let irradiance = self.emission(entity, "L")?;
        let irradiance = self.scaled(entity, irradiance, "illuminance", 1.0)?;
        let light = DistantLight::new(render_from_light.vector(from - to), irradiance)
            .map_err(|e| light_error(entity, e))?;
        Ok(AnyLight::Distant(light))
    }

    /// Builds an environment light. As in pbrt-v4, the corners of a portal are in world space.
    fn infinite(
        &mut self,
        entity: &Entity,
        render_from_light: &Transform,
        origin: DVec3,
    ) -> Result<AnyLight, SceneError> {
        let environment = self.environment(entity, render_from_light)?;
        let Some(corners) = entity.params.point3s("portal")? else {
            return Ok(AnyLight::Environment(environment));
        };
        let help = "give the 4 corners of a rectangle, counter-clockwise as seen from inside";
        let Ok(corners) = <[Vec3; 4]>::try_from(corners) else {
            let message = format!("\"portal\" has {} points", corners.len());
            return Err(entity.error(message).help(help));
        };
        let corners = corners.map(|p| (p.as_dvec3() - origin).as_vec3());
        let magnitude = corners.iter().map(|p| p.abs().max_element()).fold(0.0, f32::max);
        if magnitude.is_nan() || magnitude > MAX_COORDINATE {
            let message = format!(
                "\"portal\" has coordinates up to {magnitude:.0e}, and the largest possible is \
                 {MAX_COORDINATE:e}"
            );
            let error = entity.param_error("portal", message);
            return Err(error.help("move the corners closer; a portal need not cover the sky"));
        }
        let light = PortalLight::new(environment, corners);
        Ok(AnyLight::Portal(Box::new(light.map_err(|e| light_error(entity, e).help(help))?)))
    }

    fn environment(
        &mut self,
        entity: &Entity,
        render_from_light: &Transform,
    ) -> Result<Environment, SceneError> {
        let p = &entity.params;
        let Some(name) = p.string("filename")? else {
            let radiance = self.emission(entity, "L")?;
            let radiance = self.scaled(entity, radiance, "illuminance", CONSTANT_ILLUMINANCE)?;
            return Ok(Environment::constant(radiance));
        };
        if p.find("L").is_some() {
            return Err(entity
                .error("both \"L\" and \"filename\" are given")
                .help("remove one of them; \"scale\" brightens an image"));
        }
        let path = self.path(name);
        let image = self.read_image(entity, &path, Encoding::Srgb, ColourRole::Light)?;
        self.check_emission(Some(&entity.location), &path, &image)?;
        let is_lat_long = image.width() != image.height();
        let (width, height) = (image.width(), image.height());
        let (texels, size) =
            equal_area(image).map_err(|problem| problem.error(&path, |m| entity.error(m)))?;
        if is_lat_long {
            let message = format!(
                "{} has {width} × {height} pixels, but pbrt-v4 takes square equal-area maps only",
                path.display()
            );
            self.warn(entity, message, "the image as a latitude–longitude map")?;
        }
        let scale = self.scale(entity, "illuminance", image_illuminance(&texels, size))?;
        Environment::image(texels, size, render_from_light, scale).map_err(|e| {
            entity
                .error(format!("{}: {e}", path.display()))
                .help("fix the image, or give a smaller \"scale\"")
        })
    }

    /// Builds the sky of a clear day, and its sun.
    fn sky(
        &mut self,
        entity: &Entity,
        render_from_light: &Transform,
    ) -> Result<Vec<AnyLight>, SceneError> {
        let p = &entity.params;
        let number =
            |name: &str, default: f32| Ok::<f32, SceneError>(p.float(name)?.unwrap_or(default));
        let (turbidity, elevation) = (number("turbidity", 3.0)?, number("elevation", 45.0)?);
        let sky = Sky::new(turbidity, elevation, number("azimuth", 0.0)?)
            .map_err(|e| light_error(entity, e))?;
        let scale = emission_scale(entity)?;
        let (texels, size) = sky.map();
        let too_bright = |e: LightError| light_error(entity, e).help("give a smaller \"scale\"");
        let environment =
            Environment::image(texels, size, render_from_light, scale).map_err(too_bright)?;
        let mut lights = vec![AnyLight::Environment(environment)];
        if p.bool("sun")?.unwrap_or(true) {
            let direction = render_from_light.vector(sky.sun());
            let sun = DistantLight::new(direction, sky.sun_irradiance() * scale);
            lights.push(AnyLight::Distant(sun.map_err(|e| light_error(entity, e))?));
        }
        Ok(lights)
    }

    /// Builds the environment that an option names.
    fn environment_override(
        &mut self,
        d: &Description,
        path: &Path,
    ) -> Result<Environment, SceneError> {
        let replaced = d.lights.iter().find(|light| {
            light.entity.name == "infinite" && light.entity.params.find("filename").is_some()
        });
        let render_from_light = match replaced {
            Some(light) => transform(&light.entity, light.ctm)?,
            None => upright(d),
        };
        let help = "name an image for --environment: .exr, .hdr or .pfm, twice as wide as high, \
                    or square in pbrt-v4's equal-area layout";
        let image = self
            .read_linear(path, Encoding::Srgb, ColourRole::Light)
            .map_err(|e| SceneError::new(e.to_string()).help(help))?;
        self.check_emission(None, path, &image)?;
        let (texels, size) =
            equal_area(image).map_err(|problem| problem.error(path, SceneError::new))?;
        Environment::image(texels, size, &render_from_light, 1.0)
            .map_err(|e| SceneError::new(format!("{}: {e}", path.display())).help(help))
    }
}

/// Returns whether a light is replaced by an environment that an option names.
fn is_replaceable(entity: &Entity) -> bool {
    matches!(entity.name.as_str(), "infinite" | "sky")
}

/// Why an image cannot be an environment map.
enum MapProblem {
    /// Neither square nor twice as wide as high.
    Shape { width: u32, height: u32 },
    /// A texel is invalid.
    Texel(LightError),
}

impl MapProblem {
    fn error(self, path: &Path, error: impl FnOnce(String) -> SceneError) -> SceneError {
        match self {
            MapProblem::Shape { width, height } => error(format!(
                "{} has {width} × {height} pixels",
                path.display()
            ))
            .help(
                "environment maps are twice as wide as high (latitude and longitude), or square \
                 (pbrt-v4's equal-area layout)",
            ),
            MapProblem::Texel(e) => {
                error(format!("{}: {e}", path.display())).help("export the image again")
            }
        }
    }
}

/// Returns the texels of an environment map in the equal-area layout, and their number along a
/// side. Images that are twice as wide as high are maps of latitude and longitude.
fn equal_area(image: Image) -> Result<(Vec<Vec3>, usize), MapProblem> {
    let texels: Vec<Vec3> = image.pixels().collect();
    let (width, height) = (image.width(), image.height());
    drop(image);
    if width == height {
        return Ok((texels, width as usize));
    }
    if width != 2 * height {
        return Err(MapProblem::Shape { width, height });
    }
    let map = LatLongMap { texels: &texels, width: width as usize, height: height as usize };
    map.to_equal_area().map_err(MapProblem::Texel)
}

/// Returns the transform that maps the +z axis of an environment, its zenith, to the axis of world
/// space that points up in the image.
fn upright(d: &Description) -> Transform {
    let render_from_camera = d.camera.as_ref().map(|camera| camera.camera_from_world.inverse());
    let up = render_from_camera.map_or(DVec3::Y, |m| m.transform_vector3(DVec3::Y));
    let axis = up.abs().max_position();
    let zenith = DVec3::from_array(std::array::from_fn(|i| {
        if i == axis { 1f64.copysign(up[axis]) } else { 0.0 }
    }));
    let x = if axis == 0 { DVec3::Y } else { DVec3::X };
    let rotation = DMat3::from_cols(x, zenith.cross(x), zenith);
    Transform::new(DAffine3::from_mat3(rotation)).expect("rotations are invertible")
}

/// Returns the parameter `scale` of a light; 1 by default.
pub(super) fn emission_scale(entity: &Entity) -> Result<f32, SceneError> {
    match entity.params.float("scale")?.unwrap_or(1.0) {
        scale if scale < 0.0 => {
            let error = entity.error(format!("\"scale\" is {scale}, but cannot be negative"));
            Err(error.help("give 0 or more"))
        }
        scale => Ok(scale),
    }
}

fn too_bright(entity: &Entity, target_name: &str) -> SceneError {
    let error = entity.error(format!(
        "\"scale\" and \"{target_name}\" make this light too bright for single precision"
    ));
    error.help("give smaller values")
}

fn light_error(entity: &Entity, error: LightError) -> SceneError {
    entity.error(error.to_string())
}
