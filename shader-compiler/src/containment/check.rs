//! Runs a point shader and its bounding shaders over boxes, and holds their results against each other.

use super::ascent::Climber;
use super::directions::Vectors;
use super::plan::Plan;
use super::{Fault, Results, Sample, Subject, Tally, Wrong, number, sample};
use crate::analysis::Bounds;
use crate::bounding::{BoundingKernel, Boxes, Limits, Split};
use crate::differential::reduce;
use crate::interpreter;
use crate::interval::Nan;
use crate::ir::random::{self, Random};
use crate::ir::verify::verify;
use crate::ir::{Def, Function, Type, Value};
use crate::jit::Arena;
use crate::kernel::{Batch, Kernel};
use crate::lift::trace::Trace;
use crate::lift::{self, Lifted, Options, Sides, Tracking};
use crate::passes;
use crate::relations::{Relations, only_tighten};
use crate::target::Target;
use crate::texture::Texture;
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
    /// Numbers of parts in which boxes are bounded as well, by the variants of both sides that are told something.
    splits: Vec<usize>,
    /// For each input of the point shader, the port of bounding shaders and whether the next one is its upper end.
    layout: Vec<(usize, bool)>,
    vectors: Vectors,
}

struct Variant {
    options: Options,
    lifted: Lifted,
    kernel: BoundingKernel,
    /// Number of the one of this kind whose selection of cases is told nothing.
    naive: usize,
    /// Number of the naive one of this kind, of both sides if there is none of the same.
    excusing: usize,
    /// Number of the one that knows these relations, is told nothing beside, and propagates NaN, of both sides.
    testing: usize,
    /// Number of the one that differs in that it knows no relations.
    unrelated: Option<usize>,
}

impl Variant {
    fn is_related(&self) -> bool {
        self.options.relations != Relations::NONE
    }
}

impl<'a> Checker<'a> {
    /// Compiles a subject; `seed` says which of the partly optimized kinds there are, and which relations some related ones know.
    ///
    /// *Panics* if the target is not available, or the compiler does.
    pub fn new(subject: &'a Subject, target: Target, loop_cap: u32, seed: u64) -> Checker<'a> {
        Checker::with(subject, target, &Plan::full(seed, loop_cap), |_| {})
    }

    /// Compiles those bounding shaders of a subject that a plan names, after something was done to them.
    ///
    /// *Panics* if the target is not available, or the compiler does.
    pub(super) fn with(subject: &'a Subject, target: Target, plan: &Plan, change: impl Fn(&mut Lifted)) -> Checker<'a> {
        let arena = Arena::new();
        let compile = |function: &Function| {
            let lowered = if target == Target::Interpreter { function.clone() } else { passes::lower(function) };
            Kernel::compile(&arena, &lowered, target).expect("the target is available")
        };
        let lift = |options: &Options| lift::run(&subject.point, &subject.inputs, &subject.outputs, options);
        let mut variants: Vec<Variant> = vec![];
        for group in &plan.groups {
            let mut first = Some(lift(&group[0]));
            let unrelated = Options { relations: Relations::NONE, ..group[0] };
            let plain = variants.iter().find(|v| v.options == unrelated).map(|v| &v.lifted);
            if let (Some(plain), Some(related)) = (plain, &first)
                && (&plain.function, &plain.bounds) == (&related.function, &related.bounds)
            {
                // Nothing is known that makes a difference.
                continue;
            }
            for &options in group {
                let mut lifted = first.take().unwrap_or_else(|| lift(&options));
                change(&mut lifted);
                debug_assert_eq!(verify(&lifted.function), Ok(()), "{}", lifted.function);
                let kernel = BoundingKernel::new(compile(&lifted.function), &lifted);
                // Those that it is held against come before it, or are itself.
                let like = |options: Options| variants.iter().position(|variant| variant.options == options);
                let plain = Options { tracking: Tracking::NONE, ..options };
                let naive = like(plain).unwrap_or(variants.len());
                let excusing = like(plain).or(like(Options { sides: Sides::Both, ..plain })).unwrap_or(variants.len());
                let testing = Options { relations: options.relations, ..plan.groups[0][0] };
                let testing = if options == testing { variants.len() } else { like(testing).unwrap_or(0) };
                let unrelated = like(Options { relations: Relations::NONE, ..options });
                variants.push(Variant { options, lifted, kernel, naive, excusing, testing, unrelated });
            }
        }
        let layout = variants[0].lifted.layout();
        let vectors = Vectors::of(&subject.inputs);
        let splits = plan.splits.clone();
        Checker { subject, target, point: compile(&subject.point), variants, splits, layout, vectors }
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
        catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| Tally::panicked(&subject.name, target, &*panic))
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
        let mut boxes = Batch::new(self.target, self.variants[0].kernel.kernel().inputs().len(), samples.len());
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
        let limits: Vec<_> = self.variants.iter().map(|variant| evaluate(variant.kernel.kernel(), &boxes)).collect();
        let split = self.split(&boxes);
        for (row, sample) in samples.iter().enumerate() {
            for k in 0..self.subject.outputs.len() {
                self.output(row, k, sample, &values, &limits, &split, &mut tally);
            }
        }
        for (row, sample) in samples.iter().enumerate().take(4) {
            let met: Vec<_> =
                (0..self.variants.len()).map(|index| self.met(self.variants[index].testing, row, &limits)).collect();
            for member in sample.members.iter().take(4) {
                self.values(sample, member, &met, &mut tally);
            }
        }
        tally
    }

    /// Adds members for which outputs are extreme, as local search finds them.
    pub(super) fn climb(&self, random: &mut Random, kinks: &[f32], rounds: usize, samples: &mut [Sample]) {
        let is_float = |&&port: &&usize| self.subject.point.outputs[port].ty == Type::F32;
        let outputs = self.subject.outputs.iter().filter(is_float).copied().take(3).collect();
        let (inputs, vectors) = (&self.subject.inputs, &self.vectors);
        Climber { target: self.target, point: &self.point, inputs, outputs, vectors, kinks }.climb(random, rounds, samples);
    }

    /// What variants give by parts.
    fn split(&self, boxes: &Batch) -> Vec<ByParts> {
        let images = if self.splits.is_empty() { vec![] } else { random::images() };
        let images: Vec<&Texture> = images.iter().collect();
        let variants = self.variants.iter().enumerate();
        let told = variants.filter(|(_, v)| v.options.sides == Sides::Both && v.options.tracking != Tracking::NONE);
        let bound = |kernel: &BoundingKernel, parts: usize| {
            let mut limits = Limits::new(kernel, boxes.rows());
            Split::new(kernel, parts).run_unchecked(&images, &Boxes::of(kernel, boxes.clone()), &mut limits);
            limits.into_batch()
        };
        let by_parts = |(variant, it): (usize, &Variant), parts: usize| {
            let testing = (it.options.nan == Nan::Ignore).then(|| bound(&self.variants[it.testing].kernel, parts));
            ByParts { variant, parts, limits: bound(&it.kernel, parts), testing }
        };
        told.flat_map(|variant| self.splits.iter().map(move |&parts| by_parts(variant, parts))).collect()
    }

    fn ty(&self, k: usize) -> Type {
        self.subject.point.outputs[self.subject.outputs[k]].ty
    }

    /// Ends of an output of a bounding shader, by their bits; infinite where there is no such end.
    fn ends(&self, variant: usize, k: usize, row: usize, limits: &[Batch]) -> [Option<u32>; 2] {
        self.ends_in(variant, k, row, &limits[variant])
    }

    fn ends_in(&self, variant: usize, k: usize, row: usize, limits: &Batch) -> [Option<u32>; 2] {
        let bits = |port| Some(limits.bits(row, port));
        match self.variants[variant].options.sides {
            Sides::Upper => [None, bits(k)],
            Sides::Lower => [bits(k), None],
            Sides::Both => [bits(2 * k), bits(2 * k + 1)],
        }
    }

    fn numbers(&self, variant: usize, k: usize, row: usize, limits: &[Batch]) -> [f64; 2] {
        numbers(self.ty(k), self.ends(variant, k, row, limits))
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
            Nan::Ignore => {
                let testing = self.variants[variant].testing;
                self.is_nan(testing, k, row, limits) || self.met(testing, row, limits)
            }
        }
    }

    /// Checks an output for a box.
    #[allow(clippy::too_many_arguments, reason = "the results of all code, whole and split")]
    fn output(
        &self,
        row: usize,
        k: usize,
        sample: &Sample,
        values: &Batch,
        limits: &[Batch],
        split: &[ByParts],
        tally: &mut Tally,
    ) {
        let (ty, port, count) = (self.ty(k), self.subject.outputs[k], sample.members.len());
        let bits: Vec<_> = (0..count).map(|m| values.bits(row * count + m, port)).collect();
        let which = |&m: &usize| self.vectors.meet(&sample.members[m]);
        let which = if self.vectors.allow(&sample.ends) { (0..count).filter(which).collect() } else { vec![] };
        let units = Members::new(ty, bits.clone(), which);
        let all = Members::new(ty, bits, (0..count).collect());
        for index in 0..self.variants.len() {
            let members = if self.variants[index].is_related() { &units } else { &all };
            // Of boxes without a member nothing is said.
            if !members.which.is_empty() {
                let seen = Seen { checker: self, variant: index, parts: None, row, k, sample, members, limits };
                seen.contained(tally);
                seen.compared(tally);
                seen.foreseen(tally);
            }
        }
        for by_parts in split.iter().filter(|_| !units.which.is_empty()) {
            let (variant, parts) = (by_parts.variant, Some(by_parts));
            Seen { checker: self, variant, parts, row, k, sample, members: &units, limits }.contained(tally);
        }
    }

    /// Whether naive code of a variant's kind meets a NaN anywhere for a box.
    fn meets_nan(&self, variant: usize, sample: &Sample) -> bool {
        let naive = &self.variants[self.variants[variant].excusing].lifted.function;
        let inputs = std::iter::zip(&self.layout, &sample.ends);
        let inputs: Vec<_> = inputs.flat_map(|(&(_, interval), ends)| &ends[..if interval { 2 } else { 1 }]).copied().collect();
        any_nan(naive, &inputs)
    }

    /// Whether an interval of related code is empty for a box. Nothing says which endpoints it has, so different cases of an operation
    /// may make different bounds of it.
    fn has_empty(&self, variant: usize, sample: &Sample) -> bool {
        let options = Options { tracking: Tracking::NONE, ..self.variants[variant].options };
        if options.relations == Relations::NONE {
            return false;
        }
        let lifted = lift::run(&self.subject.point, &self.subject.inputs, &self.subject.outputs, &options);
        let inputs = std::iter::zip(&self.layout, &sample.ends);
        let inputs: Vec<_> = inputs.flat_map(|(&(_, interval), ends)| &ends[..if interval { 2 } else { 1 }]).copied().collect();
        Trace::new(&lifted, &options).has_empty(&random::tables(), &inputs, ROUNDS)
    }

    fn named(&self, sample: &Sample) -> Vec<(String, Type, [u32; 2])> {
        let inputs = std::iter::zip(&self.subject.point.inputs, &sample.ends);
        inputs.map(|(port, ends)| (port.name.clone(), port.ty, *ends)).collect()
    }

    /// Holds all that the point shader computes for a member against the bounds of compile time, which are void where code that tests
    /// for NaN `met` one.
    fn values(&self, sample: &Sample, member: &[u32], met: &[bool], tally: &mut Tally) {
        let meets = self.vectors.allow(&sample.ends) && self.vectors.meet(member);
        for (index, (variant, &met)) in std::iter::zip(&self.variants, met).enumerate() {
            if variant.options.sides != Sides::Both || variant.naive != index || variant.is_related() && !meets {
                continue;
            }
            let Lifted { point, bounds, related, .. } = &variant.lifted;
            let (mut unforeseen, mut nan) = (None, false);
            // What counts only where it is positive is not said to contain anything else.
            let mut is_beside = related.support.and_then(|z| input_of(point, z)).is_some_and(|z| is_negative(member[z]));
            let watch = |value: Value, word: u32| {
                nan |= number(point.ty(value), word).is_nan();
                is_beside |= related.support == Some(value) && is_negative(word);
                if !is_beside && !bounds[value.index()].contains(word) && unforeseen.is_none() {
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
                parts: 1,
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

/// Ends as numbers; infinite where there is no such end.
fn numbers(ty: Type, ends: [Option<u32>; 2]) -> [f64; 2] {
    let [lo, hi] = ends.map(|end| end.map(|end| number(ty, end)));
    [lo.unwrap_or(f64::NEG_INFINITY), hi.unwrap_or(f64::INFINITY)]
}

/// The number of the input that a value is.
fn input_of(point: &Function, value: Value) -> Option<usize> {
    match point.def(value) {
        Def::Input(input) => Some(input as usize),
        _ => None,
    }
}

fn is_negative(word: u32) -> bool {
    f32::from_bits(word) < 0.0
}

/// What a variant gives for boxes that are cut in parts.
struct ByParts {
    variant: usize,
    parts: usize,
    limits: Batch,
    /// Where the variant ignores NaN, what the one gives that tests for it.
    testing: Option<Batch>,
}

/// Some members of a box with what the point shader makes of them.
struct Members {
    ty: Type,
    /// For each member of the box.
    bits: Vec<u32>,
    /// Which are meant.
    which: Vec<usize>,
    /// What those come to.
    results: Results,
}

impl Members {
    fn new(ty: Type, bits: Vec<u32>, which: Vec<usize>) -> Members {
        let mut results = Results::NONE;
        which.iter().for_each(|&member| results.add(number(ty, bits[member])));
        Members { ty, bits, which, results }
    }

    fn result(&self, member: usize) -> f64 {
        number(self.ty, self.bits[member])
    }
}

/// An output of a bounding shader for a box.
struct Seen<'a> {
    checker: &'a Checker<'a>,
    variant: usize,
    /// What gives the bound, if the box was bounded by parts.
    parts: Option<&'a ByParts>,
    row: usize,
    k: usize,
    sample: &'a Sample,
    members: &'a Members,
    limits: &'a [Batch],
}

impl Seen<'_> {
    fn options(&self) -> Options {
        self.checker.variants[self.variant].options
    }

    fn void(&self) -> bool {
        let nans = self.options().nan == Nan::Ignore && self.members.results.nans > 0;
        // Where NaN is ignored, a part may meet one that the whole box does not: at the ends of its own.
        if let Some(testing) = self.parts.and_then(|by_parts| by_parts.testing.as_ref()) {
            let Checker { variants, subject, .. } = self.checker;
            let testing = |k| self.checker.ends_in(variants[self.variant].testing, k, self.row, testing);
            let met = |k| numbers(self.checker.ty(k), testing(k)).iter().any(|end| end.is_nan());
            if met(self.k) || met(subject.outputs.len() - 1) {
                return true;
            }
        }
        self.checker.is_void(self.variant, self.k, self.row, self.limits) || nans
    }

    fn excused(&self) -> bool {
        self.options().nan == Nan::Ignore && self.checker.meets_nan(self.variant, self.sample)
    }

    /// Whether a value that counts only where it is positive is negative for all members: then 0 is contained, and nothing else is said.
    fn is_beside(&self) -> bool {
        let Lifted { point, related, .. } = &self.checker.variants[self.variant].lifted;
        let Some(z) = related.support else { return false };
        self.members.which.iter().all(|&member| {
            let words = &self.sample.members[member];
            let mut word = input_of(point, z).map(|z| words[z]);
            let watch = |value, found| word = if value == z { Some(found) } else { word };
            interpreter::watch(point, &random::tables(), words, ROUNDS, watch).expect("loops end");
            word.is_some_and(is_negative)
        })
    }

    /// The ends that are checked.
    fn found(&self) -> [Option<u32>; 2] {
        match self.parts {
            Some(by_parts) => self.checker.ends_in(self.variant, self.k, self.row, &by_parts.limits),
            None => self.bits(self.variant),
        }
    }

    fn bits(&self, variant: usize) -> [Option<u32>; 2] {
        self.checker.ends(variant, self.k, self.row, self.limits)
    }

    fn fault(&self, wrong: Wrong, member: Option<usize>, expected: Option<u32>, note: String) -> Fault {
        let Checker { subject, target, .. } = *self.checker;
        let [lo, hi] = self.found();
        // Without a member, nothing is said of related bounds.
        let one = self.members.which.first().copied().filter(|_| self.checker.variants[self.variant].is_related());
        Fault {
            wrong,
            subject: subject.name.clone(),
            target,
            options: self.options(),
            parts: self.parts.map_or(1, |by_parts| by_parts.parts),
            output: subject.point.outputs[subject.outputs[self.k]].name.clone(),
            ty: self.members.ty,
            ends: self.checker.named(self.sample),
            member: member.or(one).map(|member| self.sample.members[member].clone()),
            expected,
            found: Some([lo.or(hi), hi.or(lo)].map(|end| end.unwrap_or_default())),
            note,
        }
    }

    /// Whether it is an interval, and what is known of it at compile time.
    fn bounded(&self) -> (bool, &Bounds) {
        let Lifted { point, kinds, bounds, .. } = &self.checker.variants[self.variant].lifted;
        let value = point.body.yields[self.k].index();
        (kinds[value], &bounds[value])
    }

    /// Holds results against the ends.
    fn contained(&self, tally: &mut Tally) {
        let (Options { sides, nan, .. }, members) = (self.options(), self.members);
        let ends = numbers(members.ty, self.found());
        let (wrong, checked) = members.results.judge(nan, sides, ends, self.void());
        // What is no interval has the value for a bound, whatever that is.
        let wrong = wrong.filter(|&wrong| wrong != Wrong::IsNan || self.bounded().0);
        // The output that says whether NaN was met is no result of the shader.
        if self.k + 1 < self.checker.subject.outputs.len() {
            tally.checks += checked;
            tally.related += if self.checker.variants[self.variant].is_related() { checked } else { 0 };
            tally.exempt += members.which.len() as u64 - checked;
        }
        // A NaN that an empty interval makes is one that is met on the way. A part of a box may be empty where the box is not.
        let is_related = self.checker.variants[self.variant].is_related();
        let is_empty = || self.parts.is_some() || self.checker.has_empty(self.variant, self.sample);
        let Some(wrong) = wrong.filter(|_| !self.excused()) else { return };
        if wrong == Wrong::IsNan && nan == Nan::Ignore && is_related && is_empty() {
            tally.empty += 1;
            return;
        }
        let is_wrong = |&member: &usize| match wrong {
            Wrong::HidesNan => members.result(member).is_nan(),
            _ => {
                let escapes = members.result(member) < ends[0] || ends[1] < members.result(member);
                escapes && !(nan == Nan::Ignore && any_nan(&self.checker.subject.point, &self.sample.members[member]))
            }
        };
        let member = members.which.iter().copied().find(is_wrong);
        if member.is_some() || wrong == Wrong::IsNan {
            tally.fault(|| self.fault(wrong, member, member.map(|member| members.bits[member]), String::new()), wrong);
        }
    }

    /// Holds the ends against those of code that is told less.
    fn compared(&self, tally: &mut Tally) {
        let &Variant { naive, unrelated, .. } = &self.checker.variants[self.variant];
        if naive != self.variant {
            self.compare(naive, |_, found, naive| found == naive, Wrong::Differs, tally);
        }
        let subject = self.checker.subject;
        if let Some(unrelated) = unrelated.filter(|_| only_tighten(&subject.point, subject.outputs[self.k])) {
            // What `monotone` adds for results below the least normal number may be as much as that.
            let least = f64::from(f32::MIN_POSITIVE);
            // Where NaN propagates, 0 ÷ 0 at an end tells of one, and a tighter end of a dividend may be the 0.
            let tells = |found: f64| found.is_nan() && self.options().nan == Nan::Propagate;
            let is_within =
                |side, found, wider| tells(found) || if side == 0 { found >= wider - least } else { found <= wider + least };
            self.compare(unrelated, is_within, Wrong::IsWider, tally);
        }
    }

    /// Holds the ends against those of another variant, where those are numbers.
    fn compare(&self, other: usize, fits: impl Fn(usize, f64, f64) -> bool, wrong: Wrong, tally: &mut Tally) {
        if self.void() || self.checker.is_void(other, self.k, self.row, self.limits) {
            return;
        }
        let number = |bits| number(self.members.ty, bits);
        for (side, (found, expected)) in std::iter::zip(self.bits(self.variant), self.bits(other)).enumerate() {
            let (Some(found), Some(expected)) = (found, expected) else { continue };
            if !number(expected).is_nan()
                && !fits(side, number(found), number(expected))
                && !self.excused()
                && !self.is_beside()
            {
                if self.checker.has_empty(self.variant, self.sample) {
                    tally.empty += 1;
                } else {
                    tally.fault(|| self.fault(wrong, None, Some(expected), String::new()), wrong);
                }
            }
        }
    }

    /// Holds the ends against what is known at compile time.
    fn foreseen(&self, tally: &mut Tally) {
        let (Options { sides, nan, .. }, (_, known)) = (self.options(), self.bounded());
        let foreseen = |end: u32| known.contains(end) || number(self.members.ty, end).is_nan();
        if sides != Sides::Both || self.bits(self.variant).into_iter().flatten().all(foreseen) {
            return;
        }
        let void = self.void() || nan == Nan::Propagate && self.checker.met(self.variant, self.row, self.limits);
        if !void && !self.excused() && !self.is_beside() {
            let note = format!("    known {known:?}\n");
            tally.fault(|| self.fault(Wrong::UnforeseenEnd, None, None, note), Wrong::UnforeseenEnd);
        }
    }
}

/// Whether a function that runs on these inputs is given or computes a NaN.
fn any_nan(function: &Function, inputs: &[u32]) -> bool {
    let mut nan = std::iter::zip(&function.inputs, inputs).any(|(port, &word)| number(port.ty, word).is_nan());
    let watch = |value: Value, word: u32| nan |= number(function.ty(value), word).is_nan();
    interpreter::watch(function, &random::tables(), inputs, ROUNDS, watch).expect("loops end");
    nan
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bounding::{Frame, Integrand, Ranges, Spans};
    use crate::frontend::{Settings, Shader};
    use crate::ir::Def;

    /// A mirror's lobe: dot products of unit vectors, of which one is known only at run time.
    fn subject() -> Subject {
        let source = "struct Material { exponent: f32 }
            fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
                return vec3f(wi.z * wo.z - wi.x * wo.x - wi.y * wo.y, dot(wi, wo), 1.0);
            }";
        let shader = Shader::parse("mirror.wgsl", source).expect("the shader is right");
        let integrand = Integrand::new(&shader, &Settings::default(), Frame::Local).expect("it compiles");
        Subject::material("mirror", &integrand, Spans::Light, Some(Ranges::Declared)).deep()
    }

    fn checked(change: impl Fn(&mut Lifted)) -> Tally {
        let (subject, random) = (subject(), &mut Random::new(3));
        let samples: Vec<_> = (0..400).map(|_| sample(random, &subject.point.inputs, &subject.inputs, 8)).collect();
        Checker::with(&subject, Target::best(), &Plan::full(0, 10), change).run(&samples)
    }

    #[test]
    fn what_is_claimed_without_slack_is_found_out() {
        let sound = checked(|_| {});
        assert!(!sound.is_faulty() && sound.related > 10_000, "{sound:?}");
        // Dot products of unit vectors are bounded by a number not much above 1; by 1 itself they are not.
        let wrong = checked(|lifted| {
            for data in &mut lifted.function.values {
                if let Def::Const(bits) = &mut data.def
                    && data.ty == Type::F32
                    && (1.0..1.001).contains(&f32::from_bits(*bits).abs())
                {
                    *bits = 1.0_f32.copysign(f32::from_bits(*bits)).to_bits();
                }
            }
        });
        assert!(wrong.violations > 0, "{wrong:?}");
    }

    #[test]
    fn bounds_that_are_wider_with_relations_are_found_out() {
        let wrong = checked(|lifted| {
            if lifted.function.outputs.len() > 2 && !lifted.related.alternatives.iter().all(Vec::is_empty) {
                // Ends change places, of two outputs.
                let yields = &mut lifted.function.body.yields;
                yields.swap(0, 1);
            }
        });
        assert!(wrong.wider > 0, "{wrong:?}");
    }
}
