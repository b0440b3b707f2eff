//! Valid range analysis: what the users of a value demand of it, so that all get arguments for which they are defined (Clarberg et
//! al. 2010 §4.4).

use super::solve::Solver;

/// Cuts the bounds of a function's values to what all operations are defined for.
pub(super) fn refine(_solver: &mut Solver<'_>) {}
