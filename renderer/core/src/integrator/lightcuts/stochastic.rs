//! Stochastic lightcuts (Yuksel 2019): a cut of fixed size. For each pixel sample, each cluster of
//! the cut is represented by one sampled light. If a leaf represents a region of a light, a
//! position in the region is sampled as well. So the expected value is the exact sum over all
//! lights.
//!
//! A light is sampled by descending the tree from the cluster. At each node, half of the
//! probability is proportional to the bounds of the children, which are 0 if no light is reflected.
//! The other half is proportional to intensity over squared distance, for children with a positive
//! bound. Loose bounds alone are poor probabilities (Tokuyoshi et al. 2024), and the other half
//! alone misses highlights.

use super::heap_entry::HeapEntry;
use super::lighting::{Lighting, ShadingPoint};
use crate::light::Lights;
use crate::light_tree::{Child, LightKind, LightPoint, LightTree, WIDTH};
use lightbound_math::sampling::luminance;
use lightbound_math::{Vec2, Vec3, vec3};
use std::collections::BinaryHeap;

/// Computes stochastic cuts. Buffers are reused.
#[derive(Default)]
pub(super) struct StochasticCut {
    heap: BinaryHeap<HeapEntry>,
    /// Clusters of the cut; `None` if a cluster was refined.
    clusters: Vec<Option<(LightKind, Child)>>,
    /// Number of clusters in the cut.
    size: usize,
    /// Sampled lights, each with its intensity divided by its probability.
    samples: Vec<(LightPoint, Vec3)>,
}

/// The result of a stochastic cut.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StochasticCutResult {
    /// Estimate of the reflected radiance.
    pub radiance: Vec3,
    /// Number of clusters.
    pub size: u32,
}

impl StochasticCut {
    /// Estimates the radiance that a shading point reflects, with a cut of about `size` clusters.
    /// `random` returns random numbers in [0, 1).
    pub fn compute(
        &mut self,
        lighting: &mut Lighting<'_>,
        point: &ShadingPoint,
        lights: &Lights,
        size: u32,
        mut random: impl FnMut() -> f32,
    ) -> StochasticCutResult {
        self.select(lighting, point, size);
        self.samples.clear();
        for index in 0..self.clusters.len() {
            let sample = self.clusters[index]
                .and_then(|(kind, child)| descend(lighting, point, kind, child, &mut random));
            let Some((leaf, probability)) = sample else { continue };
            let light = lighting.tree.sample(lights, leaf, Vec2::new(random(), random()));
            if light.intensity != Vec3::ZERO {
                self.samples.push((light, light.intensity / probability));
            }
        }
        let unit_radiance =
            lighting.shade_points(point, self.samples.iter().map(|(light, _)| *light));
        let radiance = unit_radiance
            .iter()
            .zip(&self.samples)
            .map(|(&unit, (_, weight))| unit * *weight)
            .sum();
        StochasticCutResult { radiance, size: self.size as u32 }
    }

    /// Selects the clusters: refines the cluster with the greatest bound as long as the cut has at
    /// most `size` clusters.
    fn select(&mut self, lighting: &mut Lighting<'_>, point: &ShadingPoint, size: u32) {
        self.heap.clear();
        self.clusters.clear();
        self.size = 0;
        for (kind, root) in lighting.roots(point) {
            self.push(f32::INFINITY, kind, Child::Node(root));
        }
        while let Some(greatest) = self.heap.peek() {
            let cluster = &mut self.clusters[greatest.index as usize];
            let Some((kind, Child::Node(index))) = *cluster else {
                unreachable!("single lights are not in the heap")
            };
            let node = lighting.tree.node(index);
            if self.size - 1 + node.len() > size as usize {
                break;
            }
            *cluster = None;
            self.size -= 1;
            self.heap.pop();
            let bounds = lighting.bound(point, kind, index);
            for slot in (0..node.len()).filter(|&slot| bounds[slot] > 0.0) {
                self.push(bounds[slot], kind, node.child(slot));
            }
        }
    }

    fn push(&mut self, bound: f32, kind: LightKind, child: Child) {
        if let Child::Node(_) = child {
            self.heap.push(HeapEntry { value: bound, index: self.clusters.len() as u32 });
        }
        self.clusters.push(Some((kind, child)));
        self.size += 1;
    }
}

/// Samples a light of a cluster; returns its index and probability. `None` if all bounds are 0.
fn descend(
    lighting: &mut Lighting<'_>,
    point: &ShadingPoint,
    kind: LightKind,
    mut child: Child,
    random: &mut impl FnMut() -> f32,
) -> Option<(u32, f32)> {
    let mut probability = 1.0;
    loop {
        let index = match child {
            Child::Leaf(light) => return Some((light, probability)),
            Child::Node(index) => index,
            Child::None => unreachable!("empty slots have bound 0"),
        };
        let node = lighting.tree.node(index);
        let bounds = lighting.bound(point, kind, index);
        let weights = weights(lighting.tree, kind, index, point.surface.p, &bounds);
        let total: f32 = weights.iter().sum();
        let mut rest = random() * total;
        // Rounding may leave a remainder after the last child.
        let last = weights.iter().rposition(|&weight| weight > 0.0)?;
        let slot = (0..last).find(|&slot| {
            rest -= weights[slot];
            rest < 0.0
        });
        let slot = slot.unwrap_or(last);
        probability *= weights[slot] / total;
        child = node.child(slot);
    }
}

/// Returns the sampling weights of a node's children. A weight is positive if the bound is.
fn weights(
    tree: &LightTree,
    kind: LightKind,
    index: u32,
    p: Vec3,
    bounds: &[f32; WIDTH],
) -> [f32; WIDTH] {
    let (node, magnitude) = (tree.node(index), tree.magnitude(index));
    let distance_weights: [f32; WIDTH] = std::array::from_fn(|slot| {
        if slot >= node.len() || bounds[slot] == 0.0 {
            return 0.0;
        }
        let falloff = match kind {
            LightKind::Directional => 1.0,
            LightKind::Omni | LightKind::Oriented | LightKind::Virtual { .. } => {
                let aabb = node.bounds(slot);
                aabb.center().distance_squared(p).max(0.25 * (aabb.max - aabb.min).length_squared())
            }
        };
        let power = match kind {
            // Magnitudes are bounds, which may be far above.
            LightKind::Virtual { .. } => node.intensity(slot).abs(),
            _ => vec3(magnitude[0][slot], magnitude[1][slot], magnitude[2][slot]),
        };
        luminance(power).max(f32::MIN_POSITIVE) / falloff
    });
    let [bound_sum, distance_sum] =
        [bounds, &distance_weights].map(|values| values.iter().sum::<f32>());
    let [use_bound, use_distance] =
        [bound_sum, distance_sum].map(|sum| sum > 0.0 && sum < f32::INFINITY);
    std::array::from_fn(|slot| {
        let mut weight = 0.0;
        if use_bound {
            weight += bounds[slot] / bound_sum;
        }
        if use_distance {
            weight += distance_weights[slot] / distance_sum;
        }
        match use_bound || use_distance {
            true => weight,
            false => f32::from(u8::from(bounds[slot] > 0.0)),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::Floor;
    use super::*;
    use crate::light_tree::PointOptions;
    use lightbound_math::sampling::testing::assert_chi_square;
    use lightbound_math::sampling::{hash, unit_float};
    use std::collections::BTreeMap;

    /// Returns lights above and below the floor. Lights below contribute nothing. Every seventh
    /// light is bright.
    fn lights() -> Vec<(Vec3, f32)> {
        let mut random = random_numbers(1);
        let mut cube = || 2.0 * vec3(random(), random(), random()) - 1.0;
        (0..300).map(|k| (3.0 * cube(), if k % 7 == 0 { 5.0 } else { 0.5 })).collect()
    }

    fn random_numbers(seed: u32) -> impl FnMut() -> f32 {
        let mut count = 0;
        move || {
            count += 1;
            unit_float(hash(seed, count))
        }
    }

    #[test]
    fn sampling_frequency_matches_probability() {
        const SAMPLES: u32 = 20_000;
        let floor =
            Floor::new(&lights(), &PointOptions { extents: true, ..PointOptions::default() });
        floor.with_shading_point(vec3(0.3, 0.2, 0.0), |lighting, point| {
            let (kind, root) = lighting.tree.roots().next().unwrap();
            let mut random = random_numbers(2);
            let mut sampled = BTreeMap::<u32, (u32, f32)>::new();
            for _ in 0..SAMPLES {
                let (light, probability) =
                    descend(lighting, point, kind, Child::Node(root), &mut random).unwrap();
                let (count, first_probability) = sampled.entry(light).or_insert((0, probability));
                *count += 1;
                assert_eq!(*first_probability, probability);
            }
            let total: f64 = sampled.values().map(|(_, p)| f64::from(*p)).sum();
            assert!(total > 0.99 && total < 1.0 + 1e-5, "{total}");
            // The remainder is the probability of lights that were never sampled.
            let remainder = (0, (1.0 - total as f32).max(1e-7));
            let (observed, expected): (Vec<u32>, Vec<f64>) = sampled
                .values()
                .chain([&remainder])
                .map(|&(n, p)| (n, f64::from(p) * f64::from(SAMPLES)))
                .unzip();
            assert_chi_square(&observed, &expected, "lights");
            // Every light that contributes can be sampled.
            let contributing: Vec<u32> =
                (0..300).filter(|&light| lighting.shade(point, [light])[0] != Vec3::ZERO).collect();
            assert!(
                contributing.len() > 100
                    && contributing.iter().all(|light| sampled.contains_key(light))
            );
        });
    }

    #[test]
    fn mean_matches_the_full_sum_for_any_cut_size() {
        let floor =
            Floor::new(&lights(), &PointOptions { extents: true, ..PointOptions::default() });
        floor.with_shading_point(vec3(0.3, 0.2, 0.0), |lighting, point| {
            let all: Vec<u32> = (0..lighting.tree.points().len() as u32).collect();
            let intensities: Vec<Vec3> =
                lighting.tree.points().iter().map(|p| p.intensity).collect();
            let unit_radiance = lighting.shade(point, all);
            let full = unit_radiance
                .iter()
                .zip(intensities)
                .map(|(&unit, intensity)| f64::from((unit * intensity).x))
                .sum::<f64>();
            let mut stochastic_cut = StochasticCut::default();
            for (size, n) in [(1, 8000), (8, 3000), (64, 500), (1000, 1)] {
                let mut random = random_numbers(size);
                let (mut sum, mut squares) = (0.0, 0.0);
                for _ in 0..n {
                    let cut =
                        stochastic_cut.compute(lighting, point, floor.lights(), size, &mut random);
                    assert!(cut.size <= size);
                    let x = f64::from(cut.radiance.x);
                    (sum, squares) = (sum + x, squares + x * x);
                }
                let mean = sum / f64::from(n);
                let deviation =
                    ((squares / f64::from(n) - mean * mean).max(0.0) / f64::from(n)).sqrt();
                assert!(
                    (mean - full).abs() <= 4.0 * deviation + 1e-5 * full,
                    "{size}: {mean}, {full}, {deviation}"
                );
                assert!(
                    deviation < 0.03 * full,
                    "{size}: standard error {deviation} is too large for the test"
                );
            }
        });
    }

    #[test]
    fn weights_are_positive_where_bounds_are_positive() {
        let floor = Floor::new(&lights(), &PointOptions::default());
        let (kind, root) = floor.tree().roots().next().unwrap();
        let near = floor.tree().node(root).bounds(0).center();
        for bounds in [
            [0.0, 1.0, 1e-20, 0.0, 3.0, 1e20, 0.0, 1.0],
            [f32::INFINITY, 1.0, 1e-30, 0.0, 3.0, 0.0, 0.0, 1.0],
            [f32::MAX, f32::MAX, 1.0, 0.0, 3.0, 0.0, 0.0, 1.0],
            [1e-40; WIDTH],
        ] {
            for p in [Vec3::ZERO, near, Vec3::splat(1e30)] {
                let weights = weights(floor.tree(), kind, root, p, &bounds);
                for (slot, (weight, bound)) in weights.into_iter().zip(bounds).enumerate() {
                    assert!(
                        weight.is_finite() && (weight > 0.0) == (bound > 0.0),
                        "{slot}: {weights:?} for {bounds:?} at {p}"
                    );
                }
            }
        }
        assert_eq!(weights(floor.tree(), kind, root, Vec3::ZERO, &[0.0; WIDTH]), [0.0; WIDTH]);
    }
}
