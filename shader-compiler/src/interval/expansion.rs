//! Forms of composite operations that have none of their own: their expansion, each of its
//! operations on intervals.
//!
//! That keeps containment, and loosely: what occurs twice in an expansion is taken for two, but by
//! squares.

use super::{Facts, Forms, Interval, Nan};
use crate::analysis::Bounds;
use crate::ir::{Emit, Op, Type};

/// Writes expansions, on intervals.
struct Expansion<'f, 'e, E: Emit> {
    forms: &'f mut Forms<'e, E>,
    /// How many steps there are.
    steps: usize,
}

/// A value of an expansion.
#[derive(Clone, Copy, Debug)]
struct Step<V> {
    interval: Interval<V>,
    ty: Type,
    /// Which step it came from.
    index: usize,
}

impl<E: Emit<Value: PartialEq>> Expansion<'_, '_, E> {
    fn step(
        &mut self,
        [lo, hi]: [E::Value; 2],
        ty: Type,
        known: Bounds,
        number: bool,
    ) -> Step<E::Value> {
        let facts = match &known {
            Bounds::Float(floats) => {
                Facts { nan: floats.nan, negative_zero: floats.negative_zero, number }
            }
            _ => Facts { nan: false, negative_zero: false, number },
        };
        self.steps += 1;
        Step { interval: Interval { lo, hi, known, facts }, ty, index: self.steps }
    }
}

impl<E: Emit<Value: PartialEq>> Emit for Expansion<'_, '_, E> {
    type Value = Step<E::Value>;

    fn constant(&mut self, ty: Type, bits: u32) -> Step<E::Value> {
        let mut value = self.forms.emit.constant(ty, bits);
        let mut known = Bounds::constant(ty, bits);
        if ty == Type::F32 && self.forms.nan == Nan::Suppress && known.floats().nan {
            value = self.forms.or_zero(value);
            known = known.join(&Bounds::constant(ty, 0));
        }
        self.step([value; 2], ty, known, true)
    }

    fn op(&mut self, op: Op, args: &[Step<E::Value>]) -> Step<E::Value> {
        let ty = op.signature().result.unwrap_or_else(|| args[args.len() - 1].ty);
        let number = args.iter().all(|arg| arg.interval.facts.number);
        let ends = if number {
            let numbers: Vec<_> = args.iter().map(|arg| arg.interval.lo).collect();
            let result = self.forms.emit.op(op, &numbers);
            if ty == Type::F32 && self.forms.nan == Nan::Suppress {
                [self.forms.or_zero(result); 2]
            } else {
                [result; 2]
            }
        } else {
            let intervals: Vec<_> = args.iter().map(|arg| arg.interval).collect();
            self.forms.same = matches!(args, [a, b] if a.index == b.index);
            self.forms.apply(op, &intervals)
        };
        self.step(ends, ty, Bounds::all(ty), number)
    }

    fn known(&self, value: Step<E::Value>) -> Option<u32> {
        if value.interval.facts.number { self.forms.emit.known(value.interval.lo) } else { None }
    }
}

impl<E: Emit<Value: PartialEq>> Forms<'_, E> {
    /// A composite operation, by its expansion. Tests what the operations of that test.
    pub(super) fn expanded(&mut self, op: Op, args: &[Interval<E::Value>]) -> [E::Value; 2] {
        let same = self.same;
        let mut expansion = Expansion { forms: self, steps: args.len() };
        let types =
            op.signature().args.iter().map(|ty| ty.expect("composite operations have types"));
        let of = |(index, (&interval, ty))| {
            let index = if same { 0 } else { index };
            Step { interval, ty, index }
        };
        let steps: Vec<_> = args.iter().zip(types).enumerate().map(of).collect();
        let result =
            op.expand(&mut expansion, &steps).expect("basic operations have forms of their own");
        self.same = same;
        self.case = "expansion";
        [result.interval.lo, result.interval.hi]
    }
}

#[cfg(test)]
mod tests {
    use crate::interval::testing::Form;
    use crate::ir::Op;

    #[test]
    fn expansions_are_contained() {
        Form::of(Op::Rem).not_quite_monotone().check_floats(&[[-20.0, 20.0], [-5.0, 5.0]], 2_000);
        Form::of(Op::Rem).not_quite_monotone().check_floats(&[[-20.0, 20.0], [1.0, 5.0]], 2_000);
    }
}
