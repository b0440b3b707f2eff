//! Direction trees of one material, tabulated over `wo`, for materials with constant parameters.
//!
//! The domain of `wo` is divided into cells that are nearly uniform in both angles. The tree of a
//! cell is built for the cell's centre when it is first needed. It depends only on the cell, so the
//! order of threads does not matter. For any other `wo` in the cell, the tree is *shifted* in the
//! disk by the negative offset of `wo` from the centre. A lobe around the mirror direction moves
//! exactly like this. Any lobe with a constant half vector moves like this to first order. A shift
//! by −s moves points d with |d − s| > 1 out of the disk. They are mapped to −d, which fill exactly
//! the uncovered region. So the disk is mapped onto itself and areas are preserved: the density is
//! exact, and diffuse lobes do not change. A small fraction of directions is sampled by the cosine.
//! It covers directions to which `wo` scatters but the centre does not.
//! [`AdaptiveBuilder::is_table_suitable`](super::AdaptiveBuilder::is_table_suitable) detects
//! materials with narrow lobes that move differently. They use no table. Near the horizon, the shift
//! is as wide as the region between the mirror direction and the edge of the disk. So materials with
//! narrow lobes use no table for `wo` [there](TreeTable::is_grazing), either.

use super::cells::DirectionDomain;
use super::tree::DirectionTree;
use lightbound_math::sampling::ONE_MINUS_EPSILON;
use lightbound_math::{Vec2, Vec3, vec2, vec3};
use lightbound_shader::SurfaceSides;
use std::f32::consts::FRAC_1_SQRT_2;
use std::sync::OnceLock;

/// Fraction of directions sampled by the cosine.
const COSINE_FRACTION: f32 = 0.05;

/// Maximum number of rows of cells from the normal to the horizon. There are twice as many columns.
const MAX_ROWS: usize = 32;

/// Maximum cosine of grazing `wo`, times the number of rows. For others, the width of a row, about
/// π/2 divided by the number of rows, is at most a sixth of cos θ if there are 20 rows or more.
const GRAZING_COSINE_ROWS: f32 = 10.0;

/// The `wo` for which a table may be suitable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutgoingDirections {
    All,
    Grazing,
}

/// Trees of a material for all `wo`.
#[derive(Debug)]
pub struct TreeTable {
    domain: DirectionDomain,
    rows: usize,
    cells: Box<[OnceLock<DirectionTree>]>,
    /// Whether the table is suitable, for grazing `wo` and for all.
    suitable: [OnceLock<bool>; 2],
}

impl TreeTable {
    /// Creates an empty table for trees of up to `splits` split cells. `tables` such tables share
    /// `bytes` of memory; `None` if they do not fit.
    pub fn new(
        sides: SurfaceSides,
        tables: usize,
        splits: usize,
        bytes: usize,
    ) -> Option<TreeTable> {
        let domain = DirectionDomain::Surface(sides);
        let cell_bytes = size_of::<OnceLock<DirectionTree>>() + splits * DirectionTree::NODE_BYTES;
        let cells = |rows: usize| 2 * rows * rows * domain.width() as usize;
        // At least two rows, so that each quadrant has a column.
        let mut row_counts = std::iter::successors(Some(MAX_ROWS), |rows| Some(rows / 2))
            .take_while(|&rows| rows > 1);
        let rows =
            row_counts.find(|&rows| tables.saturating_mul(cells(rows) * cell_bytes) <= bytes)?;
        Some(TreeTable {
            domain,
            rows,
            cells: (0..cells(rows)).map(|_| OnceLock::new()).collect(),
            suitable: Default::default(),
        })
    }

    /// Returns whether a shift may be as wide as the region between `wo` and the horizon.
    fn is_grazing(&self, wo: Vec3) -> bool {
        wo.z.abs() < self.max_grazing_cosine()
    }

    /// Returns the maximum cosine of grazing `wo`.
    pub(super) fn max_grazing_cosine(&self) -> f32 {
        (GRAZING_COSINE_ROWS / self.rows as f32).min(0.5)
    }

    /// Returns whether the table is suitable for its material and `wo`. `test` returns whether it
    /// is suitable for grazing `wo`, or for all; it is called once for each at most.
    pub fn is_suitable(&self, wo: Vec3, mut test: impl FnMut(OutgoingDirections) -> bool) -> bool {
        use OutgoingDirections::{All, Grazing};
        let [grazing, all] = &self.suitable;
        *all.get_or_init(|| test(All))
            && (!self.is_grazing(wo) || *grazing.get_or_init(|| test(Grazing)))
    }

    /// Returns the tree for `wo`. Calls `build` with the cell's centre if the cell has no tree yet.
    pub fn tree(&self, wo: Vec3, build: impl FnOnce(Vec3, &mut DirectionTree)) -> ShiftedTree<'_> {
        let (cell, center) = self.cell(wo);
        let tree = self.cells[cell].get_or_init(|| {
            let mut tree = DirectionTree::constant(self.domain);
            build(center, &mut tree);
            tree
        });
        ShiftedTree { tree, shift: (wo - center).truncate() }
    }

    /// Returns the index of a direction's cell, and the cell's centre.
    ///
    /// sin θ − cos θ, from −1 to 1, is nearly uniform in θ. Likewise, y/(|x| + |y|) is nearly
    /// uniform in φ in each quadrant.
    fn cell(&self, wo: Vec3) -> (usize, Vec3) {
        let (rows, columns) = (self.rows as f32, self.rows as f32 * 0.5);
        let index = |x: f32, count: f32| (x * count).clamp(0.0, count - 1.0).floor();
        let r = wo.truncate().length();
        let row = index(0.5 * (1.0 + r - wo.z.abs()), rows);
        let azimuth = wo.y.abs() / (wo.x.abs() + wo.y.abs()).max(f32::MIN_POSITIVE);
        let column = index(azimuth, columns);
        let quadrant =
            2 * usize::from(wo.x < 0.0) + usize::from(wo.y < 0.0) + 4 * usize::from(wo.z < 0.0);

        // sin θ − cos θ = c has sin θ = (c + √(2 − c²))/2.
        let c = 2.0 * (row + 0.5) / rows - 1.0;
        let root = (2.0 - c * c).sqrt();
        let (sin, cos) = (0.5 * (root + c), 0.5 * (root - c));
        let azimuth = (column + 0.5) / columns;
        let xy = vec2(1.0 - azimuth, azimuth).normalize() * sin;
        let center = vec3(xy.x.copysign(wo.x), xy.y.copysign(wo.y), cos.copysign(wo.z)).normalize();
        let cell = (quadrant * self.rows / 2 + column as usize) * self.rows + row as usize;
        debug_assert!(
            (center - wo).length() < 6.0 * FRAC_1_SQRT_2 / rows,
            "{wo} is in the cell of {center}"
        );
        (cell, center)
    }
}

/// A direction tree, shifted in the disk.
#[derive(Clone, Copy, Debug)]
pub struct ShiftedTree<'a> {
    tree: &'a DirectionTree,
    /// Offset of `wo` from the centre of the cell, in the disk.
    shift: Vec2,
}

impl ShiftedTree<'_> {
    /// Samples a direction with two random numbers in [0, 1). Returns it with its density, 1/sr;
    /// `None` if the sample is invalid.
    pub fn sample(&self, u: Vec2) -> Option<(Vec3, f32)> {
        let wi = if u.x < COSINE_FRACTION {
            let domain = self.tree.domain();
            domain.direction(vec2(
                (u.x / COSINE_FRACTION).min(ONE_MINUS_EPSILON) * domain.width(),
                u.y,
            ))
        } else {
            let u = vec2(
                ((u.x - COSINE_FRACTION) / (1.0 - COSINE_FRACTION)).min(ONE_MINUS_EPSILON),
                u.y,
            );
            self.shifted(self.tree.sample(u)?.0)
        };
        Some((wi, self.pdf(wi)))
    }

    /// Maps a direction of the tree to the shading frame.
    #[inline]
    fn shifted(&self, tree_wi: Vec3) -> Vec3 {
        let xy = tree_wi.truncate() - self.shift;
        let height2 = 1.0 - xy.length_squared();
        if height2 > 0.0 {
            xy.extend(height2.sqrt().copysign(tree_wi.z))
        } else {
            vec3(-tree_wi.x, -tree_wi.y, tree_wi.z)
        }
    }

    /// Returns the density of a unit direction, 1/sr.
    pub fn pdf(&self, wi: Vec3) -> f32 {
        let domain = self.tree.domain();
        if !domain.covers(wi.z) {
            return 0.0;
        }
        domain.density(self.disk_pdf(wi), wi)
    }

    /// Returns the density per area of the disk, at a direction on a scattering side.
    pub(super) fn disk_pdf(&self, wi: Vec3) -> f32 {
        COSINE_FRACTION / self.tree.domain().width()
            + (1.0 - COSINE_FRACTION) * self.tree.disk_pdf(self.unshifted(wi))
    }

    /// Maps a direction in the shading frame to the tree. The result has the same z, so it is not a
    /// unit vector.
    #[inline]
    fn unshifted(&self, wi: Vec3) -> Vec3 {
        let shifted = wi.truncate() + self.shift;
        let xy = if shifted.length_squared() < 1.0 { shifted } else { -wi.truncate() };
        xy.extend(wi.z)
    }
}

/// Comparison of sampling frequencies with masses, for tests.
#[cfg(test)]
impl ShiftedTree<'_> {
    /// Returns the p-value of a χ² test over all cells of the shifted tree, and the fraction of
    /// samples for which [`pdf`](Self::pdf) returns another density.
    pub fn chi_square(
        &self,
        random: &mut lightbound_shader::random::Random,
        draws: usize,
    ) -> [f64; 2] {
        use lightbound_math::direction_box::testing::uniform;
        let mut differ = 0;
        let draw = || {
            let (wi, pdf) =
                self.sample(vec2(uniform(random), uniform(random))).expect("the tree is not empty");
            assert!(
                pdf > 0.0
                    && self.tree.domain().covers(wi.z)
                    && (wi.length_squared() - 1.0).abs() < 4e-7,
                "{wi} {pdf}"
            );
            differ += u32::from(pdf != self.pdf(wi));
            self.unshifted(wi)
        };
        let p = self.tree.chi_square_of_samples(draw, COSINE_FRACTION, draws);
        [p, f64::from(differ) / draws as f64]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lightbound_math::direction_box::testing::{uniform, unit};
    use lightbound_shader::random::Random;

    #[test]
    fn cells_are_small_and_contain_their_centers() {
        let random = &mut Random::new(1);
        for sides in [SurfaceSides::One, SurfaceSides::Both] {
            let table = TreeTable::new(sides, 1, 1, 1 << 30).expect("the table fits");
            let mut visited = vec![false; table.cells.len()];
            for _ in 0..100_000 {
                let w = unit(random);
                let wo = if sides == SurfaceSides::One { vec3(w.x, w.y, w.z.abs()) } else { w };
                let (cell, center) = table.cell(wo);
                visited[cell] = true;
                assert_eq!(table.cell(center).0, cell, "{wo}");
                assert!((wo - center).length() < 0.09, "{wo} {center}");
            }
            // Cells around the normal are tiny, so some may not be visited.
            assert!(visited.iter().filter(|&&v| v).count() > visited.len() / 10 * 8);
        }
        for wo in [Vec3::Z, Vec3::X, -Vec3::Y, -Vec3::Z, vec3(1e-30, 0.0, 1.0)] {
            let table = TreeTable::new(SurfaceSides::Both, 1, 1, 1 << 30).expect("the table fits");
            assert!((table.cell(wo).1 - wo).length() < 0.09);
        }
    }

    #[test]
    fn shifted_cosine_stays_cosine() {
        let random = &mut Random::new(2);
        for sides in [SurfaceSides::One, SurfaceSides::Both] {
            let tree = DirectionTree::cosine(sides);
            for _ in 0..1000 {
                let shifted = ShiftedTree { tree: &tree, shift: 0.08 * unit(random).truncate() };
                let (wi, pdf) = shifted
                    .sample(vec2(uniform(random), uniform(random)))
                    .expect("the tree is not empty");
                assert!((wi.length_squared() - 1.0).abs() < 4e-7, "{wi}");
                assert!(pdf > 0.0 && (pdf / tree.pdf(wi) - 1.0).abs() < 1e-5, "{wi}: {pdf}");
            }
        }
    }

    #[test]
    fn table_memory_is_bounded() {
        const BYTES: usize = 1 << 24;
        for sides in [SurfaceSides::One, SurfaceSides::Both] {
            for tables in [1, 7, 40, 100, 1000, usize::MAX] {
                let Some(table) = TreeTable::new(sides, tables, 100, BYTES) else {
                    assert!(tables >= 100, "{tables} tables do not fit");
                    continue;
                };
                let table_bytes = table.cells.len()
                    * (100 * DirectionTree::NODE_BYTES + size_of::<OnceLock<DirectionTree>>());
                assert!(
                    tables * table_bytes <= BYTES
                        && (5 * tables * table_bytes > BYTES || table.rows == MAX_ROWS),
                    "{tables}"
                );
                let z_sign = if sides == SurfaceSides::Both { -1.0 } else { 1.0 };
                for wo in [Vec3::X, Vec3::Y, Vec3::Z, vec3(-0.6, -0.48, z_sign * 0.64)] {
                    assert!(table.cell(wo).0 < table.cells.len(), "{wo}");
                }
            }
        }
    }
}
