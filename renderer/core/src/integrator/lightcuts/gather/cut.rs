//! Cuts through the product graph of gather trees and light trees. Starting at pairs of roots, the
//! pair with the greatest error bound is replaced by pairs with the children of one of its nodes,
//! until the error bounds are small relative to the estimate (Walter et al. 2006).
//!
//! As in cuts at one point, the estimate of a pair and its exact value lie between 0 and its bound,
//! so the bound is also that of the error. With weights or intensities of both signs, the bound is
//! that of the magnitudes, which contains both. Pairs with a bound of 0 are dropped. Pairs of a
//! single point and a single light have no error.

use super::super::cut::{ErrorSum, StopCriteria};
use super::super::heap_entry::HeapEntry;
use super::GatherResult;
use super::bound::Group;
use super::tree::GatherTree;
use crate::light_tree::{Child, LightKind, WIDTH};
use glam::DVec3;
use lightbound_math::Vec3;
use std::collections::{BinaryHeap, HashMap};

/// Computes cuts with bounded errors. Buffers are reused.
#[derive(Default)]
pub struct GatherCut {
    heap: BinaryHeap<HeapEntry>,
    /// Pairs that are or were in the heap.
    pairs: Vec<Pair>,
    estimate: DVec3,
    /// Contribution of pairs without an error to the estimate.
    exact_estimate: DVec3,
    errors: ErrorSum,
    size: u32,
    /// For each gather node, the radiance that each of its points reflects from the lights of its
    /// pairs.
    radiance: Vec<DVec3>,
    sibling_bounds: SiblingBounds,
}

/// A pair that can be refined.
#[derive(Clone, Copy, Debug)]
struct Pair {
    gather: u32,
    light: LightCluster,
    shaded: Shaded,
    /// Contribution to the estimate.
    estimate: DVec3,
}

/// The light of a pair's representatives.
#[derive(Clone, Copy, Debug)]
struct Shaded {
    /// The representative of the gather cluster.
    point: u32,
    /// Radiance that it reflects from the representative of the light cluster, scaled to an
    /// intensity of 1.
    unit_radiance: Vec3,
}

/// A child of a node of a light tree.
#[derive(Clone, Copy, Debug)]
pub struct LightCluster {
    pub kind: LightKind,
    pub parent: u32,
    pub slot: usize,
}

impl GatherCut {
    /// Computes the cut of a group.
    pub fn compute(&mut self, group: &mut Group<'_, '_>, criteria: &StopCriteria) -> GatherResult {
        self.heap.clear();
        self.pairs.clear();
        self.sibling_bounds.clear();
        (self.estimate, self.exact_estimate, self.errors, self.size) =
            (DVec3::ZERO, DVec3::ZERO, ErrorSum::default(), 0);
        self.radiance.clear();
        self.radiance.resize(group.tree.nodes().len(), DVec3::ZERO);
        let lights = group.lighting.tree;
        for &gather in group.tree.roots() {
            for (kind, root) in group.light_roots(gather) {
                self.add_light_children(group, gather, (kind, root), None);
            }
        }
        let mut capped = false;
        while let Some(worst) = self
            .heap
            .peek()
            .filter(|worst| !criteria.are_met(self.estimate, worst.value, self.errors))
        {
            let (error, pair) = (worst.value, self.pairs[worst.index as usize]);
            let refinement = Refinement::of(pair.gather, pair.light, group);
            let children = match refinement {
                Refinement::Gather(_) => 2,
                Refinement::Light(node) => lights.child_count(node) as u32,
            };
            capped = self.size - 1 + children > criteria.max_cut;
            if capped {
                break;
            }
            self.heap.pop();
            self.estimate -= pair.estimate;
            self.errors.remove(error);
            self.size -= 1;
            match refinement {
                Refinement::Gather(children) => self.add_gather_children(group, &pair, children),
                Refinement::Light(node) => {
                    let node = (pair.light.kind, node);
                    self.add_light_children(group, pair.gather, node, Some(&pair));
                }
            }
            if self.errors.needs_resummation() {
                self.resum();
            }
        }
        for entry in &self.heap {
            let Pair { gather, light, shaded, .. } = self.pairs[entry.index as usize];
            self.radiance[gather as usize] += light.radiance(group, shaded.unit_radiance);
        }
        GatherResult {
            points: group.len(),
            pairs: self.size,
            capped,
            error: self.errors.sum() as f32,
        }
    }

    /// Calls `visit` with each gather point, and the radiance that it reflects.
    pub fn for_each_point(&mut self, tree: &GatherTree, mut visit: impl FnMut(u32, DVec3)) {
        for (index, node) in tree.nodes().iter().enumerate() {
            let radiance = self.radiance[index];
            match node.children {
                None => visit(node.representative, radiance),
                Some(children) => {
                    children.iter().for_each(|&child| self.radiance[child as usize] += radiance);
                }
            }
        }
    }

    /// Recomputes the sums of estimates and errors from the pairs of the cut.
    fn resum(&mut self) {
        (self.estimate, self.errors) = (self.exact_estimate, ErrorSum::default());
        for entry in &self.heap {
            self.estimate += self.pairs[entry.index as usize].estimate;
            self.errors.add(entry.value);
        }
    }

    /// Adds the pairs of a gather cluster with the children of a light node. `refined` is the pair
    /// with that node, if it has been shaded.
    fn add_light_children(
        &mut self,
        group: &mut Group<'_, '_>,
        gather: u32,
        (kind, index): (LightKind, u32),
        refined: Option<&Pair>,
    ) {
        let node = group.lighting.tree.node(index);
        let errors = group.bound(gather, kind, index);
        let refined = refined.map(|pair| (pair.light.representative(group), pair.shaded));
        let of_refined = |light: u32| refined.filter(|(shaded, _)| *shaded == light);
        let contributing = || (0..node.len()).filter(|&slot| errors[slot] > 0.0);
        let lights = contributing().map(|slot| node.representative[slot]);
        let lights = lights.filter(|&light| of_refined(light).is_none());
        let mut unit_radiance = [Vec3::ZERO; WIDTH];
        let point = group.representative(gather, index);
        let computed = group.shade(point, lights);
        unit_radiance[..computed.len()].copy_from_slice(computed);
        let mut computed =
            unit_radiance.into_iter().map(|unit_radiance| Shaded { point, unit_radiance });
        for slot in contributing() {
            let shaded = match of_refined(node.representative[slot]) {
                Some((_, shaded)) => shaded,
                None => computed.next().expect("each light is shaded"),
            };
            let light = LightCluster { kind, parent: index, slot };
            self.add(group, gather, light, shaded, errors[slot]);
        }
    }

    /// Adds the pairs of the light cluster of a pair with the children of its gather cluster.
    fn add_gather_children(
        &mut self,
        group: &mut Group<'_, '_>,
        refined: &Pair,
        children: [u32; 2],
    ) {
        let light = refined.light.representative(group);
        for gather in children {
            let error = self.sibling_bounds.get(group, gather, refined.light);
            if error > 0.0 {
                let points = group.tree.points(group.tree.node(gather));
                let shaded = match points.contains(&refined.shaded.point) {
                    true => refined.shaded,
                    false => {
                        let point = group.representative(gather, refined.light.parent);
                        Shaded { point, unit_radiance: group.shade(point, [light])[0] }
                    }
                };
                self.add(group, gather, refined.light, shaded, error);
            }
        }
    }

    /// Adds a pair to the cut.
    fn add(
        &mut self,
        group: &Group<'_, '_>,
        gather: u32,
        light: LightCluster,
        shaded: Shaded,
        error: f32,
    ) {
        let radiance = light.radiance(group, shaded.unit_radiance);
        let cluster = group.tree.node(gather);
        let estimate = cluster.weight * radiance;
        self.estimate += estimate;
        self.size += 1;
        if cluster.children.is_none() && light.node(group).is_none() {
            self.exact_estimate += estimate;
            self.radiance[gather as usize] += radiance;
        } else {
            self.heap.push(HeapEntry { value: error, index: self.pairs.len() as u32 });
            self.pairs.push(Pair { gather, light, shaded, estimate });
            self.errors.add(error);
        }
    }
}

impl LightCluster {
    /// Returns the node of the cluster; `None` for a single light.
    pub fn node(self, group: &Group<'_, '_>) -> Option<u32> {
        match self.child(group) {
            Child::Node(node) => Some(node),
            Child::Leaf(_) => None,
            Child::None => unreachable!("pairs have lights"),
        }
    }

    /// Returns the cluster as a child of a node.
    pub fn child(self, group: &Group<'_, '_>) -> Child {
        group.lighting.tree.child(self.parent, self.slot)
    }

    fn representative(self, group: &Group<'_, '_>) -> u32 {
        group.lighting.tree.representative(self.parent, self.slot)
    }

    /// Returns the radiance that a point reflects from the cluster. In double precision, since
    /// estimates close to the representative of many lights may overflow single precision.
    fn radiance(self, group: &Group<'_, '_>, unit_radiance: Vec3) -> DVec3 {
        let intensity = group.lighting.tree.intensity(self.parent, self.slot);
        unit_radiance.as_dvec3() * intensity.as_dvec3()
    }
}

/// Bounds on the pairs of parts of refined gather clusters with all children of a light node, since
/// pairs with siblings are often refined in the same way.
#[derive(Default)]
pub struct SiblingBounds(HashMap<[u32; 2], [f32; WIDTH]>);

impl SiblingBounds {
    /// Removes the bounds of the last group.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Returns the bound of a pair.
    pub fn get(&mut self, group: &mut Group<'_, '_>, gather: u32, light: LightCluster) -> f32 {
        let LightCluster { kind, parent, slot } = light;
        let bounds = self.0.entry([gather, parent]);
        bounds.or_insert_with(|| group.bound(gather, kind, parent))[slot]
    }
}

/// The node of a pair that is replaced by its children.
#[derive(Clone, Copy, Debug)]
pub enum Refinement {
    /// The gather cluster, with its children.
    Gather([u32; 2]),
    /// The light cluster, with its node.
    Light(u32),
}

impl Refinement {
    /// Selects the node of a pair that differs more in what its bound depends on.
    pub fn of(gather: u32, light: LightCluster, group: &Group<'_, '_>) -> Refinement {
        let cluster = group.tree.node(gather);
        match (cluster.children, light.node(group)) {
            (None, None) => unreachable!("pairs of a point and a light have no error"),
            (Some(children), None) => Refinement::Gather(children),
            (None, Some(node)) => Refinement::Light(node),
            (Some(children), Some(node)) => {
                let LightCluster { kind, parent, slot } = light;
                let lights = group.lighting.tree.node(parent);
                let (light_variation, gather_variation) = match kind {
                    LightKind::Directional => (1.0 - lights.cone(slot).cos, cluster.spread),
                    LightKind::Omni | LightKind::Oriented | LightKind::Virtual { .. } => {
                        let (a, b) = (cluster.bounds, lights.bounds(slot));
                        let apart = (a.min - b.max).max(b.min - a.max).max(Vec3::ZERO).length();
                        let [size_a, size_b] = [a, b].map(|b| (b.max - b.min).length());
                        let distance = apart.max(1e-3 * (size_a + size_b));
                        (size_b / distance, size_a / distance + cluster.spread)
                    }
                };
                if gather_variation > light_variation {
                    Refinement::Gather(children)
                } else {
                    Refinement::Light(node)
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Gather;
    use super::super::testing::{Point, SAMPLES, add_points, floor, points, sums, total};
    use super::*;
    use crate::settings::ErrorMode;

    /// Returns the radiance of each point, and the result.
    fn compute(points: &[Point], criteria: &StopCriteria) -> (Vec<Vec3>, GatherResult) {
        let floor = floor();
        let bounds = floor.cluster_bounds();
        let mut lighting = floor.lighting(&bounds);
        let mut gather = Gather::new(&[]);
        add_points(&mut gather.points, &floor, &mut lighting, points);
        let [(0, group)] = &gather.groups(16)[..] else { panic!("there is one group") };
        let mut radiance = vec![Vec3::ZERO; points.len()];
        let add = |sample: u32, rgb| radiance[sample as usize] += rgb;
        let result = gather.compute(&mut lighting, group.clone(), criteria, false, add);
        assert!(lighting.counts.checks > 0);
        assert_eq!(lighting.counts.violations, 0);
        (radiance, result)
    }

    fn criteria(error: f32, mode: ErrorMode) -> StopCriteria {
        StopCriteria { error, mode, max_cut: u32::MAX }
    }

    #[test]
    fn cut_without_error_is_the_sum_over_all_pairs() {
        for (size, signed) in [(0.01, false), (1.0, false), (1.0, true)] {
            let points = points(size, signed);
            for mode in [ErrorMode::Total, ErrorMode::Cluster] {
                let (radiance, result) = compute(&points, &criteria(0.0, mode));
                assert_eq!((result.points, result.error), (SAMPLES, 0.0));
                assert!(result.pairs <= SAMPLES * 300);
                for (rgb, expected) in std::iter::zip(radiance, sums(&points)) {
                    let difference = (rgb - expected).abs().max_element();
                    assert!(difference <= 1e-4 * expected.max_element(), "{rgb} {expected}");
                }
            }
        }
    }

    #[test]
    fn error_of_the_sum_over_the_group_is_bounded() {
        for (size, signed) in [(0.001, false), (0.1, false), (0.1, true), (1.0, false)] {
            let points = points(size, signed);
            let exact = total(&points, &sums(&points));
            for error in [0.01, 0.1, 0.5] {
                for mode in [ErrorMode::Total, ErrorMode::Cluster] {
                    let (radiance, result) = compute(&points, &criteria(error, mode));
                    let difference = (total(&points, &radiance) - exact).abs().max_element();
                    let case = format!("{size} {signed} {error} {mode:?}: {difference} {result:?}");
                    assert!(difference <= result.error * 1.0001 + 1e-5 * exact.x, "{case}");
                    if mode == ErrorMode::Total && !signed {
                        assert!(difference <= error * exact.max_element(), "{case}");
                    }
                    assert!(result.error > 0.0 && result.pairs < SAMPLES * 300, "{case}");
                }
            }
        }
    }

    #[test]
    fn points_close_together_share_pairs() {
        let pairs =
            |size| compute(&points(size, false), &criteria(0.02, ErrorMode::Cluster)).1.pairs;
        let [close, apart] = [1e-4, 1.0].map(pairs);
        assert!(2 * close < apart, "{close} {apart}");
    }

    #[test]
    fn cuts_stop_at_max_cut() {
        let points = points(0.5, false);
        for max_cut in [8, 50, 999] {
            let criteria = StopCriteria { max_cut, ..criteria(0.0, ErrorMode::Cluster) };
            let (_, result) = compute(&points, &criteria);
            let expected = max_cut - 7..=max_cut;
            assert!(result.capped && expected.contains(&result.pairs), "{result:?}");
            assert!(result.error > 0.0);
        }
    }
}
