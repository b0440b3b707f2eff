//! Gathers: each lane reads a word of a table.
//!
//! AVX2 has a gather instruction. Without it, indices move to general-purpose registers in pairs,
//! and words are inserted one by one. On Golden Cove the instruction is 1.3 times as fast per lane
//! if the table is in the L1 cache and 1.1 times as fast if it is in the L2 cache. On CPUs with
//! mitigations against *Downfall* it may be slower.

use super::{Operand, Writer, table_offset};
use crate::backend::x86::Isa;
use crate::backend::x86::asm::Register;
use crate::backend::x86::machine::Opcode;
use crate::ir::Table;
use Operand::{Imm8, Mem, Reg, Word};
use iced_x86::{Code as Encoding, Register as Name};

/// The address of the table.
const BASE: Name = Name::R8;
/// Pairs of indices; the upper one remains in the register.
const PAIRS: [Name; 2] = [Name::R9, Name::R10];
/// The lower index of a pair.
const LOWER: Name = Name::R11;

/// Extract the lower pair of indices, in SSE4.1 and AVX.
const EXTRACT_LOWER_PAIR: [Encoding; 2] = [Encoding::Movq_rm64_xmm, Encoding::VEX_Vmovq_rm64_xmm];
/// Extract the upper pair of indices.
const EXTRACT_UPPER_PAIR: [Encoding; 2] =
    [Encoding::Pextrq_rm64_xmm_imm8, Encoding::VEX_Vpextrq_rm64_xmm_imm8];
/// Load the first word and clear the rest of the register.
const LOAD_FIRST_WORD: [Encoding; 2] = [Encoding::Movd_xmm_rm32, Encoding::VEX_Vmovd_xmm_rm32];
/// Insert another word.
const INSERT_WORD: [Encoding; 2] =
    [Encoding::Pinsrd_xmm_rm32_imm8, Encoding::VEX_Vpinsrd_xmm_xmm_rm32_imm8];

impl Writer {
    /// Writes `dst` = words of a table at the indices `a`. With eight lanes, `mask` is overwritten,
    /// and all registers must differ.
    pub(super) fn gather(&mut self, dst: Register, a: Register, mask: Register, table: u32) {
        let address = table_offset(table) + Table::BASE as i64;
        self.write_with(Encoding::Mov_r64_rm64, &[Reg(BASE), Mem(Name::RDX, address)]);
        let [dst, indices, mask] = [dst, a, mask].map(|register| self.register(register));
        match self.isa {
            Isa::Sse41 | Isa::Avx => self.gather_by_lane(dst, indices),
            Isa::Avx2 => self.gather_avx2(dst, indices, mask),
        }
    }

    fn gather_avx2(&mut self, dst: Name, indices: Name, mask: Name) {
        self.write_with(Opcode::IEq.codes()[2], &[Reg(mask); 3]);
        // The instruction merges with masked-out lanes. There are none, but it still depends on the
        // old value; zeroing breaks the dependency.
        self.write_with(Opcode::Xor.codes()[2], &[Reg(dst); 3]);
        self.write_with(Opcode::Gather.codes()[2], &[Reg(dst), Word(BASE, indices), Reg(mask)]);
    }

    fn gather_by_lane(&mut self, dst: Name, indices: Name) {
        self.write_with(EXTRACT_LOWER_PAIR[self.isa as usize], &[Reg(PAIRS[0]), Reg(indices)]);
        self.write_with(
            EXTRACT_UPPER_PAIR[self.isa as usize],
            &[Reg(PAIRS[1]), Reg(indices), Imm8(1)],
        );
        for (pair, lane) in std::iter::zip(PAIRS, [0, 2]) {
            self.write_with(
                Encoding::Mov_r32_rm32,
                &[LOWER, pair].map(|name| Reg(name.full_register32())),
            );
            self.write_with(Encoding::Shr_rm64_imm8, &[Reg(pair), Imm8(32)]);
            if lane == 0 {
                self.write_with(LOAD_FIRST_WORD[self.isa as usize], &[Reg(dst), Word(BASE, LOWER)]);
            } else {
                self.insert(dst, LOWER, lane);
            }
            self.insert(dst, pair, lane + 1);
        }
    }

    /// Inserts the word at an index into a lane.
    fn insert(&mut self, dst: Name, index: Name, lane: u8) {
        let operands = [Reg(dst), Reg(dst), Word(BASE, index), Imm8(lane)];
        // The SSE encoding has a single operand for destination and source.
        self.write_with(
            INSERT_WORD[self.isa as usize],
            &operands[usize::from(!self.isa.is_vex())..],
        );
    }
}
