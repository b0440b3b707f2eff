//! Light selection of the path tracer: next-event estimation samples one light, or one part of a
//! light, with a known probability.
//!
//! - `uniform` and `power` select from one alias table, independently of the shading point.
//! - `tree` descends light trees ([`LightTree`](crate::light_tree::LightTree)). It selects clusters
//!   by their expected irradiance at the point ([`importance`]), and ignores the material.
//! - `material-tree` includes the material ([`material`]): s = BSDF × cosine at the centres of the
//!   clusters below each child, and compiled bounds on s over the directions to the child.
//! - `auto` is `power` if light sampling covers only one emitter. One emitter is one light, or one
//!   shape of two elements, such as a rectangle of two triangles. For one emitter, a tree gains
//!   little or nothing, and takes a fifth to a half of the time. Otherwise, it is `tree`. With many
//!   lights, training may choose `material-tree`.
//!
//! Points in media receive light from all directions alike. Their lobe is the phase function.
//!
//! **Exact probabilities.** [`LightPicker::pick`] multiplies the probabilities of its choices along
//! the path to a leaf. [`LightPicker::area_light_pdf`] and [`LightPicker::environment_pdf`] find
//! the leaf of the light that a ray hits and follow the same path with the same weights, so
//! multiple importance sampling uses the exact density of the sample. A leaf is a point light, a
//! spot light, a distant light, one side of a surface element, or a block of an environment map.
//! The light itself then samples a position on the leaf. Blocks are sampled like the entire map.
//!
//! Environments are weighted by their [sampled radiance](Environment::sampled_radiance) only.

mod forest;
mod importance;
mod material;

pub use self::importance::{ReceiverDomain, ReceiverPoint};
pub use self::material::{Lobe, center_directions};

use self::forest::{Forest, Slot};
use self::importance::clamp_weight;
use self::material::{MaterialWeights, NodeContext, Probes};
use super::{LightTreeStats, ShadingCounts};
use crate::integrator::IntegratorError;
use crate::light::{AnyLight, AreaLight, Environment, Light, LightSample, Lights};
use crate::light_tree::{Child, LightKind, WIDTH};
use crate::scene::Scene;
use crate::settings::LightSampling;
use lightbound_math::direction_box::Lanes;
use lightbound_math::sampling::{AliasTable, PiecewisePart};
use lightbound_math::{Ray, Vec2, Vec3};
use std::time::Instant;

/// Light selection of a scene, shared by all threads.
#[derive(Debug)]
pub struct LightSampler(LightSelection);

#[derive(Debug)]
enum LightSelection {
    /// Fixed probabilities, by power or uniform; `None` if no light emits.
    Power(Option<AliasTable>),
    /// Probabilities from light trees.
    Bvh(Box<BvhSelection>),
}

#[derive(Debug)]
struct BvhSelection {
    forest: Forest,
    stats: LightTreeStats,
    /// Material weights, for `material-tree`.
    materials: Option<MaterialWeights>,
    /// Material weights that are used if training finds that they pay, for `auto`.
    optional_materials: Option<MaterialWeights>,
}

/// Minimum number of lights for which `auto` considers material weights. With fewer lights, they
/// rarely pay. Each triangle of an emitter is a light.
const MANY_LIGHTS: usize = 32;

/// A shading point for which a light is selected.
#[derive(Clone, Copy, Debug)]
pub struct Receiver {
    /// Position and normal.
    pub point: ReceiverPoint,
    /// The BSDF lobe, if [`LightPicker::uses_lobe`].
    pub lobe: Option<Lobe>,
}

impl LightSampler {
    /// Creates the light selection of a scene.
    ///
    /// # Errors
    /// If the strategy requires bounds on a material that cannot be compiled.
    pub fn new(scene: &Scene, strategy: LightSampling) -> Result<LightSampler, IntegratorError> {
        let lights = &scene.lights;
        let power =
            || LightSelection::Power(AliasTable::new(&lights.sampled_powers().collect::<Vec<_>>()));
        let bvh = |materials| {
            let started = Instant::now();
            let forest = Forest::build(lights, scene.accel.bounds());
            if forest.tree.points().len() < 2 {
                // A single leaf needs no selection.
                return power();
            }
            let stats = LightTreeStats {
                build: started.elapsed(),
                bytes: forest.bytes(),
                points: forest.tree.points().len(),
                virtual_lights: 0,
            };
            let optional_materials = None;
            LightSelection::Bvh(Box::new(BvhSelection {
                forest,
                stats,
                materials,
                optional_materials,
            }))
        };
        Ok(LightSampler(match strategy {
            LightSampling::Uniform => {
                let equal: Vec<f32> =
                    lights.sampled_powers().map(|power| f32::from(u8::from(power > 0.0))).collect();
                LightSelection::Power(AliasTable::new(&equal))
            }
            LightSampling::Auto if has_one_emitter(scene) => power(),
            LightSampling::Auto | LightSampling::Tree => bvh(None),
            LightSampling::Power => power(),
            LightSampling::MaterialTree => bvh(Some(
                MaterialWeights::compile(&scene.shaders)
                    .map_err(|error| IntegratorError(error.to_string()))?,
            )),
        }))
    }

    /// Compiles material weights that training may choose: for light trees with many lights, if a
    /// shader has a lobe, and all bounds can be compiled.
    pub fn add_optional_materials(&mut self, scene: &Scene) {
        if let LightSelection::Bvh(bvh) = &mut self.0
            && has_many_lights(&scene.lights)
        {
            let weights = MaterialWeights::compile(&scene.shaders).ok();
            bvh.optional_materials = weights.filter(MaterialWeights::has_lobes);
        }
    }

    /// Returns statistics of the light trees, if there are any.
    pub fn tree_stats(&self) -> Option<LightTreeStats> {
        match &self.0 {
            LightSelection::Power(_) => None,
            LightSelection::Bvh(bvh) => Some(bvh.stats),
        }
    }

    /// Returns whether selection probabilities depend on the shading point.
    pub fn depends_on_point(&self) -> bool {
        matches!(self.0, LightSelection::Bvh(_))
    }

    /// Returns whether training should decide about material weights.
    pub fn has_optional_materials(&self) -> bool {
        matches!(&self.0, LightSelection::Bvh(bvh) if bvh.optional_materials.is_some())
    }
}

/// Returns whether light sampling covers many lights.
pub fn has_many_lights(lights: &Lights) -> bool {
    lights.sampled_powers().filter(|&power| power > 0.0).count() >= MANY_LIGHTS
}

/// Returns whether light sampling covers at most one emitter: one light, or one shape of at most
/// two elements.
fn has_one_emitter(scene: &Scene) -> bool {
    let lights = &scene.lights;
    let powers = (0..).zip(lights.sampled_powers());
    let mut emitters = powers.filter(|(_, power)| *power > 0.0).map(|(light, _)| light);
    match (emitters.next(), emitters.next(), emitters.next()) {
        (_, None, _) => true,
        (Some(a), Some(b), None) => {
            // Elements of a shape have consecutive indices.
            let is_first = || scene.geometry.first_lights().any(|first| first == b);
            b == a + 1 && lights.area(b).is_some() && !is_first()
        }
        _ => false,
    }
}

/// Selects lights on one thread, for one shading point after another. Buffers are reused.
pub struct LightPicker<'a> {
    sampler: &'a LightSampler,
    lights: &'a Lights,
    material: Option<material::WeightEvaluator<'a>>,
    receiver: Option<Receiver>,
    /// Scratch buffers: the path from a leaf to its root, and the probes of the current node.
    path: Vec<Slot>,
    probes: Probes,
}

/// A selected light.
#[derive(Clone, Copy, Debug)]
pub struct LightChoice {
    /// Index of the light.
    pub light: u32,
    /// Leaf of the light trees, if the selection uses trees.
    leaf: Option<u32>,
    /// Probability of the choice at the shading point.
    pub probability: f32,
}

/// A sampled leaf.
#[derive(Clone, Copy, Debug, PartialEq)]
struct LeafSample {
    leaf: u32,
    probability: f32,
}

impl<'a> LightPicker<'a> {
    /// Creates a picker for the lights of `sampler`. `use_optional` turns on optional material
    /// weights.
    pub fn new(
        sampler: &'a LightSampler,
        lights: &'a Lights,
        use_optional: bool,
    ) -> LightPicker<'a> {
        let materials = match &sampler.0 {
            LightSelection::Bvh(bvh) => {
                let optional = bvh.optional_materials.as_ref().filter(|_| use_optional);
                bvh.materials.as_ref().or(optional)
            }
            LightSelection::Power(_) => None,
        };
        let material = materials.map(MaterialWeights::evaluator);
        let (path, probes) = (Vec::new(), Probes::default());
        LightPicker { sampler, lights, material, receiver: None, path, probes }
    }

    /// See [`LightSampler::depends_on_point`].
    pub fn depends_on_point(&self) -> bool {
        self.sampler.depends_on_point()
    }

    /// Returns whether selection probabilities depend on a shader's lobe.
    pub fn uses_lobe(&self, shader: u32) -> bool {
        self.material.as_ref().is_some_and(|material| material.has_lobe(shader))
    }

    /// Returns and resets the counts of shader evaluations.
    pub fn take_counts(&mut self) -> ShadingCounts {
        self.material
            .as_mut()
            .map_or_else(ShadingCounts::default, material::WeightEvaluator::take_counts)
    }

    /// Sets the shading point. `parameters` are the words of the material parameters if the
    /// receiver has a lobe.
    pub fn set_shading_point(&mut self, receiver: &Receiver, parameters: &[u32]) {
        self.receiver = Some(*receiver);
        if let (Some(material), Some(lobe)) = (&mut self.material, &receiver.lobe) {
            material.begin(lobe, parameters);
        }
    }

    /// Selects a light, or a part of a light; `None` if no light can reach the point. `u` and
    /// `u_low` are uniform in [0, 1). `u_low` provides the bits below the resolution of `u`.
    pub fn pick(&mut self, [u, u_low]: [f32; 2]) -> Option<LightChoice> {
        match &self.sampler.0 {
            LightSelection::Power(table) => {
                let sample = table.as_ref()?.sample(u, u_low);
                Some(LightChoice {
                    light: sample.index as u32,
                    leaf: None,
                    probability: sample.pmf,
                })
            }
            LightSelection::Bvh(bvh) => {
                let u = f64::from(u) + f64::from(u_low) * U_RESOLUTION;
                let LeafSample { leaf, probability } = self.sample_leaf(&bvh.forest, u)?;
                let light = bvh.forest.tree.point(leaf).light;
                Some(LightChoice { light, leaf: Some(leaf), probability })
            }
        }
    }

    /// Returns the selected area light, and whether its front was selected rather than its back
    /// (`None` for both sides); `None` for other lights, and for lights that move.
    pub fn area_light(&self, choice: &LightChoice) -> Option<(&'a AreaLight, Option<bool>)> {
        match &self.lights.all()[choice.light as usize] {
            AnyLight::Area(area) => Some((area, self.selected_side(choice, area))),
            _ => None,
        }
    }

    /// Returns whether the front of an area light was selected rather than its back; `None` for both
    /// sides.
    fn selected_side(&self, choice: &LightChoice, area: &AreaLight) -> Option<bool> {
        match (&self.sampler.0, choice.leaf) {
            (LightSelection::Bvh(bvh), Some(leaf)) if area.is_two_sided() && !area.is_curved() => {
                Some(bvh.forest.tree.is_front(leaf))
            }
            _ => None,
        }
    }

    /// Returns the selected light, if it is an environment light, and the selected part, unless it
    /// is sampled as a whole.
    pub fn environment(
        &self,
        choice: &LightChoice,
    ) -> Option<(&'a Environment, Option<&'a PiecewisePart>)> {
        match (&self.lights.all()[choice.light as usize], &self.sampler.0, choice.leaf) {
            (AnyLight::Environment(light), LightSelection::Bvh(bvh), Some(leaf)) => {
                Some((light, Some(bvh.forest.environment_part(leaf)?)))
            }
            (AnyLight::Environment(light), ..) => Some((light, None)),
            _ => None,
        }
    }

    /// Samples incident light at `p` from the selected light at `time`, seconds. The density excludes
    /// the selection probability and is per steradian except for delta lights. `None` if the sample
    /// is black.
    pub fn sample(&self, choice: &LightChoice, p: Vec3, u: Vec2, time: f32) -> Option<LightSample> {
        match (&self.sampler.0, choice.leaf, &self.lights.all()[choice.light as usize]) {
            (.., AnyLight::Moving(moving)) => match moving.at(time) {
                AnyLight::Area(area) => match self.selected_side(choice, &area) {
                    Some(front) => area.sample_side(p, u, front),
                    None => area.sample_li(p, u),
                },
                light => light.sample_li(p, u),
            },
            (LightSelection::Bvh(bvh), Some(leaf), AnyLight::Environment(environment)) => {
                environment.sample_part(bvh.forest.environment_part(leaf)?, u)
            }
            (.., light) => match self.area_light(choice) {
                Some((area, Some(front))) => area.sample_side(p, u, front),
                _ => light.sample_li(p, u),
            },
        }
    }

    /// Returns the density, 1/sr, with which [`pick`](Self::pick) and [`sample`](Self::sample)
    /// generate the position on an area light that a ray from the shading point hits at `t`, at the
    /// time of the ray. `ng` is the geometric normal there.
    pub fn area_light_pdf(&mut self, light: u32, ray: &Ray, t: f32, ng: Vec3) -> f32 {
        let moved;
        let area = match &self.lights.all()[light as usize] {
            AnyLight::Moving(moving) => {
                moved = moving.at(ray.time);
                &moved
            }
            light => light,
        };
        let AnyLight::Area(area) = area else { return 0.0 };
        let probability = match &self.sampler.0 {
            LightSelection::Power(table) => {
                table.as_ref().map_or(0.0, |table| table.pmf(light as usize))
            }
            LightSelection::Bvh(bvh) => {
                let leaf = bvh.forest.leaf_of_surface(light, ng.dot(ray.d) < 0.0);
                leaf.map_or(0.0, |leaf| self.leaf_probability(&bvh.forest, leaf))
            }
        };
        if probability == 0.0 { 0.0 } else { probability * area.pdf_li(ray.o, ray.d, t, ng) }
    }

    /// Returns the density, 1/sr, with which [`pick`](Self::pick) and [`sample`](Self::sample)
    /// generate a direction to an environment light, or to one that moves or is behind a portal.
    /// `pdf_li` is its [`Environment::pdf_li`] or
    /// [`PortalLight::pdf_li`](crate::light::PortalLight::pdf_li).
    pub fn environment_pdf(&mut self, light: u32, wi: Vec3, pdf_li: f32) -> f32 {
        let bvh = match &self.sampler.0 {
            LightSelection::Power(table) => {
                return table.as_ref().map_or(0.0, |table| table.pmf(light as usize)) * pdf_li;
            }
            LightSelection::Bvh(bvh) => bvh,
        };
        match &self.lights.all()[light as usize] {
            AnyLight::Environment(environment) => {
                let Some((leaf, part)) = bvh.forest.leaf_of_environment(self.lights, light, wi)
                else {
                    return 0.0;
                };
                self.leaf_probability(&bvh.forest, leaf) * environment.part_pdf(part, wi)
            }
            AnyLight::Portal(_) | AnyLight::Moving(_) => {
                let leaf = bvh.forest.leaf_of_surface(light, true);
                leaf.map_or(0.0, |leaf| self.leaf_probability(&bvh.forest, leaf)) * pdf_li
            }
            _ => 0.0,
        }
    }

    /// Samples a leaf with a random number in [0, 1); `None` if no leaf can contribute to the
    /// point.
    ///
    /// The random number first selects geometric or material weights. The returned probability
    /// accounts for both.
    fn sample_leaf(&mut self, forest: &Forest, u: f64) -> Option<LeafSample> {
        let mut probes = std::mem::take(&mut self.probes);
        let sample = self.descend(forest, u, &mut probes);
        self.probes = probes;
        sample
    }

    /// [`sample_leaf`](Self::sample_leaf) with the probes borrowed.
    fn descend(&mut self, forest: &Forest, mut u: f64, probes: &mut Probes) -> Option<LeafSample> {
        let has_lobe = self.has_lobe();
        let geometric = !has_lobe || u < DEFENSIVE_FRACTION;
        if has_lobe {
            u = if geometric {
                u / DEFENSIVE_FRACTION
            } else {
                (u - DEFENSIVE_FRACTION) / (1.0 - DEFENSIVE_FRACTION)
            };
        }
        let (mut children, mut probability) = self.select_root(forest, probes, |totals| {
            sample_index(&totals.map(|total| total.select(geometric)), &mut u)
        })?;
        loop {
            let slot = sample_index(children.select(geometric), &mut u)?;
            probability.multiply(children.weights(slot), children.totals);
            match forest.tree.node(children.node).child(slot) {
                Child::Leaf(leaf) => {
                    return Some(LeafSample { leaf, probability: probability.mixture(has_lobe) });
                }
                Child::Node(node) => {
                    children = self.weight_children(forest, children.kind, node, probes);
                }
                Child::None => unreachable!("empty slots have weight 0"),
            }
        }
    }

    /// Returns the probability with which [`sample_leaf`](Self::sample_leaf) samples a leaf.
    fn leaf_probability(&mut self, forest: &Forest, leaf: u32) -> f32 {
        let mut path = std::mem::take(&mut self.path);
        let mut probes = std::mem::take(&mut self.probes);
        let kind = forest.path_to_root(leaf, &mut path);
        let probability = self.path_probability(forest, kind, &path, &mut probes);
        (self.path, self.probes) = (path, probes);
        probability.unwrap_or(0.0)
    }

    /// Returns the probability of the leaf at the lower end of a path; `None` if a cluster on the
    /// path cannot contribute.
    fn path_probability(
        &mut self,
        forest: &Forest,
        kind: LightKind,
        path: &[Slot],
        probes: &mut Probes,
    ) -> Option<f32> {
        let index = forest.tree.roots().position(|(other, _)| other == kind)?;
        let (mut children, mut probability) = self.select_root(forest, probes, |_| Some(index))?;
        for (depth, slot) in path.iter().rev().enumerate() {
            if depth > 0 {
                children = self.weight_children(forest, kind, slot.node, probes);
            }
            let weights = children.weights(slot.slot as usize);
            if weights.geometric == 0.0 {
                return None;
            }
            probability.multiply(weights, children.totals);
        }
        Some(probability.mixture(self.has_lobe()))
    }

    /// Returns whether weights at the shading point include a lobe.
    fn has_lobe(&self) -> bool {
        self.material.is_some()
            && self.receiver.as_ref().is_some_and(|receiver| receiver.lobe.is_some())
    }

    /// Returns the weighted children of one of the roots, and the probability of the root. `select`
    /// selects the root by the total weights of all roots.
    fn select_root(
        &mut self,
        forest: &Forest,
        probes: &mut Probes,
        select: impl FnOnce([WeightPair; MAX_ROOTS]) -> Option<usize>,
    ) -> Option<(WeightedChildren, MixtureProbability)> {
        let mut roots = [None; MAX_ROOTS];
        let mut totals = [WeightPair::default(); MAX_ROOTS];
        for ((root, total), (kind, node)) in
            roots.iter_mut().zip(&mut totals).zip(forest.tree.roots())
        {
            probes.clear();
            let children = self.weight_children(forest, kind, node, probes);
            *total = children.totals;
            *root = Some(children);
        }
        let index = select(totals)?;
        let sum = |weight: fn(&WeightPair) -> f32| totals.iter().map(weight).sum();
        let mut probability = MixtureProbability::ONE;
        probability.multiply(
            totals[index],
            WeightPair {
                geometric: sum(|total| total.geometric),
                material: sum(|total| total.material),
            },
        );
        Some((roots[index]?, probability))
    }

    /// Weights the children of a node by their expected contribution. The weight of each child that
    /// may contribute is positive. `probes` are as in
    /// [`WeightEvaluator::reflected`](material::WeightEvaluator::reflected).
    fn weight_children(
        &mut self,
        forest: &Forest,
        kind: LightKind,
        index: u32,
        probes: &mut Probes,
    ) -> WeightedChildren {
        let receiver = self.receiver.as_ref().expect("set_shading_point was called");
        let (node, magnitude) = (&*forest.tree.node(index), &*forest.tree.magnitude(index));
        let (factors, mut geometric) = receiver.point.importance(kind, node, magnitude);
        let mut material = [0.0; WIDTH];
        if let (Some(weights), Some(lobe)) = (&mut self.material, &receiver.lobe) {
            let context = NodeContext { lobe, point: &receiver.point, tree: &forest.tree, kind };
            let reflected = weights.reflected(context, index, &factors, probes);
            for k in 0..WIDTH {
                // Either both weights of a child are positive, or both are 0.
                let may_contribute = (geometric[k] > 0.0) & (reflected[k] > 0.0);
                material[k] = if may_contribute { clamp_weight(reflected[k]) } else { 0.0 };
                geometric[k] = if may_contribute { geometric[k] } else { 0.0 };
            }
        }
        let totals =
            WeightPair { geometric: geometric.iter().sum(), material: material.iter().sum() };
        WeightedChildren { kind, node: index, geometric, material, totals }
    }
}

/// Fraction of samples that use geometric weights only. Material weights may miss lobes between the
/// evaluated directions, and may prefer occluded lights. This fraction limits the variance to
/// 1 / `DEFENSIVE_FRACTION` of the variance with geometric weights alone (defensive mixture,
/// Hesterberg 1995).
const DEFENSIVE_FRACTION: f64 = 0.125;

/// Resolution of the first random number of [`LightPicker::pick`], 2⁻²⁴: the weight of the second.
const U_RESOLUTION: f64 = 1.0 / (1 << 24) as f64;

/// Greatest combined value of the two 24-bit random numbers of [`LightPicker::pick`].
const MAX_U: f64 = 1.0 - U_RESOLUTION * U_RESOLUTION;

/// Maximum number of roots: one for each [`LightKind`].
const MAX_ROOTS: usize = 3;

/// Samples an index with probability proportional to `weights`, and remaps `u` to [0, 1) for reuse;
/// `None` if all weights are 0.
#[inline]
fn sample_index<const N: usize>(weights: &[f32; N], u: &mut f64) -> Option<usize> {
    let mut remainder = *u * f64::from(weights.iter().sum::<f32>());
    for (index, weight) in weights.iter().map(|&weight| f64::from(weight)).enumerate() {
        if remainder < weight {
            *u = remainder / weight;
            return Some(index);
        }
        remainder -= weight;
    }
    // Rounding left a remainder after the last weight.
    *u = MAX_U;
    weights.iter().rposition(|&weight| weight > 0.0)
}

/// Weights of a cluster: from geometry alone, and including the material.
#[derive(Clone, Copy, Debug, Default)]
struct WeightPair {
    /// Weight from emission, distance and cosines.
    geometric: f32,
    /// Weight that includes the lobe; 0 if there is none.
    material: f32,
}

impl WeightPair {
    fn select(self, geometric: bool) -> f32 {
        if geometric { self.geometric } else { self.material }
    }
}

/// The children of a node with their weights.
#[derive(Clone, Copy, Debug)]
struct WeightedChildren {
    kind: LightKind,
    node: u32,
    geometric: Lanes,
    material: Lanes,
    totals: WeightPair,
}

impl WeightedChildren {
    fn select(&self, geometric: bool) -> &Lanes {
        if geometric { &self.geometric } else { &self.material }
    }

    fn weights(&self, slot: usize) -> WeightPair {
        WeightPair { geometric: self.geometric[slot], material: self.material[slot] }
    }
}

/// Probability of reaching a cluster from the root, with each of the two weights.
#[derive(Clone, Copy, Debug)]
struct MixtureProbability(WeightPair);

impl MixtureProbability {
    const ONE: MixtureProbability =
        MixtureProbability(WeightPair { geometric: 1.0, material: 1.0 });

    fn multiply(&mut self, weights: WeightPair, totals: WeightPair) {
        self.0.geometric *= weights.geometric / totals.geometric;
        self.0.material *= weights.material / totals.material;
    }

    /// Returns the probability of the mixture. Without a lobe, only geometric weights are used.
    fn mixture(self, has_lobe: bool) -> f32 {
        let MixtureProbability(WeightPair { geometric, material }) = self;
        if has_lobe {
            DEFENSIVE_FRACTION as f32 * geometric + (1.0 - DEFENSIVE_FRACTION as f32) * material
        } else {
            geometric
        }
    }
}

#[cfg(test)]
mod tests;
