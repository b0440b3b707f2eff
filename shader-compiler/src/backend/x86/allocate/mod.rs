//! Register allocation: assigns registers and spill slots to variables.
//!
//! One walk in program order. When no register is free, the variable with the furthest next use is
//! evicted (Belady 1966). It is spilled right after its definition, so the slot is valid on every
//! path from there on, and evicting it again is free. Variables with a home in memory are never
//! spilled.
//!
//! Both arms of an if start with the same registers. Where they join, a variable stays in a
//! register if both arms have it in one. A loop fixes the registers of its parameters and of the
//! variables that are live in it at its entry, and the end of its body restores them. If that would
//! reload a variable in every iteration, the loop is allocated again with that variable in memory.

mod flow;
mod layout;
mod operands;
mod uses;

use super::Isa;
use super::asm::{Allocated, Asm, Location, Mem, Register};
use super::machine::{Block, Home, Opcode, Program, Step, Var};
use uses::Uses;

const REGISTERS: usize = 16;
const NONE: u8 = u8::MAX;
const NO_VAR: Var = Var(u32::MAX);
/// The next use of a variable that is not used again.
const NEVER: u32 = u32::MAX;
/// Nesting depth up to which loops may be allocated twice. Each level doubles the work for the
/// loops inside.
const RETRY_DEPTH: usize = 3;

/// Allocates registers for a program.
pub(super) fn allocate(program: &Program, isa: Isa) -> Allocated {
    let count = program.homes.len();
    let vex = isa.is_vex();
    let uses = Uses::collect(program, vex);
    let state = State {
        regs: [NO_VAR; REGISTERS],
        reg_of: vec![NONE; count],
        slotted: vec![false; count],
        def: vec![(0, NONE); count],
        next: uses.first.clone(),
        hints: vec![NONE; count],
        wanted: 0,
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
    if program.blends_by_xmm0 {
        allocator.state.wanted = 1;
        allocator.hint_masks(&program.body);
    }
    allocator.block(&program.body);
    allocator.finish()
}

/// The state that is restored when a loop is allocated again.
#[derive(Clone, Debug)]
struct State {
    regs: [Var; REGISTERS],
    reg_of: Vec<u8>,
    /// Whether each variable has a spill slot.
    slotted: Vec<bool>,
    /// The instruction after which a variable is first in a register, and the register.
    def: Vec<(u32, u8)>,
    /// Index in `uses` of the next possible use of each variable.
    next: Vec<u32>,
    /// The preferred register of each variable.
    hints: Vec<u8>,
    /// Registers reserved for variables that prefer them.
    wanted: u16,
    inserts: usize,
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
    /// Instructions to insert: the index of the instruction that they precede, and their rank among
    /// insertions there.
    inserts: Vec<(u32, u8, Asm)>,
    /// Positions of arms that cannot run after the current one.
    skips: Vec<(u32, u32)>,
    /// Start and end of the loops whose body contains the current position.
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

    /// Position of the first use at or after `from`; `NEVER` if no path from here has one.
    fn next_use(&mut self, var: Var, from: u32) -> u32 {
        let end = self.uses.first[var.index() + 1];
        let mut next = self.state.next[var.index()];
        let positions = &self.uses.positions;
        while next < end && positions[next as usize] < self.state.pos {
            next += 1;
        }
        self.state.next[var.index()] = next;
        while next < end {
            let pos = positions[next as usize];
            if pos < from || self.skips.iter().any(|&(start, after)| (start..after).contains(&pos))
            {
                next += 1;
            } else {
                let def = self.uses.def[var.index()];
                let again = self.bodies.iter().any(|&(start, after)| def >= start && pos > after);
                return if again { NEVER } else { pos };
            }
        }
        NEVER
    }

    /// Whether a variable is dead after the current position.
    fn dies(&mut self, var: Var) -> bool {
        self.next_use(var, self.state.pos + 1) == NEVER
    }

    // Registers.

    fn reg(&self, var: Var) -> Option<Register> {
        let register = self.state.reg_of[var.index()];
        (register != NONE).then_some(register)
    }

    /// Memory that holds a variable. Spills the variable if necessary.
    fn memory(&mut self, var: Var) -> Mem {
        match self.program.homes[var.index()] {
            Home::Input(port) => Mem::Input(port),
            Home::Const(bits) => Mem::Const(bits),
            Home::Last(table) => Mem::Last(table),
            Home::None => {
                if !std::mem::replace(&mut self.state.slotted[var.index()], true) {
                    let (after, register) = self.state.def[var.index()];
                    assert_ne!(
                        register, NONE,
                        "a variable without a slot was defined in a register"
                    );
                    self.inserts.push((
                        after,
                        0,
                        Asm::Store { src: register, to: Mem::Slot(var.0) },
                    ));
                }
                Mem::Slot(var.0)
            }
        }
    }

    fn place(&mut self, var: Var) -> Location {
        match self.reg(var) {
            Some(register) => Location::Reg(register),
            None => Location::Mem(self.memory(var)),
        }
    }

    fn release(&mut self, register: Register) {
        let var = std::mem::replace(&mut self.state.regs[register as usize], NO_VAR);
        if var != NO_VAR {
            self.state.reg_of[var.index()] = NONE;
        }
    }

    /// Assigns a free register to a variable.
    fn occupy(&mut self, register: Register, var: Var) {
        debug_assert_eq!(self.state.regs[register as usize], NO_VAR, "the register is free");
        self.state.regs[register as usize] = var;
        self.state.reg_of[var.index()] = register;
    }

    /// Records that the last emitted instruction defines a variable in a register.
    fn assign(&mut self, register: Register, var: Var) {
        self.occupy(register, var);
        self.state.def[var.index()] = (self.out.len() as u32, register);
        if self.dies(var) {
            self.release(register);
        }
    }

    fn free(&self) -> u16 {
        !occupied(&self.state.regs)
    }

    /// A free register outside of `pinned`, preferably the hint of `var`. Evicts a variable if
    /// necessary.
    fn take(&mut self, pinned: u16, var: Option<Var>) -> Register {
        let free = self.free() & !pinned;
        if free == 0 {
            return self.evict(pinned);
        }
        if let Some(var) = var {
            let hint = self.state.hints[var.index()];
            if hint != NONE && free & 1 << hint != 0 {
                return hint;
            }
        }
        let best = if free & !self.state.wanted != 0 { free & !self.state.wanted } else { free };
        best.trailing_zeros() as Register
    }

    fn evict(&mut self, pinned: u16) -> Register {
        let mut best = None;
        for register in (0..REGISTERS as Register).filter(|r| pinned & 1 << r == 0) {
            let var = self.state.regs[register as usize];
            let next = self.next_use(var, self.state.pos);
            let stored =
                self.state.slotted[var.index()] || self.program.homes[var.index()] != Home::None;
            let distance = u64::from(next - self.state.pos) * if stored { 2 } else { 1 };
            if best.is_none_or(|(most, _)| distance > most) {
                best = Some((distance, register));
            }
        }
        let (_, register) = best.expect("not all registers are pinned");
        let var = self.state.regs[register as usize];
        self.memory(var);
        self.release(register);
        register
    }

    fn pinned(&self, vars: &[Var]) -> u16 {
        vars.iter()
            .filter_map(|&var| self.reg(var))
            .fold(0, |pinned, register| pinned | 1 << register)
    }

    /// Frees the registers of those variables that are dead.
    fn release_dead(&mut self, vars: impl IntoIterator<Item = Var>) {
        for var in vars {
            if let Some(register) = self.reg(var)
                && self.dies(var)
            {
                self.release(register);
            }
        }
    }

    /// Loads a variable into a register unless it is in one.
    fn fetch(&mut self, var: Var, pinned: u16) -> Register {
        if let Some(register) = self.reg(var) {
            return register;
        }
        let from = self.memory(var);
        let register = self.take(pinned, Some(var));
        self.out.push(Asm::Load { dst: register, from });
        self.occupy(register, var);
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
        let (numbers, slots) = layout::assign_slots(&self.state.slotted, &self.uses.span);
        let mut code = layout::lay_out(merged, self.labels);
        let uses_scratch = code.iter().any(|asm| {
            matches!(
                asm,
                Asm::Load { from: Mem::Scratch, .. } | Asm::Copy { from: Mem::Scratch, .. }
            )
        });
        for asm in &mut code {
            let renumber = |mem: &mut Mem| match mem {
                Mem::Slot(slot) => *slot = numbers[*slot as usize],
                Mem::Scratch => *mem = Mem::Slot(slots),
                _ => {}
            };
            match asm {
                Asm::Load { from: mem, .. } | Asm::Store { to: mem, .. } => renumber(mem),
                Asm::Op { b: Location::Mem(mem), .. } | Asm::Test { b: Location::Mem(mem), .. } => {
                    renumber(mem)
                }
                Asm::Copy { from, to } => [from, to].into_iter().for_each(renumber),
                _ => {}
            }
        }
        Allocated { code, slots: slots + u32::from(uses_scratch) }
    }
}

/// The register that holds a variable.
fn position(regs: &[Var; REGISTERS], var: Var) -> Option<Register> {
    regs.iter().position(|&v| v == var).map(|register| register as Register)
}

/// The set of registers in use.
fn occupied(regs: &[Var; REGISTERS]) -> u16 {
    (0..REGISTERS).filter(|&r| regs[r] != NO_VAR).fold(0, |all, r| all | 1 << r)
}
