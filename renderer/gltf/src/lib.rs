//! Translates glTF 2.0 assets into pbrt-v4 scenes.
//!
//! [`translate`] reads a `.gltf` or `.glb` file and returns the text of a scene, with PLY meshes and
//! images in memory. There are two uses of it: [`load`] hands it to the loader of pbrt scenes, so
//! that an asset renders like any other scene, and `lightbound import` writes it to files. They give
//! the same picture, and there is one builder of scenes.
//!
//! The specification is *glTF 2.0* (Khronos Group 2021), with the extensions that
//! `docs/gltf.md` lists. Units stay those of the file: metres, and for light, cd/m², cd and lux, so
//! that a surface with the emission 1 has the pixel value 1.
//!
//! Invariant: no input panics. Errors name the file, the element with index and name, and a remedy.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod accessor;
mod animation;
mod document;
mod files;
mod images;
mod json;
mod lights;
mod materials;
mod mesh;
mod nodes;
mod schema;
mod shapes;
mod tangents;
#[cfg(test)]
mod tests;
mod textures;
mod translate;
mod view;

pub use document::check_images;
pub use files::file_name;
use lightbound_pbrt::build::NamedShader;
use lightbound_pbrt::{Diagnostics, LoadedScene, Overrides, SceneError, Source, load_source};
use std::path::{Path, PathBuf};
use std::sync::Arc;
pub use translate::{Translation, translate, translate_bytes};

/// What to translate of a file with several cameras, scenes, materials or poses.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// Name or index of the camera, or `auto`; `None` for the first, or `auto` if there is none.
    pub camera: Option<String>,
    /// Name or index of the scene; `None` for the default one.
    pub scene: Option<String>,
    /// Time of the animation in seconds; `None` for the pose without an animation.
    pub time: Option<f64>,
    /// Seconds for which the shutter is open from `time` on, 0 without it; `None` for no motion.
    pub shutter: Option<f64>,
    /// Name or index of the animation; `None` for the first.
    pub animation: Option<String>,
    /// Name of a variant of the materials (KHR_materials_variants); `None` for the default one.
    pub variant: Option<String>,
    /// Image that lights the scene instead of default lights.
    pub environment: Option<PathBuf>,
}

/// Returns whether the name of a file is that of a glTF asset.
pub fn is_gltf_name(path: &Path) -> bool {
    let extension = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    extension == "gltf" || extension == "glb"
}

/// Loads a glTF asset, or a pbrt scene if the name of the source is not that of an asset.
///
/// # Errors
/// The first fatal problem, with a remedy.
pub fn load(
    source: &Arc<Source>,
    options: &Options,
    shaders: &[NamedShader],
    overrides: &Overrides,
    diagnostics: &mut Diagnostics,
) -> Result<LoadedScene, SceneError> {
    if !is_gltf_name(source.path()) {
        return load_source(source, shaders, overrides, diagnostics);
    }
    // An override replaces lights while the scene is built.
    let environment = overrides.environment.clone().or(options.environment.clone());
    let options = Options { environment: environment.clone(), ..options.clone() };
    let overrides = Overrides { environment, ..overrides.clone() };
    let translation = translate(source.path(), &options, "", diagnostics)?;
    let source = translation.source();
    let mut loaded = load_source(&source, shaders, &overrides, diagnostics)?;
    translation.inputs.into_iter().for_each(|path| loaded.inputs.add_origin(path));
    Ok(loaded)
}
