//! Splits of a set of lights into two sets.
//!
//! Candidates are planes between 16 bins (8 for small sets) along each coordinate of position. For
//! oriented lights, they also include planes along each coordinate of the lights' axes, to separate
//! lights that face opposite directions. The cost of a side is intensity × squared diagonal ×
//! orientation measure. This is the cost of Conty Estévez & Kulla 2018, but with the squared
//! diagonal of Walter et al. 2005 instead of the surface area, which is 0 for lights in a line.
//! Another factor penalises partly filled nodes of 8, which matters for small sets.

use super::node::WIDTH;
use crate::light::abs_luminance;
use glam::DVec3;
use lightbound_math::{Aabb, Cone, Vec3};

/// Maximum number of bins along each axis.
const BINS: usize = 16;

/// Sets with fewer lights use half the bins; this saves time, since most sets are small.
const MIN_LIGHTS_FOR_ALL_BINS: usize = 64;

/// Larger sets are subsampled to choose the plane.
const MAX_BINNED_LIGHTS: usize = 1 << 13;

/// A light during the tree build.
#[derive(Clone, Copy, Debug)]
pub(super) struct LightItem {
    pub(super) bounds: Aabb,
    /// Cone of axes, or of directions.
    pub(super) cone: Cone,
    pub(super) intensity: Vec3,
    /// The spot's `cos_end`; 2 for other lights.
    pub(super) cos_spot: f32,
    /// Index of the light point.
    pub(super) point: u32,
}

impl LightItem {
    pub(super) fn weight(&self) -> f32 {
        abs_luminance(self.intensity)
    }

    pub(super) fn center(&self) -> DVec3 {
        0.5 * (self.bounds.min.as_dvec3() + self.bounds.max.as_dvec3())
    }

    /// Returns the coordinate along a split axis: 0 to 2 for position, 3 to 5 for orientation.
    fn key(&self, axis: usize) -> f32 {
        if axis < 3 {
            0.5 * (self.bounds.min[axis] + self.bounds.max[axis])
        } else {
            self.cone.axis[axis - 3]
        }
    }
}

/// Accumulated cost terms of one side of a plane.
#[derive(Clone, Copy)]
struct SplitSide {
    bounds: Aabb,
    weight: f64,
    /// Sum of the axes.
    axes: Vec3,
    count: u32,
}

impl SplitSide {
    const EMPTY: SplitSide =
        SplitSide { bounds: Aabb::EMPTY, weight: 0.0, axes: Vec3::ZERO, count: 0 };

    fn add(&mut self, item: &LightItem) {
        self.merge(&SplitSide {
            bounds: item.bounds,
            weight: item.weight().into(),
            axes: item.cone.axis,
            count: 1,
        });
    }

    fn merge(&mut self, other: &SplitSide) {
        self.bounds = self.bounds.union(other.bounds);
        self.weight += other.weight;
        self.axes += other.axes;
        self.count += other.count;
    }

    /// Returns the cost of the side. Its size is ignored if all positions of the set are equal
    /// (`coincident`).
    fn cost(&self, coincident: bool, oriented: bool) -> f64 {
        let size = if coincident {
            1.0
        } else {
            (self.bounds.max - self.bounds.min).as_dvec3().length_squared()
        };
        let orientation = if oriented {
            orientation_measure(self.axes.length() / self.count as f32)
        } else {
            1.0
        };
        let slots_per_light =
            self.count.next_multiple_of(WIDTH as u32) as f64 / f64::from(self.count);
        self.weight * size * f64::from(orientation) * slots_per_light
    }
}

/// Returns the orientation measure M_Ω divided by π, given the length of the mean axis: 1 for a
/// single axis, 4 for axes in all directions. Axes are assumed to fill a cone uniformly. This is a
/// fit with an error below 8 %: the exact measure needs trigonometric functions, and the cost is
/// only a heuristic.
fn orientation_measure(mean_length: f32) -> f32 {
    let s = (1.0 - mean_length).max(0.0).sqrt();
    1.0 + s * (4.05 - 1.05 * s)
}

/// Splits two or more items in place and returns the size of the front part. Both parts are
/// nonempty. `oriented` lights may also be split by their axes. `at_median` splits at the median
/// instead of by cost.
pub(super) fn split(items: &mut [LightItem], oriented: bool, at_median: bool) -> usize {
    let axes = if oriented { 6 } else { 3 };
    let mut ranges = [(f32::INFINITY, f32::NEG_INFINITY); 6];
    for item in items.iter() {
        for (axis, (lo, hi)) in ranges[..axes].iter_mut().enumerate() {
            let key = item.key(axis);
            (*lo, *hi) = (lo.min(key), hi.max(key));
        }
    }
    if !at_median && let Some((axis, plane)) = best_plane(items, &ranges[..axes], oriented) {
        let bin = Bins::new(ranges[axis], items.len());
        let front = partition(items, |item| bin.of(item.key(axis)) < plane);
        if front > 0 && front < items.len() {
            return front;
        }
    }
    let widest = (0..axes)
        .max_by(|&a, &b| (ranges[a].1 - ranges[a].0).total_cmp(&(ranges[b].1 - ranges[b].0)))
        .unwrap_or(0);
    let middle = (items.len() / 2).next_multiple_of(WIDTH);
    let middle = if middle < items.len() { middle } else { items.len() / 2 };
    items.select_nth_unstable_by(middle, |a, b| {
        a.key(widest).total_cmp(&b.key(widest)).then(a.point.cmp(&b.point))
    });
    middle
}

/// A range divided into equal bins.
struct Bins {
    lo: f32,
    scale: f32,
    count: usize,
}

impl Bins {
    fn new((lo, hi): (f32, f32), items: usize) -> Bins {
        let count = if items < MIN_LIGHTS_FOR_ALL_BINS { BINS / 2 } else { BINS };
        Bins { lo, scale: count as f32 / (hi - lo), count }
    }

    /// Returns the bin of a coordinate.
    fn of(&self, key: f32) -> usize {
        (((key - self.lo) * self.scale) as usize).min(self.count - 1)
    }
}

/// Returns the axis of the cheapest plane and the number of bins below the plane; `None` if no
/// plane separates the items.
fn best_plane(
    items: &[LightItem],
    ranges: &[(f32, f32)],
    oriented: bool,
) -> Option<(usize, usize)> {
    let coincident = ranges[..3].iter().all(|(lo, hi)| hi <= lo);
    let stride = items.len().div_ceil(MAX_BINNED_LIGHTS);
    let mut best: Option<(f64, usize, usize)> = None;
    for (axis, &range) in ranges.iter().enumerate().filter(|(_, (lo, hi))| hi > lo) {
        let bins = Bins::new(range, items.len());
        let mut sides = [SplitSide::EMPTY; BINS];
        for item in items.iter().step_by(stride) {
            sides[bins.of(item.key(axis))].add(item);
        }
        let mut above = [SplitSide::EMPTY; BINS];
        let mut sum = SplitSide::EMPTY;
        for i in (1..bins.count).rev() {
            sum.merge(&sides[i]);
            above[i] = sum;
        }
        let mut below = SplitSide::EMPTY;
        for plane in 1..bins.count {
            below.merge(&sides[plane - 1]);
            if below.count == 0 || above[plane].count == 0 {
                continue;
            }
            let cost = below.cost(coincident, oriented) + above[plane].cost(coincident, oriented);
            if best.is_none_or(|(lowest, ..)| cost < lowest) {
                best = Some((cost, axis, plane));
            }
        }
    }
    best.map(|(_, axis, plane)| (axis, plane))
}

/// Moves items that satisfy `condition` to the front, and returns their number.
fn partition(items: &mut [LightItem], condition: impl Fn(&LightItem) -> bool) -> usize {
    let (mut front, mut back) = (0, items.len());
    loop {
        while front < back && condition(&items[front]) {
            front += 1;
        }
        while front < back && !condition(&items[back - 1]) {
            back -= 1;
        }
        if front == back {
            return front;
        }
        items.swap(front, back - 1);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Random;
    use super::*;

    fn items(
        n: usize,
        position_and_axis: impl Fn(usize, &mut Random) -> (Vec3, Vec3),
    ) -> Vec<LightItem> {
        let mut random = Random(4);
        let item = |i: usize| {
            let (at, axis) = position_and_axis(i, &mut random);
            let bounds = Aabb { min: at, max: at };
            LightItem {
                bounds,
                cone: Cone::from_direction(axis),
                intensity: Vec3::ONE,
                cos_spot: 2.0,
                point: i as u32,
            }
        };
        (0..n).map(item).collect()
    }

    #[test]
    fn split_planes_fall_into_gaps() {
        // Groups of 20 and 30 lights, separated by position or by opposite orientations.
        let gap = |i: usize| if i % 5 < 2 { -1.0 } else { 1.0 };
        let mut apart = items(50, |i, random| (0.2 * random.cube() + gap(i) * Vec3::Y, Vec3::Z));
        let mut opposite = items(50, |i, random| {
            (random.cube(), gap(i) * (Vec3::Z + 0.1 * random.cube()).normalize())
        });
        let mut coincident = items(50, |i, random| {
            (Vec3::ONE, gap(i) * (Vec3::Z + 0.1 * random.cube()).normalize())
        });
        assert_eq!(split(&mut apart, false, false), 20);
        assert!(apart[..20].iter().all(|i| i.bounds.min.y < 0.0));
        for items in [&mut opposite, &mut coincident] {
            assert_eq!(split(items, true, false), 20);
            assert!(items[..20].iter().all(|i| i.cone.axis.z < 0.0));
        }
    }

    #[test]
    fn both_parts_are_nonempty() {
        for n in [2, 3, 9, 17, 100, 3 * MAX_BINNED_LIGHTS] {
            for at_median in [false, true] {
                let mut equal = items(n, |_, _| (Vec3::X, Vec3::Z));
                let mut line = items(n, |i, _| (Vec3::X * (i as f32).exp2(), Vec3::Z));
                // The subsample does not contain the only item that differs.
                let mut outlier =
                    items(n, |i, _| (if i == n - 2 { Vec3::X } else { Vec3::ZERO }, Vec3::Z));
                for items in [&mut equal, &mut line, &mut outlier] {
                    let front = split(items, true, at_median);
                    assert!(front > 0 && front < n, "{front} of {n}");
                    let mut points: Vec<u32> = items.iter().map(|i| i.point).collect();
                    points.sort_unstable();
                    assert!(points.into_iter().eq(0..n as u32));
                }
                assert!(!at_median || split(&mut line, true, true).abs_diff(n / 2) <= WIDTH);
            }
        }
    }

    #[test]
    fn orientation_measure_matches_the_closed_form() {
        use std::f32::consts::{FRAC_PI_2, PI};
        for i in 0..=50 {
            // Conty Estévez & Kulla's M_Ω for axes in a cone of half angle θ, with emission into
            // hemispheres.
            let theta = PI * i as f32 / 50.0;
            let w = (theta + FRAC_PI_2).min(PI);
            let (sin, cos) = theta.sin_cos();
            let m = 2.0 * PI * (1.0 - cos)
                + FRAC_PI_2 * (2.0 * w * sin - (theta - 2.0 * w).cos() - 2.0 * theta * sin + cos);
            // The mean axis length of a uniformly filled cone.
            let fit = orientation_measure(0.5 * (1.0 + cos));
            assert!((fit * PI / m - 1.0).abs() < 0.08, "{theta}: {fit} {}", m / PI);
        }
    }
}
