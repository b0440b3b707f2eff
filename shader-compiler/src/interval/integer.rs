//! Integers, which are ordered as signed. Where a result wraps around for some operands and not for others, it is anything.

use super::{Forms, Interval};
use crate::ir::Emit;
use crate::math::Steps;

impl<E: Emit<Value: PartialEq>> Forms<'_, E> {
    /// Least and greatest as unsigned: from zero to all bits set where the sign is not the same for all.
    pub(super) fn unsigned(&mut self, a: &Interval<E::Value>) -> [E::Value; 2] {
        if a.is_number() || has_one_sign(a) {
            return [a.lo, a.hi];
        }
        let spans = self.sign_differs(a.lo, a.hi);
        let same = self.emit.i32(-1);
        let same = self.emit.xor(spans, same);
        [self.emit.and(a.lo, same), self.emit.or(a.hi, spans)]
    }

    /// All bits set where the signs of integers differ, else none.
    pub(super) fn sign_differs(&mut self, a: E::Value, b: E::Value) -> E::Value {
        let signs = self.emit.xor(a, b);
        let all = self.emit.i32(31);
        self.emit.ashr(signs, all)
    }
}

/// Whether all members are known to be negative, or none to be.
fn has_one_sign<V>(a: &Interval<V>) -> bool {
    a.known.ints().hull().is_some_and(|[least, most]| least >= 0 || most < 0)
}
