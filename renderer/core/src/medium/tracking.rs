//! Delta tracking and residual ratio tracking, for many rays at a time.
//!
//! Tentative collisions have the rate of a majorant of the extinction, so their distances can be
//! sampled in closed form. *Delta tracking* (Woodcock et al. 1965) accepts one as a collision with
//! probability extinction / majorant; all others are null collisions. *Residual ratio tracking*
//! (Novák, Selle, Jarosz 2014) estimates the transmittance of a ray: the minorant is integrated in
//! closed form, and each tentative collision of the rest multiplies the estimate by the probability
//! that it is null.
//!
//! **Decomposition.** The extinction is the sum of the minorant and a residual, and a collision is
//! with one of them (Kutz, Habel, Li, Novák 2017, *Spectral and Decomposition Tracking*). With
//! probability minorant / majorant, it is with the minorant. Then the field need not be evaluated,
//! if its albedo is the same everywhere.
//!
//! **Channels.** Distances follow the extinction of one channel, the hero. All three channels are
//! densities with which the path could have been sampled, and multiple importance sampling combines
//! them: a contribution is divided by the mean density (Wilkie et al. 2014, *Hero Wavelength
//! Spectral Sampling*; Miller, Georgiev, Jarosz 2019). The hero of each free path is selected with a
//! probability proportional to its density for the path so far, which is the same as one hero for
//! the whole path.
//!
//! **Batches.** Rays in the same medium advance together to their next tentative collision, so that
//! a [`Field`](super::Field) computes many points at a time.

use super::{MajorantTree, Medium, MediumPoint, Segment, Segments};
use lightbound_math::sampling::RandomStream;
use lightbound_math::{Ray, Vec3};
use serde::{Deserialize, Serialize};
use std::ops::AddAssign;

/// How to track a ray.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tracking {
    /// Delta tracking: find the first collision.
    Delta,
    /// Residual ratio tracking: estimate the transmittance.
    Ratio,
}

/// Weights of a path for each channel. They are relative to the density with which tracking
/// samples, averaged over the channels.
#[derive(Clone, Copy, Debug)]
pub struct ChannelWeights {
    /// Value of the path over its density.
    pub value: Vec3,
    /// Density of delta tracking with the channel as the hero. With delta tracking, its mean is 1.
    pub delta: Vec3,
    /// Density of ratio tracking with the channel as the hero. With ratio tracking, its mean is 1.
    pub ratio: Vec3,
}

/// A ray from a vertex of a path, which crosses one medium or several.
#[derive(Clone, Copy, Debug)]
pub struct Walk {
    /// Index of the ray.
    pub index: u32,
    /// Index of the medium, or [`Walk::NO_MEDIUM`].
    pub medium: u32,
    /// Ray parameters of the ends of the segment in the medium.
    pub segment: [f32; 2],
    /// Weights of the path up to here.
    pub weights: ChannelWeights,
    /// Random numbers for tracking.
    pub random: RandomStream,
    /// Emitted light that the path collects, W·sr⁻¹·m⁻².
    pub emission: Vec3,
    /// Ray parameter of the collision that ends the segment early.
    pub collision: Option<f32>,
    /// What it took to get here.
    pub counts: WalkCounts,
}

/// Counters of one ray.
#[derive(Clone, Copy, Debug, Default)]
pub struct WalkCounts {
    /// Null collisions of delta tracking.
    pub null_collisions: u32,
    /// Cells of majorant trees.
    pub cells: u32,
}

/// Counters of tracking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrackingCounts {
    /// Collisions where light is scattered or absorbed.
    pub collisions: u64,
    /// Those among them with the minorant, where the medium was not evaluated.
    pub minorant_collisions: u64,
    /// Null collisions of delta tracking.
    pub null_collisions: u64,
    /// Tentative collisions of ratio tracking.
    pub ratio_collisions: u64,
}

/// Transmittance below which ratio tracking is terminated by Russian roulette.
const ROULETTE_TRANSMITTANCE: f32 = 0.05;

/// Survival probability of this Russian roulette.
const ROULETTE_SURVIVAL: f32 = 0.25;

/// Largest exponent of a density, so that densities stay finite.
const MAX_EXPONENT: f32 = 80.0;

/// Greatest ray parameter in a medium. All but the thinnest media are opaque over this length.
const MAX_LENGTH: f32 = 1e20;

impl ChannelWeights {
    /// Returns the weights at the start of a ray, for a path with a value and with densities
    /// `delta` so far.
    pub fn new(value: Vec3, delta: Vec3) -> ChannelWeights {
        ChannelWeights { value, delta, ratio: delta }
    }

    /// Multiplies the weights by those of an event, and normalises them.
    #[inline]
    fn multiply(&mut self, tracking: Tracking, value: Vec3, delta: Vec3, ratio: Vec3) {
        self.delta *= delta;
        self.ratio *= ratio;
        let sampled = match tracking {
            Tracking::Delta => self.delta,
            Tracking::Ratio => self.ratio,
        };
        let inverse = 1.0 / mean(sampled);
        self.value *= value * inverse;
        self.delta *= inverse;
        self.ratio *= inverse;
    }
}

impl Walk {
    /// No medium.
    pub const NO_MEDIUM: u32 = u32::MAX;

    /// Creates the walk of ray `index` from a vertex in a medium. The path has weights `weights` so
    /// far.
    pub fn new(index: u32, medium: u32, weights: ChannelWeights, random: RandomStream) -> Walk {
        Walk {
            index,
            medium,
            segment: [0.0; 2],
            weights,
            random,
            emission: Vec3::ZERO,
            collision: None,
            counts: WalkCounts::default(),
        }
    }
}

impl AddAssign for TrackingCounts {
    fn add_assign(&mut self, other: TrackingCounts) {
        // Counts read from files may be arbitrarily large.
        self.collisions = self.collisions.saturating_add(other.collisions);
        self.minorant_collisions =
            self.minorant_collisions.saturating_add(other.minorant_collisions);
        self.null_collisions = self.null_collisions.saturating_add(other.null_collisions);
        self.ratio_collisions = self.ratio_collisions.saturating_add(other.ratio_collisions);
    }
}

/// Tracks rays through media. Buffers are reused.
#[derive(Default)]
pub struct Tracker<'a> {
    flights: Vec<Flight<'a>>,
    /// Indices of the flights that are on their way.
    active: Vec<u32>,
    points: Vec<Vec3>,
    properties: Vec<MediumPoint>,
    counts: TrackingCounts,
}

impl<'a> Tracker<'a> {
    /// Tracks the rays of `walks`, all of which are in `medium`, to their collisions or to the ends
    /// of their segments. `ray` returns the ray with an index.
    pub fn track(
        &mut self,
        medium: &'a Medium,
        tracking: Tracking,
        walks: &mut [Walk],
        ray: impl Fn(u32) -> Ray,
    ) {
        self.flights.clear();
        let counts = &mut self.counts;
        let flights = walks.iter_mut().enumerate().filter_map(|(index, walk)| {
            let mut flight = Flight::new(medium, tracking, index as u32, walk, &ray(walk.index));
            flight.advance(tracking, walk, counts).then_some(flight)
        });
        self.flights.extend(flights);
        self.active.clear();
        self.active.extend(0..self.flights.len() as u32);
        while !self.active.is_empty() {
            self.points.clear();
            let flights = self.active.iter().map(|&index| &self.flights[index as usize]);
            self.points.extend(flights.map(|flight| flight.point));
            medium.field.evaluate(&self.points, &mut self.properties);
            let mut properties = self.properties.iter();
            self.active.retain(|&index| {
                let flight = &mut self.flights[index as usize];
                let walk = &mut walks[flight.walk as usize];
                let properties = properties.next().expect("one item per point");
                let continues = match tracking {
                    Tracking::Delta => flight.accept_or_reject(properties, walk, counts),
                    Tracking::Ratio => flight.attenuate(properties, walk, counts),
                };
                continues && flight.advance(tracking, walk, counts)
            });
        }
    }

    /// Returns and resets the counters.
    pub fn take_counts(&mut self) -> TrackingCounts {
        std::mem::take(&mut self.counts)
    }
}

/// A ray within a medium, between two tentative collisions.
struct Flight<'a> {
    /// Index of the walk.
    walk: u32,
    /// The ray in the medium's own space.
    o: Vec3,
    d: Vec3,
    majorants: &'a MajorantTree,
    segments: Segments<'a>,
    segment: Segment,
    /// Length of a unit of the ray parameter.
    scale: f32,
    /// Extinction per unit of density and of the ray parameter.
    extinction: Vec3,
    /// Whether the extinction is the same in all channels.
    is_grey: bool,
    hero: usize,
    /// Optical depth to the next tentative collision, in the hero's channel.
    depth: f32,
    /// Integrals of the maximum and the minimum of the density, since the last tentative collision.
    integrals: [f32; 2],
    /// The tentative collision, in the medium's own space.
    point: Vec3,
    /// Random number that accepts or rejects a tentative collision of delta tracking.
    acceptance: f32,
    /// The albedo, if collisions with the minorant are told from those with the residual.
    minorant_albedo: Option<Vec3>,
}

impl<'a> Flight<'a> {
    fn new(
        medium: &'a Medium,
        tracking: Tracking,
        index: u32,
        walk: &mut Walk,
        ray: &Ray,
    ) -> Flight<'a> {
        let to_medium = medium.transform.inverse();
        let (o, d) = (to_medium.point(ray.o), to_medium.vector(ray.d));
        let densities = match tracking {
            Tracking::Delta => walk.weights.delta,
            Tracking::Ratio => walk.weights.ratio,
        };
        let scale = ray.d.length();
        let extinction = medium.field.extinction() * scale;
        let hero = select(densities, walk.random.next_float());
        let [start, end] = walk.segment;
        let mut segments = medium.majorants.segments(o, d, [start, end.min(MAX_LENGTH)]);
        walk.counts.cells += 1;
        Flight {
            walk: index,
            o,
            d,
            segment: segments.next().unwrap_or(Segment::EMPTY),
            majorants: &medium.majorants,
            segments,
            scale,
            is_grey: extinction.x == extinction.y && extinction.y == extinction.z,
            extinction,
            hero,
            depth: walk.random.next_exponential(),
            integrals: [0.0; 2],
            point: Vec3::ZERO,
            acceptance: 0.0,
            minorant_albedo: medium.field.constant_albedo(),
        }
    }

    /// Advances to the next tentative collision where the field must be evaluated. Returns `false`
    /// at the end of the segment, with the weights of the whole segment, and at a collision with
    /// the minorant.
    fn advance(
        &mut self,
        tracking: Tracking,
        walk: &mut Walk,
        counts: &mut TrackingCounts,
    ) -> bool {
        let extinction = self.extinction[self.hero];
        loop {
            let Segment { t: [start, end], cell, density: [min, max] } = self.segment;
            let rate = match tracking {
                Tracking::Delta => extinction * max,
                Tracking::Ratio => extinction * (max - min),
            };
            let length = end - start;
            if rate * length > self.depth {
                let step = (self.depth / rate).min(length);
                self.add_integrals(step);
                // Make progress, however short the step is.
                let t = (start + step).max(start.next_up()).min(end);
                self.segment.t[0] = t;
                self.depth = walk.random.next_exponential();
                let cell = self.majorants.cell(cell);
                self.point = (self.o + t * self.d).max(cell.min).min(cell.max);
                return match tracking {
                    Tracking::Delta => !self.collide_with_minorant(walk, counts),
                    Tracking::Ratio => true,
                };
            }
            self.add_integrals(length);
            self.depth -= rate * length;
            match self.segments.next() {
                Some(segment) => self.segment = segment,
                None => break,
            }
            walk.counts.cells += 1;
        }
        let (delta, ratio) = self.attenuations(tracking);
        walk.weights.multiply(tracking, delta, delta, ratio);
        false
    }

    fn add_integrals(&mut self, length: f32) {
        let [min, max] = self.segment.density;
        self.integrals[0] += max * length;
        self.integrals[1] += min * length;
    }

    /// Returns the probabilities, up to a common factor, that each channel has no tentative
    /// collision from the last one to here, with delta tracking and with ratio tracking. The first
    /// times the probabilities of null collisions is the transmittance.
    #[inline]
    fn attenuations(&self, tracking: Tracking) -> (Vec3, Vec3) {
        let [max, min] = self.integrals;
        let hero = self.extinction[self.hero]
            * match tracking {
                Tracking::Delta => max,
                Tracking::Ratio => max - min,
            };
        let attenuation = |integral: f32| {
            let exp = |extinction: f32| {
                // Infinite optical depth is 0 in channels without extinction.
                let exponent = hero - extinction * integral;
                if exponent == 0.0 { 1.0 } else { libm::expf(exponent.min(MAX_EXPONENT)) }
            };
            let Vec3 { x, y, z } = self.extinction;
            if self.is_grey { Vec3::splat(exp(x)) } else { Vec3::new(exp(x), exp(y), exp(z)) }
        };
        (attenuation(max), attenuation(max - min))
    }

    /// Decides whether a tentative collision of delta tracking is with the minorant, and returns it.
    fn collide_with_minorant(&mut self, walk: &mut Walk, counts: &mut TrackingCounts) -> bool {
        self.acceptance = walk.random.next_float();
        let [min, max] = self.segment.density;
        match self.minorant_albedo {
            Some(albedo) if self.acceptance < min / max => {
                counts.minorant_collisions += 1;
                let (delta, _) = self.attenuations(Tracking::Delta);
                self.collide(delta * self.extinction * min, albedo, walk, counts);
                true
            }
            _ => false,
        }
    }

    /// Ends the walk with a collision. `density` is its density for each channel as the hero, up to
    /// a common factor.
    fn collide(&self, density: Vec3, albedo: Vec3, walk: &mut Walk, counts: &mut TrackingCounts) {
        counts.collisions += 1;
        walk.weights.multiply(Tracking::Delta, density * albedo, density, density);
        walk.collision = Some(self.segment.t[0]);
    }

    /// Accepts or rejects a tentative collision of delta tracking, unless it is with the minorant.
    /// Returns whether it is null.
    fn accept_or_reject(
        &mut self,
        properties: &MediumPoint,
        walk: &mut Walk,
        counts: &mut TrackingCounts,
    ) -> bool {
        let (delta, ratio) = self.attenuations(Tracking::Delta);
        let [min, max] = self.segment.density;
        let weights = &mut walk.weights;
        if properties.emission != Vec3::ZERO {
            let density = mean(weights.delta * delta * self.extinction) * max;
            walk.emission += weights.value * delta * properties.emission * (self.scale / density);
        }
        let extinction = properties.extinction * self.scale;
        let majorant = self.extinction * max;
        let probability = extinction[self.hero] / majorant[self.hero];
        self.integrals = [0.0; 2];
        // Collisions with the minorant have been told apart.
        let minorant = self.minorant_albedo.map_or(Vec3::ZERO, |_| self.extinction * min);
        let residual = (extinction - minorant).max(Vec3::ZERO);
        if self.acceptance < probability && residual[self.hero] > 0.0 {
            self.collide(delta * residual, properties.albedo, walk, counts);
            return false;
        }
        counts.null_collisions += 1;
        walk.counts.null_collisions += 1;
        let null = delta * (majorant - extinction).max(Vec3::ZERO);
        weights.multiply(Tracking::Delta, null, null, ratio * self.extinction * (max - min));
        true
    }

    /// Multiplies the transmittance by that of a tentative collision of ratio tracking. Returns
    /// whether to continue.
    fn attenuate(
        &mut self,
        properties: &MediumPoint,
        walk: &mut Walk,
        counts: &mut TrackingCounts,
    ) -> bool {
        counts.ratio_collisions += 1;
        let (delta, ratio) = self.attenuations(Tracking::Ratio);
        let [min, max] = self.segment.density;
        let extinction = properties.extinction * self.scale;
        let null = delta * (self.extinction * max - extinction).max(Vec3::ZERO);
        let tentative = ratio * self.extinction * (max - min);
        self.integrals = [0.0; 2];
        let weights = &mut walk.weights;
        weights.multiply(Tracking::Ratio, null, null, tentative);
        if weights.value.abs().max_element() < ROULETTE_TRANSMITTANCE {
            if walk.random.next_float() < ROULETTE_SURVIVAL {
                weights.value *= 1.0 / ROULETTE_SURVIVAL;
            } else {
                weights.value = Vec3::ZERO;
            }
        }
        weights.value != Vec3::ZERO
    }
}

/// Selects a channel with a probability proportional to its density.
fn select(densities: Vec3, u: f32) -> usize {
    let u = u * densities.element_sum();
    // The last channel must have a density, whatever the rounding.
    if u < densities.x {
        0
    } else if u < densities.x + densities.y || densities.z == 0.0 {
        if densities.y > 0.0 { 1 } else { 0 }
    } else {
        2
    }
}

fn mean(v: Vec3) -> f32 {
    v.element_sum() * (1.0 / 3.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::material::ShaderInstance;
    use crate::medium::Field;
    use lightbound_math::{Aabb, Transform};

    /// A density of 0.5, with bounds from 0.5 to 1.
    #[derive(Debug)]
    struct Constant(Option<Vec3>);

    impl Field for Constant {
        fn bounds(&self) -> Option<Aabb> {
            None
        }

        fn emits(&self) -> bool {
            false
        }

        fn extinction(&self) -> Vec3 {
            Vec3::ONE
        }

        fn constant_albedo(&self) -> Option<Vec3> {
            self.0
        }

        fn density_bounds(&self, boxes: &[Aabb], out: &mut Vec<[f32; 2]>) {
            out.clear();
            out.resize(boxes.len(), [0.5, 1.0]);
        }

        fn evaluate(&self, points: &[Vec3], out: &mut Vec<MediumPoint>) {
            out.clear();
            let extinction = Vec3::splat(0.5);
            out.resize(points.len(), MediumPoint { extinction, ..MediumPoint::default() });
        }
    }

    fn track(albedo: Option<Vec3>) -> (Vec<Walk>, TrackingCounts) {
        let phase = ShaderInstance::new(0, []);
        let field = Box::new(Constant(albedo));
        let medium = Medium::new("m".into(), Transform::IDENTITY, field, phase);
        let walk = |index| {
            let weights = ChannelWeights::new(Vec3::ONE, Vec3::ONE);
            let walk = Walk::new(index, 0, weights, RandomStream::from_seed(index));
            Walk { segment: [0.0, 1.0], ..walk }
        };
        let mut walks: Vec<_> = (0..1000).map(walk).collect();
        let mut tracker = Tracker::default();
        let ray = Ray::new(Vec3::ZERO, Vec3::X);
        tracker.track(&medium, Tracking::Delta, &mut walks, |_| ray);
        (walks, tracker.take_counts())
    }

    #[test]
    fn collisions_with_the_minorant_need_no_evaluation() {
        let albedo = Vec3::splat(0.25);
        let (walks, counts) = track(Some(albedo));
        assert_eq!(counts.minorant_collisions, counts.collisions);
        // The same as without decomposition, but that the albedo comes from the medium.
        let (plain, plain_counts) = track(None);
        assert_eq!(plain_counts.minorant_collisions, 0);
        assert_eq!(plain_counts.collisions, counts.collisions);
        let expected = 1000.0 * (1.0 - f64::exp(-0.5));
        assert!((counts.collisions as f64 - expected).abs() < 50.0, "{counts:?}");
        for (walk, plain) in walks.iter().zip(&plain) {
            assert_eq!(walk.collision, plain.collision);
            if walk.collision.is_some() {
                assert!((walk.weights.value - albedo).abs().max_element() < 1e-6);
            }
        }
    }
}
