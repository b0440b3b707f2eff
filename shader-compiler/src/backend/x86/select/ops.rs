//! Selection of instructions for each basic operation, in [`Selector::op`].
//!
//! Complements, NaN tests and masks are merged into the instruction that uses them.

use super::{ALL_ONES, Selector};
use crate::backend::x86::machine::{Home, Opcode, VReg};
use crate::ir::table::MAX_TABLES;
use crate::ir::{Op, Value};

const SIGN_BIT: u32 = 0x8000_0000;

/// Immediates of `cmpps`.
mod predicate {
    pub const EQ: u32 = 0;
    pub const LT: u32 = 1;
    pub const LE: u32 = 2;
    /// At least one operand is NaN.
    pub const UNORDERED: u32 = 3;
    /// Offset from a predicate to its complement.
    pub const NOT: u32 = 4;
}

impl Selector<'_> {
    /// Selects the instructions of an operation, last one first.
    pub(super) fn op(&mut self, dst: VReg, op: Op, [a, b, c]: [Value; 3]) {
        match op {
            Op::Add => self.binary(Opcode::Add, dst, a, b),
            Op::Sub => self.binary(Opcode::Sub, dst, a, b),
            // x + x has the same bits as 2x, a lower latency, and needs no constant.
            Op::Mul if self.is_const(b, 2f32.to_bits()) => self.binary(Opcode::Add, dst, a, a),
            Op::Mul => self.binary(Opcode::Mul, dst, a, b),
            Op::Div => self.binary(Opcode::Div, dst, a, b),
            Op::Neg => self.with_constant(Opcode::Xor, dst, a, SIGN_BIT),
            Op::Abs => self.with_constant(Opcode::And, dst, a, !SIGN_BIT),
            Op::Sqrt => self.unary(Opcode::Sqrt, dst, a, 0),
            // `minps` and `maxps` return their second operand if the comparison fails.
            Op::Min => self.binary(Opcode::Min, dst, b, a),
            Op::Max => self.binary(Opcode::Max, dst, b, a),
            // Bit 3 suppresses the precision exception.
            Op::Round => self.unary(Opcode::Round, dst, a, 8),
            Op::Floor => self.unary(Opcode::Round, dst, a, 8 | 1),
            Op::Ceil => self.unary(Opcode::Round, dst, a, 8 | 2),
            Op::Trunc => self.unary(Opcode::Round, dst, a, 8 | 3),
            Op::Lt | Op::Le | Op::Eq => self.comparison(dst, op, [a, b], false),
            Op::IAdd => self.binary(Opcode::IAdd, dst, a, b),
            Op::ISub => self.binary(Opcode::ISub, dst, a, b),
            Op::IMul => self.binary(Opcode::IMul, dst, a, b),
            Op::SMin => self.binary(Opcode::SMin, dst, a, b),
            Op::SMax => self.binary(Opcode::SMax, dst, a, b),
            Op::UMin => self.binary(Opcode::UMin, dst, a, b),
            Op::UMax => self.binary(Opcode::UMax, dst, a, b),
            Op::BAnd if let [Some(x), Some(y)] = [a, b].map(|value| self.tested_not_nan(value)) => {
                self.unordered(dst, [x, y], true)
            }
            Op::And | Op::BAnd => self.and(dst, a, b),
            Op::BOr if let [Some(x), Some(y)] = [a, b].map(|value| self.tested_nan(value)) => {
                self.unordered(dst, [x, y], false)
            }
            Op::Or | Op::BOr => self.binary(Opcode::Or, dst, a, b),
            Op::Xor | Op::BXor => self.binary(Opcode::Xor, dst, a, b),
            Op::Shl => self.shift(Opcode::Shl, dst, a, b),
            Op::LShr => self.shift(Opcode::LShr, dst, a, b),
            Op::AShr => self.shift(Opcode::AShr, dst, a, b),
            Op::SLt => self.binary(Opcode::IGt, dst, b, a),
            Op::ULt => self.unsigned_less(dst, a, b),
            Op::IEq => self.binary(Opcode::IEq, dst, a, b),
            Op::BNot => self.not(dst, a),
            Op::Select => self.select(dst, [a, b, c]),
            Op::FromS32 => self.unary(Opcode::FromS32, dst, a, 0),
            Op::TruncateToInt => self.unary(Opcode::TruncateToInt, dst, a, 0),
            Op::Load => self.load(dst, a, b),
            Op::Bits | Op::Float | Op::Any => {
                unreachable!("bit casts and `any` share the vreg of their argument")
            }
            _ => panic!("`{}` does not occur after lowering", op.name()),
        }
    }

    /// Whether a value is a comparison of floats with a single use. Its complement costs the same.
    pub(super) fn is_comparison(&self, value: Value) -> bool {
        matches!(self.single_use_op(value), Some((Op::Lt | Op::Le | Op::Eq, _)))
    }

    fn binary(&mut self, op: Opcode, dst: VReg, a: Value, b: Value) {
        let (a, b) = (self.read(a), self.read(b));
        self.push(op, dst, a, b);
    }

    fn unary(&mut self, op: Opcode, dst: VReg, a: Value, imm: u32) {
        let a = self.read(a);
        self.push_full(op, dst, [a; 3], imm);
    }

    fn with_constant(&mut self, op: Opcode, dst: VReg, a: Value, bits: u32) {
        let (a, b) = (self.read(a), self.constant(bits));
        self.push(op, dst, a, b);
    }

    /// Selects a comparison of floats, or its complement.
    fn comparison(&mut self, dst: VReg, op: Op, [a, b]: [Value; 2], complement: bool) {
        let not = if complement { predicate::NOT } else { 0 };
        let (a_homed, b_homed) = (self.is_homed(a), self.is_homed(b));
        let (a, b) = (self.read(a), self.read(b));
        match op {
            Op::Eq => self.push_full(Opcode::CmpCommutative, dst, [a, b, a], predicate::EQ + not),
            Op::Lt | Op::Le => {
                let less = if op == Op::Lt { predicate::LT } else { predicate::LE };
                if self.vex && a_homed && !b_homed {
                    // Predicates that SSE lacks: gt 14, ge 13, ngt 10, nge 9.
                    let greater = 15 - less - if complement { 4 } else { 0 };
                    self.push_full(Opcode::Cmp, dst, [b, a, b], greater);
                } else {
                    self.push_full(Opcode::Cmp, dst, [a, b, a], less + not);
                }
            }
            _ => unreachable!("`{}` is not a comparison of floats", op.name()),
        }
    }

    /// Selects a test whether either of two floats is NaN, or its complement.
    fn unordered(&mut self, dst: VReg, [a, b]: [Value; 2], complement: bool) {
        let (a, b) = (self.read(a), self.read(b));
        let not = if complement { predicate::NOT } else { 0 };
        self.push_full(Opcode::CmpCommutative, dst, [a, b, a], predicate::UNORDERED + not);
    }

    /// The float that a value tests for not being NaN, if the value is such a test with a single
    /// use.
    fn tested_not_nan(&self, value: Value) -> Option<Value> {
        match self.single_use_op(value)? {
            (Op::Eq, [a, b, _]) if a == b => Some(a),
            _ => None,
        }
    }

    /// The float that a value tests for NaN, if the value is such a test with a single use.
    fn tested_nan(&self, value: Value) -> Option<Value> {
        match self.single_use_op(value)? {
            (Op::BNot, [a, ..]) => self.tested_not_nan(a),
            _ => None,
        }
    }

    fn not(&mut self, dst: VReg, a: Value) {
        if self.is_comparison(a)
            && let Some((op, [x, y, _])) = self.single_use_op(a)
        {
            self.comparison(dst, op, [x, y], true);
        } else {
            self.with_constant(Opcode::Xor, dst, a, ALL_ONES);
        }
    }

    /// The argument of a complement with a single use.
    fn complement(&self, value: Value) -> Option<Value> {
        match self.single_use_op(value)? {
            (Op::BNot, [a, ..]) if !self.is_comparison(a) => Some(a),
            (Op::Xor, [a, b, _]) if self.is_const(b, ALL_ONES) => Some(a),
            _ => None,
        }
    }

    fn and(&mut self, dst: VReg, a: Value, b: Value) {
        if let Some(inner) = self.complement(a) {
            self.binary(Opcode::AndNot, dst, inner, b);
        } else if let Some(inner) = self.complement(b) {
            self.binary(Opcode::AndNot, dst, inner, a);
        } else {
            self.binary(Opcode::And, dst, a, b);
        }
    }

    fn shift(&mut self, op: Opcode, dst: VReg, a: Value, amount: Value) {
        let amount =
            self.function.constant(amount).expect("shift amounts are constants after lowering");
        let a = self.read(a);
        self.push_full(op, dst, [a; 3], amount & 31);
    }

    fn unsigned_less(&mut self, dst: VReg, a: Value, b: Value) {
        match (self.function.constant(a), self.function.constant(b)) {
            (_, Some(bound)) if bound != 0 => {
                let a = self.read(a);
                let last = self.constant(bound - 1);
                let min = self.fresh(Home::None);
                self.push(Opcode::IEq, dst, min, a);
                self.push(Opcode::UMin, min, a, last);
            }
            (Some(bound), _) if bound != ALL_ONES => {
                let b = self.read(b);
                let first = self.constant(bound + 1);
                let max = self.fresh(Home::None);
                self.push(Opcode::IEq, dst, max, b);
                self.push(Opcode::UMax, max, b, first);
            }
            _ => {
                let (a, b) = (self.read(a), self.read(b));
                let ones = self.constant(ALL_ONES);
                let max = self.fresh(Home::None);
                let not_less = self.fresh(Home::None);
                self.push(Opcode::Xor, dst, not_less, ones);
                self.push(Opcode::IEq, not_less, max, a);
                self.push(Opcode::UMax, max, a, b);
            }
        }
    }

    fn select(&mut self, dst: VReg, [cond, mut then, mut otherwise]: [Value; 3]) {
        let mut cond = cond;
        if let Some(inner) = self.complement(cond) {
            cond = inner;
            std::mem::swap(&mut then, &mut otherwise);
        }
        if self.is_const(otherwise, 0) || otherwise == cond {
            return self.binary(Opcode::And, dst, cond, then);
        }
        if self.is_const(then, 0) {
            return self.binary(Opcode::AndNot, dst, cond, otherwise);
        }
        if self.is_const(then, ALL_ONES) || then == cond {
            return self.binary(Opcode::Or, dst, cond, otherwise);
        }
        let mut mask = self.vregs[cond.index()];
        if self.is_homed(otherwise)
            && !self.is_homed(then)
            && self.is_comparison(cond)
            && let Some((op, [a, b, _])) = self.single_use_op(cond)
        {
            // Only one arm may be a memory operand. Computing the complement swaps the arms.
            mask = self.fresh(Home::None);
            let (t, e) = (self.read(then), self.read(otherwise));
            self.blend(dst, t, e, mask);
            return self.comparison(mask, op, [a, b], true);
        }
        self.needed[mask.index()] = true;
        let (t, e) = (self.read(then), self.read(otherwise));
        self.blend(dst, e, t, mask);
    }

    /// Selects a table lookup. Clamps every index, even one that is known to be in range, so that
    /// no code reads out of bounds.
    fn load(&mut self, dst: VReg, table: Value, index: Value) {
        let table = self.function.constant(table).expect("table indices are constants");
        assert!(table < MAX_TABLES, "table {table} is out of range");
        self.tables = self.tables.max(table as usize + 1);
        let index = self.read(index);
        let last = match self.last.get(&table) {
            Some(&last) => last,
            None => {
                let last = self.fresh(Home::Last(table));
                self.last.insert(table, last);
                last
            }
        };
        let clamped = self.fresh(Home::None);
        self.push_full(Opcode::Gather, dst, [clamped; 3], table);
        self.push(Opcode::UMin, clamped, index, last);
    }

    /// Selects a blend: `b` where `mask` is set, else `a`.
    fn blend(&mut self, dst: VReg, a: VReg, b: VReg, mask: VReg) {
        self.masks_in_xmm0 |= !self.vex;
        self.push_full(Opcode::Blend, dst, [a, b, mask], 0);
    }
}
