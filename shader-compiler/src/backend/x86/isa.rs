//! The supported instruction sets.

use crate::backend::Backend;

/// An instruction set of x86-64. Its discriminant is an index into tables of encodings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isa {
    /// SSE4.1, 4 lanes. Instructions overwrite their first operand.
    Sse41,
    /// AVX, 4 lanes. Instructions have a separate destination.
    Avx,
    /// AVX2, 8 lanes. Instructions have a separate destination.
    Avx2,
}

impl Isa {
    /// All instruction sets, oldest first.
    pub const ALL: [Isa; 3] = [Isa::Sse41, Isa::Avx, Isa::Avx2];

    /// Size of a SIMD register in bytes.
    pub(super) fn register_size(self) -> usize {
        4 * self.lanes()
    }

    /// Whether instructions have VEX encodings, with a separate destination.
    pub(super) const fn is_vex(self) -> bool {
        !matches!(self, Isa::Sse41)
    }
}
