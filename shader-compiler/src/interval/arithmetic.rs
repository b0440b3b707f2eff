//! Sums, products and what is like them.

use super::{Forms, Interval, Nan};
use crate::ir::Emit;
use crate::math::Steps;

impl<E: Emit<Value: PartialEq>> Forms<'_, E> {
    /// a + b
    pub(super) fn add(&mut self, a: &Interval<E::Value>, b: &Interval<E::Value>) -> [E::Value; 2] {
        self.case = "ends";
        let lo = self.emit.add(a.lo, b.lo);
        let hi = self.emit.add(a.hi, b.hi);
        self.defined(a, b, [lo, hi])
    }

    /// Ends of sums, without NaN where that is suppressed. It comes from infinities of unlike sign, and says nothing.
    fn defined(&mut self, _a: &Interval<E::Value>, _b: &Interval<E::Value>, [lo, hi]: [E::Value; 2]) -> [E::Value; 2] {
        if self.nan != Nan::Suppress {
            return [lo, hi];
        }
        let (least, most) = (self.emit.f32(f32::NEG_INFINITY), self.emit.f32(f32::INFINITY));
        [self.emit.max(least, lo), self.emit.min(most, hi)]
    }
}
