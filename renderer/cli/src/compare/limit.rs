//! Limits on metrics.

use super::MetricName;
use lightbound_image::compare::{Better, Metric, MetricValue};
use lightbound_image::six_digits;

/// A limit on a metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// The metric.
    pub metric: MetricName,
    /// The worst value that passes.
    pub value: f64,
}

/// Parses `METRIC=VALUE` for a metric for which lower is better.
pub fn parse_fail_above(text: &str) -> Result<Limit, String> {
    parse(text, Better::Lower, "is worse when it is lower; use --fail-below")
}

/// Parses `METRIC=VALUE` for a metric for which higher is better.
pub fn parse_fail_below(text: &str) -> Result<Limit, String> {
    parse(text, Better::Higher, "is worse when it is higher; use --fail-above")
}

fn parse(text: &str, better: Better, mismatch: &str) -> Result<Limit, String> {
    let (name, value) = text.split_once('=').ok_or("expected METRIC=VALUE, as in relmse=0.01")?;
    let metric: MetricName = name.parse()?;
    if metric.better() != better {
        return Err(format!("{name} {mismatch}"));
    }
    let value = value.parse().ok().filter(|x: &f64| x.is_finite());
    let value = value.filter(|&x| better == Better::Higher || x >= 0.0);
    value.map(|value| Limit { metric, value }).ok_or_else(|| match better {
        Better::Lower => "expected a number of at least 0 after the =".into(),
        Better::Higher => "expected a number after the =".into(),
    })
}

impl Limit {
    /// Describes the violation of this limit, if any. For mean errors, which could cancel between
    /// `channels`, the channel with the largest magnitude counts.
    pub fn check(
        &self,
        metric: Metric,
        metric_value: &MetricValue,
        channels: &[String],
    ) -> Option<String> {
        let largest = || {
            metric_value
                .channels
                .iter()
                .zip(channels)
                .rev()
                .max_by(|(a, _), (b, _)| a.abs().total_cmp(&b.abs()))
        };
        let (value, channel) = match (metric, largest()) {
            (Metric::MeanError, Some((&mean, channel))) => {
                (mean, format!(" of the channel `{channel}`"))
            }
            _ => (metric_value.overall, String::new()),
        };
        let (is_violated, relation) = match metric.better() {
            Better::Lower => (value.abs() > self.value, "above"),
            Better::Higher => (value < self.value, "below"),
        };
        let sign = if value < 0.0 && relation == "above" { "in magnitude " } else { "" };
        is_violated.then(|| {
            format!(
                "{}{channel} is {}, {sign}{relation} {}",
                metric.name(),
                six_digits(value),
                self.value
            )
        })
    }
}
