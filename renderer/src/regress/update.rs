//! New references, and by how much they differ from the old ones.
//!
//! The reference of a statistical case is rendered with many samples and another seed than the
//! case, for a test against the very samples it shares with its reference would see less of their
//! errors. That of an exact case is what the case renders.

use super::measurement::Measurement;
use super::outcome::Figure;
use super::run::{self, Broken, Work};
use super::statistics::{self, Findings};
use super::suite::{Case, Kind};
use crate::image::ImageError;
use crate::scene::Scene;
use crate::scene::diagnostics::{Source, Warning};
use std::time::Duration;

/// Samples per pixel of a reference for each of the case.
const SAMPLES: u32 = 64;

/// Most samples per pixel of a reference that nobody gave a number for.
const MAX_SAMPLES: u32 = 1 << 24;

/// A reference that was written.
#[derive(Clone, Debug)]
pub struct Update {
    /// Samples per pixel.
    pub samples: u32,
    /// Time that it took.
    pub time: Duration,
    /// What became of the old one.
    pub change: Change,
    /// What the scene has that is not supported.
    pub warnings: Vec<Warning>,
}

/// How a new reference differs from the old one.
#[derive(Clone, Debug)]
pub enum Change {
    /// There was none, or none that could be read.
    New,
    /// It had other columns and rows.
    Size(u32, u32),
    /// Figures of the new one against the old one, and tests of both being the same.
    Figures(Vec<Figure>, Box<Findings>),
}

/// Why a reference could not be renewed.
#[derive(Debug)]
pub enum UpdateError {
    /// The case cannot be rendered.
    Broken(Broken),
    /// The file cannot be written; the old one is untouched.
    Write(ImageError),
}

/// Renders and writes the reference of a case; `None`, and nothing written, if it was stopped.
pub fn update(case: &Case, work: Work) -> Result<Option<Update>, UpdateError> {
    let (loaded, warnings) =
        run::load(case, &Source::file(&case.scene), None).map_err(UpdateError::Broken)?;
    let mut scene = loaded.scene;
    prepare(case, &mut scene);
    let Some(rendered) = run::draw(&scene, work).map_err(UpdateError::Broken)? else {
        return Ok(None);
    };
    if rendered.invalid > 0 {
        let message = format!(
            "{} samples were infinite, not a number, or beyond the film's range",
            rendered.invalid
        );
        let help = "a reference with them would say nothing; look for the material or light that makes them".into();
        return Err(UpdateError::Broken(Broken { message, help }));
    }
    let change = change(case, &rendered.picture);
    if let Some(folder) = case.reference.parent() {
        // Where it fails, writing does, and tells more.
        let _ = std::fs::create_dir_all(folder);
    }
    rendered
        .picture
        .write(&case.reference, run::notes(case, &scene))
        .map_err(UpdateError::Write)?;
    Ok(Some(Update { samples: rendered.picture.samples, time: rendered.time, change, warnings }))
}

/// Gives the scene of a statistical case the samples and the seed of a reference.
pub fn prepare(case: &Case, scene: &mut Scene) {
    if case.kind == Kind::Statistical {
        scene.sampling.spp = case
            .reference_spp
            .unwrap_or(scene.sampling.spp.saturating_mul(SAMPLES).min(MAX_SAMPLES));
        // Any other.
        scene.sampling.seed = !scene.sampling.seed;
    }
}

fn change(case: &Case, new: &Measurement) -> Change {
    let Ok(old) = Measurement::read(&case.reference) else { return Change::New };
    if (old.width, old.height) != (new.width, new.height) {
        return Change::Size(old.width, old.height);
    }
    let (figures, _) = run::differences(new, &old, false);
    let found =
        statistics::test(new.width as usize, new.estimate(), old.estimate(), &case.tolerance);
    Change::Figures(figures, Box::new(found))
}
