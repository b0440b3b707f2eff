//! Translates a document: the order of directives in the scene.

use crate::document::Document;
use crate::files::{Files, Names};
use crate::images::Images;
use crate::shapes::{Shapes, comment};
use crate::textures::Context;
use crate::{Options, animation, lights, nodes, view};
use lightbound_pbrt::{Diagnostics, SceneError, Source};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A pbrt scene that was translated from a glTF asset.
#[derive(Clone, Debug)]
pub struct Translation {
    /// The asset.
    pub path: PathBuf,
    /// Parts of the scene's text, each with its origin for messages.
    pub parts: Vec<(String, String)>,
    /// Meshes and images, by their names relative to the scene.
    pub files: BTreeMap<String, Vec<u8>>,
    /// Files that were read.
    pub inputs: Vec<PathBuf>,
}

impl Translation {
    /// Returns the text of the scene.
    pub fn text(&self) -> String {
        self.parts.iter().map(|(_, text)| text.as_str()).collect()
    }

    /// Returns the scene in memory. Messages name elements of the asset.
    pub fn source(&self) -> Arc<Source> {
        Source::generated(&self.path, self.parts.clone()).with_files(self.files.clone())
    }
}

/// Translates a file. Names of meshes and images begin with `folder`.
///
/// # Errors
/// The first fatal problem, with a remedy.
pub fn translate(
    path: &Path,
    options: &Options,
    folder: &str,
    diagnostics: &mut Diagnostics,
) -> Result<Translation, SceneError> {
    translate_document(Document::read(path, diagnostics)?, options, folder, diagnostics)
}

/// Translates the content of a file; `path` is its name, which URIs are relative to.
///
/// # Errors
/// As [`translate`].
pub fn translate_bytes(
    path: &Path,
    data: &[u8],
    options: &Options,
    folder: &str,
    diagnostics: &mut Diagnostics,
) -> Result<Translation, SceneError> {
    let document = Document::decode(path, data, diagnostics)?;
    translate_document(document, options, folder, diagnostics)
}

fn translate_document(
    mut document: Document,
    options: &Options,
    folder: &str,
    diagnostics: &mut Diagnostics,
) -> Result<Translation, SceneError> {
    let poses = animation::poses(&document, options)?;
    let nodes = nodes::traverse(&document, options.scene.as_deref(), &poses)?;
    let (mut files, mut images) = (Files::new(folder), Images::default());
    let mut material_names = Names::default();
    let mut context = Context {
        document: &mut document,
        files: &mut files,
        images: &mut images,
        material_names: &mut material_names,
        diagnostics,
    };
    let shapes = Shapes::translate(&mut context, &nodes, &poses, options)?;
    if shapes.bounds.is_none() {
        let message = format!("{}: the scene has no triangles", context.document.path.display());
        context.diagnostics.warn(None, message, "an empty picture")?;
    }
    let (lamps, has_lamps) = lights::translate(&document, &nodes)?;
    let view = view::View::new(&document, &nodes, options, shapes.bounds)?;

    let path = document.path.clone();
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let integrator = if shapes.has_media { "volpath" } else { "path" };
    let head = format!(
        "# Translated from {} by Lightbound.\n{}\
         Sampler \"zsobol\" \"integer pixelsamples\" 64\n\
         Integrator \"{integrator}\" \"integer maxdepth\" 12\n\
         WorldBegin\n\n",
        comment(&name),
        view.text
    );
    let mut parts = vec![(format!("{}: the camera", path.display()), head)];
    let default_lights = match (&options.environment, has_lamps || shapes.has_lamps) {
        (Some(_), _) | (None, true) => String::new(),
        (None, false) => view.default_lights(),
    };
    parts.push((format!("{}: the default lights", path.display()), default_lights));
    parts.extend(lamps);
    parts.extend(shapes.parts);
    let parts = parts.into_iter().filter(|(_, text)| !text.is_empty()).collect();
    Ok(Translation { path, parts, files: files.files, inputs: document.files })
}
