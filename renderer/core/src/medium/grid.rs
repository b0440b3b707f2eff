//! Values at the centres of voxels, interpolated trilinearly: pbrt-v4's `SampledGrid`.
//!
//! Outside the box, all samples have one value. So within half a voxel of the border, values fade
//! to it, as in pbrt-v4. An interpolated value is clamped to the range of its eight samples. So the
//! range of samples over a box bounds the values there in spite of rounding errors.
//!
//! Between eight samples, the interpolant is linear along each axis. So its extremes over a box are
//! at the corners of the box, and small boxes are bounded by those.

use super::range_tree::{self, RangeTree};
use glam::{DVec3, IVec3};
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
    /// Returns bounds on the values that `trilinear` returns, channel by channel, for positions
    /// from `t[0]` to `t[1]`, which are within [0, 1].
    fn bounds_between(t: [Vec3; 2], samples: [Self; 8]) -> [Self; 2];
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

    /// In exact arithmetic, the extremes are at the corners of the box. Let M be the largest
    /// magnitude of the samples and u = 2⁻²⁴. The terms of `lerp` have at most three roundings, so
    /// its error is at most M ((1 + u)³ − 1), plus 2⁻¹⁴⁹ where products underflow. Errors of its
    /// operands are averaged, not amplified. So that of three levels is below 10 u M + 4 · 2⁻¹⁴⁹,
    /// which leaves more than enough for the errors of double precision here.
    fn bounds_between(t: [Vec3; 2], samples: [f32; 8]) -> [f32; 2] {
        let range =
            samples.iter().fold(range_tree::EMPTY, |out, &x| range_tree::union(out, [x; 2]));
        let magnitude = f64::from(range[0].abs().max(range[1].abs()));
        // `lerp` must not overflow.
        if !samples.iter().all(|x| x.abs() <= f32::MAX / 2.0) {
            return range;
        }
        let mut corners = samples.map(f64::from);
        for axis in 0..3 {
            let ends = t.map(|t| f64::from(t[axis]));
            for i in (0..8).filter(|i| i >> axis & 1 == 0) {
                let (a, b) = (corners[i], corners[i | 1 << axis]);
                [corners[i], corners[i | 1 << axis]] = ends.map(|t| (1.0 - t) * a + t * b);
            }
        }
        let low = corners.into_iter().fold(f64::INFINITY, f64::min);
        let high = corners.into_iter().fold(f64::NEG_INFINITY, f64::max);
        let error = magnitude * (10.0 / f64::from(1 << 24)) + 4.0 * f64::from(f32::from_bits(1));
        let (low, high) = ((low - error) as f32, (high + error) as f32);
        [low.next_down().max(range[0]), high.next_up().min(range[1])]
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
    fn bounds_between(t: [Vec3; 2], samples: [Vec3; 8]) -> [Vec3; 2] {
        let channel = |i: usize| f32::bounds_between(t, samples.map(|sample| sample[i]));
        let [x, y, z] = [channel(0), channel(1), channel(2)];
        [0, 1].map(|end| Vec3::new(x[end], y[end], z[end]))
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

/// Greatest number of cells of a grid that are bounded one by one: those that a box of the size of
/// one overlaps.
const MAX_CELLS: i64 = 8;

/// Bounds interpolated values in the box between two points in which sample i is at i, channel by
/// channel; `None` if it overlaps more than [`MAX_CELLS`] cells between samples. Coordinates are
/// small enough for `i32`. `sample` returns the i-th sample around a cell.
pub(super) fn bounds_in_cells<T: Sample>(
    corners: [DVec3; 2],
    sample: impl Fn([i32; 3], usize) -> T,
) -> Option<[T; 2]> {
    let [first, last] = corners.map(|x| x.floor().as_ivec3());
    let counts = (last - first).as_i64vec3() + 1;
    if counts.max_element() > MAX_CELLS || counts.element_product() > MAX_CELLS {
        return None;
    }
    let cells = (first.z..=last.z).flat_map(|z| {
        (first.y..=last.y).flat_map(move |y| (first.x..=last.x).map(move |x| IVec3::new(x, y, z)))
    });
    let bounds = cells.map(|cell| {
        // Rounding is monotone, so positions in the cell are between these as they are rounded.
        let t = corners.map(|x| (x - cell.as_dvec3()).clamp(DVec3::ZERO, DVec3::ONE).as_vec3());
        T::bounds_between(t, std::array::from_fn(|i| sample(cell.to_array(), i)))
    });
    bounds.reduce(|a, b| [a[0].min(b[0]), a[1].max(b[1])])
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
        let x = self.clamped_coordinates(p);
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

    /// Returns coordinates clamped to the samples: further away, all samples are outside.
    #[inline]
    fn clamped_coordinates(&self, p: Vec3) -> Vec3 {
        let [nx, ny, nz] = self.resolution.map(|n| n as f32);
        self.coordinates(p).max(Vec3::splat(-2.0)).min(Vec3::new(nx, ny, nz))
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
    /// Returns the range of a sample. Both ends increase with each channel.
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
        let corners = [b.min, b.max].map(|p| self.grid.clamped_coordinates(p).as_dvec3());
        if let Some([low, high]) = bounds_in_cells(corners, |cell, i| self.grid.sample(cell, i)) {
            return [range_of(low)[0], range_of(high)[1]];
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use lightbound_math::vec3;
    use proptest::prelude::*;

    const BOX: Aabb = Aabb { min: vec3(-1.0, 0.0, 2.0), max: vec3(3.0, 1.0, 2.5) };

    #[test]
    fn bounds_tighten_within_a_voxel() {
        let grid = Grid::new(BOX, [2, 1, 1], vec![1.0, 1e6], 0.0);
        let grid = RangedGrid::new(grid, |x: f32, _| [x; 2], Vec3::ONE);
        let mut max = BOX.max;
        let mut last = f32::INFINITY;
        for _ in 0..12 {
            max.x = BOX.min.x + 0.5 * (max.x - BOX.min.x);
            let [low, high] = grid.range(Aabb { max, ..BOX });
            assert!(low >= 0.0 && high <= last, "{low} {high}");
            last = high;
        }
        assert!(last <= 1.0, "{last}");
    }

    /// Checks bounds on all channels at points of a box, its corners included.
    fn check<T: Sample>(
        grid: &Grid<T>,
        b: Aabb,
        points: &[[f32; 3]],
        channels: fn(T) -> Vec<f32>,
    ) -> Result<(), TestCaseError> {
        let corners = [b.min, b.max].map(|p| grid.clamped_coordinates(p).as_dvec3());
        let Some(bounds) = bounds_in_cells(corners, |cell, i| grid.sample(cell, i)) else {
            return Ok(());
        };
        let [low, high] = bounds.map(channels);
        let corners = (0..8).map(|i| [0, 1, 2].map(|axis| (i >> axis & 1) as f32));
        for unit in points.iter().copied().chain(corners) {
            let p = (b.min + (b.max - b.min) * Vec3::from_array(unit)).clamp(b.min, b.max);
            let value = channels(grid.value(p));
            for ((x, low), high) in value.iter().zip(&low).zip(&high) {
                prop_assert!(low <= x && x <= high, "{x:e} is not in {low:e}..{high:e} at {p}");
            }
        }
        Ok(())
    }

    /// A sample of any magnitude.
    fn sample() -> impl Strategy<Value = f32> {
        let anything = any::<f32>().prop_filter("finite", |x| x.is_finite());
        prop_oneof![anything, -1e6f32..1e6, Just(0.0), Just(1.0), Just(f32::MAX), 0.0f32..1e-38]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]
        #[test]
        fn bounds_contain_all_values(
            resolution in prop::array::uniform3(1usize..4),
            samples in prop::collection::vec(sample(), 27 * 3),
            outside in sample(),
            // Corners are near multiples of half a voxel: samples, borders of cells and of the box.
            corner in prop::array::uniform3((0u32..9, -3i32..4, 0.0f32..1.0, any::<bool>())),
            size in prop::array::uniform3((0.0f32..1.0, -24i32..2, 0u32..5)),
            points in prop::collection::vec(prop::array::uniform3(0.0f32..=1.0), 16),
        ) {
            let count: usize = resolution.iter().product();
            let voxel = (BOX.max - BOX.min) / Vec3::from_array(resolution.map(|n| n as f32));
            let step = |x: f32, steps: i32| {
                let step = if steps < 0 { f32::next_down } else { f32::next_up };
                (0..steps.abs()).fold(x, |x, _| step(x))
            };
            let axes: [_; 3] = std::array::from_fn(|axis| {
                let (halves, steps, fraction, is_near) = corner[axis];
                let halves = halves as f32 + if is_near { 0.0 } else { fraction };
                let low = step(BOX.min[axis] + 0.5 * halves * voxel[axis], steps);
                let (scale, exponent, ulps) = size[axis];
                let high = low + scale * 2f32.powi(exponent) * voxel[axis];
                (low, if exponent < -12 { step(low, ulps as i32) } else { high })
            });
            let b = Aabb {
                min: Vec3::from_array(axes.map(|(low, _)| low)).min(BOX.max),
                max: Vec3::from_array(axes.map(|(_, high)| high)).min(BOX.max),
            };
            let grid = Grid::new(BOX, resolution, samples[..count].to_vec(), outside);
            check(&grid, b, &points, |x| vec![x])?;
            let colours = samples.chunks_exact(3).take(count).map(Vec3::from_slice).collect();
            let grid = Grid::new(BOX, resolution, colours, Vec3::splat(outside));
            check(&grid, b, &points, |x| x.to_array().to_vec())?;
        }

        #[test]
        fn bounds_between_samples_contain_rounded_values(
            samples in prop::array::uniform8(sample()),
            ends in prop::array::uniform3((0.0f32..=1.0, 0.0f32..=1.0, -30i32..=0)),
            points in prop::collection::vec(prop::array::uniform3(0.0f32..=1.0), 16),
        ) {
            let low = Vec3::from_array(ends.map(|(low, _, _)| low));
            let size = Vec3::from_array(ends.map(|(_, size, exponent)| size * 2f32.powi(exponent)));
            let high = (low + size).min(Vec3::ONE);
            let [min, max] = f32::bounds_between([low, high], samples);
            for unit in points {
                let t = (low + (high - low) * Vec3::from_array(unit)).clamp(low, high);
                let value = trilinear(t, samples);
                prop_assert!(min <= value && value <= max, "{value:e} is not in {min:e}..{max:e}");
            }
        }
    }
}
