//! Static bounds analysis: the possible values of every value of a function (Clarberg et al. 2010
//! §4.3).
//!
//! The values form a graph, in which uses refer to values as [clipped](super::conditions) by the
//! conditions that are known there. Its strongly connected components (Tarjan 1972) are solved in
//! dependence order, each to completion before the next one (Campos et al. 2012). Most consist of
//! one value, which is evaluated once. In the others, bounds grow until parameters of loops are
//! stable: at first by plain iteration, then by widening to a set of numbers, then to infinity.
//! Iterations without widening recover precision (narrowing). Counters then limit the growth of
//! other parameters. Every value of a component is evaluated again only if an operand changed, and
//! its bounds change a limited number of times, so that time is linear in the size of the function.
//! Finally, loops that end after few iterations are followed one iteration after another.

mod components;
pub mod explain;
mod graph;
mod growth;
mod iterations;
mod widening;

use super::Constraint;
use super::conditions::Clips;
use super::transfer::{transfer, transfer_scalars};
use crate::interval::{Bounds, Nan};
use crate::ir::{Def, Function, Op, Type, Value};
use components::Components;
use graph::{Graph, NodeId, Source};
use growth::TripCounts;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use widening::JumpSet;

/// Facts beyond those that operations imply.
#[derive(Clone, Default)]
pub struct Facts<'a> {
    /// Constraints on each value.
    pub constraints: Option<Vec<Constraint>>,
    /// What conditions imply.
    pub clips: Option<&'a Clips>,
    /// Values that can be 0 are taken to be −0, too, if they can be −0 in these bounds: lowerings
    /// depend on that, and bounds must cover the effects of −0 as a divisor.
    pub negative_zeros: Option<&'a [Bounds]>,
    /// Intervals that are computed without NaN tests, like scalars. Their bounds still contain the
    /// endpoints of their lowerings, which may be wider than the results of the operation.
    pub untested: Option<&'a [bool]>,
    /// Effort for values that depend on themselves.
    pub effort: Effort,
}

/// Effort for values that depend on themselves, in loops. Bounds hold for any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// Number of times that the bounds of a loop parameter grow before they are widened.
    pub iterations: u32,
    /// Number of times that they are widened to the next number of a set before they are widened to
    /// infinity.
    pub jumps: u32,
    /// Number of times that the bounds of a value are narrowed.
    pub narrowings: u32,
    /// Number of times that the parameters of a loop are limited by the number of its iterations.
    pub growth_limits: u32,
    /// Number of evaluations of values for loops whose iterations are followed one by one.
    pub followed: u32,
}

impl Default for Effort {
    fn default() -> Effort {
        Effort { iterations: 3, jumps: 12, narrowings: 4, growth_limits: 2, followed: 16384 }
    }
}

/// Computes the static bounds of each value from the bounds `inputs` of the inputs. Values that no
/// statement defines are unbounded.
///
/// `is_interval` marks the values that are intervals: bounding code does not test scalars, in any
/// NaN mode.
pub fn run(
    function: &Function,
    is_interval: &[bool],
    inputs: &[Bounds],
    nan: Nan,
    facts: Facts<'_>,
) -> Vec<Bounds> {
    Ranges::solve(function, is_interval, inputs, nan, facts).of_values(function)
}

/// The static bounds of a function's values, and of values where a condition is known.
pub(crate) struct Ranges<'f> {
    graph: Graph<'f>,
    /// The bounds of each node.
    bounds: Vec<Bounds>,
}

impl<'f> Ranges<'f> {
    /// Computes them; see [`run`].
    pub(crate) fn solve(
        function: &'f Function,
        is_interval: &[bool],
        inputs: &[Bounds],
        nan: Nan,
        facts: Facts<'f>,
    ) -> Ranges<'f> {
        let graph = Graph::new(function, facts.clips);
        let bounds =
            graph.nodes.iter().map(|node| Bounds::empty(function.ty(node.value))).collect();
        let mut solver = Solver {
            function,
            graph: &graph,
            is_interval,
            inputs,
            nan,
            facts,
            bounds,
            trip_counts: TripCounts::default(),
            limits: FxHashMap::default(),
        };
        for component in Components::of(&graph).iter() {
            solver.component(component);
        }
        solver.follow_iterations();
        let bounds = solver.bounds;
        Ranges { graph, bounds }
    }

    /// The bounds of each value where it is defined.
    pub(crate) fn of_values(&self, function: &Function) -> Vec<Bounds> {
        let mut bounds: Vec<_> = function.values.iter().map(|data| Bounds::all(data.ty)).collect();
        for (node, known) in std::iter::zip(&self.graph.nodes, &self.bounds) {
            // Empty bounds mean unreachable code, which must not rely on them.
            if !matches!(node.source, Source::Clip(_)) && !known.is_empty() {
                bounds[node.value.index()] = *known;
            }
        }
        bounds
    }

    /// The bounds of the operand at index `operand` of an operation, with the conditions that are
    /// known there. `None` if the code is unreachable.
    pub(crate) fn of_operand(&self, value: Value, operand: usize) -> Option<Bounds> {
        let node = self.graph.definition(value)?;
        let bounds = self.bounds[self.graph.operands(node)[operand] as usize];
        (!bounds.is_empty()).then_some(bounds)
    }
}

/// The state of an analysis.
struct Solver<'a, 'f> {
    function: &'f Function,
    graph: &'a Graph<'f>,
    is_interval: &'a [bool],
    inputs: &'a [Bounds],
    nan: Nan,
    facts: Facts<'a>,
    /// The bounds of each node.
    bounds: Vec<Bounds>,
    trip_counts: TripCounts,
    /// Bounds of parameters of loops that follow from trip counts.
    limits: FxHashMap<NodeId, Bounds>,
}

impl Solver<'_, '_> {
    /// Solves a strongly connected component.
    fn component(&mut self, nodes: &[NodeId]) {
        if let [node] = *nodes
            && !matches!(self.graph.nodes[node as usize].source, Source::Param(_))
        {
            self.bounds[node as usize] = self.evaluate(node);
            return;
        }
        let users = self.users_within(nodes);
        self.grow(nodes, &users);
        self.narrow(nodes, &users);
        for _ in 0..self.facts.effort.growth_limits {
            if !self.limit_growth(nodes) {
                break;
            }
            self.narrow(nodes, &users);
        }
    }

    /// For each node of a component, the nodes of the component that use it, by their position.
    fn users_within(&self, nodes: &[NodeId]) -> Vec<Vec<u32>> {
        let mut users = vec![vec![]; nodes.len()];
        for (at, &node) in nodes.iter().enumerate() {
            for operand in self.graph.operands(node) {
                if let Ok(used) = nodes.binary_search(operand) {
                    users[used].push(at as u32);
                }
            }
        }
        users
    }

    /// Grows bounds from empty ones until they hold.
    fn grow(&mut self, nodes: &[NodeId], users: &[Vec<u32>]) {
        let Effort { iterations, jumps, .. } = self.facts.effort;
        let mut changes = vec![0; nodes.len()];
        let mut jump_set = None;
        let limits = JumpSet::limits();
        let mut pending = Pending::all(nodes.len());
        while let Some(at) = pending.pop() {
            let node = nodes[at];
            let old = self.bounds[node as usize];
            let mut new = self.evaluate(node);
            if let Source::Param(_) = self.graph.nodes[node as usize].source {
                new = old.join(&new);
                if new != old {
                    changes[at] += 1;
                    if changes[at] > iterations + jumps {
                        new = limits.widened(&old, &new);
                    } else if changes[at] > iterations {
                        let jump_set = jump_set.get_or_insert_with(|| JumpSet::of(self, nodes));
                        new = jump_set.widened(&old, &new);
                    }
                    new = self.constrained(self.graph.nodes[node as usize].value, new);
                }
            }
            if new != old {
                self.bounds[node as usize] = new;
                users[at].iter().for_each(|&user| pending.push(user));
            }
        }
    }

    /// Narrows bounds that hold, by evaluating values again.
    fn narrow(&mut self, nodes: &[NodeId], users: &[Vec<u32>]) {
        let mut changes = vec![0; nodes.len()];
        let mut pending = Pending::all(nodes.len());
        while let Some(at) = pending.pop() {
            let new = self.evaluate(nodes[at]);
            let old = &mut self.bounds[nodes[at] as usize];
            if new != *old && changes[at] < self.facts.effort.narrowings {
                *old = new;
                changes[at] += 1;
                users[at].iter().for_each(|&user| pending.push(user));
            }
        }
    }

    /// Computes the bounds of a node from those of its operands.
    fn evaluate(&self, id: NodeId) -> Bounds {
        let operands = self.graph.operands(id);
        let node = &self.graph.nodes[id as usize];
        let of = |k: usize| self.bounds[operands[k] as usize];
        let assigned = |k: usize| {
            self.assigned(of(k), self.graph.nodes[operands[k] as usize].value, node.value)
        };
        let bounds = match node.source {
            Source::Given => match self.function.def(node.value) {
                Def::Input(index) => self.inputs[index as usize],
                Def::Const(bits) => {
                    return Bounds::constant(self.function.ty(node.value), bits);
                }
                _ => unreachable!("only inputs and constants are given"),
            },
            Source::Op(op) => {
                let nan = self.nan(node.value);
                let same = operands.len() > 1 && operands[0] == operands[1];
                match operands.len() {
                    1 => transfer(op, &[assigned(0)], same, nan),
                    2 => {
                        let args = [assigned(0), assigned(1)];
                        let bounds = transfer(op, &args, same, nan);
                        // Intervals have the endpoints of their lowerings.
                        match self.is_interval[node.value.index()] {
                            true => bounds,
                            false => transfer_scalars(op, &args, bounds),
                        }
                    }
                    _ => transfer(op, &[assigned(0), assigned(1), assigned(2)], same, nan),
                }
            }
            // Bounding code computes the result of an if like a select.
            Source::Merge => {
                let operands = [of(0), assigned(1), assigned(2)];
                transfer(Op::Select, &operands, false, self.nan(node.value))
            }
            Source::Param(_) => {
                let runs = of(2).bools().may_be_true;
                let all = if runs { assigned(0).join(&assigned(1)) } else { assigned(0) };
                self.limits.get(&id).map_or(all, |limit| all.meet(limit))
            }
            Source::Exit(_) => assigned(0),
            Source::Clip(clip) => return clip.refined(&of(0), &of(1)),
        };
        self.constrained(node.value, bounds)
    }

    /// Applies the facts about a value to the bounds that its operation implies.
    fn constrained(&self, value: Value, bounds: Bounds) -> Bounds {
        let mut bounds = match &self.facts.constraints {
            Some(constraints) => constraints[value.index()].apply(&bounds),
            None => bounds,
        };
        if let (Bounds::Float(floats), Some(Bounds::Float(fact))) =
            (&mut bounds, self.facts.negative_zeros.map(|bounds| &bounds[value.index()]))
        {
            floats.negative_zero |= fact.negative_zero && floats.pieces.contains(0.0);
        }
        bounds
    }

    /// Returns the NaN mode of the code that computes a value.
    fn nan(&self, value: Value) -> Nan {
        let is_untested = self.facts.untested.is_some_and(|untested| untested[value.index()]);
        if self.is_interval[value.index()] && !is_untested { self.nan } else { Nan::Ignore }
    }

    /// The bounds of `value` when it is assigned to `into`: a scalar NaN becomes 0 if `into` is an
    /// interval and NaN is suppressed.
    fn assigned(&self, bounds: Bounds, value: Value, into: Value) -> Bounds {
        match bounds {
            Bounds::Float(floats)
                if floats.nan
                    && self.nan == Nan::Suppress
                    && self.is_interval[into.index()]
                    && !self.is_interval[value.index()] =>
            {
                bounds.join(&Bounds::constant(Type::F32, 0))
            }
            _ => bounds,
        }
    }
}

/// Positions in a component that are still to be evaluated; the first one comes next. So inner
/// loops are stable before what follows them is evaluated.
struct Pending {
    queue: BinaryHeap<Reverse<u32>>,
    is_queued: Vec<bool>,
}

impl Pending {
    fn all(count: usize) -> Pending {
        Pending { queue: (0..count as u32).map(Reverse).collect(), is_queued: vec![true; count] }
    }

    fn push(&mut self, at: u32) {
        if !std::mem::replace(&mut self.is_queued[at as usize], true) {
            self.queue.push(Reverse(at));
        }
    }

    fn pop(&mut self) -> Option<usize> {
        let Reverse(at) = self.queue.pop()?;
        self.is_queued[at as usize] = false;
        Some(at as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interval::{Floats, Pieces};
    use crate::ir::text::parse;
    use crate::ir::{Block, Stmt, Table};
    use crate::lift::classify::classify;
    use crate::math::eval::ConstantEvaluator;
    use crate::random::Random;
    use crate::testing::random;

    /// Runs a function and checks that every value is within its bounds.
    struct Observer<'a> {
        function: &'a Function,
        words: Vec<u32>,
        tables: ConstantEvaluator<'a>,
        bounds: &'a [Bounds],
        label: &'a str,
    }

    impl Observer<'_> {
        fn set(&mut self, value: Value, word: u32) {
            self.words[value.index()] = word;
            let bounds = &self.bounds[value.index()];
            let args = self.function.operation(value).map_or(vec![], |(op, args)| {
                args.iter()
                    .map(|arg| (op, self.words[arg.index()], self.bounds[arg.index()]))
                    .collect()
            });
            assert!(
                bounds.contains(word),
                "{}: {value:?} is {word:#x} in {bounds:?}, of {args:x?}",
                self.label
            );
        }

        fn all(&self, values: &[Value]) -> Vec<u32> {
            values.iter().map(|value| self.words[value.index()]).collect()
        }

        fn set_all(&mut self, values: &[Value], words: &[u32]) {
            values.iter().zip(words).for_each(|(&value, &word)| self.set(value, word));
        }

        fn run(&mut self, block: &Block) {
            for stmt in &block.stmts {
                match stmt {
                    Stmt::Op(value) => {
                        let (op, args) = self.function.operation(*value).unwrap();
                        let words = self.all(args);
                        let word = op.eval_with(&mut self.tables, &words);
                        self.set(*value, word);
                    }
                    Stmt::If(node) => {
                        let arm = if self.words[node.cond.index()] != 0 {
                            &node.then
                        } else {
                            &node.otherwise
                        };
                        self.run(arm);
                        self.set_all(&node.results, &self.all(&arm.yields));
                    }
                    Stmt::Loop(node) => {
                        self.set_all(&node.params, &self.all(&node.init));
                        self.run(&node.head);
                        while self.words[node.cond.index()] != 0 {
                            self.run(&node.body);
                            self.set_all(&node.params, &self.all(&node.body.yields));
                            self.run(&node.head);
                        }
                        self.set_all(&node.results, &self.all(&node.head.yields));
                    }
                }
            }
        }
    }

    fn observe(
        function: &Function,
        tables: &[Table<'_>],
        inputs: &[u32],
        bounds: &[Bounds],
        label: &str,
    ) {
        let word = |data: &crate::ir::function::ValueData| match data.def {
            Def::Input(index) => inputs[index as usize],
            Def::Const(bits) => bits,
            _ => 0,
        };
        let words = function.values.iter().map(word).collect();
        Observer { function, words, tables: ConstantEvaluator { tables }, bounds, label }
            .run(&function.body);
    }

    /// Random bounds that contain some words.
    fn bounds_around(random: &mut Random, ty: Type, words: &[u32]) -> Bounds {
        let mut bounds =
            words.iter().map(|&word| Bounds::constant(ty, word)).reduce(|a, b| a.join(&b)).unwrap();
        if random.once_in(2) {
            return bounds;
        }
        // Close the gaps.
        match &mut bounds {
            Bounds::Float(floats) if !floats.pieces.is_empty() => {
                *floats = floats.join(&Floats::between(floats.low(), floats.high()));
            }
            Bounds::Int(ints) => {
                let [low, high] = ints.hull().unwrap();
                *ints = Pieces::one(low, high);
            }
            _ => {}
        }
        bounds
    }

    #[test]
    fn values_of_random_functions_are_within_their_bounds() {
        let tables = random::tables();
        for seed in 0..1500 {
            let function = random::function(seed, &random::Options::any(seed, false));
            let mut random = Random::new(seed);
            let rows = random::rows(&function.inputs, 1 + random.below(6), seed);
            let inputs: Vec<_> = function
                .inputs
                .iter()
                .enumerate()
                .map(|(k, port)| {
                    let words: Vec<_> = rows.iter().map(|row| row[k]).collect();
                    bounds_around(&mut random, port.ty, &words)
                })
                .collect();
            let bounds = run(
                &function,
                &vec![true; function.len()],
                &inputs,
                Nan::Suppress,
                Facts::default(),
            );
            for row in rows {
                observe(&function, &tables, &row, &bounds, &format!("seed {seed}"));
            }
        }
    }

    #[test]
    fn loop_conditions_bound_counters() {
        let text = "fn f(x: f32) -> (r: i32, s: f32) {
            %0, %1 = loop (%2: i32 = 0, %3: f32 = 1.0) {
                %4 = slt %2, 64
                %5 = lt %3, x
                %6 = band %4, %5
                while %6 else %2, %3
                %7 = iadd %2, 1
                %8 = mul %3, 2.0
                next %7, %8
            }
            return %0, %1
        }";
        let function = parse(text).unwrap();
        let is_interval = classify(&function, &[true]);
        let clips = Clips::of_scalars(&function, &is_interval);
        let facts = Facts { clips: Some(&clips), ..Facts::default() };
        let bounds = run(&function, &is_interval, &[Bounds::all(Type::F32)], Nan::Suppress, facts);
        let of = |k: usize| bounds[function.body.yields[k].index()];
        assert_eq!(of(0), Bounds::Int(Pieces::one(0, 64)));
        // After 64 iterations, 1 has become 2⁶⁴, apart from rounding errors.
        let [low, high] = [of(1).floats().low(), of(1).floats().high()];
        assert!(low == 1.0 && (2f32.powi(64)..1.0001 * 2f32.powi(64)).contains(&high), "{high}");
        assert!(!of(1).floats().nan);
    }

    /// The running example of Campos et al. 2012: `k = 0; while (k < 100) { i = 0; j = k; while (i < j)
    /// { i++; j--; } k++; }`. The ranges are those of its Figure 4(b): i is at most 99, and would be
    /// at most 50 for an analysis that relates variables.
    #[test]
    fn ranges_of_the_running_example_of_campos_et_al_match() {
        let text = "fn f() -> (k: i32) {
            %0 = loop (%1: i32 = 0) {
                %2 = slt %1, 100
                while %2 else %1
                %3, %4 = loop (%5: i32 = 0, %6: i32 = %1) {
                    %7 = slt %5, %6
                    while %7 else %5, %6
                    %8 = iadd %5, 1
                    %9 = iadd %6, -1
                    next %8, %9
                }
                %10 = iadd %1, 1
                next %10
            }
            return %0
        }";
        let function = parse(text).unwrap();
        let is_interval = vec![false; function.len()];
        let clips = Clips::of_scalars(&function, &is_interval);
        let facts = Facts { clips: Some(&clips), ..Facts::default() };
        let bounds = run(&function, &is_interval, &[], Nan::Suppress, facts);
        let Stmt::Loop(outer) = &function.body.stmts[0] else { panic!("it is a loop") };
        let Stmt::Loop(inner) = &outer.body.stmts[0] else { panic!("it is a loop") };
        let of = |value: Value| bounds[value.index()].ints().hull().unwrap();
        assert_eq!(of(outer.params[0]), [0, 100]);
        assert_eq!([of(inner.params[0]), of(inner.params[1])], [[0, 99], [0, 99]]);
        assert_eq!([of(inner.body.yields[0]), of(inner.body.yields[1])], [[1, 99], [0, 98]]);
    }

    #[test]
    fn bounds_of_the_example_of_clarberg_et_al_match() {
        let text = "fn f(a: f32, b: f32) -> (r: f32) {
            %c = abs a
            %t = mul %c, b
            %r = sqrt %t
            return %r
        }";
        let function = parse(text).unwrap();
        let finite = Bounds::Float(Floats::finite());
        let bounds = run(
            &function,
            &vec![true; function.len()],
            &[finite; 2],
            Nan::Suppress,
            Facts::default(),
        );
        let floats: Vec<_> = function
            .body
            .stmts
            .iter()
            .map(|stmt| {
                let Stmt::Op(value) = stmt else { panic!("there are operations only") };
                *bounds[value.index()].floats()
            })
            .collect();
        let endpoints: Vec<_> = floats.iter().map(|floats| [floats.low(), floats.high()]).collect();
        let (min, max) = (f32::NEG_INFINITY, f32::INFINITY);
        assert_eq!(endpoints, [[0.0, f32::MAX], [min, max], [0.0, max]]);
        let nan: Vec<_> = floats.iter().map(|floats| floats.nan).collect();
        assert_eq!(nan, [false, false, true]);
    }
}
