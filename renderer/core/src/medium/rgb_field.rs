//! Coefficients in RGB that vary in space: pbrt-v4's `rgbgrid`.
//!
//! A scalar density bounds all channels, in units of the largest extinction of each channel.

use super::grid::RangedGrid;
use super::range_tree;
use super::{Field, Grid, MediumPoint};
use lightbound_math::{Aabb, Vec3};

/// A field of coefficients.
#[derive(Clone, Debug)]
pub struct RgbField {
    extinction: RangedGrid<Vec3>,
    /// Largest extinction of each channel.
    max: Vec3,
    scattering: Grid<Vec3>,
    emission: Option<Grid<Vec3>>,
}

impl RgbField {
    /// Creates a field of extinction and scattering coefficients (1/m) and emitted radiance over
    /// the same box.
    pub fn new(
        extinction: Grid<Vec3>,
        scattering: Grid<Vec3>,
        emission: Option<Grid<Vec3>>,
    ) -> RgbField {
        let max = extinction.values().iter().fold(extinction.outside(), |max, &x| max.max(x));
        let extinction = RangedGrid::new(extinction, density_range, max);
        RgbField { extinction, max, scattering, emission }
    }
}

/// Returns the least and greatest density of an extinction: `max` times them, rounded, bounds it.
fn density_range(extinction: Vec3, max: Vec3) -> [f32; 2] {
    let channels = std::iter::zip(extinction.to_array(), max.to_array());
    channels.filter(|&(_, max)| max > 0.0).fold(range_tree::EMPTY, |range, (x, max)| {
        if x == 0.0 {
            return range_tree::union(range, [0.0; 2]);
        }
        let density = x / max;
        // One step makes up for the rounding of the quotient.
        range_tree::union(range, [density.next_down().max(0.0), density.next_up()])
    })
}

impl Field for RgbField {
    fn kind(&self) -> &'static str {
        "colour grid"
    }

    fn bounds(&self) -> Option<Aabb> {
        Some(self.extinction.grid.bounds())
    }

    fn emits(&self) -> bool {
        self.emission.is_some()
    }

    fn extinction(&self) -> Vec3 {
        self.max
    }

    fn density_bounds(&self, boxes: &[Aabb], out: &mut Vec<[f32; 2]>) {
        let range = |&b: &Aabb| match self.extinction.range(b) {
            // No channel has an extinction.
            range if range == range_tree::EMPTY => [0.0; 2],
            range => range,
        };
        out.clear();
        out.extend(boxes.iter().map(range));
    }

    fn evaluate(&self, points: &[Vec3], out: &mut Vec<MediumPoint>) {
        out.clear();
        out.extend(points.iter().map(|&p| {
            let extinction = self.extinction.grid.value(p);
            let scattering = self.scattering.value(p).min(extinction);
            let albedo = scattering / extinction.max(Vec3::splat(f32::MIN_POSITIVE));
            let emission = match &self.emission {
                Some(radiance) => (extinction - scattering) * radiance.value(p),
                None => Vec3::ZERO,
            };
            MediumPoint { extinction, albedo, emission }
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lightbound_math::vec3;
    use proptest::prelude::*;

    const BOX: Aabb = Aabb { min: vec3(-1.0, 0.0, 2.0), max: vec3(3.0, 1.0, 2.5) };

    fn grid(resolution: [usize; 3], outside: Vec3, f: impl Fn(usize) -> Vec3) -> Grid<Vec3> {
        let count = resolution.iter().product();
        Grid::new(BOX, resolution, (0..count).map(f).collect(), outside)
    }

    #[test]
    fn properties_are_those_of_the_grids() {
        let (extinction, scattering) = (vec3(4.0, 2.0, 0.0), vec3(1.0, 2.0, 0.0));
        let field = RgbField::new(
            grid([1; 3], Vec3::ZERO, |_| extinction),
            grid([1; 3], Vec3::ZERO, |_| scattering),
            Some(grid([1; 3], Vec3::ZERO, |_| vec3(0.5, 7.0, 9.0))),
        );
        let mut out = Vec::new();
        field.evaluate(&[BOX.center()], &mut out);
        let albedo = vec3(0.25, 1.0, 0.0);
        let emission = vec3(1.5, 0.0, 0.0);
        assert_eq!(out, [MediumPoint { extinction, albedo, emission }]);
        let dark = grid([1; 3], Vec3::ZERO, |_| Vec3::ZERO);
        let dark = RgbField::new(dark.clone(), dark, None);
        let mut bounds = Vec::new();
        dark.density_bounds(&[BOX], &mut bounds);
        assert_eq!(bounds, [[0.0; 2]]);
    }

    proptest! {
        #[test]
        fn bounds_contain_all_channels(
            resolution in prop::array::uniform3(1usize..6),
            corners in prop::array::uniform3((0.0f32..=1.0, 0.0f32..=1.0)),
            points in prop::collection::vec(prop::array::uniform3(0.0f32..=1.0), 20),
            exponent in -38i32..20,
            outside in 0.0f32..1.0,
        ) {
            let scale = 10f32.powi(exponent);
            let channel = |i: usize, seed: u32| {
                (((i as u32) ^ seed).wrapping_mul(0x9e37_79b9) >> 8) as f32 * scale
            };
            let value = |i: usize| vec3(channel(i, 1), 0.01 * channel(i, 77), 0.0);
            let grid = grid(resolution, Vec3::splat(outside * scale), value);
            let field = RgbField::new(grid.clone(), grid, None);
            let corner = |pick: fn(f32, f32) -> f32| {
                let unit = Vec3::from_array(corners.map(|(a, b)| pick(a, b)));
                (BOX.min + (BOX.max - BOX.min) * unit).clamp(BOX.min, BOX.max)
            };
            let b = Aabb { min: corner(f32::min), max: corner(f32::max) };
            let (mut bounds, mut out) = (Vec::new(), Vec::new());
            field.density_bounds(&[b], &mut bounds);
            let [low, high] = bounds[0];
            for unit in points {
                let p = (b.min + (b.max - b.min) * Vec3::from_array(unit)).clamp(b.min, b.max);
                field.evaluate(&[p], &mut out);
                let extinction = out[0].extinction;
                prop_assert!(extinction.cmpge(low * field.extinction()).all(), "{extinction} {low}");
                prop_assert!(extinction.cmple(high * field.extinction()).all(), "{extinction} {high}");
            }
        }
    }
}
