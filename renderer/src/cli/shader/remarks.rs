//! What deserves a warning about rows of inputs and their results, counted.

use super::csv::Kind;
use super::values::Span;
use crate::cli::console;
use lightbound_shader::Sides;
use lightbound_shader::interval::Nan;

/// How far from 1 the square of a direction's length may be without a warning: a few digits are enough for tries by hand.
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
    /// With a bound that says nothing.
    pub unknown: usize,
    /// With a bound that is void, since a NaN may come up on the way, which code was told to ignore.
    pub void: usize,
    /// Whether NaN takes bounds away.
    nan_propagates: bool,
}

impl Remarks {
    /// None yet, of rows of such a kind.
    pub fn new(kind: Kind) -> Remarks {
        Remarks { kind, all: 0, stretched: 0, behind: 0, capped: 0, unknown: 0, void: 0, nan_propagates: false }
    }

    /// The same for bounds that treat NaN in such a way.
    pub fn with_nan(self, nan: Nan) -> Remarks {
        Remarks { nan_propagates: nan == Nan::Propagate, ..self }
    }

    /// Notes a row for a material with these sides, and tells whether it is seen from one of them.
    pub fn note(&mut self, row: &[Span], sides: Sides) -> bool {
        let stretched = |first: usize| !holds_unit([0, 1, 2].map(|k| row[first + k].ends.map(f32::from_bits)));
        let covered = sides.covers(f32::from_bits(row[5].ends[1]));
        self.all += 1;
        self.stretched += usize::from(stretched(0) || stretched(3));
        self.behind += usize::from(!covered);
        covered
    }

    /// Prints what is remarkable about the rows so far.
    pub fn warn(&self) {
        let rows = |n: usize| if self.all == 1 { "here".to_owned() } else { format!("in {n} of {} rows", self.all) };
        if self.stretched > 0 {
            let rows = rows(self.stretched);
            console::warn(&match self.kind {
                Kind::Numbers => format!("wi or wo is not a unit vector {rows}; the shader got it as it is"),
                Kind::Intervals => format!("the box of wi or wo holds no unit vector {rows}"),
            });
        }
        if self.behind > 0 {
            console::warn(&format!("wo.z is not above 0 {}: a one-sided material is black from behind", rows(self.behind)));
        }
        if self.capped > 0 {
            let did_not = if self.kind == Kind::Numbers { "did not end" } else { "may not end somewhere in the box" };
            console::warn(&format!("a loop {did_not} and was cut off {}", rows(self.capped)));
        }
        if self.void > 0 {
            console::warn(&format!(
                "the bound may be wrong {}: NaN may come up somewhere in the box, and --nan ignore bounds s only where none does; \
                 --nan suppress and --nan propagate always hold",
                rows(self.void)
            ));
        }
        if self.unknown > 0 {
            let hint = if self.nan_propagates {
                "a smaller box tells more, or --nan suppress, since it may be NaN that leaves no bound"
            } else {
                "a smaller box tells more"
            };
            console::print(&format!("hint: nothing is known of s {}; {hint}", rows(self.unknown)));
        }
    }
}

/// Whether a box holds a unit vector.
fn holds_unit(direction: [[f32; 2]; 3]) -> bool {
    let least = |[low, high]: [f32; 2]| if low <= 0.0 && high >= 0.0 { 0.0 } else { low.abs().min(high.abs()) };
    let most = |[low, high]: [f32; 2]| low.abs().max(high.abs());
    let squared = |v: [f32; 3]| v.iter().map(|x| x * x).sum::<f32>();
    squared(direction.map(least)) <= 1.0 + UNIT && squared(direction.map(most)) >= 1.0 - UNIT
}
