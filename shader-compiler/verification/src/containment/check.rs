//! Runs a point shader and its bounding shaders over boxes, and compares their results.

mod bound;

use super::ascent::LocalSearch;
use super::directions::UnitVectors;
use super::plan::Plan;
use super::{Fault, FaultKind, Sample, Subject, Tally, number, sample};
use crate::differential::reduce;
use bound::{BoundCheck, Members, SplitBounds};
use lightbound_shader::bounding::{BoundingKernel, BoundsBatch, BoxBatch, SplitKernel};
use lightbound_shader::interpreter;
use lightbound_shader::interval::Nan;
use lightbound_shader::ir::verify::verify;
use lightbound_shader::ir::{Def, Function, Type, Value};
use lightbound_shader::jit::Arena;
use lightbound_shader::kernel::{Batch, Kernel};
use lightbound_shader::lift::trace::Trace;
use lightbound_shader::lift::{self, BoundSides, Lifted, Options, Tracking};
use lightbound_shader::passes;
use lightbound_shader::random::Random;
use lightbound_shader::relations::{Relations, only_tighten};
use lightbound_shader::target::Target;
use lightbound_shader::testing::random;
use lightbound_shader::texture::Texture;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Maximum number of loop iterations of an interpreted evaluation.
const MAX_ITERATIONS: u64 = 1 << 30;

/// Maximum number of loop iterations of a reduced function.
const MAX_REDUCED_ITERATIONS: u64 = 1 << 16;

/// Compiled code of a subject and of all its bounding shaders.
pub struct Checker<'a> {
    subject: &'a Subject,
    target: Target,
    point: Kernel,
    /// Bounding shaders. The first one is naive, computes both sides, and propagates NaN.
    variants: Vec<CompiledVariant>,
    /// Part counts for which boxes are also bounded in parts, by optimized variants that compute
    /// both sides.
    splits: Vec<usize>,
    /// For each input of the point shader, its port in bounding shaders, and whether it is an
    /// interval. The upper endpoint of an interval is the next port.
    layout: Vec<(usize, bool)>,
    vectors: UnitVectors,
    /// For each output, whether related bounds must lie within the optimized ones.
    only_tightens: Vec<bool>,
}

/// A compiled bounding shader, and the variants that it is compared with.
struct CompiledVariant {
    options: Options,
    lifted: Lifted,
    kernel: BoundingKernel,
    /// Index of the naive variant with the same sides, NaN mode and relations.
    naive: usize,
    /// Index of `naive`, or of its counterpart for both sides. If that variant computes a NaN,
    /// ignore mode makes no claim.
    nan_reference: usize,
    /// Index of the naive NaN-propagating variant for both sides with the same relations.
    nan_probe: usize,
    /// Index of the variant that differs only in having no relations.
    unrelated: Option<usize>,
}

impl CompiledVariant {
    fn uses_relations(&self) -> bool {
        self.options.relations != Relations::NONE
    }
}

impl<'a> Checker<'a> {
    /// Compiles a subject. `seed` selects the partly optimized variants and the relations of some
    /// related ones.
    ///
    /// # Panics
    ///
    /// Panics if the target is not available, or if the compiler panics.
    pub fn new(subject: &'a Subject, target: Target, loop_cap: u32, seed: u64) -> Checker<'a> {
        Checker::with(subject, target, &Plan::full(seed, loop_cap), |_| {})
    }

    /// Compiles the bounding shaders of a plan. `change` modifies them before they are compiled.
    /// Panics if the target is not available, or if the compiler panics.
    pub(super) fn with(
        subject: &'a Subject,
        target: Target,
        plan: &Plan,
        change: impl Fn(&mut Lifted),
    ) -> Checker<'a> {
        let arena = Arena::new();
        let compile = |function: &Function| {
            let lowered = if target == Target::Interpreter {
                function.clone()
            } else {
                passes::lower(function)
            };
            Kernel::compile(&arena, &lowered, target).expect("the target is available")
        };
        let lift = |options: &Options| {
            lift::run(&subject.point, &subject.inputs, &subject.outputs, options)
        };
        let mut variants: Vec<CompiledVariant> = vec![];
        for group in &plan.groups {
            let mut first = Some(lift(&group[0]));
            let unrelated = Options { relations: Relations::NONE, ..group[0] };
            let plain = variants.iter().find(|v| v.options == unrelated).map(|v| &v.lifted);
            if let (Some(plain), Some(related)) = (plain, &first)
                && (&plain.function, &plain.bounds) == (&related.function, &related.bounds)
            {
                // The relations of this group do not change the code.
                continue;
            }
            for &options in group {
                let mut lifted = first.take().unwrap_or_else(|| lift(&options));
                change(&mut lifted);
                debug_assert_eq!(verify(&lifted.function), Ok(()), "{}", lifted.function);
                let kernel = BoundingKernel::new(compile(&lifted.function), &lifted);
                // References precede a variant, or are the variant itself.
                let index_of = |options: Options| {
                    variants.iter().position(|variant| variant.options == options)
                };
                let plain = Options { tracking: Tracking::NONE, ..options };
                let naive = index_of(plain).unwrap_or(variants.len());
                let nan_reference = index_of(plain)
                    .or(index_of(Options { sides: BoundSides::Both, ..plain }))
                    .unwrap_or(variants.len());
                let nan_probe = Options { relations: options.relations, ..plan.groups[0][0] };
                let nan_probe = if options == nan_probe {
                    variants.len()
                } else {
                    index_of(nan_probe).unwrap_or(0)
                };
                let unrelated = index_of(Options { relations: Relations::NONE, ..options });
                variants.push(CompiledVariant {
                    options,
                    lifted,
                    kernel,
                    naive,
                    nan_reference,
                    nan_probe,
                    unrelated,
                });
            }
        }
        let layout = variants[0].lifted.layout();
        let vectors = UnitVectors::from_inputs(&subject.inputs);
        let splits = plan.splits.clone();
        let only_tightens =
            subject.outputs.iter().map(|&output| only_tighten(&subject.point, output)).collect();
        Checker {
            subject,
            target,
            point: compile(&subject.point),
            variants,
            splits,
            layout,
            vectors,
            only_tightens,
        }
    }

    /// Compiles a subject and checks it on random boxes. A panic counts as a fault.
    pub fn check(
        subject: &Subject,
        target: Target,
        loop_cap: u32,
        seed: u64,
        boxes: usize,
        members: usize,
    ) -> Tally {
        let random = &mut Random::new(seed);
        let samples: Vec<_> = (0..boxes)
            .map(|_| sample(random, &subject.point.inputs, &subject.inputs, members))
            .collect();
        Checker::check_on(subject, target, loop_cap, seed, &samples)
    }

    /// Compiles a subject and checks it on the given boxes. A panic counts as a fault.
    pub fn check_on(
        subject: &Subject,
        target: Target,
        loop_cap: u32,
        seed: u64,
        samples: &[Sample],
    ) -> Tally {
        // The shared state is not read after a panic.
        let run = || Checker::new(subject, target, loop_cap, seed).run(samples);
        catch_unwind(AssertUnwindSafe(run))
            .unwrap_or_else(|panic| Tally::panicked(&subject.name, target, &*panic))
    }

    /// Reduces a subject that shows a fault. Returns a smaller subject, and its fault of the same
    /// kind.
    pub fn reduced(
        subject: &Subject,
        fault: &Fault,
        loop_cap: u32,
        seed: u64,
    ) -> (Subject, Option<Fault>) {
        let endpoints = fault.endpoints.iter().map(|(_, _, endpoints)| *endpoints).collect();
        let samples = match &fault.member {
            Some(member) => vec![Sample { endpoints, members: vec![member.clone()] }],
            None if fault.kind == FaultKind::Panic => vec![],
            None => vec![Sample {
                members: vec![
                    fault.endpoints.iter().map(|(_, _, endpoints)| endpoints[0]).collect(),
                ],
                endpoints,
            }],
        };
        let with = |point: &Function| {
            Subject::new(subject.name.clone(), point.clone(), subject.inputs.clone())
        };
        // A reduced loop may be infinite, also in unused SIMD lanes, where all inputs are 0.
        let zeros = vec![0; subject.point.inputs.len()];
        let terminates = |point: &Function| {
            let mut members = samples.iter().flat_map(|sample| &sample.members).chain([&zeros]);
            members.all(|member| {
                interpreter::run(point, &random::tables(), member, MAX_REDUCED_ITERATIONS).is_ok()
            })
        };
        let reproduce = |point: &Function| {
            let tally = Checker::check_on(&with(point), fault.target, loop_cap, seed, &samples);
            tally.faults.into_iter().find(|found| found.kind == fault.kind)
        };
        let point = reduce(&subject.point, |point| {
            verify(point).is_ok() && terminates(point) && reproduce(point).is_some()
        });
        (with(&point), reproduce(&point))
    }

    /// Checks boxes. All must have the same number of members.
    pub fn run(&self, samples: &[Sample]) -> Tally {
        let mut tally = Tally::default();
        let Some(first) = samples.first() else { return tally };
        let count = first.members.len();
        let tables = random::tables();
        let mut members = Batch::new(self.target, self.point.inputs().len(), samples.len() * count);
        let mut boxes =
            Batch::new(self.target, self.variants[0].kernel.kernel().inputs().len(), samples.len());
        for (row, sample) in samples.iter().enumerate() {
            for (k, member) in sample.members.iter().enumerate() {
                members.set_row(row * count + k, 0, member);
            }
            for (&(port, interval), endpoints) in self.layout.iter().zip(&sample.endpoints) {
                boxes.set_row(row, port, if interval { endpoints } else { &endpoints[..1] });
            }
        }
        let evaluate = |kernel: &Kernel, inputs: &Batch| {
            let mut outputs = Batch::new(self.target, kernel.outputs().len(), inputs.rows());
            kernel.run_on(&tables, inputs, &mut outputs);
            outputs
        };
        let values = evaluate(&self.point, &members);
        let runtime_bounds: Vec<_> =
            self.variants.iter().map(|variant| evaluate(variant.kernel.kernel(), &boxes)).collect();
        let split = self.bound_in_parts(&boxes);
        for (row, sample) in samples.iter().enumerate() {
            for k in 0..self.subject.outputs.len() {
                self.check_output(row, k, sample, &values, &runtime_bounds, &split, &mut tally);
            }
        }
        for (row, sample) in samples.iter().enumerate().take(4) {
            let nan_seen: Vec<_> = (0..self.variants.len())
                .map(|index| self.reports_nan(self.variants[index].nan_probe, row, &runtime_bounds))
                .collect();
            for member in sample.members.iter().take(4) {
                self.check_values(sample, member, &nan_seen, &mut tally);
            }
        }
        tally
    }

    /// Adds the members that a local search for extreme outputs visits.
    pub(super) fn add_extreme_members(
        &self,
        random: &mut Random,
        kinks: &[f32],
        rounds: usize,
        samples: &mut [Sample],
    ) {
        let is_float = |&&port: &&usize| self.subject.point.outputs[port].ty == Type::F32;
        let outputs = self.subject.outputs.iter().filter(is_float).copied().take(3).collect();
        let (inputs, vectors) = (&self.subject.inputs, &self.vectors);
        LocalSearch { target: self.target, point: &self.point, inputs, outputs, vectors, kinks }
            .run(random, rounds, samples);
    }

    /// Bounds boxes in parts.
    fn bound_in_parts(&self, boxes: &Batch) -> Vec<SplitBounds> {
        let images = if self.splits.is_empty() { vec![] } else { random::images() };
        let images: Vec<&Texture> = images.iter().collect();
        let variants = self.variants.iter().enumerate();
        let optimized = variants.filter(|(_, v)| {
            v.options.sides == BoundSides::Both && v.options.tracking != Tracking::NONE
        });
        let bound = |kernel: &BoundingKernel, parts: usize| {
            let mut runtime_bounds = BoundsBatch::new(kernel, boxes.rows());
            SplitKernel::new(kernel, parts).run_unchecked(
                &images,
                &BoxBatch::from_batch(kernel, boxes.clone()),
                &mut runtime_bounds,
            );
            runtime_bounds.into_batch()
        };
        let split_bounds = |(variant, it): (usize, &CompiledVariant), parts: usize| {
            let nan_probe = (it.options.nan == Nan::Ignore)
                .then(|| bound(&self.variants[it.nan_probe].kernel, parts));
            SplitBounds { variant, parts, runtime_bounds: bound(&it.kernel, parts), nan_probe }
        };
        optimized
            .flat_map(|variant| self.splits.iter().map(move |&parts| split_bounds(variant, parts)))
            .collect()
    }

    /// Returns the type of a bounded output.
    fn ty(&self, k: usize) -> Type {
        self.subject.point.outputs[self.subject.outputs[k]].ty
    }

    /// Returns the bits of the endpoints of an output; `None` for a side that the variant does not
    /// compute.
    fn endpoints(
        &self,
        variant: usize,
        k: usize,
        row: usize,
        runtime_bounds: &[Batch],
    ) -> [Option<u32>; 2] {
        self.endpoints_in(variant, k, row, &runtime_bounds[variant])
    }

    fn endpoints_in(
        &self,
        variant: usize,
        k: usize,
        row: usize,
        runtime_bounds: &Batch,
    ) -> [Option<u32>; 2] {
        let bits = |port| Some(runtime_bounds.bits(row, port));
        match self.variants[variant].options.sides {
            BoundSides::Upper => [None, bits(k)],
            BoundSides::Lower => [bits(k), None],
            BoundSides::Both => [bits(2 * k), bits(2 * k + 1)],
        }
    }

    /// Returns the endpoints of an output as numbers; infinite for missing sides.
    fn numbers(&self, variant: usize, k: usize, row: usize, runtime_bounds: &[Batch]) -> [f64; 2] {
        numbers(self.ty(k), self.endpoints(variant, k, row, runtime_bounds))
    }

    /// Whether a NaN-propagating variant reports a NaN.
    fn reports_nan(&self, variant: usize, row: usize, runtime_bounds: &[Batch]) -> bool {
        self.is_nan(variant, self.subject.outputs.len() - 1, row, runtime_bounds)
    }

    /// Whether an endpoint of an output is NaN.
    fn is_nan(&self, variant: usize, k: usize, row: usize, runtime_bounds: &[Batch]) -> bool {
        self.numbers(variant, k, row, runtime_bounds).iter().any(|end| end.is_nan())
    }

    /// Whether a variant makes no claim about an output for a box.
    fn makes_no_claim(
        &self,
        variant: usize,
        k: usize,
        row: usize,
        runtime_bounds: &[Batch],
    ) -> bool {
        match self.variants[variant].options.nan {
            Nan::Propagate => {
                self.ty(k) != Type::F32 && self.reports_nan(variant, row, runtime_bounds)
            }
            Nan::Suppress => false,
            Nan::Ignore => {
                let nan_probe = self.variants[variant].nan_probe;
                self.is_nan(nan_probe, k, row, runtime_bounds)
                    || self.reports_nan(nan_probe, row, runtime_bounds)
            }
        }
    }

    /// Checks an output for a box.
    #[allow(clippy::too_many_arguments, reason = "results for the box and for its parts")]
    fn check_output(
        &self,
        row: usize,
        k: usize,
        sample: &Sample,
        values: &Batch,
        runtime_bounds: &[Batch],
        split: &[SplitBounds],
        tally: &mut Tally,
    ) {
        let (ty, port, count) = (self.ty(k), self.subject.outputs[k], sample.members.len());
        let bits: Vec<_> = (0..count).map(|m| values.bits(row * count + m, port)).collect();
        let has_unit_vectors = |&m: &usize| self.vectors.satisfied_by(&sample.members[m]);
        let selected = if self.vectors.allow(&sample.endpoints) {
            (0..count).filter(has_unit_vectors).collect()
        } else {
            vec![]
        };
        let units = Members::new(ty, bits.clone(), selected);
        let all = Members::new(ty, bits, (0..count).collect());
        for index in 0..self.variants.len() {
            let members = if self.variants[index].uses_relations() { &units } else { &all };
            // A box without valid members is not checked.
            if !members.selected.is_empty() {
                let check = BoundCheck {
                    checker: self,
                    variant: index,
                    parts: None,
                    row,
                    k,
                    sample,
                    members,
                    runtime_bounds,
                };
                check.check_containment(tally);
                check.compare_with_references(tally);
                check.check_static_bounds(tally);
            }
        }
        for split_bounds in split.iter().filter(|_| !units.selected.is_empty()) {
            let (variant, parts) = (split_bounds.variant, Some(split_bounds));
            BoundCheck {
                checker: self,
                variant,
                parts,
                row,
                k,
                sample,
                members: &units,
                runtime_bounds,
            }
            .check_containment(tally);
        }
    }

    /// Whether the naive code computes a NaN anywhere for a box.
    fn computes_nan(&self, variant: usize, sample: &Sample) -> bool {
        let naive = &self.variants[self.variants[variant].nan_reference].lifted.function;
        let inputs = std::iter::zip(&self.layout, &sample.endpoints);
        let inputs: Vec<_> = inputs
            .flat_map(|(&(_, interval), endpoints)| &endpoints[..if interval { 2 } else { 1 }])
            .copied()
            .collect();
        any_nan(naive, &inputs)
    }

    /// Whether an interval in related code is empty for a box. The endpoints of an empty interval
    /// are arbitrary, and different cases of an operation may compute different bounds from them.
    fn has_empty(&self, variant: usize, sample: &Sample) -> bool {
        let options = Options { tracking: Tracking::NONE, ..self.variants[variant].options };
        if options.relations == Relations::NONE {
            return false;
        }
        let lifted =
            lift::run(&self.subject.point, &self.subject.inputs, &self.subject.outputs, &options);
        let inputs = std::iter::zip(&self.layout, &sample.endpoints);
        let inputs: Vec<_> = inputs
            .flat_map(|(&(_, interval), endpoints)| &endpoints[..if interval { 2 } else { 1 }])
            .copied()
            .collect();
        Trace::new(&lifted, &options).has_empty(&random::tables(), &inputs, MAX_ITERATIONS)
    }

    /// Returns a box with the names and types of its inputs, for a fault.
    fn named_endpoints(&self, sample: &Sample) -> Vec<(String, Type, [u32; 2])> {
        let inputs = std::iter::zip(&self.subject.point.inputs, &sample.endpoints);
        inputs.map(|(port, endpoints)| (port.name.clone(), port.ty, *endpoints)).collect()
    }

    /// Checks all values that the point shader computes for a member against static bounds. Static
    /// bounds make no claim if the NaN-propagating variant reports a NaN (`nan_seen`).
    fn check_values(&self, sample: &Sample, member: &[u32], nan_seen: &[bool], tally: &mut Tally) {
        let is_unit = self.vectors.allow(&sample.endpoints) && self.vectors.satisfied_by(member);
        for (index, (variant, &nan_seen)) in std::iter::zip(&self.variants, nan_seen).enumerate() {
            if variant.options.sides != BoundSides::Both
                || variant.naive != index
                || variant.uses_relations() && !is_unit
            {
                continue;
            }
            let Lifted { sunk: point, bounds, related, .. } = &variant.lifted;
            let (mut violation, mut nan) = (None, false);
            // Bounds make no claim about members for which the value of `support` is negative.
            let mut is_outside_support = related
                .support
                .and_then(|z| input_of(point, z))
                .is_some_and(|z| is_negative(member[z]));
            let watch = |value: Value, word: u32| {
                nan |= number(point.ty(value), word).is_nan();
                is_outside_support |= related.support == Some(value) && is_negative(word);
                if !is_outside_support
                    && !bounds[value.index()].contains(word)
                    && violation.is_none()
                {
                    violation = Some((value, word));
                }
            };
            interpreter::watch(point, &random::tables(), member, MAX_ITERATIONS, watch)
                .expect("the loops terminate");
            let Some((value, word)) = violation else { continue };
            if variant.options.nan != Nan::Suppress && nan_seen
                || variant.options.nan == Nan::Ignore && nan
            {
                continue;
            }
            let fault = || Fault {
                kind: FaultKind::ValueOutsideStaticBounds,
                subject: self.subject.name.clone(),
                target: Target::Interpreter,
                options: variant.options,
                parts: 1,
                output: format!("value {}, {:?}", value.index(), point.def(value)),
                ty: point.ty(value),
                endpoints: self.named_endpoints(sample),
                member: Some(member.to_vec()),
                expected: Some(word),
                found: None,
                note: format!("    static bounds {:?}\n", bounds[value.index()]),
            };
            tally.fault(fault, FaultKind::ValueOutsideStaticBounds);
        }
    }
}

/// Converts endpoints to numbers; infinite for missing sides.
fn numbers(ty: Type, endpoints: [Option<u32>; 2]) -> [f64; 2] {
    let [lo, hi] = endpoints.map(|end| end.map(|end| number(ty, end)));
    [lo.unwrap_or(f64::NEG_INFINITY), hi.unwrap_or(f64::INFINITY)]
}

/// Returns the index of an input; `None` for other values.
fn input_of(point: &Function, value: Value) -> Option<usize> {
    match point.def(value) {
        Def::Input(input) => Some(input as usize),
        _ => None,
    }
}

fn is_negative(word: u32) -> bool {
    f32::from_bits(word) < 0.0
}

/// Whether one of the inputs is NaN, or the function computes a NaN for them.
fn any_nan(function: &Function, inputs: &[u32]) -> bool {
    let mut nan = std::iter::zip(&function.inputs, inputs)
        .any(|(port, &word)| number(port.ty, word).is_nan());
    let watch = |value: Value, word: u32| nan |= number(function.ty(value), word).is_nan();
    interpreter::watch(function, &random::tables(), inputs, MAX_ITERATIONS, watch)
        .expect("the loops terminate");
    nan
}

#[cfg(test)]
mod tests {
    use super::*;
    use lightbound_shader::bounding::{Frame, Integrand, IntervalInputs, Ranges};
    use lightbound_shader::frontend::{Settings, Shader};
    use lightbound_shader::ir::Def;

    /// Returns a specular lobe: dot products of unit vectors. The view direction is a scalar input.
    fn subject() -> Subject {
        let source = "struct Material { exponent: f32 }
            fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
                return vec3f(wi.z * wo.z - wi.x * wo.x - wi.y * wo.y, dot(wi, wo), 1.0);
            }";
        let shader = Shader::parse("mirror.wgsl", source).expect("the shader is valid");
        let integrand =
            Integrand::new(&shader, &Settings::default(), Frame::Local).expect("it compiles");
        Subject::material("mirror", &integrand, IntervalInputs::Light, Some(Ranges::Declared))
            .with_intermediate_outputs()
    }

    fn check_modified(change: impl Fn(&mut Lifted)) -> Tally {
        let (subject, random) = (subject(), &mut Random::new(3));
        let samples: Vec<_> =
            (0..400).map(|_| sample(random, &subject.point.inputs, &subject.inputs, 8)).collect();
        Checker::with(&subject, Target::best(), &Plan::full(0, 10), change).run(&samples)
    }

    #[test]
    fn bounds_without_slack_are_reported() {
        let sound = check_modified(|_| {});
        assert!(!sound.is_faulty() && sound.related > 10_000, "{sound:?}");
        // Dot products of unit vectors are bounded by a constant slightly above 1: a bound of 1 is
        // too low.
        let faulty = check_modified(|lifted| {
            for data in &mut lifted.function.values {
                if let Def::Const(bits) = &mut data.def
                    && data.ty == Type::F32
                    && (1.0..1.001).contains(&f32::from_bits(*bits).abs())
                {
                    *bits = 1.0_f32.copysign(f32::from_bits(*bits)).to_bits();
                }
            }
        });
        assert!(faulty.violations > 0, "{faulty:?}");
    }

    #[test]
    fn bounds_that_relations_widen_are_reported() {
        let faulty = check_modified(|lifted| {
            if lifted.function.outputs.len() > 2
                && !lifted.related.refinements.iter().all(Vec::is_empty)
            {
                // Swaps two endpoints.
                let yields = &mut lifted.function.body.yields;
                yields.swap(0, 1);
            }
        });
        assert!(faulty.too_wide > 0, "{faulty:?}");
    }
}
