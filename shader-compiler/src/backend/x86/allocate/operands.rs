//! Allocation for single instructions: operands and destination.

use super::{Allocator, NEVER, NO_VREG};
use crate::backend::x86::asm::{Asm, Location, Mem};
use crate::backend::x86::machine::{Form, Inst, Test, TestOp, VReg};

impl Allocator<'_> {
    /// Allocates registers for an instruction.
    pub(super) fn inst(&mut self, inst: &Inst) {
        self.state.pos += 1;
        match inst.op.form() {
            Form::Store => self.store(inst),
            Form::Gather => self.gather(inst),
            Form::Unary => {
                let b = self.location(inst.b);
                self.release_dead([inst.b]);
                let dst = self.take(0, Some(inst.dst));
                self.out.push(Asm::Op { op: inst.op, dst, a: dst, b, c: 0, imm: inst.imm });
                self.define(dst, inst.dst);
            }
            Form::Binary | Form::Shift | Form::Blend if self.vex => self.three_operand_inst(inst),
            Form::Binary | Form::Shift => self.two_operand_inst(inst, 0),
            Form::Blend => {
                self.mask_to_xmm0(inst);
                self.two_operand_inst(inst, 1);
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

    /// Allocates registers for a gather. With eight lanes it needs a temporary register for the
    /// mask, and the registers of indices, mask and destination must be distinct.
    fn gather(&mut self, inst: &Inst) {
        let a = self.fetch(inst.a, 0);
        let (mut c, mut pinned) = (0, 0);
        if self.wide {
            c = self.take(1 << a, None);
            pinned = 1 << a | 1 << c;
        } else {
            self.release_dead([inst.a]);
        }
        let dst = self.take(pinned, Some(inst.dst));
        self.out.push(Asm::Op { op: inst.op, dst, a, b: Location::Reg(a), c, imm: inst.imm });
        self.release_dead([inst.a]);
        self.define(dst, inst.dst);
    }

    /// The operands of a binary operation, swapped if that saves an instruction: the first one
    /// should be in a register. In SSE, where it is overwritten, it should also be dead afterwards.
    fn ordered_operands(&mut self, inst: &Inst) -> (VReg, VReg) {
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

    /// Allocates registers for a VEX encoding, which has a separate destination.
    fn three_operand_inst(&mut self, inst: &Inst) {
        let (a, b) = self.ordered_operands(inst);
        let form = inst.op.form();
        let c = if form == Form::Blend { inst.c } else { a };
        let c_reg = if form == Form::Blend { self.fetch(c, self.pinned(&[a, b])) } else { 0 };
        if self.reg(a).is_none() && self.uses_in_register(a) > 0 {
            self.fetch(a, self.pinned(&[b, c]));
        }
        let mut b_location = if form == Form::Shift { Location::Reg(0) } else { self.location(b) };
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
                    b_location = Location::Reg(dst);
                }
                (dst, dst)
            }
        };
        self.out.push(Asm::Op {
            op: inst.op,
            dst,
            a: a_reg,
            b: b_location,
            c: c_reg,
            imm: inst.imm,
        });
        self.define(dst, inst.dst);
    }

    /// Number of later uses of a vreg that require it in a register.
    fn uses_in_register(&mut self, vreg: VReg) -> u32 {
        if self.next_use(vreg, self.state.pos + 1) == NEVER {
            return 0;
        }
        let end = self.uses.first[vreg.index() + 1];
        let mut next = self.state.next[vreg.index()];
        // The instruction itself may be a use.
        while next < end && self.uses.positions[next as usize] <= self.state.pos {
            next += 1;
        }
        if next < end { self.uses.in_register[next as usize] } else { 0 }
    }

    /// Allocates registers for an SSE encoding, which overwrites its first source. Does not evict
    /// registers in `pinned`.
    fn two_operand_inst(&mut self, inst: &Inst, pinned: u16) {
        let (mut a, mut b) = self.ordered_operands(inst);
        if inst.op.form() == Form::Shift {
            b = a;
        } else if inst.op.is_commutative()
            && self.reg(a).or(self.reg(b)).is_none()
            && self.uses_in_register(a) > 0
        {
            self.fetch(a, pinned);
            std::mem::swap(&mut a, &mut b);
        }
        let b_pinned = self.pinned(&[b]);
        let dst = match self.reg(a) {
            Some(register) if pinned & 1 << register == 0 && self.dies(a) => {
                let b_location = self.location(b);
                self.release_dead([a, b]);
                self.out.push(Asm::Op {
                    op: inst.op,
                    dst: register,
                    a: register,
                    b: b_location,
                    c: 0,
                    imm: inst.imm,
                });
                register
            }
            a_reg => {
                let b_location = self.location(b);
                let dst = self.take(b_pinned | pinned, Some(inst.dst));
                match a_reg {
                    Some(src) if src == dst => {}
                    Some(src) => self.out.push(Asm::Move { dst, src }),
                    None => {
                        let from = self.memory(a);
                        self.out.push(Asm::Load { dst, from });
                    }
                }
                let b_location = if a == b { Location::Reg(dst) } else { b_location };
                self.out.push(Asm::Op {
                    op: inst.op,
                    dst,
                    a: dst,
                    b: b_location,
                    c: 0,
                    imm: inst.imm,
                });
                self.release_dead([a, b]);
                dst
            }
        };
        if inst.op.form() == Form::Blend {
            self.release_dead([inst.c]);
        }
        self.define(dst, inst.dst);
    }

    /// Moves the mask of a blend to xmm0, and evicts the vreg that occupies xmm0.
    fn mask_to_xmm0(&mut self, inst: &Inst) {
        if self.reg(inst.c) == Some(0) {
            return;
        }
        let occupant = self.state.regs[0];
        if occupant != NO_VREG {
            let pinned = self.pinned(&[inst.a, inst.b, inst.c]) | 1;
            let is_operand = occupant == inst.a || occupant == inst.b;
            if is_operand || self.free() & !pinned != 0 {
                let dst = self.take(pinned, None);
                self.out.push(Asm::Move { dst, src: 0 });
                self.release(0);
                self.bind(dst, occupant);
            } else {
                self.memory(occupant);
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
        self.bind(0, inst.c);
    }

    /// Allocates registers for the test of a branch.
    pub(super) fn test(&mut self, test: &Test) {
        self.state.pos += 1;
        let (mut a, mut b) = (test.a, test.b);
        if test.op == TestOp::And && self.reg(a).is_none() {
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
        let b_location = if a == b { Location::Reg(a_reg) } else { self.location(b) };
        self.out.push(Asm::Test { a: a_reg, b: b_location });
        self.release_dead([a, b]);
    }
}
