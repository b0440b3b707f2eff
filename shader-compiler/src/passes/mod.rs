//! Passes between frontend and backend.
//!
//! ```text
//! frontend ─► optimize ─► point shader ─► (analyses) ─► lower ─► backend
//! ```
//!
//! Up to the point shader, values may change: by rounding, in the sign of a zero, or if they are
//! not finite. The function returned by [`optimize`] *is* the point shader. Everything after it
//! preserves its results bit for bit, in the interpreter and on all targets. Passes rebuild the
//! function through a [`Builder`], so each of them also performs constant folding, algebraic
//! simplification, value numbering, loop-invariant code motion and dead code elimination.

pub mod cancel;
pub mod derivative;
pub mod expand;
pub mod factor;
pub mod fusion;
pub mod hoist;
pub mod predication;
pub mod range_propagation;
pub mod unroll;

use crate::builder::rewrite::rebuild;
use crate::builder::{Builder, Rules};
use crate::ir::function::for_each_stmt;
use crate::ir::{Def, Function, Op, Stmt, verify};

/// Produces the point shader. Runs all passes that may change values, and others that help both the
/// analyses and the backend. Keeps composite operations, since analyses interpret them directly.
pub fn optimize(function: &Function) -> Function {
    let function = optimize_with(function, Rules::Relaxed);
    verified(factor::run(&verified(cancel::run(&function))))
}

fn optimize_with(function: &Function, rules: Rules) -> Function {
    let mut function = verified(unroll::run(function, rules));
    if has_loops(&function) || has_integer_checks(&function) {
        function = verified(range_propagation::run(&function, rules));
    }
    if has_loops(&function) {
        // Removing an invariant parameter may make parameters of enclosing or nested loops
        // invariant.
        let mut params = usize::MAX;
        while count_loop_params(&function) < params {
            params = count_loop_params(&function);
            function = verified(rebuild(&function, Builder::new(&function.name, rules)));
        }
    }
    function
}

/// Prepares a function for backends: fuses ifs, expands composite operations, and makes the conditions
/// of control flow uniform. Preserves all values.
pub fn lower(function: &Function) -> Function {
    let mut function = verified(expand::run(&verified(fusion::run(function))));
    if !is_straight_line(&function) {
        function = predication::run(&function);
    }
    debug_assert_eq!(verify::verify_lowered(&function), Ok(()), "{function}");
    function
}

/// Verifies a function in debug builds.
fn verified(function: Function) -> Function {
    debug_assert_eq!(verify::verify(&function), Ok(()), "{function}");
    function
}

/// Whether there is no control flow.
fn is_straight_line(function: &Function) -> bool {
    function.body.stmts.iter().all(|stmt| matches!(stmt, Stmt::Op(_)))
}

pub(crate) fn has_loops(function: &Function) -> bool {
    let mut found = false;
    for_each_stmt(&function.body, &mut |stmt| found |= matches!(stmt, Stmt::Loop(_)));
    found
}

/// Whether integers are compared or clamped.
fn has_integer_checks(function: &Function) -> bool {
    let is_check = |op| matches!(op, Op::SLt | Op::ULt | Op::SMin | Op::SMax | Op::UMin | Op::UMax);
    function.values.iter().any(|data| matches!(data.def, Def::Op { op, .. } if is_check(op)))
}

/// Number of loop parameters.
fn count_loop_params(function: &Function) -> usize {
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
    use crate::interpreter;
    use crate::testing::random::{self, Options};
    use crate::testing::same;

    /// Checks that two functions compute the same bits, except for NaNs, for random inputs.
    fn check_equal(before: &Function, after: &Function, rows: usize, seed: u64) {
        for row in random::special_rows(&before.inputs, rows, seed) {
            let run = |function| {
                interpreter::run(function, &random::tables(), &row, 1 << 22)
                    .expect("loops terminate")
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
            let optimized = optimize_with(&before, Rules::Exact);
            check_equal(&before, &optimized, 8, seed);
            let lowered = lower(&optimized);
            check_equal(&before, &lowered, 8, seed);
            // Relaxed rules may change values, but must still yield valid functions.
            lower(&optimize(&before));
        }
    }

    #[test]
    fn exact_passes_preserve_every_bit_of_random_functions() {
        check(0..400);
    }

    #[test]
    #[ignore = "takes minutes: cargo test -p lightbound-shader --release --lib passes::tests -- --ignored"]
    fn exact_passes_preserve_every_bit_of_many_random_functions() {
        check(1000..50_000);
    }
}
