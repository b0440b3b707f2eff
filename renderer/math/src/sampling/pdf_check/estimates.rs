//! Estimates both sides of the tested identity in each cell, and compares them.

use super::partition::CellTree;
use super::{Mismatch, Settings};

/// Averages over the samples of p and of q in a cell.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Estimates {
    /// Fraction of the samples of p that fall in the cell.
    pub sampled_fraction: f64,
    /// Mean of p/q over samples of q: an estimate of the integral of p.
    pub pdf_integral: f64,
    /// Estimates of both sides of the identity, from samples of p and from samples of q.
    pub sides: [f64; 2],
    /// Second moments of the averaged values, each estimated from samples of p and of q.
    pub second_moments: [[f64; 2]; 2],
    /// Sum over q's cells of the squared cell mean, weighted by probability. Stratification by cell
    /// removes this part of the second moment from the variance.
    pub squared_cell_means: f64,
}

impl Estimates {
    /// Adds the estimates of another cell.
    fn merge(mut self, other: &Estimates) -> Estimates {
        self.sampled_fraction += other.sampled_fraction;
        self.pdf_integral += other.pdf_integral;
        self.squared_cell_means += other.squared_cell_means;
        for k in 0..2 {
            self.sides[k] += other.sides[k];
            for source in 0..2 {
                self.second_moments[k][source] += other.second_moments[k][source];
            }
        }
        self
    }

    /// Returns the squared standard error of the difference between the sides. Uses the larger
    /// estimate of each second moment, since samples of one density can miss peaks that samples of
    /// the other density hit.
    fn variance(&self, settings: &Settings) -> f64 {
        let p_samples = f64::from(settings.p_strata[0] * settings.p_strata[1]);
        let [columns, rows] = settings.q_strata_per_cell;
        let q_samples_per_cell = f64::from(columns * rows);
        let [p, q] = self.second_moments.map(|[from_p, from_q]| from_p.max(from_q));
        let variance_p = (p - self.sides[0] * self.sides[0]).max(0.0) / p_samples;
        let variance_q = (q - self.squared_cell_means).max(0.0)
            / (q_samples_per_cell * settings.cell_count() as f64);
        variance_p + variance_q + 4.0 / (p_samples * p_samples)
    }

    /// Returns how far the difference between the sides exceeds the tolerance, in standard errors.
    fn excess(&self, settings: &Settings) -> f64 {
        let [a, b] = self.sides;
        let excess = (a - b).abs() - 0.5 * settings.tolerance * (a + b);
        excess.max(0.0) / self.variance(settings).sqrt()
    }
}

/// Compares samples and density in all cells, from the entire domain down to the smallest compared
/// cells, and pooled over each level.
pub(super) fn compare(
    settings: &Settings,
    tree: &CellTree,
    leaves: &[Estimates],
) -> Result<(), Mismatch> {
    for depth in 0..=settings.compared_depth {
        let cells: Vec<Estimates> = leaves
            .chunks(leaves.len() >> depth)
            .map(|leaves| leaves.iter().fold(Estimates::default(), |sum, leaf| sum.merge(leaf)))
            .collect();
        let excess: Vec<f64> = cells.iter().map(|cell| cell.excess(settings)).collect();
        let worst = (0..cells.len())
            .max_by(|&a, &b| excess[a].total_cmp(&excess[b]))
            .expect("each level has a cell");
        // χ² of all cells of the level; its mean is `dof`, its variance twice that.
        let chi_square = excess.iter().map(|excess| excess * excess).sum::<f64>();
        let dof = cells.len() as f64;
        let pooled_fails = depth >= settings.min_pooled_depth
            && chi_square > dof + settings.max_standard_errors * (2.0 * dof).sqrt();
        if excess[worst] > settings.max_standard_errors || pooled_fails {
            let Estimates { sampled_fraction, pdf_integral, .. } = cells[worst];
            let cell = tree.node(depth, worst);
            return Err(Mismatch::Probability { cell, sampled_fraction, pdf_integral });
        }
    }
    Ok(())
}
