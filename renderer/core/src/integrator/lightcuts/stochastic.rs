//! Stochastic lightcuts (Yuksel 2019): a cut of fixed size. For each pixel sample, each cluster of
//! the cut is represented by one sampled light (see [`LightDraws`]). If a leaf represents a region
//! of a light, a position in the region is sampled as well. So the expected value is the exact sum
//! over all lights.

use super::heap_entry::HeapEntry;
use super::light_draws::{Cluster, LightDraws};
use super::lighting::{Lighting, ShadingPoint};
use crate::light::Lights;
use crate::light_tree::Child;
use lightbound_math::Vec3;
use lightbound_math::sampling::{PathKey, Sampler, hash};
use std::collections::BinaryHeap;

/// First set of sampler dimensions of clusters, beyond those of any scattering event and of media.
const CLUSTER_SETS: u32 = 0xc000_0000;

/// Computes stochastic cuts. Buffers are reused.
pub(super) struct StochasticCut<'a> {
    heap: BinaryHeap<HeapEntry>,
    /// Clusters of the cut; `None` if a cluster was refined.
    clusters: Vec<Option<Cluster>>,
    /// Number of clusters in the cut.
    size: usize,
    draws: LightDraws<'a>,
}

/// The result of a stochastic cut.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StochasticCutResult {
    /// Estimate of the reflected radiance.
    pub radiance: Vec3,
    /// Number of clusters.
    pub size: u32,
}

/// Returns the random numbers of a cluster. They are stratified over the samples that `key` counts,
/// since a cluster is part of the cuts of many samples. `seed` distinguishes cuts of one sample.
pub(super) fn cluster_random(
    sampler: &Sampler,
    key: PathKey,
    seed: u32,
    cluster: Child,
) -> [f32; 4] {
    let cluster = match cluster {
        Child::Node(node) => 2 * node,
        Child::Leaf(leaf) => 2 * leaf + 1,
        Child::None => unreachable!("clusters are not empty"),
    };
    sampler.get4(key, CLUSTER_SETS | hash(seed, cluster) >> 2)
}

impl<'a> StochasticCut<'a> {
    /// `has_lobe` is as in [`LightDraws::new`].
    pub fn new(has_lobe: &'a [bool]) -> StochasticCut<'a> {
        let draws = LightDraws::new(has_lobe);
        StochasticCut { heap: BinaryHeap::new(), clusters: Vec::new(), size: 0, draws }
    }

    /// Estimates the radiance that a shading point reflects, with a cut of about `size` clusters.
    /// `random` returns the random numbers of a cluster, in [0, 1).
    pub fn compute(
        &mut self,
        lighting: &mut Lighting<'_>,
        point: &ShadingPoint,
        lights: &Lights,
        size: u32,
        mut random: impl FnMut(Child) -> [f32; 4],
    ) -> StochasticCutResult {
        self.select(lighting, point, size);
        self.draws.clear();
        for &cluster in self.clusters.iter().flatten() {
            self.draws.push(cluster, random(cluster.child));
        }
        let mut radiance = Vec3::ZERO;
        self.draws.shade(lighting, point, lights, |_, of_cluster| radiance += of_cluster);
        StochasticCutResult { radiance, size: self.size as u32 }
    }

    /// Selects the clusters: refines the cluster with the greatest bound as long as the cut has at
    /// most `size` clusters.
    fn select(&mut self, lighting: &mut Lighting<'_>, point: &ShadingPoint, size: u32) {
        self.heap.clear();
        self.clusters.clear();
        self.size = 0;
        for (kind, root) in lighting.roots(point) {
            self.push(f32::INFINITY, Cluster { kind, child: Child::Node(root) });
        }
        while let Some(greatest) = self.heap.peek() {
            let cluster = &mut self.clusters[greatest.index as usize];
            let Some(Cluster { kind, child: Child::Node(index) }) = *cluster else {
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
                self.push(bounds[slot], Cluster { kind, child: node.child(slot) });
            }
        }
    }

    fn push(&mut self, bound: f32, cluster: Cluster) {
        if let Child::Node(_) = cluster.child {
            self.heap.push(HeapEntry { value: bound, index: self.clusters.len() as u32 });
        }
        self.clusters.push(Some(cluster));
        self.size += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Floor;
    use super::*;
    use crate::light_tree::PointOptions;
    use crate::light_tree::testing::Random;
    use lightbound_math::sampling::SamplerKind;
    use lightbound_math::vec3;

    #[test]
    fn mean_matches_the_full_sum_for_any_cut_size() {
        let random = &mut Random(1);
        let light = |k| (3.0 * random.cube(), if k % 7 == 0 { 5.0 } else { 0.5 });
        let lights: Vec<_> = (0..300).map(light).collect();
        let options = PointOptions { extents: true, ..PointOptions::default() };
        for (brdf, has_lobe) in [("0.25", false), ("0.1 + pow(wi.z, 60.0)", true)] {
            let (floor, flags) = (Floor::with_brdf(&lights, &options, brdf), [has_lobe; 4]);
            floor.with_shading_point(vec3(0.3, 0.2, 0.0), |lighting, point| {
                let intensities: Vec<Vec3> =
                    lighting.tree.points().iter().map(|p| p.intensity).collect();
                let unit_radiance = lighting.shade(point, 0..intensities.len() as u32);
                let full: f64 = std::iter::zip(unit_radiance, intensities)
                    .map(|(&unit, intensity)| f64::from((unit * intensity).x))
                    .sum();
                let mut stochastic_cut = StochasticCut::new(&flags);
                for (size, n) in [(1, 8000), (8, 3000), (64, 500), (1000, 1)] {
                    let mut random = Random(size);
                    let (mut sum, mut squares) = (0.0, 0.0);
                    for _ in 0..n {
                        let random = |_| [0; 4].map(|_| random.unit());
                        let lights = floor.lights();
                        let cut = stochastic_cut.compute(lighting, point, lights, size, random);
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
    }

    #[test]
    fn random_numbers_of_a_cluster_are_stratified_over_samples() {
        let sampler = Sampler::new(SamplerKind::Sobol, 0);
        let numbers = |seed, cluster| -> Vec<u32> {
            (0..16)
                .map(|index| {
                    let key = sampler.path_key(3, 5, index);
                    (16.0 * cluster_random(&sampler, key, seed, cluster)[0]) as u32
                })
                .collect()
        };
        let first = numbers(0, Child::Node(7));
        for (seed, cluster) in [(1, Child::Node(7)), (0, Child::Leaf(7)), (0, Child::Node(8))] {
            let mut other = numbers(seed, cluster);
            assert_ne!(first, other);
            other.sort_unstable();
            assert_eq!(other, Vec::from_iter(0..16));
        }
    }
}
