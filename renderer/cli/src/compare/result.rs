//! The request and the results of a comparison.

use super::limit::Limit;
use super::pair::{Pair, Pairs, Samples, quoted};
use super::{Args, Error, MetricName, OutputFile};
use lightbound_image::compare::{
    Comparison, InvalidSample, Metric, MetricValue, Validity, compare, error_map,
};
use lightbound_image::heatmap::{self, ColourScale};
use lightbound_image::layers::PixelRect;
use lightbound_image::six_digits;
use lightbound_image::write::write_png_codes;
use std::collections::BTreeSet;

/// The requested metrics and limits.
pub struct Request {
    /// Metrics to compute, without duplicates.
    pub metrics: Vec<Metric>,
    /// Metrics requested with --metric.
    requested: BTreeSet<Metric>,
    limits: Vec<(Metric, Limit)>,
    /// Exposure in stops.
    exposure: f32,
    allow_nan: bool,
    /// Metric of the heat map.
    heatmap: Option<Metric>,
}

/// Results of a comparison.
pub struct CompareResult {
    /// Layers that could be compared.
    pub layers: Vec<LayerResult>,
    /// Failures, one phrase each.
    pub failures: Vec<String>,
    /// Other remarks.
    pub remarks: Vec<String>,
}

/// A layer and its metrics.
pub struct LayerResult {
    /// Name, channels and position.
    pub pair: Pair,
    /// Result of the comparison.
    pub comparison: LayerComparison,
    /// Requested metrics that are defined for this layer.
    pub values: Vec<(Metric, MetricValue)>,
}

/// Result of the comparison of a layer.
pub enum LayerComparison {
    /// For float values.
    Values(Box<Comparison>, Validity),
    /// For IDs: the number of differing pixels, and the index of the first one.
    Ids(usize, Option<usize>),
}

impl Request {
    /// Builds a request from the options. `display_referred` states whether both images
    /// are display-referred.
    pub fn new(args: &Args, display_referred: bool, pairs: &Pairs) -> Result<Request, Error> {
        let requested: BTreeSet<Metric> =
            args.metric.iter().map(|name| name.resolve(display_referred)).collect();
        let flip = MetricName::Flip.resolve(display_referred);
        let default = |metric: &Metric| match metric {
            Metric::LdrFlip | Metric::HdrFlip => *metric == flip,
            Metric::MeanError | Metric::Rmse | Metric::RelMse | Metric::Mape => true,
            _ => !args.has_several(),
        };
        let mut metrics: Vec<Metric> = match requested.is_empty() {
            true => Metric::ALL.into_iter().filter(default).collect(),
            false => requested.iter().copied().collect(),
        };
        let limits = args.fail_above.iter().chain(&args.fail_below);
        let limits: Vec<_> =
            limits.map(|limit| (limit.metric.resolve(display_referred), *limit)).collect();
        let heatmap = args
            .heatmap
            .is_some()
            .then(|| heatmap_metric(args, display_referred, pairs))
            .transpose()?;
        metrics.extend(limits.iter().map(|(metric, _)| metric).chain(&heatmap));
        metrics.sort();
        metrics.dedup();
        Ok(Request {
            metrics,
            requested,
            limits,
            exposure: args.exposure,
            allow_nan: args.allow_nan,
            heatmap,
        })
    }

    /// Checks that each limit applies to a layer, and that the heat map's metric and the exposure
    /// have an effect.
    pub fn check(&self, pairs: &Pairs) -> Result<(), Error> {
        if let (Some(metric), Some(first)) = (self.heatmap, pairs.pairs.first())
            && !applies(metric, &first.samples)
        {
            return Err(Error::Option {
                message: format!("the layer `{}` has no {} to draw", first.name, metric.name()),
                help: "choose another --heatmap-metric, or another layer with --layers NAME".into(),
            });
        }
        let is_unused = |metric: Metric| {
            !pairs.pairs.is_empty()
                && !pairs.pairs.iter().any(|pair| applies(metric, &pair.samples))
        };
        if self.exposure != 0.0
            && self.metrics.iter().all(|metric| !metric.uses_display_values() || is_unused(*metric))
        {
            return Err(Error::Option {
                message: "--exposure has no effect: no compared metric depends on it".into(),
                help:
                    "it affects only psnr, ssim and ldr-flip of colours (hdr-flip chooses its own \
                       exposures); omit it"
                        .into(),
            });
        }
        match self.limits.iter().find(|(metric, _)| is_unused(*metric)) {
            None => Ok(()),
            Some((metric, _)) => Err(Error::Option {
                message: format!("no compared layer has the metric {}", metric.name()),
                help: "see `lightbound compare --help` for the layers that metrics apply to".into(),
            }),
        }
    }
}

/// Metric of the heat map: the requested one, or else the first one that has a map for the first
/// layer.
fn heatmap_metric(args: &Args, display_referred: bool, pairs: &Pairs) -> Result<Metric, Error> {
    let flip = MetricName::Flip.resolve(display_referred);
    let is_available = |metric: &Metric| {
        metric.has_map() && pairs.pairs.first().is_none_or(|first| applies(*metric, &first.samples))
    };
    match args.heatmap_metric.map(|name| name.resolve(display_referred)) {
        Some(metric) if metric.has_map() => Ok(metric),
        Some(metric) => Err(Error::Option {
            message: format!("{} has no per-pixel values to draw", metric.name()),
            help: "choose another --heatmap-metric, such as flip or mae".into(),
        }),
        None => {
            let requested = args.metric.iter().map(|name| name.resolve(display_referred));
            Ok(requested.chain([flip]).find(is_available).unwrap_or(Metric::Mae))
        }
    }
}

/// Whether a metric is defined for a layer.
fn applies(metric: Metric, samples: &Samples) -> bool {
    match samples {
        Samples::Values { is_colour, .. } => *is_colour || !metric.requires_colour(),
        Samples::Ids { .. } => metric == Metric::Differing,
    }
}

/// Lists the `requested` metrics that are undefined for a layer, with the reason.
fn undefined_metrics(pair: &Pair, requested: &BTreeSet<Metric>) -> Option<String> {
    let names: Vec<&str> = requested
        .iter()
        .filter(|metric| !applies(**metric, &pair.samples))
        .map(|metric| metric.name())
        .collect();
    let reason = match pair.samples {
        Samples::Values { .. } => "for colours only (channels R, G, B or Y)",
        Samples::Ids { .. } => "for floating-point channels only; IDs support only `differing`",
    };
    (!names.is_empty()).then(|| {
        format!("layer `{}`: {} cannot be computed: defined {reason}", pair.name, quoted(&names))
    })
}

impl CompareResult {
    /// The compared layer with a name.
    pub fn layer(&self, name: &str) -> Option<&LayerResult> {
        self.layers.iter().find(|layer| layer.pair.name == name)
    }

    /// Compares all pairs.
    pub fn new(pairs: Pairs, request: &Request) -> CompareResult {
        let mut result =
            CompareResult { layers: Vec::new(), failures: pairs.mismatches, remarks: Vec::new() };
        for pair in pairs.pairs {
            let layer = LayerResult::new(pair, request);
            result.remarks.extend(undefined_metrics(&layer.pair, &request.requested));
            let name = format!("layer `{}`", layer.pair.name);
            if let LayerComparison::Values(comparison, validity) = &layer.comparison {
                result.report_invalid(&layer.pair, comparison, validity, request.allow_nan);
            }
            for metric in
                request.metrics.iter().filter(|metric| applies(**metric, &layer.pair.samples))
            {
                if !layer.values.iter().any(|(m, _)| m == metric) {
                    let reason = layer.undefined_reason(*metric);
                    result
                        .remarks
                        .push(format!("{name}: {} cannot be computed: {reason}", metric.name()));
                }
            }
            for (metric, limit) in
                request.limits.iter().filter(|(metric, _)| applies(*metric, &layer.pair.samples))
            {
                let value = layer.values.iter().find(|(m, _)| m == metric);
                let failure = match value {
                    Some((_, value)) => limit.check(*metric, value, &layer.pair.channels),
                    None => Some(format!(
                        "{} cannot be computed: {}",
                        metric.name(),
                        layer.undefined_reason(*metric)
                    )),
                };
                result.failures.extend(failure.map(|failure| format!("{name}: {failure}")));
            }
            result.layers.push(layer);
        }
        result
    }

    /// Writes the heat map of the first layer, if one was requested.
    pub fn draw(
        &self,
        request: &Request,
        end: Option<f32>,
        output: &OutputFile,
    ) -> Result<(), Error> {
        let (Some(metric), Some(layer)) = (request.heatmap, self.layers.first()) else {
            return Ok(());
        };
        let (Samples::Values { a, b, .. }, LayerComparison::Values(comparison, _)) =
            (&layer.pair.samples, &layer.comparison)
        else {
            return Ok(());
        };
        let map =
            error_map(a, b, metric, comparison).expect("the metric was checked and requested");
        let end = end.or(matches!(metric, Metric::LdrFlip | Metric::HdrFlip).then_some(1.0));
        let scale = ColourScale::for_errors(&map, metric == Metric::MeanError, end);
        let canvas = heatmap::draw(
            &map,
            a.width(),
            &scale,
            &format!("{}: {}", layer.pair.name, metric.name()),
        );
        output.write(|path| {
            write_png_codes(path, canvas.width as u32, canvas.height as u32, &canvas.codes)
        })
    }

    fn report_invalid(
        &mut self,
        pair: &Pair,
        comparison: &Comparison,
        validity: &Validity,
        allow_nan: bool,
    ) {
        let location = |sample: InvalidSample| {
            let (x, y) = pair.area.position(sample.index);
            format!(
                "at ({x}, {y}), where `{}` is {} in A and {} in B",
                pair.channels[sample.channel], sample.a, sample.b
            )
        };
        let name = format!("layer `{}`", pair.name);
        if let Some(first) = validity.nan.first {
            let text = format!(
                "{name}: NaN in {}, first {}",
                pixels(validity.nan.pixels),
                location(first)
            );
            if allow_nan { &mut self.remarks } else { &mut self.failures }.push(text);
        }
        if let Some(first) = validity.infinite.first {
            let n = pixels(validity.infinite.pixels);
            self.failures.push(format!(
                "{name}: infinite in one image only in {n}, first {}",
                location(first)
            ));
        }
        if comparison.excluded_pixels > 0 {
            self.remarks.push(format!(
                "{name}: {} excluded from the metrics because they are not finite",
                pixels(comparison.excluded_pixels)
            ));
        }
    }
}

fn pixels(n: usize) -> String {
    format!("{n} pixel{}", if n == 1 { "" } else { "s" })
}

impl LayerResult {
    fn new(pair: Pair, request: &Request) -> LayerResult {
        let metrics: Vec<Metric> =
            request.metrics.iter().copied().filter(|m| applies(*m, &pair.samples)).collect();
        match &pair.samples {
            Samples::Values { a, b, .. } => {
                let comparison = compare(a, b, &metrics, request.exposure);
                let values =
                    metrics.iter().filter_map(|&m| Some((m, comparison.value(m)?))).collect();
                let comparison =
                    LayerComparison::Values(Box::new(comparison), Validity::check(a, b));
                LayerResult { pair, comparison, values }
            }
            Samples::Ids { a, b } => {
                let mut unequal = (0..a.len()).filter(|&i| a[i] != b[i]);
                let first = unequal.next();
                let n = first.iter().count() + unequal.count();
                let value =
                    MetricValue { overall: n as f64 / a.len() as f64, channels: Vec::new() };
                let values = metrics.into_iter().map(|metric| (metric, value.clone())).collect();
                LayerResult { pair, comparison: LayerComparison::Ids(n, first), values }
            }
        }
    }

    /// Explains why an applicable metric could not be computed.
    fn undefined_reason(&self, metric: Metric) -> String {
        match (&self.comparison, metric) {
            (LayerComparison::Values(comparison, _), _)
                if comparison.excluded_pixels == comparison.pixels =>
            {
                "no pixel is finite".into()
            }
            _ => "no window of 11 × 11 pixels fits, or each one contains a non-finite pixel".into(),
        }
    }

    /// Channel and pixel of the largest error, if any.
    pub fn largest_error(&self) -> Option<(usize, (i64, i64))> {
        let LayerComparison::Values(comparison, _) = &self.comparison else { return None };
        let channels = comparison.errors.iter().enumerate().filter(|(_, errors)| errors.max > 0.0);
        // `rev`: the first of equal errors wins.
        let (channel, errors) = channels.rev().max_by(|(_, a), (_, b)| a.max.total_cmp(&b.max))?;
        Some((channel, self.area().position(errors.max_pixel)))
    }

    fn area(&self) -> PixelRect {
        self.pair.area
    }

    /// Additional information on a metric.
    pub fn note(&self, metric: Metric) -> Option<String> {
        match (&self.comparison, metric) {
            (LayerComparison::Values(comparison, _), Metric::Differing) => {
                Some(format!("{} of {} pixels", comparison.differing_pixels, comparison.pixels))
            }
            (LayerComparison::Ids(n, first), Metric::Differing) => {
                let location = first
                    .map(|i| self.area().position(i))
                    .map(|(x, y)| format!(", the first at ({x}, {y})"));
                let all = self.area().width() * self.area().height();
                Some(format!("{n} of {all} pixels{}", location.unwrap_or_default()))
            }
            (_, Metric::Max) => {
                let (channel, (x, y)) = self.largest_error()?;
                Some(format!("{} at ({x}, {y})", self.pair.channels[channel]))
            }
            (LayerComparison::Values(comparison, _), Metric::HdrFlip) => {
                let exposures = &comparison.hdr_flip.as_ref()?.exposures;
                let (first, last) = (exposures.first()?, exposures.last()?);
                Some(format!(
                    "{} exposures from {} to {} stops",
                    exposures.len(),
                    six_digits(*first),
                    six_digits(*last)
                ))
            }
            _ => None,
        }
    }
}
