//! Cells of directions: an 8-wide hierarchy of rectangles in which area is the cosine's measure.
//!
//! The concentric map (Shirley & Chiu 1997) takes the unit square to the unit disk, and z = √(1 −
//! x² − y²) lifts the disk to the hemisphere; uniform points of the square become directions with
//! density cos θ/π. For shaders of both sides there are two squares, beside each other:
//! the *domain* is one unit high, and as wide as there are sides. It is cut into 4 × 2 cells, each
//! of these into 2 × 4, and so on in turns, so that every second level has the shape of the domain.
//!
//! # Boxes
//!
//! With the origin in the middle of a square and sides of 2, (a, b) with |b| ≤ |a| becomes (a cos
//! τ, a sin τ), τ = π/4 · b/a, and likewise about the diagonal. In the quadrant where both are
//! positive, x grows with a (where b ≤ a, ∂x/∂a = cos τ + τ sin τ > 0; beyond, it is sin τ − τ cos
//! τ ≥ 0, of the other τ), and with b it falls up to b = a, and grows from there on. All cells lie
//! within a quadrant, so x is least at the least a and the b next to it, and greatest at the
//! greatest a and one of both ends of b. y is the same, with a and b exchanged, and z² = 1 − max(a,
//! b)².
//!
//! # Rounding
//!
//! With u = 2⁻²⁴: a position that is drawn lies in its cell, and its direction is off by 4u in x
//! and y. The position of a direction that is given is off by at most 10u in a and in b: 2u of the
//! root, 4u of the angle, 2u of the product, 1u of the sum with ½, and another where 1 is added for
//! the lower side. x and y are off by √2 · 10u from that, ρ² = max(a, b)² by 20u, and a given
//! vector's squared length by 8u = 2⁻²¹. [`MARGIN`], 64u, covers each of them.

use crate::math::direction_box::{LANES, Lanes, greater, lesser};
use crate::math::{DirectionBoxes, Vec2, Vec3, vec2};
use crate::sampling::warp::{disk_to_square, sin_cos_eighth, uniform_disk};
use lightbound_shader::Sides;
use lightbound_shader::relations::UNIT;
use std::f32::consts::FRAC_1_SQRT_2;

/// What rounding may take from x, y and z².
const MARGIN: f32 = 1.0 / (1 << 18) as f32;

/// The least |z| of a direction that is drawn, half a step of the square's lattice above the
/// horizon: its density is never 0.
const LEAST_COSINE: f32 = 1.0 / 4096.0;

/// Levels below the domain; cells of the last one are 32 times as wide as what rounding may shift.
pub const LEVELS: u32 = 10;

/// The width of the domain, and the number of its squares.
pub fn width(sides: Sides) -> f32 {
    match sides {
        Sides::One => 1.0,
        Sides::Both => 2.0,
    }
}

/// Columns and rows into which a cell of a level is cut.
#[inline]
pub fn division(level: u32) -> (usize, usize) {
    if level & 1 == 0 { (4, 2) } else { (2, 4) }
}

/// The direction of a position of the domain.
#[inline]
pub fn direction(p: Vec2) -> Vec3 {
    let down = p.x >= 1.0;
    let in_square = vec2(if down { p.x - 1.0 } else { p.x }, p.y);
    let rho = (2.0 * in_square - Vec2::ONE).abs().max_element();
    let z = ((1.0 - rho) * (1.0 + rho)).sqrt().max(LEAST_COSINE);
    uniform_disk(in_square).extend(if down { -z } else { z })
}

/// The position of a direction in the domain; of one side, where it is above the surface.
#[inline]
pub fn position(wi: Vec3) -> Vec2 {
    // No position is on the far edges, where the other square begins, or nothing does.
    let in_square = disk_to_square(wi.truncate()).min(Vec2::splat(1.0 - f32::EPSILON));
    if wi.z < 0.0 { vec2(in_square.x + 1.0, in_square.y) } else { in_square }
}

/// A cell: the column and row among all of its level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    level: u32,
    column: u32,
    row: u32,
}

impl Cell {
    /// The domain.
    pub const DOMAIN: Cell = Cell { level: 0, column: 0, row: 0 };

    /// How often the domain was cut to get it.
    pub fn level(&self) -> u32 {
        self.level
    }

    /// A part of it; lanes count columns first, from the left, and within each its rows.
    pub fn child(&self, lane: usize) -> Cell {
        let (columns, rows) = division(self.level);
        let (column, row) = (lane / rows, lane % rows);
        Cell {
            level: self.level + 1,
            column: self.column * columns as u32 + column as u32,
            row: self.row * rows as u32 + row as u32,
        }
    }

    /// The share of the domain.
    pub fn area(&self) -> f32 {
        1.0 / (1u64 << (3 * self.level)) as f32
    }

    /// The least x and y, and the extent; exact.
    pub fn rectangle(&self, sides: Sides) -> (Vec2, Vec2) {
        let columns = self.level + self.level.div_ceil(2);
        let rows = self.level + self.level / 2;
        let extent = vec2(width(sides) / (1u32 << columns) as f32, 1.0 / (1u32 << rows) as f32);
        (vec2(self.column as f32, self.row as f32) * extent, extent)
    }

    /// The direction of a place within it, in [0, 1)².
    #[inline]
    pub fn direction(&self, sides: Sides, place: Vec2) -> Vec3 {
        let (corner, extent) = self.rectangle(sides);
        let far = corner + extent;
        // Sums may be rounded to the far edge, which is the next cell's.
        direction((corner + place * extent).min(vec2(far.x.next_down(), far.y.next_down())))
    }

    /// Boxes of the directions of its parts: they hold each float vector that is drawn from a
    /// position in the part, and each that is unit to 2⁻²¹ and has its position there. With them,
    /// the directions of the middles.
    pub fn parts(&self, sides: Sides) -> Parts {
        let Turned { least, most, signs } = self.turned(sides);
        let mut boxes = boxes(&least, &most);
        for (k, signs) in signs.iter().enumerate() {
            turn(signs, &mut boxes.lo[k], &mut boxes.hi[k]);
        }
        Parts { boxes, middles: signed(middles(&least, &most), &signs) }
    }

    /// The directions of the middles of its parts alone.
    #[inline]
    pub fn middles(&self, sides: Sides) -> [Lanes; 3] {
        let Turned { least, most, signs } = self.turned(sides);
        signed(middles(&least, &most), &signs)
    }

    /// Its parts, turned into the quadrant where all is positive.
    #[inline]
    fn turned(&self, sides: Sides) -> Turned {
        let (_, rows) = division(self.level);
        let (corner, extent) = self.child(0).rectangle(sides);
        let mut turned =
            Turned { least: [[0.0; LANES]; 2], most: [[0.0; LANES]; 2], signs: [[1.0; LANES]; 3] };
        let Turned { least, most, signs } = &mut turned;
        for lane in 0..LANES {
            let near = corner + extent * vec2((lane / rows) as f32, (lane % rows) as f32);
            let down = near.x >= 1.0;
            let near = 2.0 * vec2(if down { near.x - 1.0 } else { near.x }, near.y) - Vec2::ONE;
            let far = near + 2.0 * extent;
            for k in 0..2 {
                (least[k][lane], most[k][lane]) =
                    (lesser(near[k].abs(), far[k].abs()), greater(near[k].abs(), far[k].abs()));
                signs[k][lane] = if near[k] < 0.0 { -1.0 } else { 1.0 };
            }
            signs[2][lane] = if down { -1.0 } else { 1.0 };
        }
        turned
    }
}

/// Rectangles, each with the signs of its quadrant and side.
struct Turned {
    least: [Lanes; 2],
    most: [Lanes; 2],
    signs: [Lanes; 3],
}

/// What is known of the eight parts of a cell.
#[derive(Clone, Debug)]
pub struct Parts {
    /// Boxes that hold their directions.
    pub boxes: DirectionBoxes,
    /// A direction of each.
    pub middles: [Lanes; 3],
}

/// Boxes of cells from the least to the most of (a, b), none of them negative.
#[inline]
fn boxes(least: &[Lanes; 2], most: &[Lanes; 2]) -> DirectionBoxes {
    let corners = [
        to_disk(&least[0], &least[1]),
        to_disk(&least[0], &most[1]),
        to_disk(&most[0], &least[1]),
        to_disk(&most[0], &most[1]),
    ];
    let mut boxes = DirectionBoxes::WHOLE;
    for lane in 0..LANES {
        for k in 0..2 {
            let of = |corner: usize| corners[corner][k][lane];
            let (lo, hi) = (
                lesser(lesser(of(0), of(1)), lesser(of(2), of(3))),
                greater(greater(of(0), of(1)), greater(of(2), of(3))),
            );
            // Where the diagonal crosses the least of one's own, it is least there.
            let own = least[k][lane];
            let crosses = (least[1 - k][lane] < own) & (own < most[1 - k][lane]);
            let lo = if crosses { lesser(lo, own * FRAC_1_SQRT_2) } else { lo };
            (boxes.lo[k][lane], boxes.hi[k][lane]) = (lo - MARGIN, lesser(hi + MARGIN, UNIT));
        }
        let height2 = |rho: f32| (1.0 - rho) * (1.0 + rho);
        let inner = greater(least[0][lane], least[1][lane]);
        let outer = greater(most[0][lane], most[1][lane]);
        boxes.lo[2][lane] = greater(height2(outer) - MARGIN, 0.0).sqrt();
        boxes.hi[2][lane] = lesser((height2(inner) + MARGIN).sqrt(), UNIT);
    }
    boxes
}

/// Directions of the middles of cells.
#[inline]
fn middles(least: &[Lanes; 2], most: &[Lanes; 2]) -> [Lanes; 3] {
    let mut middles = [[0.0; LANES]; 2];
    for (middles, (least, most)) in middles.iter_mut().zip(least.iter().zip(most)) {
        for lane in 0..LANES {
            middles[lane] = 0.5 * (least[lane] + most[lane]);
        }
    }
    let [x, y] = to_disk(&middles[0], &middles[1]);
    let mut z = [0.0; LANES];
    for lane in 0..LANES {
        let rho = greater(middles[0][lane], middles[1][lane]);
        z[lane] = ((1.0 - rho) * (1.0 + rho)).sqrt();
    }
    [x, y, z]
}

/// Mirrors vectors where signs are −1.
#[inline]
fn signed(mut vectors: [Lanes; 3], signs: &[Lanes; 3]) -> [Lanes; 3] {
    for (x, sign) in vectors.as_flattened_mut().iter_mut().zip(signs.as_flattened()) {
        *x *= sign;
    }
    vectors
}

/// Mirrors intervals where the sign is −1.
#[inline]
fn turn(signs: &Lanes, lo: &mut Lanes, hi: &mut Lanes) {
    for lane in 0..LANES {
        let (a, b) = (signs[lane] * lo[lane], signs[lane] * hi[lane]);
        (lo[lane], hi[lane]) = (lesser(a, b), greater(a, b));
    }
}

/// The concentric map of a, b ≥ 0, eight at a time and without branches, so that the compiler makes
/// vector instructions of it.
#[inline]
fn to_disk(a: &Lanes, b: &Lanes) -> [Lanes; 2] {
    let (mut x, mut y) = ([0.0; LANES], [0.0; LANES]);
    for lane in 0..LANES {
        let (a, b) = (a[lane], b[lane]);
        let (r, least) = (greater(a, b), lesser(a, b));
        // The middle has no angle, and needs none.
        let (sin, cos) = sin_cos_eighth(least / greater(r, f32::MIN_POSITIVE));
        let (along, aside) = (r * cos, r * sin);
        x[lane] = if a > b { along } else { aside };
        y[lane] = if a > b { aside } else { along };
    }
    [x, y]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::direction_box::testing::{uniform, unit};
    use crate::sampling::ONE_MINUS_EPSILON;
    use lightbound_shader::ir::random::Random;

    const SIDES: [Sides; 2] = [Sides::One, Sides::Both];

    /// The part of a cell that has a position.
    fn lane_of(cell: &Cell, sides: Sides, p: Vec2) -> Option<usize> {
        (0..LANES).find(|&lane| {
            let (corner, extent) = cell.child(lane).rectangle(sides);
            p.cmpge(corner).all() && p.cmplt(corner + extent).all()
        })
    }

    fn assert_holds(boxes: &DirectionBoxes, lane: usize, w: Vec3, what: &str) {
        let ends = boxes.get(lane);
        let holds = (0..3).all(|k| (ends[k][0]..=ends[k][1]).contains(&w[k]));
        assert!(holds, "{what}: {w:?} is not in {ends:?}");
    }

    #[test]
    fn boxes_hold_what_is_drawn_and_what_is_found_there() {
        let random = &mut Random::new(1);
        let rounds = if cfg!(debug_assertions) { 20_000 } else { 2_000_000 };
        for round in 0..rounds {
            let sides = SIDES[round % 2];
            let mut cell = Cell::DOMAIN;
            for _ in 0..random.below(LEVELS as usize) {
                cell = cell.child(random.below(LANES));
            }
            let parts = cell.parts(sides);
            let lane = random.below(LANES);
            let (corner, extent) = cell.child(lane).rectangle(sides);
            for _ in 0..8 {
                let at_edge = |random: &mut Random| match random.below(4) {
                    0 => 0.0,
                    1 => ONE_MINUS_EPSILON,
                    _ => uniform(random),
                };
                let inside = corner + extent * vec2(at_edge(random), at_edge(random));
                let w = direction(inside.min((corner + extent).map(f32::next_down)));
                assert_holds(&parts.boxes, lane, w, "drawn");
                // A vector that is as long as any may be, next to that.
                let nudge = |random: &mut Random| {
                    1.0 + (random.below(9) as f32 - 4.0) * (0.25 / (1 << 21) as f32)
                };
                let given = w.normalize() * nudge(random);
                if (given.length_squared() - 1.0).abs() <= 0.5f32.powi(21)
                    && let Some(lane) = lane_of(&cell, sides, position(given))
                {
                    assert_holds(&parts.boxes, lane, given, "given");
                }
            }
        }
    }

    #[test]
    fn boxes_are_tight() {
        for sides in SIDES {
            let (mut cell, mut wide) = (Cell::DOMAIN, 0.0);
            for level in 0..LEVELS {
                let parts = cell.parts(sides);
                for lane in 0..LANES {
                    let (_, extent) = cell.child(lane).rectangle(sides);
                    let [x, y, _] = parts.boxes.get(lane).map(|[lo, hi]| hi - lo - 2.0 * MARGIN);
                    wide = f32::max(wide, x.max(y) / extent.max_element());
                    let middle = Vec3::from_array([0, 1, 2].map(|k| parts.middles[k][lane]));
                    assert_eq!(lane_of(&cell, sides, position(middle)), Some(lane));
                    assert!((middle.length() - 1.0).abs() < 2e-7);
                }
                cell = cell.child((5 * level as usize) % LANES);
            }
            // |∂x/∂a| and |∂x/∂b| are at most 1.27 and 0.56, of squares twice as wide.
            assert!(wide < 3.66, "{wide}");
        }
    }

    #[test]
    fn positions_and_directions_match() {
        let random = &mut Random::new(2);
        for _ in 0..100_000 {
            let w = unit(random);
            let p = position(w);
            assert!((direction(p) - w).abs().max_element() < 1e-6 / w.z.abs().max(1e-3), "{w} {p}");
            assert!(w.z >= 0.0 || p.x >= 1.0);
        }
    }
}
