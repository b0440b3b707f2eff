//! Lights become points (Walter et al. 2005 §3): a point or a spot is one, a distant light one direction; surfaces and skies are cut
//! into pieces, their strata, of which each becomes one point or direction in its middle, with all the light of the piece.
//!
//! How many: all surfaces together get about [`PointOptions::area_points`], in proportion to their power, but each at least one (8 where
//! they curve to all sides); all skies together [`PointOptions::sky_points`], likewise. What does not shine, or not in finite numbers,
//! gets none.

mod area;
mod sky;

use super::point::{Emission, Kind, LightPoint};
use crate::light::{AnyLight, Light, Lights};
use crate::math::{Aabb, Cone, Vec2, Vec3};

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
    /// Of the piece that each point stands for; `None` where points are just that.
    pub(super) extents: Option<Vec<Extent>>,
    pub(super) strata: Strata,
}

/// Where the places of a piece are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Extent {
    /// Of positions; of unit directions for directional lights.
    pub(super) bounds: Aabb,
    /// Of axes, or directions.
    pub(super) cone: Cone,
}

impl Extent {
    /// Of a single point.
    pub(super) fn of(p: &LightPoint) -> Extent {
        let axis = if p.kind() == Kind::Directional { p.position } else { p.axis };
        Extent { bounds: Aabb { min: p.position, max: p.position }, cone: Cone::ray(axis) }
    }
}

impl Points {
    /// Adds a point, if it shines, in finite numbers.
    fn push(&mut self, point: LightPoint, extent: impl FnOnce(&LightPoint) -> Extent) {
        let finite = point.position.is_finite() && point.axis.is_finite() && point.intensity.is_finite();
        if !finite || point.intensity == Vec3::ZERO {
            return;
        }
        if let Some(extents) = &mut self.extents {
            extents.push(extent(&point));
        }
        self.points.push(point);
    }
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
    let mut out = Points { extents: options.extents.then(Vec::new), ..Points::default() };
    if all.iter().any(|l| matches!(l, AnyLight::Area(_))) {
        out.strata.grids = vec![[0; 2]; all.len()];
    }
    for (index, light) in all.iter().enumerate() {
        let plain = LightPoint {
            position: Vec3::ZERO,
            axis: Vec3::ZERO,
            intensity: Vec3::ZERO,
            emission: Emission::Omni,
            light: index as u32,
            stratum: 0,
            offset: 0.0,
        };
        match light {
            AnyLight::Point(l) => {
                out.push(LightPoint { position: l.position(), intensity: l.intensity(), ..plain }, Extent::of);
            }
            AnyLight::Spot(l) => {
                let (position, axis, emission) = (l.position(), l.axis(), Emission::Spot(l.falloff()));
                out.push(LightPoint { position, axis, intensity: l.intensity(), emission, ..plain }, Extent::of);
            }
            AnyLight::Distant(l) => {
                let point = LightPoint { position: l.wi(), intensity: l.irradiance(), emission: Emission::Distant, ..plain };
                out.push(point, Extent::of);
            }
            AnyLight::Area(l) if area > 0.0 => area::cut(l, &plain, share(light, area, options.area_points), &mut out),
            AnyLight::Environment(l) if sky > 0.0 => sky::cut(l, &plain, share(light, sky, options.sky_points), &mut out),
            AnyLight::Area(_) | AnyLight::Environment(_) => {}
        }
    }
    out
}

/// As [`Light::power`] in a scene of radius 1; 0 where it is not a finite number.
fn power(light: &AnyLight) -> f64 {
    let power = f64::from(light.power(1.0));
    if power.is_finite() { power.max(0.0) } else { 0.0 }
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
