//! The last steps: numbers for slots, and loops in the order in which they run fastest.

use crate::backend::x86::asm::{Asm, Label};
use crate::backend::x86::machine::Any;

/// Numbers for the slots of variables such that those in use at the same time differ, and how many
/// there are.
pub(super) fn number_slots(slotted: &[bool], span: &[(u32, u32)]) -> (Vec<u32>, u32) {
    let mut vars: Vec<usize> = (0..slotted.len()).filter(|&var| slotted[var]).collect();
    vars.sort_by_key(|&var| span[var].0);
    let mut numbers = vec![0; slotted.len()];
    let mut ends: Vec<u32> = vec![];
    for var in vars {
        let (start, end) = span[var];
        let slot = ends.iter().position(|&end| end < start).unwrap_or_else(|| {
            ends.push(0);
            ends.len() - 1
        });
        ends[slot] = end;
        numbers[var] = slot as u32;
    }
    (numbers, ends.len() as u32)
}

/// Puts the bodies of loops before their heads.
pub(super) fn lay_out(code: Vec<Asm>, mut labels: u32) -> Vec<Asm> {
    let mut open: Vec<(Vec<Asm>, Vec<Asm>, Any)> = vec![];
    let mut out = Vec::with_capacity(code.len());
    for asm in code {
        match asm {
            Asm::Nop => {}
            Asm::LoopHead => open.push((std::mem::take(&mut out), vec![], Any::Both)),
            Asm::LoopBody { test } => {
                let (_, head, any) = open.last_mut().expect("a loop is open");
                (*head, *any) = (std::mem::take(&mut out), test);
            }
            Asm::LoopEnd => {
                let (before, head, any) = open.pop().expect("a loop is open");
                let body = std::mem::replace(&mut out, before);
                let (again, test) = (Label(labels), Label(labels + 1));
                labels += 2;
                out.extend([Asm::Jump(test), Asm::Label(again)]);
                out.extend(body);
                out.push(Asm::Label(test));
                out.extend(head);
                out.push(Asm::Branch { any, found: true, to: again });
            }
            other => out.push(other),
        }
    }
    out
}
