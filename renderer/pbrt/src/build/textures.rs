//! Builds textures and parameters that accept textures.

use super::value_checks::ValidValues;
use super::{Builder, ColourRole, transform};
use crate::describe::{Description, TextureEntity};
use crate::diagnostics::SceneError;
use crate::file::params::{FloatOrTexture, SpectrumOrTexture, SpectrumParam};
use crate::file::parse::Entity;
use lightbound::settings::ColourSpace;
use lightbound::suggestion::did_you_mean;
use lightbound::texture::{
    Bilerp, Checkerboard, CheckerboardDomain, Dots, ImageMap, ImageMapValue, Mapping, Octaves,
    Param, Pyramid, Solid, SolidPattern, Texture, TextureFilter, WrapMode,
};
use lightbound_image::{self, Encoding, Image};
use lightbound_math::{Transform, Vec2, Vec3};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Textures by type and name, and the images that they share.
#[derive(Default)]
pub(super) struct Textures {
    float: HashMap<String, Arc<Texture>>,
    spectrum: HashMap<String, Arc<Texture>>,
    images: HashMap<(PathBuf, String), Arc<Image>>,
    /// Pyramids of images, which addresses identify.
    pyramids: HashMap<(*const Image, ImageMapValue), Arc<Pyramid>>,
}

impl Textures {
    /// Returns a texture of either type, preferably a spectrum texture.
    pub fn any(&self, name: &str) -> Option<Arc<Texture>> {
        self.spectrum.get(name).or_else(|| self.float.get(name)).cloned()
    }

    /// Returns a texture for a parameter: a float texture, or if `colour` is set, preferably a
    /// spectrum texture.
    pub fn for_parameter(&self, name: &str, colour: bool) -> Option<Param> {
        let texture = if colour { self.any(name) } else { self.float.get(name).cloned() };
        texture.map(Param::Texture)
    }

    /// Returns the path of an image.
    pub fn path_of(&self, image: &Arc<Image>) -> PathBuf {
        let found = self.images.iter().find(|(_, other)| Arc::ptr_eq(other, image));
        found.map(|((path, _), _)| path.clone()).unwrap_or_default()
    }

    /// Returns an image that has been read with an encoding.
    pub fn cached_image(&self, path: &Path, encoding: &str) -> Option<Arc<Image>> {
        self.images.get(&(path.to_path_buf(), encoding.to_string())).cloned()
    }

    /// Keeps an image that was read with an encoding.
    pub fn cache_image(&mut self, path: &Path, encoding: &str, image: Image) -> Arc<Image> {
        let image = Arc::new(image);
        self.images.insert((path.to_path_buf(), encoding.to_string()), image.clone());
        image
    }

    /// Iterates over the names of all textures.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.spectrum.keys().chain(self.float.keys()).map(String::as_str)
    }
}

/// Largest `maxanisotropy`, so that lookups average a limited number of texels.
const MAX_ANISOTROPY: f32 = 64.0;

/// Supported classes of textures.
const TEXTURES: [&str; 15] = [
    "constant",
    "imagemap",
    "checkerboard",
    "scale",
    "mix",
    "directionmix",
    "bilerp",
    "dots",
    "fbm",
    "wrinkled",
    "windy",
    "marble",
    "attribute",
    "normalmap",
    "threshold",
];

/// Maximum number of octaves of noise. From about 30 on, the frequency exceeds the resolution of
/// floats.
const MAX_OCTAVES: i32 = 64;

impl Builder<'_> {
    /// Builds all textures.
    pub(super) fn build_textures(&mut self, d: &Description) -> Result<(), SceneError> {
        for t in &d.textures {
            let texture = Arc::new(self.texture(t)?);
            self.checks.define(&texture, &t.entity.location);
            let map =
                if t.is_float { &mut self.textures.float } else { &mut self.textures.spectrum };
            map.insert(t.name.clone(), texture);
        }
        Ok(())
    }

    fn texture(&mut self, t: &TextureEntity) -> Result<Texture, SceneError> {
        let entity = &t.entity;
        if !self.check_supported("texture", entity, &TEXTURES, |name| {
            (name == "ptex").then_some("the constant 0.5")
        })? {
            entity.params.mark_all_used();
            return Ok(Texture::Constant(Vec3::splat(0.5)));
        }
        let other_type = match entity.name.as_str() {
            "fbm" | "wrinkled" | "windy" | "threshold" if !t.is_float => Some("float"),
            "marble" | "normalmap" if t.is_float => Some("spectrum"),
            _ => None,
        };
        if let Some(ty) = other_type {
            return Err(entity
                .error(format!("a texture of class \"{}\" has type \"{ty}\"", entity.name))
                .help(format!("declare it with type \"{ty}\"")));
        }
        // The values are checked where the texture is used, except `amount`, since blends can
        // extrapolate.
        let float = |b: &mut Self, name: &str, default: f32| {
            let value = b.unchecked_float(entity, name)?;
            Ok(value.unwrap_or_else(|| Param::from_float(default)))
        };
        let value = |b: &mut Self, name: &str, default: f32| {
            if t.is_float {
                float(b, name, default)
            } else {
                b.unchecked_spectrum_or(entity, name, grey(default))
            }
        };
        let texture = match entity.name.as_str() {
            "constant" => match value(self, "value", 1.0)? {
                Param::Constant(c) => Texture::Constant(c),
                Param::Texture(_) => {
                    return Err(entity
                        .error("a constant texture cannot refer to a texture")
                        .help("use that texture directly"));
                }
            },
            "imagemap" => self.imagemap(t)?,
            "checkerboard" => {
                let domain = match entity.params.int("dimension")?.unwrap_or(2) {
                    2 => CheckerboardDomain::Flat(self.mapping(t)?),
                    3 => CheckerboardDomain::Solid(texture_transform(t)?.inverse()),
                    n => {
                        return Err(entity
                            .error(format!("a checkerboard has 2 or 3 dimensions, not {n}"))
                            .help("give 2 or 3"));
                    }
                };
                let (even, odd) = (value(self, "tex1", 1.0)?, value(self, "tex2", 0.0)?);
                Texture::Checkerboard(Checkerboard { domain, even, odd })
            }
            "scale" => Texture::Scale(value(self, "tex", 1.0)?, float(self, "scale", 1.0)?),
            "dots" => {
                let (inside, outside) = (value(self, "inside", 1.0)?, value(self, "outside", 0.0)?);
                Texture::Dots(Dots { mapping: self.mapping(t)?, inside, outside })
            }
            "attribute" => {
                let is_given = entity.params.find("default").is_some();
                let id = self.attribute(entity)?;
                match value(self, "default", 1.0)? {
                    Param::Constant(default) => {
                        Texture::Attribute { id, default, is_required: !is_given }
                    }
                    Param::Texture(_) => {
                        let error = entity.param_error("default", "the default is a texture");
                        return Err(error.help("give a constant"));
                    }
                }
            }
            "bilerp" => self.bilerp(t)?,
            "normalmap" => {
                let flat = SpectrumParam::Rgb([0.5, 0.5, 1.0], ColourSpace::default());
                Texture::Normal(self.unchecked_spectrum_or(entity, "tex", flat)?)
            }
            "threshold" => {
                let threshold = entity.params.float("threshold")?.unwrap_or(0.5);
                let step = move |value: Vec3| Vec3::splat(f32::from(value.x >= threshold));
                Texture::map(float(self, "tex", 1.0)?, step)
            }
            "directionmix" => {
                let (a, b) = (value(self, "tex1", 0.0)?, value(self, "tex2", 1.0)?);
                let direction = entity.params.vector3("dir")?.unwrap_or(Vec3::Y);
                match texture_transform(t)?.vector(direction).try_normalize() {
                    Some(direction) => Texture::DirectionMix { a, b, direction },
                    None => {
                        return Err(entity
                            .error("\"vector3 dir\" has no direction")
                            .help("give a vector that is not zero"));
                    }
                }
            }
            "mix" => {
                let (a, b) = (value(self, "tex1", 0.0)?, value(self, "tex2", 1.0)?);
                Texture::Mix { a, b, amount: float(self, "amount", 0.5)? }
            }
            _ => Texture::Solid(self.solid(t)?),
        };
        self.warn_unused(entity)?;
        Ok(texture)
    }

    fn bilerp(&mut self, t: &TextureEntity) -> Result<Texture, SceneError> {
        let (entity, mapping) = (&t.entity, self.mapping(t)?);
        let mut corner = |name: &str, default: f32| {
            if t.is_float {
                return Ok(Vec3::splat(entity.params.float(name)?.unwrap_or(default)));
            }
            let spectrum = entity.params.spectrum(name)?.unwrap_or_else(|| grey(default));
            self.reflectance(entity, &spectrum)
        };
        let corners =
            [corner("v00", 0.0)?, corner("v01", 1.0)?, corner("v10", 0.0)?, corner("v11", 1.0)?];
        Ok(Texture::Bilerp(Bilerp { mapping, corners }))
    }

    fn solid(&mut self, t: &TextureEntity) -> Result<Solid, SceneError> {
        let entity = &t.entity;
        let p = &entity.params;
        let octaves = || {
            let count = p.int("octaves")?.unwrap_or(8);
            if !(0..=MAX_OCTAVES).contains(&count) {
                let range = format!("0 to {MAX_OCTAVES}");
                let message = format!("\"octaves\" is {count}, expected {range}");
                return Err(entity.error(message).help(format!("give a number from {range}")));
            }
            let roughness = p.float("roughness")?.unwrap_or(0.5);
            Ok(Octaves { count: count as u32, roughness })
        };
        let pattern = match entity.name.as_str() {
            "fbm" => SolidPattern::Fbm(octaves()?),
            "wrinkled" => SolidPattern::Wrinkled(octaves()?),
            "windy" => SolidPattern::Windy,
            _ => SolidPattern::Marble {
                octaves: octaves()?,
                scale: p.float("scale")?.unwrap_or(1.0),
                variation: p.float("variation")?.unwrap_or(0.2),
            },
        };
        Ok(Solid { texture_from_render: texture_transform(t)?.inverse(), pattern })
    }

    fn imagemap(&mut self, t: &TextureEntity) -> Result<Texture, SceneError> {
        let entity = &t.entity;
        let p = &entity.params;
        let Some(name) = p.string("filename")? else {
            return Err(entity.error("an imagemap needs a file").help("give \"string filename\""));
        };
        let error = |message: String| entity.error(message);
        let wrap: WrapMode = p.string("wrap")?.unwrap_or("repeat").parse().map_err(error)?;
        let (scale, invert) =
            (p.float("scale")?.unwrap_or(1.0), p.bool("invert")?.unwrap_or(false));
        let encoding = p.string("encoding")?.unwrap_or("sRGB");
        let image = self.image(entity, &self.path(name), encoding)?;
        self.check_finite(entity, &image)?;
        let mapping = self.mapping(t)?;
        let value = if t.is_float { ImageMapValue::Float } else { ImageMapValue::Rgb };
        let filter = self.texture_filter(entity, &image, value)?;
        Ok(Texture::Image(ImageMap { image, mapping, value, wrap, filter, scale, invert }))
    }

    /// Reads the filter of an image texture.
    fn texture_filter(
        &mut self,
        entity: &Entity,
        image: &Arc<Image>,
        value: ImageMapValue,
    ) -> Result<TextureFilter, SceneError> {
        let max_anisotropy = entity.params.float("maxanisotropy")?.unwrap_or(8.0);
        if !(1.0..=MAX_ANISOTROPY).contains(&max_anisotropy) {
            let message = format!("\"maxanisotropy\" is {max_anisotropy}");
            return Err(entity.error(message).help(format!("give 1 to {MAX_ANISOTROPY}")));
        }
        let pyramids = &mut self.textures.pyramids;
        let mut pyramid = || {
            let pyramid = pyramids.entry((Arc::as_ptr(image), value));
            pyramid.or_insert_with(|| Arc::new(ImageMap::pyramid(image, value))).clone()
        };
        Ok(match entity.params.string("filter")?.unwrap_or("bilinear") {
            "point" => TextureFilter::Point,
            "bilinear" => TextureFilter::Bilinear,
            "trilinear" => TextureFilter::Trilinear(pyramid()),
            "ewa" | "EWA" => TextureFilter::Elliptical { pyramid: pyramid(), max_anisotropy },
            other => {
                let names = ["point", "bilinear", "trilinear", "ewa"];
                let help = did_you_mean(other, names, "use point, bilinear, trilinear or ewa");
                return Err(entity.error(format!("unknown texture filter \"{other}\"")).help(help));
            }
        })
    }

    /// Returns an image. Reads each file once per encoding.
    pub(super) fn image(
        &mut self,
        entity: &Entity,
        path: &Path,
        encoding: &str,
    ) -> Result<Arc<Image>, SceneError> {
        if let Some(image) = self.textures.cached_image(path, encoding) {
            return Ok(image);
        }
        let parsed: Encoding = encoding
            .parse()
            .map_err(|e: lightbound_image::EncodingError| entity.error(e.to_string()))?;
        let image = self.read_image(entity, path, parsed, ColourRole::Reflectance)?;
        Ok(self.textures.cache_image(path, encoding, image))
    }

    fn mapping(&mut self, t: &TextureEntity) -> Result<Mapping, SceneError> {
        let entity = &t.entity;
        let p = &entity.params;
        let attribute = match p.string("mapping")? {
            Some("attribute") => Some(self.attribute(entity)?),
            _ => None,
        };
        let number =
            |name: &str, default: f32| Ok::<f32, SceneError>(p.float(name)?.unwrap_or(default));
        let offset =
            |u: &str, v: &str| Ok::<Vec2, SceneError>(Vec2::new(number(u, 0.0)?, number(v, 0.0)?));
        let texture_from_render = || Ok::<_, SceneError>(texture_transform(t)?.inverse());
        Ok(match p.string("mapping")?.unwrap_or("uv") {
            "uv" | "attribute" => {
                let scale = Vec2::new(number("uscale", 1.0)?, number("vscale", 1.0)?);
                let offset = offset("udelta", "vdelta")?;
                match attribute {
                    None => Mapping::Uv { scale, offset },
                    Some(id) => Mapping::Attribute { id, scale, offset },
                }
            }
            "planar" => Mapping::Planar {
                texture_from_render: texture_from_render()?,
                s: p.vector3("v1")?.unwrap_or(Vec3::X),
                t: p.vector3("v2")?.unwrap_or(Vec3::Y),
                offset: offset("udelta", "vdelta")?,
            },
            "spherical" => Mapping::Spherical(texture_from_render()?),
            "cylindrical" => Mapping::Cylindrical(texture_from_render()?),
            other => {
                let names = ["uv", "planar", "spherical", "cylindrical", "attribute"];
                let all = "use uv, planar, spherical, cylindrical or attribute";
                let help = did_you_mean(other, names, all);
                return Err(entity.error(format!("unknown mapping \"{other}\"")).help(help));
            }
        })
    }

    /// Reads an optional float or float texture. Negative constants become 0, with a warning.
    pub(super) fn optional_float(
        &mut self,
        entity: &Entity,
        name: &str,
    ) -> Result<Option<Param>, SceneError> {
        let value = self.unchecked_float(entity, name)?;
        match &value {
            Some(Param::Constant(x)) if x.x < 0.0 => {
                let location = entity.params.find(name).map(|param| &param.location);
                let message = format!("\"float {name}\" is {}, but cannot be negative", x.x);
                self.diagnostics.warn(location, message, "0")?;
                return Ok(Some(Param::from_float(0.0)));
            }
            Some(value) => self.check_texture(value, 1.0, ValidValues::NonNegative)?,
            None => (),
        }
        Ok(value)
    }

    /// [`Builder::optional_float`] without a check of the values.
    pub(super) fn unchecked_float(
        &self,
        entity: &Entity,
        name: &str,
    ) -> Result<Option<Param>, SceneError> {
        Ok(match entity.params.float_or_texture(name)? {
            None => None,
            Some(FloatOrTexture::Float(x)) => Some(Param::from_float(x)),
            Some(FloatOrTexture::Texture(texture)) => {
                Some(find(&self.textures.float, entity, texture, "float")?)
            }
        })
    }

    /// Reads a float or float texture.
    pub(super) fn float(
        &mut self,
        entity: &Entity,
        name: &str,
        default: f32,
    ) -> Result<Param, SceneError> {
        Ok(self.optional_float(entity, name)?.unwrap_or_else(|| Param::from_float(default)))
    }

    /// Reads a spectrum, converted like a reflectance, or a spectrum texture.
    pub(super) fn spectrum_or(
        &mut self,
        entity: &Entity,
        name: &str,
        default: SpectrumParam,
    ) -> Result<Param, SceneError> {
        let value = self.unchecked_spectrum_or(entity, name, default)?;
        self.check_texture(&value, 1.0, ValidValues::NonNegative)?;
        Ok(value)
    }

    /// [`Builder::spectrum_or`] without a check of the values.
    pub(super) fn unchecked_spectrum_or(
        &mut self,
        entity: &Entity,
        name: &str,
        default: SpectrumParam,
    ) -> Result<Param, SceneError> {
        let spectrum = match entity.params.spectrum_or_texture(name)? {
            Some(SpectrumOrTexture::Texture(texture)) => {
                return find(&self.textures.spectrum, entity, texture, "spectrum");
            }
            Some(SpectrumOrTexture::Spectrum(s)) => s,
            None => default,
        };
        Ok(Param::Constant(self.reflectance(entity, &spectrum)?))
    }
}

/// A grey with equal components.
pub(super) fn grey(value: f32) -> SpectrumParam {
    SpectrumParam::Rgb([value; 3], ColourSpace::default())
}

/// Returns the transform from texture to render space.
fn texture_transform(t: &TextureEntity) -> Result<Transform, SceneError> {
    let ctm = t.ctm.as_ref().map_err(|fault| fault.error(&t.entity.location, "texture"))?;
    transform(&t.entity, *ctm)
}

/// Finds a texture of type `ty` by name.
fn find(
    textures: &HashMap<String, Arc<Texture>>,
    entity: &Entity,
    name: &str,
    ty: &str,
) -> Result<Param, SceneError> {
    match textures.get(name) {
        Some(t) => Ok(Param::Texture(t.clone())),
        None => {
            let help = did_you_mean(
                name,
                textures.keys().map(String::as_str),
                &format!("define it with Texture as a {ty}"),
            );
            Err(entity.error(format!("no texture of type {ty} is named \"{name}\"")).help(help))
        }
    }
}
