//! Light trees to draw from: which leaf is which light, and the way from a leaf to its root.

use crate::light::{AnyLight, Lights, SkyPart};
use crate::light_tree::{Child, Emission, Kind, LightTree, PointOptions, WIDTH};
use crate::math::{Aabb, Vec3};

/// Pieces that all skies together are cut into.
const SKY_PIECES: u32 = 1024;

/// No leaf, and no parent.
const NONE: u32 = u32::MAX;

/// The trees over all lights of a scene, with a leaf for each light or side of one, and for each
/// piece of a sky.
#[derive(Debug)]
pub struct Forest {
    /// The trees.
    pub tree: LightTree,
    /// For each leaf, its node and slot.
    leaves: Vec<Slot>,
    /// The same for each node.
    nodes: Vec<Slot>,
    /// For each light, the leaf of its front, or of all of it, and that of its back.
    of_light: Vec<[u32; 2]>,
    /// For each stratum of a sky, its leaf.
    of_stratum: Vec<u32>,
    /// For each stratum of a sky, how to draw of it.
    skies: Vec<Option<SkyPart>>,
}

/// A place in a tree.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    /// Index of the node.
    pub node: u32,
    /// Number of the child.
    pub slot: u32,
}

impl Forest {
    /// For the lights of a scene whose surfaces lie within `bounds`.
    pub fn build(lights: &Lights, bounds: Aabb) -> Forest {
        let options = PointOptions {
            sky_points: SKY_PIECES,
            extents: true,
            whole_surfaces: true,
            ..PointOptions::default()
        };
        let tree = LightTree::build(lights, bounds, &options);
        let nowhere = Slot { node: NONE, slot: 0 };
        let mut forest = Forest {
            leaves: vec![nowhere; tree.points().len()],
            nodes: vec![nowhere; tree.nodes()],
            of_light: vec![[NONE; 2]; lights.all().len()],
            of_stratum: Vec::new(),
            skies: Vec::new(),
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
                AnyLight::Environment(sky) => {
                    if self.of_stratum.len() <= stratum {
                        self.of_stratum.resize(stratum + 1, NONE);
                        self.skies.resize(stratum + 1, None);
                    }
                    let block = self.tree.block(leaf);
                    self.of_stratum[stratum] = leaf;
                    self.skies[stratum] = sky.part(block.first, block.end, block.side);
                }
                _ => self.of_light[point.light as usize][stratum] = leaf,
            }
        }
    }

    /// The leaf of a surface that shines, on the side that is seen.
    pub fn leaf_of_surface(&self, light: u32, front: bool) -> Option<u32> {
        let [first, back] = self.of_light[light as usize];
        // A curved surface is one leaf for both sides.
        let whole = first != NONE && self.tree.point(first).emission == Emission::Omni;
        let leaf = if front || whole { first } else { back };
        (leaf != NONE).then_some(leaf)
    }

    /// The leaf of a sky in a direction, and how it is drawn from.
    pub fn leaf_of_sky(&self, lights: &Lights, light: u32, wi: Vec3) -> Option<(u32, &SkyPart)> {
        let AnyLight::Environment(sky) = &lights.all()[light as usize] else { return None };
        let stratum = self.tree.sky_stratum(light, sky.square_at(wi))? as usize;
        let leaf = *self.of_stratum.get(stratum).filter(|&&leaf| leaf != NONE)?;
        Some((leaf, self.skies[stratum].as_ref()?))
    }

    /// How to draw of the piece of a sky that a leaf is.
    pub fn sky(&self, leaf: u32) -> Option<&SkyPart> {
        self.skies[self.tree.point(leaf).stratum as usize].as_ref()
    }

    /// Fills `way` with the slots from the leaf to the root.
    pub fn way_up(&self, leaf: u32, way: &mut Vec<Slot>) -> Kind {
        way.clear();
        let mut here = self.leaves[leaf as usize];
        while here.node != NONE {
            way.push(here);
            here = self.nodes[here.node as usize];
        }
        self.tree.point(leaf).kind()
    }

    /// Memory, bytes.
    pub fn bytes(&self) -> usize {
        let slots = (self.leaves.capacity() + self.nodes.capacity()) * size_of::<Slot>();
        let lights = self.of_light.capacity() * size_of::<[u32; 2]>()
            + self.of_stratum.capacity() * size_of::<u32>();
        let parts: usize = self.skies.iter().flatten().map(SkyPart::bytes).sum();
        self.tree.bytes()
            + slots
            + lights
            + parts
            + self.skies.capacity() * size_of::<Option<SkyPart>>()
    }
}
