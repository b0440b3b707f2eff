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
            seed: LIGHT_PATH_SEED ^ settings.sampling.seed,
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
