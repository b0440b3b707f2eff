//! The materials of a MaterialX document, and what becomes of them.

use super::lines;
use crate::Error;
use crate::console::count;
use crate::material::missing_images;
use lightbound_materialx::{Document, Material};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// A document, and its materials.
pub struct DocumentInfo {
    path: PathBuf,
    materials: Vec<MaterialInfo>,
}

/// A material by its name and the type of its surface.
struct MaterialInfo {
    name: String,
    /// `None` if the material has no surface.
    surface: Option<String>,
    converted: Result<Material, lightbound_materialx::Error>,
    /// Warnings of the conversion, and about images that do not exist.
    warnings: Vec<String>,
}

impl DocumentInfo {
    /// Describes a document, whose materials are converted.
    pub fn new(path: &Path, document: &Document) -> DocumentInfo {
        // Materials share images; each is missing once.
        let mut missing = HashSet::new();
        let describe = |name: &str| {
            let converted = document.convert(Some(name));
            let mut warnings = Vec::new();
            if let Ok(material) = &converted {
                warnings.extend(material.warnings.iter().map(ToString::to_string));
                let images = missing_images(path, material);
                let new = images.filter(|warning| missing.insert(warning.message.clone()));
                warnings.extend(new.map(|warning| warning.to_string()));
            }
            let surface = document.surface_type(name).ok().map(str::to_owned);
            MaterialInfo { name: name.to_owned(), surface, converted, warnings }
        };
        let materials = document.materials().into_iter().map(describe).collect();
        DocumentInfo { path: path.into(), materials }
    }

    /// Reads a document.
    pub fn load(path: &Path) -> Result<DocumentInfo, Error> {
        Ok(DocumentInfo::new(path, &crate::material::read(path)?))
    }

    pub fn text(&self) -> String {
        let rows: Vec<(&str, String)> =
            self.materials.iter().map(|material| (&*material.name, material.text())).collect();
        let number = count(self.materials.len() as u64, "material");
        format!("{}: MaterialX document, {number}\n{}", self.path.display(), lines(&rows))
    }

    pub fn json(&self) -> Value {
        let materials: Vec<Value> = self.materials.iter().map(MaterialInfo::json).collect();
        json!({
            "file": self.path.display().to_string(),
            "kind": "materialx",
            "materials": materials,
        })
    }
}

/// What a material has besides its shader.
fn properties(material: &Material) -> [(bool, &'static str); 4] {
    [
        (material.emission.is_some(), "emission"),
        (material.volume.is_some(), "volume"),
        (material.opacity.is_some(), "opacity"),
        (material.dispersion.is_some(), "dispersion"),
    ]
}

impl MaterialInfo {
    fn text(&self) -> String {
        let mut text = self.surface.clone().unwrap_or("no surface".into());
        match &self.converted {
            Ok(material) => {
                let mut add = |number: usize, what: &str| {
                    if number > 0 {
                        text += &format!(", {}", count(number as u64, what));
                    }
                };
                add(material.textures.len(), "image");
                add(material.attributes.len(), "vertex attribute");
                for (has, what) in properties(material) {
                    if has {
                        text += &format!(", {what}");
                    }
                }
                for warning in &self.warnings {
                    text += &format!("\nwarning: {warning}");
                }
            }
            Err(error) => text += &format!("\nerror: {error}; {}", error.help),
        }
        text
    }

    fn json(&self) -> Value {
        let MaterialInfo { name, surface, converted, warnings } = self;
        match converted {
            Ok(material) => {
                let images: Vec<_> = material.textures.iter().map(|image| &image.file).collect();
                let attributes: Vec<_> =
                    material.attributes.iter().map(|attribute| &attribute.name).collect();
                let has = properties(material).into_iter().filter(|(has, _)| *has);
                let properties: Vec<_> = has.map(|(_, what)| what).collect();
                json!({
                    "name": name,
                    "surface": surface,
                    "images": images,
                    "attributes": attributes,
                    "properties": properties,
                    "warnings": warnings,
                })
            }
            Err(error) => {
                json!({ "name": name, "surface": surface, "error": error.to_string() })
            }
        }
    }
}
