//! The indirect light of the lightcuts integrator: its virtual lights, and how they are clamped.

use super::virtual_lights::{TraceOptions, VirtualMaterials, trace};
use crate::integrator::IntegratorError;
use crate::integrator::material_bound::MaterialBounds;
use crate::light_tree::{LightTree, MAX_VIRTUAL_LIGHTS};
use crate::scene::Scene;
use crate::settings::{RenderSettings, VirtualLightSettings};
use lightbound_math::Vec3;

/// What the virtual lights in the tree have in common.
pub(super) struct Indirect {
    pub(super) materials: VirtualMaterials,
    /// Distance below which their light does not increase.
    pub(super) clamp_distance: f32,
    /// Whether rays compensate for clamping.
    pub(super) compensation: bool,
}

/// Seed of the paths from lights, for seed 0 of the rendering.
const LIGHT_PATH_SEED: u32 = 0x11_9857;

/// Returns the seed of the paths from lights, for a seed of the rendering. A path hashes it, XOR
/// its number. So seeds differ in their upper bits: otherwise, they would exchange the random
/// numbers of the same paths, and the mean of images with several seeds would not converge.
fn path_seed(seed: u32) -> u32 {
    /// 2³² over the golden ratio.
    const SPREAD: u32 = 0x9e37_79b9;
    LIGHT_PATH_SEED ^ seed.wrapping_mul(SPREAD)
}

impl Indirect {
    /// Traces virtual lights, and adds them to the tree. Their paths have at least one vertex.
    ///
    /// # Errors
    /// If there are too many virtual lights.
    pub(super) fn new(
        scene: &Scene,
        tree: &mut LightTree,
        materials: &MaterialBounds,
        settings: &RenderSettings,
        virtual_lights: &VirtualLightSettings,
    ) -> Result<Indirect, IntegratorError> {
        let clamp_distance = clamp_distance(scene, virtual_lights);
        let options = TraceOptions {
            paths: virtual_lights.paths,
            max_events: settings.integrator.max_depth - 1,
            seed: path_seed(settings.sampling.seed),
            shadow_terminator: settings.integrator.shadow_terminator,
        };
        let Some((lights, materials)) = trace(scene, tree, materials, &options) else {
            let message = format!(
                "the paths from lights leave more virtual lights than lightcuts can use, at most \
                 {MAX_VIRTUAL_LIGHTS}; trace fewer paths"
            );
            return Err(IntegratorError(message));
        };
        tree.add_virtual_lights(&lights, clamp_distance, scene.accel.bounds());
        Ok(Indirect { materials, clamp_distance, compensation: virtual_lights.compensation })
    }
}

/// Returns the distance below which virtual lights do not get brighter.
fn clamp_distance(scene: &Scene, settings: &VirtualLightSettings) -> f32 {
    let automatic = || {
        let bounds = scene.accel.bounds();
        let size = (bounds.max - bounds.min).max(Vec3::ZERO);
        let area = 2.0 * (size.x * size.y + size.y * size.z + size.z * size.x);
        AUTOMATIC_CLAMP * (area / settings.paths as f32).sqrt()
    };
    settings.clamp_distance.unwrap_or_else(automatic).clamp(f32::MIN_POSITIVE, f32::MAX)
}

/// The automatic clamp distance over the distance between virtual lights on the scene's bounding
/// box. A virtual light then adds little to the light of a point at this distance.
const AUTOMATIC_CLAMP: f32 = 2.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_different_seeds_share_no_random_numbers() {
        const MAX_PATHS: u32 = 1 << 20;
        let seeds: Vec<u32> = (0..500).map(path_seed).collect();
        assert_eq!(seeds[0], LIGHT_PATH_SEED);
        for (k, a) in seeds.iter().enumerate() {
            assert!(seeds[..k].iter().all(|b| a ^ b >= MAX_PATHS), "{k}");
        }
    }
}
