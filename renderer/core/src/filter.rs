//! Importance sampling of pixel reconstruction filters.
//!
//! With filter importance sampling (Ernst et al. 2006), a sample's offset from the pixel centre has
//! the density |f| / ∫|f|, and its weight is ±∫|f| / ∫f with the sign of f. So E[weight · L] =
//! ∫ f L / ∫ f, while every sample belongs to one pixel. All filters are products of an even
//! function of x and an even function of y. The CDFs of box and triangle are inverted exactly. The
//! other filters use a piecewise constant table of a few hundred cells. A cell has the integral of
//! f over it, and cells are split where f changes sign. Weighted means differ by about 10⁻⁵ from
//! those of the exact filter. The filters are those of pbrt-v4 (filters.h, filters.cpp).

use lightbound_math::{Vec2, vec2};
use std::f64::consts::PI;

/// Number of table cells per pixel of the radius.
const CELLS_PER_PIXEL: f32 = 64.0;

/// Minimum number of cells of a table.
const MIN_CELLS: f32 = 256.0;

/// Maximum number of cells of a table.
const MAX_CELLS: f32 = 16384.0;

/// The shape of a filter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FilterKind {
    /// Constant.
    Box,
    /// Linear falloff to 0 at the radius.
    Triangle,
    /// Gaussian minus its value at the radius.
    Gaussian {
        /// Standard deviation in pixels.
        sigma: f32,
    },
    /// The cubic of Mitchell & Netravali 1988, scaled to the radius.
    Mitchell {
        /// Parameter B.
        b: f32,
        /// Parameter C.
        c: f32,
    },
    /// A sinc windowed by a wider sinc (Lanczos).
    Sinc {
        /// Number of lobes on each side.
        tau: f32,
    },
}

/// Why a filter is invalid.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum FilterError {
    /// A parameter that must be positive is not.
    #[error("filter parameter {name} is {value}; give a positive number")]
    NotPositive {
        /// Name of the parameter in scene files.
        name: &'static str,
        /// The value.
        value: f32,
    },
    /// A parameter is infinite or NaN.
    #[error("filter parameter {name} is {value}; give a finite number")]
    NotFinite {
        /// Name of the parameter in scene files.
        name: &'static str,
        /// The value.
        value: f32,
    },
    /// The filter's integral is not positive, so the filter cannot be normalised.
    #[error(
        "the integral of the filter {kind:?} is not positive; choose parameters nearer to the defaults"
    )]
    NonPositiveIntegral {
        /// The filter.
        kind: FilterKind,
    },
}

impl FilterKind {
    /// Evaluates the factor of one axis at distance x ≥ 0 from the centre; not normalised.
    fn eval(&self, x: f64, radius: f64) -> f64 {
        match *self {
            FilterKind::Box => 1.0,
            FilterKind::Triangle => radius - x,
            FilterKind::Gaussian { sigma } => {
                let g = |x: f64| {
                    let t = x / f64::from(sigma);
                    libm::exp(-0.5 * t * t)
                };
                g(x) - g(radius)
            }
            FilterKind::Mitchell { b, c } => mitchell(2.0 * x / radius, f64::from(b), f64::from(c)),
            FilterKind::Sinc { tau } => sinc(x) * sinc(x / f64::from(tau)),
        }
    }
}

/// Computes sin πx / πx.
fn sinc(x: f64) -> f64 {
    if x == 0.0 { 1.0 } else { libm::sin(PI * x) / (PI * x) }
}

/// Evaluates the cubic of Mitchell & Netravali 1988, eq. 8, for x in [0, 2].
fn mitchell(x: f64, b: f64, c: f64) -> f64 {
    let [k0, k1, k2, k3] = if x < 1.0 {
        [6.0 - 2.0 * b, 0.0, -18.0 + 12.0 * b + 6.0 * c, 12.0 - 9.0 * b - 6.0 * c]
    } else {
        [8.0 * b + 24.0 * c, -12.0 * b - 48.0 * c, 6.0 * b + 30.0 * c, -b - 6.0 * c]
    };
    (k0 + x * (k1 + x * (k2 + x * k3))) / 6.0
}

/// A filter prepared for sampling.
#[derive(Clone, Debug)]
pub struct Filter {
    x: FilterAxis,
    y: FilterAxis,
    /// ∫|f| / ∫f.
    weight: f32,
}

impl Default for Filter {
    /// pbrt-v4's default: a Gaussian of radius 1.5 and standard deviation 0.5 pixels.
    fn default() -> Filter {
        Filter::new(FilterKind::Gaussian { sigma: 0.5 }, Vec2::splat(1.5))
            .expect("the default parameters are valid")
    }
}

impl Filter {
    /// Prepares a filter; `radius` is its half width along each axis, in pixels.
    ///
    /// # Errors
    /// If `radius`, sigma or tau is not a finite positive number, B or C is not finite, or the
    /// integral of the filter is not positive.
    pub fn new(kind: FilterKind, radius: Vec2) -> Result<Filter, FilterError> {
        let check_positive = |name, value: f32| match value {
            v if !v.is_finite() => Err(FilterError::NotFinite { name, value }),
            v if v <= 0.0 => Err(FilterError::NotPositive { name, value }),
            _ => Ok(()),
        };
        check_positive("xradius", radius.x)?;
        check_positive("yradius", radius.y)?;
        match kind {
            FilterKind::Box | FilterKind::Triangle => {}
            FilterKind::Gaussian { sigma } => check_positive("sigma", sigma)?,
            FilterKind::Sinc { tau } => check_positive("tau", tau)?,
            FilterKind::Mitchell { b, c } => {
                for (name, value) in [("B", b), ("C", c)] {
                    if !value.is_finite() {
                        return Err(FilterError::NotFinite { name, value });
                    }
                }
            }
        }
        let (x, x_weight) =
            FilterAxis::new(kind, radius.x).ok_or(FilterError::NonPositiveIntegral { kind })?;
        let (y, y_weight) =
            FilterAxis::new(kind, radius.y).ok_or(FilterError::NonPositiveIntegral { kind })?;
        Ok(Filter { x, y, weight: (x_weight * y_weight) as f32 })
    }

    /// Samples an offset from the pixel's centre, within the radius, in pixels; returns it with the
    /// sample's weight. Weights average 1.
    #[inline]
    pub fn sample(&self, u: Vec2) -> (Vec2, f32) {
        let (x, x_sign) = self.x.sample(u.x);
        let (y, y_sign) = self.y.sample(u.y);
        (vec2(x, y), self.weight * x_sign * y_sign)
    }
}

/// One factor of a filter, with its inverse CDF.
#[derive(Clone, Debug)]
enum FilterAxis {
    /// Constant up to this radius.
    Box(f32),
    /// Linear falloff to 0 at this radius.
    Triangle(f32),
    /// Any other shape.
    Table(FilterTable),
}

impl FilterAxis {
    /// Prepares the factor and computes ∫|f| / ∫f; `None` if ∫f is not positive.
    fn new(kind: FilterKind, radius: f32) -> Option<(FilterAxis, f64)> {
        match kind {
            FilterKind::Box => Some((FilterAxis::Box(radius), 1.0)),
            FilterKind::Triangle => Some((FilterAxis::Triangle(radius), 1.0)),
            _ => FilterTable::new(kind, radius)
                .map(|(table, weight)| (FilterAxis::Table(table), weight)),
        }
    }

    /// Inverts the CDF. Returns the offset, which increases with u, and the sign of f there.
    #[inline]
    fn sample(&self, u: f32) -> (f32, f32) {
        let centred = 2.0 * u - 1.0;
        let v = centred.abs();
        let (x, sign) = match self {
            FilterAxis::Box(radius) => (radius * v, 1.0),
            FilterAxis::Triangle(radius) => (radius * (1.0 - (1.0 - v).sqrt()), 1.0),
            FilterAxis::Table(table) => table.sample(v),
        };
        (x.copysign(centred), sign)
    }
}

/// A piecewise constant filter over [0, radius].
#[derive(Clone, Debug)]
struct FilterTable {
    radius: f32,
    cells: Vec<TableCell>,
    /// Guide table for the CDF: [0, 1) is divided into equal slices, and each entry is the cell at
    /// the start of a slice.
    guide: Vec<u16>,
}

/// An interval of the axis in which f does not change sign.
#[derive(Clone, Copy, Debug)]
struct TableCell {
    /// Start.
    x: f32,
    /// CDF at the start.
    cdf: f32,
    /// Width divided by probability.
    slope: f32,
    sign: f32,
}

impl FilterTable {
    fn new(kind: FilterKind, radius: f32) -> Option<(FilterTable, f64)> {
        let r = f64::from(radius);
        let f = |x: f64| kind.eval(x, r);
        let n = (CELLS_PER_PIXEL * radius).clamp(MIN_CELLS, MAX_CELLS) as usize;
        let mut edges = vec![0.0];
        for i in 1..=n {
            let (x0, x1) = (r * (i - 1) as f64 / n as f64, r * i as f64 / n as f64);
            if f(x0) * f(x1) < 0.0 {
                edges.push(x0 + (x1 - x0) * f(x0) / (f(x0) - f(x1)));
            }
            edges.push(x1);
        }
        // Start, width and integral (by Simpson's rule) of each cell.
        let mut intervals: Vec<(f64, f64, f64)> = edges
            .windows(2)
            .map(|e| {
                (
                    e[0],
                    e[1] - e[0],
                    (e[1] - e[0]) / 6.0 * (f(e[0]) + 4.0 * f(0.5 * (e[0] + e[1])) + f(e[1])),
                )
            })
            .collect();
        // Discard cells of negligible probability, such as in the tail of a Gaussian, since their
        // slopes would overflow.
        let total_before_discarding: f64 = intervals.iter().map(|p| p.2.abs()).sum();
        intervals.retain(|p| p.2.abs() > 1e-9 * total_before_discarding);
        let (sum, total) = intervals.iter().fold((0.0, 0.0), |(s, t), p| (s + p.2, t + p.2.abs()));
        if !total_before_discarding.is_finite() || sum <= 1e-6 * total {
            return None;
        }
        let mut cumulative = 0.0;
        let cell = |&(x, width, mass): &(f64, f64, f64)| {
            let cdf = cumulative / total;
            cumulative += mass.abs();
            let slope = width * total / mass.abs();
            TableCell {
                x: x as f32,
                cdf: cdf as f32,
                slope: slope as f32,
                sign: mass.signum() as f32,
            }
        };
        let cells: Vec<TableCell> = intervals.iter().map(cell).collect();
        let slices = 2 * n;
        let start = |j: usize| j as f32 / slices as f32;
        let guide =
            (0..slices).map(|j| cells[1..].partition_point(|c| c.cdf <= start(j)) as u16).collect();
        Some((FilterTable { radius, cells, guide }, total / sum))
    }

    /// Inverts the CDF of |f| over [0, radius]. Returns the offset and the sign of f there.
    #[inline]
    fn sample(&self, v: f32) -> (f32, f32) {
        let slice = ((v * self.guide.len() as f32) as usize).min(self.guide.len() - 1);
        let mut i = usize::from(self.guide[slice]);
        while let Some(next) = self.cells.get(i + 1)
            && next.cdf <= v
        {
            i += 1;
        }
        let cell = &self.cells[i];
        ((cell.x + (v - cell.cdf) * cell.slope).min(self.radius), cell.sign)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lightbound_math::sampling::testing::{assert_chi_square, points};

    /// Iterates over each shape with pbrt-v4's defaults, and with unusual radii.
    fn filters() -> impl Iterator<Item = (FilterKind, Vec2)> {
        let kinds = [
            (FilterKind::Box, 0.5),
            (FilterKind::Triangle, 2.0),
            (FilterKind::Gaussian { sigma: 0.5 }, 1.5),
            (FilterKind::Mitchell { b: 1.0 / 3.0, c: 1.0 / 3.0 }, 2.0),
            (FilterKind::Sinc { tau: 3.0 }, 4.0),
        ];
        kinds
            .into_iter()
            .flat_map(|(k, r)| [(k, Vec2::splat(r)), (k, vec2(1.0, 3.0)), (k, vec2(20.0, 0.1))])
    }

    /// Computes ∫ g(x, f(x)) dx over the full width of the exact filter by the midpoint rule.
    fn integrate(kind: FilterKind, radius: f32, g: impl Fn(f64, f64) -> f64) -> f64 {
        let (n, r) = (100_000, f64::from(radius));
        (0..n)
            .map(|i| (f64::from(i) + 0.5) / f64::from(n) * 2.0 - 1.0)
            .map(|t| g(t * r, kind.eval(t.abs() * r, r)))
            .sum::<f64>()
            * 2.0
            * r
            / f64::from(n)
    }

    #[test]
    fn moments_match_numeric_integrals() {
        for (kind, radius) in filters() {
            let filter = Filter::new(kind, radius).unwrap();
            for (axis, r) in [(&filter.x, radius.x), (&filter.y, radius.y)] {
                // A regular grid in u integrates the inverse accurately.
                let n = 200_000;
                let mean = |g: &dyn Fn(f64) -> f64| {
                    let term = |i| {
                        let (x, sign) = axis.sample((i as f32 + 0.5) / n as f32);
                        g(f64::from(x)) * f64::from(sign) / f64::from(n)
                    };
                    (0..n).map(term).sum::<f64>()
                };
                // The mean of the signs is ∫f / ∫|f|.
                let scale = integrate(kind, r, |_, f| f.abs()) / integrate(kind, r, |_, f| f);
                for g in [&|_| 1.0, &|x: f64| x, &|x: f64| x * x, &|x: f64| (1.3 * x).cos()]
                    as [&dyn Fn(f64) -> f64; 4]
                {
                    let exact = integrate(kind, r, |x, f| g(x) * f) / integrate(kind, r, |_, f| f);
                    let sampled = mean(g) * scale;
                    // The error of the grid is proportional to g where f changes sign.
                    let size = g(f64::from(r)).abs().max(1.0);
                    assert!(
                        (sampled - exact).abs() < 1e-4 * size,
                        "{kind:?} {r}: {sampled} instead of {exact}"
                    );
                }
            }
            let (_, w) = filter.sample(vec2(0.5, 0.5));
            let ratio = |r| integrate(kind, r, |_, f| f.abs()) / integrate(kind, r, |_, f| f);
            let exact = ratio(radius.x) * ratio(radius.y);
            assert!(
                (f64::from(w) - exact).abs() < 1e-4 * exact,
                "{kind:?}: weight {w} instead of {exact}"
            );
        }
    }

    #[test]
    fn offset_density_is_the_absolute_value_of_the_filter() {
        let n = 200_000;
        for (kind, radius) in filters() {
            let filter = Filter::new(kind, radius).unwrap();
            let grid = 20;
            let mut counts = vec![0; grid * grid];
            let mut weight = None;
            for u in points(n, 7) {
                let (p, w) = filter.sample(u);
                assert!(p.abs().cmple(radius).all());
                assert_eq!(*weight.get_or_insert(w.abs()), w.abs());
                let f = [(p.x, radius.x), (p.y, radius.y)]
                    .map(|(x, r)| kind.eval(f64::from(x).abs(), f64::from(r)));
                assert!(
                    w * (f[0] * f[1]) as f32 > -1e-3,
                    "at {p}, the weight {w} has the wrong sign for {f:?}"
                );
                let cell =
                    ((0.5 + 0.5 * p / radius) * grid as f32).min(Vec2::splat(grid as f32 - 1.0));
                counts[cell.x as usize + grid * cell.y as usize] += 1;
            }
            let probabilities = |r: f32| -> Vec<f64> {
                let within =
                    |x: f64, i: usize| ((0.5 + 0.5 * x / f64::from(r)) * grid as f64) as usize == i;
                (0..grid)
                    .map(|i| integrate(kind, r, |x, f| if within(x, i) { f.abs() } else { 0.0 }))
                    .collect()
            };
            let (x, y) = (probabilities(radius.x), probabilities(radius.y));
            let total = x.iter().sum::<f64>() * y.iter().sum::<f64>();
            let expected: Vec<f64> = (0..grid * grid)
                .map(|i| x[i % grid] * y[i / grid] / total * f64::from(n))
                .collect();
            assert_chi_square(&counts, &expected, &format!("{kind:?} {radius}"));
        }
    }

    #[test]
    fn box_and_triangle_are_exact() {
        let u = vec2(0.3, 0.9);
        let (p, w) = Filter::new(FilterKind::Box, vec2(0.5, 1.5)).unwrap().sample(u);
        assert!((p - vec2(-0.2, 1.2)).length() < 1e-6 && w == 1.0);
        // The CDF of the triangle on [0, r] is 1 − (1 − x/r)².
        let (p, w) = Filter::new(FilterKind::Triangle, vec2(2.0, 2.0)).unwrap().sample(u);
        let exact =
            |u: f32| (2.0 * (1.0 - (1.0 - (2.0 * u - 1.0).abs()).sqrt())).copysign(2.0 * u - 1.0);
        assert!((p - vec2(exact(u.x), exact(u.y))).length() < 1e-6 && w == 1.0, "{p}");
    }

    #[test]
    fn samples_lie_within_the_radius_for_extreme_random_numbers() {
        for (kind, radius) in filters() {
            let filter = Filter::new(kind, radius).unwrap();
            for u in [0.0, 1e-45, 0.5, 0.5 - 1e-7, lightbound_math::sampling::ONE_MINUS_EPSILON] {
                let (p, w) = filter.sample(vec2(u, 1.0 - u));
                assert!(
                    p.is_finite() && p.abs().cmple(radius).all() && w.is_finite(),
                    "{kind:?} {u}: {p} {w}"
                );
            }
        }
    }

    #[test]
    fn errors_name_the_invalid_parameter() {
        let message = |kind, radius| Filter::new(kind, radius).unwrap_err().to_string();
        assert!(message(FilterKind::Box, vec2(-1.0, 1.0)).contains("xradius"));
        assert!(message(FilterKind::Box, vec2(1.0, f32::NAN)).contains("yradius"));
        assert!(message(FilterKind::Gaussian { sigma: 0.0 }, Vec2::ONE).contains("sigma"));
        assert!(
            message(FilterKind::Mitchell { b: f32::INFINITY, c: 0.0 }, Vec2::ONE)
                .contains("B is inf")
        );
        assert!(message(FilterKind::Mitchell { b: -1e6, c: 1e9 }, Vec2::ONE).contains("Mitchell"));
        assert!(message(FilterKind::Gaussian { sigma: 1e30 }, Vec2::ONE).contains("Gaussian"));
    }
}
