//! The arms of an `if`. Both start from the same slot values, which are restored after each arm.
//! Slots and exits that differ at the ends of the arms become results of the `if`, and so do
//! *carried* expressions: those evaluated in an arm and used after the `if`.

use super::exits::{BREAK, CONTINUE, ExitCondition, Flow, NO_EXIT, RETURN, exit_if, is_taken};
use super::operators::not;
use super::pointers::{Index, Pointer};
use super::translate::{Fault, Frame, Operand, Translator};
use crate::ir::{self, Emit, Value};

/// A translated arm.
pub(super) struct Arm {
    pub block: ir::Block,
    /// Changed slots, sorted, with their values at the end of the arm.
    pub changes: Vec<(u32, Value)>,
    pub flow: Flow,
    /// The frame's carried expressions at the end of the arm.
    pub carried: Vec<Operand>,
}

impl<'m> Translator<'m> {
    /// Translates an arm, then restores slots and expressions.
    pub(super) fn arm(
        &mut self,
        frame: &mut Frame<'m>,
        translate: impl FnOnce(&mut Self, &mut Frame<'m>) -> Result<Flow, Fault>,
    ) -> Result<Arm, Fault> {
        self.builder.open_arm();
        let mark = self.undo_log.len();
        let before: Vec<_> =
            frame.carried.iter().map(|expression| frame.operands[expression.index()]).collect();
        let flow = translate(self, frame)?;
        let changes = self.changes_since(mark);
        self.charge(changes.len())?;
        // Slots beyond the end belonged to calls that have returned.
        while self.undo_log.len() > mark {
            let (slot, old) = self.undo_log.pop().expect("the undo log is longer than at the mark");
            if let Some(value) = self.slots.get_mut(slot as usize) {
                *value = old;
            }
        }
        let mut carried = before;
        for (operand, expression) in carried.iter_mut().zip(&frame.carried) {
            // Expressions evaluated before the arm need not be carried.
            let before = std::mem::replace(operand, Operand::Unevaluated);
            let after = std::mem::replace(&mut frame.operands[expression.index()], before);
            if let Operand::Unevaluated = before {
                *operand = after;
            }
        }
        let block = self.builder.close_arm(&[]);
        Ok(Arm { block, changes, flow, carried })
    }

    /// Slots that have changed since the undo log had length `mark`, sorted, with their current
    /// values.
    pub(super) fn changes_since(&self, mark: usize) -> Vec<(u32, Value)> {
        let mut slots: Vec<_> = self.undo_log[mark..]
            .iter()
            .map(|&(slot, _)| slot)
            .filter(|&s| (s as usize) < self.slots.len())
            .collect();
        slots.sort_unstable();
        slots.dedup();
        slots.into_iter().map(|slot| (slot, self.slots[slot as usize])).collect()
    }

    /// Appends an `if` with these arms, and merges their slots, exits and carried expressions. In
    /// `tail` position, dead slots are not merged.
    pub(super) fn join(
        &mut self,
        frame: &mut Frame<'m>,
        condition: Value,
        arms: [Arm; 2],
        tail: bool,
    ) -> Flow {
        let [mut then, mut otherwise] = arms;
        let mut slots = vec![];
        for (slot, t, e) in merge_changes(&self.slots, &then.changes, &otherwise.changes) {
            if tail && slot >= frame.first_dead_slot {
                continue;
            }
            if t == e {
                self.set(slot, t);
            } else {
                slots.push(slot);
                then.block.yields.push(t);
                otherwise.block.yields.push(e);
            }
        }
        let mut flow = NO_EXIT;
        let mut yielded_exits = vec![];
        for kind in [RETURN, BREAK, CONTINUE] {
            flow[kind] = match (then.flow[kind], otherwise.flow[kind]) {
                (t, e) if t == e => t,
                (ExitCondition::Always, ExitCondition::Never) => ExitCondition::If(condition),
                (ExitCondition::Never, ExitCondition::Always) => {
                    ExitCondition::If(not(&mut self.builder, condition))
                }
                (t, e) => {
                    yielded_exits.push(kind);
                    then.block.yields.push(is_taken(&mut self.builder, t));
                    otherwise.block.yields.push(is_taken(&mut self.builder, e));
                    ExitCondition::Never
                }
            };
        }
        let mut carried = vec![];
        for (k, &expression) in frame.carried.iter().enumerate() {
            let (operand, from, to) = match (then.carried[k], otherwise.carried[k]) {
                (Operand::Unevaluated, Operand::Unevaluated) => continue,
                (operand, Operand::Unevaluated) => {
                    (operand, &mut then.block.yields, &mut otherwise.block.yields)
                }
                (_, operand) => (operand, &mut otherwise.block.yields, &mut then.block.yields),
            };
            for value in self.values_of(operand) {
                from.push(value);
                // Never read: a path that skips the expression also skips its uses.
                to.push(self.builder.constant(self.builder.ty(value), 0));
            }
            carried.push((expression, operand));
        }
        if then.block.yields.is_empty() {
            return flow;
        }
        let mut results = self.builder.push_if(condition, then.block, otherwise.block).into_iter();
        for (slot, value) in slots.into_iter().zip(&mut results) {
            self.set(slot, value);
        }
        for (kind, value) in yielded_exits.into_iter().zip(&mut results) {
            flow[kind] = exit_if(&self.builder, value);
        }
        for (expression, operand) in carried {
            frame.operands[expression.index()] = self.with_values(operand, &mut results);
        }
        flow
    }

    /// Returns the SSA values in an operand.
    fn values_of(&self, operand: Operand) -> Vec<Value> {
        match operand {
            Operand::Leaves(leaves) => self.leaves(leaves).to_vec(),
            Operand::Pointer(pointer) => {
                self.indices_of(pointer).iter().map(|index| index.value).collect()
            }
            Operand::Texture(_) | Operand::Sampler | Operand::Unevaluated => vec![],
        }
    }

    /// Replaces the SSA values in an operand.
    fn with_values(
        &mut self,
        operand: Operand,
        values: &mut impl Iterator<Item = Value>,
    ) -> Operand {
        match operand {
            Operand::Leaves(leaves) => {
                let values: Vec<_> = values.take(self.leaves(leaves).len()).collect();
                Operand::Leaves(self.push(&values))
            }
            Operand::Pointer(pointer) => {
                let start = self.indices.len() as u32;
                for index in self.indices_of(pointer) {
                    let value = values.next().expect("a value for each index");
                    self.indices.push(Index { value, ..index });
                }
                Operand::Pointer(Pointer { indices: (start, pointer.indices.1), ..pointer })
            }
            Operand::Texture(_) | Operand::Sampler | Operand::Unevaluated => operand,
        }
    }
}

/// Merges the changes of two arms: slots that either changed, with their values after each arm.
fn merge_changes(
    slots: &[Value],
    then: &[(u32, Value)],
    otherwise: &[(u32, Value)],
) -> Vec<(u32, Value, Value)> {
    let (mut t, mut e) = (then.iter().copied().peekable(), otherwise.iter().copied().peekable());
    let mut merged = Vec::with_capacity(then.len() + otherwise.len());
    while let Some(slot) = [t.peek(), e.peek()].into_iter().flatten().map(|change| change.0).min() {
        let old = slots[slot as usize];
        let t = t.next_if(|change| change.0 == slot).map_or(old, |change| change.1);
        let e = e.next_if(|change| change.0 == slot).map_or(old, |change| change.1);
        merged.push((slot, t, e));
    }
    merged
}
