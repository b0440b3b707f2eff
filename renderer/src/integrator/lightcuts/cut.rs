//! Cuts through the light trees: from the roots down, the cluster with the greatest error is replaced by its children until the errors are
//! small against the estimate (Walter et al. 2005 §3).
//!
//! # Errors
//!
//! Light from a cluster is taken to be that from its representative with the intensity of all. Both that and the truth lie between 0 and the
//! product of three bounds: of the material over all directions to the cluster, which is the compiled bounding shader's; of the geometric
//! factor; and of visibility, which is 1. So no channel is off by more than that product, and what is compared is its luminance.
//!
//! Where the product is 0, the cluster is left out, since it sends no light. Single lights have no error.
//!
//! In the mode [`ErrorMode::Total`] refinement goes on until the sum of the errors is at most ε / (1 + ε) of the estimate. So the full sum is
//! at least 1 − ε / (1 + ε) = 1 / (1 + ε) of the estimate, and the estimate within ε of the full sum.

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
    estimate: Vec3,
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
    errors: Errors,
    size: u32,
}

impl Cut {
    /// Light that a point reflects, by a cut within these limits.
    pub fn light(&mut self, lighting: &mut Lighting<'_>, at: &Point<'_>, limits: &Limits) -> Outcome {
        self.heap.clear();
        self.clusters.clear();
        (self.estimate, self.errors, self.size) = (DVec3::ZERO, Errors::default(), 0);
        for (kind, root) in lighting.tree.roots() {
            self.open(lighting, at, (kind, root), None);
        }
        let mut capped = false;
        while let Some(worst) = self.heap.peek().filter(|worst| !self.is_enough(worst.value, limits)) {
            let (error, cluster) = (worst.value, self.clusters[worst.index as usize]);
            capped = self.size - 1 + lighting.tree.node(cluster.node).len() as u32 > limits.max_cut;
            if capped {
                break;
            }
            self.heap.pop();
            self.estimate -= cluster.estimate.as_dvec3();
            self.errors.remove(error);
            self.size -= 1;
            self.open(lighting, at, (cluster.kind, cluster.node), Some(cluster.representative));
        }
        Outcome { radiance: self.estimate.as_vec3(), size: self.size, capped, error: self.errors.sum() as f32 }
    }

    /// Whether errors are small, of which this one is the greatest.
    fn is_enough(&self, greatest: f32, limits: &Limits) -> bool {
        let (error, estimate) = (f64::from(limits.error), f64::from(luminance(self.estimate.as_vec3())));
        match limits.mode {
            ErrorMode::Cluster => f64::from(greatest) <= error * estimate,
            ErrorMode::Total => self.errors.sum() <= error / (1.0 + error) * estimate,
        }
    }

    /// Puts the children of a node into the cut; of one light it may be `known` what is reflected.
    fn open(&mut self, lighting: &mut Lighting<'_>, at: &Point<'_>, (kind, index): (Kind, u32), known: Option<Representative>) {
        let node = lighting.tree.node(index);
        let errors = lighting.bound(at, kind, index);
        let shining = || (0..node.len()).filter(|&slot| errors[slot] > 0.0);
        let is_known = |light: u32| known.filter(|known| known.light == light);
        let units =
            lighting.shade(at, shining().map(|slot| node.representative[slot]).filter(|&light| is_known(light).is_none()));
        let mut units = units.iter();
        for slot in shining() {
            let light = node.representative[slot];
            let found = || Representative { light, unit: *units.next().expect("each light was shaded") };
            let representative = is_known(light).unwrap_or_else(found);
            let estimate = representative.unit * node.intensity(slot);
            self.estimate += estimate.as_dvec3();
            self.size += 1;
            if let Child::Node(node) = node.child(slot) {
                self.heap.push(Ranked { value: errors[slot], index: self.clusters.len() as u32 });
                self.clusters.push(Cluster { kind, node, representative, estimate });
                self.errors.add(errors[slot]);
            }
        }
    }
}

/// A sum of errors, of which some may be infinite, from which they can be taken again.
#[derive(Clone, Copy, Debug, Default)]
struct Errors {
    finite: f64,
    infinite: u32,
}

impl Errors {
    fn add(&mut self, error: f32) {
        if error == f32::INFINITY { self.infinite += 1 } else { self.finite += f64::from(error) }
    }

    fn remove(&mut self, error: f32) {
        if error == f32::INFINITY { self.infinite -= 1 } else { self.finite -= f64::from(error) }
    }

    fn sum(self) -> f64 {
        // What is left of many may be a rounding error below 0.
        if self.infinite > 0 { f64::INFINITY } else { self.finite.max(0.0) }
    }
}
