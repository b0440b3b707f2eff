//! What a scene contains, and the memory that it needs.

use super::{bytes, lines};
use crate::Error;
use crate::console::count;
use crate::stats::resident_memory_bytes;
use lightbound::choice::Choice;
use lightbound::film::{FilmOptions, column_names};
use lightbound::geometry::{Geometry, Primitive, Shape};
use lightbound::integrator;
use lightbound::light::AnyLight;
use lightbound::material::Material;
use lightbound_pbrt::build::{LoadedScene, Overrides, load_source};
use lightbound_pbrt::diagnostics::{Diagnostics, Source};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Maximum number of names of materials in text.
const MAX_NAMES: usize = 12;

/// A loaded scene, and what loading it told.
pub struct SceneInfo {
    path: PathBuf,
    loaded: LoadedScene,
    warnings: Vec<String>,
    integrator: &'static str,
    /// Memory of the process that loading took, if the system reports it.
    loaded_bytes: Option<u64>,
    film_bytes: u64,
}

/// Numbers of elements of shapes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Elements {
    triangles: u64,
    patches: u64,
    spheres: u64,
    disks: u64,
}

impl Elements {
    fn add(&mut self, primitive: &Primitive, times: u64) {
        let n = u64::from(primitive.shape.len()) * times;
        let counter = match &primitive.shape {
            Shape::Mesh(_) => &mut self.triangles,
            Shape::Bilinear(_) => &mut self.patches,
            Shape::Sphere(_) => &mut self.spheres,
            Shape::Disk(_) => &mut self.disks,
        };
        *counter += n;
    }

    /// The elements that satisfy a condition; each group counts once.
    fn stored(geometry: &Geometry, condition: impl Fn(&Primitive) -> bool) -> Elements {
        let mut elements = Elements::default();
        geometry.primitives.iter().filter(|p| condition(p)).for_each(|p| elements.add(p, 1));
        elements
    }

    /// All elements; each instance of a group counts.
    fn instanced(geometry: &Geometry) -> Elements {
        let mut elements = Elements::default();
        let range = |range: &std::ops::Range<u32>| range.start as usize..range.end as usize;
        let mut add = |primitives: &[Primitive], times| {
            primitives.iter().for_each(|primitive| elements.add(primitive, times));
        };
        add(&geometry.primitives[range(&geometry.world)], 1);
        for (g, group) in geometry.groups.iter().enumerate() {
            let times = geometry.instances.iter().filter(|i| i.group as usize == g).count();
            add(&geometry.primitives[range(group)], times as u64);
        }
        elements
    }

    fn text(&self) -> String {
        let all = [
            (self.triangles, "triangle", "s"),
            (self.patches, "bilinear patch", "es"),
            (self.spheres, "sphere", "s"),
            (self.disks, "disk", "s"),
        ];
        let some = all.into_iter().filter(|(n, ..)| *n > 0);
        let texts: Vec<String> = some
            .map(|(n, noun, plural)| format!("{n} {noun}{}", if n == 1 { "" } else { plural }))
            .collect();
        if texts.is_empty() { "none".into() } else { texts.join(", ") }
    }

    fn json(&self) -> Value {
        json!({
            "triangles": self.triangles,
            "bilinear_patches": self.patches,
            "spheres": self.spheres,
            "disks": self.disks,
        })
    }
}

/// Numbers of lights that are not surfaces.
#[derive(Clone, Copy, Debug, Default)]
struct OtherLights {
    point: usize,
    spot: usize,
    distant: usize,
    environment: usize,
}

impl SceneInfo {
    /// Loads a scene as for rendering.
    pub fn load(path: &Path, source: Arc<Source>) -> Result<SceneInfo, Error> {
        let before = resident_memory_bytes();
        let mut diagnostics = Diagnostics::new(false);
        let loaded = load_source(&source, &[], &Overrides::default(), &mut diagnostics)?;
        let integrator = integrator::new(&loaded.scene, &loaded.settings.integrator)?;
        let after = resident_memory_bytes();
        let options =
            FilmOptions { features: true, moments: false, channels: integrator.film_channels() };
        let window = loaded.settings.window;
        let pixels = u64::from(window.width()) * u64::from(window.height());
        let film_bytes = pixels * (column_names(options).len() * size_of::<u32>()) as u64;
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

    fn emitting(&self) -> Elements {
        Elements::stored(&self.loaded.scene.geometry, |p| p.first_light.is_some())
    }

    fn other_lights(&self) -> OtherLights {
        let mut lights = OtherLights::default();
        for light in self.loaded.scene.lights.all() {
            match light {
                AnyLight::Point(_) => lights.point += 1,
                AnyLight::Spot(_) => lights.spot += 1,
                AnyLight::Distant(_) => lights.distant += 1,
                AnyLight::Environment(_) => lights.environment += 1,
                AnyLight::Area(_) => {}
            }
        }
        lights
    }

    fn lights_text(&self) -> String {
        let OtherLights { point, spot, distant, environment } = self.other_lights();
        let mut texts = Vec::new();
        let emitting = self.emitting();
        if emitting != Elements::default() {
            texts.push(format!("emitting surfaces: {}", emitting.text()));
        }
        let others = [
            (point, "point light"),
            (spot, "spot light"),
            (distant, "distant light"),
            (environment, "environment light"),
        ];
        let others = others.into_iter().filter(|(n, _)| *n > 0);
        texts.extend(others.map(|(n, noun)| count(n as u64, noun)));
        if texts.is_empty() { "none".into() } else { texts.join("; ") }
    }

    fn materials_text(&self) -> String {
        let names = &self.loaded.scene.material_names;
        let shown = names.iter().take(MAX_NAMES).cloned().collect::<Vec<_>>().join(", ");
        match names.len() {
            0 => "none".into(),
            n if n > MAX_NAMES => format!("{n}: {shown} and {} more", n - MAX_NAMES),
            n => format!("{n}: {shown}"),
        }
    }

    fn memory_text(&self) -> String {
        let film = bytes(self.film_bytes);
        match self.loaded_bytes {
            Some(loaded) => format!(
                "about {}: scene {}, film {film}; writing an .exr takes more for a moment",
                bytes(loaded + self.film_bytes),
                bytes(loaded)
            ),
            None => format!(
                "accelerator {}, film {film}",
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
        let stored = Elements::stored(&scene.geometry, |_| true);
        let mut surfaces = stored.text();
        let instances = scene.geometry.instances.len();
        if instances > 0 {
            surfaces += &format!(
                "; {} with all {}",
                Elements::instanced(&scene.geometry).text(),
                count(instances as u64, "instance")
            );
        }
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
        let rows = [
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
            ("surfaces", surfaces),
            ("lights", self.lights_text()),
            ("materials", self.materials_text()),
            ("files", files_text),
            ("memory", self.memory_text()),
            ("fallbacks", fallbacks),
        ];
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
        let lights = self.other_lights();
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
            "integrator": settings.integrator.method.name().name(),
            "max_depth": settings.integrator.max_depth,
            "surfaces": Elements::stored(&scene.geometry, |_| true).json(),
            "surfaces_with_instances": Elements::instanced(&scene.geometry).json(),
            "instances": scene.geometry.instances.len(),
            "lights": {
                "emitting_surfaces": self.emitting().json(),
                "point": lights.point,
                "spot": lights.spot,
                "distant": lights.distant,
                "environment": lights.environment,
            },
            "materials": materials.collect::<Vec<_>>(),
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

/// How a material scatters light.
fn kind(material: &Material) -> &'static str {
    match material {
        Material::Mix { .. } => "mix",
        Material::Surface { specular: Some(_), scattering: Some(_) } => "specular and shader",
        Material::Surface { specular: Some(_), scattering: None } => "specular",
        Material::Surface { specular: None, scattering: Some(_) } => "shader",
        Material::Surface { specular: None, scattering: None } => "black",
    }
}
