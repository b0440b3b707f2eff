//! Records the interval endpoints that naive code computes for one box. Tests use this to find out
//! whether an interval is [empty](crate::relations::emptiness).

use super::lower::{self, Analyses};
use super::{Lifted, Options, Tracking};
use crate::analysis::nan_tests::NanTests;
use crate::interpreter;
use crate::ir::{Block, Def, Function, Stmt, Table, Type, Value};

/// Naive code before dead code elimination, with the endpoints of the point shader's floats.
#[derive(Clone, Debug)]
pub struct Trace {
    function: Function,
    /// For each value, the intervals for which it is the last endpoint to be computed.
    intervals: Vec<Vec<Interval>>,
}

/// Endpoints of a float of the point shader.
#[derive(Clone, Debug)]
struct Interval {
    endpoints: [Value; 2],
    /// Conditions under which members reach the enclosing arms: booleans, and their required
    /// values. Cheap arms run, and refine the values that their condition compares, even if no
    /// member takes them.
    reached: Vec<(Value, bool)>,
}

impl Trace {
    /// Prepares the trace of a shader that was lifted with these options.
    ///
    /// # Panics
    ///
    /// Unless the code is naive: facts in optimized code depend on tests, which are not recorded.
    pub fn new(lifted: &Lifted, options: &Options) -> Trace {
        assert_eq!(options.tracking, Tracking::NONE, "only naive code can be traced");
        let Lifted { sunk: point, is_interval, bounds, clips, related, .. } = lifted;
        let (tests, reveals_nan) =
            (vec![NanTests::default(); point.len()], vec![false; point.len()]);
        let analyses = Analyses {
            is_interval,
            untested: bounds,
            bounds,
            clips,
            tests: &tests,
            reveals_nan: &reveals_nan,
            related,
        };
        let lowered = lower::run(point, &analyses, options);
        let mut walk = ReachWalk {
            is_interval,
            endpoints: &lowered.endpoints,
            enclosing: vec![],
            reached: vec![vec![]; point.len()],
        };
        walk.visit(&point.body);
        let reached = walk.reached;
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

    /// Returns whether the endpoints of some value that members may reach cross, for a box given by
    /// the words of the bounding shader's inputs. Stops after `max_iterations` loop iterations.
    pub fn has_empty(&self, tables: &[Table<'_>], inputs: &[u32], max_iterations: u64) -> bool {
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
        // If a loop does not terminate because of an empty interval, the interval has been found by
        // the time that the interpreter stops.
        let _ = interpreter::watch(&self.function, tables, inputs, max_iterations, watch);
        found
    }
}

/// Finds the conditions under which members reach each value.
struct ReachWalk<'a> {
    is_interval: &'a [bool],
    endpoints: &'a [Option<[Value; 2]>],
    /// Conditions of the arms around the current block.
    enclosing: Vec<(Value, bool)>,
    /// Conditions of each value.
    reached: Vec<Vec<(Value, bool)>>,
}

impl ReachWalk<'_> {
    fn visit(&mut self, block: &Block) {
        for stmt in &block.stmts {
            match stmt {
                Stmt::Op(value) => self.reached[value.index()].clone_from(&self.enclosing),
                Stmt::If(node) => {
                    let undecided = self.endpoints[node.cond.index()]
                        .filter(|_| self.is_interval[node.cond.index()]);
                    // Members reach an arm if the condition may have its value.
                    let reached = |truth, [must, may]: [Value; 2]| if truth { may } else { must };
                    for (arm, truth) in [(&node.then, true), (&node.otherwise, false)] {
                        let outer = self.enclosing.len();
                        self.enclosing.extend(undecided.map(|cond| (reached(truth, cond), truth)));
                        self.visit(arm);
                        self.enclosing.truncate(outer);
                    }
                    node.results.iter().for_each(|result| {
                        self.reached[result.index()].clone_from(&self.enclosing)
                    });
                }
                Stmt::Loop(node) => {
                    let defined = node.params.iter().chain(&node.results);
                    defined
                        .for_each(|value| self.reached[value.index()].clone_from(&self.enclosing));
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
    fn boxes_without_unit_vectors_yield_empty_intervals() {
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
            sorted: None,
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
    fn crossing_endpoints_in_unreached_arms_are_ignored() {
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
            sorted: None,
        };
        let options =
            Options { tracking: Tracking::NONE, relations: Relations::all(), ..Options::default() };
        let point = parse(&text).expect("the text is well formed");
        let lifted = lift::run(&point, &[(); 2].map(input), &[0], &options);
        let trace = Trace::new(&lifted, &options);
        let has_empty =
            |endpoints: [f32; 4]| trace.has_empty(&[], &endpoints.map(f32::to_bits), 10);
        // No member takes the first arm; no member takes the second one.
        assert!(!has_empty([0.7, 0.9, 0.1, 0.2]) && !has_empty([0.1, 0.2, 0.7, 0.9]));
        // Members take both arms.
        assert!(!has_empty([0.1, 0.9, 0.2, 0.8]));
    }
}
