//! To come.

pub mod ply;
