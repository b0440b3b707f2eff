//! How the path tracer chooses a light at a point: next-event estimation draws one light, or one
//! piece of a light, with a known probability.
//!
//! - `uniform` and `power` draw from a table that is the same everywhere.
//! - `tree` descends light trees ([`LightTree`](crate::light_tree::LightTree)) by what clusters are
//!   expected to send to the point ([`importance`]), whatever the material.
//! - `material-tree` asks the material as well ([`material`]): s in the middles of what is below
//!   each cluster, and compiled bounds of s over the directions to it.
//! - `auto` is `tree`, but `power` where one thing alone shines: one light, or one shape of two
//!   elements, as a rectangle of triangles is. There a tree gains little or nothing, and takes a
//!   fifth to a half of the time.
//!
//! **Exact probabilities.** [`Chooser::choose`] multiplies what it chose with at each node;
//! [`Chooser::pdf_of_surface`] and [`Chooser::pdf_of_sky`] find the leaf of what a ray met and walk
//! the same nodes with the same weights, so that multiple importance sampling weighs by the very
//! density of the draw. A leaf is a point, a spot, a distant light, a side of an element of a
//! surface, of which the light's own sampling draws a place, or a piece of a sky, which is drawn
//! from as the whole sky is.

mod forest;
mod importance;
mod material;

pub use self::importance::Place;
pub use self::material::Lobe;

use self::forest::{Forest, Slot};
use self::importance::known;
use self::material::{MaterialWeights, View};
use super::{LightTreeFigures, ShadingCounts};
use crate::geometry::Surface;
use crate::light::{AnyLight, AreaLight, Light, LightSample, Lights};
use crate::light_tree::{Child, Kind, WIDTH};
use crate::math::direction_box::Lanes;
use crate::math::{Ray, Vec2, Vec3};
use crate::sampling::AliasTable;
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
    /// For lights of a scene.
    ///
    /// *Errors*: no bounds can be compiled of a material.
    pub fn new(
        scene: &Scene,
        lights: &Lights,
        by: LightSampling,
    ) -> Result<LightSampler, SceneError> {
        let power = || Way::Table(AliasTable::new(lights.powers()));
        let tree = |materials| {
            let started = Instant::now();
            let forest = Forest::build(lights, scene.accel.bounds());
            if forest.tree.points().len() < 2 {
                // There is nothing to choose.
                return power();
            }
            let figures = LightTreeFigures {
                build: started.elapsed(),
                bytes: forest.bytes(),
                points: forest.tree.points().len(),
            };
            Way::Tree(Box::new(Trees { forest, figures, materials }))
        };
        Ok(LightSampler(match by {
            LightSampling::Uniform => {
                let alike: Vec<f32> =
                    lights.powers().iter().map(|&power| f32::from(u8::from(power > 0.0))).collect();
                Way::Table(AliasTable::new(&alike))
            }
            LightSampling::Auto if one_shines(scene, lights) => power(),
            LightSampling::Auto | LightSampling::Tree => tree(None),
            LightSampling::Power => power(),
            LightSampling::MaterialTree => tree(Some(
                MaterialWeights::compile(&scene.shaders)
                    .map_err(|error| SceneError::new(error.to_string()))?,
            )),
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

/// Whether at most one thing shines: one light, or one shape of at most two elements.
fn one_shines(scene: &Scene, lights: &Lights) -> bool {
    let mut shining =
        (0..).zip(lights.powers()).filter(|(_, power)| **power > 0.0).map(|(light, _)| light);
    match (shining.next(), shining.next(), shining.next()) {
        (_, None, _) => true,
        (Some(a), Some(b), None) => {
            // Elements of a shape come one after the other.
            let is_first = || {
                scene.geometry.primitives.iter().any(|primitive| primitive.first_light == Some(b))
            };
            b == a + 1 && lights.area(b).is_some() && !is_first()
        }
        _ => false,
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

/// What was chosen.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    light: u32,
    /// Of the trees, where there are any.
    leaf: Option<u32>,
    /// How often it is chosen at the point.
    pub probability: f32,
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

    /// As [`LightSampler::depends_on_point`].
    pub fn depends_on_point(&self) -> bool {
        self.sampler.depends_on_point()
    }

    /// As [`LightSampler::asks`].
    pub fn asks(&self, shader: u32) -> bool {
        self.sampler.asks(shader)
    }

    /// Work of shaders so far; counting starts again.
    pub fn take_counts(&mut self) -> ShadingCounts {
        self.material.as_mut().map_or_else(ShadingCounts::default, material::WeightsAt::take_counts)
    }

    /// Goes to a point; `members` are the words of its shader's members of `Material`, where it has
    /// a lobe.
    pub fn stand(&mut self, at: &Receiver, members: &[u32]) {
        self.at = Some(*at);
        if let (Some(material), Some(lobe)) = (&mut self.material, &at.lobe) {
            material.begin(lobe, members);
        }
    }

    /// Draws a light, or a part of one; `None` where none can be seen. `u` and `fine` are uniform
    /// in [0, 1), the latter for the digits that the former lacks.
    pub fn choose(&mut self, [u, fine]: [f32; 2]) -> Option<Choice> {
        match &self.sampler.0 {
            Way::Table(table) => {
                let pick = table.as_ref()?.sample(u, fine);
                Some(Choice { light: pick.index as u32, leaf: None, probability: pick.pmf })
            }
            Way::Tree(trees) => {
                let Drawn { leaf, probability } =
                    self.descend(&trees.forest, f64::from(u) + f64::from(fine) * FINE)?;
                Some(Choice {
                    light: trees.forest.tree.point(leaf).light,
                    leaf: Some(leaf),
                    probability,
                })
            }
        }
    }

    /// The surface that was chosen, and of which side of it, if not of both; `None` for other
    /// lights.
    pub fn surface(&self, choice: &Choice) -> Option<(&'a AreaLight, Option<bool>)> {
        let area = self.lights.area(choice.light)?;
        let front = match (&self.sampler.0, choice.leaf) {
            (Way::Tree(trees), Some(leaf)) if area.is_two_sided() && !area.is_curved() => {
                Some(trees.forest.tree.is_front(leaf))
            }
            _ => None,
        };
        Some((area, front))
    }

    /// Draws light that arrives at the point from what was chosen, with a density per steradian
    /// that is the light's own, but for delta lights. `None` where it sends nothing.
    pub fn light(&self, choice: &Choice, p: Vec3, place: Vec2) -> Option<LightSample> {
        match (&self.sampler.0, choice.leaf, &self.lights.all()[choice.light as usize]) {
            (Way::Tree(trees), Some(leaf), AnyLight::Environment(sky)) => {
                sky.sample_part(trees.forest.sky(leaf)?, place)
            }
            (.., light) => match self.surface(choice) {
                Some((area, Some(front))) => area.sample_side(p, place, front),
                _ => light.sample_li(p, place),
            },
        }
    }

    /// The density with which [`choose`](Self::choose) and [`light`](Self::light) draw a place of a
    /// surface that a ray from the point met at `t`.
    pub fn pdf_of_surface(&mut self, light: u32, ray: &Ray, t: f32, surface: &Surface) -> f32 {
        let Some(area) = self.lights.area(light) else { return 0.0 };
        let probability = match &self.sampler.0 {
            Way::Table(table) => table.as_ref().map_or(0.0, |table| table.pmf(light as usize)),
            Way::Tree(trees) => {
                let leaf = trees.forest.leaf_of_surface(light, surface.ng.dot(ray.d) < 0.0);
                leaf.map_or(0.0, |leaf| self.probability(&trees.forest, leaf))
            }
        };
        if probability == 0.0 {
            0.0
        } else {
            probability * area.pdf_li(ray.o, ray.d, t, surface.ng)
        }
    }

    /// The density with which [`choose`](Self::choose) and [`light`](Self::light) draw a direction
    /// of a sky.
    pub fn pdf_of_sky(&mut self, light: u32, wi: Vec3) -> f32 {
        let AnyLight::Environment(sky) = &self.lights.all()[light as usize] else { return 0.0 };
        match &self.sampler.0 {
            Way::Table(table) => {
                table.as_ref().map_or(0.0, |table| table.pmf(light as usize)) * sky.pdf_li(wi)
            }
            Way::Tree(trees) => {
                let Some((leaf, part)) = trees.forest.leaf_of_sky(self.lights, light, wi) else {
                    return 0.0;
                };
                self.probability(&trees.forest, leaf) * sky.part_pdf(part, wi)
            }
        }
    }

    /// Draws a leaf by a number in [0, 1); `None` where none can send light to the point.
    ///
    /// Which weights it goes by is drawn first; the probability is that of the leaf by either of
    /// them.
    fn descend(&mut self, forest: &Forest, mut u: f64) -> Option<Drawn> {
        let asks = self.asks_here();
        let blindly = !asks || u < BLIND;
        if asks {
            u = if blindly { u / BLIND } else { (u - BLIND) / (1.0 - BLIND) };
        }
        let (mut clusters, mut probability) =
            self.root(forest, |totals| draw(&totals.map(|of| of.of(blindly)), &mut u))?;
        loop {
            let slot = draw(clusters.by(blindly), &mut u)?;
            probability.times(clusters.weights(slot), clusters.totals);
            match forest.tree.node(clusters.node).child(slot) {
                Child::Leaf(leaf) => {
                    return Some(Drawn { leaf, probability: probability.whole(asks) });
                }
                Child::Node(below) => clusters = self.clusters(forest, clusters.kind, below),
                Child::None => unreachable!("weights of what is not there are 0"),
            }
        }
    }

    /// The probability with which [`descend`](Self::descend) draws a leaf.
    fn probability(&mut self, forest: &Forest, leaf: u32) -> f32 {
        let mut way = std::mem::take(&mut self.way);
        let kind = forest.way_up(leaf, &mut way);
        let found = self.probability_along(forest, kind, &way);
        self.way = way;
        found.unwrap_or(0.0)
    }

    /// That of the leaf at the lower end of a way up; `None` where a cluster on the way is known to
    /// send nothing.
    fn probability_along(&mut self, forest: &Forest, kind: Kind, way: &[Slot]) -> Option<f32> {
        let index = forest.tree.roots().position(|(of, _)| of == kind)?;
        let (mut clusters, mut probability) = self.root(forest, |_| Some(index))?;
        for (depth, here) in way.iter().rev().enumerate() {
            if depth > 0 {
                clusters = self.clusters(forest, kind, here.node);
            }
            let weights = clusters.weights(here.slot as usize);
            if weights.blind == 0.0 {
                return None;
            }
            probability.times(weights, clusters.totals);
        }
        Some(probability.whole(self.asks_here()))
    }

    /// Whether a lobe is asked at the point.
    fn asks_here(&self) -> bool {
        self.material.is_some() && self.at.as_ref().is_some_and(|at| at.lobe.is_some())
    }

    /// The children of one of the roots, which `choose` chooses by the totals of their weights, and
    /// its probability.
    fn root(
        &mut self,
        forest: &Forest,
        choose: impl FnOnce([Pair; ROOTS]) -> Option<usize>,
    ) -> Option<(Clusters, Probability)> {
        let mut roots = forest.tree.roots();
        let (kind, node) = roots.next()?;
        let first = self.clusters(forest, kind, node);
        let mut all = [first; ROOTS];
        let mut totals = [first.totals, Pair::default(), Pair::default()];
        for (n, (kind, node)) in (1..).zip(roots) {
            all[n] = self.clusters(forest, kind, node);
            totals[n] = all[n].totals;
        }
        let index = choose(totals)?;
        let sum = |of: fn(&Pair) -> f32| totals.iter().map(of).sum();
        let mut probability = Probability::ONE;
        probability
            .times(totals[index], Pair { blind: sum(|of| of.blind), asked: sum(|of| of.asked) });
        Some((all[index], probability))
    }

    /// The children of a node, weighed by what each is expected to send: positive where it may send
    /// anything.
    fn clusters(&mut self, forest: &Forest, kind: Kind, index: u32) -> Clusters {
        let at = self.at.as_ref().expect("it stands at a point");
        let (node, magnitude) = (forest.tree.node(index), forest.tree.magnitude(index));
        let (factors, mut blind) = at.place.weigh(kind, node, magnitude);
        let mut asked = [0.0; WIDTH];
        if let (Some(material), Some(lobe)) = (&mut self.material, &at.lobe) {
            let view = View { lobe, place: &at.place, tree: &forest.tree, kind };
            let reflected = material.reflected(view, index, &factors);
            for k in 0..WIDTH {
                // What sends nothing by either is nothing by both.
                let may = (blind[k] > 0.0) & (reflected[k] > 0.0);
                asked[k] = if may { known(reflected[k]) } else { 0.0 };
                blind[k] = if may { blind[k] } else { 0.0 };
            }
        }
        let totals = Pair { blind: blind.iter().sum(), asked: asked.iter().sum() };
        Clusters { kind, node: index, blind, asked, totals }
    }
}

/// How often a lobe is not asked. What bounds of clusters and middles of what is below them say of
/// a lobe may be wrong, and all that it shows hidden behind something: then this share of the draws
/// keeps the variance within 1 / `BLIND` of what it is without asking (Hesterberg 1995).
const BLIND: f64 = 0.125;

/// A step of the finer of two numbers that draw a leaf.
const FINE: f64 = 1.0 / (1 << 24) as f64;

/// The greatest number below 1 that two numbers of 24 bits make.
const BELOW_ONE: f64 = 1.0 - FINE * FINE;

/// Most roots: one of each kind.
const ROOTS: usize = 3;

/// Draws an index with a probability proportional to weights by `u`, which is as good as new behind
/// it; `None` where all are 0.
#[inline]
fn draw<const N: usize>(weights: &[f32; N], u: &mut f64) -> Option<usize> {
    let mut rest = *u * f64::from(weights.iter().sum::<f32>());
    for (index, weight) in weights.iter().map(|&weight| f64::from(weight)).enumerate() {
        if rest < weight {
            *u = rest / weight;
            return Some(index);
        }
        rest -= weight;
    }
    // Rounding left something behind the last one.
    *u = BELOW_ONE;
    weights.iter().rposition(|&weight| weight > 0.0)
}

/// By each of the two kinds of weights.
#[derive(Clone, Copy, Debug, Default)]
struct Pair {
    /// Whatever the material.
    blind: f32,
    /// By the lobe; 0 where there is none.
    asked: f32,
}

impl Pair {
    fn of(self, blindly: bool) -> f32 {
        if blindly { self.blind } else { self.asked }
    }
}

/// The children of a node, weighed.
#[derive(Clone, Copy, Debug)]
struct Clusters {
    kind: Kind,
    node: u32,
    blind: Lanes,
    asked: Lanes,
    totals: Pair,
}

impl Clusters {
    fn by(&self, blindly: bool) -> &Lanes {
        if blindly { &self.blind } else { &self.asked }
    }

    fn weights(&self, slot: usize) -> Pair {
        Pair { blind: self.blind[slot], asked: self.asked[slot] }
    }
}

/// Probability of what was reached on a way down, by each of the weights.
#[derive(Clone, Copy, Debug)]
struct Probability(Pair);

impl Probability {
    const ONE: Probability = Probability(Pair { blind: 1.0, asked: 1.0 });

    fn times(&mut self, weights: Pair, totals: Pair) {
        self.0.blind *= weights.blind / totals.blind;
        self.0.asked *= weights.asked / totals.asked;
    }

    /// Of what is drawn by both, if a lobe is asked.
    fn whole(self, asks: bool) -> f32 {
        let Probability(Pair { blind, asked }) = self;
        if asks { BLIND as f32 * blind + (1.0 - BLIND as f32) * asked } else { blind }
    }
}

#[cfg(test)]
mod tests;
