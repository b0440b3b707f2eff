//! Places: what pointers point at. A pointer is known at translation, but for indices that are not constant; those choose among the
//! elements of an array when it is read, and guard every element when it is written.

use super::operators::choose;
use super::translate::{Fault, Leaves, Slots, Translator};
use crate::ir::{Builder, Emit, Op, Value};

/// An index into `count` elements of `stride` leaves each, known when the shader runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Index {
    pub value: Value,
    pub count: u32,
    pub stride: u32,
}

/// A run of slots from which dynamic indices count.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub slots: Slots,
    /// Where the indices start among the translator's, outermost first, and how many they are.
    pub indices: (u32, u32),
}

impl Index {
    /// The element of this number, or the last one if there are not so many: a balanced tree of choices. `leaf` gives elements.
    ///
    /// Comparing with `<` rather than `=` makes an interval of indices choose the hull of these elements and no others.
    pub fn choose(&self, b: &mut Builder, mut leaf: impl FnMut(&mut Builder, u32) -> Value) -> Value {
        self.choose_in(b, 0, self.count, &mut leaf)
    }

    fn choose_in(&self, b: &mut Builder, low: u32, high: u32, leaf: &mut impl FnMut(&mut Builder, u32) -> Value) -> Value {
        if high - low == 1 {
            return leaf(b, low);
        }
        let middle = low + (high - low) / 2;
        let (first, second) = (self.choose_in(b, low, middle, leaf), self.choose_in(b, middle, high, leaf));
        if first == second {
            return first;
        }
        let bound = b.i32(middle as i32);
        let is_first = b.op(Op::ULt, &[self.value, bound]);
        choose(b, is_first, first, second)
    }
}

impl Place {
    /// A variable.
    pub fn whole(slots: Slots) -> Place {
        Place { slots, indices: (0, 0) }
    }

    /// Part of it: first leaf and number of leaves.
    pub fn part(self, (start, len): (u32, u32)) -> Place {
        Place { slots: Slots { start: self.slots.start + start, len }, ..self }
    }
}

/// Leaf `k` of a place whose remaining indices are these, from slot `start` on.
fn fetch(b: &mut Builder, slots: &[Value], start: u32, indices: &[Index]) -> Value {
    match indices {
        [] => slots[start as usize],
        [index, rest @ ..] => index.choose(b, |b, i| fetch(b, slots, start + i * index.stride, rest)),
    }
}

impl Translator<'_> {
    /// An element of a place.
    pub fn index(&mut self, place: Place, index: Index) -> Place {
        let (start, len) = place.indices;
        let moved = self.indices.len() as u32;
        self.indices.extend_from_within(start as usize..(start + len) as usize);
        self.indices.push(index);
        Place { slots: Slots { start: place.slots.start, len: index.stride }, indices: (moved, len + 1) }
    }

    /// All slots that the place may be.
    pub fn hull(&self, place: Place) -> Slots {
        let beyond: u32 = self.indices_of(place).iter().map(|index| (index.count - 1) * index.stride).sum();
        Slots { start: place.slots.start, len: place.slots.len + beyond }
    }

    pub fn indices_of(&self, place: Place) -> Vec<Index> {
        let (start, len) = place.indices;
        self.indices[start as usize..][..len as usize].to_vec()
    }

    /// Counts the work of touching every leaf that the place may be.
    fn charge_place(&mut self, place: Place, indices: &[Index]) -> Result<(), Fault> {
        let work = indices.iter().fold(place.slots.len as usize, |work, index| work.saturating_mul(index.count as usize));
        self.charge(work)
    }

    /// What the place holds.
    pub fn load(&mut self, place: Place) -> Result<Leaves, Fault> {
        let Slots { start, len } = place.slots;
        let indices = self.indices_of(place);
        self.charge_place(place, &indices)?;
        let mut values = Vec::with_capacity(len as usize);
        for slot in start..start + len {
            values.push(fetch(&mut self.builder, &self.slots, slot, &indices));
        }
        Ok(self.push(&values))
    }

    /// Makes the place hold `values`.
    pub fn store(&mut self, place: Place, values: Leaves) -> Result<(), Fault> {
        let mut indices = self.indices_of(place);
        self.charge_place(place, &indices)?;
        for index in &mut indices {
            // Indices out of range mean the last element.
            let last = self.builder.i32(index.count as i32 - 1);
            index.value = self.op(Op::UMin, &[index.value, last]);
        }
        self.store_at(place.slots.start, &indices, None, values);
        Ok(())
    }

    fn store_at(&mut self, start: u32, indices: &[Index], cond: Option<Value>, values: Leaves) {
        if let [index, rest @ ..] = indices {
            for i in 0..index.count {
                let number = self.builder.i32(i as i32);
                let here = self.op(Op::IEq, &[index.value, number]);
                let cond = cond.map_or(here, |cond| self.op(Op::BAnd, &[cond, here]));
                self.store_at(start + i * index.stride, rest, Some(cond), values);
            }
            return;
        }
        for k in 0..self.leaves(values).len() {
            let (slot, new) = (start + k as u32, self.leaf(values, k));
            let value = match cond {
                Some(cond) => {
                    let old = self.slots[slot as usize];
                    choose(&mut self.builder, cond, new, old)
                }
                None => new,
            };
            self.set(slot, value);
        }
    }

    /// Changes a slot.
    pub fn set(&mut self, slot: u32, value: Value) {
        let old = std::mem::replace(&mut self.slots[slot as usize], value);
        if old != value {
            self.trail.push((slot, old));
        }
    }
}
