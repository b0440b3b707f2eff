//! Static bounds analysis: the possible values of every value of a function (Clarberg et al. 2010
//! §4.3).
//!
//! In statement order, every value comes after its operands, except for parameters of loops. So
//! outside of loops, one pass suffices. The values of a loop, with those of nested loops, are
//! sorted into strongly connected components of their dependence graph (Tarjan 1972). These are
//! solved in order, each to completion before the next one (Campos et al. 2013): iterations until
//! parameters are stable, where after a few iterations endpoints jump to the next threshold
//! (widening), then iterations that recover precision (narrowing).
//!
//! Where a condition holds, it implies facts about members. But bounding code runs an arm or a body
//! for entire intervals, and some members do not reach it. So the condition of a loop refines only
//! counters: values that depend on no input and therefore are never intervals.

mod components;

use super::Constraint;
use super::transfer::transfer;
use crate::interval::bounds::Number;
use crate::interval::{Bools, Bounds, Floats, Nan, Pieces};
use crate::ir::function::ValueData;
use crate::ir::{Block, Def, Function, If, Loop, Op, Stmt, Type, Value};

/// Iterations over a component before endpoints are widened.
const ROUNDS_BEFORE_WIDENING: usize = 3;

/// Narrowing iterations over a component.
const NARROWING_ROUNDS: usize = 2;

/// Computes the static bounds of each value from the bounds `inputs` of the inputs. Values that no
/// statement defines are unbounded.
///
/// `is_interval` marks the values that are intervals: bounding code does not test scalars, in any
/// NaN mode. `constraints` are further facts about each value.
pub fn run(
    function: &Function,
    is_interval: &[bool],
    inputs: &[Bounds],
    nan: Nan,
    constraints: Option<Vec<Constraint>>,
) -> Vec<Bounds> {
    run_with(function, is_interval, inputs, nan, constraints, None)
}

/// The same, but a value that can be 0 is taken to be −0, too, if it can be −0 in `facts`:
/// lowerings depend on these facts, and the bounds must cover the effects of −0 as a divisor.
pub fn run_with(
    function: &Function,
    is_interval: &[bool],
    inputs: &[Bounds],
    nan: Nan,
    constraints: Option<Vec<Constraint>>,
    facts: Option<&[Bounds]>,
) -> Vec<Bounds> {
    let initial = |(value, data): (usize, &ValueData)| match data.def {
        Def::Input(index) => {
            let input = inputs[index as usize];
            constraints.as_ref().map_or(input, |constraints| constraints[value].apply(&input))
        }
        Def::Const(bits) => Bounds::constant(data.ty, bits),
        _ => Bounds::all(data.ty),
    };
    let bounds: Vec<_> = function.values.iter().enumerate().map(initial).collect();
    let mut solver = Solver { function, is_interval, nan, bounds, constraints, facts };
    solver.block(&function.body);
    for (bounds, data) in solver.bounds.iter_mut().zip(&function.values) {
        if bounds.is_empty() {
            // Empty bounds mean unreachable code, which must not rely on them.
            *bounds = Bounds::all(data.ty);
        }
    }
    solver.bounds
}

/// The state of an analysis.
struct Solver<'f> {
    function: &'f Function,
    is_interval: &'f [bool],
    nan: Nan,
    bounds: Vec<Bounds>,
    /// Facts about values beyond those that their operations imply, if any.
    constraints: Option<Vec<Constraint>>,
    /// Bounds that determine which values can be −0, if known.
    facts: Option<&'f [Bounds]>,
}

/// How a value of a loop is defined.
#[derive(Clone, Copy)]
enum Source<'f> {
    Op(Op, &'f [Value]),
    Merge(&'f If, usize),
    Param(&'f Loop, usize),
    Exit(&'f Loop, usize),
}

/// A value of a loop.
#[derive(Clone, Copy)]
struct Node<'f> {
    value: Value,
    source: Source<'f>,
    /// The innermost enclosing loop body: an index into [`Region::bodies`].
    body: Option<usize>,
}

/// A loop with everything nested in it.
#[derive(Default)]
struct Region<'f> {
    nodes: Vec<Node<'f>>,
    bodies: Vec<Body>,
}

/// The body of a loop: the facts that its condition implies, and the enclosing body.
struct Body {
    tests: Vec<CounterTest>,
    outer: Option<usize>,
}

/// A fact about a counter in a body: it is below or above another value.
#[derive(Clone, Copy)]
struct CounterTest {
    counter: Value,
    other: Value,
    is_below: bool,
    signed: bool,
}

impl<'f> Solver<'f> {
    /// Computes the bounds of all values that a block defines.
    fn block(&mut self, block: &'f Block) {
        for stmt in &block.stmts {
            match stmt {
                Stmt::Op(value) => {
                    let (op, args) =
                        self.function.operation(*value).expect("statements define operations");
                    let bounds =
                        self.operation(*value, op, args, |solver, arg| solver.bounds[arg.index()]);
                    self.set(*value, bounds);
                }
                Stmt::If(node) => {
                    self.block(&node.then);
                    self.block(&node.otherwise);
                    for (k, &result) in node.results.iter().enumerate() {
                        let bounds = self.merge(node, k);
                        self.set(result, bounds);
                    }
                }
                Stmt::Loop(node) => self.outermost_loop(node),
            }
        }
    }

    fn set(&mut self, value: Value, bounds: Bounds) {
        let mut bounds = match &self.constraints {
            Some(constraints) => constraints[value.index()].apply(&bounds),
            None => bounds,
        };
        if let (Bounds::Float(floats), Some(Bounds::Float(fact))) =
            (&mut bounds, self.facts.map(|facts| &facts[value.index()]))
        {
            floats.negative_zero |= fact.negative_zero && floats.pieces.contains(0.0);
        }
        self.bounds[value.index()] = bounds;
    }

    /// Returns the NaN mode of the code that computes a value.
    fn nan(&self, value: Value) -> Nan {
        if self.is_interval[value.index()] { self.nan } else { Nan::Ignore }
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

    fn operation(
        &self,
        value: Value,
        op: Op,
        args: &[Value],
        of: impl Fn(&Self, Value) -> Bounds,
    ) -> Bounds {
        let nan = self.nan(value);
        let of = |solver: &Self, arg: Value| solver.assigned(of(solver, arg), arg, value);
        let same = args.len() > 1 && args[0] == args[1];
        match *args {
            [a] => transfer(op, &[of(self, a)], same, nan),
            [a, b] => transfer(op, &[of(self, a), of(self, b)], same, nan),
            [a, b, c] => transfer(op, &[of(self, a), of(self, b), of(self, c)], same, nan),
            _ => unreachable!("operations have one to three arguments"),
        }
    }

    fn bools(&self, value: Value) -> Bools {
        self.bounds[value.index()].bools()
    }

    /// The bounds of a result of an if, which bounding code computes like a select.
    fn merge(&self, node: &If, k: usize) -> Bounds {
        let args = [node.cond, node.then.yields[k], node.otherwise.yields[k]];
        let result = node.results[k];
        transfer(
            Op::Select,
            &args.map(|value| self.assigned(self.bounds[value.index()], value, result)),
            false,
            self.nan(result),
        )
    }

    fn outermost_loop(&mut self, node: &'f Loop) {
        let mut region = Region::default();
        region.add_loop(self.function, node, None);
        let independent = self.input_independent(&region);
        for body in &mut region.bodies {
            body.tests.retain(|test| independent[test.counter.index()]);
        }
        for node in &region.nodes {
            self.bounds[node.value.index()] = Bounds::empty(self.function.ty(node.value));
        }
        for component in components::in_dependence_order(self.function.len(), &region) {
            self.component(&region, &component);
        }
    }

    /// Returns, for each value, whether it depends on no input.
    fn input_independent(&self, region: &Region) -> Vec<bool> {
        let mut independent: Vec<_> =
            self.function.values.iter().map(|data| matches!(data.def, Def::Const(_))).collect();
        for node in &region.nodes {
            independent[node.value.index()] = true;
        }
        loop {
            let mut changed = false;
            for node in &region.nodes {
                let holds = match node.source {
                    // An early exit does not change the range of a counter.
                    Source::Param(node, k) => {
                        independent[node.init[k].index()]
                            && independent[node.body.yields[k].index()]
                    }
                    Source::Op(op, args) => {
                        !op.is_load() && args.iter().all(|arg| independent[arg.index()])
                    }
                    Source::Merge(..) | Source::Exit(..) => false,
                };
                if independent[node.value.index()] && !holds {
                    independent[node.value.index()] = false;
                    changed = true;
                }
            }
            if !changed {
                return independent;
            }
        }
    }

    /// Computes the bounds of a value of a loop from the bounds of other values.
    fn evaluate(&self, region: &Region, node: &Node) -> Bounds {
        match node.source {
            Source::Op(op, args) => self.operation(node.value, op, args, |solver, arg| {
                solver.refined(region, node.body, arg)
            }),
            Source::Merge(node, k) => self.merge(node, k),
            Source::Exit(loop_, k) => {
                let exit = loop_.head.yields[k];
                self.assigned(self.bounds[exit.index()], exit, node.value)
            }
            Source::Param(loop_, k) => {
                let [first, next] = [loop_.init[k], loop_.body.yields[k]]
                    .map(|value| self.assigned(self.bounds[value.index()], value, node.value));
                if self.bools(loop_.cond).may_be_true { first.join(&next) } else { first }
            }
        }
    }

    /// The bounds of an argument used in a body, refined by the facts of enclosing bodies.
    fn refined(&self, region: &Region, mut body: Option<usize>, arg: Value) -> Bounds {
        let mut bounds = self.bounds[arg.index()];
        while let Some(inner) = body {
            let inner = &region.bodies[inner];
            for test in inner.tests.iter().filter(|test| test.counter == arg) {
                bounds = test.refined(bounds, &self.bounds[test.other.index()]);
            }
            body = inner.outer;
        }
        bounds
    }

    /// Solves a strongly connected component.
    fn component(&mut self, region: &Region, component: &[usize]) {
        let is_cycle =
            component.iter().any(|&k| matches!(region.nodes[k].source, Source::Param(..)));
        for round in 0.. {
            let mut changed = false;
            for &k in component {
                let node = &region.nodes[k];
                let new = self.evaluate(region, node);
                let Source::Param(..) = node.source else {
                    self.set(node.value, new);
                    continue;
                };
                let old = self.bounds[node.value.index()];
                let mut new = old.join(&new);
                if new != old {
                    changed = true;
                    if round >= ROUNDS_BEFORE_WIDENING {
                        new = widened(&old, &new);
                    }
                    self.set(node.value, new);
                }
            }
            if !(is_cycle && changed) {
                break;
            }
        }
        if is_cycle && component.len() > 1 {
            for _ in 0..NARROWING_ROUNDS {
                for &k in component {
                    let bounds = self.evaluate(region, &region.nodes[k]);
                    self.set(region.nodes[k].value, bounds);
                }
            }
        }
    }
}

impl<'f> Region<'f> {
    fn add_loop(&mut self, function: &'f Function, node: &'f Loop, outer: Option<usize>) {
        for (k, &value) in node.params.iter().enumerate() {
            self.nodes.push(Node { value, source: Source::Param(node, k), body: outer });
        }
        self.add_block(function, &node.head, outer);
        let mut tests = vec![];
        add_tests(function, node.cond, true, &mut tests);
        self.bodies.push(Body { tests, outer });
        self.add_block(function, &node.body, Some(self.bodies.len() - 1));
        for (k, &value) in node.results.iter().enumerate() {
            self.nodes.push(Node { value, source: Source::Exit(node, k), body: outer });
        }
    }

    fn add_block(&mut self, function: &'f Function, block: &'f Block, body: Option<usize>) {
        for stmt in &block.stmts {
            match stmt {
                Stmt::Op(value) => {
                    let (op, args) =
                        function.operation(*value).expect("statements define operations");
                    self.nodes.push(Node { value: *value, source: Source::Op(op, args), body });
                }
                Stmt::If(node) => {
                    self.add_block(function, &node.then, body);
                    self.add_block(function, &node.otherwise, body);
                    for (k, &value) in node.results.iter().enumerate() {
                        self.nodes.push(Node { value, source: Source::Merge(node, k), body });
                    }
                }
                Stmt::Loop(node) => self.add_loop(function, node, body),
            }
        }
    }

    /// Calls `f` for each value that a node depends on.
    fn for_each_dependence(&self, node: &Node, f: &mut impl FnMut(Value)) {
        match node.source {
            Source::Op(_, args) => {
                for &arg in args {
                    f(arg);
                    let mut body = node.body;
                    while let Some(inner) = body {
                        self.bodies[inner]
                            .tests
                            .iter()
                            .filter(|test| test.counter == arg)
                            .for_each(|test| f(test.other));
                        body = self.bodies[inner].outer;
                    }
                }
            }
            Source::Merge(node, k) => {
                [node.cond, node.then.yields[k], node.otherwise.yields[k]].into_iter().for_each(f)
            }
            Source::Param(node, k) => {
                [node.cond, node.init[k], node.body.yields[k]].into_iter().for_each(f)
            }
            Source::Exit(node, k) => f(node.head.yields[k]),
        }
    }
}

/// Adds the facts about integers that a condition implies if its value is `truth`.
fn add_tests(function: &Function, cond: Value, truth: bool, tests: &mut Vec<CounterTest>) {
    match function.operation(cond) {
        Some((Op::BAnd, args)) if truth => {
            args.iter().for_each(|&arg| add_tests(function, arg, true, tests))
        }
        Some((Op::BOr, args)) if !truth => {
            args.iter().for_each(|&arg| add_tests(function, arg, false, tests))
        }
        Some((Op::BNot, &[arg])) => add_tests(function, arg, !truth, tests),
        Some((op @ (Op::SLt | Op::ULt), &[a, b])) if truth => {
            let signed = op == Op::SLt;
            tests.push(CounterTest { counter: a, other: b, is_below: true, signed });
            tests.push(CounterTest { counter: b, other: a, is_below: false, signed });
        }
        _ => {}
    }
}

impl CounterTest {
    /// The counter's bounds, refined by the fact.
    fn refined(&self, counter: Bounds, other: &Bounds) -> Bounds {
        let (Bounds::Int(ints), Some([low, high])) = (counter, other.ints().hull()) else {
            return counter;
        };
        let min = if self.signed { i32::MIN } else { 0 };
        Bounds::Int(match (self.is_below, high.checked_sub(1), low.checked_add(1)) {
            // Below an unsigned integer with the sign bit set, signed integers may be anything.
            (true, Some(high), _) if self.signed || low >= 0 => ints.within(min, high),
            (false, _, Some(low)) if self.signed => ints.within(low, i32::MAX),
            _ => ints,
        })
    }
}

/// Widens bounds: endpoints that moved jump to the next threshold.
fn widened(old: &Bounds, new: &Bounds) -> Bounds {
    match (old, new) {
        (Bounds::Float(old), Bounds::Float(new)) => {
            let thresholds = [f32::NEG_INFINITY, f32::MIN, -1.0, 0.0, 1.0, f32::MAX, f32::INFINITY];
            let pieces = widen_pieces(&old.pieces, &new.pieces, &thresholds);
            let zero = !old.pieces.contains(0.0) && pieces.contains(0.0);
            Bounds::Float(Floats {
                pieces,
                nan: new.nan,
                negative_zero: new.negative_zero || zero,
                positive_zero: new.positive_zero || zero,
            })
        }
        (Bounds::Int(old), Bounds::Int(new)) => {
            Bounds::Int(widen_pieces(old, new, &[i32::MIN, -1, 0, 1, i32::MAX]))
        }
        _ => *new,
    }
}

fn widen_pieces<T: Number>(old: &Pieces<T>, new: &Pieces<T>, thresholds: &[T]) -> Pieces<T> {
    let (Some([low, high]), Some([a, b])) = (old.hull(), new.hull()) else { return *new };
    let low = if a < low {
        *thresholds.iter().rfind(|&&x| x <= a).expect("the minimum is a threshold")
    } else {
        low
    };
    let high = if b > high {
        *thresholds.iter().find(|&&x| x >= b).expect("the maximum is a threshold")
    } else {
        high
    };
    Pieces::one(low, high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::text::parse;
    use crate::ir::{Table, Type};
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
            let bounds = run(&function, &vec![true; function.len()], &inputs, Nan::Suppress, None);
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
        let bounds = run(
            &function,
            &vec![true; function.len()],
            &[Bounds::all(Type::F32)],
            Nan::Suppress,
            None,
        );
        let of = |k: usize| bounds[function.body.yields[k].index()];
        assert_eq!(of(0), Bounds::Int(Pieces::one(0, 64)));
        assert_eq!([of(1).floats().low(), of(1).floats().high()], [1.0, f32::INFINITY]);
        assert!(!of(1).floats().nan);
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
        let bounds = run(&function, &vec![true; function.len()], &[finite; 2], Nan::Suppress, None);
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
