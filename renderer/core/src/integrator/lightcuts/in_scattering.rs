//! Light that a medium scatters or emits towards the camera: one sampled distance on each ray.
//!
//! Both densities of the distance are known in closed form. One is that of a collision with the
//! majorants, within the ray's part in the medium. The other is equiangular with respect to a light
//! (Kulla, Fajardo 2012, *Importance Sampling Techniques for Path Tracing in Participating Media*):
//! it cancels the inverse squared distance to the light, which makes the first one noisy near
//! lights. Half of the samples use each, and multiple importance sampling combines them. The
//! transmittance to the sampled point is estimated by ratio tracking.

use crate::light_tree::{Emission, LightTree};
use crate::medium::{Medium, MediumPoint, Segment, Tracker, Tracking, TrackingCounts, Walk};
use lightbound_math::sampling::{AliasTable, RandomStream, luminance};
use lightbound_math::{Ray, Vec3};

/// The positions of lights, selected by their intensity.
pub(super) struct LightPositions {
    positions: Vec<Vec3>,
    table: AliasTable,
}

impl LightPositions {
    /// Collects the lights of a tree that have positions; `None` if there are none.
    pub fn new(tree: &LightTree) -> Option<LightPositions> {
        let points = tree.points().iter().filter(|point| point.emission != Emission::Distant);
        let weights: Vec<f32> =
            points.clone().map(|point| luminance(point.intensity.abs())).collect();
        let positions = points.map(|point| point.position).collect();
        Some(LightPositions { positions, table: AliasTable::new(&weights)? })
    }
}

/// A point of a medium on a ray.
pub(super) struct ScatteringPoint {
    /// Position in render space.
    pub p: Vec3,
    /// Weight of the light that the phase function scatters: the throughput to the point, times the
    /// scattering coefficient over the density of the distance.
    pub throughput: Vec3,
    /// Emitted light that reaches the start of the path, W·sr⁻¹·m⁻².
    pub emission: Vec3,
}

/// Samples distances on rays. Buffers are reused.
#[derive(Default)]
pub(super) struct InScattering<'a> {
    tracker: Tracker<'a>,
    segments: Vec<Segment>,
    properties: Vec<MediumPoint>,
    /// Points that scatter or emit light.
    points: u64,
}

impl<'a> InScattering<'a> {
    /// Samples a point on the part of a ray in `medium`. `walk` holds this part, and the throughput
    /// of the path at its start. `None` if no light comes from there.
    pub fn sample(
        &mut self,
        medium: &'a Medium,
        walk: &Walk,
        ray: &Ray,
        lights: Option<&LightPositions>,
        mut random: RandomStream,
    ) -> Option<ScatteringPoint> {
        let to_medium = medium.transform.inverse();
        let (o, d) = (to_medium.point(ray.o), to_medium.vector(ray.d));
        self.segments.clear();
        self.segments.extend(medium.majorants.segments(o, d, walk.segment));
        let scale = ray.d.length();
        let collision = CollisionDensity::new(&self.segments, medium.field.extinction() * scale)?;
        let [strategy, u, pick, pick_low] = [0; 4].map(|_| random.next_float());
        let (t, pdf) = match lights {
            None => {
                let t = collision.sample(u, strategy);
                (t, collision.pdf(t))
            }
            Some(lights) => {
                let light = lights.positions[lights.table.sample(pick, pick_low).index];
                let (start, end) = (self.segments[0].t[0], collision.end);
                let equiangular = Equiangular::new(ray, light, [start, end]);
                let t = match strategy {
                    strategy if strategy < 0.5 => equiangular.sample(u),
                    strategy => collision.sample(u, 2.0 * strategy - 1.0),
                };
                (t, 0.5 * (equiangular.pdf(t) + collision.pdf(t)))
            }
        };
        let is_in = |segment: &&Segment| t >= segment.t[0] && t <= segment.t[1];
        let cell = self.segments.iter().find(is_in)?.cell;
        if pdf.is_nan() || pdf <= 0.0 {
            return None;
        }
        let point = (o + t * d).max(cell.min).min(cell.max);
        medium.field.evaluate(&[point], &mut self.properties);
        let MediumPoint { extinction, albedo, emission } = self.properties[0];
        if extinction == Vec3::ZERO {
            return None;
        }
        let mut walk = Walk { segment: [walk.segment[0], t], random, ..*walk };
        self.tracker.track(medium, Tracking::Ratio, std::slice::from_mut(&mut walk), |_| *ray);
        let weight = walk.weights.value * (scale / pdf);
        self.points += u64::from(weight != Vec3::ZERO);
        (weight != Vec3::ZERO).then(|| ScatteringPoint {
            p: ray.o + t * ray.d,
            throughput: weight * extinction * albedo,
            emission: weight * emission,
        })
    }

    /// Returns and resets the counters. Points that scatter or emit light are collisions.
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
    use crate::integrator::medium_testing::{assert_close, radiance, single_scattering};
    use crate::medium::ChannelWeights;
    use crate::settings::{
        BoundMode, Cut, ErrorMode, IntegratorSettings, LightcutsSettings, Method,
    };
    use lightbound_math::{Aabb, vec3};

    fn segment(t: [f32; 2], max: f32) -> Segment {
        Segment { t, cell: Aabb { min: Vec3::ZERO, max: Vec3::ONE }, density: [0.0, max] }
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
        let mut in_scattering = InScattering::default();
        let sample = in_scattering.sample(&scene.media[0], &walk, &ray, None, random());
        assert!(sample.is_some());
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

    #[test]
    fn single_scattering_of_a_point_light_is_the_integral_along_the_ray() {
        let (scene, expected) = single_scattering();
        let cut = Cut::Deterministic { error: 0.01, error_mode: ErrorMode::Cluster, max_cut: 100 };
        let settings = IntegratorSettings {
            max_depth: 1,
            method: Method::Lightcuts(LightcutsSettings {
                cut,
                bounds: BoundMode::Related,
                check_bounds: true,
                area_points: 1,
                environment_points: 1,
            }),
            ..IntegratorSettings::default()
        };
        assert_close(radiance(&scene, settings, 1024), expected, 0.01);
    }
}
