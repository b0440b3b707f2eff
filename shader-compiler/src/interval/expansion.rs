//! The fallback for composite operations without a lowering of their own: lowers the operations of
//! their expansion one by one.
//!
//! This is conservative but not tight: several uses of a value in an expansion are treated as
//! independent, except in squares (the dependency problem of interval arithmetic).

use super::{Bounds, Facts, Interval, Nan, OpLowering};
use crate::ir::{Emit, Op, Type};

/// Lowers each emitted operation of an expansion to operations on endpoints.
struct ExpansionEmitter<'f, 'e, E: Emit> {
    lowering: &'f mut OpLowering<'e, E>,
    /// Number of values so far, including the arguments.
    values: usize,
}

/// A value of an expansion.
#[derive(Clone, Copy, Debug)]
struct ExpansionValue<V> {
    interval: Interval<V>,
    ty: Type,
    /// Identifies the value; the same for arguments that are one value.
    index: usize,
}

impl<E: Emit<Value: PartialEq>> ExpansionEmitter<'_, '_, E> {
    fn define(
        &mut self,
        [lo, hi]: [E::Value; 2],
        ty: Type,
        known: Bounds,
        singleton: bool,
    ) -> ExpansionValue<E::Value> {
        let facts = match &known {
            Bounds::Float(floats) => {
                Facts { nan: floats.nan, negative_zero: floats.negative_zero, singleton }
            }
            _ => Facts { nan: false, negative_zero: false, singleton },
        };
        self.values += 1;
        ExpansionValue { interval: Interval { lo, hi, known, facts }, ty, index: self.values }
    }
}

impl<E: Emit<Value: PartialEq>> Emit for ExpansionEmitter<'_, '_, E> {
    type Value = ExpansionValue<E::Value>;

    fn constant(&mut self, ty: Type, bits: u32) -> ExpansionValue<E::Value> {
        let mut value = self.lowering.emit.constant(ty, bits);
        let mut known = Bounds::constant(ty, bits);
        if ty == Type::F32 && self.lowering.nan == Nan::Suppress && known.floats().nan {
            value = self.lowering.nan_to_zero(value);
            known = known.join(&Bounds::constant(ty, 0));
        }
        self.define([value; 2], ty, known, true)
    }

    fn op(&mut self, op: Op, args: &[ExpansionValue<E::Value>]) -> ExpansionValue<E::Value> {
        let ty = op.signature().result.unwrap_or_else(|| args[args.len() - 1].ty);
        let singleton = args.iter().all(|arg| arg.interval.facts.singleton);
        let endpoints = if singleton {
            let scalars: Vec<_> = args.iter().map(|arg| arg.interval.lo).collect();
            let result = self.lowering.emit.op(op, &scalars);
            if ty == Type::F32 && self.lowering.nan == Nan::Suppress {
                [self.lowering.nan_to_zero(result); 2]
            } else {
                [result; 2]
            }
        } else {
            let intervals: Vec<_> = args.iter().map(|arg| arg.interval).collect();
            self.lowering.same = matches!(args, [a, b] if a.index == b.index);
            self.lowering.apply(op, &intervals)
        };
        self.define(endpoints, ty, Bounds::all(ty), singleton)
    }

    fn known(&self, value: ExpansionValue<E::Value>) -> Option<u32> {
        if value.interval.facts.singleton {
            self.lowering.emit.known(value.interval.lo)
        } else {
            None
        }
    }
}

impl<E: Emit<Value: PartialEq>> OpLowering<'_, E> {
    /// Lowers a composite operation through its expansion. Tests everything that the operations of
    /// the expansion test.
    pub(super) fn lower_expansion(&mut self, op: Op, args: &[Interval<E::Value>]) -> [E::Value; 2] {
        let same = self.same;
        let mut emitter = ExpansionEmitter { lowering: self, values: args.len() };
        let types = op
            .signature()
            .args
            .iter()
            .map(|ty| ty.expect("arguments of composite operations have fixed types"));
        let value = |(index, (&interval, ty))| {
            let index = if same { 0 } else { index };
            ExpansionValue { interval, ty, index }
        };
        let values: Vec<_> = args.iter().zip(types).enumerate().map(value).collect();
        let result =
            op.expand(&mut emitter, &values).expect("basic operations have their own lowerings");
        self.same = same;
        self.case = "expansion";
        [result.interval.lo, result.interval.hi]
    }
}

#[cfg(test)]
mod tests {
    use crate::interval::testing::OpTest;
    use crate::ir::Op;

    #[test]
    fn expansions_contain_results_of_members() {
        OpTest::of(Op::Rem).not_quite_monotone().check_floats(&[[-20.0, 20.0], [-5.0, 5.0]], 2_000);
        OpTest::of(Op::Rem).not_quite_monotone().check_floats(&[[-20.0, 20.0], [1.0, 5.0]], 2_000);
    }
}
