//! Light trees for light selection: maps each light to its leaves, and each leaf to the path to its
//! root.

use crate::light::{AnyLight, EnvironmentPart, Lights};
use crate::light_tree::{Child, Emission, LightKind, LightTree, PointOptions, WIDTH};
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
    leaves: Vec<Slot>,
    /// Parent of each node.
    nodes: Vec<Slot>,
    /// For each light, the leaf of its front or of the entire light, and the leaf of its back.
    of_light: Vec<[u32; 2]>,
    /// Leaf of each environment stratum.
    of_stratum: Vec<u32>,
    /// Sampler of each environment stratum.
    environment_parts: Vec<Option<EnvironmentPart>>,
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
    /// Builds the trees over the lights of a scene whose surfaces lie within `bounds`.
    pub fn build(lights: &Lights, bounds: Aabb) -> Forest {
        let options = PointOptions {
            environment_points: ENVIRONMENT_BLOCKS,
            extents: true,
            whole_surfaces: true,
            ..PointOptions::default()
        };
        let tree = LightTree::build(lights, bounds, &options);
        let no_slot = Slot { node: NONE, slot: 0 };
        let mut forest = Forest {
            leaves: vec![no_slot; tree.points().len()],
            nodes: vec![no_slot; tree.node_count()],
            of_light: vec![[NONE; 2]; lights.all().len()],
            of_stratum: Vec::new(),
            environment_parts: Vec::new(),
            tree,
        };
        forest.find_parents();
        forest.find_leaves(lights);
        forest
    }

    fn find_parents(&mut self) {
        for node in 0..self.nodes.len() as u32 {
            for slot in 0..WIDTH {
                let here = Slot { node, slot: slot as u32 };
                match self.tree.node(node).child(slot) {
                    Child::Node(below) => self.nodes[below as usize] = here,
                    Child::Leaf(leaf) => self.leaves[leaf as usize] = here,
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
                    if self.of_stratum.len() <= stratum {
                        self.of_stratum.resize(stratum + 1, NONE);
                        self.environment_parts.resize(stratum + 1, None);
                    }
                    let block = self.tree.environment_block(leaf);
                    self.of_stratum[stratum] = leaf;
                    self.environment_parts[stratum] =
                        environment.part(block.first, block.end, block.side);
                }
                _ => self.of_light[point.light as usize][stratum] = leaf,
            }
        }
    }

    /// Returns the leaf of an area light for its front or back.
    pub fn leaf_of_surface(&self, light: u32, front: bool) -> Option<u32> {
        let [first, back] = self.of_light[light as usize];
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
    ) -> Option<(u32, &EnvironmentPart)> {
        let AnyLight::Environment(environment) = &lights.all()[light as usize] else { return None };
        let stratum =
            self.tree.environment_stratum(light, environment.square_position(wi))? as usize;
        let leaf = *self.of_stratum.get(stratum).filter(|&&leaf| leaf != NONE)?;
        Some((leaf, self.environment_parts[stratum].as_ref()?))
    }

    /// Returns the sampler of the environment block of a leaf.
    pub fn environment_part(&self, leaf: u32) -> Option<&EnvironmentPart> {
        self.environment_parts[self.tree.point(leaf).stratum as usize].as_ref()
    }

    /// Fills `path` with the slots from the leaf to the root, and returns the kind of the tree.
    pub fn path_to_root(&self, leaf: u32, path: &mut Vec<Slot>) -> LightKind {
        path.clear();
        let mut here = self.leaves[leaf as usize];
        while here.node != NONE {
            path.push(here);
            here = self.nodes[here.node as usize];
        }
        self.tree.point(leaf).kind()
    }

    /// Returns the memory use in bytes.
    pub fn bytes(&self) -> usize {
        let slots = (self.leaves.capacity() + self.nodes.capacity()) * size_of::<Slot>();
        let lights = self.of_light.capacity() * size_of::<[u32; 2]>()
            + self.of_stratum.capacity() * size_of::<u32>();
        let parts: usize =
            self.environment_parts.iter().flatten().map(EnvironmentPart::bytes).sum();
        self.tree.bytes()
            + slots
            + lights
            + parts
            + self.environment_parts.capacity() * size_of::<Option<EnvironmentPart>>()
    }
}
