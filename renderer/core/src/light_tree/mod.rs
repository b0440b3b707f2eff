//! Light trees: bounding volume hierarchies over points that represent all lights of a scene.
//!
//! The trees follow Walter et al. 2005, *Lightcuts: A Scalable Approach to Illumination*, but have
//! 8 children per node instead of 2. Cones and split costs follow Conty Estévez & Kulla 2018,
//! *Importance Sampling of Many Lights with Adaptive Tree Splitting*. Only parts of both papers
//! were available, so no sections are cited. `discretize` converts lights to points, `build` builds
//! a tree for each [`LightKind`] with the splits of `split`, `node` defines the clusters, and
//! `bounds` computes their geometric bounds. Everything is in render space, and results do not
//! depend on the number of threads.
//!
//! A leaf is a point or, with [`PointOptions::extents`], a part of a light. [`LightTree::sample`]
//! samples positions on the part (as in Yuksel 2019, *Stochastic Lightcuts*), and boxes and cones
//! contain the entire part.

mod bounds;
mod build;
mod discretize;
mod node;
mod point;
mod split;
#[cfg(test)]
pub(crate) mod testing;

use crate::light::Lights;
use lightbound_math::{Aabb, Vec2};

pub use discretize::{EnvironmentBlock, PointOptions};
pub use node::{Child, Node, WIDTH};
pub use point::{COSINE_STEP, Emission, IncidentLight, LightKind, LightPoint};

/// The trees over all lights of a scene.
#[derive(Clone, Debug, Default)]
pub struct LightTree {
    points: Vec<LightPoint>,
    nodes: Vec<Node>,
    roots: Vec<(LightKind, u32)>,
    /// See [`LightTree::magnitude`]. Empty if no light has a negative component: magnitudes then
    /// equal intensities.
    magnitudes: Vec<RgbLanes>,
    strata: discretize::Strata,
}

/// An RGB colour for each child: an array of lanes per channel.
pub type RgbLanes = [[f32; WIDTH]; 3];

impl LightTree {
    /// Converts `lights` to points and builds a tree of each kind, on the current rayon pool.
    /// `bounds` is the bounding box of the scene's surfaces.
    pub fn build(lights: &Lights, bounds: Aabb, options: &PointOptions) -> LightTree {
        let discretize::Points { points, extents, strata } = discretize::points(lights, options);
        let build::Trees { points, nodes, roots } = build::build(points, extents, size(bounds));
        let magnitudes = build::magnitudes(&points, &nodes);
        LightTree { points, nodes, roots, magnitudes, strata }
    }

    /// Adds a tree of virtual lights, which all have the same [`LightPoint::offset`]. `bounds` is
    /// the bounding box of the scene's surfaces.
    ///
    /// # Panics
    /// If there are 2³¹ leaves or more.
    pub fn add_virtual_lights(&mut self, lights: &[LightPoint], bounds: Aabb) {
        let mut trees = build::Trees {
            points: std::mem::take(&mut self.points),
            nodes: std::mem::take(&mut self.nodes),
            roots: std::mem::take(&mut self.roots),
        };
        trees.add_virtual_lights(lights, size(bounds));
        (self.points, self.nodes, self.roots) = (trees.points, trees.nodes, trees.roots);
        self.magnitudes = build::magnitudes(&self.points, &self.nodes);
    }

    /// Iterates over the roots of the trees, at most one of each kind. There are none if no light
    /// emits.
    pub fn roots(&self) -> impl Iterator<Item = (LightKind, u32)> + '_ {
        self.roots.iter().copied()
    }

    /// Returns a node.
    pub fn node(&self, index: u32) -> &Node {
        &self.nodes[index as usize]
    }

    /// Returns the number of nodes.
    pub fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// Returns the sum of the lights' absolute intensities for each child of a node, for error
    /// bounds. It differs from [`Node::intensity`] if out-of-gamut colours have negative
    /// components, which may cancel, and for virtual lights, where it is that of the bounds of
    /// [`Emission::Virtual`].
    pub fn magnitude(&self, index: u32) -> &RgbLanes {
        self.magnitudes.get(index as usize).unwrap_or(&self.nodes[index as usize].intensity)
    }

    /// Returns a leaf.
    pub fn point(&self, index: u32) -> &LightPoint {
        &self.points[index as usize]
    }

    /// Returns all leaves.
    pub fn points(&self) -> &[LightPoint] {
        &self.points
    }

    /// Samples a position on the part of the light that a leaf represents, for `u` uniform in
    /// [0, 1)². The estimate is unbiased: the expected contribution is that of the whole part. The
    /// intensity is 0 where the part is black. `lights` must be those passed to
    /// [`LightTree::build`]. If the tree was built with extents, samples lie within the leaf's box
    /// and cone.
    pub fn sample(&self, lights: &Lights, leaf: u32, u: Vec2) -> LightPoint {
        let point = self.point(leaf);
        match point.emission {
            Emission::Virtual { .. } => *point,
            _ => self.strata.sample(lights, point, u),
        }
    }

    /// Returns the environment block that a leaf represents.
    ///
    /// # Panics
    /// If the leaf does not represent an environment block.
    pub fn environment_block(&self, leaf: u32) -> &EnvironmentBlock {
        self.strata.block(self.point(leaf).stratum)
    }

    /// Returns the stratum (see [`LightPoint::stratum`]) of an environment light at a position in
    /// its equal-area map, [0, 1]²; `None` in black regions.
    pub fn environment_stratum(&self, light: u32, position: Vec2) -> Option<u32> {
        self.strata.environment_at(light, position)
    }

    /// Returns whether a leaf represents the front of a surface. The leaf must represent one side
    /// of a surface.
    pub fn is_front(&self, leaf: u32) -> bool {
        discretize::is_front(self.point(leaf).stratum)
    }

    /// Returns the memory use in bytes.
    pub fn bytes(&self) -> usize {
        let trees = self.nodes.capacity() * size_of::<Node>()
            + self.magnitudes.capacity() * size_of::<RgbLanes>();
        self.points.capacity() * size_of::<LightPoint>() + trees + self.strata.bytes()
    }
}

/// Returns the length of the diagonal of a box; 0 if it is empty or unbounded.
fn size(bounds: Aabb) -> f32 {
    let size = (bounds.max - bounds.min).length();
    if !bounds.is_empty() && size.is_finite() { size } else { 0.0 }
}
