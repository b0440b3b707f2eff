//! Values at the centres of voxels, interpolated trilinearly: pbrt-v4's `SampledGrid`.
//!
//! Outside the box, all samples have one value. So within half a voxel of the border, values fade
//! to it, as in pbrt-v4. An interpolated value is clamped to the range of its eight samples. So the
//! range of samples over a box bounds the values there in spite of rounding errors.

use super::range_tree::{self, RangeTree};
use lightbound_math::{Aabb, Vec3};
use std::fmt::Debug;

/// What grids hold.
pub trait Sample: Copy + Debug + Send + Sync {
    /// Interpolates between `a` and `b`.
    fn lerp(t: f32, a: Self, b: Self) -> Self;
    /// Returns the minimum, channel by channel.
    fn min(self, other: Self) -> Self;
    /// Returns the maximum, channel by channel.
    fn max(self, other: Self) -> Self;
}

impl Sample for f32 {
    fn lerp(t: f32, a: f32, b: f32) -> f32 {
        (1.0 - t) * a + t * b
    }
    fn min(self, other: f32) -> f32 {
        f32::min(self, other)
    }
    fn max(self, other: f32) -> f32 {
        f32::max(self, other)
    }
}

impl Sample for Vec3 {
    fn lerp(t: f32, a: Vec3, b: Vec3) -> Vec3 {
        (1.0 - t) * a + t * b
    }
    fn min(self, other: Vec3) -> Vec3 {
        Vec3::min(self, other)
    }
    fn max(self, other: Vec3) -> Vec3 {
        Vec3::max(self, other)
    }
}

/// Interpolates between eight samples: x varies fastest.
#[inline]
pub(super) fn trilinear<T: Sample>(t: Vec3, samples: [T; 8]) -> T {
    let [a, b, c, d, e, f, g, h] = samples;
    let low = T::lerp(t.y, T::lerp(t.x, a, b), T::lerp(t.x, c, d));
    let high = T::lerp(t.y, T::lerp(t.x, e, f), T::lerp(t.x, g, h));
    let fold = |pick: fn(T, T) -> T| samples[1..].iter().fold(a, |x, &y| pick(x, y));
    T::lerp(t.z, low, high).max(fold(T::min)).min(fold(T::max))
}

/// Returns ⌊x⌋ for |x| < 2³¹. There is no instruction for it at x86-64's base level.
#[inline]
fn floor(x: f32) -> i32 {
    let truncated = x as i32;
    truncated - i32::from(truncated as f32 > x)
}

/// A grid of samples over a box.
#[derive(Clone, Debug)]
pub struct Grid<T> {
    bounds: Aabb,
    resolution: [usize; 3],
    values: Vec<T>,
    outside: T,
}

impl<T: Sample> Grid<T> {
    /// Creates a grid over a box. x varies fastest, z slowest.
    ///
    /// # Panics
    /// If the number of values is not the product of the resolution, or 0.
    pub fn new(bounds: Aabb, resolution: [usize; 3], values: Vec<T>, outside: T) -> Grid<T> {
        let count: usize = resolution.iter().product();
        assert!(values.len() == count && count > 0, "one value for each voxel");
        Grid { bounds, resolution, values, outside }
    }

    /// Applies a function to all values.
    #[must_use]
    pub fn map(self, f: impl Fn(T) -> T) -> Grid<T> {
        let values = self.values.into_iter().map(&f).collect();
        Grid { values, outside: f(self.outside), ..self }
    }

    /// Returns the box.
    pub fn bounds(&self) -> Aabb {
        self.bounds
    }

    /// Returns the numbers of voxels along the axes.
    pub fn resolution(&self) -> [usize; 3] {
        self.resolution
    }

    /// Returns the samples.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// Returns the value of all samples outside the box.
    pub fn outside(&self) -> T {
        self.outside
    }

    /// Returns the value at a point of the box.
    #[inline]
    pub fn value(&self, p: Vec3) -> T {
        let [nx, ny, nz] = self.resolution.map(|n| n as f32);
        // Further away, all samples are outside.
        let x = self.coordinates(p).max(Vec3::splat(-2.0)).min(Vec3::new(nx, ny, nz));
        let corner = x.to_array().map(floor);
        let t = x - Vec3::from_array(corner.map(|i| i as f32));
        let [nx, ny, nz] = self.resolution;
        if let [Ok(i), Ok(j), Ok(k)] = corner.map(usize::try_from)
            && i + 1 < nx
            && j + 1 < ny
            && k + 1 < nz
        {
            let v = &self.values[(k * ny + j) * nx + i..][..(ny + 1) * nx + 2];
            let [low, high] = [0, ny * nx].map(|z| [v[z], v[z + 1], v[z + nx], v[z + nx + 1]]);
            let ([a, b, c, d], [e, f, g, h]) = (low, high);
            return trilinear(t, [a, b, c, d, e, f, g, h]);
        }
        trilinear(t, std::array::from_fn(|i| self.sample(corner, i)))
    }

    /// Returns the i-th of the eight samples around a point.
    #[inline]
    fn sample(&self, corner: [i32; 3], i: usize) -> T {
        let index = |axis: usize| {
            let index = corner[axis] + (i >> axis & 1) as i32;
            usize::try_from(index).ok().filter(|&index| index < self.resolution[axis])
        };
        match (index(0), index(1), index(2)) {
            (Some(x), Some(y), Some(z)) => {
                self.values[(z * self.resolution[1] + y) * self.resolution[0] + x]
            }
            _ => self.outside,
        }
    }

    /// Returns coordinates in which sample i is at i. Each step is monotone, so that points of a
    /// box stay between its corners.
    #[inline]
    fn coordinates(&self, p: Vec3) -> Vec3 {
        let [nx, ny, nz] = self.resolution.map(|n| n as f32);
        let unit = (p - self.bounds.min) / (self.bounds.max - self.bounds.min);
        unit * Vec3::new(nx, ny, nz) - 0.5
    }

    /// Returns the first and last sample that values in a box depend on, and whether they also
    /// depend on those outside; `None` if only on those.
    fn samples(&self, b: Aabb) -> (Option<[[usize; 3]; 2]>, bool) {
        let (low, high) = (self.coordinates(b.min).floor(), self.coordinates(b.max).floor() + 1.0);
        let last = self.resolution.map(|n| n - 1);
        let mut depends_on_outside = false;
        let mut range = [[0; 3]; 2];
        for axis in 0..3 {
            let end = last[axis] as f32;
            depends_on_outside |= low[axis] < 0.0 || high[axis] > end;
            if high[axis] < 0.0 || low[axis] > end {
                return (None, true);
            }
            range[0][axis] = low[axis].max(0.0) as usize;
            range[1][axis] = (high[axis].max(0.0) as usize).min(last[axis]);
        }
        (Some(range), depends_on_outside)
    }
}

/// A grid with the tree of ranges of its samples.
#[derive(Clone, Debug)]
pub(super) struct RangedGrid<T> {
    pub grid: Grid<T>,
    tree: RangeTree,
    /// Returns the range of a sample.
    range_of: fn(T, Vec3) -> [f32; 2],
    /// Second argument of `range_of`.
    unit: Vec3,
}

impl<T: Sample> RangedGrid<T> {
    pub fn new(grid: Grid<T>, range_of: fn(T, Vec3) -> [f32; 2], unit: Vec3) -> RangedGrid<T> {
        let tree = RangeTree::new(grid.resolution, |i| range_of(grid.values[i], unit));
        RangedGrid { grid, tree, range_of, unit }
    }

    /// Returns the range of values in a box.
    pub fn range(&self, b: Aabb) -> [f32; 2] {
        let range_of = |sample: T| (self.range_of)(sample, self.unit);
        let (samples, depends_on_outside) = self.grid.samples(b);
        let mut out = match samples {
            Some([first, last]) => self.tree.range(first, last, |i| range_of(self.grid.values[i])),
            None => range_tree::EMPTY,
        };
        if depends_on_outside {
            out = range_tree::union(out, range_of(self.grid.outside));
        }
        out
    }
}
