//! Light at one point: what clusters may send at most, and what single lights do send.

use crate::accel::Accel;
use crate::geometry::Surface;
use crate::integrator::CutCounts;
use crate::integrator::material_bound::BoundsAt;
use crate::light_tree::{Child, Kind, LightPoint, LightTree, Node, WIDTH};
use crate::math::{Ray, Vec3, Viewpoint, vec3};
use crate::sampling::{hash, luminance};
use crate::scene::Scene;
use std::time::Instant;

/// A point that is lit.
#[derive(Clone, Copy)]
pub(super) struct Point<'a> {
    /// The surface.
    pub surface: &'a Surface,
    /// The point with its shading frame.
    pub view: Viewpoint,
    /// Whether light from below is scattered, too.
    pub both_sides: bool,
    /// Whether time is taken here.
    pub is_timed: bool,
}

/// What lights one point after the other; buffers stay.
pub(super) struct Lighting<'a> {
    /// All lights.
    pub tree: &'a LightTree,
    /// Stands at the point.
    pub material: BoundsAt<'a>,
    /// What was done so far.
    pub counts: CutCounts,
    accel: &'a dyn Accel,
    /// Whether bounds are held against what single lights send.
    checks: bool,
    arriving: Vec<Arriving>,
    directions: Vec<Vec3>,
    units: Vec<Vec3>,
    rays: Vec<Ray>,
    blocked: Vec<bool>,
}

/// Light on its way to a point.
#[derive(Clone, Copy)]
struct Arriving {
    /// Position among the lights that were asked for.
    index: usize,
    /// Irradiance per unit of intensity.
    factor: f32,
    ray: Ray,
}

impl<'a> Lighting<'a> {
    pub fn new(
        scene: &'a Scene,
        tree: &'a LightTree,
        material: BoundsAt<'a>,
        checks: bool,
    ) -> Lighting<'a> {
        Lighting {
            tree,
            material,
            counts: CutCounts::default(),
            accel: &*scene.accel,
            checks,
            arriving: Vec::new(),
            directions: Vec::new(),
            units: Vec::new(),
            rays: Vec::new(),
            blocked: Vec::new(),
        }
    }

    /// For each child of a node, a bound of the luminance that it sends to the point and that is
    /// reflected there: 0 where none is, infinite where nothing is known.
    pub fn bound(&mut self, at: &Point<'_>, kind: Kind, index: u32) -> [f32; WIDTH] {
        let start = at.is_timed.then(Instant::now);
        let (node, magnitude) = (self.tree.node(index), self.tree.magnitude(index));
        let factors = node.geometric_bounds(kind, at.surface.p);
        let boxes = match kind {
            Kind::Directional => at.view.to_directions(&node.axis, &node.cos_angle),
            Kind::Omni | Kind::Oriented => at.view.to_positions(&node.lo, &node.hi),
        };
        let s = self.material.bound(&boxes);
        self.counts.bound_evaluations += node.len() as u64;
        if self.checks {
            self.check(at, node, &factors, &s);
        }
        let bound = |slot: usize| {
            let [reflected, intensity] =
                [&s, magnitude].map(|of| vec3(of[0][slot], of[1][slot], of[2][slot]));
            let whole = luminance(product(reflected, intensity));
            if whole == 0.0 || factors[slot] == 0.0 { 0.0 } else { whole * factors[slot] * UP }
        };
        // What is not a number is not known.
        let bounds =
            std::array::from_fn(|slot| if slot < node.len() { known(bound(slot)) } else { 0.0 });
        if let Some(start) = start {
            self.counts.times.bounds += start.elapsed();
        }
        bounds
    }

    /// What is reflected of lights, each with an intensity of 1, shadows included.
    pub fn shade(&mut self, at: &Point<'_>, lights: impl IntoIterator<Item = u32>) -> &[Vec3] {
        let tree = self.tree;
        self.shade_points(at, lights.into_iter().map(|light| *tree.point(light)))
    }

    /// The same of lights that are no part of the tree.
    pub fn shade_points(
        &mut self,
        at: &Point<'_>,
        lights: impl IntoIterator<Item = LightPoint>,
    ) -> &[Vec3] {
        let start = at.is_timed.then(Instant::now);
        self.units.clear();
        self.arriving.clear();
        self.directions.clear();
        for light in lights {
            self.arrive(at, &light);
        }
        for first in (0..self.directions.len()).step_by(WIDTH) {
            let end = (first + WIDTH).min(self.directions.len());
            let s = self.material.evaluate(&self.directions[first..end]);
            for (arriving, s) in self.arriving[first..end].iter().zip(s) {
                self.units[arriving.index] = s * arriving.factor;
            }
        }
        self.counts.representatives += self.directions.len() as u64;
        let shaded = at.is_timed.then(Instant::now);
        let units = &self.units;
        self.arriving.retain(|arriving| units[arriving.index] != Vec3::ZERO);
        self.rays.clear();
        self.rays.extend(self.arriving.iter().map(|arriving| arriving.ray));
        self.accel.occluded_batch(&self.rays, &mut self.blocked);
        for (arriving, _) in
            self.arriving.iter().zip(&self.blocked).filter(|(_, blocked)| **blocked)
        {
            self.units[arriving.index] = Vec3::ZERO;
        }
        self.counts.shadow_rays += self.rays.len() as u64;
        if let (Some(start), Some(shaded)) = (start, shaded) {
            self.counts.times.shading += shaded - start;
            self.counts.times.visibility += shaded.elapsed();
        }
        &self.units
    }

    /// Adds a light to those that are shaded.
    fn arrive(&mut self, at: &Point<'_>, light: &LightPoint) {
        let index = self.units.len();
        self.units.push(Vec3::ZERO);
        let Some(arrival) = light.arrive(at.surface.p) else { return };
        let wi = at.view.local_direction(arrival.wi);
        if !at.both_sides && wi.z <= 0.0 {
            return;
        }
        let origin = at.surface.origin_towards(arrival.wi);
        let ray = match arrival.target {
            Some(target) => Ray::segment(origin, target),
            None => Ray::new(origin, arrival.wi),
        };
        self.directions.push(wi);
        self.arriving.push(Arriving { index, factor: arrival.factor, ray });
    }

    /// Holds bounds of the children of a node against a light of each, without shadows.
    fn check(
        &mut self,
        at: &Point<'_>,
        node: &Node,
        factors: &[f32; WIDTH],
        s: &[[f32; WIDTH]; 3],
    ) {
        for slot in 0..node.len() {
            let seed = self.counts.checks as u32;
            let Some(arrival) =
                self.tree.point(self.any_light(node.child(slot), seed)).arrive(at.surface.p)
            else {
                continue;
            };
            let reflected = self.material.evaluate(&[at.view.local_direction(arrival.wi)])[0];
            let holds = arrival.factor <= factors[slot]
                && (0..3).all(|c| reflected[c] <= s[c][slot] || reflected[c].is_nan());
            self.counts.checks += 1;
            self.counts.violations += u64::from(!holds);
        }
    }

    /// A light below a child, by hashes.
    fn any_light(&self, mut child: Child, mut seed: u32) -> u32 {
        loop {
            match child {
                Child::Leaf(light) => return light,
                Child::None => unreachable!("nodes have children in their first slots"),
                Child::Node(index) => {
                    let node = self.tree.node(index);
                    seed = hash(seed, index);
                    child = node.child(seed as usize % node.len());
                }
            }
        }
    }
}

/// Makes up for rounding: sums of intensities, their products with bounds, luminance and factor are
/// off by less than 8 · 2⁻²⁴ all in all.
const UP: f32 = 1.0 + 4.0 * f32::EPSILON;

/// Product of a bound and an intensity; nothing of what has no bound is nothing.
fn product(bound: Vec3, intensity: Vec3) -> Vec3 {
    Vec3::select(intensity.cmpeq(Vec3::ZERO), Vec3::ZERO, bound * intensity)
}

/// A bound that is not a number says nothing.
fn known(bound: f32) -> f32 {
    if bound.is_nan() { f32::INFINITY } else { bound }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Floor;
    use super::*;
    use crate::light_tree::PointOptions;

    const ORIGIN: Vec3 = Vec3::ZERO;

    /// Lights in a row over the floor, one light of which hangs below.
    fn row() -> Vec<(Vec3, f32)> {
        (0..40)
            .map(|k| (vec3(k as f32 - 20.0, 0.0, if k == 17 { -1.0 } else { 2.0 }), 1.0))
            .collect()
    }

    #[test]
    fn what_is_below_sends_nothing_and_bounds_are_above_the_rest() {
        let floor = Floor::new(&row(), &PointOptions::default());
        floor.at(ORIGIN, |lighting, point| {
            let points = lighting.tree.points();
            let units = lighting.shade(point, 0..points.len() as u32).to_vec();
            for (unit, light) in units.iter().zip(points) {
                let d2 = light.position.length_squared();
                // 1/4 · cos / d², cos = z / d.
                let expected = 0.25 * light.position.z.max(0.0) / (d2 * d2.sqrt());
                assert!(
                    (unit.x - expected).abs() <= 1e-5 * expected,
                    "{unit} at {}",
                    light.position
                );
            }
            assert_eq!((lighting.counts.shadow_rays, lighting.counts.representatives), (39, 39));
            let (kind, root) = lighting.tree.roots().next().unwrap();
            let bounds = lighting.bound(point, kind, root);
            let node = lighting.tree.node(root);
            let sum: f32 = units.iter().map(|unit| unit.x).sum();
            assert!(bounds.iter().sum::<f32>() >= sum * 0.99999);
            assert!(
                (0..WIDTH)
                    .all(|slot| bounds[slot] >= 0.0 && (slot < node.len() || bounds[slot] == 0.0)),
                "{bounds:?}"
            );
            assert!(lighting.counts.checks > 0);
        });
    }

    #[test]
    fn things_in_the_way_cast_shadows() {
        // The floor is between: seen from its upper side, and lit from there, all is clear.
        let floor = Floor::new(&row(), &PointOptions::default());
        let lit = |z: f32| {
            floor.at(vec3(0.0, 0.0, z), |lighting, point| {
                lighting.shade(point, 0..40).iter().filter(|s| s.x > 0.0).count()
            })
        };
        assert_eq!((lit(0.0), lit(-0.5)), (39, 0));
    }

    #[test]
    fn nothing_of_what_has_no_bound_is_nothing() {
        let infinite = Vec3::splat(f32::INFINITY);
        assert_eq!(product(infinite, vec3(0.0, 2.0, 0.0)), vec3(0.0, f32::INFINITY, 0.0));
        assert_eq!(product(vec3(1.0, 2.0, 3.0), vec3(2.0, 0.0, 1.0)), vec3(2.0, 0.0, 3.0));
        assert_eq!((known(f32::NAN), known(0.0), known(2.0)), (f32::INFINITY, 0.0, 2.0));
    }
}
