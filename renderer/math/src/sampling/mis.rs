//! Multiple importance sampling: Veach 1997 §9.2.

/// The power heuristic with β = 2: the weight of a sample drawn with density `pdf` if the other
/// strategy has density `other`.
///
/// Uses the ratio of the densities, so that their squares cannot overflow. The weights of the two
/// strategies sum to 1, even for infinite densities, unless both densities are 0. A density of 0
/// has weight 0.
#[inline(always)]
pub fn power_heuristic(pdf: f32, other: f32) -> f32 {
    if pdf == 0.0 {
        return 0.0;
    }
    let ratio = if pdf == other { 1.0 } else { other / pdf };
    1.0 / (1.0 + ratio * ratio)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_sum_to_one() {
        let densities = [0.0, 1e-45, 1e-30, 0.25, 1.0, 3.0, 1e30, f32::MAX, f32::INFINITY];
        for a in densities {
            for b in densities {
                let sum = power_heuristic(a, b) + power_heuristic(b, a);
                let expected = if a == 0.0 && b == 0.0 { 0.0 } else { 1.0 };
                assert!((sum - expected).abs() < 1e-6, "{a} {b}: {sum}");
            }
        }
        assert_eq!(power_heuristic(3.0, 1.0), 0.9);
        assert_eq!(power_heuristic(f32::INFINITY, 1.0), 1.0);
    }
}
