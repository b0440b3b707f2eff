//! The outcome of a case, as shown on the console and in the report.

use std::time::Duration;

/// The outcome of a case, including cases that could not be run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Name of the case, unique within the suite.
    pub name: String,
    /// Description from the suite; may be empty.
    pub description: String,
    /// Result of the case.
    pub status: Status,
    /// Metrics, those with limits first.
    pub metrics: Vec<MetricValue>,
    /// Render time; `None` if nothing was rendered.
    pub time: Option<Duration>,
    /// Render time in the previous run, if there was one.
    pub last_time: Option<Duration>,
    /// Images; `None` unless result and reference exist and have equal sizes.
    pub images: Option<CaseImages>,
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
        /// The problem.
        message: String,
        /// The remedy.
        help: String,
    },
}

/// A measured value, with an optional limit.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricValue {
    /// Short name, with its unit if any, such as `pixel tests passed, %`.
    pub name: String,
    /// The measured value.
    pub value: f64,
    /// The limit; `None` if the value is only informative.
    pub limit: Option<MetricLimit>,
}

/// The limit of a metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MetricLimit {
    /// Smaller values fail.
    AtLeast(f64),
    /// Larger values fail.
    AtMost(f64),
}

/// The images of a case, each of `width * height` pixels, row by row from the top.
#[derive(Clone, Debug, PartialEq)]
pub struct CaseImages {
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

impl MetricValue {
    /// Returns whether the value is within its limit. Without a limit, all values pass; NaN
    /// violates any limit.
    pub fn passes(&self) -> bool {
        match self.limit {
            None => true,
            Some(MetricLimit::AtLeast(limit)) => self.value >= limit,
            Some(MetricLimit::AtMost(limit)) => self.value <= limit,
        }
    }
}

impl Status {
    /// Returns the sort key for reports: failed cases first, then errors, then passed cases.
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
    fn values_pass_up_to_their_limit() {
        let metric = |value, limit| MetricValue { name: "metric".into(), value, limit };
        assert!(
            metric(1.0, Some(MetricLimit::AtLeast(1.0))).passes()
                && !metric(0.9, Some(MetricLimit::AtLeast(1.0))).passes()
        );
        assert!(
            metric(1.0, Some(MetricLimit::AtMost(1.0))).passes()
                && !metric(1.1, Some(MetricLimit::AtMost(1.0))).passes()
        );
        assert!(
            metric(f64::NAN, None).passes()
                && !metric(f64::NAN, Some(MetricLimit::AtMost(1.0))).passes()
        );
    }
}
