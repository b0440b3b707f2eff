//! The stored state of a run: images of finished cases, so that an interrupted run can be resumed,
//! and render times.
//!
//! The folder `.regress/SUITE/` beside the suite contains `state.json` and, during a run, the image
//! of each finished case. When a case finishes, its image is written first and `state.json` second,
//! both atomically. So each case that `state.json` marks as done has an image, even if the program
//! is killed. A completed run removes the images and keeps the times.

use super::measurement::Measurement;
use super::run::Rendered;
use lightbound_image::write::save;
use lightbound_image::{ImageError, Problem};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The stored state of the last run of a suite.
#[derive(Debug)]
pub struct RunState {
    folder: PathBuf,
    cases: Mutex<BTreeMap<String, CaseState>>,
}

/// The state of a case that was rendered before.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct CaseState {
    /// [Key](super::key) of the last image.
    key: String,
    /// Whether that image is stored, since its run is incomplete.
    done: bool,
    /// Render time.
    seconds: f64,
    /// Render time in the previous run.
    last_seconds: Option<f64>,
    /// Number of invalid samples.
    invalid: u64,
}

impl RunState {
    /// Opens the state of a suite, which is empty if its file is missing or unreadable.
    ///
    /// # Errors
    /// If the folder cannot be created.
    pub fn open(suite: &Path) -> Result<RunState, ImageError> {
        let name = suite.file_stem().unwrap_or_default();
        let folder = suite.parent().unwrap_or(Path::new("")).join(".regress").join(name);
        std::fs::create_dir_all(&folder)
            .map_err(|cause| ImageError { path: folder.clone(), problem: Problem::Write(cause) })?;
        let text = std::fs::read(folder.join("state.json")).unwrap_or_default();
        let cases = serde_json::from_slice(&text).unwrap_or_default();
        Ok(RunState { folder, cases: Mutex::new(cases) })
    }

    /// Returns the result of a case if an interrupted run finished it and its key is unchanged.
    pub(crate) fn rendered(&self, name: &str, key: &str) -> Option<Rendered> {
        let entry = self.cases().get(name).filter(|entry| entry.done && entry.key == key)?.clone();
        let image = Measurement::read(&self.image_path(name)).ok()?;
        Some(Rendered { image, invalid: entry.invalid, time: duration(entry.seconds)? })
    }

    /// Returns the render time of a case in the previous run.
    pub(crate) fn last_time(&self, name: &str) -> Option<Duration> {
        self.cases().get(name).and_then(|entry| duration(entry.last_seconds?))
    }

    /// Stores a finished case.
    ///
    /// # Errors
    /// If a file cannot be written. A resumed run will then render the case again.
    pub(crate) fn store(
        &self,
        name: &str,
        key: String,
        rendered: &Rendered,
    ) -> Result<(), ImageError> {
        rendered.image.write(&self.image_path(name), Vec::new())?;
        let mut cases = self.cases();
        let entry = cases.entry(name.into()).or_default();
        let previous = (entry.seconds > 0.0).then_some(entry.seconds);
        let (seconds, invalid) = (rendered.time.as_secs_f64(), rendered.invalid);
        *entry = CaseState { key, done: true, seconds, last_seconds: previous, invalid };
        self.write(&cases)
    }

    /// Marks the run of these cases as completed, and removes their images.
    ///
    /// # Errors
    /// If the file cannot be written. The next run will then reuse the images of this one.
    pub fn finish<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Result<(), ImageError> {
        let mut cases = self.cases();
        let mut images = Vec::new();
        for name in names {
            if let Some(entry) = cases.get_mut(name) {
                entry.done = false;
                images.push(self.image_path(name));
            }
        }
        self.write(&cases)?;
        for image in images {
            // A leftover image is harmless.
            let _ = std::fs::remove_file(image);
        }
        Ok(())
    }

    fn cases(&self) -> MutexGuard<'_, BTreeMap<String, CaseState>> {
        self.cases.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn image_path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.exr"))
    }

    fn write(&self, cases: &BTreeMap<String, CaseState>) -> Result<(), ImageError> {
        let json = serde_json::to_vec_pretty(cases).expect("the state can be serialized");
        save(&self.folder.join("state.json"), &json)
    }
}

/// Converts seconds; `None` if they are negative, not finite, or too large.
fn duration(seconds: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(value: f32, seconds: u64) -> Rendered {
        let image = Measurement {
            width: 1,
            height: 1,
            mean: vec![[value; 3]],
            variance: vec![[0.0; 3]],
            samples: 2,
        };
        Rendered { image, invalid: 1, time: Duration::from_secs(seconds) }
    }

    #[test]
    fn finished_cases_are_stored_until_the_run_completes() {
        let folder = tempfile::tempdir().unwrap();
        let suite = folder.path().join("suite.toml");
        let open = || RunState::open(&suite).unwrap();
        open().store("a", "key".into(), &rendered(0.5, 2)).unwrap();
        let resumed = open().rendered("a", "key").unwrap();
        assert_eq!(
            (resumed.image, resumed.invalid, resumed.time),
            (rendered(0.5, 2).image, 1, Duration::from_secs(2))
        );
        assert!(
            open().rendered("a", "other key").is_none() && open().rendered("b", "key").is_none()
        );
        assert_eq!(open().last_time("a"), None);
        open().finish(["a", "b"]).unwrap();
        assert!(open().rendered("a", "key").is_none());
        open().store("a", "key".into(), &rendered(0.5, 3)).unwrap();
        assert_eq!(open().last_time("a"), Some(Duration::from_secs(2)));
    }

    #[test]
    fn damaged_images_and_states_are_ignored() {
        let folder = tempfile::tempdir().unwrap();
        let suite = folder.path().join("suite.toml");
        let state = RunState::open(&suite).unwrap();
        state.store("a", "key".into(), &rendered(0.5, 2)).unwrap();
        std::fs::write(state.image_path("a"), "truncated").unwrap();
        assert!(state.rendered("a", "key").is_none());
        std::fs::write(state.folder.join("state.json"), "{\"a\": {\"se").unwrap();
        assert!(RunState::open(&suite).unwrap().cases().is_empty());
    }
}
