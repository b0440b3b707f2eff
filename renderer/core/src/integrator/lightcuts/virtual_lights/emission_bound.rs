//! Upper bounds on the emission of virtual lights, by branch and bound.
//!
//! A bound is a colour times a profile, which follows the cosine to the normal. Directions are divided
//! into cells, for which the bounding shader bounds s. The cell that determines the bound is split until
//! the bound is near a value of s. Boxes of large cells contain points far from the sphere, where
//! denominators such as those of microfacet models vanish.

use super::{COSINE_SLACK, EMISSION_SLACK};
use crate::integrator::material_bound::BoundEvaluator;
use crate::integrator::shading::eta_ratio;
use crate::light_tree::{COSINE_STEP, EmittingSide};
use lightbound_math::direction_box::LANES;
use lightbound_math::{DirectionBoxes, Vec3, vec2, vec3};
use std::f32::consts::FRAC_PI_2;
use std::iter::zip;

/// Greatest number of cells that are split.
const MAX_SPLITS: usize = 32;

/// The search ends once the bound is below this multiple of a value that is attained.
const MAX_GAP: f32 = 1.25;

/// Slack for the squared lengths of directions in rounded frames. Near the poles, radii differ by far
/// more than cosines.
const LENGTH_SLACK: f32 = 64.0 * f32::EPSILON;

/// What the emission of a light depends on, but the material.
pub(super) struct Emitter {
    /// Direction from which the power arrives, in the frame of the light.
    pub wo: Vec3,
    pub side: EmittingSide,
    /// Greatest factor of shading normals.
    pub max_correction: f32,
    /// Relative index of refraction.
    pub eta: f32,
}

/// A cell of directions, between two cosines and two azimuths.
#[derive(Clone, Copy)]
struct Cell {
    z: [f32; 2],
    /// Azimuths in quarters of a turn. No cell extends over several quarters.
    azimuth: [f32; 2],
    /// Bounds on x, y and z.
    range: [[f32; 2]; 3],
    /// Bound on s relative to the profile.
    bound: Vec3,
}

impl Emitter {
    /// Returns an upper bound on s divided by min(cosine + [`COSINE_STEP`], 1), including corrections
    /// for shading normals and refraction; on s for shaders of both sides. `material` has the shading
    /// point.
    pub fn bound(&self, material: &mut BoundEvaluator<'_>) -> Vec3 {
        let z = if self.side == EmittingSide::Both { [-1.0, 1.0] } else { [0.0, 1.0] };
        let mut cells = Vec::with_capacity(4 * LANES + MAX_SPLITS * (LANES - 1));
        let mut attained = 0f32;
        for quarter in 0..4 {
            let azimuth = [quarter, quarter + 1].map(|quarter| quarter as f32);
            let split = Cell::new(z, azimuth).split(LANES);
            attained = attained.max(self.add(split, material, &mut cells));
        }
        for _ in 0..MAX_SPLITS {
            let greatest = |cell: &Cell| cell.bound.max_element();
            let loosest = (0..cells.len())
                .max_by(|&a, &b| greatest(&cells[a]).total_cmp(&greatest(&cells[b])));
            let loosest = loosest.expect("there are cells");
            if greatest(&cells[loosest]) <= MAX_GAP * attained {
                break;
            }
            let cell = cells.swap_remove(loosest);
            attained = attained.max(self.add(cell.split(cell.bands()), material, &mut cells));
        }
        cells.iter().map(|cell| cell.bound).fold(Vec3::ZERO, Vec3::max) * EMISSION_SLACK
    }

    /// Bounds s for cells, and adds these. Returns the greatest value in their middles.
    fn add(
        &self,
        split: [Cell; LANES],
        material: &mut BoundEvaluator<'_>,
        cells: &mut Vec<Cell>,
    ) -> f32 {
        let mut boxes = DirectionBoxes::ALL;
        for (lane, cell) in split.iter().enumerate() {
            for (axis, [lo, hi]) in cell.range.into_iter().enumerate() {
                (boxes.lo[axis][lane], boxes.hi[axis][lane]) = (lo, hi);
            }
        }
        let (bounds, centers) = (material.bound(&boxes), split.map(|cell| cell.center()));
        let mut attained = 0f32;
        for (lane, (cell, s)) in zip(split, material.evaluate(&centers)).enumerate() {
            let bound = Vec3::from_array(bounds.map(|lanes| lanes[lane]));
            let correction = self.correction(&cell);
            cells.push(Cell {
                bound: bound * (correction / self.profile(cell.min_cosine())),
                ..cell
            });
            let cosine = centers[lane].z.abs();
            attained = attained.max(s.max_element() * (correction / self.profile(cosine)));
        }
        attained
    }

    /// Returns the greatest correction of s over a cell, for shading normals and refraction.
    fn correction(&self, cell: &Cell) -> f32 {
        let of_normals = self.max_correction.min((1.0 / cell.min_cosine()).max(1.0));
        // Directions without a side have either factor.
        let eta = cell.z.map(|z| eta_ratio(self.eta, vec3(0.0, 0.0, z), self.wo));
        let eta = eta[0].max(eta[1]);
        of_normals * eta * eta
    }

    /// Returns the value of the profile at the magnitude of a cosine.
    fn profile(&self, cosine: f32) -> f32 {
        match self.side {
            EmittingSide::Both => 1.0,
            EmittingSide::Front | EmittingSide::Back => (cosine + COSINE_STEP).min(1.0),
        }
    }
}

impl Cell {
    fn new(z: [f32; 2], azimuth: [f32; 2]) -> Cell {
        let near = if z[0] < 0.0 && z[1] > 0.0 { 0.0 } else { z[0].abs().min(z[1].abs()) };
        let far = z[0].abs().max(z[1].abs());
        let squared = |z: f32| (1.0 - z) * (1.0 + z);
        let min_radius = (squared(far) - LENGTH_SLACK).max(0.0).sqrt();
        let max_radius = (squared(near) + LENGTH_SLACK).sqrt();
        // Sine and cosine are monotone within a quarter.
        let ends = azimuth.map(|quarters| libm::sincosf(quarters * FRAC_PI_2));
        let range = |[a, b]: [f32; 2]| {
            let products = [a * min_radius, a * max_radius, b * min_radius, b * max_radius];
            let [min, max] = [
                products.into_iter().fold(f32::INFINITY, f32::min),
                products.into_iter().fold(f32::NEG_INFINITY, f32::max),
            ];
            // Components may be off by some roundings.
            [(min - COSINE_SLACK).max(-1.0), (max + COSINE_SLACK).min(1.0)]
        };
        // The side of a direction is known.
        let slack = |z: f32| if z == 0.0 { 0.0 } else { COSINE_SLACK };
        let z_range = [(z[0] - slack(z[0])).max(-1.0), (z[1] + slack(z[1])).min(1.0)];
        let range = [range(ends.map(|(_, cos)| cos)), range(ends.map(|(sin, _)| sin)), z_range];
        Cell { z, azimuth, range, bound: Vec3::ZERO }
    }

    /// Divides the cell into `bands` equal intervals of the cosine, a divisor of 8, and the remaining
    /// number of intervals of the azimuth.
    fn split(&self, bands: usize) -> [Cell; LANES] {
        let sectors = LANES / bands;
        let part = |[from, to]: [f32; 2], index: usize, count: usize| {
            [index, index + 1].map(|k| from + (to - from) * (k as f32 / count as f32))
        };
        std::array::from_fn(|k| {
            Cell::new(part(self.z, k % bands, bands), part(self.azimuth, k / bands, sectors))
        })
    }

    /// Returns the number of intervals of the cosine into which to divide the cell, so that the parts
    /// have about the same size in both directions.
    fn bands(&self) -> usize {
        let radii = self.z.map(radius);
        let height = vec2(self.z[1] - self.z[0], radii[1] - radii[0]).length();
        let width = radii[0].max(radii[1]) * FRAC_PI_2 * (self.azimuth[1] - self.azimuth[0]);
        let size = |bands: &usize| {
            let bands = *bands as f32;
            (height / bands).max(width * bands / LANES as f32)
        };
        let best = [1, 2, 4, 8].into_iter().min_by(|a, b| size(a).total_cmp(&size(b)));
        best.expect("there are candidates")
    }

    /// Returns the direction in the middle.
    fn center(&self) -> Vec3 {
        let z = 0.5 * (self.z[0] + self.z[1]);
        let azimuth = 0.5 * (self.azimuth[0] + self.azimuth[1]) * FRAC_PI_2;
        let (sin, cos) = libm::sincosf(azimuth);
        vec3(radius(z) * cos, radius(z) * sin, z)
    }

    /// Returns the least magnitude of the cosine to the normal.
    fn min_cosine(&self) -> f32 {
        if self.z[0] < 0.0 && self.z[1] > 0.0 { 0.0 } else { self.z[0].abs().min(self.z[1].abs()) }
    }
}

/// Returns the radius of the circle of directions at a cosine.
fn radius(z: f32) -> f32 {
    ((1.0 - z) * (1.0 + z)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::Floor;
    use super::*;
    use crate::light_tree::PointOptions;
    use lightbound_math::sampling::testing::points;
    use lightbound_math::sampling::warp::uniform_sphere;

    /// Trowbridge–Reitz reflection without Fresnel reflectance.
    fn ggx(alpha: f32) -> String {
        let alpha2 = alpha * alpha;
        format!(
            "select(0.0, {alpha2} / (3.14159 * pow({alpha2} * pow(normalize(wi + wo).z, 2.0) \
             + 1.0 - pow(normalize(wi + wo).z, 2.0), 2.0) \
             * 2.0 * (wo.z * sqrt({alpha2} * (1.0 - wi.z * wi.z) + wi.z * wi.z) \
             + wi.z * sqrt({alpha2} * (1.0 - wo.z * wo.z) + wo.z * wo.z))), \
             min(wi.z, wo.z) > 1e-6)"
        )
    }

    /// Calls `f` with the bound of a material for light from `wo`, and s for many directions.
    fn with_bound(brdf: &str, wo: Vec3, f: impl FnOnce(f32, &[(Vec3, f32)])) {
        let floor = Floor::with_brdf(&[(Vec3::Z, 1.0)], &PointOptions::default(), brdf);
        let bounds = floor.cluster_bounds();
        let mut lighting = floor.lighting(&bounds);
        let wo = wo.normalize();
        floor.shade_at(&mut lighting, Vec3::ZERO, wo, |lighting, _| {
            let emitter = Emitter { wo, side: EmittingSide::Front, max_correction: 1.0, eta: 1.0 };
            let bound = emitter.bound(&mut lighting.material);
            let directions = points(1 << 15, 7).map(uniform_sphere);
            let directions = Vec::from_iter(directions.map(|d| d.with_z(d.z.abs())));
            let mut values = Vec::new();
            for directions in directions.chunks(LANES) {
                let s = lighting.material.evaluate(directions);
                values.extend(zip(directions.iter().copied(), s.iter().map(|s| s.x)));
            }
            f(bound.x, &values);
        });
    }

    #[test]
    fn bounds_hold_and_are_tight() {
        for wo in [vec3(0.1, 0.0, 1.0), vec3(1.0, 0.5, 1.0), vec3(-2.0, 1.0, 0.5)] {
            for alpha in [0.05, 0.1, 0.3, 1.0] {
                with_bound(&ggx(alpha), wo, |bound, values| {
                    let relative = |&(d, s): &(Vec3, f32)| s / (d.z + COSINE_STEP).min(1.0);
                    let greatest = values.iter().map(relative).fold(0.0, f32::max);
                    let ratio = bound / greatest;
                    assert!((1.0..4.0).contains(&ratio), "alpha {alpha}, {wo}: {ratio}");
                });
            }
        }
    }

    #[test]
    fn cells_contain_their_directions() {
        let cells = |cell: Cell| cell.split(cell.bands());
        for (u, v) in zip(points(1 << 14, 3), points(1 << 14, 4)) {
            // On the borders of cells, many near the poles, with rounded lengths.
            let steps = (u.x * u.x * 256.0).floor();
            let z = (1.0 - steps / 256.0) * if v.x < 0.5 { -1.0 } else { 1.0 };
            let (sin, cos) = libm::sincosf((u.y * 32.0).floor() / 8.0 * FRAC_PI_2);
            let length = 1.0 + (v.y - 0.5) * 16.0 * f32::EPSILON;
            let w = vec3(radius(z) * cos, radius(z) * sin, z).normalize() * length;
            let turn = libm::atan2(w.y.into(), w.x.into()) / f64::from(FRAC_PI_2);
            let azimuth = if turn < 0.0 { turn + 4.0 } else { turn };
            let quarter = azimuth.floor().min(3.0) as f32;
            let mut cell = Cell::new([-1.0, 1.0], [quarter, quarter + 1.0]);
            for _ in 0..6 {
                let contains =
                    |[lo, hi]: [f32; 2], x: f64| f64::from(lo) <= x && x <= f64::from(hi);
                let next = cells(cell).into_iter().find(|cell| {
                    contains(cell.z, f64::from(w.z).clamp(-1.0, 1.0))
                        && contains(cell.azimuth, azimuth)
                });
                cell = next.expect("cells cover all directions");
                for ([lo, hi], x) in zip(cell.range, w.to_array()) {
                    let x = x.clamp(-1.0, 1.0);
                    assert!(lo <= x && x <= hi, "{w}: {x} is not in [{lo}, {hi}]");
                }
            }
        }
    }

    #[test]
    fn diffuse_emission_is_bounded_by_its_value_at_the_step() {
        with_bound("0.25", Vec3::Z, |bound, _| {
            // s is 0.25 times the cosine, and the profile is 1 from 7/8 on.
            assert!((0.25..0.2501).contains(&bound), "{bound}");
        });
    }
}
