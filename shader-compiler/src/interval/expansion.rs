//! Lowering of composite operations that have no lowering of their own: the operations of their
//! expansion are lowered one by one.
//!
//! This is conservative but not tight: two uses of a value in an expansion are treated as
//! independent, except in squares.

use super::{Bounds, Facts, Interval, Nan, OpLowering};
use crate::ir::{Emit, Op, Type};

/// Lowers the operations of an expansion to operations on intervals.
struct Expansion<'f, 'e, E: Emit> {
    lowering: &'f mut OpLowering<'e, E>,
    /// Number of steps so far.
    steps: usize,
}

/// A value of an expansion.
#[derive(Clone, Copy, Debug)]
struct Step<V> {
    interval: Interval<V>,
    ty: Type,
    /// The step that computed it.
    index: usize,
}

impl<E: Emit<Value: PartialEq>> Expansion<'_, '_, E> {
    fn step(
        &mut self,
        [lo, hi]: [E::Value; 2],
        ty: Type,
        known: Bounds,
        singleton: bool,
    ) -> Step<E::Value> {
        let facts = match &known {
            Bounds::Float(floats) => {
                Facts { nan: floats.nan, negative_zero: floats.negative_zero, singleton }
            }
            _ => Facts { nan: false, negative_zero: false, singleton },
        };
        self.steps += 1;
        Step { interval: Interval { lo, hi, known, facts }, ty, index: self.steps }
    }
}

impl<E: Emit<Value: PartialEq>> Emit for Expansion<'_, '_, E> {
    type Value = Step<E::Value>;

    fn constant(&mut self, ty: Type, bits: u32) -> Step<E::Value> {
        let mut value = self.lowering.emit.constant(ty, bits);
        let mut known = Bounds::constant(ty, bits);
        if ty == Type::F32 && self.lowering.nan == Nan::Suppress && known.floats().nan {
            value = self.lowering.nan_to_zero(value);
            known = known.join(&Bounds::constant(ty, 0));
        }
        self.step([value; 2], ty, known, true)
    }

    fn op(&mut self, op: Op, args: &[Step<E::Value>]) -> Step<E::Value> {
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
        self.step(endpoints, ty, Bounds::all(ty), singleton)
    }

    fn known(&self, value: Step<E::Value>) -> Option<u32> {
        if value.interval.facts.singleton {
            self.lowering.emit.known(value.interval.lo)
        } else {
            None
        }
    }
}

impl<E: Emit<Value: PartialEq>> OpLowering<'_, E> {
    /// A composite operation, by its expansion. Tests everything that its operations test.
    pub(super) fn expanded(&mut self, op: Op, args: &[Interval<E::Value>]) -> [E::Value; 2] {
        let same = self.same;
        let mut expansion = Expansion { lowering: self, steps: args.len() };
        let types =
            op.signature().args.iter().map(|ty| ty.expect("composite operations have types"));
        let step = |(index, (&interval, ty))| {
            let index = if same { 0 } else { index };
            Step { interval, ty, index }
        };
        let steps: Vec<_> = args.iter().zip(types).enumerate().map(step).collect();
        let result = op
            .expand(&mut expansion, &steps)
            .expect("basic operations have lowerings of their own");
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
