//! Environment lights that are visible through a rectangle only, the portal: Bitterli, Novák,
//! Jarosz 2015, *Portal-Masked Environment Map Sampling*, as in pbrt-v4.
//!
//! Directions are described by the angles α and β of their projections on the planes through the
//! portal's axes. From any point, the portal is then a rectangle, in which a table of the
//! environment is sampled. pbrt-v4 takes the radiance from this table, too; here, it is that of the
//! environment, and the table only determines densities. Invariant: the density is positive
//! wherever the radiance is.

use super::{Environment, Light, LightError, LightSample, abs_luminance};
use glam::Mat3;
use lightbound_math::sampling::{SquareWindow, WindowedPiecewiseConstant2d};
use lightbound_math::{Aabb, Cone, Vec2, Vec3, vec2};
use std::f32::consts::{FRAC_PI_2, PI};

/// An environment light behind a rectangular opening.
#[derive(Clone, Debug)]
pub struct PortalLight {
    environment: Environment,
    corners: [Vec3; 4],
    /// Orthonormal axes: along two sides of the portal, and outwards.
    axes: Mat3,
    table: WindowedPiecewiseConstant2d,
    /// Mean over the directions through the portal, weighted by the cosine to its normal.
    mean: Vec3,
    area: f32,
}

/// Cells along a side of the table; larger environment images are sampled with at most as many.
const TABLE_SIZES: std::ops::RangeInclusive<usize> = 64..=1024;

/// Fraction of the mean luminance that is added to all cells, so that none has density 0.
const DEFENSIVE_FRACTION: f32 = 0.05;

/// Points of a cell along each axis at which the environment is evaluated.
const SUBCELLS: usize = 2;

/// Tolerance of the right angles of a portal, as in pbrt-v4.
const MAX_SKEW: f32 = 1e-3;

impl PortalLight {
    /// Creates a light from an environment and the corners of the portal, in order around it. The
    /// cross product of the sides from corner 0 to 3 and from corner 0 to 1 points out to the
    /// environment.
    ///
    /// # Errors
    /// If the corners are not those of a rectangle.
    pub fn new(environment: Environment, corners: [Vec3; 4]) -> Result<PortalLight, LightError> {
        let side = |a: usize, b: usize| (corners[b] - corners[a]).try_normalize();
        let [Some(y), Some(x), Some(opposite_x), Some(opposite_y)] =
            [side(0, 1), side(0, 3), side(1, 2), side(3, 2)]
        else {
            return Err(LightError::Portal);
        };
        let is_parallel = |a: Vec3, b: Vec3| (a.dot(b) - 1.0).abs() <= MAX_SKEW;
        if !(is_parallel(x, opposite_x) && is_parallel(y, opposite_y) && x.dot(y).abs() <= MAX_SKEW)
        {
            return Err(LightError::Portal);
        }
        let z = x.cross(y).normalize();
        let axes = Mat3::from_cols(x, z.cross(x), z);
        let size =
            environment.resolution().unwrap_or(0).clamp(*TABLE_SIZES.start(), *TABLE_SIZES.end());
        let (weights, mean) = table(&environment, &axes, size);
        let area = (corners[1] - corners[0]).length() * (corners[3] - corners[0]).length();
        let table = WindowedPiecewiseConstant2d::new(&weights, size);
        Ok(PortalLight { environment, corners, axes, table, mean, area })
    }

    /// Returns the environment without the portal.
    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// Returns the radiance from the unit direction `wi` at `p`.
    pub fn radiance(&self, p: Vec3, wi: Vec3) -> Vec3 {
        if self.is_visible(p, wi) { self.environment.radiance(wi) } else { Vec3::ZERO }
    }

    /// Returns whether the ray from `p` in the direction `wi` passes the portal outwards.
    pub fn is_visible(&self, p: Vec3, wi: Vec3) -> bool {
        let Some((at, _)) = self.position(wi) else { return false };
        self.window(p).is_some_and(|window| window.contains(at))
    }

    /// Returns the density, 1/sr, with which [`Light::sample_li`] samples `wi` at `p`.
    pub fn pdf_li(&self, p: Vec3, wi: Vec3) -> f32 {
        let (Some((at, area_per_sr)), Some(window)) = (self.position(wi), self.window(p)) else {
            return 0.0;
        };
        self.table.pdf(&window, at) * area_per_sr
    }

    /// Returns bounds of the portal, and the direction to the side that receives light.
    pub fn extent(&self) -> (Aabb, Cone) {
        (Aabb::around(self.corners), Cone::from_direction(-self.axes.z_axis))
    }

    /// Returns the mean radiance through the portal, W·sr⁻¹·m⁻².
    pub fn mean_radiance(&self) -> Vec3 {
        self.mean
    }

    /// Returns the area of the portal, m².
    pub fn area(&self) -> f32 {
        self.area
    }

    /// Returns the portal as seen from a point, in the square of angles; `None` if the point is not
    /// on the side that receives light.
    fn window(&self, p: Vec3) -> Option<SquareWindow> {
        let [(a, _), (b, _)] =
            [self.position(self.corners[0] - p)?, self.position(self.corners[2] - p)?];
        Some(SquareWindow { min: a.min(b), max: a.max(b) })
    }

    /// Maps a direction of any length to the square of angles. Also returns the area of the square
    /// per steradian for a unit direction. `None` if the direction points inwards.
    fn position(&self, d: Vec3) -> Option<(Vec2, f32)> {
        let w = self.axes.transpose() * d;
        if w.z <= 0.0 || w.z.is_nan() {
            return None;
        }
        let angles = vec2(libm::atan2f(w.x, w.z), libm::atan2f(w.y, w.z));
        let at = ((angles + FRAC_PI_2) / PI).clamp(Vec2::ZERO, Vec2::ONE);
        Some((at, area_per_sr(w)))
    }
}

/// Maps a position in the square of angles to a unit direction in the axes of the portal.
fn direction(at: Vec2) -> Vec3 {
    let angles = at * PI - FRAC_PI_2;
    // The products with both cosines avoid the infinite tangents at the edges.
    let [(sx, cx), (sy, cy)] = [angles.x, angles.y].map(|a| (libm::sinf(a), libm::cosf(a)));
    Vec3::new(sx * cy, sy * cx, cx * cy).normalize()
}

/// Returns the area of the square of angles per steradian at a unit direction.
fn area_per_sr(w: Vec3) -> f32 {
    w.z / (PI * PI * (1.0 - w.x * w.x) * (1.0 - w.y * w.y))
}

/// Returns the weights of a table's cells, and the mean radiance weighted by the cosine.
fn table(environment: &Environment, axes: &Mat3, size: usize) -> (Vec<f32>, Vec3) {
    let steps = size * SUBCELLS;
    // Luminance and solid angle of each cell.
    let mut cells = vec![(0.0f32, 0.0f32); size * size];
    let (mut sum, mut total, mut luminances) = (glam::DVec3::ZERO, 0.0f64, 0.0f64);
    for (j, i) in (0..steps).flat_map(|j| (0..steps).map(move |i| (j, i))) {
        let w = direction((vec2(i as f32, j as f32) + 0.5) / steps as f32);
        let solid_angle = 1.0 / area_per_sr(w);
        let radiance = environment.radiance(*axes * w);
        let weight = f64::from(solid_angle * w.z);
        sum += radiance.as_dvec3() * weight;
        total += weight;
        let luminance = abs_luminance(radiance) * solid_angle;
        luminances += f64::from(luminance);
        let cell = &mut cells[j / SUBCELLS * size + i / SUBCELLS];
        *cell = (cell.0 + luminance, cell.1 + solid_angle);
    }
    let solid_angles: f64 = cells.iter().map(|cell| f64::from(cell.1)).sum();
    let floor = DEFENSIVE_FRACTION * (luminances / solid_angles) as f32;
    let weights = cells.iter().map(|(luminance, solid_angle)| luminance + floor * solid_angle);
    (weights.collect(), (sum / total).as_vec3())
}

impl Light for PortalLight {
    fn sample_li(&self, p: Vec3, u: Vec2) -> Option<LightSample> {
        let (at, density) = self.table.sample(&self.window(p)?, u)?;
        let w = direction(at);
        let wi = self.axes * w;
        let (radiance, pdf) = (self.environment.radiance(wi), density * area_per_sr(w));
        (pdf > 0.0 && pdf.is_finite()).then_some(LightSample {
            wi,
            target: None,
            radiance,
            pdf,
            delta: false,
        })
    }

    fn power(&self, _scene_radius: f32) -> f32 {
        PI * self.area * abs_luminance(self.mean)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DAffine3;
    use lightbound_math::sampling::testing::points;
    use lightbound_math::sampling::warp::uniform_sphere;
    use lightbound_math::{Transform, vec3};

    /// A portal of 2 × 1 m above the origin, open upwards.
    fn corners() -> [Vec3; 4] {
        [vec3(-1.0, 0.0, 2.0), vec3(-1.0, 1.0, 2.0), vec3(1.0, 1.0, 2.0), vec3(1.0, 0.0, 2.0)]
    }

    /// Returns a light with bright, dark and black texels.
    fn light() -> PortalLight {
        let texels: Vec<Vec3> = (0..256)
            .map(|i| match i % 7 {
                0 => Vec3::ZERO,
                1 => vec3(20.0, 10.0, 5.0),
                _ => vec3(0.5, 1.0, 1.5),
            })
            .collect();
        let rotation = Transform::new(DAffine3::from_rotation_x(0.6)).unwrap();
        PortalLight::new(Environment::image(texels, 16, &rotation, 1.0).unwrap(), corners())
            .unwrap()
    }

    const POINTS: [Vec3; 3] = [vec3(0.0, 0.0, 0.0), vec3(0.3, 0.6, 1.8), vec3(-4.0, 2.0, 1.0)];

    /// Returns whether the ray passes the rectangle.
    fn passes(p: Vec3, wi: Vec3) -> bool {
        let at = p + wi * ((2.0 - p.z) / wi.z);
        wi.z > 0.0 && p.z < 2.0 && at.x.abs() <= 1.0 && (0.0..=1.0).contains(&at.y)
    }

    #[test]
    fn light_is_visible_through_the_portal_only() {
        let light = light();
        for p in POINTS {
            for u in points(20_000, 3) {
                let wi = uniform_sphere(u);
                let radiance = light.radiance(p, wi);
                let expected =
                    if passes(p, wi) { light.environment().radiance(wi) } else { Vec3::ZERO };
                let at = p + wi * ((2.0 - p.z) / wi.z);
                let is_at_edge = ((at.x.abs() - 1.0).abs() < 1e-3)
                    || at.y.abs() < 1e-3
                    || (at.y - 1.0).abs() < 1e-3;
                assert!(radiance == expected || is_at_edge, "{p} {wi}");
                assert!(radiance == Vec3::ZERO || light.pdf_li(p, wi) > 0.0, "{p} {wi}");
            }
        }
        // Outside, on the side of the environment, there is no light.
        assert!(light.sample_li(vec3(0.0, 0.0, 3.0), Vec2::splat(0.5)).is_none());
        assert_eq!(light.radiance(vec3(0.0, 0.0, 3.0), Vec3::Z), Vec3::ZERO);
    }

    #[test]
    fn samples_match_their_density_and_the_radiance() {
        let light = light();
        for p in POINTS {
            let (mut by_light, mut by_area, mut mass, n) = (0.0, 0.0, 0.0, 200_000);
            let mut mismatches = 0;
            for u in points(n, 5) {
                if let Some(s) = light.sample_li(p, u) {
                    let pdf = light.pdf_li(p, s.wi);
                    let agrees = (pdf / s.pdf - 1.0).abs() < 1e-3 && passes(p, s.wi);
                    mismatches += u32::from(!agrees);
                    by_light += f64::from(light.radiance(p, s.wi).y / s.pdf);
                }
                let to_portal = vec3(2.0 * u.x - 1.0, u.y, 2.0) - p;
                let wi = to_portal.normalize();
                let solid_angle = f64::from(wi.z * light.area() / to_portal.length_squared());
                by_area += f64::from(light.radiance(p, wi).y) * solid_angle;
                mass += f64::from(light.pdf_li(p, wi)) * solid_angle;
            }
            assert!(mismatches < n / 500, "{p}: {mismatches}");
            assert!((by_light / by_area - 1.0).abs() < 0.02, "{p}: {by_light} {by_area}");
            assert!((mass / f64::from(n) - 1.0).abs() < 0.03, "{p}: {}", mass / f64::from(n));
        }
    }

    #[test]
    fn mean_radiance_and_power_are_those_of_the_hemisphere() {
        let constant = Environment::constant(vec3(1.0, 2.0, 3.0));
        let light = PortalLight::new(constant, corners()).unwrap();
        assert!((light.mean_radiance() - vec3(1.0, 2.0, 3.0)).length() < 1e-3);
        let power = PI * 2.0 * abs_luminance(vec3(1.0, 2.0, 3.0));
        assert!((light.power(9.0) / power - 1.0).abs() < 1e-3);
    }

    #[test]
    fn skewed_and_degenerate_portals_are_errors() {
        let error = |corners| PortalLight::new(Environment::constant(Vec3::ONE), corners).err();
        let [a, b, c, d] = corners();
        assert_eq!(error([a, b, c + 0.5 * Vec3::X, d]), Some(LightError::Portal));
        assert_eq!(error([a, c, b, d]), Some(LightError::Portal));
        assert_eq!(error([a, a, d, d]), Some(LightError::Portal));
        assert_eq!(error([a, b + 0.5 * Vec3::X, c + 0.5 * Vec3::X, d]), Some(LightError::Portal));
        assert_eq!(error([a, b, c, d]), None);
    }
}
