//! The intermediate representation: scalar SSA values in structured control flow.
//!
//! [`op`] is the table of operations, [`facts`] what is known of each beyond its meaning,
//! [`function`] what a function is made of, [`builder`] the one way to make one, [`rewrite`] the
//! way in which passes change one, [`text`] how it is written and read, [`verify`] what must hold
//! of it. [`table`] is memory that it may read.

mod alike;
pub mod builder;
pub mod facts;
pub mod function;
pub mod op;
#[doc(hidden)]
pub mod random;
pub mod rewrite;
pub mod table;
pub mod text;
pub mod types;
pub mod verify;

pub use builder::{Builder, Rules};
pub use facts::{CostClass, Monotonicity, OpFacts, ZeroFrom};
pub use function::{Block, Def, Function, If, Loop, Port, Stmt, Value};
pub use op::{Emit, Op};
pub use table::Table;
pub use types::Type;
