//! Instruction counts, obtained by disassembly.

use super::Code;
use iced_x86::{
    Code as Encoding, Decoder, DecoderOptions, Instruction, Mnemonic, OpKind, Register,
};

/// Static instruction counts by purpose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// All instructions.
    pub total: usize,
    /// Moves between registers.
    pub copies: usize,
    /// Loads of inputs and constants by move instructions.
    pub loads: usize,
    /// Stores of outputs.
    pub stores: usize,
    /// Stores to spill slots.
    pub spills: usize,
    /// Loads from spill slots by move instructions.
    pub reloads: usize,
}

impl Code {
    /// The instructions with their offsets, without the counter increments of instrumented code.
    pub(super) fn instructions(&self) -> impl Iterator<Item = Instruction> + '_ {
        let mut decoder = Decoder::with_ip(
            64,
            &self.machine.bytes[self.entry()..],
            self.entry() as u64,
            DecoderOptions::NONE,
        );
        std::iter::from_fn(move || decoder.can_decode().then(|| decoder.decode()))
            .filter(|i| i.code() != Encoding::Inc_rm64)
    }

    /// Number of SIMD instructions other than moves, tests for branches, and idioms that produce a
    /// constant.
    pub fn compute_instructions(&self) -> usize {
        let computes = |i: &Instruction| {
            let register = i.op0_register();
            let is_move_or_test = matches!(
                i.mnemonic(),
                Mnemonic::Movaps | Mnemonic::Vmovaps | Mnemonic::Ptest | Mnemonic::Vptest
            );
            let operands = i.op_count();
            let has_one_register =
                operands > 1 && (1..operands).all(|k| i.op_register(k) == register);
            let is_constant_idiom = has_one_register
                && matches!(
                    i.mnemonic(),
                    Mnemonic::Xorps | Mnemonic::Vxorps | Mnemonic::Pcmpeqd | Mnemonic::Vpcmpeqd
                );
            (register.is_xmm() || register.is_ymm()) && !is_move_or_test && !is_constant_idiom
        };
        self.instructions().filter(computes).count()
    }

    /// Static instruction counts.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for instruction in self.instructions() {
            counts.total += 1;
            if !matches!(instruction.mnemonic(), Mnemonic::Movaps | Mnemonic::Vmovaps) {
                continue;
            }
            let on_stack = matches!(instruction.memory_base(), Register::RSP | Register::RAX);
            let counter = match (instruction.op0_kind(), instruction.op1_kind()) {
                (OpKind::Register, OpKind::Register) => &mut counts.copies,
                (OpKind::Register, _) if on_stack => &mut counts.reloads,
                (OpKind::Register, _) => &mut counts.loads,
                _ if on_stack => &mut counts.spills,
                _ => &mut counts.stores,
            };
            *counter += 1;
        }
        counts
    }

    /// The instructions with the index of their basic block, without the counter increments of
    /// instrumented code.
    pub fn instructions_in_blocks(&self) -> impl Iterator<Item = (usize, Instruction)> + '_ {
        let block =
            |i: &Instruction| self.blocks.partition_point(|&start| u64::from(start) <= i.ip()) - 1;
        self.instructions().map(move |instruction| (block(&instruction), instruction))
    }

    /// Number of instructions of each basic block, without the counter increments of instrumented
    /// code.
    pub fn block_sizes(&self) -> Vec<usize> {
        let mut sizes = vec![0; self.blocks.len()];
        self.instructions_in_blocks().for_each(|(block, _)| sizes[block] += 1);
        sizes
    }
}
