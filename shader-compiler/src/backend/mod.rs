//! From lowered functions to machine code and to text in other languages.

pub mod c;
pub mod x86;
