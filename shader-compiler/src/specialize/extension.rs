//! Generating extensions: generators of specialized code, made once for a function and the binding
//! times of its inputs (Draves, *Compiler Generation for Interactive Graphics using Intermediate
//! Code*, 1996).
//!
//! [`GeneratingExtension::new`] does everything that does not depend on static values: it computes
//! binding times, the ranges of all values, and where the sign of a zero matters. For static
//! values, [`residual`](GeneratingExtension::residual) walks the function once. It evaluates static
//! operations, unrolls loops with static conditions, drops arms that are not taken, and emits the
//! rest, without another analysis or optimization. [`ResidualCache`] memoizes residual functions on
//! static values.
//!
//! A function is specialized once for each iteration of an unrolled loop and for each arm of an if.
//! A loop with a dynamic condition stays a loop, unless it is known to run at most once. Its
//! parameters are at first assumed to keep their values. If one does not, its loop is emitted anew.
//! A [`Budget`] limits unrolling: a loop that would exceed it stays a loop.
//!
//! If the body of a loop computes with remainders of a counter, as where it reads packed elements
//! one by one, the counter becomes a [cyclic integer](Cyclic): the loop runs over cycles, with a copy
//! of the body for each remainder, in which shifts, masks and divisions of the counter are static. A
//! second loop runs the iterations after the last full cycle.
//!
//! Residual functions have the same inputs and outputs as the function, and the same results, bit
//! by bit, but for signs of zeros where they do not matter.

mod cache;
mod loops;

pub use cache::ResidualCache;

use super::binding_times::{self, BindingTime, CountedLoop};
use super::cyclic::{Cyclic, Folded, UNLIMITED, least_common_multiple};
use super::{ranges, zero_signs};
use crate::analysis::conditions::Clips;
use crate::builder::rewrite::{implied_operands, remove_dead_code};
use crate::interval::Bounds;
use crate::ir::{Block, Def, Function, If, Op, Stmt, Table, Type, Value};
use crate::lift::Input;
use crate::math::eval::ConstantEvaluator;
use rustc_hash::FxHashMap;

/// Limits on a residual function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Number of values from which no loop is unrolled any further.
    pub values: usize,
    /// Number of processed statements from which no loop is unrolled any further.
    pub steps: usize,
    /// Greatest number of copies of the body of a loop over cycles; 1 for no such loops.
    pub cycle: u32,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget { values: 4096, steps: 1 << 16, cycle: 64 }
    }
}

/// When inputs and tables are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BindingTimes {
    /// Of each input.
    pub inputs: Vec<BindingTime>,
    /// Of tables; the ones that are not listed are dynamic.
    pub tables: Vec<BindingTime>,
}

/// Generates residual functions for static values.
#[derive(Clone, Debug)]
pub struct GeneratingExtension {
    function: Function,
    times: BindingTimes,
    bounds: Vec<Bounds>,
    values: Vec<ValueFacts>,
    /// What is known before a value is processed: the bits of constants.
    constants: Vec<Known>,
    /// Loops whose counters may be cyclic, by their conditions.
    loops: FxHashMap<Value, CountedLoop>,
    budget: Budget,
}

/// What is known of a value whatever the static values are.
#[derive(Clone, Copy, Debug)]
struct ValueFacts {
    is_static: bool,
    /// Whether it is never infinite or NaN.
    is_finite: bool,
    /// Whether the sign matters if it is zero.
    sign_matters: bool,
}

/// What the generator knows of a value of the function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    /// Its bits.
    Bits(u32),
    /// The residual value that computes it.
    Residual(Value),
    /// It is a cyclic integer.
    Cyclic(Cyclic),
}

const TRUE: u32 = !0;
const ONE: u32 = 0x3f80_0000;

impl GeneratingExtension {
    /// Makes the generator for a function. The values of inputs are within the bounds in `inputs`;
    /// directions are unit vectors, as for [`specialize`](super::specialize()). `is_signed` states
    /// for each output whether the sign of a zero matters.
    ///
    /// # Panics
    ///
    /// Unless each input is described and has a binding time, and there is a flag for each output.
    pub fn new(
        function: &Function,
        inputs: &[Input],
        times: BindingTimes,
        is_signed: &[bool],
        budget: Budget,
    ) -> GeneratingExtension {
        assert_eq!(inputs.len(), function.inputs.len(), "each input is described");
        assert_eq!(times.inputs.len(), function.inputs.len(), "each input has a binding time");
        assert_eq!(is_signed.len(), function.outputs.len(), "there is a flag for each output");
        let mut function = function.clone();
        remove_dead_code(&mut function);
        let clips = Clips::of_scalars(&function, &vec![false; function.len()]);
        let bounds = ranges(&function, inputs, &clips).of_values(&function);
        let sign_matters = zero_signs::run(&function, &bounds, is_signed);
        let is_static = binding_times::run(&function, &times.inputs, &times.tables);
        let values = (0..function.len()).map(|k| ValueFacts {
            is_static: is_static[k],
            is_finite: is_finite(&bounds[k]),
            sign_matters: sign_matters[k],
        });
        let values = values.collect();
        let loops = binding_times::counted_loops(&function, &bounds);
        let bounds = inputs.iter().map(|input| input.bounds).collect();
        let constants = function.values.iter().map(|data| match data.def {
            Def::Const(bits) => Known::Bits(bits),
            Def::Input(_) | Def::Op { .. } | Def::Param | Def::Result => Known::Bits(0),
        });
        let constants = constants.collect();
        GeneratingExtension { function, times, bounds, values, constants, loops, budget }
    }

    /// The number of static inputs.
    pub fn static_inputs(&self) -> usize {
        self.times.inputs.iter().filter(|&&time| time == BindingTime::Static).count()
    }

    /// Generates the function for the bits of the static inputs, in their order, and for static
    /// tables. Entries of `tables` for dynamic tables are not read.
    ///
    /// # Panics
    ///
    /// Unless there is a word for each static input, within its bounds, and all static tables are
    /// there.
    pub fn residual(&self, words: &[u32], tables: &[Table<'_>]) -> Function {
        assert_eq!(words.len(), self.static_inputs(), "there is a word for each static input");
        assert!(tables.len() >= self.times.tables.len(), "all static tables are there");
        let old = &self.function;
        let mut function = Function {
            name: old.name.clone(),
            inputs: old.inputs.clone(),
            outputs: old.outputs.clone(),
            body: Block::default(),
            values: Vec::with_capacity(old.len().min(1024)),
        };
        let mut words = words.iter();
        let mut inputs = vec![];
        for (index, port) in old.inputs.iter().enumerate() {
            let value = function.add(port.ty, Def::Input(index as u32));
            inputs.push(match self.times.inputs[index] {
                BindingTime::Dynamic => Known::Residual(value),
                BindingTime::Static => {
                    let &bits = words.next().expect("their number is right");
                    assert!(self.bounds[index].contains(bits), "{} is within bounds", port.name);
                    Known::Bits(bits)
                }
            });
        }
        let mut known = self.constants.clone();
        for (data, known) in std::iter::zip(&old.values, &mut known) {
            if let Def::Input(index) = data.def {
                *known = inputs[index as usize];
            }
        }
        let mut emission = Emission {
            extension: self,
            known,
            tables: ConstantEvaluator { tables },
            function,
            stmts: vec![],
            steps: 0,
            cycles: vec![],
        };
        emission.block(&old.body);
        let outputs = emission.lift_all(&old.body.yields);
        let Emission { mut function, stmts, .. } = emission;
        function.body = Block { stmts, yields: outputs };
        remove_dead_code(&mut function);
        function
    }
}

fn is_finite(bounds: &Bounds) -> bool {
    match bounds {
        Bounds::Float(floats) => {
            !floats.nan && floats.low() > f32::NEG_INFINITY && floats.high() < f32::INFINITY
        }
        Bounds::Int(_) | Bounds::Bool(_) => true,
    }
}

/// The walk over a function for static values.
struct Emission<'a> {
    extension: &'a GeneratingExtension,
    /// For each value of the function that has been processed.
    known: Vec<Known>,
    tables: ConstantEvaluator<'a>,
    /// The residual function. Its body is empty until the end.
    function: Function,
    /// Statements of the open residual block.
    stmts: Vec<Stmt>,
    /// Number of processed statements.
    steps: usize,
    /// The open loops over cycles: the quotient of each, and how many times as long its cycle should
    /// be.
    cycles: Vec<(Value, u32)>,
}

/// A state of the residual function to which it can be reset.
#[derive(Clone, Copy)]
struct Checkpoint {
    values: usize,
    stmts: usize,
}

impl<'a> Emission<'a> {
    fn old(&self) -> &'a Function {
        &self.extension.function
    }

    fn get(&self, old: Value) -> Known {
        self.known[old.index()]
    }

    fn set(&mut self, old: Value, known: Known) {
        self.known[old.index()] = known;
    }

    fn get_all(&self, old: &[Value]) -> Vec<Known> {
        old.iter().map(|&value| self.get(value)).collect()
    }

    fn set_all(&mut self, old: &[Value], known: &[Known]) {
        for (&old, &known) in std::iter::zip(old, known) {
            self.set(old, known);
        }
    }

    /// The residual value of something known, a constant if its bits are known.
    fn lift_known(&mut self, ty: Type, known: Known) -> Value {
        match known {
            Known::Bits(bits) => self.function.add(ty, Def::Const(bits)),
            Known::Residual(value) => value,
            Known::Cyclic(cyclic) => {
                let multiple = self.multiple(cyclic);
                self.plus(multiple, cyclic.remainder)
            }
        }
    }

    /// Emits base · quotient.
    fn multiple(&mut self, Cyclic { quotient, base, .. }: Cyclic) -> Value {
        if base == 1 {
            return quotient;
        }
        let base = self.function.add(Type::I32, Def::Const(base as u32));
        self.emit_value(Type::I32, Op::IMul, &[quotient, base])
    }

    /// Emits a sum with a constant.
    fn plus(&mut self, value: Value, number: i32) -> Value {
        if number == 0 {
            return value;
        }
        let number = self.function.add(Type::I32, Def::Const(number as u32));
        self.emit_value(Type::I32, Op::IAdd, &[value, number])
    }

    /// Lifts those of these values that are multiples of quotients defined in the open block, which
    /// starts after `outside` values.
    fn lift_local(&mut self, old: &[Value], outside: usize) {
        for &old in old {
            if let known @ Known::Cyclic(Cyclic { quotient, .. }) = self.get(old)
                && quotient.index() >= outside
            {
                let value = self.lift_known(Type::I32, known);
                self.set(old, Known::Residual(value));
            }
        }
    }

    fn lift(&mut self, old: Value) -> Value {
        self.lift_known(self.old().ty(old), self.get(old))
    }

    fn lift_all(&mut self, old: &[Value]) -> Vec<Value> {
        old.iter().map(|&value| self.lift(value)).collect()
    }

    fn is_exhausted(&self) -> bool {
        let budget = self.extension.budget;
        self.steps > budget.steps || self.function.len() > budget.values
    }

    fn checkpoint(&self) -> Checkpoint {
        Checkpoint { values: self.function.len(), stmts: self.stmts.len() }
    }

    /// Discards everything that was emitted since a checkpoint in the same block.
    fn reset(&mut self, to: Checkpoint) {
        self.function.values.truncate(to.values);
        self.stmts.truncate(to.stmts);
    }

    fn block(&mut self, block: &'a Block) {
        for stmt in &block.stmts {
            self.steps += 1;
            match stmt {
                Stmt::Op(value) => self.operation(*value),
                Stmt::If(node) => self.branch(node),
                Stmt::Loop(node) => {
                    if !self.unroll(node) && !self.loop_over_cycles(node) {
                        let init = self.get_all(&node.init);
                        self.residual_loop(node, &init);
                    }
                }
            }
        }
    }

    /// Emits a block of its own while the bits of a condition are known.
    fn guarded(&mut self, block: &'a Block, cond: Value, truth: bool) -> Vec<Stmt> {
        let outer = std::mem::take(&mut self.stmts);
        let outside = self.function.len();
        self.assuming(block, cond, truth);
        self.lift_local(&block.yields, outside);
        std::mem::replace(&mut self.stmts, outer)
    }

    /// Emits the statements of a block while the bits of a condition are known.
    fn assuming(&mut self, block: &'a Block, cond: Value, truth: bool) {
        let before = self.assume(cond, truth);
        self.block(block);
        for (value, known) in before.into_iter().rev() {
            self.set(value, known);
        }
    }

    /// Sets the bits of a condition, and of the operands that follow from it. Returns what was
    /// known of them.
    fn assume(&mut self, cond: Value, truth: bool) -> Vec<(Value, Known)> {
        let mut before = vec![];
        let mut work = vec![(cond, truth)];
        while let Some((value, truth)) = work.pop() {
            before.push((value, self.get(value)));
            self.set(value, Known::Bits(if truth { TRUE } else { 0 }));
            work.extend(implied_operands(self.old(), value, truth));
        }
        before
    }

    fn operation(&mut self, old: Value) {
        let (op, args) = self.old().operation(old).expect("statements define operations");
        let known = match self.evaluate(op, args) {
            Some(bits) => Known::Bits(bits),
            None => match self.simplify(old, op, args) {
                Some(known) => known,
                None => {
                    let mut all = [Value(0); 3];
                    for (new, &arg) in std::iter::zip(&mut all, args) {
                        *new = self.lift(arg);
                    }
                    let known = self.emit(self.old().ty(old), op, &all[..args.len()]);
                    let origin = self.old().values[old.index()].origin;
                    self.function.values.last_mut().expect("a value was emitted").origin = origin;
                    known
                }
            },
        };
        self.set(old, known);
    }

    fn emit(&mut self, ty: Type, op: Op, args: &[Value]) -> Known {
        Known::Residual(self.emit_value(ty, op, args))
    }

    fn emit_value(&mut self, ty: Type, op: Op, args: &[Value]) -> Value {
        let mut all = [args[0]; 3];
        all[..args.len()].copy_from_slice(args);
        let value = self.function.add(ty, Def::Op { op, args: all });
        self.stmts.push(Stmt::Op(value));
        value
    }

    /// Evaluates an operation if everything that it reads is known.
    fn evaluate(&mut self, op: Op, args: &[Value]) -> Option<u32> {
        let mut words = [0; 3];
        for (word, &arg) in std::iter::zip(&mut words, args) {
            let Known::Bits(bits) = self.get(arg) else { return None };
            *word = bits;
        }
        if op.is_load() {
            let table = op.table(words[0])? as usize;
            let time = self.extension.times.tables.get(table);
            time.filter(|&&time| time == BindingTime::Static)?;
        }
        Some(op.eval_with(&mut self.tables, &words[..args.len()]))
    }

    /// Finds the result without an operation, or with a cheaper one.
    fn simplify(&mut self, old: Value, op: Op, args: &[Value]) -> Option<Known> {
        let mut known = [Known::Bits(0); 3];
        for (known, &arg) in std::iter::zip(&mut known, args) {
            *known = self.get(arg);
        }
        let get = |k: usize| known[k];
        if op == Op::Select {
            return match get(0) {
                Known::Bits(cond) => Some(get(if cond != 0 { 1 } else { 2 })),
                Known::Residual(_) | Known::Cyclic(_) if get(1) == get(2) => Some(get(1)),
                Known::Residual(_) | Known::Cyclic(_) => None,
            };
        }
        if !self.cycles.is_empty()
            && args.len() == 2
            && let Some(result) = self.cyclic(op, [get(0), get(1)])
        {
            return Some(result);
        }
        if args.len() == 2 {
            // The operand that is known, and the other one.
            let pair = match [get(0), get(1)] {
                [known, Known::Bits(bits)] => Some((bits, 0, known)),
                [Known::Bits(bits), known] if op.is_commutative() || op == Op::Sub => {
                    Some((bits, 1, known))
                }
                _ => None,
            };
            if let Some((bits, other, known)) = pair
                && let Some(result) = self.with_constant(old, op, args, bits, other, known)
            {
                return Some(result);
            }
        }
        self.through_select(self.old().ty(old), op, args)
    }

    /// Simplifies an operation with cyclic operands.
    fn cyclic(&mut self, op: Op, args: [Known; 2]) -> Option<Known> {
        let (folded, quotient) = match args {
            // The low bits of the amount count.
            [operand, Known::Cyclic(amount)] if matches!(op, Op::Shl | Op::LShr | Op::AShr) => {
                match amount.with_constant(Op::And, 1, 31) {
                    Folded::Bits(bits) => return Some(self.shift(op, operand, bits)),
                    folded => (folded, amount.quotient),
                }
            }
            [Known::Cyclic(a), Known::Bits(bits)] => (a.with_constant(op, 0, bits), a.quotient),
            [Known::Bits(bits), Known::Cyclic(b)] => (b.with_constant(op, 1, bits), b.quotient),
            [Known::Cyclic(a), Known::Cyclic(b)] if a.quotient == b.quotient => {
                (a.with_same_quotient(op, b), a.quotient)
            }
            _ => (Folded::Dynamic, Value(0)),
        };
        match folded {
            Folded::Bits(bits) => return Some(Known::Bits(bits)),
            Folded::Cyclic(cyclic) => return Some(Known::Cyclic(cyclic)),
            Folded::QuotientIs(number) => {
                let number = self.function.add(Type::I32, Def::Const(number));
                return Some(self.emit(Type::Bool, Op::IEq, &[quotient, number]));
            }
            Folded::Wants(factor) => {
                let limit = self.extension.budget.cycle;
                if let Some((_, wanted)) = self.cycles.iter_mut().find(|(q, _)| *q == quotient) {
                    // Longer cycles do not pay.
                    *wanted = least_common_multiple(*wanted, factor, limit).unwrap_or(*wanted);
                }
            }
            Folded::Dynamic => {}
        }
        if op == Op::IAdd { self.sum(args) } else { None }
    }

    /// Shifts an operand by a static amount.
    fn shift(&mut self, op: Op, operand: Known, amount: u32) -> Known {
        match operand {
            _ if amount == 0 => operand,
            Known::Bits(bits) => Known::Bits(op.eval(&[bits, amount])),
            Known::Residual(_) | Known::Cyclic(_) => {
                if let Some(known) = self.cyclic(op, [operand, Known::Bits(amount)]) {
                    return known;
                }
                let operand = self.lift_known(Type::I32, operand);
                let amount = self.function.add(Type::I32, Def::Const(amount));
                self.emit(Type::I32, op, &[operand, amount])
            }
        }
    }

    /// Emits the sum of what is dynamic in integers. What is static becomes the remainder, so that
    /// the dynamic sum is the same where only static values differ.
    fn sum(&mut self, args: [Known; 2]) -> Option<Known> {
        let remainders = args.map(|known| match known {
            Known::Bits(bits) => bits as i32,
            Known::Residual(_) => 0,
            Known::Cyclic(cyclic) => cyclic.remainder,
        });
        let remainder = remainders[0].wrapping_add(remainders[1]);
        let quotient = match args {
            [Known::Residual(value), Known::Bits(_)] | [Known::Bits(_), Known::Residual(value)] => {
                value
            }
            [Known::Cyclic(_), _] | [_, Known::Cyclic(_)] => {
                let [a, b] = args.map(|known| match known {
                    Known::Cyclic(cyclic) => self.multiple(cyclic),
                    known => self.lift_known(Type::I32, known),
                });
                self.emit_value(Type::I32, Op::IAdd, &[a, b])
            }
            _ => return None,
        };
        Some(match remainder {
            0 => Known::Residual(quotient),
            _ => Known::Cyclic(Cyclic { quotient, base: 1, remainder, most: UNLIMITED }),
        })
    }

    /// Simplifies an operation with a constant operand; `other` is the index of the other one.
    fn with_constant(
        &mut self,
        old: Value,
        op: Op,
        args: &[Value],
        bits: u32,
        other: usize,
        known: Known,
    ) -> Option<Known> {
        let facts = &self.extension.values;
        let is_zero = bits << 1 == 0;
        let is_unsigned = !facts[old.index()].sign_matters;
        match op {
            Op::Mul if bits == ONE => Some(known),
            Op::Mul if is_zero && is_unsigned && facts[args[other].index()].is_finite => {
                Some(Known::Bits(0))
            }
            Op::Add if is_zero && is_unsigned => Some(known),
            Op::Sub if is_zero && is_unsigned => match other {
                0 => Some(known),
                _ => {
                    let operand = self.lift(args[1]);
                    Some(self.emit(Type::F32, Op::Neg, &[operand]))
                }
            },
            Op::Div if bits == ONE => Some(known),
            Op::And | Op::BAnd | Op::IMul if bits == 0 => Some(Known::Bits(0)),
            Op::Or | Op::BOr if bits == TRUE => Some(Known::Bits(TRUE)),
            Op::And | Op::BAnd if bits == TRUE => Some(known),
            Op::Or | Op::BOr | Op::Xor | Op::IAdd if bits == 0 => Some(known),
            Op::ISub | Op::Shl | Op::LShr | Op::AShr if bits == 0 => Some(known),
            Op::IMul if bits == 1 => Some(known),
            _ => None,
        }
    }

    /// f(c ? k : l) becomes c ? f(k) : f(l), if k, l and the other arguments are known.
    fn through_select(&mut self, ty: Type, op: Op, args: &[Value]) -> Option<Known> {
        if op.is_load() || op == Op::Any {
            return None;
        }
        let mut chosen = None;
        let mut words = [[0; 3]; 2];
        for (k, &arg) in args.iter().enumerate() {
            match self.get(arg) {
                Known::Bits(bits) => words.iter_mut().for_each(|words| words[k] = bits),
                Known::Residual(value) => {
                    let Def::Op { op: Op::Select, args: [cond, t, e] } = self.function.def(value)
                    else {
                        return None;
                    };
                    // The same choice may be several arguments.
                    if *chosen.get_or_insert(cond) != cond {
                        return None;
                    }
                    words[0][k] = self.function.constant(t)?;
                    words[1][k] = self.function.constant(e)?;
                }
                Known::Cyclic(_) => return None,
            }
        }
        let cond = chosen?;
        let [t, e] = words.map(|words| op.eval(&words[..args.len()]));
        if t == e {
            return Some(Known::Bits(t));
        }
        Some(self.choose(ty, cond, [t, e]))
    }

    fn branch(&mut self, node: &'a If) {
        if let Known::Bits(cond) = self.get(node.cond) {
            let arm = if cond != 0 { &node.then } else { &node.otherwise };
            self.block(arm);
            let yields = self.get_all(&arm.yields);
            return self.set_all(&node.results, &yields);
        }
        let cond = self.lift(node.cond);
        let then = self.guarded(&node.then, node.cond, true);
        let otherwise = self.guarded(&node.otherwise, node.cond, false);
        let mut new = If {
            cond,
            then: Block { stmts: then, yields: vec![] },
            otherwise: Block { stmts: otherwise, yields: vec![] },
            results: vec![],
        };
        // Choices between constants follow the if.
        let mut choices = vec![];
        for (k, &result) in node.results.iter().enumerate() {
            let [t, e] = [node.then.yields[k], node.otherwise.yields[k]];
            let known = match (self.get(t), self.get(e)) {
                (t, e) if t == e => t,
                (Known::Bits(TRUE), Known::Bits(0)) if self.old().ty(result) == Type::Bool => {
                    Known::Residual(cond)
                }
                (Known::Bits(t), Known::Bits(e)) => {
                    choices.push((result, [t, e]));
                    continue;
                }
                _ => {
                    let (t, e) = (self.lift(t), self.lift(e));
                    let value = self.function.add(self.old().ty(result), Def::Result);
                    new.then.yields.push(t);
                    new.otherwise.yields.push(e);
                    new.results.push(value);
                    Known::Residual(value)
                }
            };
            self.set(result, known);
        }
        if !new.results.is_empty() {
            self.stmts.push(Stmt::If(Box::new(new)));
        }
        for (result, bits) in choices {
            let known = self.choose(self.old().ty(result), cond, bits);
            self.set(result, known);
        }
    }

    /// Emits a choice between constants.
    fn choose(&mut self, ty: Type, cond: Value, bits: [u32; 2]) -> Known {
        let [t, e] = bits.map(|bits| self.function.add(ty, Def::Const(bits)));
        self.emit(ty, Op::Select, &[cond, t, e])
    }
}

#[cfg(test)]
mod tests;
