//! Scenes of lights, and walks through trees, for tests.

use super::{Child, Kind, LightPoint, LightTree, PointOptions, WIDTH};
use crate::light::{AnyLight, DistantLight, Lights, PointLight, SpotLight};
use crate::math::{Aabb, Vec3};
use crate::sampling::{hash, unit_float};

/// Numbers that are the same in every run.
pub struct Random(pub u32);

impl Random {
    /// Uniform in [0, 1).
    pub fn unit(&mut self) -> f32 {
        self.0 = hash(self.0, 0x9e37_79b9);
        unit_float(self.0)
    }

    /// Uniform in [−1, 1)³.
    pub fn cube(&mut self) -> Vec3 {
        2.0 * Vec3::new(self.unit(), self.unit(), self.unit()) - 1.0
    }
}

/// Which lights a cloud has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sort {
    Point,
    Spot,
    Distant,
}

/// `n` lights in the cube [−1, 1]³, or all around.
pub fn cloud(n: usize, sorts: &[Sort], random: &mut Random) -> Vec<AnyLight> {
    let light = |i: usize| {
        let (at, intensity) = (random.cube(), (random.cube() + 1.0) * 10.0f32.powi(i as i32 % 4));
        match sorts[i % sorts.len()] {
            Sort::Point => AnyLight::Point(PointLight::new(at, intensity)),
            Sort::Spot => {
                let (cone, rim) = (1.0 + 100.0 * random.unit(), random.unit());
                AnyLight::Spot(
                    SpotLight::new(at, random.cube(), intensity, cone, rim * cone).unwrap(),
                )
            }
            Sort::Distant => {
                AnyLight::Distant(DistantLight::new(random.cube(), intensity).unwrap())
            }
        }
    };
    (0..n).map(light).collect()
}

/// The tree over lights of a scene in the cube [−1, 1]³.
pub fn tree(lights: &Lights, options: &PointOptions) -> LightTree {
    LightTree::build(lights, cube(), options)
}

/// The cube [−1, 1]³.
pub fn cube() -> Aabb {
    Aabb { min: -Vec3::ONE, max: Vec3::ONE }
}

/// Calls `visit` for each child of each node: kind, node, slot, and all leaves below.
pub fn each_cluster(tree: &LightTree, mut visit: impl FnMut(Kind, u32, usize, &[u32])) {
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

/// All leaves below.
pub fn leaves(tree: &LightTree, child: Child) -> Vec<u32> {
    let (mut found, mut pending) = (vec![], vec![child]);
    while let Some(child) = pending.pop() {
        match child {
            Child::None => {}
            Child::Leaf(leaf) => found.push(leaf),
            Child::Node(node) => pending.extend((0..WIDTH).map(|k| tree.node(node).child(k))),
        }
    }
    found
}

/// The factor by which a point lights `x`, 0 for nothing.
pub fn factor(point: &LightPoint, x: Vec3) -> f32 {
    point.arrive(x).map_or(0.0, |a| a.factor)
}
