//! Discretisation of area lights into oriented points. The unit square, which maps to the surface,
//! is divided into a grid, with one point at the centre of each cell.
//!
//! The intensity along the normal is the radiance times the cell's area. So a point with cosine
//! emission illuminates distant receivers like its cell. Two-sided cells have two points with
//! opposite axes. A full sphere that emits outwards and gets few points becomes one omni point at
//! its centre, with an intensity of π r² times its radiance. This point illuminates diffuse
//! surfaces exactly as the sphere does.

use super::super::point::{Emission, LightPoint};
use super::{Extent, Points};
use crate::light::{AreaLight, EmitterPoint};
use lightbound_math::{Cone, Vec2, vec2};
use std::f32::consts::PI;

/// Minimum number of points on a [curved](AreaLight::is_curved) surface.
const CURVED_POINTS: u32 = 8;

/// Adds about `count` points of a light, at least one for each emitting side. `template` provides
/// the fields that they share.
///
/// With extents, spheres are not replaced by an omni point, so that positions on the surface can be
/// sampled. Intensities then are those of the maximum radiance without alpha masks, since a cell may
/// emit although its centre does not; images and masks are applied to sampled positions only.
pub(super) fn subdivide(light: &AreaLight, template: &LightPoint, count: u32, out: &mut Points) {
    let has_extents = out.extents.is_some();
    if let Some((center, radius)) =
        light.as_full_sphere().filter(|_| count < CURVED_POINTS && !has_extents)
    {
        let (intensity, offset) =
            (light.max_radiance() * (PI * radius * radius), radius + 2.0 * light.offset());
        out.push(LightPoint { position: center, intensity, offset, ..*template }, Extent::of);
        return;
    }
    let sides = if light.is_two_sided() { 2 } else { 1 };
    let grid = grid(count / sides, light.is_curved());
    out.strata.grids[template.light as usize] = grid;
    for cell in 0..u32::from(grid[0]) * u32::from(grid[1]) {
        let (lo, hi) = corners(grid, cell);
        let mut surface = light.center_point(lo, hi);
        if has_extents {
            surface.radiance = light.max_radiance();
        }
        for stratum in [2 * cell, 2 * cell + 1].into_iter().take(sides as usize) {
            out.push(point(light, grid, &surface, template.light, stratum), |_| {
                let (bounds, cone) = light.extent(lo, hi);
                Extent {
                    bounds,
                    cone: if is_front(stratum) { cone } else { Cone { axis: -cone.axis, ..cone } },
                }
            });
        }
    }
}

/// Adds an entire light as one point at the centre of its surface, or as two points if it is flat
/// and two-sided. A curved light becomes an omni point with its mean intensity over all directions.
pub(super) fn add_entire(light: &AreaLight, template: &LightPoint, out: &mut Points) {
    let sides: u8 = if light.is_two_sided() { 2 } else { 1 };
    let surface = light.center_point(Vec2::ZERO, Vec2::ONE);
    let (bounds, cone) = light.extent(Vec2::ZERO, Vec2::ONE);
    if light.is_curved() {
        // The mean projected area of a convex surface is a quarter of its area (Cauchy).
        let intensity = light.mean_radiance() * (0.25 * f32::from(sides) * surface.jacobian);
        let point = LightPoint { position: bounds.center(), intensity, ..*template };
        return out.push(point, |_| Extent { bounds, cone: Cone::SPHERE });
    }
    let surface = EmitterPoint { radiance: light.mean_radiance(), ..surface };
    for stratum in 0..u32::from(sides) {
        let cone = if is_front(stratum) { cone } else { Cone { axis: -cone.axis, ..cone } };
        out.push(point(light, [1, 1], &surface, template.light, stratum), |_| Extent {
            bounds,
            cone,
        });
    }
}

/// Samples a position in the cell of `leaf`, for `u` in [0, 1)².
pub(super) fn sample(light: &AreaLight, grid: [u16; 2], leaf: &LightPoint, u: Vec2) -> LightPoint {
    // An omni point represents a sphere.
    if leaf.emission == Emission::Omni {
        return *leaf;
    }
    let (lo, hi) = corners(grid, leaf.stratum / 2);
    point(light, grid, &light.point(lo + u * (hi - lo)), leaf.light, leaf.stratum)
}

/// Returns the columns and rows of the most square grid of at most `n` cells, at least one.
/// Curved surfaces get about twice as many columns as rows.
fn grid(n: u32, curved: bool) -> [u16; 2] {
    let n = if curved { n.max(CURVED_POINTS) } else { n };
    let columns = if curved { (2 * u64::from(n)).isqrt() as u32 } else { n.isqrt() }
        .clamp(1, u16::MAX.into());
    [columns as u16, (n / columns).clamp(1, u16::MAX.into()) as u16]
}

/// Returns the corners of a cell.
fn corners([columns, rows]: [u16; 2], cell: u32) -> (Vec2, Vec2) {
    let (x, y) = (cell % u32::from(columns), cell / u32::from(columns));
    let at = |x: u32, y: u32| vec2(x as f32 / f32::from(columns), y as f32 / f32::from(rows));
    (at(x, y), at(x + 1, y + 1))
}

/// Returns whether a stratum is on the front. A stratum is 2 · cell, plus 1 for the back.
pub(in super::super) fn is_front(stratum: u32) -> bool {
    stratum.is_multiple_of(2)
}

/// Creates the point of a cell from a surface point in it.
fn point(
    light: &AreaLight,
    [columns, rows]: [u16; 2],
    surface: &EmitterPoint,
    id: u32,
    stratum: u32,
) -> LightPoint {
    let area = surface.jacobian / (f32::from(columns) * f32::from(rows));
    LightPoint {
        position: surface.p,
        axis: if is_front(stratum) { surface.n } else { -surface.n },
        intensity: surface.radiance * area,
        emission: Emission::Cosine,
        light: id,
        stratum,
        offset: light.offset(),
    }
}
