//! Samples lights from clusters, for one shading point.
//!
//! A light is sampled by descending the light tree from its cluster. The children of a node are
//! selected by their expected reflected light: the product of intensity, geometric factors (Conty
//! Estévez & Kulla 2018), and the material at the centre of the child, evaluated with the point
//! shader. All clusters descend together, one level at a time, so that one kernel call evaluates
//! the material for the children of many nodes.
//!
//! The material at the centre may miss highlights. So part of each probability is that without the
//! material (defensive mixture, Hesterberg 1995). It is positive for every light that may
//! contribute.

use super::lighting::{Lighting, ShadingPoint};
use crate::integrator::light_sampling::{ReceiverDomain, ReceiverPoint, center_directions};
use crate::integrator::material_bound::MAX_GROUPS;
use crate::light::Lights;
use crate::light_tree::{Child, LightKind, LightPoint, LightTree, WIDTH};
use lightbound_math::direction_box::Lanes;
use lightbound_math::sampling::luminance;
use lightbound_math::{Vec2, Vec3, vec2, vec3};

/// A cluster to sample a light from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cluster {
    pub kind: LightKind,
    pub child: Child,
}

/// A cluster, and the random numbers for sampling one of its lights.
#[derive(Clone, Copy, Debug)]
struct Draw {
    kind: LightKind,
    /// The part of the cluster reached so far; [`Child::None`] if no light may contribute.
    child: Child,
    probability: f32,
    /// Selects the light, uniform in [0, 1).
    selection: f64,
    /// Selects the position on the light.
    position: Vec2,
}

/// Samples lights. Buffers are reused.
pub(super) struct LightDraws<'a> {
    /// For each shader, whether its BRDF depends on the direction to the light.
    has_lobe: &'a [bool],
    draws: Vec<Draw>,
    /// Indices of draws that have not reached a leaf.
    active: Vec<u32>,
    weights: Vec<NodeWeights>,
    /// Sampled lights, each with its draw.
    lights: Vec<(LightPoint, usize)>,
}

/// Weights of the children of a node.
#[derive(Clone, Copy, Debug)]
struct NodeWeights {
    /// Without the material. Positive for children that may contribute.
    geometric: Lanes,
    /// Factor on the reflected light of a child with unit intensity.
    factor: Lanes,
    /// Upper limit of s: its mean over a solid angle.
    max_s: Lanes,
}

/// Fraction of the probability that does not depend on the material.
const DEFENSIVE_FRACTION: f32 = 0.125;

/// Smallest solid angle, sr, for which the material is limited by its albedo.
const MIN_SOLID_ANGLE: f32 = 1e-3;

/// Weight of the second of two random numbers with 24 bits.
const U_RESOLUTION: f64 = 1.0 / (1 << 24) as f64;

impl<'a> LightDraws<'a> {
    pub fn new(has_lobe: &'a [bool]) -> LightDraws<'a> {
        LightDraws {
            has_lobe,
            draws: Vec::new(),
            active: Vec::new(),
            weights: Vec::new(),
            lights: Vec::new(),
        }
    }

    /// Removes all clusters.
    pub fn clear(&mut self) {
        self.draws.clear();
    }

    /// Adds a cluster. `u` are random numbers in [0, 1).
    pub fn push(&mut self, Cluster { kind, child }: Cluster, u: [f32; 4]) {
        let [selection, x, y, low] = u;
        let selection = f64::from(selection) + f64::from(low) * U_RESOLUTION;
        let position = vec2(x, y);
        self.draws.push(Draw { kind, child, probability: 1.0, selection, position });
    }

    /// Samples a light of each cluster. Calls `add` with the number of the cluster and an estimate
    /// of the radiance that the point reflects from the cluster, if it is not 0.
    pub fn shade(
        &mut self,
        lighting: &mut Lighting<'_>,
        point: &ShadingPoint,
        lights: &Lights,
        mut add: impl FnMut(usize, Vec3),
    ) {
        self.descend(lighting, point);
        self.lights.clear();
        for (index, draw) in self.draws.iter().enumerate() {
            let Some((leaf, _)) = draw.leaf() else { continue };
            let light = lighting.tree.sample(lights, leaf, draw.position);
            if light.intensity != Vec3::ZERO {
                self.lights.push((light, index));
            }
        }
        let unit_radiance =
            lighting.shade_points(point, self.lights.iter().map(|(light, _)| *light));
        for (&unit, &(light, index)) in std::iter::zip(unit_radiance, &self.lights) {
            if unit != Vec3::ZERO {
                add(index, unit * (light.intensity / self.draws[index].probability));
            }
        }
    }

    /// Iterates over the sampled leaves with their probabilities; `None` if no light of the cluster
    /// may contribute.
    #[cfg(test)]
    pub fn leaves(&self) -> impl Iterator<Item = Option<(u32, f32)>> {
        self.draws.iter().map(Draw::leaf)
    }

    /// Descends the trees from all clusters to leaves.
    pub fn descend(&mut self, lighting: &mut Lighting<'_>, point: &ShadingPoint) {
        let receiver = receiver(point);
        let has_lobe = self.has_lobe[lighting.material.shading_point().0];
        self.active.clear();
        let is_node = |draw: &Draw| matches!(draw.child, Child::Node(_));
        let draws = (0..).zip(&self.draws).filter(|(_, draw)| is_node(draw));
        self.active.extend(draws.map(|(index, _)| index));
        while !self.active.is_empty() {
            for active in self.active.chunks(MAX_GROUPS) {
                self.weights.clear();
                for (group, &index) in active.iter().enumerate() {
                    let Draw { kind, child: Child::Node(index), .. } = self.draws[index as usize]
                    else {
                        unreachable!("active draws are at nodes")
                    };
                    self.weights.push(NodeWeights::new(lighting.tree, &receiver, kind, index));
                    if has_lobe {
                        let node = lighting.tree.node(index);
                        let directions = center_directions(&point.view, kind, &node);
                        lighting.material.set_group(group, &directions);
                    }
                }
                if has_lobe {
                    lighting.material.evaluate_groups(active.len());
                }
                for (group, &index) in active.iter().enumerate() {
                    let draw = &mut self.draws[index as usize];
                    let Child::Node(index) = draw.child else { continue };
                    let weights = &self.weights[group];
                    let weights = match has_lobe {
                        true => {
                            let s = lighting.material.group(group);
                            weights.with_material(lighting.tree, index, &s)
                        }
                        false => weights.geometric,
                    };
                    draw.select(lighting.tree, index, &weights);
                }
            }
            let draws = &self.draws;
            self.active.retain(|&index| is_node(&draws[index as usize]));
        }
    }
}

impl Draw {
    /// Returns the sampled leaf and its probability.
    fn leaf(&self) -> Option<(u32, f32)> {
        match self.child {
            Child::Leaf(leaf) => Some((leaf, self.probability)),
            _ => None,
        }
    }

    /// Continues at a child of a node, with a probability proportional to its weight.
    fn select(&mut self, tree: &LightTree, index: u32, weights: &Lanes) {
        let total: f32 = weights.iter().sum();
        // Rounding may leave a remainder after the last child.
        let Some(last) = weights.iter().rposition(|&weight| weight > 0.0) else {
            self.child = Child::None;
            return;
        };
        let mut remainder = self.selection * f64::from(total);
        let slot = (0..last).find(|&slot| {
            let is_selected = remainder < f64::from(weights[slot]);
            remainder -= if is_selected { 0.0 } else { f64::from(weights[slot]) };
            is_selected
        });
        let slot = slot.unwrap_or(last);
        self.selection = (remainder / f64::from(weights[slot])).min(MAX_SELECTION);
        self.probability *= weights[slot] / total;
        self.child = tree.child(index, slot);
    }
}

/// Greatest random number for a selection.
const MAX_SELECTION: f64 = 1.0 - f64::EPSILON;

impl NodeWeights {
    fn new(tree: &LightTree, receiver: &ReceiverPoint, kind: LightKind, index: u32) -> NodeWeights {
        let node = &*tree.node(index);
        let used = node.len();
        let LightKind::Virtual { min_distance_squared } = kind else {
            let (factors, geometric) = receiver.importance(kind, node, &tree.magnitude(index));
            return NodeWeights {
                geometric,
                factor: factors.irradiance,
                max_s: factors.solid_angle.map(|angle| 1.0 / angle.max(MIN_SOLID_ANGLE)),
            };
        };
        // Magnitudes are bounds, which may be far above. Intensities may cancel.
        let mut intensity = node.intensity;
        for channel in &mut intensity {
            for (slot, x) in channel.iter_mut().enumerate() {
                *x = if slot < used { x.abs().max(f32::MIN_POSITIVE) } else { 0.0 };
            }
        }
        let (factors, mut geometric) = receiver.importance(kind, node, &intensity);
        let bounds = node.geometric_bounds(kind, receiver.p);
        let mut factor = factors.irradiance;
        for slot in 0..WIDTH {
            // The light does not increase below the minimum distance.
            let limit = (factor[slot] * min_distance_squared).max(1.0);
            factor[slot] /= limit;
            geometric[slot] = match bounds[slot] > 0.0 && geometric[slot] > 0.0 {
                true => (geometric[slot] / limit).max(f32::MIN_POSITIVE),
                false => 0.0,
            };
        }
        let max_s = factors.solid_angle.map(|angle| 1.0 / angle.max(MIN_SOLID_ANGLE));
        NodeWeights { geometric, factor, max_s }
    }

    /// Returns probabilities of the children, which need not be normalized. `s` is the material at
    /// their centres.
    fn with_material(&self, tree: &LightTree, index: u32, s: &[Lanes; 3]) -> Lanes {
        let intensity = &tree.node(index).intensity;
        let mut reflected = [0.0; WIDTH];
        for (slot, reflected) in reflected.iter_mut().enumerate() {
            let channel = |c: usize| {
                // NaN becomes 0.
                let s = if s[c][slot] > 0.0 { s[c][slot] } else { 0.0 };
                s.min(self.max_s[slot]) * intensity[c][slot].abs()
            };
            let colour = vec3(channel(0), channel(1), channel(2));
            *reflected = match self.geometric[slot] > 0.0 {
                true => (luminance(colour) * self.factor[slot]).min(MAX_WEIGHT),
                false => 0.0,
            };
        }
        let sum: f32 = reflected.iter().sum();
        let geometric_sum: f32 = self.geometric.iter().sum();
        // Reciprocals of smaller numbers may overflow.
        if sum < f32::MIN_POSITIVE || geometric_sum < f32::MIN_POSITIVE {
            return self.geometric;
        }
        let [material, defensive] =
            [(1.0 - DEFENSIVE_FRACTION) / sum, DEFENSIVE_FRACTION / geometric_sum];
        std::array::from_fn(|slot| match self.geometric[slot] > 0.0 {
            true => (reflected[slot] * material + self.geometric[slot] * defensive)
                .max(f32::MIN_POSITIVE),
            false => 0.0,
        })
    }
}

/// Greatest weight: the sum of eight is finite.
const MAX_WEIGHT: f32 = f32::MAX / 64.0;

/// Returns which light a shading point receives.
fn receiver(point: &ShadingPoint) -> ReceiverPoint {
    let [.., n] = point.view.axes();
    let domain = match point.surface.ng {
        Vec3::ZERO => ReceiverDomain::Volume,
        _ => ReceiverDomain::Surface { n, both_sides: point.both_sides },
    };
    ReceiverPoint { p: point.surface.p, domain }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Floor;
    use super::*;
    use crate::light_tree::PointOptions;
    use crate::light_tree::testing::Random;
    use lightbound_math::sampling::testing::assert_chi_square;
    use std::collections::BTreeMap;

    /// A narrow lobe on a diffuse base.
    const GLOSSY: &str = "0.1 + pow(max(wi.z * wo.z - wi.x * wo.x - wi.y * wo.y, 0.0), 40.0)";

    /// Returns lights above and below the floor. Lights below contribute nothing. Every seventh
    /// light is bright.
    fn floor(brdf: &str) -> Floor {
        let random = &mut Random(1);
        let light = |k| (3.0 * random.cube(), if k % 7 == 0 { 5.0 } else { 0.5 });
        let lights: Vec<_> = (0..300).map(light).collect();
        let options = PointOptions { extents: true, ..PointOptions::default() };
        Floor::with_brdf(&lights, &options, brdf)
    }

    #[test]
    fn sampling_frequency_matches_probability() {
        const ROUNDS: u32 = 300;
        for (brdf, has_lobe) in [("0.25", false), (GLOSSY, true)] {
            floor(brdf).with_shading_point(vec3(0.3, 0.2, 0.0), |lighting, point| {
                let (kind, root) = lighting.tree.roots().next().expect("there are lights");
                let (flags, random) = ([has_lobe; 4], &mut Random(2));
                let mut draws = LightDraws::new(&flags);
                // More draws than the material is evaluated for at once.
                (0..3 * MAX_GROUPS).for_each(|_| {
                    draws.push(Cluster { kind, child: Child::Node(root) }, [0.0; 4]);
                });
                let mut sampled = BTreeMap::<u32, (u32, f32)>::new();
                let samples = ROUNDS * draws.draws.len() as u32;
                for _ in 0..ROUNDS {
                    for draw in &mut draws.draws {
                        let selection = f64::from(random.unit());
                        let (child, probability) = (Child::Node(root), 1.0);
                        *draw = Draw { child, probability, selection, ..*draw };
                    }
                    draws.descend(lighting, point);
                    for leaf in draws.leaves() {
                        let (leaf, probability) = leaf.expect("there are lights above the floor");
                        let (count, first) = sampled.entry(leaf).or_insert((0, probability));
                        *count += 1;
                        assert_eq!(*first, probability);
                    }
                }
                let total: f64 = sampled.values().map(|(_, p)| f64::from(*p)).sum();
                assert!(total > 0.99 && total < 1.0 + 1e-5, "{total}");
                // The remainder is the probability of lights that were never sampled.
                let remainder = (0, (1.0 - total as f32).max(1e-7));
                let (observed, expected): (Vec<u32>, Vec<f64>) = sampled
                    .values()
                    .chain([&remainder])
                    .map(|&(n, p)| (n, f64::from(p) * f64::from(samples)))
                    .unzip();
                assert_chi_square(&observed, &expected, brdf);
            });
        }
    }

    /// Returns the leaves that a draw from a node may reach.
    fn reachable(
        lighting: &Lighting<'_>,
        point: &ShadingPoint,
        kind: LightKind,
        root: u32,
    ) -> Vec<u32> {
        let (mut nodes, mut leaves) = (vec![root], vec![]);
        while let Some(index) = nodes.pop() {
            let weights = NodeWeights::new(lighting.tree, &receiver(point), kind, index);
            // A lobe that misses the centres of all children but one.
            let mut s = [[0.0; WIDTH]; 3];
            s[0][3] = f32::INFINITY;
            let weights = weights.with_material(lighting.tree, index, &s);
            let node = lighting.tree.node(index);
            for slot in (0..WIDTH).filter(|&slot| weights[slot] > 0.0) {
                match node.child(slot) {
                    Child::Leaf(leaf) => leaves.push(leaf),
                    Child::Node(child) => nodes.push(child),
                    Child::None => panic!("empty slots have weight 0"),
                }
            }
        }
        leaves
    }

    #[test]
    fn probabilities_are_finite_for_values_that_underflow() {
        let floor = floor("0.25");
        floor.with_shading_point(vec3(0.3, 0.2, 0.0), |lighting, point| {
            let (kind, root) = lighting.tree.roots().next().expect("there are lights");
            let weights = NodeWeights::new(lighting.tree, &receiver(point), kind, root);
            for s in [0.0, 1e-45, 1e-42, 1e-39, 1e-37, 1e-30, f32::MAX, f32::INFINITY, f32::NAN] {
                let mut material = [[0.0; WIDTH]; 3];
                for (slot, value) in [(0, s), (3, 0.5 * s), (5, 1e-3 * s)] {
                    material.iter_mut().for_each(|channel| channel[slot] = value);
                }
                let probabilities = weights.with_material(lighting.tree, root, &material);
                let total: f32 = probabilities.iter().sum();
                assert!(total > 0.0 && total.is_finite(), "{s:e}: {total}");
                for (probability, geometric) in probabilities.iter().zip(weights.geometric) {
                    assert_eq!(*probability > 0.0, geometric > 0.0, "{s:e}");
                }
            }
        });
    }

    #[test]
    fn lights_that_contribute_have_positive_probability() {
        let floor = floor("0.25");
        // The last points are close to a light, and far from all.
        let near = floor.tree().point(0).position.with_z(0.0);
        for p in [vec3(0.3, 0.2, 0.0), near, vec3(90.0, -80.0, 0.0)] {
            floor.with_shading_point(p, |lighting, point| {
                let (kind, root) = lighting.tree.roots().next().expect("there are lights");
                let leaves = reachable(lighting, point, kind, root);
                let lights = lighting.tree.points().len() as u32;
                let shaded = lighting.shade(point, 0..lights);
                let contributing: Vec<u32> =
                    (0..lights).filter(|&light| shaded[light as usize] != Vec3::ZERO).collect();
                assert!(contributing.len() > 100, "{}", contributing.len());
                assert!(contributing.iter().all(|light| leaves.contains(light)), "at {p}");
            });
        }
    }
}
