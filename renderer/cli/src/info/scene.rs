//! What a scene contains, and the memory that it needs.

use super::lines;
use crate::Error;
use crate::console::{self, bytes, count};
use crate::contents::{self, Elements, OtherLights};
use crate::memory;
use crate::render::{AvailableLayers, film_layers, film_options};
use lightbound::integrator;
use lightbound::material::Material;
use lightbound::medium::Medium;
use lightbound_gltf::{Options, check_images, is_gltf_name};
use lightbound_pbrt::build::{LoadedScene, Overrides};
use lightbound_pbrt::diagnostics::{Diagnostics, SceneError, Source};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Maximum number of names of materials, and of media, in text.
const MAX_NAMES: usize = 12;

/// A loaded scene, and what loading it told.
pub struct SceneInfo {
    path: PathBuf,
    loaded: LoadedScene,
    warnings: Vec<String>,
    integrator: &'static str,
    /// Memory of the process that loading took, if it was measured.
    loaded_bytes: Option<u64>,
    film_bytes: u64,
}

impl SceneInfo {
    /// Loads a scene as for rendering; `measures` its memory if the process has not freed any yet.
    pub fn load(path: &Path, source: Arc<Source>, measures: bool) -> Result<SceneInfo, Error> {
        let before = memory::resident_bytes().filter(|_| measures);
        let mut diagnostics = Diagnostics::new(false);
        let (options, overrides) = (Options::default(), Overrides::default());
        let loaded = load(&source, &options, &overrides, &mut diagnostics).inspect_err(|_| {
            diagnostics.warnings().iter().for_each(|warning| console::warn(warning));
        })?;
        let integrator = integrator::new(&loaded.scene, &loaded.settings)?;
        let after = memory::resident_bytes();
        let available = AvailableLayers::new(&*integrator, &loaded.scene);
        let options = film_options(film_layers(&loaded), available);
        let film_bytes = options.film_bytes(loaded.settings.window);
        let integrator = integrator.name();
        Ok(SceneInfo {
            path: path.into(),
            warnings: diagnostics.warnings().iter().map(ToString::to_string).collect(),
            integrator,
            loaded_bytes: before.zip(after).map(|(before, after)| after.saturating_sub(before)),
            film_bytes,
            loaded,
        })
    }

    /// The number of materials, and their names, each once.
    fn materials_text(&self) -> String {
        let names = &self.loaded.scene.material_names;
        let mut distinct: Vec<(&str, usize)> = Vec::new();
        let mut indices = HashMap::new();
        for name in names {
            let index = *indices.entry(name.as_str()).or_insert(distinct.len());
            match distinct.get_mut(index) {
                Some((_, times)) => *times += 1,
                None => distinct.push((name, 1)),
            }
        }
        let name = |&(name, times): &(&str, usize)| match times {
            1 => name.to_owned(),
            _ => format!("{name} × {times}"),
        };
        let shown = distinct.iter().take(MAX_NAMES).map(name).collect::<Vec<_>>().join(", ");
        let rest = match distinct.len().saturating_sub(MAX_NAMES) {
            0 => String::new(),
            n => format!(" and {}", count(n as u64, "other name")),
        };
        if names.is_empty() { "none".into() } else { format!("{}: {shown}{rest}", names.len()) }
    }

    /// The participating media, one in each line.
    fn media_text(&self) -> String {
        let media = &self.loaded.scene.media;
        let mut lines: Vec<_> = media.iter().take(MAX_NAMES).map(medium_text).collect();
        if let n @ 1.. = media.len().saturating_sub(MAX_NAMES) {
            lines.push(format!("and {n} more"));
        }
        lines.join("\n")
    }

    fn memory_text(&self) -> String {
        let film = bytes(self.film_bytes);
        match self.loaded_bytes {
            Some(loaded) => format!(
                "about {}: scene {}, film {film}",
                bytes(loaded + self.film_bytes),
                bytes(loaded)
            ),
            None => format!(
                "at least accelerator {}, film {film}; alone, the scene is measured",
                bytes(self.loaded.scene.accel.memory_bytes() as u64)
            ),
        }
    }

    /// The input files besides the scene itself, with their sizes.
    fn files(&self) -> Vec<(&Path, u64)> {
        let paths = self.loaded.inputs.paths();
        paths.map(|path| (path, path.metadata().map_or(0, |m| m.len()))).collect()
    }

    /// Formats the description as text.
    pub fn text(&self) -> String {
        let LoadedScene { scene, settings, .. } = &self.loaded;
        let (width, height) = settings.resolution;
        let mut size = format!("{width} × {height} pixels");
        let window = settings.window;
        if (window.width(), window.height()) != (width, height) {
            size += &format!(
                ", cropped to {} × {} at ({}, {})",
                window.width(),
                window.height(),
                window.x0,
                window.y0
            );
        }
        let sampling = settings.sampling;
        let files = self.files();
        let files_text = match files.len() {
            0 => "no other files".into(),
            n => format!(
                "{}, {}",
                count(n as u64, "other file"),
                bytes(files.iter().map(|(_, size)| size).sum())
            ),
        };
        let fallbacks = match self.warnings.len() {
            0 => "none".into(),
            _ => self.warnings.join("\n"),
        };
        let mut rows = vec![
            ("picture", size),
            (
                "samples",
                format!("{} per pixel, {}, seed {}", sampling.spp, self.sampler(), sampling.seed),
            ),
            (
                "integrator",
                format!(
                    "{}, up to {}",
                    self.integrator,
                    count(settings.integrator.max_depth.into(), "scattering event")
                ),
            ),
            ("surfaces", contents::surfaces(&scene.geometry)),
            ("lights", contents::lights(scene)),
            ("materials", self.materials_text()),
        ];
        if !scene.media.is_empty() {
            rows.push(("media", self.media_text()));
        }
        rows.extend([
            ("files", files_text),
            ("memory", self.memory_text()),
            ("fallbacks", fallbacks),
        ]);
        format!("{}: scene\n{}", self.path.display(), lines(&rows))
    }

    /// The sampler's name, as in attributes of images.
    fn sampler(&self) -> String {
        format!("{:?}", self.loaded.settings.sampling.kind).to_lowercase()
    }

    /// The description as JSON.
    pub fn json(&self) -> Value {
        let LoadedScene { scene, settings, filename, .. } = &self.loaded;
        let (window, sampling) = (settings.window, settings.sampling);
        let lights = OtherLights::of(scene);
        let materials = scene.materials.iter().zip(&scene.material_names);
        let materials = materials.map(|(m, name)| json!({ "name": name, "kind": kind(m) }));
        let files = self.files().into_iter();
        let files =
            files.map(|(path, size)| json!({ "path": path.display().to_string(), "bytes": size }));
        json!({
            "file": self.path.display().to_string(),
            "kind": "scene",
            "width": settings.resolution.0,
            "height": settings.resolution.1,
            "window": {
                "x": window.x0, "y": window.y0,
                "width": window.width(), "height": window.height(),
            },
            "output": filename.display().to_string(),
            "samples_per_pixel": sampling.spp,
            "sampler": self.sampler(),
            "seed": sampling.seed,
            "integrator": self.integrator,
            "max_depth": settings.integrator.max_depth,
            "surfaces": Elements::stored(&scene.geometry).json(),
            "surfaces_with_instances": Elements::instanced(&scene.geometry).json(),
            "instances": scene.geometry.instances.len(),
            "lights": {
                "emitting_surfaces": Elements::emitting(&scene.geometry).json(),
                "point": lights.point,
                "spot": lights.spot,
                "goniometric": lights.goniometric,
                "projection": lights.projection,
                "distant": lights.distant,
                "environment": lights.environment,
            },
            "materials": materials.collect::<Vec<_>>(),
            "media": scene.media.iter().map(medium_json).collect::<Vec<_>>(),
            "files": files.collect::<Vec<_>>(),
            "memory": {
                "scene_bytes": self.loaded_bytes,
                "accelerator_bytes": scene.accel.memory_bytes(),
                "film_bytes": self.film_bytes,
            },
            "fallbacks": self.warnings,
        })
    }
}

/// Loads a scene. Warnings of an asset include all images that do not exist.
fn load(
    source: &Arc<Source>,
    options: &Options,
    overrides: &Overrides,
    diagnostics: &mut Diagnostics,
) -> Result<LoadedScene, SceneError> {
    if is_gltf_name(source.path()) {
        check_images(source.path(), diagnostics)?;
    }
    lightbound_gltf::load(source, options, &[], overrides, diagnostics)
}

/// Name, kind and extinction of a medium.
fn medium_text(medium: &Medium) -> String {
    let [r, g, b] = medium.max_extinction().to_array();
    let extinction = if r == g && g == b { r.to_string() } else { format!("({r}, {g}, {b})") };
    let up_to = if medium.field.bounds().is_some() { "up to " } else { "" };
    let emission = if medium.emits() { ", emits light" } else { "" };
    let kind = medium.field.kind();
    format!("{}: {kind}, extinction {up_to}{extinction} per metre{emission}", medium.name)
}

fn medium_json(medium: &Medium) -> Value {
    let bounds = medium.field.bounds();
    json!({
        "name": medium.name,
        "kind": medium.field.kind(),
        "max_extinction": medium.max_extinction().to_array(),
        "bounds": bounds.map(|b| json!({ "min": b.min.to_array(), "max": b.max.to_array() })),
        "emits": medium.emits(),
    })
}

/// How a material scatters light.
fn kind(material: &Material) -> &'static str {
    match material {
        Material::Mix { .. } => "mix",
        Material::Interface => "interface",
        Material::Surface { specular: Some(_), scattering: Some(_), .. } => "specular and shader",
        Material::Surface { specular: Some(_), scattering: None, .. } => "specular",
        Material::Surface { specular: None, scattering: Some(_), .. } => "shader",
        Material::Surface { specular: None, scattering: None, .. } => "black",
    }
}
