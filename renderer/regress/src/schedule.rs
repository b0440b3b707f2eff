//! Runs the cases of a suite in parallel.

use super::key::Keys;
use super::measurement::Measurement;
use super::outcome::Outcome;
use super::run::{self, CaseError, RenderContext, Rendered};
use super::state::RunState;
use super::suite::{Case, CaseKind};
use lightbound_pbrt::diagnostics::{Source, Warning};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// How to run cases. Only the seed affects images.
pub struct Schedule<'a> {
    /// Number of cases that run at the same time.
    pub jobs: usize,
    /// Total number of threads.
    pub threads: usize,
    /// Overrides the seeds of statistical cases.
    pub seed: Option<u32>,
    /// Whether outcomes include images.
    pub with_images: bool,
    /// Where finished cases are stored, if anywhere.
    pub state: Option<&'a RunState>,
    /// Once set, starts no more cases and abandons those in progress.
    pub stop: &'a AtomicBool,
    /// Called with each increment of progress; a finished case adds 1 in total.
    pub progress: &'a (dyn Fn(f64) + Sync),
    /// Called for each event.
    pub event: &'a (dyn Fn(Event) + Sync),
}

/// An event of a run.
pub enum Event<'a> {
    /// A case has an outcome.
    Done {
        /// The outcome.
        outcome: &'a Outcome,
        /// Whether its image comes from an interrupted run.
        reused: bool,
    },
    /// A scene uses an unsupported feature.
    Warning(&'a Case, &'a Warning),
    /// A finished case could not be stored.
    StoreFailed(String),
}

impl Schedule<'_> {
    /// Runs cases. Returns their outcomes in order, except for interrupted cases.
    pub fn run(&self, cases: &[&Case]) -> Vec<Outcome> {
        let keys = Keys::for_current_executable();
        let next = AtomicUsize::new(0);
        let outcomes: Mutex<Vec<Option<Outcome>>> = Mutex::new(vec![None; cases.len()]);
        let work = || {
            while let Some((index, case)) = next_case(&next, cases) {
                let Some((outcome, reused)) = self.run_case(case, &keys) else { break };
                (self.event)(Event::Done { outcome: &outcome, reused });
                outcomes.lock().expect("no thread panics while holding this lock")[index] =
                    Some(outcome);
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..self.jobs.min(cases.len()) {
                // If no more threads can be started, the existing ones do the work.
                if std::thread::Builder::new().spawn_scoped(scope, work).is_err() {
                    break;
                }
            }
            work();
        });
        outcomes.into_inner().expect("all threads are done").into_iter().flatten().collect()
    }

    /// Returns the outcome of a case, and whether its image comes from an interrupted run; `None`
    /// if stopped.
    fn run_case(&self, case: &Case, keys: &Keys) -> Option<(Outcome, bool)> {
        if self.stop.load(Ordering::Relaxed) {
            return None;
        }
        let reported = Mutex::new(0.0);
        let progress = |fraction: f64| {
            let mut reported = reported.lock().expect("no thread panics while holding this lock");
            (self.progress)(fraction - *reported);
            *reported = fraction;
        };
        let result = self.render_or_load(case, keys, &progress);
        if !matches!(result, Ok(None)) {
            progress(1.0);
        }
        match result {
            Ok(None) => None,
            Ok(Some(CaseRun { reference, rendered, reused })) => {
                let last_time = self.state.and_then(|state| state.last_time(&case.name));
                Some((
                    Outcome {
                        last_time,
                        ..run::evaluate(case, &rendered, &reference, self.with_images)
                    },
                    reused,
                ))
            }
            Err(error) => Some((run::error_outcome(case, error), false)),
        }
    }

    /// Returns the reference and the rendered or stored image of a case; `None` if stopped.
    fn render_or_load(
        &self,
        case: &Case,
        keys: &Keys,
        progress: &(dyn Fn(f64) + Sync),
    ) -> Result<Option<CaseRun>, CaseError> {
        // Read first, to fail before rendering if the reference is missing.
        let reference = run::read_reference(case)?;
        let seed = self.seed.filter(|_| case.kind == CaseKind::Statistical);
        let (loaded, warnings) = run::load(case, &Source::file(&case.scene), seed)?;
        for warning in &warnings {
            (self.event)(Event::Warning(case, warning));
        }
        let key = keys.key(case, seed, &loaded.inputs);
        if let Some(rendered) = self.state.and_then(|state| state.rendered(&case.name, &key)) {
            return Ok(Some(CaseRun { reference, rendered, reused: true }));
        }
        let threads = (self.threads / self.jobs).max(1);
        let Some(rendered) = run::render(
            case,
            &loaded.scene,
            &loaded.settings,
            RenderContext { threads, stop: self.stop, progress },
        )?
        else {
            return Ok(None);
        };
        if let Some(Err(error)) = self.state.map(|state| state.store(&case.name, key, &rendered)) {
            (self.event)(Event::StoreFailed(error.to_string()));
        }
        Ok(Some(CaseRun { reference, rendered, reused: false }))
    }
}

/// A rendered case and its reference.
struct CaseRun {
    reference: Measurement,
    rendered: Rendered,
    reused: bool,
}

/// The next case and its index.
fn next_case<'a>(next: &AtomicUsize, cases: &[&'a Case]) -> Option<(usize, &'a Case)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    cases.get(index).map(|&case| (index, case))
}
