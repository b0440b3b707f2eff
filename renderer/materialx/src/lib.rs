//! Converts materials of MaterialX documents to WGSL.
//!
//! [`Document::parse`] reads a document, and [`Document::convert`] returns one of its materials as
//! the text of a shader: one of the library with the surface's values as defaults of its parameters,
//! and `fn material`, which computes those that are connected to node graphs. Each node is one `let`
//! with the node's name, so that a person can read and edit the result.
//!
//! ```
//! use lightbound_materialx::Document;
//!
//! let text = r#"<materialx version="1.39">
//!   <noise3d name="grain" type="float"><input name="amplitude" type="float" value="0.2"/></noise3d>
//!   <open_pbr_surface name="stone_surface" type="surfaceshader">
//!     <input name="specular_roughness" type="float" nodename="grain"/>
//!   </open_pbr_surface>
//!   <surfacematerial name="stone" type="material">
//!     <input name="surfaceshader" type="surfaceshader" nodename="stone_surface"/>
//!   </surfacematerial>
//! </materialx>"#;
//! let no_files = &mut |_: &str| Err(std::io::Error::other("there are no other files"));
//! let document = Document::parse("stone.mtlx", text, no_files)?;
//! let material = document.convert(Some("stone"))?;
//! assert!(material.text.contains("let grain = 0.2 * mx_noise3d_f32(p.object_position) + 0.0;"));
//! assert!(material.text.contains("result.specular_roughness = grain;"));
//! # Ok::<(), lightbound_materialx::Error>(())
//! ```
//!
//! What nodes compute follows the definitions of MaterialX 1.39, which `docs/materialx.md` lists.
//!
//! Invariant: no input panics. Errors name file, line and element, and a remedy.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod attributes;
mod colour;
mod document;
mod error;
mod functions;
mod graph;
mod names;
mod nodes;
mod program;
mod scene;
mod surfaces;
#[cfg(test)]
mod tests;
mod textures;
mod values;

pub use attributes::Attribute;
pub use document::Document;
pub use error::{Error, Location, Warning};
pub use scene::{
    Channel, ClearGlass, Connected, Dispersion, Emission, Opacity, OpacityValue, SceneProgram,
    SceneProperties, Volume,
};
pub use textures::{Encoding, ImageFile, Texture, Wrap};

use document::Id;
use graph::{Graph, Origin, TOP};
use lightbound_shader::{Shader, ShaderError};
use names::Names;
use program::{Program, Template};
use scene::SceneInputs;
use std::borrow::Cow;
use std::path::Path;
use values::{Term, Type};

/// A material as a shader.
#[derive(Clone, Debug)]
pub struct Material {
    /// Name of the material.
    pub name: String,
    /// The shader in WGSL.
    pub text: String,
    /// The shader, parsed.
    pub shader: Shader,
    /// Images that the shader samples.
    pub textures: Vec<Texture>,
    /// Files of images that nodes name, each once.
    pub files: Vec<ImageFile>,
    /// Parameters that have attributes of vertices, in the order of their declarations.
    pub attributes: Vec<Attribute>,
    /// The light that it emits, unless the scene sets parameters.
    pub emission: Option<Emission>,
    /// The volume below the surface, unless the scene sets parameters.
    pub volume: Option<Volume>,
    /// The opacity, unless the scene sets parameters; `None` is 1.
    pub opacity: Option<Opacity>,
    /// The dispersion of light that it transmits, unless the scene sets parameters.
    pub dispersion: Option<Dispersion>,
    /// Emission, volume, opacity and dispersion for the parameters that the scene sets.
    pub scene: Option<SceneProgram>,
    /// Parameters that scenes cannot set, because nodes of the document compute them.
    pub connected: Vec<Connected>,
    /// What is ignored or replaced.
    pub warnings: Vec<Warning>,
}

/// Returns whether the name of a file is that of a MaterialX document.
pub fn is_materialx_name(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("mtlx"))
}

impl Document {
    /// The names of the materials.
    pub fn materials(&self) -> Vec<&str> {
        self.material_elements().map(|id| self.name(id)).collect()
    }

    /// The elements of materials, or else of surfaces.
    fn material_elements(&self) -> impl Iterator<Item = Id> + '_ {
        let is_material = |&id: &Id| self.attribute(id, "type") == Some("material");
        let has_material = self.children(self.root()).any(|id| is_material(&id));
        let is_surface = |&id: &Id| {
            self.attribute(id, "type") == Some("surfaceshader") && self.category(id) != "output"
        };
        self.children(self.root()).filter(move |id| match has_material {
            true => is_material(id) && self.category(*id) != "output",
            false => is_surface(id),
        })
    }

    /// The category of a material's surface, such as `standard_surface`.
    ///
    /// # Errors
    /// If there is no such material, or it has no surface.
    pub fn surface_type(&self, name: &str) -> Result<&str, Error> {
        let element = self.find_material(Some(name))?;
        let mut g = Graph::new(self, Names::new([]));
        let (_, node) = self.surface_of(&mut g, element)?;
        Ok(self.category(node))
    }

    /// Converts a material; without a name, the only one.
    ///
    /// # Errors
    /// The first problem, with its location.
    pub fn convert(&self, name: Option<&str>) -> Result<Material, Error> {
        let element = self.find_material(name)?;
        let names = Names::new(program::SHADERS.map(|(_, text)| text));
        let mut g = Graph::new(self, names);
        // Warns about others with the name of the material.
        g.child(self.root(), self.name(element));
        let (scope, node) = self.surface_of(&mut g, element)?;
        let mut surface = surfaces::convert(&mut g, scope, node)?;
        let invalid = |error: ShaderError| {
            let label = self.label(element);
            let message = format!("{label} has no valid program: {}", error.one_line());
            self.error(element, message, "simplify the graph of the material")
        };
        let template = Template::new(self.file_name(), &surface.code).map_err(invalid)?;
        self.clamp_values(&mut g, node, &template, &mut surface.values);
        let statements = g.next_function(true);
        let normal = match surface.normal {
            None => None,
            Some((scope, input)) => g.value_of(scope, input, Type::Vector3)?,
        };
        let normal_statements = g.next_function(false);
        let (parameters, textures) = (g.parameters.clone(), g.textures.clone());
        let inputs = SceneInputs {
            emission: surface.emission.as_ref(),
            volume: surface.volume.as_ref(),
            opacity: surface.opacity.as_ref(),
            dispersion: surface.dispersion.as_ref(),
        };
        let (mut scene, of_scene) = scene::scene_program(&mut g, &template, inputs, invalid)?;
        let properties = scene.as_ref().map(|scene| scene.evaluate(&[])).unwrap_or_default();
        let SceneProperties { emission, volume, opacity, mut dispersion, problems } = properties;
        for [message, fallback] in problems {
            g.warn(node, message, fallback);
        }
        let index = match (&dispersion, normal.is_some()) {
            (Some(dispersion), false) => {
                dispersion.glass.index_of(&surface.values, volume.as_ref())
            }
            _ => None,
        };
        if let (Some(lost), Some(scene)) = (dispersion.take_if(|_| index.is_none()), scene.as_mut())
        {
            g.warnings.push(lost.warning);
            scene.remove_dispersion();
        }
        let file = self.file_name().rsplit('/').next().unwrap_or_default();
        let program = Program {
            origin: [file, self.name(element)],
            values: &surface.values,
            parameters: &parameters,
            textures: &textures,
            emission: emission.as_ref(),
            volume: volume.as_ref(),
            opacity: opacity.as_ref(),
            glass: dispersion.as_ref().zip(index),
            statements: &statements,
            normal: normal.map(|normal| (&normal_statements[..], normal)),
        };
        let text = template.program(&program);
        let computed = surface.values.iter().filter(|(_, value)| value.constant.is_none());
        let mut connected: Vec<Connected> = computed
            .map(|(name, _)| Connected {
                parameter: name.to_string(),
                location: self.location(self.input(node, name).unwrap_or(node)),
            })
            .collect();
        for other in of_scene {
            if connected.iter().all(|known| known.parameter != other.parameter) {
                connected.push(other);
            }
        }
        let shader = Shader::parse(self.file_name(), &text).map_err(invalid)?;
        let name = self.name(element).to_owned();
        let warnings = g.warnings;
        let attribute = |origin| match origin {
            Origin::Attribute(attribute) => Some(attribute),
            Origin::Input(_) | Origin::Surface | Origin::Tiles => None,
        };
        let attributes = parameters.into_iter().filter_map(|p| attribute(p.origin)).collect();
        Ok(Material {
            name,
            text,
            shader,
            textures,
            files: g.files,
            attributes,
            emission,
            volume,
            opacity,
            dispersion,
            scene,
            connected,
            warnings,
        })
    }

    fn find_material(&self, name: Option<&str>) -> Result<Id, Error> {
        let all: Vec<Id> = self.material_elements().collect();
        let names = || {
            let names: Vec<String> =
                all.iter().map(|&id| format!("\"{}\"", self.name(id))).collect();
            names.join(", ")
        };
        let error = |message: String, help: String| Err(self.error(self.root(), message, help));
        match (name, &all[..]) {
            (_, []) => error(
                "the document has no material".into(),
                "add a <surfacematerial>, or a surface such as <standard_surface>".into(),
            ),
            (None, &[one]) => Ok(one),
            (None, _) => error(
                format!("the document has {} materials", all.len()),
                format!("name one of {}", names()),
            ),
            (Some(name), _) => match all.iter().find(|&&id| self.name(id) == name) {
                Some(&id) => Ok(id),
                None => error(
                    format!("the document has no material \"{name}\""),
                    format!("name one of {}", names()),
                ),
            },
        }
    }

    /// The node of a material's surface, and its scope.
    fn surface_of(&self, g: &mut Graph, element: Id) -> Result<(graph::Scope, Id), Error> {
        if self.attribute(element, "type") == Some("surfaceshader") {
            return match g.definition_output(TOP, element, "out")? {
                None => Ok((TOP, element)),
                Some((scope, output)) => {
                    g.source(scope, output)?.ok_or_else(|| self.no_surface(output))
                }
            };
        }
        let displacement = self.input(element, "displacementshader");
        if displacement.is_some_and(|input| {
            self.attribute(input, "nodename").or(self.attribute(input, "nodegraph")).is_some()
        }) {
            g.warn(
                element,
                "a material does not displace the surface",
                "no displacement; give the shape a \"displacement\"",
            );
        }
        let input = self.input(element, "surfaceshader").ok_or_else(|| self.no_surface(element))?;
        g.source(TOP, input)?.ok_or_else(|| self.no_surface(input))
    }

    fn no_surface(&self, at: Id) -> Error {
        self.error(
            at,
            format!("{} has no surface", self.label(at)),
            "connect \"surfaceshader\" to a surface such as <standard_surface>",
        )
    }

    /// Clamps constants to the ranges of the shader.
    fn clamp_values(
        &self,
        g: &mut Graph,
        node: Id,
        template: &Template,
        values: &mut [(Cow<'static, str>, Term)],
    ) {
        for (name, term) in values {
            let [low, high] = template.range(name);
            let Some(constant) = &term.constant else { continue };
            let clamped: Vec<f64> = constant.iter().map(|x| x.clamp(low, high)).collect();
            let is_close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-6 * (1.0 + b.abs());
            if !constant.iter().zip(&clamped).all(is_close) {
                let message = format!("the value of `{name}` is out of range: {}", term.text);
                g.warn(node, message, Term::constant(term.ty, &clamped).text);
            }
            *term = Term::constant(term.ty, &clamped);
        }
    }
}
