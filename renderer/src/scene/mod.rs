//! Scenes: from the text of a pbrt-v4 file to what is rendered.

mod ctm;
pub mod describe;
pub mod diagnostics;
pub mod file;
