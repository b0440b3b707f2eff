//! Parallel moves: carries values to their places at once, where places that are written may also
//! be read.

use super::asm::{Asm, Mem, Place, Register};

/// Appends code that carries out all `moves`, from first to second, as if at the same time.
///
/// Destinations are distinct. `busy` are registers that hold something else that must stay.
pub(super) fn emit(out: &mut Vec<Asm>, mut moves: Vec<(Place, Place)>, busy: u16) {
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
                // All that is left goes in circles. One place is emptied.
                let emptied = moves[0].1;
                let aside = scratch.map_or(Place::Mem(Mem::Scratch), Place::Reg);
                carry(out, emptied, aside, None);
                moves
                    .iter_mut()
                    .filter(|(from, _)| *from == emptied)
                    .for_each(|(from, _)| *from = aside);
            }
        }
    }
}

fn mask(place: Place) -> u16 {
    match place {
        Place::Reg(register) => 1 << register,
        Place::Mem(_) => 0,
    }
}

fn free(taken: u16) -> Option<Register> {
    (taken != u16::MAX).then(|| taken.trailing_ones() as Register)
}

fn carry(out: &mut Vec<Asm>, from: Place, to: Place, scratch: Option<Register>) {
    match (from, to) {
        (Place::Reg(src), Place::Reg(dst)) => out.push(Asm::Move { dst, src }),
        (Place::Mem(from), Place::Reg(dst)) => out.push(Asm::Load { dst, from }),
        (Place::Reg(src), Place::Mem(to)) => out.push(Asm::Store { src, to }),
        (Place::Mem(from), Place::Mem(to)) => match scratch {
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

    /// Runs moves over places that hold numbers.
    fn run(code: &[Asm], places: &mut FxHashMap<Place, u32>) {
        for asm in code {
            let (from, to) = match *asm {
                Asm::Move { dst, src } => (Place::Reg(src), Place::Reg(dst)),
                Asm::Load { dst, from } => (Place::Mem(from), Place::Reg(dst)),
                Asm::Store { src, to } => (Place::Reg(src), Place::Mem(to)),
                Asm::Copy { from, to } => (Place::Mem(from), Place::Mem(to)),
                ref other => unreachable!("{other:?} is no move"),
            };
            let value = places[&from];
            places.insert(to, value);
        }
    }

    #[test]
    fn moves_happen_at_once() {
        // A few registers and slots, permuted and copied in all sorts of ways, with many and no
        // registers to spare.
        let place = |k: u32| if k < 5 { Place::Reg(k as u8) } else { Place::Mem(Mem::Slot(k)) };
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
                (0..16).map(|k| (Place::Reg(k), 100 + k as u32)).collect();
            places.extend((0..10).map(|k| (place(k), k)));
            run(&out, &mut places);
            for k in 0..10 {
                let expected = moves.iter().find(|&&(to, _)| to == k).map_or(k, |&(_, from)| from);
                assert_eq!(places[&place(k)], expected, "round {round}: {moves:?} as {out:?}");
            }
        }
    }
}
