//! How much light clusters are expected to send to a point, 8 at a time: the weights by which a light tree is descended.
//!
//! After Conty Estévez & Kulla 2018: intensity, distance, the cosine at the lights and the cosine at the surface. Where they take the
//! greatest cosine at the surface that the ball around a cluster allows, we take the mean over the cluster's box, as if its lights were
//! spread evenly along the normal: less is drawn of clusters across the horizon, where most lights are below or low.
//!
//! **Support.** A weight is 0 only where no light of the cluster can send anything: where the whole box is below the horizon of a material
//! with one side, or where the lights' own cones end before the point ([`Node::geometric_bounds`] proves the same for trees of points). With
//! u = 2⁻²⁴, the height of the box's top above the horizon is wrong by less than 8u of its distance; the cosine at the lights, of three
//! sums of angles by cosines, by less than 64u. [`SLACK`] exceeds both.

use crate::light_tree::{Kind, Node, WIDTH};
use crate::math::Vec3;
use crate::math::direction_box::{Lanes, greater, lesser};
use std::f32::consts::{PI, TAU};

/// 2⁻¹⁵, for rounding of cosines.
const SLACK: f32 = 1.0 / (1 << 15) as f32;

/// Squared distances count as at least so much of the box's squared half diagonal.
const NEAR: f32 = 0.5;

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

impl Place {
    /// What arrives of the children of a node.
    pub fn factors(&self, kind: Kind, node: &Node) -> Factors {
        let mut factors = Factors { arrival: [1.0; WIDTH], cosine: [0.0; WIDTH], solid_angle: [0.0; WIDTH] };
        for k in 0..WIDTH {
            let (arrival, cosine, solid_angle) = match kind {
                Kind::Omni => {
                    let seen = self.see(node, k);
                    (1.0 / seen.distance2, seen.cosine, seen.solid_angle())
                }
                Kind::Oriented => self.oriented(node, k),
                Kind::Directional => (1.0, self.directional(node, k), TAU * (1.0 - node.cos_angle[k])),
            };
            (factors.arrival[k], factors.cosine[k], factors.solid_angle[k]) = (arrival, cosine, solid_angle);
        }
        factors
    }

    #[inline(always)]
    fn oriented(&self, node: &Node, k: usize) -> (f32, f32, f32) {
        let seen = self.see(node, k);
        let Seen { center, d2, r2, cosine, distance2 } = seen;
        let axis: [f32; 3] = std::array::from_fn(|i| node.axis[i][k]);
        // From the light to the point.
        let along = -dot(axis, center) / greater(d2, f32::MIN_POSITIVE).sqrt();
        let cos = narrowed(along, cos_of_ball(d2, r2));
        let cos = narrowed(cos, node.cos_angle[k]) + SLACK;
        let spot = if cos >= node.cos_spot[k] { 1.0 } else { 0.0 };
        let emission = greater(lesser(cos, 1.0) * node.cosine[k], spot);
        (greater(emission, 0.0) / distance2, cosine, seen.solid_angle())
    }

    #[inline(always)]
    fn directional(&self, node: &Node, k: usize) -> f32 {
        let axis: [f32; 3] = std::array::from_fn(|i| node.axis[i][k]);
        let (cos, cone) = (dot(axis, self.n.to_array()), node.cos_angle[k]);
        let high = narrowed(cos, cone);
        let low = -narrowed(-cos, cone);
        self.cosine(low - SLACK, high + SLACK)
    }

    /// What both kinds of lights with a place have in common.
    #[inline(always)]
    fn see(&self, node: &Node, k: usize) -> Seen {
        let (p, n) = (self.p.to_array(), self.n.to_array());
        let center: [f32; 3] = std::array::from_fn(|i| 0.5 * (node.lo[i][k] + node.hi[i][k]) - p[i]);
        let half: [f32; 3] = std::array::from_fn(|i| 0.5 * (node.hi[i][k] - node.lo[i][k]));
        let (d2, r2) = (dot(center, center), dot(half, half));
        let (height, reach) = (dot(n, center), dot(n.map(f32::abs), half));
        let distance2 = greater(greater(d2, NEAR * r2), f32::MIN_POSITIVE);
        let distance = distance2.sqrt();
        let slack = SLACK * (distance + p[0].abs() + p[1].abs() + p[2].abs());
        let cosine = self.cosine(height - reach - slack, height + reach + slack) / distance;
        Seen { center, d2, r2, cosine: lesser(cosine, 1.0), distance2 }
    }

    /// Mean of the heights that count, of those between two.
    #[inline(always)]
    fn cosine(&self, low: f32, high: f32) -> f32 {
        let above = mean_positive(low, high);
        if self.both_sides { above + mean_positive(-high, -low) } else { above }
    }
}

/// A cluster with a place, from the point.
struct Seen {
    center: [f32; 3],
    /// Squared distance of the centre, and squared half diagonal.
    d2: f32,
    r2: f32,
    /// At the surface.
    cosine: f32,
    /// Squared, at least what makes sense for a box of its size.
    distance2: f32,
}

impl Seen {
    /// Of the ball, about; all directions from within.
    #[inline(always)]
    fn solid_angle(&self) -> f32 {
        PI * lesser(self.r2 / self.distance2, 4.0)
    }
}

#[inline(always)]
fn dot(a: [f32; 3], b: [f32; 3]) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// Mean of max(x, 0) over x from `low` to `high`, which are not equal.
#[inline(always)]
fn mean_positive(low: f32, high: f32) -> f32 {
    let (a, b) = (greater(low, 0.0), greater(high, 0.0));
    0.5 * (a + b) * ((b - a) / (high - low))
}

/// Cosine of the half angle that a ball fills; −1 from within.
#[inline(always)]
fn cos_of_ball(d2: f32, r2: f32) -> f32 {
    if r2 < d2 { (1.0 - r2 / d2).sqrt() } else { -1.0 }
}

/// Cosine of the difference of two angles, but of 0 where the second is the greater one.
#[inline(always)]
fn narrowed(cos: f32, by: f32) -> f32 {
    let cos = lesser(greater(cos, -1.0), 1.0);
    let sines = (greater(1.0 - cos * cos, 0.0) * greater(1.0 - by * by, 0.0)).sqrt();
    if cos < by { cos * by + sines } else { 1.0 }
}
