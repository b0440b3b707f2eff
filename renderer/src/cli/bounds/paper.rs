//! The figures of Clarberg et al. 2010, tables 1 and 2: SSE, 4 evaluations at a time, without
//! handling of NaN.

use crate::cli::variant::{Inputs, Sides};

/// Ratios of a bounding shader to its point shader: naive and optimized.
pub(super) type Pair = [f64; 2];

/// What the paper has of a shader; each first for light directions, then for all inputs.
struct Row {
    shader: &'static str,
    /// Table 1, instructions of upper bounds.
    upper: [Pair; 2],
    /// Table 2, instructions of both bounds.
    both: [Pair; 2],
    /// Table 1, cycles of the point shader, and of upper bounds.
    point_cycles: f64,
    cycles: [Pair; 2],
}

const ROWS: [Row; 6] = [
    Row {
        shader: "diffuse",
        upper: [[2.8, 1.6], [5.8, 3.2]],
        both: [[3.4, 2.8], [6.7, 4.9]],
        point_cycles: 20.0,
        cycles: [[32.0, 26.0], [58.0, 36.0]],
    },
    Row {
        shader: "phong",
        upper: [[2.1, 1.2], [4.5, 2.7]],
        both: [[2.2, 2.1], [4.8, 4.0]],
        point_cycles: 182.0,
        cycles: [[311.0, 205.0], [559.0, 330.0]],
    },
    Row {
        shader: "isoward",
        upper: [[3.3, 1.6], [4.7, 2.2]],
        both: [[3.4, 2.4], [4.9, 3.2]],
        point_cycles: 192.0,
        cycles: [[445.0, 273.0], [510.0, 317.0]],
    },
    Row {
        shader: "ward",
        upper: [[3.4, 1.8], [5.3, 2.7]],
        both: [[3.5, 2.5], [5.4, 3.7]],
        point_cycles: 218.0,
        cycles: [[495.0, 325.0], [623.0, 420.0]],
    },
    Row {
        shader: "ashikhmin",
        upper: [[2.8, 1.9], [3.8, 2.3]],
        both: [[2.8, 2.3], [3.8, 3.0]],
        point_cycles: 514.0,
        cycles: [[1289.0, 813.0], [1535.0, 898.0]],
    },
    Row {
        shader: "fractal",
        upper: [[4.1, 2.6], [4.5, 3.0]],
        both: [[4.2, 2.8], [4.6, 3.1]],
        point_cycles: 1297.0,
        cycles: [[4546.0, 3155.0], [4323.0, 3036.0]],
    },
];

/// Static instructions of a shader's bounds.
pub(super) fn instructions(shader: &str, inputs: Inputs, sides: Sides) -> Option<Pair> {
    let row = ROWS.iter().find(|row| row.shader == shader)?;
    let pairs = match sides {
        Sides::Upper => row.upper,
        Sides::Lower => return None,
        Sides::Both => row.both,
    };
    Some(pairs[inputs as usize])
}

/// Cycles of a shader's upper bounds.
pub(super) fn cycles(shader: &str, inputs: Inputs, sides: Sides) -> Option<Pair> {
    let row = ROWS.iter().find(|row| row.shader == shader && sides == Sides::Upper)?;
    Some(row.cycles[inputs as usize].map(|cycles| cycles / row.point_cycles))
}

/// Part of the instructions that is saved on average, as printed in the paper.
pub(super) fn instructions_saved(inputs: Inputs, sides: Sides) -> Option<f64> {
    match (sides, inputs) {
        (Sides::Upper, Inputs::Light) => Some(0.418),
        (Sides::Upper, Inputs::All) => Some(0.439),
        (Sides::Lower, _) => None,
        (Sides::Both, Inputs::Light) => Some(0.238),
        (Sides::Both, Inputs::All) => Some(0.271),
    }
}

/// Part of the cycles that is saved on average, as printed in the paper.
pub(super) fn cycles_saved(inputs: Inputs, sides: Sides) -> Option<f64> {
    (sides == Sides::Upper).then_some(match inputs {
        Inputs::Light => 0.328,
        Inputs::All => 0.367,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Averages as printed.
    #[test]
    fn rows_have_the_averages_of_the_paper() {
        let mean = |of: fn(&str, Inputs, Sides) -> Option<Pair>, inputs, sides, k: usize| {
            ROWS.iter().map(|row| of(row.shader, inputs, sides).unwrap()[k]).sum::<f64>()
                / ROWS.len() as f64
        };
        for (of, inputs, sides, expected) in [
            (
                instructions as fn(&str, Inputs, Sides) -> Option<Pair>,
                Inputs::Light,
                Sides::Upper,
                [3.1, 1.8],
            ),
            (instructions, Inputs::All, Sides::Upper, [4.8, 2.7]),
            (instructions, Inputs::Light, Sides::Both, [3.2, 2.5]),
            (instructions, Inputs::All, Sides::Both, [5.0, 3.7]),
            (cycles, Inputs::Light, Sides::Upper, [2.3, 1.6]),
            (cycles, Inputs::All, Sides::Upper, [3.0, 1.9]),
        ] {
            for k in [0, 1] {
                let mean = mean(of, inputs, sides, k);
                assert!(
                    (mean - expected[k]).abs() < 0.06,
                    "{inputs:?} {sides:?}: {mean}, not {}",
                    expected[k]
                );
            }
        }
    }
}
