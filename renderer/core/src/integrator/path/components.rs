//! Components of the radiance: for each contribution, the number of scattering events, the share of
//! the diffuse lobe in the first one, and the light group.
//!
//! The diffuse share at a first vertex is 1 − s₀ / s, where s is the BSDF and s₀ the BSDF with its
//! [diffuse parameters](crate::material::Program::diffuse_words) set to 0. It weights all light that
//! the path collects from there on. Delta distributions are specular.

use super::Wavefront;
use crate::integrator::sample_components::Contribution;
use lightbound_math::Vec3;

/// What the components need to know about a [pending contribution](super::PendingContribution).
pub(super) struct PendingComponents {
    /// As [`Contribution::diffuse`].
    pub diffuse: Vec3,
    pub light_group: u32,
}

impl Wavefront<'_> {
    /// Adds the radiance `le` of a light that a path hits, if the film stores components.
    pub(super) fn add_component(&mut self, path: usize, light: u32, le: Vec3) {
        if let Some(components) = self.samples.components_mut() {
            components.add(&Contribution {
                sample: self.paths.sample[path],
                radiance: self.paths.throughput(path) * le,
                events: self.depth,
                diffuse: self.paths.diffuse.get(path).copied().unwrap_or(Vec3::ZERO),
                light_group: self.scene.lights.groups().of(light),
            });
        }
    }

    /// Adds the pending contributions with unoccluded shadow rays.
    pub(super) fn collect_components(&mut self) {
        let Some(components) = self.samples.components_mut() else { return };
        let pending =
            self.shadows.pending.iter().zip(&self.shadows.components).zip(&self.shadows.blocked);
        for ((pending, of_light), _) in pending.filter(|(_, blocked)| !**blocked) {
            components.add(&Contribution {
                sample: pending.sample,
                radiance: pending.radiance,
                events: self.depth + 1,
                diffuse: of_light.diffuse,
                light_group: of_light.light_group,
            });
        }
        self.shadows.components.clear();
    }

    /// Returns whether the film stores components by the lobes of this scattering event.
    pub(super) fn stores_lobes_of(&self, depth: u32) -> bool {
        depth == 0 && self.samples.stores_lobes()
    }
}
