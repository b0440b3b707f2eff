//! BSDF × environment [product](ProductDistribution) sampling for next-event estimation.
//!
//! The environment map with the greatest power is sampled in proportion to the product of its
//! radiance and the direction tree of the shading point. The [light sampler](super::light_sampling)
//! handles all other lights. A random number selects one of the two strategies. The light is
//! infinitely far away, so the density depends on the direction alone, and a path can store it for
//! multiple importance sampling at the next hit.

use crate::direction_tree::{ProductDistribution, ProductEnvironment, ShiftedTree};
use crate::light::{AnyLight, LightSample, Lights};
use crate::settings::{EnvironmentSampling, LightSampling, PathSettings};
use lightbound_math::sampling::ONE_MINUS_EPSILON;
use lightbound_math::{Frame, Vec2, Vec3};

/// Selection probability of the environment light if light trees sample all other lights. Their
/// importance is not comparable to the power of the environment light.
const PROBABILITY_WITH_TREES: f32 = 0.5;

/// Samples an environment light by product sampling.
#[derive(Debug)]
pub struct EnvironmentSampler {
    /// Index of the light.
    pub light: u32,
    /// Probability of selecting it.
    pub probability: f32,
    products: ProductEnvironment,
}

impl EnvironmentSampler {
    /// Creates the sampler of a scene; `None` if the settings disable it, or no environment light
    /// has an image.
    pub fn new(lights: &Lights, settings: &PathSettings) -> Option<EnvironmentSampler> {
        if settings.environment_sampling == EnvironmentSampling::Map {
            return None;
        }
        let powers = lights.powers();
        let maps = lights.environments().filter(|(_, light)| light.resolution().is_some());
        let (light, environment) =
            maps.max_by(|(a, _), (b, _)| powers[*a as usize].total_cmp(&powers[*b as usize]))?;
        let emitters = powers.iter().filter(|power| **power > 0.0).count();
        let probability = match settings.light_sampling {
            _ if emitters == 1 => 1.0,
            LightSampling::Uniform => 1.0 / emitters as f32,
            LightSampling::Power => {
                let total: f64 = powers.iter().map(|&power| f64::from(power)).sum();
                (f64::from(powers[light as usize]) / total) as f32
            }
            LightSampling::Auto | LightSampling::Tree | LightSampling::MaterialTree => {
                PROBABILITY_WITH_TREES
            }
        };
        let products = ProductEnvironment::new(environment)?;
        Some(EnvironmentSampler { light, probability, products })
    }

    /// Returns whether a random number in [0, 1) selects the environment light.
    pub fn selects(&self, u: f32) -> bool {
        u < self.probability
    }

    /// Remaps a random number that did not select the environment light to [0, 1) for reuse.
    pub fn remap(&self, u: f32) -> f32 {
        ((u - self.probability) / (1.0 - self.probability)).min(ONE_MINUS_EPSILON)
    }

    /// Samples incident light at a point; returns it with the density [`pdf`](Self::pdf).
    pub fn sample(
        &self,
        lights: &Lights,
        context: &EnvironmentSampleContext,
        u: Vec2,
    ) -> Option<(LightSample, f32)> {
        let light = self.product(lights, context)?.sample(u)?;
        let pdf = self.probability * light.pdf;
        (pdf > 0.0).then_some((light, pdf))
    }

    /// Returns the density of a unit direction in the shading frame, 1/sr, including the selection
    /// probability.
    pub fn pdf(&self, lights: &Lights, context: &EnvironmentSampleContext, wi: Vec3) -> f32 {
        self.product(lights, context).map_or(0.0, |product| self.probability * product.pdf(wi))
    }

    fn product<'a>(
        &'a self,
        lights: &'a Lights,
        context: &EnvironmentSampleContext<'a>,
    ) -> Option<ProductDistribution<'a>> {
        let AnyLight::Environment(environment) = &lights.all()[self.light as usize] else {
            return None;
        };
        let EnvironmentSampleContext { tree, frame, side } = *context;
        Some(ProductDistribution::new(
            tree,
            environment,
            &self.products,
            [frame.t, frame.b, side * frame.n],
        ))
    }
}

/// The properties of a shading point that product sampling depends on.
#[derive(Clone, Copy, Debug)]
pub struct EnvironmentSampleContext<'a> {
    /// The direction tree of its BSDF.
    pub tree: ShiftedTree<'a>,
    /// The shading frame.
    pub frame: &'a Frame,
    /// Sign of the tree's z axis relative to the frame's normal: −1 if `wo` was mirrored, else 1.
    pub side: f32,
}
