//! What deserves a warning about rows of inputs and their results, counted.

use super::csv::Kind;
use super::values::Span;
use crate::cli::console;
use lightbound_shader::Sides;

/// How far from 1 the square of a direction's length may be without a warning: a few digits are
/// enough for tries by hand.
const UNIT: f32 = 1e-4;

/// Numbers of rows.
#[derive(Debug)]
pub struct Remarks {
    kind: Kind,
    all: usize,
    /// Without a unit vector for a direction.
    stretched: usize,
    /// Seen only from the side that a one-sided material does not have.
    behind: usize,
    /// In which a loop was cut off.
    pub capped: usize,
    /// With a bound that may be wrong, since a NaN may come up on the way, which code was told to
    /// ignore.
    pub invalidated_by_nan: usize,
    /// Without some bound.
    unbounded: usize,
    /// Of these, the ones in which NaN is the reason: there would be more bounds if it were
    /// suppressed.
    unbounded_by_nan: usize,
    /// What is not known in the first row without some bound.
    unknown: String,
}

impl Remarks {
    /// None yet, of rows of such a kind.
    pub fn new(kind: Kind) -> Remarks {
        Remarks {
            kind,
            all: 0,
            stretched: 0,
            behind: 0,
            capped: 0,
            invalidated_by_nan: 0,
            unbounded: 0,
            unbounded_by_nan: 0,
            unknown: String::new(),
        }
    }

    /// Notes a row without some bound; `unknown` says what is not known.
    pub fn note_unbounded(&mut self, unknown: String, by_nan: bool) {
        if self.unbounded == 0 {
            self.unknown = unknown;
        }
        self.unbounded += 1;
        self.unbounded_by_nan += usize::from(by_nan);
    }

    /// Notes a row for a material with these sides, and tells whether it is seen from one of them.
    pub fn note(&mut self, row: &[Span], sides: Sides) -> bool {
        let stretched =
            |first: usize| !holds_unit([0, 1, 2].map(|k| row[first + k].ends.map(f32::from_bits)));
        let covered = sides.covers(f32::from_bits(row[5].ends[1]));
        self.all += 1;
        self.stretched += usize::from(stretched(0) || stretched(3));
        self.behind += usize::from(!covered);
        covered
    }

    /// Prints what is remarkable about the rows so far.
    pub fn warn(&self) {
        let rows = |n: usize| {
            if self.all == 1 { "here".to_owned() } else { format!("in {n} of {} rows", self.all) }
        };
        if self.stretched > 0 {
            let rows = rows(self.stretched);
            console::warn(&match self.kind {
                Kind::Numbers => {
                    format!("wi or wo is not a unit vector {rows}; the shader got it as it is")
                }
                Kind::Intervals => format!("the box of wi or wo contains no unit vector {rows}"),
            });
        }
        if self.behind > 0 {
            console::warn(&format!(
                "wo.z is not above 0 {}: a one-sided material is black from behind",
                rows(self.behind)
            ));
        }
        if self.capped > 0 {
            let did_not = if self.kind == Kind::Numbers {
                "did not end"
            } else {
                "may not end somewhere in the box"
            };
            console::warn(&format!("a loop {did_not} and was cut off {}", rows(self.capped)));
        }
        if self.invalidated_by_nan > 0 {
            console::warn(&format!(
                "the bound may be wrong {}: NaN may come up, in the shader or in the arithmetic on endpoints, and --nan ignore \
                 bounds s only where none does; --nan suppress and --nan propagate always hold",
                rows(self.invalidated_by_nan)
            ));
        }
        if self.unbounded > 0 {
            let what = match self.all {
                1 => format!("{} here", self.unknown),
                _ => format!(
                    "bounds are missing {} (in the first one, {})",
                    rows(self.unbounded),
                    self.unknown
                ),
            };
            let nan = match self.unbounded_by_nan {
                0 => String::new(),
                count => format!(
                    "; NaN is a reason {}: --nan suppress bounds the results that are numbers",
                    rows(count)
                ),
            };
            console::print(&format!("hint: {what}; a smaller box may tell more{nan}"));
        }
    }
}

/// Whether a box holds a unit vector.
fn holds_unit(direction: [[f32; 2]; 3]) -> bool {
    let least = |[low, high]: [f32; 2]| {
        if low <= 0.0 && high >= 0.0 { 0.0 } else { low.abs().min(high.abs()) }
    };
    let most = |[low, high]: [f32; 2]| low.abs().max(high.abs());
    let squared = |v: [f32; 3]| v.iter().map(|x| x * x).sum::<f32>();
    squared(direction.map(least)) <= 1.0 + UNIT && squared(direction.map(most)) >= 1.0 - UNIT
}
