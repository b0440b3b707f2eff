//! Rounding to integers, and what is made of it.

use super::{Forms, Interval};
use crate::ir::{Emit, Op};

impl<E: Emit<Value: PartialEq>> Forms<'_, E> {
    /// An integer next to a: one of `floor`, `ceil`, `trunc` and `round`. Tests nothing.
    pub(super) fn whole(&mut self, op: Op, a: &Interval<E::Value>) -> [E::Value; 2] {
        self.case = "ends";
        a.ends().map(|end| self.emit.op(op, &[end]))
    }
}

#[cfg(test)]
mod tests {
    use super::super::trial::try_form;
    use super::*;

    const ALL_FLOATS: [f32; 2] = [f32::NEG_INFINITY, f32::INFINITY];

    #[test]
    fn rounding_keeps_the_contract() {
        for op in [Op::Floor, Op::Ceil, Op::Trunc, Op::Round] {
            assert_eq!(try_form(op, &[ALL_FLOATS], false, 10_000), ["ends"].into_iter().collect());
        }
    }
}
