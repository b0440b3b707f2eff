//! Nodes of light trees: eight clusters as a structure of arrays, for SIMD.

use super::RgbLanes;
use super::virtual_light::VirtualLight;
use glam::DVec3;
use lightbound_math::{Aabb, Cone, Vec3};
use std::ops::Range;

/// Maximum number of children of a node.
pub const WIDTH: usize = 8;

/// Representative of an empty slot.
pub(super) const NO_LIGHT: u32 = u32::MAX;

/// A node: up to 8 clusters as a structure of arrays, in the first slots. Empty slots have
/// intensity 0 and geometric bound 0.
#[derive(Clone, Debug, PartialEq)]
#[repr(C, align(32))]
pub struct Node {
    /// Minimum coordinates of the lights, axis by axis. For directional lights, these are the
    /// coordinates of unit directions.
    pub lo: [[f32; WIDTH]; 3],
    /// Maximum coordinates of the lights, axis by axis.
    pub hi: [[f32; WIDTH]; 3],
    /// Axis of a [`Cone`] that contains the axes of oriented lights or the directions to
    /// directional lights. Undefined for omni lights.
    pub axis: [[f32; WIDTH]; 3],
    /// Cosine of that cone's half angle.
    pub cos_angle: [f32; WIDTH],
    /// For oriented lights: 1 if any light has cosine emission, else 0.
    pub has_cosine: [f32; WIDTH],
    /// For oriented lights: cosine of the half angle of the widest spot; 2 without spots.
    pub cos_spot: [f32; WIDTH],
    /// Sum of the lights' intensities, r, g and b.
    pub intensity: RgbLanes,
    /// The leaf that represents the child's lights. It also represents one of the child's children.
    pub representative: [u32; WIDTH],
    pub(super) children: [PackedChild; WIDTH],
}

/// `cos_spot` of lights that are not spots.
pub(super) const NO_SPOT: f32 = 2.0;

/// The child in a slot of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Child {
    /// A node, by index (see [`super::LightTree::node`]).
    Node(u32),
    /// A leaf, by index. It is its own representative.
    Leaf(u32),
    /// An empty slot.
    None,
}

/// A [`Child`] in 32 bits. The highest bit is set for leaves, and all bits for empty slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PackedChild(u32);

impl PackedChild {
    const LEAF: u32 = 1 << 31;
    const NONE: PackedChild = PackedChild(u32::MAX);

    pub(super) fn new(child: Child) -> PackedChild {
        match child {
            Child::Node(i) => PackedChild(i),
            Child::Leaf(i) => PackedChild(i | Self::LEAF),
            Child::None => Self::NONE,
        }
    }
}

/// Up to 8 consecutive virtual lights, whose node is not stored: it is made when it is used. Most
/// nodes are at the bottom of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct VirtualBlock {
    /// Index of the first virtual light.
    pub(super) first: u32,
    pub(super) len: u32,
}

/// Greatest number of virtual lights.
pub const MAX_VIRTUAL_LIGHTS: usize = 1 << 27;

impl VirtualBlock {
    /// Bit of the indices of blocks. The index of the first light and the number of others follow.
    const FLAG: u32 = 1 << 30;

    /// Returns the block with a node index, unless the node is stored.
    pub(super) fn of_node(index: u32) -> Option<VirtualBlock> {
        let block = VirtualBlock { first: (index & !Self::FLAG) / 8, len: index % 8 + 1 };
        (index & Self::FLAG != 0).then_some(block)
    }

    /// Returns the index of the node.
    pub(super) fn node(self) -> u32 {
        Self::FLAG | (self.first * 8 + self.len - 1)
    }

    /// Returns the range of virtual lights.
    pub(super) fn range(self) -> Range<usize> {
        self.first as usize..(self.first + self.len) as usize
    }
}

/// A child of a node under construction; see the fields of [`Node`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Cluster {
    pub(super) bounds: Aabb,
    pub(super) cone: Cone,
    pub(super) has_cosine: bool,
    pub(super) cos_spot: f32,
    pub(super) intensity: DVec3,
    pub(super) representative: u32,
    pub(super) child: Child,
}

impl Node {
    /// A node without children.
    const EMPTY: Node = Node {
        lo: [[0.0; WIDTH]; 3],
        hi: [[0.0; WIDTH]; 3],
        axis: [[0.0; WIDTH], [0.0; WIDTH], [1.0; WIDTH]],
        cos_angle: [1.0; WIDTH],
        has_cosine: [1.0; WIDTH],
        cos_spot: [NO_SPOT; WIDTH],
        intensity: [[0.0; WIDTH]; 3],
        representative: [NO_LIGHT; WIDTH],
        children: [PackedChild::NONE; WIDTH],
    };

    /// Creates a node of 1 to 8 clusters.
    pub(super) fn new(clusters: &[Cluster]) -> Node {
        // Empty slots repeat the first cluster, so that arithmetic on them is valid.
        let slot = |k: usize| clusters.get(k).unwrap_or(&clusters[0]);
        let lanes = |value: &dyn Fn(&Cluster) -> f32| std::array::from_fn(|k| value(slot(k)));
        let vectors = |value: &dyn Fn(&Cluster) -> Vec3| {
            std::array::from_fn(|axis| lanes(&|c| value(c)[axis]))
        };
        let is_used = |k: usize| k < clusters.len();
        Node {
            lo: vectors(&|c| c.bounds.min),
            hi: vectors(&|c| c.bounds.max),
            axis: vectors(&|c| c.cone.axis),
            cos_angle: lanes(&|c| c.cone.cos),
            has_cosine: lanes(&|c| if c.has_cosine { 1.0 } else { 0.0 }),
            cos_spot: lanes(&|c| c.cos_spot),
            // Clamp sums to the range of floats.
            intensity: std::array::from_fn(|axis| {
                std::array::from_fn(|k| {
                    if is_used(k) {
                        (slot(k).intensity[axis] as f32).clamp(f32::MIN, f32::MAX)
                    } else {
                        0.0
                    }
                })
            }),
            representative: std::array::from_fn(|k| {
                if is_used(k) { slot(k).representative } else { NO_LIGHT }
            }),
            children: std::array::from_fn(|k| {
                if is_used(k) { PackedChild::new(slot(k).child) } else { PackedChild::NONE }
            }),
        }
    }

    /// Creates the node of 1 to 8 virtual lights, whose first leaf is `first`.
    pub(super) fn of_virtual_lights(lights: &[VirtualLight], first: u32) -> Node {
        let mut node = Node::EMPTY;
        for (k, light) in lights.iter().enumerate() {
            let cone = light.cone();
            for c in 0..3 {
                node.lo[c][k] = light.position[c];
                node.hi[c][k] = light.position[c];
                node.axis[c][k] = cone.axis[c];
                node.intensity[c][k] = light.intensity[c];
            }
            node.cos_angle[k] = cone.cos;
            node.representative[k] = first + k as u32;
            node.children[k] = PackedChild::new(Child::Leaf(first + k as u32));
        }
        node
    }

    /// Returns the child in slot `k`.
    pub fn child(&self, k: usize) -> Child {
        match self.children[k] {
            PackedChild::NONE => Child::None,
            PackedChild(bits) if bits & PackedChild::LEAF != 0 => {
                Child::Leaf(bits & !PackedChild::LEAF)
            }
            PackedChild(bits) => Child::Node(bits),
        }
    }

    /// Returns the number of children. They occupy the first slots.
    pub fn len(&self) -> usize {
        (0..WIDTH).take_while(|&k| self.children[k] != PackedChild::NONE).count()
    }

    /// Returns whether the node has no children. Always `false` in a tree.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the bounding box of a child.
    pub fn bounds(&self, k: usize) -> Aabb {
        let at = |c: &[[f32; WIDTH]; 3]| Vec3::new(c[0][k], c[1][k], c[2][k]);
        Aabb { min: at(&self.lo), max: at(&self.hi) }
    }

    /// Returns the cone of a child.
    pub fn cone(&self, k: usize) -> Cone {
        Cone {
            axis: Vec3::new(self.axis[0][k], self.axis[1][k], self.axis[2][k]),
            cos: self.cos_angle[k],
        }
    }

    /// Returns the intensity of a child.
    pub fn intensity(&self, k: usize) -> Vec3 {
        Vec3::new(self.intensity[0][k], self.intensity[1][k], self.intensity[2][k])
    }

    /// Adds `offset` to the indices of child nodes that are stored.
    pub(super) fn offset_children(&mut self, offset: u32) {
        for k in 0..WIDTH {
            if let Child::Node(i) = self.child(k)
                && VirtualBlock::of_node(i).is_none()
            {
                self.children[k] = PackedChild::new(Child::Node(i + offset));
            }
        }
    }
}
