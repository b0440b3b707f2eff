//! What a run leaves behind, so that an interrupted one can go on: pictures of cases that are done,
//! and times.
//!
//! A folder beside the suite, `.regress/SUITE/`, holds `state.json` and, while a run is under way,
//! the picture of each case that is done. Both are written at once when a case is done, each in one
//! step, the picture first; whatever ends the program, cases that `state.json` calls done are. A
//! run that comes to its end removes the pictures and leaves the times.

use super::measurement::Measurement;
use super::run::Rendered;
use crate::image::write::save;
use crate::image::{ImageError, Problem};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The state of a suite.
#[derive(Debug)]
pub struct State {
    folder: PathBuf,
    cases: Mutex<BTreeMap<String, Entry>>,
}

/// A case that was rendered once.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Entry {
    /// [`super::key`] of its last picture.
    key: String,
    /// Whether that belongs to a run that has not come to its end.
    done: bool,
    /// Time that it took.
    seconds: f64,
    /// The same in the run before.
    last_seconds: Option<f64>,
    /// Samples that were not finite.
    invalid: u64,
}

impl State {
    /// Opens that of a suite, empty where there is none that can be read.
    ///
    /// *Errors*: the folder cannot be made.
    pub fn open(suite: &Path) -> Result<State, ImageError> {
        let name = suite.file_stem().unwrap_or_default();
        let folder = suite.parent().unwrap_or(Path::new("")).join(".regress").join(name);
        std::fs::create_dir_all(&folder)
            .map_err(|cause| ImageError { path: folder.clone(), problem: Problem::Write(cause) })?;
        let text = std::fs::read(folder.join("state.json")).unwrap_or_default();
        let cases = serde_json::from_slice(&text).unwrap_or_default();
        Ok(State { folder, cases: Mutex::new(cases) })
    }

    /// What an interrupted run left of a case.
    pub fn rendered(&self, name: &str, key: &str) -> Option<Rendered> {
        let entry = self.cases().get(name).filter(|entry| entry.done && entry.key == key)?.clone();
        let picture = Measurement::read(&self.picture(name)).ok()?;
        Some(Rendered { picture, invalid: entry.invalid, time: duration(entry.seconds)? })
    }

    /// Time that a case took in the run before this one.
    pub fn last_time(&self, name: &str) -> Option<Duration> {
        self.cases().get(name).and_then(|entry| duration(entry.last_seconds?))
    }

    /// Keeps a case that is done.
    ///
    /// *Errors*: a file could not be written. The case will be rendered again.
    pub fn keep(&self, name: &str, key: String, rendered: &Rendered) -> Result<(), ImageError> {
        rendered.picture.write(&self.picture(name), Vec::new())?;
        let mut cases = self.cases();
        let entry = cases.entry(name.into()).or_default();
        let before = (entry.seconds > 0.0).then_some(entry.seconds);
        let (seconds, invalid) = (rendered.time.as_secs_f64(), rendered.invalid);
        *entry = Entry { key, done: true, seconds, last_seconds: before, invalid };
        self.write(&cases)
    }

    /// Notes that a run of these cases has come to its end.
    ///
    /// *Errors*: the file could not be written. The next run will take this one's pictures for its
    /// own.
    pub fn finish<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Result<(), ImageError> {
        let mut cases = self.cases();
        let mut pictures = Vec::new();
        for name in names {
            if let Some(entry) = cases.get_mut(name) {
                entry.done = false;
                pictures.push(self.picture(name));
            }
        }
        self.write(&cases)?;
        for picture in pictures {
            // Left over, it would do no harm.
            let _ = std::fs::remove_file(picture);
        }
        Ok(())
    }

    fn cases(&self) -> MutexGuard<'_, BTreeMap<String, Entry>> {
        self.cases.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn picture(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.exr"))
    }

    fn write(&self, cases: &BTreeMap<String, Entry>) -> Result<(), ImageError> {
        let json = serde_json::to_vec_pretty(cases).expect("numbers and texts make JSON");
        save(&self.folder.join("state.json"), &json)
    }
}

/// A time of a file, which may hold anything.
fn duration(seconds: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(value: f32, seconds: u64) -> Rendered {
        let picture = Measurement {
            width: 1,
            height: 1,
            mean: vec![[value; 3]],
            variance: vec![[0.0; 3]],
            samples: 2,
        };
        Rendered { picture, invalid: 1, time: Duration::from_secs(seconds) }
    }

    #[test]
    fn what_is_done_is_there_until_the_run_ends() {
        let folder = tempfile::tempdir().unwrap();
        let suite = folder.path().join("suite.toml");
        let open = || State::open(&suite).unwrap();
        open().keep("a", "key".into(), &rendered(0.5, 2)).unwrap();
        let again = open().rendered("a", "key").unwrap();
        assert_eq!(
            (again.picture, again.invalid, again.time),
            (rendered(0.5, 2).picture, 1, Duration::from_secs(2))
        );
        assert!(
            open().rendered("a", "other key").is_none() && open().rendered("b", "key").is_none()
        );
        assert_eq!(open().last_time("a"), None);
        open().finish(["a", "b"]).unwrap();
        assert!(open().rendered("a", "key").is_none());
        open().keep("a", "key".into(), &rendered(0.5, 3)).unwrap();
        assert_eq!(open().last_time("a"), Some(Duration::from_secs(2)));
    }

    #[test]
    fn a_damaged_state_is_no_state() {
        let folder = tempfile::tempdir().unwrap();
        let suite = folder.path().join("suite.toml");
        let state = State::open(&suite).unwrap();
        state.keep("a", "key".into(), &rendered(0.5, 2)).unwrap();
        std::fs::write(state.picture("a"), "half").unwrap();
        assert!(state.rendered("a", "key").is_none());
        std::fs::write(state.folder.join("state.json"), "{\"a\": {\"se").unwrap();
        assert!(State::open(&suite).unwrap().cases().is_empty());
    }
}
