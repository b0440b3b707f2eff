//! The op table: one row per operation. [`facts`](super::facts) has another row for each operation,
//! which lists properties that analyses may assume.
//!
//! A row gives the name in textual IR, a flag if the operation is commutative or a load, the types,
//! and the scalar definition, which the interpreter and constant folding run.
//!
//! - A *basic* operation (`{ … }`) is one machine instruction, or a short fixed sequence of them,
//!   in every backend.
//! - A *composite* operation (`via …`) is a sequence of basic operations in [`crate::math`],
//!   written once and generic over [`Emit`]. The constant evaluator runs the sequence to define the
//!   operation; a builder records it as the expansion that backends see. So the two cannot differ.
//! - A *load* reads [tables](super::Table): `read …` defines it, or it is composite. Its first
//!   argument is a constant that [identifies the table](Op::table), so that code can address it
//!   directly. Tables are known only at run time, so loads are never folded.
//!
//! All operations are pure and total: no traps, no undefined results. Tables do not change while
//! code runs. NaN payloads and signs are unspecified.

use super::table::MAX_TABLES;
use super::types::{Any, Type, Word};
use crate::texture::Access;

/// Destination of a sequence of operations: a builder, which appends them, or the
/// [`ConstantEvaluator`](crate::math::eval::ConstantEvaluator), which evaluates them.
pub trait Emit {
    /// A handle of a value, or the value itself.
    type Value: Copy;
    /// A constant, given by its bits.
    fn constant(&mut self, ty: Type, bits: u32) -> Self::Value;
    /// Applies an operation; the number of arguments must be its arity.
    fn op(&mut self, op: Op, args: &[Self::Value]) -> Self::Value;
    /// The bits of a value if they are already known, such as those of a constant.
    fn known(&self, value: Self::Value) -> Option<u32>;
    /// Floats between which a value lies unless it is NaN; −0 and +0 are not distinguished.
    /// Expansions may depend on it if their results have the same bits.
    fn range(&self, _: Self::Value) -> [f32; 2] {
        [f32::NEG_INFINITY, f32::INFINITY]
    }
    /// A float constant.
    fn f32(&mut self, x: f32) -> Self::Value {
        self.constant(Type::F32, x.to_bits())
    }
    /// An integer constant.
    fn i32(&mut self, x: i32) -> Self::Value {
        self.constant(Type::I32, x as u32)
    }
    /// A boolean constant.
    fn bool(&mut self, x: bool) -> Self::Value {
        self.constant(Type::Bool, Word::to_bits(x))
    }
}

/// Types of an operation's arguments and result. `None` is a type parameter, the same throughout
/// the signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signature {
    /// Type of each argument.
    pub args: &'static [Option<Type>],
    /// Type of the result.
    pub result: Option<Type>,
}

impl Op {
    /// Index of the table that a load reads, given its first argument, which is the index itself or
    /// a packed [`Access`]. `None` if the argument is invalid.
    pub fn table(self, first: u32) -> Option<u32> {
        match self {
            Op::Load => Some(first).filter(|&table| table < MAX_TABLES),
            op if op.is_load() => Access::unpack(first).map(|access| access.table),
            _ => None,
        }
    }
}

/// Whether the flag of a row, the second argument, equals the first argument.
macro_rules! row_flag {
    (commutative commutative) => {
        true
    };
    (load load) => {
        true
    };
    ($flag:ident $($other:ident)?) => {
        false
    };
}

macro_rules! ops {
    ($($(#[$doc:meta])* $op:ident $name:literal $($flag:ident)? ($($arg:ident: $ty:ty),*) -> $out:ty, $def:tt $($path:path)?;)*) => {
        /// An operation; see the [table](self).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Op {
            $($(#[$doc])* $op),*
        }

        impl Op {
            /// All operations, in the order of the table.
            pub const ALL: &'static [Op] = &[$(Op::$op),*];

            /// Name in textual IR.
            pub const fn name(self) -> &'static str {
                match self { $(Op::$op => $name),* }
            }

            /// Types of arguments and result.
            #[inline]
            pub const fn signature(self) -> Signature {
                match self {
                    $(Op::$op => const { Signature { args: &[$(<$ty as Word>::TYPE),*], result: <$out as Word>::TYPE } }),*
                }
            }

            /// Whether swapping the first two arguments preserves the result, except for NaN
            /// payloads.
            #[inline]
            pub const fn is_commutative(self) -> bool {
                match self { $(Op::$op => row_flag!(commutative $($flag)?)),* }
            }

            /// Whether the operation reads a [table](Op::table).
            #[inline]
            pub const fn is_load(self) -> bool {
                match self { $(Op::$op => row_flag!(load $($flag)?)),* }
            }

            /// Whether a sequence of basic operations defines the operation.
            pub const fn is_composite(self) -> bool {
                match self { $(Op::$op => ops!(@composite $def $($path)?)),* }
            }
        }
    };
    (@composite via $path:path) => { true };
    (@composite read $path:path) => { false };
    (@composite $body:block) => { false };
}

/// Passes the table to a macro: the rows define the operations here, and their evaluation in
/// [`math`](crate::math).
macro_rules! op_table { ($callback:ident) => { $callback! {
    // Floats. Results are rounded to nearest even; subnormals are kept.
    /// a + b
    Add "add" commutative (a: f32, b: f32) -> f32, { a + b };
    /// a − b
    Sub "sub" (a: f32, b: f32) -> f32, { a - b };
    /// a · b
    Mul "mul" commutative (a: f32, b: f32) -> f32, { a * b };
    /// a ÷ b
    Div "div" (a: f32, b: f32) -> f32, { a / b };
    /// −a: flips the sign bit
    Neg "neg" (a: f32) -> f32, { -a };
    /// |a|: clears the sign bit
    Abs "abs" (a: f32) -> f32, { a.abs() };
    /// √a; NaN if a < 0
    Sqrt "sqrt" (a: f32) -> f32, { a.sqrt() };
    /// b if b < a, else a: propagates a NaN in `a`, discards one in `b`; min(+0, −0) is `a`
    Min "min" (a: f32, b: f32) -> f32, { if b < a { b } else { a } };
    /// b if a < b, else a: propagates a NaN in `a`, discards one in `b`; max(−0, +0) is `a`
    Max "max" (a: f32, b: f32) -> f32, { if a < b { b } else { a } };
    /// ⌊a⌋
    Floor "floor" (a: f32) -> f32, { a.floor() };
    /// ⌈a⌉
    Ceil "ceil" (a: f32) -> f32, { a.ceil() };
    /// a rounded toward zero
    Trunc "trunc" (a: f32) -> f32, { a.trunc() };
    /// a rounded to the nearest integer, ties to even
    Round "round" (a: f32) -> f32, { a.round_ties_even() };

    // Comparisons of floats; false if an operand is NaN.
    /// a < b
    Lt "lt" (a: f32, b: f32) -> bool, { a < b };
    /// a ≤ b
    Le "le" (a: f32, b: f32) -> bool, { a <= b };
    /// a = b
    Eq "eq" commutative (a: f32, b: f32) -> bool, { a == b };

    // Integers, wrapping.
    /// a + b
    IAdd "iadd" commutative (a: u32, b: u32) -> u32, { a.wrapping_add(b) };
    /// a − b
    ISub "isub" (a: u32, b: u32) -> u32, { a.wrapping_sub(b) };
    /// a · b
    IMul "imul" commutative (a: u32, b: u32) -> u32, { a.wrapping_mul(b) };
    /// Smaller of two signed integers
    SMin "smin" commutative (a: i32, b: i32) -> i32, { a.min(b) };
    /// Larger of two signed integers
    SMax "smax" commutative (a: i32, b: i32) -> i32, { a.max(b) };
    /// Smaller of two unsigned integers
    UMin "umin" commutative (a: u32, b: u32) -> u32, { a.min(b) };
    /// Larger of two unsigned integers
    UMax "umax" commutative (a: u32, b: u32) -> u32, { a.max(b) };
    /// Bitwise and
    And "and" commutative (a: u32, b: u32) -> u32, { a & b };
    /// Bitwise or
    Or "or" commutative (a: u32, b: u32) -> u32, { a | b };
    /// Bitwise exclusive or
    Xor "xor" commutative (a: u32, b: u32) -> u32, { a ^ b };
    /// a shifted left by the low five bits of b
    Shl "shl" (a: u32, b: u32) -> u32, { a << (b & 31) };
    /// a shifted right logically by the low five bits of b
    LShr "lshr" (a: u32, b: u32) -> u32, { a >> (b & 31) };
    /// a shifted right arithmetically by the low five bits of b
    AShr "ashr" (a: i32, b: u32) -> i32, { a >> (b & 31) };
    /// a < b, signed
    SLt "slt" (a: i32, b: i32) -> bool, { a < b };
    /// a < b, unsigned
    ULt "ult" (a: u32, b: u32) -> bool, { a < b };
    /// a = b
    IEq "ieq" commutative (a: u32, b: u32) -> bool, { a == b };

    // Bools.
    /// Logical and
    BAnd "band" commutative (a: bool, b: bool) -> bool, { a & b };
    /// Logical or
    BOr "bor" commutative (a: bool, b: bool) -> bool, { a | b };
    /// Logical exclusive or
    BXor "bxor" commutative (a: bool, b: bool) -> bool, { a ^ b };
    /// Logical not
    BNot "bnot" (a: bool) -> bool, { !a };
    /// Whether a is true in any lane of the group; for a single lane, a itself
    Any "any" (a: bool) -> bool, { a };
    /// t if c, else e
    Select "select" (c: bool, t: Any, e: Any) -> Any, { if c { t } else { e } };

    // Conversions.
    /// The bits of a float as an integer
    Bits "bits" (a: f32) -> u32, { a.to_bits() };
    /// The float with these bits
    Float "float" (a: u32) -> f32, { f32::from_bits(a) };
    /// The float nearest to a signed integer
    FromS32 "from_s32" (a: i32) -> f32, { a as f32 };
    /// a truncated toward zero to a signed integer; 0x80000000 if it does not fit or is NaN
    TruncateToInt "truncate_to_int" (a: f32) -> i32, { if (-2147483648.0..2147483648.0).contains(&a) { a as i32 } else { i32::MIN } };

    // Memory.
    /// The word of a table at an unsigned index; the last word if the index is out of range
    Load "load" load (table: u32, index: u32) -> u32, read ConstantEvaluator::load;

    // Composite operations on floats.
    /// a − b·trunc(a ÷ b), with the sign of a: WGSL's `%`
    Rem "rem" (a: f32, b: f32) -> f32, via numeric::rem;
    /// −1, 0 or 1
    Sign "sign" (a: f32) -> f32, via numeric::sign;
    /// a − ⌊a⌋
    Fract "fract" (a: f32) -> f32, via numeric::fract;
    /// 1 if edge ≤ x, else 0
    Step "step" (edge: f32, x: f32) -> f32, via numeric::step;
    /// t²(3 − 2t) of t = clamp((x − low) ÷ (high − low), 0, 1)
    Smoothstep "smoothstep" (low: f32, high: f32, x: f32) -> f32, via numeric::smoothstep;
    /// 1 ÷ √a
    Rsqrt "rsqrt" (a: f32) -> f32, via numeric::rsqrt;
    /// eᵃ
    Exp "exp" (a: f32) -> f32, via exponential::exp;
    /// 2ᵃ
    Exp2 "exp2" (a: f32) -> f32, via exponential::exp2;
    /// ln a
    Log "log" (a: f32) -> f32, via logarithm::log;
    /// log₂ a
    Log2 "log2" (a: f32) -> f32, via logarithm::log2;
    /// aᵇ for a ≥ 0; NaN if a < 0
    Pow "pow" (a: f32, b: f32) -> f32, via power::pow;
    /// sin a, a in radians
    Sin "sin" (a: f32) -> f32, via trigonometric::sin;
    /// cos a, a in radians
    Cos "cos" (a: f32) -> f32, via trigonometric::cos;
    /// tan a, a in radians
    Tan "tan" (a: f32) -> f32, via trigonometric::tan;
    /// arcsin a, in [−π/2, π/2]
    Asin "asin" (a: f32) -> f32, via inverse_trigonometric::asin;
    /// arccos a, in [0, π]
    Acos "acos" (a: f32) -> f32, via inverse_trigonometric::acos;
    /// arctan a, in [−π/2, π/2]
    Atan "atan" (a: f32) -> f32, via inverse_trigonometric::atan;
    /// The angle of the point (x, y), in [−π, π]
    Atan2 "atan2" (y: f32, x: f32) -> f32, via inverse_trigonometric::atan2;
    /// sinh a
    Sinh "sinh" (a: f32) -> f32, via exponential::sinh;
    /// cosh a
    Cosh "cosh" (a: f32) -> f32, via exponential::cosh;
    /// tanh a
    Tanh "tanh" (a: f32) -> f32, via exponential::tanh;
    /// arsinh a
    Asinh "asinh" (a: f32) -> f32, via logarithm::asinh;
    /// arcosh a
    Acosh "acosh" (a: f32) -> f32, via logarithm::acosh;
    /// artanh a
    Atanh "atanh" (a: f32) -> f32, via logarithm::atanh;

    // Composite operations on integers.
    /// a truncated toward zero to a signed integer, saturated; 0 for NaN
    ToS32 "to_s32" (a: f32) -> i32, via integer::to_s32;
    /// a truncated toward zero to an unsigned integer, saturated; 0 for NaN
    ToU32 "to_u32" (a: f32) -> u32, via integer::to_u32;
    /// The float nearest to an unsigned integer
    FromU32 "from_u32" (a: u32) -> f32, via integer::from_u32;
    /// Quotient of signed integers, truncated toward zero; a if b = 0 or the quotient does not fit
    SDiv "sdiv" (a: i32, b: i32) -> i32, via integer::sdiv;
    /// Quotient of unsigned integers; a if b = 0
    UDiv "udiv" (a: u32, b: u32) -> u32, via integer::udiv;
    /// Remainder of `sdiv`, with the sign of a; 0 if b = 0 or the quotient does not fit
    SRem "srem" (a: i32, b: i32) -> i32, via integer::srem;
    /// Remainder of `udiv`; 0 if b = 0
    URem "urem" (a: u32, b: u32) -> u32, via integer::urem;
    /// Number of set bits
    CountOnes "count_ones" (a: u32) -> u32, via integer::count_ones;
    /// Number of leading zeros
    LeadingZeros "leading_zeros" (a: u32) -> u32, via integer::leading_zeros;
    /// Number of trailing zeros
    TrailingZeros "trailing_zeros" (a: u32) -> u32, via integer::trailing_zeros;
    /// Bits in reverse order
    ReverseBits "reverse_bits" (a: u32) -> u32, via integer::reverse_bits;

    // Composite operations on images, which are stored as tables. `access` is a packed
    // [`Access`](crate::texture::Access).
    /// A channel of an image, sampled at texture coordinates: u to the right and v up, both from 0
    /// to 1 over the image
    Texel "texel" load (access: u32, u: f32, v: f32) -> f32, via texture::texel;
    /// A channel of a texel, with unsigned column and row counted from the top left; clamped to the
    /// image
    Fetch "fetch" load (access: u32, column: u32, row: u32) -> f32, via texture::fetch;
} } }
pub(crate) use op_table;

op_table!(ops);
