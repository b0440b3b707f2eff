//! Multidimensional lightcuts (Walter et al. 2006, *Multidimensional Lightcuts*): one cut for all
//! light of a group of samples of a pixel, whatever they differ in: position on the film or on the
//! lens, time, or path through mirrors and media.
//!
//! A *gather point* is a shading point with the weight of its light in the sum over the group
//! (`point`). Gather points are the leaves of a *gather tree* (`tree`). The product graph has a node
//! for each pair of a cluster of gather points and a cluster of lights; `bound` computes upper bounds
//! on pairs, and `cut` refines pairs until the error of the sum is small. A pair is estimated by the
//! representatives of both of its clusters, with one shadow ray, at the time of the gather point.
//!
//! The radiance of a pair is the same for all of its gather points, so that each sample has a
//! radiance of its own: the film does not know of groups.
//!
//! Alternatively, a point and a light are sampled from each pair of a cut of fixed size
//! (`stochastic`).

mod bound;
mod cut;
mod point;
mod stochastic;
#[cfg(test)]
mod testing;
mod tree;

use self::bound::Group;
use self::cut::GatherCut;
use self::point::GatherPoints;
use self::stochastic::PairDraws;
use self::tree::GatherTree;
use super::cut::StopCriteria;
use super::lighting::Lighting;
use crate::light::Lights;
use crate::light_tree::Child;
use lightbound_math::Vec3;
use std::ops::Range;

/// Collects the gather points of a tile, and computes cuts for groups of samples. Buffers are
/// reused.
pub(super) struct Gather<'a> {
    pub points: GatherPoints,
    /// Indices of the points, group by group.
    order: Vec<u32>,
    tree: GatherTree,
    cut: GatherCut,
    draws: PairDraws<'a>,
}

/// The cut of a group of samples.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct GatherResult {
    /// Number of gather points.
    pub points: u32,
    /// Number of pairs.
    pub pairs: u32,
    /// Whether refinement stopped at the maximum number of pairs.
    pub capped: bool,
    /// Sum of the error bounds, a luminance, of the weighted sum over the group.
    pub error: f32,
}

impl<'a> Gather<'a> {
    /// `has_lobe` is as in [`LightDraws::new`](super::light_draws::LightDraws::new).
    pub fn new(has_lobe: &'a [bool]) -> Gather<'a> {
        Gather {
            points: GatherPoints::default(),
            order: Vec::new(),
            tree: GatherTree::default(),
            cut: GatherCut::default(),
            draws: PairDraws::new(has_lobe),
        }
    }

    /// Divides the points into groups of `size` consecutive samples. Returns the ranges of points,
    /// each with the first sample of the group.
    pub fn groups(&mut self, size: u32) -> Vec<(u32, Range<usize>)> {
        let group = |&point: &u32| self.points.get(point).sample / size;
        self.order.clear();
        self.order.extend(0..self.points.len() as u32);
        self.order.sort_by_key(group);
        let mut end = 0;
        let range = |points: &[u32]| {
            end += points.len();
            (group(&points[0]) * size, end - points.len()..end)
        };
        self.order.chunk_by(|a, b| group(a) == group(b)).map(range).collect()
    }

    /// Computes the cut of a group. Calls `add` with each sample and the radiance that one of its
    /// points reflects to the camera.
    pub fn compute(
        &mut self,
        lighting: &mut Lighting<'_>,
        group: Range<usize>,
        criteria: &StopCriteria,
        is_timed: bool,
        mut add: impl FnMut(u32, Vec3),
    ) -> GatherResult {
        let order = &mut self.order[group];
        self.tree.build(&self.points, order, lighting);
        let mut group = Group::new(lighting, &self.points, &self.tree, is_timed);
        let result = self.cut.compute(&mut group, criteria);
        self.cut.for_each_point(&self.tree, |point, radiance| {
            let point = self.points.get(point);
            add(point.sample, (point.throughput.as_dvec3() * radiance).as_vec3());
        });
        result
    }

    /// Samples a point and a light of each pair of a cut with about `size` pairs. Calls `add` with
    /// samples and estimates of the radiance that reaches the camera. Their weighted sum over the
    /// group is unbiased. `random` returns the random numbers of a cluster of lights, in [0, 1), for
    /// each of several seeds.
    pub fn sample(
        &mut self,
        lighting: &mut Lighting<'_>,
        group: Range<usize>,
        lights: &Lights,
        (size, is_timed): (u32, bool),
        random: impl Fn(u32, Child) -> [f32; 4],
        mut add: impl FnMut(u32, Vec3),
    ) -> GatherResult {
        let order = &mut self.order[group];
        self.tree.build(&self.points, order, lighting);
        let mut group = Group::new(lighting, &self.points, &self.tree, is_timed);
        let points = &self.points;
        self.draws.compute(&mut group, lights, size, random, |point, radiance| {
            let point = points.get(point);
            add(point.sample, point.throughput * radiance);
        })
    }
}
