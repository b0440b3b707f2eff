//! Expands composite operations to the basic operations that define them, and shifts by variable
//! amounts, which SSE lacks, to shifts by constants.

use crate::builder::rewrite::rewrite;
use crate::builder::simplify;
use crate::builder::{Builder, Rules, value_tracking};
use crate::ir::{Emit, Function, Op, Type, Value};

/// Runs the pass. Keeps basic operations and shifts by constants.
pub fn run(function: &Function) -> Function {
    let mut builder = Builder::new(&function.name, Rules::Exact);
    builder.reserve(function.len() * 2);
    rewrite(function, builder, |builder: &mut Builder, op, args: &[Value]| {
        Expand(builder).op(op, args)
    })
}

/// Expands every operation that it emits, so that expansions may contain composite operations.
struct Expand<'a>(&'a mut Builder);

impl Emit for Expand<'_> {
    type Value = Value;

    fn constant(&mut self, ty: Type, bits: u32) -> Value {
        self.0.constant(ty, bits)
    }

    fn op(&mut self, op: Op, args: &[Value]) -> Value {
        let known = |&value: &Value| self.known(value).is_some();
        if !op.is_load() && args.iter().all(known) {
            return self.0.op(op, args);
        }
        match op {
            Op::Shl if !known(&args[1]) => self.shl(args[0], args[1]),
            Op::LShr | Op::AShr if !known(&args[1]) => self.shift(op, args[0], args[1]),
            // Constants from earlier expansions may allow a simplification.
            _ if op.is_composite() => simplify::simplify(self.0, op, args)
                .or_else(|| op.expand(self, args))
                .expect("composite operations have expansions"),
            _ => self.0.op(op, args),
        }
    }

    fn known(&self, value: Value) -> Option<u32> {
        self.0.known(value)
    }

    fn range(&self, value: Value) -> [f32; 2] {
        let range = value_tracking::float_for_expansion(self.0.function(), value);
        [range.lo, range.hi]
    }
}

impl Expand<'_> {
    /// x · 2ⁿ, with the power of two constructed as a float. 2³¹ does not fit a signed integer, but
    /// `truncate_to_int` yields 0x80000000, which is correct.
    fn shl(&mut self, x: Value, amount: Value) -> Value {
        let (mask, bias, mantissa_bits) = (self.i32(31), self.i32(127), self.i32(23));
        let amount = self.op(Op::And, &[amount, mask]);
        let biased = self.op(Op::IAdd, &[amount, bias]);
        let bits = self.op(Op::Shl, &[biased, mantissa_bits]);
        let float = self.op(Op::Float, &[bits]);
        let power = self.op(Op::TruncateToInt, &[float]);
        self.op(Op::IMul, &[x, power])
    }

    /// One conditional shift per bit of the amount.
    fn shift(&mut self, op: Op, mut x: Value, amount: Value) -> Value {
        let zero = self.i32(0);
        for bit in 0..5 {
            let step = self.i32(1 << bit);
            let masked = self.op(Op::And, &[amount, step]);
            let clear = self.op(Op::IEq, &[masked, zero]);
            let shifted = self.op(op, &[x, step]);
            x = self.op(Op::Select, &[clear, x, shifted]);
        }
        x
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interpreter;
    use crate::ir::Table;
    use crate::ir::text::parse;
    use crate::testing::{op_function, random, same};

    #[test]
    fn expanded_shifts_preserve_every_bit() {
        for op in [Op::Shl, Op::LShr, Op::AShr] {
            let mut b = Builder::new("shift", Rules::Exact);
            let (x, n) = (b.input("x", Type::I32), b.input("n", Type::I32));
            let shifted = b.op(op, &[x, n]);
            let function = run(&b.finish([("shifted".to_owned(), shifted)]));
            for mut row in random::special_rows(&function.inputs, 1000, 11) {
                for amount in [row[1], row[1] & 31] {
                    row[1] = amount;
                    let result =
                        interpreter::run(&function, &[], &row, 0).expect("there are no loops");
                    assert_eq!(result, [op.eval(&row)], "{} {row:x?}", op.name());
                }
            }
        }
    }

    #[test]
    fn expanded_composite_operations_preserve_every_bit() {
        for &op in Op::ALL.iter().filter(|op| op.is_composite()) {
            let unexpanded = op_function(op);
            let function = run(&unexpanded);
            let tables = random::tables();
            for row in random::special_rows(&function.inputs, 300, 11) {
                let run = |function| {
                    interpreter::run(function, &tables, &row, 0).expect("there are no loops")[0]
                };
                let (result, expected) = (run(&function), run(&unexpanded));
                let equal = same(function.outputs[0].ty, result, expected);
                assert!(equal, "{} {row:x?}: {result:x?}, not {expected:x}\n{function}", op.name());
            }
        }
    }

    #[test]
    fn expansions_for_known_ranges_preserve_every_bit() {
        let count = |text: &str| {
            let text =
                format!("fn f(x: f32, y: f32) -> (r: f32) {{ {text} %r = exp %a return %r }}");
            let unexpanded = parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
            let function = run(&unexpanded);
            // All exponents, and more of those near the limits.
            let sweep = (0..4000).flat_map(|k| {
                let x = -110.0 + 0.05 * k as f32;
                [[x, 1.0], [x.abs().sqrt(), 1.0], [1.0 + x * 1e-6, 0.1], [x * 1e-30, 1e-38]]
            });
            let rows = sweep.map(|row| row.map(f32::to_bits).to_vec());
            for row in rows.chain(random::special_rows(&function.inputs, 2000, 5)) {
                let run = |function| {
                    interpreter::run(function, &[], &row, 0).expect("there are no loops")[0]
                };
                let (result, expected) = (run(&function), run(&unexpanded));
                assert!(
                    same(Type::F32, result, expected),
                    "{row:x?}: {result:x}, not {expected:x}\n{function}"
                );
            }
            function.len()
        };
        let general = count("%a = add x, 0.5");
        for (text, saved) in [
            ("%a = min x, 0.0", 2),
            ("%b = mul x, x %a = neg %b", 2),
            ("%b = mul x, x %c = mul y, y %d = div %b, %c %a = neg %d", 0),
            ("%b = min x, 60.0 %a = max %b, -30.0", 4),
            ("%a = max x, -86.6", 3),
            ("%a = max x, -86.7", 0),
            ("%b = max x, -80.0 %a = min %b, 88.0", 4),
            ("%a = max x, -100.0", 0),
        ] {
            let length = count(text);
            assert!(length + saved <= general, "{text}: {length}, not {general} − {saved}");
        }
    }

    #[test]
    fn loads_are_not_folded() {
        let mut b = Builder::new("load", Rules::Relaxed);
        let (table, index) = (b.i32(1), b.i32(2));
        let word = b.op(Op::Load, &[table, index]);
        let again = b.op(Op::Load, &[table, index]);
        assert_eq!(word, again);
        let function = run(&b.finish([("word".to_owned(), word)]));
        assert_eq!(function.tables(), 2);
        for words in [[1, 2, 3], [4, 5, 6]] {
            let tables = [Table::new(&[0]), Table::new(&words)];
            assert_eq!(interpreter::run(&function, &tables, &[], 0), Ok(vec![words[2]]));
        }
    }
}
