//! Forbids fused operations in SPIR-V: each result of float arithmetic gets the decoration
//! `NoContraction`, which naga has no way to request. With it, Vulkan rounds sums, differences and
//! products as the CPU does.

/// Number of words before the first instruction.
const HEADER_WORDS: usize = 5;

const OP_DECORATE: u32 = 71;
const NO_CONTRACTION: u32 = 42;

/// The first and the last instruction that declares a type, `OpTypeVoid` and
/// `OpTypeForwardPointer`. Types follow all decorations.
const TYPES: std::ops::RangeInclusive<u32> = 19..=39;

/// `OpFNegate`, `OpFAdd`, `OpFSub`, `OpFMul` and `OpFDiv`. Type and result are their first
/// operands.
const ARITHMETIC: [u32; 5] = [127, 129, 131, 133, 136];

/// Adds the decorations to a module.
pub fn forbid_contraction(module: &[u32]) -> Vec<u32> {
    let (mut types, mut decorations) = (None, vec![]);
    let mut at = HEADER_WORDS;
    while at < module.len() {
        let (length, opcode) = ((module[at] >> 16) as usize, module[at] & 0xffff);
        if TYPES.contains(&opcode) {
            types.get_or_insert(at);
        }
        if ARITHMETIC.contains(&opcode) {
            decorations.extend([3 << 16 | OP_DECORATE, module[at + 2], NO_CONTRACTION]);
        }
        at += length;
    }
    let (before, after) = module.split_at(types.expect("a module with a function has types"));
    [before, &decorations, after].concat()
}
