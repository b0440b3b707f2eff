//! IR becomes code or text.

pub mod c;
