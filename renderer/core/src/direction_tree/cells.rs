//! Direction cells: an 8-wide hierarchy of rectangles, with area proportional to projected solid
//! angle for BSDFs, and to solid angle for phase functions.
//!
//! The concentric map (Shirley & Chiu 1997) maps the unit square to the unit disk with radius ρ. For
//! BSDFs, z = √(1 − ρ²) lifts the disk to the hemisphere; uniform points of the square become
//! directions with density cos θ/π. For phase functions, z = 1 − ρ², and x and y are stretched by
//! √(2 − ρ²); the density is 1/(2π). Two-sided shaders have two adjacent squares, so the *domain* is
//! one unit high and one or two units wide. Levels alternately split each cell into 4 × 2 and 2 × 4
//! children, so the cells of every second level have the aspect ratio of the domain.
//!
//! # Boxes
//!
//! With the origin at the centre of a square and sides of length 2, (a, b) with |b| ≤ |a| maps to
//! (a cos τ, a sin τ), τ = π/4 · b/a, and symmetrically across the diagonal. In the quadrant where
//! both are positive, x increases with a (for b ≤ a, ∂x/∂a = cos τ + τ sin τ > 0; for b > a, it is
//! sin τ − τ cos τ ≥ 0, with τ = π/4 · a/b). It decreases with b up to b = a, and increases for
//! larger b. All cells lie within a quadrant. So x attains its minimum at the smallest a and the b
//! closest to it, and its maximum at the largest a and an endpoint of b. y is symmetric, with a and
//! b exchanged, and ρ = max(a, b).
//!
//! # Rounding
//!
//! Let u = 2⁻²⁴. A sampled position lies in its cell, and its direction has an error of 4u in x and
//! y. The computed position of a direction has an error of at most 10u in a and in b: 2u from the
//! root, 4u from the angle, 2u from the product, 1u from the sum with ½, and 1u from adding 1 for
//! the lower hemisphere. This adds errors of √2 · 10u to x and y and of 20u to ρ² = max(a, b)². The
//! squared length of the direction has an error of 8u = 2⁻²¹. [`BOX_MARGIN`], 64u, covers each of
//! these errors.
//!
//! For phase functions, a direction's position in the disk has an error of 9u: 5u from its length,
//! 2u from the root, and 2u from sum and quotient. So its position has an error of 24u in a and in
//! b. Derivatives of x and y are at most √2 times as large, which adds errors of 62u, and 48u to z.
//! Length, stretch, normalisation and endpoints of the box add less than 30u. The margin is twice as
//! large.

use crate::material::Program;
use lightbound_math::direction_box::{LANES, Lanes, greater, lesser};
use lightbound_math::sampling::warp::{disk_to_square, sin_cos_octant, uniform_disk};
use lightbound_math::{DirectionBoxes, Vec2, Vec3, vec2};
use lightbound_shader::relations::MAX_UNIT_COMPONENT;
use lightbound_shader::{ShaderKind, SurfaceSides};
use std::borrow::Cow;
use std::f32::consts::{FRAC_1_PI, FRAC_1_SQRT_2};
use std::sync::OnceLock;

/// Margin for rounding errors of x, y and z² of BSDFs; half the margin of phase functions.
const BOX_MARGIN: f32 = 1.0 / (1 << 18) as f32;

/// Minimum |z| of sampled directions, so that their density is never 0. It corresponds to half a
/// grid step of the square.
const MIN_COSINE: f32 = 1.0 / 4096.0;

/// Number of levels below the domain. Cells of the last level are 32 times as wide as the rounding
/// errors of positions.
pub const LEVELS: u32 = 10;

/// Minimum |z| of sampled directions of phase functions, so that the sign of z is that of the square.
const MIN_Z: f32 = 1.0 / (1 << 24) as f32;

/// Number of levels, the domain included, with a table of the children of all cells: 585 cells,
/// 168 KB for each domain. Trees split few cells below them.
const TABLE_LEVELS: u32 = 4;

/// The directions that cells cover, with their measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirectionDomain {
    /// Directions to which a BSDF scatters, by projected solid angle.
    Surface(SurfaceSides),
    /// Directions to which a phase function scatters: all of them, by solid angle.
    Volume,
}

impl DirectionDomain {
    /// Returns the domain of a shader.
    pub fn of(program: &Program) -> DirectionDomain {
        match program.kind() {
            ShaderKind::Phase => DirectionDomain::Volume,
            _ => DirectionDomain::Surface(program.sides),
        }
    }

    /// Returns the children of the cells of the first levels, by the index of the cell.
    fn first_levels(self) -> &'static [CellChildren] {
        static TABLES: [OnceLock<Vec<CellChildren>>; 3] = [const { OnceLock::new() }; 3];
        let table = match self {
            DirectionDomain::Surface(SurfaceSides::One) => 0,
            DirectionDomain::Surface(SurfaceSides::Both) => 1,
            DirectionDomain::Volume => 2,
        };
        TABLES[table].get_or_init(|| {
            let cells = (0..TABLE_LEVELS).flat_map(|level| {
                let (columns, rows) = grid(level);
                (0..columns * rows).map(move |k| DirectionCell {
                    level,
                    column: k / rows,
                    row: k % rows,
                })
            });
            cells.map(|cell| cell.compute_children(self)).collect()
        })
    }

    /// Returns the width, which equals the number of squares.
    pub fn width(self) -> f32 {
        match self {
            DirectionDomain::Surface(SurfaceSides::One) => 1.0,
            DirectionDomain::Surface(SurfaceSides::Both) | DirectionDomain::Volume => 2.0,
        }
    }

    /// Returns whether the domain has directions with this z.
    pub fn covers(self, z: f32) -> bool {
        match self {
            DirectionDomain::Surface(sides) => sides.covers(z),
            DirectionDomain::Volume => true,
        }
    }

    /// Converts a density per area of the squares to a density per solid angle, 1/sr.
    pub fn density(self, per_area: f32, wi: Vec3) -> f32 {
        match self {
            DirectionDomain::Surface(_) => per_area * wi.z.abs() * FRAC_1_PI,
            DirectionDomain::Volume => per_area * (0.5 * FRAC_1_PI),
        }
    }

    /// Maps a position in the domain to a direction.
    #[inline]
    pub fn direction(self, p: Vec2) -> Vec3 {
        let is_lower = p.x >= 1.0;
        let in_square = vec2(if is_lower { p.x - 1.0 } else { p.x }, p.y);
        let rho = (2.0 * in_square - Vec2::ONE).abs().max_element();
        let cos2 = (1.0 - rho) * (1.0 + rho);
        let disk = uniform_disk(in_square);
        match self {
            DirectionDomain::Surface(_) => {
                let z = cos2.sqrt().max(MIN_COSINE);
                disk.extend(if is_lower { -z } else { z })
            }
            DirectionDomain::Volume => {
                let z = cos2.max(MIN_Z);
                // Errors of the disk's radius would exceed those that bounds allow.
                (disk * (1.0 + cos2).sqrt()).extend(if is_lower { -z } else { z }).normalize()
            }
        }
    }

    /// Maps a direction to its position. For one-sided shaders, the direction must be above the
    /// surface.
    #[inline]
    pub fn position(self, wi: Vec3) -> Vec2 {
        let disk = match self {
            DirectionDomain::Surface(_) => wi.truncate(),
            DirectionDomain::Volume => wi.truncate() / (1.0 + wi.z.abs()).sqrt(),
        };
        // Positions exclude the far edges, which belong to the next square or lie outside the
        // domain.
        let in_square = disk_to_square(disk).min(Vec2::splat(1.0 - f32::EPSILON));
        if wi.z < 0.0 { vec2(in_square.x + 1.0, in_square.y) } else { in_square }
    }
}

/// Returns the number of columns and rows of cells at `level`.
fn grid(level: u32) -> (u32, u32) {
    (1 << (level + level.div_ceil(2)), 1 << (level + level / 2))
}

/// Returns the number of columns and rows into which a cell at `level` is split.
#[inline]
pub fn division(level: u32) -> (usize, usize) {
    if level & 1 == 0 { (4, 2) } else { (2, 4) }
}

/// A cell of the domain, by its column and row in its level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirectionCell {
    level: u32,
    column: u32,
    row: u32,
}

impl DirectionCell {
    /// The root cell: the entire domain.
    pub const DOMAIN: DirectionCell = DirectionCell { level: 0, column: 0, row: 0 };

    /// Returns the number of splits between the domain and the cell.
    pub fn level(&self) -> u32 {
        self.level
    }

    /// Returns child `lane` of the cell. Children are numbered column by column, from the left.
    pub fn child(&self, lane: usize) -> DirectionCell {
        let (columns, rows) = division(self.level);
        let (column, row) = (lane / rows, lane % rows);
        DirectionCell {
            level: self.level + 1,
            column: self.column * columns as u32 + column as u32,
            row: self.row * rows as u32 + row as u32,
        }
    }

    /// Returns the area as a fraction of the domain.
    pub fn area(&self) -> f32 {
        1.0 / (1u64 << (3 * self.level)) as f32
    }

    /// Returns the corner with minimum x and y, and the size. Both are exact.
    pub fn rectangle(&self, domain: DirectionDomain) -> (Vec2, Vec2) {
        let (columns, rows) = grid(self.level);
        let extent = vec2(domain.width() / columns as f32, 1.0 / rows as f32);
        (vec2(self.column as f32, self.row as f32) * extent, extent)
    }

    /// Maps a position in the cell, relative to the cell in [0, 1)², to a direction.
    #[inline]
    pub fn direction(&self, domain: DirectionDomain, position: Vec2) -> Vec3 {
        let (corner, extent) = self.rectangle(domain);
        let far = corner + extent;
        // Rounding up to the far edge would leave the cell.
        let position = (corner + position * extent).min(far.map(f32::next_down));
        domain.direction(position)
    }

    /// Returns direction boxes and centres of the cell's children. The box of a child contains
    /// every computed direction of a position in the child. It also contains every vector that has
    /// unit length to within 2⁻²¹ and a computed position in the child.
    pub fn children(&self, domain: DirectionDomain) -> Cow<'static, CellChildren> {
        if self.level < TABLE_LEVELS {
            Cow::Borrowed(&domain.first_levels()[self.index()])
        } else {
            Cow::Owned(self.compute_children(domain))
        }
    }

    /// Returns the index among the cells of all levels, level by level and column by column.
    fn index(&self) -> usize {
        let (_, rows) = grid(self.level);
        let before = ((1 << (3 * self.level)) - 1) / 7;
        (before + self.column * rows + self.row) as usize
    }

    fn compute_children(&self, domain: DirectionDomain) -> CellChildren {
        let QuadrantRectangles { min, max, signs } = self.mirrored(domain);
        let mut boxes = boxes(domain, &min, &max);
        for (k, signs) in signs.iter().enumerate() {
            mirror_intervals(signs, &mut boxes.lo[k], &mut boxes.hi[k]);
        }
        CellChildren { boxes, centers: mirror(centers(domain, &min, &max), &signs) }
    }

    /// Returns the cell's children, mirrored into the positive quadrant.
    #[inline]
    fn mirrored(&self, domain: DirectionDomain) -> QuadrantRectangles {
        let (_, rows) = division(self.level);
        let (corner, extent) = self.child(0).rectangle(domain);
        let mut mirrored = QuadrantRectangles {
            min: [[0.0; LANES]; 2],
            max: [[0.0; LANES]; 2],
            signs: [[1.0; LANES]; 3],
        };
        let QuadrantRectangles { min, max, signs } = &mut mirrored;
        for lane in 0..LANES {
            let near = corner + extent * vec2((lane / rows) as f32, (lane % rows) as f32);
            let is_lower = near.x >= 1.0;
            let near = 2.0 * vec2(if is_lower { near.x - 1.0 } else { near.x }, near.y) - Vec2::ONE;
            let far = near + 2.0 * extent;
            for k in 0..2 {
                (min[k][lane], max[k][lane]) =
                    (lesser(near[k].abs(), far[k].abs()), greater(near[k].abs(), far[k].abs()));
                signs[k][lane] = if near[k] < 0.0 { -1.0 } else { 1.0 };
            }
            signs[2][lane] = if is_lower { -1.0 } else { 1.0 };
        }
        mirrored
    }
}

/// Rectangles in the positive quadrant, with the signs of their actual quadrant and side.
struct QuadrantRectangles {
    min: [Lanes; 2],
    max: [Lanes; 2],
    signs: [Lanes; 3],
}

/// Directions in the eight children of a cell.
#[derive(Clone, Debug)]
pub struct CellChildren {
    /// Boxes that contain all directions of each child.
    pub boxes: DirectionBoxes,
    /// Direction of the centre of each child.
    pub centers: [Lanes; 3],
}

/// Returns the boxes of cells in the positive quadrant, given by their minimum and maximum (a, b).
#[inline]
fn boxes(domain: DirectionDomain, min: &[Lanes; 2], max: &[Lanes; 2]) -> DirectionBoxes {
    let corners = [
        to_disk(&min[0], &min[1]),
        to_disk(&min[0], &max[1]),
        to_disk(&max[0], &min[1]),
        to_disk(&max[0], &max[1]),
    ];
    let mut boxes = DirectionBoxes::ALL;
    let cos2 = |rho: f32| (1.0 - rho) * (1.0 + rho);
    for lane in 0..LANES {
        let near = cos2(greater(min[0][lane], min[1][lane]));
        let far = cos2(greater(max[0][lane], max[1][lane]));
        for k in 0..2 {
            let value = |corner: usize| corners[corner][k][lane];
            let (lo, hi) = (
                lesser(lesser(value(0), value(1)), lesser(value(2), value(3))),
                greater(greater(value(0), value(1)), greater(value(2), value(3))),
            );
            // If the diagonal crosses the edge at the smallest coordinate, the minimum is at the
            // crossing.
            let edge = min[k][lane];
            let crosses = (min[1 - k][lane] < edge) & (edge < max[1 - k][lane]);
            let lo = if crosses { lesser(lo, edge * FRAC_1_SQRT_2) } else { lo };
            let (lo, hi) = match domain {
                DirectionDomain::Surface(_) => (lo - BOX_MARGIN, hi + BOX_MARGIN),
                DirectionDomain::Volume => (
                    lo * (1.0 + far).sqrt() - 2.0 * BOX_MARGIN,
                    hi * (1.0 + near).sqrt() + 2.0 * BOX_MARGIN,
                ),
            };
            (boxes.lo[k][lane], boxes.hi[k][lane]) = (lo, lesser(hi, MAX_UNIT_COMPONENT));
        }
        let (lo, hi) = match domain {
            DirectionDomain::Surface(_) => {
                (greater(far - BOX_MARGIN, 0.0).sqrt(), (near + BOX_MARGIN).sqrt())
            }
            DirectionDomain::Volume => {
                (greater(far - 2.0 * BOX_MARGIN, 0.0), near + 2.0 * BOX_MARGIN)
            }
        };
        (boxes.lo[2][lane], boxes.hi[2][lane]) = (lo, lesser(hi, MAX_UNIT_COMPONENT));
    }
    boxes
}

/// Returns the directions of the centres of cells.
#[inline]
fn centers(domain: DirectionDomain, min: &[Lanes; 2], max: &[Lanes; 2]) -> [Lanes; 3] {
    let mut centers = [[0.0; LANES]; 2];
    for (centers, (min, max)) in centers.iter_mut().zip(min.iter().zip(max)) {
        for lane in 0..LANES {
            centers[lane] = 0.5 * (min[lane] + max[lane]);
        }
    }
    let [mut x, mut y] = to_disk(&centers[0], &centers[1]);
    let mut z = [0.0; LANES];
    for lane in 0..LANES {
        let rho = greater(centers[0][lane], centers[1][lane]);
        let cos2 = (1.0 - rho) * (1.0 + rho);
        match domain {
            DirectionDomain::Surface(_) => z[lane] = cos2.sqrt(),
            DirectionDomain::Volume => {
                let stretch = (1.0 + cos2).sqrt();
                (x[lane], y[lane], z[lane]) = (x[lane] * stretch, y[lane] * stretch, cos2);
            }
        }
    }
    [x, y, z]
}

/// Mirrors vectors where signs are −1.
#[inline]
fn mirror(mut vectors: [Lanes; 3], signs: &[Lanes; 3]) -> [Lanes; 3] {
    for (x, sign) in vectors.as_flattened_mut().iter_mut().zip(signs.as_flattened()) {
        *x *= sign;
    }
    vectors
}

/// Mirrors intervals where the sign is −1.
#[inline]
fn mirror_intervals(signs: &Lanes, lo: &mut Lanes, hi: &mut Lanes) {
    for lane in 0..LANES {
        let (a, b) = (signs[lane] * lo[lane], signs[lane] * hi[lane]);
        (lo[lane], hi[lane]) = (lesser(a, b), greater(a, b));
    }
}

/// Applies the concentric map to eight positions with a, b ≥ 0. It has no branches, so that the
/// compiler can vectorize it.
#[inline]
fn to_disk(a: &Lanes, b: &Lanes) -> [Lanes; 2] {
    let (mut x, mut y) = ([0.0; LANES], [0.0; LANES]);
    for lane in 0..LANES {
        let (a, b) = (a[lane], b[lane]);
        let (r, min) = (greater(a, b), lesser(a, b));
        // At the origin the angle is arbitrary.
        let (sin, cos) = sin_cos_octant(min / greater(r, f32::MIN_POSITIVE));
        let (major, minor) = (r * cos, r * sin);
        x[lane] = if a > b { major } else { minor };
        y[lane] = if a > b { minor } else { major };
    }
    [x, y]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_have_the_children_of_all_cells() {
        let domains = [
            DirectionDomain::Surface(SurfaceSides::One),
            DirectionDomain::Surface(SurfaceSides::Both),
            DirectionDomain::Volume,
        ];
        for domain in domains {
            let (mut cells, mut checked) = (vec![DirectionCell::DOMAIN], 0);
            while let Some(cell) = cells.pop() {
                let children = cell.children(domain);
                let computed = cell.compute_children(domain);
                assert_eq!((children.boxes, children.centers), (computed.boxes, computed.centers));
                checked += 1;
                if cell.level() + 1 < TABLE_LEVELS {
                    cells.extend((0..LANES).map(|lane| cell.child(lane)));
                }
            }
            assert_eq!(checked, domain.first_levels().len());
        }
    }
    use lightbound_math::direction_box::testing::{uniform, unit};
    use lightbound_math::sampling::ONE_MINUS_EPSILON;
    use lightbound_shader::random::Random;

    const DOMAINS: [DirectionDomain; 3] = [
        DirectionDomain::Surface(SurfaceSides::One),
        DirectionDomain::Surface(SurfaceSides::Both),
        DirectionDomain::Volume,
    ];

    /// Returns the child of a cell that contains a position.
    fn lane_of(cell: &DirectionCell, domain: DirectionDomain, p: Vec2) -> Option<usize> {
        (0..LANES).find(|&lane| {
            let (corner, extent) = cell.child(lane).rectangle(domain);
            p.cmpge(corner).all() && p.cmplt(corner + extent).all()
        })
    }

    fn assert_contains(boxes: &DirectionBoxes, lane: usize, w: Vec3, label: &str) {
        let endpoints = boxes.get(lane);
        let contains = (0..3).all(|k| (endpoints[k][0]..=endpoints[k][1]).contains(&w[k]));
        assert!(contains, "{label}: {w:?} is not in {endpoints:?}");
    }

    #[test]
    fn boxes_contain_sampled_and_looked_up_directions() {
        let random = &mut Random::new(1);
        let rounds = if cfg!(debug_assertions) { 20_000 } else { 2_000_000 };
        for round in 0..rounds {
            let domain = DOMAINS[round % 3];
            let mut cell = DirectionCell::DOMAIN;
            for _ in 0..random.below(LEVELS as usize) {
                cell = cell.child(random.below(LANES));
            }
            let children = cell.children(domain);
            let lane = random.below(LANES);
            let (corner, extent) = cell.child(lane).rectangle(domain);
            for _ in 0..8 {
                let at_edge = |random: &mut Random| match random.below(4) {
                    0 => 0.0,
                    1 => ONE_MINUS_EPSILON,
                    _ => uniform(random),
                };
                let inside = corner + extent * vec2(at_edge(random), at_edge(random));
                let w = domain.direction(inside.min((corner + extent).map(f32::next_down)));
                assert_contains(&children.boxes, lane, w, "sampled");
                // A nearby vector with an error of length up to the maximum.
                let length = 1.0 + (random.below(9) as f32 - 4.0) * (0.25 / (1 << 21) as f32);
                let nearby = w.normalize() * length;
                if (nearby.length_squared() - 1.0).abs() <= 0.5f32.powi(21)
                    && let Some(lane) = lane_of(&cell, domain, domain.position(nearby))
                {
                    assert_contains(&children.boxes, lane, nearby, "looked up");
                }
            }
        }
    }

    #[test]
    fn boxes_are_tight() {
        for domain in DOMAINS {
            let (mut cell, mut looseness) = (DirectionCell::DOMAIN, 0.0);
            for level in 0..LEVELS {
                let children = cell.children(domain);
                for lane in 0..LANES {
                    let (_, extent) = cell.child(lane).rectangle(domain);
                    let [x, y, _] =
                        children.boxes.get(lane).map(|[lo, hi]| hi - lo - 2.0 * BOX_MARGIN);
                    looseness = f32::max(looseness, x.max(y) / extent.max_element());
                    let center = Vec3::from_array([0, 1, 2].map(|k| children.centers[k][lane]));
                    assert_eq!(lane_of(&cell, domain, domain.position(center)), Some(lane));
                    assert!((center.length() - 1.0).abs() < 2e-7);
                }
                cell = cell.child((5 * level as usize) % LANES);
            }
            // |∂x/∂a| ≤ 1.27 and |∂x/∂b| ≤ 0.56, and a and b span squares of side 2. The stretch by
            // √(2 − ρ²), which decreases, makes derivatives at most √2 times as large.
            let stretch = if domain == DirectionDomain::Volume { 1.42 } else { 1.0 };
            assert!(looseness < 3.66 * stretch, "{looseness}");
        }
    }

    #[test]
    fn direction_inverts_position() {
        let random = &mut Random::new(2);
        for round in 0..100_000 {
            let (w, domain) = (unit(random), DOMAINS[1 + round % 2]);
            let p = domain.position(w);
            let error = (domain.direction(p) - w).abs().max_element();
            assert!(error < 1e-6 / w.z.abs().max(1e-3), "{domain:?} {w} {p}");
            assert!(w.z >= 0.0 || p.x >= 1.0);
        }
    }
}
