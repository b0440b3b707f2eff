//! Light trees for light selection, with maps from lights to leaves and from leaves to their paths
//! to the root.

use crate::light::{AnyLight, Lights};
use crate::light_tree::{Child, Emission, LightKind, LightTree, PointOptions, WIDTH};
use lightbound_math::sampling::PiecewisePart;
use lightbound_math::{Aabb, Vec3};

/// Approximate total number of blocks of all environment maps.
const ENVIRONMENT_BLOCKS: u32 = 1024;

/// Index of a missing leaf or parent.
const NONE: u32 = u32::MAX;

/// The trees over all lights of a scene. Leaves are lights, sides of two-sided lights, and blocks
/// of environment maps.
#[derive(Debug)]
pub struct Forest {
    /// The trees.
    pub tree: LightTree,
    /// Parent of each leaf.
    leaf_parents: Vec<Slot>,
    /// Parent of each node.
    node_parents: Vec<Slot>,
    /// For each light, the leaf of its front or of the entire light, and the leaf of its back.
    light_leaves: Vec<[u32; 2]>,
    /// Leaf of each environment stratum.
    stratum_leaves: Vec<u32>,
    /// Sampler of each environment stratum.
    environment_parts: Vec<Option<PiecewisePart>>,
}

/// A child slot of a node.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    /// Index of the node.
    pub node: u32,
    /// Index of the child.
    pub slot: u32,
}

impl Forest {
    /// Builds the trees over the lights of a scene. `bounds` contains all surfaces of the scene.
    pub fn build(lights: &Lights, bounds: Aabb) -> Forest {
        let options = PointOptions {
            environment_points: ENVIRONMENT_BLOCKS,
            extents: true,
            next_event: true,
            ..PointOptions::default()
        };
        let tree = LightTree::build(lights, bounds, &options);
        let no_slot = Slot { node: NONE, slot: 0 };
        let mut forest = Forest {
            leaf_parents: vec![no_slot; tree.points().len()],
            node_parents: vec![no_slot; tree.node_count()],
            light_leaves: vec![[NONE; 2]; lights.all().len()],
            stratum_leaves: Vec::new(),
            environment_parts: Vec::new(),
            tree,
        };
        forest.find_parents();
        forest.find_leaves(lights);
        forest
    }

    fn find_parents(&mut self) {
        for node in 0..self.node_parents.len() as u32 {
            for slot in 0..WIDTH {
                let parent = Slot { node, slot: slot as u32 };
                match self.tree.node(node).child(slot) {
                    Child::Node(child) => self.node_parents[child as usize] = parent,
                    Child::Leaf(leaf) => self.leaf_parents[leaf as usize] = parent,
                    Child::None => break,
                }
            }
        }
    }

    fn find_leaves(&mut self, lights: &Lights) {
        for (leaf, point) in (0..).zip(self.tree.points()) {
            let stratum = point.stratum as usize;
            match &lights.all()[point.light as usize] {
                AnyLight::Environment(environment) => {
                    if self.stratum_leaves.len() <= stratum {
                        self.stratum_leaves.resize(stratum + 1, NONE);
                        self.environment_parts.resize(stratum + 1, None);
                    }
                    let block = self.tree.environment_block(leaf);
                    self.stratum_leaves[stratum] = leaf;
                    self.environment_parts[stratum] = environment.part(block.first, block.end);
                }
                _ => self.light_leaves[point.light as usize][stratum] = leaf,
            }
        }
    }

    /// Returns the leaf of an area light for its front or back.
    pub fn leaf_of_surface(&self, light: u32, front: bool) -> Option<u32> {
        let [first, back] = self.light_leaves[light as usize];
        // A curved surface has one leaf for both sides.
        let has_one_leaf = first != NONE && self.tree.point(first).emission == Emission::Omni;
        let leaf = if front || has_one_leaf { first } else { back };
        (leaf != NONE).then_some(leaf)
    }

    /// Returns the leaf of an environment light in a direction, and the sampler of its block.
    pub fn leaf_of_environment(
        &self,
        lights: &Lights,
        light: u32,
        wi: Vec3,
    ) -> Option<(u32, &PiecewisePart)> {
        let AnyLight::Environment(environment) = &lights.all()[light as usize] else { return None };
        let stratum =
            self.tree.environment_stratum(light, environment.square_position(wi))? as usize;
        let leaf = *self.stratum_leaves.get(stratum).filter(|&&leaf| leaf != NONE)?;
        Some((leaf, self.environment_parts[stratum].as_ref()?))
    }

    /// Returns the sampler of the environment block of a leaf.
    pub fn environment_part(&self, leaf: u32) -> Option<&PiecewisePart> {
        self.environment_parts[self.tree.point(leaf).stratum as usize].as_ref()
    }

    /// Fills `path` with the slots from the leaf to the root, and returns the kind of the tree.
    pub fn path_to_root(&self, leaf: u32, path: &mut Vec<Slot>) -> LightKind {
        path.clear();
        let mut parent = self.leaf_parents[leaf as usize];
        while parent.node != NONE {
            path.push(parent);
            parent = self.node_parents[parent.node as usize];
        }
        self.tree.point(leaf).kind()
    }

    /// Returns the memory use in bytes.
    pub fn bytes(&self) -> usize {
        let slots =
            (self.leaf_parents.capacity() + self.node_parents.capacity()) * size_of::<Slot>();
        let lights = self.light_leaves.capacity() * size_of::<[u32; 2]>()
            + self.stratum_leaves.capacity() * size_of::<u32>();
        let parts: usize = self.environment_parts.iter().flatten().map(PiecewisePart::bytes).sum();
        self.tree.bytes()
            + slots
            + lights
            + parts
            + self.environment_parts.capacity() * size_of::<Option<PiecewisePart>>()
    }
}
