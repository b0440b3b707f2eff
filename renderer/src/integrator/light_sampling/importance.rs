//! How much light clusters are expected to send to a point, 8 at a time: the weights by which a light tree is descended.
//!
//! After Conty Estévez & Kulla 2018: intensity, distance, the cosine at the lights and the cosine at the surface. Where they take the
//! greatest cosines that a cluster allows, we take means: at the surface as if lights were spread evenly along the normal, over the cluster's
//! box; at the lights as if cosines were spread evenly between the least and the greatest. So less is drawn of clusters across the horizon, and
//! of those that shine to all sides. It halves the variance.
//!
//! **Support.** A weight is 0 only where no light of the cluster can send anything: where the whole box is below the horizon of a material
//! with one side, or where the lights' own cones end before the point ([`Node::geometric_bounds`] proves the same for trees of points). With
//! u = 2⁻²⁴, the height of the box's top above the horizon is wrong by less than 8u of its distance; the cosine at the lights, of three
//! sums of angles by cosines, by less than 64u. [`SLACK`] exceeds both.
//!
//! Four clusters are done at a time, in vectors of the machine.

use crate::light_tree::{Child, Colours, Kind, Node, WIDTH};
use crate::math::Vec3;
use crate::math::direction_box::Lanes;
use glam::{BVec4A, Vec4};
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
    /// Irradiance on a surface that faces a child over its intensity: as [`crate::light_tree::Arrival::factor`]. Positive for all that
    /// may send light.
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

impl Factors {
    /// For each child of the given colours of light, arrival, cosine and luminance in one: positive where all are, and finite.
    pub fn weights(&self, magnitude: &Colours) -> Lanes {
        let mut weights = [0.0; WIDTH];
        for first in [0, 4] {
            let of = |lanes: &Lanes| quad(lanes, first);
            let intensity = in_colours(|channel| of(&magnitude[channel]));
            let (arrival, cosine) = (of(&self.arrival), of(&self.cosine));
            let may = intensity.cmpgt(Vec4::ZERO) & arrival.cmpgt(Vec4::ZERO) & cosine.cmpgt(Vec4::ZERO);
            let weight = (intensity * arrival * cosine).max(Vec4::splat(LEAST)).min(Vec4::splat(MOST));
            Vec4::select(may, weight, Vec4::ZERO).write_to_slice(&mut weights[first..]);
        }
        weights
    }
}

impl Place {
    /// What arrives of the children of a node.
    pub fn factors(&self, kind: Kind, node: &Node) -> Factors {
        let mut factors = Factors { arrival: [1.0; WIDTH], cosine: [0.0; WIDTH], solid_angle: [0.0; WIDTH] };
        // Children take the first slots; of small nodes, that is half the work.
        for first in if node.child(4) == Child::None { 0..1 } else { 0..2 }.map(|half| 4 * half) {
            let [arrival, cosine, solid_angle] = match kind {
                Kind::Omni => {
                    let seen = self.see(node, first);
                    [seen.closeness, seen.cosine, seen.solid_angle()]
                }
                Kind::Oriented => self.oriented(node, first),
                Kind::Directional => self.directional(node, first),
            };
            arrival.write_to_slice(&mut factors.arrival[first..]);
            cosine.write_to_slice(&mut factors.cosine[first..]);
            solid_angle.write_to_slice(&mut factors.solid_angle[first..]);
        }
        factors
    }

    #[inline(always)]
    fn oriented(&self, node: &Node, first: usize) -> [Vec4; 3] {
        let seen = self.see(node, first);
        let axis = quads(&node.axis, first);
        // From the light to the point.
        let along = -dot(axis, seen.center) / root(seen.d2.max(Vec4::splat(LEAST)));
        let within = seen.r2.cmpge(seen.d2);
        let ball = Vec4::select(within, -Vec4::ONE, root((Vec4::ONE - seen.r2 / seen.d2).max(Vec4::ZERO)));
        let cone = quad(&node.cos_angle, first);
        let (low, high) = (-narrowed(narrowed(-along, ball), cone) - SLACK, narrowed(narrowed(along, ball), cone) + SLACK);
        let spot = Vec4::select(high.cmpge(quad(&node.cos_spot, first)), Vec4::ONE, Vec4::ZERO);
        let mean = positive(low, high) / (high - low);
        let emission = (mean * quad(&node.cosine, first)).max(spot);
        [emission * seen.closeness, seen.cosine, seen.solid_angle()]
    }

    #[inline(always)]
    fn directional(&self, node: &Node, first: usize) -> [Vec4; 3] {
        let (cos, cone) = (dot(quads(&node.axis, first), splat(self.n)), quad(&node.cos_angle, first));
        let (low, high) = (-narrowed(-cos, cone) - SLACK, narrowed(cos, cone) + SLACK);
        [Vec4::ONE, self.counting(low, high) / (high - low), TAU * (Vec4::ONE - cone)]
    }

    /// What both kinds of lights with a place have in common.
    #[inline(always)]
    fn see(&self, node: &Node, first: usize) -> Seen {
        let (p, n) = (splat(self.p), splat(self.n));
        let (lo, hi) = (quads(&node.lo, first), quads(&node.hi, first));
        let center: [Vec4; 3] = std::array::from_fn(|i| 0.5 * (lo[i] + hi[i]) - p[i]);
        let half: [Vec4; 3] = std::array::from_fn(|i| 0.5 * (hi[i] - lo[i]));
        let (d2, r2) = (dot(center, center), dot(half, half));
        let (height, reach) = (dot(n, center), dot(n.map(Vec4::abs), half));
        let distance2 = d2.max(NEAR * r2).max(Vec4::splat(LEAST));
        let distance = root(distance2);
        let slack = SLACK * (distance + self.p.abs().element_sum());
        let (low, high) = (height - reach - slack, height + reach + slack);
        let cosine = self.counting(low, high) / ((high - low) * distance);
        Seen { center, d2, r2, cosine: cosine.min(Vec4::ONE), closeness: Vec4::ONE / distance2 }
    }

    /// Integral of the heights that count, of those between two.
    #[inline(always)]
    fn counting(&self, low: Vec4, high: Vec4) -> Vec4 {
        let above = positive(low, high);
        if self.both_sides { above + positive(-high, -low) } else { above }
    }
}

/// Integral of what is positive, of all between two numbers.
#[inline(always)]
fn positive(low: Vec4, high: Vec4) -> Vec4 {
    let (a, b) = (low.max(Vec4::ZERO), high.max(Vec4::ZERO));
    0.5 * (a + b) * (b - a)
}

/// Clusters with a place, from the point.
struct Seen {
    center: [Vec4; 3],
    /// Squared distance of the centre, and squared half diagonal.
    d2: Vec4,
    r2: Vec4,
    /// At the surface.
    cosine: Vec4,
    /// One over the squared distance, at most what makes sense for a box of its size.
    closeness: Vec4,
}

impl Seen {
    /// Of the ball, about; all directions from within.
    #[inline(always)]
    fn solid_angle(&self) -> Vec4 {
        PI * (self.r2 * self.closeness).min(Vec4::splat(4.0))
    }
}

/// Luminances of colours, given channel by channel; as [`crate::sampling::luminance`].
#[inline(always)]
pub fn in_colours(of: impl Fn(usize) -> Vec4) -> Vec4 {
    0.2126 * of(0) + 0.7152 * of(1) + 0.0722 * of(2)
}

/// Four of the lanes.
#[inline(always)]
pub fn quad(lanes: &Lanes, first: usize) -> Vec4 {
    Vec4::from_slice(&lanes[first..])
}

/// The same of vectors.
#[inline(always)]
pub fn quads(lanes: &[Lanes; 3], first: usize) -> [Vec4; 3] {
    std::array::from_fn(|axis| quad(&lanes[axis], first))
}

/// Four times the same vector.
#[inline(always)]
pub fn splat(v: Vec3) -> [Vec4; 3] {
    v.to_array().map(Vec4::splat)
}

/// Products of vectors.
#[inline(always)]
pub fn dot(a: [Vec4; 3], b: [Vec4; 3]) -> Vec4 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// Square roots.
#[inline(always)]
pub fn root(x: Vec4) -> Vec4 {
    Vec4::from_array(x.to_array().map(f32::sqrt))
}

/// Cosine of the difference of two angles, but of 0 where the second is the greater one.
#[inline(always)]
fn narrowed(cos: Vec4, by: Vec4) -> Vec4 {
    let cos = cos.max(-Vec4::ONE).min(Vec4::ONE);
    let sines = root(((Vec4::ONE - cos * cos) * (Vec4::ONE - by * by)).max(Vec4::ZERO));
    let is_outside: BVec4A = cos.cmplt(by);
    Vec4::select(is_outside, cos * by + sines, Vec4::ONE)
}
