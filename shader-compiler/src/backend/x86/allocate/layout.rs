//! The last steps of allocation: assigns spill slots, and rotates loops so that an iteration takes
//! one jump instead of two.

use crate::backend::x86::asm::{Asm, Label};
use crate::backend::x86::machine::TestOp;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Assigns slots to spilled vregs, so that vregs with overlapping live ranges get different
/// slots. Returns the slot of each vreg and the number of slots.
pub(super) fn assign_slots(spilled: &[bool], live_ranges: &[(u32, u32)]) -> (Vec<u32>, u32) {
    let mut vregs: Vec<usize> = (0..spilled.len()).filter(|&vreg| spilled[vreg]).collect();
    vregs.sort_by_key(|&vreg| live_ranges[vreg].0);
    let mut slot_of = vec![0; spilled.len()];
    // Slots in use by the end of their live range, and the others, the first one first.
    let mut used: BinaryHeap<Reverse<(u32, u32)>> = BinaryHeap::new();
    let mut free: BinaryHeap<Reverse<u32>> = BinaryHeap::new();
    let mut slots = 0;
    for vreg in vregs {
        let (start, end) = live_ranges[vreg];
        while let Some(&Reverse((last, slot))) = used.peek()
            && last < start
        {
            used.pop();
            free.push(Reverse(slot));
        }
        let slot = free.pop().map_or(slots, |Reverse(slot)| slot);
        slots = slots.max(slot + 1);
        used.push(Reverse((end, slot)));
        slot_of[vreg] = slot;
    }
    (slot_of, slots)
}

/// Rotates loops: moves their bodies before their heads.
pub(super) fn lay_out(code: Vec<Asm>, mut labels: u32) -> Vec<Asm> {
    if !code.iter().any(|asm| matches!(asm, Asm::Nop | Asm::LoopHead)) {
        return code;
    }
    let mut open: Vec<(Vec<Asm>, Vec<Asm>, TestOp)> = vec![];
    let mut out = Vec::with_capacity(code.len());
    for asm in code {
        match asm {
            Asm::Nop => {}
            Asm::LoopHead => open.push((std::mem::take(&mut out), vec![], TestOp::And)),
            Asm::LoopBody { test } => {
                let (_, head, op) = open.last_mut().expect("a loop is open");
                (*head, *op) = (std::mem::take(&mut out), test);
            }
            Asm::LoopEnd => {
                let (before, head, op) = open.pop().expect("a loop is open");
                let body = std::mem::replace(&mut out, before);
                let (body_label, test_label) = (Label(labels), Label(labels + 1));
                labels += 2;
                out.extend([Asm::Jump(test_label), Asm::Label(body_label)]);
                out.extend(body);
                out.push(Asm::Label(test_label));
                out.extend(head);
                out.push(Asm::Branch { test: op, on: true, to: body_label });
            }
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn each_vreg_gets_the_first_slot_that_is_free() {
        let mut random = Random::new(5);
        for _ in 0..200 {
            let live_ranges: Vec<(u32, u32)> = (0..40)
                .map(|_| {
                    let start = random.below(100) as u32;
                    (start, start + random.below(30) as u32)
                })
                .collect();
            let spilled: Vec<bool> = live_ranges.iter().map(|_| !random.once_in(4)).collect();
            let (slot_of, slots) = assign_slots(&spilled, &live_ranges);
            let mut vregs: Vec<usize> = (0..spilled.len()).filter(|&k| spilled[k]).collect();
            vregs.sort_by_key(|&vreg| live_ranges[vreg].0);
            for (k, &vreg) in vregs.iter().enumerate() {
                let is_free = |slot: u32| {
                    vregs[..k].iter().all(|&other| {
                        slot_of[other] != slot || live_ranges[other].1 < live_ranges[vreg].0
                    })
                };
                assert_eq!((0..slots).find(|&slot| is_free(slot)), Some(slot_of[vreg]));
            }
        }
    }
}
