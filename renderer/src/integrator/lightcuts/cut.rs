//! Cuts through the light trees: from the roots down, the cluster with the greatest error is
//! replaced by its children until the errors are small against the estimate (Walter et al. 2005
//! §3).
//!
//! # Errors
//!
//! Light from a cluster is taken to be that from its representative with the intensity of all. Both
//! that and the truth lie between 0 and the product of three bounds: of the material over all
//! directions to the cluster, which is the compiled bounding shader's; of the geometric factor; and
//! of visibility, which is 1. So no channel is off by more than that product, and what is compared
//! is its luminance.
//!
//! Where the product is 0, the cluster is left out, since it sends no light. Single lights have no
//! error.
//!
//! This takes materials to reflect no less than nothing: upper bounds tell nothing of how far below
//! 0 a shader's s may be.
//!
//! In the mode [`ErrorMode::Total`] refinement goes on until the sum of the errors is at most ε /
//! (1 + ε) of the estimate. So the full sum is at least 1 − ε / (1 + ε) = 1 / (1 + ε) of the
//! estimate, and the estimate within ε of the full sum.

use super::lighting::{Lighting, Point};
use super::ranked::Ranked;
use crate::light_tree::{Child, Kind};
use crate::math::Vec3;
use crate::sampling::luminance;
use crate::scene::ErrorMode;
use glam::DVec3;
use std::collections::BinaryHeap;

/// When to stop.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Of the estimate.
    pub error: f32,
    /// What is held against it.
    pub mode: ErrorMode,
    /// Clusters, single lights among them.
    pub max_cut: u32,
}

/// What came of a cut.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Outcome {
    /// Light reflected.
    pub radiance: Vec3,
    /// Clusters, single lights among them.
    pub size: u32,
    /// Whether `max_cut` ended it.
    pub capped: bool,
    /// Sum of the errors, in luminance; infinite where there is no bound.
    pub error: f32,
}

/// A cluster of the cut that can be replaced by its children.
#[derive(Clone, Copy, Debug)]
struct Cluster {
    kind: Kind,
    node: u32,
    representative: Representative,
    /// What the cluster adds to the estimate.
    estimate: DVec3,
}

/// The light that stands for all of a cluster.
#[derive(Clone, Copy, Debug)]
struct Representative {
    light: u32,
    /// What is reflected of it for an intensity of 1, visibility included.
    unit: Vec3,
}

/// Cuts, one after the other; buffers stay.
#[derive(Default)]
pub(super) struct Cut {
    heap: BinaryHeap<Ranked>,
    clusters: Vec<Cluster>,
    estimate: DVec3,
    /// The part of the estimate that single lights are.
    single: DVec3,
    errors: Errors,
    size: u32,
}

impl Cut {
    /// Light that a point reflects, by a cut within these limits.
    pub fn light(
        &mut self,
        lighting: &mut Lighting<'_>,
        at: &Point<'_>,
        limits: &Limits,
    ) -> Outcome {
        self.heap.clear();
        self.clusters.clear();
        (self.estimate, self.single, self.errors, self.size) =
            (DVec3::ZERO, DVec3::ZERO, Errors::default(), 0);
        for (kind, root) in lighting.tree.roots() {
            self.open(lighting, at, (kind, root), None);
        }
        let mut capped = false;
        while let Some(worst) =
            self.heap.peek().filter(|worst| !self.is_enough(worst.value, limits))
        {
            let (error, cluster) = (worst.value, self.clusters[worst.index as usize]);
            capped = self.size - 1 + lighting.tree.node(cluster.node).len() as u32 > limits.max_cut;
            if capped {
                break;
            }
            self.heap.pop();
            self.estimate -= cluster.estimate;
            self.errors.remove(error);
            self.size -= 1;
            self.open(lighting, at, (cluster.kind, cluster.node), Some(cluster.representative));
            if self.errors.are_worn() {
                self.sum_again();
            }
        }
        Outcome {
            radiance: self.estimate.as_vec3(),
            size: self.size,
            capped,
            error: self.errors.sum() as f32,
        }
    }

    /// Whether errors are small, of which this one is the greatest.
    fn is_enough(&self, greatest: f32, limits: &Limits) -> bool {
        // A shader's NaN stays, whatever is refined: the light that it was found for is in the full
        // sum as well.
        if !self.estimate.is_finite() {
            return true;
        }
        let (error, estimate) =
            (f64::from(limits.error), f64::from(luminance(self.estimate.as_vec3())));
        match limits.mode {
            ErrorMode::Cluster => f64::from(greatest) <= error * estimate,
            ErrorMode::Total => self.errors.sum() <= error / (1.0 + error) * estimate,
        }
    }

    /// Makes the sums anew from what is in the cut. A cluster's estimate is within its error, so
    /// both sums wear alike.
    fn sum_again(&mut self) {
        (self.estimate, self.errors) = (self.single, Errors::default());
        for open in &self.heap {
            self.estimate += self.clusters[open.index as usize].estimate;
            self.errors.add(open.value);
        }
    }

    /// Puts the children of a node into the cut; of one light it may be `known` what is reflected.
    fn open(
        &mut self,
        lighting: &mut Lighting<'_>,
        at: &Point<'_>,
        (kind, index): (Kind, u32),
        known: Option<Representative>,
    ) {
        let node = lighting.tree.node(index);
        let errors = lighting.bound(at, kind, index);
        let shining = || (0..node.len()).filter(|&slot| errors[slot] > 0.0);
        let is_known = |light: u32| known.filter(|known| known.light == light);
        let units = lighting.shade(
            at,
            shining()
                .map(|slot| node.representative[slot])
                .filter(|&light| is_known(light).is_none()),
        );
        let mut units = units.iter();
        for slot in shining() {
            let light = node.representative[slot];
            let found =
                || Representative { light, unit: *units.next().expect("each light was shaded") };
            let representative = is_known(light).unwrap_or_else(found);
            // Near a light, with the intensity of many, this may be beyond the range of floats,
            // until it is refined.
            let estimate = representative.unit.as_dvec3() * node.intensity(slot).as_dvec3();
            self.estimate += estimate;
            self.size += 1;
            if let Child::Node(node) = node.child(slot) {
                self.heap.push(Ranked { value: errors[slot], index: self.clusters.len() as u32 });
                self.clusters.push(Cluster { kind, node, representative, estimate });
                self.errors.add(errors[slot]);
            } else {
                self.single += estimate;
            }
        }
    }
}

/// A sum of errors, of which some may be infinite, from which they can be taken again.
#[derive(Clone, Copy, Debug, Default)]
struct Errors {
    finite: f64,
    infinite: u32,
    /// What the sum has been at most.
    peak: f64,
}

/// Sums that fell to this share of their peak are worn: next to them, rounding errors that greater
/// ones left may count.
const WORN: f64 = 1e-3;

impl Errors {
    fn add(&mut self, error: f32) {
        if error == f32::INFINITY {
            self.infinite += 1
        } else {
            self.finite += f64::from(error)
        }
        self.peak = self.peak.max(self.sum());
    }

    fn remove(&mut self, error: f32) {
        if error == f32::INFINITY { self.infinite -= 1 } else { self.finite -= f64::from(error) }
    }

    fn sum(self) -> f64 {
        // What is left of many may be a rounding error below 0.
        if self.infinite > 0 { f64::INFINITY } else { self.finite.max(0.0) }
    }

    /// Whether so much was taken away that the sum has to be made anew to be one.
    fn are_worn(self) -> bool {
        self.sum() < WORN * self.peak
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Floor;
    use super::*;
    use crate::light_tree::PointOptions;
    use crate::math::vec3;

    const ORIGIN: Vec3 = Vec3::ZERO;

    fn limits(error: f32, mode: ErrorMode) -> Limits {
        Limits { error, mode, max_cut: u32::MAX }
    }

    #[test]
    fn infinite_errors_come_and_go() {
        let mut errors = Errors::default();
        for error in [2.0, f32::INFINITY, 0.5, f32::INFINITY] {
            errors.add(error);
        }
        errors.remove(f32::INFINITY);
        assert_eq!(errors.sum(), f64::INFINITY);
        assert!(!errors.are_worn());
        errors.remove(f32::INFINITY);
        assert_eq!(errors.sum(), 2.5);
        assert!(errors.are_worn(), "estimates of what has no bound may be of any size");
    }

    #[test]
    fn great_errors_wear_small_ones() {
        let mut errors = Errors::default();
        errors.add(1e20);
        errors.add(1e-3);
        errors.remove(1e20);
        assert!(errors.are_worn() && errors.sum() != f64::from(1e-3f32));
        let mut few = Errors::default();
        few.add(1.0);
        few.add(3.0);
        few.remove(3.0);
        assert!(!few.are_worn());
    }

    /// Lights over the floor, with the same intensity each.
    fn above(count: u32) -> Vec<(Vec3, f32)> {
        let at =
            |k: u32| vec3((k % 20) as f32 - 10.0, (k / 20) as f32 - 10.0, 6.0 + (k % 7) as f32);
        (0..count).map(|k| (at(k), 1e-3)).collect()
    }

    #[test]
    fn great_errors_that_are_gone_leave_nothing() {
        // Just below the floor they shine at nothing, which bounds do not show: theirs are 10¹⁷
        // times what the others send.
        let below =
            (0..40).map(|k| (vec3(1e-9 + 1e-11 * k as f32, 1e-11 * (k % 5) as f32, -1e-16), 1.0));
        let lights: Vec<_> = above(400).into_iter().chain(below).collect();
        let floor = Floor::new(&lights, &PointOptions::default());
        let cut = |limits: &Limits| {
            floor.at(ORIGIN, |lighting, point| Cut::default().light(lighting, point, limits))
        };
        let full = cut(&limits(0.0, ErrorMode::Total));
        assert_eq!(full.error, 0.0);
        for error in [0.01, 0.1, 0.5] {
            let found = cut(&limits(error, ErrorMode::Total));
            let off = (found.radiance - full.radiance).abs().max_element();
            assert!(off <= error * full.radiance.x && found.size < full.size, "{found:?} {full:?}");
            assert!(found.error > 0.0 && off <= found.error * 1.0001, "{found:?} {full:?}");
        }
    }

    #[test]
    fn cuts_end_at_their_most_clusters() {
        let floor = Floor::new(&above(400), &PointOptions::default());
        let cut = |max_cut| {
            let limits = Limits { max_cut, ..limits(0.0, ErrorMode::Cluster) };
            floor.at(ORIGIN, |lighting, point| Cut::default().light(lighting, point, &limits))
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
    fn cuts_end_at_once_where_shaders_yield_no_numbers() {
        let floor = Floor::shaded(
            &above(400),
            &PointOptions::default(),
            "select(0.25, sqrt(wi.z - 2.0), wi.z < 0.9)",
        );
        let found = floor.at(ORIGIN, |lighting, point| {
            Cut::default().light(lighting, point, &limits(0.0, ErrorMode::Total))
        });
        assert!(found.radiance.is_nan() && found.size <= 8, "{found:?}");
    }
}
