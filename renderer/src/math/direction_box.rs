//! Boxes of directions: where clusters of lights are seen, in the shading frame of a point.
//!
//! A bounding shader wants a box that holds *the very float vector* that the point shader is
//! evaluated for, which is what [`Viewpoint::local_direction`] makes of the direction to a light.
//! Eight clusters are done at a time, without branches, so that the compiler makes vector
//! instructions of it, for each kind of machine.
//!
//! # Bounds
//!
//! Let c ± h be the box of the lights in space, less the point p, and rᵢ the axes of the frame. A
//! component of a direction is rᵢ·d/|d|, and is bounded in two ways, of which the better one
//! counts:
//!
//! - *In the frame* the lights are in the box of C ± H, Cᵢ = rᵢ·c, Hᵢ = |rᵢ|·h. Over this box
//!   x/√(x² + y² + z²) is greatest at the greatest x, and there for the least y² + z² if that x is
//!   positive, else for the greatest.
//! - *To first order*, with g = c/|c| and τ₀ = rᵢ·g: for τ ≥ 0, rᵢ·d ≤ τ|d| follows from (rᵢ −
//!   τg)·d ≤ 0, since g·d ≤ |d|. The left side is at most (rᵢ − τg)·c + Σ hₖ|rᵢ − τ₀g|ₖ + (τ − τ₀)
//!   Σ hₖ|gₖ|, which vanishes at τ = τ₀ + Σ hₖ|rᵢ − τ₀g|ₖ / (|c| − Σ hₖ|gₖ|), if the lights are all
//!   on one side of the plane through p at right angles to g. For τ < 0, |d| cos φ ≤ g·d with sin
//!   φ = |h|/|c| gives τ cos φ in its place.
//!
//! The first is better close by, the second for what is small or far away, and seen along no axis.
//!
//! # Rounding
//!
//! With u = 2⁻²⁴, and for axes whose products rᵢ·rⱼ are those of an orthonormal frame to within ε
//! ([`Viewpoint::new`] measures it, and what is no frame has no bounds):
//!
//! - q − p is off by u, relatively, and so are its products with a common factor, by which it is
//!   normalised: |rᵢ·d| is off by 2u. The change of frame adds 3u, so a component by at most 5u,
//!   and the vector by 9u at most in length. Square, sum, root and division add 3.5u to that: all
//!   in all, less than 18u. The squared length is 1 ± 7u, within 2⁻²¹; no component is above 1,
//!   since the root of x² rounds to nothing less than |x|.
//! - c and h: lo − p, hi − p, sum and difference are off by 3u(|lo − p| + |hi − p|) together, and h
//!   grows by 4u of it. C is off by 3u Σ|cₖ|, H by 3u of itself; ends of sums by u: H grows by 8u
//!   of both. Quotients are off by 4u.
//! - τ: rᵢ·c − τ₀ g·c by 15u|c|, the sum of products by 9u Σhₖ; 32u of both is added. |c| − Σ
//!   hₖ|gₖ| is made less by 8u of both. |g| is 1 ± 5u, quotient, sum and product add 5u, φ is off
//!   by 5u, |rᵢ·d| / |d| by ε in place of what it is in the frame.
//!
//! So 48u + ε covers each of the two. Directions of cones are dealt with in
//! [`Viewpoint::to_directions`].

use super::{Frame, Vec3};
use fearless_simd::{Level, dispatch};

/// Clusters that are done at a time.
pub const LANES: usize = 8;

/// One number for each cluster.
pub type Lanes = [f32; LANES];

/// Boxes of unit vectors in the shading frame; each holds one at least, and none reaches beyond ±1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DirectionBoxes {
    /// Least x, y and z.
    pub lo: [Lanes; 3],
    /// Greatest x, y and z.
    pub hi: [Lanes; 3],
}

impl DirectionBoxes {
    /// All directions.
    pub const WHOLE: DirectionBoxes =
        DirectionBoxes { lo: [[-1.0; LANES]; 3], hi: [[1.0; LANES]; 3] };

    /// One of the boxes: ends of x, y and z.
    pub fn get(&self, lane: usize) -> [[f32; 2]; 3] {
        std::array::from_fn(|k| [self.lo[k][lane], self.hi[k][lane]])
    }

    /// Sets one of the boxes.
    #[inline(always)]
    fn set(&mut self, lane: usize, ends: [[f32; 2]; 3]) {
        for (k, [lo, hi]) in ends.into_iter().enumerate() {
            (self.lo[k][lane], self.hi[k][lane]) = (lo, hi);
        }
    }
}

/// 2⁻²⁴, by which a result of rounding is off, relatively.
const U: f32 = 1.0 / (1 << 24) as f32;

/// The share of rounding in ends of boxes, but for that of the frame.
const MARGIN: f32 = 48.0 * U;

/// Axes that are off by more than this are no frame.
const MOST_SKEW: f32 = 1.0 / 128.0;

/// A point, and the frame in which directions from there are seen.
#[derive(Clone, Copy, Debug)]
pub struct Viewpoint {
    p: [f32; 3],
    axes: [[f32; 3]; 3],
    /// ε of the frame; infinite if it is none.
    skew: f32,
}

impl Viewpoint {
    /// A point with its shading frame, whose normal is turned over if `side` is −1, else 1:
    /// materials with one side are asked for what is above it.
    pub fn new(p: Vec3, frame: &Frame, side: f32) -> Viewpoint {
        let axes = [frame.t, frame.b, side * frame.n].map(|axis| axis.to_array());
        let off = |i: usize, j: usize| {
            let exact = std::iter::zip(axes[i], axes[j])
                .map(|(a, b)| f64::from(a) * f64::from(b))
                .sum::<f64>();
            (exact - if i == j { 1.0 } else { 0.0 }).abs()
        };
        let [xy, yz, zx] = [off(0, 1), off(1, 2), off(2, 0)];
        // The greatest sum of a row bounds how much the matrix of products stretches vectors.
        let rows = [off(0, 0) + xy + zx, off(1, 1) + xy + yz, off(2, 2) + yz + zx];
        let skew = rows.into_iter().fold(0.0, f64::max) as f32 * (1.0 + 2.0 * U);
        // NaN is no frame either.
        let is_frame = skew <= MOST_SKEW;
        Viewpoint { p: p.to_array(), axes, skew: if is_frame { skew } else { f32::INFINITY } }
    }

    /// The point.
    pub fn position(&self) -> Vec3 {
        Vec3::from_array(self.p)
    }

    /// The axes of the frame.
    pub fn axes(&self) -> [Vec3; 3] {
        self.axes.map(Vec3::from_array)
    }

    /// [`Frame::local_direction`] in the frame that may be turned over.
    #[inline]
    pub fn local_direction(&self, w: Vec3) -> Vec3 {
        let [t, b, n] = self.axes.map(Vec3::from_array);
        Frame { t, b, n }.local_direction(w)
    }

    /// The boxes of the directions to all points of boxes in the world, of which `lo` and `hi` are
    /// the corners: they hold [`local_direction`](Self::local_direction) of
    /// `(q − p).try_normalize()` for each q in the box. All directions where p may be in the box or
    /// touch it, where the box is empty, and where coordinates are beyond 10¹⁵ or distances below
    /// 10⁻¹⁵.
    pub fn to_positions(&self, lo: &[Lanes; 3], hi: &[Lanes; 3]) -> DirectionBoxes {
        dispatch!(Level::new(), _ => self.position_boxes(lo, hi))
    }

    #[inline(always)]
    fn position_boxes(&self, lo: &[Lanes; 3], hi: &[Lanes; 3]) -> DirectionBoxes {
        let mut boxes = DirectionBoxes::WHOLE;
        for lane in 0..LANES {
            let (lo, hi) =
                ([lo[0][lane], lo[1][lane], lo[2][lane]], [hi[0][lane], hi[1][lane], hi[2][lane]]);
            boxes.set(lane, self.position_box(lo, hi));
        }
        boxes
    }

    /// The boxes of cones of directions, with unit vectors in the world for axes and the cosines of
    /// half angles. They hold [`local_direction`](Self::local_direction) of each w whose product
    /// with the axis, in floats, is at least the cosine, where axis and w are as unit as
    /// `normalize` makes them, to 5u. All directions where the axis is not.
    ///
    /// With an angle α between a cone's axis and one of the frame, and the cone's θ, components are
    /// from cos(α + θ) to cos(α − θ), unless the cone holds the axis of the frame.
    pub fn to_directions(&self, axis: &[Lanes; 3], cos_angle: &Lanes) -> DirectionBoxes {
        dispatch!(Level::new(), _ => self.direction_boxes(axis, cos_angle))
    }

    #[inline(always)]
    fn direction_boxes(&self, axis: &[Lanes; 3], cos_angle: &Lanes) -> DirectionBoxes {
        let mut boxes = DirectionBoxes::WHOLE;
        for lane in 0..LANES {
            boxes.set(
                lane,
                self.cone_box([axis[0][lane], axis[1][lane], axis[2][lane]], cos_angle[lane]),
            );
        }
        boxes
    }

    #[inline(always)]
    fn position_box(&self, lo: [f32; 3], hi: [f32; 3]) -> [[f32; 2]; 3] {
        let (mut c, mut h) = ([0.0; 3], [0.0; 3]);
        let (mut reach, mut near2, mut is_box) = (0.0, 0.0, true);
        for k in 0..3 {
            let (a, b) = (lo[k] - self.p[k], hi[k] - self.p[k]);
            let both = a.abs() + b.abs();
            c[k] = 0.5 * (a + b);
            h[k] = 0.5 * (b - a) + 4.0 * U * both;
            let gap = greater(c[k].abs() - h[k], 0.0);
            near2 += gap * gap;
            reach += both;
            is_box &= a <= b;
        }
        // Of NaN, none of these holds.
        let is_seen = is_box & (near2 > 1e-30) & (reach < 1e15) & (self.skew <= MOST_SKEW);
        let [x, y, z] = self.axes;
        let local = [dot(x, c), dot(y, c), dot(z, c)];
        let framed = self.in_frame(local, c, h, near2);
        let linear = self.first_order(local, c, h);
        let mut ends = [[-1.0, 1.0]; 3];
        for k in 0..3 {
            let most = lesser(framed[k][1], linear[k][1]);
            let least = greater(framed[k][0], linear[k][0]);
            ends[k] = self.rounded([least, most], is_seen);
        }
        ends
    }

    /// Ends with what rounding may have taken, cut to ±1, which they are if nothing is known.
    #[inline(always)]
    fn rounded(&self, [least, most]: [f32; 2], is_known: bool) -> [f32; 2] {
        let margin = MARGIN + self.skew;
        let (least, most) = (greater(least - margin, -1.0), lesser(most + margin, 1.0));
        [if is_known { least } else { -1.0 }, if is_known { most } else { 1.0 }]
    }

    /// The extremes over the box in the frame; `near2` is the square of the distance to the box in
    /// space.
    #[inline(always)]
    fn in_frame(&self, local: [f32; 3], c: [f32; 3], h: [f32; 3], near2: f32) -> [[f32; 2]; 3] {
        let size = c[0].abs() + c[1].abs() + c[2].abs();
        let (mut half, mut least2, mut most2) = ([0.0; 3], [0.0; 3], [0.0; 3]);
        for k in 0..3 {
            let axis = self.axes[k];
            half[k] = dot([axis[0].abs(), axis[1].abs(), axis[2].abs()], h) * (1.0 + 8.0 * U)
                + 8.0 * U * size;
            let (least, most) = (greater(local[k].abs() - half[k], 0.0), local[k].abs() + half[k]);
            (least2[k], most2[k]) = (least * least, most * most);
        }
        // The frame may be skew, within limits.
        let near2 = 0.98 * near2;
        let mut ends = [[0.0; 2]; 3];
        for k in 0..3 {
            let (i, j) = ((k + 1) % 3, (k + 2) % 3);
            let (close, far) = (least2[i] + least2[j], most2[i] + most2[j]);
            let (lo, hi) = (local[k] - half[k], local[k] + half[k]);
            // Lengths that are too great where the end is on the far side of 0 make it wider.
            let low2 = greater(lo * lo + if lo > 0.0 { far } else { close }, near2);
            let high2 = greater(hi * hi + if hi > 0.0 { close } else { far }, near2);
            ends[k] = [lo / low2.sqrt(), hi / high2.sqrt()];
        }
        ends
    }

    /// The bounds to first order.
    #[inline(always)]
    fn first_order(&self, local: [f32; 3], c: [f32; 3], h: [f32; 3]) -> [[f32; 2]; 3] {
        let c2 = dot(c, c);
        let length = c2.sqrt();
        let scale = 1.0 / length;
        let g = [c[0] * scale, c[1] * scale, c[2] * scale];
        let depth = dot(h, [g[0].abs(), g[1].abs(), g[2].abs()]);
        let front = length * (1.0 - 8.0 * U) - depth * (1.0 + 8.0 * U);
        let cos2 = (c2 - dot(h, h)) * scale * scale - 16.0 * U;
        let cos = greater(cos2, 0.0).sqrt();
        let slack = 32.0 * U * (length + (h[0] + h[1] + h[2]));
        let per = 1.0 / front;
        let mut ends = [[0.0; 2]; 3];
        for k in 0..3 {
            let (axis, middle) = (self.axes[k], local[k] * scale);
            let off = [axis[0] - middle * g[0], axis[1] - middle * g[1], axis[2] - middle * g[2]];
            let width = (dot(h, [off[0].abs(), off[1].abs(), off[2].abs()]) + slack) * per;
            let (lo, hi) = (middle - width, middle + width);
            let lo = if lo > 0.0 { lo * cos } else { lo };
            let hi = if hi < 0.0 { hi * cos } else { hi };
            ends[k] = [if front > 0.0 { lo } else { -2.0 }, if front > 0.0 { hi } else { 2.0 }];
        }
        ends
    }

    #[inline(always)]
    fn cone_box(&self, axis: [f32; 3], cos_angle: f32) -> [[f32; 2]; 3] {
        let length2 = dot(axis, axis);
        let is_known =
            (length2 > 0.999) & (length2 < 1.001) & (cos_angle >= -2.0) & (self.skew <= MOST_SKEW);
        // The product is off by 3u, and by 10u since the vectors are not quite unit.
        let cos = lesser(greater(cos_angle - 16.0 * U, -1.0), 1.0);
        let sin = ((1.0 - cos) * (1.0 + cos)).sqrt() * (1.0 + 8.0 * U);
        let [x, y, z] = self.axes;
        let local = [dot(x, axis), dot(y, axis), dot(z, axis)];
        let mut ends = [[0.0; 2]; 3];
        for k in 0..3 {
            let (i, j) = ((k + 1) % 3, (k + 2) % 3);
            // The axis' part at right angles to that of the frame, if the frame is skew.
            let across =
                (local[i] * local[i] + local[j] * local[j] + (2.0 * self.skew + 32.0 * U)).sqrt();
            let (along, aside) = (local[k] * cos, across * sin);
            let near = cos - 64.0 * U - self.skew;
            let lo = if -local[k] >= near { -1.0 } else { along - aside };
            let hi = if local[k] >= near { 1.0 } else { along + aside };
            ends[k] = self.rounded([lo, hi], is_known);
        }
        ends
    }
}

/// The greater of two numbers, the second if one is NaN: a single instruction.
#[inline(always)]
pub(crate) fn greater(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

/// The lesser of two numbers, the second if one is NaN.
#[inline(always)]
pub(crate) fn lesser(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

#[inline(always)]
fn dot(a: [f32; 3], b: [f32; 3]) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// Random points, frames and clusters, for tests.
#[cfg(test)]
pub(crate) mod testing {
    use super::*;
    use lightbound_shader::ir::random::Random;

    pub fn uniform(random: &mut Random) -> f32 {
        (random.bits() >> 40) as f32 * U
    }

    /// A point of the cube from −1 to 1, in a plane or on an axis now and then.
    pub fn in_cube(random: &mut Random) -> Vec3 {
        Vec3::from_array(
            [(); 3].map(|()| if random.once_in(8) { 0.0 } else { 2.0 * uniform(random) - 1.0 }),
        )
    }

    pub fn unit(random: &mut Random) -> Vec3 {
        loop {
            if let Some(unit) = in_cube(random).try_normalize() {
                return unit;
            }
        }
    }

    pub fn frame(random: &mut Random) -> Frame {
        let n = unit(random);
        if random.once_in(2) {
            Frame::from_normal(n)
        } else {
            Frame::from_normal_tangent(n, in_cube(random))
        }
    }

    pub fn viewpoint(random: &mut Random, p: Vec3) -> Viewpoint {
        Viewpoint::new(p, &frame(random), if random.once_in(2) { 1.0 } else { -1.0 })
    }

    pub fn lanes(of: [Vec3; LANES]) -> [Lanes; 3] {
        std::array::from_fn(|axis| of.map(|v| v[axis]))
    }

    /// Corners of a box near p: of any size and distance, points, flat ones, ones that just touch p
    /// or hold it.
    pub fn near(random: &mut Random, p: Vec3) -> [Vec3; 2] {
        let scale = 0.5f32.powi(random.below(20) as i32 - 6);
        let middle = p + scale * in_cube(random);
        let part = if random.once_in(8) { 0.0 } else { 0.5f32.powi(random.below(16) as i32) };
        let half = scale * part * in_cube(random).abs();
        let mut corners = [middle - half, middle + half];
        for axis in 0..3 {
            // A face through p, a float beside it, or a few.
            let steps = random.below(4);
            let beside = (0..steps).fold(p[axis], |x, _| x.next_up());
            if random.once_in(16) && beside <= corners[1][axis] {
                corners[0][axis] = beside;
            }
        }
        corners
    }

    /// Members of a box: corners, those nearest to p, others.
    pub fn members(random: &mut Random, [lo, hi]: [Vec3; 2], p: Vec3) -> Vec<Vec3> {
        let corners = (0..8).map(|k| {
            Vec3::from_array(
                [0, 1, 2].map(|axis| if k >> axis & 1 == 0 { lo[axis] } else { hi[axis] }),
            )
        });
        let mut all: Vec<_> = corners.collect();
        all.push(p.clamp(lo, hi));
        for _ in 0..8 {
            all.push((lo + (hi - lo) * in_cube(random).abs()).clamp(lo, hi));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::testing::*;
    use super::*;
    use crate::math::vec3;
    use lightbound_shader::ir::random::Random;

    /// Rounds of eight boxes.
    const ROUNDS: usize = if cfg!(debug_assertions) { 3_000 } else { 60_000 };

    fn holds(boxes: &DirectionBoxes, lane: usize, v: Vec3) -> bool {
        boxes.get(lane).into_iter().zip(v.to_array()).all(|([lo, hi], x)| lo <= x && x <= hi)
    }

    #[test]
    fn boxes_hold_the_directions_to_all_positions() {
        let random = &mut Random::new(8);
        let (mut checked, mut narrow, mut needed) = (0, 0, 0);
        for _ in 0..ROUNDS {
            let p = in_cube(random) * 2f32.powi(random.below(12) as i32);
            let viewpoint = viewpoint(random, p);
            let corners = [(); LANES].map(|()| near(random, p));
            let boxes = viewpoint
                .to_positions(&lanes(corners.map(|c| c[0])), &lanes(corners.map(|c| c[1])));
            for (lane, &ends) in corners.iter().enumerate() {
                for q in members(random, ends, p) {
                    let Some(wi) = (q - p).try_normalize() else { continue };
                    let v = viewpoint.local_direction(wi);
                    assert!(
                        holds(&boxes, lane, v),
                        "{q} of {ends:?} from {viewpoint:?}: {v} in {:?}",
                        boxes.get(lane)
                    );
                    assert!((v.as_dvec3().length_squared() - 1.0).abs() <= 2f64.powi(-21), "{v}");
                    checked += 1;
                    let beyond = |[lo, hi]: [f32; 2], x: f32| {
                        (hi < 1.0 && x > hi - MARGIN) || (lo > -1.0 && x < lo + MARGIN)
                    };
                    needed += usize::from(
                        boxes
                            .get(lane)
                            .into_iter()
                            .zip(v.to_array())
                            .any(|(ends, x)| beyond(ends, x)),
                    );
                }
                narrow += usize::from(boxes.get(lane).iter().all(|[lo, hi]| hi - lo < 0.5));
            }
        }
        assert!(
            checked > 100 * ROUNDS && narrow > ROUNDS,
            "{checked} checks, {narrow} boxes are narrow"
        );
        // Without the margin, bounds would not hold.
        assert!(needed > ROUNDS / 300, "{needed}");
    }

    #[test]
    fn boxes_hold_the_directions_of_cones() {
        let random = &mut Random::new(9);
        let mut checked = 0;
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
                        holds(&boxes, lane, v),
                        "{w} about {} from {viewpoint:?}: {v} in {:?}",
                        axes[lane],
                        boxes.get(lane)
                    );
                    checked += 1;
                }
            }
        }
        assert!(checked > 50 * ROUNDS, "{checked}");
    }

    /// Widths of boxes over those that directions to many members have, on average over random
    /// boxes at so many times their size.
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
            for (lane, &ends) in corners.iter().enumerate() {
                let mut met = [[f32::INFINITY, f32::NEG_INFINITY]; 3];
                for q in (0..50).flat_map(|_| members(random, ends, Vec3::ZERO)) {
                    let v = viewpoint.local_direction(q.normalize());
                    met.iter_mut()
                        .zip(v.to_array())
                        .for_each(|(ends, x)| *ends = [ends[0].min(x), ends[1].max(x)]);
                }
                for (of, met) in
                    boxes.get(lane).into_iter().zip(met).filter(|(_, met)| met[1] - met[0] > 0.01)
                {
                    sum += (of[1] - of[0]) / (met[1] - met[0]);
                    count += 1.0;
                }
            }
        }
        sum / count
    }

    #[test]
    fn boxes_are_tight() {
        let [close, far] = [2.5, 20.0].map(looseness);
        assert!(close < 1.25 && far < 1.05, "{close}, {far}");
    }

    #[test]
    fn what_tells_nothing_gives_all_directions() {
        let here = Viewpoint::new(vec3(0.5, 0.5, 0.5), &Frame::from_normal(Vec3::Z), 1.0);
        let of = |lo: Vec3, hi: Vec3| here.to_positions(&lanes([lo; LANES]), &lanes([hi; LANES]));
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
            assert_eq!(of(lo, hi), DirectionBoxes::WHOLE, "{lo} to {hi}");
        }
        assert!(of(Vec3::ONE, Vec3::ONE).lo[2][0] > 0.5);
        let cones = |axis: Vec3, cos: f32| here.to_directions(&lanes([axis; LANES]), &[cos; LANES]);
        for (axis, cos) in [
            (Vec3::ZERO, 1.0),
            (Vec3::Z, nan),
            (vec3(nan, 0.0, 1.0), 0.5),
            (Vec3::Z, -1.0),
            (2.0 * Vec3::X, 1.0),
        ] {
            assert_eq!(cones(axis, cos), DirectionBoxes::WHOLE, "{axis}, {cos}");
        }
        assert!(cones(Vec3::Z, 0.5).lo[2][3] > 0.49);
        // A frame that is none.
        let skew = Frame { t: vec3(1.0, 0.0, 0.1), ..Frame::from_normal(Vec3::Z) };
        let skew = Viewpoint::new(Vec3::ZERO, &skew, 1.0);
        assert_eq!(
            skew.to_positions(&lanes([Vec3::ONE; LANES]), &lanes([Vec3::ONE; LANES])),
            DirectionBoxes::WHOLE
        );
        assert_eq!(
            skew.to_directions(&lanes([Vec3::Z; LANES]), &[1.0; LANES]),
            DirectionBoxes::WHOLE
        );
    }
}
