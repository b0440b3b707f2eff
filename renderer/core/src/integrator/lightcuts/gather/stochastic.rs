//! Stochastic cuts of several samples: a cut of fixed size through the product graph (Yuksel 2019,
//! on the graph of Walter et al. 2006). Of each pair, one gather point and one light are sampled.
//!
//! A gather point is sampled with a probability proportional to the magnitude of its weight in the
//! sum over the group, and a light as in stochastic cuts at this point. Their light over both
//! probabilities is an unbiased estimate of the pair. It becomes radiance of the point's sample, so
//! that the weighted sum over the group is unbiased, and so is the pixel.
//!
//! All draws at a point share its material, so the draws are sorted by points.

use super::super::heap_entry::HeapEntry;
use super::super::light_draws::{Cluster, LightDraws};
use super::GatherResult;
use super::bound::Group;
use super::cut::{LightCluster, Refinement, SiblingBounds};
use crate::light::Lights;
use crate::light_tree::{Child, LightKind};
use lightbound_math::Vec3;
use lightbound_math::sampling::GOLDEN_RATIO;
use std::collections::BinaryHeap;

/// Computes stochastic cuts. Buffers are reused.
pub struct PairDraws<'a> {
    heap: BinaryHeap<HeapEntry>,
    /// Pairs of the cut; `None` if a pair was refined.
    pairs: Vec<Option<Pair>>,
    /// Number of pairs in the cut.
    size: u32,
    sibling_bounds: SiblingBounds,
    /// Number of pairs drawn so far, for each gather node.
    drawn: Vec<u32>,
    points: Vec<PointDraw>,
    lights: LightDraws<'a>,
}

/// A pair of clusters.
#[derive(Clone, Copy, Debug)]
struct Pair {
    gather: u32,
    light: LightCluster,
}

/// A gather point that is sampled from a pair.
#[derive(Clone, Copy, Debug)]
struct PointDraw {
    point: u32,
    probability: f32,
    light: Cluster,
    /// Random numbers for sampling a light.
    u: [f32; 4],
}

impl<'a> PairDraws<'a> {
    /// `has_lobe` is as in [`LightDraws::new`].
    pub fn new(has_lobe: &'a [bool]) -> PairDraws<'a> {
        PairDraws {
            heap: BinaryHeap::new(),
            pairs: Vec::new(),
            size: 0,
            sibling_bounds: SiblingBounds::default(),
            drawn: Vec::new(),
            points: Vec::new(),
            lights: LightDraws::new(has_lobe),
        }
    }

    /// Samples all pairs of a cut of about `size` pairs. Calls `add` with each sampled gather point,
    /// and the radiance that it reflects. `random` is as in [`Gather::sample`](super::Gather::sample).
    pub fn compute(
        &mut self,
        group: &mut Group<'_, '_>,
        lights: &Lights,
        size: u32,
        random: impl Fn(u32, Child) -> [f32; 4],
        mut add: impl FnMut(u32, Vec3),
    ) -> GatherResult {
        self.select(group, size);
        self.sample_points(group, random);
        for draws in self.points.chunk_by(|a, b| a.point == b.point) {
            let point = draws[0].point;
            let shading_point = group.begin(point);
            self.lights.clear();
            draws.iter().for_each(|draw| self.lights.push(draw.light, draw.u));
            let mut radiance = Vec3::ZERO;
            self.lights.shade(group.lighting, &shading_point, lights, |index, of_light| {
                radiance += of_light / draws[index].probability;
            });
            add(point, radiance);
        }
        GatherResult { points: group.len(), pairs: self.size, ..GatherResult::default() }
    }

    /// Selects the pairs: refines the pair with the greatest bound as long as the cut has at most
    /// `size` pairs. The first cut has the children of the roots of light trees.
    fn select(&mut self, group: &mut Group<'_, '_>, size: u32) {
        self.heap.clear();
        self.pairs.clear();
        self.sibling_bounds.clear();
        self.size = 0;
        for &gather in group.tree.roots() {
            for (kind, root) in group.light_roots(gather) {
                self.push_light_children(group, gather, (kind, root));
            }
        }
        while let Some(&HeapEntry { index, .. }) = self.heap.peek() {
            let Some(Pair { gather, light }) = self.pairs[index as usize] else {
                unreachable!("refined pairs are not in the heap")
            };
            let refinement = Refinement::of(gather, light, group);
            let children = match refinement {
                Refinement::Gather(_) => 2,
                Refinement::Light(node) => group.lighting.tree.child_count(node) as u32,
            };
            if self.size - 1 + children > size {
                break;
            }
            self.heap.pop();
            self.pairs[index as usize] = None;
            self.size -= 1;
            match refinement {
                Refinement::Light(node) => {
                    self.push_light_children(group, gather, (light.kind, node));
                }
                Refinement::Gather(children) => {
                    for gather in children {
                        let bound = self.sibling_bounds.get(group, gather, light);
                        self.push(group, bound, Pair { gather, light });
                    }
                }
            }
        }
    }

    /// Adds the pairs of a gather cluster with the children of a light node.
    fn push_light_children(
        &mut self,
        group: &mut Group<'_, '_>,
        gather: u32,
        (kind, parent): (LightKind, u32),
    ) {
        let bounds = group.bound(gather, kind, parent);
        for (slot, bound) in bounds.into_iter().enumerate() {
            self.push(group, bound, Pair { gather, light: LightCluster { kind, parent, slot } });
        }
    }

    /// Adds a pair, unless its bound is 0.
    fn push(&mut self, group: &Group<'_, '_>, bound: f32, pair: Pair) {
        if bound == 0.0 {
            return;
        }
        if group.tree.node(pair.gather).children.is_some() || pair.light.node(group).is_some() {
            self.heap.push(HeapEntry { value: bound, index: self.pairs.len() as u32 });
        }
        self.pairs.push(Some(pair));
        self.size += 1;
    }

    /// Samples a gather point of each pair.
    fn sample_points(&mut self, group: &Group<'_, '_>, random: impl Fn(u32, Child) -> [f32; 4]) {
        self.points.clear();
        self.drawn.clear();
        self.drawn.resize(group.tree.nodes().len(), 0);
        for &Pair { gather, light } in self.pairs.iter().flatten() {
            let child = light.child(group);
            let u = random(gather, child);
            // The numbers for the pairs of a cluster are evenly distributed. Node 0 is a root, so no
            // pair has the same numbers.
            let drawn = &mut self.drawn[gather as usize];
            let [shift, ..] = random(gather, Child::Node(0));
            let selection = (shift + *drawn as f32 * GOLDEN_RATIO).fract();
            *drawn += 1;
            let (point, probability) = group.tree.sample(gather, selection);
            let light = Cluster { kind: light.kind, child };
            self.points.push(PointDraw { point, probability, light, u });
        }
        self.points.sort_by_key(|draw| draw.point);
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::stochastic::cluster_random;
    use super::super::Gather;
    use super::super::point::GatherPoints;
    use super::super::testing::{add_points, floor, points, sums, total};
    use super::super::tree::GatherTree;
    use super::*;
    use crate::light_tree::WIDTH;
    use lightbound_math::sampling::testing::assert_chi_square;
    use lightbound_math::sampling::{Sampler, SamplerKind};
    use std::collections::BTreeMap;

    /// Calls `f` with a group of points.
    fn with_group<T>(points: usize, f: impl FnOnce(&mut Group<'_, '_>) -> T) -> T {
        let floor = floor();
        let bounds = floor.cluster_bounds();
        let mut lighting = floor.lighting(&bounds);
        let mut gather = GatherPoints::default();
        let all = super::super::testing::points(1.0, true);
        add_points(&mut gather, &floor, &mut lighting, &all[..points]);
        let (mut tree, mut order) = (GatherTree::default(), Vec::from_iter(0..points as u32));
        tree.build(&gather, &mut order, &lighting);
        let mut group = Group::new(&mut lighting, &gather, &tree, false);
        let result = f(&mut group);
        assert!(lighting.counts.checks > 0);
        assert_eq!(lighting.counts.violations, 0);
        result
    }

    #[test]
    fn sampling_frequency_of_pairs_matches_probability() {
        const ROUNDS: u32 = 10_000;
        with_group(5, |group| {
            let mut draws = PairDraws::new(&[true; 4]);
            draws.select(group, 1);
            let pairs = draws.size as usize;
            assert!((2..=WIDTH).contains(&pairs), "{pairs}");
            let sampler = Sampler::new(SamplerKind::Independent, 0);
            let mut sampled = BTreeMap::<(u32, u32, u32), (u32, f32)>::new();
            for round in 0..ROUNDS {
                let key = sampler.path_key(0, 0, round);
                let random = |seed, child| cluster_random(&sampler, key, seed, child);
                draws.sample_points(group, random);
                for of_point in draws.points.chunk_by(|a, b| a.point == b.point) {
                    let point = group.begin(of_point[0].point);
                    draws.lights.clear();
                    of_point.iter().for_each(|draw| draws.lights.push(draw.light, draw.u));
                    draws.lights.descend(group.lighting, &point);
                    for (draw, leaf) in std::iter::zip(of_point, draws.lights.leaves()) {
                        let Child::Node(cluster) = draw.light.child else { unreachable!() };
                        let (leaf, probability) = leaf.expect("the lights are above the floor");
                        let probability = probability * draw.probability;
                        let cell = sampled.entry((cluster, draw.point, leaf));
                        let (count, first) = cell.or_insert((0, probability));
                        *count += 1;
                        assert_eq!(*first, probability);
                    }
                }
            }
            let clusters: BTreeMap<u32, ()> =
                sampled.keys().map(|&(cluster, ..)| (cluster, ())).collect();
            assert_eq!(clusters.len(), pairs);
            for &cluster in clusters.keys() {
                let of_cluster = || sampled.iter().filter(|((c, ..), _)| *c == cluster);
                let total: f64 = of_cluster().map(|(_, &(_, p))| f64::from(p)).sum();
                assert!(total > 0.98 && total < 1.0 + 1e-5, "{total}");
                let remainder = (0, (1.0 - total as f32).max(1e-7));
                let (observed, expected): (Vec<u32>, Vec<f64>) = of_cluster()
                    .map(|(_, sample)| sample)
                    .chain([&remainder])
                    .map(|&(n, p)| (n, f64::from(p) * f64::from(ROUNDS)))
                    .unzip();
                assert_chi_square(&observed, &expected, "pairs");
            }
        });
    }

    #[test]
    fn a_cluster_has_different_points_for_different_lights() {
        with_group(5, |group| {
            let root = group.tree.roots()[0];
            for (kind, lights) in group.light_roots(root) {
                assert!(group.bound(root, kind, lights)[0] > 0.0);
            }
            let points = group.tree.points(group.tree.node(root));
            let mut selected: Vec<_> =
                (0..64).map(|light| group.representative(root, light)).collect();
            assert!(selected.iter().all(|point| points.contains(point)));
            selected.sort_unstable();
            selected.dedup();
            assert!(points.len() > 2 && selected.len() > points.len() / 2, "{selected:?}");
        });
    }

    #[test]
    fn mean_of_the_group_matches_the_full_sum_for_any_cut_size() {
        for (size, signed) in [(0.01, false), (1.0, false), (1.0, true)] {
            let points = points(size, signed);
            let full = f64::from(total(&points, &sums(&points)).x);
            let floor = floor();
            let bounds = floor.cluster_bounds();
            let mut lighting = floor.lighting(&bounds);
            let (flags, sampler) = ([true; 4], Sampler::new(SamplerKind::Independent, 3));
            let mut gather = Gather::new(&flags);
            add_points(&mut gather.points, &floor, &mut lighting, &points);
            let [(0, group)] = &gather.groups(16)[..] else { panic!("there is one group") };
            for (cut_size, n) in [(1, 3000), (40, 600), (300, 100), (4000, 1)] {
                let (mut sum, mut squares) = (0.0, 0.0);
                for round in 0..n {
                    let key = sampler.path_key(0, 0, round);
                    let random = |seed, child| cluster_random(&sampler, key, seed, child);
                    let mut radiance = vec![Vec3::ZERO; points.len()];
                    let add = |sample: u32, rgb| radiance[sample as usize] += rgb;
                    let (lights, options) = (floor.lights(), (cut_size, false));
                    let result =
                        gather.sample(&mut lighting, group.clone(), lights, options, random, add);
                    assert!(result.pairs <= cut_size.max(8) && result.points == 12, "{result:?}");
                    let x = f64::from(total(&points, &radiance).x);
                    (sum, squares) = (sum + x, squares + x * x);
                }
                let mean = sum / f64::from(n);
                let deviation =
                    ((squares / f64::from(n) - mean * mean).max(0.0) / f64::from(n)).sqrt();
                let case = format!("{size} {signed} {cut_size}: {mean}, {full}, {deviation}");
                assert!((mean - full).abs() <= 4.0 * deviation + 1e-4 * full, "{case}");
                assert!(deviation < 0.03 * full, "the test is too noisy: {case}");
            }
            assert_eq!(lighting.counts.violations, 0);
        }
    }
}
