//! Static bounds analysis: the possible values of every value of a function (Clarberg et al. 2010
//! §4.3).
//!
//! In statement order, every value comes after its operands, except for parameters of loops. So
//! outside of loops, one pass suffices. The values of a loop, with those of nested loops, are
//! sorted into strongly connected components of their dependence graph (Tarjan 1972). These are
//! solved in order, each to completion before the next one (Campos et al. 2012): iterations until
//! parameters are stable, where after a few iterations endpoints jump to the next threshold
//! (widening), then iterations that recover precision (narrowing).
//!
//! Where a condition is known, [clips](super::conditions) narrow the values that it compares. The
//! condition of a loop also narrows integer counters: values that depend on no input and therefore
//! are never intervals.

mod components;
mod nest;

use super::Constraint;
use super::conditions::{Clip, Clips};
use super::transfer::transfer;
use crate::interval::bounds::Number;
use crate::interval::{Bools, Bounds, Floats, Nan, Pieces};
use crate::ir::function::ValueData;
use crate::ir::{Block, Def, Function, If, Loop, Op, Stmt, Type, Value};
use nest::{LoopNest, Node, Region, Source};

/// Iterations over a component before endpoints are widened.
const ROUNDS_BEFORE_WIDENING: usize = 3;

/// Narrowing iterations over a component.
const NARROWING_ROUNDS: usize = 2;

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
    let Facts { constraints, clips, negative_zeros } = facts;
    let initial = |(value, data): (usize, &ValueData)| match data.def {
        Def::Input(index) => {
            let input = inputs[index as usize];
            constraints.as_ref().map_or(input, |constraints| constraints[value].apply(&input))
        }
        Def::Const(bits) => Bounds::constant(data.ty, bits),
        _ => Bounds::all(data.ty),
    };
    let bounds: Vec<_> = function.values.iter().enumerate().map(initial).collect();
    let mut solver = Solver {
        function,
        is_interval,
        nan,
        bounds,
        constraints,
        clips,
        negative_zeros,
        scope: vec![],
    };
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
    clips: Option<&'f Clips>,
    /// Bounds that determine which values can be −0, if known.
    negative_zeros: Option<&'f [Bounds]>,
    /// Clips in effect, outermost first.
    scope: Vec<Clip>,
}

impl<'f> Solver<'f> {
    /// Computes the bounds of all values that a block defines.
    fn block(&mut self, block: &'f Block) {
        for stmt in &block.stmts {
            match stmt {
                Stmt::Op(value) => {
                    let (op, args) =
                        self.function.operation(*value).expect("statements define operations");
                    let bounds = self.operation(*value, op, args, Solver::in_scope);
                    self.set(*value, bounds);
                }
                Stmt::If(node) => {
                    let [then, otherwise] = [(&node.then, true), (&node.otherwise, false)].map(
                        |(arm, truth)| -> Vec<Bounds> {
                            let outer = self.scope.len();
                            let clips = self.clips_of(&node.results, truth);
                            self.scope.extend(clips);
                            self.block(arm);
                            let yields =
                                arm.yields.iter().map(|&value| self.in_scope(value)).collect();
                            self.scope.truncate(outer);
                            yields
                        },
                    );
                    let cond = self.in_scope(node.cond);
                    for (k, &result) in node.results.iter().enumerate() {
                        let bounds = self.merge(node, k, [cond, then[k], otherwise[k]]);
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
            (&mut bounds, self.negative_zeros.map(|bounds| &bounds[value.index()]))
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

    /// The clips in a block.
    fn clips_of(&self, results: &[Value], truth: bool) -> &'f [Clip] {
        self.clips.map_or(&[], |clips| clips.of(results, truth))
    }

    /// The bounds of a value, refined by the clips in effect.
    fn in_scope(&self, value: Value) -> Bounds {
        self.clipped(self.bounds[value.index()], value, &self.scope)
    }

    fn clipped(&self, bounds: Bounds, value: Value, clips: &[Clip]) -> Bounds {
        let clips = clips.iter().filter(|clip| clip.value == value);
        clips.fold(bounds, |bounds, clip| clip.refined(&bounds, &self.bounds[clip.other.index()]))
    }

    /// The bounds of a result of an if, which bounding code computes like a select, from those of
    /// the condition and of the yields.
    fn merge(&self, node: &If, k: usize, [cond, then, otherwise]: [Bounds; 3]) -> Bounds {
        let result = node.results[k];
        let then = self.assigned(then, node.then.yields[k], result);
        let otherwise = self.assigned(otherwise, node.otherwise.yields[k], result);
        transfer(Op::Select, &[cond, then, otherwise], false, self.nan(result))
    }

    fn outermost_loop(&mut self, node: &'f Loop) {
        let mut nest = LoopNest::new(self, node);
        let independent = self.input_independent(&nest);
        for region in &mut nest.regions {
            region.tests.retain(|test| independent[test.counter.index()]);
        }
        for node in &nest.nodes {
            self.bounds[node.value.index()] = Bounds::empty(self.function.ty(node.value));
        }
        for component in components::in_dependence_order(self.function.len(), &nest) {
            self.component(&nest, &component);
        }
    }

    /// Returns, for each value, whether it depends on no input.
    fn input_independent(&self, nest: &LoopNest) -> Vec<bool> {
        let mut independent: Vec<_> =
            self.function.values.iter().map(|data| matches!(data.def, Def::Const(_))).collect();
        for node in &nest.nodes {
            independent[node.value.index()] = true;
        }
        loop {
            let mut changed = false;
            for node in &nest.nodes {
                let holds = match node.source {
                    // An early exit does not change the range of a counter.
                    Source::Param(node, k, _) => {
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
    fn evaluate(&self, nest: &LoopNest, node: &Node) -> Bounds {
        let of = |region: usize, value: Value| self.refined(nest, region, value);
        match node.source {
            Source::Op(op, args) => {
                self.operation(node.value, op, args, |_, arg| of(node.region, arg))
            }
            Source::Merge(if_, k, [then, otherwise]) => {
                let cond = of(node.region, if_.cond);
                let yields = [of(then, if_.then.yields[k]), of(otherwise, if_.otherwise.yields[k])];
                self.merge(if_, k, [cond, yields[0], yields[1]])
            }
            Source::Exit(loop_, k) => {
                let exit = loop_.head.yields[k];
                self.assigned(of(node.region, exit), exit, node.value)
            }
            Source::Param(loop_, k, body) => {
                let [first, next] = [(node.region, loop_.init[k]), (body, loop_.body.yields[k])]
                    .map(|(region, value)| self.assigned(of(region, value), value, node.value));
                if self.bools(loop_.cond).may_be_true { first.join(&next) } else { first }
            }
        }
    }

    /// The bounds of a value in a region, refined by what the conditions of enclosing regions imply.
    fn refined(&self, nest: &LoopNest, region: usize, value: Value) -> Bounds {
        let Region { clips, tests, outer } = &nest.regions[region];
        let bounds = match *outer {
            Some(outer) => self.refined(nest, outer, value),
            None => self.bounds[value.index()],
        };
        let tests = tests.iter().filter(|test| test.counter == value);
        let bounds = tests
            .fold(bounds, |bounds, test| test.refined(bounds, &self.bounds[test.other.index()]));
        self.clipped(bounds, value, clips)
    }

    /// Solves a strongly connected component.
    fn component(&mut self, nest: &LoopNest, component: &[usize]) {
        let is_cycle = component.iter().any(|&k| matches!(nest.nodes[k].source, Source::Param(..)));
        for round in 0.. {
            let mut changed = false;
            for &k in component {
                let node = &nest.nodes[k];
                let new = self.evaluate(nest, node);
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
                    let bounds = self.evaluate(nest, &nest.nodes[k]);
                    self.set(nest.nodes[k].value, bounds);
                }
            }
        }
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
        let bounds = run(
            &function,
            &vec![true; function.len()],
            &[Bounds::all(Type::F32)],
            Nan::Suppress,
            Facts::default(),
        );
        let of = |k: usize| bounds[function.body.yields[k].index()];
        assert_eq!(of(0), Bounds::Int(Pieces::one(0, 64)));
        assert_eq!([of(1).floats().low(), of(1).floats().high()], [1.0, f32::INFINITY]);
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
        let bounds =
            run(&function, &vec![false; function.len()], &[], Nan::Suppress, Facts::default());
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
