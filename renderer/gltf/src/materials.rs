//! Materials as `Material "shader"` with the library's shader `gltf`, and what belongs to shapes:
//! opacity, emission, and media.

use crate::document::label;
use crate::files::file_name;
use crate::images::Content;
use crate::schema::{Material, TextureInfo};
use crate::textures::{Context, Coordinates, MaterialTextures, all_coordinates};
use lightbound_pbrt::SceneError;
use std::fmt::Write;

/// Colours of the vertices of a shape. Those that differ are the attributes `color` and `alpha`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct VertexColours {
    /// The colour of all vertices, from 0 to 1; `None` if they differ.
    pub rgb: Option<[f32; 3]>,
    /// The opacity of all vertices, from 0 to 1; `None` if they differ.
    pub alpha: Option<f32>,
}

impl VertexColours {
    /// No colours.
    pub const NONE: VertexColours = VertexColours { rgb: Some([1.0; 3]), alpha: Some(1.0) };
}

/// What a material depends on of the vertices of a shape.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct VertexTraits {
    pub colours: VertexColours,
    /// Whether bitangents are opposite to the cross product of normal and tangent somewhere, and
    /// the material has an [angle](has_rotation) from the tangent.
    pub mirrors_rotation: bool,
}

/// A material, and what shapes with it need.
#[derive(Clone, Debug, Default)]
pub(crate) struct Translated {
    /// Directives that declare it.
    pub text: String,
    /// Name of the material.
    pub name: String,
    /// Parameters of shapes.
    pub shape: String,
    /// The directive `AreaLightSource`, if it emits light.
    pub light: Option<String>,
    /// The medium inside.
    pub medium: Option<String>,
}

/// Returns all textures of a material that have an effect, the most particular first.
fn textures(m: &Material) -> Vec<&TextureInfo> {
    let e = &m.extensions;
    let pbr = &m.pbr_metallic_roughness;
    let gloss = e.specular_glossiness.as_ref();
    let all = [
        m.normal_texture.as_ref(),
        m.emissive_texture.as_ref(),
        e.clearcoat.as_ref().and_then(|e| e.clearcoat_normal_texture.as_ref()),
        gloss.map_or(pbr.base_color_texture.as_ref(), |gloss| gloss.diffuse_texture.as_ref()),
        pbr.metallic_roughness_texture.as_ref(),
        gloss.and_then(|gloss| gloss.specular_glossiness_texture.as_ref()),
        e.anisotropy.as_ref().and_then(|e| e.anisotropy_texture.as_ref()),
        e.clearcoat.as_ref().and_then(|e| e.clearcoat_texture.as_ref()),
        e.clearcoat.as_ref().and_then(|e| e.clearcoat_roughness_texture.as_ref()),
        e.sheen.as_ref().and_then(|e| e.sheen_color_texture.as_ref()),
        e.sheen.as_ref().and_then(|e| e.sheen_roughness_texture.as_ref()),
        e.specular.as_ref().and_then(|e| e.specular_texture.as_ref()),
        e.specular.as_ref().and_then(|e| e.specular_color_texture.as_ref()),
        e.transmission.as_ref().and_then(|e| e.transmission_texture.as_ref()),
        e.iridescence.as_ref().and_then(|e| e.iridescence_texture.as_ref()),
        e.iridescence.as_ref().and_then(|e| e.iridescence_thickness_texture.as_ref()),
        e.diffuse_transmission.as_ref().and_then(|e| e.diffuse_transmission_texture.as_ref()),
        e.diffuse_transmission.as_ref().and_then(|e| e.diffuse_transmission_color_texture.as_ref()),
    ];
    all.into_iter().flatten().collect()
}

/// Returns the texture coordinates that the textures of a material need.
pub(crate) fn uses(m: &Material) -> Vec<Coordinates> {
    all_coordinates(&textures(m))
}

/// Whether the material depends on tangents.
pub(crate) fn needs_tangents(m: &Material) -> bool {
    let anisotropy = m.extensions.anisotropy.as_ref();
    let coat = m.extensions.clearcoat.as_ref().filter(|e| e.clearcoat_factor != 0.0);
    let has_coat_normals = coat.is_some_and(|e| e.clearcoat_normal_texture.is_some());
    m.normal_texture.is_some()
        || has_coat_normals
        || anisotropy.is_some_and(|e| e.anisotropy_strength != 0.0)
}

/// Whether the material has an angle from the tangent, the same everywhere.
pub(crate) fn has_rotation(m: &Material) -> bool {
    let anisotropy = m.extensions.anisotropy.as_ref().filter(|e| e.anisotropy_strength != 0.0);
    anisotropy.is_some_and(|e| e.anisotropy_rotation != 0.0 && e.anisotropy_texture.is_none())
}

/// Whether surfaces with the material have an opacity.
pub(crate) fn has_opacity(m: &Material) -> bool {
    matches!(m.alpha_mode.as_deref(), Some("MASK" | "BLEND"))
}

/// Whether the material emits light strongly enough to light a scene.
pub(crate) fn is_lamp(m: &Material) -> bool {
    let strength = m.extensions.emissive_strength.as_ref().map_or(1.0, |e| e.emissive_strength);
    m.emissive_texture.is_none() && strength > 1.0 && m.emissive_factor.iter().any(|&x| x > 0.0)
}

/// Translates the material at an index, or the default one.
pub(crate) fn translate(
    context: &mut Context,
    index: Option<usize>,
    traits: VertexTraits,
) -> Result<Translated, SceneError> {
    let default = Material::default();
    let mut materials = std::mem::take(&mut context.document.root.materials);
    let material = index.and_then(|index| materials.get(index)).unwrap_or(&default);
    let name = match index {
        Some(index) => {
            let name = material.name.as_deref().map(file_name).unwrap_or_default();
            if name.is_empty() { format!("material{index}") } else { name }
        }
        None => "default".into(),
    };
    let name = context.material_names.unique(&name);
    let user = index.map_or("the default material".into(), |index| {
        label("material", index, material.name.as_deref())
    });
    let coordinates = uses(material);
    let text = String::new();
    let textures = MaterialTextures { context, user, name: name.clone(), coordinates, text };
    let mut writer = Writer { textures, parameters: String::new(), name, m: material };
    let result = writer.material(traits);
    context.document.root.materials = std::mem::take(&mut materials);
    result
}

/// Writes one material.
struct Writer<'a, 'b> {
    textures: MaterialTextures<'a, 'b>,
    parameters: String,
    name: String,
    m: &'a Material,
}

impl Writer<'_, '_> {
    fn warn(&mut self, problem: &str, fallback: &str) -> Result<(), SceneError> {
        let document = &self.textures.context.document;
        let message = format!("{}: {} {problem}", document.path.display(), self.textures.user);
        self.textures.context.diagnostics.warn(None, message, fallback)
    }

    /// Starts a parameter on a line of its own.
    fn parameter(&mut self, declaration: std::fmt::Arguments) {
        let _ = write!(self.parameters, "\n  {declaration}");
    }

    /// Writes a number from 0 to 1, a factor of a channel.
    fn number(
        &mut self,
        name: &str,
        factor: f32,
        texture: Option<(&TextureInfo, usize)>,
    ) -> Result<(), SceneError> {
        let factor = self.clamped(name, factor, 1.0)?;
        match texture.filter(|_| factor != 0.0) {
            None => self.parameter(format_args!("\"float {name}\" {factor}")),
            Some((info, channel)) => {
                let texture = self.textures.channel(name, info, channel, factor, "")?;
                self.parameter(format_args!("\"texture {name}\" \"{texture}\""));
            }
        }
        Ok(())
    }

    /// Writes a colour, a factor of a texture.
    fn colour(
        &mut self,
        name: &str,
        factor: [f32; 3],
        texture: Option<&TextureInfo>,
        max: f32,
    ) -> Result<(), SceneError> {
        let mut rgb = [0.0; 3];
        for (clamped, x) in std::iter::zip(&mut rgb, factor) {
            *clamped = self.clamped(name, x, max)?;
        }
        match texture.filter(|_| rgb != [0.0; 3]) {
            None => {
                let [r, g, b] = rgb;
                self.parameter(format_args!("\"rgb {name}\" [{r} {g} {b}]"));
            }
            Some(info) => {
                let texture = self.textures.colours(name, info, rgb)?;
                self.parameter(format_args!("\"texture {name}\" \"{texture}\""));
            }
        }
        Ok(())
    }

    /// Clamps a factor to its range, with a warning.
    fn clamped(&mut self, name: &str, factor: f32, max: f32) -> Result<f32, SceneError> {
        let clamped = factor.clamp(0.0, max);
        if clamped != factor {
            self.warn(&format!("has the {name} {factor}"), &clamped.to_string())?;
        }
        Ok(clamped)
    }

    fn material(&mut self, traits: VertexTraits) -> Result<Translated, SceneError> {
        let (m, vertex_colours) = (self.m, traits.colours);
        let mut translated = Translated { name: self.name.clone(), ..Translated::default() };
        let pbr = &m.pbr_metallic_roughness;
        let gloss = m.extensions.specular_glossiness.as_ref();
        let (base, base_texture) = match gloss {
            Some(gloss) => (gloss.diffuse_factor, gloss.diffuse_texture.as_ref()),
            None => (pbr.base_color_factor, pbr.base_color_texture.as_ref()),
        };
        self.opacity(base[3], base_texture, vertex_colours.alpha, &mut translated)?;
        if m.extensions.unlit.is_some() {
            let tint = vertex_colours.rgb.unwrap_or([1.0; 3]);
            let factor = std::array::from_fn(|k| base[k] * tint[k]);
            translated.light = self.light(factor, 1.0, base_texture)?;
            if let (Some(light), None) = (&mut translated.light, vertex_colours.rgb) {
                light.push_str(" \"string attribute\" \"color\"");
            }
            let _ = writeln!(
                self.textures.text,
                "MakeNamedMaterial \"{}\" \"string type\" \"diffuse\" \"rgb reflectance\" [0 0 0]",
                self.name
            );
            translated.text = std::mem::take(&mut self.textures.text);
            return Ok(translated);
        }
        let strength = m.extensions.emissive_strength.as_ref().map_or(1.0, |e| e.emissive_strength);
        translated.light = self.light(m.emissive_factor, strength, m.emissive_texture.as_ref())?;
        self.medium(&mut translated);

        if !self.clear_glass(vertex_colours.rgb)? {
            self.base(base, base_texture, traits)?;
            self.layers()?;
            self.transmission()?;
            let _ = write!(
                self.textures.text,
                "MakeNamedMaterial \"{}\" \"string type\" \"shader\" \"string filename\" \"gltf\"{}",
                self.name, self.parameters
            );
        }
        if let Some(info) = &m.normal_texture {
            let file = self.textures.unmapped("a normal map", info, Content::of_normals(info))?;
            let _ = write!(self.textures.text, "\n  \"string normalmap\" \"{file}\"");
        }
        self.textures.text.push('\n');
        translated.text.push_str(&self.textures.text);
        Ok(translated)
    }

    /// Writes the opacity.
    fn opacity(
        &mut self,
        factor: f32,
        texture: Option<&TextureInfo>,
        of_vertices: Option<f32>,
        translated: &mut Translated,
    ) -> Result<(), SceneError> {
        let cutoff = match self.m.alpha_mode.as_deref() {
            Some("MASK") => Some(self.m.alpha_cutoff.unwrap_or(0.5)),
            Some("BLEND") => None,
            _ => return Ok(()),
        };
        let factor = factor * of_vertices.unwrap_or(1.0);
        // The opacity of vertices counts before the cutoff.
        let cutoff_of_texture = cutoff.filter(|_| of_vertices.is_some());
        let opacity = |info| self.textures.opacity(info, factor, cutoff_of_texture);
        let texture = texture.map(opacity).transpose()?.flatten();
        if of_vertices.is_none() {
            let mut name = self.vertex_opacity(texture, factor);
            if let Some(cutoff) = cutoff {
                let mask = format!("{}.mask", self.name);
                let _ = writeln!(
                    self.textures.text,
                    "Texture \"{mask}\" \"float\" \"threshold\" \"texture tex\" \"{name}\" \
                     \"float threshold\" {cutoff}"
                );
                name = mask;
            }
            translated.shape = format!(" \"texture alpha\" \"{name}\"");
            return Ok(());
        }
        translated.shape = match (texture, cutoff) {
            (Some(name), _) => format!(" \"texture alpha\" \"{name}\""),
            (None, Some(cutoff)) if factor >= cutoff => String::new(),
            (None, Some(_)) => " \"float alpha\" 0".into(),
            (None, None) if factor >= 1.0 => String::new(),
            (None, None) => format!(" \"float alpha\" {factor}"),
        };
        Ok(())
    }

    /// Declares the opacity of vertices, times a texture, which has the factor already, or the factor.
    /// Returns the name of the texture.
    fn vertex_opacity(&mut self, texture: Option<String>, factor: f32) -> String {
        let name = format!("{}.vertex_alpha", self.name);
        let _ = writeln!(
            self.textures.text,
            "Texture \"{name}\" \"float\" \"attribute\" \"string attribute\" \"alpha\""
        );
        let scale = match texture {
            None if factor == 1.0 => return name,
            None => format!("\"float scale\" {factor}"),
            Some(texture) => format!("\"texture scale\" \"{texture}\""),
        };
        let product = format!("{}.opacity", self.name);
        let _ = writeln!(
            self.textures.text,
            "Texture \"{product}\" \"float\" \"scale\" \"texture tex\" \"{name}\" {scale}"
        );
        product
    }

    /// Returns the light of emissive surfaces.
    fn light(
        &mut self,
        factor: [f32; 3],
        strength: f32,
        texture: Option<&TextureInfo>,
    ) -> Result<Option<String>, SceneError> {
        let largest = factor.iter().fold(0.0f32, |a, &b| a.max(b));
        if largest * strength <= 0.0 {
            return Ok(None);
        }
        let sides = if self.m.double_sided { " \"bool twosided\" true" } else { "" };
        Ok(Some(match texture {
            None => {
                let [r, g, b] = factor.map(|x| x.max(0.0));
                let scale = if strength == 1.0 {
                    String::new()
                } else {
                    format!(" \"float scale\" {strength}")
                };
                format!("AreaLightSource \"diffuse\" \"rgb L\" [{r} {g} {b}]{scale}{sides}")
            }
            Some(info) => {
                let tint = factor.map(|x| (x / largest).max(0.0));
                let content = match tint == [1.0; 3] {
                    true => Content::Original,
                    false => Content::Tinted(tint),
                };
                let file = self.textures.unmapped("an image of emitted light", info, content)?;
                format!(
                    "AreaLightSource \"diffuse\" \"string filename\" \"{file}\" \
                     \"float scale\" {}{sides}",
                    largest * strength
                )
            }
        }))
    }

    /// Writes the absorbing medium of a volume.
    fn medium(&mut self, translated: &mut Translated) {
        let Some(volume) = self.m.extensions.volume.as_ref().filter(|_| self.is_volume()) else {
            return;
        };
        let Some(distance) = volume.attenuation_distance.filter(|d| *d > 0.0) else { return };
        let absorption = volume.attenuation_color.map(|x| {
            let depth = -libm::log(f64::from(x.clamp(1e-4, 1.0))) / f64::from(distance);
            depth as f32
        });
        if absorption == [0.0; 3] {
            return;
        }
        let [r, g, b] = absorption;
        let name = format!("{}.volume", self.name);
        let _ = writeln!(
            translated.text,
            "MakeNamedMedium \"{name}\" \"string type\" \"homogeneous\"\n  \
             \"rgb sigma_a\" [{r} {g} {b}] \"rgb sigma_s\" [0 0 0]"
        );
        translated.medium = Some(name);
    }

    /// Whether the surface bounds a volume that light enters.
    fn is_volume(&self) -> bool {
        let e = &self.m.extensions;
        let transmits = e.transmission.as_ref().is_some_and(|e| e.transmission_factor > 0.0);
        let diffuse = e.diffuse_transmission.as_ref();
        let scatters = diffuse.is_some_and(|e| e.diffuse_transmission_factor > 0.0);
        (transmits || scatters)
            && e.volume.as_ref().is_some_and(|volume| volume.thickness_factor > 0.0)
    }

    /// Writes clear, smooth glass as pbrt's `dielectric`, which has no roughness at all, and disperses
    /// light. Returns whether the material is such glass.
    fn clear_glass(&mut self, vertex_colour: Option<[f32; 3]>) -> Result<bool, SceneError> {
        let (m, e) = (self.m, &self.m.extensions);
        let pbr = &m.pbr_metallic_roughness;
        let is_clear = self.is_volume()
            && vertex_colour == Some([1.0; 3])
            && e.transmission
                .as_ref()
                .is_some_and(|e| e.transmission_factor == 1.0 && e.transmission_texture.is_none())
            && pbr.roughness_factor == 0.0
            && pbr.metallic_factor == 0.0
            && pbr.base_color_factor[..3] == [1.0; 3]
            && pbr.base_color_texture.is_none()
            && e.specular_glossiness.is_none()
            && e.specular.is_none()
            && e.clearcoat.is_none()
            && e.sheen.is_none()
            && e.iridescence.is_none();
        let ior = e.ior.as_ref().map_or(1.5, |e| e.ior);
        let dispersion = e.dispersion.as_ref().map_or(0.0, |e| e.dispersion);
        if !is_clear || ior < 1.0 {
            if dispersion > 0.0 {
                let fallback = "no dispersion: only clear and smooth glass has it";
                self.warn("is not clear and disperses light", fallback)?;
            }
            return Ok(false);
        }
        let _ = write!(
            self.textures.text,
            "MakeNamedMaterial \"{}\" \"string type\" \"dielectric\"\n  ",
            self.name
        );
        if dispersion > 0.0 {
            let _ = write!(self.textures.text, "\"spectrum eta\" [");
            for wavelength in (360..=830).step_by(10) {
                let eta = dispersed_index(f64::from(ior), f64::from(dispersion), wavelength.into());
                let _ = write!(self.textures.text, " {wavelength} {}", eta as f32);
            }
            let _ = write!(self.textures.text, " ]");
        } else {
            let _ = write!(self.textures.text, "\"float eta\" {ior}");
        }
        Ok(true)
    }

    /// Writes the base: colour, metal, roughness, and reflection of the dielectric.
    fn base(
        &mut self,
        [r, g, b, _]: [f32; 4],
        texture: Option<&TextureInfo>,
        traits: VertexTraits,
    ) -> Result<(), SceneError> {
        let (m, e) = (self.m, &self.m.extensions);
        let vertex_colour = traits.colours.rgb;
        let tint = vertex_colour.unwrap_or([1.0; 3]);
        let [r, g, b] = [r * tint[0], g * tint[1], b * tint[2]];
        match texture {
            None => self.colour("base_color", [r, g, b], None, 1.0)?,
            Some(info) => {
                let name = self.textures.colours("base_color", info, [1.0; 3])?;
                self.parameter(format_args!("\"texture base_color\" \"{name}\""));
                if [r, g, b] != [1.0; 3] {
                    self.colour("base_color_factor", [r, g, b], None, 1.0)?;
                }
            }
        }
        if vertex_colour.is_none() {
            let name = format!("{}.vertex_color", self.name);
            let _ = writeln!(
                self.textures.text,
                "Texture \"{name}\" \"spectrum\" \"attribute\" \"string attribute\" \"color\""
            );
            self.parameter(format_args!("\"texture vertex_color\" \"{name}\""));
        }
        if let Some(gloss) = &e.specular_glossiness {
            let glossiness = self.clamped("glossiness", gloss.glossiness_factor, 1.0)?;
            match &gloss.specular_glossiness_texture {
                None => self.parameter(format_args!("\"float roughness\" {}", 1.0 - glossiness)),
                Some(info) => {
                    let more = " \"bool invert\" true";
                    let name = self.textures.channel("roughness", info, 3, glossiness, more)?;
                    self.parameter(format_args!("\"texture roughness\" \"{name}\""));
                }
            }
            self.parameter(format_args!("\"float ior\" 0"));
            let specular = gloss.specular_glossiness_texture.as_ref();
            return self.colour("specular_color", gloss.specular_factor, specular, 1.0);
        }
        let pbr = &m.pbr_metallic_roughness;
        let both = pbr.metallic_roughness_texture.as_ref();
        self.number("metallic", pbr.metallic_factor, both.map(|info| (info, 2)))?;
        self.number("roughness", pbr.roughness_factor, both.map(|info| (info, 1)))?;
        if let Some(e) = &e.ior {
            let ior = self.clamped("ior", e.ior, 10.0)?;
            self.parameter(format_args!("\"float ior\" {ior}"));
        }
        if let Some(e) = &e.specular {
            let texture = e.specular_texture.as_ref().map(|info| (info, 3));
            self.number("specular", e.specular_factor, texture)?;
            let texture = e.specular_color_texture.as_ref();
            let max = if texture.is_some() { 1.0 } else { 100.0 };
            self.colour("specular_color", e.specular_color_factor, texture, max)?;
        }
        self.anisotropy(traits.mirrors_rotation)
    }

    /// Writes the direction in which highlights are stretched. Where bitangents are opposite to the
    /// y axis of the shading frame, an angle must be a direction.
    fn anisotropy(&mut self, is_mirrored: bool) -> Result<(), SceneError> {
        let anisotropy = self.m.extensions.anisotropy.as_ref();
        let Some(e) = anisotropy.filter(|e| e.anisotropy_strength != 0.0) else { return Ok(()) };
        let texture = e.anisotropy_texture.as_ref();
        self.number("anisotropy", e.anisotropy_strength, texture.map(|info| (info, 2)))?;
        let rotation = e.anisotropy_rotation % std::f32::consts::TAU;
        let name = "anisotropy_direction";
        let texture = match texture {
            None if !is_mirrored => {
                self.parameter(format_args!("\"float anisotropy_rotation\" {rotation}"));
                return Ok(());
            }
            None => self.textures.direction(name, rotation),
            Some(info) => self.textures.normals(name, info, Content::Directions(rotation))?,
        };
        self.parameter(format_args!("\"texture {name}\" \"{texture}\""));
        Ok(())
    }

    /// Writes coat, sheen and film.
    fn layers(&mut self) -> Result<(), SceneError> {
        let e = &self.m.extensions;
        if let Some(e) = e.clearcoat.as_ref().filter(|e| e.clearcoat_factor != 0.0) {
            let texture = e.clearcoat_texture.as_ref().map(|info| (info, 0));
            self.number("clearcoat", e.clearcoat_factor, texture)?;
            let texture = e.clearcoat_roughness_texture.as_ref().map(|info| (info, 1));
            self.number("clearcoat_roughness", e.clearcoat_roughness_factor, texture)?;
            self.coat_normal(e.clearcoat_normal_texture.as_ref())?;
        }
        if let Some(e) = e.sheen.as_ref().filter(|e| e.sheen_color_factor != [0.0; 3]) {
            let texture = e.sheen_color_texture.as_ref();
            self.colour("sheen_color", e.sheen_color_factor, texture, 1.0)?;
            let texture = e.sheen_roughness_texture.as_ref().map(|info| (info, 3));
            self.number("sheen_roughness", e.sheen_roughness_factor, texture)?;
        }
        if let Some(e) = e.iridescence.as_ref().filter(|e| e.iridescence_factor != 0.0) {
            let texture = e.iridescence_texture.as_ref().map(|info| (info, 0));
            self.number("iridescence", e.iridescence_factor, texture)?;
            let ior = e.iridescence_ior.clamp(1.0, 10.0);
            self.parameter(format_args!("\"float iridescence_ior\" {ior}"));
            let [min, max] = [e.iridescence_thickness_minimum, e.iridescence_thickness_maximum]
                .map(|thickness| thickness.clamp(0.0, 10000.0));
            match &e.iridescence_thickness_texture {
                None => self.parameter(format_args!("\"float iridescence_thickness\" {max}")),
                Some(info) => {
                    let parameter = "iridescence_thickness_share";
                    let share = self.textures.channel(parameter, info, 1, 1.0, "")?;
                    let name = format!("{}.iridescence_thickness", self.name);
                    let _ = writeln!(
                        self.textures.text,
                        "Texture \"{name}\" \"float\" \"mix\" \"float tex1\" {min} \
                         \"float tex2\" {max} \"texture amount\" \"{share}\""
                    );
                    self.parameter(format_args!("\"texture iridescence_thickness\" \"{name}\""));
                }
            }
        }
        Ok(())
    }

    /// Writes the normals of the coat, unless they are those of the base.
    fn coat_normal(&mut self, map: Option<&TextureInfo>) -> Result<(), SceneError> {
        let name = match (map, &self.m.normal_texture) {
            (None, None) => return Ok(()),
            (Some(coat), Some(base)) if coat == base => return Ok(()),
            (Some(coat), _) => {
                self.textures.normals("clearcoat_normal", coat, Content::of_normals(coat))?
            }
            (None, Some(_)) => self.textures.surface_normal("clearcoat_normal"),
        };
        self.parameter(format_args!("\"texture clearcoat_normal\" \"{name}\""));
        Ok(())
    }

    /// Writes what lets light pass.
    fn transmission(&mut self) -> Result<(), SceneError> {
        let e = &self.m.extensions;
        if let Some(e) = e.transmission.as_ref().filter(|e| e.transmission_factor != 0.0) {
            let texture = e.transmission_texture.as_ref().map(|info| (info, 0));
            self.number("transmission", e.transmission_factor, texture)?;
        }
        if self.is_volume() {
            self.parameter(format_args!("\"bool thin_walled\" false"));
        }
        let diffuse = e.diffuse_transmission.as_ref();
        if let Some(e) = diffuse.filter(|e| e.diffuse_transmission_factor != 0.0) {
            let texture = e.diffuse_transmission_texture.as_ref().map(|info| (info, 3));
            self.number("diffuse_transmission", e.diffuse_transmission_factor, texture)?;
            let texture = e.diffuse_transmission_color_texture.as_ref();
            let factor = e.diffuse_transmission_color_factor;
            self.colour("diffuse_transmission_color", factor, texture, 1.0)?;
        }
        Ok(())
    }
}

/// The index of refraction at a wavelength in nanometres, by KHR_materials_dispersion: Cauchy's
/// formula for the Abbe number 20/dispersion.
fn dispersed_index(ior: f64, dispersion: f64, wavelength: f64) -> f64 {
    let slope = (ior - 1.0) * dispersion / 20.0;
    (ior + slope * (523655.0 / (wavelength * wavelength) - 1.5168)).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dispersion_has_the_abbe_number() {
        // V = (n_d − 1)/(n_F − n_C), at 587.6, 486.1 and 656.3 nm.
        let index = |wavelength| dispersed_index(1.6, 0.4, wavelength);
        assert!((index(587.6) - 1.6).abs() < 1e-4);
        let abbe = (index(587.6) - 1.0) / (index(486.1) - index(656.3));
        assert!((abbe - 50.0).abs() < 0.1, "{abbe}");
    }
}
