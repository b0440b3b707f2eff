//! The intermediate representation: scalar SSA values in structured control flow.
//!
//! [`op`] is the table of operations, [`facts`] lists properties of each operation, [`function`]
//! defines functions, [`text`] prints and parses them, and [`verify`] checks them. [`table`] is
//! read-only memory that functions load from. [`builder`](crate::builder) constructs functions.

pub mod facts;
pub mod function;
pub mod op;
pub mod table;
pub mod text;
pub mod types;
pub mod verify;

pub use facts::{CostClass, Monotonicity, OpFacts, ZeroFrom};
pub use function::{Block, Def, Function, If, Loop, Port, Stmt, Value};
pub use op::{Emit, Op};
pub use table::Table;
pub use types::Type;
