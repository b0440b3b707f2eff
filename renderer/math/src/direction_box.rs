//! Boxes around the directions to clusters of lights, in the shading frame of a point.
//!
//! A bounding shader needs a box that contains *the exact float vector* that the point shader
//! receives: the result of [`Viewpoint::local_direction`] for the direction to a light. The code
//! processes eight clusters at a time without branches, so that it compiles to SIMD instructions on
//! each target.
//!
//! # Bounds
//!
//! Let c ± h be the bounding box of the lights relative to the point p, and let rᵢ be the axes of
//! the frame. A component of a direction is rᵢ·d/|d|. The tighter of two bounds on it is used:
//!
//! - *In the frame*: The lights lie in the box C ± H with Cᵢ = rᵢ·c and Hᵢ = |rᵢ|·h. Over this box,
//!   x/√(x² + y² + z²) has its maximum at the largest x. If that x is positive, the maximum is at
//!   the smallest y² + z², otherwise at the largest.
//! - *To first order*: Let g = c/|c| and τ₀ = rᵢ·g. For τ ≥ 0, rᵢ·d ≤ τ|d| follows from (rᵢ − τg)·d
//!   ≤ 0, since g·d ≤ |d|. The left side is at most (rᵢ − τg)·c + Σ hₖ|rᵢ − τ₀g|ₖ + (τ − τ₀) Σ
//!   hₖ|gₖ|. This vanishes at τ = τ₀ + Σ hₖ|rᵢ − τ₀g|ₖ / (|c| − Σ hₖ|gₖ|), provided that all lights
//!   are on one side of the plane through p perpendicular to g. For τ < 0, |d| cos φ ≤ g·d with sin
//!   φ = |h|/|c| gives τ cos φ instead.
//!
//! The first bound is tighter for nearby clusters. The second is tighter for small or distant
//! clusters that do not lie along an axis.
//!
//! # Rounding error
//!
//! Let u = 2⁻²⁴, and let the products rᵢ·rⱼ of the axes equal those of an orthonormal frame to
//! within ε. [`Viewpoint::new`] measures ε; a frame that is too far from orthonormal gets no
//! bounds.
//!
//! - q − p has a relative error of u, and so has its product with the common normalisation factor:
//!   |rᵢ·d| has an error of 2u. The change of frame adds 3u, so a component has an error of at most
//!   5u, and the vector an error of at most 9u in length. Square, sum, root and division add 3.5u.
//!   In total the error is below 18u. The squared length is 1 ± 7u, within 2⁻²¹. No component
//!   exceeds 1, since the root of x² never rounds to less than |x|.
//! - c and h: lo − p, hi − p, their sum and their difference have a combined error of 3u(|lo − p| +
//!   |hi − p|), and h is enlarged by 4u(|lo − p| + |hi − p|). C has an error of 3u Σ|cₖ|, H an
//!   error of 3u H, and the bounds C ± H an error of u. H is enlarged by 8u(Σ|cₖ| + H). Quotients
//!   have an error of 4u.
//! - τ: rᵢ·c − τ₀ g·c has an error of 15u|c|, and the sum of products an error of 9u Σhₖ; 32u(|c| +
//!   Σhₖ) is added. |c| − Σ hₖ|gₖ| is reduced by 8u(|c| + Σ hₖ|gₖ|). |g| is 1 ± 5u; quotient, sum
//!   and product add 5u; φ has an error of 5u; |rᵢ·d| / |d| deviates by ε from its value in an
//!   orthonormal frame.
//!
//! So a margin of 48u + ε covers both bounds. [`Viewpoint::to_directions`] covers cones of
//! directions.

use super::{Frame, Vec3, simd_level};
use fearless_simd::dispatch;

/// Number of clusters per group.
pub const LANES: usize = 8;

/// One float per cluster.
pub type Lanes = [f32; LANES];

/// Returns the vector in a lane.
#[inline(always)]
pub fn lane_vector([x, y, z]: &[Lanes; 3], lane: usize) -> Vec3 {
    Vec3::new(x[lane], y[lane], z[lane])
}

/// Eight boxes of unit vectors in the shading frame. No box is empty, and all lie in [−1, 1]³.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DirectionBoxes {
    /// Lower bounds on x, y and z.
    pub lo: [Lanes; 3],
    /// Upper bounds on x, y and z.
    pub hi: [Lanes; 3],
}

impl DirectionBoxes {
    /// All directions.
    pub const ALL: DirectionBoxes =
        DirectionBoxes { lo: [[-1.0; LANES]; 3], hi: [[1.0; LANES]; 3] };

    /// Returns the bounds on x, y and z of one box, `[lo, hi]` each.
    pub fn get(&self, lane: usize) -> [[f32; 2]; 3] {
        std::array::from_fn(|k| [self.lo[k][lane], self.hi[k][lane]])
    }

    /// Extends all boxes by `margins` along x, y and z, within [−1, 1]³.
    pub fn widen(&mut self, margins: [f32; 3]) {
        for (k, margin) in margins.into_iter().enumerate() {
            self.lo[k].iter_mut().for_each(|lo| *lo = greater(*lo - margin, -1.0));
            self.hi[k].iter_mut().for_each(|hi| *hi = lesser(*hi + margin, 1.0));
        }
    }

    /// Sets the bounds of one box.
    #[inline(always)]
    fn set(&mut self, lane: usize, bounds: [[f32; 2]; 3]) {
        for (k, [lo, hi]) in bounds.into_iter().enumerate() {
            (self.lo[k][lane], self.hi[k][lane]) = (lo, hi);
        }
    }
}

/// The unit roundoff u = 2⁻²⁴, the largest relative rounding error of one operation.
const UNIT_ROUNDOFF: f32 = 1.0 / (1 << 24) as f32;

/// Bound on the rounding error of a box's endpoints, without the frame's deviation ε.
const ROUNDING_MARGIN: f32 = 48.0 * UNIT_ROUNDOFF;

/// Largest accepted deviation of the axes from an orthonormal frame.
const MAX_SKEW: f32 = 1.0 / 128.0;

/// A shading point with its frame.
#[derive(Clone, Copy, Debug)]
pub struct Viewpoint {
    p: [f32; 3],
    axes: [[f32; 3]; 3],
    /// Deviation ε of the axes from an orthonormal frame; infinite above [`MAX_SKEW`].
    skew: f32,
}

impl Viewpoint {
    /// Creates a viewpoint at `p` with the shading frame `frame`. A `side` of −1 flips the normal,
    /// 1 keeps it: one-sided materials are evaluated above the surface.
    pub fn new(p: Vec3, frame: &Frame, side: f32) -> Viewpoint {
        let axes = [frame.t, frame.b, side * frame.n].map(|axis| axis.to_array());
        let deviation = |i: usize, j: usize| {
            let exact = std::iter::zip(axes[i], axes[j])
                .map(|(a, b)| f64::from(a) * f64::from(b))
                .sum::<f64>();
            (exact - if i == j { 1.0 } else { 0.0 }).abs()
        };
        let [xy, yz, zx] = [deviation(0, 1), deviation(1, 2), deviation(2, 0)];
        // The largest row sum bounds the norm of the deviation matrix.
        let rows =
            [deviation(0, 0) + xy + zx, deviation(1, 1) + xy + yz, deviation(2, 2) + yz + zx];
        let skew = rows.into_iter().fold(0.0, f64::max) as f32 * (1.0 + 2.0 * UNIT_ROUNDOFF);
        // Also false for NaN.
        let is_frame = skew <= MAX_SKEW;
        Viewpoint { p: p.to_array(), axes, skew: if is_frame { skew } else { f32::INFINITY } }
    }

    /// Returns the shading point p.
    pub fn position(&self) -> Vec3 {
        Vec3::from_array(self.p)
    }

    /// Returns the axes of the frame, with the normal flipped to the viewpoint's side.
    pub fn axes(&self) -> [Vec3; 3] {
        self.axes.map(Vec3::from_array)
    }

    /// Returns how far products of the axes are from those of an orthonormal frame; infinite if the
    /// axes are too far from orthonormal for bounds.
    pub fn skew(&self) -> f32 {
        self.skew
    }

    /// Computes [`Frame::local_direction`] in the frame of this viewpoint.
    #[inline]
    pub fn local_direction(&self, w: Vec3) -> Vec3 {
        let [t, b, n] = self.axes.map(Vec3::from_array);
        Frame { t, b, n }.local_direction(w)
    }

    /// Computes [`local_direction`](Self::local_direction) for eight directions.
    pub fn local_directions(&self, w: &[Lanes; 3]) -> [Lanes; 3] {
        dispatch!(simd_level(), _ => self.local_lanes(w))
    }

    #[inline(always)]
    fn local_lanes(&self, w: &[Lanes; 3]) -> [Lanes; 3] {
        let [t, b, n] = self.axes.map(Vec3::from_array);
        let mut local = [[0.0; LANES]; 3];
        for lane in 0..LANES {
            let w = Vec3::new(w[0][lane], w[1][lane], w[2][lane]);
            let v = Frame { t, b, n }.local_direction(w);
            (local[0][lane], local[1][lane], local[2][lane]) = (v.x, v.y, v.z);
        }
        local
    }

    /// Returns the boxes around the directions to all points of eight world-space boxes with
    /// corners `lo` and `hi`.
    ///
    /// A box contains [`local_direction`](Self::local_direction) of `(q − p).try_normalize()` for
    /// each q in the world-space box. It is [`DirectionBoxes::ALL`] if p may be in or on the
    /// world-space box, if that box is empty, if coordinates exceed 10¹⁵, or if distances are below
    /// 10⁻¹⁵.
    pub fn to_positions(&self, lo: &[Lanes; 3], hi: &[Lanes; 3]) -> DirectionBoxes {
        dispatch!(simd_level(), _ => self.position_boxes(lo, hi))
    }

    #[inline(always)]
    fn position_boxes(&self, lo: &[Lanes; 3], hi: &[Lanes; 3]) -> DirectionBoxes {
        let mut boxes = DirectionBoxes::ALL;
        for lane in 0..LANES {
            let (lo, hi) =
                ([lo[0][lane], lo[1][lane], lo[2][lane]], [hi[0][lane], hi[1][lane], hi[2][lane]]);
            boxes.set(lane, self.position_box(lo, hi));
        }
        boxes
    }

    /// Returns the boxes around eight cones of directions, given by unit axes in world space and
    /// the cosines of their half angles.
    ///
    /// A box contains [`local_direction`](Self::local_direction) of each direction w if w·axis in
    /// `f32` is at least the cosine. The axis and w must be normalised to within 5u, as by
    /// `normalize`. The box is [`DirectionBoxes::ALL`] if the axis is not normalised.
    ///
    /// If α is the angle between the cone's axis and a frame axis, and θ the half angle of the
    /// cone, the component along that frame axis lies between cos(α + θ) and cos(α − θ), unless the
    /// cone contains the frame axis or its negative.
    pub fn to_directions(&self, axis: &[Lanes; 3], cos_angle: &Lanes) -> DirectionBoxes {
        dispatch!(simd_level(), _ => self.direction_boxes(axis, cos_angle))
    }

    #[inline(always)]
    fn direction_boxes(&self, axis: &[Lanes; 3], cos_angle: &Lanes) -> DirectionBoxes {
        let mut boxes = DirectionBoxes::ALL;
        for lane in 0..LANES {
            boxes.set(
                lane,
                self.cone_box([axis[0][lane], axis[1][lane], axis[2][lane]], cos_angle[lane]),
            );
        }
        boxes
    }

    /// Returns the box around the directions to the points of a world-space box.
    #[inline(always)]
    fn position_box(&self, lo: [f32; 3], hi: [f32; 3]) -> [[f32; 2]; 3] {
        let (mut c, mut h) = ([0.0; 3], [0.0; 3]);
        let (mut extent, mut distance2, mut is_ordered) = (0.0, 0.0, true);
        for k in 0..3 {
            let (a, b) = (lo[k] - self.p[k], hi[k] - self.p[k]);
            let magnitude = a.abs() + b.abs();
            c[k] = 0.5 * (a + b);
            h[k] = 0.5 * (b - a) + 4.0 * UNIT_ROUNDOFF * magnitude;
            let gap = greater(c[k].abs() - h[k], 0.0);
            distance2 += gap * gap;
            extent += magnitude;
            is_ordered &= a <= b;
        }
        // All of these comparisons are false for NaN.
        let is_valid = is_ordered & (distance2 > 1e-30) & (extent < 1e15) & (self.skew <= MAX_SKEW);
        let [x, y, z] = self.axes;
        let local = [dot(x, c), dot(y, c), dot(z, c)];
        let framed = self.in_frame(local, c, h, distance2);
        let linear = self.first_order(local, c, h);
        let mut bounds = [[-1.0, 1.0]; 3];
        for k in 0..3 {
            let hi = lesser(framed[k][1], linear[k][1]);
            let lo = greater(framed[k][0], linear[k][0]);
            bounds[k] = self.with_margin([lo, hi], is_valid);
        }
        bounds
    }

    /// Widens bounds by the rounding margin and clamps them to ±1; [−1, 1] unless `is_valid`.
    #[inline(always)]
    fn with_margin(&self, [lo, hi]: [f32; 2], is_valid: bool) -> [f32; 2] {
        let margin = ROUNDING_MARGIN + self.skew;
        let (lo, hi) = (greater(lo - margin, -1.0), lesser(hi + margin, 1.0));
        [if is_valid { lo } else { -1.0 }, if is_valid { hi } else { 1.0 }]
    }

    /// Returns the bounds over the box C ± H in the frame. `distance2` is the squared distance to
    /// the world-space box.
    #[inline(always)]
    fn in_frame(&self, local: [f32; 3], c: [f32; 3], h: [f32; 3], distance2: f32) -> [[f32; 2]; 3] {
        let size = c[0].abs() + c[1].abs() + c[2].abs();
        let (mut half, mut min2, mut max2) = ([0.0; 3], [0.0; 3], [0.0; 3]);
        for k in 0..3 {
            let axis = self.axes[k];
            half[k] = dot([axis[0].abs(), axis[1].abs(), axis[2].abs()], h)
                * (1.0 + 8.0 * UNIT_ROUNDOFF)
                + 8.0 * UNIT_ROUNDOFF * size;
            let (min, max) = (greater(local[k].abs() - half[k], 0.0), local[k].abs() + half[k]);
            (min2[k], max2[k]) = (min * min, max * max);
        }
        // Allows for a frame skewed by up to `MAX_SKEW`.
        let distance2 = 0.98 * distance2;
        let mut bounds = [[0.0; 2]; 3];
        for k in 0..3 {
            let (i, j) = ((k + 1) % 3, (k + 2) % 3);
            let (close, far) = (min2[i] + min2[j], max2[i] + max2[j]);
            let (lo, hi) = (local[k] - half[k], local[k] + half[k]);
            // A bound on the far side of 0 gets wider if its length is overestimated.
            let low2 = greater(lo * lo + if lo > 0.0 { far } else { close }, distance2);
            let high2 = greater(hi * hi + if hi > 0.0 { close } else { far }, distance2);
            bounds[k] = [lo / low2.sqrt(), hi / high2.sqrt()];
        }
        bounds
    }

    /// Returns the bounds to first order.
    #[inline(always)]
    fn first_order(&self, local: [f32; 3], c: [f32; 3], h: [f32; 3]) -> [[f32; 2]; 3] {
        let c2 = dot(c, c);
        let length = c2.sqrt();
        let scale = 1.0 / length;
        let g = [c[0] * scale, c[1] * scale, c[2] * scale];
        let depth = dot(h, [g[0].abs(), g[1].abs(), g[2].abs()]);
        let front = length * (1.0 - 8.0 * UNIT_ROUNDOFF) - depth * (1.0 + 8.0 * UNIT_ROUNDOFF);
        let cos2 = (c2 - dot(h, h)) * scale * scale - 16.0 * UNIT_ROUNDOFF;
        let cos = greater(cos2, 0.0).sqrt();
        let slack = 32.0 * UNIT_ROUNDOFF * (length + (h[0] + h[1] + h[2]));
        let inv_front = 1.0 / front;
        let mut bounds = [[0.0; 2]; 3];
        for k in 0..3 {
            let (axis, tau) = (self.axes[k], local[k] * scale);
            let across = [axis[0] - tau * g[0], axis[1] - tau * g[1], axis[2] - tau * g[2]];
            let width =
                (dot(h, [across[0].abs(), across[1].abs(), across[2].abs()]) + slack) * inv_front;
            let (lo, hi) = (tau - width, tau + width);
            let lo = if lo > 0.0 { lo * cos } else { lo };
            let hi = if hi < 0.0 { hi * cos } else { hi };
            bounds[k] = [if front > 0.0 { lo } else { -2.0 }, if front > 0.0 { hi } else { 2.0 }];
        }
        bounds
    }

    /// Returns the box around a cone of directions.
    #[inline(always)]
    fn cone_box(&self, axis: [f32; 3], cos_angle: f32) -> [[f32; 2]; 3] {
        let length2 = dot(axis, axis);
        let is_valid =
            (length2 > 0.999) & (length2 < 1.001) & (cos_angle >= -2.0) & (self.skew <= MAX_SKEW);
        // The dot product has an error of 3u, plus 10u since the vectors are not exactly
        // normalised.
        let cos = lesser(greater(cos_angle - 16.0 * UNIT_ROUNDOFF, -1.0), 1.0);
        let sin = ((1.0 - cos) * (1.0 + cos)).sqrt() * (1.0 + 8.0 * UNIT_ROUNDOFF);
        let [x, y, z] = self.axes;
        let local = [dot(x, axis), dot(y, axis), dot(z, axis)];
        let mut bounds = [[0.0; 2]; 3];
        for k in 0..3 {
            let (i, j) = ((k + 1) % 3, (k + 2) % 3);
            // The cone axis's component perpendicular to the frame axis, in a skewed frame.
            let across = (local[i] * local[i]
                + local[j] * local[j]
                + (2.0 * self.skew + 32.0 * UNIT_ROUNDOFF))
                .sqrt();
            // cos(α ± θ) = cos α cos θ ∓ sin α sin θ.
            let (cos_cos, sin_sin) = (local[k] * cos, across * sin);
            let threshold = cos - 64.0 * UNIT_ROUNDOFF - self.skew;
            let lo = if -local[k] >= threshold { -1.0 } else { cos_cos - sin_sin };
            let hi = if local[k] >= threshold { 1.0 } else { cos_cos + sin_sin };
            bounds[k] = self.with_margin([lo, hi], is_valid);
        }
        bounds
    }
}

/// Returns the larger of two numbers, or the second if either is NaN. Compiles to a single
/// instruction, unlike [`f32::max`].
#[inline(always)]
pub fn greater(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

/// Returns the smaller of two numbers, or the second if either is NaN. Compiles to a single
/// instruction, unlike [`f32::min`].
#[inline(always)]
pub fn lesser(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

#[inline(always)]
fn dot(a: [f32; 3], b: [f32; 3]) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// Random points, frames and clusters for tests.
#[cfg(any(test, feature = "testing"))]
#[allow(clippy::disallowed_methods, reason = "test code")]
pub mod testing {
    use super::*;
    use lightbound_shader::random::Random;

    /// Returns a uniform float in [0, 1).
    pub fn uniform(random: &mut Random) -> f32 {
        (random.bits() >> 40) as f32 * UNIT_ROUNDOFF
    }

    /// Returns a point in the cube [−1, 1)³, sometimes on a coordinate plane or axis.
    pub fn in_cube(random: &mut Random) -> Vec3 {
        Vec3::from_array(
            [(); 3].map(|()| if random.once_in(8) { 0.0 } else { 2.0 * uniform(random) - 1.0 }),
        )
    }

    /// Returns a unit vector, sometimes along an axis or in a coordinate plane.
    pub fn unit(random: &mut Random) -> Vec3 {
        loop {
            if let Some(unit) = in_cube(random).try_normalize() {
                return unit;
            }
        }
    }

    /// Returns a frame of random orientation.
    pub fn frame(random: &mut Random) -> Frame {
        let n = unit(random);
        if random.once_in(2) {
            Frame::from_normal(n)
        } else {
            Frame::from_normal_tangent(n, in_cube(random))
        }
    }

    /// Returns a viewpoint at `p` with a random frame and side.
    pub fn viewpoint(random: &mut Random, p: Vec3) -> Viewpoint {
        Viewpoint::new(p, &frame(random), if random.once_in(2) { 1.0 } else { -1.0 })
    }

    /// Converts eight vectors to a structure of arrays.
    pub fn lanes(vectors: [Vec3; LANES]) -> [Lanes; 3] {
        std::array::from_fn(|axis| vectors.map(|v| v[axis]))
    }

    /// Returns the corners of a box near p, of random size and distance. The box may be a point,
    /// flat, touch p or contain it.
    pub fn random_box(random: &mut Random, p: Vec3) -> [Vec3; 2] {
        let scale = 0.5f32.powi(random.below(20) as i32 - 6);
        let middle = p + scale * in_cube(random);
        let relative_size =
            if random.once_in(8) { 0.0 } else { 0.5f32.powi(random.below(16) as i32) };
        let half = scale * relative_size * in_cube(random).abs();
        let mut corners = [middle - half, middle + half];
        for axis in 0..3 {
            // Sometimes places a face at p, or up to three floats above it.
            let steps = random.below(4);
            let face = (0..steps).fold(p[axis], |x, _| x.next_up());
            if random.once_in(16) && face <= corners[1][axis] {
                corners[0][axis] = face;
            }
        }
        corners
    }

    /// Returns points of a box: its corners, the point closest to p, and random points.
    pub fn points_in_box(random: &mut Random, [lo, hi]: [Vec3; 2], p: Vec3) -> Vec<Vec3> {
        let corners = (0..8).map(|k| {
            Vec3::from_array(
                [0, 1, 2].map(|axis| if k >> axis & 1 == 0 { lo[axis] } else { hi[axis] }),
            )
        });
        let mut points: Vec<_> = corners.collect();
        points.push(p.clamp(lo, hi));
        for _ in 0..8 {
            points.push((lo + (hi - lo) * in_cube(random).abs()).clamp(lo, hi));
        }
        points
    }
}

#[cfg(test)]
mod tests {
    use super::testing::*;
    use super::*;
    use crate::vec3;
    use lightbound_shader::random::Random;

    /// Number of iterations with eight boxes each.
    const ROUNDS: usize = if cfg!(debug_assertions) { 3_000 } else { 60_000 };

    fn contains(boxes: &DirectionBoxes, lane: usize, v: Vec3) -> bool {
        boxes.get(lane).into_iter().zip(v.to_array()).all(|([lo, hi], x)| lo <= x && x <= hi)
    }

    #[test]
    fn local_directions_of_lanes_are_those_of_single_directions() {
        let frame = Frame::from_normal(Vec3::new(0.48, -0.6, 0.64));
        let view = Viewpoint::new(Vec3::ZERO, &frame, 1.0);
        let x = [0.0, 1.0, 0.6, -0.8, 3.0, 1e-3, -0.0, 0.57735];
        let y = [0.0, 0.0, 0.8, 0.6, 4.0, 0.0, 1.0, 0.57735];
        let z = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.57735];
        let local = view.local_directions(&[x, y, z]);
        for lane in 0..LANES {
            let expected = view.local_direction(Vec3::new(x[lane], y[lane], z[lane]));
            let bits = |v: Vec3| v.to_array().map(f32::to_bits);
            assert!(
                bits(lane_vector(&local, lane)) == bits(expected)
                    || expected.is_nan() && lane_vector(&local, lane).is_nan()
            );
        }
    }

    #[test]
    fn boxes_contain_directions_to_all_points_of_clusters() {
        let random = &mut Random::new(8);
        let (mut directions, mut narrow_boxes, mut needing_margin) = (0, 0, 0);
        for _ in 0..ROUNDS {
            let p = in_cube(random) * 2f32.powi(random.below(12) as i32);
            let viewpoint = viewpoint(random, p);
            let corners = [(); LANES].map(|()| random_box(random, p));
            let boxes = viewpoint
                .to_positions(&lanes(corners.map(|c| c[0])), &lanes(corners.map(|c| c[1])));
            for (lane, &bounds) in corners.iter().enumerate() {
                for q in points_in_box(random, bounds, p) {
                    let Some(wi) = (q - p).try_normalize() else { continue };
                    let v = viewpoint.local_direction(wi);
                    assert!(
                        contains(&boxes, lane, v),
                        "{q} of {bounds:?} from {viewpoint:?}: {v} is outside of {:?}",
                        boxes.get(lane)
                    );
                    assert!((v.as_dvec3().length_squared() - 1.0).abs() <= 2f64.powi(-21), "{v}");
                    directions += 1;
                    let needs_margin = |[lo, hi]: [f32; 2], x: f32| {
                        (hi < 1.0 && x > hi - ROUNDING_MARGIN)
                            || (lo > -1.0 && x < lo + ROUNDING_MARGIN)
                    };
                    needing_margin += usize::from(
                        boxes
                            .get(lane)
                            .into_iter()
                            .zip(v.to_array())
                            .any(|(bounds, x)| needs_margin(bounds, x)),
                    );
                }
                narrow_boxes += usize::from(boxes.get(lane).iter().all(|[lo, hi]| hi - lo < 0.5));
            }
        }
        assert!(
            directions > 100 * ROUNDS && narrow_boxes > ROUNDS,
            "too few: {directions} directions, {narrow_boxes} narrow boxes"
        );
        // Without the margin, some bounds would be violated.
        assert!(needing_margin > ROUNDS / 300, "only {needing_margin} directions need the margin");
    }

    #[test]
    fn boxes_contain_all_directions_of_cones() {
        let random = &mut Random::new(9);
        let mut directions = 0;
        for _ in 0..ROUNDS {
            let viewpoint = viewpoint(random, Vec3::ZERO);
            let axes = [(); LANES].map(|()| unit(random));
            let cones: [Vec<Vec3>; LANES] = axes.map(|axis| {
                let width = 3.0 * 0.5f32.powi(random.below(26) as i32);
                let others =
                    (0..8).filter_map(|_| (axis + width * in_cube(random)).try_normalize());
                let mut all: Vec<_> = others.collect();
                all.push(axis);
                all
            });
            let cos: Lanes = std::array::from_fn(|lane| {
                cones[lane].iter().map(|w| w.dot(axes[lane])).fold(f32::INFINITY, f32::min)
            });
            let boxes = viewpoint.to_directions(&lanes(axes), &cos);
            for (lane, cone) in cones.iter().enumerate() {
                for &w in cone {
                    let v = viewpoint.local_direction(w);
                    assert!(
                        contains(&boxes, lane, v),
                        "{w} in a cone around {} from {viewpoint:?}: {v} is outside of {:?}",
                        axes[lane],
                        boxes.get(lane)
                    );
                    directions += 1;
                }
            }
        }
        assert!(directions > 50 * ROUNDS, "only {directions} directions");
    }

    /// Returns the mean ratio of a box's width to the range of sampled directions, over random
    /// boxes at `distance` times their size.
    fn looseness(distance: f32) -> f32 {
        let random = &mut Random::new(10);
        let (mut sum, mut count) = (0.0, 0.0);
        for _ in 0..50 {
            let viewpoint = viewpoint(random, Vec3::ZERO);
            let corners = [(); LANES].map(|()| {
                let (middle, half) = (distance * unit(random), in_cube(random).abs());
                [middle - half, middle + half]
            });
            let boxes = viewpoint
                .to_positions(&lanes(corners.map(|c| c[0])), &lanes(corners.map(|c| c[1])));
            for (lane, &bounds) in corners.iter().enumerate() {
                let mut sampled = [[f32::INFINITY, f32::NEG_INFINITY]; 3];
                for q in (0..50).flat_map(|_| points_in_box(random, bounds, Vec3::ZERO)) {
                    let v = viewpoint.local_direction(q.normalize());
                    sampled
                        .iter_mut()
                        .zip(v.to_array())
                        .for_each(|(bounds, x)| *bounds = [bounds[0].min(x), bounds[1].max(x)]);
                }
                for (bounds, sampled) in boxes
                    .get(lane)
                    .into_iter()
                    .zip(sampled)
                    .filter(|(_, sampled)| sampled[1] - sampled[0] > 0.01)
                {
                    sum += (bounds[1] - bounds[0]) / (sampled[1] - sampled[0]);
                    count += 1.0;
                }
            }
        }
        sum / count
    }

    #[test]
    fn boxes_are_tight() {
        let [near, far] = [2.5, 20.0].map(looseness);
        assert!(near < 1.25 && far < 1.05, "{near} nearby, {far} far away");
    }

    #[test]
    fn invalid_inputs_give_all_directions() {
        let viewpoint = Viewpoint::new(vec3(0.5, 0.5, 0.5), &Frame::from_normal(Vec3::Z), 1.0);
        let boxes =
            |lo: Vec3, hi: Vec3| viewpoint.to_positions(&lanes([lo; LANES]), &lanes([hi; LANES]));
        let (inf, nan) = (f32::INFINITY, f32::NAN);
        for (lo, hi) in [
            (Vec3::ZERO, Vec3::ONE),
            (Vec3::splat(0.5), Vec3::ONE),
            (Vec3::splat(0.5), Vec3::splat(0.5)),
            (vec3(0.5, 0.0, 0.0), vec3(0.5, 1.0, 1.0)),
            (Vec3::ONE, Vec3::ZERO),
            (Vec3::splat(1e30), Vec3::splat(1e30)),
            (Vec3::splat(inf), Vec3::splat(-inf)),
            (Vec3::splat(-inf), Vec3::splat(inf)),
            (Vec3::ONE, Vec3::splat(inf)),
            (vec3(nan, 1.0, 1.0), Vec3::ONE),
            (vec3(1.0, 1.0, nan), vec3(1.0, 1.0, nan)),
        ] {
            assert_eq!(boxes(lo, hi), DirectionBoxes::ALL, "{lo} to {hi}");
        }
        assert!(boxes(Vec3::ONE, Vec3::ONE).lo[2][0] > 0.5);
        let cones =
            |axis: Vec3, cos: f32| viewpoint.to_directions(&lanes([axis; LANES]), &[cos; LANES]);
        for (axis, cos) in [
            (Vec3::ZERO, 1.0),
            (Vec3::Z, nan),
            (vec3(nan, 0.0, 1.0), 0.5),
            (Vec3::Z, -1.0),
            (2.0 * Vec3::X, 1.0),
        ] {
            assert_eq!(cones(axis, cos), DirectionBoxes::ALL, "{axis}, {cos}");
        }
        assert!(cones(Vec3::Z, 0.5).lo[2][3] > 0.49);
        // A frame that is too skewed.
        let skewed = Frame { t: vec3(1.0, 0.0, 0.1), ..Frame::from_normal(Vec3::Z) };
        let skewed = Viewpoint::new(Vec3::ZERO, &skewed, 1.0);
        assert_eq!(
            skewed.to_positions(&lanes([Vec3::ONE; LANES]), &lanes([Vec3::ONE; LANES])),
            DirectionBoxes::ALL
        );
        assert_eq!(
            skewed.to_directions(&lanes([Vec3::Z; LANES]), &[1.0; LANES]),
            DirectionBoxes::ALL
        );
    }
}
