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
mod incident_columns;
mod node;
mod point;
mod split;
#[cfg(test)]
pub(crate) mod testing;
mod virtual_light;

use self::node::VirtualBlock;
use crate::light::Lights;
use lightbound_math::{Aabb, Vec2, Vec3};
use std::borrow::Cow;

pub use discretize::{EnvironmentBlock, PointOptions};
pub use incident_columns::IncidentColumns;
pub use node::{Child, MAX_VIRTUAL_LIGHTS, Node, WIDTH};
pub use point::{COSINE_STEP, Emission, IncidentLight, LightKind, LightPoint};
pub use virtual_light::{EmittingSide, PackedColour, PackedDirection, PackedFrame, VirtualLight};

/// The trees over all lights of a scene.
#[derive(Clone, Debug, Default)]
pub struct LightTree {
    /// The first leaves.
    points: Vec<LightPoint>,
    /// The other leaves.
    virtual_lights: Vec<VirtualLight>,
    /// Distance below which virtual lights do not increase.
    min_distance: f32,
    /// All nodes but those of [`VirtualBlock`]s.
    nodes: Vec<Node>,
    roots: Vec<(LightKind, u32)>,
    /// See [`LightTree::magnitude`]. Empty if there are no virtual lights and no light has a
    /// negative component: magnitudes then equal intensities.
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
        let magnitudes = build::magnitudes(&points, &[], &nodes);
        LightTree { points, nodes, roots, magnitudes, strata, ..LightTree::default() }
    }

    /// Adds a tree of virtual lights, whose light does not increase below `min_distance`. `bounds`
    /// is the bounding box of the scene's surfaces.
    ///
    /// # Panics
    /// If there are virtual lights already, more than [`MAX_VIRTUAL_LIGHTS`], or 2³¹ leaves or more.
    pub fn add_virtual_lights(&mut self, lights: &[VirtualLight], min_distance: f32, bounds: Aabb) {
        assert!(self.virtual_lights.is_empty(), "virtual lights are added once");
        let mut trees = build::Trees {
            points: std::mem::take(&mut self.points),
            nodes: std::mem::take(&mut self.nodes),
            roots: std::mem::take(&mut self.roots),
        };
        self.virtual_lights = trees.add_virtual_lights(lights, min_distance, size(bounds));
        self.min_distance = min_distance;
        (self.points, self.nodes, self.roots) = (trees.points, trees.nodes, trees.roots);
        self.magnitudes = build::magnitudes(&self.points, &self.virtual_lights, &self.nodes);
    }

    /// Iterates over the roots of the trees, at most one of each kind. There are none if no light
    /// emits.
    pub fn roots(&self) -> impl Iterator<Item = (LightKind, u32)> + '_ {
        self.roots.iter().copied()
    }

    /// Returns a node. Nodes of virtual lights only are not stored.
    #[inline]
    pub fn node(&self, index: u32) -> Cow<'_, Node> {
        match VirtualBlock::of_node(index) {
            None => Cow::Borrowed(&self.nodes[index as usize]),
            Some(block) => Cow::Owned(self.block_node(block)),
        }
    }

    #[inline(never)]
    fn block_node(&self, block: VirtualBlock) -> Node {
        let first = self.points.len() as u32 + block.first;
        Node::of_virtual_lights(&self.virtual_lights[block.range()], first)
    }

    /// Returns the number of children of a node.
    pub fn child_count(&self, index: u32) -> usize {
        match VirtualBlock::of_node(index) {
            None => self.nodes[index as usize].len(),
            Some(block) => block.len as usize,
        }
    }

    /// Returns the child in a slot of a node.
    pub fn child(&self, index: u32, slot: usize) -> Child {
        match VirtualBlock::of_node(index) {
            None => self.nodes[index as usize].child(slot),
            Some(block) if slot < block.len as usize => Child::Leaf(self.block_leaf(block, slot)),
            Some(_) => Child::None,
        }
    }

    /// Returns the leaf that represents the child in a slot of a node, which must not be empty.
    pub fn representative(&self, index: u32, slot: usize) -> u32 {
        match VirtualBlock::of_node(index) {
            None => self.nodes[index as usize].representative[slot],
            Some(block) => self.block_leaf(block, slot),
        }
    }

    /// Returns the intensity of the child in a slot of a node, which must not be empty.
    pub fn intensity(&self, index: u32, slot: usize) -> Vec3 {
        match VirtualBlock::of_node(index) {
            None => self.nodes[index as usize].intensity(slot),
            Some(block) => self.virtual_lights[block.range()][slot].intensity,
        }
    }

    fn block_leaf(&self, block: VirtualBlock, slot: usize) -> u32 {
        self.points.len() as u32 + block.first + slot as u32
    }

    /// Returns the number of nodes that are stored.
    pub fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// Returns the sum of the lights' absolute intensities for each child of a node, for error
    /// bounds. It differs from [`Node::intensity`] if out-of-gamut colours have negative
    /// components, which may cancel, and for virtual lights, where it is that of the bounds of
    /// [`Emission::Virtual`].
    #[inline]
    pub fn magnitude(&self, index: u32) -> Cow<'_, RgbLanes> {
        match VirtualBlock::of_node(index) {
            None => {
                let stored = self.magnitudes.get(index as usize);
                Cow::Borrowed(stored.unwrap_or(&self.nodes[index as usize].intensity))
            }
            Some(block) => Cow::Owned(build::block_magnitudes(&self.virtual_lights[block.range()])),
        }
    }

    /// Returns a leaf.
    pub fn point(&self, leaf: u32) -> LightPoint {
        match self.points.get(leaf as usize) {
            Some(point) => *point,
            None => {
                let index = leaf - self.points.len() as u32;
                self.virtual_lights[index as usize].point(index, self.min_distance)
            }
        }
    }

    /// Returns all leaves but the virtual lights, which come after them.
    pub fn points(&self) -> &[LightPoint] {
        &self.points
    }

    /// Returns the virtual lights.
    pub fn virtual_lights(&self) -> &[VirtualLight] {
        &self.virtual_lights
    }

    /// Samples a position on the part of the light that a leaf represents, for `u` uniform in
    /// [0, 1)². The estimate is unbiased: the expected contribution is that of the whole part. The
    /// intensity is 0 where the part is black. `lights` must be those passed to
    /// [`LightTree::build`]. If the tree was built with extents, samples lie within the leaf's box
    /// and cone.
    pub fn sample(&self, lights: &Lights, leaf: u32, u: Vec2) -> LightPoint {
        let point = self.point(leaf);
        match point.emission {
            Emission::Virtual { .. } => point,
            _ => self.strata.sample(lights, &point, u),
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
        let leaves = self.points.capacity() * size_of::<LightPoint>()
            + self.virtual_lights.capacity() * size_of::<VirtualLight>();
        leaves + trees + self.strata.bytes()
    }
}

/// Returns the length of the diagonal of a box; 0 if it is empty or unbounded.
fn size(bounds: Aabb) -> f32 {
    let size = (bounds.max - bounds.min).length();
    if !bounds.is_empty() && size.is_finite() { size } else { 0.0 }
}
