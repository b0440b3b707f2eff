//! Textures of materials as pbrt textures.
//!
//! The texture coordinates of a mesh are transformed by the transform of the material's most
//! particular texture: the normal map or the image of a light, which have no mapping in pbrt. Other
//! textures get a mapping relative to it, if it consists of a scale and an offset. For those with
//! another set of coordinates, or a relative rotation, vertices have transformed coordinates as an
//! attribute.

use crate::document::{Document, remedy};
use crate::files::{Files, Names};
use crate::images::{Content, Images};
use crate::schema::TextureInfo;
use glam::{DAffine2, DMat2, DVec2};
use lightbound_pbrt::{Diagnostics, SceneError};
use std::fmt::Write;

/// Texture coordinates: their set, and a transform of them.
pub(crate) type Coordinates = (usize, DAffine2);

/// Returns the scale and the offset from texture coordinates to others; `None` if these are of
/// another set, or rotated.
fn relative(from: &Coordinates, to: &Coordinates) -> Option<DAffine2> {
    if from.0 != to.0 {
        return None;
    }
    if from.1 == to.1 {
        return Some(DAffine2::IDENTITY);
    }
    let relative = to.1 * from.1.inverse();
    let off_diagonal = relative.matrix2.x_axis.y.abs().max(relative.matrix2.y_axis.x.abs());
    (off_diagonal <= 1e-9 && relative.is_finite()).then_some(relative)
}

/// Returns the texture coordinates that a mesh needs for textures, in the order of their importance:
/// first those of the surface, then those in attributes. Without textures, there are none.
pub(crate) fn all_coordinates(textures: &[&TextureInfo]) -> Vec<Coordinates> {
    let mut all: Vec<Coordinates> = Vec::new();
    for info in textures {
        let (set, transform) = coordinates(info);
        // The surface needs tangents along its coordinates.
        let is_usable = !all.is_empty() || transform.matrix2.determinant().abs() > 1e-12;
        if !is_usable {
            all.push((set, DAffine2::IDENTITY));
        }
        if all.iter().all(|from| relative(from, &(set, transform)).is_none()) {
            all.push((set, transform));
        }
    }
    all
}

/// Returns the name of the attribute with the texture coordinates at an index after the first.
pub(crate) fn attribute_name(index: usize) -> String {
    format!("uv{index}")
}

/// Returns the set of texture coordinates that a texture uses, and its transform.
pub(crate) fn coordinates(info: &TextureInfo) -> Coordinates {
    let Some(transform) = &info.extensions.transform else {
        return (info.tex_coord, DAffine2::IDENTITY);
    };
    let (s, c) = (libm::sin(transform.rotation), libm::cos(transform.rotation));
    let [sx, sy] = transform.scale;
    let matrix2 = DMat2::from_cols(DVec2::new(c * sx, -s * sx), DVec2::new(s * sy, c * sy));
    let translation = DVec2::from_array(transform.offset);
    (transform.tex_coord.unwrap_or(info.tex_coord), DAffine2 { matrix2, translation })
}

/// What textures of a material refer to.
pub(crate) struct Context<'a> {
    pub document: &'a mut Document,
    pub files: &'a mut Files,
    pub images: &'a mut Images,
    pub material_names: &'a mut Names,
    pub diagnostics: &'a mut Diagnostics,
}

/// The textures of one material.
pub(crate) struct MaterialTextures<'a, 'b> {
    pub context: &'a mut Context<'b>,
    /// The material in messages.
    pub user: String,
    /// The material in names of textures.
    pub name: String,
    /// The texture coordinates of meshes with the material.
    pub coordinates: Vec<Coordinates>,
    /// Directives that declare the textures.
    pub text: String,
}

/// An image with the mapping from the mesh's coordinates to its own.
struct Mapped {
    image: usize,
    /// Wrap mode, filter and mapping, as parameters.
    parameters: String,
    mirror: [bool; 2],
    is_plain: bool,
}

impl MaterialTextures<'_, '_> {
    fn warn(&mut self, problem: &str, fallback: &str) -> Result<(), SceneError> {
        let message = format!("{}: {} {problem}", self.context.document.path.display(), self.user);
        self.context.diagnostics.warn(None, message, fallback)
    }

    /// Returns the image of a texture.
    fn source(&self, info: &TextureInfo) -> Result<usize, SceneError> {
        let document = &*self.context.document;
        let texture = document.get(&document.root.textures, "texture", info.index, &self.user)?;
        texture.source.ok_or_else(|| {
            let extension = texture.extensions.keys().next();
            let problem = match extension {
                Some(name) => format!("has an image of {name} only"),
                None => "has no image".into(),
            };
            let remedy = extension.map_or("export the asset again".into(), |name| remedy(name));
            document
                .error(&format!("texture {} of {}", info.index, self.user), problem)
                .help(remedy)
        })
    }

    fn mapped(&mut self, info: &TextureInfo) -> Result<Mapped, SceneError> {
        let image = self.source(info)?;
        let document = &*self.context.document;
        let sampler = document.root.textures[info.index].sampler;
        let sampler = document.sampler(sampler, &self.user)?;
        // From coordinates of the mesh to those of the texture, with v down, then up.
        let target = coordinates(info);
        let mut found = (0..).zip(&self.coordinates);
        let (index, relative) = found
            .find_map(|(index, from)| Some((index, relative(from, &target)?)))
            .expect("the coordinates are those of all textures");
        let scale = [relative.matrix2.x_axis.x, relative.matrix2.y_axis.y];
        let offset = [relative.translation.x, 1.0 - relative.translation.y - scale[1]];
        const REPEAT: u32 = 10497;
        const MIRRORED: u32 = 33648;
        const CLAMP: u32 = 33071;
        let wraps = [sampler.wrap_s, sampler.wrap_t].map(|wrap| wrap.unwrap_or(REPEAT));
        let mirror = wraps.map(|wrap| wrap == MIRRORED);
        let clamps = wraps.map(|wrap| wrap == CLAMP);
        let mut parameters = String::new();
        if index > 0 {
            let name = attribute_name(index);
            let _ = write!(
                parameters,
                " \"string mapping\" \"attribute\" \"string attribute\" \"{name}\""
            );
        }
        parameters += match clamps {
            [false, false] => "",
            [true, true] => " \"string wrap\" \"clamp\"",
            [true, false] => " \"string wrap\" \"clampu\"",
            [false, true] => " \"string wrap\" \"clampv\"",
        };
        if sampler.mag_filter == Some(9728) {
            parameters += " \"string filter\" \"point\"";
        }
        for (axis, name) in [(0, "u"), (1, "v")] {
            // A mirrored image is twice as long. Its first half is at the left and at the top.
            let half = if mirror[axis] { 0.5 } else { 1.0 };
            let start = if mirror[axis] && axis == 1 { 0.5 } else { 0.0 };
            let (scale, offset) = (half * scale[axis], half * offset[axis] + start);
            if (scale - 1.0).abs() > 1e-9 {
                let _ = write!(parameters, " \"float {name}scale\" {}", scale as f32);
            }
            if offset.abs() > 1e-9 {
                let _ = write!(parameters, " \"float {name}delta\" {}", offset as f32);
            }
        }
        let is_plain = parameters.is_empty() || parameters == " \"string filter\" \"point\"";
        Ok(Mapped { image, parameters, mirror, is_plain })
    }

    fn file(
        &mut self,
        image: usize,
        content: Content,
        mirror: [bool; 2],
    ) -> Result<String, SceneError> {
        let Context { document, files, images, .. } = &mut *self.context;
        images.file(document, files, image, &self.user, content, mirror)
    }

    fn declare(&mut self, parameter: &str, kind: &str, file: &str, parameters: &str) -> String {
        let name = format!("{}.{parameter}", self.name);
        let _ = writeln!(
            self.text,
            "Texture \"{name}\" \"{kind}\" \"imagemap\" \"string filename\" \"{file}\"{parameters}"
        );
        name
    }

    /// Declares a texture of colours, and returns its name.
    pub fn colours(
        &mut self,
        parameter: &str,
        info: &TextureInfo,
        factor: [f32; 3],
    ) -> Result<String, SceneError> {
        let mapped = self.mapped(info)?;
        let content = match factor == [1.0; 3] {
            true => Content::Original,
            false => Content::Tinted(factor),
        };
        let file = self.file(mapped.image, content, mapped.mirror)?;
        Ok(self.declare(parameter, "spectrum", &file, &mapped.parameters))
    }

    /// Declares a texture of one channel times a factor, and returns its name.
    pub fn channel(
        &mut self,
        parameter: &str,
        info: &TextureInfo,
        channel: usize,
        factor: f32,
        more: &str,
    ) -> Result<String, SceneError> {
        let mapped = self.mapped(info)?;
        let file = self.file(mapped.image, Content::Channel(channel), mapped.mirror)?;
        let mut parameters = format!(" \"string encoding\" \"linear\"{}", mapped.parameters);
        if factor != 1.0 {
            let _ = write!(parameters, " \"float scale\" {factor}");
        }
        parameters += more;
        Ok(self.declare(parameter, "float", &file, &parameters))
    }

    /// Declares normals, or directions, in the shading frame of the material. They are decoded from
    /// an image along the tangents of the mesh. Returns the name of the texture.
    pub fn normals(
        &mut self,
        parameter: &str,
        info: &TextureInfo,
        content: Content,
    ) -> Result<String, SceneError> {
        let mapped = self.mapped(info)?;
        if coordinates(info) != self.coordinates[0] {
            let problem = format!("has a map of the {parameter} with coordinates of its own");
            self.warn(&problem, "the tangents of the mesh")?;
        }
        let file = self.file(mapped.image, content, mapped.mirror)?;
        let parameters = format!(" \"string encoding\" \"linear\"{}", mapped.parameters);
        let map = self.declare(&format!("{parameter}_map"), "spectrum", &file, &parameters);
        Ok(self.decoded(parameter, &format!(" \"texture tex\" \"{map}\"")))
    }

    /// Declares the normal of the mesh in the shading frame of the material, and returns the name
    /// of the texture.
    pub fn surface_normal(&mut self, parameter: &str) -> String {
        self.decoded(parameter, "")
    }

    /// Declares the direction at an angle from the tangent towards the bitangent, and returns the
    /// name of the texture.
    pub fn direction(&mut self, parameter: &str, angle: f32) -> String {
        let [x, y] = [libm::cosf(angle), libm::sinf(angle)].map(|x| 0.5 * x + 0.5);
        self.decoded(parameter, &format!(" \"rgb tex\" [{x} {y} 0.5]"))
    }

    fn decoded(&mut self, parameter: &str, map: &str) -> String {
        let name = format!("{}.{parameter}", self.name);
        let _ = writeln!(self.text, "Texture \"{name}\" \"spectrum\" \"normalmap\"{map}");
        name
    }

    /// Declares the opacity of a texture as it is, or 0 and 1 with a cutoff. Returns `None` if the
    /// image is opaque.
    pub fn opacity(
        &mut self,
        info: &TextureInfo,
        factor: f32,
        cutoff: Option<f32>,
    ) -> Result<Option<String>, SceneError> {
        let mapped = self.mapped(info)?;
        let Context { document, files, images, .. } = &mut *self.context;
        if !images.has_opacity(document, files, mapped.image, &self.user)? {
            return Ok(None);
        }
        match cutoff {
            None => self.channel("alpha", info, 3, factor, "").map(Some),
            Some(cutoff) => {
                let content = Content::Mask { factor, cutoff };
                let file = self.file(mapped.image, content, mapped.mirror)?;
                let parameters = format!(" \"string encoding\" \"linear\"{}", mapped.parameters);
                Ok(Some(self.declare("alpha", "float", &file, &parameters)))
            }
        }
    }

    /// Returns the file of a texture that pbrt maps with the coordinates of the mesh.
    pub fn unmapped(
        &mut self,
        what: &str,
        info: &TextureInfo,
        content: Content,
    ) -> Result<String, SceneError> {
        let mapped = self.mapped(info)?;
        if !mapped.is_plain {
            let problem = format!("has {what} with a wrap mode or coordinates of its own");
            self.warn(&problem, "it is repeated, with the coordinates of the mesh")?;
        }
        self.file(mapped.image, content, [false; 2])
    }
}
