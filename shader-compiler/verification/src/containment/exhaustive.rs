//! Exhaustive checks of operations with one argument, on every box of one word, every box of two
//! adjacent words, and boxes of 2ᵏ adjacent words. All members of a box are checked.
//!
//! Words are processed in order, one block at a time. A compiled [function](verdict) checks boxes
//! of one and of two words, and reports whether any check fails. After a failure, and for larger
//! boxes, this module compares results with bounds. The smallest and the largest result in a window
//! of 2ᵏ⁺¹ words follow from those of two windows of 2ᵏ words.

use super::boxes::unrank;
use super::verdict::{self, BoundingFunction};
use super::{Fault, FaultKind, ResultSummary, Subject, Tally, number};
use lightbound_shader::interval::Nan;
use lightbound_shader::interval::{Bounds, Floats};
use lightbound_shader::ir::{Function, Op, Type};
use lightbound_shader::jit::Arena;
use lightbound_shader::kernel::{Batch, Kernel};
use lightbound_shader::lift::{self, BoundSides, Input, Options, Tracking};
use lightbound_shader::passes;
use lightbound_shader::target::Target;
use lightbound_shader::testing::op_function;

/// Number of words in a block.
const BLOCK_WORDS: usize = 1 << 16;

/// Returns the operations with a single argument, a float or an integer.
pub fn unary_ops() -> impl Iterator<Item = Op> {
    let is_unary = |op: &Op| matches!(op.signature().args, [Some(Type::F32 | Type::I32)]);
    Op::ALL.iter().copied().filter(is_unary)
}

/// Checks an operation with one argument on boxes that are windows of adjacent words, with code for
/// the best target.
pub struct WindowChecker {
    subject: Subject,
    target: Target,
    point: Kernel,
    /// Bounding kernels: first naive ones, then optimized ones in the same order. The first one
    /// propagates NaN.
    variants: Vec<(Options, Kernel)>,
    /// The bounds that each of them computes for the current windows.
    runtime_bounds: Vec<Batch>,
    /// Checks boxes of one and of two words.
    verdict: Kernel,
    /// Inputs and outputs of `verdict`.
    ranks: Batch,
    verdicts: Batch,
}

/// NaN modes, in the order of bounding functions.
const MODES: [Nan; 3] = [Nan::Propagate, Nan::Suppress, Nan::Ignore];

impl WindowChecker {
    /// Compiles an operation of [`unary_ops`].
    pub fn new(op: Op) -> WindowChecker {
        let subject = subject(op);
        let bounding = bounding_functions(&subject);
        WindowChecker::with_functions(subject, &bounding)
    }

    /// Compiles a subject with the given bounding functions.
    fn with_functions(subject: Subject, bounding: &[(Options, Function)]) -> WindowChecker {
        let (arena, target) = (Arena::new(), Target::best());
        let compile = |function: &Function| {
            Kernel::compile(&arena, &passes::lower(function), target)
                .expect("the best target is available")
        };
        let functions = bounding.iter().enumerate();
        let functions = functions.map(|(k, (options, function))| BoundingFunction {
            options: *options,
            function,
            naive: k % MODES.len(),
        });
        let [_, last] = rank_range(&subject);
        let verdict = compile(&verdict::function(
            &subject.point,
            &functions.collect::<Vec<_>>(),
            last as i32,
        ));
        let point = compile(&subject.point);
        let variants =
            bounding.iter().map(|(options, function)| (*options, compile(function))).collect();
        let [ranks, verdicts] = [0; 2].map(|rows| Batch::new(target, 0, rows));
        WindowChecker {
            subject,
            target,
            point,
            variants,
            runtime_bounds: vec![],
            verdict,
            ranks,
            verdicts,
        }
    }

    /// Returns the number of blocks. The last one may be partial.
    pub fn blocks(&self) -> usize {
        self.words().div_ceil(BLOCK_WORDS)
    }

    /// Returns the number of values of the argument, excluding NaN.
    pub fn words(&self) -> usize {
        let [first, last] = rank_range(&self.subject);
        (last - first + 1) as usize
    }

    /// Returns the word with an index in the order of its type; the last word for larger indices.
    fn word(&self, index: usize) -> u32 {
        let [first, last] = rank_range(&self.subject);
        let rank = (first + index as i64).min(last);
        match self.subject.point.inputs[0].ty {
            Type::F32 => unrank(rank).to_bits(),
            _ => rank as i32 as u32,
        }
    }

    /// Checks all windows of one and of two words that start in a block. Returns a summary of the
    /// results in the block.
    pub fn sweep_block(&mut self, block: usize, tally: &mut Tally) -> ResultSummary {
        let start = block * BLOCK_WORDS;
        self.sweep(start, BLOCK_WORDS.min(self.words() - start), tally)
    }

    /// Checks all windows of one and of two words that start in `start..start + count`. Returns a
    /// summary of the results for these words.
    fn sweep(&mut self, start: usize, count: usize, tally: &mut Tally) -> ResultSummary {
        let [first, last] = rank_range(&self.subject);
        let first = first + start as i64;
        self.ranks.reshape(1, count);
        self.verdicts.reshape(self.verdict.outputs().len(), count);
        for (rank, word) in (first..).zip(self.ranks.words_mut()) {
            *word = rank.min(last) as u32;
        }
        self.verdict.run_on(&[], &self.ranks, &mut self.verdicts);
        let (ty, lanes) = (self.subject.point.outputs[0].ty, self.target.lanes());
        let (mut results, mut skipped, mut all) = (ResultSummary::NONE, 0, 0);
        for (group, words) in self.verdicts.words().chunks_exact(2 * lanes).enumerate() {
            let (verdicts, values) = words.split_at(lanes);
            for (&verdict, &value) in std::iter::zip(verdicts, values).take(count - group * lanes) {
                all |= verdict;
                skipped += u64::from(verdict);
                results.add(number(ty, value));
            }
        }
        if all & verdict::FAILED != 0 {
            // Run again with detailed checks, to report the fault.
            return self.run(start, count, 1, tally);
        }
        tally.skipped += skipped;
        tally.checks +=
            count as u64 * verdict::BOXES_PER_WORD * self.variants.len() as u64 - skipped;
        results
    }

    /// Checks all windows of 1, 2, 4, … 2ᵏ words that start in a block, where k is `max_log2`.
    /// Returns a summary of the results in the block.
    pub fn block(&mut self, block: usize, max_log2: u32, tally: &mut Tally) -> ResultSummary {
        let start = block * BLOCK_WORDS;
        self.run(start, BLOCK_WORDS.min(self.words() - start), max_log2, tally)
    }

    /// Like [`Self::block`], for windows that start in `start..start + count`.
    pub fn run(
        &mut self,
        start: usize,
        count: usize,
        max_log2: u32,
        tally: &mut Tally,
    ) -> ResultSummary {
        let mut results = self.results(start, count + (1 << max_log2) - 1);
        let all = results[..count].iter().copied().fold(ResultSummary::NONE, ResultSummary::union);
        for k in 0..=max_log2 {
            let boxes = (start..start + count).map(|first| [first, first + (1 << k) - 1]);
            self.check_bounds(boxes, &results[..count], tally);
            let half = 1 << k;
            for i in 0..results.len().saturating_sub(half) {
                results[i] = results[i].union(results[i + half]);
            }
        }
        all
    }

    /// Checks all windows of 2ᵏ blocks, given a summary of the results for each block.
    pub fn check_large_windows(&mut self, blocks: &[ResultSummary], tally: &mut Tally) {
        let mut results = blocks.to_vec();
        let mut width = 1;
        while width <= results.len() {
            let boxes = (0..=results.len() - width)
                .map(|block| [block * BLOCK_WORDS, (block + width) * BLOCK_WORDS - 1]);
            self.check_bounds(boxes, &results[..=results.len() - width], tally);
            for i in 0..results.len() - width {
                results[i] = results[i].union(results[i + width]);
            }
            width *= 2;
        }
    }

    /// Returns the operation's results for the words in `start..start + count`.
    fn results(&self, start: usize, count: usize) -> Vec<ResultSummary> {
        let mut inputs = Batch::new(self.target, 1, count);
        for (offset, word) in inputs.words_mut().iter_mut().enumerate() {
            *word = self.word(start + offset);
        }
        let mut outputs = Batch::new(self.target, self.point.outputs().len(), count);
        self.point.run_on(&[], &inputs, &mut outputs);
        let ty = self.subject.point.outputs[0].ty;
        let result = |row| {
            let mut summary = ResultSummary::NONE;
            summary.add(number(ty, outputs.bits(row, 0)));
            summary
        };
        (0..count).map(result).collect()
    }

    /// Checks results against the bounds for boxes. A box is a pair of word indices, its endpoints.
    fn check_bounds(
        &mut self,
        boxes: impl Iterator<Item = [usize; 2]>,
        results: &[ResultSummary],
        tally: &mut Tally,
    ) {
        let mut inputs = Batch::new(self.target, 2, results.len());
        let boxes: Vec<_> = boxes.collect();
        for (row, indices) in boxes.iter().enumerate() {
            inputs.set_row(row, 0, &indices.map(|index| self.word(index)));
        }
        self.runtime_bounds.resize(self.variants.len(), Batch::new(self.target, 0, 0));
        for ((_, kernel), runtime_bounds) in self.variants.iter().zip(&mut self.runtime_bounds) {
            runtime_bounds.reshape(kernel.outputs().len(), results.len());
            kernel.run_on(&[], &inputs, runtime_bounds);
        }
        for index in 0..self.variants.len() {
            for (row, result) in results.iter().enumerate() {
                let options = self.variants[index].0;
                let no_claim = self.makes_no_claim(index, row, result);
                let (kind, checked) = result.check_bound(
                    options.nan,
                    BoundSides::Both,
                    self.bound(index, row),
                    no_claim,
                );
                // A box counts as one check, however many members it has.
                *if checked > 0 { &mut tally.checks } else { &mut tally.skipped } += 1;
                let differs =
                    (!no_claim && self.differs(index, row, result)).then_some(FaultKind::Mismatch);
                for kind in kind.into_iter().chain(differs) {
                    let found = [0, 1].map(|side| self.runtime_bounds[index].bits(row, side));
                    tally.fault(|| self.fault(kind, options, boxes[row], found), kind);
                }
            }
        }
    }

    /// Returns the bound for one of the current windows.
    fn bound(&self, variant: usize, row: usize) -> [f64; 2] {
        let ty = self.subject.point.outputs[0].ty;
        self.runtime_bounds[variant].floats::<2>(row, 0).map(|end| number(ty, end.to_bits()))
    }

    /// Whether a bounding function reports a NaN for one of the current windows.
    fn nan_seen(&self, variant: usize, row: usize) -> bool {
        let nan_seen = self.subject.outputs.len() - 1;
        self.runtime_bounds[variant].floats::<2>(row, 2 * nan_seen).iter().any(|end| end.is_nan())
    }

    /// Whether the NaN mode makes no claim about one of the current windows, which has these
    /// results.
    fn makes_no_claim(&self, variant: usize, row: usize, results: &ResultSummary) -> bool {
        match self.variants[variant].0.nan {
            Nan::Propagate => {
                self.subject.point.outputs[0].ty != Type::F32 && self.nan_seen(variant, row)
            }
            Nan::Suppress => false,
            Nan::Ignore => self.nan_seen(0, row) || results.nans > 0,
        }
    }

    /// Whether a bound differs from the naive one where it must be equal.
    fn differs(&self, variant: usize, row: usize, results: &ResultSummary) -> bool {
        let naive = variant % MODES.len();
        if naive == variant {
            return false;
        }
        let ignored = self.variants[variant].0.nan == Nan::Ignore
            && self.bound(0, row).iter().any(|end| end.is_nan());
        let differ = |(end, naive): (f64, f64)| end != naive && !naive.is_nan();
        let endpoints = std::iter::zip(self.bound(variant, row), self.bound(naive, row));
        !ignored && !self.makes_no_claim(naive, row, results) && endpoints.into_iter().any(differ)
    }

    fn fault(
        &self,
        kind: FaultKind,
        options: Options,
        indices: [usize; 2],
        found: [u32; 2],
    ) -> Fault {
        let (port, output) = (&self.subject.point.inputs[0], &self.subject.point.outputs[0]);
        let endpoints = indices.map(|index| self.word(index));
        // Searches a limited number of members for one that fails.
        let bounds = found.map(|end| number(output.ty, end));
        let evaluate = |index: usize| (self.word(index), self.results(index, 1)[0]);
        let fails = |(_, result): &(u32, ResultSummary)| match kind {
            FaultKind::UnreportedNan => result.nans > 0,
            FaultKind::Mismatch => true,
            _ => result.min < bounds[0] || bounds[1] < result.max,
        };
        let failing = (indices[0]..=indices[1]).take(1 << 17).map(evaluate).find(fails);
        Fault {
            parts: 1,
            kind,
            subject: self.subject.name.clone(),
            target: self.target,
            options,
            output: output.name.clone(),
            ty: output.ty,
            endpoints: vec![(port.name.clone(), port.ty, endpoints)],
            member: failing.map(|(word, _)| vec![word]),
            expected: failing.map(|(word, _)| {
                let mut inputs = Batch::new(self.target, 1, 1);
                inputs.set_bits(0, 0, word);
                let mut outputs = Batch::new(self.target, self.point.outputs().len(), 1);
                self.point.run_on(&[], &inputs, &mut outputs);
                outputs.bits(0, 0)
            }),
            found: Some(found),
            note: String::new(),
        }
    }
}

/// Returns the subject of an operation. Its argument is any number.
fn subject(op: Op) -> Subject {
    let point = op_function(op);
    let bounds = match point.inputs[0].ty {
        Type::F32 => Bounds::Float(Floats { nan: false, ..Floats::all() }),
        ty => Bounds::all(ty),
    };
    Subject::new(
        op.name().to_owned(),
        point,
        vec![Input { interval: true, bounds, axis: None, sorted: None }],
    )
}

/// Compiles the bounding functions in all NaN [modes](MODES), first naive, then optimized.
fn bounding_functions(subject: &Subject) -> Vec<(Options, Function)> {
    let modes = [Tracking::NONE, Tracking::ALL]
        .into_iter()
        .flat_map(|tracking| MODES.map(|nan| (tracking, nan)));
    let lifted = modes.map(|(tracking, nan)| {
        let options = Options { sides: BoundSides::Both, nan, tracking, ..Options::default() };
        (options, lift::run(&subject.point, &subject.inputs, &subject.outputs, &options).function)
    });
    lifted.collect()
}

/// Returns the ranks of the first and the last word: of all floats except NaN in increasing order,
/// or of all integers in signed order.
fn rank_range(subject: &Subject) -> [i64; 2] {
    match subject.point.inputs[0].ty {
        Type::F32 => [f32::NEG_INFINITY, f32::INFINITY].map(super::boxes::rank),
        _ => [i32::MIN, i32::MAX].map(i64::from),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lightbound_shader::builder::rewrite::append;
    use lightbound_shader::builder::{Builder, Rules};
    use lightbound_shader::ir::Emit;

    /// Returns the indices of some words, among them the first and the last.
    fn sample_starts(windows: &WindowChecker) -> Vec<usize> {
        let words = windows.words();
        (0..=12).map(|k| (words / 12 * k).saturating_sub(40).min(words - 80)).collect()
    }

    #[test]
    fn compiled_checks_agree_with_direct_ones() {
        for op in unary_ops() {
            let mut windows = WindowChecker::new(op);
            for start in sample_starts(&windows) {
                let (mut swept, mut tally) = (Tally::default(), Tally::default());
                let results = windows.sweep(start, 77, &mut swept);
                assert_eq!(results, windows.run(start, 77, 1, &mut tally), "{}", op.name());
                assert_eq!(
                    (swept.checks, swept.skipped),
                    (tally.checks, tally.skipped),
                    "{} at {start}",
                    op.name()
                );
                assert!(!tally.is_faulty() && !swept.is_faulty(), "{} at {start}", op.name());
            }
        }
    }

    /// Replaces an output of a bounding function by `end` for boxes that start at `word`.
    fn with_endpoint(function: &Function, output: usize, word: u32, end: u32) -> Function {
        let mut builder = Builder::new(&function.name, Rules::Exact);
        let inputs: Vec<_> =
            function.inputs.iter().map(|port| builder.input(&port.name, port.ty)).collect();
        let (mut builder, mut outputs) = append(function, builder, &inputs, Builder::op);
        let (bits, word) = (builder.op(Op::Bits, &inputs[..1]), builder.i32(word as i32));
        let (there, end) = (builder.op(Op::IEq, &[bits, word]), builder.constant(Type::F32, end));
        outputs[output] = builder.op(Op::Select, &[there, end, outputs[output]]);
        builder.finish(function.outputs.iter().map(|port| port.name.clone()).zip(outputs))
    }

    /// Sweeps four blocks for the square root. One of its bounding functions has a wrong endpoint
    /// for boxes that start at 2.
    fn swept(variant: usize, output: usize, end: f32) -> Tally {
        let (subject, word) = (subject(Op::Sqrt), 2.0_f32);
        let mut bounding = bounding_functions(&subject);
        bounding[variant].1 =
            with_endpoint(&bounding[variant].1, output, word.to_bits(), end.to_bits());
        let (mut windows, mut tally) =
            (WindowChecker::with_functions(subject, &bounding), Tally::default());
        let [first, _] = rank_range(&windows.subject);
        let block = (super::super::boxes::rank(word) - first) as usize / BLOCK_WORDS;
        for block in block - 1..block + 3 {
            windows.sweep_block(block, &mut tally);
        }
        assert_eq!(tally.checks + tally.skipped, 4 * BLOCK_WORDS as u64 * 12);
        tally
    }

    #[test]
    fn single_wrong_endpoint_is_found() {
        let root = 2.0_f32.sqrt();
        let [below, above] =
            [-1, 1].map(|by| f32::from_bits(root.to_bits().wrapping_add_signed(by)));
        for variant in 0..6 {
            let is_naive = variant < 3;
            for (output, end) in [(0, above), (1, below)] {
                let tally = swept(variant, output, end);
                // The endpoint is wrong for a box of one word and a box of two. It may still bound
                // the results of the latter, but differs from the naive endpoint.
                assert!((1..=2).contains(&tally.violations), "{tally:?}");
                assert!(is_naive || tally.mismatches > 0, "{tally:?}");
                let fault = tally
                    .faults
                    .iter()
                    .find(|fault| fault.kind == FaultKind::OutsideBounds)
                    .expect("the violation is reported");
                assert_eq!(fault.member, Some(vec![2.0_f32.to_bits()]));
                assert_eq!(fault.expected, Some(root.to_bits()));
            }
            // A lower endpoint that is too low is sound, but not equal to the naive one.
            let tally = swept(variant, 0, below);
            assert_eq!((tally.violations, tally.mismatches), (0, 2), "{tally:?}");
            let tally = swept(variant, 1, f32::NAN);
            assert_eq!(tally.violations > 0, variant % 3 != 0, "{tally:?}");
        }
        assert!(!swept(0, 0, root).is_faulty());
    }

    #[test]
    fn hidden_nan_is_found() {
        let (subject, word) = (subject(Op::Sqrt), -2.0_f32);
        let mut bounding = bounding_functions(&subject);
        for output in 0..2 {
            bounding[3].1 = with_endpoint(&bounding[3].1, output, word.to_bits(), 0);
        }
        let (mut windows, mut tally) =
            (WindowChecker::with_functions(subject, &bounding), Tally::default());
        let [first, _] = rank_range(&windows.subject);
        windows.sweep((super::super::boxes::rank(word) - first) as usize - 10, 20, &mut tally);
        assert_eq!((tally.violations, tally.faults[0].kind), (2, FaultKind::UnreportedNan));
    }
}
