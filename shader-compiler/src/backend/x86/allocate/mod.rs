//! Register allocation: assigns registers and spill slots to virtual registers (vregs).
//!
//! The allocator walks the program once, in order. When no register is free, it evicts the vreg
//! with the furthest next use (Belady 1966). An evicted vreg is spilled right after its definition,
//! so its slot is valid on every path from there on, and evicting it again is free. Vregs with a
//! home in memory are never spilled.
//!
//! Both arms of an if start with the same register assignment. Where they join, a vreg stays in a
//! register if both arms have it in one. A loop fixes the registers of its parameters and of the
//! vregs that are live in it at its entry, and the end of its body restores them. If that would
//! reload a vreg in every iteration, the loop is allocated again with that vreg in memory.

mod flow;
mod layout;
mod operands;
mod uses;

use super::Isa;
use super::asm::{Allocated, Asm, Location, Mem, Register};
use super::machine::{Block, Home, Opcode, Program, Step, VReg};
use uses::Uses;

const REGISTERS: usize = 16;
const NONE: u8 = u8::MAX;
const NO_VREG: VReg = VReg(u32::MAX);
/// The next use of a vreg without further uses.
const NEVER: u32 = u32::MAX;
/// Nesting depth up to which loops may be allocated twice. Each level doubles the work for nested
/// loops.
const RETRY_DEPTH: usize = 3;

/// Allocates registers for a program.
pub(super) fn allocate(program: &Program, isa: Isa) -> Allocated {
    let count = program.homes.len();
    let vex = isa.is_vex();
    let uses = Uses::collect(program, vex);
    let state = State {
        regs: [NO_VREG; REGISTERS],
        reg_of: vec![NONE; count],
        spilled: vec![false; count],
        def: vec![(0, NONE); count],
        next: uses.first.clone(),
        hints: vec![NONE; count],
        reserved: 0,
        inserts: 0,
        len: 0,
        pos: 0,
    };
    let mut allocator = Allocator {
        program,
        vex,
        wide: isa == Isa::Avx2,
        uses,
        state,
        out: vec![],
        inserts: vec![],
        skips: vec![],
        bodies: vec![],
        labels: 0,
        depth: 0,
    };
    if program.masks_in_xmm0 {
        allocator.state.reserved = 1;
        allocator.hint_masks(&program.body);
    }
    allocator.block(&program.body);
    allocator.finish()
}

/// The part of the allocator's state that is restored before a loop is allocated again.
#[derive(Clone, Debug)]
struct State {
    regs: [VReg; REGISTERS],
    reg_of: Vec<u8>,
    /// Whether each vreg is spilled.
    spilled: Vec<bool>,
    /// For each vreg, the instruction after which it is first in a register, and the register.
    def: Vec<(u32, u8)>,
    /// Index in `uses` of the next possible use of each vreg.
    next: Vec<u32>,
    /// The preferred register of each vreg.
    hints: Vec<u8>,
    /// Mask of registers that are avoided by vregs without a hint for them.
    reserved: u16,
    /// Number of insertions before the loop.
    inserts: usize,
    /// Number of emitted instructions before the loop.
    len: usize,
    pos: u32,
}

struct Allocator<'a> {
    program: &'a Program,
    vex: bool,
    /// Whether registers have eight lanes.
    wide: bool,
    uses: Uses,
    state: State,
    out: Vec<Asm>,
    /// Instructions to insert: the index of the instruction that they precede, and their order
    /// among insertions at that index.
    inserts: Vec<(u32, u8, Asm)>,
    /// Ranges of positions of arms that cannot run after the current one.
    skips: Vec<(u32, u32)>,
    /// Start and end of each loop that has the current position in its body.
    bodies: Vec<(u32, u32)>,
    labels: u32,
    depth: usize,
}

impl Allocator<'_> {
    fn hint_masks(&mut self, block: &Block) {
        for step in &block.steps {
            match step {
                Step::Segment(segment) => segment
                    .iter()
                    .filter(|inst| inst.op == Opcode::Blend)
                    .for_each(|inst| self.state.hints[inst.c.index()] = 0),
                Step::If(i) => i.arms.iter().for_each(|arm| self.hint_masks(arm)),
                Step::Loop(l) => {
                    [&l.head, &l.body].into_iter().for_each(|block| self.hint_masks(block))
                }
            }
        }
    }

    // Uses.

    /// Position of the first use at or after `from`; `NEVER` if no path from the current position
    /// has one.
    fn next_use(&mut self, vreg: VReg, from: u32) -> u32 {
        let end = self.uses.first[vreg.index() + 1];
        let mut next = self.state.next[vreg.index()];
        let positions = &self.uses.positions;
        while next < end && positions[next as usize] < self.state.pos {
            next += 1;
        }
        self.state.next[vreg.index()] = next;
        while next < end {
            let pos = positions[next as usize];
            if pos < from || self.skips.iter().any(|&(start, after)| (start..after).contains(&pos))
            {
                next += 1;
            } else {
                let def = self.uses.def[vreg.index()];
                let redefined =
                    self.bodies.iter().any(|&(start, after)| def >= start && pos > after);
                return if redefined { NEVER } else { pos };
            }
        }
        NEVER
    }

    /// Whether a vreg is dead after the current position.
    fn dies(&mut self, vreg: VReg) -> bool {
        self.next_use(vreg, self.state.pos + 1) == NEVER
    }

    // Registers.

    fn reg(&self, vreg: VReg) -> Option<Register> {
        let register = self.state.reg_of[vreg.index()];
        (register != NONE).then_some(register)
    }

    /// The memory location of a vreg. Spills the vreg if necessary.
    fn memory(&mut self, vreg: VReg) -> Mem {
        match self.program.homes[vreg.index()] {
            Home::Input(port) => Mem::Input(port),
            Home::Const(bits) => Mem::Const(bits),
            Home::Last(table) => Mem::Last(table),
            Home::None => {
                if !std::mem::replace(&mut self.state.spilled[vreg.index()], true) {
                    let (after, register) = self.state.def[vreg.index()];
                    assert_ne!(register, NONE, "an unspilled vreg has a defining register");
                    self.inserts.push((
                        after,
                        0,
                        Asm::Store { src: register, to: Mem::Slot(vreg.0) },
                    ));
                }
                Mem::Slot(vreg.0)
            }
        }
    }

    fn location(&mut self, vreg: VReg) -> Location {
        match self.reg(vreg) {
            Some(register) => Location::Reg(register),
            None => Location::Mem(self.memory(vreg)),
        }
    }

    fn release(&mut self, register: Register) {
        let vreg = std::mem::replace(&mut self.state.regs[register as usize], NO_VREG);
        if vreg != NO_VREG {
            self.state.reg_of[vreg.index()] = NONE;
        }
    }

    /// Assigns a free register to a vreg.
    fn bind(&mut self, register: Register, vreg: VReg) {
        debug_assert_eq!(self.state.regs[register as usize], NO_VREG, "the register is occupied");
        self.state.regs[register as usize] = vreg;
        self.state.reg_of[vreg.index()] = register;
    }

    /// Records that the last emitted instruction defines a vreg in a register.
    fn define(&mut self, register: Register, vreg: VReg) {
        self.bind(register, vreg);
        self.state.def[vreg.index()] = (self.out.len() as u32, register);
        if self.dies(vreg) {
            self.release(register);
        }
    }

    fn free(&self) -> u16 {
        !occupied(&self.state.regs)
    }

    /// Returns a free register that is not `pinned`, preferably the hint of `vreg`. Evicts a vreg
    /// if necessary.
    fn take(&mut self, pinned: u16, vreg: Option<VReg>) -> Register {
        let free = self.free() & !pinned;
        if free == 0 {
            return self.evict(pinned);
        }
        if let Some(vreg) = vreg {
            let hint = self.state.hints[vreg.index()];
            if hint != NONE && free & 1 << hint != 0 {
                return hint;
            }
        }
        let best =
            if free & !self.state.reserved != 0 { free & !self.state.reserved } else { free };
        best.trailing_zeros() as Register
    }

    fn evict(&mut self, pinned: u16) -> Register {
        let mut best = None;
        for register in (0..REGISTERS as Register).filter(|r| pinned & 1 << r == 0) {
            let vreg = self.state.regs[register as usize];
            let next = self.next_use(vreg, self.state.pos);
            let has_memory =
                self.state.spilled[vreg.index()] || self.program.homes[vreg.index()] != Home::None;
            let distance = u64::from(next - self.state.pos) * if has_memory { 2 } else { 1 };
            if best.is_none_or(|(furthest, _)| distance > furthest) {
                best = Some((distance, register));
            }
        }
        let (_, register) = best.expect("not all registers are pinned");
        let vreg = self.state.regs[register as usize];
        self.memory(vreg);
        self.release(register);
        register
    }

    fn pinned(&self, vregs: &[VReg]) -> u16 {
        vregs
            .iter()
            .filter_map(|&vreg| self.reg(vreg))
            .fold(0, |pinned, register| pinned | 1 << register)
    }

    /// Frees the registers of dead vregs among `vregs`.
    fn release_dead(&mut self, vregs: impl IntoIterator<Item = VReg>) {
        for vreg in vregs {
            if let Some(register) = self.reg(vreg)
                && self.dies(vreg)
            {
                self.release(register);
            }
        }
    }

    /// Loads a vreg into a register, unless it is already in one.
    fn fetch(&mut self, vreg: VReg, pinned: u16) -> Register {
        if let Some(register) = self.reg(vreg) {
            return register;
        }
        let from = self.memory(vreg);
        let register = self.take(pinned, Some(vreg));
        self.out.push(Asm::Load { dst: register, from });
        self.bind(register, vreg);
        register
    }

    /// Merges the insertions, lays out loops and numbers spill slots.
    fn finish(mut self) -> Allocated {
        self.inserts.sort_by_key(|&(at, order, _)| (at, order));
        let mut merged = Vec::with_capacity(self.out.len() + self.inserts.len());
        let mut inserts = self.inserts.iter().peekable();
        for (index, asm) in self.out.iter().enumerate() {
            while let Some((_, _, asm)) = inserts.next_if(|(at, ..)| *at as usize == index) {
                merged.push(*asm);
            }
            merged.push(*asm);
        }
        merged.extend(inserts.map(|(_, _, asm)| *asm));
        let (slot_of, slots) = layout::assign_slots(&self.state.spilled, &self.uses.span);
        let mut code = layout::lay_out(merged, self.labels);
        let uses_scratch = code.iter().any(|asm| {
            matches!(
                asm,
                Asm::Load { from: Mem::Scratch, .. } | Asm::Copy { from: Mem::Scratch, .. }
            )
        });
        for asm in &mut code {
            let assign_slot = |mem: &mut Mem| match mem {
                Mem::Slot(slot) => *slot = slot_of[*slot as usize],
                Mem::Scratch => *mem = Mem::Slot(slots),
                _ => {}
            };
            match asm {
                Asm::Load { from: mem, .. } | Asm::Store { to: mem, .. } => assign_slot(mem),
                Asm::Op { b: Location::Mem(mem), .. } | Asm::Test { b: Location::Mem(mem), .. } => {
                    assign_slot(mem)
                }
                Asm::Copy { from, to } => [from, to].into_iter().for_each(assign_slot),
                _ => {}
            }
        }
        Allocated { code, slots: slots + u32::from(uses_scratch) }
    }
}

/// The register that holds a vreg.
fn register_of(regs: &[VReg; REGISTERS], vreg: VReg) -> Option<Register> {
    regs.iter().position(|&v| v == vreg).map(|register| register as Register)
}

/// Mask of registers in use.
fn occupied(regs: &[VReg; REGISTERS]) -> u16 {
    (0..REGISTERS).filter(|&r| regs[r] != NO_VREG).fold(0, |all, r| all | 1 << r)
}
