//! The indirect light of the lightcuts integrator: its virtual lights, and how they are clamped.

use super::virtual_lights::{self, TraceOptions, VirtualLights};
use crate::integrator::IntegratorError;
use crate::integrator::material_bound::MaterialBounds;
use crate::integrator::medium_rays::has_media;
use crate::light_tree::LightTree;
use crate::scene::Scene;
use crate::settings::{ShadowTerminator, VirtualLightSettings};
use lightbound_math::Vec3;

/// The virtual lights, and how they are clamped.
pub(super) struct Indirect {
    pub(super) lights: VirtualLights,
    /// Distance below which their light does not increase.
    pub(super) clamp_distance: f32,
    /// Whether rays compensate for clamping.
    pub(super) compensation: bool,
}

/// Seed of the paths from lights.
const LIGHT_PATH_SEED: u32 = 0x11_9857;

impl Indirect {
    /// Traces virtual lights, and adds them to the tree. Their paths hit up to `max_events` surfaces.
    ///
    /// # Errors
    /// If the scene has media, or there are too many virtual lights.
    pub(super) fn new(
        scene: &Scene,
        tree: &mut LightTree,
        materials: &MaterialBounds,
        settings: &VirtualLightSettings,
        (max_events, shadow_terminator): (u32, ShadowTerminator),
    ) -> Result<Indirect, IntegratorError> {
        if has_media(scene) {
            let message = "lightcuts has no indirect light in scenes with participating media; \
                           leave out the paths from lights, or use the integrator path";
            return Err(IntegratorError(message.to_string()));
        }
        let clamp_distance = clamp_distance(scene, settings);
        let options = TraceOptions {
            paths: settings.paths,
            max_events,
            clamp_distance,
            seed: LIGHT_PATH_SEED,
            shadow_terminator,
        };
        let (lights, points) = virtual_lights::trace(scene, tree, materials, &options);
        if points.len() > MAX_VIRTUAL_LIGHTS {
            let message = format!(
                "the paths from lights hit {} surfaces, more than the {MAX_VIRTUAL_LIGHTS} that \
                 lightcuts can use; trace fewer paths",
                points.len()
            );
            return Err(IntegratorError(message));
        }
        tree.add_virtual_lights(&points, scene.accel.bounds());
        Ok(Indirect { lights, clamp_distance, compensation: settings.compensation })
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

/// Maximum number of virtual lights: fewer than the leaves of a light tree.
const MAX_VIRTUAL_LIGHTS: usize = 1 << 30;

/// The automatic clamp distance over the distance between virtual lights on the scene's bounding
/// box. A virtual light then adds little to the light of a point at this distance.
const AUTOMATIC_CLAMP: f32 = 2.0;
