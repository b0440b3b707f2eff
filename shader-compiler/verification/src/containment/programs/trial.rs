//! A trial: a random program, the bounding shaders to check, and how to check them.

use super::Program;
use super::ast::Module;
use crate::containment::boxes::sample_at;
use crate::containment::{Checker, Fault, FaultKind, Plan, Sample, Subject, Tally};
use lightbound_shader::bounding::{Frame, Integrand, IntervalInputs, Ranges};
use lightbound_shader::frontend::{Shader, ShaderError};
use lightbound_shader::ir::{Def, Function, Type};
use lightbound_shader::lift::Lifted;
use lightbound_shader::random::Random;
use lightbound_shader::target::Target;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The number of checks, boxes and members for a program.
#[derive(Clone, Copy, Debug)]
pub struct CheckBudget {
    /// Minimum number of checks. Batches of boxes are checked until it is reached, up to twelve.
    pub checks: u64,
    /// Random boxes per batch.
    pub boxes: usize,
    /// Random members per box.
    pub members: usize,
    /// Rounds of the local search for members that minimize or maximize an output.
    pub steps: usize,
}

/// A program with randomly chosen settings.
#[derive(Clone)]
pub struct Trial {
    pub(super) seed: u64,
    pub(super) module: Module,
    /// Whether `brdf` is compiled as any function, whose arguments are not directions.
    pub(super) is_function: bool,
    pub(super) frame: Frame,
    pub(super) interval_inputs: IntervalInputs,
    pub(super) ranges: Ranges,
    pub(super) target: Target,
    pub(super) plan: Plan,
    /// Whether the bounds on all values of the function are checked, not only those on its outputs.
    pub(super) bounds_all_values: bool,
    /// Modifies bounding shaders before they are compiled. Tests use it to inject faults.
    pub(super) inject: fn(&mut Lifted),
}

/// Maximum number of batches per program: if most results are skipped, the number of checks is
/// never reached.
const MAX_BATCHES: usize = 12;

/// Loop cap of the point shader and of most bounding shaders. Few loops reach it.
pub(super) const LOOP_CAP: u32 = 40;

impl Trial {
    /// Creates the trial for a seed, on one of the targets or, rarely, on the interpreter.
    pub fn new(seed: u64, targets: &[Target]) -> Trial {
        let module = Program::random(seed).module;
        let random = &mut Random::new(!seed);
        let loop_cap = if random.once_in(6) { 5 } else { LOOP_CAP };
        let target = *random.pick(targets);
        Trial {
            seed,
            module,
            is_function: false,
            frame: if random.once_in(3) { Frame::World } else { Frame::Local },
            interval_inputs: *random.pick(&[IntervalInputs::Light, IntervalInputs::All]),
            ranges: if random.once_in(6) { Ranges::Paper } else { Ranges::Declared },
            target: if random.once_in(40) { Target::Interpreter } else { target },
            plan: Plan::random(random, loop_cap),
            bounds_all_values: random.once_in(10),
            inject: |_| {},
        }
    }

    /// Creates the trial of a program as a function that is no material: its arguments are any
    /// vectors, and its result is not multiplied by a cosine.
    pub fn of_function(seed: u64, targets: &[Target]) -> Trial {
        let mut trial = Trial::new(seed, targets);
        // Functions have no sides.
        trial.module.two_sided = false;
        Trial { is_function: true, frame: Frame::Local, ..trial }
    }

    /// Returns the seed of the program and of the settings.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Returns the settings that the shrinker simplifies.
    pub(super) fn settings(&self) -> (bool, Frame, IntervalInputs, Ranges, Target) {
        (self.bounds_all_values, self.frame, self.interval_inputs, self.ranges, self.target)
    }

    /// Returns what is checked: a function, or a material with directions in a coordinate frame.
    pub fn kind(&self) -> &'static str {
        match (self.is_function, self.frame) {
            (true, _) => "function",
            (false, Frame::Local) => "local frame",
            (false, Frame::World) => "world frame",
        }
    }

    fn name(&self) -> String {
        format!("program, seed {}, {}", self.seed, self.kind())
    }

    pub(super) fn parse(&self, name: &str) -> Result<Shader, ShaderError> {
        let text = self.module.to_string();
        if self.is_function {
            Shader::parse_function(name, &text, "brdf")
        } else {
            Shader::parse(name, &text)
        }
    }

    /// Returns the integrand as a subject, or a fault if the front end rejects the program.
    pub(super) fn subject(&self) -> Result<Subject, Box<Fault>> {
        let compiled = self.parse("program.wgsl").and_then(|shader| {
            Integrand::new(&shader, &Subject::settings(&shader, LOOP_CAP), self.frame)
        });
        let integrand = compiled.map_err(|error| {
            let labels: Vec<_> = error.labels.iter().filter_map(|label| label.label()).collect();
            let message = format!("{error}: {}", labels.join("; "));
            Box::new(Fault::without_box(FaultKind::Rejected, &self.name(), self.target, &message))
        })?;
        let subject =
            Subject::material(&self.name(), &integrand, self.interval_inputs, Some(self.ranges));
        Ok(if self.bounds_all_values { subject.with_intermediate_outputs() } else { subject })
    }

    /// Checks random boxes. A panic of the compiler is a fault.
    pub fn run(&self, budget: &CheckBudget) -> Tally {
        self.run_on(budget, |_| vec![])
    }

    /// Checks the given boxes, then random ones.
    pub(super) fn run_on(
        &self,
        budget: &CheckBudget,
        given_boxes: impl FnOnce(&Subject) -> Vec<Sample>,
    ) -> Tally {
        let run = || {
            let subject = match self.subject() {
                Ok(subject) => subject,
                Err(fault) => {
                    let (kind, mut tally) = (fault.kind, Tally::default());
                    tally.fault(|| *fault, kind);
                    return tally;
                }
            };
            let checker = Checker::with(&subject, self.target, &self.plan, self.inject);
            let (random, kinks) = (&mut Random::new(self.seed ^ 0xb0c5), kinks(&subject.point));
            let mut tally = checker.run(&given_boxes(&subject));
            let (boxes, checks) =
                (budget.boxes.div_ceil(self.slowdown()), budget.checks / self.slowdown() as u64);
            for _ in 0..MAX_BATCHES {
                tally.add(checker.run(&samples(
                    random,
                    &checker,
                    &subject,
                    &kinks,
                    &CheckBudget { boxes, ..*budget },
                )));
                if tally.checks >= checks || tally.is_faulty() {
                    break;
                }
            }
            tally
        };
        catch_unwind(AssertUnwindSafe(run))
            .unwrap_or_else(|panic| Tally::panicked(&self.name(), self.target, &*panic))
    }

    /// Returns the factor by which slow trials check less: those on the interpreter, and those that
    /// check all values.
    fn slowdown(&self) -> usize {
        if self.target == Target::Interpreter || self.bounds_all_values { 8 } else { 1 }
    }
}

/// Returns random boxes with random members and members from local search.
fn samples(
    random: &mut Random,
    checker: &Checker<'_>,
    subject: &Subject,
    kinks: &[f32],
    budget: &CheckBudget,
) -> Vec<Sample> {
    let samples = (0..budget.boxes)
        .map(|_| sample_at(random, &subject.point.inputs, &subject.inputs, kinks, budget.members));
    let mut samples: Vec<_> = samples.collect();
    if budget.steps > 0 && !samples.is_empty() {
        checker.add_extreme_members(random, kinks, budget.steps, &mut samples);
    }
    samples
}

/// Returns the constants of a function, except large ones. Piecewise functions often change there.
fn kinks(point: &Function) -> Vec<f32> {
    let constants = point.values.iter().filter_map(|data| match data.def {
        Def::Const(bits) if data.ty == Type::F32 => Some(f32::from_bits(bits)),
        _ => None,
    });
    let mut kinks: Vec<_> = constants.filter(|x| x.abs() <= 1e4).collect();
    kinks.sort_by(f32::total_cmp);
    kinks.dedup_by_key(|x| x.to_bits());
    kinks
}
