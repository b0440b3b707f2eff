//! How much light clusters are expected to send to a point, 8 at a time: the weights by which a
//! light tree is descended.
//!
//! After Conty Estévez & Kulla 2018: intensity, distance, the cosine at the lights and the cosine
//! at the surface. Where they take the greatest cosines that a cluster allows, we take means: at
//! the surface as if lights were spread evenly along the normal, over the cluster's box; at the
//! lights as if cosines were spread evenly between the least and the greatest. So less is drawn of
//! clusters across the horizon, and of those that shine to all sides. It halves the variance.
//!
//! **Support.** A weight is 0 only where no light of the cluster can send anything: where the whole
//! box is below the horizon of a material with one side, or where the lights' own cones end before
//! the point ([`Node::geometric_bounds`] proves the same for trees of points). With u = 2⁻²⁴, the
//! height of the box's top above the horizon is wrong by less than 8u of its distance; the cosine
//! at the lights, of three sums of angles by cosines, by less than 64u. [`SLACK`] exceeds both.
//!
//! Eight clusters are done at a time, in vectors of the machine; what they hold does not depend on
//! which machine it is. Loops stand where `map` would be shorter: closures that it calls are
//! compiled without the machine's features.

use crate::light_tree::{Colours, Kind, Node};
use crate::math::Vec3;
use crate::math::direction_box::Lanes;
use fearless_simd::prelude::*;
use fearless_simd::{Level, Simd, dispatch, f32x8};
use std::f32::consts::{PI, TAU};

/// 2⁻¹⁵, for rounding of cosines.
const SLACK: f32 = 1.0 / (1 << 15) as f32;

/// Squared distances count as at least so much of the box's squared half diagonal.
const NEAR: f32 = 0.25;

/// Weights below and above count as that much: what underflows may be all that there is.
const LEAST: f32 = f32::MIN_POSITIVE;
const MOST: f32 = f32::MAX / 64.0;

/// A weight that is not 0.
pub fn known(weight: f32) -> f32 {
    if weight > LEAST { weight.min(MOST) } else { LEAST }
}

/// What arrives of the children of a node, about.
#[derive(Clone, Copy, Debug)]
pub struct Factors {
    /// Irradiance on a surface that faces a child over its intensity: as
    /// [`crate::light_tree::Arrival::factor`]. Positive for all that may send light.
    pub arrival: Lanes,
    /// Mean cosine at the surface; positive where some light of the child may count.
    pub cosine: Lanes,
    /// That a child is seen under, sr.
    pub solid_angle: Lanes,
}

/// A point that is lit, as weights see it.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Position.
    pub p: Vec3,
    /// Unit normal of the side from which light counts.
    pub n: Vec3,
    /// Whether light from the other side counts as well.
    pub both_sides: bool,
}

/// A number for each of eight clusters.
pub type Eight<S> = f32x8<S>;

impl Place {
    /// What arrives of the children of a node, of the given magnitudes, and for each of them
    /// arrival, cosine and luminance in one: positive where all are, and finite.
    pub fn weigh(&self, kind: Kind, node: &Node, magnitude: &Colours) -> (Factors, Lanes) {
        dispatch!(Level::new(), simd => self.weigh_in(simd, kind, node, magnitude))
    }

    #[inline(always)]
    fn weigh_in<S: Simd>(
        &self,
        simd: S,
        kind: Kind,
        node: &Node,
        magnitude: &Colours,
    ) -> (Factors, Lanes) {
        let factors = self.factors(simd, kind, node);
        let (arrival, cosine) = (load(simd, &factors.arrival), load(simd, &factors.cosine));
        let intensity = luminance(loads(simd, magnitude));
        let zero = splat(simd, 0.0);
        let may = intensity.simd_gt(zero) & arrival.simd_gt(zero) & cosine.simd_gt(zero);
        let weight = (intensity * arrival * cosine).max(splat(simd, LEAST)).min(splat(simd, MOST));
        (factors, may.select(weight, zero).to_array())
    }

    /// What arrives of the children of a node.
    #[inline(always)]
    pub fn factors<S: Simd>(&self, simd: S, kind: Kind, node: &Node) -> Factors {
        let [arrival, cosine, solid_angle] = match kind {
            Kind::Omni => {
                let seen = self.see(simd, node);
                [seen.closeness, seen.cosine, seen.solid_angle(simd)]
            }
            Kind::Oriented => self.oriented(simd, node),
            Kind::Directional => self.directional(simd, node),
        };
        Factors {
            arrival: arrival.to_array(),
            cosine: cosine.to_array(),
            solid_angle: solid_angle.to_array(),
        }
    }

    #[inline(always)]
    fn oriented<S: Simd>(&self, simd: S, node: &Node) -> [Eight<S>; 3] {
        let (zero, one) = (splat(simd, 0.0), splat(simd, 1.0));
        let seen = self.see(simd, node);
        let axis = loads(simd, &node.axis);
        // From the light to the point.
        let along = -dot(axis, seen.center) / seen.d2.max(splat(simd, LEAST)).sqrt();
        let within = seen.r2.simd_ge(seen.d2);
        let ball = within.select(-one, (one - seen.r2 / seen.d2).max(zero).sqrt());
        let cone = load(simd, &node.cos_angle);
        let low = -narrowed(simd, narrowed(simd, -along, ball), cone) - SLACK;
        let high = narrowed(simd, narrowed(simd, along, ball), cone) + SLACK;
        let spot = high.simd_ge(load(simd, &node.cos_spot)).select(one, zero);
        let mean = positive(simd, low, high) / (high - low);
        let emission = (mean * load(simd, &node.cosine)).max(spot);
        [emission * seen.closeness, seen.cosine, seen.solid_angle(simd)]
    }

    #[inline(always)]
    fn directional<S: Simd>(&self, simd: S, node: &Node) -> [Eight<S>; 3] {
        let one = splat(simd, 1.0);
        let (cos, cone) =
            (dot(loads(simd, &node.axis), splats(simd, self.n)), load(simd, &node.cos_angle));
        let (low, high) = (-narrowed(simd, -cos, cone) - SLACK, narrowed(simd, cos, cone) + SLACK);
        [one, self.counting(simd, low, high) / (high - low), TAU * (one - cone)]
    }

    /// What both kinds of lights with a place have in common.
    #[inline(always)]
    fn see<S: Simd>(&self, simd: S, node: &Node) -> Seen<S> {
        let n = splats(simd, self.n);
        let (center, half) = center_and_half(simd, node, self.p);
        let (d2, r2) = (dot(center, center), dot(half, half));
        let (height, reach) = (dot(n, center), dot(splats(simd, self.n.abs()), half));
        let distance2 = d2.max(NEAR * r2).max(splat(simd, LEAST));
        let distance = distance2.sqrt();
        let slack = SLACK * (distance + self.p.abs().element_sum());
        let (low, high) = (height - reach - slack, height + reach + slack);
        let cosine = self.counting(simd, low, high) / ((high - low) * distance);
        let one = splat(simd, 1.0);
        Seen { center, d2, r2, cosine: cosine.min(one), closeness: one / distance2 }
    }

    /// Integral of the heights that count, of those between two.
    #[inline(always)]
    fn counting<S: Simd>(&self, simd: S, low: Eight<S>, high: Eight<S>) -> Eight<S> {
        let above = positive(simd, low, high);
        if self.both_sides { above + positive(simd, -high, -low) } else { above }
    }
}

/// Integral of what is positive, of all between two numbers.
#[inline(always)]
fn positive<S: Simd>(simd: S, low: Eight<S>, high: Eight<S>) -> Eight<S> {
    let zero = splat(simd, 0.0);
    let (a, b) = (low.max(zero), high.max(zero));
    0.5 * (a + b) * (b - a)
}

/// Clusters with a place, from the point.
struct Seen<S: Simd> {
    center: [Eight<S>; 3],
    /// Squared distance of the centre, and squared half diagonal.
    d2: Eight<S>,
    r2: Eight<S>,
    /// At the surface.
    cosine: Eight<S>,
    /// One over the squared distance, at most what makes sense for a box of its size.
    closeness: Eight<S>,
}

impl<S: Simd> Seen<S> {
    /// Of the ball, about; all directions from within.
    #[inline(always)]
    fn solid_angle(&self, simd: S) -> Eight<S> {
        PI * (self.r2 * self.closeness).min(splat(simd, 4.0))
    }
}

/// The centres of the boxes of a node's children, from a point, and half their sizes.
#[inline(always)]
pub fn center_and_half<S: Simd>(simd: S, node: &Node, p: Vec3) -> ([Eight<S>; 3], [Eight<S>; 3]) {
    let (lo, hi, p) = (loads(simd, &node.lo), loads(simd, &node.hi), splats(simd, p));
    let (mut center, mut half) = (lo, hi);
    for i in 0..3 {
        center[i] = 0.5 * (lo[i] + hi[i]) - p[i];
        half[i] = 0.5 * (hi[i] - lo[i]);
    }
    (center, half)
}

/// Luminances of colours; as [`crate::sampling::luminance`].
#[inline(always)]
pub fn luminance<S: Simd>([r, g, b]: [Eight<S>; 3]) -> Eight<S> {
    0.2126 * r + 0.7152 * g + 0.0722 * b
}

/// The lanes as a vector of the machine.
#[inline(always)]
pub fn load<S: Simd>(simd: S, lanes: &Lanes) -> Eight<S> {
    Eight::load_array_ref(simd, lanes)
}

/// The same of vectors.
#[inline(always)]
pub fn loads<S: Simd>(simd: S, [x, y, z]: &[Lanes; 3]) -> [Eight<S>; 3] {
    [load(simd, x), load(simd, y), load(simd, z)]
}

/// Eight times the same number.
#[inline(always)]
pub fn splat<S: Simd>(simd: S, x: f32) -> Eight<S> {
    Eight::splat(simd, x)
}

/// Eight times the same vector.
#[inline(always)]
pub fn splats<S: Simd>(simd: S, v: Vec3) -> [Eight<S>; 3] {
    [splat(simd, v.x), splat(simd, v.y), splat(simd, v.z)]
}

/// Products of vectors.
#[inline(always)]
pub fn dot<S: Simd>(a: [Eight<S>; 3], b: [Eight<S>; 3]) -> Eight<S> {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// Cosine of the difference of two angles, but of 0 where the second is the greater one.
#[inline(always)]
fn narrowed<S: Simd>(simd: S, cos: Eight<S>, by: Eight<S>) -> Eight<S> {
    let (zero, one) = (splat(simd, 0.0), splat(simd, 1.0));
    let cos = cos.max(-one).min(one);
    let sines = ((one - cos * cos) * (one - by * by)).max(zero).sqrt();
    cos.simd_lt(by).select(cos * by + sines, one)
}
