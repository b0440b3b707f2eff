//! What materials make of clusters: what the lobe of a shader is expected to reflect of each, up to
//! [`EIGHTS`] eights of directions in a call.
//!
//! What is expected of a cluster is the sum over its own children, each by s in its middle: the
//! tree knows best where lights are, and which of them are near. Of children that are wide, it is
//! the sum over theirs in turn, and so on. Against the mean of s over four places of the cluster's
//! box, times what arrives of the whole, this has 0.41 times the variance where many lights are
//! seen in rough metals; near the leaves, children are the lights themselves. Of a single light
//! that is wide, and of pieces of a sky, all of which are equally far, it is the mean over four
//! places.
//!
//! To that comes a small share of an upper bound: of the compiled bounding shader's over the
//! directions to the cluster. Places miss lobes that are between them, which the bound does not;
//! the bound alone is a poor probability (Tokuyoshi et al. 2024), of clusters that are wider than
//! the lobe above all. There, both are cut to what the solid angle can hold: since a material
//! reflects no more light than it gets, the mean of s over Ω sr is at most 1/Ω. Where the bound is
//! 0, nothing is expected. Narrow clusters, single lights among them, are known by s in their
//! middle; where there are no others to look at, nothing is bounded.
//!
//! Of shaders whose BRDF does not depend on the direction to the light nothing is asked: the cosine
//! says all.

use super::importance::{
    Eight, Factors, Place, center_and_half, dot, load, loads, luminance, splat, splats,
};
use crate::integrator::ShadingCounts;
use crate::integrator::material_bound::{BoundError, BoundsAt, EIGHTS, MaterialBounds};
use crate::light_tree::{Child, Colours, Kind, LightTree, Node, WIDTH};
use crate::material::Bound;
use crate::math::direction_box::{Lanes, greater};
use crate::math::{DirectionBoxes, Vec3, Viewpoint};
use crate::scene::BoundMode;
use fearless_simd::prelude::*;
use fearless_simd::{Level, Simd, dispatch};

/// What materials reflect of light from all around, at most, nearly all of them: by it, the mean of
/// s over a solid angle is bounded, too.
const ALBEDO: f32 = 1.0;

/// Clusters that fill less, sr, are known by their middles; lobes are wider.
const NARROW: f32 = 1e-3;

/// The share of bounds in what is expected, for lobes that are between the places.
const UPPER: f32 = 0.03;

/// Clusters that fill more, sr, are looked at by their children.
const WIDE: f32 = 1.0;

/// Where s is evaluated in wide lights and pieces of skies: four corners of a box half as wide.
const PLACES: [[f32; 3]; 4] =
    [[0.5, 0.5, 0.5], [0.5, -0.5, -0.5], [-0.5, 0.5, -0.5], [-0.5, -0.5, 0.5]];

/// There is room for the children of each child, and for the places of single lights and skies.
const _: () = assert!(WIDTH + PLACES.len() <= EIGHTS);

/// Kernels of the shaders of a scene that have a lobe, that is, whose BRDF depends on the direction
/// to the light.
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
    /// To the eye, [local](Viewpoint::local_direction), above the surface where the material has
    /// one side.
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
        Ok(MaterialWeights {
            bounds: MaterialBounds::compile(&lobes, BoundMode::Related)?,
            numbers,
        })
    }

    /// Whether there is more to know of a shader than the cosine.
    pub fn asks(&self, shader: u32) -> bool {
        self.numbers[shader as usize].is_some()
    }

    /// For one thread.
    pub fn at(&self) -> WeightsAt<'_> {
        WeightsAt { bounds: BoundsAt::new(&self.bounds), numbers: &self.numbers, looks: Vec::new() }
    }
}

/// What a tree is looked at by, from a point.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// What is reflected at the point.
    pub lobe: &'a Lobe,
    /// The point as far as geometry counts.
    pub place: &'a Place,
    /// The trees.
    pub tree: &'a LightTree,
    /// Which of them.
    pub kind: Kind,
}

/// What one thread weighs with.
pub struct WeightsAt<'a> {
    bounds: BoundsAt<'a>,
    numbers: &'a [Option<u32>],
    /// Where s is wanted, for the node at hand; before, those of the node that was weighed last.
    /// What a node weighs may depend on them, so all that weigh nodes at a point, to draw or to
    /// look up, go the same way: through all roots in their order, then down.
    looks: Vec<Look>,
}

/// Eight clusters that are looked at, in one place of each.
#[derive(Clone, Copy)]
struct Look {
    /// The node whose children they are.
    node: u32,
    /// The child whose own children they are, of that which is weighed; `None` if they are its
    /// children themselves.
    slot: Option<usize>,
    /// How much of each counts.
    share: Lanes,
    /// What arrives of each.
    factors: Factors,
    /// What is reflected of that, times the share.
    reflected: Lanes,
}

impl WeightsAt<'_> {
    /// Goes to a point; `members` are the words of the members of `Material`.
    ///
    /// *Panics* if the shader is not one that is asked.
    pub fn begin(&mut self, lobe: &Lobe, members: &[u32]) {
        let number =
            self.numbers[lobe.shader as usize].expect("shaders with lobes alone are asked");
        self.looks.clear();
        self.bounds.begin_with(number as usize, lobe.wo, members);
    }

    /// Evaluations so far; counting starts again.
    pub fn take_counts(&mut self) -> ShadingCounts {
        self.bounds.take_counts()
    }

    /// What is expected to be reflected of each child of a node, times its
    /// [arrival](Factors::arrival), which is of `factors`; 0 where bounds prove that nothing is.
    pub fn reflected(&mut self, view: View, index: u32, factors: &Factors) -> Lanes {
        let View { lobe, tree, kind, .. } = view;
        let is_known = |look: &&Look| {
            look.node == index && look.slot.is_some() && widest(&look.factors) < NARROW
        };
        if let Some(known) = self.looks.iter().find(is_known) {
            // Narrow children, single lights mostly, that the node above was weighed by.
            return known.reflected.map(|of_it| of_it.max(f32::MIN_POSITIVE));
        }
        dispatch!(Level::new(), simd => self.look(simd, view, index, factors));
        self.bounds.evaluate_eights(self.looks.len());
        let sums = dispatch!(Level::new(), simd => self.sum(simd, tree));
        if widest(factors) < NARROW || self.looks.iter().all(|look| widest(&look.factors) < NARROW)
        {
            return sums;
        }
        let node = tree.node(index);
        let boxes = match kind {
            Kind::Directional => lobe.view.to_directions(&node.axis, &node.cos_angle),
            Kind::Omni | Kind::Oriented => lobe.view.to_positions(&node.lo, &node.hi),
        };
        let upper = self.bounds.bound(&boxes);
        dispatch!(Level::new(), simd => with_bounds(simd, &sums, &upper, &boxes, lobe.both_sides, (tree.magnitude(index), factors)))
    }

    /// Goes through the places where s is wanted, and sets the directions to them.
    #[inline(always)]
    fn look<S: Simd>(&mut self, simd: S, view: View, index: u32, factors: &Factors) {
        let View { lobe, tree, kind, .. } = view;
        self.looks.clear();
        let node = tree.node(index);
        // What is far away is as near in all its places.
        let is_deep = kind != Kind::Directional && widest(factors) >= NARROW;
        let mut itself = [0.0; WIDTH];
        for (slot, of_it) in itself.iter_mut().enumerate() {
            match node.child(slot) {
                Child::Node(below) if is_deep => self.push(simd, view, below, Some(slot)),
                Child::None => break,
                _ => *of_it = 1.0,
            }
        }
        self.open(simd, view);
        if itself == [0.0; WIDTH] {
            return;
        }
        let mut is_wide = false;
        for (of_it, angle) in std::iter::zip(itself, factors.solid_angle) {
            is_wide |= of_it > 0.0 && angle >= NARROW;
        }
        let places = if is_wide { &PLACES[..] } else { &[[0.0; 3]] };
        let mut share = itself;
        share.iter_mut().for_each(|share| *share /= places.len() as f32);
        for &at in places {
            self.bounds.set_eight(self.looks.len(), &lobe.directions(simd, kind, node, at));
            self.looks.push(Look {
                node: index,
                slot: None,
                share,
                factors: *factors,
                reflected: [0.0; WIDTH],
            });
        }
    }

    /// Looks at the children of what is wide instead, as long as there is room.
    #[inline(always)]
    fn open<S: Simd>(&mut self, simd: S, view: View) {
        let mut number = 0;
        while number < self.looks.len() {
            let Look { node, slot, factors, .. } = self.looks[number];
            number += 1;
            if widest(&factors) < WIDE {
                continue;
            }
            for (lane, angle) in factors.solid_angle.into_iter().enumerate() {
                if angle < WIDE
                    || factors.cosine[lane] == 0.0
                    || self.looks.len() >= EIGHTS - PLACES.len()
                {
                    continue;
                }
                if let Child::Node(below) = view.tree.node(node).child(lane) {
                    self.looks[number - 1].share[lane] = 0.0;
                    self.push(simd, view, below, slot);
                }
            }
        }
    }

    /// Looks at the children of a node that is below a slot.
    #[inline(always)]
    fn push<S: Simd>(&mut self, simd: S, view: View, index: u32, slot: Option<usize>) {
        let View { lobe, place, tree, kind } = view;
        let node = tree.node(index);
        self.bounds.set_eight(self.looks.len(), &lobe.directions(simd, kind, node, [0.0; 3]));
        let factors = place.factors(simd, kind, node);
        self.looks.push(Look {
            node: index,
            slot,
            share: [1.0; WIDTH],
            factors,
            reflected: [0.0; WIDTH],
        });
    }

    /// For each child, the sum over what is seen of it: positive.
    #[inline(always)]
    fn sum<S: Simd>(&mut self, simd: S, tree: &LightTree) -> Lanes {
        let (zero, mut own, mut sums) = (splat(simd, 0.0), splat(simd, 0.0), [0.0; WIDTH]);
        for (number, look) in self.looks.iter_mut().enumerate() {
            let s = loads(simd, &self.bounds.eight(number));
            let magnitude = loads(simd, tree.magnitude(look.node));
            let most = ALBEDO / load(simd, &look.factors.solid_angle).max(splat(simd, NARROW));
            let mut colour = magnitude;
            for channel in 0..3 {
                // NaN is not positive.
                let known = s[channel].simd_gt(zero).select(s[channel], zero);
                colour[channel] = known.min(most) * magnitude[channel];
            }
            let share = load(simd, &look.share);
            let arrival = load(simd, &look.factors.arrival);
            let reflected = luminance(colour) * arrival * share;
            // What does not count may be infinite, or no number.
            let counts = load(simd, &look.factors.cosine).simd_gt(zero)
                & arrival.simd_gt(zero)
                & share.simd_gt(zero);
            let reflected = counts.select(reflected, zero);
            look.reflected = reflected.to_array();
            match look.slot {
                Some(slot) => sums[slot] += total(&look.reflected),
                None => own += reflected,
            }
        }
        (load(simd, &sums) + own).max(splat(simd, f32::MIN_POSITIVE)).to_array()
    }
}

/// The sums with a share of the bounds, and 0 where these are.
#[inline(always)]
fn with_bounds<S: Simd>(
    simd: S,
    sums: &Lanes,
    upper: &Colours,
    boxes: &DirectionBoxes,
    both_sides: bool,
    (magnitude, factors): (&Colours, &Factors),
) -> Lanes {
    let (zero, least) = (splat(simd, 0.0), splat(simd, f32::MIN_POSITIVE));
    let (cosine, angle) = (load(simd, &factors.cosine), load(simd, &factors.solid_angle));
    let top = load(simd, &boxes.hi[2]);
    let top = if both_sides { top.max(-load(simd, &boxes.lo[2])) } else { top };
    // Of the bound of s, what the bound of the BRDF gives for the mean cosine.
    let share = cosine / top.max(cosine).max(least);
    let most = ALBEDO / angle.max(splat(simd, NARROW));
    let (upper, magnitude) = (loads(simd, upper), loads(simd, magnitude));
    let mut colour = magnitude;
    for channel in 0..3 {
        colour[channel] = (upper[channel] * share).min(most) * magnitude[channel];
    }
    let high = luminance(colour) * load(simd, &factors.arrival);
    // It may be infinite times 0.
    let high = high.simd_gt(zero).select(high, zero);
    let reflected = (1.0 - UPPER) * load(simd, sums) + UPPER * high;
    let any = upper[0] + upper[1] + upper[2];
    // What underflows may be all that there is.
    any.simd_gt(zero).select(reflected.max(least), zero).to_array()
}

/// Sum of all lanes, in an order that is the same everywhere.
#[inline(always)]
fn total([a, b, c, d, e, f, g, h]: &Lanes) -> f32 {
    ((a + e) + (c + g)) + ((b + f) + (d + h))
}

/// The greatest solid angle of the children of a node, sr.
#[inline(always)]
fn widest(factors: &Factors) -> f32 {
    let [a, b, c, d, e, f, g, h] = factors.solid_angle;
    greater(greater(greater(a, e), greater(c, g)), greater(greater(b, f), greater(d, h)))
}

impl Lobe {
    /// Directions to a place of each child of a node, [local](Viewpoint::local_direction), or up
    /// where there is none; the place is given by its distance from the middle of the child's box,
    /// or of the child's cone, in parts of half its size along each axis.
    #[inline(always)]
    fn directions<S: Simd>(&self, simd: S, kind: Kind, node: &Node, place: [f32; 3]) -> Colours {
        let towards: [Eight<S>; 3] = match kind {
            Kind::Directional => {
                let (axis, cos) = (loads(simd, &node.axis), load(simd, &node.cos_angle));
                let sin = (1.0 - cos * cos).max(splat(simd, 0.0)).sqrt();
                [axis[0] + place[0] * sin, axis[1] + place[1] * sin, axis[2] + place[2] * sin]
            }
            Kind::Omni | Kind::Oriented => {
                let (center, half) = center_and_half(simd, node, self.view.position());
                [
                    center[0] + place[0] * half[0],
                    center[1] + place[1] * half[1],
                    center[2] + place[2] * half[2],
                ]
            }
        };
        let [x, y, z] = self.view.axes();
        let local = [
            dot(splats(simd, x), towards),
            dot(splats(simd, y), towards),
            dot(splats(simd, z), towards),
        ];
        let length = dot(local, local).sqrt();
        let is_known = length.simd_gt(splat(simd, SHORT)) & length.simd_lt(splat(simd, LONG));
        let zero = splat(simd, 0.0);
        [
            is_known.select(local[0] / length, zero).to_array(),
            is_known.select(local[1] / length, zero).to_array(),
            is_known.select(local[2] / length, splat(simd, 1.0)).to_array(),
        ]
    }
}

/// Lengths of vectors that have a direction in floats.
const SHORT: f32 = 1e-15;
const LONG: f32 = 1e15;
