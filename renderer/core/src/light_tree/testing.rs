//! Random lights and tree traversal for tests.

use super::{Child, LightKind, LightPoint, LightTree, PointOptions, WIDTH};
use crate::light::{AnyLight, DistantLight, Lights, PointLight, SpotLight};
use lightbound_math::sampling::{hash, unit_float};
use lightbound_math::{Aabb, Vec3};

/// Reproducible random numbers.
pub struct Random(pub u32);

impl Random {
    /// Returns a number uniform in [0, 1).
    pub fn unit(&mut self) -> f32 {
        self.0 = hash(self.0, 0x9e37_79b9);
        unit_float(self.0)
    }

    /// Returns a point uniform in [−1, 1)³.
    pub fn cube(&mut self) -> Vec3 {
        2.0 * Vec3::new(self.unit(), self.unit(), self.unit()) - 1.0
    }
}

/// Types of lights for [`cloud`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TestLight {
    Point,
    Spot,
    Distant,
}

/// Returns `n` random lights in the cube [−1, 1]³ or at infinity.
pub fn cloud(n: usize, kinds: &[TestLight], random: &mut Random) -> Vec<AnyLight> {
    let light = |i: usize| {
        let (at, intensity) = (random.cube(), (random.cube() + 1.0) * 10.0f32.powi(i as i32 % 4));
        match kinds[i % kinds.len()] {
            TestLight::Point => AnyLight::Point(PointLight::new(at, intensity)),
            TestLight::Spot => {
                let (cone, rim) = (1.0 + 100.0 * random.unit(), random.unit());
                AnyLight::Spot(
                    SpotLight::new(at, random.cube(), intensity, cone, rim * cone).unwrap(),
                )
            }
            TestLight::Distant => {
                AnyLight::Distant(DistantLight::new(random.cube(), intensity).unwrap())
            }
        }
    };
    (0..n).map(light).collect()
}

/// Builds the tree over the lights of a scene in the cube [−1, 1]³.
pub fn tree(lights: &Lights, options: &PointOptions) -> LightTree {
    LightTree::build(lights, cube(), options)
}

/// Returns the cube [−1, 1]³.
pub fn cube() -> Aabb {
    Aabb { min: -Vec3::ONE, max: Vec3::ONE }
}

/// Calls `visit` for each child of each node, with the tree's kind, node, slot, and all leaves
/// below the child.
pub fn each_cluster(tree: &LightTree, mut visit: impl FnMut(LightKind, u32, usize, &[u32])) {
    for (kind, root) in tree.roots() {
        let mut pending = vec![root];
        while let Some(index) = pending.pop() {
            for k in 0..WIDTH {
                let leaves = leaves(tree, tree.node(index).child(k));
                if !leaves.is_empty() {
                    visit(kind, index, k, &leaves);
                }
                if let Child::Node(below) = tree.node(index).child(k) {
                    pending.push(below);
                }
            }
        }
    }
}

/// Returns all leaves below a child.
pub fn leaves(tree: &LightTree, child: Child) -> Vec<u32> {
    let (mut leaves, mut pending) = (vec![], vec![child]);
    while let Some(child) = pending.pop() {
        match child {
            Child::None => {}
            Child::Leaf(leaf) => leaves.push(leaf),
            Child::Node(node) => pending.extend((0..WIDTH).map(|k| tree.node(node).child(k))),
        }
    }
    leaves
}

/// Returns the geometric factor of a point at `x`; 0 if `x` receives no light.
pub fn factor(point: &LightPoint, x: Vec3) -> f32 {
    point.incident_light(x).map_or(0.0, |a| a.factor)
}
