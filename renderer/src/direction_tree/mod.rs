//! Importance sampling of directions from bounds: whoever writes `brdf` gets a sampler, with the
//! density that belongs to it.
//!
//! The hemisphere, or the sphere for shaders of both sides, is a hierarchy of cells whose area is
//! the cosine's measure. For a shading point, a tree of them is [grown](Grower), by compiled
//! [code](BrdfKernels) for values and bounds of the BRDF from both sides (Clarberg et al. 2010
//! §6.2); directions are drawn from it, and the density of any direction is looked up in it. Where
//! a material is the same all over a surface, trees are kept in a [table](TreeTable), if its lobes
//! move as those of tables do. Of a tree and the image of a sky, directions are drawn by their
//! [product](Product).

mod cells;
mod follow;
mod grow;
mod kernels;
mod product;
mod table;
#[cfg(test)]
mod tests;
mod tree;

pub use grow::{Budget, Grower};
pub use kernels::BrdfKernels;
pub use product::{Product, ProductSky};
pub use table::{ShiftedTree, TreeTable};
pub use tree::DirectionTree;
