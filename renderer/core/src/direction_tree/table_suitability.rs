//! Decides whether a table of direction trees is suitable for a material.
//!
//! A table assumes that lobes move opposite to `wo`, like the lobe around the mirror direction
//! ([`TreeTable`]). For lobes that are fixed, that move with `wo` like a retroreflector's, or that
//! refract, the shifted tree predicts the wrong direction. If they are narrow, only cosine sampling
//! finds them. So the test compares second moments of the estimator s/pdf for several `wo`: with
//! the table, and with trees built for the exact `wo`. No shift works well near the horizon, but
//! few of the compared `wo` are there.

use super::DirectionTree;
use super::builder::{AdaptiveBuilder, SplitBudget};
use super::cells::DirectionDomain;
use super::table::{OutgoingDirections, TreeTable};
use lightbound_math::direction_box::LANES;
use lightbound_math::sampling::{hash, unit_float};
use lightbound_math::{Vec3, vec2, vec3};
use lightbound_shader::SurfaceSides;

/// Maximum accepted [loss](AdaptiveBuilder::table_loss). Building a tree per point is slower by
/// about the same factor.
const MAX_LOSS: f32 = 16.0;

/// Maximum accepted loss for grazing `wo`, for which few trees are built.
const MAX_GRAZING_LOSS: f32 = 2.0;

/// Maximum ratio of moments for a single `wo`.
const MAX_MOMENT_RATIO: f32 = 1e6;

/// Number of compared `wo`.
const OUTGOING_DIRECTIONS: u32 = 8;

/// Number of groups of eight sampled directions for each `wo`.
const GROUPS: u32 = 16;

impl AdaptiveBuilder<'_> {
    /// Returns whether a table is suitable for the material with these parameter words. The table
    /// may be empty.
    pub fn is_table_suitable(
        &mut self,
        table: &TreeTable,
        outgoing: OutgoingDirections,
        parameters: impl Iterator<Item = u32> + Clone,
    ) -> bool {
        let max_loss = match outgoing {
            OutgoingDirections::All => MAX_LOSS,
            OutgoingDirections::Grazing => MAX_GRAZING_LOSS,
        };
        self.table_loss(table, outgoing, parameters) <= max_loss
    }

    /// Returns the ratio of the second moments with the table to those with exact trees, as a
    /// geometric mean over several `wo`.
    pub(super) fn table_loss(
        &mut self,
        table: &TreeTable,
        outgoing: OutgoingDirections,
        parameters: impl Iterator<Item = u32> + Clone,
    ) -> f32 {
        let domain = self.domain();
        let max_cosine = match outgoing {
            OutgoingDirections::All => 1.0,
            OutgoingDirections::Grazing => table.max_grazing_cosine(),
        };
        let mut sum = 0.0;
        for index in 0..OUTGOING_DIRECTIONS {
            let wo = outgoing_direction(index, max_cosine, domain);
            let mut exact = DirectionTree::constant(domain);
            self.build(wo, parameters.clone(), &SplitBudget::TABLE, &mut exact);
            let table_tree = table.tree(wo, |center, tree| {
                self.build(center, parameters.clone(), &SplitBudget::TABLE, tree)
            });
            let [mut exact_moment, mut table_moment] = [0.0; 2];
            for group in 0..GROUPS {
                let random = |lane: usize, k: u32| {
                    unit_float(hash(hash(index, group * LANES as u32 + lane as u32), k))
                };
                let samples: [Option<Vec3>; LANES] = std::array::from_fn(|lane| {
                    exact.sample(vec2(random(lane, 0), random(lane, 1))).map(|(wi, _)| wi)
                });
                let wi = samples.map(|wi| wi.unwrap_or(Vec3::Z));
                let values = self.evaluate(
                    wo,
                    parameters.clone(),
                    &[0, 1, 2].map(|axis| wi.map(|wi| wi[axis])),
                );
                for (value, wi) in values.into_iter().zip(samples) {
                    // Rounding may move a direction at the edge of its cell into the next cell,
                    // where the density may be 0.
                    let Some((wi, density)) =
                        wi.map(|wi| (wi, exact.disk_pdf(wi))).filter(|(_, density)| *density > 0.0)
                    else {
                        continue;
                    };
                    let weight = value / density;
                    exact_moment += weight * weight;
                    table_moment += weight * (value / table_tree.disk_pdf(wi));
                }
            }
            // Points without reflection do not contribute.
            if exact_moment > 0.0 && table_moment > exact_moment {
                sum += libm::logf((table_moment / exact_moment).min(MAX_MOMENT_RATIO));
            }
        }
        libm::expf(sum / OUTGOING_DIRECTIONS as f32)
    }
}

/// Returns one of the compared `wo`. They range from `max_cosine` to the horizon at various
/// azimuths. For two-sided shaders, every second one is below the surface.
fn outgoing_direction(index: u32, max_cosine: f32, domain: DirectionDomain) -> Vec3 {
    let z = max_cosine * (index as f32 + 0.4) / OUTGOING_DIRECTIONS as f32;
    let (r, phi) = ((1.0 - z * z).sqrt(), 0.7 + 2.4 * index as f32);
    let is_below = domain != DirectionDomain::Surface(SurfaceSides::One) && index % 2 == 1;
    vec3(r * libm::cosf(phi), r * libm::sinf(phi), if is_below { -z } else { z })
}
