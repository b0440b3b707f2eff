//! Runs the cases of a suite, several at a time.

use super::key::Keys;
use super::measurement::Measurement;
use super::outcome::Outcome;
use super::run::{self, Broken, Rendered, Work};
use super::state::State;
use super::suite::{Case, Kind};
use crate::scene::diagnostics::{Source, Warning};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// How to run cases; none of it changes a picture but the seed.
pub struct Schedule<'a> {
    /// Cases that run at the same time.
    pub jobs: usize,
    /// Threads of all of them.
    pub threads: usize,
    /// Seed of statistical cases instead of the suite's.
    pub seed: Option<u32>,
    /// Whether outcomes are to have pictures.
    pub pictures: bool,
    /// Where cases that are done are kept.
    pub state: Option<&'a State>,
    /// Takes no more cases, and drops those under way, once set.
    pub stop: &'a AtomicBool,
    /// Told the share of a case more that is done.
    pub progress: &'a (dyn Fn(f64) + Sync),
    /// Told what happens.
    pub event: &'a (dyn Fn(Event) + Sync),
}

/// What happens in a run.
pub enum Event<'a> {
    /// A case has an outcome; `kept` if its picture was left by an interrupted run.
    Done {
        /// The outcome.
        outcome: &'a Outcome,
        /// Whether nothing had to be rendered.
        kept: bool,
    },
    /// A scene has what is not supported.
    Warning(&'a Case, &'a Warning),
    /// A case that is done could not be kept.
    NotKept(String),
}

impl Schedule<'_> {
    /// Runs cases; outcomes in their order, without those that Ctrl-C has left undone.
    pub fn run(&self, cases: &[&Case]) -> Vec<Outcome> {
        let keys = Keys::of_this_program();
        let next = AtomicUsize::new(0);
        let outcomes: Mutex<Vec<Option<Outcome>>> = Mutex::new(vec![None; cases.len()]);
        let work = || {
            while let Some((index, case)) = take(&next, cases) {
                let Some((outcome, kept)) = self.case(case, &keys) else { break };
                (self.event)(Event::Done { outcome: &outcome, kept });
                outcomes.lock().expect("no thread panics here")[index] = Some(outcome);
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..self.jobs.min(cases.len()) {
                // Where the system has no more threads to give, those that there are do the work.
                if std::thread::Builder::new().spawn_scoped(scope, work).is_err() {
                    break;
                }
            }
            work();
        });
        outcomes.into_inner().expect("all threads are done").into_iter().flatten().collect()
    }

    /// The outcome of a case, and whether its picture was there already; `None` once stopped.
    fn case(&self, case: &Case, keys: &Keys) -> Option<(Outcome, bool)> {
        if self.stop.load(Ordering::Relaxed) {
            return None;
        }
        let told = Mutex::new(0.0);
        let progress = |share: f64| {
            let mut told = told.lock().expect("no thread panics here");
            (self.progress)(share - *told);
            *told = share;
        };
        let result = self.picture(case, keys, &progress);
        if !matches!(result, Ok(None)) {
            progress(1.0);
        }
        match result {
            Ok(None) => None,
            Ok(Some(Taken { reference, rendered, kept })) => {
                let last_time = self.state.and_then(|state| state.last_time(&case.name));
                Some((
                    Outcome { last_time, ..run::judge(case, &rendered, &reference, self.pictures) },
                    kept,
                ))
            }
            Err(broken) => Some((run::broken(case, broken), false)),
        }
    }

    /// Reference and picture of a case, and whether the latter was left by an interrupted run;
    /// `None` once stopped.
    fn picture(
        &self,
        case: &Case,
        keys: &Keys,
        progress: &(dyn Fn(f64) + Sync),
    ) -> Result<Option<Taken>, Broken> {
        // Before rendering, since it may be missing.
        let reference = run::reference(case)?;
        let seed = self.seed.filter(|_| case.kind == Kind::Statistical);
        let (loaded, warnings) = run::load(case, &Source::file(&case.scene), seed)?;
        for warning in &warnings {
            (self.event)(Event::Warning(case, warning));
        }
        let key = keys.of(case, seed, &loaded.inputs);
        if let Some(rendered) = self.state.and_then(|state| state.rendered(&case.name, &key)) {
            return Ok(Some(Taken { reference, rendered, kept: true }));
        }
        let threads = (self.threads / self.jobs).max(1);
        let Some(rendered) = run::draw(&loaded.scene, Work { threads, stop: self.stop, progress })?
        else {
            return Ok(None);
        };
        if let Some(Err(error)) = self.state.map(|state| state.keep(&case.name, key, &rendered)) {
            (self.event)(Event::NotKept(error.to_string()));
        }
        Ok(Some(Taken { reference, rendered, kept: false }))
    }
}

/// A picture, new or kept, and what it is held against.
struct Taken {
    reference: Measurement,
    rendered: Rendered,
    kept: bool,
}

/// The next case and its number.
fn take<'a>(next: &AtomicUsize, cases: &[&'a Case]) -> Option<(usize, &'a Case)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    cases.get(index).map(|&case| (index, case))
}
