//! Builds `Material "materialx"` from a material of a MaterialX document.
//!
//! The material is converted to a shader. The scene may set its parameters, as those of
//! `Material "shader"`. Images are those of the document, unless the scene sets them. Emission makes
//! shapes with the material area lights, and a volume becomes the medium below their surfaces.

use super::Builder;
use super::attributes::too_many_attributes;
use super::materials::{Alpha, DocumentMaterial, SurfaceEmission};
use super::media::Coefficients;
use super::shader_material::ShaderUse;
use super::shader_textures::ShaderTexture;
use super::udim::TiledImage;
use crate::diagnostics::SceneError;
use crate::file::parse::Entity;
use crate::shader_file;
use lightbound::material::{DispersiveIndex, Material as SceneMaterial, Setting, ShaderNormal};
use lightbound::medium::{Homogeneous, Medium, MediumPoint};
use lightbound::texture::{
    self, ImageMap, ImageMapValue, Mapping, Param, TextureFilter, WrapMode, shader_texture,
};
use lightbound_image::{Channels, Encoding as FileEncoding};
use lightbound_materialx::{
    Attribute, Channel, Connected, Dispersion, Document, Emission, Encoding, Error, Material,
    Opacity, OpacityValue, SceneProgram, SceneProperties, Texture, Volume, Warning, Wrap,
};
use lightbound_math::spectrum::Spectrum;
use lightbound_math::{Transform, Vec3};
use lightbound_shader::{Shader, ShaderKind};
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Names that the scene format reserves for other parameters than those of the shader.
const RESERVED: [&str; 3] = ["filename", "type", "material"];

/// Parameters with the places of tiles, and their values.
type Tiles = Vec<(String, [f64; 4])>;

/// Documents that have been read, and what converted materials need.
#[derive(Default)]
pub(super) struct Documents {
    documents: HashMap<PathBuf, Arc<Document>>,
    /// Converted materials by the index of the shader.
    converted: HashMap<u32, Converted>,
}

/// What a converted material needs besides its shader.
#[derive(Clone)]
struct Converted {
    textures: Arc<[Texture]>,
    attributes: Arc<[Attribute]>,
    /// Parameters that the scene cannot set.
    connected: Arc<[Connected]>,
    /// Emission, volume and opacity, unless the scene sets parameters.
    properties: SceneProperties,
    scene: Option<SceneProgram>,
}

/// An error in a document as one of the entity that uses it.
fn document_error(entity: &Entity, label: &str, error: &Error) -> SceneError {
    entity.error(format!("{label} cannot be used: {error}")).help(&error.help)
}

impl Builder<'_> {
    /// Builds a material of a document; `name` is the name of the material in the scene, if any.
    pub(super) fn materialx(
        &mut self,
        entity: &Entity,
        name: Option<&str>,
    ) -> Result<DocumentMaterial, SceneError> {
        let Some(file) = entity.params.string("filename")? else {
            let error = entity.error("a material \"materialx\" needs a document");
            return Err(error.help("give \"string filename\", a .mtlx file"));
        };
        let file = file.to_owned();
        let material = entity.params.string("material")?.map(str::to_owned);
        let label = match name {
            Some(name) => format!("document {file} of material \"{name}\""),
            None => format!("document {file} of a material \"materialx\""),
        };
        let path = self.path(&file);
        let key = material.clone().unwrap_or_default();
        let index = match self.shaders.find_converted(&path, &key) {
            Some(index) => index,
            None => self.convert_material(entity, &label, &path, material.as_deref())?,
        };
        let shader_use = self.checked_use(entity, index, label, ShaderKind::Brdf, &RESERVED)?;
        let converted = self.documents.converted[&index].clone();
        let folder = path.parent().unwrap_or(Path::new(""));
        let (textures, tiles) = self.document_textures(&shader_use, folder, &converted.textures)?;
        let mut values = self.shader_values_with(&shader_use, textures)?;
        for (parameter, tiles) in tiles {
            values.set_default(&shader_use, &parameter, Setting::Constant(tiles.to_vec()));
        }
        for attribute in converted.attributes.iter() {
            let texture = self.vertex_attribute(entity, attribute)?;
            values.set_default(&shader_use, &attribute.parameter, texture);
        }
        self.check_connected(&shader_use, &converted.connected)?;
        let SceneProperties { emission, volume, opacity, dispersion, .. } =
            self.scene_properties(&shader_use, &converted)?;
        let medium = match &volume {
            None => None,
            Some(volume) if self.media.are_rendered() => {
                if let Some((parameter, depth)) = volume.depth {
                    values.set(&shader_use, parameter, Setting::Constant(vec![depth]));
                }
                Some(self.volume(entity, name.unwrap_or(&entity.name).to_owned(), volume)?)
            }
            Some(volume) => {
                self.document_warning(entity, &volume.warning)?;
                None
            }
        };
        let emission = match &emission {
            None => None,
            Some(emission) => Some(self.surface_emission(entity, folder, emission)?),
        };
        let scene = converted.scene.as_ref().map(|scene| scene.shader());
        let others = scene.map(Shader::settable).unwrap_or_default();
        let others: Vec<&str> = others.iter().map(|parameter| parameter.name.as_str()).collect();
        let index = dispersion.as_ref().and_then(|dispersion| {
            let constant = |name: &str| values.constant(&shader_use, name);
            let is_flat = ShaderNormal::find(&shader_use.shader).is_none()
                && ["displacement", "normalmap"].iter().all(|n| entity.params.find(n).is_none());
            dispersion.glass.index(medium.is_some(), constant).filter(|_| is_flat)
        });
        let mut material = self.finish_material(&shader_use, values, &others)?;
        match (&dispersion, index) {
            (None, _) => {}
            (Some(dispersion), None) => self.document_warning(entity, &dispersion.warning)?,
            (Some(dispersion), Some(index)) => {
                material = self.dispersive_glass(entity, dispersion, index)?;
            }
        }
        let opacity = match &opacity {
            None => None,
            Some(opacity) => Some(self.document_opacity(&shader_use, folder, opacity)?),
        };
        Ok(DocumentMaterial { material, medium, emission, opacity })
    }

    /// Warns about parameters that the scene sets, but that nodes of the document compute.
    fn check_connected(
        &mut self,
        shader_use: &ShaderUse,
        connected: &[Connected],
    ) -> Result<(), SceneError> {
        for Connected { parameter, location } in connected {
            let Some(param) = shader_use.entity.params.any(parameter) else { continue };
            let message = format!(
                "\"{} {parameter}\" has no effect: it is connected in {location} ({})",
                param.ty, shader_use.label
            );
            let fallback = "what the document connects; set inputs of its graph or its images, or \
                            give the input a value in the document";
            self.diagnostics.warn(Some(&param.location), message, fallback)?;
        }
        Ok(())
    }

    /// Emission, volume and opacity for the parameters that the scene sets.
    fn scene_properties(
        &mut self,
        shader_use: &ShaderUse,
        converted: &Converted,
    ) -> Result<SceneProperties, SceneError> {
        let entity = shader_use.entity;
        let Some(scene) = &converted.scene else { return Ok(SceneProperties::default()) };
        let scene_use = shader_use.with_shader(scene.shader().clone());
        let (mut given, mut textures) = (Vec::new(), Vec::new());
        for (i, parameter) in scene_use.shader.settable().iter().enumerate() {
            given.push(match entity.params.any(&parameter.name) {
                None => None,
                Some(param) => match self.setting(&scene_use, parameter)? {
                    Setting::Constant(values) => Some(values),
                    Setting::Varying(_) => {
                        textures.push((param, i < scene.surface_parameters()));
                        None
                    }
                },
            });
        }
        if given.iter().all(Option::is_none) && textures.is_empty() {
            return Ok(converted.properties.clone());
        }
        let properties = scene.evaluate(&given);
        for &[message, fallback] in &properties.problems {
            self.warn(entity, message.to_owned(), fallback)?;
        }
        let SceneProperties { emission, volume, opacity, dispersion, .. } = &properties;
        let is_used =
            emission.is_some() || volume.is_some() || opacity.is_some() || dispersion.is_some();
        for (param, is_of_surface) in textures {
            // The surface may have a colour without a volume, and graphs more uses.
            let is_needed = is_of_surface && !param.name.starts_with("transmission_");
            if !is_used && !is_needed {
                continue;
            }
            let message = format!(
                "\"{} {}\" has no effect on emission, volume and opacity ({})",
                param.ty, param.name, shader_use.label
            );
            let fallback = "the value of the document for these";
            self.diagnostics.warn(Some(&param.location), message, fallback)?;
        }
        Ok(properties)
    }

    /// A smooth dielectric that disperses light, with an index at the helium d line.
    fn dispersive_glass(
        &mut self,
        entity: &Entity,
        dispersion: &Dispersion,
        index: f64,
    ) -> Result<SceneMaterial, SceneError> {
        let spectrum = Spectrum::new(&dispersion.spectrum(index));
        let spectrum = spectrum.map_err(|error| entity.error(error.to_string()))?;
        let spectrum = DispersiveIndex::new(&spectrum).filter(|index| !index.is_constant());
        self.dielectric_boundary(entity, index as f32, Alpha::SMOOTH, spectrum)
    }

    /// The opacity of shapes with the material; `folder` is that of the document.
    fn document_opacity(
        &mut self,
        shader_use: &ShaderUse,
        folder: &Path,
        opacity: &Opacity,
    ) -> Result<Param, SceneError> {
        let (texture, channel) = match &opacity.value {
            OpacityValue::Constant(x) => return Ok(Param::from_float(*x as f32)),
            OpacityValue::Image(texture, channel) => (texture, *channel),
        };
        let path = folder.join(&texture.file);
        let (mut map, _) = self.document_image(shader_use, &path, texture)?;
        let component = match channel {
            Channel::Component(3) if map.image.channels() != Channels::Rgba => {
                return Ok(Param::from_float(1.0));
            }
            Channel::Component(3) => {
                map.value = ImageMapValue::Float;
                Some(0)
            }
            Channel::Component(component) => Some(component),
            Channel::Mean => None,
        };
        let cutoff = opacity.cutoff.map(|cutoff| cutoff as f32);
        Ok(Param::Texture(Arc::new(texture::Texture::Image(map))).map(move |texel| {
            let x = component.map_or(texel.element_sum() / 3.0, |component| texel[component]);
            Vec3::splat(match cutoff {
                Some(cutoff) if x < cutoff => 0.0,
                Some(_) => 1.0,
                None => x,
            })
        }))
    }

    /// The texture of an attribute of vertices.
    fn vertex_attribute(
        &mut self,
        entity: &Entity,
        attribute: &Attribute,
    ) -> Result<Setting, SceneError> {
        let id = self.attribute_named(&attribute.name);
        let id = id.ok_or_else(|| too_many_attributes(entity))?;
        let default = Vec3::from_array(attribute.default.map(|x| x as f32));
        let texture =
            texture::Texture::Attribute { id, default, is_required: attribute.is_required };
        Ok(Setting::Varying(Param::Texture(Arc::new(texture))))
    }

    /// Adds the medium of a volume to those of the scene, and returns its index.
    fn volume(
        &mut self,
        entity: &Entity,
        name: String,
        volume: &Volume,
    ) -> Result<u32, SceneError> {
        let vector = |v: [f64; 3]| Vec3::from_array(v.map(|x| x as f32));
        let (absorption, scattering) = (vector(volume.absorption), vector(volume.scattering));
        let Coefficients { extinction, albedo } =
            Coefficients::new(entity, absorption, scattering, 1.0)?;
        let field = Homogeneous(MediumPoint { extinction, albedo, emission: Vec3::ZERO });
        let g = Param::from_float(volume.anisotropy as f32);
        let phase = self.library(entity, "henyey_greenstein.wgsl", &[("g", g)])?;
        let medium = Medium::new(name, Transform::IDENTITY, Box::new(field), phase);
        Ok(self.media.add(medium))
    }

    /// The light that surfaces with the material emit; `folder` is that of the document.
    fn surface_emission(
        &mut self,
        entity: &Entity,
        folder: &Path,
        emission: &Emission,
    ) -> Result<SurfaceEmission, SceneError> {
        let le = Vec3::from_array(emission.radiance.map(|x| x as f32));
        let image = match &emission.image {
            None => None,
            Some(image) => {
                let encoding = match image.encoding {
                    Encoding::Linear => FileEncoding::Linear,
                    Encoding::Srgb => FileEncoding::Srgb,
                };
                Some(self.emission_image(entity, folder.join(&image.file), encoding)?)
            }
        };
        Ok(SurfaceEmission { le, image })
    }

    fn document_warning(&mut self, entity: &Entity, warning: &Warning) -> Result<(), SceneError> {
        let message = format!("{}: {}", warning.location, warning.message);
        self.warn(entity, message, &warning.fallback)
    }

    /// Converts a material of a document, and returns the index of its shader.
    fn convert_material(
        &mut self,
        entity: &Entity,
        label: &str,
        path: &Path,
        material: Option<&str>,
    ) -> Result<u32, SceneError> {
        let document = self.document(entity, label, path)?;
        let converted =
            document.convert(material).map_err(|error| document_error(entity, label, &error))?;
        for warning in &converted.warnings {
            self.document_warning(entity, warning)?;
        }
        let key = material.unwrap_or_default();
        let index = self.shaders.add_converted(path, key, converted.shader);
        let (textures, attributes) = (converted.textures.into(), converted.attributes.into());
        let connected = converted.connected.into();
        let Material { emission, volume, opacity, dispersion, scene, .. } = converted;
        let problems = Vec::new();
        let properties = SceneProperties { emission, volume, opacity, dispersion, problems };
        let converted = Converted { textures, attributes, connected, properties, scene };
        self.documents.converted.insert(index, converted);
        Ok(index)
    }

    /// Reads a document, once.
    fn document(
        &mut self,
        entity: &Entity,
        label: &str,
        path: &Path,
    ) -> Result<Arc<Document>, SceneError> {
        if let Some(document) = self.documents.documents.get(path) {
            return Ok(document.clone());
        }
        let text = shader_file::read(path, &mut self.inputs).map_err(|error| {
            let error = entity.error(format!("{label} cannot be used: {error}"));
            error.help("check the path, which is relative to the scene's folder")
        })?;
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        let inputs = &mut self.inputs;
        let mut read =
            |name: &str| shader_file::read(&folder.join(name), inputs).map_err(io::Error::other);
        let name = path.display().to_string();
        let document = Document::parse(&name, &text, &mut read)
            .map_err(|error| document_error(entity, label, &error))?;
        let document = Arc::new(document);
        self.documents.documents.insert(path.into(), document.clone());
        Ok(document)
    }

    /// Returns the textures of a converted material: those of the scene, or else of the document in
    /// this folder. Also the parameters with tiles of images, and their values.
    fn document_textures(
        &mut self,
        shader_use: &ShaderUse,
        folder: &Path,
        textures: &[Texture],
    ) -> Result<(Vec<ShaderTexture>, Tiles), SceneError> {
        let shader = shader_use.shader.clone();
        let mut tiles = Vec::new();
        let texture = |name: &String| {
            if shader_use.entity.params.any(name).is_some() {
                return self.shader_texture(shader_use, name);
            }
            let texture = textures.iter().find(|texture| texture.name == *name);
            let texture = texture.expect("textures of the program are those of the material");
            let (map, placed) =
                self.document_image(shader_use, &folder.join(&texture.file), texture)?;
            tiles.extend(texture.tiles.clone().zip(placed));
            shader_texture::check_size(&map.image).map_err(|error| {
                let message = format!("{}: {error}", shader_use.label);
                shader_use.entity.error(message).help(error.remedy())
            })?;
            Ok(self.unmapped_texture(&map))
        };
        let textures: Result<Vec<_>, SceneError> = shader.textures().iter().map(texture).collect();
        Ok((textures?, tiles))
    }

    /// An image of a document with its settings, and the place of its tiles, if it has any.
    fn document_image(
        &mut self,
        shader_use: &ShaderUse,
        path: &Path,
        texture: &Texture,
    ) -> Result<(ImageMap, Option<[f64; 4]>), SceneError> {
        let entity = shader_use.entity;
        let encoding = match texture.encoding {
            Encoding::Linear => "linear",
            Encoding::Srgb => "sRGB",
        };
        let (image, tiles) = match texture.tiles {
            Some(_) => {
                let TiledImage { image, tiles } = self.tiled_image(shader_use, path, encoding)?;
                (Ok(image), Some(tiles))
            }
            None => (self.image(entity, path, encoding), None),
        };
        let image = image.map_err(|error| {
            let message = format!("{}: {}", shader_use.label, error.message());
            match error.remedy() {
                Some(remedy) => entity.error(message).help(remedy),
                None => entity.error(message),
            }
        })?;
        self.check_finite(entity, &image)?;
        let wrap = match texture.wrap {
            Wrap::Repeat => WrapMode::Repeat,
            Wrap::Clamp => WrapMode::Clamp,
        };
        let filter = match texture.is_interpolated {
            true => TextureFilter::Bilinear,
            false => TextureFilter::Point,
        };
        let (mapping, value) = (Mapping::UV, ImageMapValue::Rgb);
        let (scale, invert) = (1.0, false);
        Ok((ImageMap { image, mapping, value, wrap, filter, scale, invert }, tiles))
    }
}
