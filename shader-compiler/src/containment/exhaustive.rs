//! Operations of one argument over all of its words: every box of one word, every box of two neighbours, and boxes of 2ᵏ neighbours, for
//! which all members are checked, not only some.
//!
//! Words are taken in order, a block at a time. The least and the greatest result within a window of 2ᵏ⁺¹ words are those of two windows of 2ᵏ.

use super::boxes::unrank;
use super::{Fault, Results, Subject, Tally, Wrong, number};
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

/// An operation of one argument, compiled with its bounds for the fastest target, to be run over windows of words.
pub struct Windows {
    subject: Subject,
    target: Target,
    point: Kernel,
    /// The first one is naive and propagates NaN.
    variants: Vec<(Options, Kernel)>,
    /// Those bounds of the windows at hand.
    limits: Vec<Batch>,
}

impl Windows {
    /// Compiles an operation of [`unary_ops`].
    pub fn new(op: Op) -> Windows {
        let (point, arena, target) = (op_function(op), Arena::new(), Target::best());
        let bounds = match point.inputs[0].ty {
            Type::F32 => Bounds::Float(Floats { nan: false, ..Floats::all() }),
            ty => Bounds::all(ty),
        };
        let subject = Subject::new(op.name().to_owned(), point, vec![Input { interval: true, bounds, axis: None }]);
        let compile = |function: &Function| {
            Kernel::compile(&arena, &passes::lower(function), target).expect("the best target is available")
        };
        let mut variants = vec![];
        for tracking in [Tracking::NONE, Tracking::ALL] {
            for nan in [Nan::Propagate, Nan::Suppress, Nan::Ignore] {
                let options = Options { sides: Sides::Both, nan, tracking, ..Options::default() };
                let lifted = lift::run(&subject.point, &subject.inputs, &subject.outputs, &options);
                variants.push((options, compile(&lifted.function)));
            }
        }
        let point = compile(&subject.point);
        Windows { subject, target, point, variants, limits: vec![] }
    }

    /// Number of blocks, the last of which is not full.
    pub fn blocks(&self) -> usize {
        self.words().div_ceil(BLOCK)
    }

    /// Number of words in order.
    pub fn words(&self) -> usize {
        let [first, last] = self.ends();
        (last - first + 1) as usize
    }

    /// Positions of the first and the last word: all floats but NaN, −∞ first, or all integers, as signed.
    fn ends(&self) -> [i64; 2] {
        match self.subject.point.inputs[0].ty {
            Type::F32 => [f32::NEG_INFINITY, f32::INFINITY].map(super::boxes::rank),
            _ => [i32::MIN, i32::MAX].map(i64::from),
        }
    }

    fn word(&self, place: usize) -> u32 {
        let [first, last] = self.ends();
        let rank = (first + place as i64).min(last);
        match self.subject.point.inputs[0].ty {
            Type::F32 => unrank(rank).to_bits(),
            _ => rank as i32 as u32,
        }
    }

    /// Checks all windows of 1, 2, … 2ᵏ words, `k` up to `most`, that start in a block; gives the results of the block.
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
            let boxes = (0..=results.len() - width).map(|block| [block * BLOCK, (block + width) * BLOCK - 1]);
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
    fn judge(&mut self, boxes: impl Iterator<Item = [usize; 2]>, results: &[Results], tally: &mut Tally) {
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
        let ty = self.subject.point.outputs[0].ty;
        let ends = |limits: &Batch, row: usize, k: usize| limits.floats::<2>(row, 2 * k).map(|end| number(ty, end.to_bits()));
        let met = self.subject.outputs.len() - 1;
        for (options, limits) in std::iter::zip(self.variants.iter().map(|(options, _)| *options), &self.limits) {
            // What says that NaN was met.
            let told = if options.nan == Nan::Ignore { &self.limits[0] } else { limits };
            for (row, result) in results.iter().enumerate() {
                let mut void = false;
                if options.nan != Nan::Suppress {
                    let [lo, hi] = told.floats::<2>(row, 2 * met);
                    void = lo.is_nan() || hi.is_nan() || options.nan == Nan::Ignore && result.nans > 0;
                }
                let (wrong, checked) = result.judge(options.nan, Sides::Both, ends(limits, row, 0), void);
                // A box is a check, however many members it has.
                *if checked > 0 { &mut tally.checks } else { &mut tally.exempt } += 1;
                if let Some(wrong) = wrong {
                    let found = [0, 1].map(|side| limits.bits(row, side));
                    tally.fault(|| self.fault(wrong, options, places[row], found), wrong);
                }
            }
        }
    }

    fn fault(&self, wrong: Wrong, options: Options, places: [usize; 2], found: [u32; 2]) -> Fault {
        let (port, output) = (&self.subject.point.inputs[0], &self.subject.point.outputs[0]);
        let ends = places.map(|place| self.word(place));
        // The first member, of the first few, that shows it.
        let bounds = found.map(|end| number(output.ty, end));
        let evaluate = |place: &usize| (self.word(*place), self.results(*place, 1)[0]);
        let shows = |(_, result): &(u32, Results)| match wrong {
            Wrong::HidesNan => result.nans > 0,
            _ => result.least < bounds[0] || bounds[1] < result.most,
        };
        let shown = (places[0]..=places[1]).take(1 << 17).map(|place| evaluate(&place)).find(shows);
        Fault {
            wrong,
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
