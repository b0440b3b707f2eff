//! Translates `switch` to a chain of `if`s, or to a tree if there are many cases.

use super::control::{Step, steps_of};
use super::exits::{BREAK, ExitCondition, Flow, NO_EXIT, or};
use super::translate::{Fault, Frame, Translator};
use crate::ir::{Emit, Op, Value};
use naga::{Expression, Handle, SwitchValue};

/// The cases of a `switch` that share a body.
struct CaseGroup<'m> {
    steps: Vec<Step<'m>>,
    /// Whether the selector matches a case; `None` if the default is among the cases.
    test: Option<Value>,
}

/// Maximum number of groups for a chain.
const MAX_CHAIN: usize = 8;

impl<'m> Translator<'m> {
    /// Translates a `switch`.
    pub(super) fn switch(
        &mut self,
        frame: &mut Frame<'m>,
        selector: Handle<Expression>,
        cases: &'m [naga::SwitchCase],
        tail: bool,
    ) -> Result<Flow, Fault> {
        let selector = self.scalar(frame, selector)?;
        let (mut groups, mut default) = (vec![], None);
        let (mut test, mut is_default) = (None, false);
        for (k, case) in cases.iter().enumerate() {
            self.charge(1)?;
            let value = match case.value {
                SwitchValue::I32(value) => Some(value),
                SwitchValue::U32(value) => Some(value as i32),
                SwitchValue::Default => None,
            };
            if let Some(value) = value {
                let value = self.builder.i32(value);
                let equal = self.op(Op::IEq, &[selector, value]);
                test = Some(test.map_or(equal, |test| or(&mut self.builder, test, equal)));
            } else {
                is_default = true;
            }
            if case.fall_through && case.body.is_empty() {
                continue;
            }
            let last = cases[k..]
                .iter()
                .position(|case| !case.fall_through)
                .map_or(cases.len() - 1, |more| k + more);
            let steps: Vec<_> =
                cases[k..=last].iter().flat_map(|case| steps_of(&case.body)).collect();
            self.charge(steps.len())?;
            let group = CaseGroup { steps, test: test.take() };
            if std::mem::take(&mut is_default) {
                default = Some(group);
            } else {
                groups.push(group);
            }
        }
        groups.extend(default);
        let mut flow = self.cases(frame, &groups, tail)?;
        flow[BREAK] = ExitCondition::Never;
        Ok(flow)
    }

    /// Translates groups; the last one runs if no other matches.
    fn cases(
        &mut self,
        frame: &mut Frame<'m>,
        groups: &[CaseGroup<'m>],
        tail: bool,
    ) -> Result<Flow, Fault> {
        let split = match groups {
            [] => return Ok(NO_EXIT),
            [group] => return self.sequence(frame, &group.steps, tail),
            _ if groups.len() <= MAX_CHAIN => 1,
            _ => groups.len() / 2,
        };
        let (first, second) = groups.split_at(split);
        let mut test = self.builder.bool(false);
        for group in first {
            test = or(
                &mut self.builder,
                test,
                group.test.expect("only the last group is the default"),
            );
        }
        match self.builder.known_bool(test) {
            Some(true) => return self.cases(frame, first, tail),
            Some(false) => return self.cases(frame, second, tail),
            None => {}
        }
        let arms = [
            self.arm(frame, |translator, frame| translator.cases(frame, first, tail))?,
            self.arm(frame, |translator, frame| translator.cases(frame, second, tail))?,
        ];
        Ok(self.join(frame, test, arms, tail))
    }
}

#[cfg(test)]
mod tests {
    use crate::frontend::testing::{check, check_all, translate};

    #[test]
    fn cases_share_bodies_and_break() {
        let source = "fn f(x: i32) -> i32 {
            var a = 0;
            switch x {
                case 1 { a = 10; }
                case 2, 3 { if x == 3 { break; } a = 20; }
                case -4: { return -40; }
                case 5, default { a = 50; }
            }
            return a + 1;
        }";
        check_all(source, -6..8, |x| match x {
            1 => 11,
            2 => 21,
            3 => 1,
            -4 => -40,
            _ => 51,
        });
    }

    #[test]
    fn large_switches_become_trees() {
        let cases: String =
            (0..100).map(|k| format!("case {}u: {{ a = {}u; }} ", 3 * k, k * k + 1)).collect();
        let f = translate(&format!(
            "fn f(x: u32) -> u32 {{ var a = 7u; switch x {{ default: {{}} {cases} }} return a; }}"
        ));
        for x in 0..310 {
            let expected = if x % 3 == 0 && x < 300 { (x / 3) * (x / 3) + 1 } else { 7 };
            check(&f, &[x], &[expected]);
        }
    }

    #[test]
    fn break_leaves_the_switch_and_continue_the_loop() {
        let source = "fn f(x: i32) -> i32 {
            var sum = 0;
            for (var i = 0; i < 10; i++) {
                switch i & 3 {
                    case 0 { continue; }
                    case 1 { sum += 1; break; }
                    case 2 { if i > x { return sum; } }
                    default { sum += 100; }
                }
                sum += 1000;
            }
            return sum;
        }";
        check_all(source, -1..12, |x| {
            let mut sum = 0;
            for i in 0..10 {
                match i & 3 {
                    0 => continue,
                    1 => sum += 1,
                    2 if i > x => return sum,
                    2 => {}
                    _ => sum += 100,
                }
                sum += 1000;
            }
            sum
        });
    }
}
