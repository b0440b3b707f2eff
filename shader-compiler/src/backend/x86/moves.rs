//! Parallel moves: orders moves with overlapping sources and destinations.

use super::asm::{Asm, Location, Mem, Register};

/// Appends code that performs all `moves`, given as (source, destination), in parallel.
///
/// Destinations are distinct. `busy` is the mask of registers that hold other live vregs.
pub(super) fn emit(out: &mut Vec<Asm>, mut moves: Vec<(Location, Location)>, busy: u16) {
    let reserved = moves.iter().fold(busy, |all, &(_, to)| all | mask(to));
    moves.retain(|(from, to)| from != to);
    while !moves.is_empty() {
        let ready = (0..moves.len()).find(|&k| moves.iter().all(|&(from, _)| from != moves[k].1));
        let scratch =
            free_register(reserved | moves.iter().fold(0, |all, &(from, _)| all | mask(from)));
        match ready {
            Some(k) => {
                let (from, to) = moves.swap_remove(k);
                emit_move(out, from, to, scratch);
            }
            None => {
                // Only cycles are left. Break one by saving a destination.
                let overwritten = moves[0].1;
                let saved = scratch.map_or(Location::Mem(Mem::Scratch), Location::Reg);
                emit_move(out, overwritten, saved, None);
                moves
                    .iter_mut()
                    .filter(|(from, _)| *from == overwritten)
                    .for_each(|(from, _)| *from = saved);
            }
        }
    }
}

fn mask(location: Location) -> u16 {
    match location {
        Location::Reg(register) => 1 << register,
        Location::Mem(_) => 0,
    }
}

fn free_register(occupied: u16) -> Option<Register> {
    (occupied != u16::MAX).then(|| occupied.trailing_ones() as Register)
}

/// Emits one move; `scratch` is a free register, which a move between memory locations may use.
fn emit_move(out: &mut Vec<Asm>, from: Location, to: Location, scratch: Option<Register>) {
    match (from, to) {
        (Location::Reg(src), Location::Reg(dst)) => out.push(Asm::Move { dst, src }),
        (Location::Mem(from), Location::Reg(dst)) => out.push(Asm::Load { dst, from }),
        (Location::Reg(src), Location::Mem(to)) => out.push(Asm::Store { src, to }),
        (Location::Mem(from), Location::Mem(to)) => match scratch {
            Some(register) => {
                out.extend([Asm::Load { dst: register, from }, Asm::Store { src: register, to }])
            }
            None => out.push(Asm::Copy { from, to }),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustc_hash::FxHashMap;

    /// Interprets moves between locations, which hold numbers.
    fn run(code: &[Asm], contents: &mut FxHashMap<Location, u32>) {
        for asm in code {
            let (from, to) = match *asm {
                Asm::Move { dst, src } => (Location::Reg(src), Location::Reg(dst)),
                Asm::Load { dst, from } => (Location::Mem(from), Location::Reg(dst)),
                Asm::Store { src, to } => (Location::Reg(src), Location::Mem(to)),
                Asm::Copy { from, to } => (Location::Mem(from), Location::Mem(to)),
                ref other => unreachable!("{other:?} is not a move"),
            };
            let value = contents[&from];
            contents.insert(to, value);
        }
    }

    #[test]
    fn moves_have_the_effect_of_parallel_assignment() {
        // Random permutations and copies of a few registers and slots, with and without free
        // registers.
        let location =
            |k: u32| if k < 5 { Location::Reg(k as u8) } else { Location::Mem(Mem::Slot(k)) };
        let mut seed = 1u32;
        let mut random = |below: u32| {
            seed = seed.wrapping_mul(1664525).wrapping_add(1013904223);
            (seed >> 16) % below
        };
        for round in 0..5000 {
            let moves: Vec<_> =
                (0..10).map(|k| (k, random(14))).filter(|&(_, from)| from < 10).collect();
            let targets =
                moves.iter().fold(0, |all, &(to, _)| all | if to < 5 { 1 << to } else { 0 });
            let busy = if round % 2 == 0 { !0b11111 } else { 0xff00 };
            let busy = busy | (0b11111 & !targets);
            let mut out = vec![];
            emit(
                &mut out,
                moves.iter().map(|&(to, from)| (location(from), location(to))).collect(),
                busy,
            );
            let mut contents: FxHashMap<_, _> =
                (0..16).map(|k| (Location::Reg(k), 100 + k as u32)).collect();
            contents.extend((0..10).map(|k| (location(k), k)));
            run(&out, &mut contents);
            for k in 0..10 {
                let expected = moves.iter().find(|&&(to, _)| to == k).map_or(k, |&(_, from)| from);
                assert_eq!(contents[&location(k)], expected, "round {round}: {moves:?} as {out:?}");
            }
        }
    }
}
