//! Stochastic lightcuts (Yuksel 2019): a cut of fixed size, and of each of its clusters one light
//! that is drawn anew for each sample. The mean of many samples is the full sum, of the lights
//! themselves: a place on the piece of the light that a leaf stands for is drawn as well.
//!
//! A light is drawn by going down from its cluster. At each node, half of the probability is
//! proportional to the bounds of the children, which are 0 where nothing is reflected; the other
//! half, over those that are not 0, to intensity over squared distance. A bound alone is a poor
//! probability where it is loose (Tokuyoshi et al. 2024), and the other part alone misses
//! highlights.

use super::lighting::{Lighting, Point};
use super::ranked::Ranked;
use crate::light::Lights;
use crate::light_tree::{Child, Kind, LightPoint, LightTree, WIDTH};
use crate::math::{Vec2, Vec3, vec3};
use crate::sampling::luminance;
use std::collections::BinaryHeap;

/// Draws, one point after the other; buffers stay.
#[derive(Default)]
pub(super) struct Drawing {
    heap: BinaryHeap<Ranked>,
    /// Those that were replaced are `None`.
    clusters: Vec<Option<(Kind, Child)>>,
    /// Those that were not.
    size: usize,
    /// Lights that were drawn, each with its intensity over its probability.
    drawn: Vec<(LightPoint, Vec3)>,
}

/// What came of it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Drawn {
    /// Estimate of the light reflected.
    pub radiance: Vec3,
    /// Clusters.
    pub size: u32,
}

impl Drawing {
    /// Light that a point reflects, estimated by a cut of about `size` clusters; `random` gives
    /// numbers in [0, 1).
    pub fn light(
        &mut self,
        lighting: &mut Lighting<'_>,
        at: &Point<'_>,
        lights: &Lights,
        size: u32,
        mut random: impl FnMut() -> f32,
    ) -> Drawn {
        self.select(lighting, at, size);
        self.drawn.clear();
        for index in 0..self.clusters.len() {
            let drawn = self.clusters[index]
                .and_then(|(kind, child)| descend(lighting, at, kind, child, &mut random));
            let Some((leaf, probability)) = drawn else { continue };
            let light = lighting.tree.draw(lights, leaf, Vec2::new(random(), random()));
            if light.intensity != Vec3::ZERO {
                self.drawn.push((light, light.intensity / probability));
            }
        }
        let units = lighting.shade_points(at, self.drawn.iter().map(|(light, _)| *light));
        let radiance =
            units.iter().zip(&self.drawn).map(|(&unit, (_, weight))| unit * *weight).sum();
        Drawn { radiance, size: self.size as u32 }
    }

    /// Finds the clusters: the one with the greatest bound is replaced by its children until there
    /// are so many.
    fn select(&mut self, lighting: &mut Lighting<'_>, at: &Point<'_>, size: u32) {
        self.heap.clear();
        self.clusters.clear();
        self.size = 0;
        for (kind, root) in lighting.tree.roots() {
            self.push(f32::INFINITY, kind, Child::Node(root));
        }
        while let Some(worst) = self.heap.peek() {
            let cluster = &mut self.clusters[worst.index as usize];
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
            let bounds = lighting.bound(at, kind, index);
            for slot in (0..node.len()).filter(|&slot| bounds[slot] > 0.0) {
                self.push(bounds[slot], kind, node.child(slot));
            }
        }
    }

    fn push(&mut self, bound: f32, kind: Kind, child: Child) {
        if let Child::Node(_) = child {
            self.heap.push(Ranked { value: bound, index: self.clusters.len() as u32 });
        }
        self.clusters.push(Some((kind, child)));
        self.size += 1;
    }
}

/// Draws a light of a cluster: its number, and the probability of it; `None` where all send
/// nothing.
fn descend(
    lighting: &mut Lighting<'_>,
    at: &Point<'_>,
    kind: Kind,
    mut child: Child,
    random: &mut impl FnMut() -> f32,
) -> Option<(u32, f32)> {
    let mut probability = 1.0;
    loop {
        let index = match child {
            Child::Leaf(light) => return Some((light, probability)),
            Child::Node(index) => index,
            Child::None => unreachable!("bounds of what is not there are 0"),
        };
        let node = lighting.tree.node(index);
        let bounds = lighting.bound(at, kind, index);
        let weights = weights(lighting.tree, kind, index, at.surface.p, &bounds);
        let total: f32 = weights.iter().sum();
        let mut rest = random() * total;
        // Rounding may leave something behind the last one.
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

/// Weights by which children are drawn: positive where bounds are.
fn weights(
    tree: &LightTree,
    kind: Kind,
    index: u32,
    p: Vec3,
    bounds: &[f32; WIDTH],
) -> [f32; WIDTH] {
    let (node, magnitude) = (tree.node(index), tree.magnitude(index));
    let near: [f32; WIDTH] = std::array::from_fn(|slot| {
        if slot >= node.len() || bounds[slot] == 0.0 {
            return 0.0;
        }
        let falloff = match kind {
            Kind::Directional => 1.0,
            Kind::Omni | Kind::Oriented => {
                let aabb = node.bounds(slot);
                aabb.center().distance_squared(p).max(0.25 * (aabb.max - aabb.min).length_squared())
            }
        };
        luminance(vec3(magnitude[0][slot], magnitude[1][slot], magnitude[2][slot])) / falloff
    });
    let [bound_sum, near_sum] = [bounds, &near].map(|values| values.iter().sum::<f32>());
    let [by_bound, by_distance] = [bound_sum, near_sum].map(|sum| sum > 0.0 && sum < f32::INFINITY);
    std::array::from_fn(|slot| {
        let mut weight = 0.0;
        if by_bound {
            weight += bounds[slot] / bound_sum;
        }
        if by_distance {
            weight += near[slot] / near_sum;
        }
        match by_bound || by_distance {
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
    use crate::sampling::testing::assert_chi_square;
    use crate::sampling::{hash, unit_float};
    use std::collections::BTreeMap;

    /// Lights over the floor, and as many below, which send nothing; every seventh is bright.
    fn lights() -> Vec<(Vec3, f32)> {
        let mut random = numbers(1);
        let mut cube = || 2.0 * vec3(random(), random(), random()) - 1.0;
        (0..300).map(|k| (3.0 * cube(), if k % 7 == 0 { 5.0 } else { 0.5 })).collect()
    }

    fn numbers(seed: u32) -> impl FnMut() -> f32 {
        let mut count = 0;
        move || {
            count += 1;
            unit_float(hash(seed, count))
        }
    }

    #[test]
    fn lights_are_drawn_as_often_as_is_said() {
        const DRAWS: u32 = 20_000;
        let floor =
            Floor::new(&lights(), &PointOptions { extents: true, ..PointOptions::default() });
        floor.at(vec3(0.3, 0.2, 0.0), |lighting, point| {
            let (kind, root) = lighting.tree.roots().next().unwrap();
            let mut random = numbers(2);
            let mut drawn = BTreeMap::<u32, (u32, f32)>::new();
            for _ in 0..DRAWS {
                let (light, probability) =
                    descend(lighting, point, kind, Child::Node(root), &mut random).unwrap();
                let (count, known) = drawn.entry(light).or_insert((0, probability));
                *count += 1;
                assert_eq!(*known, probability);
            }
            let all: f64 = drawn.values().map(|(_, p)| f64::from(*p)).sum();
            assert!(all > 0.99 && all < 1.0 + 1e-5, "{all}");
            // The rest is for those that were never met.
            let rest = (0, (1.0 - all as f32).max(1e-7));
            let (observed, expected): (Vec<u32>, Vec<f64>) = drawn
                .values()
                .chain([&rest])
                .map(|&(n, p)| (n, f64::from(p) * f64::from(DRAWS)))
                .unzip();
            assert_chi_square(&observed, &expected, "lights");
            // All that send something can be drawn.
            let sending: Vec<u32> =
                (0..300).filter(|&light| lighting.shade(point, [light])[0] != Vec3::ZERO).collect();
            assert!(sending.len() > 100 && sending.iter().all(|light| drawn.contains_key(light)));
        });
    }

    #[test]
    fn means_are_the_full_sum_whatever_the_size_of_cuts() {
        let floor =
            Floor::new(&lights(), &PointOptions { extents: true, ..PointOptions::default() });
        floor.at(vec3(0.3, 0.2, 0.0), |lighting, point| {
            let all: Vec<u32> = (0..lighting.tree.points().len() as u32).collect();
            let intensities: Vec<Vec3> =
                lighting.tree.points().iter().map(|p| p.intensity).collect();
            let units = lighting.shade(point, all);
            let full = units
                .iter()
                .zip(intensities)
                .map(|(&unit, intensity)| f64::from((unit * intensity).x))
                .sum::<f64>();
            let mut drawing = Drawing::default();
            for (size, n) in [(1, 8000), (8, 3000), (64, 500), (1000, 1)] {
                let mut random = numbers(size);
                let (mut sum, mut squares) = (0.0, 0.0);
                for _ in 0..n {
                    let found = drawing.light(lighting, point, floor.lights(), size, &mut random);
                    assert!(found.size <= size);
                    let x = f64::from(found.radiance.x);
                    (sum, squares) = (sum + x, squares + x * x);
                }
                let mean = sum / f64::from(n);
                let deviation =
                    ((squares / f64::from(n) - mean * mean).max(0.0) / f64::from(n)).sqrt();
                assert!(
                    (mean - full).abs() <= 4.0 * deviation + 1e-5 * full,
                    "{size}: {mean}, {full}, {deviation}"
                );
                assert!(deviation < 0.03 * full, "{size}: the test is sharp");
            }
        });
    }

    #[test]
    fn weights_are_positive_where_bounds_are() {
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
