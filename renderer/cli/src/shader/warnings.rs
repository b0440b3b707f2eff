//! Warnings about rows of inputs and their results.

use super::csv::InputKind;
use super::values::WordRange;
use crate::console;
use lightbound_shader::SurfaceSides;

/// Tolerance for the squared length of unit vectors: directions typed with a few digits pass.
const UNIT_TOLERANCE: f32 = 1e-4;

/// The number of rows that cause each warning.
#[derive(Debug)]
pub struct RowWarnings {
    kind: InputKind,
    /// The sides of the material; `None` if the shader has no directions.
    sides: Option<SurfaceSides>,
    total: usize,
    /// Rows with a direction that is not a unit vector.
    not_unit: usize,
    /// Rows in which the viewer is behind a one-sided material.
    behind: usize,
    /// Rows in which a loop reached the cap.
    pub capped: usize,
    /// Rows with a bound that may be wrong because of an ignored NaN.
    pub invalidated_by_nan: usize,
    /// Rows with a missing bound.
    unbounded: usize,
    /// Rows with a bound that is missing because of NaN: `--nan suppress` gives more bounds.
    unbounded_by_nan: usize,
    /// Description of the missing bounds in the first row that has one.
    first_missing: String,
}

impl RowWarnings {
    /// Creates counts of zero.
    pub fn new(kind: InputKind, sides: Option<SurfaceSides>) -> RowWarnings {
        RowWarnings {
            kind,
            sides,
            total: 0,
            not_unit: 0,
            behind: 0,
            capped: 0,
            invalidated_by_nan: 0,
            unbounded: 0,
            unbounded_by_nan: 0,
            first_missing: String::new(),
        }
    }

    /// Counts a row with missing bounds, which `description` lists.
    pub fn note_unbounded(&mut self, description: String, by_nan: bool) {
        if self.unbounded == 0 {
            self.first_missing = description;
        }
        self.unbounded += 1;
        self.unbounded_by_nan += usize::from(by_nan);
    }

    /// Counts a row. Returns false if the viewer is behind a one-sided material.
    pub fn note(&mut self, row: &[WordRange]) -> bool {
        self.total += 1;
        let Some(sides) = self.sides else { return true };
        let not_unit = |first: usize| {
            !contains_unit([0, 1, 2].map(|k| row[first + k].endpoints.map(f32::from_bits)))
        };
        let covered = sides.covers(f32::from_bits(row[5].endpoints[1]));
        self.not_unit += usize::from(not_unit(0) || not_unit(3));
        self.behind += usize::from(!covered);
        covered
    }

    /// Prints the warnings.
    pub fn warn(&self) {
        let rows = |n: usize| {
            if self.total == 1 {
                "here".to_owned()
            } else {
                format!("in {n} of {} rows", self.total)
            }
        };
        if self.not_unit > 0 {
            let rows = rows(self.not_unit);
            console::warn(&match self.kind {
                InputKind::Numbers => {
                    format!(
                        "wi or wo is not a unit vector {rows}; it was passed to the shader \
                         unchanged"
                    )
                }
                InputKind::Intervals => {
                    format!("the box of wi or wo contains no unit vector {rows}")
                }
            });
        }
        if self.behind > 0 {
            console::warn(&format!(
                "wo.z is not above 0 {}: a one-sided material is black from behind",
                rows(self.behind)
            ));
        }
        if self.capped > 0 {
            let termination = if self.kind == InputKind::Numbers {
                "did not terminate"
            } else {
                "may not terminate somewhere in the box"
            };
            console::warn(&format!("a loop {termination} and was stopped {}", rows(self.capped)));
        }
        if self.invalidated_by_nan > 0 {
            console::warn(&format!(
                "the bound may be wrong {}: a NaN may occur in the shader or in the arithmetic on \
                 endpoints, and bounds with --nan ignore hold only without NaNs; those with --nan \
                 suppress and --nan propagate always hold",
                rows(self.invalidated_by_nan)
            ));
        }
        if self.unbounded > 0 {
            let problem = match self.total {
                1 => format!("{} here", self.first_missing),
                _ => format!(
                    "bounds are missing {} (in the first one, {})",
                    rows(self.unbounded),
                    self.first_missing
                ),
            };
            let nan = match self.unbounded_by_nan {
                0 => String::new(),
                count => format!(
                    "; NaN is a cause {}: --nan suppress bounds the results that are not NaN",
                    rows(count)
                ),
            };
            console::print(&format!("hint: {problem}; a smaller box may have bounds{nan}"));
        }
    }
}

/// Whether a box contains a unit vector.
fn contains_unit(direction: [[f32; 2]; 3]) -> bool {
    let min_abs = |[low, high]: [f32; 2]| {
        if low <= 0.0 && high >= 0.0 { 0.0 } else { low.abs().min(high.abs()) }
    };
    let max_abs = |[low, high]: [f32; 2]| low.abs().max(high.abs());
    let squared = |v: [f32; 3]| v.iter().map(|x| x * x).sum::<f32>();
    squared(direction.map(min_abs)) <= 1.0 + UNIT_TOLERANCE
        && squared(direction.map(max_abs)) >= 1.0 - UNIT_TOLERANCE
}
