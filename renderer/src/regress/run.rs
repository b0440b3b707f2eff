//! Runs a case: loads its scene, renders it, and judges the picture by its reference.

use super::measurement::Measurement;
use super::outcome::{Figure, Limit, Outcome, Pictures, Status};
use super::statistics::{self, Block, Findings};
use super::suite::{Case, Kind};
use crate::compare::{Metric, Planes, compare, flip};
use crate::film::FilmOptions;
use crate::image::write::Attribute;
use crate::integrator::{self, Integrator};
use crate::render::{RenderOptions, render};
use crate::scene::Scene;
use crate::scene::build::{Loaded, Overrides, load_source};
use crate::scene::diagnostics::{Diagnostics, SceneError, Source, Warning};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How to render; none of it changes a picture.
#[derive(Clone, Copy)]
pub struct Work<'a> {
    /// Number of threads.
    pub threads: usize,
    /// Ends rendering once set; what there is then is no result.
    pub stop: &'a AtomicBool,
    /// Told the share of the case that is done, from 0 to 1.
    pub progress: &'a (dyn Fn(f64) + Sync),
}

/// A case was rendered.
#[derive(Clone, Debug)]
pub struct Rendered {
    /// The picture.
    pub picture: Measurement,
    /// Samples that were infinite or not a number.
    pub invalid: u64,
    /// Time that it took.
    pub time: Duration,
}

/// A case that cannot be run: why, and the remedy.
#[derive(Clone, Debug)]
pub struct Broken {
    /// What is wrong, with its place.
    pub message: String,
    /// What helps.
    pub help: String,
}

impl From<SceneError> for Broken {
    fn from(error: SceneError) -> Broken {
        let place = error.location().map_or(String::new(), |location| format!("{location}: "));
        let shader =
            error.shader_error().map_or(String::new(), |shader| format!(" ({})", shader.message));
        let help = error
            .remedy()
            .unwrap_or("render the scene alone, which shows the lines: lightbound render SCENE")
            .into();
        Broken { message: format!("{place}{}{shader}", error.message()), help }
    }
}

/// The scene of a case, with its settings; `source` is that of the case's file, or stands for it. A
/// `seed` goes before the case's.
pub fn load(
    case: &Case,
    source: &Arc<Source>,
    seed: Option<u32>,
) -> Result<(Loaded, Vec<Warning>), Broken> {
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
        loaded.scene.sampling.kind = kind;
    }
    if let Some(depth) = settings.depth {
        loaded.scene.integrator.max_depth = depth;
    }
    Ok((loaded, diagnostics.warnings().to_vec()))
}

/// Renders a scene; `None` if it was stopped.
pub fn draw(scene: &Scene, work: Work) -> Result<Option<Rendered>, Broken> {
    Ok(draw_by(scene, &*integrator::of(scene)?, work))
}

/// The same by any integrator.
pub(super) fn draw_by(scene: &Scene, integrator: &dyn Integrator, work: Work) -> Option<Rendered> {
    let window = scene.film.window;
    let all =
        f64::from(window.width()) * f64::from(window.height()) * f64::from(scene.sampling.spp);
    let done = std::sync::atomic::AtomicU64::new(0);
    let options = RenderOptions {
        threads: work.threads,
        time_limit: None,
        film: FilmOptions { moments: true, ..FilmOptions::default() },
        stop: work.stop,
        progress: &|samples| {
            let done = done.fetch_add(samples, Ordering::Relaxed) + samples;
            (work.progress)(done as f64 / all);
        },
    };
    let rendering = render(scene, integrator, &options);
    if rendering.picture.min_samples < scene.sampling.spp {
        return None;
    }
    let (invalid, time) = (rendering.picture.invalid_samples, rendering.wall);
    let picture = Measurement::of(rendering.picture).expect("moments were asked for");
    Some(Rendered { picture, invalid, time })
}

/// How a picture was made, for its file.
pub fn notes(case: &Case, scene: &Scene) -> Vec<(String, Attribute)> {
    let text = |text: &str| Attribute::Text(text.into());
    let notes = [
        ("lightbound/version", text(env!("CARGO_PKG_VERSION"))),
        ("lightbound/case", text(&case.name)),
        ("lightbound/scene", text(&case.scene.file_name().unwrap_or_default().to_string_lossy())),
        ("lightbound/integrator", text(scene.integrator.method.name().word())),
        ("lightbound/sampler", text(&format!("{:?}", scene.sampling.kind).to_lowercase())),
        ("lightbound/seed", text(&scene.sampling.seed.to_string())),
        (
            "lightbound/maxDepth",
            Attribute::Int(scene.integrator.max_depth.try_into().unwrap_or(i32::MAX)),
        ),
        ("lightbound/accel", text(scene.accel.name())),
    ];
    notes.into_iter().map(|(key, value)| (key.into(), value)).collect()
}

/// The reference of a case; the remedy where there is none.
pub fn reference(case: &Case) -> Result<Measurement, Broken> {
    Measurement::read(&case.reference).map_err(|error| Broken {
        message: error.to_string(),
        help: format!("render it: the same again with --update {}", case.name),
    })
}

/// Judges a picture of a case by the reference. With `pictures` the outcome has them, too, for the
/// report.
pub fn judge(case: &Case, rendered: &Rendered, reference: &Measurement, pictures: bool) -> Outcome {
    let result = &rendered.picture;
    let outcome = |status, figures, pictures| Outcome {
        name: case.name.clone(),
        description: case.about.clone(),
        status,
        figures,
        time: Some(rendered.time),
        last_time: None,
        pictures,
    };
    if (result.width, result.height) != (reference.width, reference.height) {
        let message = format!(
            "the picture has {} × {} pixels, the reference {} × {}",
            result.width, result.height, reference.width, reference.height
        );
        let help = format!("if the new size is meant: the same again with --update {}", case.name);
        return outcome(Status::Error { message, help }, Vec::new(), None);
    }
    let (mut failures, mut figures) = match case.kind {
        Kind::Statistical => statistical(case, result, reference),
        Kind::Exact => exact(result, reference),
    };
    if rendered.invalid > 0 {
        failures.push(format!(
            "{} samples were infinite, not a number, or beyond the film's range",
            rendered.invalid
        ));
    }
    let (comparison, map) = differences(result, reference, pictures);
    figures.extend(comparison);
    let pictures = pictures.then(|| Pictures {
        width: result.width,
        height: result.height,
        reference: reference.mean.clone(),
        result: result.mean.clone(),
        flip: map,
    });
    let status = if failures.is_empty() { Status::Passed } else { Status::Failed(failures) };
    outcome(status, figures, pictures)
}

/// Outcome of a case that cannot be run.
pub fn broken(case: &Case, broken: Broken) -> Outcome {
    Outcome {
        name: case.name.clone(),
        description: case.about.clone(),
        status: Status::Error { message: broken.message, help: broken.help },
        figures: Vec::new(),
        time: None,
        last_time: None,
        pictures: None,
    }
}

/// A figure without limit, or with one.
fn figure(name: &str, value: f64, limit: Option<Limit>) -> Figure {
    Figure { name: name.into(), value, limit }
}

/// What fails, and the figures.
fn statistical(
    case: &Case,
    result: &Measurement,
    reference: &Measurement,
) -> (Vec<String>, Vec<Figure>) {
    let tolerance = &case.tolerance;
    let found =
        statistics::test(result.width as usize, result.estimate(), reference.estimate(), tolerance);
    let figures = vec![
        figure(
            "accepted pixels, %",
            100.0 * found.accepted,
            Some(Limit::AtLeast(100.0 * tolerance.accepted)),
        ),
        figure("largest block z", found.worst_block.z, Some(Limit::AtMost(found.block_limit))),
        figure("largest pixel z", found.worst_pixel.z, None),
        figure("noise over the expected", found.noise.sqrt(), None),
    ];
    (refusals(&found, tolerance.accepted), figures)
}

/// The tests that fail, in words.
fn refusals(found: &Findings, accepted: f64) -> Vec<String> {
    let mut failures = Vec::new();
    if found.refused_blocks > 0 {
        let worst = &found.worst_block;
        failures.push(format!(
            "{}: z = {:.1}, at most {:.1}",
            deviation(worst),
            worst.z,
            found.block_limit
        ));
    }
    if found.accepted < accepted {
        failures.push(format!(
            "{:.3} % of the pixels' tests pass, at least {:.3} % must; the worst: {}, z = {:.1}",
            100.0 * found.accepted,
            100.0 * accepted,
            deviation(&found.worst_pixel),
            found.worst_pixel.z
        ));
    }
    failures
}

/// `green is 1.2 % too high in the 16 × 16 pixels from (32, 48)`.
fn deviation(block: &Block) -> String {
    let channel = ["red", "green", "blue"][block.channel];
    let difference = block.result - block.reference;
    let side = if difference < 0.0 { "low" } else { "high" };
    let amount = match (100.0 * difference / block.reference).abs() {
        percent if percent.is_finite() && percent < 1000.0 => format!("{percent:.2} %"),
        _ => format!("{:.3e}", difference.abs()),
    };
    let place = match block.size {
        (1, 1) => format!("at pixel ({}, {})", block.x, block.y),
        (width, height) => {
            format!("in the {width} × {height} pixels from ({}, {})", block.x, block.y)
        }
    };
    format!("{channel} is {amount} too {side} {place}")
}

fn exact(result: &Measurement, reference: &Measurement) -> (Vec<String>, Vec<Figure>) {
    let bits = |pixel: &[f32; 3]| pixel.map(f32::to_bits);
    let differ: Vec<usize> = (0..result.mean.len())
        .filter(|&i| bits(&result.mean[i]) != bits(&reference.mean[i]))
        .collect();
    let figures =
        vec![figure("pixels with other bits", differ.len() as f64, Some(Limit::AtMost(0.0)))];
    let failures = differ.first().map(|&first| {
        let (x, y) = (first as u32 % result.width, first as u32 / result.width);
        let (a, b) = (result.mean[first], reference.mean[first]);
        format!(
            "{} of {} pixels have other bits, first ({x}, {y}): {a:?}, reference {b:?}",
            differ.len(),
            result.mean.len()
        )
    });
    let samples = (result.samples != reference.samples).then(|| {
        format!("{} samples per pixel, the reference has {}", result.samples, reference.samples)
    });
    (failures.into_iter().chain(samples).collect(), figures)
}

/// Figures for information, and ꟻLIP's map where it is wanted.
pub(super) fn differences(
    result: &Measurement,
    reference: &Measurement,
    with_flip: bool,
) -> (Vec<Figure>, Vec<f32>) {
    let planes = |m: &Measurement| Planes::from_rgb(m.width as usize, m.height as usize, &m.mean);
    let mut metrics = vec![Metric::MeanError, Metric::RelMse, Metric::Max];
    if with_flip {
        metrics.push(Metric::HdrFlip);
    }
    let comparison = compare(&planes(result), &planes(reference), &metrics, 0.0);
    let known =
        |metric: Metric| Some(figure(metric.name(), comparison.figure(metric)?.overall, None));
    let figures = metrics.iter().filter_map(|&metric| known(metric)).collect();
    (figures, comparison.hdr_flip.map_or(Vec::new(), |map: flip::Map| map.values))
}
