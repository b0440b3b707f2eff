//! Importance of clusters at a shading point: the geometric weights for descending a light tree,
//! computed for eight clusters at a time.
//!
//! After Conty Estévez & Kulla 2018: the importance is the product of intensity, inverse squared
//! distance, the cosine at the lights and the cosine at the surface. They use the greatest cosines
//! that a cluster allows; we use means. The mean at the surface assumes that lights are distributed
//! uniformly along the normal, over the cluster's box. The mean at the lights assumes that cosines
//! are distributed uniformly between their minimum and maximum. Clusters across the horizon and
//! clusters that emit in all directions are therefore sampled less. This halves the variance.
//!
//! **Support.** A weight is 0 only if no light of the cluster can contribute: the entire box is
//! below the horizon of a one-sided material, or the point is outside of all emission cones
//! ([`Node::geometric_bounds`] proves the same for trees of points). Let u = 2⁻²⁴. The height of
//! the box's top above the horizon has an error below 8u of its distance. The cosine at the lights,
//! which is computed from three sums of angles, has an error below 64u. [`SLACK`] exceeds both.
//!
//! Results do not depend on the instruction set. Some loops are not written as `map`, since
//! closures passed to `map` are compiled without the target features.

use crate::light_tree::{LightKind, Node, RgbLanes};
use fearless_simd::prelude::*;
use fearless_simd::{Simd, dispatch, f32x8};
use lightbound_math::Vec3;
use lightbound_math::direction_box::Lanes;
use lightbound_math::simd_level;
use std::f32::consts::{PI, TAU};

/// Slack for rounding errors of cosines, 2⁻¹⁵.
const SLACK: f32 = 1.0 / (1 << 15) as f32;

/// Lower bound on squared distances, as a fraction of the box's squared half diagonal.
const MIN_DISTANCE2_FRACTION: f32 = 0.25;

/// Range of positive weights. Weights that underflow are clamped, since all weights may underflow.
const MIN_WEIGHT: f32 = f32::MIN_POSITIVE;
const MAX_WEIGHT: f32 = f32::MAX / 64.0;

/// Clamps the weight of a cluster that may contribute to the range of positive weights.
pub fn clamp_weight(weight: f32) -> f32 {
    if weight > MIN_WEIGHT { weight.min(MAX_WEIGHT) } else { MIN_WEIGHT }
}

/// Estimated geometric factors of the children of a node.
#[derive(Clone, Copy, Debug)]
pub struct GeometricFactors {
    /// Irradiance on a surface that faces the child, divided by the child's intensity, as
    /// [`crate::light_tree::IncidentLight::factor`]. Positive if the child may light the point.
    pub irradiance: Lanes,
    /// Mean cosine at the surface. Positive if the surface may reflect light of the child. 1 in
    /// media.
    pub cosine: Lanes,
    /// Solid angle that the child subtends, sr.
    pub solid_angle: Lanes,
}

/// A point that receives light.
#[derive(Clone, Copy, Debug)]
pub struct ReceiverPoint {
    /// Position.
    pub p: Vec3,
    /// Which light it receives.
    pub domain: ReceiverDomain,
}

/// The directions from which a point receives light.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ReceiverDomain {
    /// A point on a surface, which receives light times the cosine.
    Surface {
        /// Unit normal on the side that receives light.
        n: Vec3,
        /// Whether the other side receives light as well.
        both_sides: bool,
    },
    /// A point in a medium, which receives light from all directions alike.
    Volume,
}

/// Eight floats, one for each cluster, in SIMD registers.
pub type WideFloat<S> = f32x8<S>;

impl ReceiverPoint {
    /// Returns the geometric factors and the importance of the children of a node. `magnitude` are
    /// the intensities of the children. The importance is the product of irradiance, cosine and
    /// luminance. It is positive and finite if all three are positive, else 0.
    pub fn importance(
        &self,
        kind: LightKind,
        node: &Node,
        magnitude: &RgbLanes,
    ) -> (GeometricFactors, Lanes) {
        dispatch!(simd_level(), simd => self.importance_simd(simd, kind, node, magnitude))
    }

    #[inline(always)]
    fn importance_simd<S: Simd>(
        &self,
        simd: S,
        kind: LightKind,
        node: &Node,
        magnitude: &RgbLanes,
    ) -> (GeometricFactors, Lanes) {
        let factors = self.factors(simd, kind, node);
        let (irradiance, cosine) = (load(simd, &factors.irradiance), load(simd, &factors.cosine));
        let intensity = luminance(load3(simd, magnitude));
        let zero = splat(simd, 0.0);
        let may_contribute =
            intensity.simd_gt(zero) & irradiance.simd_gt(zero) & cosine.simd_gt(zero);
        let weight = (intensity * irradiance * cosine)
            .max(splat(simd, MIN_WEIGHT))
            .min(splat(simd, MAX_WEIGHT));
        (factors, may_contribute.select(weight, zero).to_array())
    }

    /// Estimates the geometric factors of the children of a node.
    #[inline(always)]
    pub fn factors<S: Simd>(&self, simd: S, kind: LightKind, node: &Node) -> GeometricFactors {
        let [irradiance, cosine, solid_angle] = match kind {
            LightKind::Omni | LightKind::Virtual { .. } => {
                let view = self.positional(simd, node);
                [view.inverse_d2, view.cosine, view.solid_angle(simd)]
            }
            LightKind::Oriented => self.oriented(simd, node),
            LightKind::Directional => self.directional(simd, node),
        };
        GeometricFactors {
            irradiance: irradiance.to_array(),
            cosine: cosine.to_array(),
            solid_angle: solid_angle.to_array(),
        }
    }

    #[inline(always)]
    fn oriented<S: Simd>(&self, simd: S, node: &Node) -> [WideFloat<S>; 3] {
        let (zero, one) = (splat(simd, 0.0), splat(simd, 1.0));
        let view = self.positional(simd, node);
        let axis = load3(simd, &node.axis);
        // Cosine between the axis and the direction from the centre to the point.
        let cos_axis = -dot(axis, view.center) / view.d2.max(splat(simd, MIN_WEIGHT)).sqrt();
        let is_inside = view.r2.simd_ge(view.d2);
        let cos_sphere = is_inside.select(-one, (one - view.r2 / view.d2).max(zero).sqrt());
        let cos_cone = load(simd, &node.cos_angle);
        let low =
            -cos_sub_clamped(simd, cos_sub_clamped(simd, -cos_axis, cos_sphere), cos_cone) - SLACK;
        let high =
            cos_sub_clamped(simd, cos_sub_clamped(simd, cos_axis, cos_sphere), cos_cone) + SLACK;
        let spot = high.simd_ge(load(simd, &node.cos_spot)).select(one, zero);
        let mean = positive_integral(simd, low, high) / (high - low);
        let emission = (mean * load(simd, &node.has_cosine)).max(spot);
        [emission * view.inverse_d2, view.cosine, view.solid_angle(simd)]
    }

    #[inline(always)]
    fn directional<S: Simd>(&self, simd: S, node: &Node) -> [WideFloat<S>; 3] {
        let (one, cos_cone) = (splat(simd, 1.0), load(simd, &node.cos_angle));
        let cosine = match self.domain {
            ReceiverDomain::Volume => one,
            ReceiverDomain::Surface { n, both_sides } => {
                let cos_axis = dot(load3(simd, &node.axis), splat3(simd, n));
                let low = -cos_sub_clamped(simd, -cos_axis, cos_cone) - SLACK;
                let high = cos_sub_clamped(simd, cos_axis, cos_cone) + SLACK;
                cosine_integral(simd, both_sides, low, high) / (high - low)
            }
        };
        [one, cosine, TAU * (one - cos_cone)]
    }

    /// Computes the terms that omni and oriented lights share.
    #[inline(always)]
    fn positional<S: Simd>(&self, simd: S, node: &Node) -> PositionalView<S> {
        let (center, half) = center_and_half(simd, node, self.p);
        let (d2, r2) = (dot(center, center), dot(half, half));
        let distance2 = d2.max(MIN_DISTANCE2_FRACTION * r2).max(splat(simd, MIN_WEIGHT));
        let one = splat(simd, 1.0);
        let cosine = match self.domain {
            ReceiverDomain::Volume => one,
            ReceiverDomain::Surface { n, both_sides } => {
                let height = dot(splat3(simd, n), center);
                let half_height = dot(splat3(simd, n.abs()), half);
                let distance = distance2.sqrt();
                let slack = SLACK * (distance + self.p.abs().element_sum());
                let (low, high) = (height - half_height - slack, height + half_height + slack);
                let integral = cosine_integral(simd, both_sides, low, high);
                (integral / ((high - low) * distance)).min(one)
            }
        };
        PositionalView { center, d2, r2, cosine, inverse_d2: one / distance2 }
    }
}

/// Returns the integral over [low, high] of max(x, 0), or of |x| if both sides receive light.
#[inline(always)]
fn cosine_integral<S: Simd>(
    simd: S,
    both_sides: bool,
    low: WideFloat<S>,
    high: WideFloat<S>,
) -> WideFloat<S> {
    let above = positive_integral(simd, low, high);
    if both_sides { above + positive_integral(simd, -high, -low) } else { above }
}

/// Returns the integral of max(x, 0) over [low, high].
#[inline(always)]
fn positive_integral<S: Simd>(simd: S, low: WideFloat<S>, high: WideFloat<S>) -> WideFloat<S> {
    let zero = splat(simd, 0.0);
    let (a, b) = (low.max(zero), high.max(zero));
    0.5 * (a + b) * (b - a)
}

/// Clusters of positional lights, relative to the shading point.
struct PositionalView<S: Simd> {
    center: [WideFloat<S>; 3],
    /// Squared distance of the centre, and squared half diagonal.
    d2: WideFloat<S>,
    r2: WideFloat<S>,
    /// Mean cosine at the surface; 1 in media.
    cosine: WideFloat<S>,
    /// Reciprocal of the squared distance, clamped by the size of the box.
    inverse_d2: WideFloat<S>,
}

impl<S: Simd> PositionalView<S> {
    /// Returns the approximate solid angle of the bounding sphere; 4π if the point is inside.
    #[inline(always)]
    fn solid_angle(&self, simd: S) -> WideFloat<S> {
        PI * (self.r2 * self.inverse_d2).min(splat(simd, 4.0))
    }
}

/// Returns the centres of the boxes of a node's children, relative to a point, and their half
/// sizes.
#[inline(always)]
pub fn center_and_half<S: Simd>(
    simd: S,
    node: &Node,
    p: Vec3,
) -> ([WideFloat<S>; 3], [WideFloat<S>; 3]) {
    let (lo, hi, p) = (load3(simd, &node.lo), load3(simd, &node.hi), splat3(simd, p));
    let (mut center, mut half) = (lo, hi);
    for i in 0..3 {
        center[i] = 0.5 * (lo[i] + hi[i]) - p[i];
        half[i] = 0.5 * (hi[i] - lo[i]);
    }
    (center, half)
}

/// Returns the luminance of each lane, as [`lightbound_math::sampling::luminance`].
#[inline(always)]
pub fn luminance<S: Simd>([r, g, b]: [WideFloat<S>; 3]) -> WideFloat<S> {
    0.2126 * r + 0.7152 * g + 0.0722 * b
}

/// Loads lanes into a SIMD register.
#[inline(always)]
pub fn load<S: Simd>(simd: S, lanes: &Lanes) -> WideFloat<S> {
    WideFloat::load_array_ref(simd, lanes)
}

/// Loads vectors in structure-of-arrays layout.
#[inline(always)]
pub fn load3<S: Simd>(simd: S, [x, y, z]: &[Lanes; 3]) -> [WideFloat<S>; 3] {
    [load(simd, x), load(simd, y), load(simd, z)]
}

/// Broadcasts a float to all lanes.
#[inline(always)]
pub fn splat<S: Simd>(simd: S, x: f32) -> WideFloat<S> {
    WideFloat::splat(simd, x)
}

/// Broadcasts a vector to all lanes.
#[inline(always)]
pub fn splat3<S: Simd>(simd: S, v: Vec3) -> [WideFloat<S>; 3] {
    [splat(simd, v.x), splat(simd, v.y), splat(simd, v.z)]
}

/// Returns the dot product of each lane.
#[inline(always)]
pub fn dot<S: Simd>(a: [WideFloat<S>; 3], b: [WideFloat<S>; 3]) -> WideFloat<S> {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// Returns cos(max(0, α − β)) for two angles given by cos α and cos β.
#[inline(always)]
fn cos_sub_clamped<S: Simd>(simd: S, cos_a: WideFloat<S>, cos_b: WideFloat<S>) -> WideFloat<S> {
    let (zero, one) = (splat(simd, 0.0), splat(simd, 1.0));
    let cos_a = cos_a.max(-one).min(one);
    let sines = ((one - cos_a * cos_a) * (one - cos_b * cos_b)).max(zero).sqrt();
    cos_a.simd_lt(cos_b).select(cos_a * cos_b + sines, one)
}
