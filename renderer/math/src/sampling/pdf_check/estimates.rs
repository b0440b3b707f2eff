//! Estimates of both sides of the tested identity in each cell, and their comparison.

use super::partition::CellTree;
use super::{Mismatch, Settings};

/// Averages over the samples of p and of q in a cell.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Estimates {
    /// Fraction of the samples of p that fall in the cell.
    pub drawn: f64,
    /// Mean of p/q over samples of q: an estimate of the integral of p.
    pub claimed: f64,
    /// Estimates of both sides of the identity, from samples of p and from samples of q.
    pub sides: [f64; 2],
    /// Second moments of the averaged values, each estimated from samples of p and of q.
    pub squares: [[f64; 2]; 2],
    /// Sum of the squared means of q's cells: the variance that stratification removes.
    pub stratified: f64,
}

impl Estimates {
    fn plus(mut self, other: &Estimates) -> Estimates {
        self.drawn += other.drawn;
        self.claimed += other.claimed;
        self.stratified += other.stratified;
        for k in 0..2 {
            self.sides[k] += other.sides[k];
            for source in 0..2 {
                self.squares[k][source] += other.squares[k][source];
            }
        }
        self
    }

    /// Squared standard error of the difference between the sides. Uses the larger estimate of each
    /// second moment, because samples of one density can miss peaks that samples of the other hit.
    fn variance(&self, settings: &Settings) -> f64 {
        let counted = f64::from(settings.counted[0] * settings.counted[1]);
        let within = f64::from(settings.within[0] * settings.within[1]);
        let [p, q] = self.squares.map(|[from_p, from_q]| from_p.max(from_q));
        let variance_p = (p - self.sides[0] * self.sides[0]).max(0.0) / counted;
        let variance_q = (q - self.stratified).max(0.0) / (within * settings.leaves() as f64);
        variance_p + variance_q + 4.0 / (counted * counted)
    }

    /// Amount by which the difference between the sides exceeds the tolerance, in standard errors.
    fn excess(&self, settings: &Settings) -> f64 {
        let [a, b] = self.sides;
        let beyond = (a - b).abs() - 0.5 * settings.tolerance * (a + b);
        beyond.max(0.0) / self.variance(settings).sqrt()
    }
}

/// Compares samples and density in all cells, from the entire domain down to the smallest cells,
/// and pooled over each level.
pub(super) fn compare(
    settings: &Settings,
    tree: &CellTree,
    leaves: &[Estimates],
) -> Result<(), Mismatch> {
    for depth in 0..=settings.compared {
        let cells: Vec<Estimates> = leaves
            .chunks(leaves.len() >> depth)
            .map(|leaves| leaves.iter().fold(Estimates::default(), |sum, leaf| sum.plus(leaf)))
            .collect();
        let excess: Vec<f64> = cells.iter().map(|cell| cell.excess(settings)).collect();
        let worst = (0..cells.len())
            .max_by(|&a, &b| excess[a].total_cmp(&excess[b]))
            .expect("each level has a cell");
        // χ² of all cells of the level; its mean is `dof`, its variance twice that.
        let statistic = excess.iter().map(|excess| excess * excess).sum::<f64>();
        let dof = cells.len() as f64;
        let pooled_fails = depth >= settings.pooled
            && statistic > dof + settings.max_deviations * (2.0 * dof).sqrt();
        if excess[worst] > settings.max_deviations || pooled_fails {
            let Estimates { drawn, claimed, .. } = cells[worst];
            return Err(Mismatch::Shares { cell: tree.node(depth, worst), drawn, claimed });
        }
    }
    Ok(())
}
