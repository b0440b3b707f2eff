//! The outcome of a case, as shown on the console and in the report.

use std::time::Duration;

/// The outcome of a case that was run or could not be run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Name of the case, unique within the suite.
    pub name: String,
    /// Description from the suite; may be empty.
    pub description: String,
    /// Result of the case.
    pub status: Status,
    /// Figures; those with limits come first.
    pub figures: Vec<Figure>,
    /// Render time; `None` if nothing was rendered.
    pub time: Option<Duration>,
    /// Render time in the previous run, if there was one.
    pub last_time: Option<Duration>,
    /// Images; `None` unless result and reference exist and have equal size.
    pub pictures: Option<Pictures>,
}

/// The result of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// All tests passed.
    Passed,
    /// Some tests failed, with a message for each.
    Failed(Vec<String>),
    /// The case could not be run.
    Error {
        /// What is wrong.
        message: String,
        /// The remedy.
        help: String,
    },
}

/// A measured value, with an optional limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Short name with its unit, such as `accepted pixels, %`.
    pub name: String,
    /// The measured value.
    pub value: f64,
    /// The limit; `None` for information only.
    pub limit: Option<Limit>,
}

/// The limit of a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// Smaller values fail.
    AtLeast(f64),
    /// Larger values fail.
    AtMost(f64),
}

/// The images of a case, each of `width * height` pixels, row by row from the top.
#[derive(Clone, Debug, PartialEq)]
pub struct Pictures {
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// The reference, linear sRGB.
    pub reference: Vec<[f32; 3]>,
    /// The result, linear sRGB.
    pub result: Vec<[f32; 3]>,
    /// The ꟻLIP error, 0 to 1; empty if it was not computed.
    pub flip: Vec<f32>,
}

impl Figure {
    /// Whether the value is within its limit. A figure without a limit holds; NaN violates any
    /// limit.
    pub fn holds(&self) -> bool {
        match self.limit {
            None => true,
            Some(Limit::AtLeast(limit)) => self.value >= limit,
            Some(Limit::AtMost(limit)) => self.value <= limit,
        }
    }
}

impl Status {
    /// Sort key of reports: failed cases first, then errors, then passed cases.
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
