//! Published results of Clarberg et al. 2010, tables 1 and 2: SSE, 4 evaluations at a time, without
//! NaN handling.

use lightbound_shader::bounding::IntervalInputs;
use lightbound_shader::lift::BoundSides;

/// Ratios of a bounding shader's cost to its point shader's before and after a step: naive and
/// optimized, or optimized and related.
pub(super) type RatioPair = [f64; 2];

/// The results for a shader. In arrays, results over light directions come first, then results over
/// all inputs.
struct PaperRow {
    shader: &'static str,
    /// Table 1: instruction ratios of upper bounds.
    upper: [RatioPair; 2],
    /// Table 2: instruction ratios of both bounds.
    both: [RatioPair; 2],
    /// Table 1: cycles of the point shader.
    point_cycles: f64,
    /// Table 1: cycles of upper bounds.
    cycles: [RatioPair; 2],
}

const ROWS: [PaperRow; 6] = [
    PaperRow {
        shader: "diffuse",
        upper: [[2.8, 1.6], [5.8, 3.2]],
        both: [[3.4, 2.8], [6.7, 4.9]],
        point_cycles: 20.0,
        cycles: [[32.0, 26.0], [58.0, 36.0]],
    },
    PaperRow {
        shader: "phong",
        upper: [[2.1, 1.2], [4.5, 2.7]],
        both: [[2.2, 2.1], [4.8, 4.0]],
        point_cycles: 182.0,
        cycles: [[311.0, 205.0], [559.0, 330.0]],
    },
    PaperRow {
        shader: "isoward",
        upper: [[3.3, 1.6], [4.7, 2.2]],
        both: [[3.4, 2.4], [4.9, 3.2]],
        point_cycles: 192.0,
        cycles: [[445.0, 273.0], [510.0, 317.0]],
    },
    PaperRow {
        shader: "ward",
        upper: [[3.4, 1.8], [5.3, 2.7]],
        both: [[3.5, 2.5], [5.4, 3.7]],
        point_cycles: 218.0,
        cycles: [[495.0, 325.0], [623.0, 420.0]],
    },
    PaperRow {
        shader: "ashikhmin",
        upper: [[2.8, 1.9], [3.8, 2.3]],
        both: [[2.8, 2.3], [3.8, 3.0]],
        point_cycles: 514.0,
        cycles: [[1289.0, 813.0], [1535.0, 898.0]],
    },
    PaperRow {
        shader: "fractal",
        upper: [[4.1, 2.6], [4.5, 3.0]],
        both: [[4.2, 2.8], [4.6, 3.1]],
        point_cycles: 1297.0,
        cycles: [[4546.0, 3155.0], [4323.0, 3036.0]],
    },
];

/// Returns the instruction ratios of a shader's bounds; `None` if the paper has none.
pub(super) fn instructions(
    shader: &str,
    inputs: IntervalInputs,
    sides: BoundSides,
) -> Option<RatioPair> {
    let row = ROWS.iter().find(|row| row.shader == shader)?;
    let pairs = match sides {
        BoundSides::Upper => row.upper,
        BoundSides::Lower => return None,
        BoundSides::Both => row.both,
    };
    Some(pairs[inputs as usize])
}

/// Returns the cycle ratios of a shader's bounds. The paper has those of upper bounds only.
pub(super) fn cycles(shader: &str, inputs: IntervalInputs, sides: BoundSides) -> Option<RatioPair> {
    let row = ROWS.iter().find(|row| row.shader == shader && sides == BoundSides::Upper)?;
    Some(row.cycles[inputs as usize].map(|cycles| cycles / row.point_cycles))
}

/// Returns the average fraction of instructions saved, as printed in the paper.
pub(super) fn instructions_saved(inputs: IntervalInputs, sides: BoundSides) -> Option<f64> {
    match (sides, inputs) {
        (BoundSides::Upper, IntervalInputs::Light) => Some(0.418),
        (BoundSides::Upper, IntervalInputs::All) => Some(0.439),
        (BoundSides::Lower, _) => None,
        (BoundSides::Both, IntervalInputs::Light) => Some(0.238),
        (BoundSides::Both, IntervalInputs::All) => Some(0.271),
    }
}

/// Returns the average fraction of cycles saved, as printed in the paper.
pub(super) fn cycles_saved(inputs: IntervalInputs, sides: BoundSides) -> Option<f64> {
    (sides == BoundSides::Upper).then_some(match inputs {
        IntervalInputs::Light => 0.328,
        IntervalInputs::All => 0.367,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn row_averages_match_printed_averages() {
        let mean = |results: fn(&str, IntervalInputs, BoundSides) -> Option<RatioPair>,
                    inputs,
                    sides,
                    k: usize| {
            ROWS.iter().map(|row| results(row.shader, inputs, sides).unwrap()[k]).sum::<f64>()
                / ROWS.len() as f64
        };
        for (results, inputs, sides, expected) in [
            (
                instructions as fn(&str, IntervalInputs, BoundSides) -> Option<RatioPair>,
                IntervalInputs::Light,
                BoundSides::Upper,
                [3.1, 1.8],
            ),
            (instructions, IntervalInputs::All, BoundSides::Upper, [4.8, 2.7]),
            (instructions, IntervalInputs::Light, BoundSides::Both, [3.2, 2.5]),
            (instructions, IntervalInputs::All, BoundSides::Both, [5.0, 3.7]),
            (cycles, IntervalInputs::Light, BoundSides::Upper, [2.3, 1.6]),
            (cycles, IntervalInputs::All, BoundSides::Upper, [3.0, 1.9]),
        ] {
            for k in [0, 1] {
                let mean = mean(results, inputs, sides, k);
                assert!(
                    (mean - expected[k]).abs() < 0.06,
                    "{inputs:?} {sides:?}: the average is {mean} instead of {}",
                    expected[k]
                );
            }
        }
    }
}
