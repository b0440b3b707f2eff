//! The op table: one row per operation. What analyses may assume of it beyond its meaning stands in
//! [`facts`](super::facts), which has a row for each operation, too.
//!
//! A row gives the name in textual IR, the types, whether arguments commute, and the scalar
//! meaning, which the interpreter and constant folding run. A *basic* operation (`{ … }`) is a
//! machine instruction or a short fixed sequence of them in every back end. A *composite* one
//! (`via …`) is defined by a sequence of basic operations in [`crate::math`], written once and
//! generic over [`Emit`]: run on words it is the meaning, run on a builder it is the expansion that
//! back ends see. So the two cannot differ. One that is *reading* looks into [tables](Table)
//! (`read …` says how, or it is composite); its first argument is a constant that [tells the
//! table](Op::table), so that code knows where to look. What is read is known only when code runs,
//! so nothing folds it.
//!
//! All operations are pure and total: no traps, no undefined results; tables do not change while
//! code runs. NaN payloads and signs are unspecified.

use super::table::{TABLES, Table};
use super::types::{Any, Type, Word};
use crate::math::{
    exponential, integer, inverse_trigonometric, logarithm, numeric, power, texture, trigonometric,
};

/// What a sequence of operations is written into: a builder, which appends them, or [`Words`],
/// which computes them.
pub trait Emit {
    /// A handle of a value, or the value itself.
    type Value: Copy;
    /// A constant, given by its bits.
    fn constant(&mut self, ty: Type, bits: u32) -> Self::Value;
    /// Applies an operation; as many arguments as its arity.
    fn op(&mut self, op: Op, args: &[Self::Value]) -> Self::Value;
    /// The bits of a value that are known already, as those of constants are.
    fn known(&self, value: Self::Value) -> Option<u32>;
    /// A float constant.
    fn f32(&mut self, x: f32) -> Self::Value {
        self.constant(Type::F32, x.to_bits())
    }
    /// An integer constant.
    fn i32(&mut self, x: i32) -> Self::Value {
        self.constant(Type::I32, x as u32)
    }
    /// A truth value.
    fn bool(&mut self, x: bool) -> Self::Value {
        self.constant(Type::Bool, Word::to_bits(x))
    }
}

/// Computes at once, on the bits of words.
#[derive(Clone, Copy, Debug, Default)]
pub struct Words<'t> {
    /// What reading operations look into.
    pub tables: &'t [Table<'t>],
}

impl Words<'_> {
    /// The word at a place of a table, the last one for places beyond its end.
    #[inline]
    fn load(&mut self, table: u32, index: u32) -> u32 {
        self.tables[table as usize].word(index)
    }
}

impl Emit for Words<'_> {
    type Value = u32;
    #[inline(always)]
    fn constant(&mut self, _: Type, bits: u32) -> u32 {
        bits
    }
    #[inline(always)]
    fn op(&mut self, op: Op, args: &[u32]) -> u32 {
        op.eval_with(self, args)
    }
    #[inline(always)]
    fn known(&self, value: u32) -> Option<u32> {
        Some(value)
    }
}

/// Types of an operation's arguments and result; `None` is any type, the same throughout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signature {
    /// One per argument.
    pub args: &'static [Option<Type>],
    /// The result's.
    pub result: Option<Type>,
}

impl Op {
    /// Number of the table that a reading operation looks into, told by its first argument: the
    /// number itself, or an [`Access`](texture::Access). `None` where it tells none.
    pub fn table(self, first: u32) -> Option<u32> {
        match self {
            Op::Load => Some(first).filter(|&table| table < TABLES),
            op if op.is_reading() => texture::Access::unpack(first).map(|access| access.table),
            _ => None,
        }
    }
}

/// Whether a row has a flag, the first of the two.
macro_rules! row_flag {
    (commutative commutative) => {
        true
    };
    (reading reading) => {
        true
    };
    ($flag:ident $($other:ident)?) => {
        false
    };
}

macro_rules! row_eval {
    ($words:ident, $args:ident, ($($arg:ident: $ty:ty),*), $out:ty, $body:block) => {{
        let mut bits = $args.iter().copied();
        $(let $arg = <$ty as Word>::from_bits(bits.next().expect("an operation has its arguments"));)*
        let out: $out = $body;
        Word::to_bits(out)
    }};
    ($words:ident, $args:ident, ($($arg:ident: $ty:ty),*), $out:ty, $path:path) => {{
        let mut bits = $args.iter().copied();
        $(let $arg = bits.next().expect("an operation has its arguments");)*
        $path($words, $($arg),*)
    }};
}

macro_rules! row_expand {
    ($emit:ident, $args:ident, ($($arg:ident: $ty:ty),*), $path:path) => {{
        let mut values = $args.iter().copied();
        $(let $arg = values.next().expect("an operation has its arguments");)*
        Some($path($emit, $($arg),*))
    }};
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
            pub const fn signature(self) -> Signature {
                match self {
                    $(Op::$op => const { Signature { args: &[$(<$ty as Word>::TYPE),*], result: <$out as Word>::TYPE } }),*
                }
            }

            /// Whether exchanging the first two arguments leaves the result as it is, NaN payloads
            /// aside.
            pub const fn is_commutative(self) -> bool {
                match self { $(Op::$op => row_flag!(commutative $($flag)?)),* }
            }

            /// Whether the result depends on words of the [table](Op::table) that the first
            /// argument tells.
            pub const fn is_reading(self) -> bool {
                match self { $(Op::$op => row_flag!(reading $($flag)?)),* }
            }

            /// Whether the operation is defined by a sequence of basic ones.
            pub const fn is_composite(self) -> bool {
                match self { $(Op::$op => ops!(@composite $def $($path)?)),* }
            }

            /// The operation's meaning, on the bits of words.
            ///
            /// *Panics* if it is reading.
            #[inline(always)]
            pub fn eval(self, args: &[u32]) -> u32 {
                self.eval_with(&mut Words::default(), args)
            }

            /// The operation's meaning, on the bits of words and where there are tables.
            ///
            /// *Panics* if it reads a table that there is not.
            #[inline(always)]
            pub fn eval_with(self, words: &mut Words<'_>, args: &[u32]) -> u32 {
                match self { $(Op::$op => ops!(@eval words, args, ($($arg: $ty),*), $out, $def $($path)?)),* }
            }

            /// Writes the sequence that defines a composite operation; `None` for basic ones.
            pub fn expand<E: Emit>(self, emit: &mut E, args: &[E::Value]) -> Option<E::Value> {
                match self { $(Op::$op => ops!(@expand emit, args, ($($arg: $ty),*), $def $($path)?)),* }
            }
        }
    };
    (@composite via $path:path) => { true };
    (@composite read $path:path) => { false };
    (@composite $body:block) => { false };
    (@eval $words:ident, $args:ident, $list:tt, $out:ty, via $path:path) => { row_eval!($words, $args, $list, $out, $path) };
    (@eval $words:ident, $args:ident, $list:tt, $out:ty, read $path:path) => { row_eval!($words, $args, $list, $out, $path) };
    (@eval $words:ident, $args:ident, $list:tt, $out:ty, $body:block) => { row_eval!($words, $args, $list, $out, $body) };
    (@expand $emit:ident, $args:ident, $list:tt, via $path:path) => { row_expand!($emit, $args, $list, $path) };
    (@expand $emit:ident, $args:ident, $list:tt, read $path:path) => { None };
    (@expand $emit:ident, $args:ident, $list:tt, $body:block) => { None };
}

ops! {
    // Floats. Rounding is to nearest even; denormals are kept.
    /// a + b
    Add "add" commutative (a: f32, b: f32) -> f32, { a + b };
    /// a − b
    Sub "sub" (a: f32, b: f32) -> f32, { a - b };
    /// a · b
    Mul "mul" commutative (a: f32, b: f32) -> f32, { a * b };
    /// a ÷ b
    Div "div" (a: f32, b: f32) -> f32, { a / b };
    /// −a: the sign bit flips, of NaN too
    Neg "neg" (a: f32) -> f32, { -a };
    /// |a|: the sign bit is cleared, of NaN too
    Abs "abs" (a: f32) -> f32, { a.abs() };
    /// √a; NaN below zero
    Sqrt "sqrt" (a: f32) -> f32, { a.sqrt() };
    /// b where b < a, else a: a NaN in `a` comes through, one in `b` does not, and min(+0, −0) is
    /// `a`
    Min "min" (a: f32, b: f32) -> f32, { if b < a { b } else { a } };
    /// b where a < b, else a: a NaN in `a` comes through, one in `b` does not, and max(−0, +0) is
    /// `a`
    Max "max" (a: f32, b: f32) -> f32, { if a < b { b } else { a } };
    /// ⌊a⌋
    Floor "floor" (a: f32) -> f32, { a.floor() };
    /// ⌈a⌉
    Ceil "ceil" (a: f32) -> f32, { a.ceil() };
    /// The integer next to a towards zero
    Trunc "trunc" (a: f32) -> f32, { a.trunc() };
    /// The nearest integer; the even one of two
    Round "round" (a: f32) -> f32, { a.round_ties_even() };

    // Comparisons of floats; false where one is NaN.
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
    /// Bits of both
    And "and" commutative (a: u32, b: u32) -> u32, { a & b };
    /// Bits of either
    Or "or" commutative (a: u32, b: u32) -> u32, { a | b };
    /// Bits of one but not both
    Xor "xor" commutative (a: u32, b: u32) -> u32, { a ^ b };
    /// a shifted up by the low five bits of b
    Shl "shl" (a: u32, b: u32) -> u32, { a << (b & 31) };
    /// a shifted down by the low five bits of b, zeros coming in
    LShr "lshr" (a: u32, b: u32) -> u32, { a >> (b & 31) };
    /// a shifted down by the low five bits of b, the sign coming in
    AShr "ashr" (a: i32, b: u32) -> i32, { a >> (b & 31) };
    /// a < b, signed
    SLt "slt" (a: i32, b: i32) -> bool, { a < b };
    /// a < b, unsigned
    ULt "ult" (a: u32, b: u32) -> bool, { a < b };
    /// a = b
    IEq "ieq" commutative (a: u32, b: u32) -> bool, { a == b };

    // Bools.
    /// Both
    BAnd "band" commutative (a: bool, b: bool) -> bool, { a & b };
    /// Either
    BOr "bor" commutative (a: bool, b: bool) -> bool, { a | b };
    /// One but not both
    BXor "bxor" commutative (a: bool, b: bool) -> bool, { a ^ b };
    /// Not a
    BNot "bnot" (a: bool) -> bool, { !a };
    /// Whether a is true in any lane of the group; of one lane alone, a itself
    Any "any" (a: bool) -> bool, { a };
    /// t where c, else e
    Select "select" (c: bool, t: Any, e: Any) -> Any, { if c { t } else { e } };

    // Conversions.
    /// The bits of a float as an integer
    Bits "bits" (a: f32) -> u32, { a.to_bits() };
    /// The float of these bits
    Float "float" (a: u32) -> f32, { f32::from_bits(a) };
    /// The float next to a signed integer
    FromS32 "from_s32" (a: i32) -> f32, { a as f32 };
    /// The signed integer next to a towards zero; 0x80000000 for what does not fit and for NaN
    Chop "chop" (a: f32) -> i32, { if (-2147483648.0..2147483648.0).contains(&a) { a as i32 } else { i32::MIN } };

    // Memory.
    /// The word of a table at an index, unsigned; the last word where the index is beyond the end
    Load "load" reading (table: u32, index: u32) -> u32, read Words::load;

    // Composite operations on floats.
    /// a − b·trunc(a ÷ b), the sign that of a: WGSL's `%`
    Rem "rem" (a: f32, b: f32) -> f32, via numeric::rem;
    /// −1, 0 or 1
    Sign "sign" (a: f32) -> f32, via numeric::sign;
    /// a − ⌊a⌋
    Fract "fract" (a: f32) -> f32, via numeric::fract;
    /// 1 where edge ≤ x, else 0
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
    /// aᵇ for a ≥ 0, NaN below
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
    /// The angle of (x, y), in [−π, π]
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
    /// The signed integer next to a towards zero, the nearest end where none is, 0 for NaN
    ToS32 "to_s32" (a: f32) -> i32, via integer::to_s32;
    /// The unsigned integer next to a towards zero, the nearest end where none is, 0 for NaN
    ToU32 "to_u32" (a: f32) -> u32, via integer::to_u32;
    /// The float next to an unsigned integer
    FromU32 "from_u32" (a: u32) -> f32, via integer::from_u32;
    /// Quotient towards zero of signed integers; a where b = 0 or the quotient does not fit
    SDiv "sdiv" (a: i32, b: i32) -> i32, via integer::sdiv;
    /// Quotient of unsigned integers; a where b = 0
    UDiv "udiv" (a: u32, b: u32) -> u32, via integer::udiv;
    /// Remainder of `sdiv`, the sign that of a; 0 where b = 0 or the quotient does not fit
    SRem "srem" (a: i32, b: i32) -> i32, via integer::srem;
    /// Remainder of `udiv`; 0 where b = 0
    URem "urem" (a: u32, b: u32) -> u32, via integer::urem;
    /// Number of set bits
    CountOnes "count_ones" (a: u32) -> u32, via integer::count_ones;
    /// Number of zeros above the highest set bit
    LeadingZeros "leading_zeros" (a: u32) -> u32, via integer::leading_zeros;
    /// Number of zeros below the lowest set bit
    TrailingZeros "trailing_zeros" (a: u32) -> u32, via integer::trailing_zeros;
    /// Bits in reversed order
    ReverseBits "reverse_bits" (a: u32) -> u32, via integer::reverse_bits;

    // Composite operations on images, which tables are; `what` is an [`Access`](texture::Access).
    /// A channel of an image at texture coordinates, u to the right and v up, both from 0 to 1 over
    /// the image
    Texel "texel" reading (what: u32, u: f32, v: f32) -> f32, via texture::texel;
    /// A channel of a texel, whose column and row are counted from the top left and unsigned; of
    /// the last one beyond the end
    Fetch "fetch" reading (what: u32, column: u32, row: u32) -> f32, via texture::fetch;
}
