//! Material weights of clusters: estimates of the light of a cluster that a shader's lobe reflects.
//! One kernel call evaluates up to [`MAX_GROUPS`] groups of directions.
//!
//! The estimate for a cluster is a sum over its children, with s = BSDF × cosine evaluated at the
//! centre of each child, since the tree adapts to the positions of the lights. Wide children are
//! replaced by their own children in turn. Compared with the mean of s over four positions in the
//! cluster's box, times the irradiance of the entire cluster, this has 0.41 times the variance for
//! rough metals under many lights. Near the leaves, children are the lights themselves. Wide single
//! lights and all blocks of environment maps, which are infinitely far away, use the mean over four
//! positions.
//!
//! The weight includes a small fraction of an upper bound, which a compiled bounding shader
//! computes over all directions to the cluster. Point evaluations miss lobes between their
//! positions; the bound does not. The bound alone is a poor probability (Tokuyoshi et al. 2024),
//! above all for clusters that are wider than the lobe. Both are clamped by the solid angle: a
//! material reflects no more light than it receives, so the mean of s over Ω sr is at most 1/Ω. If
//! the bound is 0, the weight is 0. Narrow clusters, including most single lights, are represented
//! by s at their centre. If all children are narrow, no bound is computed.
//!
//! If a shader's BRDF does not depend on the direction to the light, the shader has no lobe, and
//! geometric weights suffice.

use super::importance::{
    GeometricFactors, ReceiverPoint, WideFloat, center_and_half, dot, load, load3, luminance,
    splat, splat3,
};
use crate::integrator::ShadingCounts;
use crate::integrator::material_bound::{BoundError, BoundEvaluator, MAX_GROUPS, MaterialBounds};
use crate::light_tree::{Child, LightKind, LightTree, Node, RgbLanes, WIDTH};
use crate::material::ShaderBinding;
use crate::settings::BoundMode;
use fearless_simd::prelude::*;
use fearless_simd::{Simd, dispatch};
use lightbound_math::direction_box::{Lanes, greater};
use lightbound_math::{DirectionBoxes, Vec3, Viewpoint, simd_level};

/// Maximum albedo of nearly all materials. It limits the mean of s over a solid angle.
const MAX_ALBEDO: f32 = 1.0;

/// Solid angle, sr, below which a cluster is represented by its centre. Lobes are wider.
const NARROW_SOLID_ANGLE: f32 = 1e-3;

/// Fraction of the upper bound in the weight, for lobes between the sampled positions.
const BOUND_FRACTION: f32 = 0.03;

/// Solid angle, sr, above which a cluster is replaced by its children.
const WIDE_SOLID_ANGLE: f32 = 1.0;

/// Positions for evaluating s in wide lights and environment blocks, relative to their box: four
/// corners of a box of half the size.
const POSITIONS: [[f32; 3]; 4] =
    [[0.5, 0.5, 0.5], [0.5, -0.5, -0.5], [-0.5, 0.5, -0.5], [-0.5, -0.5, 0.5]];

// The children of all children fit, as do the positions of single lights and environment blocks.
const _: () = assert!(WIDTH + POSITIONS.len() <= MAX_GROUPS);

/// Kernels of the shaders with a lobe.
#[derive(Debug)]
pub struct MaterialWeights {
    bounds: MaterialBounds,
    /// For each shader of the scene, its index in `bounds` if it has a lobe.
    indices: Vec<Option<u32>>,
}

/// The lobe at a shading point: of a BSDF, or of a phase function.
#[derive(Clone, Copy, Debug)]
pub struct Lobe {
    /// The shader, as in [`crate::material::ShaderInstance::shader`].
    pub shader: u32,
    /// The shading point with its frame.
    pub view: Viewpoint,
    /// Outgoing [local](Viewpoint::local_direction) direction, above the surface if the material is
    /// one-sided.
    pub wo: Vec3,
    /// Whether light from below the surface is scattered as well.
    pub both_sides: bool,
}

impl MaterialWeights {
    /// Compiles the kernels of all shaders with a lobe.
    pub fn compile(shaders: &[ShaderBinding]) -> Result<MaterialWeights, BoundError> {
        let (mut lobes, mut indices) = (Vec::new(), Vec::with_capacity(shaders.len()));
        for binding in shaders {
            let has_lobe = binding.program.depends_on_wi()?;
            indices.push(has_lobe.then_some(lobes.len() as u32));
            if has_lobe {
                lobes.push(binding.clone());
            }
        }
        Ok(MaterialWeights {
            bounds: MaterialBounds::compile(&lobes, BoundMode::Related)?,
            indices,
        })
    }

    /// Returns whether any shader has a lobe.
    pub fn has_lobes(&self) -> bool {
        self.indices.iter().any(Option::is_some)
    }

    /// Creates the evaluator of one thread.
    pub fn evaluator(&self) -> WeightEvaluator<'_> {
        WeightEvaluator { bounds: BoundEvaluator::new(&self.bounds), indices: &self.indices }
    }
}

/// A shading point, and the tree with the nodes to weight.
#[derive(Clone, Copy)]
pub struct NodeContext<'a> {
    /// The lobe at the shading point.
    pub lobe: &'a Lobe,
    /// Geometry of the shading point.
    pub point: &'a ReceiverPoint,
    /// The trees.
    pub tree: &'a LightTree,
    /// Kind of the lights in the tree.
    pub kind: LightKind,
}

/// Evaluates material weights on one thread, for one shading point after another.
pub struct WeightEvaluator<'a> {
    bounds: BoundEvaluator<'a>,
    indices: &'a [Option<u32>],
}

/// The probes of a node. If a narrow child of the node is weighted next, its probes are reused. The
/// result is the same without reuse.
#[derive(Default)]
pub struct Probes(Vec<ProbeGroup>);

impl Probes {
    /// Removes the probes. Required before weighting a node, unless its parent was weighted last.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Returns the reflected light of the children of a narrow node, if the probes of its parent
    /// include them.
    fn reflected(&self, index: u32) -> Option<Lanes> {
        let is_reusable = |probe: &&ProbeGroup| {
            probe.node == index
                && probe.slot.is_some()
                && max_solid_angle(&probe.factors) < NARROW_SOLID_ANGLE
        };
        let probe = self.0.iter().find(is_reusable)?;
        Some(probe.reflected.map(|x| x.max(f32::MIN_POSITIVE)))
    }
}

/// Sibling clusters, with s evaluated at one position in each.
#[derive(Clone, Copy)]
struct ProbeGroup {
    /// The parent of the clusters.
    node: u32,
    /// The child of the weighted node that contains them; `None` if they are its own children.
    slot: Option<usize>,
    /// Weight of each cluster in the sum.
    fraction: Lanes,
    factors: GeometricFactors,
    /// Reflected light of each cluster, times the fraction.
    reflected: Lanes,
}

impl WeightEvaluator<'_> {
    /// Returns whether a shader has a lobe.
    pub fn has_lobe(&self, shader: u32) -> bool {
        self.indices[shader as usize].is_some()
    }

    /// Sets the shading point. `parameters` are the words of its material parameters.
    ///
    /// # Panics
    /// If the shader has no lobe.
    pub fn begin(&mut self, lobe: &Lobe, parameters: &[u32]) {
        let index = self.indices[lobe.shader as usize].expect("the shader has a lobe");
        self.bounds.begin_with_parameters(index as usize, lobe.wo, parameters);
    }

    /// Returns and resets the counts of shader evaluations.
    pub fn take_counts(&mut self) -> ShadingCounts {
        self.bounds.take_counts()
    }

    /// Estimates the light of each child of a node that the lobe reflects, including the child's
    /// [irradiance](GeometricFactors::irradiance). 0 if bounds prove that no light is reflected.
    /// `factors` are the geometric factors of the children. `probes` are the probes of the parent,
    /// or empty; the node's probes replace them.
    pub fn reflected(
        &mut self,
        context: NodeContext,
        index: u32,
        factors: &GeometricFactors,
        probes: &mut Probes,
    ) -> Lanes {
        let NodeContext { lobe, tree, kind, .. } = context;
        if let Some(reflected) = probes.reflected(index) {
            return reflected;
        }
        let Probes(probes) = probes;
        dispatch!(simd_level(), simd => self.place_probes(simd, context, index, factors, probes));
        self.bounds.evaluate_groups(probes.len());
        let sums = dispatch!(simd_level(), simd => self.sum(simd, tree, probes));
        if max_solid_angle(factors) < NARROW_SOLID_ANGLE
            || probes.iter().all(|probe| max_solid_angle(&probe.factors) < NARROW_SOLID_ANGLE)
        {
            return sums;
        }
        let node = &*tree.node(index);
        let boxes = match kind {
            LightKind::Directional => lobe.view.to_directions(&node.axis, &node.cos_angle),
            LightKind::Omni | LightKind::Oriented | LightKind::Virtual { .. } => {
                lobe.view.to_positions(&node.lo, &node.hi)
            }
        };
        let upper = self.bounds.bound(&boxes);
        let weights = (&*tree.magnitude(index), factors);
        let both_sides = lobe.both_sides;
        dispatch!(
            simd_level(),
            simd => with_bounds(simd, &sums, &upper, &boxes, both_sides, weights)
        )
    }

    /// Selects the positions for evaluating s, and sets the directions to them.
    #[inline(always)]
    fn place_probes<S: Simd>(
        &mut self,
        simd: S,
        context: NodeContext,
        index: u32,
        factors: &GeometricFactors,
        probes: &mut Vec<ProbeGroup>,
    ) {
        let NodeContext { lobe, tree, kind, .. } = context;
        probes.clear();
        let node = &*tree.node(index);
        // The irradiance of directional clusters does not depend on the position, and the
        // irradiance of narrow clusters is nearly constant.
        let descends =
            kind != LightKind::Directional && max_solid_angle(factors) >= NARROW_SOLID_ANGLE;
        // 1 for children that are evaluated themselves rather than their children.
        let mut fraction = [0.0; WIDTH];
        for (slot, fraction) in fraction.iter_mut().enumerate() {
            match node.child(slot) {
                Child::Node(child) if descends => {
                    self.push(simd, context, (child, Some(slot)), probes)
                }
                Child::None => break,
                _ => *fraction = 1.0,
            }
        }
        self.subdivide(simd, context, probes);
        if fraction == [0.0; WIDTH] {
            return;
        }
        let mut is_wide = false;
        for (fraction, angle) in std::iter::zip(fraction, factors.solid_angle) {
            is_wide |= fraction > 0.0 && angle >= NARROW_SOLID_ANGLE;
        }
        let positions = if is_wide { &POSITIONS[..] } else { &[[0.0; 3]] };
        fraction.iter_mut().for_each(|fraction| *fraction /= positions.len() as f32);
        for &position in positions {
            self.bounds.set_group(probes.len(), &lobe.directions(simd, kind, node, position));
            probes.push(ProbeGroup {
                node: index,
                slot: None,
                fraction,
                factors: *factors,
                reflected: [0.0; WIDTH],
            });
        }
    }

    /// Replaces wide clusters by their children, as long as there are free groups.
    #[inline(always)]
    fn subdivide<S: Simd>(&mut self, simd: S, context: NodeContext, probes: &mut Vec<ProbeGroup>) {
        let mut index = 0;
        while index < probes.len() {
            let ProbeGroup { node, slot, factors, .. } = probes[index];
            index += 1;
            if max_solid_angle(&factors) < WIDE_SOLID_ANGLE {
                continue;
            }
            for (lane, angle) in factors.solid_angle.into_iter().enumerate() {
                if angle < WIDE_SOLID_ANGLE
                    || factors.cosine[lane] == 0.0
                    || probes.len() >= MAX_GROUPS - POSITIONS.len()
                {
                    continue;
                }
                if let Child::Node(child) = context.tree.node(node).child(lane) {
                    probes[index - 1].fraction[lane] = 0.0;
                    self.push(simd, context, (child, slot), probes);
                }
            }
        }
    }

    /// Adds probes at the centres of the children of a node. `slot` is as in [`ProbeGroup::slot`].
    #[inline(always)]
    fn push<S: Simd>(
        &mut self,
        simd: S,
        context: NodeContext,
        (index, slot): (u32, Option<usize>),
        probes: &mut Vec<ProbeGroup>,
    ) {
        let NodeContext { lobe, point, tree, kind } = context;
        let node = &*tree.node(index);
        self.bounds.set_group(probes.len(), &lobe.directions(simd, kind, node, [0.0; 3]));
        let factors = point.factors(simd, kind, node);
        probes.push(ProbeGroup {
            node: index,
            slot,
            fraction: [1.0; WIDTH],
            factors,
            reflected: [0.0; WIDTH],
        });
    }

    /// Returns the sum over the probes in each child, clamped to positive values.
    #[inline(always)]
    fn sum<S: Simd>(&mut self, simd: S, tree: &LightTree, probes: &mut [ProbeGroup]) -> Lanes {
        let zero = splat(simd, 0.0);
        // Sums over probes of the children themselves, and over probes of their descendants.
        let (mut direct_sums, mut sums) = (zero, [0.0; WIDTH]);
        for (group, probe) in probes.iter_mut().enumerate() {
            let s = load3(simd, &self.bounds.group(group));
            let magnitude = load3(simd, &tree.magnitude(probe.node));
            let max_s = MAX_ALBEDO
                / load(simd, &probe.factors.solid_angle).max(splat(simd, NARROW_SOLID_ANGLE));
            let mut color = magnitude;
            for channel in 0..3 {
                // NaN becomes 0.
                let s = s[channel].simd_gt(zero).select(s[channel], zero);
                color[channel] = s.min(max_s) * magnitude[channel];
            }
            let fraction = load(simd, &probe.fraction);
            let irradiance = load(simd, &probe.factors.irradiance);
            let reflected = luminance(color) * irradiance * fraction;
            // Products with a factor of 0 may be NaN.
            let is_valid = load(simd, &probe.factors.cosine).simd_gt(zero)
                & irradiance.simd_gt(zero)
                & fraction.simd_gt(zero);
            let reflected = is_valid.select(reflected, zero);
            probe.reflected = reflected.to_array();
            match probe.slot {
                Some(slot) => sums[slot] += horizontal_sum(&probe.reflected),
                None => direct_sums += reflected,
            }
        }
        (load(simd, &sums) + direct_sums).max(splat(simd, f32::MIN_POSITIVE)).to_array()
    }
}

/// Mixes a fraction of the upper bounds into the sums. The result is 0 if the bound is 0.
#[inline(always)]
fn with_bounds<S: Simd>(
    simd: S,
    sums: &Lanes,
    upper: &RgbLanes,
    boxes: &DirectionBoxes,
    both_sides: bool,
    (magnitude, factors): (&RgbLanes, &GeometricFactors),
) -> Lanes {
    let (zero, tiny) = (splat(simd, 0.0), splat(simd, f32::MIN_POSITIVE));
    let (cosine, angle) = (load(simd, &factors.cosine), load(simd, &factors.solid_angle));
    let max_cosine = load(simd, &boxes.hi[2]);
    let max_cosine =
        if both_sides { max_cosine.max(-load(simd, &boxes.lo[2])) } else { max_cosine };
    // The bound on s includes the greatest cosine; it is scaled to the mean cosine.
    let scale = cosine / max_cosine.max(cosine).max(tiny);
    let max_s = MAX_ALBEDO / angle.max(splat(simd, NARROW_SOLID_ANGLE));
    let (upper, magnitude) = (load3(simd, upper), load3(simd, magnitude));
    let mut color = magnitude;
    for channel in 0..3 {
        color[channel] = (upper[channel] * scale).min(max_s) * magnitude[channel];
    }
    let bound = luminance(color) * load(simd, &factors.irradiance);
    // ∞ · 0 becomes 0.
    let bound = bound.simd_gt(zero).select(bound, zero);
    let reflected = (1.0 - BOUND_FRACTION) * load(simd, sums) + BOUND_FRACTION * bound;
    let upper_sum = upper[0] + upper[1] + upper[2];
    // Weights that underflow are clamped, since all weights may underflow.
    upper_sum.simd_gt(zero).select(reflected.max(tiny), zero).to_array()
}

/// Returns the sum of all lanes, in the same order on every target.
#[inline(always)]
fn horizontal_sum([a, b, c, d, e, f, g, h]: &Lanes) -> f32 {
    ((a + e) + (c + g)) + ((b + f) + (d + h))
}

/// Returns the greatest solid angle of the children of a node, sr.
#[inline(always)]
fn max_solid_angle(factors: &GeometricFactors) -> f32 {
    let [a, b, c, d, e, f, g, h] = factors.solid_angle;
    greater(greater(greater(a, e), greater(c, g)), greater(greater(b, f), greater(d, h)))
}

/// Returns the [local](Viewpoint::local_direction) direction to the centre of each child of a node,
/// or +z if it is undefined.
pub fn center_directions(view: &Viewpoint, kind: LightKind, node: &Node) -> [Lanes; 3] {
    dispatch!(simd_level(), simd => local_directions(simd, view, kind, node, [0.0; 3]))
}

impl Lobe {
    /// See [`local_directions`].
    #[inline(always)]
    fn directions<S: Simd>(
        &self,
        simd: S,
        kind: LightKind,
        node: &Node,
        position: [f32; 3],
    ) -> [Lanes; 3] {
        local_directions(simd, &self.view, kind, node, position)
    }
}

/// Returns the [local](Viewpoint::local_direction) direction to a position in each child of a node,
/// or +z if it is undefined. `position` is relative to the centre of the child's box or cone, in
/// units of its half size along each axis.
#[inline(always)]
fn local_directions<S: Simd>(
    simd: S,
    view: &Viewpoint,
    kind: LightKind,
    node: &Node,
    position: [f32; 3],
) -> [Lanes; 3] {
    let direction: [WideFloat<S>; 3] = match kind {
        LightKind::Directional => {
            let (axis, cos) = (load3(simd, &node.axis), load(simd, &node.cos_angle));
            let sin = (1.0 - cos * cos).max(splat(simd, 0.0)).sqrt();
            [axis[0] + position[0] * sin, axis[1] + position[1] * sin, axis[2] + position[2] * sin]
        }
        LightKind::Omni | LightKind::Oriented | LightKind::Virtual { .. } => {
            let (center, half) = center_and_half(simd, node, view.position());
            [
                center[0] + position[0] * half[0],
                center[1] + position[1] * half[1],
                center[2] + position[2] * half[2],
            ]
        }
    };
    let [x, y, z] = view.axes();
    let local = [
        dot(splat3(simd, x), direction),
        dot(splat3(simd, y), direction),
        dot(splat3(simd, z), direction),
    ];
    let length = dot(local, local).sqrt();
    let is_valid =
        length.simd_gt(splat(simd, MIN_LENGTH)) & length.simd_lt(splat(simd, MAX_LENGTH));
    let zero = splat(simd, 0.0);
    [
        is_valid.select(local[0] / length, zero).to_array(),
        is_valid.select(local[1] / length, zero).to_array(),
        is_valid.select(local[2] / length, splat(simd, 1.0)).to_array(),
    ]
}

/// Range of lengths of vectors that can be normalized in floats.
const MIN_LENGTH: f32 = 1e-15;
const MAX_LENGTH: f32 = 1e15;
