//! Light that a medium scatters or emits towards the camera: one sampled distance on each ray.
//!
//! Two densities of the distance are known in closed form. One is that of a collision with the
//! majorants, within the ray's part in the medium. The other is equiangular with respect to lights
//! (Kulla, Fajardo 2012, *Importance Sampling Techniques for Path Tracing in Participating Media*):
//! it cancels the inverse squared distance to the light, which makes the first one noisy near
//! lights. These are the lights that illuminate the ray most: those with the greatest integrals of
//! intensity over squared distance. The transmittance to the sampled point is estimated by ratio
//! tracking.
//!
//! Deep in dense media, neither finds the points that light reaches where the density is far below
//! its majorants. So up to half of the samples use delta tracking. Its density is unknown, but
//! multiple importance sampling needs weights that sum to 1, not densities (Veach 1997, §9.2): they
//! are those of a uniform density.

use super::heap_entry::HeapEntry;
use crate::light_tree::{Child, LightKind, LightTree};
use crate::medium::{
    ChannelWeights, Medium, MediumPoint, Segment, Tracker, Tracking, TrackingCounts, Walk,
};
use lightbound_math::sampling::{RandomStream, luminance};
use lightbound_math::{Ray, Vec3};
use std::collections::BinaryHeap;

/// Greatest number of lights with equiangular densities on a ray.
const MAX_LIGHTS: usize = 8;

/// Greatest number of nodes of the light tree that are visited to find them.
const MAX_NODES: usize = 32;

/// Greatest share of samples by delta tracking, for rays that certainly collide with the majorants.
const TRACKED_SHARE: f32 = 0.5;

/// What comes from the part of a ray in a medium.
#[derive(Default)]
pub(super) struct InScattered {
    /// Emitted light that reaches the start of the path, W·sr⁻¹·m⁻².
    pub emission: Vec3,
    /// A point that scatters light; `None` if no light comes from the sampled one.
    pub point: Option<ScatteringPoint>,
}

/// A point of a medium on a ray.
pub(super) struct ScatteringPoint {
    /// Position in render space.
    pub p: Vec3,
    /// Weight of the light that the phase function scatters: the throughput to the point, times the
    /// scattering coefficient over the density of the distance.
    pub throughput: Vec3,
}

/// Samples distances on rays. Buffers are reused.
#[derive(Default)]
pub(super) struct InScattering<'a> {
    tracker: Tracker<'a>,
    segments: Vec<Segment>,
    properties: Vec<MediumPoint>,
    lights: RayLights,
    /// Points that scatter light.
    points: u64,
}

impl<'a> InScattering<'a> {
    /// Samples a point on the part of a ray in `medium`. `walk` holds this part, and the throughput
    /// of the path at its start.
    pub fn sample(
        &mut self,
        medium: &'a Medium,
        walk: &Walk,
        ray: &Ray,
        lights: &LightTree,
        mut random: RandomStream,
    ) -> InScattered {
        let to_medium = medium.transform.inverse();
        let (o, d) = (to_medium.point(ray.o), to_medium.vector(ray.d));
        self.segments.clear();
        self.segments.extend(medium.majorants.segments(o, d, walk.segment));
        let scale = ray.d.length();
        let Some(collision) =
            CollisionDensity::new(&self.segments, medium.field.extinction() * scale)
        else {
            return InScattered::default();
        };
        let [mut strategy, u] = [0; 2].map(|_| random.next_float());
        let range = [self.segments[0].t[0], collision.end];
        self.lights.find(lights, ray, range);
        let lights = &self.lights;
        let closed_pdf = |t: f32| match lights.is_empty() {
            true => collision.pdf(t),
            false => 0.5 * (lights.pdf(t) + collision.pdf(t)),
        };
        let collides = collision.mean_probability();
        let tracked_share = TRACKED_SHARE * collides;
        // Stands for the density of delta tracking in the weights.
        let tracked_pdf = collides / (range[1] - range[0]);
        let pdf = |t: f32| (1.0 - tracked_share) * closed_pdf(t) + tracked_share * tracked_pdf;
        let mut walk = Walk { random, emission: Vec3::ZERO, ..*walk };
        if strategy < tracked_share {
            // The media before were not sampled by delta tracking.
            walk.weights = ChannelWeights::new(walk.weights.value, Vec3::ONE);
            self.tracker.track(medium, Tracking::Delta, std::slice::from_mut(&mut walk), |_| *ray);
            let throughput = |t: f32| walk.weights.value * (tracked_pdf / pdf(t));
            let point = walk
                .collision
                .map(|t| ScatteringPoint { p: ray.o + t * ray.d, throughput: throughput(t) });
            return self.scattered(walk.emission * (collides / tracked_share), point);
        }
        strategy = (strategy - tracked_share) / (1.0 - tracked_share);
        let t = match lights.is_empty() {
            true => collision.sample(u, strategy),
            false => lights
                .sample(2.0 * strategy, u)
                .unwrap_or_else(|| collision.sample(u, 2.0 * strategy - 1.0)),
        };
        let (pdf, closed_pdf) = (pdf(t), closed_pdf(t));
        let is_in = |segment: &&Segment| t >= segment.t[0] && t <= segment.t[1];
        let Some(segment) = self.segments.iter().find(is_in).filter(|_| closed_pdf > 0.0) else {
            return InScattered::default();
        };
        let cell = medium.majorants.cell(segment.cell);
        let point = (o + t * d).max(cell.min).min(cell.max);
        medium.field.evaluate(&[point], &mut self.properties);
        let MediumPoint { extinction, albedo, emission } = self.properties[0];
        if extinction == Vec3::ZERO {
            return InScattered::default();
        }
        walk.segment[1] = t;
        self.tracker.track(medium, Tracking::Ratio, std::slice::from_mut(&mut walk), |_| *ray);
        let weight = walk.weights.value * scale;
        // Delta tracking adds the rest of the emission.
        let emission_share = (1.0 - collides) / (1.0 - tracked_share);
        let point = ScatteringPoint {
            p: ray.o + t * ray.d,
            throughput: weight * extinction * albedo / pdf,
        };
        self.scattered(weight * emission * (emission_share / closed_pdf), Some(point))
    }

    /// Returns what comes from a ray, and counts points that scatter light.
    fn scattered(&mut self, emission: Vec3, point: Option<ScatteringPoint>) -> InScattered {
        let point = point.filter(|point| point.throughput != Vec3::ZERO);
        self.points += u64::from(point.is_some());
        InScattered { emission, point }
    }

    /// Returns and resets the counters. Points that scatter light count as collisions.
    pub fn take_counts(&mut self) -> TrackingCounts {
        let counts = self.tracker.take_counts();
        TrackingCounts { collisions: std::mem::take(&mut self.points), ..counts }
    }
}

/// The density of the distance at which a ray collides with the majorants: the mean of those of
/// the three channels. Rays that do not collide are left out.
struct CollisionDensity<'a> {
    segments: &'a [Segment],
    extinction: Vec3,
    /// Probabilities of a collision.
    probability: Vec3,
    /// Number of channels with extinction.
    channels: f32,
    /// Ray parameter of the last point.
    end: f32,
}

impl<'a> CollisionDensity<'a> {
    /// Creates the density for the segments of a ray; `extinction` is per unit of density and of the
    /// ray parameter. `None` if there is no extinction.
    fn new(segments: &'a [Segment], extinction: Vec3) -> Option<CollisionDensity<'a>> {
        let integral: f32 = segments.iter().map(density_integral).sum();
        let probability = |extinction: f32| -libm::expm1f(-extinction * integral);
        let probability = Vec3::from_array(extinction.to_array().map(probability));
        let channels = probability.to_array().iter().filter(|p| **p > 0.0).count() as f32;
        let end = segments.last()?.t[1];
        (channels > 0.0).then_some(CollisionDensity {
            segments,
            extinction,
            probability,
            channels,
            end,
        })
    }

    /// Returns the probability that a ray collides, as a mean over the channels with extinction.
    fn mean_probability(&self) -> f32 {
        self.probability.element_sum() / self.channels
    }

    /// Samples a ray parameter. `channel` selects a channel.
    fn sample(&self, u: f32, channel: f32) -> f32 {
        let mut positive = (0..3).filter(|&c| self.probability[c] > 0.0);
        let c = positive.clone().nth((channel * self.channels) as usize).or(positive.next_back());
        let c = c.expect("a channel has extinction");
        let mut integral = -libm::log1pf(-u * self.probability[c]) / self.extinction[c];
        for segment in self.segments {
            let of_segment = density_integral(segment);
            if integral < of_segment {
                let [start, end] = segment.t;
                return (start + integral / segment.density[1]).min(end);
            }
            integral -= of_segment;
        }
        self.end
    }

    /// Returns the density of a ray parameter.
    fn pdf(&self, t: f32) -> f32 {
        let mut integral = 0.0;
        for segment in self.segments {
            if t <= segment.t[1] {
                let [start, _] = segment.t;
                if t < start {
                    break;
                }
                integral += (t - start) * segment.density[1];
                let of_channel = |c: usize| match self.probability[c] {
                    0.0 => 0.0,
                    p => {
                        let extinction = self.extinction[c];
                        extinction * segment.density[1] * libm::expf(-extinction * integral) / p
                    }
                };
                return (of_channel(0) + of_channel(1) + of_channel(2)) / self.channels;
            }
            integral += density_integral(segment);
        }
        0.0
    }
}

/// Returns the integral of the majorant over a segment.
fn density_integral(segment: &Segment) -> f32 {
    let [start, end] = segment.t;
    (end - start) * segment.density[1]
}

/// The lights that illuminate a ray most, for distances near them. Buffers are reused.
#[derive(Default)]
struct RayLights {
    heap: BinaryHeap<HeapEntry>,
    /// What the entries of the heap refer to.
    entries: Vec<Child>,
    /// Equiangular densities, with the probabilities of the lights.
    lights: Vec<(Equiangular, f32)>,
}

impl RayLights {
    /// Finds the lights, by descending first to the nodes of the tree that illuminate the ray most.
    fn find(&mut self, tree: &LightTree, ray: &Ray, range: [f32; 2]) {
        self.heap.clear();
        self.entries.clear();
        self.lights.clear();
        for (kind, root) in tree.roots() {
            // Light from far away has no peak, and that of virtual lights is clamped.
            if matches!(kind, LightKind::Omni | LightKind::Oriented) {
                self.push(f32::INFINITY, Child::Node(root));
            }
        }
        let mut nodes = 0;
        while let Some(HeapEntry { value, index }) = self.heap.pop() {
            match self.entries[index as usize] {
                Child::Leaf(light) => {
                    let position = tree.point(light).position;
                    self.lights.push((Equiangular::new(ray, position, range), value));
                    if self.lights.len() == MAX_LIGHTS {
                        break;
                    }
                }
                Child::Node(_) if nodes == MAX_NODES => {}
                Child::Node(index) => {
                    nodes += 1;
                    let node = tree.node(index);
                    for slot in 0..node.len() {
                        let b = node.bounds(slot);
                        let radius = 0.5 * (b.max - b.min).length();
                        let integral = inverse_square_integral(ray, b.center(), radius, range);
                        let importance = luminance(node.intensity(slot)).abs() * integral;
                        if importance > 0.0 && importance < f32::INFINITY {
                            self.push(importance, node.child(slot));
                        }
                    }
                }
                Child::None => unreachable!("nodes have children in their first slots"),
            }
        }
        let total: f32 = self.lights.iter().map(|(_, importance)| importance).sum();
        self.lights.iter_mut().for_each(|(_, importance)| *importance /= total);
    }

    fn push(&mut self, value: f32, child: Child) {
        self.heap.push(HeapEntry { value, index: self.entries.len() as u32 });
        self.entries.push(child);
    }

    fn is_empty(&self) -> bool {
        self.lights.is_empty()
    }

    /// Samples a distance. `selection` selects a light; `None` if it is 1 or more.
    fn sample(&self, mut selection: f32, u: f32) -> Option<f32> {
        if selection >= 1.0 {
            return None;
        }
        let selected = self.lights.iter().find(|(_, probability)| {
            selection -= probability;
            selection < 0.0
        });
        // Probabilities may add up to less than 1.
        let (light, _) = selected.or(self.lights.last())?;
        Some(light.sample(u))
    }

    /// Returns the density of a distance.
    fn pdf(&self, t: f32) -> f32 {
        self.lights.iter().map(|(light, probability)| probability * light.pdf(t)).sum()
    }
}

/// Estimates the integral over the distance of 1 / (squared distance to the light), for a light
/// that is a ball.
fn inverse_square_integral(ray: &Ray, center: Vec3, radius: f32, [start, end]: [f32; 2]) -> f32 {
    let nearest = (center - ray.o).dot(ray.d) / ray.d.length_squared();
    let nearest = nearest.max(start).min(end);
    let distance = (center - ray.o - nearest * ray.d).length();
    let length = (end - start) * ray.d.length();
    let distance = (distance - radius).max(0.1 * radius).max(1e-4 * length);
    (std::f32::consts::PI / distance).min(length / (distance * distance))
}

/// The density of a distance that is uniform in the angle at which a point sees it.
struct Equiangular {
    /// Ray parameter of the point nearest to the light, and the light's distance from there.
    nearest: f32,
    distance: f32,
    angles: [f32; 2],
    range: [f32; 2],
}

impl Equiangular {
    fn new(ray: &Ray, light: Vec3, range: [f32; 2]) -> Equiangular {
        let to_light = light - ray.o;
        let length2 = ray.d.length_squared();
        let nearest = to_light.dot(ray.d) / length2;
        let distance = (to_light - nearest * ray.d).length() / length2.sqrt();
        // Angles lose their precision if the light is on the ray.
        let distance = distance.max(1e-4 * nearest.abs()).max(f32::MIN_POSITIVE);
        let angles = range.map(|t| libm::atanf((t - nearest) / distance));
        Equiangular { nearest, distance, angles, range }
    }

    fn sample(&self, u: f32) -> f32 {
        let [start, end] = self.angles;
        let t = self.nearest + self.distance * libm::tanf(start + u * (end - start));
        t.max(self.range[0]).min(self.range[1])
    }

    fn pdf(&self, t: f32) -> f32 {
        let ([start, end], x) = (self.angles, (t - self.nearest) / self.distance);
        if end > start { 1.0 / ((end - start) * self.distance * (1.0 + x * x)) } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::integrator::medium_testing::{
        assert_close, environment, radiance, single_scattering, sphere,
    };
    use crate::light::{AnyLight, PointLight};
    use crate::light_tree::PointOptions;
    use crate::medium::{Cell, Field};
    use crate::settings::{Cut, ErrorMode, IntegratorSettings, LightcutsSettings, Method};
    use lightbound_math::sampling::hash;
    use lightbound_math::{Aabb, vec3};

    fn segment(t: [f32; 2], max: f32) -> Segment {
        Segment { t, cell: Cell::default(), density: [0.0, max] }
    }

    /// Checks a density against a histogram of its samples.
    fn check(sample: impl Fn(f32, f32) -> f32, pdf: impl Fn(f32) -> f32, range: [f32; 2]) {
        const BINS: usize = 20;
        let [start, end] = range;
        let width = (end - start) / BINS as f32;
        let (mut histogram, n) = ([0.0; BINS], 1000);
        for i in 0..n * n {
            let (u, v) = ((i % n) as f32 + 0.5, (i / n) as f32 + 0.5);
            let t = sample(u / n as f32, v / n as f32);
            histogram[(((t - start) / width) as usize).min(BINS - 1)] += 1.0 / (n * n) as f32;
        }
        for (bin, frequency) in histogram.iter().enumerate() {
            let steps = 200;
            let mean = (0..steps)
                .map(|i| pdf(start + width * (bin as f32 + (i as f32 + 0.5) / steps as f32)))
                .sum::<f32>()
                / steps as f32;
            let expected = mean * width;
            assert!(
                (frequency - expected).abs() < 0.002 + 0.02 * expected,
                "{frequency} {expected}"
            );
        }
    }

    #[test]
    fn samples_of_distances_follow_their_densities() {
        let segments =
            [segment([1.0, 2.0], 0.5), segment([2.0, 3.0], 2.0), segment([4.0, 6.0], 0.1)];
        let collision = CollisionDensity::new(&segments, vec3(0.5, 2.0, 0.0)).unwrap();
        check(|u, v| collision.sample(u, v), |t| collision.pdf(t), [1.0, 6.0]);
        let ray = Ray::new(vec3(0.0, 1.0, 0.0), 2.0 * Vec3::X);
        let equiangular = Equiangular::new(&ray, vec3(5.0, 2.0, 0.0), [1.0, 6.0]);
        check(|u, _| equiangular.sample(u), |t| equiangular.pdf(t), [1.0, 6.0]);
    }

    #[test]
    fn points_that_scatter_light_are_counted() {
        let (scene, _) = single_scattering();
        let ray = Ray::new(vec3(0.0, 0.0, -3.0), Vec3::Z);
        let random = || RandomStream::from_seed(1);
        let walk = Walk {
            segment: [2.0, 4.0],
            ..Walk::new(0, 0, ChannelWeights::new(Vec3::ONE, Vec3::ONE), random())
        };
        let tree = LightTree::build(&scene.lights, scene.accel.bounds(), &PointOptions::default());
        let mut in_scattering = InScattering::default();
        let sample = in_scattering.sample(&scene.media[0], &walk, &ray, &tree, random());
        assert!(sample.point.is_some());
        assert_eq!(in_scattering.take_counts().collisions, 1);
        assert_eq!(in_scattering.take_counts().collisions, 0);
    }

    #[test]
    fn media_without_extinction_have_no_density() {
        let segments = [segment([0.0, 1.0], 0.0)];
        assert!(CollisionDensity::new(&segments, Vec3::ONE).is_none());
        assert!(CollisionDensity::new(&[segment([0.0, 1.0], 1.0)], Vec3::ZERO).is_none());
        assert!(CollisionDensity::new(&[], Vec3::ONE).is_none());
    }

    /// A slab with a density of 40 above z = 0.9 and 0.01 below, with one cell of majorants, and
    /// albedo 0.5.
    #[derive(Debug)]
    struct DenseEnd;

    impl Field for DenseEnd {
        fn bounds(&self) -> Option<Aabb> {
            Some(Aabb { min: Vec3::splat(-1.0), max: Vec3::ONE })
        }

        fn emits(&self) -> bool {
            true
        }

        fn extinction(&self) -> Vec3 {
            Vec3::ONE
        }

        fn constant_albedo(&self) -> Option<Vec3> {
            None
        }

        fn density_bounds(&self, boxes: &[Aabb], out: &mut Vec<[f32; 2]>) {
            out.clear();
            out.resize(boxes.len(), [0.01, 40.0]);
        }

        fn evaluate(&self, points: &[Vec3], out: &mut Vec<MediumPoint>) {
            out.clear();
            out.extend(points.iter().map(|p| {
                let extinction = Vec3::splat(if p.z > 0.9 { 40.0 } else { 0.01 });
                MediumPoint { extinction, albedo: Vec3::splat(0.5), emission: 3.0 * extinction }
            }));
        }
    }

    #[test]
    fn light_is_found_behind_thin_parts_of_dense_majorants() {
        const BEFORE: Vec3 = vec3(0.2, 0.1, 0.05);
        let random = |i: u32, seed| RandomStream::from_seed(hash(i, seed));
        for light in [environment(1.0), AnyLight::Point(PointLight::new(Vec3::X, Vec3::ONE))] {
            let scene = sphere(Box::new(DenseEnd), 0.0, light);
            let tree =
                LightTree::build(&scene.lights, scene.accel.bounds(), &PointOptions::default());
            let ray = Ray::new(vec3(0.0, 0.0, -3.0), Vec3::Z);
            let mut in_scattering = InScattering::default();
            let (mut throughput, mut emission, n) = (0.0, 0.0, 20_000);
            for i in 0..n {
                // Media before have been crossed by ratio tracking.
                let weights = ChannelWeights { value: Vec3::ONE, delta: BEFORE, ratio: Vec3::ONE };
                let walk = Walk { segment: [2.0, 4.0], ..Walk::new(0, 0, weights, random(i, 1)) };
                let sample =
                    in_scattering.sample(&scene.media[0], &walk, &ray, &tree, random(i, 2));
                throughput += sample.point.map_or(0.0, |point| f64::from(point.throughput.x));
                emission += f64::from(sample.emission.x);
            }
            // The probability of a collision.
            let collides = 1.0 - f64::exp(-(0.01 * 1.9 + 40.0 * 0.1));
            let (scattered, emitted) = (throughput / f64::from(n), emission / f64::from(n));
            assert!((scattered / (0.5 * collides) - 1.0).abs() < 0.05, "{scattered} {collides}");
            assert!((emitted / (3.0 * collides) - 1.0).abs() < 0.05, "{emitted} {collides}");
        }
    }

    #[test]
    fn single_scattering_of_a_point_light_is_the_integral_along_the_ray() {
        let (scene, expected) = single_scattering();
        let cut = Cut::Deterministic { error: 0.01, error_mode: ErrorMode::Cluster, max_cut: 100 };
        let settings = IntegratorSettings {
            max_depth: 1,
            method: Method::Lightcuts(LightcutsSettings {
                cut,
                check_bounds: true,
                ..LightcutsSettings::default()
            }),
            ..IntegratorSettings::default()
        };
        assert_close(radiance(&scene, settings, 1024), expected, 0.01);
    }
}
