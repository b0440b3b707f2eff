//! Surfaces become oriented points: a grid over the unit square that is mapped to the surface, one
//! point in the middle of each cell.
//!
//! The intensity along the normal is radiance times the cell's area, so that by the cosine and 1/d²
//! each point lights as its cell does from afar. Two sides are two points, back to back. A whole
//! ball that shines outwards and gets few points is one omni point of π r² times its radiance in
//! its centre, which lights diffuse surfaces exactly as the ball does.

use super::super::point::{Emission, LightPoint};
use super::{Extent, Points};
use crate::light::{AreaLight, Place};
use crate::math::{Cone, Vec2, vec2};
use std::f32::consts::PI;

/// Points that a surface needs which curves to all sides, so that each side has some.
const CURVED_POINTS: u32 = 8;

/// Adds about `wanted` points of a light, at least one for each side that shines. `plain` has what
/// they have in common.
///
/// Where points have extents, no ball is one omni point, so that places may be drawn of its
/// surface; and masks do not count before places are drawn, since a piece may shine where its
/// middle does not.
pub(super) fn cut(light: &AreaLight, plain: &LightPoint, wanted: u32, out: &mut Points) {
    let extents = out.extents.is_some();
    if let Some((center, radius)) = light.as_ball().filter(|_| wanted < CURVED_POINTS && !extents) {
        let (intensity, offset) =
            (light.le() * (PI * radius * radius), radius + 2.0 * light.offset());
        out.push(LightPoint { position: center, intensity, offset, ..*plain }, Extent::of);
        return;
    }
    let sides = if light.is_two_sided() { 2 } else { 1 };
    let grid = grid(wanted / sides, light.is_curved());
    out.strata.grids[plain.light as usize] = grid;
    for cell in 0..u32::from(grid[0]) * u32::from(grid[1]) {
        let (lo, hi) = corners(grid, cell);
        let mut place = light.middle(lo, hi);
        if extents {
            place.radiance = light.le();
        }
        for stratum in [2 * cell, 2 * cell + 1].into_iter().take(sides as usize) {
            out.push(point(light, grid, &place, plain.light, stratum), |_| {
                let (bounds, cone) = light.extent(lo, hi);
                Extent {
                    bounds,
                    cone: if is_front(stratum) { cone } else { Cone { axis: -cone.axis, ..cone } },
                }
            });
        }
    }
}

/// Adds a light as one point in the middle of its surface, or one for each side where it is flat
/// and both shine: an omni point where it is curved, with the light that it sends to all sides on
/// average.
pub(super) fn whole(light: &AreaLight, plain: &LightPoint, out: &mut Points) {
    let sides: u8 = if light.is_two_sided() { 2 } else { 1 };
    let place = light.middle(Vec2::ZERO, Vec2::ONE);
    let (bounds, cone) = light.extent(Vec2::ZERO, Vec2::ONE);
    if light.is_curved() {
        // The projected area of a convex surface is a quarter of it, on average.
        let intensity = light.le() * (0.25 * f32::from(sides) * place.stretch);
        let point = LightPoint { position: bounds.center(), intensity, ..*plain };
        return out.push(point, |_| Extent { bounds, cone: Cone::SPHERE });
    }
    let place = Place { radiance: light.le(), ..place };
    for stratum in 0..u32::from(sides) {
        let cone = if is_front(stratum) { cone } else { Cone { axis: -cone.axis, ..cone } };
        out.push(point(light, [1, 1], &place, plain.light, stratum), |_| Extent { bounds, cone });
    }
}

/// A place of the cell of `leaf`, for `u` in the unit square.
pub(super) fn draw(light: &AreaLight, grid: [u16; 2], leaf: &LightPoint, u: Vec2) -> LightPoint {
    // A ball that is one point.
    if leaf.emission == Emission::Omni {
        return *leaf;
    }
    let (lo, hi) = corners(grid, leaf.stratum / 2);
    point(light, grid, &light.place(lo + u * (hi - lo)), leaf.light, leaf.stratum)
}

/// The most even grid of at most `n` cells, at least one; for surfaces that are curved to all
/// sides, twice as many around as along.
fn grid(n: u32, curved: bool) -> [u16; 2] {
    let n = if curved { n.max(CURVED_POINTS) } else { n };
    let columns = if curved { (2 * u64::from(n)).isqrt() as u32 } else { n.isqrt() }
        .clamp(1, u16::MAX.into());
    [columns as u16, (n / columns).clamp(1, u16::MAX.into()) as u16]
}

/// The corners of a cell.
fn corners([columns, rows]: [u16; 2], cell: u32) -> (Vec2, Vec2) {
    let (x, y) = (cell % u32::from(columns), cell / u32::from(columns));
    let at = |x: u32, y: u32| vec2(x as f32 / f32::from(columns), y as f32 / f32::from(rows));
    (at(x, y), at(x + 1, y + 1))
}

/// Strata are twice the cell, and one more for the back.
pub(in super::super) fn is_front(stratum: u32) -> bool {
    stratum.is_multiple_of(2)
}

/// The point that a cell is, from one place of it.
fn point(
    light: &AreaLight,
    [columns, rows]: [u16; 2],
    place: &Place,
    id: u32,
    stratum: u32,
) -> LightPoint {
    let area = place.stretch / (f32::from(columns) * f32::from(rows));
    LightPoint {
        position: place.p,
        axis: if is_front(stratum) { place.n } else { -place.n },
        intensity: place.radiance * area,
        emission: Emission::Cosine,
        light: id,
        stratum,
        offset: light.offset(),
    }
}
