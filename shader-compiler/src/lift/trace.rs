//! What intervals come to for a box, for tests: whether one of them is [empty](crate::relations::emptiness).

use super::lower::{self, Known};
use super::{Lifted, Options, Tracking};
use crate::analysis::reported::Tests;
use crate::interpreter;
use crate::ir::{Def, Function, Table, Type, Value};

/// Naive code, before what nobody needs is removed, and the endpoints in it of the point shader's floats.
#[derive(Clone, Debug)]
pub struct Trace {
    function: Function,
    /// By the one that is computed last.
    endpoints: Vec<Vec<[Value; 2]>>,
}

impl Trace {
    /// The trace of code that was lifted with these options.
    ///
    /// *Panics* unless selection of cases was told nothing: what other code knows depends on tests that are not kept.
    pub fn new(lifted: &Lifted, options: &Options) -> Trace {
        assert_eq!(options.tracking, Tracking::NONE, "the code is naive");
        let Lifted { point, kinds, bounds, related, sides, .. } = lifted;
        let (tests, telling) = (vec![Tests::default(); point.len()], vec![false; point.len()]);
        let known = Known { kinds, untested: bounds, bounds, tests: &tests, telling: &telling, related };
        let lowered = lower::run(point, &known, sides, options);
        let mut endpoints = vec![vec![]; lowered.function.len()];
        for (value, ends) in lowered.endpoints.into_iter().enumerate() {
            let Some([lo, hi]) = ends.filter(|_| point.ty(Value(value as u32)) == Type::F32) else { continue };
            let is_computed = |value: &Value| !matches!(lowered.function.def(*value), Def::Input(_) | Def::Const(_));
            if let Some(last) = [lo, hi].into_iter().filter(is_computed).max() {
                endpoints[last.index()].push([lo, hi]);
            }
        }
        Trace { function: lowered.function, endpoints }
    }

    /// Whether the endpoints of some value cross, for a box given by the words of the bounding shader's inputs.
    pub fn has_empty(&self, tables: &[Table<'_>], inputs: &[u32], rounds: u64) -> bool {
        let word = |value: usize| match self.function.values[value].def {
            Def::Input(input) => inputs[input as usize],
            Def::Const(bits) => bits,
            _ => 0,
        };
        let mut words: Vec<u32> = (0..self.function.len()).map(word).collect();
        let mut found = false;
        let watch = |value: Value, word: u32| {
            words[value.index()] = word;
            let crosses = |&[lo, hi]: &[Value; 2]| f32::from_bits(words[lo.index()]) > f32::from_bits(words[hi.index()]);
            found |= self.endpoints[value.index()].iter().any(crosses);
        };
        // What never ends for an empty interval has been seen to be empty by then.
        let _ = interpreter::watch(&self.function, tables, inputs, rounds, watch);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::{Bounds, Floats};
    use crate::ir::text::parse;
    use crate::lift::{self, Input};
    use crate::relations::{Axis, Relations};

    #[test]
    fn boxes_without_unit_vectors_have_empty_intervals() {
        let text = "fn f(x: f32, y: f32, z: f32) -> (r: f32) {
            %0 = mul x, x
            %1 = mul y, y
            %2 = mul z, z
            %3 = add %0, %1
            %4 = add %3, %2
            return %4
        }";
        let input = |component: usize| Input {
            interval: true,
            bounds: Bounds::Float(Floats::between(-1.0, 1.0)),
            axis: Some(Axis { vector: 0, component, frame: false, above: false }),
        };
        let options = |relations| Options { tracking: Tracking::NONE, relations, ..Options::default() };
        let has_empty = |relations, ends: [f32; 6]| {
            let point = parse(text).expect("the text is well formed");
            let lifted = lift::run(&point, &[0, 1, 2].map(input), &[0], &options(relations));
            Trace::new(&lifted, &options(relations)).has_empty(&[], &ends.map(f32::to_bits), 10)
        };
        let (inside, outside) = ([0.5, 0.7, 0.5, 0.7, 0.4, 0.6], [0.1, 0.2, 0.1, 0.2, 0.1, 0.2]);
        assert!(has_empty(Relations::all(), outside));
        assert!(!has_empty(Relations::all(), inside) && !has_empty(Relations::NONE, outside));
    }
}
