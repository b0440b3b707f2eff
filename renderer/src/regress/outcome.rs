//! What became of a case: all that its line on the console and its page in the report say.

use std::time::Duration;

/// A case that was run, or could not be.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Name of the case, unique within the suite.
    pub name: String,
    /// What it shows, in the words of the suite; may be empty.
    pub description: String,
    /// How it ended.
    pub status: Status,
    /// Figures, the ones that decide first.
    pub figures: Vec<Figure>,
    /// Time that rendering took; `None` where nothing was rendered.
    pub time: Option<Duration>,
    /// The same in the run before this one, if there was one.
    pub last_time: Option<Duration>,
    /// Pictures; `None` where there are not both, in equal size.
    pub pictures: Option<Pictures>,
}

/// How a case ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// All tests passed.
    Passed,
    /// Tests failed: what, and by how much, a sentence for each.
    Failed(Vec<String>),
    /// It could not be run: why, and the remedy.
    Error {
        /// What is wrong.
        message: String,
        /// What helps.
        help: String,
    },
}

/// A number that was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Short name with its unit, as `accepted pixels, %`.
    pub name: String,
    /// What was measured.
    pub value: f64,
    /// What it is held against; `None` where it is for information.
    pub limit: Option<Limit>,
}

/// The bound of a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// It fails below.
    AtLeast(f64),
    /// It fails above.
    AtMost(f64),
}

/// The pictures of a case; all of `width * height` pixels, row by row from the top.
#[derive(Clone, Debug, PartialEq)]
pub struct Pictures {
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Linear sRGB.
    pub reference: Vec<[f32; 3]>,
    /// Linear sRGB.
    pub result: Vec<[f32; 3]>,
    /// ꟻLIP's error, 0 to 1; empty where it was not computed.
    pub flip: Vec<f32>,
}

impl Figure {
    /// Whether it keeps its limit; what has none does. NaN keeps none.
    pub fn holds(&self) -> bool {
        match self.limit {
            None => true,
            Some(Limit::AtLeast(limit)) => self.value >= limit,
            Some(Limit::AtMost(limit)) => self.value <= limit,
        }
    }
}

impl Status {
    /// The order in which a reader wants to see cases: failed ones, broken ones, the rest.
    pub fn rank(&self) -> u8 {
        match self {
            Status::Failed(_) => 0,
            Status::Error { .. } => 1,
            Status::Passed => 2,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_hold_up_to_their_limit() {
        let figure = |value, limit| Figure { name: "figure".into(), value, limit };
        assert!(
            figure(1.0, Some(Limit::AtLeast(1.0))).holds()
                && !figure(0.9, Some(Limit::AtLeast(1.0))).holds()
        );
        assert!(
            figure(1.0, Some(Limit::AtMost(1.0))).holds()
                && !figure(1.1, Some(Limit::AtMost(1.0))).holds()
        );
        assert!(
            figure(f64::NAN, None).holds() && !figure(f64::NAN, Some(Limit::AtMost(1.0))).holds()
        );
    }
}
