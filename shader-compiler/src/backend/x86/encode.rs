//! Encoding: translates allocated code to bytes.
//!
//! The constant pool precedes the instructions, so that the addresses of constants are known when
//! instructions are encoded. The code follows the System V calling convention: rdi points to
//! inputs, rsi to outputs, rdx to tables, and rcx to the counters of [instrumented](encode) code.
//! It uses rax to address the stack and r8 to r11 as scratch registers. Spill slots are in the red
//! zone if they fit.

mod gather;

use super::asm::{Allocated, Asm, Label, Location, Mem, Register};
use super::machine::{Form, Opcode, TestOp};
use super::{Code, Isa};
use crate::backend::{Backend, MachineCode};
use crate::ir::Table;
use iced_x86::{Code as Encoding, Encoder, Instruction, OpKind, Register as Name};
use rustc_hash::FxHashMap;

/// Size of the red zone in bytes: memory below the stack pointer that a leaf function may use.
/// Windows has none and may overwrite that memory at any time.
const RED_ZONE: u32 = if cfg!(windows) { 0 } else { 128 };
/// Mask that aligns an address to 32 bytes, the size of a spill slot.
const SLOT_ALIGNMENT_MASK: i32 = -32;
/// Size of a memory page in bytes.
const PAGE_SIZE: u32 = 4096;
/// Alignment of the first instruction.
const ENTRY_ALIGNMENT: usize = 64;

/// Encodes a function. `ports` are the numbers of inputs and outputs, `tables` is the number of
/// tables. If `instrument` is set, each basic block starts by incrementing its counter.
pub(super) fn encode(
    allocated: &Allocated,
    isa: Isa,
    ports: (usize, usize),
    tables: usize,
    instrument: bool,
) -> Code {
    let pool = pool(&allocated.code);
    let width = isa.register_size();
    let entry = (pool.len() * width).next_multiple_of(ENTRY_ALIGNMENT);
    let addresses = pool.iter().zip(0..).map(|(&bits, k)| (bits, (k * width) as i64)).collect();
    let mut writer = Writer {
        encoder: Encoder::new(64),
        isa,
        width: width as i64,
        addresses,
        frame: Frame::new(allocated.slots, width as u32),
        at: entry as u64,
        labels: FxHashMap::default(),
        jumps: vec![],
        blocks: vec![],
        starts_block: true,
        instrument,
    };
    writer.prologue();
    allocated.code.iter().for_each(|asm| writer.asm(asm));
    writer.epilogue();
    let frame = writer.frame.size as usize;
    let mut bytes = Vec::with_capacity(writer.at as usize);
    for bits in &pool {
        (0..isa.lanes()).for_each(|_| bytes.extend(bits.to_le_bytes()));
    }
    bytes.resize(entry, 0xcc);
    bytes.extend(writer.encoder.take_buffer());
    for (end, label) in writer.jumps {
        let distance = writer.labels[&label] as i64 - end as i64;
        let distance = i32::try_from(distance).expect("jump distances fit into 32 bits");
        bytes[end as usize - 4..end as usize].copy_from_slice(&distance.to_le_bytes());
    }
    let blocks = writer.blocks;
    let counters = if instrument { blocks.len() } else { 0 };
    let machine = MachineCode {
        bytes,
        entry,
        lanes: isa.lanes(),
        is_available: isa.is_available(),
        inputs: ports.0,
        outputs: ports.1,
        tables,
        counters,
        frame,
    };
    Code { isa, machine, blocks }
}

/// The constant pool: the constants that the code reads from memory.
fn pool(code: &[Asm]) -> Vec<u32> {
    let mut pool = vec![];
    let mut seen = rustc_hash::FxHashSet::default();
    for asm in code {
        let bits = match *asm {
            Asm::Op { b: Location::Mem(Mem::Const(bits)), .. }
            | Asm::Test { b: Location::Mem(Mem::Const(bits)), .. } => bits,
            Asm::Load { from: Mem::Const(bits), .. } if !is_idiom(bits) => bits,
            Asm::Copy { from: Mem::Const(bits), .. } => bits,
            _ => continue,
        };
        if seen.insert(bits) {
            pool.push(bits);
        }
    }
    pool
}

/// Whether an instruction can produce the constant without reading memory.
fn is_idiom(bits: u32) -> bool {
    bits == 0 || bits == !0
}

/// Offset of a table in the array of tables.
fn table_offset(table: u32) -> i64 {
    i64::from(table) * size_of::<Table<'static>>() as i64
}

/// The stack frame, which holds the spill slots.
struct Frame {
    base: Name,
    /// Offset of slot 0 from the base.
    offset: i64,
    /// Size in bytes.
    size: u32,
    kind: FrameKind,
}

#[derive(PartialEq)]
enum FrameKind {
    /// No prologue.
    NoPrologue,
    /// The prologue points rax to aligned memory in the red zone.
    AlignedRedZone,
    /// The prologue decrements rsp; the result is aligned to 16 bytes.
    Allocated,
    /// The prologue decrements and aligns rsp; rax holds its old value.
    AllocatedAndAligned,
}

impl Frame {
    fn new(slots: u32, width: u32) -> Frame {
        let size = slots * width;
        // On entry, rsp is 8 more than a multiple of 16.
        match width {
            _ if size == 0 => {
                Frame { base: Name::RSP, offset: 0, size, kind: FrameKind::NoPrologue }
            }
            16 if size + 8 <= RED_ZONE => Frame {
                base: Name::RSP,
                offset: -(i64::from(size) + 8),
                size,
                kind: FrameKind::NoPrologue,
            },
            16 => Frame { base: Name::RSP, offset: 0, size: size + 8, kind: FrameKind::Allocated },
            _ if size + width <= RED_ZONE => {
                Frame { base: Name::RAX, offset: 0, size, kind: FrameKind::AlignedRedZone }
            }
            _ => Frame { base: Name::RSP, offset: 0, size, kind: FrameKind::AllocatedAndAligned },
        }
    }
}

struct Writer {
    encoder: Encoder,
    isa: Isa,
    width: i64,
    /// Addresses of constants.
    addresses: FxHashMap<u32, i64>,
    frame: Frame,
    /// Offset of the next instruction.
    at: u64,
    /// Offsets of labels.
    labels: FxHashMap<Label, u64>,
    /// End offset of each jump, and its target.
    jumps: Vec<(u64, Label)>,
    /// Offsets at which basic blocks start.
    blocks: Vec<u32>,
    /// Whether the next instruction starts a basic block.
    starts_block: bool,
    instrument: bool,
}

/// Moves to an entire register, from a register or memory.
const MOVE: [Encoding; 3] = [
    Encoding::Movaps_xmm_xmmm128,
    Encoding::VEX_Vmovaps_xmm_xmmm128,
    Encoding::VEX_Vmovaps_ymm_ymmm256,
];
/// Stores of an entire register.
const STORE: [Encoding; 3] = [
    Encoding::Movaps_xmmm128_xmm,
    Encoding::VEX_Vmovaps_xmmm128_xmm,
    Encoding::VEX_Vmovaps_ymmm256_ymm,
];
/// Tests that set the flags of a [`TestOp`].
const TEST: [Encoding; 3] = [
    Encoding::Ptest_xmm_xmmm128,
    Encoding::VEX_Vptest_xmm_xmmm128,
    Encoding::VEX_Vptest_ymm_ymmm256,
];

/// An operand of an instruction.
#[derive(Clone, Copy)]
enum Operand {
    Reg(Name),
    /// Base and displacement. If the base is rip, the displacement is the address itself.
    Mem(Name, i64),
    /// The 32-bit word at base (the first register) + 4 · index (the second register).
    Word(Name, Name),
    Imm8(u8),
    Imm32(i32),
}

impl Writer {
    fn write(&mut self, instruction: &Instruction) {
        if std::mem::take(&mut self.starts_block) {
            self.blocks.push(self.at as u32);
            if self.instrument {
                let counter = Operand::Mem(Name::RCX, 8 * (self.blocks.len() as i64 - 1));
                self.write_with(Encoding::Inc_rm64, &[counter]);
            }
        }
        self.at += self
            .encoder
            .encode(instruction, self.at)
            .expect("the operands are valid for the encoding") as u64;
    }

    fn write_with(&mut self, code: Encoding, operands: &[Operand]) {
        let mut instruction = Instruction::default();
        instruction.set_code(code);
        for (&operand, k) in operands.iter().zip(0..) {
            match operand {
                Operand::Reg(register) => instruction.set_op_register(k, register),
                Operand::Mem(base, displacement) => {
                    instruction.set_op_kind(k, OpKind::Memory);
                    instruction.set_memory_base(base);
                    instruction.set_memory_displacement64(displacement as u64);
                    // The encoder selects the smallest displacement size that fits.
                    instruction.set_memory_displ_size(1);
                }
                Operand::Word(base, index) => {
                    instruction.set_op_kind(k, OpKind::Memory);
                    instruction.set_memory_base(base);
                    instruction.set_memory_index(index);
                    instruction.set_memory_index_scale(4);
                }
                Operand::Imm8(bits) => {
                    instruction.set_op_kind(k, OpKind::Immediate8);
                    instruction.set_immediate8(bits);
                }
                Operand::Imm32(bits) => {
                    instruction.set_op_kind(k, OpKind::Immediate32to64);
                    instruction.set_immediate32to64(bits.into());
                }
            }
        }
        self.write(&instruction);
    }

    fn register(&self, register: Register) -> Name {
        (if self.isa == Isa::Avx2 { Name::YMM0 } else { Name::XMM0 }) + u32::from(register)
    }

    fn memory(&self, mem: Mem) -> Operand {
        let (base, displacement) = match mem {
            Mem::Input(port) => (Name::RDI, i64::from(port) * self.width),
            Mem::Output(port) => (Name::RSI, i64::from(port) * self.width),
            Mem::Const(bits) => (Name::RIP, self.addresses[&bits]),
            Mem::Last(table) => (Name::RDX, table_offset(table) + Table::LAST as i64),
            Mem::Slot(slot) => (self.frame.base, self.frame.offset + i64::from(slot) * self.width),
            Mem::Scratch => unreachable!("slots have been numbered"),
        };
        Operand::Mem(base, displacement)
    }

    fn operand(&self, location: Location) -> Operand {
        match location {
            Location::Reg(register) => Operand::Reg(self.register(register)),
            Location::Mem(mem) => self.memory(mem),
        }
    }

    fn prologue(&mut self) {
        use Operand::{Imm32, Mem, Reg};
        let size = self.frame.size as i32;
        match self.frame.kind {
            FrameKind::NoPrologue => {}
            FrameKind::AlignedRedZone => {
                self.write_with(
                    Encoding::Lea_r64_m,
                    &[Reg(Name::RAX), Mem(Name::RSP, -i64::from(size))],
                );
                self.write_with(
                    Encoding::And_rm64_imm32,
                    &[Reg(Name::RAX), Imm32(SLOT_ALIGNMENT_MASK)],
                );
            }
            FrameKind::Allocated => {
                self.probe();
                self.write_with(Encoding::Sub_rm64_imm32, &[Reg(Name::RSP), Imm32(size)]);
            }
            FrameKind::AllocatedAndAligned => {
                self.probe();
                self.write_with(Encoding::Mov_r64_rm64, &[Reg(Name::RAX), Reg(Name::RSP)]);
                self.write_with(Encoding::Sub_rm64_imm32, &[Reg(Name::RSP), Imm32(size)]);
                self.write_with(
                    Encoding::And_rm64_imm32,
                    &[Reg(Name::RSP), Imm32(SLOT_ALIGNMENT_MASK)],
                );
            }
        }
    }

    /// Probes the stack: touches every page of the frame in order, so that an overflow hits the
    /// guard page.
    fn probe(&mut self) {
        use Operand::{Mem, Reg};
        for page in 1..=self.frame.size / PAGE_SIZE {
            self.write_with(
                Encoding::Test_rm32_r32,
                &[Mem(Name::RSP, -i64::from(page * PAGE_SIZE)), Reg(Name::EAX)],
            );
        }
    }

    fn epilogue(&mut self) {
        use Operand::{Imm32, Reg};
        match self.frame.kind {
            FrameKind::NoPrologue | FrameKind::AlignedRedZone => {}
            FrameKind::Allocated => {
                self.write_with(
                    Encoding::Add_rm64_imm32,
                    &[Reg(Name::RSP), Imm32(self.frame.size as i32)],
                );
            }
            FrameKind::AllocatedAndAligned => {
                self.write_with(Encoding::Mov_r64_rm64, &[Reg(Name::RSP), Reg(Name::RAX)])
            }
        }
        if self.isa == Isa::Avx2 {
            // Avoids the penalty for SSE code that runs after AVX code.
            self.write_with(Encoding::VEX_Vzeroupper, &[]);
        }
        self.write_with(Encoding::Retnq, &[]);
    }

    fn asm(&mut self, asm: &Asm) {
        match *asm {
            Asm::Op { op, dst, a, b, c, imm } => self.op(op, dst, a, b, c, imm),
            Asm::Load { dst, from } => self.load(dst, from),
            Asm::Store { src, to } => {
                let operands = [self.memory(to), Operand::Reg(self.register(src))];
                self.write_with(STORE[self.isa as usize], &operands);
            }
            Asm::Move { dst, src } => {
                self.write_with(
                    MOVE[self.isa as usize],
                    &[dst, src].map(|r| Operand::Reg(self.register(r))),
                );
            }
            Asm::Copy { from, to } => self.copy(from, to),
            Asm::Test { a, b } => {
                let operands = [Operand::Reg(self.register(a)), self.operand(b)];
                self.write_with(TEST[self.isa as usize], &operands);
            }
            Asm::Jump(to) => self.jump(Encoding::Jmp_rel32_64, to),
            Asm::Branch { test, on, to } => {
                let code = match (test, on) {
                    (TestOp::And, false) => Encoding::Je_rel32_64,
                    (TestOp::And, true) => Encoding::Jne_rel32_64,
                    (TestOp::AndNot, false) => Encoding::Jb_rel32_64,
                    (TestOp::AndNot, true) => Encoding::Jae_rel32_64,
                };
                self.jump(code, to);
            }
            Asm::Label(label) => {
                self.labels.insert(label, self.at);
                self.starts_block = true;
            }
            Asm::Nop | Asm::LoopHead | Asm::LoopBody { .. } | Asm::LoopEnd => {
                unreachable!("loops have been laid out")
            }
        }
    }

    fn jump(&mut self, code: Encoding, to: Label) {
        let branch = Instruction::with_branch(code, self.at).expect("the encoding is a jump");
        self.write(&branch);
        self.jumps.push((self.at, to));
        self.starts_block = true;
    }

    fn op(&mut self, op: Opcode, dst: Register, a: Register, b: Location, c: Register, imm: u32) {
        if op.form() == Form::Gather {
            return self.gather(dst, a, c, imm);
        }
        let code = op.codes()[self.isa as usize];
        let dst = Operand::Reg(self.register(dst));
        let mut operands = [dst; 4];
        let mut count = 1;
        let mut push = |operand| {
            operands[count] = operand;
            count += 1;
        };
        if op.form() != Form::Unary && self.isa.is_vex() {
            push(Operand::Reg(self.register(a)));
        }
        if op.form() != Form::Shift {
            push(self.operand(b));
        }
        if op.form() == Form::Blend && self.isa.is_vex() {
            push(Operand::Reg(self.register(c)));
        }
        if op.has_immediate() {
            push(Operand::Imm8(imm as u8));
        }
        self.write_with(code, &operands[..count]);
    }

    fn load(&mut self, dst: Register, from: Mem) {
        let register = Operand::Reg(self.register(dst));
        match from {
            Mem::Const(bits) if is_idiom(bits) => {
                let op = if bits == 0 { Opcode::Xor } else { Opcode::IEq };
                let operands = [register; 3];
                self.write_with(
                    op.codes()[self.isa as usize],
                    &operands[usize::from(!self.isa.is_vex())..],
                );
            }
            _ => {
                let memory = self.memory(from);
                self.write_with(MOVE[self.isa as usize], &[register, memory]);
            }
        }
    }

    /// Copies from memory to memory through r8.
    fn copy(&mut self, from: Mem, to: Mem) {
        let (Operand::Mem(from, from_offset), Operand::Mem(to, to_offset)) =
            (self.memory(from), self.memory(to))
        else {
            unreachable!("both are memory")
        };
        let word = Operand::Reg(Name::R8);
        for offset in (0..self.width).step_by(8) {
            self.write_with(
                Encoding::Mov_r64_rm64,
                &[word, Operand::Mem(from, from_offset + offset)],
            );
            self.write_with(Encoding::Mov_rm64_r64, &[Operand::Mem(to, to_offset + offset), word]);
        }
    }
}
