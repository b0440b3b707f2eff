//! What materials make of clusters: weights by compiled bounds of s over the directions to each, 8 clusters in a call.

use super::importance::Factors;
use crate::integrator::material_bound::{BoundError, BoundsAt, MaterialBounds};
use crate::light_tree::{Colours, Kind, Node, WIDTH};
use crate::material::Bound;
use crate::math::direction_box::{Lanes, greater, lesser};
use crate::math::{DirectionBoxes, Vec3, Viewpoint, vec3};
use crate::sampling::luminance;
use crate::scene::BoundMode;

/// What materials reflect of light from all around, at most, nearly all of them.
const ALBEDO: f32 = 1.0;

/// Solid angles count as at least that much, sr.
const NARROW: f32 = 1e-5;

/// Kernels of all shaders of a scene.
#[derive(Debug)]
pub struct MaterialWeights {
    bounds: MaterialBounds,
    /// Whether each shader has a lobe, that is, whether its BRDF depends on the direction to the light.
    has_lobe: Vec<bool>,
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
    /// Whether light from the other side counts as well.
    pub both_sides: bool,
}

impl MaterialWeights {
    /// Compiles kernels.
    pub fn compile(shaders: &[Bound]) -> Result<MaterialWeights, BoundError> {
        let has_lobe = shaders.iter().map(|bound| bound.program.depends_on_light()).collect::<Result<_, _>>()?;
        Ok(MaterialWeights { bounds: MaterialBounds::compile(shaders, BoundMode::Related)?, has_lobe })
    }

    /// Whether there is more to know of a shader than the cosine.
    pub fn asks(&self, shader: u32) -> bool {
        self.has_lobe[shader as usize]
    }

    /// The bounds.
    #[cfg(test)]
    pub fn bounds(&self) -> &MaterialBounds {
        &self.bounds
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

    /// What is expected to be reflected of each child of a node, times its [arrival](Factors::arrival); 0 where bounds prove that nothing is.
    pub fn reflected(&mut self, lobe: &Lobe, kind: Kind, node: &Node, magnitude: &Colours, factors: &Factors) -> Lanes {
        let boxes = match kind {
            Kind::Directional => lobe.view.to_directions(&node.axis, &node.cos_angle),
            Kind::Omni | Kind::Oriented => lobe.view.to_positions(&node.lo, &node.hi),
        };
        let upper = self.bounds.bound(&boxes);
        let middle = self.bounds.evaluate(&directions(lobe, kind, node));
        std::array::from_fn(|k| {
            let colour = |of: &Colours| vec3(of[0][k], of[1][k], of[2][k]);
            let upper = colour(&upper);
            // What underflows may be all that there is.
            if upper == Vec3::ZERO {
                0.0
            } else {
                greater(luminance(mean(lobe, &boxes, factors, k, upper, middle[k]) * colour(magnitude)), f32::MIN_POSITIVE)
            }
        })
    }
}

/// Directions to the middles of clusters, [local](Viewpoint::local_direction).
fn directions(lobe: &Lobe, kind: Kind, node: &Node) -> [Vec3; WIDTH] {
    std::array::from_fn(|k| {
        let towards = match kind {
            Kind::Directional => vec3(node.axis[0][k], node.axis[1][k], node.axis[2][k]),
            Kind::Omni | Kind::Oriented => lobe.view.to(node.bounds(k).center()),
        };
        let wi = lobe.view.local_direction(towards);
        if wi.is_finite() { wi } else { Vec3::Z }
    })
}

/// The mean of s over a cluster, about.
fn mean(lobe: &Lobe, boxes: &DirectionBoxes, factors: &Factors, k: usize, upper: Vec3, middle: Vec3) -> Vec3 {
    let highest = if lobe.both_sides { greater(boxes.hi[2][k], -boxes.lo[2][k]) } else { boxes.hi[2][k] };
    let below = upper * lesser(factors.cosine[k] / highest, 1.0);
    let most = ALBEDO / greater(factors.solid_angle[k], NARROW);
    let held = below.max_element() / most;
    let wide = lesser(greater(held, *A), 1.0) * *B;
    let middle = if middle.is_finite() { middle.min(upper) } else { Vec3::ZERO };
    middle * (1.0 - wide) + below.min(Vec3::splat(most)) * wide
}
static A: std::sync::LazyLock<f32> = std::sync::LazyLock::new(|| std::env::var("TA").map_or(0.02, |x| x.parse().unwrap()));
static B: std::sync::LazyLock<f32> = std::sync::LazyLock::new(|| std::env::var("TB").map_or(1.0, |x| x.parse().unwrap()));
