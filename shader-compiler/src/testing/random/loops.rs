//! Random programs of loops, for analyses of ranges: counters up and down by various steps, of
//! integers that wrap, unsigned integers and floats; nested loops whose limits are counters of the
//! outer ones; two counters that approach each other; conditions between variables; early exits.
//!
//! Constants are small except for a few at the limits of their type, so that conditions matter.

use super::{Generator, Op, Random, Type, Value, word};
use crate::ir::{Block, Def, Function, If, Loop, Port, Stmt};

/// Maximum nesting depth of blocks.
const MAX_DEPTH: usize = 4;

/// Operations on two integers.
const INTEGER_OPS: &[Op] = &[
    Op::IAdd,
    Op::IAdd,
    Op::IAdd,
    Op::ISub,
    Op::ISub,
    Op::IMul,
    Op::SMin,
    Op::SMax,
    Op::UMin,
    Op::UMax,
    Op::And,
    Op::Or,
    Op::Xor,
    Op::Shl,
    Op::LShr,
    Op::AShr,
    Op::SDiv,
    Op::SRem,
    Op::UDiv,
    Op::URem,
];

/// Operations on two floats.
const FLOAT_OPS: &[Op] =
    &[Op::Add, Op::Add, Op::Sub, Op::Mul, Op::Mul, Op::Div, Op::Min, Op::Max, Op::Rem];

/// Operations on one number.
const UNARY_OPS: &[Op] = &[
    Op::Neg,
    Op::Abs,
    Op::Floor,
    Op::Fract,
    Op::Sqrt,
    Op::Sin,
    Op::Exp,
    Op::FromS32,
    Op::FromU32,
    Op::TruncateToInt,
    Op::ToS32,
    Op::CountOnes,
];

/// Comparisons of integers, and of floats.
const INTEGER_COMPARISONS: &[Op] = &[Op::SLt, Op::SLt, Op::SLt, Op::ULt, Op::IEq];
const FLOAT_COMPARISONS: &[Op] = &[Op::Lt, Op::Lt, Op::Le, Op::Eq];

/// Generates a valid random program with loops. Some loops do not terminate, so that the
/// [interpreter](crate::interpreter) needs a limit.
pub fn loop_program(seed: u64) -> Function {
    let mut random = Random::new(seed);
    let types = [Type::I32, Type::I32, Type::F32, Type::Bool];
    let inputs: Vec<_> = (0..1 + random.below(4))
        .map(|k| Port { name: format!("x{k}"), ty: *random.pick(&types) })
        .collect();
    let (ops, composite) = (*random.pick(&[6, 12, 20, 40, 80]), random.once_in(4));
    let name = format!("loops{seed}");
    let mut generator = Generator::new(name, inputs, random, ops, composite);
    generator.statements(ops);
    for k in 0..3 {
        let ty = *generator.random.pick(&types);
        let value = generator.value(ty);
        generator.output(format!("y{k}"), value);
    }
    generator.function.body.stmts = generator.blocks.pop().expect("the body is open");
    generator.function
}

impl Generator {
    /// Appends about `ops` operations, with loops and branches.
    fn statements(&mut self, ops: usize) {
        let end = self.remaining.saturating_sub(ops);
        while self.remaining > end {
            let may_nest = self.depth < MAX_DEPTH && self.remaining > 3;
            match self.random.below(12) {
                0 if may_nest => self.branch(),
                1 | 2 if may_nest => self.counted_loop(),
                3 => drop(self.op()),
                _ => drop(self.arithmetic()),
            }
        }
    }

    /// Appends the statements of a block within the current one.
    fn nested_statements(&mut self) {
        self.depth += 1;
        let ops = self.random.below(self.remaining.min(20) + 1);
        self.statements(ops);
        self.depth -= 1;
    }

    /// A constant, usually a small one.
    fn small_constant(&mut self, ty: Type) -> Value {
        let random = &mut self.random;
        let count = if random.once_in(3) { 101 } else { 9 };
        let sign = if random.once_in(3) { -1 } else { 1 };
        let small = sign * random.below(count) as i32;
        let bits = match ty {
            _ if random.once_in(16) => word(random, ty),
            Type::I32 => small as u32,
            Type::F32 => (small as f32 * random.pick(&[1.0, 1.0, 0.5, 0.1])).to_bits(),
            Type::Bool => return self.random_constant(ty),
        };
        self.constant(ty, bits)
    }

    /// A small constant, or a value in scope.
    fn operand(&mut self, ty: Type) -> Value {
        if self.random.once_in(2) { self.small_constant(ty) } else { self.value(ty) }
    }

    /// Appends a common operation on numbers.
    fn arithmetic(&mut self) -> Value {
        let ty = *self.random.pick(&[Type::I32, Type::I32, Type::F32]);
        if self.random.once_in(5) {
            let op = *self.random.pick(UNARY_OPS);
            let argument = self.value(op.signature().args[0].expect("it is not generic"));
            return self.append(op, &[argument]);
        }
        if self.random.once_in(8) {
            let cond = self.condition();
            let arms = [self.operand(ty), self.value(ty)];
            return self.append(Op::Select, &[cond, arms[0], arms[1]]);
        }
        let op = *self.random.pick(if ty == Type::I32 { INTEGER_OPS } else { FLOAT_OPS });
        let (a, b) = (self.value(ty), self.operand(ty));
        let args = if self.random.once_in(4) { [b, a] } else { [a, b] };
        self.append(op, &args)
    }

    /// Appends a comparison of two values, and often its negation.
    fn comparison(&mut self, a: Value, b: Value) -> Value {
        let is_float = self.function.ty(a) == Type::F32;
        let op = *self.random.pick(if is_float { FLOAT_COMPARISONS } else { INTEGER_COMPARISONS });
        let compared = self.append(op, &[a, b]);
        if self.random.once_in(4) { self.append(Op::BNot, &[compared]) } else { compared }
    }

    /// Appends a condition: one or two comparisons between variables, or with constants.
    fn condition(&mut self) -> Value {
        let ty = *self.random.pick(&[Type::I32, Type::I32, Type::F32]);
        let (a, b) = (self.value(ty), self.operand(ty));
        let args = if self.random.once_in(3) { [b, a] } else { [a, b] };
        let first = self.comparison(args[0], args[1]);
        if !self.random.once_in(4) {
            return first;
        }
        let op = *self.random.pick(&[Op::BAnd, Op::BAnd, Op::BOr]);
        let (c, d) = (self.value(ty), self.operand(ty));
        let second = self.comparison(c, d);
        self.append(op, &[first, second])
    }

    /// Appends an if.
    fn branch(&mut self) {
        let types = self.types(3);
        let cond = self.condition();
        let [then, otherwise] = [(); 2].map(|()| {
            let scope = self.open();
            self.nested_statements();
            let yields = self.values(&types);
            self.close(scope, yields)
        });
        let results = self.define(&types, Def::Result);
        self.push(Stmt::If(Box::new(If { cond, then, otherwise, results })));
    }

    /// Appends a loop. Its first parameter is the counter; the second may be a limit that moves, or
    /// a flag for an early exit.
    fn counted_loop(&mut self) {
        let ty = *self.random.pick(&[Type::I32, Type::I32, Type::F32]);
        let [moves_limit, exits_early] = [5, 4].map(|n| self.random.once_in(n));
        let mut types = vec![ty];
        types.extend(moves_limit.then_some(ty));
        types.extend(exits_early.then_some(Type::Bool));
        let own = types.len();
        types.extend(self.types(3));
        let rises = !self.random.once_in(3);
        let mut init: Vec<_> = types[..own].iter().map(|&ty| self.operand(ty)).collect();
        if exits_early {
            init[own - 1] = self.constant(Type::Bool, 0);
        }
        init.extend(self.values(&types[own..]));
        let fixed_limit = self.operand(ty);

        let scope = self.open();
        let params = self.define(&types, Def::Param);
        if self.random.once_in(3) {
            self.nested_statements();
        }
        let limit = if moves_limit { params[1] } else { fixed_limit };
        let mut cond = self.counter_test(params[0], limit, rises);
        if exits_early {
            let goes_on = self.append(Op::BNot, &[params[own - 1]]);
            cond = self.append(Op::BAnd, &[cond, goes_on]);
        }
        let exit_types = self.types(3);
        let mut exits = self.values(&exit_types);
        exits.push(params[0]);
        let head = std::mem::take(self.blocks.last_mut().expect("the head is open"));

        self.nested_statements();
        let mut next = vec![self.step(params[0], rises)];
        if moves_limit {
            let moved = self.step(params[1], !rises);
            next.push(moved);
        }
        if exits_early {
            next.push(self.condition());
        }
        for &param in &params[own..] {
            let accumulated = self.accumulate(param);
            next.push(accumulated);
        }
        let body = self.close(scope, next);
        let exit_types: Vec<_> = exits.iter().map(|&value| self.function.ty(value)).collect();
        let results = self.define(&exit_types, Def::Result);
        self.push(Stmt::Loop(Box::new(Loop {
            init,
            params,
            head: Block { stmts: head, yields: exits },
            cond,
            body,
            results,
        })));
    }

    /// Appends the condition for another iteration of a counter.
    fn counter_test(&mut self, counter: Value, limit: Value, rises: bool) -> Value {
        let is_float = self.function.ty(counter) == Type::F32;
        let [below, above] = if rises { [counter, limit] } else { [limit, counter] };
        let less = if is_float { [Op::Lt, Op::Le] } else { [Op::SLt, Op::ULt] };
        match self.random.below(8) {
            // Until the counter equals the limit, which it may pass.
            0 => {
                let equal = if is_float { Op::Eq } else { Op::IEq };
                let is_last = self.append(equal, &[counter, limit]);
                self.append(Op::BNot, &[is_last])
            }
            1 | 2 => {
                let passed = self.append(less[0], &[above, below]);
                self.append(Op::BNot, &[passed])
            }
            3 => self.append(less[1], &[below, above]),
            _ => self.append(less[0], &[below, above]),
        }
    }

    /// Appends a step of a counter.
    fn step(&mut self, counter: Value, rises: bool) -> Value {
        let is_float = self.function.ty(counter) == Type::F32;
        let count = if self.random.once_in(4) { 13 } else { 3 };
        let k = 1 + self.random.below(count) as i32;
        let step = if is_float {
            let step = k as f32 * self.random.pick(&[1.0, 0.25, 0.1]);
            self.constant(Type::F32, step.to_bits())
        } else {
            self.constant(Type::I32, k as u32)
        };
        let [add, subtract] = if is_float { [Op::Add, Op::Sub] } else { [Op::IAdd, Op::ISub] };
        match self.random.below(10) {
            // By a value that may be 0, or of the other sign.
            0 => {
                let step = self.value(self.function.ty(counter));
                self.append(add, &[counter, step])
            }
            // By a factor.
            1 if is_float => {
                let factor = self.constant(Type::F32, if rises { 1.5f32 } else { 0.5 }.to_bits());
                self.append(Op::Mul, &[counter, factor])
            }
            1 => {
                let one = self.int(1);
                self.append(if rises { Op::Shl } else { Op::LShr }, &[counter, one])
            }
            _ => self.append(if rises { add } else { subtract }, &[counter, step]),
        }
    }

    /// Appends the next value of a parameter that is not a counter.
    fn accumulate(&mut self, param: Value) -> Value {
        let ty = self.function.ty(param);
        match ty {
            _ if self.random.once_in(4) => self.value(ty),
            Type::Bool => self.condition(),
            Type::I32 | Type::F32 => {
                let ops = if ty == Type::I32 { INTEGER_OPS } else { FLOAT_OPS };
                let (op, other) = (*self.random.pick(ops), self.operand(ty));
                self.append(op, &[param, other])
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interpreter;
    use crate::ir::function::for_each_stmt;
    use crate::ir::verify::verify;
    use crate::testing::random::{rows, tables};

    #[test]
    fn loop_programs_are_valid_and_many_run_to_the_end() {
        let (mut loops, mut finished, mut iterating) = (0, 0, 0);
        for seed in 0..400 {
            let function = loop_program(seed);
            verify(&function).unwrap_or_else(|error| panic!("seed {seed}: {error}\n{function}"));
            for_each_stmt(&function.body, &mut |stmt| {
                loops += usize::from(matches!(stmt, Stmt::Loop(_)));
            });
            for inputs in rows(&function.inputs, 2, seed) {
                let run = |limit| interpreter::run(&function, &tables(), &inputs, limit);
                finished += usize::from(run(1000).is_ok());
                iterating += usize::from(run(0).is_err());
            }
        }
        assert!(loops > 400 && iterating > 200, "{loops} loops, {iterating} runs with iterations");
        assert!(finished > 400, "{finished} of 800 runs finish");
    }
}
