//! Upper bounds on pairs of a cluster of gather points and a cluster of lights, and the light of
//! single pairs.
//!
//! The bound on a pair is the product of the weight of the gather points, bounds on the material
//! s(x̂, ω̂) and on the geometric factor over both clusters, and the intensity of the lights. The
//! geometric factor and directions depend on differences of positions only. So the box of the gather
//! points extends that of the lights, as seen from the representative. For a single gather point,
//! the bounds are those of lightcuts at one point.

use super::super::lighting::{Lighting, ShadingPoint};
use super::point::GatherPoints;
use super::tree::{GatherNode, GatherTree};
use crate::light_tree::{LightKind, Node, WIDTH};
use lightbound_math::sampling::{hash, unit_float};
use lightbound_math::{DirectionBoxes, Vec3, Viewpoint};
use std::time::Instant;

/// The gather points of a group under the lights.
pub struct Group<'a, 'b> {
    pub lighting: &'a mut Lighting<'b>,
    pub tree: &'a GatherTree,
    points: &'a GatherPoints,
    /// The shading point of the material.
    current: Option<u32>,
    /// The cluster of the material.
    current_cluster: Option<u32>,
    is_timed: bool,
}

impl<'a, 'b> Group<'a, 'b> {
    pub fn new(
        lighting: &'a mut Lighting<'b>,
        points: &'a GatherPoints,
        tree: &'a GatherTree,
        is_timed: bool,
    ) -> Group<'a, 'b> {
        Group { lighting, tree, points, current: None, current_cluster: None, is_timed }
    }

    /// Returns the roots of the light trees that illuminate a gather tree, given by its root.
    pub fn light_roots(&self, gather: u32) -> impl Iterator<Item = (LightKind, u32)> + use<'b> {
        let representative = self.tree.node(gather).representative;
        self.lighting.roots(&self.points.get(representative).point)
    }

    /// Returns the number of gather points.
    pub fn len(&self) -> u32 {
        let roots = self.tree.roots().iter();
        roots.map(|&root| self.tree.points(self.tree.node(root)).len() as u32).sum()
    }

    /// Sets the shading point of the material.
    pub fn begin(&mut self, point: u32) -> ShadingPoint {
        if self.current != Some(point) {
            let shader = self.points.get(point).shader;
            self.lighting.material.begin_with_words(shader, self.points.words(point));
            self.current = Some(point);
        }
        self.points.shading_point(point, self.is_timed)
    }

    /// Selects the point that stands for a cluster in pairs with the children of a light node. It
    /// depends on both nodes: errors of one point for all lights would add up.
    pub fn representative(&self, gather: u32, light: u32) -> u32 {
        let seed = self.points.get(self.tree.node(gather).representative).point.seed;
        self.tree.sample(gather, unit_float(hash(hash(seed, gather), light))).0
    }

    /// Returns the radiance that a point reflects from each light, scaled to an intensity of 1. It
    /// includes shadows.
    pub fn shade(&mut self, point: u32, lights: impl IntoIterator<Item = u32>) -> &[Vec3] {
        let point = self.begin(point);
        self.lighting.shade(&point, lights)
    }

    /// Returns upper bounds on the luminance that the points of a cluster reflect, weighted, from
    /// each child of a light node. Bounds may be infinite.
    pub fn bound(&mut self, gather: u32, kind: LightKind, index: u32) -> [f32; WIDTH] {
        let start = self.is_timed.then(Instant::now);
        let tree = self.tree;
        let cluster = tree.node(gather);
        let lights = &*self.lighting.tree.node(index);
        let factors = lights.geometric_bounds_over(kind, cluster.bounds);
        let view = &self.points.get(cluster.representative).point.view;
        let boxes = direction_boxes(cluster, view, kind, lights);
        let s = if cluster.children.is_none() {
            self.begin(cluster.representative);
            self.lighting.material.bound(&boxes)
        } else {
            let material = &mut self.lighting.material;
            if self.current_cluster != Some(gather) {
                material.begin_cluster(cluster.shader, tree.endpoints(cluster));
                self.current_cluster = Some(gather);
            }
            material.bound_cluster(&boxes)
        };
        if self.lighting.check_bounds {
            self.check(cluster, lights, &factors, &s);
        }
        let node = (kind, index);
        let bounds = self.lighting.products(cluster.bounds, cluster.magnitude, node, &factors, &s);
        if let Some(start) = start {
            self.lighting.counts.times.bounds += start.elapsed();
        }
        bounds
    }

    /// Checks the bound of each child of a light node for one of its lights and a point of the
    /// cluster, without shadows.
    fn check(
        &mut self,
        cluster: &GatherNode,
        lights: &Node,
        factors: &[f32; WIDTH],
        s: &[[f32; WIDTH]; 3],
    ) {
        let points = self.tree.points(cluster);
        for slot in 0..lights.len() {
            let seed = self.lighting.counts.checks as u32;
            let point = points[hash(seed, 0) as usize % points.len()];
            let light = self.lighting.random_light(lights.child(slot), seed);
            let shading_point = self.begin(point);
            let light = self.lighting.tree.point(light);
            let Some(incident) = light.incident_light(shading_point.surface.p) else { continue };
            let wi = shading_point.view.local_direction(incident.wi);
            let reflected = self.lighting.material.evaluate(&[wi])[0];
            let factor = self.lighting.factor(&light, &incident);
            let holds = (factor <= factors[slot] || factor.is_nan())
                && (0..3).all(|c| reflected[c] <= s[c][slot] || reflected[c].is_nan());
            self.lighting.counts.checks += 1;
            self.lighting.counts.violations += u64::from(!holds);
        }
    }
}

/// Returns boxes around the directions from the points of a cluster to the lights of each child of a
/// node, in the frames of the points. `view` is that of the representative.
fn direction_boxes(
    cluster: &GatherNode,
    view: &Viewpoint,
    kind: LightKind,
    lights: &Node,
) -> DirectionBoxes {
    let is_point = cluster.children.is_none();
    let mut boxes = match kind {
        LightKind::Directional => view.to_directions(&lights.axis, &lights.cos_angle),
        LightKind::Omni | LightKind::Oriented | LightKind::Virtual { .. } if is_point => {
            view.to_positions(&lights.lo, &lights.hi)
        }
        LightKind::Omni | LightKind::Oriented | LightKind::Virtual { .. } => {
            let p = view.position();
            let (mut lo, mut hi) = (lights.lo, lights.hi);
            for k in 0..3 {
                let above = (cluster.bounds.max[k] - p[k]).next_up();
                let below = (cluster.bounds.min[k] - p[k]).next_down();
                lo[k].iter_mut().for_each(|lo| *lo = (*lo - above).next_down());
                hi[k].iter_mut().for_each(|hi| *hi = (*hi - below).next_up());
            }
            view.to_positions(&lo, &hi)
        }
    };
    if !is_point {
        boxes.widen(cluster.margins);
    }
    boxes
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::Floor;
    use super::*;
    use crate::light_tree::PointOptions;
    use crate::light_tree::testing::Random;

    #[test]
    fn bounds_of_single_points_are_those_of_lightcuts() {
        let random = &mut Random(1);
        let lights: Vec<_> =
            (0..200).map(|_| (random.cube() + 1.5 * Vec3::Z, random.unit())).collect();
        let floor = Floor::with_brdf(&lights, &PointOptions::default(), "pow(wi.z * wo.z, 9.0)");
        let bounds = floor.cluster_bounds();
        let mut lighting = floor.lighting(&bounds);
        let (mut points, wo) = (GatherPoints::default(), (Vec3::X + Vec3::Z).normalize());
        let (kind, root) = lighting.tree.roots().next().expect("there are lights");
        let expected = floor.shade_at(&mut lighting, 0.3 * Vec3::X, wo, |lighting, point| {
            points.add(lighting, point, 0, Vec3::ONE, 1.0);
            lighting.bound(point, kind, root)
        });
        let mut tree = GatherTree::default();
        tree.build(&points, &mut [0], &lighting);
        let bounds = Group::new(&mut lighting, &points, &tree, false).bound(0, kind, root);
        for (bound, expected) in std::iter::zip(bounds, expected) {
            assert!(bound >= expected && bound <= expected * 1.00001, "{bound} {expected}");
        }
    }
}
