//! Surfaces become oriented points: a grid over the unit square that is mapped to the surface, one point in the middle of each cell.
//!
//! The intensity along the normal is radiance times the cell's area, so that by the cosine and 1/d² each point lights as its cell
//! does from afar. Two sides are two points, back to back. A whole ball that shines outwards and gets few points is one omni point of
//! π r² times its radiance in its centre, which lights diffuse surfaces exactly as the ball does.

use super::super::point::{Emission, LightPoint};
use crate::light::{AreaLight, Place};
use crate::math::{Vec2, Vec3, vec2};
use std::f32::consts::PI;

/// Points that a surface needs which curves to all sides, so that each side has some.
const CURVED_POINTS: u32 = 8;

/// The grid of a ball that is one omni point.
const BALL: [u16; 2] = [0, 0];

/// Adds about `wanted` points of a light, twice as many where two sides shine, and gives the grid; places do not stand for balls where
/// there are `extents`, so that draws are of the surface.
pub(super) fn cut(light: &AreaLight, id: u32, wanted: u32, extents: bool, points: &mut Vec<LightPoint>) -> [u16; 2] {
    if let Some((center, radius)) = light.as_ball().filter(|_| wanted < CURVED_POINTS && !extents) {
        points.push(LightPoint {
            position: center,
            axis: Vec3::ZERO,
            intensity: light.le() * (PI * radius * radius),
            emission: Emission::Omni,
            light: id,
            stratum: 0,
            offset: radius + 2.0 * light.offset(),
        });
        return BALL;
    }
    let grid = grid(if light.is_curved() { wanted.max(CURVED_POINTS) } else { wanted });
    for cell in 0..u32::from(grid[0]) * u32::from(grid[1]) {
        let (lo, hi) = corners(grid, cell);
        let place = light.middle(lo, hi);
        points.push(point(light, grid, &place, id, 2 * cell));
        if light.is_two_sided() {
            points.push(point(light, grid, &place, id, 2 * cell + 1));
        }
    }
    grid
}

/// A place of the cell of `leaf`, for `u` in the unit square.
pub(super) fn draw(light: &AreaLight, grid: [u16; 2], leaf: &LightPoint, u: Vec2) -> LightPoint {
    if grid == BALL {
        return *leaf;
    }
    let (lo, hi) = corners(grid, leaf.stratum / 2);
    point(light, grid, &light.place(lo + u * (hi - lo)), leaf.light, leaf.stratum)
}

/// The most even grid of at most `n` cells, a row longer than a column.
fn grid(n: u32) -> [u16; 2] {
    let columns = n.isqrt().clamp(1, u16::MAX.into());
    [columns as u16, (n / columns).clamp(1, u16::MAX.into()) as u16]
}

/// The corners of a cell.
fn corners([columns, rows]: [u16; 2], cell: u32) -> (Vec2, Vec2) {
    let (x, y) = (cell % u32::from(columns), cell / u32::from(columns));
    let at = |x: u32, y: u32| vec2(x as f32 / f32::from(columns), y as f32 / f32::from(rows));
    (at(x, y), at(x + 1, y + 1))
}

/// The point that a cell is, from one place of it; odd strata are of the back.
fn point(light: &AreaLight, [columns, rows]: [u16; 2], place: &Place, id: u32, stratum: u32) -> LightPoint {
    let area = place.stretch / (f32::from(columns) * f32::from(rows));
    LightPoint {
        position: place.p,
        axis: if stratum.is_multiple_of(2) { place.n } else { -place.n },
        intensity: place.radiance * area,
        emission: Emission::Cosine,
        light: id,
        stratum,
        offset: light.offset(),
    }
}
