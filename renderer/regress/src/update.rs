//! Renders new references and compares them with the old ones.
//!
//! The reference of a statistical case is rendered with many samples and a different seed, since a
//! test against a reference that shares samples with the case would underestimate errors. The
//! reference of an exact case is rendered with the settings of the case.

use super::measurement::Measurement;
use super::outcome::MetricValue;
use super::run::{self, CaseError, RenderContext};
use super::statistics::{self, TestResults};
use super::suite::{Case, CaseKind};
use lightbound::RenderSettings;
use lightbound_image::ImageError;
use lightbound_pbrt::diagnostics::{Source, Warning};
use std::time::Duration;

/// Samples per pixel of a reference, by default, as a multiple of those of its case.
const REFERENCE_SPP_RATIO: u32 = 64;

/// Maximum default number of samples per pixel of a reference.
const MAX_DEFAULT_SPP: u32 = 1 << 24;

/// A new reference.
#[derive(Clone, Debug)]
pub struct Update {
    /// Samples per pixel.
    pub samples: u32,
    /// Render time.
    pub time: Duration,
    /// Difference from the old reference.
    pub change: Change,
    /// Warnings about unsupported features of the scene.
    pub warnings: Vec<Warning>,
}

/// Difference between a new reference and the old one.
#[derive(Clone, Debug)]
pub enum Change {
    /// There was no readable old reference.
    New,
    /// The size changed: width and height of the old reference.
    Size(u32, u32),
    /// Metrics of the new reference against the old one, and the result of the equality tests.
    Compared(Vec<MetricValue>, Box<TestResults>),
}

/// Why a reference could not be updated.
#[derive(Debug)]
pub enum UpdateError {
    /// The case cannot be rendered.
    Case(CaseError),
    /// The file cannot be written; the old reference is untouched.
    Write(ImageError),
}

/// Renders and writes the reference of a case. If stopped, returns `None` and writes nothing.
pub fn update(case: &Case, context: RenderContext) -> Result<Option<Update>, UpdateError> {
    let (loaded, warnings) =
        run::load(case, &Source::file(&case.scene), None).map_err(UpdateError::Case)?;
    let (scene, mut settings) = (loaded.scene, loaded.settings);
    set_reference_sampling(case, &mut settings);
    let Some(rendered) =
        run::render(case, &scene, &settings, context).map_err(UpdateError::Case)?
    else {
        return Ok(None);
    };
    if rendered.invalid > 0 {
        let message =
            format!("{} samples were infinite, NaN, or beyond the film's range", rendered.invalid);
        let help =
            "such a reference would be invalid; find the material or light that produces these \
             samples"
                .into();
        return Err(UpdateError::Case(CaseError { message, help }));
    }
    let change = compare_with_old(case, &rendered.image);
    if let Some(folder) = case.reference.parent() {
        // If this fails, writing fails too, with a better message.
        let _ = std::fs::create_dir_all(folder);
    }
    rendered
        .image
        .write(&case.reference, run::metadata(case, &scene, &settings))
        .map_err(UpdateError::Write)?;
    Ok(Some(Update { samples: rendered.image.samples, time: rendered.time, change, warnings }))
}

/// Sets the samples per pixel and the seed of the reference of a statistical case.
fn set_reference_sampling(case: &Case, settings: &mut RenderSettings) {
    if case.kind == CaseKind::Statistical {
        settings.sampling.spp = case.reference_spp.unwrap_or(
            settings.sampling.spp.saturating_mul(REFERENCE_SPP_RATIO).min(MAX_DEFAULT_SPP),
        );
        // Any other seed is suitable.
        settings.sampling.seed = !settings.sampling.seed;
    }
}

fn compare_with_old(case: &Case, new: &Measurement) -> Change {
    let Ok(old) = Measurement::read(&case.reference) else { return Change::New };
    if (old.width, old.height) != (new.width, new.height) {
        return Change::Size(old.width, old.height);
    }
    let (metrics, _) = run::image_metrics(new, &old, false);
    let results =
        statistics::test(new.width as usize, new.estimate(), old.estimate(), &case.tolerance);
    Change::Compared(metrics, Box::new(results))
}
