//! What tests of relations share: random boxes of a function, with and without relations.

use super::{Relation, Relations};
use crate::analysis::Bounds;
use crate::containment::sample;
use crate::interpreter;
use crate::interval::Nan;
use crate::ir::random::Random;
use crate::ir::text::parse;
use crate::ir::{Function, Type};
use crate::lift::{self, Input, Lifted, Options};

/// Ends of outputs, by optimized code and with relations.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    /// Ends that were looked at.
    pub ends: usize,
    /// Those that are tighter with relations.
    pub tighter: usize,
}

/// A function, with what its inputs are: intervals within bounds, or numbers.
pub struct Case {
    point: Function,
    inputs: Vec<Input>,
}

impl Case {
    /// *Panics* if the text is not that of a function with so many inputs.
    pub fn new(text: &str, inputs: &[(bool, Bounds)]) -> Case {
        let point = parse(text).expect("the text is well formed");
        assert_eq!(point.inputs.len(), inputs.len());
        let inputs = inputs
            .iter()
            .map(|&(interval, bounds)| Input { interval, bounds, axis: None })
            .collect();
        Case { point, inputs }
    }

    /// With these relations, and what is done about NaN.
    pub fn lifted(&self, relations: Relations, nan: Nan) -> Lifted {
        let outputs: Vec<_> = (0..self.point.outputs.len()).collect();
        lift::run(
            &self.point,
            &self.inputs,
            &outputs,
            &Options { relations, nan, ..Options::default() },
        )
    }

    /// Ends of outputs for a box.
    pub fn ends(&self, lifted: &Lifted, ends: &[[f32; 2]]) -> Vec<[f32; 2]> {
        run(lifted, &ends.iter().map(|ends| ends.map(f32::to_bits)).collect::<Vec<_>>())
    }

    /// Holds the members of random boxes against bounds with a relation, those against optimized
    /// ones, and all against what is known at compile time; but for boxes of which optimized code
    /// that propagates NaN has no bound, if NaN is not suppressed.
    pub fn check(&self, relation: Relation, boxes: usize) -> Seen {
        let mut seen = Seen::default();
        let propagating = self.lifted(Relations::NONE, Nan::Propagate);
        for (seed, nan) in [Nan::Propagate, Nan::Suppress, Nan::Ignore].into_iter().enumerate() {
            let (plain, related) = (
                self.lifted(Relations::NONE, nan),
                self.lifted(Relations::NONE.with(relation), nan),
            );
            let random = &mut Random::new(seed as u64);
            for _ in 0..boxes {
                let sample = sample(random, &self.point.inputs, &self.inputs, 12);
                let [plain, tight] = [&plain, &related].map(|lifted| run(lifted, &sample.ends));
                let met = run(&propagating, &sample.ends).concat().iter().any(|end| end.is_nan());
                if met && nan != Nan::Suppress {
                    continue;
                }
                for (k, output) in self.point.body.yields.iter().enumerate() {
                    let ([lo, hi], tight) = (plain[k], tight[k]);
                    let known = &related.bounds[related.point.body.yields[k].index()];
                    let what = || {
                        format!(
                            "{nan:?}, {:?}, {:?}",
                            self.point.outputs[k].name,
                            floats(&sample.ends.concat())
                        )
                    };
                    assert_eq!(self.point.ty(*output), Type::F32);
                    assert!(
                        lo <= tight[0] && tight[1] <= hi,
                        "{}: {tight:?} is not within {:?}",
                        what(),
                        [lo, hi]
                    );
                    assert!(
                        tight.iter().all(|end| known.contains(end.to_bits())),
                        "{}: {tight:?} is not in {known}",
                        what()
                    );
                    seen.ends += 2;
                    seen.tighter += usize::from(lo < tight[0]) + usize::from(tight[1] < hi);
                }
                for member in &sample.members {
                    self.hold(
                        &related,
                        &tight,
                        member,
                        &format!("{nan:?}, {:?}", floats(&sample.ends.concat())),
                    );
                }
            }
        }
        seen
    }

    fn hold(&self, related: &Lifted, ends: &[[f32; 2]], member: &[u32], what: &str) {
        let results = interpreter::watch(&related.point, &[], member, 1 << 16, |value, word| {
            let known = &related.bounds[value.index()];
            assert!(
                known.contains(word),
                "{what}: {:?} of {value:?} is not in {known}",
                f32::from_bits(word)
            );
        });
        for (&[lo, hi], x) in ends.iter().zip(floats(&results.expect("loops end"))) {
            assert!(
                lo <= x && x <= hi || x.is_nan(),
                "{what}: {x:?} of {:?} is not within {:?}",
                floats(member),
                [lo, hi]
            );
        }
    }
}

fn floats(words: &[u32]) -> Vec<f32> {
    words.iter().map(|&word| f32::from_bits(word)).collect()
}

fn run(lifted: &Lifted, ends: &[[u32; 2]]) -> Vec<[f32; 2]> {
    let layout = lifted.layout();
    let words = std::iter::zip(layout, ends)
        .flat_map(|((_, interval), ends)| ends[..if interval { 2 } else { 1 }].to_vec());
    let words: Vec<_> = words.collect();
    let found = interpreter::run(&lifted.function, &[], &words, 1 << 16).expect("loops end");
    found.chunks(2).map(|ends| [f32::from_bits(ends[0]), f32::from_bits(ends[1])]).collect()
}
