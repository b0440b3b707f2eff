//! How the path tracer chooses a light at a point: next-event estimation draws one light, or one piece of a light, with a known probability.
//!
//! - `uniform` and `power` draw from a table that is the same everywhere.
//! - `tree` descends light trees ([`LightTree`](crate::light_tree::LightTree)) by what clusters are expected to send to the point
//!   ([`importance`]), whatever the material.
//! - `material-tree` asks the material as well ([`material`]): compiled bounds of s over the directions to each cluster.
//!
//! **Exact probabilities.** [`Chooser::sample`] multiplies what it chose with at each node; [`Chooser::pdf_of_surface`] and
//! [`Chooser::pdf_of_sky`] find the leaf of what a ray met and walk the same nodes with the same weights, so that multiple importance
//! sampling weighs by the very density of the draw. A leaf is a point, a spot, a distant light, a side of an element of a surface, of which
//! the light's own sampling draws a place, or a piece of a sky, which is drawn from as the whole sky is.

mod forest;
mod importance;
mod material;

pub use self::importance::Place;
pub use self::material::Lobe;

use self::forest::{Forest, Slot};
use self::material::MaterialWeights;
use super::LightTreeFigures;
use crate::geometry::Surface;
use crate::light::{AnyLight, Light, LightSample, Lights};
use crate::light_tree::{Child, Kind};
use crate::math::direction_box::{Lanes, greater, lesser};
use crate::math::{Ray, Vec2, Vec3, vec3};
use crate::sampling::{AliasTable, luminance};
use crate::scene::diagnostics::SceneError;
use crate::scene::{LightSampling, Scene};
use std::time::Instant;

/// What is made once for a scene.
#[derive(Debug)]
pub struct LightSampler(Way);

#[derive(Debug)]
enum Way {
    /// The same probabilities everywhere; `None` where nothing shines.
    Table(Option<AliasTable>),
    Tree(Box<Trees>),
}

#[derive(Debug)]
struct Trees {
    forest: Forest,
    figures: LightTreeFigures,
    /// Where materials are asked.
    materials: Option<MaterialWeights>,
}

/// A point where a light is to be chosen.
#[derive(Clone, Copy, Debug)]
pub struct Receiver {
    /// Where it is.
    pub place: Place,
    /// What is reflected there; asked for where [`LightSampler::asks`] says so.
    pub lobe: Option<Lobe>,
}

impl LightSampler {
    /// For a scene.
    ///
    /// *Errors*: no bounds can be compiled of a material.
    pub fn new(scene: &Scene, by: LightSampling) -> Result<LightSampler, SceneError> {
        let lights = &scene.lights;
        let tree = |materials| {
            let started = Instant::now();
            let forest = Forest::build(lights, scene.accel.bounds());
            let figures =
                LightTreeFigures { build: started.elapsed(), bytes: forest.bytes(), points: forest.tree.points().len() };
            Way::Tree(Box::new(Trees { forest, figures, materials }))
        };
        Ok(LightSampler(match by {
            LightSampling::Uniform => {
                let alike: Vec<f32> = lights.powers().iter().map(|&power| f32::from(u8::from(power > 0.0))).collect();
                Way::Table(AliasTable::new(&alike))
            }
            LightSampling::Power => Way::Table(AliasTable::new(lights.powers())),
            LightSampling::Tree => tree(None),
            LightSampling::MaterialTree => {
                tree(Some(MaterialWeights::compile(&scene.shaders).map_err(|error| SceneError::new(error.to_string()))?))
            }
        }))
    }

    /// The trees, where there are any.
    pub fn figures(&self) -> Option<LightTreeFigures> {
        match &self.0 {
            Way::Table(_) => None,
            Way::Tree(trees) => Some(trees.figures),
        }
    }

    /// Whether probabilities depend on the point.
    pub fn depends_on_point(&self) -> bool {
        matches!(self.0, Way::Tree(_))
    }

    /// Whether they depend on the lobe of a shader.
    pub fn asks(&self, shader: u32) -> bool {
        matches!(&self.0, Way::Tree(trees) if trees.materials.as_ref().is_some_and(|all| all.asks(shader)))
    }
}

/// What one thread chooses lights with, at one point after the other; buffers stay.
pub struct Chooser<'a> {
    sampler: &'a LightSampler,
    lights: &'a Lights,
    material: Option<material::WeightsAt<'a>>,
    at: Option<Receiver>,
    way: Vec<Slot>,
}

/// A leaf that was drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Drawn {
    leaf: u32,
    probability: f32,
}

impl<'a> Chooser<'a> {
    /// Of a scene's lights.
    pub fn new(sampler: &'a LightSampler, lights: &'a Lights) -> Chooser<'a> {
        let material = match &sampler.0 {
            Way::Tree(trees) => trees.materials.as_ref().map(MaterialWeights::at),
            Way::Table(_) => None,
        };
        Chooser { sampler, lights, material, at: None, way: Vec::new() }
    }

    /// As [`LightSampler::asks`].
    pub fn asks(&self, shader: u32) -> bool {
        self.sampler.asks(shader)
    }

    /// Goes to a point; `members` are the words of its shader's members of `Material`, where it has a lobe.
    pub fn stand(&mut self, at: &Receiver, members: &[u32]) {
        self.at = Some(*at);
        if let (Some(material), Some(lobe)) = (&mut self.material, &at.lobe) {
            material.begin(lobe, members);
        }
    }

    /// Draws light that arrives at the point, with its density, per steradian but for delta lights: that of the choice times that of the
    /// light's own. `None` where no light is chosen, or it sends nothing. `u` and `fine` are uniform in [0, 1), the latter for the digits
    /// that the former lacks.
    pub fn sample(&mut self, p: Vec3, [u, fine]: [f32; 2], place: Vec2) -> Option<(LightSample, f32)> {
        let (light, probability) = match &self.sampler.0 {
            Way::Table(table) => {
                let pick = table.as_ref()?.sample(u, fine);
                (self.lights.all()[pick.index].sample_li(p, place)?, pick.pmf)
            }
            Way::Tree(trees) => {
                let Drawn { leaf, probability } = self.descend(&trees.forest, f64::from(u) + f64::from(fine) * FINE)?;
                (self.sample_leaf(&trees.forest, leaf, p, place)?, probability)
            }
        };
        let pdf = probability * light.pdf;
        (pdf > 0.0).then_some((light, pdf))
    }

    /// The density with which [`sample`](Self::sample) draws a place of a surface that a ray from the point met at `t`.
    pub fn pdf_of_surface(&mut self, light: u32, ray: &Ray, t: f32, surface: &Surface) -> f32 {
        let Some(area) = self.lights.area(light) else { return 0.0 };
        let probability = match &self.sampler.0 {
            Way::Table(table) => table.as_ref().map_or(0.0, |table| table.pmf(light as usize)),
            Way::Tree(trees) => {
                let leaf = trees.forest.leaf_of_surface(light, surface.ng.dot(ray.d) < 0.0);
                leaf.map_or(0.0, |leaf| self.probability(&trees.forest, leaf))
            }
        };
        if probability == 0.0 { 0.0 } else { probability * area.pdf_li(ray.o, ray.d, t, surface.ng) }
    }

    /// The density with which [`sample`](Self::sample) draws a direction of a sky.
    pub fn pdf_of_sky(&mut self, light: u32, wi: Vec3) -> f32 {
        let AnyLight::Environment(sky) = &self.lights.all()[light as usize] else { return 0.0 };
        match &self.sampler.0 {
            Way::Table(table) => table.as_ref().map_or(0.0, |table| table.pmf(light as usize)) * sky.pdf_li(wi),
            Way::Tree(trees) => {
                let Some((leaf, part)) = trees.forest.leaf_of_sky(self.lights, light, wi) else { return 0.0 };
                self.probability(&trees.forest, leaf) * sky.part_pdf(part, wi)
            }
        }
    }

    /// Light of a leaf.
    fn sample_leaf(&self, forest: &Forest, leaf: u32, p: Vec3, u: Vec2) -> Option<LightSample> {
        let point = forest.tree.point(leaf);
        match &self.lights.all()[point.light as usize] {
            AnyLight::Environment(sky) => sky.sample_part(forest.sky(leaf)?, u),
            AnyLight::Area(area) if area.is_two_sided() && !area.is_curved() => {
                area.sample_side(p, u, forest.tree.is_front(leaf))
            }
            light => light.sample_li(p, u),
        }
    }

    /// Draws a leaf by a number in [0, 1); `None` where none can send light to the point.
    ///
    /// Which weights it goes by is drawn first; the probability is that of the leaf by either of them.
    fn descend(&mut self, forest: &Forest, mut u: f64) -> Option<Drawn> {
        let mut level = self.top(forest);
        let blindly = level.asked.is_some() && u < BLIND;
        u = if level.asked.is_none() {
            u
        } else if blindly {
            u / BLIND
        } else {
            (u - BLIND) / (1.0 - BLIND)
        };
        let mut probability = Probability::ONE;
        loop {
            let (here, kind) = level.choose(blindly, &mut u)?;
            probability.descend(&level, here);
            match forest.tree.node(here.node).child(here.slot as usize) {
                Child::Leaf(leaf) => return Some(Drawn { leaf, probability: probability.whole() }),
                Child::Node(below) => level = self.below(forest, kind, below),
                Child::None => unreachable!("weights of what is not there are 0"),
            }
        }
    }

    /// The probability with which [`descend`](Self::descend) draws a leaf.
    fn probability(&mut self, forest: &Forest, leaf: u32) -> f32 {
        let mut way = std::mem::take(&mut self.way);
        let kind = forest.way_up(leaf, &mut way);
        let mut level = self.top(forest);
        let mut probability = Probability::ONE;
        for (depth, &here) in way.iter().rev().enumerate() {
            if depth > 0 {
                level = self.below(forest, kind, here.node);
            }
            probability.descend(&level, here);
            if probability.whole() == 0.0 {
                break;
            }
        }
        self.way = way;
        probability.whole()
    }

    /// The children of all roots.
    fn top(&mut self, forest: &Forest) -> Level {
        let mut level = Level::default();
        for (kind, root) in forest.tree.roots() {
            self.weigh(&mut level, forest, kind, root);
        }
        level
    }

    /// The children of a node.
    fn below(&mut self, forest: &Forest, kind: Kind, node: u32) -> Level {
        let mut level = Level::default();
        self.weigh(&mut level, forest, kind, node);
        level
    }

    /// Adds the children of a node to a level: what each is expected to send, positive where it may send anything.
    fn weigh(&mut self, level: &mut Level, forest: &Forest, kind: Kind, index: u32) {
        let at = self.at.as_ref().expect("it stands at a point");
        let (node, magnitude) = (forest.tree.node(index), forest.tree.magnitude(index));
        let factors = at.place.factors(kind, node);
        let used = node.len();
        let known = |k: usize, weight: f32| {
            let may = k < used && factors.arrival[k] > 0.0 && factors.cosine[k] > 0.0;
            // What underflows may be all that there is.
            if may { lesser(greater(weight, LEAST), MOST) } else { 0.0 }
        };
        let intensity = |k: usize| luminance(vec3(magnitude[0][k], magnitude[1][k], magnitude[2][k]));
        let mut blind: Lanes = std::array::from_fn(|k| known(k, intensity(k) * factors.arrival[k] * factors.cosine[k]));
        let asked = match (&mut self.material, &at.lobe) {
            (Some(material), Some(lobe)) => {
                let reflected = material.reflected(lobe, kind, node, magnitude, &factors);
                // What sends nothing by either is nothing by both.
                let of = |k: usize| if reflected[k] > 0.0 { known(k, reflected[k] * factors.arrival[k]) } else { 0.0 };
                let asked: Lanes = std::array::from_fn(of);
                blind = std::array::from_fn(|k| if asked[k] > 0.0 { blind[k] } else { 0.0 });
                Some(asked)
            }
            _ => None,
        };
        level.push(kind, index, blind, asked);
    }
}

/// How often a lobe is not asked. What bounds and middles of clusters say of a lobe may be wrong, and all that it shows hidden behind
/// something: then this share of the draws keeps the variance within 1 / `BLIND` of what it is without asking (Hesterberg 1995).
const BLIND: f64 = 0.125;

/// Weights below and above count as that much.
const LEAST: f32 = f32::MIN_POSITIVE;
const MOST: f32 = f32::MAX / 64.0;

/// A step of the finer of two numbers that draw a leaf.
const FINE: f64 = 1.0 / (1 << 24) as f64;

/// The greatest number below 1 that two numbers of 24 bits make.
const BELOW_ONE: f64 = 1.0 - FINE * FINE;

/// Most roots: one of each kind.
const ROOTS: usize = 3;

/// Clusters of which one is drawn: the children of a node, or of all roots.
#[derive(Clone, Copy, Debug, Default)]
struct Level {
    nodes: [Option<(Kind, u32)>; ROOTS],
    /// Whatever the material.
    blind: Weights,
    /// By the lobe, where there is one.
    asked: Option<Weights>,
}

/// Weights of the clusters of a level.
#[derive(Clone, Copy, Debug, Default)]
struct Weights {
    each: [Lanes; ROOTS],
    total: f32,
}

impl Weights {
    fn set(&mut self, node: usize, weights: Lanes) {
        self.each[node] = weights;
        self.total += weights.iter().sum::<f32>();
    }

    /// Draws a cluster by `u`, which is as good as new behind it.
    fn choose(&self, u: &mut f64) -> Option<(usize, u32)> {
        let mut rest = *u * f64::from(self.total);
        let mut last = None;
        for (node, weights) in self.each.iter().enumerate() {
            for (slot, &weight) in (0..).zip(weights).filter(|(_, weight)| **weight > 0.0) {
                last = Some((node, slot));
                if rest < f64::from(weight) {
                    *u = rest / f64::from(weight);
                    return last;
                }
                rest -= f64::from(weight);
            }
        }
        // Rounding left something behind the last one.
        *u = BELOW_ONE;
        last
    }
}

impl Level {
    fn push(&mut self, kind: Kind, node: u32, blind: Lanes, asked: Option<Lanes>) {
        let free = self.nodes.iter().position(Option::is_none).expect("there are three kinds");
        self.nodes[free] = Some((kind, node));
        self.blind.set(free, blind);
        if let Some(asked) = asked {
            self.asked.get_or_insert_default().set(free, asked);
        }
    }

    /// Draws a child, with its kind.
    fn choose(&self, blindly: bool, u: &mut f64) -> Option<(Slot, Kind)> {
        let (node, slot) = self.asked.as_ref().filter(|_| !blindly).unwrap_or(&self.blind).choose(u)?;
        let (kind, node) = self.nodes[node]?;
        Some((Slot { node, slot }, kind))
    }
}

/// Probabilities of what was reached on a way down, by each of the weights.
#[derive(Clone, Copy, Debug)]
struct Probability {
    blind: f32,
    asked: Option<f32>,
}

impl Probability {
    const ONE: Probability = Probability { blind: 1.0, asked: None };

    fn descend(&mut self, level: &Level, to: Slot) {
        let Some(node) = level.nodes.iter().position(|node| node.is_some_and(|(_, index)| index == to.node)) else {
            return *self = Probability { blind: 0.0, asked: None };
        };
        let share = |weights: &Weights| {
            let weight = weights.each[node][to.slot as usize];
            if weight > 0.0 { weight / weights.total } else { 0.0 }
        };
        self.blind *= share(&level.blind);
        self.asked = level.asked.as_ref().map(|weights| self.asked.unwrap_or(1.0) * share(weights));
    }

    fn whole(&self) -> f32 {
        match self.asked {
            Some(asked) => BLIND as f32 * self.blind + (1.0 - BLIND as f32) * asked,
            None => self.blind,
        }
    }
}

#[cfg(test)]
mod tests;
