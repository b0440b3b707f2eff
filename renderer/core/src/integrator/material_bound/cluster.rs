//! Upper bounds on a material over many shading points and many directions at once, s(x̂, ω̂): the
//! outgoing direction and the material parameters are intervals as well (Clarberg et al. 2010 §6.1).
//!
//! All directions are in shading frames. So intervals of outgoing directions are hulls of the
//! directions that the point shader receives, which are tighter than those computed from intervals
//! of a direction and of a frame in world space.

use super::{BoundEvaluator, DIRECTION_WORDS, KernelBuffers, NO_SHADING_POINT, WO_PORT};
use lightbound_math::DirectionBoxes;
use lightbound_math::direction_box::{LANES, Lanes};
use lightbound_shader::bounding::{BoundingKernel, BoundsBatch, BoxBatch};
use lightbound_shader::ir::Type;

/// Panic message for clusters with bounds that were not compiled for them.
const NO_CLUSTERS: &str = "no cluster: compile the bounds for clusters, and call `begin_cluster`";

/// Bits of the endpoints of an input.
pub type Endpoints = [u32; 2];

/// Extends an interval of an input of type `ty` to a word.
pub fn include(ty: Type, [lo, hi]: Endpoints, word: u32) -> Endpoints {
    match ty {
        // The total order has −0 below 0.
        Type::F32 => {
            let [a, b, x] = [lo, hi, word].map(f32::from_bits);
            if [a, b, x].iter().any(|x| x.is_nan()) {
                return [f32::NEG_INFINITY, f32::INFINITY].map(f32::to_bits);
            }
            [
                if x.total_cmp(&a).is_lt() { word } else { lo },
                if x.total_cmp(&b).is_gt() { word } else { hi },
            ]
        }
        Type::I32 => [(lo as i32).min(word as i32) as u32, (hi as i32).max(word as i32) as u32],
        // All bits of `true` are set.
        Type::Bool => [lo & word, hi | word],
    }
}

/// Inputs and outputs of a kernel with interval inputs only.
pub(super) struct ClusterBuffers<'a> {
    kernel: &'a BoundingKernel,
    boxes: BoxBatch,
    limits: BoundsBatch,
    /// Whether all inputs of boxes have been set.
    has_boxes: bool,
}

impl<'a> ClusterBuffers<'a> {
    pub fn new(kernel: &'a BoundingKernel) -> ClusterBuffers<'a> {
        let (boxes, limits) = (BoxBatch::new(kernel, LANES), BoundsBatch::new(kernel, LANES));
        ClusterBuffers { kernel, boxes, limits, has_boxes: false }
    }
}

impl<'a> BoundEvaluator<'a> {
    /// Returns the shader of the shading point, and its words: the outgoing direction and the
    /// material parameters.
    pub fn shading_point(&self) -> (usize, &[u32]) {
        let buffers = self.buffers[self.program].as_ref().expect(NO_SHADING_POINT);
        (self.shader, &buffers.common_words)
    }

    /// Sets the shading point to the one that [`Self::shading_point`] described.
    pub fn begin_with_words(&mut self, shader: usize, words: &[u32]) {
        let (wo, parameters) = words.split_at(DIRECTION_WORDS);
        let wo = std::array::from_fn(|k| f32::from_bits(wo[k]));
        self.begin_with_parameters(shader, wo.into(), parameters);
    }

    /// Returns the types of the words of a shading point.
    pub fn word_types(&self, shader: usize) -> impl Iterator<Item = Type> {
        let inputs = self.bounds.point_kernel(shader).1.inputs();
        inputs[WO_PORT..].iter().map(|port| port.ty)
    }

    /// Sets the cluster of shading points of a shader: their words are within `endpoints`. The
    /// shading point stays.
    ///
    /// # Panics
    /// If the bounds were not compiled for clusters of shading points.
    pub fn begin_cluster(&mut self, shader: usize, endpoints: &[Endpoints]) {
        self.cluster_shader = shader;
        let KernelBuffers { cluster, kernels, .. } = self.buffers_of(shader);
        let cluster = cluster.as_mut().expect(NO_CLUSTERS);
        // All, once: inputs that are not read keep those of the first cluster, which satisfy the
        // precondition of the bounds.
        if !std::mem::replace(&mut cluster.has_boxes, true) {
            for (port, &endpoints) in (WO_PORT..).zip(endpoints) {
                cluster.boxes.fill_interval(port, endpoints);
            }
        }
        for &port in &kernels.common_ports {
            cluster.boxes.fill_interval(port, endpoints[port - WO_PORT]);
        }
    }

    /// Returns upper bounds like [`Self::bound`], over all shading points of the cluster.
    ///
    /// # Panics
    /// If no cluster has begun.
    pub fn bound_cluster(&mut self, directions: &DirectionBoxes) -> [Lanes; 3] {
        let shader = self.cluster_shader;
        let buffers = self.buffers[self.bounds.shaders[shader].program].as_mut();
        let buffers = buffers.expect(NO_CLUSTERS);
        let cluster = buffers.cluster.as_mut().expect(NO_CLUSTERS);
        for (port, (lo, hi)) in std::iter::zip(&directions.lo, &directions.hi).enumerate() {
            cluster.boxes.set_all(port, lo, hi);
        }
        cluster.kernel.run(&self.textures[shader], &cluster.boxes, &mut cluster.limits);
        super::upper_bounds(&cluster.limits)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{LIBRARY, for_each_group, random_parameters};
    use super::super::{BoundEvaluator, MaterialBounds};
    use super::*;
    use crate::settings::BoundMode;
    use lightbound_math::Vec3;
    use lightbound_shader::random::Random;

    /// Number of shading points in a cluster.
    const CLUSTER_POINTS: usize = 4;

    /// Returns the words of points near one with `wo` and `parameters`.
    fn cluster(random: &mut Random, wo: Vec3, parameters: &[u32], other: &[u32]) -> Vec<Vec<u32>> {
        let size = 0.5f32.powi(random.below(20) as i32);
        let mut point = |k: usize| {
            let offset = [(); 3].map(|()| size * (random.below(1 << 12) as f32 / 2048.0 - 1.0));
            let moved = (wo + Vec3::from(offset)).try_normalize().unwrap_or(wo);
            // One-sided materials are seen from above.
            let moved = if k == 0 || moved.z * wo.z <= 0.0 { wo } else { moved };
            let mut words = moved.to_array().map(f32::to_bits).to_vec();
            let changes = k > 0 && random.once_in(2);
            words.extend(
                std::iter::zip(parameters, other)
                    .map(|(&a, &b)| if changes && random.once_in(2) { b } else { a }),
            );
            words
        };
        (0..CLUSTER_POINTS).map(&mut point).collect()
    }

    #[test]
    fn bounds_hold_for_all_points_of_a_cluster() {
        let [naive, related] = [BoundMode::Naive, BoundMode::Related].map(|mode| {
            MaterialBounds::compile_for_clusters(&LIBRARY, mode).expect("the shaders compile")
        });
        let mut evaluators = [&naive, &related].map(BoundEvaluator::new);
        let (random, mut all, mut finite) = (&mut Random::new(7), 0, 0);
        for_each_group(&LIBRARY, 3, |shader, wo, parameters, boxes, directions| {
            let other = random_parameters(&LIBRARY[shader].program, random.below(100) as u32);
            let words = cluster(random, wo, parameters, &other);
            let mut endpoints: Vec<Endpoints> = words[0].iter().map(|&word| [word; 2]).collect();
            for words in &words {
                let types = evaluators[0].word_types(shader);
                for ((endpoints, &word), ty) in endpoints.iter_mut().zip(words).zip(types) {
                    *endpoints = include(ty, *endpoints, word);
                }
            }
            for evaluator in &mut evaluators {
                evaluator.begin_cluster(shader, &endpoints);
                let upper = evaluator.bound_cluster(boxes);
                for words in &words {
                    evaluator.begin_with_words(shader, words);
                    assert_eq!(evaluator.shading_point(), (shader, &words[..]));
                    for (lane, directions) in directions.iter().enumerate() {
                        let bound = upper.map(|lanes| lanes[lane]);
                        for wi in directions.chunks(LANES) {
                            for (s, wi) in evaluator.evaluate(wi).iter().zip(wi) {
                                let name = &LIBRARY[shader].program.name;
                                let violation = (0..3).find(|&k| s[k] > bound[k]);
                                assert_eq!(
                                    violation, None,
                                    "{name}: {s} at {wi} exceeds {bound:?}"
                                );
                            }
                        }
                        all += 1;
                        finite += usize::from(bound[0] < f32::INFINITY);
                    }
                }
            }
        });
        assert!(finite > all / 2, "{finite} finite bounds of {all}");
    }

    #[test]
    fn intervals_follow_the_type_of_the_word() {
        let float = |x: f32| x.to_bits();
        let zeros = include(Type::F32, [float(0.0); 2], float(-0.0));
        assert_eq!(zeros, [float(-0.0), float(0.0)]);
        assert_eq!(include(Type::F32, [float(1.0); 2], float(-2.0)), [float(-2.0), float(1.0)]);
        assert_eq!(include(Type::I32, [3, 5], (-1i32) as u32), [(-1i32) as u32, 5]);
        assert_eq!(include(Type::Bool, [0, 0], u32::MAX), [0, u32::MAX]);
    }
}
