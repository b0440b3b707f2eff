//! What materials make of clusters: what the lobe of a shader is expected to reflect of each, 8 clusters in a call.
//!
//! The mean of s over a cluster is that of s at four places in its box, plus a small share of an upper bound: of the compiled bounding shader's over
//! the directions to the box. Places miss lobes that are between them, which the bound does not; the bound alone is a poor probability
//! (Tokuyoshi et al. 2024), of clusters that are wider than the lobe above all. There, both are cut to what the solid angle can hold: since a
//! material reflects no more light than it gets, the mean of s over Ω sr is at most 1/Ω. Where the bound is 0, nothing is
//! expected. Narrow clusters, single lights among them, are known by s in their middle, and are not bounded.
//!
//! Of shaders whose BRDF does not depend on the direction to the light nothing is asked: the cosine says all.

use super::importance::{Factors, dot, in_colours, quad, root, splat};
use crate::integrator::ShadingCounts;
use crate::integrator::material_bound::{BoundError, BoundsAt, MaterialBounds};
use crate::light_tree::{Colours, Kind, Node, WIDTH};
use crate::material::Bound;
use crate::math::direction_box::Lanes;
use crate::math::{Vec3, Viewpoint};
use crate::scene::BoundMode;
use glam::Vec4;

/// What materials reflect of light from all around, at most, nearly all of them: by it, the mean of s over a solid angle is bounded, too.
const ALBEDO: f32 = 1.0;

/// Clusters that fill less, sr, are known by their middles; lobes are wider.
const NARROW: f32 = 1e-3;

/// The share of bounds in what is expected, for lobes that are between the places.
const UPPER: f32 = 0.03;

/// Where s is evaluated in wide clusters: four corners of a box half as wide.
const PLACES: [[f32; 3]; 4] = [[0.5, 0.5, 0.5], [0.5, -0.5, -0.5], [-0.5, 0.5, -0.5], [-0.5, -0.5, 0.5]];

/// Kernels of the shaders of a scene that have a lobe, that is, whose BRDF depends on the direction to the light.
#[derive(Debug)]
pub struct MaterialWeights {
    bounds: MaterialBounds,
    /// Of each shader of the scene, its number among those.
    numbers: Vec<Option<u32>>,
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
        let (mut lobes, mut numbers) = (Vec::new(), Vec::with_capacity(shaders.len()));
        for bound in shaders {
            let has_lobe = bound.program.depends_on_light()?;
            numbers.push(has_lobe.then_some(lobes.len() as u32));
            if has_lobe {
                lobes.push(bound.clone());
            }
        }
        Ok(MaterialWeights { bounds: MaterialBounds::compile(&lobes, BoundMode::Related)?, numbers })
    }

    /// Whether there is more to know of a shader than the cosine.
    pub fn asks(&self, shader: u32) -> bool {
        self.numbers[shader as usize].is_some()
    }

    /// For one thread.
    pub fn at(&self) -> WeightsAt<'_> {
        WeightsAt { bounds: BoundsAt::new(&self.bounds), numbers: &self.numbers }
    }
}

/// What one thread weighs with.
pub struct WeightsAt<'a> {
    bounds: BoundsAt<'a>,
    numbers: &'a [Option<u32>],
}

impl WeightsAt<'_> {
    /// Goes to a point; `members` are the words of the members of `Material`.
    ///
    /// *Panics* if the shader is not one that is asked.
    pub fn begin(&mut self, lobe: &Lobe, members: &[u32]) {
        let number = self.numbers[lobe.shader as usize].expect("shaders with lobes alone are asked");
        self.bounds.begin_with(number as usize, lobe.wo, members);
    }

    /// Evaluations so far; counting starts again.
    pub fn take_counts(&mut self) -> ShadingCounts {
        self.bounds.take_counts()
    }

    /// What is expected to be reflected of each child of a node, times its [arrival](Factors::arrival); 0 where bounds prove that nothing is.
    pub fn reflected(&mut self, lobe: &Lobe, kind: Kind, node: &Node, magnitude: &Colours, factors: &Factors) -> Lanes {
        let widest = factors.solid_angle.iter().fold(0.0, |a: f32, &b| a.max(b));
        if widest < NARROW {
            let s = self.bounds.evaluate_all(&lobe.directions(kind, node, [0.0; 3]));
            return each_four(|first| {
                let reflected =
                    in_colours(|channel| quad(&s[channel], first).max(Vec4::ZERO) * quad(&magnitude[channel], first));
                reflected.max(Vec4::splat(f32::MIN_POSITIVE))
            });
        }
        let boxes = match kind {
            Kind::Directional => lobe.view.to_directions(&node.axis, &node.cos_angle),
            Kind::Omni | Kind::Oriented => lobe.view.to_positions(&node.lo, &node.hi),
        };
        let upper = self.bounds.bound(&boxes);
        let s = PLACES.map(|place| self.bounds.evaluate_all(&lobe.directions(kind, node, place)));
        each_four(|first| {
            let (cosine, angle) = (quad(&factors.cosine, first), quad(&factors.solid_angle, first));
            let top = quad(&boxes.hi[2], first);
            let top = if lobe.both_sides { top.max(-quad(&boxes.lo[2], first)) } else { top };
            // Of the bound of s, what the bound of the BRDF gives for the mean cosine.
            let share = cosine / top.max(cosine).max(Vec4::splat(f32::MIN_POSITIVE));
            let most = ALBEDO / angle.max(Vec4::splat(NARROW));
            let mean = |channel: usize| {
                let sum: Vec4 = s.iter().map(|s| quad(&s[channel], first).max(Vec4::ZERO)).sum();
                let high = (quad(&upper[channel], first) * share).min(most);
                (1.0 - UPPER) * (sum / PLACES.len() as f32).min(most) + UPPER * high
            };
            let reflected = in_colours(|channel| mean(channel) * quad(&magnitude[channel], first));
            let any = quad(&upper[0], first) + quad(&upper[1], first) + quad(&upper[2], first);
            // What underflows may be all that there is.
            Vec4::select(any.cmpgt(Vec4::ZERO), reflected.max(Vec4::splat(f32::MIN_POSITIVE)), Vec4::ZERO)
        })
    }
}

impl Lobe {
    /// Directions to a place of each child of a node, [local](Viewpoint::local_direction), or up where there is none; the place is given by its
    /// distance from the middle of the child's box, or of the child's cone, in parts of half its size along each axis.
    fn directions(&self, kind: Kind, node: &Node, place: [f32; 3]) -> Colours {
        let mut directions = [[0.0; WIDTH]; 3];
        let (p, axes) = (splat(self.view.position()), self.view.axes().map(splat));
        for first in [0, 4] {
            let towards: [Vec4; 3] = match kind {
                Kind::Directional => {
                    let cos = quad(&node.cos_angle, first);
                    let sin = root((Vec4::ONE - cos * cos).max(Vec4::ZERO));
                    std::array::from_fn(|i| quad(&node.axis[i], first) + place[i] * sin)
                }
                Kind::Omni | Kind::Oriented => std::array::from_fn(|i| {
                    let (lo, hi) = (quad(&node.lo[i], first), quad(&node.hi[i], first));
                    0.5 * (lo + hi) + (0.5 * place[i]) * (hi - lo) - p[i]
                }),
            };
            let local = axes.map(|axis| dot(axis, towards));
            let length = root(dot(local, local));
            let is_known = length.cmpgt(Vec4::splat(SHORT)) & length.cmplt(Vec4::splat(LONG));
            for (i, up) in [0.0, 0.0, 1.0].into_iter().enumerate() {
                Vec4::select(is_known, local[i] / length, Vec4::splat(up)).write_to_slice(&mut directions[i][first..]);
            }
        }
        directions
    }
}

/// Lengths of vectors that have a direction in floats.
const SHORT: f32 = 1e-15;
const LONG: f32 = 1e15;

/// Numbers for eight clusters, four at a time.
#[inline(always)]
fn each_four(of: impl Fn(usize) -> Vec4) -> Lanes {
    let mut lanes = [0.0; WIDTH];
    [0, 4].into_iter().for_each(|first| of(first).write_to_slice(&mut lanes[first..]));
    lanes
}
