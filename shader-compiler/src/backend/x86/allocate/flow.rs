//! Allocation across control flow: branches, joins and loops.

use super::uses::length;
use super::{Allocator, NEVER, NO_VREG, NONE, REGISTERS, RETRY_DEPTH, occupied, register_of};
use crate::backend::x86::asm::{Asm, Label, Location, Mem, Register};
use crate::backend::x86::machine::{Block, If, Loop, Step, VReg};
use crate::backend::x86::moves;

impl Allocator<'_> {
    /// Allocates registers for the steps of a block.
    pub(super) fn block(&mut self, block: &Block) {
        for step in &block.steps {
            match step {
                Step::Segment(segment) => segment.iter().for_each(|inst| self.inst(inst)),
                Step::If(i) => self.if_(i),
                Step::Loop(l) => self.loop_(l),
            }
        }
    }

    fn new_label(&mut self) -> Label {
        self.labels += 1;
        Label(self.labels - 1)
    }

    /// Frees the registers of all vregs without a use at or after position `from`.
    fn free_dead(&mut self, from: u32) {
        for register in 0..REGISTERS as Register {
            let vreg = self.state.regs[register as usize];
            if vreg != NO_VREG && self.next_use(vreg, from) == NEVER {
                self.release(register);
            }
        }
    }

    /// Replaces the register assignment.
    fn set_regs(&mut self, regs: [VReg; REGISTERS]) {
        (0..REGISTERS as Register).for_each(|register| self.release(register));
        for (register, vreg) in regs.into_iter().enumerate().filter(|(_, vreg)| *vreg != NO_VREG) {
            self.bind(register as Register, vreg);
        }
    }

    fn if_(&mut self, i: &If) {
        self.test(&i.test);
        let [first, second] = self.arm_spans(i);
        let before = self.state.regs;
        let inserts = self.inserts.len();
        self.hint_yields(i);
        let (otherwise, end) = (self.new_label(), self.new_label());
        let branch = self.out.len();
        self.out.push(Asm::Branch { test: i.test.op, on: false, to: otherwise });

        self.state.pos += 1;
        self.skips.push((second.0, second.1 + 1));
        self.free_dead(self.state.pos);
        self.block(&i.arms[0]);
        self.state.pos += 1;
        debug_assert_eq!(self.state.pos, first.1);
        self.skips.pop();
        let after_first = self.state.regs;
        for (&vreg, &result) in i.yields[0].iter().zip(&i.results) {
            if let Some(register) = self.reg(vreg)
                && self.state.hints[result.index()] == NONE
            {
                self.hint_second_yield(i, result, register);
            }
        }
        let jump = self.out.len();
        self.out.push(Asm::Jump(end));
        self.out.push(Asm::Label(otherwise));

        self.set_regs(before);
        self.state.pos += 1;
        self.free_dead(self.state.pos);
        self.block(&i.arms[1]);
        self.state.pos += 1;
        debug_assert_eq!(self.state.pos, second.1);
        self.join(i, after_first, jump);
        let first_empty =
            jump == branch + 1 && self.inserts[inserts..].iter().all(|&(at, ..)| at != jump as u32);
        let second_empty = self.out.len() == jump + 2
            && self.inserts[inserts..].iter().all(|&(at, ..)| at < jump as u32 + 2);
        if second_empty {
            self.out[jump] = Asm::Nop;
        } else if first_empty {
            self.out[branch] = Asm::Branch { test: i.test.op, on: true, to: end };
            self.out[jump] = Asm::Nop;
        }
        self.out.push(Asm::Label(end));
        for &result in &i.results {
            if let Some(register) = self.reg(result) {
                self.state.def[result.index()] = (self.out.len() as u32, register);
            }
        }
        self.free_dead(self.state.pos);
    }

    /// For each arm, its first position and the position of its yields. The current position is
    /// that of the test.
    fn arm_spans(&self, i: &If) -> [(u32, u32); 2] {
        let first = self.state.pos + 1;
        let first_end = first + length(&i.arms[0]) + 1;
        let second = first_end + 1;
        [(first, first_end), (second, second + length(&i.arms[1]) + 1)]
    }

    /// Gives the yields of both arms the hint of their result, or else the register that one of
    /// them is in.
    fn hint_yields(&mut self, i: &If) {
        for (k, &result) in i.results.iter().enumerate() {
            let yields = [i.yields[0][k], i.yields[1][k]];
            let mut preferred = self.state.hints[result.index()];
            for vreg in yields {
                if preferred == NONE
                    && let Some(register) = self.reg(vreg)
                {
                    preferred = register;
                }
            }
            for vreg in yields {
                if preferred != NONE && self.state.hints[vreg.index()] == NONE {
                    self.state.hints[vreg.index()] = preferred;
                }
            }
        }
    }

    /// Gives the second arm's yield for a result a hint: the register of the first arm's yield.
    fn hint_second_yield(&mut self, i: &If, result: VReg, register: Register) {
        let k =
            i.results.iter().position(|&r| r == result).expect("`result` is a result of the if");
        let hint = &mut self.state.hints[i.yields[1][k].index()];
        if *hint == NONE {
            *hint = register;
        }
    }

    /// Chooses the locations after an if, and emits moves at the end of both arms. `first` is the
    /// register assignment at the end of the first arm; the jump that ends this arm is at `jump`.
    fn join(&mut self, i: &If, first: [VReg; REGISTERS], jump: usize) {
        let second = self.state.regs;
        let in_first = |vreg: VReg| register_of(&first, vreg);
        let after = self.state.pos + 1;
        let mut joined = [NO_VREG; REGISTERS];
        let mut moves = [vec![], vec![]];
        // A vreg stays in a register if both arms have it in one. Vregs that only the first arm has
        // in a register are in memory in the second.
        for (register, &vreg) in second.iter().enumerate().filter(|(_, vreg)| **vreg != NO_VREG) {
            if self.next_use(vreg, after) == NEVER {
                continue;
            }
            match in_first(vreg) {
                Some(from) => {
                    joined[register] = vreg;
                    moves[0].push((Location::Reg(from), Location::Reg(register as Register)));
                }
                // The first arm has evicted it.
                None => _ = self.memory(vreg),
            }
        }
        // First, results take the register of a yield if it is free; then, any free register.
        let mut results: Vec<usize> = (0..i.results.len()).collect();
        for pass in 0..2 {
            results.retain(|&k| {
                let yields = [i.yields[0][k], i.yields[1][k]];
                let at = [in_first(yields[0]), self.reg(yields[1])];
                let free = |register: &Register| joined[*register as usize] == NO_VREG;
                let target = match pass {
                    0 => at[1].filter(free).or(at[0].filter(free)),
                    _ => Some(self.state.hints[i.results[k].index()])
                        .filter(|&hint| hint != NONE && free(&hint))
                        .or((0..REGISTERS as Register).rev().find(free)),
                };
                if let Some(register) = target {
                    joined[register as usize] = i.results[k];
                }
                target.is_none()
            });
        }
        for k in results {
            self.state.spilled[i.results[k].index()] = true;
        }
        for (k, &result) in i.results.iter().enumerate() {
            let to = match register_of(&joined, result) {
                Some(register) => Location::Reg(register),
                None => Location::Mem(Mem::Slot(result.0)),
            };
            let from = match in_first(i.yields[0][k]) {
                Some(register) => Location::Reg(register),
                None => Location::Mem(self.memory(i.yields[0][k])),
            };
            moves[0].push((from, to));
            let from = self.location(i.yields[1][k]);
            moves[1].push((from, to));
        }
        let busy = occupied(&joined);
        let [first_moves, second_moves] = moves;
        let mut code = vec![];
        moves::emit(&mut code, first_moves, busy);
        self.inserts.extend(code.into_iter().map(|asm| (jump as u32, 1, asm)));
        moves::emit(&mut self.out, second_moves, busy);
        self.state.pos += 1;
        self.set_regs(joined);
    }

    fn loop_(&mut self, l: &Loop) {
        self.depth += 1;
        self.state.inserts = self.inserts.len();
        self.state.len = self.out.len();
        let saved = (self.depth <= RETRY_DEPTH).then(|| self.state.clone());
        let labels = self.labels;
        let reloaded = self.try_loop(l, &[]);
        if let Some(saved) = saved
            && !reloaded.is_empty()
        {
            self.inserts.truncate(saved.inserts);
            self.out.truncate(saved.len);
            self.labels = labels;
            self.state = saved;
            self.try_loop(l, &reloaded);
        }
        self.depth -= 1;
    }

    /// Allocates a loop that starts with the vregs `in_memory` evicted. Returns the vregs that are
    /// reloaded in every iteration.
    fn try_loop(&mut self, l: &Loop, in_memory: &[VReg]) -> Vec<VReg> {
        self.state.pos += 1;
        let start = self.state.pos + 1;
        let end = start + length(&l.head) + length(&l.body) + 3;
        let reserved = self.state.reserved;
        let header = self.enter_loop(l, in_memory);
        self.out.push(Asm::LoopHead);
        self.state.pos = start;
        for &param in &l.params {
            if let Some(register) = self.reg(param) {
                self.state.def[param.index()] = (self.out.len() as u32, register);
            }
        }
        self.block(&l.head);
        self.test(&l.test);
        let at_exit = self.state.regs;
        self.out.push(Asm::LoopBody { test: l.test.op });

        self.state.pos += 1;
        self.bodies.push((start, end));
        self.free_dead(self.state.pos);
        self.block(&l.body);
        self.state.pos += 1;
        debug_assert_eq!(self.state.pos, end);
        let mut moves = vec![];
        for (&param, &next) in l.params.iter().zip(&l.next) {
            let from = self.location(next);
            match register_of(&header, param) {
                Some(register) => moves.push((from, Location::Reg(register))),
                None if self.state.spilled[param.index()] => {
                    moves.push((from, Location::Mem(Mem::Slot(param.0))))
                }
                None => {}
            }
        }
        let mut reloaded = vec![];
        for (register, &vreg) in header.iter().enumerate().filter(|(_, vreg)| **vreg != NO_VREG) {
            if !l.params.contains(&vreg) {
                if self.reg(vreg).is_none() {
                    reloaded.push(vreg);
                }
                let from = self.location(vreg);
                moves.push((from, Location::Reg(register as Register)));
            }
        }
        moves::emit(&mut self.out, moves, occupied(&header));
        self.bodies.pop();
        self.out.push(Asm::LoopEnd);
        self.state.reserved = reserved;
        self.set_regs(at_exit);
        self.free_dead(end + 1);
        reloaded
    }

    /// Moves vregs to their locations at the start of each iteration. Returns the register
    /// assignment there.
    fn enter_loop(&mut self, l: &Loop, in_memory: &[VReg]) -> [VReg; REGISTERS] {
        let after = self.state.pos + 1;
        let mut header = self.state.regs;
        for vreg in header.iter_mut().filter(|vreg| **vreg != NO_VREG) {
            if self.next_use(*vreg, after) == NEVER {
                *vreg = NO_VREG;
            } else if in_memory.contains(vreg) {
                self.memory(*vreg);
                *vreg = NO_VREG;
            }
        }
        for (&param, &init) in l.params.iter().zip(&l.init) {
            if self.next_use(param, after) == NEVER {
                continue;
            }
            let free = (0..REGISTERS)
                .filter(|&r| header[r] == NO_VREG)
                .fold(0u16, |free, r| free | 1 << r);
            let register = match self.reg(init) {
                Some(register) if free & 1 << register != 0 => Some(register),
                _ if free & !self.state.reserved != 0 => {
                    Some((free & !self.state.reserved).trailing_zeros() as Register)
                }
                _ if free != 0 => Some(free.trailing_zeros() as Register),
                _ => self.evict_for_param(param, &header, after),
            };
            if let Some(register) = register {
                header[register as usize] = param;
            }
        }
        let mut moves = vec![];
        for (&param, &init) in l.params.iter().zip(&l.init) {
            if self.next_use(param, after) != NEVER {
                let to = match register_of(&header, param) {
                    Some(register) => Location::Reg(register),
                    None => {
                        self.state.spilled[param.index()] = true;
                        Location::Mem(Mem::Slot(param.0))
                    }
                };
                moves.push((self.location(init), to));
            }
        }
        moves::emit(&mut self.out, moves, occupied(&header));
        self.set_regs(header);
        for (&param, &next) in l.params.iter().zip(&l.next) {
            if let Some(register) = self.reg(param) {
                self.state.hints[next.index()] = register;
                self.state.reserved |= 1 << register;
            }
        }
        header
    }

    /// Evicts the vreg with the furthest next use from its register at the start of a loop, if that
    /// use is further away than the parameter's. Returns the register.
    fn evict_for_param(
        &mut self,
        param: VReg,
        header: &[VReg; REGISTERS],
        after: u32,
    ) -> Option<Register> {
        let param_use = self.next_use(param, after);
        let uses = header.map(|vreg| self.next_use(vreg, after));
        let register = (0..REGISTERS).max_by_key(|&r| uses[r]).expect("there are registers");
        if uses[register] <= param_use {
            return None;
        }
        if self.reg(header[register]).is_some() {
            self.memory(header[register]);
        }
        Some(register as Register)
    }
}
