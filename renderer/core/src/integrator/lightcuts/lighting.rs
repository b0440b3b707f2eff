//! Direct light at one shading point: upper bounds for clusters, exact values for single lights.

use super::virtual_lights::{EmissionQuery, VirtualLightEvaluator};
use crate::geometry::Surface;
use crate::integrator::material_bound::BoundEvaluator;
use crate::integrator::medium_rays::{MediumRays, has_media, medium_index, separates_media};
use crate::integrator::shadow_terminator::soft_factor;
use crate::integrator::{CutCounts, ShadingCounts};
use crate::light::Lights;
use crate::light_tree::{
    Child, Emission, IncidentColumns, IncidentLight, LightKind, LightPoint, LightTree, Node, WIDTH,
};
use crate::medium::{ChannelWeights, Medium, MediumInterface, Walk};
use crate::scene::Scene;
use fearless_simd::dispatch;
use lightbound_math::direction_box::{Lanes, lane_vector};
use lightbound_math::sampling::{RandomStream, hash, luminance};
use lightbound_math::{Aabb, Ray, Vec3, Viewpoint, simd_level, vec3};
use std::time::Instant;

/// A shading point.
#[derive(Clone, Copy, Debug)]
pub(super) struct ShadingPoint {
    /// The surface. In a medium, it has no normal, and its frame is around the outgoing direction.
    pub surface: Surface,
    /// The point with its shading frame.
    pub view: Viewpoint,
    /// Whether light from below the surface is scattered as well.
    pub both_sides: bool,
    /// The media on the sides of the surface; twice the same for a point in a medium.
    pub media: MediumInterface,
    /// Seed for estimates of the transmittance.
    pub seed: u32,
    /// Time of the path, seconds.
    pub time: f32,
    /// Whether the material is multiplied by [`soft_factor`]. Bounds hold without it, since it is at
    /// most 1.
    pub has_soft_terminator: bool,
    /// Whether virtual lights illuminate the point.
    pub has_virtual_lights: bool,
    /// Whether the work at this point is timed.
    pub is_timed: bool,
}

/// Evaluates direct light on one thread, for one shading point after another. Buffers are reused.
pub(super) struct Lighting<'a> {
    /// The trees of all lights.
    pub tree: &'a LightTree,
    /// The material at the shading point.
    pub material: BoundEvaluator<'a>,
    pub counts: CutCounts,
    scene: &'a Scene,
    /// Rays through media, if there are any.
    media: Option<MediumRays<'a>>,
    /// Lower bound on the extinction coefficient everywhere, 1/m.
    min_extinction: f32,
    /// The lights of the scene, if [`Lights::have_masks`].
    masked_lights: Option<&'a Lights>,
    /// The virtual lights, if there are any.
    virtual_lights: Option<VirtualLightEvaluator<'a>>,
    /// Whether bounds are checked against single lights.
    pub check_bounds: bool,
    /// The requested lights.
    lights: Vec<LightPoint>,
    pending: Vec<PendingLight>,
    /// The virtual lights among the pending lights, in order, and their emissions.
    queries: Vec<EmissionQuery>,
    emissions: Vec<Vec3>,
    unit_radiance: Vec<Vec3>,
    rays: Vec<Ray>,
    blocked: Vec<bool>,
}

/// Incident light, before its shadow ray is traced.
#[derive(Clone, Copy)]
struct PendingLight {
    /// Index among the requested lights.
    index: usize,
    ray: Ray,
    /// Whether the radiance lacks the emission of a virtual light.
    is_virtual: bool,
}

impl<'a> Lighting<'a> {
    pub fn new(
        scene: &'a Scene,
        tree: &'a LightTree,
        material: BoundEvaluator<'a>,
        check_bounds: bool,
    ) -> Lighting<'a> {
        Lighting {
            tree,
            material,
            counts: CutCounts::default(),
            scene,
            media: has_media(scene).then(|| MediumRays::new(scene)),
            min_extinction: min_extinction(scene),
            masked_lights: scene.lights.have_masks().then_some(&scene.lights),
            virtual_lights: None,
            check_bounds,
            lights: Vec::new(),
            pending: Vec::new(),
            queries: Vec::new(),
            emissions: Vec::new(),
            unit_radiance: Vec::new(),
            rays: Vec::new(),
            blocked: Vec::new(),
        }
    }

    /// Adds the evaluator of the virtual lights in the tree.
    pub fn with_virtual_lights(
        self,
        virtual_lights: Option<VirtualLightEvaluator<'a>>,
    ) -> Lighting<'a> {
        Lighting { virtual_lights, ..self }
    }

    /// Returns and resets the counts of shader evaluations for virtual lights.
    pub fn take_virtual_light_counts(&mut self) -> ShadingCounts {
        let evaluator = self.virtual_lights.as_mut();
        evaluator.map_or(ShadingCounts::default(), VirtualLightEvaluator::take_counts)
    }

    /// Iterates over the roots of the trees that illuminate a point.
    pub fn roots(&self, point: &ShadingPoint) -> impl Iterator<Item = (LightKind, u32)> + use<'a> {
        let all = point.has_virtual_lights;
        self.tree.roots().filter(move |(kind, _)| all || !matches!(kind, LightKind::Virtual { .. }))
    }

    /// Returns the diagonal of the scene's bounding box.
    pub fn scene_size(&self) -> f32 {
        let bounds = self.scene.accel.bounds();
        (bounds.max - bounds.min).length()
    }

    /// Returns upper bounds on the luminance that the point reflects from each child of a node.
    /// Bounds may be infinite.
    pub fn bound(&mut self, point: &ShadingPoint, kind: LightKind, index: u32) -> [f32; WIDTH] {
        let start = point.is_timed.then(Instant::now);
        let node = &*self.tree.node(index);
        let factors = node.geometric_bounds(kind, point.surface.p);
        let boxes = match kind {
            LightKind::Directional => point.view.to_directions(&node.axis, &node.cos_angle),
            LightKind::Omni | LightKind::Oriented | LightKind::Virtual { .. } => {
                point.view.to_positions(&node.lo, &node.hi)
            }
        };
        let s = self.material.bound(&boxes);
        if self.check_bounds {
            self.check(point, node, &factors, &s);
        }
        let p = Aabb { min: point.surface.p, max: point.surface.p };
        let bounds = self.products(p, Vec3::ONE, (kind, index), &factors, &s);
        if let Some(start) = start {
            self.counts.times.bounds += start.elapsed();
        }
        bounds
    }

    /// Returns upper bounds on the luminance that points in the box `p`, with a total weight of
    /// `weight`, reflect from each child of a node. `factors` and `s` bound the geometric factor and
    /// the material. Bounds may be infinite.
    pub fn products(
        &mut self,
        p: Aabb,
        weight: Vec3,
        (kind, index): (LightKind, u32),
        factors: &[f32; WIDTH],
        s: &[[f32; WIDTH]; 3],
    ) -> [f32; WIDTH] {
        let (node, magnitude) = (&*self.tree.node(index), &*self.tree.magnitude(index));
        self.counts.bound_evaluations += node.len() as u64;
        let mut transmittance = [1.0; WIDTH];
        if self.min_extinction > 0.0 {
            for (slot, transmittance) in transmittance[..node.len()].iter_mut().enumerate() {
                let (lo, hi) = (lane_vector(&node.lo, slot), lane_vector(&node.hi, slot));
                *transmittance = match kind {
                    LightKind::Directional => 0.0,
                    LightKind::Omni | LightKind::Oriented | LightKind::Virtual { .. } => {
                        max_transmittance(self.min_extinction, p, lo, hi)
                    }
                };
            }
        }
        let mut bounds = [0.0; WIDTH];
        let factors = (factors, &transmittance);
        dispatch!(simd_level(), _ => product_lanes(factors, weight, s, magnitude, &mut bounds));
        bounds[node.len()..].fill(0.0);
        bounds
    }

    /// Returns the reflected radiance of each light, scaled to an intensity of 1. It includes
    /// shadows.
    pub fn shade(
        &mut self,
        point: &ShadingPoint,
        lights: impl IntoIterator<Item = u32>,
    ) -> &[Vec3] {
        let tree = self.tree;
        self.shade_points(point, lights.into_iter().map(|light| tree.point(light)))
    }

    /// Like [`Self::shade`], for light points that are not in the tree.
    pub fn shade_points(
        &mut self,
        point: &ShadingPoint,
        lights: impl IntoIterator<Item = LightPoint>,
    ) -> &[Vec3] {
        let start = point.is_timed.then(Instant::now);
        self.unit_radiance.clear();
        self.pending.clear();
        self.queries.clear();
        self.lights.clear();
        self.lights.extend(lights);
        let lights = std::mem::take(&mut self.lights);
        lights.chunks(WIDTH).for_each(|lights| self.shade_unoccluded(point, lights));
        self.lights = lights;
        if let Some(virtual_lights) = &mut self.virtual_lights {
            virtual_lights.evaluate(&self.queries, &mut self.emissions);
            let mut emissions = self.emissions.iter();
            for pending in self.pending.iter().filter(|pending| pending.is_virtual) {
                let emission = emissions.next().expect("each virtual light is evaluated");
                self.unit_radiance[pending.index] *= *emission;
            }
        }
        self.counts.representatives += self.pending.len() as u64;
        let shaded = point.is_timed.then(Instant::now);
        let unit_radiance = &self.unit_radiance;
        self.pending.retain(|pending| unit_radiance[pending.index] != Vec3::ZERO);
        self.rays.clear();
        self.rays.extend(self.pending.iter().map(|pending| pending.ray));
        match &mut self.media {
            None => self.scene.accel.occluded_batch(&self.rays, &mut self.blocked),
            Some(media) => {
                let (pending, directions) = (&self.pending, &self.rays);
                let media_of =
                    |ray: u32| point.media.on_side(point.surface.ng, directions[ray as usize].d);
                let start = |ray: u32| {
                    let random = RandomStream::from_seed(hash(
                        point.seed,
                        pending[ray as usize].index as u32,
                    ));
                    let weights = ChannelWeights::new(Vec3::ONE, Vec3::ONE);
                    Walk::new(ray, medium_index(media_of(ray)), weights, random)
                };
                let mut rays = self.rays.clone();
                let walks =
                    media.track_shadow_rays(self.scene, &mut rays, &mut self.blocked, start);
                for walk in walks {
                    self.unit_radiance[pending[walk.index as usize].index] *= walk.weights.value;
                }
            }
        }
        for (pending, _) in self.pending.iter().zip(&self.blocked).filter(|(_, blocked)| **blocked)
        {
            self.unit_radiance[pending.index] = Vec3::ZERO;
        }
        self.counts.shadow_rays += self.rays.len() as u64;
        if let (Some(start), Some(shaded)) = (start, shaded) {
            self.counts.times.shading += shaded - start;
            self.counts.times.visibility += shaded.elapsed();
        }
        &self.unit_radiance
    }

    /// Appends the reflected radiance of up to [`WIDTH`] lights, without shadows and the emission
    /// of virtual lights. Appends those with incident light to the pending lights.
    fn shade_unoccluded(&mut self, point: &ShadingPoint, lights: &[LightPoint]) {
        let first = self.unit_radiance.len();
        self.unit_radiance.resize(first + lights.len(), Vec3::ZERO);
        let incident = IncidentColumns::new(lights, point.surface.p);
        let local = point.view.local_directions(&incident.wi);
        let mut factor = incident.factor;
        let mut is_lit = incident.is_lit;
        for (lane, light) in lights.iter().enumerate().filter(|&(lane, _)| incident.is_lit[lane]) {
            // NaN is evaluated, so that faulty scenes show up.
            is_lit[lane] = point.both_sides || local[2][lane] > 0.0 || local[2][lane].is_nan();
            if !is_lit[lane] {
                continue;
            }
            if let Some(lights) = self.masked_lights
                && !light.is_virtual()
            {
                let wi = lane_vector(&incident.wi, lane);
                factor[lane] *= lights.mask(light.light, light.stratum, point.surface.p, wi);
                is_lit[lane] = factor[lane] != 0.0;
            }
        }
        let s = self.material.evaluate_lanes(&local, &is_lit);
        for (lane, light) in lights.iter().enumerate().filter(|&(lane, _)| is_lit[lane]) {
            let wi = lane_vector(&incident.wi, lane);
            let is_virtual = light.is_virtual();
            let target = match &self.virtual_lights {
                Some(virtual_lights) if is_virtual => {
                    self.queries.push(EmissionQuery { light: light.light, d: -wi });
                    virtual_lights.target(light.light, point.surface.p)
                }
                _ => lane_vector(&incident.target, lane),
            };
            let origin = point.surface.offset_ray_origin(wi);
            let ray = match light.emission {
                Emission::Distant => Ray::new(origin, wi),
                _ => Ray::segment(origin, target),
            };
            let soft = match point.has_soft_terminator {
                true => soft_factor(wi, point.surface.frame.n, point.surface.ng),
                false => 1.0,
            };
            let index = first + lane;
            self.unit_radiance[index] = lane_vector(&s, lane) * (factor[lane] * soft);
            let ray = Ray { time: point.time, ..ray };
            self.pending.push(PendingLight { index, ray, is_virtual });
        }
    }

    /// Returns the geometric factor of a light, which for virtual lights includes the emission relative
    /// to its bound.
    pub fn factor(&mut self, light: &LightPoint, incident: &IncidentLight) -> f32 {
        match (light.emission, &mut self.virtual_lights) {
            (Emission::Virtual { bound }, Some(virtual_lights)) => {
                let query = EmissionQuery { light: light.light, d: -incident.wi };
                virtual_lights.evaluate(&[query], &mut self.emissions);
                let intensity = (self.emissions[0] * light.intensity).abs();
                let is_black = intensity.cmpeq(Vec3::ZERO);
                let emission = Vec3::select(is_black, Vec3::ZERO, intensity / bound);
                incident.factor * emission.max_element()
            }
            _ => incident.factor,
        }
    }

    /// Checks the bound of each child of a node against one of its lights, without shadows.
    fn check(
        &mut self,
        point: &ShadingPoint,
        node: &Node,
        factors: &[f32; WIDTH],
        s: &[[f32; WIDTH]; 3],
    ) {
        for slot in 0..node.len() {
            let seed = self.counts.checks as u32;
            let light = self.tree.point(self.random_light(node.child(slot), seed));
            let Some(incident) = light.incident_light(point.surface.p) else { continue };
            let reflected = self.material.evaluate(&[point.view.local_direction(incident.wi)])[0];
            let factor = self.factor(&light, &incident);
            let holds = (factor <= factors[slot] || factor.is_nan())
                && (0..3).all(|c| reflected[c] <= s[c][slot] || reflected[c].is_nan());
            self.counts.checks += 1;
            self.counts.violations += u64::from(!holds);
        }
    }

    /// Returns a pseudorandom light below a child.
    pub fn random_light(&self, mut child: Child, mut seed: u32) -> u32 {
        loop {
            match child {
                Child::Leaf(light) => return light,
                Child::None => unreachable!("nodes have children in their first slots"),
                Child::Node(index) => {
                    seed = hash(seed, index);
                    child = self.tree.child(index, seed as usize % self.tree.child_count(index));
                }
            }
        }
    }
}

/// Returns a lower bound on the extinction coefficient everywhere, 1/m: 0 unless one medium fills
/// the scene.
fn min_extinction(scene: &Scene) -> f32 {
    let medium = scene.camera_medium.map(|medium| &scene.media[medium as usize]);
    medium.filter(|_| !separates_media(scene)).map_or(0.0, Medium::min_extinction)
}

/// Returns an upper bound on the transmittance between two boxes.
fn max_transmittance(min_extinction: f32, p: Aabb, lo: Vec3, hi: Vec3) -> f32 {
    let outside = (lo - p.max).max(p.min - hi).max(Vec3::ZERO);
    let distance = outside.length() * (1.0 - 8.0 * f32::EPSILON);
    libm::expf(-min_extinction * distance) * (1.0 + 8.0 * f32::EPSILON)
}

/// Factor that covers rounding errors. The sums of intensities, the products with bounds, the
/// luminance and the geometric factor have a total relative error below 8 · 2⁻²⁴.
const ROUNDING_FACTOR: f32 = 1.0 + 4.0 * f32::EPSILON;

/// Returns the product of a bound and an intensity or a weight, with ∞ · 0 = 0.
#[inline(always)]
fn product(bound: f32, intensity: f32) -> f32 {
    if intensity == 0.0 { 0.0 } else { bound * intensity }
}

/// Computes bounds on the reflected luminance from bounds on the geometric factor, the
/// transmittance, the material, and the magnitude of the intensity. Bounds are 0 where one of these
/// is 0, also if another is infinite; other NaN becomes infinite.
#[inline(always)]
fn product_lanes(
    (factors, transmittance): (&Lanes, &Lanes),
    weight: Vec3,
    s: &[Lanes; 3],
    magnitude: &[Lanes; 3],
    bounds: &mut Lanes,
) {
    for (slot, bound) in bounds.iter_mut().enumerate() {
        let reflected = |c: usize| product(product(s[c][slot], weight[c]), magnitude[c][slot]);
        let luminance = luminance(vec3(reflected(0), reflected(1), reflected(2)));
        let light = luminance * factors[slot] * ROUNDING_FACTOR * transmittance[slot];
        let is_black = (luminance == 0.0) | (factors[slot] == 0.0) | (transmittance[slot] == 0.0);
        let light = if light.is_nan() { f32::INFINITY } else { light };
        *bound = if is_black { 0.0 } else { light };
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Floor;
    use super::*;
    use crate::light_tree::PointOptions;

    const ORIGIN: Vec3 = Vec3::ZERO;

    /// Returns a row of lights above the floor, with one light below it.
    fn row_of_lights() -> Vec<(Vec3, f32)> {
        (0..40)
            .map(|k| (vec3(k as f32 - 20.0, 0.0, if k == 17 { -1.0 } else { 2.0 }), 1.0))
            .collect()
    }

    #[test]
    fn lights_below_contribute_nothing_and_bounds_hold() {
        let floor = Floor::new(&row_of_lights(), &PointOptions::default());
        floor.with_shading_point(ORIGIN, |lighting, point| {
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
    fn points_below_the_floor_are_in_shadow() {
        // The floor is between a point below it and the lights. A point on the floor is lit.
        let floor = Floor::new(&row_of_lights(), &PointOptions::default());
        let lit = |z: f32| {
            floor.with_shading_point(vec3(0.0, 0.0, z), |lighting, point| {
                lighting.shade(point, 0..40).iter().filter(|s| s.x > 0.0).count()
            })
        };
        assert_eq!((lit(0.0), lit(-0.5)), (39, 0));
    }

    #[test]
    fn infinite_bounds_times_zero_are_zero() {
        let (mut bounds, lanes) = ([0.0; WIDTH], |x: f32| [x; WIDTH]);
        let mut s = [lanes(f32::INFINITY), lanes(f32::INFINITY), lanes(1.0)];
        (s[0][2], s[1][2], s[0][3]) = (2.0, 3.0, f32::NAN);
        let mut magnitude = [lanes(0.0), lanes(0.0), lanes(0.5)];
        (magnitude[0][1], magnitude[0][3]) = (2.0, 1.0);
        let (mut factors, mut transmittance) = (lanes(4.0), lanes(1.0));
        (factors[4], transmittance[5]) = (0.0, 0.0);
        magnitude[0][4..].fill(1.0);
        product_lanes((&factors, &transmittance), Vec3::ONE, &s, &magnitude, &mut bounds);
        let blue = 0.0722 * 0.5 * 4.0 * ROUNDING_FACTOR;
        let inf = f32::INFINITY;
        assert!((bounds[0] - blue).abs() < 1e-6 && (bounds[2] - blue).abs() < 1e-6, "{bounds:?}");
        assert_eq!(
            [bounds[1], bounds[3], bounds[4], bounds[5], bounds[6]],
            [inf, inf, 0.0, 0.0, inf]
        );
    }
}
