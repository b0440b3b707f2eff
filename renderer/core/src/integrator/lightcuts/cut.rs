//! Cuts through the light trees. Starting at the roots, the cluster with the greatest error bound
//! is replaced by its children until the error bounds are small relative to the estimate (Walter et
//! al. 2005 §3).
//!
//! # Error bounds
//!
//! The estimate for a cluster is the reflected light of its representative, scaled to the total
//! intensity of the cluster. Both the estimate and the exact value lie between 0 and the product of
//! three bounds: on the material over all directions to the cluster, from the compiled bounding
//! shader; on the geometric factor; and on visibility, which is at most 1. This product bounds the
//! error of each channel. The error criterion uses its luminance. Bounds on visibility, and more
//! shadow rays for a cluster, gain less than a smaller ε does
//! (`benches/record/2026-11-29-visibility-of-clusters.md`).
//!
//! Clusters with a bound of 0 contribute no light and are dropped. Single lights have no error.
//!
//! Materials must not reflect negative light: upper bounds say nothing about negative values.
//!
//! With [`ErrorMode::Total`], refinement continues until the sum of the error bounds is at most ε /
//! (1 + ε) of the estimate. Then the full sum is at least 1 − ε / (1 + ε) = 1 / (1 + ε) of the
//! estimate, so the estimate has a relative error of at most ε.

use super::heap_entry::HeapEntry;
use super::lighting::{Lighting, ShadingPoint};
use crate::light_tree::{Child, LightKind};
use crate::settings::ErrorMode;
use glam::DVec3;
use lightbound_math::Vec3;
use lightbound_math::sampling::luminance;
use std::collections::BinaryHeap;

/// Criteria for stopping refinement.
#[derive(Clone, Copy, Debug)]
pub(super) struct StopCriteria {
    /// Maximum error relative to the estimate.
    pub error: f32,
    /// The error that `error` limits.
    pub mode: ErrorMode,
    /// Maximum number of clusters, single lights included.
    pub max_cut: u32,
}

impl StopCriteria {
    /// Returns whether errors with sum `errors` are small enough. `greatest` is the greatest error
    /// bound.
    pub fn are_met(&self, estimate: DVec3, greatest: f32, errors: ErrorSum) -> bool {
        // Refinement cannot remove NaN that a shader returns, since the full sum contains it.
        if !estimate.is_finite() {
            return true;
        }
        let (error, estimate) = (f64::from(self.error), f64::from(luminance(estimate.as_vec3())));
        match self.mode {
            ErrorMode::Cluster => f64::from(greatest) <= error * estimate,
            ErrorMode::Total => errors.sum() <= error / (1.0 + error) * estimate,
        }
    }
}

/// The result of a cut.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CutResult {
    /// Reflected radiance.
    pub radiance: Vec3,
    /// Number of clusters, single lights included.
    pub size: u32,
    /// Whether refinement stopped at `max_cut`.
    pub capped: bool,
    /// Sum of the error bounds, a luminance. Infinite if any bound is infinite.
    pub error: f32,
}

/// A cluster of the cut that can be refined.
#[derive(Clone, Copy, Debug)]
struct Cluster {
    kind: LightKind,
    node: u32,
    representative: Representative,
    /// Contribution to the estimate.
    estimate: DVec3,
}

/// The light that represents a cluster.
#[derive(Clone, Copy, Debug)]
struct Representative {
    light: u32,
    /// Reflected radiance for an intensity of 1, including visibility.
    unit_radiance: Vec3,
}

/// Computes cuts with bounded errors. Buffers are reused.
#[derive(Default)]
pub(super) struct DeterministicCut {
    heap: BinaryHeap<HeapEntry>,
    clusters: Vec<Cluster>,
    estimate: DVec3,
    /// Contribution of single lights to the estimate.
    leaf_estimate: DVec3,
    errors: ErrorSum,
    size: u32,
}

impl DeterministicCut {
    /// Computes the radiance that a shading point reflects.
    pub fn compute(
        &mut self,
        lighting: &mut Lighting<'_>,
        point: &ShadingPoint,
        criteria: &StopCriteria,
    ) -> CutResult {
        self.heap.clear();
        self.clusters.clear();
        (self.estimate, self.leaf_estimate, self.errors, self.size) =
            (DVec3::ZERO, DVec3::ZERO, ErrorSum::default(), 0);
        for (kind, root) in lighting.roots(point) {
            self.refine(lighting, point, (kind, root), None);
        }
        let mut capped = false;
        while let Some(worst) = self
            .heap
            .peek()
            .filter(|worst| !criteria.are_met(self.estimate, worst.value, self.errors))
        {
            let (error, cluster) = (worst.value, self.clusters[worst.index as usize]);
            capped =
                self.size - 1 + lighting.tree.child_count(cluster.node) as u32 > criteria.max_cut;
            if capped {
                break;
            }
            self.heap.pop();
            self.estimate -= cluster.estimate;
            self.errors.remove(error);
            self.size -= 1;
            self.refine(
                lighting,
                point,
                (cluster.kind, cluster.node),
                Some(cluster.representative),
            );
            if self.errors.needs_resummation() {
                self.resum();
            }
        }
        CutResult {
            radiance: self.estimate.as_vec3(),
            size: self.size,
            capped,
            error: self.errors.sum() as f32,
        }
    }

    /// Recomputes the sums of estimates and errors from the clusters of the cut. A cluster's
    /// estimate is at most its error bound, so both sums lose precision together.
    fn resum(&mut self) {
        (self.estimate, self.errors) = (self.leaf_estimate, ErrorSum::default());
        for entry in &self.heap {
            self.estimate += self.clusters[entry.index as usize].estimate;
            self.errors.add(entry.value);
        }
    }

    /// Adds the children of a node to the cut. `parent` is the node's representative, if it has
    /// been shaded.
    fn refine(
        &mut self,
        lighting: &mut Lighting<'_>,
        point: &ShadingPoint,
        (kind, index): (LightKind, u32),
        parent: Option<Representative>,
    ) {
        let node = lighting.tree.node(index);
        let errors = lighting.bound(point, kind, index);
        let contributing = || (0..node.len()).filter(|&slot| errors[slot] > 0.0);
        let is_parent = |light: u32| parent.filter(|parent| parent.light == light);
        let unit_radiance = lighting.shade(
            point,
            contributing()
                .map(|slot| node.representative[slot])
                .filter(|&light| is_parent(light).is_none()),
        );
        let mut unit_radiance = unit_radiance.iter();
        for slot in contributing() {
            let light = node.representative[slot];
            let shaded = || Representative {
                light,
                unit_radiance: *unit_radiance.next().expect("each light is shaded"),
            };
            let representative = is_parent(light).unwrap_or_else(shaded);
            // Estimates are in double precision: close to the representative of many lights, they
            // may overflow single precision until the cluster is refined.
            let estimate =
                representative.unit_radiance.as_dvec3() * node.intensity(slot).as_dvec3();
            self.estimate += estimate;
            self.size += 1;
            if let Child::Node(node) = node.child(slot) {
                self.heap
                    .push(HeapEntry { value: errors[slot], index: self.clusters.len() as u32 });
                self.clusters.push(Cluster { kind, node, representative, estimate });
                self.errors.add(errors[slot]);
            } else {
                self.leaf_estimate += estimate;
            }
        }
    }
}

/// A sum of finite and infinite errors that supports removal.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ErrorSum {
    finite: f64,
    infinite: u32,
    /// Greatest value of the sum so far.
    peak: f64,
}

/// Sums below this fraction of their peak are recomputed, since the rounding errors of removed
/// terms may be significant.
const RESUMMATION_RATIO: f64 = 1e-3;

impl ErrorSum {
    pub fn add(&mut self, error: f32) {
        if error == f32::INFINITY {
            self.infinite += 1
        } else {
            self.finite += f64::from(error)
        }
        self.peak = self.peak.max(self.sum());
    }

    pub fn remove(&mut self, error: f32) {
        if error == f32::INFINITY { self.infinite -= 1 } else { self.finite -= f64::from(error) }
    }

    pub fn sum(self) -> f64 {
        // Rounding may leave a negative remainder.
        if self.infinite > 0 { f64::INFINITY } else { self.finite.max(0.0) }
    }

    /// Returns whether the removed terms were so large that the sum must be recomputed.
    pub fn needs_resummation(self) -> bool {
        self.sum() < RESUMMATION_RATIO * self.peak
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Floor;
    use super::*;
    use crate::light_tree::PointOptions;
    use lightbound_math::vec3;

    const ORIGIN: Vec3 = Vec3::ZERO;

    fn criteria(error: f32, mode: ErrorMode) -> StopCriteria {
        StopCriteria { error, mode, max_cut: u32::MAX }
    }

    #[test]
    fn infinite_errors_can_be_removed() {
        let mut errors = ErrorSum::default();
        for error in [2.0, f32::INFINITY, 0.5, f32::INFINITY] {
            errors.add(error);
        }
        errors.remove(f32::INFINITY);
        assert_eq!(errors.sum(), f64::INFINITY);
        assert!(!errors.needs_resummation());
        errors.remove(f32::INFINITY);
        assert_eq!(errors.sum(), 2.5);
        assert!(
            errors.needs_resummation(),
            "estimates with an infinite error may be arbitrarily large"
        );
    }

    #[test]
    fn removing_large_errors_requires_resummation() {
        let mut errors = ErrorSum::default();
        errors.add(1e20);
        errors.add(1e-3);
        errors.remove(1e20);
        assert!(errors.needs_resummation() && errors.sum() != f64::from(1e-3f32));
        let mut balanced = ErrorSum::default();
        balanced.add(1.0);
        balanced.add(3.0);
        balanced.remove(3.0);
        assert!(!balanced.needs_resummation());
    }

    /// Returns lights of equal intensity above the floor.
    fn lights_above(count: u32) -> Vec<(Vec3, f32)> {
        let position =
            |k: u32| vec3((k % 20) as f32 - 10.0, (k / 20) as f32 - 10.0, 6.0 + (k % 7) as f32);
        (0..count).map(|k| (position(k), 1e-3)).collect()
    }

    #[test]
    fn removed_large_errors_do_not_affect_the_estimate() {
        // Lights just below the floor do not contribute, but their bounds are 10¹⁷ times the light
        // of the others.
        let below =
            (0..40).map(|k| (vec3(1e-9 + 1e-11 * k as f32, 1e-11 * (k % 5) as f32, -1e-16), 1.0));
        let lights: Vec<_> = lights_above(400).into_iter().chain(below).collect();
        let floor = Floor::new(&lights, &PointOptions::default());
        let cut = |criteria: &StopCriteria| {
            floor.with_shading_point(ORIGIN, |lighting, point| {
                DeterministicCut::default().compute(lighting, point, criteria)
            })
        };
        let full = cut(&criteria(0.0, ErrorMode::Total));
        assert_eq!(full.error, 0.0);
        for error in [0.01, 0.1, 0.5] {
            let refined = cut(&criteria(error, ErrorMode::Total));
            let difference = (refined.radiance - full.radiance).abs().max_element();
            assert!(
                difference <= error * full.radiance.x && refined.size < full.size,
                "{refined:?} {full:?}"
            );
            assert!(
                refined.error > 0.0 && difference <= refined.error * 1.0001,
                "{refined:?} {full:?}"
            );
        }
    }

    #[test]
    fn cuts_stop_at_max_cut() {
        let floor = Floor::new(&lights_above(400), &PointOptions::default());
        let cut = |max_cut| {
            let criteria = StopCriteria { max_cut, ..criteria(0.0, ErrorMode::Cluster) };
            floor.with_shading_point(ORIGIN, |lighting, point| {
                DeterministicCut::default().compute(lighting, point, &criteria)
            })
        };
        for max_cut in [8, 50, 399] {
            let capped = cut(max_cut);
            assert!(
                capped.capped
                    && capped.size <= max_cut
                    && capped.size + 7 > max_cut
                    && capped.error > 0.0,
                "{capped:?}"
            );
        }
        assert_eq!((cut(400).size, cut(400).capped), (400, false));
    }

    #[test]
    fn cuts_stop_at_nan() {
        let floor = Floor::with_brdf(
            &lights_above(400),
            &PointOptions::default(),
            "select(0.25, sqrt(wi.z - 2.0), wi.z < 0.9)",
        );
        let cut = floor.with_shading_point(ORIGIN, |lighting, point| {
            DeterministicCut::default().compute(lighting, point, &criteria(0.0, ErrorMode::Total))
        });
        assert!(cut.radiance.is_nan() && cut.size <= 8, "{cut:?}");
    }
}
