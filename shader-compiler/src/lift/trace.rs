//! The interval endpoints that naive code computes for one box, for tests: whether an interval is
//! [empty](crate::relations::emptiness).

use super::lower::{self, Known};
use super::{Lifted, Options, Tracking};
use crate::analysis::nan_tests::NanTests;
use crate::interpreter;
use crate::ir::{Block, Def, Function, Stmt, Table, Type, Value};

/// Naive code before dead code elimination, with the endpoints of the point shader's floats.
#[derive(Clone, Debug)]
pub struct Trace {
    function: Function,
    /// Intervals by the endpoint that is computed last.
    intervals: Vec<Vec<Interval>>,
}

/// Endpoints of a float of the point shader.
#[derive(Clone, Debug)]
struct Interval {
    endpoints: [Value; 2],
    /// Conditions under which the enclosing arms are reached: booleans, and their values. Cheap
    /// arms run, and refine the values that their condition compares, even if no member takes them.
    reached: Vec<(Value, bool)>,
}

impl Trace {
    /// The trace of code that was lifted with these options.
    ///
    /// *Panics* unless case selection had no known facts: facts in other code depend on tests that
    /// are not kept.
    pub fn new(lifted: &Lifted, options: &Options) -> Trace {
        assert_eq!(options.tracking, Tracking::NONE, "the code is naive");
        let Lifted { point, is_interval, bounds, related, .. } = lifted;
        let (tests, reveals_nan) =
            (vec![NanTests::default(); point.len()], vec![false; point.len()]);
        let known = Known {
            is_interval,
            untested: bounds,
            bounds,
            tests: &tests,
            reveals_nan: &reveals_nan,
            related,
        };
        let lowered = lower::run(point, &known, options);
        let mut arms = Arms {
            is_interval,
            endpoints: &lowered.endpoints,
            around: vec![],
            of: vec![vec![]; point.len()],
        };
        arms.visit(&point.body);
        let reached = arms.of;
        let mut intervals = vec![vec![]; lowered.function.len()];
        for (value, (endpoints, reached)) in lowered.endpoints.into_iter().zip(reached).enumerate()
        {
            let Some([lo, hi]) = endpoints.filter(|_| point.ty(Value(value as u32)) == Type::F32)
            else {
                continue;
            };
            let is_computed = |value: &Value| {
                !matches!(lowered.function.def(*value), Def::Input(_) | Def::Const(_))
            };
            if let Some(last) = [lo, hi].into_iter().filter(is_computed).max() {
                intervals[last.index()].push(Interval { endpoints: [lo, hi], reached });
            }
        }
        Trace { function: lowered.function, intervals }
    }

    /// Whether the endpoints of some value cross where members may reach it, for a box given by the
    /// words of the bounding shader's inputs.
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
            let crosses = |Interval { endpoints: [lo, hi], reached }: &Interval| {
                f32::from_bits(words[lo.index()]) > f32::from_bits(words[hi.index()])
                    && reached.iter().all(|&(cond, truth)| (words[cond.index()] != 0) == truth)
            };
            found |= self.intervals[value.index()].iter().any(crosses);
        };
        // A loop that never terminates for an empty interval has been seen to be empty by then.
        let _ = interpreter::watch(&self.function, tables, inputs, rounds, watch);
        found
    }
}

/// Finds the conditions under which values are reached.
struct Arms<'a> {
    is_interval: &'a [bool],
    endpoints: &'a [Option<[Value; 2]>],
    /// Conditions of the arms around the current block.
    around: Vec<(Value, bool)>,
    /// Conditions of each value.
    of: Vec<Vec<(Value, bool)>>,
}

impl Arms<'_> {
    fn visit(&mut self, block: &Block) {
        for stmt in &block.stmts {
            match stmt {
                Stmt::Op(value) => self.of[value.index()].clone_from(&self.around),
                Stmt::If(node) => {
                    let undecided = self.endpoints[node.cond.index()]
                        .filter(|_| self.is_interval[node.cond.index()]);
                    // An arm is reached if the condition may be true, or may be false.
                    let reached = |truth, [must, may]: [Value; 2]| if truth { may } else { must };
                    for (arm, truth) in [(&node.then, true), (&node.otherwise, false)] {
                        let known = self.around.len();
                        self.around.extend(undecided.map(|cond| (reached(truth, cond), truth)));
                        self.visit(arm);
                        self.around.truncate(known);
                    }
                    node.results
                        .iter()
                        .for_each(|result| self.of[result.index()].clone_from(&self.around));
                }
                Stmt::Loop(node) => {
                    let defined = node.params.iter().chain(&node.results);
                    defined.for_each(|value| self.of[value.index()].clone_from(&self.around));
                    self.visit(&node.head);
                    self.visit(&node.body);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interval::{Bounds, Floats};
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
        let options =
            |relations| Options { tracking: Tracking::NONE, relations, ..Options::default() };
        let has_empty = |relations, endpoints: [f32; 6]| {
            let point = parse(text).expect("the text is well formed");
            let lifted = lift::run(&point, &[0, 1, 2].map(input), &[0], &options(relations));
            Trace::new(&lifted, &options(relations)).has_empty(
                &[],
                &endpoints.map(f32::to_bits),
                10,
            )
        };
        let (inside, outside) = ([0.5, 0.7, 0.5, 0.7, 0.4, 0.6], [0.1, 0.2, 0.1, 0.2, 0.1, 0.2]);
        assert!(has_empty(Relations::all(), outside));
        assert!(!has_empty(Relations::all(), inside) && !has_empty(Relations::NONE, outside));
    }

    #[test]
    fn intervals_of_arms_count_only_where_they_are_reached() {
        // Both arms are too long for a select, and short enough to run even if no member takes
        // them. In the first one, x is clamped to at most y; in the second one, to at least y.
        let steps = |first: usize| -> String {
            let step = |k: usize| format!("%{} = mul %{}, 1.25 ", first + k + 1, first + k);
            (0..10).map(step).collect()
        };
        let text = format!(
            "fn f(x: f32, y: f32) -> (r: f32) {{
                %0 = lt x, y
                %1 = if %0 {{ %10 = add x, 1.0 {} yield %20 }} else {{ %30 = mul x, 3.0 {} yield %40 }}
                return %1
            }}",
            steps(10),
            steps(30)
        );
        let input = |()| Input {
            interval: true,
            bounds: Bounds::Float(Floats::between(-9.0, 9.0)),
            axis: None,
        };
        let options =
            Options { tracking: Tracking::NONE, relations: Relations::all(), ..Options::default() };
        let point = parse(&text).expect("the text is well formed");
        let lifted = lift::run(&point, &[(); 2].map(input), &[0], &options);
        let trace = Trace::new(&lifted, &options);
        let has_empty =
            |endpoints: [f32; 4]| trace.has_empty(&[], &endpoints.map(f32::to_bits), 10);
        // No member takes the first arm, or the second one.
        assert!(!has_empty([0.7, 0.9, 0.1, 0.2]) && !has_empty([0.1, 0.2, 0.7, 0.9]));
        // Both are taken.
        assert!(!has_empty([0.1, 0.9, 0.2, 0.8]));
    }
}
