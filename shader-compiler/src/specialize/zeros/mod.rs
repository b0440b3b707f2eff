//! Automatic specialization for zeros (Stephenson and Rangan, *AZP: Automatic Specialization for
//! Zero Values in Gaming Applications*, 2020): code that skips work whose result is multiplied by
//! zero in all lanes of a SIMD group.
//!
//! ```text
//! Candidates::find ─► instrument ─► a kernel that runs ─► Counts
//!                └──────────────────────────────────────────┴─► versions ─► function
//! ```
//!
//! [`Candidates`] are floats, and vectors of them, that would make much code superfluous
//! if they were zero. [Instrumented](Candidates::instrument) code tells which of them are zero, and
//! [`Counts`] are how often that is so for whole groups. [`versions`](Candidates::versions) then
//! inserts tests where they pay:
//!
//! ```text
//! values that both versions need
//! if any(x ≠ 0) { the general code } else { what is left for x = 0 }
//! ```
//!
//! `any` is over the active lanes of the group, so the branch is uniform: lanes with x = 0 run the
//! general code beside others. What is left for x = 0 is found as in [specialization](super), for the
//! range {−0, +0}. So results are the same in each lane, but for signs of zeros, whatever the profile
//! is: a product with zero disappears only if the other factor is finite, and zeros keep their sign
//! where it matters.
//!
//! Departures from the paper: candidates are limited to values that every evaluation computes; what
//! both versions compute is computed before the test, not copied; the cost of a test includes
//! mispredicted branches, as many as a branch changes its direction; and joint probabilities are
//! exact where one zero implies another.

mod candidates;
mod estimate;

use super::{Simplify, ranges, zero_signs};
use crate::analysis::conditions::Clips;
use crate::builder::rewrite::{Pass, Rewriter, append, remove_dead_code};
use crate::builder::{Builder, Rules};
use crate::interval::Bounds;
use crate::ir::function::{If, Loop};
use crate::ir::{Def, Emit, Function, Op, Port, Stmt, Value};
use crate::kernel::Batch;
use crate::lift::Input;
use candidates::Candidate;
use estimate::{Effect, Estimator, bounds_of};

/// Tests are kept if they take at most this fraction of the time without them: less would not be
/// distinguishable from noise.
pub const MAX_TIME_RATIO: f64 = 0.98;

/// Candidates are not considered if they are zero in a smaller fraction of groups (AZP §3.3.1).
const MIN_PROBABILITY: f64 = 0.32;

/// The least expected saving of a test, in cheap basic operations.
const MIN_SAVED_COST: f64 = 6.0;

/// The cost of a test, and of each component that it tests.
const TEST_COST: f64 = 3.0;
const COMPONENT_COST: f64 = 2.0;

/// The cost of a mispredicted branch: about twenty cycles with two operations each.
const MISPREDICTION_COST: f64 = 40.0;

/// Greatest number of tests in a function.
const MAX_TESTS: usize = 4;

/// Greatest cost of all versions together, as a multiple of the function's.
const MAX_CLONING: f64 = 2.0;

/// Number of flags in an output word of instrumented code.
const WORD_BITS: usize = 32;

/// Names of these outputs, without their index.
const FLAGS: &str = "flags.";

/// The values of a function that may be worth a test for zero.
#[derive(Clone, Debug)]
pub struct Candidates {
    function: Function,
    is_signed: Vec<bool>,
    /// The bounds of each value.
    bounds: Vec<Bounds>,
    all: Vec<Candidate>,
    /// For each candidate, which ones are zero if it is.
    implied: Vec<Vec<bool>>,
}

/// How often candidates were zero in all lanes of a SIMD group, and how often branches were taken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Number of groups.
    pub groups: u64,
    /// For each candidate, the number of groups in which it was zero.
    pub zeros: Vec<u64>,
    /// For each candidate, how often that changed from one group to the next.
    pub changes: Vec<u64>,
    /// For each if that every evaluation runs, the number of groups in which some lane took its
    /// arms.
    pub arms: Vec<[u64; 2]>,
}

/// A function with tests for zero.
#[derive(Clone, Debug)]
pub struct Versions {
    /// The same as the general function, but for signs of zeros.
    pub function: Function,
    /// The candidates that it tests, by index.
    pub tests: Vec<usize>,
    /// The expected cost, and the general function's, in cheap basic operations.
    pub expected_cost: [f64; 2],
}

impl Candidates {
    /// Finds the candidates of a function for inputs within bounds. `is_signed` states for each
    /// output whether the sign of a zero matters.
    ///
    /// # Panics
    ///
    /// Unless each input is described, and there is a flag for each output.
    pub fn find(function: Function, inputs: &[Input], is_signed: Vec<bool>) -> Candidates {
        assert_eq!(inputs.len(), function.inputs.len(), "each input is described");
        assert_eq!(is_signed.len(), function.outputs.len(), "there is a flag for each output");
        let clips = Clips::of_scalars(&function, &vec![false; function.len()]);
        let bounds = ranges(&function, inputs, &clips).of_values(&function);
        let (all, implied) = candidates::find(&Estimator::new(&function, &bounds, &[]));
        Candidates { function, is_signed, bounds, all, implied }
    }

    /// Number of candidates.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The general function.
    pub fn function(&self) -> &Function {
        &self.function
    }

    /// The names of a candidate's components in the text of the function.
    pub fn names(&self, candidate: usize) -> Vec<String> {
        self.all[candidate]
            .iter()
            .map(|&value| crate::ir::text::name(&self.function, value))
            .collect()
    }

    /// The function with more outputs: words with a bit for each candidate, which is set if all of
    /// its components are zero, and then two for each if, one for each arm.
    pub fn instrument(&self) -> Function {
        let mut function = self.function.clone();
        let mut builder = Builder::new(&function.name, Rules::Exact);
        let ports: Vec<_> =
            function.inputs.iter().map(|port| builder.input(&port.name, port.ty)).collect();
        function.body.yields.extend(self.all.iter().flatten());
        function.body.yields.extend(self.conditions());
        let (mut builder, mut outputs) = append(&function, builder, &ports, Identity);
        let mut values = outputs.split_off(function.outputs.len()).into_iter();
        let names = function.outputs.iter().map(|port| port.name.clone());
        let mut outputs: Vec<_> = names.zip(outputs).collect();
        let mut clear = vec![];
        for candidate in &self.all {
            let components: Vec<_> = values.by_ref().take(candidate.len()).collect();
            clear.push(any_nonzero(&mut builder, &components));
        }
        for condition in values {
            clear.extend([builder.op(Op::BNot, &[condition]), condition]);
        }
        for (index, word) in clear.chunks(WORD_BITS).enumerate() {
            let mut bits = builder.i32(0);
            for (bit, &clear) in word.iter().enumerate() {
                let [zero, set] = [0, 1 << bit].map(|word| builder.i32(word));
                let flag = builder.op(Op::Select, &[clear, zero, set]);
                bits = builder.op(Op::Or, &[bits, flag]);
            }
            outputs.push((format!("{FLAGS}{index}"), bits));
        }
        let mut function = builder.finish(outputs);
        remove_dead_code(&mut function);
        function
    }

    /// The conditions of the ifs in the outermost block.
    fn conditions(&self) -> Vec<Value> {
        let condition = |stmt: &Stmt| match stmt {
            Stmt::If(node) => Some(node.cond),
            Stmt::Op(_) | Stmt::Loop(_) => None,
        };
        self.function.body.stmts.iter().filter_map(condition).collect()
    }

    /// Counts of no groups.
    pub fn counts(&self) -> Counts {
        let zeros = vec![0; self.len()];
        let arms = vec![[0; 2]; self.conditions().len()];
        Counts { groups: 0, changes: zeros.clone(), zeros, arms }
    }

    /// Inserts the tests that pay according to counts; `None` if there are none.
    ///
    /// # Panics
    ///
    /// Unless there is a count for each candidate.
    pub fn versions(&self, counts: &Counts) -> Option<Versions> {
        assert!(counts.fit(self), "there is a count for each candidate and if");
        let groups = counts.groups.max(1) as f64;
        let arms: Vec<_> =
            counts.arms.iter().map(|arms| arms.map(|count| count as f64 / groups)).collect();
        let estimator = Estimator::new(&self.function, &self.bounds, &arms);
        let general = estimator.effect(&[]);
        let base = general.cost;
        let mut planner = Planner {
            candidates: self,
            estimator: &estimator,
            counts,
            tests: vec![],
            growth: 0.0,
            limit: base * (MAX_CLONING - 1.0),
            saved: 0.0,
        };
        let known: Vec<_> = (0..self.len()).map(|k| counts.probability(k)).collect();
        let version = planner.plan(&general, &[], known, 1.0);
        if planner.tests.is_empty() {
            return None;
        }
        let Planner { tests, saved, .. } = planner;
        let function = Emitter { candidates: self, estimator: &estimator }.run(&version);
        Some(Versions { function, tests, expected_cost: [base - saved, base] })
    }
}

impl Counts {
    /// The fraction of groups in which a candidate is zero.
    pub fn probability(&self, candidate: usize) -> f64 {
        if self.groups == 0 {
            return 0.0;
        }
        self.zeros[candidate] as f64 / self.groups as f64
    }

    /// Whether these may be counts of candidates.
    pub fn fit(&self, candidates: &Candidates) -> bool {
        let Counts { zeros, changes, arms, .. } = candidates.counts();
        let lengths = [&self.zeros, &self.changes].map(Vec::len);
        lengths == [zeros.len(), changes.len()]
            && self.arms.len() == arms.len()
            && self.all().all(|&count| count <= self.groups)
    }

    /// All counts but the number of groups.
    fn all(&self) -> impl Iterator<Item = &u64> {
        self.zeros.iter().chain(&self.changes).chain(self.arms.iter().flatten())
    }

    /// Counts the results of an instrumented kernel with these outputs.
    pub fn add(&mut self, outputs: &[Port], results: &Batch) {
        let is_flags = |port: &Port| port.name.starts_with(FLAGS);
        let Some(first_port) = outputs.iter().position(is_flags) else { return };
        let flags = self.zeros.len() + 2 * self.arms.len();
        let mut all = vec![0; flags.div_ceil(WORD_BITS)];
        let mut any = all.clone();
        let mut before: Option<Vec<u32>> = None;
        let lanes = results.lanes();
        for first in (0..results.rows()).step_by(lanes) {
            let rows = first..(first + lanes).min(results.rows());
            for index in 0..all.len() {
                (all[index], any[index]) = (!0, 0);
                for bits in rows.clone().map(|row| results.bits(row, first_port + index)) {
                    all[index] &= bits;
                    any[index] |= bits;
                }
            }
            self.groups += 1;
            let flag =
                |words: &[u32], k: usize| u64::from(words[k / WORD_BITS] >> (k % WORD_BITS) & 1);
            for (k, (zeros, changes)) in
                std::iter::zip(&mut self.zeros, &mut self.changes).enumerate()
            {
                let is_zero = flag(&all, k);
                *zeros += is_zero;
                *changes += before.as_ref().map_or(0, |before| flag(before, k) ^ is_zero);
            }
            for (k, arm) in self.arms.iter_mut().flatten().enumerate() {
                *arm += flag(&any, self.zeros.len() + k);
            }
            before = Some(all.clone());
        }
    }
}

/// The versions of a function.
#[derive(Debug)]
enum Version {
    /// One version.
    Leaf,
    /// A test of a candidate, with the versions for zero and for the general case.
    Test { candidate: usize, zero: Box<Version>, general: Box<Version> },
}

/// Chooses tests greedily, the one with the greatest expected saving first.
struct Planner<'a> {
    candidates: &'a Candidates,
    estimator: &'a Estimator<'a>,
    counts: &'a Counts,
    tests: Vec<usize>,
    /// The cost of the versions for zero so far, which exist beside the general one.
    growth: f64,
    limit: f64,
    /// The expected saving so far.
    saved: f64,
}

impl Planner<'_> {
    /// Plans the versions where these candidates are zero. `general` is what is left there, and
    /// `probabilities` are those of candidates there. It runs in a fraction `weight` of groups.
    fn plan(
        &mut self,
        general: &Effect,
        zeros: &[usize],
        probabilities: Vec<f64>,
        weight: f64,
    ) -> Version {
        if self.tests.len() == MAX_TESTS {
            return Version::Leaf;
        }
        let Some((saved, candidate)) = self.best(general, zeros, &probabilities, weight) else {
            return Version::Leaf;
        };
        let set = [zeros, &[candidate]].concat();
        let effect = self.effect(&set);
        self.tests.push(candidate);
        self.saved += saved;
        self.growth += effect.cost;
        let p = probabilities[candidate];
        let [at_zero, elsewhere] = [true, false].map(|is_zero| {
            (0..probabilities.len())
                .map(|other| self.conditional(&probabilities, candidate, other, is_zero))
                .collect()
        });
        let zero = self.plan(&effect, &set, at_zero, weight * p);
        let general = self.plan(general, zeros, elsewhere, weight * (1.0 - p));
        Version::Test { candidate, zero: Box::new(zero), general: Box::new(general) }
    }

    fn effect(&self, set: &[usize]) -> Effect {
        let zeros: Vec<_> = set.iter().flat_map(|&k| &self.candidates.all[k]).copied().collect();
        self.estimator.effect(&zeros)
    }

    /// The candidate with the greatest expected saving, if one pays.
    fn best(
        &self,
        general: &Effect,
        zeros: &[usize],
        probabilities: &[f64],
        weight: f64,
    ) -> Option<(f64, usize)> {
        let mut best = None;
        for (k, &p) in probabilities.iter().enumerate() {
            let is_live = self.candidates.all[k].iter().all(|&value| general.is_live(value));
            if p < MIN_PROBABILITY || !is_live || self.is_implied(k, probabilities) {
                continue;
            }
            let effect = self.effect(&[zeros, &[k]].concat());
            let saved = weight * self.saving(general, &effect, k, p);
            let fits = self.growth + effect.cost <= self.limit;
            if saved >= MIN_SAVED_COST && fits && best.is_none_or(|(most, _)| saved > most) {
                best = Some((saved, k));
            }
        }
        best
    }

    /// The expected saving of a test (AZP, equations 5 and 6); 0 if it does not pay.
    fn saving(&self, general: &Effect, effect: &Effect, candidate: usize, p: f64) -> f64 {
        let values = &self.candidates.all[candidate];
        // The candidate is computed in both versions.
        let mut computed = effect.live.clone();
        let special = effect.cost + self.estimator.slice_cost(values, &mut computed);
        let mut before = vec![false; computed.len()];
        let slice = self.estimator.slice_cost(values, &mut before);
        let test = TEST_COST + COMPONENT_COST * values.len() as f64;
        let region = [special, general.cost - effect.skipped].map(|cost| (cost - slice).max(0.0));
        let killed = f64::from(general.loads.saturating_sub(effect.loads));
        let threshold = (-f64::from(effect.blocks) / (50.0 + 10.0 * killed)).exp();
        if (region[0] + test) / region[1].max(1.0) >= threshold {
            return 0.0;
        }
        let mispredicted = self.counts.changes[candidate] as f64 / self.counts.groups.max(1) as f64;
        p * (general.cost - effect.skipped - special) - test - MISPREDICTION_COST * mispredicted
    }

    /// Whether a candidate is zero because another one is, at least as often (AZP §3.3.1).
    fn is_implied(&self, candidate: usize, probabilities: &[f64]) -> bool {
        (0..candidate).any(|other| {
            probabilities[other] >= probabilities[candidate].max(MIN_PROBABILITY)
                && self.implies(other, candidate)
                && !self.implies(candidate, other)
        })
    }

    /// Whether a candidate is zero if another one is.
    fn implies(&self, first: usize, second: usize) -> bool {
        self.candidates.implied[first][second]
    }

    /// The probability that `other` is zero where `candidate` is, or where it is not: exact if one
    /// implies the other, and as if they were independent otherwise.
    fn conditional(
        &self,
        probabilities: &[f64],
        candidate: usize,
        other: usize,
        is_zero: bool,
    ) -> f64 {
        let (p, q) = (probabilities[candidate], probabilities[other]);
        match (self.implies(candidate, other), self.implies(other, candidate), is_zero) {
            // A test of what is known does not pay.
            (true, _, true) | (_, true, false) => 0.0,
            (true, _, false) if p < 1.0 => ((q - p) / (1.0 - p)).clamp(0.0, 1.0),
            (_, true, true) if p > 0.0 => (q / p).min(1.0),
            _ => q,
        }
    }
}

/// Builds a function with tests.
struct Emitter<'a> {
    candidates: &'a Candidates,
    estimator: &'a Estimator<'a>,
}

impl Emitter<'_> {
    fn run(&self, version: &Version) -> Function {
        let general = &self.candidates.function;
        let mut builder = Builder::new(&general.name, Rules::Exact);
        builder.set_speculation(None);
        let inputs: Vec<_> =
            general.inputs.iter().map(|port| builder.input(&port.name, port.ty)).collect();
        let (builder, outputs) = self.emit(builder, version, &inputs, &[]);
        let names = general.outputs.iter().map(|port| port.name.clone());
        let mut function = builder.finish(names.zip(outputs));
        remove_dead_code(&mut function);
        function
    }

    /// Emits a version. `zeros` are the values known to be zero, and their new values.
    fn emit(
        &self,
        builder: Builder,
        version: &Version,
        inputs: &[Value],
        zeros: &[(Value, Value)],
    ) -> (Builder, Vec<Value>) {
        let Version::Test { candidate, zero, general } = version else {
            return self.append(builder, &self.candidates.function.body.yields, inputs, zeros);
        };
        let values = &self.candidates.all[*candidate];
        let (mut builder, components) = self.append(builder, values, inputs, zeros);
        if zeros.is_empty() {
            // What both versions compute.
            let common = self.estimator.unchanged(&self.estimator.effect(values));
            builder = self.append(builder, &common, inputs, zeros).0;
        }
        let nonzero = any_nonzero(&mut builder, &components);
        let cond = builder.op(Op::Any, &[nonzero]);
        builder.open_arm();
        let (mut builder, yields) = self.emit(builder, general, inputs, zeros);
        let then = builder.close_arm(&yields);
        builder.open_arm();
        let known = std::iter::zip(values.iter().copied(), components);
        let known: Vec<_> = zeros.iter().copied().chain(known).collect();
        let (mut builder, yields) = self.emit(builder, zero, inputs, &known);
        let otherwise = builder.close_arm(&yields);
        let outputs = builder.push_if(cond, then, otherwise);
        (builder, outputs)
    }

    /// Appends what values of the general function are where these are zero.
    fn append(
        &self,
        builder: Builder,
        values: &[Value],
        inputs: &[Value],
        zeros: &[(Value, Value)],
    ) -> (Builder, Vec<Value>) {
        let Candidates { function: general, is_signed, .. } = self.candidates;
        let mut function = general.clone();
        function.body.yields = values.to_vec();
        if zeros.is_empty() {
            return append(&function, builder, inputs, Identity);
        }
        let (bounds, is_same) =
            self.estimator.bounds(&zeros.iter().map(|zero| zero.0).collect::<Vec<_>>());
        // The signs of other values than outputs may matter.
        let sign_matters = match values == general.body.yields {
            true => zero_signs::run(&function, &bounds, is_signed),
            false => zero_signs::run(&function, &bounds, &vec![true; values.len()]),
        };
        let mut inputs = inputs.to_vec();
        for &(old, new) in zeros {
            if let Def::Input(index) = general.def(old) {
                inputs[index as usize] = new;
            }
        }
        let operand = |value: Value, operand: usize| {
            let (_, args) = general.operation(value)?;
            Some(bounds_of(general, args[operand], &bounds))
        };
        let bounds = bounds.clone();
        let simplify = Simplify { function: general, operand, bounds, sign_matters };
        append(&function, builder, &inputs, AssumeZero { zeros, is_same, simplify })
    }
}

/// Copies a function.
struct Identity;

impl Pass for Identity {}

/// Simplifies a function in which values are zero.
struct AssumeZero<'a, P> {
    /// The values, and their new values, whose signs may matter.
    zeros: &'a [(Value, Value)],
    /// Whether each value is the same as before. Such values may have been computed already.
    is_same: Vec<bool>,
    simplify: P,
}

impl<P> AssumeZero<'_, P> {
    fn set(&self, rewriter: &mut Rewriter<'_>, results: &[Value]) {
        for &(old, new) in self.zeros.iter().filter(|(old, _)| results.contains(old)) {
            rewriter.set(old, new);
        }
    }
}

impl<P: Pass> Pass for AssumeZero<'_, P> {
    fn op(&mut self, builder: &mut Builder, old: Value, op: Op, args: &[Value]) -> Value {
        match self.zeros.iter().find(|(value, _)| *value == old) {
            Some(&(_, new)) => new,
            None if self.is_same[old.index()] => builder.op(op, args),
            None => self.simplify.op(builder, old, op, args),
        }
    }

    fn if_(&mut self, rewriter: &mut Rewriter<'_>, node: &If) {
        rewriter.if_(self, node);
        self.set(rewriter, &node.results);
    }

    fn loop_(&mut self, rewriter: &mut Rewriter<'_>, node: &Loop) {
        rewriter.loop_(self, node);
        self.set(rewriter, &node.results);
    }
}

/// Whether any of these floats is not zero; NaN is not.
fn any_nonzero(builder: &mut Builder, values: &[Value]) -> Value {
    let zero = builder.f32(0.0);
    let tests: Vec<_> = values
        .iter()
        .map(|&value| {
            let is_zero = builder.op(Op::Eq, &[value, zero]);
            builder.op(Op::BNot, &[is_zero])
        })
        .collect();
    let (&first, rest) = tests.split_first().expect("a candidate has a component");
    rest.iter().fold(first, |any, &test| builder.op(Op::BOr, &[any, test]))
}

#[cfg(test)]
mod tests;
