//! Types of values, and their representation in a 32-bit word.
//!
//! Every value is one word, in the interpreter and in each lane of a SIMD register: a float, an
//! integer (signed or unsigned, depending on the operation), or a bool. The bits of a bool are all
//! ones or all zeros, so that it can serve as a mask.

use std::fmt;

/// Type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// An IEEE binary32 float.
    F32,
    /// A 32-bit integer, signed or unsigned depending on the operation.
    I32,
    /// A bool: all bits are set, or none.
    Bool,
}

impl Type {
    /// The type's name in textual IR.
    pub const fn name(self) -> &'static str {
        match self {
            Type::F32 => "f32",
            Type::I32 => "i32",
            Type::Bool => "bool",
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A Rust type that represents an IR type in the definition of an operation.
pub(crate) trait Word: Copy {
    /// The IR type; `None` for [`Any`].
    const TYPE: Option<Type>;
    fn from_bits(bits: u32) -> Self;
    fn to_bits(self) -> u32;
}

impl Word for f32 {
    const TYPE: Option<Type> = Some(Type::F32);
    fn from_bits(bits: u32) -> Self {
        f32::from_bits(bits)
    }
    fn to_bits(self) -> u32 {
        self.to_bits()
    }
}

impl Word for i32 {
    const TYPE: Option<Type> = Some(Type::I32);
    fn from_bits(bits: u32) -> Self {
        bits as i32
    }
    fn to_bits(self) -> u32 {
        self as u32
    }
}

impl Word for u32 {
    const TYPE: Option<Type> = Some(Type::I32);
    fn from_bits(bits: u32) -> Self {
        bits
    }
    fn to_bits(self) -> u32 {
        self
    }
}

impl Word for bool {
    const TYPE: Option<Type> = Some(Type::Bool);
    fn from_bits(bits: u32) -> Self {
        bits != 0
    }
    fn to_bits(self) -> u32 {
        if self { !0 } else { 0 }
    }
}

/// A word of any type. All arguments and results of an operation with this type have the same type.
#[derive(Clone, Copy)]
pub(crate) struct Any(u32);

impl Word for Any {
    const TYPE: Option<Type> = None;
    fn from_bits(bits: u32) -> Self {
        Any(bits)
    }
    fn to_bits(self) -> u32 {
        self.0
    }
}
