//! The constant evaluator: runs the sequences of this folder for composite operations, and the
//! definitions in the [op table](crate::ir::op) for basic ones.

use super::{
    exponential, integer, inverse_trigonometric, logarithm, numeric, power, texture, trigonometric,
};
use crate::ir::op::op_table;
use crate::ir::types::{Any, Word};
use crate::ir::{Emit, Op, Table, Type};

/// Evaluates operations on the bits of constants.
#[derive(Clone, Copy, Debug, Default)]
pub struct ConstantEvaluator<'t> {
    /// Tables that loads read.
    pub tables: &'t [Table<'t>],
}

impl ConstantEvaluator<'_> {
    /// The word of a table at an index; the last word if the index is out of range.
    #[inline]
    fn load(&mut self, table: u32, index: u32) -> u32 {
        self.tables[table as usize].word(index)
    }
}

impl Emit for ConstantEvaluator<'_> {
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

/// The panic message if there are too few arguments.
const ARITY: &str = "the number of arguments is the arity";

macro_rules! row_eval {
    ($evaluator:ident, $args:ident, ($($arg:ident: $ty:ty),*), $out:ty, $body:block) => {{
        let mut bits = $args.iter().copied();
        $(let $arg = <$ty as Word>::from_bits(bits.next().expect(ARITY));)*
        let out: $out = $body;
        Word::to_bits(out)
    }};
    ($evaluator:ident, $args:ident, ($($arg:ident: $ty:ty),*), $out:ty, $path:path) => {{
        let mut bits = $args.iter().copied();
        $(let $arg = bits.next().expect(ARITY);)*
        $path($evaluator, $($arg),*)
    }};
}

macro_rules! row_expand {
    ($emit:ident, $args:ident, ($($arg:ident: $ty:ty),*), $path:path) => {{
        let mut values = $args.iter().copied();
        $(let $arg = values.next().expect(ARITY);)*
        Some($path($emit, $($arg),*))
    }};
}

macro_rules! meanings {
    ($($(#[$doc:meta])* $op:ident $name:literal $($flag:ident)?
       ($($arg:ident: $ty:ty),*) -> $out:ty, $def:tt $($path:path)?;)*) => {
        impl Op {
            /// Evaluates the operation on the bits of its arguments.
            ///
            /// # Panics
            ///
            /// Panics if the operation is a load.
            #[inline(always)]
            pub fn eval(self, args: &[u32]) -> u32 {
                self.eval_with(&mut ConstantEvaluator::default(), args)
            }

            /// Evaluates the operation on the bits of its arguments, with tables for loads.
            ///
            /// # Panics
            ///
            /// Panics if the operation loads from a table that does not exist.
            #[inline(always)]
            pub fn eval_with(self, evaluator: &mut ConstantEvaluator<'_>, args: &[u32]) -> u32 {
                match self {
                    $(Op::$op => {
                        meanings!(@eval evaluator, args, ($($arg: $ty),*), $out, $def $($path)?)
                    })*
                }
            }

            /// Emits the sequence that defines a composite operation; returns `None` for basic
            /// ones.
            pub fn expand<E: Emit>(self, emit: &mut E, args: &[E::Value]) -> Option<E::Value> {
                match self {
                    $(Op::$op => meanings!(@expand emit, args, ($($arg: $ty),*), $def $($path)?),)*
                }
            }
        }
    };
    (@eval $evaluator:ident, $args:ident, $list:tt, $out:ty, via $path:path) => {
        row_eval!($evaluator, $args, $list, $out, $path)
    };
    (@eval $evaluator:ident, $args:ident, $list:tt, $out:ty, read $path:path) => {
        row_eval!($evaluator, $args, $list, $out, $path)
    };
    (@eval $evaluator:ident, $args:ident, $list:tt, $out:ty, $body:block) => {
        row_eval!($evaluator, $args, $list, $out, $body)
    };
    (@expand $emit:ident, $args:ident, $list:tt, via $path:path) => {
        row_expand!($emit, $args, $list, $path)
    };
    (@expand $emit:ident, $args:ident, $list:tt, read $path:path) => { None };
    (@expand $emit:ident, $args:ident, $list:tt, $body:block) => { None };
}

op_table!(meanings);
