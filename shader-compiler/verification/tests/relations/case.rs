//! Shared code of the relation tests: checks bounds on a function with and without relations.

use lightbound_shader::interpreter;
use lightbound_shader::interval::Bounds;
use lightbound_shader::interval::Nan;
use lightbound_shader::ir::text::parse;
use lightbound_shader::ir::{Function, Type};
use lightbound_shader::lift::{self, Input, Lifted, Options};
use lightbound_shader::random::Random;
use lightbound_shader::relations::{Relation, Relations};
use lightbound_verification::containment::sample;

/// Counts of endpoints of related bounds.
#[derive(Clone, Copy, Debug, Default)]
pub struct EndpointCounts {
    /// Number of endpoints compared with optimized ones.
    pub endpoints: usize,
    /// Number of endpoints that are tighter than the optimized ones.
    pub tighter: usize,
}

/// A function with descriptions of its inputs: bounds, and whether they are intervals.
pub struct Case {
    point: Function,
    inputs: Vec<Input>,
}

impl Case {
    /// Parses a function. Each input is an interval or not, and has bounds. Panics if the text is
    /// not a function with that number of inputs.
    pub fn new(text: &str, inputs: &[(bool, Bounds)]) -> Case {
        let point = parse(text).expect("the text is well formed");
        assert_eq!(point.inputs.len(), inputs.len());
        let inputs = inputs
            .iter()
            .map(|&(interval, bounds)| Input { interval, bounds, axis: None, sorted: None })
            .collect();
        Case { point, inputs }
    }

    /// Returns the bounding shader with these relations, in this NaN mode.
    pub fn lifted(&self, relations: Relations, nan: Nan) -> Lifted {
        let outputs: Vec<_> = (0..self.point.outputs.len()).collect();
        lift::run(
            &self.point,
            &self.inputs,
            &outputs,
            &Options { relations, nan, ..Options::default() },
        )
    }

    /// Returns the endpoints of outputs for a box.
    pub fn endpoints(&self, lifted: &Lifted, endpoints: &[[f32; 2]]) -> Vec<[f32; 2]> {
        run(
            lifted,
            &endpoints.iter().map(|endpoints| endpoints.map(f32::to_bits)).collect::<Vec<_>>(),
        )
    }

    /// Checks on random boxes that bounds with a relation contain the results, that they lie within
    /// optimized bounds, and that values and endpoints satisfy the static bounds. Unless NaN is
    /// suppressed, skips boxes for which optimized NaN-propagating code reports a NaN.
    pub fn check(&self, relation: Relation, boxes: usize) -> EndpointCounts {
        let mut counts = EndpointCounts::default();
        let propagating = self.lifted(Relations::NONE, Nan::Propagate);
        for (seed, nan) in [Nan::Propagate, Nan::Suppress, Nan::Ignore].into_iter().enumerate() {
            let (plain, related) = (
                self.lifted(Relations::NONE, nan),
                self.lifted(Relations::NONE.with(relation), nan),
            );
            let random = &mut Random::new(seed as u64);
            for _ in 0..boxes {
                let sample = sample(random, &self.point.inputs, &self.inputs, 12);
                let [plain, tight] =
                    [&plain, &related].map(|lifted| run(lifted, &sample.endpoints));
                let nan_seen =
                    run(&propagating, &sample.endpoints).concat().iter().any(|end| end.is_nan());
                if nan_seen && nan != Nan::Suppress {
                    continue;
                }
                for (k, output) in self.point.body.yields.iter().enumerate() {
                    let ([lo, hi], tight) = (plain[k], tight[k]);
                    let static_bounds = &related.bounds[related.point.body.yields[k].index()];
                    let context = || {
                        format!(
                            "{nan:?}, {:?}, {:?}",
                            self.point.outputs[k].name,
                            floats(&sample.endpoints.concat())
                        )
                    };
                    assert_eq!(self.point.ty(*output), Type::F32);
                    assert!(
                        lo <= tight[0] && tight[1] <= hi,
                        "{}: {tight:?} is not within {:?}",
                        context(),
                        [lo, hi]
                    );
                    assert!(
                        tight.iter().all(|end| static_bounds.contains(end.to_bits())),
                        "{}: {tight:?} is not in {static_bounds}",
                        context()
                    );
                    counts.endpoints += 2;
                    counts.tighter += usize::from(lo < tight[0]) + usize::from(tight[1] < hi);
                }
                for member in &sample.members {
                    self.check_member(
                        &related,
                        &tight,
                        member,
                        &format!("{nan:?}, {:?}", floats(&sample.endpoints.concat())),
                    );
                }
            }
        }
        counts
    }

    /// Checks that the bounds and the static bounds hold for a member.
    fn check_member(
        &self,
        related: &Lifted,
        endpoints: &[[f32; 2]],
        member: &[u32],
        context: &str,
    ) {
        let results = interpreter::watch(&related.point, &[], member, 1 << 16, |value, word| {
            let static_bounds = &related.bounds[value.index()];
            assert!(
                static_bounds.contains(word),
                "{context}: {:?} of {value:?} is not in {static_bounds}",
                f32::from_bits(word)
            );
        });
        for (&[lo, hi], x) in endpoints.iter().zip(floats(&results.expect("the loops terminate"))) {
            assert!(
                lo <= x && x <= hi || x.is_nan(),
                "{context}: {x:?} for member {:?} is not within {:?}",
                floats(member),
                [lo, hi]
            );
        }
    }
}

fn floats(words: &[u32]) -> Vec<f32> {
    words.iter().map(|&word| f32::from_bits(word)).collect()
}

/// Runs a bounding shader on a box.
fn run(lifted: &Lifted, endpoints: &[[u32; 2]]) -> Vec<[f32; 2]> {
    let layout = lifted.layout();
    let words = std::iter::zip(layout, endpoints)
        .flat_map(|((_, interval), endpoints)| endpoints[..if interval { 2 } else { 1 }].to_vec());
    let words: Vec<_> = words.collect();
    let results =
        interpreter::run(&lifted.function, &[], &words, 1 << 16).expect("the loops terminate");
    results
        .chunks(2)
        .map(|endpoints| [f32::from_bits(endpoints[0]), f32::from_bits(endpoints[1])])
        .collect()
}
