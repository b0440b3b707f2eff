//! Operations of one argument over all of its words: every box of one word, every box of two
//! neighbours, and boxes of 2ᵏ neighbours, for which all members are checked, not only some.
//!
//! Words are taken in order, a block at a time. Boxes of one word and of two are judged in machine
//! code, by a [function](verdict) that says whether anything is wrong; where it is, and for larger
//! boxes, results are held against bounds here. The least and the greatest result within a window
//! of 2ᵏ⁺¹ words are those of two windows of 2ᵏ.

use super::boxes::unrank;
use super::verdict::{self, Variant};
use super::{Fault, FaultKind, Results, Subject, Tally, number};
use crate::analysis::{Bounds, Floats};
use crate::differential::op_function;
use crate::interval::Nan;
use crate::ir::{Function, Op, Type};
use crate::jit::Arena;
use crate::kernel::{Batch, Kernel};
use crate::lift::{self, Input, Options, Sides, Tracking};
use crate::passes;
use crate::target::Target;

/// Words of a block.
const BLOCK: usize = 1 << 16;

/// Operations of one float or integer.
pub fn unary_ops() -> impl Iterator<Item = Op> {
    let is_wide = |op: &Op| matches!(op.signature().args, [Some(Type::F32 | Type::I32)]);
    Op::ALL.iter().copied().filter(is_wide)
}

/// An operation of one argument, compiled with its bounds for the fastest target, to be run over
/// windows of words.
pub struct Windows {
    subject: Subject,
    target: Target,
    point: Kernel,
    /// Those with naive code, and in the same order those with optimized code. The first one
    /// propagates NaN.
    variants: Vec<(Options, Kernel)>,
    /// Those bounds of the windows at hand.
    limits: Vec<Batch>,
    /// Judges boxes of one word and of two.
    verdict: Kernel,
    /// Its inputs and outputs.
    ranks: Batch,
    verdicts: Batch,
}

/// What bounding code does about NaN, in the order of kinds.
const MODES: [Nan; 3] = [Nan::Propagate, Nan::Suppress, Nan::Ignore];

impl Windows {
    /// Compiles an operation of [`unary_ops`].
    pub fn new(op: Op) -> Windows {
        let subject = subject(op);
        let bounding = bounding(&subject);
        Windows::of(subject, &bounding)
    }

    /// Compiles a subject with these bounding functions, one of each kind.
    fn of(subject: Subject, bounding: &[(Options, Function)]) -> Windows {
        let (arena, target) = (Arena::new(), Target::best());
        let compile = |function: &Function| {
            Kernel::compile(&arena, &passes::lower(function), target)
                .expect("the best target is available")
        };
        let kinds = bounding.iter().enumerate();
        let kinds = kinds.map(|(k, (options, function))| Variant {
            options: *options,
            function,
            naive: k % MODES.len(),
        });
        let [_, last] = ends(&subject);
        let verdict =
            compile(&verdict::function(&subject.point, &kinds.collect::<Vec<_>>(), last as i32));
        let point = compile(&subject.point);
        let variants =
            bounding.iter().map(|(options, function)| (*options, compile(function))).collect();
        let [ranks, verdicts] = [0; 2].map(|rows| Batch::new(target, 0, rows));
        Windows { subject, target, point, variants, limits: vec![], verdict, ranks, verdicts }
    }

    /// Number of blocks, the last of which is not full.
    pub fn blocks(&self) -> usize {
        self.words().div_ceil(BLOCK)
    }

    /// Number of words in order.
    pub fn words(&self) -> usize {
        let [first, last] = ends(&self.subject);
        (last - first + 1) as usize
    }

    fn word(&self, place: usize) -> u32 {
        let [first, last] = ends(&self.subject);
        let rank = (first + place as i64).min(last);
        match self.subject.point.inputs[0].ty {
            Type::F32 => unrank(rank).to_bits(),
            _ => rank as i32 as u32,
        }
    }

    /// Checks all windows of 1 and of 2 words that start in a block; gives the results of the
    /// block.
    pub fn sweep_block(&mut self, block: usize, tally: &mut Tally) -> Results {
        let start = block * BLOCK;
        self.sweep(start, BLOCK.min(self.words() - start), tally)
    }

    /// Checks all windows of 1 and of 2 words that start at `count` words from `start` on; gives
    /// the results of these words.
    fn sweep(&mut self, start: usize, count: usize, tally: &mut Tally) -> Results {
        let [first, last] = ends(&self.subject);
        let first = first + start as i64;
        self.ranks.reshape(1, count);
        self.verdicts.reshape(self.verdict.outputs().len(), count);
        for (rank, word) in (first..).zip(self.ranks.words_mut()) {
            *word = rank.min(last) as u32;
        }
        self.verdict.run_on(&[], &self.ranks, &mut self.verdicts);
        let (ty, lanes) = (self.subject.point.outputs[0].ty, self.target.lanes());
        let (mut results, mut exempt, mut all) = (Results::NONE, 0, 0);
        for (group, words) in self.verdicts.words().chunks_exact(2 * lanes).enumerate() {
            let (verdicts, values) = words.split_at(lanes);
            for (&verdict, &value) in std::iter::zip(verdicts, values).take(count - group * lanes) {
                all |= verdict;
                exempt += u64::from(verdict);
                results.add(number(ty, value));
            }
        }
        if all & verdict::WRONG != 0 {
            // Once more, to tell what.
            return self.run(start, count, 1, tally);
        }
        tally.exempt += exempt;
        tally.checks += count as u64 * verdict::BOXES * self.variants.len() as u64 - exempt;
        results
    }

    /// Checks all windows of 1, 2, … 2ᵏ words, `k` up to `most`, that start in a block; gives the
    /// results of the block.
    pub fn block(&mut self, block: usize, most: u32, tally: &mut Tally) -> Results {
        let start = block * BLOCK;
        self.run(start, BLOCK.min(self.words() - start), most, tally)
    }

    /// The same for windows that start at `count` words from `start` on.
    pub fn run(&mut self, start: usize, count: usize, most: u32, tally: &mut Tally) -> Results {
        let mut results = self.results(start, count + (1 << most) - 1);
        let all = results[..count].iter().copied().fold(Results::NONE, Results::union);
        for k in 0..=most {
            let boxes = (start..start + count).map(|place| [place, place + (1 << k) - 1]);
            self.judge(boxes, &results[..count], tally);
            let half = 1 << k;
            for i in 0..results.len().saturating_sub(half) {
                results[i] = results[i].union(results[i + half]);
            }
        }
        all
    }

    /// Checks all windows of 2ᵏ blocks, of which these are the results.
    pub fn far(&mut self, blocks: &[Results], tally: &mut Tally) {
        let mut results = blocks.to_vec();
        let mut width = 1;
        while width <= results.len() {
            let boxes = (0..=results.len() - width)
                .map(|block| [block * BLOCK, (block + width) * BLOCK - 1]);
            self.judge(boxes, &results[..=results.len() - width], tally);
            for i in 0..results.len() - width {
                results[i] = results[i].union(results[i + width]);
            }
            width *= 2;
        }
    }

    /// What the operation makes of so many words.
    fn results(&self, start: usize, count: usize) -> Vec<Results> {
        let mut inputs = Batch::new(self.target, 1, count);
        for (place, word) in inputs.words_mut().iter_mut().enumerate() {
            *word = self.word(start + place);
        }
        let mut outputs = Batch::new(self.target, self.point.outputs().len(), count);
        self.point.run_on(&[], &inputs, &mut outputs);
        let ty = self.subject.point.outputs[0].ty;
        let result = |place| {
            let mut one = Results::NONE;
            one.add(number(ty, outputs.bits(place, 0)));
            one
        };
        (0..count).map(result).collect()
    }

    /// Holds results against the bounds of boxes, given by the places of their ends.
    fn judge(
        &mut self,
        boxes: impl Iterator<Item = [usize; 2]>,
        results: &[Results],
        tally: &mut Tally,
    ) {
        let mut inputs = Batch::new(self.target, 2, results.len());
        let places: Vec<_> = boxes.collect();
        for (row, places) in places.iter().enumerate() {
            inputs.set_row(row, 0, &places.map(|place| self.word(place)));
        }
        self.limits.resize(self.variants.len(), Batch::new(self.target, 0, 0));
        for ((_, kernel), limits) in self.variants.iter().zip(&mut self.limits) {
            limits.reshape(kernel.outputs().len(), results.len());
            kernel.run_on(&[], &inputs, limits);
        }
        for index in 0..self.variants.len() {
            for (row, result) in results.iter().enumerate() {
                let options = self.variants[index].0;
                let void = self.is_void(index, row, result);
                let (wrong, checked) =
                    result.judge(options.nan, Sides::Both, self.bound(index, row), void);
                // A box is a check, however many members it has.
                *if checked > 0 { &mut tally.checks } else { &mut tally.exempt } += 1;
                let differs =
                    (!void && self.differs(index, row, result)).then_some(FaultKind::Differs);
                for wrong in wrong.into_iter().chain(differs) {
                    let found = [0, 1].map(|side| self.limits[index].bits(row, side));
                    tally.fault(|| self.fault(wrong, options, places[row], found), wrong);
                }
            }
        }
    }

    /// A bound of a window at hand.
    fn bound(&self, variant: usize, row: usize) -> [f64; 2] {
        let ty = self.subject.point.outputs[0].ty;
        self.limits[variant].floats::<2>(row, 0).map(|end| number(ty, end.to_bits()))
    }

    /// Whether a bounding function says that NaN was met in a window at hand.
    fn met(&self, variant: usize, row: usize) -> bool {
        let met = self.subject.outputs.len() - 1;
        self.limits[variant].floats::<2>(row, 2 * met).iter().any(|end| end.is_nan())
    }

    /// Whether nothing is said of a window at hand, of which these are the results.
    fn is_void(&self, variant: usize, row: usize, results: &Results) -> bool {
        match self.variants[variant].0.nan {
            Nan::Propagate => {
                self.subject.point.outputs[0].ty != Type::F32 && self.met(variant, row)
            }
            Nan::Suppress => false,
            Nan::Ignore => self.met(0, row) || results.nans > 0,
        }
    }

    /// Whether a bound is not the naive one where it has to be.
    fn differs(&self, variant: usize, row: usize, results: &Results) -> bool {
        let naive = variant % MODES.len();
        if naive == variant {
            return false;
        }
        let ignored = self.variants[variant].0.nan == Nan::Ignore
            && self.bound(0, row).iter().any(|end| end.is_nan());
        let differ = |(end, naive): (f64, f64)| end != naive && !naive.is_nan();
        let ends = std::iter::zip(self.bound(variant, row), self.bound(naive, row));
        !ignored && !self.is_void(naive, row, results) && ends.into_iter().any(differ)
    }

    fn fault(
        &self,
        wrong: FaultKind,
        options: Options,
        places: [usize; 2],
        found: [u32; 2],
    ) -> Fault {
        let (port, output) = (&self.subject.point.inputs[0], &self.subject.point.outputs[0]);
        let ends = places.map(|place| self.word(place));
        // The first member, of the first few, that shows it.
        let bounds = found.map(|end| number(output.ty, end));
        let evaluate = |place: &usize| (self.word(*place), self.results(*place, 1)[0]);
        let shows = |(_, result): &(u32, Results)| match wrong {
            FaultKind::HidesNan => result.nans > 0,
            FaultKind::Differs => true,
            _ => result.least < bounds[0] || bounds[1] < result.most,
        };
        let shown = (places[0]..=places[1]).take(1 << 17).map(|place| evaluate(&place)).find(shows);
        Fault {
            parts: 1,
            kind: wrong,
            subject: self.subject.name.clone(),
            target: self.target,
            options,
            output: output.name.clone(),
            ty: output.ty,
            ends: vec![(port.name.clone(), port.ty, ends)],
            member: shown.map(|(word, _)| vec![word]),
            expected: shown.map(|(word, _)| {
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

/// An operation, whose argument is any number.
fn subject(op: Op) -> Subject {
    let point = op_function(op);
    let bounds = match point.inputs[0].ty {
        Type::F32 => Bounds::Float(Floats { nan: false, ..Floats::all() }),
        ty => Bounds::all(ty),
    };
    Subject::new(op.name().to_owned(), point, vec![Input { interval: true, bounds, axis: None }])
}

/// Its bounding functions: naive ones, then optimized ones, of all [modes](MODES).
fn bounding(subject: &Subject) -> Vec<(Options, Function)> {
    let kinds = [Tracking::NONE, Tracking::ALL]
        .into_iter()
        .flat_map(|tracking| MODES.map(|nan| (tracking, nan)));
    let lifted = kinds.map(|(tracking, nan)| {
        let options = Options { sides: Sides::Both, nan, tracking, ..Options::default() };
        (options, lift::run(&subject.point, &subject.inputs, &subject.outputs, &options).function)
    });
    lifted.collect()
}

/// Ranks of the first and the last word: all floats but NaN, −∞ first, or all integers, as signed.
fn ends(subject: &Subject) -> [i64; 2] {
    match subject.point.inputs[0].ty {
        Type::F32 => [f32::NEG_INFINITY, f32::INFINITY].map(super::boxes::rank),
        _ => [i32::MIN, i32::MAX].map(i64::from),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::rewrite::append;
    use crate::ir::{Builder, Emit, Rules};

    /// Some words of an operation: those around ends, zero and one, and some between.
    fn places(windows: &Windows) -> Vec<usize> {
        let words = windows.words();
        (0..=12).map(|k| (words / 12 * k).saturating_sub(40).min(words - 80)).collect()
    }

    #[test]
    fn code_judges_as_is_judged_here() {
        for op in unary_ops() {
            let mut windows = Windows::new(op);
            for start in places(&windows) {
                let (mut swept, mut tally) = (Tally::default(), Tally::default());
                let results = windows.sweep(start, 77, &mut swept);
                assert_eq!(results, windows.run(start, 77, 1, &mut tally), "{}", op.name());
                assert_eq!(
                    (swept.checks, swept.exempt),
                    (tally.checks, tally.exempt),
                    "{} at {start}",
                    op.name()
                );
                assert!(!tally.is_faulty() && !swept.is_faulty(), "{} at {start}", op.name());
            }
        }
    }

    /// A bounding function with another end for boxes that start at a word.
    fn with_end(function: &Function, output: usize, word: u32, end: u32) -> Function {
        let mut builder = Builder::new(&function.name, Rules::Exact);
        let inputs: Vec<_> =
            function.inputs.iter().map(|port| builder.input(&port.name, port.ty)).collect();
        let (mut builder, mut outputs) = append(function, builder, &inputs, Builder::op);
        let (bits, word) = (builder.op(Op::Bits, &inputs[..1]), builder.i32(word as i32));
        let (there, end) = (builder.op(Op::IEq, &[bits, word]), builder.constant(Type::F32, end));
        outputs[output] = builder.op(Op::Select, &[there, end, outputs[output]]);
        builder.finish(function.outputs.iter().map(|port| port.name.clone()).zip(outputs))
    }

    /// What a sweep over four blocks finds if a bounding function of the root has another end for
    /// boxes that start at 2.
    fn swept(variant: usize, output: usize, end: f32) -> Tally {
        let (subject, word) = (subject(Op::Sqrt), 2.0_f32);
        let mut bounding = bounding(&subject);
        bounding[variant].1 = with_end(&bounding[variant].1, output, word.to_bits(), end.to_bits());
        let (mut windows, mut tally) = (Windows::of(subject, &bounding), Tally::default());
        let [first, _] = ends(&windows.subject);
        let block = (super::super::boxes::rank(word) - first) as usize / BLOCK;
        for block in block - 1..block + 3 {
            windows.sweep_block(block, &mut tally);
        }
        assert_eq!(tally.checks + tally.exempt, 4 * BLOCK as u64 * 12);
        tally
    }

    #[test]
    fn one_wrong_end_of_one_word_is_found() {
        let root = 2.0_f32.sqrt();
        let [below, above] =
            [-1, 1].map(|by| f32::from_bits(root.to_bits().wrapping_add_signed(by)));
        for variant in 0..6 {
            let is_naive = variant < 3;
            for (output, end) in [(0, above), (1, below)] {
                let tally = swept(variant, output, end);
                // Of one word and of two; of two the other end is wide enough, but not the same.
                assert!((1..=2).contains(&tally.violations), "{tally:?}");
                assert!(is_naive || tally.differ > 0, "{tally:?}");
                let fault = tally
                    .faults
                    .iter()
                    .find(|fault| fault.kind == FaultKind::Escapes)
                    .expect("it is told");
                assert_eq!(fault.member, Some(vec![2.0_f32.to_bits()]));
                assert_eq!(fault.expected, Some(root.to_bits()));
            }
            // Sound, but not the naive end.
            let tally = swept(variant, 0, below);
            assert_eq!((tally.violations, tally.differ), (0, 2), "{tally:?}");
            let tally = swept(variant, 1, f32::NAN);
            assert_eq!(tally.violations > 0, variant % 3 != 0, "{tally:?}");
        }
        assert!(!swept(0, 0, root).is_faulty());
    }

    #[test]
    fn hidden_nan_is_found() {
        let (subject, word) = (subject(Op::Sqrt), -2.0_f32);
        let mut bounding = bounding(&subject);
        for output in 0..2 {
            bounding[3].1 = with_end(&bounding[3].1, output, word.to_bits(), 0);
        }
        let (mut windows, mut tally) = (Windows::of(subject, &bounding), Tally::default());
        let [first, _] = ends(&windows.subject);
        windows.sweep((super::super::boxes::rank(word) - first) as usize - 10, 20, &mut tally);
        assert_eq!((tally.violations, tally.faults[0].kind), (2, FaultKind::HidesNan));
    }
}
