//! The arms of an `if`. Each is translated on the same slots, which are restored afterwards. Slots,
//! exits and carried expressions that differ at the ends of the arms become results of the `if`.

use super::exits::{BREAK, CONTINUE, Exit, Flow, NO_EXIT, RETURN, as_exit, as_value};
use super::operators::not;
use super::translate::{Fault, Frame, Item, Translator};
use crate::ir::{self, Emit, Value};

/// A translated arm.
pub(super) struct Arm {
    pub block: ir::Block,
    /// Changed slots, sorted, with their values at the end.
    pub changes: Vec<(u32, Value)>,
    pub flow: Flow,
    /// The frame's carried expressions at the end.
    pub carried: Vec<Item>,
}

impl<'m> Translator<'m> {
    /// Translates an arm, then restores slots and expressions.
    pub(super) fn arm(
        &mut self,
        frame: &mut Frame<'m>,
        translate: impl FnOnce(&mut Self, &mut Frame<'m>) -> Result<Flow, Fault>,
    ) -> Result<Arm, Fault> {
        self.builder.open_arm();
        let mark = self.trail.len();
        let before: Vec<_> =
            frame.carried.iter().map(|expression| frame.items[expression.index()]).collect();
        let flow = translate(self, frame)?;
        let changes = self.changes(mark);
        self.charge(changes.len())?;
        // Slots beyond the end belonged to calls.
        while self.trail.len() > mark {
            let (slot, old) = self.trail.pop().expect("the trail is longer than the mark");
            if let Some(value) = self.slots.get_mut(slot as usize) {
                *value = old;
            }
        }
        let mut carried = before;
        for (item, expression) in carried.iter_mut().zip(&frame.carried) {
            // What was known before the arm need not be carried.
            let known = std::mem::replace(item, Item::Unknown);
            let now = std::mem::replace(&mut frame.items[expression.index()], known);
            if let Item::Unknown = known {
                *item = now;
            }
        }
        let block = self.builder.close_arm(&[]);
        Ok(Arm { block, changes, flow, carried })
    }

    /// Slots that changed since the trail had this length, sorted, with their values.
    pub(super) fn changes(&self, mark: usize) -> Vec<(u32, Value)> {
        let mut slots: Vec<_> = self.trail[mark..]
            .iter()
            .map(|&(slot, _)| slot)
            .filter(|&s| (s as usize) < self.slots.len())
            .collect();
        slots.sort_unstable();
        slots.dedup();
        slots.into_iter().map(|slot| (slot, self.slots[slot as usize])).collect()
    }

    /// Merges the arms of an `if`.
    pub(super) fn join(
        &mut self,
        frame: &mut Frame<'m>,
        condition: Value,
        arms: [Arm; 2],
        tail: bool,
    ) -> Flow {
        let [mut then, mut otherwise] = arms;
        let mut slots = vec![];
        for (slot, t, e) in merged(&self.slots, &then.changes, &otherwise.changes) {
            if tail && slot >= frame.floor {
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
        let mut joined = vec![];
        for way in [RETURN, BREAK, CONTINUE] {
            flow[way] = match (then.flow[way], otherwise.flow[way]) {
                (t, e) if t == e => t,
                (Exit::Always, Exit::Never) => Exit::If(condition),
                (Exit::Never, Exit::Always) => Exit::If(not(&mut self.builder, condition)),
                (t, e) => {
                    joined.push(way);
                    then.block.yields.push(as_value(&mut self.builder, t));
                    otherwise.block.yields.push(as_value(&mut self.builder, e));
                    Exit::Never
                }
            };
        }
        let mut carried = vec![];
        for (k, &expression) in frame.carried.iter().enumerate() {
            let (item, from, to) = match (then.carried[k], otherwise.carried[k]) {
                (Item::Unknown, Item::Unknown) => continue,
                (item, Item::Unknown) => {
                    (item, &mut then.block.yields, &mut otherwise.block.yields)
                }
                (_, item) => (item, &mut otherwise.block.yields, &mut then.block.yields),
            };
            for value in self.values_of(item) {
                from.push(value);
                // Never read: users of the expression do not run where it was skipped.
                to.push(self.builder.constant(self.builder.ty(value), 0));
            }
            carried.push((expression, item));
        }
        if then.block.yields.is_empty() {
            return flow;
        }
        let mut results = self.builder.push_if(condition, then.block, otherwise.block).into_iter();
        for (slot, value) in slots.into_iter().zip(&mut results) {
            self.set(slot, value);
        }
        for (way, value) in joined.into_iter().zip(&mut results) {
            flow[way] = as_exit(&self.builder, value);
        }
        for (expression, item) in carried {
            frame.items[expression.index()] = self.with_values(item, &mut results);
        }
        flow
    }

    /// The values that an item consists of.
    fn values_of(&self, item: Item) -> Vec<Value> {
        match item {
            Item::Leaves(leaves) => self.leaves(leaves).to_vec(),
            Item::Place(place) => self.indices_of(place).iter().map(|index| index.value).collect(),
            Item::Texture(_) | Item::Sampler | Item::Unknown => vec![],
        }
    }

    /// An item with its values replaced.
    fn with_values(&mut self, item: Item, values: &mut impl Iterator<Item = Value>) -> Item {
        match item {
            Item::Leaves(leaves) => {
                let values: Vec<_> = values.take(self.leaves(leaves).len()).collect();
                Item::Leaves(self.push(&values))
            }
            Item::Place(place) => {
                let start = self.indices.len() as u32;
                for index in self.indices_of(place) {
                    let value = values.next().expect("a value for each index");
                    self.indices.push(super::places::Index { value, ..index });
                }
                Item::Place(super::places::Place { indices: (start, place.indices.1), ..place })
            }
            Item::Texture(_) | Item::Sampler | Item::Unknown => item,
        }
    }
}

/// Slots that either arm changed, with their values after each arm.
fn merged(
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
