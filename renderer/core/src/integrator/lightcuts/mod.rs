//! Lightcuts (Walter et al. 2005): direct light of thousands of lights at the cost of hundreds,
//! with a bounded error, for arbitrary materials.
//!
//! All lights are converted to points and directions in trees ([`LightTree`]). For each shading
//! point, a cut through the trees replaces clusters of lights by representatives (`cut`) if
//! compiled bounding shaders prove that the error is small (Clarberg et al. 2010 §6.1;
//! Velázquez-Armendáriz et al. 2009). Alternatively, each cluster of a cut of fixed size is sampled
//! (`stochastic`).
//!
//! All shading points of several samples of a pixel can share one cut. Its elements are pairs of a
//! cluster of shading points and a cluster of lights (`gather`; Walter et al. 2006).
//!
//! Paths start at the camera and continue at specular surfaces and, with `glossy_paths`, at glossy ones
//! (`glossy`), for up to `maxdepth` events. All surfaces with a shader and points in media scatter
//! direct light and, with `virtual_lights`, indirect light. Lights that a path hits contribute their
//! radiance, unless a shader scattered it last: its cut has their light.

mod channels;
mod compensation;
mod cut;
mod gather;
mod glossy;
mod heap_entry;
mod in_scattering;
mod indirect;
mod light_draws;
mod lighting;
mod media;
mod reflected_light;
mod stochastic;
#[cfg(test)]
mod testing;
mod vertex;
mod virtual_lights;
mod worker;

pub use self::channels::{FILM_CHANNELS, GATHER_CHANNELS};

use self::indirect::Indirect;
use self::worker::LightcutsWorker;
use super::material_bound::{BoundError, MaterialBounds};
use super::{Integrator, LightTreeStats, Worker};
use crate::film::ChannelSpec;
use crate::integrator::IntegratorError;
use crate::light_tree::{LightTree, PointOptions};
use crate::material::Material;
use crate::scene::Scene;
use crate::settings;
use crate::settings::{BoundMode, LightcutsSettings, RenderSettings};
use std::time::Instant;

/// The lightcuts integrator: settings, light trees and bounding shaders of a scene.
pub struct Lightcuts {
    max_depth: u32,
    cut: settings::Cut,
    /// See [`LightcutsSettings::gather`].
    gather: u32,
    check_bounds: bool,
    tree: LightTree,
    tree_stats: LightTreeStats,
    materials: MaterialBounds,
    /// For each shader, whether its BRDF depends on the direction to the light. Empty without
    /// stochastic cuts.
    has_lobe: Vec<bool>,
    /// Indirect light, if there is any.
    indirect: Option<Indirect>,
    /// See [`LightcutsSettings::glossy_paths`].
    glossy_paths: bool,
}

impl Lightcuts {
    /// Builds the trees of a scene, and compiles its bounding shaders.
    ///
    /// # Errors
    /// If a bounding shader cannot be compiled, or the settings require hand-derived bounds and a
    /// material has none.
    pub fn new(
        scene: &Scene,
        settings: &RenderSettings,
        lightcuts: &LightcutsSettings,
    ) -> Result<Lightcuts, IntegratorError> {
        if scene.lights.any_moves() {
            let message = "lightcuts cannot render lights that move; use the integrator path";
            return Err(IntegratorError(message.to_string()));
        }
        if lightcuts.gather > 1 && lightcuts.bounds == BoundMode::Hand {
            let message = "cuts of several samples (--gather) need compiled bounds; use --bounds \
                           related instead of hand";
            return Err(IntegratorError(message.to_string()));
        }
        let max_depth = settings.integrator.max_depth;
        let started = Instant::now();
        let stochastic = matches!(lightcuts.cut, settings::Cut::Stochastic { .. });
        let options = PointOptions {
            area_points: lightcuts.area_points,
            environment_points: lightcuts.environment_points,
            extents: stochastic,
            ..PointOptions::default()
        };
        let mut tree = LightTree::build(&scene.lights, scene.accel.bounds(), &options);
        let compile = match lightcuts.gather {
            1 => MaterialBounds::compile,
            _ => MaterialBounds::compile_for_clusters,
        };
        let materials = compile(&scene.shaders, lightcuts.bounds)
            .map_err(|error| material_error(scene, &error))?;
        let has_lobe = match stochastic {
            true => scene.shaders.iter().map(|binding| binding.program.depends_on_wi()).collect(),
            false => Ok(vec![]),
        };
        let has_lobe = has_lobe.map_err(|error| material_error(scene, &error.into()))?;
        let indirect = match &lightcuts.virtual_lights {
            Some(virtual_lights) if max_depth > 1 => {
                Some(Indirect::new(scene, &mut tree, &materials, settings, virtual_lights)?)
            }
            _ => None,
        };
        let tree_stats = LightTreeStats {
            build: started.elapsed(),
            bytes: tree.bytes()
                + indirect.as_ref().map_or(0, |indirect| indirect.materials.bytes()),
            points: tree.points().len() + tree.virtual_lights().len(),
            virtual_lights: tree.virtual_lights().len(),
        };
        Ok(Lightcuts {
            max_depth,
            cut: lightcuts.cut,
            gather: lightcuts.gather,
            check_bounds: lightcuts.check_bounds,
            tree,
            tree_stats,
            materials,
            has_lobe,
            indirect,
            glossy_paths: lightcuts.glossy_paths,
        })
    }
}

/// Adds the name of the material to an error.
fn material_error(scene: &Scene, error: &BoundError) -> IntegratorError {
    let has = |material: &Material, shader: &str| match material {
        Material::Surface { scattering: Some(instance), .. } => {
            scene.shaders[instance.shader as usize].program.name == shader
        }
        _ => false,
    };
    let materials = std::iter::zip(&scene.materials, &scene.material_names);
    let mut matching = materials
        .filter(|(material, _)| matches!(error, BoundError::Hand { name } if has(material, name)));
    let name = matching.next().map_or(String::new(), |(_, name)| format!("material \"{name}\": "));
    IntegratorError(format!("{name}{error}"))
}

impl Integrator for Lightcuts {
    fn name(&self) -> &'static str {
        "lightcuts"
    }

    fn light_tree(&self) -> Option<LightTreeStats> {
        Some(self.tree_stats)
    }

    fn film_channels(&self) -> &'static [ChannelSpec] {
        if self.gather > 1 { GATHER_CHANNELS } else { FILM_CHANNELS }
    }

    fn worker<'a>(
        &'a self,
        scene: &'a Scene,
        settings: &'a RenderSettings,
    ) -> Box<dyn Worker + 'a> {
        Box::new(LightcutsWorker::new(scene, settings, self))
    }
}
