//! Register allocation: which register or slot of the stack holds each variable, and when.
//!
//! One walk in program order. A variable whose register is needed for something else is the one read again the furthest ahead (Belady
//! 1966). It is stored right where it was assigned, which is once, so that from then on its slot is valid on every path, and no
//! later eviction costs anything. Variables with a home in memory are never stored at all.
//!
//! Both arms of an if start from the same registers; where they join, a variable stays in a register if both have it in one. A loop fixes
//! the registers of parameters and of what is alive in it at its entry, and the end of its body brings them back. Where that
//! would load a variable in every round, the loop is walked again with that variable left in memory.

use super::machine::{Any, Block, Form, Home, If, Inst, Loop, Opcode, Program, Step, Test, Var};
use super::moves;
use crate::target::Target;

/// Number of a vector register.
pub(super) type Register = u8;

const REGISTERS: usize = 16;
const NONE: u8 = u8::MAX;
const NO_VAR: Var = Var(u32::MAX);
/// The position of a use that never comes.
const NEVER: u32 = u32::MAX;
/// Loops within loops that may be walked again; each level doubles the walks of those within.
const RETRY_DEPTH: usize = 3;

/// Memory that an instruction reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Mem {
    Input(u32),
    Output(u32),
    Const(u32),
    /// The slot of this variable, later of this number, on the stack.
    Slot(u32),
    /// A slot for moves in circles.
    Scratch,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Place {
    Reg(Register),
    Mem(Mem),
}

/// Target of a jump.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Label(pub u32);

/// An instruction on registers, or several that always go together.
#[derive(Clone, Copy, Debug)]
pub(super) enum Asm {
    /// Nothing.
    Nop,
    Op {
        op: Opcode,
        dst: Register,
        a: Register,
        b: Place,
        c: Register,
        imm: u32,
    },
    Load {
        dst: Register,
        from: Mem,
    },
    Store {
        src: Register,
        to: Mem,
    },
    Move {
        dst: Register,
        src: Register,
    },
    /// From memory to memory, without a vector register.
    Copy {
        from: Mem,
        to: Mem,
    },
    Test {
        a: Register,
        b: Place,
    },
    Jump(Label),
    /// Jumps if the test found bits, or if it did not.
    Branch {
        any: Any,
        found: bool,
        to: Label,
    },
    Label(Label),
    /// What follows is the head of a loop, up to its middle; then comes the body, up to the end. They will be laid out the other way
    /// round, so that a round takes one jump.
    LoopHead,
    LoopBody {
        test: Any,
    },
    LoopEnd,
}

/// Allocated code.
#[derive(Debug)]
pub(super) struct Allocated {
    pub code: Vec<Asm>,
    /// Slots on the stack, of a register's size.
    pub slots: u32,
}

/// Allocates registers for a program.
pub(super) fn allocate(program: &Program, target: Target) -> Allocated {
    let count = program.homes.len();
    let vex = target != Target::Sse;
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

/// Where each variable is read, in positions that count in program order, and where it is assigned.
#[derive(Debug)]
struct Uses {
    /// The first use of each variable, in `positions`, and the end of the last.
    first: Vec<u32>,
    positions: Vec<u32>,
    /// Beside each position, whether the variable must be in a register there.
    in_register: Vec<bool>,
    /// Position of the assignment.
    def: Vec<u32>,
    /// From where to where a slot of the variable would be written and read.
    span: Vec<(u32, u32)>,
}

/// Walks a program as the allocator does, and notes uses.
struct Collector<'a> {
    program: &'a Program,
    vex: bool,
    pos: u32,
    uses: Vec<(Var, u32, bool)>,
    def: Vec<u32>,
    span: Vec<(u32, u32)>,
    /// Where each open loop starts, and what it reads from outside.
    loops: Vec<(u32, Vec<Var>)>,
    /// The innermost loop, by its start, for which the variable is noted already.
    noted: Vec<u32>,
}

impl Uses {
    fn collect(program: &Program, vex: bool) -> Uses {
        let count = program.homes.len();
        let mut collector = Collector {
            program,
            vex,
            pos: 0,
            uses: vec![],
            def: vec![0; count],
            span: vec![(0, 0); count],
            loops: vec![],
            noted: vec![0; count],
        };
        collector.block(&program.body);
        let mut first = vec![0; count + 1];
        for (var, ..) in &collector.uses {
            first[var.index() + 1] += 1;
        }
        for k in 0..count {
            first[k + 1] += first[k];
        }
        let mut next = first.clone();
        let mut positions = vec![0; collector.uses.len()];
        let mut in_register = vec![false; collector.uses.len()];
        for (var, pos, register) in collector.uses {
            positions[next[var.index()] as usize] = pos;
            in_register[next[var.index()] as usize] = register;
            next[var.index()] += 1;
        }
        Uses { first, positions, in_register, def: collector.def, span: collector.span }
    }
}

impl Collector<'_> {
    fn block(&mut self, block: &Block) {
        for step in &block.steps {
            match step {
                Step::Line(line) => {
                    for inst in line {
                        self.pos += 1;
                        inst.args().for_each(|arg| self.read(arg, self.is_in_register(inst, arg)));
                        if let Some(result) = inst.result() {
                            self.assign(result, self.pos);
                        }
                    }
                }
                Step::If(i) => {
                    self.test(&i.test);
                    let mut first_end = 0;
                    for k in 0..2 {
                        self.pos += 1;
                        self.block(&i.arms[k]);
                        self.pos += 1;
                        i.yields[k].iter().for_each(|&var| self.read(var, false));
                        if k == 0 {
                            first_end = self.pos;
                        }
                    }
                    self.pos += 1;
                    i.results.iter().for_each(|&result| self.assign(result, first_end));
                }
                Step::Loop(l) => {
                    self.pos += 1;
                    l.init.iter().for_each(|&var| self.read(var, false));
                    let start = self.pos;
                    self.pos += 1;
                    self.loops.push((self.pos, vec![]));
                    l.params.iter().for_each(|&param| self.assign(param, start));
                    self.block(&l.head);
                    self.test(&l.test);
                    self.pos += 1;
                    self.block(&l.body);
                    self.pos += 1;
                    l.next.iter().for_each(|&var| self.read(var, false));
                    let (_, live) = self.loops.pop().expect("the loop is open");
                    // What comes from outside is read in the next round too.
                    live.into_iter().for_each(|var| self.read(var, false));
                    l.params.iter().for_each(|param| {
                        let span = &mut self.span[param.index()];
                        span.1 = span.1.max(self.pos);
                    });
                }
            }
        }
    }

    /// Whether one of the operands must be, or may have to be, in a register.
    fn is_in_register(&self, inst: &Inst, arg: Var) -> bool {
        let homed = |var: Var| self.program.homes[var.index()] != Home::None;
        match inst.op.form() {
            Form::Unary => false,
            Form::Binary if inst.op.is_commutative() => homed(inst.a) && homed(inst.b),
            // Of SSE, the destination is loaded as it would be copied.
            _ if !self.vex => false,
            Form::Shift | Form::Store => true,
            Form::Blend => arg != inst.b,
            Form::Binary => arg == inst.a,
        }
    }

    fn test(&mut self, test: &Test) {
        self.pos += 1;
        self.read(test.a, true);
        if test.b != test.a {
            self.read(test.b, false);
        }
    }

    fn assign(&mut self, var: Var, written: u32) {
        self.def[var.index()] = self.pos;
        self.span[var.index()] = (written, self.pos);
    }

    fn read(&mut self, var: Var, in_register: bool) {
        self.uses.push((var, self.pos, in_register));
        self.span[var.index()].1 = self.pos;
        if let Some((start, live)) = self.loops.last_mut()
            && self.def[var.index()] < *start
            && self.noted[var.index()] != *start
        {
            self.noted[var.index()] = *start;
            live.push(var);
        }
    }
}

/// What is undone when a loop is walked again.
#[derive(Clone, Debug)]
struct State {
    regs: [Var; REGISTERS],
    reg_of: Vec<u8>,
    /// Variables with a slot.
    slotted: Vec<bool>,
    /// After which instruction a variable is in which register for the first time.
    def: Vec<(u32, u8)>,
    /// The first use, in the list of them, that may still come.
    next: Vec<u32>,
    /// The register that a variable should best be in.
    hints: Vec<u8>,
    /// Registers that hints want, to be left to those.
    wanted: u16,
    inserts: usize,
    len: usize,
    pos: u32,
}

struct Allocator<'a> {
    program: &'a Program,
    vex: bool,
    uses: Uses,
    state: State,
    out: Vec<Asm>,
    /// Instructions to be inserted before others, given by index; of several, those with the smaller number come first.
    inserts: Vec<(u32, u8, Asm)>,
    /// Positions of arms that do not run after the one at hand.
    skips: Vec<(u32, u32)>,
    /// Start and end of loops whose body is at hand.
    bodies: Vec<(u32, u32)>,
    labels: u32,
    depth: usize,
}

impl Allocator<'_> {
    fn hint_masks(&mut self, block: &Block) {
        for step in &block.steps {
            match step {
                Step::Line(line) => {
                    line.iter().filter(|inst| inst.op == Opcode::Blend).for_each(|inst| self.state.hints[inst.c.index()] = 0)
                }
                Step::If(i) => i.arms.iter().for_each(|arm| self.hint_masks(arm)),
                Step::Loop(l) => [&l.head, &l.body].into_iter().for_each(|block| self.hint_masks(block)),
            }
        }
    }

    // Uses.

    /// Position of the first use at or after `from`; `NEVER` if there is none on any way from here.
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
            if pos < from {
                next += 1;
            } else if let Some(&(_, after)) = self.skips.iter().find(|(start, after)| (*start..*after).contains(&pos)) {
                debug_assert!(pos < after);
                next += 1;
            } else {
                let def = self.uses.def[var.index()];
                let again = self.bodies.iter().any(|&(start, after)| def >= start && pos > after);
                return if again { NEVER } else { pos };
            }
        }
        NEVER
    }

    /// Whether a variable is not read after the position at hand.
    fn dies(&mut self, var: Var) -> bool {
        self.next_use(var, self.state.pos + 1) == NEVER
    }

    // Registers.

    fn reg(&self, var: Var) -> Option<Register> {
        let register = self.state.reg_of[var.index()];
        (register != NONE).then_some(register)
    }

    /// Memory that holds a variable; it is stored there if it was not.
    fn memory(&mut self, var: Var) -> Mem {
        match self.program.homes[var.index()] {
            Home::Input(port) => Mem::Input(port),
            Home::Const(bits) => Mem::Const(bits),
            Home::None => {
                if !std::mem::replace(&mut self.state.slotted[var.index()], true) {
                    let (after, register) = self.state.def[var.index()];
                    assert_ne!(register, NONE, "what has no slot is in a register first");
                    self.inserts.push((after, 0, Asm::Store { src: register, to: Mem::Slot(var.0) }));
                }
                Mem::Slot(var.0)
            }
        }
    }

    fn place(&mut self, var: Var) -> Place {
        match self.reg(var) {
            Some(register) => Place::Reg(register),
            None => Place::Mem(self.memory(var)),
        }
    }

    fn release(&mut self, register: Register) {
        let var = std::mem::replace(&mut self.state.regs[register as usize], NO_VAR);
        if var != NO_VAR {
            self.state.reg_of[var.index()] = NONE;
        }
    }

    /// Puts a variable into a register, which is free.
    fn occupy(&mut self, register: Register, var: Var) {
        debug_assert_eq!(self.state.regs[register as usize], NO_VAR, "the register is free");
        self.state.regs[register as usize] = var;
        self.state.reg_of[var.index()] = register;
    }

    /// The variable is assigned by the instruction emitted last.
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

    /// A free register outside of `pinned`, for a variable if given; another variable is evicted if need be.
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
            let stored = self.state.slotted[var.index()] || self.program.homes[var.index()] != Home::None;
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
        vars.iter().filter_map(|&var| self.reg(var)).fold(0, |pinned, register| pinned | 1 << register)
    }

    /// Frees the registers of variables that are not read any more.
    fn release_dead(&mut self, vars: impl IntoIterator<Item = Var>) {
        for var in vars {
            if let Some(register) = self.reg(var)
                && self.dies(var)
            {
                self.release(register);
            }
        }
    }

    /// Brings a variable into a register and leaves it there.
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

    // Operations.

    fn block(&mut self, block: &Block) {
        for step in &block.steps {
            match step {
                Step::Line(line) => line.iter().for_each(|inst| self.inst(inst)),
                Step::If(i) => self.if_(i),
                Step::Loop(l) => self.loop_(l),
            }
        }
    }

    fn inst(&mut self, inst: &Inst) {
        self.state.pos += 1;
        match inst.op.form() {
            Form::Store => self.store(inst),
            Form::Unary => {
                let b = self.place(inst.b);
                self.release_dead([inst.b]);
                let dst = self.take(0, Some(inst.dst));
                self.out.push(Asm::Op { op: inst.op, dst, a: dst, b, c: 0, imm: inst.imm });
                self.assign(dst, inst.dst);
            }
            Form::Binary | Form::Shift | Form::Blend if self.vex => self.three_operands(inst),
            Form::Binary | Form::Shift => self.two_operands(inst, 0),
            Form::Blend => {
                self.mask_to_xmm0(inst);
                self.two_operands(inst, 1);
            }
        }
    }

    fn store(&mut self, inst: &Inst) {
        let src = match self.reg(inst.a) {
            Some(register) => register,
            None => {
                let from = self.memory(inst.a);
                let register = self.take(0, None);
                self.out.push(Asm::Load { dst: register, from });
                register
            }
        };
        self.out.push(Asm::Store { src, to: Mem::Output(inst.imm) });
        self.release_dead([inst.a]);
    }

    /// Operands of a binary operation in the better order: the first in a register, of which it can be the last use.
    fn ordered(&mut self, inst: &Inst) -> (Var, Var) {
        let (a, b) = (inst.a, inst.b);
        if !inst.op.is_commutative() || a == b || inst.op.form() != Form::Binary {
            return (a, b);
        }
        let swap = match (self.reg(a), self.reg(b)) {
            (None, Some(_)) => self.vex || self.dies(b),
            (None, None) => self.uses_in_register(a) < self.uses_in_register(b),
            (Some(_), None) => false,
            (Some(r), Some(s)) => {
                let hint = self.state.hints[inst.dst.index()];
                !self.vex && self.dies(b) && (!self.dies(a) || (s == hint && r != hint))
            }
        };
        if swap { (b, a) } else { (a, b) }
    }

    /// VEX encodings, with a destination of their own.
    fn three_operands(&mut self, inst: &Inst) {
        let (a, b) = self.ordered(inst);
        let form = inst.op.form();
        let c = if form == Form::Blend { inst.c } else { a };
        let c_reg = if form == Form::Blend { self.fetch(c, self.pinned(&[a, b])) } else { 0 };
        if self.reg(a).is_none() && self.uses_in_register(a) > 0 {
            self.fetch(a, self.pinned(&[b, c]));
        }
        let mut b_place = if form == Form::Shift { Place::Reg(0) } else { self.place(b) };
        let (dst, a_reg) = match self.reg(a) {
            Some(a_reg) => {
                self.release_dead([a, b, c]);
                (self.take(0, Some(inst.dst)), a_reg)
            }
            None => {
                let from = self.memory(a);
                let dst = self.take(self.pinned(&[b, c]), Some(inst.dst));
                self.out.push(Asm::Load { dst, from });
                self.release_dead([b, c]);
                if a == b {
                    b_place = Place::Reg(dst);
                }
                (dst, dst)
            }
        };
        self.out.push(Asm::Op { op: inst.op, dst, a: a_reg, b: b_place, c: c_reg, imm: inst.imm });
        self.assign(dst, inst.dst);
    }

    /// How often, after this operation, a variable will be an operand that must be in a register.
    fn uses_in_register(&mut self, var: Var) -> usize {
        if self.next_use(var, self.state.pos + 1) == NEVER {
            return 0;
        }
        let rest = self.state.next[var.index()] as usize..self.uses.first[var.index() + 1] as usize;
        rest.filter(|&k| self.uses.positions[k] > self.state.pos && self.uses.in_register[k]).count()
    }

    /// SSE encodings, whose destination is the first operand. Registers in `pinned` are left alone.
    fn two_operands(&mut self, inst: &Inst, pinned: u16) {
        let (mut a, mut b) = self.ordered(inst);
        if inst.op.form() == Form::Shift {
            b = a;
        } else if inst.op.is_commutative() && self.reg(a).or(self.reg(b)).is_none() && self.uses_in_register(a) > 0 {
            self.fetch(a, pinned);
            std::mem::swap(&mut a, &mut b);
        }
        let b_pinned = self.pinned(&[b]);
        let dst = match self.reg(a) {
            Some(register) if pinned & 1 << register == 0 && self.dies(a) => {
                let b_place = self.place(b);
                self.release_dead([a, b]);
                self.out.push(Asm::Op { op: inst.op, dst: register, a: register, b: b_place, c: 0, imm: inst.imm });
                register
            }
            a_reg => {
                let b_place = self.place(b);
                let dst = self.take(b_pinned | pinned, Some(inst.dst));
                match a_reg {
                    Some(src) if src == dst => {}
                    Some(src) => self.out.push(Asm::Move { dst, src }),
                    None => {
                        let from = self.memory(a);
                        self.out.push(Asm::Load { dst, from });
                    }
                }
                let b_place = if a == b { Place::Reg(dst) } else { b_place };
                self.out.push(Asm::Op { op: inst.op, dst, a: dst, b: b_place, c: 0, imm: inst.imm });
                self.release_dead([a, b]);
                dst
            }
        };
        if inst.op.form() == Form::Blend {
            self.release_dead([inst.c]);
        }
        self.assign(dst, inst.dst);
    }

    /// Brings the mask of a blend to xmm0, and what was there elsewhere.
    fn mask_to_xmm0(&mut self, inst: &Inst) {
        if self.reg(inst.c) == Some(0) {
            return;
        }
        let there = self.state.regs[0];
        if there != NO_VAR {
            let pinned = self.pinned(&[inst.a, inst.b, inst.c]) | 1;
            let is_operand = there == inst.a || there == inst.b;
            if is_operand || self.free() & !pinned != 0 {
                let dst = self.take(pinned, None);
                self.out.push(Asm::Move { dst, src: 0 });
                self.release(0);
                self.occupy(dst, there);
            } else {
                self.memory(there);
                self.release(0);
            }
        }
        match self.reg(inst.c) {
            Some(src) => {
                self.out.push(Asm::Move { dst: 0, src });
                self.release(src);
            }
            None => {
                let from = self.memory(inst.c);
                self.out.push(Asm::Load { dst: 0, from });
            }
        }
        self.occupy(0, inst.c);
    }

    fn test(&mut self, test: &Test) {
        self.state.pos += 1;
        let (mut a, mut b) = (test.a, test.b);
        if test.any == Any::Both && self.reg(a).is_none() {
            std::mem::swap(&mut a, &mut b);
        }
        let a_reg = match self.reg(a) {
            Some(register) => register,
            None => {
                let from = self.memory(a);
                let register = self.take(self.pinned(&[b]), None);
                self.out.push(Asm::Load { dst: register, from });
                register
            }
        };
        let b_place = if a == b { Place::Reg(a_reg) } else { self.place(b) };
        self.out.push(Asm::Test { a: a_reg, b: b_place });
        self.release_dead([a, b]);
    }

    // Control flow.

    fn label(&mut self) -> Label {
        self.labels += 1;
        Label(self.labels - 1)
    }

    /// Frees the registers of all variables that are not read at or after `from`.
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
        self.out.push(Asm::Branch { any: i.test.any, found: false, to: otherwise });

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
        let first_empty = jump == branch + 1 && self.inserts[inserts..].iter().all(|&(at, ..)| at != jump as u32);
        let second_empty = self.out.len() == jump + 2 && self.inserts[inserts..].iter().all(|&(at, ..)| at < jump as u32 + 2);
        if second_empty {
            self.out[jump] = Asm::Nop;
        } else if first_empty {
            self.out[branch] = Asm::Branch { any: i.test.any, found: true, to: end };
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

    /// First position and position of the yields of both arms; the test was just read.
    fn arm_spans(&self, i: &If) -> [(u32, u32); 2] {
        let first = self.state.pos + 1;
        let first_end = first + length(&i.arms[0]) + 1;
        let second = first_end + 1;
        [(first, first_end), (second, second + length(&i.arms[1]) + 1)]
    }

    /// Wants the yields of both arms where their result is wanted, or else where one of them is already.
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

    /// Wants what the second arm yields for a result in the register in which the first arm left its yield.
    fn hint_second(&mut self, i: &If, result: Var, register: Register) {
        let k = i.results.iter().position(|&r| r == result).expect("it is a result");
        let hint = &mut self.state.hints[i.yields[1][k].index()];
        if *hint == NONE {
            *hint = register;
        }
    }

    /// Settles where everything is after an if. `first` is what registers held at the end of the first arm, whose jump is at `jump`.
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
                    moves[0].push((Place::Reg(from), Place::Reg(register as Register)));
                }
                // The first arm has it in memory.
                None => _ = self.memory(var),
            }
        }
        // What the first arm alone has in a register is in memory in the second.
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
                Some(register) => Place::Reg(register),
                None => Place::Mem(Mem::Slot(result.0)),
            };
            let from = match in_first(i.yields[0][k]) {
                Some(register) => Place::Reg(register),
                None => Place::Mem(self.memory(i.yields[0][k])),
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

    /// Allocates a loop in which the variables `left` are in memory from the start; returns those that must be loaded in every round.
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
        self.out.push(Asm::LoopBody { test: l.test.any });

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
                Some(register) => moves.push((from, Place::Reg(register))),
                None if self.state.slotted[param.index()] => moves.push((from, Place::Mem(Mem::Slot(param.0)))),
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
                moves.push((from, Place::Reg(register as Register)));
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

    /// Brings everything to where the loop has it in each round; returns what is in registers then.
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
            let free = (0..REGISTERS).filter(|&r| header[r] == NO_VAR).fold(0u16, |free, r| free | 1 << r);
            let register = match self.reg(init) {
                Some(register) if free & 1 << register != 0 => Some(register),
                _ if free & !self.state.wanted != 0 => Some((free & !self.state.wanted).trailing_zeros() as Register),
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
                    Some(register) => Place::Reg(register),
                    None => {
                        self.state.slotted[param.index()] = true;
                        Place::Mem(Mem::Slot(param.0))
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

    /// The register, in the header of a loop, of what is read later than this parameter, if there is such.
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

    // The end.

    /// Merges what is to be inserted, lays out loops and gives numbers to slots.
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
        let (numbers, slots) = number_slots(&self.state.slotted, &self.uses.span);
        let mut code = lay_out(merged, self.labels);
        let uses_scratch =
            code.iter().any(|asm| matches!(asm, Asm::Load { from: Mem::Scratch, .. } | Asm::Copy { from: Mem::Scratch, .. }));
        for asm in &mut code {
            let renumber = |mem: &mut Mem| match mem {
                Mem::Slot(slot) => *slot = numbers[*slot as usize],
                Mem::Scratch => *mem = Mem::Slot(slots),
                _ => {}
            };
            match asm {
                Asm::Load { from: mem, .. } | Asm::Store { to: mem, .. } => renumber(mem),
                Asm::Op { b: Place::Mem(mem), .. } | Asm::Test { b: Place::Mem(mem), .. } => renumber(mem),
                Asm::Copy { from, to } => [from, to].into_iter().for_each(renumber),
                _ => {}
            }
        }
        Allocated { code, slots: slots + u32::from(uses_scratch) }
    }
}

/// Where among registers a variable is.
fn position(regs: &[Var; REGISTERS], var: Var) -> Option<Register> {
    regs.iter().position(|&v| v == var).map(|register| register as Register)
}

/// Registers that hold something.
fn occupied(regs: &[Var; REGISTERS]) -> u16 {
    (0..REGISTERS).filter(|&r| regs[r] != NO_VAR).fold(0, |all, r| all | 1 << r)
}

/// Positions that the walk through a block counts.
fn length(block: &Block) -> u32 {
    block
        .steps
        .iter()
        .map(|step| match step {
            Step::Line(line) => line.len() as u32,
            Step::If(i) => 6 + length(&i.arms[0]) + length(&i.arms[1]),
            Step::Loop(l) => 5 + length(&l.head) + length(&l.body),
        })
        .sum()
}

/// Numbers for the slots of variables such that those in use at the same time differ, and how many there are.
fn number_slots(slotted: &[bool], span: &[(u32, u32)]) -> (Vec<u32>, u32) {
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
fn lay_out(code: Vec<Asm>, mut labels: u32) -> Vec<Asm> {
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
