//! Shared code of the program's tests.
#![allow(dead_code, reason = "each test program uses a part")]

pub mod place;
pub mod room;
