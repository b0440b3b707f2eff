//! Trees of directions of one material, tabulated over `wo`: for materials that are the same all
//! over a surface.
//!
//! `wo` has cells, nearly even in its two angles, each with a tree that is grown from its middle
//! when the cell is first met; what it is depends on the cell alone, whichever thread comes first.
//! From elsewhere in the cell, the tree is *shifted* in the disk by what parts `wo` from the
//! middle, against it: so does a lobe about the mirror direction move, and to first order any lobe
//! whose half vector stays. What a shift by −s takes out of the disk, the d with |d − s| > 1, goes
//! to −d, which are just the points that it leaves bare. So the disk is mapped onto itself and
//! areas stay, the density is exact, and what is diffuse stays so. What a point may see that the
//! middle does not is drawn by the cosine, as a small part of all directions is. Materials with
//! narrow lobes that move otherwise are told by [`Grower::follows`](super::Grower::follows), and
//! have no use of a table.

use super::cells::{direction, width};
use super::tree::DirectionTree;
use crate::math::{Vec2, Vec3, vec2, vec3};
use crate::sampling::ONE_MINUS_EPSILON;
use lightbound_shader::Sides;
use std::f32::consts::{FRAC_1_PI, FRAC_1_SQRT_2};
use std::sync::OnceLock;

/// The part of directions that the cosine draws.
const BY_COSINE: f32 = 0.05;

/// Rows of cells from the normal to the horizon; there are twice as many around it.
const ROWS: usize = 32;

/// Trees for all directions from which a material is seen.
#[derive(Debug)]
pub struct TreeTable {
    sides: Sides,
    rows: usize,
    cells: Box<[OnceLock<DirectionTree>]>,
    serves: OnceLock<bool>,
}

impl TreeTable {
    /// An empty one for shaders of these sides, if so many share `bytes` of memory, with trees of
    /// so many cells that are cut. `None` where there is no room for them.
    pub fn new(sides: Sides, tables: usize, cuts: usize, bytes: usize) -> Option<TreeTable> {
        let cell = size_of::<OnceLock<DirectionTree>>() + cuts * DirectionTree::NODE_BYTES;
        let size = |rows: usize| 2 * rows * rows * width(sides) as usize;
        // Two are the fewest, so that each quadrant has a column.
        let mut halved =
            std::iter::successors(Some(ROWS), |rows| Some(rows / 2)).take_while(|&rows| rows > 1);
        let rows = halved.find(|&rows| tables.saturating_mul(size(rows) * cell) <= bytes)?;
        Some(TreeTable {
            sides,
            rows,
            cells: (0..size(rows)).map(|_| OnceLock::new()).collect(),
            serves: OnceLock::new(),
        })
    }

    /// Whether it is good enough for its material, which `follows` finds out where nobody did.
    pub fn serves(&self, follows: impl FnOnce() -> bool) -> bool {
        *self.serves.get_or_init(follows)
    }

    /// The tree for a direction, grown from the middle of its cell where nobody did.
    pub fn tree(&self, wo: Vec3, grow: impl FnOnce(Vec3, &mut DirectionTree)) -> ShiftedTree<'_> {
        let (cell, middle) = self.cell(wo);
        let tree = self.cells[cell].get_or_init(|| {
            let mut tree = DirectionTree::cosine(self.sides);
            grow(middle, &mut tree);
            tree
        });
        ShiftedTree { tree, shift: (wo - middle).truncate() }
    }

    /// The number of the cell of a direction, and its middle.
    ///
    /// sin θ − cos θ, from −1 to 1, is nearly even in θ, and y/(|x| + |y|), in each quadrant, in φ.
    fn cell(&self, wo: Vec3) -> (usize, Vec3) {
        let (rows, columns) = (self.rows as f32, self.rows as f32 * 0.5);
        let place = |x: f32, count: f32| (x * count).clamp(0.0, count - 1.0).floor();
        let r = wo.truncate().length();
        let row = place(0.5 * (1.0 + r - wo.z.abs()), rows);
        let around = wo.y.abs() / (wo.x.abs() + wo.y.abs()).max(f32::MIN_POSITIVE);
        let column = place(around, columns);
        let quadrant =
            2 * usize::from(wo.x < 0.0) + usize::from(wo.y < 0.0) + 4 * usize::from(wo.z < 0.0);

        // sin θ − cos θ = c has sin θ = (c + √(2 − c²))/2.
        let c = 2.0 * (row + 0.5) / rows - 1.0;
        let root = (2.0 - c * c).sqrt();
        let (sin, cos) = (0.5 * (root + c), 0.5 * (root - c));
        let around = (column + 0.5) / columns;
        let out = vec2(1.0 - around, around).normalize() * sin;
        let middle =
            vec3(out.x.copysign(wo.x), out.y.copysign(wo.y), cos.copysign(wo.z)).normalize();
        let cell = (quadrant * self.rows / 2 + column as usize) * self.rows + row as usize;
        debug_assert!(
            (middle - wo).length() < 6.0 * FRAC_1_SQRT_2 / rows,
            "{wo} is in the cell of {middle}"
        );
        (cell, middle)
    }
}

/// A tree of directions, shifted.
#[derive(Clone, Copy, Debug)]
pub struct ShiftedTree<'a> {
    pub(super) tree: &'a DirectionTree,
    /// From the middle of the cell to `wo`, in the disk.
    pub(super) shift: Vec2,
}

impl ShiftedTree<'_> {
    /// A direction for numbers in [0, 1), and its density per steradian; `None` if the tree has
    /// none.
    pub fn draw(&self, u: Vec2) -> Option<(Vec3, f32)> {
        let wi = if u.x < BY_COSINE {
            direction(vec2(
                (u.x / BY_COSINE).min(ONE_MINUS_EPSILON) * width(self.tree.sides()),
                u.y,
            ))
        } else {
            let u = vec2(((u.x - BY_COSINE) / (1.0 - BY_COSINE)).min(ONE_MINUS_EPSILON), u.y);
            self.shifted(self.tree.draw(u)?.0)
        };
        Some((wi, self.pdf(wi)))
    }

    /// Where a direction of the tree goes.
    #[inline]
    pub(super) fn shifted(&self, there: Vec3) -> Vec3 {
        let moved = there.truncate() - self.shift;
        let height2 = 1.0 - moved.length_squared();
        if height2 > 0.0 {
            moved.extend(height2.sqrt().copysign(there.z))
        } else {
            vec3(-there.x, -there.y, there.z)
        }
    }

    /// Density of a unit direction per steradian.
    pub fn pdf(&self, wi: Vec3) -> f32 {
        let sides = self.tree.sides();
        if !sides.covers(wi.z) {
            return 0.0;
        }
        self.per_area(wi) * wi.z.abs() * FRAC_1_PI
    }

    /// Probability by the area of the disk at a direction where there are any.
    pub(super) fn per_area(&self, wi: Vec3) -> f32 {
        BY_COSINE / width(self.tree.sides())
            + (1.0 - BY_COSINE) * self.tree.per_area(self.unshifted(wi))
    }

    /// Where a direction is in the tree: x and y, and the sign of z.
    #[inline]
    pub(super) fn unshifted(&self, wi: Vec3) -> Vec3 {
        let moved = wi.truncate() + self.shift;
        let there = if moved.length_squared() < 1.0 { moved } else { -wi.truncate() };
        there.extend(wi.z)
    }
}

/// Draws and masses held against each other.
#[cfg(test)]
impl ShiftedTree<'_> {
    /// χ² of so many draws over all cells of the tree, shifted: its p-value; and the share of draws
    /// whose density is not that of their direction.
    pub fn chi_square(
        &self,
        random: &mut lightbound_shader::ir::random::Random,
        draws: usize,
    ) -> [f64; 2] {
        use crate::math::direction_box::testing::uniform;
        let mut differ = 0;
        let draw = || {
            let (wi, pdf) =
                self.draw(vec2(uniform(random), uniform(random))).expect("there is mass");
            assert!(
                pdf > 0.0
                    && self.tree.sides().covers(wi.z)
                    && (wi.length_squared() - 1.0).abs() < 4e-7,
                "{wi} {pdf}"
            );
            differ += u32::from(pdf != self.pdf(wi));
            self.unshifted(wi)
        };
        let p = self.tree.chi_square_of(draw, BY_COSINE, draws);
        [p, f64::from(differ) / draws as f64]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::direction_box::testing::{uniform, unit};
    use lightbound_shader::ir::random::Random;

    #[test]
    fn cells_are_small_and_have_their_middles() {
        let random = &mut Random::new(1);
        for sides in [Sides::One, Sides::Both] {
            let table = TreeTable::new(sides, 1, 1, 1 << 30).expect("there is room");
            let mut met = vec![false; table.cells.len()];
            for _ in 0..100_000 {
                let w = unit(random);
                let wo = if sides == Sides::One { vec3(w.x, w.y, w.z.abs()) } else { w };
                let (cell, middle) = table.cell(wo);
                met[cell] = true;
                assert_eq!(table.cell(middle).0, cell, "{wo}");
                assert!((wo - middle).length() < 0.09, "{wo} {middle}");
            }
            // Those about the normal are tiny.
            assert!(met.iter().filter(|met| **met).count() > met.len() / 10 * 8);
        }
        for wo in [Vec3::Z, Vec3::X, -Vec3::Y, -Vec3::Z, vec3(1e-30, 0.0, 1.0)] {
            let table = TreeTable::new(Sides::Both, 1, 1, 1 << 30).expect("there is room");
            assert!((table.cell(wo).1 - wo).length() < 0.09);
        }
    }

    #[test]
    fn what_is_diffuse_stays_so() {
        let random = &mut Random::new(2);
        for sides in [Sides::One, Sides::Both] {
            let tree = DirectionTree::cosine(sides);
            for _ in 0..1000 {
                let shifted = ShiftedTree { tree: &tree, shift: 0.08 * unit(random).truncate() };
                let (wi, pdf) =
                    shifted.draw(vec2(uniform(random), uniform(random))).expect("there is mass");
                assert!((wi.length_squared() - 1.0).abs() < 4e-7, "{wi}");
                assert!(pdf > 0.0 && (pdf / tree.pdf(wi) - 1.0).abs() < 1e-5, "{wi}: {pdf}");
            }
        }
    }

    #[test]
    fn memory_is_bounded() {
        const BYTES: usize = 1 << 24;
        for sides in [Sides::One, Sides::Both] {
            for tables in [1, 7, 40, 100, 1000, usize::MAX] {
                let Some(table) = TreeTable::new(sides, tables, 100, BYTES) else {
                    assert!(tables >= 100, "{tables} have room");
                    continue;
                };
                let most = table.cells.len()
                    * (100 * DirectionTree::NODE_BYTES + size_of::<OnceLock<DirectionTree>>());
                assert!(
                    tables * most <= BYTES && (5 * tables * most > BYTES || table.rows == ROWS),
                    "{tables}"
                );
                let above = if sides == Sides::Both { -1.0 } else { 1.0 };
                for wo in [Vec3::X, Vec3::Y, Vec3::Z, vec3(-0.6, -0.48, above * 0.64)] {
                    assert!(table.cell(wo).0 < table.cells.len(), "{wo}");
                }
            }
        }
    }
}
