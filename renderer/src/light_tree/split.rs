//! Where to part a set of lights in two.
//!
//! Candidates are planes between 16 bins (8 for few lights) along each axis of position, and for
//! oriented lights along each component of their axes as well, so that lights back to back part.
//! The cost of a side is intensity × squared diagonal × spread of orientation, as in Conty Estévez
//! & Kulla 2018, with the squared diagonal of Walter et al. 2005 in place of the area, which is 0
//! for lights in a line; times how ill its lights fill nodes of 8, which matters for few.

use super::node::WIDTH;
use crate::light::weight;
use crate::math::{Aabb, Cone, Vec3};
use glam::DVec3;

/// Bins along each axis, at most.
const BINS: usize = 16;

/// Fewer lights than this have half as many: most sets are small, and so are their bins.
const FEW: usize = 64;

/// Of more lights than this, a part chooses the plane.
const SAMPLE: usize = 1 << 13;

/// A light while trees are built.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    pub(super) bounds: Aabb,
    /// Of axes, or directions.
    pub(super) cone: Cone,
    pub(super) intensity: Vec3,
    /// The spot's `cos_end`; 2 for lights that are no spots.
    pub(super) cos_spot: f32,
    pub(super) point: u32,
}

impl Item {
    pub(super) fn weight(&self) -> f32 {
        weight(self.intensity)
    }

    pub(super) fn center(&self) -> DVec3 {
        0.5 * (self.bounds.min.as_dvec3() + self.bounds.max.as_dvec3())
    }

    /// Coordinate along one of the axes that may be split: 3 of position, 3 of orientation.
    fn key(&self, axis: usize) -> f32 {
        if axis < 3 {
            0.5 * (self.bounds.min[axis] + self.bounds.max[axis])
        } else {
            self.cone.axis[axis - 3]
        }
    }
}

/// What decides the cost of a side.
#[derive(Clone, Copy)]
struct Side {
    bounds: Aabb,
    weight: f64,
    axes: Vec3,
    count: u32,
}

impl Side {
    const EMPTY: Side = Side { bounds: Aabb::EMPTY, weight: 0.0, axes: Vec3::ZERO, count: 0 };

    fn add(&mut self, item: &Item) {
        self.join(&Side {
            bounds: item.bounds,
            weight: item.weight().into(),
            axes: item.cone.axis,
            count: 1,
        });
    }

    fn join(&mut self, other: &Side) {
        self.bounds = self.bounds.union(other.bounds);
        self.weight += other.weight;
        self.axes += other.axes;
        self.count += other.count;
    }

    /// `flat` where no side has any extent, so that the other terms decide.
    fn cost(&self, flat: bool, oriented: bool) -> f64 {
        let size = if flat {
            1.0
        } else {
            (self.bounds.max - self.bounds.min).as_dvec3().length_squared()
        };
        let spread = if oriented { spread(self.axes.length() / self.count as f32) } else { 1.0 };
        let filled = self.count.next_multiple_of(WIDTH as u32) as f64 / f64::from(self.count);
        self.weight * size * f64::from(spread) * filled
    }
}

/// The solid angle M_Ω, over π, that lights reach whose axes fill a cone evenly, given the length
/// of the mean axis: 1 for one axis, 4 for all. A fit within 8 %: the true one takes trigonometric
/// functions, and this steers a heuristic.
fn spread(mean_length: f32) -> f32 {
    let s = (1.0 - mean_length).max(0.0).sqrt();
    1.0 + s * (4.05 - 1.05 * s)
}

/// Parts the items, at least two, and gives how many came to the front: at least one, not all.
/// `oriented` lights may part by axes as well; `evenly` halves them instead of weighing costs,
/// which bounds the depth.
pub(super) fn split(items: &mut [Item], oriented: bool, evenly: bool) -> usize {
    let axes = if oriented { 6 } else { 3 };
    let mut ranges = [(f32::INFINITY, f32::NEG_INFINITY); 6];
    for item in items.iter() {
        for (axis, (lo, hi)) in ranges[..axes].iter_mut().enumerate() {
            let key = item.key(axis);
            (*lo, *hi) = (lo.min(key), hi.max(key));
        }
    }
    if !evenly && let Some((axis, plane)) = best_plane(items, &ranges[..axes], oriented) {
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

/// Even cuts of a range.
struct Bins {
    lo: f32,
    scale: f32,
    count: usize,
}

impl Bins {
    fn new((lo, hi): (f32, f32), items: usize) -> Bins {
        let count = if items < FEW { BINS / 2 } else { BINS };
        Bins { lo, scale: count as f32 / (hi - lo), count }
    }

    fn of(&self, key: f32) -> usize {
        (((key - self.lo) * self.scale) as usize).min(self.count - 1)
    }
}

/// The axis and the number of bins below the cheapest plane; `None` where all items are alike.
fn best_plane(items: &[Item], ranges: &[(f32, f32)], oriented: bool) -> Option<(usize, usize)> {
    let flat = ranges[..3].iter().all(|(lo, hi)| hi <= lo);
    let stride = items.len().div_ceil(SAMPLE);
    let mut best: Option<(f64, usize, usize)> = None;
    for (axis, &range) in ranges.iter().enumerate().filter(|(_, (lo, hi))| hi > lo) {
        let bins = Bins::new(range, items.len());
        let mut sides = [Side::EMPTY; BINS];
        for item in items.iter().step_by(stride) {
            sides[bins.of(item.key(axis))].add(item);
        }
        let mut above = [Side::EMPTY; BINS];
        let mut sum = Side::EMPTY;
        for i in (1..bins.count).rev() {
            sum.join(&sides[i]);
            above[i] = sum;
        }
        let mut below = Side::EMPTY;
        for plane in 1..bins.count {
            below.join(&sides[plane - 1]);
            if below.count == 0 || above[plane].count == 0 {
                continue;
            }
            let cost = below.cost(flat, oriented) + above[plane].cost(flat, oriented);
            if best.is_none_or(|(least, ..)| cost < least) {
                best = Some((cost, axis, plane));
            }
        }
    }
    best.map(|(_, axis, plane)| (axis, plane))
}

/// Moves those that fulfil the condition to the front, and gives their number.
fn partition(items: &mut [Item], condition: impl Fn(&Item) -> bool) -> usize {
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

    fn items(n: usize, place: impl Fn(usize, &mut Random) -> (Vec3, Vec3)) -> Vec<Item> {
        let mut random = Random(4);
        let item = |i: usize| {
            let (at, axis) = place(i, &mut random);
            let bounds = Aabb { min: at, max: at };
            Item {
                bounds,
                cone: Cone::ray(axis),
                intensity: Vec3::ONE,
                cos_spot: 2.0,
                point: i as u32,
            }
        };
        (0..n).map(item).collect()
    }

    #[test]
    fn gaps_part() {
        // 20 and 30 lights with a gap; also of lights back to back in one place.
        let gap = |i: usize| if i % 5 < 2 { -1.0 } else { 1.0 };
        let mut apart = items(50, |i, random| (0.2 * random.cube() + gap(i) * Vec3::Y, Vec3::Z));
        let mut turned = items(50, |i, random| {
            (random.cube(), gap(i) * (Vec3::Z + 0.1 * random.cube()).normalize())
        });
        let mut coincident = items(50, |i, random| {
            (Vec3::ONE, gap(i) * (Vec3::Z + 0.1 * random.cube()).normalize())
        });
        assert_eq!(split(&mut apart, false, false), 20);
        assert!(apart[..20].iter().all(|i| i.bounds.min.y < 0.0));
        for items in [&mut turned, &mut coincident] {
            assert_eq!(split(items, true, false), 20);
            assert!(items[..20].iter().all(|i| i.cone.axis.z < 0.0));
        }
    }

    #[test]
    fn both_sides_get_some() {
        for n in [2, 3, 9, 17, 100, 3 * SAMPLE] {
            for evenly in [false, true] {
                let mut same = items(n, |_, _| (Vec3::X, Vec3::Z));
                let mut line = items(n, |i, _| (Vec3::X * (i as f32).exp2(), Vec3::Z));
                // Only what is not sampled differs.
                let mut one =
                    items(n, |i, _| (if i == n - 2 { Vec3::X } else { Vec3::ZERO }, Vec3::Z));
                for items in [&mut same, &mut line, &mut one] {
                    let front = split(items, true, evenly);
                    assert!(front > 0 && front < n, "{front} of {n}");
                    let mut points: Vec<u32> = items.iter().map(|i| i.point).collect();
                    points.sort_unstable();
                    assert!(points.into_iter().eq(0..n as u32));
                }
                assert!(!evenly || split(&mut line, true, true).abs_diff(n / 2) <= WIDTH);
            }
        }
    }

    #[test]
    fn spread_is_the_solid_angle() {
        use std::f32::consts::{FRAC_PI_2, PI};
        for i in 0..=50 {
            // Conty Estévez & Kulla's M_Ω for a cone of axes of half angle θ and emission into
            // hemispheres.
            let theta = PI * i as f32 / 50.0;
            let w = (theta + FRAC_PI_2).min(PI);
            let (sin, cos) = theta.sin_cos();
            let m = 2.0 * PI * (1.0 - cos)
                + FRAC_PI_2 * (2.0 * w * sin - (theta - 2.0 * w).cos() - 2.0 * theta * sin + cos);
            // The mean of axes that fill the cone evenly.
            let fit = spread(0.5 * (1.0 + cos));
            assert!((fit * PI / m - 1.0).abs() < 0.08, "{theta}: {fit} {}", m / PI);
        }
    }
}
