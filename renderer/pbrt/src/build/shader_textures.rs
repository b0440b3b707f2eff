//! Textures of shaders. Each image is [converted](shader_texture) once for all materials that use
//! it.

use super::Builder;
use super::shader_material::ShaderUse;
use crate::diagnostics::SceneError;
use crate::file::params::{Param, ParamType};
use lightbound::suggestion::did_you_mean;
use lightbound::texture::{
    ImageMap, ImageMapValue, Mapping, Texture, TextureFilter, WrapMode, shader_texture,
};
use lightbound_image::Image;
use lightbound_shader::texture;
use std::collections::HashMap;
use std::sync::Arc;

/// Converted images by source image and conversion. Addresses identify images, which live until the
/// scene is built.
#[derive(Default)]
pub(super) struct ConvertedTextures(HashMap<ConversionKey, Arc<texture::Texture>>);

#[derive(PartialEq, Eq, Hash)]
struct ConversionKey {
    image: *const Image,
    value: ImageMapValue,
    /// Bits of the `f32`.
    scale: u32,
    invert: bool,
}

/// Settings and texels of a texture in a shader.
pub(super) type ShaderTexture = (texture::TextureState, Arc<texture::Texture>);

impl ConvertedTextures {
    /// Returns the converted texture of an image map.
    fn get(&mut self, map: &ImageMap) -> Arc<texture::Texture> {
        let ImageMap { ref image, value, scale, invert, .. } = *map;
        let key =
            ConversionKey { image: Arc::as_ptr(image), value, scale: scale.to_bits(), invert };
        self.0.entry(key).or_insert_with(|| Arc::new(shader_texture::convert(map))).clone()
    }
}

/// Returns the sampler settings of an image map.
fn sampler(map: &ImageMap) -> texture::SamplerState {
    let wrap = match map.wrap {
        WrapMode::Repeat => texture::Wrap::Repeat,
        WrapMode::Black => texture::Wrap::Black,
        WrapMode::Clamp => texture::Wrap::Clamp,
        // With a warning.
        WrapMode::ClampU | WrapMode::ClampV => texture::Wrap::Repeat,
        WrapMode::OctahedralSphere => texture::Wrap::Octahedral,
    };
    let filter = match map.filter {
        TextureFilter::Point => texture::Filter::Point,
        // The code of a shader knows no footprint.
        TextureFilter::Bilinear
        | TextureFilter::Trilinear(_)
        | TextureFilter::Elliptical { .. } => texture::Filter::Bilinear,
    };
    texture::SamplerState { wrap, filter }
}

impl Builder<'_> {
    /// Returns the textures of a shader in the order of their declarations.
    pub(super) fn shader_textures(
        &mut self,
        shader_use: &ShaderUse,
    ) -> Result<Vec<ShaderTexture>, SceneError> {
        let shader = shader_use.shader.clone();
        shader.textures().iter().map(|name| self.shader_texture(shader_use, name)).collect()
    }

    /// Returns the texture of a shader that its material sets.
    pub(super) fn shader_texture(
        &mut self,
        shader_use: &ShaderUse,
        name: &str,
    ) -> Result<ShaderTexture, SceneError> {
        let remedy = format!(
            "give \"texture {name}\", the name of an imagemap, or \"string {name}\", an image file"
        );
        match shader_use.entity.params.any(name) {
            None => {
                let error = shader_use
                    .entity
                    .error(format!("texture \"{name}\" is missing ({})", shader_use.label));
                Err(error.help(shader_use.help(&remedy)))
            }
            Some(param) if param.ty == ParamType::Texture => {
                let named = shader_use.entity.params.texture(name)?.expect("the parameter exists");
                let texture = self.textures.any(named).ok_or_else(|| {
                    let help = did_you_mean(named, self.textures.names(), "define it with Texture");
                    shader_use
                        .error(param, &format!("is \"{named}\", which is not a texture"))
                        .help(help)
                })?;
                match &*texture {
                    Texture::Image(map) => self.converted_texture(shader_use, param, map),
                    _ => {
                        let error = shader_use
                            .error(param, &format!("is \"{named}\", which is not an imagemap"));
                        Err(error.help(
                            "shaders sample images: refer to a texture of class \"imagemap\"",
                        ))
                    }
                }
            }
            Some(param) if param.ty == ParamType::String => {
                let file = shader_use.entity.params.string(name)?.expect("the parameter exists");
                let image = self.image(shader_use.entity, &self.path(file), "sRGB");
                let image = image.map_err(|error| {
                    let message = format!("cannot be used: {}", error.message());
                    let wrapped = shader_use.error(param, &message);
                    match error.remedy() {
                        Some(remedy) => wrapped.help(remedy),
                        None => wrapped,
                    }
                })?;
                self.check_finite(shader_use.entity, &image)?;
                self.converted_texture(shader_use, param, &shader_texture::default_image_map(image))
            }
            Some(param) => {
                Err(shader_use.error(param, "is not an image").help(shader_use.help(&remedy)))
            }
        }
    }

    /// Returns a texture of a shader with the image of a map.
    pub(super) fn unmapped_texture(&mut self, map: &ImageMap) -> ShaderTexture {
        let texture = self.converted.get(map);
        (texture.state(sampler(map)), texture)
    }

    fn converted_texture(
        &mut self,
        shader_use: &ShaderUse,
        param: &Param,
        map: &ImageMap,
    ) -> Result<ShaderTexture, SceneError> {
        let name = format!("\"{} {}\"", param.ty, param.name);
        shader_texture::check_size(&map.image)
            .map_err(|error| shader_use.error(param, &error.to_string()).help(error.remedy()))?;
        if map.mapping != Mapping::UV {
            let message = format!(
                "{name} has a mapping, but shaders compute texture coordinates themselves ({})",
                shader_use.label
            );
            self.diagnostics.warn(
                Some(&param.location),
                message,
                "the image without the mapping",
            )?;
        }
        if matches!(map.wrap, WrapMode::ClampU | WrapMode::ClampV) {
            let message = format!(
                "{name} is clamped along one axis, but shaders wrap both in the same way ({})",
                shader_use.label
            );
            self.diagnostics.warn(Some(&param.location), message, "repetition along both")?;
        }
        if map.filter.needs_footprint() {
            let message = format!(
                "{name} has a trilinear or elliptical filter, but shaders sample the full-resolution \
                 image ({})",
                shader_use.label
            );
            self.diagnostics.warn(Some(&param.location), message, "bilinear lookups")?;
        }
        if map.invert && map.wrap == WrapMode::Black {
            let message =
                format!("{name} is inverted and black outside the image ({})", shader_use.label);
            self.diagnostics.warn(Some(&param.location), message, "0 outside the image, not 1")?;
        }
        Ok(self.unmapped_texture(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lightbound_image::Channels;

    fn map(image: Image) -> ImageMap {
        let (mapping, wrap, filter) = (Mapping::UV, WrapMode::Clamp, TextureFilter::Point);
        ImageMap {
            image: Arc::new(image),
            mapping,
            value: ImageMapValue::Rgb,
            wrap,
            filter,
            scale: 1.0,
            invert: false,
        }
    }

    #[test]
    fn images_are_converted_once() {
        let mut converted = ConvertedTextures::default();
        let a = map(Image::from_f32(1, 1, Channels::Grey, vec![0.5]));
        let other_image = map(Image::from_f32(1, 1, Channels::Grey, vec![0.5]));
        let first = converted.get(&a);
        assert!(Arc::ptr_eq(
            &first,
            &converted.get(&ImageMap { wrap: WrapMode::Repeat, ..a.clone() })
        ));
        for different in [
            ImageMap { scale: 2.0, ..a.clone() },
            ImageMap { invert: true, ..a.clone() },
            other_image,
        ] {
            assert!(!Arc::ptr_eq(&first, &converted.get(&different)));
        }
    }

    #[test]
    fn sampler_settings_match_the_imagemap() {
        let map = map(Image::from_f32(1, 1, Channels::Grey, vec![0.5]));
        assert_eq!(
            sampler(&map),
            texture::SamplerState { wrap: texture::Wrap::Clamp, filter: texture::Filter::Point }
        );
        let map =
            ImageMap { wrap: WrapMode::OctahedralSphere, filter: TextureFilter::Bilinear, ..map };
        assert_eq!(
            sampler(&map),
            texture::SamplerState {
                wrap: texture::Wrap::Octahedral,
                filter: texture::Filter::Bilinear
            }
        );
    }
}
