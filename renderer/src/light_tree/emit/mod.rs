//! Lights become points (Walter et al. 2005 §3): a point or a spot is one, a distant light one direction; surfaces and skies are cut
//! into pieces, their strata, of which each becomes one point or direction in its middle, with all the light of the piece.
//!
//! How many: all surfaces together get about [`PointOptions::area_points`], in proportion to their power, but each at least one (8 where
//! they curve to all sides); all skies together [`PointOptions::sky_points`], likewise. What does not shine, or not in finite numbers,
//! gets none.

mod area;
mod sky;

use super::point::{Emission, LightPoint};
use crate::light::{AnyLight, Light, Lights};
use crate::math::{Vec2, Vec3};

pub(super) use sky::Block;

/// How many points lights become.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PointOptions {
    /// About so many for all surfaces together.
    pub area_points: u32,
    /// About so many directions for all skies together.
    pub sky_points: u32,
    /// Whether leaves stand for pieces with an extent, of which [`super::LightTree::draw`] draws places, rather than for points.
    pub extents: bool,
    /// Seed of the choice of representatives.
    pub seed: u32,
}

impl Default for PointOptions {
    fn default() -> PointOptions {
        PointOptions { area_points: 1024, sky_points: 1024, extents: false, seed: 0 }
    }
}

/// All points of the lights of a scene, and what it takes to draw places of their pieces.
#[derive(Clone, Debug, Default)]
pub(super) struct Points {
    pub(super) points: Vec<LightPoint>,
    pub(super) strata: Strata,
}

/// How lights were cut.
#[derive(Clone, Debug, Default)]
pub(super) struct Strata {
    /// For each light, how many pieces along the sides of its square; empty where no light is a surface.
    grids: Vec<[u16; 2]>,
    /// Pieces of all skies; a stratum is an index.
    blocks: Vec<Block>,
}

/// Cuts all lights into points.
pub(super) fn points(lights: &Lights, options: &PointOptions) -> Points {
    let all = lights.all();
    let (mut area, mut sky) = (0.0, 0.0);
    for light in all {
        let power = power(light);
        match light {
            AnyLight::Area(_) => area += power,
            AnyLight::Environment(_) => sky += power,
            _ => {}
        }
    }
    // At least one each, at most what indices of a grid hold.
    let share = |light: &AnyLight, total: f64, of: u32| (power(light) / total * f64::from(of)).clamp(1.0, 1e9) as u32;
    let mut out = Points::default();
    if all.iter().any(|l| matches!(l, AnyLight::Area(_))) {
        out.strata.grids = vec![[0; 2]; all.len()];
    }
    for (index, light) in all.iter().enumerate() {
        let id = index as u32;
        let first = out.points.len();
        match light {
            AnyLight::Point(l) => out.points.push(LightPoint {
                position: l.position(),
                axis: Vec3::ZERO,
                intensity: l.intensity(),
                emission: Emission::Omni,
                light: id,
                stratum: 0,
                offset: 0.0,
            }),
            AnyLight::Spot(l) => out.points.push(LightPoint {
                position: l.position(),
                axis: l.axis(),
                intensity: l.intensity(),
                emission: Emission::Spot(l.falloff()),
                light: id,
                stratum: 0,
                offset: 0.0,
            }),
            AnyLight::Distant(l) => out.points.push(LightPoint {
                position: l.wi(),
                axis: Vec3::ZERO,
                intensity: l.irradiance(),
                emission: Emission::Distant,
                light: id,
                stratum: 0,
                offset: 0.0,
            }),
            AnyLight::Area(l) if area > 0.0 => {
                out.strata.grids[index] =
                    area::cut(l, id, share(light, area, options.area_points), options.extents, &mut out.points);
            }
            AnyLight::Environment(l) if sky > 0.0 => {
                sky::cut(l, id, share(light, sky, options.sky_points), &mut out.points, &mut out.strata.blocks);
            }
            AnyLight::Area(_) | AnyLight::Environment(_) => {}
        }
        retain_from(&mut out.points, first, shines);
    }
    out
}

/// As [`Light::power`] in a scene of radius 1; 0 where it is not a finite number.
fn power(light: &AnyLight) -> f64 {
    let power = f64::from(light.power(1.0));
    if power.is_finite() { power.max(0.0) } else { 0.0 }
}

/// Whether light comes from a point, in finite numbers.
fn shines(p: &LightPoint) -> bool {
    p.position.is_finite() && p.axis.is_finite() && p.intensity.is_finite() && p.intensity != Vec3::ZERO
}

/// [`Vec::retain`] on the part from `first`.
fn retain_from(points: &mut Vec<LightPoint>, first: usize, keep: impl Fn(&LightPoint) -> bool) {
    let mut end = first;
    for i in first..points.len() {
        if keep(&points[i]) {
            points.swap(end, i);
            end += 1;
        }
    }
    points.truncate(end);
}

impl Strata {
    /// A place of the piece that `leaf` stands for, uniform for uniform `u`, with an intensity that makes the mean of many draws the light
    /// of the piece itself; 0 where the place does not shine.
    pub(super) fn draw(&self, lights: &Lights, leaf: &LightPoint, u: Vec2) -> LightPoint {
        match &lights.all()[leaf.light as usize] {
            AnyLight::Area(l) => area::draw(l, self.grids[leaf.light as usize], leaf, u),
            AnyLight::Environment(l) => sky::draw(l, &self.blocks[leaf.stratum as usize], leaf, u),
            AnyLight::Point(_) | AnyLight::Spot(_) | AnyLight::Distant(_) => *leaf,
        }
    }

    /// Bytes on the heap.
    pub(super) fn bytes(&self) -> usize {
        self.grids.capacity() * size_of::<[u16; 2]>() + self.blocks.capacity() * size_of::<Block>()
    }
}
