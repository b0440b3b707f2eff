//! The machine IR between selection and allocation: machine operations on virtual registers
//! (vregs), with the structured control flow of the IR.
//!
//! A vreg holds the contents of one SIMD register and is assigned once, like an SSA value. Inputs
//! and constants are vregs with a home in memory: an instruction reads them from there if its
//! encoding allows a memory operand.

use iced_x86::Code;

/// A virtual register of a [`Program`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct VReg(pub u32);

impl VReg {
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The memory location that holds a vreg from the start, if there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Home {
    None,
    /// The input port with this index.
    Input(u32),
    /// The constant pool: these bits in all lanes.
    Const(u32),
    /// The last index of the table with this index, in all lanes.
    Last(u32),
}

/// The operand layout of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// `dst = a ∘ b`; `b` may be in memory. In SSE, `dst` is `a`'s register.
    Binary,
    /// `dst = ∘ b`; `b` may be in memory.
    Unary,
    /// `dst = a ∘ immediate`. In SSE, `dst` is `a`'s register.
    Shift,
    /// `dst = b` where `c`, else `a`; `b` may be in memory. In SSE, `dst` is `a`'s register and `c`
    /// is in xmm0.
    Blend,
    /// `dst` = words of a table at the indices `a`, which are in range. The immediate is the index
    /// of the table.
    Gather,
    /// Stores `a` to an output port. The immediate is the index of the port.
    Store,
}

macro_rules! opcodes {
    ($($op:ident $form:ident $commutative:ident $latency:literal $sse:ident $avx:ident $avx2:ident;)*) => {
        /// A machine operation.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Opcode { $($op),* }

        impl Opcode {
            pub const fn form(self) -> Form {
                match self { $(Opcode::$op => Form::$form),* }
            }

            pub const fn is_commutative(self) -> bool {
                match self { $(Opcode::$op => $commutative),* }
            }

            /// Latency in cycles that the scheduler assumes, measured on recent Intel cores.
            pub const fn latency(self) -> u32 {
                match self { $(Opcode::$op => $latency),* }
            }

            /// Encodings for SSE4.1, AVX and AVX2.
            pub const fn codes(self) -> [Code; 3] {
                match self { $(Opcode::$op => [Code::$sse, Code::$avx, Code::$avx2]),* }
            }
        }
    };
}

opcodes! {
    Add Binary true 4 Addps_xmm_xmmm128 VEX_Vaddps_xmm_xmm_xmmm128 VEX_Vaddps_ymm_ymm_ymmm256;
    Sub Binary false 4 Subps_xmm_xmmm128 VEX_Vsubps_xmm_xmm_xmmm128 VEX_Vsubps_ymm_ymm_ymmm256;
    Mul Binary true 4 Mulps_xmm_xmmm128 VEX_Vmulps_xmm_xmm_xmmm128 VEX_Vmulps_ymm_ymm_ymmm256;
    Div Binary false 11 Divps_xmm_xmmm128 VEX_Vdivps_xmm_xmm_xmmm128 VEX_Vdivps_ymm_ymm_ymmm256;
    Min Binary false 4 Minps_xmm_xmmm128 VEX_Vminps_xmm_xmm_xmmm128 VEX_Vminps_ymm_ymm_ymmm256;
    Max Binary false 4 Maxps_xmm_xmmm128 VEX_Vmaxps_xmm_xmm_xmmm128 VEX_Vmaxps_ymm_ymm_ymmm256;
    Cmp Binary false 4 Cmpps_xmm_xmmm128_imm8 VEX_Vcmpps_xmm_xmm_xmmm128_imm8 VEX_Vcmpps_ymm_ymm_ymmm256_imm8;
    CmpCommutative Binary true 4 Cmpps_xmm_xmmm128_imm8 VEX_Vcmpps_xmm_xmm_xmmm128_imm8 VEX_Vcmpps_ymm_ymm_ymmm256_imm8;
    And Binary true 1 Andps_xmm_xmmm128 VEX_Vandps_xmm_xmm_xmmm128 VEX_Vandps_ymm_ymm_ymmm256;
    AndNot Binary false 1 Andnps_xmm_xmmm128 VEX_Vandnps_xmm_xmm_xmmm128 VEX_Vandnps_ymm_ymm_ymmm256;
    Or Binary true 1 Orps_xmm_xmmm128 VEX_Vorps_xmm_xmm_xmmm128 VEX_Vorps_ymm_ymm_ymmm256;
    Xor Binary true 1 Xorps_xmm_xmmm128 VEX_Vxorps_xmm_xmm_xmmm128 VEX_Vxorps_ymm_ymm_ymmm256;
    IAdd Binary true 1 Paddd_xmm_xmmm128 VEX_Vpaddd_xmm_xmm_xmmm128 VEX_Vpaddd_ymm_ymm_ymmm256;
    ISub Binary false 1 Psubd_xmm_xmmm128 VEX_Vpsubd_xmm_xmm_xmmm128 VEX_Vpsubd_ymm_ymm_ymmm256;
    IMul Binary true 10 Pmulld_xmm_xmmm128 VEX_Vpmulld_xmm_xmm_xmmm128 VEX_Vpmulld_ymm_ymm_ymmm256;
    SMin Binary true 1 Pminsd_xmm_xmmm128 VEX_Vpminsd_xmm_xmm_xmmm128 VEX_Vpminsd_ymm_ymm_ymmm256;
    SMax Binary true 1 Pmaxsd_xmm_xmmm128 VEX_Vpmaxsd_xmm_xmm_xmmm128 VEX_Vpmaxsd_ymm_ymm_ymmm256;
    UMin Binary true 1 Pminud_xmm_xmmm128 VEX_Vpminud_xmm_xmm_xmmm128 VEX_Vpminud_ymm_ymm_ymmm256;
    UMax Binary true 1 Pmaxud_xmm_xmmm128 VEX_Vpmaxud_xmm_xmm_xmmm128 VEX_Vpmaxud_ymm_ymm_ymmm256;
    IEq Binary true 1 Pcmpeqd_xmm_xmmm128 VEX_Vpcmpeqd_xmm_xmm_xmmm128 VEX_Vpcmpeqd_ymm_ymm_ymmm256;
    IGt Binary false 1 Pcmpgtd_xmm_xmmm128 VEX_Vpcmpgtd_xmm_xmm_xmmm128 VEX_Vpcmpgtd_ymm_ymm_ymmm256;
    Shl Shift false 1 Pslld_xmm_imm8 VEX_Vpslld_xmm_xmm_imm8 VEX_Vpslld_ymm_ymm_imm8;
    LShr Shift false 1 Psrld_xmm_imm8 VEX_Vpsrld_xmm_xmm_imm8 VEX_Vpsrld_ymm_ymm_imm8;
    AShr Shift false 1 Psrad_xmm_imm8 VEX_Vpsrad_xmm_xmm_imm8 VEX_Vpsrad_ymm_ymm_imm8;
    Sqrt Unary false 15 Sqrtps_xmm_xmmm128 VEX_Vsqrtps_xmm_xmmm128 VEX_Vsqrtps_ymm_ymmm256;
    Round Unary false 8 Roundps_xmm_xmmm128_imm8 VEX_Vroundps_xmm_xmmm128_imm8 VEX_Vroundps_ymm_ymmm256_imm8;
    FromS32 Unary false 4 Cvtdq2ps_xmm_xmmm128 VEX_Vcvtdq2ps_xmm_xmmm128 VEX_Vcvtdq2ps_ymm_ymmm256;
    TruncateToInt Unary false 4 Cvttps2dq_xmm_xmmm128 VEX_Vcvttps2dq_xmm_xmmm128 VEX_Vcvttps2dq_ymm_ymmm256;
    Blend Blend false 2 Blendvps_xmm_xmmm128 VEX_Vblendvps_xmm_xmm_xmmm128_xmm VEX_Vblendvps_ymm_ymm_ymmm256_ymm;
    // The encodings of a single lane for SSE and AVX; see `encode::gather`.
    Gather Gather false 20 Pinsrd_xmm_rm32_imm8 VEX_Vpinsrd_xmm_xmm_rm32_imm8 VEX_Vpgatherdd_ymm_vm32y_ymm;
    Store Store false 1 Movaps_xmmm128_xmm VEX_Vmovaps_xmmm128_xmm VEX_Vmovaps_ymmm256_ymm;
}

impl Opcode {
    /// Whether the encoding has an immediate.
    pub const fn has_immediate(self) -> bool {
        matches!(self, Opcode::Cmp | Opcode::CmpCommutative | Opcode::Round)
            || matches!(self.form(), Form::Shift)
    }
}

/// A machine operation on vregs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Inst {
    pub op: Opcode,
    /// The vreg that is defined; a store repeats the stored one.
    pub dst: VReg,
    pub a: VReg,
    pub b: VReg,
    pub c: VReg,
    pub imm: u32,
}

impl Inst {
    /// The vregs that the instruction reads, without duplicates.
    pub fn args(&self) -> impl Iterator<Item = VReg> + use<> {
        let (a, b, c) = (self.a, self.b, self.c);
        let (args, count) = match self.op.form() {
            Form::Unary => ([b, b, b], 1),
            Form::Shift | Form::Gather | Form::Store => ([a, a, a], 1),
            Form::Binary => ([a, b, b], if a == b { 1 } else { 2 }),
            Form::Blend if a == b => ([a, c, c], if a == c { 1 } else { 2 }),
            Form::Blend => ([a, b, c], if c == a || c == b { 2 } else { 3 }),
        };
        args.into_iter().take(count)
    }

    /// The vreg that the instruction defines; `None` for a store.
    pub fn result(&self) -> Option<VReg> {
        (self.op.form() != Form::Store).then_some(self.dst)
    }
}

/// The operation of a test. The outcome is true if any bit of the result is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TestOp {
    /// `a & b`
    And,
    /// `b & !a`
    AndNot,
}

/// The condition of a branch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Test {
    pub a: VReg,
    pub b: VReg,
    pub op: TestOp,
}

/// A sequence of steps.
#[derive(Debug, Default)]
pub(super) struct Block {
    pub steps: Vec<Step>,
}

#[derive(Debug)]
pub(super) enum Step {
    /// A straight-line segment, which may be reordered.
    Segment(Vec<Inst>),
    If(Box<If>),
    Loop(Box<Loop>),
}

/// See [`crate::ir::If`].
#[derive(Debug)]
pub(super) struct If {
    pub test: Test,
    /// The arms for a true and a false outcome of the test.
    pub arms: [Block; 2],
    pub yields: [Vec<VReg>; 2],
    pub results: Vec<VReg>,
}

/// See [`crate::ir::Loop`]. Since there is a single exit, the values that the head yields are
/// available after the loop, and the loop's results share their vregs.
#[derive(Debug)]
pub(super) struct Loop {
    pub init: Vec<VReg>,
    pub params: Vec<VReg>,
    pub head: Block,
    pub test: Test,
    pub body: Block,
    pub next: Vec<VReg>,
}

/// A function after selection.
#[derive(Debug)]
pub(super) struct Program {
    /// The home of each vreg.
    pub homes: Vec<Home>,
    pub body: Block,
    /// Whether the program has blends that require their mask in xmm0, as in SSE4.1.
    pub masks_in_xmm0: bool,
    /// Number of tables: one more than the largest index of a table that is read.
    pub tables: usize,
}
