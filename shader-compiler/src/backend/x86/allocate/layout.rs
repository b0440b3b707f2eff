//! The last steps of allocation: assigns spill slots, and rotates loops so that an iteration takes
//! one jump instead of two.

use crate::backend::x86::asm::{Asm, Label};
use crate::backend::x86::machine::TestOp;

/// Assigns slots to spilled vregs, so that vregs with overlapping live ranges get different
/// slots. Returns the slot of each vreg and the number of slots.
pub(super) fn assign_slots(spilled: &[bool], live_ranges: &[(u32, u32)]) -> (Vec<u32>, u32) {
    let mut vregs: Vec<usize> = (0..spilled.len()).filter(|&vreg| spilled[vreg]).collect();
    vregs.sort_by_key(|&vreg| live_ranges[vreg].0);
    let mut slot_of = vec![0; spilled.len()];
    let mut ends: Vec<u32> = vec![];
    for vreg in vregs {
        let (start, end) = live_ranges[vreg];
        let slot = ends.iter().position(|&end| end < start).unwrap_or_else(|| {
            ends.push(0);
            ends.len() - 1
        });
        ends[slot] = end;
        slot_of[vreg] = slot as u32;
    }
    (slot_of, ends.len() as u32)
}

/// Rotates loops: moves their bodies before their heads.
pub(super) fn lay_out(code: Vec<Asm>, mut labels: u32) -> Vec<Asm> {
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
