//! Clusters: 8 to a node, lane by lane, so that all of them are bounded in one go.

use super::Colours;
use crate::math::{Aabb, Cone, Vec3};
use glam::DVec3;

/// Children of a node.
pub const WIDTH: usize = 8;

/// In place of the representative of a slot without a child.
pub(super) const NOBODY: u32 = u32::MAX;

/// A node: up to 8 clusters in the first slots, as structure of arrays. A slot without a child has
/// intensity 0, and bounds of 0.
#[derive(Clone, Debug, PartialEq)]
#[repr(C, align(32))]
pub struct Node {
    /// Least coordinates of the lights, axis by axis; of directional ones, of their unit
    /// directions.
    pub lo: [[f32; WIDTH]; 3],
    /// Greatest coordinates.
    pub hi: [[f32; WIDTH]; 3],
    /// Axis of the cone of the lights' axes, or of the directions to directional ones, as in
    /// [`Cone`]. Means nothing for omni lights.
    pub axis: [[f32; WIDTH]; 3],
    /// Cosine of that cone's half angle.
    pub cos_angle: [f32; WIDTH],
    /// Oriented: 1 where there are lights that shine by the cosine, else 0.
    pub cosine: [f32; WIDTH],
    /// Oriented: the cosine at which the widest spot ends; 2 where there is no spot.
    pub cos_spot: [f32; WIDTH],
    /// Sum of the lights' intensities, r, g and b.
    pub intensity: Colours,
    /// The leaf that stands for all lights; it stands for one of the child's own children as well.
    pub representative: [u32; WIDTH],
    pub(super) children: [Packed; WIDTH],
}

/// What is below a slot of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Child {
    /// A node, by index.
    Node(u32),
    /// One light, by index: its own representative.
    Leaf(u32),
    /// Nothing.
    None,
}

/// A [`Child`] in 32 bits: leaves have the highest set, all ones are nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Packed(u32);

impl Packed {
    const LEAF: u32 = 1 << 31;
    const NONE: Packed = Packed(u32::MAX);

    pub(super) fn new(child: Child) -> Packed {
        match child {
            Child::Node(i) => Packed(i),
            Child::Leaf(i) => Packed(i | Self::LEAF),
            Child::None => Self::NONE,
        }
    }
}

/// What a node knows of one child.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cluster {
    pub(super) bounds: Aabb,
    pub(super) cone: Cone,
    pub(super) cosine: bool,
    pub(super) cos_spot: f32,
    pub(super) intensity: DVec3,
    pub(super) representative: u32,
    pub(super) child: Child,
}

impl Node {
    /// A node of at most 8 clusters, at least one.
    pub(super) fn new(clusters: &[Cluster]) -> Node {
        // Empty slots repeat the first box, so that arithmetic on them is as harmless as on it.
        let slot = |k: usize| clusters.get(k).unwrap_or(&clusters[0]);
        let lanes = |value: &dyn Fn(&Cluster) -> f32| std::array::from_fn(|k| value(slot(k)));
        let vectors = |value: &dyn Fn(&Cluster) -> Vec3| {
            std::array::from_fn(|axis| lanes(&|c| value(c)[axis]))
        };
        let used = |k: usize| k < clusters.len();
        Node {
            lo: vectors(&|c| c.bounds.min),
            hi: vectors(&|c| c.bounds.max),
            axis: vectors(&|c| c.cone.axis),
            cos_angle: lanes(&|c| c.cone.cos),
            cosine: lanes(&|c| if c.cosine { 1.0 } else { 0.0 }),
            cos_spot: lanes(&|c| c.cos_spot),
            // What is too bright for a float is as bright as one can be.
            intensity: std::array::from_fn(|axis| {
                std::array::from_fn(|k| {
                    if used(k) {
                        (slot(k).intensity[axis] as f32).clamp(f32::MIN, f32::MAX)
                    } else {
                        0.0
                    }
                })
            }),
            representative: std::array::from_fn(|k| {
                if used(k) { slot(k).representative } else { NOBODY }
            }),
            children: std::array::from_fn(|k| {
                if used(k) { Packed::new(slot(k).child) } else { Packed::NONE }
            }),
        }
    }

    /// What is below slot `k`.
    pub fn child(&self, k: usize) -> Child {
        match self.children[k] {
            Packed::NONE => Child::None,
            Packed(bits) if bits & Packed::LEAF != 0 => Child::Leaf(bits & !Packed::LEAF),
            Packed(bits) => Child::Node(bits),
        }
    }

    /// Children; they take the first slots.
    pub fn len(&self) -> usize {
        (0..WIDTH).take_while(|&k| self.children[k] != Packed::NONE).count()
    }

    /// Whether there are none: never in a tree.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The box of a child.
    pub fn bounds(&self, k: usize) -> Aabb {
        let at = |c: &[[f32; WIDTH]; 3]| Vec3::new(c[0][k], c[1][k], c[2][k]);
        Aabb { min: at(&self.lo), max: at(&self.hi) }
    }

    /// The cone of a child.
    pub fn cone(&self, k: usize) -> Cone {
        Cone {
            axis: Vec3::new(self.axis[0][k], self.axis[1][k], self.axis[2][k]),
            cos: self.cos_angle[k],
        }
    }

    /// The intensity of a child.
    pub fn intensity(&self, k: usize) -> Vec3 {
        Vec3::new(self.intensity[0][k], self.intensity[1][k], self.intensity[2][k])
    }

    /// Moves the indices of nodes below.
    pub(super) fn shift(&mut self, nodes: u32) {
        for k in 0..WIDTH {
            if let Child::Node(i) = self.child(k) {
                self.children[k] = Packed::new(Child::Node(i + nodes));
            }
        }
    }
}
