//! Importance sampling of directions from compiled bounds: a sampler with an exact density for any
//! shader that defines `brdf`.
//!
//! The hemisphere, or the sphere for two-sided shaders, is divided into a hierarchy of cells with
//! areas proportional to projected solid angle; to solid angle for phase functions. For a shading
//! point, a [builder](AdaptiveBuilder) builds a tree of cells from compiled [kernels](BrdfKernels)
//! for values of the BRDF and for lower and upper bounds on it (Clarberg et al. 2010 §6.2).
//! Directions are sampled from the tree, and the density of any direction is looked up in it. If
//! the parameters of a material are constant, its trees are cached in a [table](TreeTable),
//! provided that its lobes move with `wo` as tables assume.

mod builder;
mod cells;
mod kernels;
mod table;
mod table_suitability;
#[cfg(test)]
mod tests;
mod tree;

pub use builder::{AdaptiveBuilder, SplitBudget};
pub use cells::DirectionDomain;
pub use kernels::BrdfKernels;
pub use table::{ShiftedTree, TreeTable};
pub use tree::DirectionTree;
