//! Lights other than area lights.

use super::{Builder, transform};
use crate::describe::Description;
use crate::diagnostics::SceneError;
use crate::file::parse::Entity;
use lightbound::light::{
    AnyLight, CONSTANT_ILLUMINANCE, DistantLight, Environment, LightError, PointLight, SpotLight,
    image_illuminance,
};
use lightbound_image::Encoding;
use lightbound_math::{Transform, Vec3};

/// Supported types of lights.
const LIGHTS: [&str; 4] = ["infinite", "distant", "point", "spot"];

impl Builder<'_> {
    /// Builds all lights except area lights.
    pub(super) fn lights(&mut self, d: &Description) -> Result<Vec<AnyLight>, SceneError> {
        let mut lights = Vec::new();
        for light in &d.lights {
            let entity = &light.entity;
            let fallback = |name: &str| {
                matches!(name, "goniometric" | "projection")
                    .then_some("a point light of the same intensity")
            };
            let supported = self.check_supported("light", entity, &LIGHTS, fallback)?;
            let world_from_light = transform(entity, light.ctm)?;
            lights.push(match entity.name.as_str() {
                "infinite" => AnyLight::Environment(self.infinite(entity, &world_from_light)?),
                "distant" => self.distant(entity, &world_from_light)?,
                "spot" => self.spot(entity, &world_from_light)?,
                _ => self.point(entity, &world_from_light)?,
            });
            if supported {
                self.warn_unused(entity)?;
            } else {
                entity.params.mark_all_used();
            }
        }
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
        let scale = entity.params.float("scale")?.unwrap_or(1.0);
        let target = entity.params.float(target_name)?.filter(|&x| x > 0.0);
        let scale = match target {
            // A light with zero area or a black image cannot reach the target and stays black.
            Some(_) if unit <= 0.0 => 0.0,
            Some(x) => scale * (x / unit),
            None => scale,
        };
        if scale.is_finite() {
            return Ok(scale);
        }
        let error = entity.error(format!(
            "\"scale\" and \"{target_name}\" make this light too bright for single precision"
        ));
        Err(error.help("give smaller values"))
    }

    fn point(
        &mut self,
        entity: &Entity,
        world_from_light: &Transform,
    ) -> Result<AnyLight, SceneError> {
        let from = entity.params.point3("from")?.unwrap_or(Vec3::ZERO);
        let intensity =
            self.emission(entity, "I")? * self.scale(entity, "power", PointLight::POWER_FACTOR)?;
        Ok(AnyLight::Point(PointLight::new(world_from_light.point(from), intensity)))
    }

    fn spot(
        &mut self,
        entity: &Entity,
        world_from_light: &Transform,
    ) -> Result<AnyLight, SceneError> {
        let p = &entity.params;
        let from = p.point3("from")?.unwrap_or(Vec3::ZERO);
        let to = p.point3("to")?.unwrap_or(Vec3::Z);
        let (cone, delta) =
            (p.float("coneangle")?.unwrap_or(30.0), p.float("conedeltaangle")?.unwrap_or(5.0));
        let intensity = self.emission(entity, "I")?;
        let light = SpotLight::new(
            world_from_light.point(from),
            world_from_light.vector(to - from),
            intensity,
            cone,
            delta,
        );
        let light = light.map_err(|e| light_error(entity, e))?;
        let scale = self.scale(entity, "power", light.power_factor())?;
        Ok(AnyLight::Spot(light.scaled(scale)))
    }

    fn distant(
        &mut self,
        entity: &Entity,
        world_from_light: &Transform,
    ) -> Result<AnyLight, SceneError> {
        let from = entity.params.point3("from")?.unwrap_or(Vec3::ZERO);
        let to = entity.params.point3("to")?.unwrap_or(Vec3::Z);
        let irradiance = self.emission(entity, "L")? * self.scale(entity, "illuminance", 1.0)?;
        let light = DistantLight::new(world_from_light.vector(from - to), irradiance)
            .map_err(|e| light_error(entity, e))?;
        Ok(AnyLight::Distant(light))
    }

    fn infinite(
        &mut self,
        entity: &Entity,
        world_from_light: &Transform,
    ) -> Result<Environment, SceneError> {
        let p = &entity.params;
        if p.point3s("portal")?.is_some() {
            self.warn(entity, "portals are not supported", "the whole environment")?;
        }
        let Some(name) = p.string("filename")? else {
            let scale = self.scale(entity, "illuminance", CONSTANT_ILLUMINANCE)?;
            return Ok(Environment::constant(self.emission(entity, "L")? * scale));
        };
        if p.find("L").is_some() {
            return Err(entity
                .error("both \"L\" and \"filename\" are given")
                .help("remove one of them; \"scale\" brightens an image"));
        }
        let path = self.path(name);
        let image = self.read_image(entity, &path, Encoding::Srgb)?;
        self.check_emission(entity, &path, &image)?;
        if image.width() != image.height() {
            return Err(entity.error(format!("{} has {} × {} pixels", path.display(), image.width(), image.height())).help(
                "environment images are square equal-area octahedral maps in pbrt-v4; its `imgtool makeequiarea` makes them",
            ));
        }
        let texels: Vec<Vec3> = image.pixels().collect();
        let size = image.width() as usize;
        let scale = self.scale(entity, "illuminance", image_illuminance(&texels, size))?;
        Environment::image(&texels, size, world_from_light, scale).map_err(|e| {
            entity
                .error(format!("{}: {e}", path.display()))
                .help("fix the image, or give a smaller \"scale\"")
        })
    }
}

fn light_error(entity: &Entity, error: LightError) -> SceneError {
    entity.error(error.to_string())
}
