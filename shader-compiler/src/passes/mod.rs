//! What is done to a function between front end and back end.
//!
//! ```text
//! front end ─► optimize ─► point shader ─► (analyses) ─► lower ─► back end
//! ```
//!
//! Up to the point shader, values may change: by rounding, in the sign of a zero, where they are
//! not finite. What [`optimize`] returns *is* the point shader, to the bit, and everything after it
//! computes exactly that, in the interpreter and on all targets. Passes rebuild the function
//! through a [`Builder`], so each of them also folds, simplifies, numbers and hoists, and removes
//! dead code.

pub mod expand;
pub mod factor;
pub mod induction;
pub mod lanes;
pub mod range;
pub mod simplify;
pub mod unroll;

use crate::ir::function::for_each_stmt;
use crate::ir::rewrite::clean;
use crate::ir::{Builder, Function, Rules, Stmt, verify};

/// Fixes the point shader: everything that may change values, and everything else that pays.
/// Composite operations stay, since analyses know them.
pub fn optimize(function: &Function) -> Function {
    checked(factor::run(&optimize_by(function, Rules::Relaxed)))
}

fn optimize_by(function: &Function, rules: Rules) -> Function {
    let mut function = checked(unroll::run(function, rules));
    if has_loops(&function) {
        function = checked(induction::run(&function, rules));
        // Parameters that turn out not to vary may be what others, of loops around or within,
        // depend on.
        let mut params = usize::MAX;
        while params_of(&function) < params {
            params = params_of(&function);
            function = checked(clean(&function, Builder::new(&function.name, rules)));
        }
    }
    function
}

/// Makes a function ready for back ends: composite operations expanded, control flow on conditions
/// that are the same in all lanes. Changes no value.
pub fn lower(function: &Function) -> Function {
    let mut function = checked(expand::run(function));
    if !is_straight(&function) {
        function = lanes::run(&function);
    }
    debug_assert_eq!(verify::verify_lowered(&function), Ok(()), "{function}");
    function
}

fn checked(function: Function) -> Function {
    debug_assert_eq!(verify::verify(&function), Ok(()), "{function}");
    function
}

/// Whether there is no control flow.
fn is_straight(function: &Function) -> bool {
    function.body.stmts.iter().all(|stmt| matches!(stmt, Stmt::Op(_)))
}

fn has_loops(function: &Function) -> bool {
    let mut found = false;
    for_each_stmt(&function.body, &mut |stmt| found |= matches!(stmt, Stmt::Loop(_)));
    found
}

/// Number of parameters of loops.
fn params_of(function: &Function) -> usize {
    let mut params = 0;
    for_each_stmt(&function.body, &mut |stmt| {
        if let Stmt::Loop(l) = stmt {
            params += l.params.len();
        }
    });
    params
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::differential::same;
    use crate::interpreter;
    use crate::ir::random::{self, Options};

    /// Asserts that two functions have the same bits, NaN aside, for random inputs.
    fn equals(before: &Function, after: &Function, rows: usize, seed: u64) {
        for row in random::special_rows(&before.inputs, rows, seed) {
            let run = |function| {
                interpreter::run(function, &random::tables(), &row, 1 << 22).expect("loops end")
            };
            let (a, b) = (run(before), run(after));
            let equal = std::iter::zip(&before.outputs, std::iter::zip(&a, &b))
                .all(|(port, (&a, &b))| same(port.ty, a, b));
            assert!(equal, "seed {seed}, {row:x?}: {a:x?} became {b:x?}\n{before}\n{after}");
        }
    }

    fn check(seeds: std::ops::Range<u64>) {
        for seed in seeds {
            let options = Options::any(seed, false);
            let before = random::function(seed, &options);
            let optimized = optimize_by(&before, Rules::Exact);
            equals(&before, &optimized, 8, seed);
            let lowered = lower(&optimized);
            equals(&before, &lowered, 8, seed);
            // Relaxed rules, whose values may differ, must still make functions that are well
            // formed.
            lower(&optimize(&before));
        }
    }

    #[test]
    fn exact_passes_keep_every_bit_of_random_functions() {
        check(0..400);
    }

    #[test]
    #[ignore = "minutes; for changes of passes: cargo test -p lightbound-shader --release -- --ignored"]
    fn exact_passes_keep_every_bit_of_many_random_functions_slow() {
        check(1000..50_000);
    }
}
