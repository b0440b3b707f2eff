//! What materials make of clusters: weights by compiled bounds of s over the directions to each, 8 clusters in a call.

use super::importance::Factors;
use crate::integrator::material_bound::{BoundError, BoundsAt, MaterialBounds};
use crate::light_tree::{Colours, Kind, Node};
use crate::material::Bound;
use crate::math::direction_box::Lanes;
use crate::math::{Vec3, Viewpoint, vec3};
use crate::sampling::luminance;
use crate::scene::BoundMode;

/// Kernels of all shaders of a scene.
#[derive(Debug)]
pub struct MaterialWeights {
    bounds: MaterialBounds,
}

/// What is reflected at a point.
#[derive(Clone, Copy, Debug)]
pub struct Lobe {
    /// The shader, as [`crate::material::Instance::shader`] counts.
    pub shader: u32,
    /// The point with its shading frame.
    pub view: Viewpoint,
    /// To the eye, [local](Viewpoint::local_direction), above the surface where the material has one side.
    pub wo: Vec3,
}

impl MaterialWeights {
    /// Compiles kernels.
    pub fn compile(shaders: &[Bound]) -> Result<MaterialWeights, BoundError> {
        Ok(MaterialWeights { bounds: MaterialBounds::compile(shaders, BoundMode::Related)? })
    }

    /// Whether the shader's lobe matters.
    pub fn asks(&self, _shader: u32) -> bool {
        true
    }

    /// For one thread.
    pub fn at(&self) -> WeightsAt<'_> {
        WeightsAt { bounds: BoundsAt::new(&self.bounds) }
    }
}

/// What one thread weighs with.
pub struct WeightsAt<'a> {
    bounds: BoundsAt<'a>,
}

impl WeightsAt<'_> {
    /// Goes to a point; `members` are the words of the members of `Material`.
    pub fn begin(&mut self, lobe: &Lobe, members: &[u32]) {
        self.bounds.begin_with(lobe.shader as usize, lobe.wo, members);
    }

    /// What is expected to be reflected of each child of a node; 0 where bounds prove that nothing is.
    pub fn weights(&mut self, lobe: &Lobe, kind: Kind, node: &Node, magnitude: &Colours, factors: &Factors) -> Lanes {
        let boxes = match kind {
            Kind::Directional => lobe.view.to_directions(&node.axis, &node.cos_angle),
            Kind::Omni | Kind::Oriented => lobe.view.to_positions(&node.lo, &node.hi),
        };
        let upper = self.bounds.bound(&boxes);
        std::array::from_fn(|k| {
            let colour = |of: &Colours| vec3(of[0][k], of[1][k], of[2][k]);
            let reflected = luminance(colour(&upper) * colour(magnitude));
            reflected * factors.arrival[k]
        })
    }
}
