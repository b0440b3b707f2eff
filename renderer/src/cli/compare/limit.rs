//! Limits that figures must keep.

use super::MetricName;
use crate::cli::numbers::number;
use lightbound::compare::{Better, Figure, Metric};

/// A figure must not be beyond `value`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// Of which metric.
    pub metric: MetricName,
    /// The last value that is good enough.
    pub value: f64,
}

/// Parses `METRIC=VALUE` of a metric that is better the lower it is.
pub fn above(text: &str) -> Result<Limit, String> {
    parse(text, Better::Lower, "fails when it is low; use --fail-below")
}

/// Parses `METRIC=VALUE` of a metric that is better the higher it is.
pub fn below(text: &str) -> Result<Limit, String> {
    parse(text, Better::Higher, "fails when it is high; use --fail-above")
}

fn parse(text: &str, better: Better, wrong: &str) -> Result<Limit, String> {
    let (name, value) = text.split_once('=').ok_or("expected METRIC=VALUE, as in relmse=0.01")?;
    let metric: MetricName = name.parse()?;
    if metric.better() != better {
        return Err(format!("{name} {wrong}"));
    }
    let value = value.parse().ok().filter(|x: &f64| x.is_finite());
    let value = value.filter(|&x| better == Better::Higher || x >= 0.0);
    value.map(|value| Limit { metric, value }).ok_or_else(|| match better {
        Better::Lower => "expected a number of at least 0 behind the =".into(),
        Better::Higher => "expected a number behind the =".into(),
    })
}

impl Limit {
    /// What is wrong with a figure, if anything. Mean errors of `channels` must not make up for
    /// each other: the largest one counts, whatever its sign.
    pub fn check(&self, metric: Metric, figure: &Figure, channels: &[String]) -> Option<String> {
        let largest = || {
            figure
                .channels
                .iter()
                .zip(channels)
                .rev()
                .max_by(|(a, _), (b, _)| a.abs().total_cmp(&b.abs()))
        };
        let (found, of) = match (metric, largest()) {
            (Metric::MeanError, Some((&mean, channel))) => {
                (mean, format!(" of the channel `{channel}`"))
            }
            _ => (figure.overall, String::new()),
        };
        let (bad, word) = match metric.better() {
            Better::Lower => (found.abs() > self.value, "above"),
            Better::Higher => (found < self.value, "below"),
        };
        let sign = if found < 0.0 && word == "above" { "by size " } else { "" };
        bad.then(|| {
            format!("{}{of} is {}, {sign}{word} {}", metric.name(), number(found), self.value)
        })
    }
}
