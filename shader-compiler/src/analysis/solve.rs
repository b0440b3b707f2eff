//! Static bounds analysis (Clarberg et al. 2010 §4.3).

use super::Bounds;
use crate::interval::Nan;
use crate::ir::{Def, Function};

/// For each value, what it can be; `inputs` says so of the inputs.
pub fn run(function: &Function, inputs: &[Bounds], _nan: Nan, _valid_ranges: bool) -> Vec<Bounds> {
    let of = |data: &crate::ir::function::ValueData| match data.def {
        Def::Input(index) => inputs[index as usize],
        Def::Const(bits) => Bounds::constant(data.ty, bits),
        _ => Bounds::all(data.ty),
    };
    function.values.iter().map(of).collect()
}
