//! Powers and roots.

use super::{Forms, Interval};
use crate::ir::Emit;
use crate::math::Steps;

impl<E: Emit<Value: PartialEq>> Forms<'_, E> {
    /// √a. Tests that a ≥ 0, unless that is known.
    pub(super) fn sqrt(&mut self, a: &Interval<E::Value>) -> [E::Value; 2] {
        self.case = if a.is_within(0.0, f32::INFINITY) { "a ≥ 0" } else { "general" };
        self.require_at_least(a, 0.0);
        self.cut_below(a, 0.0).map(|end| self.emit.sqrt(end))
    }
}

#[cfg(test)]
mod tests {
    use super::super::trial::try_form;
    use crate::ir::Op;

    const POSITIVE: [f32; 2] = [0.0, f32::INFINITY];

    #[test]
    fn roots_keep_the_contract_in_all_cases() {
        assert_eq!(try_form(Op::Sqrt, &[POSITIVE], false, 20_000), ["a ≥ 0", "general"].into_iter().collect());
    }
}
