//! Runs a point shader and its bounding shaders over boxes, and holds their results against each other.

use super::{Fault, Results, Sample, Subject, Tally, Wrong, number, sample};
use crate::differential::reduce;
use crate::interpreter;
use crate::interval::Nan;
use crate::ir::random::{self, Random};
use crate::ir::verify::verify;
use crate::ir::{Function, Type};
use crate::jit::Arena;
use crate::kernel::{Batch, Kernel};
use crate::lift::{self, Lifted, Options, Sides, Tracking};
use crate::passes;
use crate::relations::Relations;
use crate::target::Target;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Rounds after which an interpreted evaluation is taken to be endless.
const ROUNDS: u64 = 1 << 30;

/// Rounds after which a smaller function is taken to be endless.
const REDUCED_ROUNDS: u64 = 1 << 16;

/// Compiled code of a subject and all kinds of bounding shaders.
pub struct Checker<'a> {
    subject: &'a Subject,
    target: Target,
    point: Kernel,
    /// The first one is naive, of both sides, and propagates NaN.
    variants: Vec<Variant>,
    /// For each input of the point shader, the port of bounding shaders and whether the next one is its upper end.
    layout: Vec<(usize, bool)>,
}

struct Variant {
    options: Options,
    lifted: Lifted,
    kernel: Kernel,
    /// Number of the naive one of this kind.
    naive: usize,
}

const MODES: [Nan; 3] = [Nan::Propagate, Nan::Suppress, Nan::Ignore];

impl<'a> Checker<'a> {
    /// Compiles a subject; `seed` says which of the partly optimized kinds there are.
    ///
    /// *Panics* if the target is not available, or the compiler does.
    pub fn new(subject: &'a Subject, target: Target, loop_cap: u32, seed: u64) -> Checker<'a> {
        let arena = Arena::new();
        let compile = |function: &Function| {
            let lowered = if target == Target::Interpreter { function.clone() } else { passes::lower(function) };
            Kernel::compile(&arena, &lowered, target).expect("the target is available")
        };
        let mut variants: Vec<Variant> = vec![];
        for nan in MODES {
            for sides in [Sides::Both, Sides::Upper, Sides::Lower] {
                let naive = variants.len();
                for tracking in [Some(Tracking::NONE), Some(Tracking::ALL), partly(seed).filter(|_| sides == Sides::Both)] {
                    let Some(tracking) = tracking else { continue };
                    let options = Options { sides, nan, tracking, valid_ranges: false, relations: Relations::NONE, loop_cap };
                    let lifted = lift::run(&subject.point, &subject.inputs, &subject.outputs, &options);
                    debug_assert_eq!(verify(&lifted.function), Ok(()), "{}", lifted.function);
                    let kernel = compile(&lifted.function);
                    variants.push(Variant { options, lifted, kernel, naive });
                }
            }
        }
        let layout = variants[0].lifted.layout();
        Checker { subject, target, point: compile(&subject.point), variants, layout }
    }

    /// Compiles a subject and checks it with random boxes; a panic is a fault.
    pub fn check(subject: &Subject, target: Target, loop_cap: u32, seed: u64, boxes: usize, members: usize) -> Tally {
        let random = &mut Random::new(seed);
        let samples: Vec<_> = (0..boxes).map(|_| sample(random, &subject.point.inputs, &subject.inputs, members)).collect();
        Checker::check_on(subject, target, loop_cap, seed, &samples)
    }

    /// Compiles a subject and checks it with these boxes; a panic is a fault.
    pub fn check_on(subject: &Subject, target: Target, loop_cap: u32, seed: u64, samples: &[Sample]) -> Tally {
        // Nothing is looked at after a panic.
        let run = || Checker::new(subject, target, loop_cap, seed).run(samples);
        catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
            let message = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
            let mut tally = Tally::default();
            let fault = || Fault {
                wrong: Wrong::Panics,
                subject: subject.name.clone(),
                target,
                options: Options::default(),
                output: String::new(),
                ty: Type::F32,
                ends: vec![],
                member: None,
                expected: None,
                found: None,
                note: format!("    {}\n", message.unwrap_or("?")),
            };
            tally.fault(fault, Wrong::Panics);
            tally
        })
    }

    /// A smaller subject with the same fault, and what it shows.
    pub fn reduced(subject: &Subject, fault: &Fault, loop_cap: u32, seed: u64) -> (Subject, Option<Fault>) {
        let ends = fault.ends.iter().map(|(_, _, ends)| *ends).collect();
        let samples = match &fault.member {
            Some(member) => vec![Sample { ends, members: vec![member.clone()] }],
            None if fault.wrong == Wrong::Panics => vec![],
            None => vec![Sample { members: vec![fault.ends.iter().map(|(_, _, ends)| ends[0]).collect()], ends }],
        };
        let with = |point: &Function| Subject::new(subject.name.clone(), point.clone(), subject.inputs.clone());
        // What is made of a loop may be endless, also in lanes without a member, which run on zeros.
        let zeros = vec![0; subject.point.inputs.len()];
        let ends = |point: &Function| {
            let mut members = samples.iter().flat_map(|sample| &sample.members).chain([&zeros]);
            members.all(|member| interpreter::run(point, &random::tables(), member, REDUCED_ROUNDS).is_ok())
        };
        let again = |point: &Function| {
            let tally = Checker::check_on(&with(point), fault.target, loop_cap, seed, &samples);
            tally.faults.into_iter().find(|found| found.wrong == fault.wrong)
        };
        let point = reduce(&subject.point, |point| verify(point).is_ok() && ends(point) && again(point).is_some());
        (with(&point), again(&point))
    }

    /// Checks boxes, all with equally many members.
    pub fn run(&self, samples: &[Sample]) -> Tally {
        let mut tally = Tally::default();
        let Some(first) = samples.first() else { return tally };
        let count = first.members.len();
        let tables = random::tables();
        let mut members = Batch::new(self.target, self.point.inputs().len(), samples.len() * count);
        let mut boxes = Batch::new(self.target, self.variants[0].kernel.inputs().len(), samples.len());
        for (row, sample) in samples.iter().enumerate() {
            for (k, member) in sample.members.iter().enumerate() {
                members.set_row(row * count + k, 0, member);
            }
            for (&(port, interval), ends) in self.layout.iter().zip(&sample.ends) {
                boxes.set_row(row, port, if interval { ends } else { &ends[..1] });
            }
        }
        let evaluate = |kernel: &Kernel, inputs: &Batch| {
            let mut outputs = Batch::new(self.target, kernel.outputs().len(), inputs.rows());
            kernel.run_on(&tables, inputs, &mut outputs);
            outputs
        };
        let values = evaluate(&self.point, &members);
        let limits: Vec<_> = self.variants.iter().map(|variant| evaluate(&variant.kernel, &boxes)).collect();
        for (row, sample) in samples.iter().enumerate() {
            for k in 0..self.subject.outputs.len() {
                self.output(row, k, sample, &values, &limits, &mut tally);
            }
        }
        for (row, sample) in samples.iter().enumerate().take(4) {
            let met = self.met(0, row, &limits);
            for member in sample.members.iter().take(4) {
                self.values(sample, member, met, &mut tally);
            }
        }
        tally
    }

    fn ty(&self, k: usize) -> Type {
        self.subject.point.outputs[self.subject.outputs[k]].ty
    }

    /// Ends of an output of a bounding shader, by their bits; infinite where there is no such end.
    fn ends(&self, variant: usize, k: usize, row: usize, limits: &[Batch]) -> [Option<u32>; 2] {
        let bits = |port| Some(limits[variant].bits(row, port));
        match self.variants[variant].options.sides {
            Sides::Upper => [None, bits(k)],
            Sides::Lower => [bits(k), None],
            Sides::Both => [bits(2 * k), bits(2 * k + 1)],
        }
    }

    fn numbers(&self, variant: usize, k: usize, row: usize, limits: &[Batch]) -> [f64; 2] {
        let [lo, hi] = self.ends(variant, k, row, limits).map(|end| end.map(|end| number(self.ty(k), end)));
        [lo.unwrap_or(f64::NEG_INFINITY), hi.unwrap_or(f64::INFINITY)]
    }

    /// Whether code that tests for NaN met one.
    fn met(&self, variant: usize, row: usize, limits: &[Batch]) -> bool {
        self.is_nan(variant, self.subject.outputs.len() - 1, row, limits)
    }

    fn is_nan(&self, variant: usize, k: usize, row: usize, limits: &[Batch]) -> bool {
        self.numbers(variant, k, row, limits).iter().any(|end| end.is_nan())
    }

    /// Whether nothing is said of an output.
    fn is_void(&self, variant: usize, k: usize, row: usize, limits: &[Batch]) -> bool {
        match self.variants[variant].options.nan {
            Nan::Propagate => self.ty(k) != Type::F32 && self.met(variant, row, limits),
            Nan::Suppress => false,
            Nan::Ignore => self.is_nan(0, k, row, limits) || self.met(0, row, limits),
        }
    }

    /// Checks an output for a box.
    fn output(&self, row: usize, k: usize, sample: &Sample, values: &Batch, limits: &[Batch], tally: &mut Tally) {
        let (ty, port) = (self.ty(k), self.subject.outputs[k]);
        let count = sample.members.len();
        let result = |member: usize| number(ty, values.bits(row * count + member, port));
        let mut results = Results::NONE;
        (0..count).for_each(|member| results.add(result(member)));
        for (index, variant) in self.variants.iter().enumerate() {
            let Options { sides, nan, .. } = variant.options;
            let void = self.is_void(index, k, row, limits) || nan == Nan::Ignore && results.nans > 0;
            let (bits, ends) = (self.ends(index, k, row, limits), self.numbers(index, k, row, limits));
            let fault = |wrong, member: Option<usize>, expected: Option<u32>| Fault {
                wrong,
                subject: self.subject.name.clone(),
                target: self.target,
                options: variant.options,
                output: self.subject.point.outputs[port].name.clone(),
                ty,
                ends: self.named(sample),
                member: member.map(|member| sample.members[member].clone()),
                expected,
                found: Some([bits[0].or(bits[1]), bits[1].or(bits[0])].map(|end| end.unwrap_or_default())),
                note: String::new(),
            };
            let Lifted { point, kinds, bounds, .. } = &variant.lifted;
            let bounded = point.body.yields[k].index();
            let (wrong, checked) = results.judge(nan, sides, ends, void);
            // What is no interval has the value for a bound, whatever that is.
            let wrong = wrong.filter(|&wrong| wrong != Wrong::IsNan || kinds[bounded]);
            tally.checks += checked;
            tally.exempt += count as u64 - checked;
            let excused = || nan == Nan::Ignore && self.meets_nan(index, sample);
            if let Some(wrong) = wrong.filter(|_| !excused()) {
                let is_wrong = |&member: &usize| match wrong {
                    Wrong::HidesNan => result(member).is_nan(),
                    _ => {
                        let escapes = result(member) < ends[0] || ends[1] < result(member);
                        escapes && !(nan == Nan::Ignore && any_nan(&self.subject.point, &sample.members[member]))
                    }
                };
                let member = (0..count).find(is_wrong);
                let value = member.map(|member| values.bits(row * count + member, port));
                if member.is_some() || wrong == Wrong::IsNan {
                    tally.fault(|| fault(wrong, member, value), wrong);
                }
            }
            if variant.naive != index && !self.is_void(variant.naive, k, row, limits) {
                let naive = self.ends(variant.naive, k, row, limits);
                for (found, naive) in bits.into_iter().zip(naive) {
                    let (Some(found), Some(naive)) = (found, naive) else { continue };
                    let same = number(ty, found) == number(ty, naive) || number(ty, naive).is_nan();
                    if !same && !void && !excused() {
                        tally.fault(|| fault(Wrong::Differs, None, Some(naive)), Wrong::Differs);
                    }
                }
            }
            let known = &bounds[bounded];
            let foreseen = |end: u32| known.contains(end) || number(ty, end).is_nan();
            let void = void || nan == Nan::Propagate && self.met(index, row, limits);
            if !void && sides == Sides::Both && !bits.into_iter().flatten().all(foreseen) && !excused() {
                let note = || Fault { note: format!("    known {known:?}\n"), ..fault(Wrong::UnforeseenEnd, None, None) };
                tally.fault(note, Wrong::UnforeseenEnd);
            }
        }
    }

    /// Whether naive code of a variant's kind meets a NaN anywhere for a box.
    fn meets_nan(&self, variant: usize, sample: &Sample) -> bool {
        let naive = &self.variants[self.variants[variant].naive].lifted.function;
        let inputs = std::iter::zip(&self.layout, &sample.ends);
        let inputs: Vec<_> = inputs.flat_map(|(&(_, interval), ends)| &ends[..if interval { 2 } else { 1 }]).copied().collect();
        any_nan(naive, &inputs)
    }

    fn named(&self, sample: &Sample) -> Vec<(String, Type, [u32; 2])> {
        let inputs = std::iter::zip(&self.subject.point.inputs, &sample.ends);
        inputs.map(|(port, ends)| (port.name.clone(), port.ty, *ends)).collect()
    }

    /// Holds all that the point shader computes for a member against the bounds of compile time, which are void where code that tests
    /// for NaN `met` one.
    fn values(&self, sample: &Sample, member: &[u32], met: bool, tally: &mut Tally) {
        for variant in self.variants.iter().filter(|v| v.options.sides == Sides::Both && v.options.tracking == Tracking::NONE) {
            let Lifted { point, bounds, .. } = &variant.lifted;
            let (mut unforeseen, mut nan) = (None, false);
            let watch = |value: crate::ir::Value, word: u32| {
                nan |= number(point.ty(value), word).is_nan();
                if !bounds[value.index()].contains(word) && unforeseen.is_none() {
                    unforeseen = Some((value, word));
                }
            };
            interpreter::watch(point, &random::tables(), member, ROUNDS, watch).expect("loops end");
            let Some((value, word)) = unforeseen else { continue };
            if variant.options.nan != Nan::Suppress && met || variant.options.nan == Nan::Ignore && nan {
                continue;
            }
            let fault = || Fault {
                wrong: Wrong::UnforeseenValue,
                subject: self.subject.name.clone(),
                target: Target::Interpreter,
                options: variant.options,
                output: format!("value {}, {:?}", value.index(), point.def(value)),
                ty: point.ty(value),
                ends: self.named(sample),
                member: Some(member.to_vec()),
                expected: Some(word),
                found: None,
                note: format!("    known {:?}\n", bounds[value.index()]),
            };
            tally.fault(fault, Wrong::UnforeseenValue);
        }
    }
}

/// Whether a function that runs on these inputs is given or computes a NaN.
fn any_nan(function: &Function, inputs: &[u32]) -> bool {
    let mut nan = std::iter::zip(&function.inputs, inputs).any(|(port, &word)| number(port.ty, word).is_nan());
    let watch = |value: crate::ir::Value, word: u32| nan |= number(function.ty(value), word).is_nan();
    interpreter::watch(function, &random::tables(), inputs, ROUNDS, watch).expect("loops end");
    nan
}

/// One of the ways to be told something, but not all.
fn partly(seed: u64) -> Option<Tracking> {
    let bits = 1 + seed % 7;
    let tracking = Tracking { ranges: bits & 1 != 0, nan: bits & 2 != 0, zeros: bits & 4 != 0 };
    (tracking != Tracking::ALL).then_some(tracking)
}
