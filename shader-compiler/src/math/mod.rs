//! Sequences of basic operations that define the composite ones, each written once over [`Emit`](crate::ir::Emit): run on words it
//! is the meaning of the operation, run on a builder it is what machine code is made of.

pub mod elementary;
pub mod integer;
pub mod numeric;
