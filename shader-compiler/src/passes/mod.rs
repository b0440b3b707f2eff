//! What is done to a function between front end and back end.

pub mod range;
pub mod simplify;

use crate::ir::Function;

/// Fixes the point shader: everything that may change values, and everything else that pays. Composite operations stay, since
/// analyses know them.
pub fn optimize(function: &Function) -> Function {
    function.clone()
}

/// Makes a function ready for back ends: composite operations expanded, control flow on conditions that are the same in all lanes.
/// Changes no value.
pub fn lower(function: &Function) -> Function {
    function.clone()
}
