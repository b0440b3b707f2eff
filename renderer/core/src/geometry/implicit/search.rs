//! The ray test with a cell of an implicit surface: finds the first zero along the ray.
//!
//! After Mitchell 1990, *Robust Ray Intersection with Interval Arithmetic*: bounds on the field
//! over intervals of the ray isolate its zeros, and an interval is discarded if they exclude 0.
//! Others are divided until they have a few floats, where the field is evaluated at each of them.
//!
//! Here, the statement is about floats. The position o + s d is computed in single precision, and
//! each coordinate is monotone in s. So the positions of all floats in an interval of s lie in the
//! box of its endpoints, and bounds over this box hold for the float that the field returns at
//! each. A hit is *exact*: the field changes sign between s and the next float, and at no earlier
//! pair of floats in the cell.
//!
//! Where a ray only touches the surface, the field may have no change of sign, or many, within its
//! rounding error. If bounds prove that it stays within ± a tolerance on an interval, and do not
//! prove that it has a slope there, the start of the interval is a hit that *touches*.

use super::field::{Cell, Evaluator, Field, FieldScratch};
use glam::DVec3;
use lightbound_math::{Aabb, Vec3};

/// Number of parts of an interval: what one call of a kernel bounds on most machines.
pub(super) const PARTS: usize = 8;

/// Intervals with at most this many floats after the first are searched exhaustively.
pub(super) const MAX_STEPS: u32 = 15;

/// Distances between the zero that a secant predicts and the ends of parts, relative to the
/// distance between the ends of the secant.
const SECANT_DISTANCES: [f32; 3] = [1.0 / 64.0, 1.0 / 8.0, 1.0];

/// Greatest number of intervals that are divided for a ray. Beyond it, the ray touches the surface.
const MAX_DIVISIONS: usize = 1 << 14;

/// A ray in object space, with the parameter s = t − `base`.
#[derive(Clone, Copy, Debug)]
pub(super) struct LocalRay {
    pub o: Vec3,
    pub d: Vec3,
    /// Where the ray enters the box of the field, or 0.
    pub base: f64,
    /// The box to which positions are clamped.
    pub bounds: Aabb,
    /// Distance by which boxes are enlarged to cover rounding errors of positions.
    pub slack: f64,
}

/// A zero of the field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Root {
    pub s: f32,
    /// Whether the field changes sign between this and the next float.
    pub is_exact: bool,
}

/// An interval of s.
#[derive(Clone, Copy, Debug)]
pub(super) struct Interval {
    start: f32,
    end: f32,
    /// Whether the ray touches the surface there.
    touches: bool,
    /// Whether it must be divided into equal parts: a prediction made it hardly smaller.
    is_uniform: bool,
}

impl LocalRay {
    /// Creates the ray with the line o + t d; `None` if it does not meet the box for t ≥ 0.
    pub fn new(o: DVec3, d: DVec3, bounds: Aabb) -> Option<LocalRay> {
        let size = bounds.magnitude();
        let slack = 8.0 * f64::from(f32::EPSILON) * f64::from(size);
        let [enter, exit] = slab(o, d, bounds, slack);
        if !(enter <= exit && exit >= 0.0) {
            return None;
        }
        let base = enter.max(0.0);
        Some(LocalRay { o: (o + base * d).as_vec3(), d: d.as_vec3(), base, bounds, slack })
    }

    /// The position at s. Each coordinate is monotone in s, so the positions of an interval are in
    /// the box of those of its ends.
    pub fn at(&self, s: f32) -> Vec3 {
        (self.o + s * self.d).clamp(self.bounds.min, self.bounds.max)
    }

    /// The ray parameter t.
    pub fn t(&self, s: f32) -> f32 {
        (self.base + f64::from(s)) as f32
    }

    /// Where the ray leaves the box.
    pub fn exit(&self) -> f32 {
        let [_, exit] = slab(self.o.as_dvec3(), self.d.as_dvec3(), self.bounds, 0.0);
        exit.max(0.0) as f32
    }

    /// The least s whose ray parameter is at least `t`.
    pub(super) fn first(&self, t: f32) -> f32 {
        // Smaller sums are rounded down.
        let rounded_up = 0.5 * (f64::from(t.next_down()) + f64::from(t));
        let mut s = ((rounded_up - self.base) as f32).next_down().max(0.0);
        while self.t(s) < t {
            s = s.next_up();
        }
        s
    }

    /// An interval that contains every s whose position is in the cell, and its neighbours.
    fn interval(&self, cell: &Cell) -> Option<[f32; 2]> {
        let (o, d) = (self.o.as_dvec3(), self.d.as_dvec3());
        let [enter, exit] = slab(o, d, cell.bounds, self.slack);
        if !(enter <= exit && exit >= 0.0) {
            return None;
        }
        let [enter, exit] = [enter.max(0.0), exit].map(|s| s as f32);
        Some([enter.next_down().max(0.0), exit.next_up().next_up()])
    }
}

/// The parameters at which a line enters and leaves an enlarged box.
fn slab(o: DVec3, d: DVec3, b: Aabb, slack: f64) -> [f64; 2] {
    let (mut enter, mut exit) = (f64::NEG_INFINITY, f64::INFINITY);
    for axis in 0..3 {
        let (low, high) = (f64::from(b.min[axis]) - slack, f64::from(b.max[axis]) + slack);
        if d[axis] == 0.0 {
            if o[axis] < low || o[axis] > high {
                return [f64::INFINITY, f64::NEG_INFINITY];
            }
            continue;
        }
        let [a, b] = [low, high].map(|end| (end - o[axis]) / d[axis]);
        enter = enter.max(a.min(b));
        exit = exit.min(a.max(b));
    }
    [enter, exit]
}

/// Finds the first zero in a cell with a ray parameter in [tmin, tmax).
pub(super) fn first_root(
    field: &Field,
    cell: &Cell,
    ray: &LocalRay,
    [tmin, tmax]: [f32; 2],
) -> Option<Root> {
    let [start, end] = ray.interval(cell)?;
    let start = if ray.t(start) < tmin { ray.first(tmin) } else { start };
    // Not shortened by `tmax`, so that the hit does not depend on other surfaces.
    let first = Interval { start, end, touches: false, is_uniform: false };
    field.with_scratch(|scratch| {
        scratch.intervals.clear();
        scratch.intervals.push(first);
        search(field, cell, ray, tmax, scratch)
    })
}

/// Searches the intervals on the stack, the last one first.
fn search(
    field: &Field,
    cell: &Cell,
    ray: &LocalRay,
    tmax: f32,
    FieldScratch { bounder, values, intervals, .. }: &mut FieldScratch,
) -> Option<Root> {
    let mut divisions = 0;
    while let Some(interval) = intervals.pop() {
        let Interval { start, end, touches, .. } = interval;
        if start >= end {
            continue;
        }
        if ray.t(start) >= tmax {
            return None;
        }
        if touches {
            return Some(Root { s: start, is_exact: false });
        }
        if end.to_bits() - start.to_bits() <= MAX_STEPS {
            match change_of_sign(field, ray, [start, end], values) {
                Some(s) if ray.t(s) < tmax => return Some(Root { s, is_exact: true }),
                Some(_) => return None,
                None => continue,
            }
        }
        if divisions == MAX_DIVISIONS {
            return Some(Root { s: start, is_exact: false });
        }
        divisions += 1;
        let ends = divide(field, ray, &interval, values);
        let mut children = [None; PARTS];
        let bounds = bounder.bound_between(field, &ends.map(|s| ray.at(s)));
        for (k, bounds) in bounds.into_iter().enumerate() {
            if !bounds.may_be_zero() {
                continue;
            }
            let [low, high] = bounds.value;
            let is_small = low >= -cell.tolerance && high <= cell.tolerance;
            let touches = is_small && bounds.may_be_level(ray.d);
            let is_uniform = ends[k + 1] - ends[k] > 0.25 * (end - start);
            children[k] = Some(Interval { start: ends[k], end: ends[k + 1], touches, is_uniform });
        }
        intervals.extend(children.into_iter().flatten().rev());
    }
    None
}

/// Divides an interval of more than [`PARTS`] floats: around the zero that the secant of a change
/// of sign predicts, so that the part with the zero is small; otherwise into equal parts.
fn divide(
    field: &Field,
    ray: &LocalRay,
    &Interval { start, end, is_uniform, .. }: &Interval,
    values: &mut Evaluator,
) -> [f32; PARTS + 1] {
    let at = |fraction: f32| (start + (end - start) * fraction).clamp(start, end);
    let equal: [_; PARTS + 1] = std::array::from_fn(|k| match k {
        PARTS => end,
        k => at(k as f32 / PARTS as f32),
    });
    if is_uniform {
        return equal;
    }
    // As many as one call of a kernel evaluates.
    const SAMPLES: usize = 8;
    let samples: [_; SAMPLES] = std::array::from_fn(|k| at(k as f32 / (SAMPLES - 1) as f32));
    let mut f = [0.0; SAMPLES];
    values.values(field, &samples.map(|s| ray.at(s)), &mut f);
    let Some(k) = f.windows(2).position(|pair| (pair[0] < 0.0) != (pair[1] < 0.0)) else {
        return equal;
    };
    let width = samples[k + 1] - samples[k];
    let root = samples[k] + width * (f[k] / (f[k] - f[k + 1]));
    if !(root >= start && root <= end) {
        return equal;
    }
    // The distances to the predicted zero grow from part to part.
    let near = |distance: f32| (root + distance * width).clamp(start, end);
    let [a, b, c] = SECANT_DISTANCES;
    let ends = [start, near(-c), near(-b), near(-a), near(a), near(b), near(c), end, end];
    const { assert!(PARTS == 8) };
    ends
}

/// Finds the first float at which the field has another sign than at the next one.
fn change_of_sign(
    field: &Field,
    ray: &LocalRay,
    [start, end]: [f32; 2],
    values: &mut Evaluator,
) -> Option<f32> {
    let mut points = [Vec3::ZERO; MAX_STEPS as usize + 1];
    let mut f = [0.0; MAX_STEPS as usize + 1];
    let count = (end.to_bits() - start.to_bits()) as usize + 1;
    let float = |k: usize| f32::from_bits(start.to_bits() + k as u32);
    points[..count].iter_mut().enumerate().for_each(|(k, p)| *p = ray.at(float(k)));
    values.values(field, &points[..count], &mut f[..count]);
    let changes = |pair: &[f32]| (pair[0] < 0.0) != (pair[1] < 0.0);
    f[..count].windows(2).position(changes).map(float)
}
