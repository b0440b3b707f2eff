//! Light trees: all lights of a scene as points, and hierarchies of clusters of them with what
//! bounds their light.
//!
//! Walter et al. 2005, *Lightcuts: A Scalable Approach to Illumination*, with 8 children to a node
//! instead of two; cones and the cost of splits after Conty Estévez & Kulla 2018, *Importance
//! Sampling of Many Lights with Adaptive Tree Splitting*. Both were at hand in part only, so no
//! sections are cited. `emit` turns lights into points, `build` builds a tree for each [`Kind`] by
//! the parts that `split` makes, `node` has the clusters and `bounds` their geometric bounds.
//! Everything is in world space, and nothing depends on the number of threads.
//!
//! A leaf is a point, or with [`PointOptions::extents`] a piece of a light, of which
//! [`LightTree::draw`] draws places (as Yuksel 2019 does, *Stochastic Lightcuts*): then boxes and
//! cones hold the whole piece.

mod bounds;
mod build;
mod emit;
mod node;
mod point;
mod split;
#[cfg(test)]
pub(crate) mod testing;

use crate::light::Lights;
use crate::math::{Aabb, Vec2};

pub use emit::{Block, PointOptions};
pub use node::{Child, Node, WIDTH};
pub use point::{Arrival, Emission, Kind, LightPoint};

/// The trees over all lights of a scene.
#[derive(Clone, Debug, Default)]
pub struct LightTree {
    points: Vec<LightPoint>,
    nodes: Vec<Node>,
    roots: Vec<(Kind, u32)>,
    /// Of each node; empty where no light has a negative component, so that intensities are their
    /// own magnitudes.
    magnitudes: Vec<Colours>,
    strata: emit::Strata,
}

/// A colour for each child: r, g and b, child by child.
pub type Colours = [[f32; WIDTH]; 3];

impl LightTree {
    /// Turns `lights` into points and builds a tree for each kind that there is, with the current
    /// rayon pool. `bounds` is the box of the scene's surfaces.
    pub fn build(lights: &Lights, bounds: Aabb, options: &PointOptions) -> LightTree {
        let emit::Points { points, extents, strata } = emit::points(lights, options);
        let size = (bounds.max - bounds.min).length();
        let size = if !bounds.is_empty() && size.is_finite() { size } else { 0.0 };
        let build::Trees { points, nodes, roots } = build::build(points, extents, size);
        let magnitudes = build::magnitudes(&points, &nodes);
        LightTree { points, nodes, roots, magnitudes, strata }
    }

    /// The roots of the trees, at most one of each kind; none where nothing shines.
    pub fn roots(&self) -> impl Iterator<Item = (Kind, u32)> + '_ {
        self.roots.iter().copied()
    }

    /// A node.
    pub fn node(&self, index: u32) -> &Node {
        &self.nodes[index as usize]
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// For each child of a node, the sum of the absolute intensities of its lights: what an error
    /// bound takes. It differs from [`Node::intensity`] where colours out of gamut have negative
    /// components, which may cancel.
    pub fn magnitude(&self, index: u32) -> &Colours {
        self.magnitudes.get(index as usize).unwrap_or(&self.nodes[index as usize].intensity)
    }

    /// A leaf.
    pub fn point(&self, index: u32) -> &LightPoint {
        &self.points[index as usize]
    }

    /// All leaves.
    pub fn points(&self) -> &[LightPoint] {
        &self.points
    }

    /// Draws a place of the piece of the light that a leaf stands for, uniformly for `u` uniform in
    /// [0, 1)², with the intensity that makes the mean over many draws the light of the piece
    /// itself: 0 where the place does not shine. `lights` are those of [`LightTree::build`]. Where
    /// the tree was built with extents, draws lie within the leaf's box and cone.
    pub fn draw(&self, lights: &Lights, leaf: u32, u: Vec2) -> LightPoint {
        self.strata.draw(lights, self.point(leaf), u)
    }

    /// The block of a sky that a leaf is.
    ///
    /// *Panics* if it is a piece of something else.
    pub fn block(&self, leaf: u32) -> &Block {
        self.strata.block(self.point(leaf).stratum)
    }

    /// The stratum, as in [`LightPoint::stratum`], of a sky at a place of its square; `None` where
    /// it does not shine.
    pub fn sky_stratum(&self, light: u32, place: Vec2) -> Option<u32> {
        self.strata.at_sky(light, place)
    }

    /// Whether a leaf is of the front of its surface, if it is of one side.
    pub fn is_front(&self, leaf: u32) -> bool {
        emit::is_front(self.point(leaf).stratum)
    }

    /// Memory, bytes.
    pub fn bytes(&self) -> usize {
        let trees = self.nodes.capacity() * size_of::<Node>()
            + self.magnitudes.capacity() * size_of::<Colours>();
        self.points.capacity() * size_of::<LightPoint>() + trees + self.strata.bytes()
    }
}
