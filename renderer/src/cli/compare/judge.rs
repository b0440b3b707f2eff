//! What is asked of a comparison, and what becomes of it.

use super::limit::Limit;
use super::pair::{Pair, Pairs, Samples, quoted};
use super::{Args, Error, MetricName, Output};
use crate::cli::heatmap::{self, Scale};
use crate::cli::numbers::number;
use lightbound::compare::{Comparison, Fault, Figure, Metric, Validity, compare, map};
use lightbound::image::layers::Area;
use lightbound::image::write::write_png_codes;
use std::collections::BTreeSet;

/// What is asked for.
pub struct Request {
    /// Metrics to tell, without repetition.
    pub metrics: Vec<Metric>,
    /// Those of them that are asked for by --metric.
    named: BTreeSet<Metric>,
    limits: Vec<(Metric, Limit)>,
    exposure: f32,
    allow_nan: bool,
    /// What the heat map shows.
    heatmap: Option<Metric>,
}

/// What became of it.
pub struct Judged {
    /// Layers that could be compared.
    pub layers: Vec<JudgedLayer>,
    /// What fails, in words.
    pub failures: Vec<String>,
    /// What else there is to know.
    pub remarks: Vec<String>,
}

/// A layer and its figures.
pub struct JudgedLayer {
    /// Name, channels, place.
    pub pair: Pair,
    /// What was found.
    pub found: Found,
    /// Metrics that were asked for and mean something here.
    pub figures: Vec<(Metric, Figure)>,
}

/// What was found in a layer.
pub enum Found {
    /// Of values.
    Values(Box<Comparison>, Validity),
    /// Of identities: how many pixels differ, and the first one.
    Ids(usize, Option<usize>),
}

impl Request {
    /// As options say; `displayed` is whether both pictures are of a display.
    pub fn new(args: &Args, displayed: bool, pairs: &Pairs) -> Result<Request, Error> {
        let named: BTreeSet<Metric> =
            args.metric.iter().map(|name| name.resolve(displayed)).collect();
        let flip = MetricName::Flip.resolve(displayed);
        let default = Metric::ALL
            .into_iter()
            .filter(|m| !matches!(m, Metric::LdrFlip | Metric::HdrFlip) || *m == flip);
        let mut metrics: Vec<Metric> =
            if named.is_empty() { default.collect() } else { named.iter().copied().collect() };
        let limits = args.fail_above.iter().chain(&args.fail_below);
        let limits: Vec<_> =
            limits.map(|limit| (limit.metric.resolve(displayed), *limit)).collect();
        let heatmap =
            args.heatmap.is_some().then(|| heatmap_metric(args, displayed, pairs)).transpose()?;
        metrics.extend(limits.iter().map(|(metric, _)| metric).chain(&heatmap));
        metrics.sort();
        metrics.dedup();
        Ok(Request {
            metrics,
            named,
            limits,
            exposure: args.exposure,
            allow_nan: args.allow_nan,
            heatmap,
        })
    }

    /// Sees to it that each limit has a layer to hold for, and that the heat map's metric and the
    /// exposure have a meaning.
    pub fn check(&self, pairs: &Pairs) -> Result<(), Error> {
        if let (Some(metric), Some(first)) = (self.heatmap, pairs.pairs.first())
            && !applies(metric, &first.samples)
        {
            return Err(Error::Option {
                message: format!("the layer `{}` has no {} to draw", first.name, metric.name()),
                help: "choose another --heatmap-metric, or another layer with --layers NAME".into(),
            });
        }
        let idle = |metric: Metric| {
            !pairs.pairs.is_empty()
                && !pairs.pairs.iter().any(|pair| applies(metric, &pair.samples))
        };
        if self.exposure != 0.0
            && self.metrics.iter().all(|metric| !metric.is_of_display() || idle(*metric))
        {
            return Err(Error::Option {
                message: "--exposure has no effect: nothing that is compared depends on it".into(),
                help: "it matters to psnr, ssim and ldr-flip of colours alone (hdr-flip chooses exposures by itself); leave it out".into(),
            });
        }
        match self.limits.iter().find(|(metric, _)| idle(*metric)) {
            None => Ok(()),
            Some((metric, _)) => Err(Error::Option {
                message: format!("no layer that is compared has the metric {}", metric.name()),
                help: "see `lightbound compare --help` for what metrics are of".into(),
            }),
        }
    }
}

/// What the heat map shows: what is asked for, or the first metric that can be shown, or the one
/// for the first layer.
fn heatmap_metric(args: &Args, displayed: bool, pairs: &Pairs) -> Result<Metric, Error> {
    let flip = MetricName::Flip.resolve(displayed);
    let can = |metric: &Metric| {
        metric.has_map() && pairs.pairs.first().is_none_or(|first| applies(*metric, &first.samples))
    };
    match args.heatmap_metric.map(|name| name.resolve(displayed)) {
        Some(metric) if metric.has_map() => Ok(metric),
        Some(metric) => Err(Error::Option {
            message: format!("{} has no value for each pixel to draw", metric.name()),
            help: "choose another --heatmap-metric, such as flip or mae".into(),
        }),
        None => {
            let given = args.metric.iter().map(|name| name.resolve(displayed));
            Ok(given.chain([flip]).find(can).unwrap_or(Metric::Mae))
        }
    }
}

/// Whether a metric means something for a layer.
fn applies(metric: Metric, samples: &Samples) -> bool {
    match samples {
        Samples::Values { is_colour, .. } => *is_colour || !metric.is_of_colour(),
        Samples::Ids { .. } => metric == Metric::Differing,
    }
}

/// Which metrics of `named` a layer has none of, and why.
fn without_meaning(pair: &Pair, named: &BTreeSet<Metric>) -> Option<String> {
    let names: Vec<&str> = named
        .iter()
        .filter(|metric| !applies(**metric, &pair.samples))
        .map(|metric| metric.name())
        .collect();
    let why = match pair.samples {
        Samples::Values { .. } => "of colours alone (channels R, G, B or Y)",
        Samples::Ids { .. } => "of values; identities have `differing` alone",
    };
    (!names.is_empty())
        .then(|| format!("layer `{}`: {} cannot be told, being {why}", pair.name, quoted(&names)))
}

impl Judged {
    /// Compares all pairs.
    pub fn of(pairs: Pairs, request: &Request) -> Judged {
        let mut judged =
            Judged { layers: Vec::new(), failures: pairs.mismatches, remarks: Vec::new() };
        for pair in pairs.pairs {
            let layer = JudgedLayer::of(pair, request);
            judged.remarks.extend(without_meaning(&layer.pair, &request.named));
            let name = format!("layer `{}`", layer.pair.name);
            if let Found::Values(comparison, validity) = &layer.found {
                judged.look_at_faults(&layer.pair, comparison, validity, request.allow_nan);
            }
            for metric in
                request.metrics.iter().filter(|metric| applies(**metric, &layer.pair.samples))
            {
                if !layer.figures.iter().any(|(m, _)| m == metric) {
                    let why = layer.why_not(*metric);
                    judged.remarks.push(format!("{name}: {} cannot be told: {why}", metric.name()));
                }
            }
            for (metric, limit) in
                request.limits.iter().filter(|(metric, _)| applies(*metric, &layer.pair.samples))
            {
                let figure = layer.figures.iter().find(|(m, _)| m == metric);
                let failure = match figure {
                    Some((_, figure)) => limit.check(*metric, figure, &layer.pair.channels),
                    None => Some(format!(
                        "{} cannot be told: {}",
                        metric.name(),
                        layer.why_not(*metric)
                    )),
                };
                judged.failures.extend(failure.map(|failure| format!("{name}: {failure}")));
            }
            judged.layers.push(layer);
        }
        judged
    }

    /// Writes the heat map of the first layer, if there is one.
    pub fn draw(&self, request: &Request, end: Option<f32>, output: &Output) -> Result<(), Error> {
        let (Some(metric), Some(layer)) = (request.heatmap, self.layers.first()) else {
            return Ok(());
        };
        let (Samples::Values { a, b, .. }, Found::Values(comparison, _)) =
            (&layer.pair.samples, &layer.found)
        else {
            return Ok(());
        };
        let map = map(a, b, metric, comparison).expect("it was checked, and asked for");
        let end = end.or(matches!(metric, Metric::LdrFlip | Metric::HdrFlip).then_some(1.0));
        let scale = Scale::of_errors(&map, metric == Metric::MeanError, end);
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

    fn look_at_faults(
        &mut self,
        pair: &Pair,
        comparison: &Comparison,
        validity: &Validity,
        allow_nan: bool,
    ) {
        let place = |fault: Fault| {
            let (x, y) = pair.area.position(fault.index);
            format!(
                "at ({x}, {y}), where `{}` is {} in A and {} in B",
                pair.channels[fault.channel], fault.a, fault.b
            )
        };
        let name = format!("layer `{}`", pair.name);
        if let Some(first) = validity.nan.first {
            let text =
                format!("{name}: NaN in {}, first {}", pixels(validity.nan.pixels), place(first));
            if allow_nan { &mut self.remarks } else { &mut self.failures }.push(text);
        }
        if let Some(first) = validity.infinite.first {
            let n = pixels(validity.infinite.pixels);
            self.failures.push(format!(
                "{name}: infinite in one picture only in {n}, first {}",
                place(first)
            ));
        }
        if comparison.left_out > 0 {
            self.remarks.push(format!(
                "{name}: {} left out of the figures, not being finite",
                pixels(comparison.left_out)
            ));
        }
    }
}

fn pixels(n: usize) -> String {
    format!("{n} pixel{}", if n == 1 { "" } else { "s" })
}

impl JudgedLayer {
    fn of(pair: Pair, request: &Request) -> JudgedLayer {
        let metrics: Vec<Metric> =
            request.metrics.iter().copied().filter(|m| applies(*m, &pair.samples)).collect();
        match &pair.samples {
            Samples::Values { a, b, .. } => {
                let comparison = compare(a, b, &metrics, request.exposure);
                let figures =
                    metrics.iter().filter_map(|&m| Some((m, comparison.figure(m)?))).collect();
                let found = Found::Values(Box::new(comparison), Validity::of(a, b));
                JudgedLayer { pair, found, figures }
            }
            Samples::Ids { a, b } => {
                let mut unequal = (0..a.len()).filter(|&i| a[i] != b[i]);
                let first = unequal.next();
                let n = first.iter().count() + unequal.count();
                let figure = Figure { overall: n as f64 / a.len() as f64, channels: Vec::new() };
                let figures = metrics.into_iter().map(|metric| (metric, figure.clone())).collect();
                JudgedLayer { pair, found: Found::Ids(n, first), figures }
            }
        }
    }

    /// Why a metric that applies has no figure.
    fn why_not(&self, metric: Metric) -> String {
        match (&self.found, metric) {
            (Found::Values(comparison, _), _) if comparison.left_out == comparison.pixels => {
                "no pixel is finite".into()
            }
            _ => "no window of 11 × 11 pixels fits, or each has a pixel that is not finite".into(),
        }
    }

    /// Where the largest error is: its channel and pixel, if there is one.
    pub fn largest(&self) -> Option<(usize, (i64, i64))> {
        let Found::Values(comparison, _) = &self.found else { return None };
        let channels = comparison.errors.iter().enumerate().filter(|(_, errors)| errors.max > 0.0);
        // The first one of several.
        let (channel, errors) = channels.rev().max_by(|(_, a), (_, b)| a.max.total_cmp(&b.max))?;
        Some((channel, self.area().position(errors.max_at)))
    }

    fn area(&self) -> Area {
        self.pair.area
    }

    /// Further words on a figure.
    pub fn note(&self, metric: Metric) -> Option<String> {
        match (&self.found, metric) {
            (Found::Values(comparison, _), Metric::Differing) => {
                Some(format!("{} of {} pixels", comparison.differing, comparison.pixels))
            }
            (Found::Ids(n, first), Metric::Differing) => {
                let place = first
                    .map(|i| self.area().position(i))
                    .map(|(x, y)| format!(", the first at ({x}, {y})"));
                let all = self.area().width() * self.area().height();
                Some(format!("{n} of {all} pixels{}", place.unwrap_or_default()))
            }
            (_, Metric::Max) => {
                let (channel, (x, y)) = self.largest()?;
                Some(format!("{} at ({x}, {y})", self.pair.channels[channel]))
            }
            (Found::Values(comparison, _), Metric::HdrFlip) => {
                let exposures = &comparison.hdr_flip.as_ref()?.exposures;
                let (first, last) = (exposures.first()?, exposures.last()?);
                Some(format!(
                    "{} exposures from {} to {} stops",
                    exposures.len(),
                    number(*first),
                    number(*last)
                ))
            }
            _ => None,
        }
    }
}
