//! Allocation across control flow: branches, joins and loops.

use super::uses::length;
use super::{Allocator, NEVER, NO_VAR, NONE, REGISTERS, RETRY_DEPTH, occupied, position};
use crate::backend::x86::asm::{Asm, Label, Location, Mem, Register};
use crate::backend::x86::machine::{Block, If, Loop, Step, Var};
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

    fn label(&mut self) -> Label {
        self.labels += 1;
        Label(self.labels - 1)
    }

    /// Frees the registers of all variables that are dead at `from`.
    fn sweep(&mut self, from: u32) {
        for register in 0..REGISTERS as Register {
            let var = self.state.regs[register as usize];
            if var != NO_VAR && self.next_use(var, from) == NEVER {
                self.release(register);
            }
        }
    }

    fn set_regs(&mut self, regs: [Var; REGISTERS]) {
        (0..REGISTERS as Register).for_each(|register| self.release(register));
        for (register, var) in regs.into_iter().enumerate().filter(|(_, var)| *var != NO_VAR) {
            self.occupy(register as Register, var);
        }
    }

    fn if_(&mut self, i: &If) {
        self.test(&i.test);
        let [first, second] = self.arm_spans(i);
        let before = self.state.regs;
        let inserts = self.inserts.len();
        self.hint_yields(i);
        let (otherwise, end) = (self.label(), self.label());
        let branch = self.out.len();
        self.out.push(Asm::Branch { test: i.test.op, found: false, to: otherwise });

        self.state.pos += 1;
        self.skips.push((second.0, second.1 + 1));
        self.sweep(self.state.pos);
        self.block(&i.arms[0]);
        self.state.pos += 1;
        debug_assert_eq!(self.state.pos, first.1);
        self.skips.pop();
        let after_first = self.state.regs;
        for (&var, &result) in i.yields[0].iter().zip(&i.results) {
            if let Some(register) = self.reg(var)
                && self.state.hints[result.index()] == NONE
            {
                self.hint_second(i, result, register);
            }
        }
        let jump = self.out.len();
        self.out.push(Asm::Jump(end));
        self.out.push(Asm::Label(otherwise));

        self.set_regs(before);
        self.state.pos += 1;
        self.sweep(self.state.pos);
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
            self.out[branch] = Asm::Branch { test: i.test.op, found: true, to: end };
            self.out[jump] = Asm::Nop;
        }
        self.out.push(Asm::Label(end));
        for &result in &i.results {
            if let Some(register) = self.reg(result) {
                self.state.def[result.index()] = (self.out.len() as u32, register);
            }
        }
        self.sweep(self.state.pos);
    }

    /// First position and position of the yields of both arms; the current position is the test.
    fn arm_spans(&self, i: &If) -> [(u32, u32); 2] {
        let first = self.state.pos + 1;
        let first_end = first + length(&i.arms[0]) + 1;
        let second = first_end + 1;
        [(first, first_end), (second, second + length(&i.arms[1]) + 1)]
    }

    /// Hints the yields of both arms toward the hint of their result, or else toward the register
    /// that one of them is in.
    fn hint_yields(&mut self, i: &If) {
        for (k, &result) in i.results.iter().enumerate() {
            let yields = [i.yields[0][k], i.yields[1][k]];
            let mut wanted = self.state.hints[result.index()];
            for var in yields {
                if wanted == NONE
                    && let Some(register) = self.reg(var)
                {
                    wanted = register;
                }
            }
            for var in yields {
                if wanted != NONE && self.state.hints[var.index()] == NONE {
                    self.state.hints[var.index()] = wanted;
                }
            }
        }
    }

    /// Hints the second arm's yield for a result toward the register of the first arm's yield.
    fn hint_second(&mut self, i: &If, result: Var, register: Register) {
        let k = i.results.iter().position(|&r| r == result).expect("it is a result");
        let hint = &mut self.state.hints[i.yields[1][k].index()];
        if *hint == NONE {
            *hint = register;
        }
    }

    /// Decides the locations after an if, and emits moves at the end of both arms. `first` is the
    /// register state at the end of the first arm, whose jump is at `jump`.
    fn join(&mut self, i: &If, first: [Var; REGISTERS], jump: usize) {
        let second = self.state.regs;
        let in_first = |var: Var| position(&first, var);
        let after = self.state.pos + 1;
        let mut joined = [NO_VAR; REGISTERS];
        let mut moves = [vec![], vec![]];
        for (register, &var) in second.iter().enumerate().filter(|(_, var)| **var != NO_VAR) {
            if self.next_use(var, after) == NEVER {
                continue;
            }
            match in_first(var) {
                Some(from) => {
                    joined[register] = var;
                    moves[0].push((Location::Reg(from), Location::Reg(register as Register)));
                }
                // The first arm has evicted it.
                None => _ = self.memory(var),
            }
        }
        // Variables that only the first arm has in a register are in memory in the second.
        let mut results: Vec<usize> = (0..i.results.len()).collect();
        for pass in 0..2 {
            results.retain(|&k| {
                let yields = [i.yields[0][k], i.yields[1][k]];
                let at = [in_first(yields[0]), self.reg(yields[1])];
                let free = |register: &Register| joined[*register as usize] == NO_VAR;
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
            self.state.slotted[i.results[k].index()] = true;
        }
        for (k, &result) in i.results.iter().enumerate() {
            let to = match position(&joined, result) {
                Some(register) => Location::Reg(register),
                None => Location::Mem(Mem::Slot(result.0)),
            };
            let from = match in_first(i.yields[0][k]) {
                Some(register) => Location::Reg(register),
                None => Location::Mem(self.memory(i.yields[0][k])),
            };
            moves[0].push((from, to));
            let from = self.place(i.yields[1][k]);
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

    /// Allocates a loop with the variables `left` in memory from the start. Returns the variables
    /// that are reloaded in every iteration.
    fn try_loop(&mut self, l: &Loop, left: &[Var]) -> Vec<Var> {
        self.state.pos += 1;
        let start = self.state.pos + 1;
        let end = start + length(&l.head) + length(&l.body) + 3;
        let wanted = self.state.wanted;
        let header = self.enter_loop(l, left);
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
        self.sweep(self.state.pos);
        self.block(&l.body);
        self.state.pos += 1;
        debug_assert_eq!(self.state.pos, end);
        let mut moves = vec![];
        for (&param, &next) in l.params.iter().zip(&l.next) {
            let from = self.place(next);
            match position(&header, param) {
                Some(register) => moves.push((from, Location::Reg(register))),
                None if self.state.slotted[param.index()] => {
                    moves.push((from, Location::Mem(Mem::Slot(param.0))))
                }
                None => {}
            }
        }
        let mut reloaded = vec![];
        for (register, &var) in header.iter().enumerate().filter(|(_, var)| **var != NO_VAR) {
            if !l.params.contains(&var) {
                if self.reg(var).is_none() {
                    reloaded.push(var);
                }
                let from = self.place(var);
                moves.push((from, Location::Reg(register as Register)));
            }
        }
        moves::emit(&mut self.out, moves, occupied(&header));
        self.bodies.pop();
        self.out.push(Asm::LoopEnd);
        self.state.wanted = wanted;
        self.set_regs(at_exit);
        self.sweep(end + 1);
        reloaded
    }

    /// Moves variables to the locations that they have at the start of each iteration. Returns the
    /// register state there.
    fn enter_loop(&mut self, l: &Loop, left: &[Var]) -> [Var; REGISTERS] {
        let after = self.state.pos + 1;
        let mut header = self.state.regs;
        for var in header.iter_mut().filter(|var| **var != NO_VAR) {
            if self.next_use(*var, after) == NEVER {
                *var = NO_VAR;
            } else if left.contains(var) {
                self.memory(*var);
                *var = NO_VAR;
            }
        }
        for (&param, &init) in l.params.iter().zip(&l.init) {
            if self.next_use(param, after) == NEVER {
                continue;
            }
            let free =
                (0..REGISTERS).filter(|&r| header[r] == NO_VAR).fold(0u16, |free, r| free | 1 << r);
            let register = match self.reg(init) {
                Some(register) if free & 1 << register != 0 => Some(register),
                _ if free & !self.state.wanted != 0 => {
                    Some((free & !self.state.wanted).trailing_zeros() as Register)
                }
                _ if free != 0 => Some(free.trailing_zeros() as Register),
                _ => self.displace(param, &header, after),
            };
            if let Some(register) = register {
                header[register as usize] = param;
            }
        }
        let mut moves = vec![];
        for (&param, &init) in l.params.iter().zip(&l.init) {
            if self.next_use(param, after) != NEVER {
                let to = match position(&header, param) {
                    Some(register) => Location::Reg(register),
                    None => {
                        self.state.slotted[param.index()] = true;
                        Location::Mem(Mem::Slot(param.0))
                    }
                };
                moves.push((self.place(init), to));
            }
        }
        moves::emit(&mut self.out, moves, occupied(&header));
        self.set_regs(header);
        for (&param, &next) in l.params.iter().zip(&l.next) {
            if let Some(register) = self.reg(param) {
                self.state.hints[next.index()] = register;
                self.state.wanted |= 1 << register;
            }
        }
        header
    }

    /// The register, at the start of a loop, of the variable with the furthest next use, if that is
    /// further than this parameter's.
    fn displace(&mut self, param: Var, header: &[Var; REGISTERS], after: u32) -> Option<Register> {
        let own = self.next_use(param, after);
        let uses = header.map(|var| self.next_use(var, after));
        let register = (0..REGISTERS).max_by_key(|&r| uses[r]).expect("there are registers");
        if uses[register] <= own {
            return None;
        }
        if self.reg(header[register]).is_some() {
            self.memory(header[register]);
        }
        Some(register as Register)
    }
}
