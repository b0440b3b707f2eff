//! Runs a case: loads its scene, renders it, and compares the image with its reference.

use super::measurement::Measurement;
use super::outcome::{CaseImages, MetricLimit, MetricValue, Outcome, Status};
use super::statistics::{self, BlockResult, TestResults};
use super::suite::{Case, CaseKind};
use lightbound::choice::Choice;
use lightbound::film::{Component, ComponentLayers, FilmOptions};
use lightbound::integrator::{self, Integrator, IntegratorError};
use lightbound::render::{RenderOptions, render_with};
use lightbound::{RenderSettings, Scene};
use lightbound_image::compare::{Metric, Planes, compare, flip};
use lightbound_image::write::Attribute;
use lightbound_pbrt::build::{LoadedScene, Overrides, load_source};
use lightbound_pbrt::diagnostics::{Diagnostics, SceneError, Source, Warning};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Rendering options that do not affect the image.
#[derive(Clone, Copy)]
pub struct RenderContext<'a> {
    /// Number of threads.
    pub threads: usize,
    /// Stops rendering when set; the case then has no result.
    pub stop: &'a AtomicBool,
    /// Called with the fraction of the case that is finished, from 0 to 1.
    pub progress: &'a (dyn Fn(f64) + Sync),
}

/// A rendered case.
#[derive(Clone, Debug)]
pub(crate) struct Rendered {
    /// The image.
    pub image: Measurement,
    /// Number of invalid samples: infinite, NaN, or beyond the film's range.
    pub invalid: u64,
    /// Render time.
    pub time: Duration,
}

/// Why a case cannot be run.
#[derive(Clone, Debug)]
pub struct CaseError {
    /// The problem, with its location if known.
    pub message: String,
    /// The remedy.
    pub help: String,
}

impl From<SceneError> for CaseError {
    fn from(error: SceneError) -> CaseError {
        let location = error.location().map_or(String::new(), |location| format!("{location}: "));
        let shader =
            error.shader_error().map_or(String::new(), |shader| format!(" ({})", shader.message));
        let help = error
            .remedy()
            .unwrap_or(
                "render the scene on its own to see the source lines: lightbound render SCENE",
            )
            .into();
        CaseError { message: format!("{location}{}{shader}", error.message()), help }
    }
}

impl From<IntegratorError> for CaseError {
    fn from(error: IntegratorError) -> CaseError {
        SceneError::new(error.to_string()).into()
    }
}

/// Loads the scene of a case, and applies the settings of the case. `source` is the scene file or a
/// replacement. `seed` overrides the seed of the case.
pub(crate) fn load(
    case: &Case,
    source: &Arc<Source>,
    seed: Option<u32>,
) -> Result<(LoadedScene, Vec<Warning>), CaseError> {
    let settings = &case.settings;
    let overrides = Overrides {
        accel: settings.accel,
        integrator: settings.integrator,
        spp: settings.spp,
        seed: seed.or(settings.seed),
        resolution: settings.resolution,
        ..Overrides::default()
    };
    let mut diagnostics = Diagnostics::new(false);
    let mut loaded = load_source(source, &[], &overrides, &mut diagnostics)?;
    if let Some(kind) = settings.sampler {
        loaded.settings.sampling.kind = kind;
    }
    if let Some(depth) = settings.depth {
        loaded.settings.integrator.max_depth = depth;
    }
    Ok((loaded, diagnostics.warnings().to_vec()))
}

/// Renders the scene of a case. Returns `None` if rendering was stopped.
pub(crate) fn render(
    case: &Case,
    scene: &Scene,
    settings: &RenderSettings,
    context: RenderContext,
) -> Result<Option<Rendered>, CaseError> {
    let integrator = integrator::new(scene, settings)?;
    let Some(layer) = &case.layer else {
        return Ok(render_with_integrator(scene, settings, &*integrator, None, context));
    };
    let groups = scene.lights.groups().names();
    let mut components = ComponentLayers::all(groups.len() as u32).iter();
    let component = components.find(|component| component.layer(groups) == *layer);
    if component.is_none() || !integrator.has_components() {
        return Err(CaseError {
            message: format!("the image has no component `{layer}`"),
            help: "name emission, direct, indirect, diffuse, specular, or light_NAME for a \
                   lightgroup; the integrator is path"
                .into(),
        });
    }
    Ok(render_with_integrator(scene, settings, &*integrator, component, context))
}

/// Like [`render`], with a given integrator. `component` is the component of the radiance that the
/// image shows, with the variance of all radiance; `None` for all radiance.
pub(crate) fn render_with_integrator(
    scene: &Scene,
    settings: &RenderSettings,
    integrator: &dyn Integrator,
    component: Option<Component>,
    context: RenderContext,
) -> Option<Rendered> {
    let window = settings.window;
    let total =
        f64::from(window.width()) * f64::from(window.height()) * f64::from(settings.sampling.spp);
    let done = std::sync::atomic::AtomicU64::new(0);
    let options = RenderOptions {
        threads: context.threads,
        film: FilmOptions {
            moments: true,
            components: match component {
                Some(_) => ComponentLayers::all(scene.lights.groups().names().len() as u32),
                None => ComponentLayers::default(),
            },
            ..FilmOptions::default()
        },
        stop: context.stop,
        progress: &|samples| {
            let done = done.fetch_add(samples, Ordering::Relaxed) + samples;
            (context.progress)(done as f64 / total);
        },
        ..RenderOptions::default()
    };
    let rendering = render_with(scene, settings, integrator, &options);
    if rendering.image.min_samples < settings.sampling.spp {
        return None;
    }
    let (invalid, time) = (rendering.image.invalid_samples, rendering.wall);
    let mut image = rendering.image;
    if let Some(component) = component {
        let radiance = image.component(component).expect("the film stores all components");
        image.radiance = radiance.to_vec();
    }
    let image = Measurement::from_image(image).expect("the film keeps moments");
    Some(Rendered { image, invalid, time })
}

/// Returns EXR attributes that describe how an image was rendered.
pub(crate) fn metadata(
    case: &Case,
    scene: &Scene,
    settings: &RenderSettings,
) -> Vec<(String, Attribute)> {
    let text = |text: &str| Attribute::Text(text.into());
    let attributes = [
        ("lightbound/version", text(env!("CARGO_PKG_VERSION"))),
        ("lightbound/case", text(&case.name)),
        ("lightbound/scene", text(&case.scene.file_name().unwrap_or_default().to_string_lossy())),
        ("lightbound/integrator", text(settings.integrator.method.name().name())),
        ("lightbound/sampler", text(&format!("{:?}", settings.sampling.kind).to_lowercase())),
        ("lightbound/seed", text(&settings.sampling.seed.to_string())),
        (
            "lightbound/maxDepth",
            Attribute::Int(settings.integrator.max_depth.try_into().unwrap_or(i32::MAX)),
        ),
        ("lightbound/accel", text(scene.accel.name())),
    ];
    attributes.into_iter().map(|(key, value)| (key.into(), value)).collect()
}

/// Reads the reference of a case.
pub(crate) fn read_reference(case: &Case) -> Result<Measurement, CaseError> {
    Measurement::read(&case.reference).map_err(|error| CaseError {
        message: error.to_string(),
        help: format!("to render it, run again with --update {}", case.name),
    })
}

/// Compares a rendered case with its reference. With `with_images`, the outcome includes the images
/// for the report.
pub(crate) fn evaluate(
    case: &Case,
    rendered: &Rendered,
    reference: &Measurement,
    with_images: bool,
) -> Outcome {
    let result = &rendered.image;
    let outcome = |status, metrics, images| Outcome {
        name: case.name.clone(),
        description: case.about.clone(),
        status,
        metrics,
        time: Some(rendered.time),
        last_time: None,
        images,
    };
    if (result.width, result.height) != (reference.width, reference.height) {
        let message = format!(
            "the image has {} × {} pixels, the reference {} × {}",
            result.width, result.height, reference.width, reference.height
        );
        let help = format!("if the new size is intended, run again with --update {}", case.name);
        return outcome(Status::Error { message, help }, Vec::new(), None);
    }
    let (mut failures, mut metrics) = match case.kind {
        CaseKind::Statistical => compare_statistically(case, result, reference),
        CaseKind::Exact => compare_exactly(result, reference),
    };
    if rendered.invalid > 0 {
        failures.push(format!(
            "{} samples were infinite, NaN, or beyond the film's range",
            rendered.invalid
        ));
    }
    let (unlimited, flip) = image_metrics(result, reference, with_images);
    metrics.extend(unlimited);
    let images = with_images.then(|| CaseImages {
        width: result.width,
        height: result.height,
        reference: reference.mean.clone(),
        result: result.mean.clone(),
        flip,
    });
    let status = if failures.is_empty() { Status::Passed } else { Status::Failed(failures) };
    outcome(status, metrics, images)
}

/// Returns the outcome of a case that cannot be run.
pub(crate) fn error_outcome(case: &Case, error: CaseError) -> Outcome {
    Outcome {
        name: case.name.clone(),
        description: case.about.clone(),
        status: Status::Error { message: error.message, help: error.help },
        metrics: Vec::new(),
        time: None,
        last_time: None,
        images: None,
    }
}

fn metric_value(name: &str, value: f64, limit: Option<MetricLimit>) -> MetricValue {
    MetricValue { name: name.into(), value, limit }
}

/// Compares a statistical case. Returns failure messages and metrics.
fn compare_statistically(
    case: &Case,
    result: &Measurement,
    reference: &Measurement,
) -> (Vec<String>, Vec<MetricValue>) {
    let tolerance = &case.tolerance;
    let results =
        statistics::test(result.width as usize, result.estimate(), reference.estimate(), tolerance);
    let metrics = vec![
        metric_value(
            "pixel tests passed, %",
            100.0 * results.accepted,
            Some(MetricLimit::AtLeast(100.0 * tolerance.accepted)),
        ),
        metric_value(
            "largest block z",
            results.worst_block.z,
            Some(MetricLimit::AtMost(results.block_limit)),
        ),
        metric_value("largest pixel z", results.worst_pixel.z, None),
        metric_value("noise relative to prediction", results.variance_ratio.sqrt(), None),
    ];
    (test_failures(&results, tolerance.accepted), metrics)
}

/// Returns messages for the statistical tests that failed.
fn test_failures(results: &TestResults, accepted: f64) -> Vec<String> {
    let mut failures = Vec::new();
    if results.failed_blocks > 0 {
        let worst = &results.worst_block;
        failures.push(format!(
            "{}: z = {:.1}, limit {:.1}",
            deviation(worst),
            worst.z,
            results.block_limit
        ));
    }
    if results.accepted < accepted {
        failures.push(format!(
            "{:.3} % of the pixel tests pass, but at least {:.3} % must; worst: {}, z = {:.1}",
            100.0 * results.accepted,
            100.0 * accepted,
            deviation(&results.worst_pixel),
            results.worst_pixel.z
        ));
    }
    failures
}

/// Describes a deviation, as in `green is 1.2 % too high in the 16 × 16 pixels from (32, 48)`.
fn deviation(block: &BlockResult) -> String {
    let channel = ["red", "green", "blue"][block.channel];
    let difference = block.result - block.reference;
    let direction = if difference < 0.0 { "low" } else { "high" };
    let amount = match (100.0 * difference / block.reference).abs() {
        percent if percent.is_finite() && percent < 1000.0 => format!("{percent:.2} %"),
        _ => format!("{:.3e}", difference.abs()),
    };
    let location = match block.size {
        (1, 1) => format!("at pixel ({}, {})", block.x, block.y),
        (width, height) => {
            format!("in the {width} × {height} pixels from ({}, {})", block.x, block.y)
        }
    };
    format!("{channel} is {amount} too {direction} {location}")
}

/// Compares an exact case. Returns failure messages and metrics.
fn compare_exactly(
    result: &Measurement,
    reference: &Measurement,
) -> (Vec<String>, Vec<MetricValue>) {
    let bits = |pixel: &[f32; 3]| pixel.map(f32::to_bits);
    let differing: Vec<usize> = (0..result.mean.len())
        .filter(|&i| bits(&result.mean[i]) != bits(&reference.mean[i]))
        .collect();
    let metrics = vec![metric_value(
        "pixels with different bits",
        differing.len() as f64,
        Some(MetricLimit::AtMost(0.0)),
    )];
    let pixel_failure = differing.first().map(|&first| {
        let (x, y) = (first as u32 % result.width, first as u32 / result.width);
        let (a, b) = (result.mean[first], reference.mean[first]);
        format!(
            "{} of {} pixels have different bits, the first ({x}, {y}): {a:?}, reference {b:?}",
            differing.len(),
            result.mean.len()
        )
    });
    let sample_failure = (result.samples != reference.samples).then(|| {
        format!("{} samples per pixel, the reference has {}", result.samples, reference.samples)
    });
    (pixel_failure.into_iter().chain(sample_failure).collect(), metrics)
}

/// Computes the metrics that have no limits, and the ꟻLIP map if requested.
pub(super) fn image_metrics(
    result: &Measurement,
    reference: &Measurement,
    with_flip: bool,
) -> (Vec<MetricValue>, Vec<f32>) {
    let planes = |m: &Measurement| Planes::from_rgb(m.width as usize, m.height as usize, &m.mean);
    let mut metrics = vec![Metric::MeanError, Metric::RelMse, Metric::Max];
    if with_flip {
        metrics.push(Metric::HdrFlip);
    }
    let comparison = compare(&planes(result), &planes(reference), &metrics, 0.0);
    let value =
        |metric: Metric| Some(metric_value(metric.name(), comparison.value(metric)?.overall, None));
    let metrics = metrics.iter().filter_map(|&metric| value(metric)).collect();
    (metrics, comparison.hdr_flip.map_or(Vec::new(), |map: flip::ErrorMap| map.values))
}
