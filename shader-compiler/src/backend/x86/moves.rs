//! Parallel moves: sequences moves whose sources and destinations overlap.

use super::asm::{Asm, Location, Mem, Register};

/// Appends code that performs all `moves`, given as (source, destination), as if simultaneously.
///
/// Destinations are distinct. `busy` is the set of registers that hold other live variables.
pub(super) fn emit(out: &mut Vec<Asm>, mut moves: Vec<(Location, Location)>, busy: u16) {
    let taken = moves.iter().fold(busy, |all, &(_, to)| all | mask(to));
    moves.retain(|(from, to)| from != to);
    while !moves.is_empty() {
        let ready = (0..moves.len()).find(|&k| moves.iter().all(|&(from, _)| from != moves[k].1));
        let scratch = free(taken | moves.iter().fold(0, |all, &(from, _)| all | mask(from)));
        match ready {
            Some(k) => {
                let (from, to) = moves.swap_remove(k);
                carry(out, from, to, scratch);
            }
            None => {
                // Only cycles are left. Break one by saving a destination.
                let emptied = moves[0].1;
                let aside = scratch.map_or(Location::Mem(Mem::Scratch), Location::Reg);
                carry(out, emptied, aside, None);
                moves
                    .iter_mut()
                    .filter(|(from, _)| *from == emptied)
                    .for_each(|(from, _)| *from = aside);
            }
        }
    }
}

fn mask(place: Location) -> u16 {
    match place {
        Location::Reg(register) => 1 << register,
        Location::Mem(_) => 0,
    }
}

fn free(taken: u16) -> Option<Register> {
    (taken != u16::MAX).then(|| taken.trailing_ones() as Register)
}

fn carry(out: &mut Vec<Asm>, from: Location, to: Location, scratch: Option<Register>) {
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

    /// Interprets moves between places that hold numbers.
    fn run(code: &[Asm], places: &mut FxHashMap<Location, u32>) {
        for asm in code {
            let (from, to) = match *asm {
                Asm::Move { dst, src } => (Location::Reg(src), Location::Reg(dst)),
                Asm::Load { dst, from } => (Location::Mem(from), Location::Reg(dst)),
                Asm::Store { src, to } => (Location::Reg(src), Location::Mem(to)),
                Asm::Copy { from, to } => (Location::Mem(from), Location::Mem(to)),
                ref other => unreachable!("{other:?} is no move"),
            };
            let value = places[&from];
            places.insert(to, value);
        }
    }

    #[test]
    fn moves_are_parallel() {
        // Random permutations and copies of a few registers and slots, with and without free
        // registers.
        let place =
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
                moves.iter().map(|&(to, from)| (place(from), place(to))).collect(),
                busy,
            );
            let mut places: FxHashMap<_, _> =
                (0..16).map(|k| (Location::Reg(k), 100 + k as u32)).collect();
            places.extend((0..10).map(|k| (place(k), k)));
            run(&out, &mut places);
            for k in 0..10 {
                let expected = moves.iter().find(|&&(to, _)| to == k).map_or(k, |&(_, from)| from);
                assert_eq!(places[&place(k)], expected, "round {round}: {moves:?} as {out:?}");
            }
        }
    }
}
